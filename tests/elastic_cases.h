// Bodies and loads that tests of elasticity share.
#pragma once
#include "elastic/elastic.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct CaseBox {
    double low[3], high[3];
    int dim;
} CaseBox;

static inline void case_box_distance(const void *context, int n, const float *x, const float *y,
                                     const float *z, float *out) {
    const CaseBox *b = context;
    for (int i = 0; i < n; i++) {
        double p[3] = {x[i], y[i], z[i]}, far = 0, inside = -INFINITY;
        for (int a = 0; a < b->dim; a++) {
            double d = fmax(b->low[a] - p[a], p[a] - b->high[a]);
            inside = fmax(inside, d), far += d > 0 ? d * d : 0;
        }
        out[i] = (float)(far > 0 ? sqrt(far) : inside);
    }
}

static inline Region case_region(const CaseBox *box) {
    Region r = {.distance = case_box_distance, .context = box};
    memcpy(r.low, box->low, sizeof r.low);
    memcpy(r.high, box->high, sizeof r.high);
    return r;
}

/// A beam [0, length] x [0, height] (x [0, width]), held at x = 0 or free.
static inline Elastic *case_beam(int dim, double length, double height, double width, bool held,
                                 ElasticParams p, BrimError *error) {
    CaseBox box = {{0, 0, 0}, {length, height, width}, dim};
    CaseBox end = {{-1, -1, -1}, {0, 10 * height, 10 * width}, dim};
    Region region = case_region(&box), pin = case_region(&end);
    Elastic *e = NULL;
    p.dim = dim;
    if (held) p.pins = &pin, p.pin_count = 1;
    elastic_new(&region, &p, &e, error);
    return e;
}

/// Displacement at a place.
static inline void case_displacement(const Elastic *e, double x, double y, double z,
                                     double out[3]) {
    double *row = malloc((size_t)e->r * sizeof *row), place[3] = {x, y, z};
    elastic_row(e, place, row);
    for (int a = 0; a < 3; a++) out[a] = 0;
    for (int i = 0; i < e->r; i++)
        for (int a = 0; a < e->dim; a++) out[a] += row[i] * e->d[i * e->dim + a];
    free(row);
}

/// A step without contact and liquid: what the liquid's step does, two iterations.
static inline bool case_step(Elastic *e, double dt, double dn, const double *f) {
    elastic_move(e, dt);
    elastic_begin(e, dn, 0.5 * (dt + dn));
    bool ok = elastic_iterate(e, f, NULL) && elastic_iterate(e, f, NULL);
    elastic_end(e, f, true);
    return ok;
}
