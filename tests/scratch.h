// Files for tests that write: a folder of the test program's own in TMPDIR, removed at its end.
#pragma once
#include "io/file.h"
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char scratch[256];

__attribute__((destructor)) static void remove_scratch(void) {
    char command[sizeof scratch + 16];
    if (!*scratch) return;
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    if (system(command) != 0) fprintf(stderr, "left behind: %s\n", scratch);
}

/// A path in a folder of this test program's own.
static inline const char *at(const char *name) {
    static char path[4][512];
    static int next;
    if (!*scratch) {
        const char *folder = getenv("TMPDIR");
        snprintf(scratch, sizeof scratch, "%s/brim-test-XXXXXX",
                 folder && *folder ? folder : "/tmp");
        if (!mkdtemp(scratch)) abort();
    }
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", scratch, name);
    return p;
}

static inline bool exists(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

static inline bool exists_temp(const char *path) {
    char temp[1024];
    snprintf(temp, sizeof temp, "%s" FILE_TEMP_SUFFIX, path);
    return exists(temp);
}

static inline void put_file(const char *path, const void *data, size_t bytes) {
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data, 1, bytes, out) != bytes || fclose(out) != 0) abort();
}

static inline void put_text(const char *path, const char *text) {
    put_file(path, text, strlen(text));
}

/// The content of a file with a zero added, in new memory.
static inline char *get_file(const char *path, size_t *bytes) {
    FILE *in = fopen(path, "rb");
    if (!in) abort();
    fseek(in, 0, SEEK_END);
    size_t n = (size_t)ftell(in);
    rewind(in);
    char *data = malloc(n + 1);
    if (!data || fread(data, 1, n, in) != n) abort();
    data[n] = 0;
    fclose(in);
    if (bytes) *bytes = n;
    return data;
}

static inline bool file_is(const char *path, const char *text) {
    char *content = get_file(path, NULL);
    bool same = strcmp(content, text) == 0;
    free(content);
    return same;
}

/// Runs `run` in a child process; its return value, or -1.
static inline int in_child(int (*run)(const char *), const char *path) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(run(path));
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

enum { CANNOT_TRY = 77 };
