// The sort of particles into tiles and cells, against a plain one; seeding.
#include "base/hash.h"
#include "particles/seed.h"
#include "particles/sort.h"
#include "step/stages.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { COUNT = 20000, ROUNDS = 4, REACH = 3 };

typedef struct World {
    Grid grid;
    Particles particles;
    SortScratch sort;
    uint8_t reach[200]; ///< of tiles; more than the box has
} World;

static bool world_init(World *w, int dim) {
    const int cells[3] = {50, 41, dim == 3 ? 22 : 1};
    BrimError error;
    *w = (World){.particles.carries = attributes_wanted(0, 0)};
    return grid_init(&w->grid, dim, cells, &error) == BRIM_OK &&
           sort_init(&w->sort, &w->grid, isa_choose(BRIM_ISA_AUTO)) &&
           particles_reserve(&w->particles, COUNT);
}

static void world_free(World *w) {
    grid_free(&w->grid);
    particles_free(&w->particles);
    sort_free(&w->sort);
}

static float unit(uint32_t id, int round, int axis) {
    return hash_unit(hash_3((uint64_t)axis, id, (uint64_t)round), 0);
}

/// Particles wander about a corner of the box that moves with the rounds: a function of id and
/// round, so that every thread count sees the same. A few go.
static void wander(World *w, int round) {
    Particles *p = &w->particles;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t id = particle_words(p, ATTR_ID)[i];
        float at[3] = {0};
        for (int a = 0; a < w->grid.dim; a++) {
            float extent = (float)w->grid.cells[a];
            bool stays = hash_3(9, id, (uint64_t)round) % 4; // most move a little, some far
            float home = extent * (0.1f + 0.1f * (float)round + 0.4f * unit(id, 0, a));
            at[a] = stays ? home + 2 * unit(id, round, a) : extent * 0.9f * unit(id, round, a + 3);
            p->attr[ATTR_X + a][i] = at[a];
        }
        uint64_t fate = hash_3(33, id, (uint64_t)round) % 100;
        p->key[i] = fate == 0   ? KEY_DRAINED
                    : fate == 1 ? KEY_LEFT
                                : cell_key(&w->grid, (Space){1, 1}, at[0], at[1], at[2]);
    }
}

static void append(World *w, uint32_t first, uint32_t count) {
    Particles *p = &w->particles;
    for (uint32_t k = 0; k < count; k++) {
        size_t i = p->count++;
        for (int a = 0; a < ATTR_MAX; a++)
            if (p->attr[a]) p->attr[a][i] = 0;
        p->attr[ATTR_VX][i] = (float)(first + k); // belongs to its id
        particle_words(p, ATTR_ID)[i] = first + k;
    }
}

/// Whether all is as the sort promises.
static bool sorted_right(const World *w) {
    const Particles *p = &w->particles;
    const Grid *g = &w->grid;
    for (int t = 0; t < g->tile_count; t++) {
        TileCoord c = g->coord[t];
        const uint32_t *start = cell_starts(p, g, t);
        if (tile_holds(p, t) &&
            (start[0] != tile_first(p, t) || start[g->tile_cells] != tile_end(p, t)))
            return false;
        for (int i = 0; i < g->tile_cells; i++) {
            size_t cell = (size_t)t * (size_t)g->tile_cells + (size_t)i;
            uint32_t box = (uint32_t)grid_box_index(g, c.x, c.y, c.z);
            bool occupied = p->occupied[cell >> 3] >> (cell & 7) & 1;
            if (occupied != (start[i] != start[i + 1])) return false;
            for (uint32_t k = start[i]; k < start[i + 1]; k++) {
                uint32_t key = cell_key(g, (Space){1, 1}, p->attr[ATTR_X][k], p->attr[ATTR_Y][k],
                                        p->attr[ATTR_Z][k]);
                if (key != box * (uint32_t)g->tile_cells + (uint32_t)i) return false;
                if (p->attr[ATTR_VX][k] != (float)particle_words(p, ATTR_ID)[k]) return false;
            }
        }
    }
    return p->tile_start[g->tile_count] == p->count && p->sorted == p->count;
}

/// Tiles exist where a particle is within reach, and nowhere else.
static bool tiles_right(const World *w) {
    const Particles *p = &w->particles;
    const Grid *g = &w->grid;
    uint8_t *want = calloc(grid_box(g), 1);
    bool right = want != NULL;
    for (size_t i = 0; i < p->count && right; i++) {
        int low[3] = {0}, high[3] = {0};
        for (int a = 0; a < g->dim; a++) {
            int cell = (int)p->attr[ATTR_X + a][i];
            low[a] = cell - REACH < 0 ? 0 : (cell - REACH) >> 3;
            high[a] = (cell + REACH) >> 3 < g->tiles[a] ? (cell + REACH) >> 3 : g->tiles[a] - 1;
        }
        for (int z = low[2]; z <= high[2]; z++)
            for (int y = low[1]; y <= high[1]; y++)
                for (int x = low[0]; x <= high[0]; x++) want[grid_box_index(g, x, y, z)] = 1;
    }
    for (size_t i = 0; i < grid_box(g) && right; i++) right = (g->slot_of[i] >= 0) == want[i];
    free(want);
    return right;
}

typedef struct Ledger {
    size_t drained, left, present;
} Ledger;

/// What the counts must be after a round: each particle's fate is a function of its id.
static Ledger plain_count(uint32_t ids, int rounds) {
    Ledger l = {0};
    for (uint32_t id = 0; id < ids; id++) {
        bool here = true;
        for (int r = id < COUNT / 2 ? 0 : 2; r <= rounds && here; r++) {
            uint64_t fate = hash_3(33, id, (uint64_t)r) % 100;
            l.drained += fate == 0, l.left += fate == 1;
            here = fate > 1;
        }
        l.present += here;
    }
    return l;
}

static uint64_t world_hash(const World *w) {
    const Particles *p = &w->particles;
    uint64_t h = hash_bytes(0, particle_words(p, ATTR_ID), p->count * 4);
    for (int a = 0; a < ATTR_AFFINE; a++) h = hash_bytes(h, p->attr[a], p->count * 4);
    return hash_bytes(h, w->grid.slot_of, grid_box(&w->grid) * 4);
}

TEST(sort_is_right_and_the_same_for_any_thread_count) {
    static const int threads[] = {1, 2, 3, 8};
    for (int dim = 2; dim <= 3; dim++) {
        uint64_t expected = 0;
        for (int k = 0; k < 4; k++) {
            World w;
            Team *team = team_new(threads[k]);
            CHECK(world_init(&w, dim));
            append(&w, 0, COUNT / 2);
            Ledger sum = {0};
            for (int round = 0; round < ROUNDS; round++) {
                if (round == 2) append(&w, COUNT / 2, COUNT / 2); // into the unsorted tail
                wander(&w, round);
                SortCounts gone;
                CHECK(particles_sort(&w.particles, &w.grid, &w.sort, w.reach, REACH, team, &gone));
                sort_take_reach(&w.sort, &w.grid, w.reach);
                sum.drained += gone.drained, sum.left += gone.left;
                Ledger plain = plain_count(round < 2 ? COUNT / 2 : COUNT, round);
                CHECK(sum.drained == plain.drained && sum.left == plain.left);
                CHECK(w.particles.count == plain.present);
                CHECK(sorted_right(&w));
                CHECK(tiles_right(&w));
            }
            uint64_t h = world_hash(&w);
            if (k == 0) expected = h;
            CHECK(h == expected);
            world_free(&w);
            team_free(&team);
        }
    }
}

TEST(sort_keeps_the_order_within_a_cell) {
    World w;
    CHECK(world_init(&w, 2));
    append(&w, 0, 1000);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < w.particles.count; i++) { // all in four cells of one tile
            uint32_t id = particle_words(&w.particles, ATTR_ID)[i];
            w.particles.attr[ATTR_X][i] = 8.5f + (float)(id % 2);
            w.particles.attr[ATTR_Y][i] = 8.5f + (float)(id / 2 % 2);
            w.particles.key[i] = cell_key(&w.grid, (Space){1, 1}, w.particles.attr[ATTR_X][i],
                                          w.particles.attr[ATTR_Y][i], 0);
        }
        SortCounts gone;
        CHECK(particles_sort(&w.particles, &w.grid, &w.sort, w.reach, 1, NULL, &gone));
        for (size_t i = 1; i < w.particles.count; i++)
            if (particle_words(&w.particles, ATTR_ID)[i] % 4 ==
                particle_words(&w.particles, ATTR_ID)[i - 1] % 4)
                CHECK(particle_words(&w.particles, ATTR_ID)[i] >
                      particle_words(&w.particles, ATTR_ID)[i - 1]);
    }
    world_free(&w);
}

TEST(sort_of_nothing) {
    World w;
    CHECK(world_init(&w, 3));
    SortCounts gone;
    CHECK(particles_sort(&w.particles, &w.grid, &w.sort, w.reach, 2, NULL, &gone));
    CHECK(w.grid.tile_count == 0 && w.particles.count == 0);
    append(&w, 0, 10);
    for (int i = 0; i < 10; i++) w.particles.key[i] = i % 2 ? KEY_LEFT : KEY_DRAINED;
    CHECK(particles_sort(&w.particles, &w.grid, &w.sort, w.reach, 2, NULL, &gone));
    CHECK(gone.left == 5 && gone.drained == 5 && w.particles.count == 0 && w.grid.tile_count == 0);
    world_free(&w);
}

typedef struct Points {
    int count, outside;
    double sum[3];
} Points;

static bool take_points(void *context, const SeedBatch *batch) {
    Points *p = context;
    for (int i = 0; i < batch->count; i++) {
        p->count++;
        p->sum[0] += batch->x[i], p->sum[1] += batch->y[i], p->sum[2] += batch->z[i];
        p->outside +=
            batch->x[i] < 0.5f || batch->x[i] > 1.5f || batch->y[i] < 0.25f || batch->y[i] > 0.75f;
    }
    return true;
}

TEST(seed_lattice_fills_a_box) {
    CHECK(seed_per_axis(3, 8) == 2 && seed_per_axis(2, 9) == 3 && seed_per_axis(3, 27) == 3 &&
          seed_per_axis(2, 1) == 1);
    const float low[3] = {0.5f, 0.25f, 0}, high[3] = {1.5f, 0.75f, 0.5f}, none[3] = {0};
    Points p = {0};
    CHECK(seed_lattice(3, 0.05f, none, low, high, take_points, &p));
    CHECK(p.count == 20 * 10 * 10 && p.outside == 0);
    CHECK_NEAR(p.sum[0] / p.count, 1, 1e-5);
    CHECK_NEAR(p.sum[1] / p.count, 0.5, 1e-5);
    CHECK_NEAR(p.sum[2] / p.count, 0.25, 1e-5);
    p = (Points){0};
    CHECK(seed_lattice(2, 0.05f, none, low, high, take_points, &p));
    CHECK(p.count == 20 * 10 && p.sum[2] == 0);
}

TEST(follow_moves_in_place_what_a_copy_would) {
    enum { MOST = 40 };
    for (uint64_t round = 0; round < 200; round++) {
        // Some of the old things stay, in their order, with new ones among them.
        int32_t from[2 * MOST], old = 0, count = 0;
        uint32_t before[2 * MOST], array[2 * MOST];
        for (uint64_t i = 0; i < MOST; i++) {
            uint64_t h = hash_3(round, i, 7) % 4;
            if (h == 0) from[count++] = -1;
            if (h != 1) from[count++] = old;
            old++;
        }
        for (int i = 0; i < 2 * MOST; i++) before[i] = array[i] = (uint32_t)i + 1;
        follow(array, sizeof *array, from, count);
        for (int i = 0; i < count; i++) CHECK(array[i] == (from[i] < 0 ? 0 : before[from[i]]));
    }
}

TEST(tiles_lie_as_far_as_the_reach_of_the_tile_that_a_particle_comes_from) {
    enum { SLOW = 2, FAST = 11 };
    World w;
    CHECK(world_init(&w, 2));
    append(&w, 0, 2);
    const float x[2] = {4.5f, 44.5f}; // one each in the middle of the first and the last tile
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            uint32_t id = particle_words(&w.particles, ATTR_ID)[i];
            w.particles.attr[ATTR_X][i] = x[id], w.particles.attr[ATTR_Y][i] = 4.5f;
            w.particles.key[i] = cell_key(&w.grid, (Space){1, 1}, x[id], 4.5f, 0);
        }
        SortCounts gone;
        CHECK(particles_sort(&w.particles, &w.grid, &w.sort, w.reach, SLOW, NULL, &gone));
        sort_take_reach(&w.sort, &w.grid, w.reach);
        if (round == 0) {
            CHECK(w.grid.tile_count == 2 && w.reach[0] == SLOW && w.reach[1] == SLOW);
            w.reach[1] = FAST; // two tiles around: x 3..6, y 0..2
        }
    }
    int fast = w.grid.slot_of[grid_box_index(&w.grid, 5, 0, 0)];
    CHECK(w.grid.tile_count == 1 + 4 * 3);
    CHECK(w.reach[w.grid.slot_of[0]] == SLOW && w.reach[fast] == FAST);
    CHECK(w.reach[w.grid.slot_of[grid_box_index(&w.grid, 4, 0, 0)]] == 0);
    world_free(&w);
}
