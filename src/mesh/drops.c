// Drops of one particle, drawn without the lattice. A ball of a few nodes is cut by them to another
// polyhedron wherever it is, so that it flickers as it flies; these are the same ball everywhere.
#include "mesh/drops.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERTICES = DROP_VERTICES, TRIANGLES = DROP_TRIANGLES };

/// Radius of a ball of one particle's volume, in cells.
static float ball_radius(const MeshScale *s) {
    return cbrtf(3 / (4 * 3.14159265f)) * s->spacing;
}

/// Cells around a particle's own in which no other may be: none within its own ball and another
/// particle's reach.
static int clear_cells(const MeshScale *s) {
    return (int)ceilf(ball_radius(s) + s->reach);
}

/// Whether the cell holds one particle, far from all others and from the domain's sides.
static bool is_alone(const Bins *b, const MeshScale *s, int x, int y, int z) {
    int clear = clear_cells(s);
    const int at[3] = {x, y, z};
    for (int a = 0; a < 3; a++)
        if (at[a] < clear || at[a] >= s->cells[a] - clear) return false;
    uint32_t found = 0;
    for (int k = -clear; k <= clear; k++)
        for (int j = -clear; j <= clear; j++)
            for (int i = -clear; i <= clear; i++) {
                int64_t cell = grid_cell(&b->grid, x + i, y + j, z + k);
                if (cell >= 0) found += b->start[cell + 1] - b->start[cell];
                if (cell >= 0 && b->occupied[cell >> 3] >> (cell & 7) & 1 &&
                    b->start[cell + 1] == b->start[cell])
                    return false; // full of water that has no particles
                if (found > 1) return false;
            }
    return found == 1;
}

static bool clear_of_solids(const MeshScale *s, const SolidList *solids, const BrimParticles *p,
                            uint32_t i) {
    float d = INFINITY;
    if (solids->count) solids_nearest(solids, 1, &p->x[i], &p->y[i], &p->z[i], &d);
    return d > (float)clear_cells(s) * s->dx;
}

bool drops_find(Drops *drops, const Bins *b, const MeshScale *s, const SolidList *solids,
                const BrimParticles *p) {
    *drops = (Drops){0};
    size_t room = 0;
    for (int slot = 0; slot < b->grid.tile_count; slot++) {
        const uint32_t *start = b->start + (size_t)slot * 512;
        TileCoord c = b->grid.coord[slot];
        if (start[0] == start[512]) continue;
        for (int k = 0; k < 512; k++) {
            if (start[k + 1] - start[k] != 1) continue;
            if (!is_alone(b, s, 8 * c.x + (k & 7), 8 * c.y + (k >> 3 & 7), 8 * c.z + (k >> 6)))
                continue;
            uint32_t i = b->order[start[k]];
            if (!clear_of_solids(s, solids, p, i)) continue;
            if (drops->count == room) {
                room = 2 * room + 64;
                uint32_t *more = realloc(drops->particle, room * sizeof *more);
                if (!more) return false;
                drops->particle = more;
            }
            drops->particle[drops->count++] = i;
        }
    }
    return true;
}

void drops_free(Drops *drops) {
    free(drops->particle);
    *drops = (Drops){0};
}

// ---------------------------------------------------------------------------------------- ball

/// An icosahedron with its edges halved: 42 corners on a unit ball.
typedef struct Ball {
    double corner[VERTICES][3];
    uint32_t triangle[TRIANGLES][3];
    double volume;
} Ball;

static uint32_t halfway(Ball *ball, uint32_t *count, uint32_t a, uint32_t b) {
    double middle[3], length = 0;
    for (int k = 0; k < 3; k++) {
        middle[k] = ball->corner[a][k] + ball->corner[b][k];
        length += middle[k] * middle[k];
    }
    for (int k = 0; k < 3; k++) middle[k] /= sqrt(length);
    for (uint32_t i = 12; i < *count; i++) {
        double apart = 0;
        for (int k = 0; k < 3; k++) apart += fabs(ball->corner[i][k] - middle[k]);
        if (apart < 1e-6) return i;
    }
    memcpy(ball->corner[*count], middle, sizeof middle);
    return (*count)++;
}

static void ball_make(Ball *ball) {
    static const uint32_t faces[20][3] = {
        {0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
        {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
        {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
    const double g = (1 + sqrt(5)) / 2, r = sqrt(1 + g * g);
    for (int i = 0; i < 12; i++) { // (-+1, +-g, 0) and its turns
        int axis = i / 4;
        ball->corner[i][axis] = (i & 1 ? 1 : -1) / r;
        ball->corner[i][(axis + 1) % 3] = (i & 2 ? -g : g) / r;
        ball->corner[i][(axis + 2) % 3] = 0;
    }
    uint32_t count = 12;
    for (int f = 0; f < 20; f++) {
        uint32_t m[3];
        for (int k = 0; k < 3; k++)
            m[k] = halfway(ball, &count, faces[f][k], faces[f][(k + 1) % 3]);
        for (int k = 0; k < 3; k++)
            memcpy(ball->triangle[4 * f + k], (uint32_t[]){faces[f][k], m[k], m[(k + 2) % 3]}, 12);
        memcpy(ball->triangle[4 * f + 3], (uint32_t[]){m[0], m[1], m[2]}, 12);
    }
    ball->volume = 0;
    for (int i = 0; i < TRIANGLES; i++) {
        const double *a = ball->corner[ball->triangle[i][0]],
                     *b = ball->corner[ball->triangle[i][1]],
                     *c = ball->corner[ball->triangle[i][2]];
        for (int k = 0; k < 3; k++)
            ball->volume +=
                a[k] * (b[(k + 1) % 3] * c[(k + 2) % 3] - b[(k + 2) % 3] * c[(k + 1) % 3]) / 6;
    }
}

static bool widen(void *array, size_t bytes) {
    void **at = array, *more = realloc(*at, bytes);
    if (more) *at = more;
    return more;
}

bool drops_draw(const Drops *drops, const MeshScale *s, const BrimParticles *p, BrimMesh *m) {
    size_t v = m->vertex_count, t = m->triangle_count;
    size_t vertices = v + VERTICES * drops->count, triangles = t + TRIANGLES * drops->count;
    if (!drops->count) return true;
    if (vertices > UINT32_MAX || triangles > UINT32_MAX ||
        !widen(&m->position, vertices * sizeof *m->position) ||
        !widen(&m->normal, vertices * sizeof *m->normal) ||
        !widen(&m->velocity, vertices * sizeof *m->velocity) ||
        !widen(&m->triangle, triangles * sizeof *m->triangle))
        return false;
    Ball ball;
    ball_make(&ball);
    double radius = cbrt(1 / ball.volume) * (double)s->spacing * (double)s->dx;
    for (size_t d = 0; d < drops->count; d++, v += VERTICES) {
        uint32_t i = drops->particle[d];
        const float at[3] = {p->x[i], p->y[i], p->z[i]};
        const float speed[3] = {p->vx ? p->vx[i] : 0, p->vy ? p->vy[i] : 0, p->vz ? p->vz[i] : 0};
        for (int k = 0; k < VERTICES; k++)
            for (int a = 0; a < 3; a++) {
                m->position[v + (size_t)k][a] = (float)((double)at[a] + radius * ball.corner[k][a]);
                m->normal[v + (size_t)k][a] = (float)ball.corner[k][a];
                m->velocity[v + (size_t)k][a] = speed[a];
            }
        for (int k = 0; k < TRIANGLES; k++, t++)
            for (int a = 0; a < 3; a++) m->triangle[t][a] = (uint32_t)v + ball.triangle[k][a];
    }
    m->vertex_count = vertices, m->triangle_count = triangles;
    return true;
}
