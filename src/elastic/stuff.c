// The lattice is body-centred cubic: corners and centres of cubes. In halves of the cubes' edge a
// point has three even or three odd numbers, and edges lead by (+-2, 0, 0) and the like (long ones)
// or by (+-1, +-1, +-1) (short ones). Two centres on either side of a square and an edge of that
// square are a tetrahedron: twelve to a cube.
//
//   1. distance at all points; 2. where edges cross the surface; 3. points with a crossing close by
//   move onto it; 4. tetrahedra are cut by the signs of their corners.
//
// Cut faces with four corners are split from the lower of the two inner numbers, so that neighbours
// agree without asking each other.
#include "elastic/stuff.h"
#include "base/error.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Part of an edge within which a crossing draws the point onto it.
static const double CLOSE_LONG = 0.24999, CLOSE_SHORT = 0.41189;
enum { EDGES = 7, CORNERS_MOST = 200000000 };

/// Edges that lead upwards, in halves of the cube's edge.
static const int way[EDGES][3] = {{2, 0, 0},  {0, 2, 0},  {0, 0, 2},  {1, 1, 1},
                                  {1, -1, 1}, {-1, 1, 1}, {-1, -1, 1}};

typedef struct Stuffing {
    const Region *region;
    double low[3], half;         ///< of the point (0, 0, 0); half an edge of a cube, m
    int n[3];                    ///< points along each axis, in halves
    size_t count;                ///< of all places, also those that are no points
    float *phi;                  ///< [places] 0: on the surface
    double (*place)[3];          ///< [places]
    uint32_t *vertex;            ///< [places] in the mesh, UINT32_MAX: not yet
    uint32_t (*crossing)[EDGES]; ///< [places] vertex in the mesh on the edge
    Tetmesh *mesh;
} Stuffing;

static size_t at_point(const Stuffing *s, int i, int j, int k) {
    return ((size_t)k * (size_t)s->n[1] + (size_t)j) * (size_t)s->n[0] + (size_t)i;
}

static bool is_point(int i, int j, int k) {
    return ((i ^ j) & 1) == 0 && ((j ^ k) & 1) == 0;
}

double stuff_edge(double volume, double wanted) {
    return cbrt(13 * volume / wanted);
}

static void stuffing_free(Stuffing *s) {
    free(s->phi), free(s->place), free(s->vertex), free(s->crossing);
}

static double distance_at(const Stuffing *s, const double p[3]) {
    float x = (float)p[0], y = (float)p[1], z = (float)p[2], d;
    s->region->distance(s->region->context, 1, &x, &y, &z, &d);
    return d;
}

/// Step 1. A place within a millionth of an edge of the surface is on it.
static void find_distances(Stuffing *s) {
    double small = 1e-6 * s->half;
    for (int k = 0; k < s->n[2]; k++)
        for (int j = 0; j < s->n[1]; j++)
            for (int i = 0; i < s->n[0]; i++) {
                size_t p = at_point(s, i, j, k);
                const int at[3] = {i, j, k};
                s->vertex[p] = UINT32_MAX;
                for (int e = 0; e < EDGES; e++) s->crossing[p][e] = UINT32_MAX;
                if (!is_point(i, j, k)) continue;
                for (int a = 0; a < 3; a++) s->place[p][a] = s->low[a] + at[a] * s->half;
                double d = distance_at(s, s->place[p]);
                s->phi[p] = fabs(d) <= small ? 0 : (float)d;
            }
}

/// Where between a point inside and one outside the surface is, as a part of the way from a.
static double cross_at(const Stuffing *s, size_t a, size_t b, double place[3]) {
    double low = 0, high = 1, f_low = s->phi[a], f_high = s->phi[b], part = 0.5;
    for (int it = 0; it < 6; it++) {
        part = low + (high - low) * f_low / (f_low - f_high);
        part = fmin(fmax(part, low + 0.02 * (high - low)), high - 0.02 * (high - low));
        for (int c = 0; c < 3; c++)
            place[c] = s->place[a][c] + part * (s->place[b][c] - s->place[a][c]);
        double f = distance_at(s, place);
        if (fabs(f) <= 1e-5 * s->half) break;
        if ((f < 0) == (f_low < 0))
            low = part, f_low = f;
        else
            high = part, f_high = f;
    }
    return part;
}

/// The point at the other end of an edge; false when there is none. sign -1: against its way.
static bool along(const Stuffing *s, const int at[3], int edge, int sign, size_t *other) {
    int to[3];
    for (int a = 0; a < 3; a++) {
        to[a] = at[a] + sign * way[edge][a];
        if (to[a] < 0 || to[a] >= s->n[a]) return false;
    }
    *other = at_point(s, to[0], to[1], to[2]);
    return true;
}

/// Steps 2 and 3, point by point: a point that moved takes the crossings of its edges with it, so
/// that those after it see them no more.
static void draw_points(Stuffing *s) {
    for (int k = 0; k < s->n[2]; k++)
        for (int j = 0; j < s->n[1]; j++)
            for (int i = 0; i < s->n[0]; i++) {
                const int at[3] = {i, j, k};
                size_t p = at_point(s, i, j, k), other;
                double nearest = INFINITY, to[3] = {0}, place[3];
                if (!is_point(i, j, k) || s->phi[p] == 0) continue;
                for (int e = 0; e < 2 * EDGES; e++) {
                    if (!along(s, at, e >> 1, e & 1 ? -1 : 1, &other)) continue;
                    if (s->phi[p] * s->phi[other] >= 0) continue;
                    bool is_long = e >> 1 < 3;
                    double part = cross_at(s, p, other, place);
                    if (part > (is_long ? CLOSE_LONG : CLOSE_SHORT)) continue;
                    double far = part * (is_long ? 2 : sqrt(3));
                    if (far >= nearest) continue;
                    nearest = far;
                    memcpy(to, place, sizeof to);
                }
                if (!isfinite(nearest)) continue;
                s->phi[p] = 0;
                memcpy(s->place[p], to, sizeof to);
            }
}

// ----------------------------------------------------------------------------------------- step 4

static bool add_vertex(Stuffing *s, const double place[3], uint32_t *vertex) {
    *vertex = (uint32_t)s->mesh->vertex_count;
    return tetmesh_add_vertex(s->mesh, place);
}

static bool point_vertex(Stuffing *s, size_t p, uint32_t *vertex) {
    if (s->vertex[p] == UINT32_MAX && !add_vertex(s, s->place[p], &s->vertex[p])) return false;
    *vertex = s->vertex[p];
    return true;
}

/// A corner of a tetrahedron of the lattice.
typedef struct Corner {
    int at[3];
    size_t point;
} Corner;

/// The vertex where the edge between two corners crosses the surface.
static bool edge_vertex(Stuffing *s, const Corner *a, const Corner *b, uint32_t *vertex) {
    for (int e = 0; e < EDGES; e++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            bool same = true;
            for (int c = 0; c < 3; c++) same &= b->at[c] - a->at[c] == sign * way[e][c];
            if (!same) continue;
            uint32_t *known = &s->crossing[sign > 0 ? a->point : b->point][e];
            double place[3];
            if (*known == UINT32_MAX) {
                cross_at(s, a->point, b->point, place);
                if (!add_vertex(s, place, known)) return false;
            }
            *vertex = *known;
            return true;
        }
    return false;
}

/// Adds a tetrahedron the right way round, unless it has no volume.
static bool add_tet(Stuffing *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const uint32_t corner[4] = {a, b, c, d};
    if (!tetmesh_add_tet(s->mesh, corner)) return false;
    size_t last = s->mesh->tet_count - 1;
    double volume = tetmesh_volume(s->mesh, last);
    if (volume < 0) s->mesh->tets[last][0] = b, s->mesh->tets[last][1] = a;
    if (fabs(volume) <= 1e-9 * s->half * s->half * s->half) s->mesh->tet_count--;
    return true;
}

/// A prism between triangles p and q, its sides split from p[0] to q[1] and q[2], p[1] to q[2].
static bool add_prism(Stuffing *s, const uint32_t p[3], const uint32_t q[3]) {
    return add_tet(s, p[0], p[1], p[2], q[2]) && add_tet(s, p[0], p[1], q[2], q[1]) &&
           add_tet(s, p[0], q[0], q[1], q[2]);
}

/// The corners: those inside first, by the numbers of their points, then those on the surface, then
/// those outside.
static void sort_corners(const Stuffing *s, Corner c[4], int count[3]) {
    count[0] = count[1] = count[2] = 0;
    for (int i = 0; i < 4; i++) {
        float f = s->phi[c[i].point];
        count[f < 0 ? 0 : f == 0 ? 1 : 2]++;
    }
    for (int i = 1; i < 4; i++)
        for (int j = i; j > 0; j--) {
            float a = s->phi[c[j - 1].point], b = s->phi[c[j].point];
            int x = a < 0 ? 0 : a == 0 ? 1 : 2, y = b < 0 ? 0 : b == 0 ? 1 : 2;
            if (x < y || (x == y && c[j - 1].point < c[j].point)) break;
            Corner swap = c[j];
            c[j] = c[j - 1], c[j - 1] = swap;
        }
}

static bool cut_tet(Stuffing *s, Corner c[4]) {
    int count[3];
    sort_corners(s, c, count);
    if (count[0] == 0) return true;
    uint32_t v[4], x[4][4]; // x: on the edge from an inner corner to an outer one
    for (int i = 0; i < count[0] + count[1]; i++)
        if (!point_vertex(s, c[i].point, &v[i])) return false;
    int out = count[0] + count[1];
    for (int i = 0; i < count[0]; i++)
        for (int o = out; o < 4; o++)
            if (!edge_vertex(s, &c[i], &c[o], &x[i][o])) return false;
    if (count[2] == 0) return add_tet(s, v[0], v[1], v[2], v[3]);
    if (count[0] == 1) {
        for (int o = out; o < 4; o++) v[o] = x[0][o];
        return add_tet(s, v[0], v[1], v[2], v[3]);
    }
    if (count[0] == 2 && count[1] == 1) // a pyramid over the cut face
        return add_tet(s, v[2], v[0], v[1], x[1][3]) && add_tet(s, v[2], v[0], x[1][3], x[0][3]);
    if (count[0] == 2)
        return add_prism(s, (const uint32_t[3]){v[0], x[0][2], x[0][3]},
                         (const uint32_t[3]){v[1], x[1][2], x[1][3]});
    return add_prism(s, v, (const uint32_t[3]){x[0][3], x[1][3], x[2][3]});
}

/// The four tetrahedra around the line between the centres at `at` and two halves further along an
/// axis.
static bool cut_around(Stuffing *s, const int at[3], int axis) {
    static const int round[5][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {-1, -1}};
    int u = (axis + 1) % 3, w = (axis + 2) % 3;
    for (int n = 0; n < 4; n++) {
        Corner c[4];
        for (int i = 0; i < 4; i++) {
            memcpy(c[i].at, at, sizeof c[i].at);
            if (i == 1) c[i].at[axis] += 2;
            if (i >= 2) {
                c[i].at[axis] += 1;
                c[i].at[u] += round[n + i - 2][0], c[i].at[w] += round[n + i - 2][1];
            }
            c[i].point = at_point(s, c[i].at[0], c[i].at[1], c[i].at[2]);
        }
        if (!cut_tet(s, c)) return false;
    }
    return true;
}

static bool cut_all(Stuffing *s) {
    for (int k = 1; k < s->n[2]; k += 2)
        for (int j = 1; j < s->n[1]; j += 2)
            for (int i = 1; i < s->n[0]; i += 2)
                for (int axis = 0; axis < 3; axis++) {
                    const int at[3] = {i, j, k};
                    if (at[axis] + 2 >= s->n[axis]) continue;
                    if (!cut_around(s, at, axis)) return false;
                }
    return true;
}

static BrimResult lay_out(Stuffing *s, double edge, const char *name, BrimError *error) {
    double places = 1;
    s->half = 0.5 * edge;
    for (int a = 0; a < 3; a++) {
        double size = s->region->high[a] - s->region->low[a];
        double cubes = ceil(size / edge) + 2;
        places *= 2 * cubes + 1;
        if (!(places <= CORNERS_MOST))
            return fail(error, BRIM_ERROR_INPUT,
                        "%s: tetrahedra with edges of %.3g m would be too many for a body of %.3g "
                        "m: ask for longer edges or fewer of them",
                        name, edge, size);
        s->n[a] = 2 * (int)cubes + 1;
        s->low[a] = 0.5 * (s->region->low[a] + s->region->high[a] - cubes * edge);
    }
    s->count = (size_t)places;
    s->phi = memory_new(s->count * sizeof *s->phi);
    s->place = memory_new(s->count * sizeof *s->place);
    s->vertex = memory_new(s->count * sizeof *s->vertex);
    s->crossing = memory_new(s->count * sizeof *s->crossing);
    if (s->phi && s->place && s->vertex && s->crossing) return BRIM_OK;
    return fail(error, BRIM_ERROR_MEMORY, "%s: no memory for tetrahedra", name);
}

BrimResult stuff_region(const Region *region, double edge, const char *name, Tetmesh *mesh,
                        BrimError *error) {
    Stuffing s = {.region = region, .mesh = mesh};
    if (!(edge > 0) || !isfinite(edge))
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: an edge of %g m is not allowed: it must be above 0", name, edge);
    BrimResult r = lay_out(&s, edge, name, error);
    if (r == BRIM_OK) {
        find_distances(&s);
        draw_points(&s);
        if (!cut_all(&s)) r = fail(error, BRIM_ERROR_MEMORY, "%s: no memory for tetrahedra", name);
    }
    stuffing_free(&s);
    if (r == BRIM_OK && mesh->tet_count == 0)
        r = fail(error, BRIM_ERROR_INPUT,
                 "%s: too thin for tetrahedra with edges of %.3g m: ask for shorter ones", name,
                 edge);
    return r;
}
