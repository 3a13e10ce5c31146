// Bodies that touch one another take their Newton step together: A of all of them in one matrix,
// with what contact puts between them beside the diagonal.
//
// Unknowns are the changes of velocity of an elastic body, and for a rigid one its rigid motions,
// of which it takes the new velocity itself (dynamics.c): what a change of the others' velocities
// would be counted from is then on the right-hand side.
#include "base/memory.h"
#include "bodies/bodies.h"
#include "elastic/dense.h"
#include <stdlib.h>
#include <string.h>

void joint_free(Joint *j) {
    free(j->meeting), free(j->row), free(j->matrix), free(j->u);
    *j = (Joint){0};
}

size_t joint_bytes(const Joint *j) {
    return j->meeting_room * sizeof *j->meeting + (j->row_room + j->matrix_room) * sizeof(double);
}

bool joint_meet(Bodies *b, int one, const float *one_row, int two, const float *two_row,
                const double m[9]) {
    Joint *j = &b->joint;
    size_t r = (size_t)b->body[one].elastic->r, q = (size_t)b->body[two].elastic->r;
    if (!memory_grow((void **)&j->meeting, &j->meeting_room, sizeof *j->meeting, j->count + 1,
                     j->count) ||
        !memory_grow((void **)&j->row, &j->row_room, sizeof *j->row, j->row_count + r + q,
                     j->row_count))
        return false;
    Meeting *t = &j->meeting[j->count++];
    *t = (Meeting){.body = {one, two}, .row = {j->row_count, j->row_count + r}};
    memcpy(t->m, m, sizeof t->m);
    for (size_t i = 0; i < r; i++) j->row[j->row_count + i] = one_row[i];
    for (size_t i = 0; i < q; i++) j->row[j->row_count + r + i] = two_row[i];
    j->row_count += r + q;
    return true;
}

/// Unknowns of a body.
static int width(const Body *b) {
    return b->elastic->params.rigid ? b->elastic->rigid_motions : b->elastic->dofs;
}

/// What the unknowns do at the meeting: out [width][3], 0 beyond dim.
static void motion_at(const Body *b, const double *row, double *out) {
    const Elastic *e = b->elastic;
    int n = width(b), dim = b->dim;
    memset(out, 0, (size_t)n * 3 * sizeof *out);
    for (int i = 0; i < e->r; i++)
        for (int a = 0; a < dim; a++) {
            if (!e->params.rigid) out[3 * (i * dim + a) + a] = row[i];
            for (int k = 0; e->params.rigid && k < n; k++)
                out[3 * k + a] += row[i] * e->a[k * e->dofs + i * dim + a];
        }
}

/// The block of a meeting: matrix -= J_one m J_two^T, in the upper half; m is symmetric.
static void add_meeting(Bodies *b, const Meeting *t) {
    Joint *j = &b->joint;
    int low = b->body[t->body[0]].first < b->body[t->body[1]].first ? 0 : 1;
    const Body *one = &b->body[t->body[low]], *two = &b->body[t->body[!low]];
    double at_one[3 * ELASTIC_DOFS_MOST], at_two[3 * ELASTIC_DOFS_MOST];
    int n = width(one), m = width(two);
    motion_at(one, j->row + t->row[low], at_one);
    motion_at(two, j->row + t->row[!low], at_two);
    for (int i = 0; i < n; i++) {
        double f[3] = {0}, *to = j->matrix + (size_t)(one->first + i) * (size_t)j->n + two->first;
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++) f[c] += at_one[3 * i + a] * t->m[3 * a + c];
        for (int k = 0; k < m; k++)
            to[k] -= f[0] * at_two[3 * k] + f[1] * at_two[3 * k + 1] + f[2] * at_two[3 * k + 2];
    }
}

/// Velocity of a body at a meeting.
static void speed_at(const Joint *j, const Body *b, size_t row, const double *v, double out[3]) {
    out[0] = out[1] = out[2] = 0;
    for (int i = 0; i < b->elastic->r; i++)
        for (int a = 0; a < b->dim; a++) out[a] += j->row[row + (size_t)i] * v[i * b->dim + a];
}

/// f of side `side` -= J m times a velocity of the other side.
static void take_across(const Bodies *b, const Meeting *t, int side, const double u[3], double *f) {
    const Joint *j = &b->joint;
    const Body *body = &b->body[t->body[side]];
    for (int a = 0; a < body->dim; a++) {
        double push = 0;
        for (int c = 0; c < body->dim; c++) push += t->m[3 * a + c] * u[c];
        for (int i = 0; i < body->elastic->r; i++)
            f[i * body->dim + a] -= j->row[t->row[side] + (size_t)i] * push;
    }
}

/// Which bodies meet others, and where their unknowns begin.
static void place_bodies(Bodies *b) {
    Joint *j = &b->joint;
    j->n = 0;
    for (int k = 0; k < b->count; k++) b->body[k].first = -1;
    for (size_t i = 0; i < j->count; i++)
        for (int side = 0; side < 2; side++) b->body[j->meeting[i].body[side]].first = 0;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        if (body->first < 0) continue;
        body->first = j->n, j->n += width(body);
    }
}

bool joint_step(Bodies *b) {
    Joint *j = &b->joint;
    place_bodies(b);
    if (j->count == 0) return true;
    size_t n = (size_t)j->n;
    if (!memory_fit((void **)&j->matrix, &j->matrix_room, sizeof *j->matrix, n * n) ||
        !memory_fit((void **)&j->u, &j->u_room, sizeof *j->u, n))
        return false;
    memset(j->matrix, 0, n * n * sizeof *j->matrix);
    for (int k = 0; k < b->count; k++) {
        const Body *body = &b->body[k];
        if (body->first < 0) continue;
        int m = width(body);
        const double *from = body->elastic->params.rigid ? body->elastic->brake : body->elastic->a;
        for (int i = 0; i < m; i++)
            memcpy(j->matrix + (size_t)(body->first + i) * n + body->first, from + i * m,
                   (size_t)m * sizeof *from);
    }
    for (size_t i = 0; i < j->count; i++) {
        const Meeting *t = &j->meeting[i];
        add_meeting(b, t);
        for (int side = 0; side < 2; side++) {
            const Body *other = &b->body[t->body[!side]];
            double u[3];
            if (!other->elastic->params.rigid) continue;
            speed_at(j, other, t->row[!side], other->elastic->v, u);
            take_across(b, t, side, u, b->body[t->body[side]].step);
        }
    }
    return dense_cholesky(j->matrix, j->n, j->n);
}

void joint_comply(const Bodies *b) {
    const Joint *j = &b->joint;
    double *u = j->u;
    for (int k = 0; k < b->count; k++) {
        const Body *body = &b->body[k];
        const Elastic *e = body->elastic;
        if (body->first < 0) elastic_comply(e, body->step);
        for (int i = 0; body->first >= 0 && i < width(body); i++)
            u[body->first + i] = e->params.rigid
                                     ? dense_dot(e->a + i * e->dofs, body->step, e->dofs)
                                     : body->step[i];
    }
    if (j->count) dense_solve(j->matrix, j->n, u);
    for (int k = 0; k < b->count; k++) {
        const Body *body = &b->body[k];
        const Elastic *e = body->elastic;
        if (body->first < 0) continue;
        memset(body->step, 0, (size_t)e->dofs * sizeof *body->step);
        for (int i = 0; i < width(body); i++) {
            if (!e->params.rigid) body->step[i] = u[body->first + i];
            for (int n = 0; e->params.rigid && n < e->dofs; n++)
                body->step[n] += u[body->first + i] * e->a[i * e->dofs + n];
        }
    }
}

void joint_follow(const Bodies *b, int index, double *change) {
    const Joint *j = &b->joint;
    for (size_t i = 0; i < j->count; i++)
        for (int side = 0; side < 2; side++) {
            const Meeting *t = &j->meeting[i];
            const Body *other = &b->body[t->body[!side]];
            double v[ELASTIC_DOFS_MOST], u[3];
            if (t->body[side] != index) continue;
            for (int k = 0; k < other->elastic->dofs; k++)
                v[k] = other->elastic->v[k] - other->work[k];
            speed_at(j, other, t->row[!side], v, u);
            take_across(b, t, side, u, change);
        }
}
