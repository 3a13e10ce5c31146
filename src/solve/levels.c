// Builds the hierarchy: which tiles hold unknowns, coarse grids, coarse operators.
#include "base/memory.h"
#include "solve/solver.h"
#include <stdlib.h>
#include <string.h>

/// Coarsest domain, in cells along each axis.
enum { COARSEST = 4 };
/// Levels of fewer tiles are left to one thread: a tile costs about as much as a barrier.
enum { SERIAL_TILES = 5 };
/// Floats a cell of a coarse level.
enum { STORE = 8 };

static size_t level_cells(const Level *l) {
    return (size_t)l->grid->tile_count * (size_t)l->grid->tile_cells;
}

/// Rows without unknowns are read by their neighbours: zeros.
static void clear_rows(const Level *l, int slot, float *vector) {
    size_t cells = (size_t)l->grid->tile_cells;
    if (l->rows[slot] != (l->grid->dim == 3 ? ~(uint64_t)0 : 0xff))
        memset(vector + (size_t)slot * cells, 0, cells * sizeof(float));
}

/// What a tile of the finest level holds.
static void prepare_tile(void *context, int slot, int thread) {
    Poisson *s = context;
    Level *l = &s->level[0];
    if (l->used && !l->used[slot]) {
        l->rows[slot] = 0;
        s->flood.links[slot] = (TileLinks){0};
        s->flood.reached[slot] = (TileBits){0};
        return;
    }
    l->rows[slot] = s->kernels->invert(l, slot);
    s->kernels->links(l, slot, &s->flood.links[slot]);
    closed_begin(s, slot);
    l->uniform[slot] = s->kernels->uniform(l, slot);
}

/// The inverse of a tile where it is not everywhere the same moves to its own array, from where y
/// will be.
static void keep_inverse(void *context, int slot, int thread) {
    Poisson *s = context;
    const Level *l = &s->level[0];
    size_t cells = (size_t)l->grid->tile_cells;
    if (l->used && !l->used[slot]) return;
    if (s->inverse_at[slot])
        memcpy(s->inverses + (size_t)(s->inverse_at[slot] - 1) * cells, l->y + (size_t)slot * cells,
               cells * sizeof(float));
    clear_rows(l, slot, l->y);
    if (l->diag != l->z) clear_rows(l, slot, l->z);
}

/// False: out of memory.
static bool keep_inverses(Poisson *s) {
    Level *l = &s->level[0];
    const size_t tiles = (size_t)l->grid->tile_count, cells = (size_t)l->grid->tile_cells;
    if (!memory_fit((void **)&s->inverse_at, &s->inverse_at_capacity, sizeof *s->inverse_at, tiles))
        return false;
    size_t kept = 0;
    for (size_t t = 0; t < tiles; t++)
        s->inverse_at[t] = l->rows[t] && !(l->uniform[t].diag > 0) ? (int32_t)++kept : 0;
    s->inverse_floats = kept * cells;
    if (!memory_fit((void **)&s->inverses, &s->inverse_capacity, sizeof(float), s->inverse_floats))
        return false;
    team_for(s->team, l->grid->tile_count, TILES_A_THREAD, keep_inverse, s);
    l->inverse = s->inverses, l->inverse_at = s->inverse_at;
    return true;
}

bool levels_reserve(Poisson *s, size_t cells, size_t arrays) {
    Level *l = &s->level[0];
    if (!work_fit(s->work, arrays * cells)) return false;
    float **const vector[VECTORS] = {&l->b, &l->z, &l->y, &s->p, &s->s};
    for (size_t k = 0; k < VECTORS; k++) *vector[k] = s->work->at + k * cells;
    return true;
}

static bool prepare_finest(Poisson *s) {
    Level *l = &s->level[0];
    size_t n = level_cells(l), tiles = (size_t)l->grid->tile_count;
    Flood *f = &s->flood;
    if (!levels_reserve(s, n, VECTORS) ||
        !memory_fit((void **)&l->rows, &l->rows_capacity, sizeof *l->rows, tiles) ||
        !memory_fit((void **)&l->uniform, &l->uniform_capacity, sizeof *l->uniform, tiles) ||
        !memory_fit((void **)&s->active, &s->active_capacity, sizeof *s->active, tiles) ||
        !memory_fit((void **)&s->dots, &s->dots_capacity, sizeof *s->dots, tiles) ||
        !memory_fit((void **)&s->most, &s->most_capacity, sizeof *s->most, tiles) ||
        !memory_fit((void **)&f->links, &f->links_capacity, sizeof *f->links, tiles) ||
        !memory_fit((void **)&f->reached, &f->reached_capacity, sizeof *f->reached, tiles))
        return false;
    l->inverse = l->y, l->inverse_at = NULL; // until it is known who needs it
    team_for(s->team, l->grid->tile_count, TILES_A_THREAD, prepare_tile, s);
    s->active_count = 0;
    for (int slot = 0; slot < l->grid->tile_count; slot++)
        if (l->rows[slot]) s->active[s->active_count++] = slot;
    return keep_inverses(s);
}

/// Makes the grid of a coarse level fit the domain of the finer one.
static bool fit_grid(Level *coarse, const Grid *fine) {
    int cells[3];
    bool same = coarse->own.slot_of && coarse->own.dim == fine->dim;
    for (int a = 0; a < 3; a++) {
        cells[a] = (fine->cells[a] + 1) / 2;
        same = same && coarse->own.cells[a] == cells[a];
    }
    if (same) return true;
    grid_free(&coarse->own);
    return grid_init(&coarse->own, fine->dim, cells, NULL) == BRIM_OK;
}

/// The coarse tiles that cover the unknowns of the finer level.
static bool build_grid(Poisson *s, int k) {
    Level *coarse = &s->level[k];
    const Grid *fine = s->level[k - 1].grid;
    if (!fit_grid(coarse, fine)) return false;
    size_t box = grid_box(&coarse->own);
    size_t most = (size_t)fine->tile_count < box ? (size_t)fine->tile_count : box;
    if (!memory_fit((void **)&s->want, &s->want_capacity, 1, box) ||
        !memory_fit((void **)&s->from, &s->from_capacity, sizeof *s->from, most))
        return false;
    memset(s->want, 0, box);
    for (int i = 0; i < fine->tile_count; i++) {
        if (!s->level[k - 1].rows[i]) continue;
        TileCoord c = fine->coord[i];
        s->want[grid_box_index(&coarse->own, c.x >> 1, c.y >> 1, c.z >> 1)] = 1;
    }
    coarse->grid = &coarse->own;
    return grid_rebuild(&coarse->own, s->want, s->from, s->team);
}

/// Tiles without unknowns are no children: there is nothing to restrict and nothing to correct.
static void find_children(Poisson *s, int k) {
    Level *coarse = &s->level[k];
    const Grid *fine = s->level[k - 1].grid;
    if (coarse->own.tile_count)
        memset(coarse->child, 0xff, (size_t)coarse->own.tile_count * sizeof *coarse->child);
    for (int i = 0; i < fine->tile_count; i++) {
        if (!s->level[k - 1].rows[i]) continue;
        TileCoord c = fine->coord[i];
        int32_t slot =
            coarse->own.slot_of[grid_box_index(&coarse->own, c.x >> 1, c.y >> 1, c.z >> 1)];
        coarse->child[slot][(c.z & 1) * 4 + (c.y & 1) * 2 + (c.x & 1)] = i;
    }
}

static bool build_store(Level *l) {
    size_t n = level_cells(l), tiles = (size_t)l->grid->tile_count;
    if (!memory_fit((void **)&l->store, &l->store_capacity, sizeof(float), STORE * n) ||
        !memory_fit((void **)&l->rows, &l->rows_capacity, sizeof *l->rows, tiles) ||
        !memory_fit((void **)&l->uniform, &l->uniform_capacity, sizeof *l->uniform, tiles) ||
        !memory_fit((void **)&l->child, &l->child_capacity, sizeof *l->child, tiles))
        return false;
    l->ax = l->store, l->ay = l->store + n, l->az = l->store + 2 * n, l->diag = l->store + 3 * n;
    l->inverse = l->store + 4 * n, l->b = l->store + 5 * n;
    l->z = l->store + 6 * n, l->y = l->store + 7 * n;
    return true;
}

/// A coarse level to be built.
typedef struct Building {
    Poisson *solver;
    int level;
} Building;

/// Operator and cleared right-hand side of a coarse tile.
static void build_tile(void *context, int slot, int thread) {
    const Building *building = context;
    Poisson *s = building->solver;
    int k = building->level;
    Level *coarse = &s->level[k];
    const Level *fine = &s->level[k - 1];
    size_t n = level_cells(coarse), cells = (size_t)coarse->grid->tile_cells;
    size_t at = (size_t)slot * cells;
    for (size_t a = 0; a < 4; a++) memset(coarse->store + a * n + at, 0, cells * sizeof(float));
    memset(coarse->b + at, 0, cells * sizeof(float));
    for (int octant = 0; octant < 8; octant++) {
        int child = coarse->child[slot][octant];
        if (child < 0) continue;
        float *first = coarse->store + at + level_block(octant);
        s->kernels->coarsen(fine, child,
                            &(CoarseBlock){first, first + n, first + 2 * n, first + 3 * n});
    }
    coarse->rows[slot] = s->kernels->invert(coarse, slot);
    clear_rows(coarse, slot, coarse->z);
    clear_rows(coarse, slot, coarse->y);
}

static void find_uniform(void *context, int slot, int thread) {
    const Building *building = context;
    const Level *l = &building->solver->level[building->level];
    l->uniform[slot] = building->solver->kernels->uniform(l, slot);
}

static bool build_coarse(Poisson *s, int k) {
    Level *l = &s->level[k];
    l->zeros = s->zeros;
    if (!build_grid(s, k) || !build_store(l)) return false;
    find_children(s, k);
    Building building = {s, k};
    team_for(s->team, l->grid->tile_count, COARSE_A_THREAD, build_tile, &building);
    team_for(s->team, l->grid->tile_count, TILES_A_THREAD, find_uniform, &building);
    return true;
}

bool levels_build(Poisson *s) {
    s->level[0].zeros = s->zeros;
    s->level_count = 1;
    if (!prepare_finest(s)) return false;
    while (s->active_count > 0) {
        const int *cells = s->level[s->level_count - 1].grid->cells;
        if (cells[0] <= COARSEST && cells[1] <= COARSEST && cells[2] <= COARSEST) break;
        if (!build_coarse(s, s->level_count)) return false;
        // Closed cells that end in one coarse cell have no equation left there.
        if (s->level[s->level_count].grid->tile_count == 0) break;
        s->level_count++;
    }
    s->serial_level = 1;
    while (s->serial_level < s->level_count &&
           s->level[s->serial_level].grid->tile_count >= SERIAL_TILES)
        s->serial_level++;
    return true;
}

/// Whether kernels read a tile's coefficients: it is not uniform, or one below it is not.
static bool faces_read(const Level *l, int slot) {
    static const int below[4] = {0, -1, -3, -9};
    for (int k = 0; k < (l->grid->dim == 3 ? 4 : 3); k++) {
        int32_t t = level_neighbour(l, slot, TILE_SELF + below[k]);
        if (t >= 0 && l->rows[t] && !(l->uniform[t].a > 0)) return true;
    }
    return false;
}

/// Coefficients and diagonals on their way to where they are kept.
typedef struct Keeping {
    const Poisson *solver;
    const float *from[3];
    float *to[3];
} Keeping;

static void keep_tile(void *context, int slot, int thread) {
    const Keeping *k = context;
    const Grid *g = k->solver->level[0].grid;
    size_t cells = (size_t)g->tile_cells;
    int32_t at = k->solver->face_at[slot];
    for (int a = 0; a < g->dim && at; a++)
        memcpy(k->to[a] + (size_t)(at - 1) * cells, k->from[a] + (size_t)slot * cells,
               cells * sizeof(float));
    if (k->solver->level[0].used && !k->solver->level[0].used[slot]) return;
    at = k->solver->inverse_at[slot];
    if (at)
        memcpy(k->solver->diags + (size_t)(at - 1) * cells,
               k->solver->level[0].diag + (size_t)slot * cells, cells * sizeof(float));
    clear_rows(&k->solver->level[0], slot, k->solver->level[0].z);
}

/// => face_at: 1 where a tile's coefficients are kept, 0 elsewhere
static void ask_kept(void *context, int slot, int thread) {
    const Poisson *s = context;
    const Level *l = &s->level[0];
    s->face_at[slot] = (!l->used || l->used[slot]) && faces_read(l, slot);
}

bool levels_keep_system(Poisson *s) {
    Level *l = &s->level[0];
    const size_t tiles = (size_t)l->grid->tile_count, cells = (size_t)l->grid->tile_cells;
    if (l->ax != l->b) return true; // the caller keeps them
    if (!memory_fit((void **)&s->face_at, &s->face_at_capacity, sizeof *s->face_at, tiles))
        return false;
    size_t kept = 0;
    team_for(s->team, (int)tiles, TILES_A_THREAD, ask_kept, s);
    for (size_t t = 0; t < tiles; t++)
        if (s->face_at[t]) s->face_at[t] = (int32_t)++kept;
    s->face_floats = 3 * kept * cells;
    if (!memory_fit((void **)&s->faces, &s->faces_capacity, sizeof *s->faces, s->face_floats) ||
        !memory_fit((void **)&s->diags, &s->diag_capacity, sizeof *s->diags, s->inverse_floats))
        return false;
    Keeping k = {
        s, {l->ax, l->ay, l->az}, {s->faces, s->faces + kept * cells, s->faces + 2 * kept * cells}};
    team_for(s->team, (int)tiles, TILES_A_THREAD, keep_tile, &k);
    l->ax = k.to[0], l->ay = k.to[1], l->az = k.to[2], l->face_at = s->face_at;
    l->diag = s->diags, l->diag_at = s->inverse_at;
    return true;
}

void levels_free(Poisson *s) {
    for (int k = 0; k < LEVEL_MAX; k++) {
        grid_free(&s->level[k].own);
        free(s->level[k].store);
        free(s->level[k].rows);
        free(s->level[k].uniform);
        free(s->level[k].child);
    }
    free(s->own.at), free(s->face_at), free(s->faces), free(s->inverse_at), free(s->inverses);
    free(s->diags);
    free(s->active), free(s->dots), free(s->most), free(s->want), free(s->from);
}

void levels_release(Poisson *s) {
    if (!s->level_count) return;
    size_t tile_cells = (size_t)s->level[0].grid->tile_cells;
    size_t tiles = (size_t)s->level[0].grid->tile_count;
    memory_drop((void **)&s->active, &s->active_capacity, tiles);
    memory_drop((void **)&s->dots, &s->dots_capacity, tiles);
    memory_drop((void **)&s->most, &s->most_capacity, tiles);
    memory_drop((void **)&s->face_at, &s->face_at_capacity, tiles);
    memory_drop((void **)&s->faces, &s->faces_capacity, s->face_floats);
    memory_drop((void **)&s->inverse_at, &s->inverse_at_capacity, tiles);
    memory_drop((void **)&s->inverses, &s->inverse_capacity, s->inverse_floats);
    memory_drop((void **)&s->diags, &s->diag_capacity, s->inverse_floats);
    for (int k = 0; k < LEVEL_MAX; k++) {
        Level *l = &s->level[k];
        tiles = k < s->level_count ? (size_t)l->grid->tile_count : 0;
        memory_drop((void **)&l->store, &l->store_capacity, STORE * tiles * tile_cells);
        memory_drop((void **)&l->rows, &l->rows_capacity, tiles);
        memory_drop((void **)&l->uniform, &l->uniform_capacity, tiles);
        memory_drop((void **)&l->child, &l->child_capacity, tiles);
    }
}

size_t levels_bytes(const Poisson *s) {
    size_t bytes = s->active_capacity * sizeof *s->active + s->dots_capacity * sizeof *s->dots +
                   s->most_capacity * sizeof *s->most + s->want_capacity +
                   s->from_capacity * sizeof *s->from + s->own.capacity * sizeof(float) +
                   s->face_at_capacity * sizeof *s->face_at + s->faces_capacity * sizeof *s->faces +
                   s->inverse_at_capacity * sizeof *s->inverse_at +
                   (s->inverse_capacity + s->diag_capacity) * sizeof(float);
    for (int k = 0; k < LEVEL_MAX; k++) {
        const Level *l = &s->level[k];
        bytes += l->store_capacity * sizeof(float) + l->child_capacity * sizeof *l->child +
                 l->rows_capacity * sizeof *l->rows + l->uniform_capacity * sizeof *l->uniform;
        if (l->own.slot_of) bytes += grid_bytes(&l->own);
    }
    return bytes;
}
