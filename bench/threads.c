// What threads gain: alone on the machine, beside busy programs, and on fewer cores than asked for.
#include "bench.h"
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUSY_MOST = 256 };

/// Programs that want a core each for themselves.
typedef struct Busy {
    pid_t process[BUSY_MOST];
    int count;
} Busy;

static Busy start_busy(int count) {
    Busy busy = {.count = count < BUSY_MOST ? count : BUSY_MOST};
    for (int i = 0; i < busy.count; i++) {
        busy.process[i] = fork();
        if (busy.process[i] < 0) give_up("no process to keep a core busy");
        if (busy.process[i] == 0)
            for (volatile unsigned turn = 0;; turn++) {
            }
    }
    return busy;
}

static void stop_busy(const Busy *busy) {
    for (int i = 0; i < busy->count; i++) {
        kill(busy->process[i], SIGKILL);
        waitpid(busy->process[i], NULL, 0);
    }
}

/// The first `count` cores that the process may use; returns those that it could before.
static cpu_set_t pin_to(int count) {
    cpu_set_t before, few;
    if (sched_getaffinity(0, sizeof before, &before) != 0) give_up("cores cannot be told");
    CPU_ZERO(&few);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&few) < count; i++)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &few);
    if (sched_setaffinity(0, sizeof few, &few) != 0) give_up("cores cannot be chosen");
    return before;
}

/// A dam to be run several times.
typedef struct Dam {
    const char *name, *sets[4];
    int set_count;
    double from; ///< s
    int steps;
} Dam;

/// Median of the times of steps, ms.
static double run_dam(Report *report, const Dam *dam, int threads, const char *where) {
    BrimScene *scene = NULL;
    BrimError error;
    if (brim_scene_load("scenes/dam.yaml", dam->sets, dam->set_count, &scene, &error) != BRIM_OK)
        give_up("%s", error.message);
    BrimSimDef def = *brim_scene_def(scene);
    def.threads = threads;
    Steps steps = measure_steps(&def, dam->from, dam->steps, 1);
    brim_scene_destroy(&scene);
    char what[128];
    snprintf(what, sizeof what, "%s, %d thread%s%s", dam->name, threads, threads > 1 ? "s" : "",
             where);
    double ms = median_of(steps.ms, steps.count);
    report_row(report, (Row){"threads", what, "time per step, median", ms, "ms", WANT_NOTHING, 0});
    report_row(report, (Row){"threads", what, "  density", stage_mean(&steps, BRIM_STAGE_DENSITY),
                             "ms", WANT_NOTHING, 0});
    return ms;
}

static void gain(Report *report, const char *what, double value, Want want, double target) {
    report_row(report, (Row){"threads", what, "times", value, "times", want, target});
}

static void alone(Report *report, const Dam *dam, int cores, double target) {
    char what[128];
    double one = run_dam(report, dam, 1, "");
    for (int threads = 2; threads <= cores; threads *= 2) {
        double ms = run_dam(report, dam, threads, "");
        snprintf(what, sizeof what, "%s, %d threads against 1", dam->name, threads);
        gain(report, what, one / ms, threads == 16 ? WANT_AT_LEAST : WANT_NOTHING, target);
    }
}

/// One thread a core, with a quarter of the cores taken by others; and on a quarter of the cores.
static void disturbed(Report *report, const Dam *dam, int cores) {
    char what[128], where[64];
    int some = cores >= 4 ? cores / 4 : 1;
    double quiet = run_dam(report, dam, cores, "");
    Busy busy = start_busy(some);
    snprintf(where, sizeof where, ", %d busy loop%s beside", some, some > 1 ? "s" : "");
    double beside = run_dam(report, dam, cores, where);
    stop_busy(&busy);
    snprintf(what, sizeof what, "%s, %d threads%s, against none", dam->name, cores, where);
    gain(report, what, beside / quiet, WANT_AT_MOST, cores > 2 ? 1.5 : 2.2);
    cpu_set_t all = pin_to(some);
    snprintf(where, sizeof where, ", on %d core%s", some, some > 1 ? "s" : "");
    double few = run_dam(report, dam, some, where), many = run_dam(report, dam, cores, where);
    sched_setaffinity(0, sizeof all, &all);
    snprintf(what, sizeof what, "%s, %d threads asked for against %d%s", dam->name, cores, some,
             where);
    gain(report, what, many / few, WANT_AT_MOST, 1.2);
}

/// On two cores, of which a busy loop wants one.
static void two_cores(Report *report, const Dam *dam) {
    cpu_set_t all = pin_to(2);
    double quiet = run_dam(report, dam, 2, ", on 2 cores");
    Busy busy = start_busy(1);
    double beside = run_dam(report, dam, 2, ", on 2 cores, 1 busy loop beside");
    stop_busy(&busy);
    sched_setaffinity(0, sizeof all, &all);
    char what[128];
    snprintf(what, sizeof what, "%s, 2 threads, on 2 cores, 1 busy loop beside, against none",
             dam->name);
    gain(report, what, beside / quiet, WANT_AT_MOST, 2.2);
}

void bench_threads(Report *report) {
    const Dam small = {.name = "dam", .from = 0.25, .steps = 50};
    const Dam large = {.name = "dam, 7.5 million particles",
                       .sets = {"domain.cells=262", "time.step=0.002", "time.frame_rate=10"},
                       .set_count = 3,
                       .from = 0.0055,
                       .steps = 6};
    int cores = core_count();
    alone(report, &small, cores, 7.5);
    if (cores > 1) disturbed(report, &small, cores);
    if (cores > 2) two_cores(report, &small);
    alone(report, &large, cores, 12);
}
