// Tiles: neighbours, blocks with their halo, masks, and that tiles follow the water.
#include "base/hash.h"
#include "cases.h"
#include "grid/block.h"
#include "grid/mask.h"
#include "sim.h"
#include "test.h"

/// A grid of 29 x 18 x 20 cells (2D: 29 x 18) on which some tiles are missing.
static bool patchy_grid(Grid *g, int dim, int missing) {
    const int cells[3] = {29, 18, dim == 3 ? 20 : 1};
    BrimError error;
    if (grid_init(g, dim, cells, &error) != BRIM_OK) return false;
    size_t box = grid_box(g);
    uint8_t *want = malloc(box);
    int32_t *from = malloc(box * sizeof *from);
    bool ok = want && from;
    for (size_t i = 0; i < box && ok; i++) want[i] = missing ? i % (size_t)missing != 0 : 1;
    ok = ok && grid_rebuild(g, want, from, NULL);
    free(want), free(from);
    return ok;
}

TEST(grid_neighbours_and_cells_agree) {
    for (int dim = 2; dim <= 3; dim++) {
        Grid g;
        CHECK(patchy_grid(&g, dim, 5));
        for (int t = 0; t < g.tile_count; t++) {
            TileCoord c = g.coord[t];
            CHECK(grid_slot(&g, c.x, c.y, c.z) == t);
            for (int n = 0; n < 27; n++)
                CHECK(g.neighbour[t][n] ==
                      grid_slot(&g, c.x + n % 3 - 1, c.y + n / 3 % 3 - 1, c.z + n / 9 - 1));
            for (int i = 0; i < g.tile_cells; i++) {
                int at[3] = {c.x * 8 + (i & 7), c.y * 8 + (i >> 3 & 7), c.z * 8 + (i >> 6)};
                CHECK(grid_cell(&g, at[0], at[1], at[2]) == (int64_t)t * g.tile_cells + i);
                for (int n = 0; n < 2 * dim; n++) {
                    int to[3] = {at[0], at[1], at[2]};
                    to[n >> 1] += n & 1 ? 1 : -1;
                    CHECK(grid_step(&g, t, i, n >> 1, n & 1 ? 1 : -1) ==
                          grid_cell(&g, to[0], to[1], to[2]));
                }
            }
        }
        grid_free(&g);
    }
}

TEST(grid_rebuild_tells_where_tiles_were) {
    Grid g;
    CHECK(patchy_grid(&g, 2, 4));
    size_t box = grid_box(&g);
    uint8_t want[64];
    int32_t from[64], before[64];
    CHECK(box <= 64);
    memcpy(before, g.slot_of, box * sizeof *before);
    for (size_t i = 0; i < box; i++) want[i] = i % 3 != 1;
    CHECK(grid_rebuild(&g, want, from, NULL));
    int slot = 0;
    for (size_t i = 0; i < box; i++) {
        CHECK(g.slot_of[i] == (want[i] ? slot : -1));
        if (want[i]) CHECK(from[slot++] == before[i]);
    }
    CHECK(slot == g.tile_count);
    grid_free(&g);
}

/// What a block should hold at a place given in cells of the domain: block.h in one function.
static float expected(const Grid *g, const float *field, Place place, const Sides *sides,
                      const int where[3], float missing) {
    int at[3] = {where[0], where[1], where[2]};
    for (int a = 0; a < g->dim; a++) {
        int last = g->cells[a] - 1;
        if ((int)place == a && !sides->open[2 * a + 1]) last++; // the wall's own face
        if (place == PLACE_NODE) last = g->tiles[a] * TILE - 1;
        at[a] = at[a] < 0 ? 0 : at[a] > last ? last : at[a];
    }
    int64_t i = grid_cell(g, at[0], at[1], at[2]);
    return i < 0 ? missing : field[i];
}

TEST(blocks_hold_the_tile_and_its_halo) {
    for (int dim = 2; dim <= 3; dim++)
        for (int variant = 0; variant < 4; variant++) {
            Grid g;
            CHECK(patchy_grid(&g, dim, variant & 1 ? 5 : 0));
            Sides sides = {{variant & 2, variant & 2, false, variant & 2, false, variant & 2}};
            size_t cells = (size_t)(g.tile_count * g.tile_cells);
            float *field = malloc(cells * sizeof *field),
                  *block = malloc(BLOCK_MAX * sizeof *block);
            for (size_t i = 0; i < cells; i++) field[i] = hash_unit(hash_mix(i), 0);
            int wrong = 0;
            for (int place = 0; place < 4; place++)
                for (int halo = 1; halo <= BLOCK_HALO_MAX; halo += 7 - (halo > 1))
                    for (int t = 0; t < g.tile_count; t++) {
                        if ((Place)place == PLACE_FACE_Z && dim == 2) continue;
                        block_load(&g, t, field, (Place)place, &sides, halo, -7, block);
                        int edge = block_edge(halo), n = edge * edge * block_depth(&g, halo);
                        for (int i = 0; i < n; i++) {
                            TileCoord c = g.coord[t];
                            int at[3] = {c.x * 8 + i % edge - halo,
                                         c.y * 8 + i / edge % edge - halo,
                                         dim == 3 ? c.z * 8 + i / (edge * edge) - halo : 0};
                            wrong += block[i] != expected(&g, field, (Place)place, &sides, at, -7);
                        }
                    }
            free(field), free(block), grid_free(&g);
            CHECK(wrong == 0);
        }
}

TEST(masks_shift_and_mark_sides) {
    for (int dim = 2; dim <= 3; dim++) {
        Grid g;
        CHECK(patchy_grid(&g, dim, 6));
        size_t rows = (size_t)(g.tile_count * g.tile_rows);
        uint8_t *mask = malloc(rows);
        for (size_t i = 0; i < rows; i++) mask[i] = (uint8_t)hash_mix(i);
        int wrong = 0;
        for (int t = 0; t < g.tile_count; t++)
            for (int n = 0; n < 2 * dim; n++) {
                int axis = n >> 1, direction = n & 1 ? 1 : -1;
                TileMask next = mask_neighbour(&g, mask, t, axis, direction);
                TileMask side = mask_side(&g, t, axis, direction), inside = mask_inside(&g, t);
                for (int i = 0; i < g.tile_cells; i++) {
                    int64_t to = grid_step(&g, t, i, axis, direction);
                    TileCoord c = g.coord[t];
                    int at[3] = {c.x * 8 + (i & 7), c.y * 8 + (i >> 3 & 7), c.z * 8 + (i >> 6)};
                    bool in = at[0] < g.cells[0] && at[1] < g.cells[1] && at[2] < g.cells[2];
                    bool bit = to >= 0 && (mask[to >> 3] >> (to & 7) & 1);
                    bool edge = at[axis] == (direction < 0 ? 0 : g.cells[axis] - 1);
                    wrong += (next.slice[i >> 6] >> (i & 63) & 1) != bit;
                    wrong += (inside.slice[i >> 6] >> (i & 63) & 1) != in;
                    wrong += (side.slice[i >> 6] >> (i & 63) & 1) != edge;
                }
            }
        free(mask), grid_free(&g);
        CHECK(wrong == 0);
    }
}

// ------------------------------------------------------------------------ tiles and the water

/// The same drop of water on the floor of a box `times` as large.
static Case drop_in_box(int dim, int times) {
    Case c = case_box(dim, times, 32 * times, 32 * times, dim == 3 ? 32 * times : 1);
    float lift = 0.5f;
    case_liquid(&c, box_between((BrimVec3){0.3f, lift, 0.3f}, (BrimVec3){0.6f, lift + 0.2f, 0.6f}));
    c.def.step = 0.01;
    return c;
}

TEST(tiles_follow_the_water_not_the_box) {
    for (int dim = 2; dim <= 3; dim++) {
        int64_t tiles[2], bytes[2];
        for (int k = 0; k < 2; k++) {
            Case c = drop_in_box(dim, k ? 4 : 2);
            BrimSim *s;
            BrimError error;
            CHECK_OK(case_create(&c, &s, &error), error);
            for (int i = 0; i < 5; i++) CHECK_OK(brim_sim_step(s, &error), error);
            tiles[k] = brim_sim_stats(s)->tiles;
            bytes[k] = brim_sim_stats(s)->memory_bytes;
            CHECK_BELOW((double)tiles[k], 0.5 * (double)grid_box(&s->grid));
            brim_sim_destroy(&s);
        }
        CHECK(tiles[0] == tiles[1]);
        CHECK_BELOW((double)bytes[1], 1.05 * (double)bytes[0]);
    }
}

TEST(memory_of_water_that_left_is_given_back) {
    for (int width = 0; width <= 3; width += 3) {
        Case c = case_box(3, 1, 48, 48, 48);
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.5f, 1}));
        c.def.drain_count = 1;
        c.drains[0] = brim_default_drain_def();
        c.drains[0].shape = box_between((BrimVec3){0.2f, 0, 0}, (BrimVec3){1, 0.6f, 1});
        c.drains[0].start = 0.02, c.drains[0].stop = 0.05;
        c.def.step = 0.01;
        c.def.band_width = width;
        BrimSim *s;
        BrimError error;
        CHECK_OK(case_create(&c, &s, &error), error);
        int64_t most = 0;
        for (int i = 0; i < 10; i++) {
            CHECK_OK(brim_sim_step(s, &error), error);
            if (brim_sim_stats(s)->memory_bytes > most) most = brim_sim_stats(s)->memory_bytes;
        }
        CHECK_BELOW((double)brim_sim_stats(s)->memory_bytes, 0.6 * (double)most);
        CHECK_BELOW((double)brim_sim_stats(s)->tiles, 0.6 * (double)grid_box(&s->grid));
        brim_sim_destroy(&s);
    }
}

TEST(tiles_that_dry_are_freed) {
    Case c = case_box(2, 2, 128, 128, 1);
    case_liquid(&c, box_between((BrimVec3){0.2f, 1.4f, 0}, (BrimVec3){0.6f, 1.8f, 0}));
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.liquid[0].velocity = (BrimVec3){2, -2, 0};
    c.def.step = 0.01;
    BrimSim *s;
    BrimError error;
    CHECK_OK(case_create(&c, &s, &error), error);
    int64_t most = 0, first = 0;
    for (int i = 0; i < 50; i++) {
        CHECK_OK(brim_sim_step(s, &error), error);
        if (i == 0) first = brim_sim_stats(s)->tiles;
        if (brim_sim_stats(s)->tiles > most) most = brim_sim_stats(s)->tiles;
    }
    CHECK(most <= first + first / 2);
    CHECK(grid_cell(&s->grid, 16, 100, 0) < 0);     // where it was
    for (size_t i = 0; i < s->particles.count; i++) // every particle has its tile
        CHECK(grid_cell(&s->grid, (int)(s->particles.attr[ATTR_X][i] * s->inv_dx),
                        (int)(s->particles.attr[ATTR_Y][i] * s->inv_dx), 0) >= 0);
    brim_sim_destroy(&s);
}

TEST(grid_refuses_a_box_too_large_for_keys) {
    Grid g;
    BrimError error;
    const int cells[3] = {4000, 4000, 4000};
    CHECK(grid_init(&g, 3, cells, &error) == BRIM_ERROR_MEMORY);
    grid_free(&g);
}
