#include "emit/stream.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "emit/emit.h"
#include "grid/mask.h"
#include <math.h>
#include <string.h>

// ------------------------------------------------------------------------------------- building

static bool is_zero(BrimVec3 v) {
    return v.x == 0 && v.y == 0 && v.z == 0;
}

/// A shape that moves as a solid does; NULL when it stays.
static BrimResult new_mover(const BrimSim *s, const BrimShapeDef *shape, const BrimPath *path,
                            Solid **mover, BrimError *error) {
    bool moves = !is_zero(path->path) || !is_zero(path->turn);
    for (int a = 0; a < 3; a++) moves |= path->path_formula[a] || path->turn_formula[a];
    *mover = NULL;
    if (!moves) return BRIM_OK;
    BrimSolidDef def = brim_default_solid_def();
    def.shape = *shape, def.motion = BRIM_MOTION_FORMULA;
    def.path = path->path, def.turn = path->turn;
    memcpy(def.path_formula, path->path_formula, sizeof def.path_formula);
    memcpy(def.turn_formula, path->turn_formula, sizeof def.turn_formula);
    return solid_new(&def, s->dim, s->dx, mover, error);
}

BrimResult stream_new_source(const BrimSim *s, Source *source, BrimError *error) {
    const BrimSourceDef *def = &source->def;
    BrimResult r = new_mover(s, &def->shape, &def->motion, &source->mover, error);
    for (int a = 0; a < s->dim && r == BRIM_OK; a++)
        if (def->velocity_formula[a])
            r = formula_new(def->velocity_formula[a], def->shape.names, FORMULA_T,
                            &source->velocity_at[a], error);
    if (r == BRIM_OK && def->flow_formula)
        r = formula_new(def->flow_formula, def->shape.names, FORMULA_T, &source->flow_at, error);
    return r;
}

BrimResult stream_new_drain(const BrimSim *s, Drain *drain, BrimError *error) {
    const BrimDrainDef *def = &drain->def;
    BrimResult r = new_mover(s, &def->shape, &def->motion, &drain->mover, error);
    if (r == BRIM_OK && def->rate_formula)
        r = formula_new(def->rate_formula, def->shape.names, FORMULA_T, &drain->rate_at, error);
    drain->share = 1;
    return r;
}

void stream_free_source(Source *source) {
    for (int a = 0; a < 3; a++) formula_free(&source->velocity_at[a]);
    formula_free(&source->flow_at);
    solid_free(&source->mover);
}

void stream_free_drain(Drain *drain) {
    formula_free(&drain->rate_at);
    solid_free(&drain->mover);
}

// -------------------------------------------------------------------------------------- sources

/// Velocity as the shape sees it, m/s; volume a second, or -1: what velocity carries.
static double flow_at(const BrimSim *s, const Source *source, double time, double v[3]) {
    const BrimSourceDef *def = &source->def;
    const double fixed[3] = {def->velocity.x, def->velocity.y, def->velocity.z};
    for (int a = 0; a < 3; a++) {
        v[a] = a < s->dim ? fixed[a] : 0;
        if (source->velocity_at[a]) v[a] = formula_at(source->velocity_at[a], 0, 0, 0, time);
    }
    if (source->flow_at) return fmax(0, formula_at(source->flow_at, 0, 0, 0, time));
    double flow = def->flow > 0 ? def->flow : def->rate * s->particle_mass / s->def.density;
    return flow > 0 ? flow : -1;
}

static double length(const double v[3]) {
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// The cross-section depends on the direction alone, so that a resumed run finds the same.
static void find_section(BrimSim *s, Source *source, const double v[3]) {
    enum { MOST = 50000 };
    double speed = length(v);
    float direction[3];
    if (!(speed > 0)) return;
    for (int a = 0; a < 3; a++) direction[a] = (float)(v[a] / speed);
    if (memcmp(direction, source->direction, sizeof direction) == 0) return;
    memcpy(source->direction, direction, sizeof direction);
    source->points = emit_section(s, source, direction, MOST, &source->fine);
}

/// The pace of the lattice relative to the shape, m/s.
static double pace(const BrimSim *s, const Source *source, double speed, double flow) {
    if (!(speed > 0) || !(source->points > 0)) return 0;
    if (flow < 0) return speed * source->fine / source->points;
    double volume = s->cell_volume / s->def.particles_per_cell;
    return flow / (source->points * volume) * (double)emit_spacing(s);
}

/// Bounds at two times, cut to the domain.
static void moved_bounds(const BrimSim *s, Solid *mover, double time, double dt, float low[3],
                         float high[3]) {
    float a[3], b[3];
    solid_place(mover, time - dt, 0);
    solid_bounds(mover, a, b);
    solid_place(mover, time, dt);
    solid_bounds(mover, low, high);
    for (int k = 0; k < s->dim; k++) {
        low[k] = fmaxf(fminf(low[k], a[k]), 0);
        high[k] = fminf(fmaxf(high[k], b[k]), (float)s->grid.cells[k] * s->dx);
    }
}

static BrimResult not_a_number(const BrimSim *s, const char *list, int index, const char *key,
                               double time, BrimError *error) {
    return fail(error, s->step || s->primed ? BRIM_LOST_DIVERGED : BRIM_ERROR_INPUT,
                "%s[%d]: %s is not a number, or too large, at t = %.6g s: change its formula", list,
                index, key, time);
}

static BrimResult place_source(BrimSim *s, int index, double time, double dt, BrimError *error) {
    Source *source = &s->sources[index];
    double v[3], middle = time - 0.5 * dt, flow = flow_at(s, source, middle, v);
    if (!(length(v) <= 1e6 && flow <= 1e9))
        return not_a_number(s, "sources", index, flow <= 1e9 ? "velocity" : "flow", middle, error);
    double speed = length(v);
    find_section(s, source, v);
    double relative = pace(s, source, speed, flow);
    SolidState still = {.placement = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    if (source->mover) {
        if (!solid_follows(source->mover, time))
            return not_a_number(s, "sources", index, "path or turn", time, error);
        moved_bounds(s, source->mover, time, dt, source->low, source->high);
        still = solid_state(source->mover);
    }
    const float *r = still.placement.rotation;
    for (int a = 0; a < 3; a++) {
        double turned = r[3 * a] * v[0] + r[3 * a + 1] * v[1] + r[3 * a + 2] * v[2];
        source->stream[a] = (float)(turned + still.velocity[a]);
        source->spin[a] = (float)still.spin[a], source->centre[a] = still.placement.position[a];
        double along = speed > 0 ? turned / speed * relative : 0;
        source->drift[a] = (float)(along + still.velocity[a]);
    }
    source->pace = (float)relative;
    return BRIM_OK;
}

BrimResult streams_place(BrimSim *s, double time, double dt, BrimError *error) {
    BrimResult r = BRIM_OK;
    for (int i = 0; i < s->source_count && r == BRIM_OK; i++)
        if (source_varies(&s->sources[i])) r = place_source(s, i, time, dt, error);
    for (int i = 0; i < s->drain_count && r == BRIM_OK; i++) {
        Drain *drain = &s->drains[i];
        double rate =
            drain->rate_at ? formula_at(drain->rate_at, 0, 0, 0, time - 0.5 * dt) : drain->def.rate;
        if (!(rate <= 1e9)) return not_a_number(s, "drains", i, "rate", time - 0.5 * dt, error);
        drain->rate = fmax(rate, 0);
        if (!drain->mover) continue;
        if (!solid_follows(drain->mover, time))
            return not_a_number(s, "drains", i, "path or turn", time, error);
        moved_bounds(s, drain->mover, time, dt, drain->low, drain->high);
    }
    return r;
}

double stream_speed(const Source *source, double from, double to) {
    enum { SAMPLES = 8 };
    const BrimSourceDef *def = &source->def;
    double fastest = 0;
    for (int i = 0; i <= SAMPLES; i++) {
        double t = from + (to - from) * i / SAMPLES, square = 0, shape = 0;
        const double fixed[3] = {def->velocity.x, def->velocity.y, def->velocity.z};
        for (int a = 0; a < 3; a++) {
            double v =
                source->velocity_at[a] ? formula_at(source->velocity_at[a], 0, 0, 0, t) : fixed[a];
            square += v * v;
        }
        if (source->mover && i)
            shape = solid_way(source->mover, t - (to - from) / SAMPLES, t, source->centre) *
                    SAMPLES / (to - from);
        fastest = fmax(fastest, sqrt(square) + shape);
    }
    return isfinite(fastest) ? fastest : 0;
}

double stream_amount(BrimSim *s, const Source *source, double from, double to) {
    enum { SAMPLES = 32 };
    Source copy = *source; // with a cross-section of its own
    double sum = 0;
    if (!source_varies(source)) return emit_rate(s, source) * fmax(0, to - from);
    for (int i = 0; i < SAMPLES && to > from; i++) {
        double v[3], flow = flow_at(s, &copy, from + (to - from) * (i + 0.5) / SAMPLES, v);
        if (!(length(v) <= 1e6 && flow <= 1e9)) continue;
        if (!(copy.points > 0)) find_section(s, &copy, v); // one for all
        double relative = pace(s, &copy, length(v), flow);
        sum += copy.points * relative / (double)emit_spacing(s) * (to - from) / SAMPLES;
    }
    return sum;
}

// --------------------------------------------------------------------------------------- drains

/// Particles in a drain. context: drain, count
typedef struct DrainCount {
    const Drain *drain;
    TeamCount inside;
    float share;
} DrainCount;

static void count_tile(BrimSim *s, int slot, int thread, void *context) {
    enum { BATCH = 128 };
    DrainCount *c = context;
    const Particles *p = &s->particles;
    uint32_t end = tile_end(p, slot);
    int64_t inside = 0;
    for (uint32_t i = tile_first(p, slot); i < end; i += BATCH) {
        int n = end - i < BATCH ? (int)(end - i) : BATCH;
        float d[BATCH];
        port_distance(c->drain->shape, c->drain->mover, n, p->attr[ATTR_X] + i, p->attr[ATTR_Y] + i,
                      p->attr[ATTR_Z] + i, d);
        for (int k = 0; k < n; k++) inside += d[k] < 0 && p->key[i + (uint32_t)k] < KEY_LEFT;
    }
    team_add(&c->inside, inside);
}

void drains_shares(BrimSim *s) {
    double now = s->time + s->dt, volume = s->cell_volume / s->def.particles_per_cell;
    for (int k = 0; k < s->drain_count; k++) {
        Drain *drain = &s->drains[k];
        drain->share = 1;
        if (!drain_limits(drain) || now < drain->def.start || now > drain->def.stop) continue;
        DrainCount count = {.drain = drain};
        drain->owed += drain->rate * s->dt / volume;
        tiles_for(s, count_tile, &count);
        // what it cannot take for want of liquid it does not take later
        drain->owed = fmin(drain->owed, (double)count.inside);
        drain->share = count.inside > 0 ? drain->owed / (double)count.inside : 0;
    }
}

bool drain_takes(const BrimSim *s, int k, uint32_t id) {
    const Drain *drain = &s->drains[k];
    if (drain->share >= 1) return true;
    return hash_unit(hash_3(s->def.seed, id, (uint64_t)s->step + 2), 0) < drain->share;
}

void drain_took(BrimSim *s, int k, int64_t count) {
    if (drain_limits(&s->drains[k])) s->drains[k].owed -= (double)count;
}

/// Liquid cells whose centres a drain holds: counts them, or adds to their right-hand side.
static void pull_tile(BrimSim *s, int slot, int thread, void *context) {
    DrainCount *c = context;
    const Drain *drain = c->drain;
    TileCoord t = s->grid.coord[slot];
    if (!s->wet[slot]) return;
    const float edge = TILE * s->dx;
    const float at[3] = {(float)t.x * edge, (float)t.y * edge, (float)t.z * edge};
    for (int a = 0; a < s->dim; a++)
        if (drain->low[a] > at[a] + edge || drain->high[a] < at[a]) return;
    int64_t inside = 0;
    for (int row = 0; row < s->grid.tile_rows; row++) {
        float x[TILE], y[TILE], z[TILE], d[TILE];
        size_t first = (size_t)slot * (size_t)s->grid.tile_rows + (size_t)row;
        if (!s->liquid[first]) continue;
        for (int i = 0; i < TILE; i++) {
            x[i] = at[0] + ((float)i + 0.5f) * s->dx;
            y[i] = at[1] + ((float)(row & 7) + 0.5f) * s->dx;
            z[i] = s->dim == 3 ? at[2] + ((float)(row >> 3) + 0.5f) * s->dx : 0;
        }
        port_distance(drain->shape, drain->mover, TILE, x, y, z, d);
        for (int i = 0; i < TILE; i++) {
            if (!(s->liquid[first] >> i & 1) || d[i] >= 0) continue;
            int64_t cell = wet_cell(s, (int64_t)first * TILE + i);
            if (!(s->diagonal[cell] > 0)) continue;
            inside++;
            s->rhs[cell] -= c->share;
        }
    }
    team_add(&c->inside, inside);
}

void drains_pull(BrimSim *s) {
    double now = s->time + s->dt;
    for (int k = 0; k < s->drain_count; k++) {
        Drain *drain = &s->drains[k];
        if (!drain_limits(drain) || now < drain->def.start || now > drain->def.stop) continue;
        DrainCount count = {.drain = drain};
        tiles_for(s, pull_tile, &count); // share 0: only counts
        if (!count.inside) continue;
        // through dx^2 of a cell's sides, 2D dx
        double share = drain->rate / (double)count.inside * s->dx / s->cell_volume;
        count.share =
            (float)fmin(share, s->dx / s->projection.kick_now); // no more than the cell holds
        tiles_for(s, pull_tile, &count);
    }
}
