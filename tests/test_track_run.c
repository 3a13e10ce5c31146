// The surface that particles carry along in whole steps: bits, sources, solids, calm pools.
#include "base/hash.h"
#include "cases_track.h"
#include "scratch.h"
#include "test.h"

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
                CHECK_OK(brim_sim_save(s, at("track.brim"), &error), error);
                brim_sim_destroy(&s);
                CHECK_OK(brim_sim_load(&c.def, at("track.brim"), &s, &error), error);
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
