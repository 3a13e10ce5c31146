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
/// by: cells that those from `first` on are shifted by
static inline void stay_some(const Span *p, int first, const wide by[3], const int dim) {
    const wide_int valid = wide_lanes() < p->count - first;
    const float *word_at = (const float *)(const void *)p->attr[ATTR_NORMAL] + first;
    float *phi = p->attr[ATTR_PHI] + first;
    const wide_int word = (wide_int)wide_load_some(word_at, valid), some = valid & (word != 0);
    wide normal[3], away = {0};
    if (wide_bits(some) == 0) return;
    normals_unpack(word, normal, dim);
    for (int a = 0; a < dim; a++) away += normal[a] * by[a];
    wide_store_some(phi, some, wide_load_some(phi, some) + away);
}

static inline void stay_dim(const Span *p, const float *const by[3], const int dim) {
    for (int first = 0; first < p->count; first += WIDE) {
        const wide_int valid = wide_lanes() < p->count - first;
        wide d[3] = {0};
        for (int a = 0; a < dim; a++) d[a] = wide_load_some(by[a] + first, valid);
        stay_some(p, first, d, dim);
    }
}

static void stay(const Span *p, const float *const by[3]) {
    p->dim == 3 ? stay_dim(p, by, 3) : stay_dim(p, by, 2);
}

/// The larger ones; what is not a number stays.
static inline wide larger(wide most, wide v) {
    return wide_select((v > most) | (v != v), v, most);
}

static inline float largest_lane(const Lanes v) {
    float most = 0;
    for (int k = 0; k < LANE_PARTS; k++)
        for (int i = 0; i < WIDE; i++) most = (float)larger_of(most, v[k][i]);
    return most;
}

/// Lengths of particles join sums and largest ones; lanes that hold none do not.
static inline void add_lengths(const wide d[3], wide_int valid, wide *sum, wide *most,
                               const int dim) {
    const wide length = wide_select(valid, length_of(d, dim), (wide){0});
    *sum += length;
    *most = larger(*most, length);
}

static inline ShiftSums shift_dim(const Span *p, const float *const block[3], float scale,
                                  const float low[3], const float high[3], const int dim) {
    enum { EDGE = TILE + 2 };
    Lanes sum = {0}, most = {0};
    for (int first = 0, part = 0; first < p->count; first += WIDE, part = (part + 1) % LANE_PARTS) {
        const wide_int valid = wide_lanes() < p->count - first;
        wide x[3] = {0}, d[3];
        for (int a = 0; a < dim; a++) x[a] = wide_position(p, first, valid, a, EDGE);
        sample_faces(block, EDGE, x, d, dim);
        for (int a = 0; a < dim; a++) d[a] *= scale;
        add_lengths(d, valid, &sum[part], &most[part], dim);
        if (p->attr[ATTR_NORMAL]) stay_some(p, first, d, dim);
        for (int a = 0; a < dim; a++) {
            float *at = p->attr[ATTR_X + a] + first;
            const wide to = wide_load_some(at, valid) + d[a] * p->dx;
            wide_store_some(at, valid, wide_clamp(to, wide_all(low[a]), wide_all(high[a])));
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
    Lanes sum = {0}, most = {0};
    for (int first = 0, part = 0; first < p->count; first += WIDE, part = (part + 1) % LANE_PARTS) {
        const wide_int valid = wide_lanes() < p->count - first;
        wide d[3] = {0};
        for (int a = 0; a < dim; a++) {
            const wide x = wide_load_some(p->attr[ATTR_X + a] + first, valid);
            d[a] = (x - wide_load_some(by[a] + first, valid)) * p->inv_dx;
            wide_store_some(by[a] + first, valid, d[a]);
        }
        add_lengths(d, valid, &sum[part], &most[part], dim);
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
