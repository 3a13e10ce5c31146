// Aligned arrays that know how to grow.
#pragma once
#include <stdbool.h>
#include <stddef.h>

/// 64-byte aligned, uninitialised; NULL when out of memory. Release with free().
void *memory_new(size_t bytes);
/// 64-byte aligned, zeroed.
void *memory_zero(size_t bytes);

/// Makes room for `count` elements in *array, which holds *capacity of them and keeps its first
/// `keep` elements. Grows by half so that a slowly growing array is not copied at every step.
/// False when out of memory: *array is then as it was.
bool memory_grow(void **array, size_t *capacity, size_t element, size_t count, size_t keep);

/// Makes room for `count` elements in *array, which holds *capacity of them; what it held is lost.
/// For large arrays that are written anew each time: grows by little and never needs room for two.
/// False when out of memory: *array is then NULL and *capacity 0.
bool memory_fit(void **array, size_t *capacity, size_t element, size_t count);

/// How many of something large to make room for when there are more of them than ever: a sixteenth
/// in reserve, but none the first time.
static inline size_t memory_reserve(size_t capacity, size_t count) {
    return count <= capacity ? capacity : capacity ? count + count / 16 : count;
}

/// Whether so much more is there than needed that it is worth giving back; never of a few things.
static inline bool memory_spare(size_t capacity, size_t count) {
    return capacity > 64 && count + count / 8 < capacity;
}

/// Gives back what `count` elements do not need, when that is much; keeps them. Without room to
/// move to *array stays as it was.
void memory_shrink(void **array, size_t *capacity, size_t element, size_t count);

/// Gives an array back that is much larger than `count` elements need; what it held is lost. For
/// those that memory_fit makes again.
void memory_drop(void **array, size_t *capacity, size_t count);

/// Floats that several users take turns with: none of them finds there what it left.
typedef struct WorkMemory {
    float *at;
    size_t capacity;
    size_t wanted; ///< the most since work_release
} WorkMemory;

/// Makes room for `count` floats. False when out of memory.
bool work_fit(WorkMemory *work, size_t count);
/// Gives all back when much less was wanted since the last call.
void work_release(WorkMemory *work);
