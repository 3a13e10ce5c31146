#include "look/contour.h"
#include "base/error.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 8, CROSSINGS_MOST = 12 };

typedef struct Work {
    const ContourField *field;
    float *value;   ///< [nodes]
    int32_t *index; ///< [nodes] vertex of the cell that begins at a node, -1: none
    uint32_t *cell; ///< [vertices] node where the cell begins
    size_t cells;
    Contour *out;
    size_t triangle_room;
} Work;

static size_t node_at(const ContourField *f, int x, int y, int z) {
    return ((size_t)z * (size_t)f->nodes[1] + (size_t)y) * (size_t)f->nodes[0] + (size_t)x;
}

static BrimVec3 node_point(const ContourField *f, int x, int y, int z) {
    return vec(f->low.x + f->spacing * (float)x, f->low.y + f->spacing * (float)y,
               f->low.z + f->spacing * (float)z);
}

// --------------------------------------------------------------------------------- node values

static int least(int a, int b) {
    return a < b ? a : b;
}

/// Values of a block of nodes. One far from the surface gets its middle's value: only the sign
/// will be asked for.
static void fill_block(const Work *w, const int low[3]) {
    const ContourField *f = w->field;
    int high[3];
    for (int k = 0; k < 3; k++) high[k] = least(low[k] + BLOCK, f->nodes[k]);
    float half = 0.5f * (BLOCK - 1) * f->spacing, middle;
    BrimVec3 c = vec_add(node_point(f, low[0], low[1], low[2]), vec(half, half, half));
    f->distance(f->context, 1, &c.x, &c.y, &c.z, &middle);
    bool far = fabsf(middle) > 1.8f * half;
    for (int z = low[2]; z < high[2]; z++) {
        for (int y = low[1]; y < high[1]; y++) {
            float px[BLOCK], py[BLOCK], pz[BLOCK], *row = w->value + node_at(f, low[0], y, z);
            int n = high[0] - low[0];
            for (int i = 0; i < n; i++) {
                BrimVec3 p = node_point(f, low[0] + i, y, z);
                px[i] = p.x, py[i] = p.y, pz[i] = p.z, row[i] = middle;
            }
            if (!far) f->distance(f->context, n, px, py, pz, row);
        }
    }
}

/// A row of blocks along x.
static void fill_row(void *context, int index, int thread) {
    const Work *w = context;
    const int *n = w->field->nodes;
    int blocks_y = (n[1] + BLOCK - 1) / BLOCK;
    for (int x = 0; x < n[0]; x += BLOCK)
        fill_block(w, (const int[3]){x, index % blocks_y * BLOCK, index / blocks_y * BLOCK});
}

static void fill_nodes(Work *w) {
    const int *n = w->field->nodes;
    int blocks_y = (n[1] + BLOCK - 1) / BLOCK, blocks_z = (n[2] + BLOCK - 1) / BLOCK;
    team_for(w->field->team, blocks_y * blocks_z, 1, fill_row, w);
}

// ------------------------------------------------------------------------------------ vertices

/// Corner c of a cell: bit 0 x, bit 1 y, bit 2 z.
static float corner(const Work *w, const int at[3], int c) {
    return w->value[node_at(w->field, at[0] + (c & 1), at[1] + (c >> 1 & 1), at[2] + (c >> 2))];
}

static bool cell_is_cut(const Work *w, const int at[3]) {
    bool inside = corner(w, at, 0) < 0;
    for (int c = 1; c < 8; c++)
        if ((corner(w, at, c) < 0) != inside) return true;
    return false;
}

static BrimVec3 gradient(const ContourField *f, BrimVec3 p) {
    float h = 0.02f * f->spacing, d[6];
    const float x[6] = {p.x - h, p.x + h, p.x, p.x, p.x, p.x};
    const float y[6] = {p.y, p.y, p.y - h, p.y + h, p.y, p.y};
    const float z[6] = {p.z, p.z, p.z, p.z, p.z - h, p.z + h};
    f->distance(f->context, 6, x, y, z, d);
    return vec_unit(vec(d[1] - d[0], d[3] - d[2], d[5] - d[4]));
}

/// Where the distance is zero between two points a cell apart along an axis, values da and db: near
/// edges of a solid it is not linear, so twice by false position.
static float find_zero(const ContourField *f, BrimVec3 a, int axis, float da, float db) {
    float low = 0, high = 1, t = da / (da - db);
    for (int k = 0; k < 2; k++) {
        float p[3] = {a.x, a.y, a.z}, d;
        p[axis] += t * f->spacing;
        f->distance(f->context, 1, &p[0], &p[1], &p[2], &d);
        if ((d < 0) == (da < 0))
            low = t, da = d;
        else
            high = t, db = d;
        if (da == db) break;
        t = low + (high - low) * da / (da - db);
    }
    return t;
}

/// Where the surface cuts the cell's edges, in cells from its first corner.
static int cell_crossings(const Work *w, const int at[3], BrimVec3 *point) {
    int n = 0;
    for (int axis = 0; axis < 3; axis++) {
        for (int k = 0; k < 4; k++) {
            int u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3;
            int a = (k & 1 ? u : 0) | (k & 2 ? v : 0), b = a | 1 << axis;
            float da = corner(w, at, a), db = corner(w, at, b);
            if ((da < 0) == (db < 0)) continue;
            float t[3] = {(float)(a & 1), (float)(a >> 1 & 1), (float)(a >> 2)};
            BrimVec3 begin =
                node_point(w->field, at[0] + (a & 1), at[1] + (a >> 1 & 1), at[2] + (a >> 2));
            t[axis] = find_zero(w->field, begin, axis, da, db);
            point[n++] = vec(t[0], t[1], t[2]);
        }
    }
    return n;
}

/// Solves the symmetric m x = b, m given as xx xy xz yy yz zz, by Cholesky's method.
static BrimVec3 solve_3(const float m[6], BrimVec3 b) {
    float l00 = sqrtf(m[0]), l10 = m[1] / l00, l20 = m[2] / l00;
    float l11 = sqrtf(m[3] - l10 * l10), l21 = (m[4] - l20 * l10) / l11;
    float l22 = sqrtf(m[5] - l20 * l20 - l21 * l21);
    float y0 = b.x / l00, y1 = (b.y - l10 * y0) / l11, y2 = (b.z - l20 * y0 - l21 * y1) / l22;
    float z = y2 / l22, y = (y1 - l21 * z) / l11;
    return vec((y0 - l10 * y - l20 * z) / l00, y, z);
}

/// The point nearest to the planes through all crossings, so that edges and corners are met.
static BrimVec3 cell_vertex(const Work *w, const int at[3]) {
    const ContourField *f = w->field;
    BrimVec3 cut[CROSSINGS_MOST], mean = vec(0, 0, 0), rhs = vec(0, 0, 0);
    BrimVec3 first = node_point(f, at[0], at[1], at[2]);
    int n = cell_crossings(w, at, cut);
    for (int i = 0; i < n; i++) mean = vec_add(mean, vec_mul(cut[i], 1 / (float)n));
    // a little weight on the mean settles the directions that the planes leave open
    float m[6] = {0.004f, 0, 0, 0.004f, 0, 0.004f};
    for (int i = 0; i < n; i++) {
        BrimVec3 g = gradient(f, vec_add(first, vec_mul(cut[i], f->spacing)));
        float away = vec_dot(g, vec_sub(cut[i], mean));
        m[0] += g.x * g.x, m[1] += g.x * g.y, m[2] += g.x * g.z;
        m[3] += g.y * g.y, m[4] += g.y * g.z, m[5] += g.z * g.z;
        rhs = vec_add(rhs, vec_mul(g, away));
    }
    BrimVec3 p = vec_add(mean, solve_3(m, rhs));
    p = vec(clampf(p.x, 0, 1), clampf(p.y, 0, 1), clampf(p.z, 0, 1));
    return vec_add(first, vec_mul(p, f->spacing));
}

/// Numbers the cells that the surface cuts, in the order of nodes.
static bool list_cells(Work *w) {
    const int *n = w->field->nodes;
    size_t room = 0;
    memset(w->index, 0xff, (size_t)n[0] * (size_t)n[1] * (size_t)n[2] * sizeof *w->index);
    for (int z = 0; z + 1 < n[2]; z++) {
        for (int y = 0; y + 1 < n[1]; y++) {
            for (int x = 0; x + 1 < n[0]; x++) {
                if (!cell_is_cut(w, (const int[3]){x, y, z})) continue;
                if (!memory_grow((void **)&w->cell, &room, sizeof *w->cell, w->cells + 1, w->cells))
                    return false;
                size_t node = node_at(w->field, x, y, z);
                w->index[node] = (int32_t)w->cells;
                w->cell[w->cells++] = (uint32_t)node;
            }
        }
    }
    return true;
}

enum { VERTEX_PART = 256 };

static void place_part(void *context, int index, int thread) {
    const Work *w = context;
    const int *n = w->field->nodes;
    float *position = w->out->position;
    size_t first = (size_t)index * VERTEX_PART, end = first + VERTEX_PART;
    for (size_t i = first; i < end && i < w->cells; i++) {
        int node = (int)w->cell[i];
        BrimVec3 p =
            cell_vertex(w, (const int[3]){node % n[0], node / n[0] % n[1], node / (n[0] * n[1])});
        position[3 * i] = p.x, position[3 * i + 1] = p.y, position[3 * i + 2] = p.z;
    }
}

static bool place_vertices(Work *w) {
    w->out->position = memory_new((3 * w->cells + 1) * sizeof(float));
    if (!w->out->position) return false;
    team_for(w->field->team, team_parts(w->cells, VERTEX_PART), 1, place_part, w);
    w->out->vertex_count = w->cells;
    return true;
}

// ----------------------------------------------------------------------------------- triangles

static bool add_triangle(Work *w, int32_t a, int32_t b, int32_t c) {
    Contour *o = w->out;
    if (!memory_grow((void **)&o->triangle, &w->triangle_room, 3 * sizeof(uint32_t),
                     o->triangle_count + 1, o->triangle_count))
        return false;
    uint32_t *t = o->triangle + 3 * o->triangle_count++;
    t[0] = (uint32_t)a, t[1] = (uint32_t)b, t[2] = (uint32_t)c;
    return true;
}

/// The four cells around the edge from a node along an axis become two triangles.
static bool join_edge(Work *w, const int at[3], int axis) {
    const ContourField *f = w->field;
    int u = (axis + 1) % 3, v = (axis + 2) % 3, end[3] = {at[0], at[1], at[2]};
    end[axis]++;
    if (end[axis] >= f->nodes[axis] || at[u] == 0 || at[v] == 0) return true;
    float a = w->value[node_at(f, at[0], at[1], at[2])];
    float b = w->value[node_at(f, end[0], end[1], end[2])];
    if ((a < 0) == (b < 0)) return true;
    int32_t quad[4];
    for (int k = 0; k < 4; k++) {
        int c[3] = {at[0], at[1], at[2]};
        c[u] -= k == 0 || k == 3, c[v] -= k < 2;
        quad[k] = w->index[node_at(f, c[0], c[1], c[2])];
        if (quad[k] < 0) return true;
    }
    bool flip = a >= 0;
    return add_triangle(w, quad[0], quad[flip ? 2 : 1], quad[flip ? 1 : 2]) &&
           add_triangle(w, quad[0], quad[flip ? 3 : 2], quad[flip ? 2 : 3]);
}

static bool join_vertices(Work *w) {
    const int *n = w->field->nodes;
    for (size_t i = 0; i < w->cells; i++) {
        int node = (int)w->cell[i];
        const int at[3] = {node % n[0], node / n[0] % n[1], node / (n[0] * n[1])};
        for (int axis = 0; axis < 3; axis++)
            if (!join_edge(w, at, axis)) return false;
    }
    return true;
}

BrimResult contour_new(const ContourField *field, Contour *contour, BrimError *error) {
    *contour = (Contour){0};
    size_t nodes = (size_t)field->nodes[0] * (size_t)field->nodes[1] * (size_t)field->nodes[2];
    Work w = {.field = field, .out = contour};
    w.value = memory_new(nodes * sizeof *w.value);
    w.index = memory_new(nodes * sizeof *w.index);
    bool done = w.value && w.index;
    if (done) {
        fill_nodes(&w);
        done = list_cells(&w) && place_vertices(&w) && join_vertices(&w);
    }
    free(w.value);
    free(w.index);
    free(w.cell);
    if (done) return BRIM_OK;
    contour_free(contour);
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's solids");
}

void contour_free(Contour *contour) {
    free(contour->position);
    free(contour->triangle);
    *contour = (Contour){0};
}
