// Wavefront OBJ: vertices (v) and polygons (f). All other lines say nothing about the shape.
#include "base/error.h"
#include "base/memory.h"
#include "solid/bytes.h"
#include "solid/trimesh.h"
#include <stdlib.h>
#include <string.h>

typedef struct Obj {
    Text text;
    const char *name;
    Trimesh *mesh;
    uint32_t *corners; ///< of the polygon being read
    size_t corner_capacity;
    BrimError *error;
} Obj;

static BrimResult bad_line(Obj *o, int64_t line, const char *what) {
    return fail(o->error, BRIM_ERROR_INPUT, "%s:%lld: %s", o->name, (long long)line, what);
}

static BrimResult read_vertex(Obj *o) {
    double p[3];
    int64_t line = o->text.line;
    for (int i = 0; i < 3; i++) {
        Word word;
        if (!text_word(&o->text, &word) || !word_number(word, &p[i]))
            return bad_line(o, line, "a vertex needs three numbers, as in 'v 1 0 0.5'");
        if (!trimesh_coordinate_ok(p[i]))
            return bad_line(o, line, "a coordinate is larger than 1e9");
    }
    return trimesh_add_vertex(o->mesh, p) ? BRIM_OK : trimesh_out_of_memory(o->name, o->error);
}

/// "7", "7/1", "7/1/3", "7//3"; counts from 1, or from the end when negative.
static BrimResult read_corner(Obj *o, Word word, int64_t line, uint32_t *corner) {
    const char *slash = memchr(word.start, '/', word.length);
    if (slash) word.length = (size_t)(slash - word.start);
    int64_t index, count = (int64_t)o->mesh->vertex_count;
    if (!word_integer(word, &index))
        return bad_line(o, line, "a face needs vertex numbers, as in 'f 1 2 3'");
    int64_t at = index < 0 ? count + index : index - 1;
    if (index == 0 || at < 0 || at >= count)
        return fail(o->error, BRIM_ERROR_INPUT,
                    "%s:%lld: a face names vertex %lld, but %lld vertices stand before it", o->name,
                    (long long)line, (long long)index, (long long)count);
    *corner = (uint32_t)at;
    return BRIM_OK;
}

static BrimResult read_face(Obj *o) {
    size_t count = 0;
    int64_t line = o->text.line;
    Word word;
    while (text_word(&o->text, &word)) {
        if (!memory_grow((void **)&o->corners, &o->corner_capacity, sizeof *o->corners, count + 1,
                         count))
            return trimesh_out_of_memory(o->name, o->error);
        BrimResult result = read_corner(o, word, line, &o->corners[count]);
        if (result != BRIM_OK) return result;
        count++;
    }
    if (count < 3) return bad_line(o, line, "a face needs at least three vertices");
    if (!trimesh_add_polygon(o->mesh, o->corners, count))
        return trimesh_out_of_memory(o->name, o->error);
    return BRIM_OK;
}

BrimResult trimesh_parse_obj(const uint8_t *data, size_t size, const char *name, Trimesh *mesh,
                             BrimError *error) {
    Obj o = {.text = text_of(data, size), .name = name, .mesh = mesh, .error = error};
    BrimResult result = BRIM_OK;
    do {
        Word word;
        if (!text_word(&o.text, &word)) continue;
        if (word_is(word, "v")) result = read_vertex(&o);
        if (word_is(word, "f")) result = read_face(&o);
    } while (result == BRIM_OK && text_next_line(&o.text));
    free(o.corners);
    return result;
}
