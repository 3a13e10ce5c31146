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

/// Grid fields that outlive a sort; each by one thread.
static void follow_fields(BrimSim *s) {
    float *fields[4] = {s->pressure};
    int count = 1;
    for (int a = 0; a < s->dim && s->band; a++) fields[count++] = s->old[a];
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1)
    for (int i = 0; i < count; i++)
        follow(fields[i], (size_t)s->grid.tile_cells * sizeof(float), s->sort.from,
               s->grid.tile_count);
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
                        reach_cells(reach_estimate(s)), s->threads, &gone))
        return false;
    // A few tiles keep one thread busy; more would only wait for one another.
    enum { TILES_A_THREAD = 12 };
    int most = 1 + s->grid.tile_count / TILES_A_THREAD;
    s->threads = most < s->threads_most ? most : s->threads_most;
    s->drained += (int64_t)gone.drained;
    s->left += (int64_t)gone.left;
    s->resampled -= (int64_t)gone.hidden;
    if (!fields_reserve(s, (size_t)s->grid.tile_count)) return false;
    sort_take_reach(&s->sort, &s->grid, s->tile_reach);
    if (!unchanged(s, before)) {
        follow_fields(s);
        if (s->band) band_follow(s);
        if (s->solid_at && !follow_solids(s)) return false;
    }
    find_foreign(s);
    return true;
}
