// Gauges: numbers read off the fields between steps. They change nothing.
//
// A kind is a file with a function that reads one gauge, and a row in the table of gauge.c.
#pragma once
#include "step/state.h"

/// (fields at rest) => value [columns of the kind]; false when out of memory.
typedef bool GaugeRead(const BrimSim *s, const BrimGaugeDef *gauge, double *value);

GaugeRead gauge_height, gauge_point, gauge_force, gauge_flow, gauge_front, gauge_motion;

/// How far the point of a gauge of motion lies outside its body, m; 0 for other gauges.
double gauge_off_body(const BrimSim *s, const BrimGaugeDef *gauge);

/// The def's gauges => s->gauges, with names of their own.
BrimResult gauges_copy(BrimSim *s, const BrimSimDef *def, BrimError *error);
void gauges_free(BrimSim *s);

/// What a gauge takes from a tile: sums, or a largest value.
typedef struct TileShare {
    double value[BRIM_GAUGE_COLUMNS];
} TileShare;
typedef void ShareOfTile(const BrimSim *s, int slot, const BrimGaugeDef *gauge, TileShare *share);

/// The share of each tile => new array [tiles], NULL when out of memory. In parallel; who sums it
/// up in the order of slots gets the same bits for any number of threads.
TileShare *gauge_shares(const BrimSim *s, const BrimGaugeDef *gauge, ShareOfTile *share);

// Fields at a point, m. Linear between cell centres or faces; cells inside solids and beyond the
// domain are left out, so that within half a cell of a wall the value is the wall's.

/// Distance to the liquid's surface in cells, negative inside, as `phi`.
double probe_level(const BrimSim *s, const double at[3]);
/// Pressure, Pa: 0 in air. Along the normal of a wall it grows as gravity says, which is what a
/// resting wall and slip along it leave of the equation of motion.
double probe_pressure(const BrimSim *s, const double at[3]);
/// m/s; on walls the normal component is the wall's.
void probe_velocity(const BrimSim *s, const double at[3], double velocity[3]);
/// Distance to the nearest solid, m, cut at SOLID_REACH cells; `which` may be NULL.
double probe_solid(const BrimSim *s, const double at[3], int *which);

/// Pa for a unit of the field `pressure`.
static inline double pressure_unit(const BrimSim *s) {
    return s->projection.kick > 0 ? (double)s->def.density * s->dx / s->projection.kick : 0;
}
/// The gravity that acted last, as a gradient of pressure, Pa/m.
void gauge_weight(const BrimSim *s, double weight[3]);

/// Whether a bit of a mask is set.
static inline bool cell_in(const uint8_t *mask, int64_t cell) {
    return mask[cell >> 3] >> (cell & 7) & 1;
}
