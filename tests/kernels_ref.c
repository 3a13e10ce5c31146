#include "kernels_ref.h"
#include <math.h>
#include <string.h>

/// Value of a block at a point in block coordinates of its nodes, trilinear.
static double value_at(const float *block, const double at[3], int edge, int dim) {
    int cell[3] = {0};
    double f[3] = {0}, sum = 0;
    for (int a = 0; a < dim; a++) cell[a] = (int)floor(at[a]), f[a] = at[a] - cell[a];
    for (int n = 0; n < 1 << dim; n++) {
        double w = 1;
        for (int a = 0; a < dim; a++) w *= n >> a & 1 ? f[a] : 1 - f[a];
        if (w == 0) continue; // the value may be missing
        sum += w * block[((cell[2] + (n >> 2)) * edge + cell[1] + (n >> 1 & 1)) * edge + cell[0] +
                         (n & 1)];
    }
    return sum;
}

/// The same for a velocity component, which lies on lower faces along its axis.
static double face_value(const float *block, const double at[3], int axis, int edge, int dim) {
    double x[3] = {0};
    for (int a = 0; a < dim; a++) x[a] = at[a] - (a == axis ? 0 : 0.5);
    return value_at(block, x, edge, dim);
}

static void position(const Span *p, int i, double at[3]) {
    for (int a = 0; a < 3; a++)
        at[a] = a < p->dim ? (double)p->attr[ATTR_X + a][i] * p->inv_dx - p->corner[a] : 0;
}

// ------------------------------------------------------------------------------------- density

void ref_weigh(const Span *p, double ramp, double *block) {
    for (int i = 0; i < p->count; i++) {
        double at[3], f[3] = {0};
        int cell[3] = {0};
        position(p, i, at);
        for (int a = 0; a < p->dim; a++)
            cell[a] = (int)floor(at[a] - 0.5), f[a] = at[a] - 0.5 - cell[a];
        for (int a = 0; a < p->dim; a++) f[a] = fmin(fmax((f[a] - 0.5) / ramp + 0.5, 0), 1);
        for (int n = 0; n < 1 << p->dim; n++) {
            double w = 1;
            for (int a = 0; a < p->dim; a++) w *= n >> a & 1 ? f[a] : 1 - f[a];
            block[((cell[2] + (n >> 2)) * SCATTER_EDGE + cell[1] + (n >> 1 & 1)) * SCATTER_EDGE +
                  cell[0] + (n & 1)] += w;
        }
    }
}

ShiftSums ref_shift(const Span *p, const float *const block[3], float scale, const float low[3],
                    const float high[3], double *const x[3]) {
    double sum = 0, largest = 0;
    for (int i = 0; i < p->count; i++) {
        double at[3], length = 0;
        position(p, i, at);
        for (int a = 0; a < p->dim; a++) {
            double d = (double)scale * face_value(block[a], at, a, TILE + 2, p->dim);
            length += d * d;
            x[a][i] = fmin(fmax((double)p->attr[ATTR_X + a][i] + d * (double)p->dx, (double)low[a]),
                           (double)high[a]);
        }
        sum += sqrt(length);
        largest = fmax(largest, sqrt(length));
    }
    return (ShiftSums){(float)sum, (float)largest};
}

// ---------------------------------------------------------------------------------------- band

/// Way of the liquid at a point in a sub-step, cells; points are kept inside the block.
static void way_at(const TraceParams *p, const double from[3], double way[3]) {
    const int edge = TILE + 2 * p->halo;
    double at[3] = {0};
    for (int a = 0; a < p->dim; a++) at[a] = fmin(fmax(from[a], 0.5), edge - 1.001);
    for (int a = 0; a < p->dim; a++)
        way[a] = (double)p->scale * face_value(p->velocity[a], at, a, edge, p->dim);
}

void ref_trace(const TraceParams *p, double back[3][BAND_CELLS]) {
    for (int c = 0; c < (p->dim == 3 ? BAND_CELLS : TILE * TILE); c++) {
        double x[3] = {(c & 7) + p->halo + 0.5, (c >> 3 & 7) + p->halo + 0.5,
                       p->dim == 3 ? (c >> 6) + p->halo + 0.5 : 0};
        const double start[3] = {x[0], x[1], x[2]};
        for (int step = 0; step < p->substeps; step++) {
            double k[4][3], at[3];
            for (int stage = 0; stage < 4; stage++) {
                static const double part[4] = {0, 0.5, 0.5, 1};
                for (int a = 0; a < 3; a++)
                    at[a] = stage && a < p->dim ? x[a] - part[stage] * k[stage - 1][a] : x[a];
                way_at(p, at, k[stage]);
            }
            for (int a = 0; a < p->dim; a++)
                x[a] -= (k[0][a] + 2 * k[1][a] + 2 * k[2][a] + k[3][a]) / 6;
        }
        for (int a = 0; a < p->dim; a++) back[a][c] = start[a] - x[a];
    }
}

void ref_face_paths(const float *back, int axis, int dim, double *out) {
    const int step = axis == 0 ? 1 : axis == 1 ? TILE : TILE * TILE;
    for (int c = 0; c < (dim == 3 ? BAND_CELLS : TILE * TILE); c++) {
        const bool first = (c / step) % TILE == 0;
        const double here = (double)back[c], other = (double)back[first ? c + step : c - step];
        out[c] = here + (first ? -0.5 : 0.5) * (other - here);
        if (isnan(out[c])) out[c] = isnan(here) ? other : here;
    }
}

/// Second differences along the line of nodes nearest to the point, t (1 - t) / 4 of them; 0 where
/// one is missing.
static double bend_along(const float *b, const int cell[3], const double f[3], int axis, int edge,
                         int dim) {
    const int step[3] = {1, edge, edge * edge};
    int at = 0;
    for (int a = 0; a < dim; a++) at += (cell[a] + (a != axis && f[a] > 0.5)) * step[a];
    const int d = step[axis];
    double bend = (double)b[at] + (double)b[at + d] - (double)b[at - d] - (double)b[at + 2 * d];
    bend *= f[axis] * (1 - f[axis]) / 4;
    return isnan(bend) ? 0 : bend;
}

static double sharp_value(const float *b, const double at[3], int edge, int dim) {
    int cell[3] = {0};
    double f[3] = {0}, value = value_at(b, at, edge, dim), low = INFINITY, high = -INFINITY;
    for (int a = 0; a < dim; a++) cell[a] = (int)floor(at[a]), f[a] = at[a] - cell[a];
    for (int n = 0; n < 1 << dim; n++) {
        double v = (double)
            b[((cell[2] + (n >> 2)) * edge + cell[1] + (n >> 1 & 1)) * edge + cell[0] + (n & 1)];
        low = fmin(low, v), high = fmax(high, v);
    }
    if (isnan(value)) return value;
    for (int a = 0; a < dim; a++) value += bend_along(b, cell, f, a, edge, dim);
    return fmin(fmax(value, low), high);
}

void ref_carry(const float *block, int halo, int dim, bool sharp, uint32_t pairs,
               const float back[3][BAND_CELLS], float missing, double *out) {
    const int edge = TILE + 2 * halo;
    for (int c = 0; c < (dim == 3 ? BAND_CELLS : TILE * TILE); c++) {
        const int corner[3] = {(c & 7) + halo, (c >> 3 & 7) + halo, (c >> 6) + halo};
        double at[3] = {0};
        bool known = pairs >> (c / (2 * TILE)) & 1;
        for (int a = 0; a < dim; a++) {
            double rim = sharp, d = (double)back[a][c];
            known = known && !isnan(d);
            at[a] = fmin(fmax(corner[a] - d, rim), edge - rim - 1.001);
        }
        out[c] = !known  ? (double)missing
                 : sharp ? sharp_value(block, at, edge, dim)
                         : value_at(block, at, edge, dim);
    }
}

/// The largest root of sum over the n lowest of (d - v)^2 = 1, by n from 1 on: the first that is
/// not above the next value.
static double depth_from(const double v[3], int dim) {
    double d = 0;
    for (int n = 1; n <= dim; n++) {
        double sum = 0, square = 0;
        for (int k = 0; k < n; k++) sum += v[k], square += v[k] * v[k];
        double root = sum * sum - n * (square - 1);
        d = (sum + sqrt(fmax(root, 0))) / n;
        if (n == dim || d <= v[n]) break;
    }
    return d;
}

bool ref_deepen(const float *block, int dim, const uint8_t *fixed, double *out) {
    enum { EDGE = TILE + 2 };
    const int step[3] = {1, EDGE, EDGE * EDGE};
    bool changed = false;
    for (int c = 0; c < (dim == 3 ? BAND_CELLS : TILE * TILE); c++) {
        const int at = (((c >> 6) + (dim == 3)) * EDGE + (c >> 3 & 7) + 1) * EDGE + (c & 7) + 1;
        double v[3];
        for (int a = 0; a < dim; a++)
            v[a] = fmin((double)block[at - step[a]], (double)block[at + step[a]]);
        for (int a = 1; a < dim; a++) // in order
            for (int b = a; b > 0 && v[b] < v[b - 1]; b--) {
                double swap = v[b];
                v[b] = v[b - 1], v[b - 1] = swap;
            }
        out[c] = (double)block[at];
        if (!(fixed[c >> 3] >> (c & 7) & 1)) out[c] = fmin(out[c], depth_from(v, dim));
        changed |= out[c] < (double)block[at] - 1e-5;
    }
    return changed;
}

// ---------------------------------------------------------------------------------------- mesh

static double offset_of(const Block *b, uint32_t i, const float at[3], double offset[3]) {
    double d2 = 0;
    for (int a = 0; a < 3; a++) {
        offset[a] = (double)b->x[a][i] - (double)at[a];
        d2 += offset[a] * offset[a];
    }
    return d2;
}

static double hat(double s2) {
    return s2 < 1 ? (1 - s2) * (1 - s2) * (1 - s2) : 0;
}

/// Distance above a plane of a point at an offset.
static double above_plane(const float plane[4], const double offset[3]) {
    double above = plane[3];
    for (int a = 0; a < 3; a++) above += offset[a] * plane[a];
    return above;
}

static void add_offset(RefSums *out, const double offset[3], double radius2) {
    double d2 = offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2];
    double w = hat(d2 / radius2);
    out->weight += w;
    for (int a = 0; a < 3; a++) out->mean[a] += w * offset[a];
    out->nearest = fmin(out->nearest, d2);
}

RefSums ref_sum(const Block *b, double radius, const float at[3], const float plane[4]) {
    RefSums out = {.nearest = INFINITY};
    for (uint32_t i = 0; i < b->count; i++) {
        double offset[3], above;
        offset_of(b, i, at, offset);
        add_offset(&out, offset, radius * radius);
        if (!plane || (above = above_plane(plane, offset)) <= 0) continue;
        for (int a = 0; a < 3; a++) offset[a] -= 2 * above * (double)plane[a];
        add_offset(&out, offset, radius * radius);
    }
    return out;
}

RefSums ref_velocity(const Block *b, double radius, const float at[3]) {
    RefSums out = {.nearest = INFINITY};
    for (uint32_t i = 0; i < b->count; i++) {
        double offset[3], w = hat(offset_of(b, i, at, offset) / (radius * radius));
        out.weight += w;
        for (int a = 0; a < 3; a++) out.mean[a] += w * (double)b->v[a][i];
    }
    return out;
}

RefSums ref_moments(const Block *b, double radius, const float at[3]) {
    RefSums out = {.nearest = INFINITY};
    for (uint32_t i = 0; i < b->count; i++) {
        double offset[3], w = fmax(0, 1 - offset_of(b, i, at, offset) / (radius * radius));
        out.weight += w;
        for (int a = 0; a < 3; a++) {
            out.mean[a] += w * offset[a];
            out.second[a] += w * offset[a] * offset[a];
            out.second[3 + a] += w * offset[a] * offset[(a + 1) % 3];
        }
    }
    return out;
}

/// A particle's stretched kernel at an offset of the particle from the point.
static void add_stretched(RefSums *out, const Block *b, uint32_t i, const double d[3]) {
    double g[7], q2 = 0;
    for (int k = 0; k < 7; k++) g[k] = (double)b->g[k][i];
    const double row[3][3] = {{g[0], g[3], g[5]}, {g[3], g[1], g[4]}, {g[5], g[4], g[2]}};
    for (int a = 0; a < 3; a++) {
        double q = row[a][0] * d[0] + row[a][1] * d[1] + row[a][2] * d[2];
        q2 += q * q;
    }
    out->weight += hat(q2) * g[6];
    out->nearest = fmin(out->nearest, q2);
}

RefSums ref_stretched(const Block *b, const float at[3], const float plane[4]) {
    RefSums out = {.nearest = INFINITY};
    for (uint32_t i = 0; i < b->count; i++) {
        double offset[3];
        offset_of(b, i, at, offset);
        add_stretched(&out, b, i, offset);
        if (!plane || above_plane(plane, offset) <= 0) continue;
        // the image's kernel at the point is the particle's own at the point's image
        for (int a = 0; a < 3; a++) offset[a] += 2 * (double)plane[3] * (double)plane[a];
        add_stretched(&out, b, i, offset);
    }
    return out;
}
