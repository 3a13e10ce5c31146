// Files, checkpoints, statistics, folders of runs: round trips, foreign input, damage, full disks.
#include "base/hash.h"
#include "brim/brim.h"
#include "io/checkpoint.h"
#include "io/folder.h"
#include "io/ply.h"
#include "io/stats.h"
#include "io/vti.h"
#include "scene/def_hash.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

// ------------------------------------------------------------------------------------ files

TEST(io_file_appears_at_commit) {
    BrimError error;
    const char *path = at("whole.txt");
    FileWriter *w;
    CHECK_OK(file_create(path, &w, &error), error);
    file_print(w, "%d water", 1);
    CHECK(!exists(path) && exists_temp(path));
    CHECK_OK(file_commit(&w, &error), error);
    CHECK(w == NULL && file_is(path, "1 water") && !exists_temp(path));

    CHECK_OK(file_create(path, &w, &error), error);
    file_print(w, "other");
    file_abort(&w);
    CHECK(w == NULL && file_is(path, "1 water") && !exists_temp(path));
}

TEST(io_file_larger_than_the_buffer) {
    BrimError error;
    size_t n = 5000000;
    unsigned char *data = malloc(n);
    for (size_t i = 0; i < n; i++) data[i] = (unsigned char)hash_mix(i);
    const char *path = at("large");
    FileWriter *w;
    CHECK_OK(file_create(path, &w, &error), error);
    for (size_t i = 0, part = 1; i < n; i += part, part = part * 3 % 2000003)
        file_write(w, data + i, part = i + part > n ? n - i : part);
    CHECK(file_written(w) == n);
    CHECK_OK(file_commit(&w, &error), error);
    size_t bytes;
    char *back = get_file(path, &bytes);
    CHECK(bytes == n && memcmp(back, data, n) == 0);
    free(back), free(data);
}

TEST(io_file_refuses_what_it_must) {
    BrimError error;
    FileWriter *w;
    put_text(at("plain"), "x");
    CHECK(file_create(at("plain/below.ply"), &w, &error) == BRIM_ERROR_IO && !w);
    CHECK(strstr(error.message, "plain/below.ply") && strstr(error.message, "Not a directory"));
    CHECK(file_create(at("absent/x"), &w, &error) == BRIM_ERROR_IO && !w);
    CHECK(strstr(error.message, "No such file"));
    CHECK(file_create("/dev/null", &w, &error) == BRIM_ERROR_IO && !w);
    CHECK(strstr(error.message, "not a regular file"));
    CHECK(file_create(scratch, &w, &error) == BRIM_ERROR_IO && strstr(error.message, "a folder"));
    CHECK(folder_make(at("plain/sub"), &error) == BRIM_ERROR_IO);
    CHECK_OK(folder_make(at("a/b/c/"), &error), error);
    CHECK_OK(folder_make(at("a/b/c"), &error), error);
    CHECK(exists(at("a/b/c")));
    CHECK(folder_make("", &error) == BRIM_ERROR_IO);
}

/// Writes "good", then fails to replace it with a megabyte. 0 when all is as it should be.
static int replace_without_room(const char *path, const char *reason) {
    static char data[1 << 20];
    BrimError error;
    FileWriter *w;
    if (file_create(path, &w, &error) != BRIM_OK) return 1;
    file_print(w, "good");
    if (file_commit(&w, &error) != BRIM_OK) return 2;
    if (file_create(path, &w, &error) != BRIM_OK) return 3;
    file_write(w, data, sizeof data);
    if (file_status(w, &error) != BRIM_ERROR_IO) return 4;
    if (file_commit(&w, &error) != BRIM_ERROR_IO || w) return 5;
    if (!strstr(error.message, reason) || !strstr(error.message, path)) return 6;
    return exists_temp(path) || !file_is(path, "good") ? 7 : 0;
}

static int file_size_limited(const char *path) {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {65536, 65536};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return CANNOT_TRY;
    return replace_without_room(path, "File too large");
}

static int on_full_disk(const char *folder) {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return CANNOT_TRY;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, "size=128k") != 0)
        return CANNOT_TRY;
    char path[512];
    snprintf(path, sizeof path, "%s/file", folder);
    return replace_without_room(path,
                                "No space left on device: free some or choose another folder");
}

TEST(io_file_without_room_leaves_the_old_one) {
    int code = in_child(file_size_limited, at("limited"));
    CHECK(code == 0 || code == CANNOT_TRY);
    BrimError error;
    CHECK_OK(folder_make(at("small-disk"), &error), error);
    code = in_child(on_full_disk, at("small-disk"));
    CHECK(code == 0 || code == CANNOT_TRY);
    int full = open("/dev/full", O_WRONLY);
    if (full >= 0) {
        CHECK(file_write_all(full, "x", 1) == ENOSPC);
        close(full);
    }
}

// ------------------------------------------------------------------------------ checkpoints

/// Sections: an empty one, the meta data, three compressible chunks, two that are noise.
static BrimResult make_checkpoint(const char *path, const float *smooth, size_t smooth_bytes,
                                  const uint64_t *noise, size_t noise_bytes, BrimError *error) {
    CheckpointMeta meta = {.step = 123,
                           .particles = 8,
                           .seeded = 8,
                           .time = 0.25,
                           .frame = 6,
                           .dim = 3,
                           .cells = {4, 5, 6},
                           .scene_hash = 99};
    CheckpointWriter *w;
    BrimResult result = checkpoint_create(path, &w, error);
    if (result == BRIM_OK) result = checkpoint_put(w, CHECKPOINT_META, &meta, sizeof meta, error);
    if (result == BRIM_OK) result = checkpoint_put(w, "nothing", NULL, 0, error);
    if (result == BRIM_OK) result = checkpoint_put(w, "smooth", smooth, smooth_bytes, error);
    if (result == BRIM_OK) result = checkpoint_put(w, "noise", noise, noise_bytes, error);
    return result == BRIM_OK ? checkpoint_commit(&w, error) : result;
}

TEST(io_checkpoint_round_trip) {
    BrimError error;
    size_t n = 700001, m = 200003;
    float *smooth = malloc(n * sizeof *smooth), *smooth2 = calloc(n, sizeof *smooth);
    uint64_t *noise = malloc(m * sizeof *noise), *noise2 = calloc(m, sizeof *noise);
    for (size_t i = 0; i < n; i++) smooth[i] = (float)(i / 64);
    for (size_t i = 0; i < m; i++) noise[i] = hash_mix(i);
    const char *path = at("round.brim");
    CHECK_OK(make_checkpoint(path, smooth, n * sizeof *smooth, noise, m * sizeof *noise, &error),
             error);
    Checkpoint *c;
    CHECK_OK(checkpoint_open(path, &c, &error), error);
    size_t bytes = 1;
    CHECK(checkpoint_find(c, "nothing", &bytes) && bytes == 0);
    CHECK(checkpoint_find(c, "smooth", &bytes) && bytes == n * sizeof *smooth);
    CHECK(!checkpoint_find(c, "smoot", &bytes) && !checkpoint_find(c, "", &bytes));
    CHECK_OK(checkpoint_read(c, "noise", noise2, m * sizeof *noise, &error), error);
    CHECK_OK(checkpoint_read(c, "smooth", smooth2, n * sizeof *smooth, &error), error);
    CHECK_OK(checkpoint_read(c, "nothing", NULL, 0, &error), error);
    CHECK(memcmp(smooth, smooth2, n * sizeof *smooth) == 0);
    CHECK(memcmp(noise, noise2, m * sizeof *noise) == 0);
    CheckpointMeta meta;
    CHECK_OK(checkpoint_read(c, CHECKPOINT_META, &meta, sizeof meta, &error), error);
    CHECK(meta.step == 123 && meta.time == 0.25 && meta.cells[2] == 6 && meta.scene_hash == 99);
    CHECK(checkpoint_read(c, "noise", noise2, 8, &error) == BRIM_ERROR_INPUT);
    CHECK(checkpoint_read(c, "gone", noise2, 8, &error) == BRIM_ERROR_INPUT);
    CHECK(strcmp(checkpoint_section(c, 2)->name, "smooth") == 0 && !checkpoint_section(c, 4));
#ifdef BRIM_HAVE_ZSTD
    CHECK_BELOW((double)checkpoint_section(c, 2)->stored_bytes, 0.1 * (double)(n * sizeof *smooth));
#endif
    checkpoint_close(&c);
    CHECK(c == NULL);
    free(smooth), free(smooth2), free(noise), free(noise2);
}

TEST(io_checkpoint_section_names) {
    BrimError error;
    CheckpointWriter *w;
    CHECK_OK(checkpoint_create(at("names.brim"), &w, &error), error);
    CHECK(checkpoint_put(w, "", "x", 1, &error) == BRIM_ERROR_INPUT);
    CHECK(checkpoint_put(w, "sixteen-letters-", "x", 1, &error) == BRIM_ERROR_INPUT);
    CHECK_OK(checkpoint_put(w, "fifteen-letters", "x", 1, &error), error);
    CHECK(checkpoint_put(w, "fifteen-letters", "x", 1, &error) == BRIM_ERROR_INPUT);
    checkpoint_abort(&w);
    CHECK(w == NULL && !exists(at("names.brim")) && !exists_temp(at("names.brim")));
}

static BrimResult open_bytes(void *data, size_t bytes, BrimError *error) {
    Checkpoint *c;
    FILE *in = fmemopen(data, bytes, "rb");
    if (!in) abort();
    BrimResult result = checkpoint_open_stream(in, bytes, "memory", &c, error);
    checkpoint_close(&c);
    return result;
}

/// A whole checkpoint of about 1.3 kB in new memory.
static char *small_checkpoint(size_t *bytes, BrimError *error) {
    float smooth[150];
    uint64_t noise[60];
    for (int i = 0; i < 150; i++) smooth[i] = (float)(i / 8);
    for (int i = 0; i < 60; i++) noise[i] = hash_mix((uint64_t)i);
    const char *path = at("small.brim");
    if (make_checkpoint(path, smooth, sizeof smooth, noise, sizeof noise, error) != BRIM_OK)
        return NULL;
    return get_file(path, bytes);
}

TEST(io_checkpoint_truncated_anywhere) {
    BrimError error;
    size_t bytes;
    char *data = small_checkpoint(&bytes, &error);
    CHECK(data && bytes > 800);
    CHECK_OK(open_bytes(data, bytes, &error), error);
    for (size_t n = 1; n < bytes; n++) {
        CHECK(open_bytes(data, n, &error) == BRIM_ERROR_DAMAGED);
        CHECK(strstr(error.message, "'memory' is damaged: "));
    }
    free(data);
    put_text(at("empty.brim"), "");
    Checkpoint *c;
    CHECK(checkpoint_open(at("empty.brim"), &c, &error) == BRIM_ERROR_DAMAGED && !c);
    CHECK(checkpoint_open(at("absent.brim"), &c, &error) == BRIM_ERROR_IO && !c);
    CHECK(checkpoint_open(scratch, &c, &error) == BRIM_ERROR_IO && !c);
}

TEST(io_checkpoint_bit_flipped_anywhere) {
    BrimError error;
    size_t bytes;
    char *data = small_checkpoint(&bytes, &error);
    CHECK(data);
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        data[bit / 8] ^= (char)(1 << bit % 8);
        CHECK(open_bytes(data, bytes, &error) == BRIM_ERROR_DAMAGED);
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
    CHECK_OK(open_bytes(data, bytes, &error), error);
    free(data);
}

TEST(io_checkpoint_of_another_version) {
    BrimError error;
    size_t bytes;
    char *data = small_checkpoint(&bytes, &error);
    CHECK(data);
    CheckpointHeader header;
    memcpy(&header, data, sizeof header);
    header.version = 7;
    header.checksum = hash_bytes(0, &header, offsetof(CheckpointHeader, checksum));
    memcpy(data, &header, sizeof header);
    CHECK(open_bytes(data, bytes, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "format 7"));
    header.byte_order = 0x04030201u;
    memcpy(data, &header, sizeof header);
    CHECK(open_bytes(data, bytes, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "byte order"));
    free(data);
}

// -------------------------------------------------------------------------------- statistics

#define STATS_HEADER                                                                           \
    "step,time,dt,particles,seeded,emitted,drained,left,resampled,interior,spray,atomised,"    \
    "rejoined,"                                                                                \
    "volume_ratio,"                                                                            \
    "volume_cells,volume,kinetic_energy,potential_energy,max_speed,max_divergence,iterations," \
    "residual,density_error_mean,density_error_max,density_error_mean_after,"                  \
    "density_error_max_after,displaced_mean,displaced_max,particles_in_solids,"                \
    "density_iterations,cell_least,cell_most,tiles,memory_bytes,ms_total,ms_solids,ms_bodies," \
    "ms_emit,ms_advect,ms_band,ms_sort,"                                                       \
    "ms_density,ms_to_grid,ms_surface,ms_forces,ms_project,ms_extrapolate,ms_to_particles,"    \
    "ms_measure\n"

static BrimStats stats_of(int64_t step) {
    BrimStats s = {.step = step,
                   .time = 1.0 / 3,
                   .dt = 0.002,
                   .particles = (1ll << 53) + 1,
                   .volume_ratio = 1,
                   .kinetic_energy = 1e-300,
                   .iterations = 7,
                   .ms_total = 2.5};
    s.ms[BRIM_STAGE_MEASURE] = 0.125;
    return s;
}

static const char *stats_row(int step) {
    static char row[512];
    snprintf(row, sizeof row,
             "%d,0.333333333,0.002,9007199254740993,0,0,0,0,0,0,0,0,0,1,0,0,1e-300,0,0,0,7,0,0,0,0,"
             "0,0,0,0,"
             "0,0,0,0,0,2.5,0,0,"
             "0,0,0,0,0,0,0,0,0,0,0,0.125\n",
             step);
    return row;
}

TEST(io_stats_columns) {
    BrimStats s = stats_of(4);
    int n = 0;
    while (brim_stats_column(n)) n++;
    CHECK(n == 35 + BRIM_STAGE_COUNT && brim_stats_column(-1) == NULL);
    CHECK(strcmp(brim_stats_column(0), "step") == 0 && brim_stats_value(&s, 0) == 4);
    CHECK(strcmp(brim_stats_column(n - 1), "ms_measure") == 0);
    CHECK(brim_stats_value(&s, n - 1) == 0.125 && brim_stats_value(&s, 34) == 2.5);
    CHECK(strcmp(brim_stage_name(BRIM_STAGE_SOLIDS), "solids") == 0);
    CHECK(strcmp(brim_stage_name(BRIM_STAGE_TO_GRID), "to_grid") == 0);
    CHECK(brim_stage_name(BRIM_STAGE_COUNT) == NULL);
}

TEST(io_stats_rows_and_resume) {
    BrimError error;
    const char *path = at("stats.csv");
    RowsFile *f;
    CHECK_OK(stats_open(path, 0, &f, &error), error);
    for (int64_t step = 1; step <= 3; step++) {
        BrimStats s = stats_of(step);
        CHECK_OK(stats_append(f, &s, &error), error);
    }
    CHECK_OK(rows_sync(f, &error), error);
    rows_close(&f);
    CHECK(f == NULL);
    char whole[4096] = STATS_HEADER;
    for (int step = 1; step <= 3; step++) strcat(whole, stats_row(step));
    CHECK(file_is(path, whole));

    // A torn line after step 3, as a power cut leaves it.
    FILE *out = fopen(path, "ab");
    CHECK(out);
    fputs("4,0.33", out);
    fclose(out);
    CHECK(stats_open(path, 5, &f, &error) == BRIM_ERROR_DAMAGED && !f);
    CHECK(strstr(error.message, "step 4"));
    CHECK_OK(stats_open(path, 3, &f, &error), error);
    rows_close(&f);
    CHECK(file_is(path, whole));

    CHECK_OK(stats_open(path, 2, &f, &error), error);
    BrimStats s = stats_of(3);
    CHECK_OK(stats_append(f, &s, &error), error);
    rows_close(&f);
    CHECK(file_is(path, whole));

    CHECK_OK(stats_open(path, 0, &f, &error), error);
    rows_close(&f);
    CHECK(file_is(path, STATS_HEADER));

    put_text(path, "step,velocity\n1,2\n");
    CHECK(stats_open(path, 1, &f, &error) == BRIM_ERROR_INPUT && !f);
    CHECK(file_is(path, "step,velocity\n1,2\n"));
}

TEST(io_stats_of_another_version_are_kept_by_name) {
    const char *path = at("other.csv");
    char line[4096];
    RowsFile *f;
    BrimError error;
    put_text(path, "step,time,gone,particles\n1,0.5,7,42\n2,1,8,43\n");
    CHECK_OK(stats_open(path, 2, &f, &error), error);
    BrimStats s = stats_of(3);
    CHECK_OK(stats_append(f, &s, &error), error);
    rows_close(&f);
    FILE *in = fopen(path, "r");
    CHECK(in && fgets(line, sizeof line, in) && strcmp(line, STATS_HEADER) == 0);
    CHECK(in && fgets(line, sizeof line, in) && strncmp(line, "1,0.5,nan,42,nan,", 17) == 0);
    CHECK(in && fgets(line, sizeof line, in) && strncmp(line, "2,1,nan,43,nan,", 15) == 0);
    CHECK(in && fgets(line, sizeof line, in) && strncmp(line, "3,", 2) == 0);
    if (in) fclose(in);
}

static int append_without_room(const char *path) {
    signal(SIGXFSZ, SIG_IGN);
    BrimError error;
    RowsFile *f;
    if (stats_open(path, 0, &f, &error) != BRIM_OK) return 1;
    struct rlimit limit = {sizeof STATS_HEADER - 1 + 10, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return CANNOT_TRY;
    BrimStats s = stats_of(1);
    if (stats_append(f, &s, &error) != BRIM_ERROR_IO) return 2;
    if (!file_is(path, STATS_HEADER)) return 3;
    limit.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return CANNOT_TRY;
    if (stats_append(f, &s, &error) != BRIM_OK) return 4;
    rows_close(&f);
    char *content = get_file(path, NULL);
    int code = strcmp(content + sizeof STATS_HEADER - 1, stats_row(1)) == 0 ? 0 : 5;
    free(content);
    return code;
}

TEST(io_stats_without_room_has_no_torn_row) {
    int code = in_child(append_without_room, at("full.csv"));
    CHECK(code == 0 || code == CANNOT_TRY);
}

// ------------------------------------------------------------------------------ runs' folders

TEST(io_folder_clear_spares_what_is_not_ours) {
    BrimError error;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", at("run"));
    FolderState state;
    CHECK_OK(folder_state(folder, &state, &error), error);
    CHECK(state == FOLDER_MISSING);
    CHECK_OK(folder_make(folder, &error), error);
    put_text(at("run/run.json.brim-tmp"), "");
    CHECK_OK(folder_state(folder, &state, &error), error);
    CHECK(state == FOLDER_EMPTY);
    BrimOutputDef output = {.particles = true, .fields = true};
    CHECK_OK(folder_prepare(folder, &output, true, true, &error), error);
    CHECK_OK(folder_state(folder, &state, &error), error);
    CHECK(state == FOLDER_OTHER);
    static const char *const ours[] = {"run.json",
                                       "stats.csv",
                                       "particles/000000.ply",
                                       "particles/1234567.ply",
                                       "particles/000001.ply.brim-tmp",
                                       "fields/000003.vti",
                                       "checkpoints/step-00000010.brim",
                                       "checkpoints/step-00000011.brim.damaged",
                                       "checkpoints/step-00000012.brim.brim-tmp"};
    static const char *const others[] = {"thesis.tex",
                                         "stats.csv.old",
                                         "particles/boat.ply",
                                         "particles/00001.ply",
                                         "particles/000001.ply.bak",
                                         "checkpoints/000010.brim"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        char name[128];
        snprintf(name, sizeof name, "run/%s", ours[i]);
        put_text(at(name), "x");
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char name[128];
        snprintf(name, sizeof name, "run/%s", others[i]);
        put_text(at(name), "x");
    }
    CHECK_OK(folder_state(folder, &state, &error), error);
    CHECK(state == FOLDER_RUN);
    folder_sweep(folder);
    CHECK(!exists(at("run/particles/000001.ply.brim-tmp")) && exists(at("run/run.json")));
    CHECK_OK(folder_clear(folder, &error), error);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        char name[128];
        snprintf(name, sizeof name, "run/%s", ours[i]);
        CHECK(!exists(at(name)));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char name[128];
        snprintf(name, sizeof name, "run/%s", others[i]);
        CHECK(exists(at(name)));
    }
    CHECK(!exists(at("run/fields")));
}

TEST(io_folder_checkpoints_and_lock) {
    BrimError error;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", at("kept"));
    CHECK_OK(folder_make(at("kept/checkpoints"), &error), error);
    static const int order[] = {30, 5, 100, 20};
    for (int i = 0; i < 4; i++) {
        char *path = checkpoint_path(folder, order[i]);
        put_text(path, "x");
        free(path);
    }
    int64_t *steps;
    int count;
    CHECK_OK(folder_checkpoints(folder, &steps, &count, &error), error);
    CHECK(count == 4 && steps[0] == 100 && steps[1] == 30 && steps[2] == 20 && steps[3] == 5);
    free(steps);
    folder_prune(folder);
    CHECK_OK(folder_checkpoints(folder, &steps, &count, &error), error);
    CHECK(count == 2 && steps[0] == 100 && steps[1] == 30);
    free(steps);

    int lock, second;
    CHECK_OK(folder_lock(folder, &lock, &error), error);
    CHECK(folder_lock(folder, &second, &error) == BRIM_ERROR_INPUT && second == -1);
    CHECK(strstr(error.message, "another run"));
    close(lock);
    CHECK_OK(folder_lock(folder, &second, &error), error);
    close(second);
}

TEST(io_def_hash_sees_what_matters) {
    BrimShapeDef children[2] = {{.kind = BRIM_SHAPE_BOX}, {.kind = BRIM_SHAPE_SPHERE}};
    BrimSolidDef solid = {
        .shape = {.kind = BRIM_SHAPE_UNION, .children = children, .child_count = 2}};
    BrimSimDef def = {.dim = 3, .seed = 1, .solids = &solid, .solid_count = 1};
    uint64_t before = def_hash(&def);
    BrimSimDef same = def;
    same.duration = 9, same.threads = 3, same.output.every = 4, same.isa = BRIM_ISA_BASE;
    same.memory_limit = 1e9;
    CHECK(def_hash(&same) == before);
    BrimSimDef other = def;
    other.seed = 2;
    CHECK(def_hash(&other) != before);
    children[1].radius = 0.5f;
    CHECK(def_hash(&def) != before);
    children[1].radius = 0;
    CHECK(def_hash(&def) == before);
    // A file counts by what is in it, wherever it lies.
    put_text(at("a.obj"), "v 0 0 0\n"), put_text(at("b.obj"), "v 0 0 0\n");
    children[0] = (BrimShapeDef){.kind = BRIM_SHAPE_MESH, .file = at("a.obj")};
    uint64_t with_a = def_hash(&def);
    children[0].file = at("b.obj");
    CHECK(with_a != before && def_hash(&def) == with_a);
    put_text(at("b.obj"), "v 0 0 1\n");
    CHECK(def_hash(&def) != with_a);
}

TEST(io_def_hash_follows_the_table_of_keys) {
    // a key at its default does not enter: scenes of before keep their hash when keys are added
    BrimSimDef def = brim_default_sim_def(), other = def;
    def.dim = other.dim = 3;
    uint64_t before = def_hash(&def);
    other.attributes = BRIM_ATTRIBUTE_AGE;
    CHECK(def_hash(&other) != before);
    other.attributes = 0;
    CHECK(def_hash(&other) == before);
    other.flip_ratio = 0.5f;
    CHECK(def_hash(&other) != before);
    other = def, other.output.particles = false, other.output.checkpoint_every = 3;
    CHECK(def_hash(&other) == before);
}

// ---------------------------------------------------------------------------------- describe

TEST(io_describe_files) {
    BrimError error;
    char text[4096];
    size_t bytes;
    char *data = small_checkpoint(&bytes, &error);
    CHECK(data);
    CHECK_OK(brim_describe_file(at("small.brim"), text, sizeof text, &error), error);
    CHECK(strstr(text, "step 123") && strstr(text, "frame 6") && strstr(text, "4 x 5 x 6"));
    CHECK(strstr(text, "checksums right") && strstr(text, "noise"));
    char little[10];
    CHECK_OK(brim_describe_file(at("small.brim"), little, sizeof little, &error), error);
    CHECK(strlen(little) == 9);
    data[bytes / 2] ^= 1;
    put_file(at("small.brim"), data, bytes);
    CHECK(brim_describe_file(at("small.brim"), text, sizeof text, &error) == BRIM_ERROR_DAMAGED);
    free(data);

    float x[2] = {1, 2}, v[2] = {3, 4};
    uint32_t id[2] = {5, 9};
    BrimParticles p = {.count = 2, .x = x, .y = x, .z = x, .vx = v, .vy = v, .id = id};
    CHECK_OK(ply_write(at("d.ply"), &p, 0.5, 12, 1, &error), error);
    CHECK_OK(brim_describe_file(at("d.ply"), text, sizeof text, &error), error);
    CHECK(strstr(text, "by Brim 0.1.0") && strstr(text, "12") && strstr(text, "0.5 s"));
    CHECK(strstr(text, "1 to 2 m") && strstr(text, "5 to 9") && strstr(text, "5.65685 m/s"));
    FILE *more = fopen(at("d.ply"), "ab");
    CHECK(more && fwrite("12345", 1, 5, more) == 5 && fclose(more) == 0);
    CHECK(brim_describe_file(at("d.ply"), text, sizeof text, &error) == BRIM_ERROR_DAMAGED);
    CHECK(strstr(error.message, "is longer than its header says, by 5 bytes"));
    put_text(at("note.txt"), "hello");
    CHECK(brim_describe_file(at("note.txt"), text, sizeof text, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_describe_file(at("absent"), text, sizeof text, &error) == BRIM_ERROR_IO);
}
