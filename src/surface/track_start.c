// What particles know of the surface when a simulation begins: their liquid's shape tells.
#include "particles/normal.h"
#include "surface/track_tiles.h"
#include <math.h>
#include <string.h>

/// Distances are sought as far as this, cells.
static const float REACH = 4.0f;
/// Directions of the surface are taken as far from walls as this, cells.
static const float CORNER = 0.25f;
/// Sheets thinner than this, cells, remember nothing.
static const float THIN = 2.5f;

enum { MOST_STEPS = 256 };

typedef struct Start {
    const Shape *const *liquids;
    int count;
} Start;

/// Distance to the union of all liquids, m; below 0 inside.
static float distance_at(const Start *start, const float at[3]) {
    float least = INFINITY, d;
    for (int k = 0; k < start->count; k++) {
        shape_distance(start->liquids[k], 1, &at[0], &at[1], &at[2], &d);
        least = fminf(least, d);
    }
    return least;
}

/// => gradient over `step` m; returns its length.
static float gradient_at(const BrimSim *s, const Start *start, const float at[3], float step,
                         float gradient[3]) {
    float length2 = 0;
    for (int a = 0; a < 3; a++) {
        float low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]};
        gradient[a] = 0;
        if (a >= s->dim) continue;
        low[a] -= step, high[a] += step;
        gradient[a] = (distance_at(start, high) - distance_at(start, low)) / (2 * step);
        length2 += gradient[a] * gradient[a];
    }
    return sqrtf(length2);
}

/// Whether air can be at a point: inside the domain and outside solids.
static bool is_open(const BrimSim *s, const float at[3]) {
    for (int a = 0; a < s->dim; a++)
        if (at[a] <= 0 || at[a] >= (float)s->grid.cells[a] * s->dx) return false;
    for (int k = 0; k < s->walls.solid_count; k++) {
        float d = 1;
        if (solid_exists(s->walls.solids[k], 0))
            solid_distance(s->walls.solids[k], 1, &at[0], &at[1], &at[2], &d);
        if (d < 0) return false;
    }
    return true;
}

/// The surface that a ray from a point inside meets, if it is one to air: distance to its plane and
/// its normal.
static bool meet(const BrimSim *s, const Start *start, const float from[3], const float way[3],
                 float *distance, float normal[3]) {
    float at[3] = {from[0], from[1], from[2]}, gone = 0, d = distance_at(start, at);
    // a first step in any case, or what lies on a surface would meet that in all directions
    for (int k = 0; k < MOST_STEPS && gone < REACH * s->dx; k++) {
        if (k > 0 && d >= -1e-4f * s->dx) break;
        float by = fmaxf(-d, 0.02f * s->dx); // distances inside unions may be too small
        for (int a = 0; a < s->dim; a++) at[a] += by * way[a];
        gone += by, d = distance_at(start, at);
    }
    if (gone >= REACH * s->dx || d < -1e-3f * s->dx) return false;
    // in the corner between a wall and the surface the shape's own edge has no normal
    float beyond[3] = {0}, off[3] = {at[0], at[1], at[2]};
    for (int a = 0; a < s->dim; a++)
        off[a] = fminf(fmaxf(at[a], CORNER * s->dx), ((float)s->grid.cells[a] - CORNER) * s->dx);
    float length = gradient_at(s, start, off, 0.05f * s->dx, normal);
    if (!(length > 0.1f)) return false;
    *distance = 0;
    for (int a = 0; a < s->dim; a++) {
        normal[a] /= length;
        *distance += normal[a] * (at[a] - from[a]);
        beyond[a] = at[a] + 0.05f * s->dx * way[a];
    }
    *distance += -d;
    return is_open(s, beyond) && *distance >= 0;
}

/// The nearest surface to air along the axes. => distance, normal
static bool meet_along_axes(const BrimSim *s, const Start *start, const float at[3],
                            float *distance, float normal[3]) {
    bool any = false;
    for (int n = 0; n < 2 * s->dim; n++) {
        float way[3] = {0}, d, found[3];
        way[n >> 1] = n & 1 ? 1 : -1;
        if (!meet(s, start, at, way, &d, found) || (any && d >= *distance)) continue;
        *distance = d, any = true;
        memcpy(normal, found, sizeof found);
    }
    return any;
}

/// A particle's nearest surface to air: that of the shape, or where that is a wall the nearest
/// along the axes. => phi, cells; returns the packed normal, 0: none within reach
static uint32_t start_particle(const BrimSim *s, const Start *start, const float at[3],
                               float *phi) {
    float way[3], back[3] = {0}, normal[3] = {0}, found[3], distance, behind;
    float d = distance_at(start, at);
    *phi = -REACH;
    if (d < -REACH * s->dx) return 0;
    float length = gradient_at(s, start, at, 0.05f * s->dx, way);
    bool steep = length > 0.9f;
    for (int a = 0; a < s->dim && steep; a++) way[a] /= length;
    if (steep && d >= 0) { // jitter may put it outside
        *phi = d * s->inv_dx;
        return normal_pack(way, 1);
    }
    if (!(steep && meet(s, start, at, way, &distance, normal)) &&
        !meet_along_axes(s, start, at, &distance, normal))
        return 0;
    *phi = -distance * s->inv_dx;
    for (int a = 0; a < s->dim; a++) back[a] = -normal[a];
    bool thin = meet(s, start, at, back, &behind, found) && distance + behind < THIN * s->dx;
    return normal_pack(normal, thin ? 0 : 1);
}

static void start_tile(BrimSim *s, int slot, int thread, void *context) {
    const Particles *p = &s->particles;
    uint32_t end = tile_end(p, slot);
    for (uint32_t i = tile_first(p, slot); i < end; i++) {
        const float at[3] = {p->attr[ATTR_X][i], p->attr[ATTR_Y][i], p->attr[ATTR_Z][i]};
        particle_words(p, ATTR_NORMAL)[i] = start_particle(s, context, at, &p->attr[ATTR_PHI][i]);
    }
}

/// Height of the liquid along gravity, m; that of the domain when there is none yet.
static double liquid_height(const BrimSim *s, BrimVec3 gravity, double size) {
    const Particles *p = &s->particles;
    const double way[3] = {gravity.x / size, gravity.y / size, gravity.z / size};
    double low = INFINITY, high = -INFINITY, box = 0;
    for (size_t i = 0; i < p->count; i++) {
        double h = 0;
        for (int a = 0; a < s->dim; a++) h += way[a] * (double)p->attr[ATTR_X + a][i];
        low = fmin(low, h), high = fmax(high, h);
    }
    for (int a = 0; a < s->dim; a++) box += fabs(way[a]) * s->grid.cells[a] * (double)s->dx;
    return p->count ? high - low : box;
}

static void choose_speeds(BrimSim *s) {
    BrimVec3 gravity = gravity_at(s, 0);
    double size = sqrt((double)gravity.x * gravity.x + (double)gravity.y * gravity.y +
                       (double)gravity.z * gravity.z);
    double scale = size > 0 ? sqrt(size * liquid_height(s, gravity, size)) : 0;
    bool given = s->def.tracking_speed[1] > 0;
    s->tracking.speed_low = given ? (double)s->def.tracking_speed[0] : 0.3 * scale;
    s->tracking.speed_high = given ? (double)s->def.tracking_speed[1] : scale;
}

void track_start(BrimSim *s, const Shape *const *liquids, int count) {
    Start start = {liquids, count};
    choose_speeds(s);
    tiles_for(s, start_tile, &start);
    track_surface(s, 0);
    track_particles(s, 0);
}
