#include "mesh/drops.h"
#include "base/memory.h"
#include "mesh/axes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERTICES = DROP_VERTICES, TRIANGLES = DROP_TRIANGLES };

/// Radius of a ball of one particle's volume, in cells.
static float ball_radius(const MeshScale *s) {
    return cbrtf(3 / (4 * 3.14159265f)) * s->spacing;
}

// ---------------------------------------------------------------------------------------- find

typedef enum Mark { UNSEEN, DROP, WATER } Mark;

typedef struct Finding {
    const Bins *b;
    const MeshScale *s;
    const SolidList *solids;
    const BrimParticles *p;
    uint8_t *mark; ///< [particles] Mark
    float link;    ///< particles nearer than this to each other are one drop, cells
    int range;     ///< cells that it spans
} Finding;

static void place(const Finding *f, uint32_t i, float at[3]) {
    at[0] = space_to_grid(f->s->space, f->p->x[i]);
    at[1] = space_to_grid(f->s->space, f->p->y[i]);
    at[2] = space_to_grid(f->s->space, f->p->z[i]);
}

/// Whether a particle is clear of sides and solids by more than its ball and another's reach.
static bool is_clear(const Finding *f, uint32_t i) {
    float clear = ball_radius(f->s) + f->s->reach, at[3], d = INFINITY;
    place(f, i, at);
    for (int a = 0; a < 3; a++)
        if (!(at[a] > clear && at[a] < (float)f->s->cells[a] - clear)) return false;
    if (f->solids->count) solids_nearest(f->solids, 1, &f->p->x[i], &f->p->y[i], &f->p->z[i], &d);
    return d > clear * f->s->dx;
}

/// Adds to the drop what is linked with its particle `i` in a cell. False: it is more than a drop.
static bool link_cell(const Finding *f, int64_t cell, const float at[3], Drop *drop) {
    const Bins *b = f->b;
    if (b->start[cell + 1] == b->start[cell]) // may be full of water that has no particles
        return !(b->occupied[cell >> 3] >> (cell & 7) & 1);
    for (uint32_t k = b->start[cell]; k < b->start[cell + 1]; k++) {
        uint32_t other = b->order[k];
        float x[3], d2 = 0;
        place(f, other, x);
        for (int a = 0; a < 3; a++) d2 += (x[a] - at[a]) * (x[a] - at[a]);
        if (d2 > f->link * f->link || f->mark[other] == DROP) continue;
        if (f->mark[other] == WATER || drop->count == DROP_MOST) return false;
        f->mark[other] = DROP;
        drop->particle[drop->count++] = other;
    }
    return true;
}

/// Gathers the drop that particle i, not seen before, belongs to; false, and its particles marked
/// as water, when it is none.
static bool gather(const Finding *f, uint32_t i, Drop *drop) {
    bool good = true;
    drop->particle[0] = i, drop->count = 1;
    f->mark[i] = DROP;
    for (int n = 0; n < drop->count && good; n++) {
        float at[3];
        place(f, drop->particle[n], at);
        int x = (int)floorf(at[0]), y = (int)floorf(at[1]), z = (int)floorf(at[2]), r = f->range;
        good = is_clear(f, drop->particle[n]);
        for (int dz = -r; dz <= r && good; dz++)
            for (int dy = -r; dy <= r && good; dy++)
                for (int dx = -r; dx <= r && good; dx++) {
                    int64_t cell = grid_cell(&f->b->grid, x + dx, y + dy, z + dz);
                    if (cell >= 0) good = link_cell(f, cell, at, drop);
                }
    }
    for (int n = 0; n < drop->count && !good; n++) f->mark[drop->particle[n]] = WATER;
    return good;
}

static bool keep(Drops *drops, size_t *room, const Drop *drop) {
    if (drops->count == *room) {
        *room = 2 * *room + 64;
        Drop *more = realloc(drops->drop, *room * sizeof *more);
        if (!more) return false;
        drops->drop = more;
    }
    drops->drop[drops->count++] = *drop;
    return true;
}

bool drops_find(Drops *drops, const Bins *b, const MeshScale *s, const SolidList *solids,
                const BrimParticles *p) {
    *drops = (Drops){.marked = memory_zero(p->count + 1)};
    if (!drops->marked) return false;
    Finding f = {b, s, solids, p, drops->marked, s->reach, (int)ceilf(s->reach)};
    size_t cells = (size_t)b->grid.tile_count * 512, room = 0;
    for (size_t cell = 0; cell < cells; cell++) {
        if (b->start[cell] == b->start[cell + 1] || b->deep[cell >> 3] >> (cell & 7) & 1) continue;
        for (uint32_t k = b->start[cell]; k < b->start[cell + 1]; k++) {
            Drop drop;
            if (drops->marked[b->order[k]] != UNSEEN || !gather(&f, b->order[k], &drop)) continue;
            if (!keep(drops, &room, &drop)) return false;
        }
    }
    for (size_t i = 0; i < p->count; i++) drops->marked[i] = drops->marked[i] == DROP;
    return true;
}

void drops_free(Drops *drops) {
    free(drops->drop), free(drops->marked);
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

/// An ellipsoid: corners x = middle + shape u of a unit ball, with velocity + rate (x - middle).
typedef struct Ellipsoid {
    double middle[3], velocity[3];
    double shape[3][3], normal[3][3]; ///< normal: inverse of the shape, but for a factor
    double rate[3][3];                ///< 1/s, without a change of volume
} Ellipsoid;

/// (spread) => shape, normal: its square root, with the determinant 1, and the inverse of that.
static void shape_from(Ellipsoid *e, const double spread[3][3], double inverse[3][3]) {
    double c[3][3], v[3][3];
    memcpy(c, spread, sizeof c);
    axes_find(c, v);
    double unit = pow(c[0][0] * c[1][1] * c[2][2], 1.0 / 6);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            e->shape[i][k] = e->normal[i][k] = inverse[i][k] = 0;
            for (int a = 0; a < 3; a++) {
                double root = sqrt(c[a][a]), part = v[i][a] * v[k][a];
                e->shape[i][k] += part * root / unit;
                e->normal[i][k] += part * unit / root;
                inverse[i][k] += part / c[a][a];
            }
        }
}

/// The ellipsoid whose second moments are those of the particles of a drop, each a ball of radius
/// `ball`. A velocity that is linear in place carries these moments as the particles do.
static Ellipsoid ellipsoid_of(const Drop *drop, const BrimParticles *p, double ball) {
    Ellipsoid e = {0};
    const float *const x[3] = {p->x, p->y, p->z}, *const v[3] = {p->vx, p->vy, p->vz};
    double spread[3][3] = {{0}}, growth[3][3] = {{0}}, inverse[3][3], part = 1.0 / drop->count;
    for (int n = 0; n < drop->count; n++)
        for (int a = 0; a < 3; a++) {
            e.middle[a] += part * (double)x[a][drop->particle[n]];
            if (p->vx) e.velocity[a] += part * (double)v[a][drop->particle[n]];
        }
    for (int n = 0; n < drop->count; n++)
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) {
                uint32_t at = drop->particle[n];
                double away = (double)x[k][at] - e.middle[k];
                spread[i][k] += part * ((double)x[i][at] - e.middle[i]) * away;
                if (p->vx) growth[i][k] += part * ((double)v[i][at] - e.velocity[i]) * away;
            }
    for (int a = 0; a < 3; a++) spread[a][a] += ball * ball / 5; // of a ball
    shape_from(&e, spread, inverse);
    double swell = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            for (int a = 0; a < 3; a++) e.rate[i][k] += growth[i][a] * inverse[a][k];
    for (int a = 0; a < 3; a++) swell += e.rate[a][a] / 3;
    for (int a = 0; a < 3; a++) e.rate[a][a] -= swell;
    return e;
}

static void turn(const double m[3][3], const double x[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = m[i][0] * x[0] + m[i][1] * x[1] + m[i][2] * x[2];
}

static void draw_drop(const Ellipsoid *e, const Ball *ball, double radius, size_t v, BrimMesh *m) {
    for (size_t k = 0; k < VERTICES; k++) {
        double away[3], normal[3], speed[3];
        turn(e->shape, ball->corner[k], away);
        turn(e->normal, ball->corner[k], normal);
        for (int a = 0; a < 3; a++) away[a] *= radius;
        turn(e->rate, away, speed);
        double length = hypot(normal[0], hypot(normal[1], normal[2]));
        for (int a = 0; a < 3; a++) {
            m->position[v + k][a] = (float)(e->middle[a] + away[a]);
            m->normal[v + k][a] = (float)(normal[a] / length);
            m->velocity[v + k][a] = (float)(e->velocity[a] + speed[a]);
        }
    }
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
    for (size_t d = 0; d < drops->count; d++, v += VERTICES) {
        const Drop *drop = &drops->drop[d];
        double radius = cbrt(drop->count / ball.volume) * (double)s->spacing * (double)s->dx;
        Ellipsoid e = ellipsoid_of(drop, p, (double)ball_radius(s) * (double)s->dx);
        draw_drop(&e, &ball, radius, v, m);
        for (int k = 0; k < TRIANGLES; k++, t++)
            for (int a = 0; a < 3; a++) m->triangle[t][a] = (uint32_t)v + ball.triangle[k][a];
    }
    m->vertex_count = vertices, m->triangle_count = triangles;
    return true;
}
