// Stage 3: particles move with the flow.
#include "base/error.h"
#include "emit/convey.h"
#include "step/stages.h"
#include "walls/lookup.h"
#include "walls/sight.h"
#include "walls/solid_fine.h"
#include <math.h>
#include <string.h>

/// Cells that a sub-step may cross.
static const float CELLS_A_SUBSTEP = 1.0f;
/// Sub-steps that a block's particles take at most; what is faster leaves the block.
static const float SUBSTEPS_MOST = 64;
/// The same for those that left it: beyond some forty cells in a step no path means anything.
static const float FAR_SUBSTEPS_MOST = 80;
/// Particles keep this far from the domain's walls, in cells.
static const float WALL_GAP = 1e-3f;

float speed_around(const BrimSim *s, int slot) {
    float fastest = 0;
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && s->tile_speed[t] > fastest) fastest = s->tile_speed[t];
    }
    return fastest;
}

void domain_box(const BrimSim *s, float low[3], float high[3]) {
    for (int a = 0; a < 3; a++) {
        float end = (float)s->grid.cells[a] * s->dx;
        low[a] = s->sides.open[2 * a] ? -s->dx : WALL_GAP * s->dx;
        high[a] = s->sides.open[2 * a + 1] ? end + s->dx : end - WALL_GAP * s->dx;
    }
}

bool solid_near(const BrimSim *s, int slot) {
    if (!s->walls.solid_count) return false;
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && s->tile_solid[t] != SOLID_FAR) return true;
    }
    return false;
}

bool solid_within(const BrimSim *s, int slot, float cells) {
    if (!solid_near(s, slot)) return false;
    if (fine_near(s, slot)) cells += 1; // what is thin may lie between the nodes of cells
    // farther off distances are not known, and on a warped grid they are not everywhere the same
    if (cells >= SOLID_REACH || s->warp) return true;
    return s->solid_at[slot] && s->solid_least[s->solid_at[slot] - 1] <= cells;
}

/// One value of a velocity component by cell, with the rules of block_load outside the domain. Of
/// the flow, not a number where none is known, or of the solids, 0 far from them.
static float face_lookup(const BrimSim *s, bool solids, int axis, int x, int y, int z) {
    int at[3] = {x, y, z};
    for (int a = 0; a < s->dim; a++) {
        int last = s->grid.cells[a] - (a == axis && !s->sides.open[2 * a + 1] ? 0 : 1);
        at[a] = at[a] < 0 ? 0 : at[a] > last ? last : at[a];
    }
    int64_t i = grid_cell(&s->grid, at[0], at[1], at[2]);
    if (!solids) return i < 0 ? NAN : s->velocity[axis][i];
    i = i < 0 ? -1 : solid_cell(s, i);
    return i < 0 ? 0 : s->wall_speed[axis][i];
}

static void faces_lookup(const BrimSim *s, bool solids, const float at[3], float v[3]) {
    for (int axis = 0; axis < s->dim; axis++) {
        float f[3] = {0};
        int cell[3] = {0};
        for (int a = 0; a < s->dim; a++) {
            float x = space_to_grid(s->space, at[a]) - (a == axis ? 0.0f : 0.5f);
            cell[a] = (int)floorf(x);
            f[a] = x - (float)cell[a];
        }
        float sum = 0;
        for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
            float w = 1;
            for (int a = 0; a < s->dim; a++) w *= n >> a & 1 ? f[a] : 1 - f[a];
            if (w > 0)
                sum += w * face_lookup(s, solids, axis, cell[0] + (n & 1), cell[1] + (n >> 1 & 1),
                                       cell[2] + (n >> 2));
        }
        v[axis] = sum;
    }
}

void velocity_lookup(const BrimSim *s, const float at[3], float v[3]) {
    faces_lookup(s, false, at, v);
}

void wall_lookup(const BrimSim *s, const float at[3], float v[3]) {
    faces_lookup(s, true, at, v);
}

/// As leave_solid of the kernels, value by value.
static bool leave_solid_lookup(const BrimSim *s, const MoveParams *m, const float from[3],
                               float at[3]) {
    float g[3], was[3], before = solid_lookup(s, from, was), limit = -m->solid_depth * s->dx;
    if (m->solid_depth > 0) limit = fminf(limit, before);
    bool across = false, pushed = false; // came to the middle of a wall, or beyond
    for (int push = 0; push < SOLID_PUSHES; push++) {
        float d = solid_lookup(s, at, g), length = 0, opposed = 0;
        for (int a = 0; a < s->dim; a++) length += g[a] * g[a], opposed += g[a] * was[a];
        if (push == 0)
            across = d < 0 && before > -FROM_OUTSIDE * s->dx &&
                     (opposed < 0 || length * s->inv_dx * s->inv_dx < SLOPE_MIN * SLOPE_MIN);
        length = sqrtf(length);
        if (d >= limit) break;
        pushed = true;
        for (int a = 0; a < s->dim && length > 1e-9f * s->dx; a++)
            at[a] = fminf(fmaxf(at[a] + (limit + 1e-3f * s->dx - d) * g[a] / length, m->low[a]),
                          m->high[a]);
    }
    float d = solid_lookup(s, at, g), turn = 0, slope2 = 0, gone = 0;
    for (int a = 0; a < s->dim; a++) {
        turn += g[a] * was[a];
        gone += g[a] * (at[a] - from[a]);
        slope2 += g[a] * g[a] * s->inv_dx * s->inv_dx;
    }
    bool past = m->solid_depth > 0 && (d < 0 || before < 0) && before > -s->dx &&
                ((slope2 < SLOPE_MIN * SLOPE_MIN && d < before) || turn < 0);
    // as in the kernels, pushed out behind the wall
    bool behind = pushed && before > -FROM_OUTSIDE * s->dx && turn < 0 && gone > 0;
    bool stuck = across || past || behind || (d < limit && before >= limit);
    for (int a = 0; a < s->dim && stuck; a++) at[a] = from[a];
    return stuck;
}

/// The flow at a point; the particle's own velocity where the grid knows none.
static void flow_lookup(const BrimSim *s, const float at[3], const float own[3], float v[3]) {
    velocity_lookup(s, at, v);
    for (int a = 0; a < s->dim; a++) v[a] = v[a] == v[a] ? v[a] : own[a];
}

/// Out of solids that move, of whose step `before` and then `after` seconds are left: in their
/// frame, where they are at the step's end. Returns whether one holds it.
static bool leave_moving_lookup(const BrimSim *s, const MoveParams *m, const float from[3],
                                float before, float after, float x[3]) {
    float was[3] = {0}, here[3] = {0}, at[3] = {0};
    go_with_walls(s, from, before, was);
    go_with_walls(s, x, after, here);
    for (int a = 0; a < s->dim; a++) {
        was[a] = fminf(fmaxf(was[a], m->low[a]), m->high[a]);
        at[a] = here[a] = fminf(fmaxf(here[a], m->low[a]), m->high[a]);
    }
    bool stuck = leave_solid_lookup(s, m, was, at);
    for (int k = 0; k < 3; k++) { // as the kernels do
        for (int a = 0; a < s->dim; a++)
            x[a] = fminf(fmaxf(x[a] + (at[a] - here[a]), m->low[a]), m->high[a]);
        go_with_walls(s, x, after, here);
        for (int a = 0; a < s->dim; a++) here[a] = fminf(fmaxf(here[a], m->low[a]), m->high[a]);
    }
    return stuck;
}

/// One sub-step of the `left` seconds of a step as the kernels do it; `v` is the flow at x. Returns
/// whether a solid holds it.
static bool advance_lookup(const BrimSim *s, const MoveParams *m, float step, float left,
                           const float own[3], const float v[3], float x[3]) {
    float at[3] = {0}, b[3], c[3], from[3] = {x[0], x[1], x[2]};
    for (int a = 0; a < s->dim; a++) at[a] = x[a] + 0.5f * step * v[a];
    flow_lookup(s, at, own, b);
    if (m->scheme == BRIM_ADVECTION_RK3) {
        for (int a = 0; a < s->dim; a++) at[a] = x[a] + 0.75f * step * b[a];
        flow_lookup(s, at, own, c);
        for (int a = 0; a < s->dim; a++)
            b[a] = (2.0f * v[a] + 3.0f * b[a] + 4.0f * c[a]) * (1.0f / 9.0f);
    }
    for (int a = 0; a < s->dim; a++) x[a] = fminf(fmaxf(x[a] + step * b[a], m->low[a]), m->high[a]);
    return s->walls.solid_count && leave_moving_lookup(s, m, from, left, left - step, x);
}

/// A particle that leaves its block: with sub-steps of its own, value by value.
static void move_far(const BrimSim *s, const Span *p, const MoveParams *m, uint32_t i) {
    float x[3] = {0}, own[3] = {0}, left = m->time;
    for (int a = 0; a < s->dim; a++)
        x[a] = p->attr[ATTR_X + a][i], own[a] = p->attr[ATTR_VX + a][i];
    bool stuck = false;
    float wall[3] = {0};
    if (s->wall_speed[s->dim - 1]) wall_lookup(s, x, wall);
    while (left > 0) {
        float v[3] = {0}, speed = 0;
        flow_lookup(s, x, own, v);
        for (int a = 0; a < s->dim; a++) speed = fmaxf(speed, fabsf(v[a]) + fabsf(wall[a]));
        float step = left, stride = CELLS_A_SUBSTEP * s->dx;
        if (s->walls.solid_count) stride *= NEAR_SOLIDS; // a wall may lie anywhere on its way
        if (speed * left > stride)
            step = fminf(left, fmaxf(stride / speed, m->time / FAR_SUBSTEPS_MOST));
        stuck = advance_lookup(s, m, step, left, own, v, x);
        left -= step;
    }
    float g[3], into = 0, length2 = 0;
    if (s->walls.solid_count && m->still && solid_lookup(s, x, g) < SOLID_TOUCH * s->dx)
        for (int a = 0; a < s->dim; a++) into += own[a] * g[a], length2 += g[a] * g[a];
    for (int a = 0; a < s->dim && into < 0 && length2 > 0; a++) own[a] -= into / length2 * g[a];
    for (int a = 0; a < s->dim; a++) {
        if (stuck) own[a] = wall[a];
        bool hits = (x[a] <= m->low[a] && own[a] < 0) || (x[a] >= m->high[a] && own[a] > 0);
        p->attr[ATTR_VX + a][i] = hits ? 0 : own[a];
        p->attr[ATTR_X + a][i] = x[a];
    }
}

void find_keys(BrimSim *s, int slot) {
    Particles *p = &s->particles;
    const Grid *g = &s->grid;
    const uint32_t first = tile_first(p, slot), end = tile_end(p, slot);
    const Span span = sim_span(s, slot, 0);
    s->transfer->find_keys(&span, g, p->key + first);
    bool any_open = false;
    for (int i = 0; i < 6; i++) any_open |= s->sides.open[i];
    if (!any_open) return;
    const float *x = p->attr[ATTR_X], *y = p->attr[ATTR_Y], *z = p->attr[ATTR_Z];
    float size[3];
    for (int a = 0; a < 3; a++) size[a] = (float)g->cells[a] * s->dx;
    for (uint32_t i = first; i < end; i++)
        if (x[i] < 0 || y[i] < 0 || x[i] >= size[0] || y[i] >= size[1] ||
            (s->dim == 3 && (z[i] < 0 || z[i] >= size[2])))
            p->key[i] = KEY_LEFT;
}

static bool moving_near(const BrimSim *s, int slot) {
    if (!s->walls.solid_count) return false;
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && s->tile_solid[t] == SOLID_MOVING) return true;
    }
    return false;
}

/// How far a tile's particles may get in the step after this one, from the flow around it. Beside
/// moving solids water may soon be faster than it was.
static uint8_t next_reach(const BrimSim *s, bool moving, float speed) {
    double reach = moving ? reach_estimate(s) : reach_at_speed(s, (double)speed);
    return (uint8_t)reach_cells(reach);
}

/// Cells that solids at a tile go in the step, at most.
static float wall_reach(const BrimSim *s, int slot) {
    if (!s->solid_at[slot]) return 0;
    size_t base = (size_t)(s->solid_at[slot] - 1) * (size_t)s->grid.tile_cells;
    float fastest = 0;
    for (int a = 0; a < s->dim; a++)
        for (int i = 0; i < s->grid.tile_cells; i++)
            fastest = fmaxf(fastest, fabsf(s->wall_speed[a][base + (size_t)i]));
    return fastest * (float)s->dt * s->inv_dx;
}

void grow_older(BrimSim *s, int slot) {
    float *age = s->particles.attr[ATTR_AGE];
    const uint32_t first = tile_first(&s->particles, slot), end = tile_end(&s->particles, slot);
    for (uint32_t i = first; age && i < end; i++) age[i] += (float)s->dt;
}

static void advect_tile(BrimSim *s, int slot, int thread, void *context) {
    uint32_t first = tile_first(&s->particles, slot);
    uint32_t end = tile_end(&s->particles, slot);
    if (first == end) return;
    grow_older(s, slot);
    ThreadScratch *scratch = &s->scratch[thread];
    float speed = speed_around(s, slot), reach = speed * (float)s->dt * s->inv_dx;
    bool moving = moving_near(s, slot);
    s->tile_reach[slot] = next_reach(s, moving, speed);
    float walls = moving ? wall_reach(s, slot) : 0;
    float within = fmaxf(s->tile_speed[slot] * (float)s->dt * s->inv_dx, walls);
    int halo = (int)fminf(within + 1.02f, BLOCK_HALO_MAX - 1) + 1;
    Span span = sim_span(s, slot, halo);
    MoveParams m = {.halo = halo, .scheme = s->def.advection, .time = (float)s->dt};
    domain_box(s, m.low, m.high);
    for (int a = 0; a < s->dim; a++) block_ahead(&s->grid, slot, s->velocity[a]);
    for (int a = 0; a < s->dim; a++) {
        block_load(&s->grid, slot, s->velocity[a], (Place)a, &s->sides, halo, NAN,
                   scratch->block[a]);
        m.velocity[a] = scratch->block[a];
    }
    const bool near = solid_within(s, slot, reach + 2 * walls + 1); // as the kernel asks
    if (near) {
        SolidNodes nodes = solid_nodes(s, slot, thread, halo, s->dx, scratch->block[3]);
        m.solid = nodes.phi, m.fine = nodes.fine;
        m.still = !moving;
    }
    for (int a = 0; a < s->dim && near && walls > 0; a++) {
        block_load_some(&s->grid, slot, s->wall_speed[a], s->solid_at, 0, (Place)a, &s->sides, halo,
                        0, scratch->block[4 + a]);
        m.wall[a] = scratch->block[4 + a];
    }
    // The density projection pushes particles out of solids; without it they are put back at once,
    // and at thin walls, where those that a wall overtakes would leave on the other side.
    m.solid_depth = s->def.volume == BRIM_VOLUME_DENSITY && !m.fine ? SOLID_DEPTH : 0;
    float cells = CELLS_A_SUBSTEP * (m.solid ? NEAR_SOLIDS : 1.0f);
    m.substeps = (int)fminf(fmaxf(1, ceilf((reach + walls) / cells)), SUBSTEPS_MOST);
    m.stride = CELLS_A_SUBSTEP;
    m.reach = reach + walls, m.wall_reach = walls;
    uint32_t *far = s->particles.key + first; // keys come after
    if (s->tracking.kernels)
        s->tracking.kernels->strain(&span, cell_starts(&s->particles, &s->grid, slot), m.velocity,
                                    halo, m.time);
    int count = s->transfer->move(&span, &m, far);
    for (int i = 0; i < count; i++) {
        move_far(s, &span, &m, far[i]);
        if (s->tracking.kernels) particle_words(&s->particles, ATTR_NORMAL)[first + far[i]] = 0;
    }
    convey_tile(s, slot);
    find_keys(s, slot);
}

BrimResult stage_advect(BrimSim *s, BrimError *error) {
    if (!convey_find(s)) return step_out_of_memory(s, "advect", error);
    tiles_for(s, advect_tile, NULL);
    return BRIM_OK;
}
