// Curvature of the surface, from distances. Those of the level set are good beside the surface;
// what second differences and their smoothing need besides follows from them by |grad phi| = 1.
#include "liquid/tension.h"
#include "step/stages.h"
#include "walls/solid_masks.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

enum { EDGE = TILE + 2 };
/// Passes by which distances spread, and of the filter that takes the particles' chance out of
/// them.
enum { SPREAD_PASSES = 5, FILTER_PASSES = 10 };
/// Distance, in cells, of what is not known yet, and up to which there is curvature.
static const float FAR_AWAY = 9, CURVED = 2;

// ---------------------------------------------------------------------------------- distances

typedef struct Block {
    float at[EDGE * EDGE * EDGE];
    int dim, stride[3];
} Block;

/// Distances to begin with: at cell centres, or on a warped grid at nodes in reference space, where
/// it is regular.
static const float *distances(const BrimSim *s) {
    return s->warp ? s->phibar : s->phi;
}

/// Nodes beyond walls are mirror images of those before them.
static void mirror_nodes(const BrimSim *s, int slot, Block *b) {
    const TileCoord t = s->grid.coord[slot];
    const int first[3] = {t.x * TILE - 1, t.y * TILE - 1, t.z * TILE - 1};
    for (int a = 0; a < b->dim; a++) {
        const int end = s->grid.cells[a] - first[a]; // in the block
        for (int i = 0; i < (b->dim == 3 ? EDGE * EDGE * EDGE : EDGE * EDGE); i++) {
            const int p = i / b->stride[a] % EDGE;
            const int q = first[a] + p < 0 ? p + 2 : p > end ? 2 * end - p : p;
            if (q != p && q >= 0) b->at[i] = b->at[i + (q - p) * b->stride[a]];
        }
    }
}

static void load(const BrimSim *s, int slot, const float *field, float missing, Block *b) {
    b->dim = s->dim;
    b->stride[0] = 1, b->stride[1] = EDGE, b->stride[2] = EDGE * EDGE;
    block_load(&s->grid, slot, field, s->warp ? PLACE_NODE : PLACE_CELL, &s->sides, 1, missing,
               b->at);
    if (s->warp) mirror_nodes(s, slot, b);
}

static int place_of(const Block *b, int cell) {
    return ((b->dim == 3 ? (cell >> 6) + 1 : 0) * EDGE + (cell >> 3 & 7) + 1) * EDGE + (cell & 7) +
           1;
}

/// Offsets of the cells around one.
static int offsets_around(const Block *b, int offset[26]) {
    int count = 0;
    for (int z = b->dim == 3 ? -1 : 0; z <= (b->dim == 3 ? 1 : 0); z++)
        for (int y = -1; y <= 1; y++)
            for (int x = -1; x <= 1; x++)
                if (x || y || z) offset[count++] = x + y * EDGE + z * EDGE * EDGE;
    return count;
}

/// Cells beside a change of sign keep their distance, others wait for theirs. => tension_phi,
/// curved
static void begin_tile(BrimSim *s, int slot, int thread, void *context) {
    const int cells = s->grid.tile_cells;
    float *out = s->tension_phi + (size_t)slot * (size_t)cells;
    const float *phi = distances(s) + (size_t)slot * (size_t)cells;
    Block b;
    int offset[26], count;
    s->curved[slot] = 0;
    load(s, slot, distances(s), LEVEL_SET_CUT, &b);
    count = offsets_around(&b, offset);
    for (int i = 0; i < cells; i++) {
        int at = place_of(&b, i);
        bool inside = phi[i] < 0, beside = false;
        for (int k = 0; k < count; k++) beside |= (b.at[at + offset[k]] < 0) != inside;
        beside &= fabsf(phi[i]) < LEVEL_SET_CUT;
        out[i] = beside ? phi[i] : inside ? -FAR_AWAY : FAR_AWAY;
        s->curved[slot] |= beside;
    }
}

/// The distance that its neighbours' ones along the axes give, at slope 1; its own where none of
/// them is nearer.
static float spread(const Block *b, int at) {
    float a[3] = {FAR_AWAY, FAR_AWAY, FAR_AWAY}, here = fabsf(b->at[at]);
    for (int k = 0; k < b->dim; k++) {
        float low = fabsf(b->at[at - b->stride[k]]), high = fabsf(b->at[at + b->stride[k]]);
        a[k] = low < high ? low : high;
    }
    if (!(a[0] < here || a[1] < here || a[2] < here)) return here;
    for (int i = 0; i < 2; i++) // the nearest first
        for (int k = 0; k < 2; k++)
            if (a[k] > a[k + 1]) {
                float t = a[k];
                a[k] = a[k + 1], a[k + 1] = t;
            }
    float d = a[0] + 1;
    if (d > a[1]) d = 0.5f * (a[0] + a[1] + sqrtf(fmaxf(0, 2 - (a[0] - a[1]) * (a[0] - a[1]))));
    if (b->dim == 3 && d > a[2]) {
        float sum = a[0] + a[1] + a[2], squares = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
        d = (sum + sqrtf(fmaxf(0, sum * sum - 3 * (squares - 1)))) / 3;
    }
    return d;
}

/// Whether a tile or one beside it has the surface in it.
static bool near_surface(const BrimSim *s, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && s->curved[t]) return true;
    }
    return false;
}

/// Where a pass reads and writes.
typedef struct Pass {
    const float *from;
    float *to;
} Pass;

static void spread_tile(BrimSim *s, int slot, int thread, void *context) {
    const Pass *pass = context;
    const int cells = s->grid.tile_cells;
    const size_t first = (size_t)slot * (size_t)cells;
    float *to = pass->to + first;
    memcpy(to, pass->from + first, (size_t)cells * sizeof *to);
    if (!near_surface(s, slot)) return;
    Block b;
    load(s, slot, pass->from, FAR_AWAY, &b);
    for (int i = 0; i < cells; i++) {
        int at = place_of(&b, i);
        float kept = distances(s)[first + (size_t)i], here = b.at[at];
        if (here == kept && fabsf(here) < LEVEL_SET_CUT) continue; // beside the surface
        float d = spread(&b, at);
        if (d < fabsf(here)) to[i] = here < 0 ? -d : d;
    }
}

/// A pass of Taubin's filter, which takes ripples of a few cells and leaves the rest as it is:
/// towards the mean of the neighbours along the axes by a half, then back a little more.
typedef struct Filter {
    Pass pass;
    float part;
} Filter;

static inline float farther(float most, float d) {
    d = fabsf(d);
    return d > most ? d : most;
}

/// A row of cells, of which one that is not known, or beside such a one, stays as it is.
static inline void filter_row(const float *restrict at, const int dim, float part,
                              float *restrict to) {
    for (int x = 0; x < TILE; x++) {
        float most = farther(farther(fabsf(at[x]), at[x - 1]), at[x + 1]);
        float sum = at[x - 1] + at[x + 1] + at[x - EDGE] + at[x + EDGE];
        most = farther(farther(most, at[x - EDGE]), at[x + EDGE]);
        if (dim == 3) {
            sum = sum + at[x - EDGE * EDGE] + at[x + EDGE * EDGE];
            most = farther(farther(most, at[x - EDGE * EDGE]), at[x + EDGE * EDGE]);
        }
        float next = at[x] + part * (sum / (float)(2 * dim) - at[x]);
        to[x] = most < FAR_AWAY - 2 ? next : at[x];
    }
}

static void filter_tile(BrimSim *s, int slot, int thread, void *context) {
    const Filter *filter = context;
    const int cells = s->grid.tile_cells;
    const size_t first = (size_t)slot * (size_t)cells;
    float *to = filter->pass.to + first;
    if (!near_surface(s, slot)) {
        memcpy(to, filter->pass.from + first, (size_t)cells * sizeof *to);
        return;
    }
    Block b;
    load(s, slot, filter->pass.from, FAR_AWAY, &b);
    for (int i = 0; i < cells; i += TILE)
        if (b.dim == 3)
            filter_row(b.at + place_of(&b, i), 3, filter->part, to + i);
        else
            filter_row(b.at + place_of(&b, i), 2, filter->part, to + i);
}

// ---------------------------------------------------------------------------------- curvature

float curvature_of(int dim, const float *at, int stride_y, int stride_z) {
    const int stride[3] = {1, stride_y, stride_z};
    const float limit = dim == 3 ? 2 : 1; // of a drop of a cell's radius
    float g[3] = {0}, second[3] = {0}, mixed = 0, length2 = 0, laplace = 0, along = 0;
    for (int a = 0; a < dim; a++) {
        g[a] = 0.5f * (at[stride[a]] - at[-stride[a]]);
        second[a] = at[stride[a]] - 2 * at[0] + at[-stride[a]];
        length2 += g[a] * g[a], laplace += second[a];
    }
    if (length2 < 1e-4f) return 0;
    for (int a = 0; a < dim; a++) {
        along += g[a] * g[a] * second[a];
        for (int b = a + 1; b < dim; b++) {
            int p = stride[a], q = stride[b];
            mixed += g[a] * g[b] * 0.5f * (at[p + q] - at[p - q] - at[q - p] + at[-p - q]);
        }
    }
    float k = (laplace * length2 - along - mixed) / (length2 * sqrtf(length2));
    return k < -limit ? -limit : k > limit ? limit : k;
}

/// Walls: a surface that meets them at an angle goes on beyond them at that angle.
static void tilt_at_walls(const BrimSim *s, int slot, float tilt, Block *b) {
    const Grid *g = &s->grid;
    const TileCoord c = g->coord[slot];
    const int first[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    for (int z = 0; z < (b->dim == 3 ? EDGE : 1); z++)
        for (int y = 0; y < EDGE; y++)
            for (int x = 0; x < EDGE; x++) {
                const int p[3] = {x - 1, y - 1, b->dim == 3 ? z - 1 : 0};
                for (int a = 0; a < b->dim; a++) {
                    int at = first[a] + p[a];
                    if ((at < 0 && !s->sides.open[2 * a]) ||
                        (at == g->cells[a] && !s->sides.open[2 * a + 1]))
                        b->at[(z * EDGE + y) * EDGE + x] -= tilt;
                }
            }
}

static bool is_rock(const BrimSim *s, int slot, int x, int y, int z) {
    int64_t i = grid_near(&s->grid, slot, x, y, z);
    return i >= 0 && s->rock[i >> 3] >> (i & 7) & 1;
}

/// The same of solids: their cells get the mean of those beside them that are none.
static void tilt_at_solids(const BrimSim *s, int slot, float tilt, Block *b) {
    Block from = *b;
    const int deep = b->dim == 3;
    for (int z = -deep; z <= (deep ? TILE : 0); z++)
        for (int y = -1; y <= TILE; y++)
            for (int x = -1; x <= TILE; x++) {
                if (!is_rock(s, slot, x, y, z)) continue;
                float sum = 0;
                int count = 0, at = ((deep ? z + 1 : 0) * EDGE + y + 1) * EDGE + x + 1;
                for (int n = 0; n < 2 * b->dim; n++) {
                    int p[3] = {x, y, z}, a = n >> 1;
                    p[a] += n & 1 ? 1 : -1;
                    if (p[a] < -1 || p[a] > TILE || is_rock(s, slot, p[0], p[1], p[2])) continue;
                    sum += from.at[at + (n & 1 ? b->stride[a] : -b->stride[a])], count++;
                }
                if (count) b->at[at] = sum / (float)count - tilt;
            }
}

float curvature_on_surface(int dim, float k, float distance) {
    const float limit = dim == 3 ? 2 : 1;
    float on = k / fmaxf(1 - distance * k / (float)(dim - 1), 0.5f);
    return on < -limit ? -limit : on > limit ? limit : on;
}

/// context: the distances
static void curve_tile(BrimSim *s, int slot, int thread, void *context) {
    const float *phi = context;
    const int cells = s->grid.tile_cells;
    float *out = s->curvature + (size_t)slot * (size_t)cells;
    memset(out, 0, (size_t)cells * sizeof *out);
    if (!near_surface(s, slot)) return;
    Block b;
    float tilt = (float)cos(s->def.contact_angle * 3.14159265358979 / 180);
    int offset[26], count;
    load(s, slot, phi, FAR_AWAY, &b);
    count = offsets_around(&b, offset);
    if (!s->warp) tilt_at_walls(s, slot, tilt, &b);
    if (!s->warp && s->walls.solid_count && solid_near(s, slot)) tilt_at_solids(s, slot, tilt, &b);
    for (int i = 0; i < cells; i++) {
        int at = place_of(&b, i);
        bool known = fabsf(b.at[at]) < CURVED;
        for (int k = 0; k < count; k++) known &= fabsf(b.at[at + offset[k]]) < FAR_AWAY - 2;
        out[i] = known ? 0 : NAN;
    }
    if (s->warp) warp_curve(s, slot, b.at, out);
    for (int i = 0; i < cells && !s->warp; i++) {
        int at = place_of(&b, i);
        if (out[i] == 0)
            out[i] = curvature_on_surface(
                s->dim, curvature_of(s->dim, &b.at[at], EDGE, EDGE * EDGE), b.at[at]);
    }
}

/// exp(-d^2), nearly, without asking a library that has other last digits on other machines.
static float nearness(float d) {
    float x = d * d;
    return 1 / (1 + x * (1 + x * (0.5f + x * (1.0f / 6))));
}

// ----------------------------------------------------------------------------------- smoothing

/// Passes B of weights 1, 2, 1 along each axis (a plain mean would turn the sign of the shortest
/// ripples, which would feed them). B^4 weakens a ripple of wavenumber k, in 1/cells, by
/// cos^8(k / 2); 2 B^4 - B^8 does so only from the fourth power of k on: waves of ten cells keep
/// their tension, and what is shorter than four, chance above all, has little.
enum { SMOOTH_PASSES = 4 };
_Static_assert(SMOOTH_PASSES % 2 == 0, "the last pass must end in `curvature`");

/// What a pass reads and writes, and the distances.
typedef struct Smooth {
    Pass pass;
    const float *phi;
} Smooth;

/// Weights 1, 2, 1 along an axis; what is at the block's rim means nothing then.
static void sum_along(float *restrict to, const float *restrict from, int count, int stride) {
    for (int i = stride; i < count - stride; i++)
        to[i] = from[i - stride] + 2 * from[i] + from[i + stride];
}

static void sum_around(float at[EDGE * EDGE * EDGE], int dim) {
    float other[EDGE * EDGE * EDGE] = {0};
    const int count = dim == 3 ? EDGE * EDGE * EDGE : EDGE * EDGE;
    sum_along(other, at, count, 1);
    sum_along(at, other, count, EDGE);
    if (dim == 3) {
        sum_along(other, at, count, EDGE * EDGE);
        memcpy(at, other, sizeof other);
    }
}

static void smooth_tile(BrimSim *s, int slot, int thread, void *context) {
    const Smooth *smooth = context;
    const int cells = s->grid.tile_cells, count = s->dim == 3 ? EDGE * EDGE * EDGE : EDGE * EDGE;
    const size_t first = (size_t)slot * (size_t)cells;
    float *to = smooth->pass.to + first;
    memset(to, 0, (size_t)cells * sizeof *to);
    if (!near_surface(s, slot)) return;
    Block value, phi;
    float weight[EDGE * EDGE * EDGE];
    load(s, slot, smooth->pass.from, NAN, &value);
    load(s, slot, smooth->phi, FAR_AWAY, &phi);
    for (int i = 0; i < count; i++) {
        float d = phi.at[i], v = value.at[i];
        bool known = fabsf(d) < CURVED && v == v;
        weight[i] = known ? nearness(d) : 0;
        value.at[i] = known ? weight[i] * v : 0;
    }
    sum_around(weight, s->dim), sum_around(value.at, s->dim);
    for (int i = 0; i < cells; i++) {
        int at = place_of(&phi, i);
        to[i] = !(fabsf(phi.at[at]) < CURVED) ? NAN
                : weight[at] > 0              ? value.at[at] / weight[at]
                                              : 0;
    }
}

/// (curvature) => curvature: B^4 of it
static void smooth(BrimSim *s, const float *phi) {
    for (int i = 0; i < SMOOTH_PASSES; i++) {
        Smooth smooth = {.phi = phi};
        smooth.pass.from = i & 1 ? s->curvature_next : s->curvature;
        smooth.pass.to = i & 1 ? s->curvature : s->curvature_next;
        tiles_for(s, smooth_tile, &smooth);
    }
}

static void keep_tile(BrimSim *s, int slot, int thread, void *context) {
    const size_t cells = (size_t)s->grid.tile_cells, first = (size_t)slot * cells;
    memcpy((float *)context + first, s->curvature + first, cells * sizeof(float));
}

/// (curvature, context: what it was) => curvature: twice what it was less what it is
static void sharpen_tile(BrimSim *s, int slot, int thread, void *context) {
    const size_t cells = (size_t)s->grid.tile_cells, first = (size_t)slot * cells;
    const float *was = (const float *)context + first;
    float *k = s->curvature + first;
    for (size_t i = 0; i < cells; i++)
        if (was[i] == was[i]) k[i] = 2 * was[i] - k[i];
}

void find_curvature(BrimSim *s) {
    tiles_for(s, begin_tile, NULL);
    float *phi = s->tension_phi, *other = s->tension_next;
    for (int i = 0; i < SPREAD_PASSES; i++) {
        Pass pass = {phi, other};
        tiles_for(s, spread_tile, &pass);
        other = phi, phi = pass.to;
    }
    for (int i = 0; i < 2 * FILTER_PASSES; i++) {
        Filter filter = {{phi, other}, i & 1 ? -0.53f : 0.5f};
        tiles_for(s, filter_tile, &filter);
        other = phi, phi = filter.pass.to;
    }
    tiles_for(s, curve_tile, phi);
    tiles_for(s, keep_tile, other);
    smooth(s, phi);
    tiles_for(s, sharpen_tile, other);
    smooth(s, phi);
}
