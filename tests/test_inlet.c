// Sources as inlets: what they give enters as fast as they say, wherever they are.
#include "cases.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>

/// What lies behind a source.
typedef enum Behind { AIR, SIDE, CORNER, GAP, BEYOND, WALL, SLANTED, BEHINDS } Behind;

typedef struct Jet {
    double emitted; ///< volume, over speed times area times time
    double flow;    ///< through a stretch of the jet, over speed times area
    double speed;   ///< over the source's
    double density; ///< in the source, where no solid is
} Jet;

/// A jet along x without weight, out of the tank on the far side, as it is after a while.
static BrimResult run_jet(int dim, Behind behind, BrimVolume volume, double cfl, Jet *jet,
                          BrimError *error) {
    const int n = dim == 2 ? 48 : 32;
    const float dx = 1.0f / (float)n, wide = 8 * dx, speed = 2;
    const float low = behind == CORNER ? 0 : 16 * dx;
    float from = behind == AIR || behind == SLANTED ? 0.2f : behind == GAP ? 0.4f * dx : 0;
    if (behind == BEYOND) from = -0.3f;
    if (behind == WALL) from = 0.1f;
    const float to = behind == SLANTED ? 0.4f : behind == AIR ? 0.3f : 0.25f;
    Case c = case_box(dim, 1, n, n, n);
    c.def.gravity = (BrimVec3){0, 0, 0};
    c.def.sides[1] = BRIM_SIDE_OPEN, c.def.volume = volume, c.def.cfl = cfl;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape =
        box_between((BrimVec3){from, low, 12 * dx}, (BrimVec3){to, low + wide, 20 * dx});
    c.sources[0].velocity = (BrimVec3){speed, 0, 0};
    c.def.source_count = 1;
    if (behind == WALL || behind == SLANTED) {
        case_solid(&c, box_between((BrimVec3){-0.3f, -0.2f, -0.2f}, (BrimVec3){0.12f, 1.2f, 1.2f}));
        if (behind == SLANTED) { // by 20 degrees, through the source
            c.solids[0].shape.position = (BrimVec3){0.02f, low + 0.5f * wide, 0.5f};
            c.solids[0].shape.size = (BrimVec3){0.5f, 2, 2};
            c.solids[0].shape.rotation = (BrimVec3){0, 0, 20};
        }
    }
    BrimSim *sim;
    BrimResult r = case_create(&c, &sim, error);
    if (r != BRIM_OK) return r;
    const double one = pow((double)dx, dim) / c.def.particles_per_cell;
    const double area = dim == 2 ? (double)wide : (double)(wide * 8 * dx);
    double sum = 0, count = 0, inside = 0, samples = 0;
    while (brim_sim_time(sim) < 0.7 && r == BRIM_OK) {
        r = brim_sim_step(sim, error);
        if (brim_sim_time(sim) < 0.5) continue;
        const BrimParticles p = brim_sim_particles(sim);
        for (size_t i = 0; i < p.count; i++) {
            if (p.x[i] > 0.6f && p.x[i] < 0.9f) sum += (double)p.vx[i], count++;
            inside += p.x[i] > to - 3 * dx && p.x[i] < to && p.y[i] > low && p.y[i] < low + wide &&
                      (dim == 2 || (p.z[i] > 12 * dx && p.z[i] < 20 * dx));
        }
        samples++;
    }
    double made = (double)brim_sim_stats(sim)->emitted * one;
    *jet = (Jet){.emitted = made / (2 * area * brim_sim_time(sim)),
                 .flow = sum / samples * one / 0.3 / (2 * area),
                 .speed = sum / fmax(count, 1) / 2,
                 .density = inside / samples * one / (area * 3 * (double)dx)};
    brim_sim_destroy(&sim);
    return r;
}

/// A jet has the speed and the flow of its source whatever is behind that: air, a side of the
/// domain, two, one 0.4 cells off, the source's own room beyond it, a solid, a slanted one. With
/// and without density projection, with small steps and large ones, 2D and 3D.
TEST(inlet_at_a_wall_has_the_flow_of_a_free_source) {
    BrimError error;
    for (int dim = 2; dim <= (quick() ? 2 : 3); dim++)
        for (int behind = 0; behind < BEHINDS; behind++)
            for (int run = 0; run < (dim == 2 ? 3 : 1); run++) {
                Jet jet;
                BrimVolume volume = run == 1 ? BRIM_VOLUME_NONE : BRIM_VOLUME_DENSITY;
                CHECK_OK(run_jet(dim, (Behind)behind, volume, run == 2 ? 4 : 1, &jet, &error),
                         error);
                if (getenv("SHOW"))
                    printf("%d behind %d run %d: emitted %.4f flow %.4f speed %.4f density %.4f\n",
                           dim, behind, run, jet.emitted, jet.flow, jet.speed, jet.density);
                CHECK_NEAR(jet.emitted, 1, 0.02);
                CHECK_NEAR(jet.flow, 1, 0.02);
                CHECK_NEAR(jet.speed, 1, 0.02);
                CHECK_NEAR(jet.density, 1, 0.05);
            }
}

/// A source below the surface of a tank, at rest before: along x in the midst of it, at a side, up
/// from the floor, slanted and off the grid.
static Case sunken_source(int dim, int place, double band) {
    const int n = dim == 2 ? 48 : 32;
    Case c = case_box(dim, 1, n, n, n);
    const BrimVec3 low[4] = {
        {0.4f, 0.2f, 0.4f}, {0, 0.2f, 0.4f}, {0.4f, 0, 0.4f}, {0.41f, 0.21f, 0.4f}};
    const BrimVec3 size[4] = {{0.125f, 0.125f, 0.25f},
                              {0.125f, 0.125f, 0.25f},
                              {0.125f, 0.125f, 0.25f},
                              {0.13f, 0.12f, 0.25f}};
    const BrimVec3 velocity[4] = {{1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 0.3f, 0}};
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.6f, 1}));
    const BrimVec3 high = {low[place].x + size[place].x, low[place].y + size[place].y,
                           low[place].z + size[place].z};
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = box_between(low[place], high);
    c.sources[0].velocity = velocity[place];
    c.def.source_count = 1, c.def.band_width = band;
    return c;
}

typedef struct Sunken {
    double emitted, exit, density, volume; ///< as those of a jet; the exit's speed over a cell
    double fastest;                        ///< particle, over the source's speed
} Sunken;

static BrimResult run_sunken(Case *c, int which, Sunken *mean, BrimError *error) {
    BrimSim *sim;
    const BrimSourceDef *source = &c->sources[which];
    const float dx = c->def.size.x / (float)c->def.cells[0];
    const float v[3] = {source->velocity.x, source->velocity.y, source->velocity.z};
    float low[3], high[3], top = fmaxf(v[0], v[1]);
    double area = 0, all = 1, samples = 0;
    const float at[3] = {source->shape.position.x, source->shape.position.y,
                         source->shape.position.z};
    const float size[3] = {source->shape.size.x, source->shape.size.y, source->shape.size.z};
    for (int a = 0; a < 3; a++) low[a] = at[a] - 0.5f * size[a], high[a] = at[a] + 0.5f * size[a];
    for (int a = 0; a < c->def.dim; a++) all *= (double)size[a];
    for (int a = 0; a < c->def.dim; a++) area += all / (double)size[a] * (double)v[a];
    const double one = pow((double)dx, c->def.dim) / c->def.particles_per_cell;
    const int along = v[0] == top ? 0 : 1;
    BrimResult r = case_create(c, &sim, error);
    if (r != BRIM_OK) return r;
    *mean = (Sunken){0};
    while (brim_sim_time(sim) < 0.5 && r == BRIM_OK) {
        r = brim_sim_step(sim, error);
        if (brim_sim_time(sim) < 0.25) continue;
        const BrimParticles p = brim_sim_particles(sim);
        const float *x[3] = {p.x, p.y, p.z}, *speed = along ? p.vy : p.vx;
        double inside = 0, sum = 0, count = 0;
        for (size_t i = 0; i < p.count; i++) {
            bool in = true, out = true;
            for (int a = 0; a < c->def.dim; a++) {
                in &= x[a][i] > low[a] && x[a][i] < high[a];
                out &= a == along ? x[a][i] > high[a] && x[a][i] < high[a] + dx
                                  : x[a][i] > low[a] + dx && x[a][i] < high[a] - dx;
            }
            inside += in;
            mean->fastest = fmax(mean->fastest, (double)hypotf(p.vx[i], p.vy[i]));
            if (out) sum += (double)speed[i], count++;
        }
        mean->density += inside * one / all, mean->exit += sum / fmax(count, 1) / (double)top;
        samples++;
    }
    mean->density /= samples, mean->exit /= samples;
    mean->fastest /= (double)hypotf(v[0], v[1]);
    mean->emitted = (double)brim_sim_stats(sim)->emitted * one / (area * brim_sim_time(sim));
    mean->volume = brim_sim_stats(sim)->volume;
    brim_sim_destroy(&sim);
    return r;
}

/// Below the surface, too: water behind a source is neither pushed nor drawn in, that before it
/// gives way, and all of it has room.
TEST(inlet_below_the_surface_keeps_its_flow) {
    BrimError error;
    for (int dim = 2; dim <= (quick() ? 2 : 3); dim++)
        for (int place = 0; place < 4; place++)
            for (int run = 0; run < (dim == 2 ? 3 : place ? 1 : 2); run++) {
                Case c = sunken_source(dim, place, run == 1 ? 3 : 0);
                Sunken mean;
                if (run == 2) c.def.volume = BRIM_VOLUME_NONE;
                CHECK_OK(run_sunken(&c, 0, &mean, &error), error);
                if (getenv("SHOW"))
                    printf("%d place %d run %d: emitted %.4f exit %.4f density %.4f volume %.4f "
                           "fastest %.2f\n",
                           dim, place, run, mean.emitted, mean.exit, mean.density, mean.volume,
                           mean.fastest);
                CHECK_NEAR(mean.emitted, 1, place == 3 ? 0.05 : 0.02); // few points, slanted
                CHECK_NEAR(mean.exit, 1, 0.02);
                CHECK_NEAR(mean.density, 1, place == 3 ? 0.1 : 0.08);
                CHECK_NEAR(mean.volume, 1, run == 2 ? 0.02 : 0.005);
                CHECK_BELOW(mean.fastest, 2); // what comes in spreads; nothing is driven beyond
            }
}

/// A boulder wholly inside a source: the stream goes around it, and nothing comes out of it.
TEST(inlet_gives_nothing_behind_a_solid_inside_it) {
    BrimError error;
    BrimSim *sim;
    Case c = case_box(2, 1, 64, 64, 1);
    c.def.gravity = (BrimVec3){0, 0, 0}, c.def.sides[1] = BRIM_SIDE_OPEN;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = box_between((BrimVec3){0.2f, 0.3f, 0}, (BrimVec3){0.6f, 0.7f, 0});
    c.sources[0].velocity = (BrimVec3){1, 0, 0};
    c.def.source_count = 1;
    case_solid(&c, ball((BrimVec3){0.4f, 0.5f, 0}, 0.07f));
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(run_until(sim, 0.5, &error), error);
    double made = (double)brim_sim_stats(sim)->emitted / (64 * 64 * 9) / 0.5;
    CHECK_NEAR(made, 0.4, 0.008);
    const BrimParticles p = brim_sim_particles(sim);
    float fastest = 0;
    for (size_t i = 0; i < p.count; i++) fastest = fmaxf(fastest, hypotf(p.vx[i], p.vy[i]));
    CHECK(fastest < 3);
    if (getenv("SHOW"))
        printf("volume %f fastest %f\n", brim_sim_stats(sim)->volume, (double)fastest);
    CHECK(brim_sim_stats(sim)->volume > 0.98);
    brim_sim_destroy(&sim);
}

/// A source below the surface above another, in the same tile, begins as it does alone.
TEST(inlet_beside_another_has_its_own_flow) {
    BrimError error;
    const float dx = 1.0f / 48;
    for (int run = 0; run < 2; run++) {
        const float x = (run ? 17.4f : 17) * dx, end = x + 2 * dx;
        Case c = sunken_source(2, 0, 0);
        Sunken second;
        c.sources[1] = c.sources[0], c.def.source_count = 2;
        c.sources[0].shape = box_between((BrimVec3){x, 8 * dx, 0}, (BrimVec3){end, 11 * dx, 0});
        c.sources[1].shape = box_between((BrimVec3){x, 12 * dx, 0}, (BrimVec3){end, 15 * dx, 0});
        CHECK_OK(run_sunken(&c, 1, &second, &error), error);
        if (getenv("SHOW")) printf("exit %.4f density %.4f\n", second.exit, second.density);
        CHECK_NEAR(second.exit, 1, 0.02);
        CHECK_NEAR(second.density, 1, 0.05);
    }
}

/// What is in the way of a stream: a side of the domain and a solid, where the shape ends, half a
/// cell and two cells beyond; another source whose stream comes to meet it, where it ends and
/// within; one that crosses it.
typedef enum Ahead { A_SIDE, A_SOLID, A_GAP, A_WIDE_GAP, MEETS, OVERLAPS, CROSSES, AHEADS } Ahead;

static BrimResult run_against(int dim, Ahead ahead, double *volume, BrimError *error) {
    const int n = dim == 2 ? 48 : 24;
    const float dx = 1.0f / (float)n;
    Case c = case_box(dim, 1, n, n, n);
    const float end[AHEADS] = {1, 1 - 2 * dx, 1 - 0.5f * dx, 1 - 2 * dx, 0.6f, 0.7f, 0.8f};
    c.sources[0] = c.sources[1] = brim_default_source_def();
    c.sources[0].shape =
        box_between((BrimVec3){end[ahead] - 0.3f, 0.4f, 0.4f}, (BrimVec3){end[ahead], 0.6f, 0.6f});
    c.sources[0].velocity = (BrimVec3){1, 0, 0};
    c.sources[1].shape = box_between((BrimVec3){0.6f, 0.4f, 0.4f}, (BrimVec3){0.9f, 0.6f, 0.6f});
    c.sources[1].velocity = (BrimVec3){-1, 0, 0};
    if (ahead == CROSSES) {
        c.sources[1].shape =
            box_between((BrimVec3){0.5f, 0.3f, 0.4f}, (BrimVec3){0.6f, 0.7f, 0.6f});
        c.sources[1].velocity = (BrimVec3){0, 1, 0};
    }
    c.def.source_count = ahead >= MEETS ? 2 : 1;
    if (ahead == A_SOLID)
        case_solid(&c, box_between((BrimVec3){1 - 2 * dx, 0, 0}, (BrimVec3){1.1f, 1, 1}));
    BrimSim *sim;
    BrimResult r = case_create(&c, &sim, error);
    if (r != BRIM_OK) return r;
    *volume = 1;
    while (brim_sim_time(sim) < 0.7 && r == BRIM_OK) {
        r = brim_sim_step(sim, error);
        *volume = fmin(*volume, brim_sim_stats(sim)->volume);
    }
    brim_sim_destroy(&sim);
    return r;
}

/// The water finds its way out: none is pressed together.
TEST(inlet_against_what_is_in_its_way_keeps_its_volume) {
    BrimError error;
    for (int dim = 2; dim <= (quick() ? 2 : 3); dim++)
        for (int ahead = 0; ahead < AHEADS; ahead++) {
            double volume;
            CHECK_OK(run_against(dim, (Ahead)ahead, &volume, &error), error);
            if (getenv("SHOW")) printf("%d ahead %d: least volume %.4f\n", dim, ahead, volume);
            CHECK(volume > 0.98);
        }
}

/// The sides of a source on those of cells: a step of one and a half spacings brings points there,
/// which are in or out by rounding.
TEST(inlet_on_the_sides_of_cells_loses_no_points) {
    BrimError error;
    for (int side = 0; side < 2; side++) {
        BrimSim *sim;
        const float dx = 1.0f / 48, low = side ? -3 * dx : 17 * dx;
        Case c = case_box(2, 1, 48, 48, 1);
        c.def.gravity = (BrimVec3){0, 0, 0}, c.def.step = 0.5 / 48;
        c.sources[0] = brim_default_source_def();
        c.sources[0].shape =
            box_between((BrimVec3){low, 12 * dx, 0}, (BrimVec3){19 * dx, 15 * dx, 0});
        c.sources[0].velocity = (BrimVec3){1, 0, 0};
        c.def.source_count = 1;
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 0.5, &error), error);
        CHECK_NEAR((double)brim_sim_stats(sim)->emitted, 0.5 * 48 * 3 * 9, 9);
        brim_sim_destroy(&sim);
    }
}

/// Sources no wider than a cell fill a side, in 3D one row of it, between nodes of the grid: what
/// they give flows. Before, one on the sides of cells was not seen, and nothing moved.
TEST(inlet_no_wider_than_a_cell_gives_its_flow) {
    static const float wide[3] = {1, 1, 0.7f}, first[3] = {0, 0.3f, 0};
    BrimError error;
    for (int run = 0; run < 6; run++) {
        enum { N = 10 };
        const int dim = 2 + run / 3, k = run % 3;
        const float dx = 1.0f / 24, size = N * dx;
        Case c = case_box(dim, 1, 24, N, N);
        BrimSourceDef sources[2 * N];
        double given = 0;
        c.def.gravity = (BrimVec3){0, 0, 0}, c.def.sides[1] = BRIM_SIDE_OPEN;
        if (dim == 2) case_liquid(&c, box_between((BrimVec3){0}, (BrimVec3){1, size, 1}));
        for (float y = first[k]; y + wide[k] < N + 0.01f; y += wide[k]) {
            BrimSourceDef *s = &sources[c.def.source_count++];
            *s = brim_default_source_def();
            s->shape = box_between((BrimVec3){0, y * dx, 3 * dx},
                                   (BrimVec3){2 * dx, (y + wide[k]) * dx, 4 * dx});
            s->velocity.x = 0.5f;
            given += (double)(0.5f * wide[k] * dx * (dim == 3 ? dx : 1));
        }
        case_gauge(&c, "flow", BRIM_GAUGE_FLOW, (BrimVec3){6 * dx, 0, 0},
                   (BrimVec3){6 * dx, size, size});
        c.def.liquid = c.liquid, c.def.gauges = c.gauges, c.def.sources = sources;
        BrimSim *sim;
        CHECK_OK(brim_sim_create(&c.def, &sim, &error), error);
        double flow = 0, span = 0;
        while (brim_sim_time(sim) < 1.2) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            double dt = brim_sim_time(sim) > 0.6 ? brim_sim_stats(sim)->dt : 0;
            flow += dt * gauge_shows(sim, 0, 0), span += dt;
        }
        if (getenv("SHOW")) printf("%dD, %d: %.4f\n", dim, k, flow / span / given);
        CHECK_NEAR(flow / span / given, 1, 0.05);
        brim_sim_destroy(&sim);
    }
}
