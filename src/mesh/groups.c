// Water that hangs together, and the volume of its particles.
#include "base/memory.h"
#include "mesh/carried.h"
#include <math.h>
#include <stdlib.h>

static const uint32_t NONE = UINT32_MAX;

static uint32_t root_of(uint32_t *group, uint32_t i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
}

static void join(uint32_t *group, int64_t cell, int64_t other) {
    if (other < 0 || group[other] == NONE) return;
    uint32_t a = root_of(group, (uint32_t)cell), b = root_of(group, (uint32_t)other);
    if (a < b) group[b] = a;
    if (b < a) group[a] = b;
}

/// group [tiles * 512]: the number of the group that a cell in reach of particles belongs to, NONE
/// elsewhere. Returns how many groups there are.
static uint32_t join_cells(const Bins *b, uint32_t *group) {
    const Grid *g = &b->grid;
    size_t cells = (size_t)g->tile_count * (size_t)g->tile_cells;
    for (size_t i = 0; i < cells; i++)
        group[i] = (b->active[i >> 3] | b->deep[i >> 3]) >> (i & 7) & 1 ? (uint32_t)i : NONE;
    for (int slot = 0; slot < g->tile_count; slot++)
        for (int k = 0; k < g->tile_cells; k++) {
            int64_t cell = (int64_t)slot * g->tile_cells + k;
            int x = k & 7, y = k >> 3 & 7, z = k >> 6;
            if (group[cell] == NONE) continue;
            join(group, cell, grid_near(g, slot, x - 1, y, z));
            join(group, cell, grid_near(g, slot, x, y - 1, z));
            join(group, cell, grid_near(g, slot, x, y, z - 1));
        }
    // what a cell points to comes before it, so it has its number already
    uint32_t count = 0;
    for (size_t i = 0; i < cells; i++)
        if (group[i] != NONE) group[i] = group[i] == i ? count++ : group[group[i]];
    return count;
}

/// The group of the cell at a point, m, or of one beside it.
static uint32_t group_at(const Bins *b, const MeshScale *s, const uint32_t *group,
                         const float at[3]) {
    int cell[3];
    for (int a = 0; a < 3; a++) {
        cell[a] = (int)floorf(space_to_grid(s->space, at[a]));
        cell[a] = cell[a] < 0 ? 0 : cell[a] >= s->cells[a] ? s->cells[a] - 1 : cell[a];
    }
    int64_t own = grid_cell(&b->grid, cell[0], cell[1], cell[2]);
    if (own >= 0 && group[own] != NONE) return group[own];
    for (int n = 0; n < 27; n++) {
        int64_t i =
            grid_cell(&b->grid, cell[0] + n % 3 - 1, cell[1] + n / 3 % 3 - 1, cell[2] + n / 9 - 1);
        if (i >= 0 && group[i] != NONE) return group[i];
    }
    return NONE;
}

/// What the particles of a group say.
typedef struct Tally {
    uint32_t vertex;    ///< first one of the group
    uint32_t count;     ///< particles
    double known, past; ///< those that carry a surface; sum of how much of the past counts in that
} Tally;

static void tally_cell(Tally *t, const Bins *b, const BlockInput *in, size_t cell) {
    t->count += b->start[cell + 1] - b->start[cell];
    for (uint32_t k = b->start[cell]; k < b->start[cell + 1] && in->carried; k++) {
        float carried[5];
        carried_at(in->carried, in->particles, b->order[k], carried);
        if (carried[4] >= 0) t->known++, t->past += (double)carried[4];
    }
}

bool groups_find(MeshGroups *out, const BlockInput *in, const BrimMesh *mesh) {
    const Bins *b = in->bins;
    const MeshScale *s = in->scale;
    size_t cells = (size_t)b->grid.tile_count * (size_t)b->grid.tile_cells;
    uint32_t *group = memory_new(cells * sizeof *group), count = group ? join_cells(b, group) : 0;
    Tally *tally = memory_zero(((size_t)count + 1) * sizeof *tally);
    *out = (MeshGroups){.of = memory_new(mesh->vertex_count * sizeof *out->of),
                        .volume = memory_zero(mesh->vertex_count * sizeof *out->volume),
                        .part = memory_zero(mesh->vertex_count * sizeof *out->part)};
    bool ok = group && tally && out->of && out->volume && out->part;
    if (ok) {
        for (size_t i = 0; i < count; i++) tally[i].vertex = NONE;
        for (size_t i = 0; i < cells; i++)
            if (group[i] != NONE) tally_cell(&tally[group[i]], b, in, i);
        double one = pow((double)(s->dx * s->spacing), 3);
        for (size_t v = 0; v < mesh->vertex_count; v++) {
            uint32_t i = group_at(b, s, group, mesh->position[v]);
            out->of[v] = (uint32_t)v;
            if (i == NONE) continue;
            Tally *t = &tally[i];
            if (t->vertex == NONE) t->vertex = (uint32_t)v;
            out->of[v] = t->vertex;
            out->volume[t->vertex] = one * t->count;
            out->part[t->vertex] = t->known > 0 ? (float)(1 - t->past / t->known) : 1;
        }
    }
    free(group), free(tally);
    if (!ok) groups_free(out);
    return ok;
}

void groups_free(MeshGroups *g) {
    free(g->of), free(g->volume), free(g->part);
    *g = (MeshGroups){0};
}
