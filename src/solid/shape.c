// Shapes: built from defs, evaluated as trees.
#include "solid/shape.h"
#include "base/error.h"
#include "base/memory.h"
#include "solid/rotation.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32, MOST_CHILDREN = 4096 };

BrimShapeDef brim_default_shape_def(void) {
    return (BrimShapeDef){
        .kind = BRIM_SHAPE_BOX,
        .scale = 1,
        .size = {1, 1, 1},
        .radius = 0.5f,
        .tube = 0.1f,
        .height = 1,
        .normal = {0, 1, 0},
        .frame_rate = 24,
    };
}

static const char *kind_name(BrimShapeKind kind) {
    static const char *const names[] = {"box",   "sphere",     "cylinder",     "capsule",
                                        "plane", "torus",      "height field", "mesh",
                                        "union", "difference", "smooth union"};
    return names[kind];
}

static bool is_tree(BrimShapeKind kind) {
    return kind == BRIM_SHAPE_UNION || kind == BRIM_SHAPE_DIFFERENCE ||
           kind == BRIM_SHAPE_SMOOTH_UNION;
}

// ------------------------------------------------------------------------------------- checks

/// The largest length or place, m, that float coordinates are still of use for.
static const float farthest = 1e7f;

static bool vector_ok(BrimVec3 v) {
    return fabsf(v.x) <= farthest && fabsf(v.y) <= farthest && fabsf(v.z) <= farthest;
}

static BrimResult need_length(const BrimShapeDef *def, const char *what, float value,
                              BrimError *error) {
    if (value > 0 && value <= farthest) return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT, "%s: %s = %g m must be above 0 and at most 1e7",
                kind_name(def->kind), what, (double)value);
}

static BrimResult check_placement(const BrimShapeDef *def, BrimError *error) {
    if ((unsigned)def->kind > BRIM_SHAPE_SMOOTH_UNION)
        return fail(error, BRIM_ERROR_INPUT, "a shape's kind %d does not exist", (int)def->kind);
    if (!vector_ok(def->position) || !vector_ok(def->rotation))
        return fail(error, BRIM_ERROR_INPUT, "%s: position or rotation is not finite or above 1e7",
                    kind_name(def->kind));
    if (!(def->scale >= 1e-6f && def->scale <= 1e6f))
        return fail(error, BRIM_ERROR_INPUT, "%s: scale = %g must be between 1e-6 and 1e6",
                    kind_name(def->kind), (double)def->scale);
    return BRIM_OK;
}

static BrimResult check_children(const BrimShapeDef *def, int depth, BrimError *error) {
    if (def->child_count < 1 || def->child_count > MOST_CHILDREN || !def->children)
        return fail(error, BRIM_ERROR_INPUT, "%s: %d shapes; it needs 1 to %d",
                    kind_name(def->kind), def->child_count, (int)MOST_CHILDREN);
    if (depth >= DEEPEST)
        return fail(error, BRIM_ERROR_INPUT, "%s: shapes within shapes are more than %d deep",
                    kind_name(def->kind), (int)DEEPEST);
    if (def->kind == BRIM_SHAPE_SMOOTH_UNION && !(def->blend >= 0 && def->blend <= farthest))
        return fail(error, BRIM_ERROR_INPUT, "smooth union: blend = %g m must be from 0 to 1e7",
                    (double)def->blend);
    return BRIM_OK;
}

// ----------------------------------------------------------------------------------- building

static const Frame identity_frame = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}, 1};

/// The def's own placement inside `outer`. In 2D only what stays in the plane counts.
static Frame inner_frame(const Frame *outer, const BrimShapeDef *def, int dim) {
    bool flat = dim == 2;
    double place[3] = {def->position.x, def->position.y, flat ? 0 : def->position.z};
    double angles[3] = {flat ? 0 : def->rotation.x, flat ? 0 : def->rotation.y, def->rotation.z};
    Frame f = {.scale = outer->scale * def->scale};
    double turn[9], moved[3];
    rotation_from_degrees(angles, turn);
    rotation_multiply(outer->rotation, turn, f.rotation);
    rotation_apply(outer->rotation, place, moved);
    for (int i = 0; i < 3; i++) f.position[i] = outer->position[i] + outer->scale * moved[i];
    return f;
}

static void set_frame(Shape *s, const Frame *frame) {
    s->frame = *frame;
    if (s->kind == BRIM_SHAPE_SPHERE)
        memcpy(s->frame.rotation, identity_frame.rotation, sizeof s->frame.rotation);
    for (int i = 0; i < 3; i++) {
        s->position[i] = (float)frame->position[i];
        for (int j = 0; j < 3; j++) {
            bool out = s->dim == 2 && (i == 2 || j == 2);
            s->to_local[3 * i + j] = out ? 0 : (float)(s->frame.rotation[3 * j + i] / frame->scale);
        }
    }
    s->scale = (float)frame->scale;
}

static BrimResult set_box(Shape *s, const BrimShapeDef *def, BrimError *error) {
    const float size[3] = {def->size.x, def->size.y, def->size.z};
    static const char *const names[3] = {"size x", "size y", "size z"};
    for (int i = 0; i < s->dim; i++) {
        BrimResult result = need_length(def, names[i], size[i], error);
        if (result != BRIM_OK) return result;
        s->half[i] = 0.5f * size[i];
    }
    if (s->dim == 2) s->half[2] = INFINITY;
    return BRIM_OK;
}

static BrimResult set_round(Shape *s, const BrimShapeDef *def, BrimError *error) {
    BrimResult result = need_length(def, "radius", def->radius, error);
    bool tall = def->kind == BRIM_SHAPE_CYLINDER || def->kind == BRIM_SHAPE_CAPSULE;
    if (result == BRIM_OK && tall) result = need_length(def, "height", def->height, error);
    if (result == BRIM_OK && def->kind == BRIM_SHAPE_TORUS) {
        result = need_length(def, "tube", def->tube, error);
        if (result == BRIM_OK && def->tube > def->radius)
            result = fail(error, BRIM_ERROR_INPUT,
                          "torus: tube = %g m must not be above the radius of the ring, %g m",
                          (double)def->tube, (double)def->radius);
    }
    s->radius = def->radius, s->tube = def->tube, s->half[1] = 0.5f * def->height;
    return result;
}

static BrimResult set_plane(Shape *s, const BrimShapeDef *def, BrimError *error) {
    double n[3] = {def->normal.x, def->normal.y, s->dim == 2 ? 0 : def->normal.z};
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (!(length > 1e-12 && length <= 1e12))
        return fail(error, BRIM_ERROR_INPUT, "plane: normal (%g, %g, %g) has no direction%s",
                    (double)def->normal.x, (double)def->normal.y, (double)def->normal.z,
                    s->dim == 2 ? " in the x-y plane" : "");
    for (int i = 0; i < 3; i++) s->normal[i] = (float)(n[i] / length);
    return BRIM_OK;
}

static BrimResult set_mesh(Shape *s, const BrimShapeDef *def, double resolution, BrimError *error) {
    if (def->frames) {
        BrimResult r = mesh_frames_new(def, s->dim, &s->frames, error);
        if (r == BRIM_OK &&
            !mesh_frames_place(s->frames, def->frame_start, 0, resolution, &s->mesh))
            r = trimesh_out_of_memory(def->frames, error);
        return r;
    }
    if (!def->file || !def->file[0])
        return fail(error, BRIM_ERROR_INPUT, "mesh: needs a file (OBJ, PLY or STL)");
    Trimesh mesh = {0};
    BrimResult result = trimesh_load(def->file, &mesh, error);
    if (result == BRIM_OK)
        result = distance_grid_new(&mesh, def->file, s->dim, resolution, &s->mesh, error);
    trimesh_free(&mesh);
    return result;
}

BrimResult shape_new_surface(const Trimesh *mesh, const char *name, int dim, float resolution,
                             Shape **shape, BrimError *error) {
    Shape *s = *shape = memory_zero(sizeof *s);
    if (!s) return fail(error, BRIM_ERROR_MEMORY, "no memory for a shape");
    s->kind = BRIM_SHAPE_MESH, s->dim = dim, s->resolution = resolution;
    set_frame(s, &identity_frame);
    BrimResult result = distance_grid_new(mesh, name, dim, resolution, &s->mesh, error);
    if (result != BRIM_OK) shape_free(shape);
    return result;
}

static BrimResult build(const BrimShapeDef *def, int dim, float resolution, const Frame *outer,
                        int depth, Shape **out, BrimError *error);

static BrimResult set_children(Shape *s, const BrimShapeDef *def, const Frame *frame, int depth,
                               BrimError *error) {
    BrimResult result = check_children(def, depth, error);
    if (result != BRIM_OK) return result;
    s->blend = def->blend * (float)frame->scale;
    s->children = memory_zero((size_t)def->child_count * sizeof *s->children);
    if (!s->children) return fail(error, BRIM_ERROR_MEMORY, "no memory for a shape");
    s->child_count = def->child_count;
    for (int i = 0; i < def->child_count && result == BRIM_OK; i++)
        result = build(&def->children[i], s->dim, s->resolution, frame, depth + 1, &s->children[i],
                       error);
    return result;
}

static BrimResult set_kind(Shape *s, const BrimShapeDef *def, const Frame *frame, int depth,
                           BrimError *error) {
    double local_resolution = s->resolution / frame->scale;
    switch (def->kind) {
    case BRIM_SHAPE_BOX:
        return set_box(s, def, error);
    case BRIM_SHAPE_SPHERE:
    case BRIM_SHAPE_CYLINDER:
    case BRIM_SHAPE_CAPSULE:
    case BRIM_SHAPE_TORUS:
        return set_round(s, def, error);
    case BRIM_SHAPE_PLANE:
        return set_plane(s, def, error);
    case BRIM_SHAPE_HEIGHT_FIELD:
        return height_field_new(def, s->dim, local_resolution, &s->ground, error);
    case BRIM_SHAPE_MESH:
        return set_mesh(s, def, local_resolution, error);
    case BRIM_SHAPE_UNION:
    case BRIM_SHAPE_DIFFERENCE:
    case BRIM_SHAPE_SMOOTH_UNION:
        return set_children(s, def, frame, depth, error);
    }
    return BRIM_OK;
}

static BrimResult build(const BrimShapeDef *def, int dim, float resolution, const Frame *outer,
                        int depth, Shape **out, BrimError *error) {
    BrimResult result = check_placement(def, error);
    if (result != BRIM_OK) return result;
    Frame frame = inner_frame(outer, def, dim);
    if (!(frame.scale >= 1e-9 && frame.scale <= 1e9))
        return fail(error, BRIM_ERROR_INPUT, "%s: the scales of nested shapes multiply to %g",
                    kind_name(def->kind), frame.scale);
    Shape *s = memory_zero(sizeof *s);
    if (!s) return fail(error, BRIM_ERROR_MEMORY, "no memory for a shape");
    s->kind = def->kind, s->dim = dim, s->resolution = resolution;
    set_frame(s, &frame);
    result = set_kind(s, def, &frame, depth, error);
    if (result == BRIM_OK)
        *out = s;
    else
        shape_free(&s);
    return result;
}

BrimResult shape_new(const BrimShapeDef *def, int dim, float resolution, Shape **shape,
                     BrimError *error) {
    *shape = NULL;
    if (!(resolution > 0 && resolution <= farthest))
        return fail(error, BRIM_ERROR_INPUT,
                    "a shape's resolution of %g m must be above 0 and at most 1e7",
                    (double)resolution);
    return build(def, dim, resolution, &identity_frame, 0, shape, error);
}

void shape_free(Shape **shape) {
    Shape *s = *shape;
    if (!s) return;
    for (int i = 0; i < s->child_count; i++) shape_free(&s->children[i]);
    free(s->children);
    height_field_free(&s->ground);
    distance_grid_free(&s->mesh);
    mesh_frames_free(&s->frames);
    free(s);
    *shape = NULL;
}

size_t shape_bytes(const Shape *s) {
    size_t bytes = sizeof *s + height_field_bytes(&s->ground) + distance_grid_bytes(&s->mesh) +
                   (size_t)s->child_count * sizeof *s->children;
    if (s->frames) bytes += mesh_frames_bytes(s->frames);
    for (int i = 0; i < s->child_count; i++) bytes += shape_bytes(s->children[i]);
    return bytes;
}

// ----------------------------------------------------------------------------------- distance

static void leaf(const Shape *s, int n, const float *restrict x, const float *restrict y,
                 const float *restrict z, float *restrict distance) {
    float lx[CHUNK], ly[CHUNK], lz[CHUNK];
    const float *r = s->to_local, *p = s->position;
    for (int i = 0; i < n; i++) {
        float dx = x[i] - p[0], dy = y[i] - p[1], dz = z[i] - p[2];
        lx[i] = r[0] * dx + r[1] * dy + r[2] * dz;
        ly[i] = r[3] * dx + r[4] * dy + r[5] * dz;
        lz[i] = r[6] * dx + r[7] * dy + r[8] * dz;
    }
    shape_leaf_distance(s, n, lx, ly, lz, distance);
}

/// d [n] joined with the next child's e [n].
static void join(const Shape *s, int n, float *restrict d, const float *restrict e) {
    if (s->kind == BRIM_SHAPE_DIFFERENCE) {
        for (int i = 0; i < n; i++) d[i] = d[i] > -e[i] ? d[i] : -e[i];
    } else if (s->kind == BRIM_SHAPE_UNION || !(s->blend > 0)) {
        for (int i = 0; i < n; i++) d[i] = d[i] < e[i] ? d[i] : e[i];
    } else {
        // a parabola that leaves either surface at `blend` from the other; slope at most 1
        float k = s->blend, over = 0.25f / s->blend;
        for (int i = 0; i < n; i++) {
            float near = k - fabsf(d[i] - e[i]), least = d[i] < e[i] ? d[i] : e[i];
            near = near > 0 ? near : 0;
            d[i] = least - near * near * over;
        }
    }
}

/// Marks the points near a face that what d [n] stands for shares with the next child. Returns
/// whether there are any.
static bool mark_seams(const Shape *s, int n, const float *d, const float *e, bool *seam) {
    bool any = false;
    float side = s->kind == BRIM_SHAPE_DIFFERENCE ? -1 : 1;
    if (s->kind == BRIM_SHAPE_SMOOTH_UNION && s->blend > 0) return false;
    for (int i = 0; i < n; i++) {
        bool here = seam_between(s, d[i], side * e[i]);
        seam[i] |= here;
        any |= here;
    }
    return any;
}

/// seams: distances near faces that parts share are made good, else they are 0 there.
static void evaluate(const Shape *s, int n, const float *x, const float *y, const float *z,
                     bool seams, float *distance) {
    if (!is_tree(s->kind)) {
        leaf(s, n, x, y, z, distance);
        return;
    }
    float next[CHUNK];
    bool seam[CHUNK] = {false}, any = false;
    evaluate(s->children[0], n, x, y, z, seams, distance);
    for (int i = 1; i < s->child_count; i++) {
        evaluate(s->children[i], n, x, y, z, seams, next);
        if (seams) any |= mark_seams(s, n, distance, next, seam);
        join(s, n, distance, next);
    }
    for (int i = 0; i < n && any; i++)
        if (seam[i]) distance[i] = seam_distance(s, x[i], y[i], z[i], distance[i]);
}

static void evaluate_all(const Shape *s, int n, const float *x, const float *y, const float *z,
                         bool seams, float *distance) {
    for (int i = 0; i < n; i += CHUNK) {
        int m = n - i < CHUNK ? n - i : CHUNK;
        evaluate(s, m, x + i, y + i, z + i, seams, distance + i);
    }
}

void shape_distance(const Shape *s, int n, const float *x, const float *y, const float *z,
                    float *distance) {
    evaluate_all(s, n, x, y, z, true, distance);
}

void shape_distance_bound(const Shape *s, int n, const float *x, const float *y, const float *z,
                          float *distance) {
    evaluate_all(s, n, x, y, z, false, distance);
}
