// Solids: shapes that stand still, follow keyframes, turn, or are moved by the host.
#include "solid/solid.h"
#include "base/error.h"
#include "base/memory.h"
#include "formula/formula.h"
#include "solid/keyframes.h"
#include "solid/rotation.h"
#include "solid/shape.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct Solid {
    Shape *shape;   ///< around its own position, which is `pivot`; NULL: a body
    SolidBody body; ///< of which nothing of the following is read
    int dim;
    double pivot[3];
    BrimMotionKind motion;
    BrimKeyframe *keys;
    int key_count;
    double axis[3];  ///< unit
    double rate;     ///< degrees/s
    double fixed[6]; ///< path m and turn degrees where there is no formula
    Formula *formula[6];
    double start;
    SolidState state;
    double placed[2]; ///< when and over which step it was placed last, s
};

/// Where a solid is, and how it moves, at one instant. `offset` is from its pivot.
typedef struct Pose {
    double offset[3], rotation[9];
    double velocity[3], spin[3];
} Pose;

BrimSolidDef brim_default_solid_def(void) {
    return (BrimSolidDef){
        .shape = brim_default_shape_def(),
        .motion = BRIM_MOTION_STILL,
        .axis = {0, 1, 0},
        .look.roughness = 1,
    };
}

// ----------------------------------------------------------------------------------- building

static bool vector_ok(BrimVec3 v) {
    return fabsf(v.x) <= 1e7f && fabsf(v.y) <= 1e7f && fabsf(v.z) <= 1e7f;
}

static BrimResult set_keys(Solid *s, const BrimSolidDef *def, BrimError *error) {
    BrimResult r = keyframes_check(def->keyframes, def->keyframe_count, error);
    if (r != BRIM_OK) return r;
    s->keys = memory_new((size_t)def->keyframe_count * sizeof *s->keys);
    if (!s->keys) return fail(error, BRIM_ERROR_MEMORY, "no memory for keyframes");
    memcpy(s->keys, def->keyframes, (size_t)def->keyframe_count * sizeof *s->keys);
    s->key_count = def->keyframe_count;
    return BRIM_OK;
}

static BrimResult set_rotation(Solid *s, const BrimSolidDef *def, BrimError *error) {
    double a[3] = {def->axis.x, def->axis.y, def->axis.z};
    if (s->dim == 2) a[0] = a[1] = 0, a[2] = def->axis.z < 0 ? -1 : 1;
    double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    if (!(length > 1e-12 && length <= 1e12))
        return fail(error, BRIM_ERROR_INPUT, "rotation: axis (%g, %g, %g) has no direction",
                    (double)def->axis.x, (double)def->axis.y, (double)def->axis.z);
    if (!(fabsf(def->rate) <= 1e7f))
        return fail(error, BRIM_ERROR_INPUT,
                    "rotation: rate = %g degrees/s is not finite or "
                    "above 1e7",
                    (double)def->rate);
    for (int i = 0; i < 3; i++) s->axis[i] = a[i] / length;
    s->rate = def->rate;
    return BRIM_OK;
}

static BrimResult set_formulas(Solid *s, const BrimSolidDef *def, BrimError *error) {
    if (!vector_ok(def->path) || !vector_ok(def->turn))
        return fail(error, BRIM_ERROR_INPUT, "path or turn is not finite or above 1e7");
    const float fixed[6] = {def->path.x, def->path.y, def->path.z,
                            def->turn.x, def->turn.y, def->turn.z};
    for (int c = 0; c < 6; c++) {
        const char *text = c < 3 ? def->path_formula[c] : def->turn_formula[c - 3];
        bool out = s->dim == 2 && c >= 2 && c <= 4; // of the plane
        if (out) continue;
        s->fixed[c] = fixed[c];
        if (!text) continue;
        BrimResult r = formula_new(text, def->shape.names, FORMULA_T, &s->formula[c], error);
        if (r != BRIM_OK) return r;
    }
    return BRIM_OK;
}

static BrimResult set_motion(Solid *s, const BrimSolidDef *def, BrimError *error) {
    if (!(fabs(def->start) <= 1e9))
        return fail(error, BRIM_ERROR_INPUT, "a solid's start of %g s is not finite or too large",
                    def->start);
    s->start = def->start;
    s->motion = def->motion;
    switch (def->motion) {
    case BRIM_MOTION_STILL:
        return BRIM_OK;
    case BRIM_MOTION_KEYFRAMES:
        return set_keys(s, def, error);
    case BRIM_MOTION_ROTATION:
        return set_rotation(s, def, error);
    case BRIM_MOTION_FORMULA:
        return set_formulas(s, def, error);
    }
    return fail(error, BRIM_ERROR_INPUT, "a solid's motion %d does not exist", (int)def->motion);
}

BrimResult solid_new(const BrimSolidDef *def, int dim, float resolution, Solid **solid,
                     BrimError *error) {
    *solid = NULL;
    if (!vector_ok(def->shape.position))
        return fail(error, BRIM_ERROR_INPUT, "a solid's position is not finite or above 1e7 m");
    Solid *s = memory_zero(sizeof *s);
    if (!s) return fail(error, BRIM_ERROR_MEMORY, "no memory for a solid");
    s->dim = dim;
    s->pivot[0] = def->shape.position.x, s->pivot[1] = def->shape.position.y;
    s->pivot[2] = dim == 2 ? 0 : def->shape.position.z;
    BrimShapeDef around = def->shape;
    around.position = (BrimVec3){0, 0, 0};
    BrimResult result = set_motion(s, def, error);
    if (result == BRIM_OK) result = shape_new(&around, dim, resolution, &s->shape, error);
    if (result != BRIM_OK) {
        solid_free(&s);
        return result;
    }
    if (!solid_place(s, s->start, 0)) {
        solid_free(&s);
        return fail(error, BRIM_ERROR_MEMORY, "no memory for a mesh that deforms");
    }
    if (!solid_state_sound(&s->state)) {
        solid_free(&s);
        return fail(error, BRIM_ERROR_INPUT, "path or turn is not a number at t = %g s",
                    def->start);
    }
    *solid = s;
    return BRIM_OK;
}

BrimResult solid_new_body(const SolidBody *body, int dim, Solid **solid, BrimError *error) {
    static const float upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    Solid *s = memory_zero(sizeof *s);
    *solid = s;
    if (!s) return fail(error, BRIM_ERROR_MEMORY, "no memory for a body");
    s->dim = dim, s->body = *body;
    memcpy(s->state.placement.rotation, upright, sizeof upright);
    return BRIM_OK;
}

BrimResult solid_new_surface(const struct Trimesh *mesh, const char *name, int dim,
                             float resolution, Solid **solid, BrimError *error) {
    Solid *s = *solid = memory_zero(sizeof *s);
    if (!s) return fail(error, BRIM_ERROR_MEMORY, "no memory for a solid");
    s->dim = dim;
    BrimResult result = shape_new_surface(mesh, name, dim, resolution, &s->shape, error);
    if (result == BRIM_OK) solid_place(s, 0, 0); // needs memory only where it deforms
    if (result != BRIM_OK) solid_free(solid);
    return result;
}

bool solid_is_body(const Solid *s) {
    return !s->shape;
}

const Shape *solid_shape(const Solid *s) {
    return s->shape;
}

void solid_free(Solid **solid) {
    Solid *s = *solid;
    if (!s) return;
    shape_free(&s->shape);
    for (int c = 0; c < 6; c++) formula_free(&s->formula[c]);
    free(s->keys);
    free(s);
    *solid = NULL;
}

size_t solid_bytes(const Solid *s) {
    size_t formulas = 0;
    for (int c = 0; c < 6; c++) formulas += s->formula[c] ? formula_bytes(s->formula[c]) : 0;
    return formulas + sizeof *s + (size_t)s->key_count * sizeof *s->keys +
           (s->shape ? shape_bytes(s->shape) : 0);
}

// ------------------------------------------------------------------------------------- motion

/// By formulas: value [6] and rate of change [6].
static void formula_path(const Solid *s, double time, double value[6], double rate[6]) {
    const double h = 1e-4; // s: as exact as doubles allow for motions of seconds
    for (int c = 0; c < 6; c++) {
        const Formula *f = s->formula[c];
        value[c] = f ? formula_at(f, 0, 0, 0, time) : s->fixed[c];
        rate[c] =
            f ? (formula_at(f, 0, 0, 0, time + h) - formula_at(f, 0, 0, 0, time - h)) / (2 * h) : 0;
    }
}

static void motion_path(const Solid *s, double time, double value[6], double rate[6]) {
    if (s->motion == BRIM_MOTION_FORMULA)
        formula_path(s, time, value, rate);
    else
        keyframes_at(s->keys, s->key_count, s->dim, time, value, rate);
}

static void path_pose(const Solid *s, double time, Pose *pose) {
    double value[6], rate[6];
    motion_path(s, time, value, rate);
    memcpy(pose->offset, value, sizeof pose->offset);
    memcpy(pose->velocity, rate, sizeof pose->velocity);
    rotation_from_degrees(value + 3, pose->rotation);
    rotation_rates_to_spin(value + 3, rate + 3, pose->spin);
}

/// Straight and at an even pace from one placement to the other, turning the short way.
static void hosted_pose(const Solid *s, double time, Pose *pose) {
    const SolidState *m = &s->state;
    double length = m->move_end - m->move_start;
    double t = time >= m->move_end && time > m->move_start ? 1
               : time <= m->move_start                     ? 0
                                                           : (time - m->move_start) / length;
    bool moving = time > m->move_start && time < m->move_end;
    double from_angles[3], to_angles[3], from[9], to[9], relative[9], turn[3], part[9];
    for (int i = 0; i < 3; i++) {
        from_angles[i] = m->from_rotation[i], to_angles[i] = m->to_rotation[i];
        double way = (double)m->to_position[i] - m->from_position[i];
        pose->offset[i] = m->from_position[i] + t * way;
        pose->velocity[i] = moving ? way / length : 0;
    }
    rotation_from_degrees(from_angles, from);
    rotation_from_degrees(to_angles, to);
    rotation_multiply_transposed(to, from, relative);
    rotation_vector(relative, turn);
    double angle = sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
    double axis[3] = {1, 0, 0};
    for (int i = 0; i < 3; i++) {
        if (angle > 0) axis[i] = turn[i] / angle;
        pose->spin[i] = moving ? turn[i] / length : 0;
    }
    rotation_about(axis, t * angle * 180 / M_PI, part);
    if (t == 1)
        memcpy(pose->rotation, to, sizeof to);
    else
        rotation_multiply(part, from, pose->rotation);
}

/// Whether it goes by position and angles over time.
static bool has_path(const Solid *s) {
    return s->motion == BRIM_MOTION_KEYFRAMES || s->motion == BRIM_MOTION_FORMULA;
}

static void pose_at(const Solid *s, double time, Pose *pose) {
    static const Pose rest = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    *pose = rest;
    if (s->state.hosted) {
        hosted_pose(s, time, pose);
    } else if (has_path(s)) {
        path_pose(s, time, pose);
    } else if (s->motion == BRIM_MOTION_ROTATION) {
        rotation_about(s->axis, s->rate * (time - s->start), pose->rotation);
        for (int i = 0; i < 3; i++) pose->spin[i] = s->axis[i] * s->rate * M_PI / 180;
    }
}

/// How far the angles change over a time at most, degrees, as far as samples tell.
static double angle_change(const Solid *s, double from, double to) {
    if (s->state.hosted || !has_path(s)) return 0;
    double sum = 0, a[6], b[6], rate[6];
    enum { SAMPLES = 8 };
    motion_path(s, from, a, rate);
    for (int i = 1; i <= SAMPLES; i++) {
        motion_path(s, from + (to - from) * i / SAMPLES, b, rate);
        for (int c = 3; c < 6; c++) sum += fabs(b[c] - a[c]);
        memcpy(a, b, sizeof a);
    }
    return sum;
}

/// Mean angular velocity over [from, to]: that of the one rotation which leads from pose to pose,
/// in parts where the whole may be more than half a turn.
static void mean_spin(const Solid *s, double from, double to, double spin[3]) {
    int parts = 1 + (int)fmin(1000, angle_change(s, from, to) / 120);
    Pose a, b;
    pose_at(s, from, &a);
    spin[0] = spin[1] = spin[2] = 0;
    for (int i = 1; i <= parts; i++) {
        double relative[9], turn[3];
        pose_at(s, i == parts ? to : from + (to - from) * i / parts, &b);
        rotation_multiply_transposed(b.rotation, a.rotation, relative);
        rotation_vector(relative, turn);
        for (int k = 0; k < 3; k++) spin[k] += turn[k] / (to - from);
        a = b;
    }
}

/// Whether the host puts the solid somewhere else at once in [time - dt, time]: that is no motion.
static bool jumps(const Solid *s, double time, double dt) {
    const SolidState *m = &s->state;
    return m->hosted && m->move_end <= m->move_start && m->move_start >= time - dt &&
           m->move_start < time;
}

bool solid_follows(const Solid *s, double time) {
    double value[6], rate[6], sum = 0;
    if (s->motion != BRIM_MOTION_FORMULA || s->state.hosted || s->state.removed) return true;
    formula_path(s, time, value, rate);
    for (int c = 0; c < 6; c++) sum += fabs(value[c]);
    return sum <= 1e8;
}

bool solid_deforms(const Solid *s) {
    return s->shape && s->shape->frames;
}

void solid_set_team(Solid *s, Team *team) {
    if (solid_deforms(s)) s->shape->frames->team = team;
}

bool solid_deform(Solid *s, double time, double dt) {
    s->placed[0] = time, s->placed[1] = dt;
    Shape *shape = s->shape;
    return !solid_deforms(s) || mesh_frames_place(shape->frames, time, dt,
                                                  shape->resolution / shape->scale, &shape->mesh);
}

void solid_placed(const Solid *s, double *time, double *dt) {
    *time = s->placed[0], *dt = s->placed[1];
}

bool solid_place(Solid *s, double time, double dt) {
    Pose now, before;
    if (solid_is_body(s)) return true;
    pose_at(s, time, &now);
    memcpy(s->state.velocity, now.velocity, sizeof s->state.velocity);
    memcpy(s->state.spin, now.spin, sizeof s->state.spin);
    // a constant rotation has one spin, however far it turns in a step
    bool varies = s->state.hosted || has_path(s);
    if (dt > 0 && varies && !jumps(s, time, dt)) {
        pose_at(s, time - dt, &before);
        for (int i = 0; i < 3; i++) s->state.velocity[i] = (now.offset[i] - before.offset[i]) / dt;
        mean_spin(s, time - dt, time, s->state.spin);
    }
    for (int i = 0; i < 9; i++) s->state.placement.rotation[i] = (float)now.rotation[i];
    for (int i = 0; i < 3; i++)
        s->state.placement.position[i] = (float)(s->pivot[i] + now.offset[i]);
    return solid_deform(s, time, dt);
}

void solid_move(Solid *s, BrimVec3 position, BrimVec3 rotation, double time, double duration) {
    bool flat = s->dim == 2;
    Pose now;
    double angles[3];
    pose_at(s, time, &now);
    rotation_to_degrees(now.rotation, angles);
    const float to[6] = {
        position.x, position.y, flat ? 0 : position.z, flat ? 0 : rotation.x, flat ? 0 : rotation.y,
        rotation.z};
    SolidState *m = &s->state;
    m->hosted = 1;
    m->move_start = time;
    m->move_end = time + (duration > 0 ? duration : 0);
    for (int i = 0; i < 3; i++) {
        m->from_position[i] = (float)now.offset[i], m->to_position[i] = to[i];
        m->from_rotation[i] = (float)angles[i], m->to_rotation[i] = to[3 + i];
    }
}

void solid_remove(Solid *s) {
    s->state.removed = 1;
}

SolidState solid_state(const Solid *s) {
    return s->state;
}

bool solid_state_sound(const SolidState *state) {
    double sum = state->move_start + state->move_end; // what is not finite stays so in a sum
    for (int i = 0; i < 3; i++)
        sum += state->velocity[i] + state->spin[i] + state->placement.position[i] +
               state->from_position[i] + state->to_position[i] + state->from_rotation[i] +
               state->to_rotation[i];
    for (int i = 0; i < 9; i++) sum += state->placement.rotation[i];
    return isfinite(sum);
}

void solid_set_state(Solid *s, const SolidState *state) {
    s->state = *state;
}

bool solid_moves(const Solid *s) {
    return s->state.hosted || s->motion != BRIM_MOTION_STILL || solid_is_body(s) ||
           solid_deforms(s);
}

bool solid_exists(const Solid *s, double time) {
    return time >= s->start && !s->state.removed;
}

// ------------------------------------------------------------------------------------ queries

void solid_distance(const Solid *s, int n, const float *x, const float *y, const float *z,
                    float *distance) {
    if (solid_is_body(s)) {
        s->body.distance(s->body.context, n, x, y, z, distance);
        return;
    }
    const float *r = s->state.placement.rotation, *p = s->state.placement.position;
    float lx[CHUNK], ly[CHUNK], lz[CHUNK];
    for (int start = 0; start < n; start += CHUNK) {
        int m = n - start < CHUNK ? n - start : CHUNK;
        for (int i = 0; i < m; i++) {
            float dx = x[start + i] - p[0], dy = y[start + i] - p[1], dz = z[start + i] - p[2];
            lx[i] = r[0] * dx + r[3] * dy + r[6] * dz;
            ly[i] = r[1] * dx + r[4] * dy + r[7] * dz;
            lz[i] = r[2] * dx + r[5] * dy + r[8] * dz;
        }
        shape_distance(s->shape, m, lx, ly, lz, distance + start);
    }
}

/// What deformation adds to the velocity at a point, m/s.
static void deform_velocity(const Solid *s, const float point[3], double out[3]) {
    const Shape *shape = s->shape;
    const float *r = s->state.placement.rotation, *c = s->state.placement.position;
    float moved[3], local[3];
    double v[3], turned[3];
    for (int i = 0; i < 3; i++) // the inverse of a rotation is its transpose
        moved[i] = r[i] * (point[0] - c[0]) + r[3 + i] * (point[1] - c[1]) +
                   r[6 + i] * (point[2] - c[2]) - shape->position[i];
    const float *m = shape->to_local;
    for (int i = 0; i < 3; i++)
        local[i] = m[3 * i] * moved[0] + m[3 * i + 1] * moved[1] + m[3 * i + 2] * moved[2];
    mesh_frames_velocity(shape->frames, &shape->mesh, local, v);
    rotation_apply(shape->frame.rotation, v, turned);
    for (int i = 0; i < 3; i++) {
        out[i] = 0;
        for (int k = 0; k < 3; k++) out[i] += r[3 * i + k] * shape->frame.scale * turned[k];
    }
}

double solid_flexing(const Solid *s) {
    return solid_deforms(s) ? s->shape->frame.scale * s->shape->frames->fastest : 0;
}

BrimVec3 solid_velocity(const Solid *s, float x, float y, float z) {
    if (solid_is_body(s)) return s->body.velocity(s->body.context, (const float[3]){x, y, z});
    const float *c = s->state.placement.position;
    double rx = (double)x - c[0], ry = (double)y - c[1], rz = s->dim == 2 ? 0 : (double)z - c[2];
    const double *w = s->state.spin, *u = s->state.velocity;
    double v[3] = {u[0], u[1], u[2]}, own[3];
    if (solid_deforms(s)) {
        deform_velocity(s, (const float[3]){x, y, z}, own);
        for (int i = 0; i < 3; i++) v[i] += own[i];
    }
    return (BrimVec3){(float)(v[0] + w[1] * rz - w[2] * ry), (float)(v[1] + w[2] * rx - w[0] * rz),
                      (float)(v[2] + w[0] * ry - w[1] * rx)};
}

float solid_velocity_reach(const Solid *s) {
    return solid_is_body(s) ? s->body.known : INFINITY;
}

double solid_body_speed(const Solid *s) {
    return s->body.fastest(s->body.context);
}

double solid_way(const Solid *s, double from, double to, const float point[3]) {
    Pose before, after;
    double local[3] = {0}, way2 = 0, own = 0;
    if (solid_is_body(s)) return (to - from) * solid_body_speed(s); // it does not know its way
    if (solid_deforms(s)) own = s->shape->frame.scale * mesh_frames_way(s->shape->frames, from, to);
    pose_at(s, from, &before);
    pose_at(s, to, &after);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) // the inverse of a rotation is its transpose
            local[i] += before.rotation[3 * k + i] * (point[k] - s->pivot[k] - before.offset[k]);
    for (int i = 0; i < 3; i++) {
        double there = s->pivot[i] + after.offset[i] - point[i];
        for (int k = 0; k < 3; k++) there += after.rotation[3 * i + k] * local[k];
        way2 += there * there;
    }
    return sqrt(way2) + own;
}

bool solid_bounds(const Solid *s, float low[3], float high[3]) {
    if (solid_is_body(s)) return s->body.bounds(s->body.context, low, high);
    return shape_bounds_placed(s->shape, &s->state.placement, low, high);
}

float solid_thickness(const Solid *s) {
    return solid_is_body(s) ? s->body.thickness : shape_thickness(s->shape);
}
