// The columns of stats.csv: one table behind the file, brim_stats_column and brim_stats_value.
#include "io/stats.h"
#include <stddef.h>

#define COUNT(NAME) \
    { #NAME, offsetof(BrimStats, NAME), true }
#define REAL(NAME) \
    { #NAME, offsetof(BrimStats, NAME), false }
#define STAGE(NAME, INDEX) [INDEX] = {"ms_" NAME, offsetof(BrimStats, ms[INDEX]), false}

static const StatsColumn columns[] = {
    COUNT(step),
    REAL(time),
    REAL(dt),
    COUNT(particles),
    COUNT(seeded),
    COUNT(emitted),
    COUNT(drained),
    COUNT(left),
    COUNT(resampled),
    COUNT(interior),
    COUNT(spray),
    COUNT(atomised),
    COUNT(rejoined),
    REAL(volume_ratio),
    REAL(volume_cells),
    REAL(volume),
    REAL(kinetic_energy),
    REAL(potential_energy),
    REAL(max_speed),
    REAL(max_divergence),
    COUNT(iterations),
    REAL(residual),
    REAL(density_error_mean),
    REAL(density_error_max),
    REAL(density_error_mean_after),
    REAL(density_error_max_after),
    REAL(displaced_mean),
    REAL(displaced_max),
    COUNT(particles_in_solids),
    COUNT(density_iterations),
    REAL(cell_least),
    REAL(cell_most),
    COUNT(tiles),
    COUNT(memory_bytes),
    REAL(ms_total),
};

/// Times of the stages come last.
static const StatsColumn stages[] = {
    STAGE("solids", BRIM_STAGE_SOLIDS),
    STAGE("bodies", BRIM_STAGE_BODIES),
    STAGE("emit", BRIM_STAGE_EMIT),
    STAGE("advect", BRIM_STAGE_ADVECT),
    STAGE("band", BRIM_STAGE_BAND),
    STAGE("sort", BRIM_STAGE_SORT),
    STAGE("density", BRIM_STAGE_DENSITY),
    STAGE("to_grid", BRIM_STAGE_TO_GRID),
    STAGE("surface", BRIM_STAGE_SURFACE),
    STAGE("forces", BRIM_STAGE_FORCES),
    STAGE("project", BRIM_STAGE_PROJECT),
    STAGE("extrapolate", BRIM_STAGE_EXTRAPOLATE),
    STAGE("to_particles", BRIM_STAGE_TO_PARTICLES),
    STAGE("measure", BRIM_STAGE_MEASURE),
};
enum { COLUMNS = sizeof columns / sizeof *columns, STAGES = sizeof stages / sizeof *stages };
_Static_assert((int)STAGES == (int)BRIM_STAGE_COUNT, "a column for each stage");

const StatsColumn *stats_column(int index) {
    if (index >= 0 && index < COLUMNS) return &columns[index];
    return index >= COLUMNS && index < COLUMNS + STAGES ? &stages[index - COLUMNS] : NULL;
}

const char *brim_stats_column(int index) {
    const StatsColumn *column = stats_column(index);
    return column ? column->name : NULL;
}

double brim_stats_value(const BrimStats *stats, int index) {
    const StatsColumn *column = stats_column(index);
    if (!column || !stats) return 0;
    const char *value = (const char *)stats + column->offset;
    return column->count ? (double)*(const int64_t *)value : *(const double *)value;
}

const char *brim_stage_name(BrimStage stage) {
    return (int)stage >= 0 && (int)stage < STAGES ? stages[stage].name + sizeof "ms_" - 1 : NULL;
}
