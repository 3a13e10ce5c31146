#include "warp/stage_images.h"
#include "step/stages.h"
#include <math.h>

/// Along a level plane from a wall, over the way out of the wall, at most: beyond it images would
/// be of liquid out of sight.
static const double SLANT_MOST = 2;

void warp_find_level(BrimSim *s) {
    WarpState *w = s->warp;
    const BrimVec3 g = gravity_at(s, s->walls.time); // the end of the step, here and when resumed
    const double v[3] = {(double)g.x, (double)g.y, s->dim == 3 ? (double)g.z : 0};
    const double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int a = 0; a < 3; a++) {
        w->down[a] = length > 0 ? v[a] / length : 0;
        // a side that is nearer to level than to upright is a floor, where what flows has ends
        w->slanted[a] = w->down[a] != 0 && w->down[a] * w->down[a] < 0.5 + 1e-6;
    }
}

bool warp_slant(const BrimSim *s, int axis, const double xi[3], double t[3]) {
    const WarpState *w = s->warp;
    double J[3][3], m[3] = {0}, along = 0;
    if (!w->slanted[axis]) return false;
    map_jacobian(&w->mesh.map, xi, J);
    for (int i = 0; i < s->dim; i++) // sides stay sides: only its own axis leads away from one
        for (int j = 0; j < s->dim; j++) m[i] += i != axis || j == axis ? J[i][j] * w->down[j] : 0;
    for (int i = 0; i < s->dim; i++) along += i == axis ? 0 : m[i] * m[i];
    if (!(along > 0)) return false;
    const double slope = fabs(m[axis]) / sqrt(along), most = fmin(1, SLANT_MOST / slope);
    for (int i = 0; i < 3; i++) t[i] = i == axis ? 1 : -most * m[axis] * m[i] / along;
    return true;
}

// ------------------------------------------------------------------------- what a point sees

/// The cells that a point sees along an axis, and those that walls mirror: at most three pieces.
typedef struct Piece {
    int first, last; ///< cells
    float scale, shift;
} Piece;

static int find_pieces(const BrimSim *s, int axis, float at, Piece piece[3]) {
    const int n = s->grid.cells[axis], low = (int)floorf(at - s->profile.radius);
    const int high = (int)ceilf(at + s->profile.radius) - 1;
    int count = 0;
    if (low < 0) piece[count++] = (Piece){0, -1 - low, -s->inv_dx, -at};
    piece[count++] = (Piece){low < 0 ? 0 : low, high < n ? high : n - 1, s->inv_dx, -at};
    if (high >= n) piece[count++] = (Piece){2 * n - 1 - high, n - 1, -s->inv_dx, 2 * (float)n - at};
    return count;
}

/// Particles of a row of cells, tile by tile.
static int add_runs(const BrimSim *s, int first, int last, int y, int z, const WarpRun *like,
                    WarpRun *run) {
    int count = 0;
    for (int x = first; x <= last;) {
        const int end = (x | 7) < last ? x | 7 : last;
        const int64_t at = grid_cell(&s->grid, x, y, z);
        if (at >= 0) {
            const uint32_t *start = cell_starts_from(&s->particles, &s->grid, at);
            run[count] = *like;
            run[count].first = start[0], run[count].end = start[end - x + 1];
            count += run[count].first < run[count].end;
        }
        x = end + 1;
    }
    return count;
}

// ------------------------------------------------------------------------------- slanted images

/// x as a point sees it in sides of the domain: to x + shift; and back.
typedef struct Images {
    double to[3][3], shift[3], back[3][3], back_shift[3];
} Images;

/// m, v = x - 2 (x[axis] - side) t after them.
static void reflect(int axis, double side, const double t[3], double m[3][3], double v[3]) {
    double row[3];
    const double from = v[axis] - side;
    for (int k = 0; k < 3; k++) row[k] = m[axis][k];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) m[i][k] -= 2 * t[i] * row[k];
        v[i] -= 2 * t[i] * from;
    }
}

/// side [axis]: -1 the lower one, 1 the upper one, 0: it is not seen in one.
static void find_images(const BrimSim *s, const int side[3], const double t[3][3], Images *out) {
    *out = (Images){.to = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                    .back = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    for (int a = 0; a < 3; a++)
        if (side[a]) reflect(a, side[a] > 0 ? s->grid.cells[a] : 0, t[a], out->to, out->shift);
    for (int a = 2; a >= 0; a--)
        if (side[a])
            reflect(a, side[a] > 0 ? s->grid.cells[a] : 0, t[a], out->back, out->back_shift);
}

static void add_sums(const BrimSim *s, const WarpRun *run, int count, float sum[4]) {
    const float R = s->profile.radius;
    const float *const x[3] = {s->particles.attr[ATTR_X], s->particles.attr[ATTR_Y],
                               s->particles.attr[ATTR_Z]};
    float more[4];
    s->warp->level->sums(x, s->particles.spare, run, count, 1 / (R * R), s->dim, more);
    for (int k = 0; k < 4; k++) sum[k] += more[k];
}

/// Adds the particles as a point sees them in sides.
static void add_images(const BrimSim *s, const float at[3], const Images *images, float sum[4]) {
    enum { RUNS = 64, ROW = 8 };
    WarpRun run[RUNS], like = {0};
    float shear[3][3] = {{0}};
    int low[3] = {0}, high[3] = {0}, count = 0;
    for (int a = 0; a < s->dim; a++) {
        double middle = images->back_shift[a], length = 0;
        for (int b = 0; b < s->dim; b++) {
            middle += images->back[a][b] * (double)at[b];
            length += images->back[a][b] * images->back[a][b];
        }
        const double reach = (double)s->profile.radius * sqrt(length);
        low[a] = (int)fmax(floor(middle - reach), 0);
        high[a] = (int)fmin(ceil(middle + reach), s->grid.cells[a]) - 1;
        like.scale[a] = (float)(images->to[a][a] * (double)s->inv_dx);
        like.shift[a] = (float)(images->shift[a] - (double)at[a]);
        for (int b = 0; b < s->dim; b++)
            if (b != a) shear[a][b] = (float)(images->to[a][b] * (double)s->inv_dx);
    }
    like.shear = shear;
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int x = low[0]; x <= high[0]; x += ROW) {
                const int last = x + ROW - 1 < high[0] ? x + ROW - 1 : high[0];
                count += add_runs(s, x, last, y, z, &like, run + count);
                if (count + 2 > RUNS) add_sums(s, run, count, sum), count = 0;
            }
    if (count) add_sums(s, run, count, sum);
}

/// Adds what a point sees in sides whose images are slanted, and in corners with them.
static void add_slanted(const BrimSim *s, const float at[3], const bool slanted[3],
                        const double t[3][3], float sum[4]) {
    int sides[3][3] = {{0}}, count[3] = {1, 1, 1}, side[3]; // 0, then those within reach
    for (int a = 0; a < s->dim; a++) {
        if (at[a] < s->profile.radius) sides[a][count[a]++] = -1;
        if (at[a] + s->profile.radius > (float)s->grid.cells[a]) sides[a][count[a]++] = 1;
    }
    for (int k = 0; k < count[0] * count[1] * count[2]; k++) {
        const int which[3] = {k % count[0], k / count[0] % count[1], k / (count[0] * count[1])};
        bool any = false;
        for (int a = 0; a < 3; a++) {
            side[a] = sides[a][which[a]];
            any = any || (side[a] && slanted[a]);
        }
        if (!any) continue;
        Images images;
        find_images(s, side, t, &images);
        add_images(s, at, &images, sum);
    }
}

/// Whether pieces are seen in a side whose images are slanted.
static bool is_slanted(const Piece *const p[3], const bool slanted[3]) {
    return (slanted[0] && p[0]->scale < 0) || (slanted[1] && p[1]->scale < 0) ||
           (slanted[2] && p[2]->scale < 0);
}

void warp_sum_point(const BrimSim *s, const float at[3], float sum[4]) {
    enum { RUNS = 36 * 6 };
    Piece piece[3][3];
    int pieces[3] = {1, 1, 1}, count = 0;
    WarpRun run[RUNS], like = {0};
    piece[2][0] = (Piece){0};
    bool slanted[3] = {false}, any = false;
    double t[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const double xi[3] = {(double)at[0], (double)at[1], (double)at[2]};
    for (int a = 0; a < s->dim; a++) {
        pieces[a] = find_pieces(s, a, at[a], piece[a]);
        if (pieces[a] > 1) slanted[a] = warp_slant(s, a, xi, t[a]);
        any = any || slanted[a];
    }
    for (int pz = 0; pz < pieces[2]; pz++)
        for (int z = piece[2][pz].first; z <= piece[2][pz].last; z++)
            for (int py = 0; py < pieces[1]; py++)
                for (int y = piece[1][py].first; y <= piece[1][py].last; y++)
                    for (int px = 0; px < pieces[0]; px++) {
                        const Piece *p[3] = {&piece[0][px], &piece[1][py], &piece[2][pz]};
                        if (any && is_slanted(p, slanted)) continue;
                        for (int a = 0; a < 3; a++)
                            like.scale[a] = p[a]->scale, like.shift[a] = p[a]->shift;
                        count += add_runs(s, p[0]->first, p[0]->last, y, z, &like, run + count);
                    }
    const float R = s->profile.radius, *x[3];
    for (int a = 0; a < 3; a++) x[a] = s->particles.attr[ATTR_X + a];
    s->warp->level->sums(x, s->particles.spare, run, count, 1 / (R * R), s->dim, sum);
    if (any) add_slanted(s, at, slanted, t, sum);
}
