// Corners of the cells of a warped grid, from a file of its fields.
#include "base/error.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The header, up to the appended data; false when the file is another one.
static bool read_header(FILE *in, char *head, size_t room) {
    size_t used = 0;
    int c;
    while (used + 1 < room && (c = fgetc(in)) != EOF) {
        head[used++] = (char)c, head[used] = 0;
        if (c == '_' && used > 24 && strstr(head + used - 24, "encoding=\"raw\">\n_")) return true;
    }
    return false;
}

BrimResult brim_read_nodes(const char *path, float **nodes, size_t *count, BrimError *error) {
    enum { HEAD = 8192 };
    NEED(path, error);
    NEED(nodes, error);
    NEED(count, error);
    char head[HEAD];
    uint64_t bytes = 0;
    int e[6];
    *nodes = NULL, *count = 0;
    FILE *in = fopen(path, "rb");
    if (!in) return fail(error, BRIM_ERROR_IO, "%s: cannot be opened", path);
    const char *extent = NULL;
    bool sound = read_header(in, head, sizeof head) && strstr(head, "type=\"StructuredGrid\"") &&
                 (extent = strstr(head, "WholeExtent=\"")) != NULL &&
                 sscanf(extent, "WholeExtent=\"%d %d %d %d %d %d", &e[0], &e[1], &e[2], &e[3],
                        &e[4], &e[5]) == 6;
    size_t n = 1;
    for (int a = 0; a < 3 && sound; a++) {
        sound = e[2 * a] >= 0 && e[2 * a + 1] >= e[2 * a] && e[2 * a + 1] < 1 << 20 && n < 1 << 30;
        n *= (size_t)(e[2 * a + 1] - e[2 * a] + 1);
    }
    sound = sound && fread(&bytes, sizeof bytes, 1, in) == 1 && bytes == n * 3 * sizeof(float);
    float *out = sound ? memory_new(n * 3 * sizeof *out) : NULL;
    if (sound && !out) {
        fclose(in);
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for its nodes", path);
    }
    sound = sound && fread(out, sizeof *out, 3 * n, in) == 3 * n;
    fclose(in);
    if (!sound) {
        free(out);
        return fail(error, BRIM_ERROR_INPUT, "%s: is not a field file of a warped grid", path);
    }
    *nodes = out, *count = n;
    return BRIM_OK;
}
