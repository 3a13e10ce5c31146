// Fields as dense arrays, for output and hosts.
#include "band/band.h"
#include "base/error.h"
#include "base/memory.h"
#include "projection/weight.h"
#include "sim.h"
#include "walls/lookup.h"
#include "warp/space.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

int brim_field_components(BrimField field) {
    return field == BRIM_FIELD_VELOCITY ? 3 : 1;
}

/// The component along an axis of a velocity on faces, at a cell's centre; 0 where none is known.
static float centre_of(const BrimSim *s, const float *faces, int axis, const int at[3]) {
    int up[3] = {at[0], at[1], at[2]};
    up[axis]++;
    int64_t low = grid_cell(&s->grid, at[0], at[1], at[2]);
    if (up[axis] == s->grid.cells[axis] && s->sides.open[2 * axis + 1]) up[axis]--;
    int64_t high = grid_cell(&s->grid, up[0], up[1], up[2]);
    float a = low < 0 ? NAN : faces[low], b = high < 0 ? NAN : faces[high];
    if (!(a == a)) a = b;
    if (!(b == b)) b = a;
    return a == a ? 0.5f * (a + b) : 0;
}

/// A velocity component at a cell's centre; 0 where none is known.
static float centre_velocity(const BrimSim *s, int axis, const int at[3]) {
    return axis < s->dim && s->primed ? centre_of(s, s->velocity[axis], axis, at) : 0;
}

/// On a warped grid: pressure and level set are the mean of the corners'.
static void warped_values(const BrimSim *s, BrimField field, const int at[3], float *out) {
    int64_t me = grid_cell(&s->grid, at[0], at[1], at[2]);
    float sum = 0;
    if (field == BRIM_FIELD_VELOCITY) {
        for (int a = 0; a < 3; a++) {
            float v = a < s->dim && s->primed && me >= 0 ? s->velocity[a][me] : 0;
            out[a] = v == v ? v : 0;
        }
        return;
    }
    for (int c = 0; c < 1 << s->dim; c++) {
        int64_t i = grid_cell(&s->grid, at[0] + (c & 1), at[1] + (c >> 1 & 1), at[2] + (c >> 2));
        bool pressure = field == BRIM_FIELD_PRESSURE;
        sum += pressure ? (i < 0 || !s->primed ? 0 : shown_pressure(s, i)) : i < 0 ? 2 : s->phi[i];
    }
    sum /= (float)(1 << s->dim);
    *out =
        field == BRIM_FIELD_PRESSURE
            ? (s->primed ? (float)(sum * (double)s->def.density * s->dx / s->projection.kick) : 0)
            : sum * s->dx;
}

static void cell_values(const BrimSim *s, BrimField field, const int at[3], float *out) {
    int64_t i = grid_cell(&s->grid, at[0], at[1], at[2]);
    if (s->warp && field != BRIM_FIELD_DENSITY) {
        warped_values(s, field, at, out);
        return;
    }
    if (field == BRIM_FIELD_PRESSURE) // q = p kick / (rho dx)
        *out = i < 0 || !s->primed ? 0
                                   : (float)(shown_pressure(s, i) * (double)s->def.density * s->dx /
                                             s->projection.kick);
    else if (field == BRIM_FIELD_LEVEL_SET)
        *out = (i < 0 ? LEVEL_SET_CUT : s->phi[i]) * s->dx;
    else
        for (int a = 0; a < 3; a++) out[a] = centre_velocity(s, a, at);
}

/// A box of cells and the array that its values go to.
typedef struct Box {
    int low[3], high[3]; ///< high is one past the last
    float *out;
} Box;

static size_t box_index(const Box *b, int x, int y, int z) {
    size_t nx = (size_t)(b->high[0] - b->low[0]), ny = (size_t)(b->high[1] - b->low[1]);
    return ((size_t)(z - b->low[2]) * ny + (size_t)(y - b->low[1])) * nx + (size_t)(x - b->low[0]);
}

static bool box_has(const Box *b, const int at[3]) {
    for (int a = 0; a < 3; a++)
        if (at[a] < b->low[a] || at[a] >= b->high[a]) return false;
    return true;
}

bool brim_sim_bounds(const BrimSim *sim, int low[3], int high[3]) {
    bool any = false;
    for (int a = 0; low && high && a < 3; a++) low[a] = high[a] = 0;
    if (!sim || !low || !high) return false;
    const Grid *g = &sim->grid;
    for (int t = 0; t < g->tile_count; t++)
        for (int r = 0; r < g->tile_rows; r++) {
            size_t at = (size_t)t * (size_t)g->tile_rows + (size_t)r;
            unsigned row = sim->particles.occupied[at] | (has_band(sim) ? sim->hidden[at] : 0u);
            if (!row) continue;
            TileCoord c = g->coord[t];
            const int first[3] = {c.x * TILE + __builtin_ctz(row), c.y * TILE + (r & 7),
                                  c.z * TILE + (r >> 3)};
            const int last[3] = {c.x * TILE + 32 - __builtin_clz(row), first[1] + 1, first[2] + 1};
            for (int a = 0; a < 3; a++) {
                if (!any || first[a] < low[a]) low[a] = first[a];
                if (!any || last[a] > high[a]) high[a] = last[a];
            }
            any = true;
        }
    return any;
}

/// The hidden cells of a tile => out, how many there are; with NULL only that.
static size_t list_hidden(const BrimSim *s, int slot, BrimInterior *out) {
    float *const *velocity = s->primed ? s->velocity : s->carried;
    const TileMask hidden = mask_load(&s->grid, s->hidden, slot);
    const TileCoord c = s->grid.coord[slot];
    size_t n = 0;
    for (int z = 0; z < s->grid.tile_depth; z++)
        for (uint64_t bits = hidden.slice[z]; bits; bits &= bits - 1, n++) {
            if (!out) continue;
            const int k = __builtin_ctzll(bits);
            const int at[3] = {c.x * TILE + (k & 7), c.y * TILE + (k >> 3), c.z * TILE + z};
            for (int a = 0; a < 3; a++) {
                out[n].position[a] = a < s->dim ? space_middle(s->space, at[a]) : 0;
                out[n].velocity[a] = a < s->dim ? centre_of(s, velocity[a], a, at) : 0;
            }
        }
    return n;
}

/// The same on a warped grid, whose cells have any shape: the cells of the regular one, each by its
/// middle. A middle is in one cell of the mesh, so that it is listed once.
static size_t list_regular(const BrimSim *s, int slot, BrimInterior *out) {
    const TileMask hidden = mask_load(&s->grid, s->hidden, slot);
    const TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x, c.y, c.z};
    float low[3], high[3];
    int first[3] = {0}, end[3] = {1, 1, 1};
    size_t n = 0;
    if (!mask_any(&s->grid, s->hidden, slot)) return 0;
    warp_tile_box(s, slot, 0, low, high);
    for (int a = 0; a < s->dim; a++) {
        first[a] = (int)fmaxf(space_to_grid(s->space, low[a]) - 1, 0);
        end[a] = (int)fminf(space_to_grid(s->space, high[a]) + 1, (float)s->grid.cells[a]);
    }
    for (int z = first[2]; z < end[2]; z++)
        for (int y = first[1]; y < end[1]; y++)
            for (int x = first[0]; x < end[0]; x++) {
                const int at[3] = {x, y, z};
                const double middle[3] = {x + 0.5, y + 0.5, z + 0.5};
                double xi[3], u[3] = {0};
                int cell = 0;
                bool here = true;
                warp_from_place(s, middle, xi);
                for (int a = 0; a < s->dim; a++) {
                    const int k = (int)fmin(xi[a], s->grid.cells[a] - 1) - tile[a] * TILE;
                    here = here && k >= 0 && k < TILE;
                    cell += here ? k << 3 * a : 0;
                }
                if (!here || !mask_has(&hidden, cell)) continue;
                if (out) {
                    warp_sample(s, s->primed ? s->velocity : s->carried, xi, u);
                    for (int a = 0; a < 3; a++) {
                        out[n].position[a] = a < s->dim ? space_middle(s->space, at[a]) : 0;
                        out[n].velocity[a] = a < s->dim ? (float)u[a] : 0;
                    }
                }
                n++;
            }
    return n;
}

/// Tile by tile => out, how many there are; with NULL only that.
static size_t list_interior(const BrimSim *s, BrimInterior *out) {
    size_t n = 0;
    for (int t = 0; t < s->grid.tile_count; t++)
        n += (s->warp ? list_regular : list_hidden)(s, t, out ? out + n : NULL);
    return n;
}

BrimResult brim_sim_interior(const BrimSim *sim, BrimInterior **cells, size_t *count,
                             BrimError *error) {
    NEED(cells, error);
    NEED(count, error);
    *cells = NULL, *count = 0;
    NEED(sim, error);
    size_t n = has_band(sim) ? list_interior(sim, NULL) : 0;
    *cells = memory_new((n + 1) * sizeof **cells);
    if (!*cells)
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the %zu cells below the band", n);
    *count = n ? list_interior(sim, *cells) : 0;
    return BRIM_OK;
}

BrimResult brim_sim_bend(const BrimSim *sim, float (**bend)[3], size_t *count, BrimError *error) {
    NEED(bend, error);
    NEED(count, error);
    *bend = NULL, *count = 0;
    NEED(sim, error);
    const WarpMap *m = sim->def.warp > 0 ? &sim->warp->mesh.map : NULL;
    const size_t n = m ? map_node_count(m) : 0;
    *bend = memory_new((n + 1) * sizeof **bend);
    if (!*bend)
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the %zu nodes of a mesh", n);
    *count = n;
    for (size_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) (*bend)[i][a] = m->d[a][i] * sim->dx;
    return BRIM_OK;
}

/// Adds what particles would give to the cells around one below a band, were it full of them.
static void add_below(const BrimSim *s, const Box *box, int slot, int cell) {
    static const float weight[3] = {0.125f, 0.75f, 0.125f};
    TileCoord c = s->grid.coord[slot];
    const int *n = s->grid.cells;
    const int me[3] = {c.x * TILE + (cell & 7), c.y * TILE + (cell >> 3 & 7),
                       s->dim == 3 ? c.z * TILE + (cell >> 6) : 0};
    float part = band_part(s, slot, cell);
    for (int k = s->dim == 3 ? 0 : 9; k < (s->dim == 3 ? 27 : 18); k++) {
        const int step[3] = {k % 3, k / 3 % 3, k / 9};
        float share = part;
        int at[3];
        for (int a = 0; a < 3; a++) {
            at[a] = me[a] + step[a] - 1;
            at[a] = at[a] < 0 ? 0 : at[a] >= n[a] ? n[a] - 1 : at[a];
            if (a < s->dim) share *= weight[step[a]];
        }
        if (box_has(box, at)) box->out[box_index(box, at[0], at[1], at[2])] += share;
    }
}

/// Volume in a cell => part of the cell, on a warped grid.
static void per_volume(const BrimSim *s, const Box *box) {
    for (int z = box->low[2]; z < box->high[2]; z++)
        for (int y = box->low[1]; y < box->high[1]; y++)
            for (int x = box->low[0]; x < box->high[0]; x++) {
                const double at[3] = {x + 0.5, y + 0.5, z + 0.5};
                double J[3][3];
                map_jacobian(&s->warp->mesh.map, at, J);
                box->out[box_index(box, x, y, z)] /= (float)matrix_determinant(J);
            }
}

/// Trilinear density at cell centres relative to the full seeding; what falls beyond the domain
/// counts for the cell before it, as for a mirror image.
static void density(const BrimSim *s, const Box *box, size_t floats) {
    const int *n = s->grid.cells;
    memset(box->out, 0, floats * sizeof *box->out);
    const float *volume = s->particles.attr[ATTR_VOLUME];
    for (size_t i = 0; i < s->particles.count; i++) {
        float part = volume ? volume[i] : 1.0f / (float)s->def.particles_per_cell;
        int cell[3][2];
        float weight[3][2];
        for (int a = 0; a < 3; a++) {
            float x =
                a < s->dim ? space_to_grid(s->space, s->particles.attr[ATTR_X + a][i]) - 0.5f : 0;
            int low = (int)floorf(x);
            weight[a][1] = x - (float)low, weight[a][0] = 1 - weight[a][1];
            for (int k = 0; k < 2; k++) {
                int c = low + k;
                cell[a][k] = c < 0 ? 0 : c >= n[a] ? n[a] - 1 : c;
            }
        }
        for (int k = 0; k < 8; k++) {
            const int at[3] = {cell[0][k & 1], cell[1][k >> 1 & 1], cell[2][k >> 2]};
            if (box_has(box, at))
                box->out[box_index(box, at[0], at[1], at[2])] +=
                    part * weight[0][k & 1] * weight[1][k >> 1 & 1] * weight[2][k >> 2];
        }
    }
    if (s->warp) per_volume(s, box);
    for (int t = 0; t < s->grid.tile_count && has_band(s); t++) {
        TileMask hidden = mask_load(&s->grid, s->hidden, t);
        for (int z = 0; z < s->grid.tile_depth; z++)
            for (uint64_t bits = hidden.slice[z]; bits; bits &= bits - 1)
                add_below(s, box, t, z * 64 + __builtin_ctzll(bits));
    }
}

/// Distance to the solids at the centres of a row of cells of the box.
static void solid_row(const BrimSim *s, const Box *box, int y, int z, float *out) {
    enum { BATCH = 256 };
    int n = box->high[0] - box->low[0];
    for (int first = 0; first < n; first += BATCH) {
        int count = n - first < BATCH ? n - first : BATCH;
        float px[BATCH], py[BATCH], pz[BATCH], d[BATCH];
        for (int i = 0; i < count; i++) {
            float at[3] = {(float)(box->low[0] + first + i) + 0.5f, (float)y + 0.5f,
                           (float)z + 0.5f};
            if (s->warp) warp_to_place(s, at);
            px[i] = at[0] * s->dx;
            py[i] = at[1] * s->dx;
            pz[i] = s->dim == 3 ? at[2] * s->dx : 0;
            out[first + i] = INFINITY;
        }
        for (int k = 0; k < s->walls.solid_count; k++) {
            if (!solid_exists(s->walls.solids[k], s->time)) continue;
            solid_distance(s->walls.solids[k], count, px, py, pz, d);
            for (int i = 0; i < count; i++) out[first + i] = fminf(out[first + i], d[i]);
        }
    }
}

/// A field to be read.
typedef struct Reading {
    const BrimSim *s;
    const Box *box;
    BrimField field;
} Reading;

/// Reads a row of the box, counted along y, then z.
static void read_row(void *context, int index, int thread) {
    const Reading *r = context;
    const Box *box = r->box;
    int rows = box->high[1] - box->low[1];
    int y = box->low[1] + index % rows, z = box->low[2] + index / rows;
    size_t parts = (size_t)brim_field_components(r->field);
    float *row = box->out + box_index(box, box->low[0], y, z) * parts;
    if (r->field == BRIM_FIELD_SOLID) {
        solid_row(r->s, box, y, z, row);
        return;
    }
    for (int x = box->low[0]; x < box->high[0]; x++)
        cell_values(r->s, r->field, (const int[3]){x, y, z},
                    row + (size_t)(x - box->low[0]) * parts);
}

BrimResult brim_sim_field_box(const BrimSim *sim, BrimField field, const int low[3],
                              const int high[3], float *out, size_t out_floats, BrimError *error) {
    NEED(sim, error);
    NEED(low, error);
    NEED(high, error);
    NEED(out, error);
    Box box = {.out = out};
    size_t parts = (size_t)brim_field_components(field), need = parts;
    if ((unsigned)field > BRIM_FIELD_SOLID)
        return fail(error, BRIM_ERROR_INPUT, "brim_sim_field: there is no field %d", (int)field);
    for (int a = 0; a < 3; a++) {
        box.low[a] = low[a], box.high[a] = high[a];
        if (low[a] < 0 || high[a] <= low[a] || high[a] > sim->grid.cells[a])
            return fail(error, BRIM_ERROR_INPUT,
                        "brim_sim_field: cells %d to %d along axis %d, allowed 0 to %d", low[a],
                        high[a], a, sim->grid.cells[a]);
        need *= (size_t)(high[a] - low[a]);
    }
    if (out_floats < need)
        return fail(error, BRIM_ERROR_INPUT, "brim_sim_field: needs %zu floats, got %zu", need,
                    out_floats);
    if (field == BRIM_FIELD_DENSITY) {
        density(sim, &box, need);
        return BRIM_OK;
    }
    Reading reading = {sim, &box, field};
    team_for(sim->team, (high[1] - low[1]) * (high[2] - low[2]), 16, read_row, &reading);
    return BRIM_OK;
}

BrimResult brim_sim_field(const BrimSim *sim, BrimField field, float *out, size_t out_floats,
                          BrimError *error) {
    const int zero[3] = {0, 0, 0};
    NEED(sim, error);
    return brim_sim_field_box(sim, field, zero, sim->grid.cells, out, out_floats, error);
}

BrimResult brim_sim_nodes(const BrimSim *sim, const int low[3], const int high[3], float *out,
                          size_t out_floats, BrimError *error) {
    NEED(sim, error);
    NEED(low, error);
    NEED(high, error);
    NEED(out, error);
    size_t need = 3, k = 0;
    for (int a = 0; a < 3; a++) {
        const int most = a < sim->dim ? sim->grid.cells[a] : 0;
        if (low[a] < 0 || high[a] < low[a] || high[a] > most)
            return fail(error, BRIM_ERROR_INPUT,
                        "brim_sim_nodes: nodes %d to %d along axis %d, allowed 0 to %d", low[a],
                        high[a], a, most);
        need *= (size_t)(high[a] - low[a] + 1);
    }
    if (out_floats < need)
        return fail(error, BRIM_ERROR_INPUT, "brim_sim_nodes: needs %zu floats, got %zu", need,
                    out_floats);
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int x = low[0]; x <= high[0]; x++) {
                float at[3] = {(float)x, (float)y, (float)z};
                if (sim->warp) warp_to_place(sim, at);
                for (int a = 0; a < 3; a++) out[k++] = at[a] * sim->dx;
            }
    return BRIM_OK;
}

/// Where there is no tile: from the shapes themselves.
static float distance_of_shapes(const BrimSim *s, const float at[3]) {
    float nearest = SOLID_REACH * s->dx;
    for (int k = 0; k < s->walls.solid_count; k++) {
        float d;
        if (!solid_exists(s->walls.solids[k], s->walls.time)) continue;
        solid_distance(s->walls.solids[k], 1, &at[0], &at[1], &at[2], &d);
        nearest = fminf(nearest, d);
    }
    return nearest;
}

/// Points whose distance from the solids is asked for, part by part.
typedef struct Points {
    const BrimSim *s;
    const float *x, *y, *z;
    float *out;
    size_t count;
} Points;

enum { POINTS_PART = 1024 };

static void measure_points(void *context, int index, int thread) {
    const Points *p = context;
    const BrimSim *s = p->s;
    size_t first = (size_t)index * POINTS_PART, end = first + POINTS_PART;
    for (size_t i = first; i < end && i < p->count; i++) {
        const float at[3] = {p->x[i], p->y[i], s->dim == 3 ? p->z[i] : 0};
        int64_t cell = grid_cell(&s->grid, space_cell(s->space, at[0]), space_cell(s->space, at[1]),
                                 space_cell(s->space, at[2]));
        bool sampled = cell >= 0 && s->walls.solid_count && !s->warp; // there nodes are elsewhere
        p->out[i] = sampled ? solid_value(s, at) : distance_of_shapes(s, at);
    }
}

void brim_sim_solid_distance(const BrimSim *sim, size_t count, const float *x, const float *y,
                             const float *z, float *out) {
    if (!sim || !x || !y || !out || (sim->dim == 3 && !z)) return;
    Points points = {sim, x, y, z, out, count};
    team_for(sim->team, team_parts(count, POINTS_PART), 1, measure_points, &points);
}
