// Rows of eight cells as vectors, and the choice of instruction set at run time.
//
// A file named x.simd.c is compiled once for each instruction set with BRIM_ISA_SUFFIX set to
// _base, _avx2 or _avx512 (on other processors than x86-64 only _base). Its functions are static
// but for one table of function pointers, named with ISA(...), from which the caller picks.
// No fused multiply-add (-ffp-contract=off) and no reordering of sums: the result is the same bits
// on every instruction set.
#pragma once
#include "brim/brim.h"
#include <stdint.h>

#define BRIM_CONCAT_(a, b) a##b
#define BRIM_CONCAT(a, b) BRIM_CONCAT_(a, b)
#define ISA(name) BRIM_CONCAT(name, BRIM_ISA_SUFFIX)

/// Four and eight floats; loads and stores need no alignment.
typedef float f4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t i8x __attribute__((vector_size(32), aligned(4), may_alias));

/// Declares the tables NAME_base, NAME_avx2, NAME_avx512 of type TYPE and NAME_for(isa).
#if defined(__x86_64__)
#define BRIM_KERNELS(TYPE, NAME)                               \
    extern const TYPE NAME##_base, NAME##_avx2, NAME##_avx512; \
    static inline const TYPE *NAME##_for(BrimIsa isa) {        \
        return isa == BRIM_ISA_AVX512 ? &NAME##_avx512         \
               : isa == BRIM_ISA_AVX2 ? &NAME##_avx2           \
                                      : &NAME##_base;          \
    }
#else
#define BRIM_KERNELS(TYPE, NAME)                        \
    extern const TYPE NAME##_base;                      \
    static inline const TYPE *NAME##_for(BrimIsa isa) { \
        (void)isa;                                      \
        return &NAME##_base;                            \
    }
#endif

/// The best instruction set of this processor that is not better than `wanted`.
BrimIsa isa_choose(BrimIsa wanted);
const char *isa_name(BrimIsa isa);
