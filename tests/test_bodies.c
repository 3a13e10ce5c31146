// Bodies in water: Archimedes, statics under pressure, contact, and that runs repeat to the bit.
#include "base/hash.h"
#include "bodies/bodies.h"
#include "bodies/sums.h"
#include "elastic/dense.h"
#include "elastic_cases.h"
#include "scratch.h"
#include "test.h"
#include <malloc.h>

static BrimShapeDef box_shape(float x0, float y0, float z0, float x1, float y1, float z1) {
    BrimShapeDef s = brim_default_shape_def();
    s.kind = BRIM_SHAPE_BOX;
    s.size = (BrimVec3){x1 - x0, y1 - y0, z1 - z0};
    s.position = (BrimVec3){0.5f * (x0 + x1), 0.5f * (y0 + y1), 0.5f * (z0 + z1)};
    return s;
}

/// A tank of 1 m (x 1 m), half full, with one body in it.
typedef struct Tank {
    BrimSimDef def;
    BrimLiquidDef liquid;
    BrimBodyDef body;
    BrimPinDef pin;
} Tank;

static void tank_init(Tank *t, int dim, int cells) {
    *t = (Tank){.def = brim_default_sim_def(), .body = brim_default_body_def()};
    t->liquid.shape = box_shape(0, 0, 0, 1, 0.5f, 1);
    t->def.dim = dim;
    t->def.size = (BrimVec3){1, 1, dim == 3 ? 1 : 1 / (float)cells};
    t->def.cells[0] = t->def.cells[1] = cells, t->def.cells[2] = dim == 3 ? cells : 1;
    t->def.particles_per_cell = dim == 3 ? 8 : 9;
    t->def.frame_rate = 60, t->def.threads = 1;
    t->body.shape = box_shape(0.3f, 0.4f, 0.3f, 0.7f, 0.6f, 0.7f);
}

static BrimSim *tank_sim(Tank *t, BrimError *error) {
    BrimSim *s = NULL;
    t->def.liquid = &t->liquid, t->def.liquid_count = 1;
    t->def.bodies = &t->body, t->def.body_count = 1;
    if (t->body.pin_count) t->body.pins = &t->pin;
    brim_sim_create(&t->def, &s, error);
    return s;
}

static BrimBodyState state_of(const BrimSim *s) {
    BrimBodyState b = {0};
    brim_sim_body_state(s, 0, &b, NULL);
    return b;
}

TEST(bodies_rigid_answer_meets_its_equation) {
    // v - w - k f + extra (v - v0) has no part along a rigid motion, and comply inverts 1 + extra
    BrimError error;
    ElasticParams p = elastic_default_params();
    p.rigid = true, p.elements = 16;
    Elastic *e = case_beam(2, 0.4, 0.2, 0, false, p, &error);
    CHECK(e);
    enum { N = 6 };
    double extra[N * N] = {0}, f[N], v0[N], dv[N], image[N], row[3];
    elastic_row(e, (double[3]){0.4, 0, 0}, row);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) extra[(2 * i + 1) * N + 2 * j + 1] = 4000 * row[i] * row[j];
    for (int i = 0; i < N; i++) f[i] = 500 * row[i / 2] * (i & 1);
    e->v[1] = -3;
    elastic_begin(e, 0.01, 0.01);
    memcpy(v0, e->v, sizeof v0);
    CHECK(elastic_iterate(e, f, extra));
    for (int i = 0; i < N; i++) dv[i] = e->v[i] - v0[i];
    dense_apply(extra, N, N, dv, image);
    for (int i = 0; i < N; i++) image[i] += e->v[i] - e->w[i] - e->kick * f[i];
    for (int k = 0; k < e->rigid_motions; k++)
        CHECK_NEAR(dense_dot(e->a + k * N, image, N), 0, 1e-10);
    for (int i = 0; i < N; i++) dv[i] = v0[i] = 0.1 * i - 0.2;
    elastic_comply(e, dv);
    dense_apply(extra, N, N, dv, image);
    for (int k = 0; k < e->rigid_motions; k++)
        CHECK_NEAR(dense_dot(e->a + k * N, dv, N) + dense_dot(e->a + k * N, image, N),
                   dense_dot(e->a + k * N, v0, N), 1e-12);
    elastic_free(&e);
}

TEST(bodies_float_as_archimedes_says) {
    // mean of the last half second over draft = height density / 1000; level 0.5 m by its volume
    static const struct {
        bool rigid;
        float density, draft, tolerance;
    } cases[] = {{true, 500, 0.1f, 0.02f}, {true, 250, 0.05f, 0.02f}, {false, 500, 0.1f, 0.02f}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tank t;
        BrimError error;
        tank_init(&t, 2, 48);
        t.body.density = cases[i].density, t.body.rigid = cases[i].rigid;
        t.body.young = 1e6f, t.body.modes = 4, t.body.elements = 16;
        // it starts where it shall float, so that the level stays where the liquid's box ends
        t.body.shape.position.y = 0.6f - cases[i].draft;
        BrimSim *s = tank_sim(&t, &error);
        CHECK(s);
        double sum = 0;
        for (int f = 0; f < 60; f++) {
            CHECK_OK(brim_sim_advance_frame(s, &error), error);
            BrimBodyState b = state_of(s);
            CHECK_BELOW(fabsf(b.spin.z), 0.1);
            if (f >= 30) sum += (0.5 - (double)b.low.y) / 30;
        }
        CHECK_NEAR(sum / cases[i].draft, 1, cases[i].tolerance);
        brim_sim_destroy(&s);
    }
}

TEST(bodies_sink_and_stay_down) {
    // a heavy box falls through water, lands, never comes back up, and rests
    for (int rigid = 0; rigid < 2; rigid++) {
        Tank t;
        BrimError error;
        tank_init(&t, 2, 32);
        t.body.shape = box_shape(0.3f, 0.2f, 0, 0.7f, 0.4f, 0);
        t.body.density = 3000, t.body.rigid = rigid;
        t.body.young = 1e6f, t.body.modes = 4, t.body.elements = 16;
        BrimSim *s = tank_sim(&t, &error);
        CHECK(s);
        double fastest_up = 0, fastest_down = 0;
        for (int f = 0; f < 60; f++) {
            CHECK_OK(brim_sim_advance_frame(s, &error), error);
            BrimBodyState b = state_of(s);
            fastest_up = fmax(fastest_up, b.velocity.y);
            fastest_down = fmax(fastest_down, -b.velocity.y);
            CHECK(b.low.y > -0.01f && b.low.x > 0 && b.high.x < 1);
        }
        CHECK(fastest_down > 0.4);
        CHECK_BELOW(fastest_up, 0.2 * fastest_down);
        BrimBodyState b = state_of(s);
        CHECK_NEAR(b.low.y, 0, 0.1 / 32);
        CHECK_NEAR(b.contact.y + b.pressure.y, b.mass * 9.81, 0.05 * b.mass * 9.81);
        brim_sim_destroy(&s);
    }
}

/// Free fall in air, without water near.
TEST(bodies_elastic_impulse_turns_nothing) {
    // A light box spins in water, 0.1 to 0.03 rad a step: what its elasticity gives itself has no
    // angular momentum, in the mean of steps to 1e-3 of its own; in one of them 2e-3, and in the
    // next as much the other way.
    Tank t;
    BrimError error;
    tank_init(&t, 2, 32);
    t.liquid.shape = box_shape(0, 0, 0, 1, 0.9f, 1);
    t.body.shape = box_shape(0.35f, 0.35f, 0, 0.65f, 0.55f, 0);
    t.body.density = 50, t.body.young = 1e5f, t.body.modes = 6, t.body.elements = 24;
    t.body.spin.z = 6, t.def.gravity = (BrimVec3){0, 0, 0};
    BrimSim *s = tank_sim(&t, &error);
    CHECK(s);
    double squares = 0;
    for (int f = 0; f < 120; f++) {
        CHECK_OK(brim_sim_step(s, &error), error);
        Elastic *e = s->bodies->body[0].elastic;
        double own[3], elastic[3], spin[3], z[ELASTIC_DOFS_MOST], *d = e->d, *v = e->v;
        for (int i = 0; i < e->dofs; i++) z[i] = d[i] + 0.5 * e->dn * v[i]; // where it acts
        e->d = z;
        elastic_spin(e, own, spin);
        e->v = e->j;
        elastic_spin(e, elastic, spin);
        e->d = d, e->v = v;
        squares += elastic[2] * elastic[2] / (own[2] * own[2]) / 120;
    }
    CHECK_BELOW(sqrt(squares), 1e-3);
    brim_sim_destroy(&s);
}

TEST(bodies_fall_freely) {
    Tank t;
    BrimError error;
    tank_init(&t, 2, 32);
    t.liquid.shape = box_shape(0, 0, 0, 1, 0.1f, 1);
    t.body.shape = box_shape(0.4f, 0.7f, 0, 0.6f, 0.9f, 0);
    t.body.rigid = true, t.body.spin.z = 3;
    BrimSim *s = tank_sim(&t, &error);
    CHECK(s);
    for (int f = 0; f < 12; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    BrimBodyState b = state_of(s);
    CHECK_NEAR(b.center.y, 0.8 - 0.5 * 9.81 * 0.04, 1e-4);
    CHECK_NEAR(b.spin.z, 3, 0.003);
    brim_sim_destroy(&s);
}

static double disc_area(const Body *b) {
    double area = 0;
    for (size_t t = 0; t < b->surface.triangle_count; t++) {
        const float *p = b->surface.vertices[b->surface.triangles[t][0]];
        const float *q = b->surface.vertices[b->surface.triangles[t][1]];
        area += 0.5 * ((double)p[0] * q[1] - (double)q[0] * p[1]);
    }
    return area;
}

TEST(bodies_elastic_disc_spins_down_in_a_closed_full_tank) {
    // What B errs by where cut cells turn swelled the disc; the pressure that held it so, minus
    // 10 kPa and more, turned it, up to 400 rad/s.
    for (int n = 0; n < 2; n++) {
        Tank t;
        BrimError error;
        tank_init(&t, 2, 32);
        t.liquid.shape = box_shape(0, 0, 0, 1, 1, 0), t.def.gravity = (BrimVec3){0, 0, 0};
        t.body.shape = brim_default_shape_def();
        t.body.shape.kind = BRIM_SHAPE_SPHERE, t.body.shape.radius = 0.15f;
        t.body.shape.position = (BrimVec3){0.47f, 0.52f, 0};
        t.body.density = n ? 500 : 2000, t.body.young = 1e6f, t.body.modes = 6;
        t.body.elements = 24, t.body.spin.z = 5;
        BrimSim *s = tank_sim(&t, &error);
        CHECK(s);
        const Body *b = &s->bodies->body[0];
        double start = disc_area(b), fastest = 0, swollen = 0;
        BrimBodyState state;
        for (int f = 0; f < 120; f++) {
            CHECK_OK(brim_sim_step(s, &error), error);
            brim_sim_body_state(s, 0, &state, NULL);
            fastest = fmax(fastest, fabs((double)state.spin.z));
            swollen = fmax(swollen, fabs(disc_area(b) / start - 1));
        }
        if (getenv("SHOW")) printf("fastest %g swollen %g\n", fastest, swollen);
        CHECK_BELOW(fastest, 5.05);
        CHECK_BELOW(swollen, 1e-3);
        brim_sim_destroy(&s);
    }
}

TEST(bodies_rigid_fall_in_a_closed_full_tank) {
    // pressure has no level there, and a body that cannot swell gives it none: a disc of three
    // times the water's density falls with half of g, for it takes as much water along as it
    // displaces
    Tank t;
    BrimError error;
    tank_init(&t, 2, 40);
    t.liquid.shape = box_shape(0, 0, 0, 1, 1, 1);
    t.body.shape.kind = BRIM_SHAPE_SPHERE, t.body.shape.radius = 0.1f;
    t.body.shape.position = (BrimVec3){0.5f, 0.6f, 0};
    t.body.density = 3000, t.body.rigid = true;
    t.def.step = 1.0 / 60;
    BrimSim *s = tank_sim(&t, &error);
    CHECK(s);
    for (int f = 0; f < 2; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    double before = state_of(s).velocity.y;
    for (int f = 0; f < 4; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    CHECK_NEAR((before - state_of(s).velocity.y) * 15, 9.81 / 2, 0.08 * 9.81 / 2);
    brim_sim_destroy(&s);
}

/// A floor plate (held at both ends) under water: its deflection in the middle, any step.
static double plate_sag(double step, BrimError *error) {
    Tank t;
    tank_init(&t, 2, 40);
    t.def.step = step;
    t.body.shape = box_shape(0, 0.2f, 0, 1, 0.25f, 0);
    t.body.young = 2e9f, t.body.poisson = 0.3f, t.body.density = 2000, t.body.modes = 8;
    t.body.elements = 40, t.body.damping = 40;
    t.liquid.shape = box_shape(0, 0.25f, 0, 1, 0.65f, 0);
    BrimPinDef pins[2] = {{.shape = box_shape(-1, 0, 0, 0, 1, 0)},
                          {.shape = box_shape(1, 0, 0, 2, 1, 0)}};
    t.body.pins = pins, t.body.pin_count = 2;
    t.def.liquid = &t.liquid, t.def.liquid_count = 1, t.def.bodies = &t.body, t.def.body_count = 1;
    BrimSim *s = NULL;
    if (brim_sim_create(&t.def, &s, error) != BRIM_OK) return NAN;
    double sum = 0;
    for (int f = 0; f < 40; f++) {
        if (brim_sim_advance_frame(s, error) != BRIM_OK) return NAN;
        double middle[3];
        case_displacement(s->bodies->body[0].elastic, 0.5, 0.225, 0, middle);
        if (f >= 30) sum += middle[1] / 10;
    }
    brim_sim_destroy(&s);
    return sum;
}

TEST(bodies_plate_sags_the_same_at_any_step) {
    // clamped plate: 5 q L^4 / 384 EI hinged, q L^4 / 384 EI clamped; q = water + own weight
    BrimError error = {0};
    double ei = 2e9 / (1 - 0.09) * pow(0.05, 3) / 12;
    double expected = -(1000 * 0.4 + 2000 * 0.05) * 9.81 / (384 * ei);
    // shear adds 4 % at L/h = 20: q L^2 / (8 k G A)
    expected -= (1000 * 0.4 + 2000 * 0.05) * 9.81 / (8 * 5.0 / 6 * 2e9 / 2.6 * 0.05);
    double coarse = plate_sag(1.0 / 60, &error), fine = plate_sag(1.0 / 240, &error);
    double finest = plate_sag(1e-3, &error);
    CHECK_NEAR(coarse / expected, 1, 0.02);
    CHECK_NEAR(fine / coarse, 1, 0.005);
    CHECK_NEAR(finest / coarse, 1, 0.005);
}

// -------------------------------------------------------------------------- repeats, checkpoints

static uint64_t hash_of(const BrimSim *s) {
    const BrimParticles p = brim_sim_particles(s);
    uint64_t h = hash_bytes(0, p.x, p.count * sizeof(float));
    h = hash_bytes(h, p.vy, p.count * sizeof(float));
    const Elastic *e = s->bodies->body[0].elastic;
    h = hash_bytes(h, e->d, (size_t)e->dofs * sizeof(double));
    return hash_bytes(h, e->v, (size_t)e->dofs * sizeof(double));
}

TEST(bodies_same_bits_for_threads_and_after_loading) {
    uint64_t hash[3];
    const char *path = at("bodies.brim");
    for (int n = 0; n < 3; n++) {
        Tank t;
        BrimError error;
        tank_init(&t, 2, 32);
        t.def.threads = n == 1 ? 4 : 1;
        t.body.density = 400, t.body.young = 3e4f, t.body.modes = 4, t.body.elements = 16;
        t.body.spin.z = 2;
        BrimSim *s = tank_sim(&t, &error);
        CHECK(s);
        for (int f = 0; f < 12; f++) {
            CHECK_OK(brim_sim_step(s, &error), error);
            if (n != 2 || f != 5) continue;
            CHECK_OK(brim_sim_save(s, path, &error), error);
            brim_sim_destroy(&s);
            CHECK_OK(brim_sim_load(&t.def, path, &s, &error), error);
        }
        hash[n] = hash_of(s);
        brim_sim_destroy(&s);
    }
    CHECK(hash[0] == hash[1]);
    CHECK(hash[0] == hash[2]);
}

TEST(bodies_sums_are_the_same_bits_on_all_processors) {
    // against plain loops, for widths that are no multiple of any register
    enum { N = 75, COUNT = 17 };
    float rows[COUNT * N];
    double factor[3 * COUNT], v[3 * N], out[3 * N], plain[3 * N];
    for (int i = 0; i < COUNT * N; i++) rows[i] = (float)hash_unit(hash_mix((uint64_t)i), 0) - 0.5f;
    for (int i = 0; i < 3 * COUNT; i++) factor[i] = hash_unit(hash_mix((uint64_t)i), 1) - 0.5;
    for (int i = 0; i < 3 * N; i++) v[i] = hash_unit(hash_mix((uint64_t)i), 1) - 0.5;
    for (int isa = BRIM_ISA_BASE; isa <= (int)isa_choose(BRIM_ISA_AUTO); isa++)
        for (int n = 1; n <= N; n++) {
            const SumKernels *kernels = sum_kernels_for((BrimIsa)isa);
            for (int dim = 2; dim <= 3; dim++) {
                int few = COUNT * N / n < COUNT ? COUNT * N / n : COUNT;
                kernels->pull(dim, COUNT, n, N, factor, rows, out);
                memset(plain, 0, sizeof plain);
                for (int a = 0; a < dim; a++)
                    for (int k = 0; k < COUNT; k++)
                        for (int i = 0; i < n; i++)
                            plain[a * N + i] += factor[a * COUNT + k] * (double)rows[k * N + i];
                for (int a = 0; a < dim; a++)
                    CHECK(memcmp(out + a * N, plain + a * N, (size_t)n * sizeof *out) == 0);
                kernels->push(dim, (size_t)few, n, rows, v, out);
                for (int k = 0; k < dim * few; k++) {
                    const float *row = rows + k % few * n;
                    const double *with = v + k / few * n;
                    double s[4] = {0};
                    int i = 0;
                    for (; i + 4 <= n; i += 4)
                        for (int l = 0; l < 4; l++) s[l] += (double)row[i + l] * with[i + l];
                    for (; i < n; i++) s[0] += (double)row[i] * with[i];
                    CHECK(out[k] == (s[0] + s[1]) + (s[2] + s[3]));
                }
            }
            for (int dim = 2; dim <= 3; dim++) {
                // as many whole sixteens as the rows hold
                int places = COUNT * N / (n * SUM_PLACES) * SUM_PLACES;
                places = places > N ? N / SUM_PLACES * SUM_PLACES : places;
                kernels->mix(places, dim, n, rows, v, out);
                for (int k = 0; k < dim * places; k++) {
                    int a = k / places, at = k % places;
                    const float *from = rows + (at - at % SUM_PLACES) * n + at % SUM_PLACES;
                    double sum = 0;
                    for (int l = 0; l < n; l++) sum += v[a * n + l] * (double)from[l * SUM_PLACES];
                    CHECK(out[k] == sum);
                }
            }
        }
}

TEST(bodies_show_their_time_in_the_statistics) {
    Tank t;
    BrimError error;
    double hidden = 1; // part of a step that no column tells: least of all, for others compute too
    tank_init(&t, 3, 16);
    t.body.young = 3e4f, t.body.modes = 12;
    BrimSim *s = tank_sim(&t, &error);
    CHECK(s);
    for (int f = 0; f < 8; f++) {
        CHECK_OK(brim_sim_step(s, &error), error);
        const BrimStats *stats = brim_sim_stats(s);
        double sum = 0;
        for (int i = 0; i < BRIM_STAGE_COUNT; i++) sum += stats->ms[i];
        CHECK(stats->ms[BRIM_STAGE_BODIES] > 0 && stats->ms[BRIM_STAGE_PROJECT] > 0);
        CHECK(sum <= stats->ms_total * (1 + 1e-9));
        hidden = fmin(hidden, 1 - sum / stats->ms_total);
    }
    CHECK(hidden < 0.03);
    brim_sim_destroy(&s);
}

TEST(bodies_bad_ones_are_refused) {
    for (int n = 0; n < 4; n++) {
        Tank t;
        BrimError error = {0};
        tank_init(&t, 2, 32);
        if (n == 0) t.body.shape = box_shape(0.3f, 0.4f, 0, 0.7f, 0.42f, 0); // thinner than a cell
        if (n == 1) t.body.poisson = 0.5f;
        if (n == 2) t.body.pin_count = 1, t.pin.shape = box_shape(0, 0.8f, 0, 0.1f, 0.9f, 0);
        if (n == 3) t.body.rigid = true, t.body.pin_count = 1, t.pin.shape = t.body.shape;
        static const char *says[] = {"0.0312", "poisson", "pins hold nothing", "pins"};
        CHECK(tank_sim(&t, &error) == NULL);
        CHECK(error.result == BRIM_ERROR_INPUT && strstr(error.message, says[n]));
        CHECK(strstr(error.message, "bodies[0]"));
    }
}

TEST(bodies_that_stand_where_they_cannot_are_named) {
    // outside, half outside, in another one, in a solid; with pins or an open side half outside is
    // fine; across another one, and where that is
    static const char *says[] = {"outside the domain, beyond its side x+",
                                 "beyond the wall x+",
                                 "deep in bodies[1]",
                                 "deep in solids[0]",
                                 NULL,
                                 NULL,
                                 "deep in bodies[1]",
                                 "deep in bodies[1]"};
    for (int n = 0; n < 8; n++) {
        Tank t;
        BrimError error = {0};
        BrimSim *s = NULL;
        tank_init(&t, 2, 32);
        BrimSolidDef solid = brim_default_solid_def();
        solid.shape = box_shape(0.1f, 0.1f, 0, 0.4f, 0.5f, 0);
        BrimBodyDef two[2] = {t.body, t.body};
        float x = n == 0 ? 1.2f : n == 2 ? 0.4f : n == 3 ? 0.3f : 0.85f;
        two[0].shape = box_shape(x, 0.6f - 0.2f * (n == 3), 0, x + 0.3f, 0.8f, 0);
        two[1].shape = box_shape(0.3f, 0.7f, 0, 0.6f, 0.9f, 0);
        if (n == 6) two[0].shape = box_shape(0.4f, 0.6f, 0, 0.5f, 1, 0);
        if (n == 7) two[0].shape = two[1].shape;
        two[0].modes = two[1].modes = 2, two[0].elements = two[1].elements = 8;
        t.pin.shape = box_shape(1, 0, 0, 2, 1, 0);
        if (n == 4) two[0].pins = &t.pin, two[0].pin_count = 1;
        if (n == 5) t.def.sides[1] = BRIM_SIDE_OPEN;
        t.def.solids = &solid, t.def.solid_count = n == 3;
        t.def.bodies = two, t.def.body_count = n == 2 || n > 5 ? 2 : 1;
        BrimResult r = brim_sim_create(&t.def, &s, &error);
        CHECK(says[n] ? r == BRIM_ERROR_INPUT : r == BRIM_OK);
        if (says[n]) CHECK(strstr(error.message, says[n]) && strstr(error.message, "bodies[0]"));
        brim_sim_destroy(&s);
    }
}

TEST(bodies_rest_on_solids_and_on_one_another) {
    // a box on a step, and a second one on it, in air: both stay, the forces are the weights
    Tank t;
    BrimError error;
    tank_init(&t, 2, 32);
    t.liquid.shape = box_shape(0, 0, 0, 1, 0.05f, 0);
    BrimSolidDef step = brim_default_solid_def();
    step.shape = box_shape(0.2f, 0, 0, 0.8f, 0.2f, 0);
    t.def.solids = &step, t.def.solid_count = 1;
    BrimBodyDef two[2] = {brim_default_body_def(), brim_default_body_def()};
    two[0].shape = box_shape(0.3f, 0.21f, 0, 0.7f, 0.41f, 0), two[0].rigid = true;
    two[1].shape = box_shape(0.4f, 0.42f, 0, 0.6f, 0.56f, 0), two[1].rigid = true;
    two[0].density = two[1].density = 800;
    t.def.liquid = &t.liquid, t.def.liquid_count = 1, t.def.bodies = two, t.def.body_count = 2;
    BrimSim *s = NULL;
    CHECK_OK(brim_sim_create(&t.def, &s, &error), error);
    for (int f = 0; f < 60; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    BrimBodyState low, high;
    CHECK_OK(brim_sim_body_state(s, 0, &low, &error), error);
    CHECK_OK(brim_sim_body_state(s, 1, &high, &error), error);
    CHECK_NEAR(low.low.y, 0.2, 0.1 / 32);
    CHECK_NEAR(high.low.y, low.high.y, 0.2 / 32);
    CHECK_NEAR(low.center.x, 0.5, 0.01);
    CHECK_NEAR(high.contact.y, high.mass * 9.81, 0.05 * high.mass * 9.81);
    // from below both weights, from above the other's: what remains carries its own
    CHECK_NEAR(low.contact.y, low.mass * 9.81, 0.02 * low.mass * 9.81);
    brim_sim_destroy(&s);
}

TEST(bodies_come_from_the_cache_to_the_bit) {
    // the second time from the file, the third from a damaged one, with other content from none
    uint64_t hash[4];
    const char *folder = at("cache");
    for (int n = 0; n < 4; n++) {
        Tank t;
        BrimError error;
        tank_init(&t, 2, 32);
        t.def.cache = folder;
        t.body.density = 400, t.body.young = n == 3 ? 4e4f : 3e4f, t.body.modes = 6;
        t.body.friction = (float)n; // decides nothing of what is kept
        if (n == 2) {
            char command[600];
            snprintf(command, sizeof command,
                     "for f in '%s'/body-*; do printf x | dd of=$f bs=1 "
                     "seek=5000 conv=notrunc 2>/dev/null; done",
                     folder);
            CHECK(system(command) == 0);
        }
        BrimSim *s = tank_sim(&t, &error);
        CHECK(s);
        for (int f = 0; f < 3; f++) CHECK_OK(brim_sim_step(s, &error), error);
        hash[n] = hash_of(s);
        brim_sim_destroy(&s);
    }
    CHECK(hash[0] == hash[1]);
    CHECK(hash[0] == hash[2]);
    CHECK(hash[0] != hash[3]);
}

/// A rubber ring full of water that spins without weight: mean pressure in it over the square of
/// its spin, which the water slows down, Pa s2, and how much its hole has grown.
static double balloon(double step, double spin, double *grown, BrimError *error) {
    *grown = NAN;
    Tank t;
    tank_init(&t, 2, 40);
    BrimShapeDef round[2] = {brim_default_shape_def(), brim_default_shape_def()};
    for (int i = 0; i < 2; i++) {
        round[i].kind = BRIM_SHAPE_SPHERE, round[i].radius = i ? 0.2f : 0.3f;
        round[i].position = (BrimVec3){0.5f, 0.5f, 0};
    }
    t.body.shape = brim_default_shape_def();
    t.body.shape.kind = BRIM_SHAPE_DIFFERENCE;
    t.body.shape.children = round, t.body.shape.child_count = 2;
    t.body.spin.z = (float)spin, t.body.young = 2e5f, t.body.poisson = 0.3f;
    t.liquid.shape = round[1];
    t.def.gravity = (BrimVec3){0, 0, 0}, t.def.step = step;
    BrimSim *s = tank_sim(&t, error);
    if (!s) return NAN;
    double sum = 0, count = 0, area = 0, turned;
    for (int f = 0; f < 40; f++) {
        if (brim_sim_advance_frame(s, error) != BRIM_OK) return NAN;
        turned = pow((double)state_of(s).spin.z, 2);
        for (int c = 0; f >= 20 && c < s->grid.tile_count * s->grid.tile_cells; c++)
            if (pressure_at(s, c) != 0)
                sum += pressure_at(s, c) * 1000.0 * s->dx / s->projection.kick / turned, count++;
    }
    const Body *b = &s->bodies->body[0];
    double rest = 0, centre[3], velocity[3];
    elastic_centre(b->elastic, centre, velocity);
    for (size_t i = 0; i < b->surface.triangle_count; i++) {
        const uint32_t *v = b->surface.triangles[i];
        const float *p = b->surface.vertices[v[0]], *q = b->surface.vertices[v[1]];
        const double *x = b->rest[v[0]], *y = b->rest[v[1]];
        if (hypot(x[0] - 0.5, x[1] - 0.5) > 0.25) continue; // the hole's outline
        area += (p[0] - centre[0]) * (q[1] - centre[1]) - (q[0] - centre[0]) * (p[1] - centre[1]);
        rest += (x[0] - 0.5) * (y[1] - 0.5) - (y[0] - 0.5) * (x[1] - 0.5);
    }
    *grown = area / rest - 1;
    brim_sim_destroy(&s);
    return sum / count;
}

TEST(bodies_balloon_has_its_pressure_by_its_stretch) {
    // Lame's ring, plane strain, that spins: the water keeps the radius of the hole, and pulls
    double spin = 6, a = 0.2, b = 0.3, young = 2e5 / (1 - 0.09), nu = 0.3 / 0.7;
    double c = (1 - nu * nu) * 1000 * spin * spin / (8 * young);
    // u = A r + B / r - c r^3, u(a) = 0, sigma(b) = 0
    double m = 1 + nu + (1 - nu) * a * a / (b * b);
    double k = (c * (3 + nu) * b * b + (1 - nu) * c * pow(a, 4) / (b * b)) / m;
    double other = c * pow(a, 4) - k * a * a;
    double stress =
        young / (1 - nu * nu) * (k * (1 + nu) - other * (1 - nu) / (a * a) - c * (3 + nu) * a * a);
    BrimError error = {0};
    for (int i = 0; i < 2; i++) {
        double grown, p = balloon(i ? 1.0 / 60 : 1.0 / 240, spin, &grown, &error);
        CHECK_NEAR(p * spin * spin / -stress, 1, 0.05);
        CHECK_BELOW(fabs(grown), 0.002);
    }
}

TEST(bodies_gate_of_one_cell_holds_water) {
    // a gate of rubber one cell thick, held at its foot and its top, with water on its left, for 2
    // s
    Tank t;
    BrimError error;
    tank_init(&t, 2, 32);
    t.body.shape = box_shape(0.5f, 0, 0, 0.5f + 1 / 32.0f, 1, 0);
    t.body.young = 1e7f, t.body.density = 1100, t.body.modes = 6, t.body.elements = 40;
    BrimPinDef pins[2] = {{.shape = box_shape(0.4f, -0.1f, 0, 0.6f, 0, 0)},
                          {.shape = box_shape(0.4f, 1, 0, 0.6f, 1.1f, 0)}};
    t.body.pins = pins, t.body.pin_count = 2;
    t.liquid.shape = box_shape(0, 0, 0, 0.5f, 0.6f, 0);
    t.def.liquid = &t.liquid, t.def.liquid_count = 1, t.def.bodies = &t.body, t.def.body_count = 1;
    BrimSim *s = NULL;
    CHECK_OK(brim_sim_create(&t.def, &s, &error), error);
    double most = 0;
    for (int f = 0; f < 120; f++) {
        CHECK_OK(brim_sim_advance_frame(s, &error), error);
        double middle[3];
        case_displacement(s->bodies->body[0].elastic, 0.5, 0.4, 0, middle);
        most = fmax(most, middle[0]);
    }
    CHECK(most > 0.2 / 32); // it gives way
    const BrimParticles p = brim_sim_particles(s);
    const Body *b = &s->bodies->body[0];
    int across = 0;
    for (size_t i = 0; i < p.count; i++) {
        // beside the nearest point of the gate, on which side of its middle
        float foot[3], row[ELASTIC_DOFS_MOST], at[3] = {p.x[i], p.y[i], 0};
        body_wall(b, at, foot, row);
        across += p.x[i] > foot[0] + 0.5f / 32 && p.x[i] > 0.5f;
    }
    CHECK(across == 0);
    brim_sim_destroy(&s);
}

TEST(bodies_work_of_pressure_is_power_of_walls) {
    // q.(B v) = (B^T q).v to rounding, and B^T 1 = 0 for shifts of a body under water
    Tank t;
    BrimError error;
    tank_init(&t, 2, 32);
    t.body.shape = box_shape(0.3f, 0.15f, 0, 0.6f, 0.35f, 0), t.body.shape.rotation.z = 20;
    t.body.modes = 4, t.body.elements = 16;
    BrimSim *s = tank_sim(&t, &error);
    CHECK(s);
    for (int f = 0; f < 3; f++) CHECK_OK(brim_sim_step(s, &error), error);
    const Body *b = &s->bodies->body[0];
    int r = b->elastic->r;
    double v[ELASTIC_DOFS_MOST], work = 0, power = 0, shift[2] = {0}, all = 0;
    for (int i = 0; i < b->elastic->dofs; i++) v[i] = hash_unit(hash_mix((uint64_t)i), 1) - 0.5;
    for (int i = 0; i < b->elastic->dofs; i++) power += b->pressure[i] * v[i];
    for (size_t n = 0; n < b->cell_count; n++) {
        const BodyCell *c = &b->cell[n];
        double pushed = 0;
        for (int i = 0; i < r; i++)
            for (int a = 0; a < 2; a++)
                pushed += (double)c->push[a] * (double)b->cell_row[n * (size_t)r + (size_t)i] *
                          v[2 * i + a];
        work += s->bodies->mass * s->pressure[s->bodies->cell[c->at]] * pushed / b->elastic->kick;
        for (int a = 0; a < 2; a++) shift[a] += c->area[a], all += fabsf(c->area[a]);
    }
    CHECK_NEAR(work / power, 1, 1e-9);
    CHECK_BELOW(fabs(shift[0]) + fabs(shift[1]), 1e-5 * all);
    brim_sim_destroy(&s);
}

/// What the heap holds, bytes; 0 where a sanitizer has a heap of its own.
static double heap_bytes(void) {
    const struct mallinfo2 m = mallinfo2();
    return (double)m.uordblks + (double)m.hblkhd;
}

/// What bodies hold is part of the statistics: matrices of many motions, surfaces, what couples.
/// Without it they told 0.17 of what an elastic one takes.
TEST(bodies_memory_is_counted) {
    for (int kind = 0; kind < 4; kind++) { // elastic, rigid, immersed, projective
        Tank t;
        BrimError error;
        tank_init(&t, 3, 20);
        t.body.rigid = kind == 1, t.body.modes = 24, t.body.elements = 300;
        if (kind >= 2) t.body.coupling = BRIM_COUPLING_IMMERSED;
        if (kind == 3) t.body.solver = BRIM_BODY_PROJECTIVE, t.body.handles = 6;
        if (kind == 3) t.body.subspace = BRIM_SUBSPACE_HANDLES;
        const double before = heap_bytes();
        BrimSim *s = tank_sim(&t, &error);
        CHECK(s);
        for (int i = 0; s && i < 3; i++) CHECK_OK(brim_sim_step(s, &error), error);
        const double held = heap_bytes() - before;
        if (s && held > 0) CHECK_NEAR((double)s->stats.memory_bytes / held, 1, 0.08);
        brim_sim_destroy(&s);
    }
}
