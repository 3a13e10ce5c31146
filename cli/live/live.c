// brim live: runs a scene and lets people look at it, and touch it, in a browser.
#include "cli.h"
#include "live/access.h"
#include "live/engine.h"
#include "live/serve.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct Arguments {
    const char *folder;
    TextList sets;
    int64_t threads, seed, patience;
    double speed;
    bool record, overwrite, paused;
    ServeOptions serve;
} Arguments;

/// NAME-live for a scene NAME.yaml.
static void default_folder(const char *path, char folder[NAME_MAX]) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t length = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    snprintf(folder, NAME_MAX, "%.*s-live", (int)(length < 200 ? length : 200), name);
}

static int live(const EngineDef *def, const Arguments *a) {
    Engine *engine = NULL;
    catch_signals((int)a->patience);
    int code = engine_open(def, &engine);
    if (code == EXIT_DONE && !engine_start(engine)) {
        report_error("the thread of the simulation could not be started");
        code = EXIT_OTHER;
    }
    if (code == EXIT_DONE) {
        code = serve(def->hub, &a->serve, "a scene that runs");
        hub_stop(def->hub);
        int left = engine_join(engine);
        engine_summary(engine);
        if (left != EXIT_DONE) code = left;
    }
    engine_close(&engine);
    return code == EXIT_DONE ? signal_code() : code;
}

static int live_with(const char *path, Arguments *a) {
    char folder[NAME_MAX], threads[64], seed[64];
    const char **sets = calloc((size_t)a->sets.count + 2, sizeof *sets);
    int count = 0, code = serve_check(&a->serve);
    if (code != EXIT_DONE) {
        free(sets);
        return code;
    }
    if (!sets) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    default_folder(path, folder);
    for (int i = 0; i < a->sets.count; i++) sets[count++] = a->sets.items[i];
    snprintf(threads, sizeof threads, "threads=%lld", (long long)a->threads);
    snprintf(seed, sizeof seed, "seed=%lld", (long long)a->seed);
    if (a->threads >= 0) sets[count++] = threads;
    if (a->seed >= 0) sets[count++] = seed;
    Hub hub;
    hub_init(&hub);
    EngineDef def = {.path = path,
                     .folder = a->folder ? a->folder : folder,
                     .sets = sets,
                     .set_count = count,
                     .record = a->record,
                     .overwrite = a->overwrite || !a->folder,
                     .paused = a->paused,
                     .speed = a->speed,
                     .hub = &hub};
    code = live(&def, a);
    hub_free(&hub);
    free((void *)sets);
    return code;
}

int command_live(int argc, char **argv) {
    Arguments a = {.threads = -1, .seed = -1, .patience = 10, .speed = 1};
    const Option options[] = {
        {"output", 'o', OPTION_TEXT, &a.folder, "DIR",
         "folder for events, checkpoint, recording; default NAME-live", 0, 0},
        {"record", 0, OPTION_FLAG, &a.record, NULL, "write frames too, as brim run does", 0, 0},
        {"overwrite", 0, OPTION_FLAG, &a.overwrite, NULL, "discard an earlier run in DIR", 0, 0},
        {"set", 0, OPTION_LIST, &a.sets, "KEY=VALUE", "override a key of the scene; repeatable", 0,
         0},
        {"threads", 0, OPTION_INTEGER, &a.threads, "N", "use N threads; 0 = one for each core", 0,
         1024},
        {"seed", 0, OPTION_INTEGER, &a.seed, "N", "seed of the random numbers", 0, UINT32_MAX},
        {"speed", 0, OPTION_NUMBER, &a.speed, "X",
         "simulated seconds per second; 0 = as fast as possible; default 1", 0, 1000},
        {"paused", 0, OPTION_FLAG, &a.paused, NULL, "wait for the page's play button", 0, 0},
        {"patience", 0, OPTION_INTEGER, &a.patience, "N",
         "after a signal, wait up to N seconds for the step to finish; default 10", 1, 86400},
        SERVE_OPTIONS(a.serve),
        {0},
    };
    const Usage usage = {
        .command = "live",
        .arguments = "SCENE.yaml [options]",
        .help = "Simulates a scene and serves a page on this machine that shows it while it runs\n"
                "and lets you touch it. The address is printed; with a desktop the page opens.\n"
                "What you do is written to DIR/events.txt, and\n"
                "  brim run SCENE.yaml --events DIR/events.txt -o AGAIN\n"
                "does it again, bit for bit. Ctrl-C finishes the step, writes a checkpoint and\n"
                "ends.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a scene file",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code == ARGS_OK) code = live_with(argv[1], &a);
    free((void *)a.sets.items);
    return code;
}
