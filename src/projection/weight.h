// Pressure as it is shown: to gauges and in fields.
#pragma once
#include "step/state.h"

/// After the solve for the pressure, before its system is gone. (pressure, known) =>
/// weight_pressure, flow_share; and nothing where no one reads it or steps do not change.
void weight_split(BrimSim *s, const PoissonParams *params);

/// The field `pressure` of a cell, as it is where steps do not change.
static inline float shown_pressure(const BrimSim *s, int64_t cell) {
    int64_t i = wet_cell(s, cell);
    float q = i < 0 ? 0 : s->pressure[i];
    if (s->projection.flow_share == 0 || !s->weight_pressure || i < 0) return q;
    return q + (float)s->projection.flow_share * (q - s->weight_pressure[i]);
}
