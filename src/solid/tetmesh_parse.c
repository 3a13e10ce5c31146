// Parsers of files of tetrahedra. Each takes memory in proportion to the file, whatever it says.
#include "base/error.h"
#include "base/memory.h"
#include "solid/bytes.h"
#include "solid/tetmesh.h"
#include <stdlib.h>
#include <string.h>

/// A file that is being read: names of vertices as the file has them, in the order of the mesh.
typedef struct Parser {
    Text text;
    const char *name;
    Tetmesh *mesh;
    BrimError *error;
    int64_t *tag; ///< [vertices]
    size_t tag_room;
    int64_t base; ///< tags are base, base + 1, ...
    bool in_order;
} Parser;

static BrimResult bad(const Parser *p, const char *what) {
    return fail(p->error, BRIM_ERROR_INPUT, "%s:%lld: %s", p->name, (long long)p->text.line, what);
}

static BrimResult out_of_memory(const Parser *p) {
    return trimesh_out_of_memory(p->name, p->error);
}

static bool number(Parser *p, double *value) {
    Word w;
    return text_word_anywhere(&p->text, &w) && word_number(w, value);
}

static bool integer(Parser *p, int64_t *value) {
    Word w;
    return text_word_anywhere(&p->text, &w) && word_integer(w, value);
}

static BrimResult add_vertex(Parser *p, int64_t tag) {
    double x[3];
    size_t n = p->mesh->vertex_count;
    for (int a = 0; a < 3; a++)
        if (!number(p, &x[a]) || !trimesh_coordinate_ok(x[a]))
            return bad(p, "three finite coordinates up to 1e9 are expected here");
    if (n >= UINT32_MAX - 1) return bad(p, "too many vertices");
    if (!memory_grow((void **)&p->tag, &p->tag_room, sizeof *p->tag, n + 1, n) ||
        !tetmesh_add_vertex(p->mesh, x))
        return out_of_memory(p);
    if (n == 0) p->base = tag, p->in_order = true;
    p->in_order &= tag == p->base + (int64_t)n;
    p->tag[n] = tag;
    return BRIM_OK;
}

typedef struct Named {
    int64_t tag;
    uint32_t at;
} Named;

static int by_tag(const void *a, const void *b) {
    const Named *x = a, *y = b;
    return x->tag != y->tag ? (x->tag < y->tag ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/// Corners of tets, tags as yet => indices. corner [tets][4]
static BrimResult resolve(Parser *p, const int64_t (*corner)[4], size_t count) {
    size_t n = p->mesh->vertex_count;
    Named *named = memory_new((n + 1) * sizeof *named);
    if (!named) return out_of_memory(p);
    for (size_t i = 0; i < n; i++) named[i] = (Named){p->tag[i], (uint32_t)i};
    if (!p->in_order) qsort(named, n, sizeof *named, by_tag);
    BrimResult r = BRIM_OK;
    for (size_t t = 0; t < count && r == BRIM_OK; t++) {
        uint32_t to[4];
        for (int k = 0; k < 4 && r == BRIM_OK; k++) {
            size_t low = 0, high = n;
            while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (named[middle].tag < corner[t][k])
                    low = middle + 1;
                else
                    high = middle;
            }
            if (low == n || named[low].tag != corner[t][k])
                r = fail(p->error, BRIM_ERROR_INPUT,
                         "%s: tetrahedron %zu names vertex %lld, which is not there (the file has "
                         "%zu)",
                         p->name, t + 1, (long long)corner[t][k], n);
            else
                to[k] = named[low].at;
        }
        if (r == BRIM_OK && !tetmesh_add_tet(p->mesh, to)) r = out_of_memory(p);
    }
    free(named);
    return r;
}

/// Tets of a file, by the tags of their corners.
typedef struct Corners {
    int64_t (*corner)[4];
    size_t count, room;
} Corners;

static BrimResult add_corners(Parser *p, Corners *c) {
    int64_t tag[4];
    for (int k = 0; k < 4; k++)
        if (!integer(p, &tag[k])) return bad(p, "four numbers of vertices are expected here");
    if (!memory_grow((void **)&c->corner, &c->room, sizeof *c->corner, c->count + 1, c->count))
        return out_of_memory(p);
    memcpy(c->corner[c->count++], tag, sizeof tag);
    return BRIM_OK;
}

// ----------------------------------------------------------------------------------------- Gmsh

enum { GMSH_TET = 4, GMSH_TET_QUADRATIC = 11 };

static BrimResult msh_nodes(Parser *p, bool new_format) {
    int64_t blocks = 1, count, dim, entity, parametric = 0, least, most;
    if (new_format ? !integer(p, &blocks) || !integer(p, &count) || !integer(p, &least) ||
                         !integer(p, &most)
                   : !integer(p, &count))
        return bad(p, "the number of nodes is expected here");
    for (int64_t b = 0; b < blocks; b++) {
        if (new_format && (!integer(p, &dim) || !integer(p, &entity) || !integer(p, &parametric) ||
                           !integer(p, &count)))
            return bad(p, "a block of nodes is expected here");
        // version 4 has all tags of a block before its places
        size_t first = p->mesh->vertex_count, room = 0;
        int64_t *tag = NULL, one;
        BrimResult r = BRIM_OK;
        for (int64_t i = 0; new_format && i < count && r == BRIM_OK; i++) {
            if (!integer(p, &one))
                r = bad(p, "the number of a node is expected here");
            else if (!memory_grow((void **)&tag, &room, sizeof *tag, (size_t)i + 1, (size_t)i))
                r = out_of_memory(p);
            else
                tag[i] = one;
        }
        for (int64_t i = 0; i < count && r == BRIM_OK; i++) {
            if (!new_format && !integer(p, &one)) {
                r = bad(p, "the number of a node is expected here");
                break;
            }
            r = add_vertex(p, new_format ? tag[i] : one);
            if (parametric) text_next_line(&p->text); // its parameters
        }
        free(tag);
        if (r != BRIM_OK) return r;
        if (p->mesh->vertex_count - first != (size_t)count) return bad(p, "nodes are missing");
    }
    return BRIM_OK;
}

/// The rest of a line is passed over: tets of second order have more nodes.
static BrimResult msh_elements(Parser *p, bool new_format, Corners *c) {
    int64_t blocks = 1, count, type, tags, skip, least, most;
    if (new_format ? !integer(p, &blocks) || !integer(p, &count) || !integer(p, &least) ||
                         !integer(p, &most)
                   : !integer(p, &count))
        return bad(p, "the number of elements is expected here");
    for (int64_t b = 0; b < blocks; b++) {
        if (new_format &&
            (!integer(p, &skip) || !integer(p, &skip) || !integer(p, &type) || !integer(p, &count)))
            return bad(p, "a block of elements is expected here");
        for (int64_t i = 0; i < count; i++) {
            if (!integer(p, &skip)) return bad(p, "an element is expected here");
            if (!new_format && (!integer(p, &type) || !integer(p, &tags)))
                return bad(p, "an element's type and tags are expected here");
            for (int64_t k = 0; !new_format && k < tags; k++)
                if (!integer(p, &skip)) return bad(p, "an element's tags are expected here");
            BrimResult r = BRIM_OK;
            if (type == GMSH_TET || type == GMSH_TET_QUADRATIC) r = add_corners(p, c);
            if (r != BRIM_OK) return r;
            text_next_line(&p->text);
        }
    }
    return BRIM_OK;
}

static BrimResult parse_msh(Parser *p, Corners *c) {
    Word w;
    double version = 0;
    int64_t binary = 0;
    BrimResult r = BRIM_OK;
    while (r == BRIM_OK && text_word_anywhere(&p->text, &w)) {
        if (word_is(w, "$MeshFormat")) {
            if (!number(p, &version) || !integer(p, &binary))
                return bad(p, "the version of the format is expected here");
            if (binary)
                return bad(p, "this is a binary Gmsh file: save it as ASCII (Mesh.Binary = 0)");
            if (!(version >= 2 && version < 3) && !(version >= 4.1 && version < 5))
                return bad(p, "this version of Gmsh's format is not known: save it as 2.2 or 4.1");
        } else if (word_is(w, "$Nodes")) {
            r = msh_nodes(p, version >= 4);
        } else if (word_is(w, "$Elements")) {
            r = msh_elements(p, version >= 4, c);
        }
    }
    if (r == BRIM_OK && version == 0) r = bad(p, "no $MeshFormat: this is not a Gmsh file");
    return r;
}

// ---------------------------------------------------------------------------------------- Medit

static BrimResult parse_medit(Parser *p, Corners *c) {
    Word w;
    BrimResult r = BRIM_OK;
    int64_t count;
    bool known = false;
    while (r == BRIM_OK && text_word_anywhere(&p->text, &w)) {
        known |= word_is(w, "MeshVersionFormatted");
        bool vertices = word_is(w, "Vertices"), tets = word_is(w, "Tetrahedra");
        if (!vertices && !tets) continue; // other kinds of elements, and what belongs to them
        if (!integer(p, &count)) return bad(p, "a number of items is expected here");
        for (int64_t i = 0; i < count && r == BRIM_OK; i++) {
            r = vertices ? add_vertex(p, i + 1) : add_corners(p, c);
            if (r == BRIM_OK) text_next_line(&p->text); // the reference
        }
    }
    if (r == BRIM_OK && !known)
        r = bad(p, "no MeshVersionFormatted: this is not a Medit mesh in ASCII");
    return r;
}

// ------------------------------------------------------------------------------------------ VTK

enum { VTK_TET = 10, VTK_TET_QUADRATIC = 24 };

/// Cells: how many corners each has, and their first four.
typedef struct Cells {
    int64_t (*corner)[4];
    uint8_t *enough; ///< at least four
    size_t count, room, enough_room;
} Cells;

static BrimResult vtk_add(Parser *p, Cells *cells, const int64_t corner[4], bool enough) {
    size_t n = cells->count;
    if (!memory_grow((void **)&cells->corner, &cells->room, sizeof *cells->corner, n + 1, n) ||
        !memory_grow((void **)&cells->enough, &cells->enough_room, 1, n + 1, n))
        return out_of_memory(p);
    memcpy(cells->corner[n], corner, sizeof *cells->corner);
    cells->enough[n] = enough;
    cells->count++;
    return BRIM_OK;
}

/// Before version 5: each cell as its number of corners and these.
static BrimResult vtk_cells(Parser *p, int64_t count, Cells *cells) {
    for (int64_t i = 0; i < count; i++) {
        int64_t corners, corner[4] = {0}, skip;
        if (!integer(p, &corners) || corners < 0) return bad(p, "a cell is expected here");
        for (int64_t k = 0; k < corners; k++)
            if (!integer(p, k < 4 ? &corner[k] : &skip)) return bad(p, "a corner is expected here");
        BrimResult r = vtk_add(p, cells, corner, corners >= 4);
        if (r != BRIM_OK) return r;
    }
    return BRIM_OK;
}

/// Version 5: where each cell begins in the list of all corners, then that list.
static BrimResult vtk_offsets(Parser *p, int64_t offsets, int64_t corners, Cells *cells) {
    Word w;
    int64_t *start = NULL, value, corner[4] = {0}, at = 0;
    size_t room = 0;
    BrimResult r = BRIM_OK;
    text_word(&p->text, &w); // the type of number
    for (int64_t i = 0; i < offsets && r == BRIM_OK; i++) {
        if (!integer(p, &value))
            r = bad(p, "an offset is expected here");
        else if (!memory_grow((void **)&start, &room, sizeof *start, (size_t)i + 1, (size_t)i))
            r = out_of_memory(p);
        else
            start[i] = value;
    }
    if (r == BRIM_OK && (!text_word_anywhere(&p->text, &w) || !word_is(w, "CONNECTIVITY")))
        r = bad(p, "CONNECTIVITY is expected here");
    text_word(&p->text, &w);
    for (int64_t i = 0; r == BRIM_OK && i + 1 < offsets; i++) {
        if (start[i] != at || start[i + 1] < at || start[i + 1] > corners) {
            r = bad(p, "offsets of cells must increase");
            break;
        }
        for (int64_t k = 0; at < start[i + 1] && r == BRIM_OK; at++, k++)
            if (!integer(p, k < 4 ? &corner[k] : &value)) r = bad(p, "a corner is expected here");
        if (r == BRIM_OK) r = vtk_add(p, cells, corner, start[i + 1] - start[i] >= 4);
    }
    free(start);
    return r;
}

static BrimResult vtk_types(Parser *p, int64_t count, const Cells *cells, Corners *c) {
    if ((size_t)count != cells->count) return bad(p, "there must be a type for each cell");
    for (size_t i = 0; i < cells->count; i++) {
        int64_t type;
        if (!integer(p, &type)) return bad(p, "the type of a cell is expected here");
        if ((type != VTK_TET && type != VTK_TET_QUADRATIC) || !cells->enough[i]) continue;
        if (!memory_grow((void **)&c->corner, &c->room, sizeof *c->corner, c->count + 1, c->count))
            return out_of_memory(p);
        memcpy(c->corner[c->count++], cells->corner[i], sizeof *c->corner);
    }
    return BRIM_OK;
}

static BrimResult vtk_section(Parser *p, Word w, Cells *cells, Corners *c) {
    int64_t count, size;
    if (word_is(w, "POINTS")) {
        if (!integer(p, &count) || !text_word(&p->text, &w))
            return bad(p, "the number of points and their type are expected here");
        for (int64_t i = 0; i < count; i++) {
            BrimResult r = add_vertex(p, i);
            if (r != BRIM_OK) return r;
        }
    } else if (word_is(w, "CELLS")) {
        if (!integer(p, &count) || !integer(p, &size))
            return bad(p, "the number of cells is expected here");
        Text before = p->text;
        if (text_word_anywhere(&p->text, &w) && word_is(w, "OFFSETS"))
            return vtk_offsets(p, count, size, cells);
        p->text = before;
        return vtk_cells(p, count, cells);
    } else if (word_is(w, "CELL_TYPES")) {
        if (!integer(p, &count) || count < 0) return bad(p, "the number of cells is expected here");
        return vtk_types(p, count, cells, c);
    }
    return BRIM_OK;
}

static BrimResult parse_vtk(Parser *p, Corners *c) {
    Word w;
    Cells cells = {0};
    BrimResult r = BRIM_OK;
    if (!text_word(&p->text, &w) || !word_is(w, "#") || !text_word(&p->text, &w) ||
        !word_is(w, "vtk"))
        return bad(p, "no \"# vtk DataFile\": this is not a legacy VTK file");
    text_next_line(&p->text);
    text_next_line(&p->text); // the title
    if (!text_word_anywhere(&p->text, &w) || !word_is(w, "ASCII"))
        return bad(p, "this VTK file is not in ASCII: save it as ASCII");
    while (r == BRIM_OK && text_word_anywhere(&p->text, &w)) r = vtk_section(p, w, &cells, c);
    free(cells.corner);
    free(cells.enough);
    return r;
}

// --------------------------------------------------------------------------------------- TetGen

/// Numbers of a line that is not a comment; at the end of the file false.
static bool next_integer(Parser *p, int64_t *value) {
    Word w;
    while (text_word_anywhere(&p->text, &w)) {
        if (w.start[0] == '#') {
            text_next_line(&p->text);
            continue;
        }
        return word_integer(w, value);
    }
    return false;
}

static BrimResult parse_node(Parser *p) {
    int64_t count, dim, tag;
    if (!next_integer(p, &count) || !integer(p, &dim) || dim != 3)
        return bad(p, "the number of vertices and the dimension, 3, are expected here");
    text_next_line(&p->text);
    for (int64_t i = 0; i < count; i++) {
        if (!next_integer(p, &tag)) return bad(p, "the number of a vertex is expected here");
        if (i == 0 && tag != 0 && tag != 1) return bad(p, "vertices must count from 0 or 1");
        BrimResult r = add_vertex(p, tag);
        if (r != BRIM_OK) return r;
        if (!p->in_order) return bad(p, "vertices must be in order");
        text_next_line(&p->text);
    }
    return BRIM_OK;
}

static BrimResult parse_ele(Parser *p, Corners *c) {
    int64_t count, corners, tag;
    if (!next_integer(p, &count) || !integer(p, &corners) || (corners != 4 && corners != 10))
        return bad(p, "the number of tetrahedra and of their corners, 4 or 10, is expected here");
    text_next_line(&p->text);
    for (int64_t i = 0; i < count; i++) {
        if (!next_integer(p, &tag)) return bad(p, "the number of a tetrahedron is expected here");
        if (i == 0) p->base = tag; // both files count alike
        BrimResult r = add_corners(p, c);
        if (r != BRIM_OK) return r;
        text_next_line(&p->text);
    }
    return BRIM_OK;
}

/// The vertices that a .node file gave, as the .ele file counts them.
static BrimResult name_vertices(Parser *p) {
    size_t n = p->mesh->vertex_count;
    p->tag = memory_new((n + 1) * sizeof *p->tag);
    if (!p->tag) return out_of_memory(p);
    for (size_t i = 0; i < n; i++) p->tag[i] = p->base + (int64_t)i;
    p->in_order = true;
    return BRIM_OK;
}

BrimResult tetmesh_parse(TetFormat format, const uint8_t *data, size_t size, const char *name,
                         Tetmesh *mesh, BrimError *error) {
    Parser p = {.text = text_of(data, size), .name = name, .mesh = mesh, .error = error};
    Corners c = {0};
    BrimResult r = format == TET_MSH    ? parse_msh(&p, &c)
                   : format == TET_MESH ? parse_medit(&p, &c)
                   : format == TET_VTK  ? parse_vtk(&p, &c)
                   : format == TET_NODE ? parse_node(&p)
                                        : parse_ele(&p, &c);
    if (r == BRIM_OK && format == TET_ELE) r = name_vertices(&p);
    if (r == BRIM_OK && c.count)
        r = resolve(&p, (const int64_t(*)[4])(const void *)c.corner, c.count);
    free(c.corner);
    free(p.tag);
    return r;
}
