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
