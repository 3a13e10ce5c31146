// Spray, foam and bubbles: the sums and potentials against hand-made cases, each kind's motion
// against exact answers, walls, files, and the same bytes whatever the threads and the order.
#include "base/hash.h"
#include "cases.h"
#include "cloud.h"
#include "liquid/foam.h"
#include "scratch.h"
#include "test.h"

static float unit(uint64_t i, uint64_t k) {
    return hash_unit(hash_3(19, i, k), 0);
}

/// A box of 1 m with 16 cells along it; spacing 1 / 32 m.
static BrimSimDef box_def(int dim) {
    BrimSimDef def = brim_default_sim_def();
    def.dim = dim;
    def.size = (BrimVec3){1, 1, dim == 3 ? 1 : 1 / 16.0f};
    def.cells[0] = def.cells[1] = 16, def.cells[2] = dim == 3 ? 16 : 1;
    def.particles_per_cell = dim == 3 ? 8 : 4;
    return def;
}

/// Water up to a height, as a scene is seeded: a lattice with half a spacing of jitter.
static void fill_pool(Cloud *c, int dim, double height) {
    const double step = 1 / 32.0;
    for (int k = 0; k < (dim == 3 ? 32 : 1); k++)
        for (int j = 0; (j + 0.5) * step < height; j++)
            for (int i = 0; i < 32; i++) {
                uint64_t name = (uint64_t)((k * 64 + j) * 64 + i);
                double shift[3];
                for (uint64_t a = 0; a < 3; a++)
                    shift[a] = 0.5 * step * ((double)unit(name, a) - 0.5);
                cloud_add(c, (i + 0.5) * step + shift[0], (j + 0.5) * step + shift[1],
                          dim == 3 ? (k + 0.5) * step + shift[2] : 0);
            }
}

static BrimFoam *foam_new(const BrimSimDef *def, const BrimFoamDef *foam_def) {
    BrimFoam *foam = NULL;
    BrimFoamDef plain = brim_default_foam_def();
    plain.threads = 1;
    BrimError error;
    if (brim_foam_create(def, foam_def ? foam_def : &plain, &foam, &error) != BRIM_OK)
        fprintf(stderr, "%s\n", error.message);
    return foam;
}

/// Puts a particle into foam that has begun.
static void put(BrimFoam *f, double x, double y, double z, double vx, double vy, float life) {
    BrimFoamParticle *p = realloc(f->particle, (f->count + 1) * sizeof *p);
    f->particle = p;
    p[f->count] = (BrimFoamParticle){.position = {(float)x, (float)y, (float)z},
                                     .velocity = {(float)vx, (float)vy, 0},
                                     .life = life,
                                     .size = 0.005f,
                                     .id = f->next_id++};
    f->count++;
}

/// Many frames of a liquid that stays as it is.
static BrimResult stay(BrimFoam *f, const Cloud *c, int frames, double rate, BrimError *error) {
    BrimParticles p = cloud_view(c);
    BrimResult result = BRIM_OK;
    int first = brim_foam_frame(f).frame + 1;
    for (int i = first; i < first + frames && result == BRIM_OK; i++)
        result = brim_foam_advance(f, &p, i, i / rate, error);
    return result;
}

// --------------------------------------------------------------------------------------- kernels

/// A block whose middle cell's surroundings hold n particles, in runs by row, and the bins' radius.
static FoamBlock block_of(int n, float radius, uint64_t seed) {
    FoamBlock b = {.count = (uint32_t)n};
    for (int a = 0; a < 3; a++) {
        b.x[a] = calloc((size_t)n + FOAM_LANES, sizeof(float));
        b.u[a] = calloc((size_t)n + FOAM_LANES, sizeof(float));
        b.n[a] = calloc((size_t)n + FOAM_LANES, sizeof(float));
    }
    // all of them in the cell that the tests ask about, 0 of the tile
    int own = (FOAM_EDGE + 1) * FOAM_EDGE + 1;
    for (int i = own + 1; i < FOAM_EDGE * FOAM_EDGE * FOAM_EDGE + 1; i++) b.start[i] = (uint32_t)n;
    for (int i = 0; i < n; i++) {
        float length = 0;
        for (int a = 0; a < 3; a++) {
            uint64_t k = (uint64_t)(8 * a);
            b.x[a][i] = radius * (2 * unit(seed + (uint64_t)i, k) - 1);
            b.u[a][i] = 3 * (2 * unit(seed + (uint64_t)i, k + 1) - 1);
            b.n[a][i] = 2 * unit(seed + (uint64_t)i, k + 2) - 1;
            length += b.n[a][i] * b.n[a][i];
        }
        for (int a = 0; a < 3; a++) b.n[a][i] *= i % 3 ? 1 / sqrtf(length) : 0;
    }
    return b;
}

static void block_drop(FoamBlock *b) {
    for (int a = 0; a < 3; a++) free(b->x[a]), free(b->u[a]), free(b->n[a]);
}

static float fold(const float v[8]) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/// The plain twin of the kernels: one particle after the other, in eight sums.
static void plain_sums(const FoamBlock *b, const float at[3], float inv, FoamSums *out) {
    float weight[8] = {0}, u[3][8] = {{0}}, away[3][8] = {{0}};
    for (uint32_t i = 0; i < b->count; i++) {
        float to[3], d = 0, w;
        for (int a = 0; a < 3; a++) to[a] = at[a] - b->x[a][i];
        d = sqrtf(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]);
        w = 1 - d * inv;
        if (!(w > 0)) continue;
        weight[i % 8] += w;
        for (int a = 0; a < 3; a++) {
            u[a][i % 8] += w * b->u[a][i];
            if (d > 0) away[a][i % 8] += w / d * to[a];
        }
    }
    out->weight = fold(weight);
    for (int a = 0; a < 3; a++) out->u[a] = fold(u[a]), out->out[a] = fold(away[a]);
}

static void plain_pair(const FoamBlock *b, const FoamSelf *s, float inv, FoamPair *out) {
    float trapped[8] = {0}, crest[8] = {0}, surface[8] = {0};
    for (uint32_t i = 0; i < b->count; i++) {
        float to[3], above = 0, square = 0, turn = 0, closing = 0, speed = 0;
        for (int a = 0; a < 3; a++) {
            float v = s->u[a] - b->u[a][i], n = b->n[a][i];
            to[a] = s->x[a] - b->x[a][i];
            closing += v * to[a], speed += v * v, above += to[a] * s->n[a];
            square += n * n, turn += n * s->n[a];
        }
        float d = sqrtf(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]), w = 1 - d * inv;
        if (!(w > 0)) continue;
        surface[i % 8] += w * square;
        if (!(d > 0)) continue;
        trapped[i % 8] += w * (sqrtf(speed) - closing / d);
        if (above > 0) crest[i % 8] += w * (square - turn);
    }
    out->trapped = fold(trapped), out->crest = fold(crest), out->surface = fold(surface);
}

TEST(foam_kernels_are_their_plain_twins) {
    const BrimIsa isas[] = {BRIM_ISA_BASE, BRIM_ISA_AVX2, BRIM_ISA_AVX512};
    for (int n = 0; n < 70; n++) {
        FoamBlock b = block_of(n, 0.1f, 1000 * (uint64_t)n);
        FoamSelf self = {{0.01f, -0.02f, 0.005f}, {1, 2, -0.5f}, {0.6f, 0, 0.8f}};
        if (n > 2)
            for (int a = 0; a < 3; a++) self.x[a] = b.x[a][2]; // itself among its neighbours
        FoamSums sums, wanted_sums;
        FoamPair pair, wanted_pair;
        plain_sums(&b, self.x, 12, &wanted_sums);
        plain_pair(&b, &self, 12, &wanted_pair);
        for (int k = 0; k < 3; k++) {
            const FoamKernels *kernels = foam_kernels_for(isa_choose(isas[k]));
            kernels->sums(&b, 0, self.x, 12, &sums);
            kernels->pair(&b, 0, &self, 12, &pair);
            CHECK(memcmp(&sums, &wanted_sums, sizeof sums) == 0);
            CHECK(memcmp(&pair, &wanted_pair, sizeof pair) == 0);
        }
        block_drop(&b);
    }
}

/// One neighbour at x = -0.5 h of a particle at the origin.
static FoamPair one_neighbour(const float v[3], const float u[3], const float n[3],
                              const float m[3]) {
    FoamBlock b = block_of(1, 0, 1);
    FoamSelf self = {{0, 0, 0}, {v[0], v[1], v[2]}, {n[0], n[1], n[2]}};
    b.x[0][0] = -0.5f, b.x[1][0] = b.x[2][0] = 0;
    for (int a = 0; a < 3; a++) b.u[a][0] = u[a], b.n[a][0] = m[a];
    FoamPair pair;
    foam_kernels_for(BRIM_ISA_BASE)->pair(&b, 0, &self, 1, &pair);
    block_drop(&b);
    return pair;
}

TEST(foam_potentials_of_two_particles) {
    const float zero[3] = {0, 0, 0}, x[3] = {1, 0, 0}, left[3] = {-2, 0, 0}, y[3] = {0, 1, 0};
    const float right[3] = {2, 0, 0}, up[3] = {0, 3, 0};
    // W = 0.5. Head on at 4 m/s: 4 (1 + 1) W; apart: 0; past each other at 3 m/s: 3 W
    CHECK_NEAR(one_neighbour(left, right, zero, zero).trapped, 4, 1e-6);
    CHECK_NEAR(one_neighbour(right, left, zero, zero).trapped, 0, 1e-6);
    CHECK_NEAR(one_neighbour(up, zero, zero, zero).trapped, 1.5, 1e-6);
    CHECK_NEAR(one_neighbour(up, up, zero, zero).trapped, 0, 1e-6);
    // normals a right angle apart, the neighbour below the tangent plane; and above it
    CHECK_NEAR(one_neighbour(zero, zero, x, y).crest, 0.5, 1e-6);
    CHECK_NEAR(one_neighbour(zero, zero, x, x).crest, 0, 1e-6);
    const float minus_x[3] = {-1, 0, 0};
    CHECK_NEAR(one_neighbour(zero, zero, minus_x, y).crest, 0, 1e-6);
    // a neighbour that is not at the surface says nothing of a crest
    CHECK_NEAR(one_neighbour(zero, zero, x, zero).crest, 0, 1e-6);
}

TEST(foam_rate_is_the_product_of_its_parts) {
    BrimFoamDef d = brim_default_foam_def();
    d.energy[0] = 0.5f, d.energy[1] = 8, d.trapped[0] = 2, d.trapped[1] = 8;
    d.crest[0] = 0.1f, d.crest[1] = 0.5f, d.trapped_rate = 200, d.crest_rate = 100;
    FoamSelf self = {.u = {0, 3, 0}, .n = {0, 1, 0}};
    FoamPair pair = {.trapped = 5, .crest = 0.3f, .surface = 2};
    double energy = (4.5 - 0.5) / 7.5;
    CHECK_NEAR(foam_rate(&d, &self, &pair), energy * (200 * 0.5 + 100 * 0.5), 1e-3);
    self.n[0] = 0.8f, self.n[1] = 0.59f; // not ahead: 0.59 < 0.6
    CHECK_NEAR(foam_rate(&d, &self, &pair), energy * 100, 1e-3);
    pair.surface = 0; // no air near
    CHECK_NEAR(foam_rate(&d, &self, &pair), 0, 1e-6);
    self.u[1] = 0.99f; // below the energy
    pair.surface = 2;
    CHECK_NEAR(foam_rate(&d, &self, &pair), 0, 1e-6);
    const float limits[2] = {2, 2};
    CHECK_NEAR(foam_clamp(2, limits), 0, 0);
    CHECK_NEAR(foam_clamp(2.01f, limits), 1, 0);
}

/// Mean of the crest's sum at the top of a ball, normals along its radii, over many samplings.
static double ball_crest(double radius) {
    double sum = 0;
    enum { TRIALS = 4000 };
    for (int t = 0; t < TRIALS; t++) {
        FoamBlock b = block_of(0, 0, 1);
        block_drop(&b);
        b = block_of(64, 2, 64 * (uint64_t)t);
        FoamSelf self = {.n = {0, 1, 0}};
        for (int i = 0; i < 64; i++) { // one in each unit of a cube of 4 x 4 x 4 around the top
            float at[3], length = 0;
            const int place[3] = {i % 4, i / 4 % 4, i / 16};
            for (int a = 0; a < 3; a++) {
                at[a] =
                    (float)place[a] - 2 + unit(64 * (uint64_t)t + (uint64_t)i, 40 + (uint64_t)a);
                b.x[a][i] = at[a];
            }
            at[1] += (float)radius;
            for (int a = 0; a < 3; a++) length += at[a] * at[a];
            bool inside = length < (float)(radius * radius);
            for (int a = 0; a < 3; a++) b.n[a][i] = inside ? at[a] / sqrtf(length) : 0;
        }
        FoamPair pair;
        foam_kernels_for(BRIM_ISA_BASE)->pair(&b, 0, &self, 0.5f, &pair);
        sum += (double)pair.crest;
        block_drop(&b);
    }
    return sum / TRIALS;
}

TEST(foam_crest_of_balls) {
    // integrals over the ball's part within two spacings of its top
    CHECK_NEAR(ball_crest(2), 0.558, 0.02);
    CHECK_NEAR(ball_crest(3), 0.248, 0.01);
    CHECK_BELOW(ball_crest(50), 0.02);
}

TEST(foam_sums_to_full_water) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimSimDef def = box_def(dim);
        Cloud c = cloud_new();
        fill_pool(&c, dim, 1);
        BrimFoam *f = foam_new(&def, NULL);
        BrimParticles p = cloud_view(&c);
        BrimError error;
        CHECK_OK(brim_foam_advance(f, &p, 0, 0, &error), error);
        CHECK_NEAR(FOAM_FULL, 8.4, 0.03);
        CHECK_NEAR(f->scale.rest, dim == 3 ? 8.378 : 4.189, 1e-3);
        memset(f->bins.want, 1, grid_box(&f->bins.grid));
        FoamPlaces places = {.count = c.count, .x = f->liquid.x, .w = f->liquid.v};
        CHECK(foam_bins_sort(&f->bins, &f->scale, &places, false, f->team));
        CHECK(f->bins.count == c.count);
        double sum = 0;
        enum { POINTS = 2000 };
        for (uint64_t i = 0; i < POINTS; i++) {
            float x[3];
            for (uint64_t a = 0; a < 3; a++) x[a] = 0.2f + 0.6f * unit(i, 20 + a);
            if (dim == 2) x[2] = 0;
            uint32_t cell, tile = foam_cell(&f->scale, &f->bins.grid, x, &cell);
            FoamSums sums;
            CHECK(foam_block_fill(&f->block[0], &f->bins, f->bins.grid.slot_of[tile]));
            f->kernels->sums(&f->block[0], (int)cell, x, f->scale.inv_radius, &sums);
            sum += (double)sums.weight / (double)f->scale.rest;
        }
        CHECK_NEAR(sum / POINTS, 1, 0.01);
        // half a kernel at a wall, all of it a radius away
        CHECK_NEAR(foam_wall_share(&f->scale, 0), 0.5, 1e-6);
        CHECK_NEAR(foam_wall_share(&f->scale, f->scale.radius), 1, 1e-6);
        if (dim == 3)
            CHECK_NEAR(foam_wall_share(&f->scale, 0.4f * f->scale.radius),
                       0.5 + 0.4 - 0.064 + 0.0128, 1e-4);
        brim_foam_destroy(&f);
        cloud_free(&c);
    }
}

// ---------------------------------------------------------------------------------------- motion

TEST(foam_bubbles_rise_and_become_foam) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimSimDef def = box_def(dim);
        Cloud c = cloud_new();
        fill_pool(&c, dim, 0.8);
        BrimFoam *f = foam_new(&def, NULL);
        BrimError error;
        double z = dim == 3 ? 0.5 : 0;
        CHECK_OK(stay(f, &c, 1, 24, &error), error);
        put(f, 0.5, 0.2, z, 0, 0, 3);
        put(f, 0.0, 0.2, 0, 0, 0, 3); // along an edge, where walls cut the kernel
        CHECK_OK(stay(f, &c, 6, 24, &error), error);
        double before[2] = {(double)f->particle[0].position[1], (double)f->particle[1].position[1]};
        CHECK_OK(stay(f, &c, 12, 24, &error), error);
        for (int i = 0; i < 2; i++) {
            CHECK(f->particle[i].type == BRIM_FOAM_BUBBLE);
            // buoyancy x bubble_time x gravity = 2 x 0.02 x 9.81
            double rise = ((double)f->particle[i].position[1] - before[i]) / 0.5;
            CHECK_NEAR(rise, 0.3924, 0.001);
            CHECK_NEAR(f->particle[i].life, 3, 1e-6); // bubbles do not age
        }
        CHECK_OK(stay(f, &c, 36, 24, &error), error);
        CHECK(f->count == 2 && f->counts.bubbles == 0 && f->counts.foam == 2);
        CHECK_NEAR(f->particle[0].position[1], 0.8, 1 / 32.0);
        brim_foam_destroy(&f);
        cloud_free(&c);
    }
}

TEST(foam_spray_flies_with_drag) {
    for (int drag = 0; drag <= 4; drag += 2) {
        BrimSimDef def = box_def(3);
        BrimFoamDef foam_def = brim_default_foam_def();
        foam_def.threads = 1, foam_def.drag = (float)drag;
        Cloud c = cloud_new();
        BrimFoam *f = foam_new(&def, &foam_def);
        BrimError error;
        CHECK_OK(stay(f, &c, 1, 24, &error), error);
        put(f, 0.1, 0.3, 0.5, 1.5, 3, 3);
        CHECK_OK(stay(f, &c, 12, 24, &error), error);
        double t = 0.5, g = 9.81, k = drag, e = exp(-k * t), way = k > 0 ? (1 - e) / k : t;
        double x = 0.1 + 1.5 * way, fall = k > 0 ? (t - way) / k : t * t / 2;
        CHECK(f->particle[0].type == BRIM_FOAM_SPRAY);
        CHECK_NEAR(f->particle[0].position[0], x, 1e-4);
        CHECK_NEAR(f->particle[0].position[1], 0.3 + 3 * way - g * fall, 2e-4);
        CHECK_NEAR(f->particle[0].velocity[1], 3 * e - g * way, 1e-3);
        CHECK_NEAR(f->particle[0].life, 3, 1e-6);
        // it comes down, lies on the floor, and is gone in the end
        CHECK_OK(stay(f, &c, 24, 24, &error), error);
        CHECK(f->count == 1 && f->particle[0].position[1] == f->particle[0].size);
        CHECK_OK(stay(f, &c, 72, 24, &error), error);
        CHECK(f->count == 0);
        brim_foam_destroy(&f);
        cloud_free(&c);
    }
}

TEST(foam_stays_on_a_calm_surface_and_dies) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimSimDef def = box_def(dim);
        Cloud c = cloud_new();
        fill_pool(&c, dim, 0.5);
        BrimFoam *f = foam_new(&def, NULL);
        BrimError error;
        CHECK_OK(stay(f, &c, 1, 24, &error), error);
        for (int i = 0; i < 20; i++)
            put(f, 0.03 + 0.047 * i, 0.5, dim == 3 ? 0.5 : 0, 0.5, 0, 1.5f);
        CHECK_OK(stay(f, &c, 24, 24, &error), error);
        CHECK(f->count == 20);
        for (int i = 0; i < 20; i++) {
            CHECK_NEAR(f->particle[i].position[0], 0.03 + 0.047 * i, 1e-3);
            CHECK_NEAR(f->particle[i].position[1], 0.5, 0.02);
            CHECK_NEAR(f->particle[i].age, 1, 1e-4);
        }
        CHECK_OK(stay(f, &c, 20, 24, &error), error);
        CHECK(f->count == 0 && f->next_id == 20);
        brim_foam_destroy(&f);
        cloud_free(&c);
    }
}

TEST(foam_goes_with_the_water) {
    // a pool that slides to the right at 0.5 m/s, in frames of which each one is a cell farther
    BrimSimDef def = box_def(3);
    def.sides[0] = def.sides[1] = BRIM_SIDE_OPEN;
    Cloud c = cloud_new();
    fill_pool(&c, 3, 0.5);
    BrimFoam *f = foam_new(&def, NULL);
    BrimError error;
    for (size_t i = 0; i < c.count; i++) c.x[i] *= 0.4f, c.vx[i] = 3; // noise of its own
    CHECK_OK(stay(f, &c, 1, 24, &error), error);
    put(f, 0.2, 0.49, 0.5, 0.5, 0, 5);
    for (int frame = 1; frame <= 8; frame++) {
        for (size_t i = 0; i < c.count; i++) c.x[i] += 0.5f / 24;
        CHECK_OK(stay(f, &c, 1, 24, &error), error);
    }
    CHECK_NEAR(f->particle[0].position[0], 0.2 + 0.5 / 3, 1e-4);
    CHECK_NEAR(f->particle[0].velocity[0], 0.5, 1e-4);
    brim_foam_destroy(&f);
    cloud_free(&c);
}

// ---------------------------------------------------------------------------------------- births

TEST(foam_is_not_born_in_a_calm_pool) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimSimDef def = box_def(dim);
        Cloud c = cloud_new();
        fill_pool(&c, dim, 0.6);
        // as noisy as FLIP gets, and all of it moving along: fast, but nothing breaks
        for (size_t i = 0; i < c.count; i++) {
            c.vx[i] = 2 + unit(i, 31) - 0.5f;
            c.vy[i] = unit(i, 32) - 0.5f, c.vz[i] = dim == 3 ? unit(i, 33) - 0.5f : 0;
        }
        BrimFoam *f = foam_new(&def, NULL);
        BrimError error;
        CHECK_OK(stay(f, &c, 12, 24, &error), error);
        CHECK_BELOW(f->next_id, 1);
        brim_foam_destroy(&f);
        cloud_free(&c);
    }
}

/// Two blocks of water that run into each other at 2 x 3 m/s, 0.1 m apart at first.
static void fill_collision(Cloud *c, int dim) {
    fill_pool(c, dim, 0.5);
    for (size_t i = 0; i < c->count; i++) {
        bool right = c->x[i] > 0.5f;
        c->x[i] = right ? 0.55f + 0.4f * (c->x[i] - 0.5f) : 0.25f + 0.4f * c->x[i];
        c->vx[i] = right ? -3 : 3;
    }
}

static void move_on(Cloud *c, double dt) {
    for (size_t i = 0; i < c->count; i++) c->x[i] += (float)dt * c->vx[i];
}

TEST(foam_is_born_where_water_meets_water) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimSimDef def = box_def(dim);
        Cloud c = cloud_new();
        fill_collision(&c, dim);
        BrimFoam *f = foam_new(&def, NULL);
        BrimError error;
        uint32_t born[3];
        for (int frame = 0; frame < 3; frame++) {
            CHECK_OK(stay(f, &c, 1, 100, &error), error);
            born[frame] = f->next_id;
            move_on(&c, 0.01);
        }
        CHECK_OK(stay(f, &c, 1, 100, &error), error);
        // at first only on the blocks' edges, which fly ahead like crests
        CHECK(born[1] > 0 && f->next_id - born[2] > 3 * born[1]);
        size_t middle = 0;
        for (size_t i = 0; i < f->count; i++)
            middle += fabsf(f->particle[i].position[0] - 0.5f) < 0.12f;
        CHECK(middle > f->count * 9 / 10);
        brim_foam_destroy(&f);
        cloud_free(&c);
    }
}

// ------------------------------------------------------------------------- the same, and go on

/// Foam of a small dam break, frame by frame.
typedef struct Dam {
    Case c;
    BrimSim *sim;
} Dam;

static Dam dam_new(int dim) {
    Dam d = {.c = case_box(dim, 2, dim == 2 ? 32 : 20, dim == 2 ? 32 : 16, 6)};
    BrimShapeDef box = brim_default_shape_def();
    box.kind = BRIM_SHAPE_BOX;
    box.size = (BrimVec3){0.8f, 1.6f, 2};
    box.position = (BrimVec3){0.4f, 0.6f, 0.3f};
    d.c.liquid[0] = (BrimLiquidDef){.shape = box};
    d.c.def.liquid = d.c.liquid, d.c.def.liquid_count = 1;
    BrimError error;
    if (brim_sim_create(&d.c.def, &d.sim, &error) != BRIM_OK)
        fprintf(stderr, "%s\n", error.message);
    return d;
}

/// Advances the simulation and the foam made with each of `count` to the next frame.
static BrimResult dam_frame(Dam *d, BrimFoam **foam, int count, BrimError *error) {
    int frame = brim_foam_frame(foam[0]).frame + 1;
    BrimResult result = frame > 0 ? brim_sim_advance_frame(d->sim, error) : BRIM_OK;
    BrimParticles p = brim_sim_particles(d->sim);
    for (int i = 0; i < count && result == BRIM_OK; i++)
        result = brim_foam_advance(foam[i], &p, frame, frame / 24.0, error);
    return result;
}

static bool same_foam(const BrimFoam *a, const BrimFoam *b) {
    if (a->count != b->count || a->next_id != b->next_id) return false;
    for (size_t i = 0; i < a->count; i++) {
        const BrimFoamParticle *p = &a->particle[i], *q = &b->particle[i];
        if (memcmp(p->position, q->position, 12) != 0 ||
            memcmp(p->velocity, q->velocity, 12) != 0 || p->age != q->age || p->life != q->life ||
            p->size != q->size || p->id != q->id || p->type != q->type)
            return false;
    }
    return true;
}

TEST(foam_of_a_dam_is_the_same_bytes) {
    for (int dim = 2; dim <= 3; dim++) {
        Dam d = dam_new(dim);
        enum { WAYS = 5 };
        BrimFoam *foam[WAYS] = {0}, *resumed = NULL;
        BrimError error;
        for (int i = 0; i < WAYS; i++) {
            BrimFoamDef def = brim_default_foam_def();
            def.threads = (int[]){1, 2, 3, 1, 1}[i];
            def.isa = i == 3 ? BRIM_ISA_BASE : BRIM_ISA_AUTO;
            BrimSimDef scene = d.c.def;
            scene.seed += i == 4;
            foam[i] = foam_new(&scene, &def);
        }
        size_t before = 0;
        for (int frame = 0; frame <= 24; frame++) {
            CHECK_OK(dam_frame(&d, foam, WAYS, &error), error);
            for (int i = 1; i < 4; i++) CHECK(same_foam(foam[0], foam[i]));
            if (frame == 15) before = foam[0]->count;
            BrimParticles p = brim_sim_particles(d.sim);
            if (frame == 19) { // through a file
                BrimFoamFrame view = brim_foam_frame(foam[0]);
                CHECK_OK(brim_foam_write(&view, at("foam.ply"), &error), error);
                BrimFoamDef def = brim_default_foam_def();
                resumed = foam_new(&d.c.def, &def);
                CHECK_OK(brim_foam_restore(resumed, &p, 19, 19 / 24.0, at("foam.ply"), &error),
                         error);
            }
            if (frame > 19) {
                CHECK_OK(brim_foam_advance(resumed, &p, frame, frame / 24.0, &error), error);
                CHECK(same_foam(foam[0], resumed));
            }
        }
        CHECK(foam[0]->count > before + (dim == 3 ? 200 : 10)); // it breaks, and there is more
        CHECK(!same_foam(foam[0], foam[4]));                    // another seed
        for (size_t i = 0; i < foam[0]->count; i++)
            for (int a = 0; a < 3; a++)
                CHECK(foam[0]->particle[i].position[a] >= 0 &&
                      foam[0]->particle[i].position[a] <= foam[0]->scale.size[a]);
        for (int i = 0; i < WAYS; i++) brim_foam_destroy(&foam[i]);
        brim_foam_destroy(&resumed);
        brim_sim_destroy(&d.sim);
    }
}

TEST(foam_does_not_depend_on_the_order_of_particles) {
    BrimSimDef def = box_def(3);
    Cloud c = cloud_new(), reversed = cloud_new();
    fill_collision(&c, 3);
    BrimFoam *a = foam_new(&def, NULL), *b = foam_new(&def, NULL);
    BrimError error;
    for (int frame = 0; frame < 5; frame++) {
        size_t n = reversed.count = c.count;
        for (size_t i = 0; i < n; i++) {
            size_t j = n - 1 - i;
            reversed.x[j] = c.x[i], reversed.y[j] = c.y[i], reversed.z[j] = c.z[i];
            reversed.vx[j] = c.vx[i], reversed.vy[j] = c.vy[i], reversed.vz[j] = c.vz[i];
            reversed.id[j] = c.id[i];
        }
        CHECK_OK(stay(a, &c, 1, 100, &error), error);
        CHECK_OK(stay(b, &reversed, 1, 100, &error), error);
        move_on(&c, 0.01);
    }
    CHECK(a->count > 100 && same_foam(a, b));
    brim_foam_destroy(&a), brim_foam_destroy(&b);
    cloud_free(&c), cloud_free(&reversed);
}

// ----------------------------------------------------------------------------------------- walls

TEST(foam_meets_solids_sides_and_drains) {
    BrimSimDef def = box_def(3);
    BrimSolidDef ball = brim_default_solid_def();
    ball.shape.kind = BRIM_SHAPE_SPHERE, ball.shape.radius = 0.2f;
    ball.shape.position = (BrimVec3){0.6f, 0.3f, 0.5f};
    BrimDrainDef drain = brim_default_drain_def();
    drain.shape.kind = BRIM_SHAPE_BOX, drain.shape.size = (BrimVec3){0.2f, 0.2f, 1};
    drain.shape.position = (BrimVec3){0.1f, 0.1f, 0.5f}, drain.start = 0.5;
    def.solids = &ball, def.solid_count = 1, def.drains = &drain, def.drain_count = 1;
    def.sides[1] = BRIM_SIDE_OPEN;
    Cloud c = cloud_new();
    BrimFoam *f = foam_new(&def, NULL);
    BrimError error;
    CHECK_OK(stay(f, &c, 1, 24, &error), error);
    put(f, 0.2, 0.35, 0.5, 6, 0, 9);  // at the ball
    put(f, 0.8, 0.9, 0.5, 6, 0, 9);   // out through the open side
    put(f, 0.05, 0.9, 0.5, -6, 0, 9); // at the wall, then down into the drain
    for (int frame = 1; frame <= 11; frame++) {
        CHECK_OK(stay(f, &c, 1, 24, &error), error);
        for (size_t i = 0; i < f->count; i++) {
            const float *x = f->particle[i].position;
            double d = hypot(hypot((double)x[0] - 0.6, (double)x[1] - 0.3), (double)x[2] - 0.5);
            CHECK(d > 0.2 + 0.005 - 1e-3);
        }
    }
    CHECK(f->count == 2 && f->particle[0].id == 0 && f->particle[1].id == 2);
    CHECK(f->particle[1].position[0] == f->particle[1].size && f->particle[1].velocity[0] == 0);
    CHECK_OK(stay(f, &c, 30, 24, &error), error);
    CHECK(f->count == 1 && f->particle[0].id == 0);
    brim_foam_destroy(&f);
    cloud_free(&c);
}

TEST(foam_does_not_pass_a_thin_wall) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimSimDef def = box_def(dim);
        BrimSolidDef wall = brim_default_solid_def();
        wall.shape.kind = BRIM_SHAPE_BOX, wall.shape.size = (BrimVec3){1 / 16.0f, 3, 3};
        wall.shape.position = (BrimVec3){0.5f, 0.5f, 0.5f};
        wall.shape.rotation = (BrimVec3){0, 0, 20};
        def.solids = &wall, def.solid_count = 1;
        Cloud c = cloud_new();
        BrimFoam *f = foam_new(&def, NULL);
        BrimError error;
        CHECK_OK(stay(f, &c, 1, 24, &error), error);
        for (int i = 0; i < 100; i++)
            put(f, 0.05 + 0.1 * (double)unit((uint64_t)i, 1),
                0.4 + 0.2 * (double)unit((uint64_t)i, 2), dim == 3 ? 0.5 : 0,
                3 + 9 * (double)unit((uint64_t)i, 3), 1, 9);
        CHECK_OK(stay(f, &c, 12, 24, &error), error);
        CHECK(f->count == 100);
        for (size_t i = 0; i < 100; i++) {
            const float *x = f->particle[i].position;
            double turn = 20 * M_PI / 180,
                   along = cos(turn) * ((double)x[0] - 0.5) + sin(turn) * ((double)x[1] - 0.5);
            CHECK_BELOW(along, -1 / 32.0); // on the side where it was
        }
        brim_foam_destroy(&f);
        cloud_free(&c);
    }
}

TEST(foam_is_pushed_by_a_moving_solid) {
    BrimSimDef def = box_def(2);
    BrimSolidDef wall = brim_default_solid_def();
    BrimKeyframe keys[2] = {{.time = 0}, {.time = 1, .position = {0.5f, 0, 0}}};
    wall.shape.kind = BRIM_SHAPE_BOX, wall.shape.size = (BrimVec3){0.1f, 2, 1};
    wall.shape.position = (BrimVec3){0.1f, 0.5f, 0};
    wall.motion = BRIM_MOTION_KEYFRAMES, wall.keyframes = keys, wall.keyframe_count = 2;
    def.solids = &wall, def.solid_count = 1;
    Cloud c = cloud_new();
    BrimFoam *f = foam_new(&def, NULL);
    BrimError error;
    CHECK_OK(stay(f, &c, 1, 24, &error), error);
    put(f, 0.3, 0.0, 0, 0, 0, 9);
    CHECK_OK(stay(f, &c, 24, 24, &error), error);
    CHECK(f->count == 1 && (double)f->particle[0].position[0] > 0.655 - 1e-3);
    brim_foam_destroy(&f);
    cloud_free(&c);
}

// -------------------------------------------------------------------------------- what is refused

TEST(foam_refuses_bad_frames_and_stays_as_it_was) {
    BrimSimDef def = box_def(3);
    Cloud c = cloud_new();
    fill_collision(&c, 3);
    BrimFoam *f = foam_new(&def, NULL);
    BrimError error;
    for (int i = 0; i < 4; i++) {
        CHECK_OK(stay(f, &c, 1, 100, &error), error);
        move_on(&c, 0.01);
    }
    size_t count = f->count;
    BrimParticles p = cloud_view(&c);
    CHECK(brim_foam_advance(f, &p, 3, 0.03, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "forward"));
    float good = c.y[77];
    c.y[77] = NAN;
    CHECK(brim_foam_advance(f, &p, 4, 0.04, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "frame 4") && strstr(error.message, "id 77"));
    c.y[77] = good, c.vx[77] = INFINITY;
    CHECK(brim_foam_advance(f, &p, 4, 0.04, &error) == BRIM_ERROR_INPUT);
    c.vx[77] = 3, c.id[77] = 78;
    CHECK(brim_foam_advance(f, &p, 4, 0.04, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "two particles have the id 78"));
    c.id[77] = 77;
    CHECK(f->count == count && f->frame == 3);
    CHECK_OK(brim_foam_advance(f, &p, 4, 0.04, &error), error);
    // a liquid that vanishes, and comes back
    p.count = 0;
    CHECK_OK(brim_foam_advance(f, &p, 5, 0.05, &error), error);
    p.count = c.count;
    CHECK_OK(brim_foam_advance(f, &p, 6, 0.06, &error), error);
    brim_foam_destroy(&f);
    cloud_free(&c);
}

TEST(foam_refuses_bad_settings) {
    BrimSimDef def = box_def(3);
    BrimFoam *f = NULL;
    BrimError error;
    BrimFoamDef empty = {0}, crossed = brim_default_foam_def(), low = brim_default_foam_def();
    crossed.life[0] = 9;
    low.bubble_time = 0;
    CHECK(brim_foam_create(&def, &empty, &f, &error) == BRIM_ERROR_INPUT && !f);
    CHECK(strstr(error.message, "brim_default_foam_def"));
    CHECK(brim_foam_create(&def, &crossed, &f, &error) == BRIM_ERROR_INPUT && !f);
    CHECK(strstr(error.message, "foam.life"));
    CHECK(brim_foam_create(&def, &low, &f, &error) == BRIM_ERROR_INPUT && !f);
    CHECK(strstr(error.message, "foam.bubble_time"));
}

TEST(foam_files_are_checked) {
    BrimSimDef def = box_def(3);
    Cloud c = cloud_new();
    fill_pool(&c, 3, 0.3);
    BrimFoam *f = foam_new(&def, NULL), *other = NULL;
    BrimError error;
    CHECK_OK(stay(f, &c, 1, 24, &error), error);
    for (int i = 0; i < 5000; i++) put(f, unit((uint64_t)i, 1), 0.9, 0.5, 0, 0, 1);
    BrimFoamFrame frame = brim_foam_frame(f), back;
    frame.counts.spray = 5000;
    CHECK_OK(brim_foam_write(&frame, at("good.ply"), &error), error);
    CHECK_OK(brim_foam_read(at("good.ply"), &back, &error), error);
    CHECK(back.count == 5000 && back.counts.spray == 5000 && back.next_id == 5000);
    CHECK(back.frame == 0 && back.settings == f->settings);
    for (int i = 0; i < 5000; i++)
        CHECK(memcmp(back.particle[i].position, frame.particle[i].position, 12) == 0 &&
              back.particle[i].id == (uint32_t)i);
    brim_foam_free(&back);
    size_t bytes;
    char *data = get_file(at("good.ply"), &bytes);
    put_file(at("short.ply"), data, bytes - 1);
    CHECK(brim_foam_read(at("short.ply"), &back, &error) == BRIM_ERROR_DAMAGED);
    memset(data + bytes - 41 * 3 + 4, 0xff, 4); // a position that is not a number
    put_file(at("nan.ply"), data, bytes);
    CHECK(brim_foam_read(at("nan.ply"), &back, &error) == BRIM_ERROR_DAMAGED);
    CHECK(!back.particle);
    for (size_t cut = 0; cut < 600; cut += 7) { // headers that end anywhere
        put_file(at("cut.ply"), data, cut);
        CHECK(brim_foam_read(at("cut.ply"), &back, &error) != BRIM_OK);
    }
    free(data);
    BrimParticles p = cloud_view(&c);
    CHECK(brim_foam_restore(f, &p, 7, 7 / 24.0, at("good.ply"), &error) == BRIM_ERROR_INPUT);
    BrimFoamDef slow = brim_default_foam_def();
    slow.drag = 3;
    other = foam_new(&def, &slow);
    CHECK(brim_foam_restore(other, &p, 0, 0, at("good.ply"), &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "other settings"));
    brim_foam_destroy(&f), brim_foam_destroy(&other);
    cloud_free(&c);
}
