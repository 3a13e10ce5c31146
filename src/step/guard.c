// Pages of fields are opened and closed as stages declare them; the processor finds who strays.
#include "step/guard.h"
#ifdef BRIM_GUARD
#include "step/stages.h"
#include "step/state.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/// Exit code of a program that touched what it did not declare.
enum { STRAYED = 86, PAGE = 4096, LIST = 4096 };

/// The simulation whose stage is at work, for the handler; this build runs one at a time.
static const BrimSim *watched;

/// Behind a header page that holds the size.
void *guard_new(size_t bytes) {
    size_t all = PAGE + (bytes + PAGE) / PAGE * PAGE;
    char *at = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    *(size_t *)(void *)at = all;
    return at + PAGE;
}

void guard_free(void *at) {
    if (at) munmap((char *)at - PAGE, *(size_t *)(void *)((char *)at - PAGE));
}

static size_t room(const void *at) {
    return *(const size_t *)(const void *)((const char *)at - PAGE) - PAGE;
}

/// Whether a word is in a list of words.
static bool listed(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

static int access_of(const BrimSim *s, int field) {
    const FieldRow *row = &field_rows[field];
    const Stage *stage = stage_of(s, s->stage);
    bool alive = row->life >> s->stage & 1;
    if (!alive) return PROT_NONE;
    if (!stage) return PROT_READ | PROT_WRITE;              // at rest
    if (s->stage == AT_SORT) return PROT_READ | PROT_WRITE; // moves all
    if (listed(stage->writes, row->name)) return PROT_READ | PROT_WRITE;
    return listed(stage->reads, row->name) ? PROT_READ : PROT_NONE;
}

static void protect(const BrimSim *s, bool open) {
    for (int f = 0; f < FIELD_COUNT; f++)
        for (int part = 0; part < field_parts(s, &field_rows[f]); part++) {
            void *at = field_memory(s, f, part);
            if (at) mprotect(at, room(at), open ? PROT_READ | PROT_WRITE : access_of(s, f));
        }
}

void guard_open(const BrimSim *s) {
    protect(s, true);
}

void guard_close(const BrimSim *s) {
    if (watched == s) protect(s, false);
}

static void say(const char *text) {
    ssize_t n = write(STDERR_FILENO, text, strlen(text));
    (void)n;
}

/// Tells which field was touched. With BRIM_GUARD_LEARN=FILE it is noted there and let pass.
static void strayed(int number, siginfo_t *info, void *context) {
    const BrimSim *s = watched;
    bool writes = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
    for (int f = 0; s && f < FIELD_COUNT; f++)
        for (int part = 0; part < field_parts(s, &field_rows[f]); part++) {
            char *at = field_memory(s, f, part), *where = info->si_addr, line[256];
            if (!at || where < at || where >= at + room(at)) continue;
            const char *stage = stage_of(s, s->stage) ? stage_of(s, s->stage)->name : "rest";
            bool alive = field_rows[f].life >> s->stage & 1;
            snprintf(line, sizeof line, "stage %s %s %s field %s\n", stage,
                     writes ? "writes" : "reads", alive ? "undeclared" : "dead",
                     field_rows[f].name);
            const char *learn = getenv("BRIM_GUARD_LEARN");
            if (!learn) {
                say(line);
                _exit(STRAYED);
            }
            int out = open(learn, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
            ssize_t n = write(out, line, strlen(line));
            (void)n;
            close(out);
            for (int k = 0; k < field_parts(s, &field_rows[f]); k++) {
                void *all = field_memory(s, f, k);
                mprotect(all, room(all), writes ? PROT_READ | PROT_WRITE : PROT_READ);
            }
            return;
        }
    signal(number, SIG_DFL); // not ours
}

/// Dead values are not numbers, in masks a pattern.
static void forget(const BrimSim *s, int field) {
    for (int part = 0; part < field_parts(s, &field_rows[field]); part++) {
        void *at = field_memory(s, field, part);
        if (!at) continue;
        mprotect(at, room(at), PROT_READ | PROT_WRITE);
        if (field_rows[field].shape == SHAPE_CELL)
            for (size_t i = 0; i < room(at) / sizeof(float); i++) ((float *)at)[i] = NAN;
        else
            memset(at, 0xa5, room(at));
    }
}

void guard_enter(BrimSim *s) {
    if (watched != s) {
        struct sigaction action = {.sa_sigaction = strayed, .sa_flags = SA_SIGINFO};
        sigaction(SIGSEGV, &action, NULL);
        watched = s;
        s->guarded = 0;
    }
    uint64_t before = s->guarded;
    for (int f = 0; f < FIELD_COUNT; f++) {
        bool was = before && field_rows[f].life & before, is = field_rows[f].life >> s->stage & 1;
        if (was && !is) forget(s, f);
    }
    s->guarded = UINT64_C(1) << s->stage;
    protect(s, false);
}

void guard_leave(const BrimSim *s) {
    if (watched == s) watched = NULL;
}
#else
typedef int NotEmpty; // a file without declarations is not C
#endif
