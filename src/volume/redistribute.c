// Cells far above rest density: their particles are spread over sub-cells, since particles on one
// spot are moved alike by any displacement and would never part (section 3.2 of the density paper).
#include "base/hash.h"
#include "volume/density.h"
#include "walls/lookup.h"
#include "walls/solid_fine.h"
#include "walls/solid_masks.h"
#include <math.h>

/// Cells above this many times the rest density are spread.
static const float OVERFULL = 1.5f;

/// One velocity, or change of velocity, for all: their mean, which keeps the momentum.
static void share_mean(float *value, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += value[i];
    for (uint32_t i = 0; i < count; i++) value[i] = (float)(sum / count);
}

/// The sub-cells of a cell that particles are spread over.
typedef struct SubCells {
    int corner[3]; ///< the cell
    uint32_t edge; ///< so many along an axis
    uint64_t count;
    bool some;           ///< a solid takes the others: only those in `open`
    uint16_t open[1024]; ///< numbers of those whose middle is free
} SubCells;

/// A point of a sub-cell, given by its place along each axis from 0 to 1.
static void point_in(const BrimSim *s, const SubCells *sub, uint32_t number, const float part[3],
                     float at[3]) {
    at[2] = 0;
    for (int a = 0; a < s->dim; a++, number /= sub->edge)
        at[a] =
            ((float)sub->corner[a] + ((float)(number % sub->edge) + part[a]) / (float)sub->edge) *
            s->dx;
}

static const float middle[3] = {0.5f, 0.5f, 0.5f};

/// False where a thin wall parts the cell: none shall get to its other side.
static bool find_sub_cells(const BrimSim *s, int slot, int cell, uint32_t particles,
                           SubCells *sub) {
    TileCoord c = s->grid.coord[slot];
    float at[3];
    sub->corner[0] = c.x * TILE + (cell & 7), sub->corner[1] = c.y * TILE + (cell >> 3 & 7);
    sub->corner[2] = c.z * TILE + (cell >> 6);
    sub->edge = 1;
    sub->some = false;
    if (solid_here(s, slot)) {
        point_in(s, sub, 0, middle, at);
        sub->some = solid_value(s, at) < s->dx; // not farther than the cell's corners
    }
    if (sub->some && fine_here(s, slot) && other_parts(s, slot, cell)) return false;
    uint32_t most = sub->some ? s->dim == 3 ? 10 : 32 : UINT16_MAX;
    sub->edge = (uint32_t)fmin(ceil(pow(particles, 1.0 / s->dim) - 1e-9), most);
    uint64_t all = (uint64_t)sub->edge * sub->edge * (s->dim == 3 ? sub->edge : 1);
    sub->count = sub->some ? 0 : all;
    for (uint32_t i = 0; i < all && sub->some; i++) {
        point_in(s, sub, i, middle, at);
        if (solid_value(s, at) >= 0) sub->open[sub->count++] = (uint16_t)i;
    }
    return true;
}

/// Particles are dealt out to the sub-cells in the order in which they are stored, each with a
/// place in its own by chance; sub-cells that stay empty are spread evenly over the cell. Kept near
/// the centres of their sub-cells none would lie close to the cell's faces: displacements of less
/// than that gap would never carry any out, and full layers would stay as they are.
static void spread_cell(BrimSim *s, int slot, int cell, uint32_t first, uint32_t count) {
    Particles *p = &s->particles;
    SubCells sub;
    if (!find_sub_cells(s, slot, cell, count, &sub)) return;
    for (uint32_t i = 0; i < count && sub.count; i++) { // none: all is solid, they stay
        uint32_t number = (uint32_t)((uint64_t)i * sub.count / count);
        if (sub.some) number = sub.open[number];
        uint64_t h =
            hash_3(s->def.seed, particle_words(p, ATTR_ID)[first + i], (uint64_t)s->step + 1);
        const float part[3] = {hash_unit(h, 0), hash_unit(h, 1), hash_unit(hash_mix(h), 0)};
        float at[3];
        point_in(s, &sub, number, part, at);
        if (sub.some && solid_value(s, at) < 0) point_in(s, &sub, number, middle, at);
        for (int a = 0; a < s->dim; a++) p->attr[ATTR_X + a][first + i] = at[a];
    }
    for (int a = 0; a < s->dim; a++) share_mean(p->attr[ATTR_VX + a] + first, count);
    for (int a = ATTR_AFFINE; p->attr[ATTR_AFFINE] && a <= ATTR_END_AFFINE; a++)
        share_mean(p->attr[a] + first, count);
}

static void redistribute_tile(BrimSim *s, int slot, int thread, void *context) {
    const Particles *p = &s->particles;
    uint32_t most = (uint32_t)(OVERFULL * (float)s->def.particles_per_cell);
    size_t base = (size_t)slot * (size_t)s->grid.tile_cells;
    const uint32_t *start = cell_starts(p, &s->grid, slot);
    if (!tile_holds(p, slot)) return;
    for (int i = 0; i < s->grid.tile_cells; i++) {
        uint32_t first = start[i], count = start[i + 1] - first;
        if (count > most && s->density[base + (size_t)i] > OVERFULL)
            spread_cell(s, slot, i, first, count);
    }
}

void redistribute(BrimSim *s) {
    tiles_for(s, redistribute_tile, NULL);
}
