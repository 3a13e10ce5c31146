// The table of kinds, and gauges as the host sees them.
#include "gauge/gauge.h"
#include "base/error.h"
#include "step/stages.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct GaugeRow {
    GaugeRead *read;
    const char *columns[2][BRIM_GAUGE_COLUMNS]; ///< with units; in 2D, in 3D
    bool flows;                                 ///< has no meaning before there is a flow
} GaugeRow;

static const GaugeRow rows[] = {
    [BRIM_GAUGE_HEIGHT] = {gauge_height, {{"height (m)", "top (m)"}, {"height (m)", "top (m)"}}, 0},
    [BRIM_GAUGE_POINT] = {gauge_point,
                          {{"pressure (Pa)", "velocity x (m/s)", "velocity y (m/s)"},
                           {"pressure (Pa)", "velocity x (m/s)", "velocity y (m/s)",
                            "velocity z (m/s)"}},
                          1},
    [BRIM_GAUGE_FORCE] = {gauge_force,
                          {{"force x (N/m)", "force y (N/m)", "torque z (N)"},
                           {"force x (N)", "force y (N)", "force z (N)", "torque x (N m)",
                            "torque y (N m)", "torque z (N m)"}},
                          1},
    [BRIM_GAUGE_FLOW] = {gauge_flow,
                         {{"flow (m^2/s)", "wet (m)"}, {"flow (m^3/s)", "wet (m^2)"}},
                         1},
    [BRIM_GAUGE_FRONT] = {gauge_front, {{"position (m)"}, {"position (m)"}}, 0},
    [BRIM_GAUGE_MOTION] = {gauge_motion,
                           {{"position x (m)", "position y (m)", "velocity x (m/s)",
                             "velocity y (m/s)"},
                            {"position x (m)", "position y (m)", "position z (m)",
                             "velocity x (m/s)", "velocity y (m/s)", "velocity z (m/s)"}},
                           0},
};

static const char *column_of(const BrimSim *s, const BrimGaugeDef *gauge, int column) {
    if (column < 0 || column >= BRIM_GAUGE_COLUMNS) return NULL;
    return rows[gauge->kind].columns[s->dim - 2][column];
}

BrimResult gauges_copy(BrimSim *s, const BrimSimDef *def, BrimError *error) {
    s->gauges = calloc((size_t)def->gauge_count + 1, sizeof *s->gauges);
    bool ok = s->gauges != NULL;
    for (int i = 0; i < def->gauge_count && ok; i++) {
        s->gauges[i] = def->gauges[i];
        s->gauges[i].name = strdup(def->gauges[i].name);
        s->gauge_count++;
        ok = s->gauges[i].name != NULL;
        double off = gauge_off_body(s, &s->gauges[i]);
        if (ok && off > 0)
            return fail(error, BRIM_ERROR_INPUT,
                        "gauges[%d].motion.at: lies %.3g m outside bodies[%d]: choose a point on "
                        "or in it",
                        i, off, s->gauges[i].body);
    }
    return ok ? BRIM_OK : fail(error, BRIM_ERROR_MEMORY, "out of memory");
}

void gauges_free(BrimSim *s) {
    for (int i = 0; i < s->gauge_count; i++) free((char *)s->gauges[i].name);
    free(s->gauges);
}

void gauge_weight(const BrimSim *s, double weight[3]) {
    BrimVec3 g = gravity_at(s, s->velocity_time - 0.5 * s->projection.kick);
    weight[0] = (double)g.x * s->def.density, weight[1] = (double)g.y * s->def.density;
    weight[2] = s->dim == 3 ? (double)g.z * s->def.density : 0;
}

typedef struct Sharing {
    const BrimSim *s;
    const BrimGaugeDef *gauge;
    ShareOfTile *share;
    TileShare *shares;
} Sharing;

static void share_tile(void *context, int index, int thread) {
    const Sharing *sharing = context;
    sharing->share(sharing->s, index, sharing->gauge, &sharing->shares[index]);
}

TileShare *gauge_shares(const BrimSim *s, const BrimGaugeDef *gauge, ShareOfTile *share) {
    Sharing sharing = {s, gauge, share, calloc((size_t)s->grid.tile_count + 1, sizeof(TileShare))};
    if (sharing.shares) team_for(s->team, s->grid.tile_count, 64, share_tile, &sharing);
    return sharing.shares;
}

// --------------------------------------------------------------------------------------- host

int brim_sim_gauge_count(const BrimSim *sim) {
    return sim ? sim->gauge_count : 0;
}

static bool there_is(const BrimSim *sim, int gauge) {
    return sim && gauge >= 0 && gauge < sim->gauge_count;
}

const char *brim_sim_gauge_name(const BrimSim *sim, int gauge) {
    return there_is(sim, gauge) ? sim->gauges[gauge].name : NULL;
}

const char *brim_sim_gauge_column(const BrimSim *sim, int gauge, int column) {
    return there_is(sim, gauge) ? column_of(sim, &sim->gauges[gauge], column) : NULL;
}

BrimResult brim_sim_gauge_read(const BrimSim *sim, int gauge, double *values, BrimError *error) {
    NEED(sim, error);
    NEED(values, error);
    if (!there_is(sim, gauge))
        return fail(error, BRIM_ERROR_INPUT, "gauge %d: there are only %d gauges", gauge,
                    sim->gauge_count);
    const BrimGaugeDef *def = &sim->gauges[gauge];
    const GaugeRow *row = &rows[def->kind];
    double read[BRIM_GAUGE_COLUMNS] = {0};
    bool known = sim->primed || !row->flows;
    if (known && !row->read(sim, def, read))
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for gauge %s", def->name);
    for (int i = 0; column_of(sim, def, i); i++) values[i] = known ? read[i] : NAN;
    return BRIM_OK;
}
