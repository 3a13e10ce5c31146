// The public interface with nothing where something belongs: every function of brim.h in its order.
// None crashes; those with an error refuse with BRIM_ERROR_INPUT and a message that says what is
// missing, the others answer with nothing.
#include "cases.h"
#include "scratch.h"
#include "test.h"

/// Refused as input, with a message, and without an error to fill too.
#define REFUSED(CALL)                                                         \
    do {                                                                      \
        BrimError said = {0}, *error = &said;                                 \
        CHECK((CALL) == BRIM_ERROR_INPUT && said.result == BRIM_ERROR_INPUT); \
        CHECK(*said.message);                                                 \
        error = NULL;                                                         \
        CHECK((CALL) == BRIM_ERROR_INPUT);                                    \
    } while (0)

static BrimSim *some_sim(int dim) {
    Case c = case_box(dim, 1, 8, 8, dim == 3 ? 8 : 1);
    BrimSim *sim = NULL;
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.5f, 0.5f, 0.5f}));
    return case_create(&c, &sim, NULL) == BRIM_OK ? sim : NULL;
}

TEST(null_simulations_are_refused) {
    BrimSim *none = NULL, *sim = some_sim(3);
    BrimSimDef def = brim_default_sim_def();
    BrimSolidDef solid = brim_default_solid_def();
    BrimVec3 zero = {0, 0, 0};
    float out[8] = {7};
    int low[3] = {0, 0, 0}, high[3] = {1, 1, 1};
    CHECK(sim);
    REFUSED(brim_sim_create(NULL, &none, error));
    REFUSED(brim_sim_create(&def, NULL, error));
    brim_sim_destroy(NULL);
    brim_sim_destroy(&none);
    REFUSED(brim_sim_step(NULL, error));
    REFUSED(brim_sim_advance_frame(NULL, error));
    CHECK(brim_sim_time(NULL) == 0 && brim_sim_step_count(NULL) == 0);
    CHECK(brim_sim_frame(NULL) == 0 && brim_sim_frame_count(NULL) == 0);
    CHECK(!brim_sim_def(NULL) && brim_sim_threads(NULL) == 0 && !*brim_sim_isa_name(NULL));
    CHECK(brim_sim_particles(NULL).count == 0 && !brim_sim_stats(NULL));
    CHECK(!brim_sim_bounds(NULL, low, high) && !brim_sim_bounds(sim, NULL, high));
    CHECK(!brim_sim_bounds(sim, low, NULL));
    high[0] = high[1] = high[2] = 1;
    REFUSED(brim_sim_field(NULL, BRIM_FIELD_DENSITY, out, 8, error));
    REFUSED(brim_sim_field(sim, BRIM_FIELD_DENSITY, NULL, 8, error));
    REFUSED(brim_sim_field_box(NULL, BRIM_FIELD_DENSITY, low, high, out, 8, error));
    REFUSED(brim_sim_field_box(sim, BRIM_FIELD_DENSITY, NULL, high, out, 8, error));
    REFUSED(brim_sim_field_box(sim, BRIM_FIELD_DENSITY, low, NULL, out, 8, error));
    REFUSED(brim_sim_field_box(sim, BRIM_FIELD_DENSITY, low, high, NULL, 8, error));
    REFUSED(brim_sim_field_box(sim, (BrimField)99, low, high, out, 8, error));
    brim_sim_solid_distance(NULL, 1, out, out, out, out);
    brim_sim_solid_distance(sim, 1, NULL, out, out, out);
    brim_sim_solid_distance(sim, 1, out, NULL, out, out);
    brim_sim_solid_distance(sim, 1, out, out, NULL, out);
    brim_sim_solid_distance(sim, 1, out, out, out, NULL);
    CHECK(out[0] == 7);
    REFUSED(brim_sim_add_solid(NULL, &solid, NULL, error));
    REFUSED(brim_sim_add_solid(sim, NULL, NULL, error));
    REFUSED(brim_sim_move_solid(NULL, 0, zero, zero, 0, error));
    REFUSED(brim_sim_move_solid(sim, 0, zero, zero, 0, error));
    CHECK(!brim_stats_column(-1) && !brim_stats_column(9999));
    CHECK(brim_stats_value(NULL, 0) == 0 && brim_stats_value(brim_sim_stats(sim), -1) == 0);
    CHECK(!brim_stage_name((BrimStage)-1) && !brim_stage_name(BRIM_STAGE_COUNT));
    REFUSED(brim_sim_save(NULL, at("null.brim"), error));
    REFUSED(brim_sim_save(sim, NULL, error));
    REFUSED(brim_sim_load(NULL, at("null.brim"), &none, error));
    REFUSED(brim_sim_load(&def, NULL, &none, error));
    REFUSED(brim_sim_load(&def, at("null.brim"), NULL, error));
    brim_sim_destroy(&sim);
}

TEST(null_scenes_and_runs_are_refused) {
    static const char *const sets[] = {NULL};
    static const char text[] = "brim: 1\ndomain: {size: [1, 1, 1], cells: 8}\n";
    BrimScene *scene = NULL, *none = NULL;
    BrimRun *run = NULL;
    BrimError e;
    BrimEstimate *estimate = calloc(1, sizeof *estimate);
    REFUSED(brim_scene_load(NULL, NULL, 0, &none, error));
    REFUSED(brim_scene_load(at("null.yaml"), NULL, 0, NULL, error));
    REFUSED(brim_scene_parse(text, sizeof text - 1, NULL, NULL, 1, &none, error));
    REFUSED(brim_scene_parse(text, sizeof text - 1, NULL, sets, 1, &none, error));
    REFUSED(brim_scene_parse(text, sizeof text - 1, NULL, NULL, 0, NULL, error));
    REFUSED(brim_scene_parse(NULL, 5, NULL, NULL, 0, &none, error));
    CHECK(!none);
    brim_scene_destroy(NULL);
    brim_scene_destroy(&none);
    CHECK(brim_scene_locate(NULL, NULL) == BRIM_OK);
    CHECK(!brim_scene_def(NULL) && !brim_scene_json(NULL));
    CHECK(!brim_scene_field(-1) && !brim_scene_field(99999));
    REFUSED(brim_estimate(NULL, false, estimate, error));
    REFUSED(brim_estimate(&(BrimSimDef){0}, false, NULL, error));
    CHECK_OK(brim_scene_parse(text, sizeof text - 1, NULL, NULL, 0, &scene, &e), e);
    REFUSED(brim_run_open(NULL, at("null-run"), NULL, &run, error));
    REFUSED(brim_run_open(scene, NULL, NULL, &run, error));
    REFUSED(brim_run_open(scene, at("null-run"), NULL, NULL, error));
    CHECK(!exists(at("null-run")));
    REFUSED(brim_run_step(NULL, error));
    REFUSED(brim_run_checkpoint(NULL, error));
    CHECK(brim_run_done(NULL) && brim_run_frame_count(NULL) == 0 && !brim_run_sim(NULL));
    CHECK(!*brim_run_message(NULL) && !*brim_run_last_checkpoint(NULL));
    CHECK(brim_run_passed_over(NULL) == 0);
    brim_run_close(NULL);
    brim_run_close(&run);
    brim_scene_destroy(&scene);
    free(estimate);
}

TEST(null_files_are_refused) {
    BrimSim *sim = some_sim(2);
    BrimFrame frame = {0};
    BrimMesh mesh = {0};
    BrimTable table = {0};
    char text[64];
    float *values = NULL;
    size_t count = 0;
    CHECK(sim);
    REFUSED(brim_write_particles(NULL, at("x"), error));
    REFUSED(brim_write_particles(sim, NULL, error));
    REFUSED(brim_write_fields(NULL, at("x"), error));
    REFUSED(brim_write_fields(sim, NULL, error));
    REFUSED(brim_frame_read(NULL, &frame, error));
    REFUSED(brim_frame_read(at("x"), NULL, error));
    brim_frame_free(NULL);
    brim_frame_free(&frame);
    CHECK(brim_frame_particles(NULL).count == 0 && brim_frame_particles(&frame).count == 0);
    REFUSED(brim_frame_values(NULL, "a", &values, &count, error));
    REFUSED(brim_frame_values(at("x"), NULL, &values, &count, error));
    REFUSED(brim_frame_values(at("x"), "a", NULL, &count, error));
    REFUSED(brim_frame_values(at("x"), "a", &values, NULL, error));
    REFUSED(brim_describe_file(NULL, text, sizeof text, error));
    REFUSED(brim_describe_file(at("x"), NULL, sizeof text, error));
    REFUSED(brim_write_mesh(NULL, 0, 0, BRIM_MESH_PLY, at("x"), error));
    REFUSED(brim_write_mesh(&mesh, 0, 0, BRIM_MESH_PLY, NULL, error));
    REFUSED(brim_mesh_read(NULL, &mesh, error));
    REFUSED(brim_mesh_read(at("x"), NULL, error));
    REFUSED(brim_write_text(NULL, "", error));
    REFUSED(brim_write_text(at("x"), NULL, error));
    REFUSED(brim_table_read(NULL, &table, error));
    REFUSED(brim_table_read(at("x"), NULL, error));
    brim_table_free(NULL);
    brim_table_free(&table);
    CHECK(!brim_table_column(NULL, "a") && !brim_table_column(&table, NULL));
    CHECK(!brim_table_column(&table, "a") && !exists(at("x")));
    brim_sim_destroy(&sim);
}

TEST(null_surfaces_are_refused) {
    BrimSim *sim = some_sim(3);
    BrimSimDef def = *brim_sim_def(sim);
    BrimMeshDef mesh_def = brim_default_mesh_def();
    BrimParticles particles = {0};
    BrimMesher *mesher = NULL;
    BrimMesh mesh = {0};
    REFUSED(brim_mesher_create(NULL, &mesh_def, &mesher, error));
    REFUSED(brim_mesher_create(&def, NULL, &mesher, error));
    REFUSED(brim_mesher_create(&def, &mesh_def, NULL, error));
    brim_mesher_destroy(NULL);
    brim_mesher_destroy(&mesher);
    REFUSED(brim_mesher_mesh(NULL, &particles, 0, &mesh, error));
    REFUSED(brim_sim_mesh(NULL, &mesh_def, &mesh, error));
    REFUSED(brim_sim_mesh(sim, NULL, &mesh, error));
    REFUSED(brim_sim_mesh(sim, &mesh_def, NULL, error));
    brim_mesh_free(NULL);
    brim_mesh_free(&mesh);
    CHECK(brim_mesh_volume(NULL) == 0 && brim_mesh_volume(&mesh) == 0);
    CHECK(brim_mesher_create(&def, &mesh_def, &mesher, NULL) == BRIM_OK);
    REFUSED(brim_mesher_mesh(mesher, NULL, 0, &mesh, error));
    REFUSED(brim_mesher_mesh(mesher, &particles, 0, NULL, error));
    brim_mesher_destroy(&mesher);
    brim_sim_destroy(&sim);
}

TEST(null_pictures_and_plots_are_refused) {
    BrimSimDef def = brim_default_sim_def();
    BrimPictureDef picture = brim_default_picture_def();
    BrimFrame frame = {0};
    BrimPlotDef plot = {0};
    const char *const pictures[] = {NULL};
    char text[8], *svg = NULL;
    double low, high;
    REFUSED(brim_write_picture(NULL, &frame, NULL, 0, &picture, at("x"), error));
    REFUSED(brim_write_picture(&def, NULL, NULL, 0, &picture, at("x"), error));
    REFUSED(brim_write_picture(&def, &frame, NULL, 0, NULL, at("x"), error));
    REFUSED(brim_write_picture(&def, &frame, NULL, 0, &picture, NULL, error));
    REFUSED(brim_picture_range(NULL, &frame, &picture, &low, &high, error));
    REFUSED(brim_picture_range(&def, NULL, &picture, &low, &high, error));
    REFUSED(brim_picture_range(&def, &frame, NULL, &low, &high, error));
    REFUSED(brim_picture_range(&def, &frame, &picture, NULL, &high, error));
    REFUSED(brim_picture_range(&def, &frame, &picture, &low, NULL, error));
    picture.colour = NULL;
    REFUSED(brim_picture_range(&def, &frame, &picture, &low, &high, error));
    REFUSED(brim_picture_note(NULL, text, sizeof text, error));
    REFUSED(brim_picture_note(at("x"), NULL, sizeof text, error));
    REFUSED(brim_join_pictures(NULL, 1, 1, at("x"), error));
    REFUSED(brim_join_pictures(pictures, 1, 1, NULL, error));
    REFUSED(brim_join_pictures(pictures, 1, 1, at("x"), error));
    REFUSED(brim_plot_svg(NULL, &svg, error));
    REFUSED(brim_plot_svg(&plot, NULL, error));
    plot.panel_count = 1;
    REFUSED(brim_plot_svg(&plot, &svg, error));
    BrimPanelDef panel = {.series_count = 1};
    plot.panels = &panel;
    REFUSED(brim_plot_svg(&plot, &svg, error));
    BrimSeries series = {.count = 3};
    panel.series = &series;
    REFUSED(brim_plot_svg(&plot, &svg, error));
    brim_text_free(NULL);
    brim_text_free(&svg);
    CHECK(!exists(at("x")));
}

TEST(lost_simulation_is_neither_stepped_nor_saved) {
    BrimSim *sim = some_sim(2);
    BrimError error = {0};
    CHECK(sim);
    CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK_OK(brim_sim_save(sim, at("lost.brim"), &error), error);
    CHECK(unlink(at("lost.brim")) == 0);
    brim_sim_particles(sim).vx[3] = NAN;
    CHECK(brim_sim_step(sim, &error) == BRIM_LOST_DIVERGED);
    CHECK(brim_sim_save(sim, at("lost.brim"), &error) == BRIM_LOST_DIVERGED);
    CHECK(strstr(error.message, "lost") && !exists(at("lost.brim")));
    CHECK(brim_sim_step(sim, &error) == BRIM_LOST_DIVERGED);
    CHECK(brim_sim_advance_frame(sim, &error) == BRIM_LOST_DIVERGED);
    brim_sim_destroy(&sim);
}
