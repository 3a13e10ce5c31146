// Band: how a simulation begins. Liquid deeper than the band gets no particles.
#include "band/band.h"
#include "base/memory.h"
#include "emit/emit.h"
#include <string.h>

/// Cells in which a region's lattice has a point => liquid; how many in `lattice_points`. Regions
/// of particles at random places are not full and have nothing to hide.
static void mark_liquid(BrimSim *s, const BrimLiquidDef *liquid, const Shape *const *shapes,
                        int count) {
    uint32_t *points = s->lattice_points;
    memset(points, 0, sim_cells(s) * sizeof *points);
    for (int i = 0; i < count; i++)
        if (liquid[i].particles == 0) emit_cells(s, shapes, i, points);
    for (size_t r = 0; r < sim_rows(s); r++) {
        uint8_t bits = 0;
        for (size_t x = 0; x < TILE; x++) bits |= (uint8_t)((points[r * TILE + x] > 0) << x);
        s->liquid[r] = bits;
    }
    for (size_t i = 0; i < sim_cells(s); i++)
        s->phi[i] = s->liquid[i >> 3] >> (i & 7) & 1 ? -LEVEL_SET_CUT : LEVEL_SET_CUT;
}

bool band_start(BrimSim *s, const BrimLiquidDef *liquid, const Shape *const *shapes, int count,
                const uint8_t *tiles) {
    for (size_t i = 0; i < grid_box(&s->grid); i++)
        if (tiles[i]) s->sort.reach[i] |= 1u << TILE_SELF;
    if (!sort_particles(s)) return false;
    if (s->grid.tile_count == 0) return true; // a tank that is still empty has no fields
    size_t rows = sim_rows(s);
    memset(s->interior, 0, rows);
    memset(s->hidden, 0, rows);
    memset(s->traced, TRACED_NONE, (size_t)s->grid.tile_count);
    if (!fields_take(s, FIELD_lattice_points) || !band_distance_room(s)) return false;
    mark_liquid(s, liquid, shapes, count);
    band_distance(s);
    for (size_t i = 0; i < sim_cells(s); i++) {
        if (!band_deep_near(s, (int)(i / (size_t)s->grid.tile_cells))) continue;
        bool wet = s->liquid[i >> 3] >> (i & 7) & 1;
        s->interior[i >> 3] |= (uint8_t)((wet && s->phi[i] < -1) << (i & 7));
        s->hidden[i >> 3] |= (uint8_t)((wet && s->phi[i] < (float)-s->def.band_width) << (i & 7));
    }
    return true;
}

/// Liquids and their shapes.
typedef struct Liquids {
    const BrimLiquidDef *liquid;
    const Shape *const *shapes;
    int count;
} Liquids;

static void start_tile(BrimSim *s, int slot, int thread, void *context) {
    const Liquids *l = context;
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    TileCoord c = g->coord[slot];
    s->traced[slot] = TRACED_SOME;
    for (int r = 0; r < g->tile_rows; r++) {
        float at[3][TILE], distance[TILE];
        bool taken[TILE] = {false};
        for (int x = 0; x < TILE; x++) {
            at[0][x] = space_middle(s->space, c.x * TILE + x);
            at[1][x] = space_middle(s->space, c.y * TILE + (r & 7));
            at[2][x] = s->dim == 3 ? space_middle(s->space, c.z * TILE + (r >> 3)) : 0;
            for (int a = 0; a < s->dim; a++) s->carried[a][base + (size_t)(r * TILE + x)] = 0;
        }
        for (int k = 0; k < l->count; k++) {
            shape_distance(l->shapes[k], TILE, at[0], at[1], at[2], distance);
            for (int x = 0; x < TILE; x++) {
                if (distance[x] >= 0 || taken[x]) continue;
                taken[x] = true;
                for (int a = 0; a < s->dim; a++) {
                    float face[3] = {at[0][x], at[1][x], at[2][x]};
                    face[a] -= 0.5f * s->dx;
                    s->carried[a][base + (size_t)(r * TILE + x)] =
                        liquid_velocity(&l->liquid[k], &s->flows[k], face, a);
                }
            }
        }
    }
}

void band_start_velocity(BrimSim *s, const BrimLiquidDef *liquid, const Shape *const *shapes,
                         int count) {
    tiles_for(s, start_tile, &(Liquids){liquid, shapes, count});
}
