#include "io/file.h"
#include "base/error.h"
#include "base/memory.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

struct FileWriter {
    int descriptor;
    int failure; ///< errno of the first failure, 0 while all is well
    char *path, *temp;
    unsigned char *buffer;
    size_t used;
    uint64_t written;
};

static const char *remedy(int code) {
    switch (code) {
    case ENOSPC:
    case EDQUOT:
        return ": free some or choose another folder";
    case EFBIG:
        return ": raise the limit (ulimit -f) or choose another disk";
    case EACCES:
    case EPERM:
    case EROFS:
        return ": choose a folder that you may write to";
    case ENOTDIR:
        return ": a part of the path is a file";
    default:
        return "";
    }
}

BrimResult file_fail(BrimError *error, const char *verb, const char *path, int code) {
    const char *what = code == ENOSPC ? "No space left on device" : strerror(code);
    // Memory that is short now says nothing about the file: it is not to be given up for it.
    BrimResult result = code == ENOMEM ? BRIM_ERROR_MEMORY : BRIM_ERROR_IO;
    return fail(error, result, "cannot %s '%s': %s%s", verb, path, what, remedy(code));
}

int file_write_all(int descriptor, const void *data, size_t bytes) {
    const unsigned char *p = data;
    while (bytes) {
        ssize_t n = write(descriptor, p, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return EIO;
        p += n, bytes -= (size_t)n;
    }
    return 0;
}

char *path_new(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int n = vasprintf(&text, format, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

// ---------------------------------------------------------------------------------- writing

static void writer_free(FileWriter *w) {
    if (w->descriptor >= 0) close(w->descriptor);
    free(w->path), free(w->temp), free(w->buffer), free(w);
}

static FileWriter *writer_new(const char *path) {
    FileWriter *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->descriptor = -1;
    w->path = path_new("%s", path);
    w->temp = path_new("%s" FILE_TEMP_SUFFIX, path);
    w->buffer = memory_new(BUFFER_BYTES);
    if (w->path && w->temp && w->buffer) return w;
    writer_free(w);
    return NULL;
}

BrimResult file_create(const char *path, FileWriter **writer, BrimError *error) {
    *writer = NULL;
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return fail(error, BRIM_ERROR_IO, "cannot write '%s': it is %s, not a regular file", path,
                    S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe");
    FileWriter *w = writer_new(path);
    if (!w) return fail(error, BRIM_ERROR_MEMORY, "out of memory while writing '%s'", path);
    // A leftover of a killed process goes first; O_EXCL then never follows a link.
    unlink(w->temp);
    w->descriptor = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->descriptor < 0) {
        int code = errno;
        writer_free(w);
        return file_fail(error, "write", path, code);
    }
    *writer = w;
    return BRIM_OK;
}

static void flush(FileWriter *w) {
    if (!w->failure) w->failure = file_write_all(w->descriptor, w->buffer, w->used);
    w->used = 0;
}

void file_write(FileWriter *w, const void *data, size_t bytes) {
    if (w->failure || !bytes) return;
    w->written += bytes;
    if (w->used + bytes > BUFFER_BYTES) flush(w);
    if (bytes >= BUFFER_BYTES) {
        if (!w->failure) w->failure = file_write_all(w->descriptor, data, bytes);
        return;
    }
    memcpy(w->buffer + w->used, data, bytes);
    w->used += bytes;
}

void file_print(FileWriter *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n >= 0) {
        file_write(w, text, (size_t)n);
        free(text);
    } else if (!w->failure) {
        w->failure = ENOMEM;
    }
}

uint64_t file_written(const FileWriter *w) {
    return w->written;
}

BrimResult file_status(const FileWriter *w, BrimError *error) {
    return w->failure ? file_fail(error, "write", w->path, w->failure) : BRIM_OK;
}

/// The folder that holds `path`, in new memory.
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return path_new(".");
    return slash == path ? path_new("/") : path_new("%.*s", (int)(slash - path), path);
}

static BrimResult sync_folder_of(const char *path, BrimError *error) {
    char *folder = folder_of(path);
    if (!folder) return fail(error, BRIM_ERROR_MEMORY, "out of memory while writing '%s'", path);
    BrimResult result = folder_sync(folder, error);
    free(folder);
    return result;
}

/// Whether the temporary file is still the one that we write, and not that of another process.
static bool still_ours(const FileWriter *w) {
    struct stat mine, there;
    return fstat(w->descriptor, &mine) == 0 && lstat(w->temp, &there) == 0 &&
           mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

BrimResult file_commit(FileWriter **writer, BrimError *error) {
    FileWriter *w = *writer;
    *writer = NULL;
    flush(w);
    if (!w->failure && fsync(w->descriptor) != 0) w->failure = errno;
    if (!still_ours(w)) {
        BrimResult result = w->failure ? file_status(w, error)
                                       : fail(error, BRIM_ERROR_IO,
                                              "cannot write '%s': another process removed or "
                                              "replaced it while it was being written",
                                              w->path);
        writer_free(w);
        return result;
    }
    if (close(w->descriptor) != 0 && !w->failure) w->failure = errno;
    w->descriptor = -1;
    if (!w->failure && rename(w->temp, w->path) != 0) w->failure = errno;
    BrimResult result = file_status(w, error);
    if (result == BRIM_OK)
        result = sync_folder_of(w->path, error);
    else
        unlink(w->temp);
    writer_free(w);
    return result;
}

void file_abort(FileWriter **writer) {
    if (!writer || !*writer) return;
    if (still_ours(*writer)) unlink((*writer)->temp);
    writer_free(*writer);
    *writer = NULL;
}

// ---------------------------------------------------------------------------------- reading

BrimResult file_open(const char *path, FILE **in, uint64_t *bytes, BrimError *error) {
    *in = NULL;
    // a pipe would otherwise wait for its writer
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return file_fail(error, "read", path, errno);
    struct stat info;
    BrimResult result = BRIM_OK;
    if (fstat(descriptor, &info) != 0)
        result = file_fail(error, "read", path, errno);
    else if (!S_ISREG(info.st_mode))
        result = fail(error, BRIM_ERROR_IO, "cannot read '%s': it is not a regular file", path);
    else if (!(*in = fdopen(descriptor, "rb")))
        result = file_fail(error, "read", path, errno);
    if (result != BRIM_OK)
        close(descriptor);
    else
        *bytes = (uint64_t)info.st_size;
    return result;
}

// ---------------------------------------------------------------------------------- folders

static int make_one(const char *path) {
    struct stat info;
    if (mkdir(path, 0777) == 0) return 0;
    int code = errno;
    if (stat(path, &info) != 0) return code;
    return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
}

BrimResult folder_make(const char *path, BrimError *error) {
    char *copy = path_new("%s", path);
    if (!copy) return fail(error, BRIM_ERROR_MEMORY, "out of memory while creating '%s'", path);
    int code = *path ? 0 : ENOENT;
    for (char *p = copy; *p && !code; p++) {
        if (*p != '/' || p == copy) continue;
        *p = 0;
        code = make_one(copy);
        *p = '/';
    }
    if (!code) code = make_one(copy);
    free(copy);
    return code ? file_fail(error, "create the folder", path, code) : BRIM_OK;
}

BrimResult folder_sync(const char *path, BrimError *error) {
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return file_fail(error, "sync the folder", path, errno);
    // EINVAL, ENOTSUP: a file system that has nothing to sync for folders
    int code = fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP ? errno : 0;
    close(descriptor);
    return code ? file_fail(error, "sync the folder", path, code) : BRIM_OK;
}

bool folder_visit(const char *path, bool (*visit)(const char *name, void *context), void *context) {
    DIR *folder = opendir(path);
    if (!folder) return false;
    errno = 0;
    for (struct dirent *e; (e = readdir(folder));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (!visit(e->d_name, context)) break;
        errno = 0;
    }
    int code = errno;
    closedir(folder);
    errno = code;
    return code == 0;
}
