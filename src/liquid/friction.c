// Stage 9: friction at walls and solids; friction.h has the law.
#include "liquid/friction.h"
#include "step/stages.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <string.h>

/// Layers are not taken to be thinner than this, cells: the level set cannot tell.
static const float LAYER_MIN = 0.1f;

/// A face and the flow there.
typedef struct Face {
    int axis;
    float u[3]; ///< m/s, components across are means of the faces around
    float phi;  ///< distance to the surface, cells; below 0 in the liquid
    float loss; ///< what the component loses, m/s
} Face;

typedef struct Friction {
    double half, roughness, nu; ///< C by coefficient, or by the log law
    double kick, dx;            ///< s, m
} Friction;

/// Takes the stress of a wall from a face. normal: of the wall; distance: from it, cells; speed: of
/// the wall, m/s.
static void rub(Face *f, const Friction *friction, int dim, const float normal[3], float distance,
                const float speed[3]) {
    float along[3], across = 0, size2 = 0, layer = fminf(distance - f->phi, distance + 0.5f);
    if (distance - f->phi <= 0) return; // the surface is below the wall: no liquid on it
    for (int a = 0; a < dim; a++) across += (f->u[a] - speed[a]) * normal[a];
    for (int a = 0; a < dim; a++) {
        along[a] = f->u[a] - speed[a] - across * normal[a];
        size2 += along[a] * along[a];
    }
    double u = sqrt((double)size2), h = (double)fmaxf(layer, LAYER_MIN) * friction->dx;
    double c = friction->roughness > 0 ? friction_log_law(u, h, friction->roughness, friction->nu)
                                       : friction->half;
    double rate = c * u * friction->kick / h;
    f->loss += along[f->axis] * (float)(rate / (1 + rate));
}

/// The walls of the domain that run along a face, half a cell away. cell: of the domain
static void rub_sides(const BrimSim *s, Face *f, const Friction *friction, const int cell[3]) {
    for (int n = 0; n < 2 * s->dim; n++) {
        int a = n >> 1;
        float normal[3] = {0}, still[3] = {0};
        if (a == f->axis || s->sides.open[n]) continue;
        if (cell[a] != (n & 1 ? s->grid.cells[a] - 1 : 0)) continue;
        normal[a] = n & 1 ? -1 : 1;
        rub(f, friction, s->dim, normal, 0.5f, still);
    }
}

/// The solid beside a face, if one is within a cell of its middle.
static void rub_solid(const BrimSim *s, int slot, Face *f, const Friction *friction,
                      const int at[3], int64_t me) {
    float sum = 0, normal[3] = {0}, speed[3] = {0}, length2 = 0;
    int count = 0, corners = s->dim == 3 ? 8 : 4;
    for (int k = 0; k < corners; k++) {
        int64_t node =
            grid_near(&s->grid, slot, at[0] + (k & 1), at[1] + (k >> 1 & 1), at[2] + (k >> 2));
        float d = node < 0 ? SOLID_REACH : solid_distance_at(s, node) * s->inv_dx;
        if (!(k >> f->axis & 1)) sum += d, count++;
        for (int a = 0; a < s->dim; a++) normal[a] += k >> a & 1 ? d : -d;
    }
    float distance = sum / (float)count;
    if (!(distance < 1)) return;
    for (int a = 0; a < s->dim; a++) length2 += normal[a] * normal[a];
    if (!(length2 > 0)) return;
    for (int a = 0; a < s->dim; a++) normal[a] /= sqrtf(length2);
    int64_t i = solid_cell(s, me);
    for (int a = 0; a < s->dim && i >= 0; a++)
        if (s->wall_speed[a]) speed[a] = s->wall_speed[a][i];
    rub(f, friction, s->dim, normal, fmaxf(distance, 0), speed);
}

/// Velocity and distance to the surface at the lower face of a cell.
static Face face_at(const BrimSim *s, int slot, int axis, int cell, int64_t me) {
    Face f = {.axis = axis};
    int64_t below = grid_step(&s->grid, slot, cell, axis, -1);
    f.phi = 0.5f * (s->phi[me] + (below < 0 ? s->phi[me] : s->phi[below]));
    f.u[axis] = s->velocity[axis][me];
    const int at[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
    for (int a = 0; a < s->dim; a++) {
        float sum = 0, count = 0;
        for (int k = 0; k < 4 && a != axis; k++) {
            int p[3] = {at[0], at[1], at[2]};
            p[axis] -= k & 1, p[a] += k >> 1;
            int64_t other = grid_near(&s->grid, slot, p[0], p[1], p[2]);
            if (other < 0 || !(s->known[a][other >> 3] >> (other & 7) & 1)) continue;
            sum += s->velocity[a][other], count++;
        }
        if (a != axis) f.u[a] = count > 0 ? sum / count : 0;
    }
    return f;
}

static bool at_sides(const BrimSim *s, int slot) {
    const TileCoord c = s->grid.coord[slot];
    const int tile[3] = {c.x, c.y, c.z};
    for (int a = 0; a < s->dim; a++)
        if (tile[a] == 0 || (tile[a] + 1) * TILE >= s->grid.cells[a]) return true;
    return false;
}

/// (velocity, known, phi) => rubbed
static void find_loss(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const Friction *friction = context;
    const int64_t first = (int64_t)slot * g->tile_cells;
    const TileCoord c = g->coord[slot];
    const bool solids = s->walls.solid_count && s->tile_solid[slot] != SOLID_FAR;
    const bool sides = at_sides(s, slot);
    for (int a = 0; a < s->dim; a++) {
        memset(s->rubbed[a] + first, 0, (size_t)g->tile_cells * sizeof(float));
        for (int i = 0; i < g->tile_cells && (solids || sides); i++) {
            int64_t me = first + i;
            if (!(s->known[a][me >> 3] >> (me & 7) & 1)) continue;
            const int at[3] = {i & 7, i >> 3 & 7, i >> 6};
            const int cell[3] = {c.x * TILE + at[0], c.y * TILE + at[1], c.z * TILE + at[2]};
            Face f = face_at(s, slot, a, i, me);
            if (sides) rub_sides(s, &f, friction, cell);
            if (solids) rub_solid(s, slot, &f, friction, at, me);
            s->rubbed[a][me] = f.loss;
        }
    }
}

/// (rubbed) => velocity
static void take_loss(BrimSim *s, int slot, int thread, void *context) {
    const size_t first = (size_t)slot * (size_t)s->grid.tile_cells;
    if (!at_sides(s, slot) && !(s->walls.solid_count && s->tile_solid[slot] != SOLID_FAR)) return;
    for (int a = 0; a < s->dim; a++)
        for (int i = 0; i < s->grid.tile_cells; i++) {
            float loss = s->rubbed[a][first + (size_t)i];
            if (loss != 0) s->velocity[a][first + (size_t)i] -= loss;
        }
}

BrimResult stage_friction(BrimSim *s, BrimError *error) {
    Friction friction = {.half = 0.5 * s->def.wall_friction,
                         .roughness = s->def.wall_roughness,
                         .nu = s->def.viscosity / (double)s->def.density,
                         .kick = s->projection.kick_now,
                         .dx = (double)s->dx};
    tiles_for(s, find_loss, &friction);
    tiles_for(s, take_loss, NULL);
    return BRIM_OK;
}
