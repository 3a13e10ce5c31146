// Handles and projective dynamics: the subspace and the solver of Brandt et al. 2018.
#include "base/hash.h"
#include "elastic/handles.h"
#include "elastic/projective.h"
#include "elastic_cases.h"
#include "test.h"

TEST(handles_have_weights_that_add_up_to_one) {
    CaseBox box = {{0, 0, 0}, {6, 3, 2}, 3};
    Region region = case_region(&box);
    Lattice l;
    Points exact = {0}, few = {0};
    double *filled;
    BrimError error;
    LatticeParams lp = {.size = 1};
    CHECK_OK(lattice_new(&region, 3, &lp, &l, &exact, &few, &filled, &error), error);
    Handles h;
    CHECK_OK(handles_new(&l, 12, 1.25, &h, &error), error);
    CHECK(h.count == 12);
    for (int i = 0; i < l.node_count; i++) {
        double sum = 0, least = 0;
        for (int k = 0; k < h.count; k++) {
            double w = h.weight[i * h.count + k], far = 0;
            for (int a = 0; a < 3; a++) far += pow(l.place[i][a] - l.place[h.node[k]][a], 2);
            sum += w, least = fmin(least, w);
            if (sqrt(far) > h.radius) CHECK(w == 0); // paths are no shorter than straight lines
        }
        CHECK_NEAR(sum, 1, 1e-14);
        CHECK(least == 0);
    }
    handles_free(&h);
    free(filled), free(exact.point), free(few.point);
    lattice_free(&l);
}

/// Tip of a clamped beam of 10 x 1 x 1 under a load at its end, over beam theory.
static double tip_over_theory(int handles, double radius, int order) {
    const double length = 1, height = 0.1, young = 1e6, load = 1e-3;
    BrimError error;
    ElasticParams p = elastic_default_params();
    p.subspace = ELASTIC_HANDLES, p.handles = handles, p.radius = radius, p.order = order;
    p.young = young, p.poisson = 0.3, p.elements = 80;
    Elastic *e = case_beam(3, length, height, height, true, p, &error);
    if (!e) return NAN;
    double *f = calloc((size_t)e->dofs, sizeof *f), *row = calloc((size_t)e->r, sizeof *row), u[3];
    for (int i = 0; i < 3; i++) // even over the end's face
        for (int j = 0; j < 3; j++) {
            elastic_row(e, (double[3]){length, 0.5 * height * i, 0.5 * height * j}, row);
            elastic_add_force(e, row, (double[3]){0, load / 9, 0}, f);
        }
    bool ok = elastic_settle(e, f);
    case_displacement(e, length, 0.5 * height, 0.5 * height, u);
    double theory = load * pow(length, 3) / (3 * young * pow(height, 4) / 12);
    free(f), free(row);
    elastic_free(&e);
    return ok ? u[1] / theory : NAN;
}

TEST(handles_bend_by_their_order) {
    // few affine handles hardly bend, as many quadratic ones do
    CHECK_NEAR(tip_over_theory(10, 1.25, 1), 0.396, 0.02);
    CHECK_NEAR(tip_over_theory(10, 1.25, 2), 0.973, 0.02);
}

static ElasticParams projective_params(void) {
    ElasticParams p = elastic_default_params();
    p.subspace = ELASTIC_HANDLES, p.solver = ELASTIC_PROJECTIVE;
    p.handles = 6, p.order = 1, p.radius = 2, p.elements = 24;
    return p;
}

TEST(projective_rest_is_a_fixed_point) {
    for (int n = 0; n < 8; n++) {
        int dim = n & 1 ? 3 : 2;
        BrimError error;
        ElasticParams p = projective_params();
        p.samples = n & 2 ? 40 : 0;
        Elastic *e = case_beam(dim, 0.6, 0.3, 0.3, n & 4, p, &error);
        CHECK(e);
        double *f = calloc((size_t)e->dofs, sizeof *f), fastest = 0;
        for (int k = 0; k < 20; k++) CHECK(case_step(e, 0.01, k % 3 ? 0.01 : 0.004, f));
        for (int i = 0; i < e->dofs; i++) fastest = fmax(fastest, fabs(e->v[i]));
        CHECK_BELOW(fastest, 1e-9);
        free(f);
        elastic_free(&e);
    }
}

TEST(projective_turned_body_keeps_its_pose) {
    // targets of a rigid turn are one matrix, which any fit finds
    for (int dim = 2; dim <= 3; dim++)
        for (int samples = 0; samples <= 40; samples += 40) {
            BrimError error;
            ElasticParams p = projective_params();
            p.samples = samples;
            Elastic *e = case_beam(dim, 0.6, 0.3, 0.3, false, p, &error);
            CHECK(e);
            double *f = calloc((size_t)e->dofs, sizeof *f), c = cos(0.7), s = sin(0.7), most = 0;
            CHECK((samples > 0) == (e->projective->blend > 0));
            for (int i = 0; i < e->r; i++) {
                double *x = e->rest + i * dim, *d = e->d + i * dim;
                d[0] = (c - 1) * x[0] - s * x[1], d[1] = s * x[0] + (c - 1) * x[1];
            }
            elastic_begin(e, 0.01, 0.01);
            CHECK(elastic_iterate(e, f, NULL));
            for (int i = 0; i < e->dofs; i++) most = fmax(most, fabs(e->v[i]));
            CHECK_BELOW(most, 1e-8 * sqrt(e->mass));
            free(f);
            elastic_free(&e);
        }
}

TEST(projective_settles_where_newton_does) {
    // a stubby block under a small load: SI weights make both linear elasticity
    for (int dim = 2; dim <= 3; dim++) {
        double tip[2][3], energy[2];
        for (int n = 0; n < 2; n++) {
            BrimError error;
            ElasticParams p = projective_params();
            p.subspace = ELASTIC_MODES, p.modes = 3, p.poisson = 0.3;
            p.solver = n ? ELASTIC_PROJECTIVE : ELASTIC_NEWTON, p.iterations = 1500;
            Elastic *e = case_beam(dim, 0.3, 0.3, 0.3, true, p, &error);
            CHECK(e);
            double *f = calloc((size_t)e->dofs, sizeof *f);
            elastic_add_gravity(e, (double[3]){0, -0.5, 0}, f);
            if (n) { // one endless step
                elastic_begin(e, 100, 100);
                CHECK(elastic_iterate(e, f, NULL));
                elastic_move(e, 100);
            } else {
                CHECK(elastic_settle(e, f));
            }
            case_displacement(e, 0.3, 0.15, 0.15, tip[n]);
            energy[n] = elastic_energy(e, e->d, NULL);
            free(f);
            elastic_free(&e);
        }
        CHECK(tip[0][1] < -1e-4);
        CHECK_NEAR(tip[1][1] / tip[0][1], 1, 0.01);
        CHECK_NEAR(energy[1] / energy[0], 1, 0.03);
    }
}

TEST(projective_volume_target_is_the_nearest) {
    for (uint64_t n = 0; n < 200; n++) {
        int dim = n & 1 ? 2 : 3;
        double s[3], at[3], product = 1, worst = 0, first = 0;
        for (int a = 0; a < 3; a++) s[a] = 0.6 + 0.9 * hash_unit(hash_mix(n), a);
        projective_volume(dim, s, at);
        for (int a = 0; a < dim; a++) product *= at[a];
        CHECK_NEAR(product, 1, 1e-6);
        // the way there is along the gradient of the product: (at - s) at is the same for all
        for (int a = 0; a < dim; a++) {
            double along = (at[a] - s[a]) * at[a];
            if (a == 0) first = along;
            worst = fmax(worst, fabs(along - first));
        }
        CHECK_BELOW(worst, 1e-4); // after its eight steps
    }
}

TEST(projective_repeats_to_the_bit) {
    // for any number of threads, and from what a cache kept, in mid-swing
    BrimError error;
    ElasticParams p = projective_params();
    p.samples = 50;
    Elastic *one = case_beam(3, 0.6, 0.3, 0.3, true, p, &error);
    Team *team = team_new(3);
    CHECK(one && team);
    size_t size;
    uint8_t *bytes = elastic_pack(one, &size);
    CHECK(bytes);
    p = one->params;
    Elastic *two = elastic_unpack(&p, bytes, size);
    CHECK(two);
    two->params.team = team;
    double *f = calloc((size_t)one->dofs, sizeof *f);
    elastic_add_gravity(one, (double[3]){0, -9.81, 3}, f);
    for (int k = 0; k < 6; k++)
        CHECK(case_step(one, 0.01, 0.01, f) && case_step(two, 0.01, 0.01, f));
    CHECK(one->v[1] != 0);
    CHECK(memcmp(one->v, two->v, (size_t)one->dofs * sizeof *f) == 0);
    CHECK(memcmp(one->d, two->d, (size_t)one->dofs * sizeof *f) == 0);
    bytes[size / 2] ^= 1;
    CHECK(!elastic_unpack(&p, bytes, size));
    free(bytes), free(f);
    elastic_free(&one), elastic_free(&two);
    team_free(&team);
}

TEST(elastic_cache_keeps_what_there_is_none_of) {
    // a body that nothing holds has no sums over held nodes, before and after
    BrimError error;
    ElasticParams p = elastic_default_params();
    p.young = 1e6, p.poisson = 0.3, p.modes = 6, p.element_size = 0.1;
    Elastic *one = case_beam(2, 0.6, 0.3, 0.3, false, p, &error);
    CHECK(one && !one->pin_gram && !one->hold);
    size_t size;
    uint8_t *bytes = elastic_pack(one, &size);
    CHECK(bytes);
    p = one->params;
    Elastic *two = elastic_unpack(&p, bytes, size);
    CHECK(two && !two->hold && !two->pin_gram);
    free(bytes);
    elastic_free(&one), elastic_free(&two);
}
