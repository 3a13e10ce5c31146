#include "io/rows.h"
#include "base/error.h"
#include "io/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct RowsFile {
    int descriptor;
    char *path;
    off_t bytes; ///< end of the last whole row
};

BrimResult rows_open(const char *path, RowsFile **file, BrimError *error) {
    *file = NULL;
    RowsFile *f = calloc(1, sizeof *f);
    char *copy = path_new("%s", path);
    if (!f || !copy) {
        free(f), free(copy);
        return fail(error, BRIM_ERROR_MEMORY, "out of memory while writing '%s'", path);
    }
    f->path = copy;
    f->descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    struct stat info;
    if (f->descriptor < 0 || fstat(f->descriptor, &info) != 0) {
        int code = errno;
        rows_close(&f);
        return file_fail(error, "write", path, code);
    }
    f->bytes = info.st_size;
    *file = f;
    return BRIM_OK;
}

/// Rows must not go on into a file that nobody can find any more.
static BrimResult check_is_there(const RowsFile *f, BrimError *error) {
    struct stat mine, there;
    if (fstat(f->descriptor, &mine) != 0) return file_fail(error, "write", f->path, errno);
    bool found = stat(f->path, &there) == 0;
    if (!found && errno != ENOENT && errno != ENOTDIR)
        return file_fail(error, "write", f->path, errno);
    if (found && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino) return BRIM_OK;
    return fail(error, BRIM_ERROR_IO,
                "'%s' was %s while the run was writing it: put it back as it was and resume, or "
                "resume without it, which begins its rows at the checkpoint",
                f->path, found ? "replaced by another file" : "removed");
}

BrimResult rows_append(RowsFile *f, const char *text, size_t bytes, BrimError *error) {
    BrimResult result = check_is_there(f, error);
    if (result != BRIM_OK) return result;
    int code = file_write_all(f->descriptor, text, bytes);
    if (code) {
        if (ftruncate(f->descriptor, f->bytes) != 0)
            return fail(error, BRIM_ERROR_IO, "cannot write '%s': %s; its last row is incomplete",
                        f->path, strerror(code));
        return file_fail(error, "write", f->path, code);
    }
    f->bytes += (off_t)bytes;
    return BRIM_OK;
}

BrimResult rows_sync(RowsFile *f, BrimError *error) {
    return fsync(f->descriptor) == 0 ? BRIM_OK : file_fail(error, "write", f->path, errno);
}

void rows_close(RowsFile **file) {
    if (!file || !*file) return;
    if ((*file)->descriptor >= 0) close((*file)->descriptor);
    free((*file)->path);
    free(*file);
    *file = NULL;
}
