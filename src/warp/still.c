#include "warp/still.h"
#include "base/error.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool make_tiles(Grid *g) {
    size_t box = grid_box(g);
    uint8_t *want = memory_new(box);
    int32_t *from = memory_new(box * sizeof *from);
    bool made = want && from;
    if (made) {
        memset(want, 1, box);
        made = grid_rebuild(g, want, from, NULL);
    }
    free(want), free(from);
    return made;
}

static bool make_fields(StillBox *s, int threads) {
    s->count = (size_t)s->grid.tile_count * (size_t)s->grid.tile_cells;
    s->phi = memory_new(s->count * sizeof(float));
    s->b = memory_zero(s->count * sizeof(float));
    s->single = memory_zero(s->count * sizeof(float));
    s->q = memory_zero(s->count * sizeof(double));
    s->updated = memory_zero((size_t)s->grid.tile_count * (size_t)s->grid.tile_rows);
    bool sound = s->phi && s->b && s->single && s->q && s->updated;
    for (int a = 0; a < 3; a++)
        sound = (s->u[a] = memory_zero(s->count * sizeof(float))) != NULL && sound;
    s->team = team_new(team_size(threads));
    s->solver = s->team ? nodal_solver_new(BRIM_ISA_AUTO, s->team) : NULL;
    return sound && s->solver;
}

BrimResult still_init(StillBox *s, int dim, const int cells[3], double strength, int coarsest,
                      int threads, BrimError *error) {
    *s = (StillBox){0};
    BrimResult result = grid_init(&s->grid, dim, cells, error);
    if (result == BRIM_OK) result = warp_init(&s->warp, dim, cells, strength, coarsest, error);
    if (result != BRIM_OK) {
        grid_free(&s->grid);
        return result;
    }
    if (!make_tiles(&s->grid) || !make_fields(s, threads)) {
        still_free(s);
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for %d x %d x %d cells", cells[0],
                    cells[1], cells[2]);
    }
    for (size_t i = 0; i < s->count; i++) s->phi[i] = -1;
    s->problem = (NodalProblem){.grid = &s->grid,
                                .map = &s->warp.map,
                                .rule = WARP_RULE_GAUSS,
                                .surface = {.order = 2, .limit = INFINITY},
                                .phi = s->phi};
    return BRIM_OK;
}

void still_free(StillBox *s) {
    nodal_solver_free(&s->solver);
    team_free(&s->team);
    nodal_free(&s->op);
    warp_free(&s->warp);
    grid_free(&s->grid);
    free(s->phi), free(s->b), free(s->single), free(s->q), free(s->updated);
    for (int a = 0; a < 3; a++) free(s->u[a]);
    *s = (StillBox){0};
}

// ------------------------------------------------------------------------------------------- mesh

typedef struct Bend {
    PointFunction *distance;
    const void *context;
    float *at; ///< [centres]
    WarpSizing sizing;
} Bend;

static BrimResult size_by_distance(void *context, const Warp *w, double *f, BrimError *error) {
    Bend *b = context;
    for (size_t i = 0; i < warp_centres(w); i++) {
        double xi[3], x[3];
        warp_centre(w, i, xi);
        map_to_space(&w->map, xi, x);
        b->at[i] = (float)b->distance(b->context, x);
    }
    return warp_size((Warp *)w, &b->sizing, b->at, NULL, NULL, NULL, f, error);
}

BrimResult still_bend(StillBox *s, PointFunction *distance, const void *context, BrimError *error) {
    Bend b = {distance, context, memory_new(warp_centres(&s->warp) * sizeof(float)),
              warp_default_sizing(s->grid.cells, 0, 1)};
    if (!b.at) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a warped grid");
    BrimResult result = warp_settle(&s->warp, size_by_distance, &b, error);
    free(b.at);
    return result;
}

int64_t still_at(const StillBox *s, int x, int y, int z) {
    return grid_cell(&s->grid, x, y, z);
}

void still_place(const StillBox *s, int x, int y, int z, double half, double out[3]) {
    double xi[3] = {x + half, y + half, s->grid.dim == 3 ? z + half : 0};
    map_to_space(&s->warp.map, xi, out);
}

void still_level(StillBox *s, PointFunction *phi, const void *context) {
    const int *n = s->grid.cells;
    for (int z = 0; z <= (s->grid.dim == 3 ? n[2] : 0); z++)
        for (int y = 0; y <= n[1]; y++)
            for (int x = 0; x <= n[0]; x++) {
                double at[3];
                still_place(s, x, y, z, 0, at);
                s->phi[still_at(s, x, y, z)] = (float)phi(context, at);
            }
}

bool still_drop_slivers(StillBox *s) {
    size_t rows = (size_t)s->grid.tile_count * (size_t)s->grid.tile_rows;
    uint8_t *sliver = memory_zero(rows);
    if (!sliver) return false;
    for (int slot = 0; slot < s->grid.tile_count; slot++)
        nodal_find_slivers(&s->grid, s->phi, sliver, slot);
    for (size_t i = 0; i < s->count; i++)
        if (sliver[i >> TILE_SHIFT] >> (i & 7) & 1) s->phi[i] = 0;
    free(sliver);
    return true;
}

// -------------------------------------------------------------------------------------- projection

static void assemble_tile(void *box, int slot, int thread) {
    StillBox *s = box;
    nodal_assemble(&s->problem, &s->op, slot);
}
static void join_tile(void *box, int slot, int thread) {
    StillBox *s = box;
    nodal_join(&s->problem, &s->op, slot);
}
static void flow_tile(void *box, int slot, int thread) {
    StillBox *s = box;
    nodal_give_flow(&s->op, s->u, s->b, slot);
}
static void rhs_tile(void *box, int slot, int thread) {
    StillBox *s = box;
    nodal_rhs(&s->problem, &s->op, s->u, s->b, slot);
}
static void update_tile(void *box, int slot, int thread) {
    StillBox *s = box;
    nodal_update(&s->problem, &s->op, s->single, s->u, s->updated, slot);
}

bool still_assemble(StillBox *s) {
    if (!nodal_reserve(&s->op, &s->grid)) return false;
    nodal_begin(&s->problem, &s->op);
    team_for(s->team, s->grid.tile_count, 1, assemble_tile, s);
    team_for(s->team, s->grid.tile_count, 1, join_tile, s);
    return nodal_prepare(s->solver, &s->op);
}

void still_rhs(StillBox *s) {
    team_for(s->team, s->grid.tile_count, 1, flow_tile, s);
    team_for(s->team, s->grid.tile_count, 1, rhs_tile, s);
}

bool still_solve(StillBox *s, double reduction) {
    NodalParams params = {.reduction = reduction, .max_iterations = 2000};
    memset(s->q, 0, s->count * sizeof(double));
    bool sound = nodal_solve(s->solver, s->b, s->q, &params, &s->report);
    for (size_t i = 0; i < s->count; i++) s->single[i] = (float)s->q[i];
    return sound;
}

void still_update(StillBox *s) {
    team_for(s->team, s->grid.tile_count, 1, update_tile, s);
}
