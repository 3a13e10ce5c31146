// A build for tests, -DBRIM_GUARD: every field has pages of its own, and a stage that touches a
// field which it does not declare, or one that is dead, ends the program with a message. In other
// builds all this is nothing, and fields share memory.
#pragma once
#include "base/memory.h"
#include "step/fields.h"
#include <stdlib.h>

#ifdef BRIM_GUARD

enum { GUARD_SHARES = 0 };
/// Memory of a field, on pages of its own.
void *guard_new(size_t bytes);
void guard_free(void *at);
/// Until guard_close all fields may be touched: they are moved.
void guard_open(const BrimSim *s);
void guard_close(const BrimSim *s);
/// From here on what the stage declares may be touched; fields that are dead in it lose their
/// values.
void guard_enter(BrimSim *s);
/// The simulation is no more.
void guard_leave(const BrimSim *s);

#else

enum { GUARD_SHARES = 1 };
static inline void *guard_new(size_t bytes) {
    return memory_new(bytes);
}
static inline void guard_free(void *at) {
    free(at);
}
static inline void guard_open(const BrimSim *s) {
    (void)s;
}
static inline void guard_close(const BrimSim *s) {
    (void)s;
}
static inline void guard_enter(BrimSim *s) {
    (void)s;
}
static inline void guard_leave(const BrimSim *s) {
    (void)s;
}

#endif
