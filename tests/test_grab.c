// Hands on bodies: by ray and by vertex, dragged by the host and by scenes.
#include "base/hash.h"
#include "bodies/bodies.h"
#include "scratch.h"
#include "test.h"

static BrimShapeDef box_shape(float x0, float y0, float x1, float y1) {
    BrimShapeDef s = brim_default_shape_def();
    s.kind = BRIM_SHAPE_BOX;
    s.size = (BrimVec3){x1 - x0, y1 - y0, 0.4f};
    s.position = (BrimVec3){0.5f * (x0 + x1), 0.5f * (y0 + y1), 0.5f};
    return s;
}

/// A tank of 1 m with little water and one box in the air above it, 0.4 m wide and 0.2 m high.
typedef struct Air {
    BrimSimDef def;
    BrimLiquidDef liquid;
    BrimBodyDef body;
} Air;

static void air_init(Air *t, int dim, int cells, bool rigid) {
    *t = (Air){.def = brim_default_sim_def(), .body = brim_default_body_def()};
    t->liquid.shape = box_shape(0, 0, 1, 0.1f);
    t->liquid.shape.size.z = 1;
    t->def.dim = dim;
    t->def.size = (BrimVec3){1, 1, dim == 3 ? 1 : 1 / (float)cells};
    t->def.cells[0] = t->def.cells[1] = cells, t->def.cells[2] = dim == 3 ? cells : 1;
    t->def.frame_rate = 60, t->def.threads = 1, t->def.particles_per_cell = dim == 3 ? 8 : 4;
    t->body.shape = box_shape(0.3f, 0.5f, 0.7f, 0.7f);
    t->body.rigid = rigid, t->body.modes = 4, t->body.elements = 16, t->body.young = 3e5f;
}

static BrimSim *air_sim(Air *t, BrimError *error) {
    BrimSim *s = NULL;
    t->def.liquid = &t->liquid, t->def.liquid_count = 1;
    t->def.bodies = &t->body, t->def.body_count = 1;
    brim_sim_create(&t->def, &s, error);
    return s;
}

TEST(grab_holds_a_body_by_its_weight) {
    // by a ray from above: the point stays, the force is the weight; let go, it falls freely
    for (int n = 0; n < 3; n++) {
        Air t;
        BrimError error;
        air_init(&t, n == 2 ? 3 : 2, n == 2 ? 16 : 32, n != 1);
        if (n == 1) t.body.damping = 8; // of its bouncing on the hand
        BrimSim *s = air_sim(&t, &error);
        CHECK(s);
        int grab;
        BrimVec3 point;
        CHECK_OK(brim_sim_grab(s, (BrimVec3){0.5f, 0.95f, 0.5f}, (BrimVec3){0, -2, 0}, &grab,
                               &point, &error),
                 error);
        CHECK_NEAR(point.y, 0.7, 1e-4);
        CHECK_NEAR(point.x, 0.5, 1e-6);
        BrimBodyState b = {0};
        double force = 0;
        for (int f = 0; f < 40; f++) {
            CHECK_OK(brim_sim_advance_frame(s, &error), error);
            CHECK_OK(brim_sim_body_state(s, 0, &b, &error), error);
            if (f >= 20) force += (double)b.hand.y / 20;
        }
        BrimGrabState g;
        CHECK_OK(brim_sim_grab_state(s, grab, &g, &error), error);
        CHECK_NEAR(g.point.y, 0.7, 0.02 / (n == 2 ? 16 : 32));
        CHECK_NEAR(force / (b.mass * 9.81), 1, 0.01);
        CHECK_OK(brim_sim_release(s, grab, &error), error);
        double from = (double)b.center.y;
        for (int f = 0; f < 7; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
        CHECK_OK(brim_sim_body_state(s, 0, &b, &error), error);
        CHECK(b.hand.y == 0);
        // the step that was under way when it was let go did not fall yet
        if (n != 1)
            CHECK_NEAR(from - (double)b.center.y, (1 + 2 + 3 + 4 + 5 + 6) * 9.81 / 3600, 2e-3);
        brim_sim_destroy(&s);
    }
}

TEST(grab_is_dragged_where_the_host_says) {
    // straight, at an even pace, to within a tenth of a cell; a vertex as well as a ray
    Air t;
    BrimError error;
    air_init(&t, 2, 32, false);
    BrimSim *s = air_sim(&t, &error);
    CHECK(s);
    BrimBodySurface surface;
    CHECK_OK(brim_sim_body_surface(s, 0, &surface, &error), error);
    size_t top = 0;
    for (size_t i = 0; i < surface.vertex_count; i++)
        if (surface.position[i][0] + surface.position[i][1] >
            surface.position[top][0] + surface.position[top][1])
            top = i;
    BrimVec3 to = {0.8f, 0.9f, 0};
    int grab;
    CHECK_OK(brim_sim_grab_vertex(s, 0, top, &grab, &error), error);
    CHECK_OK(brim_sim_drag(s, grab, to, 0.5, &error), error);
    BrimGrabState g;
    for (int f = 0; f < 15; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    CHECK_OK(brim_sim_grab_state(s, grab, &g, &error), error);
    CHECK_NEAR(g.target.x, 0.75, 1e-3);
    CHECK_NEAR(g.point.x, g.target.x, 0.1 / 32);
    for (int f = 0; f < 30; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    CHECK_OK(brim_sim_grab_state(s, grab, &g, &error), error);
    CHECK_NEAR(g.point.x, to.x, 0.1 / 32);
    CHECK_NEAR(g.point.y, to.y, 0.1 / 32);
    brim_sim_destroy(&s);
}

TEST(grab_by_keyframes_goes_with_the_scene) {
    // along a path, then lets go
    Air t;
    BrimError error;
    air_init(&t, 2, 32, true);
    BrimKeyframe keys[2] = {{.time = 0}, {.time = 0.4, .position = {0.1f, 0.2f, 0}}};
    BrimGrabDef grab = brim_default_grab_def();
    grab.at = (BrimVec3){0.5f, 0.72f, 0}, grab.stop = 0.6;
    grab.keyframes = keys, grab.keyframe_count = 2;
    t.body.grabs = &grab, t.body.grab_count = 1;
    BrimSim *s = air_sim(&t, &error);
    CHECK(s);
    BrimBodyState b = {0};
    for (int f = 0; f < 33; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    const Hand *h = &s->bodies->hands.hand[0];
    double point[3], velocity[3];
    hand_point(&s->bodies->body[0], h, point, velocity);
    CHECK_NEAR(point[0], h->from[0] + 0.1, 0.05 / 32);
    CHECK_NEAR(point[1], 0.9, 0.05 / 32);
    for (int f = 0; f < 10; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    CHECK_OK(brim_sim_body_state(s, 0, &b, &error), error);
    CHECK(b.velocity.y < -0.5f);
    CHECK(b.hand.y == 0);
    brim_sim_destroy(&s);
}

TEST(grab_repeats_to_the_bit) {
    // for threads, and saved in the middle of a drag
    uint64_t hash[3];
    const char *path = at("grab.brim");
    for (int n = 0; n < 3; n++) {
        Air t;
        BrimError error;
        air_init(&t, 2, 32, false);
        t.liquid.shape = box_shape(0, 0, 1, 0.45f);
        t.def.threads = n == 1 ? 3 : 1;
        BrimSim *s = air_sim(&t, &error);
        CHECK(s);
        int grab[2];
        for (int f = 0; f < 12; f++) {
            if (f == 1) {
                for (int k = 0; k < 2; k++)
                    CHECK_OK(brim_sim_grab(s, (BrimVec3){0.4f + 0.2f * (float)k, 0.6f, 3},
                                           (BrimVec3){0, 0, -1}, &grab[k], NULL, &error),
                             error);
                CHECK_OK(brim_sim_release(s, grab[0], &error), error);
                CHECK_OK(brim_sim_drag(s, grab[1], (BrimVec3){0.5f, 0.4f, 0}, 0.4, &error), error);
            }
            CHECK_OK(brim_sim_step(s, &error), error);
            if (n != 2 || f != 5) continue;
            CHECK_OK(brim_sim_save(s, path, &error), error);
            brim_sim_destroy(&s);
            CHECK_OK(brim_sim_load(&t.def, path, &s, &error), error);
        }
        const Elastic *e = s->bodies->body[0].elastic;
        hash[n] = hash_bytes(0, e->v, (size_t)e->dofs * sizeof(double));
        BrimGrabState g;
        CHECK_OK(brim_sim_grab_state(s, grab[1], &g, &error), error);
        CHECK(g.force.x != 0);
        brim_sim_destroy(&s);
    }
    CHECK(hash[0] == hash[1]);
    CHECK(hash[0] == hash[2]);
}

TEST(grab_misses_and_misuse) {
    Air t;
    BrimError error = {0};
    air_init(&t, 2, 32, true);
    BrimSim *s = air_sim(&t, &error);
    CHECK(s);
    int grab = 7;
    BrimVec3 in = {0.5f, 0.6f, 1}, beside = {0.1f, 0.6f, 1}, z = {0, 0, -1}, none = {0, 0, 0};
    CHECK(brim_sim_grab(s, beside, z, &grab, NULL, &error) == BRIM_ERROR_INPUT && grab == -1);
    CHECK(strstr(error.message, "no body"));
    CHECK(brim_sim_grab(s, in, none, &grab, NULL, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_grab(s, in, (BrimVec3){0, 0, 1}, &grab, NULL, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_grab_vertex(s, 0, 1000000, &grab, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_grab_vertex(s, 1, 0, &grab, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_drag(s, 0, in, 1, &error) == BRIM_ERROR_INPUT);
    CHECK_OK(brim_sim_grab(s, in, z, &grab, NULL, &error), error);
    CHECK(brim_sim_drag(s, grab, in, -1, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_drag(s, grab, (BrimVec3){NAN, 0, 0}, 1, &error) == BRIM_ERROR_INPUT);
    // far away and at once: it flies off no faster than a hand can throw, and nothing breaks
    CHECK_OK(brim_sim_drag(s, grab, (BrimVec3){50, 50, 0}, 0, &error), error);
    for (int f = 0; f < 5; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
    BrimGrabState g;
    CHECK_OK(brim_sim_grab_state(s, grab, &g, &error), error);
    BrimBodyState b;
    CHECK_OK(brim_sim_body_state(s, 0, &b, &error), error);
    CHECK_BELOW(hypot(b.hand.x, b.hand.y), 20.01 * 9.81 * b.mass);
    CHECK_OK(brim_sim_release(s, grab, &error), error);
    CHECK(brim_sim_release(s, grab, &error) == BRIM_ERROR_INPUT);
    brim_sim_destroy(&s);
}

// ------------------------------------------------------------------------------------------ pins

/// A beam of 0.5 m in air, held at its left end by a pin with such keyframes, after two seconds:
/// where its right end is, relative to the pin's own place.
static BrimVec3 beam_end(const BrimKeyframe *keys, int count, BrimError *error) {
    Air t;
    air_init(&t, 2, 32, false);
    t.body.shape = box_shape(0.2f, 0.6f, 0.7f, 0.65f);
    t.body.young = 2e6f, t.body.damping = 6, t.body.elements = 60, t.body.modes = 6;
    BrimPinDef pin = {.shape = box_shape(0, 0.5f, 0.2f, 0.75f)};
    pin.keyframes = keys, pin.keyframe_count = count;
    t.body.pins = &pin, t.body.pin_count = 1;
    BrimSim *s = air_sim(&t, error);
    BrimBodySurface surface;
    BrimVec3 sum = {0, 0, 0};
    if (!s || brim_sim_body_surface(s, 0, &surface, error) != BRIM_OK) return sum;
    size_t end = 0;
    for (size_t i = 0; i < surface.vertex_count; i++)
        if (surface.position[i][0] > surface.position[end][0] + 1e-6f) end = i;
    float rest[2] = {surface.position[end][0], surface.position[end][1]};
    for (int f = 0; f < 120; f++)
        if (brim_sim_advance_frame(s, error) != BRIM_OK) return sum;
    brim_sim_body_surface(s, 0, &surface, error);
    sum.x = surface.position[end][0] - rest[0], sum.y = surface.position[end][1] - rest[1];
    brim_sim_destroy(&s);
    return sum;
}

TEST(pins_that_move_carry_the_body) {
    // held by a pin that stays, by one that has keyframes but does not move, by one that goes up
    BrimError error = {0};
    BrimKeyframe rest[1] = {{.time = 0}};
    BrimKeyframe up[2] = {{.time = 0}, {.time = 0.3, .position = {0.1f, 0.15f, 0}}};
    BrimVec3 still = beam_end(NULL, 0, &error), same = beam_end(rest, 1, &error);
    BrimVec3 lifted = beam_end(up, 2, &error);
    CHECK(still.y < -0.01f);
    CHECK_NEAR(same.y / still.y, 1, 0.01);
    CHECK_NEAR((lifted.y - 0.15f) / still.y, 1, 0.01);
    CHECK_NEAR(lifted.x - 0.1f, still.x, 0.05 / 32);
}

TEST(pins_that_part_stretch_the_body) {
    // by 4 %, without weight: each place goes along in proportion; then the right one turns
    Air t;
    BrimError error;
    air_init(&t, 2, 32, false);
    t.def.gravity = (BrimVec3){0, 0, 0};
    t.body.shape = box_shape(0.2f, 0.6f, 0.7f, 0.65f);
    t.body.elements = 60, t.body.modes = 6, t.body.damping = 6;
    BrimKeyframe away[3] = {{.time = 0},
                            {.time = 0.3, .position = {0.02f, 0, 0}},
                            {.time = 0.6, .position = {0.02f, 0, 0}, .rotation = {0, 0, 30}}};
    BrimPinDef pins[2] = {{.shape = box_shape(0, 0.5f, 0.2f, 0.75f)},
                          {.shape = box_shape(0.7f, 0.5f, 0.9f, 0.75f)}};
    pins[1].keyframes = away, pins[1].keyframe_count = 2;
    for (int n = 0; n < 2; n++) {
        t.body.pins = pins, t.body.pin_count = 2;
        BrimSim *s = air_sim(&t, &error);
        CHECK(s);
        const Body *b = &s->bodies->body[0];
        float start[2] = {b->low[0], b->high[0]};
        for (int f = 0; f < 50; f++) CHECK_OK(brim_sim_advance_frame(s, &error), error);
        CHECK_NEAR(b->low[0], start[0], 0.01 / 32);
        if (n == 0) CHECK_NEAR(b->high[0], start[1] + 0.02f, 0.01 / 32);
        double worst = 0, lowest = 1;
        for (size_t i = 0; i < b->surface.vertex_count; i++) {
            double part = (b->rest[i][0] - 0.2) / 0.5;
            worst = fmax(worst, fabs(b->surface.vertices[i][0] - b->rest[i][0] - 0.02 * part));
            lowest = fmin(lowest, b->surface.vertices[i][1]);
        }
        if (n == 0) CHECK_BELOW(worst, 1e-3);
        // held at 30 degrees about a point beyond its end, which thereby goes down and bends it
        if (n == 1) CHECK(lowest < 0.6 - 0.1 * 0.5 * 0.9);
        brim_sim_destroy(&s);
        pins[1].keyframe_count = 3;
    }
}
