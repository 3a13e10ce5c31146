// Cells of a tile are a power of two: whether a key is of it is a test of its other bits.
#include "particles/order.h"
#include "base/wide.h"

static inline wide_int load_keys(const uint32_t *at) {
    return (wide_int)wide_load((const float *)(const void *)at);
}

static inline wide_int gather_words(const uint32_t *base, wide_int at) {
#if defined(__AVX512F__)
    return (wide_int)_mm512_i32gather_epi32((__m512i)at, base, 4);
#elif defined(__AVX2__)
    return (wide_int)_mm256_i32gather_epi32((const int *)base, (__m256i)at, 4);
#else
    wide_int v;
    for (int i = 0; i < WIDE; i++) v[i] = (int32_t)base[at[i]];
    return v;
#endif
}

static uint32_t survey(const uint32_t *key, uint32_t count, uint32_t first, uint32_t low,
                       uint32_t cells, const uint32_t *table, uint32_t *near, uint32_t *away) {
    const int32_t other = ~(int32_t)(cells - 1);
    wide_int all = {0};
    uint32_t found = 0, i = 0;
    for (; i + WIDE <= count; i += WIDE) {
        const wide_int cell = load_keys(key + i) - (int32_t)low;
        const wide_int here = (cell & other) == 0;
        all |= gather_words(table, cell & here) & here;
        for (uint32_t bits = wide_bits(~here); bits; bits &= bits - 1)
            away[found++] = first + i + (uint32_t)__builtin_ctz(bits);
    }
    uint32_t sum = 0;
    for (int k = 0; k < WIDE; k++) sum |= (uint32_t)all[k];
    for (; i < count; i++)
        if (key[i] - low < cells)
            sum |= table[key[i] - low];
        else
            away[found++] = first + i;
    *near = sum;
    return found;
}

static void place(const uint32_t *key, uint32_t count, uint32_t first, uint32_t low, uint32_t cells,
                  const uint32_t *start, const uint32_t *place, uint32_t *order) {
    uint32_t i = 0;
#if defined(__AVX512F__)
    const int32_t other = ~(int32_t)(cells - 1);
    uint32_t *base = order + start[0]; // a tile's particles are few enough for signed indices
    for (; i + WIDE <= count; i += WIDE) {
        const wide_int cell = load_keys(key + i) - (int32_t)low;
        const wide_int here = (cell & other) == 0;
        const wide_int at =
            gather_words(start, cell & here) - (int32_t)start[0] + load_keys(place + i);
        _mm512_mask_i32scatter_epi32(base, _mm512_movepi32_mask((__m512i)here), (__m512i)at,
                                     (__m512i)(wide_lanes() + (int32_t)(first + i)), 4);
    }
#endif
    for (; i < count; i++)
        if (key[i] - low < cells) order[start[key[i] - low] + place[i]] = first + i;
}

static inline void take_one(const uint32_t *order, size_t from, size_t count, const uint32_t *in,
                            uint32_t *restrict out) {
#pragma GCC unroll 8
    for (size_t i = from; i < count; i++) out[i] = in[order[i]];
}

static void take(const uint32_t *order, size_t count, size_t most, const uint32_t *const in[2],
                 uint32_t *const out[2]) {
    size_t i = 0;
    for (; most <= INT32_MAX && i + WIDE <= count; i += WIDE) {
        const wide_int at = load_keys(order + i);
        const bool runs = wide_in_runs(at); // most particles of calm water keep their order
        for (int k = 0; k < 2 && in[k]; k++)
            wide_store((float *)(void *)(out[k] + i),
                       runs ? wide_load_runs((const float *)(const void *)in[k], at)
                            : (wide)gather_words(in[k], at));
    }
    take_one(order, i, count, in[0], out[0]);
    if (in[1]) take_one(order, i, count, in[1], out[1]);
}

const OrderKernels ISA(order_kernels) = {survey, place, take};
