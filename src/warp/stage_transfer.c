// Particles and grid on a warped mesh: trilinear weights of cell centres in reference space, times
// the particles' volume; velocities are Cartesian and never change with the mesh.
#include "base/memory.h"
#include "grid/mask.h"
#include "step/stages.h"
#include "warp/nodal_cell.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

/// Weight of a cell below which particles say nothing about it.
static const float WEIGHT_MIN = 1e-6f;

/// The cell centres around a point, and their weights.
typedef struct Around8 {
    int cell[3][2];
    double weight[3][2];
    double sign[3][2]; ///< -1: the mirror image of a cell beyond a wall
} Around8;

static Around8 around_point(const BrimSim *s, const double xi[3]) {
    Around8 a = {0};
    for (int k = 0; k < 3; k++) {
        a.weight[k][0] = 1, a.sign[k][0] = a.sign[k][1] = 1;
        if (k >= s->dim) continue;
        double at = xi[k] - 0.5;
        int low = (int)floor(at), last = s->grid.cells[k] - 1;
        a.weight[k][1] = at - low, a.weight[k][0] = 1 - a.weight[k][1];
        for (int i = 0; i < 2; i++) {
            int c = low + i, in = c < 0 ? 0 : c > last ? last : c;
            const bool open = s->sides.open[2 * k + (c > last)];
            a.cell[k][i] = in, a.sign[k][i] = in == c || open ? 1 : -1;
        }
    }
    return a;
}

bool warp_sample(const BrimSim *s, float *const field[3], const double xi[3], double out[3]) {
    Around8 a = around_point(s, xi);
    double sum = 0;
    out[0] = out[1] = out[2] = 0;
    for (int c = 0; c < 1 << s->dim; c++) {
        const int i[3] = {c & 1, c >> 1 & 1, c >> 2};
        double w = a.weight[0][i[0]] * a.weight[1][i[1]] * a.weight[2][i[2]];
        int64_t at = grid_cell(&s->grid, a.cell[0][i[0]], a.cell[1][i[1]], a.cell[2][i[2]]);
        if (at < 0 || isnan(field[0][at])) continue;
        sum += w;
        for (int k = 0; k < s->dim; k++) out[k] += w * a.sign[k][i[k]] * (double)field[k][at];
    }
    if (!(sum > 0)) return false;
    for (int k = 0; k < s->dim; k++) out[k] /= sum;
    return true;
}

void warp_key(BrimSim *s, size_t i) {
    float *const *x = s->particles.attr + ATTR_X;
    s->particles.key[i] = cell_key(&s->grid, s->space, x[0][i], x[1][i], x[2][i]);
}

// ---------------------------------------------------------------------------------------- blocks

/// Layers of a block that lie beyond the domain along an axis: before `low`, and from `high` on.
static void layers_beyond(const BrimSim *s, int slot, int axis, int halo, int *low, int *high) {
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x, t.y, t.z}, edge = TILE + 2 * halo;
    const int end = s->grid.cells[axis] - tile[axis] * TILE + halo;
    *low = tile[axis] * TILE < halo ? halo - tile[axis] * TILE : 0;
    *high = end < edge ? end : edge;
}

/// Runs over the cells of one layer of a block: i is a cell's index.
#define EACH_IN_LAYER(dim, edge, axis, layer, i)                                                  \
    for (int u_ = 0; u_ < (edge); u_++)                                                           \
        for (int v_ = 0, i;                                                                       \
             v_ < ((dim) == 3 ? (edge) : 1) && (i = layer_cell(edge, axis, layer, u_, v_), true); \
             v_++)

static inline int layer_cell(int edge, int axis, int layer, int u, int v) {
    const int x = axis == 0 ? layer : u, y = axis == 1 ? layer : axis == 0 ? u : v;
    const int z = axis == 2 ? layer : v;
    return (z * edge + y) * edge + x;
}

/// What the component towards a side of the domain is times in mirror images beyond a cell of a
/// block: -1, but for what a solid covers of the side that moves through it; there the image has
/// the velocity of the cell, and so it has where a source begins.
static float side_sign(const BrimSim *s, int slot, int axis, int halo, int i) {
    const TileCoord t = s->grid.coord[slot];
    const int edge = TILE + 2 * halo, tile[3] = {t.x, t.y, t.z};
    const int local[3] = {i % edge, i / edge % edge, i / edge / edge};
    int at[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        const int c = tile[a] * TILE - halo + local[a], last = s->grid.cells[a] - 1;
        at[a] = c < 0 ? 0 : c > last ? last : c;
    }
    const int64_t cell = grid_cell(&s->grid, at[0], at[1], at[2]);
    const float inlet = cell < 0 ? 0 : warp_inlet_part(s, axis, cell);
    if (inlet > 0) return 2 * inlet - 1;
    const int64_t k = cell < 0 || !s->warp->walls_move ? -1 : solid_cell(s, cell);
    return k < 0 || s->warp->wall[axis][k] == 0 ? -1 : 2 * s->warp->covered[axis][k] - 1;
}

static bool sides_let_through(const BrimSim *s) {
    return s->warp->walls_move || s->warp->inlet_count;
}

void warp_load(const BrimSim *s, int slot, float *const field[3], int halo, float *const to[3]) {
    const int edge = TILE + 2 * halo;
    for (int a = 0; a < s->dim; a++) {
        int low, high;
        block_load(&s->grid, slot, field[a], PLACE_CELL, &s->sides, halo, NAN, to[a]);
        layers_beyond(s, slot, a, halo, &low, &high);
        for (int k = 0; k < edge; k++) {
            if ((k >= low && k < high) || s->sides.open[2 * a + (k >= high)]) continue;
            EACH_IN_LAYER(s->dim, edge, a, k, i) {
                to[a][i] *= sides_let_through(s) ? side_sign(s, slot, a, halo, i) : -1;
            }
        }
    }
}

// ------------------------------------------------------------------------------ particles -> grid

static size_t block_floats(const BrimSim *s, int numbers) {
    return (size_t)numbers * (s->dim == 3 ? WARP_CELLS_3D : WARP_CELLS_2D);
}

void warp_fold(const BrimSim *s, int slot, int numbers, float *block) {
    for (int a = 0; a < s->dim; a++) {
        int low, high;
        layers_beyond(s, slot, a, 1, &low, &high);
        for (int far = 0; far < 2; far++) {
            int from = far ? high : low - 1, to = far ? high - 1 : low;
            if (far ? high >= WARP_EDGE : low == 0) continue;
            EACH_IN_LAYER(s->dim, WARP_EDGE, a, from, i) {
                int step =
                    layer_cell(WARP_EDGE, a, to, 0, 0) - layer_cell(WARP_EDGE, a, from, 0, 0);
                float *ghost = block + numbers * i, *own = ghost + numbers * step;
                float sign = sides_let_through(s) ? side_sign(s, slot, a, 1, i) : -1;
                if (s->sides.open[2 * a + far]) sign = 1;
                for (int k = 0; k < numbers; k++)
                    own[k] += k == 1 + a ? sign * ghost[k] : ghost[k], ghost[k] = 0;
            }
        }
    }
}

/// Where cell centres are in space, cells from the block's corner; mirror images beyond walls.
static void load_centres(const BrimSim *s, int slot, const WarpLattice *lattice,
                         float *const centre[3]) {
    const Span span = sim_span(s, slot, 1);
    const float first[3] = {span.corner[0] + 0.5f, span.corner[1] + 0.5f, span.corner[2] + 0.5f};
    s->warp->kernels->points(lattice, first, 1, WARP_EDGE, centre, NULL);
    for (int i = 0; i < (s->dim == 3 ? WARP_CELLS_3D : WARP_CELLS_2D); i++) {
        const int at[3] = {i % WARP_EDGE, i / WARP_EDGE % WARP_EDGE, i / WARP_EDGE / WARP_EDGE};
        for (int a = 0; a < s->dim; a++) centre[a][i] += (float)at[a] + 0.5f;
    }
    for (int a = 0; a < s->dim; a++) {
        int low, high;
        layers_beyond(s, slot, a, 1, &low, &high);
        for (int far = 0; far < 2; far++) {
            int from = far ? high : low - 1, to = far ? high - 1 : low;
            if (far ? high >= WARP_EDGE : low == 0) continue;
            float wall = (float)(far ? high : low);
            EACH_IN_LAYER(s->dim, WARP_EDGE, a, from, i) {
                int j =
                    i + layer_cell(WARP_EDGE, a, to, 0, 0) - layer_cell(WARP_EDGE, a, from, 0, 0);
                for (int k = 0; k < s->dim; k++)
                    centre[k][i] = k == a ? 2 * wall - centre[k][j] : centre[k][j];
            }
        }
    }
}

/// context: int, numbers of a cell
static void scatter_tile(BrimSim *s, int slot, int thread, void *context) {
    const int numbers = *(const int *)context;
    const size_t floats = block_floats(s, numbers);
    if (s->block_at[slot] < 0) return;
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    const bool affine = particles_carry(&s->particles, ROW_AFFINE);
    ThreadScratch *scratch = &s->scratch[thread];
    float *const centre[3] = {scratch->block[0], scratch->block[1], scratch->block[2]};
    float *block = warp_block(s, slot, floats);
    Span span = sim_span(s, slot, 1);
    memset(block, 0, floats * sizeof *block);
    if (numbers == 1) {
        s->warp->kernels->volumes(&span, block);
    } else {
        if (affine) load_centres(s, slot, &lattice, centre);
        s->warp->kernels->to_block(&span, &lattice, affine ? (const float *const *)centre : NULL,
                                   block);
    }
    warp_fold(s, slot, numbers, block);
}

void warp_sum_blocks(const BrimSim *s, int slot, int numbers, const float *blocks,
                     const int32_t *place, float *sum) {
    const Grid *g = &s->grid;
    const size_t floats = (size_t)numbers * (s->dim == 3 ? WARP_CELLS_3D : WARP_CELLS_2D);
    memset(sum, 0, (size_t)(numbers * g->tile_cells) * sizeof *sum);
    for (int n = s->dim == 3 ? 0 : 9; n < (s->dim == 3 ? 27 : 18); n++) {
        const int32_t from = g->neighbour[slot][n];
        if (from < 0 || (place && place[from] < 0)) continue;
        const int d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        const float *block = blocks + (size_t)(place ? place[from] : from) * floats;
        int low[3] = {0}, high[3] = {1, 1, 1};
        for (int a = 0; a < s->dim; a++)
            low[a] = d[a] > 0 ? TILE - 1 : 0, high[a] = d[a] < 0 ? 1 : TILE;
        for (int z = low[2]; z < high[2]; z++)
            for (int y = low[1]; y < high[1]; y++) {
                const int bz = s->dim == 3 ? z + 1 - TILE * d[2] : 0, by = y + 1 - TILE * d[1];
                const float *restrict v =
                    block + numbers * ((bz * WARP_EDGE + by) * WARP_EDGE + 1 - TILE * d[0]);
                float *restrict to = sum + numbers * (z * TILE + y) * TILE;
                for (int i = numbers * low[0]; i < numbers * high[0]; i++) to[i] += v[i];
            }
    }
}

static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const size_t base = (size_t)slot * (size_t)g->tile_cells;
    float *sum = s->scratch[thread].block[0];
    TileMask inside = mask_inside(g, slot), known = {{0}};
    warp_sum_blocks(s, slot, WARP_NUMBERS, s->work.at, s->block_at, sum);
    for (int i = 0; i < g->tile_cells; i++) {
        const float *v = sum + WARP_NUMBERS * i;
        const bool here = v[0] > WEIGHT_MIN && mask_has(&inside, i);
        const float part = here ? 1 / v[0] : 0;
        known.slice[i >> 6] |= (uint64_t)here << (i & 63);
        for (int a = 0; a < s->dim; a++) {
            if (!has_band(s)) s->velocity[a][base + (size_t)i] = part * v[1 + a];
            if (s->old[a]) s->old[a][base + (size_t)i] = part * v[1 + a];
        }
    }
    mask_store(g, s->known[0], slot, &known);
}

bool warp_scatter(BrimSim *s, int numbers, size_t more) {
    size_t blocks = 0;
    for (int t = 0; t < s->grid.tile_count; t++) {
        bool any = tile_first(&s->particles, t) != tile_end(&s->particles, t);
        s->block_at[t] = any ? (int32_t)blocks++ : -1;
    }
    s->warp->rest_at = blocks * block_floats(s, numbers);
    if (!work_fit(&s->work, s->warp->rest_at + more)) return false;
    tiles_for(s, scatter_tile, &numbers);
    return true;
}

BrimResult warp_to_grid(BrimSim *s, BrimError *error) {
    if (!warp_open_cells(s) || !warp_find_inlets(s) || !warp_scatter(s, WARP_NUMBERS, 0))
        return step_out_of_memory(s, "to_grid", error);
    tiles_for(s, gather_tile, NULL);
    memcpy(s->own, s->known[0], sim_rows(s));
    return BRIM_OK;
}

// ---------------------------------------------------------------------------------- extrapolation

/// Fields that reach beyond the cells where they are known.
typedef struct Growth {
    float *const *field, *const *other; ///< other may have no arrays
    uint8_t *known, *next;
    bool after; ///< the projection
} Growth;

/// Whether the second field stays in a cell that takes the first from others: inside a solid for
/// the most part, whose particles know what they brought. With what others brought each step would
/// give them the difference between those and the wall anew.
static bool keeps_old(const BrimSim *s, const Growth *w, int64_t cell) {
    return w->after && s->own[cell >> 3] >> (cell & 7) & 1 && warp_mostly_solid(s, cell);
}

/// Cells beside known ones take their mean. Reads known cells and writes others. => next
static void grow_tile(BrimSim *s, int slot, int thread, void *context) {
    const Growth *w = context;
    const Grid *g = &s->grid;
    TileMask near[6], known = mask_load(g, w->known, slot), inside = mask_inside(g, slot);
    TileMask next = known;
    if (mask_full(g, w->known, slot)) {
        mask_store(g, w->next, slot, &next);
        return;
    }
    mask_around(g, w->known, slot, near);
    for (int z = 0; z < g->tile_depth; z++) {
        uint64_t wanted = 0;
        for (int n = 0; n < 2 * s->dim; n++) wanted |= near[n].slice[z];
        for (wanted &= ~known.slice[z] & inside.slice[z]; wanted; wanted &= wanted - 1) {
            int cell = z * 64 + __builtin_ctzll(wanted), count = 0;
            float sum[3] = {0}, second[3] = {0};
            for (int n = 0; n < 2 * s->dim; n++) {
                if (!mask_has(&near[n], cell)) continue;
                int64_t from = grid_step(g, slot, cell, n >> 1, n & 1 ? 1 : -1);
                count++;
                for (int a = 0; a < s->dim; a++) {
                    sum[a] += w->field[a][from];
                    if (w->other[a]) second[a] += w->other[a][from];
                }
            }
            int64_t me = (int64_t)slot * g->tile_cells + cell;
            const bool keep = s->walls.solid_count && keeps_old(s, w, me);
            for (int a = 0; a < s->dim; a++) {
                w->field[a][me] = sum[a] / (float)count;
                if (w->other[a] && !keep) w->other[a][me] = second[a] / (float)count;
            }
            next.slice[z] |= wanted & -wanted;
        }
    }
    mask_store(g, w->next, slot, &next);
}

static void forget_tile(BrimSim *s, int slot, int thread, void *context) {
    const Growth *w = context;
    const Grid *g = &s->grid;
    TileMask known = mask_load(g, w->known, slot);
    if (mask_full(g, w->known, slot)) return;
    for (int i = 0; i < g->tile_cells; i++) {
        if (mask_has(&known, i)) continue;
        for (int a = 0; a < s->dim; a++) {
            size_t me = (size_t)slot * (size_t)g->tile_cells + (size_t)i;
            w->field[a][me] = NAN;
            if (w->other[a]) w->other[a][me] = NAN;
        }
    }
}

static void grow_layers(BrimSim *s, int layers, Growth *growth) {
    for (int k = 0; k < layers; k++) {
        tiles_for(s, grow_tile, growth);
        memcpy(growth->known, growth->next, sim_rows(s));
    }
}

static void grow(BrimSim *s, int layers, Growth growth) {
    grow_layers(s, layers, &growth);
    tiles_for(s, forget_tile, &growth);
}

/// Cells that the pressure would ask for a velocity that they do not know.
typedef struct Lacking {
    const uint8_t *known;
    TeamCount cells;
} Lacking;

/// Whether a cell beside solids has an open part.
static bool is_open(const BrimSim *s, int slot, int cell) {
    const size_t n = (size_t)s->grid.tile_cells, points = (size_t)1 << s->dim;
    const float *open = s->warp->open + (size_t)(s->solid_at[slot] - 1) * n * points;
    for (size_t k = 0; k < points; k++)
        if (open[k * n + (size_t)cell] > 0) return true;
    return false;
}

static void count_lacking(BrimSim *s, int slot, int thread, void *context) {
    Lacking *lacking = context;
    const Grid *g = &s->grid;
    if (!s->solid_at[slot] || mask_full(g, lacking->known, slot)) return;
    const TileMask known = mask_load(g, lacking->known, slot), inside = mask_inside(g, slot);
    NodeBlock phi;
    int64_t count = 0;
    nodal_load_block(g, s->phi, LEVEL_SET_CUT, slot, &phi);
    for (int i = 0; i < g->tile_cells; i++) {
        bool liquid = false;
        if (mask_has(&known, i) || !mask_has(&inside, i)) continue;
        for (int c = 0; c < 1 << s->dim; c++)
            liquid |= phi.at[block_index((i & 7) + (c & 1), (i >> 3 & 7) + (c >> 1 & 1),
                                         (i >> 6) + (c >> 2))] < 0;
        count += liquid && is_open(s, slot, i);
    }
    team_add(&lacking->cells, count);
}

void warp_grow_to_liquid(BrimSim *s) {
    Growth growth = {s->velocity, s->old, s->known[0], s->known[1], false};
    int64_t before = INT64_MAX;
    grow_layers(s, 2, &growth);
    while (s->walls.solid_count) {
        Lacking lacking = {growth.known, 0};
        tiles_for(s, count_lacking, &lacking);
        if (lacking.cells == 0 || (int64_t)lacking.cells >= before) break;
        before = (int64_t)lacking.cells;
        grow_layers(s, 1, &growth);
    }
    tiles_for(s, forget_tile, &growth);
}

/// The fastest that flow on a tile may be in reference space, m/s. => tile_speed
static void find_speed(BrimSim *s, int slot, int thread, void *context) {
    const size_t n = (size_t)s->grid.tile_cells, base = (size_t)slot * n;
    float fastest2 = 0;
    for (size_t i = base; i < base + n; i++) {
        float square = 0;
        for (int a = 0; a < s->dim; a++) square += s->velocity[a][i] * s->velocity[a][i];
        fastest2 = square > fastest2 ? square : fastest2; // not where none is known
    }
    s->tile_speed[slot] = sqrtf(fastest2) * warp_tile_stretch(s, slot);
}

/// Cells with a velocity of their own: those that the projection changed, and those with particles
/// that fly by themselves. What hangs over the surface from a cell below moves with it: by itself
/// it would fall by g dt, the pressure acting on cells with a liquid node alone. => known
static void find_own(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    TileMask known = mask_load(g, s->own, slot);
    if (pressure_acts(s)) {
        TileMask near[6], liquid = mask_load(g, s->liquid, slot);
        mask_around(g, s->liquid, slot, near);
        for (int z = 0; z < g->tile_depth; z++) {
            for (int n = 0; n < 2 * s->dim; n++) known.slice[z] &= ~near[n].slice[z];
            known.slice[z] |= liquid.slice[z];
        }
    }
    if (s->walls.solid_count) warp_forget_cut(s, slot, &known);
    mask_store(g, s->known[0], slot, &known);
}

BrimResult warp_extrapolate(BrimSim *s, BrimError *error) {
    tiles_for(s, find_own, NULL);
    grow(s, reach_cells(reach_estimate(s)) + 1,
         (Growth){s->velocity, s->old, s->known[0], s->known[1], true});
    warp_slip(s);
    tiles_for(s, find_speed, NULL);
    return BRIM_OK;
}

// ------------------------------------------------------------------------------ grid -> particles

/// FLIP: ratio (v + new - old) + (1 - ratio) new = ratio v + (new - ratio old).
static void give_tile(BrimSim *s, int slot, int thread, void *context) {
    const Span span = sim_span(s, slot, 1);
    s->tile_sums[slot] = (TileSums){0};
    if (span.count == 0) return;
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    const bool affine = particles_carry(&s->particles, ROW_AFFINE);
    const float ratio = affine ? 0 : s->def.flip_ratio;
    ThreadScratch *scratch = &s->scratch[thread];
    float *const now[3] = {scratch->block[0], scratch->block[1], scratch->block[2]};
    float *const before[3] = {scratch->block[3], scratch->block[4], scratch->block[5]};
    warp_load(s, slot, s->velocity, 1, now);
    if (!affine) {
        warp_load(s, slot, s->old, 1, before);
        for (int a = 0; a < s->dim; a++)
            for (int i = 0; i < (s->dim == 3 ? WARP_CELLS_3D : WARP_CELLS_2D); i++)
                now[a][i] -= ratio * before[a][i];
    }
    s->warp->kernels->from_block(&span, ratio, (const float *const *)now, affine ? &lattice : NULL);
    warp_sum_tile(s, slot, thread, &s->tile_sums[slot]); // while they are at hand
}

BrimResult warp_to_particles(BrimSim *s, BrimError *error) {
    if (!warp_place_reserve(s)) return step_out_of_memory(s, "to_particles", error);
    tiles_for(s, give_tile, NULL);
    s->warp->walls_move = false, s->warp->inlet_count = 0; // the sort leaves them behind
    return BRIM_OK;
}

// --------------------------------------------------------------------------------------- advection

static bool flow_at(const void *context, const double xi[3], double u[3]) {
    const BrimSim *s = context;
    return warp_sample(s, s->velocity, xi, u);
}

/// What came to an open side, where advection holds it, goes beyond. => x
static void leave_sides(BrimSim *s, int slot) {
    const Particles *p = &s->particles;
    const float gap = 2 * WARP_SIDE;
    for (int a = 0; a < s->dim; a++) {
        const float end = (float)s->grid.cells[a];
        float *x = p->attr[ATTR_X + a];
        if (!s->sides.open[2 * a] && !s->sides.open[2 * a + 1]) continue;
        for (uint32_t i = tile_first(p, slot); i < tile_end(p, slot); i++) {
            const float at = space_to_grid(s->space, x[i]);
            if (s->sides.open[2 * a] && at < gap) x[i] = -0.5f * s->dx;
            if (s->sides.open[2 * a + 1] && at > end - gap) x[i] = (end + 0.5f) * s->dx;
        }
    }
}

/// Moves in space along the flow of the old mesh, then finds the place in the new one.
static void advect_tile(BrimSim *s, int slot, int thread, void *context) {
    const uint32_t first = tile_first(&s->particles, slot);
    if (first == tile_end(&s->particles, slot)) return;
    grow_older(s, slot);
    const float speed = speed_around(s, slot), reach = speed * (float)s->dt * s->inv_dx;
    const int halo = (int)fminf(reach + 1.02f, BLOCK_HALO_MAX - 1) + 1;
    ThreadScratch *scratch = &s->scratch[thread];
    WarpMove m = {.old = warp_lattice(&s->warp->mesh.before),
                  .new = warp_lattice(&s->warp->mesh.map),
                  .halo = halo,
                  .time = (float)s->dt,
                  .side = WARP_SIDE,
                  .scheme = s->def.advection};
    float *const blocks[3] = {scratch->block[0], scratch->block[1], scratch->block[2]};
    warp_load(s, slot, s->velocity, halo, blocks);
    for (int a = 0; a < s->dim; a++) m.velocity[a] = blocks[a];
    // the mesh moves too
    s->tile_reach[slot] = (uint8_t)reach_cells(reach_at_speed(s, (double)speed) + 1);
    const Span span = sim_span(s, slot, halo);
    uint32_t *far = s->particles.key + first; // keys come after
    int count = s->warp->kernels->move(&span, &m, far);
    for (int i = 0; i < count; i++) warp_move_one(&m, &span, (int)far[i], flow_at, s);
    warp_leave_solids(s, slot, reach);
    leave_sides(s, slot);
    find_keys(s, slot);
}

BrimResult warp_advect(BrimSim *s, BrimError *error) {
    tiles_for(s, advect_tile, NULL);
    if (!has_band(s)) // the sort leaves them behind
        s->warp->walls_move = false, s->warp->inlet_count = 0;
    return BRIM_OK;
}
