#include "mesh/stretch.h"
#include "base/memory.h"
#include "mesh/axes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// How much of the way to its neighbours' mean a particle goes. The paper's 0.9 would draw a flat
/// surface in by 0.28 radii, farther than its kernels reach out again: no level has the volume.
static const float TOWARDS_MEAN = 0.4f;
/// The longest axis of a kernel is no more than this many times a shorter one.
static const float STRETCH_MOST = 4.0f;
/// Length of the axes, over that in full water, with few neighbours.
static const float ALONE = 0.5f;
/// Parts of the full neighbourhood between which a kernel goes from round to stretched.
static const float FEW = 0.1f, ENOUGH = 0.3f;
/// Bounds that keep a kernel within its support: of the longest axis over that in full water, and
/// of the shift over the neighbourhood's radius.
static const float LONGEST = 1.25f, SHIFT_MOST = 1.0f / 6;
static const double PI = 3.14159265358979;

static float clamp(float x, float low, float high) {
    return x < low ? low : x > high ? high : x;
}

/// Axis length, over the unstretched radius, from a covariance's eigenvalue (1 in full water) and
/// the largest of the three.
static float axis_length(float value, float largest, float filled) {
    float t = clamp((filled - FEW) / (ENOUGH - FEW), 0, 1);
    float stretched = clamp(fmaxf(value, largest / STRETCH_MOST), 0, LONGEST);
    return ALONE + t * t * (3 - 2 * t) * (stretched - ALONE);
}

// -------------------------------------------------------------------------------------- theory

/// What a particle at depth z (over the radius) below a flat surface finds: weights 1 - s^2 of the
/// slices between it and the surface and of the full half below it. Slices at height u weigh
/// pi (1 - u^2)^2 / 2, their second moment along the surface is pi (1 - u^2)^3 / 12.
typedef struct FlatParticle {
    double shift;  ///< of the mean away from the surface, over the radius
    double normal; ///< axis across the surface, over the unstretched radius
} FlatParticle;

static FlatParticle flat_particle(double z) {
    enum { SLICES = 400 };
    double top = fmin(z, 1), du = (top + 1) / SLICES;
    double mass = 0, first = 0, across = 0, along = 0;
    for (int i = 0; i < SLICES; i++) {
        double u = -1 + (i + 0.5) * du, a = 1 - u * u, w = PI * a * a / 2;
        mass += w * du, first += u * w * du, across += u * u * w * du;
        along += PI * a * a * a / 12 * du;
    }
    double mean = first / mass, filled = mass / (8 * PI / 15); // integral of 1 - s^2 over the ball
    // 7: over the variance in the full ball, 1/7
    float value = (float)(7 * (across / mass - mean * mean)), other = (float)(7 * along / mass);
    return (FlatParticle){fmin(-mean * TOWARDS_MEAN, SHIFT_MOST),
                          axis_length(value, fmaxf(value, other), (float)filled)};
}

/// Sum of kernels at height y above a flat surface, in cells: particles of all depths, each with
/// the mass of its kernel's slice, 315/256 (1 - u^2)^4.
static double flat_sum(const StretchScale *s, double y) {
    enum { DEPTHS = 400 };
    double sum = 0, dz = 2 * (double)s->support / DEPTHS;
    for (int i = 0; i < DEPTHS; i++) {
        double z = (i + 0.5) * dz;
        FlatParticle p = flat_particle(z / s->radius);
        double length = p.normal * s->kernel, u = (y + z + p.shift * s->radius) / length;
        if (u < 1) sum += 315.0 / 256 * pow(1 - u * u, 4) / length * dz;
    }
    return sum;
}

StretchScale stretch_scale(const MeshScale *scale, double per_cell) {
    double r = scale->radius;
    StretchScale s = {.radius = scale->radius, .kernel = (float)(0.9 * r)};
    s.support = s.kernel * LONGEST + s.radius * SHIFT_MOST;
    s.full = (float)(per_cell * 8 * PI / 15 * r * r * r);
    s.volume = (float)(1 / per_cell);
    FlatParticle first = flat_particle(0);
    s.normal = (float)first.normal * s.kernel;
    s.top = s.normal - (float)(first.shift * r);
    s.step = (s.top + 0.5f * s.radius) / (STRETCH_HEIGHTS - 1);
    for (int i = 1; i < STRETCH_HEIGHTS; i++)
        s.sum[i] = fmaxf(s.sum[i - 1], (float)flat_sum(&s, s.top - (float)i * s.step));
    return s;
}

float stretch_distance(const StretchScale *s, const LevelSums *sums) {
    // out of reach of all kernels: beyond the nearest one's end, as far as at a flat surface
    if (!(sums->nearest < 1)) return s->top + (sqrtf(sums->nearest) - 1) * s->normal;
    for (int i = 1; i < STRETCH_HEIGHTS; i++)
        if (sums->weight < s->sum[i]) {
            float part = (sums->weight - s->sum[i - 1]) / (s->sum[i] - s->sum[i - 1]);
            return s->top - ((float)(i - 1) + part) * s->step;
        }
    return -0.5f * s->radius;
}

// ------------------------------------------------------------------------------------- kernels

/// (at, moments of its neighbours) => kernel.
static StretchedKernel make_kernel(const StretchScale *s, const float at[3],
                                   const LevelSums *sums) {
    static const int row[6] = {0, 1, 2, 0, 1, 2}, column[6] = {0, 1, 2, 1, 2, 0};
    StretchedKernel k = {.weight = 0};
    double c[3][3], v[3][3], mean[3], shift2 = 0;
    for (int a = 0; a < 3; a++) {
        mean[a] = (double)sums->mean[a] / sums->weight;
        shift2 += mean[a] * mean[a];
    }
    for (int i = 0; i < 6; i++)
        c[row[i]][column[i]] = c[column[i]][row[i]] =
            7 * ((double)sums->second[i] / sums->weight - mean[row[i]] * mean[column[i]]) /
            ((double)s->radius * s->radius);
    axes_find(c, v);
    float largest = (float)fmax(c[0][0], fmax(c[1][1], c[2][2])), g[3], product = 1;
    for (int a = 0; a < 3; a++) {
        g[a] = 1 / (s->kernel * axis_length((float)c[a][a], largest, sums->weight / s->full));
        product *= g[a];
    }
    for (int i = 0; i < 6; i++)
        for (int a = 0; a < 3; a++) k.g[i] += (float)(v[row[i]][a] * g[a] * v[column[i]][a]);
    // 315 / (64 pi): over the integral of (1 - s^2)^3 over the ball
    k.weight = s->volume * product * (float)(315 / (64 * PI));
    double shift = TOWARDS_MEAN * sqrt(shift2), most = SHIFT_MOST * s->radius;
    double part = shift > most ? TOWARDS_MEAN * most / shift : TOWARDS_MEAN;
    for (int a = 0; a < 3; a++) k.position[a] = at[a] + (float)(part * mean[a]);
    return k;
}

/// Whether blocks may ask for particles of a tile: the surface may pass it or a neighbour.
static bool is_asked(const Bins *b, const MeshScale *scale, int slot) {
    for (int n = 0; n < 27; n++) {
        int32_t near = b->grid.neighbour[slot][n];
        if (near < 0) return true; // beside the domain's end or a tile without water
        for (int z = 0; z < TILE; z++)
            if (mask_word(&b->grid, b->active, near, z)) return true;
        TileCoord c = b->grid.coord[near];
        const int last[3] = {8 * c.x + TILE, 8 * c.y + TILE, 8 * c.z + TILE};
        for (int a = 0; a < 3; a++)
            if (last[a] == TILE || last[a] >= scale->cells[a]) return true;
    }
    return false;
}

/// What the loop over tiles shares.
typedef struct Stretching {
    StretchedKernel *out;
    Block *blocks; ///< [threads]
    const MeshScale *scale;
    const StretchScale *stretch;
    const Bins *bins;
    const BrimParticles *particles;
    const LevelKernels *kernels;
    atomic_bool failed; ///< out of memory
} Stretching;

static bool stretch_tile(const Stretching *s, Block *block, int slot) {
    const MeshScale *scale = s->scale;
    const StretchScale *stretch = s->stretch;
    const Bins *bins = s->bins;
    const BrimParticles *particles = s->particles;
    TileCoord c = bins->grid.coord[slot];
    const int tile[3] = {c.x, c.y, c.z};
    uint32_t first = bins->start[(size_t)slot * 512], end = bins->start[(size_t)slot * 512 + 512];
    BlockInput input = {.scale = scale, .bins = bins, .particles = particles, .all = true};
    if (first == end) return true;
    if (!block_fill(block, &input, tile, false)) return false;
    const float *const x[3] = {particles->x, particles->y, particles->z};
    for (uint32_t k = first; k < end; k++) {
        float at[3];
        for (int a = 0; a < 3; a++)
            at[a] =
                clamp(space_to_grid(scale->space, x[a][bins->order[k]]), 0, (float)scale->cells[a]);
        LevelSums sums;
        s->kernels->moments(block, stretch->radius, at, &sums);
        s->out[k] = make_kernel(stretch, at, &sums);
    }
    return true;
}

static void visit_tile(void *context, int slot, int thread) {
    Stretching *s = context;
    if (s->failed || !is_asked(s->bins, s->scale, slot)) return;
    if (!stretch_tile(s, &s->blocks[thread], slot)) s->failed = true;
}

StretchedKernel *stretch_particles(const MeshScale *scale, const StretchScale *stretch,
                                   const Bins *bins, const BrimParticles *particles,
                                   const LevelKernels *kernels, Team *team) {
    size_t threads = (size_t)team_threads(team);
    Stretching s = {.out = memory_new((bins->count + 1) * sizeof *s.out),
                    .blocks = memory_zero(threads * sizeof *s.blocks),
                    .scale = scale,
                    .stretch = stretch,
                    .bins = bins,
                    .particles = particles,
                    .kernels = kernels};
    s.failed = !s.out || !s.blocks;
    if (!s.failed) team_for(team, bins->grid.tile_count, 1, visit_tile, &s);
    for (size_t i = 0; i < threads && s.blocks; i++) block_free(&s.blocks[i]);
    free(s.blocks);
    if (s.failed) free(s.out);
    return s.failed ? NULL : s.out;
}
