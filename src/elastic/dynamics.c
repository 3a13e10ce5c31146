// Time steps of a body.
#include "elastic/dense.h"
#include "elastic/projective.h"
#include <math.h>
#include <string.h>

// ------------------------------------------------------------------------------ rigid part

/// Numbers of free bodies from the second function on are relative to the centre of mass.
static double relative(const Elastic *e, const double *d, int i, int a) {
    return e->rest[i * e->dim + a] + d[i * e->dim + a];
}

static void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/// Angular momentum about the centre of a pose d that moves with v, and the inertia [3][3].
static void momentum_of(const Elastic *e, const double *d, const double *v, double momentum[3],
                        double inertia[9]) {
    memset(momentum, 0, 3 * sizeof *momentum);
    memset(inertia, 0, 9 * sizeof *inertia);
    for (int i = 1; i < e->r; i++) {
        double x[3] = {0}, u[3] = {0}, l[3], square = 0;
        for (int a = 0; a < e->dim; a++) x[a] = relative(e, d, i, a), u[a] = v[i * e->dim + a];
        cross(x, u, l);
        for (int a = 0; a < 3; a++) momentum[a] += l[a], square += x[a] * x[a];
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) inertia[3 * a + b] += (a == b ? square : 0) - x[a] * x[b];
    }
}

/// The spin that a pose must have for an angular momentum; inertia [3][3] is used up.
static void spin_for(const Elastic *e, const double momentum[3], double inertia[9],
                     double spin[3]) {
    memset(spin, 0, 3 * sizeof *spin);
    if (e->dim == 2) {
        spin[2] = momentum[2] / inertia[8];
        return;
    }
    memcpy(spin, momentum, 3 * sizeof *spin);
    if (dense_cholesky(inertia, 3, 3)) dense_solve(inertia, 3, spin);
}

static void spin_of(const Elastic *e, const double *d, const double *v, double spin[3]) {
    double momentum[3], inertia[9];
    momentum_of(e, d, v, momentum, inertia);
    spin_for(e, momentum, inertia, spin);
}

void elastic_spin(const Elastic *e, double momentum[3], double spin[3]) {
    double inertia[9];
    memset(momentum, 0, 3 * sizeof *momentum);
    memset(spin, 0, 3 * sizeof *spin);
    if (e->pinned) return;
    momentum_of(e, e->d, e->v, momentum, inertia);
    spin_of(e, e->d, e->v, spin);
}

/// S: stretches by s = sqrt(1 + (Omega dn/2)^2) at right angles to the axis of the spin.
static void set_scale(Elastic *e, const double spin[3]) {
    double omega = sqrt(spin[0] * spin[0] + spin[1] * spin[1] + spin[2] * spin[2]);
    double half = 0.5 * omega * e->dn, s = sqrt(1 + half * half);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double along = omega > 0 ? spin[a] * spin[b] / (omega * omega) : 0;
            e->scale[3 * a + b] = (a == b ? s : 0) + (1 - s) * along;
        }
}

/// x_i => T x_i, but for the centre; T [3][3].
static void turn_vectors(const Elastic *e, const double t[9], double *x) {
    for (int i = 1; i < e->r; i++) {
        double u[3] = {0};
        for (int a = 0; a < e->dim; a++) u[a] = x[i * e->dim + a];
        for (int a = 0; a < e->dim; a++)
            x[i * e->dim + a] =
                t[3 * a] * u[0] + t[3 * a + 1] * u[1] + (e->dim == 3 ? t[3 * a + 2] * u[2] : 0);
    }
}

/// z => the displacement of the pose stretched by s.
static void stretch_pose(const Elastic *e, const double s[9], double *z) {
    for (int i = 0; i < e->dofs; i++) z[i] += e->rest[i];
    turn_vectors(e, s, z);
    for (int i = 0; i < e->dofs; i++) z[i] -= e->rest[i];
}

/// A block [dim][dim] of a matrix [dofs][dofs] => left block right^T; NULL: 1.
static void turn_block(const Elastic *e, const double *left, const double *right, double *block) {
    int n = e->dim;
    double t[9] = {0};
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            const double *row = block + (size_t)a * (size_t)e->dofs;
            for (int c = 0; c < n && right; c++) t[3 * a + b] += right[3 * b + c] * row[c];
            if (!right) t[3 * a + b] = row[b];
        }
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            double sum = left ? 0 : t[3 * a + b];
            for (int c = 0; c < n && left; c++) sum += left[3 * a + c] * t[3 * c + b];
            block[(size_t)a * (size_t)e->dofs + (size_t)b] = sum;
        }
}

/// Turns what moves about the centre by `turn` (axis times angle).
static void turn_velocity(const Elastic *e, const double turn[3], double *v) {
    double angle = sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
    if (!(angle > 0)) return;
    double axis[3] = {turn[0] / angle, turn[1] / angle, turn[2] / angle};
    for (int i = 1; i < e->r; i++) {
        double u[3] = {0}, side[3], along = 0;
        for (int a = 0; a < e->dim; a++) u[a] = v[i * e->dim + a];
        cross(axis, u, side);
        for (int a = 0; a < 3; a++) along += axis[a] * u[a];
        for (int a = 0; a < e->dim; a++)
            v[i * e->dim + a] =
                cos(angle) * u[a] + sin(angle) * side[a] + (1 - cos(angle)) * along * axis[a];
    }
}

/// Orthonormal rigid motions of a pose: rows of q [6][dofs]. Returns how many.
static int rigid_motions(const Elastic *e, const double *d, double *q) {
    int n = e->dim, count = 0, dofs = e->dofs;
    memset(q, 0, 6 * (size_t)dofs * sizeof *q);
    for (int a = 0; a < n; a++) q[count++ * dofs + a] = 1;
    for (int axis = n == 3 ? 0 : 2; axis < 3; axis++) {
        double *row = q + count * dofs, unit[3] = {axis == 0, axis == 1, axis == 2};
        for (int i = 1; i < e->r; i++) {
            double x[3] = {0}, u[3];
            for (int a = 0; a < n; a++) x[a] = relative(e, d, i, a);
            cross(unit, x, u);
            for (int a = 0; a < n; a++) row[i * n + a] = u[a];
        }
        for (int k = 0; k < count; k++) {
            double part = dense_dot(row, q + k * dofs, dofs);
            for (int i = 0; i < dofs; i++) row[i] -= part * q[k * dofs + i];
        }
        double length = sqrt(dense_dot(row, row, dofs));
        if (!(length > 0)) continue;
        for (int i = 0; i < dofs; i++) row[i] /= length;
        count++;
    }
    return count;
}

// --------------------------------------------------------------------------------------- step

/// Linear part of a free body's pose by its functions x, y, z; exact for rigid ones: F of x = F X.
static void linear_part(const Elastic *e, double f[9]) {
    int n = e->dim;
    double y[9], inverse[9];
    for (int i = 0; i < n; i++)
        for (int a = 0; a < n; a++) {
            y[n * a + i] = relative(e, e->d, i + 1, a);
            inverse[n * a + i] = e->rest[(i + 1) * n + a];
        }
    // F rest = y; rest is triangular, as the functions were made orthonormal one by one
    for (int a = 0; a < n; a++)
        for (int i = n - 1; i >= 0; i--) {
            double sum = 0;
            for (int k = i + 1; k < n; k++) sum += f[n * a + k] * inverse[n * k + i];
            f[n * a + i] = (y[n * a + i] - sum) / inverse[n * i + i];
        }
}

void elastic_rotation(const Elastic *e, double rotation[9]) {
    int n = e->dim;
    double f[9];
    memset(rotation, 0, 9 * sizeof *rotation);
    rotation[0] = rotation[4] = rotation[8] = 1;
    if (e->pinned) return;
    linear_part(e, f);
    Svd svd = svd_of(n, f);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += svd.p[n * a + k] * svd.q[n * b + k];
            rotation[3 * a + b] = sum;
        }
}

/// A rigid body's pose again a turned copy of its rest pose, which chords and rounding leave.
static void restore_shape(Elastic *e) {
    double r[9];
    elastic_rotation(e, r);
    for (int i = 1; i < e->r; i++)
        for (int a = 0; a < e->dim; a++) {
            double sum = 0;
            for (int b = 0; b < e->dim; b++) sum += r[3 * a + b] * e->rest[i * e->dim + b];
            e->d[i * e->dim + a] = sum - e->rest[i * e->dim + a];
        }
}

void elastic_move(Elastic *e, double dt) {
    for (int i = 0; i < e->dofs; i++) e->d[i] += dt * e->v[i];
    if (e->params.rigid) restore_shape(e);
}

/// Lowest vibration of a free body, in radians a step, above which it is taken as softer: its own
/// weight bends it by about g dn^2 / 900 there, a hundredth of a millimetre at 1/30 s. Stiffer ones
/// than that turn what a pass leaves unbalanced into spin.
static const double STIFFEST = 30;

static double softened(const Elastic *e, double dn) {
    double turn = dn * e->omega[0];
    return e->pinned || turn <= STIFFEST ? 1 : STIFFEST * STIFFEST / (turn * turn);
}

/// Before a step less than half as long as the last. That one's second half impulse lasts dt / 2,
/// and is of vibrations too which it did not resolve. A wall that held against it may be gone, and
/// a step too short to answer would let it throw the body with (dt omega / 2)^2 times the energy
/// that they have. So the half impulse is that of places where the body would be at its end, as far
/// as that is beyond the step: - lag v, lag = (dt / 2 - dn)^2 K_d(dt). It takes speed from such
/// vibrations and nothing from what is at rest. Returns dt / 2 - dn.
static double beyond_step(const Elastic *e) {
    double dt = 2 * e->kick - e->dn;
    return e->params.rigid || e->projective ? 0 : fmax(0, 0.5 * dt - e->dn);
}

/// Rigid bodies keep the angular momentum of a step about a pose in j.
static void keep_momentum(Elastic *e, const double *pose) {
    double inertia[9];
    momentum_of(e, pose, e->v, e->j, inertia);
}

void elastic_begin(Elastic *e, double dn, double kick) {
    const double last_dn = e->dn, last_beyond = e->beyond;
    e->dn = dn, e->kick = kick;
    e->soft = softened(e, dn);
    e->beyond = beyond_step(e);
    e->plain = e->plain && dn == last_dn && e->beyond == last_beyond; // A is of such a step
    double keep = exp(-e->params.damping * kick), spin[3];
    for (int i = 0; i < e->dofs; i++) e->w[i] = keep * e->v[i] + (e->params.rigid ? 0 : e->j[i]);
    if (e->pinned) return;
    if (e->params.rigid && 2 * kick <= dn) keep_momentum(e, e->d); // it has made no step yet
    for (int a = 0; a < 3; a++) e->momentum[a] = keep * e->j[a];
    spin_of(e, e->d, e->v, spin);
    for (int a = 0; a < 3; a++) spin[a] *= kick;
    turn_velocity(e, spin, e->v);
}

/// K => S K S, what belongs to function i: S of the first is 1.
static void scale_rows(void *context, int i, int thread) {
    const Elastic *e = context;
    (void)thread;
    for (int j = 0; j < e->r; j++) {
        size_t at = (size_t)(i * e->dim) * (size_t)e->dofs + (size_t)(j * e->dim);
        turn_block(e, i > 0 ? e->at_scale : NULL, j > 0 ? e->at_scale : NULL, e->k + at);
    }
}

/// K_d = P (K - K A_0^-1) P with A_0 = 1 + dn^2/4 K, and K A_0^-1 = (1 - A_0^-1) 4 / dn^2.
static bool set_brake(Elastic *e, double dn) {
    int n = e->dofs;
    double c = 0.25 * dn * dn, q[6 * ELASTIC_DOFS_MOST];
    memset(e->brake, 0, (size_t)n * (size_t)n * sizeof *e->brake);
    if (!(c > 0)) return true;
    for (int i = 0; i < n * n; i++) e->a[i] = c * e->k[i];
    for (int i = 0; i < n; i++) e->a[i * (n + 1)] += 1;
    if (!dense_cholesky_by(e->params.team, e->a, n, n)) return false;
    dense_inverse(e->a, n, e->work, e->brake, e->params.team);
    memcpy(e->slow, e->brake, (size_t)n * (size_t)n * sizeof *e->slow);
    for (int i = 0; i < n * n; i++) e->brake[i] = e->k[i] + (1 / c) * e->brake[i];
    for (int i = 0; i < n; i++) e->brake[i * (n + 1)] -= 1 / c;
    if (!e->pinned)
        dense_project_out(e->brake, n, q, rigid_motions(e, e->at, q), e->work, e->params.team);
    return true;
}

static bool set_lag(Elastic *e) {
    int n = e->dofs;
    if (!(e->beyond > 0)) return true;
    if (!set_brake(e, 2 * e->kick - e->dn)) return false;
    for (int i = 0; i < n * n; i++) e->lag[i] = e->beyond * e->beyond * e->brake[i];
    return true;
}

bool elastic_recall(Elastic *e) {
    if (!(e->at_dn > 0) || e->projective) return true;
    double z[ELASTIC_DOFS_MOST], soft = softened(e, e->at_dn);
    memcpy(z, e->at, (size_t)e->dofs * sizeof *z);
    if (!e->pinned) stretch_pose(e, e->at_scale, z);
    elastic_stiffness(e, z, e->k);
    for (int i = 0; soft < 1 && i < e->dofs * e->dofs; i++) e->k[i] *= soft;
    if (!e->pinned) team_for(e->params.team, e->r, 8, scale_rows, e);
    e->plain = e->factored = false;
    return set_lag(e) && set_brake(e, e->at_dn);
}

/// Change of the pose but for moves and turns, in sizes of the body, up to which the kept stiffness
/// serves, and that of the step as a part of it: iterations converge as fast, for it changes as
/// strain does.
static const double SAME_POSE = 1e-2, SAME_STEP = 1e-2;

/// Whether the kept stiffness serves the pose e->z, and the turn that brings its own there.
static bool stiffness_serves(Elastic *e) {
    int n = e->dim, first = e->pinned ? 0 : 1;
    double y[ELASTIC_DOFS_MOST], m[9] = {0}, sum = 0;
    memcpy(e->turn, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, sizeof e->turn);
    if (!(fabs(e->dn - e->at_dn) <= SAME_STEP * e->at_dn)) return false;
    memcpy(y, e->at, (size_t)e->dofs * sizeof *y);
    if (!e->pinned) {
        stretch_pose(e, e->at_scale, y);
        for (int i = first; i < e->r; i++)
            for (int a = 0; a < n; a++)
                for (int b = 0; b < n; b++)
                    m[n * a + b] += relative(e, e->z, i, a) * relative(e, y, i, b);
        Svd svd = svd_of(n, m);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++) {
                double turn = 0;
                for (int k = 0; k < n; k++) turn += svd.p[n * a + k] * svd.q[n * b + k];
                e->turn[3 * a + b] = turn;
            }
        for (int i = 0; i < e->dofs; i++) y[i] += e->rest[i];
        turn_vectors(e, e->turn, y);
        for (int i = 0; i < e->dofs; i++) y[i] -= e->rest[i];
    }
    for (int i = first * n; i < e->dofs; i++) sum += (e->z[i] - y[i]) * (e->z[i] - y[i]);
    double size = n == 3 ? cbrt(e->volume) : sqrt(e->volume);
    return sum <= SAME_POSE * SAME_POSE * size * size * e->mass;
}

/// Force at the middle of the step that v makes, and the stiffness that serves there; z is that
/// middle, not stretched. False when the brake could not be found.
static bool look(Elastic *e, double *z) {
    for (int i = 0; i < e->dofs; i++) z[i] = e->d[i] + 0.5 * e->dn * e->v[i];
    memcpy(e->z, z, (size_t)e->dofs * sizeof *z);
    if (!e->pinned) {
        double spin[3];
        spin_of(e, z, e->v, spin);
        set_scale(e, spin);
        stretch_pose(e, e->scale, e->z);
    }
    elastic_energy(e, e->z, e->force);
    for (int i = 0; e->soft < 1 && i < e->dofs; i++) e->force[i] *= e->soft;
    if (!e->pinned) turn_vectors(e, e->scale, e->force);
    if (stiffness_serves(e)) return true;
    memcpy(e->turn, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, sizeof e->turn);
    memcpy(e->at, z, (size_t)e->dofs * sizeof *z);
    memcpy(e->at_scale, e->scale, sizeof e->scale);
    e->at_dn = e->dn;
    return elastic_recall(e);
}

/// From the pose looked at to that of the kept stiffness.
static void turn_back(const Elastic *e, double *x) {
    double back[9];
    for (int i = 0; i < 9; i++) back[i] = e->turn[i % 3 * 3 + i / 3];
    if (!e->pinned) turn_vectors(e, back, x);
}

typedef struct Gather {
    Elastic *e;
    const double *extra; ///< NULL: none
} Gather;

/// A of the pose looked at, what belongs to function i: of the kept stiffness, turned, and what is
/// extra. Its upper half, which is all that a factor is made of.
static void gather_rows(void *context, int i, int thread) {
    const Gather *g = context;
    Elastic *e = g->e;
    const double dn = e->dn, tau = e->params.tau;
    const int n = e->dofs, from = i * e->dim, end = from + e->dim;
    (void)thread;
    for (int row = from; row < end; row++) {
        const size_t at = (size_t)row * (size_t)n;
        for (int j = from; j < n; j++)
            e->a[at + j] = 0.25 * dn * dn * e->k[at + j] + 0.5 * tau * dn * dn * e->brake[at + j];
        for (int j = from; j < n && e->beyond > 0; j++) e->a[at + j] += e->lag[at + j];
        e->a[at + row] += 1;
    }
    if (!g->extra) return;
    for (int j = i; j < e->r && !e->pinned; j++)
        turn_block(e, i > 0 ? e->turn : NULL, j > 0 ? e->turn : NULL,
                   e->a + (size_t)from * (size_t)n + (size_t)(j * e->dim));
    for (int row = from; row < end; row++) {
        const size_t at = (size_t)row * (size_t)n;
        for (int j = from; j < n; j++) e->a[at + j] += g->extra[at + j];
    }
}

/// x less its parts along orthonormal rows of q [count][n].
static void leave_out(const double *q, int count, int n, double *x) {
    for (int k = 0; k < count; k++) {
        double part = dense_dot(q + k * n, x, n);
        for (int i = 0; i < n; i++) x[i] -= part * q[k * n + i];
    }
}

/// K_d v or lag v, z in the middle of the step; it acts at a pose `at`. It brakes no rigid motion
/// and turns nothing, exactly.
static void find_braked(const Elastic *e, const double *brake, const double *z, const double *at,
                        double *braked) {
    double v[ELASTIC_DOFS_MOST], q[6 * ELASTIC_DOFS_MOST];
    int n = e->dofs, count = e->pinned ? 0 : rigid_motions(e, z, q);
    memcpy(v, e->v, (size_t)n * sizeof *v);
    leave_out(q, count, n, v);
    turn_back(e, v);
    dense_apply(brake, n, n, v, braked);
    if (!e->pinned) turn_vectors(e, e->turn, braked);
    if (at != z && !e->pinned) count = rigid_motions(e, at, q);
    leave_out(q, count, n, braked);
}

/// The impulse of the lag, at the step's beginning.
static void find_lag(const Elastic *e, const double *z, double *lag) {
    memset(lag, 0, (size_t)e->dofs * sizeof *lag);
    if (e->beyond > 0) find_braked(e, e->lag, z, e->d, lag);
}

static double length(const double *x, int n) {
    return sqrt(dense_dot(x, x, n));
}

/// w => the rigid motion about z with the momenta of the step before. Forces that hold a rigid body
/// together do nothing else; by half impulses, as those of an elastic one, they would swing from
/// step to step for ever, and what squeezes the body would turn it as it turns.
static void turn_on(Elastic *e) {
    double none[3], inertia[9], spin[3];
    momentum_of(e, e->z, e->v, none, inertia);
    spin_for(e, e->momentum, inertia, spin);
    for (int i = 1; i < e->r; i++) {
        double x[3] = {0}, u[3];
        for (int a = 0; a < e->dim; a++) x[a] = relative(e, e->z, i, a);
        cross(spin, x, u);
        for (int a = 0; a < e->dim; a++) e->w[i * e->dim + a] = u[a];
    }
}

/// The same for a rigid body: among the rigid motions about the middle of the step, the rows of a.
/// `brake`: A among those, [motions][motions]. `step` becomes the new v, not its change.
static void prepare_rigid(Elastic *e, const double *f, const double *extra, double *step) {
    int n = e->dofs;
    double image[4 * 3];
    for (int i = 0; i < n; i++) e->z[i] = e->d[i] + 0.5 * e->dn * e->v[i];
    turn_on(e);
    int m = e->rigid_motions = rigid_motions(e, e->z, e->a);
    for (int k = 0; k < m; k++) {
        if (extra) dense_apply(extra, n, n, e->a + k * n, image);
        for (int l = 0; l < m; l++)
            e->brake[k * m + l] = (k == l) + (extra ? dense_dot(image, e->a + l * n, n) : 0);
    }
    // v is not quite such a motion, and contact is stiff: it was found at v itself
    if (extra) dense_apply(extra, n, n, e->v, image);
    for (int i = 0; i < n; i++) step[i] = e->w[i] + e->kick * f[i] + (extra ? image[i] : 0);
    e->factored = false;
}

bool elastic_prepare(Elastic *e, const double *f, const double *extra, double *step) {
    int n = e->dofs;
    if (e->params.rigid) {
        prepare_rigid(e, f, extra, step);
        return true;
    }
    double z[ELASTIC_DOFS_MOST], braked[ELASTIC_DOFS_MOST], lag[ELASTIC_DOFS_MOST];
    double dn = e->dn, tau = e->params.tau;
    if (!look(e, z)) return false;
    find_braked(e, e->brake, z, z, braked);
    find_lag(e, z, lag);
    for (int i = 0; i < n; i++)
        step[i] = 0.5 * dn * (e->force[i] - tau * dn * braked[i]) + e->kick * f[i] - lag[i] -
                  (e->v[i] - e->w[i]);
    e->residual = length(step, n);
    if (e->plain && !extra) return true;
    team_for(e->params.team, e->r, 8, gather_rows, &(Gather){e, extra});
    e->plain = !extra, e->factored = false;
    return true;
}

bool elastic_factor(Elastic *e) {
    int n = e->params.rigid ? e->rigid_motions : e->dofs;
    if (e->factored) return true;
    e->factored = dense_cholesky_by(e->params.team, e->params.rigid ? e->brake : e->a, n, n);
    return e->factored;
}

void elastic_take(Elastic *e, const double *step) {
    for (int i = 0; i < e->dofs; i++) e->v[i] = step[i] + (e->params.rigid ? 0 : e->v[i]);
}

bool elastic_iterate(Elastic *e, const double *f, const double *extra) {
    double step[ELASTIC_DOFS_MOST];
    if (e->projective) return projective_iterate(e, f, extra);
    if (!elastic_prepare(e, f, extra, step) || !elastic_factor(e)) return false;
    elastic_comply(e, step);
    elastic_take(e, step);
    return true;
}

void elastic_comply(const Elastic *e, double *x) {
    if (e->projective) {
        projective_comply(e, x);
        return;
    }
    if (!e->params.rigid) {
        if (e->plain) turn_back(e, x);
        dense_solve(e->a, e->dofs, x);
        if (e->plain && !e->pinned) turn_vectors(e, e->turn, x);
        return;
    }
    double part[6];
    for (int k = 0; k < e->rigid_motions; k++) part[k] = dense_dot(e->a + k * e->dofs, x, e->dofs);
    dense_solve(e->brake, e->rigid_motions, part);
    memset(x, 0, (size_t)e->dofs * sizeof *x);
    for (int k = 0; k < e->rigid_motions; k++)
        for (int i = 0; i < e->dofs; i++) x[i] += part[k] * e->a[k * e->dofs + i];
}

double elastic_follows(const Elastic *e, const double *x) {
    if (!e->params.rigid) return dense_dot(x, x, e->dofs);
    double sum = 0;
    for (int k = 0; k < e->rigid_motions; k++) {
        double part = dense_dot(e->a + k * e->dofs, x, e->dofs);
        sum += part * part;
    }
    return sum;
}

/// Makes the elastic impulse v - w - k f + lag free of torque. Exactly solved it is so in 2D; in 3D
/// S is not the same along all axes and would leave one, as iterations that were not made would.
static void remove_torque(Elastic *e, const double *f, const double *lag) {
    int n = e->dim;
    double turn[3], z[ELASTIC_DOFS_MOST], impulse[ELASTIC_DOFS_MOST];
    for (int i = 0; i < e->dofs; i++) {
        z[i] = e->d[i] + 0.5 * e->dn * e->v[i];
        impulse[i] = e->v[i] - e->w[i] - e->kick * f[i] + lag[i];
    }
    spin_of(e, z, impulse, turn);
    for (int i = 1; i < e->r; i++) {
        double x[3] = {0}, u[3];
        for (int a = 0; a < n; a++) x[a] = relative(e, z, i, a);
        cross(turn, x, u);
        for (int a = 0; a < n; a++) e->v[i * n + a] -= u[a];
    }
}

/// Takes half of what j changed since the step before out of it, in vibrations that the step does
/// not resolve: of those the second half of a kick undoes the first, so that j would change sign
/// from step to step for ever, and give its energy to what the body does as it turns. A mode of x =
/// (dn omega / 2)^2 loses (x / (1 + x))^2 / 2 of the change; a force that stays, the whole body's
/// momentum and spin lose nothing. j before: [dofs]
static void calm(Elastic *e, double *before) {
    int n = e->dofs;
    double dt = 2 * e->kick - e->dn, spin[3], momentum[3];
    double slow[ELASTIC_DOFS_MOST], q[6 * ELASTIC_DOFS_MOST];
    if (!(dt > 1e-3 * e->dn)) return;
    if (!e->pinned) {
        elastic_spin(e, momentum, spin);
        for (int a = 0; a < 3; a++) spin[a] *= e->kick;
        turn_velocity(e, spin, before);
    }
    for (int i = 0; i < n; i++) before[i] = e->j[i] - before[i] * e->dn / dt;
    for (int i = 0; i < n; i++) slow[i] = e->d[i] + e->dn * e->v[i]; // where j acts
    int motions = e->pinned ? 0 : rigid_motions(e, slow, q);
    leave_out(q, motions, n, before);
    turn_back(e, before);
    for (int k = 0; k < 2; k++) { // 1 - A_0^-1: x / (1 + x)
        dense_apply(e->slow, n, n, before, slow);
        for (int i = 0; i < n; i++) before[i] -= slow[i];
    }
    if (!e->pinned) turn_vectors(e, e->turn, before);
    leave_out(q, motions, n, before);
    for (int i = 0; i < n; i++) e->j[i] -= 0.5 * fmin(1, dt / e->dn) * before[i];
}

void elastic_end(Elastic *e, const double *f, bool alone) {
    double before[ELASTIC_DOFS_MOST], z[ELASTIC_DOFS_MOST], lag[ELASTIC_DOFS_MOST];
    if (e->projective) return; // the whole impulse is in v
    for (int i = 0; i < e->dofs; i++) z[i] = e->d[i] + 0.5 * e->dn * e->v[i];
    find_lag(e, z, lag); // of the step that is over: the next kick has nothing of it
    if (alone && !e->pinned) remove_torque(e, f, lag);
    if (e->params.rigid) {
        keep_momentum(e, e->z);
        return;
    }
    memcpy(before, e->j, (size_t)e->dofs * sizeof *before);
    for (int i = 0; i < e->dofs; i++) e->j[i] = e->v[i] - e->w[i] - e->kick * f[i] + lag[i];
    if (e->at_dn > 0) calm(e, before);
}

// ------------------------------------------------------------------------------------ measures

void elastic_centre(const Elastic *e, double centre[3], double velocity[3]) {
    for (int a = 0; a < 3; a++) centre[a] = velocity[a] = 0;
    for (int a = 0; a < e->dim; a++) {
        for (int i = 0; i < e->r; i++) {
            centre[a] += e->whole[i] * e->d[i * e->dim + a];
            velocity[a] += e->whole[i] * e->v[i * e->dim + a];
        }
        centre[a] = centre[a] / e->mass + e->rest_centre[a], velocity[a] /= e->mass;
    }
}

double elastic_middle_energy(const Elastic *e, double dn) {
    Elastic own = *e; // for its scale
    double z[ELASTIC_DOFS_MOST], spin[3];
    own.dn = dn;
    for (int i = 0; i < e->dofs; i++) z[i] = e->d[i] + 0.5 * dn * e->v[i];
    if (!e->pinned) {
        spin_of(e, z, e->v, spin);
        set_scale(&own, spin);
        stretch_pose(&own, own.scale, z);
    }
    return softened(e, dn) * elastic_energy(e, z, NULL);
}

double elastic_kinetic(const Elastic *e) {
    return 0.5 * dense_dot(e->v, e->v, e->dofs);
}
