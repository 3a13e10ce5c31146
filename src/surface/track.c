// The tracked surface: smooth by the particles' planes where water is calm, rough by their
// positions where it is not. Section numbers: docs/numerics.md.
#include "surface/track.h"
#include "band/band.h"
#include "particles/normal.h"
#include "surface/surface.h"
#include "surface/track_tiles.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Distance, cells, of what the filter does not know.
static const float UNKNOWN = LEVEL_SET_CUT;
/// Farther out averages of few positions are no distances; cells.
static const float ROUGH_KEPT = 0.75f;
/// Taubin's filter: a step inwards and one out again.
static const float FILTER_IN = 0.5f, FILTER_OUT = -0.53f;
/// Spread of a surface that one particle a cell tells, cells: what the past and positions may
/// differ by chance, over the root of the particles of a cell.
static const float CHANCE = 0.1f;

bool track_near(const BrimSim *s, int slot, uint8_t bit) {
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && s->track_tile[t] & bit) return true;
    }
    return false;
}

/// Cells of a row with one of a mask among the 3 x 3 x 3 around them.
static uint8_t row_any(const PaddedRows *rows, int dim, int y, int z) {
    unsigned any = 0;
    for (int k = dim == 3 ? -1 : 0; k <= (dim == 3 ? 1 : 0); k++)
        for (int j = -1; j <= 1; j++) any |= rows->at[z + 1 + k][y + 1 + j];
    return (uint8_t)((any | any << 1 | any >> 1) >> 1);
}

// ------------------------------------------------------------------------------ where to look

/// Cells of a mask that can be liquid and are not full without a particle.
static void drop_hollow(const BrimSim *s, int slot, TileMask *m) {
    const Grid *g = &s->grid;
    TileMask allowed = allowed_cells(s, slot);
    for (int z = 0; z < g->tile_depth; z++)
        m->slice[z] &= allowed.slice[z] & (mask_word(g, s->particles.occupied, slot, z) |
                                           ~mask_word(g, full_cells(s), slot, z));
}

/// Cells with air near them that hold particles or have a face to one that does: their distance is
/// asked first. => near_air, TRACK_AIR
static void find_air(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    TileMask cells = track_widened(s, s->particles.occupied, slot);
    PaddedRows full;
    uint64_t any = 0;
    for (int z = 0; z < g->tile_depth; z++) any |= cells.slice[z];
    if (any) {
        pad_rows(s, full_cells(s), slot, 0xff, &full);
        drop_hollow(s, slot, &cells);
        any = 0;
        for (int r = 0; r < g->tile_rows; r++) {
            uint64_t deep = row_deep(&full, s->dim, r & 7, r >> 3);
            cells.slice[r >> 3] &= ~(deep << 8 * (r & 7));
        }
        for (int z = 0; z < g->tile_depth; z++) any |= cells.slice[z];
    }
    mask_store(g, s->near_air, slot, &cells);
    s->track_tile[slot] = any ? TRACK_AIR : 0;
}

/// => TRACK_NEAR: cells are measured there, or beside it; TRACK_AROUND: their particles are seen
static void mark_tiles(BrimSim *s) {
    for (int t = 0; t < s->grid.tile_count; t++)
        if (track_near(s, t, TRACK_AIR)) s->track_tile[t] |= TRACK_NEAR;
    for (int t = 0; t < s->grid.tile_count; t++)
        if (track_near(s, t, TRACK_NEAR)) s->track_tile[t] |= TRACK_AROUND;
}

// --------------------------------------------------------------------------- particles unpacked

static TrackFade fade_of(const BrimSim *s) {
    bool square = s->def.tracking_blend == BRIM_BLEND_SQUARE;
    double low = square ? s->tracking.speed_low * s->tracking.speed_low : s->tracking.speed_low;
    double high = square ? s->tracking.speed_high * s->tracking.speed_high : s->tracking.speed_high;
    return (TrackFade){.high = (float)high,
                       .inverse = (float)(1 / fmax(high - low, 1e-6 * high + 1e-30)),
                       .square = square};
}

/// What the sort keeps for its own use holds normals until the stage is over; the word of a normal
/// how much of the past counts.
TrackSeen track_seen(const BrimSim *s) {
    const Particles *p = &s->particles;
    return (TrackSeen){.phi = p->attr[ATTR_PHI],
                       .normal = {(const float *)(const void *)p->key,
                                  (const float *)(const void *)p->order, p->spare},
                       .steady = p->attr[ATTR_NORMAL]};
}

/// Kernels read a vector beyond the last particle; what they read there has to be numbers.
static void end_particles(BrimSim *s) {
    const Particles *p = &s->particles;
    float *const array[] = {p->attr[ATTR_X],         p->attr[ATTR_Y],          p->attr[ATTR_Z],
                            p->attr[ATTR_PHI],       p->attr[ATTR_NORMAL],     p->spare,
                            (float *)(void *)p->key, (float *)(void *)p->order};
    for (size_t k = 0; k < sizeof array / sizeof *array; k++)
        if (array[k]) memset(array[k] + p->count, 0, PARTICLE_PADDING * sizeof(float));
}

/// (v, normal) => normals unpacked, steady, TRACK_SLOW
static void unpack_tile(BrimSim *s, int slot, int thread, void *context) {
    const Particles *p = &s->particles;
    if (!(s->track_tile[slot] & TRACK_AROUND)) return;
    uint32_t first = tile_first(p, slot);
    float *const normal[3] = {(float *)(void *)(p->key + first),
                              (float *)(void *)(p->order + first), p->spare + first};
    Span span = sim_span(s, slot, 1);
    float fastest = s->tracking.kernels->unpack(&span, context, normal);
    if (fastest < 0) return;
    float way = fminf(fastest * s->inv_dx * (float)fmin(s->def.tracking_memory, 1e9), 1);
    s->track_tile[slot] |= TRACK_SLOW;
    s->track_tile[slot] |= (uint8_t)((int)(way * (float)TRACK_WAYS + 0.5f) << TRACK_WAY);
}

// ---------------------------------------------------------------------------- rough and smooth

/// Distances where no particle tells: inside cells that are full, outside all others.
static void fill_far(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    float *rough = s->rough + (size_t)slot * (size_t)g->tile_cells;
    const uint8_t *full = full_cells(s) + (size_t)slot * (size_t)g->tile_rows;
    float inside[TILE], outside[TILE];
    row_fill(inside, -LEVEL_SET_CUT), row_fill(outside, LEVEL_SET_CUT);
    for (int r = 0; r < g->tile_rows; r++) row_choose(full[r], inside, outside, rough + r * TILE);
    memset(s->kept + (size_t)slot * (size_t)g->tile_rows, 0, (size_t)g->tile_rows);
}

/// Where the mean positions of cells wait until planes are asked: fields that are filled later.
static void mean_fields(const BrimSim *s, float *mean[3]) {
    mean[0] = s->even, mean[1] = s->even_next, mean[2] = s->tracked;
}

/// (x, near_air) => rough, mean positions; kept: cells with a solid's plane
static void measure_tile(BrimSim *s, int slot, int thread, void *context) {
    const LevelSetProfile *profile = context;
    const Grid *g = &s->grid;
    if (!mask_any(g, s->near_air, slot)) return;
    NearRows rows;
    float *means[3];
    mean_fields(s, means);
    near_begin(s, slot, &rows);
    for (int r = 0; r < g->tile_rows; r++) {
        size_t at = (size_t)slot * (size_t)g->tile_cells + (size_t)(r * TILE);
        uint8_t cells = s->near_air[at / TILE];
        if (!cells) continue;
        float distance[TILE], mean[3][TILE];
        near_look(s, &rows, slot, r, cells);
        s->kept[at / TILE] |= rows.near.planes;
        s->level_set->means(profile, &rows.near, r & 7, r >> 3, cells, distance, mean);
        for (uint8_t bits = cells; bits; bits &= (uint8_t)(bits - 1)) {
            int x = __builtin_ctz(bits);
            s->rough[at + (size_t)x] = distance[x];
            for (int a = 0; a < s->dim; a++) means[a][at + (size_t)x] = mean[a][x];
        }
    }
}

/// Cells that were not asked yet and see particles, with a face through which the surface goes or
/// to a cell near it: (near_air, beside, around) => near_air
static void find_rest(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    TileMask rest = track_widened(s, s->around, slot);
    PaddedRows seen;
    uint64_t any = 0;
    for (int z = 0; z < g->tile_depth; z++) {
        rest.slice[z] |= mask_word(g, s->beside, slot, z);
        any |= rest.slice[z] &= ~mask_word(g, s->near_air, slot, z);
    }
    if (any) {
        pad_rows(s, s->particles.occupied, slot, 0, &seen);
        drop_hollow(s, slot, &rest);
        for (int r = 0; r < g->tile_rows; r++) {
            uint64_t none = (uint8_t)~row_any(&seen, s->dim, r & 7, r >> 3);
            rest.slice[r >> 3] &= ~(none << 8 * (r & 7));
        }
    }
    mask_store(g, s->near_air, slot, &rest);
}

/// Cells so near to the surface of positions that memory may have its own on their other side.
/// (rough) => around
static void find_close(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const float *rough = s->rough + (size_t)slot * (size_t)g->tile_cells;
    uint8_t *close = s->around + (size_t)slot * (size_t)g->tile_rows;
    for (int r = 0; r < g->tile_rows; r++) close[r] = row_within(rough + r * TILE, TRACK_ASTRAY);
}

/// Where planes are asked: beside the surface of positions, and where that of memory may be.
/// (rough, beside, around) => asked
static void find_asked(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    TileMask cells = track_widened(s, s->around, slot);
    for (int r = 0; r < g->tile_rows; r++) {
        size_t row = (size_t)slot * (size_t)g->tile_rows + (size_t)r;
        const float *rough = s->rough + row * TILE;
        uint8_t near = s->beside[row] | mask_bits(&cells, r);
        if (near) near &= row_within(rough, LEVEL_SET_CUT);
        s->asked[row] = near;
    }
}

/// Rows of sums around a tile, made when one is first asked.
typedef struct PlaneRows {
    PlaneRow *at;         ///< [z + 1][y + 1], edges of TILE + 2; in 2D only [y + 1]
    const uint8_t *asked; ///< rows of the tile
    bool ready[TILE + 2][TILE + 2];
} PlaneRows;

/// Cells -1 to 8 of a row that are beside one of the tile that asks, bit 0 is x = -1.
static unsigned beside_asked(const PlaneRows *rows, int dim, int y, int z) {
    unsigned any = 0;
    for (int k = dim == 3 ? z - 1 : z; k <= (dim == 3 ? z + 1 : z); k++)
        for (int j = y - 1; j <= y + 1; j++)
            if (k >= 0 && k < TILE && j >= 0 && j < TILE) any |= rows->asked[k * TILE + j];
    return any | any << 1 | any << 2;
}

/// What the cells of row y, z and around it know of planes. => around; false: nothing of the past
static bool planes_around(const BrimSim *s, int slot, PlaneRows *rows, NearRows *near, int y, int z,
                          const PlaneRow *around[3][3]) {
    const TrackSeen seen = track_seen(s);
    const int deep = s->dim == 3 ? 1 : 0;
    bool past = false;
    for (int k = -deep; k <= deep; k++)
        for (int j = -1; j <= 1; j++) {
            const int row_y = y + j, row_z = z + k;
            PlaneRow *row = rows->at + (row_z + deep) * (TILE + 2) + row_y + 1;
            bool *ready = &rows->ready[row_z + 1][row_y + 1];
            around[k + 1][j + 1] = row;
            if (!*ready)
                s->tracking.planes->sum(&near->near, near_row(s, near, slot, row_y, row_z), &seen,
                                        row_y, row_z, beside_asked(rows, s->dim, row_y, row_z),
                                        row);
            *ready = true;
            past |= row->past;
        }
    return past;
}

/// (x, phi, normals, asked, kept, mean positions) => smooth, steady
static void planes_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const bool past = track_near(s, slot, TRACK_SLOW);
    if (!mask_any(g, s->asked, slot)) return;
    float *means[3], mean[3][TILE] = {0};
    NearRows rows;
    PlaneRows planes = {.at = (PlaneRow *)(void *)s->scratch[thread].block[0],
                        .asked = s->asked + (size_t)slot * (size_t)g->tile_rows};
    _Static_assert((TILE + 2) * (TILE + 2) * sizeof(PlaneRow) <= sizeof s->scratch->block[0],
                   "room");
    mean_fields(s, means);
    near_begin(s, slot, &rows);
    for (int r = 0; r < g->tile_rows; r++) {
        size_t at = (size_t)slot * (size_t)g->tile_cells + (size_t)(r * TILE);
        uint8_t cells = s->asked[at / TILE];
        const PlaneRow *around[3][3];
        if (!cells) continue;
        for (int x = 0; x < TILE; x++) s->steady[at + (size_t)x] = -1;
        if (!past) continue;
        if (!planes_around(s, slot, &planes, &rows, r & 7, r >> 3, around)) continue;
        near_planes(s, &rows, slot, r, cells & s->kept[at / TILE]);
        for (int a = 0; a < s->dim; a++) memcpy(mean[a], means[a] + at, sizeof mean[a]);
        s->tracking.planes->ask(&rows.near, (const PlaneRow *const(*)[3])around, cells,
                                (const float(*)[TILE])mean, s->smooth + at, s->steady + at);
    }
}

// --------------------------------------------------------------------------------------- filter

/// Whether the filter leaves a tile as it is.
static bool filter_skips(const BrimSim *s, int slot) {
    return !track_near(s, slot, TRACK_SLOW);
}

/// Distances that positions tell, beside the surface and near it. (rough, beside) => kept, and in
/// its rows even, even_next
static void begin_filter(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const size_t first = (size_t)slot * (size_t)g->tile_rows;
    const bool skipped = filter_skips(s, slot);
    float unknown[TILE];
    row_fill(unknown, UNKNOWN);
    for (size_t row = first; row < first + (size_t)g->tile_rows; row++) {
        const float *rough = s->rough + row * TILE;
        const uint8_t near = s->beside[row] | row_within(rough, ROUGH_KEPT);
        s->kept[row] = near;
        if (!near) continue;
        row_choose(near, rough, unknown, s->even + row * TILE);
        if (skipped) memcpy(s->even_next + row * TILE, s->even + row * TILE, sizeof unknown);
    }
}

/// One step of Taubin's filter: (even, kept) => even_next
static void filter_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const float part = *(const float *)context / (float)(2 * s->dim);
    if (!mask_any(g, s->kept, slot) || filter_skips(s, slot)) return;
    TileMask near = mask_load(g, s->kept, slot);
    TrackAround around;
    track_around(s, slot, s->even, s->kept, &around);
    s->tracking.kernels->filter(&around, s->dim, &near, part, UNKNOWN,
                                s->even_next + (size_t)slot * (size_t)g->tile_cells);
}

/// (rough) => even: filtered
static void filter(BrimSim *s) {
    float part[2] = {FILTER_IN, FILTER_OUT};
    tiles_for(s, begin_filter, NULL);
    for (int pass = 0; pass < 2 * s->def.tracking_passes; pass++) {
        tiles_for(s, filter_tile, &part[pass & 1]);
        fields_swap(s, FIELD_even, FIELD_even_next);
    }
}

// ---------------------------------------------------------------------------------------- blend

/// How far the particles of a tile and those beside it go while memory fades, at most a cell.
static float way_near(const BrimSim *s, int slot) {
    int most = 0;
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        int way = t < 0 ? 0 : s->track_tile[t] >> TRACK_WAY;
        if (way > most) most = way;
    }
    return (float)most / (float)TRACK_WAYS;
}

/// What fades of memory in a step is of it beyond what chance explains, and the less the nearer
/// water is to rest: what errs is the way. context: float, the part that fades (rough, smooth,
/// steady, even, asked) => tracked, and smooth: how far tracked is from it
static void blend_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const float way = way_near(s, slot);
    const TrackBlend blend = {.fades = *(const float *)context * way,
                              .way = way,
                              .chance = CHANCE / sqrtf((float)s->def.particles_per_cell),
                              .forgets = !(s->def.tracking_memory > 0)};
    const size_t first = (size_t)slot * (size_t)g->tile_rows;
    for (size_t row = first; row < first + (size_t)g->tile_rows; row++) {
        const float *rough = s->rough + row * TILE;
        float *smooth = s->smooth + row * TILE, *tracked = s->tracked + row * TILE;
        if (s->asked[row]) {
            s->tracking.kernels->blend(&blend, s->asked[row], s->kept[row], rough,
                                       s->even + row * TILE, s->steady + row * TILE, smooth,
                                       tracked);
        } else {
            memcpy(tracked, rough, TILE * sizeof *tracked);
            memset(smooth, 0, TILE * sizeof *smooth);
        }
    }
}

/// Cells whose change particles may take over: planes were asked and positions tell a distance.
/// (rough, asked) => around
static void find_told(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    for (int r = 0; r < g->tile_rows; r++) {
        size_t row = (size_t)slot * (size_t)g->tile_rows + (size_t)r;
        s->around[row] = s->asked[row] & row_within(s->rough + row * TILE, ROUGH_KEPT);
    }
}

/// Deeper cells change as those beside them. (smooth, around) => smooth
static void spread_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    if (!(s->track_tile[slot] & TRACK_NEAR)) return;
    TileMask todo = track_widened(s, s->around, slot);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = todo.slice[z] & ~mask_word(g, s->around, slot, z); bits;
             bits &= bits - 1) {
            int cell = z * 64 + __builtin_ctzll(bits);
            size_t here = (size_t)slot * (size_t)g->tile_cells + (size_t)cell;
            float sum = 0, count = 0;
            if (s->rough[here] > 0) continue;
            for (int n = 0; n < 2 * s->dim; n++) {
                int64_t next = grid_step(g, slot, cell, n >> 1, n & 1 ? 1 : -1);
                if (next < 0 || !(s->around[next >> 3] >> (next & 7) & 1)) continue;
                sum += s->smooth[next], count++;
            }
            s->smooth[here] = sum / (count > 0 ? count : 1);
        }
}

/// (x) => rough, mean positions; sunk, beside, and cells near the surface: around
static void measure(BrimSim *s) {
    LevelSetProfile paper = level_set_paper(), *profile = &s->profile;
    if (s->def.tracking_rough == BRIM_ROUGH_PAPER) profile = &paper;
    tiles_for(s, fill_far, NULL);
    tiles_for(s, measure_tile, profile);
    track_beside(s, s->rough);
    tiles_for(s, find_close, NULL);
    tiles_for(s, find_rest, NULL);
    tiles_for(s, measure_tile, profile);
    track_beside(s, s->rough);
    tiles_for(s, find_close, NULL);
}

void track_surface(BrimSim *s, double dt) {
    TrackFade fade = fade_of(s);
    const double memory = s->def.tracking_memory;
    float fades = memory > 0 ? (float)(1 - exp(-dt / memory)) : 1;
    if (s->grid.tile_count == 0) return; // no fields either
    if (has_band(s)) band_full(s);
    tiles_for(s, find_air, NULL);
    mark_tiles(s);
    end_particles(s);
    tiles_for(s, unpack_tile, &fade);
    measure(s);
    tiles_for(s, find_asked, NULL);
    tiles_for(s, planes_tile, NULL);
    filter(s);
    tiles_for(s, blend_tile, &fades);
    tiles_for(s, find_told, NULL);
    tiles_for(s, spread_tile, NULL);
}
