// Runs all tests, or those whose name contains an argument; ends with "N passed, N failed".
#include "test.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static Test *tests;

void test_register(Test *test) {
    Test **at = &tests;
    while (*at) at = &(*at)->next;
    *at = test;
}

void test_fail(Test *test, const char *file, int line, const char *format, ...) {
    test->failed = true;
    fprintf(stderr, "%s:%d: %s: ", file, line, test->name);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static bool wanted(const Test *test, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strstr(test->name, argv[i])) return true;
    return argc < 2;
}

int main(int argc, char **argv) {
    int passed = 0, failed = 0;
    for (Test *t = tests; t; t = t->next) {
        if (!wanted(t, argc, argv)) continue;
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        t->run(t);
        clock_gettime(CLOCK_MONOTONIC, &b);
        double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
        printf("%s %s (%.2f s)\n", t->failed ? "FAIL" : "ok  ", t->name, s);
        fflush(stdout);
        t->failed ? failed++ : passed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
