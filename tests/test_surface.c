// The liquid's surface from particles: the kernel against a plain twin, distances against planes.
#include "base/hash.h"
#include "cases.h"
#include "surface/level_set.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096 };

static float unit(int i, int k) {
    return hash_unit(hash_3(5, (uint64_t)i, (uint64_t)k), 0);
}

/// A row of a tile and the eight around it with particles at random, in metres.
typedef struct Rows {
    float data[3][ROOM];
    uint32_t starts[9][TILE + 1], beside[9][2][2];
    LevelSetRow row[9];
    LevelSetNear near;
} Rows;

/// Fills the cells -1 to 8 of a row; what is to be seen beyond a wall stands on this side of it.
static uint32_t fill_row(Rows *r, int k, uint32_t count, float dx) {
    LevelSetRow *row = &r->row[k];
    const int dy = k % 3 - 1, dz = k / 3 - 1;
    for (int x = -1; x <= TILE; x++) {
        uint32_t first = count,
                 end = first + (uint32_t)(hash_3(9, (uint64_t)x + 1, (uint64_t)k) % 7);
        if (k == 4 && x == 3) end += 40; // more than a vector
        for (; count < end; count++) {
            int i = (int)count;
            float at[3] = {(float)x + unit(i, 0), (float)dy + unit(i, 1), (float)dz + unit(i, 2)};
            if (x == TILE) at[0] = (at[0] - r->near.shift_x[1]) * r->near.flip_x[1];
            at[1] = (at[1] - row->shift[0]) * row->flip[0];
            for (int a = 0; a < 3; a++) r->data[a][count] = at[a] * dx;
        }
        if (x == -1 || x == TILE)
            r->beside[k][x == TILE][0] = first, r->beside[k][x == TILE][1] = end;
        if (x >= 0) r->starts[k][x] = first;
    }
    row->start = r->starts[k];
    return count;
}

static void fill_rows(Rows *r, int dim, float dx) {
    memset(r, 0, sizeof *r);
    r->near = (LevelSetNear){.inv_dx = 1 / dx, .dim = dim, .last = -1};
    r->near.flip_x[0] = 1, r->near.flip_x[1] = -1, r->near.shift_x[1] = 16;
    uint32_t count = 0;
    for (int k = 0; k < 9; k++) {
        bool below = k % 3 == 0; // there is a wall at y = 0
        r->row[k] = (LevelSetRow){.flip = {below ? -1 : 1, 1}};
        for (int side = 0; side < 2; side++) r->row[k].beside[side] = r->beside[k][side];
        if (dim == 3 || k / 3 == 1) count = fill_row(r, k, count, dx);
        r->near.row[k / 3][k % 3] = &r->row[k];
    }
    for (int a = 0; a < 3; a++) r->near.x[a] = r->data[a];
}

/// Weight and weighted offset in double precision, of one particle or its image in a plane, of
/// which a part counts.
static void plain_add(const LevelSetProfile *p, const double d[3], int dim, double part,
                      double sum[4]) {
    double d2 = 0;
    for (int a = 0; a < dim; a++) d2 += d[a] * d[a];
    double k = fmax(0, 1 - d2 / (p->radius * p->radius)), w = part * k * k * k;
    sum[3] += w;
    for (int a = 0; a < dim; a++) sum[a] += w * d[a];
}

/// All that there is around, one particle after the other: what a cell does not see is too far.
static double plain_distance(const LevelSetProfile *p, const Rows *r, int cell) {
    const int dim = r->near.dim;
    const float *plane = r->near.planes >> cell & 1 ? r->near.plane[cell] : NULL;
    double sum[4] = {0}, length = 0;
    for (int k = 0; k < 9; k++) {
        const LevelSetRow *row = &r->row[k];
        for (uint32_t i = row->beside[0][0]; i < row->beside[1][1]; i++) {
            bool image = i >= row->beside[1][0];
            double at[3] = {(double)r->data[0][i] * r->near.inv_dx,
                            (double)r->data[1][i] * r->near.inv_dx * row->flip[0],
                            (double)r->data[2][i] * r->near.inv_dx};
            if (image) at[0] = r->near.flip_x[1] * at[0] + r->near.shift_x[1];
            double d[3] = {at[0] - cell - 0.5, at[1] - 0.5, dim == 3 ? at[2] - 0.5 : 0};
            plain_add(p, d, dim, 1, sum);
            double above = plane ? plane[3] : -1;
            for (int a = 0; a < dim && plane; a++) above += d[a] * plane[a];
            for (int a = 0; a < dim && plane; a++) d[a] -= 2 * above * plane[a];
            plain_add(p, d, dim, fmin(fmax(1 + 2 * above, 0), 1), sum);
        }
    }
    if (sum[3] < 1e-6) return LEVEL_SET_CUT;
    for (int a = 0; a < dim; a++) length += sum[a] * sum[a];
    double t = (sqrt(length) / sum[3] - p->offset - p->low) / p->step;
    int i = (int)t;
    return i >= PROFILE_SIZE ? LEVEL_SET_CUT
                             : p->distance[i] + (t - i) * (p->distance[i + 1] - p->distance[i]);
}

TEST(level_set_kernel_equals_its_plain_twin) {
    static Rows rows;
    for (int dim = 2; dim <= 3; dim++) {
        LevelSetProfile profile = level_set_profile(dim);
        fill_rows(&rows, dim, 0.01f);
        rows.near.planes = 0x36;
        for (int x = 0; x < TILE; x++)
            memcpy(rows.near.plane[x], (float[]){0.6f, 0.8f, 0, 0.4f}, 16);
        float first[TILE];
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            float out[TILE];
            level_set_kernels_for(isa_choose((BrimIsa)isa))
                ->distances(&profile, &rows.near, 0, 0, 0xdf, out);
            if (isa == BRIM_ISA_BASE) memcpy(first, out, sizeof first);
            for (int x = 0; x < TILE; x++) {
                if (!(0xdf >> x & 1)) continue;
                CHECK_NEAR(out[x], plain_distance(&profile, &rows, x), 1e-4);
                CHECK(memcmp(&out[x], &first[x], sizeof first[x]) == 0);
            }
        }
    }
}

/// Distance at a height from all particles of a cloud, given to the kernel as one row of one cell.
static float cloud_distance(const LevelSetProfile *profile, float *const data[3], int count,
                            int dim, float y) {
    const uint32_t start[TILE + 1] = {0,
                                      0,
                                      (uint32_t)count,
                                      (uint32_t)count,
                                      (uint32_t)count,
                                      (uint32_t)count,
                                      (uint32_t)count,
                                      (uint32_t)count,
                                      (uint32_t)count};
    static const uint32_t none[TILE + 1];
    LevelSetRow all = {.start = start, .flip = {1, 1}}, empty = {.start = none, .flip = {1, 1}};
    LevelSetNear near = {.inv_dx = 1, .dim = dim, .last = -1, .flip_x = {1, 1}};
    near.corner[0] = 6, near.corner[1] = y - 0.5f, near.corner[2] = dim == 3 ? 7 : -0.5f;
    for (int a = 0; a < 3; a++) near.x[a] = data[a];
    for (int k = 0; k < 9; k++) near.row[k / 3][k % 3] = k == 4 ? &all : &empty;
    float out[TILE];
    level_set_kernels_for(isa_choose(BRIM_ISA_AUTO))->distances(profile, &near, 0, 0, 2, out);
    return out[1];
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
        double worst = 0;
        for (int k = 0; k <= 20; k++) { // from 0.9 cells below to 0.9 above
            float y = 9.1f + 0.09f * (float)k;
            worst = fmax(worst, fabs(cloud_distance(&profile, data, count, dim, y) - (y - 10)));
        }
        for (int a = 0; a < 3; a++) free(data[a]);
        CHECK_BELOW(worst, dim == 3 ? 0.25 : 0.12); // cells
    }
}

/// Where the level set of a pool says that its surface is, in cells, least and most over its
/// columns.
static void pool_level(const BrimSim *sim, double *low, double *high) {
    const BrimSimDef *d = brim_sim_def(sim);
    int nx = d->cells[0], ny = d->cells[1];
    float *phi = malloc((size_t)nx * (size_t)ny * sizeof *phi);
    *low = INFINITY, *high = -INFINITY;
    if (phi &&
        brim_sim_field(sim, BRIM_FIELD_LEVEL_SET, phi, (size_t)nx * (size_t)ny, NULL) == BRIM_OK)
        for (int i = 0; i < nx; i++)
            for (int j = 0; j + 1 < ny; j++) {
                float a = phi[j * nx + i], b = phi[(j + 1) * nx + i];
                if (a >= 0 || b < 0) continue;
                double y = j + 0.5 + a / (a - b);
                *low = fmin(*low, y), *high = fmax(*high, y);
            }
    free(phi);
}

TEST(level_set_of_a_pool_has_its_depth_however_deep_it_is) {
    for (int k = 0; k < 9; k++) { // layers of particles: thirds of a cell
        double depth = 10 + k / 3.0, low, high;
        Case c = case_tank(2, 32, (float)(depth / 32));
        c.def.jitter = 0;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        pool_level(sim, &low, &high);
        CHECK_NEAR(low, depth, 0.03);
        CHECK_NEAR(high, depth, 0.03);
        brim_sim_destroy(&sim);
    }
}
