// Kernels of the warped grid against their plain twins, and one instruction set against another.
#include "base/hash.h"
#include "base/memory.h"
#include "grid/block.h"
#include "test.h"
#include "warp/level.h"
#include "warp/nodal_kernels.h"
#include "warp/particles.h"
#include <stdlib.h>
#include <string.h>

enum { COUNT = 700, ROOM = COUNT + PARTICLE_PADDING, HALO = 3 };

static float unit(int i, int k) {
    return hash_unit(hash_3(23, (uint64_t)i, (uint64_t)k), 0);
}

/// A mesh of 24 cells a side whose coarse nodes are displaced by up to 0.3 cells, and another.
typedef struct Meshes {
    int ratio;
    WarpMap map[2];
} Meshes;

static void meshes_init(Meshes *m, int dim, int ratio) {
    for (int k = 0; k < 2; k++) {
        WarpMap *w = &m->map[k];
        *w = (WarpMap){.dim = dim};
        for (int a = 0; a < 3; a++) {
            w->cells[a] = a < dim ? 24 : 1, w->ratio[a] = a < dim ? ratio : 1;
            w->coarse[a] = w->cells[a] / w->ratio[a];
        }
        const size_t n = map_node_count(w);
        w->d[0] = memory_zero(3 * n * sizeof(float));
        for (int a = 1; a < 3; a++) w->d[a] = w->d[0] + (size_t)a * n;
        for (size_t i = 0; i < n; i++) {
            const int at[3] = {(int)(i % (size_t)map_nodes(w, 0)),
                               (int)(i / (size_t)map_nodes(w, 0) % (size_t)map_nodes(w, 1)),
                               (int)(i / ((size_t)map_nodes(w, 0) * (size_t)map_nodes(w, 1)))};
            for (int a = 0; a < dim; a++)
                if (at[a] > 0 && at[a] < w->coarse[a])
                    w->d[a][i] = 0.15f * (float)ratio * (2 * unit((int)i, 10 * k + a) - 1);
        }
    }
}

static void meshes_free(Meshes *m) {
    free(m->map[0].d[0]), free(m->map[1].d[0]);
}

/// Particles of the tile at (1, 2, 1), the last one before a wall along y.
typedef struct Cloud {
    float data[ATTR_MAX][ROOM];
    Span span;
} Cloud;

static Cloud *cloud_new(int dim, int halo) {
    const int tile[3] = {8, 16, 8};
    const float dx = 0.037f;
    Cloud *c = memory_zero(sizeof *c);
    c->span = (Span){.count = COUNT - dim, .dx = dx, .inv_dx = 1 / dx, .dim = dim};
    for (int a = 0; a < 3; a++) c->span.corner[a] = a < dim ? (float)(tile[a] - halo) : 0;
    for (int a = 0; a < ATTR_MAX; a++) {
        c->span.attr[a] = c->data[a];
        for (int i = 0; i < COUNT; i++) c->data[a][i] = 2 * unit(i, a) - 1;
    }
    for (int i = 0; i < COUNT; i++) {
        for (int a = 0; a < 3; a++)
            c->data[ATTR_X + a][i] = a < dim ? ((float)tile[a] + 7.999f * unit(i, a)) * dx : 0;
        c->data[ATTR_VOLUME][i] = 0.05f + 0.1f * unit(i, 40);
    }
    return c;
}

static Cloud *cloud_copy(const Cloud *from) {
    Cloud *c = memory_zero(sizeof *c);
    *c = *from;
    for (int a = 0; a < ATTR_MAX; a++) c->span.attr[a] = c->data[a];
    return c;
}

static const WarpKernels *kernels_of(int isa) {
    return warp_kernels_for(isa_choose((BrimIsa)isa));
}

/// Largest difference of two arrays; both not a number counts as none.
static double apart(const float *a, const float *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (a[i] == a[i] || b[i] == b[i]) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static double clouds_apart(const Cloud *a, const Cloud *b) {
    double most = 0;
    for (int k = 0; k < ATTR_MAX; k++) most = fmax(most, apart(a->data[k], b->data[k], COUNT));
    return most;
}

/// Blocks of velocities, some cells unknown.
static void fill_blocks(float *const block[3], int edge, int dim, bool holes) {
    const int n = edge * edge * (dim == 3 ? edge : 1);
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++)
            block[a][i] = holes && unit(i, 50) < 0.2f ? NAN : 2 * unit(i, 51 + a) - 1;
}

static float *blocks_new(float *block[3]) {
    float *memory = memory_zero(3 * BLOCK_MAX * sizeof(float));
    for (size_t a = 0; a < 3; a++) block[a] = memory + a * BLOCK_MAX;
    return memory;
}

#define EACH_CASE(dim, ratio)          \
    for (int dim = 2; dim <= 3; dim++) \
        for (int ratio = 1; ratio <= 4; ratio *= 2)

TEST(warp_kernels_scatter_as_their_twin) {
    EACH_CASE(dim, ratio) {
        Meshes m;
        meshes_init(&m, dim, ratio);
        WarpLattice l = warp_lattice(&m.map[0]);
        Cloud *c = cloud_new(dim, 1);
        float *centre[3], *memory = blocks_new(centre);
        const size_t n = (size_t)WARP_NUMBERS * WARP_CELLS_3D;
        float *block = memory_zero(3 * n * sizeof(float)), *fast = block + n, *first = fast + n;
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < WARP_CELLS_3D; i++) centre[a][i] = 10 * unit(i, 60 + a);
        double off = 0, isas = 0;
        for (int affine = 0; affine < 2; affine++) {
            const float *const *at = affine ? (const float *const *)centre : NULL;
            memset(block, 0, n * sizeof(float));
            warp_kernels_ref.to_block(&c->span, &l, at, block);
            for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
                memset(fast, 0, n * sizeof(float));
                kernels_of(isa)->to_block(&c->span, &l, at, fast);
                off = fmax(off, apart(block, fast, n));
                if (isa == BRIM_ISA_BASE) memcpy(first, fast, n * sizeof(float));
                isas = fmax(isas, apart(first, fast, n));
            }
        }
        memset(block, 0, n * sizeof(float));
        warp_kernels_ref.volumes(&c->span, block);
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            memset(fast, 0, n * sizeof(float));
            kernels_of(isa)->volumes(&c->span, fast);
            off = fmax(off, apart(block, fast, n));
            if (isa == BRIM_ISA_BASE) memcpy(first, fast, n * sizeof(float));
            isas = fmax(isas, apart(first, fast, n));
        }
        free(memory), free(block), free(c);
        meshes_free(&m);
        CHECK_BELOW(off, 3e-5);
        CHECK(isas == 0);
    }
}

TEST(warp_kernels_gather_as_their_twin) {
    EACH_CASE(dim, ratio) {
        Meshes m;
        meshes_init(&m, dim, ratio);
        WarpLattice l = warp_lattice(&m.map[0]);
        Cloud *c = cloud_new(dim, 1);
        float *block[3], *memory = blocks_new(block);
        double off = 0, isas = 0;
        for (int kind = 0; kind < 4; kind++) {
            const WarpLattice *affine = kind & 1 ? &l : NULL;
            const float ratio_ = kind & 1 ? 0 : 0.97f;
            Cloud *plain = cloud_copy(c), *first = NULL;
            fill_blocks(block, WARP_EDGE, dim, kind & 2);
            warp_kernels_ref.from_block(&plain->span, ratio_, (const float *const *)block, affine);
            for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
                Cloud *fast = cloud_copy(c);
                kernels_of(isa)->from_block(&fast->span, ratio_, (const float *const *)block,
                                            affine);
                off = fmax(off, clouds_apart(plain, fast));
                if (!first) first = cloud_copy(fast);
                isas = fmax(isas, clouds_apart(first, fast));
                free(fast);
            }
            free(plain), free(first);
        }
        free(memory), free(c);
        meshes_free(&m);
        CHECK_BELOW(off, 1e-4);
        CHECK(isas == 0);
    }
}

TEST(warp_kernels_move_as_their_twin) {
    EACH_CASE(dim, ratio) {
        Meshes m;
        meshes_init(&m, dim, ratio);
        WarpMove move = {.old = warp_lattice(&m.map[0]),
                         .new = warp_lattice(&m.map[1]),
                         .halo = HALO,
                         .time = 0.02f, // half a cell
                         .side = 1e-3f};
        Cloud *c = cloud_new(dim, HALO);
        float *block[3], *memory = blocks_new(block);
        uint32_t far[2][ROOM];
        double off = 0, far_off = 0, isas = 0;
        int left = 0;
        for (int kind = 0; kind < 4; kind++) {
            Cloud *plain = cloud_copy(c), *first = NULL;
            fill_blocks(block, TILE + 2 * HALO, dim, kind & 2);
            for (int a = 0; a < 3; a++) move.velocity[a] = block[a];
            move.scheme = kind & 1 ? BRIM_ADVECTION_RK3 : BRIM_ADVECTION_RK2;
            if (kind == 3) move.time = 0.15f; // some leave the block
            int count = warp_kernels_ref.move(&plain->span, &move, far[0]);
            left += count;
            for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
                Cloud *fast = cloud_copy(c);
                CHECK(kernels_of(isa)->move(&fast->span, &move, far[1]) == count);
                CHECK(memcmp(far[0], far[1], (size_t)count * sizeof **far) == 0);
                double here = clouds_apart(plain, fast) * (double)c->span.inv_dx;
                if (kind == 3)
                    far_off = fmax(far_off, here);
                else
                    off = fmax(off, here);
                if (!first) first = cloud_copy(fast);
                isas = fmax(isas, clouds_apart(first, fast));
                free(fast);
            }
            free(plain), free(first);
        }
        free(memory), free(c);
        meshes_free(&m);
        CHECK(left > 0);
        CHECK_BELOW(off, 5e-5);     // cells
        CHECK_BELOW(far_off, 5e-4); // a flow of noise tears rounding apart
        CHECK(isas == 0);
    }
}

TEST(warp_kernels_measure_as_their_twin) {
    EACH_CASE(dim, ratio) {
        Meshes m;
        meshes_init(&m, dim, ratio);
        WarpLattice l = warp_lattice(&m.map[0]);
        Cloud *c = cloud_new(dim, 1);
        float *space[2][3], *memory[2] = {blocks_new(space[0]), blocks_new(space[1])};
        const float at[3] = {7.25f, 15.25f, dim == 3 ? 7.25f : 0};
        static float det[2][20 * 20 * 20];
        WarpSums sums[2], first = {0};
        double off = 0, energy = 0;
        float first_rate = 0;
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            const WarpKernels *kernel[2] = {&warp_kernels_ref, kernels_of(isa)};
            const size_t n = (size_t)c->span.count;
            for (int k = 0; k < 2; k++) kernel[k]->measure(&c->span, &l, space[k], &sums[k]);
            for (int a = 0; a < dim; a++) off = fmax(off, apart(space[0][a], space[1][a], n));
            if (isa == BRIM_ISA_BASE) first = sums[1];
            CHECK(memcmp(&first, &sums[1], sizeof first) == 0);
            energy = fmax(energy, fabs(sums[0].square / sums[1].square - 1));
            energy = fmax(energy, fabs(sums[0].volume / sums[1].volume - 1));
            float rate[2];
            for (int k = 0; k < 2; k++) rate[k] = kernel[k]->rate(&c->span, &l);
            if (isa == BRIM_ISA_BASE) first_rate = rate[1];
            CHECK(first_rate == rate[1]);
            energy = fmax(energy, fabs((double)rate[0] / (double)rate[1] - 1));
            for (int k = 0; k < 2; k++) kernel[k]->weigh(&c->span, &l, space[k][0]);
            off = fmax(off, apart(space[0][0], space[1][0], n));
            for (int k = 0; k < 2; k++) {
                float *const d[3] = {space[k][0], space[k][1], space[k][2]};
                kernel[k]->points(&l, at, 0.5f, 20, d, det[k]);
                kernel[k]->points(&l, at, 0.5f, 20, d, NULL);
            }
            const size_t points = dim == 3 ? 8000 : 400;
            off = fmax(off, apart(det[0], det[1], points));
            for (int a = 0; a < dim; a++) off = fmax(off, apart(space[0][a], space[1][a], points));
        }
        free(memory[0]), free(memory[1]), free(c);
        meshes_free(&m);
        CHECK_BELOW(off, 1e-5);
        CHECK_BELOW(energy, 1e-5);
    }
}

/// Particles of the first tile or of the last one along all axes, in pairs: beyond one of the
/// domain's sides by a hair, and by more.
static Cloud *cloud_beyond(int dim, const WarpMap *map, bool upper) {
    Cloud *c = cloud_new(dim, WARP_FAR);
    c->span.count = 2 * 300;
    for (int i = 0; i < c->span.count; i++) {
        const int across = i / 2 % dim;
        const float way = i & 1 ? 3.7f * unit(i, 50) : 1e-4f;
        for (int a = 0; a < dim; a++) {
            const float tile = upper ? (float)(map->cells[a] - TILE) : 0;
            c->span.corner[a] = tile - WARP_FAR;
            float x = tile + 7.999f * unit(i / 2, a);
            if (a == across) x = upper ? (float)map->cells[a] + way : -way;
            c->data[ATTR_X + a][i] = x * c->span.dx;
        }
        c->data[ATTR_VOLUME][i] = 0.1f;
    }
    return c;
}

/// What has left through an open side is asked for what it stands for before it goes.
TEST(warp_particles_beyond_a_side_weigh_as_on_it) {
    EACH_CASE(dim, ratio) {
        Meshes m;
        meshes_init(&m, dim, ratio);
        WarpLattice l = warp_lattice(&m.map[0]);
        float share[ROOM];
        for (int upper = 0; upper < 2; upper++) {
            Cloud *c = cloud_beyond(dim, &m.map[0], upper);
            for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
                kernels_of(isa)->weigh(&c->span, &l, share);
                for (int i = 0; i < c->span.count; i += 2) CHECK(share[i] == share[i + 1]);
            }
            free(c);
        }
        meshes_free(&m);
    }
}

TEST(warp_level_sums_as_their_twin) {
    Cloud *c = cloud_new(3, 1);
    const float *const x[3] = {c->data[ATTR_X], c->data[ATTR_Y], c->data[ATTR_Z]};
    const float inv = c->span.inv_dx, *weight = c->data[ATTR_VOLUME];
    const float shear[3][3] = {{0, 0.3f * inv, 0}, {-0.2f * inv, 0, 0.1f * inv}};
    const WarpRun run[3] = {{3, 40, {inv, inv, inv}, {-12, -20, -12}, NULL},
                            {40, 90, {inv, -inv, inv}, {-18, 29, -12}, shear},
                            {100, 655, {inv, inv, inv}, {-12, -20, -12}, NULL}};
    double plain[4] = {0}, off = 0;
    float out[4], first[4];
    for (int r = 0; r < 3; r++)
        for (uint32_t i = run[r].first; i < run[r].end; i++) {
            double o[3], square = 0;
            for (int a = 0; a < 3; a++) {
                o[a] = (double)x[a][i] * (double)run[r].scale[a] + (double)run[r].shift[a];
                for (int b = 0; b < 3 && run[r].shear; b++)
                    o[a] += (double)x[b][i] * (double)run[r].shear[a][b];
                square += o[a] * o[a];
            }
            double k = fmax(0, 1 - square / 2.25), w = k * k * k * (double)weight[i];
            plain[0] += w;
            for (int a = 0; a < 3; a++) plain[1 + a] += w * o[a];
        }
    for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
        warp_level_kernels_for(isa_choose((BrimIsa)isa))
            ->sums(x, weight, run, 3, 1 / 2.25f, 3, out);
        for (int k = 0; k < 4; k++) off = fmax(off, fabs(plain[k] - (double)out[k]));
        if (isa == BRIM_ISA_BASE) memcpy(first, out, sizeof out);
        CHECK(memcmp(first, out, sizeof out) == 0);
    }
    free(c);
    CHECK(plain[0] > 0.1);
    CHECK_BELOW(off, 1e-5);
}

// --------------------------------------------------------------------------------------- operator

/// A wavy pool on 24 cells a side.
typedef struct Pool {
    Meshes meshes;
    Grid grid;
    float *phi, *u[3], *q, *b[2], *v[2][3];
    size_t nodes;
} Pool;

static void pool_init(Pool *p, int ratio) {
    const int cells[3] = {24, 24, 24};
    BrimError error;
    uint8_t want[64];
    int32_t from[64];
    memset(want, 1, sizeof want);
    *p = (Pool){0};
    meshes_init(&p->meshes, 3, ratio);
    grid_init(&p->grid, 3, cells, &error);
    grid_rebuild(&p->grid, want, from, NULL);
    p->nodes = (size_t)p->grid.tile_count * 512;
    float *memory = memory_zero(13 * p->nodes * sizeof(float));
    float **const arrays[13] = {&p->phi,     &p->u[0],    &p->u[1],    &p->u[2],    &p->q,
                                &p->b[0],    &p->b[1],    &p->v[0][0], &p->v[0][1], &p->v[0][2],
                                &p->v[1][0], &p->v[1][1], &p->v[1][2]};
    for (size_t k = 0; k < 13; k++) *arrays[k] = memory + k * p->nodes;
    for (size_t i = 0; i < p->nodes; i++) {
        const TileCoord t = p->grid.coord[i / 512];
        const int c = (int)(i % 512);
        const double x = t.x * TILE + (c & 7), y = t.y * TILE + (c >> 3 & 7),
                     z = t.z * TILE + (c >> 6);
        double d = y - 11.3 - 2 * sin(0.4 * x) * cos(0.3 * z);
        if (x > 24 || y > 24 || z > 24) d = 2;
        p->phi[i] = (float)fmin(fmax(d, -2), 2);
        p->q[i] = d < 0 ? unit((int)i, 3) : 0;
        for (int a = 0; a < 3; a++) // unknown far from the water
            p->u[a][i] = d > 3 ? NAN : 2 * unit((int)i, a) - 1;
    }
}

static void pool_free(Pool *p) {
    free(p->phi);
    grid_free(&p->grid);
    meshes_free(&p->meshes);
}

/// Largest difference of two arrays over the largest value.
static double apart_of(const float *a, const float *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i]));
    return apart(a, b, n) / most;
}

/// Hash of an operator's coefficients, and of the right-hand side and velocities by it.
static uint64_t operator_bits(const NodalOperator *op, const Pool *p) {
    uint64_t h = 0;
    for (int t = 0; t < p->grid.tile_count; t++) {
        if (!op->used[t]) continue;
        const size_t at = (size_t)t * 512, bytes = 512 * sizeof(float);
        h = hash_bytes(h, op->link + at * NODAL_LINKS, bytes * NODAL_LINKS);
        h = hash_bytes(h, op->anchor + at, bytes);
        h = hash_bytes(h, op->smooth + at, bytes);
        h = hash_bytes(h, op->weight + at, bytes);
    }
    h = hash_bytes(h, p->b[1], p->nodes * sizeof(float));
    for (int a = 0; a < 3; a++) h = hash_bytes(h, p->v[1][a], p->nodes * sizeof(float));
    return h;
}

TEST(nodal_kernels_as_their_twin) {
    for (int ratio = 1; ratio <= 4; ratio *= 2) {
        uint64_t bits[BRIM_ISA_AVX512 + 1];
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            Pool p;
            NodalOperator op[2] = {0};
            pool_init(&p, ratio);
            NodalProblem problem = {.grid = &p.grid,
                                    .map = &p.meshes.map[0],
                                    .surface = {.order = 2, .limit = GHOST_LIMIT},
                                    .phi = p.phi,
                                    .kernels = nodal_kernels_for(isa_choose((BrimIsa)isa)),
                                    .map_kernels = kernels_of(isa)};
            for (int k = 0; k < 2; k++) {
                nodal_reserve(&op[k], &p.grid);
                if (k) nodal_begin(&problem, &op[k]);
                for (int t = 0; t < p.grid.tile_count; t++) nodal_assemble(&problem, &op[k], t);
                for (int t = 0; t < p.grid.tile_count; t++) nodal_join(&problem, &op[k], t);
                for (int t = 0; t < p.grid.tile_count; t++) nodal_sum_rows(&op[k], t);
                for (int t = 0; t < p.grid.tile_count; t++) nodal_give_flow(&op[k], p.u, p.b[k], t);
                for (int t = 0; t < p.grid.tile_count; t++) {
                    nodal_rhs(&problem, &op[k], p.u, p.b[k], t);
                    for (int a = 0; a < 3; a++)
                        memcpy(p.v[k][a] + t * 512, p.u[a] + t * 512, 512 * sizeof(float));
                    nodal_update(&problem, &op[k], p.q, p.v[k], NULL, t);
                }
            }
            CHECK(op[1].kernels != NULL && op[0].kernels == NULL);
            bits[isa] = operator_bits(&op[1], &p);
            double links = 0, smooth = 0, weight = 0;
            for (int t = 0; t < p.grid.tile_count; t++) {
                CHECK(op[0].used[t] == op[1].used[t]);
                if (!op[0].used[t]) continue;
                const size_t at = (size_t)t * 512, n = 512 * NODAL_LINKS;
                links = fmax(links, apart_of(op[0].link + at * NODAL_LINKS,
                                             op[1].link + at * NODAL_LINKS, n));
                smooth = fmax(smooth, apart_of(op[0].smooth + at, op[1].smooth + at, 512));
                weight = fmax(weight, apart_of(op[0].weight + at, op[1].weight + at, 512));
            }
            double flow = apart_of(p.b[0], p.b[1], p.nodes), moved = 0;
            for (int a = 0; a < 3; a++) moved = fmax(moved, apart(p.v[0][a], p.v[1][a], p.nodes));
            // products, from the same operator
            float *y[2] = {p.b[0], p.b[1]};
            for (int k = 0; k < 2; k++) {
                op[1].kernels = k ? problem.kernels : NULL;
                for (int t = 0; t < p.grid.tile_count; t++) nodal_apply(&op[1], p.q, y[k], t);
            }
            double product = apart_of(y[0], y[1], p.nodes);
            nodal_free(&op[0]), nodal_free(&op[1]);
            pool_free(&p);
            CHECK_BELOW(links, 2e-4); // by the largest: at the surface M is up to 5000
            CHECK_BELOW(smooth, 2e-3);
            CHECK_BELOW(weight, 1e-4);
            CHECK_BELOW(flow, 1e-5);
            CHECK_BELOW(moved, 1e-3);
            CHECK_BELOW(product, 1e-5);
        }
        CHECK(bits[BRIM_ISA_AVX2] == bits[BRIM_ISA_BASE]);
        CHECK(bits[BRIM_ISA_AVX512] == bits[BRIM_ISA_BASE]);
    }
}
