// Surfaces of meshes by what particles carry (surface.tracking).
#include "cases.h"
#include "mesh/mesher.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// A pool of so many cells with tracking, after some steps.
static BrimSim *pool(Case *c, float level, BrimError *error) {
    *c = case_box(3, 1, 24, 24, 24);
    const float dx = 1.0f / 24;
    BrimSim *sim;
    c->def.tracking = BRIM_TRACKING_RESPONSIVE;
    case_liquid(c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, level * dx, 1}));
    if (case_create(c, &sim, error) != BRIM_OK) return NULL;
    if (run_until(sim, 0.2, error) != BRIM_OK) brim_sim_destroy(&sim);
    return sim;
}

/// Height of the free surface: rms of its deviation from the mean, and the mean, in cells.
static double unevenness(const BrimMesh *m, double *level) {
    double sum = 0, sum2 = 0, count = 0;
    for (size_t i = 0; i < m->vertex_count; i++) {
        double y = (double)m->position[i][1] * 24;
        if (y < 8 || m->normal[i][1] < 0.7f) continue;
        sum += y, sum2 += y * y, count++;
    }
    *level = sum / count;
    return sqrt(fmax(sum2 / count - *level * *level, 0));
}

TEST(mesh_tracked_pool_is_a_mirror) {
    BrimError error;
    Case c;
    BrimSim *sim = pool(&c, 10.3f, &error);
    CHECK(sim != NULL);
    if (!sim) return;
    double rms[2], level[2];
    for (int positions = 0; positions < 2; positions++) {
        BrimMeshDef def = brim_default_mesh_def();
        BrimMesh mesh;
        def.positions = positions, def.threads = 2;
        CHECK_OK(brim_sim_mesh(sim, &def, &mesh, &error), error);
        rms[positions] = unevenness(&mesh, &level[positions]);
        brim_mesh_free(&mesh);
    }
    CHECK_BELOW(rms[0], 0.005);
    CHECK_BELOW(rms[0], 0.3 * rms[1]);
    CHECK_NEAR(level[0], 10.3, 0.05);
    brim_sim_destroy(&sim);
}

TEST(mesh_tracked_pool_on_nodes_is_flat) {
    // chance puts nodes of the mesh on either side of the surface
    BrimError error;
    Case c;
    BrimSim *sim = pool(&c, 10, &error);
    CHECK(sim != NULL);
    if (!sim) return;
    BrimMeshDef def = brim_default_mesh_def();
    BrimMesh mesh;
    double level;
    def.threads = 2;
    CHECK_OK(brim_sim_mesh(sim, &def, &mesh, &error), error);
    CHECK_BELOW(unevenness(&mesh, &level), 2e-4);
    CHECK_NEAR(level, 10, 1e-3);
    brim_mesh_free(&mesh);
    brim_sim_destroy(&sim);
}

/// How far the free surface goes from a level, cells.
static double farthest(const BrimMesh *m, double level) {
    double most = 0;
    for (size_t i = 0; i < m->vertex_count; i++)
        if (m->normal[i][1] > 0.7f) most = fmax(most, fabs((double)m->position[i][1] * 24 - level));
    return most;
}

/// A pool is what the scene says it is, wherever between two rows of particles its level lies: some
/// of them are seeded above it, and the row as a whole up to a quarter of a cell off. Nor does the
/// pressure push where chance takes centres on the level for liquid or for air (10.5). And its mesh
/// is the same one while it rests: where the level lies on nodes chance does not turn any.
TEST(mesh_tracked_pool_rests_at_any_level) {
    static const float levels[] = {10,    10.1f, 10.25f, 10.36f, 10.4f,
                                   10.5f, 10.6f, 10.74f, 10.8f,  10.9f};
    BrimError error;
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
        const double level = (double)levels[k];
        Case c = case_box(3, 1, 24, 24, 24);
        BrimSim *sim;
        c.def.tracking = BRIM_TRACKING_RESPONSIVE, c.def.jitter = 0.5f;
        case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, levels[k] / 24, 1}));
        CHECK_OK(case_create(&c, &sim, &error), error);
        BrimMeshDef def = brim_default_mesh_def();
        BrimMesh first, last;
        def.threads = 2;
        CHECK_OK(brim_sim_mesh(sim, &def, &first, &error), error);
        CHECK_BELOW(farthest(&first, level), 1e-4);
        CHECK_OK(run_until(sim, 0.3, &error), error);
        CHECK_OK(brim_sim_mesh(sim, &def, &last, &error), error);
        CHECK_BELOW(farthest(&last, level), 2e-3);
        CHECK(first.triangle_count == last.triangle_count);
        if (first.triangle_count == last.triangle_count)
            CHECK(memcmp(first.triangle, last.triangle,
                         first.triangle_count * sizeof *first.triangle) == 0);
        brim_mesh_free(&first), brim_mesh_free(&last);
        brim_sim_destroy(&sim);
    }
}

static bool same_mesh(const BrimMesh *a, const BrimMesh *b) {
    return a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count &&
           memcmp(a->position, b->position, a->vertex_count * sizeof *a->position) == 0 &&
           memcmp(a->triangle, b->triangle, a->triangle_count * sizeof *a->triangle) == 0;
}

TEST(mesh_tracked_from_a_frame_is_that_of_the_simulation) {
    BrimError error;
    Case c;
    BrimSim *sim = pool(&c, 10.3f, &error);
    CHECK(sim != NULL);
    if (!sim) return;
    char path[] = "/tmp/brim-tracked-XXXXXX.ply";
    int file = mkstemps(path, 4);
    CHECK(file >= 0);
    close(file);
    BrimMeshDef def = brim_default_mesh_def();
    BrimMesh own, read;
    BrimFrame frame;
    BrimMesher *mesher;
    CHECK_OK(brim_sim_mesh(sim, &def, &own, &error), error);
    CHECK_OK(brim_write_particles(sim, path, &error), error);
    CHECK_OK(brim_frame_read_all(path, &frame, &error), error);
    BrimParticles particles = brim_frame_particles(&frame);
    CHECK_OK(brim_mesher_create(&c.def, &def, &mesher, &error), error);
    CHECK_OK(brim_mesher_mesh(mesher, &particles, brim_sim_time(sim), &read, &error), error);
    CHECK(same_mesh(&own, &read)); // all of this pool is slow: the speeds' ends do not matter
    brim_mesh_free(&read);
    // what the frame does not know is made from positions
    particles.extra_count = 0;
    CHECK_OK(brim_mesher_mesh(mesher, &particles, brim_sim_time(sim), &read, &error), error);
    CHECK(!same_mesh(&own, &read));
    brim_mesh_free(&own);
    def.positions = true;
    CHECK_OK(brim_sim_mesh(sim, &def, &own, &error), error);
    CHECK(same_mesh(&own, &read));
    brim_mesh_free(&own), brim_mesh_free(&read);
    brim_mesher_destroy(&mesher);
    brim_frame_free(&frame);
    brim_sim_destroy(&sim);
    unlink(path);
}

TEST(mesh_tracked_same_for_threads_and_sets_and_fast_water_as_without) {
    BrimError error;
    Case c;
    BrimSim *sim = pool(&c, 10.3f, &error);
    CHECK(sim != NULL);
    if (!sim) return;
    BrimMesh first = {0}, other, plain;
    const BrimIsa sets[] = {BRIM_ISA_AUTO, BRIM_ISA_BASE, BRIM_ISA_AVX2};
    BrimMeshDef def = brim_default_mesh_def();
    for (int k = 0; k < 3; k++) {
        def.isa = sets[k], def.threads = 1 + k;
        CHECK_OK(brim_sim_mesh(sim, &def, k ? &other : &first, &error), error);
        if (k) CHECK(same_mesh(&first, &other));
        if (k) brim_mesh_free(&other);
    }
    brim_mesh_free(&first);
    BrimParticles p = brim_sim_particles(sim);
    for (size_t i = 0; i < p.count; i++) p.vx[i] = 100;
    CHECK_OK(brim_sim_mesh(sim, &def, &other, &error), error);
    def.positions = true;
    CHECK_OK(brim_sim_mesh(sim, &def, &plain, &error), error);
    CHECK(same_mesh(&other, &plain));
    brim_mesh_free(&other), brim_mesh_free(&plain);
    brim_sim_destroy(&sim);
}
