// Band, stage 4, beside thin walls: paths back in time end on the side of the wall that they began
// on, and the level set is carried along from there alone. What a wall parts has nothing to do with
// each other: read across it, a level set carries deep liquid into the air beyond.
#include "band/band.h"
#include "walls/lookup.h"
#include "walls/sight.h"
#include "walls/solid_fine.h"
#include <math.h>

/// Cells from which all values around a point are seen: their diagonal.
static float diagonal(const BrimSim *s) {
    return s->dim == 3 ? 1.74f : 1.42f;
}

/// Distances to solids at the centres of cells around a tile, each looked up once, where none move.
typedef struct Centres {
    const BrimSim *s;
    int low[3];      ///< first cell of the block
    float *distance; ///< [cells of the largest block], m; NaN: nobody has asked
} Centres;

static Centres centres_around(const BrimSim *s, int slot, float *block) {
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x, t.y, t.z}, edge = block_edge(BLOCK_HALO_MAX);
    Centres c = {.s = s, .distance = s->wall_speed[s->dim - 1] ? NULL : block};
    for (int a = 0; a < s->dim; a++) c.low[a] = tile[a] * TILE - BLOCK_HALO_MAX;
    for (int i = 0; i < edge * edge * (s->dim == 3 ? edge : 1) && c.distance; i++) block[i] = NAN;
    return c;
}

/// That at a cell's centre, which has gone to a point.
static float centre_distance(const Centres *c, const int cell[3], const float centre[3]) {
    const int edge = block_edge(BLOCK_HALO_MAX);
    int at = 0;
    bool inside = c->distance;
    for (int a = c->s->dim - 1; a >= 0; a--) {
        int i = cell[a] - c->low[a];
        inside &= i >= 0 && i < edge;
        at = at * edge + i;
    }
    if (!inside) return solid_value(c->s, centre);
    if (!(c->distance[at] == c->distance[at])) c->distance[at] = solid_value(c->s, centre);
    return c->distance[at];
}

/// The level set at a path's end, m, as far as it is seen from there. way: how far it
/// goes along with the solids, now: where it is then, start: m from solids there; none: what it is
/// where nothing is seen. (phi)
/// => value; false where all is seen
static bool seen_from(const Centres *c, const float at[3], const float way[3], const float now[3],
                      float start, float none, float *value) {
    const BrimSim *s = c->s;
    int low[3] = {0};
    float f[3] = {0}, sum = 0, weights = 0;
    bool all = true;
    for (int a = 0; a < s->dim; a++) {
        float x = space_to_grid(s->space, at[a]) - 0.5f;
        low[a] = (int)floorf(x);
        f[a] = x - (float)low[a];
    }
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        float w = 1, centre[3] = {0}, end;
        int cell[3] = {0};
        for (int a = 0; a < s->dim; a++) {
            int last = s->grid.cells[a] - 1, i = low[a] + (n >> a & 1);
            w *= n >> a & 1 ? f[a] : 1 - f[a];
            cell[a] = i < 0 ? 0 : i > last ? last : i;
            centre[a] = space_middle(s->space, cell[a]) + way[a];
        }
        if (w <= 0) continue;
        int64_t i = grid_cell(&s->grid, cell[0], cell[1], cell[2]);
        end = centre_distance(c, cell, centre);
        if (end < 0 || clear_way(s, now, start, centre, end) < 1) {
            all = false;
            continue;
        }
        sum += w * (i < 0 ? LEVEL_SET_CUT : s->phi[i]), weights += w;
    }
    *value = weights > 1e-3f ? sum / weights : none;
    return !all;
}

void band_keep_sides(const BrimSim *s, int slot, float back[3][BAND_CELLS], float *phi,
                     float *block) {
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x * TILE, t.y * TILE, t.z * TILE};
    const Centres c = centres_around(s, slot, block);
    for (int i = 0; i < s->grid.tile_cells; i++) {
        const int cell[3] = {tile[0] + (i & 7), tile[1] + (i >> 3 & 7), tile[2] + (i >> 6)};
        float centre[3] = {0}, from[3] = {0}, now[3], way[3] = {0}, way2 = 0;
        bool known = true, inside = true;
        for (int a = 0; a < s->dim; a++) {
            inside &= cell[a] < s->grid.cells[a];
            centre[a] = space_middle(s->space, cell[a]);
            known &= back[a][i] == back[a][i];
            way2 += back[a][i] * back[a][i];
        }
        if (!inside || !known) continue;
        float start = centre_distance(&c, cell, centre), reach = sqrtf(way2) + diagonal(s);
        const bool in_wall = start < 0;
        if (start > reach * s->dx && reach < SOLID_REACH - 0.1f) continue; // distances end there
        // A centre in a wall belongs to the side that is nearest.
        if (in_wall && !step_outside(s, centre)) continue;
        if (in_wall) start = solid_value(s, centre);
        for (int a = 0; a < s->dim; a++) {
            float last = (float)s->grid.cells[a] * s->dx;
            from[a] = fminf(fmaxf(centre[a] - back[a][i] * s->dx, 0), last);
        }
        go_with_walls(s, from, (float)s->dt, now);
        float end = solid_value(s, now), clear = clear_way(s, centre, start, now, end);
        for (int a = 0; a < s->dim && clear < 1; a++) { // it ends before the wall
            float cut = (1 - clear) * (centre[a] - now[a]);
            from[a] += cut, now[a] += cut;
            if (!in_wall) back[a][i] = (centre[a] - from[a]) * s->inv_dx;
        }
        for (int a = 0; a < s->dim; a++) way[a] = now[a] - from[a];
        if (clear < 1) end = solid_value(s, now);
        if (end < 0) { // it only grazes the wall
            step_outside(s, now);
            end = solid_value(s, now);
        }
        if (clear == 1 && end > diagonal(s) * s->dx) continue; // all around is seen
        // Beside a wall that goes on a cell says nothing of what was there before.
        bool moves = s->tile_solid[slot] == SOLID_MOVING;
        float value, none = moves ? LEVEL_SET_CUT : s->phi[(int64_t)slot * s->grid.tile_cells + i];
        if (seen_from(&c, from, way, now, end, none, &value) || clear < 1) phi[i] = value;
    }
}
