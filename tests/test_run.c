// Runs: what lands in the folder, resuming after crashes and damage, refusals.
#include "brim/brim.h"
#include "scratch.h"
#include "test.h"

// Twelve frames of three steps; a checkpoint every second frame.
static const char scene_text[] = "brim: 1\n"
                                 "dim: 2\n"
                                 "domain: {size: [1, 1], cells: [16, 16]}\n"
                                 "time: {duration: 0.12, frame_rate: 100, step: 0.004}\n"
                                 "liquid:\n"
                                 "  - box: {low: [0, 0], high: [0.4, 0.6]}\n"
                                 "output: {fields: true, checkpoint_every: 2}\n"
                                 "threads: 1\n";
enum { FRAMES = 12, STEPS = 36 };

/// The scene with one key changed; `set` may be NULL.
static BrimScene *scene_with(const char *set) {
    BrimError error;
    BrimScene *scene;
    if (brim_scene_parse(scene_text, sizeof scene_text - 1, "test.yaml", &set, set != NULL, &scene,
                         &error) == BRIM_OK)
        return scene;
    fprintf(stderr, "%s\n", error.message);
    return NULL;
}

static BrimResult open_run(const char *set, const char *folder, BrimRunOptions options,
                           BrimRun **run, BrimError *error) {
    *run = NULL;
    BrimScene *scene = scene_with(set);
    if (!scene) return BRIM_ERROR_INPUT;
    BrimResult result = brim_run_open(scene, at(folder), &options, run, error);
    brim_scene_destroy(&scene);
    return result;
}

static BrimResult take_steps(BrimRun *run, int count, BrimError *error) {
    BrimResult result = BRIM_OK;
    for (int i = 0; i < count && !brim_run_done(run) && result == BRIM_OK; i++)
        result = brim_run_step(run, error);
    return result;
}

/// Opens, takes `count` steps and drops the run without a last checkpoint, as a crash would.
static BrimResult run_for(const char *folder, BrimRunOptions options, int count, char *message,
                          BrimError *error) {
    BrimRun *run;
    BrimResult result = open_run(NULL, folder, options, &run, error);
    if (result == BRIM_OK) result = take_steps(run, count, error);
    if (run && message) snprintf(message, 1024, "%s", brim_run_message(run));
    brim_run_close(&run);
    return result;
}

static const BrimRunOptions fresh = {0};
static const BrimRunOptions resume = {.resume = true};
static const BrimRunOptions over = {.overwrite = true};

static const char *in(const char *folder, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return at(path);
}

static bool same_file(const char *a, const char *b) {
    size_t n, m;
    char *x = get_file(a, &n), *y = get_file(b, &m);
    bool same = n == m && memcmp(x, y, n) == 0;
    free(x), free(y);
    return same;
}

/// Cuts a row of stats.csv before memory_bytes: from there on runs may differ.
static void keep_results(char *row) {
    for (int column = 0; *row; row++)
        if (*row == ',' && ++column == 17) {
            *row = 0;
            return;
        }
}

static bool same_stats(const char *a, const char *b) {
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    char p[2048], q[2048];
    bool same = x && y;
    int rows = 0;
    while (same && fgets(p, sizeof p, x)) {
        same = fgets(q, sizeof q, y) != NULL;
        keep_results(p), keep_results(q);
        same = same && strcmp(p, q) == 0;
        rows++;
    }
    same = same && rows == STEPS + 1 && !fgets(q, sizeof q, y);
    if (x) fclose(x);
    if (y) fclose(y);
    return same;
}

/// All frames and statistics of a folder equal those of "whole", an uninterrupted run.
static bool same_as_whole(const char *folder, BrimError *error) {
    if (!exists(at("whole")) && run_for("whole", fresh, STEPS, NULL, error) != BRIM_OK)
        return false;
    for (int frame = 0; frame <= FRAMES; frame++) {
        char particles[64], fields[64];
        snprintf(particles, sizeof particles, "particles/%06d.ply", frame);
        snprintf(fields, sizeof fields, "fields/%06d.vti", frame);
        if (!same_file(in("whole", particles), in(folder, particles))) return false;
        if (!same_file(in("whole", fields), in(folder, fields))) return false;
    }
    return same_stats(in("whole", "stats.csv"), in(folder, "stats.csv"));
}

static void damage(const char *path) {
    size_t bytes;
    char *data = get_file(path, &bytes);
    data[bytes / 3] ^= 0x10;
    put_file(path, data, bytes);
    free(data);
}

// ------------------------------------------------------------------------------------- tests

TEST(run_writes_its_folder) {
    BrimError error;
    BrimRun *run;
    CHECK_OK(open_run(NULL, "new/deep", fresh, &run, &error), error);
    CHECK(exists(at("new/deep/particles/000000.ply")) && exists(at("new/deep/stats.csv")));
    CHECK(brim_run_frame_count(run) == FRAMES && !brim_run_done(run));
    CHECK(strcmp(brim_run_message(run), "") == 0);
    CHECK(strcmp(brim_run_last_checkpoint(run), at("new/deep/checkpoints/step-00000000.brim")) ==
          0);
    CHECK_OK(take_steps(run, 1000, &error), error);
    CHECK(brim_run_done(run) && brim_sim_step_count(brim_run_sim(run)) == STEPS);
    CHECK(strcmp(brim_run_last_checkpoint(run), at("new/deep/checkpoints/step-00000036.brim")) ==
          0);
    CHECK_OK(brim_run_step(run, &error), error);
    CHECK(brim_sim_step_count(brim_run_sim(run)) == STEPS);
    brim_run_close(&run);
    CHECK(run == NULL);
    CHECK(exists(at("new/deep/checkpoints/step-00000036.brim")));
    CHECK(exists(at("new/deep/checkpoints/step-00000030.brim")));
    CHECK(!exists(at("new/deep/checkpoints/step-00000024.brim")));
    CHECK(exists(at("new/deep/fields/000012.vti")) && !exists(at("new/deep/fields/000013.vti")));
    char *json = get_file(at("new/deep/run.json"), NULL);
    CHECK(strncmp(json, "{\"brim\": \"0.1.0\", \"scene_hash\": \"", 33) == 0);
    CHECK(strstr(json, "\"machine\": {\"cpu\": \"") && strstr(json, "\"scene\": {"));
    free(json);
}

TEST(run_resumed_equals_uninterrupted) {
    BrimError error;
    char message[1024];
    CHECK_OK(run_for("cut", fresh, 8, NULL, &error), error); // in frame 2, checkpoint at step 6
    CHECK_OK(run_for("cut", resume, 7, message, &error), error);
    CHECK(strstr(message, "step-00000006.brim") && strstr(message, "frame 2, step 6"));
    CHECK_OK(run_for("cut", resume, 1000, message, &error), error);
    CHECK(strstr(message, "step-00000012.brim"));
    CHECK(same_as_whole("cut", &error));
    CHECK_OK(run_for("cut", resume, 1000, message, &error), error);
    CHECK(strstr(message, "frame 12, and frame 12 is the last one wanted: nothing to do") &&
          same_as_whole("cut", &error));
}

TEST(run_interrupted_between_frames) {
    BrimError error;
    BrimRun *run;
    char message[1024];
    CHECK_OK(open_run(NULL, "interrupt", fresh, &run, &error), error);
    CHECK_OK(take_steps(run, 7, &error), error);
    CHECK_OK(brim_run_checkpoint(run, &error), error);
    CHECK(strstr(brim_run_last_checkpoint(run), "step-00000007.brim"));
    brim_run_close(&run);
    CHECK_OK(run_for("interrupt", resume, 1000, message, &error), error);
    CHECK(strstr(message, "step-00000007.brim") && same_as_whole("interrupt", &error));
}

TEST(run_passes_over_damaged_checkpoints) {
    BrimError error;
    char message[1024];
    CHECK_OK(run_for("damaged", fresh, 14, NULL, &error), error);
    damage(at("damaged/checkpoints/step-00000012.brim"));
    CHECK_OK(run_for("damaged", resume, 2, message, &error), error);
    CHECK(strstr(message, "step-00000012.brim' is damaged"));
    CHECK(strstr(message, "Resuming from") && strstr(message, "step-00000006.brim"));
    CHECK(exists(at("damaged/checkpoints/step-00000012.brim.damaged")));
    CHECK(truncate(at("damaged/checkpoints/step-00000006.brim"), 100) == 0);
    // what it has computed is not thrown away unasked, and nothing is renamed
    CHECK(run_for("damaged", resume, 1000, NULL, &error) == BRIM_ERROR_DAMAGED);
    CHECK(strstr(error.message, "step-00000006.brim' is damaged") &&
          strstr(error.message, "--overwrite"));
    CHECK(exists(at("damaged/checkpoints/step-00000006.brim")));
    CHECK(exists(at("damaged/particles/000002.ply")));
    CHECK_OK(run_for("damaged", over, 1000, NULL, &error), error);
    CHECK(same_as_whole("damaged", &error));
}

TEST(run_resume_before_the_first_checkpoint) {
    BrimError error;
    char message[1024];
    BrimRun *run;
    CHECK_OK(run_for("early", fresh, 4, NULL, &error), error);
    CHECK_OK(run_for("early", resume, 1000, message, &error), error);
    CHECK(strstr(message, "step-00000000.brim") && same_as_whole("early", &error));
    // without checkpoints: frame 0 alone is nothing to lose, what comes after it is
    static const char never[] = "output.checkpoint_every=0";
    CHECK_OK(open_run(never, "never", fresh, &run, &error), error);
    CHECK(strcmp(brim_run_last_checkpoint(run), "") == 0);
    brim_run_close(&run);
    CHECK_OK(open_run(never, "never", resume, &run, &error), error);
    CHECK(strstr(brim_run_message(run), "No checkpoint in"));
    CHECK_OK(take_steps(run, 4, &error), error);
    brim_run_close(&run);
    CHECK(open_run(never, "never", resume, &run, &error) == BRIM_ERROR_INPUT && !run);
    CHECK(strstr(error.message, "no checkpoint to resume from") &&
          strstr(error.message, "--overwrite"));
    CHECK(exists(at("never/particles/000001.ply")));
    CHECK_OK(run_for("nothing-yet", resume, 1000, message, &error), error);
    CHECK(strstr(message, "No checkpoint in") && same_as_whole("nothing-yet", &error));
}

TEST(run_limited_then_prolonged) {
    BrimError error;
    BrimRun *run;
    BrimRunOptions five = {.frames = 5};
    CHECK_OK(run_for("short", five, 1000, NULL, &error), error);
    CHECK(exists(at("short/particles/000005.ply")) && !exists(at("short/particles/000006.ply")));
    CHECK(exists(at("short/checkpoints/step-00000015.brim")));
    CHECK_OK(run_for("short", resume, 1000, NULL, &error), error);
    CHECK(same_as_whole("short", &error));
    CHECK_OK(open_run("time.duration=0.14", "short", resume, &run, &error), error);
    CHECK(brim_run_frame_count(run) == 14 && !brim_run_done(run));
    brim_run_close(&run);
}

TEST(run_refusals_touch_nothing) {
    BrimError error;
    BrimRun *run;
    CHECK_OK(run_for("taken", fresh, 7, NULL, &error), error);
    char *before = get_file(at("taken/run.json"), NULL);
    CHECK(open_run(NULL, "taken", fresh, &run, &error) == BRIM_ERROR_INPUT && !run);
    CHECK(strstr(error.message, "--resume") && strstr(error.message, "--overwrite") &&
          strstr(error.message, "another folder"));
    CHECK(open_run("seed=2", "taken", resume, &run, &error) == BRIM_ERROR_INPUT && !run);
    CHECK(strstr(error.message, "scene differs"));
    BrimRunOptions both = {.resume = true, .overwrite = true};
    CHECK(open_run(NULL, "taken", both, &run, &error) == BRIM_ERROR_INPUT && !run);
    char *after = get_file(at("taken/run.json"), NULL);
    CHECK(strcmp(before, after) == 0 && exists(at("taken/particles/000002.ply")));
    free(before), free(after);

    CHECK_OK(folder_make(at("foreign"), &error), error);
    put_text(at("foreign/thesis.tex"), "x");
    CHECK(open_run(NULL, "foreign", fresh, &run, &error) == BRIM_ERROR_INPUT && !run);
    CHECK(open_run(NULL, "foreign", resume, &run, &error) == BRIM_ERROR_INPUT && !run);
    CHECK(strstr(error.message, "no run to resume") && !exists(at("foreign/run.json")));
    put_text(at("foreign/stats.csv"), "theirs");
    BrimRunOptions overwrite = {.overwrite = true};
    CHECK(open_run(NULL, "foreign", overwrite, &run, &error) == BRIM_ERROR_INPUT && !run);
    CHECK(file_is(at("foreign/stats.csv"), "theirs"));

    put_text(at("file"), "x");
    CHECK(open_run(NULL, "file", fresh, &run, &error) == BRIM_ERROR_IO && !run);
    CHECK(open_run(NULL, "file/below", fresh, &run, &error) == BRIM_ERROR_IO && !run);
}

TEST(run_overwrite_replaces_the_run_alone) {
    BrimError error;
    BrimRunOptions overwrite = {.overwrite = true};
    CHECK_OK(run_for("again", fresh, 20, NULL, &error), error);
    put_text(at("again/notes.txt"), "mine");
    CHECK_OK(run_for("again", overwrite, 4, NULL, &error), error);
    CHECK(exists(at("again/particles/000001.ply")) && !exists(at("again/particles/000002.ply")));
    CHECK(!exists(at("again/checkpoints/step-00000018.brim")));
    CHECK(file_is(at("again/notes.txt"), "mine"));
}

TEST(run_in_a_folder_without_a_name_is_refused) {
    BrimError error;
    BrimRun *run;
    BrimScene *scene = scene_with(NULL);
    CHECK(brim_run_open(scene, "", NULL, &run, &error) == BRIM_ERROR_INPUT && !run);
    brim_scene_destroy(&scene);
}

/// Rows that somebody took are missed, not skipped.
TEST(run_resume_misses_rows) {
    BrimError error;
    BrimRun *run;
    CHECK_OK(run_for("rows", fresh, 20, NULL, &error), error);
    size_t bytes;
    char *rows = get_file(at("rows/stats.csv"), &bytes), *end = rows;
    for (int i = 0; i < 5; i++) end = strchr(end, '\n') + 1;
    put_file(at("rows/stats.csv"), rows, (size_t)(end - rows));
    CHECK(open_run(NULL, "rows", resume, &run, &error) == BRIM_ERROR_DAMAGED && !run);
    CHECK(strstr(error.message, "stats.csv") && strstr(error.message, "step 5"));
    put_file(at("rows/stats.csv"), rows, bytes);
    free(rows);
    CHECK_OK(run_for("rows", resume, 10, NULL, &error), error);
    CHECK(unlink(at("rows/stats.csv")) == 0); // then a new one begins at the checkpoint
    for (int i = 0; i < 3; i++) CHECK_OK(run_for("rows", resume, 3, NULL, &error), error);
}

/// A checkpoint that cannot be read may be whole: it stays, and nothing starts over.
TEST(run_resume_leaves_what_it_cannot_read) {
    BrimError error;
    BrimRun *run;
    CHECK_OK(run_for("unread", fresh, 14, NULL, &error), error);
    static const char *const names[] = {"unread/checkpoints/step-00000006.brim",
                                        "unread/checkpoints/step-00000012.brim"};
    for (int i = 0; i < 2; i++) {
        char aside[512];
        snprintf(aside, sizeof aside, "%s", at(i ? "unread/b" : "unread/a"));
        CHECK(rename(at(names[i]), aside) == 0);
        CHECK_OK(folder_make(at(names[i]), &error), error); // no regular file
    }
    CHECK(open_run(NULL, "unread", resume, &run, &error) == BRIM_ERROR_IO && !run);
    CHECK(exists(at(names[0])) && exists(at(names[1])));
    for (int i = 0; i < 2; i++) {
        char aside[512];
        snprintf(aside, sizeof aside, "%s", at(i ? "unread/b" : "unread/a"));
        CHECK(rmdir(at(names[i])) == 0 && rename(aside, at(names[i])) == 0);
    }
    CHECK_OK(run_for("unread", resume, 1000, NULL, &error), error);
    CHECK(same_as_whole("unread", &error));
}

TEST(run_has_its_folder_to_itself) {
    BrimError error;
    BrimRun *run, *second;
    CHECK_OK(open_run(NULL, "locked", fresh, &run, &error), error);
    CHECK(open_run(NULL, "locked", resume, &second, &error) == BRIM_ERROR_INPUT && !second);
    CHECK(strstr(error.message, "another run"));
    brim_run_close(&run);
    CHECK_OK(open_run(NULL, "locked", resume, &second, &error), error);
    brim_run_close(&second);
}

TEST(run_that_is_lost_names_the_checkpoint) {
    BrimError error;
    BrimRun *run;
    CHECK_OK(open_run(NULL, "lost", fresh, &run, &error), error);
    CHECK_OK(take_steps(run, 7, &error), error);
    brim_sim_particles(brim_run_sim(run)).vx[3] = NAN;
    CHECK(take_steps(run, 2, &error) == BRIM_LOST_DIVERGED);
    CHECK(strstr(error.message, at("lost/checkpoints/step-00000006.brim")));
    brim_run_close(&run);
    CHECK_OK(run_for("lost", resume, 1000, NULL, &error), error);
    CHECK(same_as_whole("lost", &error));
}

/// The disk fills up at step 7 and has room again later: no row, frame or checkpoint is missing.
static int fill_and_free(const char *unused) {
    (void)unused;
    signal(SIGXFSZ, SIG_IGN);
    BrimError error;
    BrimRun *run;
    if (open_run(NULL, "full", fresh, &run, &error) != BRIM_OK) return 1;
    if (take_steps(run, 7, &error) != BRIM_OK) return 2;
    struct rlimit limit = {100, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return CANNOT_TRY;
    for (int i = 0; i < 3; i++)
        if (brim_run_step(run, &error) != BRIM_ERROR_IO) return 3;
    if (brim_run_checkpoint(run, &error) != BRIM_ERROR_IO) return 4;
    if (!strstr(error.message, "full/stats.csv")) return 5;
    limit.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return CANNOT_TRY;
    if (take_steps(run, 1000, &error) != BRIM_OK) return 6;
    brim_run_close(&run);
    return same_as_whole("full", &error) ? 0 : 7;
}

static int open_without_room(const char *unused) {
    (void)unused;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1500, RLIM_INFINITY};
    BrimError error;
    BrimRun *run;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return CANNOT_TRY;
    if (open_run(NULL, "no-room", fresh, &run, &error) != BRIM_ERROR_IO || run) return 1;
    return exists(at("no-room")) ? 2 : 0;
}

TEST(run_on_a_full_disk) {
    BrimError error;
    CHECK(exists(at("whole")) || same_as_whole("whole", &error));
    int code = in_child(fill_and_free, "");
    CHECK(code == 0 || code == CANNOT_TRY);
    code = in_child(open_without_room, "");
    CHECK(code == 0 || code == CANNOT_TRY);
}

static void run_until_killed(void) {
    BrimError error;
    alarm(60);
    _exit(run_for("killed", resume, 1000, NULL, &error) == BRIM_OK ? 0 : 1);
}

TEST(run_killed_at_any_moment_resumes) {
    BrimError error;
    int status = 0;
    at("killed"); // the scratch folder exists before the first fork
    fflush(NULL);
    for (int wait_us = 300; wait_us < 20000; wait_us = wait_us * 3 / 2) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) run_until_killed();
        usleep((useconds_t)wait_us);
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    }
    CHECK_OK(run_for("killed", resume, 1000, NULL, &error), error);
    CHECK(same_as_whole("killed", &error));
}
