// The brim command: finds the subcommand and hands it its arguments.
#include "cli.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const Command commands[] = {
    {"run", "simulate a scene into a folder", command_run},
    {"live", "run a scene and touch it in a browser", command_live},
    {"check", "validate a scene and estimate its cost", command_check},
    {"info", "describe a checkpoint or a frame", command_info},
    {"fields", "list the keys of scene files", command_fields},
    {"mesh", "turn frames into closed surfaces", command_mesh},
    {"foam", "add spray, foam and bubbles to frames", command_foam},
    {"convert", "write frames as OpenVDB or for ParaView", command_convert},
    {"view", "play a run in a browser", command_view},
    {"tets", "fill a mesh or a body with tetrahedra", command_tets},
    {"render", "draw pictures and films of a run", command_render},
    {"plot", "plot the statistics of runs as SVG", command_plot},
    {"report", "summarise a run in one HTML page", command_report},
    {"reproduce", "repeat an experiment of a paper", command_reproduce},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void) {
    printf("Usage: brim COMMAND [arguments]\n\n"
           "Brim simulates liquids: particles carry the water, a sparse grid keeps it\n"
           "incompressible. A scene file goes in, frames for other programs come out.\n\n"
           "Commands:\n");
    for (int i = 0; i < COMMANDS; i++) printf("  %-11s%s\n", commands[i].name, commands[i].summary);
    printf("  %-11s%s\n", "help", "explain a command: brim help run");
    printf("\nOptions:\n"
           "  --help     show this text; after a command, explain the command\n"
           "  --version  show the version\n\n"
           "To begin:\n"
           "  brim run scenes/dam.yaml -o out/dam\n"
           "  brim render out/dam\n\n"
           "Exit codes:\n"
           "  0    done\n"
           "  1    a failure that is none of those below\n"
           "  2    bad usage, scene or input; no output folder was touched\n"
           "  3    a file or the disk could not be read or written\n"
           "  4    out of memory, or the scene is larger than the limit allows\n"
           "  5    the simulation diverged\n"
           "  6    a checkpoint or frame is damaged\n"
           "  130  interrupted (Ctrl-C), 143 terminated, 129 terminal closed, 141 reader of\n"
           "       the output gone. The run can be resumed\n\n"
           "Messages are coloured on a terminal unless NO_COLOR is set.\n");
}

static const Command *find_command(const char *name) {
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[COMMANDS + 1] = {"help"};
    for (int i = 0; i < COMMANDS; i++) names[i + 1] = commands[i].name;
    const char *nearest = nearest_name(name, names, COMMANDS + 1);
    if (nearest)
        report_error("unknown command '%s'; did you mean '%s'?", name, nearest);
    else
        report_error("unknown command '%s'", name);
    fprintf(stderr, "Try 'brim --help'.\n");
    return EXIT_INPUT;
}

static int help(int argc, char **argv) {
    if (argc < 2) {
        print_help();
        return EXIT_DONE;
    }
    const Command *command = find_command(argv[1]);
    if (!command) return unknown_command(argv[1]);
    char *ask[] = {argv[1], (char[]){"--help"}, NULL};
    return command->run(2, ask);
}

/// Text that could not be written to stdout must not pass as success.
static int flush_output(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    report_error("standard output could not be written");
    return code == EXIT_DONE ? EXIT_IO : code;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); // a file too large for ulimit is an error to report, not an end
    if (argc < 2) {
        print_help();
        return EXIT_INPUT;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help();
        return flush_output(EXIT_DONE);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("brim %s\n", brim_version());
        return flush_output(EXIT_DONE);
    }
    if (strcmp(name, "help") == 0) return flush_output(help(argc - 1, argv + 1));
    const Command *command = find_command(name);
    if (!command) return unknown_command(name);
    return flush_output(command->run(argc - 1, argv + 1));
}
