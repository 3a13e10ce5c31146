// Ray-traced pictures: the parts against exact answers. What needs Embree is left out without it.
#include "look/tracer.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------- contour

/// A box of half sizes 0.3, 0.2, 0.25 m around (0.5, 0.5, 0.5).
static void box_distance(const void *context, int n, const float *x, const float *y, const float *z,
                         float *distance) {
    (void)context;
    for (int i = 0; i < n; i++) {
        float a = fabsf(x[i] - 0.5f) - 0.3f, b = fabsf(y[i] - 0.5f) - 0.2f;
        float c = fabsf(z[i] - 0.5f) - 0.25f;
        float out = hypotf(fmaxf(a, 0), hypotf(fmaxf(b, 0), fmaxf(c, 0)));
        distance[i] = out + fminf(0, fmaxf(a, fmaxf(b, c)));
    }
}

static ContourField box_field(Team *team) {
    return (ContourField){.distance = box_distance,
                          .low = vec(0.013f, 0.017f, 0.011f),
                          .spacing = 0.031f,
                          .nodes = {33, 33, 33},
                          .team = team};
}

static double contour_volume(const Contour *c) {
    double volume = 0;
    for (size_t i = 0; i < c->triangle_count; i++) {
        BrimVec3 p[3];
        for (int k = 0; k < 3; k++) {
            const float *v = c->position + 3 * (size_t)c->triangle[3 * i + (size_t)k];
            p[k] = vec(v[0], v[1], v[2]);
        }
        volume += (double)vec_dot(p[0], vec_cross(p[1], p[2])) / 6;
    }
    return volume;
}

TEST(trace_contour_keeps_edges_and_volume) {
    ContourField field = box_field(NULL);
    Contour c;
    BrimError error;
    CHECK_OK(contour_new(&field, &c, &error), error);
    // a mesh that rounds its edges off would lose about 1 % of the volume
    CHECK_NEAR(contour_volume(&c), 0.6 * 0.4 * 0.5, 1e-4);
    float far = 0, corner = 0;
    for (size_t i = 0; i < c.vertex_count; i++) {
        float d, *v = c.position + 3 * i;
        box_distance(NULL, 1, &v[0], &v[1], &v[2], &d);
        far = fmaxf(far, fabsf(d));
        corner = fmaxf(corner, fminf(v[0] - 0.8f, fminf(v[1] - 0.7f, v[2] - 0.75f)) + 1);
    }
    CHECK_BELOW(far, 0.03 * 0.031); // of the nodes' spacing
    CHECK_NEAR(corner, 1, 2e-3);    // a vertex in the corner itself
    contour_free(&c);
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/// Whether each directed edge comes once and has its opposite.
static bool edges_are_paired(const Contour *c) {
    size_t n = 3 * c->triangle_count;
    uint64_t *edge = malloc(2 * n * sizeof *edge), *back = edge + n;
    bool paired = edge;
    for (size_t i = 0; paired && i < n; i++) {
        uint64_t from = c->triangle[i], to = c->triangle[i % 3 == 2 ? i - 2 : i + 1];
        edge[i] = from << 32 | to, back[i] = to << 32 | from;
    }
    if (edge) qsort(edge, n, sizeof *edge, by_value), qsort(back, n, sizeof *back, by_value);
    for (size_t i = 0; paired && i < n; i++)
        paired = edge[i] == back[i] && (i == 0 || edge[i] != edge[i - 1]);
    free(edge);
    return paired;
}

TEST(trace_contour_is_closed_and_the_same_for_all_threads) {
    Team *team = team_new(3);
    ContourField one = box_field(NULL), many = box_field(team);
    Contour a, b;
    BrimError error;
    CHECK_OK(contour_new(&one, &a, &error), error);
    CHECK_OK(contour_new(&many, &b, &error), error);
    team_free(&team);
    CHECK(a.vertex_count == b.vertex_count && a.triangle_count == b.triangle_count);
    CHECK(memcmp(a.position, b.position, 3 * a.vertex_count * sizeof(float)) == 0);
    CHECK(memcmp(a.triangle, b.triangle, 3 * a.triangle_count * sizeof(uint32_t)) == 0);
    CHECK(edges_are_paired(&a));
    contour_free(&a);
    contour_free(&b);
}

// --------------------------------------------------------------------------------------- light

TEST(trace_water_mirrors_as_fresnel_says) {
    float bent;
    CHECK_NEAR(water_mirror(1, false, &bent), 0.020373, 1e-5); // ((n - 1) / (n + 1))^2
    CHECK_NEAR(bent, 1, 1e-6);
    CHECK_NEAR(water_mirror(1, true, &bent), 0.020373, 1e-5);
    CHECK_NEAR(water_mirror(1e-4f, false, &bent), 1, 1e-3); // grazing
    // Snell: sin 60 / 1.333 under water, and the same share from both sides
    float out = water_mirror(0.5f, false, &bent), back;
    CHECK_NEAR(sqrt(1 - (double)bent * bent), sin(M_PI / 3) / 1.333, 1e-5);
    CHECK_NEAR(water_mirror(bent, true, &back), out, 1e-5);
    CHECK_NEAR(back, 0.5, 1e-5);
    // beyond 48.6 degrees nothing leaves the water
    CHECK(water_mirror(cosf(48.7f * 0.0174533f), true, &bent) == 1 && bent == 0);
    CHECK(water_mirror(cosf(48.5f * 0.0174533f), true, &bent) < 1 && bent > 0);
}

TEST(trace_samples_fill_the_square_evenly) {
    // 64 points: every one of 4 x 4 squares holds some, whatever the pixel
    for (uint32_t pixel = 0; pixel < 50; pixel++) {
        int count[16] = {0};
        for (int i = 0; i < 64; i++) {
            Sampler s = {.pixel = pixel * 977, .sample = i};
            Square q = sampler_next(&s, 0, 1);
            CHECK(q.x >= 0 && q.x < 1 && q.y >= 0 && q.y < 1);
            count[(int)(4 * q.x) + 4 * (int)(4 * q.y)]++;
        }
        for (int k = 0; k < 16; k++) CHECK(count[k] >= 2 && count[k] <= 7);
    }
}

#ifdef BRIM_HAVE_EMBREE

/// A full tank, 1 m wide and `depth` deep: a box of water.
typedef struct Pool {
    float position[8][3];
    uint32_t triangle[12][3];
    Mesh mesh;
    BrimSimDef def;
    Solids solids;
    Tracer tracer;
} Pool;

static BrimResult pool_new(Pool *p, float depth, BrimError *error) {
    static const uint32_t quads[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                         {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    for (int k = 0; k < 8; k++) {
        p->position[k][0] = k & 1 ? 1 : 0, p->position[k][1] = k & 2 ? depth : 0;
        p->position[k][2] = k & 4 ? 1 : 0;
    }
    for (int q = 0; q < 6; q++) {
        const uint32_t *v = quads[q];
        memcpy(p->triangle[2 * q], (const uint32_t[3]){v[0], v[1], v[2]}, sizeof *p->triangle);
        memcpy(p->triangle[2 * q + 1], (const uint32_t[3]){v[0], v[2], v[3]}, sizeof *p->triangle);
    }
    p->mesh = (Mesh){.vertex_count = 8, .triangle_count = 12};
    p->mesh.position = p->position[0], p->mesh.triangle = p->triangle[0];
    p->def = brim_default_sim_def();
    p->def.size = vec(1, 1, 1);
    p->def.cells[0] = p->def.cells[1] = p->def.cells[2] = 32;
    p->solids = (Solids){.size = p->def.size, .cell = 1 / 32.0f};
    WaterPicture picture = {.def = &p->def,
                            .solids = &p->solids,
                            .water = &p->mesh,
                            .camera = view_water(p->def.size, false, 160, 90),
                            .samples = 1};
    return tracer_new(&p->tracer, &picture, error);
}

static float brightness(const Tracer *t, BrimVec3 origin, BrimVec3 direction) {
    Sampler sampler = {.pixel = 1};
    Ray ray = {origin, vec_unit(direction), 0.5f};
    BrimVec3 c = tracer_look(t, &ray, &sampler);
    return c.x + c.y + c.z;
}

/// A ray that goes down at 45 degrees meets the floor's line at x = 0.6 m where Snell's law says.
TEST(trace_floor_is_seen_where_snell_says) {
    Pool pool;
    BrimError error;
    const float depth = 0.3f;
    CHECK_OK(pool_new(&pool, depth, &error), error);
    float darkest = INFINITY, found = 0;
    for (int i = 0; i < 400; i++) {
        float x = 0.3f + 0.2f * (float)i / 400; // where it enters the water
        float light = brightness(&pool.tracer, vec(x - 0.5f, depth + 0.5f, 0.47f), vec(1, -1, 0));
        if (light < darkest) darkest = light, found = x;
    }
    float s = sinf(0.785398f) / 1.333f, shift = depth * s / sqrtf(1 - s * s);
    // a line is 5 mm wide
    CHECK_NEAR(found, 0.6 - (double)shift, 3e-3);
    tracer_free(&pool.tracer);
}

/// Straight down: one share mirrored, the rest dims by Beer's law, colour by colour.
TEST(trace_deep_water_takes_red_first) {
    Pool shallow, deep;
    BrimError error;
    CHECK_OK(pool_new(&shallow, 0.1f, &error), error);
    CHECK_OK(pool_new(&deep, 0.8f, &error), error);
    Ray ray = {vec(0.5f, 2, 0.47f), vec(0, -1, 0), 0.5f};
    Sampler sampler = {.pixel = 1};
    BrimVec3 a = tracer_look(&shallow.tracer, &ray, &sampler);
    sampler = (Sampler){.pixel = 1};
    BrimVec3 b = tracer_look(&deep.tracer, &ray, &sampler);
    CHECK(b.x < 0.6f * a.x);
    CHECK(b.x / a.x < b.y / a.y && b.y / a.y < b.z / a.z);
    CHECK(isfinite(a.x + b.x) && b.x > 0);
    tracer_free(&shallow.tracer);
    tracer_free(&deep.tracer);
}

TEST(trace_solid_shades_the_floor) {
    BrimSolidDef ball = brim_default_solid_def();
    ball.shape.kind = BRIM_SHAPE_SPHERE;
    ball.shape.radius = 0.2f, ball.shape.position = vec(0.5f, 0.5f, 0.5f);
    BrimSimDef def = brim_default_sim_def();
    def.size = vec(1, 1, 1);
    def.cells[0] = def.cells[1] = def.cells[2] = 32;
    def.solids = &ball, def.solid_count = 1;
    Solids solids;
    BrimError error;
    CHECK_OK(solids_new(&solids, &def, 0, NULL, &error), error);
    Mesh none = {0};
    WaterPicture picture = {.def = &def,
                            .solids = &solids,
                            .water = &none,
                            .camera = view_water(def.size, false, 160, 90),
                            .samples = 1};
    Tracer t;
    CHECK_OK(tracer_new(&t, &picture, &error), error);
    // the middle of the shadow lies away from the sun
    BrimVec3 sun = t.sun;
    BrimVec3 at = vec_sub(vec(0.5f, 0.5f, 0.5f), vec_mul(sun, 0.5f / sun.y));
    BrimVec3 lit = vec(at.x + 0.6f, 0, at.z), down = vec(0.01f, -1, 0.01f);
    at = vec(at.x + 0.03f, 0.1f, at.z - 0.03f), lit = vec(lit.x + 0.03f, 0.1f, lit.z - 0.03f);
    CHECK_BELOW(brightness(&t, at, down), 0.5 * (double)brightness(&t, lit, down));
    tracer_free(&t);
    solids_free(&solids);
}

#endif
