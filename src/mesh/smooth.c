// Normals, the volume of the particles, and smoothing that keeps the volume of each piece of the
// surface.
#include "base/error.h"
#include "base/memory.h"
#include "mesh/mesh.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// The triangles of each vertex: corner[start[v]] to corner[start[v + 1]], as 3 * triangle +
/// corner.
typedef struct Fans {
    uint64_t *start;  ///< [vertex_count + 1]
    uint64_t *corner; ///< [3 * triangle_count]
} Fans;

static void fans_free(Fans *f) {
    free(f->start), free(f->corner);
}

static bool fans_make(Fans *f, const BrimMesh *m) {
    size_t corners = 3 * m->triangle_count;
    const uint32_t *vertex = (const uint32_t *)m->triangle;
    f->start = memory_zero((m->vertex_count + 2) * sizeof *f->start);
    f->corner = memory_new(corners * sizeof *f->corner);
    if (!f->start || !f->corner) return false;
    uint64_t *next = f->start + 1; // becomes start once each vertex's corners are placed
    for (size_t i = 0; i < corners; i++) next[vertex[i] + 1]++;
    for (size_t v = 0; v < m->vertex_count; v++) next[v + 1] += next[v];
    for (size_t i = 0; i < corners; i++) f->corner[next[vertex[i]]++] = i;
    return true;
}

static BrimResult no_memory(BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for smoothing the surface");
}

/// Twice the triangle's area times its normal, m^2.
static void area_vector(const BrimMesh *m, size_t triangle, double out[3]) {
    const uint32_t *t = m->triangle[triangle];
    double a[3], b[3];
    for (int k = 0; k < 3; k++) {
        a[k] = (double)m->position[t[1]][k] - m->position[t[0]][k];
        b[k] = (double)m->position[t[2]][k] - m->position[t[0]][k];
    }
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

/// Whether a triangle is water's boundary at walls, not to air: all its corners are on one side, or
/// it bevels the edge of two.
static bool at_walls(const BrimMesh *m, const uint8_t *sides, size_t triangle) {
    const uint32_t *t = m->triangle[triangle];
    if ((sides[t[0]] | sides[t[1]] | sides[t[2]]) & VERTEX_WALL) return true;
    int common = sides[t[0]] & sides[t[1]] & sides[t[2]] & 7 * VERTEX_ON;
    for (int a = 0; a < 3; a++)
        if (common & VERTEX_ON << a && m->position[t[0]][a] == m->position[t[1]][a] &&
            m->position[t[0]][a] == m->position[t[2]][a])
            return true;
    return false;
}

/// Mean over a vertex's triangles, by area; those at walls only when `all`. False when it is zero.
static bool mean_normal(const BrimMesh *m, const Fans *f, const uint8_t *sides, size_t v, bool all,
                        float out[3]) {
    double sum[3] = {0}, part[3], length2 = 0;
    for (uint64_t i = f->start[v]; i < f->start[v + 1]; i++) {
        if (!all && at_walls(m, sides, f->corner[i] / 3)) continue;
        area_vector(m, f->corner[i] / 3, part);
        for (int k = 0; k < 3; k++) sum[k] += part[k];
    }
    for (int k = 0; k < 3; k++) length2 += sum[k] * sum[k];
    for (int k = 0; k < 3 && length2 > 0; k++) out[k] = (float)(sum[k] / sqrt(length2));
    return length2 > 0;
}

enum { VERTEX_PART = 4096 };

typedef struct Vertices {
    BrimMesh *m;
    const Fans *f;
    const uint8_t *sides;
} Vertices;

/// Normals of a part of the vertices.
static void find_normals(void *context, int index, int thread) {
    const Vertices *vertices = context;
    BrimMesh *m = vertices->m;
    const Fans *f = vertices->f;
    const uint8_t *sides = vertices->sides;
    size_t first = (size_t)index * VERTEX_PART, end = first + VERTEX_PART;
    for (size_t v = first; v < end && v < m->vertex_count; v++) {
        float *n = m->normal[v];
        n[0] = 0, n[1] = 1, n[2] = 0; // the sheets of a fold may cancel: any will do
        if (sides[v] & VERTEX_WALL)
            for (int a = 0; a < 3; a++)
                n[a] = !(sides[v] & VERTEX_ON << a) ? 0 : m->position[v][a] > 0 ? 1 : -1;
        else if (!mean_normal(m, f, sides, v, false, n))
            mean_normal(m, f, sides, v, true, n);
    }
}

static void normals(BrimMesh *m, const Fans *f, const uint8_t *sides, Team *team) {
    team_for(team, team_parts(m->vertex_count, VERTEX_PART), 1, find_normals,
             &(Vertices){m, f, sides});
}

BrimResult mesh_normals(BrimMesh *mesh, const uint8_t *sides, Team *team, BrimError *error) {
    Fans fans = {0};
    bool ready = fans_make(&fans, mesh);
    if (ready) normals(mesh, &fans, sides, team);
    fans_free(&fans);
    return ready ? BRIM_OK : no_memory(error);
}

// -------------------------------------------------------------------------------------- pieces

static uint32_t root_of(uint32_t *piece, uint32_t v) {
    while (piece[v] != v) v = piece[v] = piece[piece[v]];
    return v;
}

/// piece [vertex_count]: the first vertex of the connected piece that a vertex belongs to.
static void find_pieces(const BrimMesh *m, uint32_t *piece) {
    for (size_t v = 0; v < m->vertex_count; v++) piece[v] = (uint32_t)v;
    for (size_t i = 0; i < m->triangle_count; i++)
        for (int k = 1; k < 3; k++) {
            uint32_t a = root_of(piece, m->triangle[i][0]), b = root_of(piece, m->triangle[i][k]);
            if (a < b) piece[b] = a;
            if (b < a) piece[a] = b;
        }
    for (size_t v = 0; v < m->vertex_count; v++) piece[v] = root_of(piece, (uint32_t)v);
}

/// volume [vertex_count]: six times that of each piece, at its first vertex.
static void piece_volumes(const BrimMesh *m, const uint32_t *piece, double *volume) {
    memset(volume, 0, m->vertex_count * sizeof *volume);
    for (size_t i = 0; i < m->triangle_count; i++) {
        const uint32_t *t = m->triangle[i];
        const float *o = m->position[piece[t[0]]], *a = m->position[t[0]];
        double out[3];
        area_vector(m, i, out);
        for (int k = 0; k < 3; k++) volume[piece[t[0]]] += out[k] * ((double)a[k] - o[k]);
    }
}

// ------------------------------------------------------------------------------------- passes
//
// Taubin's passes shrink what is only a few edges large, drops above all, and volume is given back
// along the normals. Where a drop has shrunk to a dot that needs a step without bound, so volume is
// given back after every pass, and no vertex goes farther than its room from where it was: within
// that ball there is no solid. A piece that has not its volume again at the end goes part of the
// way.

typedef struct Smooth {
    BrimMesh *mesh;
    const uint8_t *sides;
    const SmoothBounds *bounds;
    Team *team;
    float part; ///< of the way to the neighbours' mean
    Fans fans;
    float (*start)[3], (*moved)[3]; ///< [vertex_count]
    uint32_t *piece;
    double *before, *after, *gain; ///< [vertex_count] volumes; six times volume a metre outwards
} Smooth;

/// Part of its volume that a piece may gain or lose.
static const double VOLUME_SLACK = 0.003;

static void smooth_free(Smooth *s) {
    fans_free(&s->fans);
    free(s->start), free(s->moved), free(s->piece), free(s->before), free(s->after), free(s->gain);
}

static bool smooth_init(Smooth *s) {
    size_t n = s->mesh->vertex_count;
    s->start = memory_new(n * sizeof *s->start);
    s->moved = memory_new(n * sizeof *s->moved);
    s->piece = memory_new(n * sizeof *s->piece);
    s->before = memory_new(n * sizeof *s->before);
    s->after = memory_new(n * sizeof *s->after);
    s->gain = memory_new(n * sizeof *s->gain);
    return s->start && s->moved && s->piece && s->before && s->after && s->gain &&
           fans_make(&s->fans, s->mesh);
}

/// Whether a vertex may move along an axis.
static bool free_along(const Smooth *s, size_t v, int axis) {
    return !(s->sides[v] & (VERTEX_SOLID | VERTEX_HELD << axis));
}

/// Keeps a vertex within its room, and in the domain. The domain is convex and holds the start: to
/// go back into it leads no farther from there.
static void keep(const Smooth *s, size_t v, float at[3]) {
    const float *start = s->start[v];
    float room = s->bounds->room[v], d[3], length2 = 0;
    for (int k = 0; k < 3; k++) d[k] = at[k] - start[k], length2 += d[k] * d[k];
    float part = length2 > room * room ? room / sqrtf(length2) : 1;
    for (int k = 0; k < 3; k++) {
        if (part < 1) at[k] = start[k] + part * d[k];
        at[k] = at[k] < 0 ? 0 : at[k] > s->bounds->size[k] ? s->bounds->size[k] : at[k];
    }
}

/// (position) => moved, of a part of the vertices
static void relax_part(void *context, int index, int thread) {
    const Smooth *s = context;
    const BrimMesh *m = s->mesh;
    const Fans *f = &s->fans;
    size_t first = (size_t)index * VERTEX_PART, end = first + VERTEX_PART;
    for (size_t v = first; v < end && v < m->vertex_count; v++) {
        float sum[3] = {0}, count = 0;
        const int wall = s->sides[v] & VERTEX_WALL;
        for (uint64_t i = f->start[v]; i < f->start[v + 1]; i++) {
            uint64_t c = f->corner[i];
            uint32_t other = m->triangle[c / 3][(c % 3 + 1) % 3];
            // the free surface ends at a side: what lies on that below it does not draw it down
            if (!wall && s->sides[other] & VERTEX_WALL) continue;
            for (int k = 0; k < 3; k++) sum[k] += m->position[other][k] - m->position[v][k];
            count++;
        }
        for (int k = 0; k < 3; k++) {
            float step = free_along(s, v, k) && count > 0 ? s->part * sum[k] / count : 0;
            s->moved[v][k] = m->position[v][k] + step;
        }
        keep(s, v, s->moved[v]);
    }
}

/// Moves each vertex by `part` of the way to the mean of its neighbours. In the fan of a closed
/// surface each neighbour follows the vertex in exactly one triangle.
static void relax(Smooth *s, float part) {
    BrimMesh *m = s->mesh;
    s->part = part;
    team_for(s->team, team_parts(m->vertex_count, VERTEX_PART), 1, relax_part, s);
    float(*spare)[3] = m->position;
    m->position = s->moved, s->moved = spare;
}

static bool has_volume(const Smooth *s, uint32_t piece, double slack) {
    return fabs(s->after[piece] - s->before[piece]) <= slack * fabs(s->before[piece]);
}

/// (before, after, gain) => position, of a part of the vertices
static void step_part(void *context, int index, int thread) {
    const Smooth *s = context;
    BrimMesh *m = s->mesh;
    const double most = s->bounds->spacing;
    size_t first = (size_t)index * VERTEX_PART, end = first + VERTEX_PART;
    for (size_t v = first; v < end && v < m->vertex_count; v++) {
        uint32_t p = s->piece[v];
        double want = s->before[p] - s->after[p];
        double step = s->gain[p] * most > fabs(want) ? want / s->gain[p] : want < 0 ? -most : most;
        for (int k = 0; k < 3; k++)
            if (free_along(s, v, k)) m->position[v][k] += (float)step * m->normal[v][k];
        keep(s, v, m->position[v]);
    }
}

/// (position) => normal, gain
static void find_gains(Smooth *s) {
    BrimMesh *m = s->mesh;
    normals(m, &s->fans, s->sides, s->team);
    memset(s->gain, 0, m->vertex_count * sizeof *s->gain);
    for (size_t i = 0; i < m->triangle_count; i++) {
        double area[3];
        area_vector(m, i, area);
        for (int c = 0; c < 3; c++) {
            uint32_t v = m->triangle[i][c];
            for (int k = 0; k < 3; k++)
                if (free_along(s, v, k)) s->gain[s->piece[v]] += area[k] * m->normal[v][k];
        }
    }
}

/// Moves free vertices along their normals towards each piece's volume: one Newton step, of no more
/// than the largest room. Returns whether all pieces had it already.
static bool restore(Smooth *s) {
    BrimMesh *m = s->mesh;
    bool done = true;
    piece_volumes(m, s->piece, s->after);
    for (size_t v = 0; v < m->vertex_count && done; v++)
        done = s->piece[v] != v || has_volume(s, (uint32_t)v, 1e-6);
    if (done) return true;
    find_gains(s);
    team_for(s->team, team_parts(m->vertex_count, VERTEX_PART), 1, step_part, s);
    return false;
}

/// Takes pieces that lack their volume back towards where they were, at the last all the way: as
/// far as that, volume, room and domain are kept whatever happened before.
static void settle(Smooth *s) {
    enum { HALVINGS = 6 };
    BrimMesh *m = s->mesh;
    double *part = s->gain;
    memcpy(s->moved, m->position, m->vertex_count * sizeof *s->moved);
    for (size_t v = 0; v < m->vertex_count; v++) part[v] = 1;
    for (int i = 0; i <= HALVINGS; i++) {
        bool done = true;
        piece_volumes(m, s->piece, s->after);
        for (size_t v = 0; v < m->vertex_count; v++) {
            if (s->piece[v] != v || has_volume(s, (uint32_t)v, VOLUME_SLACK)) continue;
            part[v] = i < HALVINGS ? 0.5 * part[v] : 0;
            done = false;
        }
        if (done) return;
        for (size_t v = 0; v < m->vertex_count; v++) {
            float p = (float)part[s->piece[v]];
            for (int k = 0; k < 3 && p < 1; k++)
                m->position[v][k] = s->start[v][k] + p * (s->moved[v][k] - s->start[v][k]);
        }
    }
}

// ------------------------------------------------------------------------------------- volume
//
// Water is denser just below a moving surface than deep in it, by a few percent, and rough by less
// than a kernel's width: what averaged positions say is where the surface was if water were even,
// about 0.05 cells too far in.

/// Farthest that a surface goes for its volume, in cells.
static const double VOLUME_REACH = 0.1;

/// Moves surfaces outwards, each group of pieces as a whole, until they hold their particles. What
/// they used of their room is gone.
static void fit_volumes(Smooth *s, const MeshGroups *groups) {
    enum { STEPS = 4 };
    const BrimMesh *m = s->mesh;
    memcpy(s->piece, groups->of, m->vertex_count * sizeof *s->piece);
    memcpy(s->start, m->position, m->vertex_count * sizeof *s->start);
    piece_volumes(m, s->piece, s->before);
    find_gains(s);
    for (size_t v = 0; v < m->vertex_count; v++) {
        double lacks = (double)groups->part[v] * (6 * groups->volume[v] - s->before[v]);
        if (s->piece[v] == v && lacks > 0)
            s->before[v] += fmin(lacks, VOLUME_REACH * s->bounds->cell * s->gain[v]);
    }
    for (int i = 0; i < STEPS && !restore(s); i++) continue;
    for (size_t v = 0; v < m->vertex_count; v++) {
        float way2 = 0;
        for (int k = 0; k < 3; k++)
            way2 += (m->position[v][k] - s->start[v][k]) * (m->position[v][k] - s->start[v][k]);
        s->bounds->room[v] = fmaxf(s->bounds->room[v] - sqrtf(way2), 0);
    }
}

BrimResult mesh_smooth(BrimMesh *mesh, const uint8_t *sides, const SmoothBounds *bounds, int passes,
                       const MeshGroups *groups, Team *team, BrimError *error) {
    enum { LAST_STEPS = 4 };
    Smooth s = {.mesh = mesh, .sides = sides, .bounds = bounds, .team = team};
    bool ready = smooth_init(&s);
    if (ready && groups) fit_volumes(&s, groups);
    if (ready && passes) {
        memcpy(s.start, mesh->position, mesh->vertex_count * sizeof *s.start);
        find_pieces(mesh, s.piece);
        piece_volumes(mesh, s.piece, s.before);
        for (int i = 0; i < passes; i++) {
            // Taubin 1995: a step in, a slightly larger one out; what is longer than a few edges
            // stays
            relax(&s, 0.5f), relax(&s, -0.53f);
            restore(&s);
        }
        for (int i = 0; i < LAST_STEPS && !restore(&s); i++) continue;
        settle(&s);
    }
    smooth_free(&s);
    return ready ? BRIM_OK : no_memory(error);
}
