// Errors as values: every function that can fail returns a BrimResult and fills a BrimError.
#pragma once
#include "brim/brim.h"

/// Fills *error (when not NULL) and returns `result`, so that callers write `return fail(...)`.
BrimResult fail(BrimError *error, BrimResult result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Leaves a public function with a message when a pointer that it needs is NULL.
#define NEED(POINTER, ERROR)                                                            \
    do {                                                                                \
        if (!(POINTER))                                                                 \
            return fail(ERROR, BRIM_ERROR_INPUT, "%s: %s is NULL", __func__, #POINTER); \
    } while (0)
