// Waves and rest in vessels with slanted and curved walls, for the tests and for `make validate`.
// Uses brim.h alone.
#pragma once
#include "cases.h"

/// How a small wave swings: measured period, s, and the part of its height that a period takes.
typedef struct Swing {
    double period, decay;
    double exact;   ///< period, s
    double fastest; ///< of a particle at any time, m/s
} Swing;

/// Velocity that particles start with, m/s.
typedef void (*StartVelocity)(double x, double y, double z, double v[3]);

/// Lets a wave go and follows the centre of mass along x about `middle` over so many half periods.
/// The height of each half is that of the sine with its area.
static inline BrimResult swing_run(Case *c, StartVelocity start, double middle, int halves,
                                   Swing *swing, BrimError *error) {
    BrimSim *sim;
    BrimResult r = case_create(c, &sim, error);
    if (r != BRIM_OK) return r;
    BrimParticles p = brim_sim_particles(sim);
    for (size_t i = 0; i < p.count; i++) {
        double v[3];
        start(p.x[i], p.y[i], p.z[i], v);
        p.vx[i] = (float)v[0], p.vy[i] = (float)v[1], p.vz[i] = (float)v[2];
    }
    Crossings crossings = {0};
    double centre[3], area = 0, first = 0, last = 0, before = 0, offset;
    int counted = 0, whole = 0; // halves from the first crossing on
    centre_of_mass(sim, centre);
    offset = centre[0] - middle; // of the seeding
    swing->fastest = 0;
    while (r == BRIM_OK && crossings.count < halves + 1 && brim_sim_time(sim) < 60) {
        double t = brim_sim_time(sim);
        r = brim_sim_step(sim, error);
        if (r != BRIM_OK) break;
        centre_of_mass(sim, centre);
        double now = centre[0] - middle - offset, dt = brim_sim_time(sim) - t;
        area += 0.5 * fabs(now + before) * dt;
        before = now;
        swing->fastest = fmax(swing->fastest, brim_sim_stats(sim)->max_speed);
        crossings_add(&crossings, brim_sim_time(sim), now);
        if (crossings.count == counted) continue;
        if (counted++ > 0) {
            if (!whole++) first = area;
            last = area;
        }
        area = 0;
    }
    brim_sim_destroy(&sim);
    swing->period = crossings_period(&crossings);
    swing->decay = whole > 1 ? 1 - pow(last / first, 2.0 / (whole - 1)) : 0;
    return r;
}

// ------------------------------------------------------------------------------- V-shaped tank

#define V_DEPTH 0.5

/// phi = x y from the apex up: it slides along both walls, and its surface stays a plane; the
/// period is 2 pi sqrt(h / g) exactly (Lamb, Hydrodynamics, section 258).
static inline void v_start(double x, double y, double z, double v[3]) {
    const double rate = 0.05 * sqrt(9.81 / V_DEPTH);
    v[0] = rate * (y - 0.1 * V_DEPTH), v[1] = rate * (x - 1.3 * V_DEPTH), v[2] = 0 * z;
}

/// Two walls at a right angle, n cells deep.
static inline Swing v_tank(int n, void (*change)(BrimSimDef *), int halves, BrimError *error) {
    Case c = case_box(2, 2.6 * V_DEPTH, 26 * n / 10, 14 * n / 10, 1);
    const float apex = 0.1f * (float)V_DEPTH, level = 1.1f * (float)V_DEPTH;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){2.6f * (float)V_DEPTH, level, 0}));
    for (int side = -1; side <= 1; side += 2) {
        BrimShapeDef wall = brim_default_shape_def();
        wall.kind = BRIM_SHAPE_PLANE;
        wall.position = (BrimVec3){1.3f * (float)V_DEPTH, apex, 0};
        wall.normal = (BrimVec3){(float)side, 1, 0};
        case_solid(&c, wall);
    }
    c.def.frame_rate = 60;
    c.def.cfl = 2;
    if (change) change(&c.def);
    Swing s = {.exact = 2 * 3.14159265358979 * sqrt(V_DEPTH / 9.81)};
    error->result = swing_run(&c, v_start, 1.3 * V_DEPTH, halves, &s, error);
    return s;
}

// ------------------------------------------------------------------------------------ low wave

#define LOW_LENGTH 0.6
#define LOW_DEPTH 0.3
#define LOW_K (3.14159265358979 / LOW_LENGTH)

/// First mode of a tank with straight walls, 8.6 mm high.
static inline void low_start(double x, double y, double z, double v[3]) {
    const double speed = 0.06 / cosh(LOW_K * LOW_DEPTH);
    v[0] = speed * sin(LOW_K * x) * cosh(LOW_K * y), v[2] = 0 * z;
    v[1] = -speed * cos(LOW_K * x) * sinh(LOW_K * y);
}

/// n cells deep, in 3D n wide. With 15 the wave is 0.4 cells high.
static inline Swing low_wave(int dim, int n, float jitter, uint64_t seed, int halves,
                             BrimError *error) {
    Case c = case_box(dim, LOW_LENGTH, 2 * n, 14 * n / 10, n);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0},
                                (BrimVec3){LOW_LENGTH, LOW_DEPTH, dim == 3 ? LOW_LENGTH : 0}));
    c.def.jitter = jitter, c.def.seed = seed;
    c.def.frame_rate = 60;
    c.def.cfl = 2;
    double omega = sqrt(9.81 * LOW_K * tanh(LOW_K * LOW_DEPTH));
    Swing s = {.exact = 2 * 3.14159265358979 / omega};
    error->result = swing_run(&c, low_start, 0.5 * LOW_LENGTH, halves, &s, error);
    return s;
}

// ----------------------------------------------------------------------------- upright cylinder

#define CYLINDER_R 0.3
#define CYLINDER_DEPTH 0.3
#define CYLINDER_K (1.8411838 / CYLINDER_R)

/// First mode: phi = J1(k r) cos(theta) cosh(k y) / cosh(k h).
static inline void cylinder_start(double x, double y, double z, double v[3]) {
    const double k = CYLINDER_K, rate = 0.02 * sqrt(9.81 / CYLINDER_DEPTH) / k;
    double dx = x - 1.2 * CYLINDER_R, dz = z - 1.2 * CYLINDER_R, r = fmax(hypot(dx, dz), 1e-9);
    double c = dx / r, s = dz / r, q = k * r, up = cosh(k * y) / cosh(k * CYLINDER_DEPTH);
    double slope = 0.5 * (j0(q) - jn(2, q)), over = j1(q) / q; // J1' and J1 / q
    v[0] = 2 * rate * k * up * (slope * c * c + over * s * s);
    v[2] = 2 * rate * k * up * (slope - over) * c * s;
    v[1] = 2 * rate * k * j1(q) * c * sinh(k * y) / cosh(k * CYLINDER_DEPTH);
}

/// n cells to the radius.
static inline Swing cylinder_tank(int n, void (*change)(BrimSimDef *), int halves,
                                  BrimError *error) {
    int across = (int)lrint(2.4 * n), high = (int)lrint(1.4 * n);
    double dx = CYLINDER_R / n;
    Case c = case_box(3, dx * across, across, high, across);
    const float far = 2.4f * (float)CYLINDER_R, middle = 1.2f * (float)CYLINDER_R;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){far, (float)CYLINDER_DEPTH, far}));
    c.parts[0] = box_between((BrimVec3){-1, -1, -1}, (BrimVec3){2, 2, 2});
    c.parts[1] = brim_default_shape_def();
    c.parts[1].kind = BRIM_SHAPE_CYLINDER;
    c.parts[1].radius = (float)CYLINDER_R, c.parts[1].height = 4;
    c.parts[1].position = (BrimVec3){middle, 0, middle};
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_DIFFERENCE;
    shape.children = c.parts, shape.child_count = 2;
    case_solid(&c, shape);
    c.def.frame_rate = 60;
    c.def.cfl = 2;
    if (change) change(&c.def);
    double omega = sqrt(9.81 * CYLINDER_K * tanh(CYLINDER_K * CYLINDER_DEPTH));
    Swing s = {.exact = 2 * 3.14159265358979 / omega};
    error->result = swing_run(&c, cylinder_start, (double)middle, halves, &s, error);
    return s;
}

// -------------------------------------------------------------------------------------- U-tube

#define U_WIDTH 0.2
#define U_LEG 0.4 /* of water, above the bend */
/// Length of a straight tube of the same width that holds as much kinetic energy at the same flow:
/// the width times the integral of |grad psi|^2 over the water, where psi is 0 on the inner wall
/// and 1 on the outer one. Two legs, half a ring with radii 0.2 and 0.4 m, U_WIDTH pi / ln 2, and
/// what the flow needs to change from one to the other, 2.5 mm; by finite differences along and
/// across the tube, 80 across.
#define U_LENGTH 1.70898

static inline void u_start(double x, double y, double z, double v[3]) {
    const double speed = 0.1;
    double dx = x - 0.5, dy = y - 0.5, r = fmax(hypot(dx, dy), 0.1);
    v[2] = 0 * z;
    if (dy > 0) {
        v[0] = 0, v[1] = dx > 0 ? speed : -speed;
        return;
    }
    double along = speed * U_WIDTH / log(2) / r; // counter-clockwise
    v[0] = -along * dy / r, v[1] = along * dx / r;
}

/// Two legs and half a ring that meet at y = 0.5; n cells a metre.
static inline Case u_case(int n) {
    Case c = case_box(2, 1, n, 11 * n / 10, 1);
    const BrimVec3 centre = {0.5f, 0.5f, 0};
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.5f + (float)U_LEG, 0}));
    c.parts[0] = box_between((BrimVec3){-1, -1, 0}, (BrimVec3){2, 2, 0});
    c.parts[1] = box_between((BrimVec3){0.1f, 0.5f, 0}, (BrimVec3){0.3f, 2, 0});
    c.parts[2] = box_between((BrimVec3){0.7f, 0.5f, 0}, (BrimVec3){0.9f, 2, 0});
    c.parts[3] = brim_default_shape_def();
    c.parts[3].kind = BRIM_SHAPE_DIFFERENCE, c.parts[3].child_count = 3;
    c.parts[4] = ball(centre, 0.4f), c.parts[5] = ball(centre, 0.2f);
    c.parts[6] = box_between((BrimVec3){-1, 0.5f, 0}, (BrimVec3){2, 2, 0});
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_DIFFERENCE, shape.child_count = 4;
    case_solid(&c, shape);
    c.def.frame_rate = 60;
    c.def.cfl = 2;
    return c;
}

/// Shapes refer to one another: once the case is where it stays.
static inline void u_join(Case *c) {
    c->parts[3].children = c->parts + 4;
    c->solids[0].shape.children = c->parts;
}

static inline Swing u_tube(int n, void (*change)(BrimSimDef *), int halves, BrimError *error) {
    Case c = u_case(n);
    u_join(&c);
    if (change) change(&c.def);
    Swing s = {.exact = 2 * 3.14159265358979 * sqrt(U_LENGTH / (2 * 9.81))};
    error->result = swing_run(&c, u_start, 0.5, halves, &s, error);
    return s;
}

// --------------------------------------------------------------------------------------- rest

/// Rest between a slanted wall and a round one, n cells a metre, water 0.6 m deep. Root mean square
/// speed at the end over sqrt(g h).
static inline double rest_at_walls(int dim, int n, double time, BrimError *error) {
    Case c = case_box(dim, 1, n, n, n);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.6f, 1}));
    BrimShapeDef wall = brim_default_shape_def();
    wall.kind = BRIM_SHAPE_PLANE;
    wall.position = (BrimVec3){0.25f, 0, 0}, wall.normal = (BrimVec3){2, 1, 0.5f};
    case_solid(&c, wall);
    case_solid(&c, ball((BrimVec3){0.8f, 0.1f, 0.5f}, 0.3f));
    c.def.jitter = 0;
    c.def.step = 0.005;
    c.def.tolerance = 1e-6;
    BrimSim *sim;
    error->result = case_create(&c, &sim, error);
    if (error->result != BRIM_OK) return NAN;
    error->result = run_until(sim, time, error);
    double speed = sqrt(2 * energy_per_mass(sim) / (9.81 * 0.6));
    brim_sim_destroy(&sim);
    return speed;
}

// ------------------------------------------------------------------------------ solitary wave

// R. Grimshaw, "The solitary wave in water of variable depth", J. Fluid Mech. 46 (1971) 611: to
// second order in e = H / d.
#define SOLITARY_D 0.2
#define SOLITARY_E 0.2
#define SOLITARY_X (8 * SOLITARY_D)

static inline double solitary_speed(void) {
    const double e = SOLITARY_E;
    return sqrt(9.81 * SOLITARY_D * (1 + e - e * e / 20 - 3 * e * e * e / 70));
}
/// sech^2 and tanh at a place.
static inline void solitary_shape(double x, double *s2, double *t) {
    const double e = SOLITARY_E, a = sqrt(0.75 * e) * (1 - 0.625 * e + 71 * e * e / 128);
    double q = a * (x - SOLITARY_X) / SOLITARY_D, s = 1 / cosh(q);
    *s2 = s * s, *t = tanh(q);
}
static inline double solitary_height(double x) {
    const double e = SOLITARY_E;
    double s2, t;
    solitary_shape(x, &s2, &t);
    return SOLITARY_D * (e * s2 - 0.75 * e * e * s2 * t * t +
                         e * e * e * (0.625 * s2 * t * t - 101.0 / 80 * s2 * s2 * t * t));
}
static inline void solitary_start(double x, double y, double z, double v[3]) {
    const double e = SOLITARY_E, c = sqrt(9.81 * SOLITARY_D), h = y / SOLITARY_D;
    double s2, t, s4;
    solitary_shape(x, &s2, &t);
    s4 = s2 * s2;
    v[0] = c * (e * s2 - e * e * (-0.25 * s2 + s4 + h * h * (1.5 * s2 - 2.25 * s4)));
    v[1] = c * sqrt(3 * e) * h * t *
           (e * s2 - e * e * (0.375 * s2 + 2 * s4 + h * h * (0.5 * s2 - 1.5 * s4)));
    v[2] = 0 * z;
}

/// Place and height of the highest point of the surface, m: from the level set, by a parabola
/// through the highest column and those half a depth beside it.
static inline bool solitary_crest(const BrimSim *sim, double *x, double *height) {
    const BrimSimDef *d = brim_sim_def(sim);
    int nx = d->cells[0], ny = d->cells[1], best = 0;
    double dx = d->size.x / nx;
    float *phi = malloc((size_t)nx * (size_t)ny * sizeof *phi);
    double *top = calloc((size_t)nx, sizeof *top);
    bool ok =
        phi && top &&
        brim_sim_field(sim, BRIM_FIELD_LEVEL_SET, phi, (size_t)nx * (size_t)ny, NULL) == BRIM_OK;
    int half = (int)(0.5 * SOLITARY_D / dx);
    for (int i = 0; i < nx && ok; i++)
        for (int j = ny - 2; j >= 0; j--) {
            float low = phi[j * nx + i], high = phi[(j + 1) * nx + i];
            if (low >= 0 || high < 0) continue;
            top[i] = dx * (j + 0.5 + low / (low - high));
            break;
        }
    for (int i = half; i < nx - half && ok; i++)
        if (top[i] > top[best]) best = i;
    if (ok) { // least squares: y = a + b q + c q^2
        double sums[5] = {0}, y0 = 0, y1 = 0, y2 = 0;
        for (int k = -half; k <= half; k++) {
            double y = top[best + k], q = (double)k / half, power = 1;
            for (int m = 0; m < 5; m++) sums[m] += power, power *= q;
            y0 += y, y1 += y * q, y2 += y * q * q;
        }
        double b = y1 / sums[2], det = sums[0] * sums[4] - sums[2] * sums[2];
        double c = (sums[0] * y2 - sums[2] * y0) / det, a = (y0 - c * sums[2]) / sums[0];
        *x = dx * (best + 0.5 + half * (-b / (2 * c)));
        *height = a - b * b / (4 * c);
    }
    free(phi), free(top);
    return ok;
}

enum { SOLITARY_POINTS = 601 };

/// A solitary wave over 15 depths, n cells to the depth: speed, m/s, and height of the crest above
/// the still water after two and after 15 depths, m.
static inline void solitary_run(int n, double *speed, double height[2], BrimError *error) {
    static float heights[SOLITARY_POINTS];
    const double length = 30 * SOLITARY_D;
    Case c = case_box(2, length, 30 * n, 3 * n / 2, 1);
    for (int i = 0; i < SOLITARY_POINTS; i++)
        heights[i] = (float)(SOLITARY_D + solitary_height(length * i / (SOLITARY_POINTS - 1)));
    BrimShapeDef surface = brim_default_shape_def();
    surface.kind = BRIM_SHAPE_HEIGHT_FIELD;
    surface.size = (BrimVec3){(float)length, 0, 1};
    surface.heights = heights, surface.heights_x = SOLITARY_POINTS, surface.heights_z = 1;
    case_liquid(&c, surface);
    c.def.frame_rate = 60;
    c.def.cfl = 1;
    BrimSim *sim;
    error->result = case_create(&c, &sim, error);
    if (error->result != BRIM_OK) return;
    BrimParticles p = brim_sim_particles(sim);
    for (size_t i = 0; i < p.count; i++) {
        double v[3];
        solitary_start(p.x[i], p.y[i], p.z[i], v);
        p.vx[i] = (float)v[0], p.vy[i] = (float)v[1];
    }
    double at[2] = {0}, time[2] = {0};
    for (int k = 0; k < 2 && error->result == BRIM_OK; k++) {
        error->result = run_until(sim, (k ? 15 : 2) * SOLITARY_D / solitary_speed(), error);
        time[k] = brim_sim_time(sim);
        if (!solitary_crest(sim, &at[k], &height[k])) error->result = BRIM_ERROR_MEMORY;
        height[k] -= SOLITARY_D;
    }
    *speed = (at[1] - at[0]) / (time[1] - time[0]);
    brim_sim_destroy(&sim);
}
