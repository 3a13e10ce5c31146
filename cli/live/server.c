#include "live/server.h"
#include "cli.h"
#include "live/access.h"
#include "live/assets.h"
#include <stdlib.h>
#include <string.h>

bool server_is_built(void) {
#ifdef BRIM_HAVE_WEBSOCKETS
    return true;
#else
    return false;
#endif
}

bool server_has_page(void) {
    return asset_find("/") != NULL;
}

#ifdef BRIM_HAVE_WEBSOCKETS
#include <libwebsockets.h>

enum {
    CHUNK = 1 << 17,      ///< bytes handed to the socket at once
    FRAMES_OUT = 2,       ///< that may be on their way to a viewer before it says that it has one
    VIEWERS_MOST = 16,    ///< at the same time
    CONNECTIONS_MOST = 64 ///< of any kind
};
static const double RATE = 240, BURST = 480; ///< messages of a viewer: a second, and at once

/// A viewer. Memory belongs to the connection.
typedef struct Client {
    struct Client *next;
    struct lws *wsi;
    int id;
    int slot;  ///< of the frames that it looks at
    bool tell; ///< who steers, and how many look, has changed
    uint32_t sent[SLOTS];
    uint32_t out[FRAMES_OUT]; ///< serials of frames on their way; 0 = none
    Bucket messages;
    Parcel *parcel; ///< under way
    size_t at;
} Client;

/// An HTTP request that is being answered.
typedef struct Request {
    const Asset *asset;
    size_t at;
} Request;

struct Server {
    struct lws_context *context;
    Hub *hub;
    Access access;
    char url[256], policy[512];
    Client *clients;
    int client_count, next_id, steers; ///< steers: id, 0 = nobody
    unsigned char chunk[LWS_PRE + CHUNK];
};

static Server *server_of(struct lws *wsi) {
    return lws_context_user(lws_get_context(wsi));
}

// --------------------------------------------------------------------------------------- HTTP

static bool header(struct lws *wsi, enum lws_token_indexes token, char *out, int size) {
    return lws_hdr_copy(wsi, out, size, token) > 0;
}

static int refuse(struct lws *wsi, unsigned status) {
    lws_return_http_status(wsi, status, NULL);
    return -1;
}

static bool add_header(struct lws *wsi, const char *name, const char *value, unsigned char **at,
                       unsigned char *end) {
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name,
                                       (const unsigned char *)value, (int)strlen(value), at,
                                       end) == 0;
}

/// Headers of a file of the page.
static int answer(Server *s, struct lws *wsi, Request *request) {
    static const char *const fixed[][2] = {
        {"content-encoding:", "gzip"},
        {"cache-control:", "no-store"},
        {"x-content-type-options:", "nosniff"},
        {"referrer-policy:", "no-referrer"},
        {"cross-origin-opener-policy:", "same-origin"},
        {"cross-origin-resource-policy:", "same-origin"},
        {"x-frame-options:", "DENY"},
    };
    unsigned char buffer[LWS_PRE + 2048], *start = buffer + LWS_PRE, *at = start;
    unsigned char *end = buffer + sizeof buffer - 1;
    const Asset *asset = request->asset;
    if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, asset->type,
                                    (lws_filepos_t)(asset->end - asset->bytes), &at, end))
        return -1;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (!add_header(wsi, fixed[i][0], fixed[i][1], &at, end)) return -1;
    if (!add_header(wsi, "content-security-policy:", s->policy, &at, end)) return -1;
    if (lws_finalize_write_http_header(wsi, start, &at, end)) return -1;
    lws_callback_on_writable(wsi);
    return 0;
}

static int on_request(Server *s, struct lws *wsi, Request *request, const char *path) {
    char host[HOST_LONGEST], origin[HOST_LONGEST];
    if (!header(wsi, WSI_TOKEN_HOST, host, sizeof host) || !access_host(&s->access, host))
        return refuse(wsi, HTTP_STATUS_FORBIDDEN);
    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0 &&
        !(header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin) &&
          access_origin(&s->access, host, origin)))
        return refuse(wsi, HTTP_STATUS_FORBIDDEN);
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0)
        return refuse(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED);
    request->asset = asset_find(path);
    request->at = 0;
    if (!request->asset) return refuse(wsi, HTTP_STATUS_NOT_FOUND);
    return answer(s, wsi, request);
}

static int on_http_writable(Server *s, struct lws *wsi, Request *request) {
    const Asset *asset = request->asset;
    if (!asset) return 0;
    size_t left = (size_t)(asset->end - asset->bytes) - request->at;
    size_t n = left < CHUNK ? left : CHUNK;
    memcpy(s->chunk + LWS_PRE, asset->bytes + request->at, n);
    request->at += n;
    if (lws_write(wsi, s->chunk + LWS_PRE, n, n == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) <
        (int)n)
        return -1;
    if (n < left) return lws_callback_on_writable(wsi) < 0 ? -1 : 0;
    request->asset = NULL;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

/// Runs in the thread that serves: what the other one published is looked at by all.
static void look_around(Server *s) {
    for (Client *c = s->clients; c; c = c->next) lws_callback_on_writable(c->wsi);
}

static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t length) {
    (void)length;
    switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: // a WebSocket that does not name our protocol
        return refuse(wsi, HTTP_STATUS_FORBIDDEN);
    case LWS_CALLBACK_HTTP:
        return on_request(server_of(wsi), wsi, user, in);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return on_http_writable(server_of(wsi), wsi, user);
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        look_around(server_of(wsi));
        return 0;
    default:
        return 0;
    }
}

// ----------------------------------------------------------------------------------- WebSocket

/// Who may open one: the page that we served, with the token.
static bool may_enter(Server *s, struct lws *wsi) {
    char host[HOST_LONGEST], origin[HOST_LONGEST], path[16], token[80];
    if (!header(wsi, WSI_TOKEN_HOST, host, sizeof host) ||
        !header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin) ||
        !header(wsi, WSI_TOKEN_GET_URI, path, sizeof path) || strcmp(path, "/live") != 0)
        return false;
    const char *given = lws_get_urlarg_by_name(wsi, "token=", token, sizeof token);
    return access_origin(&s->access, host, origin) && given && access_is_token(&s->access, given) &&
           s->client_count < VIEWERS_MOST;
}

static void tell_all(Server *s) {
    for (Client *c = s->clients; c; c = c->next) c->tell = true;
    hub_viewers(s->hub, s->client_count);
    look_around(s);
}

/// Whether another viewer looks at the same frames.
static bool shared(const Server *s, const Client *client) {
    for (const Client *c = s->clients; c; c = c->next)
        if (c != client && c->slot == client->slot) return true;
    return false;
}

static void enter(Server *s, Client *c, struct lws *wsi) {
    memset(c, 0, sizeof *c);
    c->wsi = wsi;
    c->id = ++s->next_id;
    c->slot = SLOT_VALUE;
    c->messages = (Bucket){RATE, BURST, BURST, wall_clock()};
    c->next = s->clients;
    s->clients = c;
    s->client_count++;
    if (!s->steers) s->steers = c->id;
    if (!shared(s, c)) hub_want(s->hub, c->slot, true);
    tell_all(s);
}

/// Who steers from now on. The hand of the one before lets go.
static void pass_wheel(Server *s, int id) {
    Message release = {.kind = MESSAGE_EVENT, .event = {.kind = BRIM_EVENT_RELEASE}};
    if (s->steers != id) hub_send(s->hub, &release);
    s->steers = id;
}

static void leave(Server *s, Client *c) {
    Client **at = &s->clients;
    while (*at && *at != c) at = &(*at)->next;
    if (!*at) return;
    *at = c->next;
    s->client_count--;
    parcel_drop(&c->parcel);
    if (s->steers == c->id) pass_wheel(s, s->clients ? s->clients->id : 0);
    tell_all(s);
}

static void got(Client *c, uint32_t serial) {
    for (int i = 0; i < FRAMES_OUT; i++)
        if (c->out[i] <= serial) c->out[i] = 0;
}

/// A message from a viewer. False: it is to be shut out.
static bool obey(Server *s, Client *c, const Message *m) {
    switch (m->kind) {
    case MESSAGE_GOT:
        got(c, (uint32_t)m->number);
        break;
    case MESSAGE_SHOW:
        c->slot = SLOT_VALUE + (int)m->number;
        if (!shared(s, c)) hub_want(s->hub, c->slot, true);
        break;
    case MESSAGE_STEER:
        pass_wheel(s, c->id);
        tell_all(s);
        break;
    default:
        if (s->steers == c->id) hub_send(s->hub, m); // a full queue: it may ask again
    }
    lws_callback_on_writable(c->wsi);
    return true;
}

/// At once, without a farewell: while libwebsockets 4.1 waits to send one to somebody who floods
/// and does not read, it looks at nobody else.
enum { SHUT_OUT = -1 };

static int on_receive(Server *s, struct lws *wsi, Client *c, const char *text, size_t length) {
    Message message;
    if (lws_frame_is_binary(wsi)) return SHUT_OUT;
    if (length > MESSAGE_LONGEST || !lws_is_first_fragment(wsi) || !lws_is_final_fragment(wsi) ||
        lws_remaining_packet_payload(wsi) > 0)
        return SHUT_OUT;
    if (!bucket_take(&c->messages, wall_clock(), 1) || !message_parse(text, length, &message))
        return SHUT_OUT;
    return obey(s, c, &message) ? 0 : -1;
}

// ------------------------------------------------------------------------------------- sending

/// What a viewer is told about itself.
static Parcel *self_parcel(const Server *s, const Client *c) {
    char text[128];
    snprintf(text, sizeof text, "{\"type\":\"you\",\"id\":%d,\"steers\":%s,\"viewers\":%d}", c->id,
             s->steers == c->id ? "true" : "false", s->client_count);
    return parcel_text(text);
}

/// Where to note a frame that is sent; NULL when enough are on their way.
static uint32_t *free_place(Client *c) {
    for (int i = 0; i < FRAMES_OUT; i++)
        if (!c->out[i]) return &c->out[i];
    return NULL;
}

/// The newest frame, when it may be sent one.
static Parcel *next_frame(Server *s, Client *c) {
    uint32_t *place = free_place(c);
    if (!place) return NULL;
    Parcel *p = hub_newest(s->hub, c->slot, c->sent[c->slot]);
    if (p)
        *place = c->sent[c->slot] = p->serial;
    else
        hub_want(s->hub, c->slot, false);
    return p;
}

/// What a viewer has not got yet, in the order in which it needs it.
static Parcel *next_parcel(Server *s, Client *c) {
    for (int slot = 0; slot < SLOT_SURFACE; slot++) {
        Parcel *p = hub_newest(s->hub, slot, c->sent[slot]);
        if (!p) continue;
        c->sent[slot] = p->serial;
        return p;
    }
    if (c->tell) {
        c->tell = false;
        return self_parcel(s, c);
    }
    return c->sent[SLOT_HELLO] ? next_frame(s, c) : NULL;
}

static int on_writable(Server *s, struct lws *wsi, Client *c) {
    if (!c->parcel) c->parcel = next_parcel(s, c), c->at = 0;
    if (!c->parcel) return 0;
    const Parcel *p = c->parcel;
    size_t left = p->size - c->at, n = left < CHUNK ? left : CHUNK;
    int flags = c->at ? LWS_WRITE_CONTINUATION : p->text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY;
    if (n < left) flags |= LWS_WRITE_NO_FIN;
    memcpy(s->chunk + LWS_PRE, p->bytes + c->at, n);
    c->at += n;
    if (lws_write(wsi, s->chunk + LWS_PRE, n, (enum lws_write_protocol)flags) < (int)n) return -1;
    if (c->at == p->size) parcel_drop(&c->parcel);
    lws_callback_on_writable(wsi);
    return 0;
}

static int on_live(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t length) {
    switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return may_enter(server_of(wsi), wsi) ? 0 : refuse(wsi, HTTP_STATUS_FORBIDDEN);
    case LWS_CALLBACK_ESTABLISHED:
        enter(server_of(wsi), user, wsi);
        return 0;
    case LWS_CALLBACK_CLOSED:
        leave(server_of(wsi), user);
        return 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        return SHUT_OUT;
    case LWS_CALLBACK_RECEIVE:
        return on_receive(server_of(wsi), wsi, user, in, length);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return on_writable(server_of(wsi), wsi, user);
    default:
        return 0;
    }
}

// ---------------------------------------------------------------------------------- the server

// The last number: bytes that go out at once; by default no more than may come in.
static const struct lws_protocols protocols[] = {
    {"http", on_http, sizeof(Request), 0, 0, NULL, CHUNK},
    {"brim", on_live, sizeof(Client), MESSAGE_LONGEST + 64, 0, NULL, CHUNK + LWS_PRE},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

static void ring(void *context) {
    lws_cancel_service(context);
}

static bool listen_on(Server *s, const ServerDef *def) {
    // viewers that vanish without a word are missed after half a minute
    static const lws_retry_bo_t alive = {.secs_since_valid_ping = 10,
                                         .secs_since_valid_hangup = 30};
    struct lws_context_creation_info info = {0};
    info.iface = def->address && strcmp(def->address, "localhost") ? def->address : "127.0.0.1";
    info.port = def->port;
    info.protocols = protocols;
    info.user = s;
    info.gid = info.uid = (gid_t)-1;
    info.options = LWS_SERVER_OPTION_DISABLE_IPV6 | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND;
    info.timeout_secs = 5;
    info.keepalive_timeout = 5;
    info.fd_limit_per_thread = CONNECTIONS_MOST;
    info.max_http_header_pool = VIEWERS_MOST;
    info.max_http_header_data = 2048;
    info.retry_and_idle_policy = &alive;
    s->context = lws_create_context(&info);
    return s->context != NULL;
}

Server *server_open(const ServerDef *def, char *why, size_t why_size) {
    Server *s = calloc(1, sizeof *s);
    const char *address = def->address ? def->address : "127.0.0.1";
    snprintf(why, why_size, "out of memory");
    if (!s) return NULL;
    lws_set_log_level(0, NULL);
    s->hub = def->hub;
    if (def->token) snprintf(s->access.token, sizeof s->access.token, "%s", def->token);
    bool random = def->token || access_token(s->access.token);
    if (!random || !listen_on(s, def)) {
        if (random)
            snprintf(why, why_size,
                     "port %d of %s cannot be opened: another program has it, or the address is "
                     "not one of this machine's",
                     def->port, address);
        else
            snprintf(why, why_size, "the system provides no random numbers for the token");
        server_close(&s);
        return NULL;
    }
    int port = lws_get_vhost_listen_port(lws_get_vhost_by_name(s->context, "default"));
    access_hosts(&s->access, def->address, port);
    snprintf(s->url, sizeof s->url, "http://%s:%d/#%s", address, port, s->access.token);
    snprintf(s->policy, sizeof s->policy,
             "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
             "connect-src 'self' ws://%s; base-uri 'none'; form-action 'none'; frame-ancestors "
             "'none'",
             s->access.host[0]);
    s->hub->ring = ring;
    s->hub->context = s->context;
    return s;
}

const char *server_url(const Server *s) {
    return s->url;
}

void server_run(Server *s, bool (*stop)(void *context), void *context) {
    while (!stop(context) && lws_service(s->context, 0) >= 0) continue;
}

void server_close(Server **server) {
    Server *s = *server;
    if (!s) return;
    s->hub->ring = NULL;
    if (s->context) lws_context_destroy(s->context);
    free(s);
    *server = NULL;
}

#else // without libwebsockets

Server *server_open(const ServerDef *def, char *why, size_t why_size) {
    (void)def;
    snprintf(why, why_size, "this build cannot serve");
    return NULL;
}

const char *server_url(const Server *s) {
    (void)s;
    return "";
}

void server_run(Server *s, bool (*stop)(void *context), void *context) {
    (void)s, (void)stop, (void)context;
}

void server_close(Server **server) {
    *server = NULL;
}
#endif
