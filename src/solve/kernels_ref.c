// The kernels of the Poisson solver in plain loops over cells, in the same order of operations.
#include "solve/level.h"
#include <math.h>

static size_t tile_start(const Level *l, int slot) {
    return (size_t)slot * (size_t)l->grid->tile_cells;
}

/// Value of a field at a cell given relative to a tile, at most one cell outside of it and not
/// diagonally; 0 where no tile exists.
static float value_at(const Level *l, int slot, const float *field, int x, int y, int z) {
    int depth = l->grid->tile_depth;
    int dx = x < 0 ? -1 : x >= TILE, dy = y < 0 ? -1 : y >= TILE, dz = z < 0 ? -1 : z >= depth;
    int other = level_neighbour(l, slot, TILE_SELF + dx + 3 * dy + 9 * dz);
    if (other < 0) return 0;
    return field[tile_start(l, other) + (size_t)((z - dz * depth) * 64 + (y & 7) * 8 + (x & 7))];
}

/// Whether a cell of the tile or beside it is an unknown.
static bool unknown_at(const Level *l, int slot, int x, int y, int z) {
    int depth = l->grid->tile_depth;
    int dx = x < 0 ? -1 : x >= TILE, dy = y < 0 ? -1 : y >= TILE, dz = z < 0 ? -1 : z >= depth;
    int other = level_neighbour(l, slot, TILE_SELF + dx + 3 * dy + 9 * dz);
    return other >= 0 && level_diag_of(l, other, (z - dz * depth) * 64 + (y & 7) * 8 + (x & 7)) > 0;
}

/// The coefficient of a lower face along an axis; where a uniform tile keeps none, that between
/// unknowns.
static float face_value(const Level *l, int slot, int axis, int x, int y, int z) {
    const float *field = axis == 0 ? l->ax : axis == 1 ? l->ay : l->az;
    if (!l->face_at) return value_at(l, slot, field, x, y, z);
    int depth = l->grid->tile_depth;
    int dx = x < 0 ? -1 : x >= TILE, dy = y < 0 ? -1 : y >= TILE, dz = z < 0 ? -1 : z >= depth;
    int other = level_neighbour(l, slot, TILE_SELF + dx + 3 * dy + 9 * dz);
    if (other < 0) return 0;
    x &= 7, y &= 7, z -= dz * depth;
    if (l->face_at[other]) return level_faces(l, field, other)[z * 64 + y * 8 + x];
    bool open = unknown_at(l, other, x, y, z) &&
                unknown_at(l, other, x - (axis == 0), y - (axis == 1), z - (axis == 2));
    return open ? l->uniform[other].a : 0;
}

/// Runs the statement after it for every cell i = (x, y, z) of a tile.
#define EACH_CELL(l)                                       \
    for (int z = 0, i = 0; z < (l)->grid->tile_depth; z++) \
        for (int y = 0; y < TILE; y++)                     \
            for (int x = 0; x < TILE; x++, i++)

/// Sum over the six faces of coefficient times neighbour. With `inside`, of neighbours inside the
/// tile alone.
static float neighbours(const Level *l, int slot, const float *f, int x, int y, int z,
                        bool inside) {
    bool in_x0 = !inside || x > 0, in_x1 = !inside || x < 7;
    bool in_y0 = !inside || y > 0, in_y1 = !inside || y < 7;
    bool in_z0 = !inside || z > 0, in_z1 = !inside || z < 7;
    float a = face_value(l, slot, 0, x, y, z) * (in_x0 ? value_at(l, slot, f, x - 1, y, z) : 0);
    float b = face_value(l, slot, 0, x + 1, y, z) * (in_x1 ? value_at(l, slot, f, x + 1, y, z) : 0);
    float sum = a + b;
    a = face_value(l, slot, 1, x, y, z) * (in_y0 ? value_at(l, slot, f, x, y - 1, z) : 0);
    b = face_value(l, slot, 1, x, y + 1, z) * (in_y1 ? value_at(l, slot, f, x, y + 1, z) : 0);
    sum += a + b;
    if (l->grid->tile_depth == 1) return sum;
    a = face_value(l, slot, 2, x, y, z) * (in_z0 ? value_at(l, slot, f, x, y, z - 1) : 0);
    b = face_value(l, slot, 2, x, y, z + 1) * (in_z1 ? value_at(l, slot, f, x, y, z + 1) : 0);
    return sum + (a + b);
}

/// Rows without unknowns are not touched.
static bool row_used(const Level *l, int slot, int y, int z) {
    return l->rows[slot] >> (z * 8 + y) & 1;
}

static float sum_lanes(const float v[8]) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

static void apply(const Level *l, int slot, const float *y_in, float *w, const float *r,
                  const float *s, TileDots *dots) {
    size_t at = tile_start(l, slot);
    float ry[8] = {0}, yw[8] = {0}, ys[8] = {0};
    EACH_CELL(l) {
        if (!row_used(l, slot, y, z)) continue;
        float v = y_in[at + (size_t)i];
        float av = level_diag_of(l, slot, i) * v - neighbours(l, slot, y_in, x, y, z, false);
        w[at + (size_t)i] = av;
        ry[x] += r[at + (size_t)i] * v;
        yw[x] += av * v;
        ys[x] += s[at + (size_t)i] * v;
    }
    *dots = (TileDots){sum_lanes(ry), sum_lanes(yw), sum_lanes(ys)};
}

/// A NaN wins.
static float larger(float m, float v) {
    return m >= v || m != m ? m : v;
}

static TileMost residual(const Level *l, int slot, const float *b, const float *f, float *r) {
    size_t at = tile_start(l, slot);
    TileMost most = {0, 0};
    EACH_CELL(l) {
        if (!row_used(l, slot, y, z)) continue;
        double sum = b[at + (size_t)i];
        sum -= (double)level_diag_of(l, slot, i) * (double)f[at + (size_t)i];
        sum += (double)face_value(l, slot, 0, x, y, z) * value_at(l, slot, f, x - 1, y, z);
        sum += (double)face_value(l, slot, 0, x + 1, y, z) * value_at(l, slot, f, x + 1, y, z);
        sum += (double)face_value(l, slot, 1, x, y, z) * value_at(l, slot, f, x, y - 1, z);
        sum += (double)face_value(l, slot, 1, x, y + 1, z) * value_at(l, slot, f, x, y + 1, z);
        if (l->grid->tile_depth > 1) {
            sum += (double)face_value(l, slot, 2, x, y, z) * value_at(l, slot, f, x, y, z - 1);
            sum += (double)face_value(l, slot, 2, x, y, z + 1) * value_at(l, slot, f, x, y, z + 1);
        }
        r[at + (size_t)i] = (float)sum;
        most.r = larger(most.r, fabsf((float)sum));
        most.b = larger(most.b, fabsf(b[at + (size_t)i]));
    }
    return most;
}

static bool is_red(int x, int y, int z) {
    return ((x + y + z) & 1) == 0;
}

/// A half sweep. `rhs` points to the tile, field to the field.
static void relax(const Level *l, int slot, const float *rhs, float *field, bool red) {
    float *t = field + tile_start(l, slot);
    const float *inverse = level_inverse(l, slot);
    EACH_CELL(l) {
        if (is_red(x, y, z) != red || !row_used(l, slot, y, z)) continue;
        t[i] = (rhs[i] + neighbours(l, slot, field, x, y, z, true)) * inverse[i];
    }
}

/// `rhs` points to the tile, z_out to the field.
static void smooth_tile(const Level *l, int slot, const float *rhs, float *z_out) {
    float *t = z_out + tile_start(l, slot);
    const float *inverse = level_inverse(l, slot);
    EACH_CELL(l) {
        if (row_used(l, slot, y, z)) t[i] = is_red(x, y, z) ? rhs[i] * inverse[i] : 0;
    }
    relax(l, slot, rhs, z_out, false);
    if (l->longer) {
        for (int k = 0; k < LEVEL_LONGER; k++) {
            relax(l, slot, rhs, z_out, true);
            relax(l, slot, rhs, z_out, false);
        }
        relax(l, slot, rhs, z_out, true);
        return;
    }
    EACH_CELL(l) {
        if (!is_red(x, y, z) || !row_used(l, slot, y, z)) continue;
        t[i] += neighbours(l, slot, z_out, x, y, z, true) * inverse[i];
    }
}

static void smooth(const Level *l, int slot, const float *b, float *z) {
    smooth_tile(l, slot, b + tile_start(l, slot), z);
}

static float cell_residual(const Level *l, int slot, const float *b, const float *f, int x, int y,
                           int z) {
    const int i = z * 64 + y * 8 + x;
    size_t at = tile_start(l, slot) + (size_t)i;
    if (!row_used(l, slot, y, z)) return 0;
    return b[at] - (level_diag_of(l, slot, i) * f[at] - neighbours(l, slot, f, x, y, z, false));
}

static void correct(const Level *l, int slot, const float *b, const float *f, float *out) {
    size_t at = tile_start(l, slot);
    float r[512] = {0};
    EACH_CELL(l) r[i] = cell_residual(l, slot, b, f, x, y, z);
    smooth_tile(l, slot, r, out);
    EACH_CELL(l) {
        if (row_used(l, slot, y, z)) out[at + (size_t)i] = f[at + (size_t)i] + out[at + (size_t)i];
    }
}

static void restrict_residual(const Level *l, int slot, const float *b, const float *f,
                              float *coarse) {
    int depth = l->grid->tile_depth;
    for (int z = 0; z < (depth + 1) / 2; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) {
                float column[2];
                for (int k = 0; k < 2; k++) {
                    int fx = 2 * x + k;
                    column[k] = cell_residual(l, slot, b, f, fx, 2 * y, 2 * z) +
                                cell_residual(l, slot, b, f, fx, 2 * y + 1, 2 * z);
                    if (depth == 1) continue;
                    column[k] += cell_residual(l, slot, b, f, fx, 2 * y, 2 * z + 1);
                    column[k] += cell_residual(l, slot, b, f, fx, 2 * y + 1, 2 * z + 1);
                }
                coarse[z * 64 + y * 8 + x] = column[0] + column[1];
            }
}

static void prolong(const Level *l, int slot, const float *coarse, float *f) {
    size_t at = tile_start(l, slot);
    EACH_CELL(l) {
        if (level_inverse(l, slot)[i] > 0)
            f[at + (size_t)i] += coarse[z / 2 * 64 + y / 2 * 8 + x / 2];
    }
}

static float update(uint64_t rows, float alpha, float beta, const float *y, const float *w,
                    float *p, float *s, float *x, float *r) {
    float most = 0;
    for (int i = 0; i < 512; i++) {
        if (!(rows >> (i / 8) & 1)) continue;
        p[i] = y[i] + beta * p[i];
        s[i] = w[i] + beta * s[i];
        x[i] += alpha * p[i];
        r[i] -= alpha * s[i];
        most = larger(most, fabsf(r[i]));
    }
    return most;
}

static uint64_t invert(const Level *l, int slot) {
    size_t at = tile_start(l, slot);
    uint64_t rows = 0;
    EACH_CELL(l) {
        float d = l->diag[at + (size_t)i];
        l->inverse[at + (size_t)i] = d > 0 ? 1 / d : 0;
        if (d > 0) rows |= (uint64_t)1 << (z * 8 + y);
    }
    return rows;
}

/// The six faces of a cell: coefficient, and whether there are unknowns on both sides.
typedef struct Faces {
    float a[6];
    bool open[6];
} Faces;

static Faces faces_of(const Level *l, int slot, int x, int y, int z) {
    Faces f;
    for (int n = 0; n < 6; n++) {
        int up[3] = {0}, to[3] = {0};
        up[n >> 1] = n & 1, to[n >> 1] = n & 1 ? 1 : -1;
        f.a[n] = face_value(l, slot, n >> 1, x + up[0], y + up[1], z + up[2]);
        f.open[n] =
            unknown_at(l, slot, x, y, z) && unknown_at(l, slot, x + to[0], y + to[1], z + to[2]);
    }
    return f;
}

static Uniform uniform(const Level *l, int slot) {
    if (l->grid->tile_depth == 1) return (Uniform){0, 0};
    const float *diag = l->diag + tile_start(l, slot);
    float a = 0;
    EACH_CELL(l) {
        if (!row_used(l, slot, y, z)) continue;
        Faces f = faces_of(l, slot, x, y, z);
        for (int n = 0; n < 6; n++) a = larger(a, f.a[n]);
    }
    bool same = true, whole = true;
    EACH_CELL(l) {
        whole = whole && diag[i] > 0 && diag[i] == diag[0];
        if (!row_used(l, slot, y, z)) continue;
        Faces f = faces_of(l, slot, x, y, z);
        for (int n = 0; n < 6; n++) {
            same = same && f.a[n] == (f.open[n] ? a : 0);
            whole = whole && f.open[n];
        }
    }
    return same ? (Uniform){a, whole ? diag[0] : 0} : (Uniform){0, 0};
}

static void links(const Level *l, int slot, TileLinks *out) {
    size_t at = tile_start(l, slot);
    *out = (TileLinks){0};
    EACH_CELL(l) {
        float d = l->diag[at + (size_t)i];
        float faces = (face_value(l, slot, 0, x, y, z) + face_value(l, slot, 0, x + 1, y, z)) +
                      (face_value(l, slot, 1, x, y, z) + face_value(l, slot, 1, x, y + 1, z));
        uint64_t bit = (uint64_t)1 << (y * 8 + x);
        if (l->grid->tile_depth > 1) {
            faces += face_value(l, slot, 2, x, y, z) + face_value(l, slot, 2, x, y, z + 1);
            if (face_value(l, slot, 2, x, y, z) > 0) out->z.plane[z] |= bit;
        }
        if (d > 0) out->unknown.plane[z] |= bit;
        if (face_value(l, slot, 0, x, y, z) > 0) out->x.plane[z] |= bit;
        if (face_value(l, slot, 1, x, y, z) > 0) out->y.plane[z] |= bit;
        if (d - faces > LEVEL_ANCHOR * d) out->anchored.plane[z] |= bit;
    }
}

/// Sum of 2 x 2 x 2 (2D: 2 x 2) values starting at p, those with an odd coordinate along `axis`
/// left out when parity is 0, the even ones when it is 1; all of them when axis < 0.
static float block_sum(const float *p, int axis, int parity, int depth) {
    float column[2];
    for (int x = 0; x < 2; x++) {
        column[x] = 0;
        float plane[2] = {0, 0};
        for (int z = 0; z < (depth > 1 ? 2 : 1); z++)
            for (int y = 0; y < 2; y++) {
                int at[3] = {x, y, z};
                if (axis < 0 || at[axis] == parity) plane[z] += p[z * 64 + y * 8 + x];
            }
        column[x] = plane[0] + plane[1];
    }
    return column[0] + column[1];
}

static void coarsen(const Level *fine, int slot, const CoarseBlock *to) {
    int depth = fine->grid->tile_depth;
    for (int z = 0; z < (depth + 1) / 2; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) {
                size_t i = tile_start(fine, slot) + (size_t)(z * 128 + y * 16 + x * 2);
                int o = z * 64 + y * 8 + x;
                float whole = block_sum(fine->diag + i, -1, 0, depth);
                float inside =
                    block_sum(fine->ax + i, 0, 1, depth) + block_sum(fine->ay + i, 1, 1, depth);
                to->ax[o] = 0.5f * block_sum(fine->ax + i, 0, 0, depth);
                to->ay[o] = 0.5f * block_sum(fine->ay + i, 1, 0, depth);
                if (depth > 1) {
                    inside += block_sum(fine->az + i, 2, 1, depth);
                    to->az[o] = 0.5f * block_sum(fine->az + i, 2, 0, depth);
                }
                float diag = 0.5f * whole - inside;
                to->diag[o] = diag > LEVEL_ROUNDING * whole ? diag : 0;
            }
}

const PoissonKernels poisson_kernels_ref = {
    .invert = invert,
    .uniform = uniform,
    .links = links,
    .coarsen = coarsen,
    .smooth = smooth,
    .correct = correct,
    .restrict_residual = restrict_residual,
    .prolong = prolong,
    .apply = apply,
    .update = update,
    .residual = residual,
};
