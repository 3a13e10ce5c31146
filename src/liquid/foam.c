// brim_foam_*: checks, and the order of an interval between two frames.
#include "liquid/foam.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "scene/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 12 };

static BrimResult no_memory(BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for foam");
}

/// All that decides what becomes of a frame, but for the liquid.
static uint64_t settings_hash(const BrimFoamDef *d, const FoamScale *s, uint32_t seed) {
    const float values[] = {
        d->trapped[0],   d->trapped[1], d->trapped_rate, d->crest[0], d->crest[1], d->crest_rate,
        d->crest_facing, d->energy[0],  d->energy[1],    d->life[0],  d->life[1],  d->size[0],
        d->size[1],      d->density[0], d->density[1],   d->drag,     d->buoyancy, d->bubble_time,
        d->spread,       (float)s->dim, s->spacing,      s->size[0],  s->size[1],  s->size[2],
    };
    uint64_t h = hash_bytes(0, values, sizeof values);
    h = hash_bytes(h, &d->most, sizeof d->most);
    return hash_bytes(h, &seed, sizeof seed);
}

static BrimResult prepare(BrimFoam *f, const BrimSimDef *def, BrimError *error) {
    foam_scale_init(&f->scale, def);
    f->seed = def->seed;
    f->settings = settings_hash(&f->def, &f->scale, f->seed);
    f->kernels = foam_kernels_for(isa_choose(f->def.isa));
    f->team = team_new(team_size(f->def.threads));
    f->block = calloc((size_t)team_threads(f->team), sizeof *f->block);
    if (!f->team || !f->block) return no_memory(error);
    BrimResult result = foam_bins_init(&f->bins, &f->scale, error);
    return result == BRIM_OK ? foam_walls_init(&f->walls, def, error) : result;
}

BrimResult brim_foam_create(const BrimSimDef *def, const BrimFoamDef *foam_def, BrimFoam **foam,
                            BrimError *error) {
    NEED(foam, error);
    *foam = NULL;
    NEED(def, error);
    NEED(foam_def, error);
    BrimResult result = foam_def_check(foam_def, error);
    if (result != BRIM_OK) return result;
    if ((def->dim != 2 && def->dim != 3) || def->cells[0] < 1 || def->cells[1] < 1 ||
        !(def->size.x > 0) || !(def->size.y > 0) || !(def->dim == 2 || def->size.z > 0) ||
        !(def->size.x + def->size.y + def->size.z < 1e30f) || def->particles_per_cell < 1)
        return fail(error, BRIM_ERROR_INPUT,
                    "foam needs a domain of finite size and particles in its cells");
    BrimFoam *f = calloc(1, sizeof *f);
    if (!f) return no_memory(error);
    f->def = *foam_def, f->frame = -1, f->band = def->band_width > 0;
    result = prepare(f, def, error);
    if (result == BRIM_OK)
        *foam = f;
    else
        brim_foam_destroy(&f);
    return result;
}

void brim_foam_destroy(BrimFoam **foam) {
    if (!foam || !*foam) return;
    BrimFoam *f = *foam;
    for (int i = 0; f->block && i < team_threads(f->team); i++) foam_block_free(&f->block[i]);
    team_free(&f->team);
    foam_liquid_free(&f->liquid), foam_liquid_free(&f->next);
    foam_paths_free(&f->paths);
    foam_bins_free(&f->bins);
    foam_walls_free(&f->walls);
    free(f->block), free(f->particle), free(f);
    *foam = NULL;
}

// -------------------------------------------------------------------------------------- interval

/// Sub-steps in which nothing goes farther than a kernel's radius, but for the very fastest.
static int step_count(const FoamWork *w) {
    const BrimFoam *f = w->foam;
    float fastest = f->paths.fastest * f->paths.fastest;
    for (size_t i = 0; i < w->count; i++) {
        const float *v = w->particle[i].velocity;
        fastest = fmaxf(fastest, v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
    float steps = ceilf(sqrtf(fastest) * f->paths.duration * f->scale.inv_radius);
    return steps < 1 ? 1 : steps > STEPS_MOST ? STEPS_MOST : (int)steps;
}

static BrimResult run_interval(FoamWork *w, BrimError *error) {
    BrimFoam *f = w->foam;
    w->capacity = f->count;
    f->bins.too_many = 0; // of an interval that failed before
    w->particle = malloc((f->count + 1) * sizeof *w->particle);
    w->begin = calloc(f->count + 1, sizeof *w->begin);
    if (!w->particle || !w->begin) return no_memory(error);
    if (f->count) memcpy(w->particle, f->particle, f->count * sizeof *w->particle);
    w->count = f->count, w->next_id = f->next_id;
    BrimResult result = foam_born(w, error);
    int steps = step_count(w);
    float dt = f->paths.duration / (float)steps;
    for (int i = 0; i < steps && result == BRIM_OK && w->count; i++)
        result = foam_move(w, (float)i * dt, dt, error);
    return result;
}

/// Takes the work's particles that are still there for the foam's own.
static void commit(BrimFoam *f, FoamWork *w) {
    size_t kept = 0;
    f->counts = (BrimFoamCounts){.born = w->born};
    for (size_t i = 0; i < w->count; i++) {
        BrimFoamParticle p = w->particle[i];
        if (!(p.life > 0)) continue;
        f->counts.spray += p.type == BRIM_FOAM_SPRAY;
        f->counts.foam += p.type == BRIM_FOAM_FOAM;
        f->counts.bubbles += p.type == BRIM_FOAM_BUBBLE;
        w->particle[kept++] = p;
    }
    f->counts.gone = (int64_t)(w->count - kept);
    free(f->particle);
    f->particle = w->particle, f->count = kept, f->next_id = w->next_id;
    w->particle = NULL;
}

/// => next
static BrimResult take_liquid(BrimFoam *f, const BrimParticles *liquid, int frame,
                              BrimError *error) {
    if (f->band && !liquid->interior)
        return fail(error, BRIM_ERROR_INPUT,
                    "frame %d does not hold the water below the narrow band, which bubbles rise "
                    "through: run with output.interior: true (or output.foam: true), or with "
                    "band.width: 0",
                    frame);
    return foam_liquid_set(&f->next, &f->scale, liquid, frame, error);
}

/// The next frame becomes the present one.
static void step_on(BrimFoam *f, int frame, double time) {
    FoamLiquid before = f->liquid;
    f->liquid = f->next, f->next = before;
    f->frame = frame, f->time = time, f->begun = true;
}

BrimResult brim_foam_advance(BrimFoam *f, const BrimParticles *liquid, int frame, double time,
                             BrimError *error) {
    NEED(f, error);
    NEED(liquid, error);
    if (f->begun && !(time > f->time))
        return fail(
            error, BRIM_ERROR_INPUT,
            "foam is computed forward in time: frame %d at %g s comes after frame %d at %g s",
            frame, time, f->frame, f->time);
    BrimResult result = take_liquid(f, liquid, frame, error);
    if (result != BRIM_OK) return result;
    if (f->begun) {
        FoamWork work = {.foam = f};
        if (!foam_paths_make(&f->paths, &f->liquid, &f->next, time - f->time))
            result = no_memory(error);
        if (result == BRIM_OK) result = run_interval(&work, error);
        if (result == BRIM_OK) commit(f, &work);
        free(work.particle), free(work.begin);
        if (result != BRIM_OK) return result;
    }
    step_on(f, frame, time);
    return BRIM_OK;
}

BrimResult brim_foam_restore(BrimFoam *f, const BrimParticles *liquid, int frame, double time,
                             const char *path, BrimError *error) {
    BrimFoamFrame stored;
    NEED(f, error);
    NEED(liquid, error);
    NEED(path, error);
    BrimResult result = brim_foam_read(path, &stored, error);
    if (result != BRIM_OK) return result;
    if (stored.frame != frame)
        result = fail(error, BRIM_ERROR_INPUT, "'%s' says that it is frame %d, not %d", path,
                      stored.frame, frame);
    else if (stored.settings != f->settings)
        result = fail(error, BRIM_ERROR_INPUT,
                      "'%s' was made with other settings of foam: continue with the same ones, or "
                      "make all frames again (brim foam DIR --overwrite)",
                      path);
    if (result == BRIM_OK) result = take_liquid(f, liquid, frame, error);
    if (result == BRIM_OK) {
        free(f->particle);
        f->particle = stored.particle, f->count = f->capacity = stored.count;
        f->next_id = stored.next_id, f->counts = stored.counts;
        stored.particle = NULL;
        step_on(f, frame, time);
    }
    brim_foam_free(&stored);
    return result;
}

BrimFoamFrame brim_foam_frame(const BrimFoam *f) {
    return (BrimFoamFrame){.count = f->count,
                           .particle = f->particle,
                           .counts = f->counts,
                           .frame = f->frame,
                           .time = f->time,
                           .next_id = f->next_id,
                           .settings = f->settings};
}
