// What a run will cost, told before anything is spent.
#include "band/band.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/timer.h"
#include "bodies/bodies.h"
#include "emit/stream.h"
#include "forecast.h"
#include "sim.h"
#include "solid/trimesh.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void warn(BrimEstimate *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void warn(BrimEstimate *e, const char *format, ...) {
    enum { MOST = sizeof e->warnings / sizeof *e->warnings };
    if (e->warning_count >= MOST) return;
    va_list args;
    va_start(args, format);
    vsnprintf(e->warnings[e->warning_count++], sizeof *e->warnings, format, args);
    va_end(args);
}

// --------------------------------------------------------------------------------- warnings

static void warn_of_thin_walls(const BrimSim *s, BrimEstimate *e) {
    for (int i = 0; i < s->walls.solid_count; i++) {
        float thickness = solid_thickness(s->walls.solids[i]);
        if (thickness < s->dx * (1 - 1e-4f))
            warn(e,
                 "solids[%d]: %.3g m at its thinnest, less than a cell (%.3g m): water may leak "
                 "through; raise domain.cells or thicken it",
                 i, (double)thickness, (double)s->dx);
    }
}

/// A shape and the box to look for it in.
typedef struct Sampled {
    const Shape *shape;
    const float *low, *high;
} Sampled;

/// Part of a region that lies inside any of `count` solids at a time, by points spread over its
/// box; 0 when none of them is in the shape.
static double buried_part(const BrimSim *s, Sampled region, Solid *const *solids, int count,
                          double time) {
    enum { EDGE = 16 };
    int inside = 0, buried = 0;
    for (int row = 0; row < EDGE * (s->dim == 3 ? EDGE : 1); row++) {
        float at[3][EDGE] = {{0}}, shape[EDGE], distance[EDGE], nearest[EDGE];
        for (int i = 0; i < EDGE; i++)
            for (int a = 0; a < s->dim; a++) {
                int n = a == 0 ? i : a == 1 ? row % EDGE : row / EDGE;
                float part = ((float)n + 0.5f) / EDGE;
                at[a][i] = region.low[a] + part * (region.high[a] - region.low[a]);
            }
        shape_distance(region.shape, EDGE, at[0], at[1], at[2], shape);
        for (int i = 0; i < EDGE; i++) nearest[i] = INFINITY;
        for (int k = 0; k < count; k++) {
            if (!solid_exists(solids[k], time)) continue;
            solid_distance(solids[k], EDGE, at[0], at[1], at[2], distance);
            for (int i = 0; i < EDGE; i++) nearest[i] = fminf(nearest[i], distance[i]);
        }
        for (int i = 0; i < EDGE; i++)
            inside += shape[i] < 0, buried += shape[i] < 0 && nearest[i] < 0;
    }
    return inside ? (double)buried / inside : 0;
}

static bool turns(const BrimSolidDef *d) {
    if (d->motion == BRIM_MOTION_ROTATION) return d->rate != 0;
    if (d->motion == BRIM_MOTION_FORMULA) {
        for (int a = 0; a < 3; a++)
            if (d->turn_formula[a]) return true;
        return false;
    }
    for (int i = 1; i < d->keyframe_count; i++) {
        BrimVec3 a = d->keyframes[i - 1].rotation, b = d->keyframes[i].rotation;
        if (a.x != b.x || a.y != b.y || a.z != b.z) return true;
    }
    return false;
}

/// A union of shapes that say where they are turns about the domain's corner, unless it has a
/// position of its own.
static void warn_of_far_pivots(const BrimSim *s, const BrimSimDef *def, BrimEstimate *e) {
    for (int i = 0; i < def->solid_count && i < s->walls.solid_count; i++) {
        float low[3], high[3];
        const Shape *shape = solid_shape(s->walls.solids[i]);
        if (!shape || !turns(&def->solids[i]) || !shape_bounds(shape, low, high)) continue;
        double away2 = 0, size2 = 0;
        for (int a = 0; a < s->dim; a++) { // bounds are relative to the pivot
            double away = fmax(0, fmax((double)low[a], -(double)high[a]));
            double size = (double)high[a] - (double)low[a];
            away2 += away * away, size2 += size * size;
        }
        BrimVec3 p = def->solids[i].shape.position;
        if (away2 > 0.25 * size2)
            warn(e,
                 "solids[%d]: turns about (%g, %g, %g), which is far outside of it: to turn about "
                 "itself it needs a position, with its shapes placed around that",
                 i, (double)p.x, (double)p.y, (double)p.z);
    }
}

static void warn_of_buried_sources(const BrimSim *s, BrimEstimate *e) {
    for (int i = 0; i < s->source_count; i++) {
        const Source *source = &s->sources[i];
        Sampled region = {source->shape, source->low, source->high};
        bool told = false;
        for (int k = 0; k < s->walls.solid_count; k++) {
            double part = buried_part(s, region, &s->walls.solids[k], 1, source->def.start);
            if (part < 0.75) continue; // one that meets a bed or a wall is meant so
            told = true;
            warn(e,
                 "sources[%d]: %.0f %% of it lies inside solids[%d]: what is inside the solid is "
                 "not emitted",
                 i, 100 * part, k);
        }
        if (source->points == 0 && !told && !source_varies(source))
            warn(e, "sources[%d]: smaller than the spacing of the particles: it emits nothing", i);
    }
}

/// Of liquid that gave no particles. One that gave few may be the water of a narrow bed in rock.
static void warn_if_buried(const BrimSim *s, const Shape *shape, int index, BrimEstimate *e) {
    float low[3], high[3];
    if (!shape_bounds(shape, low, high)) return;
    for (int a = 0; a < s->dim; a++) {
        low[a] = fmaxf(low[a], 0);
        high[a] = fminf(high[a], (float)s->grid.cells[a] * s->dx);
    }
    if (buried_part(s, (Sampled){shape, low, high}, s->walls.solids, s->walls.solid_count, 0) >=
        0.99)
        warn(e, "liquid[%d]: lies inside solids: none of it is seeded", index);
}

static void warn_of_outside_liquid(const BrimSim *s, Shape **shapes, int count, BrimEstimate *e) {
    for (int i = 0; i < count; i++) {
        float low[3], high[3], size[3];
        if (!shape_bounds(shapes[i], low, high)) continue;
        bool beyond = false, outside = false;
        for (int a = 0; a < s->dim; a++) {
            size[a] = (float)s->grid.cells[a] * s->dx;
            float slack = 1e-3f * s->dx;
            beyond |= isfinite(low[a]) && isfinite(high[a]) &&
                      (low[a] < -slack || high[a] > size[a] + slack);
            outside |= high[a] <= 0 || low[a] >= size[a];
        }
        if (outside)
            warn(e, "liquid[%d]: lies outside the domain: none of it is seeded", i);
        else if (beyond)
            warn(e, "liquid[%d]: reaches beyond the domain: what is outside is not seeded", i);
    }
}

/// Part of a body's volume that its lattice may miss.
static const double CROSSING = 0.03;

/// A surface that crosses itself encloses some of its inside twice, or the wrong way round.
static void warn_of_crossing(const BrimSim *s, const BrimSimDef *def, BrimEstimate *e) {
    for (int i = 0; s->bodies && i < s->bodies->count && s->dim == 3; i++) {
        const BrimShapeDef *shape = &def->bodies[i].shape;
        Trimesh mesh = {0};
        if (shape->kind != BRIM_SHAPE_MESH || trimesh_load(shape->file, &mesh, NULL) != BRIM_OK)
            continue;
        double enclosed = fabs(trimesh_volume(&mesh)) * pow((double)shape->scale, 3);
        double part = enclosed / s->bodies->body[i].elastic->volume - 1;
        if (part > CROSSING)
            warn(e,
                 "bodies[%d]: the surface of %s crosses itself, or has parts inside one another: "
                 "%.0f %% of its inside is enclosed twice. It is counted once",
                 i, shape->file, 100 * part);
        else if (part < -CROSSING)
            warn(e,
                 "bodies[%d]: the surface of %s crosses itself: parts of it are turned inside out, "
                 "by %.0f %% of its inside. They are counted as the rest",
                 i, shape->file, -50 * part);
        trimesh_free(&mesh);
    }
}

/// Of steps that the scene makes longer than those of a CFL number may be.
static void warn_of_long_steps(const BrimSim *s, BrimEstimate *e) {
    bool fixed = s->def.step > 0;
    const char *key = fixed ? "time.step" : "time.step_min";
    double step = fixed ? s->def.step : s->def.step_min;
    if (step > step_for_tension(s))
        warn(e,
             "%s: longer than %.3g s, above which ripples of surface_tension grow at this size of "
             "cells",
             key, step_for_tension(s));
    if (step > step_for_waves(s))
        warn(e,
             "%s: longer than %.3g s, in which water falls one cell: the shortest waves overturn "
             "in each step and may gain energy",
             key, step_for_waves(s));
}

// ------------------------------------------------------------------------------------ costs

/// Steps of the whole run. By CFL: from the speed that a fall through the domain's height gives.
static double count_steps(const BrimSim *s) {
    double frames = brim_sim_frame_count(s);
    if (s->def.step > 0) return frames * ceil(1 / (s->def.frame_rate * s->def.step) - 1e-6);
    BrimVec3 g = s->def.gravity;
    double height = fmax(s->def.size.x * fabs((double)g.x), s->def.size.y * fabs((double)g.y));
    if (s->dim == 3) height = fmax(height, s->def.size.z * fabs((double)g.z));
    double speed = fmax(s->max_speed, sqrt(height)); // half of the fall, on average
    for (int i = 0; i < s->source_count; i++) {
        BrimVec3 v = s->sources[i].def.velocity;
        speed = fmax(speed, sqrt((double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z));
    }
    double per_frame = speed > 0 ? speed / (s->def.frame_rate * s->def.cfl * s->dx) : 1;
    if (s->def.step_max > 0) per_frame = fmax(per_frame, 1 / (s->def.frame_rate * s->def.step_max));
    return frames * fmax(1, ceil(per_frame));
}

/// Milliseconds a step and particle of a simulation's next steps.
static BrimResult time_steps(BrimSim *s, double *ms, BrimError *error) {
    enum { STEPS = 3 };
    BrimResult r = BRIM_OK;
    double best = INFINITY;
    for (int i = 0; i < STEPS && r == BRIM_OK; i++) {
        double begin = timer_ms();
        r = brim_sim_step(s, error);
        if (i) best = fmin(best, timer_ms() - begin); // the first one primes and allocates
    }
    if (r == BRIM_OK && s->particles.count) *ms = best / (double)s->particles.count;
    return r;
}

/// Milliseconds a step and particle of a block of water a few steps into its fall, with the scene's
/// own methods.
static BrimResult time_block(const BrimSim *s, double *ms, BrimError *error) {
    enum { CELLS_3D = 40, CELLS_2D = 160 };
    int n = s->dim == 3 ? CELLS_3D : CELLS_2D;
    BrimLiquidDef water = {.shape = brim_default_shape_def()};
    float edge = (float)n * s->dx;
    water.shape.kind = BRIM_SHAPE_BOX;
    water.shape.size = (BrimVec3){0.5f * edge, 0.6f * edge, edge};
    water.shape.position = (BrimVec3){0.25f * edge, 0.3f * edge, 0.5f * edge};
    BrimSimDef def = s->def;
    def.size = (BrimVec3){edge, edge, edge};
    def.cells[0] = def.cells[1] = def.cells[2] = n;
    if (s->dim == 2) def.cells[2] = 1, water.shape.position.z = 0;
    def.liquid = &water, def.liquid_count = 1;
    def.memory_limit = 0; // the block may be larger than the scene
    for (int i = 0; i < 6; i++) def.sides[i] = BRIM_SIDE_WALL;
    BrimSim *block = NULL;
    BrimResult r = brim_sim_create(&def, &block, error);
    if (r == BRIM_OK) r = time_steps(block, ms, error);
    brim_sim_destroy(&block);
    return r;
}

/// What the scene as it was built tells of its own steps: shallow water over rough ground takes
/// several times as long as a block, and so do bodies. Only where it begins with enough particles
/// for that and not with too many; a band that was looked at may not be started again.
static void time_scene(BrimSim *s, const BrimSimDef *def, Shape **shapes, double seeded,
                       double *ms) {
    enum { ENOUGH = 20000, TOO_MANY = 1000000 };
    double own = 0; // stays 0 when the scene's own steps fail: that is for the run to tell
    if (!(seeded > ENOUGH && seeded < TOO_MANY) || has_band(s)) return;
    if (sim_seed(s, def, shapes, NULL) == BRIM_OK) (void)time_steps(s, &own, NULL);
    *ms = fmax(*ms, own);
}

/// Bytes of a frame of all bodies: position, normal and velocity of vertices, triangles, a row of
/// text each.
static double body_frame(const BrimSim *s) {
    double sum = 0;
    BrimBodySurface surface;
    for (int i = 0; i < brim_sim_body_count(s); i++)
        if (brim_sim_body_surface(s, i, &surface, NULL) == BRIM_OK)
            sum +=
                36.0 * (double)surface.vertex_count + 13.0 * (double)surface.triangle_count + 300;
    return s->dim == 2 ? 2 * sum : sum; // 2D: slices with two sides
}

/// Bytes of frames, of checkpoints as at the end, and of statistics. `hidden`: cells below a band
static double disk_bytes(const BrimSim *s, const Forecast *f, double tiles, double steps,
                         double hidden) {
    double particles = f->particles;
    const BrimOutputDef *o = &s->def.output;
    double frames = floor(brim_sim_frame_count(s) / fmax(1, o->every)) + 1;
    double cells = (double)s->grid.cells[0] * s->grid.cells[1] * s->grid.cells[2];
    double numbers = 0; // of a particle in frames
    for (int row = 0; row < ROW_COUNT; row++)
        if (attribute_rows[row].frame && particles_carry(&s->particles, row))
            numbers += attribute_rows[row].numbers;
    double frame = (o->particles ? 4 * numbers * particles : 0) + (o->fields ? 24 * cells : 0);
    if (o->particles && (o->interior || o->foam)) frame += sizeof(BrimInterior) * hidden;
    frame += body_frame(s);
    // of spray, foam and bubbles 41 bytes each, for ParaView as many again
    if (o->foam) frame += (o->paraview ? 82 : 41) * f->foam;
    // without a coarse run: a splash has about a vertex for three particles at twice the
    // resolution. 62 bytes with its two triangles, as text 140
    double vertices = f->vertices >= 0
                          ? f->vertices
                          : particles * o->surface_resolution * o->surface_resolution / 12;
    if (o->surface != BRIM_SURFACE_OUTPUT_NONE)
        frame += vertices * (o->surface == BRIM_SURFACE_OUTPUT_OBJ ? 140 : 62);
    // for ParaView 8 bytes a particle more than that and 68 a vertex
    if (o->paraview)
        frame += (4 * numbers + 8) * particles +
                 (o->surface == BRIM_SURFACE_OUTPUT_PLY ? 68 * vertices : 0);
    // a level set has about five voxels a vertex of its surface, a velocity an eighth of the
    // particles' number of cells and some more around; both are compressed a little
    if (o->vdb) frame += 20 * vertices + 2 * particles;
    double checkpoint =
        4 * particle_numbers(&s->particles) * f->last + 16 * tiles * s->grid.tile_cells;
    double rows = 0; // of gauges, about 40 bytes each
    for (int i = 0; i < s->gauge_count; i++)
        rows += s->gauges[i].rate > 0 ? s->gauges[i].rate * s->def.duration : steps;
    return frames * frame + 2 * checkpoint + 370 * steps + 40 * rows;
}

/// An integer, the largest that there is for what is larger.
static int64_t whole(double value) {
    return value < 0x1p63 ? (int64_t)value : INT64_MAX;
}

BrimResult brim_estimate(const BrimSimDef *def, bool calibrated, BrimEstimate *estimate,
                         BrimError *error) {
    BrimSim *s = NULL;
    Shape **shapes = NULL;
    NEED(estimate, error);
    *estimate = (BrimEstimate){0};
    NEED(def, error);
    double begin = timer_ms();
    BrimResult r = sim_build(def, &s, &shapes, error);
    if (r != BRIM_OK) return r;
    double build = timer_ms() - begin;
    uint8_t *tiles = memory_zero(grid_box(&s->grid));
    double *rate = calloc((size_t)s->source_count + 1, sizeof *rate);
    if (!tiles || !rate) r = fail(error, BRIM_ERROR_MEMORY, "out of memory");
    double particles = 0, hidden = 0, emitted = 0, mean = 0;
    for (int i = 0; i < def->liquid_count && r == BRIM_OK; i++) {
        int64_t seeded = emit_count(s, &def->liquid[i], (const Shape *const *)shapes, i, 0, tiles);
        if (seeded == 0) warn_if_buried(s, shapes[i], i, estimate);
        particles += (double)seeded;
    }
    for (int i = 0; i < s->source_count && r == BRIM_OK; i++) {
        const BrimSourceDef *d = &s->sources[i].def;
        double span = fmin(d->stop, s->def.duration) - fmax(d->start, 0);
        double from = fmax(d->start, 0), come = stream_amount(s, &s->sources[i], from, from + span);
        rate[i] = span > 0 ? come / span : 0;
        // there from the middle of its time on, on average
        double middle = fmax(d->start, 0) + 0.5 * fmax(span, 0);
        emitted += come, mean += come * fmax(0, 1 - middle / s->def.duration);
    }
    if (r == BRIM_OK) {
        double tile_count = (double)sim_dilate(s, tiles);
        // Below a band there are none; to tell how many that are takes the tiles' memory.
        BrimError none;
        if (has_band(s) && sim_check_memory(s, 0, tile_count, &none) == BRIM_OK &&
            band_start(s, def->liquid, (const Shape *const *)shapes, def->liquid_count, tiles))
            hidden = band_hidden_particles(s);
        particles -= hidden;
        // What is emitted fills tiles of its own.
        tile_count += 2 * emitted / ((double)s->grid.tile_cells * s->def.particles_per_cell);
        Forecast f = {count_steps(s), particles + mean, particles + emitted, -1, 0};
        Supply supply = {particles, rate};
        bool fixed = s->def.step > 0;
        double steps = f.steps, all = particles + emitted, ms = 0;
        if (calibrated && all > 0 && forecast_helps(def) &&
            sim_check_memory(s, all, tile_count, &none) == BRIM_OK &&
            forecast_run(def, &supply, &f) && !fixed)
            steps = f.steps;
        estimate->particles = whole(all);
        estimate->tiles = whole(tile_count);
        estimate->memory_bytes = whole(sim_memory(s, all, tile_count));
        estimate->disk_bytes =
            whole(disk_bytes(s, &f, tile_count, steps, hidden / def->particles_per_cell));
        estimate->steps = whole(steps);
        if (!(all > 0))
            warn(estimate, "no water ever comes: there is no liquid at the start, and no source "
                           "emits before the end");
        warn_of_thin_walls(s, estimate);
        warn_of_crossing(s, def, estimate);
        warn_of_long_steps(s, estimate);
        warn_of_buried_sources(s, estimate);
        warn_of_far_pivots(s, def, estimate);
        warn_of_outside_liquid(s, shapes, def->liquid_count, estimate);
        r = sim_check_memory(s, all, tile_count, error);
        if (calibrated && r == BRIM_OK) r = time_block(s, &ms, error);
        if (calibrated && r == BRIM_OK) {
            time_scene(s, def, shapes, particles, &ms); // the last: from here on it is a run
            estimate->seconds = 1e-3 * (build + ms * steps * f.particles);
        }
    }
    free(tiles), free(rate);
    sim_free_shapes(&shapes, def->liquid_count);
    brim_sim_destroy(&s);
    return r;
}
