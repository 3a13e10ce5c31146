#include "elastic/projective.h"
#include "base/error.h"
#include "base/memory.h"
#include "elastic/dense.h"
#include "elastic/handles.h"
#include "elastic/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Handles that targets are blended from: so many of the samples' number, their radius, and as many
/// samples more than they have as a fit needs.
enum { BLEND_MOST = 60, SPARE_SAMPLES = 20 };
static const double BLEND_RADIUS = 2.7;

void projective_free(Projective **projective) {
    Projective *p = *projective;
    if (!p) return;
    free(p->stiffness), free(p->share), free(p->fit), free(p->lift);
    free(p->factor), free(p->target), free(p->x), free(p->b);
    free(p);
    *projective = NULL;
}

size_t projective_bytes(const Elastic *e) {
    const Projective *p = e->projective;
    if (!p) return 0;
    size_t r = (size_t)e->r, g = (size_t)p->blend, s = (size_t)e->sample_count, d = (size_t)e->dim;
    return sizeof *p +
           sizeof(double) * (2 * r * r + s * g + g * g + d * g * r + s * d * d + 2 * d * r);
}

bool projective_start(Elastic *e) {
    Projective *p = e->projective;
    size_t r = (size_t)e->r, d = (size_t)e->dim;
    p->factor = memory_new(r * r * sizeof(double));
    p->target = memory_new(((size_t)e->sample_count * d * d + 1) * sizeof(double));
    p->x = memory_new(r * d * sizeof(double)), p->b = memory_new(r * d * sizeof(double));
    p->factored = 0;
    return p->factor && p->target && p->x && p->b;
}

// -------------------------------------------------------------------------------- preparation

/// Weights of rotation and volume targets, Pa.
static void weights_of(const Elastic *e, double *turn, double *volume) {
    *turn = 2 * e->material.mu, *volume = e->dim * e->material.lambda;
}

/// Gradients of the functions at a point: out [dim][r].
static void point_gradient(const Elastic *e, const Point *p, double *out) {
    const Lattice *l = &e->lattice;
    double value[ELEMENT_MOST], g[ELEMENT_MOST][3];
    size_t r = (size_t)e->r;
    lattice_functions(l, p, value, g);
    memset(out, 0, (size_t)e->dofs * sizeof *out);
    for (int k = 0; k < l->per_element; k++) {
        const double *from = e->basis + (size_t)l->node[p->element * l->per_element + k] * r;
        for (size_t a = 0; a < (size_t)e->dim; a++)
            for (size_t i = 0; i < r; i++) out[a * r + i] += g[k][a] * from[i];
    }
}

/// Weights of the blend's matrices at a point: row [blend].
static void point_share(const Elastic *e, const Handles *h, const Point *p, double *row) {
    const Lattice *l = &e->lattice;
    double value[ELEMENT_MOST];
    lattice_functions(l, p, value, NULL);
    memset(row, 0, (size_t)h->count * sizeof *row);
    for (int k = 0; k < l->per_element; k++) {
        const double *from =
            h->weight + (size_t)l->node[p->element * l->per_element + k] * (size_t)h->count;
        for (int i = 0; i < h->count; i++) row[i] += value[k] * from[i];
    }
}

/// Points as far from one another as can be; each stands for the volume nearest to it.
static bool choose_samples(const Elastic *e, const Points *points, int wanted, int32_t *chosen,
                           double *volume) {
    size_t n = points->count;
    double(*at)[3] = memory_new(n * sizeof *at), *near = memory_new(n * sizeof *near);
    int32_t *owner = memory_zero(n * sizeof *owner);
    bool ok = at && near && owner;
    for (size_t i = 0; ok && i < n; i++) {
        at[i][2] = 0, near[i] = INFINITY;
        lattice_place(&e->lattice, &points->point[i], at[i]);
    }
    size_t next = 0;
    for (int k = 0; ok && k < wanted; k++) {
        double farthest = -1;
        size_t from = next;
        chosen[k] = (int32_t)from;
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (int a = 0; a < e->dim; a++)
                sum += (at[i][a] - at[from][a]) * (at[i][a] - at[from][a]);
            if (sum < near[i]) near[i] = sum, owner[i] = k;
            if (near[i] > farthest) farthest = near[i], next = i;
        }
    }
    if (ok) memset(volume, 0, (size_t)wanted * sizeof *volume);
    for (size_t i = 0; ok && i < n; i++) volume[owner[i]] += points->point[i].volume;
    free(at), free(near), free(owner);
    return ok;
}

/// Stiffness of all points, and with a blend what its matrices do to the numbers.
static bool sum_points(Elastic *e, const Points *points, const Handles *blend) {
    Projective *p = e->projective;
    size_t r = (size_t)e->r, d = (size_t)e->dim, g = (size_t)p->blend;
    const RowKernels *rows = row_kernels();
    double turn, volume, *gradient = memory_new(r * d * sizeof *gradient);
    double *scaled = memory_new(r * sizeof *scaled), *share = memory_new((g + 1) * sizeof *share);
    bool ok = gradient && scaled && share;
    weights_of(e, &turn, &volume);
    for (size_t n = 0; ok && n < points->count; n++) {
        const Point *at = &points->point[n];
        double weight = (turn + volume) * at->volume;
        point_gradient(e, at, gradient);
        if (g) point_share(e, blend, at, share);
        for (size_t b = 0; b < d; b++) {
            const double *from = gradient + b * r;
            for (size_t i = 0; i < r; i++) scaled[i] = weight * from[i];
            for (size_t i = 0; i < r; i++)
                rows->add(p->stiffness + i * r + i, (int)(r - i), 1, from + i, 1, scaled + i, 0, 1);
            for (size_t k = 0; k < g; k++)
                if (share[k] != 0)
                    rows->add(p->lift + (b * g + k) * r, (int)r, 1, share + k, 1, scaled, 0, 1);
        }
    }
    for (size_t i = 0; ok && i < r; i++)
        for (size_t j = 0; j < i; j++) p->stiffness[i * r + j] = p->stiffness[j * r + i];
    if (ok && e->hold)
        for (size_t i = 0; i < r * r; i++) p->stiffness[i] += e->hold[i];
    free(gradient), free(scaled), free(share);
    return ok;
}

/// (samples, blend) => share, fit. The fit counts every sample alike.
static bool prepare_fit(Elastic *e, const Points *points, const int32_t *chosen,
                        const Handles *blend) {
    Projective *p = e->projective;
    size_t g = (size_t)p->blend, samples = (size_t)e->sample_count;
    double sum = 0;
    for (size_t s = 0; s < samples; s++)
        point_share(e, blend, &points->point[chosen[s]], p->share + s * g);
    for (size_t s = 0; s < samples; s++)
        for (size_t i = 0; i < g; i++)
            for (size_t j = 0; j < g; j++)
                p->fit[i * g + j] += p->share[s * g + i] * p->share[s * g + j];
    for (size_t i = 0; i < g; i++) sum += p->fit[i * g + i];
    // a matrix that no sample sees stays 0
    for (size_t i = 0; i < g; i++) p->fit[i * g + i] += 1e-10 * sum / (double)g;
    return dense_cholesky(p->fit, p->blend, p->blend);
}

/// The samples' gradients and volumes; all points when chosen is NULL.
static bool keep_samples(Elastic *e, const Points *points, const int32_t *chosen) {
    size_t n = (size_t)e->sample_count, dofs = (size_t)e->dofs;
    e->sample_gradient = memory_new(n * dofs * sizeof(double));
    for (size_t s = 0; e->sample_gradient && s < n; s++) {
        const Point *at = &points->point[chosen ? (size_t)chosen[s] : s];
        point_gradient(e, at, e->sample_gradient + s * dofs);
        if (!chosen) e->sample_volume[s] = at->volume;
    }
    return e->sample_gradient != NULL;
}

BrimResult projective_new(Elastic *e, const Points *points, BrimError *error) {
    Projective *p = e->projective = memory_zero(sizeof *p);
    Handles blend = {0};
    int wanted = e->params.samples;
    bool sampled = wanted > 0 && (size_t)wanted < points->count;
    BrimResult result = BRIM_OK;
    e->sample_count = sampled ? wanted : (int)points->count;
    if (p && sampled) {
        int most = (e->sample_count - SPARE_SAMPLES) / e->dim;
        most = most < 1 ? 1 : most < BLEND_MOST ? most : BLEND_MOST;
        result = handles_new(&e->lattice, most, BLEND_RADIUS, &blend, error);
        p->blend = blend.count;
    }
    if (result != BRIM_OK) return result;
    size_t r = (size_t)e->r, g = p ? (size_t)p->blend : 0, n = (size_t)e->sample_count;
    int32_t *chosen = sampled ? memory_new(n * sizeof *chosen) : NULL;
    e->sample_volume = memory_new(n * sizeof(double));
    bool ok = p && e->sample_volume && (chosen || !sampled);
    if (ok) {
        p->stiffness = memory_zero(r * r * sizeof(double));
        p->share = memory_zero((n * g + 1) * sizeof(double));
        p->fit = memory_zero((g * g + 1) * sizeof(double));
        p->lift = memory_zero(((size_t)e->dim * g * r + 1) * sizeof(double));
        ok = p->stiffness && p->share && p->fit && p->lift;
    }
    if (ok && sampled) ok = choose_samples(e, points, wanted, chosen, e->sample_volume);
    ok = ok && keep_samples(e, points, chosen) && sum_points(e, points, &blend);
    if (ok && sampled) ok = prepare_fit(e, points, chosen, &blend);
    handles_free(&blend);
    free(chosen);
    return ok ? BRIM_OK : fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body's samples");
}

// ---------------------------------------------------------------------------------------- step

/// Newton's method along the gradient of the product, as the nearest point needs few steps.
void projective_volume(int dim, const double s[3], double out[3]) {
    double d[3] = {0};
    for (int a = 0; a < dim; a++) out[a] = s[a];
    for (int it = 0; it < 8; it++) {
        double g[3], gg = 0, gd = 0, product = 1;
        for (int a = 0; a < dim; a++) product *= out[a];
        for (int a = 0; a < dim; a++) {
            g[a] = dim == 2 ? out[1 - a] : out[(a + 1) % 3] * out[(a + 2) % 3];
            gg += g[a] * g[a], gd += g[a] * d[a];
        }
        if (!(gg > 1e-12)) break;
        for (int a = 0; a < dim; a++) {
            d[a] = -((product - 1) - gd) / gg * g[a];
            out[a] = s[a] + d[a];
        }
    }
}

/// What a sample's F shall become, less 1: mean of its rotation and its nearest matrix of volume 1.
static void find_target(const Elastic *e, double turn, double volume, const double f[9],
                        double out[9]) {
    int n = e->dim;
    double at[3];
    Svd svd = svd_of(n, f);
    projective_volume(n, svd.s, at);
    for (int k = 0; k < n; k++) at[k] = (turn + volume * at[k]) / (turn + volume);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            double sum = a == b ? -1 : 0;
            for (int k = 0; k < n; k++) sum += svd.p[n * a + k] * at[k] * svd.q[n * b + k];
            out[n * a + b] = sum;
        }
}

enum { GROUP = 16 };

/// Targets of a group of samples at the pose p->x. context: the body
static void find_targets(void *context, int group, int thread) {
    const Elastic *e = context;
    const Projective *p = e->projective;
    int n = e->dim, r = e->r, end = (group + 1) * GROUP;
    double turn, volume;
    (void)thread;
    weights_of(e, &turn, &volume);
    for (int s = group * GROUP; s < end && s < e->sample_count; s++) {
        const double *g = e->sample_gradient + (size_t)s * (size_t)e->dofs;
        double f[9];
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                f[n * a + b] = (a == b) + dense_dot(p->x + a * r, g + b * r, r);
        find_target(e, turn, volume, f, p->target + (size_t)(s * n * n));
    }
}

/// b [dim][r] = what the targets pull the numbers to: by the blend that fits them, or by each.
static void pull_to_targets(const Elastic *e) {
    const Projective *p = e->projective;
    const RowKernels *rows = row_kernels();
    int n = e->dim, r = e->r, entries = n * n, g = p->blend;
    double turn, volume, c[9 * BLEND_MOST];
    weights_of(e, &turn, &volume);
    memset(p->b, 0, (size_t)e->dofs * sizeof *p->b);
    if (!g) {
        for (int s = 0; s < e->sample_count; s++)
            for (int k = 0; k < entries; k++) {
                double weight = (turn + volume) * e->sample_volume[s];
                weight *= p->target[(size_t)(s * entries + k)];
                rows->add(p->b + k / n * r, r, 1, &weight, 1,
                          e->sample_gradient + (size_t)s * (size_t)e->dofs + (size_t)(k % n * r), 0,
                          1);
            }
        return;
    }
    for (int k = 0; k < entries; k++) {
        double *at = c + k * g;
        memset(at, 0, (size_t)g * sizeof *at);
        rows->add(at, g, 1, p->target + k, entries, p->share, g, e->sample_count);
        dense_solve(p->fit, g, at);
        rows->add(p->b + k / n * r, r, 1, at, 1, p->lift + (size_t)(k % n) * (size_t)(g * r), r, g);
    }
}

/// factor => of 1 + kick dn stiffness, and the trace of extra, which is no less than extra.
static bool factor_of(Elastic *e, const double *extra) {
    Projective *p = e->projective;
    size_t r = (size_t)e->r, d = (size_t)e->dim;
    double square = e->kick * e->dn;
    if (!extra && p->factored == square) return true;
    for (size_t i = 0; i < r * r; i++) p->factor[i] = square * p->stiffness[i];
    for (size_t i = 0; i < r; i++) p->factor[i * (r + 1)] += 1;
    for (size_t i = 0; extra && i < r; i++)
        for (size_t j = 0; j < r; j++)
            for (size_t a = 0; a < d; a++)
                p->factor[i * r + j] += extra[(i * d + a) * r * d + j * d + a];
    p->factored = extra ? 0 : square;
    return dense_cholesky(p->factor, e->r, e->r);
}

/// v += factor^-1 (what is missing); f was found at the velocity `at` and falls by extra.
static void solve_global(Elastic *e, const double *f, const double *extra, const double *at) {
    Projective *p = e->projective;
    int n = e->dim, r = e->r;
    double lag[ELASTIC_DOFS_MOST], change[ELASTIC_DOFS_MOST];
    memset(lag, 0, (size_t)e->dofs * sizeof *lag);
    if (extra) {
        for (int i = 0; i < e->dofs; i++) change[i] = e->v[i] - at[i];
        dense_apply(extra, e->dofs, e->dofs, change, lag);
    }
    for (int a = 0; a < n; a++) {
        double *x = p->x + a * r, *b = p->b + a * r; // x: the pose
        for (int i = 0; i < r; i++) {
            double force = b[i] - dense_dot(p->stiffness + (size_t)i * (size_t)r, x, r);
            int k = i * n + a;
            change[k] = e->w[k] + e->kick * (f[k] + force) - lag[k] - e->v[k];
        }
        for (int i = 0; i < r; i++) b[i] = change[i * n + a];
        dense_solve(p->factor, r, b);
        for (int i = 0; i < r; i++) e->v[i * n + a] += b[i];
    }
}

bool projective_iterate(Elastic *e, const double *f, const double *extra) {
    Projective *p = e->projective;
    int n = e->dim, r = e->r;
    double at[ELASTIC_DOFS_MOST];
    memcpy(at, e->v, (size_t)e->dofs * sizeof *at);
    if (!factor_of(e, extra)) return false;
    // from s; stiff springs among f would send it far away
    for (int i = 0; i < e->dofs && !extra; i++) e->v[i] = e->w[i] + e->kick * f[i];
    for (int it = 0; it < e->params.iterations; it++) {
        for (int i = 0; i < r; i++)
            for (int a = 0; a < n; a++) p->x[a * r + i] = e->d[i * n + a] + e->dn * e->v[i * n + a];
        team_for(e->params.team, (e->sample_count + GROUP - 1) / GROUP, 1, find_targets, e);
        pull_to_targets(e);
        solve_global(e, f, extra, at);
    }
    return true;
}

void projective_comply(const Elastic *e, double *x) {
    double part[ELASTIC_COLUMNS_MOST];
    for (int a = 0; a < e->dim; a++) {
        for (int i = 0; i < e->r; i++) part[i] = x[i * e->dim + a];
        dense_solve(e->projective->factor, e->r, part);
        for (int i = 0; i < e->r; i++) x[i * e->dim + a] = part[i];
    }
}
