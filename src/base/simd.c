#include "base/simd.h"

BrimIsa isa_choose(BrimIsa wanted) {
    if (wanted == BRIM_ISA_AUTO) wanted = BRIM_ISA_AVX512;
#if defined(__x86_64__)
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (wanted >= BRIM_ISA_AVX512 && avx512) return BRIM_ISA_AVX512;
    if (wanted >= BRIM_ISA_AVX2 && __builtin_cpu_supports("avx2")) return BRIM_ISA_AVX2;
#endif
    return BRIM_ISA_BASE;
}

const char *isa_name(BrimIsa isa) {
    return isa == BRIM_ISA_AVX512 ? "avx512" : isa == BRIM_ISA_AVX2 ? "avx2" : "base";
}
