#include "scene/check.h"
#include "base/error.h"
#include "scene/fields.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHAPE_DEPTH = 32, SHAPE_CHILDREN = 4096 };

/// Always true, so that a check ends with `return found(...)`.
__attribute__((format(printf, 4, 5))) static bool found(Problem *problem, const char *path,
                                                        const char *key, const char *format, ...) {
    snprintf(problem->key, sizeof problem->key, "%.180s%s%.60s", path, *path && *key ? "." : "",
             key);
    va_list args;
    va_start(args, format);
    vsnprintf(problem->text, sizeof problem->text, format, args);
    va_end(args);
    return true;
}

/// To six digits: enough to recognise a value by.
static const char *number(double value, char out[32]) {
    double unit = value == 0 || !isfinite(value) ? 1 : pow(10, 5 - floor(log10(fabs(value))));
    double rounded = round(value * unit) / unit;
    number_print(isfinite(rounded) ? rounded : value, false, out);
    return out;
}

/// What the formulas of a struct may use.
static const BrimNames *names_of(const Table *table, const void *base) {
    if (table == &table_sim) return &((const BrimSimDef *)base)->names;
    if (table >= table_shape && table < table_shape + SHAPE_KINDS)
        return ((const BrimShapeDef *)base)->names;
    if (table->shape_offset == NO_SHAPE) return NULL;
    return ((const BrimShapeDef *)(const void *)((const char *)base + table->shape_offset))->names;
}

/// Formulas that stand for numbers of a field, or are the field.
static bool check_formulas(Problem *problem, const Table *table, const Field *field,
                           const void *base, const char *path) {
    bool alone = field->store == STORE_FORMULA;
    bool vector =
        field->store == STORE_VECTOR || field->store == STORE_TURN || field->store == STORE_GRAVITY;
    if (!alone && !field->formula) return false;
    const char *const *texts =
        (const char *const *)(const void *)((const char *)base +
                                            (alone ? field->offset : field->formula));
    for (int i = 0; i < (vector ? 3 : 1); i++) {
        Formula *formula;
        BrimError error;
        char key[80];
        if (!texts[i]) continue;
        BrimResult r =
            formula_new(texts[i], names_of(table, base), field->variables, &formula, &error);
        formula_free(&formula);
        snprintf(key, sizeof key, vector ? "%.60s[%d]" : "%.60s", field_key(table, field), i);
        if (r != BRIM_OK) return found(problem, path, key, "%s", error.message);
    }
    return false;
}

/// Every number of a struct against its range in the table.
static bool check_table(Problem *problem, const Table *table, const void *base, int dim,
                        const char *path) {
    for (int i = 0; i < table->count; i++) {
        const Field *field = &table->fields[i];
        if (field->flags & FIELD_SHORTHAND || (dim == 2 && field->flags & FIELD_3D)) continue;
        if (!field_applies(table, field, base)) continue;
        if (check_formulas(problem, table, field, base, path)) return true;
        double value[3];
        int count = field_get(field, base, dim, value);
        for (int k = 0; k < count; k++) {
            if (field_allows(field, value[k])) continue;
            char text[32], allowed[240];
            field_allowed(field, dim, allowed, sizeof allowed);
            return found(problem, path, field_key(table, field), "%s is not allowed: %s",
                         number(value[k], text), allowed);
        }
    }
    return false;
}

/// A pointer and its count.
static bool check_list(Problem *problem, const char *path, const char *key, const void *items,
                       int count) {
    if (count < 0) return found(problem, path, key, "the count is %d: not below 0", count);
    return count > 0 && !items &&
           found(problem, path, key, "the pointer to %d items is NULL", count);
}

static bool is_zero(BrimVec3 v, int dim) {
    return v.x == 0 && v.y == 0 && (v.z == 0 || dim == 2);
}

static bool check_canyon(Problem *problem, const BrimCanyonDef *canyon, int dim, const char *path) {
    char at[256];
    if (check_table(problem, &table_canyon, canyon, dim, path)) return true;
    if (canyon->fall_count < 0 || canyon->fall_count > CANYON_FALLS)
        return found(problem, path, "falls", "%d waterfalls are not allowed: at most %d",
                     canyon->fall_count, CANYON_FALLS);
    for (int i = 0; i < canyon->fall_count; i++) {
        Fall fall = {canyon->fall_x[i], canyon->fall_drop[i]};
        snprintf(at, sizeof at, "%.200s.falls[%d]", path, i);
        if (check_table(problem, &table_fall, &fall, dim, at)) return true;
        if (i > 0 && canyon->fall_x[i] <= canyon->fall_x[i - 1])
            return found(problem, at, "x", "must be beyond the waterfall before it");
    }
    return false;
}

static bool check_height_field(Problem *problem, const BrimShapeDef *shape, int dim,
                               const char *path) {
    char at[256];
    if (!!shape->file + !!shape->heights + !!shape->canyon + !!shape->formula != 1)
        return found(problem, path, "", "give one of file, heights, formula and canyon");
    if (shape->formula) return false;
    if (shape->canyon) {
        snprintf(at, sizeof at, "%.200s.canyon", path);
        return check_canyon(problem, shape->canyon, dim, at);
    }
    if (shape->file)
        return shape->height <= 0 && found(problem, path, "height", "is missing: a number > 0 (m)");
    if (shape->heights_x < 2 || shape->heights_z < (dim == 3 ? 2 : 1))
        return found(problem, path, "heights", "%d by %d heights are too few", shape->heights_x,
                     shape->heights_z);
    for (size_t i = 0; i < (size_t)shape->heights_x * (size_t)shape->heights_z; i++)
        if (!isfinite(shape->heights[i]))
            return found(problem, path, "heights", "height %zu is not finite", i);
    return false;
}

/// A file or frames; frames where a mesh may deform.
static bool check_mesh(Problem *problem, const BrimShapeDef *shape, bool deforms,
                       const char *path) {
    if (!shape->file && !shape->frames)
        return found(problem, path, "file", "is missing: a closed triangle mesh");
    if (shape->file && shape->frames)
        return found(problem, path, "frames", "give file or frames, not both");
    return shape->frames && !deforms &&
           found(problem, path, "frames",
                 "only a solid by itself can be a mesh that deforms: give file");
}

/// May the shape be a mesh that deforms: at depth DEFORMS, of a solid.
enum { DEFORMS = -1 };

static bool check_shape(Problem *problem, const BrimShapeDef *shape, int dim, const char *path,
                        int depth) {
    char at[256], name[16], tube[32], radius[32];
    if ((unsigned)shape->kind >= SHAPE_KINDS)
        return found(problem, path, "", "%d is not a kind of shape", (int)shape->kind);
    snprintf(at, sizeof at, "%.200s.%s", path, shape_name(shape->kind, name));
    if (depth == SHAPE_DEPTH) return found(problem, path, "", "shapes are nested too deeply");
    if (check_table(problem, &table_shape[shape->kind], shape, dim, at)) return true;
    if (check_table(problem, &table_placement, shape, dim, at)) return true;
    switch (shape->kind) {
    case BRIM_SHAPE_PLANE:
        return is_zero(shape->normal, dim) &&
               found(problem, at, "normal", "0 is not allowed: a direction");
    case BRIM_SHAPE_TORUS:
        return shape->tube > shape->radius &&
               found(problem, at, "tube", "%s m is more than the radius of the ring, %s m",
                     number(shape->tube, tube), number(shape->radius, radius));
    case BRIM_SHAPE_HEIGHT_FIELD:
        return check_height_field(problem, shape, dim, at);
    case BRIM_SHAPE_MESH:
        return check_mesh(problem, shape, depth == DEFORMS, at);
    case BRIM_SHAPE_UNION:
    case BRIM_SHAPE_DIFFERENCE:
    case BRIM_SHAPE_SMOOTH_UNION:
        if (shape->child_count < 1 || shape->child_count > SHAPE_CHILDREN)
            return found(problem, at, "of", "%d shapes are not allowed: 1 to %d",
                         shape->child_count, SHAPE_CHILDREN);
        if (check_list(problem, at, "of", shape->children, shape->child_count)) return true;
        for (int i = 0; i < shape->child_count; i++) {
            char child[256];
            snprintf(child, sizeof child, "%.200s.of[%d]", at, i);
            if (check_shape(problem, &shape->children[i], dim, child, depth < 0 ? 1 : depth + 1))
                return true;
        }
        return false;
    default:
        return false;
    }
}

/// Values, and times that rise.
static bool check_keyframes(Problem *problem, const Table *table, const BrimKeyframe *keys,
                            int count, int dim, const char *path) {
    for (int i = 0; i < count; i++) {
        char at[256];
        snprintf(at, sizeof at, "%.200s.keyframes[%d]", path, i);
        if (check_table(problem, table, &keys[i], dim, at)) return true;
        if (i > 0 && keys[i].time <= keys[i - 1].time)
            return found(problem, at, "time", "must be later than the keyframe before it");
    }
    return false;
}

static bool check_motion(Problem *problem, const BrimSolidDef *solid, int dim, const char *path) {
    if (check_list(problem, path, "keyframes", solid->keyframes, solid->keyframe_count))
        return true;
    if (solid->motion == BRIM_MOTION_ROTATION && dim == 3 && is_zero(solid->axis, dim))
        return found(problem, path, "axis", "0 is not allowed: a direction");
    if (solid->motion == BRIM_MOTION_KEYFRAMES && solid->keyframe_count == 0)
        return found(problem, path, "keyframes",
                     "is missing: a list of {time, position, rotation}");
    return check_keyframes(problem, &table_keyframe, solid->keyframes, solid->keyframe_count, dim,
                           path);
}

static bool check_source(Problem *problem, const BrimSourceDef *source, int dim, const char *path) {
    if (source->stop <= source->start)
        return found(problem, path, "stop", "must be later than start (s)");
    if (source->flow > 0 && source->rate > 0)
        return found(problem, path, "rate", "give flow or rate, not both");
    for (int a = 0; a < 3; a++)
        if (source->velocity_formula[a]) return false;
    return is_zero(source->velocity, dim) &&
           found(problem, path, "velocity",
                 "must not be zero: it is the velocity with which the stream leaves (m/s)");
}

static bool check_force(Problem *problem, const BrimForceDef *force, int dim, const char *path) {
    if ((unsigned)force->kind > BRIM_FORCE_TARGET)
        return found(problem, path, "", "%d is not a kind of force", (int)force->kind);
    if (force->stop <= force->start)
        return found(problem, path, "stop", "must be later than start (s)");
    if (force->kind == BRIM_FORCE_TARGET && !force->within)
        return found(problem, path, "target", "needs a shape: what liquid is pulled to");
    if (force->kind == BRIM_FORCE_VORTEX && dim == 3 && is_zero(force->axis, dim))
        return found(problem, path, "vortex.axis", "0 is not allowed: a direction");
    if (force->kind != BRIM_FORCE_CURVE) return false;
    if (check_list(problem, path, "curve.points", force->points, force->point_count)) return true;
    if (force->point_count < 2)
        return found(problem, path, "curve.points", "%d are not allowed: two or more",
                     force->point_count);
    for (int i = 0; i < force->point_count; i++) {
        char at[256];
        snprintf(at, sizeof at, "%.200s.curve.points[%d]", path, i);
        if (check_table(problem, &table_force_point, &force->points[i], dim, at)) return true;
    }
    return false;
}

static bool check_grab(Problem *problem, const BrimGrabDef *grab, int dim, const char *path) {
    if (check_list(problem, path, "keyframes", grab->keyframes, grab->keyframe_count) ||
        check_table(problem, &table_grab, grab, dim, path))
        return true;
    if (grab->stop <= grab->start)
        return found(problem, path, "stop", "must be later than start (s)");
    return check_keyframes(problem, &table_grab_key, grab->keyframes, grab->keyframe_count, dim,
                           path);
}

static bool check_body(Problem *problem, const BrimBodyDef *body, int dim, const char *path) {
    bool immersed = body->coupling == BRIM_COUPLING_IMMERSED;
    if (immersed && body->rigid)
        return found(problem, path, "coupling",
                     "immersed is for elastic bodies: leave out rigid, or coupling");
    if (!immersed && body->solver == BRIM_BODY_PROJECTIVE && !body->rigid)
        return found(problem, path, "solver", "projective needs coupling: immersed");
    if (check_list(problem, path, "pins", body->pins, body->pin_count)) return true;
    if (body->rigid && body->pin_count > 0)
        return found(problem, path, "pins",
                     "hold a rigid body still: remove them, or make it one of the solids");
    if (body->shape.kind == BRIM_SHAPE_PLANE || body->shape.kind == BRIM_SHAPE_HEIGHT_FIELD)
        return found(problem, path, "", "a body must be bounded on all sides: no plane or ground");
    for (int i = 0; i < body->pin_count; i++) {
        char at[256];
        snprintf(at, sizeof at, "%.200s.pins[%d]", path, i);
        const BrimPinDef *pin = &body->pins[i];
        if (check_shape(problem, &pin->shape, dim, at, 0) ||
            check_list(problem, at, "keyframes", pin->keyframes, pin->keyframe_count) ||
            check_keyframes(problem, &table_pin_key, pin->keyframes, pin->keyframe_count, dim, at))
            return true;
    }
    if (check_list(problem, path, "grabs", body->grabs, body->grab_count)) return true;
    for (int i = 0; i < body->grab_count; i++) {
        char at[256];
        snprintf(at, sizeof at, "%.200s.grabs[%d]", path, i);
        if (check_grab(problem, &body->grabs[i], dim, at)) return true;
    }
    return false;
}

/// A name that a file can have, and no other gauge has.
static bool check_gauge_name(Problem *problem, const BrimSimDef *def, int index, const char *path) {
    enum { LONGEST = 48 };
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const char *name = def->gauges[index].name;
    if (!name || !*name || strlen(name) > LONGEST || strspn(name, letters) != strlen(name))
        return found(problem, path, "name",
                     "%.60s is not allowed: 1 to %d letters, digits, '_' and '-'",
                     name ? name : "none", LONGEST);
    for (int i = 0; i < index; i++)
        if (strcmp(def->gauges[i].name, name) == 0)
            return found(problem, path, "name", "%s is also the name of gauges[%d]", name, i);
    return false;
}

static bool check_gauge_body(Problem *problem, const BrimSimDef *def, const BrimGaugeDef *g,
                             const char *path, const char *key) {
    if (g->body < 0) return found(problem, path, key, "give the number of a body, from 0");
    return g->body >= def->body_count &&
           found(problem, path, key, "there is no body %d: the scene has %d bodies%s", g->body,
                 def->body_count, def->body_count ? ", counted from 0" : "");
}

static bool check_force_gauge(Problem *problem, const BrimSimDef *def, const BrimGaugeDef *g,
                              const char *path) {
    if ((g->solid >= 0) + (g->side > 0) + (g->body >= 0) != 1)
        return found(problem, path, "force", "give one of solid, side and body");
    if (g->body >= 0 && check_gauge_body(problem, def, g, path, "force.body")) return true;
    if (g->body >= 0 && def->bodies[g->body].coupling == BRIM_COUPLING_IMMERSED)
        return found(problem, path, "force.body",
                     "body %d is immersed, which has no wall: use coupling: strong", g->body);
    if (g->solid >= def->solid_count)
        return found(problem, path, "force.solid",
                     "there is no solid %d: the scene has %d solids%s", g->solid, def->solid_count,
                     def->solid_count ? ", counted from 0" : "");
    if (g->side > 2 * def->dim)
        return found(problem, path, "force.side", "has no meaning in 2D: x-, x+, y- or y+");
    return g->side > 0 && def->sides[g->side - 1] == BRIM_SIDE_OPEN &&
           found(problem, path, "force.side", "is open: only a wall feels a force");
}

/// Corners in order, and inside the domain where the gauge would else measure nothing.
static bool check_gauge_place(Problem *problem, const BrimSimDef *def, const BrimGaugeDef *g,
                              const char *path) {
    const float from[3] = {g->from.x, g->from.y, g->from.z}, to[3] = {g->to.x, g->to.y, g->to.z};
    const float size[3] = {def->size.x, def->size.y, def->size.z};
    int flat = 0;
    for (int a = 0; a < def->dim; a++) {
        bool box = g->kind == BRIM_GAUGE_FLOW || g->kind == BRIM_GAUGE_FRONT;
        const char *kind = g->kind == BRIM_GAUGE_FLOW ? "flow.high" : "front.high";
        if (box && to[a] < from[a])
            return found(problem, path, kind, "high must not be below low along %c", "xyz"[a]);
        if (g->kind == BRIM_GAUGE_POINT && (from[a] < 0 || from[a] > size[a] * 1.000001f))
            return found(problem, path, "point.at", "lies outside the domain along %c", "xyz"[a]);
        flat += to[a] == from[a];
    }
    if (g->kind == BRIM_GAUGE_HEIGHT && flat == def->dim)
        return found(problem, path, "height.to", "is the same point as from");
    if (g->kind == BRIM_GAUGE_FLOW && flat != 1)
        return found(problem, path, "flow",
                     "low and high must be equal along exactly one axis, that of the flow");
    return g->kind == BRIM_GAUGE_FRONT && g->towards >= 2 * def->dim &&
           found(problem, path, "front.towards", "has no meaning in 2D: x-, x+, y- or y+");
}

static bool check_gauge(Problem *problem, const BrimSimDef *def, int index, const char *path) {
    const BrimGaugeDef *g = &def->gauges[index];
    if ((unsigned)g->kind > BRIM_GAUGE_MOTION)
        return found(problem, path, "", "%d is not a kind of gauge", (int)g->kind);
    if (check_gauge_name(problem, def, index, path)) return true;
    if (g->kind == BRIM_GAUGE_FORCE) return check_force_gauge(problem, def, g, path);
    if (g->kind == BRIM_GAUGE_MOTION) return check_gauge_body(problem, def, g, path, "motion.body");
    return check_gauge_place(problem, def, g, path);
}

/// The part of a list's item that is particular to its table.
static bool check_item(Problem *problem, const Table *table, const void *item, int dim,
                       const char *path) {
    if (table == &table_solid) return check_motion(problem, item, dim, path);
    if (table == &table_body) return check_body(problem, item, dim, path);
    if (table == &table_source) return check_source(problem, item, dim, path);
    if (table == &table_force) return check_force(problem, item, dim, path);
    if (table == &table_drain) {
        const BrimDrainDef *drain = item;
        return drain->stop <= drain->start &&
               found(problem, path, "stop", "must be later than start (s)");
    }
    return false;
}

static bool check_items(Problem *problem, const Field *field, const BrimSimDef *def) {
    const Table *table = field->list;
    const char *items;
    int count;
    memcpy(&items, (const char *)def + field->offset, sizeof items);
    memcpy(&count, (const char *)def + field->count_offset, sizeof count);
    if (check_list(problem, "", field->info.key, items, count)) return true;
    for (int i = 0; i < count; i++) {
        const char *item = items + (size_t)i * table->size;
        const BrimShapeDef *shape = (const BrimShapeDef *)(item + table->shape_offset);
        char path[64];
        snprintf(path, sizeof path, "%.40s[%d]", field->info.key, i);
        if (check_table(problem, table, item, def->dim, path)) return true;
        int depth = table == &table_solid ? DEFORMS : 0;
        if (item_has_shape(table, item) && check_shape(problem, shape, def->dim, path, depth))
            return true;
        if (table == &table_gauge && check_gauge(problem, def, i, path)) return true;
        if (check_item(problem, table, item, def->dim, path)) return true;
    }
    return false;
}

/// Cells are cubes: the edge along each axis within a thousandth of that along x.
static bool check_cells(Problem *problem, const BrimSimDef *def) {
    const double size[3] = {def->size.x, def->size.y, def->size.z};
    const double dx = size[0] / def->cells[0];
    if (def->dim == 2 && def->cells[2] != 1)
        return found(problem, "domain", "cells", "in 2D there is 1 cell along z, not %d",
                     def->cells[2]);
    for (int a = 1; a < def->dim; a++) {
        double edge = size[a] / def->cells[a];
        if (fabs(edge / dx - 1) <= 1e-3) continue;
        char x[32], cube[32], other[32], length[32], fits[32], cells[48] = "";
        double nearest = round(size[a] / dx), least = ceil(size[a] / dx);
        double wanted = fabs(size[a] / dx / nearest - 1) <= 1e-3 ? nearest : least;
        if (wanted >= 4 && wanted < 262136)
            snprintf(cells, sizeof cells, ", or %.0f cells", wanted);
        return found(problem, "domain", "size",
                     "cells must be cubes: %d cells on %s m along x make them %s m wide, but %d on "
                     "%s m along %c make %s m; along %c give %s m%s",
                     def->cells[0], number(size[0], x), number(dx, cube), def->cells[a],
                     number(size[a], length), "xyz"[a], number(edge, other), "xyz"[a],
                     number(def->cells[a] * dx, fits), cells);
    }
    return false;
}

static bool check_per_cell(Problem *problem, const BrimSimDef *def) {
    for (int n = 1; n <= 8; n++)
        if (def->particles_per_cell == (def->dim == 2 ? n * n : n * n * n)) return false;
    return found(problem, "particles", "per_cell", "%d is not allowed: in %s",
                 def->particles_per_cell,
                 def->dim == 2 ? "2D a square: 1, 4, 9, 16, 25, 36, 49 or 64"
                               : "3D a cube number: 1, 8, 27 or 64");
}

static bool check_time(Problem *problem, const BrimSimDef *def) {
    char a[32], b[32];
    double frames = def->duration * def->frame_rate;
    if (!(frames < 1e7))
        return found(problem, "time", "duration",
                     "%s s at %s frames a second are more than 10 million frames",
                     number(def->duration, a), number(def->frame_rate, b));
    if (frames < 1 - 1e-9)
        return found(problem, "time", "duration", "%s s is shorter than a frame: at least %s s",
                     number(def->duration, a), number(1 / def->frame_rate, b));
    if (def->step > 0 && def->duration / def->step > 1e9)
        return found(problem, "time", "step", "%s s is too short: more than a billion steps",
                     number(def->step, a));
    if (def->step_max > 0 && def->duration / def->step_max > 1e9)
        return found(problem, "time", "step_max", "%s s is too short: more than a billion steps",
                     number(def->step_max, a));
    if (def->step_max > 0 && def->step_min > def->step_max)
        return found(problem, "time", "step_min", "%s s is longer than step_max, %s s",
                     number(def->step_min, a), number(def->step_max, b));
    return false;
}

/// Names of tables, and what `let` defines.
static bool check_names(Problem *problem, const BrimNames *names) {
    BrimError error;
    if (check_list(problem, "", "tables", names->tables, names->table_count)) return true;
    for (int i = 0; i < names->table_count; i++) {
        static const char letters[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
        const BrimNamedTable *t = &names->tables[i];
        char path[32];
        snprintf(path, sizeof path, "tables[%d]", i);
        if (!t->name || !*t->name || strlen(t->name) > 40 ||
            strspn(t->name, letters) != strlen(t->name) || strspn(t->name, letters + 53) > 0)
            return found(problem, path, "name",
                         "%.60s is not allowed: 1 to 40 letters, digits and '_', no digit first",
                         t->name ? t->name : "none");
        if (!t->file) return found(problem, path, "file", "is missing: a CSV file");
        for (int k = 0; k < i; k++)
            if (strcmp(names->tables[k].name, t->name) == 0)
                return found(problem, path, "name", "%s is also the name of tables[%d]", t->name,
                             k);
    }
    return names_check(names, &error) != BRIM_OK && found(problem, "", "let", "%s", error.message);
}

static bool check_gravity(Problem *problem, const BrimSimDef *def) {
    if (check_list(problem, "", "gravity", def->gravity_keys, def->gravity_key_count)) return true;
    bool formula = def->gravity_formula[0] || def->gravity_formula[1] || def->gravity_formula[2];
    if (formula && def->gravity_key_count)
        return found(problem, "", "gravity", "give formulas or keys, not both");
    for (int i = 0; i < def->gravity_key_count; i++) {
        char at[32];
        snprintf(at, sizeof at, "gravity[%d]", i);
        const BrimGravityKey *key = &def->gravity_keys[i];
        if (check_table(problem, &table_gravity, key, def->dim, at)) return true;
        if (i > 0 && key->time <= key[-1].time)
            return found(problem, at, "time", "must be later than the key before it");
    }
    return false;
}

/// Pairs in order, and what foam needs of a run that makes it.
static bool check_foam(Problem *problem, const BrimSimDef *def) {
    for (int i = 0; i < table_sim.count; i++) {
        const Field *field = &table_sim.fields[i];
        double value[3];
        char a[32], b[32];
        if (field->store != STORE_PAIR) continue;
        field_get(field, def, def->dim, value);
        if (value[0] > value[1])
            return found(problem, "", field->info.key,
                         "[%s, %s] is not allowed: the first number "
                         "must not be above the second",
                         number(value[0], a), number(value[1], b));
    }
    if (def->output.foam && !def->output.particles)
        return found(problem, "output", "foam",
                     "is made from the frames of particles: needs "
                     "output.particles: true");
    return def->output.interior && !def->band_width &&
           found(problem, "output", "interior",
                 "is for runs with a narrow band: without one (band.width: 0) frames hold all of "
                 "the liquid as particles");
}

/// The layers of a band.
static bool check_band(Problem *problem, const BrimSimDef *def) {
    if (!def->band_flip) return false;
    if (def->band_flip > def->band_width)
        return found(problem, "band", "flip", "%d is deeper than the band: at most band.width, %d",
                     def->band_flip, def->band_width);
    return def->transfer == BRIM_TRANSFER_APIC &&
           found(problem, "band", "flip", "needs solver.transfer: flip");
}

static bool check_mpm(Problem *problem, const BrimSimDef *def) {
    return def->mpm_control > 0 && def->volume != BRIM_VOLUME_AVERAGED &&
           found(problem, "mpm", "control", "needs solver.volume: averaged");
}

/// Largest ratio of densities.
static const double DENSITY_RATIO = 100;

static bool check_density(Problem *problem, const BrimSimDef *def, const char *list, int item,
                          double density) {
    char path[32];
    snprintf(path, sizeof path, "%s[%d]", list, item);
    if (!(density > 0)) return false;
    if (density < def->density / DENSITY_RATIO || density > def->density * DENSITY_RATIO)
        return found(problem, path, "density", "%g is not allowed: %g to %g kg/m^3", density,
                     def->density / DENSITY_RATIO, def->density * DENSITY_RATIO);
    const char *other = def->band_width > 0        ? "band.width"
                        : def->warp > 0            ? "grid.warp"
                        : def->nodal               ? "grid.nodal"
                        : def->mpm_substeps > 0    ? "mpm.substeps"
                        : def->viscosity > 0       ? "viscosity"
                        : def->surface_tension > 0 ? "surface_tension"
                        : def->body_count > 0      ? "bodies"
                                                   : NULL;
    return other && found(problem, path, "density",
                          "cannot be combined with %s: leave one of them out", other);
}

/// What liquids of different density do not go with.
static bool check_densities(Problem *problem, const BrimSimDef *def) {
    for (int i = 0; i < def->liquid_count && def->liquid; i++)
        if (check_density(problem, def, "liquid", i, def->liquid[i].density)) return true;
    for (int i = 0; i < def->source_count && def->sources; i++)
        if (check_density(problem, def, "sources", i, def->sources[i].density)) return true;
    return false;
}

static bool check_walls(Problem *problem, const BrimSimDef *def) {
    return def->wall_friction > 0 && def->wall_roughness > 0 &&
           found(problem, "walls", "friction",
                 "is a coefficient, walls.roughness the height from which it follows: give one of "
                 "them");
}

/// What immersed bodies do not go with.
static bool check_immersed(Problem *problem, const BrimSimDef *def) {
    int immersed = 0;
    for (int i = 0; i < def->body_count && def->bodies; i++)
        immersed += def->bodies[i].coupling == BRIM_COUPLING_IMMERSED;
    if (!immersed) return false;
    if (immersed < def->body_count)
        return found(problem, "bodies[0]", "coupling",
                     "must be the same for all bodies of a scene: strong or immersed");
    const char *other = def->band_width > 0                  ? "band.width"
                        : def->mpm_substeps > 0              ? "mpm.substeps"
                        : def->viscosity > 0                 ? "viscosity"
                        : def->surface_tension > 0           ? "surface_tension"
                        : def->tracking != BRIM_TRACKING_OFF ? "surface.tracking"
                        : def->spray_speed[1] > 0            ? "spray.speed"
                                                             : NULL;
    return other &&
           found(problem, "bodies[0]", "coupling",
                 "immersed cannot be combined with %s: leave one of them out, or use strong",
                 other);
}

/// What tracking needs to tell calm water by.
static bool check_tracking(Problem *problem, const BrimSimDef *def) {
    if (def->tracking == BRIM_TRACKING_OFF) return false;
    if (def->surface == BRIM_SURFACE_FLAGS)
        return found(problem, "surface", "tracking", "needs solver.surface: ghost-fluid");
    if (def->warp > 0 || def->nodal)
        return found(problem, "surface", "tracking",
                     "needs a regular grid: grid.warp: 0 and grid.nodal: false");
    if (def->band_width && def->band_width < 3)
        return found(problem, "band", "width",
                     "%d is too narrow with surface.tracking, which reads particles two cells "
                     "below the surface: at least 3",
                     def->band_width);
    return def->tracking_speed[1] == 0 && is_zero(def->gravity, def->dim) &&
           !def->gravity_key_count &&
           found(problem, "surface", "speed",
                 "is missing: without gravity there is no way to tell how fast calm water may be; "
                 "give two speeds (m/s)");
}

static bool check_look(Problem *problem, const BrimSimDef *def) {
    const BrimLookDef *look = &def->look;
    if (def->dim == 2) return false;
    if (is_zero(look->sun, 3))
        return found(problem, "look.sun", "direction", "0 is not allowed: a direction");
    for (int i = 0; i < look->keyframe_count; i++) {
        const BrimCameraKey *key = &look->keyframes[i];
        char at[64];
        snprintf(at, sizeof at, "look.camera.keyframes[%d]", i);
        if (i > 0 && key->time <= key[-1].time)
            return found(problem, at, "time", "must be later than the keyframe before it");
        if (memcmp(&key->eye, &key->target, sizeof key->eye) == 0)
            return found(problem, at, "target",
                         "is the camera's own position: the camera needs a direction");
    }
    return false;
}

static bool check_output(Problem *problem, const BrimSimDef *def) {
    if (def->output.paraview && !def->output.particles)
        return found(problem, "output", "paraview",
                     "is made from the frames of particles: needs "
                     "output.particles: true");
    if (def->dim == 2 && def->output.vdb)
        return found(problem, "output", "vdb", "needs a 3D scene");
    return def->dim == 2 && def->output.surface != BRIM_SURFACE_OUTPUT_NONE &&
           found(problem, "output", "surface", "needs a 3D scene");
}

/// What a warped grid cannot be combined with yet.
static bool check_warp(Problem *problem, const BrimSimDef *def) {
    const char *key = def->warp > 0 ? "warp" : "nodal";
    if (!(def->warp > 0) && !def->nodal)
        return def->volume == BRIM_VOLUME_CONTROL &&
               found(problem, "solver", "volume", "control needs a warped grid: see grid.warp");
    const bool blend = def->band_width > 0 && def->band_combine == BRIM_BAND_DENSITY;
    const char *other =
        def->body_count > 0                                    ? "bodies"
        : blend                                                ? "band.combine: density"
        : def->band_flip > 0                                   ? "band.flip"
        : def->preconditioner == BRIM_PRECONDITIONER_JACOBI    ? "solver.preconditioner: jacobi"
        : def->spray_speed[1] > 0                              ? "spray.speed"
        : def->mpm_substeps > 0                                ? "mpm.substeps"
        : def->viscosity > 0                                   ? "viscosity"
        : def->surface_tension > 0 && def->contact_angle != 90 ? "walls.contact_angle"
        : def->wall_friction > 0                               ? "walls.friction"
        : def->wall_roughness > 0                              ? "walls.roughness"
        : def->output.vdb                                      ? "output.vdb"
                                                               : NULL;
    return other && found(problem, "grid", key,
                          "cannot be combined with %s yet: leave one of them out", other);
}

bool def_has_problem(const BrimSimDef *def, Problem *problem) {
    if (def->cookie != BRIM_DEF_COOKIE)
        return found(problem, "", "BrimSimDef", "start from brim_default_sim_def()");
    if (def->dim != 2 && def->dim != 3)
        return found(problem, "", "dim", "%d is not allowed: 2 or 3", def->dim);
    if (check_names(problem, &def->names)) return true;
    if (check_table(problem, &table_sim, def, def->dim, "")) return true;
    if (check_cells(problem, def) || check_per_cell(problem, def) || check_time(problem, def) ||
        check_gravity(problem, def) || check_look(problem, def) || check_output(problem, def) ||
        check_foam(problem, def) || check_warp(problem, def) || check_tracking(problem, def) ||
        check_band(problem, def) || check_mpm(problem, def) || check_walls(problem, def))
        return true;
    for (int i = 0; i < table_sim.count; i++)
        if (table_sim.fields[i].store == STORE_LIST &&
            check_items(problem, &table_sim.fields[i], def))
            return true;
    return check_densities(problem, def) || check_immersed(problem, def);
}

BrimResult foam_def_check(const BrimFoamDef *foam, BrimError *error) {
    Problem problem;
    BrimSimDef def = brim_default_sim_def();
    if (foam->cookie != BRIM_DEF_COOKIE)
        return fail(error, BRIM_ERROR_INPUT, "BrimFoamDef: start from brim_default_foam_def()");
    def.foam = *foam;
    for (int i = 0; i < table_sim.count; i++) {
        const Table row = {"", &table_sim.fields[i], 1, sizeof def, NO_SHAPE, NULL, 0, 0};
        if (strncmp(row.fields->info.key, "foam.", 5) == 0 &&
            check_table(&problem, &row, &def, 3, ""))
            return fail(error, BRIM_ERROR_INPUT, "%s: %s", problem.key, problem.text);
    }
    if (!check_foam(&problem, &def)) return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT, "%s: %s", problem.key, problem.text);
}

BrimResult def_check(const BrimSimDef *def, BrimError *error) {
    Problem problem;
    if (!def_has_problem(def, &problem)) return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT, "%s: %s", problem.key, problem.text);
}

BrimResult liquid_check(const BrimLiquidDef *liquid, int dim, BrimError *error) {
    Problem problem;
    if (!check_table(&problem, &table_liquid, liquid, dim, "liquid") &&
        !check_shape(&problem, &liquid->shape, dim, "liquid", 0))
        return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT, "%s: %s", problem.key, problem.text);
}

BrimResult solid_check(const BrimSolidDef *solid, int dim, BrimError *error) {
    Problem problem;
    if (!check_table(&problem, &table_solid, solid, dim, "solid") &&
        !check_shape(&problem, &solid->shape, dim, "solid", DEFORMS) &&
        !check_motion(&problem, solid, dim, "solid"))
        return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT, "%s: %s", problem.key, problem.text);
}
