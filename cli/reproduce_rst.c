// Experiments of Lim, Kim and Hong: "Water simulation using a responsive surface tracking for
// flow-type changes", 2015. Figures with a size: its own in full where memory allows, less with
// --quick. The paper gives few numbers; where it gives none, what the figure shows is measured.
#include "reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAPER "Lim, Kim and Hong 2015"

static const double ALL = 1e9; ///< seconds: the mean over a whole run

static const char *cells(Result *r, int x, int y, int z) {
    return sheet_text(&r->sheet, "domain.cells=[%d,%d,%d]", x, y, z);
}

/// A trial's own water, drawn with its surface.
static void draw_water(Result *r, const BrimSim *sim, bool positions, const BrimCamera *camera) {
    BrimMeshDef def = brim_default_mesh_def();
    BrimMesh mesh;
    BrimError error;
    def.positions = positions, def.threads = r->threads;
    if (r->code != EXIT_DONE || r->no_pictures) return;
    if (brim_sim_mesh(sim, &def, &mesh, &error) != BRIM_OK) {
        r->code = report_result(&error, false);
        return;
    }
    picture_water(r, sim, &mesh, camera);
    brim_mesh_free(&mesh);
}

// -------------------------------------------------------------------------------- figures 1, 13

/// The film between two jets, seen along them: columns of a cell with water, and holes in it.
typedef struct Film {
    Result *r;
    bool ours;
    int frame, frames;             ///< last one that was looked at; how many there will be
    double holes, hole_area, area; ///< of that frame: number, cells, cells
    double whole, whole_most;      ///< disk about the jets' axis without a hole, cells; its largest
    double holes_sum, area_most;
    uint8_t *wet;
    int *stack;
} Film;

/// Empty columns connected to (x, y) become `mark`. Returns how many; *rim: they reach the border.
static int flood(Film *f, int nx, int ny, int start, uint8_t mark, bool *rim) {
    int count = 0, top = 0;
    f->stack[top++] = start, f->wet[start] = mark, *rim = false;
    while (top > 0) {
        int at = f->stack[--top], x = at % nx, y = at / nx;
        count++;
        *rim |= x == 0 || y == 0 || x == nx - 1 || y == ny - 1;
        const int next[4] = {x > 0 ? at - 1 : at, x < nx - 1 ? at + 1 : at, y > 0 ? at - nx : at,
                             y < ny - 1 ? at + nx : at};
        for (int k = 0; k < 4; k++)
            if (f->wet[next[k]] == 0) f->wet[next[k]] = mark, f->stack[top++] = next[k];
    }
    return count;
}

static void watch_film(const BrimSim *sim, void *context) {
    Film *f = context;
    const BrimSimDef *def = brim_sim_def(sim);
    BrimParticles p = brim_sim_particles(sim);
    const int nx = def->cells[0], ny = def->cells[1];
    int frame = brim_sim_frame(sim);
    if (frame <= f->frame || f->r->code != EXIT_DONE) return;
    f->frame = frame;
    if (!f->wet) {
        f->wet = malloc((size_t)nx * (size_t)ny);
        f->stack = malloc((size_t)nx * (size_t)ny * sizeof *f->stack);
    }
    if (!f->wet || !f->stack) {
        result_fail(f->r, EXIT_MEMORY, "out of memory");
        return;
    }
    memset(f->wet, 0, (size_t)nx * (size_t)ny);
    for (size_t i = 0; i + p.spray < p.count; i++) {
        int x = (int)(p.x[i] / def->size.x * (float)nx),
            y = (int)(p.y[i] / def->size.y * (float)ny);
        if (x >= 0 && x < nx && y >= 0 && y < ny) f->wet[y * nx + x] = 1;
    }
    f->holes = f->hole_area = f->area = 0;
    f->whole = INFINITY;
    for (int i = 0; i < nx * ny; i++) {
        bool rim;
        double x = i % nx + 0.5 - 0.5 * nx, y = i / nx + 0.5 - 0.5 * ny;
        if (f->wet[i] == 1) f->area++;
        if (f->wet[i] != 1) f->whole = fmin(f->whole, 3.14159265 * (x * x + y * y));
        if (f->wet[i] != 0) continue;
        int size = flood(f, nx, ny, i, 2, &rim);
        if (!rim) f->holes++, f->hole_area += size;
    }
    f->holes_sum += f->holes;
    f->area_most = fmax(f->area_most, f->area);
    f->whole_most = fmax(f->whole_most, f->whole);
    if (frame == f->frames / 2 || frame == f->frames)
        draw_water(f->r, sim, !f->ours,
                   &(BrimCamera){.eye = {0.02f, 0.19f, 0.3f},
                                 .target = {0.075f, 0.065f, 0.019f},
                                 .angle = 32});
}

static void jets(Result *r) {
    const bool fine = strcmp(r->experiment->name, "rst-fig13") == 0;
    const int edge = (fine ? 1024 : 192) / (!r->quick ? 1 : fine ? 8 : 2);
    const int frames = fine && !r->quick ? 700 : 48;
    Film film[2] = {0};
    Trial *t[2];
    for (int k = 0; k < 2; k++) {
        film[k] = (Film){.r = r, .ours = k, .frames = frames};
        Setup s = {.label = k ? "ours" : "FLIP",
                   .colour = k + 1,
                   .dash = k + 1,
                   .scene = "rst-jets.yaml",
                   .watch = watch_film,
                   .context = &film[k]};
        setup_set(r, &s, "%s", cells(r, edge, edge, edge / 4));
        setup_set(r, &s, "time.duration=%g", frames / 800.0);
        if (k) {
            setup_set(r, &s, "surface.tracking=responsive");
            setup_set(r, &s, "surface.speed=[3,6]");
            setup_set(r, &s, "mpm.substeps=2");
        }
        t[k] = trial_run(r, &s);
        free(film[k].wet), free(film[k].stack);
        if (!t[k]) return;
    }
    const double cm2 = 1e4 * (0.15 / edge) * (0.15 / edge); // of a column
    for (int k = 0; k < 2; k++) {
        result_row(r, film[k].area * cm2, NAN, NAN, "", "%s: film at the end (cm^2)", t[k]->label);
        result_row(r, film[k].whole * cm2, NAN, NAN, "", "%s: of it without a hole (cm^2)",
                   t[k]->label);
        result_row(r, film[k].whole_most * cm2, NAN, NAN, "", "%s: the same, largest (cm^2)",
                   t[k]->label);
        result_row(r, film[k].holes_sum / frames, NAN, NAN, "", "%s: holes, mean over frames",
                   t[k]->label);
        result_row(r, film[k].hole_area * cm2, NAN, NAN, "", "%s: holes at the end (cm^2)",
                   t[k]->label);
    }
    result_row(r, film[1].whole_most / film[0].whole_most, 1, NAN, "a film without holes",
               "largest film without a hole, ours / FLIP");
    result_row(r, film[1].whole / film[0].whole, 1, NAN, "a film without holes",
               "film without a hole at the end, ours / FLIP");
    result_row(r, film[1].area_most / film[0].area_most, 0.9, NAN, "", "largest film, ours / FLIP");
    result_lines(r, 0, "volume", 1e6, "Water in the domain", "volume (cm^3)");
    pictures_join(r, 2, "FLIP above, ours below; half time and end");
}

// ------------------------------------------------------------------------------------- figure 2

/// Pictures of a run at one time, and the height that its highest drops reach.
typedef struct Splash {
    Result *r;
    double at, high; ///< s, m
    bool drawn, water;
} Splash;

static void watch_splash(const BrimSim *sim, void *context) {
    Splash *f = context;
    BrimParticles p = brim_sim_particles(sim);
    // the particle that one in a thousand is above
    enum { BINS = 1024 };
    size_t count[BINS] = {0}, above = 0;
    double size = (double)brim_sim_def(sim)->size.y;
    for (size_t i = 0; i < p.count; i++) {
        int b = (int)((double)p.y[i] / size * BINS);
        count[b < 0 ? 0 : b >= BINS ? BINS - 1 : b]++;
    }
    int b = BINS;
    while (b > 0 && above < p.count / 1000 + 1) above += count[--b];
    f->high = fmax(f->high, (b + 0.5) / BINS * size);
    if (f->drawn || brim_sim_time(sim) < f->at) return;
    f->drawn = true;
    if (f->water)
        draw_water(f->r, sim, false, NULL);
    else
        picture_take(f->r, sim, "speed", 4);
}

/// The most that the energy grew over a quarter of a second, as a part of what there was.
static double energy_gain(const Trial *t) {
    const double *k = trial_column(t, "kinetic_energy"), *p = trial_column(t, "potential_energy");
    const double *time = trial_column(t, "time");
    double worst = -INFINITY;
    for (size_t i = 0, j = 0; i < t->steps.row_count; i++) {
        while (time[i] - time[j] > 0.25) j++;
        worst = fmax(worst, (k[i] + p[i] - k[j] - p[j]) / (k[0] + p[0]));
    }
    return worst;
}

static void dam_mpm(Result *r) {
    Trial *t[2];
    Splash splash[2];
    for (int k = 0; k < 2; k++) {
        splash[k] = (Splash){.r = r, .at = 0.9};
        Setup s = {.label = k ? "FLIP and MPM" : "FLIP",
                   .colour = k + 1,
                   .dash = k + 1,
                   .scene = "dam.yaml",
                   .watch = watch_splash,
                   .context = &splash[k]};
        setup_set(r, &s, "domain.cells=%d", r->quick ? 64 : 128);
        setup_set(r, &s, "time.duration=%g", r->quick ? 1.5 : 4);
        if (k) setup_set(r, &s, "mpm.substeps=2");
        t[k] = trial_run(r, &s);
        if (!t[k]) return;
    }
    double share =
        (trial_sum(t[1], "ms_forces") - trial_sum(t[0], "ms_forces")) / trial_sum(t[1], "ms_total");
    result_row(r, 100 * share, NAN, NAN, "5", "share of the time for MPM sub-steps (%%)");
    for (int k = 0; k < 2; k++) {
        result_row(r, splash[k].high, NAN, NAN, "", "%s: highest splash (m)", t[k]->label);
        result_row(r, 100 * energy_gain(t[k]), NAN, 2, "", "%s: largest gain of energy (%%)",
                   t[k]->label);
        result_row(r, trial_last(t[k], "volume") / trial_column(t[k], "volume")[0], 0.97, 1.03, "",
                   "%s: volume at the end", t[k]->label);
    }
    result_lines(r, 0, "kinetic_energy", 1, "Dam", "kinetic energy (J)");
    pictures_join(r, 2, "FLIP; FLIP and MPM; after 0.9 s");
}

// -------------------------------------------------------------------------------- figures 4, 9

enum { BANDS = 3 };

/// Angle between the normals of neighbouring vertices, rms in degrees, by height.
static bool roughness(const BrimMesh *m, const double height[BANDS + 1], double out[BANDS]) {
    double sum[BANDS] = {0}, count[BANDS] = {0};
    for (size_t i = 0; i < m->triangle_count; i++)
        for (int k = 0; k < 3; k++) {
            uint32_t a = m->triangle[i][k], b = m->triangle[i][(k + 1) % 3];
            double dot = 0;
            for (int c = 0; c < 3; c++) dot += (double)m->normal[a][c] * (double)m->normal[b][c];
            double angle = acos(fmin(fmax(dot, -1), 1)) * 57.29577951;
            for (int h = 0; h < BANDS; h++)
                if (m->position[a][1] >= height[h] && m->position[a][1] < height[h + 1])
                    sum[h] += angle * angle, count[h]++;
        }
    for (int h = 0; h < BANDS; h++) out[h] = count[h] > 0 ? sqrt(sum[h] / count[h]) : NAN;
    return true;
}

typedef struct Wall {
    Result *r;
    bool positions;
    double rough[BANDS]; ///< by height, means over the frames looked at
    double spray;        ///< particles
    int looked, frame, from;
} Wall;

static const double wall_heights[BANDS + 1] = {0.06, 0.25, 0.5, 0.9};

static void watch_wall(const BrimSim *sim, void *context) {
    Wall *f = context;
    int frame = brim_sim_frame(sim);
    if (frame <= f->frame || frame < f->from || f->r->code != EXIT_DONE) return;
    bool last = frame == brim_sim_frame_count(sim);
    f->frame = frame;
    if (frame % 3 && !last) return;
    BrimMeshDef def = brim_default_mesh_def();
    BrimMesh mesh;
    BrimError error;
    double rough[BANDS];
    def.positions = f->positions, def.threads = f->r->threads;
    if (brim_sim_mesh(sim, &def, &mesh, &error) != BRIM_OK) {
        f->r->code = report_result(&error, false);
        return;
    }
    roughness(&mesh, wall_heights, rough);
    for (int h = 0; h < BANDS; h++) f->rough[h] += rough[h];
    f->looked++;
    f->spray = fmax(f->spray, (double)brim_sim_particles(sim).spray);
    if (last) picture_water(f->r, sim, &mesh, NULL);
    brim_mesh_free(&mesh);
}

static void wall(Result *r) {
    static const char *const names[] = {"FLIP", "tracking", "tracking, MPM"};
    static const char *const where[BANDS] = {"foot", "middle", "top"};
    Wall f[3];
    Trial *t[3];
    for (int k = 0; k < 3; k++) {
        f[k] = (Wall){.r = r, .positions = k == 0, .from = r->quick ? 20 : 24};
        Setup s = {.label = names[k],
                   .colour = k + 1,
                   .dash = k + 1,
                   .scene = "rst-wall.yaml",
                   .watch = watch_wall,
                   .context = &f[k]};
        if (r->quick) setup_set(r, &s, "%s", cells(r, 48, 80, 48));
        if (r->quick) setup_set(r, &s, "time.duration=1.25");
        if (k == 0) setup_set(r, &s, "surface.tracking=off");
        if (k == 0) setup_set(r, &s, "spray.speed=[0,0]");
        if (k == 2) setup_set(r, &s, "mpm.substeps=2");
        t[k] = trial_run(r, &s);
        if (!t[k]) return;
        for (int h = 0; h < BANDS; h++)
            result_row(r, f[k].rough[h] / f[k].looked, NAN, NAN, "",
                       "%s: roughness at the %s (degrees)", names[k], where[h]);
        result_row(r, f[k].spray, NAN, NAN, k ? "many at the foot" : "",
                   "%s: spray, most particles", names[k]);
    }
    double top = f[1].rough[2] / f[1].looked, foot = f[1].rough[0] / f[1].looked;
    result_row(r, foot / top, 1.5, NAN, "smooth top", "tracking: foot over top");
    result_row(r, top / (f[0].rough[2] / f[0].looked), NAN, 1, "smooth top",
               "top: tracking over FLIP");
    result_lines(r, 0, "kinetic_energy", 1, "Water down a wall", "kinetic energy (J)");
    pictures_join(r, 3, "FLIP; tracking; tracking and MPM, at the end");
}

// -------------------------------------------------------------------------------- figures 5, 6
//
// The paper compares "tracking a water surface with anisotropic kernels in FLIP water simulation"
// with its own tracking: 97 % of "the whole simulation procedure" are kernels then. So the surface
// that the pressure has for a boundary comes from kernels in each step, at the simulation's
// resolution, and that of each frame at twice the resolution. Kernels for frames alone are told
// beside it.

typedef struct Meshing {
    Result *r;
    bool anisotropic;
    int frame, every;
    double seconds; ///< of processor time for surfaces
    double coarse;  ///< the same at the simulation's resolution
    int made;
    double calm;     ///< roughness of the last frame, degrees
    BrimMesh before; ///< for steadiness
    double jump;     ///< cells a frame at 99 % of the surface
    int jumps;
} Meshing;

static void watch_meshing(const BrimSim *sim, void *context) {
    Meshing *f = context;
    const BrimSimDef *sim_def = brim_sim_def(sim);
    int frame = brim_sim_frame(sim), frames = brim_sim_frame_count(sim);
    if (frame <= f->frame || f->r->code != EXIT_DONE) return;
    f->frame = frame;
    bool calm = frame > frames - 3;
    if (frame % f->every && !calm) return;
    BrimMeshDef def = brim_default_mesh_def();
    BrimMesh mesh;
    BrimError error;
    def.anisotropic = f->anisotropic, def.threads = f->r->threads;
    double began = cpu_clock();
    BrimResult result = brim_sim_mesh(sim, &def, &mesh, &error);
    if (!calm) f->seconds += cpu_clock() - began, f->made++;
    if (result == BRIM_OK && !calm && f->anisotropic) {
        BrimMesh coarse;
        def.resolution = 1, def.smooth = 0;
        began = cpu_clock();
        result = brim_sim_mesh(sim, &def, &coarse, &error);
        f->coarse += cpu_clock() - began;
        brim_mesh_free(&coarse);
    }
    if (result == BRIM_OK && calm) {
        const double heights[BANDS + 1] = {0.02, INFINITY, INFINITY, INFINITY};
        double rough[BANDS];
        roughness(&mesh, heights, rough);
        f->calm = rough[0];
        if (f->before.vertex_count) {
            BrimMeshJump jump;
            double cell = (double)sim_def->size.x / sim_def->cells[0];
            result = brim_mesh_jump(&f->before, &mesh, 1 / sim_def->frame_rate, sim_def->size,
                                    4 * cell, &jump, &error);
            f->jump += jump.most_of_it / cell, f->jumps++;
        }
        if (frame == frames) picture_water(f->r, sim, &mesh, NULL);
        brim_mesh_free(&f->before);
        f->before = mesh, mesh = (BrimMesh){0};
    }
    if (result != BRIM_OK) f->r->code = report_result(&error, false);
    brim_mesh_free(&mesh);
}

static void surfaces(Result *r) {
    const int edge = r->quick ? 48 : 256;
    Meshing f[2];
    Trial *t[2];
    double each[2], meshes[2];
    for (int k = 0; k < 2; k++) {
        f[k] = (Meshing){.r = r, .anisotropic = k == 0, .every = r->quick ? 5 : 10};
        Setup s = {.label = k ? "tracked" : "anisotropic",
                   .colour = k + 1,
                   .dash = k + 1,
                   .scene = "double-dam-3d.yaml",
                   .watch = watch_meshing,
                   .context = &f[k]};
        setup_set(r, &s, "domain.size=[1,1,1]");
        setup_set(r, &s, "%s", cells(r, edge, edge, edge));
        setup_set(r, &s, "time.step=%g", 0.128 / edge);
        setup_set(r, &s, "time.duration=%g", r->quick ? 4.0 : 10.0);
        if (k) setup_set(r, &s, "surface.tracking=responsive");
        t[k] = trial_run(r, &s);
        if (!t[k]) return;
        brim_mesh_free(&f[k].before);
        each[k] = f[k].seconds / f[k].made;
        meshes[k] = each[k] * trial_last(t[k], "frame");
        result_row(r, t[k]->cpu, NAN, NAN, "", "%s: simulation (s of processor time)", t[k]->label);
        result_row(r, each[k], NAN, NAN, "", "%s: a surface at twice the resolution (s)",
                   t[k]->label);
        result_row(r, meshes[k], NAN, NAN, "", "%s: surfaces of all frames (s)", t[k]->label);
        result_row(r, f[k].calm, NAN, NAN, "", "%s: roughness when calm (degrees)", t[k]->label);
        result_row(r, f[k].jump / fmax(f[k].jumps, 1), NAN, NAN, "",
                   "%s: jumps between frames when calm (cells)", t[k]->label);
    }
    // in each step kernels take the place of the level set
    double level_set = t[0]->cpu * trial_sum(t[0], "ms_surface") / trial_sum(t[0], "ms_total");
    double tracking = f[0].coarse / f[0].made * (double)t[0]->steps.row_count;
    double whole = t[0]->cpu - level_set + tracking + meshes[0], ours = t[1]->cpu + meshes[1];
    result_row(r, f[0].coarse / f[0].made, NAN, NAN, "", "anisotropic: a surface for a step (s)");
    result_row(r, 100 * (tracking + meshes[0]) / whole, NAN, NAN, "97",
               "anisotropic: share of surfaces (%%)");
    result_row(r, whole / ours, 5.2, NAN, "5.2 (19 in the text)", "whole time, times lower");
    result_row(r, (t[0]->cpu + meshes[0]) / ours, NAN, NAN, "",
               "the same, kernels for frames alone");
    result_row(r, each[0] / each[1], NAN, NAN, "", "time of a surface, times lower");
    result_row(r, f[1].calm / f[0].calm, NAN, 1, "as smooth",
               "roughness when calm, tracked over anisotropic");
    result_lines(r, 0, "kinetic_energy", 1e-3, "Double dam", "kinetic energy (kJ)");
    pictures_join(r, 2, "anisotropic kernels; tracked surface");
}

// ------------------------------------------------------------------------------------- figure 8

/// Heights of the surface over the columns of the domain at one time.
typedef struct Heights {
    Result *r;
    double at;
    float *height; ///< [x][z], cells
    bool done;
} Heights;

static void watch_heights(const BrimSim *sim, void *context) {
    Heights *f = context;
    const BrimSimDef *def = brim_sim_def(sim);
    BrimError error;
    if (f->done || brim_sim_time(sim) < f->at) return;
    f->done = true;
    size_t nx = (size_t)def->cells[0], ny = (size_t)def->cells[1], nz = (size_t)def->cells[2];
    float *phi = malloc(nx * ny * nz * sizeof *phi);
    f->height = malloc(nx * nz * sizeof *f->height);
    if (!phi || !f->height ||
        brim_sim_field(sim, BRIM_FIELD_LEVEL_SET, phi, nx * ny * nz, &error) != BRIM_OK) {
        result_fail(f->r, EXIT_MEMORY, "out of memory");
    } else {
        for (size_t z = 0; z < nz; z++)
            for (size_t x = 0; x < nx; x++) {
                size_t y = ny - 1;
                while (y > 0 && phi[(z * ny + y) * nx + x] > 0) y--;
                float low = phi[(z * ny + y) * nx + x];
                float high = y + 1 < ny ? phi[(z * ny + y + 1) * nx + x] : -low;
                f->height[z * nx + x] =
                    low > 0 ? 0 : (float)y + 0.5f + (high > low ? -low / (high - low) : 0);
            }
    }
    free(phi);
    draw_water(f->r, sim, true, NULL);
}

static void same_particles(Result *r) {
    const int edge = r->quick ? 64 : 256;
    static const char *const names[] = {"eight a cell", "uniform", "adaptive"};
    Heights f[3];
    Trial *t[3];
    double off[3] = {0};
    for (int k = 0; k < 3; k++) {
        f[k] = (Heights){.r = r, .at = 0.45};
        Setup s = {.label = names[k],
                   .colour = k + 1,
                   .dash = k + 1,
                   .scene = "band-dam.yaml",
                   .watch = watch_heights,
                   .context = &f[k]};
        setup_set(r, &s, "domain.size=[1,1,1]");
        setup_set(r, &s, "%s", cells(r, edge, edge, edge));
        setup_set(r, &s, "liquid=[{box: {low: [0,0,0], high: [0.5,0.8,1]}}]");
        setup_set(r, &s, "time.duration=0.48");
        setup_set(r, &s, "particles.per_cell=%d", k == 1 ? 1 : 8);
        setup_set(r, &s, "band.width=%d", k == 2 ? 3 : 0);
        t[k] = trial_run(r, &s);
        if (!t[k] || !f[k].height) {
            for (int i = 0; i <= k; i++) free(f[i].height);
            return;
        }
        for (int i = 0; i < edge * edge; i++)
            off[k] += fabs((double)f[k].height[i] - (double)f[0].height[i]) / (edge * edge);
        result_row(r, trial_end_mean(t[k], "particles", ALL), NAN, NAN, k ? "3 million" : "",
                   "%s: particles", names[k]);
        if (k)
            result_row(r, off[k], NAN, NAN, "", "%s: surface off eight a cell (cells)", names[k]);
    }
    result_row(r, off[1] / off[2], 1, NAN, "much better", "detail: error, uniform over adaptive");
    for (int i = 0; i < 3; i++) free(f[i].height);
    result_lines(r, 0, "particles", 1e-3, "Particles", "thousand");
    pictures_join(r, 3, "eight particles a cell; one a cell; adaptive");
}

// ------------------------------------------------------------------------------------ figure 10

static void volumes(Result *r) {
    static const struct {
        const char *label, *volume;
        bool tracked, mpm;
    } kinds[] = {{"FLIP", "none", false, false},
                 {"tracking", "none", true, false},
                 {"tracking, MPM", "none", true, true},
                 {"tracking, density projection", "density", true, false}};
    const int edge = r->quick ? 32 : 96;
    double end[4];
    for (int k = 0; k < 4; k++) {
        Splash splash = {.r = r, .at = r->quick ? 3.8 : 5.8, .water = true};
        Setup s = {.label = kinds[k].label,
                   .colour = k + 1,
                   .dash = k + 1,
                   .scene = "double-dam-3d.yaml",
                   .watch = watch_splash,
                   .context = &splash};
        setup_set(r, &s, "domain.size=[1,1,1]");
        setup_set(r, &s, "%s", cells(r, edge, edge, edge));
        setup_set(r, &s, "time.duration=%g", r->quick ? 4.0 : 6.0);
        setup_set(r, &s, "time.step=0.01");
        setup_set(r, &s, "solver.volume=%s", kinds[k].volume);
        if (kinds[k].tracked) setup_set(r, &s, "surface.tracking=responsive");
        if (kinds[k].mpm) setup_set(r, &s, "mpm.substeps=2");
        Trial *t = trial_run(r, &s);
        if (!t) return;
        end[k] = trial_end_mean(t, "volume", 0.5) / trial_column(t, "volume")[0];
        result_row(r, end[k], k == 3 ? 0.97 : NAN, k == 3 ? 1.03 : NAN, k ? "" : "loses",
                   "%s: volume at the end", kinds[k].label);
    }
    result_row(r, end[1] / end[0], 1, NAN, "more", "tracking over FLIP");
    result_row(r, end[2] / end[1], 1, NAN, "more", "MPM over without");
    result_lines(r, 0, "volume", 1, "Volume", "m^3");
    pictures_join(r, 2, "FLIP, tracking; with MPM, with density projection");
}

// -------------------------------------------------------------------------------- figures 11, 12

static void leap_times(Result *r) {
    const int edge = r->quick ? 256 : 512, steps = r->quick ? 8 : 20;
    Trial *t[2];
    for (int k = 0; k < 2; k++) {
        Setup s = {.label = k ? "adaptive" : "uniform",
                   .colour = k + 1,
                   .dash = k + 1,
                   .scene = "rst-leap.yaml"};
        setup_set(r, &s, "domain.size=[4,4,4]");
        setup_set(r, &s, "%s", cells(r, edge, edge, edge));
        setup_set(r, &s, "liquid=[{box: {low: [0,0,0], high: [4,1,4]}}]");
        setup_set(r, &s, "time.step=%g", 1.0 / 480);
        setup_set(r, &s, "time.frame_rate=480");
        setup_set(r, &s, "time.duration=%g", steps / 480.0);
        setup_set(r, &s, "band.width=%d", k ? 4 : 0);
        t[k] = trial_run(r, &s);
        if (!t[k]) return;
        result_row(r, trial_most(t[k], "particles", 0) * 1e-6, NAN, NAN, k ? "15" : "260",
                   "%s: million particles", t[k]->label);
        result_row(r, trial_most(t[k], "memory_bytes", 0) * 1e-9, NAN, NAN, "", "%s: memory (GB)",
                   t[k]->label);
    }
    result_row(r, trial_sum(t[0], "ms_advect") / trial_sum(t[1], "ms_advect"), 3.5, NAN, "3.5",
               "advection, times faster");
    result_row(r, trial_sum(t[0], "ms_to_grid") / trial_sum(t[1], "ms_to_grid"), 4.45, NAN, "4.45",
               "grid velocity, times faster");
    result_row(r, trial_sum(t[0], "ms_total") / trial_sum(t[1], "ms_total"), NAN, NAN, "",
               "whole step, times faster");
    result_lines(r, 0, "ms_total", 1e-3, "A step", "s");
}

static void watch_leap(const BrimSim *sim, void *context) {
    Result *r = context;
    int frame = brim_sim_frame(sim), frames = brim_sim_frame_count(sim);
    if (frame == frames) draw_water(r, sim, false, NULL);
}

static void leap(Result *r) {
    const int edge = r->quick ? 64 : 512, frames = 20;
    Setup s = {.label = "leap", .colour = 1, .dash = 1, .scene = "rst-leap.yaml"};
    s.watch = watch_leap, s.context = r;
    setup_set(r, &s, "%s", cells(r, 2 * edge, edge, edge));
    setup_set(r, &s, "time.duration=%g", frames / 60.0);
    Trial *t = trial_run(r, &s);
    if (!t) return;
    result_row(r, trial_most(t, "particles", 0) * 1e-6, NAN, NAN, "100", "million particles");
    result_row(r, t->wall / frames, NAN, r->quick ? NAN : 12 * 3600.0 / 300, "264",
               "time a frame (s)");
    result_row(r, t->cpu / frames, NAN, NAN, "", "processor time a frame (s)");
    result_row(r, t->wall / frames * 300 / 3600, NAN, r->quick ? NAN : 12, "22",
               "300 frames at this rate (h)");
    result_row(r, trial_most(t, "memory_bytes", 0) * 1e-9, NAN, NAN, "", "memory (GB)");
    result_lines(r, 0, "ms_total", 1e-3, "A step", "s");
    pictures_join(r, 1, "after 20 frames");
}

const Experiment rst_experiments[] = {
    {"rst-fig1", "two colliding jets: holes in their film, FLIP and ours", PAPER ", figure 1",
     "30 min", "3 min", "96 x 96 x 24 cells", jets},
    {"rst-fig13", "the same on a finer grid", PAPER ", figure 13", "3 d", "6 min",
     "128 x 128 x 32 cells, 48 frames", jets},
    {"rst-fig2", "a dam with MPM sub-steps: cost, splash, energy", PAPER ", figure 2", "15 min",
     "1 min", "64 cells, 1.5 s", dam_mpm},
    {"rst-fig4", "water down a wall: smooth, rough, atomised", PAPER ", figures 4, 9", "30 min",
     "2 min", "48 x 80 x 48 cells", wall},
    {"rst-fig5", "double dam: anisotropic kernels against the tracked surface",
     PAPER ", figures 5, 6", "1 d", "5 min", "48^3 cells, 4 s", surfaces},
    {"rst-fig6", "the same as rst-fig5: one run gives both figures", PAPER ", figures 5, 6", "1 d",
     "5 min", "48^3 cells, 4 s", surfaces},
    {"rst-fig8", "as many particles, uniform and adaptive", PAPER ", figure 8", "30 min", "1 min",
     "64^3 cells", same_particles},
    {"rst-fig9", "the same as rst-fig4: one run gives both figures", PAPER ", figures 4, 9",
     "30 min", "2 min", "48 x 80 x 48 cells", wall},
    {"rst-fig10", "volume: FLIP, tracking, MPM, density projection", PAPER ", figure 10", "30 min",
     "1 min", "32^3 cells, 4 s", volumes},
    {"rst-fig11", "a leaping body: time a frame and memory", PAPER ", figure 11", "1 h", "10 s",
     "128 x 64 x 64 cells", leap},
    {"rst-fig12", "a leaping body: uniform against adaptive particles", PAPER ", figure 12",
     "30 min", "5 min", "256^3 cells, 8 steps", leap_times},
    {0},
};
