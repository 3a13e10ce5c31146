// Where pre-computed bodies are kept, by content.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// What decides a body's pre-computation.
typedef struct BodyKey {
    uint64_t hash[2];
} BodyKey;

typedef struct BodyStore {
    const BodyKey *key; ///< [bodies]
    void *context;
    /// The bytes that were kept, to be freed; NULL when there are none.
    uint8_t *(*get)(void *context, const BodyKey *key, size_t *size);
    /// Keeps bytes. A store that cannot keeps nothing: the next run computes again.
    void (*put)(void *context, const BodyKey *key, const uint8_t *bytes, size_t size);
} BodyStore;
