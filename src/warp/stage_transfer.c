// Particles and grid on a warped mesh: trilinear weights of cell centres in reference space, times
// the particles' volume; velocities are Cartesian and never change with the mesh.
#include "base/memory.h"
#include "grid/mask.h"
#include "step/stages.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

enum { EDGE = TILE + 2, NUMBERS = 4 }; ///< block: a tile and one cell around it; weight, momentum

/// Weight of a cell, as a part of its volume, below which particles say nothing about it.
static const double WEIGHT_MIN = 1e-6;

/// The cell centres around a point, and their weights.
typedef struct Around8 {
    int cell[3][2];
    double weight[3][2], slope[2]; ///< slope: of the weights along an axis, -1 and 1
    double sign[3][2];             ///< -1: the mirror image of a cell beyond a wall
} Around8;

static Around8 around_point(const BrimSim *s, const double xi[3]) {
    Around8 a = {.slope = {-1, 1}};
    for (int k = 0; k < 3; k++) {
        a.weight[k][0] = 1, a.sign[k][0] = a.sign[k][1] = 1;
        if (k >= s->dim) continue;
        double at = xi[k] - 0.5;
        int low = (int)floor(at), last = s->grid.cells[k] - 1;
        a.weight[k][1] = at - low, a.weight[k][0] = 1 - a.weight[k][1];
        for (int i = 0; i < 2; i++) {
            int c = low + i, in = c < 0 ? 0 : c > last ? last : c;
            a.cell[k][i] = in, a.sign[k][i] = in == c ? 1 : -1;
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
    s->particles.key[i] = cell_key(&s->grid, s->inv_dx, x[0][i], x[1][i], x[2][i]);
}

// ------------------------------------------------------------------------------ particles -> grid

static size_t block_floats(const BrimSim *s) {
    return (size_t)NUMBERS * EDGE * EDGE * (s->dim == 3 ? EDGE : 1);
}

/// Place of a cell in a tile's block.
static float *block_at(float *block, const int low[3], int x, int y, int z, int dim) {
    int at = ((dim == 3 ? z - low[2] + 1 : 0) * EDGE + y - low[1] + 1) * EDGE + x - low[0] + 1;
    return block + (size_t)NUMBERS * (size_t)at;
}

static void scatter_tile(BrimSim *s, int slot, int thread, void *context) {
    if (s->block_at[slot] < 0) return;
    const TileCoord t = s->grid.coord[slot];
    const int low[3] = {t.x * TILE, t.y * TILE, t.z * TILE};
    const WarpMap *m = &s->warp->mesh.map;
    Particles *p = &s->particles;
    bool affine = particles_carry(p, ROW_AFFINE);
    float *block = warp_block(s, slot, block_floats(s));
    memset(block, 0, block_floats(s) * sizeof *block);
    for (uint32_t n = tile_first(p, &s->grid, slot); n < tile_end(p, &s->grid, slot); n++) {
        double xi[3], x[3] = {0};
        warp_particle(s, n, xi);
        Around8 a = around_point(s, xi);
        if (affine) map_to_space(m, xi, x);
        for (int c = 0; c < 1 << s->dim; c++) {
            const int i[3] = {c & 1, c >> 1 & 1, c >> 2};
            const int at[3] = {a.cell[0][i[0]], a.cell[1][i[1]], a.cell[2][i[2]]};
            double w =
                a.weight[0][i[0]] * a.weight[1][i[1]] * a.weight[2][i[2]] * warp_volume(s, n);
            float *to = block_at(block, low, at[0], at[1], at[2], s->dim);
            double centre[3] = {0};
            if (affine) {
                // a mirror image gives what the particle gives to the ghost beyond the wall
                double ghost[3] = {at[0] + 0.5, at[1] + 0.5, s->dim == 3 ? at[2] + 0.5 : 0};
                map_to_space(m, ghost, centre);
                for (int k = 0; k < s->dim; k++)
                    if (a.sign[k][i[k]] < 0)
                        centre[k] = at[k] == 0 ? -centre[k] : 2.0 * s->grid.cells[k] - centre[k];
            }
            to[0] += (float)w;
            for (int k = 0; k < s->dim; k++) {
                double v = (double)p->attr[ATTR_VX + k][n];
                for (int b = 0; affine && b < s->dim; b++)
                    v += (double)p->attr[ATTR_AFFINE + 3 * k + b][n] * (centre[b] - x[b]);
                to[1 + k] += (float)(w * a.sign[k][i[k]] * v);
            }
        }
    }
}

static void gather_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const size_t base = (size_t)slot * (size_t)g->tile_cells;
    TileMask inside = mask_inside(g, slot), known = {{0}};
    for (int i = 0; i < g->tile_cells; i++) {
        const int at[3] = {i & 7, i >> 3 & 7, i >> 6};
        float sum[NUMBERS] = {0};
        for (int n = 0; n < 27; n++) {
            int32_t from = g->neighbour[slot][n];
            if (from < 0 || s->block_at[from] < 0) continue;
            int place[3], d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
            bool near = true;
            for (int a = 0; a < s->dim; a++) {
                place[a] = at[a] - TILE * d[a];
                near = near && place[a] >= -1 && place[a] <= TILE;
            }
            if (!near) continue;
            float *block = warp_block(s, from, block_floats(s));
            const int zero[3] = {0, 0, 0};
            const float *v =
                block_at(block, zero, place[0], place[1], s->dim == 3 ? place[2] : 0, s->dim);
            for (int k = 0; k < NUMBERS; k++) sum[k] += v[k];
        }
        bool here = (double)sum[0] > WEIGHT_MIN && mask_has(&inside, i);
        if (here) known.slice[i >> 6] |= (uint64_t)1 << (i & 63);
        for (int a = 0; a < s->dim; a++) {
            float v = here ? sum[1 + a] / sum[0] : 0;
            s->velocity[a][base + (size_t)i] = v;
            if (s->old[a]) s->old[a][base + (size_t)i] = v;
        }
    }
    mask_store(g, s->known[0], slot, &known);
}

bool warp_blocks(BrimSim *s, size_t floats) {
    size_t blocks = 0;
    for (int t = 0; t < s->grid.tile_count; t++) {
        bool any = tile_first(&s->particles, &s->grid, t) != tile_end(&s->particles, &s->grid, t);
        s->block_at[t] = any ? (int32_t)blocks++ : -1;
    }
    return work_fit(&s->work, blocks * floats);
}

BrimResult warp_to_grid(BrimSim *s, BrimError *error) {
    if (!warp_blocks(s, block_floats(s))) return step_out_of_memory(s, "to_grid", error);
    tiles_for(s, scatter_tile, NULL);
    tiles_for(s, gather_tile, NULL);
    memcpy(s->own, s->known[0], sim_rows(s));
    return BRIM_OK;
}

// ---------------------------------------------------------------------------------- extrapolation

/// Fields that reach beyond the cells where they are known.
typedef struct Growth {
    float *const *field, *const *other; ///< other may have no arrays
    const uint8_t *known;
    uint8_t *next;
} Growth;

/// Cells beside known ones take their mean. Reads known cells and writes others. => next
static void grow_tile(BrimSim *s, int slot, int thread, void *context) {
    const Growth *w = context;
    const Grid *g = &s->grid;
    TileMask near[6], known = mask_load(g, w->known, slot), inside = mask_inside(g, slot);
    TileMask next = known;
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
            for (int a = 0; a < s->dim; a++) {
                w->field[a][me] = sum[a] / (float)count;
                if (w->other[a]) w->other[a][me] = second[a] / (float)count;
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
    for (int i = 0; i < g->tile_cells; i++) {
        if (mask_has(&known, i)) continue;
        for (int a = 0; a < s->dim; a++) {
            size_t me = (size_t)slot * (size_t)g->tile_cells + (size_t)i;
            w->field[a][me] = NAN;
            if (w->other[a]) w->other[a][me] = NAN;
        }
    }
}

void warp_grow(BrimSim *s, int layers, float *const field[3], float *const other[3], uint8_t *known,
               uint8_t *next) {
    Growth growth = {field, other, known, next};
    for (int k = 0; k < layers; k++) {
        tiles_for(s, grow_tile, &growth);
        memcpy(known, next, sim_rows(s));
    }
    tiles_for(s, forget_tile, &growth);
}

BrimResult warp_extrapolate(BrimSim *s, BrimError *error) {
    for (size_t i = 0; i < sim_rows(s); i++) // cells with a velocity of their own
        s->known[0][i] = s->own[i] | (pressure_acts(s) ? s->liquid[i] : 0);
    warp_grow(s, reach_cells(reach_estimate(s)) + 1, s->velocity, s->old, s->known[0], s->known[1]);
    for (int t = 0; t < s->grid.tile_count; t++) s->tile_speed[t] = (float)s->max_speed;
    return BRIM_OK;
}

// ------------------------------------------------------------------------------ grid -> particles

/// APIC: change of velocity over one cell in space, sum of u (J^-1 grad w)^T.
static void take_gradient(BrimSim *s, uint32_t n, const double xi[3]) {
    double J[3][3], inverse[3][3], C[3][3] = {{0}};
    Around8 a = around_point(s, xi);
    map_jacobian(&s->warp->mesh.map, xi, J);
    matrix_invert(J, inverse);
    for (int c = 0; c < 1 << s->dim; c++) {
        const int i[3] = {c & 1, c >> 1 & 1, c >> 2};
        int64_t at = grid_cell(&s->grid, a.cell[0][i[0]], a.cell[1][i[1]], a.cell[2][i[2]]);
        double slope[3] = {0};
        if (at < 0 || isnan(s->velocity[0][at])) return;
        for (int k = 0; k < s->dim; k++) {
            double v = a.slope[i[k]];
            for (int o = 0; o < s->dim; o++)
                if (o != k) v *= a.weight[o][i[o]];
            for (int b = 0; b < s->dim; b++) slope[b] += inverse[b][k] * v;
        }
        for (int k = 0; k < s->dim; k++)
            for (int b = 0; b < s->dim; b++)
                C[k][b] += a.sign[k][i[k]] * (double)s->velocity[k][at] * slope[b];
    }
    for (int k = 0; k < 3; k++)
        for (int b = 0; b < 3; b++) s->particles.attr[ATTR_AFFINE + 3 * k + b][n] = (float)C[k][b];
}

static void give_tile(BrimSim *s, int slot, int thread, void *context) {
    Particles *p = &s->particles;
    bool affine = particles_carry(p, ROW_AFFINE);
    double ratio = affine ? 0 : (double)s->def.flip_ratio;
    for (uint32_t n = tile_first(p, &s->grid, slot); n < tile_end(p, &s->grid, slot); n++) {
        double xi[3], now[3], before[3] = {0};
        warp_particle(s, n, xi);
        if (!warp_sample(s, s->velocity, xi, now)) continue;
        if (!affine && !warp_sample(s, s->old, xi, before)) continue;
        for (int a = 0; a < s->dim; a++) {
            float *v = &p->attr[ATTR_VX + a][n];
            *v = (float)(ratio * ((double)*v - before[a]) + now[a]);
        }
        if (affine) take_gradient(s, n, xi);
    }
}

BrimResult warp_to_particles(BrimSim *s, BrimError *error) {
    tiles_for(s, give_tile, NULL);
    return BRIM_OK;
}

// --------------------------------------------------------------------------------------- advection

/// Velocity in space at a point of the old mesh; a particle flies on where the grid knows none.
static void velocity_at(const BrimSim *s, const double xi[3], uint32_t n, double u[3]) {
    if (warp_sample(s, s->velocity, xi, u)) return;
    for (int a = 0; a < 3; a++) u[a] = (double)s->particles.attr[ATTR_VX + a][n];
}

/// The point that a velocity leads to in `time`, looked up in reference space, cells.
static void step_from(const BrimSim *s, const double inverse[3][3], const double xi[3],
                      const double u[3], double time, double out[3]) {
    double rate[3];
    warp_pull_back(inverse, u, rate);
    for (int a = 0; a < 3; a++)
        out[a] = a < s->dim
                     ? fmin(fmax(xi[a] + time * (double)s->inv_dx * rate[a], 0), s->grid.cells[a])
                     : 0;
}

/// Moves in space along the flow of the old mesh, then finds the place in the new one: rest and
/// uniform flow are exact however the mesh moves.
static void advect_tile(BrimSim *s, int slot, int thread, void *context) {
    static const double SIDE = 1e-3; // cells that particles keep from the sides
    const WarpMap *old = &s->warp->mesh.before, *new = &s->warp->mesh.map;
    const double dt = s->dt;
    Particles *p = &s->particles;
    for (uint32_t n = tile_first(p, &s->grid, slot); n < tile_end(p, &s->grid, slot); n++) {
        double xi[3], x[3], J[3][3], inverse[3][3], k1[3], k2[3], k3[3], at[3], way[3];
        warp_particle(s, n, xi);
        map_point(old, xi, x, J);
        matrix_invert(J, inverse);
        velocity_at(s, xi, n, k1);
        if (s->def.advection == BRIM_ADVECTION_RK3) { // Ralston's
            step_from(s, inverse, xi, k1, 0.5 * dt, at);
            velocity_at(s, at, n, k2);
            step_from(s, inverse, xi, k2, 0.75 * dt, at);
            velocity_at(s, at, n, k3);
            for (int a = 0; a < 3; a++) way[a] = (2 * k1[a] + 3 * k2[a] + 4 * k3[a]) / 9;
        } else {
            step_from(s, inverse, xi, k1, 0.5 * dt, at);
            velocity_at(s, at, n, way);
        }
        step_from(s, inverse, xi, way, dt, at);
        for (int a = 0; a < s->dim; a++) {
            x[a] += dt * (double)s->inv_dx * way[a];
            x[a] = fmin(fmax(x[a], SIDE), s->grid.cells[a] - SIDE);
        }
        map_to_reference(new, x, at, 1e-6, 12); // single precision holds no more
        for (int a = 0; a < s->dim; a++) {
            double in = fmin(fmax(at[a], 0.5 * SIDE), s->grid.cells[a] - 0.5 * SIDE);
            p->attr[ATTR_X + a][n] = (float)(in * (double)s->dx);
        }
        warp_key(s, n);
    }
}

BrimResult warp_advect(BrimSim *s, BrimError *error) {
    BrimResult r = warp_move_mesh(s, error);
    if (r != BRIM_OK) return r;
    for (size_t i = 0; s->particles.attr[ATTR_AGE] && i < s->particles.count; i++)
        s->particles.attr[ATTR_AGE][i] += (float)s->dt;
    tiles_for(s, advect_tile, NULL);
    int reach = reach_cells(reach_estimate(s) + 1); // the mesh moves too
    for (int t = 0; t < s->grid.tile_count; t++) s->tile_reach[t] = (uint8_t)reach;
    return BRIM_OK;
}

static void place_tile(BrimSim *s, int slot, int thread, void *context) {
    Particles *p = &s->particles;
    for (uint32_t n = tile_first(p, &s->grid, slot); n < tile_end(p, &s->grid, slot); n++) {
        double xi[3], x[3];
        warp_particle(s, n, xi);
        map_to_space(&s->warp->mesh.map, xi, x);
        for (int a = 0; a < 3; a++)
            s->warp->space[a][n] = a < s->dim ? (float)(x[a] * (double)s->dx) : 0;
    }
}

bool warp_place(BrimSim *s) {
    WarpState *w = s->warp;
    if (s->particles.count + PARTICLE_PADDING > w->space_capacity) {
        size_t capacity = 0, room = s->particles.capacity + PARTICLE_PADDING;
        for (int a = 0; a < 3; a++) {
            capacity = w->space_capacity;
            if (!memory_fit((void **)&w->space[a], &capacity, sizeof(float), room)) return false;
        }
        w->space_capacity = capacity;
    }
    tiles_for(s, place_tile, NULL);
    return true;
}

// ------------------------------------------------------------------------------------------ forces

static void push_tile(BrimSim *s, int slot, int thread, void *context) {
    const float *add = context;
    TileMask known = mask_load(&s->grid, s->known[0], slot);
    for (int i = 0; i < s->grid.tile_cells; i++)
        for (int a = 0; a < s->dim && mask_has(&known, i); a++)
            s->velocity[a][(size_t)slot * (size_t)s->grid.tile_cells + (size_t)i] += add[a];
}

BrimResult warp_forces(BrimSim *s, BrimError *error) {
    double kick = s->kick_now;
    BrimVec3 g = gravity_at(s, s->velocity_time + 0.5 * kick);
    float add[3] = {(float)(g.x * kick), (float)(g.y * kick), (float)(g.z * kick)};
    tiles_for(s, push_tile, add);
    s->velocity_time += kick;
    return BRIM_OK;
}
