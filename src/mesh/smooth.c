// Normals, and smoothing that keeps the volume of each piece of the surface.
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

/// Whether all corners of a triangle are on one side.
static bool on_side(const BrimMesh *m, const uint8_t *sides, size_t triangle) {
    const uint32_t *t = m->triangle[triangle];
    int common = sides[t[0]] & sides[t[1]] & sides[t[2]] & 7 * VERTEX_ON;
    for (int a = 0; a < 3; a++)
        if (common & VERTEX_ON << a && m->position[t[0]][a] == m->position[t[1]][a] &&
            m->position[t[0]][a] == m->position[t[2]][a])
            return true;
    return false;
}

/// Mean over a vertex's triangles, by area; those on a side only when `all`. False when it is zero.
static bool mean_normal(const BrimMesh *m, const Fans *f, const uint8_t *sides, size_t v, bool all,
                        float out[3]) {
    double sum[3] = {0}, part[3], length2 = 0;
    for (uint64_t i = f->start[v]; i < f->start[v + 1]; i++) {
        if (!all && on_side(m, sides, f->corner[i] / 3)) continue;
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

typedef struct Smooth {
    BrimMesh *mesh;
    const uint8_t *sides;
    Team *team;
    float part; ///< of the way to the neighbours' mean
    Fans fans;
    float (*moved)[3]; ///< [vertex_count]
    uint32_t *piece;
    double *before, *after, *gain; ///< [vertex_count] volumes; six times volume a metre outwards
} Smooth;

static void smooth_free(Smooth *s) {
    fans_free(&s->fans);
    free(s->moved), free(s->piece), free(s->before), free(s->after), free(s->gain);
}

static bool smooth_init(Smooth *s) {
    size_t n = s->mesh->vertex_count;
    s->moved = memory_new(n * sizeof *s->moved);
    s->piece = memory_new(n * sizeof *s->piece);
    s->before = memory_new(n * sizeof *s->before);
    s->after = memory_new(n * sizeof *s->after);
    s->gain = memory_new(n * sizeof *s->gain);
    return s->moved && s->piece && s->before && s->after && s->gain && fans_make(&s->fans, s->mesh);
}

/// Whether a vertex may move along an axis.
static bool free_along(const Smooth *s, size_t v, int axis) {
    return !(s->sides[v] & (VERTEX_SOLID | VERTEX_HELD << axis));
}

/// (position) => moved, of a part of the vertices
static void relax_part(void *context, int index, int thread) {
    const Smooth *s = context;
    const BrimMesh *m = s->mesh;
    const Fans *f = &s->fans;
    size_t first = (size_t)index * VERTEX_PART, end = first + VERTEX_PART;
    for (size_t v = first; v < end && v < m->vertex_count; v++) {
        float sum[3] = {0}, count = (float)(f->start[v + 1] - f->start[v]);
        for (uint64_t i = f->start[v]; i < f->start[v + 1]; i++) {
            uint64_t c = f->corner[i];
            const float *p = m->position[m->triangle[c / 3][(c % 3 + 1) % 3]];
            for (int k = 0; k < 3; k++) sum[k] += p[k] - m->position[v][k];
        }
        for (int k = 0; k < 3; k++) {
            float step = free_along(s, v, k) ? s->part * sum[k] / count : 0;
            s->moved[v][k] = m->position[v][k] + step;
        }
    }
}

/// Moves each vertex by `part` of the way to the mean of its neighbours. In the fan of a closed
/// surface each neighbour follows the vertex in exactly one triangle.
static void relax(Smooth *s, float part) {
    BrimMesh *m = s->mesh;
    s->part = part;
    team_for(s->team, team_parts(m->vertex_count, VERTEX_PART), 1, relax_part, s);
    memcpy(m->position, s->moved, m->vertex_count * sizeof *s->moved);
}

/// Moves free vertices along their normals until each piece has its volume again: one Newton step.
static void restore(Smooth *s) {
    BrimMesh *m = s->mesh;
    piece_volumes(m, s->piece, s->after);
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
    for (size_t v = 0; v < m->vertex_count; v++) {
        uint32_t p = s->piece[v];
        double step = s->gain[p] > 0 ? (s->before[p] - s->after[p]) / s->gain[p] : 0;
        for (int k = 0; k < 3; k++)
            if (free_along(s, v, k)) m->position[v][k] += (float)step * m->normal[v][k];
    }
}

BrimResult mesh_smooth(BrimMesh *mesh, const uint8_t *sides, int passes, Team *team,
                       BrimError *error) {
    Smooth s = {.mesh = mesh, .sides = sides, .team = team};
    bool ready = smooth_init(&s);
    if (ready) {
        find_pieces(mesh, s.piece);
        piece_volumes(mesh, s.piece, s.before);
        // Taubin 1995: a step in, a slightly larger one out; what is longer than a few edges stays
        for (int i = 0; i < passes; i++) relax(&s, 0.5f), relax(&s, -0.53f);
        for (int i = 0; i < 3; i++) restore(&s);
    }
    smooth_free(&s);
    return ready ? BRIM_OK : no_memory(error);
}
