// Immersed bodies: Archimedes, rules (14) and (15), accounts, and that runs repeat to the bit.
#include "base/hash.h"
#include "bodies/bodies.h"
#include "bodies/immersed.h"
#include "cases.h"
#include "scratch.h"
#include "test.h"
#include <math.h>
#include <string.h>

static BrimShapeDef box_of(float x0, float y0, float z0, float x1, float y1, float z1) {
    BrimShapeDef s = brim_default_shape_def();
    s.kind = BRIM_SHAPE_BOX;
    s.size = (BrimVec3){x1 - x0, y1 - y0, z1 - z0};
    s.position = (BrimVec3){0.5f * (x0 + x1), 0.5f * (y0 + y1), 0.5f * (z0 + z1)};
    return s;
}

/// A tank of 1 m (x 1 m) with water up to half of it and bodies.
typedef struct Pool {
    BrimSimDef def;
    BrimLiquidDef liquid;
    BrimBodyDef body[2];
    BrimPinDef pin[2];
} Pool;

static void pool_init(Pool *t, int dim, int cells) {
    *t = (Pool){.def = brim_default_sim_def()};
    t->liquid.shape = box_of(0, 0, 0, 1, 0.5f, 1);
    t->def.dim = dim;
    t->def.size = (BrimVec3){1, 1, dim == 3 ? 1 : 1 / (float)cells};
    t->def.cells[0] = t->def.cells[1] = cells, t->def.cells[2] = dim == 3 ? cells : 1;
    t->def.particles_per_cell = dim == 3 ? 8 : 9;
    t->def.frame_rate = 60, t->def.threads = 1;
    for (int i = 0; i < 2; i++) {
        t->body[i] = brim_default_body_def();
        t->body[i].coupling = BRIM_COUPLING_IMMERSED;
        t->body[i].modes = 4, t->body[i].elements = 16;
    }
}

static BrimSim *pool_sim(Pool *t, int bodies, BrimError *error) {
    BrimSim *s = NULL;
    t->def.liquid = &t->liquid, t->def.liquid_count = 1;
    t->def.bodies = t->body, t->def.body_count = bodies;
    if (t->body[0].pin_count) t->body[0].pins = t->pin;
    brim_sim_create(&t->def, &s, error);
    return s;
}

static BrimBodyState look_at(const BrimSim *s, int body) {
    BrimBodyState b = {0};
    brim_sim_body_state(s, body, &b, NULL);
    return b;
}

/// Mean submerged height over what Archimedes says, of a box `across` cells high in the last half
/// of some frames.
static double draft_of(float density, int across, int frames, BrimError *error) {
    Pool t;
    int cells = 4 * across;
    pool_init(&t, 2, cells);
    float height = 0.25f, draft = height * density / 1000;
    t.body[0].shape = box_of(0.25f, 0.5f - draft, 0, 0.75f, 0.5f - draft + height, 0);
    t.body[0].density = density;
    BrimSim *s = pool_sim(&t, 1, error);
    double sum = 0;
    for (int f = 0; s && f < frames; f++) {
        if (brim_sim_advance_frame(s, error) != BRIM_OK) sum = NAN;
        if (f >= frames / 2) sum += (0.5 - (double)look_at(s, 0).low.y) / (frames - frames / 2);
    }
    brim_sim_destroy(&s);
    return sum / draft;
}

TEST(immersed_box_floats_as_archimedes_says) {
    BrimError error = {0};
    double draft = draft_of(540, 10, 60, &error);
    CHECK_NEAR(draft, 1, 0.03);
}

TEST(immersed_body_of_water_stays) {
    Pool t;
    BrimError error;
    pool_init(&t, 2, 40);
    t.body[0].shape = box_of(0.4f, 0.15f, 0, 0.6f, 0.35f, 0);
    t.body[0].density = 1000;
    BrimSim *s = pool_sim(&t, 1, &error);
    CHECK(s);
    BrimBodyState a = look_at(s, 0);
    int64_t particles = brim_sim_stats(s)->particles;
    for (int f = 0; f < 30; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    BrimBodyState b = look_at(s, 0);
    CHECK_BELOW(fabs((double)b.center.y - a.center.y), 2e-3);
    CHECK(brim_sim_stats(s)->particles == particles);
    CHECK_NEAR(brim_sim_stats(s)->volume, 1, 0.01);
    brim_sim_destroy(&s);
}

/// Part of the water that passed a held plate of two cells, onto which it falls with large steps.
static double leak(bool keep_out, BrimError *error) {
    Pool t;
    pool_init(&t, 2, 32);
    float dx = 1.0f / 32;
    t.liquid.shape = box_of(0, 12 * dx, 0, 1, 24 * dx, 1);
    t.body[0].shape = box_of(-4 * dx, 10 * dx, 0, 1 + 4 * dx, 12 * dx, 0);
    t.body[0].keep_out = keep_out, t.body[0].young = 1e7f, t.body[0].elements = 64;
    t.pin[0].shape = box_of(-4 * dx, 10 * dx, 0, 0, 12 * dx, 0);
    t.pin[1].shape = box_of(1, 10 * dx, 0, 1 + 4 * dx, 12 * dx, 0);
    t.body[0].pin_count = 2;
    t.def.step = 1.0 / 60;
    t.liquid.velocity.y = -4;
    BrimSim *s = pool_sim(&t, 1, error);
    double below = 0;
    if (!s) return NAN;
    for (int f = 0; f < 30; f++)
        if (brim_sim_advance_frame(s, error) != BRIM_OK) return NAN;
    BrimParticles p = brim_sim_particles(s);
    for (size_t i = 0; i < p.count; i++) below += p.y[i] < 4 * dx;
    below /= (double)p.count;
    brim_sim_destroy(&s);
    return below;
}

TEST(immersed_plate_of_two_cells_holds_water) {
    BrimError error = {0};
    double with = leak(true, &error), without = leak(false, &error);
    CHECK(with == 0);
    CHECK(without > 0);
}

TEST(immersed_thin_body_is_refused_with_a_size) {
    Pool t;
    BrimError error;
    pool_init(&t, 2, 32);
    t.body[0].shape = box_of(0.2f, 0.2f, 0, 0.8f, 0.25f, 0);
    CHECK(!pool_sim(&t, 1, &error));
    CHECK(strstr(error.message, "0.0625 m thick, or cells 0.025 m"));
    t.body[0].shape = box_of(0.2f, 0.2f, 0, 0.8f, 0.4f, 0);
    t.body[1].shape = box_of(0.2f, 0.6f, 0, 0.8f, 0.8f, 0);
    t.body[1].coupling = BRIM_COUPLING_STRONG;
    CHECK(!pool_sim(&t, 2, &error));
    CHECK(strstr(error.message, "same for all bodies"));
    t.body[1].solver = BRIM_BODY_PROJECTIVE;
    CHECK(!pool_sim(&t, 2, &error));
    CHECK(strstr(error.message, "needs coupling: immersed"));
    t.def.band_width = 3;
    CHECK(!pool_sim(&t, 1, &error));
    CHECK(strstr(error.message, "band.width"));
}

TEST(immersed_bodies_part) {
    // one falls on the other; neither goes into it, nor into the floor
    Pool t;
    BrimError error;
    pool_init(&t, 2, 32);
    float dx = 1.0f / 32;
    t.liquid.shape = box_of(0, 0, 0, 1, 0.1f, 1);
    t.body[0].shape = box_of(0.3f, 0.02f, 0, 0.7f, 0.22f, 0);
    t.body[1].shape = box_of(0.35f, 0.4f, 0, 0.65f, 0.6f, 0);
    t.body[0].density = t.body[1].density = 1500;
    BrimSim *s = pool_sim(&t, 2, &error);
    CHECK(s);
    double deepest = 0, lowest = 1;
    for (int f = 0; f < 60; f++) {
        CHECK_OK(brim_sim_advance_frame(s, &error), error);
        const Body *b = s->bodies->body;
        for (size_t i = 0; i < b[1].surface.vertex_count; i++) {
            const float *x = b[1].surface.vertices[i];
            float d;
            body_distance(&b[0], 1, &x[0], &x[1], &x[2], &d);
            deepest = fmin(deepest, d / dx);
        }
        lowest = fmin(lowest, (double)b[0].low[1]);
    }
    CHECK(deepest > -0.75);
    CHECK(lowest > -0.1 * dx);
    brim_sim_destroy(&s);
}

/// All numbers of the bodies and places of particles.
static uint64_t bits_of(const BrimSim *s) {
    uint64_t h = 0;
    for (int k = 0; k < s->bodies->count; k++)
        h = hash_bytes(h, s->bodies->body[k].elastic->d,
                       (size_t)s->bodies->body[k].elastic->dofs * sizeof(double));
    for (int a = 0; a < 3; a++)
        h = hash_bytes(h, s->particles.attr[ATTR_X + a], s->particles.count * sizeof(float));
    return h;
}

TEST(immersed_bodies_pressed_on_the_floor_stay_in) {
    // One falls on the other at steps of 1/30 s: what the two and the liquid gave each other after
    // the elastic step took them 3.9 cells through the floor.
    for (int k = 0; k < 4; k++) {
        Case c = case_box(2, 1, 44, 44, 1);
        BrimBodyDef b[2] = {brim_default_body_def(), brim_default_body_def()};
        BrimError error = {0};
        BrimSim *sim = NULL;
        double out = 0;
        for (int i = 0; i < 2; i++) {
            b[i].shape = ball((BrimVec3){0.5f + 0.03f * (float)i, i ? 0.5f : 0.2f, 0}, 0.13f);
            b[i].coupling = BRIM_COUPLING_IMMERSED, b[i].modes = 6, b[i].elements = 24;
            b[i].density = (k & 1) == i ? 5000 : 300, b[i].young = k & 2 && !i ? 1e5f : 3e6f;
        }
        b[1].velocity.y = -1;
        case_liquid(&c, box_between((BrimVec3){0}, (BrimVec3){1, 0.4f, 1}));
        c.def.bodies = b, c.def.body_count = 2, c.def.step = 1.0 / 30, c.def.frame_rate = 30;
        CHECK_OK(case_create(&c, &sim, &error), error);
        while (brim_sim_time(sim) < 2) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            for (int i = 0; i < 2; i++) {
                BrimBodyState state;
                brim_sim_body_state(sim, i, &state, NULL);
                out = fmax(out, -44 * (double)state.low.y);
            }
        }
        CHECK_BELOW(out, 0.12); // what contact leaves to the penalty, and how exactly
        brim_sim_destroy(&sim);
    }
}

TEST(immersed_bodies_pressed_together_stay_apart) {
    // Two soft balls, by handles and projective, that hands press together: as each gives way to
    // where the other was going they do not meet; one after the other they are 0.6 and 1.1 cells
    // deep in one another.
    for (int k = 0; k < 2; k++) {
        Case c = case_box(3, 1, 20, 20, 20);
        BrimBodyDef b[2];
        BrimGrabDef hand[2];
        BrimKeyframe keys[2][2] = {{{.time = 0}, {.time = 1, .position = {0.12f, -0.03f, 0}}},
                                   {{.time = 0}, {.time = 1, .position = {-0.12f, -0.03f, 0}}}};
        BrimError error = {0};
        BrimSim *sim = NULL;
        double deepest = 0;
        for (int i = 0; i < 2; i++) {
            b[i] = brim_default_body_def(), hand[i] = brim_default_grab_def();
            b[i].shape = ball((BrimVec3){i ? 0.68f : 0.32f, 0.17f, 0.5f}, 0.15f);
            b[i].coupling = BRIM_COUPLING_IMMERSED, b[i].young = k ? 2e5f : 2e4f;
            b[i].subspace = BRIM_SUBSPACE_HANDLES, b[i].handles = 20;
            b[i].solver = BRIM_BODY_PROJECTIVE, b[i].samples = 200, b[i].elements = 60;
            hand[i].at = (BrimVec3){i ? 0.83f : 0.17f, 0.17f, 0.5f}, hand[i].stop = 9;
            hand[i].keyframes = keys[i], hand[i].keyframe_count = 2;
            b[i].grabs = &hand[i], b[i].grab_count = 1;
        }
        case_liquid(&c, box_between((BrimVec3){0}, (BrimVec3){1, 0.06f, 0.06f}));
        c.def.bodies = b, c.def.body_count = 2, c.def.step = 1.0 / 60, c.def.frame_rate = 60;
        CHECK_OK(case_create(&c, &sim, &error), error);
        while (brim_sim_time(sim) < 1.3) {
            BrimBodySurface surface;
            CHECK_OK(brim_sim_step(sim, &error), error);
            brim_sim_body_surface(sim, 0, &surface, NULL);
            for (size_t v = 0; v < surface.vertex_count; v++) {
                const float *at = surface.position[v];
                float d;
                brim_sim_body_distance(sim, 1, 1, &at[0], &at[1], &at[2], &d, NULL);
                deepest = fmax(deepest, -20 * (double)d);
            }
        }
        CHECK_BELOW(deepest, 0.2);
        brim_sim_destroy(&sim);
    }
}

TEST(immersed_runs_repeat_to_the_bit) {
    // for any number of threads, and from a checkpoint in mid-fall; 3D, two bodies, projective
    uint64_t bits[3] = {0};
    const char *path = at("immersed.half");
    for (int run = 0; run < 3; run++) {
        Pool t;
        BrimError error;
        pool_init(&t, 3, 16);
        t.def.threads = run == 1 ? 3 : 1;
        for (int k = 0; k < 2; k++) {
            t.body[k].shape = box_of(0.3f, 0.3f + 0.35f * k, 0.3f, 0.7f, 0.55f + 0.35f * k, 0.7f);
            t.body[k].subspace = BRIM_SUBSPACE_HANDLES, t.body[k].handles = 5;
            t.body[k].order = 1, t.body[k].solver = BRIM_BODY_PROJECTIVE, t.body[k].density = 700;
        }
        BrimSim *s = pool_sim(&t, 2, &error);
        CHECK(s);
        if (run == 2) {
            brim_sim_destroy(&s);
            CHECK_OK(brim_sim_load(&t.def, path, &s, &error), error);
        }
        while (brim_sim_step_count(s) < 12) {
            if (run == 0 && brim_sim_step_count(s) == 5)
                CHECK_OK(brim_sim_save(s, path, &error), error);
            CHECK_OK(brim_sim_step(s, &error), error);
        }
        bits[run] = bits_of(s);
        brim_sim_destroy(&s);
    }
    CHECK(bits[0] == bits[1]);
    CHECK(bits[0] == bits[2]);
    remove(path);
}
