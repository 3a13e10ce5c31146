#include "solid/distance_near.h"
#include "base/memory.h"
#include "solid/triangle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Nodes from the surface within which each knows its nearest triangle for certain: those of all
/// cubes between nodes that the surface cuts.
static const float EXACT = 1.75f;
enum { ROW = 8, TRIANGLES = 256, SLABS_A_THREAD = 4, PASSES_MOST = 200, NODES_A_THREAD = 4096 };

void distance_work_free(DistanceWork *w) {
    free(w->nearest), free(w->value), free(w->triangle), free(w->crossings), free(w->inside);
    free(w->frame);
    *w = (DistanceWork){0};
}

size_t distance_work_bytes(const DistanceWork *w) {
    return w->room[0] * sizeof *w->nearest + w->room[1] * sizeof *w->value +
           w->room[2] * sizeof *w->triangle + w->room[3] * sizeof *w->crossings + w->room[4] +
           w->room[5] * sizeof *w->frame;
}

size_t distance_grid_fit(DistanceGrid *g, int dim, double spacing, int margin) {
    size_t nodes = 1;
    g->spacing = (float)spacing;
    g->n[2] = 1, g->origin[2] = 0;
    for (int a = 0; a < dim; a++) {
        double from = floor(g->low[a] / spacing) - margin;
        double to = ceil(g->high[a] / spacing) + margin;
        g->origin[a] = (float)(from * spacing), g->n[a] = (int)(to - from) + 1;
        if (a == 0) g->n[a] = (g->n[a] + ROW - 1) / ROW * ROW;
        nodes *= (size_t)g->n[a];
    }
    return nodes;
}

static bool make_room(DistanceGrid *g, DistanceWork *w, size_t nodes, size_t triangles) {
    return memory_fit((void **)&g->value, &w->grid_room, sizeof *g->value, nodes) &&
           memory_fit((void **)&w->nearest, &w->room[0], sizeof *w->nearest, nodes) &&
           memory_fit((void **)&w->value, &w->room[1], sizeof *w->value, nodes) &&
           memory_fit((void **)&w->triangle, &w->room[2], sizeof *w->triangle, nodes) &&
           memory_fit((void **)&w->crossings, &w->room[3], sizeof *w->crossings, nodes) &&
           memory_fit((void **)&w->inside, &w->room[4], 1, nodes) &&
           memory_fit((void **)&w->frame, &w->room[5], sizeof *w->frame, triangles);
}

// --------------------------------------------------------------------------------- to the surface

typedef struct Near {
    DistanceGrid *grid;
    const Trimesh *mesh;
    DistanceWork *work;
    const DistanceKernels *kernels;
    float reach; ///< m
    int slabs;   ///< of the grid along `axis`, the last that it has
    int grain;   ///< of loops over them
    int axis;
    uint8_t *live[2]; ///< [rows] that changed in the last pass; in this one
    uint8_t *busy;    ///< [slabs] whether rows changed in this pass
} Near;

static void node_range(const DistanceGrid *g, int axis, float a, float b, float c,
                       TriangleFrame *t) {
    const float least = a < b ? a : b, most = a < b ? b : a;
    const double low = least < c ? least : c, high = most > c ? most : c;
    double from = (low - g->origin[axis]) / g->spacing - (double)EXACT - 0.01;
    double to = (high - g->origin[axis]) / g->spacing + (double)EXACT + 0.01;
    // numbers that are not below 0 are cut off: the next node from there on, the last up to there
    t->low[axis] = !(from > 0) ? 0 : (int)from + ((double)(int)from < from);
    t->high[axis] = to > g->n[axis] - 1 ? g->n[axis] - 1 : !(to >= 0) ? -1 : (int)to;
}

static TriangleFrame frame_of(const DistanceGrid *g, const Trimesh *m, const uint32_t corner[3]) {
    TriangleFrame t = {0};
    const float *a = m->vertices[corner[0]], *b = m->vertices[corner[1]];
    const float *c = m->vertices[corner[2]];
    double e[3], f[3], h[3], n[3];
    for (int i = 0; i < 3; i++) {
        e[i] = (double)b[i] - a[i], f[i] = (double)c[i] - a[i], h[i] = (double)c[i] - b[i];
        t.corner[i] = (float)((double)a[i] - g->origin[i]);
        t.edge[0][i] = (float)e[i], t.edge[1][i] = (float)f[i], t.across[i] = (float)h[i];
        node_range(g, i, a[i], b[i], c[i], &t);
    }
    cross3(e, f, n);
    double ee = dot3(e, e), ff = dot3(f, f), hh = dot3(h, h), ef = dot3(e, f), nn = dot3(n, n);
    t.flat = !(nn > 1e-10 * ee * ff);
    t.ee = (float)ee, t.ff = (float)ff, t.ef = (float)ef;
    t.by[0] = ee > 0 ? (float)(1 / ee) : 0, t.by[1] = ff > 0 ? (float)(1 / ff) : 0;
    t.by[2] = hh > 0 ? (float)(1 / hh) : 0;
    if (!t.flat) {
        t.inverse = (float)(1 / nn); // Lagrange: ee ff - ef^2
        for (int i = 0; i < 3; i++) t.normal[i] = (float)(n[i] / sqrt(nn));
    }
    return t;
}

static void find_frames(void *context, int part, int thread) {
    const Near *s = context;
    size_t end = (size_t)(part + 1) * TRIANGLES;
    if (end > s->mesh->triangle_count) end = s->mesh->triangle_count;
    for (size_t t = (size_t)part * TRIANGLES; t < end; t++)
        s->work->frame[t] = frame_of(s->grid, s->mesh, s->mesh->triangles[t]);
    (void)thread;
}

/// Layers of a slab: [*first, *last].
static void slab_layers(const Near *s, int slab, int *first, int *last) {
    int64_t n = s->grid->n[s->axis];
    *first = (int)(n * slab / s->slabs), *last = (int)(n * (slab + 1) / s->slabs) - 1;
}

/// Nodes of a slab: where they begin and how many.
static size_t slab_nodes(const Near *s, int slab, size_t *begin) {
    int first, last;
    size_t layer = (size_t)s->grid->n[0] * (s->axis == 2 ? (size_t)s->grid->n[1] : 1);
    slab_layers(s, slab, &first, &last);
    *begin = (size_t)first * layer;
    return (size_t)(last + 1 - first) * layer;
}

static DistanceRows rows_of(const Near *s) {
    return (DistanceRows){.n = {s->grid->n[0], s->grid->n[1]},
                          .step = s->grid->spacing,
                          .reach = (EXACT + 0.01f) * s->grid->spacing,
                          .value = s->grid->value,
                          .nearest = s->work->nearest};
}

/// Rows of a slab along y and z: [low, high].
static void slab_rows(const Near *s, int slab, int low[2], int high[2]) {
    int first, last;
    slab_layers(s, slab, &first, &last);
    low[0] = s->axis == 1 ? first : 0, low[1] = s->axis == 2 ? first : 0;
    high[0] = s->axis == 1 ? last : s->grid->n[1] - 1;
    high[1] = s->axis == 2 ? last : s->grid->n[2] - 1;
}

static void offer_slab(void *context, int slab, int thread) {
    const Near *s = context;
    int first, last;
    size_t begin, count = slab_nodes(s, slab, &begin);
    slab_layers(s, slab, &first, &last);
    for (size_t i = begin; i < begin + count; i++) s->grid->value[i] = DISTANCE_FAR;
    memset(s->work->nearest + begin, 0, count * sizeof *s->work->nearest);
    const DistanceRows rows = rows_of(s);
    for (size_t t = 0; t < s->mesh->triangle_count; t++) {
        const TriangleFrame *f = &s->work->frame[t];
        int low[2] = {f->low[1], f->low[2]}, high[2] = {f->high[1], f->high[2]}, a = s->axis - 1;
        if (low[a] < first) low[a] = first;
        if (high[a] > last) high[a] = last;
        if (low[a] <= high[a]) s->kernels->offer(f, (uint32_t)t, &rows, low, high);
    }
    for (size_t i = begin; i < begin + count; i++)
        if (s->grid->value[i] < DISTANCE_FAR) s->grid->value[i] = sqrtf(s->grid->value[i]);
    (void)thread;
}

// -------------------------------------------------------------------------------------- outwards

static bool spread_row(const Near *s, int j, int k) {
    const DistanceGrid *g = s->grid;
    const ptrdiff_t step[2] = {g->n[0], (ptrdiff_t)g->n[0] * g->n[1]};
    const ptrdiff_t row = j * step[0] + k * step[1];
    const int at[2] = {j, k};
    const float *d[5] = {g->value + row};
    const uint32_t *triangle[5] = {s->work->nearest + row};
    for (int a = 0; a < 2; a++)
        for (int side = 0; side < 2; side++) {
            if (side ? at[a] + 1 >= g->n[a + 1] : at[a] == 0) continue;
            ptrdiff_t other = row + (side ? step[a] : -step[a]);
            d[1 + 2 * a + side] = g->value + other;
            triangle[1 + 2 * a + side] = s->work->nearest + other;
        }
    return s->kernels->spread(d, triangle, g->n[0], g->spacing, EXACT * g->spacing,
                              s->reach + g->spacing, s->work->value + row, s->work->triangle + row);
}

/// Whether a row or one beside it changed in the last pass. Others are the same in both buffers.
static bool is_live(const Near *s, int j, int k) {
    const int n1 = s->grid->n[1], n2 = s->grid->n[2];
    const uint8_t *live = s->live[0] + (size_t)k * (size_t)n1 + j;
    return live[0] || (j > 0 && live[-1]) || (j + 1 < n1 && live[1]) || (k > 0 && live[-n1]) ||
           (k + 1 < n2 && live[n1]);
}

static void spread_slab(void *context, int slab, int thread) {
    const Near *s = context;
    int low[2], high[2];
    slab_rows(s, slab, low, high);
    s->busy[slab] = 0;
    for (int k = low[1]; k <= high[1]; k++)
        for (int j = low[0]; j <= high[0]; j++) {
            uint8_t *live = &s->live[1][(size_t)k * (size_t)s->grid->n[1] + (size_t)j];
            *live = is_live(s, j, k) && spread_row(s, j, k);
            s->busy[slab] |= *live;
        }
    (void)thread;
}

static void swap_buffers(Near *s) {
    DistanceWork *w = s->work;
    float *value = s->grid->value;
    uint32_t *nearest = w->nearest;
    size_t room[2] = {w->grid_room, w->room[0]};
    uint8_t *live = s->live[0];
    s->grid->value = w->value, w->value = value;
    w->nearest = w->triangle, w->triangle = nearest;
    w->grid_room = w->room[1], w->room[1] = room[0];
    w->room[0] = w->room[2], w->room[2] = room[1];
    s->live[0] = s->live[1], s->live[1] = live;
}

static void spread(Near *s, Team *team) {
    memset(s->live[0], 1, (size_t)s->grid->n[1] * (size_t)s->grid->n[2]);
    for (int pass = 0; pass < PASSES_MOST; pass++) {
        team_for(team, s->slabs, s->grain, spread_slab, s);
        swap_buffers(s);
        if (!memchr(s->busy, 1, (size_t)s->slabs)) break;
    }
}

static void sign_slab(void *context, int slab, int thread) {
    const Near *s = context;
    size_t begin, count = slab_nodes(s, slab, &begin);
    float *value = s->grid->value;
    int low[2], high[2];
    slab_rows(s, slab, low, high);
    const DistanceRows rows = rows_of(s);
    s->kernels->refine(s->work->frame, &rows, low, high, EXACT * s->grid->spacing,
                       s->reach + s->grid->spacing);
    for (size_t i = begin; i < begin + count; i++) {
        float d = value[i] < s->reach ? value[i] : s->reach;
        value[i] = s->work->inside[i] ? -d : d;
    }
    (void)thread;
}

bool distance_grid_near(DistanceGrid *g, const Trimesh *mesh, float reach, bool sound, Team *team,
                        DistanceWork *work) {
    size_t nodes = (size_t)g->n[0] * (size_t)g->n[1] * (size_t)g->n[2];
    if (!make_room(g, work, nodes, mesh->triangle_count)) return false;
    Near s = {.grid = g, .mesh = mesh, .work = work, .reach = reach * g->spacing};
    s.kernels = distance_kernels_for(isa_choose(BRIM_ISA_AUTO));
    s.axis = g->n[2] > 1 ? 2 : 1;
    s.slabs = SLABS_A_THREAD * team_threads(team);
    if (s.slabs > g->n[s.axis]) s.slabs = g->n[s.axis];
    size_t rows = (size_t)g->n[1] * (size_t)g->n[2];
    uint8_t *live = malloc(2 * rows + (size_t)g->n[s.axis]);
    if (!live) return false;
    s.live[0] = live, s.live[1] = live + rows, s.busy = live + 2 * rows;
    team_for(team, team_parts(mesh->triangle_count, TRIANGLES), 1, find_frames, &s);
    team_for(team, s.slabs, 1, offer_slab, &s);
    s.slabs = g->n[s.axis]; // from here on by layers: they cost more or less, as the surface lies
    s.grain = 1 + NODES_A_THREAD * s.slabs / (int)nodes;
    spread(&s, team);
    free(live);
    distance_grid_inside(g, mesh, sound, team, work->crossings, work->inside);
    team_for(team, s.slabs, s.grain, sign_slab, &s);
    return true;
}
