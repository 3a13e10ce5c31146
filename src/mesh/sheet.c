#include "mesh/sheet.h"
#include "mesh/axes.h"
#include <math.h>

/// Moments of particles with weights 1 - s^2 around a point of an even sheet, over R^2: 1/6 along
/// the sheet. A thread has less across it than the first of these, a sheet more than the second.
static const float THREAD = 0.03f, WIDE = 0.08f;
/// Moment across the sheet over the lesser one along it: up to the first flat, from the second on
/// a heap. A sheet of one cell has 0.22, a surface of deep water 0.5.
static const float FLAT = 0.2f, HEAP = 0.4f;
/// Offset of the mean along the sheet, over R: 0.34 on the straight edge of a sheet.
static const float INSIDE = 0.2f, EDGE = 0.32f;
/// Thickness, over the spacing of particles, between which a few particles come to be a sheet.
static const float SPRAY = 0.2f, SHEET = 0.4f;
/// Distance by the particles themselves, over their reach: wider gaps stay open.
static const float GAP = 0.7f, OPEN = 1;
/// Offset of the mean of the nearest particles, over their radius: those of a gap are around it,
/// those of a surface beside a point lie on one side.
static const float AROUND = 0.35f, BESIDE = 0.5f;
/// Product of all these from which on there is a sheet as such.
static const float SURE = 0.6f;
/// Half of the least thickness that is drawn, in node spacings times |n_x| + |n_y| + |n_z| for the
/// sheet's normal n: from a half on the nodes in it are linked along the lattice's edges, whichever
/// way it lies (a standard digital plane).
static const float DRAWN = 0.55f;

/// Sheets that are thicker than this, in cells, have no gaps.
static const float THICK = 1.25f;

/// in => out: sums over 2 k + 1 values along an axis of an array of `edge`^3.
static void sum_along(const uint32_t *in, uint32_t *out, int edge, int stride, int k) {
    for (int z = 0; z < edge; z++)
        for (int y = 0; y < edge; y++) {
            // lines along the axis: one starts at each point of the face across it
            int at = stride == 1      ? (z * edge + y) * edge
                     : stride == edge ? z * edge * edge + y
                                      : z * edge + y;
            uint32_t sum = 0;
            for (int i = 0; i < k; i++) sum += in[at + i * stride];
            for (int i = 0; i < edge; i++) {
                if (i + k < edge) sum += in[at + (i + k) * stride];
                if (i > k) sum -= in[at + (i - k - 1) * stride];
                out[at + i * stride] = sum;
            }
        }
}

void sheet_cells(const Block *b, const MeshScale *s, Touched sparse) {
    enum { ALL = BLOCK_EDGE * BLOCK_EDGE * BLOCK_EDGE };
    uint32_t one[ALL], other[ALL];
    int edge = b->edge, k = (int)s->sheet;
    float across = (float)((2 * k + 1) * (2 * k + 1)), per_cell = 1 / powf(s->spacing, 3);
    uint32_t least = (uint32_t)(0.5f * across * SPRAY * s->spacing * per_cell);
    uint32_t most = (uint32_t)(across * THICK * per_cell);
    if (b->count) {
        for (int i = 0; i < edge * edge * edge; i++) one[i] = b->start[i + 1] - b->start[i];
        sum_along(one, other, edge, 1, k);
        sum_along(other, one, edge, edge, k);
        sum_along(one, other, edge, edge * edge, k);
    }
    for (int z = 0; z < TOUCH; z++)
        for (int y = 0; y < TOUCH; y++)
            for (int x = 0; x < TOUCH; x++) {
                uint32_t n =
                    b->count ? other[((z + s->halo) * edge + y + s->halo) * edge + x + s->halo] : 0;
                sparse[z][y][x] = n >= least && n <= most && n > 0;
            }
}

/// The sheet that particles around a point lie in.
typedef struct Fit {
    float above;         ///< the point's distance from its middle, cells
    float normal[3];     ///< across it, towards the point
    float along;         ///< distance of the particles' mean, along the sheet
    float least, lesser; ///< second moments: across it, and the lesser one along it
} Fit;

static Fit fit_sheet(const LevelSums *sums) {
    static const int row[6] = {0, 1, 2, 0, 1, 2}, column[6] = {0, 1, 2, 1, 2, 0};
    double mean[3], c[3][3], v[3][3], length2 = 0, above = 0;
    for (int a = 0; a < 3; a++) {
        mean[a] = (double)sums->mean[a] / sums->weight;
        length2 += mean[a] * mean[a];
    }
    for (int i = 0; i < 6; i++)
        c[row[i]][column[i]] = c[column[i]][row[i]] =
            (double)sums->second[i] / sums->weight - mean[row[i]] * mean[column[i]];
    axes_find(c, v);
    int least = c[0][0] < c[1][1] ? 0 : 1;
    if (c[2][2] < c[least][least]) least = 2;
    int p = (least + 1) % 3, q = (least + 2) % 3;
    for (int a = 0; a < 3; a++) above -= mean[a] * v[a][least];
    Fit f = {.above = (float)fabs(above),
             .along = (float)sqrt(fmax(length2 - above * above, 0)),
             .least = (float)fmax(c[least][least], 0),
             .lesser = (float)fmin(c[p][p], c[q][q])};
    for (int a = 0; a < 3; a++) f.normal[a] = (float)(above < 0 ? -v[a][least] : v[a][least]);
    return f;
}

static float mean_length(const LevelSums *sums) {
    float length2 = 0;
    for (int a = 0; a < 3; a++) length2 += sums->mean[a] * sums->mean[a];
    return sqrtf(length2) / sums->weight;
}

/// Which part of the disc of radius r around it a point sees of a sheet. From above the sheet's
/// middle the ball of that radius cuts less out of it: (1 - above^2 / r^2)^2 of its weight. Beside
/// an edge the mean is off along the sheet by m, and 1.4 m / r of the weight is missing (1.47 at
/// the edge, 1.34 half a radius away); chance alone moves it by r / sqrt(4.5 weight).
static float seen_part(const Fit *f, float weight, float r) {
    float cut = 1 - f->above * f->above / (r * r);
    float off2 = f->along * f->along / (r * r) - 1 / (4.5f * weight);
    return fmaxf(cut * cut * (1 - 1.4f * sqrtf(fmaxf(off2, 0))), 0.25f);
}

/// A sheet seen from a point.
typedef struct Sheet {
    float part; ///< how certain it is, 0..1
    float half; ///< half of its thickness, cells
    Fit fit;
} Sheet;

/// near, phi: what the particles around the point say.
static Sheet sheet_at(const Block *block, const NodeInput *in, const float at[3],
                      const LevelSums *near, float phi) {
    const MeshScale *s = in->scale;
    Sheet sheet = {0};
    if (!(near->weight > 0)) return sheet;
    float sure = (1 - ramp(GAP, OPEN, phi / s->reach)) *
                 (1 - ramp(AROUND, BESIDE, mean_length(near) / s->radius));
    if (sure <= 0) return sheet;
    LevelSums sums;
    float r = s->sheet;
    in->kernels->moments(block, r, at, &sums);
    float thickness = sums.weight * powf(s->spacing, 3) / (1.5707963f * r * r);
    sure *= ramp(SPRAY, SHEET, thickness / s->spacing);
    if (sure <= 0) return sheet;
    Fit f = sheet.fit = fit_sheet(&sums);
    thickness /= seen_part(&f, sums.weight, r);
    sure *= ramp(THREAD, WIDE, f.lesser / (r * r)) * (1 - ramp(INSIDE, EDGE, f.along / r)) *
            (1 - ramp(FLAT, HEAP, f.least / fmaxf(f.lesser, 1e-6f)));
    sheet.part = ramp(0, SURE, sure), sheet.half = 0.5f * thickness;
    return sheet;
}

float sheet_distance(const Block *block, const NodeInput *in, const float at[3],
                     const LevelSums *near, float phi) {
    Sheet sheet = sheet_at(block, in, at, near, phi);
    const float *n = sheet.fit.normal;
    float drawn = DRAWN * (fabsf(n[0]) + fabsf(n[1]) + fabsf(n[2])) / (float)in->scale->resolution;
    float distance = sheet.fit.above - fmaxf(sheet.half, drawn);
    return distance < phi ? phi + sheet.part * (distance - phi) : phi;
}

void sheet_thin(const Block *block, const NodeInput *in, const LevelSums *near, float phi,
                float at[3]) {
    Sheet sheet = sheet_at(block, in, at, near, phi);
    float down = sheet.part * (sheet.fit.above - sheet.half);
    for (int a = 0; a < 3 && down > 0; a++) at[a] -= down * sheet.fit.normal[a];
}
