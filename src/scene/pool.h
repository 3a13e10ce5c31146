// Memory that is released all at once: what a scene, or the tree of its text, is made of.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef struct Pool {
    struct PoolChunk *chunks;
} Pool;

/// Zeroed, aligned for any type; NULL when out of memory.
void *pool_new(Pool *pool, size_t count, size_t size);
/// A copy that ends in a zero byte; NULL when out of memory.
char *pool_text(Pool *pool, const char *text, size_t length);
void pool_free(Pool *pool);
