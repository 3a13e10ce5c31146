// Looking at bodies.
#include "base/error.h"
#include "bodies/bodies.h"
#include <string.h>

int brim_sim_body_count(const BrimSim *sim) {
    return sim && sim->bodies ? sim->bodies->count : 0;
}

static BrimResult find(const BrimSim *sim, int index, const Body **body, BrimError *error) {
    int count = brim_sim_body_count(sim);
    if (index < 0 || index >= count)
        return fail(error, BRIM_ERROR_INPUT, "body %d: there are only %d bodies", index, count);
    *body = &sim->bodies->body[index];
    return BRIM_OK;
}

static BrimVec3 vector(const double v[3]) {
    return (BrimVec3){(float)v[0], (float)v[1], (float)v[2]};
}

/// The whole of a reduced force f [r][dim]: its part that moves all points alike.
static BrimVec3 whole_force(const Body *b, const double *f) {
    double sum[3] = {0};
    const Elastic *e = b->elastic;
    if (!e->pinned) { // the first function is 1 / sqrt(mass)
        for (int a = 0; a < e->dim; a++) sum[a] = f[a] * e->whole[0];
        return vector(sum);
    }
    for (int i = 0; i < e->r; i++)
        for (int a = 0; a < e->dim; a++) sum[a] += f[i * e->dim + a] * e->whole[i];
    return vector(sum);
}

BrimResult brim_sim_body_state(const BrimSim *sim, int index, BrimBodyState *state,
                               BrimError *error) {
    const Body *b = NULL;
    NEED(sim, error);
    NEED(state, error);
    BrimResult r = find(sim, index, &b, error);
    if (r != BRIM_OK) return r;
    const Elastic *e = b->elastic;
    double centre[3], velocity[3], momentum[3], spin[3];
    double water[ELASTIC_DOFS_MOST];
    elastic_centre(e, centre, velocity);
    elastic_spin(e, momentum, spin);
    for (int i = 0; i < e->dofs; i++) water[i] = b->pressure[i] + b->head[i] + b->shear[i];
    *state = (BrimBodyState){.center = vector(centre),
                             .velocity = vector(velocity),
                             .spin = vector(spin),
                             .mass = e->mass,
                             .kinetic = elastic_kinetic(e),
                             .elastic = elastic_middle_energy(e, sim->dt_next),
                             .pressure = whole_force(b, water),
                             .contact = whole_force(b, b->contact),
                             .hand = whole_force(b, b->hand)};
    memcpy(&state->low, b->low, sizeof state->low);
    memcpy(&state->high, b->high, sizeof state->high);
    if (e->dim == 2) state->low.z = state->high.z = 0;
    return BRIM_OK;
}

BrimResult brim_sim_body_surface(const BrimSim *sim, int index, BrimBodySurface *surface,
                                 BrimError *error) {
    const Body *b = NULL;
    NEED(sim, error);
    NEED(surface, error);
    BrimResult r = find(sim, index, &b, error);
    if (r != BRIM_OK) return r;
    *surface = (BrimBodySurface){
        b->surface.vertex_count, b->surface.triangle_count, (const float(*)[3])b->surface.vertices,
        (const float(*)[3])b->velocity, (const uint32_t(*)[3])b->surface.triangles};
    return BRIM_OK;
}

BrimResult brim_sim_body_distance(const BrimSim *sim, int index, size_t count, const float *x,
                                  const float *y, const float *z, float *distance,
                                  BrimError *error) {
    enum { PIECE = 4096 };
    const Body *b = NULL;
    NEED(sim, error);
    BrimResult r = find(sim, index, &b, error);
    if (r != BRIM_OK || count == 0) return r;
    NEED(x, error);
    NEED(y, error);
    NEED(z, error);
    NEED(distance, error);
    for (size_t from = 0; from < count; from += PIECE) {
        size_t n = count - from < PIECE ? count - from : PIECE;
        body_distance(b, (int)n, x + from, y + from, z + from, distance + from);
    }
    return BRIM_OK;
}
