// Allocations that fail: creating, stepping, saving and loading end with an error and release all.
// The test program is linked with --wrap for malloc and its kin.
#include "cases.h"
#include "scratch.h"
#include "test.h"
#include <stdatomic.h>
#include <sys/resource.h>
#ifdef BRIM_HAVE_ZSTD
#include <zstd.h>
#endif

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

/// Allocations that still succeed; negative: all do.
static atomic_long left = -1;
static atomic_bool only_one; ///< fails, and those after it succeed again

static bool fails(void) {
    if (atomic_load(&left) < 0) return false;
    long before = atomic_fetch_sub(&left, 1);
    if (before > 0) return false;
    if (!atomic_load(&only_one)) atomic_store(&left, 0);
    return true;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) {
    return fails() ? NULL : __real_realloc(old, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

#ifdef BRIM_HAVE_ZSTD
ZSTD_DCtx *__real_ZSTD_createDCtx(void);
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void);

/// The library has its memory from elsewhere.
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void) {
    return fails() ? NULL : __real_ZSTD_createDCtx();
}
#endif

/// From now on the allocation after `count` others fails, once or for good.
static void fail_after(long count, bool once) {
    atomic_store(&only_one, once);
    atomic_store(&left, count);
}

static void heal(void) {
    atomic_store(&left, -1);
}

static Case greedy_case(int dim, int band_width) {
    Case c = case_box(dim, 1, 24, 24, dim == 3 ? 16 : 1);
    case_liquid(&c, box_between((BrimVec3){0, 0, 0}, (BrimVec3){0.3f, 0.6f, 0.6f}));
    case_solid(&c, ball((BrimVec3){0.7f, 0.1f, 0.3f}, 0.1f));
    c.solids[0].motion = BRIM_MOTION_ROTATION;
    c.solids[0].rate = 90;
    c.def.source_count = c.def.drain_count = 1;
    c.sources[0] = brim_default_source_def();
    c.sources[0].shape = ball((BrimVec3){0.5f, 0.7f, 0.3f}, 0.1f);
    c.sources[0].velocity = (BrimVec3){1, 0, 0};
    c.drains[0] = brim_default_drain_def();
    c.drains[0].shape = box_between((BrimVec3){0.9f, 0, 0}, (BrimVec3){1, 0.1f, 1});
    c.def.transfer = BRIM_TRANSFER_APIC;
    c.def.band_width = band_width;
    return c;
}

TEST(creating_survives_every_failing_allocation) {
    for (int dim = 2; dim <= 3; dim++)
        for (int once = 0; once < 6 - dim; once++) {
            BrimResult r = BRIM_ERROR_MEMORY;
            int tries = 0;
            for (; r != BRIM_OK && tries < 1000; tries++) {
                Case c = greedy_case(dim, once >= 4 - dim ? 3 : 0);
                BrimSim *sim = NULL;
                BrimError error = {0};
                fail_after(tries, once & 1);
                r = case_create(&c, &sim, &error);
                heal();
                CHECK(r == BRIM_OK || (r == BRIM_ERROR_MEMORY && !sim && error.message[0]));
                brim_sim_destroy(&sim);
            }
            CHECK(tries > 20 && tries < 1000);
        }
}

TEST(stepping_survives_every_failing_allocation) {
    for (int k = 0; k < 3; k++) {
        int dim = k ? 2 : 3, lost = 0, fine = 0;
        for (int tries = 0; fine < 2 && tries < 1000; tries += dim == 2 ? 1 : 3) {
            Case c = greedy_case(dim, k == 2 ? 3 : 0);
            BrimSim *sim;
            BrimError error = {0};
            CHECK_OK(case_create(&c, &sim, &error), error);
            BrimResult r = BRIM_OK;
            fail_after(tries, true);
            for (int i = 0; i < 6 && r == BRIM_OK; i++) r = brim_sim_step(sim, &error);
            bool unused = atomic_load(&left) >= 0;
            heal();
            CHECK(r == BRIM_OK || (r == BRIM_LOST_MEMORY && error.message[0]));
            r == BRIM_OK ? (fine += unused) : lost++;
            brim_sim_destroy(&sim);
        }
        CHECK(lost > 10 && fine == 2);
    }
}

TEST(adding_a_solid_survives_every_failing_allocation) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimResult r = BRIM_ERROR_MEMORY;
        int tries = 0;
        for (; r != BRIM_OK && tries < 100; tries++) {
            Case c = greedy_case(dim, 0);
            BrimSim *sim;
            BrimError error = {0};
            CHECK_OK(case_create(&c, &sim, &error), error);
            BrimSolidDef plate = brim_default_solid_def(); // thin, and moves
            plate.shape = box_between((BrimVec3){0.2f, 0.3f, 0}, (BrimVec3){0.24f, 0.9f, 1});
            plate.motion = BRIM_MOTION_ROTATION;
            plate.axis = (BrimVec3){0, 0, 1};
            plate.rate = 30;
            fail_after(tries, false);
            r = brim_sim_add_solid(sim, &plate, NULL, &error);
            heal();
            CHECK(r == BRIM_OK || (r == BRIM_ERROR_MEMORY && error.message[0]));
            for (int i = 0; i < 2; i++) CHECK_OK(brim_sim_step(sim, &error), error);
            brim_sim_destroy(&sim);
        }
        CHECK(tries > 5 && tries < 100);
    }
}

TEST(meshing_survives_every_failing_allocation) {
    Case c = greedy_case(3, 0);
    BrimSim *sim;
    BrimError error;
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int anisotropic = 0; anisotropic < 2; anisotropic++) {
        BrimMeshDef def = brim_default_mesh_def();
        def.resolution = 1, def.threads = 1, def.anisotropic = anisotropic;
        BrimResult r = BRIM_ERROR_MEMORY;
        int tries = 0;
        for (; r != BRIM_OK && tries < 2000; tries += 1 + tries / 20) {
            BrimMesh mesh;
            fail_after(tries, true);
            r = brim_sim_mesh(sim, &def, &mesh, &error);
            heal();
            CHECK(r == BRIM_OK || (r == BRIM_ERROR_MEMORY && !mesh.position && error.message[0]));
            brim_mesh_free(&mesh);
        }
        CHECK(tries > 20 && tries < 2000);
    }
    brim_sim_destroy(&sim);
}

TEST(saving_and_loading_survive_every_failing_allocation) {
    Case c = greedy_case(2, 0);
    BrimSim *sim, *other;
    BrimError error;
    BrimSolidDef extra = brim_default_solid_def();
    extra.shape = ball((BrimVec3){0.4f, 0.8f, 0}, 0.05f);
    CHECK_OK(case_create(&c, &sim, &error), error);
    for (int i = 0; i < 3; i++) CHECK_OK(brim_sim_step(sim, &error), error);
    uint64_t expected = particle_hash(sim);
    BrimResult r = BRIM_ERROR_MEMORY;
    for (int tries = 0; r != BRIM_OK && tries < 1000; tries++) {
        fail_after(tries, true);
        r = brim_sim_save(sim, at("memory.brim"), &error);
        heal();
        CHECK(r == BRIM_OK || (r > 0 && error.message[0]));
        CHECK(!exists_temp(at("memory.brim")));
    }
    r = BRIM_ERROR_MEMORY;
    for (int tries = 0; r != BRIM_OK && tries < 1000; tries++) {
        fail_after(tries, true);
        r = brim_sim_load(&c.def, at("memory.brim"), &other, &error);
        heal();
        CHECK((r == BRIM_OK) == (other != NULL));
        CHECK(r == BRIM_OK || (r == BRIM_ERROR_MEMORY && error.message[0]));
    }
    CHECK(particle_hash(other) == expected);
    r = BRIM_ERROR_MEMORY;
    for (int tries = 0; r != BRIM_OK && tries < 1000; tries++) {
        fail_after(tries, true);
        r = brim_sim_add_solid(other, &extra, NULL, &error);
        heal();
        CHECK(r == BRIM_OK || r == BRIM_ERROR_MEMORY);
        if (r != BRIM_OK && tries < 4) CHECK_OK(brim_sim_step(other, &error), error); // as it was
    }
    CHECK_OK(brim_sim_step(other, &error), error);
    brim_sim_destroy(&sim);
    brim_sim_destroy(&other);
}

/// Loads with `name` KiB more of address space than there is now: a real shortage, which also
/// meets what libraries allocate. 0 done, 1 out of memory, 2 anything else.
static int load_with_little(const char *name) {
    FILE *in = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (!in || fscanf(in, "%ld", &pages) != 1) return CANNOT_TRY;
    fclose(in);
    Case c = greedy_case(3, 0);
    struct rlimit limit = {(rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE), RLIM_INFINITY};
    BrimSim *sim = NULL;
    BrimError error;
    c.def.threads = 1;
    c.def.liquid = c.liquid, c.def.solids = c.solids;
    c.def.sources = c.sources, c.def.drains = c.drains;
    if (setrlimit(RLIMIT_AS, &limit) != 0) return CANNOT_TRY;
    for (size_t bytes = 1 << 22; bytes >= 16; bytes /= 2) // what tests before left in the heap
        for (void *volatile taken = c.def.cells; taken;) taken = malloc(bytes);
    limit.rlim_cur += 1024 * (rlim_t)atoi(name);
    if (setrlimit(RLIMIT_AS, &limit) != 0) return CANNOT_TRY;
    BrimResult r = brim_sim_load(&c.def, at("little.brim"), &sim, &error);
    return r == BRIM_OK ? 0 : r == BRIM_ERROR_MEMORY ? 1 : 2;
}

TEST(loading_with_little_memory_never_blames_the_file) {
#ifdef __SANITIZE_ADDRESS__
    return; // its shadow does not fit under any limit
#endif
    Case c = greedy_case(3, 0);
    BrimSim *sim;
    BrimError error;
    c.def.threads = 1;
    CHECK_OK(case_create(&c, &sim, &error), error);
    CHECK_OK(brim_sim_step(sim, &error), error);
    CHECK_OK(brim_sim_save(sim, at("little.brim"), &error), error);
    brim_sim_destroy(&sim);
    int refused = 0, code = 1;
    for (int kib = 0; code != 0 && kib < 1 << 15; kib += 40) {
        char text[16];
        snprintf(text, sizeof text, "%d", kib);
        code = in_child(load_with_little, text);
        if (code == CANNOT_TRY) return;
        CHECK(code == 0 || code == 1);
        refused += code;
    }
    CHECK(code == 0 && refused > 3);
}

TEST(plotting_survives_every_failing_allocation) {
    double x[600], y[600];
    for (int i = 0; i < 600; i++) x[i] = i, y[i] = i % 7;
    BrimSeries series[] = {{.name = "a", .x = x, .y = y, .count = 600},
                           {.name = "b", .x = x, .y = x, .count = 600}};
    BrimPanelDef panel = {.title = "t", .series = series, .series_count = 2};
    BrimPlotDef plot = {.panels = &panel, .panel_count = 1, .one_legend = true};
    put_text(at("table.csv"), "a,b\n1,2\n3,4\n");
    bool drawn = false, read = false;
    for (int n = 0; !(drawn && read); n++) {
        BrimError error;
        BrimTable table;
        char *svg;
        CHECK(n < 100);
        fail_after(n, false);
        BrimResult result = brim_plot_svg(&plot, &svg, &error);
        heal();
        CHECK(result == BRIM_ERROR_MEMORY || (result == BRIM_OK && svg));
        drawn = result == BRIM_OK;
        brim_text_free(&svg);
        fail_after(n, false);
        result = brim_table_read(at("table.csv"), &table, &error);
        heal();
        CHECK(result != BRIM_ERROR_INPUT);
        read = result == BRIM_OK;
        brim_table_free(&table);
    }
}

TEST(what_is_too_large_is_refused_before_it_is_allocated) {
    Case c = case_tank(3, 96, 1);
    c.def.memory_limit = 1e8;
    BrimSim *sim;
    BrimError error;
    CHECK(case_create(&c, &sim, &error) == BRIM_ERROR_MEMORY && !sim);
    CHECK(strstr(error.message, "MiB are there"));
}
