// Interpolation gathers for as many particles at once as a register holds. The scatter finds
// weights for as many, but cannot add them at once (two may meet on a node): it adds the (momentum,
// weight) pairs of two x-neighbours as one vector of four.
#include "particles/transfer.h"
#include "grid/sample.h"
#include "particles/chunk.h"
#include <math.h>

// ------------------------------------------------------------------------ particles -> grid

/// Floats of a block's rows, slices, components.
enum {
    BLOCK_ROW = 2 * SCATTER_EDGE,
    BLOCK_SLICE = BLOCK_ROW * SCATTER_EDGE,
    BLOCK_3D = SCATTER_3D / 3,
    BLOCK_2D = SCATTER_2D / 2
};

/// Where a register of particles lies among the faces of each component.
typedef struct Stencil {
    wide_int node[3]; ///< index of the low node
    wide on[3];       ///< fraction along an axis for nodes on faces of that axis
    wide off[3];      ///< and for nodes half a cell off
} Stencil;

static inline void stencil_find(Stencil *s, const Span *p, int first, wide_int valid,
                                const int dim) {
    const int edge = SCATTER_EDGE;
    wide_int on[3] = {0}, off[3] = {0};
    for (int a = 0; a < dim; a++) {
        const wide x = wide_position(p, first, valid, a, edge);
        on[a] = split(x, &s->on[a]);
        off[a] = split(x - 0.5f, &s->off[a]);
    }
    for (int a = 0; a < dim; a++) {
        wide_int x = a == 0 ? on[0] : off[0], y = a == 1 ? on[1] : off[1];
        wide_int z = a == 2 ? on[2] : off[2];
        s->node[a] = (z * edge + y) * edge + x;
    }
}

/// What particles give to the faces of a component: (momentum, weight) pairs for two neighbours
/// along x, and weights of the two or four rows. A particle's four numbers lie side by side, so
/// that it is added without a shuffle.
typedef struct Shares {
    int32_t node[WIDE];
    float pairs[4 * WIDE], rows[4 * WIDE];
} Shares;

/// mass: not read unless `heavy`
static inline void find_shares(Shares *out, const Stencil *s, int axis, wide v, wide mass,
                               const bool heavy, const int dim) {
    wide part[3][2], row[4] = {{0}};
    for (int a = 0; a < dim; a++) {
        part[a][1] = a == axis ? s->on[a] : s->off[a];
        part[a][0] = 1.0f - part[a][1];
    }
    for (int k = 0; k < (dim == 3 ? 4 : 2); k++) {
        row[k] = part[1][k & 1];
        if (dim == 3) row[k] *= part[2][k >> 1];
        if (heavy) row[k] *= mass;
    }
    memcpy(out->node, &s->node[axis], sizeof out->node);
    wide_store_fours(out->pairs, part[0][0] * v, part[0][0], part[0][1] * v, part[0][1]);
    wide_store_fours(out->rows, row[0], row[1], row[2], row[3]);
}

/// Adds one particle's component to the 8 (2D: 4) nodes around it.
static inline void scatter(float *block, const Shares *shares, int i, const int dim) {
    const int four = 4 * wide_four(i);
    const f4 pairs = *(const f4 *)(shares->pairs + four);
    const float *row = shares->rows + four;
    float *node = block + 2 * shares->node[i];
    for (int k = 0; k < (dim == 3 ? 4 : 2); k++)
        *(f4 *)(node + (k >> 1) * BLOCK_SLICE + (k & 1) * BLOCK_ROW) += pairs * row[k];
}

static inline __attribute__((always_inline)) void to_block_plain(const Span *p, const bool heavy,
                                                                 float *block, const int dim) {
    Shares shares[3];
    for (int first = 0; first < p->count; first += WIDE) {
        const int n = p->count - first < WIDE ? p->count - first : WIDE;
        const wide_int valid = wide_lanes() < n;
        const wide mass = heavy ? wide_load_some(p->attr[ATTR_MASS] + first, valid) : (wide){0};
        Stencil s;
        stencil_find(&s, p, first, valid, dim);
        for (int a = 0; a < dim; a++) {
            const wide v = wide_load_some(p->attr[ATTR_VX + a] + first, valid);
            find_shares(&shares[a], &s, a, v, mass, heavy, dim);
        }
        for (int i = 0; i < n; i++)
            for (int a = 0; a < dim; a++)
                scatter(block + a * (dim == 3 ? BLOCK_3D : BLOCK_2D), &shares[a], i, dim);
    }
}

/// The same with a gradient: change of the component over a cell along each axis. fx, fy, fz:
/// fractions; mass: 1 unless `heavy`.
static inline void scatter_affine(float *node, float v, float mass, float fx, float fy, float fz,
                                  const float gradient[3], const bool heavy, const int dim) {
    f4 along = {1.0f - fx, 1.0f - fx, fx, fx};
    f4 value = {v, 1.0f, v, 1.0f};
    value += (f4){-fx * gradient[0], 0, (1.0f - fx) * gradient[0], 0};
    for (int k = 0; k < (dim == 3 ? 2 : 1); k++)
        for (int j = 0; j < 2; j++) {
            float w = j ? fy : 1.0f - fy;
            if (dim == 3) w *= k ? fz : 1.0f - fz;
            if (heavy) w *= mass;
            float d = ((float)j - fy) * gradient[1];
            if (dim == 3) d += ((float)k - fz) * gradient[2];
            *(f4 *)(node + k * BLOCK_SLICE + j * BLOCK_ROW) +=
                along * (value + (f4){d, 0, d, 0}) * w;
        }
}

static inline __attribute__((always_inline)) void to_block_affine(const Span *p, const bool heavy,
                                                                  float *block, const int dim) {
    for (int first = 0; first < p->count; first += WIDE) {
        const int n = p->count - first < WIDE ? p->count - first : WIDE;
        Stencil s;
        stencil_find(&s, p, first, wide_lanes() < n, dim);
        for (int i = 0; i < n; i++)
            for (int a = 0; a < dim; a++) {
                float gradient[3] = {0};
                for (int b = 0; b < dim; b++)
                    gradient[b] = p->attr[ATTR_AFFINE + 3 * a + b][first + i];
                scatter_affine(block + a * (dim == 3 ? BLOCK_3D : BLOCK_2D) + 2 * s.node[a][i],
                               p->attr[ATTR_VX + a][first + i],
                               heavy ? p->attr[ATTR_MASS][first + i] : 1,
                               (a == 0 ? s.on : s.off)[0][i], (a == 1 ? s.on : s.off)[1][i],
                               dim == 3 ? (a == 2 ? s.on : s.off)[2][i] : 0, gradient, heavy, dim);
            }
    }
}

static void to_block(const Span *p, bool affine, float *block) {
    const bool heavy = p->attr[ATTR_MASS];
    if (affine && p->dim == 3)
        heavy ? to_block_affine(p, true, block, 3) : to_block_affine(p, false, block, 3);
    else if (affine)
        heavy ? to_block_affine(p, true, block, 2) : to_block_affine(p, false, block, 2);
    else if (p->dim == 3)
        heavy ? to_block_plain(p, true, block, 3) : to_block_plain(p, false, block, 3);
    else
        heavy ? to_block_plain(p, true, block, 2) : to_block_plain(p, false, block, 2);
}

/// The (momentum, weight) pairs of a row of eight faces.
typedef float f16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float f2 __attribute__((vector_size(8), aligned(4), may_alias));

/// Adds what the block of neighbour n gives to a tile's rows.
static inline void add_block(float sums[64][2 * TILE], const ScatterNear *near, int n,
                             const int dim) {
    const int dx = n % 3 - 1, dy = n / 3 % 3 - 1, dz = n / 9 - 1;
    // row z * 8 + y of the tile is row (z + 1) * 10 + y + 1 of its own block
    const int shift = dim == 3 ? ((1 - TILE * dz) * SCATTER_EDGE + 1 - TILE * dy) : 1 - TILE * dy;
    const float *block = near->block[n] + 2, *side = near->side[n];
    if (dx < 0) side += dim == 3 ? SCATTER_SIDE_3D : SCATTER_SIDE_2D;
    for (uint64_t rows = near->reach[n]; rows; rows &= rows - 1) {
        const int row = __builtin_ctzll(rows);
        const int from = (row >> 3) * SCATTER_EDGE + (row & 7) + shift;
        if (dx == 0)
            *(f16 *)sums[row] += *(const f16 *)(block + 2 * SCATTER_EDGE * from);
        else
            *(f2 *)(sums[row] + (dx > 0 ? 2 * TILE - 2 : 0)) += *(const f2 *)(side + 2 * from);
    }
}

static inline uint8_t row_bits(i8x mask) {
#if defined(__AVX2__)
    return (uint8_t)_mm256_movemask_ps((__m256)mask);
#else
    unsigned bits = 0;
    for (int i = 0; i < 8; i++) bits |= (unsigned)(mask[i] & 1) << i;
    return (uint8_t)bits;
#endif
}

static void gather(const ScatterNear *near, int dim, float least, float *velocity, float *old,
                   float *weight, uint8_t *known) {
    float sums[64][2 * TILE];
    uint64_t live = 0;
    for (int n = 0; n < 27; n++) live |= near->reach[n];
    for (uint64_t rows = live; rows; rows &= rows - 1)
        *(f16 *)sums[__builtin_ctzll(rows)] = (f16){0};
    for (int n = 0; n < 27; n++)
        if (near->reach[n]) dim == 3 ? add_block(sums, near, n, 3) : add_block(sums, near, n, 2);
    for (int row = 0; row < (dim == 3 ? 64 : 8); row++) {
        f8 v = {0}, mass = {0};
        known[row] = 0;
        if (live >> row & 1) {
            const f16 s = *(const f16 *)sums[row];
            f8 momentum = __builtin_shufflevector(s, s, 0, 2, 4, 6, 8, 10, 12, 14);
            mass = __builtin_shufflevector(s, s, 1, 3, 5, 7, 9, 11, 13, 15);
            i8x has = mass > least;
            f8 divisor = (f8)(((i8x)mass & has) | ((i8x)((f8){0} + 1.0f) & ~has));
            v = (f8)((i8x)(momentum / divisor) & has);
            known[row] = row_bits(has);
        }
        *(f8 *)(velocity + row * TILE) = v;
        if (old) *(f8 *)(old + row * TILE) = v;
        if (weight) *(f8 *)(weight + row * TILE) = mass;
    }
}

// ------------------------------------------------------------------------ grid -> particles

/// Between the values around points, with the gradient over a cell.
static inline wide sample_gradient(const float *b, const wide_int cell[3], int edge,
                                   const wide f[3], wide gradient[3], const int dim) {
    wide c[8], slice[2], along[2][2];
    values_around(b, cell, edge, c, dim);
    for (int k = 0; k < (dim == 3 ? 2 : 1); k++) {
        const wide *at = c + 4 * k;
        wide low = mix(at[0], at[1], f[0]), high = mix(at[2], at[3], f[0]);
        along[k][0] = mix(at[1] - at[0], at[3] - at[2], f[1]);
        along[k][1] = high - low;
        slice[k] = mix(low, high, f[1]);
    }
    gradient[2] = (wide){0};
    for (int a = 0; a < 2; a++) gradient[a] = along[0][a];
    if (dim == 2) return slice[0];
    for (int a = 0; a < 2; a++) gradient[a] = mix(along[0][a], along[1][a], f[2]);
    gradient[2] = slice[1] - slice[0];
    return mix(slice[0], slice[1], f[2]);
}

static inline void from_block_dim(const Span *p, float ratio, const float *const block[3], int halo,
                                  const int dim) {
    const int edge = TILE + 2 * halo;
    for (int first = 0; first < p->count; first += WIDE) {
        const wide_int valid = wide_lanes() < p->count - first;
        wide x[3] = {0}, found[3];
        for (int a = 0; a < dim; a++) x[a] = wide_position(p, first, valid, a, edge);
        sample_faces(block, edge, x, found, dim);
        for (int a = 0; a < dim; a++) {
            float *at = p->attr[ATTR_VX + a] + first;
            const wide v = wide_load_some(at, valid);
            const wide_int known = found[a] == found[a];
            wide_store_some(at, valid, wide_select(known, ratio * v + found[a], v));
        }
    }
}

/// With gradients, for APIC.
static inline void from_block_affine(const Span *p, const float *const block[3], int halo,
                                     const int dim) {
    int edge = TILE + 2 * halo;
    float at[3][CHUNK], out[3][4][CHUNK];
    for (int first = 0; first < p->count; first += CHUNK) {
        int n = p->count - first < CHUNK ? p->count - first : CHUNK;
        chunk_positions(p, first, n, edge, 0, at, dim);
        for (int i = 0; i < n; i += WIDE)
            for (int a = 0; a < dim; a++) {
                wide f[3] = {0}, gradient[3];
                wide_int cell[3] = {0};
                for (int b = 0; b < dim; b++)
                    cell[b] = split(wide_load(at[b] + i) - (a == b ? 0.0f : 0.5f), &f[b]);
                wide v = sample_gradient(block[a], cell, edge, f, gradient, dim);
                wide_store(out[a][3] + i, v);
                for (int b = 0; b < dim; b++)
                    wide_store(out[a][b] + i, wide_select(v == v, gradient[b], (wide){0}));
            }
        for (int a = 0; a < dim; a++) {
            float *restrict v = p->attr[ATTR_VX + a] + first;
            for (int i = 0; i < n; i++) v[i] = out[a][3][i] == out[a][3][i] ? out[a][3][i] : v[i];
            for (int b = 0; b < dim; b++)
                memcpy(p->attr[ATTR_AFFINE + 3 * a + b] + first, out[a][b],
                       (size_t)n * sizeof(float));
        }
    }
}

static void from_block(const Span *p, bool affine, float ratio, const float *const block[3],
                       int halo) {
    if (affine)
        p->dim == 3 ? from_block_affine(p, block, halo, 3) : from_block_affine(p, block, halo, 2);
    else
        p->dim == 3 ? from_block_dim(p, ratio, block, halo, 3)
                    : from_block_dim(p, ratio, block, halo, 2);
}

// -------------------------------------------------------------------------------- advection

/// The flow; the particle's own velocity where the grid knows none.
static inline void flow_at(const float *const block[3], int edge, const wide at[3],
                           const wide own[3], wide v[3], const int dim) {
    sample_faces(block, edge, at, v, dim);
    for (int a = 0; a < dim; a++) v[a] = wide_select(v[a] == v[a], v[a], own[a]);
}

/// One Runge-Kutta sub-step of `scale` cells a m/s; a: the flow at x. Stages are evaluated inside
/// [low, high]: a particle that flies faster than the grid's flow must not read beyond the block.
static inline void advance(wide x[3], const wide a[3], const wide own[3],
                           const float *const block[3], int edge, float scale, const float low[3],
                           const float high[3], const bool third_order, const int dim) {
    wide b[3], c[3], at[3] = {0};
    for (int k = 0; k < dim; k++)
        at[k] = wide_clamp(x[k] + 0.5f * scale * a[k], wide_all(low[k]), wide_all(high[k]));
    flow_at(block, edge, at, own, b, dim);
    if (third_order) { // Ralston's: stages at 0, 1/2, 3/4; weights 2/9, 3/9, 4/9
        for (int k = 0; k < dim; k++)
            at[k] = wide_clamp(x[k] + 0.75f * scale * b[k], wide_all(low[k]), wide_all(high[k]));
        flow_at(block, edge, at, own, c, dim);
        for (int k = 0; k < dim; k++)
            b[k] = (2.0f * a[k] + 3.0f * b[k] + 4.0f * c[k]) * (1.0f / 9.0f);
    }
    for (int k = 0; k < dim; k++) x[k] += scale * b[k];
}

/// Distance to the solids at points in block coordinates, in cells, and its gradient in m a cell.
static inline wide solid_at(const MoveParams *m, float inv_dx, const wide x[3], wide g[3],
                            const int dim) {
    const float fine = m->fine ? 2 : 1;
    const int edge = (TILE + 2 * m->halo) * (m->fine ? 2 : 1);
    wide f[3] = {0};
    wide_int cell[3] = {0};
    for (int a = 0; a < dim; a++) cell[a] = split(x[a] * fine, &f[a]);
    wide d = inv_dx * sample_gradient(m->solid, cell, edge, f, g, dim);
    for (int a = 0; a < dim; a++) g[a] *= fine;
    return d;
}

/// What points know of the solids: distance in cells, and its gradient in m a cell.
typedef struct Wall {
    wide distance, slope[3];
} Wall;

/// Moves points deeper in a solid than `depth` back to that depth along the distance's gradient;
/// several times, since in a concave corner the first push may end in the other wall. A point that
/// finds no way, or that came to the middle of a wall, where the distance has no slope, or beyond,
/// goes back to `from`. With a depth above 0 points that were deeper before may
/// stay as deep as they were. Returns which went back.
/// wall: at `from` => at x
static inline wide_int leave_solid(wide x[3], const wide from[3], Wall *wall, const MoveParams *m,
                                   float inv_dx, const float low[3], const float high[3],
                                   const int dim) {
    const Wall was = *wall;
    const float depth = m->solid_depth;
    wide *g = wall->slope, d = solid_at(m, inv_dx, x, g, dim);
    wall->distance = d;
    if (!wide_bits((d < 0.0f) | (was.distance < 0.0f))) return (wide_int){0};
    wide opposed = {0}, steep = {0};
    for (int a = 0; a < dim; a++) opposed += g[a] * was.slope[a], steep += g[a] * g[a];
    wide_int across = (d < 0.0f) & (was.distance > -FROM_OUTSIDE) &
                      ((opposed < 0.0f) | (steep * inv_dx * inv_dx < SLOPE_MIN * SLOPE_MIN));
    wide limit = wide_all(-depth);
    if (depth > 0) limit = wide_select(was.distance < limit, was.distance, limit);
    const wide_int pushed = d < limit;
    for (int push = 0; push < SOLID_PUSHES && wide_bits(d < limit); push++) {
        wide length = wide_sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        // A hair outside, so that it is not pushed again by rounding.
        wide distance =
            wide_select((d < limit) & (length > 1e-9f), (limit + 1e-3f - d) / length, (wide){0});
        for (int a = 0; a < dim; a++)
            x[a] = wide_clamp(x[a] + distance * g[a], wide_all(low[a]), wide_all(high[a]));
        d = solid_at(m, inv_dx, x, g, dim);
    }
    wide_int stuck = across | ((d < limit) & (was.distance >= limit));
    wide turn = {0}, slope2 = {0}, gone = {0};
    for (int a = 0; a < dim; a++) {
        turn += g[a] * was.slope[a];
        slope2 += g[a] * g[a];
        gone += g[a] * (x[a] - from[a]);
    }
    // Just before the middle of a thin wall the slope may lead so far that it comes out behind.
    stuck |= pushed & (was.distance > -FROM_OUTSIDE) & (turn < 0.0f) & (gone > 0.0f);
    if (depth > 0) { // beyond the middle of a thin wall it would leave on the other side
        wide_int flat = (slope2 * inv_dx * inv_dx < SLOPE_MIN * SLOPE_MIN) & (d < was.distance);
        stuck |=
            ((d < 0.0f) | (was.distance < 0.0f)) & (was.distance > -1.0f) & (flat | (turn < 0.0f));
    }
    wall->distance = wide_select(stuck, was.distance, d);
    for (int a = 0; a < dim; a++) {
        x[a] = wide_select(stuck, from[a], x[a]);
        g[a] = wide_select(stuck, was.slope[a], g[a]);
    }
    return stuck;
}

static inline float clamp(float x, float low, float high) {
    x = x > low ? x : low;
    return x < high ? x : high;
}

/// Particles that share a number of sub-steps: the same ones on every instruction set.
enum { GROUP = 16 };

/// Sub-steps may turn out so much longer than the velocity at the start told.
static const float LONGER = 1.5f;

/// How a group moves.
typedef struct Move {
    int substeps;
    bool walls;    ///< a solid is in reach
    float longest; ///< cells that a sub-step may cross; when one does not keep to it, the group
                   ///< moves with all sub-steps
} Move;

/// Whether solids are in reach of the n particles of a group: distances in cells.
static inline bool walls_in_reach(const float walls[GROUP], int n, float reach) {
    float nearest = walls[0];
    for (int i = 0; i < n; i++) nearest = walls[i] < nearest ? walls[i] : nearest;
    return !(nearest > reach + 1.0f);
}

/// Cells that the fastest particle of a group crosses with the velocity that it starts with.
static inline float start_reach(const float start[3][GROUP], int n, float scale, const int dim) {
    float fastest = 0;
    for (int a = 0; a < dim; a++)
        for (int i = 0; i < n; i++) {
            float speed = fabsf(start[a][i]);
            fastest = speed > fastest ? speed : fastest;
        }
    return fastest * scale;
}

/// The same as a length: a wall may be met at any angle.
static inline float start_length(const float start[3][GROUP], int n, float scale, const int dim) {
    float fastest2 = 0;
    for (int i = 0; i < n; i++) {
        float speed2 = 0;
        for (int a = 0; a < dim; a++) speed2 += start[a][i] * start[a][i];
        fastest2 = speed2 > fastest2 ? speed2 : fastest2;
    }
    return sqrtf(fastest2) * scale;
}

static inline int count_substeps(float reach, float stride, int most) {
    float count = reach / stride;
    return count < (float)most ? 1 + (int)count : most;
}

/// All sub-steps, whatever the particles of a group may meet.
static inline Move careful_move(const float walls[GROUP], int n, const MoveParams *m) {
    return (Move){m->substeps, walls_in_reach(walls, n, m->reach), INFINITY};
}

/// A box in block coordinates, inside the block. Where the block ends before the domain does,
/// `low_end` and `high_end` are the block's ends, else they lie beyond it.
typedef struct MoveBox {
    float low[3], high[3], low_end[3], high_end[3];
} MoveBox;

static inline MoveBox move_box(const Span *p, const MoveParams *m) {
    const float first = 0.5f, last = (float)(TILE + 2 * m->halo) - 1.01f;
    MoveBox box;
    for (int a = 0; a < 3; a++) {
        float low = space_to_grid(p->space, m->low[a]) - p->corner[a];
        float high = space_to_grid(p->space, m->high[a]) - p->corner[a];
        box.low[a] = clamp(low, first, last), box.high[a] = clamp(high, first, last);
        box.low_end[a] = low < first ? first : -1;
        box.high_end[a] = high > last ? last : last + 1;
    }
    return box;
}

/// A register of particles as they begin.
typedef struct Part {
    wide_int valid; ///< lanes that hold one
    wide at[3], own[3], flow[3];
    wide distance; ///< to solids where they are now, cells; only with those
} Part;

/// What the particles of a group that may meet solids begin with.
typedef struct Begin {
    float at[3][GROUP], own[3][GROUP]; ///< position in block coordinates, velocity
    float flow[3][GROUP];              ///< velocity of the flow
    float walls[GROUP];                ///< distance to solids, cells
    float drift[3][GROUP];             ///< way of the solid at the particle in the step, cells
} Begin;

/// What became of them.
typedef struct End {
    float at[3][GROUP], own[3][GROUP];
    int32_t left[GROUP]; ///< not 0 for those that came to the block's end
} End;

/// As many sub-steps as the group needs by the velocities that it starts with. Near solids what
/// counts is the way past them.
static inline Move choose_move(const Begin *begin, int n, const MoveParams *m, float inv_dx,
                               const int dim) {
    const float *walls = begin->walls;
    if (!(m->stride > 0) || m->substeps == 1) return careful_move(walls, n, m);
    float cells = start_reach(begin->flow, n, m->time * inv_dx, dim), drift = 0;
    int free = count_substeps(cells, m->stride, m->substeps);
    float stride = NEAR_SOLIDS * m->stride, longest = LONGER * stride;
    if (m->wall[0]) drift = start_length(begin->drift, n, 1, dim);
    cells = start_length(begin->flow, n, m->time * inv_dx, dim) + drift;
    int near = count_substeps(cells, stride, m->substeps);
    float reach = (float)near * longest;
    if (near == m->substeps) return careful_move(walls, n, m);
    if (walls_in_reach(walls, n, reach)) return (Move){near, true, longest};
    return (Move){free, false, (reach - drift) / (float)free};
}

/// What touches a solid does not push on into it. Where the distance has no slope nothing changes.
static inline void lose_push(wide v[3], const Wall *wall, const int dim) {
    const wide *g = wall->slope;
    wide into = {0}, length2 = {0};
    for (int a = 0; a < dim; a++) into += v[a] * g[a], length2 += g[a] * g[a];
    wide_int pushes = (wall->distance < SOLID_TOUCH) & (into < 0.0f) & (length2 > 1e-18f);
    into = wide_select(pushes, into / length2, (wide){0});
    for (int a = 0; a < dim; a++) v[a] = wide_select(pushes, v[a] - into * g[a], v[a]);
}

/// Where points of solids that still have a part of the step to go will be at its end. A turning
/// solid takes them along an arc: by the velocity half way.
static inline void to_step_end(const wide x[3], float part, const MoveParams *m, float inv_dx,
                               const MoveBox *box, wide out[3], const int dim) {
    const int edge = TILE + 2 * m->halo;
    const float way = part * m->time * inv_dx;
    wide wall[3], half[3] = {x[0], x[1], x[2]};
    out[2] = x[2];
    sample_faces(m->wall, edge, x, wall, dim);
    for (int a = 0; a < dim; a++)
        half[a] =
            wide_clamp(x[a] + 0.5f * way * wall[a], wide_all(box->low[a]), wide_all(box->high[a]));
    sample_faces(m->wall, edge, half, wall, dim);
    for (int a = 0; a < dim; a++)
        out[a] = wide_clamp(x[a] + way * wall[a], wide_all(box->low[a]), wide_all(box->high[a]));
}

/// The end of a sub-step beside solids that move, of which `before` and `after` of the step are
/// left: as beside still ones, in the frame of the solid, where it is at the step's end. What goes
/// back to where it was goes along with the solid. Returns which did. length2: of the way past it
static inline wide_int leave_moving(wide x[3], const wide from[3], float before, float after,
                                    Wall *wall, const MoveParams *m, float inv_dx,
                                    const MoveBox *box, wide *length2, const int dim) {
    wide was[3], here[3], at[3];
    to_step_end(from, before, m, inv_dx, box, was, dim);
    to_step_end(x, after, m, inv_dx, box, here, dim);
    *length2 = (wide){0};
    for (int a = 0; a < 3; a++) at[a] = here[a];
    for (int a = 0; a < dim; a++) *length2 += (here[a] - was[a]) * (here[a] - was[a]);
    wide_int stuck = leave_solid(at, was, wall, m, inv_dx, box->low, box->high, dim);
    // Back to where it is now: what goes along from there ends at `at`. A wall that turns has
    // another velocity where the point is put than where it was, hence more than one try.
    enum { TRIES = 3 };
    for (int k = 0; k < TRIES; k++) {
        wide_int moved = {0};
        for (int a = 0; a < dim; a++) {
            moved |= at[a] != here[a];
            x[a] =
                wide_clamp(x[a] + (at[a] - here[a]), wide_all(box->low[a]), wide_all(box->high[a]));
        }
        if (k + 1 == TRIES || !wide_bits(moved)) break;
        to_step_end(x, after, m, inv_dx, box, here, dim);
    }
    return stuck;
}

/// Moves the n particles of a group. Returns the longest way of one in a sub-step, cells.
static inline float move_group(const Begin *begin, int n, Move move, const MoveParams *m,
                               float inv_dx, const MoveBox *box, End *out, const bool third_order,
                               const int dim) {
    const int edge = TILE + 2 * m->halo;
    const float scale = m->time / (float)move.substeps * inv_dx;
    float most = 0;
    for (int i = 0; i < n; i += WIDE) {
        wide x[3] = {0}, v[3] = {0}, flow[3] = {0}, drift[3] = {0}, longest2 = {0};
        const bool moving = move.walls && m->wall[0];
        Wall wall = {0};
        wide_int gone = {0}, stuck = {0};
        for (int a = 0; a < dim; a++) {
            x[a] = wide_load(begin->at[a] + i), v[a] = wide_load(begin->own[a] + i);
            flow[a] = wide_load(begin->flow[a] + i);
        }
        wide at[3] = {x[0], x[1], x[2]};
        for (int a = 0; a < dim && moving; a++) drift[a] = wide_load(begin->drift[a] + i);
        if (moving) to_step_end(x, 1, m, inv_dx, box, at, dim);
        if (move.walls) wall.distance = solid_at(m, inv_dx, at, wall.slope, dim);
        for (int s = 0; s < move.substeps; s++) {
            const wide from[3] = {x[0], x[1], x[2]};
            if (s > 0) flow_at(m->velocity, edge, x, v, flow, dim);
            advance(x, flow, v, m->velocity, edge, scale, box->low, box->high, third_order, dim);
            wide length2 = {0};
            for (int a = 0; a < dim; a++) {
                length2 += (x[a] - from[a]) * (x[a] - from[a]);
                x[a] = wide_clamp(x[a], wide_all(box->low[a]), wide_all(box->high[a]));
            }
            if (moving)
                stuck = leave_moving(x, from, 1 - (float)s / (float)move.substeps,
                                     1 - (float)(s + 1) / (float)move.substeps, &wall, m, inv_dx,
                                     box, &length2, dim);
            else if (move.walls)
                stuck = leave_solid(x, from, &wall, m, inv_dx, box->low, box->high, dim);
            longest2 = wide_select(length2 > longest2, length2, longest2);
            for (int a = 0; a < dim; a++)
                gone |= (x[a] <= box->low_end[a]) | (x[a] >= box->high_end[a]);
        }
        for (int a = 0; a < dim; a++) wide_store(out->at[a] + i, x[a]);
        memcpy(out->left + i, &gone, sizeof gone);
        if (move.walls && m->still) lose_push(v, &wall, dim);
        const float speed = inv_dx * m->time > 0 ? 1 / (inv_dx * m->time) : 0;
        for (int a = 0; a < dim; a++) // what is held goes with what holds it
            wide_store(out->own[a] + i, wide_select(stuck, drift[a] * speed, v[a]));
        for (int k = 0; k < WIDE && i + k < n; k++) most = longest2[k] > most ? longest2[k] : most;
    }
    return sqrtf(most);
}

/// The n particles from `first` on, at most as many as a register holds; lanes without one are
/// where the first is.
static inline void part_load(const Span *p, int first, int n, const MoveParams *m, Part *out,
                             const int dim) {
    wide slope[3];
    out->valid = wide_lanes() < n;
    out->at[2] = out->own[2] = out->distance = (wide){0};
    for (int a = 0; a < dim; a++) {
        out->at[a] = wide_position(p, first, out->valid, a, TILE + 2 * m->halo);
        out->own[a] = wide_load_some(p->attr[ATTR_VX + a] + first, out->valid);
    }
    if (m->solid) out->distance = solid_at(m, p->inv_dx, out->at, slope, dim);
}

/// Which are farther from solids than these and they may come to each other.
static inline wide_int far_from_solids(const Part *f, const MoveParams *m) {
    return f->distance > m->reach + m->wall_reach + 1.0f;
}

/// => begin
static inline void begin_near(Begin *begin, const Part *part, int parts, const MoveParams *m,
                              float inv_dx, const MoveBox *box, const int dim) {
    const int edge = TILE + 2 * m->halo;
    for (int k = 0, i = 0; k < parts; k++, i += WIDE) {
        const wide *x = part[k].at;
        wide flow[3], slope[3], distance = part[k].distance;
        flow_at(m->velocity, edge, x, part[k].own, flow, dim);
        for (int a = 0; a < dim; a++) {
            wide_store(begin->at[a] + i, x[a]), wide_store(begin->own[a] + i, part[k].own[a]);
            wide_store(begin->flow[a] + i, flow[a]);
            if (m->wall[0]) wide_store(begin->drift[a] + i, (wide){0});
        }
        // What no wall can come to in the step need not know how walls go.
        const wide_int far = far_from_solids(&part[k], m);
        if (m->wall[0] && wide_bits(~far)) {
            wide wall[3], at[3];
            sample_faces(m->wall, edge, x, wall, dim);
            for (int a = 0; a < dim; a++)
                wide_store(begin->drift[a] + i,
                           wide_select(far, (wide){0}, wall[a] * (m->time * inv_dx)));
            to_step_end(x, 1, m, inv_dx, box, at, dim);
            distance = wide_select(far, distance, solid_at(m, inv_dx, at, slope, dim));
        }
        wide_store(begin->walls + i, distance);
    }
}

/// Finds the flow where they are. Returns the fastest component of it.
static inline wide free_flow(Part *f, const MoveParams *m, const int dim) {
    wide fastest = {0};
    flow_at(m->velocity, TILE + 2 * m->halo, f->at, f->own, f->flow, dim);
    for (int a = 0; a < dim; a++) {
        const wide speed = wide_select(f->flow[a] < 0.0f, -f->flow[a], f->flow[a]);
        fastest = wide_max(wide_select(f->valid, speed, (wide){0}), fastest);
    }
    return fastest;
}

/// Moves them. => far. Returns how many came to the block's end.
static inline int free_move(const Span *p, int first, const Part *f, int substeps, bool straight,
                            const MoveParams *m, const MoveBox *box, uint32_t *far,
                            const bool third_order, const int dim) {
    const int edge = TILE + 2 * m->halo;
    const float scale = m->time / (float)substeps * p->inv_dx;
    wide x[3] = {f->at[0], f->at[1], f->at[2]}, flow[3] = {f->flow[0], f->flow[1], f->flow[2]};
    wide_int gone = {0};
    for (int s = 0; s < substeps; s++) {
        if (s > 0) flow_at(m->velocity, edge, x, f->own, flow, dim);
        if (straight)
            for (int a = 0; a < dim; a++) x[a] += scale * flow[a];
        else
            advance(x, flow, f->own, m->velocity, edge, scale, box->low, box->high, third_order,
                    dim);
        for (int a = 0; a < dim; a++) {
            x[a] = wide_clamp(x[a], wide_all(box->low[a]), wide_all(box->high[a]));
            gone |= (x[a] <= box->low_end[a]) | (x[a] >= box->high_end[a]);
        }
    }
    gone &= f->valid;
    // By the difference, so that a particle at rest keeps its bits; then against the walls in
    // metres, where the rounding of the sum cannot carry it over.
    for (int a = 0; a < dim; a++) {
        float *to = p->attr[ATTR_X + a] + first, *v = p->attr[ATTR_VX + a] + first;
        const wide way = wide_select(gone, (wide){0}, x[a] - f->at[a]), own = f->own[a];
        const wide end = wide_load_some(to, f->valid) + way * p->dx;
        const wide_int hits = ((end <= m->low[a]) & (own < 0.0f)) |
                              ((end >= m->high[a]) & (own > 0.0f)); // does not push on
        if (wide_bits(hits)) wide_store_some(v, f->valid, wide_select(hits, (wide){0}, own));
        wide_store_some(to, f->valid, wide_clamp(end, wide_all(m->low[a]), wide_all(m->high[a])));
    }
    int count = 0;
    for (uint32_t bits = wide_bits(gone); bits; bits &= bits - 1)
        far[count++] = (uint32_t)(first + __builtin_ctz(bits));
    return count;
}

/// The particles of a group that is free of solids: all of it stays in registers.
static inline int move_free(const Span *p, int first, Part *part, int parts, const MoveParams *m,
                            const MoveBox *box, uint32_t *far, const bool third_order,
                            const int dim) {
    wide fastest = {0};
    for (int k = 0; k < parts; k++) fastest = wide_max(free_flow(&part[k], m, dim), fastest);
    float most = 0;
    for (int i = 0; i < WIDE; i++) most = fastest[i] > most ? fastest[i] : most;
    const float cells = most * (m->time * p->inv_dx);
    const bool straight = m->straight > 0 && cells <= m->straight;
    const int substeps = straight        ? 1
                         : m->stride > 0 ? count_substeps(cells, m->stride, m->substeps)
                                         : m->substeps;
    int far_count = 0;
    for (int k = 0; k < parts; k++)
        far_count += free_move(p, first + k * WIDE, &part[k], substeps, straight, m, box,
                               far + far_count, third_order, dim);
    return far_count;
}

/// The n particles of one that may meet solids.
static inline int move_near(const Span *p, int first, int n, const Part *part, int parts,
                            const MoveParams *m, const MoveBox *box, uint32_t *far,
                            const bool third_order, const int dim) {
    int far_count = 0;
    Begin begin;
    End out;
    begin_near(&begin, part, parts, m, p->inv_dx, box, dim);
    Move move = choose_move(&begin, n, m, p->inv_dx, dim);
    float most = move_group(&begin, n, move, m, p->inv_dx, box, &out, third_order, dim);
    if (most > move.longest) {
        move = careful_move(begin.walls, n, m);
        move_group(&begin, n, move, m, p->inv_dx, box, &out, third_order, dim);
    }
    for (int i = 0; i < n; i++) {
        if (!out.left[i]) continue;
        far[far_count++] = (uint32_t)(first + i);
        for (int a = 0; a < dim; a++) out.at[a][i] = begin.at[a][i];
    }
    for (int a = 0; a < dim; a++) { // as free_move
        float *restrict x = p->attr[ATTR_X + a] + first;
        float *restrict v = p->attr[ATTR_VX + a] + first, lowest = m->low[a], highest = m->high[a];
        for (int i = 0; i < n; i++) {
            float end = x[i] + (out.at[a][i] - begin.at[a][i]) * p->dx;
            float own = out.own[a][i];
            v[i] = (end <= lowest && own < 0) || (end >= highest && own > 0) ? 0.0f : own;
            x[i] = clamp(end, lowest, highest);
        }
    }
    return far_count;
}

static inline int move_dim(const Span *p, const MoveParams *m, uint32_t *far,
                           const bool third_order, const int dim) {
    const MoveBox box = move_box(p, m);
    int far_count = 0;
    for (int first = 0; first < p->count; first += GROUP) {
        const int n = p->count - first < GROUP ? p->count - first : GROUP;
        const int parts = (n + WIDE - 1) / WIDE;
        Part part[GROUP / WIDE];
        wide_int near = {0};
        for (int k = 0; k < parts; k++) {
            part_load(p, first + k * WIDE, n - k * WIDE, m, &part[k], dim);
            if (m->solid) near |= ~far_from_solids(&part[k], m);
        }
        uint32_t *out = far + far_count;
        far_count += wide_bits(near)
                         ? move_near(p, first, n, part, parts, m, &box, out, third_order, dim)
                         : move_free(p, first, part, parts, m, &box, out, third_order, dim);
    }
    return far_count;
}

static int move(const Span *p, const MoveParams *m, uint32_t *far) {
    bool third = m->scheme == BRIM_ADVECTION_RK3;
    if (p->dim == 3) return third ? move_dim(p, m, far, true, 3) : move_dim(p, m, far, false, 3);
    return third ? move_dim(p, m, far, true, 2) : move_dim(p, m, far, false, 2);
}

static void find_keys(const Span *p, const Grid *grid, uint32_t *restrict key) {
    const Grid g = *grid;
    const float *restrict x = p->attr[ATTR_X], *restrict y = p->attr[ATTR_Y];
    const float *restrict z = p->attr[ATTR_Z];
    for (int i = 0; i < p->count; i++) key[i] = cell_key(&g, p->space, x[i], y[i], z[i]);
}

const TransferKernels ISA(transfer_kernels) = {to_block, gather, from_block, move, find_keys};
