// What brim live and brim view share: the options of the server, its address, its loop.
#pragma once
#include "cli.h"
#include "live/hub.h"

typedef struct ServeOptions {
    const char *address, *token;
    int64_t port;
    bool no_open;
} ServeOptions;

#define SERVE_OPTIONS(S)                                                                         \
    {"port", 0,    OPTION_INTEGER, &(S).port, "N", "port of the page; default any that is free", \
     0,      65535},                                                                             \
        {"listen",    0,                                                                         \
         OPTION_TEXT, &(S).address,                                                              \
         "ADDRESS",   "let other machines in, by this address of this machine",                  \
         0,           0},                                                                        \
        {"token",    0,      OPTION_TEXT,                                                        \
         &(S).token, "TEXT", "16 to 60 letters and digits instead of a random token",            \
         0,          0},                                                                         \
    {                                                                                            \
        "no-open", 0, OPTION_FLAG, &(S).no_open, NULL, "do not open the page", 0, 0              \
    }

/// Reports options that cannot be; returns the exit code.
int serve_check(const ServeOptions *options);
/// Serves what the hub has until the hub's other thread has ended or a signal came. Returns the
/// exit code.
int serve(Hub *hub, const ServeOptions *options, const char *what);
