#include "walls/lookup.h"
#include "walls/solid_fine.h"
#include <math.h>

/// The box of nodes around a point.
typedef struct Nodes {
    float phi[8]; ///< by the bits of their offsets, m
    float f[3];   ///< where the point is between them
    bool fine;    ///< half a cell apart
} Nodes;

/// The tile that a cell lies in, -1 where there is none.
static int slot_of(const BrimSim *s, const int cell[3]) {
    if (cell[0] < 0 || cell[1] < 0 || cell[2] < 0) return -1;
    return grid_slot(&s->grid, cell[0] >> TILE_SHIFT, cell[1] >> TILE_SHIFT, cell[2] >> TILE_SHIFT);
}

/// Nodes of the grid from a cell's low corner on that are of several tiles.
static void nodes_of_tiles(const BrimSim *s, const int low[3], float phi[8]) {
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        int64_t i = grid_cell(&s->grid, low[0] + (n & 1), low[1] + (n >> 1 & 1), low[2] + (n >> 2));
        phi[n] = i < 0 ? s->dx : solid_distance_at(s, i);
    }
}

static void nodes_around(const BrimSim *s, const float at[3], Nodes *box) {
    float x[3] = {0};
    int low[3] = {0}, across[3] = {1, TILE, TILE * TILE};
    bool inside = true; // all nodes are of one tile
    for (int a = 0; a < s->dim; a++) {
        x[a] = space_to_grid(s->space, at[a]);
        low[a] = (int)floorf(x[a]);
        inside &= (low[a] & (TILE - 1)) < TILE - 1;
    }
    int slot = slot_of(s, low);
    const float *first = NULL;
    box->fine = slot >= 0 && fine_here(s, slot);
    for (int a = 0; a < s->dim && box->fine; a++) x[a] *= 2, low[a] = (int)floorf(x[a]);
    for (int a = 0; a < s->dim; a++) box->f[a] = x[a] - (float)low[a];
    if (box->fine) {
        first = fine_nodes(s, slot, low[0], low[1], low[2]);
        across[1] = FINE_EDGE, across[2] = FINE_EDGE * FINE_EDGE;
    } else if (inside && slot >= 0 && s->solid_at && s->solid_at[slot]) {
        first = s->solid_phi + (size_t)(s->solid_at[slot] - 1) * (size_t)s->grid.tile_cells +
                (low[2] & 7) * across[2] + (low[1] & 7) * across[1] + (low[0] & 7);
    }
    if (!first) nodes_of_tiles(s, low, box->phi);
    for (int n = 0; n < (s->dim == 3 ? 8 : 4) && first; n++)
        box->phi[n] = first[(n & 1) + (n >> 1 & 1) * across[1] + (n >> 2) * across[2]];
}

static inline float value_between(const Nodes *box, int dim) {
    float value = 0;
    for (int n = 0; n < (dim == 3 ? 8 : 4); n++) {
        float w = 1;
        for (int a = 0; a < dim; a++) w *= n >> a & 1 ? box->f[a] : 1 - box->f[a];
        value += w * box->phi[n];
    }
    return value;
}

float solid_value(const BrimSim *s, const float at[3]) {
    Nodes box;
    nodes_around(s, at, &box);
    return s->dim == 3 ? value_between(&box, 3) : value_between(&box, 2);
}

float solid_lookup(const BrimSim *s, const float at[3], float gradient[3]) {
    Nodes box;
    nodes_around(s, at, &box);
    for (int a = 0; a < s->dim; a++) {
        gradient[a] = 0;
        for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
            float g = n >> a & 1 ? box.phi[n] : -box.phi[n];
            for (int b = 0; b < s->dim; b++)
                if (b != a) g *= n >> b & 1 ? box.f[b] : 1 - box.f[b];
            gradient[a] += g * (box.fine ? 2.0f : 1.0f);
        }
    }
    return value_between(&box, s->dim);
}
