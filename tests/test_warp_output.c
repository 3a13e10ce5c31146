// What a warped grid bends towards, and what is written of it.
#include "scratch.h"
#include "test.h"
#include "warp/stage.h"
#include "warp_sim.h"
#include <stdlib.h>

static const char *const pool = "brim: 1\n"
                                "dim: 2\n"
                                "domain: {size: [1, 1], cells: 32}\n"
                                "time: {duration: 2, cfl: 1}\n"
                                "liquid:\n"
                                "  - box: {low: [0, 0], high: [1, 0.413]}\n";
static const char *const cube = "brim: 1\n"
                                "domain: {size: [1, 1, 1], cells: 16}\n"
                                "time: {duration: 1, cfl: 1}\n"
                                "liquid:\n"
                                "  - box: {low: [0, 0, 0], high: [1, 0.413, 1]}\n";

/// Volume of the mesh's cells around a place in space, of that of a regular one.
static double cell_at(const BrimSim *sim, double x, double y) {
    const double at[3] = {x * (double)sim->inv_dx, y * (double)sim->inv_dx, 0};
    double xi[3] = {at[0], at[1], 0}, J[3][3];
    map_to_reference(&sim->warp->mesh.map, at, xi, 1e-6, 50);
    map_jacobian(&sim->warp->mesh.map, xi, J);
    return matrix_determinant(J);
}

/// Cells are small where they are asked to be: beside solids, in a region that moves.
TEST(warp_bends_towards_what_matters) {
    static const char *const still[] = {"grid.warp=0.75", "grid.surface=0", "grid.solids=1"};
    static const char *const moves[] = {"grid.warp=0.75",
                                        "grid.surface=0",
                                        "grid.focus.weight=2",
                                        "grid.focus.center=[0.2+t, 0.7]",
                                        "grid.focus.size=[0.1, 0.1]",
                                        "time.step=0.02"};
    char text[512];
    BrimScene *scene;
    BrimError error;
    snprintf(text, sizeof text, "%ssolids:\n  - sphere: {center: [0.25, 0.7], radius: 0.1}\n",
             pool);
    BrimSim *sim = start(text, &scene, &error, still, 3);
    CHECK(sim != NULL);
    CHECK(cell_at(sim, 0.25, 0.8) < 0.5 && cell_at(sim, 0.8, 0.2) > 1);
    finish(&sim, &scene);
    sim = start(pool, &scene, &error, moves, 6);
    if (!sim) fprintf(stderr, "%s\n", error.message);
    CHECK(sim != NULL);
    CHECK(cell_at(sim, 0.2, 0.7) < 0.5 && cell_at(sim, 0.8, 0.7) > 1);
    while (sim->time < 0.6) CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK(cell_at(sim, 0.8, 0.7) < 0.6 && cell_at(sim, 0.2, 0.7) > 0.9);
    CHECK_NEAR(brim_sim_stats(sim)->cell_least, sim->warp->motion.least, 1e-12);
    CHECK(brim_sim_stats(sim)->cell_least > 0.05 && brim_sim_stats(sim)->cell_most > 1);
    finish(&sim, &scene);
}

/// So they are in a camera's view, in front of its target more than beyond, and where a field of
/// one's own says so.
TEST(warp_bends_towards_a_view_and_a_field) {
    static const char *const view[] = {"grid.warp=0.75",
                                       "grid.surface=0",
                                       "grid.focus.weight=2",
                                       "grid.focus.center=[0, 0.2]",
                                       "grid.focus.target=[0.3, 0.2]",
                                       "grid.focus.angle=30"};
    static const char *const field[] = {"grid.warp=0.75", "grid.surface=0", "grid.focus.weight=2",
                                        "grid.focus.field=exp(-20*((x-0.3)^2+(y-0.6-t)^2))"};
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(pool, &scene, &error, view, 6);
    if (!sim) fprintf(stderr, "%s\n", error.message);
    CHECK(sim != NULL);
    CHECK(cell_at(sim, 0.25, 0.2) < 0.6 * cell_at(sim, 0.25, 0.8));
    CHECK(cell_at(sim, 0.25, 0.2) < 0.8 * cell_at(sim, 0.95, 0.2));
    CHECK(cell_at(sim, 0.95, 0.2) < cell_at(sim, 0.95, 0.9));
    finish(&sim, &scene);
    sim = start(pool, &scene, &error, field, 4);
    if (!sim) fprintf(stderr, "%s\n", error.message);
    CHECK(sim != NULL);
    CHECK(cell_at(sim, 0.3, 0.6) < 0.5 && cell_at(sim, 0.8, 0.2) > 1);
    finish(&sim, &scene);
}

TEST(warp_mesh_may_stand_still) {
    const char *const sets[] = {"grid.warp=0.75", "grid.still=true", "grid.quadrature=corners"};
    BrimScene *scene;
    BrimError error;
    BrimSim *sim = start(pool, &scene, &error, sets, 3);
    CHECK(sim != NULL);
    const size_t n = map_node_count(&sim->warp->mesh.map);
    float *before = malloc(n * sizeof *before);
    memcpy(before, sim->warp->mesh.map.d[1], n * sizeof *before);
    for (int step = 0; step < 20; step++) CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK(memcmp(before, sim->warp->mesh.map.d[1], n * sizeof *before) == 0);
    CHECK_BELOW(sim->stats.max_speed, 0.05);
    free(before);
    finish(&sim, &scene);
}

TEST(warp_says_what_it_cannot_bend_towards) {
    static const char *const nowhere[] = {"grid.warp=0.75", "grid.focus.weight=1",
                                          "grid.focus.center=[log(-1), 0]"};
    static const char *const field[] = {"grid.warp=0.75", "grid.focus.weight=1",
                                        "grid.focus.field=log(x-0.5)"};
    static const char *const blind[] = {"grid.warp=0.75", "grid.focus.weight=1",
                                        "grid.focus.angle=40", "grid.focus.target=[0, 0]"};
    static const char *const flat[] = {"grid.warp=0.75", "domain.size=[1, 0.03125]",
                                       "domain.cells=[32, 1]"};
    BrimScene *scene;
    BrimError error;
    CHECK(start(pool, &scene, &error, nowhere, 3) == NULL);
    CHECK(strstr(error.message, "grid.focus.center") != NULL);
    brim_scene_destroy(&scene);
    CHECK(start(pool, &scene, &error, field, 3) == NULL);
    CHECK(strstr(error.message, "grid.focus.field") != NULL);
    brim_scene_destroy(&scene);
    CHECK(start(pool, &scene, &error, blind, 4) == NULL);
    CHECK(strstr(error.message, "grid.focus.target") != NULL);
    brim_scene_destroy(&scene);
    CHECK(start(pool, &scene, &error, flat, 3) == NULL);
    CHECK(strstr(error.message, "domain.cells") != NULL);
    brim_scene_destroy(&scene);
}

/// Fields are a structured grid with the nodes where they are.
TEST(warp_fields_know_their_nodes) {
    for (int dim = 2; dim <= 3; dim++) {
        const char *const sets[] = {"grid.warp=0.75", "output.fields=true"};
        const char *path = at("warp.vts");
        BrimScene *scene;
        BrimError error;
        BrimSim *sim = start(dim == 2 ? pool : cube, &scene, &error, sets, 2);
        CHECK(sim != NULL);
        CHECK_OK(brim_sim_step(sim, &error), error);
        CHECK_OK(brim_write_fields(sim, path, &error), error);
        const int cells = sim->grid.cells[0], low[3] = {0};
        const int high[3] = {cells, cells, dim == 3 ? cells : 0};
        size_t count, n = (size_t)(cells + 1) * (size_t)(cells + 1) * (size_t)(high[2] + 1);
        float *read, *here = malloc(3 * n * sizeof *here);
        CHECK_OK(brim_read_nodes(path, &read, &count, &error), error);
        CHECK(count == n);
        CHECK_OK(brim_sim_nodes(sim, low, high, here, 3 * n, &error), error);
        CHECK(memcmp(read, here, 3 * n * sizeof *here) == 0);
        // the box maps to itself, and nodes gather at the surface
        CHECK_NEAR(here[3 * (n - 1)], 1, 1e-5);
        size_t near = 0;
        for (int y = 0; y <= cells; y++)
            near += fabsf(here[3 * y * (cells + 1) + 1] - 0.413f) < 0.1f;
        CHECK((double)near > 1.5 * 0.2 * cells);
        free(read), free(here);
        CHECK(brim_read_nodes(at("none.vts"), &read, &count, &error) == BRIM_ERROR_IO);
        finish(&sim, &scene);
    }
}

/// The surface of the water, in space: closed around as much as there is.
TEST(warp_surface_is_in_space) {
    const char *const sets[] = {"grid.warp=0.75"};
    BrimScene *scene;
    BrimError error;
    BrimMesh mesh;
    BrimMeshDef def = brim_default_mesh_def();
    BrimSim *sim = start(cube, &scene, &error, sets, 1);
    CHECK(sim != NULL);
    CHECK_OK(brim_sim_mesh(sim, &def, &mesh, &error), error);
    double volume = 0, top = 0;
    for (size_t i = 0; i < mesh.triangle_count; i++) {
        const float *a = mesh.position[mesh.triangle[i][0]];
        const float *b = mesh.position[mesh.triangle[i][1]];
        const float *c = mesh.position[mesh.triangle[i][2]];
        volume += ((double)a[0] * ((double)b[1] * (double)c[2] - (double)b[2] * (double)c[1]) -
                   (double)a[1] * ((double)b[0] * (double)c[2] - (double)b[2] * (double)c[0]) +
                   (double)a[2] * ((double)b[0] * (double)c[1] - (double)b[1] * (double)c[0])) /
                  6;
    }
    for (size_t i = 0; i < mesh.vertex_count; i++) top = fmax(top, (double)mesh.position[i][1]);
    brim_mesh_free(&mesh);
    CHECK_NEAR(volume, 0.413, 0.02);
    CHECK_NEAR(top, 0.413, 0.02);
    finish(&sim, &scene);
}

/// A frame knows how the grid was bent, so that its surface is made on the same mesh as that of the
/// simulation; a grid that is not the scene's, or no grid, is refused.
TEST(warp_frames_know_their_grid) {
    static const char *const drop = "brim: 1\n"
                                    "domain: {size: [1, 1, 1], cells: 24}\n"
                                    "time: {duration: 1, cfl: 1}\n"
                                    "grid: {warp: 0.75}\n"
                                    "liquid:\n"
                                    "  - box: {low: [0, 0, 0], high: [1, 0.3, 1]}\n"
                                    "  - sphere: {center: [0.5, 0.5, 0.5], radius: 0.15}\n";
    BrimScene *scene;
    BrimError error;
    BrimMesh own, read;
    BrimMeshDef def = brim_default_mesh_def();
    BrimMesher *mesher;
    BrimFrame frame;
    float(*bend)[3];
    size_t count;
    BrimSim *sim = start(drop, &scene, &error, NULL, 0);
    CHECK(sim != NULL);
    for (int i = 0; i < 3; i++) CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK_OK(brim_sim_mesh(sim, &def, &own, &error), error);
    CHECK_OK(brim_sim_bend(sim, &bend, &count, &error), error);
    CHECK_OK(brim_write_particles(sim, at("bent.ply"), &error), error);
    CHECK_OK(brim_frame_read(at("bent.ply"), &frame, &error), error);
    CHECK(frame.bend_count == count && count == 13 * 13 * 13);
    CHECK(memcmp(frame.bend, bend, count * sizeof *bend) == 0);
    CHECK_OK(brim_mesher_create(brim_scene_def(scene), &def, &mesher, &error), error);
    BrimParticles particles = brim_frame_particles(&frame);
    CHECK_OK(brim_mesher_mesh(mesher, &particles, 0, &read, &error), error);
    CHECK(own.triangle_count > 10000);
    CHECK_NEAR((double)read.triangle_count, (double)own.triangle_count,
               1e-3 * (double)own.triangle_count);
    CHECK_NEAR(brim_mesh_volume(&read), brim_mesh_volume(&own), 1e-4);
    brim_mesh_free(&read), brim_mesh_free(&own);
    particles.bend_count--;
    CHECK(brim_mesher_mesh(mesher, &particles, 0, &read, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "element bend, 2196 nodes") != NULL);
    particles.bend_count++;
    frame.bend[1000][1] += 1; // cells turned inside out
    CHECK(brim_mesher_mesh(mesher, &particles, 0, &read, &error) == BRIM_ERROR_INPUT);
    frame.bend[1000][1] = NAN;
    CHECK(brim_mesher_mesh(mesher, &particles, 0, &read, &error) == BRIM_ERROR_INPUT);
    brim_mesher_destroy(&mesher);
    brim_frame_free(&frame);
    free(bend);
    finish(&sim, &scene);
}
