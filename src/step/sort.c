// Stage 5: particles into tiles and cells; fields that outlive a step follow their tiles.
#include "step/stages.h"
#include "walls/solid_fine.h"
#include <math.h>
#include <string.h>

static bool unchanged(const BrimSim *s, int tiles_before) {
    if (s->grid.tile_count != tiles_before) return false;
    for (int t = 0; t < tiles_before; t++)
        if (s->sort.from[t] != t) return false;
    return true;
}

bool sort_particles(BrimSim *s) {
    int before = s->grid.tile_count;
    if (has_band(s)) band_keep_tiles(s);
    SortCounts gone;
    if (!particles_sort(&s->particles, &s->grid, &s->sort, s->tile_reach,
                        reach_cells(reach_estimate(s)), s->team, &gone))
        return false;
    s->drained += (int64_t)gone.drained;
    s->left += (int64_t)gone.left;
    s->band.resampled -= (int64_t)gone.hidden;
    if (!fields_reserve(s, WHERE_ALL, (size_t)s->grid.tile_count)) return false;
    if (!unchanged(s, before)) {
        fields_follow(s, WHERE_ALL, s->sort.from, s->grid.tile_count);
        if (s->solid_at && !solids_arrange(s)) return false;
    }
    sort_take_reach(&s->sort, &s->grid, s->tile_reach);
    find_foreign(s);
    return true;
}

BrimResult stage_sort(BrimSim *s, BrimError *error) {
    return sort_particles(s) ? BRIM_OK : step_out_of_memory(s, "sort", error);
}
