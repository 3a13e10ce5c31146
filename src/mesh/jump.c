// How far a moving surface jumps between two frames beyond what the flow explains.
//
// Both surfaces are carried to the time between them, the earlier one forward by its vertices'
// velocity, the later one back: what gravity or any steady force adds to the first it takes from
// the second alike, so that it cancels. What remains of the distance between the two is not flow:
// noise of the surface's making, and water that came or went.
#include "base/error.h"
#include "base/memory.h"
#include "base/team.h"
#include "brim/brim.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Triangles by the cubes that their boxes touch: list[start[cube]] to list[start[cube + 1]].
typedef struct TriangleBins {
    double low[3], edge; ///< of the first cube; of a cube, m
    int64_t rings;       ///< cubes to the farthest distance that is told
    int64_t count[3];
    uint64_t *start;
    uint32_t *list;
} TriangleBins;

static void bins_release(TriangleBins *b) {
    free(b->start), free(b->list);
}

static float (*carry(const BrimMesh *m, double dt))[3] {
    float(*out)[3] = memory_new((m->vertex_count + 1) * sizeof *out);
    for (size_t v = 0; out && v < m->vertex_count; v++)
        for (int k = 0; k < 3; k++)
            out[v][k] = (float)((double)m->position[v][k] + dt * (double)m->velocity[v][k]);
    return out;
}

/// Cubes [low, high] along the axes that the box of a triangle touches.
static void cubes_of(const TriangleBins *b, const float (*x)[3], const uint32_t t[3],
                     int64_t low[3], int64_t high[3]) {
    for (int k = 0; k < 3; k++) {
        float least = fminf(x[t[0]][k], fminf(x[t[1]][k], x[t[2]][k]));
        float most = fmaxf(x[t[0]][k], fmaxf(x[t[1]][k], x[t[2]][k]));
        low[k] = (int64_t)floor(((double)least - b->low[k]) / b->edge);
        high[k] = (int64_t)floor(((double)most - b->low[k]) / b->edge);
        if (low[k] < 0) low[k] = 0;
        if (high[k] >= b->count[k]) high[k] = b->count[k] - 1;
    }
}

#define FOR_CUBES(B, LOW, HIGH)                                                            \
    for (int64_t z = (LOW)[2]; z <= (HIGH)[2]; z++)                                        \
        for (int64_t y = (LOW)[1]; y <= (HIGH)[1]; y++)                                    \
            for (int64_t x = (LOW)[0], cube = (z * (B)->count[1] + y) * (B)->count[0] + x; \
                 x <= (HIGH)[0]; x++, cube++)

/// Puts the triangles of a surface with vertices at `at` into cubes. False: out of memory.
static bool bins_fill(TriangleBins *b, const BrimMesh *m, const float (*at)[3]) {
    size_t cubes = (size_t)(b->count[0] * b->count[1] * b->count[2]);
    b->start = memory_zero((cubes + 2) * sizeof *b->start);
    if (!b->start) return false;
    int64_t low[3], high[3];
    for (size_t i = 0; i < m->triangle_count; i++) {
        cubes_of(b, at, m->triangle[i], low, high);
        FOR_CUBES(b, low, high) b->start[cube + 2]++;
    }
    for (size_t c = 0; c < cubes; c++) b->start[c + 2] += b->start[c + 1];
    b->list = memory_new((b->start[cubes + 1] + 1) * sizeof *b->list);
    if (!b->list) return false;
    for (size_t i = 0; i < m->triangle_count; i++) {
        cubes_of(b, at, m->triangle[i], low, high);
        FOR_CUBES(b, low, high) b->list[b->start[cube + 1]++] = (uint32_t)i;
    }
    return true;
}

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// Squared distance of a point from the stretch between two.
static double to_edge(const double p[3], const double a[3], const double b[3]) {
    double d[3], e[3], rest[3];
    for (int k = 0; k < 3; k++) d[k] = b[k] - a[k], e[k] = p[k] - a[k];
    double length = dot(d, d), t = length > 0 ? dot(e, d) / length : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    for (int k = 0; k < 3; k++) rest[k] = e[k] - t * d[k];
    return dot(rest, rest);
}

/// Squared distance of a point from a triangle: from its plane when it lies above it, else from its
/// nearest edge.
static double to_triangle(const double p[3], const double c[3][3]) {
    double n[3], u[3], v[3], e[3];
    for (int k = 0; k < 3; k++) u[k] = c[1][k] - c[0][k], v[k] = c[2][k] - c[0][k];
    for (int k = 0; k < 3; k++)
        n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    double area2 = dot(n, n);
    bool above = area2 > 0;
    for (int i = 0; i < 3 && above; i++) {
        const double *a = c[i], *b = c[(i + 1) % 3];
        double side[3];
        for (int k = 0; k < 3; k++) u[k] = b[k] - a[k], e[k] = p[k] - a[k];
        for (int k = 0; k < 3; k++)
            side[k] = u[(k + 1) % 3] * e[(k + 2) % 3] - u[(k + 2) % 3] * e[(k + 1) % 3];
        above = dot(side, n) >= 0;
    }
    if (above) {
        for (int k = 0; k < 3; k++) e[k] = p[k] - c[0][k];
        return dot(e, n) * dot(e, n) / area2;
    }
    return fmin(to_edge(p, c[0], c[1]), fmin(to_edge(p, c[1], c[2]), to_edge(p, c[2], c[0])));
}

/// The least of `best` and the squared distances from a point to the triangles of a cube.
static double in_cube(const TriangleBins *b, const BrimMesh *m, const float (*at)[3], int64_t cube,
                      const double p[3], double best) {
    for (uint64_t i = b->start[cube]; i < b->start[cube + 1]; i++) {
        double corner[3][3];
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++) corner[c][k] = (double)at[m->triangle[b->list[i]][c]][k];
        best = fmin(best, to_triangle(p, corner));
    }
    return best;
}

/// Distance from a point to the surface, cut at `rings` edges of the cubes: shells of cubes around
/// the point's own, until none farther out can hold what is nearer.
static double to_surface(const TriangleBins *b, const BrimMesh *m, const float (*at)[3],
                         const float point[3]) {
    double most = (double)b->rings * b->edge, best = most * most,
           p[3] = {point[0], point[1], point[2]};
    int64_t own[3];
    for (int k = 0; k < 3; k++) own[k] = (int64_t)floor((p[k] - b->low[k]) / b->edge);
    for (int64_t ring = 0; ring <= b->rings; ring++) {
        double clear = (double)(ring - 1) * b->edge; // what lies in this shell is at least so far
        if (ring > 0 && clear * clear > best) break;
        int64_t low[3], high[3];
        for (int k = 0; k < 3; k++) {
            low[k] = own[k] - ring > 0 ? own[k] - ring : 0;
            high[k] = own[k] + ring < b->count[k] ? own[k] + ring : b->count[k] - 1;
        }
        FOR_CUBES(b, low, high)
        if (llabs(x - own[0]) == ring || llabs(y - own[1]) == ring || llabs(z - own[2]) == ring)
            best = in_cube(b, m, at, cube, p, best);
    }
    return sqrt(best);
}

/// Cubes around all vertices: eight to the farthest distance, or as many as their number allows.
static void bins_place(TriangleBins *b, const BrimMesh *m, const float (*at)[3], double farthest) {
    enum { RINGS = 8, MOST = 512 };
    double extent[3], widest = 0;
    for (int k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t v = 0; v < m->vertex_count; v++)
            low = fminf(low, at[v][k]), high = fmaxf(high, at[v][k]);
        b->low[k] = (double)low, extent[k] = (double)high - (double)low;
        widest = fmax(widest, extent[k]);
    }
    b->edge = farthest / fmax(1, fmin(RINGS, floor(farthest * MOST / fmax(widest, farthest))));
    b->rings = (int64_t)lround(farthest / b->edge);
    for (int k = 0; k < 3; k++) b->count[k] = (int64_t)(extent[k] / b->edge) + 1;
}

/// A surface, where its vertices were carried to.
typedef struct Carried {
    const BrimMesh *mesh;
    const float (*at)[3];
} Carried;

typedef struct Search {
    Carried from, to;
    const TriangleBins *bins;
    float size[3]; ///< of the domain, m
    float *out;    ///< [vertex_count of from]
} Search;

enum { VERTEX_PART = 1024 };

static void search_part(void *context, int index, int thread) {
    const Search *s = context;
    const BrimMesh *m = s->from.mesh;
    size_t first = (size_t)index * VERTEX_PART, end = first + VERTEX_PART;
    for (size_t v = first; v < end && v < m->vertex_count; v++) {
        bool side = false;
        for (int k = 0; k < 3; k++)
            side |= m->position[v][k] <= 0 || m->position[v][k] >= s->size[k];
        s->out[v] = -1;
        if (!side) s->out[v] = (float)to_surface(s->bins, s->to.mesh, s->to.at, s->from.at[v]);
    }
}

/// Distances of one carried surface's vertices from the other => out [vertex_count of from]; those
/// that began on a side of the domain are not looked at and get -1.
static bool distances(Team *team, Carried from, Carried to, BrimVec3 size, double farthest,
                      float *out) {
    TriangleBins bins = {0};
    Search search = {from, to, &bins, {size.x, size.y, size.z}, out};
    bins_place(&bins, to.mesh, to.at, farthest);
    bool ready = bins_fill(&bins, to.mesh, to.at);
    if (ready)
        team_for(team, team_parts(from.mesh->vertex_count, VERTEX_PART), 1, search_part, &search);
    bins_release(&bins);
    return ready;
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void summarise(float *d, size_t count, double farthest, BrimMeshJump *jump) {
    qsort(d, count, sizeof *d, by_size);
    size_t first = 0, far = 0;
    while (first < count && d[first] < 0) first++;
    size_t n = count - first;
    if (!n) return;
    const float *sorted = d + first;
    for (size_t i = n; i > 0 && (double)sorted[i - 1] >= farthest * 0.999; i--) far++;
    jump->median = (double)sorted[n / 2];
    jump->most_of_it = (double)sorted[(size_t)(0.99 * (double)(n - 1))];
    jump->largest = (double)sorted[n - 1];
    jump->beyond = (double)far / (double)n;
}

BrimResult brim_mesh_jump(const BrimMesh *before, const BrimMesh *after, double dt, BrimVec3 size,
                          double farthest, BrimMeshJump *jump, BrimError *error) {
    NEED(before, error);
    NEED(after, error);
    NEED(jump, error);
    *jump = (BrimMeshJump){0};
    if (!(farthest > 0) || !isfinite(dt))
        return fail(error, BRIM_ERROR_INPUT, "a jump needs a finite time and a length above zero");
    size_t count = before->vertex_count + after->vertex_count;
    if (!before->vertex_count || !after->vertex_count) return BRIM_OK;
    float(*x)[3] = carry(before, 0.5 * dt), (*y)[3] = carry(after, -0.5 * dt);
    float *d = memory_new(count * sizeof *d);
    bool ready = x && y && d;
    Carried one = {before, (const float(*)[3])x}, other = {after, (const float(*)[3])y};
    Team *team = team_new(team_size(0));
    ready = ready && distances(team, one, other, size, farthest, d) &&
            distances(team, other, one, size, farthest, d + before->vertex_count);
    team_free(&team);
    if (ready) summarise(d, count, farthest, jump);
    free(x), free(y), free(d);
    return ready ? BRIM_OK : fail(error, BRIM_ERROR_MEMORY, "out of memory comparing surfaces");
}
