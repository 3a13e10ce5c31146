// A test is TEST(name) { ... } in any tests/*.c; it fails at the first CHECK that does not hold.
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct Test {
    const char *name;
    void (*run)(struct Test *);
    bool failed;
    struct Test *next;
} Test;

void test_register(Test *test);
void test_fail(Test *test, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define TEST(NAME)                                                   \
    static void NAME##_run(Test *);                                  \
    static Test NAME##_test = {#NAME, NAME##_run, false, NULL};      \
    __attribute__((constructor)) static void NAME##_register(void) { \
        test_register(&NAME##_test);                                 \
    }                                                                \
    static void NAME##_run(Test *test_)

#define CHECK(CONDITION)                                            \
    do {                                                            \
        if (!(CONDITION)) {                                         \
            test_fail(test_, __FILE__, __LINE__, "%s", #CONDITION); \
            return;                                                 \
        }                                                           \
    } while (0)

/// |A - B| <= TOLERANCE, and says both values when not.
#define CHECK_NEAR(A, B, TOLERANCE)                                                             \
    do {                                                                                        \
        double a_ = (A), b_ = (B), t_ = (TOLERANCE);                                            \
        if (!(fabs(a_ - b_) <= t_)) {                                                           \
            test_fail(test_, __FILE__, __LINE__, "%s = %.9g, %s = %.9g, differ by %.3g > %.3g", \
                      #A, a_, #B, b_, fabs(a_ - b_), t_);                                       \
            return;                                                                             \
        }                                                                                       \
    } while (0)

/// A < LIMIT, and says the value when not.
#define CHECK_BELOW(A, LIMIT)                                                              \
    do {                                                                                   \
        double a_ = (A), l_ = (LIMIT);                                                     \
        if (!(a_ < l_)) {                                                                  \
            test_fail(test_, __FILE__, __LINE__, "%s = %.9g, not below %.9g", #A, a_, l_); \
            return;                                                                        \
        }                                                                                  \
    } while (0)

/// BrimResult is BRIM_OK; prints the error's message when not.
#define CHECK_OK(CALL, ERROR)                                                       \
    do {                                                                            \
        if ((CALL) != 0) {                                                          \
            test_fail(test_, __FILE__, __LINE__, "%s: %s", #CALL, (ERROR).message); \
            return;                                                                 \
        }                                                                           \
    } while (0)
