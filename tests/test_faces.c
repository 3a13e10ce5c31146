// Row kernels on cells and faces against plain loops over cells, on every instruction set.
#include "base/hash.h"
#include "cases.h"
#include "projection/faces.h"
#include "step/stages.h"
#include "surface/level_set.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { TILES = 27, CELLS = TILES * 512, ROWS = TILES * 64 };

/// A box of three tiles along each axis of which some are missing; masks and fields at random.
typedef struct Field {
    Grid grid;
    uint8_t known[ROWS], liquid[ROWS];
    float velocity[3][CELLS], phi[CELLS], pressure[CELLS];
} Field;

static Field *field_new(int dim) {
    Field *f = calloc(1, sizeof *f);
    const int cells[3] = {21, 19, dim == 3 ? 18 : 1};
    uint8_t want[TILES];
    int32_t from[TILES];
    if (!f || grid_init(&f->grid, dim, cells, NULL) != BRIM_OK) return NULL;
    for (size_t i = 0; i < grid_box(&f->grid); i++) want[i] = hash_3(1, i, 0) % 5 != 0;
    if (!grid_rebuild(&f->grid, want, from, NULL)) return NULL;
    for (uint64_t i = 0; i < ROWS; i++) {
        f->known[i] = (uint8_t)(i % 5 ? hash_3(2, i, 0) : 0);
        f->liquid[i] = (uint8_t)(i % 3 ? hash_3(3, i, 0) | hash_3(4, i, 0) : 0);
    }
    for (int s = 0; s < f->grid.tile_count; s++) { // nothing lies outside the domain
        TileMask inside = mask_inside(&f->grid, s), m = mask_load(&f->grid, f->liquid, s);
        for (int z = 0; z < f->grid.tile_depth; z++) m.slice[z] &= inside.slice[z];
        mask_store(&f->grid, f->liquid, s, &m);
    }
    for (uint64_t i = 0; i < CELLS; i++) {
        for (uint64_t a = 0; a < 3; a++) f->velocity[a][i] = hash_unit(hash_3(5, i, a), 0) - 0.5f;
        bool wet = f->liquid[i >> 3] >> (i & 7) & 1;
        f->phi[i] = wet ? -1.5f * hash_unit(hash_3(6, i, 0), 0) - 1e-4f
                        : 2 * hash_unit(hash_3(6, i, 0), 0) - 0.1f;
        f->pressure[i] = wet ? hash_unit(hash_3(7, i, 0), 0) : 0;
    }
    return f;
}

static void field_free(Field *f) {
    grid_free(&f->grid);
    free(f);
}

static bool bit(const uint8_t *mask, int64_t cell) {
    return cell >= 0 && (mask[cell >> 3] >> (cell & 7) & 1);
}

static bool has(const TileMask *m, int cell) {
    return m->slice[cell >> 6] >> (cell & 63) & 1;
}

static Around around_of(const Field *f, int slot) {
    Around a = {.liquid = mask_load(&f->grid, f->liquid, slot)};
    mask_around(&f->grid, f->liquid, slot, a.wet);
    for (int n = 0; n < 2 * f->grid.dim; n++)
        a.side[n] = mask_side(&f->grid, slot, n >> 1, n & 1 ? 1 : -1);
    return a;
}

static void views_of(const Field *f, int slot, TileView v[3]) {
    for (int a = 0; a < 3; a++) v[a] = tile_view(&f->grid, slot, f->velocity[a], tile_zeros);
}

static bool same_bits(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || a == b; // zeros may differ in sign
}

TEST(faces_mask_around_equals_its_directions) {
    for (int dim = 2; dim <= 3; dim++) {
        Field *f = field_new(dim);
        CHECK(f);
        for (int s = 0; s < f->grid.tile_count; s++) {
            TileMask near[6];
            mask_around(&f->grid, f->known, s, near);
            for (int n = 0; n < 2 * dim; n++) {
                TileMask one = mask_neighbour(&f->grid, f->known, s, n >> 1, n & 1 ? 1 : -1);
                CHECK(memcmp(near[n].slice, one.slice, (size_t)f->grid.tile_rows) == 0);
            }
        }
        field_free(f);
    }
}

TEST(faces_mask_around_2_is_two_steps) {
    for (int dim = 2; dim <= 3; dim++) {
        Field *f = field_new(dim);
        CHECK(f);
        for (int s = 0; s < f->grid.tile_count; s++) {
            TileMask near[6];
            mask_around_2(&f->grid, f->known, s, near);
            for (int n = 0; n < 2 * dim; n++)
                for (int i = 0; i < f->grid.tile_cells; i++) {
                    int at[3] = {i & 7, i >> 3 & 7, i >> 6};
                    at[n >> 1] += n & 1 ? 2 : -2;
                    int64_t next = grid_near(&f->grid, s, at[0], at[1], at[2]);
                    CHECK(has(&near[n], i) == bit(f->known, next));
                }
        }
        field_free(f);
    }
}

/// Mean of the known neighbours of a cell in a field, each continued along the line through the one
/// behind it, neither turned about nor more than doubled.
static float plain_continued(const Field *f, const float *v, int slot, int cell) {
    float sum = 0, count = 0;
    for (int n = 0; n < 2 * f->grid.dim; n++) {
        int at[3] = {cell & 7, cell >> 3 & 7, cell >> 6}, up = n & 1 ? 1 : -1;
        at[n >> 1] += up;
        int64_t one = grid_near(&f->grid, slot, at[0], at[1], at[2]);
        at[n >> 1] += up;
        int64_t two = grid_near(&f->grid, slot, at[0], at[1], at[2]);
        if (!bit(f->known, one)) continue;
        float more = bit(f->known, two) ? v[one] - v[two] : 0, most = fabsf(v[one]);
        sum += v[one] + fminf(fmaxf(more, -most), most), count++;
    }
    return sum / count;
}

/// Mean of the known neighbours of a cell in a field, as grow and carry take it.
static float plain_mean(const Field *f, const float *v, int slot, int cell) {
    float sum = 0, count = 0;
    for (int n = 0; n < 2 * f->grid.dim; n++) {
        int64_t next = grid_step(&f->grid, slot, cell, n >> 1, n & 1 ? 1 : -1);
        if (bit(f->known, next)) sum += v[next], count++;
    }
    return sum / count;
}

TEST(faces_grow_and_carry_equal_plain_loops) {
    for (int dim = 2; dim <= 3; dim++) {
        Field *f = field_new(dim);
        CHECK(f);
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            const FaceKernels *k = face_kernels_for(isa_choose((BrimIsa)isa));
            for (int s = 0; s < f->grid.tile_count; s++) {
                TileMask near[6], wanted = mask_load(&f->grid, f->known, s);
                mask_around(&f->grid, f->known, s, near);
                for (int z = 0; z < f->grid.tile_depth; z++) {
                    uint64_t any = 0;
                    for (int n = 0; n < 2 * dim; n++) any |= near[n].slice[z];
                    wanted.slice[z] = any & ~wanted.slice[z];
                }
                TileView v = tile_view(&f->grid, s, f->velocity[0], tile_zeros);
                float grown[512], carried[512], further[512];
                TileMask beyond[6];
                mask_around_2(&f->grid, f->known, s, beyond);
                memcpy(grown, v.self, sizeof grown);
                memcpy(carried, v.self, sizeof carried);
                k->grow(&v, near, &wanted, dim, grown);
                memcpy(further, v.self, sizeof further);
                k->carry(&v, near, NULL, &wanted, dim, carried);
                k->carry(&v, near, beyond, &wanted, dim, further);
                for (int i = 0; i < f->grid.tile_cells; i++) {
                    float mean = plain_mean(f, f->velocity[0], s, i);
                    CHECK(same_bits(grown[i], has(&wanted, i) ? mean : v.self[i]));
                    CHECK(same_bits(carried[i], has(&wanted, i) ? v.self[i] - mean : v.self[i]));
                    mean = plain_continued(f, f->velocity[0], s, i);
                    CHECK(same_bits(further[i], has(&wanted, i) ? v.self[i] - mean : v.self[i]));
                }
            }
        }
        field_free(f);
    }
}

TEST(faces_finish_equals_plain_loops) {
    Field *f = field_new(3);
    CHECK(f);
    for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++)
        for (int s = 0; s < f->grid.tile_count; s++) {
            TileMask valued = mask_load(&f->grid, f->known, s);
            const float *in = f->velocity[0] + s * 512, *before = f->velocity[1] + s * 512;
            float v[512], old[512], most = 0;
            memcpy(v, in, sizeof v);
            memcpy(old, before, sizeof old);
            float fastest =
                face_kernels_for(isa_choose((BrimIsa)isa))->finish(&valued, 8, 0.97f, v, old);
            for (int i = 0; i < 512; i++)
                if (has(&valued, i)) {
                    CHECK(v[i] == in[i] && old[i] == in[i] - 0.97f * before[i]);
                    most = fmaxf(most, fabsf(in[i]));
                } else {
                    CHECK(isnan(v[i]) && isnan(old[i]));
                }
            CHECK(fastest == most);
        }
    field_free(f);
}

static float plain_outflow(const Field *f, const Around *around, int slot, int cell) {
    float sum = 0;
    for (int n = 0; n < 2 * f->grid.dim; n++) {
        int64_t face = n & 1 ? grid_step(&f->grid, slot, cell, n >> 1, 1)
                             : (int64_t)slot * f->grid.tile_cells + cell;
        if (has(&around->side[n], cell) || face < 0) continue;
        sum += n & 1 ? f->velocity[n >> 1][face] : -f->velocity[n >> 1][face];
    }
    return sum;
}

static float plain_diagonal(const Field *f, const Around *around, int slot, int cell, bool flags) {
    float diagonal = 0;
    for (int n = 0; n < 2 * f->grid.dim; n++) {
        if (has(&around->side[n], cell)) continue;
        int64_t next = grid_step(&f->grid, slot, cell, n >> 1, n & 1 ? 1 : -1);
        float inside = f->phi[(int64_t)slot * f->grid.tile_cells + cell];
        float outside = next < 0 ? LEVEL_SET_CUT : f->phi[next];
        diagonal += bit(f->liquid, next) || flags ? 1 : 1 / surface_part(inside, outside);
    }
    return diagonal;
}

TEST(faces_build_and_outflow_equal_plain_loops) {
    for (int run = 0; run < 12; run++) {
        int dim = 2 + run % 2, isa = BRIM_ISA_BASE + run / 4;
        bool flags = run / 2 % 2;
        const FaceKernels *k = face_kernels_for(isa_choose((BrimIsa)isa));
        Field *f = field_new(dim);
        CHECK(f);
        for (int s = 0; s < f->grid.tile_count; s++) {
            Around around = around_of(f, s);
            TileView v[3], phi = tile_view(&f->grid, s, f->phi, tile_far);
            views_of(f, s, v);
            float diagonal[512], rhs[512], c[3][512], pressure[512], most = 0;
            const float *start = f->pressure + s * f->grid.tile_cells;
            memcpy(pressure, start, sizeof pressure);
            k->build(&around, v, flags ? NULL : &phi, dim, 0.5f,
                     &(SystemTile){diagonal, rhs, {c[0], c[1], c[2]}, pressure});
            for (int i = 0; i < f->grid.tile_cells; i++) {
                bool wet = has(&around.liquid, i);
                float out = wet ? plain_outflow(f, &around, s, i) : 0;
                most = fmaxf(most, fabsf(out));
                CHECK(same_bits(diagonal[i], wet ? plain_diagonal(f, &around, s, i, flags) : 0));
                CHECK(same_bits(rhs[i], -out));
                CHECK(same_bits(pressure[i], wet ? 0.5f * start[i] : 0));
                for (int a = 0; a < dim; a++) {
                    bool linked = wet && bit(f->liquid, grid_step(&f->grid, s, i, a, -1));
                    CHECK(c[a][i] == (linked ? 1.0f : 0.0f));
                }
            }
            CHECK(k->outflow(&around, v, dim) == most);
        }
        field_free(f);
    }
}

static float plain_gradient(const Field *f, int slot, int cell, int axis, bool flags) {
    int64_t me = (int64_t)slot * f->grid.tile_cells + cell;
    int64_t below = grid_step(&f->grid, slot, cell, axis, -1);
    float mine = f->phi[me], its = below < 0 ? LEVEL_SET_CUT : f->phi[below];
    bool wet = bit(f->liquid, me), wet_below = bit(f->liquid, below);
    if (wet && wet_below) return f->pressure[me] - f->pressure[below];
    if (wet) return f->pressure[me] / (flags ? 1 : surface_part(mine, its));
    return -f->pressure[below] / (flags ? 1 : surface_part(its, mine));
}

TEST(faces_subtract_equals_plain_loops) {
    for (int run = 0; run < 12; run++) {
        int dim = 2 + run % 2, isa = BRIM_ISA_BASE + run / 4;
        bool flags = run / 2 % 2;
        const FaceKernels *k = face_kernels_for(isa_choose((BrimIsa)isa));
        Field *f = field_new(dim);
        CHECK(f);
        for (int s = 0; s < f->grid.tile_count; s++)
            for (int a = 0; a < dim; a++) {
                Around around = around_of(f, s);
                TileMask faces = around.liquid;
                for (int z = 0; z < f->grid.tile_depth; z++)
                    faces.slice[z] |= around.wet[2 * a].slice[z];
                TileView pressure = tile_view(&f->grid, s, f->pressure, tile_zeros);
                TileView phi = tile_view(&f->grid, s, f->phi, tile_far);
                const float *before = f->velocity[a] + s * f->grid.tile_cells;
                float velocity[512], gradient[512] = {0};
                memcpy(velocity, before, sizeof velocity);
                k->subtract(&around, &faces, a, f->grid.tile_depth, &pressure, flags ? NULL : &phi,
                            velocity, gradient);
                for (int i = 0; i < f->grid.tile_cells; i++) {
                    float g = has(&faces, i) ? plain_gradient(f, s, i, a, flags) : 0;
                    CHECK(same_bits(gradient[i], g));
                    CHECK(same_bits(velocity[i], before[i] - g));
                }
            }
        field_free(f);
    }
}

static float plain_mean_square(float a, float b) {
    float low = a == a ? a : b == b ? b : 0, high = b == b ? b : low;
    return (low * low + low * high + high * high) * (1.0f / 3.0f);
}

TEST(faces_speeds_equal_plain_loops) {
    for (int run = 0; run < 6; run++) {
        int dim = 2 + run % 2, isa = BRIM_ISA_BASE + run / 2;
        Field *f = field_new(dim);
        CHECK(f);
        for (int a = 0; a < dim; a++) // some faces have no velocity
            for (uint64_t i = 0; i < CELLS; i++)
                if (hash_3(9, i, (uint64_t)a) % 7 == 0) f->velocity[a][i] = NAN;
        for (int s = 0; s < f->grid.tile_count; s++) {
            TileMask cells = mask_load(&f->grid, f->known, s);
            TileView v[3];
            float out[512] = {0};
            for (int a = 0; a < dim; a++)
                v[a] = tile_view(&f->grid, s, f->velocity[a], tile_unknown);
            face_kernels_for(isa_choose((BrimIsa)isa))->speeds(v, &cells, dim, out);
            for (int i = 0; i < f->grid.tile_cells; i++) {
                float sum = 0;
                for (int a = 0; a < dim; a++) {
                    int64_t high = grid_step(&f->grid, s, i, a, 1);
                    float low = f->velocity[a][s * f->grid.tile_cells + i];
                    sum += plain_mean_square(low, high < 0 ? NAN : f->velocity[a][high]);
                }
                CHECK(same_bits(out[i], mask_bits(&cells, i / TILE) ? sum : 0));
            }
        }
        field_free(f);
    }
}

TEST(faces_that_are_not_a_number_are_an_error) {
    for (int last = 0; last < 2; last++) { // in the first tile, with larger values after it
        Case c = case_tank(3, 16, 0.5f);
        BrimSim *s = NULL;
        BrimError error;
        CHECK_OK(case_create(&c, &s, &error), error);
        CHECK_OK(brim_sim_step(s, &error), error);
        size_t rows = sim_rows(s), cells = sim_cells(s), at = last ? cells - 300 : 300;
        for (int a = 0; a < 3; a++) {
            memset(s->known[a], 0xff, rows);
            for (size_t i = 0; i < cells; i++) s->velocity[a][i] = 1;
        }
        CHECK_OK(stages_run(s, AT_EXTRAPOLATE, AT_EXTRAPOLATE, &error), error);
        s->velocity[1][at] = NAN;
        memset(s->known[1], 0xff, rows);
        CHECK(stages_run(s, AT_EXTRAPOLATE, AT_EXTRAPOLATE, &error) == BRIM_LOST_DIVERGED);
        brim_sim_destroy(&s);
    }
}
