// Rows of cells at once: a lane is a cell.
#include "band/band.h"
#include "grid/sample.h"

/// The cells of a vector of a tile, in block coordinates of their low corners.
static inline void cell_corners(int first, int halo, wide at[3], const int dim) {
    wide_int cell;
    for (int i = 0; i < WIDE; i++) cell[i] = first + i;
    at[0] = wide_from_int((cell & 7) + halo);
    at[1] = wide_from_int((cell >> 3 & 7) + halo);
    at[2] = dim == 3 ? wide_from_int((cell >> 6) + halo) : (wide){0};
}

// -------------------------------------------------------------------------------- back in time

/// Displacement over a sub-step at points, in cells.
static inline void flow_at(const TraceParams *p, const wide at[3], wide v[3], const int dim) {
    sample_faces(p->velocity, TILE + 2 * p->halo, at, v, dim);
    for (int a = 0; a < dim; a++) v[a] *= p->scale;
}

/// The same at cell centres: the mean of two faces.
static inline void flow_at_centres(const TraceParams *p, const wide corner[3], wide v[3],
                                   const int dim) {
    int edge = TILE + 2 * p->halo;
    const int stride[3] = {1, edge, edge * edge};
    wide_int at = wide_to_int(corner[1]) * edge + wide_to_int(corner[0]);
    if (dim == 3) at += wide_to_int(corner[2]) * stride[2];
    for (int a = 0; a < dim; a++) {
        wide low = wide_gather(p->velocity[a], at);
        wide high = wide_gather(p->velocity[a] + stride[a], at);
        v[a] = (low + high) * (0.5f * p->scale);
    }
}

static inline void trace_dim(const TraceParams *p, float back[3][BAND_CELLS], const int dim) {
    const int cells = dim == 3 ? BAND_CELLS : TILE * TILE;
    // Stages stay inside the block: one face more than the highest cell is read.
    const wide low = wide_all(0.5f), high = wide_all((float)(TILE + 2 * p->halo) - 1.001f);
    for (int first = 0; first < cells; first += WIDE) {
        wide corner[3], sum[3] = {0}, k[4][3] = {{{0}}};
        cell_corners(first, p->halo, corner, dim);
        for (int step = 0; step < p->substeps; step++) {
            for (int stage = 0; stage < 4; stage++) {
                static const float reach[4] = {0, 0.5f, 0.5f, 1};
                if (step == 0 && stage == 0) {
                    flow_at_centres(p, corner, k[0], dim);
                    continue;
                }
                wide at[3] = {0};
                for (int a = 0; a < dim; a++) {
                    wide x = corner[a] + 0.5f - sum[a];
                    if (stage) x -= reach[stage] * k[stage - 1][a];
                    at[a] = wide_clamp(x, low, high);
                }
                flow_at(p, at, k[stage], dim);
            }
            for (int a = 0; a < dim; a++)
                sum[a] += (k[0][a] + 2.0f * (k[1][a] + k[2][a]) + k[3][a]) * (1.0f / 6.0f);
        }
        for (int a = 0; a < dim; a++) wide_store(back[a] + first, sum[a]);
    }
}

static void trace(const TraceParams *p, float back[3][BAND_CELLS]) {
    p->dim == 3 ? trace_dim(p, back, 3) : trace_dim(p, back, 2);
}

static inline f8 load8(const float *p) {
    f8 v;
    memcpy(&v, p, sizeof v);
    return v;
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
            face = along(here, low, 0.5f);
            face[0] = first[0];
        } else if (axis == 1 ? (r & 7) > 0 : r >= TILE) {
            face = along(here, load8(at - step), 0.5f);
        } else {
            face = along(here, load8(at + step), -0.5f);
        }
        memcpy(out + r * TILE, &face, sizeof face);
    }
}

static inline wide wide_min(wide a, wide b) {
    return wide_select(a < b, a, b);
}

static inline wide wide_max(wide a, wide b) {
    return wide_select(a > b, a, b);
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
static inline wide sample_sharp(const float *b, const wide_int node[3], int edge, const wide f[3],
                                const int dim) {
    const int step[3] = {1, edge, edge * edge}, corners = dim == 3 ? 8 : 4;
    wide_int at = node[1] * edge + node[0];
    if (dim == 3) at += node[2] * step[2];
    wide c[8], low, high, lack = {0};
    for (int n = 0; n < corners; n++)
        c[n] = wide_gather(b + (n & 1) + (n >> 1 & 1) * edge + (n >> 2) * step[2], at);
    low = high = c[0];
    for (int n = 1; n < corners; n++) low = wide_min(c[n], low), high = wide_max(c[n], high);
    wide value = mix(mix(c[0], c[1], f[0]), mix(c[2], c[3], f[0]), f[1]);
    if (dim == 3) value = mix(value, mix(mix(c[4], c[5], f[0]), mix(c[6], c[7], f[0]), f[1]), f[2]);
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
        wide corner[3], f[3] = {0}, v;
        wide_int node[3] = {0}, valid = wide_load(back[0] + first) == wide_load(back[0] + first);
        cell_corners(first, halo, corner, dim);
        for (int a = 0; a < dim; a++) {
            wide d = wide_load(back[a] + first);
            valid &= d == d;
            node[a] = split(wide_clamp(corner[a] - d, low, high), &f[a]);
        }
        if (sharp)
            v = sample_sharp(block, node, edge, f, dim);
        else
            v = sample(block, (node[2] * edge + node[1]) * edge + node[0], edge, f[0], f[1], f[2],
                       dim);
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

static inline float least(float a, float b) {
    return a < b ? a : b;
}

static inline float most(float a, float b) {
    return a > b ? a : b;
}

/// The depth that |grad depth| = 1 gives a cell from its shallower neighbour along each axis
/// (Godunov's upwind scheme).
static inline float eikonal(float a, float b, float c, const int dim) {
    float low = least(a, b), high = most(a, b), mid = high;
    if (dim == 3) {
        float lowest = least(low, c), top = most(high, c);
        mid = most(low, least(high, c)); // the middle one of the three
        low = lowest, high = top;
    }
    float one = low + 1.0f, gap = mid - low;
    float root = 2.0f - gap * gap;
    float two = 0.5f * (low + mid + __builtin_sqrtf(root > 0 ? root : 0));
    float d = one <= mid ? one : two;
    if (dim == 2) return d;
    // about the lowest, so that depths of BAND_FAR do not overflow the squares
    float p = mid - low, q = high - low, sum = p + q;
    float inside = sum * sum - 3.0f * (p * p + q * q - 1.0f);
    float three = low + (sum + __builtin_sqrtf(inside > 0 ? inside : 0)) * (1.0f / 3.0f);
    return d <= high ? d : three;
}

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
