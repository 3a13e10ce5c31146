#include "projection/waterline.h"
#include "grid/mask.h"
#include "step/stages.h"
#include "walls/solid_masks.h"
#include <math.h>

/// Distances beyond that are cut, or not those to a surface beside the cell.
static const float NEAR = 1;
/// Liquid nearer to the surface than that has too little pressure to tell whether it is held.
static const float SUNK = 0.25f;

static bool is_rock(const BrimSim *s, int64_t cell) {
    return s->walls.solid_count && (s->rock[cell >> 3] >> (cell & 7) & 1);
}

/// Along which a cell's neighbour in direction n is higher, -1..1.
static float rise(const BrimSim *s, int n) {
    const float *up = s->projection.up;
    return n & 1 ? up[n >> 1] : -up[n >> 1];
}

static int64_t beside(const BrimSim *s, int64_t cell, int n) {
    int cells = s->grid.tile_cells;
    return grid_step(&s->grid, (int)(cell / cells), (int)(cell % cells), n >> 1, n & 1 ? 1 : -1);
}

/// How high a cell's centre stands above the surface by what the nearest of its neighbours outside
/// of solids says. False when none says anything.
static bool height_of(const BrimSim *s, int64_t me, float *height) {
    float best = NEAR;
    *height = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        int64_t next = beside(s, me, n);
        if (next < 0 || is_rock(s, next) || !(fabsf(s->phi[next]) < best)) continue;
        best = fabsf(s->phi[next]);
        *height = s->phi[next] - rise(s, n);
    }
    return best < NEAR;
}

bool waterline_pressure(const BrimSim *s, int64_t me, int n, int64_t air, float slope, float *q) {
    float height;
    if (air < 0 || s->def.surface == BRIM_SURFACE_FLAGS || !is_rock(s, me)) return false;
    if (!is_rock(s, air) && s->phi[air] < NEAR)
        height = s->phi[air];
    else if (height_of(s, me, &height))
        height += rise(s, n);
    else
        return false;
    *q = -slope * fmaxf(height, 0);
    return true;
}

/// What part of the liquid's weight the old pressure beside a cell holds.
static float held_part(const BrimSim *s, int64_t me, float weight, float scale) {
    float sum = 0, height;
    int count = 0;
    for (int n = 0; n < 2 * s->dim && height_of(s, me, &height); n++) {
        int64_t next = beside(s, me, n);
        if (next < 0 || !(s->liquid[next >> 3] >> (next & 7) & 1)) continue;
        float depth = -(height + rise(s, n));
        if (depth > SUNK) sum += scale * pressure_at(s, next) / (depth * weight), count++;
    }
    float part = count ? sum / (float)count : 0;
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

static void find_tile(BrimSim *s, int slot, int thread, void *context) {
    const float scale = *(const float *)context, weight = s->projection.weight;
    if (!s->wet[slot] || !solid_here(s, slot)) return;
    TileMask liquid = mask_load(&s->grid, s->liquid, slot), rock = rock_cells(s, slot);
    for (int z = 0; z < s->grid.tile_depth; z++)
        for (uint64_t bits = liquid.slice[z] & rock.slice[z]; bits; bits &= bits - 1) {
            int64_t me = (int64_t)slot * s->grid.tile_cells + z * 64 + __builtin_ctzll(bits);
            float part = scale > 0 ? held_part(s, me, weight, scale) : 1;
            s->waterline[solid_cell(s, me)] = weight > 0 ? part * weight : 0;
        }
}

void waterline_find(BrimSim *s, float scale) {
    BrimVec3 g = gravity_at(s, s->velocity_time - 0.5 * s->projection.kick_now);
    float pull[3] = {g.x, g.y, s->dim == 3 ? g.z : 0}, square = 0;
    for (int a = 0; a < 3; a++) square += pull[a] * pull[a];
    float size = sqrtf(square);
    for (int a = 0; a < 3; a++) s->projection.up[a] = size > 0 ? -pull[a] / size : 0;
    s->projection.weight = size * (float)s->projection.kick_now;
    if (s->walls.solid_count) tiles_for(s, find_tile, &scale);
}
