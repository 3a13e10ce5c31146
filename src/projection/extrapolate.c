// Stage 11: velocity beyond the liquid. Layer by layer a face that touches known ones takes their
// mean; then faces on walls get the walls' velocity. What stays unknown is marked as not a number:
// a particle that gets there flies on by itself.
#include "base/error.h"
#include "step/stages.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Layers that particles in a tile or around it may reach. The flow below a band, which has none,
/// is carried along paths that may touch solids.
static int layers_of(const BrimSim *s, int slot) {
    int most = reach_cells(1);
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && s->tile_reach[t] > most) most = s->tile_reach[t];
    }
    return most;
}

/// One layer of one component of a tile: unknown faces that touch known ones. known => grown, both
/// [rows]. Returns whether there were any.
static bool grow_tile(BrimSim *s, int axis, int slot, const uint8_t *known, uint8_t *grown) {
    const Grid *g = &s->grid;
    TileMask near[6], mask = mask_load(g, known, slot), inside = mask_inside(g, slot);
    TileMask wall = {{0}}, wanted;
    if (mask_full(g, known, slot)) { // as deep in the liquid
        mask_store(g, grown, slot, &mask);
        return false;
    }
    mask_around(g, known, slot, near);
    if (!s->sides.open[2 * axis]) wall = mask_layer(g, slot, axis, 0);
    uint64_t any = 0;
    for (int z = 0; z < g->tile_depth; z++) {
        uint64_t touched =
            near[0].slice[z] | near[1].slice[z] | near[2].slice[z] | near[3].slice[z];
        if (s->dim == 3) touched |= near[4].slice[z] | near[5].slice[z];
        wanted.slice[z] = touched & ~mask.slice[z] & inside.slice[z] & ~wall.slice[z];
        mask.slice[z] |= wanted.slice[z];
        any |= wanted.slice[z];
    }
    mask_store(g, grown, slot, &mask);
    if (!any) return false;
    // Only unknown faces are written and only known ones count, so one field serves for both.
    TileView v = tile_view(g, slot, s->velocity[axis], tile_zeros);
    s->faces->grow(&v, near, &wanted, s->dim,
                   s->velocity[axis] + (size_t)slot * (size_t)g->tile_cells);
    return true;
}

/// A layer at work: masks go back and forth between `known` and `spare`.
typedef struct Layer {
    int done; ///< layers before it
    TeamCount grown;
} Layer;

static void grow_layer(BrimSim *s, int slot, int thread, void *context) {
    Layer *l = context;
    bool enough = l->done >= layers_of(s, slot), any = false;
    for (int a = 0; a < s->dim; a++) {
        uint8_t *other = s->grown[a];
        uint8_t *from = l->done & 1 ? other : s->known[a], *to = l->done & 1 ? s->known[a] : other;
        size_t at = (size_t)slot * (size_t)s->grid.tile_rows;
        if (enough)
            mask_copy(&s->grid, to + at, from + at);
        else
            any |= grow_tile(s, a, slot, from, to);
    }
    team_add(&l->grown, any);
}

/// Runs up to `layers` layers, as long as there is something to grow from.
static void grow_layers(BrimSim *s, int layers) {
    Layer l = {0};
    size_t rows = sim_rows(s);
    bool more = true;
    for (; l.done < layers && more; l.done++) {
        l.grown = 0;
        tiles_for(s, grow_layer, &l);
        more = l.grown > 0;
    }
    if (rows > 0 && (l.done & 1)) // without water there are no arrays
        for (int a = 0; a < s->dim; a++) memcpy(s->known[a], s->grown[a], rows);
}

/// Direction away from the solids at a face, from a block of distances with a halo of 1, not a
/// number where no tile is; false where it cannot be told. distance: of the face's middle, m.
static bool solid_normal(const float *block, int dim, int cell, int axis, float n[3],
                         float *distance) {
    enum { EDGE = TILE + 2 };
    const int stride[3] = {1, EDGE, EDGE * EDGE}, corners = dim == 3 ? 8 : 4;
    const int at =
        ((dim == 3 ? (cell >> 6) + 1 : 0) * EDGE + (cell >> 3 & 7) + 1) * EDGE + (cell & 7) + 1;
    float length = 0, sum = 0;
    for (int b = 0; b < dim; b++) { // differences over the cells on both sides of the face
        float g = 0;
        for (int k = 0; k < corners; k++) {
            int p = at + (k & 1) * stride[0] + (k >> 1 & 1) * stride[1] + (k >> 2) * stride[2];
            if (b == axis && !(k >> b & 1)) p -= stride[b];
            g += k >> b & 1 ? block[p] : -block[p];
        }
        n[b] = g;
        length += g * g;
    }
    for (int k = 0; k < corners; k++)
        if (!(k >> axis & 1))
            sum +=
                block[at + (k & 1) * stride[0] + (k >> 1 & 1) * stride[1] + (k >> 2) * stride[2]];
    *distance = 2 * sum / (float)corners;
    if (!(length > 0)) return false;
    for (int b = 0; b < dim; b++) n[b] /= sqrtf(length);
    return true;
}

/// The velocity of a face, or that of a solid there.
static inline float face_value(const BrimSim *s, bool wall, int axis, int64_t face) {
    if (!wall) return s->velocity[axis][face];
    int64_t i = solid_cell(s, face);
    return i < 0 ? 0 : s->wall_speed[axis][i];
}

/// A component of the velocity, or of that of solids, at a face of another axis: mean of the four
/// faces around it that have a value.
static float component_at(const BrimSim *s, bool wall, int slot, int cell, int axis, int other) {
    if (other == axis) return face_value(s, wall, axis, (int64_t)slot * s->grid.tile_cells + cell);
    const int at[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
    float sum = 0;
    int count = 0;
    for (int k = 0; k < 4; k++) {
        int p[3] = {at[0], at[1], at[2]};
        p[axis] -= k & 1;
        p[other] += k >> 1;
        int64_t i = grid_near(&s->grid, slot, p[0], p[1], p[2]);
        if (i < 0 || !(s->known[other][i >> 3] >> (i & 7) & 1)) continue;
        sum += face_value(s, wall, other, i);
        count++;
    }
    return count ? sum / (float)count : 0;
}

/// A component of the velocity, less that of solids where they move, at a point in cells of the
/// tile: linear between open faces that have a value. False where there are none.
static bool open_component(const BrimSim *s, bool moving, int slot, int axis, const float at[3],
                           float *value) {
    int low[3] = {0};
    float f[3] = {0}, sum = 0, weights = 0;
    for (int a = 0; a < s->dim; a++) {
        float x = at[a] - (a == axis ? 0 : 0.5f);
        low[a] = (int)floorf(x);
        f[a] = x - (float)low[a];
    }
    int64_t corner[8];
    grid_near_corners(&s->grid, slot, low, corner);
    for (int k = 0; k < (s->dim == 3 ? 8 : 4); k++) {
        const int64_t i = corner[k];
        if (i < 0 || !((s->known[axis][i >> 3] & ~s->shut[axis][i >> 3]) >> (i & 7) & 1)) continue;
        float w = 1;
        for (int a = 0; a < s->dim; a++) w *= k >> a & 1 ? f[a] : 1 - f[a];
        float u = s->velocity[axis][i];
        if (moving) u -= face_value(s, true, axis, i);
        sum += w * u, weights += w;
    }
    if (weights > 0) *value = sum / weights;
    return weights > 0;
}

/// The speed along n of the flow a cell off the wall, before a face at some distance from it, in
/// cells: as deep as the face lies inside, if that is more.
static float speed_off_wall(const BrimSim *s, bool moving, int slot, int cell, int axis,
                            const float n[3], float distance) {
    float at[3] = {(float)(cell & 7) + 0.5f, (float)(cell >> 3 & 7) + 0.5f,
                   (float)(cell >> 6) + 0.5f};
    float way = fmaxf(fabsf(distance), 1) - distance, normal = 0;
    at[axis] -= 0.5f;
    for (int a = 0; a < s->dim; a++) at[a] += way * n[a];
    for (int a = 0; a < s->dim; a++) {
        float u;
        if (!open_component(s, moving, slot, a, at, &u)) return 0;
        normal += u * n[a];
    }
    return fabsf(normal);
}

/// Velocity of a face that lies in a solid with the part 1 - open. The solve weighs a face by its
/// open part but particles take its velocity whole: the fast flow through slivers would drive them.
/// Towards a wall the normal speed of a flow falls, so what exceeds that of the flow a cell off the
/// wall goes: u -= (1 - open) ((u - u_wall) . n - limit) n.
static float slide(const BrimSim *s, const float *solid, int slot, int cell, int axis, float open,
                   bool moving) {
    float n[3], distance, normal = 0;
    float mine = s->velocity[axis][(size_t)slot * (size_t)s->grid.tile_cells + (size_t)cell];
    if (!solid_normal(solid, s->dim, cell, axis, n, &distance)) return mine;
    for (int b = 0; b < s->dim; b++) {
        float u = component_at(s, false, slot, cell, axis, b);
        if (moving) u -= component_at(s, true, slot, cell, axis, b);
        normal += u * n[b];
    }
    float most = speed_off_wall(s, moving, slot, cell, axis, n, distance * s->inv_dx);
    float kept = normal < -most ? -most : normal > most ? most : normal;
    return mine - (1 - open) * (normal - kept) * n[axis];
}

/// Slid values of a tile's faces in solids, kept apart until all tiles have read theirs.
static void slide_tile(BrimSim *s, int slot, int thread, void *context) {
    if (s->tile_solid[slot] == SOLID_FAR) return;
    bool moving = s->wall_speed[0] && s->tile_solid[slot] == SOLID_MOVING;
    int64_t base = (int64_t)slot * s->grid.tile_cells, solid_base = solid_cell(s, base);
    const float *phi = s->solid_phi + solid_base;
    float *block = s->scratch[thread].block[0];
    bool loaded = false;
    for (int a = 0; a < s->dim; a++) {
        const float *open = s->open[a] + solid_base;
        TileMask known = mask_load(&s->grid, s->known[a], slot), cut = cut_faces(s, slot, a);
        for (int z = 0; z < s->grid.tile_depth; z++)
            for (uint64_t bits = known.slice[z] & cut.slice[z]; bits; bits &= bits - 1) {
                int i = z * 64 + __builtin_ctzll(bits);
                if (!loaded) solid_block(s, slot, 1, NAN, block);
                loaded = true;
                // Only particles that are more than a cell inside read the rest; they are pushed
                // out.
                s->slid[a][base + i] = phi[i] < -SOLID_REACH * s->dx
                                           ? s->velocity[a][base + i]
                                           : slide(s, block, slot, i, a, open[i], moving);
            }
    }
}

/// Whether a face on a wall lies beside one that touches liquid: at the edge of the water, which
/// ends somewhere between the two.
static bool borders_liquid(const BrimSim *s, int slot, int cell, int axis, bool far) {
    for (int n = 0; n < 2 * s->dim; n++) {
        int at[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
        if (n >> 1 == axis) continue;
        at[axis] -= far;
        at[n >> 1] += n & 1 ? 1 : -1;
        int64_t i = grid_near(&s->grid, slot, at[0], at[1], at[2]);
        if (i >= 0 && s->liquid[i >> 3] >> (i & 7) & 1) return true;
    }
    return false;
}

/// Faces on the domain's walls: no flow where liquid touches the wall and beside that, else only
/// away from it: the velocity that particles brought, or drops would stick to a ceiling. Returns
/// the faces on walls, and which of them touch liquid.
static TileMask set_walls(BrimSim *s, int slot, int axis, float *v, TileMask *touching) {
    const Grid *g = &s->grid;
    TileMask both = {{0}};
    *touching = both;
    for (int far = 0; far < 2; far++) {
        if (s->sides.open[2 * axis + far]) continue;
        TileMask faces = mask_layer(g, slot, axis, far ? g->cells[axis] : 0);
        TileMask wet =
            far ? mask_neighbour(g, s->liquid, slot, axis, -1) : mask_load(g, s->liquid, slot);
        for (int z = 0; z < g->tile_depth; z++) {
            for (uint64_t bits = faces.slice[z]; bits; bits &= bits - 1) {
                int bit = __builtin_ctzll(bits);
                float *at = &v[z * 64 + bit];
                bool shut = wet.slice[z] >> bit & 1 || (far ? *at > 0 : *at < 0) ||
                            (*at != 0 && borders_liquid(s, slot, z * 64 + bit, axis, far));
                *at = shut ? 0 : *at;
            }
            both.slice[z] |= faces.slice[z];
            touching->slice[z] |= faces.slice[z] & wet.slice[z];
        }
    }
    return both;
}

/// The last pass over one component of a tile: walls, unknown faces, largest value; and with FLIP
/// old becomes new - ratio old, which is what grid -> particles interpolates. near: there are
/// particles to read it.
static float finish_component(BrimSim *s, int slot, int axis, bool near) {
    const Grid *g = &s->grid;
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    float *v = s->velocity[axis] + base;
    TileMask known = mask_load(g, s->known[axis], slot);
    TileMask cut = cut_faces(s, slot, axis);
    for (int z = 0; z < g->tile_depth; z++)
        for (uint64_t bits = known.slice[z] & cut.slice[z]; bits; bits &= bits - 1) {
            int i = z * 64 + __builtin_ctzll(bits);
            v[i] = s->slid[axis][base + (size_t)i];
        }
    TileMask touching, walls = set_walls(s, slot, axis, v, &touching);
    for (int z = 0; z < g->tile_depth; z++) known.slice[z] |= walls.slice[z];
    float *old = s->old[axis] && near ? s->old[axis] + base : NULL;
    float fastest = s->faces->finish(&known, g->tile_depth, s->def.flip_ratio, v, old);
    if (old)
        // Where liquid touches the wall a particle and its mirror image cancel: old is 0 there, not
        // the mean over the particles of one side.
        for (int z = 0; z < g->tile_depth; z++)
            for (uint64_t bits = touching.slice[z]; bits; bits &= bits - 1)
                old[z * 64 + __builtin_ctzll(bits)] = 0;
    return fastest;
}

static void finish_tile(BrimSim *s, int slot, int thread, void *context) {
    float fastest = 0;
    bool near = particles_near(s, slot);
    for (int a = 0; a < s->dim; a++)
        fastest = (float)larger_of(fastest, finish_component(s, slot, a, near));
    s->tile_speed[slot] = fastest;
}

BrimResult stage_extrapolate(BrimSim *s, BrimError *error) {
    if (s->walls.solid_count && !fields_take(s, FIELD_slid))
        return step_out_of_memory(s, "extrapolate", error);
    // Particles reach one cell beyond the faces they gave a velocity to; speeds may grow.
    enum { LAYERS_MOST = 65 };
    int layers = (int)fmin(ceil(reach_estimate(s)) + 1, LAYERS_MOST);
    grow_layers(s, layers);
    if (s->walls.solid_count) tiles_for(s, slide_tile, NULL);
    tiles_for(s, finish_tile, NULL);
    for (int t = 0; t < s->grid.tile_count; t++) // a particle would take it for air, and fly on
        if (isnan(s->tile_speed[t]))
            return fail(error, BRIM_LOST_DIVERGED,
                        "step %lld (t = %.6g s), stage extrapolate: a velocity of the flow is not "
                        "a number",
                        (long long)s->step + 1, s->time);
    return BRIM_OK;
}
