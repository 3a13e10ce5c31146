// Stage stress: MPM sub-steps. Particles have been moved by the projected flow; each sub-step adds
// what pressure and friction between them do to velocities and positions:
//   m_i = sum N m_a, u_i = sum N m_a u_a / m_i, rho_a = sum N m_i, G_a = sum u_i grad N
//   S_a = -p_a + 2 nu D_a, p_a = c^2 max(rho_a - 1, 0): no tension, or the surface pulls itself in
//   f_i = -sum V_a S_a grad N, u_a += dt sum N f_i / m_i, x_a += dt (what sub-steps gave u_a)
// Masses and volumes are in full cells, lengths in cells.
#include "liquid/mpm.h"
#include "band/band.h"
#include "base/memory.h"
#include "step/scatter.h"
#include "step/stages.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Cells that all sub-steps of a step may move a particle along an axis: as far as blocks reach.
static const float MOVED_MOST = 0.5f;
static const double SOUND_MOST = 0.5, FRICTION_MOST = 1.0 / 6; // in cells, cells^2 a sub-step
enum { SUBSTEPS_MOST = 256 };
/// Nodes with less have no velocity.
static const float MASS_MIN = 1e-9f;

/// Four nodes along x.
typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));

void mpm_free(BrimSim *s) {
    for (int a = 0; a < 3; a++) free(s->mpm.push[a]);
}

/// Weights of four nodes and their slopes, as polynomials in f.
static inline void spline(float f, Four *weight, Four *slope) {
    const Four a = {-1.0f / 6, 0.5f, -0.5f, 1.0f / 6}, b = {0.5f, -1, 0.5f, 0};
    const Four c = {-0.5f, 0, 0.5f, 0}, d = {1.0f / 6, 2.0f / 3, 1.0f / 6, 0};
    *weight = ((a * f + b) * f + c) * f + d;
    *slope = (3 * a * f + 2 * b) * f + c;
}

void mpm_weights(float f, float weight[4], float slope[4]) {
    Four w, d;
    spline(f, &w, &d);
    for (int k = 0; k < 4; k++) weight[k] = w[k], slope[k] = d[k];
}

int mpm_substeps(const BrimSim *s, double dt) {
    double friction = s->def.mpm_viscosity / s->def.density * dt / ((double)s->dx * s->dx);
    double need = fmax(s->def.mpm_sound / SOUND_MOST, friction / FRICTION_MOST);
    return (int)fmin(fmax(s->def.mpm_substeps, ceil(need - 1e-9)), SUBSTEPS_MOST);
}

/// The nodes that a particle reaches: the first of them in a block, weights and slopes.
typedef struct Stencil {
    int at;
    Four w[3], d[3];
} Stencil;

static inline Stencil stencil_of(const Span *p, uint32_t i, const int dim) {
    Stencil st;
    int cell[3] = {0};
    for (int a = 0; a < dim; a++) {
        float x = span_at(p, a, i) - 0.5f;
        x = x < 1 ? 1 : x < (float)MPM_EDGE - 2.001f ? x : (float)MPM_EDGE - 2.001f;
        cell[a] = (int)x - 1;
        spline(x - (float)(cell[a] + 1), &st.w[a], &st.d[a]);
    }
    st.at = (cell[2] * MPM_EDGE + cell[1]) * MPM_EDGE + cell[0];
    return st;
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
    float time, sound2; ///< s; (cells/s)^2
    float friction;     ///< cells^2/s
    float most;         ///< cells that it may move a particle
    int parts;          ///< components of the first sums: momentum counts only with friction
} SubStep;

static float *block_of(const BrimSim *s, int slot) {
    return scatter_block(s, slot, 4 * MPM_BLOCK);
}

static void clear_block(const BrimSim *s, float *block, int first, int end) {
    for (int n = first; n < end; n++)
        memset(block + n * MPM_BLOCK, 0,
               (size_t)(MPM_EDGE * MPM_EDGE * depth_of(s)) * sizeof *block);
}

static inline Four *row_of(float *nodes, const Stencil *st, int y, int z) {
    return (Four *)(void *)(nodes + st->at + (z * MPM_EDGE + y) * MPM_EDGE);
}
static inline float dot(Four a, Four b) {
    Four c = a * b;
    return (c[0] + c[1]) + (c[2] + c[3]);
}

/// Mass, and with friction momentum, of a tile's particles. context: SubStep
static void scatter_mass(BrimSim *s, int slot, int thread, void *context) {
    if (s->scatter_at[slot] < 0) return;
    const int parts = ((const SubStep *)context)->parts, dim = s->dim;
    float *block = block_of(s, slot);
    Span p = sim_span(s, slot, MPM_HALO);
    const float mass = 1.0f / (float)s->def.particles_per_cell;
    clear_block(s, block, 0, parts);
    for (int i = 0; i < p.count; i++) {
        Stencil st = stencil_of(&p, (uint32_t)i, dim);
        Four along = st.w[0] * mass;
        float value[4] = {1, p.attr[ATTR_VX][i], p.attr[ATTR_VY][i], p.attr[ATTR_VZ][i]};
        for (int z = 0; z < (dim == 3 ? 4 : 1); z++)
            for (int y = 0; y < 4; y++) {
                Four w = along * (dim == 3 ? st.w[1][y] * st.w[2][z] : st.w[1][y]);
                for (int n = 0; n < parts; n++)
                    *row_of(block + n * MPM_BLOCK, &st, y, z) += w * value[n];
            }
    }
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
    for (int n = 1; n < ((const SubStep *)context)->parts; n++) {
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

/// A component where a particle is; of the mass: its density.
static float mean_at(float *nodes, const Stencil *st, const int dim) {
    Four sum = {0};
    for (int z = 0; z < (dim == 3 ? 4 : 1); z++)
        for (int y = 0; y < 4; y++)
            sum += *row_of(nodes, st, y, z) * (dim == 3 ? st->w[1][y] * st->w[2][z] : st->w[1][y]);
    return dot(sum, st->w[0]);
}

/// Slope of a component over a cell along each axis.
static void slope_at(float *nodes, const Stencil *st, float slope[3], const int dim) {
    Four plain = {0}, along_y = {0}, along_z = {0};
    for (int z = 0; z < (dim == 3 ? 4 : 1); z++)
        for (int y = 0; y < 4; y++) {
            Four row = *row_of(nodes, st, y, z);
            float wz = dim == 3 ? st->w[2][z] : 1, dz = dim == 3 ? st->d[2][z] : 0;
            plain += row * (st->w[1][y] * wz);
            along_y += row * (st->d[1][y] * wz);
            along_z += row * (st->w[1][y] * dz);
        }
    slope[0] = dot(plain, st->d[0]);
    slope[1] = dot(along_y, st->w[0]), slope[2] = dot(along_z, st->w[0]);
}

/// -V_a S_a of a particle, in cells^3/s^2. Returns whether there is any.
static bool stress_at(const BrimSim *s, const SubStep *sub, float *nodes, const Stencil *st,
                      float T[3][3]) {
    float G[3][3] = {{0}}, density = mean_at(nodes, st, s->dim);
    float pressure = density > 1 ? sub->sound2 * (density - 1) : 0;
    if (!(pressure > 0) && sub->parts == 1) return false;
    for (int a = 0; a + 1 < sub->parts; a++) {
        slope_at(nodes + (a + 1) * MPM_BLOCK, st, G[a], s->dim);
        for (int b = 0; b < 3; b++) G[a][b] *= s->inv_dx;
    }
    float volume = 1 / ((float)s->def.particles_per_cell * (density > 0.1f ? density : 0.1f));
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            T[a][b] = volume * ((a == b ? pressure : 0) - sub->friction * (G[a][b] + G[b][a]));
    return true;
}

/// Forces of a tile's particles on nodes. context: SubStep
static void scatter_force(BrimSim *s, int slot, int thread, void *context) {
    if (s->scatter_at[slot] < 0) return;
    const SubStep *sub = context;
    const int dim = s->dim;
    float *block = block_of(s, slot), *nodes = s->scratch[thread].block[0];
    Span p = sim_span(s, slot, MPM_HALO);
    load_nodes(s, slot, s->node_mass, 0, nodes);
    for (int n = 1; n < sub->parts; n++) load_nodes(s, slot, s->node_velocity[n - 1], n, nodes);
    clear_block(s, block, 1, dim + 1);
    for (int i = 0; i < p.count; i++) {
        Stencil st = stencil_of(&p, (uint32_t)i, dim);
        Four w = st.w[0], d = st.d[0];
        float T[3][3];
        if (!stress_at(s, sub, nodes, &st, T)) continue;
        for (int z = 0; z < (dim == 3 ? 4 : 1); z++)
            for (int y = 0; y < 4; y++) {
                float wz = dim == 3 ? st.w[2][z] : 1, dz = dim == 3 ? st.d[2][z] : 0;
                float wy = st.w[1][y], dy = st.d[1][y];
                for (int a = 0; a < dim; a++)
                    *row_of(block + (a + 1) * MPM_BLOCK, &st, y, z) +=
                        d * (T[a][0] * wy * wz) + w * (T[a][1] * dy * wz + T[a][2] * wy * dz);
            }
    }
    mirror_walls(s, slot, block, 1, dim + 1, true);
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

/// Moves a particle as far as nothing is in its way.
static void shift_particle(const BrimSim *s, const Span *p, int i, const float way[3],
                           const float low[3], const float high[3], bool solid) {
    float at[3] = {0}, was[3] = {0}, slope[3];
    for (int a = 0; a < s->dim; a++) {
        was[a] = p->attr[ATTR_X + a][i];
        float to = was[a] + way[a];
        at[a] = to < low[a] ? low[a] : to < high[a] ? to : high[a];
    }
    if (solid && solid_lookup(s, at, slope) < 0 &&
        solid_lookup(s, at, slope) < solid_lookup(s, was, slope))
        return;
    for (int a = 0; a < s->dim; a++) p->attr[ATTR_X + a][i] = at[a];
}

/// Velocities and positions of a tile's particles. (node_push) => x, v, push
static void push_particles(BrimSim *s, int slot, int thread, void *context) {
    if (s->scatter_at[slot] < 0) return;
    const SubStep *sub = context;
    float *nodes = s->scratch[thread].block[0];
    Span p = sim_span(s, slot, MPM_HALO);
    uint32_t first = tile_first(&s->particles, slot);
    float low[3], high[3], most = sub->most * s->dx;
    bool solid = solid_near(s, slot);
    domain_box(s, low, high);
    for (int a = 0; a < s->dim; a++) load_nodes(s, slot, s->node_push[a], a + 1, nodes);
    for (int i = 0; i < p.count; i++) {
        Stencil st = stencil_of(&p, (uint32_t)i, s->dim);
        float way[3] = {0};
        for (int a = 0; a < s->dim; a++) {
            float *given = &s->mpm.push[a][first + (uint32_t)i];
            float more = sub->time * mean_at(nodes + (a + 1) * MPM_BLOCK, &st, s->dim);
            p.attr[ATTR_VX + a][i] += more;
            *given += more;
            way[a] = sub->time * *given;
            way[a] = way[a] < -most ? -most : way[a] < most ? way[a] : most;
        }
        shift_particle(s, &p, i, way, low, high, solid);
    }
}

// ------------------------------------------------------------------------------------- what rests

/// What fills a cell besides particles: solids, and liquid below a band.
static float rest_of(const BrimSim *s, int64_t cell) {
    if (cell < 0) return 0;
    float solid = s->walls.solid_count ? solid_volume_of(s, cell) : 0;
    return has_band(s) && band_bit(s->hidden, cell) ? 1 : solid;
}

/// => node_rest: by the spline of a point in each cell's middle, 1/6, 2/3, 1/6 along an axis
static void weigh_rest(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    float *out = s->node_rest + (size_t)slot * (size_t)g->tile_cells;
    memset(out, 0, (size_t)g->tile_cells * sizeof *out);
    bool near = solid_near(s, slot) || (has_band(s) && band_any_near(s, s->hidden, slot));
    if (!near) return;
    static const float part[3] = {1.0f / 6, 2.0f / 3, 1.0f / 6};
    TileCoord c = g->coord[slot];
    for (int i = 0; i < g->tile_cells; i++) {
        const int me[3] = {c.x * TILE + (i & 7), c.y * TILE + (i >> 3 & 7), c.z * TILE + (i >> 6)};
        for (int n = 0; n < (s->dim == 3 ? 27 : 9); n++) {
            const int d[3] = {n % 3, n / 3 % 3, s->dim == 3 ? n / 9 : 1};
            int at[3];
            float w = 1;
            for (int a = 0; a < 3; a++) {
                at[a] = me[a] + d[a] - 1;
                if (a < s->dim) w *= part[d[a]];
                if (at[a] < 0 && !s->sides.open[2 * a]) at[a] = 0; // its image
                if (at[a] >= g->cells[a] && !s->sides.open[2 * a + 1]) at[a] = g->cells[a] - 1;
            }
            out[i] += w * rest_of(s, grid_cell(g, at[0], at[1], at[2]));
        }
    }
}

static void find_tile_keys(BrimSim *s, int slot, int thread, void *context) {
    find_keys(s, slot);
}

static bool reserve(BrimSim *s) {
    bool ok = true;
    for (int a = 0; a < s->dim && ok; a++) {
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
    SubStep sub = {(float)(s->dt / count), (float)(sound * sound), (float)friction,
                   MOVED_MOST / (float)count, friction > 0 ? s->dim + 1 : 1};
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
