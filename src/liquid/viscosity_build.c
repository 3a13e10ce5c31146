#include "liquid/viscosity_build.h"
#include "emit/stream.h"
#include "step/stages.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Lattices of a tile's cells and those one cell around it.
enum { EDGE = VISCOUS_EDGE, LATTICE = VISCOUS_BLOCK };
/// Parts of a control volume below this are nothing.
static const float PART_MIN = 1e-4f;
/// Walls are not taken to be nearer to a face's middle than this part of the way to the next one.
static const float WALL_MIN = 0.05f;

/// What a face is to the system.
enum {
    FACE_FREE,   ///< an unknown, if something ties it
    FACE_SOLID,  ///< inside a solid, or on a wall of the domain: it has the wall's velocity
    FACE_SOURCE, ///< in a source that runs: it has the velocity of what comes out
    FACE_GHOST,  ///< beyond a wall of the domain that runs along it
    FACE_NONE    ///< beyond an open side, or no tile is there
};

/// A tile and what is around it, on the lattice.
typedef struct Local {
    const BrimSim *s;
    int slot, dim;
    int stride[3];
    bool solids, walls;     ///< whether solids are near; whether any face is not free
    bool sources;           ///< whether a source that runs is near
    float strength;         ///< nu kick / dx^2
    float part[8][LATTICE]; ///< liquid part of each octant (2D: quarter) of a cell, by x + 2y + 4z
    float centre[LATTICE];  ///< liquid parts of the control volumes around centres,
    float face[3][LATTICE]; ///< lower faces
    float edge[3][LATTICE]; ///< and low edges
    float wet[3][LATTICE];  ///< the same of edges where solids are away, with walls
    float scale[3][2][LATTICE]; ///< of edges, with walls: by how much nearer than a cell they are
    float squeeze[3][LATTICE];  ///< the same of centres, for the faces of a component
    uint8_t kind[3][LATTICE];   ///< of lower faces
} Local;

static int at_cell(const Local *l, int x, int y, int z) {
    return ((l->dim == 3 ? z + 1 : 0) * EDGE + y + 1) * EDGE + x + 1;
}

// --------------------------------------------------------------------------------- liquid parts

enum { WIDE = TILE + 4, WIDE_BLOCK = WIDE * WIDE * WIDE };

/// Cells inside solids say nothing of the liquid: they get the mean of the others beside them.
static void fill_solid_cells(int dim, const float *solid, float *phi) {
    const int deep = dim == 3, stride[3] = {1, WIDE, WIDE * WIDE};
    float filled[WIDE_BLOCK];
    for (int z = 0; z < (deep ? WIDE : 1); z++)
        for (int y = 0; y < WIDE; y++)
            for (int x = 0; x < WIDE; x++) {
                const int p[3] = {x, y, z}, at = (z * WIDE + y) * WIDE + x;
                float sum = 0;
                int count = 0;
                filled[at] = phi[at];
                if (!(solid[at] > 1 - PART_MIN)) continue;
                for (int n = 0; n < 2 * dim; n++) {
                    int a = n >> 1, next = at + (n & 1 ? stride[a] : -stride[a]);
                    if (p[a] + (n & 1 ? 1 : -1) < 0 || p[a] + (n & 1 ? 1 : -1) >= WIDE) continue;
                    if (!(solid[next] > 1 - PART_MIN)) sum += phi[next], count++;
                }
                if (count) filled[at] = sum / (float)count;
            }
    memcpy(phi, filled, sizeof(float) * (size_t)(WIDE * WIDE * (deep ? WIDE : 1)));
}

/// Values a quarter of a cell below and above, along an axis; the outermost ones are not written.
static void split(int count, int stride, const float *from, float *low, float *high) {
    for (int i = stride; i < count - stride; i++) {
        low[i] = 0.75f * from[i] + 0.25f * from[i - stride];
        high[i] = 0.75f * from[i] + 0.25f * from[i + stride];
    }
}

/// A row of octants: liquid part from the distance at their middles.
static void octant_row(const float *phi, float *out) {
    for (int i = 0; i < EDGE; i++) {
        float part = 0.5f - 2 * phi[i];
        part = part < 0 ? 0 : part;
        out[i] = part > 1 ? 1 : part;
    }
}

/// phi [12^dim, halo 2] => part, of the whole octant
static void find_octants(Local *l, const float *phi) {
    const int count = WIDE * WIDE * (l->dim == 3 ? WIDE : 1);
    float x[2][WIDE_BLOCK], y[4][WIDE_BLOCK], z[2][WIDE_BLOCK];
    memset(x, 0, sizeof x), memset(y, 0, sizeof y);
    split(count, 1, phi, x[0], x[1]);
    for (int i = 0; i < 2; i++) split(count, WIDE, x[i], y[i], y[2 + i]);
    for (int o = 0; o < 4; o++) {
        const float *from[2] = {y[o], y[o]};
        if (l->dim == 3) {
            split(count, WIDE * WIDE, y[o], z[0], z[1]);
            from[0] = z[0], from[1] = z[1];
        }
        for (int up = 0; up < (l->dim == 3 ? 2 : 1); up++)
            for (int k = 0; k < (l->dim == 3 ? EDGE : 1); k++)
                for (int j = 0; j < EDGE; j++)
                    octant_row(from[up] + ((l->dim == 3 ? k + 1 : 0) * WIDE + j + 1) * WIDE + 1,
                               l->part[o + 4 * up] + (k * EDGE + j) * EDGE);
    }
}

/// Distances to solids at the corners of a cell, in cells: as many as octants (2D: quarters).
static void corner_distances(const Local *l, const int p[3], float out[8]) {
    const BrimSim *s = l->s;
    for (int k = 0; k < (l->dim == 3 ? 8 : 4); k++) {
        int64_t node =
            grid_near(&s->grid, l->slot, p[0] + (k & 1), p[1] + (k >> 1 & 1), p[2] + (k >> 2));
        out[k] = node >= 0 ? solid_distance_at(s, node) * s->inv_dx : SOLID_REACH;
    }
}

/// The octants of a cell that a solid cuts, p without the lattice's halo: what is open of it lies
/// on the solid's outer side, or friction between two faces that the solid does not reach would
/// count in part.
static void cut_octants(Local *l, const int p[3], int i, float open) {
    const int octants = l->dim == 3 ? 8 : 4;
    float corner[8], part[8], mean = 0;
    corner_distances(l, p, corner);
    for (int o = 0; o < octants; o++) {
        float d = 0;
        for (int k = 0; k < octants; k++) {
            float weight = 1;
            for (int a = 0; a < l->dim; a++) weight *= (o ^ k) >> a & 1 ? 0.25f : 0.75f;
            d += weight * corner[k];
        }
        part[o] = 0.5f + 2 * d;
        part[o] = part[o] < 0 ? 0 : part[o] > 1 ? 1 : part[o];
        mean += part[o] / (float)octants;
    }
    for (int o = 0; o < octants; o++) { // what is thinner than a cell is not seen by its corners
        float here = mean > 0 ? part[o] * open / mean : open;
        l->part[o][i] *= here > 1 ? 1 : here;
    }
}

/// solid [12^dim] or NULL; part becomes that of the open octant, 0 outside the domain
static void find_open(Local *l, const float *solid) {
    const Grid *g = &l->s->grid;
    const TileCoord c = g->coord[l->slot];
    const int deep = l->dim == 3, first[3] = {c.x * TILE - 1, c.y * TILE - 1, c.z * TILE - deep};
    for (int z = 0; z < (deep ? EDGE : 1); z++)
        for (int y = 0; y < EDGE; y++)
            for (int x = 0; x < EDGE; x++) {
                const int p[3] = {x, y, z}, i = (z * EDGE + y) * EDGE + x;
                float open =
                    solid ? 1 - solid[((deep ? z + 1 : 0) * WIDE + y + 1) * WIDE + x + 1] : 1;
                for (int a = 0; a < l->dim; a++)
                    if (first[a] + p[a] < 0 || first[a] + p[a] >= g->cells[a]) open = 0;
                open = open < PART_MIN ? 0 : open;
                if (open > 0 && open < 1)
                    cut_octants(l, (const int[3]){x - 1, y - 1, z - deep}, i, open);
                for (int o = 0; o < (deep ? 8 : 4) && open == 0; o++) l->part[o][i] = 0;
            }
}

/// Control volumes: sums over the octants of a cell and of those below it along some axes (bits)
/// that touch the lattice point between them.
static void sum_octants(const Local *l, unsigned axes, float *out) {
    const int corners = l->dim == 3 ? 8 : 4, count = EDGE * EDGE * (l->dim == 3 ? EDGE : 1);
    int first = 0;
    memset(out, 0, LATTICE * sizeof *out);
    for (int a = 0; a < l->dim; a++) first += axes >> a & 1 ? l->stride[a] : 0;
    for (int o = 0; o < corners; o++) {
        int back = 0;
        for (int a = 0; a < l->dim; a++)
            if (axes >> a & 1 && o >> a & 1) back += l->stride[a];
        const float *part = l->part[o] - back;
        for (int i = first; i < count; i++) out[i] += part[i];
    }
    for (int i = first; i < count; i++) {
        float mean = out[i] * (l->dim == 3 ? 0.125f : 0.25f);
        out[i] = mean < PART_MIN ? 0 : mean;
    }
}

static void find_volumes(Local *l) {
    sum_octants(l, 0, l->centre);
    for (int a = 0; a < l->dim; a++) {
        sum_octants(l, 1u << a, l->face[a]);
        for (int b = a + 1; b < l->dim; b++)
            sum_octants(l, 1u << a | 1u << b, l->edge[edge_of(a, b)]);
    }
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

/// Whether a source runs, and a tile and the cells around it may be in it.
static bool source_near(const BrimSim *s, const Source *source, int slot) {
    const TileCoord c = s->grid.coord[slot];
    const int first[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    if (s->time + s->dt <= source->def.start || s->time >= source->def.stop) return false;
    for (int a = 0; a < s->dim; a++)
        if (space_to_grid(s->space, source->low[a]) > (float)(first[a] + TILE + 1) ||
            space_to_grid(s->space, source->high[a]) < (float)(first[a] - 1))
            return false;
    return true;
}

/// The source that a face lies in: a thread hangs from it, and does not pull out more than it
/// gives.
static const Source *source_at(const Local *l, int axis, const int p[3], float x[3]) {
    const BrimSim *s = l->s;
    const TileCoord c = s->grid.coord[l->slot];
    const int first[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    for (int a = 0; a < 3; a++) {
        float at = (float)(first[a] + p[a]) + (a == axis ? 0 : 0.5f);
        x[a] = a < s->dim ? space_from_grid(s->space, at) : 0;
    }
    for (int k = 0; k < s->source_count; k++) {
        const Source *source = &s->sources[k];
        float distance;
        if (!source_near(s, source, l->slot)) continue;
        port_distance(source->shape, source->mover, 1, &x[0], &x[1], &x[2], &distance);
        if (distance <= 0) return source;
    }
    return NULL;
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
    if (l->solids && held_by_solid(l, axis, p, cell)) return FACE_SOLID;
    float x[3];
    return l->sources && source_at(l, axis, p, x) ? FACE_SOURCE : FACE_FREE;
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

/// Velocity of what a source gives at a face, m/s.
static float source_velocity(const Local *l, int axis, const int p[3]) {
    float x[3];
    const Source *source = source_at(l, axis, p, x);
    if (!source) return 0;
    const BrimVec3 v = source->def.velocity;
    if (!source_varies(source)) return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
    const int b = (axis + 1) % 3, c = (axis + 2) % 3;
    return source->stream[axis] + source->spin[b] * (x[c] - source->centre[c]) -
           source->spin[c] * (x[b] - source->centre[b]);
}

/// Velocity of the wall on a face, m/s.
static float wall_velocity(const Local *l, int axis, int x, int y, int z) {
    const BrimSim *s = l->s;
    if (l->kind[axis][at_cell(l, x, y, z)] == FACE_SOURCE)
        return source_velocity(l, axis, (const int[3]){x, y, z});
    if (!l->solids || !s->wall_speed[axis]) return 0;
    int64_t cell = grid_near(&s->grid, l->slot, x, y, z);
    if (cell < 0) return 0;
    int64_t i = solid_cell(s, cell);
    return i < 0 ? 0 : s->wall_speed[axis][i];
}

// ---------------------------------------------------------------------------------------- edges

/// Whether a face that is held is held by a solid and not by a side of the domain.
static bool is_of_solid(const Local *l, int axis, const int p[3]) {
    const TileCoord c = l->s->grid.coord[l->slot];
    const int first[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    int at = first[axis] + p[axis];
    return l->solids && l->kind[axis][at_cell(l, p[0], p[1], p[2])] == FACE_SOLID && at > 0 &&
           at < l->s->grid.cells[axis];
}

/// Where the wall is between two faces of component a that are neighbours along b, p the upper one:
/// its part of the way from the free one to the one that is held; 1 where there is none.
static float way_to_wall(const Local *l, int a, int b, const int p[3]) {
    const int i = at_cell(l, p[0], p[1], p[2]), below = i - l->stride[b];
    bool free = l->kind[a][i] == FACE_FREE, free_below = l->kind[a][below] == FACE_FREE;
    if (free == free_below) return 1;
    if (l->kind[a][free ? below : i] == FACE_GHOST) return 0.5f;
    const int q[3] = {p[0] - (b == 0), p[1] - (b == 1), p[2] - (b == 2)};
    if (!is_of_solid(l, a, free ? q : p)) return 1;
    float out = wall_distance(l, a, free ? p : q), in = -wall_distance(l, a, free ? q : p);
    float way = in > 0 ? out / (out + in) : out;
    return way < WALL_MIN ? WALL_MIN : way > 1 ? 1 : way;
}

/// The edge at the low corner of a cell across axes a and b, where a face that meets there may not
/// be free. => edge, scale
static void mend_edge(Local *l, int a, int b, const int p[3]) {
    const int e = edge_of(a, b), i = at_cell(l, p[0], p[1], p[2]);
    const uint8_t kind[4] = {l->kind[a][i], l->kind[a][i - l->stride[b]], l->kind[b][i],
                             l->kind[b][i - l->stride[a]]};
    bool free[4], none = false, wall = false;
    for (int n = 0; n < 4; n++) {
        free[n] = kind[n] == FACE_FREE, none |= kind[n] == FACE_NONE;
        wall |= kind[n] == FACE_SOLID || kind[n] == FACE_GHOST;
    }
    l->scale[e][0][i] = l->scale[e][1][i] = 1;
    if (none || !(free[0] | free[1] | free[2] | free[3])) l->edge[e][i] = 0;
    if (l->edge[e][i] == 0 || !wall || (free[0] == free[1] && free[2] == free[3])) return;
    // Friction at a wall acts over the way to it: gradient u / d in the part d of the volume.
    float da = way_to_wall(l, a, b, p), db = way_to_wall(l, b, a, p);
    bool slips = l->s->def.slip == BRIM_SLIP_FREE;
    l->edge[e][i] = slips ? 0 : l->wet[e][i] * fminf(da, db);
    l->scale[e][0][i] = 1 / da, l->scale[e][1][i] = 1 / db;
}

/// The middle of a cell, where one of its two faces across an axis may not be free. => squeeze
static void mend_centres(Local *l) {
    for (int z = l->dim == 3 ? -1 : 0; z <= (l->dim == 3 ? TILE - 1 : 0); z++)
        for (int y = -1; y < TILE; y++)
            for (int x = -1; x < TILE; x++)
                for (int a = 0; a < l->dim; a++) {
                    const int p[3] = {x + (a == 0), y + (a == 1), z + (a == 2)};
                    l->squeeze[a][at_cell(l, x, y, z)] = 1 / way_to_wall(l, a, a, p);
                }
}

static void mend_edges(Local *l) {
    for (int z = 0; z <= (l->dim == 3 ? TILE : 0); z++)
        for (int y = 0; y <= TILE; y++)
            for (int x = 0; x <= TILE; x++) {
                const int p[3] = {x, y, z};
                for (int a = 0; a < l->dim; a++)
                    for (int b = a + 1; b < l->dim; b++) mend_edge(l, a, b, p);
            }
}

// --------------------------------------------------------------------------------------- system

/// What ties a face to others.
typedef struct Ties {
    float mass, rhs, sum;
    float grip, held; ///< of those to solids: coefficients; times the solids' velocity, m/s
} Ties;

/// A tie of a face to one of the same component; the wall between them, if any, is nearer by
/// `scale`. Returns the coefficient between unknowns.
static float tie(const Local *l, int axis, const int from[3], const int to[3], float coefficient,
                 float scale, Ties *ties) {
    if (coefficient == 0) return 0;
    uint8_t kind = l->kind[axis][at_cell(l, to[0], to[1], to[2])];
    if (kind == FACE_NONE) return 0;
    if (kind == FACE_FREE) {
        ties->sum += coefficient;
        return coefficient;
    }
    const bool solid = is_of_solid(l, axis, to);
    float speed = wall_velocity(l, axis, to[0], to[1], to[2]);
    if (solid && scale > 1) // the wall's own, on the way between the two faces
        speed += (1 - 1 / scale) * (wall_velocity(l, axis, from[0], from[1], from[2]) - speed);
    ties->mass += coefficient;
    ties->rhs += coefficient * speed;
    if (solid) ties->grip += coefficient, ties->held += coefficient * speed;
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

/// By how much nearer than a cell the wall is between a face of component a at i and its neighbour
/// below along b.
static inline float scale_of(const Local *l, int a, int b, int i) {
    if (!l->walls) return 1;
    return a == b ? l->squeeze[a][i - l->stride[a]] : l->scale[edge_of(a, b)][a > b][i];
}

/// Coefficient of a face of component a at i towards its neighbour below along b.
static inline float coefficient(const Local *l, int a, int b, int i) {
    const float scale = scale_of(l, a, b, i), square = scale * scale;
    if (a == b) return 2 * l->strength * l->centre[i - l->stride[a]] * square;
    return l->strength * l->edge[edge_of(a, b)][i] * square;
}

/// The gradient along a of component b at an edge leads to the wall, where the wall's own velocity
/// is not that of the face that is held: what this puts on the upper face of component a beside it.
static float across(const Local *l, int a, int b, const int p[3]) {
    const int i = at_cell(l, p[0], p[1], p[2]);
    const float scale = scale_of(l, b, a, i);
    const int q[3] = {p[0] - (a == 0), p[1] - (a == 1), p[2] - (a == 2)};
    if (!(scale > 1) || !is_of_solid(l, b, l->kind[b][i] == FACE_FREE ? q : p)) return 0;
    float change = wall_velocity(l, b, p[0], p[1], p[2]) - wall_velocity(l, b, q[0], q[1], q[2]);
    return l->strength * l->edge[edge_of(a, b)][i] * scale_of(l, a, b, i) * (scale - 1) * change;
}

/// The row of one face that may touch walls. Returns the sum of its coefficients.
static float build_beside_walls(BrimSim *s, const Local *l, int a, const int p[3], Ties *ties) {
    const int i = at_cell(l, p[0], p[1], p[2]);
    const size_t at =
        (size_t)l->slot * (size_t)s->grid.tile_cells + (size_t)((p[2] * TILE + p[1]) * TILE + p[0]);
    float *const *along[3] = {s->viscous_along_x, s->viscous_along_y, s->viscous_along_z};
    for (int b = 0; b < l->dim; b++)
        for (int far = 0; far < 2; far++) {
            const int upper = far ? i + l->stride[b] : i;
            int to[3] = {p[0], p[1], p[2]}, edge[3] = {p[0], p[1], p[2]};
            to[b] += far ? 1 : -1, edge[b] += far;
            float free =
                tie(l, a, p, to, coefficient(l, a, b, upper), scale_of(l, a, b, upper), ties);
            if (!far) along[b][a][at] = free;
            if (a == b) continue;
            float turned = (far ? -1.0f : 1.0f) * across(l, a, b, edge);
            ties->rhs += turned;
            if (is_of_solid(l, a, to)) ties->held += turned;
        }
    return ties->sum;
}

/// The same of one in open water.
static float build_open(BrimSim *s, const Local *l, int a, int i, size_t at) {
    float *const *along[3] = {s->viscous_along_x, s->viscous_along_y, s->viscous_along_z};
    float sum = 0;
    for (int b = 0; b < l->dim; b++) {
        float low = coefficient(l, a, b, i);
        along[b][a][at] = low;
        sum += low + coefficient(l, a, b, i + l->stride[b]);
    }
    return sum;
}

/// The row of a face. Returns whether it is in the system.
static bool build_face(BrimSim *s, const Local *l, int a, const int p[3], ViscousBuild *build) {
    const int i = at_cell(l, p[0], p[1], p[2]), cell = (p[2] * TILE + p[1]) * TILE + p[0];
    const size_t at = (size_t)l->slot * (size_t)s->grid.tile_cells + (size_t)cell;
    bool known = s->known[a][at >> 3] >> (at & 7) & 1;
    float mass = known ? l->face[a][i] : 0;
    Ties ties = {.mass = mass, .rhs = mass > 0 ? mass * s->velocity[a][at] : 0};
    float sum = l->walls ? build_beside_walls(s, l, a, p, &ties) : build_open(s, l, a, i, at);
    float diagonal = ties.mass + sum;
    if (!(diagonal > 0)) return false;
    s->viscous_mass[a][at] = ties.mass;
    s->viscous_r[a][at] = ties.rhs;
    s->viscous_diagonal[a][at] = diagonal;
    const int64_t near = ties.grip > 0 ? solid_cell(s, (int64_t)at) : -1;
    if (near >= 0) s->viscous_grip[a][near] = ties.grip, s->viscous_drag[a][near] = ties.held;
    float u = known ? s->velocity[a][at] : guess(s, a, l->slot, cell);
    s->viscous_u[a][at] = u;
    team_raise(&build->most, diagonal);
    team_raise(&build->speed, u);
    return true;
}

/// All rows of a tile, and the edges between its components.
static bool build_rows(BrimSim *s, const Local *l, ViscousBuild *build) {
    const size_t base = (size_t)l->slot * (size_t)s->grid.tile_cells;
    bool any = false;
    for (int cell = 0; cell < s->grid.tile_cells; cell++) {
        const int p[3] = {cell & 7, cell >> 3 & 7, cell >> 6}, i = at_cell(l, p[0], p[1], p[2]);
        const size_t at = base + (size_t)cell;
        for (int a = 0; a < l->dim; a++) {
            uint8_t kind = l->walls ? l->kind[a][i] : FACE_FREE;
            if (kind == FACE_FREE) any |= build_face(s, l, a, p, build);
            if (kind != FACE_SOLID && kind != FACE_SOURCE) continue;
            s->viscous_u[a][at] = wall_velocity(l, a, p[0], p[1], p[2]);
            s->viscous_mass[a][at] = VISCOUS_HELD;
        }
        for (int e = 0; e < (l->dim == 3 ? 3 : 1); e++)
            s->viscous_cross[e][at] = l->strength * l->edge[e][i] *
                                      (l->walls ? l->scale[e][0][i] * l->scale[e][1][i] : 1);
    }
    return any;
}

/// Distances of a block: all far outside, all deep inside, or neither.
enum { BLOCK_AIR, BLOCK_DEEP, BLOCK_MIXED };

static int block_state(const BrimSim *s, const float *phi) {
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

/// Whether a tile and what is around it lies inside the domain.
static bool is_inner(const BrimSim *s, int slot) {
    const TileCoord c = s->grid.coord[slot];
    const int at[3] = {c.x, c.y, c.z};
    for (int a = 0; a < s->dim; a++)
        if (at[a] == 0 || (at[a] + 1) * TILE >= s->grid.cells[a]) return false;
    for (int n = 0; n < 27; n++)
        if (s->grid.neighbour[slot][n] < 0 && (s->dim == 3 || n / 9 == 1)) return false;
    return true;
}

/// Whether all of its faces have a velocity.
static bool all_known(const BrimSim *s, int slot) {
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
    const int64_t near = s->walls.solid_count ? solid_cell(s, (int64_t)slot * (int64_t)n) : -1;
    for (int a = 0; a < s->dim && near >= 0; a++) {
        memset(s->viscous_grip[a] + near, 0, n * sizeof(float));
        memset(s->viscous_drag[a] + near, 0, n * sizeof(float));
    }
}

/// A tile at the surface or beside walls.
static bool build_mixed(BrimSim *s, Local *l, float *phi, float *solid, ViscousBuild *build) {
    if (l->solids)
        block_load_some(&s->grid, l->slot, s->solid_volume, s->solid_at, 0, PLACE_CELL, &s->sides,
                        2, 0, solid);
    if (l->solids) fill_solid_cells(l->dim, solid, phi);
    find_octants(l, phi);
    for (int a = 0; l->walls && a < l->dim; a++)
        for (int b = a + 1; b < l->dim; b++)
            sum_octants(l, 1u << a | 1u << b, l->wet[edge_of(a, b)]);
    if (l->walls) find_open(l, l->solids ? solid : NULL);
    find_volumes(l);
    if (l->walls) find_kinds(l), mend_edges(l), mend_centres(l);
    return build_rows(s, l, build);
}

void viscous_build_tile(BrimSim *s, int slot, int thread, void *context) {
    ViscousBuild *build = context;
    float *phi = s->scratch[thread].block[0], *solid = s->scratch[thread].block[1];
    clear_tile(s, slot);
    s->viscous_used[slot] = 0;
    block_load(&s->grid, slot, s->phi, PLACE_CELL, &s->sides, 2, LEVEL_SET_CUT, phi);
    bool solids = s->walls.solid_count && solid_near(s, slot), sources = false;
    for (int i = 0; i < s->source_count; i++) sources |= source_near(s, &s->sources[i], slot);
    bool walls = solids || sources || !is_inner(s, slot);
    int state = block_state(s, phi);
    if (state == BLOCK_AIR) return;
    if (state == BLOCK_DEEP && !walls && all_known(s, slot)) {
        s->viscous_used[slot] = 1;
        build_inner(s, slot, build);
        return;
    }
    Local *l = (Local *)(void *)s->scratch[thread].block[2];
    _Static_assert(sizeof *l <= sizeof s->scratch[0].block[0] * 5, "room for the tile's lattices");
    l->s = s, l->slot = slot, l->dim = s->dim, l->strength = build->strength;
    l->stride[0] = 1, l->stride[1] = EDGE, l->stride[2] = EDGE * EDGE;
    l->solids = solids, l->sources = sources, l->walls = walls;
    s->viscous_used[slot] = build_mixed(s, l, phi, solid, build);
}
