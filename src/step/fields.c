// Allocation of the fields: all have the same number of tiles and grow together, but for those that
// only tiles near solids have, or near thin ones.
#include "base/memory.h"
#include "step/stages.h"
#include <stdlib.h>
#include <string.h>

/// Grows or shrinks one array from `before` to `after` tiles of `bytes` each; keeps the contents.
static bool grow(void *array, size_t bytes, size_t before, size_t after) {
    void **at = array;
    if (*at && before == after) return true;
    void *other = memory_new(after * bytes);
    if (!other) return false;
    if (*at) memcpy(other, *at, (before < after ? before : after) * bytes);
    free(*at);
    *at = other;
    return true;
}

/// Bytes a tile of the scratch in which the band finds distances: three masks, five flags.
static size_t band_marks(const BrimSim *s) {
    return 3 * (size_t)s->grid.tile_rows + 5;
}

/// Gives all fields room for `after` tiles.
static bool resize(BrimSim *s, size_t after) {
    size_t before = s->field_tiles;
    size_t cells = (size_t)s->grid.tile_cells * sizeof(float), rows = (size_t)s->grid.tile_rows;
    bool ok = true;
    float **fields[] = {&s->phi, &s->pressure, &s->rhs, &s->diagonal};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        ok = ok && grow(fields[i], cells, before, after);
    for (int a = 0; a < s->dim; a++) {
        ok = ok && grow(&s->velocity[a], cells, before, after);
        ok = ok && grow(&s->coefficient[a], cells, before, after);
        ok = ok && grow(&s->known[a], rows, before, after);
        if (s->def.transfer == BRIM_TRANSFER_FLIP || s->band)
            ok = ok && grow(&s->old[a], cells, before, after);
    }
    if (s->solid_count || s->solid_at) {
        bool first = !s->solid_at;
        ok = ok && grow(&s->tile_solid, 1, before, after);
        ok = ok && grow(&s->solid_at, sizeof *s->solid_at, before, after);
        uint8_t **masks[] = {&s->foreign, &s->rock,   &s->shut[0], &s->cut[0],
                             &s->shut[1], &s->cut[1], &s->shut[2], &s->cut[2]};
        for (int i = 0; i < 2 + 2 * s->dim; i++) {
            ok = ok && grow(masks[i], rows, before, after);
            if (ok && first) memset(*masks[i], 0, after * rows);
        }
        if (ok && first) memset(s->solid_at, 0, after * sizeof *s->solid_at);
    }
    if (s->band) {
        uint8_t **masks[] = {&s->interior, &s->hidden, &s->full, &s->below, &s->rigid};
        for (int i = 0; i < 5; i++) ok = ok && grow(masks[i], rows, before, after);
        ok = ok && grow(&s->traced, 1, before, after);
        ok = ok && grow(&s->reached, 1, before, after);
        ok = ok && grow(&s->marks, band_marks(s), before, after);
        ok = ok && grow(&s->deepest, sizeof *s->deepest, before, after);
        ok = ok && grow(&s->shallowest, sizeof *s->shallowest, before, after);
    }
    if (s->def.volume != BRIM_VOLUME_NONE) ok = ok && grow(&s->density, cells, before, after);
    if (s->def.volume == BRIM_VOLUME_DENSITY && s->solid_count)
        ok = ok && grow(&s->pushed, rows, before, after);
    ok = ok && grow(&s->liquid, rows, before, after);
    ok = ok && grow(&s->wet, 1, before, after);
    ok = ok && grow(&s->scatter_at, sizeof *s->scatter_at, before, after);
    ok = ok && grow(&s->scatter_rows, sizeof *s->scatter_rows, before, after);
    ok = ok && grow(&s->tile_speed, sizeof *s->tile_speed, before, after);
    ok = ok && grow(&s->tile_reach, 1, before, after);
    if (ok) s->field_tiles = after;
    return ok;
}

bool fields_reserve(BrimSim *s, size_t tiles) {
    return resize(s, memory_reserve(s->field_tiles, tiles));
}

void fields_release(BrimSim *s) {
    size_t tiles = (size_t)s->grid.tile_count, fewer = tiles + tiles / 16;
    work_release(&s->work);
    if (memory_spare(s->field_tiles, tiles)) {
        (void)resize(s, fewer); // what finds no room to move to stays larger than told
        s->field_tiles = fewer;
    }
    particles_release(&s->particles, &s->grid);
}

bool solid_fields_reserve(BrimSim *s, size_t tiles) {
    size_t before = s->solid_tiles, after = memory_reserve(before, tiles);
    size_t cells = (size_t)s->grid.tile_cells * sizeof(float);
    bool moving = false, ok = true;
    for (int i = 0; i < s->solid_count; i++) moving |= solid_moves(s->solids[i]);
    for (int a = 0; a < s->dim; a++) {
        ok = ok && grow(&s->open[a], cells, before, after);
        if (moving) ok = ok && grow(&s->wall_speed[a], cells, before, after);
    }
    ok = ok && grow(&s->solid_phi, cells, before, after);
    ok = ok && grow(&s->solid_volume, cells, before, after);
    if (s->def.volume != BRIM_VOLUME_NONE) ok = ok && grow(&s->solid_part, cells, before, after);
    if (s->def.volume == BRIM_VOLUME_DENSITY) {
        for (int a = 0; a < s->dim; a++) ok = ok && grow(&s->push[a], cells, before, after);
        ok = ok && grow(&s->push_depth, cells, before, after);
    }
    ok = ok && grow(&s->solid_from, sizeof *s->solid_from, before, after);
    ok = ok && grow(&s->fine_at, sizeof *s->fine_at, before, after);
    if (ok) s->solid_tiles = after;
    return ok;
}

bool fine_fields_reserve(BrimSim *s, size_t tiles) {
    size_t before = s->fine_tiles, after = memory_reserve(before, tiles);
    bool ok = grow(&s->solid_fine, fine_tile_nodes(s) * sizeof(float), before, after);
    ok = ok && grow(&s->fine_from, sizeof *s->fine_from, before, after);
    ok = ok && grow(&s->fine_slot, sizeof *s->fine_slot, before, after);
    if (!s->fine_block)
        s->fine_block = memory_new((size_t)s->threads_most * fine_block_nodes(s) * sizeof(float));
    ok = ok && s->fine_block;
    if (ok) s->fine_tiles = after;
    return ok;
}

void fields_free(BrimSim *s) {
    for (int a = 0; a < 3; a++) {
        free(s->velocity[a]);
        free(s->coefficient[a]);
        free(s->known[a]);
        free(s->old[a]);
        free(s->open[a]);
        free(s->shut[a]);
        free(s->cut[a]);
        free(s->wall_speed[a]);
        free(s->push[a]);
    }
    free(s->phi);
    free(s->pressure);
    free(s->rhs);
    free(s->diagonal);
    free(s->solid_phi);
    free(s->solid_part);
    free(s->solid_volume);
    free(s->tile_solid);
    free(s->solid_at);
    free(s->solid_from);
    free(s->fine_at);
    free(s->fine_from);
    free(s->fine_slot);
    free(s->solid_fine);
    free(s->fine_block);
    free(s->foreign);
    free(s->rock);
    free(s->interior);
    free(s->hidden);
    free(s->full);
    free(s->below);
    free(s->rigid);
    free(s->swallowed);
    free(s->traced);
    free(s->reached);
    free(s->marks);
    free(s->deepest);
    free(s->shallowest);
    free(s->density);
    free(s->push_depth);
    free(s->pushed);
    free(s->liquid);
    free(s->wet);
    free(s->scatter_at);
    free(s->scatter_rows);
    free(s->work.at);
    free(s->tile_speed);
    free(s->tile_reach);
}

static size_t solid_bytes_a_tile(const BrimSim *s) {
    size_t fields = 2 + (size_t)(s->dim * (s->wall_speed[0] ? 2 : 1)) + (s->solid_part ? 1 : 0);
    if (s->push_depth) fields += (size_t)s->dim + 1;
    return fields * (size_t)s->grid.tile_cells * sizeof(float) + sizeof *s->solid_from +
           sizeof *s->fine_at;
}

static size_t fine_bytes(const BrimSim *s) {
    size_t a_tile =
        fine_tile_nodes(s) * sizeof(float) + sizeof *s->fine_from + sizeof *s->fine_slot;
    size_t block = s->fine_block ? fine_block_nodes(s) * sizeof(float) : 0;
    return s->fine_tiles * a_tile + (size_t)s->threads_most * block;
}

size_t fields_bytes(const BrimSim *s) {
    size_t cells = (size_t)s->grid.tile_cells * sizeof(float), rows = (size_t)s->grid.tile_rows;
    size_t per_tile =
        4 * cells + rows + 10 + sizeof *s->scatter_rows; // phi, pressure, rhs, diagonal; liquid
    for (int a = 0; a < s->dim; a++) per_tile += 2 * cells + rows + (s->old[a] ? cells : 0);
    if (s->band) per_tile += 5 * rows + 10 + band_marks(s);
    if (s->solid_at) per_tile += 5 + (size_t)(2 * s->dim + 2) * rows;
    if (s->density) per_tile += cells;
    if (s->pushed) per_tile += rows;
    return s->field_tiles * per_tile + s->swallowed_capacity * sizeof *s->swallowed +
           s->solid_tiles * solid_bytes_a_tile(s) + fine_bytes(s) +
           s->work.capacity * sizeof(float);
}
