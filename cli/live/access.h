// Who may come in, and how fast.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { TOKEN_LENGTH = 32, HOSTS_MOST = 4, HOST_LONGEST = 128 };

typedef struct Access {
    char token[64];
    char host[HOSTS_MOST][HOST_LONGEST]; ///< "127.0.0.1:8080": what a browser may have typed
    int host_count;
} Access;

/// A token of 128 random bits, in hexadecimal. False when the system gives none.
bool access_token(char token[TOKEN_LENGTH + 1]);
/// Names under which a server on an address and port is reached; NULL: this machine alone.
void access_hosts(Access *access, const char *address, int port);
bool access_host(const Access *access, const char *host);
/// Whether a page that this server itself served asks: the origin is exactly that of the host.
bool access_origin(const Access *access, const char *host, const char *origin);
/// Compares in a time that does not tell where they differ.
bool access_is_token(const Access *access, const char *token);
/// Whether an address is that of this machine, for itself alone.
bool access_is_loopback(const char *address);

/// Lets `rate` a second through, and `burst` at once.
typedef struct Bucket {
    double rate, burst, left, filled;
} Bucket;
bool bucket_take(Bucket *bucket, double now, double amount);
