// Foam and surfaces of frames with a narrow band: the cells below it stand for full water.
#include "base/hash.h"
#include "cases.h"
#include "cloud.h"
#include "liquid/foam.h"
#include "scratch.h"
#include "test.h"

enum { CELLS = 16, ROWS = 8 }; ///< of the box; rows of cells at the bottom without particles

/// A pool 13 cells deep of which the lowest rows are cells of a band's interior.
typedef struct Pool {
    BrimSimDef def;
    Cloud cloud;
    BrimInterior *interior;
    size_t count;
} Pool;

static Pool pool_new(int dim, float drift) {
    Pool p = {.def = brim_default_sim_def(), .cloud = cloud_new()};
    const int deep = dim == 3 ? CELLS : 1;
    p.def.dim = dim, p.def.band_width = 3;
    p.def.size = (BrimVec3){1, 1, dim == 3 ? 1 : 1.0f / CELLS};
    p.def.cells[0] = p.def.cells[1] = CELLS, p.def.cells[2] = deep;
    p.def.particles_per_cell = dim == 3 ? 8 : 4;
    const double step = 0.5 / CELLS;
    for (int k = 0; k < (dim == 3 ? 2 * CELLS : 1); k++)
        for (int j = 2 * ROWS; j < 26; j++)
            for (int i = 0; i < 2 * CELLS; i++)
                cloud_add(&p.cloud, (i + 0.5) * step, (j + 0.5) * step,
                          dim == 3 ? (k + 0.5) * step : 0);
    p.interior = calloc((size_t)(CELLS * ROWS * deep), sizeof *p.interior);
    for (int k = 0; k < deep; k++)
        for (int j = 0; j < ROWS; j++)
            for (int i = 0; i < CELLS; i++) {
                BrimInterior *c = &p.interior[p.count++];
                c->position[0] = ((float)i + 0.5f) / CELLS;
                c->position[1] = ((float)j + 0.5f) / CELLS;
                c->position[2] = dim == 3 ? ((float)k + 0.5f) / CELLS : 0;
                c->velocity[0] = drift;
            }
    return p;
}

static void pool_free(Pool *p) {
    cloud_free(&p->cloud);
    free(p->interior);
}

static BrimParticles pool_view(const Pool *p) {
    BrimParticles view = cloud_view(&p->cloud);
    view.interior = p->interior, view.interior_count = p->count;
    return view;
}

static BrimFoam *foam_at_first(const Pool *p, BrimError *error) {
    BrimFoam *foam = NULL;
    BrimFoamDef def = brim_default_foam_def();
    def.threads = 1;
    BrimParticles view = pool_view(p);
    if (brim_foam_create(&p->def, &def, &foam, error) != BRIM_OK) return NULL;
    if (brim_foam_advance(foam, &view, 0, 0, error) != BRIM_OK) brim_foam_destroy(&foam);
    return foam;
}

static void put_bubble(BrimFoam *f, float x, float y, float z) {
    f->particle = realloc(f->particle, (f->count + 1) * sizeof *f->particle);
    f->particle[f->count++] =
        (BrimFoamParticle){.position = {x, y, z}, .life = 3, .size = 0.005f, .id = f->next_id++};
}

/// Bubbles rise as through particles, and go with the velocity of the cells.
TEST(foam_bubbles_rise_through_the_cells_below_a_band) {
    for (int dim = 2; dim <= 3; dim++)
        for (int drift = 0; drift <= 1; drift++) {
            BrimError error;
            const float speed = 0.3f * (float)drift, z = dim == 3 ? 0.5f : 0;
            Pool p = pool_new(dim, speed);
            BrimFoam *f = foam_at_first(&p, &error);
            CHECK(f != NULL);
            BrimParticles view = pool_view(&p);
            put_bubble(f, 0.3f, 0.1f, z);
            float before[3] = {0};
            for (int frame = 1; frame <= 12; frame++) {
                CHECK_OK(brim_foam_advance(f, &view, frame, frame / 24.0, &error), error);
                if (frame == 4) memcpy(before, f->particle[0].position, sizeof before);
            }
            const BrimFoamParticle *b = &f->particle[0];
            CHECK(b->type == BRIM_FOAM_BUBBLE);
            const double time = 8 / 24.0;
            CHECK_NEAR((double)(b->position[0] - before[0]) / time, (double)speed, 2e-3);
            CHECK_NEAR((double)(b->position[1] - before[1]) / time, 0.3924, 2e-3);
            brim_foam_destroy(&f);
            // up through the band's lower edge: it comes to the surface and floats there
            f = foam_at_first(&p, &error);
            put_bubble(f, 0.5f, 0.45f, z);
            for (int frame = 1; frame <= 30; frame++)
                CHECK_OK(brim_foam_advance(f, &view, frame, frame / 24.0, &error), error);
            CHECK(f->count == 1 && f->particle[0].type == BRIM_FOAM_FOAM);
            CHECK_NEAR(f->particle[0].position[1], 26.0 / 32, 1 / 32.0);
            brim_foam_destroy(&f);
            pool_free(&p);
        }
}

/// Without the cells the band's lower edge would be a surface in air.
TEST(foam_needs_the_cells_below_a_band) {
    BrimError error;
    Pool p = pool_new(3, 0);
    BrimFoam *f = foam_at_first(&p, &error);
    CHECK(f != NULL);
    BrimParticles view = pool_view(&p), none = view;
    put_bubble(f, 0.5f, 0.2f, 0.5f);
    none.interior = NULL, none.interior_count = 0;
    CHECK(brim_foam_advance(f, &none, 1, 1 / 24.0, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "output.interior") != NULL);
    p.interior[77].velocity[1] = NAN;
    CHECK(brim_foam_advance(f, &view, 1, 1 / 24.0, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "cell below the band") != NULL);
    p.interior[77].velocity[1] = 0;
    CHECK_OK(brim_foam_advance(f, &view, 1, 1 / 24.0, &error), error);
    CHECK(f->particle[0].type == BRIM_FOAM_BUBBLE);
    none = view, none.interior_count = 0;
    CHECK_OK(brim_foam_advance(f, &none, 2, 2 / 24.0, &error), error);
    CHECK_OK(brim_foam_advance(f, &none, 3, 3 / 24.0, &error), error);
    CHECK(f->particle[0].type == BRIM_FOAM_SPRAY); // in air
    brim_foam_destroy(&f);
    pool_free(&p);
}

/// The cells below the band as foam sorts them.
static bool sort_cells(BrimFoam *f) {
    FoamPlaces places = {.count = f->liquid.count,
                         .x = f->liquid.x,
                         .w = f->liquid.v,
                         .interior = f->liquid.interior,
                         .interior_count = f->liquid.interior_count};
    memset(f->bins.want, 1, grid_box(&f->bins.grid));
    return foam_bins_sort(&f->bins, &f->scale, &places, false, f->team);
}

/// Sum of the kernel at a point over that of full water.
static float share_at(BrimFoam *f, const float x[3]) {
    uint32_t cell, tile = foam_cell(&f->scale, &f->bins.grid, x, &cell);
    FoamSums sums = {0};
    for (int slot = 0; slot < f->bins.grid.tile_count; slot++) {
        TileCoord c = f->bins.grid.coord[slot];
        if (grid_box_index(&f->bins.grid, c.x, c.y, c.z) != (int32_t)tile) continue;
        if (!foam_block_fill(f->block, &f->bins, slot)) return -1;
        f->kernels->sums(f->block, (int)cell, x, f->scale.inv_radius, &sums);
    }
    return sums.weight / f->scale.rest;
}

/// Kernels see full water below a band, however many particles a full cell has.
TEST(foam_cells_below_a_band_are_full_water) {
    for (int dim = 2; dim <= 3; dim++)
        for (int n = 1; n <= 3; n++) {
            BrimError error;
            Pool p = pool_new(dim, 0);
            p.def.particles_per_cell = dim == 3 ? n * n * n : n * n;
            BrimFoam *f = foam_at_first(&p, &error);
            CHECK(f && sort_cells(f));
            double sum = 0;
            for (int i = 0; i < 64; i++) {
                const float part = 1.0f / CELLS, z = dim == 3 ? 0.5f : 0;
                const float at[3] = {0.5f + part * (float)(i % 8) / 8,
                                     0.2f + part * (float)(i / 8) / 8,
                                     z + (dim == 3 ? part * (float)(i * 3 % 8) / 8 : 0)};
                sum += (double)share_at(f, at) / 64;
            }
            CHECK_NEAR(sum, 1, 0.02);
            brim_foam_destroy(&f);
            // no lattice of a cell has as many
            p.def.particles_per_cell = dim == 3 ? 4 : 3;
            CHECK(!foam_at_first(&p, &error));
            CHECK(strstr(error.message, dim == 3 ? "a cube number" : "a square number") != NULL);
            pool_free(&p);
        }
}

TEST(foam_says_that_cells_below_a_band_are_too_many) {
    BrimError error;
    Pool p = pool_new(3, 0);
    BrimFoam *f = foam_at_first(&p, &error);
    CHECK(f && sort_cells(f));
    f->scale.stand = 200; // 16 billion in all
    CHECK(!sort_cells(f));
    CHECK(foam_bins_fail(&f->bins, 1, "the foam", &error) == BRIM_ERROR_MEMORY);
    CHECK(strstr(error.message, "too much water") != NULL);
    f->scale.stand = 2;
    CHECK(sort_cells(f));
    brim_foam_destroy(&f);
    pool_free(&p);
}

static bool same_mesh(const BrimMesh *a, const BrimMesh *b) {
    return a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count &&
           memcmp(a->position, b->position, a->vertex_count * sizeof *a->position) == 0 &&
           memcmp(a->triangle, b->triangle, a->triangle_count * sizeof *a->triangle) == 0;
}

/// What a frame holds of a band is what the simulation knows, and its surface the same.
TEST(frames_hold_the_cells_below_a_band) {
    BrimError error;
    Case c = case_box(3, 1, 24, 24, 16);
    c.liquid[0].shape = box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.6f, 0.7f, 1});
    c.def.liquid_count = 1;
    c.def.band_width = 3, c.def.output.interior = true;
    BrimSim *sim = NULL;
    c.liquid[0].velocity = (BrimVec3){0.5f, -1, 0};
    CHECK_OK(case_create(&c, &sim, &error), error);
    BrimInterior *cells;
    size_t count;
    CHECK_OK(brim_sim_interior(sim, &cells, &count, &error), error);
    CHECK(count > 500);
    for (size_t i = 0; i < count; i++) // before the first step
        CHECK(cells[i].velocity[0] == 0.5f && cells[i].velocity[1] == -1);
    free(cells);
    for (int i = 0; i < 4; i++) CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK_OK(brim_sim_interior(sim, &cells, &count, &error), error);
    double all = (double)count * 8 + (double)brim_sim_particles(sim).count;
    const BrimStats *stats = brim_sim_stats(sim);
    CHECK_NEAR(all, (double)(stats->particles) + stats->interior, 0.5);
    CHECK(count > 500);
    const char *path = at("band.ply");
    BrimFrame frame;
    CHECK_OK(brim_write_particles(sim, path, &error), error);
    CHECK_OK(brim_frame_read(path, &frame, &error), error);
    CHECK(frame.interior && frame.interior_count == count);
    CHECK(memcmp(frame.interior, cells, count * sizeof *cells) == 0);
    double fall = 0;
    for (size_t i = 0; i < count; i++) fall += (double)cells[i].velocity[1];
    CHECK(fall < 0);
    char text[2000];
    CHECK_OK(brim_describe_file(path, text, sizeof text, &error), error);
    CHECK(strstr(text, "below the band") != NULL);
    BrimMeshDef def = brim_default_mesh_def();
    BrimMesh own, read;
    BrimMesher *mesher;
    BrimParticles particles = brim_frame_particles(&frame);
    CHECK_OK(brim_sim_mesh(sim, &def, &own, &error), error);
    CHECK_OK(brim_mesher_create(&c.def, &def, &mesher, &error), error);
    CHECK_OK(brim_mesher_mesh(mesher, &particles, brim_sim_time(sim), &read, &error), error);
    CHECK(same_mesh(&own, &read));
    brim_mesh_free(&own), brim_mesh_free(&read);
    particles.interior = NULL;
    CHECK(brim_mesher_mesh(mesher, &particles, 0, &read, &error) == BRIM_ERROR_INPUT);
    brim_mesher_destroy(&mesher);
    c.def.output.interior = false;
    CHECK(brim_mesher_create(&c.def, &def, &mesher, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "output.interior") != NULL);
    brim_frame_free(&frame);
    free(cells);
    brim_sim_destroy(&sim);
}

/// A frame that is cut or whose element is another one's is refused.
TEST(frames_with_broken_interiors_are_refused) {
    BrimError error;
    Case c = case_box(2, 1, 32, 32, 1);
    c.liquid[0].shape = box_between((BrimVec3){0, 0, 0}, (BrimVec3){1, 0.6f, 1});
    c.def.liquid_count = 1;
    c.def.band_width = 3, c.def.output.interior = true;
    BrimSim *sim = NULL;
    CHECK_OK(case_create(&c, &sim, &error), error);
    const char *path = at("whole.ply"), *other = at("other.ply");
    CHECK_OK(brim_write_particles(sim, path, &error), error);
    FILE *in = fopen(path, "rb");
    CHECK(in != NULL);
    static char bytes[1 << 20];
    size_t n = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    BrimFrame frame;
    for (int broken = 0; broken < 2; broken++) {
        FILE *out = fopen(other, "wb");
        if (broken) memcpy(strstr(bytes, "element interior"), "element interxor", 16);
        fwrite(bytes, 1, broken ? n : n - 5, out);
        fclose(out);
        BrimResult result = brim_frame_read(other, &frame, &error);
        CHECK(broken ? result == BRIM_OK && !frame.interior : result == BRIM_ERROR_DAMAGED);
        brim_frame_free(&frame);
    }
    brim_sim_destroy(&sim);
}
