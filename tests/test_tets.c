// Meshes of tetrahedra: stuffing of shapes, files, what is refused.
#include "elastic/stuff.h"
#include "scratch.h"
#include "solid/shape.h"
#include "test.h"
#include <math.h>

static void shape_field(const void *context, int n, const float *x, const float *y, const float *z,
                        float *distance) {
    shape_distance(context, n, x, y, z, distance);
}

static BrimResult stuff(const BrimShapeDef *def, double edge, Tetmesh *mesh, BrimError *error) {
    Shape *shape = NULL;
    float low[3], high[3];
    BrimResult r = shape_new(def, 3, 0.05f, &shape, error);
    if (r != BRIM_OK) return r;
    Region region = {.distance = shape_field, .context = shape};
    shape_bounds(shape, low, high);
    for (int a = 0; a < 3; a++) region.low[a] = low[a], region.high[a] = high[a];
    r = stuff_region(&region, edge, "shape", mesh, error);
    shape_free(&shape);
    return r;
}

/// The least and greatest angle between faces of a tetrahedron, degrees.
static void dihedral(const Tetmesh *m, size_t tet, double *least, double *most) {
    double n[4][3];
    static const int side[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    for (int f = 0; f < 4; f++) {
        double e[3], g[3], length = 0;
        const float *a = m->vertices[m->tets[tet][side[f][0]]];
        for (int c = 0; c < 3; c++) {
            e[c] = (double)m->vertices[m->tets[tet][side[f][1]]][c] - a[c];
            g[c] = (double)m->vertices[m->tets[tet][side[f][2]]][c] - a[c];
        }
        for (int c = 0; c < 3; c++) {
            n[f][c] = e[(c + 1) % 3] * g[(c + 2) % 3] - e[(c + 2) % 3] * g[(c + 1) % 3];
            length += n[f][c] * n[f][c];
        }
        for (int c = 0; c < 3; c++) n[f][c] /= sqrt(length);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) {
            double dot = n[i][0] * n[j][0] + n[i][1] * n[j][1] + n[i][2] * n[j][2];
            double angle = 180 - acos(fmax(-1, fmin(1, dot))) * 180 / M_PI;
            *least = fmin(*least, angle), *most = fmax(*most, angle);
        }
}

static double enclosed(const Trimesh *s) {
    double sum = 0;
    for (size_t t = 0; t < s->triangle_count; t++) {
        const float *a = s->vertices[s->triangles[t][0]], *b = s->vertices[s->triangles[t][1]];
        const float *c = s->vertices[s->triangles[t][2]];
        sum += (double)a[0] * ((double)b[1] * c[2] - (double)b[2] * c[1]) +
               (double)a[1] * ((double)b[2] * c[0] - (double)b[0] * c[2]) +
               (double)a[2] * ((double)b[0] * c[1] - (double)b[1] * c[0]);
    }
    return sum / 6;
}

static BrimShapeDef ball(float radius) {
    BrimShapeDef s = brim_default_shape_def();
    s.kind = BRIM_SHAPE_SPHERE, s.radius = radius;
    return s;
}

TEST(tets_fill_shapes) {
    // closed surface, good angles, the shape's volume, about as many as asked for
    BrimShapeDef bitten[2] = {ball(1), ball(0.7f)}, torus = brim_default_shape_def();
    bitten[1].position.x = 1;
    torus.kind = BRIM_SHAPE_TORUS, torus.radius = 1, torus.tube = 0.4f;
    BrimShapeDef bite = brim_default_shape_def();
    bite.kind = BRIM_SHAPE_DIFFERENCE, bite.children = bitten, bite.child_count = 2;
    const struct {
        BrimShapeDef shape;
        double edge, volume, missing;
    } cases[] = {{ball(1), 0.4, 4.18879, 0.06},
                 {ball(1), 0.2, 4.18879, 0.02},
                 {torus, 0.15, 2 * M_PI * M_PI * 0.16, 0.05},
                 {bite, 0.15, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tetmesh m = {0};
        Trimesh surface = {0};
        BrimError error;
        CHECK_OK(stuff(&cases[i].shape, cases[i].edge, &m, &error), error);
        CHECK_OK(tetmesh_check(&m, "stuffed", &error), error);
        CHECK_OK(tetmesh_surface(&m, "stuffed", &surface, &error), error);
        size_t triangles = surface.triangle_count;
        CHECK_OK(trimesh_close(&surface, "stuffed", &error), error); // a closed 2-manifold
        CHECK(surface.triangle_count == triangles);
        double least = 180, most = 0, volume = 0;
        for (size_t t = 0; t < m.tet_count; t++) {
            dihedral(&m, t, &least, &most);
            volume += tetmesh_volume(&m, t);
        }
        CHECK(least > 9 && most < 166);
        CHECK_NEAR(enclosed(&surface) / volume, 1, 1e-5);
        double wanted = cases[i].volume;
        if (wanted > 0) {
            CHECK(volume < wanted && volume > wanted * (1 - cases[i].missing));
            double asked = (double)m.tet_count;
            CHECK_NEAR(stuff_edge(wanted, asked) / cases[i].edge, 1, 0.1);
        }
        trimesh_free(&surface);
        tetmesh_free(&m);
    }
}

TEST(tets_from_files_of_all_kinds) {
    // two tets that share a face, as each program writes them
    static const char *const text[] = {
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n10 0 0 0\n20 1 0 0\n30 0 1 0\n40 0 0 1\n"
        "7 1 1 1\n$EndNodes\n$Elements\n3\n1 2 2 0 1 10 20 30\n2 4 2 0 1 10 20 30 40\n"
        "3 4 2 0 1 20 30 40 7\n$EndElements\n",
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n2 5 1 5\n3 1 0 3\n1\n2\n3\n0 0 0\n1 0 0\n"
        "0 1 0\n3 2 1 2\n4\n5\n0 0 1 0.5 0.5 0.5\n1 1 1 0 0 0\n$EndNodes\n$Elements\n2 3 1 3\n"
        "2 1 2 1\n1 1 2 3\n3 1 4 2\n2 1 2 3 4\n3 2 3 4 5\n$EndElements\n",
        "MeshVersionFormatted 2\nDimension 3\nVertices\n5\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n"
        "1 1 1 0\nTriangles\n1\n1 2 3 0\nTetrahedra\n2\n1 2 3 4 0\n2 3 4 5 0\nEnd\n",
        "# vtk DataFile Version 3.0\na title with CELLS 9\nASCII\nDATASET UNSTRUCTURED_GRID\n"
        "POINTS 5 float\n0 0 0 1 0 0 0 1 0\n0 0 1 1 1 1\nCELLS 3 14\n3 0 1 2\n4 0 1 2 3\n"
        "4 1 2 3 4\nCELL_TYPES 3\n5\n10\n10\n",
        "# vtk DataFile Version 5.1\ntitle\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n"
        "0 0 0 1 0 0 0 1 0 0 0 1 1 1 1\nCELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\n"
        "CONNECTIVITY vtktypeint64\n0 1 2 3 1 2 3 4\nCELL_TYPES 2\n10\n10\n"};
    static const char *const ending[] = {".msh", ".msh", ".mesh", ".vtk", ".vtk"};
    for (int n = 0; n < 6; n++) {
        char name[32];
        snprintf(name, sizeof name, "two%s", n < 5 ? ending[n] : ".ele");
        const char *path = at(name);
        if (n < 5) put_text(path, text[n]);
        if (n == 5) {
            put_text(path, "# tets\n2 4 0\n0 0 1 2 3\n1 1 2 3 4\n");
            put_text(at("two.node"),
                     "5 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n# last\n3 0 0 1\n4 1 1 1\n");
            path = at("two.node");
        }
        Tetmesh m = {0};
        Trimesh surface = {0};
        BrimError error;
        CHECK_OK(tetmesh_load(path, &m, &error), error);
        CHECK(m.vertex_count == 5 && m.tet_count == 2);
        CHECK_NEAR(tetmesh_volume(&m, 0), 1.0 / 6, 1e-6);
        CHECK_NEAR(tetmesh_volume(&m, 1), 1.0 / 3, 1e-6);
        CHECK_OK(trimesh_load(path, &surface, &error), error);
        CHECK(surface.triangle_count == 6 && surface.vertex_count == 5 && surface.oriented);
        CHECK_NEAR(enclosed(&surface), 0.5, 1e-6);
        tetmesh_free(&m);
        trimesh_free(&surface);
    }
}

TEST(tets_that_cannot_be_are_named) {
    static const struct {
        const char *ending, *text, *says;
    } cases[] = {
        {".mesh", "MeshVersionFormatted 2\nVertices\n4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n",
         "no tetrahedra"},
        {".mesh",
         "MeshVersionFormatted 2\nVertices\n4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n1 1 0 0\n"
         "Tetrahedra\n1\n1 2 3 4 0\n",
         "flat"},
        {".mesh",
         "MeshVersionFormatted 2\nVertices\n5\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 -1 0\n"
         "Tetrahedra\n2\n1 2 3 4 0\n1 2 3 5 0\n",
         "1 of 2 tetrahedra are inverted, the first is 2"},
        {".mesh",
         "MeshVersionFormatted 2\nVertices\n4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n"
         "Tetrahedra\n1\n1 2 3 9 0\n",
         "vertex 9"},
        {".mesh", "hello\n", "not a Medit mesh"},
        {".mesh", "MeshVersionFormatted 2\nVertices\n4\n0 0 nan 0\n", ":4: three finite"},
        {".msh", "$MeshFormat\n4.1 1 8\n", "binary"},
        {".msh", "$MeshFormat\n3 0 8\n", "2.2 or 4.1"},
        {".msh", "$Nodes\n1\n", "node"},
        {".msh", "$MeshFormat\n4.1 0 8\n$Nodes\n99999999999 5 1 5\n", "block of nodes"},
        {".vtk", "# vtk DataFile Version 3.0\nt\nBINARY\n", "ASCII"},
        {".vtk", "solid\n", "legacy VTK"},
        {".vtk",
         "# vtk DataFile Version 3.0\nt\nASCII\nPOINTS 1 float\n0 0 0\nCELLS 1 5\n4 0 0 0 0\n"
         "CELL_TYPES 2\n10 10\n",
         "type for each"},
        {".ele", "1 4 0\n1 1 2 3 4\n", "bad.node"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        snprintf(name, sizeof name, "bad%s", cases[i].ending);
        const char *path = at(name);
        put_text(path, cases[i].text);
        Tetmesh m = {0};
        BrimError error = {0};
        CHECK(tetmesh_load(path, &m, &error) != BRIM_OK);
        if (!strstr(error.message, cases[i].says)) printf("%s\n", error.message);
        CHECK(strstr(error.message, cases[i].says));
        tetmesh_free(&m);
    }
    Tetmesh m = {0};
    BrimError error = {0};
    BrimShapeDef small = ball(0.01f);
    CHECK(stuff(&small, 1, &m, &error) == BRIM_ERROR_INPUT || m.tet_count > 0);
    tetmesh_free(&m);
    CHECK(stuff(&small, 1e-6, &m, &error) == BRIM_ERROR_INPUT && strstr(error.message, "longer"));
    tetmesh_free(&m);
}

TEST(tets_as_the_host_asks) {
    // as many as asked for; what is written reads back; too coarse ones name what works
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_TORUS, shape.radius = 1, shape.tube = 0.3f;
    BrimTets tets, back;
    BrimError error;
    CHECK_OK(brim_tets_fill(&shape, 5000, 0, &tets, &error), error);
    CHECK_NEAR((double)tets.tet_count / 5000, 1, 0.05);
    CHECK(tets.least_angle > 9 && tets.greatest_angle < 166);
    static const char *const ending[] = {"t.msh", "t.mesh", "t.vtk"};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(brim_write_tets(&tets, at(ending[i]), &error), error);
        CHECK_OK(brim_tets_read(at(ending[i]), &back, &error), error);
        CHECK(back.tet_count == tets.tet_count && back.vertex_count == tets.vertex_count);
        CHECK(memcmp(back.position, tets.position, tets.vertex_count * 12) == 0);
        CHECK(memcmp(back.corner, tets.corner, tets.tet_count * 16) == 0);
        brim_tets_free(&back);
    }
    CHECK(brim_write_tets(&tets, at("t.obj"), &error) == BRIM_ERROR_INPUT);
    brim_tets_free(&tets);
    CHECK(brim_tets_fill(&shape, 0, 1, &tets, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "at most 0.6"));
    CHECK(brim_tets_fill(&shape, 10, 0, &tets, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "at least"));
    CHECK(brim_tets_fill(&shape, 10, 1, &tets, &error) == BRIM_ERROR_INPUT);
    shape.kind = BRIM_SHAPE_PLANE;
    CHECK(brim_tets_fill(&shape, 10, 0, &tets, &error) == BRIM_ERROR_INPUT);
}
