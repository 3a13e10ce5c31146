// Shapes against exact answers.
#include "solid/shape.h"
#include "solid/solid.h"
#include "test.h"
#include <string.h>

static const float nan_value = NAN;

static float at(const Shape *s, float x, float y, float z) {
    float d = nan_value;
    shape_distance(s, 1, &x, &y, &z, &d);
    return d;
}

static BrimShapeDef shape_of(BrimShapeKind kind) {
    BrimShapeDef def = brim_default_shape_def();
    def.kind = kind;
    return def;
}

static BrimShapeDef box_of(float x, float y, float z) {
    BrimShapeDef def = shape_of(BRIM_SHAPE_BOX);
    def.size = (BrimVec3){x, y, z};
    return def;
}

static BrimShapeDef ball_of(float radius) {
    BrimShapeDef def = shape_of(BRIM_SHAPE_SPHERE);
    def.radius = radius;
    return def;
}

static BrimShapeDef cylinder_of(float radius, float height) {
    BrimShapeDef def = shape_of(BRIM_SHAPE_CYLINDER);
    def.radius = radius, def.height = height;
    return def;
}

static Shape *make(const BrimShapeDef *def, int dim, float resolution) {
    Shape *s = NULL;
    BrimError error;
    if (shape_new(def, dim, resolution, &s, &error) != BRIM_OK)
        fprintf(stderr, "shape_new: %s\n", error.message);
    return s;
}

/// Uniform in [low, high], from a counter.
static float random_in(uint32_t *state, float low, float high) {
    *state = *state * 1664525u + 1013904223u;
    return low + (high - low) * (float)(*state >> 8) * 0x1p-24f;
}

/// |gradient| of the distance by central differences.
static double slope_at(const Shape *s, float x, float y, float z) {
    const float h = 1e-3f;
    double gx = (at(s, x + h, y, z) - at(s, x - h, y, z)) / (2 * h);
    double gy = (at(s, x, y + h, z) - at(s, x, y - h, z)) / (2 * h);
    double gz = (at(s, x, y, z + h) - at(s, x, y, z - h)) / (2 * h);
    return sqrt(gx * gx + gy * gy + gz * gz);
}

// -------------------------------------------------------------------------------- primitives

TEST(solid_box) {
    BrimShapeDef def = box_of(2, 4, 6);
    Shape *s = make(&def, 3, 0.1f);
    CHECK(s);
    CHECK_NEAR(at(s, 0, 0, 0), -1, 1e-6);
    CHECK_NEAR(at(s, 0.25f, 1.5f, 0), -0.5, 1e-6);
    CHECK_NEAR(at(s, 1, 0, 0), 0, 1e-6);
    CHECK_NEAR(at(s, 1.5f, 0, 0), 0.5, 1e-6);
    CHECK_NEAR(at(s, -4, -6, 0), 5, 1e-6);
    CHECK_NEAR(at(s, 2, 4, 5), 3, 1e-6);
    float low[3], high[3];
    CHECK(shape_bounds(s, low, high));
    CHECK(low[0] == -1 && high[1] == 2 && high[2] == 3);
    CHECK_NEAR(shape_thickness(s), 2, 0);
    shape_free(&s);
    CHECK(s == NULL);
}

TEST(solid_round_shapes) {
    BrimShapeDef def = ball_of(2);
    Shape *s = make(&def, 3, 0.1f);
    CHECK_NEAR(at(s, 0, 0, 0), -2, 1e-6);
    CHECK_NEAR(at(s, 3, 4, 0), 3, 1e-6);
    shape_free(&s);

    def = cylinder_of(1, 4);
    s = make(&def, 3, 0.1f);
    CHECK_NEAR(at(s, 0, 0, 0), -1, 1e-6);
    CHECK_NEAR(at(s, 0, 1.75f, 0), -0.25, 1e-6);
    CHECK_NEAR(at(s, 0, 3, 0), 1, 1e-6);
    CHECK_NEAR(at(s, 2.4f, 0, 3.2f), 3, 1e-6);
    CHECK_NEAR(at(s, 4, 6, 0), 5, 1e-6);
    shape_free(&s);

    def.kind = BRIM_SHAPE_CAPSULE;
    s = make(&def, 3, 0.1f);
    CHECK_NEAR(at(s, 0, 1.5f, 0), -1, 1e-6);
    CHECK_NEAR(at(s, 0, 2.5f, 0), -0.5, 1e-6);
    CHECK_NEAR(at(s, 3, 6, 0), 4, 1e-6);
    CHECK_NEAR(at(s, 0, 0, 3), 2, 1e-6);
    shape_free(&s);

    def = shape_of(BRIM_SHAPE_TORUS);
    def.radius = 2, def.tube = 0.5f;
    s = make(&def, 3, 0.1f);
    CHECK_NEAR(at(s, 0, 0, 0), 1.5, 1e-6);
    CHECK_NEAR(at(s, 0, 0, 2), -0.5, 1e-6);
    CHECK_NEAR(at(s, 5, 4, 0), 4.5, 1e-6);
    CHECK_NEAR(shape_thickness(s), 1, 1e-6);
    shape_free(&s);
}

TEST(solid_plane) {
    BrimShapeDef def = shape_of(BRIM_SHAPE_PLANE);
    def.normal = (BrimVec3){3, 4, 0};
    def.position = (BrimVec3){1, 0, 0};
    Shape *s = make(&def, 3, 0.1f);
    CHECK_NEAR(at(s, 2, 0, 7), 0.6, 1e-6);
    CHECK_NEAR(at(s, 1, -1, 0), -0.8, 1e-6);
    shape_free(&s);
    def.normal = (BrimVec3){0, 2, 0};
    def.position.y = 0.5f;
    s = make(&def, 3, 0.1f);
    float low[3], high[3];
    CHECK(shape_bounds(s, low, high));
    CHECK(high[1] == 0.5f && isinf(low[1]) && isinf(high[0]));
    shape_free(&s);
}

TEST(solid_placement) {
    BrimShapeDef def = box_of(4, 2, 2);
    def.position = (BrimVec3){1, 2, 3};
    def.rotation = (BrimVec3){0, 0, 90};
    def.scale = 2;
    Shape *s = make(&def, 3, 0.1f);
    // now 4 wide, 8 high, 4 deep
    CHECK_NEAR(at(s, 1, 2, 3), -2, 1e-6);
    CHECK_NEAR(at(s, 1, 7, 3), 1, 1e-6);
    CHECK_NEAR(at(s, 4, 2, 3), 1, 1e-6);
    float low[3], high[3];
    CHECK(shape_bounds(s, low, high));
    CHECK(low[0] == -1 && high[0] == 3 && low[1] == -2 && high[1] == 6 && low[2] == 1);
    CHECK_NEAR(shape_thickness(s), 4, 1e-6);
    shape_free(&s);

    // about x, then y, then z: the long x axis stays under the first, goes to -z under the second
    def = box_of(4, 1, 2);
    def.rotation = (BrimVec3){90, 90, 0};
    s = make(&def, 3, 0.1f);
    CHECK(shape_bounds(s, low, high));
    CHECK_NEAR(high[2], 2, 1e-6);   // x of 4
    CHECK_NEAR(high[0], 0.5, 1e-6); // y of 1 went to z, then to x
    CHECK_NEAR(high[1], 1, 1e-6);   // z of 2 went to y
    CHECK_NEAR(at(s, 0, 0, 2.5f), 0.5, 1e-6);
    shape_free(&s);
}

TEST(solid_nested_placement) {
    BrimShapeDef child = ball_of(1);
    child.position = (BrimVec3){2, 0, 0};
    BrimShapeDef inner = shape_of(BRIM_SHAPE_UNION);
    inner.children = &child, inner.child_count = 1;
    inner.rotation.z = 90, inner.scale = 3;
    inner.position = (BrimVec3){0, 0, 1};
    BrimShapeDef outer = shape_of(BRIM_SHAPE_UNION);
    outer.children = &inner, outer.child_count = 1;
    outer.rotation.y = 90, outer.position.x = 10;
    Shape *s = make(&outer, 3, 0.1f);
    // ball of radius 3: (2,0,0) -> 3 (0,2,0) + (0,0,1) = (0,6,1) -> (1,6,0) + (10,0,0)
    CHECK_NEAR(at(s, 11, 6, 0), -3, 1e-5);
    CHECK_NEAR(at(s, 11, 6, 5), 2, 1e-5);
    float low[3], high[3];
    CHECK(shape_bounds(s, low, high));
    CHECK_NEAR(low[0], 8, 1e-5);
    CHECK_NEAR(high[1], 9, 1e-5);
    shape_free(&s);
}

TEST(solid_combinations) {
    BrimShapeDef two[2] = {ball_of(1), ball_of(1)};
    two[1].position.x = 1.5f;
    BrimShapeDef def = shape_of(BRIM_SHAPE_UNION);
    def.children = two, def.child_count = 2;
    Shape *s = make(&def, 3, 0.1f);
    CHECK_NEAR(at(s, 3, 0, 0), 0.5, 1e-6);
    CHECK_NEAR(at(s, -3, 0, 0), 2, 1e-6);
    shape_free(&s);

    def.kind = BRIM_SHAPE_DIFFERENCE;
    s = make(&def, 3, 0.1f);
    CHECK_NEAR(at(s, 0.75f, 0, 0), 0.25, 1e-6);
    CHECK_NEAR(at(s, -0.5f, 0, 0), -0.5, 1e-6);
    CHECK(at(s, 1.5f, 0, 0) > 0);
    shape_free(&s);

    def.kind = BRIM_SHAPE_SMOOTH_UNION;
    def.blend = 0.4f, def.scale = 2;
    s = make(&def, 3, 0.1f);
    // half way between the balls, on the axis: both at -0.5, grown by a quarter of 0.8
    CHECK_NEAR(at(s, 1.5f, 0, 0), -0.5 - 0.2, 1e-6);
    CHECK_NEAR(at(s, -4, 0, 0), 2, 1e-6);
    CHECK_NEAR(at(s, 1.5f, 2.2f, 0), sqrt(2.2 * 2.2 + 1.5 * 1.5) - 2 - 0.2, 1e-6);
    shape_free(&s);
}

/// Faces that two parts share end nothing, wherever they lie.
TEST(solid_parts_that_share_a_face_leave_no_wall_there) {
    const float dx = 0.01f;
    for (int dim = 2; dim <= 3; dim++)
        for (int turn = 0; turn < 2; turn++) {
            // a leg 0.2 wide upon a bend 0.6 wide: they meet at y = 0.25
            BrimShapeDef parts[3] = {box_of(1, 1, 1), box_of(0.2f, 0.4f, 0.2f),
                                     box_of(0.6f, 0.2f, 0.2f)};
            parts[1].position = (BrimVec3){0, 0.45f, 0},
            parts[2].position = (BrimVec3){0, 0.15f, 0};
            parts[0].position.y = 0.3f;
            BrimShapeDef cut = shape_of(BRIM_SHAPE_DIFFERENCE);
            cut.children = parts, cut.child_count = 3, cut.rotation.z = turn ? 30 : 0;
            Shape *s = make(&cut, dim, dx);
            float c = cosf(turn ? 0.5235988f : 0), n = sinf(turn ? 0.5235988f : 0);
            for (float off = -0.012f; off < 0.0125f; off += 0.001f)
                for (float x = 0; x < 0.25f; x += 0.003f) {
                    float y = 0.25f + off, d = at(s, c * x - n * y, n * x + c * y, 0), exact;
                    if (off > 0)
                        exact = x < 0.1f ? 0.1f - x : -fminf(x - 0.1f, off);
                    else
                        exact = x < 0.1f ? hypotf(0.1f - x, off) : -off;
                    exact = fminf(exact, 0.015f), d = fminf(d, 0.015f);
                    // seen in 16 directions, or 98
                    CHECK(d > exact - 0.0006 - 0.05 * fabsf(exact));
                    CHECK(d < exact + 0.0006 + 0.3 * fabsf(exact));
                }
            shape_free(&s);
            // two halves of a block, and what is left when both are cut away
            BrimShapeDef halves[2] = {box_of(0.5f, 1, 1), box_of(0.5f, 1, 1)};
            halves[0].position.x = -0.25f, halves[1].position.x = 0.25f;
            BrimShapeDef whole = shape_of(BRIM_SHAPE_UNION);
            whole.children = halves, whole.child_count = 2, whole.rotation.z = turn ? 30 : 0;
            s = make(&whole, dim, dx);
            CHECK(at(s, 0, 0, 0) <= -1.5f * dx);
            CHECK_NEAR(at(s, -n * 0.495f, c * 0.495f, 0), -0.005, 0.0006);
            shape_free(&s);
        }
    // a cup whose hollow ends where its walls do has no lid
    BrimShapeDef cup[2] = {box_of(1, 1, 1), box_of(0.8f, 0.9f, 0.8f)};
    cup[1].position.y = 0.05f;
    BrimShapeDef difference = shape_of(BRIM_SHAPE_DIFFERENCE);
    difference.children = cup, difference.child_count = 2;
    Shape *s = make(&difference, 3, dx);
    CHECK(at(s, 0.1f, 0.5f, 0.2f) >= 1.5f * dx);
    CHECK_NEAR(at(s, 0.45f, 0.5f, 0), 0, 1e-6);
    shape_free(&s);
}

TEST(solid_slope_is_one) {
    BrimShapeDef defs[5] = {box_of(1, 0.6f, 0.8f), ball_of(0.5f), cylinder_of(0.4f, 0.9f),
                            shape_of(BRIM_SHAPE_CAPSULE), shape_of(BRIM_SHAPE_TORUS)};
    uint32_t seed = 1;
    for (int k = 0; k < 5; k++) {
        defs[k].rotation = (BrimVec3){20, 35, -50};
        defs[k].scale = 1.5f;
        Shape *s = make(&defs[k], 3, 0.1f);
        int kinks = 0;
        for (int i = 0; i < 500; i++) {
            double g = slope_at(s, random_in(&seed, -2, 2), random_in(&seed, -2, 2),
                                random_in(&seed, -2, 2));
            CHECK(g < 1.01);
            kinks += g < 0.99;
        }
        CHECK(kinks < 10); // only where two sides are equally near
        shape_free(&s);
    }
}

TEST(solid_arrays_match_points) {
    BrimShapeDef two[2] = {box_of(1, 1, 1), cylinder_of(0.3f, 2)};
    BrimShapeDef def = shape_of(BRIM_SHAPE_DIFFERENCE);
    def.children = two, def.child_count = 2;
    def.rotation = (BrimVec3){10, 20, 30};
    Shape *s = make(&def, 3, 0.1f);
    enum { N = 729 };
    static float x[N], y[N], z[N], d[N];
    uint32_t seed = 7;
    for (int i = 0; i < N; i++) {
        x[i] = random_in(&seed, -1, 1), y[i] = random_in(&seed, -1, 1);
        z[i] = random_in(&seed, -1, 1);
    }
    shape_distance(s, N, x, y, z, d);
    for (int i = 0; i < N; i++) CHECK(d[i] == at(s, x[i], y[i], z[i]));
    shape_free(&s);
}

TEST(solid_2d) {
    BrimShapeDef def = box_of(2, 1, 0);
    def.position.z = 9, def.rotation = (BrimVec3){30, 40, 90};
    Shape *s = make(&def, 2, 0.1f);
    CHECK(s);
    CHECK_NEAR(at(s, 0, 0, 0), -0.5, 1e-6);
    CHECK_NEAR(at(s, 0, 1.5f, 0.3f), 0.5, 1e-6); // z of points does not count
    CHECK_NEAR(at(s, 1, 0, 0), 0.5, 1e-6);
    CHECK_NEAR(shape_thickness(s), 1, 1e-6);
    shape_free(&s);
    def = cylinder_of(0.5f, 3);
    s = make(&def, 2, 0.1f);
    CHECK_NEAR(at(s, 2, 0, 0), 1.5, 1e-6);
    CHECK_NEAR(at(s, 0, 1, 0), -0.5, 1e-6);
    shape_free(&s);
    def = shape_of(BRIM_SHAPE_PLANE);
    def.normal = (BrimVec3){1, 0, 5};
    s = make(&def, 2, 0.1f);
    CHECK_NEAR(at(s, 2, 3, 0), 2, 1e-6);
    shape_free(&s);
}

TEST(solid_thickness_of_shells) {
    // a cup: wall 0.1, bottom 0.15
    BrimShapeDef cup[2] = {cylinder_of(0.5f, 1), cylinder_of(0.4f, 1)};
    cup[1].position.y = 0.15f;
    BrimShapeDef def = shape_of(BRIM_SHAPE_DIFFERENCE);
    def.children = cup, def.child_count = 2;
    Shape *s = make(&def, 3, 0.05f);
    CHECK_NEAR(shape_thickness(s), 0.1, 0.002);
    shape_free(&s);
    cup[0] = box_of(1, 1, 1), cup[1] = box_of(0.6f, 1, 0.6f);
    cup[1].position.y = 0.03f;
    def.rotation.x = 30;
    s = make(&def, 3, 0.05f);
    CHECK_NEAR(shape_thickness(s), 0.03, 0.002);
    shape_free(&s);
    cup[0] = ball_of(1), cup[1] = ball_of(0.93f);
    s = make(&def, 3, 0.05f);
    CHECK_NEAR(shape_thickness(s), 0.07, 0.002);
    shape_free(&s);
    cup[0] = box_of(1, 1, 0), cup[1] = box_of(0.9f, 1, 0);
    cup[1].position.y = 0.2f;
    s = make(&def, 2, 0.05f);
    CHECK_NEAR(shape_thickness(s), 0.05, 0.002);
    shape_free(&s);
    // a round hole in a block leaves no thin wall
    cup[0] = box_of(1, 1, 1), cup[1] = cylinder_of(0.2f, 2);
    s = make(&def, 3, 0.05f);
    CHECK_NEAR(shape_thickness(s), 0.3, 0.005);
    shape_free(&s);
}

TEST(solid_refuses_bad_shapes) {
    BrimError error;
    Shape *s = NULL;
    BrimShapeDef def = box_of(1, 0, 1);
    CHECK(shape_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
    CHECK(strstr(error.message, "size y"));
    def = ball_of(nan_value);
    CHECK(shape_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
    def = ball_of(1), def.scale = 0;
    CHECK(shape_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
    def = ball_of(1), def.position.x = INFINITY;
    CHECK(shape_new(&def, 3, 0.1f, &s, NULL) == BRIM_ERROR_INPUT && !s);
    def = shape_of(BRIM_SHAPE_UNION);
    CHECK(shape_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
    def = shape_of(BRIM_SHAPE_HEIGHT_FIELD);
    CHECK(shape_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
    def = shape_of(BRIM_SHAPE_MESH);
    def.file = "/nonexistent/mesh.obj";
    CHECK(shape_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_IO && !s);
    CHECK(strstr(error.message, "/nonexistent/mesh.obj"));
    BrimShapeDef nest[40];
    for (int i = 0; i < 40; i++) {
        nest[i] = shape_of(i < 39 ? BRIM_SHAPE_UNION : BRIM_SHAPE_BOX);
        if (i < 39) nest[i].children = &nest[i + 1], nest[i].child_count = 1;
    }
    CHECK(shape_new(&nest[0], 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT && !s);
    CHECK(strstr(error.message, "deep"));
}

TEST(shape_refusals_say_what_is_wrong) {
    BrimError error;
    Shape *s;
    BrimShapeDef child = brim_default_shape_def(), def = brim_default_shape_def();
    child.kind = BRIM_SHAPE_SPHERE, child.radius = 1;
    def.kind = BRIM_SHAPE_SMOOTH_UNION, def.children = &child, def.child_count = 1;
    def.blend = 2e7f;
    CHECK(shape_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "from 0 to 1e7"));
    CHECK(shape_new(&child, 3, 2e7f, &s, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "at most 1e7"));
    const float heights[4] = {0, 1, 0, 1};
    def = brim_default_shape_def();
    def.kind = BRIM_SHAPE_HEIGHT_FIELD, def.heights = heights, def.heights_x = def.heights_z = 2;
    def.size = (BrimVec3){2e7f, 1, 1};
    CHECK(shape_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "at most 1e7"));
    BrimCanyonDef canyon = {.width = 1, .depth = 1, .fall_count = 1, .fall_drop = {2e7f}};
    def.size.x = 1, def.heights = NULL, def.canyon = &canyon;
    CHECK(shape_new(&def, 3, 0.1f, &s, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "at most 1e7"));
}
