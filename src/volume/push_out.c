// Particles inside solids push out: section 3.3 of the density paper. They give the displacement of
// the faces around them, which the solve then takes as a wall that moves.
#include "grid/mask.h"
#include "volume/density.h"
#include "walls/lookup.h"
#include "walls/solid_fine.h"
#include <math.h>
#include <string.h>

/// Particles leave a solid by this much, so that rounding does not leave them inside; cells.
static const float MARGIN = 0.01f;
/// They walk out at most so far in a step, cells.
static const float STRIDE = 0.5f;

/// The nodes around a point of a block, and its fractions between them. Returns the lowest one.
static const float *nodes_around(const SolidNodes *nodes, const float at[3], int dim, int stride[3],
                                 float f[3]) {
    const int fine = nodes->fine ? 2 : 1, edge = fine * (TILE + 2);
    const float *low = nodes->phi;
    stride[0] = 1, stride[1] = edge, stride[2] = edge * edge;
    for (int a = 0; a < dim; a++) {
        float x = at[a] * (float)fine;
        int last = fine * (TILE + 1); // rounding may reach the tile's far end
        int cell = x < (float)last ? (int)x : last - 1;
        f[a] = x - (float)cell;
        low += cell * stride[a];
    }
    return low;
}

/// Distance at a point of a block of nodes, in cells.
static float distance_at(const SolidNodes *nodes, const float at[3], int dim, float inv_dx) {
    int stride[3];
    float f[3] = {0}, value = 0;
    const float *low = nodes_around(nodes, at, dim, stride, f);
    for (int z = 0; z < (dim == 3 ? 2 : 1); z++)
        for (int y = 0; y < 2; y++) {
            const float *row = low + y * stride[1] + z * stride[2];
            const float w = (y ? f[1] : 1 - f[1]) * (dim == 3 ? z ? f[2] : 1 - f[2] : 1);
            value += w * ((1 - f[0]) * row[0] + f[0] * row[1]);
        }
    return value * inv_dx;
}

/// Its gradient.
static void gradient_at(const SolidNodes *nodes, const float at[3], int dim, float inv_dx,
                        float gradient[3]) {
    int stride[3];
    float f[3] = {0};
    const float *low = nodes_around(nodes, at, dim, stride, f);
    for (int a = 0; a < 3; a++) gradient[a] = 0;
    for (int n = 0; n < (dim == 3 ? 8 : 4); n++) {
        float w[3],
            phi =
                low[(n & 1) * stride[0] + (n >> 1 & 1) * stride[1] + (n >> 2) * stride[2]] * inv_dx;
        for (int a = 0; a < 3; a++) w[a] = a < dim ? n >> a & 1 ? f[a] : 1 - f[a] : 1;
        gradient[0] += (n & 1 ? phi : -phi) * w[1] * w[2];
        gradient[1] += (n >> 1 & 1 ? phi : -phi) * w[0] * w[2];
        if (dim == 3) gradient[2] += (n >> 2 ? phi : -phi) * w[0] * w[1];
    }
}

/// The direction in which a particle gets out of a solid: up the gradient, unless that leads no
/// higher. On the ridge in the middle of a solid the interpolated distance may slope anywhere;
/// there the axis that leads highest is taken. depth: at the point, cells
static void way_out(const SolidNodes *nodes, const float at[3], int dim, float inv_dx, float depth,
                    const float gradient[3], float direction[3]) {
    float length = 0, to[3] = {0}, highest = -depth;
    for (int a = 0; a < dim; a++) length += gradient[a] * gradient[a];
    length = sqrtf(length);
    for (int a = 0; a < 3; a++) {
        direction[a] = a < dim && length > 1e-6f ? gradient[a] / length : 0;
        to[a] = at[a] + STRIDE * direction[a];
    }
    if (distance_at(nodes, to, dim, inv_dx) > highest) return;
    for (int n = 0; n < 2 * dim; n++) {
        float step[3] = {0};
        step[n >> 1] = n & 1 ? 1 : -1;
        for (int a = 0; a < 3; a++) to[a] = at[a] + STRIDE * step[a];
        float d = distance_at(nodes, to, dim, inv_dx);
        if (d <= highest) continue;
        highest = d;
        memcpy(direction, step, sizeof step);
    }
}

/// Index of a cell in the fields of pushes, -1 where there is none.
static int64_t push_cell(const BrimSim *s, int64_t cell) {
    int shift = s->dim == 3 ? 9 : 6;
    int32_t at = cell < 0 ? 0 : s->push_at[cell >> shift];
    return at ? ((int64_t)(at - 1) << shift) + (cell & ((1 << shift) - 1)) : -1;
}

/// Keeps a particle's way out of its cell, given as in the fields of pushes, if it is the deepest
/// there.
static void keep_deepest(BrimSim *s, size_t cell, const SolidNodes *nodes, const float at[3],
                         float depth, const float gradient[3]) {
    if (depth <= s->push_depth[cell]) return;
    float way = fminf(depth + MARGIN, STRIDE), direction[3];
    way_out(nodes, at, s->dim, s->inv_dx, depth, gradient, direction);
    s->push_depth[cell] = depth;
    for (int a = 0; a < s->dim; a++) s->push[a][cell] = direction[a] * way;
}

/// Cells of a row of a tile of which a node lies inside; no point of the others does.
static unsigned cut_by_solid(const SolidNodes *nodes, int dim, int row) {
    const int fine = nodes->fine ? 2 : 1, edge = fine * (TILE + 2);
    const int y0 = (row & 7) + 1, z0 = dim == 3 ? (row >> 3) + 1 : 0;
    unsigned inside = 0; // bit by node along x
    for (int z = fine * z0; z <= fine * z0 + (dim == 3 ? fine : 0); z++)
        for (int y = fine * y0; y <= fine * (y0 + 1); y++) {
            const float *from = nodes->phi + (z * edge + y) * edge + fine;
            for (int x = 0; x <= fine * TILE; x++) inside |= (unsigned)(from[x] < 0) << x;
        }
    inside |= inside >> 1;
    if (!nodes->fine) return inside & 0xff;
    unsigned cells = 0;
    inside |= inside >> 1;
    for (int x = 0; x < TILE; x++) cells |= (inside >> (2 * x) & 1) << x;
    return cells;
}

static int64_t find_in_tile(BrimSim *s, int slot, int thread) {
    size_t base = (size_t)slot * (size_t)s->grid.tile_cells;
    int64_t push = push_cell(s, (int64_t)base); // the tile's first cell there
    const Particles *p = &s->particles;
    uint32_t begin = tile_first(p, slot), end = tile_end(p, slot);
    if (push >= 0)
        memset(s->push_depth + push, 0, (size_t)s->grid.tile_cells * sizeof *s->push_depth);
    TileMask pushed = {{0}};
    mask_store(&s->grid, s->pushed, slot, &pushed);
    if (begin == end || !solid_near(s, slot)) return 0;
    memset(p->order + begin, 0, (end - begin) * sizeof *p->order);
    if (push < 0 || !solid_within(s, slot, 0)) return 0;
    float *node = s->scratch[thread].block[0];
    SolidNodes nodes = solid_nodes(s, slot, thread, 1, 3 * s->dx, node);
    Span span = sim_span(s, slot, 1);
    int64_t inside = 0;
    unsigned cut = 0;
    const uint32_t *start = cell_starts(p, &s->grid, slot);
    for (int cell = 0; cell < s->grid.tile_cells; cell++) {
        uint32_t first = start[cell], last = start[cell + 1];
        if ((cell & 7) == 0) cut = cut_by_solid(&nodes, s->dim, cell / TILE);
        if (first == last) continue;
        if (!(cut >> (cell & 7) & 1)) continue;
        for (uint32_t i = first; i < last; i++) {
            float at[3] = {0}, gradient[3];
            for (int a = 0; a < s->dim; a++)
                at[a] = space_to_grid(s->space, p->attr[ATTR_X + a][i]) - span.corner[a];
            float d = distance_at(&nodes, at, s->dim, s->inv_dx);
            p->order[i] = d < -SHIFT_DEPTH && d >= -SOLID_DEPTH;
            if (d >= -SHIFT_DEPTH) continue;
            inside++;
            gradient_at(&nodes, at, s->dim, s->inv_dx, gradient);
            keep_deepest(s, (size_t)(push + cell), &nodes, at, -d, gradient);
            pushed.slice[cell >> 6] |= (uint64_t)1 << (cell & 63);
        }
    }
    mask_store(&s->grid, s->pushed, slot, &pushed);
    return inside;
}

static void count_in_tile(BrimSim *s, int slot, int thread, void *context) {
    team_add(context, find_in_tile(s, slot, thread));
}

bool push_out_find(BrimSim *s, int64_t *inside) {
    TeamCount found = 0;
    int tiles = 0;
    *inside = 0;
    if (!s->walls.solid_count) return true;
    for (int t = 0; t < s->grid.tile_count; t++) {
        bool here = s->solid_at[t] && tile_first(&s->particles, t) != tile_end(&s->particles, t);
        s->push_at[t] = here ? ++tiles : 0;
    }
    s->volume.pushed_tiles = tiles;
    if (!fields_reserve(s, WHERE_PUSHED, (size_t)tiles)) return false;
    tiles_for(s, count_in_tile, &found);
    *inside = found;
    return true;
}

/// Moves a particle out of a solid; in a corner the first push may end in the other side.
static void push_out_one(BrimSim *s, uint32_t i, const float low[3], const float high[3]) {
    enum { PUSHES = 4 };
    float at[3] = {0}, gradient[3];
    for (int a = 0; a < s->dim; a++) at[a] = s->particles.attr[ATTR_X + a][i];
    for (int push = 0; push < PUSHES; push++) {
        float depth = -solid_lookup(s, at, gradient), length = 0;
        for (int a = 0; a < s->dim; a++) length += gradient[a] * gradient[a];
        if (!(depth > 0) || length <= 0) break;
        float way = fminf(depth + MARGIN * s->dx, STRIDE * s->dx) / sqrtf(length);
        for (int a = 0; a < s->dim; a++)
            at[a] = fminf(fmaxf(at[a] + gradient[a] * way, low[a]), high[a]);
    }
    for (int a = 0; a < s->dim; a++) s->particles.attr[ATTR_X + a][i] = at[a];
}

void push_out_rest(BrimSim *s, uint32_t first, uint32_t end, const float low[3],
                   const float high[3]) {
    for (uint32_t i = first; i < end; i++)
        if (s->particles.order[i]) push_out_one(s, i, low, high);
}

float push_out_face(const BrimSim *s, int axis, int64_t cell, int64_t below) {
    int64_t i = push_cell(s, cell), k = push_cell(s, below);
    float mine = i < 0 ? 0 : s->push_depth[i], other = k < 0 ? 0 : s->push_depth[k];
    if (mine <= 0 && other <= 0) return 0;
    return mine >= other ? s->push[axis][i] : s->push[axis][k];
}
