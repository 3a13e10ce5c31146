// Meshes that deform: sequences of files, places and velocities between frames, water around them.
#include "base/sequence.h"
#include "cases.h"
#include "scratch.h"
#include "solid/mesh_frames.h"
#include "solid/solid.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    if (f) fputs(text, f), fclose(f);
}

/// Moves a vertex of the box [-1, 1]^3 at a time, s.
typedef void Motion(double time, double p[3]);

enum { EDGE = 6, RATE = 20 };

/// The box [-1, 1]^3 with EDGE quads along each edge, moved, as OBJ. twist: another topology
static void write_box(const char *path, Motion *motion, double time, bool twist) {
    FILE *f = fopen(path, "wb");
    int at = 1;
    if (!f) return;
    for (int side = 0; side < 6; side++) {
        int a = side / 2, b = (a + 1) % 3, c = (a + 2) % 3;
        for (int j = 0; j <= EDGE; j++)
            for (int i = 0; i <= EDGE; i++) {
                double p[3];
                p[a] = side & 1 ? 1 : -1, p[b] = 2.0 * i / EDGE - 1, p[c] = 2.0 * j / EDGE - 1;
                motion(time, p);
                fprintf(f, "v %.9g %.9g %.9g\n", p[0], p[1], p[2]);
            }
        for (int j = 0; j < EDGE; j++)
            for (int i = 0; i < EDGE; i++) {
                int v = at + j * (EDGE + 1) + i, w = v + EDGE + 1;
                bool other = twist && side == 0 && i == 0 && j == 0;
                if (side & 1)
                    fprintf(f, "f %d %d %d\nf %d %d %d\n", v, v + 1, w + 1, v, w + 1, w);
                else if (other)
                    fprintf(f, "f %d %d %d\nf %d %d %d\n", v, w, v + 1, v + 1, w, w + 1);
                else
                    fprintf(f, "f %d %d %d\nf %d %d %d\n", v, w + 1, v + 1, v, w, w + 1);
            }
        at += (EDGE + 1) * (EDGE + 1);
    }
    fclose(f);
}

/// Frames 1 to `count` of a motion in a folder of their own => the solid's shape.
static BrimShapeDef sequence_of(const char *folder, Motion *motion, int count) {
    static char text[512];
    BrimShapeDef shape = brim_default_shape_def();
    mkdir(at(folder), 0777);
    for (int i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/box_%03d.obj", folder, i + 1);
        write_box(at(name), motion, i / (double)RATE, false);
    }
    snprintf(text, sizeof text, "%s", at(folder));
    shape.kind = BRIM_SHAPE_MESH;
    shape.frames = text, shape.frame_rate = RATE;
    return shape;
}

static void slide(double t, double p[3]) {
    p[0] = 0.3 * p[0] + 0.8 * t, p[1] *= 0.2, p[2] *= 0.25;
}

/// Grows along x and swings.
static void breathe(double t, double p[3]) {
    p[0] *= 0.3 + 0.2 * t, p[1] = 0.2 * p[1] + 0.1 * sin(5 * t), p[2] *= 0.25;
}

static float distance_at(const Solid *s, float x, float y, float z) {
    float d = NAN;
    solid_distance(s, 1, &x, &y, &z, &d);
    return d;
}

TEST(frames_are_found_by_pattern_and_folder) {
    struct {
        const char *make[4];
        const char *path, *says; ///< says NULL: found
    } cases[] = {
        {{"a_1.obj", "a_2.obj", "a_10.txt"}, "a_#.obj", NULL},
        {{"a_1.obj", "a_2.obj", "a_3.obj"}, "", NULL},
        {{"a_1.obj", "a_2.obj", "a_5.obj"}, "a_#.obj", "2 frames are missing between"},
        {{"a_001.obj", "a_003.obj"}, "", "1 frame is missing between"},
        {{"a_1.obj"}, "a_#.obj", "only one file"},
        {{"a_1.obj"}, "b_#.obj", "no file has this name"},
        {{"a_1.obj", "b_2.obj"}, "", "do not belong to one sequence"},
        {{"box.obj"}, "", "has no number"},
        {{"a_1.txt"}, "", "holds no .obj, .ply or .stl"},
        {{"a_1.obj", "a_01.obj"}, "a_#.obj", "have the same number"},
        {{"a_1.txt", "a_2.txt"}, "a_#.txt", "frames end in"},
        {{"a_1.obj", "a_2.obj"}, "a_1.obj", "is not a folder and has no #"},
        {{"a_1.obj", "a_2.obj"}, "#_#.obj", "is not a folder and has no #"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folder[16], path[64];
        BrimError error = {0};
        Sequence files;
        snprintf(folder, sizeof folder, "find%zu", i);
        mkdir(at(folder), 0777);
        for (int k = 0; k < 4 && cases[i].make[k]; k++) {
            snprintf(path, sizeof path, "%s/%s", folder, cases[i].make[k]);
            write_file(at(path), "x");
        }
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].path);
        BrimResult r = sequence_find(at(path), &files, &error);
        bool good = cases[i].says ? r == BRIM_ERROR_INPUT && strstr(error.message, cases[i].says)
                                  : r == BRIM_OK;
        if (!good) test_fail(test_, __FILE__, __LINE__, "%zu: %s", i, error.message);
        if (r == BRIM_OK) CHECK(files.count == (i == 0 ? 2 : 3));
        sequence_free(&files);
    }
}

TEST(frames_of_a_sliding_box_are_the_sliding_box) {
    BrimSolidDef def = brim_default_solid_def(), rigid = brim_default_solid_def();
    BrimError error;
    Solid *s, *r;
    def.shape = sequence_of("slide", slide, 6);
    rigid.shape.size = (BrimVec3){0.6f, 0.4f, 0.5f};
    rigid.motion = BRIM_MOTION_FORMULA, rigid.path_formula[0] = "0.8 * clamp(t, 0, 0.25)";
    CHECK_OK(solid_new(&def, 3, 0.04f, &s, &error), error);
    CHECK_OK(solid_new(&rigid, 3, 0.04f, &r, &error), error);
    CHECK(solid_moves(s) && solid_deforms(s) && !solid_deforms(r));
    for (double t = 0; t < 0.4; t += 0.033) {
        CHECK(solid_place(s, t, t > 0.02 ? 0.02 : 0) && solid_place(r, t, t > 0.02 ? 0.02 : 0));
        for (int i = 0; i < 400; i++) {
            float x = 0.05f * (float)(i % 20) - 0.45f, y = 0.06f * (float)(i / 20 % 5) - 0.14f;
            float z = 0.12f * (float)(i / 100) - 0.2f;
            if (fabsf(distance_at(r, x, y, z)) > 0.05f) continue; // 2.5 nodes
            // exact but for corners, which nodes half a cell apart round off
            CHECK_NEAR(distance_at(s, x, y, z), distance_at(r, x, y, z), 0.008);
            if (i % 40 == 0 && !(t > 0.24 && t < 0.28))
                CHECK_NEAR(solid_velocity(s, x, y, z).x, solid_velocity(r, x, y, z).x, 1e-3);
        }
    }
    solid_free(&s), solid_free(&r);
}

TEST(frames_that_deform_move_between_them) {
    BrimSolidDef def = brim_default_solid_def();
    BrimError error;
    Solid *s;
    def.shape = sequence_of("breathe", breathe, 21);
    def.shape.position = (BrimVec3){0, 1, 0}, def.shape.scale = 2;
    def.motion = BRIM_MOTION_FORMULA, def.path_formula[2] = "0.5 * t"; // and moves as a whole
    CHECK_OK(solid_new(&def, 3, 0.08f, &s, &error), error);
    for (double t = 0.11; t < 0.9; t += 0.173) {
        CHECK(solid_place(s, t, 0));
        float top = (float)(1 + 0.4 + 0.2 * sin(5 * t)), side = (float)(0.6 + 0.4 * t);
        float z = (float)(0.5 * t);
        CHECK_NEAR(distance_at(s, 0.1f, top, z), 0, 2e-4);
        CHECK_NEAR(distance_at(s, side, top - 0.3f, z), 0, 2e-4);
        CHECK_NEAR(distance_at(s, side + 0.1f, top - 0.3f, z + 0.1f), 0.1, 2e-3);
        BrimVec3 v = solid_velocity(s, side, top - 0.3f, z);
        CHECK_NEAR(v.x, 0.4, 2e-3);                   // at the side all of the growth
        CHECK_NEAR(v.y, 0.2 * 5 * cos(5 * t), 0.012); // twice the swing; (5 / RATE)^2 / 6
        CHECK_NEAR(v.z, 0.5, 1e-3);
        CHECK_NEAR(solid_velocity(s, 0, top, z).x, 0, 2e-3); // in the middle none
        CHECK(solid_place(s, t, 0.05));                      // the mean over a step is the way
        v = solid_velocity(s, side, top - 0.3f, z);
        CHECK_NEAR(v.y, 0.2 * (sin(5 * t) - sin(5 * (t - 0.05))) / 0.05, 2e-3);
        CHECK(solid_flexing(s) >= fabs((double)v.x));
        float point[3] = {0, 1, z};
        CHECK(solid_way(s, t - 0.05, t, point) >= 0.05 * (double)fabsf(v.x));
    }
    solid_free(&s);
    def.shape.frame_repeat = true, def.shape.frame_start = -100 * 21.0 / RATE;
    CHECK_OK(solid_new(&def, 3, 0.08f, &s, &error), error);
    CHECK(solid_place(s, 0.3, 0)); // a hundred rounds later
    CHECK_NEAR(distance_at(s, 0.72f, 1.1f + 0.2f * (float)sin(1.5), 0.15f), 0, 1e-3);
    solid_free(&s);
}

TEST(frames_of_another_topology_are_refused) {
    BrimSolidDef def = brim_default_solid_def();
    BrimError error;
    Solid *s;
    def.shape = sequence_of("twist", slide, 4);
    write_box(at("twist/box_003.obj"), slide, 0.1, true);
    CHECK(solid_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "box_003.obj: triangle 0 joins other vertices than in"));
    write_file(at("twist/box_003.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
                                        "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
    CHECK(solid_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "4 vertices and 4 triangles, but"));
    write_file(at("twist/box_003.obj"), "v 0 0\n");
    CHECK(solid_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "box_003.obj"));
    Case c = case_tank(2, 16, 0.4f);
    BrimSim *sim;
    case_liquid(&c, def.shape); // liquids do not deform
    CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "only a solid by itself can be a mesh that deforms"));
}

/// A bellows on the floor of a unit tank: from 0.2 to 0.6 m wide in 0.5 s, 0.2 m high.
static void bellows(double t, double p[3]) {
    p[0] = 0.5 + (0.1 + 0.4 * t) * p[0], p[1] = 0.05 + 0.15 * p[1], p[2] *= 2;
}

/// A leg that bends as it wades.
static void wade(double t, double p[3]) {
    double up = 0.25 * (1 + p[1]); // along the leg, m
    p[0] = 0.5 + 0.06 * p[0] + 0.3 * sin(6 * t) * up * up / 0.25;
    p[1] = 0.1 + up, p[2] = 0.5 + 0.06 * p[2];
}

TEST(walls_that_deform_hold_their_water) {
    BrimError error;
    for (int dim = 2; dim <= 3; dim++) {
        int n = dim == 2 ? 48 : 20;
        Case c = case_box(dim, 1, n, n, n / 2);
        BrimSim *sim;
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.4f, 1}));
        case_solid(&c, sequence_of(dim == 2 ? "bellows2" : "bellows3", bellows, 11));
        c.def.frame_rate = 20;
        CHECK_OK(case_create(&c, &sim, &error), error);
        BrimParticles p = brim_sim_particles(sim);
        size_t before = p.count;
        // 0.2 m wide, 0.2 m high of the tank's 0.4 m are the bellows', then 0.6 m
        CHECK_OK(run_until(sim, 2.5, &error), error);
        p = brim_sim_particles(sim);
        CHECK(p.count == before);
        double level = 0, deep = 0;
        size_t above = 0;
        for (size_t i = 0; i < p.count; i++) {
            double inside = fmin(0.3 - fabs((double)p.x[i] - 0.5), 0.2 - (double)p.y[i]);
            deep = fmax(deep, inside), above += p.y[i] > 0.2;
        }
        // what is above the bellows: 0.36 m2 of water in all, 0.08 beside it
        level = 0.2 + (double)above / (double)p.count * 0.36;
        CHECK_NEAR(level, 0.48, 0.01);
        CHECK(deep < 0.5 / n); // nobody is inside
        brim_sim_destroy(&sim);
    }
}

TEST(a_leg_that_wades_runs_the_same_for_any_threads_and_resumed) {
    BrimError error;
    Case c = case_tank(3, 20, 0.35f);
    BrimSim *one, *two, *three;
    case_solid(&c, sequence_of("wade", wade, 22));
    c.def.frame_rate = 20;
    CHECK_OK(case_create(&c, &one, &error), error);
    c.def.threads = 2;
    CHECK_OK(case_create(&c, &two, &error), error);
    CHECK_OK(run_until(one, 0.3, &error), error);
    CHECK_OK(run_until(two, 0.3, &error), error);
    CHECK(particle_hash(one) == particle_hash(two));
    CHECK(energy_per_mass(one) > 1e-5); // it did push the water
    CHECK_OK(brim_sim_save(one, at("wade.brim"), &error), error);
    CHECK_OK(brim_sim_load(&c.def, at("wade.brim"), &three, &error), error);
    CHECK_OK(run_until(one, 0.5, &error), error);
    CHECK_OK(run_until(three, 0.5, &error), error);
    CHECK(particle_hash(one) == particle_hash(three));
    brim_sim_destroy(&one), brim_sim_destroy(&two), brim_sim_destroy(&three);
    // another leg, another scene
    write_box(at("wade/box_004.obj"), wade, 0.151, false);
    CHECK(brim_sim_load(&c.def, at("wade.brim"), &three, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "was saved from another scene"));
}
