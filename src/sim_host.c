// What a program changes while a simulation runs: solids, liquid, gravity. All of it is kept in
// checkpoints, and noted in a hash beside that of the def, so that a result that a program has had
// its hand in does not pass for the scene's own.
#include "base/error.h"
#include "base/hash.h"
#include "scene/check.h"
#include "scene/def_hash.h"
#include "sim.h"
#include "walls/solid_fine.h"
#include "warp/stage.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A change of this simulation begins: what, and when.
static uint64_t change(const BrimSim *s, const char *what) {
    uint64_t h = hash_bytes((uint64_t)s->host.hash, what, strlen(what) + 1);
    return hash_bytes(h, &s->step, sizeof s->step);
}

static void changed(BrimSim *s, uint64_t hash) {
    s->host.hash = (int64_t)hash;
    s->host.changes++;
}

uint64_t brim_sim_scene_hash(const BrimSim *sim) {
    if (!sim) return 0;
    if (!sim->host.changes) return sim->def_hash;
    return hash_3(sim->def_hash, (uint64_t)sim->host.hash, (uint64_t)sim->host.changes);
}

int64_t brim_sim_change_count(const BrimSim *sim) {
    return sim ? sim->host.changes : 0;
}

// ------------------------------------------------------------------------- gravity, liquid

BrimVec3 brim_sim_gravity(const BrimSim *sim) {
    return sim ? gravity_at(sim, sim->time) : (BrimVec3){0, 0, 0};
}

static void surface_again(BrimSim *s) {
    if (s->warp)
        warp_surface(s, NULL);
    else
        find_surface(s);
}

BrimResult brim_sim_set_gravity(BrimSim *sim, BrimVec3 gravity, BrimError *error) {
    NEED(sim, error);
    BrimResult r = sim_check_intact(sim, error);
    if (r != BRIM_OK) return r;
    if (!(fabsf(gravity.x) <= 1e6f && fabsf(gravity.y) <= 1e6f && fabsf(gravity.z) <= 1e6f))
        return fail(error, BRIM_ERROR_INPUT, "gravity: numbers from -1e6 to 1e6 m/s^2");
    if (has_band(sim) && !band_distance_room(sim))
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the surface");
    if (sim->dim == 2) gravity.z = 0;
    sim->host.gravity_set = true;
    sim->host.gravity_x = gravity.x, sim->host.gravity_y = gravity.y,
    sim->host.gravity_z = gravity.z;
    changed(sim, hash_bytes(change(sim, "gravity"), &gravity, sizeof gravity));
    // the surface at floors and walls goes by gravity: as a simulation that is saved now finds it
    if (sim->primed) find_foreign(sim), surface_again(sim);
    return BRIM_OK;
}

/// The fastest of the particles that wait, from one on, m/s.
static double fastest_waiting(const BrimSim *s, size_t from) {
    double fastest = 0;
    for (size_t i = from; i < s->waiting.count; i++) {
        double v2 = 0;
        for (int a = 0; a < 3; a++) {
            double v = s->waiting.attr[ATTR_VX + a][i];
            v2 += v * v;
        }
        fastest = fmax(fastest, v2);
    }
    return sqrt(fastest);
}

/// Whether the particles that a region adds will find room in memory.
static BrimResult check_room(BrimSim *s, const BrimLiquidDef *def, const Shape *shape,
                             BrimError *error) {
    const Shape *const shapes[1] = {shape};
    int64_t most = (int64_t)fmin(sim_memory_limit(s) / sizeof(float[7]), 1e15) + 1;
    double more = (double)emit_count(s, def, shapes, 0, most, NULL);
    double there = (double)(s->particles.count + s->waiting.count);
    double full = (double)s->grid.tile_cells * s->def.particles_per_cell;
    // tiles of what is added, as a block with a skin around it
    double side = cbrt(more / full) + 2, tiles = s->dim == 3 ? side * side * side : side * side;
    return sim_check_memory(s, there + more, s->grid.tile_count + tiles, error);
}

BrimResult brim_sim_add_liquid(BrimSim *sim, const BrimLiquidDef *liquid, int64_t *added,
                               BrimError *error) {
    NEED(sim, error);
    NEED(liquid, error);
    if (added) *added = 0;
    BrimResult r = sim_check_intact(sim, error);
    if (r != BRIM_OK) return r;
    r = liquid_check(liquid, sim->dim, error);
    if (r != BRIM_OK) return r;
    Shape *shape = NULL;
    LiquidFlow flow;
    r = flow_new(&flow, liquid, sim->dim, error);
    if (r == BRIM_OK) r = shape_new(&liquid->shape, sim->dim, sim->dx, &shape, error);
    if (r == BRIM_OK) r = check_room(sim, liquid, shape, error);
    size_t before = sim->waiting.count;
    uint32_t origin = (uint32_t)(sim->host.origins + sim->host.liquids_added), id = sim->next_id;
    if (r == BRIM_OK && !emit_waiting(sim, liquid, &flow, shape, origin))
        r = fail(error, BRIM_ERROR_MEMORY, "out of memory for the particles of a liquid");
    if (r == BRIM_OK) r = flow_check(&sim->waiting, before, error);
    if (r != BRIM_OK) sim->waiting.count = before, sim->next_id = id;
    shape_free(&shape);
    flow_free(&flow);
    if (r != BRIM_OK) return r;
    sim->max_speed = fmax(sim->max_speed, fastest_waiting(sim, before));
    sim->host.liquids_added++;
    if (added) *added = (int64_t)(sim->waiting.count - before);
    changed(sim, liquid_hash(change(sim, "liquid"), liquid, sim->dim));
    return BRIM_OK;
}

// ---------------------------------------------------------------------------------- solids

/// Samples all tiles again after a solid came or started to move.
static BrimResult solids_changed(BrimSim *s, BrimError *error) {
    s->volume.crowded = true;
    if (!fields_reserve(s, WHERE_ALL, s->memory.tiles[WHERE_ALL]) || !solids_arrange(s))
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for a solid on %d tiles",
                    s->grid.tile_count);
    tiles_for(s, solids_sample_tile, NULL);
    if (has_band(s) && !band_distance_room(s))
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the surface beside a solid");
    if (!fine_arrange(s))
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for a thin solid on %d tiles",
                    s->grid.tile_count);
    return BRIM_OK;
}

/// Samples the solids that were there before a change for which the memory did not suffice. Thin
/// walls may then be coarse.
static void solids_restored(BrimSim *s) {
    if (!s->walls.solid_count) return;
    tiles_for(s, solids_sample_tile, NULL);
    fine_arrange(s);
}

BrimResult brim_sim_add_solid(BrimSim *sim, const BrimSolidDef *solid, int *index,
                              BrimError *error) {
    NEED(sim, error);
    NEED(solid, error);
    BrimResult r = sim_check_intact(sim, error);
    if (r == BRIM_OK) r = solid_check(solid, sim->dim, error);
    if (r != BRIM_OK) return r;
    Solid **larger =
        realloc(sim->walls.solids, ((size_t)sim->walls.solid_count + 1) * sizeof *larger);
    if (!larger) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    sim->walls.solids = larger;
    r = solid_new(solid, sim->dim, sim->dx, &larger[sim->walls.solid_count], error);
    if (r != BRIM_OK) return r;
    Solid *added = larger[sim->walls.solid_count];
    bool again = sim->walls.pending_count > 0, crowded = sim->volume.crowded, placed_well;
    if (again) { // a loaded simulation: the solid goes on where it was
        double(*placed)[2] = sim->walls.pending_placed;
        solid_set_state(added, &sim->walls.pending[0]);
        memmove(sim->walls.pending, sim->walls.pending + 1,
                (size_t)--sim->walls.pending_count * sizeof *sim->walls.pending);
        placed_well = !placed || solid_deform(added, placed[0][0], placed[0][1]);
        if (placed) memmove(placed, placed + 1, (size_t)sim->walls.pending_count * sizeof *placed);
    } else {
        placed_well = solid_place(added, sim->time, 0);
    }
    sim->walls.solid_count++;
    r = placed_well ? solids_changed(sim, error)
                    : fail(error, BRIM_ERROR_MEMORY, "out of memory for a mesh that deforms");
    if (r != BRIM_OK) {
        solid_free(&larger[--sim->walls.solid_count]);
        solids_restored(sim);
        return r;
    }
    if (again) sim->volume.crowded = crowded; // nothing came that was not there
    // A band carries the level set along: as a simulation that is saved now will find it.
    if (!sim->walls.pending_count && (again || sim->primed)) find_foreign(sim), surface_again(sim);
    if (index) *index = sim->walls.solid_count - 1;
    if (!again) changed(sim, solid_hash(change(sim, "solid"), solid, sim->dim));
    return BRIM_OK;
}

/// A solid that the host may change.
static BrimResult find_solid(const BrimSim *s, int index, BrimError *error) {
    BrimResult r = sim_check_intact(s, error);
    if (r != BRIM_OK) return r;
    if (index < 0 || index >= s->walls.solid_count)
        return fail(error, BRIM_ERROR_INPUT, "solid %d: there are only %d solids", index,
                    s->walls.solid_count);
    if (solid_is_body(s->walls.solids[index]))
        return fail(error, BRIM_ERROR_INPUT, "solid %d is a body: only water and weight move it",
                    index);
    if (solid_state(s->walls.solids[index]).removed)
        return fail(error, BRIM_ERROR_INPUT, "solid %d has been removed", index);
    return BRIM_OK;
}

BrimResult brim_sim_remove_solid(BrimSim *sim, int index, BrimError *error) {
    NEED(sim, error);
    BrimResult r = find_solid(sim, index, error);
    if (r != BRIM_OK) return r;
    SolidState before = solid_state(sim->walls.solids[index]);
    solid_remove(sim->walls.solids[index]);
    r = solids_changed(sim, error);
    if (r != BRIM_OK) {
        solid_set_state(sim->walls.solids[index], &before);
        solids_restored(sim);
        return r;
    }
    if (sim->primed) find_foreign(sim), surface_again(sim); // as when it is loaded
    changed(sim, hash_bytes(change(sim, "remove"), &index, sizeof index));
    return BRIM_OK;
}

BrimResult brim_sim_move_solid(BrimSim *sim, int index, BrimVec3 position, BrimVec3 rotation,
                               double duration, BrimError *error) {
    NEED(sim, error);
    BrimResult r = find_solid(sim, index, error);
    if (r != BRIM_OK) return r;
    if (!isfinite(position.x + position.y + position.z + rotation.x + rotation.y + rotation.z) ||
        !(duration >= 0) || !isfinite(duration))
        return fail(error, BRIM_ERROR_INPUT,
                    "solid %d: placement and duration must be finite, duration >= 0", index);
    bool moved_before = solid_moves(sim->walls.solids[index]);
    SolidState before = solid_state(sim->walls.solids[index]);
    solid_move(sim->walls.solids[index], position, rotation, sim->time, duration);
    if (!moved_before) {
        r = solids_changed(sim, error);
        if (r == BRIM_OK && sim->primed) find_foreign(sim), surface_again(sim); // as when loaded
    }
    if (r != BRIM_OK) {
        solid_set_state(sim->walls.solids[index], &before);
        solids_restored(sim);
        return r;
    }
    const float place[6] = {position.x, position.y, position.z, rotation.x, rotation.y, rotation.z};
    uint64_t h = hash_bytes(change(sim, "move"), &index, sizeof index);
    h = hash_bytes(hash_bytes(h, place, sizeof place), &duration, sizeof duration);
    changed(sim, h);
    return BRIM_OK;
}
