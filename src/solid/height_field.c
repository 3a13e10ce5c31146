#include "solid/height_field.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/team.h"
#include "formula/formula.h"
#include "solid/bytes.h"
#include "solid/triangle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SHIFT = 3, BLOCK = 1 << BLOCK_SHIFT };

/// Cells of resolution up to which distances are exact.
static const double exact_cells = 3;
static const double most_nodes = 1 << 28;

void height_field_free(HeightField *f) {
    free(f->height);
    free(f->block_low);
    free(f->block_high);
    *f = (HeightField){0};
}

size_t height_field_bytes(const HeightField *f) {
    return ((size_t)f->nx * (size_t)f->nz + 2 * (size_t)f->blocks_x * (size_t)f->blocks_z) *
           sizeof(float);
}

static inline float least(float a, float b) {
    return a < b ? a : b;
}

static inline float most(float a, float b) {
    return a > b ? a : b;
}

static inline int floor_int(float x) {
    int i = (int)x;
    return i - ((float)i > x);
}

static inline int clamp_index(int i, int count) {
    return i < 0 ? 0 : i >= count ? count - 1 : i;
}

static inline float node(const HeightField *f, int i, int j) {
    return f->height[(size_t)clamp_index(j, f->nz) * (size_t)f->nx + (size_t)clamp_index(i, f->nx)];
}

// ----------------------------------------------------------------------------------- building

/// Nodes along one side: `given`, or as many as half the resolution asks for when that is fewer.
static int useful_nodes(int given, double extent, double resolution) {
    double wanted = ceil(2 * extent / resolution) + 1;
    return given > wanted ? (int)(wanted < 2 ? 2 : wanted) : given;
}

static bool allocate(HeightField *f, const BrimShapeDef *def, int nx, int nz) {
    f->nx = nx, f->nz = nz;
    f->dx = (float)(def->size.x / (double)(nx - 1));
    f->dz = nz > 1 ? (float)(def->size.z / (double)(nz - 1)) : f->dx;
    f->height = memory_new((size_t)nx * (size_t)nz * sizeof *f->height);
    return f->height != NULL;
}

static BrimResult out_of_memory(BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "no memory for the height field");
}

/// Resamples a table of heights, scaled; finer detail than half a cell would only cost time.
static BrimResult from_table(const BrimShapeDef *def, int dim, double resolution,
                             const float *table, int columns, int rows, float scale, HeightField *f,
                             BrimError *error) {
    int nx = useful_nodes(columns, def->size.x, resolution);
    int nz = dim == 2 || rows == 1 ? 1 : useful_nodes(rows, def->size.z, resolution);
    if (!allocate(f, def, nx, nz)) return out_of_memory(error);
    for (int j = 0; j < nz; j++)
        for (int i = 0; i < nx; i++) {
            double x = (double)i * (columns - 1) / (nx - 1);
            double z = nz > 1 ? (double)j * (rows - 1) / (nz - 1) : 0;
            int a = clamp_index((int)x, columns), b = clamp_index((int)z, rows);
            int a1 = clamp_index(a + 1, columns), b1 = clamp_index(b + 1, rows);
            const float *r0 = table + (size_t)b * (size_t)columns;
            const float *r1 = table + (size_t)b1 * (size_t)columns;
            double u = x - a, v = z - b;
            double low = r0[a] + u * ((double)r0[a1] - r0[a]);
            double high = r1[a] + u * ((double)r1[a1] - r1[a]);
            f->height[(size_t)j * (size_t)nx + (size_t)i] =
                (float)(scale * (low + v * (high - low)));
        }
    return BRIM_OK;
}

static BrimResult from_heights(const BrimShapeDef *def, int dim, double resolution, HeightField *f,
                               BrimError *error) {
    if (def->heights_x < 2 || def->heights_z < 1)
        return fail(error, BRIM_ERROR_INPUT,
                    "height field: %d x %d heights; at least 2 along x and 1 along z are needed",
                    def->heights_x, def->heights_z);
    size_t count = (size_t)def->heights_x * (size_t)def->heights_z;
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(def->heights[i]) <= 1e7f))
            return fail(error, BRIM_ERROR_INPUT,
                        "height field: height %zu of %zu is %g; finite ones up to 1e7 are allowed",
                        i, count, (double)def->heights[i]);
    return from_table(def, dim, resolution, def->heights, def->heights_x, def->heights_z, 1, f,
                      error);
}

static BrimResult from_file(const BrimShapeDef *def, int dim, double resolution, HeightField *f,
                            BrimError *error) {
    uint8_t *data;
    size_t size;
    if (!(fabsf(def->height) <= 1e7f))
        return fail(error, BRIM_ERROR_INPUT, "height field: height = %g is not finite or too large",
                    (double)def->height);
    BrimResult result = bytes_read(def->file, &data, &size, error);
    if (result != BRIM_OK) return result;
    Picture picture;
    result = picture_parse_pgm(data, size, def->file, &picture, error);
    free(data);
    if (result != BRIM_OK) return result;
    if (picture.columns < 2)
        result =
            fail(error, BRIM_ERROR_INPUT, "%s: a height field needs at least 2 columns", def->file);
    else
        result = from_table(def, dim, resolution, picture.value, picture.columns, picture.rows,
                            def->height, f, error);
    free(picture.value);
    return result;
}

/// A canyon whose heights are to be found.
typedef struct Canyon {
    const BrimShapeDef *def;
    HeightField *f;
    int dim;
} Canyon;

/// Heights of a row of nodes.
static void fill_row(void *context, int j, int thread) {
    const Canyon *c = context;
    const HeightField *f = c->f;
    double middle = 0.5 * c->def->size.z;
    for (int i = 0; i < f->nx; i++) {
        double x = (double)f->dx * i;
        double z = c->dim == 2 ? canyon_middle(c->def->canyon, middle, x) : (double)f->dz * j;
        f->height[(size_t)j * (size_t)f->nx + (size_t)i] =
            canyon_height(c->def->canyon, middle, x, z);
    }
}

static BrimResult from_canyon(const BrimShapeDef *def, int dim, double resolution, HeightField *f,
                              BrimError *error) {
    BrimResult result = canyon_check(def->canyon, error);
    if (result != BRIM_OK) return result;
    double nx = fmax(2, ceil(def->size.x / resolution) + 1);
    double nz = dim == 2 ? 1 : fmax(2, ceil(def->size.z / resolution) + 1);
    if (!(nx * nz <= most_nodes))
        return fail(error, BRIM_ERROR_INPUT,
                    "height field: %g x %g m at a resolution of %g m need %.3g heights, the limit "
                    "is %.3g",
                    (double)def->size.x, (double)def->size.z, resolution, nx * nz, most_nodes);
    if (!allocate(f, def, (int)nx, (int)nz)) return out_of_memory(error);
    Team *team = team_new(f->nz > 1 ? team_size(0) : 1);
    if (!team) return out_of_memory(error);
    team_for(team, f->nz, 1, fill_row, &(Canyon){def, f, dim});
    team_free(&team);
    return BRIM_OK;
}

/// A formula of x and z at nodes half a cell apart.
static BrimResult from_formula(const BrimShapeDef *def, int dim, double resolution, HeightField *f,
                               BrimError *error) {
    Formula *formula;
    BrimResult result =
        formula_new(def->formula, def->names, FORMULA_X | FORMULA_Z, &formula, error);
    if (result != BRIM_OK) return result;
    bool deep = dim == 3 && formula_uses(formula) & FORMULA_Z;
    double nx = fmax(2, ceil(2 * def->size.x / resolution) + 1);
    double nz = deep ? fmax(2, ceil(2 * def->size.z / resolution) + 1) : 1;
    if (!(nx * nz <= most_nodes))
        result =
            fail(error, BRIM_ERROR_INPUT,
                 "height field: %g x %g m at a resolution of %g m need %.3g heights, the limit "
                 "is %.3g",
                 (double)def->size.x, (double)def->size.z, resolution, nx * nz, most_nodes);
    else if (!allocate(f, def, (int)nx, (int)nz))
        result = out_of_memory(error);
    for (int j = 0; j < f->nz && result == BRIM_OK; j++)
        for (int i = 0; i < f->nx && result == BRIM_OK; i++) {
            double x = (double)f->dx * i, z = deep ? (double)f->dz * j : 0;
            double y = formula_at(formula, x, 0, z, 0);
            if (!(fabs(y) <= 1e7))
                result = fail(error, BRIM_ERROR_INPUT,
                              "height field: \"%.100s\" is %g at x = %g m, z = %g m: it must be a "
                              "number up to 1e7 m everywhere",
                              def->formula, y, x, z);
            f->height[(size_t)j * (size_t)f->nx + (size_t)i] = (float)y;
        }
    formula_free(&formula);
    return result;
}

/// Lowest and highest node of each block of cells.
static bool bound_blocks(HeightField *f) {
    f->blocks_x = (f->nx - 2) / BLOCK + 1;
    f->blocks_z = f->nz > 1 ? (f->nz - 2) / BLOCK + 1 : 1;
    size_t count = (size_t)f->blocks_x * (size_t)f->blocks_z;
    f->block_low = memory_new(count * sizeof(float));
    f->block_high = memory_new(count * sizeof(float));
    if (!f->block_low || !f->block_high) return false;
    f->low = INFINITY, f->high = -INFINITY;
    for (int b = 0; b < f->blocks_z; b++)
        for (int a = 0; a < f->blocks_x; a++) {
            float low = INFINITY, high = -INFINITY;
            for (int j = b * BLOCK; j <= (b + 1) * BLOCK; j++)
                for (int i = a * BLOCK; i <= (a + 1) * BLOCK; i++) {
                    float h = node(f, i, j);
                    low = h < low ? h : low;
                    high = h > high ? h : high;
                }
            size_t at = (size_t)b * (size_t)f->blocks_x + (size_t)a;
            f->block_low[at] = low, f->block_high[at] = high;
            f->low = low < f->low ? low : f->low;
            f->high = high > f->high ? high : f->high;
        }
    return true;
}

BrimResult height_field_new(const BrimShapeDef *def, int dim, double resolution, HeightField *f,
                            BrimError *error) {
    *f = (HeightField){0};
    bool deep = dim == 2 || (def->size.z > 0 && def->size.z <= 1e7f);
    if (!(def->size.x > 0 && def->size.x <= 1e7f && deep))
        return fail(error, BRIM_ERROR_INPUT,
                    "height field: size x = %g, z = %g must be above 0 and at most 1e7",
                    (double)def->size.x, (double)def->size.z);
    BrimResult result =
        def->canyon    ? from_canyon(def, dim, resolution, f, error)
        : def->formula ? from_formula(def, dim, resolution, f, error)
        : def->heights ? from_heights(def, dim, resolution, f, error)
        : def->file    ? from_file(def, dim, resolution, f, error)
                       : fail(error, BRIM_ERROR_INPUT,
                              "height field: needs heights, a formula, a PGM file or a canyon");
    if (result == BRIM_OK && !bound_blocks(f)) result = out_of_memory(error);
    if (result != BRIM_OK) {
        height_field_free(f);
        return result;
    }
    f->reach = (float)(exact_cells * resolution);
    f->reach_x = (int)ceil(fmin(f->reach / f->dx, 1e6));
    f->reach_z = f->nz > 1 ? (int)ceil(fmin(f->reach / f->dz, 1e6)) : 0;
    return BRIM_OK;
}

// ----------------------------------------------------------------------------------- distance

typedef struct Point {
    float x, y, z;
    int i, j;   ///< cell, which may lie outside the table
    float u, v; ///< place in the cell, 0 to 1
} Point;

/// Beyond the edges the ground is level outwards, so a point farther out than all that is looked
/// at may be moved in. Not-a-number becomes the edge.
static Point locate(const HeightField *f, float x, float y, float z) {
    Point p = {.y = y};
    float rx = (float)(f->reach_x + 1) * f->dx, rz = (float)(f->reach_z + 1) * f->dz;
    float ex = (float)(f->nx - 1) * f->dx + rx, ez = (float)(f->nz - 1) * f->dz + rz;
    p.x = x > -rx ? (x < ex ? x : ex) : -rx;
    p.z = f->nz == 1 ? 0 : z > -rz ? (z < ez ? z : ez) : -rz;
    float gx = p.x / f->dx, gz = p.z / f->dz;
    p.i = floor_int(gx), p.j = floor_int(gz);
    p.u = gx - (float)p.i, p.v = gz - (float)p.j;
    return p;
}

/// Cells are split along the diagonal from (1, 0) to (0, 1).
static float height_at(const HeightField *f, const Point *p) {
    float h10 = node(f, p->i + 1, p->j), h01 = node(f, p->i, p->j + 1);
    if (p->u + p->v <= 1) {
        float h00 = node(f, p->i, p->j);
        return h00 + p->u * (h10 - h00) + p->v * (h01 - h00);
    }
    float h11 = node(f, p->i + 1, p->j + 1);
    return h11 + (1 - p->u) * (h01 - h11) + (1 - p->v) * (h10 - h11);
}

static inline float beyond(float x, float low, float high) {
    return x < low ? low - x : x > high ? x - high : 0;
}

/// Width of a block: no bound is larger.
static float largest_bound(const HeightField *f) {
    return BLOCK * (f->nz > 1 ? least(f->dx, f->dz) : f->dx);
}

/// A bound that is not above the distance, from the boxes of the blocks around; at most a block.
static float block_bound(const HeightField *f, const Point *p) {
    float wx = BLOCK * f->dx, wz = BLOCK * f->dz;
    float cap = largest_bound(f), best2 = cap * cap;
    int a0 = p->i >> BLOCK_SHIFT, b0 = p->j >> BLOCK_SHIFT;
    int deep = f->nz > 1 ? 1 : 0;
    for (int b = b0 - deep; b <= b0 + deep; b++) {
        size_t row = (size_t)clamp_index(b, f->blocks_z) * (size_t)f->blocks_x;
        float z = deep ? beyond(p->z, (float)b * wz, (float)(b + 1) * wz) : 0;
        for (int a = a0 - 1; a <= a0 + 1; a++) {
            size_t at = row + (size_t)clamp_index(a, f->blocks_x);
            float x = beyond(p->x, (float)a * wx, (float)(a + 1) * wx);
            float y = beyond(p->y, f->block_low[at], f->block_high[at]);
            float d2 = x * x + y * y + z * z;
            best2 = d2 < best2 ? d2 : best2;
        }
    }
    return best2 < cap * cap ? sqrtf(best2) : cap;
}

/// Squared distance to one cell's two triangles, or `best2` when that is less. `away2` is the
/// squared distance to the cell's square seen from above.
static float cell_distance2(const HeightField *f, const Point *p, int i, int j, float away2,
                            float best2) {
    float h00 = node(f, i, j), h10 = node(f, i + 1, j);
    float h01 = node(f, i, j + 1), h11 = node(f, i + 1, j + 1);
    float y =
        beyond(p->y, least(least(h00, h10), least(h01, h11)), most(most(h00, h10), most(h01, h11)));
    if (away2 + y * y >= best2) return best2;
    float x0 = (float)i * f->dx, x1 = (float)(i + 1) * f->dx;
    float z0 = (float)j * f->dz, z1 = (float)(j + 1) * f->dz;
    double at[3] = {p->x, p->y, p->z};
    float a[3] = {x0, h00, z0}, b[3] = {x1, h10, z0}, c[3] = {x0, h01, z1}, d[3] = {x1, h11, z1};
    float near = (float)triangle_distance2(at, a, b, c);
    float far = (float)triangle_distance2(at, d, c, b);
    return least(best2, least(near, far));
}

/// Squared distance to the cells within reach, or `best2` when that is less.
static float cells_distance2(const HeightField *f, const Point *p, float best2) {
    best2 = cell_distance2(f, p, p->i, p->j, 0, best2);
    for (int j = p->j - f->reach_z; j <= p->j + f->reach_z; j++) {
        float z = f->nz > 1 ? beyond(p->z, (float)j * f->dz, (float)(j + 1) * f->dz) : 0;
        if (z * z >= best2) continue;
        for (int i = p->i - f->reach_x; i <= p->i + f->reach_x; i++) {
            float x = beyond(p->x, (float)i * f->dx, (float)(i + 1) * f->dx);
            float away2 = x * x + z * z;
            if (away2 < best2) best2 = cell_distance2(f, p, i, j, away2, best2);
        }
    }
    return best2;
}

static float distance_one(const HeightField *f, float x, float y, float z) {
    Point p = locate(f, x, y, z);
    float above = p.y - height_at(f, &p);
    float distance = block_bound(f, &p);
    if (distance < f->reach)
        distance = sqrtf(cells_distance2(f, &p, least(f->reach * f->reach, above * above)));
    return above < 0 ? -distance : distance;
}

static void range(int n, const float *x, float *low, float *high) {
    *low = *high = x[0];
    for (int i = 1; i < n; i++) *low = least(*low, x[i]), *high = most(*high, x[i]);
}

/// Blocks [first, last] under points from `low` to `high` along one axis, and one more around.
static void block_range(float low, float high, float width, int count, int *first, int *last) {
    *first = clamp_index((int)floor(fmin(fmax(low / width - 1, 0), count)), count);
    *last = clamp_index((int)floor(fmin(fmax(high / width + 1, 0), count)), count);
}

/// +1 or -1 when points that lie close together are all farther above or below the ground than
/// bounds go, as most of a large domain is; else 0.
static int far_side(const HeightField *f, int n, const float *x, const float *y, const float *z) {
    enum { MOST_BLOCKS = 64 };
    float low[3], high[3], ground_low = INFINITY, ground_high = -INFINITY;
    range(n, x, &low[0], &high[0]);
    range(n, y, &low[1], &high[1]);
    range(n, z, &low[2], &high[2]);
    int a0, a1, b0, b1;
    block_range(low[0], high[0], BLOCK * f->dx, f->blocks_x, &a0, &a1);
    block_range(low[2], high[2], BLOCK * f->dz, f->blocks_z, &b0, &b1);
    if ((int64_t)(a1 - a0 + 1) * (b1 - b0 + 1) > MOST_BLOCKS) return 0;
    for (int b = b0; b <= b1; b++)
        for (int a = a0; a <= a1; a++) {
            size_t at = (size_t)b * (size_t)f->blocks_x + (size_t)a;
            ground_low = least(ground_low, f->block_low[at]);
            ground_high = most(ground_high, f->block_high[at]);
        }
    float cap = largest_bound(f);
    return low[1] > ground_high + cap ? 1 : high[1] < ground_low - cap ? -1 : 0;
}

void height_field_distance(const HeightField *f, int n, const float *x, const float *y,
                           const float *z, float *out) {
    int side = far_side(f, n, x, y, z);
    float cap = largest_bound(f), far = side < 0 ? -cap : cap;
    for (int i = 0; i < n; i++) out[i] = side ? far : distance_one(f, x[i], y[i], z[i]);
}
