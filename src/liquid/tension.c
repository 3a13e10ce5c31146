// Surface tension: the pressure jumps by sigma kappa at the surface (ghost fluid). With
// q = p kick / (rho dx) as in project.c the surface has q_I = sigma kappa kick / (rho dx^2), kappa
// in 1/cells, and a face between liquid and air at theta the gradient (q_I - q_c) / theta. The part
// q_I / theta is known before the pressure is, so it acts here, as a pull on these faces; the
// projection does the rest with q = 0 on the surface.
#include "liquid/tension.h"
#include "step/stages.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Curvature at a cell; 0 where it is not known.
static float curvature_at(const BrimSim *s, int64_t cell) {
    float k = cell < 0 ? 0 : s->curvature[cell];
    return k == k ? k : 0;
}

/// Whether a liquid cell has another one beside it: what is liquid by rule, as films and lone drops
/// of a cell, has no curvature.
static bool has_company(const BrimSim *s, int64_t cell) {
    const int shift = s->dim == 3 ? 9 : 6;
    int slot = (int)(cell >> shift), local = (int)(cell & ((1 << shift) - 1));
    if (s->walls.solid_count && s->rock[cell >> 3] >> (cell & 7) & 1) return false;
    for (int n = 0; n < 2 * s->dim; n++) {
        int64_t next = grid_step(&s->grid, slot, local, n >> 1, n & 1 ? 1 : -1);
        if (next >= 0 && s->liquid[next >> 3] >> (next & 7) & 1) return true;
    }
    return false;
}

/// q_I / theta on a face between liquid and air; strength: sigma kick / (rho dx^2).
static float jump(const BrimSim *s, int64_t liquid, int64_t air, float strength) {
    if (!has_company(s, liquid)) return 0;
    float theta = 1;
    if (s->def.surface != BRIM_SURFACE_FLAGS)
        theta = surface_part(s->phi[liquid], air < 0 ? LEVEL_SET_CUT : s->phi[air]);
    float here = curvature_at(s, liquid), there = curvature_at(s, air);
    return strength * ((1 - theta) * here + theta * there) / theta;
}

/// => pull, pulled. context: float, the strength
static void find_pull(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const float strength = *(const float *)context;
    const int64_t first = (int64_t)slot * g->tile_cells;
    Around around = around_tile(g, s->liquid, slot);
    for (int a = 0; a < s->dim; a++) {
        TileMask off = mask_side_faces(g, slot, a), shut = shut_faces(s, slot, 2 * a), here;
        memset(s->pull[a] + first, 0, (size_t)g->tile_cells * sizeof(float));
        for (int z = 0; z < g->tile_depth; z++) {
            uint64_t wet = around.liquid.slice[z], below = around.wet[2 * a].slice[z];
            here.slice[z] = (wet | below) & ~off.slice[z] & ~shut.slice[z];
            for (uint64_t bits = here.slice[z] & (wet ^ below); bits; bits &= bits - 1) {
                int cell = z * 64 + __builtin_ctzll(bits);
                int64_t me = first + cell, other = grid_step(g, slot, cell, a, -1);
                bool mine = mask_has(&around.liquid, cell);
                s->pull[a][me] =
                    mine ? -jump(s, me, other, strength) : jump(s, other, me, strength);
            }
        }
        mask_store(g, s->pulled[a], slot, &here);
    }
}

/// Faces between liquid and air are pulled; faces of air beside those take the mean, as they do of
/// the pressure's gradient.
static void pull_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const size_t first = (size_t)slot * (size_t)g->tile_cells;
    for (int a = 0; a < s->dim; a++) {
        TileMask near[6], known = mask_load(g, s->known[a], slot);
        TileMask here = mask_load(g, s->pulled[a], slot), side = mask_side_faces(g, slot, a);
        TileMask wanted = {{0}};
        uint64_t all = 0;
        mask_around(g, s->pulled[a], slot, near);
        for (int z = 0; z < g->tile_depth; z++) {
            uint64_t any = 0;
            for (int n = 0; n < 2 * s->dim; n++) any |= near[n].slice[z];
            wanted.slice[z] = any & known.slice[z] & ~here.slice[z] & ~side.slice[z];
            all |= wanted.slice[z];
        }
        for (int i = 0; i < g->tile_cells; i++)
            if (mask_has(&here, i))
                s->velocity[a][first + (size_t)i] -= s->pull[a][first + (size_t)i];
        if (!all) continue;
        TileView pull = tile_view(g, slot, s->pull[a], tile_zeros);
        s->faces->carry(&pull, near, NULL, &wanted, s->dim, s->velocity[a] + first);
    }
}

BrimResult stage_tension(BrimSim *s, BrimError *error) {
    (void)error;
    float strength = (float)(s->def.surface_tension * s->projection.kick_now /
                             ((double)s->def.density * s->dx * s->dx));
    find_curvature(s);
    tiles_for(s, find_pull, &strength);
    tiles_for(s, pull_tile, NULL);
    return BRIM_OK;
}
