// Hashes: random numbers as a function of (seed, id, step), and checksums.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Mixes 64 bits so that each input bit changes half of the output bits (splitmix64's finaliser).
static inline uint64_t hash_mix(uint64_t h) {
    h ^= h >> 30, h *= 0xbf58476d1ce4e5b9u;
    h ^= h >> 27, h *= 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

static inline uint64_t hash_3(uint64_t seed, uint64_t id, uint64_t step) {
    return hash_mix(hash_mix(hash_mix(seed + 0x9e3779b97f4a7c15u) ^ id) ^
                    (step << 32 | step >> 32));
}

/// Uniform in [0, 1), 24 bits, from bits [24 k, 24 k + 24) of a hash; k = 0 or 1.
static inline float hash_unit(uint64_t h, int k) {
    return (float)((h >> (24 * k)) & 0xffffffu) * 0x1p-24f;
}

/// 64-bit checksum of bytes; `h` is 0 or the checksum of what came before.
uint64_t hash_bytes(uint64_t h, const void *data, size_t size);
