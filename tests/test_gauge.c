// Gauges against exact answers, and their files.
#include "cases.h"
#include "scratch.h"
#include "test.h"

static const double WEIGHT = 9810; ///< rho g, N/m^3

TEST(gauge_slanted_plate_and_sides) {
    BrimError error;
    BrimSim *sim;
    Case c = case_slant(32);
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK(brim_sim_gauge_count(sim) == 5);
    CHECK(strcmp(brim_sim_gauge_name(sim, SLANT_SIDE), "side") == 0);
    CHECK(strcmp(brim_sim_gauge_column(sim, SLANT_FORCE, 1), "force y (N/m)") == 0);
    CHECK(!brim_sim_gauge_column(sim, SLANT_FORCE, 3) && !brim_sim_gauge_name(sim, 5));
    CHECK(isnan(gauge_shows(sim, SLANT_FORCE, 0))); // no pressure yet
    CHECK_OK(run_until(sim, 0.5, &error), error);
    double force = 0.5 * WEIGHT * 0.25, slant = force / tan(1.04719755);
    CHECK_NEAR(gauge_shows(sim, SLANT_FORCE, 0), force, 0.01 * force);
    CHECK_NEAR(gauge_shows(sim, SLANT_FORCE, 1), -slant, 0.01 * force);
    // about the plate's foot: force times a third of its wet length
    CHECK_NEAR(gauge_shows(sim, SLANT_FORCE, 2), -force * 0.5 / 3 / 0.75, 0.02 * force);
    CHECK_NEAR(gauge_shows(sim, SLANT_SIDE, 0), -force, 0.01 * force);
    CHECK_NEAR(gauge_shows(sim, SLANT_SIDE, 2), -force * (0.375 - 0.5 / 3), 0.01 * force);
    CHECK_NEAR(gauge_shows(sim, SLANT_FLOOR, 1), -WEIGHT * 0.5, 0.01 * WEIGHT * 0.5);
    CHECK_NEAR(gauge_shows(sim, SLANT_TOP, 0), 0.5, 0.05 / 32);
    double depth = 0.5 - 0.05 * 1.7320508;
    CHECK_NEAR(gauge_shows(sim, SLANT_POINT, 0), WEIGHT * depth, 0.01 * WEIGHT * depth);
    // still, and the wall stops what is left along its normal
    double normal = gauge_shows(sim, SLANT_POINT, 1) * sin(1.04719755) -
                    gauge_shows(sim, SLANT_POINT, 2) * cos(1.04719755);
    CHECK_NEAR(normal, 0, 1e-3);
    brim_sim_destroy(&sim);
}

TEST(gauge_ball_weighs_less_by_its_water) {
    BrimError error;
    BrimSim *sim;
    Case c = case_ball(24);
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.1, &error), error);
    double lift = WEIGHT * 4 / 3 * 3.14159265 * pow(BALL_RADIUS, 3);
    CHECK_NEAR(gauge_shows(sim, BALL_FORCE, 0), 0, 0.01 * lift);
    CHECK_NEAR(gauge_shows(sim, BALL_FORCE, 1), lift, 0.02 * lift);
    CHECK_NEAR(gauge_shows(sim, BALL_FORCE, 2), 0, 0.01 * lift);
    for (int a = 3; a < 6; a++)
        CHECK_NEAR(gauge_shows(sim, BALL_FORCE, a), 0, 0.01 * lift * (double)BALL_RADIUS);
    CHECK_NEAR(gauge_shows(sim, BALL_POINT, 0), WEIGHT * 0.75, 0.01 * WEIGHT * 0.75);
    for (int a = 1; a < 4; a++) CHECK(gauge_shows(sim, BALL_POINT, a) == 0); // a corner of walls
    double side = 0.5 * WEIGHT * 0.75 * 0.75;
    CHECK_NEAR(gauge_shows(sim, BALL_SIDE, 2), side, 0.01 * side);
    CHECK_NEAR(gauge_shows(sim, BALL_FLOOR, 1), -WEIGHT * 0.75, 0.01 * WEIGHT * 0.75);
    brim_sim_destroy(&sim);
}

/// The same on a warped grid: a slanted plate, a ball under water, a jet.
TEST(gauge_force_on_a_warped_grid) {
    BrimError error;
    BrimSim *sim;
    Case c = case_slant(32);
    c.def.warp = 0.75;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.5, &error), error);
    const double force = 0.5 * WEIGHT * 0.25, slant = force / tan(1.04719755);
    CHECK_NEAR(gauge_shows(sim, SLANT_FORCE, 0), force, 0.01 * force);
    CHECK_NEAR(gauge_shows(sim, SLANT_FORCE, 1), -slant, 0.01 * force);
    CHECK_NEAR(gauge_shows(sim, SLANT_FORCE, 2), -force * 0.5 / 3 / 0.75, 0.02 * force);
    CHECK_NEAR(gauge_shows(sim, SLANT_SIDE, 0), -force, 0.01 * force);
    CHECK_NEAR(gauge_shows(sim, SLANT_SIDE, 2), -force * (0.375 - 0.5 / 3), 0.01 * force);
    CHECK_NEAR(gauge_shows(sim, SLANT_FLOOR, 1), -WEIGHT * 0.5, 0.01 * WEIGHT * 0.5);
    brim_sim_destroy(&sim);
    c = case_ball(24);
    c.def.warp = 0.75;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.1, &error), error);
    const double lift = WEIGHT * 4 / 3 * 3.14159265 * pow(BALL_RADIUS, 3);
    CHECK_NEAR(gauge_shows(sim, BALL_FORCE, 0), 0, 0.01 * lift);
    // below the surface its cells are 1.5 times as wide; at 48 cells it is 0.3 % off
    CHECK_NEAR(gauge_shows(sim, BALL_FORCE, 1), lift, 0.04 * lift);
    for (int a = 3; a < 6; a++)
        CHECK_NEAR(gauge_shows(sim, BALL_FORCE, a), 0, 0.01 * lift * (double)BALL_RADIUS);
    CHECK_NEAR(gauge_shows(sim, BALL_FLOOR, 1), -WEIGHT * 0.75, 0.01 * WEIGHT * 0.75);
    brim_sim_destroy(&sim);
}

/// The pressure of still water is the same in steps that are longer or shorter than those before.
TEST(gauge_pressure_when_the_step_changes) {
    BrimError error;
    BrimSim *sim;
    Case c = case_tank(2, 24, 0.5f);
    c.def.jitter = 0;
    c.def.step = 0.008, c.def.frame_rate = 50; // 8, 8, 4, 8, 8, 4, ... ms
    case_gauge(&c, "floor", BRIM_GAUGE_POINT, (BrimVec3){0.5f, 0, 0}, (BrimVec3){0});
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int i = 0; i < 12; i++) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK_NEAR(gauge_shows(sim, 0, 0), WEIGHT * 0.5, 0.01 * WEIGHT * 0.5);
    }
    brim_sim_destroy(&sim);
}

TEST(gauge_jet_on_a_plate) {
    static const int shown[3][2] = {{JET_FORCE, 0}, {JET_FLOW, 0}, {JET_POINT, 0}};
    BrimError error;
    BrimSim *sim;
    double mean[3], force = 1000 * (double)JET_WIDTH * (double)JET_SPEED * (double)JET_SPEED;
    Case c = case_jet(30);
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(gauge_means(sim, 1, 1.2, 3, shown, mean, &error), error);
    CHECK_NEAR(mean[0], force, 0.05 * force);
    CHECK_NEAR(mean[1], (double)(JET_WIDTH * JET_SPEED), 0.02 * (double)(JET_WIDTH * JET_SPEED));
    CHECK_NEAR(mean[2], 2000, 0.05 * 2000);
    brim_sim_destroy(&sim);
}

/// A block that moves through air: fronts both ways, height and its gaps, velocity, pressure.
TEST(gauge_moving_block) {
    BrimError error;
    BrimSim *sim;
    Case c = case_box(2, 1, 50, 50, 1);
    case_liquid(&c, box_between((BrimVec3){0.2f, 0.4f, 0}, (BrimVec3){0.4f, 0.6f, 0}));
    c.liquid[0].velocity = (BrimVec3){0.5f, 0, 0};
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.step = 0.01, c.def.frame_rate = 10;
    const BrimVec3 low = {0, 0, 0}, high = {1, 1, 0};
    case_gauge(&c, "ahead", BRIM_GAUGE_FRONT, low, high)->towards = 1;
    case_gauge(&c, "behind", BRIM_GAUGE_FRONT, low, high)->towards = 0;
    case_gauge(&c, "none", BRIM_GAUGE_FRONT, low, (BrimVec3){1, 0.2f, 0});
    case_gauge(&c, "height", BRIM_GAUGE_HEIGHT, (BrimVec3){0.5f, 0.1f, 0}, (BrimVec3){0.5f, 1, 0});
    case_gauge(&c, "inside", BRIM_GAUGE_POINT, (BrimVec3){0.5f, 0.5f, 0}, low);
    case_gauge(&c, "outside", BRIM_GAUGE_POINT, (BrimVec3){0.5f, 0.8f, 0}, low);
    case_gauge(&c, "flow", BRIM_GAUGE_FLOW, (BrimVec3){0.5f, 0, 0}, (BrimVec3){0.5f, 1, 0});
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.4, &error), error);
    CHECK_NEAR(gauge_shows(sim, 0, 0), 0.6, 0.01);
    CHECK_NEAR(gauge_shows(sim, 1, 0), 0.4, 0.01);
    CHECK(isnan(gauge_shows(sim, 2, 0)));
    CHECK_NEAR(gauge_shows(sim, 3, 0), 0.2, 0.01); // wet
    CHECK_NEAR(gauge_shows(sim, 3, 1), 0.5, 0.01); // top, from y = 0.1
    CHECK_NEAR(gauge_shows(sim, 4, 0), 0, 1);
    CHECK_NEAR(gauge_shows(sim, 4, 1), 0.5, 0.01);
    CHECK(gauge_shows(sim, 5, 0) == 0 && isnan(gauge_shows(sim, 5, 1)));
    CHECK_NEAR(gauge_shows(sim, 6, 0), 0.1, 0.005);
    CHECK_NEAR(gauge_shows(sim, 6, 1), 0.2, 0.01);
    brim_sim_destroy(&sim);
}

/// Water below a narrow band flows, too.
TEST(gauge_flow_below_a_band) {
    BrimError error;
    BrimSim *sim;
    Case c = case_box(2, 1, 64, 64, 1);
    case_liquid(&c, box_between((BrimVec3){0.1f, 0.25f, 0}, (BrimVec3){0.6f, 0.75f, 0}));
    c.liquid[0].velocity = (BrimVec3){0.5f, 0, 0};
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.band_width = 3;
    c.def.step = 0.01, c.def.frame_rate = 10;
    case_gauge(&c, "all", BRIM_GAUGE_FLOW, (BrimVec3){0.4f, 0, 0}, (BrimVec3){0.4f, 1, 0});
    case_gauge(&c, "deep", BRIM_GAUGE_FLOW, (BrimVec3){0.4f, 0.39f, 0}, (BrimVec3){0.4f, 0.61f, 0});
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.1, &error), error);
    CHECK(brim_sim_stats(sim)->interior > 0);
    CHECK_NEAR(gauge_shows(sim, 0, 0), 0.25, 0.005);
    CHECK_NEAR(gauge_shows(sim, 1, 0), 0.11, 0.0011);
    CHECK_NEAR(gauge_shows(sim, 1, 1), 0.22, 1e-6);
    brim_sim_destroy(&sim);
}

TEST(gauge_same_for_any_threads) {
    BrimError error;
    double value[2][BRIM_GAUGE_COLUMNS] = {{0}};
    for (int i = 0; i < 2; i++) {
        BrimSim *sim;
        Case c = case_ball(20);
        c.def.threads = i ? 4 : 1;
        CHECK_OK(case_create(&c, &sim, &error), error);
        for (int k = 0; k < 3; k++) CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK_OK(brim_sim_gauge_read(sim, BALL_FORCE, value[i], &error), error);
        CHECK(brim_sim_gauge_read(sim, 5, value[i], &error) == BRIM_ERROR_INPUT);
        brim_sim_destroy(&sim);
    }
    CHECK(memcmp(value[0], value[1], sizeof value[0]) == 0);
}

// -------------------------------------------------------------------------------------- files

static const char scene_text[] =
    "brim: 1\n"
    "dim: 2\n"
    "domain: {size: [1, 1], cells: [16, 16]}\n"
    "time: {duration: 0.12, frame_rate: 100, step: 0.004}\n"
    "liquid:\n"
    "  - box: {low: [0, 0], high: [0.4, 0.6]}\n"
    "solids:\n"
    "  - sphere: {center: [0.3, 0.1], radius: 0.1}\n"
    "gauges:\n"
    "  - {name: left, height: {from: [0.05, 0], to: [0.05, 1]}, rate: 1000}\n"
    "  - {name: wall, point: {at: [0, 0.05]}, rate: 730}\n"
    "  - {name: ball, force: {solid: 0}}\n"
    "  - {name: gate, flow: {low: [0.45, 0], high: [0.45, 1]}, rate: 50}\n"
    "  - {name: front, front: {low: [0, 0], high: [1, 0.1]}, rate: 300}\n"
    "output: {particles: false, checkpoint_every: 2}\n"
    "threads: 1\n";
static const char *const names[] = {"left", "wall", "ball", "gate", "front"};

static BrimResult run_for(const char *folder, bool resume, const char *set, int steps,
                          BrimError *error) {
    BrimScene *scene;
    BrimRun *run = NULL;
    BrimRunOptions options = {.resume = resume};
    BrimResult r = brim_scene_parse(scene_text, sizeof scene_text - 1, "test.yaml", &set,
                                    set != NULL, &scene, error);
    if (r == BRIM_OK) r = brim_run_open(scene, at(folder), &options, &run, error);
    for (int i = 0; i < steps && r == BRIM_OK && !brim_run_done(run); i++)
        r = brim_run_step(run, error);
    brim_run_close(&run);
    brim_scene_destroy(&scene);
    return r;
}

static const char *file_of(const char *folder, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/gauges/%s.csv", folder, name);
    return at(path);
}

static bool same_bytes(const char *a, const char *b) {
    size_t n, m;
    char *x = get_file(a, &n), *y = get_file(b, &m);
    bool same = x && y && n == m && memcmp(x, y, n) == 0;
    free(x), free(y);
    return same;
}

TEST(gauge_files_have_their_rate) {
    BrimError error;
    BrimTable table;
    CHECK_OK(run_for("rate", false, NULL, 1000, &error), error);
    CHECK_OK(brim_table_read(file_of("rate", "left"), &table, &error), error);
    CHECK(table.row_count == 121 && strcmp(table.names[1], "height (m)") == 0);
    for (size_t i = 0; i < table.row_count; i++)
        CHECK_NEAR(table.values[0][i], 0.001 * (double)i, 1e-12);
    // linear between the ends of steps, which are at 4, 8, 10, 14, ... ms
    const double *h = table.values[1];
    for (int i = 15; i < 18; i++) CHECK_NEAR(h[i] - h[14], (h[18] - h[14]) * (i - 14) / 4, 1e-8);
    brim_table_free(&table);
    CHECK_OK(brim_table_read(file_of("rate", "ball"), &table, &error), error);
    CHECK(table.row_count == 36); // steps
    brim_table_free(&table);
}

/// A run that was cut short anywhere and resumed leaves the same bytes.
TEST(gauge_files_resume_bit_for_bit) {
    BrimError error;
    CHECK_OK(run_for("whole", false, NULL, 1000, &error), error);
    for (int steps = 1; steps < 36; steps += 8) {
        char folder[32];
        snprintf(folder, sizeof folder, "cut%d", steps);
        CHECK_OK(run_for(folder, false, NULL, steps, &error), error);
        CHECK_OK(run_for(folder, true, NULL, 1000, &error), error);
        for (int i = 0; i < 5; i++)
            CHECK(same_bytes(file_of("whole", names[i]), file_of(folder, names[i])));
    }
}

TEST(gauge_files_that_do_not_fit) {
    BrimError error;
    CHECK_OK(run_for("odd", false, NULL, 20, &error), error);
    CHECK(run_for("odd", true, "gauges[0].rate=400", 1, &error) == BRIM_ERROR_DAMAGED);
    CHECK(strstr(error.message, "another rate"));
    put_file(file_of("odd", "left"), "a,b\n1,2\n", 8);
    CHECK(run_for("odd", true, NULL, 1, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "other columns"));
    // removed: its rows begin at the checkpoint
    remove(file_of("odd", "left"));
    CHECK_OK(run_for("odd", true, NULL, 1000, &error), error);
    BrimTable table;
    CHECK_OK(brim_table_read(file_of("odd", "left"), &table, &error), error);
    CHECK(table.row_count > 10 && table.values[0][0] > 0.05);
    brim_table_free(&table);
}

// -------------------------------------------------------------------------------------- scene

static bool refused(const char *gauge, const char *reason) {
    char text[512];
    BrimError error;
    BrimScene *scene;
    int n = snprintf(text, sizeof text,
                     "brim: 1\ndim: 2\ndomain: {size: [1, 1], cells: [16, 16], sides: {x+: open}}\n"
                     "liquid:\n  - box: {low: [0, 0], high: [1, 0.5]}\ngauges:\n"
                     "  - {name: first, point: {at: [0, 0]}}\n  - %s\n",
                     gauge);
    BrimResult r = brim_scene_parse(text, (size_t)n, "test.yaml", NULL, 0, &scene, &error);
    brim_scene_destroy(&scene);
    if (r == BRIM_ERROR_INPUT && strstr(error.message, reason)) return true;
    fprintf(stderr, "%s: %s\n", gauge, r == BRIM_OK ? "accepted" : error.message);
    return false;
}

TEST(gauge_scene_refusals) {
    CHECK(refused("{name: a}", "no kind: give one of height, point"));
    CHECK(refused("{name: a, point: {at: [0, 0]}, front: {low: [0, 0], high: [1, 1]}}",
                  "more than one kind"));
    CHECK(refused("{point: {at: [0, 0]}}", "gauges[1].name: is missing"));
    CHECK(refused("{name: a, height: {from: [0, 0]}}", "gauges[1].height.to: is missing"));
    CHECK(refused("{name: first, point: {at: [0, 0]}}", "gauges[0]"));
    CHECK(refused("{name: a/b, point: {at: [0, 0]}}", "letters"));
    CHECK(refused("{name: a, point: {at: [2, 0]}}", "outside the domain along x"));
    CHECK(refused("{name: a, height: {from: [0, 0], to: [0, 0]}}", "same point"));
    CHECK(refused("{name: a, force: {}}", "one of solid, side and body"));
    CHECK(refused("{name: a, force: {solid: 0}}", "0 solids"));
    CHECK(refused("{name: a, force: {body: 0}}", "0 bodies"));
    CHECK(refused("{name: a, motion: {at: [0, 0]}}", "give the number of a body"));
    CHECK(refused("{name: a, force: {side: z-}}", "no meaning in 2D"));
    CHECK(refused("{name: a, force: {side: x+}}", "open"));
    CHECK(refused("{name: a, flow: {low: [0, 0], high: [1, 1]}}", "equal along exactly one axis"));
    CHECK(refused("{name: a, front: {low: [0, 1], high: [1, 0]}}", "below low along y"));
    CHECK(refused("{name: a, hight: {from: [0, 0], to: [0, 1]}}", "height"));
}

TEST(gauge_follows_a_body) {
    // A box that falls and turns in air, and one of water's density under water: where a corner is,
    // and the lift.
    BrimError error;
    BrimSim *sim;
    BrimBodyDef bodies[2] = {brim_default_body_def(), brim_default_body_def()};
    Case c = case_box(2, 1, 40, 40, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.5f, 0}));
    bodies[0].shape = box_between((BrimVec3){0.2f, 0.7f, 0}, (BrimVec3){0.4f, 0.9f, 0});
    bodies[0].rigid = true, bodies[0].spin.z = 2;
    bodies[1].shape = box_between((BrimVec3){0.6f, 0.1f, 0}, (BrimVec3){0.8f, 0.3f, 0});
    bodies[1].rigid = true, bodies[1].density = 1000;
    c.def.bodies = bodies, c.def.body_count = 2, c.def.frame_rate = 100;
    case_gauge(&c, "corner", BRIM_GAUGE_MOTION, (BrimVec3){0.4f, 0.9f, 0}, (BrimVec3){0});
    case_gauge(&c, "lift", BRIM_GAUGE_FORCE, (BrimVec3){0}, (BrimVec3){0});
    c.gauges[0].body = 0, c.gauges[1].body = 1, c.gauges[1].solid = -1;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK(strcmp(brim_sim_gauge_column(sim, 0, 2), "velocity x (m/s)") == 0);
    CHECK(!brim_sim_gauge_column(sim, 0, 4));
    CHECK_NEAR(gauge_shows(sim, 0, 0), 0.4, 1e-6);
    CHECK_OK(run_until(sim, 0.1, &error), error);
    double angle = 0.7853981634 + 0.2, arm = 0.1 * sqrt(2), fall = 0.5 * 9.81 * 0.01;
    CHECK_NEAR(gauge_shows(sim, 0, 0), 0.3 + arm * cos(angle), 1e-3);
    CHECK_NEAR(gauge_shows(sim, 0, 1), 0.8 - fall + arm * sin(angle), 1e-3);
    CHECK_NEAR(gauge_shows(sim, 1, 1), WEIGHT * 0.04, 0.1 * WEIGHT * 0.04);
    CHECK_NEAR(gauge_shows(sim, 1, 2), 0, 0.5);
    brim_sim_destroy(&sim);
    c.gauges[0].from.x = 0.5f;
    CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "gauges[0].motion.at"));
    c.gauges[0].from.x = 0.4f, c.gauges[0].body = 2;
    CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "there is no body 2"));
}
