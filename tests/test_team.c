#include "base/team.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

// The test program is linked with --wrap for the following: tests run with more threads than the
// machine has cores, and thread creation can fail.
enum { CORES = 8 };
int __real_team_cores(void);
int __wrap_team_cores(void);
int __wrap_team_cores(void) {
    return CORES;
}

static int threads_given = INT_MAX; ///< until creation fails
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument) {
    if (threads_given != INT_MAX && threads_given-- == 0) return EAGAIN;
    return __real_pthread_create(id, attributes, run, argument);
}

enum { MOST = 5000 };

typedef struct Visits {
    atomic_int seen[MOST];
    atomic_int busy[16]; ///< tasks that run as this thread
    atomic_int clashes;
    int threads;
} Visits;

static void visit(void *context, int index, int thread) {
    Visits *v = context;
    if (thread < 0 || thread >= v->threads || atomic_fetch_add(&v->busy[thread], 1) != 0)
        atomic_fetch_add(&v->clashes, 1);
    atomic_fetch_add(&v->seen[index], 1);
    atomic_fetch_sub(&v->busy[thread & 15], 1);
}

static bool each_once(const Visits *v, int count) {
    for (int i = 0; i < MOST; i++)
        if (v->seen[i] != (i < count)) return false;
    return v->clashes == 0;
}

TEST(team_visits_each_item_once) {
    static const int threads[] = {1, 2, 3, 8}, counts[] = {0, 1, 2, 3, 7, 8, 9, 64, 1000, MOST};
    for (int k = 0; k < 4; k++) {
        Team *team = team_new(threads[k]);
        CHECK(team && team_threads(team) == threads[k]);
        for (int c = 0; c < 10; c++)
            for (int grain = 1; grain <= 64; grain *= 8) {
                Visits v = {.threads = threads[k]};
                team_for(team, counts[c], grain, visit, &v);
                CHECK(each_once(&v, counts[c]));
            }
        team_free(&team);
        CHECK(team == NULL);
    }
}

TEST(team_of_nobody_is_the_caller) {
    Visits v = {.threads = 1};
    team_for(NULL, 100, 1, visit, &v);
    CHECK(each_once(&v, 100) && team_threads(NULL) == 1);
}

// One loop after the other without a pause, as in a solve: each reads what the one before it wrote.
typedef struct Relay {
    int from[512], to[512];
} Relay;

static void pass_on(void *context, int index, int thread) {
    Relay *r = context;
    r->to[index] = r->from[(index + 1) % 512] + 1;
}
static void take_over(void *context, int index, int thread) {
    Relay *r = context;
    r->from[index] = r->to[index];
}

TEST(team_loops_follow_one_another) {
    Team *team = team_new(4);
    Relay r = {{0}, {0}};
    for (int round = 0; round < 2000; round++) {
        team_for(team, 512, 1, pass_on, &r);
        team_for(team, 512, round % 3 ? 1 : 200, take_over, &r);
    }
    for (int i = 0; i < 512; i++) CHECK(r.from[i] == 2000);
    team_free(&team);
}

// ---------------------------------------------------------------------------------------- nested

typedef struct Outer {
    Team *team;
    TeamCount items;
    atomic_int wrong;
} Outer;
typedef struct Inner {
    Outer *outer;
    int thread;
} Inner;

static void inner_task(void *context, int index, int thread) {
    Inner *inner = context;
    if (thread != inner->thread) atomic_fetch_add(&inner->outer->wrong, 1);
    team_add(&inner->outer->items, 1);
}
static void outer_task(void *context, int index, int thread) {
    Outer *outer = context;
    Inner inner = {outer, thread};
    team_for(outer->team, 10, 1, inner_task, &inner);
}

TEST(team_loop_in_a_task_stays_on_its_thread) {
    Outer outer = {.team = team_new(4)};
    for (int i = 0; i < 50; i++) team_for(outer.team, 100, 1, outer_task, &outer);
    CHECK(outer.items == 50 * 1000 && outer.wrong == 0);
    team_free(&outer.team);
}

static void *host_thread(void *context) {
    Outer *outer = context;
    for (int i = 0; i < 200; i++) {
        Visits v = {.threads = 4};
        team_for(outer->team, 300, 1, visit, &v);
        if (!each_once(&v, 300)) atomic_fetch_add(&outer->wrong, 1);
    }
    return NULL;
}

TEST(team_serves_several_threads_of_the_host) {
    Outer outer = {.team = team_new(4)};
    pthread_t hosts[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&hosts[i], NULL, host_thread, &outer) == 0);
    for (int i = 0; i < 3; i++) pthread_join(hosts[i], NULL);
    CHECK(outer.wrong == 0);
    team_free(&outer.team);
}

// ------------------------------------------------------------------------------------------ sums

typedef struct Sums {
    float value[MOST];
    double part[MOST];
    TeamLargest largest;
    TeamCount count;
} Sums;

static void sum_item(void *context, int index, int thread) {
    Sums *s = context;
    s->part[index] = 1.0 / (index + 1);
    team_add(&s->count, index);
    team_raise(&s->largest, s->value[index]);
}

TEST(team_sums_are_the_same_for_any_number_of_threads) {
    Sums *s = calloc(1, sizeof *s);
    double expected = 0;
    for (int threads = 1; threads <= 8; threads++) {
        Team *team = team_new(threads);
        for (int i = 0; i < MOST; i++) s->value[i] = (float)((i * 7919) % MOST) * -0.5f;
        s->count = 0;
        s->largest = 0;
        team_for(team, MOST, 1, sum_item, s);
        double sum = 0;
        for (int i = 0; i < MOST; i++) sum += s->part[i];
        if (threads == 1) expected = sum;
        CHECK(sum == expected && s->count == (int64_t)MOST * (MOST - 1) / 2);
        CHECK(team_largest(&s->largest) == 0.5f * (MOST - 1));
        team_free(&team);
    }
    free(s);
}

TEST(team_largest_keeps_what_is_not_a_number) {
    Sums *s = calloc(1, sizeof *s);
    for (int at = 0; at < MOST; at += MOST - 1) { // first or last of all
        for (int threads = 1; threads <= 4; threads++) {
            Team *team = team_new(threads);
            for (int i = 0; i < MOST; i++) s->value[i] = i == at ? NAN : 1e30f;
            s->largest = 0;
            team_for(team, MOST, 1, sum_item, s);
            CHECK(isnan(team_largest(&s->largest)));
            team_free(&team);
        }
    }
    CHECK(isnan(larger_of(larger_of(1, NAN), 2)) && isnan(larger_of(2, NAN)));
    CHECK(larger_of(2, 1) == 2 && larger_of(1, 2) == 2);
    free(s);
}

// ---------------------------------------------------------------------------------------- system

TEST(team_works_with_the_threads_that_it_gets) {
    for (int given = 0; given < 4; given++) {
        threads_given = given;
        Team *team = team_new(8);
        threads_given = INT_MAX;
        Visits v = {.threads = 1 + given};
        CHECK(team && team_threads(team) == 1 + given);
        team_for(team, 1000, 1, visit, &v);
        CHECK(each_once(&v, 1000));
        team_free(&team);
    }
}

TEST(team_survives_a_fork) {
    Team *team = team_new(4);
    Visits before = {.threads = 4};
    team_for(team, 1000, 1, visit, &before);
    pid_t child = fork();
    if (child == 0) { // none of the threads are here
        Visits v = {.threads = 4};
        team_for(team, 1000, 1, visit, &v);
        team_free(&team);
        _exit(each_once(&v, 1000) ? 0 : 1);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    Visits v = {.threads = 4};
    team_for(team, 1000, 1, visit, &v);
    CHECK(each_once(&v, 1000));
    team_free(&team);
}

static atomic_int signals_elsewhere;
static pthread_t test_thread;
static void on_signal(int number) {
    if (!pthread_equal(pthread_self(), test_thread)) atomic_fetch_add(&signals_elsewhere, 1);
}

TEST(team_leaves_signals_to_the_host) {
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigset_t mask_before, mask_after;
    test_thread = pthread_self();
    sigaction(SIGUSR1, &action, &before);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
    Team *team = team_new(4);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    for (int i = 0; i < 200; i++) {
        Visits v = {.threads = 4};
        kill(getpid(), SIGUSR1);
        team_for(team, 100, 1, visit, &v);
    }
    team_free(&team);
    sigaction(SIGUSR1, &before, NULL);
    CHECK(signals_elsewhere == 0);
    for (int s = 1; s < 32; s++) CHECK(sigismember(&mask_before, s) == sigismember(&mask_after, s));
}

// ----------------------------------------------------------------------------------------- cores

TEST(cores_follow_the_quota_of_control_groups) {
    char root[512];
    snprintf(root, sizeof root, "%s", at("groups"));
    mkdir(root, 0700), mkdir(at("groups/a"), 0700), mkdir(at("groups/a/b"), 0700);
    put_text(at("list"), "0::/a/b\n");
    CHECK(team_quota(at("list"), root) == INT_MAX);
    put_text(at("groups/a/b/cpu.max"), "max 100000\n");
    CHECK(team_quota(at("list"), root) == INT_MAX);
    put_text(at("groups/a/b/cpu.max"), "650000 100000\n");
    CHECK(team_quota(at("list"), root) == 6);
    put_text(at("groups/a/cpu.max"), "250000 100000\n"); // of the group that it is part of
    CHECK(team_quota(at("list"), root) == 2);
    put_text(at("groups/cpu.max"), "50000 100000\n"); // less than one
    CHECK(team_quota(at("list"), root) == 1);

    snprintf(root, sizeof root, "%s", at("old")); // version 1
    mkdir(root, 0700), mkdir(at("old/cpu,cpuacct"), 0700), mkdir(at("old/cpu,cpuacct/x"), 0700);
    put_text(at("list"), "5:memory:/y\n4:cpu,cpuacct:/x\n");
    CHECK(team_quota(at("list"), root) == INT_MAX);
    put_text(at("old/cpu,cpuacct/x/cpu.cfs_quota_us"), "-1\n");
    put_text(at("old/cpu,cpuacct/x/cpu.cfs_period_us"), "100000\n");
    CHECK(team_quota(at("list"), root) == INT_MAX);
    put_text(at("old/cpu,cpuacct/x/cpu.cfs_quota_us"), "300000\n");
    CHECK(team_quota(at("list"), root) == 3);
    CHECK(team_quota(at("no list"), root) == INT_MAX);
}

TEST(team_has_no_more_threads_than_cores) {
    CHECK(__real_team_cores() >= 1 && __real_team_cores() <= sysconf(_SC_NPROCESSORS_CONF));
    CHECK(team_size(0) == CORES && team_size(3) == 3 && team_size(100) == CORES);
    cpu_set_t before, one;
    CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    int cores = __real_team_cores();
    sched_setaffinity(0, sizeof before, &before);
    CHECK(cores == 1);
}
