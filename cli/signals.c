// Stopping on request: at the next good place, or where there is none within some seconds, at once.
// All files are written beside their place and renamed, so leaving at any moment harms none.
#include "cli.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

// Signals reach a program only through globals.
static volatile sig_atomic_t caught, patience;
static const char *volatile last_words, *volatile last_event;

static void on_signal(int number) {
    caught = number;
    if (patience > 0) alarm((unsigned)patience);
}

static void tell(int stream, const char *text) {
    while (text && *text) {
        ssize_t n = write(stream, text, strlen(text));
        if (n <= 0) return;
        text += n;
    }
}

static void on_alarm(int number) {
    (void)number;
    tell(STDOUT_FILENO, last_event);
    tell(STDERR_FILENO, last_words ? last_words : "\nStopped in the middle of the work.\n");
    _exit(signal_code());
}

/// The second signal of a kind ends the process, but for SIGPIPE: that comes again with each line.
static void catch_one(int number) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    if (number != SIGPIPE) action.sa_flags |= (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    // nohup: the run is to outlive its terminal
    if (number == SIGHUP && sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
        return;
    sigaction(number, &action, NULL);
}

void catch_signals(int seconds) {
    struct sigaction action = {.sa_handler = on_alarm};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    patience = seconds;
    catch_one(SIGINT);
    catch_one(SIGTERM);
    catch_one(SIGHUP);
    catch_one(SIGPIPE);
}

void signals_at_rest(void) {
    patience = 0;
    alarm(0);
}

void signals_last_words(const char *words, const char *event) {
    last_words = words;
    last_event = event;
}

int signal_code(void) {
    return caught ? EXIT_SIGNAL + caught : EXIT_DONE;
}
