// Solids hold, drive and do not let in: thin walls, cups, moving obstacles, very large steps.
#include "cases_random.h"
#include "cases_walls.h"
#include "step/state.h"
#include "test.h"

/// Particles on the far side of x = `x`.
static int beyond(const BrimSim *sim, double x) {
    BrimParticles p = brim_sim_particles(sim);
    int count = 0;
    for (size_t i = 0; i < p.count; i++) count += p.x[i] > x;
    return count;
}

/// Water behind a wall one cell thick from floor to ceiling; `shift` cells off the grid.
static Case walled_case(int dim, int n, double shift, double cfl) {
    Case c = case_box(dim, 1, n, n, n);
    float dx = 1.0f / (float)n, at = 0.5f + (float)shift * dx;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){at, 0.7f, 1}));
    case_solid(&c, box_between((BrimVec3){at, -1, -1}, (BrimVec3){at + dx, 2, 2}));
    c.def.cfl = cfl;
    c.def.frame_rate = 10; // leaves the step to cfl
    return c;
}

TEST(a_wall_of_one_cell_holds_water) {
    static const double shifts[] = {0, 0.5, 0.25};
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < (dim == 2 ? 3 : 2); k++)
            for (double cfl = 1; cfl <= 5; cfl += dim == 2 ? 2 : 4) {
                int n = dim == 2 ? 32 : 16;
                Case c = walled_case(dim, n, shifts[k], cfl);
                // shaken, so that it splashes against the wall
                c.def.gravity_key_count = 3;
                c.gravity_keys[0] = (BrimGravityKey){0, {6, -9.81f, 0}};
                c.gravity_keys[1] = (BrimGravityKey){0.5, {-6, -9.81f, 0}};
                c.gravity_keys[2] = (BrimGravityKey){1.0, {9, -9.81f, 0}};
                BrimError error;
                BrimSim *sim;
                CHECK_OK(case_create(&c, &sim, &error), error);
                CHECK_OK(run_until(sim, dim == 2 ? 3 : 2, &error), error);
                CHECK(beyond(sim, 0.5 + (shifts[k] + 0.5) / n) == 0);
                CHECK(brim_sim_stats(sim)->particles == brim_sim_stats(sim)->seeded);
                brim_sim_destroy(&sim);
            }
}

/// A round bowl without a lid; its wall is one cell thick. 2D and 3D.
static void bowl(Case *c, float dx) {
    c->parts[0] = ball((BrimVec3){0.5f, 0.45f, 0.5f}, 0.3f + dx);
    c->parts[1] = ball((BrimVec3){0.5f, 0.45f, 0.5f}, 0.3f);
    c->parts[2] = box_between((BrimVec3){0, 0.5f, 0}, (BrimVec3){1, 1, 1});
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_DIFFERENCE;
    shape.children = c->parts, shape.child_count = 3;
    case_solid(c, shape);
}

/// Particles outside the bowl, below its rim.
static int outside_bowl(const BrimSim *sim, int dim, float dx) {
    BrimParticles p = brim_sim_particles(sim);
    int count = 0;
    for (size_t i = 0; i < p.count; i++) {
        float x = p.x[i] - 0.5f, y = p.y[i] - 0.45f, z = dim == 3 ? p.z[i] - 0.5f : 0;
        count += p.y[i] < 0.5f && sqrtf(x * x + y * y + z * z) > 0.3f + 0.5f * dx;
    }
    return count;
}

/// Deepest that a particle is in the bowl's wall, cells.
static double deepest_in_bowl(const BrimSim *sim, int dim, float dx) {
    BrimParticles p = brim_sim_particles(sim);
    double worst = 0;
    for (size_t i = 0; i < p.count; i++) {
        double x = p.x[i] - 0.5, y = p.y[i] - 0.45, z = dim == 3 ? p.z[i] - 0.5 : 0;
        double r = sqrt(x * x + y * y + z * z);
        double depth = fmin(fmin(0.3 + dx - r, r - 0.3), 0.5 - p.y[i]);
        worst = fmax(worst, depth / dx);
    }
    return worst;
}

/// The wall parts cells into corners that do not meet: no water may flow through them. And no node
/// of the grid may lie deep in it: particles meet its true sides all the same.
TEST(a_round_wall_of_one_cell_holds_water) {
    for (int run = 0; run < 8; run++) {
        int dim = run < 4 ? 2 : 3, n = dim == 2 ? 64 : 32;
        float dx = 1.0f / (float)n;
        Case c = case_box(dim, 1, n, n, n);
        bowl(&c, dx);
        c.parts[3] = ball((BrimVec3){0.5f, 0.45f, 0.5f}, 0.3f);
        c.parts[4] = box_between((BrimVec3){0, 0.4f, 0}, (BrimVec3){1, 1, 1});
        BrimShapeDef water = brim_default_shape_def();
        water.kind = BRIM_SHAPE_DIFFERENCE;
        water.children = c.parts + 3, water.child_count = 2;
        case_liquid(&c, water);
        c.def.volume = run & 1 ? BRIM_VOLUME_DENSITY : BRIM_VOLUME_NONE;
        c.def.cfl = run & 2 ? 20 : 1;
        c.def.frame_rate = run & 2 ? 10 : 100;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, dim == 2 ? 3 : 1, &error), error);
        CHECK(outside_bowl(sim, dim, dx) == 0);
        CHECK_BELOW(deepest_in_bowl(sim, dim, dx), 0.02);
        // It stays calm, as behind a thick wall: nothing of it falls beyond the wall, none piles
        // up. Without a volume method long steps compress water anywhere.
        if (c.def.cfl == 1 || c.def.volume == BRIM_VOLUME_DENSITY)
            CHECK_NEAR(brim_sim_stats(sim)->volume_cells, 1, 0.08);
        if (c.def.cfl == 1) CHECK_BELOW(energy_per_mass(sim) / (9.81 * 0.25), 1e-4);
        brim_sim_destroy(&sim);
    }
}

/// A fixed step of `step` s, or with 0 one by `cfl`.
static void set_step(Case *c, double step, double cfl) {
    c->def.step = step, c->def.cfl = cfl;
    c->def.frame_rate = 10; // leaves the step to them
}

/// A plate of little more than a cell from floor to ceiling drives water before it, many cells a
/// step or a part of one.
TEST(a_thin_plate_takes_all_water_along) {
    static const BrimKeyframe keys[] = {{.time = 0}, {.time = 0.8, .position = {1, 0, 0}}};
    static const struct {
        int dim;
        double step, cfl;
        BrimVolume volume;
    } runs[] = {{2, 0.02, 1, BRIM_VOLUME_DENSITY}, {2, 0.005, 1, BRIM_VOLUME_DENSITY},
                {2, 0, 1, BRIM_VOLUME_NONE},       {2, 0, 20, BRIM_VOLUME_DENSITY},
                {3, 0.02, 1, BRIM_VOLUME_DENSITY}, {3, 0, 5, BRIM_VOLUME_NONE}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        int n = runs[k].dim == 2 ? 64 : 32;
        float dx = 1.0f / (float)n;
        Case c = case_box(runs[k].dim, 2, 2 * n, n, 8);
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){2, 0.4f, 1}));
        case_solid(&c, box_between((BrimVec3){0.3f, -1, -1}, (BrimVec3){0.3f + 1.25f * dx, 2, 2}));
        c.solids[0].motion = BRIM_MOTION_KEYFRAMES;
        c.solids[0].keyframes = keys, c.solids[0].keyframe_count = 2;
        c.def.volume = runs[k].volume;
        set_step(&c, runs[k].step, runs[k].cfl);
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        int before = beyond(sim, 0.3 + 0.6 * dx);
        CHECK_OK(run_until(sim, 1, &error), error);
        CHECK(before > 0 && beyond(sim, 1.3 + 0.6 * dx) == before);
        brim_sim_destroy(&sim);
    }
}

/// Particles outside a square of this half width around a point, turned by an angle.
static int outside_box(const BrimSim *sim, double x, double y, double angle, double half) {
    BrimParticles p = brim_sim_particles(sim);
    int count = 0;
    for (size_t i = 0; i < p.count; i++) {
        double dx = p.x[i] - x, dy = p.y[i] - y, c = cos(angle), d = sin(angle);
        count += fabs(c * dx + d * dy) > half || fabs(c * dy - d * dx) > half;
    }
    return count;
}

/// A closed box with walls of one cell is carried away and turned: its water comes along, however
/// long the steps.
TEST(a_thin_box_keeps_its_water_while_it_is_carried_and_turned) {
    static const BrimKeyframe keys[] = {{.time = 0, .position = {0.6f, 1, 0.125f}},
                                        {0.8, {2.2f, 1.2f, 0.125f}, {0, 0, 120}}};
    for (int run = 0; run < 5; run++) {
        int dim = run < 4 ? 2 : 3, n = dim == 2 ? 64 : 32;
        float dx = 1.0f / (float)n, in = 0.25f, out = in + dx;
        Case c = case_box(dim, 3, 3 * n, 2 * n, 8);
        c.parts[0] = box_between((BrimVec3){-out, -out, -1}, (BrimVec3){out, out, 1});
        c.parts[1] = box_between((BrimVec3){-in, -in, -1}, (BrimVec3){in, in, 1});
        BrimShapeDef shape = brim_default_shape_def();
        shape.kind = BRIM_SHAPE_DIFFERENCE;
        shape.children = c.parts, shape.child_count = 2;
        case_solid(&c, shape);
        c.solids[0].motion = BRIM_MOTION_KEYFRAMES;
        c.solids[0].keyframes = keys, c.solids[0].keyframe_count = 2;
        case_liquid(&c, box_between((BrimVec3){0.37f, 0.77f, 0}, (BrimVec3){0.83f, 1.1f, 1}));
        c.def.transfer = run == 1 ? BRIM_TRANSFER_APIC : BRIM_TRANSFER_FLIP;
        set_step(&c, run == 0 || run == 4 ? 0.02 : 0, run == 3 ? 20 : 2);
        if (run == 2) c.def.volume = BRIM_VOLUME_NONE;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 1, &error), error);
        CHECK(outside_box(sim, 2.2, 1.2, 120 * M_PI / 180, in + 0.5 * dx) == 0);
        CHECK(brim_sim_stats(sim)->particles == brim_sim_stats(sim)->seeded);
        brim_sim_destroy(&sim);
    }
}

/// The host puts a solid into the water at once: that is no motion, neither for the water nor for
/// the length of the step.
TEST(a_solid_put_elsewhere_at_once_has_no_speed) {
    Case c = case_box(2, 2, 128, 64, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){2, 0.4f, 1}));
    c.def.frame_rate = 50;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    BrimSolidDef solid = brim_default_solid_def();
    solid.shape = box_between((BrimVec3){0.2f, 0.5f, -1}, (BrimVec3){0.4f, 0.7f, 1});
    int index;
    CHECK_OK(brim_sim_add_solid(sim, &solid, &index, &error), error);
    CHECK_OK(brim_sim_move_solid(sim, index, (BrimVec3){1, -0.35f, 0}, (BrimVec3){0}, 0, &error),
             error);
    CHECK_OK(run_until(sim, 0.4, &error), error);
    const BrimStats *s = brim_sim_stats(sim);
    CHECK(s->step < 200 && s->particles == s->seeded);
    CHECK_BELOW(s->max_speed, 5);
    const float x = 1.3f, y = 0.25f;
    float d;
    brim_sim_solid_distance(sim, 1, &x, &y, NULL, &d);
    CHECK(d < 0);
    brim_sim_destroy(&sim);
}

/// A drop falls into a round bowl with a wall of one cell, which no grid resolves: what gets stuck
/// in it must not go on falling in place and come out faster than anything can fall.
TEST(a_wall_too_thin_to_resolve_lets_nothing_gather_speed) {
    for (int volume = 0; volume < 2; volume++)
        for (int transfer = 0; transfer < 2; transfer++) {
            Case c = case_box(2, 1, 32, 32, 1);
            bowl(&c, 1.0f / 32);
            case_liquid(&c, ball((BrimVec3){0.5f, 0.8f, 0}, 0.1f));
            c.def.volume = volume ? BRIM_VOLUME_DENSITY : BRIM_VOLUME_NONE;
            c.def.transfer = (BrimTransfer)transfer;
            c.def.cfl = 2;
            BrimError error;
            BrimSim *sim;
            CHECK_OK(case_create(&c, &sim, &error), error);
            double fastest = 0;
            CHECK_OK(run_until(sim, 2, &error), error); // the splash is over
            while (brim_sim_time(sim) < 3) {
                CHECK_OK(brim_sim_step(sim, &error), error);
                fastest = fmax(fastest, brim_sim_stats(sim)->max_speed);
            }
            CHECK_BELOW(fastest, sqrt(2 * 9.81 * 1));
            brim_sim_destroy(&sim);
        }
}

TEST(a_turning_cuboid_drives_the_water) {
    for (int dim = 2; dim <= 3; dim++) {
        Case c = dim == 2 ? case_tank(2, 32, 1) : case_tank(3, 20, 0.6f);
        BrimVec3 low = {0.25f, dim == 2 ? 0.43f : 0.1f, 0.43f};
        BrimVec3 high = {0.75f, dim == 2 ? 0.57f : 0.5f, 0.57f};
        case_solid(&c, box_between(low, high));
        c.solids[0].motion = BRIM_MOTION_ROTATION;
        c.solids[0].axis = dim == 2 ? (BrimVec3){0, 0, 1} : (BrimVec3){0, 1, 0};
        c.solids[0].rate = 180;
        if (dim == 2) c.def.gravity = (BrimVec3){0, 0, 0};
        BrimError error;
        BrimSim *sim;
        const double centre[3] = {0.5, 0.5, 0.5};
        int axis = dim == 2 ? 2 : 1;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_NEAR(spin_about(sim, centre, axis), 0, 1e-9);
        CHECK_OK(run_until(sim, 0.25, &error), error);
        double early = spin_about(sim, centre, axis);
        CHECK_OK(run_until(sim, 1.5, &error), error);
        double late = spin_about(sim, centre, axis);
        // rate times mean r^2, if all the water turned with the cuboid: pi * 0.11 = 0.5
        CHECK(early > 0.005 && late > 1.5 * early && late < 0.5);
        CHECK(brim_sim_stats(sim)->particles == brim_sim_stats(sim)->seeded);
        brim_sim_destroy(&sim);
    }
}

TEST(a_piston_moves_the_water_before_it) {
    // A wall of three cells pushes a full column of water to the right at 0.2 m/s: in a channel
    // with an open top the water rises as much as the piston displaces.
    Case c = case_box(2, 1, 40, 40, 1);
    case_liquid(&c, box_between((BrimVec3){0.2f, 0, 0}, (BrimVec3){1, 0.4f, 0}));
    static const BrimKeyframe keys[] = {{.time = 0}, {.time = 2, .position = {0.4f, 0, 0}}};
    case_solid(&c, box_between((BrimVec3){0.2f - 3 / 40.0f, -1, 0}, (BrimVec3){0.2f, 2, 0}));
    c.solids[0].motion = BRIM_MOTION_KEYFRAMES;
    c.solids[0].keyframes = keys, c.solids[0].keyframe_count = 2;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 4, &error), error);
    double centre[3];
    centre_of_mass(sim, centre);
    BrimParticles p = brim_sim_particles(sim);
    int behind = 0;
    for (size_t i = 0; i < p.count; i++) behind += p.x[i] < 0.6f - 1 / 40.0f;
    CHECK(behind == 0);
    CHECK_NEAR(centre[0], 0.8, 0.01);
    CHECK_NEAR(centre[1], 0.4, 0.02); // twice as deep: 0.8 m
    brim_sim_destroy(&sim);
}

/// Deepest that a particle is inside the solids, in cells: balls only, which the grid does not
/// round off.
static double deepest(const BrimSim *sim, BrimVec3 centre, double radius, double dx, int dim) {
    BrimParticles p = brim_sim_particles(sim);
    double worst = 0;
    for (size_t i = 0; i < p.count; i++) {
        double x = p.x[i] - centre.x, y = p.y[i] - centre.y, z = dim == 3 ? p.z[i] - centre.z : 0;
        worst = fmax(worst, (radius - sqrt(x * x + y * y + z * z)) / dx);
    }
    return worst;
}

TEST(at_cfl_20_nothing_enters_walls_and_nothing_is_lost) {
    for (int run = 0; run < (quick() ? 2 : 4); run++) {
        int dim = run < 2 ? 2 : 3, n = dim == 2 ? 96 : 40;
        Case c = case_box(dim, 1, n, n, dim == 3 ? n / 2 : 1);
        c.def.volume = run & 1 ? BRIM_VOLUME_DENSITY : BRIM_VOLUME_NONE;
        float deep = dim == 3 ? 0.5f : 0;
        const BrimVec3 centre = {0.6f, 0.12f, 0.25f};
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.35f, 0.6f, deep}));
        case_solid(&c, ball(centre, 0.12f));
        // speeds of 3 m/s and more cross 20 cells in such a step
        c.def.step = 20.0 / n / 3;
        c.def.frame_rate = 1 / c.def.step;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        double fastest = 0, worst = 0;
        for (int i = 0; i < 25; i++) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            const BrimStats *s = brim_sim_stats(sim);
            CHECK(s->particles == s->seeded);
            fastest = fmax(fastest, s->max_speed * s->dt * n);
            worst = fmax(worst, deepest(sim, centre, 0.12, 1.0 / n, dim));
            BrimParticles p = brim_sim_particles(sim);
            for (size_t k = 0; k < p.count; k++)
                CHECK(p.x[k] >= 0 && p.x[k] <= 1 && p.y[k] >= 0 && p.y[k] <= 1 && p.z[k] >= 0 &&
                      p.z[k] <= deep);
        }
        CHECK(fastest > 15); // it was a test
        CHECK_BELOW(worst, 0.1);
        brim_sim_destroy(&sim);
    }
}

TEST(a_solid_that_appears_in_the_water_pushes_it_out) {
    for (int dim = 2; dim <= 3; dim++) {
        int n = dim == 2 ? 64 : 32;
        const BrimVec3 centre = {0.5f, 0.3f, 0.5f};
        Case c = case_tank(dim, n, 0.6f);
        case_solid(&c, ball(centre, 0.25f)); // many cells deep
        c.solids[0].start = 0.1;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 1.5, &error), error); // half a cell a step
        CHECK(brim_sim_stats(sim)->particles == brim_sim_stats(sim)->seeded);
        CHECK_BELOW(deepest(sim, centre, 0.25, 1.0 / n, dim), 0.1);
        brim_sim_destroy(&sim);
    }
}

/// Cells that hold water, relative to the start, after a dam broke over a half buried ball.
static double volume_after_dam_break(BrimTransfer transfer, BrimSurface surface, BrimError *error) {
    Case c = case_box(2, 0.5, 48, 48, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.2f, 0.3f, 0}));
    case_solid(&c, ball((BrimVec3){0.35f, 0, 0}, 0.06f));
    c.def.transfer = transfer;
    c.def.surface = surface;
    c.def.step = 0.003;
    BrimSim *sim;
    if (case_create(&c, &sim, error) != BRIM_OK) return 0;
    double volume = 0;
    if (run_until(sim, 4, error) == BRIM_OK) volume = brim_sim_stats(sim)->volume_cells;
    brim_sim_destroy(&sim);
    return volume;
}

TEST(solids_do_not_swallow_water) {
    if (quick()) return;
    BrimError error = {0};
    for (int transfer = 0; transfer < 2; transfer++)
        for (int surface = 0; surface < 2; surface++) {
            double volume =
                volume_after_dam_break((BrimTransfer)transfer, (BrimSurface)surface, &error);
            CHECK_OK(error.result, error);
            CHECK(volume > 0.8);
        }
}

TEST(there_are_as_many_particles_as_there_is_room_around_a_solid) {
    // the solid's sides lie a tenth of a cell outside points of the lattice: as whole points 444
    // particles would be missing
    Case c = case_tank(3, 16, 1);
    float low = 4.15f / 16, high = 11.85f / 16;
    case_solid(&c, box_between((BrimVec3){low, low, low}, (BrimVec3){high, high, high}));
    BrimError error;
    BrimSim *s;
    CHECK_OK(case_create(&c, &s, &error), error);
    double room = 8 * (16.0 * 16 * 16 - 7.7 * 7.7 * 7.7), count = (double)s->particles.count;
    // about 1,400 points are cut, each kept or not: a standard deviation of 14
    CHECK_NEAR(count, room, 42);
    int inside = 0;
    for (size_t i = 0; i < s->particles.count; i++) {
        float depth = 1;
        for (int a = 0; a < 3; a++) {
            float x = s->particles.attr[ATTR_X + a][i];
            depth = fminf(depth, fminf(x - low, high - x));
        }
        inside += depth > 0.13f / 16; // beyond the jitter
    }
    CHECK(inside == 0);
    brim_sim_destroy(&s);
}

/// No friction along slanted and curved walls, and none where parts of a shape meet.
TEST(waves_between_slanted_walls_keep_time_and_height) {
    BrimError error = {0};
    Swing s = v_tank(50, NULL, 9, &error);
    CHECK_OK(error.result, error);
    CHECK_NEAR(s.period, s.exact, 0.004 * s.exact);
    CHECK(fabs(s.decay) < 0.01);
}

TEST(waves_in_a_u_tube_keep_time_and_height) {
    BrimError error = {0};
    if (quick()) return;
    Swing s = u_tube(100, NULL, 9, &error);
    CHECK_OK(error.result, error);
    CHECK_NEAR(s.period, s.exact, 0.004 * s.exact);
    CHECK(fabs(s.decay) < 0.01);
}

TEST(waves_in_a_cylinder_keep_time_and_height) {
    BrimError error = {0};
    if (quick()) return;
    Swing s = cylinder_tank(15, NULL, 7, &error);
    CHECK_OK(error.result, error);
    CHECK_NEAR(s.period, s.exact, 0.006 * s.exact);
    CHECK_BELOW(fabs(s.decay), 0.01);
}

/// Seeds beside them fill cells unevenly; that is settled before the first step, not by waves.
TEST(water_rests_between_slanted_and_round_walls) {
    BrimError error = {0};
    double speed = rest_at_walls(2, 64, 5, &error);
    CHECK_OK(error.result, error);
    CHECK_BELOW(speed, 1e-5);
}

/// The density projection does not hold rows of particles to the grid.
TEST(waves_lower_than_a_cell_keep_time_and_height) {
    for (int n = 15; n <= 20; n += 5) {
        BrimError error = {0};
        Swing s = low_wave(2, n, 0, 1, 9, &error); // without jitter, whose waves are as high
        CHECK_OK(error.result, error);
        CHECK_NEAR(s.period, s.exact, 0.006 * s.exact);
        CHECK_BELOW(fabs(s.decay), 0.05);
    }
}

/// Nor does it lift a wave by what rows of particles seem to be too many where they cross the end
/// of a cell's kernel. With jitter single waves differ by some percent, so it is the mean of eight.
TEST(waves_lower_than_a_cell_do_not_grow_by_jitter) {
    double decay = 0, period = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        BrimError error = {0};
        Swing s = low_wave(2, 15, 0.5f, seed, 9, &error);
        CHECK_OK(error.result, error);
        decay += s.decay / 8, period += s.period / s.exact / 8;
    }
    CHECK_NEAR(period, 1, 0.004);
    CHECK_BELOW(fabs(decay), 0.025); // -0.05 with a ramp of one and a half spacings
    if (quick()) return;
    BrimError error = {0};
    Swing s = low_wave(3, 15, 0.5f, 1, 9, &error);
    CHECK_OK(error.result, error);
    CHECK_NEAR(s.period, s.exact, 0.004 * s.exact); // it was 1.3 % short
    CHECK_BELOW(fabs(s.decay), 0.03);               // -0.07
}

/// Without a volume method the flow along a round wall leaves cells beside it empty for a moment.
/// They lie under half a metre of water: taken for air they would suck it in at 4.6 m/s, to pile
/// up.
TEST(cells_left_empty_beside_a_round_wall_suck_nothing_in) {
    enum { SEEDS = 6 };
    double volume = 0;
    for (int seed = 1; seed <= (quick() ? 1 : SEEDS); seed++) {
        Case c = u_case(100);
        u_join(&c);
        c.def.volume = BRIM_VOLUME_NONE, c.def.seed = (uint64_t)seed;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        BrimParticles p = brim_sim_particles(sim);
        for (size_t i = 0; i < p.count; i++) {
            double x = p.x[i] - 0.5, y = p.y[i] - 0.5, r = fmax(hypot(x, y), 0.1);
            p.vx[i] = y > 0 ? 0 : (float)(-0.3 * y / r);
            p.vy[i] = y > 0 ? x > 0 ? 0.3f : -0.3f : (float)(0.3 * x / r);
        }
        double fastest = 0;
        while (brim_sim_time(sim) < 2) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            fastest = fmax(fastest, brim_sim_stats(sim)->max_speed);
        }
        CHECK_BELOW(fastest, 1.6); // without gravity's help 0.3
        CHECK(brim_sim_stats(sim)->volume > 0.985);
        while (!quick() && brim_sim_time(sim) < 9) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            fastest = fmax(fastest, brim_sim_stats(sim)->max_speed);
        }
        CHECK_BELOW(fastest, 1.6); // 2.9 where some cells without air beside them were air
        volume += brim_sim_stats(sim)->volume / SEEDS;
        brim_sim_destroy(&sim);
    }
    if (!quick()) CHECK(volume > 0.971); // 0.975; 0.968 with such cells
}

/// A block of water leaves a source that lies a part of a cell above a solid, along it: its toe
/// runs ahead as that of a breaking dam, 2 sqrt(g h), and nothing is faster.
TEST(a_source_just_above_a_solid_shoots_nothing) {
    for (int run = 0; run < (quick() ? 9 : 36); run++) {
        static const float above[] = {0.1f, 0.4f, 0.9f};
        int dim = run < 27 ? 2 : 3, kind = run / 3 % 3, n = dim == 2 ? 48 : 24;
        float y = 0.313f, lift = above[run % 3] / (float)n;
        Case c = case_box(dim, 1, n, n, n);
        BrimShapeDef s = box_between((BrimVec3){0.2f, -0.1f, -1}, (BrimVec3){0.8f, y, 2});
        if (kind == 1) {
            s = brim_default_shape_def();
            s.kind = BRIM_SHAPE_PLANE;
            s.position = (BrimVec3){0.5f, y, 0.5f}, s.normal = (BrimVec3){0.35f, 1, 0.1f};
            lift += 0.0225f; // its upper edge
        }
        if (kind == 2) s = ball((BrimVec3){0.5f, y - 0.2f, 0.5f}, 0.2f);
        case_solid(&c, s);
        c.sources[0] = brim_default_source_def();
        c.sources[0].shape = box_between((BrimVec3){0.45f, y + lift, 0.45f},
                                         (BrimVec3){0.55f, y + lift + 0.1f, 0.55f});
        c.sources[0].velocity = (BrimVec3){2.6f, 0, 0};
        c.def.source_count = 1;
        c.def.volume = run / 9 == 0 ? BRIM_VOLUME_NONE : BRIM_VOLUME_DENSITY;
        c.def.band_width = run / 9 == 2 ? 3 : 0;
        BrimError error;
        BrimSim *sim;
        double fastest = 0;
        CHECK_OK(case_create(&c, &sim, &error), error);
        while (brim_sim_time(sim) < 0.14) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            fastest = fmax(fastest, brim_sim_stats(sim)->max_speed);
        }
        CHECK(fastest > 2.6);
        CHECK_BELOW(fastest, 1.05 * (2.6 + 2 * sqrt(9.81 * 0.12)));
        brim_sim_destroy(&sim);
    }
}

/// The same over a ball: the sheet that it becomes strikes the floor, where a little of it is shot
/// along at three times the speed of its fall. The rest pays for that: less what sources brought,
/// the energy of all never rises.
TEST(a_source_brings_no_more_energy_than_its_water_has) {
    for (int run = 0; run < 2; run++) {
        const float y = 0.313f, low = y + 0.4f / 48;
        Case c = case_box(2, 1, 48, 48, 1);
        case_solid(&c, ball((BrimVec3){0.5f, y - 0.2f, 0.5f}, 0.2f));
        c.sources[0] = brim_default_source_def();
        c.sources[0].shape =
            box_between((BrimVec3){0.45f, low, 0.45f}, (BrimVec3){0.55f, low + 0.1f, 0.55f});
        c.sources[0].velocity = (BrimVec3){2.6f, 0, 0};
        c.def.source_count = 1;
        c.def.volume = run ? BRIM_VOLUME_DENSITY : BRIM_VOLUME_NONE;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        double each = 0.5 * 2.6 * 2.6 + 9.81 * ((double)low + 0.05), least = INFINITY, risen = 0;
        while (brim_sim_time(sim) < 0.6) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            double mass = 1000.0 * (double)brim_sim_particles(sim).count / (48 * 48 * 9);
            double energy = mass * (random_energy(sim) - each);
            least = fmin(least, energy), risen = fmax(risen, energy - least);
        }
        double brought = 0.5 * 2.6 * 2.6 * 1000 * 2.6 * 0.1 * 0.6;
        CHECK_BELOW(risen, (run ? 0.002 : 0.02) * brought);
        brim_sim_destroy(&sim);
    }
}

/// Two walls of the tank's height close in on water that soon has nowhere to go: it is compressed,
/// and no particle is shot about.
TEST(walls_that_squeeze_water_shoot_nothing) {
    static const BrimKeyframe right[] = {{.time = 0}, {.time = 1, .position = {0.25f, 0, 0}}};
    static const BrimKeyframe left[] = {{.time = 0}, {.time = 1, .position = {-0.25f, 0, 0}}};
    for (int run = 0; run < (quick() ? 3 : 6); run++) {
        int dim = run < 3 ? 2 : 3, n = dim == 2 ? 48 : 24;
        Case c = case_box(dim, 1, n, n, 8);
        case_liquid(&c, box_between((BrimVec3){0.1f, 0, 0}, (BrimVec3){0.9f, 0.75f, 1}));
        case_solid(&c, box_between((BrimVec3){-0.3f, -0.1f, -1}, (BrimVec3){0.1f, 1.1f, 2}));
        case_solid(&c, box_between((BrimVec3){0.9f, -0.1f, -1}, (BrimVec3){1.3f, 1.1f, 2}));
        for (int i = 0; i < 2; i++) {
            c.solids[i].motion = BRIM_MOTION_KEYFRAMES, c.solids[i].keyframe_count = 2;
            c.solids[i].keyframes = i ? left : right;
        }
        c.def.volume = run % 3 == 0 ? BRIM_VOLUME_NONE : BRIM_VOLUME_DENSITY;
        c.def.band_width = run % 3 == 2 ? 3 : 0;
        BrimError error;
        BrimSim *sim;
        double fastest = 0;
        CHECK_OK(case_create(&c, &sim, &error), error);
        while (brim_sim_time(sim) < 1) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            fastest = fmax(fastest, brim_sim_stats(sim)->max_speed);
        }
        CHECK_BELOW(fastest, 4.4); // a fall through the tank
        brim_sim_destroy(&sim);
    }
}

/// Cells beside the solids, not in them, with liquid at all their open faces that are dry.
static int enclosed_dry(const BrimSim *sim) {
    const BrimSimDef *d = brim_sim_def(sim);
    const int nx = d->cells[0], ny = d->cells[1];
    const size_t cells = (size_t)nx * (size_t)ny;
    float *phi = malloc(cells * sizeof *phi), *solid = malloc(cells * sizeof *solid);
    int dry = 0;
    bool read = phi && solid &&
                brim_sim_field(sim, BRIM_FIELD_LEVEL_SET, phi, cells, NULL) == BRIM_OK &&
                brim_sim_field(sim, BRIM_FIELD_SOLID, solid, cells, NULL) == BRIM_OK;
    for (int i = 0; read && i < nx * (ny - 1); i++) {
        static const int side[4][2] = {{-1, 0}, {1, 0}, {0, 1}, {0, -1}};
        int x = i % nx, open = 0, wet = 0;
        if (x == 0 || x == nx - 1 || phi[i] < 0) continue;
        if (!(solid[i] > 0 && solid[i] < 1.5f * d->size.x / (float)nx)) continue;
        for (int k = 0; k < (i < nx ? 3 : 4); k++) { // the floor is shut
            int next = i + side[k][0] + side[k][1] * nx;
            open += solid[next] > 0, wet += solid[next] > 0 && phi[next] < 0;
        }
        dry += open > 0 && wet == open;
    }
    free(phi), free(solid);
    return read ? dry : -1;
}

/// A dam breaks against a box: no cell beside it is dry that has water at all its open faces, nor
/// in the corner between it and the floor.
TEST(no_cell_beside_a_box_is_dry_under_water) {
    Case c = case_box(2, 1.2, 120, 60, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.45f, 0.4f, 0}));
    case_solid(&c, box_between((BrimVec3){0.7f, -0.1f, -1}, (BrimVec3){0.86f, 0.161f, 1}));
    c.def.volume = BRIM_VOLUME_NONE, c.def.frame_rate = 60;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int frame = 1; frame <= 54; frame++) {
        CHECK_OK(run_until(sim, frame / 60.0, &error), error);
        CHECK(enclosed_dry(sim) == 0);
    }
    brim_sim_destroy(&sim);
}

/// Scenes by chance; `make validate VALIDATE=random` runs 200. Those with a number below 1000 lost
/// water through their walls once, by compression (15, 30, 31: 0.86, 0.57, 0.71 were left), or in
/// the account of a band (98, 137: 0.73, 0.86).
TEST(vessels_by_chance_keep_their_water) {
    static const int seeds[] = {107,  137, 151, 53, 1000, 1001, 15,   30,   31,  1002,
                                1003, 4,   186, 98, 1004, 1005, 1006, 1007, 1008};
    for (size_t k = 0; k < (quick() ? 9 : sizeof seeds / sizeof *seeds); k++) {
        RandomResult r = random_scene((uint64_t)seeds[k], 0.6, true);
        CHECK(r.volume > (strstr(r.what, "band") ? 0.92 : 0.95)); // at any time, at CFL up to 19
        CHECK(r.outside == 0);
        CHECK(!r.open);
        CHECK(r.particles > 0);
        CHECK(r.gained < 0.02);
        CHECK(!random_too_fast(&r));
    }
}

/// A closed box with walls of one cell turns; below a band, where no particle is, nothing gets
/// through them either.
TEST(a_band_does_not_leak_through_thin_walls_that_turn) {
    for (int dim = 2; dim <= 3; dim++) {
        int n = dim == 2 ? 64 : 32;
        float dx = 1.0f / (float)n, in = 0.25f, out = in + dx;
        Case c = case_box(dim, 1, n, n, 16);
        c.parts[0] = box_between((BrimVec3){-out, -out, -1}, (BrimVec3){out, out, 1});
        c.parts[1] = box_between((BrimVec3){-in, -in, -1}, (BrimVec3){in, in, 1});
        BrimShapeDef shape = brim_default_shape_def();
        shape.kind = BRIM_SHAPE_DIFFERENCE;
        shape.children = c.parts, shape.child_count = 2;
        shape.position = (BrimVec3){0.5f, 0.5f, 0.25f};
        case_solid(&c, shape);
        c.solids[0].motion = BRIM_MOTION_ROTATION;
        c.solids[0].axis = (BrimVec3){0, 0, 1}, c.solids[0].rate = 180;
        case_liquid(&c, box_between((BrimVec3){0.26f, 0.26f, 0}, (BrimVec3){0.74f, 0.6f, 1}));
        c.def.band_width = 3;
        BrimError error;
        BrimSim *sim;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 1, &error), error);
        CHECK(outside_box(sim, 0.5, 0.5, M_PI * brim_sim_time(sim), in + 0.5 * dx) == 0);
        brim_sim_destroy(&sim);
    }
}

/// Water turns as one in a round tank without air, w = 2 / s; steps of 10 ms are cut at the ends of
/// frames, where the step before is half as long as the one after. Pressure at 0.35 m less that in
/// the middle is half rho w^2 r^2, whatever the steps.
TEST(pressure_is_right_where_steps_change) {
    enum { N = 64 };
    static float p[N * N];
    Case c = case_box(2, 1, N, N, 1);
    c.parts[0] = box_between((BrimVec3){-1, -1, 0}, (BrimVec3){2, 2, 0});
    c.parts[1] = ball((BrimVec3){0.5f, 0.5f, 0}, 0.4f);
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_DIFFERENCE;
    shape.children = c.parts, shape.child_count = 2;
    case_solid(&c, shape);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 1, 0}));
    c.def.step = 0.01, c.def.frame_rate = 40;
    c.def.output.fields = true;
    BrimError error;
    BrimSim *sim;
    CHECK_OK(case_create(&c, &sim, &error), error);
    BrimParticles q = brim_sim_particles(sim);
    for (size_t i = 0; i < q.count; i++)
        q.vx[i] = -2 * (q.y[i] - 0.5f), q.vy[i] = 2 * (q.x[i] - 0.5f);
    for (int step = 1; step <= 9; step++) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        if (step % 3) continue; // the end of a frame
        CHECK_OK(brim_sim_field(sim, BRIM_FIELD_PRESSURE, p, (size_t)N * N, &error), error);
        double sum = 0, exact = 0; // over a ring, against the middle
        int count = 0;
        for (int i = 0; i < N * N; i++) {
            double x = (i % N + 0.5) / N - 0.5, y = (i / N + 0.5) / N - 0.5, r = hypot(x, y);
            if (r < 0.3 || r > 0.36) continue;
            double still = 1000 * 9.81 * -y; // but for a constant
            sum += (double)p[i] - still, exact += 0.5 * 1000 * 4 * r * r, count++;
        }
        double middle = (double)p[N / 2 * N + N / 2] + 1000 * 9.81 * 0.5 / N;
        CHECK_NEAR(sum / count - middle, exact / count, 0.05 * exact / count);
    }
    brim_sim_destroy(&sim);
}
