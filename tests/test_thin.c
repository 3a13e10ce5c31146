// Walls of a cell and thinner: how the grid sees them, and what they hold.
#include "cases_walls.h"
#include "step/state.h"
#include "test.h"
#include "walls/solid_thin.h"

/// Distances of a slab of some thickness around the middle of a tile, tilted, at nodes from -1
/// to 9.
static void slab_nodes(int dim, double thickness, const double normal[3], float *phi) {
    enum { NODES = PART_NODES };
    for (int i = 0; i < NODES * NODES * (dim == 3 ? NODES : 1); i++) {
        double x = i % NODES - 5.1, y = i / NODES % NODES - 4.8, z = i / (NODES * NODES) - 5.3;
        double along = normal[0] * x + normal[1] * y + (dim == 3 ? normal[2] * z : 0);
        phi[i] = (float)(fabs(along) - 0.5 * thickness);
    }
}

static bool thin(int dim, const float *phi) {
    Outside outside = outside_nodes(dim, phi);
    return is_thin(&outside);
}

TEST(a_wall_is_thin_when_a_cell_sees_both_sides) {
    static const double normals[][3] = {{1, 0, 0}, {0.6, 0.8, 0}, {0.36, 0.48, 0.8}};
    float phi[PART_NODES * PART_NODES * PART_NODES];
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < dim; k++) {
            slab_nodes(dim, 1, normals[k], phi);
            CHECK(thin(dim, phi));
            slab_nodes(dim, 5.5, normals[k], phi); // a cell and its neighbours are 3 sqrt(3) across
            CHECK(!thin(dim, phi));
        }
    for (int dim = 2; dim <= 3; dim++) { // the edge of a thick block is not a thin wall
        for (int i = 0; i < PART_NODES * PART_NODES * (dim == 3 ? PART_NODES : 1); i++) {
            float x = (float)(i % PART_NODES) - 5.2f, y = (float)(i / PART_NODES % PART_NODES) - 5;
            phi[i] = x > y ? x : y;
        }
        CHECK(!thin(dim, phi));
    }
}

static bool hides(int dim, const float *phi) {
    const int low[3] = {0}, last = PART_NODES - 1, high[3] = {last, last, dim == 3 ? last : 0};
    return hides_wall(dim, phi, low, high);
}

/// A wall of half a cell may stand between the nodes. A ball that comes near an edge between them
/// is no wall, wherever it is.
TEST(a_wall_hides_between_nodes_where_its_sides_face_apart) {
    static const double normals[][3] = {{1, 0, 0}, {0.6, 0.8, 0}, {0.36, 0.48, 0.8}};
    float phi[PART_NODES * PART_NODES * PART_NODES];
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < dim; k++) {
            slab_nodes(dim, k ? 0.5 : 0.1, normals[k], phi);
            CHECK(hides(dim, phi));
        }
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < 60; k++) {
            const double radius = 1 + k % 3, y0 = 5.01 + 0.05 * (k / 3) - radius;
            for (int i = 0; i < PART_NODES * PART_NODES * (dim == 3 ? PART_NODES : 1); i++) {
                const double x = i % PART_NODES - 4.5, y = i / PART_NODES % PART_NODES - y0;
                const double z = dim == 3 ? i / (PART_NODES * PART_NODES) - 5.2 : 0;
                phi[i] = (float)(sqrt(x * x + y * y + z * z) - radius);
            }
            CHECK(!hides(dim, phi));
        }
}

/// Particles outside a cup that they were poured into: below its rim and not within its walls.
static int spilled(const BrimSim *sim, int dim, double low, double high, double floor, double rim) {
    BrimParticles p = brim_sim_particles(sim);
    int count = 0;
    for (size_t i = 0; i < p.count; i++) {
        bool inside = p.x[i] > low && p.x[i] < high && p.y[i] > floor;
        if (dim == 3) inside &= p.z[i] > low && p.z[i] < high;
        count += !inside && p.y[i] < rim;
    }
    return count;
}

TEST(a_thin_cup_holds_water) {
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < 2; k++) { // walls one cell thick, on the grid and half a cell off it
            int n = dim == 2 ? 40 : 24;
            float dx = 1.0f / (float)n, half = k ? 0.5f * dx : 0;
            float low = 7 * dx + half, high = (float)(n - 7) * dx + half, rim = 0.7f;
            Case c = case_box(dim, 1, n, n, n);
            c.parts[0] = box_between((BrimVec3){low - dx, 0.2f - dx + half, low - dx},
                                     (BrimVec3){high + dx, rim, high + dx});
            c.parts[1] = box_between((BrimVec3){low, 0.2f + half, low}, (BrimVec3){high, 2, high});
            BrimShapeDef cup = brim_default_shape_def();
            cup.kind = BRIM_SHAPE_DIFFERENCE;
            cup.children = c.parts, cup.child_count = 2;
            case_solid(&c, cup);
            case_liquid(
                &c, box_between((BrimVec3){low, 0.2f + half, low}, (BrimVec3){high, 0.5f, high}));
            c.def.cfl = k ? 5 : 1;
            BrimError error;
            BrimSim *sim;
            CHECK_OK(case_create(&c, &sim, &error), error);
            CHECK_OK(run_until(sim, dim == 2 ? 4 : 2, &error), error);
            CHECK(spilled(sim, dim, low - 0.5 * dx, high + 0.5 * dx, 0.2 + half - 0.5 * dx, rim) ==
                  0);
            double centre[3]; // and stays as high as it was
            centre_of_mass(sim, centre);
            CHECK_NEAR(centre[1], 0.35 + 0.5 * half, 0.02);
            brim_sim_destroy(&sim);
        }
}

/// Pressure in cells that a thin wall leaves without particles, and gravity with it: or they would
/// lift the water beside them (0.97 m/s). Other forces act where gravity does (0.39 m/s).
TEST(calm_water_beside_a_thin_wall_stays_calm) {
    enum { N = 64 };
    const float dx = 1.0f / N;
    for (int k = 0; k < 2; k++) {
        Case c = case_box(2, 1, N, N, 1);
        BrimShapeDef wall = brim_default_shape_def(), water = wall;
        BrimForceDef force = brim_default_force_def();
        wall.kind = BRIM_SHAPE_BOX;
        wall.size = (BrimVec3){dx, 4, 1};
        wall.position = (BrimVec3){0.5f + 0.1f * dx, 0.5f, 0}, wall.rotation.z = 1.1f;
        case_solid(&c, wall);
        c.parts[0] = box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.6f, 0}), c.parts[1] = wall;
        c.parts[1].size.x = 4, c.parts[1].position.x += 2 - 0.5f * dx; // with what lies beyond
        water.kind = BRIM_SHAPE_DIFFERENCE, water.children = c.parts, water.child_count = 2;
        case_liquid(&c, water);
        c.def.jitter = 0, c.def.volume = BRIM_VOLUME_NONE;
        force.acceleration.y = -9.8f;
        if (k) c.def.forces = &force, c.def.force_count = 1, c.def.gravity.y = -0.01f;
        BrimError error;
        BrimSim *sim;
        double fastest = 0;
        CHECK_OK(case_create(&c, &sim, &error), error);
        while (brim_sim_time(sim) < 0.3) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            fastest = fmax(fastest, brim_sim_stats(sim)->max_speed);
        }
        CHECK_BELOW(fastest, 0.15); // 0.11
        brim_sim_destroy(&sim);
    }
}

/// A tank of 64 cells with a wall from floor to ceiling, `thick` cells, off cells from its middle
/// and tilted: water on the left, and on the right too or not.
static void sides_case(double thick, double off, double tilt, bool both, Case *c) {
    enum { N = 64 };
    const float dx = 1.0f / N;
    *c = case_box(2, 1, N, N, 1);
    BrimShapeDef wall = brim_default_shape_def();
    wall.kind = BRIM_SHAPE_BOX;
    wall.size = (BrimVec3){(float)thick * dx, 4, 1};
    wall.position = (BrimVec3){0.5f + (float)off * dx, 0.5f, 0}, wall.rotation.z = (float)tilt;
    case_solid(c, wall);
    for (int k = 0; k < (both ? 2 : 1); k++) { // what the wall leaves of the left, of the right
        BrimShapeDef *p = c->parts + 2 * k, water = brim_default_shape_def();
        double t = tilt * M_PI / 180, way = (k ? -1 : 1) * (2 - 0.5 * thick * (double)dx);
        p[0] = box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, k ? 0.3f : 0.6f, 0}), p[1] = wall;
        p[1].size.x = 4;
        p[1].position.x += (float)(way * cos(t)), p[1].position.y += (float)(way * sin(t));
        water.kind = BRIM_SHAPE_DIFFERENCE, water.children = p, water.child_count = 2;
        case_liquid(c, water);
    }
    c->def.jitter = 0;
}

/// Walls that no cell resolves hold water, shaken or calm.
TEST(a_wall_of_half_a_cell_holds_water) {
    const double places[4][3] = {{0.7, 0.37, 6}, {0.7, 0.22, 36}, {0.5, 0, 0}, {0.5, 0.74, 24}};
    for (int k = 0; k < 4; k++) {
        const double *place = places[k], t = place[2] * M_PI / 180;
        BrimError error;
        BrimSim *sim;
        Case c;
        double fastest = 0;
        sides_case(place[0], place[1], place[2], true, &c);
        CHECK_OK(case_create(&c, &sim, &error), error);
        while (brim_sim_time(sim) < 0.1) {
            CHECK_OK(brim_sim_step(sim, &error), error);
            fastest = fmax(fastest, brim_sim_stats(sim)->max_speed);
        }
        brim_sim_destroy(&sim);
        CHECK_BELOW(fastest, 0.2); // 2.5 through a wall that is not seen
        sides_case(place[0], place[1], place[2], false, &c);
        c.def.gravity_key_count = 2, c.def.frame_rate = 10, c.def.cfl = 2;
        c.gravity_keys[0] = (BrimGravityKey){0, {6, -9.81f, 0}};
        c.gravity_keys[1] = (BrimGravityKey){0.3, {-6, -9.81f, 0}};
        CHECK_OK(case_create(&c, &sim, &error), error);
        CHECK_OK(run_until(sim, 0.5, &error), error);
        BrimParticles p = brim_sim_particles(sim);
        int beyond = 0;
        for (size_t i = 0; i < p.count; i++)
            beyond += cos(t) * (p.x[i] - 0.5 - place[1] / 64) + sin(t) * (p.y[i] - 0.5) > 0;
        CHECK(beyond == 0);
        brim_sim_destroy(&sim);
    }
}

/// What the kernel of a cell by the floor has of the wall below it is a mirror image, as the
/// water's.
TEST(density_beside_a_thin_wall_is_the_same_down_to_the_floor) {
    Case c;
    BrimError error;
    BrimSim *sim;
    sides_case(0.7, 0.3, 0, true, &c);
    c.def.gravity = (BrimVec3){0},
    c.def.volume = BRIM_VOLUME_AVERAGED; // which keeps what it weighs
    c.def.step = 1e-7, c.def.frame_rate = 1e6;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(brim_sim_step(sim, &error), error);
    for (int x = 28; x < 36; x++)
        CHECK_NEAR(sim->compression[grid_cell(&sim->grid, x, 0, 0)],
                   sim->compression[grid_cell(&sim->grid, x, 10, 0)], 1e-3); // 6e-3 without
    brim_sim_destroy(&sim);
}

/// Pressure in such a tank after a step. => out, Pa
static BrimResult side_pressure(double thick, double off, double tilt, bool both, float *out,
                                BrimError *error) {
    enum { N = 64 };
    Case c;
    sides_case(thick, off, tilt, both, &c);
    c.def.step = 0.005;
    c.def.tolerance = c.def.volume_tolerance = 1e-7;
    BrimSim *sim;
    BrimResult r = case_create(&c, &sim, error);
    if (r != BRIM_OK) return r;
    r = brim_sim_step(sim, error);
    if (r == BRIM_OK) r = brim_sim_field(sim, BRIM_FIELD_PRESSURE, out, (size_t)N * N, error);
    brim_sim_destroy(&sim);
    return r;
}

/// Largest difference that water on the right makes to pressures on the left, over the deepest; 1
/// where that is not the tank's.
static double side_difference(double thick, double off, double tilt) {
    enum { N = 64 };
    static float alone[N * N], beside[N * N];
    double t = tilt * M_PI / 180, most = 0, deepest = 0;
    if (side_pressure(thick, off, tilt, false, alone, NULL) != BRIM_OK ||
        side_pressure(thick, off, tilt, true, beside, NULL) != BRIM_OK)
        return 1;
    for (int i = 0; i < N * N; i++) {
        double x = i % N + 0.5 - N / 2 - off, y = i / N + 0.5 - N / 2;
        if (cos(t) * x + sin(t) * y > -0.5 * thick) continue; // in the wall, or beyond
        most = fmax(most, fabs((double)alone[i] - (double)beside[i]));
        deepest = fmax(deepest, (double)alone[i]);
    }
    return fabs(deepest - 1000 * 9.81 * 0.6) < 150 ? most / deepest : 1;
}

TEST(both_sides_of_a_thin_wall_have_pressures_of_their_own) {
    const double offs[3] = {0, 0.3, 0.5};
    for (int k = 0; k < 9; k++) CHECK_BELOW(side_difference(1, offs[k % 3], k / 3 * 20), 1e-4);
    // where walls are thinner, strips of water beside them are in cells that stand for the far side
    double sum = 0, most = 0;
    for (int k = 0; k < 40; k++) {
        double difference = side_difference(0.5, fmod(0.37 * k, 1), 1.5 * k);
        sum += difference, most = fmax(most, difference);
    }
    CHECK_BELOW(sum / 40, 2e-4); // 1.1e-4; 4.4e-4 where such cells counted as a whole
    CHECK_BELOW(most, 6e-4);     // 3.9e-4; 1.6e-3
    sum = most = 0;
    for (int k = 0; k < 20; k++) { // down to the floor, between its nodes and on them
        double difference = side_difference(0.5, 0.05 * k, 0);
        sum += difference, most = fmax(most, difference);
    }
    CHECK_BELOW(sum / 20, 2e-4); // 1.1e-4; 5.5e-4 where both sides were joined below the floor
    CHECK_BELOW(most, 1e-3);     // 6.7e-4; 4.7e-3
}
