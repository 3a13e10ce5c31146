// Stage 5: particles into tiles and cells; fields that outlive a step follow their tiles.
#include "step/stages.h"
#include <math.h>
#include <string.h>

void tiles_follow(const BrimSim *s, void *array, size_t bytes) {
    // Slots keep the order of the box: a tile that goes down finds its place already read by those
    // before it, one that goes up by those after it.
    const int32_t *from = s->sort.from;
    int tiles = s->grid.tile_count;
    uint8_t *at = array;
    for (int t = 0; t < tiles; t++)
        if (from[t] > t) memcpy(at + (size_t)t * bytes, at + (size_t)from[t] * bytes, bytes);
    for (int t = tiles - 1; t >= 0; t--)
        if (from[t] >= 0 && from[t] < t)
            memcpy(at + (size_t)t * bytes, at + (size_t)from[t] * bytes, bytes);
    for (int t = 0; t < tiles; t++)
        if (from[t] < 0) memset(at + (size_t)t * bytes, 0, bytes);
}

/// Grid fields that outlive a sort; each by one thread.
static void follow_fields(BrimSim *s) {
    float *fields[16];
    int count = 0;
    fields[count++] = s->pressure;
    for (int a = 0; a < s->dim; a++) {
        if (s->band) fields[count++] = s->old[a];
        if (s->solid_count) fields[count++] = s->open[a];
        if (s->wall_speed[a]) fields[count++] = s->wall_speed[a];
    }
    if (s->solid_count) fields[count++] = s->solid_phi, fields[count++] = s->solid_volume;
    if (s->solid_part) fields[count++] = s->solid_part;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1)
    for (int i = 0; i < count; i++)
        tiles_follow(s, fields[i], (size_t)s->grid.tile_cells * sizeof(float));
}

static bool unchanged(const BrimSim *s, int tiles_before) {
    if (s->grid.tile_count != tiles_before) return false;
    for (int t = 0; t < tiles_before; t++)
        if (s->sort.from[t] != t) return false;
    return true;
}

/// What solids left on the tiles has followed; new tiles are sampled.
static void follow_solids(BrimSim *s) {
    tiles_follow(s, s->tile_solid, 1);
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 4)
    for (int t = 0; t < s->grid.tile_count; t++)
        if (s->sort.from[t] < 0) solids_sample_tile(s, t);
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
    follow_fields(s);
    if (s->band) band_follow(s);
    if (s->solid_count) follow_solids(s);
    return true;
}
