// Solids for whoever draws them: how they stand, and their surfaces as triangles.
#include "base/error.h"
#include "base/memory.h"
#include "look/contour.h"
#include "solid/solid.h"
#include "step/state.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct BrimSolids {
    int dim, count;
    BrimVec3 size; ///< of the domain, m
    float cell;
    Solid **solid;   ///< [count]
    BrimVec3 *pivot; ///< [count]
};

static void state_of(const Solid *solid, double time, BrimSolidState *state) {
    SolidState s = solid_state(solid);
    *state = (BrimSolidState){
        .present = solid_exists(solid, time),
        .deforms = solid_deforms(solid),
        .position = {s.placement.position[0], s.placement.position[1], s.placement.position[2]}};
    memcpy(state->rotation, s.placement.rotation, sizeof state->rotation);
}

int brim_sim_solid_count(const BrimSim *sim) {
    return sim ? sim->walls.solid_count : 0;
}

BrimResult brim_sim_solid_state(const BrimSim *sim, int index, BrimSolidState *state,
                                BrimError *error) {
    NEED(sim, error);
    NEED(state, error);
    if (index < 0 || index >= sim->walls.solid_count)
        return fail(error, BRIM_ERROR_INPUT, "solid %d: there are only %d solids", index,
                    sim->walls.solid_count);
    state_of(sim->walls.solids[index], sim->time, state);
    return BRIM_OK;
}

static BrimResult add(BrimSolids *s, const BrimSolidDef *def, BrimError *error) {
    int i = s->count++;
    s->pivot[i] = def->shape.position;
    if (s->dim == 2) s->pivot[i].z = 0;
    return solid_new(def, s->dim, s->cell, &s->solid[i], error);
}

BrimResult brim_solids_create(const BrimSimDef *def, BrimSolids **solids, BrimError *error) {
    NEED(solids, error);
    *solids = NULL;
    NEED(def, error);
    BrimSolids *s = memory_zero(sizeof *s);
    if (!s) return fail(error, BRIM_ERROR_MEMORY, "out of memory for solids");
    size_t room = (size_t)def->solid_count + 1;
    s->dim = def->dim, s->size = def->size;
    s->cell = def->size.x / (float)def->cells[0];
    s->solid = memory_zero(room * sizeof(Solid *));
    s->pivot = memory_zero(room * sizeof(BrimVec3));
    BrimResult r = BRIM_OK;
    if (!s->solid || !s->pivot) r = fail(error, BRIM_ERROR_MEMORY, "out of memory for solids");
    for (int i = 0; i < def->solid_count && r == BRIM_OK; i++) r = add(s, &def->solids[i], error);
    *solids = s;
    if (r != BRIM_OK) brim_solids_destroy(solids);
    return r;
}

void brim_solids_destroy(BrimSolids **solids) {
    if (!solids || !*solids) return;
    BrimSolids *s = *solids;
    for (int i = 0; i < s->count; i++) solid_free(&s->solid[i]);
    free(s->solid);
    free(s->pivot);
    free(s);
    *solids = NULL;
}

static BrimResult check_index(const BrimSolids *s, int index, BrimError *error) {
    if (index >= 0 && index < s->count) return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT, "solid %d: there are only %d solids", index, s->count);
}

BrimResult brim_solids_state(BrimSolids *solids, int index, double time, BrimSolidState *state,
                             BrimError *error) {
    NEED(solids, error);
    NEED(state, error);
    BrimResult r = check_index(solids, index, error);
    if (r != BRIM_OK) return r;
    if (!solid_place(solids->solid[index], time, 0))
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for solids");
    state_of(solids->solid[index], time, state);
    return BRIM_OK;
}

// -------------------------------------------------------------------------------------- mesh

/// A shape cut by a box.
typedef struct CutShape {
    const Shape *shape;
    float low[3], high[3];
} CutShape;

static void cut_distance(const void *context, int n, const float *x, const float *y, const float *z,
                         float *distance) {
    const CutShape *c = context;
    shape_distance(c->shape, n, x, y, z, distance);
    for (int i = 0; i < n; i++) {
        float out = fmaxf(c->low[0] - x[i], x[i] - c->high[0]);
        out = fmaxf(out, fmaxf(c->low[1] - y[i], y[i] - c->high[1]));
        out = fmaxf(out, fmaxf(c->low[2] - z[i], z[i] - c->high[2]));
        distance[i] = fmaxf(distance[i], out);
    }
}

/// The box that holds what is to be drawn of a shape: all of it where it ends, else as much as may
/// be seen in the domain. False when there is nothing.
static bool cut_box(const BrimSolids *s, int index, CutShape *cut) {
    const float size[3] = {s->size.x, s->size.y, s->dim == 3 ? s->size.z : 0};
    const float pivot[3] = {s->pivot[index].x, s->pivot[index].y, s->pivot[index].z};
    if (!shape_bounds(solid_shape(s->solid[index]), cut->low, cut->high)) return false;
    for (int a = 0; a < 3; a++) {
        float margin = s->cell;
        if (!(cut->low[a] > -1e6f)) cut->low[a] = -margin - pivot[a];
        if (!(cut->high[a] < 1e6f)) cut->high[a] = size[a] + margin - pivot[a];
        if (s->dim == 2 && a == 2) cut->low[a] = -0.5f * s->cell, cut->high[a] = 0.5f * s->cell;
        if (!(cut->low[a] < cut->high[a])) return false;
    }
    return true;
}

BrimResult brim_solids_mesh(const BrimSolids *solids, int index, BrimMesh *mesh, BrimError *error) {
    enum { NODES = 1500000 };
    NEED(mesh, error);
    *mesh = (BrimMesh){0};
    NEED(solids, error);
    CutShape cut = {0};
    BrimResult r = check_index(solids, index, error);
    if (r != BRIM_OK) return r;
    cut.shape = solid_shape(solids->solid[index]);
    if (!cut_box(solids, index, &cut)) return BRIM_OK;
    double volume = 1;
    for (int a = 0; a < 3; a++) volume *= (double)(cut.high[a] - cut.low[a]);
    ContourField field = {.distance = cut_distance, .context = &cut};
    field.spacing = fmaxf(0.5f * solids->cell, (float)cbrt(volume / NODES));
    // nodes off the box's sides by a part of their spacing, so that its sides fall between two
    float before = 1.37f * field.spacing;
    field.low = vec(cut.low[0] - before, cut.low[1] - before, cut.low[2] - before);
    for (int a = 0; a < 3; a++)
        field.nodes[a] = (int)ceilf((cut.high[a] - cut.low[a]) / field.spacing + 0.5f) + 3;
    Contour contour;
    r = contour_new(&field, &contour, error);
    if (r != BRIM_OK) return r;
    *mesh = (BrimMesh){.vertex_count = contour.vertex_count,
                       .triangle_count = contour.triangle_count,
                       .position = (float(*)[3])contour.position,
                       .triangle = (uint32_t(*)[3])contour.triangle};
    return BRIM_OK;
}
