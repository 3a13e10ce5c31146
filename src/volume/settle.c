#include "volume/settle.h"
#include "step/stages.h"
#include "walls/solid_fine.h"
#include <math.h>

/// Passes at most, and the way of a particle, cells, below which another one is not worth it.
enum { PASSES = 8 };
static const double LITTLE = 0.01;

DensityErrors settle_errors(const BrimSim *s, int slot, float *error) {
    DensityErrors sums = {0};
    for (int i = 0; i < s->grid.tile_cells; i++) {
        int64_t solid = solid_cell(s, (int64_t)slot * s->grid.tile_cells + i);
        if (solid < 0 || !(s->solid_part[solid] > 0)) error[i] = 0;
        if (error[i] == 0) continue;
        sums.sum += fabsf(error[i]), sums.cells++;
        sums.largest = fmaxf(sums.largest, fabsf(error[i]));
    }
    return sums;
}

void settle_shut(const BrimSim *s, Around *around) {
    for (int n = 0; n < 2 * s->dim; n++)
        for (int z = 0; z < s->grid.tile_depth; z++)
            around->side[n].slice[z] |= ~around->wet[n].slice[z];
}

BrimResult density_settle(BrimSim *s, BrimError *error) {
    VolumeState *v = &s->volume;
    BrimResult result;
    // Not with a band: velocities of hidden liquid wait in a field that the stages below write
    // over. Bodies move at once.
    if (s->def.volume != BRIM_VOLUME_DENSITY || !s->walls.solid_count || s->warp || has_band(s) ||
        s->bodies || !pressure_acts(s))
        return BRIM_OK;
    s->dt = 0; // solids as they stand now, not at the end of a step
    result = stages_run(s, AT_SOLIDS, AT_SOLIDS, error);
    if (result != BRIM_OK) return result;
    find_foreign(s); // they may have come since the particles were sorted
    v->settling = v->weighs = true;
    for (int pass = 0; pass < PASSES; pass++) {
        result = stages_run(s, AT_WEIGH, AT_SORT, error); // fields live through all of them
        // no liquid beside solids, or nearly even
        if (result != BRIM_OK || !(v->found.largest > 0) || v->moved < LITTLE) break;
    }
    v->settling = v->weighs = false;
    return result;
}
