#include "measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t cell_count(const BrimSimDef *def) {
    return (size_t)def->cells[0] * (size_t)def->cells[1] * (size_t)def->cells[2];
}

static float cell_size(const BrimSimDef *def) {
    return def->size.x / (float)def->cells[0];
}

/// A field of one component in new memory.
static float *field(const BrimSim *sim, BrimField which) {
    size_t count = cell_count(brim_sim_def(sim));
    float *values = malloc(count * sizeof *values);
    if (values && brim_sim_field(sim, which, values, count, NULL) == BRIM_OK) return values;
    free(values);
    return NULL;
}

/// Sum over cells of how far a plane at a cell's distance fills it.
static double filled_cells(const BrimSim *sim, BrimField which) {
    const BrimSimDef *def = brim_sim_def(sim);
    float *phi = field(sim, which), h = cell_size(def);
    if (!phi) return NAN;
    double sum = 0;
    for (size_t i = 0; i < cell_count(def); i++) sum += fminf(fmaxf(0.5f - phi[i] / h, 0), 1);
    free(phi);
    return sum;
}

double measure_liquid(const BrimSim *sim) {
    return filled_cells(sim, BRIM_FIELD_LEVEL_SET);
}

double measure_solids(const BrimSim *sim) {
    const BrimSimDef *def = brim_sim_def(sim);
    return filled_cells(sim, BRIM_FIELD_SOLID) * pow(cell_size(def), def->dim);
}

/// Mean over all columns, or over those beside the walls.
static double mean_level(const BrimSim *sim, bool rim) {
    const BrimSimDef *def = brim_sim_def(sim);
    float *phi = field(sim, BRIM_FIELD_LEVEL_SET);
    if (!phi) return NAN;
    size_t nx = (size_t)def->cells[0], ny = (size_t)def->cells[1], nz = (size_t)def->cells[2];
    double sum = 0, count = 0;
    for (size_t z = 0; z < nz; z++) {
        for (size_t x = 0; x < nx; x++) {
            if (rim && x > 0 && x < nx - 1 && (nz == 1 || (z > 0 && z < nz - 1))) continue;
            const float *column = phi + z * ny * nx + x;
            size_t y = ny;
            count++;
            while (y > 0 && column[(y - 1) * nx] >= 0) y--;
            if (y == 0) continue;
            float under = column[(y - 1) * nx], over = y < ny ? column[y * nx] : -under;
            sum += (double)y - 0.5 + under / (under - over);
        }
    }
    free(phi);
    return sum / count * cell_size(def);
}

double measure_level(const BrimSim *sim) {
    return mean_level(sim, false);
}

double measure_rim_level(const BrimSim *sim) {
    return mean_level(sim, true);
}

/// What a triangle of a closed surface adds to the volume below a level: its part below it, as seen
/// from above, times the depth of that.
static double below_level(const float *a, const float *b, const float *c, double height) {
    double p[4][3], q[4][3];
    const float *from[3] = {a, b, c};
    int n = 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) p[k][i] = from[k][i];
    for (int k = 0; k < 3; k++) {
        const double *u = p[k], *v = p[(k + 1) % 3];
        if (u[1] < height) memcpy(q[n++], u, sizeof *q);
        if ((u[1] < height) == (v[1] < height)) continue;
        double t = (height - u[1]) / (v[1] - u[1]);
        for (int i = 0; i < 3; i++) q[n][i] = u[i] + t * (v[i] - u[i]);
        n++;
    }
    double sum = 0;
    for (int k = 1; k + 1 < n; k++) {
        double area = 0.5 * ((q[k][2] - q[0][2]) * (q[k + 1][0] - q[0][0]) -
                             (q[k][0] - q[0][0]) * (q[k + 1][2] - q[0][2]));
        sum += area * ((q[0][1] + q[k][1] + q[k + 1][1]) / 3 - height);
    }
    return sum;
}

double measure_body(const BrimSim *sim, int body, double height, double *below) {
    BrimBodySurface s;
    double whole = 0, under = 0, top = -INFINITY;
    if (brim_sim_body_surface(sim, body, &s, NULL) != BRIM_OK) return NAN;
    for (size_t i = 0; i < s.vertex_count; i++) top = fmax(top, (double)s.position[i][1]);
    for (size_t t = 0; t < s.triangle_count; t++) {
        const uint32_t *v = s.triangle[t];
        const float *a = s.position[v[0]], *b = s.position[v[1]], *c = s.position[v[2]];
        whole += below_level(a, b, c, top), under += below_level(a, b, c, height);
    }
    *below = under;
    return whole;
}

double measure_inside(const BrimSim *sim) {
    static const float DEPTH = 0.1f; // cells
    BrimParticles p = brim_sim_particles(sim);
    float *distance = malloc((p.count + 1) * sizeof *distance), h = cell_size(brim_sim_def(sim));
    if (!distance) return NAN;
    brim_sim_solid_distance(sim, p.count, p.x, p.y, p.z, distance);
    size_t inside = 0;
    for (size_t i = 0; i < p.count; i++) inside += distance[i] < -DEPTH * h;
    free(distance);
    return (double)inside;
}

/// Particles of each cell in new memory.
static uint32_t *count_particles(const BrimSim *sim) {
    const BrimSimDef *def = brim_sim_def(sim);
    BrimParticles p = brim_sim_particles(sim);
    uint32_t *counts = calloc(cell_count(def), sizeof *counts);
    float h = cell_size(def);
    for (size_t i = 0; counts && i < p.count; i++) {
        const float at[3] = {p.x[i], p.y[i], p.z[i]};
        size_t index = 0;
        for (int k = 2; k >= 0; k--) {
            int c = (int)floorf(at[k] / h), last = def->cells[k] - 1;
            index = index * (size_t)def->cells[k] + (size_t)(c < 0 ? 0 : c > last ? last : c);
        }
        counts[index]++;
    }
    return counts;
}

Counts measure_counts(const BrimSim *sim, double below) {
    const BrimSimDef *def = brim_sim_def(sim);
    Counts c = {.bins = 64};
    uint32_t *counts = count_particles(sim);
    if (!counts) return (Counts){NAN, NAN, {0}, {0}, 0};
    int nx = def->cells[0], ny = def->cells[1];
    double sum = 0, sum2 = 0, cells = 0;
    for (size_t i = 0; i < cell_count(def); i++) {
        double y = ((double)(i / (size_t)nx % (size_t)ny) + 1) * cell_size(def);
        if (y > below) continue;
        cells++, sum += counts[i], sum2 += (double)counts[i] * counts[i];
        c.share[counts[i] < 63 ? counts[i] : 63]++;
    }
    free(counts);
    c.mean = sum / cells;
    c.spread = sqrt(fmax(sum2 / cells - c.mean * c.mean, 0));
    for (int i = 0; i < 64; i++) c.edge[i] = i - 0.5, c.share[i] *= 100 / cells;
    return c;
}

double measure_density_error(const BrimSim *sim) {
    const BrimSimDef *def = brim_sim_def(sim);
    float *phi = field(sim, BRIM_FIELD_LEVEL_SET), *density = field(sim, BRIM_FIELD_DENSITY);
    double sum = 0, cells = 0;
    // the level set is cut at two cells: what reads as deep as that is inside
    for (size_t i = 0; phi && density && i < cell_count(def); i++) {
        if (phi[i] > -1.9f * cell_size(def)) continue;
        sum += fabs((double)density[i] - 1), cells++;
    }
    free(phi), free(density);
    return cells > 0 ? sum / cells : NAN;
}
