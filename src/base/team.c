#include "base/team.h"
#include "base/memory.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A loop is numbered. The items that nobody has taken of a thread's share are in its ticket, with
// the loop's number: whoever lowers the ticket has the items. That succeeds only while the loop of
// that number has items left, so it is not over, and what was read of it before holds: nobody needs
// to be told that late-comers have gone.

enum {
    /// Who waits looks for this long before it sleeps, ns: about what sleeping and waking costs.
    SPIN = 30000,
    /// The end of a loop came late when the caller waited longer than this for the last items, ns,
    /// and longer than so many times the longest TIMED takes in a row of its own: some items take
    /// long.
    LATE = 100000,
    LATE_TAKES = 2,
    TIMED = 4,
    /// Over so long the time that late loops took is summed, ns.
    WINDOW = 25000000,
    /// After so long one thread more is tried, ns: first, and at most.
    TRY_FIRST = 50000000,
    TRY_MOST = 2000000000,
};

/// One thread of the team and its share of the loop's items.
typedef struct Seat {
    _Alignas(64) _Atomic uint64_t ticket; ///< loop << 32 | items of the share not yet taken
    Team *team;
    pthread_t id;
    int index;
} Seat;

struct Team {
    int threads; ///< seats in use
    pid_t process;
    pthread_mutex_t entry;    ///< held while a loop runs
    _Atomic pthread_t caller; ///< who runs it, 0: nobody
    uint32_t number;          ///< of loops so far

    // How many threads there is use for; by the caller alone.
    int64_t window; ///< begin of the window, ns of CLOCK_MONOTONIC
    int64_t late;   ///< ns that were lost in it
    int64_t try_at; ///< ns, when one thread more shall be tried
    int64_t try_after;

    /// The loop. Written by the caller while no loop runs, read at any time.
    _Alignas(64) _Atomic uint32_t loop; ///< its number; sleeping threads wait for it to change
    _Atomic(TeamTask *) task;
    _Atomic(void *) context;
    atomic_int count, shares;
    atomic_int most; ///< items that may be taken at a time
    atomic_bool quit;
    _Atomic uint32_t limit; ///< threads at work; those beyond it wait for it to change
    _Alignas(64) atomic_int sleepers;
    /// Items that are done; the caller may sleep until it changes.
    _Alignas(64) _Atomic uint32_t done;
    atomic_bool caller_sleeps;
    Seat seat[];
};

// -------------------------------------------------------------------------------------- waiting

static void futex_wait(_Atomic uint32_t *at, uint32_t value) {
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *at, int threads) {
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/// Looks at a value until it changes from one, or becomes another; false after a while.
static bool spin(_Atomic uint32_t *at, bool change, uint32_t value) {
    int64_t end = 0;
    for (int round = 0;; round++) {
        for (int i = 0; i < 16; i++) {
            if ((atomic_load_explicit(at, memory_order_acquire) != value) == change) return true;
            pause_core();
        }
        int64_t time = now();
        if (round == 0) end = time + SPIN;
        if (time > end) return false;
    }
}

// ----------------------------------------------------------------------------------------- work

/// Items of a share: contiguous, in order.
static int share_end(int count, int share, int shares) {
    return (int)((int64_t)count * (share + 1) / shares);
}

/// Takes some items of a share, at most so many: a quarter of those left, one by one at the end.
/// Returns how many.
static int take(Seat *seat, uint32_t loop, int most, int *left) {
    uint64_t ticket = atomic_load_explicit(&seat->ticket, memory_order_acquire);
    for (;;) {
        *left = (int)(uint32_t)ticket;
        if ((uint32_t)(ticket >> 32) != loop || *left == 0) return 0;
        int some = 1 + (*left - 1) / 4;
        if (some > most) some = most;
        if (atomic_compare_exchange_weak_explicit(&seat->ticket, &ticket, ticket - (uint32_t)some,
                                                  memory_order_acquire, memory_order_acquire))
            return some;
    }
}

/// The clock of the caller while it works: the time of the longest TIMED takes in a row. It is not
/// read after each, as the lightest items take no longer than that.
typedef struct Pace {
    int64_t from, longest; ///< ns
    int takes;
} Pace;

static void pace_keep(Pace *p, int takes) {
    if (++p->takes < takes) return;
    int64_t time = now();
    if (time - p->from > p->longest) p->longest = time - p->from;
    p->from = time, p->takes = 0;
}

/// Works on the loop, first on the thread's own share. => done; pace: of the caller, or NULL
static void work(Team *t, uint32_t loop, int thread, Pace *pace) {
    TeamTask *task = atomic_load_explicit(&t->task, memory_order_relaxed);
    void *context = atomic_load_explicit(&t->context, memory_order_relaxed);
    int count = atomic_load_explicit(&t->count, memory_order_relaxed);
    int shares = atomic_load_explicit(&t->shares, memory_order_relaxed);
    int most = atomic_load_explicit(&t->most, memory_order_relaxed);
    uint32_t finished = 0;
    if (shares > t->threads) return;
    for (int k = 0; k < shares; k++) {
        int share = (thread + k) % shares;
        for (int left, some; (some = take(&t->seat[share], loop, most, &left)) > 0;) {
            int first = share_end(count, share, shares) - left;
            for (int i = first; i < first + some; i++) task(context, i, thread);
            finished += (uint32_t)some;
            if (pace) pace_keep(pace, TIMED);
        }
    }
    if (pace) pace_keep(pace, 1);
    if (finished &&
        atomic_fetch_add_explicit(&t->done, finished, memory_order_seq_cst) + finished ==
            (uint32_t)count &&
        atomic_load_explicit(&t->caller_sleeps, memory_order_seq_cst))
        futex_wake(&t->done, 1);
}

/// Waits for a loop after the last one. Returns its number.
static uint32_t next_loop(Team *t, uint32_t last) {
    if (!spin(&t->loop, true, last)) {
        atomic_fetch_add(&t->sleepers, 1);
        while (atomic_load(&t->loop) == last) futex_wait(&t->loop, last);
        // Who wakes wakes two more, so that the caller need not wake them all.
        if (atomic_fetch_sub(&t->sleepers, 1) > 1) futex_wake(&t->loop, 2);
    }
    return atomic_load_explicit(&t->loop, memory_order_acquire);
}

static void *run_thread(void *argument) {
    Seat *seat = argument;
    Team *t = seat->team;
    for (uint32_t loop = 0;;) {
        uint32_t limit = atomic_load(&t->limit);
        if (atomic_load(&t->quit)) return NULL;
        if ((uint32_t)seat->index >= limit) {
            futex_wait(&t->limit, limit);
            continue;
        }
        loop = next_loop(t, loop);
        if (atomic_load(&t->quit)) return NULL;
        if ((uint32_t)seat->index < atomic_load(&t->limit)) work(t, loop, seat->index, NULL);
    }
}

// ------------------------------------------------------------------------------------ the caller

static void set_limit(Team *t, int threads) {
    atomic_store(&t->limit, (uint32_t)threads);
    futex_wake(&t->limit, INT_MAX);
}

/// A thread that lost its core holds up all others at the end of a loop: one less leaves a core to
/// whoever wants it. Without one of n threads work takes longer by a part 1 / n, so that is worth
/// it where more time than that is lost. One more is tried later, and later still after each
/// failure.
static void learn(Team *t, int64_t time, int64_t lost) {
    int limit = (int)atomic_load_explicit(&t->limit, memory_order_relaxed);
    t->late += lost;
    if (time - t->window < WINDOW) return;
    bool late = limit > 1 && t->late * limit > time - t->window;
    if (late) {
        set_limit(t, limit - 1);
        t->try_after = t->try_after < TRY_MOST / 2 ? 2 * t->try_after : TRY_MOST;
        t->try_at = time + t->try_after;
    } else if (time > t->try_at) {
        if (limit < t->threads) set_limit(t, limit + 1);
        if (t->try_after > TRY_FIRST) t->try_after /= 2;
        t->try_at = time + t->try_after;
    }
    t->window = time;
    t->late = 0;
}

/// Waits until all items are done, from the end of the caller's own on.
static void finish(Team *t, int count, bool many, Pace pace) {
    uint32_t all = (uint32_t)count;
    int64_t time = pace.from;
    if (atomic_load_explicit(&t->done, memory_order_acquire) != all) {
        if (!spin(&t->done, false, all)) {
            atomic_store(&t->caller_sleeps, true);
            for (uint32_t done; (done = atomic_load(&t->done)) != all;) futex_wait(&t->done, done);
            atomic_store(&t->caller_sleeps, false);
        }
        time = now();
    }
    // With few items it may be that the last one is a long one.
    int64_t lost = time - pace.from - LATE_TAKES * pace.longest;
    if (many) learn(t, time, lost > LATE ? lost : 0);
}

static void run_loop(Team *t, int count, int grain, int shares, TeamTask *task, void *context) {
    uint32_t loop = ++t->number;
    atomic_store_explicit(&t->task, task, memory_order_relaxed);
    atomic_store_explicit(&t->context, context, memory_order_relaxed);
    atomic_store_explicit(&t->count, count, memory_order_relaxed);
    atomic_store_explicit(&t->shares, shares, memory_order_relaxed);
    // What one has taken nobody can help with, and items differ: a tile full of particles takes as
    // long as ten others.
    atomic_store_explicit(&t->most, 1 + grain / 16, memory_order_relaxed);
    atomic_store_explicit(&t->done, 0, memory_order_relaxed);
    for (int i = 0, first = 0; i < shares; i++) {
        int end = share_end(count, i, shares);
        atomic_store_explicit(&t->seat[i].ticket, (uint64_t)loop << 32 | (uint32_t)(end - first),
                              memory_order_release);
        first = end;
    }
    atomic_store(&t->loop, loop);
    if (atomic_load(&t->sleepers) > 0) futex_wake(&t->loop, 2);
    Pace pace = {.from = now()};
    work(t, loop, 0, &pace);
    finish(t, count, count >= 8 * shares, pace);
}

/// The thread that runs this, when it is at work for the team; -1: another one.
static int own_index(Team *t) {
    if (pthread_equal(pthread_self(), atomic_load(&t->caller))) return 0;
    for (int i = 1; i < t->threads; i++)
        if (pthread_equal(pthread_self(), t->seat[i].id)) return i;
    return -1;
}

static void run_alone(int count, int thread, TeamTask *task, void *context) {
    for (int i = 0; i < count; i++) task(context, i, thread);
}

void team_for(Team *t, int count, int grain, TeamTask *task, void *context) {
    if (count <= 0) return;
    if (!t) {
        run_alone(count, 0, task, context);
        return;
    }
    if (pthread_mutex_trylock(&t->entry) != 0) {
        int thread = own_index(t);
        if (thread >= 0) {
            run_alone(count, thread, task, context);
            return;
        }
        pthread_mutex_lock(&t->entry);
    }
    atomic_store(&t->caller, pthread_self());
    int shares = 1 + (count - 1) / (grain > 1 ? grain : 1);
    int limit = (int)atomic_load_explicit(&t->limit, memory_order_relaxed);
    if (shares > limit) shares = limit;
    if (shares > 1)
        run_loop(t, count, grain, shares, task, context);
    else {
        run_alone(count, 0, task, context);
        if (limit < t->threads && count >= 8 * grain) learn(t, now(), 0);
    }
    atomic_store(&t->caller, 0);
    pthread_mutex_unlock(&t->entry);
}

// ------------------------------------------------------------------------------ birth and death

/// Starts the threads with all signals blocked: handlers are the host's business.
static void start_threads(Team *t, int threads) {
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
    for (; t->threads < threads; t->threads++) {
        Seat *seat = &t->seat[t->threads];
        if (pthread_create(&seat->id, NULL, run_thread, seat) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

Team *team_new(int threads) {
    if (threads < 1) threads = 1;
    size_t bytes = sizeof(Team) + (size_t)threads * sizeof(Seat);
    Team *t = memory_zero(bytes);
    if (!t) return NULL;
    if (pthread_mutex_init(&t->entry, NULL) != 0) {
        free(t);
        return NULL;
    }
    for (int i = 0; i < threads; i++) t->seat[i].team = t, t->seat[i].index = i;
    t->process = getpid();
    t->threads = 1;
    t->try_after = TRY_FIRST;
    t->window = now();
    start_threads(t, threads);
    set_limit(t, t->threads);
    return t;
}

void team_free(Team **team) {
    Team *t = *team;
    if (!t) return;
    if (t->process == getpid()) { // a fork has none of the threads
        atomic_store(&t->quit, true);
        atomic_fetch_add(&t->loop, 1);
        atomic_fetch_add(&t->limit, 1);
        futex_wake(&t->loop, INT_MAX);
        futex_wake(&t->limit, INT_MAX);
        for (int i = 1; i < t->threads; i++) pthread_join(t->seat[i].id, NULL);
    }
    pthread_mutex_destroy(&t->entry);
    free(t);
    *team = NULL;
}

int team_size(int asked) {
    int cores = team_cores();
    return asked > 0 && asked < cores ? asked : cores;
}

int team_threads(const Team *t) {
    return t ? t->threads : 1;
}
