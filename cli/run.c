// brim run: a scene file into a folder of frames, with progress, and safe to interrupt.
#include "cli.h"
#include "preview.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Arguments {
    const char *folder, *events;
    TextList sets;
    int64_t frames, threads, seed, patience;
    bool resume, overwrite, quiet, json, preview;
} Arguments;

/// What the summary adds up over the steps of this process.
typedef struct Totals {
    double started; ///< wall clock, s
    int64_t steps, iterations;
    int first_frame;
    double ms, stage_ms[BRIM_STAGE_COUNT];
} Totals;

// ------------------------------------------------------------------------------- JSON lines

static void json_stats(const BrimSim *sim, int frames, const char *event) {
    printf("{\"event\":\"%s\",\"frame\":%d,\"frames\":%d", event, brim_sim_frame(sim), frames);
    const char *column;
    for (int i = 0; (column = brim_stats_column(i)); i++) {
        printf(",\"%s\":", column);
        json_number(stdout, brim_stats_value(brim_sim_stats(sim), i));
    }
    puts("}");
    fflush(stdout);
}

static void json_start(const BrimSim *sim, const BrimRun *run, const char *folder,
                       const char *note) {
    fputs("{\"event\":\"start\",\"version\":", stdout);
    json_text(stdout, brim_version());
    fputs(",\"folder\":", stdout);
    json_text(stdout, folder);
    printf(",\"frame\":%d,\"frames\":%d,\"particles\":%zu,\"threads\":%d,\"isa\":",
           brim_sim_frame(sim), brim_run_frame_count(run), brim_sim_particles(sim).count,
           brim_sim_threads(sim));
    json_text(stdout, brim_sim_isa_name(sim));
    fputs(",\"note\":", stdout);
    json_text(stdout, note);
    fputs(",\"message\":", stdout);
    json_text(stdout, brim_run_message(run));
    puts("}");
    fflush(stdout);
}

static void json_summary(const BrimSim *sim, const Totals *t, const char *folder) {
    const BrimStats *s = brim_sim_stats(sim);
    double steps = t->steps ? (double)t->steps : 1;
    fputs("{\"event\":\"done\",\"folder\":", stdout);
    json_text(stdout, folder);
    printf(",\"frame\":%d,\"steps\":%lld,\"wall_seconds\":", brim_sim_frame(sim),
           (long long)t->steps);
    json_number(stdout, wall_clock() - t->started);
    fputs(",\"time\":", stdout);
    json_number(stdout, brim_sim_time(sim));
    fputs(",\"ms_per_step\":", stdout);
    json_number(stdout, t->ms / steps);
    fputs(",\"ms_per_stage\":{", stdout);
    for (int i = 0; i < BRIM_STAGE_COUNT; i++) {
        printf("%s\"%s\":", i ? "," : "", brim_stage_name((BrimStage)i));
        json_number(stdout, t->stage_ms[i] / steps);
    }
    fputs("},\"volume\":", stdout);
    json_number(stdout, s->volume);
    fputs(",\"volume_ratio\":", stdout);
    json_number(stdout, s->volume_ratio);
    printf(",\"particles\":%lld,\"seeded\":%lld,\"emitted\":%lld,\"drained\":%lld,\"left\":%lld,"
           "\"resampled\":%lld}\n",
           (long long)s->particles, (long long)s->seeded, (long long)s->emitted,
           (long long)s->drained, (long long)s->left, (long long)s->resampled);
    fflush(stdout);
}

// ---------------------------------------------------------------------------------- summary

static void print_stages(const Totals *t) {
    bool used[BRIM_STAGE_COUNT] = {false};
    for (int n = 0; n < 5; n++) {
        int top = -1;
        for (int i = 0; i < BRIM_STAGE_COUNT; i++)
            if (!used[i] && (top < 0 || t->stage_ms[i] > t->stage_ms[top])) top = i;
        used[top] = true;
        printf("%s%s %.2f", n ? ", " : "", brim_stage_name((BrimStage)top),
               t->stage_ms[top] / (double)t->steps);
    }
}

static void print_balance(const BrimStats *s) {
    char text[SHORT_TEXT];
    printf("  balance     %s seeded", show_count(text, s->seeded));
    printf(" + %s emitted", show_count(text, s->emitted));
    printf(" - %s drained", show_count(text, s->drained));
    printf(" - %s left", show_count(text, s->left));
    if (s->resampled) // what a narrow band made less what it took
        printf(" %c %s by the band", s->resampled < 0 ? '-' : '+',
               show_count(text, s->resampled < 0 ? -s->resampled : s->resampled));
    printf(" = %s particles\n", show_count(text, s->particles));
}

/// What the run wrote, as far as the scene wanted it.
static void print_files(const BrimSim *sim, const char *folder) {
    const BrimOutputDef *o = &brim_sim_def(sim)->output;
    const struct {
        bool there;
        const char *name;
    } folders[] = {{o->particles, "particles"},
                   {o->surface != BRIM_SURFACE_OUTPUT_NONE, "surface"},
                   {o->foam, "foam"},
                   {brim_sim_body_count(sim) > 0, "bodies"},
                   {brim_sim_gauge_count(sim) > 0, "gauges"},
                   {o->fields, "fields"},
                   {o->vdb, "vdb"},
                   {o->paraview, "paraview"}};
    say(stdout, "  files       in %s/: ", folder);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i].there) printf("%s/, ", folders[i].name);
    printf("stats.csv, run.json\n");
}

static void print_summary(const BrimSim *sim, const Totals *t, const char *folder) {
    const BrimStats *s = brim_sim_stats(sim);
    char text[SHORT_TEXT], steps[SHORT_TEXT];
    int frames = brim_sim_frame(sim) - t->first_frame;
    printf("Done: %d frame%s, %s step%s, %.4g s simulated in %s.\n", frames, frames == 1 ? "" : "s",
           show_count(steps, t->steps), t->steps == 1 ? "" : "s", brim_sim_time(sim),
           show_duration(text, wall_clock() - t->started));
    if (t->steps) {
        printf("  a step      %.2f ms: ", t->ms / (double)t->steps);
        print_stages(t);
        printf("\n  solver      %.1f iterations a step\n",
               (double)t->iterations / (double)t->steps);
    }
    printf("  volume      %.4f of what it should be\n", s->volume);
    print_balance(s);
    printf("  memory      %s\n", show_bytes(text, (double)s->memory_bytes));
    print_files(sim, folder);
    say(stdout, "Next: brim render %s\n", folder);
}

// ------------------------------------------------------------------------------------- run

/// For a signal that comes in a step which does not end in time: what is on disk counts. Text for
/// a signal handler is made beforehand; the one in use stays while the next is made.
static void prepare_last_words(BrimRun *run, const char *scene, const Arguments *a) {
    static char words[2][4096], event[2][4096];
    static int next;
    char text[2048], *at = words[next], *json = event[next];
    const char *checkpoint = brim_run_last_checkpoint(run);
    snprintf(text, sizeof text,
             "\nStopped in the middle of a step, which took longer than %lld s. %s%.700s\n"
             "To continue: brim run %.400s -o %.400s %s, with the same --set and --seed\n",
             (long long)a->patience,
             *checkpoint ? "The last checkpoint is " : "There is no checkpoint yet.", checkpoint,
             scene, a->folder, *checkpoint ? "--resume" : "--overwrite");
    text_show(text, at, sizeof words[0]);
    FILE *out = a->json ? fmemopen(json, sizeof event[0], "w") : NULL;
    *json = 0;
    if (out) {
        fprintf(out, "{\"event\":\"stopped\",\"frame\":%d,\"checkpoint\":",
                brim_sim_frame(brim_run_sim(run)));
        json_text(out, checkpoint);
        fputs("}\n", out);
        fclose(out);
    }
    signals_last_words(a->quiet ? "" : at, json);
    next = 1 - next;
}

/// After a signal: a checkpoint, and how to go on.
static int leave(BrimRun *run, const char *scene, const Arguments *a) {
    BrimError error;
    int code = signal_code();
    signals_at_rest();
    if (brim_run_checkpoint(run, &error) != BRIM_OK) return report_result(&error, a->json);
    const BrimSim *sim = brim_run_sim(run);
    if (a->json) {
        printf("{\"event\":\"interrupted\",\"exit_code\":%d,\"frame\":%d,\"checkpoint\":", code,
               brim_sim_frame(sim));
        json_text(stdout, brim_run_last_checkpoint(run));
        puts("}");
        fflush(stdout);
    }
    if (!a->quiet) {
        say(stderr, "Interrupted at %.4g s (frame %d); checkpoint %s written.\n",
            brim_sim_time(sim), brim_sim_frame(sim), brim_run_last_checkpoint(run));
        say(stderr, "To continue: brim run %s -o %s --resume, with the same --set and --seed\n",
            scene, a->folder);
    }
    return code;
}

static int lost(const BrimRun *run, const BrimError *error, const Arguments *a) {
    int code = report_result(error, a->json);
    const char *checkpoint = brim_run_last_checkpoint(run);
    if (*checkpoint && !strstr(error->message, checkpoint))
        say(stderr, "The last good checkpoint is %s.\n", checkpoint);
    return code;
}

static void add_step(Totals *t, const BrimStats *s) {
    t->steps++;
    t->iterations += s->iterations;
    t->ms += s->ms_total;
    for (int i = 0; i < BRIM_STAGE_COUNT; i++) t->stage_ms[i] += s->ms[i];
}

/// Does what the events say that come before the next step; *at is the first that was not done yet.
static BrimResult do_events(BrimSim *sim, BrimEvents *events, size_t *at, const char *file,
                            BrimError *error) {
    for (; *at < events->count; ++*at) {
        BrimEvent *event = &events->event[*at];
        if (event->step > brim_sim_step_count(sim)) return BRIM_OK;
        if (event->step < brim_sim_step_count(sim)) continue; // a resumed run: it was done before
        BrimError why;
        if (brim_sim_apply(sim, event, &why) == BRIM_OK) continue;
        error->result = why.result;
        snprintf(error->message, sizeof error->message,
                 "%.200s: event %zu, before step %lld: %.700s", file, *at + 1,
                 (long long)event->step + 1, why.message);
        return why.result;
    }
    return BRIM_OK;
}

static int run_steps(BrimRun *run, const BrimSimDef *def, const char *scene, BrimEvents *events,
                     const Arguments *a) {
    size_t event = 0;
    Preview preview;
    preview_start(&preview, a->preview, a->folder, def);
    BrimSim *sim = brim_run_sim(run);
    int frames = brim_run_frame_count(run), frame = brim_sim_frame(sim);
    const char *saved = brim_run_last_checkpoint(run);
    prepare_last_words(run, scene, a);
    Totals totals = {.started = wall_clock(), .first_frame = frame};
    Progress progress = progress_start(sim, frames, !a->quiet && !a->json);
    while (!brim_run_done(run)) {
        BrimError error;
        if (signal_code()) {
            if (progress.on && progress.terminal) fputc('\n', stderr);
            return leave(run, scene, a);
        }
        if (do_events(sim, events, &event, a->events, &error) != BRIM_OK ||
            brim_run_step(run, &error) != BRIM_OK)
            return lost(run, &error, a);
        add_step(&totals, brim_sim_stats(sim));
        if (saved != brim_run_last_checkpoint(run)) prepare_last_words(run, scene, a);
        saved = brim_run_last_checkpoint(run);
        progress_step(&progress, sim);
        preview_step(&preview, sim);
        if (brim_sim_frame(sim) != frame && a->json) json_stats(sim, frames, "frame");
        frame = brim_sim_frame(sim);
    }
    progress_end(&progress, sim);
    if (a->json)
        json_summary(sim, &totals, a->folder);
    else if (!a->quiet)
        print_summary(sim, &totals, a->folder);
    if (a->preview && !preview.count && !a->quiet && !a->json)
        say(stderr, "No preview: the run was over before the first one was due.\n");
    if (preview.count && !a->quiet && !a->json)
        say(stderr, "%d previews took %.1f %% of the time: %s\n", preview.count,
            100 * preview.spent / fmax(wall_clock() - totals.started, 1e-9), preview.path);
    return EXIT_DONE;
}

static int run_scene(const char *path, const Arguments *a) {
    BrimError error;
    BrimScene *scene = NULL;
    BrimEvents events = {0};
    if (a->events && brim_events_read(a->events, &events, &error) != BRIM_OK)
        return report_result(&error, a->json);
    if (brim_scene_load(path, a->sets.items, a->sets.count, &scene, &error) != BRIM_OK) {
        brim_events_free(&events);
        return report_result(&error, a->json);
    }
    BrimRunOptions options = {
        .resume = a->resume, .overwrite = a->overwrite, .frames = (int)a->frames};
    BrimRun *run = NULL;
    prepare_last_words(NULL, path, a);
    catch_signals((int)a->patience);
    int code;
    if (report_dry(path, scene, a->json) != EXIT_DONE) {
        code = EXIT_INPUT;
    } else if (brim_run_open(scene, a->folder, &options, &run, &error) != BRIM_OK) {
        code = report_result(&error, a->json);
    } else {
        const char *note = brim_scene_note(scene);
        if (*note && !a->json && !a->quiet) say(stderr, "note: %s\n", note);
        if (a->json)
            json_start(brim_run_sim(run), run, a->folder, note);
        else if (*brim_run_message(run) && (!a->quiet || brim_run_passed_over(run)))
            say(stderr, "%s\n", brim_run_message(run));
        bool told = brim_run_done(run) && !a->json; // the message says it all
        code = told ? EXIT_DONE : run_steps(run, brim_scene_def(scene), path, &events, a);
    }
    brim_run_close(&run);
    brim_scene_destroy(&scene);
    brim_events_free(&events);
    return code;
}

/// Options that stand for scene keys become overrides after the user's own.
static bool add_set(TextList *sets, char text[64], const char *key, int64_t value) {
    if (value < 0) return true;
    snprintf(text, 64, "%s=%lld", key, (long long)value);
    const char **items =
        realloc((void *)sets->items, (size_t)(sets->count + 1) * sizeof(const char *));
    if (!items) return false;
    items[sets->count++] = text;
    sets->items = items;
    return true;
}

static int run_with(const char *path, Arguments *a) {
    char threads[64], seed[64];
    if (!a->folder) {
        report_error("brim run needs a folder for the results: -o DIR");
        return EXIT_INPUT;
    }
    if (a->resume && a->overwrite) {
        report_error("choose one of --resume (continue the run in %s) and --overwrite (discard it)",
                     a->folder);
        return EXIT_INPUT;
    }
    if (!add_set(&a->sets, threads, "threads", a->threads) ||
        !add_set(&a->sets, seed, "seed", a->seed)) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    return run_scene(path, a);
}

int command_run(int argc, char **argv) {
    Arguments a = {.threads = -1, .seed = -1, .patience = 10};
    const Option options[] = {
        {"output", 'o', OPTION_TEXT, &a.folder, "DIR", "folder for the results", 0, 0},
        {"set", 0, OPTION_LIST, &a.sets, "KEY=VALUE", "override a key of the scene; repeatable", 0,
         0},
        {"events", 0, OPTION_TEXT, &a.events, "FILE",
         "replay what was done in brim live, from its events.txt", 0, 0},
        {"frames", 0, OPTION_INTEGER, &a.frames, "N", "stop after N frames", 1, 1e9},
        {"threads", 0, OPTION_INTEGER, &a.threads, "N", "use N threads; 0 = one for each core", 0,
         1024},
        {"seed", 0, OPTION_INTEGER, &a.seed, "N", "seed of the random numbers", 0, UINT32_MAX},
        {"resume", 0, OPTION_FLAG, &a.resume, NULL,
         "continue from the newest complete checkpoint in DIR", 0, 0},
        {"overwrite", 0, OPTION_FLAG, &a.overwrite, NULL, "discard an earlier run in DIR", 0, 0},
        {"patience", 0, OPTION_INTEGER, &a.patience, "N",
         "after a signal, wait up to N seconds for the step to finish; default 10", 1, 86400},
        {"preview", 0, OPTION_FLAG, &a.preview, NULL,
         "draw DIR/preview.png every few seconds, in less than 5 % of the time", 0, 0},
        {"quiet", 0, OPTION_FLAG, &a.quiet, NULL, "print errors only", 0, 0},
        {"json", 0, OPTION_FLAG, &a.json, NULL,
         "print one JSON object per line: start, frames, summary, errors", 0, 0},
        {0},
    };
    const Usage usage = {
        .command = "run",
        .arguments = "SCENE.yaml -o DIR [options]",
        .help = "Simulates a scene and writes into DIR:\n"
                "  particles/NNNNNN.ply  frames for Blender, ParaView, Houdini\n"
                "  fields/NNNNNN.vti     pressure, velocity, ... when output.fields is true\n"
                "  foam/NNNNNN.ply       spray, foam and bubbles, when output.foam is true\n"
                "  surface/NNNNNN.ply    closed surface, when output.surface is ply or obj\n"
                "  vdb/NNNNNN.vdb        level set and velocity, when output.vdb is true\n"
                "  paraview/run.pvd      all frames for ParaView, when output.paraview is true\n"
                "  checkpoints/          from which --resume continues, bit for bit\n"
                "  stats.csv, run.json   one row a step; the scene after defaults\n\n"
                "A folder with a run is refused without --resume or --overwrite, one with other\n"
                "files always.\n"
                "Ctrl-C finishes the step, writes a checkpoint and leaves with exit code 130; a\n"
                "second Ctrl-C quits at once. So do SIGTERM (143) and a closed terminal (129).\n"
                "A step that takes longer than --patience is given up: the last checkpoint\n"
                "counts. The result is the same bits for any --threads.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a scene file",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code == ARGS_OK) code = run_with(argv[1], &a);
    free((void *)a.sets.items);
    return code;
}
