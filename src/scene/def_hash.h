#pragma once
#include "brim/brim.h"

/// Hash of all in a def that decides the result. Left out: duration and output, so that a run can
/// be prolonged, and threads, isa and memory_limit, which change no bit. Files count by content.
uint64_t def_hash(const BrimSimDef *def);
