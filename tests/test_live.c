// What brim live and brim view send, take and allow; events and settings.
#include "brim/brim.h"
#include "live/access.h"
#include "live/frame.h"
#include "live/hub.h"
#include "live/message.h"
#include "live/order.h"
#include "scratch.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static BrimSim *small_dam(int dim, BrimError *error) {
    BrimLiquidDef water = {.shape = brim_default_shape_def()};
    water.shape.size = (BrimVec3){0.5f, 0.5f, 1};
    water.shape.position = (BrimVec3){0.25f, 0.25f, dim == 3 ? 0.25f : 0};
    BrimSolidDef pillar = brim_default_solid_def();
    pillar.shape.size = (BrimVec3){0.1f, 0.4f, 0.1f};
    pillar.shape.position = (BrimVec3){0.7f, 0.2f, dim == 3 ? 0.25f : 0};
    BrimSimDef def = brim_default_sim_def();
    def.dim = dim;
    def.cells[0] = 32, def.cells[1] = 32, def.cells[2] = dim == 3 ? 16 : 1;
    def.size = (BrimVec3){1, 1, dim == 3 ? 0.5f : 1.0f / 32};
    def.particles_per_cell = dim == 3 ? 8 : 4;
    def.liquid = &water, def.liquid_count = 1;
    def.solids = &pillar, def.solid_count = 1;
    def.threads = 1;
    BrimSim *sim = NULL;
    if (brim_sim_create(&def, &sim, error) != BRIM_OK) puts(error->message);
    return sim;
}

// ------------------------------------------------------------------------------------- frames

static uint32_t word(const Parcel *p, size_t at) {
    uint32_t w;
    memcpy(&w, p->bytes + at, sizeof w);
    return w;
}

/// Particle i of a frame as a viewer reads it, m.
static bool decoded(const Parcel *p, size_t i, float cell, double out[3]) {
    size_t runs = word(p, 36), at = FRAME_HEAD + FRAME_SOLID * word(p, 40), first = 0;
    const unsigned char *q = p->bytes + at + FRAME_RUN * runs + 6 * i;
    for (size_t r = 0; r < runs; r++, at += FRAME_RUN) {
        uint16_t tile[3], place[3];
        memcpy(tile, p->bytes + at, sizeof tile);
        first += word(p, at + 8);
        if (i >= first) continue;
        memcpy(place, q, sizeof place);
        for (int a = 0; a < 3; a++)
            out[a] = (double)cell * (8.0 * tile[a] - 4 + 16.0 * place[a] / 65535);
        return true;
    }
    return false;
}

TEST(live_frame_gives_particles_back) {
    BrimError error;
    BrimSim *sim = small_dam(3, &error);
    CHECK(sim);
    for (int i = 0; i < 12; i++) CHECK_OK(brim_sim_step(sim, &error), error);
    BrimParticles p = brim_sim_particles(sim);
    BrimSolidState solid;
    CHECK_OK(brim_sim_solid_state(sim, 0, &solid, &error), error);
    const float cell = 1.0f / 32;
    FrameHead head = {.dim = 3, .cell = cell, .size = {1, 1, 0.5f}, .solid_count = 1};
    head.solids = &solid;
    Parcel *parcel = frame_particles(&head, &p, 0);
    CHECK(parcel && word(parcel, 32) == p.count);
    // at most 8 bytes each, all told
    CHECK((double)parcel->size < 8.0 * (double)p.count);
    float high;
    memcpy(&high, parcel->bytes + 28, sizeof high);
    double fastest = brim_sim_stats(sim)->max_speed;
    CHECK_NEAR(high, fastest, 1e-5 * fastest);
    for (size_t i = 0; i < p.count; i++) {
        double x[3];
        CHECK(decoded(parcel, i, cell, x));
        // half a quantum, and what floats lose
        double most = 0.51 * 16 * (double)cell / 65535 + 1e-7;
        CHECK_NEAR(x[0], p.x[i], most);
        CHECK_NEAR(x[1], p.y[i], most);
        CHECK_NEAR(x[2], p.z[i], most);
        double speed = sqrt((double)(p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i]));
        CHECK_NEAR(parcel->bytes[parcel->size - p.count + i] / 255.0 * (double)high, speed,
                   0.51 * (double)high / 255);
    }
    parcel_drop(&parcel);
    brim_sim_destroy(&sim);
}

/// Cells below a band follow the particles, in runs that say so.
TEST(live_frame_holds_cells_below_a_band) {
    float x[2] = {0.25f, 0.75f}, v[2] = {1, 2}, zero[2] = {0}, age[2] = {5, 9};
    BrimInterior cells[3] = {{{0.55f, 0.05f, 0.05f}, {0, 4, 0}},
                             {{0.65f, 0.05f, 0.05f}, {0, 0, 3}},
                             {{3.15f, 0.05f, 0.05f}, {0, 0, 0}}};
    BrimParticles p = {.count = 2, .x = x, .y = x, .z = x, .vx = v, .vy = zero, .vz = zero};
    FrameHead head = {.dim = 3, .cell = 0.1f, .size = {4, 1, 1}};
    p.interior = cells, p.interior_count = 3;
    p.extra_count = 1, p.extra[0] = (BrimAttribute){"age", "s", false, age};
    Parcel *parcel = frame_particles(&head, &p, 0);
    CHECK(parcel && word(parcel, 32) == 5 && word(parcel, 36) == 3);
    for (size_t i = 0; i < 5; i++) {
        const float *wanted = i < 2 ? (float[3]){x[i], x[i], x[i]} : cells[i - 2].position;
        double at[3];
        CHECK(decoded(parcel, i, 0.1f, at));
        for (int a = 0; a < 3; a++) CHECK_NEAR(at[a], wanted[a], 2e-5);
    }
    const unsigned char *run = parcel->bytes + FRAME_HEAD;
    CHECK(run[6] == 0 && run[8] == 2); // the particles; two cells near each other, and one far away
    CHECK(run[FRAME_RUN + 6] == 1 && run[FRAME_RUN + 8] == 2 && run[2 * FRAME_RUN + 6] == 1);
    const unsigned char *value = parcel->bytes + parcel->size - 5;
    CHECK(value[0] == 64 && value[1] == 128 && value[2] == 255 && value[3] == 191 && value[4] == 0);
    parcel_drop(&parcel);
    parcel = frame_particles(&head, &p, VALUES_OWN); // they have no age
    value = parcel->bytes + parcel->size - 5;
    CHECK(value[0] == 0 && value[1] == 255 && value[2] == 0 && value[4] == 0);
    parcel_drop(&parcel);
}

TEST(live_frame_of_nothing) {
    FrameHead head = {.dim = 2, .cell = 0.1f, .size = {1, 1, 0}};
    BrimParticles none = {0};
    BrimMesh mesh = {0};
    Parcel *parcel = frame_particles(&head, &none, 0);
    CHECK(parcel && parcel->size == FRAME_HEAD);
    parcel_drop(&parcel);
    parcel = frame_surface(&head, &mesh);
    CHECK(parcel && parcel->size == FRAME_HEAD);
    parcel_drop(&parcel);
    CHECK(!parcel);
}

/// Particles in the order of a recording take as few bytes as those of a simulation.
TEST(live_order_joins_tiles) {
    enum { COUNT = 20000 };
    static float x[COUNT], y[COUNT], z[COUNT], v[COUNT];
    static uint32_t id[COUNT];
    BrimSimDef def = brim_default_sim_def();
    def.cells[0] = def.cells[1] = def.cells[2] = 64;
    def.size = (BrimVec3){1, 1, 1};
    uint64_t random = 7;
    double sum = 0;
    for (size_t i = 0; i < COUNT; i++) {
        float *to[3] = {&x[i], &y[i], &z[i]};
        for (int a = 0; a < 3; a++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            *to[a] = (float)(random >> 40) * 0x1p-24f;
        }
        v[i] = x[i], id[i] = (uint32_t)i;
        sum += (double)x[i];
    }
    BrimFrame frame = {.count = COUNT, .x = x, .y = y, .z = z, .vx = v, .vy = v, .vz = v, .id = id};
    BrimInterior below[2] = {{{0.5f, 0.5f, 0.5f}, {1, 2, 3}}, {{0.1f, 0, 0}, {0, 0, 0}}};
    frame.interior = below, frame.interior_count = 2;
    Ordered ordered = {0};
    CHECK(order_particles(&def, &frame, &ordered));
    FrameHead head = {.dim = 3, .cell = 1.0f / 64, .size = {1, 1, 1}};
    Parcel *parcel = frame_particles(&head, &ordered.view, 1);
    CHECK(parcel && ordered.view.count == COUNT && word(parcel, 36) <= 512 + 2);
    CHECK(word(parcel, 32) == COUNT + 2 && ordered.view.interior_count == 2 &&
          memcmp(ordered.view.interior, below, sizeof below) == 0);
    double again = 0;
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(ordered.view.vx[i] == ordered.view.x[i]); // rows stay together
        again += (double)ordered.view.x[i];
    }
    CHECK_NEAR(again, sum, 1e-6);
    parcel_drop(&parcel);
    order_free(&ordered);
}

// ------------------------------------------------------------------------------- who may come in

TEST(live_access_is_exact) {
    Access a = {.token = "0123456789abcdef"};
    access_hosts(&a, NULL, 8080);
    CHECK(access_host(&a, "127.0.0.1:8080") && access_host(&a, "localhost:8080"));
    CHECK(!access_host(&a, "127.0.0.1") && !access_host(&a, "evil.example:8080"));
    CHECK(!access_host(&a, "127.0.0.1:80801") && !access_host(&a, ""));
    CHECK(access_origin(&a, "localhost:8080", "http://localhost:8080"));
    CHECK(!access_origin(&a, "localhost:8080", "http://127.0.0.1:8080"));
    CHECK(!access_origin(&a, "localhost:8080", "https://localhost:8080"));
    CHECK(!access_origin(&a, "localhost:8080", "http://localhost:8080.evil.example"));
    CHECK(!access_origin(&a, "localhost:8080", "null") && !access_origin(&a, "", "http://"));
    CHECK(access_is_token(&a, "0123456789abcdef") && !access_is_token(&a, "0123456789abcdee"));
    CHECK(!access_is_token(&a, "") && !access_is_token(&a, "0123456789abcdef0"));
    CHECK(!access_is_token(&a, "0123456789abcde"));
    access_hosts(&a, "192.168.1.5", 99);
    CHECK(access_host(&a, "192.168.1.5:99") && !access_host(&a, "127.0.0.1:99"));
    char one[TOKEN_LENGTH + 1], two[TOKEN_LENGTH + 1];
    CHECK(access_token(one) && access_token(two) && strlen(one) == TOKEN_LENGTH);
    CHECK(strcmp(one, two) != 0);
}

TEST(live_bucket_limits) {
    Bucket b = {.rate = 10, .burst = 5, .left = 5};
    int passed = 0;
    for (int i = 0; i < 100; i++) passed += bucket_take(&b, 0, 1);
    CHECK(passed == 5);
    for (int i = 0; i < 100; i++) passed += bucket_take(&b, 0.3, 1);
    CHECK(passed == 8);
    for (int i = 0; i < 100; i++) passed += bucket_take(&b, 100, 1);
    CHECK(passed == 13);
}

// ------------------------------------------------------------------------------------ messages

static bool parses(const char *text, Message *m) {
    return message_parse(text, strlen(text), m);
}

TEST(live_messages_are_strict) {
    static const char *const bad[] = {"",
                                      " play",
                                      "play ",
                                      "Play",
                                      "speed",
                                      "speed -1",
                                      "speed nan",
                                      "speed 0x10",
                                      "speed 1 2",
                                      "seek 1e99",
                                      "show 99",
                                      "got -1",
                                      "move 0",
                                      "move 0 1 2 3 4 5 6 nan",
                                      "move 0.5 1 2 3 4 5 6 7",
                                      "set",
                                      "set gravity",
                                      "set gravity 1 2 3 4",
                                      "pour 1 2 3 4 5 6 -1",
                                      "stir 1 2 3 4 5 6 7 8",
                                      "drop table"};
    Message m;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!parses(bad[i], &m));
    CHECK(!message_parse("play\0", 5, &m));
    CHECK(parses("speed 0.5", &m) && m.kind == MESSAGE_SPEED && m.number == 0.5);
    CHECK(message_steers(&m));
    CHECK(parses("move 2 1 2 3 4 5 6 0.5", &m) && m.kind == MESSAGE_EVENT);
    CHECK(m.event.kind == BRIM_EVENT_MOVE && m.event.index == 2 && m.event.duration == 0.5);
    CHECK(m.event.rotation.z == 6);
}

TEST(live_hub_keeps_the_newest) {
    Hub hub;
    Message in = {.kind = MESSAGE_PLAY}, out[256];
    uint32_t wanted = 0;
    hub_init(&hub);
    CHECK(!hub_newest(&hub, SLOT_VALUE, 0));
    hub_publish(&hub, SLOT_VALUE, parcel_new(64, false));
    hub_publish(&hub, SLOT_VALUE, parcel_new(65, false));
    Parcel *p = hub_newest(&hub, SLOT_VALUE, 0);
    CHECK(p && p->size == 65 && p->serial == 2 && !hub_newest(&hub, SLOT_VALUE, 2));
    hub_publish(&hub, SLOT_VALUE, parcel_new(66, false));
    CHECK(p->size == 65); // who holds one keeps it
    parcel_drop(&p);
    hub_want(&hub, SLOT_VALUE, true);
    CHECK(!hub_has(&hub, SLOT_VALUE));
    int sent = 0;
    for (int i = 0; i < 1000; i++) sent += hub_send(&hub, &in);
    CHECK(sent == 256); // and no more: a flood goes nowhere
    CHECK(hub_receive(&hub, 10, out, &wanted) == 256 && wanted == 1u << SLOT_VALUE);
    CHECK(hub_receive(&hub, 0, out, &wanted) == 0);
    hub_free(&hub);
}

// -------------------------------------------------------------------------------------- events

TEST(live_events_read_what_they_print) {
    static const char *const texts[] = {
        "set gravity 0 -9.81 0.1",
        "set solver.flip_ratio 0.123456789012345",
        "move 3 0.1 -0.2 1e-05 10 20 30 0.033333333333333333",
        "pour 0.1 0.2 0.3 0 -1 0 0.04",
        "stir 1 2 3 4 5 6 0.5",
        "release 7",
        "grab -1 0.1 0.2 0.3 0 0 -1",
        "drag 2 0.1 0.2 0.3 0.05",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        BrimEvent a, b;
        BrimError error;
        char text[512];
        CHECK_OK(brim_event_parse(texts[i], strlen(texts[i]), &a, &error), error);
        CHECK(brim_event_print(&a, text, sizeof text));
        CHECK_OK(brim_event_parse(text, strlen(text), &b, &error), error);
        CHECK(memcmp(&a, &b, sizeof a) == 0);
        CHECK(!brim_event_print(&a, text, 5));
    }
}

TEST(live_events_file) {
    BrimError error;
    BrimEvents events;
    const char *path = at("events.txt");
    CHECK_OK(brim_write_text(path, "# remark\n\n3 release 1\n3 set time.cfl 2\n9 rele", &error),
             error);
    CHECK_OK(brim_events_read(path, &events, &error), error);
    CHECK(events.count == 2 && events.event[1].step == 3); // the torn line is left out
    CHECK(events.event[1].kind == BRIM_EVENT_SET && events.event[1].values[0] == 2);
    brim_events_free(&events);
    CHECK_OK(brim_write_text(path, "3 release 1\n2 release 1\n", &error), error);
    CHECK(brim_events_read(path, &events, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "events.txt:2:"));
    CHECK(brim_events_read("/nowhere", &events, &error) == BRIM_ERROR_IO);
}

// ------------------------------------------------------------------------------------ settings

TEST(live_settings_change_and_are_saved) {
    BrimError error;
    BrimSetting setting;
    BrimSim *sim = small_dam(2, &error), *again = NULL;
    CHECK(sim);
    int count = 0;
    bool viscosity = false;
    while (brim_sim_setting(sim, count, &setting)) {
        viscosity = viscosity || strcmp(setting.key, "viscosity") == 0;
        count++;
    }
    CHECK(count >= 4 && !viscosity); // it cannot be switched on
    const double ratio = 0.5, bad = 1.5, gravity[3] = {1, -2, 0};
    CHECK(brim_sim_set(sim, "solver.flip_ratio", &bad, 1, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "0 to 1"));
    CHECK(brim_sim_set(sim, "domain.cells", &ratio, 1, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_sim_set(sim, "gravity", gravity, 1, &error) == BRIM_ERROR_INPUT);
    CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK_OK(brim_sim_set(sim, "solver.flip_ratio", &ratio, 1, &error), error);
    CHECK_OK(brim_sim_set(sim, "gravity", gravity, 3, &error), error);
    CHECK_OK(brim_sim_save(sim, at("a.brim"), &error), error);
    // a loaded simulation goes on with them, bit for bit
    BrimLiquidDef water = {.shape = brim_default_shape_def()};
    water.shape.size = (BrimVec3){0.5f, 0.5f, 1};
    water.shape.position = (BrimVec3){0.25f, 0.25f, 0};
    BrimSolidDef pillar = brim_default_solid_def();
    pillar.shape.size = (BrimVec3){0.1f, 0.4f, 0.1f};
    pillar.shape.position = (BrimVec3){0.7f, 0.2f, 0};
    BrimSimDef def = *brim_sim_def(sim);
    def.liquid = &water, def.liquid_count = 1, def.solids = &pillar, def.solid_count = 1;
    def.flip_ratio = 0.97f, def.gravity = (BrimVec3){0, -9.81f, 0};
    CHECK_OK(brim_sim_load(&def, at("a.brim"), &again, &error), error);
    for (int i = 0; i < 5; i++) {
        CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK_OK(brim_sim_step(again, &error), error);
    }
    BrimParticles a = brim_sim_particles(sim), b = brim_sim_particles(again);
    CHECK(a.count == b.count && memcmp(a.vx, b.vx, a.count * sizeof *a.vx) == 0);
    CHECK(memcmp(a.y, b.y, a.count * sizeof *a.y) == 0);
    double mean = 0; // gravity to the side: the water has gone there
    for (size_t i = 0; i < a.count; i++) mean += (double)a.vx[i] / (double)a.count;
    CHECK(mean > 0);
    brim_sim_destroy(&sim);
    brim_sim_destroy(&again);
}

TEST(live_stir_gives_velocity_in_a_ball) {
    BrimError error;
    BrimSim *sim = small_dam(3, &error);
    CHECK(sim);
    BrimEvent stir = {.kind = BRIM_EVENT_STIR,
                      .position = {0.25f, 0.25f, 0.25f},
                      .velocity = {1, 0, 0},
                      .radius = 0.1f};
    CHECK_OK(brim_sim_apply(sim, &stir, &error), error);
    BrimParticles p = brim_sim_particles(sim);
    size_t inside = 0;
    for (size_t i = 0; i < p.count; i++) {
        double d = sqrt(pow((double)p.x[i] - 0.25, 2) + pow((double)p.y[i] - 0.25, 2) +
                        pow((double)p.z[i] - 0.25, 2));
        CHECK(d < 0.1 - 1e-6 ? p.vx[i] > 0 && p.vx[i] <= 1 : d < 0.1 + 1e-6 || p.vx[i] == 0);
        inside += d < 0.05;
        CHECK(d >= 0.05 || p.vx[i] > 0.5f); // (1 - 1/4)^2
    }
    CHECK(inside > 100);
    brim_sim_destroy(&sim);
}

TEST(live_pour_adds_a_ball_where_there_is_room) {
    BrimError error;
    BrimSim *sim = small_dam(3, &error);
    CHECK(sim);
    size_t before = brim_sim_particles(sim).count;
    BrimEvent pour = {.kind = BRIM_EVENT_POUR,
                      .position = {0.8f, 0.8f, 0.25f},
                      .velocity = {0, -1, 0},
                      .radius = 0.1f};
    CHECK_OK(brim_sim_apply(sim, &pour, &error), error);
    CHECK_OK(brim_sim_step(sim, &error), error);
    size_t there = brim_sim_particles(sim).count;
    const BrimSimDef *def = brim_sim_def(sim);
    double cell = (double)def->size.x / def->cells[0];
    double ball = 4.0 / 3 * 3.14159265 * 1e-3 / (cell * cell * cell) * def->particles_per_cell;
    CHECK(fabs((double)(there - before) - ball) < 0.15 * ball);
    pour.position = (BrimVec3){0.2f, 0.2f, 0.25f}; // inside the liquid
    CHECK_OK(brim_sim_apply(sim, &pour, &error), error);
    CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK((double)(brim_sim_particles(sim).count - there) < 0.05 * ball);
    brim_sim_destroy(&sim);
}

// -------------------------------------------------------------------------------------- solids

TEST(live_solids_as_triangles) {
    BrimError error;
    BrimSolidDef list[3] = {brim_default_solid_def(), brim_default_solid_def(),
                            brim_default_solid_def()};
    list[0].shape.size = (BrimVec3){0.2f, 0.3f, 0.4f};
    list[0].shape.position = (BrimVec3){0.5f, 0.5f, 0.5f};
    list[0].motion = BRIM_MOTION_ROTATION, list[0].axis = (BrimVec3){0, 0, 1}, list[0].rate = 90;
    list[1].shape.kind = BRIM_SHAPE_SPHERE, list[1].shape.radius = 0.2f;
    list[2].shape.kind = BRIM_SHAPE_PLANE, list[2].shape.normal = (BrimVec3){0, 1, 0};
    list[2].shape.position = (BrimVec3){0, 0.1f, 0};
    BrimSimDef def = brim_default_sim_def();
    def.cells[0] = def.cells[1] = def.cells[2] = 32;
    def.size = (BrimVec3){1, 1, 1};
    def.solids = list, def.solid_count = 3;
    BrimSolids *solids = NULL;
    BrimMesh mesh;
    BrimSolidState state;
    CHECK_OK(brim_solids_create(&def, &solids, &error), error);
    CHECK_OK(brim_solids_mesh(solids, 0, &mesh, &error), error);
    CHECK_NEAR(brim_mesh_volume(&mesh), 0.2 * 0.3 * 0.4, 1e-4);
    float low = 1;
    for (size_t i = 0; i < mesh.vertex_count; i++) low = fminf(low, mesh.position[i][0]);
    CHECK_NEAR(low, -0.1, 1e-3); // around its pivot
    brim_mesh_free(&mesh);
    CHECK_OK(brim_solids_mesh(solids, 1, &mesh, &error), error);
    CHECK_NEAR(brim_mesh_volume(&mesh), 4.0 / 3 * 3.14159265 * 0.008, 2e-4);
    brim_mesh_free(&mesh);
    CHECK_OK(brim_solids_mesh(solids, 2, &mesh, &error), error);
    CHECK(mesh.triangle_count > 0 && brim_mesh_volume(&mesh) > 0.1);
    brim_mesh_free(&mesh);
    CHECK_OK(brim_solids_state(solids, 0, 1, &state, &error), error); // a quarter turn about z
    CHECK_NEAR(state.rotation[1], -1, 1e-6);
    CHECK_NEAR(state.rotation[3], 1, 1e-6);
    CHECK_NEAR(state.position.x, 0.5, 1e-6);
    CHECK(brim_solids_mesh(solids, 3, &mesh, &error) == BRIM_ERROR_INPUT);
    brim_solids_destroy(&solids);
}
