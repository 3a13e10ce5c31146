// Fields that brim_write_fields wrote, read back: header, sizes and the range of each field.
#include "base/error.h"
#include "io/vti.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MOST = 8192, CHUNK = 4096 };

static const char data_mark[] = "<AppendedData encoding=\"raw\">\n_";
static const char data_end[] = "\n</AppendedData>\n</VTKFile>\n";

static BrimResult not_ours(const char *path, BrimError *error) {
    return fail(error, BRIM_ERROR_INPUT,
                "'%s' is not a field file of Brim: VTK image data, raw appended floats", path);
}

static BrimResult damaged(const char *path, BrimError *error) {
    return fail(error, BRIM_ERROR_DAMAGED, "'%s' is damaged: its sizes do not agree", path);
}

/// The fields that the header names; false when it is not as we write it.
static bool read_arrays(const char *head, VtiFile *v) {
    const char *at = head;
    while ((at = strstr(at, "<DataArray type=\"Float32\" Name=\""))) {
        VtiField *f = &v->field[v->count];
        if (v->count >= VTI_FIELDS) return false;
        if (sscanf(at,
                   "<DataArray type=\"Float32\" Name=\"%31[a-z_]\" NumberOfComponents=\"%d\" "
                   "format=\"appended\" offset=\"%llu\"/>",
                   f->name, &f->components, &f->offset) != 3 ||
            f->components < 1 || f->components > 9)
            return false;
        v->count++, at++;
    }
    return v->count > 0;
}

static bool read_header(const char *head, VtiFile *v) {
    const char *note = strstr(head, "<!-- brim "), *time = strstr(head, "Name=\"TimeValue\"");
    const char *piece = strstr(head, "<Piece Extent=\""), *image = strstr(head, "Spacing=\"");
    int *e = v->extent;
    v->frame = -1, v->time = NAN;
    if (note) sscanf(note, "<!-- brim %31[^,], frame %d", v->version, &v->frame);
    if (time && (time = strchr(time, '>'))) sscanf(time, ">%lf", &v->time);
    if (!piece || !image || sscanf(image, "Spacing=\"%lf", &v->cell) != 1 ||
        sscanf(piece, "<Piece Extent=\"%d %d %d %d %d %d\"", &e[0], &e[1], &e[2], &e[3], &e[4],
               &e[5]) != 6)
        return false;
    v->cells = 1;
    for (int a = 0; a < 3; a++) {
        int64_t n = (int64_t)e[2 * a + 1] - e[2 * a];
        if (n < 0 || n > INT32_MAX || (n == 0 && a < 2)) return false;
        if (n > 0) v->cells *= (uint64_t)n; // none along z: 2D
        if (v->cells > (uint64_t)1 << 48) return false;
    }
    return read_arrays(head, v);
}

/// The range of a field's numbers. False when the file ends before them.
static bool read_range(FILE *in, uint64_t at, uint64_t floats, VtiField *f) {
    float chunk[CHUNK];
    f->low = INFINITY, f->high = -INFINITY;
    if (fseeko(in, (off_t)at, SEEK_SET) != 0) return false;
    for (uint64_t left = floats; left > 0;) {
        size_t n = left < CHUNK ? (size_t)left : CHUNK;
        if (fread(chunk, sizeof *chunk, n, in) != n) return false;
        for (size_t i = 0; i < n; i++) {
            f->not_numbers += !isfinite(chunk[i]);
            f->low = fminf(f->low, chunk[i]), f->high = fmaxf(f->high, chunk[i]);
        }
        left -= n;
    }
    return true;
}

static bool read_fields(FILE *in, uint64_t data, uint64_t bytes, VtiFile *v) {
    uint64_t next = 0;
    char end[sizeof data_end] = {0};
    for (int i = 0; i < v->count; i++) {
        VtiField *f = &v->field[i];
        uint64_t floats = v->cells * (uint64_t)f->components, stored = 0;
        if (f->offset != next || data + next + 8 > bytes) return false;
        if (fseeko(in, (off_t)(data + next), SEEK_SET) != 0 ||
            fread(&stored, sizeof stored, 1, in) != 1 || stored != floats * sizeof(float))
            return false;
        next += sizeof stored + stored;
        if (data + next > bytes || !read_range(in, data + next - stored, floats, f)) return false;
    }
    return data + next + strlen(data_end) == bytes &&
           fread(end, 1, strlen(data_end), in) == strlen(data_end) && strcmp(end, data_end) == 0;
}

BrimResult vti_read(FILE *in, uint64_t bytes, const char *path, VtiFile *v, BrimError *error) {
    char head[HEADER_MOST + 1];
    *v = (VtiFile){0};
    size_t n = fread(head, 1, HEADER_MOST, in);
    head[n] = 0; // the text ends where the numbers begin, which may hold zero bytes
    char *mark = strstr(head, data_mark);
    if (!strstr(head, "<VTKFile type=\"ImageData\"")) return not_ours(path, error);
    if (!mark) return n < HEADER_MOST ? damaged(path, error) : not_ours(path, error);
    uint64_t data = (uint64_t)(mark - head) + strlen(data_mark);
    *mark = 0, v->data = data;
    if (!read_header(head, v)) return not_ours(path, error);
    return read_fields(in, data, bytes, v) ? BRIM_OK : damaged(path, error);
}
