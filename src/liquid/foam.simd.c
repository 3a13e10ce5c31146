// Sums run over eight lanes on every instruction set and are folded in one order: same bits.
#include "liquid/foam.h"
#include <math.h>
#include <string.h>

static const i8x lane = {0, 1, 2, 3, 4, 5, 6, 7};

static inline __attribute__((always_inline)) f8 load(const float *p) {
    return *(const f8 *)p;
}

static inline __attribute__((always_inline)) f8 keep(f8 v, i8x mask) {
    return (f8)((i8x)v & mask);
}

static inline __attribute__((always_inline)) f8 root(f8 v) {
    f8 out;
    for (int k = 0; k < FOAM_LANES; k++) out[k] = sqrtf(v[k]);
    return out;
}

static inline float fold(f8 v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/// The particles of three cells in a row, `row` of the nine (2D: three) around a cell.
typedef struct Run {
    uint32_t first, end;
} Run;

static inline Run run_of(const FoamBlock *b, int cell, int row) {
    int x = cell & 7, y = (cell >> 3 & 7) + row % 3, z = (cell >> 6) + row / 3;
    int at = (z * FOAM_EDGE + y) * FOAM_EDGE + x;
    return (Run){b->start[at], b->start[at + 3]};
}

/// Offsets from particles to the point, what is beyond the end as 0, and the kernel.
static inline __attribute__((always_inline)) f8
weigh(const FoamBlock *b, uint32_t i, i8x valid, const float at[3], float inv, f8 to[3], f8 *d) {
    for (int a = 0; a < 3; a++) to[a] = keep(at[a] - load(b->x[a] + i), valid);
    *d = root(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]);
    f8 w = 1.0f - *d * inv;
    return keep(w, (w > 0.0f) & valid);
}

static void sums(const FoamBlock *b, int cell, const float at[3], float inv, FoamSums *out) {
    f8 weight = {0}, u[3] = {{0}}, away[3] = {{0}};
    for (int row = 0; row < 9; row++) {
        Run run = run_of(b, cell, row);
        for (uint32_t i = run.first; i < run.end; i += FOAM_LANES) {
            i8x valid = lane < (int32_t)(run.end - i);
            f8 to[3], d, w = weigh(b, i, valid, at, inv, to, &d);
            weight += w;
            f8 part = keep(w / d, d > 0.0f);
            for (int a = 0; a < 3; a++) {
                u[a] += w * keep(load(b->u[a] + i), valid);
                away[a] += part * to[a];
            }
        }
    }
    out->weight = fold(weight);
    for (int a = 0; a < 3; a++) out->u[a] = fold(u[a]), out->out[a] = fold(away[a]);
}

static void pair(const FoamBlock *b, int cell, const FoamSelf *s, float inv, FoamPair *out) {
    f8 trapped = {0}, crest = {0}, surface = {0};
    for (int row = 0; row < 9; row++) {
        Run run = run_of(b, cell, row);
        for (uint32_t i = run.first; i < run.end; i += FOAM_LANES) {
            i8x valid = lane < (int32_t)(run.end - i);
            f8 to[3], d, w = weigh(b, i, valid, s->x, inv, to, &d);
            f8 v[3], n[3], above = {0}, square = {0}, turn = {0}, closing = {0}, speed = {0};
            for (int a = 0; a < 3; a++) {
                v[a] = s->u[a] - keep(load(b->u[a] + i), valid);
                n[a] = keep(load(b->n[a] + i), valid);
                closing += v[a] * to[a], speed += v[a] * v[a];
                above += to[a] * s->n[a];
                // |n|^2 is 1, or 0 for particles that are not at the surface and do not count
                square += n[a] * n[a], turn += n[a] * s->n[a];
            }
            surface += w * square;
            w = keep(w, d > 0.0f);
            trapped += w * (root(speed) - keep(closing / d, d > 0.0f));
            crest += keep(w * (square - turn), above > 0.0f);
        }
    }
    out->trapped = fold(trapped), out->crest = fold(crest), out->surface = fold(surface);
}

const FoamKernels ISA(foam_kernels) = {sums, pair};
