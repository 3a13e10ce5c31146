// Formulas: values, names, tables, what is refused; and what scenes do with them.
#include "cases.h"
#include "formula/program.h"
#include "scratch.h"
#include "solid/solid.h"
#include "test.h"

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text, 1, strlen(text), file) != strlen(text) || fclose(file) != 0) abort();
}

static double value_of(Test *test_, const char *text, const BrimNames *names) {
    Formula *f;
    BrimError error;
    if (formula_new(text, names, FORMULA_PLACE | FORMULA_T, &f, &error) != BRIM_OK) {
        test_fail(test_, __FILE__, __LINE__, "%s", error.message);
        return NAN;
    }
    double v = formula_at(f, 2, 3, 5, 0.5);
    formula_free(&f);
    return v;
}

TEST(formulas_have_the_values_of_arithmetic) {
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"2 ^ 3 ^ 2", 512},
        {"-x^2", -4},
        {"2^-1", 0.5},
        {"10 - 4 - 3", 3},
        {"24 / 4 / 2", 3},
        {"x + 10 * y + 100 * z + t", 532.5},
        {"1.5e-1 * 2e1", 3},
        {"sin(pi / 6)", 0.5},
        {"sqrt(hypot(3, 4) + 4)", 3},
        {"max(x, min(y, z))", 3},
        {"if(x < y and not z < y, 1, 2)", 1},
        {"if(x > y or z == 5, 7, 8)", 7},
        {"(x <= 2) + (x >= 2) + (x != 2)", 2},
        {"mod(-1, 3)", 2},
        {"clamp(9, 0, 1) + step(-1) + sign(-3)", 0},
        {"smoothstep(0, 4, x)", 0.5},
        {"keys(t, 0, 1, 1, 3)", 2},
        {"keys(2, 0, 1, 1, 3)", 3},
        {"a = x; b = a * a; b + a", 6},
        {"a = 2\n b = (a +\n 1)\n a * b", 6},
        {"log(exp(2)) + log10(100) + abs(-1) + floor(1.5) + ceil(1.5)", 8},
        {"atan2(1, 1) * 4 - pi + tanh(0) + cosh(0)", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double v = value_of(test_, cases[i].text, NULL);
        if (!(fabs(v - cases[i].value) < 1e-12))
            test_fail(test_, __FILE__, __LINE__, "%s = %.17g", cases[i].text, v);
    }
}

TEST(formulas_work_on_many_points_as_on_one) {
    enum { N = 100 };
    double x[N], t[N], out[N];
    Formula *f;
    BrimError error;
    for (int i = 0; i < N; i++) x[i] = 0.1 * i - 3, t[i] = 1.0 / (1 + i);
    CHECK_OK(formula_new("a = x * t; sin(a) + keys(t, 0, a, 1, x)", NULL, FORMULA_X | FORMULA_T, &f,
                         &error),
             error);
    const double *const variable[4] = {x, NULL, NULL, t};
    formula_values(f, N, variable, out);
    for (int i = 0; i < N; i++) CHECK(out[i] == formula_at(f, x[i], 0, 0, t[i]));
    CHECK(formula_uses(f) == (FORMULA_X | FORMULA_T));
    formula_free(&f);
}

TEST(formulas_that_make_no_sense_are_refused) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "no formula"},
        {"1 +", "ends where"},
        {"(1 + 2", "ends without \")\""},
        {"1 2", "not understood"},
        {"2x", "not understood"},
        {"foo", "foo is unknown: known are x, pi"},
        {"t", "t has no value here"},
        {"sin(1, 2)", "sin needs 1 argument, not 2"},
        {"min(1)", "min needs 2 arguments"},
        {"sin", "ends without \"(\""},
        {"keys(t, 1)", "known are"},
        {"keys(x, 1, 2)", "at least two pairs"},
        {"a = 1", "no formula"},
        {"a = a; a", "a is unknown"},
        {"x = 1; x", "already has a meaning"},
        {"a = 1; a = 2; a", "given twice"},
        {"1; 2", "nothing may follow"},
        {"1.2.3", "not a number"},
        {"wave.eta(x)", "wave is unknown"},
        {"1 $ 2", "not understood"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Formula *f;
        BrimError error = {0};
        BrimResult r = formula_new(cases[i].text, NULL, FORMULA_X, &f, &error);
        if (r != BRIM_ERROR_INPUT || f || !strstr(error.message, cases[i].says))
            test_fail(test_, __FILE__, __LINE__, "%s: %s", cases[i].text, error.message);
    }
    enum { DEEP = 20000 };
    char *deep = malloc(2 * DEEP + 2);
    memset(deep, '(', DEEP), deep[DEEP] = '1', memset(deep + DEEP + 1, ')', DEEP);
    deep[2 * DEEP + 1] = 0;
    Formula *f;
    CHECK(formula_new(deep, NULL, FORMULA_X, &f, NULL) == BRIM_ERROR_INPUT);
    for (int i = 0; i < DEEP; i++) memcpy(deep + 2 * i, "1+", 2);
    deep[2 * DEEP - 1] = 0;
    CHECK(formula_new(deep, NULL, FORMULA_X, &f, NULL) == BRIM_ERROR_INPUT); // too long
    memset(deep, '-', DEEP), strcpy(deep + DEEP, "1");
    CHECK(formula_new(deep, NULL, FORMULA_X, &f, NULL) == BRIM_ERROR_INPUT);
    free(deep);
}

TEST(formulas_read_tables) {
    BrimError error;
    write_file(at("wave.csv"), "# a comment\nx (m),eta,\"u (m/s)\"\n0, 1, -1\n1,2,0\n\n3;6;4\n");
    BrimNamedTable table = {"wave", at("wave.csv")};
    BrimNames names = {.let = "h = 2\neta = h * wave.eta(x - 1) # no\n", &table, 1};
    CHECK(names_check(&names, &error) == BRIM_ERROR_INPUT); // comments have lines of their own
    names.let = "# heights\nh = 2; eta = h * wave.eta(x - 1)";
    CHECK_OK(names_check(&names, &error), error);
    CHECK(value_of(test_, "eta", &names) == 4);
    CHECK(value_of(test_, "wave.eta(-9) + wave.eta(99)", &names) == 7);
    CHECK(value_of(test_, "wave.u(3) + wave.u(0)", &names) == 3);
    CHECK(fabs(value_of(test_, "wave.eta(0.5)", &names) - 1.5) < 0.2);
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "holds no table"},
        {"x\n1\n2\n", "names 1 column"},
        {"x,y\n1,2\n", "holds 1 rows"},
        {"x,y\n1,2\n1,3\n", ":3: the first column must increase"},
        {"x,y\n1,2\n2,abc\n", ":3: \"abc\" in column 2 is not a number"},
        {"x,y\n1,2\n2\n", ":3: fewer values"},
        {"x,y\n1,2\n2,3,4\n", ":3: more values"},
        {"1,2\n2,3\n3,4\n", "must name the columns"},
        {"x,y\n1,\n2,3\n", "is not a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CsvTable csv;
        BrimResult r = csv_parse(cases[i].text, strlen(cases[i].text), "t.csv", &csv, &error);
        if (r != BRIM_ERROR_INPUT || !strstr(error.message, cases[i].says))
            test_fail(test_, __FILE__, __LINE__, "%s: %s", cases[i].text, error.message);
    }
    Formula *f;
    CHECK(formula_new("wave.v(x)", &names, FORMULA_X, &f, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "its columns are eta, u"));
    table.file = at("missing.csv");
    CHECK(formula_new("wave.u(x)", &names, FORMULA_X, &f, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "missing.csv"));
}

// -------------------------------------------------------------------------------------- motion

TEST(solids_swing_by_formula) {
    BrimSolidDef def = brim_default_solid_def();
    BrimError error;
    Solid *s;
    def.shape = ball((BrimVec3){1, 1, 1}, 0.2f);
    def.motion = BRIM_MOTION_FORMULA;
    def.path_formula[0] = "0.3 * sin(2 * pi * t)";
    def.path.y = 0.5f;
    def.turn_formula[2] = "90 * t";
    CHECK_OK(solid_new(&def, 3, 0.05f, &s, &error), error);
    CHECK(solid_moves(s));
    for (double t = 0; t < 1; t += 0.07) {
        float low[3], high[3];
        solid_place(s, t, 0);
        CHECK(solid_bounds(s, low, high));
        CHECK_NEAR(0.5 * (low[0] + high[0]), 1 + 0.3 * sin(6.2831853 * t), 1e-5);
        CHECK_NEAR(0.5 * (low[1] + high[1]), 1.5, 1e-5);
        BrimVec3 v = solid_velocity(s, 0.5f * (low[0] + high[0]), 1.5f, 1);
        CHECK_NEAR(v.x, 0.3 * 6.2831853 * cos(6.2831853 * t), 1e-3);
        BrimVec3 off = solid_velocity(s, 0.5f * (low[0] + high[0]), 2.5f, 1);
        CHECK_NEAR(off.x - v.x, -1.5707963, 1e-3); // 90 degrees a second
        solid_place(s, t, 0.1);                    // the mean over a step is the way
        v = solid_velocity(s, 0.5f * (low[0] + high[0]), 1.5f, 1);
        CHECK_NEAR(v.x, 3 * (sin(6.2831853 * t) - sin(6.2831853 * (t - 0.1))), 1e-4);
    }
    solid_free(&s);
    def.path_formula[0] = "log(t - 1)";
    CHECK(solid_new(&def, 3, 0.05f, &s, &error) == BRIM_ERROR_INPUT);
}

TEST(a_motion_that_ends_in_no_number_ends_the_run_with_a_message) {
    Case c = case_tank(2, 16, 0.4f);
    BrimError error;
    BrimSim *sim;
    case_solid(&c, ball((BrimVec3){0.5f, 0.2f, 0}, 0.1f));
    c.solids[0].motion = BRIM_MOTION_FORMULA;
    c.solids[0].path_formula[0] = "sqrt(0.1 - t)";
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK(run_until(sim, 0.3, &error) == BRIM_LOST_DIVERGED);
    CHECK(strstr(error.message, "solids[0]: path or turn is not a number"));
    brim_sim_destroy(&sim);
}

TEST(gravity_by_formula_and_by_table) {
    BrimError error;
    write_file(at("pull.csv"), "t,g\n0,0\n1,-4\n2,-4\n");
    BrimNamedTable table = {"pull", at("pull.csv")};
    for (int k = 0; k < 2; k++) {
        Case c = case_box(2, 1, 32, 32, 1);
        BrimSim *sim;
        c.def.step = 0.005, c.def.frame_rate = 20;
        c.def.names = (BrimNames){NULL, &table, 1};
        c.def.gravity = (BrimVec3){0, 0, 0};
        c.def.gravity_formula[1] = k ? "pull.g(t)" : "-4 * t";
        case_liquid(&c, ball((BrimVec3){0.5f, 0.7f, 0}, 0.1f));
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 0.4, &error), error);
        BrimParticles p = brim_sim_particles(sim);
        double v = 0;
        for (size_t i = 0; i < p.count; i++) v += p.vy[i] / (double)p.count;
        double due = 0, n = 1000, end = 0.4 + 0.0025;
        for (int i = 0; i < n; i++) due += (k ? 0 : -4 * end * (i + 0.5) / n) * end / n;
        if (k) // the curve starts with the slope of its first piece and ends flat
            for (int i = 0; i < n; i++) {
                const double t[3] = {0, 1, 2}, g[3] = {0, -4, -4};
                due += curve_at(3, t, g, end * (i + 0.5) / n) * end / n;
            }
        CHECK_NEAR(v, due, 2e-4);
        brim_sim_destroy(&sim);
    }
}

// -------------------------------------------------------------------------------------- liquid

TEST(a_wave_by_formula_has_its_height_and_velocity) {
    static const BrimNames names = {.let = "eta = 0.1 * cos(pi * x)"};
    for (int dim = 2; dim <= 3; dim++)
        for (int transfer = 0; transfer < 2; transfer++) {
            Case c = case_box(dim, 1, 32, 32, 8);
            BrimError error;
            BrimSim *sim;
            BrimShapeDef surface = brim_default_shape_def();
            surface.kind = BRIM_SHAPE_HEIGHT_FIELD;
            surface.size = (BrimVec3){1, 0, 1};
            surface.formula = "0.5 + eta";
            surface.names = &names;
            case_liquid(&c, surface);
            c.liquid[0].velocity_formula[0] = "eta * y";
            c.liquid[0].velocity.y = 0.25f;
            c.def.transfer = (BrimTransfer)transfer;
            CHECK_OK(case_create(&c, &sim, &error), error);
            BrimParticles p = brim_sim_particles(sim);
            double cell = 1 / 1024.0 / c.def.particles_per_cell, mean = 0;
            CHECK_NEAR((double)p.count * cell / (dim == 3 ? 8 : 1), 0.5, 0.003);
            for (size_t i = 0; i < p.count; i++) {
                double eta = 0.1 * cos(3.14159265 * p.x[i]);
                CHECK(p.y[i] < 0.5 + eta + 0.01);
                CHECK(fabs(p.vx[i] - eta * p.y[i]) < 1e-6 && p.vy[i] == 0.25f);
                mean += p.x[i] < 0.5f ? 1 : -1;
            }
            CHECK_NEAR(mean / (double)p.count, 2 * 0.1 / 3.14159265 / 0.5, 0.01);
            CHECK_OK(brim_sim_step(sim, &error), error);
            brim_sim_destroy(&sim);
            c.liquid[0].velocity_formula[1] = "log(x - 0.5)";
            CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_INPUT);
            CHECK(strstr(error.message, "the velocity along y"));
        }
}

TEST(scenes_with_formulas_go_to_json_and_back) {
    static const char scene_text[] =
        "brim: 1\ndim: 2\ndomain: {size: [1, 1], cells: 16}\n"
        "let: |\n  a = 0.1\n  b = 2 * a\ntables: [{name: w, file: w.csv}]\n"
        "gravity: [sin(t), -9.81]\n"
        "liquid: [{box: {low: [0, 0], high: [0.5, 0.5]}, velocity: [b * x, w.u(y)]}]\n"
        "solids:\n  - {sphere: {center: [0.8, 0.5], radius: 0.1}, path: [0, a * t], turn: 90 * t}\n"
        "  - {sphere: {center: [0.8, 0.2], radius: 0.1}, rate: 5}\n";
    BrimScene *scene, *again;
    BrimError error;
    BrimSim *sim;
    write_file(at("w.csv"), "y,u\n0,1\n1,2\n");
    CHECK_OK(
        brim_scene_parse(scene_text, strlen(scene_text), at("s.yaml"), NULL, 0, &scene, &error),
        error);
    const char *json = brim_scene_json(scene);
    CHECK_OK(brim_scene_parse(json, strlen(json), "elsewhere/s.json", NULL, 0, &again, &error),
             error);
    CHECK(strcmp(brim_scene_json(again), json) == 0);
    CHECK_OK(brim_sim_create(brim_scene_def(again), &sim, &error), error);
    uint64_t hash = brim_sim_scene_hash(sim);
    brim_sim_destroy(&sim);
    CHECK_OK(brim_sim_create(brim_scene_def(scene), &sim, &error), error);
    CHECK(brim_sim_scene_hash(sim) == hash);
    CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK_OK(brim_sim_save(sim, at("f.brim"), &error), error);
    brim_sim_destroy(&sim);
    write_file(at("w.csv"), "y,u\n0,1\n1,3\n"); // files count by content
    CHECK(brim_sim_load(brim_scene_def(scene), at("f.brim"), &sim, &error) == BRIM_ERROR_INPUT);
    brim_scene_destroy(&scene);
    brim_scene_destroy(&again);
    const char *bad = "solids[0].rate=3";
    CHECK(brim_scene_parse(scene_text, strlen(scene_text), at("s.yaml"), &bad, 1, &scene, &error) ==
          BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "give one of rate, keyframes, and path with turn"));
}
