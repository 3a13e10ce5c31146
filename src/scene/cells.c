#include "scene/cells.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/// An edge that is so near to whole cells is taken for them, of each cell's width.
static const double SLACK = 1e-3;
/// A face that is so near to a side, in cells, ends on it.
static const double TOUCH = 1e-3;

/// A box before and after its far sides moved.
typedef struct Moved {
    int dim;
    double cell; ///< m
    double old[3], now[3];
} Moved;

static float *axis_of(BrimVec3 *v, int axis) {
    return axis == 0 ? &v->x : axis == 1 ? &v->y : &v->z;
}

static bool is_straight(const BrimShapeDef *s) {
    return s->rotation.x == 0 && s->rotation.y == 0 && s->rotation.z == 0 && s->scale == 1;
}

/// Makes boxes that ended on a moved side end on it again. `offset` is where the shape's origin is.
static void stretch_shape(BrimShapeDef *s, const Moved *m, const double offset[3]) {
    if (!is_straight(s)) return;
    const double at[3] = {offset[0] + (double)s->position.x, offset[1] + (double)s->position.y,
                          offset[2] + (double)s->position.z};
    // what a scene points to is its own
    for (int i = 0; i < s->child_count; i++) stretch_shape((BrimShapeDef *)&s->children[i], m, at);
    if (s->kind != BRIM_SHAPE_BOX) return;
    for (int a = 1; a < m->dim; a++) {
        float *size = axis_of(&s->size, a), *position = axis_of(&s->position, a);
        double high = at[a] + 0.5 * (double)*size, grow = m->now[a] - m->old[a];
        if (!(grow > 0) || fabs(high - m->old[a]) > TOUCH * m->cell) continue;
        *size += (float)grow, *position += (float)(0.5 * grow);
    }
}

static void stretch_shapes(BrimSimDef *def, const Moved *m) {
    static const double origin[3];
    for (int i = 0; i < def->liquid_count; i++)
        stretch_shape((BrimShapeDef *)&def->liquid[i].shape, m, origin);
    for (int i = 0; i < def->solid_count; i++)
        if (def->solids[i].motion == BRIM_MOTION_STILL)
            stretch_shape((BrimShapeDef *)&def->solids[i].shape, m, origin);
    for (int i = 0; i < def->source_count; i++)
        stretch_shape((BrimShapeDef *)&def->sources[i].shape, m, origin);
    for (int i = 0; i < def->drain_count; i++)
        stretch_shape((BrimShapeDef *)&def->drains[i].shape, m, origin);
}

/// Cells along an axis, and the edge that they make.
static int whole_cells(int given, double edge, double cell, double *fits) {
    double nearest = round(edge / cell), least = ceil(edge / cell);
    *fits = edge;
    if (given > 0 && given != least) return given; // right, or wrong in a way to be told
    if (nearest >= 1 && fabs(edge / cell / nearest - 1) <= SLACK) return (int)fmin(nearest, 1e6);
    *fits = least * cell;
    return (int)fmin(least, 1e6);
}

static void write_note(const Moved *m, const BrimSimDef *def, char *note, size_t size) {
    size_t used = 0;
    note[0] = 0;
    for (int a = 1; a < m->dim; a++) {
        if (!(m->now[a] > m->old[a]) || used >= size) continue;
        int n = snprintf(note + used, size - used, "%s%c+ from %.6g to %.6g m (%d cells)",
                         used ? ", "
                              : "domain.size: cells are cubes, so the box is rounded "
                                "outward to whole cells: ",
                         "xyz"[a], m -> old[a], m -> now[a], def -> cells[a]);
        used += n > 0 ? (size_t)n : 0;
    }
}

void fit_cells(BrimSimDef *def, char *note, size_t note_size) {
    Moved m = {.dim = def->dim, .cell = (double)def->size.x / def->cells[0]};
    for (int a = 1; a < def->dim; a++) {
        m.old[a] = (double)*axis_of(&def->size, a);
        def->cells[a] = whole_cells(def->cells[a], m.old[a], m.cell, &m.now[a]);
        *axis_of(&def->size, a) = (float)m.now[a];
    }
    if (def->dim == 2) def->cells[2] = 1, def->size.z = (float)m.cell;
    stretch_shapes(def, &m);
    write_note(&m, def, note, note_size);
}
