// The surface that particles carry along in flows that are given, against exact answers.
#include "base/hash.h"
#include "cases_track.h"
#include "test.h"

// ---------------------------------------------------------------------------------------- flat

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

/// What the pressure sees.
static double distance_at(const BrimSim *s, int x, int y) {
    int64_t i = grid_cell(&s->grid, x, y, 0);
    return i < 0 ? 2 : (double)s->phi[i];
}

/// Columns away from the ends: holes in them, and the area over the exact one.
static double sheet_area(const BrimSim *s, double thickness, int *holes) {
    double area = 0, from = 8, to = s->grid.cells[0] - 8;
    *holes = 0;
    for (int x = (int)from; x < (int)to; x++) {
        int wet = 0;
        for (int y = 0; y + 1 < s->grid.cells[1]; y++) {
            double p = distance_at(s, x, y), q = distance_at(s, x, y + 1);
            wet += p < 0;
            area += p < 0 && q < 0 ? 1 : p < 0 ? p / (p - q) : q < 0 ? q / (q - p) : 0;
        }
        *holes += wet == 0;
    }
    return area / (thickness * (to - from));
}

/// Sheets wherever they lie in their cells. Memory tells of two surfaces, so that of two cells has
/// it; one of one cell has none, and is what positions say.
TEST(track_sheets_are_as_thick_as_positions_say) {
    BrimError error;
    for (int place = 0; place < 10; place++)
        for (int k = 0; k < 2; k++) {
            const float thickness = k ? 1 : 2, low = 13 + 0.1f * (float)place;
            double area[2];
            int holes[2];
            for (int fast = 0; fast < 2; fast++) { // fast: without memory
                Case c = case_cells(2, 64, 28, 1, FOREVER);
                BrimSim *s;
                case_liquid(&c,
                            box_between((BrimVec3){0, low, 0}, (BrimVec3){64, low + thickness, 1}));
                if (fast) c.liquid[0].velocity = (BrimVec3){0, 3, 0};
                CHECK_OK(case_create(&c, &s, &error), error);
                // particles lie on a lattice: the sheet is as thick as they are many
                double full = (double)s->particles.count / (9 * 64);
                CHECK_OK(flow_run(s, circle, 0.025, 20, &error), error);
                area[fast] = sheet_area(s, full, &holes[fast]);
                brim_sim_destroy(&s);
            }
            if (k == 0) CHECK_NEAR(area[0], 1, 0.04);
            CHECK(holes[0] == 0);
            if (k == 1) CHECK(area[0] == area[1] && holes[1] == 0);
            // at one place they are two rows thick only
            if (k == 1) CHECK_NEAR(area[0], 1, place == 5 ? 0.33 : 0.2);
        }
}

// ------------------------------------------------------------------------------- shapes by chance

/// Three balls that overlap, somewhere about (50, 65).
static double random_ball[3][3];
static double random_shape(const double at[3]) {
    double least = 99;
    for (int k = 0; k < 3; k++)
        least = fmin(least, hypot(at[0] - random_ball[k][0], at[1] - random_ball[k][1]) -
                                random_ball[k][2]);
    return least;
}

/// Turns a shape that no constant was chosen with once around. => area over the exact one, and
/// what is inside only one of the two, over that
static BrimResult turn_shape(uint64_t seed, bool memory, double *area, double *apart,
                             BrimError *error) {
    Case c = case_cells(2, 100, 100, 1, 0.5);
    BrimShapeDef shape = brim_default_shape_def();
    BrimSim *s;
    shape.kind = BRIM_SHAPE_UNION, shape.children = c.parts, shape.child_count = 3;
    for (int k = 0; k < 3; k++) {
        const double place[3] = {50, 65, 0};
        for (int a = 0; a < 2; a++)
            random_ball[k][a] =
                place[a] + 8 * ((double)hash_unit(hash_3(seed, (uint64_t)k, (uint64_t)a), 0) - 0.5);
        random_ball[k][2] = 4 + 6 * (double)hash_unit(hash_3(seed, (uint64_t)k, 2), 0);
        c.parts[k] = ball((BrimVec3){(float)random_ball[k][0], (float)random_ball[k][1], 0},
                          (float)random_ball[k][2]);
    }
    case_liquid(&c, shape);
    c.def.seed = (uint32_t)seed;
    if (!memory) c.liquid[0].velocity = (BrimVec3){0, 3, 0};
    BrimResult r = case_create(&c, &s, error);
    if (r == BRIM_OK) r = flow_run(s, turn, 1.0 / 157, 157, error);
    double exact = 1;
    if (r == BRIM_OK) areas(s, random_shape, area, &exact, apart);
    *area /= exact, *apart /= exact;
    brim_sim_destroy(&s);
    return r;
}

TEST(track_random_shapes_turn) {
    BrimError error;
    double area, apart, plain, worst[3] = {0}, sum[2] = {0};
    enum { SEEDS = 12 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        CHECK_OK(turn_shape(seed, false, &plain, &apart, &error), error);
        sum[0] += apart / SEEDS;
        CHECK_OK(turn_shape(seed, true, &area, &apart, &error), error);
        sum[1] += apart / SEEDS;
        worst[0] = fmax(worst[0], fabs(area - 1)), worst[1] = fmax(worst[1], apart);
        worst[2] = fmax(worst[2], fabs(plain - 1));
    }
    printf("     random shapes: area off by at most %.4f (positions alone %.4f), apart at most "
           "%.4f, mean "
           "%.4f (%.4f)\n",
           worst[0], worst[2], worst[1], sum[1], sum[0]);
    CHECK_BELOW(worst[0], 0.015);
    CHECK_BELOW(worst[1], 0.02);
}
