#include "base/hash.h"
#include <string.h>

uint64_t hash_bytes(uint64_t h, const void *data, size_t size) {
    const unsigned char *p = data;
    // Four lanes keep the multiplier busy; the tail and the length go in last.
    uint64_t a = h ^ 0x9e3779b97f4a7c15u, b = h + 0xc2b2ae3d27d4eb4fu, c = ~h, d = h ^ size;
    size_t n = size;
    for (; n >= 32; n -= 32, p += 32) {
        uint64_t w[4];
        memcpy(w, p, 32);
        a = (a ^ w[0]) * 0x9fb21c651e98df25u, a ^= a >> 32;
        b = (b ^ w[1]) * 0xd6e8feb86659fd93u, b ^= b >> 32;
        c = (c ^ w[2]) * 0xa0761d6478bd642fu, c ^= c >> 32;
        d = (d ^ w[3]) * 0xe7037ed1a0b428dbu, d ^= d >> 32;
    }
    unsigned char tail[32] = {0};
    if (n) memcpy(tail, p, n);
    uint64_t w[4];
    memcpy(w, tail, 32);
    a = hash_mix(a ^ w[0]), b = hash_mix(b ^ w[1]), c = hash_mix(c ^ w[2]), d = hash_mix(d ^ w[3]);
    return hash_mix(a ^ hash_mix(b ^ hash_mix(c ^ hash_mix(d + size))));
}
