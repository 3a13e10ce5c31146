#include "particles/sort.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

void sort_free(SortScratch *s) {
    free(s->reach);
    free(s->far);
    free(s->near);
    free(s->want);
    free(s->from);
    free(s->movers);
    free(s->mover_start);
    free(s->part_start);
    free(s->old_start);
    free(s->stayed);
    free(s->moved);
    *s = (SortScratch){0};
}

size_t sort_bytes(const SortScratch *s, const Grid *grid) {
    return grid_box(grid) * 6 + TILE * sizeof *s->near +
           4 * (s->from_capacity + s->mover_capacity + s->mover_start_capacity + s->part_capacity +
                s->old_start_capacity + s->stayed_capacity + s->moved_capacity);
}

/// Which of the 27 neighbours of a tile lie within `reach` cells of each of its cells.
static void reach_table(const Grid *g, int reach, uint32_t table[512]) {
    for (int c = 0; c < g->tile_cells; c++) {
        int at[3] = {c & 7, (c >> 3) & 7, c >> 6};
        uint32_t bits = 0;
        for (int n = 0; n < 27; n++) {
            int d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
            bool near = true;
            for (int a = 0; a < 3; a++)
                if ((d[a] < 0 && at[a] >= reach) || (d[a] > 0 && at[a] < TILE - reach))
                    near = false;
            if (d[2] && g->dim == 2) near = false;
            if (near) bits |= 1u << n;
        }
        table[c] = bits;
    }
}

bool sort_init(SortScratch *s, const Grid *grid, BrimIsa isa) {
    size_t box = grid_box(grid);
    *s = (SortScratch){.kernels = order_kernels_for(isa),
                       .reach = memory_zero(box * sizeof *s->reach),
                       .far = memory_zero(box),
                       .near = memory_new(TILE * sizeof *s->near),
                       .want = memory_new(box)};
    for (int reach = 1; reach <= TILE && s->near; reach++)
        reach_table(grid, reach, s->near[reach - 1]);
    return s->reach && s->far && s->near && s->want;
}

static void raise(uint8_t *at, int value) {
    uint8_t now = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (now < value && !__atomic_compare_exchange_n(at, &now, (uint8_t)value, true,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/// A sort at work, as its loops see it.
typedef struct Sorting {
    Particles *p;
    const Grid *g;
    SortScratch *s;
    const uint8_t *reach;
    int reach_new;
    TeamCount drained, left, hidden, movers;
    int tiles; ///< before the sort
    int parts; ///< of the old tiles, for the movers
} Sorting;

/// A few tiles, or rows of the box of tiles, keep one thread busy.
enum { TILES_A_THREAD = 12, ROWS_A_THREAD = 16 };
/// Particles of a tile whose places stay in a thread's cache: a tile full of 8 in each cell.
enum { PLACES = 4096 };

/// Looks at the particles of one old tile (or of the tail, home = -1): marks what is within reach,
/// counts those that leave the tile. => order, from the tile's first particle on: those
static uint32_t survey(Particles *p, const Grid *g, SortScratch *s, uint32_t first, uint32_t end,
                       int64_t home, int reach, SortCounts *gone) {
    const uint32_t *table = s->near[(reach < 1 ? 1 : reach < TILE ? reach : TILE) - 1];
    uint32_t cells = (uint32_t)g->tile_cells, mask = 0, movers = 0, away = 0;
    uint32_t *order = p->order + first;
    if (home >= 0)
        away = s->kernels->survey(p->key + first, end - first, first, (uint32_t)home * cells, cells,
                                  table, &mask, order);
    else
        for (uint32_t i = first; i < end; i++) order[away++] = i;
    for (uint32_t i = 0; i < away; i++) {
        uint32_t key = p->key[order[i]];
        if (key >= KEY_GONE) {
            key == KEY_LEFT ? gone->left++ : key == KEY_HIDDEN ? gone->hidden++ : gone->drained++;
            continue;
        }
        order[movers++] = order[i];
        uint32_t bits = table[key % cells], *at = &s->reach[key / cells];
        if ((__atomic_load_n(at, __ATOMIC_RELAXED) & bits) != bits)
            __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
        raise(&s->far[key / cells], reach);
    }
    if (mask) {
        __atomic_fetch_or(&s->reach[home], mask, __ATOMIC_RELAXED);
        raise(&s->far[home], reach);
    }
    return movers;
}

static void survey_tile(void *context, int t, int thread) {
    Sorting *sorting = context;
    const Particles *p = sorting->p;
    const Grid *g = sorting->g;
    SortScratch *s = sorting->s;
    SortCounts gone = {0};
    bool tail = t == g->tile_count; // as one more tile
    int64_t home = tail ? -1 : grid_box_index(g, g->coord[t].x, g->coord[t].y, g->coord[t].z);
    uint32_t first = g->tile_count ? p->tile_start[t] : 0;
    uint32_t end = tail ? (uint32_t)p->count : p->tile_start[t + 1];
    uint32_t movers = survey(sorting->p, g, s, first, end, home,
                             tail ? sorting->reach_new : sorting->reach[t], &gone);
    s->old_start[t] = first; // the tail's is the end of the last tile
    s->moved[t] = movers;
    s->stayed[t] = end - first - movers - (uint32_t)(gone.drained + gone.left + gone.hidden);
    team_add(&sorting->movers, movers);
    team_add(&sorting->drained, (int64_t)gone.drained);
    team_add(&sorting->left, (int64_t)gone.left);
    team_add(&sorting->hidden, (int64_t)gone.hidden);
}

/// Marks the wanted tiles of one row of the box: each occupied tile's neighbours within reach,
/// farther ones by whole tiles. Clears the row's reach masks for the next sort.
static void mark_wanted(void *context, int row, int thread) {
    const Sorting *sorting = context;
    const Grid *g = sorting->g;
    SortScratch *s = sorting->s;
    int y = row % g->tiles[1], z = row / g->tiles[1];
    size_t i = (size_t)row * (size_t)g->tiles[0];
    for (int x = 0; x < g->tiles[0]; x++, i++) {
        uint32_t mask = s->reach[i];
        if (!mask) continue;
        s->reach[i] = 0;
        int far = s->far[i] > TILE ? (s->far[i] + TILE - 1) / TILE : 1;
        int deep = g->dim == 2 ? 0 : far;
        for (int dz = -deep; dz <= deep; dz++)
            for (int dy = -far; dy <= far; dy++)
                for (int dx = -far; dx <= far; dx++) {
                    if (far == 1 && !(mask >> ((dz + 1) * 9 + (dy + 1) * 3 + dx + 1) & 1)) continue;
                    int tx = x + dx, ty = y + dy, tz = z + dz;
                    if (tx < 0 || ty < 0 || tz < 0 || tx >= g->tiles[0] || ty >= g->tiles[1] ||
                        tz >= g->tiles[2])
                        continue;
                    uint8_t *want = &s->want[grid_box_index(g, tx, ty, tz)];
                    __atomic_store_n(want, 1, __ATOMIC_RELAXED);
                }
    }
}

// Movers are sorted by the tile they go to, keeping their order, by counting: the old tiles in
// parts, each with counts of its own, so that parts are counted and placed at the same time. The
// result does not depend on how many parts there are.

/// The old tiles of a part, the tail with the last: [first, end).
static void tiles_of_part(const Sorting *sorting, int part, int *first, int *end) {
    int64_t tiles = sorting->tiles + 1;
    *first = (int)(tiles * part / sorting->parts);
    *end = (int)(tiles * (part + 1) / sorting->parts);
}

static void count_movers(void *context, int part, int thread) {
    const Sorting *sorting = context;
    const Particles *p = sorting->p;
    const Grid *g = sorting->g;
    SortScratch *s = sorting->s;
    uint32_t *count = s->part_start + (size_t)part * (size_t)g->tile_count;
    uint32_t cells = (uint32_t)g->tile_cells;
    int first, end;
    tiles_of_part(sorting, part, &first, &end);
    for (int t = 0; t < g->tile_count; t++) count[t] = 0; // there may be none, nor room for any
    for (int t = first; t < end; t++)
        for (uint32_t i = 0; i < s->moved[t]; i++)
            count[g->slot_of[p->key[p->order[s->old_start[t] + i]] / cells]]++;
}

static void place_movers(void *context, int part, int thread) {
    const Sorting *sorting = context;
    const Particles *p = sorting->p;
    const Grid *g = sorting->g;
    SortScratch *s = sorting->s;
    uint32_t *next = s->part_start + (size_t)part * (size_t)g->tile_count;
    uint32_t cells = (uint32_t)g->tile_cells;
    int first, end;
    tiles_of_part(sorting, part, &first, &end);
    for (int t = first; t < end; t++)
        for (uint32_t i = 0; i < s->moved[t]; i++) {
            uint32_t mover = p->order[s->old_start[t] + i];
            s->movers[next[g->slot_of[p->key[mover] / cells]]++] = mover;
        }
}

/// Counts of movers => where those of each tile and part begin; mover_start [tiles + 1]
static void find_mover_starts(const Sorting *sorting) {
    SortScratch *s = sorting->s;
    size_t tiles = (size_t)sorting->g->tile_count;
    uint32_t sum = 0;
    for (size_t t = 0; t < tiles; t++) {
        s->mover_start[t] = sum;
        for (int part = 0; part < sorting->parts; part++) {
            uint32_t *at = &s->part_start[(size_t)part * tiles + t], count = *at;
            *at = sum;
            sum += count;
        }
    }
    s->mover_start[tiles] = sum;
}

/// (moved, order) => movers by the tile they go to, mover_start [new tiles + 1]
static bool sort_movers(Sorting *sorting, Team *team) {
    enum { MOVERS_A_PART = 1024, PARTS_MOST = 16 };
    SortScratch *s = sorting->s;
    int64_t movers = sorting->movers, parts = movers / MOVERS_A_PART;
    sorting->parts = (int)(parts < 1 ? 1 : parts < PARTS_MOST ? parts : PARTS_MOST);
    size_t tiles = (size_t)sorting->g->tile_count, counts = tiles * (size_t)sorting->parts;
    if (!memory_fit((void **)&s->movers, &s->mover_capacity, 4, (size_t)movers) ||
        !memory_fit((void **)&s->mover_start, &s->mover_start_capacity, 4, tiles + 1) ||
        !memory_fit((void **)&s->part_start, &s->part_capacity, 4, counts))
        return false;
    team_for(team, sorting->parts, 1, count_movers, sorting);
    find_mover_starts(sorting);
    team_for(team, sorting->parts, 1, place_movers, sorting);
    return true;
}

/// Counts of particles by cell => where each cell's begin, from `first` on; occupied.
static void find_cell_starts(uint32_t count[512], uint32_t cells, uint32_t first, uint32_t *start,
                             uint8_t *occupied) {
    for (uint32_t cell = 0; cell < cells; cell += TILE) {
        unsigned bits = 0;
        for (uint32_t x = cell; x < cell + TILE; x++) {
            bits |= (unsigned)(count[x] != 0) << (x - cell);
            start[x] = first;
            first += count[x];
        }
        occupied[cell / TILE] = (uint8_t)bits;
    }
}

/// Puts a tile's particles in the order of its cells.
/// (key, movers) => order, cell_start, occupied
static void place_tile(void *context, int slot, int thread) {
    const Sorting *sorting = context;
    Particles *p = sorting->p;
    const Grid *g = sorting->g;
    const SortScratch *s = sorting->s;
    uint32_t cells = (uint32_t)g->tile_cells, count[512], next[512];
    uint8_t *occupied = p->occupied + (size_t)slot * (size_t)g->tile_rows;
    if (!tile_holds(p, slot)) {
        memset(occupied, 0, (size_t)g->tile_rows);
        return;
    }
    TileCoord c = g->coord[slot];
    uint32_t low = (uint32_t)grid_box_index(g, c.x, c.y, c.z) * cells;
    int32_t old = s->from[slot];
    uint32_t from = old < 0 ? 0 : s->old_start[old], end = old < 0 ? 0 : s->old_start[old + 1];
    uint32_t mover = s->mover_start[slot], last_mover = s->mover_start[slot + 1];
    // Neighbours are often in one cell, where each must wait for the count that the one before it
    // left; so that happens once: what a particle found is its place among those of its cell.
    const uint32_t *key = p->key + from;
    uint32_t near[PLACES],
        *place = end - from <= PLACES ? near : (uint32_t *)(void *)p->spare + from;
    memset(count, 0, cells * sizeof *count);
    for (uint32_t i = 0; i < end - from; i++) {
        uint32_t cell = key[i] - low;
        if (cell < cells) place[i] = count[cell]++;
    }
    memcpy(next, count, cells * sizeof *next); // those that came are behind those that stayed
    for (uint32_t i = mover; i < last_mover; i++) count[p->key[s->movers[i]] - low]++;
    uint32_t *start = p->cell_start + (size_t)p->start_at[slot] * cells;
    find_cell_starts(count, cells, p->tile_start[slot], start, occupied);
    s->kernels->place(key, end - from, from, low, cells, start, place, p->order);
    for (uint32_t i = mover; i < last_mover; i++) {
        uint32_t cell = p->key[s->movers[i]] - low;
        p->order[start[cell] + next[cell]++] = s->movers[i];
    }
}

/// Where each tile's particles begin: those that stayed and those that came. Returns how many there
/// are in all.
static uint32_t find_starts(Particles *p, const Grid *g, const SortScratch *s) {
    uint32_t sum = 0;
    for (int t = 0; t < g->tile_count; t++) {
        p->tile_start[t] = sum;
        sum += s->mover_start[t + 1] - s->mover_start[t];
        if (s->from[t] >= 0) sum += s->stayed[s->from[t]];
    }
    p->tile_start[g->tile_count] = sum;
    return sum;
}

/// One or two arrays that take a new order, part by part.
typedef struct Gathering {
    const uint32_t *in[2], *order;
    uint32_t *out[2];
    size_t count, most;
    const OrderKernels *kernels;
} Gathering;

enum { GATHER_PART = 2048 };

static void gather_part(void *context, int index, int thread) {
    const Gathering *g = context;
    size_t first = (size_t)index * GATHER_PART, end = first + GATHER_PART;
    if (end > g->count) end = g->count;
    uint32_t *const out[2] = {g->out[0] + first, g->out[1] + first};
    g->kernels->take(g->order + first, end - first, g->most, g->in, out);
}

/// Brings every attribute into the new order: two arrays at a time, one through the spare, one
/// through that of the keys, which have served.
static void gather_attributes(Particles *p, size_t count, const OrderKernels *kernels, Team *team) {
    int attributes[ATTR_MAX], n = 0;
    for (int a = 0; a < ATTR_MAX; a++)
        if (p->attr[a]) attributes[n++] = a;
    for (int k = 0; k < n; k += 2) {
        const int a = attributes[k], b = k + 1 < n ? attributes[k + 1] : -1;
        // Words and floats are both four bytes: moved as bits they stay what they are.
        Gathering g = {{particle_words(p, a), b < 0 ? NULL : particle_words(p, b)},
                       p->order,
                       {(uint32_t *)(void *)p->spare, p->key},
                       count,
                       p->count,
                       kernels};
        team_for(team, team_parts(count, GATHER_PART), 1, gather_part, &g);
        p->spare = p->attr[a];
        p->attr[a] = (float *)(void *)g.out[0];
        if (b < 0) break;
        p->key = particle_words(p, b);
        p->attr[b] = (float *)(void *)g.out[1];
    }
}

void sort_take_reach(SortScratch *s, const Grid *g, uint8_t *reach) {
    for (int t = 0; t < g->tile_count; t++) {
        TileCoord c = g->coord[t];
        uint8_t *far = &s->far[grid_box_index(g, c.x, c.y, c.z)];
        reach[t] = *far;
        *far = 0;
    }
}

bool particles_sort(Particles *p, Grid *g, SortScratch *s, const uint8_t *reach, int reach_new,
                    Team *team, SortCounts *counts) {
    size_t old_count = (size_t)g->tile_count;
    if (!memory_fit((void **)&s->old_start, &s->old_start_capacity, 4, old_count + 1) ||
        !memory_fit((void **)&s->stayed, &s->stayed_capacity, 4, old_count + 1) ||
        !memory_fit((void **)&s->moved, &s->moved_capacity, 4, old_count + 1))
        return false;
    Sorting sorting = {p, g, s, reach, reach_new, .tiles = g->tile_count};
    team_for(team, g->tile_count + 1, TILES_A_THREAD, survey_tile, &sorting);
    *counts = (SortCounts){(size_t)sorting.drained, (size_t)sorting.left, (size_t)sorting.hidden};

    memset(s->want, 0, grid_box(g));
    team_for(team, g->tiles[1] * g->tiles[2], ROWS_A_THREAD, mark_wanted, &sorting);
    size_t tiles = 0;
    for (size_t i = 0; i < grid_box(g); i++) tiles += s->want[i];
    if (!memory_fit((void **)&s->from, &s->from_capacity, 4, tiles) ||
        !particles_fit_tiles(p, g, tiles) || !grid_rebuild(g, s->want, s->from, team) ||
        !sort_movers(&sorting, team))
        return false;

    uint32_t sum = find_starts(p, g, s);
    if (!particles_fit_cells(p, g)) return false;
    team_for(team, g->tile_count, TILES_A_THREAD, place_tile, &sorting);
    gather_attributes(p, sum, s->kernels, team);
    p->count = p->sorted = sum;
    return true;
}
