// Band, stage 4, beside thin walls: paths back in time end on the side of the wall that they began
// on, and the level set is carried along from there alone. What a wall parts has nothing to do with
// each other: read across it, a level set carries deep liquid into the air beyond.
#include "band/band.h"
#include "walls/sight.h"
#include "walls/solid_fine.h"
#include <math.h>

/// Cells from which all values around a point are seen: their diagonal.
static float diagonal(const BrimSim *s) {
    return s->dim == 3 ? 1.74f : 1.42f;
}

/// The level set at a path's end, m, as far as it is seen from there. way: how far it
/// goes along with the solids, now: where it is then; none: what it is where nothing is seen. (phi)
/// => value; false where all is seen
static bool seen_from(const BrimSim *s, const float at[3], const float way[3], const float now[3],
                      float none, float *value) {
    int low[3] = {0};
    float f[3] = {0}, sum = 0, weights = 0;
    bool all = true;
    for (int a = 0; a < s->dim; a++) {
        float x = space_to_grid(s->space, at[a]) - 0.5f;
        low[a] = (int)floorf(x);
        f[a] = x - (float)low[a];
    }
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        float w = 1, centre[3] = {0};
        int cell[3] = {0};
        for (int a = 0; a < s->dim; a++) {
            int last = s->grid.cells[a] - 1, i = low[a] + (n >> a & 1);
            w *= n >> a & 1 ? f[a] : 1 - f[a];
            cell[a] = i < 0 ? 0 : i > last ? last : i;
            centre[a] = space_middle(s->space, cell[a]) + way[a];
        }
        if (w <= 0) continue;
        int64_t i = grid_cell(&s->grid, cell[0], cell[1], cell[2]);
        float unused[3];
        if (solid_lookup(s, centre, unused) < 0 || wall_between(s, now, centre)) {
            all = false;
            continue;
        }
        sum += w * (i < 0 ? LEVEL_SET_CUT : s->phi[i]), weights += w;
    }
    *value = weights > 1e-3f ? sum / weights : none;
    return !all;
}

void band_keep_sides(const BrimSim *s, int slot, float back[3][BAND_CELLS], float *phi) {
    TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    for (int i = 0; i < s->grid.tile_cells; i++) {
        const int local[3] = {i & 7, i >> 3 & 7, i >> 6};
        float centre[3] = {0}, from[3] = {0}, now[3], way[3] = {0}, way2 = 0;
        float slope[3];
        bool known = true, inside = true;
        for (int a = 0; a < s->dim; a++) {
            inside &= tile[a] + local[a] < s->grid.cells[a];
            centre[a] = space_middle(s->space, tile[a] + local[a]);
            known &= back[a][i] == back[a][i];
            way2 += back[a][i] * back[a][i];
        }
        if (!inside || !known) continue;
        float distance = solid_lookup(s, centre, slope) * s->inv_dx;
        float reach = sqrtf(way2) + diagonal(s);
        if (distance > reach && reach < SOLID_REACH - 0.1f) continue; // distances end there
        // A centre in a wall belongs to the side that is nearest.
        if (distance < 0 && !step_outside(s, centre)) continue;
        for (int a = 0; a < s->dim; a++) {
            float end = (float)s->grid.cells[a] * s->dx;
            from[a] = fminf(fmaxf(centre[a] - back[a][i] * s->dx, 0), end);
        }
        go_with_walls(s, from, (float)s->dt, now);
        float clear = clear_way(s, centre, now);
        for (int a = 0; a < s->dim && clear < 1; a++) { // it ends before the wall
            float cut = (1 - clear) * (centre[a] - now[a]);
            from[a] += cut, now[a] += cut;
            if (distance >= 0) back[a][i] = (centre[a] - from[a]) * s->inv_dx;
        }
        // Beside a wall that goes on a cell says nothing of what was there before.
        bool moves = s->tile_solid[slot] == SOLID_MOVING;
        float value, none = moves ? LEVEL_SET_CUT : s->phi[(int64_t)slot * s->grid.tile_cells + i];
        for (int a = 0; a < s->dim; a++) way[a] = now[a] - from[a];
        step_outside(s, now); // where it only grazes the wall
        if (seen_from(s, from, way, now, none, &value) || clear < 1) phi[i] = value;
    }
}
