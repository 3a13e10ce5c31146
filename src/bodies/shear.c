#include "bodies/shear.h"
#include "base/memory.h"
#include "bodies/bodies.h"
#include "elastic/dense.h"
#include "step/stages.h"
#include <math.h>
#include <string.h>

/// The friction on one face of component a at x, N, and what holds it, N s/m.
static void add_face(Body *b, const float x[3], int a, double force, double grip) {
    float foot[3], row[ELASTIC_DOFS_MOST];
    const int r = b->elastic->r, dim = b->dim, dofs = b->elastic->dofs;
    body_wall(b, x, foot, row);
    for (int i = 0; i < r; i++) {
        double *to = b->grip + (size_t)(i * dim + a) * (size_t)dofs + a;
        b->shear[i * dim + a] += row[i] * force;
        for (int j = 0; j < r; j++) to[j * dim] += grip * row[i] * row[j];
    }
}

/// All faces of a tile that bodies hold.
static void gather_tile(BrimSim *s, int slot, double unit) {
    Bodies *b = s->bodies;
    const TileCoord c = s->grid.coord[slot];
    const int64_t near = solid_cell(s, (int64_t)slot * s->grid.tile_cells);
    for (int cell = 0; near >= 0 && cell < s->grid.tile_cells; cell++)
        for (int a = 0; a < s->dim; a++) {
            const float grip = s->viscous_grip[a][near + cell];
            if (grip == 0) continue;
            float x[3] = {space_middle(s->space, c.x * TILE + (cell & 7)),
                          space_middle(s->space, c.y * TILE + (cell >> 3 & 7)),
                          s->dim == 3 ? space_middle(s->space, c.z * TILE + (cell >> 6)) : 0};
            float distance = INFINITY;
            int16_t owner = -1;
            x[a] -= 0.5f * s->dx;
            solids_sample(s, slot, 1, &x[0], &x[1], &x[2], &distance, &owner);
            const int body = owner - b->first_solid;
            if (body < 0 || body >= b->count) continue;
            add_face(&b->body[body], x, a, unit * s->viscous_drag[a][near + cell], unit * grip);
        }
}

bool shear_gather(BrimSim *s, double kick) {
    Bodies *b = s->bodies;
    if (!(s->def.viscosity > 0)) return true;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        const size_t dofs = (size_t)body->elastic->dofs;
        if (!body->grip) body->grip = memory_new(dofs * dofs * sizeof *body->grip);
        if (!body->grip) return false;
        memset(body->grip, 0, dofs * dofs * sizeof *body->grip);
        memset(body->shear, 0, dofs * sizeof *body->shear);
    }
    for (int t = 0; t < s->grid.tile_count; t++)
        if (s->wet[t]) gather_tile(s, t, b->mass / kick);
    for (int k = 0; k < b->count; k++) { // F + C v_0, from which C v is taken
        Body *body = &b->body[k];
        double held[ELASTIC_DOFS_MOST];
        dense_apply(body->grip, body->elastic->dofs, body->elastic->dofs, body->elastic->v, held);
        for (int i = 0; i < body->elastic->dofs; i++) body->shear[i] += held[i];
    }
    return true;
}

void shear_pull(BrimSim *s, double kick) {
    Bodies *b = s->bodies;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        if (!body->grip) continue;
        const int n = body->elastic->dofs;
        double held[ELASTIC_DOFS_MOST];
        dense_apply(body->grip, n, n, body->elastic->v, held);
        for (int i = 0; i < n; i++) body->contact[i] += body->shear[i] - held[i];
        for (int i = 0; i < n * n; i++) body->extra[i] += kick * body->grip[i];
        body->touching = true;
    }
}

void shear_settle(BrimSim *s) {
    Bodies *b = s->bodies;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        if (!body->grip) continue;
        double held[ELASTIC_DOFS_MOST];
        dense_apply(body->grip, body->elastic->dofs, body->elastic->dofs, body->elastic->v, held);
        for (int i = 0; i < body->elastic->dofs; i++) {
            body->shear[i] -= held[i];
            body->contact[i] -= body->shear[i];
        }
    }
}
