// Rows of cells at once: a lane is a cell.
#include "band/kernels.h"
#include "band/eikonal.h"
#include "grid/sample.h"

/// The cells of a vector of a tile, in block coordinates of their low corners.
static inline void cell_corners(int first, int halo, wide at[3], const int dim) {
    wide_int cell = wide_lanes() + first;
    at[0] = wide_from_int((cell & 7) + halo);
    at[1] = wide_from_int((cell >> 3 & 7) + halo);
    at[2] = dim == 3 ? wide_from_int((cell >> 6) + halo) : (wide){0};
}

// -------------------------------------------------------------------------------- back in time

/// Displacement over a sub-step at points, in cells.
static inline void flow_at(const TraceParams *p, const wide at[3], wide v[3], const int dim) {
    const int edge = TILE + 2 * p->halo;
    wide on[3], off[3], f[3] = {0}, g[3] = {0};
    for (int a = 0; a < dim; a++) {
        on[a] = whole(at[a], &f[a]);
        off[a] = whole(at[a] - 0.5f, &g[a]);
    }
#pragma GCC unroll 3
    for (int a = 0; a < dim; a++) {
        wide node = a == 1 ? on[1] : off[1];
        if (dim == 3) node += (a == 2 ? on[2] : off[2]) * (float)edge;
        wide_int index = wide_to_int(node * (float)edge + (a == 0 ? on[0] : off[0]));
        const wide part[3] = {a == 0 ? f[0] : g[0], a == 1 ? f[1] : g[1], a == 2 ? f[2] : g[2]};
        v[a] = p->scale * sample_near(p->velocity[a], index, edge, part, dim);
    }
}

/// The same at the centres of cells: the mean of two faces.
static inline void flow_at_centres(const TraceParams *p, int first, wide v[3], const int dim) {
    const int edge = TILE + 2 * p->halo, stride[3] = {1, edge, edge * edge};
    const wide_int cell = wide_lanes() + first;
    wide_int at = ((cell >> 3 & 7) + p->halo) * edge + (cell & 7) + p->halo;
    if (dim == 3) at += ((cell >> 6) + p->halo) * stride[2];
    for (int a = 0; a < dim; a++) {
        wide low = wide_load_runs(p->velocity[a], at);
        wide high = wide_load_runs(p->velocity[a] + stride[a], at);
        v[a] = (low + high) * (0.5f * p->scale);
    }
}

/// Vectors whose paths are followed together: a stage waits for the one before, vectors do not wait
/// for one another.
enum { TOGETHER = 8 };

/// The paths of `count` vectors of cells.
static inline void trace_some(const TraceParams *p, const int *first, int count,
                              float back[3][BAND_CELLS], const int dim) {
    static const float reach[4] = {0, 0.5f, 0.5f, 1};
    // Stages stay inside the block: one face more than the highest cell is read.
    const wide low = wide_all(0.5f), high = wide_all((float)(TILE + 2 * p->halo) - 1.001f);
    wide sum[TOGETHER][3] = {{{0}}}, k[4][TOGETHER][3];
    for (int step = 0; step < p->substeps; step++) {
        for (int stage = 0; stage < 4; stage++)
            for (int i = 0; i < count; i++) {
                if (step == 0 && stage == 0) {
                    flow_at_centres(p, first[i], k[0][i], dim);
                    continue;
                }
                wide at[3] = {0};
                cell_corners(first[i], p->halo, at, dim);
                for (int a = 0; a < dim; a++) {
                    at[a] = at[a] + 0.5f - sum[i][a];
                    if (stage) at[a] -= reach[stage] * k[stage - 1][i][a];
                    at[a] = wide_clamp(at[a], low, high);
                }
                flow_at(p, at, k[stage][i], dim);
            }
        for (int i = 0; i < count; i++)
            for (int a = 0; a < dim; a++)
                sum[i][a] +=
                    (k[0][i][a] + 2.0f * (k[1][i][a] + k[2][i][a]) + k[3][i][a]) * (1.0f / 6.0f);
    }
    for (int i = 0; i < count; i++)
        for (int a = 0; a < dim; a++) wide_store(back[a] + first[i], sum[i][a]);
}

static inline void trace_dim(const TraceParams *p, float back[3][BAND_CELLS], const int dim) {
    const int cells = dim == 3 ? BAND_CELLS : TILE * TILE;
    int first[TOGETHER], count = 0;
    for (int at = 0; at < cells; at += WIDE) {
        first[count++] = at;
        if (count < TOGETHER && at + WIDE < cells) continue;
        trace_some(p, first, count, back, dim);
        count = 0;
    }
}

static void trace(const TraceParams *p, float back[3][BAND_CELLS]) {
    p->dim == 3 ? trace_dim(p, back, 3) : trace_dim(p, back, 2);
}

static inline f8 load8(const float *p) {
    return *(const f8 *)p;
}

/// A point on the line from a to b; the other where one is not a number.
static inline f8 along(f8 a, f8 b, float weight) {
    f8 v = a + weight * (b - a);
    i8x fine = v == v, first = a == a;
    f8 either = (f8)(((i8x)a & first) | ((i8x)b & ~first));
    return (f8)(((i8x)v & fine) | ((i8x)either & ~fine));
}

static void face_paths(const float *back, int axis, int dim, float *out) {
    const int rows = dim == 3 ? TILE * TILE : TILE, step = axis == 1 ? TILE : TILE * TILE;
    for (int r = 0; r < rows; r++) {
        const float *at = back + r * TILE;
        f8 here = load8(at), face;
        if (axis == 0) {
            f8 low = __builtin_shufflevector(here, here, 0, 0, 1, 2, 3, 4, 5, 6);
            f8 first =
                along(here, __builtin_shufflevector(here, here, 1, 1, 1, 1, 1, 1, 1, 1), -0.5f);
            const i8x side = {-1}; // the lowest lane
            face = along(here, low, 0.5f);
            face = (f8)(((i8x)first & side) | ((i8x)face & ~side));
        } else if (axis == 1 ? (r & 7) > 0 : r >= TILE) {
            face = along(here, load8(at - step), 0.5f);
        } else {
            face = along(here, load8(at + step), -0.5f);
        }
        *(f8 *)(out + r * TILE) = face;
    }
}

/// The sum of the two values of a cell's edge along an axis that is nearest to the point. c: the
/// corners, bit b of the index steps along axis b.
static inline wide nearest_edge(const wide c[8], const wide f[3], int axis, const int dim) {
    const int step = 1 << axis, b = axis == 0 ? 1 : 0, d = axis == 2 ? 1 : 2;
    wide_int up = f[b] > 0.5f;
    wide sum = wide_select(up, c[1 << b] + c[(1 << b) + step], c[0] + c[step]);
    if (dim == 2) return sum;
    const int far = 1 << d;
    wide above =
        wide_select(up, c[far + (1 << b)] + c[far + (1 << b) + step], c[far] + c[far + step]);
    return wide_select(f[d] > 0.5f, above, sum);
}

/// Trilinear, with the second differences along the three lines nearest to the point, t (1 - t) / 4
/// times those at both ends, and no more than the eight values around it: linear interpolation
/// alone would wear small eddies down.
static inline wide sample_sharp(const float *b, wide_int at, int edge, const wide f[3],
                                const int dim) {
    const int step[3] = {1, edge, edge * edge}, corners = dim == 3 ? 8 : 4;
    wide c[8], low, high, lack = {0};
    corner_values(b, at, edge, c, dim);
    low = high = c[0];
    for (int n = 1; n < corners; n++) low = wide_min(c[n], low), high = wide_max(c[n], high);
    wide value = mix_corners(c, f, dim);
    for (int a = 0; a < dim; a++) {
        wide_int line = at;
        for (int o = 0; o < dim; o++)
            if (o != a) line += (f[o] > 0.5f) & step[o];
        wide outer = wide_gather(b - step[a], line) + wide_gather(b + 2 * step[a], line);
        wide here = f[a] * (1.0f - f[a]) * 0.25f * (nearest_edge(c, f, a, dim) - outer);
        lack += wide_select(here == here, here, (wide){0});
    }
    return wide_select(value == value, wide_clamp(value + lack, low, high), value);
}

static inline void carry_dim(const float *block, int halo, const bool sharp, uint32_t pairs,
                             const float back[3][BAND_CELLS], float missing, float *out,
                             const int dim) {
    const int cells = dim == 3 ? BAND_CELLS : TILE * TILE, edge = TILE + 2 * halo, rim = sharp;
    const wide low = wide_all((float)rim), high = wide_all((float)(edge - rim) - 1.001f);
    for (int first = 0; first < cells; first += WIDE) {
        if (!(pairs >> (first / (2 * TILE)) & 1)) {
            wide_store(out + first, wide_all(missing));
            continue;
        }
        wide corner[3], f[3] = {0}, node[3] = {0}, v;
        wide_int valid = wide_load(back[0] + first) == wide_load(back[0] + first);
        cell_corners(first, halo, corner, dim);
        for (int a = 0; a < dim; a++) {
            wide d = wide_load(back[a] + first);
            valid &= d == d;
            node[a] = whole(wide_clamp(corner[a] - d, low, high), &f[a]);
        }
        wide_int at = wide_to_int((node[2] * (float)edge + node[1]) * (float)edge + node[0]);
        if (sharp)
            v = sample_sharp(block, at, edge, f, dim);
        else
            v = sample_near(block, at, edge, f, dim);
        wide_store(out + first, wide_select(valid, v, wide_all(missing)));
    }
}

static void carry(const float *block, int halo, int dim, bool sharp, uint32_t pairs,
                  const float back[3][BAND_CELLS], float missing, float *out) {
    if (dim == 3)
        sharp ? carry_dim(block, halo, true, pairs, back, missing, out, 3)
              : carry_dim(block, halo, false, pairs, back, missing, out, 3);
    else
        sharp ? carry_dim(block, halo, true, pairs, back, missing, out, 2)
              : carry_dim(block, halo, false, pairs, back, missing, out, 2);
}

// ------------------------------------------------------------------------------------ distance

static inline bool deepen_dim(const float *block, const uint8_t *fixed, float *out, const int dim) {
    enum { EDGE = TILE + 2 };
    const int depth = dim == 3 ? TILE : 1;
    bool changed = false;
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < TILE; y++) {
            const float *at = block + ((dim == 3 ? z + 1 : 0) * EDGE + y + 1) * EDGE + 1;
            const int row = z * TILE + y;
            if (fixed[row] == 0xff) {
                memcpy(out + row * TILE, at, TILE * sizeof *out);
                continue;
            }
            float next[TILE];
            for (int x = 0; x < TILE; x++) {
                float a = least(at[x - 1], at[x + 1]), b = least(at[x - EDGE], at[x + EDGE]);
                float c = dim == 3 ? least(at[x - EDGE * EDGE], at[x + EDGE * EDGE]) : 0;
                next[x] = least(at[x], eikonal(a, b, c, dim));
            }
            int any = 0;
            for (int x = 0; x < TILE; x++) {
                bool stays = fixed[row] >> x & 1;
                float d = stays ? at[x] : next[x];
                any |= d != at[x];
                out[row * TILE + x] = d;
            }
            changed |= any != 0;
        }
    return changed;
}

static bool deepen(const float *block, int dim, const uint8_t *fixed, float *out) {
    return dim == 3 ? deepen_dim(block, fixed, out, 3) : deepen_dim(block, fixed, out, 2);
}

const BandKernels ISA(band_kernels) = {trace, face_paths, carry, deepen};
