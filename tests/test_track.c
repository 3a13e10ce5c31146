// The surface that particles carry along: kernels against plain twins, then flows that are given,
// so that only advection, sort and surface run, against exact answers.
#include "base/hash.h"
#include "cases.h"
#include "particles/normal.h"
#include "step/stages.h"
#include "surface/track_tiles.h"
#include "test.h"

// ------------------------------------------------------------------------------- a given flow

/// Velocity in cells/s at a point in cells.
typedef void Flow(const double at[3], double time, double v[3]);

static void face_point(const BrimSim *s, int64_t i, int axis, double at[3]) {
    const Grid *g = &s->grid;
    int slot = (int)(i / g->tile_cells), cell = (int)(i % g->tile_cells);
    const int c[3] = {g->coord[slot].x, g->coord[slot].y, g->coord[slot].z};
    for (int a = 0; a < 3; a++)
        at[a] = c[a] * TILE + (cell >> (3 * a) & 7) + (a == axis ? 0.0 : 0.5);
}

/// The flow on all faces of all tiles, in the middle of a step.
static void set_flow(BrimSim *s, Flow *flow, double time) {
    float fastest = 0;
    for (int a = 0; a < s->dim; a++)
        for (size_t i = 0; i < sim_cells(s); i++) {
            double at[3], v[3] = {0};
            face_point(s, (int64_t)i, a, at);
            flow(at, time, v);
            s->velocity[a][i] = (float)(v[a] * s->dx);
            fastest = fmaxf(fastest, fabsf(s->velocity[a][i]));
        }
    for (int t = 0; t < s->grid.tile_count; t++) s->tile_speed[t] = fastest;
    s->max_speed = fastest;
}

/// Calm particles go with the flow, but no faster than calm water does.
static void set_calm(BrimSim *s, Flow *flow, double time) {
    const Particles *p = &s->particles;
    for (size_t i = 0; i < p->count; i++) {
        double at[3] = {0}, v[3] = {0}, had = 0, size = 0;
        for (int a = 0; a < s->dim; a++) {
            at[a] = (double)p->attr[ATTR_X + a][i] * (double)s->inv_dx;
            had = hypot(had, (double)p->attr[ATTR_VX + a][i]);
        }
        if (had > 1) continue;
        flow(at, time, v);
        for (int a = 0; a < s->dim; a++) size = hypot(size, v[a] * (double)s->dx);
        for (int a = 0; a < s->dim; a++)
            p->attr[ATTR_VX + a][i] = (float)(v[a] * (double)s->dx * fmin(1, 0.9 / (size + 1e-30)));
    }
}

static BrimResult flow_step(BrimSim *s, Flow *flow, double dt, BrimError *error) {
    s->dt = s->dt_next = dt;
    set_flow(s, flow, s->time + 0.5 * dt);
    BrimResult r = stages_run(s, AT_ADVECT, AT_ADVECT, error);
    if (r == BRIM_OK) r = stages_run(s, AT_SORT, AT_SORT, error);
    set_calm(s, flow, s->time + 0.5 * dt);
    if (r == BRIM_OK) r = stages_run(s, AT_SURFACE, AT_SURFACE, error);
    s->time += dt;
    return r;
}

static BrimResult flow_run(BrimSim *s, Flow *flow, double dt, int steps, BrimError *error) {
    BrimResult r = BRIM_OK;
    for (int i = 0; i < steps && r == BRIM_OK; i++) r = flow_step(s, flow, dt, error);
    return r;
}

/// A box of unit cells in which calm is whatever is seeded slower than 1 m/s.
static Case case_cells(int dim, int nx, int ny, int nz, double memory) {
    Case c = case_box(dim, nx, nx, ny, nz);
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.tracking = BRIM_TRACKING_RESPONSIVE;
    c.def.tracking_speed[0] = 1, c.def.tracking_speed[1] = 2;
    c.def.tracking_memory = memory;
    c.def.volume = BRIM_VOLUME_NONE;
    return c;
}
static const double FOREVER = 1e12;

// ------------------------------------------------------------------------- what the surface is

/// Value of the level set at cell x, y, z, mirrored at the walls; 2 where there is no tile.
static double phi_at(const BrimSim *s, int x, int y, int z) {
    int at[3] = {x, y, z};
    for (int a = 0; a < 3; a++) {
        at[a] = at[a] < 0 ? 0 : at[a];
        at[a] = at[a] >= s->grid.cells[a] ? s->grid.cells[a] - 1 : at[a];
    }
    int64_t i = grid_cell(&s->grid, at[0], at[1], at[2]);
    return i < 0 ? 2 : (double)s->tracked[i];
}

/// Calls `see` with each place where the surface crosses a line between cell centres, in cells.
typedef void See(const double at[3], void *context);
static void crossings(const BrimSim *s, See *see, void *context) {
    const int *n = s->grid.cells;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++)
                for (int a = 0; a < s->dim; a++) {
                    const int c[3] = {x, y, z};
                    if (c[a] + 1 >= n[a]) continue;
                    double p = phi_at(s, x, y, z);
                    double q = phi_at(s, x + (a == 0), y + (a == 1), z + (a == 2));
                    if ((p < 0) == (q < 0)) continue;
                    double at[3] = {x + 0.5, y + 0.5, z + 0.5};
                    at[a] += p / (p - q);
                    see(at, context);
                }
}

/// How far the surface is from an exact distance: mean, root mean square about it, largest.
typedef struct Off {
    double (*exact)(const double at[3]);
    double from, to; ///< along x
    double sum, squares, most;
    int count;
} Off;
static void off_see(const double at[3], void *context) {
    Off *o = context;
    if (at[0] < o->from || at[0] > o->to) return;
    double d = o->exact(at);
    o->sum += d, o->squares += d * d, o->count++;
    o->most = fmax(o->most, fabs(d));
}
static double off_mean(const Off *o) {
    return o->count ? o->sum / o->count : NAN;
}
static double off_rms(const Off *o) {
    return sqrt(fmax(0, o->squares / o->count - off_mean(o) * off_mean(o)));
}
static Off off(const BrimSim *s, double (*exact)(const double at[3])) {
    Off o = {.exact = exact,
             .from = 0.35 * s->grid.cells[0],
             .to = 0.65 * s->grid.cells[0]}; // far from walls
    crossings(s, off_see, &o);
    return o;
}

/// Area inside the level set and of what is inside it or the exact one alone, in cells; 2D.
static void areas(const BrimSim *s, double (*exact)(const double at[3]), double *area,
                  double *exact_area, double *apart) {
    enum { FINE = 8 };
    *area = *exact_area = *apart = 0;
    for (int y = 0; y < s->grid.cells[1] * FINE; y++)
        for (int x = 0; x < s->grid.cells[0] * FINE; x++) {
            double at[3] = {(x + 0.5) / FINE, (y + 0.5) / FINE, 0.5};
            double u = at[0] - 0.5, v = at[1] - 0.5;
            int i = (int)floor(u), j = (int)floor(v);
            u -= i, v -= j;
            double low = (1 - u) * phi_at(s, i, j, 0) + u * phi_at(s, i + 1, j, 0);
            double high = (1 - u) * phi_at(s, i, j + 1, 0) + u * phi_at(s, i + 1, j + 1, 0);
            bool in = (1 - v) * low + v * high < 0, should = exact(at) < 0;
            *area += in, *exact_area += should, *apart += in != should;
        }
    *area /= FINE * FINE, *exact_area /= FINE * FINE, *apart /= FINE * FINE;
}

// ---------------------------------------------------------------------------------------- flat

static void still(const double at[3], double time, double v[3]) {
    v[0] = v[1] = v[2] = 0;
}
static void sideways(const double at[3], double time, double v[3]) {
    v[0] = 13.0 * cos(2 * M_PI * time), v[1] = 0, v[2] = 0; // there and back: walls stay far
}
/// In 2D a third of a cell, in 3D a half: where the lattice of particles ends as well.
static double level_of(int dim) {
    return dim == 3 ? 10.5 : 10.0 + 1.0 / 3;
}
static double level_2d(const double at[3]) {
    return at[1] - level_of(2);
}
static double level_3d(const double at[3]) {
    return at[1] - level_of(3);
}

/// A pool with particles all over their cells. Without memory they move fast, as it seems.
static BrimSim *flat_pool(int dim, double memory, BrimError *error) {
    Case c = case_cells(dim, 48, 20, 12, memory);
    c.def.jitter = dim == 3 ? 0.5f : 1;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){48, (float)level_of(dim), 12}));
    if (memory == 0) c.liquid[0].velocity = (BrimVec3){0, 3, 0};
    BrimSim *s = NULL;
    case_create(&c, &s, error);
    return s;
}

static Off off_level(const BrimSim *s) {
    return off(s, s->dim == 3 ? level_3d : level_2d);
}

TEST(track_flat_pool_stays_flat) {
    BrimError error;
    for (int dim = 2; dim <= 3; dim++) {
        int steps = dim == 2 ? 100 : 30;
        BrimSim *ever = flat_pool(dim, FOREVER, &error), *half = flat_pool(dim, 0.5, &error);
        BrimSim *none = flat_pool(dim, 0, &error);
        CHECK(ever && half && none);
        Off o = off_level(ever);
        CHECK_BELOW(o.most, 1e-5); // planes from exact values
        CHECK_OK(flow_run(ever, sideways, 0.01, steps, &error), error);
        CHECK_OK(flow_run(half, sideways, 0.01, steps, &error), error);
        CHECK_OK(flow_run(none, sideways, 0.01, steps, &error), error);
        Off past = off_level(ever), fades = off_level(half), average = off_level(none);
        CHECK_BELOW(past.most, 1e-4);
        CHECK_BELOW(off_rms(&fades), 0.04);
        CHECK_BELOW(off_rms(&fades), off_rms(&average));
        CHECK_BELOW(fabs(off_mean(&fades)), 0.02);
        brim_sim_destroy(&ever);
        brim_sim_destroy(&half);
        brim_sim_destroy(&none);
    }
}

// --------------------------------------------------------------------------------------- round

static void circle(const double at[3], double time, double v[3]) {
    // everything goes round in a circle without turning: uniform, and back after a second
    v[0] = 12 * cos(2 * M_PI * time), v[1] = 12 * sin(2 * M_PI * time), v[2] = 0;
}
static double disk_8(const double at[3]) {
    return hypot(at[0] - 14, at[1] - 12) - 8;
}
static double ball_8(const double at[3]) {
    return hypot(hypot(at[0] - 14, at[1] - 12), at[2] - 12) - 8;
}

TEST(track_disk_and_ball_keep_their_size) {
    BrimError error;
    for (int dim = 2; dim <= 3; dim++) {
        Case c = case_cells(dim, 28, 28, 24, FOREVER);
        case_liquid(&c, ball((BrimVec3){14, 12, dim == 3 ? 12 : 0}, 8));
        BrimSim *s;
        CHECK_OK(case_create(&c, &s, &error), error);
        CHECK_OK(flow_run(s, circle, 0.025, 40, &error), error);
        Off o = {.exact = dim == 3 ? ball_8 : disk_8, .from = 0, .to = 28};
        crossings(s, off_see, &o);
        CHECK_BELOW(fabs(off_mean(&o)), 0.03);
        CHECK_BELOW(off_rms(&o), 0.03);
        brim_sim_destroy(&s);
    }
}

// ------------------------------------------------------------------------------ bodies that turn

static void turn(const double at[3], double time, double v[3]) {
    v[0] = -2 * M_PI * (at[1] - 50), v[1] = 2 * M_PI * (at[0] - 50), v[2] = 0;
}
/// Zalesak's disk: radius 15 around (50, 75) with a slot 5 wide, 25 deep.
static double zalesak(const double at[3]) {
    double disk = hypot(at[0] - 50, at[1] - 75) - 15;
    double slot = fmax(fabs(at[0] - 50) - 2.5, at[1] - 85);
    return fmax(disk, -slot);
}

TEST(track_zalesak_disk) {
    BrimError error;
    Case c = case_cells(2, 100, 100, 1, 0.5);
    BrimShapeDef *part = c.parts, shape = brim_default_shape_def();
    part[0] = ball((BrimVec3){50, 75, 0}, 15);
    part[1] = box_between((BrimVec3){47.5f, 55, -1}, (BrimVec3){52.5f, 85, 1});
    shape.kind = BRIM_SHAPE_DIFFERENCE, shape.children = part, shape.child_count = 2;
    case_liquid(&c, shape);
    BrimSim *s;
    CHECK_OK(case_create(&c, &s, &error), error);
    double area, exact, apart;
    CHECK_OK(flow_run(s, turn, 1.0 / 157, 157, &error), error);
    areas(s, zalesak, &area, &exact, &apart);
    CHECK_NEAR(area / exact, 1, 0.015);
    CHECK_BELOW(apart / exact, 0.02);
    brim_sim_destroy(&s);
}

enum { VORTEX = 64 };
static void vortex(const double at[3], double time, double v[3]) {
    double x = M_PI * at[0] / VORTEX, y = M_PI * at[1] / VORTEX, back = time < 1 ? 1 : -1;
    v[0] = -back * VORTEX * 2 * sin(x) * sin(x) * sin(y) * cos(y);
    v[1] = back * VORTEX * 2 * sin(y) * sin(y) * sin(x) * cos(x);
    v[2] = 0;
}
static double vortex_disk(const double at[3]) {
    return hypot(at[0] - 0.5 * VORTEX, at[1] - 0.75 * VORTEX) - 0.15 * VORTEX;
}

TEST(track_vortex_there_and_back) {
    BrimError error;
    Case c = case_cells(2, VORTEX, VORTEX, 1, 0.5);
    case_liquid(&c, ball((BrimVec3){0.5f * VORTEX, 0.75f * VORTEX, 0}, 0.15f * VORTEX));
    BrimSim *s;
    CHECK_OK(case_create(&c, &s, &error), error);
    CHECK_OK(flow_run(s, vortex, 1.0 / 128, 256, &error), error);
    double area, exact, apart;
    areas(s, vortex_disk, &area, &exact, &apart);
    CHECK_BELOW(apart / (VORTEX * VORTEX), 0.001);
    brim_sim_destroy(&s);
}

// ---------------------------------------------------------------------------------------- waves

/// A standing wave in deep water, 32 cells long, with a period of 1 s: flat at the start, at its
/// height a quarter later.
enum { WAVE = 32, WAVE_LEVEL = 20 };
static void wave(const double at[3], double time, double v[3]) {
    double k = 2 * M_PI / WAVE, w = 2 * M_PI * cos(2 * M_PI * time);
    double grow = exp(k * (at[1] - WAVE_LEVEL));
    v[0] = -w * grow * sin(k * at[0]), v[1] = w * grow * cos(k * at[0]), v[2] = 0;
}

/// First harmonic of heights at the middles of columns.
typedef struct Harmonic {
    double cosine, count;
} Harmonic;
static void harmonic_add(Harmonic *h, double x, double y) {
    h->cosine += (y - WAVE_LEVEL) * cos(2 * M_PI / WAVE * x), h->count++;
}
static void harmonic_see(const double at[3], void *context) {
    if (at[0] - floor(at[0]) == 0.5) harmonic_add(context, at[0], at[1]); // on upright lines
}

/// The same of the surface's own points, carried along with short steps.
static double true_height(double end) {
    enum { POINTS = 16 * WAVE, STEPS = 4000 };
    static double x[POINTS + 1], y[POINTS + 1];
    for (int i = 0; i <= POINTS; i++) x[i] = (double)WAVE * i / POINTS, y[i] = WAVE_LEVEL;
    for (int n = 0; n < STEPS; n++)
        for (int i = 0; i <= POINTS; i++) {
            double at[3] = {x[i], y[i], 0}, v[3], dt = end / STEPS;
            wave(at, n * dt, v);
            at[0] += 0.5 * dt * v[0], at[1] += 0.5 * dt * v[1];
            wave(at, (n + 0.5) * dt, v);
            x[i] += dt * v[0], y[i] += dt * v[1];
        }
    Harmonic h = {0};
    for (int c = 0, i = 0; c < WAVE; c++) {
        while (x[i + 1] < c + 0.5) i++;
        double part = (c + 0.5 - x[i]) / (x[i + 1] - x[i]);
        harmonic_add(&h, c + 0.5, y[i] + part * (y[i + 1] - y[i]));
    }
    return 2 * h.cosine / h.count;
}

TEST(track_wave_keeps_its_height) {
    BrimError error;
    enum { STEPS = 210 };
    double dt = 5.25 / STEPS;
    Case c = case_cells(2, WAVE, 30, 1, FOREVER);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){WAVE, WAVE_LEVEL, 1}));
    BrimSim *s;
    CHECK_OK(case_create(&c, &s, &error), error);
    CHECK_OK(flow_run(s, wave, dt, STEPS, &error), error);
    Harmonic h = {0};
    crossings(s, harmonic_see, &h);
    CHECK(h.count == WAVE);
    double height = true_height(5.25);
    CHECK_NEAR(2 * h.cosine / h.count / height, 1, 0.04);
    brim_sim_destroy(&s);
}

// --------------------------------------------------------------------------------------- sheets

/// Columns away from the ends: holes in them, and the area over the exact one.
static double sheet_area(const BrimSim *s, double thickness, int *holes) {
    double area = 0, from = 8, to = s->grid.cells[0] - 8;
    *holes = 0;
    for (int x = (int)from; x < (int)to; x++) {
        int wet = 0;
        for (int y = 0; y + 1 < s->grid.cells[1]; y++) {
            double p = phi_at(s, x, y, 0), q = phi_at(s, x, y + 1, 0);
            wet += p < 0;
            area += p < 0 && q < 0 ? 1 : p < 0 ? p / (p - q) : q < 0 ? q / (q - p) : 0;
        }
        *holes += wet == 0;
    }
    return area / (thickness * (to - from));
}

TEST(track_sheets_are_as_thick_as_positions_say) {
    BrimError error;
    for (int k = 0; k < 2; k++) {
        float thickness = k ? 1 : 2, low = 13.7f;
        double area[2];
        int holes[2];
        for (int fast = 0; fast < 2; fast++) { // fast: without memory
            Case c = case_cells(2, 64, 28, 1, FOREVER);
            case_liquid(&c, box_between((BrimVec3){0, low, 0}, (BrimVec3){64, low + thickness, 1}));
            if (fast) c.liquid[0].velocity = (BrimVec3){0, 3, 0};
            BrimSim *s;
            CHECK_OK(case_create(&c, &s, &error), error);
            CHECK_OK(flow_run(s, circle, 0.025, 20, &error), error);
            area[fast] = sheet_area(s, thickness, &holes[fast]);
            brim_sim_destroy(&s);
        }
        if (k == 0) CHECK_NEAR(area[0], 1, 0.04);
        if (k == 0) CHECK(holes[0] == 0);
        // a sheet of one cell has no memory at all
        if (k == 1) CHECK(area[0] == area[1] && area[0] > 0.75 && holes[0] == holes[1]);
    }
}

// ------------------------------------------------------------------------------ a plain twin

/// Mean position of all particles near a point, from there, as the rough surface has it.
static void plain_mean(const BrimSim *s, const double at[3], double mean[3]) {
    const Particles *p = &s->particles;
    double weight = 0;
    mean[0] = mean[1] = mean[2] = 0;
    for (size_t i = 0; i < p->count; i++) {
        double d[3] = {0}, d2 = 0;
        for (int a = 0; a < s->dim; a++) {
            d[a] = (double)p->attr[ATTR_X + a][i] * (double)s->inv_dx - at[a];
            d2 += d[a] * d[a];
        }
        double w = d2 < 2.25 ? pow(1 - d2 / 2.25, 3) : 0;
        weight += w;
        for (int a = 0; a < s->dim; a++) mean[a] += w * d[a];
    }
    for (int a = 0; a < 3; a++) mean[a] /= weight > 0 ? weight : 1;
}

/// What the particles of one cell say about a point: how many have a normal, and over these the
/// means of squared distance, normal and offset, and of what half of their plane says there.
typedef struct PlainCell {
    double count, square, half, normal[3], offset[3];
} PlainCell;

static PlainCell plain_cell(const BrimSim *s, int64_t cell, const double at[3]) {
    const Particles *p = &s->particles;
    PlainCell c = {0};
    const uint32_t *start = cell_starts_from(p, &s->grid, cell);
    for (size_t i = start[0]; i < start[1]; i++) {
        uint32_t word = particle_words(p, ATTR_NORMAL)[i];
        double phi = (double)p->attr[ATTR_PHI][i];
        float n[3];
        if (!word || phi <= -(double)TRACK_DEPTH) continue;
        normal_unpack(word, s->dim, n);
        c.count++, c.half += fmin(phi, 0);
        for (int a = 0; a < s->dim; a++) {
            double d = (double)p->attr[ATTR_X + a][i] * (double)s->inv_dx - at[a];
            c.square += d * d, c.normal[a] += (double)n[a], c.offset[a] += d;
            c.half -= 0.5 * d * (double)n[a];
        }
    }
    double share = 1 / fmax(c.count, 1);
    c.square *= share, c.half *= share;
    for (int a = 0; a < 3; a++) c.normal[a] *= share, c.offset[a] *= share;
    return c;
}

/// Distance by planes at the middle of a cell, one cell around it after the other, as numerics.md
/// has it; no walls. NAN where none tells.
static double plain_planes(const BrimSim *s, const double at[3]) {
    double mean[3], length = 0, planes = 0, sum = 0, normal[3] = {0}, offset[3] = {0}, bent = 0;
    plain_mean(s, at, mean);
    for (int a = 0; a < 3; a++) length = hypot(length, mean[a]);
    double beta = fmin(1, length / 0.15);
    for (int n = 0; n < (s->dim == 3 ? 27 : 9); n++) {
        int64_t cell = grid_cell(&s->grid, (int)at[0] + n % 3 - 1, (int)at[1] + n / 3 % 3 - 1,
                                 s->dim == 3 ? (int)at[2] + n / 9 - 1 : 0);
        if (cell < 0) continue;
        PlainCell c = plain_cell(s, cell, at);
        double q = c.square / 2.5, facing = 1 - beta;
        if (c.count == 0 || q >= 1) continue;
        for (int a = 0; a < s->dim && length > 0; a++)
            facing -= beta * mean[a] / length * c.normal[a];
        double w = pow(1 - q, 2) / (0.1 + q) * c.count * fmax(0, facing);
        planes += w, sum += w * c.half;
        for (int a = 0; a < 3; a++) normal[a] += w * c.normal[a], offset[a] += w * c.offset[a];
    }
    for (int a = 0; a < 3; a++) bent += normal[a] * offset[a];
    return planes > 1e-2 ? (sum - 0.5 * bent / planes) / planes : NAN;
}

TEST(track_planes_match_the_plain_twin) {
    BrimError error;
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_AUTO; isa <= BRIM_ISA_AVX512; isa++) {
            Case c = case_cells(dim, 20, 20, 20, FOREVER);
            c.def.isa = (BrimIsa)isa;
            case_liquid(&c, ball((BrimVec3){10, 10, dim == 3 ? 10 : 0}, 5.5f));
            BrimSim *s;
            CHECK_OK(case_create(&c, &s, &error), error);
            // anything but a distance, so that every weight shows
            for (size_t i = 0; i < s->particles.count; i++)
                s->particles.attr[ATTR_PHI][i] = -4 * hash_unit(hash_3(3, i, 0), 0) + 0.5f;
            double *twin = malloc(sim_cells(s) * sizeof *twin);
            for (size_t i = 0; i < sim_cells(s); i++) {
                double at[3];
                face_point(s, (int64_t)i, 3, at);
                double apart =
                    hypot(hypot(at[0] - 10, at[1] - 10), dim == 3 ? at[2] - 10 : 0) - 5.5;
                twin[i] = fabs(apart) < 2 ? plain_planes(s, at) : NAN;
            }
            track_surface(s, 0);
            int count = 0;
            double most = 0;
            for (size_t i = 0; i < sim_cells(s); i++) {
                // farther out particles learn a distance that is not that of the grid
                if (!(s->asked[i / TILE] >> i % TILE & 1) || s->steady[i] < 0) continue;
                if (isnan(twin[i]) || fabsf(s->rough[i]) > 0.7f) continue;
                double smooth = (double)s->tracked[i] - (double)s->smooth[i];
                most = fmax(most, fabs(smooth - twin[i])), count++;
            }
            free(twin);
            CHECK(count > (dim == 3 ? 400 : 40));
            CHECK_BELOW(most, 1e-4);
            brim_sim_destroy(&s);
        }
}

// ------------------------------------------------------------------- kernels of rows and tiles

enum { KERNEL_PARTICLES = 700, KERNEL_ROOM = KERNEL_PARTICLES + PARTICLE_PADDING };

static float any(uint64_t what, size_t i, float low, float high) {
    return low + (high - low) * hash_unit(hash_3(11, i, what), 0);
}

/// A tile's particles in the order of its cells, some without a normal.
typedef struct Tile {
    float attr[ATTR_MAX][KERNEL_ROOM];
    uint32_t start[TILE * TILE * TILE + 1];
    int cell[KERNEL_PARTICLES];
    Span span;
} Tile;

static void tile_fill(Tile *t, int dim) {
    int cells = dim == 3 ? TILE * TILE * TILE : TILE * TILE;
    memset(t, 0, sizeof *t);
    t->span = (Span){.count = KERNEL_PARTICLES, .dx = 0.5f, .inv_dx = 2, .dim = dim};
    for (int a = 0; a < ATTR_MAX; a++) t->span.attr[a] = t->attr[a];
    for (int a = 0; a < 3; a++) t->span.corner[a] = 15; // of a block with halo 1
    for (int i = 0; i < KERNEL_PARTICLES; i++) {
        int cell = t->cell[i] = (int)((int64_t)i * cells / KERNEL_PARTICLES);
        for (int c = cell + 1; c <= cells; c++) t->start[c] = (uint32_t)i + 1;
        float n[3] = {0}, length = 0;
        for (int a = 0; a < dim; a++) {
            float local = (float)(cell >> (3 * a) & 7) + any((uint64_t)a, (size_t)i, 0.01f, 0.99f);
            t->attr[ATTR_X + a][i] = 0.5f * (16 + local);
            t->attr[ATTR_VX + a][i] = any(3 + (uint64_t)a, (size_t)i, -1, 1);
            n[a] = any(6 + (uint64_t)a, (size_t)i, -1, 1), length += n[a] * n[a];
        }
        for (int a = 0; a < dim; a++) n[a] /= sqrtf(length);
        t->attr[ATTR_PHI][i] = any(9, (size_t)i, -3, 0.5f);
        uint32_t word = i % 5 == 0 ? 0 : normal_pack(n, any(10, (size_t)i, 0, 1));
        memcpy(&t->attr[ATTR_NORMAL][i], &word, sizeof word);
    }
}
static uint32_t tile_word(const Tile *t, int i) {
    uint32_t word;
    memcpy(&word, &t->attr[ATTR_NORMAL][i], sizeof word);
    return word;
}
/// How far two directions are apart; what packing allows.
static double words_apart(uint32_t a, uint32_t b, int dim) {
    float m[3], n[3];
    double most = 0;
    if ((a == 0) != (b == 0)) return 9;
    if (a == 0) return 0;
    normal_unpack(a, dim, m), normal_unpack(b, dim, n);
    for (int k = 0; k < 3; k++) most = fmax(most, (double)fabsf(m[k] - n[k]));
    return most;
}
static const double PACKED = 1.2e-3; // two steps of a packed direction

TEST(track_unpacks_as_the_plain_twin) {
    static Tile t, done;
    static float normal[3][KERNEL_ROOM];
    float *const out[3] = {normal[0], normal[1], normal[2]};
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++)
            for (int square = 0; square < 2; square++) {
                const TrackKernels *k = track_kernels_for(isa_choose((BrimIsa)isa));
                TrackFade fade = {1.2f, 1 / 0.8f, square};
                tile_fill(&t, dim), tile_fill(&done, dim);
                float fastest = k->unpack(&done.span, &fade, out), most = -1;
                for (int i = 0; i < KERNEL_PARTICLES; i++) {
                    float speed2 = 0, n[3];
                    for (int a = 0; a < dim; a++)
                        speed2 += t.attr[ATTR_VX + a][i] * t.attr[ATTR_VX + a][i];
                    float fast = (1.2f - (square ? speed2 : sqrtf(speed2))) / 0.8f;
                    float steady = fminf(fmaxf(fast, 0), 1) * normal_part(tile_word(&t, i));
                    if (!tile_word(&t, i)) steady = -1;
                    if (steady > 0) most = fmaxf(most, sqrtf(speed2));
                    CHECK_NEAR(done.attr[ATTR_NORMAL][i], steady, 1e-6);
                    if (steady < 0) continue;
                    normal_unpack(tile_word(&t, i), dim, n);
                    for (int a = 0; a < dim; a++) CHECK(normal[a][i] == n[a]);
                }
                CHECK_NEAR(fastest, most, 1e-6);
            }
}

TEST(track_strain_matches_the_plain_twin) {
    enum { HALO = 2, EDGE = TILE + 2 * HALO };
    static float block[3][EDGE * EDGE * EDGE];
    static Tile t, done;
    const float *const velocity[3] = {block[0], block[1], block[2]};
    for (size_t i = 0; i < EDGE * EDGE * EDGE; i++)
        for (int a = 0; a < 3; a++)
            block[a][i] = i % 97 == 0 ? NAN : any(20 + (uint64_t)a, i, -1, 1);
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            const float rate = 0.1f; // time / dx
            tile_fill(&t, dim), tile_fill(&done, dim);
            done.span.corner[0] = done.span.corner[1] = done.span.corner[2] = 16 - HALO;
            track_kernels_for(isa_choose((BrimIsa)isa))
                ->strain(&done.span, done.start, velocity, HALO, rate / t.span.inv_dx);
            for (int i = 0; i < KERNEL_PARTICLES; i++) {
                uint32_t word = tile_word(&t, i);
                float n[3] = {0}, e = 0, turned[3] = {0};
                const int step[3] = {1, EDGE, EDGE * EDGE}, c = t.cell[i];
                int at = (c & 7) + HALO + ((c >> 3 & 7) + HALO) * EDGE;
                if (dim == 3) at += ((c >> 6) + HALO) * EDGE * EDGE;
                if (word) normal_unpack(word, dim, n);
                for (int a = 0; a < dim; a++)
                    for (int b = 0; b < dim; b++) {
                        const float *u = block[a] + at;
                        float g = u[step[a]] - u[0];
                        if (a != b)
                            g = 0.25f * (u[step[b]] - u[-step[b]] + u[step[a] + step[b]] -
                                         u[step[a] - step[b]]);
                        turned[b] += isnan(g) ? 0 : rate * g * n[a];
                    }
                for (int b = 0; b < dim; b++) e += turned[b] * n[b];
                for (int b = 0; b < dim; b++) n[b] += e * n[b] - turned[b];
                float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
                for (int b = 0; b < 3 && word; b++) n[b] /= length;
                float phi = t.attr[ATTR_PHI][i] * (1 + fminf(fmaxf(e, -0.5f), 0.5f));
                CHECK_NEAR(done.attr[ATTR_PHI][i], phi, 1e-5);
                uint32_t wanted = word ? (normal_pack(n, 0) & ~63u) | (word & 63) : 0;
                CHECK_BELOW(words_apart(tile_word(&done, i), wanted, dim), PACKED);
                CHECK((tile_word(&done, i) & 63) == (word & 63));
            }
        }
}

TEST(track_renews_as_the_plain_twin) {
    enum { EDGE = TILE + 2 };
    static TrackNode nodes[EDGE * EDGE * EDGE];
    static Tile t, done;
    uint8_t near[TILE];
    memset(near, 0xfe, sizeof near); // all but the first row of each slice
    for (size_t i = 0; i < EDGE * EDGE * EDGE; i++)
        nodes[i] = (TrackNode){any(30, i, -4, 1),
                               any(31, i, -0.2f, 0.2f),
                               {any(32, i, -1, 1), any(33, i, -1, 1), any(34, i, -1, 1)},
                               any(36, i, -1, 1),
                               {0}};
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            tile_fill(&t, dim);
            for (int i = 0; i < KERNEL_PARTICLES; i++)
                t.attr[ATTR_NORMAL][i] = i % 3 ? any(35, (size_t)i, 0, 1) : -1;
            done = t;
            for (int a = 0; a < ATTR_MAX; a++) done.span.attr[a] = done.attr[a];
            track_kernels_for(isa_choose((BrimIsa)isa))
                ->renew(&done.span, done.start, nodes, near, 0.05f);
            for (int i = 0; i < KERNEL_PARTICLES; i++) {
                double told[6] = {0}, f[3] = {0}, at[3] = {0};
                int cell[3] = {0};
                for (int a = 0; a < dim; a++) {
                    at[a] = 2.0 * (double)t.attr[ATTR_X + a][i] - 15.5;
                    cell[a] = (int)at[a], f[a] = at[a] - cell[a];
                }
                for (int n = 0; n < (dim == 3 ? 8 : 4); n++) {
                    double w = 1;
                    int node = 0, step[3] = {1, EDGE, EDGE * EDGE};
                    for (int a = 0; a < dim; a++) {
                        w *= n >> a & 1 ? f[a] : 1 - f[a];
                        node += (cell[a] + (n >> a & 1)) * step[a];
                    }
                    const float *tells = &nodes[node].distance;
                    for (int k = 0; k < 6; k++)
                        told[k] += k == 4 && dim == 2 ? 0 : w * (double)tells[k];
                }
                double had = fmin((double)t.attr[ATTR_PHI][i], 0), q = told[0] - 0.5 * told[5];
                for (int a = 0; a < dim; a++) q += 0.5 * told[2 + a] * at[a];
                double phi = q;
                double way = 0;
                for (int a = 0; a < dim; a++)
                    way = hypot(way, 0.05 * 2 * (double)t.attr[ATTR_VX + a][i]);
                double part = fmin(way, 0.1);
                if (t.attr[ATTR_NORMAL][i] >= 0 && fabs(q) < 1)
                    phi = (1 - part) * (had + told[1]) + part * q;
                double slope = sqrt(told[2] * told[2] + told[3] * told[3] + told[4] * told[4]);
                float n[3], g = (float)fmin(fmax((slope - 0.6) / 0.3, 0), 1);
                for (int a = 0; a < 3; a++) n[a] = (float)(told[2 + a] / slope);
                uint32_t word = q > -(double)TRACK_DEPTH ? normal_pack(n, g) : 0;
                bool skipped = (t.cell[i] >> 3 & 7) == 0;
                if (skipped) phi = -(double)TRACK_FAR, word = 0;
                CHECK_NEAR(done.attr[ATTR_PHI][i], phi, 2e-5);
                if (!skipped && fabs(q + (double)TRACK_DEPTH) < 1e-4) continue; // either way
                CHECK_BELOW(words_apart(tile_word(&done, i), word, dim), PACKED);
                CHECK(abs((int)(tile_word(&done, i) & 63) - (int)(word & 63)) <= 1);
            }
        }
}

/// The distance that |grad d| = 1 gives from the nearer neighbour along each axis, by trying.
static double plain_eikonal(const double nearer[3], int dim) {
    double low = 0, high = 1e3;
    for (int i = 0; i < 100; i++) {
        double d = 0.5 * (low + high), sum = 0;
        for (int a = 0; a < dim; a++) sum += pow(fmax(0, d - nearer[a]), 2);
        sum < 1 ? (low = d) : (high = d);
    }
    return low;
}

TEST(track_rows_match_the_plain_twins) {
    enum { EDGE = TILE + 2, CELLS = TILE * TILE * TILE };
    static float block[EDGE * EDGE * EDGE], far[CELLS], even[CELLS];
    const int step[3] = {1, EDGE, EDGE * EDGE};
    for (size_t i = 0; i < EDGE * EDGE * EDGE; i++) block[i] = any(40, i, 0, 2.4f);
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            const TrackKernels *k = track_kernels_for(isa_choose((BrimIsa)isa));
            TileMask wanted = {{0}};
            for (int c = 0; c < (dim == 3 ? CELLS : TILE * TILE); c++)
                if (c % 3 && (c >> 3) % 5) wanted.slice[c >> 6] |= (uint64_t)1 << (c & 63);
            for (int c = 0; c < CELLS; c++) far[c] = even[c] = 7;
            k->farther(block, dim, &wanted, far);
            k->filter(block, dim, &wanted, 0.1f, 2, even);
            for (int c = 0; c < (dim == 3 ? CELLS : TILE * TILE); c++) {
                int at = (dim == 3 ? (c >> 6) + 1 : 0) * EDGE * EDGE + ((c >> 3 & 7) + 1) * EDGE +
                         (c & 7) + 1;
                double nearer[3], here = (double)block[at], sum = 0;
                for (int a = 0; a < dim; a++) {
                    double l = (double)block[at - step[a]], h = (double)block[at + step[a]];
                    nearer[a] = fmin(l, h);
                    if (l < 2 && h < 2) sum += l + h - 2 * here;
                }
                bool row = mask_bits(&wanted, c >> 3) != 0, cell = mask_has(&wanted, c);
                double d = cell ? fmin(here, plain_eikonal(nearer, dim)) : row ? here : 7;
                CHECK_NEAR(far[c], d, 1e-5);
                CHECK_NEAR(even[c], cell ? here + 0.1 * sum : row ? here : 7, 1e-5);
            }
        }
}

TEST(track_normals_pack) {
    double most = 0;
    for (int i = 0; i < 2000; i++) {
        float v[3], n[3], length = 0;
        int dim = 2 + (i & 1);
        for (int a = 0; a < 3; a++) {
            v[a] = a < dim ? 2 * hash_unit(hash_3(7, (uint64_t)i, (uint64_t)a), 0) - 1 : 0;
            length += v[a] * v[a];
        }
        float g = (float)(i % (NORMAL_PARTS + 1)) / NORMAL_PARTS;
        for (int a = 0; a < 3; a++) v[a] /= sqrtf(length);
        uint32_t word = normal_pack(v, g);
        normal_unpack(word, dim, n);
        CHECK(word != 0 && fabsf(normal_part(word) - g) < 1e-6f);
        for (int a = 0; a < 3; a++) most = fmax(most, (double)fabsf(n[a] - v[a]));
    }
    CHECK_BELOW(most, 5e-4);
    for (int k = 0; k < 6; k++) { // axes are exact
        float v[3] = {0}, n[3];
        v[k >> 1] = k & 1 ? 1 : -1;
        normal_unpack(normal_pack(v, 1), 3, n);
        CHECK(n[0] == v[0] && n[1] == v[1] && n[2] == v[2]);
    }
}

// ------------------------------------------------------------------------------- whole steps

/// A dam that breaks: 2D or 3D.
static Case case_break(int dim) {
    Case c = case_box(dim, 1, 24, 24, 16);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.4f, 0.6f, 0.5f}));
    c.def.tracking = BRIM_TRACKING_RESPONSIVE;
    return c;
}

static uint64_t bits_of(const BrimSim *s) {
    uint64_t h = 1;
    for (int a = 0; a < ATTR_MAX; a++)
        for (size_t i = 0; s->particles.attr[a] && i < s->particles.count; i++)
            h = hash_3(h, particle_words(&s->particles, a)[i], (uint64_t)a);
    return h;
}

TEST(track_same_bits_for_threads_sets_and_resume) {
    BrimError error;
    for (int kind = 0; kind < 4; kind++) { // FLIP, APIC, 3D with a band, with a solid
        uint64_t first = 0;
        Case c = case_break(kind >= 2 ? 3 : 2);
        if (kind == 1) c.def.transfer = BRIM_TRANSFER_APIC;
        if (kind == 2) c.def.band_width = 3;
        if (kind == 3) case_solid(&c, ball((BrimVec3){0.6f, 0, 0.3f}, 0.15f));
        for (int run = 0; run < 4; run++) {
            BrimSim *s;
            c.def.threads = run == 1 ? 3 : 1;
            c.def.isa = run == 2 ? BRIM_ISA_BASE : BRIM_ISA_AUTO;
            CHECK_OK(case_create(&c, &s, &error), error);
            for (int i = 0; i < 12; i++) {
                CHECK_OK(brim_sim_step(s, &error), error);
                if (run != 3 || i != 6) continue;
                CHECK_OK(brim_sim_save(s, "/tmp/brim_test_track.bck", &error), error);
                brim_sim_destroy(&s);
                CHECK_OK(brim_sim_load(&c.def, "/tmp/brim_test_track.bck", &s, &error), error);
                remove("/tmp/brim_test_track.bck");
            }
            if (run == 0) first = bits_of(s);
            CHECK(bits_of(s) == first);
            brim_sim_destroy(&s);
        }
    }
}

TEST(track_fast_water_is_as_without) {
    BrimError error;
    BrimSim *s[2];
    for (int k = 0; k < 2; k++) {
        Case c = case_break(2);
        c.def.tracking = k ? BRIM_TRACKING_RESPONSIVE : BRIM_TRACKING_OFF;
        c.def.tracking_speed[0] = 0, c.def.tracking_speed[1] = 1e-9f; // all is fast
        c.liquid[0].velocity = (BrimVec3){0.1f, 0, 0};
        CHECK_OK(case_create(&c, &s[k], &error), error);
        for (int i = 0; i < 15; i++) CHECK_OK(brim_sim_step(s[k], &error), error);
    }
    CHECK(s[0]->particles.count == s[1]->particles.count);
    for (int a = 0; a < 2; a++)
        CHECK(memcmp(s[0]->particles.attr[ATTR_X + a], s[1]->particles.attr[ATTR_X + a],
                     s[0]->particles.count * sizeof(float)) == 0);
    CHECK(!s[0]->tracked && !s[0]->particles.attr[ATTR_PHI]); // nothing is there when off
    brim_sim_destroy(&s[0]);
    brim_sim_destroy(&s[1]);
}

TEST(track_begins_without_a_jump) {
    // memory of 1e-6 moves the surface by no more than 1e-5
    BrimError error;
    BrimSim *s[2];
    double most = 0;
    for (int k = 0; k < 2; k++) {
        Case c = case_cells(2, 24, 24, 1, FOREVER);
        c.def.jitter = 1;
        case_liquid(&c, ball((BrimVec3){12, 12, 0}, 7));
        c.def.tracking_speed[0] = 1, c.def.tracking_speed[1] = k ? 2 : 1.999998f;
        c.liquid[0].velocity = (BrimVec3){1.999998f, 0, 0};
        CHECK_OK(case_create(&c, &s[k], &error), error);
    }
    for (size_t i = 0; i < sim_cells(s[0]); i++)
        most = fmax(most, fabs((double)s[0]->tracked[i] - (double)s[1]->tracked[i]));
    CHECK_BELOW(most, 1e-5);
    CHECK(most > 0); // there was some memory
    brim_sim_destroy(&s[0]);
    brim_sim_destroy(&s[1]);
}

TEST(track_source_in_air_leaves_no_stray_surface) {
    BrimError error;
    Case c = case_box(2, 1, 32, 32, 1);
    BrimSourceDef *source = &c.sources[c.def.source_count++];
    *source = brim_default_source_def();
    source->shape = box_between((BrimVec3){0.4f, 0.7f, 0}, (BrimVec3){0.6f, 0.8f, 0});
    source->velocity = (BrimVec3){0, -1, 0};
    c.def.tracking = BRIM_TRACKING_RESPONSIVE;
    BrimSim *s;
    CHECK_OK(case_create(&c, &s, &error), error);
    CHECK_OK(run_until(s, 0.3, &error), error);
    int liquid = 0, stray = 0;
    for (int64_t i = 0; i < (int64_t)sim_cells(s); i++) {
        if (!(s->tracked[i] < 0)) continue;
        bool near = false; // a particle in it or beside it
        int slot = (int)(i / s->grid.tile_cells), cell = (int)(i % s->grid.tile_cells);
        for (int n = 0; n < 4; n++) {
            int64_t next = grid_step(&s->grid, slot, cell, n >> 1, n & 1 ? 1 : -1);
            near |= next >= 0 && s->particles.occupied[next >> 3] >> (next & 7) & 1;
        }
        near |= s->particles.occupied[i >> 3] >> (i & 7) & 1;
        liquid++, stray += !near;
    }
    CHECK(liquid > 50 && stray == 0);
    brim_sim_destroy(&s);
}

TEST(track_pool_at_a_slanted_solid_stays_flat) {
    BrimError error;
    for (int k = 0; k < 2; k++) { // memory for ever, and that of the default
        Case c = case_cells(2, 32, 32, 1, k ? 0.5 : FOREVER);
        BrimShapeDef plane = brim_default_shape_def();
        plane.kind = BRIM_SHAPE_PLANE;
        plane.position = (BrimVec3){16, 8, 0}, plane.normal = (BrimVec3){-0.5f, 1, 0};
        case_solid(&c, plane);
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){32, 16, 1}));
        BrimSim *s;
        CHECK_OK(case_create(&c, &s, &error), error);
        CHECK_OK(flow_run(s, still, 0.01, 50, &error), error);
        double most = 0;
        int count = 0;
        for (int x = 0; x < 30; x++) // the water ends at 32
            for (int y = 14; y < 18; y++) {
                double p = phi_at(s, x, y, 0), q = phi_at(s, x, y + 1, 0), height;
                if (!(p < 0 && q >= 0)) continue;
                height = y + 0.5 + p / (p - q) - 16;
                most = fmax(most, fabs(height)), count++;
            }
        CHECK(count == 30);
        CHECK_BELOW(most, 0.03);
        brim_sim_destroy(&s);
    }
}

TEST(track_pool_stays_at_rest) {
    // The density projection evens out the chance of its particles, and that is no flow.
    BrimError error;
    for (int dim = 2; dim <= 3; dim++) {
        Case c = case_tank(dim, 16, 0.5f);
        c.def.tracking = BRIM_TRACKING_RESPONSIVE;
        c.def.tracking_memory = FOREVER;
        c.def.jitter = 0.5f;
        BrimSim *s;
        double fastest = 0;
        CHECK_OK(case_create(&c, &s, &error), error);
        while (brim_sim_time(s) < 0.5) {
            CHECK_OK(brim_sim_step(s, &error), error);
            fastest = fmax(fastest, s->max_speed);
        }
        CHECK_BELOW(fastest, 1e-3);
        brim_sim_destroy(&s);
    }
}

TEST(track_calm_pool_does_not_flicker) {
    BrimError error;
    double moved[2];
    for (int k = 0; k < 2; k++) {
        Case c = case_tank(2, 32, 0.5f);
        c.def.tracking = BRIM_TRACKING_RESPONSIVE;
        c.def.tracking_memory = k ? 0.5 : 0;
        BrimSim *s;
        CHECK_OK(case_create(&c, &s, &error), error);
        CHECK_OK(run_until(s, 0.5, &error), error);
        moved[k] = 0;
        for (int step = 0; step < 20; step++) {
            double before[32];
            for (int x = 0; x < 32; x++) before[x] = phi_at(s, x, 16, 0);
            CHECK_OK(brim_sim_step(s, &error), error);
            for (int x = 0; x < 32; x++)
                moved[k] = fmax(moved[k], fabs(phi_at(s, x, 16, 0) - before[x]));
        }
        brim_sim_destroy(&s);
    }
    CHECK_BELOW(moved[1], 0.2 * moved[0]);
}

static double level_calm(const double at[3]) {
    return at[1] - 8.52;
}

/// Half a cell and a little above cell faces: cells in the air see few particles, and what they
/// take for the distance must not depend on which.
TEST(track_calm_pool_is_a_plane) {
    BrimError error;
    Case c = case_box(3, 1, 24, 16, 24);
    c.def.tracking = BRIM_TRACKING_RESPONSIVE;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 8.52f / 24, 1}));
    BrimSim *s;
    CHECK_OK(case_create(&c, &s, &error), error);
    CHECK_OK(run_until(s, 1, &error), error);
    Off o = {.exact = level_calm, .from = 0, .to = 24};
    crossings(s, off_see, &o);
    CHECK(o.count == 24 * 24);
    CHECK_BELOW(o.most, 5e-4);
    CHECK_BELOW(brim_sim_stats(s)->max_speed, 1e-4);
    brim_sim_destroy(&s);
}
