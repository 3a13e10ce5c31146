// One time step on a warped grid: the same list as step/step.c, with its own stages.
#include "step/stages.h"
#include "warp/stage.h"

static bool moves(const BrimSim *s) {
    return s->weighs;
}

const Stage warped_stages[] = {
    // what, in which column of the statistics, when; what it reads; what it writes
    {AT_SOLIDS, "solids", BRIM_STAGE_SOLIDS, stage_solids, NULL, "", ""}, // there are none yet
    {AT_ADVECT, "advect", BRIM_STAGE_ADVECT, warp_advect, NULL, "velocity phi", "tile_reach"},
    {AT_EXCHANGE, "resample", BRIM_STAGE_BAND, warp_resample, NULL, "", ""},
    {AT_SORT, "sort", BRIM_STAGE_SORT, stage_sort, NULL, "", ""},
    {AT_WEIGH, "weigh", BRIM_STAGE_DENSITY, warp_weigh, NULL, "",
     "density block_at scatter_at weighed"},
    {AT_SPREAD, "spread", BRIM_STAGE_DENSITY, stage_spread, moves, "density weighed",
     "weighed_tile errors potential coefficient diagonal rhs"},
    {AT_SHIFT, "shift", BRIM_STAGE_DENSITY, stage_shift, moves,
     "scatter_at weighed weighed_tile potential",
     "shift shift_known shift_most shift_sizes shift_sums"},
    {AT_SORT, "sort again", BRIM_STAGE_DENSITY, stage_sort, moves, "", ""},
    {AT_TO_GRID, "to_grid", BRIM_STAGE_TO_GRID, warp_to_grid, NULL, "",
     "velocity old known block_at own"},
    {AT_SURFACE, "surface", BRIM_STAGE_SURFACE, warp_surface, NULL, "",
     "phi block_at phibar sliver"},
    {AT_FORCES, "forces", BRIM_STAGE_FORCES, warp_forces, NULL, "known", "velocity"},
    {AT_PRESSURE, "pressure", BRIM_STAGE_PROJECT, warp_pressure, pressure_acts, "phi",
     "velocity old known pressure rhs"},
    {AT_SUBTRACT, "subtract", BRIM_STAGE_PROJECT, warp_subtract, pressure_acts, "phi pressure",
     "velocity liquid diagonal"},
    {AT_EXTRAPOLATE, "extrapolate", BRIM_STAGE_EXTRAPOLATE, warp_extrapolate, NULL, "liquid own",
     "velocity old known tile_speed"},
    {AT_TO_PARTICLES, "to_particles", BRIM_STAGE_TO_PARTICLES, warp_to_particles, NULL,
     "velocity old", ""},
    {AT_WEIGH_AFTER, "weigh after", BRIM_STAGE_MEASURE, warp_weigh_after, NULL, "",
     "settled pressed block_at weighed errors"},
    {AT_MEASURE, "measure", BRIM_STAGE_MEASURE, warp_measure, NULL, "phi", "tile_sums"},
};
const int warped_stage_count = sizeof warped_stages / sizeof *warped_stages;

BrimResult warp_measure(BrimSim *s, BrimError *error) {
    if (!warp_place_reserve(s)) return step_out_of_memory(s, "measure", error);
    return stage_measure(s, error);
}
