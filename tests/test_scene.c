// Scene files: every scene of the tree, every kind of message, --set, the round trip through JSON.
#include "scene/check.h"
#include "scene/fields.h"
#include "test.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool same_vec(BrimVec3 a, BrimVec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

#ifdef BRIM_HAVE_YAML

#define HEAD "brim: 1\ndomain:\n  size: [1, 1, 1]\n  cells: 16\n"

static BrimResult parse_set(const char *text, const char *set, BrimScene **scene,
                            BrimError *error) {
    return brim_scene_parse(text, strlen(text), "dam.yaml", &set, set ? 1 : 0, scene, error);
}

/// Whether parsing fails with exactly this message.
static bool refuses(const char *text, const char *set, const char *message) {
    BrimScene *scene;
    BrimError error = {0};
    BrimResult result = parse_set(text, set, &scene, &error);
    bool good = result == BRIM_ERROR_INPUT && !scene && strcmp(error.message, message) == 0;
    if (!good)
        fprintf(stderr, "result %d\n  got      %s\n  expected %s\n", (int)result, error.message,
                message);
    brim_scene_destroy(&scene);
    return good;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_canyon(const BrimCanyonDef *a, const BrimCanyonDef *b) {
    if (!a || !b) return a == b;
    bool same = a->seed == b->seed && a->bed == b->bed && a->slope == b->slope &&
                a->width == b->width && a->depth == b->depth && a->meander == b->meander &&
                a->wavelength == b->wavelength && a->roughness == b->roughness &&
                a->fall_count == b->fall_count;
    for (int i = 0; i < 4; i++)
        same = same && a->fall_x[i] == b->fall_x[i] && a->fall_drop[i] == b->fall_drop[i];
    return same;
}

static bool same_shape(const BrimShapeDef *a, const BrimShapeDef *b) {
    bool same = a->kind == b->kind && same_vec(a->position, b->position) &&
                same_vec(a->rotation, b->rotation) && a->scale == b->scale &&
                same_vec(a->size, b->size) && a->radius == b->radius && a->tube == b->tube &&
                a->height == b->height && same_vec(a->normal, b->normal) && a->blend == b->blend &&
                same_text(a->file, b->file) && a->heights_x == b->heights_x &&
                a->heights_z == b->heights_z && same_canyon(a->canyon, b->canyon) &&
                a->child_count == b->child_count;
    for (int i = 0; same && i < a->heights_x * a->heights_z; i++)
        same = a->heights[i] == b->heights[i];
    for (int i = 0; same && i < a->child_count; i++)
        same = same_shape(&a->children[i], &b->children[i]);
    return same;
}

/// All that the tables know of, and the shapes; lists within items too.
static bool same_items(const Table *table, const void *a, const void *b, int count, int dim) {
    for (int i = 0; i < count; i++) {
        const char *x = (const char *)a + (size_t)i * table->size;
        const char *y = (const char *)b + (size_t)i * table->size;
        for (int f = 0; f < table->count; f++) {
            double u[3] = {0}, v[3] = {0};
            field_get(&table->fields[f], x, 3, u);
            field_get(&table->fields[f], y, 3, v);
            if (memcmp(u, v, sizeof u) != 0) return false;
        }
        if (item_has_shape(table, x) != item_has_shape(table, y)) return false;
        if (item_has_shape(table, x) && !same_shape((const void *)(x + table->shape_offset),
                                                    (const void *)(y + table->shape_offset)))
            return false;
        if (table == &table_solid) {
            const BrimSolidDef *s = (const void *)x, *t = (const void *)y;
            if (s->motion != t->motion || s->keyframe_count != t->keyframe_count ||
                !same_items(&table_keyframe, s->keyframes, t->keyframes, s->keyframe_count, dim))
                return false;
        }
    }
    return true;
}

static bool same_def(const BrimSimDef *a, const BrimSimDef *b) {
    return same_items(&table_sim, a, b, 1, a->dim) && a->liquid_count == b->liquid_count &&
           a->solid_count == b->solid_count && a->source_count == b->source_count &&
           a->drain_count == b->drain_count && a->gravity_key_count == b->gravity_key_count &&
           same_items(&table_gravity, a->gravity_keys, b->gravity_keys, a->gravity_key_count,
                      a->dim) &&
           same_items(&table_liquid, a->liquid, b->liquid, a->liquid_count, a->dim) &&
           same_items(&table_solid, a->solids, b->solids, a->solid_count, a->dim) &&
           same_items(&table_source, a->sources, b->sources, a->source_count, a->dim) &&
           same_items(&table_drain, a->drains, b->drains, a->drain_count, a->dim) &&
           a->force_count == b->force_count &&
           same_items(&table_force, a->forces, b->forces, a->force_count, a->dim);
}

static void check_round_trip(Test *test_, const char *path) {
    BrimScene *scene, *again;
    BrimError error;
    CHECK_OK(brim_scene_load(path, NULL, 0, &scene, &error), error);
    const char *json = brim_scene_json(scene);
    CHECK_OK(brim_scene_parse(json, strlen(json), "elsewhere/run.json", NULL, 0, &again, &error),
             error);
    bool same = same_def(brim_scene_def(scene), brim_scene_def(again));
    bool same_json = strcmp(json, brim_scene_json(again)) == 0;
    brim_scene_destroy(&scene);
    brim_scene_destroy(&again);
    if (!same || !same_json) test_fail(test_, __FILE__, __LINE__, "%s: not the same", path);
}

TEST(scene_all_load_and_round_trip) {
    DIR *folder = opendir("scenes");
    CHECK(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0) continue;
        char path[512];
        snprintf(path, sizeof path, "scenes/%s", entry->d_name);
        check_round_trip(test_, path);
        count++;
    }
    closedir(folder);
    CHECK(count >= 8);
}

TEST(scene_every_key_round_trips) {
    check_round_trip(test_, "fuzz/corpus/scene/everything.yaml");
    check_round_trip(test_, "fuzz/corpus/scene/flat.yaml");
}

TEST(scene_double_dams_have_the_agreed_numbers) {
    BrimScene *scene;
    BrimError error;
    CHECK_OK(brim_scene_load("scenes/double-dam-2d.yaml", NULL, 0, &scene, &error), error);
    const BrimSimDef *def = brim_scene_def(scene);
    double cell = 0.5 / 128;
    CHECK(def->dim == 2 && def->cells[0] == 128 && def->cells[1] == 128 && def->cells[2] == 1);
    CHECK(def->particles_per_cell == 9 && def->duration == 30 && def->liquid_count == 2);
    CHECK_NEAR(def->size.z, cell, 0);
    CHECK_NEAR(def->liquid[1].shape.size.x, 52 * cell, 0);
    CHECK_NEAR(def->liquid[1].shape.size.y, 76 * cell, 0);
    CHECK_NEAR(def->liquid[1].shape.position.x, 0.5 - 26 * cell, 0);
    brim_scene_destroy(&scene);

    CHECK_OK(brim_scene_load("scenes/double-dam-3d.yaml", NULL, 0, &scene, &error), error);
    def = brim_scene_def(scene);
    cell = 1.0 / 64;
    CHECK(def->dim == 3 && def->cells[0] == 64 && def->cells[1] == 128 && def->cells[2] == 64);
    CHECK(def->particles_per_cell == 8 && def->duration == 10 && def->liquid_count == 2);
    for (int i = 0; i < 2; i++) {
        CHECK_NEAR(def->liquid[i].shape.size.x, 20 * cell, 0);
        CHECK_NEAR(def->liquid[i].shape.size.y, 43 * cell, 0);
        CHECK_NEAR(def->liquid[i].shape.size.z, 20 * cell, 0);
        CHECK_NEAR(def->liquid[i].shape.position.y, 21.5 * cell, 0);
        CHECK_NEAR(def->liquid[i].shape.position.x, i ? 1 - 10 * cell : 10 * cell, 0);
    }
    brim_scene_destroy(&scene);
}

TEST(scene_resolution_is_one_key) {
    BrimScene *scene;
    BrimError error;
    const char *set = "domain.cells=1600";
    CHECK_OK(brim_scene_load("scenes/river.yaml", &set, 1, &scene, &error), error);
    const BrimSimDef *def = brim_scene_def(scene);
    CHECK(def->cells[0] == 1600 && def->cells[1] == 400 && def->cells[2] == 800);
    CHECK(def->step == 0.02 && def->sides[1] == BRIM_SIDE_OPEN && def->sides[0] == BRIM_SIDE_WALL);
    const BrimCanyonDef *canyon = def->solids[0].shape.canyon;
    CHECK(canyon && canyon->fall_count == 2 && canyon->fall_x[1] == 70);
    brim_scene_destroy(&scene);
}

TEST(scene_messages_name_file_line_key_value_and_what_is_allowed) {
    CHECK(refuses(HEAD "solver:\n  tolerance: -1\n", NULL,
                  "dam.yaml:6: solver.tolerance: -1 is not allowed: a number > 0 "
                  "(dimensionless)"));
    CHECK(refuses(HEAD "solver:\n  transfr: apic\n", NULL,
                  "dam.yaml:6: solver.transfr: unknown key: did you mean solver.transfer?"));
    CHECK(refuses(HEAD "tolerance: 1\n", NULL,
                  "dam.yaml:5: tolerance: unknown key: did you mean solver.tolerance?"));
    CHECK(refuses(HEAD "solver.tolerance: 1\n", NULL,
                  "dam.yaml:5: solver.tolerance: unknown key: groups are nested, not joined by "
                  "dots"));
    CHECK(refuses(HEAD "solver: {transfer: pic}\n", NULL,
                  "dam.yaml:5: solver.transfer: pic is not allowed: one of flip, apic"));
    CHECK(refuses(
        HEAD "gravity: [0, -9.81]\n", NULL,
        "dam.yaml:5: gravity: a list of 2 is not allowed: a list of 3 numbers or formulas (m/s^2), "
        "or a list of {time, gravity}"));
    CHECK(refuses(HEAD "solids:\n  - sphere: {center: [0, 1], radius: 1}\n", NULL,
                  "dam.yaml:6: solids[0].sphere.center: a list of 2 is not allowed: a list of 3 "
                  "numbers (m); a scene in 2D has \"dim: 2\""));
    CHECK(refuses(HEAD "seed: 1.5\n", NULL,
                  "dam.yaml:5: seed: 1.5 is not allowed: a whole number from 0 to 4294967295"));
    CHECK(refuses(HEAD "seed: \"1\"\n", NULL,
                  "dam.yaml:5: seed: \"1\" is not allowed: a whole number from 0 to 4294967295"));
    CHECK(refuses(HEAD "band: {width: 1}\n", NULL,
                  "dam.yaml:5: band.width: 1 is not allowed: a whole number, 0 or 2 to 16"));
    CHECK(refuses(HEAD "output: {surface_radius: 0.4}\n", NULL,
                  "dam.yaml:5: output.surface_radius: 0.4 is not allowed: a number, 0 or 0.5 to 4 "
                  "(cells)"));
    CHECK(refuses(HEAD "output: {fields: 1}\n", NULL,
                  "dam.yaml:5: output.fields: 1 is not allowed: true or false"));
    CHECK(refuses(HEAD "density:\n", NULL,
                  "dam.yaml:5: density: nothing is not allowed: a number > 0 (kg/m^3)"));
    CHECK(
        refuses(HEAD "liquid: water\n", NULL, "dam.yaml:5: liquid: water is not allowed: a list"));
    CHECK(refuses(HEAD "time: 4\n", NULL,
                  "dam.yaml:5: time: 4 is not allowed: a map of duration, frame_rate, step, cfl, "
                  "step_min, step_max"));
    CHECK(refuses(HEAD "time: {duration: .nan}\n", NULL,
                  "dam.yaml:5: time.duration: .nan is not allowed: a number > 0 (s)"));
    CHECK(refuses(HEAD "time: {duration: .inf}\n", NULL,
                  "dam.yaml:5: time.duration: .inf is not allowed: a number > 0 (s)"));
    CHECK(refuses(HEAD "density: 1e39\n", NULL,
                  "dam.yaml:5: density: 1e39 is not allowed: a number > 0 (kg/m^3); so large a "
                  "number is infinite here"));
    CHECK(refuses(HEAD "density: 1e400\n", NULL,
                  "dam.yaml:5: density: 1e400 is not allowed: a number > 0 (kg/m^3); so large a "
                  "number is infinite here"));
    CHECK(refuses(HEAD "density: 1e-50\n", NULL,
                  "dam.yaml:5: density: 1e-50 is not allowed: a number > 0 (kg/m^3); so small a "
                  "number is 0 here"));
    CHECK(refuses(HEAD "density: 0x10\n", NULL,
                  "dam.yaml:5: density: 0x10 is not allowed: a number > 0 (kg/m^3)"));
    CHECK(refuses("brim: 1\ndomain:\n  size: [1, 1, 1]\n", NULL,
                  "dam.yaml:2: domain.cells: is missing: one whole number or a list of 3, each "
                  "from 4 to 262135"));
}

/// What is beyond all use is refused, with a reason that is true.
TEST(scene_values_beyond_reason_are_refused) {
    CHECK(
        refuses(HEAD, "domain.size=[1e-40, 1e-40, 1e-40]",
                "--set domain.size=[1e-40, 1e-40, 1e-40]: domain.size[0]: 1e-40 is not allowed: a "
                "list of 3 numbers, each from 1e-9 to 1e7 (m)"));
    CHECK(refuses(
        HEAD "sources:\n  - sphere: {center: [0.5, 0.5, 0.5], radius: 0.1}\n"
             "    velocity: [1e30, 0, 0]\n",
        NULL,
        "dam.yaml:7: sources[0].velocity[0]: 1e30 is not allowed: a list of 3 numbers or formulas, "
        "each from -1e7 to 1e7 (m/s)"));
    CHECK(refuses(HEAD, "time.step_max=1e-300",
                  "--set time.step_max=1e-300: time.step_max: 1e-300 s is too short: more than a "
                  "billion steps"));
    CHECK(refuses("brim: 1\ndim: 2\ndomain: {size: [262136, 4], cells: [262136, 4]}\n", NULL,
                  "dam.yaml:3: domain.cells[0]: 262136 is not allowed: one whole number or a list "
                  "of 2, each from 4 to 262135"));
    // the ends of a range belong to it, though 1e-6 as a float is less than 1e-6
    BrimScene *scene;
    BrimError error;
    CHECK_OK(parse_set(HEAD "liquid:\n  - sphere: {center: [0.5, 0.5, 0.5], radius: 0.1, scale: "
                            "1e-6}\n",
                       NULL, &scene, &error),
             error);
    brim_scene_destroy(&scene);
}

TEST(longest_domain_is_made) {
    BrimSimDef def = brim_default_sim_def();
    BrimSim *sim;
    BrimError error;
    def.dim = 2;
    def.cells[0] = 262135, def.cells[1] = 4, def.cells[2] = 1;
    def.size = (BrimVec3){262135, 4, 1};
    def.particles_per_cell = 4;
    CHECK_OK(brim_sim_create(&def, &sim, &error), error);
    brim_sim_destroy(&sim);
}

TEST(estimates_beyond_all_numbers_stay_above_zero) {
    BrimSimDef def = brim_default_sim_def();
    BrimSourceDef source = brim_default_source_def();
    BrimEstimate *e = calloc(1, sizeof *e);
    source.shape.kind = BRIM_SHAPE_SPHERE;
    source.shape.position = (BrimVec3){5e-10f, 5e-10f, 5e-10f};
    source.shape.radius = 3e-10f;
    source.velocity = (BrimVec3){1e7f, 0, 0};
    source.stop = 1e-20;
    def.cells[0] = def.cells[1] = def.cells[2] = 16;
    def.size = (BrimVec3){1e-9f, 1e-9f, 1e-9f};
    def.duration = 1000, def.frame_rate = 0.01, def.cfl = 0.01;
    def.sources = &source, def.source_count = 1;
    brim_estimate(&def, false, e, NULL);
    CHECK(e->steps == INT64_MAX && e->disk_bytes > 0 && e->particles >= 0);
    free(e);
}

/// Two thousand million particles in one cell: refused before they are counted one by one.
TEST(very_many_random_particles_are_refused_at_once) {
    BrimSimDef def = brim_default_sim_def();
    BrimLiquidDef drop = {.shape = brim_default_shape_def(), .particles = 2000000000};
    BrimEstimate *e = calloc(1, sizeof *e);
    BrimSim *sim;
    BrimError error;
    drop.shape.kind = BRIM_SHAPE_BOX;
    drop.shape.position = (BrimVec3){0.52f, 0.52f, 0.52f};
    drop.shape.size = (BrimVec3){0.03f, 0.03f, 0.03f};
    def.cells[0] = def.cells[1] = def.cells[2] = 32;
    def.size = (BrimVec3){1, 1, 1};
    def.liquid = &drop, def.liquid_count = 1;
    def.memory_limit = 1e9;
    clock_t begin = clock();
    CHECK(brim_sim_create(&def, &sim, &error) == BRIM_ERROR_MEMORY && !sim);
    CHECK(brim_estimate(&def, false, e, &error) == BRIM_ERROR_MEMORY);
    CHECK(e->particles == 2000000000);
    CHECK_BELOW((double)(clock() - begin) / CLOCKS_PER_SEC, 3);
    free(e);
}

TEST(scene_messages_on_the_file_as_a_whole) {
    CHECK(
        refuses("dim: 2\n", NULL, "dam.yaml:1: brim: is missing: a scene begins with \"brim: 1\""));
    for (int i = 0; i < 2; i++) // not the fault of --set
        CHECK(refuses("# water\n- 1\n", i ? "threads=1" : NULL,
                      "dam.yaml:2: the scene is a list: it must be a map of keys that begins with "
                      "\"brim: 1\""));
    CHECK(refuses("water\n", "threads=1",
                  "dam.yaml:1: the scene is plain text: it must be a map of keys that begins with "
                  "\"brim: 1\""));
    CHECK(refuses("brim: 2\n", NULL,
                  "dam.yaml:1: brim: 2 is not allowed: this program reads version 1"));
    CHECK(refuses("", NULL, "dam.yaml:1: the scene is empty: it begins with \"brim: 1\""));
    CHECK(refuses("brim: 1\nseed: 1\nseed: 2\n", NULL, "dam.yaml:3: this key appears twice: seed"));
    CHECK(refuses("brim: [1\n", NULL,
                  "dam.yaml:2: not valid YAML: did not find expected ',' or ']'"));
    CHECK(refuses("brim: 1\n---\nbrim: 1\n", NULL,
                  "dam.yaml:2: a second document (---): a file holds one scene"));
    CHECK(refuses("brim: 1\na: &x 1\nb: *x\n", NULL,
                  "dam.yaml:2: anchors and aliases (& and *) are not supported"));
    CHECK(refuses("brim: !!int 1\n", NULL, "dam.yaml:1: tags (!) are not supported"));
    CHECK(refuses("brim: 1\n? [a]\n: b\n", NULL,
                  "dam.yaml:2: a key must be a word, not a map or list"));
}

TEST(scene_messages_on_shapes) {
    CHECK(refuses(HEAD "solids:\n  - sphere: {center: [0, 0, 0]}\n", NULL,
                  "dam.yaml:6: solids[0].sphere.radius: is missing: a number > 0 (m)"));
    CHECK(refuses(HEAD "solids:\n  - sphere: {radius: 0}\n", NULL,
                  "dam.yaml:6: solids[0].sphere.radius: 0 is not allowed: a number > 0 (m)"));
    CHECK(refuses(HEAD "solids:\n  - box: {low: [0, 0, 0], size: [1, 1, 1]}\n", NULL,
                  "dam.yaml:6: solids[0].box: give either low and high, or center and size (m)"));
    CHECK(refuses(HEAD "solids:\n  - box: {low: [0, 0, 0], high: [1, 0, 1]}\n", NULL,
                  "dam.yaml:6: solids[0].box: high must be above low along y"));
    CHECK(refuses(HEAD "solids:\n  - {rate: 3}\n", NULL,
                  "dam.yaml:6: solids[0]: has no shape: give one of box, sphere, cylinder, "
                  "capsule, plane, torus, height_field, mesh, union, difference, smooth_union"));
    CHECK(refuses(HEAD "solids:\n  - bax: {size: [1, 1, 1]}\n    box: {size: [1, 1, 1]}\n", NULL,
                  "dam.yaml:6: solids[0].bax: unknown key: did you mean solids[0].box?"));
    CHECK(refuses(HEAD "solids:\n  - union: []\n", NULL,
                  "dam.yaml:6: solids[0].union: a list of 0 is not allowed: a list of at least one "
                  "shape"));
    CHECK(refuses(HEAD "solids:\n  - smooth_union: {blend: 0.1}\n", NULL,
                  "dam.yaml:6: solids[0].smooth_union.of: is missing: a list of at least one "
                  "shape"));
    CHECK(refuses(HEAD "solids:\n  - plane: {normal: [0, 0, 0]}\n", NULL,
                  "dam.yaml:6: solids[0].plane.normal: 0 is not allowed: a direction"));
    CHECK(
        refuses(HEAD "solids:\n  - torus: {radius: 1, tube: 2}\n", NULL,
                "dam.yaml:6: solids[0].torus.tube: 2 m is more than the radius of the ring, 1 m"));
    CHECK(refuses(
        HEAD "solids:\n  - height_field: {length: 1, width: 1}\n", NULL,
        "dam.yaml:6: solids[0].height_field: give one of file, heights, formula and canyon"));
    CHECK(refuses(HEAD "solids:\n"
                       "  - sphere: {radius: 1}\n"
                       "    keyframes:\n"
                       "      - {time: 1}\n"
                       "      - {time: 1}\n",
                  NULL,
                  "dam.yaml:9: solids[0].keyframes[1].time: must be later than the keyframe "
                  "before it"));
    CHECK(refuses(HEAD
                  "solids:\n  - sphere: {radius: 1}\n    rate: 1\n    keyframes: [{time: 0}]\n",
                  NULL, "dam.yaml:8: solids[0]: give one of rate, keyframes, and path with turn"));
    CHECK(refuses(
        HEAD
        "sources:\n  - sphere: {radius: 1}\n    velocity: [1, 0, 0]\n    flow: 1\n    rate: 1\n",
        NULL, "dam.yaml:9: sources[0].rate: give flow or rate, not both"));
    CHECK(refuses(
        HEAD
        "sources:\n  - sphere: {radius: 1}\n    velocity: [1, 0, 0]\n    start: 2\n    stop: 1\n",
        NULL, "dam.yaml:9: sources[0].stop: must be later than start (s)"));
    CHECK(refuses(
        HEAD "sources:\n  - sphere: {radius: 1}\n", NULL,
        "dam.yaml:6: sources[0].velocity: is missing: a list of 3 numbers or formulas, each from "
        "-1e7 to 1e7 (m/s)"));
    CHECK(refuses(HEAD "sources:\n  - sphere: {radius: 1}\n    velocity: [0, 0, 0]\n", NULL,
                  "dam.yaml:7: sources[0].velocity: must not be zero: it is the velocity with "
                  "which the stream leaves (m/s)"));
}

TEST(scene_files_are_named_from_the_folder_of_the_scene) {
    BrimScene *scene;
    BrimError error;
    const char *text = HEAD "solids:\n  - mesh: {file: dam.yaml}\n";
    CHECK_OK(brim_scene_parse(text, strlen(text), "scenes/x.yaml", NULL, 0, &scene, &error), error);
    const char *file = brim_scene_def(scene)->solids[0].shape.file;
    CHECK(file[0] == '/' && strstr(file, "/scenes/dam.yaml"));
    brim_scene_destroy(&scene);
    CHECK(parse_set(HEAD "solids:\n  - mesh: {file: no.obj}\n", NULL, &scene, &error) ==
          BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "dam.yaml:6: solids[0].mesh.file: /"));
    CHECK(strstr(error.message, "/no.obj cannot be read: No such file or directory"));
}

TEST(scene_cells_must_be_cubes) {
    CHECK(refuses("brim: 1\ndomain:\n  size: [1, 1, 1]\n  cells: [64, 64, 32]\n", NULL,
                  "dam.yaml:3: domain.size: cells must be cubes: 64 cells on 1 m along x make them "
                  "0.015625 m wide, but 32 on 1 m along z make 0.03125 m; along z give 0.5 m, or "
                  "64 cells"));
    CHECK(refuses("brim: 1\ndomain:\n  size: [1, 0.53, 1]\n  cells: [10, 5, 10]\n", NULL,
                  "dam.yaml:3: domain.size: cells must be cubes: 10 cells on 1 m along x make them "
                  "0.1 m wide, but 5 on 0.53 m along y make 0.106 m; along y give 0.5 m, or 6 "
                  "cells"));
    CHECK(refuses("brim: 1\ndomain:\n  size: [1, 0.25, 1]\n  cells: 8\n", NULL,
                  "dam.yaml:4: domain.cells: 2 is not allowed: one whole number or a list of 3, "
                  "each from 4 to 262135"));
}

TEST(scene_box_is_rounded_outward_to_whole_cells) {
    static const char text[] =
        "brim: 1\ndomain:\n  size: [0.14, 0.20, 0.141]\n  cells: 64\n"
        "liquid:\n  - box: {low: [0, 0, 0], high: [0.14, 0.05, 0.141]}\n"
        "  - union: {position: [0, 0.1, 0], of: [box: {low: [0, 0, 0], high: [0.1, 0.1, 0.1]}]}\n"
        "solids:\n  - box: {low: [0.1, 0, 0], high: [0.12, 0.2, 0.141]}\n"
        "  - box: {low: [0, 0.1, 0], high: [0.02, 0.2, 0.02]}\n    rate: 10\n"
        "  - sphere: {center: [0.07, 0.1, 0.07], radius: 0.1}\n";
    static const char *const sets[] = {NULL, "domain.cells=[64, 92, 65]"};
    for (int k = 0; k < 2; k++) {
        BrimScene *scene, *again;
        BrimError error;
        CHECK_OK(parse_set(text, sets[k], &scene, &error), error);
        const BrimSimDef *def = brim_scene_def(scene);
        CHECK(def->cells[0] == 64 && def->cells[1] == 92 && def->cells[2] == 65);
        double dx = 0.14 / 64, y = 92 * dx, z = 65 * dx;
        CHECK_NEAR(def->size.y, y, 1e-7);
        CHECK_NEAR(def->size.z, z, 1e-7);
        CHECK(strstr(brim_scene_note(scene), "y+ from 0.2 to 0.20125 m (92 cells), z+ from 0.141"));
        // what ended on a side ends on it again; what did not is as it was
        const BrimShapeDef *water = &def->liquid[0].shape, *wall = &def->solids[0].shape;
        CHECK_NEAR(water->position.z + 0.5f * water->size.z, z, 1e-7);
        CHECK_NEAR(water->position.z - 0.5f * water->size.z, 0, 1e-7);
        CHECK_NEAR(water->position.y + 0.5f * water->size.y, 0.05, 1e-7);
        CHECK_NEAR(wall->position.y + 0.5f * wall->size.y, y, 1e-7);
        CHECK_NEAR(wall->position.z + 0.5f * wall->size.z, z, 1e-7);
        const BrimShapeDef *child = &def->liquid[1].shape.children[0];
        CHECK_NEAR(0.1 + child->position.y + 0.5f * child->size.y, y, 1e-7);
        CHECK_NEAR(child->size.z, 0.1, 1e-7);
        CHECK_NEAR(def->solids[1].shape.size.y, 0.1, 1e-7); // turns: its size is its own
        // what a run remembers of it needs no more rounding
        const char *json = brim_scene_json(scene);
        CHECK_OK(brim_scene_parse(json, strlen(json), "json", NULL, 0, &again, &error), error);
        CHECK(strcmp(brim_scene_note(again), "") == 0);
        CHECK(strcmp(json, brim_scene_json(again)) == 0);
        brim_scene_destroy(&scene);
        brim_scene_destroy(&again);
    }
    BrimScene *scene;
    BrimError error;
    CHECK_OK(parse_set(HEAD, NULL, &scene, &error), error);
    CHECK(strcmp(brim_scene_note(scene), "") == 0);
    brim_scene_destroy(&scene);
}

TEST(scene_several_problems_are_told_at_once) {
    CHECK(refuses(HEAD "seed: x\nthreads: -1\n", NULL,
                  "dam.yaml:5: seed: x is not allowed: a whole number from 0 to 4294967295\n"
                  "dam.yaml:6: threads: -1 is not allowed: a whole number from 0 to 1024"));
    BrimScene *scene;
    BrimError error;
    CHECK(parse_set(HEAD "solver: {a1: 1, b2: 1, c3: 1, d4: 1, e5: 1, f6: 1, g7: 1}\n", NULL,
                    &scene, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "\nand 2 more"));
}

TEST(scene_set_overrides_any_key) {
    const char *text = HEAD "time: {cfl: 1}\n"
                            "liquid:\n  - box: {low: [0, 0, 0], high: [0.5, 0.5, 0.5]}\n"
                            "solids:\n  - sphere: {radius: 0.1}\n";
    const char *sets[] = {"solids[0].rate=90",
                          "liquid[0].velocity=[1,0,0]",
                          "time.step=0.002",
                          "solver={transfer: apic}",
                          "domain.size[1]=0.5",
                          "domain.sides.x+=open",
                          "seed=7"};
    BrimScene *scene;
    BrimError error;
    CHECK_OK(brim_scene_parse(text, strlen(text), "dam.yaml", sets, 7, &scene, &error), error);
    const BrimSimDef *def = brim_scene_def(scene);
    CHECK(def->solids[0].rate == 90 && def->solids[0].motion == BRIM_MOTION_ROTATION);
    CHECK(def->liquid[0].velocity.x == 1);
    CHECK(def->step == 0.002 && def->transfer == BRIM_TRANSFER_APIC && def->seed == 7);
    CHECK(def->size.y == 0.5f && def->cells[1] == 8 && def->sides[1] == BRIM_SIDE_OPEN);
    brim_scene_destroy(&scene);
}

TEST(scene_set_chooses_between_step_and_cfl) {
    const char *both = HEAD "time: {step: 0.01, cfl: 1}\n", *step = HEAD "time: {step: 0.01}\n";
    BrimScene *scene;
    BrimError error;
    CHECK(refuses(both, NULL, "dam.yaml:5: time: give step or cfl, not both"));
    CHECK_OK(parse_set(step, "time.cfl=3", &scene, &error), error);
    CHECK(brim_scene_def(scene)->step == 0 && brim_scene_def(scene)->cfl == 3);
    brim_scene_destroy(&scene);
    CHECK_OK(parse_set(both, "time.step=0.5", &scene, &error), error);
    CHECK(brim_scene_def(scene)->step == 0.5);
    brim_scene_destroy(&scene);
}

TEST(scene_set_problems_name_the_set) {
    CHECK(refuses(HEAD, "solver.tolerance=-1",
                  "--set solver.tolerance=-1: solver.tolerance: -1 is not allowed: a number > 0 "
                  "(dimensionless)"));
    CHECK(refuses(HEAD, "solver.tolerence=1",
                  "--set solver.tolerence=1: solver.tolerence: unknown key: did you mean "
                  "solver.tolerance?"));
    CHECK(refuses(HEAD, "particles.per_cell=9",
                  "--set particles.per_cell=9: particles.per_cell: 9 is not allowed: in 3D a cube "
                  "number: 1, 8, 27 or 64"));
    CHECK(refuses(HEAD, "seed", "--set seed: write key=value, as in time.step=0.002"));
    CHECK(refuses(HEAD, "a..b=1",
                  "--set a..b=1: write a key such as solver.tolerance or solids[0].rate"));
    CHECK(refuses(HEAD, "solids[0].rate=1", "--set solids[0].rate=1: [0]: there is no list here"));
    CHECK(refuses(HEAD "solids: []\n", "solids[0].rate=1",
                  "--set solids[0].rate=1: [0]: the list has 0 items, counted from 0"));
    CHECK(refuses(HEAD, "domain.size.x=1",
                  "--set domain.size.x=1: x: what comes before it is not a group of keys in this "
                  "scene"));
    CHECK(refuses(HEAD, "seed=[1",
                  "--set seed=[1: not valid YAML: did not find expected ',' or ']'"));
}

TEST(scene_2d_takes_two_numbers) {
    const char *text = "brim: 1\ndim: 2\ndomain: {size: [1, 0.5], cells: 32, sides: open}\n"
                       "liquid:\n  - box: {low: [0, 0], high: [0.5, 0.25, 0]}\n    spin: 2\n"
                       "solids:\n  - box: {center: [0.5, 0.1], size: [0.1, 0.2], rotation: 30}\n"
                       "    rate: 10\n";
    BrimScene *scene;
    BrimError error;
    CHECK_OK(parse_set(text, NULL, &scene, &error), error);
    const BrimSimDef *def = brim_scene_def(scene);
    CHECK(def->cells[0] == 32 && def->cells[1] == 16 && def->cells[2] == 1);
    CHECK(def->size.z == 1.0f / 32 && def->particles_per_cell == 9);
    CHECK(def->sides[3] == BRIM_SIDE_OPEN && def->sides[4] == BRIM_SIDE_WALL);
    CHECK(def->liquid[0].spin.z == 2 && def->liquid[0].shape.size.x == 0.5f);
    CHECK(def->solids[0].shape.rotation.z == 30 && def->solids[0].axis.z == 1);
    brim_scene_destroy(&scene);
    CHECK(refuses("brim: 1\ndim: 2\ndomain: {size: [1, 1], cells: 8, sides: {z-: open}}\n", NULL,
                  "dam.yaml:3: domain.sides.z-: has no meaning in 2D: remove it"));
    const char *turned = "brim: 1\ndim: 2\ndomain: {size: [1, 1], cells: 8}\n"
                         "solids: [{sphere: {radius: 1, rotation: [0, 0, 30]}}]\n";
    CHECK_OK(parse_set(turned, NULL, &scene, &error), error);
    CHECK(brim_scene_def(scene)->solids[0].shape.rotation.z == 30);
    brim_scene_destroy(&scene);
    CHECK(refuses(turned, "solids[0].sphere.rotation=[30, 0, 0]",
                  "--set solids[0].sphere.rotation=[30, 0, 0]: solids[0].sphere.rotation[0]: 30 is "
                  "not allowed: one number, about z (deg)"));
    CHECK(refuses(
        "brim: 1\ndim: 2\ndomain: {size: [1, 1], cells: 8}\ngravity: [0, 0, 1]\n", NULL,
        "dam.yaml:4: gravity[2]: 1 is not allowed: a list of 2 numbers or formulas (m/s^2), or a "
        "list of {time, gravity}"));
}

TEST(scene_gravity_may_have_keys) {
    BrimScene *scene;
    BrimError error;
    CHECK_OK(parse_set(HEAD "gravity:\n  - {time: 0, gravity: [1, 0, 0]}\n"
                            "  - {time: 2, gravity: [0, -1, 0]}\n",
                       NULL, &scene, &error),
             error);
    const BrimSimDef *def = brim_scene_def(scene);
    CHECK(def->gravity_key_count == 2 && def->gravity_keys[1].time == 2);
    CHECK(def->gravity_keys[1].gravity.y == -1 && def->gravity.x == 1);
    brim_scene_destroy(&scene);
    CHECK(refuses(HEAD "gravity: [{time: 1, gravity: [0, 0, 0]}, {time: 0, gravity: [0, 0, 0]}]\n",
                  NULL, "dam.yaml:5: gravity[1].time: must be later than the key before it"));
}

TEST(scene_hostile_sizes_end_in_a_message) {
    BrimScene *scene;
    BrimError error;
    size_t length = 5000000;
    char *text = malloc(length + 1);
    CHECK(text);
    memset(text, '[', length);
    CHECK(brim_scene_parse(text, length, "x", NULL, 0, &scene, &error) == BRIM_ERROR_INPUT);
    CHECK(strcmp(error.message, "x:1: maps and lists are nested too deeply") == 0);
    memset(text, 'a', length);
    CHECK(brim_scene_parse(text, length, "x", NULL, 0, &scene, &error) == BRIM_ERROR_INPUT);
    for (size_t i = 0; i < length; i++) text[i] = i % 2 ? ',' : '1';
    memcpy(text, " [", 2);
    CHECK(brim_scene_parse(text, length, "x", NULL, 0, &scene, &error) == BRIM_ERROR_INPUT);
    CHECK(strcmp(error.message, "x:1: the scene has too many values") == 0);
    free(text);
    CHECK(brim_scene_parse(NULL, 0, NULL, NULL, 0, &scene, NULL) == BRIM_ERROR_INPUT);
}

#else

TEST(scene_without_libyaml_says_what_to_install) {
    BrimScene *scene;
    BrimError error;
    CHECK(brim_scene_load("scenes/dam.yaml", NULL, 0, &scene, &error) == BRIM_ERROR_MISSING);
    CHECK(!scene && strstr(error.message, "libyaml-dev"));
}

#endif

TEST(scene_unreadable_files_are_an_io_error) {
    BrimScene *scene;
    BrimError error;
    CHECK(brim_scene_load("no/such.yaml", NULL, 0, &scene, &error) == BRIM_ERROR_IO);
    CHECK(strcmp(error.message, "no/such.yaml: cannot read the scene: No such file or directory") ==
          0);
    CHECK(brim_scene_load("scenes", NULL, 0, &scene, &error) == BRIM_ERROR_IO);
}

TEST(scene_defaults_come_from_the_table) {
    BrimSimDef def = brim_default_sim_def();
    CHECK(def.dim == 3 && def.frame_rate == 24 && def.duration == 4 && def.step == 0);
    CHECK(def.cfl == 2 && def.tolerance == 1e-4 && def.max_iterations == 300);
    CHECK(def.gravity.x == 0 && def.gravity.y == -9.81f && def.gravity.z == 0);
    CHECK(def.flip_ratio == 0.97f && def.jitter == 0.5f && def.seed == 1 && def.density == 1000);
    CHECK(def.particles_per_cell == 8 && def.output.particles && !def.output.fields);
    CHECK(def.output.every == 1 && def.output.checkpoint_every == 10);
    BrimSourceDef source = brim_default_source_def();
    BrimDrainDef drain = brim_default_drain_def();
    CHECK(isinf(source.stop) && isinf(drain.stop) && source.shape.scale == 1);
    BrimSolidDef solid = brim_default_solid_def(), other = solid;
    table_defaults(&table_solid, &other);
    CHECK(same_vec(solid.axis, other.axis) && solid.rate == other.rate);
    CHECK(solid.start == other.start);
}

TEST(scene_table_rows_are_whole) {
    const BrimFieldInfo *info;
    int count = 0;
    for (; (info = brim_scene_field(count)); count++) {
        CHECK(info->key && *info->key && info->type && info->initial && info->range);
        CHECK(info->unit && info->help && *info->help && !strchr(info->help, '|'));
        for (int i = 0; i < count; i++) CHECK(strcmp(brim_scene_field(i)->key, info->key) != 0);
    }
    CHECK(count > 80);
    CHECK(brim_scene_field(-1) == NULL && brim_scene_field(count + 100) == NULL);
}

/// Every default lies in its own range; `base` holds the defaults of the table.
static bool defaults_are_allowed(const Table *table, const void *base) {
    for (int i = 0; i < table->count; i++) {
        const Field *field = &table->fields[i];
        double value[3];
        int n = field_get(field, base, 3, value);
        bool given = !(field->flags & FIELD_SHORTHAND) && strcmp(field->info.initial, "required");
        for (int k = 0; given && k < n; k++)
            if (!field_allows(field, value[k])) return false;
    }
    return true;
}

TEST(scene_defaults_lie_in_their_ranges) {
    BrimSimDef def = brim_default_sim_def();
    BrimSourceDef source = brim_default_source_def();
    BrimDrainDef drain = brim_default_drain_def();
    BrimSolidDef solid = brim_default_solid_def();
    BrimCanyonDef canyon = {0};
    table_defaults(&table_canyon, &canyon);
    CHECK(defaults_are_allowed(&table_sim, &def));
    CHECK(defaults_are_allowed(&table_source, &source));
    CHECK(defaults_are_allowed(&table_drain, &drain));
    CHECK(defaults_are_allowed(&table_solid, &solid));
    CHECK(defaults_are_allowed(&table_canyon, &canyon));
}

TEST(scene_numbers_read_back) {
    char text[32];
    double values[] = {0.1, 1.0 / 3, 1e-300, -2.5e20, 4294967295.0, 0.0002, 123456789.125};
    for (int i = 0; i < 7; i++) {
        double back;
        number_print(values[i], false, text);
        CHECK(number_parse(text, &back) && back == values[i]);
        number_print((double)(float)values[i], true, text);
        CHECK(number_parse(text, &back) && (float)back == (float)values[i]);
    }
    number_print((double)0.1f, true, text);
    CHECK(strcmp(text, "0.1") == 0);
    double value;
    CHECK(!number_parse("", &value) && !number_parse("1 2", &value) &&
          !number_parse("nan", &value));
    CHECK(!number_parse("1e", &value) && !number_parse("-", &value) &&
          !number_parse("0x1", &value));
}

TEST(check_refuses_bad_defs_built_in_c) {
    BrimError error;
    BrimSimDef def = brim_default_sim_def();
    CHECK(def_check(&def, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "domain.size: 0 is not allowed"));
    def.size = (BrimVec3){1, 1, 1};
    def.cells[0] = def.cells[1] = def.cells[2] = 32;
    CHECK_OK(def_check(&def, &error), error);

    BrimSimDef bad = def;
    bad.cookie = 0;
    CHECK(def_check(&bad, &error) == BRIM_ERROR_INPUT);
    CHECK(strcmp(error.message, "BrimSimDef: start from brim_default_sim_def()") == 0);
    bad = def, bad.liquid_count = 2;
    CHECK(def_check(&bad, &error) == BRIM_ERROR_INPUT);
    CHECK(strcmp(error.message, "liquid: the pointer to 2 items is NULL") == 0);
    bad = def, bad.jitter = NAN;
    CHECK(def_check(&bad, &error) == BRIM_ERROR_INPUT);
    bad = def, bad.transfer = (BrimTransfer)7;
    CHECK(def_check(&bad, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "one of flip, apic"));
    bad = def, bad.duration = 5e8;
    CHECK(def_check(&bad, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "time.duration: 500000000 s at 24 frames a second"));
    bad = def, bad.step_min = 0.1, bad.step_max = 0.01;
    CHECK(def_check(&bad, &error) == BRIM_ERROR_INPUT);
    bad = def, bad.dim = 2, bad.cells[2] = 1;
    CHECK(def_check(&bad, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "particles.per_cell: 8 is not allowed: in 2D a square"));
}

TEST(check_refuses_bad_shapes_built_in_c) {
    BrimError error;
    BrimSimDef def = brim_default_sim_def();
    def.size = (BrimVec3){1, 1, 1};
    def.cells[0] = def.cells[1] = def.cells[2] = 32;
    BrimSolidDef solid = brim_default_solid_def();
    def.solids = &solid, def.solid_count = 1;
    solid.shape.kind = BRIM_SHAPE_MESH;
    CHECK(def_check(&def, &error) == BRIM_ERROR_INPUT);
    CHECK(strcmp(error.message, "solids[0].mesh.file: is missing: a closed triangle mesh") == 0);
    solid.shape.kind = BRIM_SHAPE_SPHERE, solid.shape.radius = 0.1f;
    CHECK_OK(def_check(&def, &error), error);
    solid.motion = BRIM_MOTION_KEYFRAMES;
    CHECK(def_check(&def, &error) == BRIM_ERROR_INPUT);
    solid.motion = BRIM_MOTION_ROTATION, solid.axis = (BrimVec3){0, 0, 0};
    CHECK(def_check(&def, &error) == BRIM_ERROR_INPUT);
    solid.motion = BRIM_MOTION_STILL;
    solid.shape.position.y = INFINITY;
    CHECK(def_check(&def, &error) == BRIM_ERROR_INPUT);
    CHECK(strcmp(error.message,
                 "solids[0].sphere.center: .inf is not allowed: a list of 3 numbers (m)") == 0);
    solid.shape = brim_default_shape_def();
    solid.shape.kind = BRIM_SHAPE_UNION; // its own child, without end
    solid.shape.children = &solid.shape, solid.shape.child_count = 1;
    CHECK(def_check(&def, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "shapes are nested too deeply"));
}
