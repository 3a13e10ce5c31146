// Bodies that touch: one on another, friction, nothing passes through.
#include "base/hash.h"
#include "bodies/bodies.h"
#include "test.h"
#include <math.h>
#include <string.h>

static BrimShapeDef box(float x, float y, float width, float height, float turn) {
    BrimShapeDef s = brim_default_shape_def();
    s.kind = BRIM_SHAPE_BOX;
    s.size = (BrimVec3){width, height, 1};
    s.position = (BrimVec3){x, y, 0};
    s.rotation.z = turn;
    return s;
}

/// A room of 1 m x 1 m in 2D.
static BrimSimDef room(int cells) {
    BrimSimDef d = brim_default_sim_def();
    d.dim = 2, d.size = (BrimVec3){1, 1, 1 / (float)cells};
    d.cells[0] = d.cells[1] = cells, d.cells[2] = 1;
    d.particles_per_cell = 9, d.frame_rate = 60, d.threads = 1;
    return d;
}

static BrimBodyState state_of(const BrimSim *s, int body) {
    BrimBodyState b = {0};
    brim_sim_body_state(s, body, &b, NULL);
    return b;
}

TEST(touch_raft_carries_its_cargo) {
    // the draft is that of both weights: the raft feels what lies on it
    BrimError error;
    BrimSimDef d = room(40);
    BrimLiquidDef liquid = {.shape = box(0.5f, 0.2f, 1, 0.4f, 0)};
    BrimBodyDef two[2] = {brim_default_body_def(), brim_default_body_def()};
    float draft = (300 * 0.5f * 0.15f + 500 * 0.2f * 0.1f) / (1000 * 0.5f);
    two[0].shape = box(0.5f, 0.4f - draft + 0.075f, 0.5f, 0.15f, 0), two[0].density = 300;
    two[1].shape = box(0.5f, 0.4f - draft + 0.2f, 0.2f, 0.1f, 0), two[1].density = 500;
    two[0].rigid = two[1].rigid = true;
    d.liquid = &liquid, d.liquid_count = 1, d.bodies = two, d.body_count = 2;
    BrimSim *s = NULL;
    CHECK_OK(brim_sim_create(&d, &s, &error), error);
    double sum = 0;
    for (int f = 0; f < 60; f++) {
        CHECK_OK(brim_sim_advance_frame(s, &error), error);
        if (f >= 30) sum += (0.4 - (double)state_of(s, 0).low.y) / 30;
    }
    // alone it would have 0.69 of it
    CHECK_NEAR(sum / (double)draft, 1, 0.03);
    BrimBodyState high = state_of(s, 1), low = state_of(s, 0);
    CHECK_NEAR(high.low.y, low.high.y, 0.1 / 40);
    CHECK_NEAR(high.contact.y, high.mass * 9.81, 0.1 * high.mass * 9.81);
    CHECK_NEAR(low.contact.y, -high.contact.y, 0.01 * high.mass * 9.81);
    brim_sim_destroy(&s);
}

/// Two boxes on one another on a slope of 20 degrees, how far each slid down from a frame
/// on until 18 frames later, m.
static void slide(bool rigid, float friction, double step, int since, double slid[2],
                  BrimError *error) {
    BrimSimDef d = room(32);
    BrimSolidDef slope = brim_default_solid_def();
    BrimBodyDef two[2] = {brim_default_body_def(), brim_default_body_def()};
    float angle = 20, c = cosf(angle * (float)M_PI / 180), n = sinf(angle * (float)M_PI / 180);
    slope.shape = brim_default_shape_def();
    slope.shape.kind = BRIM_SHAPE_PLANE;
    slope.shape.position = (BrimVec3){0.5f, 0.4f, 0}, slope.shape.normal = (BrimVec3){-n, c, 0};
    for (int i = 0; i < 2; i++) {
        float away = i ? 0.17f : 0.06f, width = i ? 0.14f : 0.3f;
        // up the slope from the middle, so that there is room to slide
        two[i].shape = box(0.5f + 0.28f * c - n * away, 0.4f + 0.28f * n + c * away, width,
                           i ? 0.1f : 0.12f, angle);
        two[i].rigid = rigid, two[i].friction = friction, two[i].density = i ? 900 : 500;
        two[i].young = 1e6f, two[i].modes = 4, two[i].elements = 16;
    }
    d.step = step;
    d.solids = &slope, d.solid_count = 1, d.bodies = two, d.body_count = 2;
    BrimSim *s = NULL;
    slid[0] = slid[1] = NAN;
    if (brim_sim_create(&d, &s, error) != BRIM_OK) {
        printf("%s\n", error->message);
        return;
    }
    BrimVec3 from[2] = {{0}};
    for (int f = 0; f < since + 18; f++) {
        if (brim_sim_advance_frame(s, error) != BRIM_OK) return;
        for (int i = 0; f == since - 1 && i < 2; i++) from[i] = state_of(s, i).center; // settled
    }
    for (int i = 0; i < 2; i++) {
        BrimVec3 now = state_of(s, i).center;
        slid[i] = (double)((from[i].x - now.x) * c + (from[i].y - now.y) * n);
    }
    brim_sim_destroy(&s);
}

TEST(touch_friction_holds_a_stack_on_a_slope) {
    // tan 20 degrees = 0.364: friction 0.6 holds both for 0.3 s, to 1/50 of a cell; with 0.1
    // both go with g (sin - 0.1 cos) from the start on
    static const double steps[2] = {1.0 / 60, 1.0 / 120};
    double expected = 0.5 * 9.81 * (sin(M_PI / 9) - 0.1 * cos(M_PI / 9));
    expected *= pow(30.0 / 60, 2) - pow(12.0 / 60, 2);
    for (int n = 0; n < 4; n++) {
        BrimError error = {0};
        double held[2], slid[2];
        slide(n & 1, 0.6f, steps[n >> 1], 42, held, &error);
        slide(n & 1, 0.1f, steps[n >> 1], 12, slid, &error);
        CHECK_BELOW(fabs(held[0]), 0.02 / 32);
        CHECK_BELOW(fabs(held[1]), 0.02 / 32);
        CHECK_NEAR(slid[0] / expected, 1, 0.1);
        CHECK_NEAR(slid[1] / expected, 1, 0.1);
    }
}

/// A clip of two legs, two cells thick each, that hands press together and past one another.
static BrimSim *clip(bool self_contact, BrimError *error) {
    BrimSimDef d = room(32);
    BrimBodyDef b = brim_default_body_def();
    BrimShapeDef part[3] = {box(0.5f, 0.24f, 0.32f, 0.08f, 0), box(0.37f, 0.45f, 0.06f, 0.4f, 0),
                            box(0.63f, 0.45f, 0.06f, 0.4f, 0)};
    BrimPinDef pin = {.shape = box(0.5f, 0.2f, 0.4f, 0.06f, 0)};
    BrimGrabDef grab[2] = {brim_default_grab_def(), brim_default_grab_def()};
    BrimKeyframe keys[2][2] = {0};
    for (int i = 0; i < 2; i++) {
        keys[i][1] = (BrimKeyframe){.time = 0.3, .position.x = i ? -0.2f : 0.2f};
        grab[i].at = (BrimVec3){i ? 0.66f : 0.34f, 0.6f, 0}, grab[i].stop = 9;
        grab[i].force = 600, grab[i].keyframes = keys[i], grab[i].keyframe_count = 2;
    }
    b.shape = brim_default_shape_def();
    b.shape.kind = BRIM_SHAPE_UNION, b.shape.children = part, b.shape.child_count = 3;
    b.pins = &pin, b.pin_count = 1, b.grabs = grab, b.grab_count = 2;
    b.young = 1e5f, b.modes = 8, b.self_contact = self_contact;
    d.bodies = &b, d.body_count = 1;
    BrimSim *s = NULL;
    if (brim_sim_create(&d, &s, error) != BRIM_OK) printf("%s\n", error->message);
    return s;
}

/// How far the legs' inner sides, vertices from y = 0.35 on, have passed one another, in cells.
static double crossed(const BrimSim *s) {
    const Body *b = &s->bodies->body[0];
    double most = -INFINITY;
    for (size_t i = 0; i < b->surface.vertex_count; i++)
        for (size_t k = 0; k < b->surface.vertex_count; k++) {
            const float *one = b->surface.vertices[i], *two = b->surface.vertices[k];
            bool left = fabs(b->rest[i][0] - 0.4) < 0.01, right = fabs(b->rest[k][0] - 0.6) < 0.01;
            if (!left || !right || b->rest[i][1] < 0.35 || b->rest[k][1] < 0.35) continue;
            if (fabsf(one[1] - two[1]) < 0.2f * b->dx)
                most = fmax(most, (double)((one[0] - two[0]) / b->dx));
        }
    return most;
}

TEST(touch_legs_of_a_clip_meet_and_stay_apart) {
    double most[2] = {-INFINITY, -INFINITY};
    for (int n = 0; n < 2; n++) {
        BrimError error = {0};
        BrimSim *s = clip(n == 1, &error);
        CHECK(s);
        for (int f = 0; f < 25; f++) {
            CHECK_OK(brim_sim_advance_frame(s, &error), error);
            most[n] = fmax(most[n], crossed(s));
        }
        brim_sim_destroy(&s);
    }
    CHECK(most[0] > 2); // without it they pass through one another
    CHECK(most[1] > -0.1);
    CHECK_BELOW(most[1], 0.1);
}

TEST(touch_sides_of_a_thin_body_do_not_touch) {
    // a strip that hangs over by its own weight, and a soft block that is crushed to a third
    for (int n = 0; n < 2; n++) {
        BrimError error = {0};
        BrimSimDef d = room(32);
        BrimBodyDef b = brim_default_body_def();
        BrimPinDef pin = {.shape = box(0.1f, 0.8f, 0.1f, 0.2f, 0)};
        b.shape = n ? box(0.5f, 0.11f, 0.3f, 0.2f, 0) : box(0.4f, 0.8f, 0.6f, 0.04f, 0);
        b.young = n ? 1500 : 3e4f, b.density = 2000, b.modes = 8;
        if (n == 0) b.pins = &pin, b.pin_count = 1;
        d.bodies = &b, d.body_count = 1;
        BrimSim *s = NULL;
        CHECK_OK(brim_sim_create(&d, &s, &error), error);
        for (int f = 0; f < 20; f++) {
            CHECK_OK(brim_sim_advance_frame(s, &error), error);
            CHECK(s->bodies->body[0].fold_count == 0);
        }
        BrimBodyState now = state_of(s, 0);
        CHECK(n ? now.high.y < 0.15f : now.low.y < 0.5f);
        brim_sim_destroy(&s);
    }
}
