#include "liquid/viscosity_build.h"
#include "step/stages.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Lattices of a tile's cells and those one cell around it.
enum { EDGE = VISCOUS_EDGE, LATTICE = VISCOUS_BLOCK };
/// Parts of a control volume below this are nothing.
static const float PART_MIN = 1e-4f;
/// Walls are not taken to be nearer to a face's middle than this part of a cell.
static const float WALL_MIN = 0.25f;

/// What a face is to the system.
enum {
    FACE_FREE,  ///< an unknown, if something ties it
    FACE_SOLID, ///< inside a solid, or on a wall of the domain: it has the wall's velocity
    FACE_GHOST, ///< beyond a wall of the domain that runs along it
    FACE_NONE   ///< beyond an open side, or no tile is there
};

/// A tile and what is around it.
typedef struct Local {
    const BrimSim *s;
    int slot, dim, depth; ///< depth: cells of the lattice along z
    int stride[3];        ///< of the lattice
    bool solids;
    float octant[8][LATTICE]; ///< liquid part of each half, quarter, eighth of a cell, of what of
                              ///< the cell is open; by x + 2 y + 4 z
    float open[LATTICE];      ///< part of the cell outside solids; 0 outside the domain
    uint8_t kind[3][LATTICE]; ///< of lower faces
} Local;

/// An edge: its weight, and by how much nearer than a cell walls are for each component.
typedef struct Edge {
    float weight, scale[2];
} Edge;

static int at_cell(const Local *l, int x, int y, int z) {
    return ((l->dim == 3 ? z + 1 : 0) * EDGE + y + 1) * EDGE + x + 1;
}

// --------------------------------------------------------------------------------- liquid parts

/// Part of an octant that is liquid, from the distance at its middle.
static float octant_part(float phi) {
    float part = 0.5f - 2 * phi;
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

/// phi [12^dim, halo 2] and solid parts of the same shape => octants, open
static void find_octants(Local *l, const float *phi, const float *solid) {
    enum { WIDE = TILE + 4 };
    const Grid *g = &l->s->grid;
    const TileCoord c = g->coord[l->slot];
    const int first[3] = {c.x * TILE, c.y * TILE, c.z * TILE}, wide[3] = {1, WIDE, WIDE * WIDE};
    const int corners = l->dim == 3 ? 8 : 4, deep = l->dim == 3;
    for (int z = -deep; z <= (deep ? TILE : 0); z++)
        for (int y = -1; y <= TILE; y++)
            for (int x = -1; x <= TILE; x++) {
                const int i = at_cell(l, x, y, z), p[3] = {x, y, z};
                const int at = ((deep ? z + 2 : 0) * WIDE + y + 2) * WIDE + x + 2;
                float open = solid ? 1 - solid[at] : 1;
                for (int a = 0; a < l->dim; a++)
                    if (first[a] + p[a] < 0 || first[a] + p[a] >= g->cells[a]) open = 0;
                l->open[i] = open = open < PART_MIN ? 0 : open;
                for (int o = 0; o < corners; o++) {
                    float mean = 0;
                    for (int k = 0; k < corners && open > 0; k++) {
                        int next = at;
                        float weight = 1;
                        for (int a = 0; a < l->dim; a++) {
                            weight *= k >> a & 1 ? 0.25f : 0.75f;
                            if (k >> a & 1) next += o >> a & 1 ? wide[a] : -wide[a];
                        }
                        // what lies in a solid says nothing of the liquid
                        bool hidden = solid && solid[next] > 1 - PART_MIN;
                        mean += weight * phi[hidden ? at : next];
                    }
                    l->octant[o][i] = open > 0 ? octant_part(mean) : 0;
                }
            }
}

/// Liquid and open parts of a control volume, summed over octants: those of the cell at i and of
/// the cells below it along some axes (bits) that touch the lattice point between them.
static void sum_octants(const Local *l, int i, unsigned axes, float *liquid, float *open) {
    const int corners = l->dim == 3 ? 8 : 4;
    float sum = 0, room = 0;
    for (int o = 0; o < corners; o++) {
        int cell = i;
        for (int a = 0; a < l->dim; a++)
            if (axes >> a & 1 && o >> a & 1) cell -= l->stride[a];
        sum += l->octant[o][cell] * l->open[cell], room += l->open[cell];
    }
    *liquid = sum / (float)corners, *open = room / (float)corners;
}

// ---------------------------------------------------------------------------------------- faces

/// From the middle of a face to the solid beside it, in cells; negative inside.
static float wall_distance(const Local *l, int axis, const int p[3]) {
    const BrimSim *s = l->s;
    float sum = 0;
    int count = 0;
    for (int k = 0; k < (l->dim == 3 ? 8 : 4); k++) {
        if (k >> axis & 1) continue;
        int64_t node =
            grid_near(&s->grid, l->slot, p[0] + (k & 1), p[1] + (k >> 1 & 1), p[2] + (k >> 2));
        if (node >= 0) sum += solid_distance_at(s, node) * s->inv_dx, count++;
    }
    return count ? sum / (float)count : SOLID_REACH;
}

/// Whether a face's velocity is that of a solid: no liquid can pass, or what does sticks to it.
static bool held_by_solid(const Local *l, int axis, const int p[3], int64_t cell) {
    const BrimSim *s = l->s;
    if (s->shut[axis][cell >> 3] >> (cell & 7) & 1) return true;
    return s->def.slip == BRIM_SLIP_NONE && wall_distance(l, axis, p) < 0;
}

static uint8_t face_kind(const Local *l, int axis, const int p[3], int64_t cell) {
    const BrimSim *s = l->s;
    const TileCoord c = s->grid.coord[l->slot];
    const int first[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    uint8_t kind = FACE_FREE;
    for (int b = 0; b < l->dim; b++) {
        int at = first[b] + p[b];
        bool low = b == axis ? at <= 0 : at < 0, high = at >= s->grid.cells[b];
        if (!low && !high) continue;
        if (s->sides.open[2 * b + high]) return FACE_NONE;
        uint8_t here = b == axis ? FACE_SOLID : FACE_GHOST;
        if (kind != FACE_SOLID) kind = here;
    }
    if (kind != FACE_FREE) return kind;
    if (cell < 0) return FACE_NONE;
    return l->solids && held_by_solid(l, axis, p, cell) ? FACE_SOLID : FACE_FREE;
}

static void find_kinds(Local *l) {
    const int deep = l->dim == 3;
    for (int z = -deep; z <= (deep ? TILE : 0); z++)
        for (int y = -1; y <= TILE; y++)
            for (int x = -1; x <= TILE; x++) {
                const int p[3] = {x, y, z};
                int64_t cell = grid_near(&l->s->grid, l->slot, x, y, z);
                for (int a = 0; a < l->dim; a++)
                    l->kind[a][at_cell(l, x, y, z)] = face_kind(l, a, p, cell);
            }
}

/// Velocity of the wall on a face, m/s.
static float wall_velocity(const Local *l, int axis, int x, int y, int z) {
    const BrimSim *s = l->s;
    if (!l->solids || !s->wall_speed[axis]) return 0;
    int64_t cell = grid_near(&s->grid, l->slot, x, y, z);
    if (cell < 0) return 0;
    int64_t i = solid_cell(s, cell);
    return i < 0 ? 0 : s->wall_speed[axis][i];
}

// ---------------------------------------------------------------------------------------- edges

/// How near a wall is for the faces of component a on both sides of an edge, which lie along b: 1
/// where there is none.
static float pair_distance(const Local *l, int a, int b, const int p[3]) {
    const int i = at_cell(l, p[0], p[1], p[2]), below = i - l->stride[b];
    bool free = l->kind[a][i] == FACE_FREE, free_below = l->kind[a][below] == FACE_FREE;
    if (free == free_below) return 1;
    if (l->kind[a][free ? below : i] == FACE_GHOST) return 0.5f;
    int q[3] = {p[0], p[1], p[2]};
    if (!free) q[b]--;
    float d = wall_distance(l, a, q);
    return d < WALL_MIN ? WALL_MIN : d > 1 ? 1 : d;
}

/// The edge at the low corner of a cell across axes a and b.
static Edge edge_at(const Local *l, int a, int b, const int p[3]) {
    const int i = at_cell(l, p[0], p[1], p[2]), up = l->stride[a], vp = l->stride[b];
    const uint8_t kind[4] = {l->kind[a][i], l->kind[a][i - vp], l->kind[b][i], l->kind[b][i - up]};
    bool free[4], none = false;
    for (int n = 0; n < 4; n++) free[n] = kind[n] == FACE_FREE, none |= kind[n] == FACE_NONE;
    if (none || !(free[0] | free[1] | free[2] | free[3])) return (Edge){0};
    float liquid, open;
    sum_octants(l, i, 1u << a | 1u << b, &liquid, &open);
    if (liquid < PART_MIN) return (Edge){0};
    if (free[0] == free[1] && free[2] == free[3]) return (Edge){liquid, {1, 1}};
    if (l->s->def.slip == BRIM_SLIP_FREE) return (Edge){0};
    // Friction at a wall acts over the way to it: gradient u / d in the part d of the volume.
    float da = pair_distance(l, a, b, p), db = pair_distance(l, b, a, p);
    return (Edge){liquid / open * fminf(da, db), {1 / da, 1 / db}};
}

// --------------------------------------------------------------------------------------- system

/// What ties a face to others.
typedef struct Ties {
    float mass, rhs, sum;
} Ties;

/// A tie of a face to one of the same component. Returns the coefficient between unknowns.
static float tie(const Local *l, int axis, const int to[3], float coefficient, Ties *ties) {
    if (coefficient == 0) return 0;
    uint8_t kind = l->kind[axis][at_cell(l, to[0], to[1], to[2])];
    if (kind == FACE_NONE) return 0;
    if (kind == FACE_FREE) {
        ties->sum += coefficient;
        return coefficient;
    }
    ties->mass += coefficient;
    ties->rhs += coefficient * wall_velocity(l, axis, to[0], to[1], to[2]);
    return 0;
}

/// Mean over the known faces beside one that is not: the start value of a face without mass.
static float guess(const BrimSim *s, int axis, int slot, int cell) {
    float sum = 0;
    int count = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        int64_t next = grid_step(&s->grid, slot, cell, n >> 1, n & 1 ? 1 : -1);
        if (next < 0 || !(s->known[axis][next >> 3] >> (next & 7) & 1)) continue;
        sum += s->velocity[axis][next], count++;
    }
    return count ? sum / (float)count : 0;
}

/// The row of one face. Returns the diagonal.
static float build_face(BrimSim *s, const Local *l, int a, const int p[3], float strength) {
    const int i = at_cell(l, p[0], p[1], p[2]), cell = (p[2] * TILE + p[1]) * TILE + p[0];
    const size_t at = (size_t)l->slot * (size_t)s->grid.tile_cells + (size_t)cell;
    float *const *along[3] = {s->viscous_along_x, s->viscous_along_y, s->viscous_along_z};
    bool known = s->known[a][at >> 3] >> (at & 7) & 1;
    float open, liquid;
    Ties ties = {0};
    sum_octants(l, i, 1u << a, &liquid, &open);
    ties.mass = known && liquid >= PART_MIN ? liquid : 0;
    ties.rhs = ties.mass * s->velocity[a][at];
    for (int b = 0; b < l->dim; b++)
        for (int far = 0; far < 2; far++) {
            int to[3] = {p[0], p[1], p[2]}, on[3] = {p[0], p[1], p[2]};
            float coefficient;
            to[b] += far ? 1 : -1;
            if (b == a) {
                sum_octants(l, far ? i : i - l->stride[a], 0, &liquid, &open);
                coefficient = liquid < PART_MIN ? 0 : 2 * strength * liquid;
            } else {
                on[b] += far;
                Edge edge = a < b ? edge_at(l, a, b, on) : edge_at(l, b, a, on);
                float scale = edge.scale[a > b];
                coefficient = strength * edge.weight * scale * scale;
            }
            float free = tie(l, a, to, coefficient, &ties);
            if (!far) along[b][a][at] = free;
        }
    s->viscous_mass[a][at] = ties.mass;
    s->viscous_r[a][at] = ties.rhs;
    float diagonal = ties.mass + ties.sum;
    if (diagonal > 0) s->viscous_u[a][at] = known ? s->velocity[a][at] : guess(s, a, l->slot, cell);
    return diagonal;
}

/// All rows of a tile, and the edges between its components.
static bool build_rows(BrimSim *s, const Local *l, ViscousBuild *build) {
    const size_t base = (size_t)l->slot * (size_t)s->grid.tile_cells;
    bool any = false;
    for (int z = 0; z < s->grid.tile_depth; z++)
        for (int y = 0; y < TILE; y++)
            for (int x = 0; x < TILE; x++) {
                const int p[3] = {x, y, z}, i = at_cell(l, x, y, z);
                const size_t at = base + (size_t)((z * TILE + y) * TILE + x);
                for (int a = 0; a < l->dim; a++) {
                    if (l->kind[a][i] == FACE_SOLID) {
                        s->viscous_u[a][at] = wall_velocity(l, a, x, y, z);
                        s->viscous_mass[a][at] = VISCOUS_HELD;
                    }
                    if (l->kind[a][i] != FACE_FREE) continue;
                    float d = build_face(s, l, a, p, build->strength);
                    s->viscous_diagonal[a][at] = d;
                    if (!(d > 0)) continue;
                    any = true;
                    team_raise(&build->most, d);
                    team_raise(&build->speed, s->viscous_u[a][at]);
                }
                for (int a = 0; a < l->dim; a++)
                    for (int b = a + 1; b < l->dim; b++) {
                        Edge e = edge_at(l, a, b, p);
                        s->viscous_cross[edge_of(a, b)][at] =
                            build->strength * e.weight * e.scale[0] * e.scale[1];
                    }
            }
    return any;
}

/// Distances of a block: all far outside, all deep inside, or neither.
enum { BLOCK_AIR, BLOCK_DEEP, BLOCK_MIXED };

static int block_state(const BrimSim *s, const float *phi) {
    enum { WIDE = TILE + 4 };
    const int n = WIDE * WIDE * (s->dim == 3 ? WIDE : 1);
    float least = INFINITY, most = -INFINITY;
    for (int i = 0; i < n; i++) {
        least = phi[i] < least ? phi[i] : least;
        most = phi[i] > most ? phi[i] : most;
    }
    // so that no octant is liquid, or each of them is full
    return least >= 0.25f ? BLOCK_AIR : most <= -0.25f ? BLOCK_DEEP : BLOCK_MIXED;
}

static void fill(float *out, int cells, float value) {
    for (int i = 0; i < cells; i++) out[i] = value;
}

/// Whether a tile and what is around it lies inside the domain, with a velocity on all faces.
static bool is_inner(const BrimSim *s, int slot) {
    const TileCoord c = s->grid.coord[slot];
    const int at[3] = {c.x, c.y, c.z};
    for (int a = 0; a < s->dim; a++)
        if (at[a] == 0 || (at[a] + 1) * TILE >= s->grid.cells[a]) return false;
    for (int n = 0; n < 27; n++)
        if (s->grid.neighbour[slot][n] < 0 && (s->dim == 3 || n / 9 == 1)) return false;
    for (int a = 0; a < s->dim; a++)
        if (!mask_full(&s->grid, s->known[a], slot)) return false;
    return true;
}

/// A tile deep in the liquid and far from walls.
static void build_inner(BrimSim *s, int slot, ViscousBuild *build) {
    float *const *along[3] = {s->viscous_along_x, s->viscous_along_y, s->viscous_along_z};
    const int n = s->grid.tile_cells;
    const size_t at = (size_t)slot * (size_t)n;
    const float k = build->strength, diagonal = 1 + (s->dim == 3 ? 8 : 6) * k;
    for (int a = 0; a < s->dim; a++) {
        const float *v = s->velocity[a] + at;
        memcpy(s->viscous_u[a] + at, v, (size_t)n * sizeof *v);
        memcpy(s->viscous_r[a] + at, v, (size_t)n * sizeof *v);
        fill(s->viscous_mass[a] + at, n, 1);
        fill(s->viscous_diagonal[a] + at, n, diagonal);
        for (int b = 0; b < s->dim; b++) fill(along[b][a] + at, n, a == b ? 2 * k : k);
        for (int b = a + 1; b < s->dim; b++) fill(s->viscous_cross[edge_of(a, b)] + at, n, k);
        float most = 0;
        for (int i = 0; i < n; i++) most = fabsf(v[i]) <= most ? most : fabsf(v[i]);
        team_raise(&build->speed, most);
    }
    team_raise(&build->most, diagonal);
}

static void clear_tile(BrimSim *s, int slot) {
    float *const *all[] = {s->viscous_u,       s->viscous_r,       s->viscous_p,
                           s->viscous_q,       s->viscous_mass,    s->viscous_along_x,
                           s->viscous_along_y, s->viscous_along_z, s->viscous_cross,
                           s->viscous_diagonal};
    const size_t n = (size_t)s->grid.tile_cells;
    for (size_t f = 0; f < sizeof all / sizeof *all; f++)
        for (int a = 0; a < s->dim; a++) memset(all[f][a] + (size_t)slot * n, 0, n * sizeof(float));
}

void viscous_build_tile(BrimSim *s, int slot, int thread, void *context) {
    ViscousBuild *build = context;
    float *phi = s->scratch[thread].block[0], *solid = s->scratch[thread].block[1];
    clear_tile(s, slot);
    s->viscous_used[slot] = 0;
    block_load(&s->grid, slot, s->phi, PLACE_CELL, &s->sides, 2, LEVEL_SET_CUT, phi);
    bool solids = s->solid_count && solid_near(s, slot);
    int state = block_state(s, phi);
    if (state == BLOCK_AIR) return;
    if (state == BLOCK_DEEP && !solids && is_inner(s, slot)) {
        s->viscous_used[slot] = 1;
        build_inner(s, slot, build);
        return;
    }
    Local *l = (Local *)(void *)s->scratch[thread].block[2];
    _Static_assert(sizeof *l <= sizeof s->scratch[0].block[0] * 5, "room for the tile's lattices");
    l->s = s, l->slot = slot, l->dim = s->dim, l->depth = s->dim == 3 ? EDGE : 1;
    l->stride[0] = 1, l->stride[1] = EDGE, l->stride[2] = EDGE * EDGE;
    l->solids = solids;
    if (solids)
        block_load_some(&s->grid, slot, s->solid_volume, s->solid_at, 0, PLACE_CELL, &s->sides, 2,
                        0, solid);
    find_octants(l, phi, solids ? solid : NULL);
    find_kinds(l);
    s->viscous_used[slot] = build_rows(s, l, build);
}
