// Experiments of Ibayashi, Wojtan, Thuerey, Igarashi, Ando: "Simulating Liquids on Dynamically
// Warping Grids", 2018: whole scenes, with their meshes.
#include "reproduce.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PAPER "Ibayashi et al. 2018"

/// Pictures of a run: at times that rise, with the mesh in them.
typedef struct Album {
    Result *r;
    const double *time; ///< [count] s
    int count, taken;
    int water;   ///< at which of them the water's surface is drawn too, from 1 on; 0: at none
    double area; ///< of the surface, its mean over the times, m^2
} Album;

/// Particles by speed, and the middle slice of the mesh.
static void take_picture(Result *r, const BrimSim *sim) {
    const BrimSimDef *def = brim_sim_def(sim);
    const int low[3] = {0}, high[3] = {def->cells[0], def->cells[1], def->cells[2]};
    const size_t nodes = (size_t)(high[0] + 1) * (size_t)(high[1] + 1) * (size_t)(high[2] + 1);
    BrimParticles p = brim_sim_particles(sim);
    BrimFrame frame = {.count = p.count,
                       .x = (float *)p.x,
                       .y = (float *)p.y,
                       .z = (float *)p.z,
                       .vx = p.vx,
                       .vy = p.vy,
                       .vz = p.vz,
                       .id = (uint32_t *)p.id};
    BrimPictureDef picture = brim_default_picture_def();
    BrimError error;
    float *place = malloc(3 * nodes * sizeof *place);
    if (!place) {
        result_fail(r, EXIT_MEMORY, "out of memory for a picture");
        return;
    }
    picture.width = 580, picture.height = 480;
    picture.style = BRIM_STYLE_PARTICLES;
    picture.colour = "speed";
    picture.low = 0, picture.high = 4;
    picture.threads = r->threads;
    if (brim_sim_nodes(sim, low, high, place, 3 * nodes, &error) == BRIM_OK)
        picture.grid = true, picture.nodes = place;
    picture_write(r, r->def, &frame, brim_sim_time(sim), NULL, &picture);
    free(place);
}

/// Area of the water's surface, by its triangles; m^2.
static double surface_area(const BrimMesh *mesh) {
    double sum = 0;
    for (size_t i = 0; i < mesh->triangle_count; i++) {
        const float *a = mesh->position[mesh->triangle[i][0]],
                    *b = mesh->position[mesh->triangle[i][1]];
        const float *c = mesh->position[mesh->triangle[i][2]];
        double u[3], v[3], square = 0;
        for (int k = 0; k < 3; k++)
            u[k] = (double)b[k] - (double)a[k], v[k] = (double)c[k] - (double)a[k];
        for (int k = 0; k < 3; k++) {
            const int m = (k + 1) % 3, n = (k + 2) % 3;
            const double w = u[m] * v[n] - u[n] * v[m];
            square += w * w;
        }
        sum += 0.5 * sqrt(square);
    }
    return sum;
}

static bool is_due(const Album *album, const BrimSim *sim) {
    return album->taken < album->count && brim_sim_time(sim) >= album->time[album->taken] - 1e-9;
}

static void watch(const BrimSim *sim, void *context) {
    Album *album = context;
    if (!is_due(album, sim)) return;
    album->taken++;
    take_picture(album->r, sim);
}

/// Of the surface: its area at each time, its picture at one, and the mesh then.
static void watch_surface(const BrimSim *sim, void *context) {
    Album *album = context;
    BrimMeshDef def = brim_default_mesh_def();
    BrimMesh mesh;
    BrimError error;
    def.threads = album->r->threads;
    if (!is_due(album, sim)) return;
    album->taken++;
    if (brim_sim_mesh(sim, &def, &mesh, &error) != BRIM_OK) {
        result_fail(album->r, EXIT_MEMORY, "%s", error.message);
        return;
    }
    album->area += surface_area(&mesh) / album->count;
    if (album->taken == album->water) {
        picture_water(album->r, sim, &mesh, NULL);
        take_picture(album->r, sim);
    }
    brim_mesh_free(&mesh);
}

/// The mean over the steps of the largest cell over the smallest.
static double volume_ratio(const Trial *t) {
    const double *least = trial_column(t, "cell_least"), *most = trial_column(t, "cell_most");
    double sum = 0;
    for (size_t i = 0; i < t->steps.row_count; i++) sum += most[i] / least[i];
    return sum / (double)t->steps.row_count;
}

static double smallest(const Trial *t, const char *name) {
    const double *v = trial_column(t, name);
    double least = INFINITY;
    for (size_t i = 0; i < t->steps.row_count; i++) least = fmin(least, v[i]);
    return least;
}

/// What the paper and the notes ask of any run on such a mesh.
static void mesh_rows(Result *r, const Trial *t, const char *paper_ratio) {
    if (!t) return;
    result_check(r, t->error.result == BRIM_OK, "", "runs to its end");
    result_row(r, smallest(t, "cell_least"), 0.01, NAN, "", "%s: smallest cell", t->label);
    result_row(r, trial_most(t, "cell_most", 0), NAN, NAN, "", "%s: largest cell", t->label);
    result_row(r, volume_ratio(t), NAN, NAN, paper_ratio, "%s: largest over smallest, mean",
               t->label);
    result_row(r, smallest(t, "volume"), 0.97, NAN, "", "%s: least volume", t->label);
    result_row(r, trial_most(t, "volume", 0), NAN, 1.03, "", "%s: largest volume", t->label);
    result_row(r, trial_sum(t, "ms_solids") / trial_sum(t, "ms_total"), NAN, NAN, "0.1",
               "%s: part of a step for the mesh (and solids)", t->label);
}

/// One scene, pictures at three times.
static void scene(Result *r, const char *file, const char *label, int small, double seconds,
                  const double times[3], const char *paper_ratio, const char *caption) {
    Album album = {.r = r, .time = times, .count = 3};
    Setup s = {.label = label, .colour = 1, .scene = file, .watch = watch, .context = &album};
    if (r->quick) setup_set(r, &s, "domain.cells=%d", small);
    setup_set(r, &s, "time.duration=%g", seconds);
    Trial *t = trial_run(r, &s);
    mesh_rows(r, t, paper_ratio);
    result_lines(r, 0, "cell_least", 1, "Smallest cell", "volume, of a regular cell");
    pictures_join(r, 3, caption);
}

static void figure1(Result *r) {
    static const double times[3] = {0.1, 0.4, 0.8};
    scene(r, "warp-holes.yaml", "holes", 32, r->quick ? 0.8 : 2, times, "17",
          "at 0.1, 0.4 and 0.8 s, with the middle slice of the mesh");
}

static void figure2(Result *r) {
    static const double times[3] = {0.05, 0.25, 0.5};
    scene(r, "warp-rabbit.yaml", "rabbit", 32, r->quick ? 0.5 : 1.5, times, "",
          "at 0.05, 0.25 and 0.5 s, with the middle slice of the mesh");
}

static void figure3(Result *r) {
    static const double times[3] = {0.2, 0.6, 1};
    scene(r, "warp-comb.yaml", "comb", 48, r->quick ? 1 : 2, times, "18",
          "at 0.2, 0.6 and 1 s, with the middle slice of the mesh");
}

static void figure5(Result *r) {
    static const double times[3] = {0.2, 0.5, 0.9};
    scene(r, "warp-dam.yaml", "dam", 32, r->quick ? 0.9 : 2, times, "",
          "at 0.2, 0.5 and 0.9 s, with the middle slice of the mesh");
}

/// The drop on the staggered grid, the warped one, and a staggered one of twice the cells.
typedef struct Drop {
    Trial *t[3];
    double area[3];
} Drop;

static bool drop(Result *r, Drop *d) {
    static const char *const label[3] = {"MAC", "warped", "MAC, twice the cells"};
    static const double times[4] = {0.1, 0.15, 0.2, 0.25};
    const int cells = r->quick ? 32 : 128;
    for (int k = 0; k < 3; k++) {
        Album album = {.r = r, .time = times, .count = 4, .water = 2};
        Setup s = {.label = label[k],
                   .colour = k + 1,
                   .scene = "warp-drop.yaml",
                   .watch = watch_surface,
                   .context = &album};
        setup_set(r, &s, "domain.cells=%d", k == 2 ? 2 * cells : cells);
        setup_set(r, &s, "grid.warp=%g", k == 1 ? 0.75 : 0.0);
        setup_set(r, &s, "time.frame_rate=20");
        setup_set(r, &s, "time.duration=%g", times[3]);
        d->t[k] = trial_run(r, &s);
        d->area[k] = album.area;
        if (!d->t[k]) return false;
    }
    return true;
}

/// How much of what finer cells show of the surface the warped ones do: crown, sheets and drops
/// that a grid resolves are area.
static void detail_rows(Result *r, const Drop *d) {
    for (int k = 0; k < 3; k++)
        result_row(r, d->area[k], NAN, NAN, "", "%s: area of the surface, 0.1 to 0.25 s (m^2)",
                   d->t[k]->label);
    result_row(r, (d->area[1] - d->area[0]) / (d->area[2] - d->area[0]), NAN, NAN, "as MAC 256",
               "warped: part of the area that twice the cells add");
    pictures_join(r, 2,
                  "at 0.15 s: MAC, warped, MAC of twice the cells; the warped grid's middle slice "
                  "is drawn in");
}

static void figure8(Result *r) {
    Drop d = {.t = {NULL}};
    if (!drop(r, &d)) return;
    mesh_rows(r, d.t[1], "");
    detail_rows(r, &d);
}

static double step_cost(const Trial *t) {
    return 1000 * t->cpu / (double)t->steps.row_count;
}

static void table1(Result *r) {
    static const char *const paper[3] = {"4280", "10200", "26400"};
    Drop d = {.t = {NULL}};
    if (!drop(r, &d)) return;
    double cost[3];
    for (int k = 0; k < 3; k++) {
        cost[k] = step_cost(d.t[k]);
        result_row(r, cost[k], NAN, NAN, paper[k], "%s: processor time (ms a step)", d.t[k]->label);
    }
    result_row(r, cost[1] / cost[0], NAN, r->quick ? NAN : 2.38, "2.38", "warped over MAC");
    result_row(r, cost[2] / cost[1], NAN, NAN, "2.58", "twice the cells over warped");
    result_row(r, trial_sum(d.t[1], "ms_solids") / trial_sum(d.t[1], "ms_total"), NAN, 0.1, "0.1",
               "warped: part of a step for the mesh");
    detail_rows(r, &d);
}

const Experiment warp_scene_experiments[] = {
    {"warp-fig1", "water leaks out of a container with holes, on a warped grid", PAPER ", figure 1",
     "not measured", "100 s", "32 cells instead of 96, 0.8 s", figure1},
    {"warp-fig2", "a rabbit of water falls into a basin, on a warped grid", PAPER ", figure 2",
     "not measured", "10 s", "32 cells instead of 96, 0.5 s", figure2},
    {"warp-fig3", "a comb in shallow water, the grid bends towards it", PAPER ", figure 3",
     "not measured", "30 s", "48 cells instead of 96, 1 s", figure3},
    {"warp-fig5", "a breaking dam on a warped grid", PAPER ", figure 5", "not measured", "15 s",
     "32 cells instead of 128, 0.9 s", figure5},
    {"warp-fig8", "a drop falls into a pool: MAC, warped, MAC of twice the cells",
     PAPER ", figure 8", "not measured", "30 s", "32 and 64 cells instead of 128 and 256", figure8},
    {"warp-table1", "time of a step: MAC, warped, MAC of twice the cells", PAPER ", table 1",
     "not measured", "30 s", "32 and 64 cells instead of 128 and 256", table1},
    {0},
};
