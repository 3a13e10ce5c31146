#include "bodies/hands.h"
#include "base/error.h"
#include "base/memory.h"
#include "bodies/bodies.h"
#include "solid/keyframes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// How far the weight of a body pulls its held point off the target, in cells.
static const double SAG = 0.01;

void hands_free(Hands *h) {
    for (int i = 0; i < h->count; i++) free(h->hand[i].keys);
    free(h->hand);
    *h = (Hands){0};
}

/// A new hand, or one that was let go and is the host's to use again; -1 when out of memory.
int hands_new(Hands *h) {
    int at = h->kept;
    while (at < h->count && h->hand[at].body >= 0) at++;
    if (at == h->count) {
        if (!memory_grow((void **)&h->hand, &h->room, sizeof *h->hand, (size_t)at + 1, (size_t)at))
            return -1;
        h->count++;
    }
    h->hand[at] = (Hand){.body = -1};
    return at;
}

void hand_row(const Body *b, const Hand *h, double *row) {
    int r = b->elastic->r;
    memset(row, 0, (size_t)r * sizeof *row);
    for (int k = 0; k < 3; k++) {
        const float *from = b->row + (size_t)b->surface.triangles[h->triangle][k] * (size_t)r;
        for (int i = 0; i < r; i++) row[i] += h->weight[k] * from[i];
    }
}

void hand_point(const Body *b, const Hand *h, double point[3], double velocity[3]) {
    for (int a = 0; a < 3; a++) {
        point[a] = velocity[a] = 0;
        for (int k = 0; k < 3; k++) {
            uint32_t v = b->surface.triangles[h->triangle][k];
            point[a] += h->weight[k] * b->surface.vertices[v][a];
            velocity[a] += h->weight[k] * b->velocity[v][a];
        }
    }
}

bool hand_target(const BrimSim *s, const Hand *h, double time, double target[3]) {
    memcpy(target, h->from, 3 * sizeof *target);
    if (h->body < 0) return false;
    if (h->hosted) {
        double t = time >= h->until ? 1 : (time - h->since) / (h->until - h->since);
        for (int a = 0; a < 3; a++) target[a] += fmax(t, 0) * (h->to[a] - h->from[a]);
        return true;
    }
    double value[6] = {0}, rate[6];
    if (h->key_count) keyframes_at(h->keys, h->key_count, s->dim, time, value, rate);
    for (int a = 0; a < 3; a++) target[a] += value[a];
    return time >= h->since && time <= h->until;
}

/// The corner of a triangle that is nearest to a place at rest.
static void nearest_vertex(const Body *b, const double place[3], Hand *h) {
    double least = INFINITY;
    for (uint32_t t = 0; t < b->surface.triangle_count; t++)
        for (int k = 0; k < b->dim; k++) {
            double d = 0;
            for (int a = 0; a < b->dim; a++) {
                double way = b->rest[b->surface.triangles[t][k]][a] - place[a];
                d += way * way;
            }
            if (!(d < least)) continue;
            least = d, h->triangle = t;
            for (int c = 0; c < 3; c++) h->weight[c] = c == k;
        }
}

BrimResult hands_of_def(BrimSim *s, const BrimBodyDef *def, int index, BrimError *error) {
    Hands *hands = &s->bodies->hands;
    const Body *b = &s->bodies->body[index];
    for (int i = 0; i < def->grab_count; i++) {
        const BrimGrabDef *g = &def->grabs[i];
        hands->kept = hands->count; // only the host's are used again
        int at = hands_new(hands);
        if (at < 0) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
        Hand *h = &hands->hand[at];
        const double place[3] = {g->at.x, g->at.y, s->dim == 3 ? g->at.z : 0};
        h->body = index, h->since = g->start, h->until = g->stop, h->most = g->force;
        nearest_vertex(b, place, h);
        double velocity[3];
        hand_point(b, h, h->from, velocity);
        if (!g->keyframe_count) continue;
        BrimResult r = keyframes_check(g->keyframes, g->keyframe_count, error);
        if (r != BRIM_OK) return r;
        h->keys = memory_new((size_t)g->keyframe_count * sizeof *h->keys);
        if (!h->keys) return fail(error, BRIM_ERROR_MEMORY, "out of memory");
        memcpy(h->keys, g->keyframes, (size_t)g->keyframe_count * sizeof *h->keys);
        h->key_count = g->keyframe_count;
    }
    hands->kept = hands->count;
    return BRIM_OK;
}

// --------------------------------------------------------------------------------------- forces

/// N/m; the weight of a body hardly pulls it off, nor its own stiffness.
static double hand_stiffness(const BrimSim *s, const Body *b) {
    const Elastic *e = b->elastic;
    double own = e->params.rigid ? 0 : 10 * e->params.young * (b->dim == 3 ? (double)s->dx : 1);
    return 9.81 * e->mass / (SAG * s->dx) + own;
}

/// Force, and what of it the point's velocity takes away, N s/m: where the limit acts that of the
/// weaker spring which would pull as hard. The force's own slope would be none along the way there,
/// and passes would go back and forth.
static void hand_force(Hand *h, double stiffness, double dn) {
    const double *gap = h->gap;
    double size = sqrt(gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2]);
    if (h->most > 0 && stiffness * size > h->most) stiffness = h->most / size;
    for (int a = 0; a < 3; a++) h->force[a] = stiffness * gap[a];
    h->slope = dn * stiffness;
}

void hands_pull(BrimSim *s, double kick) {
    Hands *hands = &s->bodies->hands;
    double end = s->velocity_time + 0.5 * s->dt_next;
    for (int n = 0; n < hands->count; n++) {
        Hand *h = &hands->hand[n];
        double target[3], row[ELASTIC_DOFS_MOST], point[3], velocity[3];
        h->pulls = hand_target(s, h, end, target);
        if (!h->pulls) continue;
        Body *b = &s->bodies->body[h->body];
        Elastic *e = b->elastic;
        hand_row(b, h, row);
        hand_point(b, h, point, velocity);
        for (int a = 0; a < 3; a++) velocity[a] = 0;
        for (int i = 0; i < e->r; i++)
            for (int a = 0; a < b->dim; a++) velocity[a] += row[i] * e->v[i * b->dim + a];
        for (int a = 0; a < 3; a++)
            h->gap[a] = a < b->dim ? target[a] - point[a] - e->dn * velocity[a] : 0;
        hand_force(h, hand_stiffness(s, b), e->dn);
        elastic_add_force(e, row, h->force, b->hand);
        body_stiffen(b, row, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, h->slope * kick);
    }
}

void hands_follow(BrimSim *s) {
    Hands *hands = &s->bodies->hands;
    for (int n = 0; n < hands->count; n++) {
        Hand *h = &hands->hand[n];
        double row[ELASTIC_DOFS_MOST], change[3] = {0}, force[3];
        if (!h->pulls) continue;
        Body *b = &s->bodies->body[h->body];
        const Elastic *e = b->elastic;
        hand_row(b, h, row);
        for (int i = 0; i < e->r; i++)
            for (int a = 0; a < b->dim; a++)
                change[a] += row[i] * (e->v[i * b->dim + a] - b->work[i * b->dim + a]);
        for (int a = 0; a < 3; a++) {
            force[a] = -h->slope * change[a];
            h->force[a] += force[a], h->gap[a] -= e->dn * change[a];
        }
        elastic_add_force(e, row, force, b->hand);
    }
}

// ------------------------------------------------------------------------------------ checkpoint

enum { SAVED = 14 };

size_t hands_numbers(const Hands *h) {
    return (size_t)(h->count - h->kept) * SAVED;
}

void hands_save(const Hands *hands, double *out) {
    for (int n = hands->kept; n < hands->count; n++, out += SAVED) {
        const Hand *h = &hands->hand[n];
        out[0] = h->body, out[1] = h->triangle;
        memcpy(out + 2, h->weight, sizeof h->weight);
        memcpy(out + 5, h->from, sizeof h->from);
        memcpy(out + 8, h->to, sizeof h->to);
        out[11] = h->since, out[12] = h->until, out[13] = h->most;
    }
}

bool hands_restore(BrimSim *s, const double *in, size_t count, bool *memory) {
    Hands *hands = &s->bodies->hands;
    *memory = true;
    for (size_t n = 0; n + SAVED <= count; n += SAVED, in += SAVED) {
        for (int k = 0; k < SAVED; k++)
            if (!isfinite(in[k])) return false;
        if (in[0] < -1 || in[0] >= s->bodies->count) return false;
        int body = (int)in[0];
        double triangles = body < 0 ? 0 : (double)s->bodies->body[body].surface.triangle_count - 1;
        if (body >= 0 && !(in[1] >= 0 && in[1] <= triangles)) return false;
        // a place of its own for each, also for one that was let go
        if (!memory_grow((void **)&hands->hand, &hands->room, sizeof *hands->hand,
                         (size_t)hands->count + 1, (size_t)hands->count)) {
            *memory = false;
            return false;
        }
        Hand *h = &hands->hand[hands->count++];
        *h = (Hand){.body = body, .hosted = true, .triangle = (uint32_t)in[1]};
        memcpy(h->weight, in + 2, sizeof h->weight);
        memcpy(h->from, in + 5, sizeof h->from);
        memcpy(h->to, in + 8, sizeof h->to);
        h->since = in[11], h->until = in[12], h->most = in[13];
    }
    return true;
}
