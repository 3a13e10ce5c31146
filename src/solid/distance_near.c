#include "solid/distance_near.h"
#include "base/memory.h"
#include "solid/triangle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Nodes from the surface within which each knows its nearest triangle for certain: those of all
/// cubes between nodes that the surface cuts.
static const float EXACT = 1.75f;
enum { ROW = 8, TRIANGLES = 256, PASSES_MOST = 200, NODES_A_THREAD = 4096 };

void distance_work_free(DistanceWork *w) {
    free(w->nearest), free(w->value), free(w->triangle), free(w->crossings), free(w->inside);
    free(w->frame), free(w->span), free(w->change), free(w->live);
    *w = (DistanceWork){0};
}

size_t distance_work_bytes(const DistanceWork *w) {
    return w->room[0] * sizeof *w->nearest + w->room[1] * sizeof *w->value +
           w->room[2] * sizeof *w->triangle + w->room[3] * sizeof *w->crossings + w->room[4] +
           w->room[5] * sizeof *w->frame + w->room[6] * sizeof *w->span +
           w->room[7] * sizeof *w->change + w->room[8];
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
           memory_fit((void **)&w->frame, &w->room[5], sizeof *w->frame, triangles) &&
           memory_fit((void **)&w->span, &w->room[6], sizeof *w->span, triangles);
}

// --------------------------------------------------------------------------------- to the surface

typedef struct Near {
    DistanceGrid *grid;
    const Trimesh *mesh;
    DistanceWork *work;
    const DistanceKernels *kernels;
    float reach;         ///< m
    int axis;            ///< the last that the grid has
    int layers;          ///< along it
    int grain;           ///< of loops over them
    DistanceSlabs slabs; ///< of triangles to offer
    uint8_t *live[2]; ///< [rows][live_row] what of eights of nodes the last pass changed; this one
    size_t live_row;  ///< bytes of a row, whole words; before each is a word of zeros
    uint8_t *busy;    ///< [layers] whether any changed in this pass
} Near;

static void node_range(const DistanceGrid *g, double inverse, int axis, float a, float b, float c,
                       TriangleFrame *t) {
    const float least = a < b ? a : b, most = a < b ? b : a;
    const double low = least < c ? least : c, high = most > c ? most : c;
    double from = (low - g->origin[axis]) * inverse - (double)EXACT - 0.01;
    double to = (high - g->origin[axis]) * inverse + (double)EXACT + 0.01;
    // numbers that are not below 0 are cut off: the next node from there on, the last up to there
    t->low[axis] = !(from > 0) ? 0 : (int)from + ((double)(int)from < from);
    t->high[axis] = to > g->n[axis] - 1 ? g->n[axis] - 1 : !(to >= 0) ? -1 : (int)to;
}

/// Unit vectors at right angles to a unit vector and to each other.
static void other_axes(const double along[3], double across[3], double normal[3]) {
    int least = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(along[i]) < fabs(along[least])) least = i;
    double axis[3] = {least == 0, least == 1, least == 2};
    cross3(along, axis, normal);
    double by = 1 / sqrt(dot3(normal, normal));
    for (int i = 0; i < 3; i++) normal[i] *= by;
    cross3(normal, along, across);
}

static TriangleFrame frame_of(const DistanceGrid *g, const Trimesh *m, const uint32_t corner[3]) {
    TriangleFrame t = {0};
    const float *a = m->vertices[corner[0]], *b = m->vertices[corner[1]];
    const float *c = m->vertices[corner[2]];
    const double inverse = 1 / (double)g->spacing;
    double e[3], f[3], x[3] = {1, 0, 0}, y[3], z[3];
    for (int i = 0; i < 3; i++) {
        e[i] = (double)b[i] - a[i], f[i] = (double)c[i] - a[i];
        t.corner[i] = (float)((double)a[i] - g->origin[i]);
        node_range(g, inverse, i, a[i], b[i], c[i], &t);
    }
    cross3(e, f, z);
    const double ee = dot3(e, e), ff = dot3(f, f), nn = dot3(z, z);
    const double *way = ee > 0 ? e : f; // the first axis
    double square = ee > 0 ? ee : ff, by = square > 0 ? 1 / sqrt(square) : 0;
    for (int i = 0; i < 3 && by > 0; i++) x[i] = way[i] * by;
    const bool flat = !(nn > 1e-10 * ee * ff);
    if (flat) {
        other_axes(x, y, z);
    } else {
        const double up = 1 / sqrt(nn);
        for (int i = 0; i < 3; i++) z[i] *= up;
        cross3(z, x, y);
    }
    const double length = ee > 0 ? ee * by : 0, over = dot3(f, x), up = flat ? 0 : nn * by * by;
    const double height = sqrt(up), gg = (over - length) * (over - length) + up;
    for (int i = 0; i < 3; i++)
        t.along[i] = (float)x[i], t.across[i] = (float)y[i], t.normal[i] = (float)z[i];
    t.length = (float)length, t.apex[0] = (float)over, t.apex[1] = (float)height;
    t.by[0] = ff > 0 ? (float)(1 / ff) : 0, t.by[1] = gg > 0 ? (float)(1 / gg) : 0;
    return t;
}

static void find_frames(void *context, int part, int thread) {
    const Near *s = context;
    size_t end = (size_t)(part + 1) * TRIANGLES;
    if (end > s->mesh->triangle_count) end = s->mesh->triangle_count;
    for (size_t t = (size_t)part * TRIANGLES; t < end; t++) {
        TriangleFrame *f = &s->work->frame[t];
        *f = frame_of(s->grid, s->mesh, s->mesh->triangles[t]);
        s->work->span[t][0] = f->low[s->axis], s->work->span[t][1] = f->high[s->axis];
    }
    (void)thread;
}

/// What it costs to begin and end a layer of nodes, in triangles that are offered to it.
enum { LAYER_COST = 30 };

/// Slabs to which about as many triangles are offered each: most layers along a body's edge see
/// few.
static bool find_slabs(Near *s, int most) {
    DistanceSlabs *slabs = &s->slabs;
    DistanceWork *w = s->work;
    int64_t all = 0, sum = 0, so_far = 0;
    const size_t ends = (size_t)s->layers + 1;
    if (!memory_fit((void **)&w->change, &w->room[7], sizeof *w->change, ends)) return false;
    int32_t *change = w->change;
    memset(change, 0, ends * sizeof *change);
    for (size_t t = 0; t < s->mesh->triangle_count; t++) {
        const int32_t *span = s->work->span[t];
        if (span[0] > span[1]) continue;
        change[span[0]]++, change[span[1] + 1]--;
        all += span[1] + 1 - span[0];
    }
    all += (int64_t)LAYER_COST * s->layers;
    slabs->count = 0, slabs->first[0] = 0, slabs->span = (const int32_t(*)[2])s->work->span;
    for (int layer = 0; layer < s->layers; layer++) {
        sum += change[layer], so_far += sum + LAYER_COST;
        if (so_far * most >= all * (slabs->count + 1) || layer + 1 == s->layers)
            slabs->first[++slabs->count] = layer + 1;
    }
    return true;
}

static DistanceRows rows_of(const Near *s) {
    return (DistanceRows){.n = {s->grid->n[0], s->grid->n[1]},
                          .step = s->grid->spacing,
                          .reach = (EXACT + 0.01f) * s->grid->spacing,
                          .value = s->grid->value,
                          .nearest = s->work->nearest};
}

/// Rows of a layer along y and z: [low, high].
static void layer_rows(const Near *s, int layer, int low[2], int high[2]) {
    low[0] = s->axis == 1 ? layer : 0, low[1] = s->axis == 2 ? layer : 0;
    high[0] = s->axis == 1 ? layer : s->grid->n[1] - 1;
    high[1] = s->axis == 2 ? layer : s->grid->n[2] - 1;
}

/// Nodes of a layer.
static size_t layer_nodes(const Near *s) {
    return (size_t)s->grid->n[0] * (s->axis == 2 ? (size_t)s->grid->n[1] : 1);
}

static void offer_slab(void *context, int slab, int thread) {
    const Near *s = context;
    const int first = s->slabs.first[slab], last = s->slabs.first[slab + 1] - 1;
    const size_t begin = (size_t)first * layer_nodes(s);
    const size_t count = (size_t)(last + 1 - first) * layer_nodes(s);
    for (size_t i = begin; i < begin + count; i++) s->grid->value[i] = DISTANCE_FAR;
    memset(s->work->nearest + begin, 0, count * sizeof *s->work->nearest);
    const DistanceRows rows = rows_of(s);
    for (size_t t = 0; t < s->mesh->triangle_count; t++) {
        if (s->work->span[t][0] > last || s->work->span[t][1] < first) continue;
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

/// A row along x: the eights of it that are marked => what changed.
static bool spread_row(const Near *s, int j, int k, uint8_t *eights) {
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
                              s->reach + g->spacing, eights, s->work->value + row,
                              s->work->triangle + row);
}

enum { WORD = sizeof(uint64_t) };

static uint64_t word_at(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/// Of eight eights of a row, those that changed in the last pass or lie beside what did. Others are
/// the same in both buffers.
static uint64_t due_at(const Near *s, int j, int k, size_t from) {
    static const uint64_t each = ~(uint64_t)0 / 0xff;
    const size_t up = s->live_row, in = up * (size_t)s->grid->n[1];
    const uint8_t *live = s->live[0] + (size_t)k * in + (size_t)j * up + from;
    uint64_t due = word_at(live) | (word_at(live - 1) & each * CHANGED_LAST) |
                   (word_at(live + 1) & each * CHANGED_FIRST);
    if (j > 0) due |= word_at(live - up);
    if (j + 1 < s->grid->n[1]) due |= word_at(live + up);
    if (k > 0) due |= word_at(live - in);
    if (k + 1 < s->grid->n[2]) due |= word_at(live + in);
    return due;
}

static void spread_layer(void *context, int layer, int thread) {
    const Near *s = context;
    bool busy = false;
    int low[2], high[2];
    layer_rows(s, layer, low, high);
    for (int k = low[1]; k <= high[1]; k++)
        for (int j = low[0]; j <= high[0]; j++) {
            size_t row = (size_t)k * (size_t)s->grid->n[1] + (size_t)j;
            uint8_t *eights = s->live[1] + row * s->live_row;
            uint64_t any = 0;
            for (size_t at = 0; at + WORD < s->live_row; at += WORD) {
                uint64_t due = due_at(s, j, k, at);
                memcpy(eights + at, &due, sizeof due);
                any |= due;
            }
            if (any) busy |= spread_row(s, j, k, eights);
        }
    s->busy[layer] = busy;
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

/// False when out of memory.
static bool spread(Near *s, Team *team) {
    const DistanceGrid *g = s->grid;
    const size_t rows = (size_t)g->n[1] * (size_t)g->n[2], eights = (size_t)g->n[0] / ROW;
    s->live_row = (eights + WORD - 1) / WORD * WORD + WORD;
    const size_t all = rows * s->live_row + WORD;
    const size_t bytes = 2 * all + (size_t)s->layers;
    if (!memory_fit((void **)&s->work->live, &s->work->room[8], 1, bytes)) return false;
    uint8_t *memory = s->work->live;
    memset(memory, 0, bytes);
    s->live[0] = memory + WORD, s->live[1] = s->live[0] + all, s->busy = memory + 2 * all;
    for (size_t row = 0; row < rows; row++)
        memset(s->live[0] + row * s->live_row, CHANGED_ANY, eights);
    for (int pass = 0; pass < PASSES_MOST; pass++) {
        team_for(team, s->layers, s->grain, spread_layer, s);
        swap_buffers(s);
        if (!memchr(s->busy, 1, (size_t)s->layers)) break;
    }
    return true;
}

static void sign_layer(void *context, int layer, int thread) {
    const Near *s = context;
    const size_t count = layer_nodes(s), begin = (size_t)layer * count;
    float *value = s->grid->value;
    int low[2], high[2];
    layer_rows(s, layer, low, high);
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
    s.layers = g->n[s.axis];
    s.grain = 1 + NODES_A_THREAD * s.layers / (int)nodes; // they cost more or less
    team_for(team, team_parts(mesh->triangle_count, TRIANGLES), 1, find_frames, &s);
    if (!find_slabs(&s, distance_slabs_for(team))) return false;
    team_for(team, s.slabs.count, 1, offer_slab, &s);
    if (!spread(&s, team)) return false;
    distance_grid_inside(g, mesh, sound, &s.slabs, team, work->crossings, work->inside);
    team_for(team, s.layers, s.grain, sign_layer, &s);
    return true;
}
