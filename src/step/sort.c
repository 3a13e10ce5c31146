// Stage 5: particles into tiles and cells; fields that outlive a step follow their tiles.
#include "step/stages.h"
#include "walls/solid_fine.h"
#include <math.h>
#include <string.h>

void follow(void *array, size_t bytes, const int32_t *from, int count) {
    // As the order stays, what goes down finds its place already read by those before it, what goes
    // up by those after it.
    uint8_t *at = array;
    for (int i = 0; i < count; i++)
        if (from[i] > i) memcpy(at + (size_t)i * bytes, at + (size_t)from[i] * bytes, bytes);
    for (int i = count - 1; i >= 0; i--)
        if (from[i] >= 0 && from[i] < i)
            memcpy(at + (size_t)i * bytes, at + (size_t)from[i] * bytes, bytes);
    for (int i = 0; i < count; i++)
        if (from[i] < 0) memset(at + (size_t)i * bytes, 0, bytes);
}

/// A grid field that outlives a sort: the pressure and, with a band, `old`.
static void follow_field(void *sim, int index, int thread) {
    BrimSim *s = sim;
    follow(index ? s->old[index - 1] : s->pressure, (size_t)s->grid.tile_cells * sizeof(float),
           s->sort.from, s->grid.tile_count);
}

static bool unchanged(const BrimSim *s, int tiles_before) {
    if (s->grid.tile_count != tiles_before) return false;
    for (int t = 0; t < tiles_before; t++)
        if (s->sort.from[t] != t) return false;
    return true;
}

/// What solids left on the tiles follows; new tiles are sampled.
static bool follow_solids(BrimSim *s) {
    follow(s->tile_solid, 1, s->sort.from, s->grid.tile_count);
    follow(s->solid_at, sizeof *s->solid_at, s->sort.from, s->grid.tile_count);
    size_t rows = (size_t)s->grid.tile_rows;
    for (int a = 0; a < s->dim; a++) {
        follow(s->shut[a], rows, s->sort.from, s->grid.tile_count);
        follow(s->cut[a], rows, s->sort.from, s->grid.tile_count);
    }
    follow(s->rock, rows, s->sort.from, s->grid.tile_count);
    return solids_arrange(s);
}

bool stage_sort(BrimSim *s) {
    int before = s->grid.tile_count;
    if (s->band) band_keep_tiles(s);
    SortCounts gone;
    if (!particles_sort(&s->particles, &s->grid, &s->sort, s->tile_reach,
                        reach_cells(reach_estimate(s)), s->team, &gone))
        return false;
    s->drained += (int64_t)gone.drained;
    s->left += (int64_t)gone.left;
    s->resampled -= (int64_t)gone.hidden;
    if (!fields_reserve(s, (size_t)s->grid.tile_count)) return false;
    sort_take_reach(&s->sort, &s->grid, s->tile_reach);
    if (!unchanged(s, before)) {
        team_for(s->team, s->band ? 1 + s->dim : 1, 1, follow_field, s);
        if (s->band) band_follow(s);
        if (s->solid_at && !follow_solids(s)) return false;
    }
    find_foreign(s);
    return true;
}
