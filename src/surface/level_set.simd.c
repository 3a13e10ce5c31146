// Sums run over sixteen lanes on every instruction set and are folded in one order: same bits.
#include "surface/level_set.h"
#include "base/lanes.h"
#include <math.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wpsabi"

/// Sum of weights and of weighted offsets from the point.
typedef struct Sums {
    Lanes w, x[3];
} Sums;

/// Cubic spline that is 1 in the middle and ends where q2 = 1.
INLINE wide spline_weight(wide q2) {
    wide q = 2.0f * wide_sqrt(q2), far = wide_max(2.0f - q, (wide){0});
    wide near = wide_max(1.0f - q, (wide){0});
    return 0.25f * far * far * far - near * near * near;
}

INLINE wide weight(const wide offset[3], wide_int valid, float inv_radius2, bool spline,
                   const int dim) {
    wide d2 = offset[0] * offset[0] + offset[1] * offset[1];
    if (dim == 3) d2 += offset[2] * offset[2];
    wide k = (wide)((wide_int)wide_max(1.0f - d2 * inv_radius2, (wide){0}) & valid);
    if (spline) return (wide)((wide_int)spline_weight(d2 * inv_radius2) & valid);
    return k * k * k;
}

/// part: of the lanes
INLINE void add(Sums *sums, int part, const wide offset[3], wide w, const int dim) {
    sums->w[part] += w;
    for (int a = 0; a < dim; a++) sums->x[a][part] += w * offset[a];
}

/// How much of a particle's image at a wall counts: all of it, and where the particle lies below
/// the wall, as some do by rounding and beside round ones, less and less over half a cell. All or
/// nothing would make the surface jump with each particle that slides along a wall.
INLINE wide image_part(wide above) {
    return wide_clamp(1.0f + 2.0f * above, (wide){0}, wide_all(1));
}

/// A point, and how particles are seen from it: offset = scale * position + shift.
typedef struct Eye {
    const float *x[3];
    float scale[3], shift[3];
    const float *plane;
    float inv_radius2;
    bool spline;
} Eye;

/// Adds the particles [first, end).
INLINE void add_range(Sums *sums, const Eye *eye, uint32_t first, uint32_t end, const int dim) {
    for (uint32_t i = first; i < end; i += LANES)
        for (int part = 0; part < LANE_PARTS; part++) {
            int left = (int)(end - i) - part * WIDE;
            if (part > 0 && left <= 0) break;
            wide_int valid = wide_lanes() < left;
            wide offset[3] = {0};
            for (int a = 0; a < dim; a++)
                offset[a] = wide_load_some(eye->x[a] + i + part * WIDE, valid) * eye->scale[a] +
                            eye->shift[a];
            add(sums, part, offset, weight(offset, valid, eye->inv_radius2, eye->spline, dim), dim);
            const float *plane = eye->plane;
            if (!plane) continue;
            wide above = offset[0] * plane[0] + offset[1] * plane[1] + plane[3];
            if (dim == 3) above += offset[2] * plane[2];
            for (int a = 0; a < dim; a++) offset[a] -= 2.0f * above * plane[a];
            wide w = weight(offset, valid, eye->inv_radius2, eye->spline, dim);
            add(sums, part, offset, w * image_part(above), dim);
        }
}

/// Folded sums of a row's cells.
typedef struct RowSums {
    float w[TILE], x[3][TILE];
} RowSums;

INLINE void fold_cell(RowSums *row, int cell, const Sums *sums, const int dim) {
    row->w[cell] = lanes_fold(sums->w);
    for (int a = 0; a < dim; a++) row->x[a][cell] = lanes_fold(sums->x[a]);
}

/// Adds particles that are reflected along x.
INLINE void add_reflected(Sums *sums, const Eye *eye, uint32_t first, uint32_t end, float flip,
                          float shift, const int dim) {
    Eye mirrored = *eye;
    mirrored.scale[0] *= flip;
    mirrored.shift[0] += shift;
    add_range(sums, &mirrored, first, end, dim);
}

/// Adds what cell x sees of a row.
INLINE void add_row(Sums *sums, const LevelSetNear *near, const LevelSetRow *row, const Eye *eye,
                    int x, const int dim) {
    if (x == 0)
        add_reflected(sums, eye, row->beside[0][0], row->beside[0][1], near->flip_x[0],
                      near->shift_x[0], dim);
    add_range(sums, eye, row->start[x > 0 ? x - 1 : 0], row->start[x < 7 ? x + 2 : 8], dim);
    if (x == 7)
        add_reflected(sums, eye, row->beside[1][0], row->beside[1][1], near->flip_x[1],
                      near->shift_x[1], dim);
    else if (x == near->last)
        add_reflected(sums, eye, row->start[x], row->start[x + 1], -1, near->last_shift, dim);
}

INLINE void sum_cell(const LevelSetNear *near, int x, int y, int z, const LevelSetProfile *profile,
                     const float *plane, Sums *sums, const int dim) {
    const float at[3] = {near->corner[0] + (float)x + 0.5f, near->corner[1] + (float)y + 0.5f,
                         near->corner[2] + (float)z + 0.5f};
    Eye eye = {.scale = {near->inv_dx, near->inv_dx, near->inv_dx},
               .shift = {-at[0], -at[1], -at[2]},
               .plane = plane,
               .inv_radius2 = 1.0f / (profile->radius * profile->radius),
               .spline = profile->spline};
    for (int a = 0; a < 3; a++) eye.x[a] = near->x[a];
    for (int k = dim == 3 ? 0 : 1; k <= (dim == 3 ? 2 : 1); k++)
        for (int j = 0; j < 3; j++) {
            const LevelSetRow *row = near->row[k][j];
            eye.scale[1] = near->inv_dx * row->flip[0], eye.shift[1] = row->shift[0] - at[1];
            eye.scale[2] = near->inv_dx * row->flip[1], eye.shift[2] = row->shift[1] - at[2];
            add_row(sums, near, row, &eye, x, dim);
        }
}

INLINE void sum_row(const LevelSetProfile *profile, const LevelSetNear *near, int y, int z,
                    uint8_t cells, RowSums *out, const int dim) {
    for (; cells; cells &= (uint8_t)(cells - 1)) {
        int x = __builtin_ctz(cells);
        Sums sums = {0};
        if (near->planes >> x & 1)
            sum_cell(near, x, y, z, profile, near->plane[x], &sums, dim);
        else
            sum_cell(near, x, y, z, profile, NULL, &sums, dim);
        fold_cell(out, x, &sums, dim);
    }
}

static void means(const LevelSetProfile *profile, const LevelSetNear *near, int y, int z,
                  uint8_t cells, float out[TILE], float mean[3][TILE]) {
    RowSums sums = {0};
    if (near->dim == 3)
        sum_row(profile, near, y, z, cells, &sums, 3);
    else
        sum_row(profile, near, y, z, cells, &sums, 2);
    float t[TILE];
    for (int i = 0; i < TILE; i++) {
        float w = sums.w[i] < 1e-6f ? 1.0f : sums.w[i], d2 = 0;
        for (int a = 0; a < 3; a++) {
            float m = mean[a][i] = sums.x[a][i] / w;
            d2 += m * m;
        }
        t[i] = (sqrtf(d2) - profile->offset - profile->low) / profile->step;
        if (profile->spline)
            out[i] = sums.w[i] < 1e-6f ? LEVEL_SET_CUT : sqrtf(d2) - profile->offset;
    }
    if (profile->spline) return;
    for (int i = 0; i < TILE; i++) {
        int k = (int)t[i];
        out[i] = LEVEL_SET_CUT;
        if (sums.w[i] >= 1e-6f && k < PROFILE_SIZE)
            out[i] = profile->distance[k] +
                     (t[i] - (float)k) * (profile->distance[k + 1] - profile->distance[k]);
    }
}

static void distances(const LevelSetProfile *profile, const LevelSetNear *near, int y, int z,
                      uint8_t cells, float out[TILE]) {
    float mean[3][TILE];
    means(profile, near, y, z, cells, out, mean);
}

const LevelSetKernels ISA(level_set_kernels) = {distances, means};
