#include "measure.h"
#include <math.h>
#include <stdlib.h>

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

double measure_level(const BrimSim *sim) {
    const BrimSimDef *def = brim_sim_def(sim);
    float *phi = field(sim, BRIM_FIELD_LEVEL_SET);
    if (!phi) return NAN;
    size_t nx = (size_t)def->cells[0], ny = (size_t)def->cells[1], nz = (size_t)def->cells[2];
    double sum = 0;
    for (size_t z = 0; z < nz; z++) {
        for (size_t x = 0; x < nx; x++) {
            const float *column = phi + z * ny * nx + x;
            size_t y = ny;
            while (y > 0 && column[(y - 1) * nx] >= 0) y--;
            if (y == 0) continue;
            float under = column[(y - 1) * nx], over = y < ny ? column[y * nx] : -under;
            sum += (double)y - 0.5 + under / (under - over);
        }
    }
    free(phi);
    return sum / (double)(nx * nz) * cell_size(def);
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
