// Cells far above rest density: their particles are spread over sub-cells, since particles on one
// spot are moved alike by any displacement and would never part (section 3.2 of the density paper).
#include "base/hash.h"
#include "step/density.h"
#include <math.h>

/// Cells above this many times the rest density are spread.
static const float OVERFULL = 1.5f;

/// One velocity, or change of velocity, for all: their mean, which keeps the momentum.
static void share_mean(float *value, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += value[i];
    for (uint32_t i = 0; i < count; i++) value[i] = (float)(sum / count);
}

/// Each particle gets a sub-cell of its own, in the order in which they are stored, and a place in
/// it by chance; sub-cells that stay empty are spread evenly over the cell. Kept near the centres
/// of their sub-cells none would lie close to the cell's faces: displacements of less than that gap
/// would never carry any out, and full layers would stay as they are.
static void spread_cell(BrimSim *s, int slot, int cell, uint32_t first, uint32_t count) {
    Particles *p = &s->particles;
    TileCoord c = s->grid.coord[slot];
    const int corner[3] = {c.x * TILE + (cell & 7), c.y * TILE + (cell >> 3 & 7),
                           c.z * TILE + (cell >> 6)};
    uint32_t edge = (uint32_t)ceil(pow(count, 1.0 / s->dim) - 1e-9);
    bool walls = s->solid_count && s->tile_solid[slot] != SOLID_FAR;
    uint64_t places = (uint64_t)edge * edge * (s->dim == 3 ? edge : 1);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t place = i * places / count;
        uint64_t h = hash_3(s->def.seed, p->id[first + i], (uint64_t)s->step + 1);
        const float r[3] = {hash_unit(h, 0), hash_unit(h, 1), hash_unit(hash_mix(h), 0)};
        float at[3] = {0}, gradient[3];
        for (int a = 0; a < s->dim; a++, place /= edge) {
            float part = ((float)(place % edge) + r[a]) / (float)edge;
            at[a] = ((float)corner[a] + part) * s->dx;
        }
        if (walls && solid_lookup(s, at, gradient) < 0) continue; // stays where it is
        for (int a = 0; a < s->dim; a++) p->attr[ATTR_X + a][first + i] = at[a];
    }
    for (int a = 0; a < s->dim; a++) share_mean(p->attr[ATTR_VX + a] + first, count);
    for (int a = ATTR_AFFINE; p->affine && a < ATTR_MAX; a++) share_mean(p->attr[a] + first, count);
}

void redistribute(BrimSim *s) {
    const Particles *p = &s->particles;
    uint32_t most = (uint32_t)(OVERFULL * (float)s->def.particles_per_cell);
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < s->grid.tile_count; t++) {
        size_t base = (size_t)t * (size_t)s->grid.tile_cells;
        for (int i = 0; i < s->grid.tile_cells; i++) {
            uint32_t first = p->cell_start[base + (size_t)i];
            uint32_t count = p->cell_start[base + (size_t)i + 1] - first;
            if (count > most && s->density[base + (size_t)i] > OVERFULL)
                spread_cell(s, t, i, first, count);
        }
    }
}
