// Position and velocity of a point of a body.
#include "bodies/bodies.h"
#include "gauge/gauge.h"
#include <math.h>
#include <stdlib.h>

double gauge_off_body(const BrimSim *s, const BrimGaugeDef *gauge) {
    float d;
    if (gauge->kind != BRIM_GAUGE_MOTION) return 0;
    const Body *b = &s->bodies->body[gauge->body];
    shape_distance(b->shape, 1, &gauge->from.x, &gauge->from.y, &gauge->from.z, &d);
    return d > 0.5f * s->dx ? (double)d : 0;
}

bool gauge_motion(const BrimSim *s, const BrimGaugeDef *gauge, double *value) {
    const Elastic *e = s->bodies->body[gauge->body].elastic;
    const double at[3] = {gauge->from.x, gauge->from.y, gauge->from.z};
    double *row = malloc((size_t)e->r * sizeof *row);
    if (!row) return false;
    elastic_row(e, at, row);
    for (int a = 0; a < s->dim; a++) {
        value[a] = at[a], value[s->dim + a] = 0;
        for (int i = 0; i < e->r; i++) {
            value[a] += row[i] * e->d[i * e->dim + a];
            value[s->dim + a] += row[i] * e->v[i * e->dim + a];
        }
    }
    free(row);
    return true;
}
