// Elastic bodies against exact answers, and the algebra below them.
#include "base/hash.h"
#include "elastic/dense.h"
#include "elastic/modes.h"
#include "elastic/rows.h"
#include "elastic_cases.h"
#include "test.h"

static double noise(uint64_t i) {
    return hash_unit(hash_mix(i), 0) - 0.5;
}

// ------------------------------------------------------------------------------------- algebra

TEST(elastic_dense_solves_and_finds_eigenvalues) {
    enum { N = 70 };
    static double a[N * N], u[N * N], vectors[N * N];
    double x[N], b[N], values[N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            a[i * N + j] = a[j * N + i] = noise((uint64_t)(i * N + j)) + (i == j) * N;
    for (int i = 0; i < N; i++) x[i] = b[i] = noise((uint64_t)(7000 + i));
    memcpy(u, a, sizeof u);
    CHECK(dense_cholesky(u, N, N));
    dense_solve(u, N, x);
    for (int i = 0; i < N; i++) CHECK_NEAR(dense_dot(a + i * N, x, N), b[i], 1e-13);
    memcpy(u, a, sizeof u);
    dense_eigen(u, N, values, vectors);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            CHECK_NEAR(dense_dot(a + i * N, vectors + k * N, N), values[k] * vectors[k * N + i],
                       1e-11);
    a[0] = -1;
    CHECK(!dense_cholesky(a, N, N));
}

TEST(elastic_sparse_factor_solves) {
    // a lattice of bodies' kind: 6 x 3 x 2 elements
    CaseBox box = {{0, 0, 0}, {6, 3, 2}, 3};
    Region region = case_region(&box);
    Lattice l;
    Points exact = {0}, few = {0};
    double *filled;
    BrimError error;
    LatticeParams lp = {.size = 1};
    CHECK_OK(lattice_new(&region, 3, &lp, &l, &exact, &few, &filled, &error), error);
    CHECK(l.element_count == 36 && l.node_count == 13 * 7 * 5);
    Sparse m;
    CHECK(sparse_pattern(&m, 3, l.node_count, l.node, l.element_count, l.per_element));
    for (int i = 0; i < m.count; i++)
        for (int k = m.start[i]; k < m.start[i + 1]; k++)
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) {
                    int p = 3 * i + a, q = 3 * m.column[k] + b, low = p < q ? p : q;
                    m.block[(k * 3 + a) * 3 + b] =
                        noise((uint64_t)(low * 5000 + p + q)) + (p == q) * 200;
                }
    SparseFactor *factor;
    CHECK_OK(sparse_factor(&m, 0, NULL, (const double(*)[3])l.place, &factor, &error), error);
    enum { WIDTH = 3 };
    size_t n = (size_t)m.count * 3 * WIDTH;
    double *b = malloc(n * sizeof *b), *x = malloc(n * sizeof *x), *ax = malloc(n * sizeof *ax);
    for (size_t i = 0; i < n; i++) x[i] = b[i] = noise(i);
    CHECK(sparse_factor_solve(factor, WIDTH, x));
    sparse_apply(&m, WIDTH, x, ax);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(ax[i], b[i], 1e-12);
    // nested dissection: far less than a band of the lattice's layers would need
    CHECK_BELOW((double)sparse_factor_size(factor), 0.5 * m.count * 3 * m.count * 3);
    free(b), free(x), free(ax), free(filled), free(exact.point), free(few.point);
    sparse_factor_free(&factor);
    sparse_free(&m);
    lattice_free(&l);
}

// ------------------------------------------------------------------------------------- material

TEST(elastic_rows_are_the_same_bits_on_all_processors) {
    // against the plain loop, for lengths that are no multiple of any width
    enum { N = 61, COUNT = 37, STRIDE = 70 };
    double rows[COUNT * STRIDE], factor[3 * COUNT], row[N], plain[N];
    for (int i = 0; i < COUNT * STRIDE; i++) rows[i] = hash_unit(hash_mix((uint64_t)i), 0) - 0.5;
    for (int i = 0; i < 3 * COUNT; i++) factor[i] = hash_unit(hash_mix((uint64_t)i), 1) - 0.5;
    for (int isa = BRIM_ISA_BASE; isa <= (int)isa_choose(BRIM_ISA_AUTO); isa++)
        for (int n = 0; n <= N; n++) {
            for (int j = 0; j < N; j++) row[j] = plain[j] = 0.1 * j;
            row_kernels_for((BrimIsa)isa)->add(row, n, -1, factor, 3, rows, STRIDE, COUNT);
            for (int k = 0; k < COUNT; k++)
                for (int j = 0; j < n; j++) plain[j] -= factor[3 * k] * rows[k * STRIDE + j];
            CHECK(memcmp(row, plain, sizeof row) == 0);
        }
}

TEST(elastic_four_rows_are_the_same_bits_as_one_by_one) {
    enum { N = 61, COUNT = 19, STRIDE = 70, APART = 64 };
    double rows[COUNT * STRIDE], factor[2 * COUNT + 3 * FOUR];
    double four[FOUR * APART], one[FOUR * APART];
    for (int i = 0; i < COUNT * STRIDE; i++) rows[i] = hash_unit(hash_mix((uint64_t)i), 0) - 0.5;
    for (int i = 0; i < 2 * COUNT + 3 * FOUR; i++)
        factor[i] = hash_unit(hash_mix((uint64_t)i), 1) - 0.5;
    for (int isa = BRIM_ISA_BASE; isa <= (int)isa_choose(BRIM_ISA_AUTO); isa++)
        for (int n = 0; n <= N; n++)
            for (int sign = -1; sign <= 1; sign += 2) {
                const RowKernels *kernels = row_kernels_for((BrimIsa)isa);
                for (int j = 0; j < FOUR * APART; j++) four[j] = one[j] = 0.1 * j;
                kernels->add_four(four, APART, n, sign, factor, 3, 2, rows, STRIDE, COUNT);
                for (int i = 0; i < FOUR; i++)
                    kernels->add(one + i * APART, n, sign, factor + 3 * i, 2, rows, STRIDE, COUNT);
                CHECK(memcmp(four, one, sizeof four) == 0);
            }
}

TEST(elastic_dots_and_solves_are_the_same_bits_on_all_processors) {
    enum { N = 43 };
    double u[N * N], x[N], first[N], plain = 0;
    for (int n = 1; n <= N; n++) {
        for (int i = 0; i < n * n; i++)
            u[i] = hash_unit(hash_mix((uint64_t)i), 1) + (i % (n + 1) ? -0.5 : 4);
        for (int isa = BRIM_ISA_BASE; isa <= (int)isa_choose(BRIM_ISA_AUTO); isa++) {
            const RowKernels *kernels = row_kernels_for((BrimIsa)isa);
            double dot = kernels->dot(u, u + n * (n - 1), n), back = 0;
            for (int i = 0; i < n; i++) x[i] = 0.1 * i - 1;
            kernels->solve(u, n, x);
            if (isa == BRIM_ISA_BASE) memcpy(first, x, sizeof x), plain = dot;
            CHECK(dot == plain && memcmp(first, x, (size_t)n * sizeof *x) == 0);
            for (int i = 0; i < n; i++) { // the last of U^T U x is what it was
                double ux = 0;
                for (int j = i; j < n; j++) ux += u[i * n + j] * x[j];
                back += u[i * n + n - 1] * ux;
            }
            CHECK_NEAR(back, 0.1 * (n - 1) - 1, 1e-12);
        }
    }
}

TEST(elastic_stiffness_is_the_sum_over_samples) {
    // of each sample's own second derivative, at a bent and squeezed pose, with and without a team
    for (int dim = 2; dim <= 3; dim++) {
        BrimError error;
        ElasticParams p = elastic_default_params();
        p.modes = 3, p.elements = 24;
        Team *team = team_new(3);
        Elastic *e = case_beam(dim, 1, 0.3, 0.3, true, p, &error);
        CHECK(e && team);
        size_t n = (size_t)e->dofs;
        double *k = calloc(n * n, sizeof *k), *again = calloc(n * n, sizeof *k);
        double *sum = calloc(n * n, sizeof *k), hessian[81], f[9], most = 0, worst = 0;
        CHECK(k && again && sum);
        for (int i = 0; i < e->dofs; i++) e->d[i] = hash_unit(hash_mix((uint64_t)i), 1) - 0.5;
        elastic_stiffness(e, e->d, k);
        e->params.team = team;
        elastic_stiffness(e, e->d, again);
        CHECK(memcmp(k, again, n * n * sizeof *k) == 0);
        for (int s = 0; s < e->sample_count; s++) {
            const double *g = e->sample_gradient + (size_t)s * n;
            elastic_deformation(e, e->d, s, 1, f);
            material_hessian(&e->material, dim, f, hessian);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    for (int b = 0; b < dim; b++)
                        for (int q = 0; q < dim; q++) {
                            int row = dim * (int)(i % (size_t)dim) + b;
                            int column = dim * (int)(j % (size_t)dim) + q;
                            sum[i * n + j] +=
                                e->sample_volume[s] * hessian[row * dim * dim + column] *
                                g[b * e->r + (int)i / dim] * g[q * e->r + (int)j / dim];
                        }
        }
        for (size_t i = 0; i < n * n; i++) {
            most = fmax(most, fabs(sum[i]));
            worst = fmax(worst, fabs(sum[i] - k[i]));
        }
        CHECK_BELOW(worst, 1e-12 * most);
        free(k), free(again), free(sum);
        elastic_free(&e);
        team_free(&team);
    }
}

TEST(elastic_svd_has_rotations_and_signs) {
    for (uint64_t n = 0; n < 400; n++) {
        int dim = n & 1 ? 2 : 3, d2 = dim * dim;
        double f[9] = {0};
        for (int i = 0; i < d2; i++) f[i] = noise(9 * n + (uint64_t)i);
        if (n % 10 == 0) // a flat one
            for (int i = 0; i < dim; i++) f[(dim - 1) * dim + i] = 0.5 * f[i];
        Svd s = svd_of(dim, f);
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < dim; b++) {
                double sum = 0, pp = 0, qq = 0;
                for (int k = 0; k < dim; k++) {
                    sum += s.p[dim * a + k] * s.s[k] * s.q[dim * b + k];
                    pp += s.p[dim * a + k] * s.p[dim * b + k];
                    qq += s.q[dim * a + k] * s.q[dim * b + k];
                }
                CHECK_NEAR(sum, f[dim * a + b], 1e-8);
                CHECK_NEAR(pp, a == b, 1e-9);
                CHECK_NEAR(qq, a == b, 1e-9);
            }
        for (int k = 0; k + 1 < dim; k++) CHECK(s.s[k] + s.s[k + 1] >= -1e-12 && s.s[k] >= -1e-12);
    }
}

TEST(elastic_stress_and_hessian_are_derivatives) {
    Material m = material_of(1e3, 0.3);
    const double h = 1e-5;
    for (uint64_t n = 0; n < 40; n++) {
        int dim = n & 1 ? 2 : 3, d2 = dim * dim;
        double f[9] = {0}, stress[9], hessian[81];
        for (int i = 0; i < d2; i++) f[i] = (i % (dim + 1) == 0) + 0.6 * noise(9 * n + (uint64_t)i);
        material_energy(&m, dim, f, stress);
        for (int i = 0; i < d2; i++) {
            double up[9], down[9];
            memcpy(up, f, sizeof f), memcpy(down, f, sizeof f);
            up[i] += h, down[i] -= h;
            double slope =
                (material_energy(&m, dim, up, NULL) - material_energy(&m, dim, down, NULL)) /
                (2 * h);
            CHECK_NEAR(stress[i], slope, 1e-3);
        }
        // exact where J = 1 and stretches are at least 1 in the mean; 2D: F = R diag(t, 1/t)
        double t = 1.3, c = cos(0.4), s = sin(0.4);
        double g[9] = {c * t, -s / t, s * t, c / t};
        material_hessian(&m, 2, g, hessian);
        for (int i = 0; i < 4; i++) {
            double up[9], down[9], a[9], b[9];
            memcpy(up, g, sizeof g), memcpy(down, g, sizeof g);
            up[i] += h, down[i] -= h;
            material_energy(&m, 2, up, a), material_energy(&m, 2, down, b);
            for (int j = 0; j < 4; j++)
                CHECK_NEAR(hessian[4 * i + j], (a[j] - b[j]) / (2 * h), 1e-2);
        }
        // elsewhere it is at least not negative
        material_hessian(&m, dim, f, hessian);
        double values[9], vectors[81];
        dense_eigen(hessian, d2, values, vectors);
        CHECK(values[0] > -1e-9);
    }
}

// ---------------------------------------------------------------------------------------- statics

static ElasticParams beam_params(int modes, double size) {
    ElasticParams p = elastic_default_params();
    p.young = 1e6, p.poisson = 0.3, p.modes = modes, p.element_size = size;
    return p;
}

TEST(elastic_rigid_turn_costs_nothing) {
    for (int dim = 2; dim <= 3; dim++) {
        BrimError error;
        ElasticParams p = beam_params(6, 0.1);
        Elastic *e = case_beam(dim, 0.4, 0.2, 0.2, false, p, &error);
        CHECK(e);
        double axis[3] = {dim == 3 ? 0.6 : 0, 0, dim == 3 ? 0.8 : 1}, c = cos(1.1), s = sin(1.1);
        for (int i = 1; i < e->r; i++) {
            double x[3] = {0}, along = 0;
            for (int a = 0; a < dim; a++) x[a] = e->rest[i * dim + a], along += axis[a] * x[a];
            double side[3] = {axis[1] * x[2] - axis[2] * x[1], axis[2] * x[0] - axis[0] * x[2],
                              axis[0] * x[1] - axis[1] * x[0]};
            for (int a = 0; a < dim; a++)
                e->d[i * dim + a] = c * x[a] + s * side[a] + (1 - c) * along * axis[a] - x[a];
        }
        CHECK_BELOW(elastic_energy(e, e->d, NULL), 1e-10 * p.young * e->volume);
        CHECK_NEAR(e->volume, dim == 3 ? 0.016 : 0.08, 1e-6);
        elastic_free(&e);
    }
}

TEST(elastic_skin_beyond_an_element_is_as_stiff_as_the_rest) {
    // The body's top lies 0.01 to 0.3 of an element above the last plane that cuts it. Were
    // there one row of points in that sliver, it would bend at no cost and the top would cave in.
    static const double part[4] = {0.01, 0.05, 0.12, 0.3};
    for (int n = 0; n < 8; n++) {
        BrimError error;
        int dim = n < 4 ? 2 : 3;
        double size = 0.5, top = 2 * size * (1 + 0.5 * part[n & 3]), pressure = 1e4;
        CaseBox box = {{0, 0, 0}, {1, top, 1}, dim}, end = {{-1, -1, -1}, {2, 0, 2}, dim};
        Region region = case_region(&box), pin = case_region(&end);
        region.high[1] = 4 * size;
        ElasticParams p = beam_params(24, size);
        p.dim = dim, p.pins = &pin, p.pin_count = 1;
        Elastic *e = NULL;
        CHECK(elastic_new(&region, &p, &e, &error) == BRIM_OK);
        double *load = calloc((size_t)e->dofs, sizeof *load);
        double *row = calloc((size_t)e->r, sizeof *row);
        enum { POINTS = 20 };
        for (int i = 0; i < POINTS; i++)
            for (int k = 0; k < (dim == 3 ? POINTS : 1); k++) {
                double place[3] = {(i + 0.5) / POINTS, top, (k + 0.5) / POINTS};
                double force[3] = {0, -pressure / (dim == 3 ? POINTS * POINTS : POINTS), 0};
                elastic_row(e, place, row);
                elastic_add_force(e, row, force, load);
            }
        CHECK(elastic_settle(e, load));
        for (int i = 1; i < POINTS; i++) { // by Hooke's law, 1 - nu^2 times as much in 2D
            double u[3], below[3], x = (double)i / POINTS;
            case_displacement(e, x, top, 0.5, u);
            case_displacement(e, x, top - 0.1, 0.5, below);
            CHECK_NEAR((below[1] - u[1]) / (0.1 * pressure / p.young), 1, 0.2);
        }
        free(load), free(row);
        elastic_free(&e);
    }
}

TEST(elastic_cantilever_follows_the_elastica) {
    // Bisshopp and Drucker 1945; plane strain, L/h = 20, two elements across
    static const double table[4][2] = {
        {0.1, 0.03329532}, {1, 0.3017208}, {2, 0.4934575}, {5, 0.7137915}};
    BrimError error;
    ElasticParams p = beam_params(8, 0.025);
    Elastic *e = case_beam(2, 1, 0.05, 0, true, p, &error);
    CHECK(e);
    double *load = malloc((size_t)e->dofs * sizeof *load),
           *row = malloc((size_t)e->r * sizeof *row);
    double stiffness = p.young * pow(0.05, 3) / (12 * (1 - p.poisson * p.poisson));
    elastic_row(e, (double[3]){1, 0.025, 0}, row);
    for (int i = 0; i < 4; i++) {
        double tip[3];
        memset(load, 0, (size_t)e->dofs * sizeof *load);
        elastic_add_force(e, row, (double[3]){0, -table[i][0] * stiffness, 0}, load);
        elastic_settle(e, load);
        case_displacement(e, 1, 0.025, 0, tip);
        CHECK_NEAR(-tip[1] / table[i][1], 1, 0.02);
    }
    free(load), free(row);
    elastic_free(&e);
}

TEST(elastic_cantilever_vibrates_and_sags) {
    // Euler-Bernoulli: omega = (3.51602, 22.0345) sqrt(EI / m L^4); self weight q L^4 / 8 EI
    for (int dim = 2; dim <= 3; dim++) {
        BrimError error;
        ElasticParams p = beam_params(6, dim == 2 ? 0.025 : 0.05);
        double height = 0.05, length = 1;
        Elastic *e = case_beam(dim, length, height, height, true, p, &error);
        CHECK(e);
        double young = dim == 2 ? p.young / (1 - p.poisson * p.poisson) : p.young;
        double ei = young * pow(height, 3) / 12, m = p.density * height; // a metre of depth
        double unit = sqrt(ei / (m * pow(length, 4)));
        // 3D: each vibration comes twice
        CHECK_NEAR(e->omega[0] / (3.51602 * unit), 1, 0.02);
        CHECK_NEAR(e->omega[dim == 2 ? 1 : 2] / (22.0345 * unit), 1, 0.02);
        double *load = calloc((size_t)e->dofs, sizeof *load), tip[3], g[3] = {0, -0.01, 0};
        elastic_add_gravity(e, g, load);
        elastic_settle(e, load);
        case_displacement(e, length, 0.5 * height, 0.5 * height, tip);
        CHECK_NEAR(-tip[1] / (m * 0.01 * pow(length, 4) / (8 * ei)), 1, 0.02);
        free(load);
        elastic_free(&e);
    }
}

static Elastic *flag(double shear, int modes, BrimError *error) {
    // Turek and Hron 2006: 0.35 m x 0.02 m, 1000 kg/m3, nu 0.4, under 2 m/s2
    ElasticParams p = elastic_default_params();
    p.poisson = 0.4, p.young = 2 * shear * (1 + p.poisson), p.modes = modes, p.element_size = 0.01;
    return case_beam(2, 0.35, 0.02, 0, true, p, error);
}

TEST(elastic_flag_sags_like_csm1_and_csm2) {
    static const double table[2][2] = {{0.5e6, -66.10e-3}, {2e6, -16.97e-3}};
    for (int i = 0; i < 2; i++) {
        BrimError error;
        Elastic *e = flag(table[i][0], 8, &error);
        CHECK(e);
        double *load = calloc((size_t)e->dofs, sizeof *load), tip[3], g[3] = {0, -2, 0};
        elastic_add_gravity(e, g, load);
        elastic_settle(e, load);
        case_displacement(e, 0.35, 0.01, 0, tip);
        CHECK_NEAR(tip[1] / table[i][1], 1, 0.02);
        free(load);
        elastic_free(&e);
    }
}

// ---------------------------------------------------------------------------------------- motion

/// Lowest and highest points of a swing, and when the lowest were.
typedef struct Swing {
    double low, high, first_low, first_high;
    double first, last; ///< times of the first and the last lowest point
    int count;
} Swing;

/// Lets the flag fall for some periods with steps of 5 ms, or 5, 5, 5, 1.67 ms.
static bool swing(Elastic *e, const double g[3], bool cut, double until, Swing *out) {
    static const double steps[4] = {5e-3, 5e-3, 5e-3, 5e-3 / 3};
    double *f = calloc((size_t)e->dofs, sizeof *f), y[3] = {0}, t = 0, high = -1, tip[3];
    *out = (Swing){0};
    elastic_add_gravity(e, g, f);
    bool ok = case_step(e, 0, steps[0], f);
    for (int i = 0; ok && t < until; i++) {
        double dt = cut ? steps[i & 3] : steps[0], dn = cut ? steps[(i + 1) & 3] : steps[0];
        ok = case_step(e, dt, dn, f);
        case_displacement(e, 0.35, 0.01, 0, tip);
        y[2] = y[1], y[1] = y[0], y[0] = tip[1];
        high = fmax(high, y[0]);
        if (y[1] < y[2] && y[1] <= y[0] && y[1] < -0.05) {
            if (out->count++ == 0) out->first = t, out->first_low = y[1];
            if (out->count == 2) out->first_high = high;
            out->last = t, out->low = y[1], out->high = high, high = -1;
        }
        t += dt;
    }
    free(f);
    return ok;
}

TEST(elastic_flag_swings_like_csm3) {
    const double g[3] = {0, -2, 0};
    for (int cut = 0; cut < 2; cut++) {
        BrimError error;
        Elastic *e = flag(0.5e6, 8, &error);
        CHECK(e);
        Swing s;
        CHECK(swing(e, g, cut, 9.8, &s));
        CHECK(s.count == 11);
        CHECK_NEAR((s.last - s.first) / 10 * 1.0995, 1, 0.01);
        CHECK_NEAR((s.high - s.low) / (s.first_high - s.first_low), 1, 0.02);
        CHECK_NEAR(s.first_low / (-63.607e-3 - 65.160e-3), 1, 0.02);
        elastic_free(&e);
    }
}

TEST(elastic_stiff_flag_with_many_modes_does_not_grow) {
    BrimError error;
    Elastic *e = flag(0.5e8, 40, &error);
    CHECK(e);
    double *f = calloc((size_t)e->dofs, sizeof *f), g[3] = {0, -2, 0}, first = 0, last = 0, tip[3];
    elastic_add_gravity(e, g, f);
    CHECK(case_step(e, 0, 5e-3, f));
    for (int i = 0; i < 80; i++) {
        CHECK(case_step(e, 5e-3, 5e-3, f));
        case_displacement(e, 0.35, 0.01, 0, tip);
        double *most = i < 20 ? &first : &last;
        *most = fmax(*most, fabs(tip[1]));
    }
    CHECK_BELOW(last, 1.01 * first);
    free(f);
    elastic_free(&e);
}

TEST(elastic_free_body_at_rest_stays) {
    BrimError error;
    Elastic *e = case_beam(3, 0.4, 0.2, 0.3, false, beam_params(6, 0.2), &error);
    CHECK(e);
    double *f = calloc((size_t)e->dofs, sizeof *f);
    for (int i = 0; i < 300; i++) CHECK(case_step(e, 0.01, 0.01, f));
    CHECK_BELOW(sqrt(2 * elastic_kinetic(e) / e->mass), 1e-9);
    free(f);
    elastic_free(&e);
}

TEST(elastic_stiff_body_comes_to_rest_within_steps) {
    // A blow of 20 times its weight on a beam whose first vibration is 16 times shorter than the
    // step; equal and cut steps. Half impulses that change sign from step to step for ever would
    // keep it swinging about its sag.
    for (int n = 0; n < 4; n++) {
        BrimError error;
        Elastic *e = case_beam(n & 1 ? 3 : 2, 1, 0.2, 0.2, true, beam_params(6, 0.1), &error);
        CHECK(e);
        double g[3] = {0, -9.81, 0}, h = 100 / e->omega[0], sag[3], at[3];
        const double steps[4] = {h, h, h, n & 2 ? h / 3 : h};
        double *f = calloc((size_t)e->dofs, sizeof *f), *blow = calloc((size_t)e->dofs, sizeof *f);
        elastic_add_gravity(e, g, f);
        for (int i = 0; i < e->dofs; i++) blow[i] = 20 * f[i];
        CHECK(elastic_settle(e, f));
        case_displacement(e, 1, 0.1, 0.1, sag);
        memset(e->d, 0, (size_t)e->dofs * sizeof *e->d);
        CHECK(case_step(e, 0, h, f));
        for (int i = 0; i < 60; i++) {
            CHECK(case_step(e, steps[i & 3], steps[(i + 1) & 3], i == 20 ? blow : f));
            case_displacement(e, 1, 0.1, 0.1, at);
            if (i >= 50) CHECK_NEAR(at[1] / sag[1], 1, 0.01);
        }
        free(f), free(blow);
        elastic_free(&e);
    }
}

TEST(elastic_kept_stiffness_is_the_same_bits_again_after_loading) {
    // steps that grow by less than it minds: A must not stay that of an earlier one
    double v[2][ELASTIC_DOFS_MOST];
    int n = 0;
    for (int loaded = 0; loaded < 2; loaded++) {
        BrimError error;
        Elastic *e = case_beam(2, 1, 0.2, 0.2, true, beam_params(6, 0.1), &error);
        CHECK(e);
        double g[3] = {0, -9.81, 0}, h = 0.5 / e->omega[0];
        double *f = calloc((size_t)e->dofs, sizeof *f);
        elastic_add_gravity(e, g, f);
        CHECK(elastic_settle(e, f) && case_step(e, 0, h, f));
        for (int i = 0; i < 4; i++) {
            const double before = h * (1 + 2e-3 * i), next = h * (1 + 2e-3 * (i + 1));
            if (loaded && i == 2) CHECK(elastic_recall(e)); // as bodies_restore does
            CHECK(case_step(e, before, next, f));
        }
        CHECK(e->at_dn == h); // it was kept
        memcpy(v[loaded], e->v, (size_t)(n = e->dofs) * sizeof **v);
        free(f);
        elastic_free(&e);
    }
    CHECK(memcmp(v[0], v[1], (size_t)n * sizeof **v) == 0);
}

/// Of two short steps after a long one only the first brakes what the long one did not resolve.
TEST(elastic_brake_of_a_short_step_ends_with_it) {
    double v[2][ELASTIC_DOFS_MOST];
    int n = 0;
    for (int loaded = 0; loaded < 2; loaded++) {
        BrimError error;
        Elastic *e = case_beam(2, 1, 0.2, 0.2, true, beam_params(6, 0.1), &error);
        CHECK(e);
        double g[3] = {0, -9.81, 0}, h = 5 / e->omega[0];
        double *f = calloc((size_t)e->dofs, sizeof *f);
        elastic_add_gravity(e, g, f);
        CHECK(case_step(e, 0, h, f) && case_step(e, h, 0.1 * h, f));
        if (loaded) CHECK(elastic_recall(e));
        CHECK(case_step(e, 0.1 * h, 0.1 * h, f));
        memcpy(v[loaded], e->v, (size_t)(n = e->dofs) * sizeof **v);
        free(f);
        elastic_free(&e);
    }
    CHECK(memcmp(v[0], v[1], (size_t)n * sizeof **v) == 0);
}

/// Angular momentum at the time of the positions: of the mean before the kick and its half impulse;
/// rigid: in the middle of the step.
static void momentum_now(Elastic *e, double momentum[3]) {
    double spin[3], *v = e->v, *d = e->d;
    if (e->params.rigid)
        e->d = e->z;
    else
        e->v = e->w;
    elastic_spin(e, momentum, spin);
    e->v = v, e->d = d;
}

TEST(elastic_spinning_body_keeps_its_momentum) {
    // 0.2 rad a step, one vibration in 6 and in half a step; steps equal and cut; 3D: tumbling;
    // rigid bodies too
    for (int n = 0; n < 12; n++) {
        BrimError error;
        int dim = n & 1 ? 3 : 2;
        bool cut = n & 2;
        ElasticParams p = beam_params(6, dim == 2 ? 0.1 : 0.2);
        p.rigid = n >= 8;
        Elastic *e = case_beam(dim, 0.4, 0.2, 0.3, false, p, &error);
        CHECK(e);
        double h = p.rigid ? 0.01 : (n & 4 ? 12 : 1) / e->omega[0], spin = 0.2 / h;
        double axis[3] = {dim == 3 ? 0.6 * spin : 0, 0, dim == 3 ? 0.8 * spin : spin};
        for (int i = 1; i < e->r; i++) {
            double x[3] = {0};
            for (int a = 0; a < dim; a++) x[a] = e->rest[i * dim + a];
            double u[3] = {axis[1] * x[2] - axis[2] * x[1], axis[2] * x[0] - axis[0] * x[2],
                           axis[0] * x[1] - axis[1] * x[0]};
            for (int a = 0; a < dim; a++) e->v[i * dim + a] = u[a];
        }
        double *f = calloc((size_t)e->dofs, sizeof *f), before[3], after[3], gone = 0, all = 0;
        const double steps[4] = {h, h, h, h / 3};
        CHECK(case_step(e, 0, h, f));
        CHECK(case_step(e, h, h, f));
        momentum_now(e, before);
        double energy = elastic_kinetic(e) + elastic_energy(e, e->z, NULL);
        for (int i = 1; i < (dim == 2 ? 800 : 200); i++)
            CHECK(case_step(e, cut ? steps[i & 3] : h, cut ? steps[(i + 1) & 3] : h, f));
        momentum_now(e, after);
        for (int a = 0; a < 3; a++)
            gone += pow(after[a] - before[a], 2), all += before[a] * before[a];
        CHECK_BELOW(sqrt(gone / all), 1e-3);
        CHECK_NEAR((elastic_kinetic(e) + elastic_energy(e, e->z, NULL)) / energy, 1, 0.03);
        free(f);
        elastic_free(&e);
    }
}

TEST(elastic_squeezed_rigid_body_keeps_its_spin) {
    // An even pressure, the same at all times or in every other step, has no torque. Were what
    // holds the body together carried on as half impulses, they would swing and turn it.
    for (int n = 0; n < 4; n++) {
        BrimError error;
        ElasticParams p = elastic_default_params();
        p.rigid = true, p.elements = 16;
        int dim = n & 1 ? 3 : 2;
        Elastic *e = case_beam(dim, 0.4, 0.2, 0.3, false, p, &error);
        CHECK(e);
        double h = 1.0 / 30, *f = calloc((size_t)e->dofs, sizeof *f), start = 0;
        for (int i = 1; i < e->r; i++)
            e->v[i * dim] = -0.5 * e->rest[i * dim + 1], e->v[i * dim + 1] = 0.5 * e->rest[i * dim];
        for (int k = 0; k < 300; k++) {
            double push = 1000 * (n & 2 && k & 1 ? 0.5 : 1); // pressure times volume over inertia
            elastic_move(e, k > 0 ? h : 0);
            elastic_begin(e, h, k > 0 ? h : 0.5 * h);
            for (int pass = 0; pass < 3; pass++) {
                for (int i = dim; i < e->dofs; i++)
                    f[i] = -push * (e->rest[i] + e->d[i] + 0.5 * h * e->v[i]);
                CHECK(elastic_iterate(e, f, NULL));
            }
            elastic_end(e, f, false);
            if (k == 0) start = elastic_kinetic(e);
        }
        CHECK_NEAR(elastic_kinetic(e) / start, 1, 0.01);
        free(f);
        elastic_free(&e);
    }
}

// ---------------------------------------------------------------------------------------- errors

TEST(elastic_bad_input_is_named) {
    static const struct {
        double young, poisson, density, pin_low;
        const char *says;
    } bad[] = {{0, 0.3, 1000, 0, "Young"},      {1e5, 0.5, 1000, 0, "Poisson"},
               {1e5, -0.1, 1000, 0, "Poisson"}, {1e5, 0.3, 0, 0, "density"},
               {1e5, 0.3, NAN, 0, "density"},   {1e5, 0.3, 1000, 5, "pins hold nothing"},
               {1e5, 0.3, 1000, -9, "all"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CaseBox box = {{0, 0, 0}, {1, 0.5, 0}, 2};
        CaseBox pin = {{bad[i].pin_low, bad[i].pin_low, 0}, {bad[i].pin_low + 0.2, 9, 0}, 2};
        if (bad[i].pin_low < 0) pin.high[0] = 9;
        Region region = case_region(&box), held = case_region(&pin);
        ElasticParams p = beam_params(4, 0.25);
        p.dim = 2, p.young = bad[i].young, p.poisson = bad[i].poisson, p.density = bad[i].density;
        p.pins = &held, p.pin_count = 1;
        Elastic *e;
        BrimError error = {0};
        CHECK(elastic_new(&region, &p, &e, &error) == BRIM_ERROR_INPUT);
        CHECK(e == NULL);
        if (bad[i].pin_low >= 0) CHECK(strstr(error.message, bad[i].says));
    }
}
