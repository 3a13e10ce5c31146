// Stage 13: what the statistics say of a step.
#include "band/band.h"
#include "base/error.h"
#include "bodies/bodies.h"
#include "bodies/immersed.h"
#include "emit/convey.h"
#include "grid/mask.h"
#include "projection/inlet.h"
#include "walls/solid_masks.h"
#include "warp/stage.h"
#include "warp/stage_band.h"
#include <math.h>
#include <string.h>

enum { LANES = 8, HALF = LANES / 2, PIECE = 4096 };

/// Half of the lanes, as every instruction set has them.
typedef float half __attribute__((vector_size(4 * HALF), aligned(4), may_alias));
typedef int32_t half_int __attribute__((vector_size(4 * HALF), aligned(4), may_alias));

/// Sums by lanes.
typedef struct LaneSums {
    half fastest[2], speed2[2], at[3][2];
} LaneSums;

/// Adds the particles from `first` on, one for each lane of a half.
static inline void add_half(const float *const *attr, size_t first, LaneSums *sums, int h,
                            const bool heavy) {
    const half u = *(const half *)(attr[ATTR_VX] + first),
               v = *(const half *)(attr[ATTR_VY] + first);
    const half w = *(const half *)(attr[ATTR_VZ] + first), e = u * u + v * v + w * w;
    half mass = (half){0} + 1.0f;
    if (heavy) mass = *(const half *)(attr[ATTR_MASS] + first);
    const half_int faster = e > sums->fastest[h];
    sums->fastest[h] = (half)(((half_int)e & faster) | ((half_int)sums->fastest[h] & ~faster));
    sums->speed2[h] += e * mass; // times 1 is the same bits
    for (int a = 0; a < 3; a++) sums->at[a][h] += *(const half *)(attr[ATTR_X + a] + first) * mass;
}

/// Adds one particle to a lane.
static inline void add_one(const float *const *attr, size_t i, LaneSums *sums, uint32_t lane,
                           const bool heavy) {
    const float u = attr[ATTR_VX][i], v = attr[ATTR_VY][i], w = attr[ATTR_VZ][i];
    const float e = u * u + v * v + w * w, mass = heavy ? attr[ATTR_MASS][i] : 1;
    const uint32_t h = lane / HALF, k = lane % HALF;
    if (e > sums->fastest[h][k]) sums->fastest[h][k] = e;
    sums->speed2[h][k] += e * mass;
    for (int a = 0; a < 3; a++) sums->at[a][h][k] += attr[ATTR_X + a][i] * mass;
}

/// Sums over eight lanes in floats, folded into doubles after each piece: fast, exact enough and
/// the same for any instruction set.
static inline void sum_range(const Particles *p, uint32_t first, uint32_t end, TileSums *out,
                             const bool heavy) {
    const float *const *attr = (const float *const *)p->attr;
    LaneSums sums = {0};
    for (uint32_t from = first; from < end; from += PIECE) {
        uint32_t stop = end - from < PIECE ? end : from + PIECE, i = from;
        for (; i + LANES <= stop; i += LANES)
            for (int h = 0; h < 2; h++) add_half(attr, i + (uint32_t)(h * HALF), &sums, h, heavy);
        for (uint32_t lane = 0; i + lane < stop; lane++)
            add_one(attr, i + lane, &sums, lane, heavy);
        for (int k = 0; k < LANES; k++) {
            out->speed2 += sums.speed2[k / HALF][k % HALF];
            for (int a = 0; a < 3; a++) out->position[a] += sums.at[a][k / HALF][k % HALF];
        }
        memset(sums.speed2, 0, sizeof sums.speed2);
        memset(sums.at, 0, sizeof sums.at);
    }
    for (int k = 0; k < LANES; k++)
        out->fastest2 = fmaxf(out->fastest2, sums.fastest[k / HALF][k % HALF]);
}

static void sum_particles(const Particles *p, uint32_t first, uint32_t end, TileSums *out) {
    if (p->attr[ATTR_MASS])
        sum_range(p, first, end, out, true);
    else
        sum_range(p, first, end, out, false);
}

static void count_cells(const BrimSim *s, int slot, TileSums *out) {
    const uint32_t *start = cell_starts(&s->particles, &s->grid, slot);
    uint32_t full = (uint32_t)s->def.particles_per_cell, filled = 0, cells = 0;
    if (start[0] == start[s->grid.tile_cells]) return;
    for (int i = 0; i < s->grid.tile_cells; i++) {
        uint32_t n = start[i + 1] - start[i];
        filled += n < full ? n : full;
        cells += n > 0;
    }
    out->filled = filled;
    out->cells = cells;
}

/// What the liquid below the band adds: cells without particles count as if they were full of them.
static void add_hidden(const BrimSim *s, int slot, TileSums *out) {
    const Grid *g = &s->grid;
    const TileMask hidden = band_below_cells(s, slot);
    const bool solid = solid_here(s, slot);
    const float full = (float)s->def.particles_per_cell;
    TileCoord c = g->coord[slot];
    float speed2[TILE * TILE * TILE];
    bool any = false;
    for (int z = 0; z < g->tile_depth; z++) any |= hidden.slice[z] != 0;
    if (any) { // before the first step velocities wait in `carried`
        TileView velocity[3];
        for (int a = 0; a < s->dim; a++)
            velocity[a] =
                tile_view(g, slot, (s->primed ? s->velocity : s->carried)[a], tile_unknown);
        s->faces->speeds(velocity, &hidden, s->dim, speed2);
    }
    for (int r = 0; r < g->tile_rows && any; r++) {
        uint8_t row = mask_bits(&hidden, r);
        if (!row) continue;
        float points[TILE], speeds[TILE], sum = 0, all = 0, along = 0, fastest = 0;
        for (int x = 0; x < TILE; x++) points[x] = row >> x & 1 ? full : 0;
        for (int x = 0; x < TILE && solid; x++)
            points[x] *= 1 - solid_volume_of(s, (int64_t)slot * g->tile_cells + r * TILE + x);
        for (int x = 0; x < TILE; x++) {
            float square = points[x] > 0 ? speed2[r * TILE + x] : 0;
            speeds[x] = points[x] * square;
            fastest = square > fastest ? square : fastest;
        }
        for (int x = 0; x < TILE; x++) { // of eight cells: floats are enough
            sum += points[x];
            all += speeds[x];
            along += points[x] * ((float)x + 0.5f);
        }
        out->speed2 += all;
        out->position[0] += ((double)along + (double)sum * c.x * TILE) * (double)s->dx;
        if (fastest > out->fastest2) out->fastest2 = fastest;
        out->position[1] += (double)sum * (c.y * TILE + (r & 7) + 0.5) * (double)s->dx;
        if (s->dim == 3)
            out->position[2] += (double)sum * (c.z * TILE + (r >> 3) + 0.5) * (double)s->dx;
        out->hidden += sum;
        out->filled += sum;
    }
    const uint8_t *occupied = s->particles.occupied, *interior = s->interior;
    for (int z = 0; z < g->tile_depth; z++)
        out->cells += __builtin_popcountll(mask_word(g, interior, slot, z) &
                                           mask_word(g, s->liquid, slot, z) &
                                           ~mask_word(g, occupied, slot, z));
}

static size_t memory_used(const BrimSim *s) {
    size_t bytes = sizeof *s + (size_t)s->threads_most * sizeof *s->scratch + grid_bytes(&s->grid) +
                   grid_bytes(&s->projection.system) + particles_bytes(&s->particles) +
                   sort_bytes(&s->sort, &s->grid) + fields_bytes(s) +
                   poisson_bytes(s->projection.poisson) + inlets_bytes(s) + convey_bytes(s);
    for (int a = 0; a < 3; a++)
        if (s->viscosity.component[a]) bytes += poisson_bytes(s->viscosity.component[a]);
    bytes += (size_t)s->dim * s->mpm.capacity * sizeof(float);
    if (has_spray(s)) bytes += spray_bytes(s);
    if (s->warp) bytes += warp_state_bytes(s);
    bytes += bodies_bytes(s);
    for (int i = 0; i < s->walls.solid_count; i++) bytes += solid_bytes(s->walls.solids[i]);
    for (int i = 0; i < s->threads_most; i++)
        bytes += s->scratch[i].risen_capacity * sizeof *s->scratch[i].risen;
    return bytes;
}

void measure_particles(BrimSim *s, int slot) {
    TileSums *sums = &s->tile_sums[slot];
    *sums = (TileSums){0};
    sum_particles(&s->particles, tile_first(&s->particles, slot), tile_end(&s->particles, slot),
                  sums);
}

/// Whether grid -> particles left the sums over particles: not between steps, and bodies change
/// them since.
static bool particles_measured(const BrimSim *s) {
    return s->stage == AT_MEASURE && !bodies_immersed(s);
}

static void sum_tile(BrimSim *s, int slot, int thread, void *context) {
    TileSums *sums = &s->tile_sums[slot];
    if (s->warp) {
        if (!particles_measured(s)) warp_sum_tile(s, slot, thread, sums);
        count_cells(s, slot, sums);
        if (has_band(s)) warp_add_hidden(s, slot, thread, sums);
        return;
    }
    if (!particles_measured(s)) measure_particles(s, slot);
    count_cells(s, slot, sums);
    if (has_band(s)) add_hidden(s, slot, sums);
}

BrimResult stage_measure(BrimSim *s, BrimError *error) {
    int tiles = s->grid.tile_count;
    TileSums *sums = s->tile_sums;
    TileSums all = {0};
    tiles_for(s, sum_tile, NULL);
    if (s->warp) warp_find_rates(s);
    for (int t = 0; t < tiles; t++) {
        all.speed2 += sums[t].speed2;
        for (int a = 0; a < 3; a++) all.position[a] += sums[t].position[a];
        all.filled += sums[t].filled;
        all.cells += sums[t].cells;
        all.hidden += sums[t].hidden;
        all.volume += sums[t].volume;
        all.fastest2 = (float)larger_of(all.fastest2, sums[t].fastest2);
        all.rate = (float)larger_of(all.rate, sums[t].rate);
    }
    if (s->spray.count) { // each drop is as much liquid as it is
        sum_particles(&s->spray.flying, 0, (uint32_t)s->spray.count, &all);
        all.filled += (double)s->spray.count;
    }
    BrimVec3 g = gravity_at(s, s->time);
    BrimStats *o = &s->stats;
    double count = (double)s->particles.count + (double)s->spray.count + all.hidden,
           full = s->def.particles_per_cell;
    if (!s->start_particles && !s->start_cells && s->step == 0)
        s->start_particles = count, s->start_cells = all.cells, s->start_volume = all.volume;
    // What was there at the start, or, where all was emitted since, what the particles stand for.
    double due = (double)(s->seeded + s->emitted - s->drained - s->left);
    double there = due - (double)s->spray.count, cells = there / full;
    if (s->start_particles > 0) cells = s->start_cells * there / s->start_particles;
    s->max_speed = sqrt((double)all.fastest2);
    o->step = s->step;
    o->time = s->time;
    o->dt = s->dt;
    o->particles = (int64_t)s->particles.count + s->spray.count;
    o->spray = s->spray.count, o->atomised = s->spray.atomised, o->rejoined = s->spray.rejoined;
    o->seeded = s->seeded, o->emitted = s->emitted, o->drained = s->drained, o->left = s->left;
    o->resampled = s->band.resampled, o->interior = (int64_t)all.hidden;
    o->volume_ratio = count > 0 ? all.filled / count : 1;
    o->volume_cells = cells > 0 ? all.cells / cells : 1;
    o->volume = due > 0 ? (count - s->volume.pressed_cells * full) / due : 1;
    if (s->warp && s->start_volume > 0) // its particles stand for more or less by where they are
        o->volume = (all.volume - s->volume.pressed_cells) / s->start_volume;
    o->kinetic_energy = 0.5 * s->particle_mass * all.speed2;
    o->potential_energy =
        -s->particle_mass * (g.x * all.position[0] + g.y * all.position[1] + g.z * all.position[2]);
    o->max_speed = s->max_speed;
    if (s->warp) s->max_speed = (double)all.rate; // what steps and reaches go by
    o->cell_least = s->warp ? s->warp->motion.least : 1;
    o->cell_most = s->warp ? s->warp->motion.most : 1;
    o->tiles = tiles;
    o->memory_bytes = (int64_t)memory_used(s);
    if (!isfinite(all.speed2) || !isfinite(o->potential_energy))
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s): a particle's velocity or position is not a number",
                    (long long)s->step, s->time);
    if (s->seeded + s->emitted + s->band.resampled - s->drained - s->left != o->particles)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s): %lld seeded + %lld emitted + %lld resampled - %lld "
                    "drained - %lld left is not the %lld particles there are",
                    (long long)s->step, s->time, (long long)s->seeded, (long long)s->emitted,
                    (long long)s->band.resampled, (long long)s->drained, (long long)s->left,
                    (long long)o->particles);
    return BRIM_OK;
}
