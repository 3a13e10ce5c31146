#include "base/sequence.h"
#include "base/error.h"
#include "base/memory.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { NAME_MOST = 256, DIGITS_MOST = 9 };

/// A name with a number in it: before, the number's digits, after.
typedef struct Pattern {
    char folder[4096];
    char before[NAME_MOST], after[NAME_MOST];
    int digits; ///< least number of them
} Pattern;

static bool ends_in_mesh(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot &&
           (!strcasecmp(dot, ".obj") || !strcasecmp(dot, ".ply") || !strcasecmp(dot, ".stl"));
}

/// Splits a path before its last '/'.
static const char *split_folder(const char *path, char folder[4096]) {
    const char *slash = strrchr(path, '/');
    snprintf(folder, 4096, "%.*s", slash ? (int)(slash - path + 1) : 2, slash ? path : "./");
    return slash ? slash + 1 : path;
}

/// "walk_####.obj" => pattern. False when it has no row of #, or more than one.
static bool pattern_of_hashes(const char *path, Pattern *p) {
    const char *name = split_folder(path, p->folder), *first = strchr(name, '#');
    if (!first || strchr(p->folder, '#') || strlen(name) >= NAME_MOST) return false;
    size_t digits = strspn(first, "#");
    if (strchr(first + digits, '#') || digits > DIGITS_MOST) return false;
    p->digits = (int)digits;
    snprintf(p->before, sizeof p->before, "%.*s", (int)(first - name), name);
    snprintf(p->after, sizeof p->after, "%s", first + digits);
    return true;
}

/// The last number in a name becomes the pattern's.
static bool pattern_of_name(const char *name, Pattern *p) {
    size_t end = strlen(name), begin;
    if (end >= NAME_MOST) return false;
    const char *dot = strrchr(name, '.');
    end = dot ? (size_t)(dot - name) : end;
    while (end > 0 && !isdigit((unsigned char)name[end - 1])) end--;
    for (begin = end; begin > 0 && isdigit((unsigned char)name[begin - 1]);) begin--;
    if (begin == end || end - begin > DIGITS_MOST) return false;
    snprintf(p->before, sizeof p->before, "%.*s", (int)begin, name);
    snprintf(p->after, sizeof p->after, "%s", name + end);
    p->digits = 1;
    return true;
}

/// The number of a name that has the pattern; -1 when it has not.
static long number_in(const Pattern *p, const char *name) {
    size_t n = strlen(name), b = strlen(p->before), a = strlen(p->after);
    if (n <= a + b || strncmp(name, p->before, b) != 0 || strcmp(name + n - a, p->after) != 0)
        return -1;
    size_t digits = n - a - b;
    if (digits > DIGITS_MOST || digits < (size_t)p->digits) return -1;
    long number = 0;
    for (size_t i = b; i < n - a; i++) {
        if (!isdigit((unsigned char)name[i])) return -1;
        number = 10 * number + (name[i] - '0');
    }
    return number;
}

static int compare_numbers(const void *a, const void *b) {
    const SequenceFile *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool add(Sequence *files, const char *folder, const char *name, long number) {
    size_t length = strlen(folder) + strlen(name) + 1;
    char *path = memory_new(length);
    if (!path || !memory_grow((void **)&files->file, &files->room, sizeof *files->file,
                              (size_t)files->count + 1, (size_t)files->count)) {
        free(path);
        return false;
    }
    snprintf(path, length, "%s%s", folder, name);
    files->file[files->count++] = (SequenceFile){number, path};
    return true;
}

/// All names in the folder that have the pattern.
static BrimResult collect(const Pattern *p, const char *what, Sequence *files, BrimError *error) {
    DIR *folder = opendir(p->folder);
    if (!folder)
        return fail(error, BRIM_ERROR_IO, "%s: cannot open the folder: %s", what, strerror(errno));
    BrimResult r = BRIM_OK;
    for (const struct dirent *e; r == BRIM_OK && (e = readdir(folder));) {
        long number = number_in(p, e->d_name);
        if (number >= 0 && !add(files, p->folder, e->d_name, number))
            r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for names of files", what);
    }
    closedir(folder);
    return r;
}

/// The pattern of a folder's meshes, by the first of them in the alphabet; all must have it.
static BrimResult pattern_of_folder(const char *path, Pattern *p, BrimError *error) {
    char first[NAME_MOST] = "", other[NAME_MOST] = "";
    size_t n = strlen(path);
    snprintf(p->folder, sizeof p->folder, "%s%s", path, n && path[n - 1] == '/' ? "" : "/");
    for (int pass = 0; pass < 2; pass++) {
        DIR *folder = opendir(p->folder);
        if (!folder)
            return fail(error, BRIM_ERROR_IO, "%s: cannot open the folder: %s", path,
                        strerror(errno));
        for (const struct dirent *e; (e = readdir(folder));) {
            if (e->d_name[0] == '.' || strlen(e->d_name) >= NAME_MOST || !ends_in_mesh(e->d_name))
                continue;
            if (pass == 0 && (!*first || strcmp(e->d_name, first) < 0))
                memcpy(first, e->d_name, strlen(e->d_name) + 1);
            if (pass == 1 && number_in(p, e->d_name) < 0)
                memcpy(other, e->d_name, strlen(e->d_name) + 1);
        }
        closedir(folder);
        if (!*first)
            return fail(error, BRIM_ERROR_INPUT, "%s: the folder holds no .obj, .ply or .stl file",
                        path);
        if (pass == 0 && !pattern_of_name(first, p))
            return fail(error, BRIM_ERROR_INPUT,
                        "%s/%s: has no number: frames must be numbered, as in walk_0001.obj", path,
                        first);
    }
    if (*other)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: holds %s and %s, which do not belong to one sequence: name a pattern, as "
                    "in %s%s####%s",
                    path, first, other, p->folder, p->before, p->after);
    return BRIM_OK;
}

static BrimResult check_numbers(const Pattern *p, const char *path, const Sequence *files,
                                BrimError *error) {
    if (files->count < 2)
        return fail(error, BRIM_ERROR_INPUT, "%s: %s: a sequence needs at least two", path,
                    files->count ? "only one file has this name" : "no file has this name");
    for (int i = 1; i < files->count; i++) {
        long last = files->file[i - 1].number, next = files->file[i].number;
        if (next == last)
            return fail(error, BRIM_ERROR_INPUT, "%s: %s and %s have the same number", path,
                        files->file[i - 1].path, files->file[i].path);
        if (next != last + 1)
            return fail(error, BRIM_ERROR_INPUT,
                        "%s: %ld frame%s missing between %s and %s: numbers must not have gaps",
                        path, next - last - 1, next - last == 2 ? " is" : "s are",
                        files->file[i - 1].path, files->file[i].path);
    }
    if (!ends_in_mesh(p->after))
        return fail(error, BRIM_ERROR_INPUT, "%s: frames end in .obj, .ply or .stl", path);
    return BRIM_OK;
}

BrimResult sequence_find(const char *path, Sequence *files, BrimError *error) {
    Pattern p = {.digits = 1};
    struct stat info;
    *files = (Sequence){0};
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    if (!folder && !pattern_of_hashes(path, &p))
        return fail(
            error, BRIM_ERROR_INPUT,
            "%s: is not a folder and has no #: write # for the digits of the frame's number, "
            "as in walk_####.obj",
            path);
    BrimResult r = folder ? pattern_of_folder(path, &p, error) : BRIM_OK;
    if (r == BRIM_OK) r = collect(&p, path, files, error);
    if (r == BRIM_OK && files->count)
        qsort(files->file, (size_t)files->count, sizeof *files->file, compare_numbers);
    if (r == BRIM_OK) r = check_numbers(&p, path, files, error);
    if (r != BRIM_OK) sequence_free(files);
    return r;
}

void sequence_free(Sequence *files) {
    for (int i = 0; i < files->count; i++) free(files->file[i].path);
    free(files->file);
    *files = (Sequence){0};
}
