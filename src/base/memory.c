#include "base/memory.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, LARGE = 32 * PAGE };

/// Asks for huge pages. A step walks through dozens of large arrays tile by tile: with small pages
/// it would wait for the table of pages as much as for the data. Arrays that lie side by side can
/// share a huge page, so the whole of each is named.
static void wish_huge_pages(void *p, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    uintptr_t first = (uintptr_t)p & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)p + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    // Where it cannot be had everything works the same.
    (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)p, (void)bytes;
#endif
}

void *memory_new(size_t bytes) {
    if (bytes > SIZE_MAX - 64) return NULL;
    size_t rounded = (bytes + 63) & ~(size_t)63;
    void *p = aligned_alloc(64, rounded ? rounded : 64);
    if (p && rounded >= LARGE) wish_huge_pages(p, rounded);
    return p;
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

void memory_shrink(void **array, size_t *capacity, size_t element, size_t count) {
    size_t wanted = count + count / 16;
    void *p = memory_spare(*capacity, count) ? memory_new(wanted * element) : NULL;
    if (!p) return;
    memcpy(p, *array, count * element);
    free(*array);
    *array = p;
    *capacity = wanted;
}

void memory_drop(void **array, size_t *capacity, size_t count) {
    if (!memory_spare(*capacity, count)) return;
    free(*array);
    *array = NULL;
    *capacity = 0;
}

bool memory_fit(void **array, size_t *capacity, size_t element, size_t count) {
    if (count <= *capacity) return true;
    size_t wanted = memory_reserve(*capacity, count);
    free(*array);
    *array = wanted > SIZE_MAX / element ? NULL : memory_new(wanted * element);
    *capacity = *array ? wanted : 0;
    return *array != NULL;
}

bool work_fit(WorkMemory *work, size_t count) {
    if (count > work->wanted) work->wanted = count;
    return memory_fit((void **)&work->at, &work->capacity, sizeof(float), count);
}

void work_release(WorkMemory *work) {
    if (memory_spare(work->capacity, work->wanted)) {
        free(work->at);
        *work = (WorkMemory){0};
    }
    work->wanted = 0;
}
