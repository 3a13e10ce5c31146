// One time step on a warped grid: the same list as step/step.c, with its own stages.
#include "step/stages.h"
#include "warp/stage.h"
#include "warp/stage_band.h"

static bool moves(const BrimSim *s) {
    return s->volume.weighs;
}

static bool tension_acts(const BrimSim *s) {
    return s->def.surface_tension > 0 && pressure_acts(s);
}

const Stage warped_stages[] = {
    // what, in which column of the statistics, when; what it reads; what it writes
    {AT_SOLIDS, "solids", BRIM_STAGE_SOLIDS, warp_solids, NULL, "velocity phi",
     "tile_solid solid_at shut cut rock solid_from solid_phi open solid_volume solid_part "
     "solid_least wall_speed fine_at fine_from fine_slot solid_fine signs"},
    {AT_ADVECT, "advect", BRIM_STAGE_ADVECT, warp_advect, NULL,
     "velocity tile_speed tile_solid solid_at", "tile_reach"},
    {AT_TRACE, "trace", BRIM_STAGE_BAND, warp_trace, has_band,
     "velocity tile_speed tile_solid solid_at rock phi interior hidden",
     "carried traced path next_interior next_hidden rim edge cell_depth cell_deeper fixed lit "
     "changing deepest shallowest"},
    {AT_EMIT, "emit", BRIM_STAGE_EMIT, stage_emit, NULL, "tile_speed", ""},
    {AT_EXCHANGE, "exchange", BRIM_STAGE_BAND, warp_exchange, NULL,
     "velocity tile_speed tile_solid solid_at rock solid_phi solid_volume path next_interior "
     "next_hidden rim "
     "edge",
     "interior hidden risen"},
    {AT_SORT, "sort", BRIM_STAGE_SORT, stage_sort, NULL, "", ""},
    {AT_WEIGH, "weigh", BRIM_STAGE_DENSITY, warp_weigh, NULL,
     "tile_solid solid_at shut rock foreign solid_phi solid_volume solid_part fine_at solid_fine "
     "interior hidden",
     "density compression block_at scatter_at full below rigid weighed errors push_at push "
     "push_depth pushed"},
    {AT_SPREAD, "spread", BRIM_STAGE_DENSITY, stage_spread, moves,
     "tile_solid solid_at shut cut open solid_volume solid_part below rigid density weighed "
     "push_at push push_depth",
     "weighed_at errors potential coefficient diagonal rhs"},
    {AT_SHIFT, "shift", BRIM_STAGE_DENSITY, stage_shift, moves,
     "scatter_at tile_solid solid_at shut cut solid_phi open fine_at solid_fine hidden rigid "
     "weighed weighed_at push_at push push_depth pushed potential",
     "shift shift_known shift_most shift_sizes shift_sums"},
    {AT_SORT, "sort again", BRIM_STAGE_DENSITY, warp_sort_again, moves, "", ""},
    {AT_SWAP, "swap", BRIM_STAGE_BAND, stage_swap, has_band, "", ""},
    {AT_TO_GRID, "to_grid", BRIM_STAGE_TO_GRID, warp_to_grid, NULL, "tile_solid solid_at solid_phi",
     "velocity old known block_at own"},
    {AT_SURFACE, "surface", BRIM_STAGE_SURFACE, warp_surface, NULL,
     "solid_at rock solid_phi solid_volume interior", "phi full block_at phibar sliver"},
    {AT_COMBINE, "combine", BRIM_STAGE_BAND, warp_combine, has_band,
     "interior hidden traced tile_solid solid_at solid_volume", "velocity old known own"},
    {AT_FORCES, "forces", BRIM_STAGE_FORCES, stage_forces, NULL, "known phi", "velocity"},
    {AT_TENSION, "tension", BRIM_STAGE_FORCES, warp_tension, tension_acts, "phibar",
     "tension_phi tension_next curvature curvature_next curved"},
    {AT_PRESSURE, "pressure", BRIM_STAGE_PROJECT, warp_pressure, pressure_acts,
     "phi curvature compression tile_solid solid_at solid_phi",
     "velocity old known wet_at wet_from pressure nodal_rhs"},
    {AT_SUBTRACT, "subtract", BRIM_STAGE_PROJECT, warp_subtract, pressure_acts,
     "phi curvature wet_at pressure solid_at", "velocity liquid nodal_left"},
    {AT_EXTRAPOLATE, "extrapolate", BRIM_STAGE_EXTRAPOLATE, warp_extrapolate, NULL,
     "liquid own tile_solid solid_at solid_phi solid_volume", "velocity old known tile_speed"},
    {AT_TO_PARTICLES, "to_particles", BRIM_STAGE_TO_PARTICLES, warp_to_particles, NULL,
     "velocity old solid_at", "tile_sums"},
    {AT_WEIGH_AFTER, "weigh after", BRIM_STAGE_MEASURE, warp_weigh_after, NULL,
     "tile_solid solid_at shut rock foreign solid_volume solid_part interior hidden",
     "settled pressed block_at full below rigid weighed errors"},
    {AT_MEASURE, "measure", BRIM_STAGE_MEASURE, warp_measure, NULL,
     "velocity tile_solid solid_at rock solid_volume phi hidden", "tile_sums"},
};
const int warped_stage_count = sizeof warped_stages / sizeof *warped_stages;

BrimResult warp_measure(BrimSim *s, BrimError *error) {
    if (!warp_place_reserve(s)) return step_out_of_memory(s, "measure", error);
    return stage_measure(s, error);
}
