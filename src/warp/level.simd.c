// Sums run over sixteen lanes on every instruction set and are folded in one order: same bits.
#include "warp/level.h"
#include "base/lanes.h"

#pragma GCC diagnostic ignored "-Wpsabi"

INLINE void sums_dim(const float *const x[3], const float *weight, const WarpRun *run, int runs,
                     float inv_radius2, float out[4], const int dim) {
    Lanes sum = {0}, along[3] = {0};
    for (int r = 0; r < runs; r++)
        for (uint32_t i = run[r].first; i < run[r].end; i += LANES)
            for (int part = 0; part < LANE_PARTS; part++) {
                const int left = (int)(run[r].end - i) - part * WIDE;
                if (part > 0 && left <= 0) break;
                const wide_int valid = wide_lanes() < left;
                const uint32_t first = i + (uint32_t)(part * WIDE);
                wide at[3], offset[3] = {0}, square = {0};
                for (int a = 0; a < dim; a++) {
                    at[a] = wide_load_some(x[a] + first, valid);
                    offset[a] = at[a] * run[r].scale[a] + run[r].shift[a];
                }
                for (int a = 0; a < dim && run[r].shear; a++)
                    for (int b = 0; b < dim; b++) offset[a] += at[b] * run[r].shear[a][b];
                for (int a = 0; a < dim; a++) square += offset[a] * offset[a];
                wide k = (wide)((wide_int)wide_max(1.0f - square * inv_radius2, (wide){0}) & valid);
                wide w = k * k * k * wide_load_some(weight + first, valid);
                sum[part] += w;
                for (int a = 0; a < dim; a++) along[a][part] += w * offset[a];
            }
    out[0] = lanes_fold(sum), out[3] = 0;
    for (int a = 0; a < dim; a++) out[1 + a] = lanes_fold(along[a]);
}

static void sums(const float *const x[3], const float *weight, const WarpRun *run, int runs,
                 float inv_radius2, int dim, float out[4]) {
    dim == 3 ? sums_dim(x, weight, run, runs, inv_radius2, out, 3)
             : sums_dim(x, weight, run, runs, inv_radius2, out, 2);
}

const WarpLevelKernels ISA(warp_level_kernels) = {sums};
