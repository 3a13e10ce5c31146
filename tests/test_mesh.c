// Surfaces from particles: closed and two-manifold, the right volume, flat at walls, the same bytes
// whatever the threads, the instruction set and the order of the particles.
#include "base/hash.h"
#include "cases.h"
#include "cloud.h"
#include "mesh/mesh.h"
#include "mesh_check.h"
#include "scratch.h"
#include "solid/trimesh.h"
#include "test.h"

static float unit(uint64_t i, uint64_t k) {
    return hash_unit(hash_3(9, i, k), 0);
}

/// Adds a jittered lattice, as a scene is seeded, where `inside` says so.
static void cloud_fill(Cloud *c, const BrimSimDef *def, double jitter,
                       bool (*inside)(double x, double y, double z)) {
    int n = (int)lround(cbrt(def->particles_per_cell));
    double step = (double)def->size.x / def->cells[0] / n;
    for (int k = 0; k < n * def->cells[2]; k++)
        for (int j = 0; j < n * def->cells[1]; j++)
            for (int i = 0; i < n * def->cells[0]; i++) {
                uint64_t name = (uint64_t)((k * 4096 + j) * 4096 + i);
                double x = (i + 0.5) * step, y = (j + 0.5) * step, z = (k + 0.5) * step;
                if (!inside(x, y, z)) continue;
                cloud_add(c, x + jitter * step * (unit(name, 1) - 0.5),
                          y + jitter * step * (unit(name, 2) - 0.5),
                          z + jitter * step * (unit(name, 3) - 0.5));
            }
}

static BrimSimDef cube_def(int cells, int per_cell) {
    BrimSimDef def = brim_default_sim_def();
    def.size = (BrimVec3){1, 1, 1};
    def.cells[0] = def.cells[1] = def.cells[2] = cells;
    def.particles_per_cell = per_cell;
    return def;
}

static BrimResult make(const BrimSimDef *def, const BrimMeshDef *mesh_def, const Cloud *c,
                       BrimMesh *mesh, BrimError *error) {
    BrimMesher *mesher = NULL;
    BrimParticles p = cloud_view(c);
    *mesh = (BrimMesh){0};
    BrimResult r = brim_mesher_create(def, mesh_def, &mesher, error);
    if (r == BRIM_OK) r = brim_mesher_mesh(mesher, &p, 0, mesh, error);
    brim_mesher_destroy(&mesher);
    return r;
}

#define CHECK_CLOSED(MESH, CELL)                                            \
    do {                                                                    \
        const char *problem_ = mesh_problem(MESH, CELL);                    \
        if (problem_) test_fail(test_, __FILE__, __LINE__, "%s", problem_); \
        if (problem_) return;                                               \
    } while (0)

// -------------------------------------------------------------------------------------- table

TEST(march_table_covers_all_cubes) {
    MarchTable table;
    march_table_init(&table);
    for (int in = 0; in < 256; in++) {
        CHECK(table.count[in] <= 10);
        CHECK((table.count[in] == 0) == (in == 0 || in == 255));
        unsigned used = 0, cut = 0;
        for (int k = 0; k < table.count[in]; k++)
            for (int m = 0; m < 3; m++) used |= 1u << table.edges[in][k][m];
        for (int e = 0; e < 12; e++) {
            int axis = e / 4, low = (e & 1) << (axis + 1) % 3 | (e >> 1 & 1) << (axis + 2) % 3;
            if ((in >> low & 1) != (in >> (low | 1 << axis) & 1)) cut |= 1u << e;
        }
        CHECK(used == cut);
    }
}

// ----------------------------------------------------------------------------- random particles

/// Dense at the floor, thinner above, with clumps, and some on and beyond the sides.
static void random_cloud(Cloud *c, int seed) {
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t n = i + 100000u * (uint64_t)seed;
        double x = unit(n, 1), y = unit(n, 2), z = unit(n, 3);
        if (i % 3 == 0) y = y * y * y * 0.4;
        if (i % 7 == 0) x = floor(x * 8) / 8 + 0.01 * unit(n, 4), z = floor(z * 8) / 8;
        if (i % 101 == 0) x = unit(n, 5) < 0.5 ? -1e-4 : 1.0001;
        cloud_add(c, x, y, z);
    }
}

TEST(mesh_of_random_particles_is_closed_and_manifold) {
    for (int seed = 0; seed < 4; seed++)
        for (int resolution = 1; resolution <= 3; resolution++) {
            Cloud c = cloud_new();
            random_cloud(&c, seed);
            BrimSimDef def = cube_def(seed < 2 ? 12 : 11, seed == 1 ? 1 : 8);
            BrimMeshDef md = brim_default_mesh_def();
            md.resolution = resolution, md.smooth = 0;
            md.anisotropic = seed == 3;
            BrimMesh mesh;
            BrimError error;
            CHECK_OK(make(&def, &md, &c, &mesh, &error), error);
            CHECK(mesh.triangle_count > 1000);
            CHECK_CLOSED(&mesh, 1.0 / def.cells[0]);
            CHECK(brim_mesh_volume(&mesh) > 0.01);
            for (size_t v = 0; v < mesh.vertex_count; v++)
                for (int k = 0; k < 3; k++)
                    CHECK(mesh.position[v][k] >= 0 && mesh.position[v][k] <= 1);
            brim_mesh_free(&mesh);
            cloud_free(&c);
        }
}

TEST(mesh_is_the_same_bytes_for_threads_isa_and_order) {
    Cloud c = cloud_new(), shuffled = cloud_new();
    random_cloud(&c, 7);
    for (size_t i = 0; i < c.count; i++) {
        size_t from = (i * 1009 + 5) % c.count;
        cloud_add(&shuffled, c.x[from], c.y[from], c.z[from]);
        c.vx[i] = c.x[i], c.vy[i] = unit(i, 6);
        shuffled.id[i] = (uint32_t)from;
        shuffled.vx[i] = c.x[from], shuffled.vy[i] = unit(from, 6);
    }
    BrimSimDef def = cube_def(20, 8);
    static const int threads[] = {1, 2, 3, 8, 1, 1, 2};
    static const BrimIsa isa[] = {0, 0, 0, 0, BRIM_ISA_BASE, BRIM_ISA_AVX2, 0};
    for (int anisotropic = 0; anisotropic < 2; anisotropic++) {
        uint64_t expected = 0;
        for (int i = 0; i < 7; i++) {
            BrimMeshDef md = brim_default_mesh_def();
            md.threads = threads[i], md.isa = isa[i], md.anisotropic = anisotropic;
            BrimMesh m;
            BrimError error;
            CHECK_OK(make(&def, &md, i == 6 ? &shuffled : &c, &m, &error), error);
            uint64_t h = hash_bytes(0, m.position, m.vertex_count * sizeof *m.position);
            h = hash_bytes(h, m.normal, m.vertex_count * sizeof *m.normal);
            h = hash_bytes(h, m.velocity, m.vertex_count * sizeof *m.velocity);
            h = hash_bytes(h, m.triangle, m.triangle_count * sizeof *m.triangle);
            if (i == 0) expected = h;
            CHECK(m.vertex_count > 1000 && h == expected);
            brim_mesh_free(&m);
        }
    }
    cloud_free(&c), cloud_free(&shuffled);
}

// -------------------------------------------------------------------------------------- volume

static bool half_tank(double x, double y, double z) {
    (void)x, (void)z;
    return y < 0.5;
}

static bool drop(double x, double y, double z) {
    return (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5) + (z - 0.5) * (z - 0.5) < 0.16;
}

static bool column(double x, double y, double z) {
    return x < 0.4 && y < 0.6 && z < 0.5;
}

TEST(mesh_volume_is_that_of_the_particles) {
    bool (*const shapes[])(double, double, double) = {half_tank, drop, column};
    static const int per_cell[] = {8, 8, 8, 27}, resolution[] = {1, 2, 3, 2};
    static const int cells[] = {20, 20, 28};
    for (int shape = 0; shape < 3; shape++)
        for (int i = shape > 0; i < (quick() ? 2 : 4); i++) // 1 node a cell cuts off arcs and edges
            for (int anisotropic = 0; anisotropic < (i == 1 ? 2 : 1); anisotropic++) {
                Cloud c = cloud_new();
                BrimSimDef def = cube_def(cells[shape], per_cell[i]);
                cloud_fill(&c, &def, 0.5, shapes[shape]);
                BrimMeshDef md = brim_default_mesh_def();
                md.resolution = resolution[i], md.anisotropic = anisotropic;
                BrimMesh mesh;
                BrimError error;
                CHECK_OK(make(&def, &md, &c, &mesh, &error), error);
                CHECK_CLOSED(&mesh, 0.05);
                double wanted = (double)c.count / per_cell[i] / pow(cells[shape], 3);
                CHECK_NEAR(brim_mesh_volume(&mesh) / wanted, 1, 0.005);
                brim_mesh_free(&mesh);
                cloud_free(&c);
            }
}

// Below a moving surface water is denser than deep in it, so that the surface of averaged positions
// lies too far in: without their number the volume is 0.97 to 0.98.
TEST(mesh_of_moving_water_holds_its_particles) {
    Case c = case_box(3, 1, 24, 12, 12);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.3f, 0.35f, 0.5f}));
    BrimSim *sim;
    BrimError error;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int frame = 1; frame <= 60; frame++) {
        CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        if (frame % 20) continue;
        BrimMeshDef md = brim_default_mesh_def();
        BrimMesh mesh;
        CHECK_OK(brim_sim_mesh(sim, &md, &mesh, &error), error);
        CHECK_CLOSED(&mesh, 1.0 / 24);
        double wanted = (double)brim_sim_particles(sim).count / 8 / pow(24, 3);
        CHECK_NEAR(brim_mesh_volume(&mesh) / wanted, 1, 0.005);
        brim_mesh_free(&mesh);
    }
    brim_sim_destroy(&sim);
}

TEST(mesh_of_lone_particles_is_a_ball_each) {
    Cloud c = cloud_new();
    BrimSimDef def = cube_def(32, 8);
    for (uint64_t i = 0; i < 343; i++) // four cells apart
        cloud_add(&c, (i % 7 * 4 + 3 + unit(i, 1)) / 32, (i / 7 % 7 * 4 + 3 + unit(i, 2)) / 32,
                  (i / 49 * 4 + 3 + unit(i, 3)) / 32);
    BrimMeshDef md = brim_default_mesh_def();
    md.resolution = 3, md.smooth = 0;
    BrimMesh mesh;
    BrimError error;
    CHECK_OK(make(&def, &md, &c, &mesh, &error), error);
    CHECK_CLOSED(&mesh, 1.0 / 32);
    // vertices - edges + triangles = 2 for each ball
    CHECK((double)mesh.vertex_count - 0.5 * (double)mesh.triangle_count == 2 * 343);
    CHECK_NEAR(brim_mesh_volume(&mesh) * pow(32, 3) * 8 / 343, 1, 0.06);
    brim_mesh_free(&mesh);
    cloud_free(&c);
}

/// A drop that flies through the lattice is the same at every place.
TEST(mesh_of_a_flying_drop_does_not_flicker) {
    for (int resolution = 1; resolution <= 3; resolution++) {
        double least = INFINITY, most = 0, jump = 0;
        for (uint64_t i = 0; i < 20; i++) {
            BrimSimDef def = cube_def(16, 8);
            BrimMeshDef md = brim_default_mesh_def();
            md.resolution = resolution;
            BrimError error;
            BrimMesh mesh[2];
            BrimMeshJump j;
            for (int k = 0; k < 2; k++) {
                Cloud c = cloud_new();
                double x = 0.5 + (unit(i, 1) + 0.7 * k) / 16, y = 0.5 + (unit(i, 2) - 1.3 * k) / 16;
                cloud_add(&c, x, y, 0.5 + unit(i, 3) / 16);
                c.vx[0] = 0.7f / 16, c.vy[0] = -1.3f / 16;
                CHECK_OK(make(&def, &md, &c, &mesh[k], &error), error);
                CHECK_CLOSED(&mesh[k], 1.0 / 16);
                double volume = brim_mesh_volume(&mesh[k]) * 4096 * 8; // 1: a particle's
                least = fmin(least, volume), most = fmax(most, volume);
                cloud_free(&c);
            }
            CHECK_OK(brim_mesh_jump(&mesh[0], &mesh[1], 1, def.size, 0.25, &j, &error), error);
            jump = fmax(jump, 16 * j.largest);
            brim_mesh_free(&mesh[0]), brim_mesh_free(&mesh[1]);
        }
        CHECK_NEAR(least, 1, 1e-4);
        CHECK_NEAR(most, 1, 1e-4);
        CHECK_BELOW(jump, 1e-4); // cells a frame, beyond the flow
    }
}

/// Drops of a few particles that fly, turn and stretch are carried as their particles are: what the
/// lattice would add is not there.
TEST(mesh_of_drops_of_a_few_particles_does_not_flicker) {
    enum { CELLS = 24, DROPS = 24 };
    const double cell = 1.0 / CELLS;
    double farthest = 0, off = 0;
    for (uint64_t d = 0; d < DROPS; d++) {
        BrimSimDef def = cube_def(CELLS, 8);
        BrimMeshDef md = brim_default_mesh_def();
        BrimError error;
        BrimMesh mesh[2];
        BrimMeshJump jump;
        size_t count = 2 + d % 6;
        for (int k = 0; k < 2; k++) { // two frames: x' = middle + move + (1 + dt A) (x - middle)
            Cloud c = cloud_new();
            for (size_t i = 0; i < count; i++) {
                double away[3], at[3], rate[3];
                for (int a = 0; a < 3; a++)
                    away[a] = 0.9 * cell * ((double)unit(d * 64 + i, (uint64_t)(20 + a)) - 0.5);
                for (int a = 0; a < 3; a++) { // a turn about one axis, and a stretch along it
                    double turn = a == 0 ? -away[1] : a == 1 ? away[0] : 0;
                    rate[a] = cell * 0.7 * ((double)unit(d, (uint64_t)(30 + a)) - 0.5) +
                              0.15 * turn + 0.1 * (a == 2 ? away[a] : -0.5 * away[a]);
                    at[a] =
                        0.5 + cell * (double)unit(d, (uint64_t)(40 + a)) + away[a] + k * rate[a];
                }
                cloud_add(&c, at[0], at[1], at[2]);
                c.vx[i] = (float)rate[0], c.vy[i] = (float)rate[1], c.vz[i] = (float)rate[2];
            }
            CHECK_OK(make(&def, &md, &c, &mesh[k], &error), error);
            CHECK_CLOSED(&mesh[k], cell);
            double volume = brim_mesh_volume(&mesh[k]) / (cell * cell * cell / 8 * (double)count);
            off = fmax(off, fabs(volume - 1));
            cloud_free(&c);
        }
        CHECK_OK(brim_mesh_jump(&mesh[0], &mesh[1], 1, def.size, 4 * cell, &jump, &error), error);
        farthest = fmax(farthest, jump.largest / cell);
        brim_mesh_free(&mesh[0]), brim_mesh_free(&mesh[1]);
    }
    CHECK_BELOW(farthest, 0.04); // cells a frame; cut from the lattice 0.55
    CHECK_BELOW(off, 1e-4);
}

TEST(mesh_smoothing_keeps_volume_and_walls) {
    Cloud c = cloud_new();
    BrimSimDef def = cube_def(24, 8);
    cloud_fill(&c, &def, 0.8, column);
    for (uint64_t i = 0; i < 40; i++) cloud_add(&c, 0.7, 0.7 + 0.05 * unit(i, 1), 0.6);
    BrimMesh rough, smooth;
    BrimError error;
    BrimMeshDef md = brim_default_mesh_def();
    md.smooth = 0;
    CHECK_OK(make(&def, &md, &c, &rough, &error), error);
    md.smooth = 20;
    CHECK_OK(make(&def, &md, &c, &smooth, &error), error);
    CHECK_CLOSED(&smooth, 1.0 / 24);
    CHECK_NEAR(brim_mesh_volume(&smooth) / brim_mesh_volume(&rough), 1, 1e-4);
    CHECK(rough.vertex_count == smooth.vertex_count);
    double before = 0, after = 0, normal[3];
    for (size_t i = 0; i < rough.triangle_count; i++) {
        before += mesh_area(&rough, i, normal);
        after += mesh_area(&smooth, i, normal);
    }
    CHECK(after < before && after > 0.9 * before);
    for (size_t v = 0; v < rough.vertex_count; v++)
        for (int k = 0; k < 3; k++) CHECK(rough.position[v][k] != 0 || smooth.position[v][k] == 0);
    brim_mesh_free(&rough), brim_mesh_free(&smooth);
    cloud_free(&c);
}

// --------------------------------------------------------------------------------------- walls

/// Area of the triangles that lie on a side of the unit cube. Others that face the side and are
/// within a cell of it are bumps or gaps: their largest distance from it, in cells, goes to *worst.
static double side_area(const BrimMesh *m, int axis, int side, int cells, double *worst) {
    double sum = 0, normal[3];
    for (size_t i = 0; i < m->triangle_count; i++) {
        double area = mesh_area(m, i, normal), away = 0;
        for (int k = 0; k < 3; k++) {
            double at = m->position[m->triangle[i][k]][axis];
            away = fmax(away, cells * (side ? 1 - at : at));
        }
        if (away == 0) sum += area;
        if (normal[axis] * (side ? 1 : -1) > 0.9 && away < 1) *worst = fmax(*worst, away);
    }
    return sum;
}

TEST(mesh_is_flat_at_walls) {
    for (int resolution = 1; resolution <= 3; resolution++)
        for (int anisotropic = 0; anisotropic < 2; anisotropic++) {
            Cloud c = cloud_new();
            BrimSimDef def = cube_def(20, 8);
            cloud_fill(&c, &def, 0.5, half_tank);
            BrimMeshDef md = brim_default_mesh_def();
            md.resolution = resolution, md.anisotropic = anisotropic;
            BrimMesh mesh;
            BrimError error;
            CHECK_OK(make(&def, &md, &c, &mesh, &error), error);
            double worst = 0;
            CHECK_NEAR(side_area(&mesh, 1, 0, 20, &worst), 1, 0.02);
            for (int side = 0; side < 2; side++) {
                CHECK_NEAR(side_area(&mesh, 0, side, 20, &worst), 0.5, 0.02);
                CHECK_NEAR(side_area(&mesh, 2, side, 20, &worst), 0.5, 0.02);
            }
            CHECK_BELOW(worst, 0.05);
            // the free surface reaches the walls level to a spacing: no rim, no gap
            for (size_t v = 0; v < mesh.vertex_count; v++) {
                const float *p = mesh.position[v];
                bool beside = p[0] < 0.05f || p[0] > 0.95f || p[2] < 0.05f || p[2] > 0.95f;
                bool open = mesh.normal[v][1] > 0.7f;
                CHECK(!open || !beside || fabs(p[1] - 0.5) * 20 < 0.5);
            }
            brim_mesh_free(&mesh);
            cloud_free(&c);
        }
}

/// Water left of a wall one cell thick that stands across the tank, off the grid's planes.
static bool left_of_wall(double x, double y, double z) {
    (void)z;
    return x < 0.4985 && y < 0.6;
}

TEST(mesh_is_flat_at_solids_and_has_no_shell_behind_them) {
    for (int anisotropic = 0; anisotropic < 2; anisotropic++) {
        Cloud c = cloud_new();
        Case box = case_box(3, 1, 20, 20, 20);
        case_solid(&box, box_between((BrimVec3){0.517f, -1, -1}, (BrimVec3){0.567f, 2, 2}));
        box.def.solids = box.solids;
        cloud_fill(&c, &box.def, 0.5, left_of_wall);
        BrimMeshDef md = brim_default_mesh_def();
        md.anisotropic = anisotropic;
        BrimMesh mesh;
        BrimError error;
        CHECK_OK(make(&box.def, &md, &c, &mesh, &error), error);
        CHECK_CLOSED(&mesh, 0.05);
        double area = 0, normal[3];
        for (size_t i = 0; i < mesh.triangle_count; i++) {
            double part = mesh_area(&mesh, i, normal);
            if (normal[0] < 0.95) continue;
            for (int k = 0; k < 3; k++)
                CHECK_NEAR(mesh.position[mesh.triangle[i][k]][0] * 20, 0.517 * 20, 0.05);
            area += part;
        }
        CHECK_NEAR(area, 0.6, 0.03);
        for (size_t v = 0; v < mesh.vertex_count; v++) CHECK(mesh.position[v][0] < 0.5185f);
        brim_mesh_free(&mesh);
        cloud_free(&c);
    }
}

/// Height of the free surface over (x, z): the highest triangle there that faces up. -1: none.
static double height_at(const BrimMesh *m, double x, double z) {
    double best = -1, normal[3];
    for (size_t i = 0; i < m->triangle_count; i++) {
        const float *p[3];
        double w[3], sum = 0, y = 0;
        for (int k = 0; k < 3; k++) p[k] = m->position[m->triangle[i][k]];
        for (int k = 0; k < 3; k++) {
            const float *a = p[(k + 1) % 3], *b = p[(k + 2) % 3];
            w[k] = (a[2] - z) * (b[0] - x) - (a[0] - x) * (b[2] - z);
            sum += w[k], y += w[k] * p[k][1];
        }
        if (w[0] < 0 || w[1] < 0 || w[2] < 0 || !(sum > 0)) continue;
        mesh_area(m, i, normal);
        if (normal[1] > 0) best = fmax(best, y / sum);
    }
    return best;
}

/// Whether a point is in the water: by how often a ray along (a direction of no triangle's edge)
/// meets the surface.
static bool is_inside(const BrimMesh *m, const double p[3]) {
    static const double ray[3] = {0.0123, 0.0277, 1};
    bool inside = false;
    for (size_t i = 0; i < m->triangle_count; i++) {
        double x[3], y[3];
        bool odd = false, away = true;
        for (int c = 0; c < 3; c++) { // seen along the ray
            const float *v = m->position[m->triangle[i][c]];
            double z = v[2] - p[2];
            x[c] = v[0] - p[0] - z * ray[0], y[c] = v[1] - p[1] - z * ray[1];
            away = away && z < 0;
        }
        if (away) continue;
        for (int a = 0, b = 2; a < 3; b = a++)
            if ((y[a] > 0) != (y[b] > 0) && x[a] + (x[b] - x[a]) * y[a] / (y[a] - y[b]) > 0)
                odd = !odd;
        if (!odd) continue;
        double normal[3], above = 0, along = 0;
        mesh_area(m, i, normal);
        for (int k = 0; k < 3; k++) {
            above += normal[k] * (m->position[m->triangle[i][0]][k] - p[k]);
            along += normal[k] * ray[k];
        }
        if (above / along > 0) inside = !inside;
    }
    return inside;
}

/// A layer of particles, as even as they come, on a board that lies aslant in the lattice.
TEST(mesh_of_a_film_on_a_slanted_solid_has_no_ribs) {
    enum { CELLS = 24 };
    static const float turns[] = {7, 17, 30};
    for (int k = 0; k < 3; k++) {
        BrimSolidDef board = brim_default_solid_def();
        board.shape.kind = BRIM_SHAPE_BOX;
        board.shape.position = (BrimVec3){0.5f, 0.5f, 0.5f};
        board.shape.size = (BrimVec3){0.8f, 2.0f / CELLS, 0.7f};
        board.shape.rotation = (BrimVec3){0, 0, turns[k]};
        BrimSimDef def = cube_def(CELLS, 8);
        def.solids = &board, def.solid_count = 1;
        double c = cos(turns[k] * 0.0174532925), s = sin(turns[k] * 0.0174532925),
               cell = 1.0 / CELLS;
        Cloud cloud = cloud_new();
        for (int i = -16; i < 16; i++)
            for (int j = -14; j < 14; j++) {
                uint64_t name = (uint64_t)(64 * (i + 32) + j + 32);
                double u = (i + 0.5 + 0.4 * (unit(name, 1) - 0.5)) * cell / 2;
                double w = (j + 0.5 + 0.4 * (unit(name, 2) - 0.5)) * cell / 2;
                double up = (1 + 0.2 + 0.1 * unit(name, 3)) * cell; // 0.25 cells above the board
                cloud_add(&cloud, 0.5 + u * c - up * s, 0.5 + u * s + up * c, 0.5 + w);
            }
        BrimMeshDef md = brim_default_mesh_def();
        BrimMesh mesh;
        BrimError error;
        CHECK_OK(make(&def, &md, &cloud, &mesh, &error), error);
        CHECK_CLOSED(&mesh, cell);
        int wet = 0, all = 0, high = 0;
        for (uint64_t i = 0; i < 400; i++, all++) {
            double u = 12 * cell * (unit(i, 4) - 0.5), w = 10 * cell * (unit(i, 5) - 0.5);
            for (int top = 0; top < 2; top++) {
                double up = (top ? 1.8 : 1.08) * cell; // in it, and well above it
                double p[3] = {0.5 + u * c - up * s, 0.5 + u * s + up * c, 0.5 + w};
                if (is_inside(&mesh, p)) *(top ? &high : &wet) += 1;
            }
        }
        CHECK(wet >= 0.99 * all);
        CHECK(high == 0);
        brim_mesh_free(&mesh);
        cloud_free(&cloud);
    }
}

/// Half as thick as particles are apart, its particles anywhere in it: a sheet, not a net; and at
/// its edges it ends.
TEST(mesh_of_a_thin_sheet_has_no_holes) {
    enum { CELLS = 28, SAMPLES = 600 };
    static const double turns[] = {0, 13, 45};
    for (int k = 0; k < 3; k++) {
        const double c = cos(turns[k] * 0.0174532925), s = sin(turns[k] * 0.0174532925);
        const double cell = 1.0 / CELLS, half = 8 * cell, thickness = 0.25 * cell;
        BrimSimDef def = cube_def(CELLS, 8);
        Cloud cloud = cloud_new();
        int wet = 0, above = 0, beyond = 0;
        uint64_t count = 16 * 16 * 8 / 4;
        for (uint64_t i = 0; i < count; i++) {
            double u = 2 * half * ((double)unit(i, 51) - 0.5),
                   w = half * (2 * (double)unit(i, 52) - 1);
            double up = 0.02 * cell + thickness * ((double)unit(i, 53) - 0.5);
            cloud_add(&cloud, 0.51 + u * c - up * s, 0.49 + u * s + up * c, 0.5 + w);
        }
        BrimMeshDef md = brim_default_mesh_def();
        BrimMesh mesh;
        BrimError error;
        CHECK_OK(make(&def, &md, &cloud, &mesh, &error), error);
        CHECK_CLOSED(&mesh, cell);
        for (uint64_t i = 0; i < SAMPLES; i++) {
            double u = 13 * cell * ((double)unit(i, 54) - 0.5),
                   w = 13 * cell * ((double)unit(i, 55) - 0.5);
            for (int where = 0; where < 3; where++) {
                double up = where == 1 ? 1.2 * cell : 0,
                       out = where == 2 ? 9.2 * cell + fabs(u) / 20 : u;
                double p[3] = {0.51 + out * c - up * s, 0.49 + out * s + up * c, 0.5 + w};
                if (is_inside(&mesh, p)) *(where == 0 ? &wet : where == 1 ? &above : &beyond) += 1;
            }
        }
        CHECK(wet >= 0.975 * SAMPLES); // each particle for itself: 0.63
        // as thick as its particles' volume says, however coarse the lattice
        double volume = (double)count * cell * cell * cell / 8;
        CHECK_NEAR(brim_mesh_volume(&mesh), volume, 0.1 * volume);
        CHECK(above == 0 && beyond == 0);
        brim_mesh_free(&mesh);
        cloud_free(&cloud);
    }
}

TEST(mesh_of_still_water_does_not_flicker) {
    Cloud c = cloud_new();
    BrimSimDef def = cube_def(20, 8);
    cloud_fill(&c, &def, 0.5, half_tank);
    BrimMeshDef md = brim_default_mesh_def();
    BrimMesh before, after;
    BrimError error;
    CHECK_OK(make(&def, &md, &c, &before, &error), error);
    for (size_t i = 0; i < c.count; i++) { // by a thousandth of a cell
        c.x[i] += 0.001f / 20 * (unit(i, 11) - 0.5f);
        c.y[i] += 0.001f / 20 * (unit(i, 12) - 0.5f);
    }
    CHECK_OK(make(&def, &md, &c, &after, &error), error);
    CHECK_NEAR(brim_mesh_volume(&after) / brim_mesh_volume(&before), 1, 1e-5);
    for (uint64_t i = 0; i < 400; i++) {
        double x = 0.02 + 0.96 * unit(i, 13), z = 0.02 + 0.96 * unit(i, 14);
        double y = height_at(&before, x, z);
        CHECK_NEAR(y * 20, 10, 0.3);
        // a node that changes sides moves its vertex by twice the snap, a hundredth of a cell
        CHECK_NEAR(height_at(&after, x, z) * 20, y * 20, 0.01);
    }
    brim_mesh_free(&before), brim_mesh_free(&after);
    cloud_free(&c);
}

// ---------------------------------------------------------------------------------- simulations

static Case splash_case(void) {
    Case c = case_box(3, 1, 24, 24, 20);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.4f, 0.7f, 1}));
    case_solid(&c, ball((BrimVec3){0.7f, 0.15f, 0.4f}, 0.15f));
    case_solid(&c, box_between((BrimVec3){0.5f, 0.3f, 0.2f}, (BrimVec3){0.9f, 0.345f, 0.7f}));
    c.solids[1].motion = BRIM_MOTION_ROTATION;
    c.solids[1].axis = (BrimVec3){0, 1, 0};
    c.solids[1].rate = 200;
    return c;
}

TEST(mesh_of_a_splash_is_closed_and_keeps_out_of_solids) {
    Case c = splash_case();
    BrimSim *sim;
    BrimError error;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int frame = 1; frame <= 12; frame++) {
        CHECK_OK(brim_sim_advance_frame(sim, &error), error);
        if (frame % 6) continue;
        for (int resolution = 1; resolution <= (quick() ? 1 : 3); resolution++) {
            BrimMeshDef md = brim_default_mesh_def();
            md.resolution = resolution;
            BrimMesh mesh;
            CHECK_OK(brim_sim_mesh(sim, &md, &mesh, &error), error);
            CHECK_CLOSED(&mesh, 1.0 / 24);
            for (size_t v = 0; v < mesh.vertex_count; v++) {
                const float *p = mesh.position[v];
                double d = sqrt(pow(p[0] - 0.7, 2) + pow(p[1] - 0.15, 2) + pow(p[2] - 0.4, 2));
                CHECK(d > 0.15 - 0.2 / 24); // chords of a ball of 3.6 cells
            }
            brim_mesh_free(&mesh);
        }
    }
    brim_sim_destroy(&sim);
}

static uint32_t piece_root(uint32_t *piece, uint32_t v) {
    while (piece[v] != v) v = piece[v] = piece[piece[v]];
    return v;
}

/// Volume of each connected piece, at its first vertex; [vertex_count], 0 elsewhere.
static double *volumes_of_pieces(const BrimMesh *m) {
    uint32_t *piece = malloc((m->vertex_count + 1) * sizeof *piece);
    double *volume = calloc(m->vertex_count + 1, sizeof *volume);
    for (size_t v = 0; v < m->vertex_count; v++) piece[v] = (uint32_t)v;
    for (size_t i = 0; i < m->triangle_count; i++)
        for (int k = 1; k < 3; k++) {
            uint32_t a = piece_root(piece, m->triangle[i][0]);
            uint32_t b = piece_root(piece, m->triangle[i][k]);
            piece[a < b ? b : a] = a < b ? a : b;
        }
    for (size_t i = 0; i < m->triangle_count; i++) {
        uint32_t root = piece_root(piece, m->triangle[i][0]);
        double normal[3], area = mesh_area(m, i, normal), height = 0;
        for (int k = 0; k < 3; k++)
            height += normal[k] *
                      ((double)m->position[m->triangle[i][0]][k] - (double)m->position[root][k]);
        volume[root] += area * height / 3;
    }
    free(piece);
    return volume;
}

/// What smoothing did that it must not; NULL when all is well.
static const char *smoothing_problem(const SolidList *solids, const BrimMesh *rough,
                                     const BrimMesh *smooth) {
    const char *problem = mesh_problem(smooth, 1.0 / 24);
    if (problem) return problem;
    size_t n = rough->vertex_count;
    double *before = volumes_of_pieces(rough), *after = volumes_of_pieces(smooth);
    if (smooth->vertex_count != n) problem = "other vertices";
    for (size_t v = 0; v < n && !problem; v++) {
        const float *p = smooth->position[v], *q = rough->position[v];
        float d, d0;
        if (fabs(after[v] - before[v]) > 0.01 * fabs(before[v])) problem = "volume of a piece";
        for (int k = 0; k < 3; k++)
            if (!(p[k] >= 0 && p[k] <= 1)) problem = "outside the domain";
        solids_nearest(solids, 1, &p[0], &p[1], &p[2], &d);
        solids_nearest(solids, 1, &q[0], &q[1], &q[2], &d0);
        if (d < fminf(d0, 0) - 1e-6f) problem = "inside a solid";
    }
    free(before), free(after);
    return problem;
}

TEST(mesh_smoothing_keeps_its_bounds_for_every_number) {
    static const int passes[] = {3, 10, 30, 100};
    Case c = splash_case();
    BrimSim *sim;
    BrimError error;
    CHECK_OK(case_create(&c, &sim, &error), error);
    Solid *solid[2] = {0};
    for (int frame = 1; frame <= 12; frame++) CHECK_OK(brim_sim_advance_frame(sim, &error), error);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(solid_new(&c.solids[i], 3, 1 / 24.0f, &solid[i], &error), error);
        solid_place(solid[i], brim_sim_time(sim), 0);
    }
    const SolidList solids = {solid, 2};
    for (int anisotropic = 0; anisotropic < 2; anisotropic++) {
        BrimMeshDef md = brim_default_mesh_def();
        BrimMesh rough, smooth;
        md.smooth = 0, md.anisotropic = anisotropic;
        CHECK_OK(brim_sim_mesh(sim, &md, &rough, &error), error);
        for (int i = anisotropic ? 2 : 0; i < (anisotropic ? 3 : 4); i++) {
            md.smooth = passes[i];
            CHECK_OK(brim_sim_mesh(sim, &md, &smooth, &error), error);
            const char *problem = smoothing_problem(&solids, &rough, &smooth);
            if (problem) test_fail(test_, __FILE__, __LINE__, "%d passes: %s", passes[i], problem);
            brim_mesh_free(&smooth);
            if (problem) return;
        }
        brim_mesh_free(&rough);
    }
    for (int i = 0; i < 2; i++) solid_free(&solid[i]);
    brim_sim_destroy(&sim);
}

TEST(mesh_velocity_is_that_of_the_water) {
    Cloud c = cloud_new();
    BrimSimDef def = cube_def(20, 8);
    cloud_fill(&c, &def, 0.5, drop);
    for (size_t i = 0; i < c.count; i++) { // a spin about the drop's axis
        c.vx[i] = 3 * (c.y[i] - 0.5f), c.vy[i] = -3 * (c.x[i] - 0.5f), c.vz[i] = 1;
    }
    BrimMeshDef md = brim_default_mesh_def();
    BrimMesh mesh;
    BrimError error;
    CHECK_OK(make(&def, &md, &c, &mesh, &error), error);
    for (size_t v = 0; v < mesh.vertex_count; v++) {
        // a mean over what lies inside: of the speed at the surface, 1.2 m/s, it lacks up to 3/20
        CHECK_NEAR(mesh.velocity[v][0], 3 * (mesh.position[v][1] - 0.5), 0.15);
        CHECK_NEAR(mesh.velocity[v][1], -3 * (mesh.position[v][0] - 0.5), 0.15);
        CHECK_NEAR(mesh.velocity[v][2], 1, 1e-5);
    }
    brim_mesh_free(&mesh);
    cloud_free(&c);
}

// ---------------------------------------------------------------------------------------- files

TEST(mesh_files_read_back_as_closed_meshes) {
    Cloud c = cloud_new();
    BrimSimDef def = cube_def(16, 8);
    cloud_fill(&c, &def, 0.5, column);
    BrimMeshDef md = brim_default_mesh_def();
    BrimMesh mesh;
    BrimError error;
    CHECK_OK(make(&def, &md, &c, &mesh, &error), error);
    for (int i = 0; i < 2; i++) {
        const char *path = at(i ? "surface.obj" : "surface.ply");
        CHECK_OK(brim_write_mesh(&mesh, 0.5, 12, i ? BRIM_MESH_OBJ : BRIM_MESH_PLY, path, &error),
                 error);
        CHECK(!exists_temp(path));
        Trimesh read = {0};
        CHECK_OK(trimesh_load(path, &read, &error), error);
        CHECK(read.vertex_count == mesh.vertex_count);
        CHECK(read.triangle_count == mesh.triangle_count);
        for (size_t v = 0; v < read.vertex_count; v++)
            for (int k = 0; k < 3; k++) CHECK(read.vertices[v][k] == mesh.position[v][k]);
        trimesh_free(&read);
    }
    CHECK(brim_write_mesh(&mesh, 0, 0, BRIM_MESH_PLY, at("none/surface.ply"), &error) ==
          BRIM_ERROR_IO);
    CHECK(strstr(error.message, "none/surface.ply"));
    brim_mesh_free(&mesh);
    cloud_free(&c);
}

TEST(mesh_of_nothing_is_empty) {
    Cloud c = cloud_new();
    BrimSimDef def = cube_def(16, 8);
    BrimMeshDef md = brim_default_mesh_def();
    BrimMesh mesh;
    BrimError error;
    CHECK_OK(make(&def, &md, &c, &mesh, &error), error);
    CHECK(mesh.vertex_count == 0 && mesh.triangle_count == 0 && brim_mesh_volume(&mesh) == 0);
    const char *path = at("empty.ply");
    CHECK_OK(brim_write_mesh(&mesh, 0, 0, BRIM_MESH_PLY, path, &error), error);
    size_t bytes;
    char *text = get_file(path, &bytes);
    CHECK(strstr(text, "element vertex 0\n") && strstr(text, "element face 0\n"));
    free(text);
    cloud_free(&c);
}

TEST(mesh_refuses_what_it_cannot_do) {
    Cloud c = cloud_new();
    cloud_add(&c, 0.5, 0.5, 0.5);
    cloud_add(&c, 0.5, NAN, 0.5);
    BrimSimDef def = cube_def(16, 8), flat = def;
    BrimMeshDef md = brim_default_mesh_def(), bad;
    BrimMesh mesh;
    BrimError error;
    CHECK(make(&def, &md, &c, &mesh, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "particle 1") && !mesh.position);
    flat.dim = 2, flat.cells[2] = 1;
    CHECK(make(&flat, &md, &c, &mesh, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "3D"));
    bad = md, bad.resolution = 4;
    CHECK(make(&def, &bad, &c, &mesh, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "resolution"));
    bad = md, bad.radius = 0.1;
    CHECK(make(&def, &bad, &c, &mesh, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "radius"));
    bad = md, bad.radius = NAN;
    CHECK(make(&def, &bad, &c, &mesh, &error) == BRIM_ERROR_INPUT);
    bad = md, bad.smooth = -1;
    CHECK(make(&def, &bad, &c, &mesh, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "smooth"));
    cloud_free(&c);
}
