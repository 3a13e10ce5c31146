// Stage atomise: which particles of the liquid become spray, and how spray flies. Stage land: those
// that meet liquid or something solid become liquid again.
#include "liquid/spray.h"
#include "base/hash.h"
#include "base/memory.h"
#include "emit/stream.h"
#include "step/stages.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Cells below the surface from which on a particle cannot take off, and where spray dives in.
static const float DIVE = 0.5f;
/// A slow drop joins where it touches: as many cells above the surface.
static const float TOUCH = 0.5f;
/// Part of a full neighbourhood below which liquid is torn.
static const float TORN = 0.5f;
/// Cells that spray crosses at once, and at least so many where a solid is near.
static const float STRIDE = 0.5f, STRIDE_LEAST = 0.05f;
static const double AIR_DENSITY = 1.2; // kg/m^3

/// What became of spray in a step; kept in its key.
enum { FLIES, JOINS };

void spray_free(BrimSim *s) {
    particles_free(&s->spray.flying);
    free(s->spray.from);
}

size_t spray_bytes(const BrimSim *s) {
    return particles_bytes(&s->spray.flying) + 4 * s->spray.from_capacity;
}

/// Copies `count` particles with all that they carry.
static void copy(Particles *to, size_t i, const Particles *from, size_t j, size_t count) {
    for (int a = 0; a < ATTR_MAX; a++)
        if (to->attr[a] && count) memcpy(to->attr[a] + i, from->attr[a] + j, count * sizeof(float));
}

bool spray_take(BrimSim *s) {
    Particles *flying = &s->spray.flying;
    flying->carries = s->particles.carries;
    if (!particles_reserve(flying, (size_t)s->spray.count)) return false;
    copy(flying, 0, &s->particles, s->particles.count, (size_t)s->spray.count);
    flying->count = (size_t)s->spray.count;
    return true;
}

bool spray_put_back(BrimSim *s) {
    const Particles *flying = &s->spray.flying;
    Particles *p = &s->particles;
    if (!particles_reserve(p, p->count + flying->count)) return false;
    copy(p, p->count, flying, 0, flying->count);
    return true;
}

// --------------------------------------------------------------------------------- taking off

/// Distance to the surface at a point, in cells; far above it where no tile is.
static float level_at(const BrimSim *s, const float at[3]) {
    float f[3] = {0}, value = 0;
    int cell[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        float x = space_to_grid(s->space, at[a]) - 0.5f;
        cell[a] = (int)floorf(x);
        f[a] = x - (float)cell[a];
    }
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        float w = 1;
        int corner[3] = {0};
        for (int a = 0; a < s->dim; a++) {
            w *= n >> a & 1 ? f[a] : 1 - f[a];
            int c = cell[a] + (n >> a & 1);
            corner[a] = c < 0 ? 0 : c < s->grid.cells[a] ? c : s->grid.cells[a] - 1;
        }
        int64_t i = grid_cell(&s->grid, corner[0], corner[1], corner[2]);
        value += w * (i < 0 ? LEVEL_SET_CUT : s->phi[i]);
    }
    return value;
}

/// How full the liquid around a particle is: its neighbours' and its own weight by a hat of one
/// cell, relative to a full neighbourhood; ends once it is not torn.
static float fullness(const BrimSim *s, uint32_t i) {
    const Particles *p = &s->particles;
    const float per_cell = (float)s->def.particles_per_cell;
    float at[3], sum = 0;
    int cell[3] = {0};
    for (int a = 0; a < 3; a++) {
        at[a] = a < s->dim ? space_to_grid(s->space, p->attr[ATTR_X + a][i]) : 0;
        cell[a] = (int)at[a];
    }
    for (int n = 0; n < (s->dim == 3 ? 27 : 9) && sum < TORN * per_cell; n++) {
        int64_t c = grid_cell(&s->grid, cell[0] + n % 3 - 1, cell[1] + n / 3 % 3 - 1,
                              s->dim == 3 ? cell[2] + n / 9 - 1 : 0);
        if (c < 0) continue;
        const uint32_t *start = cell_starts_from(p, &s->grid, c);
        for (uint32_t k = start[0]; k < start[1]; k++) {
            float w = 1;
            for (int a = 0; a < s->dim; a++)
                w *= fmaxf(0, 1 - fabsf(space_to_grid(s->space, p->attr[ATTR_X + a][k]) - at[a]));
            sum += w;
        }
    }
    return sum / per_cell;
}

/// Whether a particle takes off: by chance the sooner the faster it is, at the surface, and where
/// the liquid is torn. By speed alone a waterfall would lose its surface.
static bool takes_off(const BrimSim *s, uint32_t i, float speed) {
    const Particles *p = &s->particles;
    const float *limit = s->def.spray_speed;
    float part = fminf(1, (speed - limit[0]) / fmaxf(limit[1] - limit[0], 1e-6f * limit[1]));
    float chance = 1 - expf(-(float)(s->dt / s->def.spray_time) * part);
    uint64_t h = hash_3(s->def.seed, particle_words(p, ATTR_ID)[i], (uint64_t)s->step + 1);
    const float at[3] = {p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]};
    return hash_unit(h, 1) < chance && level_at(s, at) > -DIVE && fullness(s, i) < TORN;
}

/// => key: 1 for those that take off; context: how many there are, by tile
static void choose_tile(BrimSim *s, int slot, int thread, void *context) {
    Particles *p = &s->particles;
    uint32_t first = tile_first(p, slot), end = tile_end(p, slot), count = 0;
    float slowest = s->def.spray_speed[0];
    const float *u = p->attr[ATTR_VX], *v = p->attr[ATTR_VY], *w = p->attr[ATTR_VZ];
    for (uint32_t i = first; i < end; i++) {
        float speed2 = u[i] * u[i] + v[i] * v[i] + w[i] * w[i];
        p->key[i] = speed2 > slowest * slowest && takes_off(s, i, sqrtf(speed2));
        count += p->key[i];
    }
    s->sprayed[slot] = count;
}

/// (key) => flying, from: those that take off, behind the others. sprayed: where the tile's begin
static void lift_tile(BrimSim *s, int slot, int thread, void *context) {
    Particles *p = &s->particles, *flying = &s->spray.flying;
    uint32_t first = tile_first(p, slot), end = tile_end(p, slot);
    size_t before = *(const size_t *)context, at = s->sprayed[slot];
    for (uint32_t i = first; i < end; i++) {
        if (!p->key[i]) continue;
        copy(flying, before + at, p, i, 1);
        for (int k = ATTR_AFFINE; flying->attr[ATTR_AFFINE] && k <= ATTR_END_AFFINE; k++)
            flying->attr[k][before + at] = 0;
        particle_words(flying, ATTR_TYPE)[before + at] = TYPE_SPRAY;
        s->spray.from[at++] = i;
    }
}

/// False when out of memory.
static bool take_off(BrimSim *s) {
    Spray *spray = &s->spray;
    size_t before = spray->flying.count;
    uint32_t sum = 0;
    tiles_for(s, choose_tile, NULL);
    for (int t = 0; t < s->grid.tile_count; t++) {
        uint32_t count = s->sprayed[t];
        s->sprayed[t] = sum;
        sum += count;
    }
    spray->chosen = sum;
    if (!memory_fit((void **)&spray->from, &spray->from_capacity, sizeof *spray->from, sum) ||
        !particles_reserve(&spray->flying, before + sum))
        return false;
    tiles_for(s, lift_tile, &before);
    spray->flying.count = before + sum;
    s->spray.atomised += sum;
    return true;
}

// ------------------------------------------------------------------------------------- flight

/// What all of the spray meets in a step.
typedef struct Flight {
    BrimSim *s;
    float low[3], high[3]; ///< of the domain's walls, m
    float push[3];         ///< of gravity, m/s
    float drag;            ///< over the step, s/m
} Flight;

/// The nearest solid to a point `left` seconds before the end of the step, and its distance, m: in
/// the frame of each, which moves.
static float nearest_solid(const BrimSim *s, const float at[3], float left, const Solid **nearest) {
    float least = INFINITY;
    for (int k = 0; k < s->walls.solid_count; k++) {
        const Solid *solid = s->walls.solids[k];
        if (!solid_exists(solid, s->walls.time)) continue;
        float d, x = at[0], y = at[1], z = at[2];
        if (solid_moves(solid) || solid_is_body(solid)) {
            BrimVec3 v = solid_velocity(solid, x, y, z);
            x += left * v.x, y += left * v.y, z += s->dim == 3 ? left * v.z : 0;
        }
        solid_distance(solid, 1, &x, &y, &z, &d);
        if (d < least) least = d, *nearest = solid;
    }
    return least;
}

/// Out of a solid, and without the velocity into it.
static void strike(const BrimSim *s, const Solid *solid, float at[3], float v[3]) {
    const float h = 0.05f * s->dx;
    float d = 0, n[3] = {0}, length2 = 0, into = 0;
    BrimVec3 wall = solid_velocity(solid, at[0], at[1], at[2]);
    const float u[3] = {wall.x, wall.y, wall.z};
    for (int push = 0; push < SOLID_PUSHES; push++) {
        length2 = 0;
        for (int a = 0; a < s->dim; a++) {
            float p[3] = {at[0], at[1], at[2]}, d_high, d_low;
            p[a] += h;
            solid_distance(solid, 1, &p[0], &p[1], &p[2], &d_high);
            p[a] -= 2 * h;
            solid_distance(solid, 1, &p[0], &p[1], &p[2], &d_low);
            n[a] = (d_high - d_low) / (2 * h);
            length2 += n[a] * n[a];
        }
        solid_distance(solid, 1, &at[0], &at[1], &at[2], &d);
        if (d >= 0 || !(length2 > 1e-6f)) break;
        for (int a = 0; a < s->dim; a++) at[a] += (1e-3f * s->dx - d) * n[a] / sqrtf(length2);
    }
    for (int a = 0; a < s->dim; a++) into += (v[a] - u[a]) * n[a];
    for (int a = 0; a < s->dim && into < 0 && length2 > 1e-6f; a++) v[a] -= into * n[a] / length2;
}

/// Whether a point has left through an open side.
static bool outside(const BrimSim *s, const float at[3]) {
    bool out = false;
    for (int a = 0; a < s->dim; a++)
        out |= (s->sides.open[2 * a] && at[a] < 0) ||
               (s->sides.open[2 * a + 1] && at[a] >= (float)s->grid.cells[a] * s->dx);
    return out;
}

/// At the domain's walls: back inside, without the velocity into them. Returns whether it met one.
static bool meet_walls(const Flight *f, float at[3], float v[3]) {
    bool met = false;
    for (int a = 0; a < f->s->dim; a++) {
        bool low = at[a] < f->low[a] && !f->s->sides.open[2 * a];
        bool high = at[a] > f->high[a] && !f->s->sides.open[2 * a + 1];
        if (!low && !high) continue;
        at[a] = low ? f->low[a] : f->high[a];
        v[a] = 0;
        met = true;
    }
    return met;
}

static bool in_liquid(const BrimSim *s, const float at[3], float speed) {
    float phi = level_at(s, at);
    return phi < -DIVE || (phi < TOUCH && speed < s->def.spray_speed[0]);
}

/// One drop over the step. (x, v) => (x, v); returns its key: where it joins it has not yet the
/// step's gravity, which it gets as liquid.
static uint32_t fly(const Flight *f, float at[3], float v[3]) {
    const BrimSim *s = f->s;
    const float speed = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    float left = (float)s->dt;
    const Solid *solid = NULL;
    float room = s->walls.solid_count ? nearest_solid(s, at, left, &solid) : INFINITY;
    while (left > 0) {
        float way = fminf(STRIDE * s->dx, fmaxf(0.9f * room, STRIDE_LEAST * s->dx));
        float step = speed * left > way ? way / speed : left, to[3] = {0};
        for (int a = 0; a < s->dim; a++) to[a] = at[a] + step * v[a];
        left -= step;
        if (s->walls.solid_count && (room = nearest_solid(s, to, left, &solid)) < 0) {
            // it stops before the wall, and what the wall overtook goes with it
            BrimVec3 u = solid_velocity(solid, at[0], at[1], at[2]);
            at[0] += (left + step) * u.x, at[1] += (left + step) * u.y;
            if (s->dim == 3) at[2] += (left + step) * u.z;
            strike(s, solid, at, v);
            meet_walls(f, at, v);
            return JOINS;
        }
        for (int a = 0; a < s->dim; a++) at[a] = to[a];
        if (outside(s, at)) return KEY_LEFT;
        if (meet_walls(f, at, v) || in_liquid(s, at, speed)) return JOINS;
    }
    for (int a = 0; a < s->dim; a++) v[a] += f->push[a];
    // w + drag w^2 = |v|: implicit, so that the end speed is exact for any step
    float fast = 4 * f->drag * sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int a = 0; a < s->dim; a++) v[a] *= 2 / (1 + sqrtf(1 + fast));
    return FLIES;
}

enum { FLIGHT_PART = 256 };

static void fly_part(void *context, int index, int thread) {
    const Flight *f = context;
    Particles *p = &f->s->spray.flying;
    size_t first = (size_t)index * FLIGHT_PART, end = first + FLIGHT_PART;
    for (size_t i = first; i < end && i < p->count; i++) {
        float at[3] = {p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]};
        float v[3] = {p->attr[ATTR_VX][i], p->attr[ATTR_VY][i], p->attr[ATTR_VZ][i]};
        p->key[i] = fly(f, at, v);
        for (int a = 0; a < 3; a++) p->attr[ATTR_X + a][i] = at[a], p->attr[ATTR_VX + a][i] = v[a];
        if (p->attr[ATTR_AGE]) p->attr[ATTR_AGE][i] += (float)f->s->dt;
    }
}

/// Drag of a drop of one particle's liquid in air at rest, per metre.
static double drag_of(const BrimSim *s) {
    double spacing = (double)s->dx / pow(s->def.particles_per_cell, 1.0 / s->dim);
    double diameter = spacing * cbrt(6 / 3.14159265358979);
    return 0.75 * s->def.spray_drag * AIR_DENSITY / (s->def.density * diameter);
}

/// What drains take of the spray. (x) => key
static void drain(BrimSim *s) {
    Particles *p = &s->spray.flying;
    double now = s->time + s->dt;
    for (int k = 0; k < s->drain_count; k++) {
        const Drain *d = &s->drains[k];
        if (now < d->def.start || now > d->def.stop || drain_limits(d)) continue;
        for (size_t i = 0; i < p->count; i++) {
            float distance;
            if (p->key[i] >= KEY_GONE) continue;
            port_distance(d->shape, d->mover, 1, p->attr[ATTR_X] + i, p->attr[ATTR_Y] + i,
                          p->attr[ATTR_Z] + i, &distance);
            if (distance < 0) p->key[i] = KEY_DRAINED;
        }
    }
}

BrimResult stage_atomise(BrimSim *s, BrimError *error) {
    if (!take_off(s)) return step_out_of_memory(s, "spray", error);
    double kick = s->projection.kick_now;
    BrimVec3 g = gravity_at(s, s->velocity_time + 0.5 * kick);
    Flight f = {.s = s,
                .push = {(float)(g.x * kick), (float)(g.y * kick), (float)(g.z * kick)},
                .drag = (float)(drag_of(s) * kick)};
    domain_box(s, f.low, f.high);
    team_for(s->team, team_parts(s->spray.flying.count, FLIGHT_PART), 1, fly_part, &f);
    drain(s);
    return BRIM_OK;
}

// ------------------------------------------------------------------------------------ landing

/// Makes particle i of the tail from spray.
static void join(BrimSim *s, size_t spray) {
    Particles *p = &s->particles;
    size_t i = p->count++;
    copy(p, i, &s->spray.flying, spray, 1);
    particle_words(p, ATTR_TYPE)[i] = TYPE_LIQUID;
    if (p->attr[ATTR_NORMAL]) // it knows no surface
        p->attr[ATTR_PHI][i] = 0, particle_words(p, ATTR_NORMAL)[i] = 0;
    p->key[i] =
        cell_key(&s->grid, s->space, p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]);
}

BrimResult stage_land(BrimSim *s, BrimError *error) {
    Spray *spray = &s->spray;
    Particles *flying = &spray->flying;
    // The liquid no longer has those that took off. The sort counts them as taken by a band.
    for (size_t i = 0; i < spray->chosen; i++) s->particles.key[spray->from[i]] = KEY_HIDDEN;
    s->band.resampled += (int64_t)spray->chosen;
    size_t joining = 0, stay = 0;
    for (size_t i = 0; i < flying->count; i++) joining += flying->key[i] == JOINS;
    if (!particles_reserve(&s->particles, s->particles.count + joining))
        return step_out_of_memory(s, "spray", error);
    for (size_t i = 0; i < flying->count; i++) {
        uint32_t key = flying->key[i];
        s->left += key == KEY_LEFT, s->drained += key == KEY_DRAINED;
        if (key == JOINS) join(s, i);
        if (key == FLIES && stay++ != i) copy(flying, stay - 1, flying, i, 1);
    }
    flying->count = stay;
    s->spray.count = (int64_t)stay;
    s->spray.rejoined += (int64_t)joining;
    return BRIM_OK;
}
