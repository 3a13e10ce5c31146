// Bodies in pictures: each has the material that the scene gives it, by its number in the file.
#include "cases.h"
#include "look/look.h"
#include "scratch.h"
#include "test.h"

enum { BODIES = 3 };

/// Three balls side by side in shallow water, painted red, green, and as glass.
typedef struct Painted {
    Case c;
    BrimBodyDef body[BODIES];
    BrimSim *sim;
} Painted;

static BrimVec3 middle(int body) {
    return vec(0.5f + (float)body, 0.5f, 0.5f);
}

static BrimResult painted_new(Painted *p, BrimError *error) {
    p->c = case_box(3, 3, 24, 8, 8);
    case_liquid(&p->c, box_between(vec(0, 0, 0), vec(3, 0.2f, 1)));
    for (int i = 0; i < BODIES; i++) {
        p->body[i] = brim_default_body_def();
        p->body[i].shape = ball(middle(i), 0.25f);
        p->body[i].rigid = true;
    }
    p->body[0].look.colour = vec(0.8f, 0.1f, 0.1f);
    p->body[1].look.colour = vec(0.1f, 0.8f, 0.1f);
    p->body[1].look.roughness = 0.25f;
    p->body[2].look.glass = BRIM_GLASS_YES;
    p->c.def.bodies = p->body, p->c.def.body_count = BODIES;
    p->sim = NULL;
    return case_create(&p->c, &p->sim, error);
}

TEST(body_look_vertices_of_a_frame_tell_their_body) {
    Painted p;
    BrimError error;
    BrimMesh m;
    CHECK_OK(painted_new(&p, &error), error);
    CHECK_OK(brim_write_bodies(p.sim, at("bodies.ply"), &error), error);
    CHECK_OK(brim_mesh_read(at("bodies.ply"), &m, &error), error);
    size_t of[BODIES] = {0};
    for (size_t i = 0; i < m.vertex_count; i++) {
        CHECK(m.body[i] >= 0 && m.body[i] < BODIES);
        CHECK(m.body[i] == (int)m.position[i][0]);
        of[m.body[i]]++;
    }
    CHECK(of[0] > 20 && of[0] == of[1] && of[1] == of[2]);
    brim_mesh_free(&m);
    brim_sim_destroy(&p.sim);
}

TEST(body_look_each_has_its_own_material) {
    Painted p;
    BrimError error;
    Solids s;
    CHECK_OK(painted_new(&p, &error), error);
    CHECK_OK(brim_write_bodies(p.sim, at("bodies.ply"), &error), error);
    CHECK_OK(solids_new(&s, &p.c.def, 0, at("bodies.ply"), &error), error);
    CHECK(s.count == BODIES && !s.clear[0] && !s.clear[1] && s.clear[2]);
    BrimVec3 up = vec(0, 1, 0);
    for (int i = 0; i < 2; i++) {
        BrimVec3 top = vec_add(middle(i), vec(0, 0.25f, 0));
        BrimVec3 paint = solids_paint(&s, top, up, false);
        CHECK(vec_length(vec_sub(paint, p.body[i].look.colour)) == 0);
        CHECK(solids_roughness(&s, top) == (i == 0 ? 1 : 0.25f));
        float d;
        solids_distance(&s, true, 1, &top.x, &top.y, &top.z, &d, NULL);
        CHECK_NEAR(d, 0, 0.02);
    }
    solids_free(&s);
    // a def that does not list them, as that of a simulation, draws them in clay
    BrimSimDef bare = p.c.def;
    bare.bodies = NULL, bare.body_count = 0;
    CHECK_OK(solids_new(&s, &bare, 0, at("bodies.ply"), &error), error);
    CHECK(s.count == BODIES && s.look[0].colour.x == 0 && s.look[0].roughness == 1);
    solids_free(&s);
    brim_sim_destroy(&p.sim);
}

TEST(body_look_refuses_a_file_whose_bodies_are_mixed_up) {
    Painted p;
    BrimError error;
    BrimMesh m;
    Solids s;
    CHECK_OK(painted_new(&p, &error), error);
    CHECK_OK(brim_write_bodies(p.sim, at("bodies.ply"), &error), error);
    CHECK_OK(brim_mesh_read(at("bodies.ply"), &m, &error), error);
    int32_t last = m.body[m.vertex_count - 1];
    const int32_t wrong[3] = {last + 2, -1, 0};
    for (int i = 0; i < 3; i++) {
        m.body[m.vertex_count - 1] = wrong[i];
        CHECK_OK(brim_write_mesh(&m, 0, 0, BRIM_MESH_PLY, at("mixed.ply"), &error), error);
        CHECK(solids_new(&s, &p.c.def, 0, at("mixed.ply"), &error) == BRIM_ERROR_INPUT);
        CHECK(strstr(error.message, "mixed.ply"));
        solids_free(&s);
    }
    brim_mesh_free(&m);
    brim_sim_destroy(&p.sim);
}
