// Declared data: the table of stages names fields that there are, and in the build for tests who
// touches what it did not declare, or what is dead, is caught.
#include "cases.h"
#include "step/guard.h"
#include "step/stages.h"
#include "test.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_field(const char *word, size_t length) {
    for (int f = 0; f < FIELD_COUNT; f++)
        if (strlen(field_rows[f].name) == length && !strncmp(field_rows[f].name, word, length))
            return true;
    return false;
}

/// Whether all words of a list are names of fields that live in a stage.
static bool all_fields(const char *list) {
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (!is_field(at, length)) return false;
        at += length;
    }
    return true;
}

TEST(stages_declare_fields_that_there_are) {
    for (int id = 0; id < AT_REST; id++) {
        const Stage *stage = stage_of(NULL, (StageId)id);
        CHECK(stage && stage->run);
        CHECK(all_fields(stage->reads) && all_fields(stage->writes));
    }
    CHECK(stage_of(NULL, AT_REST) == NULL);
}

TEST(fields_share_memory_only_when_their_lives_do_not_meet) {
    for (int dim = 2; dim <= 3; dim++) {
        Case c = case_tank(dim, 16, 0.5f);
        c.def.band_width = dim == 3 ? 2 : 0;
        BrimSim *s = NULL;
        BrimError error;
        CHECK_OK(case_create(&c, &s, &error), error);
        CHECK_OK(brim_sim_step(s, &error), error);
        int shared = 0, parts = 0;
        for (int f = 0; f < FIELD_COUNT; f++)
            for (int p = 0; p < field_parts(s, &field_rows[f]); p++) {
                if (!field_memory(s, f, p)) continue;
                parts++;
                for (int g = 0; g < f; g++)
                    for (int q = 0; q < field_parts(s, &field_rows[g]); q++) {
                        if (field_memory(s, f, p) != field_memory(s, g, q)) continue;
                        shared++;
                        CHECK(!(field_rows[f].life & field_rows[g].life));
                    }
            }
        CHECK(parts > 20 && (GUARD_SHARES ? shared > 5 : shared == 0));
        brim_sim_destroy(&s);
    }
}

#ifdef BRIM_GUARD
/// Runs a stage of a small simulation that strays; the exit code of the process.
static int stray(StageId stage, int field, bool writes) {
    pid_t child = fork();
    if (child == 0) {
        Case c = case_tank(2, 16, 0.5f);
        BrimSim *s = NULL;
        BrimError error;
        if (case_create(&c, &s, &error) != BRIM_OK || brim_sim_step(s, &error) != BRIM_OK) _exit(1);
        stage_begin(s, stage);
        volatile float *at = field_memory(s, field, 0);
        if (writes)
            at[0] = 1;
        else
            (void)at[0];
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(guard_catches_a_write_that_no_stage_declared) {
    CHECK(stray(AT_FORCES, FIELD_pressure, true) == 86);
    CHECK(stray(AT_PRESSURE, FIELD_phi, true) == 86); // only read there
    CHECK(stray(AT_PRESSURE, FIELD_phi, false) == 0);
    CHECK(stray(AT_FORCES, FIELD_velocity, true) == 0);
}

TEST(guard_catches_who_reads_a_dead_field) {
    CHECK(stray(AT_ADVECT, FIELD_rhs, false) == 86);
    CHECK(stray(AT_TO_PARTICLES, FIELD_gradient, false) == 86);
    CHECK(stray(AT_SUBTRACT, FIELD_coefficient, false) == 86);
    CHECK(stray(AT_PRESSURE, FIELD_coefficient, true) == 0);
}

TEST(guard_forgets_what_is_dead) {
    Case c = case_tank(2, 16, 0.5f);
    BrimSim *s = NULL;
    BrimError error;
    CHECK_OK(case_create(&c, &s, &error), error);
    CHECK_OK(brim_sim_step(s, &error), error);
    guard_open(s);
    CHECK(s->rhs[0] != s->rhs[0] && s->shift[0][3] != s->shift[0][3]);
    CHECK(s->pressure[0] == s->pressure[0]);
    brim_sim_destroy(&s);
}
#endif
