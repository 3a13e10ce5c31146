// Stage stress: MPM sub-steps. Particles have been moved by the projected flow; each sub-step adds
// what pressure and friction between them do to velocities and positions:
//   m_i = sum N m_a, u_i = sum N m_a u_a / m_i, rho_a = sum N m_i, G_a = sum u_i grad N
//   S_a = -p_a + 2 nu D_a, p_a = c^2 max(rho_a - 1, 0): no tension, or the surface pulls itself in
//   f_i = -sum V_a S_a grad N, u_a += dt sum N f_i / m_i, x_a += dt (what sub-steps gave u_a)
// Masses and volumes are in full cells, lengths in cells.
#include "liquid/mpm.h"
#include "band/band.h"
#include "base/memory.h"
#include "liquid/mpm_kernels.h"
#include "step/scatter.h"
#include "step/stages.h"
#include "walls/lookup.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Cells that all sub-steps of a step may move a particle along an axis: as far as blocks reach.
static const float MOVED_MOST = 0.5f;
static const double SOUND_MOST = 0.5, FRICTION_MOST = 1.0 / 6; // in cells, cells^2 a sub-step
enum { SUBSTEPS_MOST = 256 };
/// Nodes with less have no velocity.
static const float MASS_MIN = 1e-9f;

void mpm_free(BrimSim *s) {
    for (int a = 0; a < 3; a++) free(s->mpm.push[a]);
}

void mpm_weights(float f, float weight[4], float slope[4]) {
    f4 w, d;
    mpm_spline(f, &w, &d);
    for (int k = 0; k < 4; k++) weight[k] = w[k], slope[k] = d[k];
}

int mpm_substeps(const BrimSim *s, double dt) {
    double friction = s->def.mpm_viscosity / s->def.density * dt / ((double)s->dx * s->dx);
    double need = fmax(s->def.mpm_sound / SOUND_MOST, friction / FRICTION_MOST);
    return (int)fmin(fmax(s->def.mpm_substeps, ceil(need - 1e-9)), SUBSTEPS_MOST);
}

/// Nodes of a block along z.
static int depth_of(const BrimSim *s) {
    return s->dim == 3 ? MPM_EDGE : 1;
}

// --------------------------------------------------------------------------------- nodes at walls
// A block holds components one after the other: mass, then momentum; or mass, then velocity; or
// nothing, then force.

/// What a particle gives to a node beyond a wall its mirror image gives to one inside. join: adds
/// what is beyond to that inside, else takes it from there. sign: of a component across the wall.
static void mirror_layer(float *nodes, int depth, int axis, int beyond, int inside, bool join,
                         float sign) {
    const int stride[3] = {1, MPM_EDGE, MPM_EDGE * MPM_EDGE};
    for (int z = 0; z < (axis == 2 ? 1 : depth); z++)
        for (int k = 0; k < (axis == 2 ? MPM_EDGE * MPM_EDGE : MPM_EDGE); k++) {
            int base = axis == 2   ? k
                       : axis == 1 ? z * stride[2] + k
                                   : (z * MPM_EDGE + k) * MPM_EDGE;
            float *out = &nodes[base + beyond * stride[axis]];
            float *in = &nodes[base + inside * stride[axis]];
            if (join)
                *in += sign * *out;
            else
                *out = sign * *in;
        }
}

/// All components [first, end) of a tile's block.
static void mirror_walls(const BrimSim *s, int slot, float *block, int first, int end, bool join) {
    const Grid *g = &s->grid;
    const int16_t c[3] = {g->coord[slot].x, g->coord[slot].y, g->coord[slot].z};
    for (int n = first; n < end; n++)
        for (int a = 0; a < s->dim; a++) {
            float *nodes = block + n * MPM_BLOCK, sign = n == a + 1 ? -1 : 1;
            int far = g->cells[a] - c[a] * TILE + MPM_HALO; // first node beyond the far wall
            for (int k = 0; k < MPM_HALO; k++) {
                if (c[a] == 0 && !s->sides.open[2 * a])
                    mirror_layer(nodes, depth_of(s), a, MPM_HALO - 1 - k, MPM_HALO + k, join, sign);
                if (far + k < MPM_EDGE && far - 1 - k >= 0 && !s->sides.open[2 * a + 1])
                    mirror_layer(nodes, depth_of(s), a, far + k, far - 1 - k, join, sign);
            }
        }
}

// --------------------------------------------------------------------------- particles and nodes

/// What a sub-step is.
typedef struct SubStep {
    MpmStress stress;
    float time; ///< s
    float most; ///< cells that it may move a particle
} SubStep;

static float *block_of(const BrimSim *s, int slot) {
    return scatter_block(s, slot, 4 * MPM_BLOCK);
}

static void clear_block(const BrimSim *s, float *block, int first, int end) {
    for (int n = first; n < end; n++)
        memset(block + n * MPM_BLOCK, 0,
               (size_t)(MPM_EDGE * MPM_EDGE * depth_of(s)) * sizeof *block);
}

/// Mass, and with friction momentum, of a tile's particles. context: SubStep
static void scatter_mass(BrimSim *s, int slot, int thread, void *context) {
    if (s->scatter_at[slot] < 0) return;
    const int parts = ((const SubStep *)context)->stress.parts;
    float *block = block_of(s, slot);
    Span p = sim_span(s, slot, MPM_HALO);
    clear_block(s, block, 0, parts);
    mpm_kernels_for(s->isa)->mass(&p, 1.0f / (float)s->def.particles_per_cell, parts, block);
    mirror_walls(s, slot, block, 0, parts, true);
}

/// Sums a component of the blocks that reach a tile at each of its cells => sum [cells]
static void sum_blocks(const BrimSim *s, int slot, int part, float *sum) {
    memset(sum, 0, (size_t)s->grid.tile_cells * sizeof *sum);
    scatter_sum(s, slot, 4 * MPM_BLOCK, (size_t)part * MPM_BLOCK, MPM_HALO, sum);
}

/// => node_mass with what rests, with friction node_velocity
static void gather_mass(BrimSim *s, int slot, int thread, void *context) {
    float mass[TILE * TILE * TILE], momentum[TILE * TILE * TILE];
    size_t base = (size_t)slot * (size_t)s->grid.tile_cells;
    sum_blocks(s, slot, 0, mass);
    for (int i = 0; i < s->grid.tile_cells; i++)
        s->node_mass[base + (size_t)i] = mass[i] + s->node_rest[base + (size_t)i];
    for (int n = 1; n < ((const SubStep *)context)->stress.parts; n++) {
        sum_blocks(s, slot, n, momentum);
        for (int i = 0; i < s->grid.tile_cells; i++)
            s->node_velocity[n - 1][base + (size_t)i] =
                mass[i] > MASS_MIN ? momentum[i] / mass[i] : 0;
    }
}

/// A field of nodes around a tile as component `part` of a block.
static void load_nodes(const BrimSim *s, int slot, const float *field, int part, float *block) {
    block_load(&s->grid, slot, field, PLACE_CELL, &s->sides, MPM_HALO, 0, block + part * MPM_BLOCK);
    mirror_walls(s, slot, block, part, part + 1, false);
}

/// Forces of a tile's particles on nodes. context: SubStep
static void scatter_force(BrimSim *s, int slot, int thread, void *context) {
    if (s->scatter_at[slot] < 0) return;
    const SubStep *sub = context;
    float *block = block_of(s, slot), *nodes = s->scratch[thread].block[0];
    Span p = sim_span(s, slot, MPM_HALO);
    load_nodes(s, slot, s->node_mass, 0, nodes);
    for (int n = 1; n < sub->stress.parts; n++)
        load_nodes(s, slot, s->node_velocity[n - 1], n, nodes);
    clear_block(s, block, 1, s->dim + 1);
    mpm_kernels_for(s->isa)->force(&p, &sub->stress, nodes, block);
    mirror_walls(s, slot, block, 1, s->dim + 1, true);
}

/// => node_push: force over mass, m/s^2
static void gather_force(BrimSim *s, int slot, int thread, void *context) {
    float sum[TILE * TILE * TILE];
    size_t base = (size_t)slot * (size_t)s->grid.tile_cells;
    for (int a = 0; a < s->dim; a++) {
        sum_blocks(s, slot, a + 1, sum);
        for (int i = 0; i < s->grid.tile_cells; i++) {
            float mass = s->node_mass[base + (size_t)i];
            s->node_push[a][base + (size_t)i] = mass > MASS_MIN ? sum[i] / mass * s->dx : 0;
        }
    }
}

/// Where particles of a tile may go.
typedef struct Reach {
    float low[3], high[3]; ///< of the domain
    bool solid;            ///< one is near
} Reach;

/// Whether a point is in a cell that no solid reaches into.
static bool in_open_cell(const BrimSim *s, const float at[3]) {
    int cell[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        cell[a] = (int)space_to_grid(s->space, at[a]);
        if (cell[a] >= s->grid.cells[a]) cell[a] = s->grid.cells[a] - 1;
    }
    int64_t i = grid_cell(&s->grid, cell[0], cell[1], cell[2]);
    return i >= 0 && solid_volume_of(s, i) == 0;
}

/// Moves particles along an axis, from `from` on. more: acceleration, m/s^2
static void push_axis(BrimSim *s, const SubStep *sub, const Span *p, uint32_t first, int from,
                      int n, int axis, float (*more)[MPM_MEANS], const Reach *reach) {
    const float most = sub->most * s->dx, time = sub->time;
    const float low = reach->low[axis], high = reach->high[axis];
    float *restrict x = p->attr[ATTR_X + axis] + from, *restrict v = p->attr[ATTR_VX + axis] + from;
    float *restrict given = s->mpm.push[axis] + first + (uint32_t)from;
    for (int i = 0; i < n; i++) {
        float part = time * more[axis][i];
        v[i] += part, given[i] += part;
        float way = time * given[i];
        way = way < -most ? -most : way < most ? way : most;
        float to = x[i] + way;
        x[i] = to < low ? low : to < high ? to : high;
    }
}

/// Whether a particle has gone into a solid, or deeper into it.
static bool has_entered(const BrimSim *s, const float was[3], const float at[3]) {
    if (in_open_cell(s, at)) return false;
    const float distance = solid_value(s, at);
    return distance < 0 && distance < solid_value(s, was);
}

/// What nodes give to some of a tile's particles goes to their velocities and positions, as far as
/// nothing is in the way.
static void push_some(BrimSim *s, const SubStep *sub, const Span *p, uint32_t first, int from,
                      int n, float (*more)[MPM_MEANS], const Reach *reach) {
    float was[3][MPM_MEANS];
    for (int a = 0; a < s->dim; a++) {
        float *x = p->attr[ATTR_X + a] + from;
        if (reach->solid) memcpy(was[a], x, (size_t)n * sizeof *x);
        push_axis(s, sub, p, first, from, n, a, more, reach);
    }
    for (int i = 0; i < n && reach->solid; i++) {
        float old[3] = {0}, at[3] = {0};
        for (int a = 0; a < s->dim; a++) old[a] = was[a][i], at[a] = p->attr[ATTR_X + a][from + i];
        if (!has_entered(s, old, at)) continue;
        for (int a = 0; a < s->dim; a++) p->attr[ATTR_X + a][from + i] = old[a];
    }
}

/// Velocities and positions of a tile's particles. (node_push) => x, v, push
static void push_particles(BrimSim *s, int slot, int thread, void *context) {
    if (s->scatter_at[slot] < 0) return;
    const int count = MPM_EDGE * MPM_EDGE * depth_of(s);
    float *nodes = s->scratch[thread].block[0];
    float push[4 * MPM_BLOCK], more[3][MPM_MEANS];
    Span p = sim_span(s, slot, MPM_HALO);
    Reach reach = {.solid = solid_near(s, slot)};
    domain_box(s, reach.low, reach.high);
    memset(push, 0, 4 * (size_t)count * sizeof *push);
    for (int n = 1; n <= s->dim; n++) {
        load_nodes(s, slot, s->node_push[n - 1], n, nodes);
        for (int i = 0; i < count; i++) push[4 * i + n] = nodes[n * MPM_BLOCK + i];
    }
    for (int from = 0; from < p.count; from += MPM_MEANS) {
        int n = p.count - from < MPM_MEANS ? p.count - from : MPM_MEANS;
        mpm_kernels_for(s->isa)->mean(&p, push, from, more);
        push_some(s, context, &p, tile_first(&s->particles, slot), from, n, more, &reach);
    }
}

// ------------------------------------------------------------------------------------- what rests

/// What fills a cell besides particles: solids, and liquid below a band.
static float rest_of(const BrimSim *s, int64_t cell) {
    if (cell < 0) return 0;
    float solid = s->walls.solid_count ? solid_volume_of(s, cell) : 0;
    return has_band(s) && band_bit(s->hidden, cell) ? 1 : solid;
}

enum { REST_EDGE = TILE + 2 };

/// What rests in the cells of a tile and around it, beyond walls as their images => rest
static void load_rest(const BrimSim *s, int slot, float rest[REST_EDGE * REST_EDGE * REST_EDGE]) {
    const Grid *g = &s->grid;
    const TileCoord c = g->coord[slot];
    const int first[3] = {c.x * TILE, c.y * TILE, c.z * TILE}, deep = s->dim == 3;
    int n = 0;
    for (int z = -deep; z <= (deep ? TILE : 0); z++)
        for (int y = -1; y <= TILE; y++)
            for (int x = -1; x <= TILE; x++) {
                int at[3] = {first[0] + x, first[1] + y, first[2] + z};
                for (int a = 0; a < s->dim; a++) {
                    if (at[a] < 0 && !s->sides.open[2 * a]) at[a] = 0;
                    if (at[a] >= g->cells[a] && !s->sides.open[2 * a + 1]) at[a] = g->cells[a] - 1;
                }
                rest[n++] = rest_of(s, grid_cell(g, at[0], at[1], at[2]));
            }
}

/// => node_rest: by the spline of a point in each cell's middle, 1/6, 2/3, 1/6 along an axis
static void weigh_rest(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    float *out = s->node_rest + (size_t)slot * (size_t)g->tile_cells;
    memset(out, 0, (size_t)g->tile_cells * sizeof *out);
    bool near = solid_near(s, slot) || (has_band(s) && band_any_near(s, s->hidden, slot));
    if (!near) return;
    static const float part[3] = {1.0f / 6, 2.0f / 3, 1.0f / 6};
    float rest[REST_EDGE * REST_EDGE * REST_EDGE];
    load_rest(s, slot, rest);
    for (int n = 0; n < (s->dim == 3 ? 27 : 9); n++) {
        const int d[3] = {n % 3, n / 3 % 3, n / 9};
        const float w = part[d[0]] * part[d[1]] * (s->dim == 3 ? part[d[2]] : 1);
        for (int r = 0; r < g->tile_rows; r++) {
            const float *in =
                rest + (((r >> 3) + d[2]) * REST_EDGE + (r & 7) + d[1]) * REST_EDGE + d[0];
            for (int x = 0; x < TILE; x++) out[r * TILE + x] += w * in[x];
        }
    }
}

static void find_tile_keys(BrimSim *s, int slot, int thread, void *context) {
    find_keys(s, slot);
}

static bool reserve(BrimSim *s) {
    bool ok = true;
    for (int a = 0; a < s->dim && ok && s->particles.count; a++) {
        size_t capacity = s->mpm.capacity;
        ok = memory_fit((void **)&s->mpm.push[a], &capacity, sizeof(float), s->particles.count);
        if (ok) memset(s->mpm.push[a], 0, s->particles.count * sizeof(float));
        if (ok && a == s->dim - 1) s->mpm.capacity = capacity;
    }
    return ok;
}

BrimResult stage_stress(BrimSim *s, BrimError *error) {
    if (!reserve(s)) return step_out_of_memory(s, "stress", error);
    int count = mpm_substeps(s, s->dt);
    double sound = s->def.mpm_sound / s->dt; // cells/s
    double friction = s->def.mpm_viscosity / s->def.density / ((double)s->dx * s->dx);
    SubStep sub = {.stress = {.sound2 = (float)(sound * sound),
                              .friction = (float)friction,
                              .per_cell = (float)s->def.particles_per_cell,
                              .parts = friction > 0 ? s->dim + 1 : 1},
                   .time = (float)(s->dt / count),
                   .most = MOVED_MOST / (float)count};
    tiles_for(s, weigh_rest, NULL);
    for (int i = 0; i < count; i++) {
        if (!scatter_run(s, &(Scatter){4 * MPM_BLOCK, scatter_mass, gather_mass, &sub}) ||
            !scatter_run(s, &(Scatter){4 * MPM_BLOCK, scatter_force, gather_force, &sub}))
            return step_out_of_memory(s, "stress", error);
        tiles_for(s, push_particles, &sub);
    }
    tiles_for(s, find_tile_keys, NULL);
    return BRIM_OK;
}
