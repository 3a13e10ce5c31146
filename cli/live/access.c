#include "live/access.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

bool access_token(char token[TOKEN_LENGTH + 1]) {
    unsigned char random[TOKEN_LENGTH / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return false;
    for (size_t i = 0; i < sizeof random; i++) snprintf(token + 2 * i, 3, "%02x", random[i]);
    return true;
}

bool access_is_loopback(const char *address) {
    return strcmp(address, "127.0.0.1") == 0 || strcmp(address, "localhost") == 0;
}

void access_hosts(Access *a, const char *address, int port) {
    static const char *const own[] = {"127.0.0.1", "localhost"};
    a->host_count = 0;
    if (address && !access_is_loopback(address)) {
        snprintf(a->host[a->host_count++], HOST_LONGEST, "%s:%d", address, port);
        return;
    }
    for (int i = 0; i < 2; i++)
        snprintf(a->host[a->host_count++], HOST_LONGEST, "%s:%d", own[i], port);
}

bool access_host(const Access *a, const char *host) {
    for (int i = 0; i < a->host_count; i++)
        if (strcmp(a->host[i], host) == 0) return true;
    return false;
}

bool access_origin(const Access *a, const char *host, const char *origin) {
    static const char scheme[] = "http://";
    return access_host(a, host) && strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
           strcmp(origin + sizeof scheme - 1, host) == 0;
}

bool access_is_token(const Access *a, const char *token) {
    size_t length = strlen(a->token), given = strlen(token);
    unsigned different = length != given || length == 0;
    for (size_t i = 0; i < length; i++)
        different |= (unsigned char)a->token[i] ^ (unsigned char)token[given ? i % given : 0];
    return !different;
}

bool bucket_take(Bucket *b, double now, double amount) {
    b->left += (now - b->filled) * b->rate;
    b->filled = now;
    if (b->left > b->burst) b->left = b->burst;
    if (b->left < amount) return false;
    b->left -= amount;
    return true;
}
