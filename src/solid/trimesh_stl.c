// STL, binary and ascii: triangles without shared vertices.
#include "base/error.h"
#include "base/memory.h"
#include "solid/bytes.h"
#include "solid/trimesh.h"
#include <string.h>

enum { HEADER = 84, RECORD = 50 };

static uint32_t little32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/// A triangle of the last three vertices.
static bool add_last_three(Trimesh *mesh) {
    uint32_t n = (uint32_t)mesh->vertex_count;
    return trimesh_add_polygon(mesh, (uint32_t[3]){n - 3, n - 2, n - 1}, 3);
}

static BrimResult parse_binary(const uint8_t *data, size_t size, const char *name, Trimesh *mesh,
                               BrimError *error) {
    size_t count = little32(data + 80);
    if (count > (size - HEADER) / RECORD)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: truncated: its header promises %zu triangles (%zu bytes), the file has "
                    "%zu bytes",
                    name, count, HEADER + count * RECORD, size);
    for (size_t t = 0; t < count; t++) {
        // each record: normal, three vertices, two bytes of attributes
        size_t at = HEADER + t * RECORD + 12;
        for (int v = 0; v < 3; v++) {
            double p[3];
            for (int i = 0; i < 3; i++, at += 4) {
                uint32_t bits = little32(data + at);
                float value;
                memcpy(&value, &bits, sizeof value);
                p[i] = value;
                if (!trimesh_coordinate_ok(p[i]))
                    return fail(error, BRIM_ERROR_INPUT,
                                "%s: offset %zu: triangle %zu has a coordinate %g; allowed are "
                                "finite ones up to 1e9",
                                name, at, t, p[i]);
            }
            if (!trimesh_add_vertex(mesh, p)) return trimesh_out_of_memory(name, error);
        }
        if (!add_last_three(mesh)) return trimesh_out_of_memory(name, error);
    }
    return BRIM_OK;
}

static BrimResult bad_line(const Text *text, const char *name, const char *what, BrimError *error) {
    return fail(error, BRIM_ERROR_INPUT, "%s:%lld: %s", name, (long long)text->line, what);
}

static BrimResult parse_ascii_vertex(Text *text, const char *name, Trimesh *mesh,
                                     BrimError *error) {
    double p[3];
    for (int i = 0; i < 3; i++) {
        Word word;
        if (!text_word(text, &word) || !word_number(word, &p[i]))
            return bad_line(text, name, "a vertex needs three numbers", error);
        if (!trimesh_coordinate_ok(p[i]))
            return bad_line(text, name, "a coordinate is larger than 1e9", error);
    }
    return trimesh_add_vertex(mesh, p) ? BRIM_OK : trimesh_out_of_memory(name, error);
}

/// solid NAME { facet normal x y z { outer loop, 3 x vertex x y z, endloop } endfacet } endsolid
static BrimResult parse_ascii(const uint8_t *data, size_t size, const char *name, Trimesh *mesh,
                              BrimError *error) {
    Text text = text_of(data, size);
    bool in_solid = false, in_facet = false;
    size_t first = 0;
    Word word;
    while (text_word_anywhere(&text, &word)) {
        BrimResult result = BRIM_OK;
        if (!in_solid && !word_is(word, "solid"))
            return bad_line(&text, name, "expected 'solid'", error);
        if (word_is(word, "solid")) {
            in_solid = true;
            text_next_line(&text);
        } else if (word_is(word, "facet")) {
            if (in_facet) return bad_line(&text, name, "a facet inside a facet", error);
            in_facet = true;
            first = mesh->vertex_count;
            text_next_line(&text);
        } else if (word_is(word, "vertex")) {
            if (!in_facet) return bad_line(&text, name, "a vertex outside a facet", error);
            result = parse_ascii_vertex(&text, name, mesh, error);
        } else if (word_is(word, "endfacet")) {
            if (!in_facet || mesh->vertex_count - first != 3)
                return bad_line(&text, name, "a facet needs three vertices", error);
            in_facet = false;
            if (!add_last_three(mesh)) result = trimesh_out_of_memory(name, error);
        } else if (word_is(word, "endsolid")) {
            if (in_facet) return bad_line(&text, name, "the solid ends inside a facet", error);
            in_solid = false;
            text_next_line(&text);
        } else if (!word_is(word, "outer") && !word_is(word, "loop") && !word_is(word, "endloop")) {
            return bad_line(&text, name, "expected facet, vertex, endfacet or endsolid", error);
        }
        if (result != BRIM_OK) return result;
    }
    if (in_solid) return bad_line(&text, name, "truncated: 'endsolid' is missing", error);
    return BRIM_OK;
}

BrimResult trimesh_parse_stl(const uint8_t *data, size_t size, const char *name, Trimesh *mesh,
                             BrimError *error) {
    // binary files may open with "solid" too, so an exact size decides first
    bool exact = size >= HEADER && size == HEADER + (size_t)RECORD * little32(data + 80);
    bool text = size >= 5 && memcmp(data, "solid", 5) == 0;
    if (text && !exact) return parse_ascii(data, size, name, mesh, error);
    if (size < HEADER)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: truncated: %zu bytes, an STL file has at least %d or opens with 'solid'",
                    name, size, (int)HEADER);
    return parse_binary(data, size, name, mesh, error);
}
