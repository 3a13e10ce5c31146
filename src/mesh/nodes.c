// The lattice nodes of a tile: which are in the water, and how far from its surface.
#include "mesh/carried.h"
#include "mesh/sheet.h"
#include "mesh/stretch.h"
#include <math.h>
#include <string.h>

/// A point with fewer particles than this around, as a part of full water, has none beside it that
/// could make a smooth surface: there each particle is a ball of its own volume.
static const float SPARSE = 0.06f;
/// From this part of full water on the averaged surface stands as it is: a film as thin as the
/// spacing of particles has 0.37 at its surface.
static const float SAMPLED = 0.3f;
/// From this part of full water on a point is in the water however uneven its particles are: at a
/// flat surface it is a half, and a quarter of that for chance.
static const float CROWDED = 0.7f;

/// Levels, in cells, between which water at a solid's surface comes to count as a film: where the
/// surface of deep water ends at a solid it is wet by chance up to the first.
static const float FILM_LEAST = 0.1f, FILM_SURE = 0.35f;

/// Carried planes are asked nearer to the surface of positions than this, cells.
static const float CARRIED_NEAR = 1.25f;

/// Averaged position: |mean| is a known function of the distance to a flat surface; the profile
/// inverts it. Few particles around a point, as where sides meet and their images repeat them, make
/// pits of chance where their mean happens to be off: there the weight's own distance, linear with
/// its slope at a flat surface, decides. Between drops the averaged surface closes where no
/// particle is (the mean of two of them is in the middle), hence the bound by the nearest particle.
float level_distance(const MeshScale *s, const LevelSums *sums) {
    if (sums->weight < 1e-6f) return s->radius;
    const LevelSetProfile *p = &s->profile;
    float scale = s->radius / p->radius, length2 = 0;
    for (int a = 0; a < 3; a++) {
        float m = sums->mean[a] / sums->weight;
        length2 += m * m;
    }
    float t = (sqrtf(length2) / scale - p->offset - p->low) / p->step, averaged = s->radius;
    int i = (int)t;
    if (i < PROFILE_SIZE)
        averaged =
            scale * (p->distance[i] + (t - (float)i) * (p->distance[i + 1] - p->distance[i]));
    float filled = sums->weight / s->full, crowd = 256.0f / 315 * s->radius * (CROWDED - filled);
    if (crowd < averaged) averaged = crowd;
    float room = s->alone + ramp(SPARSE, SAMPLED, filled) * (s->reach - s->alone);
    float near = sqrtf(sums->nearest) - room;
    return averaged > near ? near + ramp(SPARSE, 2 * SPARSE, filled) * (averaged - near) : near;
}

// --------------------------------------------------------------------------------------- kinds

/// Kinds of the cells that a tile's nodes touch.
static void cell_kinds(const Nodes *n, const NodeInput *in, Touched kind) {
    const Bins *b = in->block.bins;
    for (int z = 0; z < TOUCH; z++)
        for (int y = 0; y < TOUCH; y++)
            for (int x = 0; x < TOUCH; x++) {
                int64_t cell = grid_cell(&b->grid, TILE * n->tile[0] - 2 + x,
                                         TILE * n->tile[1] - 2 + y, TILE * n->tile[2] - 2 + z);
                NodeKind k = NODE_FAR;
                if (cell >= 0 && b->deep[cell >> 3] >> (cell & 7) & 1) k = NODE_DEEP;
                if (cell >= 0 && b->active[cell >> 3] >> (cell & 7) & 1) k = NODE_ACTIVE;
                kind[z][y][x] = (uint8_t)k;
            }
}

/// Cells [low, high] that a node touches along an axis, counted from the first of the tile's.
static void touched(const MeshScale *s, int axis, int tile, int local, int *low, int *high) {
    int i = tile * s->edge + local - 1, last = s->cells[axis] * s->resolution;
    i = i < 0 ? 0 : i > last ? last : i;
    *high = i / s->resolution, *low = i % s->resolution ? *high : *high - 1;
    if (*low < 0) *low = 0;
    if (*high > s->cells[axis] - 1) *high = s->cells[axis] - 1;
    *low -= TILE * tile - 2, *high -= TILE * tile - 2;
    if (*low < 0) *low = 0; // beyond the far side, where there is no water
    if (*high < *low) *high = *low;
}

static void node_kinds(Nodes *n, const MeshScale *s, Touched kind) {
    int edge = s->edge + 1, low[3][NODES_MAX], high[3][NODES_MAX];
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < edge; i++) touched(s, a, n->tile[a], i, &low[a][i], &high[a][i]);
    uint8_t *out = n->kind;
    for (int z = 0; z < edge; z++)
        for (int y = 0; y < edge; y++)
            for (int x = 0; x < edge; x++) {
                NodeKind k = NODE_FAR;
                for (int c = low[2][z]; c <= high[2][z]; c++)
                    for (int b = low[1][y]; b <= high[1][y]; b++)
                        for (int a = low[0][x]; a <= high[0][x]; a++)
                            if (kind[c][b][a] > k) k = kind[c][b][a];
                *out++ = (uint8_t)k;
            }
}

// ------------------------------------------------------------------------------------ distance

/// sums: what particles around the point say; NULL when it is not wanted.
static float phi_at(const Block *block, const NodeInput *in, const float at[3],
                    const float plane[4], LevelSums *out) {
    LevelSums own, *sums = out ? out : &own;
    if (in->stretch) {
        const StretchScale *s = in->stretch;
        in->kernels->stretched(block, s->support, at, plane, sums);
        return fminf(stretch_distance(s, sums), in->scale->radius);
    }
    in->kernels->sum(block, in->scale->radius, at, plane, sums);
    float rough = level_distance(in->scale, sums);
    if (!in->block.carried || fabsf(rough) > CARRIED_NEAR) return rough;
    return carried_distance(block, in->kernels, at, plane, sums, rough);
}

/// Moves a point that is closer than a particle's spacing to a side or solid that far away. Returns
/// whether it did.
static bool step_back(const MeshScale *s, float at[3], float plane[4], bool near_plane) {
    bool from_plane = near_plane && plane[3] < s->spacing, moved = from_plane;
    for (int a = 0; a < 3; a++) {
        if (from_plane) at[a] += (s->spacing - plane[3]) * plane[a];
        float low = s->spacing, high = (float)s->cells[a] - s->spacing;
        if (at[a] >= low && at[a] <= high) continue;
        at[a] = at[a] < low ? low : high;
        moved = true;
    }
    if (from_plane) plane[3] = s->spacing;
    return moved;
}

/// How far above a solid, up to `high` where the point `at` is dry, a film on it ends; -1 when
/// there is none. Cells.
static float film_end(const Block *block, const NodeInput *in, const float at[3],
                      const float plane[4], float phi, float *wet) {
    enum { STEPS = 4 };
    float low = 0, high = plane[3], below = 0, above = phi;
    for (int i = -1; i < STEPS; i++) {
        // first the solid's surface, then between what is wet and what is dry
        float part = i < 0 ? 0 : below / (below - above), point[3], here[4];
        part = part < 0.2f ? 0.2f : part > 0.8f ? 0.8f : part;
        float d = i < 0 ? 0 : low + part * (high - low);
        for (int a = 0; a < 3; a++) {
            point[a] = at[a] + (d - plane[3]) * plane[a];
            here[a] = plane[a];
            if (point[a] < 0 || point[a] > (float)in->scale->cells[a]) return -1;
        }
        here[3] = d;
        float value = phi_at(block, in, point, here, NULL);
        if (i < 0) *wet = value;
        if (i < 0 && !(value < -FILM_LEAST)) return -1;
        if (value < 0)
            low = d, below = value;
        else
            high = d, above = value;
    }
    return low + (high - low) * below / (below - above);
}

static bool in_sparse_cell(const Nodes *n, const float at[3]) {
    int cell[3];
    for (int a = 0; a < 3; a++) cell[a] = (int)floorf(at[a]) - (TILE * n->tile[a] - 2);
    return n->sparse[cell[2]][cell[1]][cell[0]];
}

/// Beside a side or a solid water counts as touching it when it is there a spacing away: holes no
/// deeper than that are chance, and images behind the wall would widen them.
static float active_phi(const Nodes *n, const Block *block, const NodeInput *in, int x, int y,
                        int z, float *film) {
    const MeshScale *s = in->scale;
    const int at_node[3] = {x, y, z};
    float at[3], plane[4];
    for (int a = 0; a < 3; a++) at[a] = node_position(s, a, n->tile[a] * s->edge + at_node[a]);
    bool mirrored = n->near_solid && node_plane(n, s, x, y, z, plane);
    if (mirrored && plane[3] < 0) { // inside a solid: as at the nearest point of its surface
        float depth = -plane[3];
        if (depth > s->shift) return s->radius;
        for (int a = 0; a < 3; a++) at[a] += depth * plane[a];
        plane[3] = 0;
    }
    LevelSums sums;
    float phi = phi_at(block, in, at, mirrored ? plane : NULL, &sums);
    if (phi > 0 && !mirrored && !in->stretch && in_sparse_cell(n, at))
        phi = sheet_distance(block, in, at, &sums, phi);
    const float node[3] = {at[0], at[1], at[2]};
    const float own[4] = {plane[0], plane[1], plane[2], plane[3]};
    if (step_back(s, at, plane, mirrored)) {
        float back = phi_at(block, in, at, mirrored ? plane : NULL, NULL);
        if (back < 0) return fminf(phi, back);
        phi = fminf(phi, back);
    }
    if (!mirrored || phi < 0 || !(own[3] > 0) || own[3] >= film_reach(s)) return phi;
    float wet = 0, end = film_end(block, in, node, own, phi, &wet);
    if (end < 0) return phi;
    float filmed = -fminf(film_reach(s) - own[3], end);
    filmed = phi + ramp(FILM_LEAST, FILM_SURE, -wet) * (filmed - phi);
    if (filmed < 0) *film = end;
    return filmed;
}

bool nodes_sparse(const Nodes *n, const Block *block, const NodeInput *in, const float at[3],
                  float *phi) {
    LevelSums sums;
    *phi = phi_at(block, in, at, NULL, &sums);
    if (in->stretch || sums.weight > SAMPLED * in->scale->full) return false;
    if (*phi > 0 && in_sparse_cell(n, at)) *phi = sheet_distance(block, in, at, &sums, *phi);
    return true;
}

void nodes_thin(const Nodes *n, const Block *block, const NodeInput *in, float at[3]) {
    LevelSums sums;
    if (in->stretch || !in_sparse_cell(n, at)) return;
    float phi = phi_at(block, in, at, NULL, &sums);
    sheet_thin(block, in, &sums, phi, at);
}

static bool beside_solid(const Nodes *n, const MeshScale *s, int x, int y, int z) {
    float plane[4];
    return n->near_solid && node_plane(n, s, x, y, z, plane);
}

/// (kind, solid, block) => phi, in. Returns whether some nodes are in the water and some not.
static bool node_levels(Nodes *n, const Block *block, const NodeInput *input) {
    const MeshScale *s = input->scale;
    // nearer to the surface than that vertices stay away from a node, and chance would decide
    const float least = -MESH_SNAP / (float)s->resolution;
    int edge = s->edge + 1, i = 0;
    bool any_in = false, any_out = false;
    for (int z = 0; z < edge; z++)
        for (int y = 0; y < edge; y++)
            for (int x = 0; x < edge; x++, i++) {
                bool outside = node_outside(s, 0, n->tile[0] * s->edge + x) ||
                               node_outside(s, 1, n->tile[1] * s->edge + y) ||
                               node_outside(s, 2, n->tile[2] * s->edge + z);
                n->phi[i] = n->kind[i] == NODE_DEEP ? -s->radius : s->radius;
                n->film[i] = -1;
                if (n->kind[i] == NODE_ACTIVE && !outside)
                    n->phi[i] = active_phi(n, block, input, x, y, z, &n->film[i]);
                n->in[i] = n->phi[i] < 0 && !outside;
                if (n->in[i] && n->phi[i] >= least) n->in[i] = beside_solid(n, s, x, y, z);
                if (n->in[i] && n->near_solid) n->in[i] = n->solid[ring_index(s, x, y, z)] > 0;
                any_in |= n->in[i], any_out |= !n->in[i];
            }
    return any_in && any_out;
}

NodesResult nodes_fill(Nodes *nodes, Block *block, const NodeInput *input) {
    Touched kind;
    cell_kinds(nodes, input, kind);
    node_kinds(nodes, input->scale, kind);
    nodes_solid(nodes, input);
    if (!block_fill(block, &input->block, nodes->tile, nodes->near_solid)) return NODES_NO_MEMORY;
    if (!input->stretch) sheet_cells(block, input->scale, nodes->sparse);
    return node_levels(nodes, block, input) ? NODES_SOME : NODES_NONE;
}
