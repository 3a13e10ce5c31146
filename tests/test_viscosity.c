// Friction within the liquid against exact answers, stage by stage and in whole runs.
#include "cases.h"
#include "step/stages.h"
#include "test.h"
#include <stdlib.h>

/// A simulation with a level set and velocities on faces, before its viscosity acts.
static BrimSim *before_viscosity(Case *c, double kick, BrimError *error) {
    BrimSim *s;
    if (case_create(c, &s, error) != BRIM_OK) return NULL;
    s->dt = s->dt_next = s->kick_now = kick;
    for (int t = 0; t < s->grid.tile_count; t++) s->tile_reach[t] = 3;
    if (stages_run(s, AT_SOLIDS, AT_SOLIDS, error) != BRIM_OK ||
        stages_run(s, AT_SWAP, AT_FORCES, error) != BRIM_OK)
        brim_sim_destroy(&s);
    return s;
}

/// The middle of a cell's lower face, in cells.
static void face_at(const BrimSim *s, int slot, int cell, int axis, double at[3]) {
    TileCoord c = s->grid.coord[slot];
    at[0] = c.x * TILE + (cell & 7) + 0.5, at[1] = c.y * TILE + (cell >> 3 & 7) + 0.5;
    at[2] = c.z * TILE + (cell >> 6) + 0.5;
    at[axis] -= 0.5;
}

typedef double Flow(int axis, const double at[3]);

/// Sets the velocity on known faces, or returns its largest deviation there.
static double for_faces(BrimSim *s, Flow *flow, bool set) {
    double worst = 0, at[3];
    for (int slot = 0; slot < s->grid.tile_count; slot++)
        for (int i = 0; i < s->grid.tile_cells; i++)
            for (int a = 0; a < s->dim; a++) {
                size_t face = (size_t)slot * (size_t)s->grid.tile_cells + (size_t)i;
                if (!(s->known[a][face >> 3] >> (face & 7) & 1)) continue;
                face_at(s, slot, i, a, at);
                if (set)
                    s->velocity[a][face] = (float)flow(a, at);
                else
                    worst = fmax(worst, fabs(s->velocity[a][face] - flow(a, at)));
            }
    return worst;
}

/// Turns about the middle of a box of 32 cells and drifts; at most about 1.
static double rigid(int axis, const double at[3]) {
    double x = (at[0] - 16) / 16, y = (at[1] - 16) / 16;
    return axis == 0 ? -y + 0.3 : axis == 1 ? x - 0.2 : 0.1;
}

static double drift(int axis, const double at[3]) {
    (void)at;
    return axis == 0 ? 0.7 : axis == 1 ? -0.4 : 0.3;
}

TEST(viscosity_leaves_rigid_motion) {
    for (int dim = 2; dim <= 3; dim++)
        for (double strength = 1; strength < 2e4; strength *= 100)
            for (int turn = 0; turn < 2; turn++) {
                Case c = case_box(dim, 32, 32, 32, 32);
                BrimError error;
                c.def.liquid_count = 1;
                c.liquid[0] = (BrimLiquidDef){.shape = ball((BrimVec3){16, 16, 16}, 8)};
                if (dim == 2) c.liquid[0].shape.position.z = 0;
                c.def.viscosity = 1000 * strength; // cells of 1 m, a step of 1 s
                c.def.threads = 2;
                BrimSim *s = before_viscosity(&c, 1, &error);
                CHECK(s != NULL);
                if (!s) return;
                Flow *flow = turn ? rigid : drift;
                for_faces(s, flow, true);
                stage_begin(s, AT_VISCOSITY);
                CHECK_OK(stage_viscosity(s, &error), error);
                printf("%d %g %d: %g in %d\n", dim, strength, turn, for_faces(s, flow, false), s->viscous_iterations);
                CHECK_BELOW(for_faces(s, flow, false), 1e-5);
                brim_sim_destroy(&s);
            }
}

// ------------------------------------------------------------------------------------ Poiseuille

/// What is driven along a long channel of 16 cells between walls, in the middle of it.
typedef struct Channel {
    double error; ///< largest, relative to the fastest flow
    double slope; ///< of the velocity along the channel, relative
} Channel;

static double rest(int axis, const double at[3]) {
    (void)axis, (void)at;
    return 0;
}

static double driven(int axis, const double at[3]) {
    (void)at;
    return axis == 0 ? 1 : 0;
}

TEST(viscosity_makes_a_parabola_between_walls) {
    // One step so long that the flow is steady: nu u'' = -g, u = g y (h - y) / (2 nu).
    for (int solid = 0; solid < 2; solid++) {
        Case c = case_box(2, 160, 160, solid ? 24 : 16, 1);
        BrimError error;
        double low = solid ? 4 : 0, strength = 1e5;
        c.def.liquid_count = 1;
        c.liquid[0] = (BrimLiquidDef){.shape = box_between((BrimVec3){0, (float)low, 0},
                                                           (BrimVec3){160, (float)low + 16, 1})};
        if (solid) { // walls of two solids on cell borders
            c.def.solid_count = 2;
            for (int k = 0; k < 2; k++) {
                c.solids[k] = brim_default_solid_def();
                c.solids[k].shape = box_between((BrimVec3){-9, k ? 20 : -9, -9},
                                                (BrimVec3){169, k ? 33 : 4, 9});
            }
        }
        c.def.viscosity = 1000 * strength;
        BrimSim *s = before_viscosity(&c, 1, &error);
        CHECK(s != NULL);
        if (!s) return;
        for_faces(s, driven, true);
        stage_begin(s, AT_VISCOSITY);
        CHECK_OK(stage_viscosity(s, &error), error);
        double worst = 0, most = 16 * 16 / (8 * strength);
        for (int y = 0; y < 16; y++) {
            int64_t face = grid_cell(&s->grid, 80, (int)low + y, 0);
            double exact = (y + 0.5) * (16 - y - 0.5) / (2 * strength);
            worst = fmax(worst, fabs(s->velocity[0][face] - exact) / most);
        }
        printf("solid %.4g in %d\n", worst, s->viscous_iterations);
        CHECK_BELOW(worst, solid ? 0.01 : 0.005);
        brim_sim_destroy(&s);
    }
    (void)rest;
}
