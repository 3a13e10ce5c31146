// The mesh of a warped grid and its map.
#include "base/memory.h"
#include "warp/particles.h"
#include "warp_box.h"

TEST(warp_cosine_solve_is_exact) {
    Warp w;
    CHECK(warp_init(&w, 3, (int[3]){12, 20, 8}, 0.5, 10, NULL) == BRIM_OK);
    const int *n = w.map.coarse;
    size_t count = warp_centres(&w);
    double *f = malloc(count * sizeof *f), *v = malloc(count * sizeof *v), mean = 0;
    for (size_t i = 0; i < count; i++) f[i] = unit(i, 1), mean += f[i] / (double)count;
    warp_inverse_laplacian(&w, f, v);
    const size_t stride[3] = {1, (size_t)n[0], (size_t)(n[0] * n[1])};
    double off = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double lap = 0;
        for (int a = 0; a < 3; a++) {
            int at = (int)(i / stride[a]) % n[a];
            double k = 1.0 / (w.map.ratio[a] * w.map.ratio[a]);
            if (at > 0) lap += k * (v[i - stride[a]] - v[i]);
            if (at < n[a] - 1) lap += k * (v[i + stride[a]] - v[i]);
        }
        off = fmax(off, fabs(lap - (f[i] - mean))), sum += v[i];
    }
    free(f), free(v);
    warp_free(&w);
    CHECK_BELOW(off, 1e-12);
    CHECK_NEAR(sum, 0, 1e-9);
}

/// Section 2 of the method note: a circle at strength 0.75 has cells of which the largest is about
/// 14 times the smallest at any resolution, a plane is compressed 1 / (1 - s) times.
TEST(warp_mesh_is_as_fine_as_asked) {
    double least, most;
    for (int n = 32; n <= 128; n *= 2) {
        Body circle = {{n / 2.0, n / 2.0, 0}, {0}, 0.4 * n};
        StillBox s;
        box_init(&s, 2, n, n, 1, 0.75, 0, &circle);
        map_determinants(&s.warp.map, &least, &most);
        still_free(&s);
        CHECK(most / least > 12 && most / least < 18);
    }
    const double strength[2] = {0.75, 0.9};
    for (int k = 0; k < 2; k++) {
        Body level = {{0, 30, 0}, {0, 1, 0}, 0};
        StillBox s;
        box_init(&s, 2, 64, 64, 1, strength[k], 0, &level);
        map_determinants(&s.warp.map, &least, &most);
        still_free(&s);
        CHECK_NEAR(least, 1 - strength[k], 0.01);
    }
}

TEST(warp_mesh_follows_a_moving_ball_and_stays_sound) {
    const double strength = 0.9;
    const int n = 32;
    Body ball = {{8, 16, 16}, {0}, 6};
    StillBox s;
    box_init(&s, 3, n, n, n, strength, 16, &ball);
    Warp *w = &s.warp;
    size_t count = warp_centres(w);
    float *at = malloc(count * sizeof *at);
    double *f = malloc(count * sizeof *f), least = 1, moved = 0;
    WarpSizing sizing = warp_default_sizing(s.grid.cells, 0, 1);
    for (int step = 0; step < 60; step++) {
        if (step < 40) ball.at[0] += 0.4;
        for (size_t i = 0; i < count; i++) {
            double xi[3], x[3];
            warp_centre(w, i, xi);
            map_to_space(&w->map, xi, x);
            at[i] = (float)distance(&ball, x);
        }
        CHECK(warp_size(w, &sizing, at, NULL, NULL, NULL, f, NULL) == BRIM_OK);
        WarpMotion m = warp_step(w, f);
        least = fmin(least, m.least), moved = fmax(moved, m.moved);
    }
    StillBox there;
    box_init(&there, 3, n, n, n, strength, 16, &ball);
    double off = 0;
    for (size_t i = 0; i < map_node_count(&w->map); i++)
        for (int a = 0; a < 3; a++)
            off = fmax(off, fabs((double)(w->map.d[a][i] - there.warp.map.d[a][i])));
    free(at), free(f);
    still_free(&s);
    still_free(&there);
    CHECK(least >= 0.4 * (1 - strength));
    CHECK(moved > 0.1 && moved <= 0.5 + 1e-6);
    CHECK_BELOW(off, 0.05); // it arrived
}

TEST(warp_distance_sweeps_over_the_box) {
    Body ball = {{10, 20, 12}, {0}, 7};
    StillBox s;
    box_init(&s, 3, 32, 32, 32, 0.75, 32, &ball);
    size_t count = warp_centres(&s.warp);
    float *closest[3] = {malloc(3 * count * sizeof(float))}, *found = malloc(count * sizeof *found);
    double worst = 0;
    closest[1] = closest[0] + count, closest[2] = closest[1] + count;
    for (size_t i = 0; i < count; i++) {
        double xi[3], x[3];
        warp_centre(&s.warp, i, xi);
        map_to_space(&s.warp.map, xi, x);
        double d = distance(&ball, x);
        for (int a = 0; a < 3; a++)
            closest[a][i] =
                fabs(d) > 1.5
                    ? WARP_NOWHERE
                    : (float)(ball.at[a] + (x[a] - ball.at[a]) * ball.radius / (ball.radius + d));
    }
    warp_sweep_distance(&s.warp, closest, 99, found);
    for (size_t i = 0; i < count; i++) {
        double xi[3], x[3];
        warp_centre(&s.warp, i, xi);
        map_to_space(&s.warp.map, xi, x);
        worst = fmax(worst, fabs((double)found[i] - fabs(distance(&ball, x))));
    }
    for (size_t i = 0; i < 3 * count; i++) closest[0][i] = WARP_NOWHERE;
    warp_sweep_distance(&s.warp, closest, 99, found);
    float none = found[count / 3];
    free(closest[0]), free(found);
    still_free(&s);
    CHECK_BELOW(worst, 0.25);
    CHECK(none == 99);
}

TEST(warp_refuses_what_cannot_be) {
    Warp w;
    BrimError error;
    CHECK(warp_init(&w, 2, (int[3]){32, 32, 1}, 1, 0, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "grid.warp is 1") != NULL);
    CHECK(warp_init(&w, 2, (int[3]){32, 32, 1}, NAN, 0, &error) == BRIM_ERROR_INPUT);
    CHECK(warp_init(&w, 3, (int[3]){32, 32, 1}, 0.5, 0, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "along z") != NULL);
    CHECK(warp_init(&w, 2, (int[3]){997, 32, 1}, 0.5, 0, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "997 cells along x") != NULL);
    CHECK_OK(warp_init(&w, 2, (int[3]){8, 8, 1}, 0.5, 0, &error), error);
    float at[64] = {0};
    double f[64];
    WarpSizing sizing = warp_default_sizing(w.map.cells, 9.81, 0.1);
    at[5] = NAN;
    BrimResult result = warp_size(&w, &sizing, at, NULL, NULL, NULL, f, &error);
    at[5] = 0; // the same everywhere: nothing to bend towards
    CHECK_OK(warp_size(&w, &sizing, at, NULL, NULL, NULL, f, &error), error);
    warp_free(&w);
    CHECK(result == BRIM_ERROR_INPUT && strstr(error.message, "not a number"));
    for (int i = 0; i < 64; i++) CHECK(f[i] == 0);
}

TEST(warp_map_and_its_inverse) {
    for (int dim = 2; dim <= 3; dim++) {
        Body ball = {{14, 17, dim == 3 ? 15 : 0}, {0}, 9};
        StillBox s;
        box_init(&s, dim, 32, 32, dim == 3 ? 32 : 1, 0.9, 16, &ball);
        const WarpMap *m = &s.warp.map;
        double off = 0, slope = 0;
        for (uint64_t i = 0; i < 4000; i++) {
            double xi[3] = {0}, x[3], back[3] = {0}, J[3][3], ahead[3], to[3];
            for (int a = 0; a < dim; a++) xi[a] = 32 * unit(i, (uint64_t)a);
            map_to_space(m, xi, x);
            for (int a = 0; a < dim; a++) back[a] = fmin(fmax(xi[a] + unit(i, 7) - 0.5, 0), 32);
            map_to_reference(m, x, back, 1e-10, 30);
            for (int a = 0; a < 3; a++) off = fmax(off, fabs(back[a] - xi[a]));
            map_jacobian(m, xi, J);
            for (int axis = 0; axis < dim; axis++) { // inside a cell
                memcpy(ahead, xi, sizeof ahead);
                ahead[axis] += 1e-6;
                if ((int)(ahead[axis] / 2) != (int)(xi[axis] / 2)) continue;
                map_to_space(m, ahead, to);
                for (int a = 0; a < dim; a++)
                    slope = fmax(slope, fabs((to[a] - x[a]) / 1e-6 - J[axis][a]));
            }
        }
        still_free(&s);
        CHECK_BELOW(off, 1e-8);
        CHECK_BELOW(slope, 1e-6);
    }
}

/// Particles at rest stay where they are while the mesh moves below them.
TEST(warp_mesh_moves_and_water_rests) {
    Body ball = {{8, 16, 0}, {0}, 6};
    StillBox s;
    box_init(&s, 2, 32, 32, 1, 0.75, 0, &ball);
    Warp *w = &s.warp;
    enum { N = 500 };
    double xi[N][3] = {{0}}, start[N][3], drift = 0, moved = 0;
    float *at = malloc(warp_centres(w) * sizeof *at);
    double *f = malloc(warp_centres(w) * sizeof *f);
    WarpSizing sizing = warp_default_sizing(s.grid.cells, 0, 1);
    for (int i = 0; i < N; i++) {
        for (int a = 0; a < 2; a++) xi[i][a] = 32 * unit((uint64_t)i, (uint64_t)a);
        map_to_space(&w->map, xi[i], start[i]);
    }
    for (int step = 0; step < 30; step++) {
        ball.at[0] += 0.4;
        for (size_t i = 0; i < warp_centres(w); i++) {
            double c[3], x[3];
            warp_centre(w, i, c);
            map_to_space(&w->map, c, x);
            at[i] = (float)distance(&ball, x);
        }
        CHECK(warp_size(w, &sizing, at, NULL, NULL, NULL, f, NULL) == BRIM_OK);
        moved = fmax(moved, warp_step(w, f).moved);
        for (int i = 0; i < N; i++) {
            double x[3];
            map_to_space(&w->before, xi[i], x);
            map_to_reference(&w->map, x, xi[i], 1e-12, 30);
            map_to_space(&w->map, xi[i], x);
            for (int a = 0; a < 2; a++) drift = fmax(drift, fabs(x[a] - start[i][a]));
        }
    }
    free(at), free(f);
    still_free(&s);
    CHECK(moved > 0.1);
    CHECK_BELOW(drift, 1e-10);
}
