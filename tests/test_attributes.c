// What particles carry besides position and velocity: age and source.
#include "cases.h"
#include "particles/attributes.h"
#include "scratch.h"
#include "test.h"
#include <string.h>

/// A pool, a block above it and a stream; attributes on.
static Case poured(int band) {
    Case c = case_box(3, 1, 24, 24, 12);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.3f, 0.5f}));
    case_liquid(&c, box_between((BrimVec3){0, 0.4f, 0}, (BrimVec3){0.3f, 0.7f, 0.5f}));
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = ball((BrimVec3){0.7f, 0.7f, 0.25f}, 0.1f);
    c.sources[0].velocity = (BrimVec3){0, -1, 0};
    c.sources[0].start = 0.1;
    c.def.source_count = 1;
    c.def.attributes = BRIM_ATTRIBUTE_AGE | BRIM_ATTRIBUTE_SOURCE;
    c.def.band_width = band;
    return c;
}

TEST(attributes_names_follow_the_table) {
    char name[ATTRIBUTE_NAME];
    attribute_name(ATTR_VY, name);
    CHECK(strcmp(name, "vy") == 0);
    attribute_name(ATTR_AFFINE + 8, name);
    CHECK(strcmp(name, "affine8") == 0);
    attribute_name(ATTR_SOURCE, name);
    CHECK(strcmp(name, "source") == 0);
    CHECK(attribute_row(ATTR_AFFINE + 8) == ROW_AFFINE && attribute_row(ATTR_ID) == ROW_ID);
    CHECK(attributes_wanted(0, 0) == (1u << ROW_X | 1u << ROW_VX | 1u << ROW_ID));
    CHECK(attributes_wanted(1u << ATTRIBUTE_APIC, 2) >> ROW_SOURCE &
          attributes_wanted(1u << ATTRIBUTE_APIC, 2) >> ROW_AFFINE & 1);
}

TEST(attributes_are_there_only_when_asked_for) {
    Case c = case_tank(2, 8, 0.5f);
    BrimSim *sim = NULL;
    BrimError error;
    CHECK(case_create(&c, &sim, &error) == BRIM_OK);
    CHECK(brim_sim_particles(sim).extra_count == 0);
    brim_sim_destroy(&sim);
}

TEST(attributes_age_and_source_follow_their_particles) {
    Case c = poured(0);
    BrimSim *sim = NULL;
    BrimError error;
    CHECK(case_create(&c, &sim, &error) == BRIM_OK);
    BrimParticles p = brim_sim_particles(sim);
    CHECK(p.extra_count == 2 && strcmp(p.extra[0].name, "age") == 0 && p.extra[1].whole);
    // ids of the two liquids follow one another, those of the stream come last
    size_t first = 0, seeded = p.count;
    for (size_t i = 0; i < p.count; i++) first += ((const uint32_t *)p.extra[1].values)[i] == 0;
    CHECK(first > 0 && first < seeded);
    for (int i = 0; i < 8; i++) CHECK(brim_sim_advance_frame(sim, &error) == BRIM_OK);
    p = brim_sim_particles(sim);
    CHECK(p.count > seeded);
    double now = brim_sim_time(sim);
    size_t wrong = 0;
    for (size_t i = 0; i < p.count; i++) {
        float age = ((const float *)p.extra[0].values)[i];
        uint32_t source = ((const uint32_t *)p.extra[1].values)[i];
        wrong += source != (p.id[i] < first ? 0 : p.id[i] < seeded ? 1 : 2);
        wrong += p.id[i] < seeded ? fabs(age - now) > 1e-4 : age < 0 || age > now - 0.1 + 1e-4;
    }
    CHECK(wrong == 0);
    brim_sim_destroy(&sim);
}

TEST(attributes_of_particles_that_rise_are_their_neighbours) {
    Case c = poured(2);
    BrimSim *sim = NULL;
    BrimError error;
    CHECK(case_create(&c, &sim, &error) == BRIM_OK);
    for (int i = 0; i < 12; i++) CHECK(brim_sim_advance_frame(sim, &error) == BRIM_OK);
    BrimParticles p = brim_sim_particles(sim);
    double now = brim_sim_time(sim);
    size_t old = 0, streamed = 0;
    for (size_t i = 0; i < p.count; i++) {
        old += fabs(((const float *)p.extra[0].values)[i] - now) < 1e-4;
        streamed += ((const uint32_t *)p.extra[1].values)[i] == 2;
    }
    // the stream is a twentieth of the water: nearly all that came up is as old as the pool
    CHECK(streamed > 0 && old + streamed > 9 * p.count / 10);
    brim_sim_destroy(&sim);
}

TEST(attributes_survive_a_checkpoint_and_reach_frames) {
    const char *path = at("half.ckpt"), *frame = at("frame.ply");
    Case c = poured(0);
    c.def.transfer = BRIM_TRANSFER_APIC;
    BrimSim *sim = NULL, *again = NULL;
    BrimError error;
    CHECK(case_create(&c, &sim, &error) == BRIM_OK);
    for (int i = 0; i < 3; i++) CHECK(brim_sim_advance_frame(sim, &error) == BRIM_OK);
    CHECK(brim_sim_save(sim, path, &error) == BRIM_OK);
    CHECK(brim_sim_load(&c.def, path, &again, &error) == BRIM_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(brim_sim_advance_frame(sim, &error) == BRIM_OK);
        CHECK(brim_sim_advance_frame(again, &error) == BRIM_OK);
    }
    BrimParticles p = brim_sim_particles(sim), q = brim_sim_particles(again);
    CHECK(p.count == q.count);
    for (int k = 0; k < 2; k++)
        CHECK(memcmp(p.extra[k].values, q.extra[k].values, p.count * 4) == 0);
    CHECK(brim_write_particles(sim, frame, &error) == BRIM_OK);
    float *age = NULL, *source = NULL;
    size_t n = 0;
    CHECK(brim_frame_values(frame, "age", &age, &n, &error) == BRIM_OK && n == p.count);
    CHECK(brim_frame_values(frame, "source", &source, &n, &error) == BRIM_OK && n == p.count);
    BrimFrame f;
    CHECK(brim_frame_read(frame, &f, &error) == BRIM_OK);
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += !(source[i] <= 2) || (source[i] < 2) != (age[i] > 0.15f);
    CHECK(wrong == 0);
    brim_frame_free(&f);
    free(age), free(source);
    brim_sim_destroy(&sim);
    brim_sim_destroy(&again);
}
