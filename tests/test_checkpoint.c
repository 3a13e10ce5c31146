// Checkpoints of other versions: numbers by name, what a reader does not know is skipped.
#include "cases.h"
#include "io/checkpoint.h"
#include "scratch.h"
#include "test.h"
#include <string.h>

typedef struct Number {
    char name[40];
    double value;
} Number;

/// Copies a checkpoint; of the section "state" one number goes and one that nobody knows comes.
static bool edit(const char *from, const char *to, const char *without) {
    static const char *const sections[] = {
        "sim", "x",     "y",      "z",        "vx",         "vy",         "vz",
        "id",  "tiles", "solids", "pressure", "tile_speed", "velocity x", "velocity y"};
    Checkpoint *c = NULL;
    CheckpointWriter *w = NULL;
    BrimError error;
    if (checkpoint_open(from, &c, &error) || checkpoint_create(to, &w, &error)) return false;
    bool ok = true;
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        ok = ok && checkpoint_find(c, sections[i], &bytes);
        void *data = malloc(bytes + 1);
        ok = ok && !checkpoint_read(c, sections[i], data, bytes, &error) &&
             !checkpoint_put(w, sections[i], data, bytes, &error);
        free(data);
    }
    ok = ok && checkpoint_find(c, "state", &bytes);
    Number *numbers = calloc(bytes / sizeof(Number) + 1, sizeof *numbers);
    ok = ok && !checkpoint_read(c, "state", numbers, bytes, &error);
    for (size_t i = 0; ok && i < bytes / sizeof(Number); i++)
        if (strcmp(numbers[i].name, without) == 0) strcpy(numbers[i].name, "of the future");
    ok = ok && !checkpoint_put(w, "state", numbers, bytes, &error) &&
         !checkpoint_put(w, "of the future", numbers, 8, &error);
    free(numbers);
    checkpoint_close(&c);
    return ok && !checkpoint_commit(&w, &error);
}

TEST(checkpoints_of_other_versions_are_read_by_name) {
    const char *path = at("now.ckpt"), *other = at("other.ckpt");
    Case c = case_tank(2, 16, 0.5f);
    BrimSim *sim = NULL, *again = NULL;
    BrimError error;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int i = 0; i < 3; i++) CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK_OK(brim_sim_save(sim, path, &error), error);
    CHECK(edit(path, other, "stats.volume"));
    CHECK_OK(brim_sim_load(&c.def, other, &again, &error), error);
    CHECK(brim_sim_stats(again)->volume == 0 &&
          brim_sim_stats(again)->volume_cells == brim_sim_stats(sim)->volume_cells);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK_OK(brim_sim_step(again, &error), error);
    }
    BrimParticles p = brim_sim_particles(sim), q = brim_sim_particles(again);
    CHECK(p.count == q.count && memcmp(p.x, q.x, p.count * 4) == 0 &&
          memcmp(p.vy, q.vy, p.count * 4) == 0);
    brim_sim_destroy(&sim);
    brim_sim_destroy(&again);
}
