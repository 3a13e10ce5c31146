// A procedural river canyon as a function of x and z: a winding bed that falls along x, with
// waterfalls and their pools, between walls of rock with ledges, under a rim.
#include "base/error.h"
#include "base/hash.h"
#include "solid/height_field.h"
#include <math.h>

static double unit_clamp(double t) {
    return t > 0 ? (t < 1 ? t : 1) : 0;
}

static double smooth_step(double t) {
    t = unit_clamp(t);
    return t * t * (3 - 2 * t);
}

static double mix(double a, double b, double t) {
    return a + t * (b - a);
}

static double lattice(uint32_t seed, int64_t i, int64_t j) {
    // odd multipliers keep neighbours apart; the mixing does the rest
    uint64_t key = (uint64_t)i * 0x9e3779b97f4a7c15u + (uint64_t)j * 0xc2b2ae3d27d4eb4fu;
    return 2.0 * (double)hash_unit(hash_mix(key + hash_mix(seed)), 0) - 1.0;
}

/// Smooth value noise in [-1, 1] with a wavelength of about 2.
static double noise(uint32_t seed, double x, double z) {
    double fx = floor(x), fz = floor(z);
    int64_t i = (int64_t)fx, j = (int64_t)fz;
    double u = smooth_step(x - fx), v = smooth_step(z - fz);
    return mix(mix(lattice(seed, i, j), lattice(seed, i + 1, j), u),
               mix(lattice(seed, i, j + 1), lattice(seed, i + 1, j + 1), u), v);
}

/// Five octaves of noise, turned against each other so that no grid shows; in [-1, 1].
static double rock(uint32_t seed, double x, double z) {
    double sum = 0, weight = 0.5;
    for (uint32_t octave = 0; octave < 5; octave++, weight *= 0.5) {
        sum += weight * noise(seed + octave, x, z);
        double turned = 1.6 * x - 1.2 * z; // twice the frequency, turned by 37 degrees
        z = 1.2 * x + 1.6 * z;
        x = turned;
    }
    return sum / (1 - 2 * weight);
}

double canyon_middle(const BrimCanyonDef *c, double middle, double x) {
    if (c->meander == 0) return middle;
    double turn = 2 * M_PI * x / c->wavelength;
    double phase = 2 * M_PI * (double)hash_unit(hash_3(c->seed, 1, 0), 0);
    return middle + c->meander * (0.8 * sin(turn + phase) + 0.2 * sin(2.3 * turn + 2 * phase));
}

/// Distance from the middle of the bed, nearly at right angles to it.
static double from_middle(const BrimCanyonDef *c, double middle, double x, double z) {
    double h = 0.05 * c->width;
    double slope = (canyon_middle(c, middle, x + h) - canyon_middle(c, middle, x - h)) / (2 * h);
    return fabs(z - canyon_middle(c, middle, x)) / sqrt(1 + slope * slope);
}

/// Bed along x: even fall, steps, and a pool below each step.
static double bed_height(const BrimCanyonDef *c, double x, double z) {
    double y = c->bed - c->slope * x;
    for (int i = 0; i < c->fall_count; i++) {
        double drop = c->fall_drop[i], face = 0.2 * drop;
        // the lip is ragged, as rock is
        double t =
            x - c->fall_x[i] + 0.15 * c->width * noise(c->seed + 40, z / (0.3 * c->width), i);
        double pool = 0.4 * c->width, beyond = (t - face - 0.5 * pool) / (0.5 * pool);
        y -= drop * smooth_step(t / face);
        y -= 0.2 * drop * (fabs(beyond) < 1 ? pow(1 - beyond * beyond, 2) : 0);
    }
    return y;
}

/// Rim along x: it follows the bed, but over a few widths of it.
static double rim_height(const BrimCanyonDef *c, double x) {
    double y = c->bed + c->depth - c->slope * x;
    for (int i = 0; i < c->fall_count; i++)
        y -= c->fall_drop[i] * smooth_step(0.5 + (x - c->fall_x[i]) / (6 * c->width));
    return y;
}

float canyon_height(const BrimCanyonDef *c, double middle, double x, double z) {
    double width = c->width;
    double ragged = rock(c->seed + 20, x / (1.2 * width), z / (1.2 * width));
    double side = from_middle(c, middle, x, z) + 0.3 * width * ragged;
    double bed = bed_height(c, x, z), rim = rim_height(c, x);
    double wall = unit_clamp((side - 0.5 * width) / (0.55 * c->depth));
    double rise = wall * (2 - wall);      // steep at the foot, rounded at the rim
    rise -= 0.035 * sin(6 * M_PI * rise); // ledges: still rising everywhere
    double across = unit_clamp(2 * side / width);
    bed += 0.05 * width * across * across;                // deepest in the middle
    double exposed = mix(0.15, 1, smooth_step(4 * wall)); // the river has polished its bed
    double relief =
        c->roughness * exposed * rock(c->seed + 60, x / (0.5 * width), z / (0.5 * width));
    return (float)(mix(bed, rim, rise) + relief);
}

BrimResult canyon_check(const BrimCanyonDef *c, BrimError *error) {
    const float values[] = {c->bed,     c->slope,      c->width,    c->depth,
                            c->meander, c->wavelength, c->roughness};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!(fabsf(values[i]) <= 1e7f))
            return fail(error, BRIM_ERROR_INPUT, "canyon: a value is not finite or above 1e7 m");
    if (!(c->width > 0 && c->depth > 0))
        return fail(error, BRIM_ERROR_INPUT, "canyon: width = %g and depth = %g must be above 0",
                    (double)c->width, (double)c->depth);
    if (c->meander != 0 && !(c->wavelength > 0))
        return fail(error, BRIM_ERROR_INPUT, "canyon: wavelength = %g must be above 0",
                    (double)c->wavelength);
    if (c->fall_count < 0 || c->fall_count > 4)
        return fail(error, BRIM_ERROR_INPUT, "canyon: %d waterfalls; 0 to 4 are allowed",
                    c->fall_count);
    for (int i = 0; i < c->fall_count; i++)
        if (!(fabsf(c->fall_x[i]) <= 1e7f && c->fall_drop[i] > 0 && c->fall_drop[i] <= 1e7f))
            return fail(
                error, BRIM_ERROR_INPUT,
                "canyon: waterfall %d at x = %g drops by %g: the place must be within 1e7 m and "
                "the drop above 0 and at most 1e7",
                i + 1, (double)c->fall_x[i], (double)c->fall_drop[i]);
    return BRIM_OK;
}
