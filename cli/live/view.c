#include "cli.h"
int command_view(int argc, char **argv) {
    (void)argc, (void)argv;
    return EXIT_OTHER;
}
