// Memory of the fields: all of a kind have the same number of tiles and grow together.
#include "step/fields.h"
#include "base/memory.h"
#include "step/guard.h"
#include "step/state.h"
#include <stdlib.h>
#include <string.h>

#define ROW(NAME, TYPE, PARTS, SHAPE, WHERE, WHEN, LIFE, KEEP, UNIT, MEANING) \
    {#NAME,         offsetof(BrimSim, NAME),                                  \
     sizeof(TYPE),  PARTS,                                                    \
     SHAPE_##SHAPE, WHERE_##WHERE,                                            \
     WHEN_##WHEN,   LIFE,                                                     \
     KEEP_##KEEP,   UNIT,                                                     \
     MEANING},
const FieldRow field_rows[FIELD_COUNT] = {FIELD_TABLE(ROW)};

// ------------------------------------------------------------------------------------- the plan

/// Whether a simulation has a field, now or, as solids may come later, some day.
static bool is_wanted(const BrimSim *s, const FieldRow *row, bool some_day) {
    bool solids = some_day || s->walls.solid_count > 0, moving = some_day;
    bool volume = s->def.volume != BRIM_VOLUME_NONE;
    bool density = s->def.volume == BRIM_VOLUME_DENSITY;
    switch (row->when) {
    case WHEN_ALWAYS:
        return true;
    case WHEN_OLD:
        return s->def.transfer == BRIM_TRANSFER_FLIP || has_band(s);
    case WHEN_SOLIDS:
        return solids;
    case WHEN_MOVING:
        for (int i = 0; i < s->walls.solid_count; i++) moving |= solid_moves(s->walls.solids[i]);
        return moving;
    case WHEN_BAND:
        return has_band(s);
    case WHEN_RIGID:
        return has_band(s) || particles_carry(&s->particles, ROW_MASS);
    case WHEN_BAND_WEIGHT:
        return has_band(s) && s->def.band_combine == BRIM_BAND_DENSITY;
    case WHEN_VOLUME:
        return volume;
    case WHEN_ERROR:
        return volume && !density && s->def.volume != BRIM_VOLUME_CONTROL;
    case WHEN_KEPT:
        return solids && volume;
    case WHEN_DENSITY:
        return density;
    case WHEN_PUSH:
        return solids && density;
    case WHEN_TENSION:
        return s->def.surface_tension > 0;
    case WHEN_VISCOSITY:
        return s->def.viscosity > 0;
    case WHEN_FRICTION:
        return has_friction(s);
    case WHEN_WARP:
        return s->def.warp > 0 || s->def.nodal;
    case WHEN_WARP_BAND:
        return (s->def.warp > 0 || s->def.nodal) && has_band(s);
    case WHEN_TRACKING:
        return s->tracking.kernels;
    case WHEN_MPM:
        return has_mpm(s);
    case WHEN_READ:
        return (s->gauge_count > 0 || s->def.output.fields) && !s->warp;
    case WHEN_SPRAY:
        return has_spray(s);
    case WHEN_MATERIAL:
        return particles_carry(&s->particles, ROW_MASS);
    }
    return false;
}

static size_t bytes_a_tile(const BrimSim *s, const FieldRow *row) {
    switch (row->shape) {
    case SHAPE_CELL:
        return row->value * (size_t)s->grid.tile_cells;
    case SHAPE_ROW:
        return row->value * (size_t)s->grid.tile_rows;
    case SHAPE_NODES:
        return row->value * fine_tile_nodes(s);
    case SHAPE_TILE:
        break;
    }
    return row->value;
}

int field_parts(const BrimSim *s, const FieldRow *row) {
    return row->parts == 1 ? 1 : s->dim;
}

size_t field_bytes(const BrimSim *s, const FieldRow *row) {
    return bytes_a_tile(s, row) * (size_t)s->grid.tile_count;
}

/// Whether a field is in memory of others.
static bool is_lent(const FieldRow *row) {
    return row->where == WHERE_WORK || row->where == WHERE_SYSTEM;
}

/// A buffer that a field with such a life can share; a new one if there is none. Under guard what
/// would be lent has a buffer, too.
static int find_buffer(FieldMemory *m, const FieldRow *row, size_t a_tile) {
    for (int b = 0; b < m->buffers && GUARD_SHARES; b++)
        if (m->buffer[b].where == row->where && m->buffer[b].a_tile == a_tile &&
            !(m->buffer[b].lives & row->life))
            return b;
    FieldWhere where = is_lent(row) ? WHERE_ALL : row->where;
    m->buffer[m->buffers] = (FieldBuffer){.a_tile = a_tile, .where = where};
    return m->buffers++;
}

/// Where work memory has a place for a field: behind those before it in the table that live when
/// it does.
static int work_place(const BrimSim *s, int field) {
    int place = 0;
    for (int f = 0; f < field; f++) {
        const FieldRow *row = &field_rows[f];
        if (row->where != WHERE_WORK || !(row->life & field_rows[field].life)) continue;
        int end = s->memory.work[f] + field_parts(s, row);
        if (is_wanted(s, row, true) && end > place) place = end;
    }
    return place;
}

void fields_plan(BrimSim *s) {
    FieldMemory *m = &s->memory;
    for (int f = 0; f < FIELD_COUNT; f++) {
        const FieldRow *row = &field_rows[f];
        m->of[f][0] = m->of[f][1] = m->of[f][2] = -1;
        if (!is_wanted(s, row, true)) continue;
        if (row->where == WHERE_WORK) m->work[f] = (int16_t)work_place(s, f);
        if (is_lent(row) && GUARD_SHARES) continue;
        for (int part = 0; part < field_parts(s, row); part++) {
            int b = find_buffer(m, row, bytes_a_tile(s, row));
            m->buffer[b].lives |= row->life;
            m->of[f][part] = (int16_t)b;
        }
    }
}

// ---------------------------------------------------------------------------------- allocation

static void **member(const BrimSim *s, int field, int part) {
    return (void **)(void *)((char *)(uintptr_t)s + field_rows[field].offset) + part;
}

void *field_memory(const BrimSim *s, int field, int part) {
    return *member(s, field, part);
}

/// Members of the state point to their buffers; those of fields that are not there stay NULL.
static void point(BrimSim *s) {
    FieldMemory *m = &s->memory;
    for (int f = 0; f < FIELD_COUNT; f++)
        for (int part = 0; part < 3; part++) {
            void **at = member(s, f, part < field_rows[f].parts ? part : 0);
            if (m->of[f][part] < 0 || !(*at || is_wanted(s, &field_rows[f], false))) continue;
            *at = m->buffer[m->of[f][part]].at;
        }
}

/// Whether one of the fields in a buffer is there, or shall be.
static bool buffer_wanted(const BrimSim *s, int buffer) {
    const FieldMemory *m = &s->memory;
    if (m->buffer[buffer].at) return true;
    for (int f = 0; f < FIELD_COUNT; f++)
        for (int part = 0; part < 3; part++)
            if (m->of[f][part] == buffer && is_wanted(s, &field_rows[f], false)) return true;
    return false;
}

/// Gives a buffer room for so many tiles. What is dead in this stage is not kept, and needs no room
/// for two. Without memory it stays as it was, or is gone.
static bool resize_buffer(const BrimSim *s, FieldBuffer *b, size_t tiles) {
    bool first = !b->at, keep = !first && b->lives >> s->stage & 1, grows = tiles > b->tiles;
    if (!first && b->tiles == tiles) return true;
    if (!first && !keep && grows) guard_free(b->at), b->at = NULL;
    void *other = guard_new(tiles * b->a_tile);
    if (!other) return false;
    if (first) memset(other, 0, tiles * b->a_tile);
    if (keep) memcpy(other, b->at, (grows ? b->tiles : tiles) * b->a_tile);
    guard_free(b->at);
    b->at = other;
    b->tiles = tiles;
    return true;
}

static bool resize(BrimSim *s, FieldWhere where, size_t tiles) {
    FieldMemory *m = &s->memory;
    bool ok = true;
    guard_open(s);
    for (int b = 0; b < m->buffers && ok; b++)
        if (m->buffer[b].where == where && buffer_wanted(s, b))
            ok = resize_buffer(s, &m->buffer[b], tiles);
    point(s);
    if (ok) m->tiles[where] = tiles;
    guard_close(s);
    return ok;
}

bool fields_reserve(BrimSim *s, FieldWhere where, size_t tiles) {
    return resize(s, where, memory_reserve(s->memory.tiles[where], tiles));
}

bool fields_take(BrimSim *s, int field) {
    const FieldRow *row = &field_rows[field];
    const size_t cells = sim_cells(s);
    if (!GUARD_SHARES) return true;
    int most = 0; // parts of all that live in this stage: what is taken now must stay
    for (int f = 0; f < FIELD_COUNT; f++) {
        const FieldRow *other = &field_rows[f];
        if (other->where != WHERE_WORK || !(other->life >> s->stage & 1)) continue;
        int end = s->memory.work[f] + field_parts(s, other);
        if (is_wanted(s, other, false) && end > most) most = end;
    }
    if (!work_fit(&s->work, (size_t)most * cells)) return false;
    for (int part = 0; part < field_parts(s, row); part++)
        *member(s, field, part) = s->work.at + (size_t)(s->memory.work[field] + part) * cells;
    return true;
}

/// Tiles of a kind.
static size_t tiles_of(const BrimSim *s, FieldWhere where) {
    const int32_t *at = where == WHERE_WET ? s->wet_at : s->solid_at;
    int32_t most = 0;
    if (where == WHERE_ALL) return (size_t)s->grid.tile_count;
    if (where == WHERE_FINE) return (size_t)s->walls.fine_count;
    if (where == WHERE_PUSHED) return (size_t)s->volume.pushed_tiles;
    for (int t = 0; t < s->grid.tile_count && at; t++)
        if (at[t] > most) most = at[t]; // places count up
    return (size_t)most;
}

void fields_release(BrimSim *s) {
    work_release(&s->work);
    for (int where = 0; where < WHERE_WORK; where++) {
        size_t tiles = tiles_of(s, (FieldWhere)where), fewer = tiles + tiles / 16;
        if (!memory_spare(s->memory.tiles[where], tiles)) continue;
        (void)resize(s, (FieldWhere)where, fewer); // what finds no room to move to stays larger
        s->memory.tiles[where] = fewer;
    }
    particles_release(&s->particles, &s->grid);
    poisson_release(s->projection.poisson);
    for (int a = 0; a < 3; a++)
        if (s->viscosity.component[a]) poisson_release(s->viscosity.component[a]);
}

void fields_free(BrimSim *s) {
    for (int b = 0; b < s->memory.buffers; b++) guard_free(s->memory.buffer[b].at);
    s->memory.buffers = 0;
    free(s->walls.fine_block);
    free(s->band.swallowed);
    free(s->work.at);
}

size_t fields_bytes(const BrimSim *s) {
    size_t bytes =
        s->band.swallowed_capacity * sizeof *s->band.swallowed + s->work.capacity * sizeof(float);
    if (s->walls.fine_block) bytes += (size_t)s->threads_most * fine_block_nodes(s) * sizeof(float);
    for (int b = 0; b < s->memory.buffers; b++)
        if (s->memory.buffer[b].at) bytes += s->memory.buffer[b].tiles * s->memory.buffer[b].a_tile;
    return bytes;
}

/// Of so many tiles in three it is said that solids are near, where there are solids.
enum { NEAR_IN_THREE = 2 };

size_t fields_bytes_a_tile(const BrimSim *s) {
    size_t everywhere = 0, near_solids = 0;
    for (int b = 0; b < s->memory.buffers; b++) {
        const FieldBuffer *buffer = &s->memory.buffer[b];
        if (!buffer_wanted(s, b)) continue;
        if (buffer->where == WHERE_ALL || buffer->where == WHERE_WET) // all may be wet
            everywhere += buffer->a_tile;
        else if (buffer->where == WHERE_SOLIDS || buffer->where == WHERE_PUSHED)
            near_solids += buffer->a_tile;
    }
    if (!s->walls.solid_count) near_solids = 0; // those that bodies may bring are not counted
    return everywhere + near_solids * NEAR_IN_THREE / 3;
}

// ---------------------------------------------------------------------------------- moving about

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

/// Buffers that a team moves.
typedef struct Following {
    FieldBuffer *buffer[FIELD_BUFFERS];
    const void *source[FIELD_BUFFERS]; ///< what was in it; NULL: moved in place
    int buffers;
    const int32_t *from;
    int count;
    uint8_t *through; ///< work memory that a buffer takes on its way, or NULL
} Following;

enum {
    FOLLOW_PART = 16,   ///< tiles
    FOLLOW_LARGE = 512, ///< bytes of a tile: less is moved in place
};

/// Moves some tiles of each buffer that came from another place in memory.
static void follow_part(void *context, int part, int thread) {
    const Following *f = context;
    int first = part * FOLLOW_PART, end = first + FOLLOW_PART;
    if (end > f->count) end = f->count;
    for (int b = 0; b < f->buffers; b++) {
        if (!f->source[b]) continue;
        size_t bytes = f->buffer[b]->a_tile;
        uint8_t *to = f->buffer[b]->at;
        const uint8_t *source = f->source[b];
        for (int i = first; i < end; i++)
            if (f->from[i] >= 0)
                memcpy(to + (size_t)i * bytes, source + (size_t)f->from[i] * bytes, bytes);
            else
                memset(to + (size_t)i * bytes, 0, bytes);
    }
}

/// The same for the first buffer on its way to work memory, and back.
static void follow_out(void *context, int part, int thread) {
    const Following *f = context;
    FieldBuffer there = *f->buffer[0];
    there.at = f->through;
    Following out = {{&there}, {f->buffer[0]->at}, 1, f->from, f->count, NULL};
    follow_part(&out, part, thread);
}

static void follow_back(void *context, int part, int thread) {
    const Following *f = context;
    size_t bytes = f->buffer[0]->a_tile, first = (size_t)part * FOLLOW_PART * bytes;
    size_t all = (size_t)f->count * bytes, size = FOLLOW_PART * bytes;
    if (first + size > all) size = all - first;
    memcpy((uint8_t *)f->buffer[0]->at + first, f->through + first, size);
}

/// A buffer moves through work memory, which nobody uses before a system is built.
static void follow_through(BrimSim *s, const Following *all, int index) {
    const FieldBuffer *b = all->buffer[index];
    int parts = team_parts((size_t)all->count, FOLLOW_PART);
    Following f = {{all->buffer[index]}, {NULL}, 1, all->from, all->count, NULL};
    if (b->a_tile < FOLLOW_LARGE || parts < 2 ||
        !work_fit(&s->work, (size_t)all->count * b->a_tile / sizeof(float))) {
        follow(b->at, b->a_tile, all->from, all->count);
        return;
    }
    f.through = (uint8_t *)s->work.at;
    team_for(s->team, parts, 2, follow_out, &f);
    team_for(s->team, parts, 2, follow_back, &f);
}

static void follow_buffer(void *context, int index, int thread) {
    const Following *f = context;
    if (!f->source[index])
        follow(f->buffer[index]->at, f->buffer[index]->a_tile, f->from, f->count);
}

/// A buffer moves fastest into another one, which nothing needs in this stage: the two change
/// places. Without one it stays in place, and one thread moves it.
static void add_following(BrimSim *s, Following *f, int buffer, bool used[FIELD_BUFFERS]) {
    FieldMemory *m = &s->memory;
    FieldBuffer *b = &m->buffer[buffer];
    f->source[f->buffers] = NULL;
    for (int i = 0; i < m->buffers && b->a_tile >= FOLLOW_LARGE && GUARD_SHARES; i++) {
        FieldBuffer *dead = &m->buffer[i];
        if (used[i] || !dead->at || dead->where != b->where || dead->a_tile != b->a_tile ||
            dead->tiles != b->tiles || dead->lives >> s->stage & 1)
            continue;
        void *at = b->at;
        f->source[f->buffers] = at;
        b->at = dead->at, dead->at = at;
        used[i] = true;
        break;
    }
    f->buffer[f->buffers++] = b;
}

void fields_follow(BrimSim *s, FieldWhere where, const int32_t *from, int count) {
    FieldMemory *m = &s->memory;
    Following f = {.from = from, .count = count};
    bool moves[FIELD_BUFFERS] = {false}, used[FIELD_BUFFERS];
    for (int i = 0; i < FIELD_COUNT; i++) {
        const FieldRow *row = &field_rows[i];
        if (row->where != where || !(row->life & ONLY(SORT)) || row->keep == KEEP_HERE) continue;
        for (int part = 0; part < field_parts(s, row); part++)
            if (m->of[i][part] >= 0 && field_memory(s, i, part)) moves[m->of[i][part]] = true;
    }
    memcpy(used, moves, sizeof used);
    for (int b = 0; b < m->buffers; b++)
        if (moves[b]) add_following(s, &f, b, used);
    if (where == WHERE_WET) { // one at a time
        for (int b = 0; b < f.buffers; b++)
            if (!f.source[b]) follow_through(s, &f, b);
    } else
        team_for(s->team, f.buffers, 1, follow_buffer, &f);
    team_for(s->team, team_parts((size_t)count, FOLLOW_PART), 2, follow_part, &f);
    point(s);
}

void fields_swap(BrimSim *s, int a, int b) {
    FieldMemory *m = &s->memory;
    for (int part = 0; part < field_parts(s, &field_rows[a]); part++) {
        FieldBuffer *first = &m->buffer[m->of[a][part]], *second = &m->buffer[m->of[b][part]];
        void *at = first->at;
        size_t tiles = first->tiles;
        first->at = second->at, first->tiles = second->tiles;
        second->at = at, second->tiles = tiles;
    }
    point(s);
}
