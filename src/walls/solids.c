// Stage 2: solids on the grid: distance at cell corners, open parts of faces, wall velocity.
#include "base/error.h"
#include "grid/mask.h"
#include "step/stages.h"
#include "walls/cell_parts.h"
#include "walls/cut.h"
#include "walls/solid_fine.h"
#include "walls/solid_part.h"
#include "walls/solid_thin.h"
#include "warp/space.h"
#include <math.h>
#include <string.h>

enum { NODES = PART_NODES, NODES_MAX = NODES * NODES * NODES };

/// A face with less than this open is closed: its velocity would rest on a sliver.
static const float OPEN_MIN = 0.1f;
/// The same of a face that is known at half cells: what is closed beyond the wall counts as body,
/// and lifts it, and holds room that no water can fill.
static const float OPEN_FINE = 0.05f;

/// Distances of a tile's nodes, those one cell around it included, and the solid that each is
/// nearest to. Nodes beyond the domain repeat those on its sides.
typedef struct Nodes {
    float phi[NODES_MAX];
    int16_t owner[NODES_MAX];
} Nodes;

/// Where a thin wall is near, the same at half cells, and the nodes of the part that a cell stands
/// for.
typedef struct Halves {
    bool any;
    float phi[HALF_NODES];
    uint32_t part[(TILE + 1) * (TILE + 1) * (TILE + 1)]; ///< of the tile's cells and those below it
} Halves;

static bool near_tile(const BrimSim *s, const Solid *solid, int slot) {
    float low[3], high[3], first[3], last[3];
    if (!solid_bounds(solid, low, high)) return false;
    if (s->warp) {
        warp_tile_box(s, slot, SOLID_REACH, first, last);
        for (int a = 0; a < s->dim; a++)
            if (high[a] < first[a] || low[a] > last[a]) return false;
        return true;
    }
    const int16_t c[3] = {s->grid.coord[slot].x, s->grid.coord[slot].y, s->grid.coord[slot].z};
    for (int a = 0; a < s->dim; a++) {
        float from = (float)(c[a] * TILE) * s->dx - SOLID_REACH * s->dx;
        float to = (float)((c[a] + 1) * TILE) * s->dx + SOLID_REACH * s->dx;
        if (high[a] < from || low[a] > to) return false;
    }
    return true;
}

/// Where a node along an axis is, `fine` of them to a cell; beyond the domain: on its side, m.
static float node_at(const BrimSim *s, int axis, int i, int fine) {
    const int last = fine * s->grid.cells[axis];
    return (float)(i < 0 ? 0 : i > last ? last : i) * (1 / (float)fine) * s->dx;
}

/// Index of the low corner of a cell in `Nodes`.
static int low_corner(int dim, int cell) {
    int z = dim == 3 ? (cell >> 6) + 1 : 0;
    return (z * NODES + (cell >> 3 & 7) + 1) * NODES + (cell & 7) + 1;
}

bool solids_sample(const BrimSim *s, int slot, int count, const float *x, const float *y,
                   const float *z, float *phi, int16_t *owner) {
    enum { MOST = HALF_EDGE * HALF_EDGE };
    bool any = false;
    for (int k = 0; k < s->walls.solid_count; k++) {
        const Solid *solid = s->walls.solids[k];
        float d[MOST];
        if (!solid_exists(solid, s->walls.time) || !near_tile(s, solid, slot)) continue;
        any = true;
        solid_distance(solid, count, x, y, z, d);
        const float skin = SOLID_SKIN * s->dx;
        for (int i = 0; owner && i < count; i++)
            owner[i] = d[i] - skin < phi[i] ? (int16_t)k : owner[i];
        for (int i = 0; i < count; i++) phi[i] = d[i] - skin < phi[i] ? d[i] - skin : phi[i];
    }
    return any;
}

/// On a warped grid: distances of the nodes where they are, as ones in reference space.
static bool sample_warped(const BrimSim *s, int slot, Nodes *nodes) {
    enum { SLICE = NODES * NODES };
    float x[3][NODES_MAX];
    bool any = false;
    warp_node_places(s, slot, NODES, (float *const[3]){x[0], x[1], x[2]});
    for (int z = 0; z < (s->dim == 3 ? NODES : 1); z++) {
        const int first = z * SLICE;
        for (int i = first; i < first + SLICE; i++) nodes->phi[i] = INFINITY, nodes->owner[i] = -1;
        any |= solids_sample(s, slot, SLICE, x[0] + first, x[1] + first, x[2] + first,
                             nodes->phi + first, nodes->owner + first);
    }
    if (any) warp_reference_distance(s, NODES, nodes->phi);
    return any;
}

bool solids_sample_nodes(const BrimSim *s, int slot, int fine, int first, int edge, float *phi,
                         int16_t *owner) {
    enum { MOST = HALF_EDGE * HALF_EDGE };
    float x[MOST], y[MOST], at_z[MOST];
    const int slice = edge * edge;
    const TileCoord c = s->grid.coord[slot];
    bool any = false;
    for (int j = 0; j < edge; j++)
        for (int i = 0; i < edge; i++) {
            x[j * edge + i] = node_at(s, 0, fine * TILE * c.x + first + i, fine);
            y[j * edge + i] = node_at(s, 1, fine * TILE * c.y + first + j, fine);
        }
    for (int k = 0; k < (s->dim == 3 ? edge : 1); k++, phi += slice) {
        const float z = s->dim == 3 ? node_at(s, 2, fine * TILE * c.z + first + k, fine) : 0;
        for (int i = 0; i < slice; i++) at_z[i] = z, phi[i] = INFINITY;
        for (int i = 0; owner && i < slice; i++) owner[i] = -1;
        any |= solids_sample(s, slot, slice, x, y, at_z, phi, owner);
        if (owner) owner += slice;
    }
    return any;
}

/// Whether a wall hides between the nodes of a tile that lie in the domain.
static bool hides_wall_here(const BrimSim *s, int slot, const float *phi) {
    const TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x, c.y, c.z};
    int low[3] = {0}, high[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        const int last = s->grid.cells[a] - tile[a] * TILE + 1;
        low[a] = tile[a] > 0 ? 0 : 1;
        high[a] = last < NODES - 1 ? last : NODES - 1;
    }
    return hides_wall(s->dim, phi, low, high);
}

/// On a warped grid: those between nodes are their means.
static void refine_halves(int dim, const float *node, float *half) {
    const int depth = dim == 3 ? HALF_EDGE : 1;
    for (int i = 0; i < depth * HALF_EDGE * HALF_EDGE; i++) {
        const int at[3] = {i % HALF_EDGE, i / HALF_EDGE % HALF_EDGE, i / (HALF_EDGE * HALF_EDGE)};
        float sum = 0;
        for (int n = 0; n < 8; n++) {
            int x = (at[0] + (n & 1)) / 2, y = (at[1] + (n >> 1 & 1)) / 2,
                z = (at[2] + (n >> 2)) / 2;
            sum += node[((dim == 3 ? z : 0) * NODES + y) * NODES + x];
        }
        half[i] = 0.125f * sum;
    }
}

static void sample_halves(const BrimSim *s, int slot, const Nodes *nodes, Halves *halves) {
    if (s->warp)
        refine_halves(s->dim, nodes->phi, halves->phi);
    else
        solids_sample_nodes(s, slot, 2, -2, HALF_EDGE, halves->phi, NULL);
}

/// The half-cell node at the low corner of a cell, counted from the tile's.
static int half_corner(int dim, int x, int y, int z) {
    return ((dim == 3 ? 2 * z + 2 : 0) * HALF_EDGE + 2 * y + 2) * HALF_EDGE + 2 * x + 2;
}

static uint32_t *part_at(Halves *halves, int x, int y, int z) {
    return &halves->part[((z + 1) * (TILE + 1) + y + 1) * (TILE + 1) + x + 1];
}

/// => halves
static void find_halves(const BrimSim *s, int slot, const Nodes *nodes, Halves *halves) {
    const int deep = s->dim == 3 ? 1 : 0, depth = deep ? HALF_EDGE : 1;
    uint32_t outside[HALF_EDGE][HALF_EDGE]; // [z][y] bit x
    sample_halves(s, slot, nodes, halves);
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < HALF_EDGE; y++) {
            const float *row = halves->phi + (z * HALF_EDGE + y) * HALF_EDGE;
            uint32_t bits = 0;
            for (int x = 0; x < HALF_EDGE; x++) bits |= (uint32_t)(row[x] > 0) << x;
            outside[z][y] = bits;
        }
    for (int z = -deep; z < s->grid.tile_depth; z++)
        for (int y = -1; y < TILE; y++)
            for (int x = -1; x < TILE; x++) {
                uint32_t here = 0;
                for (int k = deep ? 8 : 2; k >= 0; k--)
                    here =
                        here << 3 |
                        (outside[deep * (2 * z + 2) + k / 3][2 * y + 2 + k % 3] >> (2 * x + 2) & 7);
                const float *low = halves->phi + half_corner(s->dim, x, y, z);
                *part_at(halves, x, y, z) = largest_part(s->dim, low, HALF_EDGE, here);
            }
}

/// Whether a solid near a tile moves.
static bool any_moves(const BrimSim *s, int slot) {
    for (int k = 0; k < s->walls.solid_count; k++)
        if (solid_moves(s->walls.solids[k]) && solid_exists(s->walls.solids[k], s->walls.time) &&
            near_tile(s, s->walls.solids[k], slot))
            return true;
    return false;
}

/// Node indices of the corners of the lower face of a cell along an axis. Returns how many.
static int face_corners(int dim, int axis, int cell, int corner[4]) {
    int at = low_corner(dim, cell);
    const int stride[3] = {1, NODES, NODES * NODES};
    if (dim == 2) {
        corner[0] = at, corner[1] = at + stride[1 - axis];
        return 2;
    }
    int b = stride[(axis + 1) % 3], c = stride[(axis + 2) % 3];
    corner[0] = at, corner[1] = at + b, corner[2] = at + c, corner[3] = at + b + c;
    return 4;
}

/// The same of a face that a body cuts, from distances at half cells too: from those at nodes alone
/// a round wall is a polygon inside it, whose volume lacks (dx / radius)^2 / 4.
static float open_finely(const BrimSim *s, int slot, int axis, int cell, const float v[4]) {
    static const int place[5][2] = {{1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}};
    const int b = s->dim == 2 ? 1 - axis : (axis + 1) % 3, c = (axis + 2) % 3;
    TileCoord t = s->grid.coord[slot];
    const int at[3] = {t.x * TILE + (cell & 7), t.y * TILE + (cell >> 3 & 7),
                       t.z * TILE + (cell >> 6)};
    float x[3][5], d[5];
    for (int i = 0; i < 5; i++) {
        for (int a = 0; a < 3; a++) x[a][i] = a < s->dim ? (float)at[a] * s->dx : 0;
        x[b][i] += 0.5f * (float)place[i][0] * s->dx;
        if (s->dim == 3) x[c][i] += 0.5f * (float)place[i][1] * s->dx;
        d[i] = INFINITY;
    }
    solids_sample(s, slot, s->dim == 2 ? 1 : 5, x[0], x[1], x[2], d, NULL);
    if (s->dim == 2) return 0.5f * (open_edge(v[0], d[0]) + open_edge(d[0], v[1]));
    return 0.25f * (open_square(v[0], d[0], d[1], d[2]) + open_square(d[0], v[1], d[2], d[3]) +
                    open_square(d[1], d[2], v[2], d[4]) + open_square(d[2], d[3], d[4], v[3]));
}

/// Whether a body's wall is the nearest at a node.
static bool of_body(const BrimSim *s, const Nodes *nodes, int node) {
    return nodes->owner[node] >= 0 && solid_is_body(s->walls.solids[nodes->owner[node]]);
}

/// The open part of a cell's lower face between the parts that it and the cell below stand for.
static float open_halves(const BrimSim *s, Halves *halves, int axis, int cell) {
    static const int bit[3] = {1, 3, 9}, stride[3] = {1, HALF_EDGE, HALF_EDGE * HALF_EDGE};
    const int b = s->dim == 2 ? 1 - axis : (axis + 1) % 3, c = (axis + 2) % 3;
    const int at[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
    const int to[3] = {at[0] - (axis == 0), at[1] - (axis == 1), at[2] - (axis == 2)};
    const uint32_t here = *part_at(halves, at[0], at[1], at[2]);
    const uint32_t below = *part_at(halves, to[0], to[1], to[2]);
    const uint32_t all = s->dim == 3 ? 0777777777 : 0777;
    if (!here || !below) return 0;
    if (here == all && below == all) return 1;
    const float *phi = halves->phi + half_corner(s->dim, at[0], at[1], at[2]);
    float v[9];
    for (int k = 0; k < (s->dim == 3 ? 9 : 3); k++) {
        int node = k % 3 * bit[b] + k / 3 * bit[c];
        bool joined = here >> node & 1 && below >> (node + 2 * bit[axis]) & 1;
        float d = phi[k % 3 * stride[b] + k / 3 * stride[c]];
        v[k] = joined || d < 0 ? d : -s->dx;
    }
    if (s->dim == 2) return 0.5f * (open_edge(v[0], v[1]) + open_edge(v[1], v[2]));
    float open = 0;
    for (int k = 0; k < 4; k++) {
        const float *q = v + k % 2 + 3 * (k / 2);
        open += 0.25f * open_square(q[0], q[1], q[3], q[4]);
    }
    return open;
}

/// Lower faces of a row of cells along an axis: their corners' nodes, of these the nearest, and the
/// distances there and at the farthest.
typedef struct Faces {
    int count, corner[4]; ///< of the first face; the others' follow
    int nearest[TILE];
    float least[TILE], most[TILE];
} Faces;

static void find_faces(int dim, const float *phi, int axis, int cell, Faces *f) {
    f->count = face_corners(dim, axis, cell, f->corner);
    for (int x = 0; x < TILE; x++) {
        f->nearest[x] = f->corner[0] + x;
        f->least[x] = f->most[x] = phi[f->corner[0] + x];
    }
    for (int k = 1; k < f->count; k++)
        for (int x = 0; x < TILE; x++) {
            const float d = phi[f->corner[k] + x];
            f->nearest[x] = d < f->least[x] ? f->corner[k] + x : f->nearest[x];
            f->least[x] = d < f->least[x] ? d : f->least[x];
            f->most[x] = d > f->most[x] ? d : f->most[x];
        }
}

/// The open part of the face x of a row whose first cell is `cell`.
static float open_face(const BrimSim *s, const Nodes *nodes, Halves *halves, const Faces *f,
                       int slot, int axis, int cell, int x) {
    float v[4], least = OPEN_MIN, open;
    if (halves->any) {
        open = open_halves(s, halves, axis, cell + x);
        return open < least ? 0 : open;
    }
    if (f->least[x] > 0) return 1;
    if (!(f->most[x] > 0)) return 0;
    for (int k = 0; k < f->count; k++) v[k] = nodes->phi[f->corner[k] + x];
    open = f->count == 2 ? open_edge(v[0], v[1]) : open_square(v[0], v[1], v[2], v[3]);
    if (!s->warp && open > 0 && open < 1 && of_body(s, nodes, f->nearest[x]))
        open = open_finely(s, slot, axis, cell + x, v), least = OPEN_FINE;
    return open < least ? 0 : open;
}

/// How fast the wall nearest to a face moves along its axis, 0 where none is near.
static float speed_at(const BrimSim *s, const Nodes *nodes, int nearest, int slot, int axis,
                      int cell) {
    const int owner = nodes->owner[nearest];
    if (owner < 0 || !(nodes->phi[nearest] < solid_velocity_reach(s->walls.solids[owner])))
        return 0;
    TileCoord c = s->grid.coord[slot];
    float p[3] = {(float)(c.x * TILE + (cell & 7)) + 0.5f,
                  (float)(c.y * TILE + (cell >> 3 & 7)) + 0.5f,
                  (float)(c.z * TILE + (cell >> 6)) + 0.5f};
    p[axis] -= 0.5f;
    if (s->warp) warp_to_place(s, p);
    BrimVec3 w = solid_velocity(s->walls.solids[owner], p[0] * s->dx, p[1] * s->dx,
                                s->dim == 3 ? p[2] * s->dx : 0);
    return axis == 0 ? w.x : axis == 1 ? w.y : w.z;
}

/// How far from the solids near a tile their speeds are wanted, m.
static float speed_reach(const BrimSim *s, int slot) {
    float reach = 0;
    for (int k = 0; k < s->walls.solid_count; k++)
        if (solid_exists(s->walls.solids[k], s->walls.time) &&
            near_tile(s, s->walls.solids[k], slot))
            reach = fmaxf(reach, solid_velocity_reach(s->walls.solids[k]));
    return reach;
}

/// The lower faces of a row of cells along an axis: most lie outside of all solids, and where their
/// speeds are not wanted.
static void sample_faces(BrimSim *s, const Nodes *nodes, Halves *halves, int slot, int axis,
                         int cell, float reach) {
    Faces f;
    find_faces(s->dim, nodes->phi, axis, cell, &f);
    const int64_t at = solid_cell(s, (int64_t)slot * s->grid.tile_cells + cell);
    float *open = s->open[axis] + at, *speed = s->wall_speed[axis];
    for (int x = 0; x < TILE; x++) open[x] = open_face(s, nodes, halves, &f, slot, axis, cell, x);
    for (int x = 0; speed && x < TILE; x++)
        speed[at + x] =
            f.least[x] < reach ? speed_at(s, nodes, f.nearest[x], slot, axis, cell + x) : 0;
}

static void set_far(BrimSim *s, int slot) {
    size_t rows = (size_t)s->grid.tile_rows, at = (size_t)slot * rows;
    s->tile_solid[slot] = SOLID_FAR;
    for (int a = 0; a < s->dim; a++) {
        memset(s->shut[a] + at, 0, rows);
        memset(s->cut[a] + at, 0, rows);
    }
    memset(s->rock + at, 0, rows);
}

/// Which of a row of cells have their centres inside a solid, by the mean over their corners.
static uint64_t centres_inside(int dim, const float *phi, int cell) {
    const float *low = phi + low_corner(dim, cell), *far = low + NODES * NODES;
    uint64_t inside = 0;
    float sum[TILE], least = 0;
    for (int x = 0; x < TILE; x++)
        sum[x] = low[x] + low[x + 1] + low[x + NODES] + low[x + NODES + 1];
    for (int x = 0; dim == 3 && x < TILE; x++)
        sum[x] = sum[x] + far[x] + far[x + 1] + far[x + NODES] + far[x + NODES + 1];
    for (int x = 0; x < TILE; x++) least = sum[x] < least ? sum[x] : least;
    if (!(least < 0)) return 0;
    for (int x = 0; x < TILE; x++) inside |= (uint64_t)(sum[x] < 0) << x;
    return inside;
}

/// The same from half cells.
static uint64_t halves_inside(int dim, const float *phi, int cell) {
    enum { CENTRE_2D = HALF_EDGE + 1, CENTRE_3D = HALF_EDGE * HALF_EDGE + CENTRE_2D };
    const float *centre =
        phi + half_corner(dim, 0, cell >> 3 & 7, cell >> 6) + (dim == 3 ? CENTRE_3D : CENTRE_2D);
    uint64_t inside = 0;
    for (int x = 0; x < TILE; x++) inside |= (uint64_t)(centre[2 * x] < 0) << x;
    return inside;
}

/// (open, nodes) => (shut, cut, rock)
static void make_masks(BrimSim *s, const Nodes *nodes, const Halves *halves, int slot) {
    TileMask rock = {{0}};
    for (int i = 0; i < s->grid.tile_cells; i += TILE)
        rock.slice[i >> 6] |= (halves->any ? halves_inside(s->dim, halves->phi, i)
                                           : centres_inside(s->dim, nodes->phi, i))
                              << (i & 63);
    mask_store(&s->grid, s->rock, slot, &rock);
    for (int a = 0; a < s->dim; a++) {
        TileMask shut = {{0}}, cut = {{0}};
        const float *open = s->open[a] + solid_cell(s, (int64_t)slot * s->grid.tile_cells);
        for (int i = 0; i < s->grid.tile_cells; i += TILE) {
            float least = 1;
            for (int x = 0; x < TILE; x++) least = open[i + x] < least ? open[i + x] : least;
            for (int x = 0; least < 1 && x < TILE; x++) {
                shut.slice[i >> 6] |= (uint64_t)(open[i + x] == 0) << ((i + x) & 63);
                cut.slice[i >> 6] |= (uint64_t)(open[i + x] < 1) << ((i + x) & 63);
            }
        }
        mask_store(&s->grid, s->shut[a], slot, &shut);
        mask_store(&s->grid, s->cut[a], slot, &cut);
    }
}

/// The least of the nodes from `first` to `last` along each axis.
static float least_distance(int dim, const float *phi, int first, int last) {
    float least = INFINITY;
    for (int z = dim == 3 ? first : 0; z <= (dim == 3 ? last : 0); z++)
        for (int y = first; y <= last; y++)
            for (int x = first; x <= last; x++) {
                float d = phi[(z * NODES + y) * NODES + x];
                least = d < least ? d : least;
            }
    return least;
}

/// A tile in the fields near solids that none reaches.
static void set_free(BrimSim *s, int slot) {
    size_t base = (size_t)(s->solid_at[slot] - 1) * (size_t)s->grid.tile_cells;
    size_t bytes = (size_t)s->grid.tile_cells * sizeof(float);
    s->fine_at[s->solid_at[slot] - 1] = 0;
    s->solid_least[s->solid_at[slot] - 1] = SOLID_REACH;
    for (int i = 0; i < s->grid.tile_cells; i++)
        s->solid_phi[base + (size_t)i] = SOLID_REACH * s->dx;
    memset(s->solid_volume + base, 0, bytes);
    if (s->solid_part) memset(s->solid_part + base, 0, bytes);
    for (int a = 0; a < s->dim; a++) {
        for (int i = 0; i < s->grid.tile_cells; i++) s->open[a][base + (size_t)i] = 1;
        if (s->wall_speed[a]) memset(s->wall_speed[a] + base, 0, bytes);
    }
}

/// What solids take of the cells' room, from the nodes, whose distances are in cells after. least:
/// of these
static void measure_room(BrimSim *s, size_t base, Nodes *nodes, Halves *halves, float least) {
    // octants of cells are empty from a quarter of a cell on; more, for rounding
    const bool empty = !halves->any && least * s->inv_dx > 0.26f;
    const size_t bytes = (size_t)s->grid.tile_cells * sizeof(float);
    const SolidPartKernels *kernels = solid_part_kernels_for(s->isa);
    float *volume = s->solid_volume + base, *kernel = s->solid_part ? s->solid_part + base : NULL;
    if (empty) {
        memset(volume, 0, bytes);
        if (kernel) memset(kernel, 0, bytes);
    } else if (halves->any) {
        const int count = s->dim == 3 ? HALF_NODES : HALF_EDGE * HALF_EDGE;
        for (int i = 0; i < count; i++) halves->phi[i] *= s->inv_dx;
        kernels->of_halves(s->dim, halves->phi, kernel_side(s), kernel, volume);
    } else {
        const int count = s->dim == 3 ? NODES_MAX : NODES * NODES;
        for (int i = 0; i < count; i++) nodes->phi[i] *= s->inv_dx;
        kernels->of_nodes(s->dim, nodes->phi, kernel_side(s), kernel, volume);
    }
}

void solids_sample_tile(BrimSim *s, int slot, int thread, void *context) {
    Nodes nodes;
    Halves halves;
    set_far(s, slot);
    if (!s->solid_at[slot]) return;
    size_t base = (size_t)(s->solid_at[slot] - 1) * (size_t)s->grid.tile_cells;
    bool near = s->warp ? sample_warped(s, slot, &nodes)
                        : solids_sample_nodes(s, slot, 1, -1, NODES, nodes.phi, nodes.owner);
    const bool moving = near && any_moves(s, slot);
    const float reach = moving ? speed_reach(s, slot) : -INFINITY; // of none
    const float least = near ? least_distance(s->dim, nodes.phi, 0, NODES - 1) : INFINITY;
    // its box may be near, and none of its walls
    near = near && (s->warp || least < fmaxf(reach, SOLID_REACH * s->dx));
    if (!near) {
        set_free(s, slot);
        return;
    }
    s->tile_solid[slot] = moving ? SOLID_MOVING : SOLID_STILL;
    Outside outside = outside_nodes(s->dim, nodes.phi);
    halves.any = is_thin(&outside) || (!s->warp && hides_wall_here(s, slot, nodes.phi));
    s->fine_at[s->solid_at[slot] - 1] = halves.any && !s->warp ? -1 : 0;
    if (halves.any) find_halves(s, slot, &nodes, &halves);
    for (int i = 0; i < s->grid.tile_cells; i++) {
        const float d = nodes.phi[low_corner(s->dim, i)], most = SOLID_REACH * s->dx;
        s->solid_phi[base + (size_t)i] = d < most ? d : most;
    }
    s->solid_least[s->solid_at[slot] - 1] =
        least_distance(s->dim, nodes.phi, 1, TILE + 1) * s->inv_dx;
    for (int a = 0; a < s->dim; a++)
        for (int i = 0; i < s->grid.tile_cells; i += TILE)
            sample_faces(s, &nodes, &halves, slot, a, i, reach);
    make_masks(s, &nodes, &halves, slot);
    measure_room(s, base, &nodes, &halves, least);
}

void solid_block(const BrimSim *s, int slot, int halo, float missing, float *block) {
    block_load_some(&s->grid, slot, s->solid_phi, s->solid_at, SOLID_REACH * s->dx, PLACE_NODE,
                    &s->sides, halo, missing, block);
}

bool solid_corners(const BrimSim *s, int slot, int cell, float value[8]) {
    TileCoord c = s->grid.coord[slot];
    int at[3] = {c.x * TILE + (cell & 7), c.y * TILE + (cell >> 3 & 7), c.z * TILE + (cell >> 6)};
    for (int n = 0; n < (s->dim == 3 ? 8 : 4); n++) {
        int p[3] = {at[0] + (n & 1), at[1] + (n >> 1 & 1), at[2] + (n >> 2)};
        for (int a = 0; a < 3; a++) // beyond the last tile: as in it
            if (p[a] >= s->grid.tiles[a] * TILE) p[a]--;
        int64_t i = grid_cell(&s->grid, p[0], p[1], p[2]);
        if (i < 0) return false;
        value[n] = solid_distance_at(s, i);
    }
    return true;
}

/// Whether a solid, be it there already or not, is near a tile.
static bool any_near(const BrimSim *s, int slot) {
    for (int i = 0; i < s->walls.solid_count; i++)
        if (near_tile(s, s->walls.solids[i], slot)) return true;
    return false;
}

/// Flag in tile_solid while fields are arranged: a solid is near.
enum { NEAR = 0x80 };

/// => NEAR in tile_solid; context: TeamCount, of such tiles
static void mark_near(BrimSim *s, int slot, int thread, void *context) {
    bool here = any_near(s, slot);
    s->tile_solid[slot] = (uint8_t)((s->tile_solid[slot] & ~NEAR) | (here ? NEAR : 0));
    team_add(context, here);
}

static void sample_new_tile(BrimSim *s, int slot, int thread, void *context) {
    if (s->solid_at[slot] && s->solid_from[s->solid_at[slot] - 1] < 0)
        solids_sample_tile(s, slot, thread, NULL);
}

bool solids_arrange(BrimSim *s) {
    TeamCount found = 0;
    int near = 0;
    if (!s->walls.solid_count) return true;
    tiles_for(s, mark_near, &found);
    if (!fields_reserve(s, WHERE_SOLIDS, (size_t)found)) {
        for (int t = 0; t < s->grid.tile_count; t++) s->tile_solid[t] &= (uint8_t)~NEAR;
        return false;
    }
    bool same = true;
    for (int t = 0; t < s->grid.tile_count; t++) {
        bool here = s->tile_solid[t] & NEAR;
        s->tile_solid[t] &= (uint8_t)~NEAR;
        if (here) s->solid_from[near++] = s->solid_at[t] - 1;
        same &= s->solid_at[t] == (here ? near : 0);
        s->solid_at[t] = here ? near : 0;
        if (!here) set_far(s, t);
    }
    if (same) return true;
    fields_follow(s, WHERE_SOLIDS, s->solid_from, near);
    tiles_for(s, sample_new_tile, NULL);
    return fine_arrange(s);
}

/// Samples a tile that a moving solid touches or touched. context: bool, all tiles
static void sample_touched_tile(BrimSim *s, int slot, int thread, void *context) {
    const bool *all = context;
    bool touched = *all || s->tile_solid[slot] == SOLID_MOVING;
    for (int i = 0; i < s->walls.solid_count && !touched; i++)
        touched = solid_moves(s->walls.solids[i]) && near_tile(s, s->walls.solids[i], slot);
    if (touched) solids_sample_tile(s, slot, thread, NULL);
}

/// Places the solids for the end of the step. False when out of memory.
static bool place_solids(BrimSim *s) {
    bool appears = false, moves = false;
    double before = s->walls.time;
    s->walls.time = s->time + s->dt;
    for (int i = 0; i < s->walls.solid_count; i++) {
        solid_set_team(s->walls.solids[i], s->team);
        if (!solid_place(s->walls.solids[i], s->walls.time, s->dt)) return false;
        moves |= solid_moves(s->walls.solids[i]);
        appears |= solid_exists(s->walls.solids[i], s->walls.time) !=
                   solid_exists(s->walls.solids[i], before);
    }
    if (appears) s->volume.crowded = true;
    bool all = appears || (s->warp && warp_bends(s)); // the nodes are elsewhere
    if ((moves || all) && !solids_arrange(s)) return false;
    if (!s->walls.solid_count) return true;
    tiles_for(s, sample_touched_tile, &all);
    return fine_arrange(s);
}

BrimResult stage_solids(BrimSim *s, BrimError *error) {
    for (int i = 0; i < s->walls.solid_count; i++)
        if (!solid_follows(s->walls.solids[i], s->time + s->dt))
            return fail(error, BRIM_LOST_DIVERGED,
                        "step %lld: solids[%d]: path or turn is not a number at t = %.6g s: change "
                        "its formulas",
                        (long long)s->step + 1, i, s->time + s->dt);
    return place_solids(s) ? BRIM_OK : step_out_of_memory(s, "solids", error);
}
