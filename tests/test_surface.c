// The liquid's surface from particles: the kernel against a plain twin, distances against planes.
#include "base/hash.h"
#include "surface/level_set.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { COUNT = 200, ROOM = COUNT + PARTICLE_PADDING };

static float unit(int i, int k) {
    return hash_unit(hash_3(5, (uint64_t)i, (uint64_t)k), 0);
}

/// The same sums in double precision, one particle after the other.
static double plain_distance(const LevelSetProfile *p, const float *const x[3], float inv_dx,
                             int dim, const float at[3], const LevelSetRange *ranges, int count,
                             const float *plane) {
    double sum[3] = {0}, total = 0;
    for (int r = 0; r < count; r++)
        for (uint32_t i = ranges[r].first; i < ranges[r].end; i++) {
            double d[3] = {0}, above = plane ? plane[3] : -1;
            for (int a = 0; a < dim; a++)
                d[a] = (double)x[a][i] * inv_dx * ranges[r].flip[a] + ranges[r].shift[a] - at[a];
            for (int a = 0; a < dim && plane; a++) above += d[a] * plane[a];
            for (int image = 0; image <= (above > 0); image++) {
                double d2 = 0;
                for (int a = 0; a < dim; a++) {
                    if (image) d[a] -= 2 * above * plane[a];
                    d2 += d[a] * d[a];
                }
                double k = fmax(0, 1 - d2 / (p->radius * p->radius));
                total += k * k * k;
                for (int a = 0; a < dim; a++) sum[a] += k * k * k * d[a];
            }
        }
    if (total < 1e-6) return LEVEL_SET_CUT;
    double length = 0;
    for (int a = 0; a < dim; a++) length += sum[a] * sum[a];
    double t = (sqrt(length) / total - p->offset - p->low) / p->step;
    int i = (int)t;
    return i >= PROFILE_SIZE ? LEVEL_SET_CUT
                             : p->distance[i] + (t - i) * (p->distance[i + 1] - p->distance[i]);
}

TEST(level_set_kernel_equals_its_plain_twin) {
    static float data[3][ROOM];
    const float *const x[3] = {data[0], data[1], data[2]};
    const float plane[4] = {0.6f, 0.8f, 0, 0.4f}, dx = 0.01f;
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < COUNT; i++) data[a][i] = (9 + 3 * unit(i, a)) * dx;
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < 200; k++) {
            LevelSetProfile profile = level_set_profile(dim);
            const float at[3] = {9 + 4 * unit(k, 7), 9 + 4 * unit(k, 8), 10.5f};
            const LevelSetRange ranges[] = {{0, 63, {1, 1, 1}, {0, 0, 0}},
                                            {63, 64, {-1, 1, 1}, {19, 0, 0}},
                                            {100, COUNT, {1, -1, 1}, {0, 21, 0}}};
            const float *mirror = k % 2 ? plane : NULL;
            double plain = plain_distance(&profile, x, 1 / dx, dim, at, ranges, 3, mirror);
            float first = 0;
            for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
                if (isa_choose((BrimIsa)isa) != (BrimIsa)isa) continue;
                float d = level_set_kernels_for((BrimIsa)isa)
                              ->distance(&profile, x, 1 / dx, dim, at, ranges, 3, mirror);
                CHECK_NEAR(d, plain, 1e-4);
                if (isa == BRIM_ISA_BASE) first = d;
                CHECK(memcmp(&d, &first, sizeof d) == 0);
            }
        }
}

TEST(level_set_measures_the_distance_to_a_flat_surface) {
    // A half space below y = 10 cells, sampled as finely as it is seeded (and no jitter).
    for (int dim = 2; dim <= 3; dim++) {
        LevelSetProfile profile = level_set_profile(dim);
        int per_axis = dim == 3 ? 2 : 3, n = 6 * per_axis, count = 0;
        float *data[3];
        for (int a = 0; a < 3; a++) data[a] = calloc((size_t)(n * n * n + 16), sizeof(float));
        for (int i = 0; i < (dim == 3 ? n * n * n : n * n); i++) {
            const int k[3] = {i % n, i / n % n, i / (n * n)};
            for (int a = 0; a < dim; a++)
                data[a][count] = 4 + ((float)k[a] + 0.5f) / (float)per_axis;
            count++;
        }
        const float *const x[3] = {data[0], data[1], data[2]};
        double worst = 0;
        for (int k = 0; k <= 20; k++) { // from 0.9 cells below to 0.9 above
            const float at[3] = {7.5f, 9.1f + 0.09f * (float)k, dim == 3 ? 7.5f : 0};
            const LevelSetRange all = {0, (uint32_t)count, {1, 1, 1}, {0, 0, 0}};
            float d = level_set_kernels_for(isa_choose(BRIM_ISA_AUTO))
                          ->distance(&profile, x, 1, dim, at, &all, 1, NULL);
            worst = fmax(worst, fabs(d - (at[1] - 10)));
        }
        for (int a = 0; a < 3; a++) free(data[a]);
        CHECK_BELOW(worst, dim == 3 ? 0.25 : 0.12); // cells
    }
}
