// Making, stepping and looking into a simulation.
#include "sim.h"
#include "band/band.h"
#include "base/error.h"
#include "base/memory.h"
#include "bodies/bodies.h"
#include "emit/convey.h"
#include "emit/stream.h"
#include "gauge/gauge.h"
#include "liquid/force_fields.h"
#include "projection/inlet.h"
#include "scene/check.h"
#include "scene/def_hash.h"
#include "sim_cache.h"
#include "step/guard.h"
#include "step/scatter.h"
#include "surface/track.h"
#include "volume/density.h"
#include "warp/stage.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *brim_version(void) {
    return BRIM_VERSION_STRING;
}

// ----------------------------------------------------------------------------------- create

/// Puts the item of the def's list, which is a key of the scene, before a message.
static BrimResult of_item(BrimResult r, const char *list, int index, BrimError *error) {
    if (r == BRIM_OK || !error || strncmp(error->message, list, strlen(list)) == 0) return r;
    BrimError plain = *error;
    return fail(error, r, "%s[%d]: %.960s", list, index, plain.message);
}

static BrimResult build_formulas(BrimSim *s, const BrimSimDef *def, BrimError *error) {
    BrimResult r = BRIM_OK;
    s->flows = calloc((size_t)def->liquid_count + 1, sizeof *s->flows);
    if (!s->flows) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < def->liquid_count && r == BRIM_OK; i++, s->flow_count++)
        r = of_item(flow_new(&s->flows[i], &def->liquid[i], s->dim, error), "liquid", i, error);
    for (int a = 0; a < s->dim && r == BRIM_OK; a++)
        if (def->gravity_formula[a])
            r = formula_new(def->gravity_formula[a], &def->names, FORMULA_T, &s->gravity_formula[a],
                            error);
    return r;
}

static BrimResult build_shapes(BrimSim *s, const BrimSimDef *def, Shape ***shapes,
                               BrimError *error) {
    *shapes = calloc((size_t)def->liquid_count + 1, sizeof **shapes);
    if (!*shapes) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < def->liquid_count; i++) {
        BrimResult r = shape_new(&def->liquid[i].shape, s->dim, s->dx, &(*shapes)[i], error);
        if (r != BRIM_OK) return of_item(r, "liquid", i, error);
    }
    return BRIM_OK;
}

static BrimResult build_solids(BrimSim *s, const BrimSimDef *def, BrimError *error) {
    s->walls.solids = calloc((size_t)def->solid_count + 1, sizeof *s->walls.solids);
    if (!s->walls.solids) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < def->solid_count; i++) {
        BrimResult r = solid_new(&def->solids[i], s->dim, s->dx, &s->walls.solids[i], error);
        if (r != BRIM_OK) return of_item(r, "solids", i, error);
        s->walls.solid_count++;
        if (!solid_place(s->walls.solids[i], 0, 0))
            return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    }
    return BRIM_OK;
}

static BrimResult build_sources(BrimSim *s, const BrimSimDef *def, BrimError *error) {
    s->sources = calloc((size_t)def->source_count + 1, sizeof *s->sources);
    s->drains = calloc((size_t)def->drain_count + 1, sizeof *s->drains);
    s->host.origins = def->liquid_count + def->source_count;
    if (!s->sources || !s->drains) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < def->source_count; i++) {
        Source *source = &s->sources[s->source_count++];
        source->def = def->sources[i];
        BrimResult r = shape_new(&source->def.shape, s->dim, s->dx, &source->shape, error);
        source->origin = (uint32_t)(def->liquid_count + i);
        if (r == BRIM_OK) r = stream_new_source(s, source, error);
        if (r == BRIM_OK) r = emit_prepare(s, source, i, error);
        if (r != BRIM_OK) return of_item(r, "sources", i, error);
    }
    for (int i = 0; i < def->drain_count; i++) {
        Drain *drain = &s->drains[s->drain_count++];
        drain->def = def->drains[i];
        BrimResult r = shape_new(&drain->def.shape, s->dim, s->dx, &drain->shape, error);
        if (r == BRIM_OK) r = stream_new_drain(s, drain, error);
        if (r != BRIM_OK) return of_item(r, "drains", i, error);
        shape_bounds(drain->shape, drain->low, drain->high);
    }
    return streams_place(s, 0, 0, error);
}

/// Whether particles differ in mass: liquids or sources have a density of their own, or bodies are
/// full of particles.
static bool masses_differ(const BrimSimDef *def) {
    bool differ = false;
    for (int i = 0; i < def->liquid_count; i++) differ |= def->liquid[i].density > 0;
    for (int i = 0; i < def->source_count; i++) differ |= def->sources[i].density > 0;
    for (int i = 0; i < def->body_count; i++)
        differ |= def->bodies[i].coupling == BRIM_COUPLING_IMMERSED;
    return differ;
}

/// What there is that gives particles an attribute, bits 1 << AttributeWhen.
static uint32_t attributes_when(const BrimSim *s, const BrimSimDef *def) {
    return (uint32_t)(def->transfer == BRIM_TRANSFER_APIC) << ATTRIBUTE_APIC |
           (uint32_t)(def->warp > 0 || def->nodal) << ATTRIBUTE_WARP |
           (uint32_t)(def->tracking != BRIM_TRACKING_OFF) << ATTRIBUTE_TRACKED |
           (uint32_t)has_spray(s) << ATTRIBUTE_SPRAY |
           (uint32_t)masses_differ(def) << ATTRIBUTE_MATERIAL;
}

/// The def's numbers in the form in which the stages use them.
static BrimResult build_numbers(BrimSim *s, const BrimSimDef *def, BrimError *error) {
    s->def = *def;
    s->def_hash = def_hash(def);
    s->isa = isa_choose(def->isa);
    s->threads_most = team_size(def->threads);
    s->team = team_new(s->threads_most);
    s->dim = def->dim;
    s->dx = def->size.x / (float)def->cells[0];
    s->inv_dx = (float)def->cells[0] / def->size.x;
    for (int i = 0; i < 6; i++) s->sides.open[i] = def->sides[i] == BRIM_SIDE_OPEN;
    s->cell_volume = def->dim == 3 ? pow(s->dx, 3) : pow(s->dx, 2);
    s->particle_mass = def->density * s->cell_volume / def->particles_per_cell;
    s->transfer = transfer_kernels_for(s->isa);
    s->band.kernels = def->band_width > 0 ? band_kernels_for(s->isa) : NULL;
    s->volume.kernels = density_kernels_for(s->isa);
    s->volume.ramp = density_ramp(def);
    s->level_set = level_set_kernels_for(s->isa);
    s->faces = face_kernels_for(s->isa);
    s->viscosity.kernels = def->viscosity > 0 ? viscosity_kernels_for(s->isa) : NULL;
    s->profile = level_set_profile(s->dim);
    s->particles.carries = attributes_wanted(attributes_when(s, def), def->attributes);
    if (def->tracking != BRIM_TRACKING_OFF) {
        s->tracking.kernels = track_kernels_for(s->isa);
        s->tracking.planes = plane_kernels_for(s->isa);
    }
    s->gravity_keys = calloc((size_t)def->gravity_key_count + 1, sizeof *s->gravity_keys);
    s->scratch = memory_zero((size_t)s->threads_most * sizeof *s->scratch);
    s->projection.poisson = s->team ? poisson_new(s->isa, s->team, &s->work) : NULL;
    if (!s->gravity_keys || !s->scratch || !s->projection.poisson)
        return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    if (def->gravity_key_count)
        memcpy(s->gravity_keys, def->gravity_keys,
               (size_t)def->gravity_key_count * sizeof *s->gravity_keys);
    return BRIM_OK;
}

/// With what is kept of them in the cache, if there is one.
static BrimResult build_bodies(BrimSim *s, const BrimSimDef *def, BrimError *error) {
    if (!def->cache) return bodies_new(s, def, NULL, error);
    BodyKey *keys = memory_zero((size_t)def->body_count * sizeof *keys);
    if (!keys) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < def->body_count; i++) keys[i] = body_key(def, &def->bodies[i]);
    BodyStore store = {keys, (void *)def->cache, cache_get, cache_put};
    BrimResult r = bodies_new(s, def, &store, error);
    free(keys);
    return r;
}

BrimResult sim_build(const BrimSimDef *def, BrimSim **sim, Shape ***shapes, BrimError *error) {
    *sim = NULL;
    *shapes = NULL;
    BrimResult r = def_check(def, error);
    if (r != BRIM_OK) return r;
    BrimSim *s = calloc(1, sizeof *s);
    if (!s) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    const int cells[3] = {def->cells[0], def->cells[1], def->dim == 3 ? def->cells[2] : 1};
    r = build_numbers(s, def, error);
    if (r == BRIM_OK) r = grid_init(&s->grid, def->dim, cells, error);
    if (r == BRIM_OK) s->stage = AT_REST, fields_plan(s);
    if (r == BRIM_OK && !sort_init(&s->sort, &s->grid, s->isa))
        r = fail(error, BRIM_ERROR_MEMORY, "out of memory for a box of %zu tiles",
                 grid_box(&s->grid));
    if (r == BRIM_OK && (def->warp > 0 || def->nodal)) r = warp_create(s, error);
    if (r == BRIM_OK) r = build_formulas(s, def, error);
    if (r == BRIM_OK) r = build_solids(s, def, error);
    if (r == BRIM_OK && def->body_count > 0) r = build_bodies(s, def, error);
    if (r == BRIM_OK) r = build_sources(s, def, error);
    if (r == BRIM_OK) r = force_fields_new(s, def, error);
    if (r == BRIM_OK) r = gauges_copy(s, def, error);
    if (r == BRIM_OK) r = build_shapes(s, def, shapes, error);
    if (r != BRIM_OK) {
        sim_free_shapes(shapes, def->liquid_count);
        brim_sim_destroy(&s);
        return r;
    }
    // The lists are the caller's: what is needed of them lives on in the members.
    s->def.liquid = NULL, s->def.liquid_count = 0;
    s->volume.crowded = true; // nobody has looked yet
    s->def.solids = NULL, s->def.solid_count = 0;
    s->def.bodies = NULL, s->def.body_count = 0, s->def.cache = NULL;
    s->def.sources = NULL, s->def.source_count = 0;
    s->def.drains = NULL, s->def.drain_count = 0;
    s->def.gauges = NULL, s->def.gauge_count = 0;
    s->def.forces = NULL, s->def.force_count = 0;
    s->def.gravity_keys = s->gravity_keys;
    memset((void *)s->def.gravity_formula, 0, sizeof s->def.gravity_formula);
    memset((void *)s->def.focus_formula, 0, sizeof s->def.focus_formula);
    s->def.focus_field = NULL;
    s->def.names = (BrimNames){0};
    s->def.threads = s->threads_most, s->def.isa = s->isa;
    *sim = s;
    return BRIM_OK;
}

void sim_free_shapes(Shape ***shapes, int count) {
    for (int i = 0; *shapes && i < count; i++) shape_free(&(*shapes)[i]);
    free(*shapes);
    *shapes = NULL;
}

double sim_memory(const BrimSim *s, double particles, double tiles) {
    // fields; first particles of cells; the solver's coarser levels; tables and masks of particles
    double per_tile = (double)fields_bytes_a_tile(s) + (4 + 8) * s->grid.tile_cells + 160;
    if (s->viscosity.kernels)
        per_tile += 4 * 9 * s->dim * s->grid.tile_cells; // solvers of its components
    // operator and vectors of the nodal pressure
    if (s->warp) per_tile += (s->dim == 3 ? 136 : 100) * s->grid.tile_cells;
    double block =
        4.0 * (s->dim == 3 ? SCATTER_3D + 6 * SCATTER_SIDE_3D : SCATTER_2D + 4 * SCATTER_SIDE_2D);
    // blocks of three layers at a time, or as many as keep the threads busy
    double blocks = s->warp ? tiles : tiles * fmin(1, 3.0 / s->grid.tiles[s->dim - 1]);
    blocks = fmax(blocks, fmin(tiles, (double)scatter_wave(s->threads_most)));
    double work = fmax(blocks * block, tiles * 4.0 * POISSON_ROOM * s->grid.tile_cells);
    double per_particle =
        4 * particle_numbers(&s->particles) + 12 + 1; // attributes; key, order, spare; movers
    return 9 * (double)grid_box(&s->grid) + tiles * per_tile + work + particles * per_particle +
           (double)s->threads_most * sizeof(ThreadScratch);
}

double sim_memory_limit(const BrimSim *s) {
    if (s->def.memory_limit > 0) return s->def.memory_limit;
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/// "3.2 MiB"
static const char *show_bytes(double bytes, char out[32]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (bytes >= 1000 && unit < 3) bytes /= 1024, unit++;
    snprintf(out, 32, "%.3g %s", bytes, units[unit]);
    return out;
}

BrimResult sim_check_memory(const BrimSim *s, double particles, double tiles, BrimError *error) {
    double need = sim_memory(s, particles, tiles), limit = sim_memory_limit(s);
    if (particles > (double)UINT32_MAX - 16)
        return fail(error, BRIM_ERROR_MEMORY,
                    "%.0f particles are more than the 2^32 that Brim can name: use fewer cells or "
                    "particles.per_cell",
                    particles);
    if (need <= limit) return BRIM_OK;
    char wanted[32], there[32];
    return fail(error, BRIM_ERROR_MEMORY,
                "%.0f or more particles on %.0f tiles need about %s and %s are there: lower "
                "domain.cells, particles.per_cell or a liquid's particles",
                particles, tiles, show_bytes(need, wanted), show_bytes(limit, there));
}

size_t sim_dilate(const BrimSim *s, uint8_t *tiles) {
    const Grid *g = &s->grid;
    size_t i = 0, count = 0;
    for (int z = 0; z < g->tiles[2]; z++)
        for (int y = 0; y < g->tiles[1]; y++)
            for (int x = 0; x < g->tiles[0]; x++, i++) {
                if (tiles[i] != 1) continue;
                for (int n = 0; n < 27; n++) {
                    int at[3] = {x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1};
                    bool in = true;
                    for (int a = 0; a < 3; a++) in &= at[a] >= 0 && at[a] < g->tiles[a];
                    if (!in) continue;
                    uint8_t *t = &tiles[grid_box_index(g, at[0], at[1], at[2])];
                    if (!*t) *t = 2;
                }
            }
    for (i = 0; i < grid_box(g); i++) count += tiles[i] != 0;
    return count;
}

static double seeded_speed(const BrimSim *s) {
    float fastest = 0;
    for (size_t i = 0; i < s->particles.count; i++) {
        float v2 = 0;
        for (int a = 0; a < 3; a++) {
            float v = s->particles.attr[ATTR_VX + a][i];
            v2 += v * v;
        }
        fastest = fmaxf(fastest, v2);
    }
    return sqrt((double)fastest);
}

BrimResult sim_seed(BrimSim *s, const BrimSimDef *def, Shape **shapes, BrimError *error) {
    uint8_t *tiles = memory_zero(grid_box(&s->grid));
    if (!tiles) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
    int64_t count = 0;
    const Shape *const *regions = (const Shape *const *)shapes;
    // What does not fit by its particles alone need not be counted to the end.
    int64_t most = (int64_t)fmin(sim_memory_limit(s) / sizeof(float[7]), 1e15) + 1;
    for (int i = 0; i < def->liquid_count && count <= most; i++)
        count += emit_count(s, &def->liquid[i], regions, i, most, tiles);
    size_t tile_count = sim_dilate(s, tiles);
    BrimResult r = sim_check_memory(s, has_band(s) ? 0 : (double)count, (double)tile_count, error);
    if (r == BRIM_OK && has_band(s)) {
        if (band_start(s, def->liquid, regions, def->liquid_count, tiles)) {
            count -= (int64_t)band_hidden_particles(s);
            r = sim_check_memory(s, (double)count, (double)tile_count, error);
        } else {
            r = fail(error, BRIM_ERROR_MEMORY, "out of memory for %zu tiles", tile_count);
        }
    }
    free(tiles);
    if (r != BRIM_OK) return r;
    if (count < 0) count = 0;
    bool ok = particles_reserve(&s->particles, (size_t)count + 1);
    for (int i = 0; i < def->liquid_count && ok; i++)
        ok = emit_liquid(s, &def->liquid[i], regions, i);
    if (!ok)
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for %lld particles", (long long)count);
    r = flow_check(&s->particles, 0, error);
    if (r != BRIM_OK) return r;
    s->max_speed = seeded_speed(s);
    s->dt = s->dt_next = choose_dt(s, s->time, s->frame);
    if (!sort_particles(s)) return fail(error, BRIM_ERROR_MEMORY, "out of memory for the grid");
    if (has_band(s) && !s->warp) band_start_velocity(s, def->liquid, regions, def->liquid_count);
    if (s->warp && (r = warp_start(s, def->liquid, regions, def->liquid_count, error)) != BRIM_OK)
        return r;
    if (s->tracking.kernels) track_start(s, regions, def->liquid_count);
    if (!s->warp && !find_surface(s))
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the surface");
    return stage_measure(s, error);
}

BrimResult brim_sim_create(const BrimSimDef *def, BrimSim **sim, BrimError *error) {
    Shape **shapes;
    NEED(sim, error);
    *sim = NULL;
    NEED(def, error);
    BrimResult r = sim_build(def, sim, &shapes, error);
    if (r != BRIM_OK) return r;
    r = sim_seed(*sim, def, shapes, error);
    sim_free_shapes(&shapes, def->liquid_count);
    if (r != BRIM_OK) brim_sim_destroy(sim);
    return r;
}

void brim_sim_destroy(BrimSim **sim) {
    if (!sim || !*sim) return;
    BrimSim *s = *sim;
    for (int i = 0; i < s->walls.solid_count; i++) solid_free(&s->walls.solids[i]);
    bodies_free(s);
    for (int i = 0; i < s->source_count; i++)
        shape_free(&s->sources[i].shape), stream_free_source(&s->sources[i]);
    for (int i = 0; i < s->drain_count; i++)
        shape_free(&s->drains[i].shape), stream_free_drain(&s->drains[i]);
    force_fields_free(s);
    free(s->walls.solids);
    free(s->walls.pending);
    free(s->walls.pending_placed);
    free(s->sources);
    inlets_free(s);
    convey_free(s);
    free(s->drains);
    free(s->gravity_keys);
    for (int i = 0; i < s->flow_count; i++) flow_free(&s->flows[i]);
    free(s->flows);
    for (int a = 0; a < 3; a++) formula_free(&s->gravity_formula[a]);
    free(s->settings);
    gauges_free(s);
    for (int i = 0; s->scratch && i < s->threads_most; i++) free(s->scratch[i].risen);
    free(s->scratch);
    warp_destroy(s);
    guard_leave(s);
    fields_free(s);
    particles_free(&s->particles);
    particles_free(&s->waiting);
    spray_free(s);
    mpm_free(s);
    sort_free(&s->sort);
    grid_free(&s->grid);
    poisson_free(&s->projection.poisson);
    grid_free(&s->projection.system);
    for (int a = 0; a < 3; a++) poisson_free(&s->viscosity.component[a]);
    team_free(&s->team);
    free(s);
    *sim = NULL;
}

// ------------------------------------------------------------------------------------- step

BrimResult sim_check_intact(const BrimSim *s, BrimError *error) {
    if (!s->lost) return BRIM_OK;
    return fail(error, s->lost, "the simulation was lost in step %lld: destroy it",
                (long long)s->step + 1);
}

static BrimResult take_step(BrimSim *s, BrimError *error) {
    BrimResult r = sim_check_intact(s, error);
    if (r != BRIM_OK) return r;
    r = step_run(s, error);
    if (r < 0) s->lost = r;
    return r;
}

BrimResult brim_sim_step(BrimSim *sim, BrimError *error) {
    NEED(sim, error);
    return take_step(sim, error);
}

BrimResult brim_sim_advance_frame(BrimSim *sim, BrimError *error) {
    NEED(sim, error);
    BrimResult r = BRIM_OK;
    for (int frame = sim->frame; r == BRIM_OK && sim->frame == frame;) r = take_step(sim, error);
    return r;
}

// ------------------------------------------------------------------------------------- look

double brim_sim_time(const BrimSim *sim) {
    return sim ? sim->time : 0;
}

int64_t brim_sim_step_count(const BrimSim *sim) {
    return sim ? sim->step : 0;
}

int brim_sim_frame(const BrimSim *sim) {
    return sim ? sim->frame : 0;
}

int brim_sim_frame_count(const BrimSim *sim) {
    if (!sim) return 0;
    return (int)ceil(sim->def.duration * sim->def.frame_rate - 1e-6);
}

const BrimSimDef *brim_sim_def(const BrimSim *sim) {
    return sim ? &sim->def : NULL;
}

int brim_sim_threads(const BrimSim *sim) {
    return sim ? sim->threads_most : 0;
}

const char *brim_sim_isa_name(const BrimSim *sim) {
    return sim ? isa_name(sim->isa) : "";
}

BrimParticles brim_sim_particles(const BrimSim *sim) {
    if (!sim) return (BrimParticles){0};
    const Particles *p = &sim->particles;
    BrimParticles all = {.count = p->count + (size_t)sim->spray.count,
                         .spray = (size_t)sim->spray.count,
                         .x = p->attr[ATTR_X],
                         .y = p->attr[ATTR_Y],
                         .z = p->attr[ATTR_Z],
                         .vx = p->attr[ATTR_VX],
                         .vy = p->attr[ATTR_VY],
                         .vz = p->attr[ATTR_VZ],
                         .id = particle_words(p, ATTR_ID)};
    if (sim->warp)
        all.x = sim->warp->space[0], all.y = sim->warp->space[1], all.z = sim->warp->space[2];
    for (int row = 0; row < ROW_COUNT; row++) {
        const AttributeRow *a = &attribute_rows[row];
        bool asked = a->when == ATTRIBUTE_ASKED || a->when == ATTRIBUTE_TRACKED ||
                     a->when == ATTRIBUTE_SPRAY;
        if (!asked || !particles_carry(p, row)) continue;
        all.extra[all.extra_count++] =
            (BrimAttribute){a->files, a->unit, a->type == ATTRIBUTE_WORD, p->attr[a->first]};
    }
    return all;
}

const BrimStats *brim_sim_stats(const BrimSim *sim) {
    return sim ? &sim->stats : NULL;
}
