// A team of threads that works through loops.
//
// What is parallel: the items of one team_for, in any order and at the same time. A task may write
// what belongs to its item, read what no other item of the loop writes, and use the scratch of the
// thread that it is given. Loops follow one another: a loop begins when all items of the one before
// it are done.
//
// In which order sums are taken: never in the order in which threads come. A float sum is a value
// for each item, in an array, added by the caller in the order of the items; whole numbers and
// largest values, for which order is nothing, may be gathered by team_add and team_raise. So the
// result is the same bits for any number of threads.
//
// Waiting: each thread has a share of the items, the same in each loop over as many, so that it
// finds them in its cache; who has finished helps the others. A loop is over when its items are
// done, not when its threads have come: one that lost its core, or sleeps still, is not waited for
// unless it holds an item. Who waits spins for some microseconds and sleeps then. Where threads are
// seen to lose their cores the team works with fewer of them, and tries again from time to time.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct Team Team;

/// Works on one item. thread: 0 .. team_threads - 1, no other task of the team has it at this time.
typedef void TeamTask(void *context, int index, int thread);

/// Cores that this process may use: those of its affinity mask, no more than its control groups'
/// quota of processor time; at least 1.
int team_cores(void);
/// That quota, from a list of groups as in /proc/self/cgroup and the folder in which they are
/// mounted; INT_MAX without one.
int team_quota(const char *list, const char *mount);

/// As many threads as asked for, but no more than there are cores; 0: one for each core.
int team_size(int asked);

/// A team of `threads`, the caller's included; fewer where the system gives no more. NULL when out
/// of memory. Signals are blocked in its threads.
Team *team_new(int threads);
void team_free(Team **team);
/// Threads, the caller's included; 1 for NULL, which stands for the caller alone.
int team_threads(const Team *team);

/// Runs the task for each index in [0, count) and returns when all are done. Each thread gets at
/// least `grain` items, or there are fewer threads: about as many as take 20 microseconds. Called
/// within a task of the same team it runs on that task's thread; another thread of the host waits
/// until the team is free.
void team_for(Team *team, int count, int grain, TeamTask *task, void *context);

/// Parts of a long array that are an item each.
static inline int team_parts(size_t count, size_t part) {
    return (int)((count + part - 1) / part);
}

/// A count and a largest value to which the tasks of a loop add.
typedef _Atomic int64_t TeamCount;
typedef _Atomic uint32_t TeamLargest;

static inline void team_add(TeamCount *count, int64_t value) {
    if (value) atomic_fetch_add_explicit(count, value, memory_order_relaxed);
}

/// The larger of |value| and what is there; what is not a number is the largest and stays.
static inline void team_raise(TeamLargest *largest, float value) {
    // As bits floats that are not negative compare as their values do, and those that are not
    // numbers come last.
    uint32_t bits, now = atomic_load_explicit(largest, memory_order_relaxed);
    memcpy(&bits, &value, sizeof bits);
    bits &= 0x7fffffff;
    while (bits > now && !atomic_compare_exchange_weak_explicit(
                             largest, &now, bits, memory_order_relaxed, memory_order_relaxed)) {
    }
}

static inline float team_largest(TeamLargest *largest) {
    uint32_t bits = atomic_load_explicit(largest, memory_order_relaxed);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// The larger of two values, one after the other; what is not a number is the largest and stays.
static inline double larger_of(double most, double value) {
    return value > most || value != value ? value : most;
}
