// Transfers: kernels against their plain twins and one another; what must be exact is exact.
#include "base/hash.h"
#include "base/memory.h"
#include "sim.h"
#include "test.h"
#include "transfer_ref.h"
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000, ROOM = COUNT + PARTICLE_PADDING };

static const float DX = 0.037f;

/// A tile at tile coordinates (1, 2, 1) with random particles.
typedef struct Cloud {
    float data[ATTR_MAX][ROOM];
    Span span;
    int halo;
} Cloud;

static float unit(int i, int k) {
    return hash_unit(hash_3(17, (uint64_t)i, (uint64_t)k), 0);
}

static Cloud *cloud_new(int dim, int halo) {
    Cloud *c = memory_zero(sizeof *c);
    if (!c) abort();
    c->halo = halo;
    c->span = (Span){.count = COUNT - dim, // no multiple of a vector
                     .corner = {(float)(8 - halo), (float)(16 - halo), (float)(8 - halo)},
                     .dx = DX,
                     .inv_dx = 1 / DX,
                     .dim = dim};
    const int tile[3] = {8, 16, 8};
    for (int a = 0; a < ATTR_MAX; a++) {
        c->span.attr[a] = c->data[a];
        for (int i = 0; i < COUNT; i++)
            c->data[a][i] = a >= ATTR_VX ? 2 * unit(i, a) - 1
                            : a < dim    ? ((float)tile[a] + 7.999f * unit(i, a)) * DX
                                         : 0;
    }
    return c;
}

/// Kernels that this processor can run. Returns how many.
static int all_kernels(const TransferKernels *kernels[3]) {
    int count = 0;
    for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++)
        if (isa_choose((BrimIsa)isa) == (BrimIsa)isa)
            kernels[count++] = transfer_kernels_for((BrimIsa)isa);
    return count;
}

TEST(scatter_equals_its_plain_twin) {
    const TransferKernels *kernels[3];
    int n = all_kernels(kernels);
    for (int dim = 2; dim <= 3; dim++)
        for (int kind = 0; kind < 4; kind++) {
            const bool affine = kind & 1, heavy = kind & 2;
            size_t size = dim == 3 ? SCATTER_3D : SCATTER_2D;
            Cloud *c = cloud_new(dim, 1);
            if (!heavy) c->span.attr[ATTR_MASS] = NULL; // all weigh the same
            double *plain = calloc(size, sizeof *plain), worst = 0;
            float *first = calloc(size, sizeof *first);
            bool same = true;
            ref_to_block(&c->span, affine, plain);
            for (int k = 0; k < n; k++) {
                float *block = calloc(size, sizeof *block);
                kernels[k]->to_block(&c->span, affine, block);
                for (size_t i = 0; i < size; i++) worst = fmax(worst, fabs(block[i] - plain[i]));
                if (k == 0) memcpy(first, block, size * sizeof *first);
                same &= memcmp(first, block, size * sizeof *first) == 0;
                free(block);
            }
            free(plain), free(first), free(c);
            CHECK_BELOW(worst, 2e-5);
            CHECK(same);
        }
}

/// One component of the blocks of a tile and its neighbours, with some of their rows.
typedef struct Blocks {
    float block[27][SCATTER_EDGE][SCATTER_EDGE][SCATTER_EDGE][2]; ///< [n][z][y][x]
    float side[27][2][SCATTER_EDGE][SCATTER_EDGE][2];
    ScatterNear near;
} Blocks;

/// Row z, y of the block of neighbour n that lies over row z, y of the tile; -1: none does.
static int over(int at, int d) {
    int row = at + 1 - TILE * d;
    return row >= 0 && row < SCATTER_EDGE ? row : -1;
}

static void fill_blocks(Blocks *b) {
    float *all = &b->block[0][0][0][0][0];
    for (int i = 0; i < (int)(sizeof b->block / sizeof *all); i += 2) {
        all[i + 1] = unit(i, 60) < 0.3f ? 1e-8f * unit(i, 61) : unit(i, 61);
        all[i] = (2 * unit(i, 62) - 1) * all[i + 1];
    }
    memset(&b->near, 0, sizeof b->near);
    for (int n = 0; n < 27; n++) {
        for (int z = 0; z < SCATTER_EDGE; z++)
            for (int y = 0; y < SCATTER_EDGE; y++) {
                memcpy(b->side[n][0][z][y], b->block[n][z][y][0], 8);
                memcpy(b->side[n][1][z][y], b->block[n][z][y][SCATTER_EDGE - 1], 8);
            }
        b->near.block[n] = b->block[n][0][0][0];
        b->near.side[n] = b->side[n][0][0][0];
        for (int row = 0; row < 64; row++) {
            bool meets = over(row & 7, n / 3 % 3 - 1) >= 0 && over(row >> 3, n / 9 - 1) >= 0;
            if (meets && hash_3(3, (uint64_t)n, (uint64_t)row) % 3 && row % 7)
                b->near.reach[n] |= (uint64_t)1 << row;
        }
    }
}

TEST(blocks_are_summed_as_by_their_plain_twin) {
    static Blocks b;
    const TransferKernels *kernels[3];
    int count = all_kernels(kernels);
    fill_blocks(&b);
    for (int k = 0; k < count; k++) {
        float velocity[512], old[512], weight[512];
        uint8_t known[64];
        kernels[k]->gather(&b.near, 3, 1e-6f, velocity, old, weight, known);
        CHECK(memcmp(velocity, old, sizeof old) == 0);
        for (int i = 0; i < 512; i++) {
            float sum[2] = {0};
            for (int n = 0; n < 27; n++) {
                int x = over(i & 7, n % 3 - 1), y = over(i >> 3 & 7, n / 3 % 3 - 1);
                int z = over(i >> 6, n / 9 - 1);
                if (!(b.near.reach[n] >> (i >> 3) & 1) || x < 0) continue;
                sum[0] += b.block[n][z][y][x][0], sum[1] += b.block[n][z][y][x][1];
            }
            bool has = sum[1] > 1e-6f;
            CHECK(weight[i] == sum[1]);
            CHECK((known[i / 8] >> (i & 7) & 1) == has);
            CHECK(velocity[i] == (has ? sum[0] / sum[1] : 0));
        }
    }
}

/// A block of random values.
static void random_block(float *block, int component) {
    for (int i = 0; i < BLOCK_MAX; i++) block[i] = 2 * unit(i, 40 + component) - 1;
}

TEST(gather_equals_its_plain_twin) {
    static float block[3][BLOCK_MAX];
    const float *const blocks[3] = {block[0], block[1], block[2]};
    const TransferKernels *kernels[3];
    int n = all_kernels(kernels);
    for (int a = 0; a < 3; a++) random_block(block[a], a);
    for (int dim = 2; dim <= 3; dim++)
        for (int affine = 0; affine < 2; affine++) {
            Cloud *plain = cloud_new(dim, 1), *first = cloud_new(dim, 1);
            float ratio = affine ? 0 : 0.97f;
            double worst = 0;
            bool same = true;
            ref_from_block(&plain->span, affine, ratio, blocks, 1);
            kernels[0]->from_block(&first->span, affine, ratio, blocks, 1);
            for (int a = 0; a < ATTR_MAX; a++)
                for (int i = 0; i < plain->span.count; i++)
                    worst = fmax(worst, fabs(plain->data[a][i] - first->data[a][i]));
            for (int k = 1; k < n; k++) {
                Cloud *c = cloud_new(dim, 1);
                kernels[k]->from_block(&c->span, affine, ratio, blocks, 1);
                same &= memcmp(c->data, first->data, sizeof c->data) == 0;
                free(c);
            }
            free(plain), free(first);
            CHECK_BELOW(worst, 1e-5);
            CHECK(same);
        }
}

/// Particles of a few cells in a row, up to each end of a block that no float follows.
TEST(gather_for_sorted_particles_equals_its_plain_twin) {
    enum { EDGE = TILE + 2 };
    const TransferKernels *kernels[3];
    int n = all_kernels(kernels);
    float *block[3];
    for (int a = 0; a < 3; a++) {
        block[a] = memory_new(EDGE * EDGE * EDGE * sizeof **block);
        for (int i = 0; i < EDGE * EDGE * EDGE; i++) block[a][i] = 2 * unit(i, 40 + a) - 1;
    }
    for (int run = 0; run < 32; run++) {
        Cloud *c[4];
        for (int k = 0; k < n + 1; k++) {
            c[k] = cloud_new(3, 1);
            const int corner[3] = {8, 16, 8}, cells = 1 + 2 * (run / 8);
            for (int i = 0; i < COUNT; i++) // a vector's particles in cells at an end of the tile
                for (int a = 0; a < 3; a++) {
                    int wide = a == 0 ? cells : 1;
                    float low = run >> a & 1 ? (float)(TILE - wide) : 0;
                    c[k]->data[a][i] =
                        ((float)corner[a] + low + 0.999f * (float)wide * unit(i, a)) * DX;
                }
        }
        const float *const from[3] = {block[0], block[1], block[2]};
        const bool affine = run & 1;
        double worst = 0;
        ref_from_block(&c[n]->span, affine, affine ? 0 : 0.97f, from, 1);
        for (int k = 0; k < n; k++)
            kernels[k]->from_block(&c[k]->span, affine, affine ? 0 : 0.97f, from, 1);
        for (int a = 0; a < ATTR_MAX; a++)
            for (int i = 0; i < c[0]->span.count; i++)
                worst = fmax(worst, fabs(c[0]->data[a][i] - c[n]->data[a][i]));
        CHECK_BELOW(worst, 1e-5);
        for (int k = 1; k < n; k++) CHECK(memcmp(c[k]->data, c[0]->data, sizeof c[0]->data) == 0);
        for (int k = 0; k < n + 1; k++) free(c[k]);
    }
    for (int a = 0; a < 3; a++) free(block[a]);
}

/// Particles of one cell among walls between half cells, in the largest block.
TEST(advection_of_a_cell_is_the_same_on_every_set) {
    enum { HALO = BLOCK_HALO_MAX };
    static float block[3][BLOCK_MAX], fine[8 * BLOCK_MAX];
    const TransferKernels *kernels[3];
    uint32_t far[COUNT];
    int n = all_kernels(kernels);
    for (int a = 0; a < 3; a++) random_block(block[a], a);
    for (int i = 0; i < 8 * BLOCK_MAX; i++) fine[i] = (unit(i, 51) - 0.2f) * DX;
    MoveParams m = {.halo = HALO,
                    .substeps = 2,
                    .time = 0.3f * DX,
                    .solid = fine,
                    .fine = true,
                    .high = {100 * DX, 100 * DX, 100 * DX}};
    for (int a = 0; a < 3; a++) m.velocity[a] = block[a];
    for (int cell = 0; cell < TILE; cell++) {
        Cloud *c[3];
        for (int k = 0; k < n; k++) {
            c[k] = cloud_new(3, HALO);
            const float corner[3] = {8, 16, 8};
            for (int i = 0; i < COUNT; i++)
                for (int a = 0; a < 3; a++)
                    c[k]->data[a][i] = (corner[a] + (float)cell + 0.999f * unit(i, a)) * DX;
            kernels[k]->move(&c[k]->span, &m, far);
            CHECK(memcmp(c[k]->data, c[0]->data, sizeof c[0]->data) == 0);
        }
        for (int k = 0; k < n; k++) free(c[k]);
    }
}

TEST(advection_equals_its_plain_twin) {
    static float block[4][BLOCK_MAX], fine[8 * BLOCK_MAX], wall[3][BLOCK_MAX];
    const TransferKernels *kernels[3];
    uint32_t far[COUNT], plain_far[COUNT];
    int n = all_kernels(kernels);
    for (int a = 0; a < 3; a++) random_block(block[a], a);
    for (int i = 0; i < BLOCK_MAX; i++) block[3][i] = (unit(i, 50) - 0.2f) * DX; // partly inside
    for (int i = 0; i < 8 * BLOCK_MAX; i++) fine[i] = (unit(i, 51) - 0.2f) * DX;
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < BLOCK_MAX; i++) wall[a][i] = 0.4f * (unit(i, 60 + a) - 0.3f);
    for (int dim = 2; dim <= 3; dim++)
        for (int variant = 0; variant < 12; variant++) {
            // as many sub-steps as a group needs; some leave the block
            bool fast = variant == 4 || variant == 5;
            MoveParams m = {.halo = 4,
                            .substeps = fast ? 40 : 3,
                            .stride = fast ? 0.5f : 0,
                            .time = (fast ? 15 : 1.8f) * DX,
                            .scheme = variant & 1 ? BRIM_ADVECTION_RK3 : BRIM_ADVECTION_RK2,
                            .solid = variant >= 8  ? variant < 10 ? block[3] : fine
                                     : variant & 2 ? variant < 6 ? block[3] : fine
                                                   : NULL,
                            .fine = variant == 6 || variant == 7 || variant >= 10,
                            .high = {100 * DX, 100 * DX, 100 * DX}};
            for (int a = 0; a < 3; a++) m.velocity[a] = block[a];
            for (int a = 0; a < 3 && variant >= 8; a++) m.wall[a] = wall[a]; // solids move
            Cloud *plain = cloud_new(dim, 4), *first = cloud_new(dim, 4);
            Cloud *begin = cloud_new(dim, 4);
            double worst = 0, mean = 0, speed = 0;
            int held = 0;
            bool same = true;
            int left = ref_move(&plain->span, &m, plain_far);
            CHECK(kernels[0]->move(&first->span, &m, far) == left);
            CHECK(memcmp(far, plain_far, sizeof *far * (size_t)left) == 0 && fast == (left > 0));
            for (int a = 0; a < dim; a++)
                for (int i = 0; i < plain->span.count; i++) {
                    double d = fabs(plain->data[a][i] - first->data[a][i]) / DX;
                    worst = fmax(worst, d);
                    mean += d / (dim * plain->span.count);
                    const float *const v = plain->data[ATTR_VX + a];
                    speed += fabs(v[i] - first->data[ATTR_VX + a][i]) / (dim * plain->span.count);
                    held += a == 0 && v[i] != begin->data[ATTR_VX][i];
                }
            for (int k = 1; k < n; k++) {
                Cloud *c = cloud_new(dim, 4);
                same &= kernels[k]->move(&c->span, &m, far) == left;
                same &= memcmp(c->data, first->data, sizeof c->data) == 0;
                free(c);
            }
            free(plain), free(first), free(begin);
            CHECK(same);
            CHECK_BELOW(speed, 1e-3); // who is held goes along with what holds it
            CHECK((m.solid != NULL) == (held > 0));
            // Pushed out of a ragged solid, two roundings of one point may part ways; on a long way
            // through a rough flow they drift apart.
            if (m.solid)
                CHECK_BELOW(mean, 1e-3);
            else if (fast)
                CHECK_BELOW(mean, 1e-5);
            else
                CHECK_BELOW(worst, 1e-4);
        }
}

TEST(advection_where_nothing_is_known_flies_straight) {
    static float block[3][BLOCK_MAX];
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < BLOCK_MAX; i++) block[a][i] = NAN;
    MoveParams m = {.halo = 3, .substeps = 2, .time = DX, .high = {100 * DX, 100 * DX, 100 * DX}};
    for (int a = 0; a < 3; a++) m.velocity[a] = block[a];
    Cloud *before = cloud_new(3, 3), *after = cloud_new(3, 3);
    uint32_t far[COUNT];
    CHECK(transfer_kernels_for(isa_choose(BRIM_ISA_AUTO))->move(&after->span, &m, far) == 0);
    double worst = 0;
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < before->span.count; i++)
            worst = fmax(worst, fabs(after->data[a][i] - before->data[a][i] -
                                     m.time * before->data[ATTR_VX + a][i]));
    free(before), free(after);
    CHECK_BELOW(worst / DX, 1e-5);
}

/// A floor in the middle of the tile, and particles that fly straight: those that reach it stay on
/// it and keep the velocity along it. A floor that moves leaves them theirs: the grid knows its
/// speed.
TEST(what_touches_a_still_solid_does_not_push_on) {
    static float velocity[BLOCK_MAX], solid[BLOCK_MAX];
    enum { HALO = 4, EDGE = TILE + 2 * HALO };
    const float floor_at = 20; // cells of the domain
    const TransferKernels *kernels[3];
    int n = all_kernels(kernels);
    for (int dim = 2; dim <= 3; dim++)
        for (int still = 0; still < 2; still++) {
            for (int i = 0; i < BLOCK_MAX; i++) {
                int y = i / EDGE % EDGE;
                velocity[i] = NAN;
                solid[i] = ((float)(y + 16 - HALO) - floor_at) * DX;
            }
            MoveParams m = {.halo = HALO,
                            .substeps = 8,
                            .stride = 1,
                            .reach = 3,
                            .time = 2.5f * DX,
                            .still = still,
                            .solid = solid,
                            .velocity = {velocity, velocity, velocity},
                            .high = {100 * DX, 100 * DX, 100 * DX}};
            Cloud *before = cloud_new(dim, HALO), *first = NULL;
            int touched = 0;
            bool same = true, held = true;
            for (int i = 0; i < COUNT; i++) // all start above it
                before->data[1][i] = floor_at * DX + 0.5f * (before->data[1][i] - 16 * DX);
            for (int k = 0; k < n; k++) {
                Cloud *c = cloud_new(dim, HALO);
                uint32_t far[COUNT];
                memcpy(c->data, before->data, sizeof c->data);
                CHECK(kernels[k]->move(&c->span, &m, far) == 0);
                same &= !first || memcmp(c->data, first->data, sizeof c->data) == 0;
                if (!first)
                    first = c;
                else
                    free(c);
            }
            for (int i = 0; i < before->span.count; i++) {
                float was = before->data[ATTR_VX + 1][i], now = first->data[ATTR_VX + 1][i];
                bool hits = before->data[1][i] + m.time * was < floor_at * DX;
                touched += hits;
                held &= first->data[1][i] >= (floor_at - 1e-3f) * DX;
                held &= hits && still ? fabsf(now) < 1e-6f : now == was;
                held &= first->data[ATTR_VX][i] == before->data[ATTR_VX][i];
            }
            free(before), free(first);
            CHECK(same && held && touched > COUNT / 20);
        }
}

/// A flow goes through a wall little more than a cell thick, at any angle: the particles that it
/// carries come to the wall, none comes out behind it.
TEST(advection_ends_at_thin_walls) {
    static float velocity[3][BLOCK_MAX], fine[8 * BLOCK_MAX];
    enum { HALO = BLOCK_HALO_MAX, EDGE = 2 * (TILE + 2 * HALO) };
    const TransferKernels *kernel = transfer_kernels_for(isa_choose(BRIM_ISA_AUTO));
    int behind = 0, stopped = 0;
    for (int turn = 0; turn < 200; turn++) {
        const float angle = 6.2831853f * unit(turn, 70),
                    skew = angle + 1.2f * unit(turn, 71) - 0.6f;
        const float normal[2] = {cosf(angle), sinf(angle)}, flow[2] = {cosf(skew), sinf(skew)};
        const float thick = 1 + 0.3f * unit(turn, 72), at = 1.2f + unit(turn, 73);
        // distance along the normal from the tile's middle, to the middle of the wall
        for (int i = 0; i < EDGE * EDGE; i++) {
            float x = 0.5f * (float)(i % EDGE) - HALO - 0.5f * TILE;
            float y = 0.5f * (float)(i / EDGE) - HALO - 0.5f * TILE;
            float d = fabsf(normal[0] * x + normal[1] * y - at) - 0.5f * thick;
            fine[i] = fminf(d, 3) * DX;
        }
        for (int a = 0; a < 2; a++)
            for (int i = 0; i < BLOCK_MAX; i++) velocity[a][i] = 8 * flow[a];
        MoveParams m = {.halo = HALO,
                        .substeps = 11, // 0.73 cells, as long as they get beside walls
                        .reach = 8,
                        .time = DX,
                        .still = true,
                        .solid = fine,
                        .fine = true,
                        .velocity = {velocity[0], velocity[1], velocity[2]},
                        .high = {100 * DX, 100 * DX, 100 * DX}};
        Cloud *c = cloud_new(2, HALO);
        uint32_t far[COUNT];
        float start[COUNT];
        for (int after = 0; after < 2; after++) {
            if (after) kernel->move(&c->span, &m, far);
            for (int i = 0; i < c->span.count; i++) {
                float x = c->data[0][i] / DX - 8 - 0.5f * TILE;
                float y = c->data[1][i] / DX - 16 - 0.5f * TILE;
                float d = normal[0] * x + normal[1] * y - at;
                if (!after) start[i] = d;
                if (!after || start[i] > -0.5f * thick) continue;
                behind += d > 0;
                stopped += d <= 0 && start[i] > -4;
            }
        }
        free(c);
    }
    CHECK(behind == 0);
    CHECK(stopped > 1000);
}

// ---------------------------------------------------------------------- whole stages, in a sim

/// A full box without gravity.
static BrimSim *full_box(int dim, BrimTransfer transfer, float jitter) {
    BrimSimDef def = brim_default_sim_def();
    BrimLiquidDef all = {.shape = brim_default_shape_def()};
    all.shape.kind = BRIM_SHAPE_BOX;
    all.shape.size = (BrimVec3){4, 4, 4};
    def.dim = dim;
    def.size = (BrimVec3){1, 1.25f, 0.75f};
    def.cells[0] = 16, def.cells[1] = 20, def.cells[2] = dim == 3 ? 12 : 1;
    def.particles_per_cell = dim == 3 ? 8 : 9;
    def.jitter = jitter;
    def.transfer = transfer;
    def.threads = 1;
    def.liquid = &all, def.liquid_count = 1;
    BrimSim *sim = NULL;
    return brim_sim_create(&def, &sim, NULL) == BRIM_OK ? sim : NULL;
}

/// An affine field: v_a = base_a + slope_ab x_b.
static const double base[3] = {0.3, -0.7, 0.2};
static const double affine_slope[3][3] = {{0.5, -2, 0.3}, {1.7, 0.4, -0.6}, {-0.2, 0.9, -0.9}};

static double field_at(int a, const double x[3], bool constant) {
    double v = base[a];
    for (int b = 0; b < 3 && !constant; b++) v += affine_slope[a][b] * x[b];
    return v;
}

static void write_field(BrimSim *s, bool constant) {
    Particles *p = &s->particles;
    for (size_t i = 0; i < p->count; i++) {
        const double x[3] = {p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]};
        for (int a = 0; a < s->dim; a++) {
            p->attr[ATTR_VX + a][i] = (float)field_at(a, x, constant);
            for (int b = 0; b < s->dim && particles_carry(p, ROW_AFFINE); b++)
                p->attr[ATTR_AFFINE + 3 * a + b][i] =
                    constant ? 0 : (float)(affine_slope[a][b] * s->dx);
        }
    }
}

/// Largest error of the faces at least `margin` cells inside.
static double face_error(const BrimSim *s, bool constant, int margin) {
    double worst = 0;
    const int *n = s->grid.cells;
    int deep = s->dim == 3 ? margin : 0;
    for (int z = deep; z < n[2] - deep; z++)
        for (int y = margin; y < n[1] - margin; y++)
            for (int x = margin; x < n[0] - margin; x++)
                for (int a = 0; a < s->dim; a++) {
                    const int at[3] = {x, y, z};
                    double point[3];
                    for (int b = 0; b < 3; b++)
                        point[b] = b < s->dim ? (at[b] + (a == b ? 0 : 0.5)) * s->dx : 0;
                    double v = s->velocity[a][grid_cell(&s->grid, x, y, z)];
                    worst = fmax(worst, fabs(v - field_at(a, point, constant)));
                }
    return worst;
}

/// Makes the grid's field that of the formula on all faces, walls too; old = 0.
static void write_faces(BrimSim *s, bool constant) {
    for (int t = 0; t < s->grid.tile_count; t++)
        for (int i = 0; i < s->grid.tile_cells; i++) {
            TileCoord c = s->grid.coord[t];
            const int at[3] = {c.x * 8 + (i & 7), c.y * 8 + (i >> 3 & 7), c.z * 8 + (i >> 6)};
            for (int a = 0; a < s->dim; a++) {
                double point[3];
                for (int b = 0; b < 3; b++)
                    point[b] = b < s->dim ? (at[b] + (a == b ? 0 : 0.5)) * s->dx : 0;
                float v = (float)field_at(a, point, constant);
                s->velocity[a][t * s->grid.tile_cells + i] = v;
                if (s->old[a]) s->old[a][t * s->grid.tile_cells + i] = v;
            }
        }
}

/// Largest error of the particles at least `margin` cells inside, in velocity.
static double particle_error(const BrimSim *s, bool constant, float margin) {
    const Particles *p = &s->particles;
    double worst = 0;
    for (size_t i = 0; i < p->count; i++) {
        double x[3];
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            x[a] = p->attr[ATTR_X + a][i];
            if (a < s->dim)
                inside &=
                    x[a] > margin * s->dx && x[a] < ((float)s->grid.cells[a] - margin) * s->dx;
        }
        for (int a = 0; a < s->dim && inside; a++)
            worst = fmax(worst, fabs(p->attr[ATTR_VX + a][i] - field_at(a, x, constant)));
    }
    return worst;
}

TEST(constant_velocity_survives_the_round_trip) {
    for (int dim = 2; dim <= 3; dim++)
        for (int transfer = 0; transfer < 2; transfer++) {
            BrimSim *s = full_box(dim, (BrimTransfer)transfer, 0.5f);
            CHECK(s);
            write_field(s, true);
            CHECK(stage_to_grid(s, NULL) == BRIM_OK);
            CHECK_BELOW(face_error(s, true, 1), 1e-6);
            CHECK_BELOW(face_error(s, true, 0), 1e-6); // faces on walls too
            write_faces(s, true);
            s->def.flip_ratio = 0;
            stage_to_particles(s, NULL);
            CHECK_BELOW(particle_error(s, true, 1), 1e-6);
            brim_sim_destroy(&s);
        }
}

TEST(apic_is_exact_for_affine_fields) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimSim *s = full_box(dim, BRIM_TRANSFER_APIC, 1.0f);
        CHECK(s);
        write_field(s, false);
        CHECK(stage_to_grid(s, NULL) == BRIM_OK);
        CHECK_BELOW(face_error(s, false, 1), 5e-6); // particles -> grid
        write_field(s, true);
        write_faces(s, false);
        stage_to_particles(s, NULL);
        CHECK_BELOW(particle_error(s, false, 1), 5e-6); // grid -> particles
        double worst = 0;
        const Particles *p = &s->particles;
        for (size_t i = 0; i < p->count; i++) {
            bool inside = true;
            for (int a = 0; a < dim; a++)
                inside &= p->attr[ATTR_X + a][i] > s->dx &&
                          p->attr[ATTR_X + a][i] < (float)(s->grid.cells[a] - 1) * s->dx;
            for (int k = 0; k < dim * dim && inside; k++)
                worst = fmax(worst, fabs(p->attr[ATTR_AFFINE + 3 * (k / dim) + k % dim][i] -
                                         affine_slope[k / dim][k % dim] * s->dx));
        }
        CHECK_BELOW(worst, 5e-6); // the gradient, per cell
        CHECK(stage_to_grid(s, NULL) == BRIM_OK);
        CHECK_BELOW(face_error(s, false, 3), 5e-6); // and back
        brim_sim_destroy(&s);
    }
}

/// Sum over all faces of weight * velocity and of the weight, component a, from the blocks.
static void block_sums(const BrimSim *s, int a, double *momentum, double *mass) {
    enum { E = SCATTER_EDGE };
    size_t part = s->dim == 3 ? SCATTER_3D / 3 : SCATTER_2D / 2;
    size_t side = s->dim == 3 ? SCATTER_SIDE_3D : SCATTER_SIDE_2D;
    *momentum = *mass = 0;
    for (int t = 0; t < s->grid.tile_count; t++) {
        if (s->scatter_at[t] < 0) continue;
        const float *block = s->work.at +
                             (size_t)s->scatter_at[t] * (size_t)s->dim * (part + 2 * side) +
                             (size_t)a * part;
        for (size_t i = 0; i < part; i += 2) {
            size_t row = i / (2 * E);
            if (!(s->scatter_rows[t].rows[row / E] >> (row % E) & 1)) continue;
            *momentum += block[i];
            *mass += block[i + 1];
        }
    }
}

TEST(particles_to_grid_conserves_momentum) {
    for (int dim = 2; dim <= 3; dim++)
        for (int transfer = 0; transfer < 2; transfer++) {
            BrimSim *s = full_box(dim, (BrimTransfer)transfer, 1.0f);
            CHECK(s);
            Particles *p = &s->particles;
            for (size_t i = 0; i < p->count; i++)
                for (int k = ATTR_VX;
                     k < (particles_carry(p, ROW_AFFINE) ? ATTR_END_AFFINE + 1 : ATTR_AFFINE); k++)
                    if (k >= ATTR_AFFINE || k < ATTR_VX + dim)
                        p->attr[k][i] = 2 * unit((int)i, k) - 1;
            CHECK(stage_to_grid(s, NULL) == BRIM_OK);
            for (int a = 0; a < dim; a++) {
                double momentum, mass, sum = 0, size = 0;
                block_sums(s, a, &momentum, &mass);
                for (size_t i = 0; i < p->count; i++)
                    sum += p->attr[ATTR_VX + a][i], size += fabs(p->attr[ATTR_VX + a][i]);
                CHECK_NEAR(mass / (double)p->count, 1, 1e-6);
                CHECK_NEAR(momentum / size, sum / size, 1e-6);
            }
            brim_sim_destroy(&s);
        }
}
