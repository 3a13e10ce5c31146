#include "warp/deform.h"
#include "base/error.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
/// The farthest that a node may move in a step, cells.
static const double FARTHEST = 0.5;
/// A mesh at rest stays while no node would move farther than START; one that moves comes to rest
/// where none is farther than STOP from where it belongs, cells. Where cells lie to within a part
/// of one matters to nobody, and each motion changes what they hold of the particles: in still
/// water that would have no end.
static const double START = 0.25, STOP = 0.03;
/// Least determinant as a part of 1 - s. A plane has 1 - s, a circle a little less.
static const double LEAST_DETERMINANT = 0.4;

// ---------------------------------------------------------------------------------------- lattice

/// Largest divisor of n that is at most `most`; n itself when that is coarser than `least` cells
/// and n is not too many; 0 when nothing fits.
static int coarse_cells(int n, int most) {
    enum { LEAST = 8, TOO_MANY = 192 };
    int best = 1;
    for (int k = 1; k <= n && k <= most; k++)
        if (n % k == 0) best = k;
    if (best < LEAST && best < n) best = n <= TOO_MANY ? n : 0;
    return best;
}

static BrimResult choose_lattice(WarpMap *m, int coarsest, BrimError *error) {
    int longest = 0;
    for (int a = 0; a < m->dim; a++) longest = m->cells[a] > longest ? m->cells[a] : longest;
    for (int a = 0; a < 3; a++) {
        if (a >= m->dim) {
            m->coarse[a] = m->ratio[a] = 1;
            continue;
        }
        if (m->cells[a] < 2)
            return fail(error, BRIM_ERROR_INPUT,
                        "grid.warp: a warped grid needs at least 2 cells along each axis, the "
                        "domain has %d along %c",
                        m->cells[a], 'x' + a);
        // as coarse along each axis as along the longest
        int most = (int)ceil((double)coarsest * m->cells[a] / longest);
        m->coarse[a] = coarse_cells(m->cells[a], most < 2 ? 2 : most);
        if (m->coarse[a] == 0)
            return fail(error, BRIM_ERROR_INPUT,
                        "grid.warp: %d cells along %c cannot be divided among the cells of a "
                        "coarse lattice; choose a number with small divisors, such as %d",
                        m->cells[a], 'x' + a, (m->cells[a] + 15) / 16 * 16);
        m->ratio[a] = m->cells[a] / m->coarse[a];
    }
    return BRIM_OK;
}

static bool map_reserve(WarpMap *m) {
    size_t nodes = map_node_count(m);
    m->d[0] = memory_zero(3 * nodes * sizeof(float));
    for (int a = 1; a < 3 && m->d[0]; a++) m->d[a] = m->d[0] + (size_t)a * nodes;
    return m->d[0] != NULL;
}

static void map_copy(WarpMap *to, const WarpMap *from) {
    memcpy(to->d[0], from->d[0], 3 * map_node_count(from) * sizeof(float));
}

static bool make_cosines(Warp *w, int axis) {
    int n = w->map.coarse[axis];
    size_t count = (size_t)n * (size_t)n;
    double *c = w->cosine[axis] = memory_new(count * sizeof(double));
    double *t = w->transposed[axis] = memory_new(count * sizeof(double));
    if (!c || !t) return false;
    for (int m = 0; m < n; m++)
        for (int i = 0; i < n; i++)
            t[i * n + m] = c[m * n + i] = sqrt((m ? 2.0 : 1.0) / n) * cos(PI * m * (i + 0.5) / n);
    return true;
}

BrimResult warp_lattice_of(WarpMap *map, int dim, const int cells[3], int coarsest,
                           BrimError *error) {
    *map = (WarpMap){.dim = dim, .cells = {cells[0], cells[1], cells[2]}};
    int longest = 2, usual = WARP_COARSE_2D;
    for (int a = 0; a < dim; a++) longest = cells[a] > longest ? cells[a] : longest;
    // in 3D at least twice as coarse as the grid, as in the paper: else the mesh is a third of a
    // step
    if (dim == 3) usual = longest / 2 < WARP_COARSE_3D ? longest / 2 : WARP_COARSE_3D;
    if (coarsest > 0) usual = coarsest < MAP_COARSE_MOST ? coarsest : MAP_COARSE_MOST;
    return choose_lattice(map, usual, error);
}

BrimResult warp_init(Warp *w, int dim, const int cells[3], double strength, int coarsest,
                     BrimError *error) {
    *w = (Warp){.strength = strength};
    if (!(strength >= 0 && strength < 1))
        return fail(error, BRIM_ERROR_INPUT,
                    "grid.warp is %g: it must be at least 0 and below 1, where cells collapse",
                    strength);
    BrimResult result = warp_lattice_of(&w->map, dim, cells, coarsest, error);
    if (result != BRIM_OK) return result;
    size_t n = warp_centres(w);
    w->before = w->map;
    w->now = memory_zero(n * sizeof(double)), w->last = memory_zero(n * sizeof(double));
    w->next = memory_zero(n * sizeof(double)), w->spare = memory_zero(n * sizeof(double));
    w->place[0] = memory_zero(3 * n * sizeof(float));
    for (size_t a = 1; a < 3 && w->place[0]; a++) w->place[a] = w->place[0] + a * n;
    bool sound = w->place[0] && w->now && w->last && w->next && w->spare && map_reserve(&w->map) &&
                 map_reserve(&w->before);
    for (int a = 0; a < 3; a++) sound = sound && make_cosines(w, a);
    if (sound) return BRIM_OK;
    warp_free(w);
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for a warped grid");
}

void warp_free(Warp *w) {
    free(w->map.d[0]), free(w->before.d[0]);
    free(w->place[0]), free(w->now), free(w->last), free(w->next), free(w->spare);
    for (int a = 0; a < 3; a++) free(w->cosine[a]), free(w->transposed[a]);
    *w = (Warp){0};
}

size_t warp_bytes(const Warp *w) {
    size_t bytes = warp_centres(w) * (4 * sizeof(double) + 3 * sizeof(float)) +
                   6 * map_node_count(&w->map) * sizeof(float);
    for (int a = 0; a < 3; a++)
        bytes += 2 * (size_t)w->map.coarse[a] * (size_t)w->map.coarse[a] * sizeof(double);
    return bytes;
}

size_t warp_centres(const Warp *w) {
    const int *n = w->map.coarse;
    return (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
}

void warp_centre(const Warp *w, size_t i, double xi[3]) {
    const int *n = w->map.coarse;
    size_t x = i % (size_t)n[0], y = i / (size_t)n[0] % (size_t)n[1];
    size_t z = i / ((size_t)n[0] * (size_t)n[1]);
    xi[0] = ((double)x + 0.5) * w->map.ratio[0];
    xi[1] = ((double)y + 0.5) * w->map.ratio[1];
    xi[2] = w->map.dim == 3 ? ((double)z + 0.5) * w->map.ratio[2] : 0;
}

// ----------------------------------------------------------------------------------- cosine solve

/// A matrix [n][n] applied along the middle axis of in [outer][n][inner]; along x, where inner is
/// 1, its transpose is given.
typedef struct Transform {
    const double *matrix, *in;
    double *out;
    int n;
    size_t inner;
} Transform;

/// One row of results: outer and mode.
static void transform_row(void *context, int index, int thread) {
    const Transform *t = context;
    const size_t n = (size_t)t->n, inner = t->inner, o = (size_t)index / n, m = (size_t)index % n;
    double *to = t->out + (size_t)index * inner;
    for (size_t k = 0; k < inner; k++) to[k] = 0;
    for (size_t i = 0; i < n; i++) {
        const double *from = t->in + (o * n + i) * inner, c = t->matrix[m * n + i];
        for (size_t k = 0; k < inner; k++) to[k] += c * from[k];
    }
}

/// Along x: out [row][m] = sum over i of matrix^T [i][m] in [row][i].
static void transform_along(void *context, int index, int thread) {
    const Transform *t = context;
    const size_t n = (size_t)t->n;
    double *to = t->out + (size_t)index * n;
    for (size_t m = 0; m < n; m++) to[m] = 0;
    for (size_t i = 0; i < n; i++) {
        const double v = t->in[(size_t)index * n + i];
        for (size_t m = 0; m < n; m++) to[m] += t->matrix[i * n + m] * v;
    }
}

/// A few rows are one thread's work.
enum { ROWS_A_THREAD = 32 };

static void transform(const Warp *w, const double *matrix, int n, size_t outer, size_t inner,
                      const double *in, double *out) {
    Transform t = {matrix, in, out, n, inner};
    if (inner > 1)
        team_for(w->team, (int)outer * n, inner > 64 ? 1 : ROWS_A_THREAD, transform_row, &t);
    else
        team_for(w->team, (int)outer, ROWS_A_THREAD, transform_along, &t);
}

/// Eigenvalue of the second difference of mode m.
static double eigenvalue(const WarpMap *map, int axis, int m) {
    double s = sin(PI * m / (2.0 * map->coarse[axis])) / map->ratio[axis];
    return -4 * s * s;
}

void warp_inverse_laplacian(Warp *w, const double *f, double *out) {
    const int *n = w->map.coarse;
    size_t nx = (size_t)n[0], ny = (size_t)n[1], nz = (size_t)n[2];
    double *a = w->next, *b = w->spare;
    transform(w, w->transposed[0], n[0], ny * nz, 1, f, a);
    transform(w, w->cosine[1], n[1], nz, nx, a, b);
    transform(w, w->cosine[2], n[2], 1, nx * ny, b, a);
    double value[3][MAP_COARSE_MOST];
    for (int k = 0; k < 3; k++)
        for (int m = 0; m < n[k]; m++) value[k][m] = eigenvalue(&w->map, k, m);
    for (size_t at = 1; at < nx * ny * nz; at++)
        a[at] /= value[0][at % nx] + value[1][at / nx % ny] + value[2][at / (nx * ny)];
    a[0] = 0;
    transform(w, w->transposed[2], n[2], 1, nx * ny, a, b);
    transform(w, w->transposed[1], n[1], nz, nx, b, a);
    transform(w, w->cosine[0], n[0], ny * nz, 1, a, out);
}

// ------------------------------------------------------------------------------------------- mesh

static size_t clamp(int i, int n) {
    return (size_t)(i < 0 ? 0 : i >= n ? n - 1 : i);
}

/// Displacements of a row of nodes: difference of the potential along an axis, means along the
/// others, the last value repeated beyond the sides. row: of the potential, lower and upper along
/// y, then along z (in 2D the same).
static void displace_row(const WarpMap *m, const double *const row[4], size_t first) {
    const int n = m->coarse[0];
    double part[3];
    for (int a = 0; a < 3; a++) part[a] = 0.25 / m->ratio[a];
    for (int x = 0; x <= n; x++) {
        const size_t l = clamp(x - 1, n), r = clamp(x, n);
        double sum[4], dx = 0;
        for (int k = 0; k < 4; k++) sum[k] = row[k][l] + row[k][r], dx += row[k][r] - row[k][l];
        m->d[0][first + (size_t)x] = (float)(part[0] * dx);
        m->d[1][first + (size_t)x] = (float)(part[1] * (sum[1] - sum[0] + sum[3] - sum[2]));
        m->d[2][first + (size_t)x] =
            m->dim == 3 ? (float)(part[2] * (sum[2] - sum[0] + sum[3] - sum[1])) : 0;
    }
}

static void displace(WarpMap *m, const double *varphi) {
    const int *n = m->coarse;
    const size_t nx = (size_t)n[0], ny = (size_t)n[1];
    for (int z = 0; z < map_nodes(m, 2); z++)
        for (int y = 0; y < map_nodes(m, 1); y++) {
            const double *row[4];
            for (int k = 0; k < 4; k++)
                row[k] = varphi +
                         (clamp(z - 1 + (k >> 1), n[2]) * ny + clamp(y - 1 + (k & 1), n[1])) * nx;
            displace_row(m, row, map_node(m, 0, y, z));
        }
}

void warp_places(Warp *w) {
    const WarpMap *m = &w->map;
    const int *n = m->coarse;
    const int deep = m->dim == 3;
    float *to[3] = {w->place[0], w->place[1], w->place[2]};
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int a = 0; a < 3; a++, to[a - 1] += n[0]) {
                const float *row[4];
                const float at = a == 1 ? (float)y : deep ? (float)z : -0.5f;
                for (int k = 0; k < 4; k++)
                    row[k] = m->d[a] + map_node(m, 0, y + (k & 1), z + deep * (k >> 1));
                for (int x = 0; x < n[0]; x++) {
                    float sum = 0;
                    for (int k = 0; k < 4; k++) sum += row[k][x] + row[k][x + 1];
                    to[a][x] =
                        ((a == 0 ? (float)x : at) + 0.5f) * (float)m->ratio[a] + 0.125f * sum;
                }
            }
}

/// J at the centres of a part of a row of coarse cells.
enum { PART = 64 };

static void row_jacobians(const WarpMap *m, int y, int z, int first, int count, float J[9][PART]) {
    const int deep = m->dim == 3;
    for (int j = 0; j < 3; j++) {
        const float *row[4];
        for (int k = 0; k < 4; k++)
            row[k] = m->d[j] + map_node(m, first, y + (k & 1), z + deep * (k >> 1));
        for (int x = 0; x < count; x++) {
            float dx = 0, sum[4];
            for (int k = 0; k < 4; k++)
                dx += row[k][x + 1] - row[k][x], sum[k] = row[k][x] + row[k][x + 1];
            J[j][x] = 0.25f / (float)m->ratio[0] * dx + (j == 0);
            J[3 + j][x] =
                0.25f / (float)m->ratio[1] * (sum[1] - sum[0] + sum[3] - sum[2]) + (j == 1);
            J[6 + j][x] =
                0.25f / (float)m->ratio[2] * (sum[2] - sum[0] + sum[3] - sum[1]) * (float)deep +
                (j == 2);
        }
    }
}

float warp_stretch(const Warp *w, float *out) {
    const WarpMap *m = &w->map;
    const int *n = m->coarse;
    float J[9][PART], largest = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int first = 0; first < n[0]; first += PART) {
                const int count = n[0] - first < PART ? n[0] - first : PART;
                float *to = out + ((size_t)z * (size_t)n[1] + (size_t)y) * (size_t)n[0] + first;
                row_jacobians(m, y, z, first, count, J);
                for (int x = 0; x < count; x++) {
                    float most = 0, det = 0, cofactor[3][3];
                    for (int r = 0; r < 3; r++)
                        for (int c = 0; c < 3; c++) {
                            const int r1 = (r + 1) % 3 * 3, r2 = (r + 2) % 3 * 3, c1 = (c + 1) % 3,
                                      c2 = (c + 2) % 3;
                            cofactor[r][c] =
                                J[r1 + c1][x] * J[r2 + c2][x] - J[r1 + c2][x] * J[r2 + c1][x];
                        }
                    for (int c = 0; c < 3; c++) det += J[c][x] * cofactor[0][c];
                    for (int r = 0; r < 3; r++) { // a row of cofactors is a column of the inverse
                        float square = 0;
                        for (int c = 0; c < 3; c++) square += cofactor[r][c] * cofactor[r][c];
                        most = square > most ? square : most;
                    }
                    to[x] = sqrtf(most) / det;
                }
                for (int x = 0; x < count; x++) largest = to[x] > largest ? to[x] : largest;
            }
    return largest;
}

static double farthest(const WarpMap *a, const WarpMap *b) {
    double most = 0;
    for (size_t i = 0; i < map_node_count(a); i++) {
        double sum = 0;
        for (int k = 0; k < a->dim; k++) {
            double off = (double)a->d[k][i] - (double)b->d[k][i];
            sum += off * off;
        }
        most = fmax(most, sum);
    }
    return sqrt(most);
}

/// Moves the mesh from w->before towards the potential w->next as far as the guards let it; `limit`
/// is the farthest that a node may move. w->now becomes the potential of the mesh.
static WarpMotion approach(Warp *w, double limit) {
    enum { HALVINGS = 10 };
    const double lowest = LEAST_DETERMINANT * (1 - w->strength);
    WarpMotion motion = {.part = 1};
    size_t n = warp_centres(w);
    displace(&w->map, w->next);
    motion.moved = farthest(&w->map, &w->before);
    if (motion.moved > limit) motion.part = limit / motion.moved;
    for (int k = 0;; k++) {
        if (motion.part == 1) { // the mesh is that of next already
            memcpy(w->spare, w->next, n * sizeof(double));
        } else {
            for (size_t i = 0; i < n; i++)
                w->spare[i] = w->now[i] + motion.part * (w->next[i] - w->now[i]);
            displace(&w->map, w->spare);
        }
        map_determinants(&w->map, &motion.least, &motion.most);
        if (motion.least >= lowest || motion.part == 0) break;
        motion.part = k < HALVINGS ? motion.part / 2 : 0; // the mesh that was there is sound
    }
    motion.moved = farthest(&w->map, &w->before);
    memcpy(w->now, w->spare, n * sizeof(double));
    return motion;
}

void warp_hold(Warp *w) {
    map_copy(&w->before, &w->map);
}

/// A mesh comes to rest, or rests. w->map is another one's to begin with.
static WarpMotion stay(Warp *w) {
    WarpMotion motion = {.part = 1};
    map_copy(&w->map, &w->before);
    memcpy(w->last, w->now, warp_centres(w) * sizeof(double));
    map_determinants(&w->map, &motion.least, &motion.most);
    return motion;
}

WarpMotion warp_step(Warp *w, double *f) {
    size_t n = warp_centres(w);
    const bool rests = memcmp(w->now, w->last, n * sizeof(double)) == 0;
    warp_inverse_laplacian(w, f, f);
    WarpMap before = w->before;
    w->before = w->map, w->map = before;
    displace(&w->map, f);
    if (farthest(&w->map, &w->before) < (rests ? START : STOP)) return stay(w);
    for (size_t i = 0; i < n; i++) w->next[i] = (f[i] + 4 * w->now[i] - w->last[i]) / 4;
    memcpy(w->last, w->now, n * sizeof(double));
    return approach(w, FARTHEST);
}

void warp_set(Warp *w) {
    displace(&w->map, w->now);
    map_copy(&w->before, &w->map);
}

BrimResult warp_settle(Warp *w, WarpSize *size, void *context, BrimError *error) {
    enum { ITERATIONS = 60 };
    size_t n = warp_centres(w);
    double *f = memory_new(n * sizeof(double));
    if (!f) return fail(error, BRIM_ERROR_MEMORY, "out of memory for the start of a warped grid");
    BrimResult result = BRIM_OK;
    for (int k = 0; k < ITERATIONS && result == BRIM_OK; k++) {
        result = size(context, w, f, error);
        if (result != BRIM_OK) break;
        warp_inverse_laplacian(w, f, f);
        for (size_t i = 0; i < n; i++) w->next[i] = (w->now[i] + f[i]) / 2;
        map_copy(&w->before, &w->map);
        if (approach(w, INFINITY).moved < 1e-3) break;
    }
    memcpy(w->last, w->now, n * sizeof(double));
    map_copy(&w->before, &w->map);
    free(f);
    return result;
}
