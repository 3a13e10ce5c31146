#include "cli.h"
#include <signal.h>

// Signals reach a program only through a global.
static volatile sig_atomic_t caught;

static void on_signal(int number) {
    caught = number;
}

void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int signal_code(void) {
    return caught == SIGTERM ? EXIT_TERMINATE : caught ? EXIT_INTERRUPT : EXIT_DONE;
}
