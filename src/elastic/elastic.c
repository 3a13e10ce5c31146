// Making a body: lattice, vibrations, functions.
#include "elastic/elastic.h"
#include "base/error.h"
#include "base/memory.h"
#include "elastic/dense.h"
#include "elastic/handles.h"
#include "elastic/modes.h"
#include "elastic/projective.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

ElasticParams elastic_default_params(void) {
    return (ElasticParams){.dim = 3,
                           .density = 1000,
                           .young = 1e5,
                           .poisson = 0.4,
                           .elements = 400,
                           .tau = 0.1,
                           .handles = 20,
                           .order = 1,
                           .radius = 2,
                           .iterations = 10};
}

void elastic_free(Elastic **body) {
    Elastic *e = *body;
    if (!e) return;
    lattice_free(&e->lattice);
    free(e->basis), free(e->rest), free(e->whole);
    free(e->pin_gram), free(e->pin_moment), free(e->hold);
    projective_free(&e->projective);
    free(e->sample_volume), free(e->sample_gradient), free(e->even), free(e->parts);
    free(e->gradient_of), free(e->stress), free(e->share);
    free(e->d), free(e->v), free(e->j), free(e->w), free(e->z), free(e->at), free(e->force);
    free(e->k), free(e->a), free(e->brake), free(e->slow), free(e->lag), free(e->work);
    free(e);
    *body = NULL;
}

size_t elastic_bytes(const Elastic *e) {
    size_t r = (size_t)e->r, n = (size_t)e->dofs;
    size_t numbers = (size_t)e->lattice.node_count * (r + 3) + r * (20 + r) +
                     (size_t)e->sample_count * (2 + (2 * r + (size_t)e->dim + 1) * (size_t)e->dim);
    if (!e->projective) numbers += 6 * n * n + stiffness_room(e);
    return sizeof *e + numbers * sizeof(double) + projective_bytes(e);
}

// ---------------------------------------------------------------------------------------- pins

/// 1 + the first pin that a place lies in, as far as `close`; 0: none.
static int pin_at(const ElasticParams *p, const double place[3], double close) {
    float x = (float)place[0], y = (float)place[1], z = (float)place[2], d;
    for (int i = 0; i < p->pin_count; i++) {
        p->pins[i].distance(p->pins[i].context, 1, &x, &y, &z, &d);
        if (d <= close) return i + 1;
    }
    return 0;
}

/// Planes of the pins' bounds, so that a pin's face is also a face between elements.
static void pin_planes(const ElasticParams *p, LatticeParams *lattice, double planes[3][16]) {
    for (int a = 0; a < p->dim; a++) {
        int n = 0;
        for (int i = 0; i < p->pin_count && n + 2 <= 16; i++) {
            if (isfinite(p->pins[i].low[a])) planes[a][n++] = p->pins[i].low[a];
            if (isfinite(p->pins[i].high[a])) planes[a][n++] = p->pins[i].high[a];
        }
        lattice->cut[a] = planes[a], lattice->cut_count[a] = n;
    }
}

/// Which nodes are held, and the combinations of 1, x, y, z that vanish on them: `vanish` [4][4]
/// rows, *count of them. Held nodes must at least span a plane (2D: a line).
static BrimResult hold(const Elastic *e, const ElasticParams *p, uint8_t *held, double *vanish,
                       int *count, BrimError *error) {
    const Lattice *l = &e->lattice;
    int n = p->dim + 1, nodes = 0;
    double gram[16] = {0}, values[4], size = l->plane[0][l->n[0]] - l->plane[0][0];
    for (int i = 0; i < l->node_count; i++) {
        held[i] = (uint8_t)pin_at(p, l->place[i], 1e-5 * size);
        if (!held[i]) continue;
        double row[4] = {1};
        nodes++;
        for (int a = 0; a < p->dim; a++) row[a + 1] = (l->place[i][a] - l->plane[a][0]) / size;
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++) gram[n * a + b] += row[a] * row[b];
    }
    double rows[16];
    dense_eigen(gram, n, values, rows);
    *count = 0;
    for (int i = 0; i < n; i++) *count += values[i] < 1e-8 * values[n - 1];
    if (nodes == 0)
        return fail(error, BRIM_ERROR_INPUT,
                    "pins hold nothing: none of them touches the body, which reaches from (%g, %g, "
                    "%g) to (%g, %g, %g) m",
                    l->plane[0][0], l->plane[1][0], p->dim == 3 ? l->plane[2][0] : 0,
                    l->plane[0][l->n[0]], l->plane[1][l->n[1]],
                    p->dim == 3 ? l->plane[2][l->n[2]] : 0);
    if (*count > 1)
        return fail(error, BRIM_ERROR_INPUT,
                    "pins hold a body only at a point or a line, about which it could turn: let "
                    "them hold a part that is at least %.3g m across",
                    0.5 * (l->plane[0][1] - l->plane[0][0]));
    memcpy(vanish, rows, sizeof rows);
    // back to metres: row[a + 1] was (x - low) / size
    for (int i = 0; i < *count; i++)
        for (int a = 0; a < p->dim; a++) {
            vanish[n * i + a + 1] /= size;
            vanish[n * i] -= vanish[n * i + a + 1] * l->plane[a][0];
        }
    return BRIM_OK;
}

// ----------------------------------------------------------------------------------- functions

/// Takes out of a column what those before it have, in the metric of the mass; twice, for rounding.
/// False when nothing is left. columns [r][nodes], m_columns = mass times those.
static bool orthonormalise(const Sparse *mass, int nodes, double *columns, double *m_columns,
                           int at) {
    size_t n = (size_t)nodes;
    double *c = columns + (size_t)at * n, *mc = m_columns + (size_t)at * n;
    sparse_apply(mass, 1, c, mc);
    double before = sqrt(fmax(0, dense_dot(c, mc, nodes)));
    if (!(before > 0)) return false;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < at; i++) {
            double part = dense_dot(m_columns + (size_t)i * n, c, nodes);
            for (size_t k = 0; k < n; k++) c[k] -= part * columns[(size_t)i * n + k];
        }
    sparse_apply(mass, 1, c, mc);
    double after = sqrt(fmax(0, dense_dot(c, mc, nodes)));
    if (!(after > 1e-6 * before)) return false;
    for (size_t k = 0; k < n; k++) c[k] /= after, mc[k] /= after;
    return true;
}

/// A column, if it brings anything new.
static void add_column(const Elastic *e, const Modes *modes, double *columns, double *m_columns,
                       int *r) {
    if (*r >= ELASTIC_COLUMNS_MOST) return;
    *r += orthonormalise(&modes->mass, e->lattice.node_count, columns, m_columns, *r);
}

/// Columns 1, x, y, z, or those combinations of them that vanish on pins.
static int affine_columns(const Elastic *e, const Modes *modes, const double *vanish, int vanishing,
                          double *columns, double *m_columns) {
    const Lattice *l = &e->lattice;
    size_t nodes = (size_t)l->node_count;
    int d = e->dim, n = d + 1, r = 0;
    for (int i = 0; i < (vanish ? vanishing : n); i++) {
        for (size_t k = 0; k < nodes; k++) {
            double value = vanish ? vanish[n * i] : i == 0;
            for (int a = 0; a < d; a++)
                value += (vanish ? vanish[n * i + a + 1] : i == a + 1) * l->place[k][a];
            columns[(size_t)r * nodes + k] = value;
        }
        add_column(e, modes, columns, m_columns, &r);
    }
    return r;
}

/// Those, then components of modes.
static int fill_columns(const Elastic *e, const Modes *modes, const double *vanish, int vanishing,
                        int given, double *columns, double *m_columns) {
    size_t nodes = (size_t)e->lattice.node_count;
    int d = e->dim, r = affine_columns(e, modes, vanish, vanishing, columns, m_columns);
    for (int g = 0; g < given; g++)
        for (int a = 0; a < d; a++) {
            for (size_t k = 0; k < nodes; k++)
                columns[(size_t)r * nodes + k] =
                    modes->answer[((size_t)g * nodes + k) * (size_t)d + (size_t)a];
            add_column(e, modes, columns, m_columns, &r);
        }
    for (int m = 0; m < modes->count; m++)
        for (int a = 0; a < d; a++) {
            for (size_t k = 0; k < nodes; k++)
                columns[(size_t)r * nodes + k] =
                    modes->shape[(k * (size_t)d + (size_t)a) * (size_t)modes->count + (size_t)m];
            add_column(e, modes, columns, m_columns, &r);
        }
    return r;
}

static bool keep_columns(Elastic *e, const double *columns, const double *m_columns) {
    size_t nodes = (size_t)e->lattice.node_count, r = (size_t)e->r, d = (size_t)e->dim;
    e->basis = memory_new(nodes * r * sizeof(double));
    e->rest = memory_zero(r * d * sizeof(double));
    e->whole = memory_zero(r * sizeof(double));
    if (!e->basis || !e->rest || !e->whole) return false;
    for (size_t i = 0; i < r; i++)
        for (size_t k = 0; k < nodes; k++) {
            double heavy = m_columns[i * nodes + k];
            e->basis[k * r + i] = columns[i * nodes + k];
            e->whole[i] += heavy;
            for (size_t a = 0; a < d; a++) e->rest[i * d + a] += heavy * e->lattice.place[k][a];
        }
    return true;
}

static BrimResult make_basis(Elastic *e, const Modes *modes, const double *vanish, int vanishing,
                             int given, BrimError *error) {
    size_t most = (size_t)(e->dim + 1 + (modes->count + given) * e->dim);
    size_t size = most * (size_t)e->lattice.node_count * sizeof(double);
    double *columns = memory_new(size), *m_columns = memory_new(size);
    bool ok = columns && m_columns;
    if (ok) {
        e->r =
            fill_columns(e, modes, e->pinned ? vanish : NULL, vanishing, given, columns, m_columns);
        e->dofs = e->r * e->dim;
        ok = keep_columns(e, columns, m_columns);
    }
    free(columns);
    free(m_columns);
    return ok ? BRIM_OK : fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body's modes");
}

/// Columns 1, x, y, z, then the functions of handles; the last of them bring nothing new.
static BrimResult make_handle_basis(Elastic *e, const Modes *modes, BrimError *error) {
    const ElasticParams *p = &e->params;
    size_t nodes = (size_t)e->lattice.node_count;
    Handles h;
    BrimResult result = handles_new(&e->lattice, p->handles, p->radius, &h, error);
    if (result != BRIM_OK) return result;
    int each = handle_functions(e->dim, p->order);
    size_t most = (size_t)(e->dim + 1 + h.count * each);
    double *columns = memory_new(most * nodes * sizeof *columns);
    double *m_columns = memory_new(most * nodes * sizeof *m_columns);
    double *own = memory_new((size_t)each * nodes * sizeof *own);
    bool ok = columns && m_columns && own;
    int r = ok ? affine_columns(e, modes, NULL, 0, columns, m_columns) : 0;
    for (int k = 0; ok && k < h.count; k++) {
        handle_columns(&e->lattice, &h, k, p->order, own);
        for (int i = 0; i < each; i++) {
            memcpy(columns + (size_t)r * nodes, own + (size_t)i * nodes, nodes * sizeof *own);
            add_column(e, modes, columns, m_columns, &r);
        }
    }
    e->r = r, e->dofs = r * e->dim;
    ok = ok && keep_columns(e, columns, m_columns);
    free(columns), free(m_columns), free(own);
    handles_free(&h);
    return ok ? BRIM_OK : fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body's handles");
}

void elastic_row(const Elastic *e, const double place[3], double *row) {
    double value[ELEMENT_MOST];
    const Lattice *l = &e->lattice;
    Point p = lattice_find(l, place);
    lattice_functions(l, &p, value, NULL);
    memset(row, 0, (size_t)e->r * sizeof *row);
    for (int k = 0; k < l->per_element; k++) {
        const double *from =
            e->basis + (size_t)l->node[p.element * l->per_element + k] * (size_t)e->r;
        for (int i = 0; i < e->r; i++) row[i] += value[k] * from[i];
    }
}

/// Gradients of the functions at the points of each step.
static bool make_samples(Elastic *e, const Points *points) {
    const Lattice *l = &e->lattice;
    size_t r = (size_t)e->r, d = (size_t)e->dim;
    e->sample_count = (int)points->count;
    e->sample_volume = memory_new(points->count * sizeof(double));
    e->sample_gradient = memory_zero(points->count * d * r * sizeof(double));
    if (!e->sample_volume || !e->sample_gradient) return false;
    for (size_t s = 0; s < points->count; s++) {
        const Point *p = &points->point[s];
        double value[ELEMENT_MOST], g[ELEMENT_MOST][3], *to = e->sample_gradient + s * d * r;
        lattice_functions(l, p, value, g);
        e->sample_volume[s] = p->volume;
        for (int k = 0; k < l->per_element; k++) {
            const double *from = e->basis + (size_t)l->node[p->element * l->per_element + k] * r;
            for (size_t a = 0; a < d; a++)
                for (size_t i = 0; i < r; i++) to[a * r + i] += g[k][a] * from[i];
        }
    }
    return true;
}

bool elastic_start(Elastic *e) {
    size_t n = (size_t)e->dofs, vector = n * sizeof(double), matrix = n * vector;
    if (e->params.rigid) e->sample_count = 0; // nothing to ask them
    e->d = memory_zero(vector), e->v = memory_zero(vector), e->j = memory_zero(vector);
    e->w = memory_zero(vector), e->z = memory_zero(vector), e->force = memory_zero(vector);
    e->at = memory_zero(vector);
    bool ok = e->d && e->v && e->j && e->w && e->z && e->at && e->force;
    ok = ok && forces_start(e);
    if (e->projective) return ok && projective_start(e);
    e->k = memory_zero(matrix), e->a = memory_zero(matrix);
    e->brake = memory_zero(matrix), e->work = memory_zero(matrix);
    e->slow = memory_zero(matrix), e->lag = memory_zero(matrix);
    e->even = memory_zero((size_t)e->r * (size_t)e->r * sizeof(double));
    e->parts = memory_new(stiffness_room(e) * sizeof(double));
    ok = ok && e->k && e->a && e->brake && e->work && e->slow && e->lag && e->even && e->parts;
    if (ok) stiffness_prepare(e);
    return ok;
}

// ------------------------------------------------------------------------------------- new body

static BrimResult check_params(const ElasticParams *p, BrimError *error) {
    if (p->pin_count > ELASTIC_PINS_MOST)
        return fail(error, BRIM_ERROR_INPUT, "an elastic body has %d pins; %d are possible",
                    p->pin_count, ELASTIC_PINS_MOST);
    if (p->rigid && p->pin_count > 0)
        return fail(error, BRIM_ERROR_INPUT,
                    "a rigid body with pins cannot move: make it one of the solids");
    if (!p->rigid && (!(p->young > 0) || !isfinite(p->young)))
        return fail(error, BRIM_ERROR_INPUT,
                    "an elastic body's Young modulus is %g Pa and must be positive", p->young);
    if (!p->rigid && !(p->poisson >= 0 && p->poisson <= 0.49))
        return fail(error, BRIM_ERROR_INPUT,
                    "an elastic body's Poisson ratio is %g and must be between 0 and 0.49",
                    p->poisson);
    if (!(p->density > 0) || !isfinite(p->density))
        return fail(error, BRIM_ERROR_INPUT,
                    "an elastic body's density is %g kg/m3 and must be positive", p->density);
    bool skinned = p->subspace == ELASTIC_HANDLES;
    if (!p->rigid && skinned && (p->handles < 1 || p->handles > ELASTIC_HANDLES_MOST))
        return fail(error, BRIM_ERROR_INPUT, "an elastic body has %d handles; 1 to %d are possible",
                    p->handles, ELASTIC_HANDLES_MOST);
    if (!p->rigid && !skinned && (p->modes < 1 || p->modes > ELASTIC_MODES_MOST))
        return fail(error, BRIM_ERROR_INPUT, "an elastic body has %d modes; 1 to %d are possible",
                    p->modes, ELASTIC_MODES_MOST);
    return BRIM_OK;
}

/// What pins beyond the first do when they move against it: their rigid motions, small ones, at the
/// nodes that they hold. given [motions][nodes][dim].
static double *pin_motions(const Elastic *e, const uint8_t *held, int pins, int *count) {
    const Lattice *l = &e->lattice;
    int d = e->dim, each = d == 3 ? 6 : 3;
    size_t all = (size_t)l->node_count * (size_t)d;
    *count = (pins - 1) * each;
    double *given = memory_zero(((size_t)*count * all + 1) * sizeof *given);
    for (int i = 0; given && i < l->node_count; i++) {
        if (held[i] < 2) continue;
        const double *x = l->place[i];
        double *to = given + (size_t)((held[i] - 2) * each) * all + (size_t)(i * d);
        for (int a = 0; a < d; a++) to[(size_t)a * all + (size_t)a] = 1;
        for (int k = 0; k < each - d; k++) { // turns: about z in 2D
            int a = d == 2 ? 0 : (k + 1) % 3, b = d == 2 ? 1 : (k + 2) % 3;
            to[(size_t)(d + k) * all + (size_t)a] = -x[b];
            to[(size_t)(d + k) * all + (size_t)b] = x[a];
        }
    }
    return given;
}

static bool keep_pins(Elastic *e, const uint8_t *held, int pins) {
    const Lattice *l = &e->lattice;
    size_t r = (size_t)e->r;
    e->pin_gram = memory_zero((size_t)pins * r * r * sizeof(double));
    e->pin_moment = memory_zero((size_t)pins * r * 4 * sizeof(double));
    if (!e->pin_gram || !e->pin_moment) return false;
    for (int p = 0; p < pins; p++) {
        double part = 0;
        for (int n = 0; n < l->node_count; n++) part += held[n] == p + 1;
        part = part > 0 ? 1 / part : 0;
        double *gram = e->pin_gram + (size_t)p * r * r;
        double *moment = e->pin_moment + (size_t)p * r * 4;
        for (int n = 0; n < l->node_count; n++) {
            const double *row = e->basis + (size_t)n * r;
            if (held[n] != p + 1) continue;
            for (size_t i = 0; i < r; i++) {
                for (size_t j = 0; j < r; j++) gram[i * r + j] += part * row[i] * row[j];
                moment[4 * i] += part * row[i];
                for (int a = 0; a < e->dim; a++)
                    moment[4 * i + (size_t)a + 1] += part * row[i] * l->place[n][a];
            }
        }
    }
    return true;
}

/// Handles do not vanish on pins: springs hold these, a thousand times as stiff as the body.
static bool hold_by_springs(Elastic *e, int pins) {
    size_t square = (size_t)e->r * (size_t)e->r;
    double size = e->dim == 3 ? cbrt(e->volume) : 1;
    e->hold = memory_zero(square * sizeof *e->hold);
    if (!e->hold) return false;
    for (size_t p = 0; p < (size_t)pins; p++)
        for (size_t i = 0; i < square; i++)
            e->hold[i] += 1e3 * e->params.young * size * e->pin_gram[p * square + i];
    return true;
}

static BrimResult find_basis(Elastic *e, const ElasticParams *p, const Points *exact,
                             const double *filled, BrimError *error) {
    double vanish[16];
    int vanishing = 0;
    Modes modes = {0};
    uint8_t *held = memory_zero((size_t)e->lattice.node_count);
    BrimResult result = held ? BRIM_OK : fail(error, BRIM_ERROR_MEMORY, "no memory for pins");
    bool holding = p->pin_count > 0;
    if (result == BRIM_OK && holding) result = hold(e, p, held, vanish, &vanishing, error);
    int given = 0;
    double *motions = NULL;
    bool skinned = p->subspace == ELASTIC_HANDLES && !p->rigid;
    if (result == BRIM_OK && p->carried && !skinned) {
        motions = pin_motions(e, held, p->pin_count, &given);
        if (!motions) result = fail(error, BRIM_ERROR_MEMORY, "no memory for pins");
    }
    ModesParams mp = {.material = e->material,
                      .density = p->density,
                      .held = holding ? held : NULL,
                      .given = motions,
                      .given_count = given,
                      .wanted = p->rigid || skinned ? 0 : p->modes};
    if (result == BRIM_OK) result = modes_new(&e->lattice, exact, filled, &mp, &modes, error);
    if (result == BRIM_OK) {
        for (int i = 0; i < 8 && i < modes.count; i++) e->omega[i] = sqrt(fmax(0, modes.omega2[i]));
        result = skinned ? make_handle_basis(e, &modes, error)
                         : make_basis(e, &modes, vanish, vanishing, given, error);
    }
    bool kept = p->carried || (skinned && holding);
    if (result == BRIM_OK && kept && !keep_pins(e, held, p->pin_count))
        result = fail(error, BRIM_ERROR_MEMORY, "no memory for pins");
    if (result == BRIM_OK && kept && !p->carried && !hold_by_springs(e, p->pin_count))
        result = fail(error, BRIM_ERROR_MEMORY, "no memory for pins");
    modes_free(&modes);
    free(motions);
    free(held);
    return result;
}

/// Volume and centre.
static void add_up(Elastic *e, const Points *points) {
    for (size_t i = 0; i < points->count; i++) {
        const Point *p = &points->point[i];
        double place[3];
        lattice_place(&e->lattice, p, place);
        e->volume += p->volume;
        for (int a = 0; a < e->dim; a++) e->rest_centre[a] += p->volume * place[a];
    }
    for (int a = 0; a < 3; a++) e->rest_centre[a] /= e->volume;
}

/// Whether strains at so few points can tell all motions apart, twice over: functions that are many
/// for their elements have some that bend between two points along an axis.
static bool enough(const Elastic *e, const Points *few) {
    size_t strains = (size_t)(e->dim * (e->dim + 1) / 2);
    return few->count * strains >= 2 * (size_t)e->dofs;
}

BrimResult elastic_new(const Region *region, const ElasticParams *p, Elastic **body,
                       BrimError *error) {
    *body = NULL;
    BrimResult result = check_params(p, error);
    if (result != BRIM_OK) return result;
    Elastic *e = memory_zero(sizeof *e);
    if (!e) return fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body");
    e->params = *p, e->dim = p->dim, e->pinned = p->pin_count > 0 && !p->carried;
    e->material = material_of(p->young, p->poisson);
    double planes[3][16], *filled = NULL;
    LatticeParams lp = {.elements = p->elements, .size = p->element_size};
    Points exact = {0}, few = {0};
    pin_planes(p, &lp, planes);
    result = lattice_new(region, p->dim, &lp, &e->lattice, &exact, &few, &filled, error);
    if (result == BRIM_OK) add_up(e, &exact);
    if (result == BRIM_OK) result = find_basis(e, p, &exact, filled, error);
    e->mass = e->volume * p->density;
    bool projective = p->solver == ELASTIC_PROJECTIVE && !p->rigid;
    if (result == BRIM_OK && projective) result = projective_new(e, &few, error);
    const Points *points = enough(e, &few) ? &few : &exact;
    if (result == BRIM_OK && !((projective || make_samples(e, points)) && elastic_start(e)))
        result = fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body");
    e->params.pins = NULL;
    free(exact.point);
    free(few.point);
    free(filled);
    if (result != BRIM_OK) elastic_free(&e);
    *body = e;
    return result;
}
