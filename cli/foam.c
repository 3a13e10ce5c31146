// brim foam: spray, foam and bubbles from the frames of a run.
#include "frame_files.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Arguments {
    const char *folder;
    TextList sets;
    int64_t last, threads;
    bool resume, overwrite, quiet, json;
} Arguments;

/// What the summary tells.
typedef struct Totals {
    int made, kept;
    int64_t particles, born; ///< of the liquid, over all frames; of foam
    double seconds;          ///< reading, making, writing
    bool full;               ///< there were as many as foam.most allows
} Totals;

typedef struct Job {
    const Arguments *arguments;
    Frames frames;
    FrameFiles files;
    BrimFoam *foam;
    double frame_rate;
    int most, per_cell; ///< particles: of foam; of the liquid in a full cell
    Totals totals;
} Job;

static bool foam_path(const Job *job, int index, char path[PATH_MAX]) {
    return frame_file(&job->files, job->frames.number[index], path);
}

// ------------------------------------------------------------------------------ what to make

/// Foam goes from frame to frame: none may be missing.
static int check_gaps(const Frames *f) {
    int step = frames_step(f);
    for (int i = 1; i < f->count; i++) {
        if (f->number[i] - f->number[i - 1] == step) continue;
        report_error("frame %d is missing in %s/particles: foam is computed from frame to frame "
                     "and needs all of them; stop before the gap with --last %d",
                     f->number[i - 1] + step, f->folder, f->number[i - 1]);
        return EXIT_INPUT;
    }
    return EXIT_DONE;
}

static int choose_frames(Job *job) {
    Frames *f = &job->frames;
    int64_t last = job->arguments->last;
    int all = f->count, low = f->number[0];
    for (f->count = 0; f->count < all; f->count++)
        if (last >= 0 && f->number[f->count] > last) break;
    if (f->count > 0) return check_gaps(f);
    report_error("%s has no frames up to %lld; the first is %d", f->folder, (long long)last, low);
    return EXIT_INPUT;
}

/// Of an earlier attempt, the last first: what a removal cut short leaves is a beginning.
static int remove_old(const Job *job, int count) {
    for (int i = count - 1; i >= 0; i--) {
        char path[PATH_MAX];
        if (!foam_path(job, i, path)) return EXIT_INPUT;
        if (unlink(path) == 0 || errno == ENOENT) continue;
        report_error("cannot remove %s: %s", path, strerror(errno));
        return EXIT_IO;
    }
    return EXIT_DONE;
}

/// --set changes how foam is made, not the run that is there.
static int check_sets(const Arguments *a) {
    for (int i = 0; i < a->sets.count; i++) {
        const char *set = a->sets.items[i];
        if (strncmp(set, "foam.", 5) == 0 || strncmp(set, "seed=", 5) == 0) continue;
        report_error("--set %s: only seed and the keys of foam can be set here, since the run is "
                     "not simulated again ('brim fields foam' lists them)",
                     set);
        return EXIT_INPUT;
    }
    return EXIT_DONE;
}

static int prepare(Job *job, const char *from) {
    const Arguments *a = job->arguments;
    int code = frames_need_folder(from, "foam");
    if (code == EXIT_DONE) code = check_sets(a);
    if (code == EXIT_DONE) code = frames_find_set(&job->frames, from, &a->sets);
    if (code != EXIT_DONE) return code;
    int all = job->frames.count;
    code = choose_frames(job);
    job->files.prefix = "", job->files.suffix = ".ply", job->files.what = "foam files";
    if (code == EXIT_DONE)
        code = frame_files_choose(&job->files, &job->frames, a->folder, "foam", a->resume,
                                  a->overwrite);
    if (code != EXIT_DONE) return code;
    const BrimSimDef *def = brim_scene_def(job->frames.scene);
    BrimFoamDef foam = def->foam;
    foam.threads = (int)a->threads;
    job->frame_rate = def->frame_rate, job->most = foam.most;
    job->per_cell = def->particles_per_cell;
    BrimError error;
    if (brim_foam_create(def, &foam, &job->foam, &error) != BRIM_OK)
        return report_result(&error, a->json);
    code = frames_folder(job->files.folder);
    return code == EXIT_DONE && a->overwrite ? remove_old(job, all) : code;
}

// -------------------------------------------------------------------------------- one frame

static BrimResult read_liquid(const Job *job, int index, BrimFrame *frame, BrimError *error) {
    char path[PATH_MAX];
    *frame = (BrimFrame){0};
    if (!frames_path(&job->frames, index, path)) {
        *error = (BrimError){.result = BRIM_ERROR_INPUT, .message = "a path is too long"};
        return BRIM_ERROR_INPUT;
    }
    return brim_frame_read(path, frame, error);
}

static void tell_frame(const Job *job, const BrimFoamFrame *foam, const char *path,
                       double seconds) {
    const BrimFoamCounts *c = &foam->counts;
    if (!job->arguments->json) return;
    printf("{\"event\":\"frame\",\"frame\":%d,\"path\":", foam->frame);
    json_text(stdout, path);
    printf(",\"spray\":%lld,\"foam\":%lld,\"bubbles\":%lld,\"born\":%lld,\"gone\":%lld,"
           "\"seconds\":",
           (long long)c->spray, (long long)c->foam, (long long)c->bubbles, (long long)c->born,
           (long long)c->gone);
    json_number(stdout, seconds);
    puts("}");
    fflush(stdout);
}

static int make_frame(Job *job, int index) {
    char path[PATH_MAX];
    if (!foam_path(job, index, path)) return EXIT_INPUT;
    double began = wall_clock();
    int number = job->frames.number[index];
    BrimError error;
    BrimFrame liquid;
    BrimResult result = read_liquid(job, index, &liquid, &error);
    BrimParticles particles = brim_frame_particles(&liquid);
    if (result == BRIM_OK)
        result = brim_foam_advance(job->foam, &particles, number, number / job->frame_rate, &error);
    BrimFoamFrame foam = brim_foam_frame(job->foam);
    if (result == BRIM_OK) result = brim_foam_write(&foam, path, &error);
    brim_frame_free(&liquid);
    if (result != BRIM_OK) return report_result(&error, job->arguments->json);
    double seconds = wall_clock() - began;
    Totals *t = &job->totals;
    t->made++, t->born += foam.counts.born, t->seconds += seconds;
    t->particles += (int64_t)(particles.count + particles.interior_count * (size_t)job->per_cell);
    t->full = t->full || foam.count + (size_t)foam.counts.gone >= (size_t)job->most;
    tell_frame(job, &foam, path, seconds);
    return EXIT_DONE;
}

/// Goes on after the last of the frames of foam that follow each other from the first; of those at
/// the end that are damaged before them.
static int resume(Job *job) {
    char path[PATH_MAX];
    int count = 0;
    for (; count < job->frames.count; count++) {
        if (!foam_path(job, count, path)) return EXIT_INPUT;
        if (!file_exists(path)) break;
    }
    for (; count > 0; count--) {
        BrimError error;
        BrimFrame liquid;
        int number = job->frames.number[count - 1];
        if (!foam_path(job, count - 1, path)) return EXIT_INPUT;
        BrimResult result = read_liquid(job, count - 1, &liquid, &error);
        BrimParticles particles = brim_frame_particles(&liquid);
        if (result == BRIM_OK)
            result = brim_foam_restore(job->foam, &particles, number, number / job->frame_rate,
                                       path, &error);
        brim_frame_free(&liquid);
        if (result == BRIM_OK) break;
        if (result != BRIM_ERROR_DAMAGED) return report_result(&error, job->arguments->json);
        report_warning("%s", error.message);
    }
    job->totals.kept = count;
    return EXIT_DONE;
}

// ------------------------------------------------------------------------------- all frames

static void tell_totals(const Job *job) {
    const Totals *t = &job->totals;
    BrimFoamCounts c = brim_foam_frame(job->foam).counts;
    if (job->arguments->json) {
        fputs("{\"event\":\"done\",\"folder\":", stdout);
        json_text(stdout, job->files.folder);
        printf(",\"made\":%d,\"kept\":%d,\"born\":%lld,\"seconds\":", t->made, t->kept,
               (long long)t->born);
        json_number(stdout, t->seconds);
        puts("}");
        return;
    }
    if (t->full)
        report_warning(
            "there were %d particles of foam, as many as foam.most allows: some were left out",
            job->most);
    if (job->arguments->quiet) return;
    char text[SHORT_TEXT], time[SHORT_TEXT];
    printf("Done: %d frame%s, %s particles created, in %s", t->made, t->made == 1 ? "" : "s",
           show_count(text, t->born), show_duration(time, t->seconds));
    if (t->particles)
        printf(" (%.2f s for a million particles)", t->seconds / (double)t->particles * 1e6);
    printf(".\n");
    if (t->kept) printf("  kept        %d that were there\n", t->kept);
    printf("  at the end  %s spray", show_count(text, c.spray));
    printf(", %s foam", show_count(text, c.foam));
    printf(", %s bubbles\n  files       %s/\n", show_count(text, c.bubbles), job->files.folder);
}

static int leave(const Job *job, const char *from) {
    int code = signal_code();
    if (!job->arguments->quiet)
        fprintf(stderr, "Interrupted; %d frames are complete. To continue: brim foam %s --resume\n",
                job->totals.made + job->totals.kept, from);
    return code;
}

static int make_frames(Job *job, const char *from) {
    const Arguments *a = job->arguments;
    int code = a->resume ? resume(job) : EXIT_DONE;
    CountProgress progress = count_progress_start(job->frames.count, !a->quiet && !a->json);
    for (int i = job->totals.kept; i < job->frames.count && code == EXIT_DONE; i++) {
        if (signal_code()) {
            count_progress_end(&progress);
            return leave(job, from);
        }
        code = make_frame(job, i);
        count_progress_step(&progress, i + 1, job->totals.kept);
    }
    count_progress_end(&progress);
    if (code == EXIT_DONE) tell_totals(job);
    return code;
}

int command_foam(int argc, char **argv) {
    Arguments a = {.last = -1};
    const Option options[] = {
        {"output", 'o', OPTION_TEXT, &a.folder, "DIR", "folder for foam; default DIR/foam", 0, 0},
        {"set", 0, OPTION_LIST, &a.sets, "KEY=VALUE",
         "change a key of foam, or seed; may be repeated", 0, 0},
        {"last", 0, OPTION_INTEGER, &a.last, "N", "up to this frame", 0, 999999},
        {"threads", 0, OPTION_INTEGER, &a.threads, "N", "use N threads; 0 = one for each core", 0,
         1024},
        {"resume", 0, OPTION_FLAG, &a.resume, NULL, "continue after the existing frames", 0, 0},
        {"overwrite", 0, OPTION_FLAG, &a.overwrite, NULL, "make all frames again", 0, 0},
        {"quiet", 0, OPTION_FLAG, &a.quiet, NULL, "print errors only", 0, 0},
        {"json", 0, OPTION_FLAG, &a.json, NULL,
         "print one JSON object per line: frames, summary, errors", 0, 0},
        {0},
    };
    const Usage usage = {
        .command = "foam",
        .arguments = "DIR [options]",
        .help =
            "Makes spray, foam and bubbles from the frames of a run, DIR/foam/NNNNNN.ply: where\n"
            "fast water traps air or breaks on a crest. The run stays as it is, so that looks\n"
            "can be tuned with --set; 'brim fields foam' lists the keys. Pictures of the run\n"
            "show what is in DIR/foam. The files are the same bytes for any --threads, and\n"
            "after an interrupt. A run makes them itself with output.foam: true.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a run folder",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code != ARGS_OK) {
        free(a.sets.items);
        return code;
    }
    Job job = {.arguments = &a};
    catch_signals(10);
    code = prepare(&job, argv[1]);
    if (code == EXIT_DONE) code = make_frames(&job, argv[1]);
    brim_foam_destroy(&job.foam);
    frames_free(&job.frames);
    free(a.sets.items);
    return code;
}
