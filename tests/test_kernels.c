// Kernels of density projection, narrow band and surface mesh against their plain twins, on every
// instruction set; and the same bits on all of them.
#include "base/hash.h"
#include "base/memory.h"
#include "kernels_ref.h"
#include "particles/normal.h"
#include "particles/order.h"
#include "particles/particles.h"
#include "surface/planes.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float unit(int i, int k) {
    return hash_unit(hash_3(29, (uint64_t)i, (uint64_t)k), 0);
}

/// Runs a statement for each instruction set that this processor has.
#define EACH_ISA(ISA_)                                              \
    for (int ISA_ = BRIM_ISA_BASE; ISA_ <= BRIM_ISA_AVX512; ISA_++) \
        if (isa_choose((BrimIsa)ISA_) == (BrimIsa)ISA_)

/// How far two values are apart; both not a number: not at all.
static double apart(double a, double b) {
    return isnan(a) && isnan(b) ? 0 : isnan(a) || isnan(b) ? INFINITY : fabs(a - b);
}

static double worst_of(const float *a, const double *b, int count) {
    double worst = 0;
    for (int i = 0; i < count; i++) worst = fmax(worst, apart((double)a[i], b[i]));
    return worst;
}

/// The same bits as before, kept from the first call on.
static bool same_bits(void **first, const void *now, size_t bytes) {
    if (*first) return memcmp(*first, now, bytes) == 0;
    *first = malloc(bytes);
    if (!*first) abort();
    memcpy(*first, now, bytes);
    return true;
}

// ------------------------------------------------------------------------------------- density

enum { COUNT = 777, ROOM = COUNT + PARTICLE_PADDING };
static const float DX = 0.041f;

/// A tile at (8, 16, 8) cells with random particles.
typedef struct Cloud {
    float x[3][ROOM];
    Span span;
} Cloud;

static Cloud *cloud_new(int dim) {
    Cloud *c = memory_zero(sizeof *c);
    if (!c) abort();
    c->span = (Span){.count = COUNT, .corner = {7, 15, 7}, .dx = DX, .inv_dx = 1 / DX, .dim = dim};
    for (int a = 0; a < 3; a++) {
        c->span.attr[ATTR_X + a] = c->x[a];
        for (int i = 0; i < COUNT && a < dim; i++)
            c->x[a][i] = (c->span.corner[a] + 1 + 7.999f * unit(i, a)) * DX;
    }
    return c;
}

TEST(kernels_weigh_equals_its_plain_twin) {
    for (int dim = 2; dim <= 3; dim++) {
        const int size = dim == 3 ? WEIGHT_3D : WEIGHT_2D;
        const float ramp = dim == 3 ? 0.75f : 1;
        Cloud *c = cloud_new(dim);
        double *plain = memory_zero((size_t)size * sizeof *plain), sum = 0;
        void *first = NULL;
        ref_weigh(&c->span, (double)ramp, plain);
        for (int i = 0; i < size; i++) sum += plain[i];
        CHECK_NEAR(sum, COUNT, 1e-9); // nothing is lost
        EACH_ISA(isa) {
            float *block = memory_zero((size_t)size * sizeof *block);
            density_kernels_for((BrimIsa)isa)->weigh(&c->span, ramp, block);
            CHECK_BELOW(worst_of(block, plain, size), 5e-5);
            CHECK(same_bits(&first, block, (size_t)size * sizeof *block));
            free(block);
        }
        free(plain), free(first), free(c);
    }
}

TEST(kernels_shift_equals_its_plain_twin) {
    enum { EDGE = TILE + 2, BLOCK = EDGE * EDGE * EDGE };
    for (int dim = 2; dim <= 3; dim++) {
        static float faces[3][BLOCK + 16];
        static double x0[COUNT], x1[COUNT], x2[COUNT];
        double *const x[3] = {x0, x1, x2};
        const float *const block[3] = {faces[0], faces[1], faces[2]};
        const float low[3] = {8.2f * DX, 0, 0}, high[3] = {1, 1, 15.5f * DX};
        void *first = NULL;
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < BLOCK; i++) faces[a][i] = 2 * unit(i, 10 + a) - 1;
        Cloud *c = cloud_new(dim);
        ShiftSums plain = ref_shift(&c->span, block, 0.3f, low, high, x);
        free(c);
        EACH_ISA(isa) {
            c = cloud_new(dim);
            ShiftSums sums =
                density_kernels_for((BrimIsa)isa)->shift(&c->span, block, 0.3f, low, high);
            for (int a = 0; a < dim; a++) CHECK_BELOW(worst_of(c->x[a], x[a], COUNT), 1e-6);
            CHECK_NEAR(sums.sum, plain.sum, 1e-4 * (double)plain.sum);
            CHECK_NEAR(sums.largest, plain.largest, 1e-5);
            CHECK(same_bits(&first, c->x, sizeof c->x));
            free(c);
        }
        free(first);
    }
}

/// What a surface is held back by as its particles are shifted: their way along its normal.
TEST(kernels_stay_equals_a_plain_loop) {
    static float phi[ROOM], normal[ROOM], ways[3][ROOM];
    static double plain[COUNT];
    for (int dim = 2; dim <= 3; dim++) {
        Cloud *c = cloud_new(dim);
        void *first = NULL;
        c->span.attr[ATTR_NORMAL] = normal, c->span.attr[ATTR_PHI] = phi;
        for (int i = 0; i < COUNT; i++) {
            float n[3] = {2 * unit(i, 30) - 1, 2 * unit(i, 31) - 1, 0}, length2 = 0;
            if (dim == 3) n[2] = 2 * unit(i, 32) - 1;
            for (int a = 0; a < 3; a++) length2 += n[a] * n[a];
            for (int a = 0; a < 3; a++) n[a] /= sqrtf(length2);
            const uint32_t word = i % 5 ? normal_pack(n, unit(i, 33)) : 0; // 0: it has none
            memcpy(&normal[i], &word, sizeof word);
            normal_unpack(word, dim, n);
            plain[i] = (double)unit(i, 34);
            for (int a = 0; a < dim; a++) {
                ways[a][i] = 0.4f * unit(i, 35 + a) - 0.2f;
                if (word) plain[i] += (double)n[a] * (double)ways[a][i];
            }
        }
        EACH_ISA(isa) {
            const float *const by[3] = {ways[0], ways[1], ways[2]};
            for (int i = 0; i < COUNT; i++) phi[i] = unit(i, 34);
            density_kernels_for((BrimIsa)isa)->stay(&c->span, by);
            CHECK_BELOW(worst_of(phi, plain, COUNT), 1e-6);
            CHECK(same_bits(&first, phi, sizeof phi));
        }
        free(c), free(first);
    }
}

TEST(kernels_find_keys_as_a_plain_loop) {
    for (int dim = 2; dim <= 3; dim++) {
        Grid g;
        Cloud *c = cloud_new(dim);
        const int cells[3] = {40, 29, dim == 3 ? 17 : 1};
        BrimError error;
        CHECK_OK(grid_init(&g, dim, cells, &error), error);
        for (int a = 0; a < dim; a++) // over all of the domain, and on its far sides
            for (int i = 0; i < COUNT; i++)
                c->x[a][i] = i % 9 == a ? (float)cells[a] * DX : (float)cells[a] * DX * unit(i, a);
        EACH_ISA(isa) {
            uint32_t key[ROOM];
            int wrong = 0;
            transfer_kernels_for((BrimIsa)isa)->find_keys(&c->span, &g, key);
            for (int i = 0; i < COUNT; i++)
                wrong += key[i] != cell_key(&g, c->span.space, c->x[0][i], c->x[1][i], c->x[2][i]);
            CHECK(wrong == 0);
        }
        grid_free(&g), free(c);
    }
}

/// The same in the middle of the tile, farther from its sides than the way of a shift.
static Cloud *cloud_inside(int dim) {
    Cloud *c = cloud_new(dim);
    for (int a = 0; a < dim; a++)
        for (int i = 0; i < COUNT; i++)
            c->x[a][i] = (c->span.corner[a] + 1.5f + 6.999f * unit(i, a)) * DX;
    return c;
}

/// Sixteen that go less than half a cell and meet no solid take the same step as by a shift.
TEST(kernels_move_straight_as_a_shift_does) {
    enum { EDGE = TILE + 2, BLOCK = EDGE * EDGE * EDGE };
    static float faces[3][BLOCK + 16], solid[BLOCK + 16];
    const float *const block[3] = {faces[0], faces[1], faces[2]};
    const float low[3] = {0}, high[3] = {1, 1, 1};
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < BLOCK; i++) faces[a][i] = 2 * unit(i, 10 + a) - 1;
    for (int dim = 2; dim <= 3; dim++) EACH_ISA(isa) {
            const DensityKernels *kernels = density_kernels_for((BrimIsa)isa);
            Cloud *shifted = cloud_inside(dim);
            const ShiftSums sums = kernels->shift(&shifted->span, block, 0.3f, low, high);
            for (int near = 0; near < 2; near++) { // a solid is far, or in reach
                Cloud *c = cloud_inside(dim);
                float by[3][ROOM];
                uint32_t far[COUNT];
                MoveParams m = {.halo = 1,
                                .substeps = 1,
                                .time = 0.3f * DX,
                                .straight = 0.5f,
                                .reach = 0.3f,
                                .solid = solid,
                                .high = {1, 1, 1}};
                for (int i = 0; i < BLOCK; i++) solid[i] = (near ? 1.2f : 1.4f) * DX;
                for (int a = 0; a < dim; a++) m.velocity[a] = block[a];
                for (int a = 0; a < dim; a++) c->span.attr[ATTR_VX + a] = by[a];
                memset(by, 0, sizeof by);
                CHECK(transfer_kernels_for((BrimIsa)isa)->move(&c->span, &m, far) == 0);
                float most = 0;
                for (int a = 0; a < dim; a++)
                    for (int i = 0; i < COUNT; i++)
                        most = fmaxf(most, fabsf(c->x[a][i] - shifted->x[a][i]) / DX);
                CHECK(near ? most > 1e-2f : most < 1e-4f);
                Cloud *before = cloud_inside(dim);
                for (int a = 0; a < 3; a++) memcpy(by[a], before->x[a], sizeof by[a]);
                const ShiftSums went =
                    kernels->lengths(&c->span, (float *const[3]){by[0], by[1], by[2]});
                for (int i = 0; i < COUNT; i++)
                    CHECK_NEAR(by[0][i], (c->x[0][i] - before->x[0][i]) / DX, 1e-4);
                if (!near) CHECK_NEAR(went.sum, sums.sum, 1e-3 * (double)sums.sum);
                if (!near) CHECK_NEAR(went.largest, sums.largest, 1e-4);
                free(c), free(before);
            }
            free(shifted);
        }
}

TEST(kernels_largest_keeps_what_is_not_a_number) {
    float values[64];
    for (int n = 0; n < 3; n++) {
        for (int i = 0; i < 64; i++) values[i] = 0.5f * unit(i, 3) - 0.25f;
        values[37] = -3; // then NaN before a larger one, and after it
        if (n > 0) values[n == 1 ? 3 : 51] = NAN;
        EACH_ISA(isa) {
            float most = density_kernels_for((BrimIsa)isa)->largest(values, 64);
            CHECK(n ? isnan(most) : most == 3);
        }
    }
}

// ---------------------------------------------------------------------------------------- sort

TEST(kernels_of_the_sort_equal_plain_loops) {
    enum { N = 203, CELLS = 64, LOW = 5 * CELLS, FIRST = 1000, ALL = 4000 };
    static uint32_t key[N], table[CELLS], start[CELLS], place[N], order[ALL], plain[ALL];
    static uint32_t taken[2][N], index[N], in[2][N];
    uint32_t away[N], far[N], count[CELLS] = {0}, near = 0, found = 0;
    for (int i = 0; i < CELLS; i++) table[i] = 1u << (int)(27 * unit(i, 1));
    for (int i = 0; i < N; i++) { // in the tile, before and beyond it, and gone
        float kind = unit(i, 2);
        key[i] = kind < 0.8f ? LOW + (uint32_t)(CELLS * unit(i, 3)) : (uint32_t)(999 * unit(i, 4));
        if (kind > 0.95f) key[i] = KEY_DRAINED;
        uint32_t cell = key[i] - LOW;
        if (cell < CELLS)
            near |= table[cell], place[i] = count[cell]++;
        else
            far[found++] = FIRST + (uint32_t)i;
        index[i] = (uint32_t)(N * unit(i, 5)), in[0][i] = key[i] * 3, in[1][i] = key[i] * 7;
    }
    for (uint32_t c = 0, sum = 2000; c < CELLS; c++) start[c] = sum, sum += count[c];
    for (uint32_t i = 0; i < N; i++)
        if (key[i] - LOW < CELLS) plain[start[key[i] - LOW] + place[i]] = FIRST + i;
    EACH_ISA(isa) {
        const OrderKernels *k = order_kernels_for((BrimIsa)isa);
        const uint32_t *const from[2] = {in[0], in[1]};
        uint32_t mask = 0, *const to[2] = {taken[0], taken[1]};
        CHECK(k->survey(key, N, FIRST, LOW, CELLS, table, &mask, away) == found);
        CHECK(mask == near && memcmp(away, far, found * sizeof *far) == 0);
        memset(order, 0, sizeof order);
        k->place(key, N, FIRST, LOW, CELLS, start, place, order);
        CHECK(memcmp(order, plain, sizeof order) == 0);
        for (int beyond = 0; beyond < 2; beyond++) { // with more than signed indices can tell, too
            memset(taken, 0, sizeof taken);
            k->take(index, N, beyond ? UINT32_MAX : N, from, to);
            for (int i = 0; i < N; i++)
                CHECK(taken[0][i] == in[0][index[i]] && taken[1][i] == in[1][index[i]]);
        }
    }
}

// ---------------------------------------------------------------------------------------- band

/// A smooth block, with noise, and where asked with holes.
static float *random_block(int halo, int dim, int seed, bool holes) {
    const int edge = TILE + 2 * halo, depth = dim == 3 ? edge : 1;
    float *block = memory_zero((size_t)(edge * edge * depth + 32) * sizeof *block);
    if (!block) abort();
    for (int z = 0, i = 0; z < depth; z++)
        for (int y = 0; y < edge; y++)
            for (int x = 0; x < edge; x++, i++) {
                block[i] = sinf(0.4f * (float)(x + seed)) + cosf(0.3f * (float)(y - 2 * z)) +
                           0.3f * unit(i, seed);
                if (holes && unit(i, seed + 50) < 0.02f) block[i] = NAN;
            }
    return block;
}

/// Paths with a component missing count as missing as a whole.
static double paths_apart(float a[3][BAND_CELLS], double b[3][BAND_CELLS], int dim) {
    double worst = 0;
    for (int c = 0; c < (dim == 3 ? BAND_CELLS : 64); c++) {
        double missing[2] = {0};
        for (int k = 0; k < dim; k++) missing[0] += (double)a[k][c], missing[1] += b[k][c];
        if (isnan(missing[0]) != isnan(missing[1])) return INFINITY;
        for (int k = 0; k < dim && !isnan(missing[0]); k++)
            worst = fmax(worst, fabs((double)a[k][c] - b[k][c]));
    }
    return worst;
}

TEST(kernels_trace_equals_its_plain_twin) {
    static float back[3][BAND_CELLS];
    static double plain[3][BAND_CELLS];
    for (int dim = 2; dim <= 3; dim++)
        for (int holes = 0; holes < 2; holes++) {
            float *v[3];
            void *first = NULL;
            for (int a = 0; a < 3; a++) v[a] = random_block(3, dim, 20 + a, holes);
            TraceParams p = {{v[0], v[1], v[2]}, 3, dim, 2, 0.5f};
            memset(back, 0, sizeof back);
            ref_trace(&p, plain);
            EACH_ISA(isa) {
                band_kernels_for((BrimIsa)isa)->trace(&p, back);
                CHECK_BELOW(paths_apart(back, plain, dim), 2e-5);
                if (!holes) CHECK(same_bits(&first, back, sizeof back));
            }
            for (int a = 0; a < 3; a++) free(v[a]);
            free(first);
        }
}

TEST(kernels_face_paths_equal_their_plain_twin) {
    static float back[BAND_CELLS], out[BAND_CELLS];
    static double plain[BAND_CELLS];
    for (int i = 0; i < BAND_CELLS; i++) back[i] = unit(i, 1) < 0.1f ? NAN : 4 * unit(i, 2) - 2;
    for (int dim = 2; dim <= 3; dim++)
        for (int axis = 0; axis < dim; axis++) {
            ref_face_paths(back, axis, dim, plain);
            EACH_ISA(isa) {
                band_kernels_for((BrimIsa)isa)->face_paths(back, axis, dim, out);
                CHECK_BELOW(worst_of(out, plain, dim == 3 ? BAND_CELLS : 64), 1e-6);
            }
        }
}

TEST(kernels_carry_equals_its_plain_twin) {
    static float back[3][BAND_CELLS], out[BAND_CELLS];
    static double plain[BAND_CELLS];
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < BAND_CELLS; i++)
            back[a][i] = a == 1 && unit(i, 3) < 0.05f ? NAN : 3.8f * unit(i, 4 + a) - 1.9f;
    for (int kind = 0; kind < 8; kind++) {
        const int dim = kind & 1 ? 3 : 2, cells = dim == 3 ? BAND_CELLS : 64;
        const bool sharp = kind & 2, holes = kind & 4;
        float *block = random_block(4, dim, 40, holes);
        uint32_t pairs = dim == 3 ? 0xfbfffff7u : 0xdu;
        ref_carry(block, 4, dim, sharp, pairs, back, 7, plain);
        EACH_ISA(isa) {
            band_kernels_for((BrimIsa)isa)->carry(block, 4, dim, sharp, pairs, back, 7, out);
            CHECK_BELOW(worst_of(out, plain, cells), 1e-4);
        }
        free(block);
    }
}

TEST(kernels_deepen_equals_its_plain_twin) {
    static float out[BAND_CELLS];
    static double plain[BAND_CELLS];
    for (int dim = 2; dim <= 3; dim++) {
        const int edge = TILE + 2, nodes = edge * edge * (dim == 3 ? edge : 1);
        float *block = random_block(1, dim, 60, false);
        uint8_t fixed[64];
        for (int i = 0; i < 64; i++) fixed[i] = i % 5 ? (uint8_t)hash_3(1, (uint64_t)i, 2) : 0xff;
        for (int i = 0; i < nodes; i++) block[i] = unit(i, 8) < 0.4f ? BAND_FAR : 3 * unit(i, 9);
        bool changed = ref_deepen(block, dim, fixed, plain);
        CHECK(changed);
        void *first = NULL;
        EACH_ISA(isa) {
            CHECK(band_kernels_for((BrimIsa)isa)->deepen(block, dim, fixed, out) == changed);
            CHECK_BELOW(worst_of(out, plain, dim == 3 ? BAND_CELLS : 64), 1e-5);
            CHECK(same_bits(&first, out, sizeof out));
        }
        uint8_t all[64]; // nothing may change
        memset(all, 0xff, sizeof all);
        EACH_ISA(isa) CHECK(!band_kernels_for((BrimIsa)isa)->deepen(block, dim, all, out));
        free(first), free(block);
    }
}

// ---------------------------------------------------------------------------------------- mesh

/// A block of cells with random particles, in the order of cells.
static Block *random_particles(void) {
    enum { EDGE = 6, MOST = EDGE * EDGE * EDGE * 4 };
    Block *b = memory_zero(sizeof *b);
    if (!b) abort();
    b->edge = EDGE;
    for (int a = 0; a < 3; a++) b->origin[a] = 10 * a;
    for (int k = 0; k < 18; k++) {
        float *values = memory_zero((MOST + 16) * sizeof *values);
        if (!values) abort();
        *(k < 3    ? &b->x[k]
          : k < 6  ? &b->v[k - 3]
          : k < 13 ? &b->g[k - 6]
                   : &b->carried[k - 13]) = values;
    }
    for (int c = 0; c < EDGE * EDGE * EDGE; c++) {
        const int cell[3] = {c % EDGE, c / EDGE % EDGE, c / EDGE / EDGE};
        b->start[c] = b->count;
        for (int n = (int)(unit(c, 70) * 4.99f); n > 0; n--, b->count++) {
            int i = (int)b->count;
            for (int a = 0; a < 3; a++) {
                b->x[a][i] = (float)(b->origin[a] + cell[a]) + 0.999f * unit(i, 71 + a);
                b->v[a][i] = 2 * unit(i, 74 + a) - 1;
                b->g[a][i] = 0.6f + 0.4f * unit(i, 77 + a);
                b->g[3 + a][i] = 0.2f * unit(i, 80 + a) - 0.1f;
            }
            b->g[6][i] = unit(i, 83);
            b->carried[0][i] = 2 * TRACK_ABOVE * unit(i, 84) - TRACK_ABOVE / 2;
            for (int a = 0; a < 3; a++) b->carried[1 + a][i] = 1.15f * unit(i, 85 + a) - 0.575f;
            b->carried[4][i] = 1.2f * unit(i, 88) - 0.2f; // below 0: it has no plane
        }
    }
    b->start[EDGE * EDGE * EDGE] = b->count;
    return b;
}

static double sums_apart(const LevelSums *a, const RefSums *b, bool nearest, bool second) {
    double worst = apart((double)a->weight, b->weight);
    for (int k = 0; k < 3; k++) worst = fmax(worst, apart((double)a->mean[k], b->mean[k]));
    if (nearest) worst = fmax(worst, apart((double)a->nearest, b->nearest));
    for (int k = 0; k < 6 && second; k++)
        worst = fmax(worst, apart((double)a->second[k], b->second[k]));
    return worst;
}

static void random_particles_free(Block *b) {
    for (int a = 0; a < 3; a++) free(b->x[a]), free(b->v[a]);
    for (int k = 0; k < 7; k++) free(b->g[k]);
    for (int k = 0; k < 5; k++) free(b->carried[k]);
    free(b);
}

TEST(kernels_of_the_mesh_equal_their_plain_twins) {
    Block *b = random_particles();
    const float plane[4] = {0.6f, 0, -0.8f, 0.2f};
    for (int i = 0; i < 20; i++) {
        const float at[3] = {2 + 2 * unit(i, 90), 12 + 2 * unit(i, 91), 22 + 2 * unit(i, 92)};
        const float radius = 1.2f + 0.7f * unit(i, 93), *mirror = i & 1 ? plane : NULL;
        // a kernel may reach as far as the least stretch says: all of the block is within 4 cells
        RefSums sum = ref_sum(b, (double)radius, at, mirror), moments, stretched;
        RefSums velocity = ref_velocity(b, (double)radius, at);
        moments = ref_moments(b, (double)radius, at);
        stretched = ref_stretched(b, at, mirror);
        LevelSums base[4] = {{0}};
        EACH_ISA(isa) {
            const LevelKernels *k = level_kernels_for((BrimIsa)isa);
            LevelSums out[4] = {{0}};
            k->sum(b, radius, at, mirror, &out[0]);
            k->velocity(b, radius, at, &out[1]);
            k->moments(b, radius, at, &out[2]);
            k->stretched(b, 8, at, mirror, &out[3]);
            CHECK_BELOW(sums_apart(&out[0], &sum, true, false), 3e-5);
            CHECK_BELOW(sums_apart(&out[1], &velocity, false, false), 3e-5);
            CHECK_BELOW(sums_apart(&out[2], &moments, false, true), 1e-4);
            CHECK_BELOW(apart((double)out[3].weight, stretched.weight), 3e-5);
            CHECK_BELOW(apart((double)out[3].nearest, stretched.nearest), 3e-5);
            if (isa == BRIM_ISA_BASE) memcpy(base, out, sizeof base);
            CHECK(memcmp(base, out, sizeof base) == 0);
        }
    }
    random_particles_free(b);
}

/// Adds what one particle's plane says, in double precision.
static void add_plane(double sums[4], const Block *b, uint32_t i, const double offset[3],
                      const double normal[3], const float out[3]) {
    double d2 = 0, facing = 1, height = 0, towards = 0;
    for (int a = 0; a < 3; a++) {
        d2 += offset[a] * offset[a] / ((double)TRACK_REACH * (double)TRACK_REACH);
        height += offset[a] * normal[a], facing += (double)out[a] * normal[a];
        towards += (double)out[a] * (double)out[a];
    }
    const double k = fmax(1 - d2, 0), near = (double)TRACK_NEARNESS;
    const double weight = k * k / (near * near + d2), steady = (double)b->carried[4][i];
    sums[0] += weight;
    facing = fmax(facing - sqrt(towards), 0);
    if (steady < 0) return;
    sums[1] += weight * facing, sums[2] += weight * steady;
    sums[3] += weight * facing * (fmin((double)b->carried[0][i], (double)TRACK_ABOVE) - height);
}

/// All particles of a block, and with `plane` the mirror images of those above it.
static void ref_planes(const Block *b, const float at[3], const float out[3], const float *plane,
                       double sums[4]) {
    memset(sums, 0, 4 * sizeof *sums);
    for (uint32_t i = 0; i < b->count; i++) {
        double offset[3], normal[3], above = plane ? (double)plane[3] : 0, along = 0;
        for (int a = 0; a < 3; a++) {
            offset[a] = (double)b->x[a][i] - (double)at[a];
            normal[a] = (double)b->carried[1 + a][i];
        }
        add_plane(sums, b, i, offset, normal, out);
        for (int a = 0; a < 3 && plane; a++)
            above += offset[a] * (double)plane[a], along += normal[a] * (double)plane[a];
        if (!plane || above <= 0) continue;
        for (int a = 0; a < 3; a++) {
            offset[a] -= 2 * above * (double)plane[a];
            normal[a] -= 2 * along * (double)plane[a];
        }
        add_plane(sums, b, i, offset, normal, out);
    }
}

TEST(kernels_of_planes_equal_their_plain_twin) {
    Block *b = random_particles();
    const float plane[4] = {0.6f, 0, -0.8f, 0.2f};
    for (int i = 0; i < 20; i++) {
        const float at[3] = {2 + 2 * unit(i, 90), 12 + 2 * unit(i, 91), 22 + 2 * unit(i, 92)};
        const float out[3] = {0.7f * unit(i, 94), -0.5f * unit(i, 95), 0.4f * unit(i, 96)};
        const float *mirror = i & 1 ? plane : NULL;
        double plain[4];
        PlaneSums base;
        ref_planes(b, at, out, mirror, plain);
        CHECK(plain[1] > 0 && plain[0] > plain[2]);
        EACH_ISA(isa) {
            PlaneSums s;
            level_kernels_for((BrimIsa)isa)->planes(b, at, out, mirror, &s);
            const float sums[4] = {s.all, s.planes, s.steady, s.distance};
            CHECK_BELOW(worst_of(sums, plain, 4), 2e-5 * plain[0]);
            if (isa == BRIM_ISA_BASE) base = s;
            CHECK(memcmp(&base, &s, sizeof s) == 0);
        }
    }
    random_particles_free(b);
}
