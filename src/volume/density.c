// Stage 6: implicit density projection (Kugelstadt et al. 2019). Particles are moved so that the
// density at cell centres becomes the rest density; their velocities stay.
//
// In cells, with the error e = density - 1 cut at +-1/2, displacements d on faces solve
//   sum over faces of open_f d_f + (1 - open_f) push_f = e,    d = -(q_i - q_(i-1)),    air: q = 0
// which is eq. (10), (11) and (18) with q = p2 dt^2 / (rho dx^2): the pressure's stencil.
#include "volume/density.h"
#include "band/band.h"
#include "base/error.h"
#include "emit/convey.h"
#include "projection/inlet.h"
#include "step/scatter.h"
#include "step/system.h"
#include "volume/settle.h"
#include "walls/solid_fine.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Errors beyond this are corrected over several steps.
static const float ERROR_MAX = 0.5f;
/// Errors come with motion: while the fastest particle has not crossed this many cells and the last
/// projection left all in order, and no solid moves, the next one can wait.
static const double TRAVEL_MAX = 1;
/// A larger mean error than this is more than one projection mends: the next one follows at once.
static const double MEAN_MAX = 0.1;
/// As much as this, as a part of the wet cells, may wait for the next step because errors are cut;
/// while it is more, a step has another projection: one for each cell that its fastest particle
/// crossed, at most.
static const double WAITING_MAX = 0.005;
/// Displacements larger than this, cells, are followed in several strides.
static const float STRIDE = 0.5f;
/// Where those of an eighth of the tiles exceed this, cells, all are scaled down, so that crowded
/// water swells evenly; what is still larger is cut: one pit must not hold up the rest. What is
/// left waits for later steps.
static const float SHIFT_MAX = 1;

/// Seeds are settled to this part of the tolerance.
static const double SETTLED = 0.01;

// ------------------------------------------------------------------------------- the system

/// Rigid cells, below a band or in immersed bodies, are as walls; so are faces that sources hold.
static Around look_around(const BrimSim *s, int slot) {
    Around a = around_tile(&s->grid, s->weighed, slot);
    for (int n = 0; n < 2 * s->dim && has_rigid(s); n++) {
        TileMask below = mask_neighbour(&s->grid, s->rigid, slot, n >> 1, n & 1 ? 1 : -1);
        for (int z = 0; z < s->grid.tile_depth; z++) a.side[n].slice[z] |= below.slice[z];
    }
    inlet_hold(s, slot, &a);
    if (s->volume.settling) settle_shut(s, &a);
    return a;
}

/// First cell of a weighed tile in the system.
static size_t system_base(const BrimSim *s, int slot) {
    return (size_t)(s->weighed_at[slot] - 1) * (size_t)s->grid.tile_cells;
}

/// One row of the system beside solids: faces weigh by their open part, and particles inside push.
static void build_cell(BrimSim *s, const Around *around, int slot, int cell) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    size_t row = system_base(s, slot) + (size_t)cell;
    float diagonal = 0, pushed = 0;
    for (int a = 0; a < s->dim; a++) s->coefficient[a][row] = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        if (mask_has(&around->side[n], cell)) continue;
        int a = n >> 1;
        int64_t next = grid_step(&s->grid, slot, cell, a, n & 1 ? 1 : -1);
        float open = n & 1 ? next < 0 ? 1 : open_part(s, a, next) : open_part(s, a, me);
        float push = n & 1 ? push_out_face(s, a, next, me) : push_out_face(s, a, me, next);
        pushed += (1 - open) * (n & 1 ? push : -push);
        diagonal += open;
        if (!(n & 1) && mask_has(&around->wet[n], cell)) s->coefficient[a][row] = open;
    }
    s->diagonal[row] = diagonal;
    s->rhs[row] = diagonal > 0 ? s->rhs[row] - pushed : 0;
}

/// Cells beside solids, over what the kernel for open water made of them.
static void build_beside_walls(BrimSim *s, int slot, const Around *around) {
    TileMask cut = cut_cells(s, slot);
    for (int z = 0; z < s->grid.tile_depth; z++)
        for (uint64_t bits = around->liquid.slice[z] & cut.slice[z]; bits; bits &= bits - 1)
            build_cell(s, around, slot, z * 64 + __builtin_ctzll(bits));
}

/// Away from solids the system is that of a pressure with flags.
static void build_open(BrimSim *s, int slot, const Around *around, float *q) {
    static const TileView still = {
        tile_zeros, {tile_zeros, tile_zeros, tile_zeros, tile_zeros, tile_zeros, tile_zeros}};
    size_t base = system_base(s, slot);
    const TileView velocity[3] = {still, still, still};
    SystemTile out = {s->diagonal + base, s->rhs + base, {0}, q + base};
    for (int a = 0; a < s->dim; a++) out.coefficient[a] = s->coefficient[a] + base;
    s->faces->build(around, velocity, NULL, s->dim, 0, &out);
}

/// The system of a tile, and zeros as its start value.
static DensityErrors build_tile(BrimSim *s, int slot, float *q) {
    const Grid *g = &s->grid;
    if (!s->weighed_at[slot]) return (DensityErrors){0};
    size_t base = system_base(s, slot);
    Around around = look_around(s, slot);
    memset(q + base, 0, (size_t)g->tile_cells * sizeof *q);
    build_open(s, slot, &around, q);
    float *error = s->rhs + base;
    DensityErrors sums = density_errors(s, s->density, s->weighed, slot, error);
    if (s->volume.settling) sums = settle_errors(s, slot, error);
    const TileMask full = inlet_full(s, slot);
    for (int i = 0; i < g->tile_cells; i++) {
        // shut in: nothing can be mended; a source's lattice is as it should be
        if (s->diagonal[base + (size_t)i] == 0 || mask_has(&full, i)) error[i] = 0;
        if (error[i] > ERROR_MAX) sums.waiting += error[i] - ERROR_MAX;
        float e = error[i] > -ERROR_MAX ? error[i] : -ERROR_MAX;
        error[i] = e < ERROR_MAX ? e : ERROR_MAX;
    }
    if (solid_here(s, slot)) build_beside_walls(s, slot, &around);
    return sums;
}

static BrimResult solve(BrimSim *s, float *q, BrimError *error) {
    if (!system_prepare(s))
        return fail(error, BRIM_LOST_MEMORY, "out of memory at step %lld in stage density",
                    (long long)s->step + 1);
    double tolerance = s->def.volume_tolerance;
    PoissonParams params = {.tolerance = s->volume.settling ? SETTLED * tolerance : tolerance,
                            .max_iterations = s->def.max_iterations,
                            .preconditioner = s->def.preconditioner};
    PoissonReport report = {0};
    bool finite = poisson_solve(s->projection.poisson, s->rhs, q, &params, &report);
    s->stats.density_iterations += report.iterations;
    if (!finite)
        return fail(error, BRIM_LOST_DIVERGED,
                    "step %lld (t = %.6g s), stage density: a displacement is not a number",
                    (long long)s->step + 1, s->time);
    return BRIM_OK; // what an unfinished solve leaves, the next step sees again
}

// ---------------------------------------------------------------------------- displacements

/// q of a weighed cell.
static float at_cell(const BrimSim *s, const float *q, int64_t cell) {
    int64_t cells = s->grid.tile_cells;
    return q[system_base(s, (int)(cell / cells)) + (size_t)(cell % cells)];
}

/// Displacement of a face beside solids.
static float face_shift(const BrimSim *s, const float *q, const Around *around, int a, int slot,
                        int cell) {
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    int64_t below = grid_step(&s->grid, slot, cell, a, -1);
    bool wet = mask_has(&around->liquid, cell), wet_below = mask_has(&around->wet[2 * a], cell);
    float open = open_part(s, a, me), push = push_out_face(s, a, me, below);
    float flow = (wet_below ? at_cell(s, q, below) : 0) - (wet ? at_cell(s, q, me) : 0);
    return (1 - open) * push + (open > 0 ? open * flow : 0);
}

/// Lower faces of a tile's cells that have a particle inside a solid beside them.
static TileMask pushed_faces(const BrimSim *s, int slot, int axis) {
    TileMask here = mask_load(&s->grid, s->pushed, slot);
    TileMask below = mask_neighbour(&s->grid, s->pushed, slot, axis, -1);
    for (int z = 0; z < s->grid.tile_depth; z++) here.slice[z] |= below.slice[z];
    return here;
}

/// Whether a tile or one beside it has particles, and wet cells or solids; in others no particle
/// reads displacements.
static bool matters(const BrimSim *s, int slot) {
    if (has_band(s) && !particles_near(s, slot)) return false;
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0 && (s->weighed_at[t] || solid_here(s, t))) return true;
    }
    return false;
}

/// Particles with no wet cell near, as beside an open side, stay where they are.
static void forget_faces(BrimSim *s, int slot) {
    size_t rows = (size_t)s->grid.tile_rows, cells = (size_t)s->grid.tile_cells;
    bool read = particles_near(s, slot);
    for (int a = 0; a < s->dim; a++) {
        memset(s->shift_known[a] + (size_t)slot * rows, 0, rows);
        if (read) memset(s->shift[a] + (size_t)slot * cells, 0, cells * sizeof(float));
    }
}

/// Adds the faces of rigid cells below a band: they are full and stay.
static void shut_below(const BrimSim *s, int slot, int axis, TileMask *faces) {
    TileMask here = mask_load(&s->grid, s->rigid, slot);
    TileMask below = mask_neighbour(&s->grid, s->rigid, slot, axis, -1);
    for (int z = 0; z < s->grid.tile_depth; z++) faces->slice[z] |= here.slice[z] | below.slice[z];
}

/// q => displacement on a tile's lower faces, in `shift`; `shift_known` where it has a say.
static void shift_faces(BrimSim *s, const float *q, int slot) {
    const Grid *g = &s->grid;
    Around around = look_around(s, slot);
    TileMask inside = mask_inside(g, slot);
    size_t base = (size_t)slot * (size_t)g->tile_cells;
    for (int a = 0; a < s->dim; a++) {
        TileMask known = mask_side_faces(g, slot, a), faces;
        if (has_rigid(s)) shut_below(s, slot, a, &known);
        const TileMask held = inlet_faces(s, slot, a);
        for (int z = 0; z < g->tile_depth; z++) known.slice[z] |= held.slice[z];
        for (int z = 0; z < g->tile_depth && s->volume.settling; z++)
            known.slice[z] |= around.liquid.slice[z] ^ around.wet[2 * a].slice[z];
        float *d = s->shift[a] + base;
        memset(d, 0, (size_t)g->tile_cells * sizeof *d);
        TileMask cut = cut_faces(s, slot, a), beside = {{0}};
        if (solid_here(s, slot)) beside = pushed_faces(s, slot, a);
        for (int z = 0; z < g->tile_depth; z++) {
            uint64_t wet = around.liquid.slice[z] | around.wet[2 * a].slice[z];
            uint64_t open = inside.slice[z] & ~known.slice[z];
            beside.slice[z] = (beside.slice[z] | wet) & cut.slice[z] & open;
            faces.slice[z] = wet & ~cut.slice[z] & open;
        }
        TileView view = tile_view_some(g, slot, q, s->weighed_at, tile_zeros);
        s->faces->subtract(&around, &faces, a, g->tile_depth, &view, NULL, d, NULL);
        TileMask shut = shut_faces(s, slot, 2 * a);
        for (int z = 0; z < g->tile_depth; z++) {
            for (uint64_t bits = beside.slice[z]; bits; bits &= bits - 1) {
                int cell = z * 64 + __builtin_ctzll(bits);
                d[cell] = face_shift(s, q, &around, a, slot, cell);
            }
            faces.slice[z] |= beside.slice[z] | (shut.slice[z] & inside.slice[z]);
        }
        for (int z = 0; z < g->tile_depth; z++) known.slice[z] |= faces.slice[z];
        mask_store(g, s->shift_known[a], slot, &known);
    }
}

/// Faces beside known ones take their mean: particles in the upper half of surface cells hang on
/// faces in air. Only reads known faces and writes others. => shift, shift_most
static void extend_faces(BrimSim *s, int slot) {
    const Grid *g = &s->grid;
    for (int a = 0; a < s->dim; a++) {
        TileMask near[6], known = mask_load(g, s->shift_known[a], slot), wanted;
        uint64_t any = 0;
        mask_around(g, s->shift_known[a], slot, near);
        for (int z = 0; z < g->tile_depth; z++) {
            wanted.slice[z] = 0;
            for (int n = 0; n < 2 * s->dim; n++) wanted.slice[z] |= near[n].slice[z];
            wanted.slice[z] &= ~known.slice[z];
            any |= wanted.slice[z];
        }
        TileView view = tile_view(g, slot, s->shift[a], tile_zeros);
        float *d = s->shift[a] + (size_t)slot * (size_t)g->tile_cells;
        if (any) s->faces->grow(&view, near, &wanted, s->dim, d);
        float most = s->volume.kernels->largest(d, g->tile_cells);
        s->shift_most[slot] = (float)larger_of(s->shift_most[slot], most);
    }
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/// What all displacements are scaled by.
static float find_scale(const BrimSim *s) {
    float *sizes = s->shift_sizes;
    int wet = 0, large = 0;
    for (int t = 0; t < s->grid.tile_count; t++) {
        wet += s->weighed_at[t] != 0;
        if (s->weighed_at[t] && s->shift_most[t] > SHIFT_MAX) sizes[large++] = s->shift_most[t];
    }
    int allowed = wet / 8;
    if (large <= allowed) return 1;
    qsort(sizes, (size_t)large, sizeof *sizes, by_size);
    return SHIFT_MAX / sizes[allowed];
}

/// A move of all particles.
typedef struct Shifting {
    const float *q;
    float scale;
    ShiftSums *sums; ///< [tiles]
} Shifting;

/// Cuts a tile's displacements.
static void cut_shifts(BrimSim *s, int slot, int thread, void *context) {
    float most = SHIFT_MAX / ((const Shifting *)context)->scale;
    if (s->shift_most[slot] <= most) return;
    s->shift_most[slot] = most;
    for (int a = 0; a < s->dim; a++) {
        float *d = s->shift[a] + (size_t)slot * (size_t)s->grid.tile_cells;
        for (int i = 0; i < s->grid.tile_cells; i++)
            d[i] = d[i] < -most ? -most : d[i] > most ? most : d[i];
    }
}

/// Moves particles by more than a fraction of a cell, or beside solids: along the displacements as
/// along a flow.
static ShiftSums flow_tile(BrimSim *s, int slot, int thread, float reach, float scale, bool solid) {
    ThreadScratch *scratch = &s->scratch[thread];
    enum { BATCH = 1024 }; // whole chunks of the kernel
    int halo = (int)(reach + 1.02f) + 1;
    MoveParams m = {
        .halo = halo, .scheme = BRIM_ADVECTION_RK2, .solid_depth = SHIFT_DEPTH, .straight = STRIDE};
    m.substeps = (int)fmaxf(1, ceilf(reach / STRIDE));
    m.time = scale * s->dx;
    m.reach = reach;
    domain_box(s, m.low, m.high);
    for (int a = 0; a < s->dim; a++) {
        block_load(&s->grid, slot, s->shift[a], (Place)a, &s->sides, halo, 0, scratch->block[a]);
        m.velocity[a] = scratch->block[a];
    }
    if (solid) {
        SolidNodes nodes = solid_nodes(s, slot, thread, halo, s->dx, scratch->block[3]);
        m.solid = nodes.phi, m.fine = nodes.fine;
    }
    // The kernel of advection stops what hits a wall; here velocities stay, so it gets none.
    Span span = sim_span(s, slot, halo);
    for (int a = 0; a < s->dim; a++)
        span.attr[ATTR_VX + a] =
            s->particles.spare + (span.attr[ATTR_X] - s->particles.attr[ATTR_X]);
    uint32_t first = tile_first(&s->particles, slot), count = (uint32_t)span.count;
    ShiftSums sums = {0};
    for (uint32_t from = 0; from < count; from += BATCH) {
        uint32_t n = count - from < BATCH ? count - from : BATCH, at = first + from;
        Span part = span_part(&span, from, n);
        float by[3][BATCH]; // first where particles are, then how far they go
        for (int a = 0; a < s->dim; a++) memcpy(by[a], part.attr[ATTR_X + a], n * sizeof(float));
        s->transfer->move(&part, &m, s->particles.key + at); // the halo holds them all
        if (m.solid) push_out_rest(s, at, at + n, m.low, m.high);
        ShiftSums went = s->volume.kernels->lengths(&part, (float *const[3]){by[0], by[1], by[2]});
        sums.sum += went.sum;
        sums.largest = (float)larger_of(sums.largest, went.largest);
        if (s->tracking.kernels)
            s->volume.kernels->stay(&part, (const float *const[3]){by[0], by[1], by[2]});
    }
    return sums;
}

static void shift_tile(BrimSim *s, int slot, int thread, void *context) {
    const Shifting *shifting = context;
    float scale = shifting->scale;
    uint32_t first = tile_first(&s->particles, slot);
    uint32_t end = tile_end(&s->particles, slot);
    shifting->sums[slot] = (ShiftSums){0};
    if (first == end) return;
    ThreadScratch *scratch = &s->scratch[thread];
    const float *blocks[3] = {0};
    float low[3], high[3], reach = 0;
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        if (t >= 0) reach = fmaxf(reach, s->shift_most[t] * scale);
    }
    ShiftSums sums;
    const bool solid = solid_within(s, slot, reach + 1); // as the kernel asks
    if (reach > STRIDE || solid) {
        sums = flow_tile(s, slot, thread, reach, scale, solid);
    } else {
        const ScatterRows read = scatter_reach(s, slot);
        for (int a = 0; a < s->dim; a++) {
            block_load_rows(&s->grid, slot, s->shift[a], (Place)a, &s->sides, 0, read.rows,
                            scratch->block[a]);
            blocks[a] = scratch->block[a];
        }
        Span span = sim_span(s, slot, 1);
        domain_box(s, low, high);
        sums = s->volume.kernels->shift(&span, blocks, scale, low, high);
    }
    find_keys(s, slot);
    shifting->sums[slot] = sums;
}

/// Displacements on a tile's faces from the solution q, then beyond them.
static void find_shifts(BrimSim *s, int slot, int thread, void *context) {
    s->shift_most[slot] = 0;
    matters(s, slot) ? shift_faces(s, ((const Shifting *)context)->q, slot) : forget_faces(s, slot);
}
static void extend_shifts(BrimSim *s, int slot, int thread, void *context) {
    if (matters(s, slot)) extend_faces(s, slot);
}

static void move_particles(BrimSim *s, const float *q) {
    int tiles = s->grid.tile_count;
    ShiftSums *sums = s->shift_sums;
    Shifting shifting = {q, 1, sums};
    tiles_for(s, find_shifts, &shifting);
    tiles_for(s, extend_shifts, &shifting);
    shifting.scale = find_scale(s);
    tiles_for(s, cut_shifts, &shifting);
    tiles_for(s, shift_tile, &shifting);
    double sum = 0, largest = 0;
    for (int t = 0; t < tiles; t++) {
        sum += sums[t].sum;
        largest = larger_of(largest, sums[t].largest);
    }
    s->stats.displaced_mean += s->particles.count ? sum / (double)s->particles.count : 0;
    s->stats.displaced_max = larger_of(s->stats.displaced_max, largest);
    s->volume.moved = largest;
}

static DensityErrors add_errors(const DensityErrors *tile, int tiles) {
    DensityErrors all = {0};
    for (int t = 0; t < tiles; t++) {
        all.sum += tile[t].sum, all.cells += tile[t].cells, all.waiting += tile[t].waiting;
        all.largest = (float)larger_of(all.largest, tile[t].largest);
    }
    return all;
}

static void report_errors(const DensityErrors *all, double *mean, double *largest) {
    *mean = all->cells > 0 ? all->sum / all->cells : 0;
    *largest = all->largest;
}

/// Errors of the density, of cells and of tiles.
typedef struct Errors {
    const float *density; ///< [cells]
    const uint8_t *wet;   ///< [rows]
    float *q;             ///< [cells] solution
    DensityErrors *tile;  ///< [tiles]
} Errors;

static void measure_tile(BrimSim *s, int slot, int thread, void *context) {
    const Errors *e = context;
    float error[512];
    e->tile[slot] = density_errors(s, e->density, e->wet, slot, error);
}

static void prepare_tile(BrimSim *s, int slot, int thread, void *context) {
    const Errors *e = context;
    e->tile[slot] = build_tile(s, slot, e->q);
}

/// Statistics of the errors of all wet cells.
static void measure_errors(BrimSim *s, const float *density, const uint8_t *wet, double *mean,
                           double *largest) {
    Errors errors = {.density = density, .wet = wet, .tile = s->errors};
    tiles_for(s, measure_tile, &errors);
    DensityErrors all = add_errors(errors.tile, s->grid.tile_count);
    report_errors(&all, mean, largest);
}

static BrimResult out_of_memory(const BrimSim *s, BrimError *error) {
    return fail(error, BRIM_LOST_MEMORY, "out of memory at step %lld in stage density",
                (long long)s->step + 1);
}

/// Whether the density shall be projected or measured in this step; called once in each.
static bool due(BrimSim *s) {
    if (s->def.volume == BRIM_VOLUME_NONE || !pressure_acts(s)) return false;
    if (s->def.volume != BRIM_VOLUME_DENSITY) return true;
    s->volume.travelled += s->max_speed * s->dt * s->inv_dx;
    bool moving = bodies_immersed(s);
    for (int i = 0; i < s->walls.solid_count; i++) moving |= solid_moves(s->walls.solids[i]);
    return moving || s->volume.crowded || s->volume.travelled >= TRAVEL_MAX;
}

/// Once a step, before the first projection.
static void begin(BrimSim *s) {
    s->stats.density_iterations = 0, s->stats.displaced_mean = s->stats.displaced_max = 0;
    s->volume.waited += s->dt;
    s->band.swallow_left = fmax(0, s->band.swallow_left - s->dt);
    if (s->band.swallow_left == 0) s->band.swallowed_count = 0;
    s->volume.weighs = due(s);
}

BrimResult stage_weigh(BrimSim *s, BrimError *error) {
    if (!s->volume.again && !s->volume.settling) begin(s);
    if (!s->volume.weighs) return BRIM_OK;
    bool mends = s->def.volume != BRIM_VOLUME_DENSITY;
    if (!density_measure(s, mends ? s->compression : s->density)) return out_of_memory(s, error);
    density_wet(s, s->weighed);
    if (mends) { // the error joins the pressure's right-hand side
        measure_errors(s, s->compression, s->weighed, &s->stats.density_error_mean,
                       &s->stats.density_error_max);
        return BRIM_OK;
    }
    if (!push_out_find(s, &s->volume.inside)) return out_of_memory(s, error);
    if (bodies_immersed(s) && !immersed_remember(s)) return out_of_memory(s, error);
    if (!s->volume.settling) redistribute(s);
    return BRIM_OK;
}

bool density_moves(const BrimSim *s) {
    return s->volume.weighs && s->def.volume == BRIM_VOLUME_DENSITY;
}

static void mark_tile(BrimSim *s, int slot, int thread, void *context) {
    s->weighed_at[slot] = mask_any(&s->grid, s->weighed, slot);
}

/// => weighed_at, and the system that stands for it. False: out of memory.
static bool find_places(BrimSim *s) {
    int count = 0;
    tiles_for(s, mark_tile, NULL);
    for (int t = 0; t < s->grid.tile_count; t++)
        if (s->weighed_at[t]) s->weighed_at[t] = ++count;
    return system_begin(s, s->weighed_at);
}

BrimResult stage_spread(BrimSim *s, BrimError *error) {
    Errors errors = {.q = s->potential, .tile = s->errors};
    if (!find_places(s) || !(s->warp || inlets_find(s, NULL, false)))
        return out_of_memory(s, error);
    tiles_for(s, prepare_tile, &errors);
    s->volume.found = add_errors(errors.tile, s->grid.tile_count);
    if (!s->volume.again && !s->volume.settling) // what the step made of the density
        report_errors(&s->volume.found, &s->stats.density_error_mean, &s->stats.density_error_max);
    return solve(s, s->potential, error);
}

BrimResult stage_shift(BrimSim *s, BrimError *error) {
    VolumeState *v = &s->volume;
    if (!fields_take(s, FIELD_shift)) return out_of_memory(s, error);
    if (!s->warp && !convey_hold(s)) return out_of_memory(s, error);
    move_particles(s, s->potential);
    if (!s->warp) convey_restore(s);
    if (bodies_immersed(s)) immersed_restore(s);
    if (has_band(s) && !band_swallow(s)) return out_of_memory(s, error);
    if (v->settling) return BRIM_OK;
    v->travelled -= 1; // a projection mends what a step of a cell may bring
    v->again = !s->warp && v->travelled > 0 && v->found.waiting > WAITING_MAX * v->found.cells;
    if (v->again) return BRIM_OK;
    v->travelled = v->waited = 0;
    v->crowded = v->inside > 0 || v->moved > STRIDE || v->found.sum > MEAN_MAX * v->found.cells;
    return BRIM_OK;
}

/// Whether a step ends a frame at which the errors are measured once more. That takes as long as a
/// fifth of a projection, so with large steps it is not each frame.
static bool due_after(const BrimSim *s) {
    enum { STEPS_BETWEEN = 10 };
    double frames = ceil(STEPS_BETWEEN * s->dt * s->def.frame_rate - 1e-3); // but for rounding
    return s->time >= s->def.duration || fmod(s->frame, fmax(frames, 1)) == 0;
}

/// The mean of a block's cells, with a halo of 1, and their neighbours, by 1/4, 1/2, 1/4 along each
/// axis. => [tile_cells]
static void mean_around(const float *block, int dim, float *out) {
    enum { EDGE = TILE + 2 };
    float along_x[EDGE * EDGE * TILE], along_y[EDGE * TILE * TILE];
    int depth = dim == 3 ? EDGE : 1;
    for (int r = 0; r < depth * EDGE; r++)
        for (int x = 0; x < TILE; x++) {
            const float *at = block + r * EDGE + x;
            along_x[r * TILE + x] = 0.25f * (at[0] + at[2]) + 0.5f * at[1];
        }
    float *to = dim == 3 ? along_y : out;
    for (int z = 0; z < depth; z++)
        for (int i = 0; i < TILE * TILE; i++) {
            const float *at = along_x + z * EDGE * TILE + i;
            to[z * TILE * TILE + i] = 0.25f * (at[0] + at[2 * TILE]) + 0.5f * at[TILE];
        }
    for (int i = 0; i < TILE * TILE * TILE && dim == 3; i++) {
        const float *at = along_y + i;
        out[i] = 0.25f * (at[0] + at[2 * TILE * TILE]) + 0.5f * at[TILE * TILE];
    }
}

/// What a tile holds beyond the room that there is, cells. context: [tiles]
static void press_tile(BrimSim *s, int slot, int thread, void *context) {
    const Grid *g = &s->grid;
    float *block = s->scratch[thread].block[0], mean[TILE * TILE * TILE], most = 0;
    double *pressed = (double *)context + slot;
    *pressed = 0;
    if (!particles_near(s, slot)) return;
    const float *here = s->settled + (size_t)slot * (size_t)g->tile_cells;
    for (int i = 0; i < g->tile_cells; i++) most = here[i] > most ? here[i] : most;
    if (most <= 1) return; // as in spray
    block_load(g, slot, s->settled, PLACE_CELL, &s->sides, 1, 0, block);
    mean_around(block, s->dim, mean);
    TileMask body = bodies_immersed(s) ? mask_load(g, s->rigid, slot) : (TileMask){{0}};
    for (int r = 0; r < g->tile_rows; r++) {
        float sum = 0;
        for (int x = 0; x < TILE; x++) {
            float over = mean[r * TILE + x] - 1;
            if (mask_bits(&body, r) >> x & 1) continue; // that is not liquid
            sum += over > 0 ? over : 0;
        }
        *pressed += sum;
    }
}

double density_pressed(BrimSim *s) {
    double sum = 0;
    tiles_for(s, press_tile, s->pressed);
    for (int t = 0; t < s->grid.tile_count; t++) sum += s->pressed[t];
    return sum;
}

/// Whether a step ends with a look at how much liquid has no room. That takes as long as a
/// twentieth of a step, so it is not each one.
static bool due_account(const BrimSim *s) {
    enum { STEPS_BETWEEN = 4 };
    return s->step % STEPS_BETWEEN == 1 || s->time >= s->def.duration;
}

BrimResult stage_weigh_after(BrimSim *s, BrimError *error) {
    bool frame_ends = s->time == (double)s->frame / s->def.frame_rate;
    bool errors = frame_ends && s->def.volume != BRIM_VOLUME_NONE && due_after(s);
    if (frame_ends && s->def.volume == BRIM_VOLUME_DENSITY &&
        !push_out_find(s, &s->stats.particles_in_solids))
        return out_of_memory(s, error);
    if (!errors && !due_account(s)) return BRIM_OK;
    if (!density_measure(s, s->settled)) return out_of_memory(s, error);
    if (bodies_immersed(s)) immersed_rigid(s);
    s->volume.pressed_cells = density_pressed(s);
    if (!errors) return BRIM_OK;
    density_wet(s, s->weighed);
    measure_errors(s, s->settled, s->weighed, &s->stats.density_error_mean_after,
                   &s->stats.density_error_max_after);
    return BRIM_OK;
}
