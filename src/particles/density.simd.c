// Weighing cannot go over particles (two may meet on a centre): it adds pairs of x-neighbours.
// Shifting gathers for as many particles at once as a register holds.
#include "particles/density.h"
#include "base/lanes.h"
#include "base/team.h"
#include "grid/sample.h"
#include "particles/chunk.h"
#include "particles/normal_wide.h"

typedef float f2 __attribute__((vector_size(8), aligned(4), may_alias));

/// The part of a particle that the upper of two cells has, f of the way between their centres.
static inline wide pass(wide f, float steep) {
    return wide_clamp((f - 0.5f) * steep + 0.5f, wide_all(0), wide_all(1));
}

static inline void weigh_dim(const Span *p, float ramp, float *block, const int dim) {
    enum { ROW = SCATTER_EDGE, SLICE = ROW * ROW };
    const float steep = 1 / ramp;
    // Pairs that begin at odd nodes are summed apart: one that overlaps another by half would have
    // to wait until that has left for memory.
    const int size = dim == 3 ? WEIGHT_3D : WEIGHT_2D;
    float odd[WEIGHT_3D], *const sums[2] = {block, odd};
    memset(odd, 0, (size_t)size * sizeof *odd);
    float at[3][CHUNK];
    int32_t node[CHUNK];
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, SCATTER_EDGE, 0.5f, at, dim);
        for (int i = 0; i < n; i += WIDE) {
            wide_int index = {0};
            for (int a = dim - 1; a >= 0; a--) {
                wide f;
                index = index * ROW + split(wide_load(at[a] + i), &f);
                wide_store(at[a] + i, pass(f, steep));
            }
            memcpy(node + i, &index, sizeof index);
        }
        for (int i = 0; i < n; i++) {
            float fx = at[0][i], fy = at[1][i], fz = dim == 3 ? at[2][i] : 0;
            float *to = sums[node[i] & 1] + node[i];
            f2 low = {1.0f - fx, fx}, high = low * fy;
            low *= 1.0f - fy;
            if (dim == 2) {
                *(f2 *)to += low;
                *(f2 *)(to + ROW) += high;
                continue;
            }
            f2 low_up = low * fz, high_up = high * fz;
            *(f2 *)to += low - low_up;
            *(f2 *)(to + ROW) += high - high_up;
            *(f2 *)(to + SLICE) += low_up;
            *(f2 *)(to + SLICE + ROW) += high_up;
        }
    }
    for (int i = 0; i < size; i++) block[i] += odd[i];
}

static void weigh(const Span *p, float ramp, float *block) {
    p->dim == 3 ? weigh_dim(p, ramp, block, 3) : weigh_dim(p, ramp, block, 2);
}

// ---------------------------------------------------------------------------------- shifting

static inline wide length_of(const wide d[3], const int dim) {
    wide sum = d[0] * d[0] + d[1] * d[1];
    if (dim == 3) sum += d[2] * d[2];
    return wide_sqrt(sum);
}

/// A surface that particles carry stays where it is: shifts make room between them and are no flow.
static inline void stay_some(const Span *p, int first, int n, const float *const by[3],
                             const int dim) {
    const uint32_t *words = (const uint32_t *)(const void *)p->attr[ATTR_NORMAL] + first;
    float *phi = p->attr[ATTR_PHI] + first;
    for (int i = 0; i < n; i += WIDE) {
        wide normal[3], away = {0};
        wide_int word = load_words(words + i), none = word == 0;
        if (wide_bits(~none) == 0) continue;
        normals_unpack(word, normal, dim);
        for (int a = 0; a < dim; a++) away += normal[a] * wide_load(by[a] + i);
        wide more = wide_select(none, (wide){0}, away);
        for (int k = 0; k < WIDE && i + k < n; k++) phi[i + k] += more[k];
    }
}

static void stay(const Span *p, const float *const by[3]) {
    p->dim == 3 ? stay_some(p, 0, p->count, by, 3) : stay_some(p, 0, p->count, by, 2);
}

/// The larger ones; what is not a number stays.
static inline wide larger(wide most, wide v) {
    return wide_select((v > most) | (v != v), v, most);
}

/// Lengths of a chunk, 0 beyond its end, join sums and largest ones.
static inline void add_lengths(const float length[CHUNK], int n, Lanes sum, Lanes most) {
    for (int i = 0; i < n; i += LANES)
        for (int k = 0; k < LANE_PARTS; k++) {
            wide v = wide_load(length + i + k * WIDE);
            sum[k] += v;
            most[k] = larger(most[k], v);
        }
}

static inline float largest_lane(const Lanes v) {
    float most = 0;
    for (int k = 0; k < LANE_PARTS; k++)
        for (int i = 0; i < WIDE; i++) most = (float)larger_of(most, v[k][i]);
    return most;
}

static inline ShiftSums shift_dim(const Span *p, const float *const block[3], float scale,
                                  const float low[3], const float high[3], const int dim) {
    enum { EDGE = TILE + 2 };
    float at[3][CHUNK], by[3][CHUNK], length[CHUNK];
    Lanes sum = {0}, most = {0};
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, EDGE, 0, at, dim);
        for (int i = 0; i < n; i += WIDE) {
            wide x[3] = {0}, d[3];
            for (int a = 0; a < dim; a++) x[a] = wide_load(at[a] + i);
            sample_faces(block, EDGE, x, d, dim);
            for (int a = 0; a < dim; a++) {
                d[a] *= scale;
                wide_store(by[a] + i, d[a]);
            }
            wide_store(length + i, length_of(d, dim));
        }
        for (int i = n; i < CHUNK; i++) length[i] = 0;
        add_lengths(length, n, sum, most);
        if (p->attr[ATTR_NORMAL])
            stay_some(p, first, n, (const float *const[3]){by[0], by[1], by[2]}, dim);
        for (int a = 0; a < dim; a++) {
            float *restrict x = p->attr[ATTR_X + a] + first;
            for (int i = 0; i < n; i++) {
                float to = x[i] + by[a][i] * p->dx;
                to = to > low[a] ? to : low[a];
                x[i] = to < high[a] ? to : high[a];
            }
        }
    }
    return (ShiftSums){lanes_fold(sum), largest_lane(most)};
}

static ShiftSums shift(const Span *p, const float *const block[3], float scale, const float low[3],
                       const float high[3]) {
    return p->dim == 3 ? shift_dim(p, block, scale, low, high, 3)
                       : shift_dim(p, block, scale, low, high, 2);
}

static inline ShiftSums lengths_dim(const Span *p, float *const by[3], const int dim) {
    float length[CHUNK];
    Lanes sum = {0}, most = {0};
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        for (int i = 0; i < CHUNK; i += WIDE) {
            const wide_int there = wide_lanes() < n - i;
            wide d[3] = {0};
            for (int a = 0; a < dim && i < n; a++) {
                float *from = by[a] + first + i;
                wide x = wide_load_some(p->attr[ATTR_X + a] + first + i, there);
                d[a] = wide_select(there, (x - wide_load(from)) * p->inv_dx, (wide){0});
                wide_store(from, d[a]);
            }
            wide_store(length + i, length_of(d, dim));
        }
        add_lengths(length, n, sum, most);
    }
    return (ShiftSums){lanes_fold(sum), largest_lane(most)};
}

static ShiftSums lengths(const Span *p, float *const by[3]) {
    return p->dim == 3 ? lengths_dim(p, by, 3) : lengths_dim(p, by, 2);
}

static float largest(const float *values, int count) {
    Lanes most = {0};
    for (int i = 0; i < count; i += LANES)
        for (int k = 0; k < LANE_PARTS; k++) {
            wide v = wide_load(values + i + k * WIDE);
            most[k] = larger(most[k], wide_select(v < 0.0f, -v, v));
        }
    return largest_lane(most);
}

const DensityKernels ISA(density_kernels) = {weigh, shift, lengths, stay, largest};
