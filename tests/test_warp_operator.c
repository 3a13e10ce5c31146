// Pressure at the nodes of a warped grid: the operator and its properties.
#include "base/memory.h"
#include "warp/nodal_kernels.h"
#include "warp_box.h"

TEST(warp_ghost_matrix) {
    for (uint64_t i = 0; i < 2000; i++) {
        double a[3], b[3], M[3][3], most = 0, aa = 0, bb = 0, ab = 0;
        for (int k = 0; k < 3; k++) {
            a[k] = unit(i, (uint64_t)k) - 0.5, b[k] = unit(i, 3 + (uint64_t)k) - 0.5;
            if (i % 4 == 0) b[k] = 0.3 * a[k]; // parallel: no branch for it
            if (i % 3 == 0 && k == 2) a[k] = b[k] = 0;
            aa += a[k] * a[k], bb += b[k] * b[k], ab += a[k] * b[k];
        }
        ghost_matrix(a, b, INFINITY, M);
        if (!(ab > 0.01 * sqrt(aa * bb))) {
            CHECK(M[0][0] == 1 && M[0][1] == 0 && M[2][2] == 1);
            continue;
        }
        for (int k = 0; k < 3; k++) {
            CHECK_NEAR(M[k][0] * b[0] + M[k][1] * b[1] + M[k][2] * b[2], a[k], 3e-14);
            for (int j = 0; j < 3; j++) {
                most = fmax(most, fabs(M[k][j]));
                CHECK_NEAR(M[k][j], M[j][k], 3e-14);
            }
        }
        // eigenvalues |a| (|a| -+ |c|) / (a.b) and |a|^2 / (a.b): by their sum, squares and product
        double cross = 0;
        for (int k = 0; k < 3; k++) {
            double v = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
            cross += v * v;
        }
        double sine = sqrt(cross / (aa * bb));
        const double l[3] = {aa * (1 - sine) / ab, aa / ab, aa * (1 + sine) / ab};
        double trace = M[0][0] + M[1][1] + M[2][2], square = 0;
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++) square += M[k][j] * M[j][k];
        CHECK_NEAR(trace, l[0] + l[1] + l[2], 1e-11 * most);
        CHECK_NEAR(square, l[0] * l[0] + l[1] * l[1] + l[2] * l[2], 1e-11 * most * most);
        CHECK_NEAR(matrix_determinant(M), l[0] * l[1] * l[2], 1e-9 * l[2] * l[2] * l[2]);
        ghost_matrix(a, b, l[2] / 2, M);
        CHECK_NEAR(M[0][0] + M[1][1] + M[2][2], (l[0] + l[1] + l[2]) / 2, 1e-11 * most);
    }
}

// --------------------------------------------------------------------------------------- operator

/// The operator is symmetric, has the constant in its null space where no air is near, and is what
/// the double-precision residual says; so is its 7-point shadow.
TEST(warp_operator_is_symmetric_and_consistent) {
    for (int dim = 2; dim <= 3; dim++) {
        Body ball = {{9, 10, dim == 3 ? 8 : 0}, {0}, 6.3};
        StillBox s;
        box_init(&s, dim, 20, 18, dim == 3 ? 17 : 1, 0.75, 20, &ball);
        still_level(&s, distance, &ball);
        CHECK(still_assemble(&s));
        float *v[4];
        double ab = 0, ba = 0, off = 0, most = 0, inner = 0;
        double *twice = memory_zero(s.count * sizeof *twice);
        for (int k = 0; k < 4; k++) v[k] = memory_zero(s.count * sizeof(float));
        for (size_t i = 0; i < s.count; i++)
            if (s.op.smooth[i] > 0)
                v[0][i] = (float)unit(i, 1), v[1][i] = (float)unit(i, 2),
                twice[i] = (double)v[0][i];
        for (int slot = 0; slot < s.grid.tile_count; slot++) {
            nodal_apply(&s.op, v[0], v[2], slot);
            nodal_apply(&s.op, v[1], v[3], slot);
        }
        for (size_t i = 0; i < s.count; i++) {
            ab += (double)v[1][i] * (double)v[2][i], ba += (double)v[0][i] * (double)v[3][i];
            CHECK(s.op.smooth[i] > 0 || v[2][i] == 0);
        }
        for (int slot = 0; slot < s.grid.tile_count; slot++)
            nodal_residual(&s.op, s.b, twice, v[3], slot); // b = 0
        for (size_t i = 0; i < s.count; i++) {
            off = fmax(off, fabs((double)v[3][i] + (double)v[2][i]) * (double)s.op.smooth[i]);
            most = fmax(most, fabs((double)v[2][i]) * (double)s.op.smooth[i]);
            v[0][i] = s.op.smooth[i] > 0;
        }
        for (int slot = 0; slot < s.grid.tile_count; slot++) nodal_apply(&s.op, v[0], v[2], slot);
        for (size_t i = 0; i < s.count; i++) inner += s.op.anchor[i] == 0 && v[2][i] != 0;
        free(twice);
        for (int k = 0; k < 4; k++) free(v[k]);
        still_free(&s);
        CHECK_NEAR(ab, ba, 1e-6 * fabs(ab));
        CHECK_BELOW(off, 1e-6 * most);
        CHECK(inner == 0);
    }
}

/// Gauss points integrate det J B exactly: uniform flow has no divergence at interior nodes.
TEST(warp_uniform_flow_on_a_jittered_mesh) {
    for (int dim = 2; dim <= 3; dim++) {
        const int n = 10;
        StillBox s;
        box_init(&s, dim, n, n, dim == 3 ? n : 1, 0, n, NULL);
        const WarpMap *m = &s.warp.map;
        CHECK(m->ratio[0] == 1);
        for (size_t i = 0; i < map_node_count(m); i++) {
            size_t left = i;
            for (int a = 0; a < dim; a++) {
                int at = (int)(left % (size_t)(n + 1));
                left /= (size_t)(n + 1);
                if (at > 0 && at < n) m->d[a][i] = (float)(0.2 * unit(i, (uint64_t)a) - 0.1);
            }
        }
        CHECK(still_assemble(&s));
        for (int a = 0; a < dim; a++)
            for (size_t i = 0; i < s.count; i++) s.u[a][i] = 1.0f / (float)(1 << a);
        still_rhs(&s);
        double most[2] = {0}; // from means in single precision, then from the elements themselves
        for (int z = dim == 3 ? 1 : 0; z < (dim == 3 ? n : 1); z++)
            for (int y = 1; y < n; y++)
                for (int x = 1; x < n; x++) {
                    double sum = 0;
                    most[0] = fmax(most[0], fabs((double)s.b[still_at(&s, x, y, z)]));
                    for (int c = 0; c < 1 << dim; c++) { // the node is this corner of a cell
                        Element e;
                        double d[8][3];
                        map_corners(m, x - (c & 1), y - (c >> 1 & 1), z - (c >> 2), d);
                        element_shape(&e, dim, WARP_RULE_GAUSS, d);
                        for (int a = 0; a < dim; a++) sum += e.volume * e.mean[a][c] / (1 << a);
                    }
                    most[1] = fmax(most[1], fabs(sum));
                }
        still_free(&s);
        CHECK_BELOW(most[0], 3e-7);
        CHECK_BELOW(most[1], 5e-15);
    }
}

TEST(warp_null_space) {
    for (int warped = 0; warped < 2; warped++)
        for (int dim = 2; dim <= 3; dim++)
            for (int one = 0; one < 2; one++) {
                BrimWarpTestDef def = {.kind = BRIM_WARP_CLOSED,
                                       .dim = dim,
                                       .cells = 8,
                                       .strength = warped ? 0.75 : 0,
                                       .order = 2,
                                       .one_point = one};
                BrimWarpTest t = case_of(def);
                // a checkerboard of bent cells is still one: its corners alternate
                CHECK(t.null_space == (one ? (dim == 3 ? 26 : 2) : 1));
            }
}
