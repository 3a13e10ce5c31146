// Scenes with known answers and what is measured on them, for the tests and for `make validate`.
// Uses brim.h alone.
#pragma once
#include <brim/brim.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Sanitized test programs are many times slower: they leave out what only takes long.
static inline bool quick(void) {
    return getenv("BRIM_QUICK") != NULL;
}

/// A def with room for its lists. Fill, then case_create.
typedef struct Case {
    BrimSimDef def;
    BrimLiquidDef liquid[3];
    BrimSolidDef solids[4];
    BrimSourceDef sources[2];
    BrimDrainDef drains[2];
    BrimGaugeDef gauges[8];
    BrimShapeDef parts[8]; ///< children of shapes
    BrimGravityKey gravity_keys[4];
} Case;

/// A box of size x n/size.. cells without liquid, threads = 1. cells_y, cells_z: of edge
/// size_x/cells_x.
static inline Case case_box(int dim, double size_x, int cells_x, int cells_y, int cells_z) {
    Case c = {.def = brim_default_sim_def()};
    double dx = size_x / cells_x;
    c.def.dim = dim;
    c.def.cells[0] = cells_x, c.def.cells[1] = cells_y, c.def.cells[2] = dim == 3 ? cells_z : 1;
    c.def.size = (BrimVec3){(float)size_x, (float)(dx * cells_y), (float)(dx * cells_z)};
    c.def.particles_per_cell = dim == 3 ? 8 : 9;
    c.def.gravity = (BrimVec3){0, -9.81f, 0};
    c.def.threads = 1;
    return c;
}

static inline BrimResult case_create(Case *c, BrimSim **sim, BrimError *error) {
    c->def.liquid = c->liquid, c->def.solids = c->solids;
    c->def.sources = c->sources, c->def.drains = c->drains;
    c->def.gauges = c->gauges;
    if (c->def.gravity_key_count) c->def.gravity_keys = c->gravity_keys;
    return brim_sim_create(&c->def, sim, error);
}

/// The box between two corners.
static inline BrimShapeDef box_between(BrimVec3 low, BrimVec3 high) {
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_BOX;
    shape.size = (BrimVec3){high.x - low.x, high.y - low.y, high.z - low.z};
    shape.position =
        (BrimVec3){0.5f * (low.x + high.x), 0.5f * (low.y + high.y), 0.5f * (low.z + high.z)};
    return shape;
}

static inline BrimShapeDef ball(BrimVec3 centre, float radius) {
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_SPHERE;
    shape.position = centre;
    shape.radius = radius;
    return shape;
}

static inline void case_liquid(Case *c, BrimShapeDef shape) {
    c->liquid[c->def.liquid_count++].shape = shape;
}

static inline void case_solid(Case *c, BrimShapeDef shape) {
    BrimSolidDef *solid = &c->solids[c->def.solid_count++];
    *solid = brim_default_solid_def();
    solid->shape = shape;
}

/// A gauge that shows each step.
static inline BrimGaugeDef *case_gauge(Case *c, const char *name, BrimGaugeKind kind, BrimVec3 from,
                                       BrimVec3 to) {
    BrimGaugeDef *gauge = &c->gauges[c->def.gauge_count++];
    *gauge = brim_default_gauge_def();
    gauge->name = name, gauge->kind = kind, gauge->from = from, gauge->to = to;
    return gauge;
}

/// A column of a gauge now, NaN when there is none.
static inline double gauge_shows(const BrimSim *sim, int gauge, int column) {
    double value[BRIM_GAUGE_COLUMNS];
    return brim_sim_gauge_read(sim, gauge, value, NULL) == BRIM_OK ? value[column] : NAN;
}

/// A unit tank of n^dim cells, filled to `depth`.
static inline Case case_tank(int dim, int n, float depth) {
    Case c = case_box(dim, 1, n, n, n);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, depth, 1}));
    return c;
}

/// Runs to a time; the last step may end a step later.
static inline BrimResult run_until(BrimSim *sim, double time, BrimError *error) {
    BrimResult r = BRIM_OK;
    while (r == BRIM_OK && brim_sim_time(sim) < time - 1e-9) r = brim_sim_step(sim, error);
    return r;
}

/// Kinetic energy over mass, m^2/s^2.
static inline double energy_per_mass(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    double sum = 0;
    for (size_t i = 0; i < p.count; i++)
        sum += 0.5 *
               ((double)p.vx[i] * p.vx[i] + (double)p.vy[i] * p.vy[i] + (double)p.vz[i] * p.vz[i]);
    return p.count ? sum / (double)p.count : 0;
}

static inline void centre_of_mass(const BrimSim *sim, double centre[3]) {
    BrimParticles p = brim_sim_particles(sim);
    centre[0] = centre[1] = centre[2] = 0;
    for (size_t i = 0; i < p.count; i++)
        centre[0] += p.x[i], centre[1] += p.y[i], centre[2] += p.z[i];
    for (int a = 0; a < 3; a++) centre[a] /= p.count ? (double)p.count : 1;
}

/// Sum of x cross v about the axis through the centre of mass along z (axis 2) or y (1), over
/// count.
static inline double spin_about(const BrimSim *sim, const double centre[3], int axis) {
    BrimParticles p = brim_sim_particles(sim);
    double sum = 0;
    for (size_t i = 0; i < p.count; i++)
        sum += axis == 2 ? (p.x[i] - centre[0]) * p.vy[i] - (p.y[i] - centre[1]) * p.vx[i]
                         : (p.z[i] - centre[2]) * p.vx[i] - (p.x[i] - centre[0]) * p.vz[i];
    return p.count ? sum / (double)p.count : 0;
}

/// Largest deviation of the pressure from a line of slope -rho g, over rho g times the depth: in
/// the cells with pressure. The line's height is fitted; `level`, when not NULL, is where it says
/// that the surface is, m. -1 when there is nothing to look at.
static inline double pressure_error_level(const BrimSim *sim, double *level) {
    const BrimSimDef *d = brim_sim_def(sim);
    size_t row = (size_t)d->cells[0], n = row * (size_t)d->cells[1] * (size_t)d->cells[2], used = 0;
    float *p = malloc(n * sizeof *p);
    double worst = -1, dx = d->size.x / d->cells[0], weight = -(double)d->gravity.y * d->density;
    double mean = 0, top = 0;
    if (!p || brim_sim_field(sim, BRIM_FIELD_PRESSURE, p, n, NULL) != BRIM_OK) n = 0;
    for (size_t i = 0; i < n; i++) {
        double y = ((double)(i / row % (size_t)d->cells[1]) + 0.5) * dx;
        if (p[i] == 0) continue;
        mean += p[i] / weight + y, used++;
        top = fmax(top, y + 0.5 * dx);
    }
    mean /= used ? (double)used : 1;
    for (size_t i = 0; i < n; i++) {
        double y = ((double)(i / row % (size_t)d->cells[1]) + 0.5) * dx;
        if (p[i] != 0) worst = fmax(worst, fabs(p[i] / weight + y - mean) / top);
    }
    free(p);
    if (level) *level = mean;
    return worst;
}

static inline double pressure_error(const BrimSim *sim) {
    return pressure_error_level(sim, NULL);
}

/// Hash of positions, velocities and ids in storage order (FNV-1a).
static inline uint64_t particle_hash(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    const void *array[] = {p.x, p.y, p.z, p.vx, p.vy, p.vz, p.id};
    uint64_t h = 1469598103934665603u;
    for (int a = 0; a < 7; a++)
        for (size_t i = 0; i < p.count; i++) {
            uint32_t bits;
            memcpy(&bits, (const char *)array[a] + 4 * i, 4);
            h = (h ^ bits) * 1099511628211u;
        }
    return h;
}

/// Zero crossings of a signal sampled in time, for its period.
typedef struct Crossings {
    double last_time, last_value, first, latest;
    int count, samples;
} Crossings;

static inline void crossings_add(Crossings *c, double time, double value) {
    if (c->samples++ && c->last_value * value < 0) {
        double at = c->last_time + (time - c->last_time) * c->last_value / (c->last_value - value);
        if (!c->count++) c->first = at;
        c->latest = at;
    }
    c->last_time = time, c->last_value = value;
}

/// Twice the mean time between crossings; 0 with less than two of them.
static inline double crossings_period(const Crossings *c) {
    return c->count > 1 ? 2 * (c->latest - c->first) / (c->count - 1) : 0;
}

// ------------------------------------------------------------------------------------- spin

#define SPIN_BOX 6.0f

/// A signal that rings: samples, and the fit  offset + exp(-decay t) (a cos w t + b sin w t).
enum { RING_SAMPLES = 4096 };
typedef struct Ring {
    double time[RING_SAMPLES], value[RING_SAMPLES];
    int count;
    double frequency, decay; ///< rad/s, 1/s
    double offset, a, b;
} Ring;

static inline void ring_add(Ring *r, double time, double value) {
    if (r->count == RING_SAMPLES) return;
    r->time[r->count] = time, r->value[r->count++] = value;
}

/// Sum of squares that the best offset, a and b leave.
static inline double ring_left(Ring *r, double frequency, double decay) {
    double m[3][4] = {{0}}, left = 0;
    for (int i = 0; i < r->count; i++) {
        double e = exp(-decay * r->time[i]), w = frequency * r->time[i];
        const double f[4] = {1, e * cos(w), e * sin(w), r->value[i]};
        for (int k = 0; k < 3; k++)
            for (int n = 0; n < 4; n++) m[k][n] += f[k] * f[n];
    }
    for (int k = 0; k < 3; k++)
        for (int n = k + 1; n < 3; n++) {
            double part = m[n][k] / m[k][k];
            for (int j = k; j < 4; j++) m[n][j] -= part * m[k][j];
        }
    r->b = m[2][3] / m[2][2];
    r->a = (m[1][3] - m[1][2] * r->b) / m[1][1];
    r->offset = (m[0][3] - m[0][1] * r->a - m[0][2] * r->b) / m[0][0];
    for (int i = 0; i < r->count; i++) {
        double e = exp(-decay * r->time[i]), w = frequency * r->time[i];
        double d = r->value[i] - r->offset - e * (r->a * cos(w) + r->b * sin(w));
        left += d * d;
    }
    return left;
}

/// Finds frequency and decay from a guess that is right within a third or so.
static inline void ring_fit(Ring *r, double frequency, double decay) {
    double step[2] = {0.2 * frequency, 0.2 * frequency}, best[2] = {frequency, decay};
    double least = ring_left(r, best[0], best[1]);
    for (int i = 0; i < 400 && step[0] > 1e-6 * frequency; i++) {
        bool better = false;
        for (int k = 0; k < 4; k++) {
            double at[2] = {best[0], best[1]};
            at[k >> 1] += k & 1 ? step[k >> 1] : -step[k >> 1];
            double left = ring_left(r, at[0], at[1]);
            if (!(left < least)) continue;
            least = left, best[0] = at[0], best[1] = at[1], better = true;
        }
        if (!better) step[0] *= 0.5, step[1] *= 0.5;
    }
    r->frequency = best[0], r->decay = best[1];
    ring_left(r, best[0], best[1]);
}

/// A block of 0.4 m turning once a second in the middle of a large empty box without gravity.
/// n: cells a metre. Splitting loses pi omega dt of the angular momentum in a turn: small steps.
static inline Case case_spin(int dim, int n, double step, BrimTransfer transfer) {
    int cells = (int)SPIN_BOX * n;
    Case c = case_box(dim, (double)SPIN_BOX, cells, cells, cells);
    const float low = SPIN_BOX / 2 - 0.2f, high = SPIN_BOX / 2 + 0.2f;
    case_liquid(&c, box_between((BrimVec3){low, low, low}, (BrimVec3){high, high, high}));
    c.liquid[0].spin = (BrimVec3){0, 0, 6.2831853f};
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.transfer = transfer;
    c.def.step = step;
    return c;
}

// --------------------------------------------------------------------------------- sloshing

// Linear potential theory (Lamb; Faltinsen and Timokha): omega^2 = g k tanh(k h), k = pi / L;
// with L = 1 m and g = 9.81 m/s^2 the first mode's period is:
#define SLOSH_PERIOD_01 2.052009 /* depth 0.1 m */
#define SLOSH_PERIOD_025 1.397612
#define SLOSH_PERIOD_05 1.181816

enum { SLOSH_POINTS = 129 };
typedef struct SloshHeights {
    float y[SLOSH_POINTS];
} SloshHeights;

/// A tank of 1 m, let go in half a cosine. `heights` must live until the simulation is made.
static inline Case case_slosh(int n, double depth, double amplitude, SloshHeights *heights) {
    Case c = case_box(2, 1, n, (int)(n * (depth + 0.25)), 1);
    for (int i = 0; i < SLOSH_POINTS; i++)
        heights->y[i] = (float)(depth + amplitude * cos(3.14159265 * i / (SLOSH_POINTS - 1)));
    BrimShapeDef surface = brim_default_shape_def();
    surface.kind = BRIM_SHAPE_HEIGHT_FIELD;
    surface.size = (BrimVec3){1, 0, 1};
    surface.heights = heights->y;
    surface.heights_x = SLOSH_POINTS, surface.heights_z = 1;
    case_liquid(&c, surface);
    c.def.frame_rate = 20;
    return c;
}

/// Period from the zero crossings of the centre of mass, over about so many periods; 0 on error.
static inline double slosh_period(Case *c, double periods, BrimError *error) {
    BrimSim *sim;
    Crossings crossings = {0};
    if (case_create(c, &sim, error) != BRIM_OK) return 0;
    while (crossings.count < 2 * periods + 1 && brim_sim_time(sim) < 20) {
        if (brim_sim_step(sim, error) != BRIM_OK) break;
        double centre[3];
        centre_of_mass(sim, centre);
        crossings_add(&crossings, brim_sim_time(sim), centre[0] - 0.5);
    }
    brim_sim_destroy(&sim);
    return crossings_period(&crossings);
}

// ----------------------------------------------------------------------------- Taylor-Green

/// A full unit box for the vortices u = sin 2 pi x cos 2 pi y, v = -cos 2 pi x sin 2 pi y, which
/// are steady without viscosity and slip along the walls. Steps of 0.3 cells.
static inline Case case_vortex(int n, BrimTransfer transfer) {
    Case c = case_tank(2, n, 1);
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.step = 0.32 / n;
    c.def.transfer = transfer;
    return c;
}

static inline void vortex_at(double x, double y, double v[2]) {
    const double k = 6.283185307179586;
    v[0] = sin(k * x) * cos(k * y);
    v[1] = -cos(k * x) * sin(k * y);
}

/// Root mean square error of the particles' velocities at a time, and the part of the kinetic
/// energy that is lost.
static inline BrimResult vortex_error(Case *c, double time, double *rms, double *loss,
                                      BrimError *error) {
    BrimSim *sim;
    BrimResult r = case_create(c, &sim, error);
    if (r != BRIM_OK) return r;
    BrimParticles p = brim_sim_particles(sim);
    double v[2], sum = 0;
    for (size_t i = 0; i < p.count; i++) {
        vortex_at(p.x[i], p.y[i], v);
        p.vx[i] = (float)v[0], p.vy[i] = (float)v[1];
    }
    double before = energy_per_mass(sim);
    r = run_until(sim, time, error);
    p = brim_sim_particles(sim);
    for (size_t i = 0; i < p.count; i++) {
        vortex_at(p.x[i], p.y[i], v);
        sum += (p.vx[i] - v[0]) * (p.vx[i] - v[0]) + (p.vy[i] - v[1]) * (p.vy[i] - v[1]);
    }
    *rms = sqrt(sum / (double)p.count);
    *loss = 1 - energy_per_mass(sim) / before;
    brim_sim_destroy(&sim);
    return r;
}

// -------------------------------------------------------------------------------- dam break

// J. C. Martin and W. J. Moyce, "An experimental study of the collapse of liquid columns on a rigid
// horizontal plane", Phil. Trans. R. Soc. A 244 (1952) 312-324, doi 10.1098/rsta.1952.0006; column
// of width a = 2.25 in and height 2 a.
#define DAM_A 0.05715

/// Table 2: T = t sqrt(2 g / a), Z = front / a. Time zero is uncertain: one constant shift is
/// allowed.
static const double dam_front[][2] = {{0.41, 1.11}, {0.84, 1.22}, {1.19, 1.44}, {1.43, 1.67},
                                      {1.63, 1.89}, {1.83, 2.11}, {1.98, 2.33}, {2.20, 2.56},
                                      {2.32, 2.78}, {2.51, 3.00}, {2.65, 3.22}, {2.83, 3.44},
                                      {2.98, 3.67}, {3.11, 3.89}, {3.33, 4.11}};
/// Table 6: tau = t sqrt(g / a), H = height at the back wall / (2 a).
static const double dam_height[][2] = {
    {0.56, 0.94}, {0.77, 0.89}, {0.93, 0.83}, {1.08, 0.78}, {1.28, 0.72}, {1.46, 0.67},
    {1.66, 0.61}, {1.84, 0.56}, {2.00, 0.50}, {2.21, 0.44}, {2.45, 0.39}, {2.70, 0.33},
    {3.06, 0.28}, {3.44, 0.22}, {4.20, 0.17}, {5.25, 0.11}, {7.40, 0.06}};
enum { DAM_FRONTS = 15, DAM_HEIGHTS = 17, DAM_SAMPLES = 2000 };

/// n cells to the width of the column.
static inline Case case_dam(int n) {
    Case c = case_box(2, 12 * DAM_A, 12 * n, 3 * n, 1);
    const float a = (float)DAM_A;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){a, 2 * a, 0}));
    c.def.step = 0.02 / n; // about a third of a cell at the front's speed
    c.def.frame_rate = 100;
    return c;
}

typedef struct DamRun {
    int count;
    double time[DAM_SAMPLES], front[DAM_SAMPLES], height[DAM_SAMPLES]; ///< s, m, m
} DamRun;

/// Front and height at the back wall, from the particles: the farthest one but 20, which are spray,
/// and the highest one but two in the first two cells; plus half their spacing.
static inline BrimResult dam_run(Case *c, DamRun *run, BrimError *error) {
    enum { SPRAY = 20, TOP = 2 };
    BrimSim *sim;
    BrimResult r = case_create(c, &sim, error);
    if (r != BRIM_OK) return r;
    double dx = c->def.size.x / c->def.cells[0];
    run->count = 0;
    while (r == BRIM_OK && brim_sim_time(sim) < 0.58 && run->count < DAM_SAMPLES) {
        BrimParticles p = brim_sim_particles(sim);
        float far[SPRAY + 1] = {0}, high[TOP + 1] = {0}; // largest first
        for (size_t i = 0; i < p.count; i++) {
            float x = p.x[i], y = p.x[i] < 2 * dx ? p.y[i] : 0;
            for (int k = 0; k <= SPRAY; k++)
                if (x > far[k]) {
                    float t = far[k];
                    far[k] = x, x = t;
                }
            for (int k = 0; k <= TOP; k++)
                if (y > high[k]) {
                    float t = high[k];
                    high[k] = y, y = t;
                }
        }
        run->time[run->count] = brim_sim_time(sim);
        run->front[run->count] = far[SPRAY] + dx / 6;
        run->height[run->count++] = high[TOP] + dx / 6;
        for (int k = 0; k < 2 && r == BRIM_OK; k++) r = brim_sim_step(sim, error);
    }
    brim_sim_destroy(&sim);
    return r;
}

/// A series at a time, linear between samples.
static inline double dam_at(const DamRun *run, const double *series, double time) {
    int i = 0;
    while (i + 2 < run->count && run->time[i + 1] < time) i++;
    double f = (time - run->time[i]) / (run->time[i + 1] - run->time[i]);
    f = f < 0 ? 0 : f > 1 ? 1 : f;
    return series[i] + f * (series[i + 1] - series[i]);
}

/// Root mean square of front / a against table 2 with the best constant shift of T, which is told.
static inline double dam_front_deviation(const DamRun *run, double *shift) {
    double best = INFINITY;
    for (double s = -0.6; s <= 0.6; s += 0.005) {
        double sum = 0;
        for (int i = 0; i < DAM_FRONTS; i++) {
            double t = (dam_front[i][0] + s) / sqrt(2 * 9.81 / DAM_A);
            double d = dam_at(run, run->front, t) / DAM_A - dam_front[i][1];
            sum += d * d;
        }
        if (sum < best) best = sum, *shift = s;
    }
    return sqrt(best / DAM_FRONTS);
}

/// Root mean square of height / (2 a) against table 6.
static inline double dam_height_deviation(const DamRun *run) {
    double sum = 0;
    for (int i = 0; i < DAM_HEIGHTS; i++) {
        double t = dam_height[i][0] / sqrt(9.81 / DAM_A);
        double d = dam_at(run, run->height, t) / (2 * DAM_A) - dam_height[i][1];
        sum += d * d;
    }
    return sqrt(sum / DAM_HEIGHTS);
}

// ------------------------------------------------------------------------------------ gauges

enum { SLANT_FORCE, SLANT_TOP, SLANT_POINT, SLANT_SIDE, SLANT_FLOOR };
/// Still water 0.5 m deep in a 2D box of 2 m by 0.75 m against a slanted plate: the water lies left
/// of a plane that rises at 60 degrees from (1, 0). The force on it is rho g depth^2 / 2 / sin 60
/// along its normal. n cells a metre, a multiple of 4.
static inline Case case_slant(int n) {
    Case c = case_box(2, 2, 2 * n, n / 4 * 3, 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){2, 0.5f, 0}));
    BrimShapeDef plate = brim_default_shape_def();
    plate.kind = BRIM_SHAPE_PLANE;
    plate.position = (BrimVec3){1, 0, 0};
    plate.normal = (BrimVec3){-sinf(1.04719755f), cosf(1.04719755f), 0};
    case_solid(&c, plate);
    case_gauge(&c, "plate", BRIM_GAUGE_FORCE, (BrimVec3){0}, (BrimVec3){0})->solid = 0;
    case_gauge(&c, "level", BRIM_GAUGE_HEIGHT, (BrimVec3){0.3f, 0, 0}, (BrimVec3){0.3f, 0.75f, 0});
    case_gauge(&c, "toe", BRIM_GAUGE_POINT, (BrimVec3){1.05f, 0.05f * 1.7320508f, 0},
               (BrimVec3){0});
    case_gauge(&c, "side", BRIM_GAUGE_FORCE, (BrimVec3){0}, (BrimVec3){0})->side = 1;
    case_gauge(&c, "floor", BRIM_GAUGE_FORCE, (BrimVec3){0}, (BrimVec3){0})->side = 3;
    return c;
}

enum { BALL_FORCE, BALL_POINT, BALL_LEVEL, BALL_SIDE, BALL_FLOOR };
#define BALL_RADIUS 0.2f
/// A ball under still water 0.75 m deep in a tank of a metre; n cells a metre.
static inline Case case_ball(int n) {
    Case c = case_tank(3, n, 0.75f);
    case_solid(&c, ball((BrimVec3){0.5f, 0.35f, 0.5f}, BALL_RADIUS));
    case_gauge(&c, "ball", BRIM_GAUGE_FORCE, (BrimVec3){0}, (BrimVec3){0})->solid = 0;
    case_gauge(&c, "corner", BRIM_GAUGE_POINT, (BrimVec3){0}, (BrimVec3){0});
    case_gauge(&c, "level", BRIM_GAUGE_HEIGHT, (BrimVec3){0, 0, 0}, (BrimVec3){0, 1, 0});
    case_gauge(&c, "side", BRIM_GAUGE_FORCE, (BrimVec3){0}, (BrimVec3){0})->side = 6;
    case_gauge(&c, "floor", BRIM_GAUGE_FORCE, (BrimVec3){0}, (BrimVec3){0})->side = 3;
    return c;
}

enum { JET_FORCE, JET_FLOW, JET_POINT };
#define JET_WIDTH 0.2f
#define JET_SPEED 2.0f
/// A jet in 2D without gravity, across a box of 1 m by 2 m with open sides, onto a plate at x = 1,
/// the right side; n cells a metre. The force is rho Q v, the flow v JET_WIDTH, the pressure in the
/// middle rho v^2 / 2.
static inline Case case_jet(int n) {
    Case c = case_box(2, 1, n, 2 * n, 1);
    BrimSourceDef *source = &c.sources[c.def.source_count++];
    *source = brim_default_source_def();
    source->shape = box_between((BrimVec3){0.05f, 1 - JET_WIDTH / 2, 0},
                                (BrimVec3){0.2f, 1 + JET_WIDTH / 2, 0});
    source->velocity = (BrimVec3){JET_SPEED, 0, 0};
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.sides[0] = c.def.sides[2] = c.def.sides[3] = BRIM_SIDE_OPEN;
    c.def.step = 0.5 / n / (double)JET_SPEED;
    c.def.frame_rate = 20;
    case_gauge(&c, "plate", BRIM_GAUGE_FORCE, (BrimVec3){0}, (BrimVec3){0})->side = 2;
    case_gauge(&c, "flow", BRIM_GAUGE_FLOW, (BrimVec3){0.4f, 0.7f, 0}, (BrimVec3){0.4f, 1.3f, 0});
    case_gauge(&c, "middle", BRIM_GAUGE_POINT, (BrimVec3){1, 1, 0}, (BrimVec3){0});
    return c;
}

/// Means of columns of gauges over the steps of a span of time.
static inline BrimResult gauge_means(BrimSim *sim, double from, double to, int count,
                                     const int (*shown)[2], double *mean, BrimError *error) {
    BrimResult r = run_until(sim, from, error);
    double total = 0;
    for (int i = 0; i < count; i++) mean[i] = 0;
    while (r == BRIM_OK && brim_sim_time(sim) < to - 1e-9) {
        double before = brim_sim_time(sim);
        r = brim_sim_step(sim, error);
        double dt = brim_sim_time(sim) - before;
        for (int i = 0; i < count; i++) mean[i] += dt * gauge_shows(sim, shown[i][0], shown[i][1]);
        total += dt;
    }
    for (int i = 0; i < count; i++) mean[i] /= total;
    return r;
}
