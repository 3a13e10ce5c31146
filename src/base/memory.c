#include "base/memory.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *memory_new(size_t bytes) {
    if (bytes > SIZE_MAX - 64) return NULL;
    size_t rounded = (bytes + 63) & ~(size_t)63;
    return aligned_alloc(64, rounded ? rounded : 64);
}

void *memory_zero(size_t bytes) {
    void *p = memory_new(bytes);
    if (p) memset(p, 0, bytes);
    return p;
}

bool memory_grow(void **array, size_t *capacity, size_t element, size_t count, size_t keep) {
    if (count <= *capacity) return true;
    size_t larger = *capacity + *capacity / 2;
    size_t wanted = count > larger ? count : larger;
    if (wanted > SIZE_MAX / element) return false;
    void *p = memory_new(wanted * element);
    if (!p) return false;
    if (keep) memcpy(p, *array, keep * element);
    free(*array);
    *array = p;
    *capacity = wanted;
    return true;
}
