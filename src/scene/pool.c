#include "scene/pool.h"
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct PoolChunk {
    struct PoolChunk *next;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
} PoolChunk;

enum { CHUNK_BYTES = 16 * 1024 };

static PoolChunk *chunk_with_room(Pool *pool, size_t bytes) {
    if (pool->chunks && pool->chunks->size - pool->chunks->used >= bytes) return pool->chunks;
    size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
    PoolChunk *chunk = calloc(1, sizeof *chunk + size);
    if (!chunk) return NULL;
    chunk->size = size;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    return chunk;
}

void *pool_new(Pool *pool, size_t count, size_t size) {
    if (size && count > (SIZE_MAX / 2) / size) return NULL;
    size_t align = alignof(max_align_t);
    size_t bytes = (count * size + align - 1) / align * align;
    PoolChunk *chunk = chunk_with_room(pool, bytes);
    if (!chunk) return NULL;
    void *p = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return p;
}

char *pool_text(Pool *pool, const char *text, size_t length) {
    if (length == SIZE_MAX) return NULL;
    char *copy = pool_new(pool, length + 1, 1);
    if (copy && length) memcpy(copy, text, length);
    return copy;
}

void pool_free(Pool *pool) {
    for (PoolChunk *chunk = pool->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    pool->chunks = NULL;
}
