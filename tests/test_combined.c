// Everything together: scenes that combine methods by chance, each from a seed. None fails, loses
// liquid or count of it, and any number of threads and a resumed run give the same bits.
#include "cases_random.h"
#include "scratch.h"
#include "test.h"
#include "warp_sim.h"
#include <stdarg.h>

/// A scene as text, written line by line.
typedef struct Text {
    char text[4096];
    uint64_t seed;
    int drawn, dim;
} Text;

__attribute__((format(printf, 2, 3))) static void line(Text *t, const char *format, ...) {
    size_t used = strlen(t->text);
    va_list list;
    va_start(list, format);
    vsnprintf(t->text + used, sizeof t->text - used, format, list);
    va_end(list);
}

static double draw(Text *t, double low, double high) {
    return chance(t->seed, t->drawn++, low, high);
}

static bool happens(Text *t, double part) {
    return draw(t, 0, 1) < part;
}

/// One of as many words, which are separated by '|'.
static const char *one_of(Text *t, const char *words) {
    static char word[64];
    int count = 1;
    for (const char *c = words; *c; c++) count += *c == '|';
    for (int skip = (int)draw(t, 0, count); skip > 0; skip--) words = strchr(words, '|') + 1;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(words, "|"), words);
    return word;
}

/// A vector of the scene's dimension.
static const char *vector(const Text *t, double x, double y, double z) {
    static char text[4][64];
    static int next;
    char *out = text[next++ & 3];
    if (t->dim == 2)
        snprintf(out, 64, "[%.4g, %.4g]", x, y);
    else
        snprintf(out, 64, "[%.4g, %.4g, %.4g]", x, y, z);
    return out;
}

/// A ball, a box or a capsule of about `size` at a place, turned.
static void shape(Text *t, double x, double y, double z, double size) {
    double turn = draw(t, -60, 60);
    const char *kind = one_of(t, "sphere|box|capsule");
    line(t, "  - %s: {center: %s, ", kind, vector(t, x, y, z));
    if (*kind == 's')
        line(t, "radius: %.4g}\n", 0.5 * size);
    else if (*kind == 'b')
        line(t, "size: %s, ", vector(t, size, draw(t, 0.6, 1.4) * size, size));
    else
        line(t, "radius: %.4g, height: %.4g, ", 0.3 * size, 0.8 * size);
    if (*kind != 's' && t->dim == 2) line(t, "rotation: %.4g}\n", turn);
    if (*kind != 's' && t->dim == 3) line(t, "rotation: [0, %.4g, %.4g]}\n", turn, 0.5 * turn);
}

/// How it is solved: what does not go together is not drawn together.
static void methods(Text *t, bool warp) {
    bool apic = happens(t, 0.4), tracking = !warp && happens(t, 0.4);
    line(t, "solver: {transfer: %s, ", apic ? "apic" : "flip");
    line(t, "volume: %s}\n", one_of(t, "density|density|density|none|averaged|direct"));
    if (warp) line(t, "grid: {warp: %.2g}\n", draw(t, 0.3, 0.75));
    if (tracking) line(t, "surface: {tracking: responsive}\n");
    if (!warp && happens(t, 0.2)) line(t, "mpm: {substeps: 2}\n");
    if (!warp && happens(t, 0.3)) line(t, "spray: {speed: [1, 2]}\n");
    if (happens(t, 0.4))
        line(t, "band: {width: %d%s}\n", tracking ? 3 : (int)draw(t, 2, 5.99),
             apic || warp ? "" : ", flip: 1");
    if (happens(t, 0.3)) line(t, "particles: {attributes: [age, source]}\n");
    if (!warp && happens(t, 0.3)) line(t, "viscosity: %.4g\n", pow(10, draw(t, -3, 2)));
    if (happens(t, 0.3)) line(t, "surface_tension: %.4g\n", draw(t, 0.02, 0.5));
    line(t, "time: {duration: 9, frame_rate: %s, %s}\n", happens(t, 0.5) ? "24" : "60",
         one_of(t, "cfl: 0.7|cfl: 2|cfl: 6|step: 0.01"));
}

static void solids(Text *t, double height) {
    line(t, "solids:\n");
    for (int i = 0; i < 2; i++) {
        shape(t, draw(t, 0.1, 0.9), draw(t, 0.1, 0.5) * height, 0.4, draw(t, 0.1, 0.25));
        if (happens(t, 0.3)) line(t, "    rate: %.4g\n", draw(t, -180, 180));
    }
    if (happens(t, 0.5))
        line(t, "  - box: {center: %s, size: %s, rotation: %s}\n",
             vector(t, draw(t, 0.3, 0.7), 0.3 * height, 0.4),
             vector(t, draw(t, 0.015, 0.05), draw(t, 0.2, 0.5), 0.5),
             t->dim == 2 ? one_of(t, "0|7|23|45") : one_of(t, "[0,0,0]|[0,0,7]|[10,20,30]"));
}

static void bodies(Text *t, double height) {
    line(t, "bodies:\n");
    for (int i = 0; i < 2; i++) {
        shape(t, 0.25 + 0.5 * i, 0.78 * height, 0.4, 0.24);
        line(t, "    density: %s\n", one_of(t, "60|500|1000|2000|7800"));
        if (happens(t, 0.4))
            line(t, "    rigid: true\n");
        else
            line(t, "    young: %.4g\n    modes: 9\n    elements: 40\n", pow(10, draw(t, 4, 6)));
    }
}

/// Whether its grid bends.
typedef enum Bends { PERHAPS, SURELY } Bends;

/// In a box of 1 m, somewhat higher or lower, with a pool at its floor.
static Text combined(uint64_t seed, Bends bends) {
    Text t = {.seed = seed};
    t.dim = happens(&t, 0.7) ? 2 : 3;
    int n = (int)(t.dim == 2 ? draw(&t, 20, 36) : draw(&t, 12, 17));
    int rows = (int)(n * draw(&t, 0.9, 1.4));
    double height = (double)rows / n, depth = 0.8;
    bool warp = happens(&t, 0.25) || bends == SURELY;
    line(&t, "brim: 1\ndim: %d\nseed: %d\n", t.dim, (int)seed);
    bool open = happens(&t, 0.2);
    line(&t, "domain: {size: %s, cells: %d", vector(&t, 1, height, depth), n);
    if (open) line(&t, ", sides: {%s}", one_of(&t, "x+: open|x-: open, y+: open|y-: open"));
    line(&t, "}\n");
    if (happens(&t, 0.3))
        line(&t, "gravity: %s\n", vector(&t, draw(&t, -4, 4), -9, draw(&t, -2, 2)));
    else if (happens(&t, 0.2))
        line(&t, "gravity: [3 * sin(4 * t), -9%s]\n", t.dim == 2 ? "" : ", cos(3 * t)");
    if (happens(&t, 0.2))
        line(&t, "forces:\n  - vortex: {at: %s, strength: 3, radius: 0.3}\n",
             vector(&t, 0.5, 0.4 * height, 0.4));
    methods(&t, warp);
    line(&t, "liquid:\n  - box: {low: %s, high: %s}\n", vector(&t, 0, 0, 0),
         vector(&t, 1, draw(&t, 0.25, 0.45) * height, depth));
    bool with_bodies = !warp && happens(&t, 0.5);
    if (!with_bodies) shape(&t, draw(&t, 0.3, 0.7), 0.8 * height, 0.4, 0.25);
    if (with_bodies) bodies(&t, height);
    if (!with_bodies && happens(&t, 0.5)) solids(&t, height);
    if (happens(&t, 0.25)) {
        line(&t, "sources:\n");
        shape(&t, 0.5, 0.6 * height, 0.4, 0.2);
        line(&t, "    velocity: %s\n", vector(&t, draw(&t, -1, 1), -1, 0));
    }
    if (happens(&t, 0.2))
        line(&t, "drains:\n  - box: {center: %s, size: %s}\n", vector(&t, 0.5, 0.05, 0.4),
             vector(&t, 0.2, 0.1, 0.2));
    return t;
}

static uint64_t state_hash(const BrimSim *sim) {
    uint64_t h = particles_hash(sim);
    BrimBodyState body;
    for (int i = 0; i < brim_sim_body_count(sim); i++)
        if (brim_sim_body_state(sim, i, &body, NULL) == BRIM_OK)
            h = hash_bytes(h, &body.velocity, sizeof body.velocity);
    return h;
}

enum { STEPS = 24, SAVED = 9 };

/// Steps, and for save a checkpoint after some of them. Says what is wrong; 0 then.
static uint64_t go(BrimSim *sim, int steps, bool save, const char *path, BrimError *error) {
    for (int i = 0; i < steps; i++) {
        if (save && i == SAVED && brim_sim_save(sim, path, error) != BRIM_OK) return 0;
        if (brim_sim_step(sim, error) != BRIM_OK) return 0;
    }
    return state_hash(sim);
}

/// Whether a scene runs, keeps its liquid, and repeats. Prints the scene if not.
static bool combined_good(uint64_t seed, Bends bends) {
    Text t = combined(seed, bends);
    const char *path = at("combined.brim"), *const three[] = {"threads=3"}, *wrong = NULL;
    BrimError error = {0};
    BrimScene *scene = NULL, *again_scene = NULL;
    const char *const one[] = {"threads=1"};
    BrimSim *sim = start(t.text, &scene, &error, one, 1);
    BrimSim *again = start(t.text, &again_scene, &error, three, 1), *resumed = NULL;
    if (!sim || !again) wrong = error.message;
    uint64_t whole = wrong ? 0 : go(sim, STEPS, true, path, &error);
    if (!wrong && !whole) wrong = error.message;
    if (!wrong && go(again, STEPS, false, NULL, &error) != whole) wrong = "other bits, 3 threads";
    if (!wrong && brim_sim_load(brim_scene_def(again_scene), path, &resumed, &error) != BRIM_OK)
        wrong = error.message;
    if (!wrong && go(resumed, STEPS - SAVED, false, NULL, &error) != whole)
        wrong = "other bits, resumed";
    if (!wrong) {
        double volume = brim_sim_stats(sim)->volume;
        bool kept = brim_sim_def(sim)->volume == BRIM_VOLUME_DENSITY;
        bool left = brim_sim_stats(sim)->left > 0; // through an open side
        if (!left && (kept ? !(volume > 0.97 && volume < 1.02) : !(volume > 0))) wrong = "volume";
    }
    if (wrong) printf("seed %d: %s\n%s\n", (int)seed, wrong, t.text);
    brim_sim_destroy(&resumed);
    finish(&sim, &scene), finish(&again, &again_scene);
    return !wrong;
}

TEST(combined_methods_by_chance_run_and_repeat) {
    for (uint64_t seed = 1; seed <= (quick() ? 6 : 24); seed++) CHECK(combined_good(seed, PERHAPS));
}

TEST(combined_methods_by_chance_on_a_warped_grid) {
    for (uint64_t seed = 1001; seed <= (quick() ? 1002 : 1006); seed++)
        CHECK(combined_good(seed, SURELY));
}
