// A viewer without a screen, for tests of brim live and brim view: well-behaved or hostile.
//
//   live-client URL [do ...]      URL as the command prints it, http://HOST:PORT/#TOKEN
//
//   get PATH          HTTP: prints the status, the headers and the length of the body
//   header "A: B"     adds a header to the next requests; "A:" leaves one out
//   open              opens a WebSocket; prints "open" or "refused STATUS"
//   send TEXT         a message
//   frames N          takes N frames, says so to the server, prints a line for each
//   until TEXT        prints texts until one holds TEXT; fails after 10 s
//   step N            takes frames, prints them and texts, until one is of step N; fails after 10 s
//   texts SECONDS     prints texts (and takes frames) for so long
//   stall SECONDS     reads nothing
//   flood SECONDS     sends messages as fast as they go; opens again when shut out
//   rubbish SECONDS   sends random bytes, as messages, as frames and as requests
//   latency N         moves solid 0 N times; prints how long it took until a frame showed it, ms
//   seeks N           recordings: goes to N frames by chance; prints how long that took, ms
//   measure SECONDS   takes frames; prints how many, their bytes, steps and particles
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct Viewer {
    char host[64], token[80], extra[1024];
    bool no_origin, no_host;
    int port, socket;
    unsigned char *message; ///< the last one, in full
    size_t size, capacity;
    bool text, closed;
    uint64_t random;
    long frames, bytes;
} Viewer;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t chance(Viewer *v) {
    v->random ^= v->random << 13, v->random ^= v->random >> 7, v->random ^= v->random << 17;
    return v->random;
}

static void give_up(const char *why) {
    fprintf(stderr, "live-client: %s\n", why);
    exit(1);
}

// ------------------------------------------------------------------------------------- sockets

static bool reach(Viewer *v) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)v->port)};
    inet_pton(AF_INET, strcmp(v->host, "localhost") ? v->host : "127.0.0.1", &to.sin_addr);
    if (v->socket >= 0) close(v->socket);
    v->socket = socket(AF_INET, SOCK_STREAM, 0);
    v->closed = false;
    struct timeval wait = {10, 0};
    setsockopt(v->socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(v->socket, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    setsockopt(v->socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return connect(v->socket, (struct sockaddr *)&to, sizeof to) == 0;
}

static bool put(Viewer *v, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = send(v->socket, at, size, MSG_NOSIGNAL);
        if (n <= 0) return false;
        at += n, size -= (size_t)n;
    }
    return true;
}

static bool get(Viewer *v, void *bytes, size_t size) {
    char *at = bytes;
    while (size > 0) {
        ssize_t n = recv(v->socket, at, size, 0);
        if (n <= 0) return false;
        at += n, size -= (size_t)n;
    }
    return true;
}

/// The head of an answer; returns its status.
static int get_head(Viewer *v, char *head, size_t room) {
    size_t n = 0;
    while (n + 1 < room && get(v, head + n, 1)) {
        n++;
        if (n > 3 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0) break;
    }
    head[n] = 0;
    return n > 12 ? atoi(head + 9) : 0;
}

static bool ask(Viewer *v, const char *path, const char *more) {
    char text[4096], host[128] = "", origin[128] = "";
    if (!v->no_host) snprintf(host, sizeof host, "Host: %s:%d\r\n", v->host, v->port);
    if (!v->no_origin && *more)
        snprintf(origin, sizeof origin, "Origin: http://%s:%d\r\n", v->host, v->port);
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n%s%s%s%s\r\n", path, host, origin, v->extra,
             more);
    return reach(v) && put(v, text, strlen(text));
}

// ---------------------------------------------------------------------------------- WebSocket

static int open_socket(Viewer *v) {
    char path[160], head[4096];
    snprintf(path, sizeof path, "/live?token=%s", v->token);
    if (!ask(v, path,
             "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\nSec-WebSocket-Protocol: brim\r\n"))
        return -1;
    return get_head(v, head, sizeof head);
}

/// A frame of the protocol, masked with zeros.
static bool put_frame(Viewer *v, int first, const void *bytes, size_t size) {
    unsigned char head[14] = {(unsigned char)first};
    size_t n = 2;
    head[1] = (unsigned char)(0x80 | (size < 126 ? size : 126));
    if (size >= 126) head[2] = (unsigned char)(size >> 8), head[3] = (unsigned char)size, n = 4;
    memset(head + n, 0, 4);
    return put(v, head, n + 4) && put(v, bytes, size);
}

static bool say(Viewer *v, const char *text) {
    return put_frame(v, 0x81, text, strlen(text));
}

/// The next message in full; answers pings. False when the connection is over.
static bool hear(Viewer *v) {
    v->size = 0;
    for (;;) {
        unsigned char head[2], more[8];
        if (!get(v, head, 2)) return false;
        uint64_t size = head[1] & 0x7f;
        int extra = size == 126 ? 2 : size == 127 ? 8 : 0;
        if (!get(v, more, (size_t)extra)) return false;
        if (extra) size = 0;
        for (int i = 0; i < extra; i++) size = size << 8 | more[i];
        if (v->size + size + 1 > v->capacity) {
            v->capacity = 2 * (v->size + size + 1);
            v->message = realloc(v->message, v->capacity);
            if (!v->message) give_up("out of memory");
        }
        if (!get(v, v->message + v->size, size)) return false;
        int kind = head[0] & 15;
        if (kind == 8) return false;
        if (kind == 9) {
            put_frame(v, 0x8a, v->message + v->size, size);
            continue;
        }
        if (kind == 1 || kind == 2) v->text = kind == 1;
        v->size += size;
        v->message[v->size] = 0;
        if (head[0] & 0x80) return true;
    }
}

static uint32_t word_at(const Viewer *v, size_t at) {
    uint32_t word = 0;
    if (at + 4 <= v->size) memcpy(&word, v->message + at, 4);
    return word;
}

static bool is_frame(const Viewer *v) {
    return !v->text && v->size >= 64 && v->message[4] != 3;
}

static void acknowledge(Viewer *v) {
    char text[32];
    snprintf(text, sizeof text, "got %u", word_at(v, 8));
    say(v, text);
    v->frames++, v->bytes += (long)v->size;
}

static void print_frame(const Viewer *v) {
    double time;
    memcpy(&time, v->message + 16, sizeof time);
    printf("frame kind %d serial %u step %u time %.9g count %u runs %u bytes %zu\n", v->message[4],
           word_at(v, 8), word_at(v, 12), time, word_at(v, 32), word_at(v, 36), v->size);
}

/// Whether something comes within so many seconds.
static bool comes(Viewer *v, double seconds) {
    struct pollfd p = {v->socket, POLLIN, 0};
    return seconds > 0 && poll(&p, 1, (int)(1000 * seconds)) > 0;
}

// ------------------------------------------------------------------------------------- actions

static void take_frames(Viewer *v, long count) {
    for (long n = 0; n < count;) {
        if (!hear(v)) give_up("the connection ended before the frames came");
        if (!is_frame(v)) continue;
        print_frame(v);
        acknowledge(v);
        n++;
    }
}

static void take_step(Viewer *v, uint32_t step) {
    double end = now() + 10;
    while (comes(v, end - now()) && hear(v)) {
        if (v->text) printf("%s\n", (char *)v->message);
        if (!is_frame(v)) continue;
        print_frame(v);
        acknowledge(v);
        if (word_at(v, 12) == step) return;
    }
    give_up("no frame of that step came");
}

static void take_texts(Viewer *v, double seconds, const char *until) {
    double end = now() + seconds;
    while (comes(v, end - now())) {
        if (!hear(v)) {
            puts("closed");
            return;
        }
        if (is_frame(v)) acknowledge(v);
        if (!v->text) continue;
        printf("%s\n", (char *)v->message);
        if (until && strstr((char *)v->message, until)) return;
    }
    if (until) give_up("that text did not come");
}

static void fetch(Viewer *v, const char *path) {
    char head[8192], byte;
    long body = 0;
    if (!ask(v, path, "")) give_up("no connection");
    int status = get_head(v, head, sizeof head);
    char *length = strstr(head, "content-length: ");
    long wanted = length ? atol(length + 16) : 0;
    while (body < wanted && get(v, &byte, 1)) body++;
    printf("%d\n%sbody %ld\n", status, head, body);
}

static void flood(Viewer *v, double seconds) {
    long sent = 0, shut = 0;
    char text[32];
    for (double end = now() + seconds; now() < end;) {
        if (open_socket(v) != 101) {
            shut++;
            usleep(10000);
            continue;
        }
        while (now() < end) {
            snprintf(text, sizeof text, "speed %ld", sent % 7);
            if (!say(v, text)) break;
            sent++;
        }
        shut++;
    }
    printf("flooded %ld messages, shut out %ld times\n", sent, shut);
}

static void rubbish(Viewer *v, double seconds) {
    unsigned char bytes[700];
    long sent = 0;
    for (double end = now() + seconds; now() < end; sent++) {
        size_t size = chance(v) % sizeof bytes;
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)chance(v);
        bool raw = chance(v) % 3 == 0; // no WebSocket at all
        if (raw ? !reach(v) : open_socket(v) != 101) {
            usleep(10000);
            continue;
        }
        if (raw || chance(v) % 3 == 0)
            put(v, bytes, size);
        else
            put_frame(v, (int)(chance(v) & 0x8f), bytes, size < 500 ? size : 500);
        comes(v, 0.01);
    }
    printf("%ld pieces of rubbish\n", sent);
}

static float solid_x(const Viewer *v) {
    enum { HEAD = 64, X = 4 + 9 * 4 }; // present, rotation, position: cli/live/frame.h
    float x;
    memcpy(&x, v->message + HEAD + X, sizeof x);
    return x;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Moves solid 0 to and fro; a second for each time, at most.
static void latency(Viewer *v, long count) {
    enum { MOST = 1000 };
    double took[MOST];
    long n = 0;
    if (count < 1 || count > MOST) give_up("latency needs 1 to 1000");
    for (long k = 0; k < count; k++) {
        char text[80];
        float before = NAN;
        while (comes(v, 0.3) && hear(v)) // frames on their way, until one is there
            if (is_frame(v)) {
                before = solid_x(v);
                acknowledge(v);
                break;
            }
        snprintf(text, sizeof text, "move 0 %g 0 0 0 0 0 0.01", k % 2 ? 0.0 : 0.05);
        double start = now();
        if (!say(v, text)) give_up("the connection is lost");
        while (now() < start + 1 && comes(v, 1) && hear(v)) {
            if (!is_frame(v)) continue;
            bool moved = fabsf(solid_x(v) - before) > 1e-5f;
            acknowledge(v);
            if (!moved) continue;
            took[n++] = 1000 * (now() - start);
            break;
        }
        usleep(150000); // it comes to rest
        while (comes(v, 0.001) && hear(v))
            if (is_frame(v)) acknowledge(v);
    }
    if (!n) give_up("no frame showed the solid elsewhere");
    qsort(took, (size_t)n, sizeof *took, by_size);
    printf("latency of %ld moves: least %.1f, median %.1f, longest %.1f ms\n", n, took[0],
           took[n / 2], took[n - 1]);
}

static void seeks(Viewer *v, long count) {
    double took[1000];
    uint32_t frames = 0, at = 0;
    if (count < 1 || count > 1000) give_up("seeks needs 1 to 1000");
    while (!frames && comes(v, 5) && hear(v))
        if (is_frame(v)) at = word_at(v, 52), frames = word_at(v, 56), acknowledge(v);
    if (frames < 2) give_up("no frames to seek among");
    for (long k = 0; k < count; k++) {
        char text[32];
        uint32_t to = (uint32_t)((at + 1 + chance(v) % (frames - 1)) % frames); // another one
        snprintf(text, sizeof text, "seek %u", to);
        double start = now();
        bool there = false;
        if (!say(v, text)) give_up("the connection is lost");
        while (!there && comes(v, 10) && hear(v)) {
            if (!is_frame(v)) continue;
            there = word_at(v, 52) == to;
            acknowledge(v);
        }
        if (!there) give_up("a frame did not come");
        took[k] = 1000 * (now() - start);
        at = to;
    }
    qsort(took, (size_t)count, sizeof *took, by_size);
    printf("%ld seeks among %u frames: median %.1f, longest %.1f ms\n", count, frames,
           took[count / 2], took[count - 1]);
}

static void measure(Viewer *v, double seconds) {
    long frames = v->frames, bytes = v->bytes;
    uint32_t first = 0, last = 0, count = 0;
    size_t size = 0; // of the last frame
    double start = now(), end = start + seconds;
    while (comes(v, end - now()) && hear(v)) {
        if (!is_frame(v)) continue;
        last = word_at(v, 12), count = word_at(v, 32), size = v->size;
        if (!first) first = last;
        acknowledge(v);
    }
    double took = now() - start;
    printf("measure frames %ld bytes %ld seconds %.3f steps %u particles %u frames_a_second %.1f "
           "steps_a_second %.2f bytes_a_particle %.3f\n",
           v->frames - frames, v->bytes - bytes, took, last - first, count,
           (double)(v->frames - frames) / took, (double)(last - first) / took,
           count ? (double)size / count : 0);
}

static void add_header(Viewer *v, const char *line) {
    size_t n = strlen(line);
    if (strcmp(line, "Origin:") == 0) v->no_origin = true;
    if (strcmp(line, "Host:") == 0) v->no_host = true;
    if (n && line[n - 1] == ':') return;
    if (strncmp(line, "Origin:", 7) == 0) v->no_origin = true;
    if (strncmp(line, "Host:", 5) == 0) v->no_host = true;
    strncat(v->extra, line, sizeof v->extra - strlen(v->extra) - 3);
    strcat(v->extra, "\r\n");
}

static void act(Viewer *v, const char *what, const char *with) {
    if (strcmp(what, "get") == 0)
        fetch(v, with);
    else if (strcmp(what, "header") == 0)
        add_header(v, with);
    else if (strcmp(what, "send") == 0)
        say(v, with);
    else if (strcmp(what, "frames") == 0)
        take_frames(v, atol(with));
    else if (strcmp(what, "step") == 0)
        take_step(v, (uint32_t)atol(with));
    else if (strcmp(what, "until") == 0)
        take_texts(v, 10, with);
    else if (strcmp(what, "texts") == 0)
        take_texts(v, atof(with), NULL);
    else if (strcmp(what, "stall") == 0)
        usleep((useconds_t)(1e6 * atof(with)));
    else if (strcmp(what, "flood") == 0)
        flood(v, atof(with));
    else if (strcmp(what, "rubbish") == 0)
        rubbish(v, atof(with));
    else if (strcmp(what, "latency") == 0)
        latency(v, atol(with));
    else if (strcmp(what, "seeks") == 0)
        seeks(v, atol(with));
    else if (strcmp(what, "measure") == 0)
        measure(v, atof(with));
    else
        give_up("no such thing to do");
    fflush(stdout);
}

int main(int argc, char **argv) {
    Viewer v = {.socket = -1, .random = 0x9e3779b97f4a7c15u ^ (uint64_t)getpid()};
    if (argc < 2 || sscanf(argv[1], "http://%63[^:]:%d/#%79s", v.host, &v.port, v.token) != 3)
        give_up("needs the address that brim live prints");
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "open") == 0) {
            int status = open_socket(&v);
            if (status == 101)
                puts("open");
            else
                printf("refused %d\n", status);
            fflush(stdout);
        } else if (i + 1 < argc) {
            act(&v, argv[i], argv[i + 1]);
            i++;
        } else {
            give_up("what to do lacks its value");
        }
    }
    free(v.message);
    return 0;
}
