// Saving and loading a simulation: what a step reads that the def does not give.
#include "base/error.h"
#include "base/memory.h"
#include "bodies/bodies.h"
#include "emit/stream.h"
#include "io/checkpoint.h"
#include "io/stats.h"
#include "live/settings.h"
#include "sim.h"
#include "step/system.h"
#include "walls/solid_fine.h"
#include "warp/stage.h"
#include "warp/stage_band.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Section "state": numbers by name, so that a reader skips what it does not know, and what a file
/// lacks stays as it is in a new simulation.
typedef struct SavedNumber {
    char name[40];
    union {
        double real;
        int64_t whole;
    } value;
} SavedNumber;

typedef enum NumberType { REAL, WHOLE, WORD, FLAG } NumberType;

/// The numbers of the state that a step reads and the def does not give.
#define SAVED_NUMBERS(N)                         \
    N(dt, dt, REAL)                              \
    N(dt_next, dt_next, REAL)                    \
    N(kick, projection.kick, REAL)               \
    N(flow_share, projection.flow_share, REAL)   \
    N(velocity_time, velocity_time, REAL)        \
    N(solid_time, walls.time, REAL)              \
    N(max_speed, max_speed, REAL)                \
    N(start_cells, start_cells, REAL)            \
    N(start_volume, start_volume, REAL)          \
    N(pressed_cells, volume.pressed_cells, REAL) \
    N(start_particles, start_particles, REAL)    \
    N(control_start, volume.control_start, REAL) \
    N(control_sum, volume.control_sum, REAL)     \
    N(travelled, volume.travelled, REAL)         \
    N(waited, volume.waited, REAL)               \
    N(crowded, volume.crowded, FLAG)             \
    N(primed, primed, FLAG)                      \
    N(next_id, next_id, WORD)                    \
    N(resampled, band.resampled, WHOLE)          \
    N(swallow_time, band.swallow_time, REAL)     \
    N(swallow_left, band.swallow_left, REAL)     \
    N(speed_low, tracking.speed_low, REAL)       \
    N(speed_high, tracking.speed_high, REAL)     \
    N(gravity_set, host.gravity_set, FLAG)       \
    N(gravity_x, host.gravity_x, REAL)           \
    N(gravity_y, host.gravity_y, REAL)           \
    N(gravity_z, host.gravity_z, REAL)           \
    N(liquids_added, host.liquids_added, WHOLE)  \
    N(host_changes, host.changes, WHOLE)         \
    N(host_hash, host.hash, WHOLE)               \
    N(spray, spray.count, WHOLE)                 \
    N(atomised, spray.atomised, WHOLE)           \
    N(rejoined, spray.rejoined, WHOLE)

typedef struct NumberRow {
    const char *name;
    size_t offset;
    NumberType type;
} NumberRow;

static const NumberRow number_rows[] = {
#define ROW(NAME, MEMBER, TYPE) {#NAME, offsetof(BrimSim, MEMBER), TYPE},
    SAVED_NUMBERS(ROW)
#undef ROW
};
enum { NUMBER_ROWS = sizeof number_rows / sizeof *number_rows, NUMBERS_MOST = 512 };

static void number_get(const NumberRow *row, const BrimSim *s, SavedNumber *out) {
    const char *at = (const char *)s + row->offset;
    snprintf(out->name, sizeof out->name, "%s", row->name);
    if (row->type == REAL) memcpy(&out->value.real, at, sizeof(double));
    if (row->type == WHOLE) memcpy(&out->value.whole, at, sizeof(int64_t));
    if (row->type == WORD) out->value.whole = *(const uint32_t *)(const void *)at;
    if (row->type == FLAG) out->value.whole = *(const bool *)at;
}

static void number_set(const NumberRow *row, BrimSim *s, const SavedNumber *in) {
    char *at = (char *)s + row->offset;
    if (row->type == REAL) memcpy(at, &in->value.real, sizeof(double));
    if (row->type == WHOLE) memcpy(at, &in->value.whole, sizeof(int64_t));
    if (row->type == WORD) *(uint32_t *)(void *)at = (uint32_t)in->value.whole;
    if (row->type == FLAG) *(bool *)at = in->value.whole != 0;
}

/// Statistics are numbers too, by the names of their columns.
static const char STATS[] = "stats.";

/// => numbers [NUMBERS_MOST]; returns how many.
static int numbers_of(const BrimSim *s, SavedNumber *numbers) {
    int count = 0;
    for (; count < NUMBER_ROWS; count++) number_get(&number_rows[count], s, &numbers[count]);
    for (int i = 0; stats_column(i); i++, count++) {
        const char *at = (const char *)&s->stats + stats_column(i)->offset;
        snprintf(numbers[count].name, sizeof numbers[count].name, "%s%s", STATS,
                 stats_column(i)->name);
        memcpy(&numbers[count].value, at, sizeof numbers[count].value);
    }
    return count;
}

static void take_number(BrimSim *s, const SavedNumber *number) {
    for (int i = 0; i < NUMBER_ROWS; i++)
        if (strcmp(number_rows[i].name, number->name) == 0) number_set(&number_rows[i], s, number);
    if (strncmp(number->name, STATS, sizeof STATS - 1) != 0) return;
    for (int i = 0; stats_column(i); i++)
        if (strcmp(stats_column(i)->name, number->name + sizeof STATS - 1) == 0)
            memcpy((char *)&s->stats + stats_column(i)->offset, &number->value,
                   sizeof number->value);
}

/// Name of a part of a field in the file.
static void section_name(const FieldRow *row, int part, char name[CHECKPOINT_NAME]) {
    if (row->parts == 1)
        snprintf(name, CHECKPOINT_NAME, "%s", row->name);
    else
        snprintf(name, CHECKPOINT_NAME, "%s %c", row->name, "xyz"[part]);
}

/// Whether a simulation's checkpoints have a field.
static bool is_saved(const BrimSim *s, int field) {
    const FieldRow *row = &field_rows[field];
    if (field == FIELD_weight_pressure && s->projection.flow_share == 0) return false;
    return field_memory(s, field, 0) &&
           (row->keep == KEEP_YES || (row->keep == KEEP_PRIMED && s->primed));
}

// -------------------------------------------------------------------------------------- save

/// A field of wet tiles goes with zeros for the others.
static BrimResult put_field(CheckpointWriter *w, const BrimSim *s, int field, int part,
                            const char *name, BrimError *error) {
    const FieldRow *row = &field_rows[field];
    const size_t bytes = field_bytes(s, row), tile = row->value * (size_t)s->grid.tile_cells;
    const uint8_t *from = field_memory(s, field, part);
    if (row->where != WHERE_WET) return checkpoint_put(w, name, from, bytes, error);
    uint8_t *all = memory_zero(bytes);
    if (!all) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a checkpoint");
    for (int t = 0; t < s->grid.tile_count; t++)
        if (s->wet_at[t])
            memcpy(all + (size_t)t * tile, from + (size_t)(s->wet_at[t] - 1) * tile, tile);
    BrimResult r = checkpoint_put(w, name, all, bytes, error);
    free(all);
    return r;
}

static BrimResult put_grid(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    const Grid *g = &s->grid;
    uint32_t *tiles = memory_new((size_t)g->tile_count * sizeof *tiles);
    if (!tiles) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a checkpoint");
    for (int t = 0; t < g->tile_count; t++)
        tiles[t] = (uint32_t)grid_box_index(g, g->coord[t].x, g->coord[t].y, g->coord[t].z);
    BrimResult r = checkpoint_put(w, "tiles", tiles, (size_t)g->tile_count * sizeof *tiles, error);
    free(tiles);
    // Everything else follows: the level set below the surface from where the interior is.
    for (int f = 0; f < FIELD_COUNT; f++)
        for (int part = 0; part < field_parts(s, &field_rows[f]) && is_saved(s, f); part++) {
            char name[CHECKPOINT_NAME];
            section_name(&field_rows[f], part, name);
            if (r == BRIM_OK) r = put_field(w, s, f, part, name, error);
        }
    if (r == BRIM_OK && has_band(s))
        r = checkpoint_put(w, "swallowed", s->band.swallowed,
                           s->band.swallowed_count * sizeof *s->band.swallowed, error);
    size_t mesh = s->warp ? warp_centres(&s->warp->mesh) * sizeof(double) : 0;
    if (r == BRIM_OK && s->warp) r = checkpoint_put(w, "mesh", s->warp->mesh.now, mesh, error);
    if (r == BRIM_OK && s->warp)
        r = checkpoint_put(w, "mesh before", s->warp->mesh.last, mesh, error);
    return r;
}

static BrimResult put_solids(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    size_t bytes = (size_t)s->walls.solid_count * sizeof(SolidState);
    SolidState *states = memory_zero(bytes);
    if (!states) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a checkpoint");
    for (int i = 0; i < s->walls.solid_count; i++) states[i] = solid_state(s->walls.solids[i]);
    BrimResult r = checkpoint_put(w, "solids", states, bytes, error);
    free(states);
    return r;
}

static bool any_deforms(const BrimSim *s) {
    for (int i = 0; i < s->walls.solid_count; i++)
        if (solid_deforms(s->walls.solids[i])) return true;
    return false;
}

/// Time and step at which each solid was placed last: from that a mesh that deforms knows its own.
static BrimResult put_deformed(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    size_t bytes = (size_t)s->walls.solid_count * sizeof(double[2]);
    double(*placed)[2] = memory_zero(bytes);
    if (!placed) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a checkpoint");
    for (int i = 0; i < s->walls.solid_count; i++)
        solid_placed(s->walls.solids[i], &placed[i][0], &placed[i][1]);
    BrimResult r = checkpoint_put(w, "solids placed", placed, bytes, error);
    free(placed);
    return r;
}

static bool any_streams(const BrimSim *s) {
    for (int i = 0; i < s->source_count; i++)
        if (source_varies(&s->sources[i])) return true;
    for (int i = 0; i < s->drain_count; i++)
        if (s->drains[i].mover || drain_limits(&s->drains[i])) return true;
    return false;
}

/// Where the lattices of sources are, and what drains have still to take.
static size_t streams_numbers(const BrimSim *s) {
    return 3 * (size_t)s->source_count + (size_t)s->drain_count;
}

static BrimResult put_streams(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    size_t count = 0;
    double *numbers = memory_zero(streams_numbers(s) * sizeof *numbers);
    if (!numbers) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a checkpoint");
    for (int i = 0; i < s->source_count; i++)
        for (int a = 0; a < 3; a++) numbers[count++] = s->sources[i].phase[a];
    for (int i = 0; i < s->drain_count; i++) numbers[count++] = s->drains[i].owed;
    BrimResult r = checkpoint_put(w, "streams", numbers, count * sizeof *numbers, error);
    free(numbers);
    return r;
}

/// What bodies_save says, one body after the other.
static BrimResult put_bodies(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    size_t count = bodies_numbers(s);
    double *numbers = memory_new(count * sizeof *numbers);
    if (!numbers) return fail(error, BRIM_ERROR_MEMORY, "out of memory for bodies");
    bodies_save(s, numbers);
    BrimResult r = checkpoint_put(w, "bodies", numbers, count * sizeof *numbers, error);
    free(numbers);
    return r;
}

/// The host's hands on bodies.
static BrimResult put_hands(CheckpointWriter *w, const Hands *hands, BrimError *error) {
    size_t count = hands_numbers(hands);
    double *numbers = memory_new((count + 1) * sizeof *numbers);
    if (!numbers) return fail(error, BRIM_ERROR_MEMORY, "out of memory for grabs");
    hands_save(hands, numbers);
    BrimResult r =
        count ? checkpoint_put(w, "grabs", numbers, count * sizeof *numbers, error) : BRIM_OK;
    free(numbers);
    return r;
}

/// Name of an attribute of particles that wait to come in.
static void waiting_name(int place, char name[CHECKPOINT_NAME]) {
    char plain[ATTRIBUTE_NAME];
    attribute_name(place, plain);
    snprintf(name, CHECKPOINT_NAME, "new %.11s", plain);
}

/// Particles that the host added since the last step.
static BrimResult put_waiting(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    const Particles *p = &s->waiting;
    BrimResult r = BRIM_OK;
    for (int a = 0; a < ATTR_MAX && r == BRIM_OK && p->count; a++) {
        char name[CHECKPOINT_NAME];
        if (!p->attr[a]) continue;
        waiting_name(a, name);
        r = checkpoint_put(w, name, p->attr[a], p->count * sizeof(float), error);
    }
    return r;
}

static BrimResult put_all(CheckpointWriter *w, const BrimSim *s, BrimError *error) {
    const Particles *p = &s->particles;
    CheckpointMeta meta = {.step = s->step,
                           .particles = (int64_t)p->count + s->spray.count,
                           .seeded = s->seeded,
                           .emitted = s->emitted,
                           .drained = s->drained,
                           .left = s->left,
                           .time = s->time,
                           .frame = s->frame,
                           .dim = s->dim,
                           .cells = {s->grid.cells[0], s->grid.cells[1], s->grid.cells[2]},
                           .scene_hash = s->def_hash};
    SavedNumber numbers[NUMBERS_MOST];
    memset(numbers, 0, sizeof numbers); // padding too: the same state is the same bytes
    int count = numbers_of(s, numbers);
    BrimResult r = checkpoint_put(w, CHECKPOINT_META, &meta, sizeof meta, error);
    if (r == BRIM_OK)
        r = checkpoint_put(w, "state", numbers, (size_t)count * sizeof *numbers, error);
    for (int a = 0; a < ATTR_MAX && r == BRIM_OK; a++) {
        char name[ATTRIBUTE_NAME];
        if (!p->attr[a]) continue;
        attribute_name(a, name);
        r = checkpoint_put(w, name, p->attr[a], (size_t)meta.particles * sizeof(float), error);
    }
    if (r == BRIM_OK) r = put_grid(w, s, error);
    if (r == BRIM_OK) r = put_solids(w, s, error);
    if (r == BRIM_OK && any_deforms(s)) r = put_deformed(w, s, error);
    if (r == BRIM_OK && any_streams(s)) r = put_streams(w, s, error);
    if (r == BRIM_OK) r = put_waiting(w, s, error);
    if (r == BRIM_OK && s->setting_count)
        r = checkpoint_put(w, "settings", s->settings,
                           (size_t)s->setting_count * sizeof *s->settings, error);
    if (r == BRIM_OK && s->bodies) r = put_bodies(w, s, error);
    return r == BRIM_OK && s->bodies ? put_hands(w, &s->bodies->hands, error) : r;
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
        size_t bytes;
        bool given = attribute_rows[attribute_row(a)].start == ATTRIBUTE_GIVEN;
        if (given || checkpoint_find(c, name, &bytes))
            r = checkpoint_read(c, name, p->attr[a], count * sizeof(float), error);
        else // of a version that did not know it: as new
            memset(p->attr[a], 0, count * sizeof(float));
    }
    p->count = count - (size_t)s->spray.count; // which lies behind
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
    if (r == BRIM_OK &&
        (!grid_rebuild(&s->grid, want, s->sort.from, s->team) || !fields_reserve(s, WHERE_ALL, n)))
        r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for %zu tiles", path, n);
    return r;
}

/// (x) sorted => key, tile_start. False when a particle is where no tile is, or out of order.
static bool find_tiles(BrimSim *s) {
    Particles *p = &s->particles;
    const Grid *g = &s->grid;
    uint32_t cells = (uint32_t)g->tile_cells;
    size_t last = 0;
    int tile = 0;
    for (size_t i = 0; i < p->count; i++) {
        const float x = p->attr[ATTR_X][i], y = p->attr[ATTR_Y][i], z = p->attr[ATTR_Z][i];
        if (!(x >= 0 && y >= 0 && z >= 0 && space_to_grid(s->space, x) <= (float)g->cells[0] &&
              space_to_grid(s->space, y) <= (float)g->cells[1] &&
              (s->dim == 2 || space_to_grid(s->space, z) <= (float)g->cells[2])))
            return false;
        p->key[i] = cell_key(g, s->space, x, y, z);
        int32_t slot = g->slot_of[p->key[i] / cells];
        if (slot < 0) return false;
        size_t cell = (size_t)slot * cells + p->key[i] % cells;
        if (cell < last) return false;
        last = cell;
        while (tile <= slot) p->tile_start[tile++] = (uint32_t)i;
    }
    while (tile <= g->tile_count) p->tile_start[tile++] = (uint32_t)p->count;
    return true;
}

/// (key, tile_start) => cell_start, occupied
static void index_particles(BrimSim *s) {
    Particles *p = &s->particles;
    const Grid *g = &s->grid;
    uint32_t cells = (uint32_t)g->tile_cells;
    if (g->tile_count) memset(p->occupied, 0, sim_rows(s));
    for (int t = 0; t < g->tile_count; t++) {
        if (!tile_holds(p, t)) continue;
        uint32_t *start = p->cell_start + (size_t)p->start_at[t] * cells, next = 0;
        for (uint32_t i = tile_first(p, t); i < tile_end(p, t); i++) {
            uint32_t cell = p->key[i] % cells;
            while (next <= cell) start[next++] = i;
            p->occupied[(size_t)t * (size_t)g->tile_rows + cell / TILE] |=
                (uint8_t)(1 << cell % TILE);
        }
        while (next < cells) start[next++] = tile_end(p, t);
    }
    p->sorted = p->count;
}

static BrimResult read_swallowed(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    size_t bytes = 0, cells = (size_t)s->grid.tile_cells;
    if (!checkpoint_find(c, "swallowed", &bytes)) return damaged(path, "a part is missing", error);
    size_t count = bytes / sizeof *s->band.swallowed;
    if (!memory_fit((void **)&s->band.swallowed, &s->band.swallowed_capacity,
                    sizeof *s->band.swallowed, count))
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    BrimResult r = checkpoint_read(c, "swallowed", s->band.swallowed,
                                   count * sizeof *s->band.swallowed, error);
    for (size_t i = 0; i < count && r == BRIM_OK; i++)
        if (s->band.swallowed[i] / cells >= grid_box(&s->grid))
            r = damaged(path, "liquid is out of place", error);
    s->band.swallowed_count = count;
    return r;
}

static BrimResult read_fields(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    BrimResult r = BRIM_OK;
    if (!wet_arrange_all(s)) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    memset(s->pressure, 0, sim_cells(s) * sizeof(float));
    for (int f = 0; f < FIELD_COUNT; f++)
        for (int part = 0; part < field_parts(s, &field_rows[f]) && is_saved(s, f); part++) {
            char name[CHECKPOINT_NAME];
            section_name(&field_rows[f], part, name);
            size_t held;
            if (f == FIELD_weight_pressure && !checkpoint_find(c, name, &held)) {
                s->projection.flow_share = 0; // nobody read it then
                continue;
            }
            if (r == BRIM_OK)
                r = checkpoint_read(c, name, field_memory(s, f, part),
                                    field_bytes(s, &field_rows[f]), error);
        }
    if (has_band(s) && r == BRIM_OK) r = read_swallowed(c, s, path, error);
    size_t mesh = s->warp ? warp_centres(&s->warp->mesh) * sizeof(double) : 0;
    if (s->warp && r == BRIM_OK) r = checkpoint_read(c, "mesh", s->warp->mesh.now, mesh, error);
    if (s->warp && r == BRIM_OK)
        r = checkpoint_read(c, "mesh before", s->warp->mesh.last, mesh, error);
    if (s->warp && r == BRIM_OK && !warp_restore(s))
        r = damaged(path, "the mesh is not sound", error);
    return r;
}

/// How many things of a size a section holds; -1 when there is none.
static int64_t section_count(Checkpoint *c, const char *name, size_t size) {
    size_t bytes = 0;
    return checkpoint_find(c, name, &bytes) && bytes % size == 0 ? (int64_t)(bytes / size) : -1;
}

/// (section "state") => numbers of the state
static BrimResult read_numbers(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    SavedNumber numbers[NUMBERS_MOST];
    int64_t count = section_count(c, "state", sizeof *numbers);
    if (count < 0 || count > NUMBERS_MOST) return damaged(path, "its numbers make no sense", error);
    BrimResult r = checkpoint_read(c, "state", numbers, (size_t)count * sizeof *numbers, error);
    for (int64_t i = 0; i < count && r == BRIM_OK; i++) {
        numbers[i].name[sizeof numbers[i].name - 1] = 0;
        take_number(s, &numbers[i]);
    }
    return r;
}

/// States of the def's solids go to them; those of solids that the host added wait until it adds
/// them again.
static BrimResult read_solids(Checkpoint *c, BrimSim *s, int count, const char *path,
                              BrimError *error) {
    if (count < s->walls.solid_count) return damaged(path, "solids are missing", error);
    SolidState *states = memory_zero((size_t)count * sizeof *states);
    if (!states) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    BrimResult r = checkpoint_read(c, "solids", states, (size_t)count * sizeof *states, error);
    for (int i = 0; i < count && r == BRIM_OK; i++)
        if (!solid_state_sound(&states[i])) r = damaged(path, "a solid is out of place", error);
    for (int i = 0; i < s->walls.solid_count && r == BRIM_OK; i++)
        solid_set_state(s->walls.solids[i], &states[i]);
    s->walls.pending_count = count - s->walls.solid_count;
    memmove(states, states + s->walls.solid_count, (size_t)s->walls.pending_count * sizeof *states);
    s->walls.pending = states;
    return r;
}

/// As read_solids, for what put_deformed saved.
static BrimResult read_deformed(Checkpoint *c, BrimSim *s, int count, const char *path,
                                BrimError *error) {
    size_t bytes;
    if (!checkpoint_find(c, "solids placed", &bytes)) return BRIM_OK;
    s->walls.pending_placed = memory_zero((size_t)count * sizeof *s->walls.pending_placed);
    if (!s->walls.pending_placed) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    double(*placed)[2] = s->walls.pending_placed;
    BrimResult r =
        checkpoint_read(c, "solids placed", placed, (size_t)count * sizeof *placed, error);
    for (int i = 0; i < count && r == BRIM_OK; i++)
        if (!(fabs(placed[i][0]) <= 1e9 && placed[i][1] >= 0 && placed[i][1] <= 1e9))
            r = damaged(path, "a solid is out of place", error);
    for (int i = 0; i < s->walls.solid_count && r == BRIM_OK; i++)
        if (!solid_deform(s->walls.solids[i], placed[i][0], placed[i][1]))
            r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    memmove(placed, placed + s->walls.solid_count, (size_t)s->walls.pending_count * sizeof *placed);
    return r;
}

static BrimResult read_streams(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    size_t count = streams_numbers(s), at = 0;
    double *numbers = memory_zero(count * sizeof *numbers);
    if (!numbers) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    BrimResult r = checkpoint_read(c, "streams", numbers, count * sizeof *numbers, error);
    for (size_t i = 0; i < count && r == BRIM_OK; i++)
        if (!(fabs(numbers[i]) <= 1e15)) r = damaged(path, "a stream makes no sense", error);
    for (int i = 0; i < s->source_count && r == BRIM_OK; i++)
        for (int a = 0; a < 3; a++) s->sources[i].phase[a] = numbers[at++];
    for (int i = 0; i < s->drain_count && r == BRIM_OK; i++) s->drains[i].owed = numbers[at++];
    free(numbers);
    return r == BRIM_OK ? streams_place(s, s->time, s->step ? s->dt : 0, error) : r;
}

static BrimResult read_bodies(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    size_t count = bodies_numbers(s);
    double *numbers = memory_new(count * sizeof *numbers);
    if (!numbers) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    BrimResult r = checkpoint_read(c, "bodies", numbers, count * sizeof *numbers, error);
    for (size_t i = 0; i < count && r == BRIM_OK; i++)
        if (!isfinite(numbers[i])) r = damaged(path, "a body is out of place", error);
    if (r == BRIM_OK && !bodies_restore(s, numbers))
        r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for bodies", path);
    free(numbers);
    return r;
}

static BrimResult read_hands(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    int64_t count = section_count(c, "grabs", sizeof(double));
    if (count <= 0) return BRIM_OK;
    bool memory = true;
    double *numbers = memory_new((size_t)count * sizeof *numbers);
    if (!numbers) return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    BrimResult r = checkpoint_read(c, "grabs", numbers, (size_t)count * sizeof *numbers, error);
    if (r == BRIM_OK && !hands_restore(s, numbers, (size_t)count, &memory))
        r = memory ? damaged(path, "a grab makes no sense", error)
                   : fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    free(numbers);
    return r;
}

/// The cells of particles that wait; false when one is outside the domain.
static bool index_waiting(BrimSim *s) {
    Particles *p = &s->waiting;
    const Grid *g = &s->grid;
    for (size_t i = 0; i < p->count; i++) {
        const float x = p->attr[ATTR_X][i], y = p->attr[ATTR_Y][i], z = p->attr[ATTR_Z][i];
        if (!(x >= 0 && y >= 0 && z >= 0 && space_to_grid(s->space, x) <= (float)g->cells[0] &&
              space_to_grid(s->space, y) <= (float)g->cells[1] &&
              (s->dim == 2 || space_to_grid(s->space, z) <= (float)g->cells[2])))
            return false;
        p->key[i] = cell_key(g, s->space, x, y, z);
    }
    return true;
}

static BrimResult read_waiting(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    Particles *p = &s->waiting;
    size_t bytes = 0;
    char name[CHECKPOINT_NAME];
    waiting_name(ATTR_X, name);
    if (!checkpoint_find(c, name, &bytes)) return BRIM_OK;
    size_t count = bytes / sizeof(float);
    if (count > UINT32_MAX - 16) return damaged(path, "its numbers make no sense", error);
    p->carries = s->particles.carries;
    if (!particles_reserve(p, count + 1))
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for %zu particles", path, count);
    BrimResult r = BRIM_OK;
    for (int a = 0; a < ATTR_MAX && r == BRIM_OK; a++) {
        if (!p->attr[a]) continue;
        waiting_name(a, name);
        r = checkpoint_read(c, name, p->attr[a], count * sizeof(float), error);
    }
    p->count = count;
    if (r == BRIM_OK && !index_waiting(s)) r = damaged(path, "a particle is out of place", error);
    return r;
}

static BrimResult read_settings(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    int64_t count = section_count(c, "settings", sizeof(SettingChange));
    if (count <= 0) return BRIM_OK;
    if (count > SETTINGS_MOST) return damaged(path, "its settings make no sense", error);
    SettingChange changes[SETTINGS_MOST];
    BrimResult r = checkpoint_read(c, "settings", changes, (size_t)count * sizeof *changes, error);
    for (int64_t i = 0; i < count && r == BRIM_OK; i++) {
        changes[i].key[sizeof changes[i].key - 1] = 0;
        if (brim_sim_set(s, changes[i].key, changes[i].values, (int)changes[i].count, NULL) !=
            BRIM_OK)
            r = damaged(path, "a setting is not allowed", error);
    }
    return r;
}

static BrimResult read_all(Checkpoint *c, BrimSim *s, const char *path, BrimError *error) {
    CheckpointMeta meta;
    BrimResult r = checkpoint_read(c, CHECKPOINT_META, &meta, sizeof meta, error);
    if (r != BRIM_OK) return r;
    if (meta.scene_hash != s->def_hash)
        return fail(error, BRIM_ERROR_INPUT,
                    "%s: was saved from another scene (other keys, cells or files): resume with "
                    "the scene that made it",
                    path);
    int64_t tiles = section_count(c, "tiles", sizeof(uint32_t));
    int64_t solids = section_count(c, "solids", sizeof(SolidState));
    if (meta.particles < 0 || meta.particles > (int64_t)UINT32_MAX - 16 || tiles < 0 ||
        (size_t)tiles > grid_box(&s->grid) || solids < 0 || solids > INT32_MAX)
        return damaged(path, "its numbers make no sense", error);
    s->step = meta.step, s->time = meta.time, s->frame = meta.frame;
    s->seeded = meta.seeded, s->emitted = meta.emitted;
    s->drained = meta.drained, s->left = meta.left;
    r = read_numbers(c, s, path, error);
    if (r == BRIM_OK) r = read_settings(c, s, path, error);
    if (r != BRIM_OK) return r;
    if (s->spray.count < 0 || s->spray.count > meta.particles || (s->spray.count && !has_spray(s)))
        return damaged(path, "its numbers make no sense", error);
    r = read_particles(c, s, (size_t)meta.particles, path, error);
    if (r == BRIM_OK) r = read_tiles(c, s, (int)tiles, path, error);
    if (r != BRIM_OK) return r;
    Particles *p = &s->particles;
    if (!particles_fit_tiles(p, &s->grid, (size_t)s->grid.tile_count))
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    if (!find_tiles(s)) return damaged(path, "a particle is out of place", error);
    if (!particles_fit_cells(p, &s->grid))
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
    index_particles(s);
    r = read_waiting(c, s, path, error);
    if (r != BRIM_OK) return r;
    r = read_fields(c, s, path, error);
    if (r == BRIM_OK && s->bodies) r = read_bodies(c, s, path, error);
    if (r == BRIM_OK && s->bodies) r = read_hands(c, s, path, error);
    if (r == BRIM_OK) r = read_solids(c, s, (int)solids, path, error);
    if (r == BRIM_OK) r = read_deformed(c, s, (int)solids, path, error);
    if (r == BRIM_OK && any_streams(s)) r = read_streams(c, s, path, error);
    if (r == BRIM_OK && !solids_arrange(s))
        r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for solids", path);
    if (r == BRIM_OK) find_foreign(s);
    if (r == BRIM_OK && !s->warp && !find_surface(s))
        r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for the surface", path);
    if (r == BRIM_OK && s->warp) r = warp_surface(s, error);
    if (r == BRIM_OK && s->warp && (!warp_place(s) || !warp_open_cells(s)))
        r = fail(error, BRIM_ERROR_MEMORY, "%s: out of memory", path);
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
    if (r == BRIM_OK && has_band(*sim) && !(*sim)->primed)
        ((*sim)->warp ? warp_start_velocity : band_start_velocity)(
            *sim, def->liquid, (const Shape *const *)shapes, def->liquid_count);
    checkpoint_close(&c);
    sim_free_shapes(&shapes, def ? def->liquid_count : 0);
    if (r != BRIM_OK) brim_sim_destroy(sim);
    return r;
}
