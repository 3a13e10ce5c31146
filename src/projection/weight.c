// Pressure of the weight alone, where the pressure of a step is to be read.
//
// A kick spans two half steps, that before and that after the particles moved, but the flow's own
// inertia shows up over the one step dt in which they did: q = kick p_weight + dt p_flow. Where
// steps change, q / kick is neither. With q_weight from a solve of its own the pressure is
//   p kick = q_weight + (q - q_weight) kick / dt.
#include "projection/weight.h"
#include "projection/inlet.h"
#include "step/stages.h"
#include "step/system.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Changes of the step by less than this part are let pass.
static const double SAME = 0.01;

/// Whether somebody may read the pressure after this step: gauges do after each, fields are written
/// at the end of a frame.
static bool is_read(const BrimSim *s) {
    double end = (double)(s->frame + 1) / s->def.frame_rate;
    return s->gauge_count > 0 || s->time + s->dt >= end * (1 - 1e-12);
}

/// What gravity alone makes flow out of a tile's cells => rhs. context: its kick along each axis,
/// m/s
static void weigh_tile(BrimSim *s, int slot, int thread, void *context) {
    const float *add = context;
    const Grid *g = &s->grid;
    int64_t base = (int64_t)slot * g->tile_cells;
    if (!s->wet[slot]) return;
    const int64_t rows = wet_cell(s, base);
    memcpy(s->weight_pressure + rows, s->pressure + rows, (size_t)g->tile_cells * sizeof(float));
    memset(s->rhs + rows, 0, (size_t)g->tile_cells * sizeof(float));
    Around around = pressure_around(s, slot);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = around.liquid.slice[z]; bits; bits &= bits - 1) {
            int cell = z * 64 + __builtin_ctzll(bits);
            float outflow = 0;
            if (!system_has(s, rows + cell)) continue;
            for (int n = 0; n < 2 * s->dim; n++) {
                int a = n >> 1;
                if (mask_has(&around.side[n], cell)) continue;
                int64_t face = n & 1 ? grid_step(g, slot, cell, a, 1) : base + cell;
                if (face < 0 || !(s->known[a][face >> 3] >> (face & 7) & 1)) continue;
                float open = s->walls.solid_count ? open_part(s, a, face) : 1;
                outflow += (n & 1 ? open : -open) * add[a];
            }
            s->rhs[rows + cell] = -outflow;
        }
}

void weight_split(BrimSim *s, const PoissonParams *params) {
    s->projection.flow_share = 0;
    // What bodies and surface tension do goes with the kick, and is not told apart.
    if (!s->weight_pressure || !s->primed || s->bodies || s->def.surface_tension > 0) return;
    double share = s->projection.kick_now / s->dt - 1;
    if (fabs(share) < SAME || !is_read(s)) return;
    BrimVec3 g = gravity_at(s, s->velocity_time - 0.5 * s->projection.kick_now);
    float add[3] = {(float)(g.x * s->projection.kick_now), (float)(g.y * s->projection.kick_now),
                    (float)(g.z * s->projection.kick_now)};
    PoissonReport report = {0};
    tiles_for(s, weigh_tile, add);
    if (poisson_solve(s->projection.poisson, s->rhs, s->weight_pressure, params, &report))
        s->projection.flow_share = share;
}
