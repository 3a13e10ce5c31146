// Stage 5: particles into tiles and cells; fields that outlive a step follow their tiles.
#include "step/stages.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void field_follow(BrimSim *s, float **field, float fresh) {
    size_t cells = (size_t)s->grid.tile_cells;
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (int t = 0; t < s->grid.tile_count; t++) {
        float *to = s->spare + (size_t)t * cells;
        int32_t from = s->sort.from[t];
        if (from >= 0)
            memcpy(to, *field + (size_t)from * cells, cells * sizeof *to);
        else
            for (size_t i = 0; i < cells; i++) to[i] = fresh;
    }
    float *before = *field;
    *field = s->spare;
    s->spare = before;
}

static bool unchanged(const BrimSim *s, int tiles_before) {
    if (s->grid.tile_count != tiles_before) return false;
    for (int t = 0; t < tiles_before; t++)
        if (s->sort.from[t] != t) return false;
    return true;
}

/// What solids left on the tiles follows; new tiles are sampled.
static bool follow_solids(BrimSim *s) {
    int n = s->grid.tile_count;
    uint8_t *before = malloc((size_t)n + 1);
    if (!before) return false;
    for (int t = 0; t < n; t++)
        before[t] = s->sort.from[t] < 0 ? SOLID_FAR : s->tile_solid[s->sort.from[t]];
    memcpy(s->tile_solid, before, (size_t)n);
    free(before);
    field_follow(s, &s->solid_phi, 0);
    field_follow(s, &s->solid_part, 0);
    field_follow(s, &s->solid_volume, 0);
    for (int a = 0; a < s->dim; a++) {
        field_follow(s, &s->open[a], 1);
        if (s->wall_speed[a]) field_follow(s, &s->wall_speed[a], 0);
    }
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < n; t++)
        if (s->sort.from[t] < 0) solids_sample_tile(s, t);
    return true;
}

bool stage_sort(BrimSim *s) {
    int before = s->grid.tile_count;
    if (s->band) band_keep_tiles(s);
    // As far as a particle can travel, and one cell more that its interpolation reads there.
    int reach = (int)fmin(ceil(reach_estimate(s)), 64) + 1;
    SortCounts gone;
    if (!particles_sort(&s->particles, &s->grid, &s->sort, reach, s->threads, &gone)) return false;
    // A few tiles keep one thread busy; more would only wait for one another.
    enum { TILES_A_THREAD = 12 };
    int most = 1 + s->grid.tile_count / TILES_A_THREAD;
    s->threads = most < s->threads_most ? most : s->threads_most;
    s->drained += (int64_t)gone.drained;
    s->left += (int64_t)gone.left;
    s->resampled -= (int64_t)gone.hidden;
    if (unchanged(s, before)) return true;
    if (!fields_reserve(s, (size_t)s->grid.tile_count)) return false;
    field_follow(s, &s->pressure, 0);
    if (s->band) band_follow(s);
    return !s->solid_count || follow_solids(s);
}
