// Saving and loading a simulation: what a step reads that the def does not give.
#include "base/error.h"
#include "base/memory.h"
#include "io/checkpoint.h"
#include "sim.h"
#include "walls/solid_fine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Section "state": the scalars.
typedef struct SavedState {
    double dt, dt_next, kick, velocity_time, solid_time, max_speed, start_cells, start_volume,
        start_particles, travelled;
    int64_t resampled;
    double band_missing, swallow_time, swallow_left, waited;
    uint32_t next_id;
    int32_t primed, crowded, tile_count, solid_count;
    BrimStats stats;
} SavedState;

static const char *const velocity_names[3] = {"grid u", "grid v", "grid w"};

// -------------------------------------------------------------------------------------- save

static BrimResult put_grid(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    const Grid *g = &s->grid;
    size_t bytes = sim_cells(s) * sizeof(float);
    uint32_t *tiles = memory_new((size_t)g->tile_count * sizeof *tiles);
    if (!tiles) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a checkpoint");
    for (int t = 0; t < g->tile_count; t++)
        tiles[t] = (uint32_t)grid_box_index(g, g->coord[t].x, g->coord[t].y, g->coord[t].z);
    BrimResult r = checkpoint_put(w, "tiles", tiles, (size_t)g->tile_count * sizeof *tiles, error);
    free(tiles);
    for (int a = 0; a < s->dim && r == BRIM_OK; a++)
        r = checkpoint_put(w, velocity_names[a], s->velocity[a], s->primed ? bytes : 0, error);
    if (r == BRIM_OK) r = checkpoint_put(w, "pressure", s->pressure, s->primed ? bytes : 0, error);
    if (r == BRIM_OK)
        r = checkpoint_put(w, "tile speed", s->tile_speed,
                           s->primed ? (size_t)g->tile_count * sizeof(float) : 0, error);
    // The level set below the surface follows from where the interior is.
    if (r == BRIM_OK && s->band) r = checkpoint_put(w, "interior", s->interior, sim_rows(s), error);
    if (r == BRIM_OK && s->band) r = checkpoint_put(w, "hidden", s->hidden, sim_rows(s), error);
    if (r == BRIM_OK && s->band)
        r = checkpoint_put(w, "swallowed", s->swallowed, s->swallowed_count * sizeof *s->swallowed,
                           error);
    return r;
}

static BrimResult put_solids(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    size_t bytes = (size_t)s->solid_count * sizeof(SolidState);
    SolidState *states = memory_zero(bytes);
    if (!states) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a checkpoint");
    for (int i = 0; i < s->solid_count; i++) states[i] = solid_state(s->solids[i]);
    BrimResult r = checkpoint_put(w, "solids", states, bytes, error);
    free(states);
    return r;
}

static BrimResult put_all(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    const Particles *p = &s->particles;
    CheckpointMeta meta = {.step = s->step,
                           .particles = (int64_t)p->count,
                           .seeded = s->seeded,
                           .emitted = s->emitted,
                           .drained = s->drained,
                           .left = s->left,
                           .time = s->time,
                           .frame = s->frame,
                           .dim = s->dim,
                           .cells = {s->grid.cells[0], s->grid.cells[1], s->grid.cells[2]},
                           .scene_hash = s->def_hash};
    SavedState state;
    memset(&state, 0, sizeof state); // padding too: the same state is the same bytes
    state.dt = s->dt, state.dt_next = s->dt_next, state.kick = s->kick;
    state.velocity_time = s->velocity_time, state.solid_time = s->solid_time;
    state.max_speed = s->max_speed, state.start_cells = s->start_cells;
    state.start_volume = s->start_volume;
    state.start_particles = s->start_particles, state.next_id = s->next_id;
    state.resampled = s->resampled;
    state.travelled = s->travelled, state.crowded = s->crowded;
    state.band_missing = s->band_missing;
    state.swallow_time = s->swallow_time, state.swallow_left = s->swallow_left;
    state.waited = s->waited;
    state.primed = s->primed, state.tile_count = s->grid.tile_count;
    state.solid_count = s->solid_count, state.stats = s->stats;
    BrimResult r = checkpoint_put(w, CHECKPOINT_META, &meta, sizeof meta, error);
    if (r == BRIM_OK) r = checkpoint_put(w, "state", &state, sizeof state, error);
    for (int a = 0; a < ATTR_MAX && r == BRIM_OK; a++) {
        char name[ATTRIBUTE_NAME];
        if (!p->attr[a]) continue;
        attribute_name(a, name);
        r = checkpoint_put(w, name, p->attr[a], p->count * sizeof(float), error);
    }
    if (r == BRIM_OK) r = put_grid(w, s, error);
    return r == BRIM_OK ? put_solids(w, s, error) : r;
}

BrimResult brim_sim_save(const BrimSim *sim, const char *path, BrimError *error) {
    NEED(sim, error);
    NEED(path, error);
    CheckpointWriter *w = NULL;
    BrimResult r = sim_check_intact(sim, error);
    if (r == BRIM_OK) r = checkpoint_create(path, &w, error);
    if (r != BRIM_OK) return r;
    r = put_all(w, sim, error);
    if (r == BRIM_OK) return checkpoint_commit(&w, error);
    checkpoint_abort(&w);
    return r;
}

// -------------------------------------------------------------------------------------- load

static BrimResult damaged(const char *path, const char *what, BrimError *error) {
    return fail(error, BRIM_ERROR_DAMAGED, "%s: %s: the checkpoint cannot be used", path, what);
}

static BrimResult read_particles(Checkpoint *c, BrimSim *s, size_t count, const char *path,
                                 BrimError *error) {
    Particles *p = &s->particles;
    if (!particles_reserve(p, count + 1))
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for %zu particles", path, count);
    BrimResult r = BRIM_OK;
    for (int a = 0; a < ATTR_MAX && r == BRIM_OK; a++) {
        char name[ATTRIBUTE_NAME];
        if (!p->attr[a]) continue;
        attribute_name(a, name);
        r = checkpoint_read(c, name, p->attr[a], count * sizeof(float), error);
    }
    p->count = count;
    return r;
}

/// The tiles that there were. (section "tiles") => grid, fields
static BrimResult read_tiles(Checkpoint *c, BrimSim *s, int tile_count, const char *path,
                             BrimError *error) {
    size_t box = grid_box(&s->grid), n = (size_t)tile_count;
    uint32_t *tiles = memory_new(n * sizeof *tiles);
    uint8_t *want = s->sort.want;
    if (!tiles || !memory_fit((void **)&s->sort.from, &s->sort.from_capacity, 4, n)) {
        free(tiles);
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for %zu tiles", path, n);
    }
    BrimResult r = checkpoint_read(c, "tiles", tiles, n * sizeof *tiles, error);
    memset(want, 0, box);
    for (size_t t = 0; t < n && r == BRIM_OK; t++) {
        if (tiles[t] >= box || want[tiles[t]])
            r = damaged(path, "a tile is out of place", error);
        else
            want[tiles[t]] = 1;
    }
    free(tiles);
    if (r == BRIM_OK && (!grid_rebuild(&s->grid, want, s->sort.from) || !fields_reserve(s, WHERE_ALL, n)))
        r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for %zu tiles", path, n);
    return r;
}

/// (x) sorted => cell_start, occupied. False when a particle is where no tile is, or out of order.
static bool index_particles(BrimSim *s) {
    Particles *p = &s->particles;
    const Grid *g = &s->grid;
    uint32_t cells = (uint32_t)g->tile_cells;
    size_t all = sim_cells(s), next = 0;
    for (size_t i = 0; i < p->count; i++) {
        const float x = p->attr[ATTR_X][i], y = p->attr[ATTR_Y][i], z = p->attr[ATTR_Z][i];
        if (!(x >= 0 && y >= 0 && z >= 0 && x * s->inv_dx <= (float)g->cells[0] &&
              y * s->inv_dx <= (float)g->cells[1] &&
              (s->dim == 2 || z * s->inv_dx <= (float)g->cells[2])))
            return false;
        p->key[i] = cell_key(g, s->inv_dx, x, y, z);
        int32_t slot = g->slot_of[p->key[i] / cells];
        if (slot < 0) return false;
        size_t cell = (size_t)slot * cells + p->key[i] % cells;
        if (cell + 1 < next) return false;
        while (next <= cell) p->cell_start[next++] = (uint32_t)i;
    }
    while (next <= all) p->cell_start[next++] = (uint32_t)p->count;
    for (size_t row = 0; row < sim_rows(s); row++) {
        uint8_t bits = 0;
        for (size_t x = 0; x < TILE; x++)
            bits |= (uint8_t)((p->cell_start[row * TILE + x] != p->cell_start[row * TILE + x + 1])
                              << x);
        p->occupied[row] = bits;
    }
    p->sorted = p->count;
    return true;
}

static BrimResult read_swallowed(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    size_t bytes = 0, cells = (size_t)s->grid.tile_cells;
    if (!checkpoint_find(c, "swallowed", &bytes)) return damaged(path, "a part is missing", error);
    size_t count = bytes / sizeof *s->swallowed;
    if (!memory_fit((void **)&s->swallowed, &s->swallowed_capacity, sizeof *s->swallowed, count))
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    BrimResult r =
        checkpoint_read(c, "swallowed", s->swallowed, count * sizeof *s->swallowed, error);
    for (size_t i = 0; i < count && r == BRIM_OK; i++)
        if (s->swallowed[i] / cells >= grid_box(&s->grid))
            r = damaged(path, "liquid is out of place", error);
    s->swallowed_count = count;
    return r;
}

static BrimResult read_fields(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    size_t bytes = sim_cells(s) * sizeof(float);
    BrimResult r = BRIM_OK;
    memset(s->pressure, 0, bytes);
    if (s->band) r = checkpoint_read(c, "interior", s->interior, sim_rows(s), error);
    if (s->band && r == BRIM_OK) r = checkpoint_read(c, "hidden", s->hidden, sim_rows(s), error);
    if (s->band && r == BRIM_OK) r = read_swallowed(c, s, path, error);
    if (!s->primed || r != BRIM_OK) return r;
    for (int a = 0; a < s->dim && r == BRIM_OK; a++)
        r = checkpoint_read(c, velocity_names[a], s->velocity[a], bytes, error);
    if (r == BRIM_OK) r = checkpoint_read(c, "pressure", s->pressure, bytes, error);
    if (r == BRIM_OK)
        r = checkpoint_read(c, "tile speed", s->tile_speed,
                            (size_t)s->grid.tile_count * sizeof(float), error);
    return r;
}

/// States of the def's solids go to them; those of solids that the host added wait until it adds
/// them again.
static BrimResult read_solids(Checkpoint *c, BrimSim *s, int count, const char *path,
                              BrimError *error) {
    if (count < s->solid_count) return damaged(path, "solids are missing", error);
    SolidState *states = memory_zero((size_t)count * sizeof *states);
    if (!states) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    BrimResult r = checkpoint_read(c, "solids", states, (size_t)count * sizeof *states, error);
    for (int i = 0; i < count && r == BRIM_OK; i++)
        if (!solid_state_sound(&states[i])) r = damaged(path, "a solid is out of place", error);
    for (int i = 0; i < s->solid_count && r == BRIM_OK; i++)
        solid_set_state(s->solids[i], &states[i]);
    s->pending_count = count - s->solid_count;
    memmove(states, states + s->solid_count, (size_t)s->pending_count * sizeof *states);
    s->pending = states;
    return r;
}

static BrimResult read_all(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    CheckpointMeta meta;
    SavedState state;
    BrimResult r = checkpoint_read(c, CHECKPOINT_META, &meta, sizeof meta, error);
    if (r == BRIM_OK) r = checkpoint_read(c, "state", &state, sizeof state, error);
    if (r != BRIM_OK) return r;
    if (meta.scene_hash != s->def_hash)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: was saved from another scene (other keys, cells or files): resume with "
                    "the scene that made it",
                    path);
    if (meta.particles < 0 || meta.particles > (int64_t)UINT32_MAX - 16 || state.tile_count < 0 ||
        (size_t)state.tile_count > grid_box(&s->grid) || state.solid_count < 0)
        return damaged(path, "its numbers make no sense", error);
    s->step = meta.step, s->time = meta.time, s->frame = meta.frame;
    s->seeded = meta.seeded, s->emitted = meta.emitted;
    s->drained = meta.drained, s->left = meta.left;
    s->dt = state.dt, s->dt_next = state.dt_next, s->kick = state.kick;
    s->velocity_time = state.velocity_time, s->solid_time = state.solid_time;
    s->max_speed = state.max_speed, s->start_cells = state.start_cells;
    s->start_volume = state.start_volume;
    s->start_particles = state.start_particles, s->next_id = state.next_id;
    s->resampled = state.resampled;
    s->travelled = state.travelled, s->crowded = state.crowded != 0;
    s->band_missing = state.band_missing;
    s->swallow_time = state.swallow_time, s->swallow_left = state.swallow_left;
    s->waited = state.waited;
    s->primed = state.primed != 0, s->stats = state.stats;
    r = read_particles(c, s, (size_t)meta.particles, path, error);
    if (r == BRIM_OK) r = read_tiles(c, s, state.tile_count, path, error);
    if (r != BRIM_OK) return r;
    Particles *p = &s->particles;
    if (!memory_fit((void **)&p->cell_start, &p->start_capacity, 4, sim_cells(s) + 1) ||
        !memory_fit((void **)&p->occupied, &p->mask_capacity, 1, sim_rows(s)))
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    if (!index_particles(s)) return damaged(path, "a particle is out of place", error);
    r = read_fields(c, s, path, error);
    if (r == BRIM_OK) r = read_solids(c, s, state.solid_count, path, error);
    if (r == BRIM_OK && !solids_arrange(s))
        r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for solids", path);
    if (r == BRIM_OK) find_foreign(s), find_surface(s);
    return r;
}

BrimResult brim_sim_load(const BrimSimDef *def, const char *path, BrimSim **sim, BrimError *error) {
    Checkpoint *c = NULL;
    Shape **shapes = NULL;
    NEED(sim, error);
    *sim = NULL;
    NEED(def, error);
    NEED(path, error);
    BrimResult r = checkpoint_open(path, &c, error);
    if (r != BRIM_OK) return r;
    r = sim_build(def, sim, &shapes, error);
    if (r == BRIM_OK) r = read_all(c, *sim, path, error);
    if (r == BRIM_OK && (*sim)->band && !(*sim)->primed)
        band_start_velocity(*sim, def->liquid, (const Shape *const *)shapes, def->liquid_count);
    checkpoint_close(&c);
    sim_free_shapes(&shapes, def ? def->liquid_count : 0);
    if (r != BRIM_OK) brim_sim_destroy(sim);
    return r;
}
