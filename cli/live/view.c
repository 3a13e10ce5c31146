// brim view: plays a run that is on disk, or still being written, in a browser.
#include "cli.h"
#include "live/player.h"
#include "live/serve.h"

static int view(const char *folder, const ServeOptions *options) {
    Hub hub;
    Player *player = NULL;
    int code = serve_check(options);
    if (code != EXIT_DONE) return code;
    catch_signals(2);
    hub_init(&hub);
    code = player_open(folder, &hub, &player);
    if (code == EXIT_DONE && !player_start(player)) {
        report_error("no thread to play the run");
        code = EXIT_OTHER;
    }
    if (code == EXIT_DONE) {
        code = serve(&hub, options, "this recording");
        hub_stop(&hub);
        player_join(player);
        if (code == EXIT_DONE) code = signal_code();
    }
    player_close(&player);
    hub_free(&hub);
    return code;
}

int command_view(int argc, char **argv) {
    ServeOptions serve_options = {0};
    const Option options[] = {SERVE_OPTIONS(serve_options), {0}};
    const Usage usage = {
        .command = "view",
        .arguments = "DIR [options]",
        .help = "Serves a page on this machine that plays the run in DIR: with a timeline, from\n"
                "all sides, coloured by what its particles carry, with plots of its statistics.\n"
                "The run may still be going: new frames join the timeline. The address is\n"
                "printed; with a desktop the page opens. Ctrl-C ends it.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "the folder of a run",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    return code == ARGS_OK ? view(argv[1], &serve_options) : code;
}
