// Kernels of MPM sub-steps and of viscosity against their plain twins, on every instruction set;
// and the same bits on all of them.
#include "base/hash.h"
#include "base/memory.h"
#include "liquid/mpm_kernels.h"
#include "liquid/viscosity.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float unit(int i, int k) {
    return hash_unit(hash_3(31, (uint64_t)i, (uint64_t)k), 0);
}

/// Runs a statement for each instruction set that this processor has.
#define EACH_ISA(ISA_)                                              \
    for (int ISA_ = BRIM_ISA_BASE; ISA_ <= BRIM_ISA_AVX512; ISA_++) \
        if (isa_choose((BrimIsa)ISA_) == (BrimIsa)ISA_)

static double worst_of(const float *a, const double *b, int count) {
    double worst = 0;
    for (int i = 0; i < count; i++) worst = fmax(worst, fabs((double)a[i] - b[i]));
    return worst;
}

/// The same bits as before, kept from the first call on.
static bool same_bits(void **first, const void *now, size_t bytes) {
    if (*first) return memcmp(*first, now, bytes) == 0;
    *first = memory_new(bytes);
    if (!*first) abort();
    memcpy(*first, now, bytes);
    return true;
}

// ----------------------------------------------------------------------------------------- MPM

// More than are grouped at a time, and crowds in a few cells.
enum { COUNT = MPM_MEANS + 777, ROOM = COUNT + PARTICLE_PADDING, PARTS = 4 };
static const float DX = 0.041f;

/// A tile at (8, 16, 8) cells with random particles, half of them in one of its corners.
typedef struct Cloud {
    float x[3][ROOM], v[3][ROOM];
    Span span;
} Cloud;

static Cloud *cloud_new(int dim) {
    Cloud *c = memory_zero(sizeof *c);
    if (!c) abort();
    c->span = (Span){.count = COUNT, .dx = DX, .inv_dx = 1 / DX, .dim = dim};
    for (int a = 0; a < 3; a++) {
        const float low = a == 1 ? 16 : 8;
        c->span.corner[a] = a < dim ? low - MPM_HALO : 0;
        c->span.attr[ATTR_X + a] = c->x[a], c->span.attr[ATTR_VX + a] = c->v[a];
        for (int i = 0; i < COUNT && a < dim; i++) {
            c->x[a][i] = (low + (i & 1 ? 7.999f : 2.5f) * unit(i, a)) * DX;
            c->v[a][i] = 2 * unit(i, 3 + a) - 1;
        }
    }
    return c;
}

/// Nodes that a particle reaches, with their weights and these' slopes along each axis.
typedef struct Reach {
    int count, node[64];
    double weight[64], slope[64][3];
} Reach;

/// The cubic B-spline at a distance, and its slope.
static double spline(double x, double *slope) {
    const double d = fabs(x), sign = x < 0 ? -1 : 1;
    *slope = sign * (d < 1 ? 1.5 * d * d - 2 * d : d < 2 ? -0.5 * (2 - d) * (2 - d) : 0);
    return d < 1 ? 0.5 * d * d * d - d * d + 2.0 / 3 : d < 2 ? (2 - d) * (2 - d) * (2 - d) / 6 : 0;
}

static Reach reach_of(const Span *p, int i) {
    Reach r = {0};
    int low[3] = {0};
    double w[3][4] = {{1}, {1}, {1}}, d[3][4] = {{0}};
    for (int a = 0; a < p->dim; a++) {
        const double x = (double)p->attr[ATTR_X + a][i] * (double)p->inv_dx - p->corner[a] - 0.5;
        low[a] = (int)floor(x) - 1;
        for (int k = 0; k < 4; k++) w[a][k] = spline(low[a] + k - x, &d[a][k]), d[a][k] *= -1;
    }
    for (int n = 0; n < (p->dim == 3 ? 64 : 16); n++) {
        const int k[3] = {n & 3, n >> 2 & 3, n >> 4};
        r.node[r.count] = ((low[2] + k[2]) * MPM_EDGE + low[1] + k[1]) * MPM_EDGE + low[0] + k[0];
        r.weight[r.count] = w[0][k[0]] * w[1][k[1]] * w[2][k[2]];
        for (int a = 0; a < p->dim; a++) {
            double slope = d[a][k[a]];
            for (int b = 0; b < 3; b++) slope *= b == a ? 1 : w[b][k[b]];
            r.slope[r.count][a] = slope;
        }
        r.count++;
    }
    return r;
}

static void plain_mass(const Span *p, double mass, double *block) {
    for (int i = 0; i < p->count; i++) {
        const Reach r = reach_of(p, i);
        for (int part = 0; part <= p->dim; part++)
            for (int n = 0; n < r.count; n++)
                block[part * MPM_BLOCK + r.node[n]] +=
                    mass * r.weight[n] * (part ? (double)p->attr[ATTR_VX + part - 1][i] : 1);
    }
}

/// Pressure of what is denser than full, and friction by the flow's shear. stress->parts > 1: with
/// friction
static void plain_force(const Span *p, const MpmStress *s, const float *nodes, double *force) {
    for (int i = 0; i < p->count; i++) {
        const Reach r = reach_of(p, i);
        double density = 0, G[3][3] = {{0}};
        for (int n = 0; n < r.count; n++) {
            density += r.weight[n] * (double)nodes[r.node[n]];
            for (int a = 0; a < p->dim && s->parts > 1; a++)
                for (int b = 0; b < p->dim; b++)
                    G[a][b] += r.slope[n][b] * (double)nodes[(a + 1) * MPM_BLOCK + r.node[n]];
        }
        const double volume = 1 / ((double)s->per_cell * fmax(density, 0.1));
        const double pressure = (double)s->sound2 * fmax(density - 1, 0);
        for (int n = 0; n < r.count; n++)
            for (int a = 0; a < p->dim; a++)
                for (int b = 0; b < p->dim; b++)
                    force[(a + 1) * MPM_BLOCK + r.node[n]] +=
                        volume * r.slope[n][b] *
                        ((a == b ? pressure : 0) -
                         (double)s->friction * (double)p->inv_dx * (G[a][b] + G[b][a]));
    }
}

TEST(mpm_kernels_of_mass_equal_their_plain_twin) {
    for (int dim = 2; dim <= 3; dim++) {
        Cloud *c = cloud_new(dim);
        double *plain = memory_zero(PARTS * MPM_BLOCK * sizeof *plain), sum = 0;
        void *first = NULL;
        plain_mass(&c->span, 0.125, plain);
        for (int i = 0; i < MPM_BLOCK; i++) sum += plain[i];
        CHECK_NEAR(sum, 0.125 * COUNT, 1e-9); // weights add up to 1
        EACH_ISA(isa) {
            float *block = memory_zero(PARTS * MPM_BLOCK * sizeof *block);
            mpm_kernels_for((BrimIsa)isa)->mass(&c->span, 0.125f, dim + 1, block);
            CHECK_BELOW(worst_of(block, plain, PARTS * MPM_BLOCK), 2e-4);
            CHECK(same_bits(&first, block, PARTS * MPM_BLOCK * sizeof *block));
            free(block);
        }
        free(plain), free(first), free(c);
    }
}

TEST(mpm_kernels_of_forces_equal_their_plain_twin) {
    for (int run = 0; run < 4; run++) {
        const int dim = 2 + (run & 1), parts = run & 2 ? dim + 1 : 1;
        const MpmStress stress = {
            .sound2 = 40, .friction = parts > 1 ? 0.03f : 0, .per_cell = 8, .parts = parts};
        Cloud *c = cloud_new(dim);
        float *nodes = memory_zero(PARTS * MPM_BLOCK * sizeof *nodes);
        double *plain = memory_zero(PARTS * MPM_BLOCK * sizeof *plain), most = 0;
        void *first = NULL;
        for (int i = 0; i < PARTS * MPM_BLOCK; i++) nodes[i] = 2 * unit(i, 20);
        plain_force(&c->span, &stress, nodes, plain);
        for (int i = 0; i < PARTS * MPM_BLOCK; i++) most = fmax(most, fabs(plain[i]));
        CHECK(most > 1);
        EACH_ISA(isa) {
            float *force = memory_zero(PARTS * MPM_BLOCK * sizeof *force);
            mpm_kernels_for((BrimIsa)isa)->force(&c->span, &stress, nodes, force);
            CHECK_BELOW(worst_of(force, plain, PARTS * MPM_BLOCK), 3e-5 * most);
            CHECK(same_bits(&first, force, PARTS * MPM_BLOCK * sizeof *force));
            free(force);
        }
        free(nodes), free(plain), free(first), free(c);
    }
}

TEST(mpm_kernels_of_means_equal_their_plain_twin) {
    for (int dim = 2; dim <= 3; dim++) {
        static float out[3][MPM_MEANS];
        Cloud *c = cloud_new(dim);
        float *nodes = memory_zero(4 * MPM_BLOCK * sizeof *nodes);
        for (int i = 0; i < 4 * MPM_BLOCK; i++) nodes[i] = 2 * unit(i, 21) - 1;
        for (int begin = 0; begin < COUNT; begin += MPM_MEANS) {
            const int count = COUNT - begin < MPM_MEANS ? COUNT - begin : MPM_MEANS;
            void *first = NULL;
            EACH_ISA(isa) {
                double worst = 0;
                memset(out, 0, sizeof out);
                mpm_kernels_for((BrimIsa)isa)->mean(&c->span, nodes, begin, out);
                for (int i = 0; i < count; i++) {
                    const Reach r = reach_of(&c->span, begin + i);
                    for (int a = 0; a < dim; a++) {
                        double sum = 0;
                        for (int n = 0; n < r.count; n++)
                            sum += r.weight[n] * (double)nodes[4 * r.node[n] + a + 1];
                        worst = fmax(worst, fabs(sum - (double)out[a][i]));
                    }
                }
                CHECK_BELOW(worst, 1e-5);
                CHECK(same_bits(&first, out, sizeof out));
            }
            free(first);
        }
        free(nodes), free(c);
    }
}

// ----------------------------------------------------------------------------------- viscosity

enum { CELLS = TILE * TILE * TILE, VIEWS = 13 };

/// The values of a tile and of those above it, all random.
static TileView view_new(float *room, int key) {
    TileView v = {.self = room};
    for (int i = 0; i < 4 * CELLS; i++) room[i] = unit(i, key);
    for (int n = 0; n < 6; n++) v.side[n] = room + (n / 2 + 1) * CELLS;
    return v;
}

/// A value of a tile, or of that above it along an axis.
static double view_at(const TileView *v, int cell, int axis, bool up) {
    const int stride[3] = {1, TILE, TILE * TILE}, at = cell / stride[axis] % TILE;
    if (!up) return (double)v->self[cell];
    if (at < TILE - 1) return (double)v->self[cell + stride[axis]];
    return (double)v->side[2 * axis + 1][cell - (TILE - 1) * stride[axis]];
}

static double plain_apply(const ViscousTile *t, int dim, const float *const block[3], int a,
                          int cell) {
    const int stride[3] = {1, VISCOUS_EDGE, VISCOUS_EDGE * VISCOUS_EDGE};
    const int z = dim == 3 ? (cell >> 6) + 1 : 0;
    const int at = z * stride[2] + ((cell >> 3 & 7) + 1) * stride[1] + (cell & 7) + 1;
    const float *p = block[a] + at;
    double sum = (double)t->mass[a][cell] * (double)p[0];
    if (!(t->diagonal[a][cell] > 0)) return 0;
    for (int b = 0; b < dim; b++) {
        const TileView *own = &t->along[b][a];
        sum += view_at(own, cell, b, false) * ((double)p[0] - (double)p[-stride[b]]);
        sum -= view_at(own, cell, b, true) * ((double)p[stride[b]] - (double)p[0]);
        if (b == a) continue;
        const TileView *cross = &t->cross[edge_of(a, b)];
        const float *o = block[b] + at;
        sum += view_at(cross, cell, b, false) * ((double)o[0] - (double)o[-stride[a]]);
        sum -= view_at(cross, cell, b, true) *
               ((double)o[stride[b]] - (double)o[stride[b] - stride[a]]);
    }
    return sum;
}

TEST(viscosity_kernel_of_the_matrix_equals_its_plain_twin) {
    static float room[VIEWS][4 * CELLS], mass[3][CELLS], diagonal[3][CELLS];
    static float p[3][VISCOUS_BLOCK], q[3][CELLS];
    for (int dim = 2; dim <= 3; dim++) {
        const int cells = dim == 3 ? CELLS : TILE * TILE;
        const float *const block[3] = {p[0], p[1], p[2]};
        float *const out[3] = {q[0], q[1], q[2]};
        void *first = NULL;
        ViscousTile t;
        for (int a = 0; a < 3; a++) {
            t.mass[a] = mass[a], t.diagonal[a] = diagonal[a];
            for (int i = 0; i < CELLS; i++)
                mass[a][i] = unit(i, 40 + a), diagonal[a][i] = unit(i, 43 + a) - 0.3f;
            for (int i = 0; i < VISCOUS_BLOCK; i++) p[a][i] = 2 * unit(i, 46 + a) - 1;
            for (int b = 0; b < 3; b++) t.along[b][a] = view_new(room[3 * b + a], 50 + 3 * b + a);
            t.cross[a] = view_new(room[9 + a], 60 + a);
        }
        EACH_ISA(isa) {
            double worst = 0, sum = 0;
            memset(q, 0, sizeof q);
            const double dot = viscosity_kernels_for((BrimIsa)isa)->apply(&t, dim, block, out);
            for (int a = 0; a < dim; a++)
                for (int i = 0; i < cells; i++) {
                    const double value = plain_apply(&t, dim, block, a, i);
                    const int z = dim == 3 ? (i >> 6) + 1 : 0;
                    const int at =
                        (z * VISCOUS_EDGE + (i >> 3 & 7) + 1) * VISCOUS_EDGE + (i & 7) + 1;
                    worst = fmax(worst, fabs(value - (double)q[a][i]));
                    sum += value * (double)p[a][at];
                }
            CHECK_BELOW(worst, 1e-5);
            CHECK_NEAR(dot, sum, 1e-4);
            CHECK(same_bits(&first, q, sizeof q));
        }
        free(first);
    }
}

TEST(viscosity_kernels_of_vectors_equal_plain_loops) {
    static float d[CELLS], u[CELLS], r[CELLS], p[CELLS], q[CELLS], z[CELLS];
    void *first[3] = {0};
    EACH_ISA(isa) {
        const ViscosityKernels *k = viscosity_kernels_for((BrimIsa)isa);
        float most[2] = {0.25f, 3}; // of tiles before
        double sum = 0, dot = 0, worst[3] = {0}, residual = 0.25;
        for (int i = 0; i < CELLS; i++) {
            d[i] = unit(i, 70) - 0.3f, u[i] = 2 * unit(i, 71) - 1, r[i] = 2 * unit(i, 72) - 1;
            p[i] = 2 * unit(i, 73) - 1, q[i] = 2 * unit(i, 74) - 1, z[i] = 2 * unit(i, 75) - 1;
        }
        for (int i = 0; i < CELLS; i++) {
            const double left = (double)r[i] - 0.3 * (double)q[i];
            residual = fmax(residual, fabs(left));
            if (d[i] > 0) sum += left * left / (double)d[i];
        }
        const double found = k->step(CELLS, 0.3f, p, q, d, u, r, most);
        CHECK_NEAR(found, sum, 1e-5 * sum);
        CHECK_NEAR(most[0], residual, 1e-6);
        CHECK(most[1] == 3);
        for (int i = 0; i < CELLS; i++) {
            const double left = 2 * (double)unit(i, 72) - 1 - 0.3 * (double)q[i];
            const double speed = 2 * (double)unit(i, 71) - 1 + 0.3 * (double)p[i];
            worst[0] = fmax(worst[0], fmax(fabs((double)r[i] - left), fabs((double)u[i] - speed)));
            if (d[i] > 0) dot += (double)r[i] * (double)z[i];
        }
        CHECK_NEAR(k->dot(CELLS, r, z, d), dot, 1e-4);
        k->turn(CELLS, 0.7f, r, d, p);
        for (int i = 0; i < CELLS; i++) {
            const double was = 2 * (double)unit(i, 73) - 1;
            const double now = d[i] > 0 ? (double)r[i] / (double)d[i] + 0.7 * was : 0;
            worst[1] = fmax(worst[1], fabs((double)p[i] - now) / fmax(1, fabs(now)));
        }
        CHECK(same_bits(&first[0], p, sizeof p));
        k->turn_to(CELLS, 0.7f, z, d, q);
        for (int i = 0; i < CELLS; i++) {
            const double was = 2 * (double)unit(i, 74) - 1;
            const double now = d[i] > 0 ? (double)z[i] + 0.7 * was : 0;
            worst[2] = fmax(worst[2], fabs((double)q[i] - now));
        }
        for (int n = 0; n < 3; n++) CHECK_BELOW(worst[n], 2e-6);
        CHECK(same_bits(&first[1], q, sizeof q));
        CHECK(same_bits(&first[2], u, sizeof u));
    }
    for (int n = 0; n < 3; n++) free(first[n]);
}
