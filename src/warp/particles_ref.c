// The particle kernels value by value, in double precision: what the fast ones are tested against,
// and the way of particles that leave their block.
#include "warp/particles.h"
#include <math.h>
#include <string.h>

WarpLattice warp_lattice(const WarpMap *m) {
    WarpLattice l = {.dim = m->dim, .stride = {1, map_nodes(m, 0), 0}};
    l.stride[2] = m->dim == 3 ? map_nodes(m, 0) * map_nodes(m, 1) : 0;
    for (int a = 0; a < 3; a++) {
        l.cells[a] = m->cells[a], l.coarse[a] = m->coarse[a];
        l.per_cell[a] = 1.0f / (float)m->ratio[a];
        l.d[a] = m->d[a];
    }
    return l;
}

static WarpMap map_of(const WarpLattice *l) {
    WarpMap m = {.dim = l->dim};
    for (int a = 0; a < 3; a++) {
        m.cells[a] = l->cells[a], m.coarse[a] = l->coarse[a];
        m.ratio[a] = l->cells[a] / l->coarse[a];
        m.d[a] = (float *)l->d[a]; // is only read
    }
    return m;
}

/// Where a particle is, cells.
static void position(const Span *p, int i, double xi[3]) {
    for (int a = 0; a < 3; a++)
        xi[a] = a < p->dim ? space_to_grid_double(p->space, (double)p->attr[ATTR_X + a][i]) : 0;
}

static void pull_back(const double inverse[3][3], const double v[3], double out[3]) {
    for (int i = 0; i < 3; i++)
        out[i] = inverse[0][i] * v[0] + inverse[1][i] * v[1] + inverse[2][i] * v[2];
}

/// The eight cells of a block about a point: indices and weights; slope: of the weights along axes.
typedef struct Around {
    int at[8];
    double weight[8], slope[8][3];
} Around;

static Around around(const Span *p, const double xi[3], int edge) {
    Around n;
    int low[3] = {0};
    double f[3] = {0};
    for (int a = 0; a < p->dim; a++) {
        double at = xi[a] - (double)p->corner[a] - 0.5;
        low[a] = (int)floor(at), f[a] = at - low[a];
    }
    for (int c = 0; c < 1 << p->dim; c++) {
        n.at[c] = ((low[2] + (c >> 2)) * edge + low[1] + (c >> 1 & 1)) * edge + low[0] + (c & 1);
        n.weight[c] = 1;
        for (int a = 0; a < p->dim; a++) {
            n.weight[c] *= c >> a & 1 ? f[a] : 1 - f[a];
            n.slope[c][a] = c >> a & 1 ? 1 : -1;
            for (int b = 0; b < p->dim; b++)
                if (b != a) n.slope[c][a] *= c >> b & 1 ? f[b] : 1 - f[b];
        }
    }
    return n;
}

/// False when no cell around is known. whole: all are.
static bool sample_block(const Span *p, const float *const block[3], const Around *n, double out[3],
                         bool *whole) {
    double sum = 0;
    out[0] = out[1] = out[2] = 0;
    *whole = true;
    for (int c = 0; c < 1 << p->dim; c++) {
        if (isnan(block[0][n->at[c]])) {
            *whole = false;
            continue;
        }
        sum += n->weight[c];
        for (int a = 0; a < p->dim; a++) out[a] += n->weight[c] * (double)block[a][n->at[c]];
    }
    for (int a = 0; a < p->dim && sum > 0; a++) out[a] /= sum;
    return sum > 0;
}

static void to_block(const Span *p, const WarpLattice *l, const float *const centre[3],
                     float *block) {
    WarpMap m = map_of(l);
    for (int i = 0; i < p->count; i++) {
        double xi[3], x[3];
        position(p, i, xi);
        map_to_space(&m, xi, x);
        Around n = around(p, xi, WARP_EDGE);
        for (int c = 0; c < 1 << p->dim; c++) {
            float *to = block + WARP_NUMBERS * n.at[c];
            double w = n.weight[c] * (double)p->attr[ATTR_VOLUME][i];
            to[0] += (float)w;
            for (int k = 0; k < p->dim; k++) {
                double v = (double)p->attr[ATTR_VX + k][i];
                for (int b = 0; centre && b < p->dim; b++)
                    v += (double)p->attr[ATTR_AFFINE + 3 * k + b][i] *
                         ((double)centre[b][n.at[c]] + (double)p->corner[b] - x[b]);
                to[1 + k] += (float)(w * v);
            }
        }
    }
}

static void volumes(const Span *p, float *block) {
    for (int i = 0; i < p->count; i++) {
        double xi[3];
        position(p, i, xi);
        const Around n = around(p, xi, WARP_EDGE);
        for (int c = 0; c < 1 << p->dim; c++)
            block[n.at[c]] += (float)(n.weight[c] * (double)p->attr[ATTR_VOLUME][i]);
    }
}

static void from_block(const Span *p, float ratio, const float *const block[3],
                       const WarpLattice *l) {
    for (int i = 0; i < p->count; i++) {
        double xi[3], v[3];
        bool whole;
        position(p, i, xi);
        Around n = around(p, xi, WARP_EDGE);
        bool known = sample_block(p, block, &n, v, &whole);
        for (int a = 0; a < p->dim && known; a++)
            p->attr[ATTR_VX + a][i] =
                (float)((double)ratio * (double)p->attr[ATTR_VX + a][i] + v[a]);
        if (!l || !whole) continue;
        WarpMap m = map_of(l);
        double J[3][3], inverse[3][3];
        map_jacobian(&m, xi, J);
        matrix_invert(J, inverse);
        for (int k = 0; k < p->dim; k++)
            for (int b = 0; b < p->dim; b++) {
                double sum = 0;
                for (int c = 0; c < 1 << p->dim; c++)
                    for (int a = 0; a < p->dim; a++)
                        sum += (double)block[k][n.at[c]] * inverse[b][a] * n.slope[c][a];
                p->attr[ATTR_AFFINE + 3 * k + b][i] = (float)sum;
            }
    }
}

/// The point that a velocity leads to in `time`, in reference space.
static void step_from(const WarpMap *m, const double inverse[3][3], const double xi[3],
                      const double u[3], double scale, double out[3]) {
    double rate[3];
    pull_back(inverse, u, rate);
    for (int a = 0; a < 3; a++)
        out[a] = a < m->dim ? fmin(fmax(xi[a] + scale * rate[a], 0), m->cells[a]) : 0;
}

void warp_move_one(const WarpMove *move, const Span *p, int i, WarpFlow *flow,
                   const void *context) {
    const WarpMap old = map_of(&move->old), new = map_of(&move->new);
    const double scale = (double)move->time * (double)p->inv_dx, side = (double)move->side;
    double xi[3], x[3], J[3][3], inverse[3][3], k[3][3], at[3], way[3], own[3] = {0};
    position(p, i, xi);
    for (int a = 0; a < p->dim; a++) own[a] = (double)p->attr[ATTR_VX + a][i];
    map_point(&old, xi, x, J);
    matrix_invert(J, inverse);
    const bool third = move->scheme == BRIM_ADVECTION_RK3; // Ralston's
    memcpy(at, xi, sizeof at);
    for (int stage = 0; stage <= (third ? 2 : 1); stage++) {
        if (stage > 0)
            step_from(&old, inverse, xi, k[stage - 1], (stage == 1 ? 0.5 : 0.75) * scale, at);
        if (!flow(context, at, k[stage])) memcpy(k[stage], own, sizeof own);
    }
    for (int a = 0; a < 3; a++)
        way[a] = third ? (2 * k[0][a] + 3 * k[1][a] + 4 * k[2][a]) / 9 : k[1][a];
    step_from(&old, inverse, xi, way, scale, at);
    for (int a = 0; a < p->dim; a++)
        x[a] = fmin(fmax(x[a] + scale * way[a], side), new.cells[a] - side);
    map_to_reference(&new, x, at, 1e-6, 12); // single precision holds no more
    for (int a = 0; a < p->dim; a++) {
        double in = fmin(fmax(at[a], 0.5 * side), new.cells[a] - 0.5 * side);
        p->attr[ATTR_X + a][i] = (float)(in * (double)p->dx);
    }
}

/// A block as a flow.
typedef struct BlockFlow {
    const Span *span;
    const WarpMove *move;
    bool *left;
} BlockFlow;

static bool block_flow(const void *context, const double xi[3], double u[3]) {
    const BlockFlow *f = context;
    const int edge = TILE + 2 * f->move->halo;
    bool whole;
    for (int a = 0; a < f->span->dim; a++) {
        double at = xi[a] - (double)f->span->corner[a];
        if (at < 0.5 || at > edge - 0.51) *f->left = true;
    }
    if (*f->left) return false;
    Around n = around(f->span, xi, edge);
    return sample_block(f->span, f->move->velocity, &n, u, &whole);
}

static int move(const Span *p, const WarpMove *m, uint32_t *far) {
    int count = 0;
    for (int i = 0; i < p->count; i++) {
        bool left = false;
        float was[3] = {0};
        for (int a = 0; a < p->dim; a++) was[a] = p->attr[ATTR_X + a][i];
        warp_move_one(m, p, i, block_flow, &(BlockFlow){p, m, &left});
        if (!left) continue;
        for (int a = 0; a < p->dim; a++) p->attr[ATTR_X + a][i] = was[a];
        far[count++] = (uint32_t)i;
    }
    return count;
}

static void measure(const Span *p, const WarpLattice *l, float *const space[3], WarpSums *sums) {
    WarpMap m = map_of(l);
    *sums = (WarpSums){0};
    for (int i = 0; i < p->count; i++) {
        double xi[3], x[3], square = 0, w = (double)p->attr[ATTR_VOLUME][i];
        position(p, i, xi);
        map_to_space(&m, xi, x);
        for (int a = 0; a < p->dim; a++) {
            const double v = (double)p->attr[ATTR_VX + a][i];
            square += v * v;
            space[a][i] = (float)(x[a] * (double)p->dx);
            sums->position[a] += w * x[a] * (double)p->dx;
        }
        sums->volume += w;
        sums->square += w * square;
        sums->fastest2 = fmaxf(sums->fastest2, (float)square);
    }
}

static float rate(const Span *p, const WarpLattice *l) {
    WarpMap m = map_of(l);
    double most = 0;
    for (int i = 0; i < p->count; i++) {
        double xi[3], v[3] = {0}, out[3], J[3][3], inverse[3][3], square = 0;
        position(p, i, xi);
        map_jacobian(&m, xi, J);
        matrix_invert(J, inverse);
        for (int a = 0; a < p->dim; a++) v[a] = (double)p->attr[ATTR_VX + a][i];
        pull_back(inverse, v, out);
        for (int a = 0; a < p->dim; a++) square += out[a] * out[a];
        most = fmax(most, square);
    }
    return (float)most;
}

static void weigh(const Span *p, const WarpLattice *l, float *out) {
    WarpMap m = map_of(l);
    for (int i = 0; i < p->count; i++) {
        double xi[3], J[3][3];
        position(p, i, xi);
        map_jacobian(&m, xi, J);
        out[i] = (float)((double)p->attr[ATTR_VOLUME][i] / matrix_determinant(J));
    }
}

static void points(const WarpLattice *l, const float first[3], float step, int edge,
                   float *const d[3], float *det) {
    WarpMap m = map_of(l);
    for (int i = 0; i < edge * edge * (l->dim == 3 ? edge : 1); i++) {
        const int at[3] = {i % edge, i / edge % edge, i / edge / edge};
        double xi[3] = {0}, x[3], J[3][3];
        for (int a = 0; a < l->dim; a++)
            xi[a] = fmin(fmax((double)first[a] + (double)step * at[a], 0), l->cells[a]);
        map_point(&m, xi, x, J);
        for (int a = 0; d && a < l->dim; a++) d[a][i] = (float)(x[a] - xi[a]);
        if (det) det[i] = (float)matrix_determinant(J);
    }
}

const WarpKernels warp_kernels_ref = {to_block, volumes, from_block, move,
                                      measure,  rate,    weigh,      points};
