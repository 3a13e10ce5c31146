// Fields as dense arrays, for output and hosts.
#include "base/error.h"
#include "sim.h"
#include <math.h>
#include <string.h>

int brim_field_components(BrimField field) {
    return field == BRIM_FIELD_VELOCITY ? 3 : 1;
}

/// A velocity component at a cell's centre; 0 where none is known.
static float centre_velocity(const BrimSim *s, int axis, const int at[3]) {
    if (axis >= s->dim || !s->primed) return 0;
    int up[3] = {at[0], at[1], at[2]};
    up[axis]++;
    int64_t low = grid_cell(&s->grid, at[0], at[1], at[2]);
    int64_t high = up[axis] < s->grid.cells[axis] ? grid_cell(&s->grid, up[0], up[1], up[2]) : -1;
    float a = low < 0 ? NAN : s->velocity[axis][low], b = high < 0 ? NAN : s->velocity[axis][high];
    if (up[axis] >= s->grid.cells[axis]) b = s->sides.open[2 * axis + 1] ? a : 0;
    if (!(a == a)) a = b;
    if (!(b == b)) b = a;
    return a == a ? 0.5f * (a + b) : 0;
}

static void cell_values(const BrimSim *s, BrimField field, const int at[3], float *out) {
    int64_t i = grid_cell(&s->grid, at[0], at[1], at[2]);
    if (field == BRIM_FIELD_PRESSURE) // q = p dt / (rho dx)
        *out = i < 0 || !s->primed
                   ? 0
                   : (float)(s->pressure[i] * (double)s->def.density * s->dx / s->dt);
    else if (field == BRIM_FIELD_LEVEL_SET)
        *out = (i < 0 ? LEVEL_SET_CUT : s->phi[i]) * s->dx;
    else
        for (int a = 0; a < 3; a++) out[a] = centre_velocity(s, a, at);
}

/// Trilinear density at cell centres relative to the full seeding; what falls beyond the domain
/// counts for the cell before it, as for a mirror image.
static void density(const BrimSim *s, float *out) {
    const int *n = s->grid.cells;
    memset(out, 0, (size_t)n[0] * (size_t)n[1] * (size_t)n[2] * sizeof *out);
    float part = 1.0f / (float)s->def.particles_per_cell;
    for (size_t i = 0; i < s->particles.count; i++) {
        int cell[3][2];
        float weight[3][2];
        for (int a = 0; a < 3; a++) {
            float x = a < s->dim ? s->particles.attr[ATTR_X + a][i] * s->inv_dx - 0.5f : 0;
            int low = (int)floorf(x);
            weight[a][1] = x - (float)low, weight[a][0] = 1 - weight[a][1];
            for (int k = 0; k < 2; k++) {
                int c = low + k;
                cell[a][k] = c < 0 ? 0 : c >= n[a] ? n[a] - 1 : c;
            }
        }
        for (int k = 0; k < 8; k++) {
            int x = k & 1, y = k >> 1 & 1, z = k >> 2;
            size_t at = ((size_t)cell[2][z] * (size_t)n[1] + (size_t)cell[1][y]) * (size_t)n[0] +
                        (size_t)cell[0][x];
            out[at] += part * weight[0][x] * weight[1][y] * weight[2][z];
        }
    }
}

/// Distance to the solids at the centres of a row of cells.
static void solid_row(const BrimSim *s, int y, int z, float *out) {
    enum { BATCH = 256 };
    int n = s->grid.cells[0];
    for (int first = 0; first < n; first += BATCH) {
        int count = n - first < BATCH ? n - first : BATCH;
        float px[BATCH], py[BATCH], pz[BATCH], d[BATCH];
        for (int i = 0; i < count; i++) {
            px[i] = ((float)(first + i) + 0.5f) * s->dx;
            py[i] = ((float)y + 0.5f) * s->dx;
            pz[i] = s->dim == 3 ? ((float)z + 0.5f) * s->dx : 0;
            out[first + i] = INFINITY;
        }
        for (int k = 0; k < s->solid_count; k++) {
            if (!solid_exists(s->solids[k], s->time)) continue;
            solid_distance(s->solids[k], count, px, py, pz, d);
            for (int i = 0; i < count; i++) out[first + i] = fminf(out[first + i], d[i]);
        }
    }
}

BrimResult brim_sim_field(const BrimSim *sim, BrimField field, float *out, size_t out_floats,
                          BrimError *error) {
    const int *n = sim->grid.cells;
    size_t parts = (size_t)brim_field_components(field);
    size_t need = (size_t)n[0] * (size_t)n[1] * (size_t)n[2] * parts;
    if ((unsigned)field > BRIM_FIELD_SOLID)
        return fail(error, BRIM_ERROR_INPUT, "brim_sim_field: there is no field %d", (int)field);
    if (out_floats < need)
        return fail(error, BRIM_ERROR_INPUT, "brim_sim_field: needs %zu floats, got %zu", need,
                    out_floats);
    if (field == BRIM_FIELD_DENSITY) {
        density(sim, out);
        return BRIM_OK;
    }
#pragma omp parallel for num_threads(sim->threads) schedule(static)
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++) {
            float *row = out + ((size_t)z * (size_t)n[1] + (size_t)y) * (size_t)n[0] * parts;
            if (field == BRIM_FIELD_SOLID) {
                solid_row(sim, y, z, row);
                continue;
            }
            for (int x = 0; x < n[0]; x++)
                cell_values(sim, field, (const int[3]){x, y, z}, row + (size_t)x * parts);
        }
    return BRIM_OK;
}
