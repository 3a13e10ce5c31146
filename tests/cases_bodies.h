// Bodies by chance, each scene from a seed: one to four, rigid or soft, light or heavy, in water
// that is calm or stirred, at small and large steps. Uses brim.h alone.
#pragma once
#include "cases_random.h"

typedef struct SwimResult {
    double out;      ///< how far a body reached beyond the walls at any time, cells
    double rise;     ///< energy above that of the start, in parts of what could be set free
    double volume;   ///< of the liquid: mean of the last half second
    double fastest;  ///< speed at any time over what energy allows
    int inside;      ///< particles deeper in solids than a cell at the end
    char error[200]; ///< of a run that broke down; "" when it did not
    char what[160];
} SwimResult;

/// Energy of the motion of water and bodies, J, half a step ahead of positions as velocities are.
static inline double swim_kinetic(const BrimSim *sim) {
    double energy = brim_sim_stats(sim)->kinetic_energy;
    for (int i = 0; i < brim_sim_body_count(sim); i++) {
        BrimBodyState b;
        brim_sim_body_state(sim, i, &b, NULL);
        energy += b.kinetic;
    }
    return energy;
}

/// The same with what deformation holds, which is told half a step ahead as well.
static inline double swim_motion(const BrimSim *sim) {
    double energy = swim_kinetic(sim);
    for (int i = 0; i < brim_sim_body_count(sim); i++) {
        BrimBodyState b;
        brim_sim_body_state(sim, i, &b, NULL);
        energy += b.elastic;
    }
    return energy;
}

/// Energy of their places, J.
static inline double swim_potential(const BrimSim *sim) {
    double energy = brim_sim_stats(sim)->potential_energy;
    for (int i = 0; i < brim_sim_body_count(sim); i++) {
        BrimBodyState b;
        brim_sim_body_state(sim, i, &b, NULL);
        energy += b.mass * 9.81 * (double)b.center.y;
    }
    return energy;
}

/// Watches a run until a time; energy is compared unless something drives it.
static inline void swim_run(BrimSim *sim, double until, bool driven, SwimResult *r) {
    const BrimSimDef *def = brim_sim_def(sim);
    double dx = def->size.x / def->cells[0], start = NAN, free_energy = 0;
    double before = NAN, after = NAN, places = NAN, dt = NAN; // of the step before
    BrimError error = {0};
    int count = brim_sim_body_count(sim);
    while (brim_sim_time(sim) < until - 1e-9) {
        if (brim_sim_step(sim, &error) != BRIM_OK) {
            snprintf(r->error, sizeof r->error, "%.190s", error.message);
            return;
        }
        const BrimStats *s = brim_sim_stats(sim);
        // at the time of the positions that this step began with: between before and after
        double motion = swim_motion(sim);
        double energy = places + (s->dt * before + dt * after) / (s->dt + dt);
        before = after, after = motion, places = swim_potential(sim), dt = s->dt;
        if (isnan(start) && !isnan(energy)) {
            start = energy;
            // what falling by a tenth of the room would set free
            free_energy = motion + 0.1 * s->potential_energy;
            for (int i = 0; i < count; i++) {
                BrimBodyState b;
                brim_sim_body_state(sim, i, &b, NULL);
                free_energy += 0.1 * b.mass * 9.81;
            }
        }
        if (!driven && !isnan(energy)) r->rise = fmax(r->rise, (energy - start) / free_energy);
        if (brim_sim_time(sim) > until - 0.5) r->volume += s->volume * s->dt / 0.5;
        for (int i = 0; i < count; i++) {
            BrimBodyState b;
            brim_sim_body_state(sim, i, &b, NULL);
            const float low[3] = {b.low.x, b.low.y, b.low.z},
                        high[3] = {b.high.x, b.high.y, b.high.z};
            const float size[3] = {def->size.x, def->size.y, def->size.z};
            double speed2 = (double)b.velocity.x * b.velocity.x +
                            (double)b.velocity.y * b.velocity.y +
                            (double)b.velocity.z * b.velocity.z;
            for (int a = 0; a < def->dim; a++)
                r->out = fmax(r->out, fmax(-low[a], high[a] - size[a]) / dx);
            r->fastest = fmax(r->fastest, sqrt(speed2) / (sqrt(2 * 9.81) + 2));
        }
    }
    BrimParticles p = brim_sim_particles(sim);
    for (size_t i = 0; i < p.count; i++) {
        float d;
        brim_sim_solid_distance(sim, 1, &p.x[i], &p.y[i], &p.z[i], &d);
        r->inside += d < -(float)dx;
    }
}

/// A body in one of four places of a unit room.
static inline BrimBodyDef swim_body(uint64_t seed, int k, int dim, double dx, bool rigid) {
    BrimBodyDef b = brim_default_body_def();
    int key = 100 + 20 * k;
    float x = k & 1 ? 0.73f : 0.27f,
          y = (float)chance(seed, key, 0.25, 0.6) + 0.2f * (float)(k >> 1);
    float z = dim == 3 && k >> 1 ? 0.73f : 0.27f;
    if (dim == 2) y = (k >> 1 ? 0.75f : 0.35f) + (float)chance(seed, key, -0.05, 0.05), z = 0;
    double least = fmax(0.08, 2.5 * dx);
    float size = (float)chance(seed, key + 1, least, fmax(least, 0.15));
    int kind = (int)chance(seed, key + 2, 0, 3);
    if (kind == 0) {
        b.shape = box_between((BrimVec3){-size, -0.8f * size, -size},
                              (BrimVec3){size, 0.8f * size, size});
        b.shape.rotation.z = (float)chance(seed, key + 3, 0, 90);
    } else {
        b.shape = ball((BrimVec3){0}, size);
        if (kind == 2) {
            b.shape.kind = BRIM_SHAPE_CAPSULE, b.shape.radius = 0.6f * size;
            b.shape.height = 0.8f * size, b.shape.rotation.z = (float)chance(seed, key + 3, 0, 180);
        }
    }
    b.shape.position = (BrimVec3){x, y, z};
    b.density = (float)(50 * pow(160, chance(seed, key + 4, 0, 1)));
    b.rigid = rigid, b.young = (float)pow(10, chance(seed, key + 5, 4, 8));
    b.poisson = (float)chance(seed, key + 6, 0, 0.49);
    b.modes = 6, b.elements = dim == 2 ? 24 : 27;
    b.friction = (float)chance(seed, key + 7, 0, 0.8);
    b.velocity =
        (BrimVec3){(float)chance(seed, key + 8, -1, 1), (float)chance(seed, key + 9, -1, 1),
                   dim == 3 ? (float)chance(seed, key + 10, -1, 1) : 0};
    b.spin.z = (float)chance(seed, key + 11, -5, 5);
    if (dim == 3) b.spin.x = (float)chance(seed, key + 12, -5, 5);
    return b;
}

/// Runs the scene of a seed. flat: in 2D alone.
static inline SwimResult swim_scene(uint64_t seed, double time, bool flat) {
    static const double steps[4] = {0, 1.0 / 240, 1.0 / 60, 1.0 / 30};
    SwimResult r = {0};
    int dim = flat || chance(seed, 0, 0, 1) < 0.7 ? 2 : 3;
    int n = dim == 2 ? (int)chance(seed, 1, 24, 48) : (int)chance(seed, 1, 16, 24);
    int count = 1 + (int)chance(seed, 2, 0, 4);
    double step = steps[(int)chance(seed, 3, 0, 4)];
    bool band = chance(seed, 4, 0, 1) < 0.4, paddle = chance(seed, 5, 0, 1) < 0.4;
    Case c = case_box(dim, 1, n, n, n);
    BrimBodyDef bodies[4];
    for (int k = 0; k < count; k++)
        bodies[k] = swim_body(seed, k, dim, 1.0 / n, chance(seed, 10 + k, 0, 1) < 0.4);
    case_liquid(
        &c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, (float)chance(seed, 6, 0.1, 0.5), 1}));
    BrimKeyframe keys[3] = {{.time = 0}, {.time = 0.7}, {.time = 1.4}};
    keys[1].position.x = (float)chance(seed, 7, 0.05, 0.2);
    if (paddle) {
        case_solid(&c, box_between((BrimVec3){0.02f, 0, 0}, (BrimVec3){0.08f, 0.6f, 1}));
        c.solids[0].motion = BRIM_MOTION_KEYFRAMES;
        c.solids[0].keyframes = keys, c.solids[0].keyframe_count = 3;
    }
    c.def.bodies = bodies, c.def.body_count = count;
    c.def.frame_rate = 30, c.def.step = step, c.def.band_width = band ? 3 : 0;
    int used = snprintf(r.what, sizeof r.what, "%dD, %d cells, step %.4f%s%s:", dim, n, step,
                        band ? ", band" : "", paddle ? ", paddle" : "");
    for (int k = 0; k < count; k++)
        used += snprintf(r.what + used, sizeof r.what - (size_t)used, " %.0f %.0e",
                         (double)bodies[k].density,
                         bodies[k].rigid ? INFINITY : (double)bodies[k].young);
    BrimError error = {0};
    BrimSim *sim = NULL;
    if (case_create(&c, &sim, &error) == BRIM_OK)
        swim_run(sim, time, paddle || band, &r);
    else
        snprintf(r.error, sizeof r.error, "%.190s", error.message);
    brim_sim_destroy(&sim);
    return r;
}

/// A box thrown into a tank that is half full, for long, with steps of 1/30 s.
static inline SwimResult swim_long(int dim, double density, bool rigid, double time) {
    SwimResult r = {0};
    int n = dim == 2 ? 32 : 16;
    Case c = case_box(dim, 1, n, n, n);
    BrimBodyDef b = brim_default_body_def();
    b.shape = box_between((BrimVec3){0.3f, 0.4f, 0.3f}, (BrimVec3){0.7f, 0.7f, 0.6f});
    b.shape.rotation.z = 20;
    b.density = (float)density, b.rigid = rigid, b.modes = 6, b.elements = 24;
    b.velocity = (BrimVec3){0.5f, -0.5f, 0}, b.spin.z = 2;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.4f, 1}));
    c.def.bodies = &b, c.def.body_count = 1, c.def.frame_rate = 30, c.def.step = 1.0 / 30;
    BrimError error = {0};
    BrimSim *sim = NULL;
    snprintf(r.what, sizeof r.what, "%dD, %g kg/m3, %s", dim, density, rigid ? "rigid" : "1e5 Pa");
    if (case_create(&c, &sim, &error) == BRIM_OK)
        swim_run(sim, time, false, &r);
    else
        snprintf(r.error, sizeof r.error, "%.190s", error.message);
    brim_sim_destroy(&sim);
    return r;
}

/// Part of a disc's area or a ball's volume below a plane at `height` radii over its centre.
static inline double part_below(int dim, double height) {
    double h = fmin(fmax(height, -1), 1);
    if (dim == 3) return (2 + 3 * h - h * h * h) / 4;
    return 0.5 + (h * sqrt(1 - h * h) + asin(h)) / 3.14159265358979323846;
}

/// A disc or ball `across` cells wide, half a tank, at rest where it shall float; below the surface
/// from 1000 kg/m3 on, held by a hand and rigid when it would sink. What it has over what
/// Archimedes says in the mean of the last half of `time`: draft, or lift.
static inline double swim_draft(int dim, int across, double density, double time, int threads,
                                BrimError *error) {
    int n = 2 * across + across / 4;
    double dx = 1.0 / n, radius = 0.5 * across * dx, level = floor(0.6 * n) * dx, low = -1,
           high = 1;
    for (int i = 0; i < 50; i++) {
        double middle = 0.5 * (low + high);
        *(part_below(dim, middle) < density / 1000 ? &low : &high) = middle;
    }
    double wanted = (1 + low) * radius; // draft
    Case c = case_box(dim, 1, n, n, n);
    BrimBodyDef b = brim_default_body_def();
    double y = density < 1000 ? level - wanted + radius : 0.5 * level;
    b.shape = ball((BrimVec3){0.5f, (float)y, 0.5f}, (float)radius);
    b.density = (float)density, b.young = 1e6f, b.modes = 6, b.elements = 27;
    BrimGrabDef hand = brim_default_grab_def(); // holds what would sink
    hand.at = (BrimVec3){0.5f, (float)(y + radius), 0.5f};
    if (density > 1000) b.grabs = &hand, b.grab_count = 1, b.rigid = true;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, (float)level, 1}));
    c.def.bodies = &b, c.def.body_count = 1, c.def.frame_rate = 60, c.def.threads = threads;
    BrimSim *sim = NULL;
    if (case_create(&c, &sim, error) != BRIM_OK) return NAN;
    double sum = 0, span = 0;
    while (brim_sim_time(sim) < time - 1e-9) {
        if (brim_sim_step(sim, error) != BRIM_OK) return NAN;
        double dt = brim_sim_stats(sim)->dt;
        BrimBodyState s;
        brim_sim_body_state(sim, 0, &s, NULL);
        if (brim_sim_time(sim) < 0.5 * time) continue;
        double lift = (double)s.pressure.y / (9.81 * 1000 * s.mass / density);
        sum += dt * (density < 1000 ? (level - (double)s.low.y) / wanted : lift), span += dt;
    }
    brim_sim_destroy(&sim);
    return sum / span;
}

/// Whether it is as it should be.
static inline bool swim_good(const SwimResult *r) {
    return !r->error[0] && r->out < 0.5 && r->rise < 0.01 && fabs(r->volume - 1) < 0.01 &&
           r->fastest < 1 && r->inside == 0;
}
