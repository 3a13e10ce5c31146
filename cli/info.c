// brim info: what a checkpoint or a frame holds.
#include "cli.h"
#include <sys/stat.h>

/// Of several failures the damaged file is the one to tell.
static int worse(int before, int now) {
    return before == EXIT_DAMAGED ? before : now;
}

int command_info(int argc, char **argv) {
    const Option options[] = {{0}};
    const Usage usage = {
        .command = "info",
        .arguments = "FILE...",
        .help = "Describes checkpoints (DIR/checkpoints/*) and frames (DIR/particles/*.ply,\n"
                "DIR/surface/*.ply, DIR/foam/*.ply, DIR/fields/*.vti, DIR/vdb/*.vdb), and verifies "
                "their\n"
                "checksums and sizes. "
                "Exit code 6 when one is damaged.",
        .options = options,
        .least = 1,
        .most = argc,
        .positional = "a checkpoint or frame",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code != ARGS_OK) return code;

    code = EXIT_DONE;
    for (int i = 1; i <= count; i++) {
        struct stat status;
        if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            report_error("%s is a folder; name a file in it, such as %s/particles/000000.ply",
                         argv[i], argv[i]);
            code = worse(code, EXIT_INPUT);
            continue;
        }
        char text[4096];
        BrimError error;
        if (brim_describe_file(argv[i], text, sizeof text, &error) == BRIM_OK)
            say(stdout, "%s%s\n", i > 1 ? "\n" : "", text);
        else
            code = worse(code, report_result(&error, false));
    }
    return code;
}
