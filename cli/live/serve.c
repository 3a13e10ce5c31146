#include "live/serve.h"
#include "live/access.h"
#include "live/server.h"
#include <ctype.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int serve_check(const ServeOptions *o) {
    if (!server_is_built()) {
        report_error("this build cannot serve a page: install libwebsockets (scripts/setup.sh), "
                     "then run make again");
        return EXIT_OTHER;
    }
    size_t length = o->token ? strlen(o->token) : TOKEN_LENGTH;
    bool plain = true;
    for (const char *c = o->token; c && *c; c++) plain = plain && isalnum((unsigned char)*c);
    if (length < 16 || length > 60 || !plain) {
        report_error("--token needs 16 to 60 letters and digits");
        return EXIT_INPUT;
    }
    if (o->address &&
        (strcmp(o->address, "0.0.0.0") == 0 || strlen(o->address) > 100 ||
         strspn(o->address, "0123456789.") != strlen(o->address)) &&
        strcmp(o->address, "localhost") != 0) {
        report_error("--listen needs one IPv4 address of this machine, as browsers will type it, "
                     "such as 192.168.1.5");
        return EXIT_INPUT;
    }
    return EXIT_DONE;
}

/// Opens the page where there is a desktop. A browser that does not start is no reason to stop.
static void open_page(const char *url) {
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) return;
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) { // nobody's child: it need not be waited for
            if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(1);
            execlp("xdg-open", "xdg-open", url, (char *)NULL);
        }
        _exit(0);
    }
    if (child > 0) waitpid(child, NULL, 0);
}

static bool is_over(void *context) {
    const Hub *hub = context;
    return hub->ended;
}

int serve(Hub *hub, const ServeOptions *o, const char *what) {
    char why[512];
    // frames come and go at the same sizes: their pages are kept, not asked of the system each time
    mallopt(M_MMAP_THRESHOLD, 1 << 26);
    mallopt(M_TRIM_THRESHOLD, 1 << 27);
    ServerDef def = {.address = o->address, .port = (int)o->port, .token = o->token, .hub = hub};
    Server *server = server_open(&def, why, sizeof why);
    if (!server) {
        report_error("%s", why);
        return EXIT_OTHER;
    }
    if (!server_has_page())
        report_warning("this build has no page, only its WebSocket: 'make setup' with npm, then "
                       "'make', builds it");
    if (o->address && !access_is_loopback(o->address))
        report_warning("%s can now be watched and steered from other machines, by everyone who "
                       "has the address below with its token. Nothing is encrypted: use it in a "
                       "network that you trust, or an ssh tunnel instead (brim help live)",
                       what);
    say(stdout, "%s\n", server_url(server));
    fflush(stdout);
    if (!o->no_open) open_page(server_url(server));
    server_run(server, is_over, hub);
    server_close(&server);
    return EXIT_DONE;
}
