#include "transfer_ref.h"
#include <math.h>

/// The particle's place on the lattice of a component (3: nodes): low node and fraction per axis.
typedef struct Corner {
    int cell[3];
    double f[3];
} Corner;

static Corner corner_of(const double at[3], int component, int dim) {
    Corner c = {{0}, {0}};
    for (int a = 0; a < dim; a++) {
        double x = at[a] - (a == component || component == 3 ? 0 : 0.5);
        c.cell[a] = (int)floor(x);
        c.f[a] = x - c.cell[a];
    }
    return c;
}

static double weight(const Corner *c, int n, int dim) {
    double w = 1;
    for (int a = 0; a < dim; a++) w *= n >> a & 1 ? c->f[a] : 1 - c->f[a];
    return w;
}

/// Derivative of the weight along an axis, per cell.
static double slope(const Corner *c, int n, int axis, int dim) {
    double w = n >> axis & 1 ? 1 : -1;
    for (int a = 0; a < dim; a++)
        if (a != axis) w *= n >> a & 1 ? c->f[a] : 1 - c->f[a];
    return w;
}

static int node(const Corner *c, int n, int edge) {
    return ((c->cell[2] + (n >> 2)) * edge + c->cell[1] + (n >> 1 & 1)) * edge + c->cell[0] +
           (n & 1);
}

static void position(const Span *p, int i, double at[3]) {
    for (int a = 0; a < 3; a++)
        at[a] = a < p->dim ? (double)p->attr[ATTR_X + a][i] * p->inv_dx - p->corner[a] : 0;
}

void ref_to_block(const Span *p, bool affine, double *block) {
    int component = (p->dim == 3 ? SCATTER_3D : SCATTER_2D) / p->dim;
    for (int i = 0; i < p->count; i++) {
        double at[3];
        position(p, i, at);
        for (int a = 0; a < p->dim; a++) {
            Corner c = corner_of(at, a, p->dim);
            for (int n = 0; n < 1 << p->dim; n++) {
                double v = p->attr[ATTR_VX + a][i], w = weight(&c, n, p->dim);
                if (p->attr[ATTR_MASS]) w *= p->attr[ATTR_MASS][i];
                for (int b = 0; b < p->dim && affine; b++)
                    v += p->attr[ATTR_AFFINE + 3 * a + b][i] * ((n >> b & 1) - c.f[b]);
                double *out = block + a * component + 2 * node(&c, n, SCATTER_EDGE);
                out[0] += w * v;
                out[1] += w;
            }
        }
    }
}

static double value_at(const float *block, const double at[3], int component, int edge, int dim,
                       double gradient[3]) {
    Corner c = corner_of(at, component, dim);
    double v = 0;
    for (int b = 0; b < dim; b++) gradient[b] = 0;
    for (int n = 0; n < 1 << dim; n++) {
        double x = block[node(&c, n, edge)];
        v += weight(&c, n, dim) * x;
        for (int b = 0; b < dim; b++) gradient[b] += slope(&c, n, b, dim) * x;
    }
    return v;
}

void ref_from_block(const Span *p, bool affine, float ratio, const float *const block[3],
                    int halo) {
    for (int i = 0; i < p->count; i++) {
        double at[3], gradient[3];
        position(p, i, at);
        for (int a = 0; a < p->dim; a++) {
            double v = value_at(block[a], at, a, block_edge(halo), p->dim, gradient);
            float *out = &p->attr[ATTR_VX + a][i];
            *out = (float)(v + (affine ? 0 : ratio * (double)*out));
            for (int b = 0; b < p->dim && affine; b++)
                p->attr[ATTR_AFFINE + 3 * a + b][i] = (float)gradient[b];
        }
    }
}

static void flow(const Span *p, const MoveParams *m, int i, int substeps, const double at[3],
                 double v[3]) {
    double gradient[3];
    for (int a = 0; a < p->dim; a++) {
        v[a] = value_at(m->velocity[a], at, a, block_edge(m->halo), p->dim, gradient);
        if (isnan(v[a])) v[a] = p->attr[ATTR_VX + a][i];
        v[a] *= (double)m->time / substeps * p->inv_dx;
    }
}

static double solid_distance_at(const Span *p, const MoveParams *m, const double x[3],
                                double gradient[3]) {
    int fine = m->fine ? 2 : 1;
    const double at[3] = {x[0] * fine, x[1] * fine, x[2] * fine};
    double d = value_at(m->solid, at, 3, block_edge(m->halo) * fine, p->dim, gradient);
    for (int a = 0; a < p->dim; a++) gradient[a] *= fine;
    return d * p->inv_dx;
}

/// Returns whether the particle found no way and went back to where it was.
static bool push_out(const Span *p, const MoveParams *m, const double from[3], double x[3]) {
    double g[3], was[3], before = solid_distance_at(p, m, from, was);
    bool across = false, pushed = false; // came to the middle of a wall, or beyond
    for (int push = 0; push < 3; push++) {
        double d = solid_distance_at(p, m, x, g), length = 0, opposed = 0;
        for (int a = 0; a < p->dim; a++) length += g[a] * g[a], opposed += g[a] * was[a];
        length = sqrt(length);
        if (push == 0) across = d < 0 && before > -0.1 && (opposed < 0 || length * p->inv_dx < 0.5);
        pushed |= d < 0;
        for (int a = 0; a < p->dim && d < 0 && length > 1e-9; a++)
            x[a] += (1e-3 - d) * g[a] / length;
    }
    bool stuck = across || (solid_distance_at(p, m, x, g) < 0 && before >= 0);
    double turn = 0, gone = 0; // pushed out behind a thin wall
    for (int a = 0; a < p->dim; a++) turn += g[a] * was[a], gone += g[a] * (x[a] - from[a]);
    stuck |= pushed && before > -0.1 && turn < 0 && gone > 0;
    for (int a = 0; a < p->dim && stuck; a++) x[a] = from[a];
    return stuck;
}

/// Where the wall takes a point in a part of the step, by its velocity half way.
static void with_wall(const Span *p, const MoveParams *m, double part, const double x[3],
                      double out[3]) {
    double gradient[3], half[3] = {x[0], x[1], x[2]}, way = part * (double)m->time * p->inv_dx;
    int edge = block_edge(m->halo);
    for (int a = 0; a < p->dim; a++)
        half[a] += 0.5 * way * value_at(m->wall[a], x, a, edge, p->dim, gradient);
    for (int a = 0; a < 3; a++) out[a] = x[a];
    for (int a = 0; a < p->dim; a++)
        out[a] += way * value_at(m->wall[a], half, a, edge, p->dim, gradient);
}

/// Out of a solid that moves: as out of one that stands where it ends, seen by points that go along
/// with it until then. before, after: parts of the step that are left
static bool push_out_moving(const Span *p, const MoveParams *m, const double from[3], double before,
                            double after, double x[3]) {
    double was[3], here[3], at[3];
    with_wall(p, m, before, from, was);
    with_wall(p, m, after, x, here);
    for (int a = 0; a < 3; a++) at[a] = here[a];
    bool stuck = push_out(p, m, was, at);
    for (int k = 0; k < 3; k++) { // what goes along from x shall end at `at`
        for (int a = 0; a < p->dim; a++) x[a] += at[a] - here[a];
        with_wall(p, m, after, x, here);
    }
    return stuck;
}

/// What is held at a place goes with the wall there, if that moves.
static void take_along(const Span *p, const MoveParams *m, int i, const double x[3]) {
    double gradient[3];
    int edge = block_edge(m->halo);
    for (int a = 0; a < p->dim; a++)
        p->attr[ATTR_VX + a][i] =
            m->wall[0] ? (float)value_at(m->wall[a], x, a, edge, p->dim, gradient) : 0;
}

/// Sub-steps of the sixteen particles that i is among.
static int substeps_of(const Span *p, const MoveParams *m, int i) {
    double fastest = 0, x[3], v[3];
    if (m->stride <= 0) return m->substeps;
    for (int j = i / 16 * 16; j < p->count && j < i / 16 * 16 + 16; j++) {
        position(p, j, x);
        flow(p, m, j, 1, x, v);
        for (int a = 0; a < p->dim; a++) fastest = fmax(fastest, fabs(v[a]));
    }
    return (int)fmin(m->substeps, 1 + floor(fastest / (double)m->stride));
}

int ref_move(const Span *p, const MoveParams *m, uint32_t *far) {
    static int substeps[1 << 16];
    int far_count = 0;
    for (int i = 0; i < p->count; i++) substeps[i] = substeps_of(p, m, i);
    for (int i = 0; i < p->count; i++) {
        double x[3], a[3], b[3], c[3], at[3] = {0}, start[3];
        bool left = false, held = false;
        position(p, i, x);
        position(p, i, start);
        for (int s = 0; s < substeps[i] && !left; s++) {
            const double from[3] = {x[0], x[1], x[2]};
            flow(p, m, i, substeps[i], x, a);
            for (int k = 0; k < p->dim; k++) at[k] = x[k] + 0.5 * a[k];
            flow(p, m, i, substeps[i], at, b);
            if (m->scheme == BRIM_ADVECTION_RK3) {
                for (int k = 0; k < p->dim; k++) at[k] = x[k] + 0.75 * b[k];
                flow(p, m, i, substeps[i], at, c);
                for (int k = 0; k < p->dim; k++) b[k] = (2 * a[k] + 3 * b[k] + 4 * c[k]) / 9;
            }
            for (int k = 0; k < p->dim; k++) x[k] += b[k];
            if (m->solid && m->wall[0])
                held = push_out_moving(p, m, from, 1 - s / (double)substeps[i],
                                       1 - (s + 1) / (double)substeps[i], x);
            else if (m->solid)
                held = push_out(p, m, from, x);
            for (int k = 0; k < p->dim; k++)
                left |= x[k] <= 0.5 || x[k] >= block_edge(m->halo) - 1.01;
        }
        if (left) {
            far[far_count++] = (uint32_t)i;
            continue;
        }
        for (int k = 0; k < p->dim; k++) {
            double out = (x[k] + p->corner[k]) * p->dx;
            p->attr[ATTR_X + k][i] = (float)fmin(fmax(out, m->low[k]), m->high[k]);
        }
        if (held) take_along(p, m, i, start);
    }
    return far_count;
}
