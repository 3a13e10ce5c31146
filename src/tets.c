// Tetrahedra for the host: filling shapes, reading files.
#include "base/error.h"
#include "elastic/stuff.h"
#include "solid/shape.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Counts come within this part of what was asked for.
static const double COUNT_TOLERANCE = 0.05;

void brim_tets_free(BrimTets *t) {
    if (!t) return;
    free(t->position);
    free(t->corner);
    *t = (BrimTets){0};
}

/// Angles between the faces of one.
static void add_angles(const Tetmesh *m, size_t tet, BrimTets *t) {
    static const int side[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    double n[4][3];
    for (int f = 0; f < 4; f++) {
        double e[3], g[3], length = 0;
        const float *a = m->vertices[m->tets[tet][side[f][0]]];
        for (int c = 0; c < 3; c++) {
            e[c] = (double)m->vertices[m->tets[tet][side[f][1]]][c] - a[c];
            g[c] = (double)m->vertices[m->tets[tet][side[f][2]]][c] - a[c];
        }
        for (int c = 0; c < 3; c++) {
            n[f][c] = e[(c + 1) % 3] * g[(c + 2) % 3] - e[(c + 2) % 3] * g[(c + 1) % 3];
            length += n[f][c] * n[f][c];
        }
        for (int c = 0; c < 3; c++) n[f][c] /= sqrt(length);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) {
            double dot = n[i][0] * n[j][0] + n[i][1] * n[j][1] + n[i][2] * n[j][2];
            float angle = (float)(180 - acos(fmax(-1, fmin(1, dot))) * 180 / M_PI);
            t->least_angle = fminf(t->least_angle, angle);
            t->greatest_angle = fmaxf(t->greatest_angle, angle);
        }
}

/// The mesh's arrays become the host's.
static void give(Tetmesh *m, BrimTets *t) {
    *t = (BrimTets){m->vertex_count, m->tet_count, m->vertices, m->tets, 0, 180, 0};
    for (size_t i = 0; i < m->tet_count; i++) {
        t->volume += tetmesh_volume(m, i);
        add_angles(m, i, t);
    }
    *m = (Tetmesh){0};
}

BrimResult brim_tets_read(const char *path, BrimTets *tets, BrimError *error) {
    NEED(tets, error);
    *tets = (BrimTets){0};
    NEED(path, error);
    Tetmesh mesh = {0};
    BrimResult r = tetmesh_load(path, &mesh, error);
    if (r == BRIM_OK) give(&mesh, tets);
    tetmesh_free(&mesh);
    return r;
}

static void shape_field(const void *context, int n, const float *x, const float *y, const float *z,
                        float *distance) {
    shape_distance(context, n, x, y, z, distance);
}

/// Volume by the distance at a lattice of points, m3.
static double rough_volume(const Region *r) {
    enum { N = 48 };
    float x[N], y[N], z[N], d[N];
    double step[3], inside = 0;
    for (int a = 0; a < 3; a++) step[a] = (r->high[a] - r->low[a]) / N;
    double size = cbrt(step[0] * step[1] * step[2]);
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++) {
            for (int i = 0; i < N; i++) {
                x[i] = (float)(r->low[0] + (i + 0.5) * step[0]);
                y[i] = (float)(r->low[1] + (j + 0.5) * step[1]);
                z[i] = (float)(r->low[2] + (k + 0.5) * step[2]);
            }
            r->distance(r->context, N, x, y, z, d);
            for (int i = 0; i < N; i++) inside += fmin(1, fmax(0, 0.5 - (double)d[i] / size));
        }
    return inside * step[0] * step[1] * step[2];
}

/// Until the count is met: it goes with the cube of the edge, but for the surface.
static BrimResult fill_count(const Region *r, double count, double thickness, Tetmesh *mesh,
                             BrimError *error) {
    double edge = stuff_edge(rough_volume(r), count);
    BrimResult result = BRIM_OK;
    for (int it = 0; it < 6 && result == BRIM_OK; it++) {
        tetmesh_free(mesh);
        if (edge > thickness)
            return fail(error, BRIM_ERROR_INPUT,
                        "%.0f tetrahedra have edges of %.3g m, but the shape is %.3g m thick: ask "
                        "for at least %.0f",
                        count, edge, thickness, ceil(count * pow(edge / thickness, 3)));
        result = stuff_region(r, edge, "the shape", mesh, error);
        double ratio = (double)mesh->tet_count / count;
        if (fabs(ratio - 1) <= COUNT_TOLERANCE) break;
        edge *= cbrt(ratio);
    }
    return result;
}

BrimResult brim_tets_fill(const BrimShapeDef *def, int count, double edge, BrimTets *tets,
                          BrimError *error) {
    NEED(tets, error);
    *tets = (BrimTets){0};
    NEED(def, error);
    if ((count > 0) == (edge > 0) || count < 0 || !(edge >= 0) || !isfinite(edge))
        return fail(error, BRIM_ERROR_INPUT,
                    "give one of a count and an edge (m) of tetrahedra, above 0");
    Shape *shape = NULL;
    Tetmesh mesh = {0};
    float low[3], high[3];
    BrimResult r = shape_new(def, 3, edge > 0 ? (float)(0.5 * edge) : 0.01f, &shape, error);
    if (r != BRIM_OK) return r;
    shape_bounds(shape, low, high);
    Region region = {.distance = shape_field, .context = shape};
    for (int a = 0; a < 3; a++) region.low[a] = low[a], region.high[a] = high[a];
    double thickness = shape_thickness(shape);
    for (int a = 0; a < 3; a++)
        if (!isfinite(high[a] - low[a]))
            r = fail(error, BRIM_ERROR_INPUT,
                     "an unbounded shape cannot be filled with tetrahedra");
    if (r == BRIM_OK && edge > thickness)
        r = fail(error, BRIM_ERROR_INPUT,
                 "the shape is %.3g m thick: tetrahedra with edges of %.3g m do not fit into it. "
                 "Ask for edges of at most %.3g m",
                 thickness, edge, thickness);
    if (r == BRIM_OK)
        r = edge > 0 ? stuff_region(&region, edge, "the shape", &mesh, error)
                     : fill_count(&region, count, thickness, &mesh, error);
    if (r == BRIM_OK) give(&mesh, tets);
    tetmesh_free(&mesh);
    shape_free(&shape);
    return r;
}
