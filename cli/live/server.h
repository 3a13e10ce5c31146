// The server: the page by HTTP, frames and messages by WebSocket. One event loop in the thread that
// calls it.
#pragma once
#include "live/hub.h"

typedef struct Server Server;

typedef struct ServerDef {
    const char *address; ///< NULL: this machine alone
    int port;            ///< 0 = any that is free
    const char *token;   ///< NULL: a random one
    Hub *hub;
} ServerDef;

/// Opens the port. NULL with a message in `why` when that fails.
Server *server_open(const ServerDef *def, char *why, size_t why_size);
/// Address of the page, with the token.
const char *server_url(const Server *server);
/// Serves until `stop` says so, which is asked several times a second.
void server_run(Server *server, bool (*stop)(void *context), void *context);
void server_close(Server **server);
/// Whether this build can serve at all, and whether it has the page.
bool server_is_built(void);
bool server_has_page(void);
