// The mesh in a step: what it bends towards, its start, its motion.
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "emit/emit.h"
#include "particles/seed.h"
#include "sim.h"
#include "step/stages.h"
#include "warp/nodal_cell.h"
#include "warp/space.h"
#include "warp/stage.h"
#include "warp/stage_band.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

BrimResult warp_create(BrimSim *s, BrimError *error) {
    WarpState *w = s->warp = memory_zero(sizeof *w);
    if (!w) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    BrimResult r = warp_init(&w->mesh, s->dim, s->grid.cells, s->def.warp, 0, error);
    if (r != BRIM_OK) return r;
    w->mesh.team = s->team;
    BrimVec3 g = s->def.gravity;
    double pull = sqrt((double)g.x * g.x + (double)g.y * g.y + (double)g.z * g.z);
    w->sizing = warp_default_sizing(s->grid.cells, pull, (double)s->dx);
    w->sizing.of_surface = s->def.warp_surface, w->sizing.of_speed = s->def.warp_speed;
    w->sizing.of_solid = s->def.warp_solids;
    for (int a = 0; a < s->dim; a++)
        if (s->def.focus_formula[a] && (r = formula_new(s->def.focus_formula[a], &s->def.names,
                                                        FORMULA_T, &w->focus[a], error)) != BRIM_OK)
            return r;
    if (s->def.focus_field &&
        (r = formula_new(s->def.focus_field, &s->def.names, FORMULA_PLACE | FORMULA_T, &w->wish,
                         error)) != BRIM_OK)
        return r;
    w->stretch = 1;
    w->motion = (WarpMotion){1, 0, 1, 1};
    size_t n = warp_centres(&w->mesh);
    w->distance = memory_zero(n * sizeof(float)), w->speed = memory_zero(n * sizeof(float));
    w->closest[0] = memory_zero(3 * n * sizeof(float)), w->f = memory_zero(n * sizeof(double));
    w->stretch_at = memory_zero(n * sizeof(float));
    if (s->def.warp_solids > 0) w->solid = memory_zero(n * sizeof(float));
    if (s->def.focus > 0) w->extra = memory_zero(n * sizeof(float));
    bool more = (w->solid || !(s->def.warp_solids > 0)) && (w->extra || !(s->def.focus > 0));
    for (size_t i = 0; w->stretch_at && i < n; i++) w->stretch_at[i] = 1;
    w->kernels = warp_kernels_for(s->isa), w->level = warp_level_kernels_for(s->isa);
    w->nodal = nodal_kernels_for(s->isa);
    w->solver = nodal_solver_new(s->isa, s->team);
    for (size_t a = 1; a < 3 && w->closest[0]; a++) w->closest[a] = w->closest[0] + a * n;
    if (w->distance && w->speed && w->closest[0] && w->f && w->stretch_at && w->solver && more)
        return BRIM_OK;
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for a warped grid");
}

void warp_destroy(BrimSim *s) {
    WarpState *w = s->warp;
    if (!w) return;
    warp_free(&w->mesh);
    nodal_free(&w->op);
    nodal_solver_free(&w->solver);
    free(w->q), free(w->distance), free(w->speed), free(w->closest[0]), free(w->f);
    for (int a = 0; a < 3; a++) formula_free(&w->focus[a]);
    formula_free(&w->wish);
    free(w->solid), free(w->extra);
    free(w->stretch_at), free(w->splits), free(w->gone), free(w->solid_memory);
    free(w->inlet_at), free(w->inlet);
    for (int a = 0; a < 3; a++) free(w->space[a]);
    free(w);
    s->warp = NULL;
}

size_t warp_state_bytes(const BrimSim *s) {
    const WarpState *w = s->warp;
    size_t n = warp_centres(&w->mesh);
    return sizeof *w + warp_bytes(&w->mesh) + nodal_bytes(&w->op) + nodal_solver_bytes(w->solver) +
           w->q_capacity * sizeof(double) + n * (6 * sizeof(float) + sizeof(double)) +
           (3 * w->space_capacity + w->solid_capacity + w->inlet_capacity) * sizeof(float) +
           w->inlet_at_capacity * sizeof *w->inlet_at;
}

// ----------------------------------------------------------------------------------------- sizing

/// The coarse cell that holds a point of reference space.
static size_t coarse_cell(const WarpMap *m, const double xi[3]) {
    size_t at = 0;
    for (int a = 2; a >= 0; a--) {
        int c = a < m->dim ? (int)(xi[a] / m->ratio[a]) : 0;
        c = c < 0 ? 0 : c >= m->coarse[a] ? m->coarse[a] - 1 : c;
        at = at * (size_t)m->coarse[a] + (size_t)c;
    }
    return at;
}

/// Bits of a row of eight nodes that are liquid.
static unsigned liquid_bits(const float *phi) {
    unsigned bits = 0;
    for (int x = 0; x < TILE; x++) bits |= (unsigned)(phi[x] < 0) << x;
    return bits;
}

/// => signs
static void sign_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    const float *phi = s->phi + (size_t)slot * (size_t)g->tile_cells;
    int liquid = 0;
    for (int i = 0; i < g->tile_cells; i++) liquid += phi[i] < 0;
    s->signs[slot] = (uint8_t)((liquid > 0) | (liquid < g->tile_cells) << 1);
}

/// Whether an edge of a tile's nodes, or one to the next tiles, may meet the surface.
static bool meets_surface(const BrimSim *s, int slot) {
    const int32_t *near = s->grid.neighbour[slot] + TILE_SELF;
    const int32_t next[3] = {near[1], near[3], s->dim == 3 ? near[9] : near[3]};
    unsigned all = s->signs[slot];
    for (int a = 0; a < 3; a++) all |= next[a] < 0 ? 2 : s->signs[next[a]];
    return all == 3;
}

/// A point of the surface, cells of reference space, to the coarse cell around it, which keeps the
/// one nearest to its centre.
static void add_point(WarpState *w, const double xi[3]) {
    const WarpMap *m = &w->mesh.map;
    const size_t c = coarse_cell(m, xi);
    double x[3], far = 0, other = 0;
    map_to_space(m, xi, x);
    for (int k = 0; k < m->dim; k++) {
        const double middle = (double)w->mesh.place[k][c];
        const double was = (double)w->closest[k][c] - middle;
        far += (x[k] - middle) * (x[k] - middle);
        other += was * was;
    }
    if (other <= far) return;
    for (int k = 0; k < 3; k++) w->closest[k][c] = k < m->dim ? (float)x[k] : w->mesh.place[k][c];
}

/// The point at which the edge of a node along an axis meets the surface; at: the node.
static void add_edge(BrimSim *s, const NodeBlock *phi, const int local[3], const int at[3], int a) {
    const Grid *g = &s->grid;
    const int here = block_index(local[0], local[1], local[2]);
    const int next = block_index(local[0] + (a == 0), local[1] + (a == 1), local[2] + (a == 2));
    for (int k = 0; k < s->dim; k++)
        if (at[k] > g->cells[k] - (k == a)) return;
    // open sides are no surface
    if (at[a] == 0 && s->sides.open[2 * a]) return;
    if (at[a] + 1 == g->cells[a] && s->sides.open[2 * a + 1]) return;
    double xi[3] = {at[0], at[1], at[2]};
    xi[a] += (double)(phi->at[here] / (phi->at[here] - phi->at[next]));
    add_point(s->warp, xi);
}

/// Where edges from a tile's nodes meet the surface.
static void add_tile(BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    const TileCoord t = g->coord[slot];
    NodeBlock phi;
    nodal_load_block(g, s->phi, LEVEL_SET_CUT, slot, &phi);
    for (int r = 0; r < g->tile_rows; r++) {
        const int y = r & 7, z = r >> 3;
        const float *row = phi.at + block_index(0, y, z);
        const unsigned here = liquid_bits(row);
        unsigned crossed[3] = {here ^ liquid_bits(row + 1),
                               here ^ liquid_bits(phi.at + block_index(0, y + 1, z)), 0};
        if (s->dim == 3) crossed[2] = here ^ liquid_bits(phi.at + block_index(0, y, z + 1));
        for (unsigned any = crossed[0] | crossed[1] | crossed[2]; any; any &= any - 1) {
            const int x = __builtin_ctz(any), local[3] = {x, y, z};
            const int at[3] = {t.x * TILE + x, t.y * TILE + y, s->dim == 3 ? t.z * TILE + z : 0};
            for (int a = 0; a < s->dim; a++)
                if (crossed[a] >> x & 1) add_edge(s, &phi, local, at, a);
        }
    }
}

/// Where edges between nodes meet the surface. => closest
static void find_points(BrimSim *s) {
    WarpState *w = s->warp;
    warp_places(&w->mesh);
    for (size_t i = 0; i < 3 * warp_centres(&w->mesh); i++) w->closest[0][i] = WARP_NOWHERE;
    tiles_for(s, sign_tile, NULL);
    for (int slot = 0; slot < s->grid.tile_count; slot++)
        if (meets_surface(s, slot)) add_tile(s, slot);
}

/// Of a slice of the coarse lattice.
static void slice_speed(void *context, int z, int thread) {
    BrimSim *s = context;
    WarpState *w = s->warp;
    const WarpMap *m = &w->mesh.map;
    const size_t n = (size_t)m->coarse[0] * (size_t)m->coarse[1];
    for (size_t i = (size_t)z * n; i < (size_t)(z + 1) * n; i++) {
        double xi[3], u[3];
        warp_centre(&w->mesh, i, xi);
        w->speed[i] = 0;
        if (grid_cell(&s->grid, (int)xi[0], (int)xi[1], (int)xi[2]) < 0) continue;
        if (warp_sample(s, s->velocity, xi, u))
            w->speed[i] = (float)sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    }
}

static void find_speed(BrimSim *s) {
    WarpState *w = s->warp;
    if (s->primed)
        team_for(s->team, w->mesh.map.coarse[2], 1, slice_speed, s);
    else
        memset(w->speed, 0, warp_centres(&w->mesh) * sizeof(float));
}

/// Distance to the solids of a slice of the coarse lattice. => solid
static void slice_solids(void *context, int z, int thread) {
    BrimSim *s = context;
    WarpState *w = s->warp;
    const WarpMap *m = &w->mesh.map;
    const size_t n = (size_t)m->coarse[0] * (size_t)m->coarse[1];
    for (size_t i = (size_t)z * n; i < (size_t)(z + 1) * n; i++) {
        float x[3], least = (float)w->sizing.length * s->dx;
        for (int a = 0; a < 3; a++) x[a] = a < s->dim ? w->mesh.place[a][i] * s->dx : 0;
        for (int k = 0; k < s->walls.solid_count; k++) {
            float d;
            if (!solid_exists(s->walls.solids[k], s->time)) continue;
            solid_distance(s->walls.solids[k], 1, &x[0], &x[1], &x[2], &d);
            least = fminf(least, fabsf(d));
        }
        w->solid[i] = least * s->inv_dx;
    }
}

/// A region of interest at one time, m.
typedef struct Focus {
    double at[3], half[3];   ///< middle and half edges of a box
    double along[3], target; ///< axis of a camera's view from there, and how far its target is
    double cosine, sine;     ///< of half its angle; the sine is 0 for a box
} Focus;

static double distance_to_box(const Focus *f, int dim, const double x[3]) {
    double square = 0;
    for (int a = 0; a < dim; a++) {
        const double off = fabs(x[a] - f->at[a]) - f->half[a];
        square += off > 0 ? off * off : 0;
    }
    return sqrt(square);
}

/// How far a point is out of a camera's view, a cone; `away`: from the camera.
static double distance_to_view(const Focus *f, int dim, const double x[3], double *away) {
    double square = 0, along = 0;
    for (int a = 0; a < dim; a++) {
        square += (x[a] - f->at[a]) * (x[a] - f->at[a]);
        along += (x[a] - f->at[a]) * f->along[a];
    }
    const double across = sqrt(fmax(0, square - along * along));
    *away = sqrt(square);
    if (along * f->cosine + across * f->sine < 0) return *away; // nearest to it is the camera
    return fmax(0, across * f->cosine - along * f->sine);
}

static BrimResult no_focus(const BrimSim *s, BrimError *error, const char *key, const char *what) {
    return fail(error, s->primed ? BRIM_LOST_DIVERGED : BRIM_ERROR_INPUT, "grid.focus.%s: %s", key,
                what);
}

static BrimResult place_focus(BrimSim *s, Focus *f, BrimError *error) {
    const WarpState *w = s->warp;
    const BrimVec3 middle = s->def.focus_center, size = s->def.focus_size;
    const BrimVec3 target = s->def.focus_target;
    *f = (Focus){.at = {middle.x, middle.y, middle.z},
                 .half = {0.5 * (double)size.x, 0.5 * (double)size.y, 0.5 * (double)size.z}};
    double square = 0;
    for (int a = 0; a < s->dim; a++) {
        if (w->focus[a]) f->at[a] = formula_at(w->focus[a], 0, 0, 0, s->time + s->dt);
        if (!isfinite(f->at[a])) {
            char what[80];
            snprintf(what, sizeof what, "not a number at t = %.6g s: change its formulas",
                     s->time + s->dt);
            return no_focus(s, error, "center", what);
        }
        f->along[a] = (double)(a == 0 ? target.x : a == 1 ? target.y : target.z) - f->at[a];
        square += f->along[a] * f->along[a];
    }
    if (s->def.focus_angle == 0) return BRIM_OK;
    f->target = sqrt(square);
    if (!(f->target > 0)) return no_focus(s, error, "target", "the camera is there, at its center");
    for (int a = 0; a < s->dim; a++) f->along[a] /= f->target;
    const double half = acos(-1) / 360 * s->def.focus_angle;
    f->cosine = cos(half), f->sine = sin(half);
    return BRIM_OK;
}

/// What the region of interest adds: the more the nearer a box or a view is; beyond a camera's
/// target less, as all looks smaller there. => extra
static BrimResult find_focus(BrimSim *s, BrimError *error) {
    WarpState *w = s->warp;
    const double length = w->sizing.length * (double)s->dx;
    Focus f;
    BrimResult r = place_focus(s, &f, error);
    if (r != BRIM_OK) return r;
    for (size_t i = 0; i < warp_centres(&w->mesh); i++) {
        double x[3] = {0}, wish, away = 0;
        for (int a = 0; a < s->dim; a++) x[a] = (double)(w->mesh.place[a][i] * s->dx);
        if (w->wish) {
            wish = formula_at(w->wish, x[0], x[1], x[2], s->time + s->dt);
        } else if (f.sine > 0) {
            wish = exp(-w->sizing.surface * distance_to_view(&f, s->dim, x, &away) / length);
            wish *= fmin(1, f.target / away);
        } else {
            wish = exp(-w->sizing.surface * distance_to_box(&f, s->dim, x) / length);
        }
        if (!isfinite(wish)) {
            char what[128];
            snprintf(what, sizeof what,
                     "not a number at x = %.4g, y = %.4g, z = %.4g m, t = %.6g s", x[0], x[1], x[2],
                     s->time + s->dt);
            return no_focus(s, error, "field", what);
        }
        w->extra[i] = (float)(-s->def.focus * wish);
    }
    return BRIM_OK;
}

/// closest is kept: the next iteration of the start moves the mesh below the same points.
static BrimResult size_mesh(void *context, const Warp *mesh, double *f, BrimError *error) {
    BrimSim *s = context;
    WarpState *w = s->warp;
    (void)mesh;
    warp_sweep_distance(&w->mesh, w->closest, w->sizing.length, w->distance);
    if (w->solid) team_for(s->team, w->mesh.map.coarse[2], 1, slice_solids, s);
    BrimResult r = w->extra ? find_focus(s, error) : BRIM_OK;
    if (r != BRIM_OK) return r;
    return warp_size(&w->mesh, &w->sizing, w->distance, w->speed, w->solid, w->extra, f, error);
}

static void find_stretch(WarpState *w) {
    w->stretch = fmax(1, (double)warp_stretch(&w->mesh, w->stretch_at));
}

float warp_tile_stretch(const BrimSim *s, int slot) {
    const WarpMap *m = &s->warp->mesh.map;
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x, t.y, t.z};
    int low[3] = {0}, high[3] = {0};
    float most = 0;
    for (int a = 0; a < m->dim; a++) {
        low[a] = tile[a] * TILE / m->ratio[a];
        high[a] = (tile[a] * TILE + TILE - 1) / m->ratio[a];
        low[a] = low[a] < m->coarse[a] ? low[a] : m->coarse[a] - 1;
        high[a] = high[a] < m->coarse[a] ? high[a] : m->coarse[a] - 1;
    }
    for (int z = low[2]; z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++)
            for (int x = low[0]; x <= high[0]; x++)
                most = fmaxf(most, s->warp->stretch_at[(z * m->coarse[1] + y) * m->coarse[0] + x]);
    return most;
}

BrimResult warp_move_mesh(BrimSim *s, BrimError *error) {
    enum { STEPS_BETWEEN = 2 }; // what it follows moves by a cell, the smallest, in each
    WarpState *w = s->warp;
    if (!warp_bends(s)) return BRIM_OK;
    if (s->step % STEPS_BETWEEN != 0) {
        warp_hold(&w->mesh);
        w->motion.moved = 0;
        return BRIM_OK;
    }
    find_points(s);
    find_speed(s);
    BrimResult r = size_mesh(s, &w->mesh, w->f, error);
    if (r != BRIM_OK) return r;
    w->motion = warp_step(&w->mesh, w->f);
    find_stretch(w);
    return BRIM_OK;
}

// ------------------------------------------------------------------------------------------ start

/// Whether the point is in region `index` and in none before it.
static bool in_region(const Shape *const *shapes, int index, const float x[3]) {
    float d;
    for (int k = 0; k <= index; k++) {
        shape_distance(shapes[k], 1, &x[0], &x[1], &x[2], &d);
        if ((d < 0) != (k == index)) return false;
    }
    return true;
}

static bool append(BrimSim *s, const BrimLiquidDef *def, uint32_t origin, const double xi[3]) {
    Particles *p = &s->particles;
    if (!particles_reserve(p, p->count + 1)) return false;
    size_t i = p->count++;
    double x[3], J[3][3];
    map_to_space(&s->warp->mesh.map, xi, x);
    map_jacobian(&s->warp->mesh.map, xi, J);
    const float at[3] = {(float)x[0] * s->dx, (float)x[1] * s->dx, (float)x[2] * s->dx};
    for (int a = 0; a < 3; a++) {
        p->attr[ATTR_X + a][i] = a < s->dim ? (float)(xi[a] * (double)s->dx) : 0;
        p->attr[ATTR_VX + a][i] = a < s->dim ? liquid_velocity(def, &s->flows[origin], at, a) : 0;
    }
    const BrimVec3 w = def->spin;
    const float turn[9] = {0, -w.z, w.y, w.z, 0, -w.x, -w.y, w.x, 0};
    for (int k = ATTR_AFFINE; p->attr[ATTR_AFFINE] && k <= ATTR_END_AFFINE; k++)
        p->attr[k][i] = turn[k - ATTR_AFFINE] * s->dx;
    p->attr[ATTR_VOLUME][i] = (float)(matrix_determinant(J) / s->def.particles_per_cell);
    particle_words(p, ATTR_ID)[i] = s->next_id++;
    particle_start(p, i, origin);
    warp_key(s, i);
    s->seeded++;
    return true;
}

/// The seeding of a mesh.
typedef struct Seeding {
    const BrimLiquidDef *liquid;
    const Shape *const *shapes;
    int count;
    uint8_t *filled; ///< [box tile][row] with a band, first: which cells hold points, were they in
                     ///< solids or not. Else NULL
    int64_t hidden;  ///< particles that a band does not hold
} Seeding;

/// Marks a cell as one that holds points.
static void mark_filled(const BrimSim *s, const int cell[3], uint8_t *filled) {
    const Grid *g = &s->grid;
    const size_t tile = (size_t)grid_box_index(g, cell[0] >> TILE_SHIFT, cell[1] >> TILE_SHIFT,
                                               cell[2] >> TILE_SHIFT);
    const int row = (s->dim == 3 ? (cell[2] & 7) * TILE : 0) + (cell[1] & 7);
    filled[tile * (size_t)g->tile_rows + (size_t)row] |= (uint8_t)(1 << (cell[0] & 7));
}

/// The particles of one cell of the mesh that lie in the regions.
static bool seed_cell(BrimSim *s, Seeding *seeding, const int cell[3]) {
    const Shape *const *shapes = seeding->shapes;
    const int64_t place_in = has_band(s) ? grid_cell(&s->grid, cell[0], cell[1], cell[2]) : -1;
    const bool hidden = place_in >= 0 && !seeding->filled && band_bit(s->hidden, place_in);
    const int side = seed_per_axis(s->dim, s->def.particles_per_cell);
    for (int k = 0; k < s->def.particles_per_cell; k++) {
        const int place[3] = {k % side, k / side % side, k / (side * side)};
        uint64_t h = hash_3(s->def.seed, s->next_id, 0), h2 = hash_mix(h);
        const double r[3] = {hash_unit(h, 0), hash_unit(h, 1), hash_unit(h2, 0)};
        double xi[3] = {0}, x[3], plain[3] = {0};
        for (int a = 0; a < s->dim; a++) plain[a] = cell[a] + (place[a] + 0.5) / side;
        const uint64_t row = hash_3((uint64_t)cell[0], (uint64_t)cell[1], (uint64_t)cell[2]);
        if (!seeding->filled &&
            !warp_seed_beside(s, 1.0 / side, hash_3(s->def.seed, row, (uint64_t)k + 1), plain))
            continue;
        map_to_space(&s->warp->mesh.map, plain, x);
        for (int a = 0; a < s->dim; a++) {
            const double moved = plain[a] + (r[a] - 0.5) * (double)s->def.jitter / side;
            xi[a] = fmin(fmax(moved, 1e-3), s->grid.cells[a] - 1e-3);
        }
        const float at[3] = {(float)x[0] * s->dx, (float)x[1] * s->dx, (float)x[2] * s->dx};
        for (int i = 0; i < seeding->count; i++) {
            if (!in_region(shapes, i, at)) continue;
            if (seeding->filled)
                mark_filled(s, cell, seeding->filled);
            else if (hidden)
                seeding->hidden++;
            else if (!append(s, &seeding->liquid[i], (uint32_t)i, xi))
                return false;
        }
    }
    return true;
}

/// Whether a region may meet a cell: by its bounds, in space.
static bool near_region(const BrimSim *s, const Shape *const *shapes, int count,
                        const int cell[3]) {
    double corner[8][3];
    map_corners(&s->warp->mesh.map, cell[0], cell[1], cell[2], corner);
    for (int i = 0; i < count; i++) {
        float low[3], high[3];
        bool meets = shape_bounds(shapes[i], low, high);
        for (int a = 0; a < s->dim && meets; a++) {
            double least = INFINITY, most = -INFINITY;
            for (int c = 0; c < 1 << s->dim; c++) {
                double at = cell[a] + (c >> a & 1) + corner[c][a];
                least = fmin(least, at), most = fmax(most, at);
            }
            meets =
                most * (double)s->dx >= (double)low[a] && least * (double)s->dx <= (double)high[a];
        }
        if (meets) return true;
    }
    return false;
}

static bool seed_mesh(BrimSim *s, Seeding *seeding) {
    int cell[3];
    for (cell[2] = 0; cell[2] < s->grid.cells[2]; cell[2]++)
        for (cell[1] = 0; cell[1] < s->grid.cells[1]; cell[1]++)
            for (cell[0] = 0; cell[0] < s->grid.cells[0]; cell[0]++)
                if (near_region(s, seeding->shapes, seeding->count, cell) &&
                    !seed_cell(s, seeding, cell))
                    return false;
    return true;
}

/// With a band: finds which cells hold liquid, and hides those below it.
static bool hide_mesh(BrimSim *s, Seeding *seeding) {
    const size_t box = grid_box(&s->grid), rows = (size_t)s->grid.tile_rows;
    uint8_t *filled = memory_zero(box * rows), *tiles = memory_zero(box);
    bool ok = filled && tiles;
    seeding->filled = filled;
    ok = ok && seed_mesh(s, seeding);
    seeding->filled = NULL;
    for (size_t i = 0; ok && i < box * rows; i++) tiles[i / rows] |= filled[i] != 0;
    if (ok) sim_dilate(s, tiles);
    for (size_t i = 0; ok && i < box; i++)
        if (tiles[i]) s->sort.reach[i] |= 1u << TILE_SELF;
    for (size_t r = 0; ok && r < sim_rows(s); r++) s->interior[r] = s->hidden[r] = 0;
    ok = ok && sort_particles(s) && warp_hide(s, filled);
    free(filled), free(tiles);
    return ok;
}

BrimResult warp_start(BrimSim *s, const BrimLiquidDef *liquid, const Shape *const *shapes,
                      int count, BrimError *error) {
    WarpState *w = s->warp;
    for (size_t i = 0; i < s->particles.count; i++) // of the regular grid
        s->particles.attr[ATTR_VOLUME][i] = 1.0f / (float)s->def.particles_per_cell;
    BrimResult r = warp_surface(s, error);
    if (r == BRIM_OK && w->mesh.strength > 0) {
        find_points(s);
        for (size_t i = 0; i < warp_centres(&w->mesh); i++) w->speed[i] = 0;
        r = warp_settle(&w->mesh, size_mesh, s, error);
        map_determinants(&w->mesh.map, &w->motion.least, &w->motion.most);
        find_stretch(w);
        if (r == BRIM_OK && !warp_sample_solids(s))
            return fail(error, BRIM_ERROR_MEMORY, "out of memory for solids on a warped grid");
    }
    if (r != BRIM_OK) return r;
    s->particles.count = s->particles.sorted = 0;
    memset(s->particles.tile_start, 0, ((size_t)s->grid.tile_count + 1) * sizeof(uint32_t));
    s->seeded = 0, s->next_id = 0;
    Seeding seeding = {.liquid = liquid, .shapes = shapes, .count = count};
    if ((has_band(s) && !hide_mesh(s, &seeding)) || !seed_mesh(s, &seeding) || !sort_particles(s) ||
        !warp_place(s))
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for a warped grid");
    s->seeded += seeding.hidden, s->band.resampled = -seeding.hidden;
    if (has_band(s)) warp_start_velocity(s, liquid, shapes, count);
    return warp_surface(s, error);
}

bool warp_restore(BrimSim *s) {
    WarpState *w = s->warp;
    for (size_t i = 0; i < warp_centres(&w->mesh); i++)
        if (!isfinite(w->mesh.now[i]) || !isfinite(w->mesh.last[i])) return false;
    warp_set(&w->mesh);
    map_determinants(&w->mesh.map, &w->motion.least, &w->motion.most);
    if (!(w->motion.least > 0)) return false;
    find_stretch(w);
    return true;
}
