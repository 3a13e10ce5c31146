// Sums run over sixteen lanes on every instruction set and are folded in one order: same bits.
#include "warp/level.h"
#include "base/lanes.h"

#pragma GCC diagnostic ignored "-Wpsabi"

INLINE void sums_dim(const float *const x[3], const float *weight, const WarpRun *run, int runs,
                     float inv_radius2, float out[4], const int dim) {
    static const i16 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    f16 sum = {0}, along[3] = {0};
    for (int r = 0; r < runs; r++)
        for (uint32_t i = run[r].first; i < run[r].end; i += LANES) {
            const i16 valid = lane < (int32_t)(run[r].end - i);
            f16 offset[3] = {0}, square = {0};
            for (int a = 0; a < dim; a++) {
                offset[a] = load(x[a] + i) * run[r].scale[a] + run[r].shift[a];
                offset[a] = (f16)((i16)offset[a] & valid); // beyond the end may be anything
                square += offset[a] * offset[a];
            }
            f16 k = 1.0f - square * inv_radius2;
            k = (f16)((i16)k & (k > 0.0f) & valid);
            f16 w = k * k * k * (f16)((i16)load(weight + i) & valid);
            sum += w;
            for (int a = 0; a < dim; a++) along[a] += w * offset[a];
        }
    out[0] = fold(sum), out[3] = 0;
    for (int a = 0; a < dim; a++) out[1 + a] = fold(along[a]);
}

static void sums(const float *const x[3], const float *weight, const WarpRun *run, int runs,
                 float inv_radius2, int dim, float out[4]) {
    dim == 3 ? sums_dim(x, weight, run, runs, inv_radius2, out, 3)
             : sums_dim(x, weight, run, runs, inv_radius2, out, 2);
}

const WarpLevelKernels ISA(warp_level_kernels) = {sums};
