// Eight lanes on every instruction set: eight particles of a cell, eight cells of a row. Same bits.
#include "surface/track_planes.h"
#include "base/lanes.h"
#include "surface/track_kernels.h"
#include <math.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wpsabi"

INLINE f8 positive(f8 v) {
    return where(v > 0.0f, v);
}

// ----------------------------------------------------------------------------- sums over a cell

/// Lane 0: the sum over the lanes of v[0]; the next ones: v[2], v[4], v[6], v[1], v[3], v[5], v[7].
INLINE f8 fold_eight(const f8 v[8]) {
    f8 half[4], quarter[2];
    for (int k = 0; k < 4; k++)
        half[k] = __builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 1, 2, 3, 8, 9, 10, 11) +
                  __builtin_shufflevector(v[2 * k], v[2 * k + 1], 4, 5, 6, 7, 12, 13, 14, 15);
    for (int k = 0; k < 2; k++)
        quarter[k] =
            __builtin_shufflevector(half[2 * k], half[2 * k + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
            __builtin_shufflevector(half[2 * k], half[2 * k + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(quarter[0], quarter[1], 0, 2, 8, 10, 4, 6, 12, 14) +
           __builtin_shufflevector(quarter[0], quarter[1], 1, 3, 9, 11, 5, 7, 13, 15);
}
/// Where the sum of v[k] is.
static const int FOLDED[8] = {0, 4, 1, 5, 2, 6, 3, 7};

INLINE float fold8(f8 v) {
    f4 b = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    f4 c = b + __builtin_shufflevector(b, b, 2, 3, 2, 3);
    return c[0] + c[1];
}

/// A cell's middle, and how its particles are seen: place = flip * (position * scale - middle).
typedef struct Cell {
    float middle[3], flip[3];
} Cell;

/// Sums of the particles [first, end). Those up to 7 beyond are read, and are numbers.
INLINE void sum_cell(const LevelSetNear *near, const TrackSeen *seen, const Cell *cell,
                     uint32_t first, uint32_t end, int x, PlaneRow *out, const int dim) {
    const i8x lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    const f8 ones = {1, 1, 1, 1, 1, 1, 1, 1};
    f8 close = {0}, count = {0}, past = {0}, sums[8] = {{0}}; // as PLANE_OFF and following
    for (uint32_t i = first; i < end; i += 8) {
        f8 phi = load8(seen->phi + i), steady = load8(seen->steady + i);
        i8x here = (lanes < (int)(end - i)) & (phi > -TRACK_DEPTH), has = here & (steady >= 0.0f);
        f8 off = choose(phi < TRACK_ABOVE, phi, (f8){0} + TRACK_ABOVE), spread = {0};
        for (int a = 0; a < dim; a++) {
            f8 place = load8(near->x[a] + i) * near->inv_dx - cell->middle[a];
            f8 normal = load8(seen->normal[a] + i);
            off -= 0.5f * normal * place;
            spread += place * place;
            sums[PLANE_NORMAL - PLANE_OFF + a] += where(has, normal);
            sums[PLANE_PLACE - PLANE_OFF + a] += where(has, place);
        }
        close += where(here, ones), count += where(has, ones), past += where(has, steady);
        sums[0] += where(has, off), sums[PLANE_SPREAD - PLANE_OFF] += where(has, spread);
    }
    float has = fold8(count);
    f8 mean = fold_eight(sums) / (has > 0 ? has : 1);
    out->of[PLANE_NEAR][x] = fold8(close), out->of[PLANE_COUNT][x] = has;
    out->of[PLANE_STEADY][x] = fold8(past);
    out->any |= out->of[PLANE_NEAR][x] > 0;
    out->past |= out->of[PLANE_STEADY][x] > 0;
    for (int k = PLANE_OFF; k < PLANE_NORMAL; k++) out->of[k][x] = mean[FOLDED[k - PLANE_OFF]];
    for (int a = 0; a < dim; a++) {
        out->of[PLANE_NORMAL + a][x] = cell->flip[a] * mean[FOLDED[PLANE_NORMAL - PLANE_OFF + a]];
        out->of[PLANE_PLACE + a][x] = cell->flip[a] * mean[FOLDED[PLANE_PLACE - PLANE_OFF + a]];
    }
}

/// One of the cells -1 and 8, which may be an image.
INLINE void sum_side(const LevelSetNear *near, const LevelSetRow *row, const TrackSeen *seen,
                     const Cell *cell, int side, PlaneRow *out, const int dim) {
    Cell own = *cell;
    float middle = near->corner[0] + (side ? 8.5f : -0.5f);
    own.flip[0] = near->flip_x[side];
    own.middle[0] = near->flip_x[side] * (middle - near->shift_x[side]);
    sum_cell(near, seen, &own, row->beside[side][0], row->beside[side][1], side ? 9 : 0, out, dim);
}

/// The cell beyond the last one of the domain is its image.
INLINE void reflect_last(PlaneRow *out, int last) {
    for (int k = 0; k < PLANE_SUMS; k++) {
        bool odd = k == PLANE_NORMAL || k == PLANE_PLACE;
        out->of[k][last + 2] = odd ? -out->of[k][last + 1] : out->of[k][last + 1];
    }
}

INLINE void sum_dim(const LevelSetNear *near, const LevelSetRow *row, const TrackSeen *seen, int y,
                    int z, unsigned cells, PlaneRow *out, const int dim) {
    Cell cell = {.flip = {1, row->flip[0], row->flip[1]}};
    const float middle[2] = {near->corner[1] + (float)y + 0.5f, near->corner[2] + (float)z + 0.5f};
    for (int a = 1; a < dim; a++)
        cell.middle[a] = row->flip[a - 1] * (middle[a - 1] - row->shift[a - 1]);
    for (int k = 0; k < PLANE_SUMS; k++)
        *(f8 *)out->of[k] = (f8){0}, *(f8 *)(out->of[k] + 2) = (f8){0};
    out->any = out->past = false;
    if (near->last >= 0 && cells >> (near->last + 2) & 1) cells |= 1u << (near->last + 1);
    for (int x = 0; x < TILE; x++) {
        if (!(cells >> (x + 1) & 1) || row->start[x] == row->start[x + 1]) continue;
        cell.middle[0] = near->corner[0] + (float)x + 0.5f;
        sum_cell(near, seen, &cell, row->start[x], row->start[x + 1], x + 1, out, dim);
    }
    for (int side = 0; side < 2; side++)
        if (cells >> (side ? 9 : 0) & 1 && row->beside[side][0] < row->beside[side][1])
            sum_side(near, row, seen, &cell, side, out, dim);
    if (near->last >= 0) reflect_last(out, near->last);
}

static void sum(const LevelSetNear *near, const LevelSetRow *row, const TrackSeen *seen, int y,
                int z, unsigned cells, PlaneRow *out) {
    near->dim == 3 ? sum_dim(near, row, seen, y, z, cells, out, 3)
                   : sum_dim(near, row, seen, y, z, cells, out, 2);
}

// --------------------------------------------------------------------------- cells ask the sums

/// A cell's planes as eight others see them, one each.
typedef struct Planes {
    f8 near, count, steady;
    f8 distance; ///< mean of distance + half of normal . way to the one that asks
    f8 spread;   ///< mean square of that way
    f8 normal[3], place[3];
} Planes;

/// Sums of weights: all, of what counts of the past; with how planes face: these, what they tell.
typedef struct Sums {
    f8 all, steady, planes, distance, normal[3], place[3];
} Sums;

/// Towards the air, as far as that is certain, and the rest of 1.
typedef struct Out {
    f8 out[3], rest;
} Out;

INLINE void add(Sums *sums, const Out *out, const Planes *p, const int dim) {
    f8 d2 = p->spread * (1.0f / PLANE_REACH2), k = positive(1.0f - d2);
    f8 w = k * k / (PLANE_NEARNESS2 + d2), facing = out->rest;
    sums->all += w * p->near;
    sums->steady += w * p->steady;
    for (int a = 0; a < dim; a++) facing += out->out[a] * p->normal[a];
    w *= p->count * positive(facing);
    sums->planes += w;
    sums->distance += w * p->distance;
    for (int a = 0; a < dim; a++) {
        sums->normal[a] += w * p->normal[a];
        sums->place[a] += w * p->place[a];
    }
}

/// Whether a bit is set in any lane.
INLINE bool any_lane(i8x mask) {
#if defined(__AVX2__)
    return _mm256_movemask_ps((__m256)mask) != 0;
#else
    int32_t any = 0;
    for (int x = 0; x < TILE; x++) any |= mask[x];
    return any != 0;
#endif
}

/// The planes of the cells beside those of a row by `step`. False: none within reach.
INLINE bool see(const PlaneRow *row, const float step[3], bool images, Planes *p, const int dim) {
    const int x = (int)step[0] + 1;
    f8 middle[3];
    p->near = load8(row->of[PLANE_NEAR] + x), p->spread = load8(row->of[PLANE_SPREAD] + x);
    for (int a = 0; a < dim; a++) {
        middle[a] = load8(row->of[PLANE_PLACE + a] + x);
        p->spread += step[a] * (2.0f * middle[a] + step[a]);
    }
    if (!any_lane((p->near > 0.0f) & ((p->spread < PLANE_REACH2) | -(int32_t)images))) return false;
    p->count = load8(row->of[PLANE_COUNT] + x), p->steady = load8(row->of[PLANE_STEADY] + x);
    p->distance = load8(row->of[PLANE_OFF] + x);
    for (int a = 0; a < dim; a++) {
        p->normal[a] = load8(row->of[PLANE_NORMAL + a] + x);
        p->distance -= 0.5f * step[a] * p->normal[a];
        p->place[a] = middle[a] + step[a];
    }
    return true;
}

/// The image in a plane: [3] is its distance from the one that asks.
INLINE Planes image(const Planes *p, const f8 plane[4], const int dim) {
    Planes q = *p;
    f8 above = {0}, along = {0};
    for (int a = 0; a < dim; a++) above += p->place[a] * plane[a], along += p->normal[a] * plane[a];
    q.distance -= plane[3] * along;
    q.spread += 4.0f * plane[3] * (above + plane[3]);
    above += plane[3];
    for (int a = 0; a < dim; a++) {
        q.place[a] -= 2.0f * above * plane[a];
        q.normal[a] -= 2.0f * along * plane[a];
    }
    i8x outside = above > 0.0f;
    q.near = where(outside, q.near), q.count = where(outside, q.count);
    q.steady = where(outside, q.steady);
    return q;
}

INLINE void load_planes(const LevelSetNear *near, uint8_t cells, f8 plane[4]) {
    for (int k = 0; k < 4; k++)
        for (int x = 0; x < TILE; x++)
            plane[k][x] = cells >> x & 1 ? near->plane[x][k] : k == 3 ? -1e3f : 0;
}

INLINE Out look(const float mean[3][TILE], uint8_t cells, const int dim) {
    Out out;
    f8 length2 = {0};
    for (int a = 0; a < dim; a++) length2 += load8(mean[a]) * load8(mean[a]);
    const i8x any = bit_lanes(cells) & (length2 > 0.0f);
    const f8 length = where(any, root(length2)), ones = (f8){0} + 1.0f;
    const f8 beta = choose(length < TRACK_CERTAIN, length / TRACK_CERTAIN, ones);
    for (int a = 0; a < dim; a++) out.out[a] = where(any, -load8(mean[a]) / length * beta);
    out.rest = 1.0f - beta;
    return out;
}

INLINE void ask_dim(const LevelSetNear *near, const PlaneRow *const around[3][3], uint8_t cells,
                    const float mean[3][TILE], float smooth[TILE], float steady[TILE],
                    const int dim) {
    const uint8_t solid = near->planes & cells;
    const Out out = look(mean, cells, dim);
    Sums sums = {0};
    f8 plane[4];
    if (solid) load_planes(near, solid, plane);
    for (int k = dim == 3 ? -1 : 0; k <= (dim == 3 ? 1 : 0); k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1 && around[k + 1][j + 1]->any; i++) {
                const float step[3] = {(float)i, (float)j, (float)k};
                Planes p;
                if (!see(around[k + 1][j + 1], step, solid, &p, dim)) continue;
                add(&sums, &out, &p, dim);
                if (!solid) continue;
                p = image(&p, plane, dim);
                add(&sums, &out, &p, dim);
            }
    f8 bent = {0};
    for (int a = 0; a < dim; a++) bent += sums.normal[a] * sums.place[a];
    const i8x tells = bit_lanes(cells) & (sums.planes > TRACK_LEAST);
    const f8 told = (sums.distance - 0.5f * bent / sums.planes) / sums.planes;
    const f8 none = (f8){0} - 1.0f;
    *(f8 *)smooth = where(tells, told);
    *(f8 *)steady = choose(tells, sums.steady / sums.all, none);
}

static void ask(const LevelSetNear *near, const PlaneRow *const around[3][3], uint8_t cells,
                const float mean[3][TILE], float smooth[TILE], float steady[TILE]) {
    near->dim == 3 ? ask_dim(near, around, cells, mean, smooth, steady, 3)
                   : ask_dim(near, around, cells, mean, smooth, steady, 2);
}

const PlaneKernels ISA(plane_kernels) = {sum, ask};
