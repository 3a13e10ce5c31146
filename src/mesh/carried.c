// The carried surface at the nodes of a mesh.
#include "mesh/carried.h"
#include "particles/normal.h"
#include "solid/solid.h"
#include "surface/planes.h"
#include <math.h>
#include <string.h>

/// As TRACK_ASTRAY, cells. More, since a frame does not say whether water rests: the lattice of a
/// pool's particles lies up to a quarter of a cell off its level, which with their scatter passes
/// 0.3 here and there.
static const float CARRIED_ASTRAY = 0.4f;

static const BrimAttribute *attribute(const BrimParticles *p, const char *name, bool whole) {
    for (int i = 0; i < p->extra_count; i++)
        if (p->extra[i].name && strcmp(p->extra[i].name, name) == 0 && p->extra[i].whole == whole)
            return &p->extra[i];
    return NULL;
}

bool carried_find(CarriedSurface *out, const BrimSimDef *def, const BrimParticles *particles) {
    const BrimAttribute *phi = attribute(particles, "phi", false);
    const BrimAttribute *normal = attribute(particles, "normal", true);
    if (def->tracking == BRIM_TRACKING_OFF || !phi || !normal || !particles->vx) return false;
    bool square = def->tracking_blend == BRIM_BLEND_SQUARE;
    double low = (double)def->tracking_speed[0], high = (double)def->tracking_speed[1];
    if (square) low *= low, high *= high;
    *out = (CarriedSurface){.phi = phi->values,
                            .normal = normal->values,
                            .high = (float)high,
                            .inverse = (float)(1 / fmax(high - low, 1e-6 * high + 1e-30)),
                            .square = square};
    return true;
}

void carried_at(const CarriedSurface *s, const BrimParticles *p, uint32_t i, float out[5]) {
    float speed = p->vx[i] * p->vx[i] + p->vy[i] * p->vy[i] + p->vz[i] * p->vz[i];
    if (!s->square) speed = sqrtf(speed);
    float alpha = (s->high - speed) * s->inverse;
    alpha = !(alpha > 0) ? 0 : alpha > 1 ? 1 : alpha;
    memset(out, 0, 5 * sizeof *out);
    out[4] = -1;
    // files may hold anything
    if (s->normal[i] == 0 || !(s->phi[i] > -1e3f && s->phi[i] < 1e3f)) return;
    float part = normal_part(s->normal[i]);
    out[0] = s->phi[i], out[4] = part > 0 ? alpha * fminf(part, 1) : part;
    normal_unpack(s->normal[i], 3, out + 1);
    if (!(out[1] * out[1] + out[2] * out[2] + out[3] * out[3] < 2)) {
        memset(out, 0, 4 * sizeof *out);
        out[4] = -1;
    }
}

float carried_distance(const Block *block, const LevelKernels *kernels, const float at[3],
                       const float plane[4], const LevelSums *sums, float rough) {
    float mean[3], length2 = 0, out[3];
    if (!(sums->weight > 1e-6f)) return rough;
    for (int a = 0; a < 3; a++) {
        mean[a] = sums->mean[a] / sums->weight;
        length2 += mean[a] * mean[a];
    }
    float length = sqrtf(length2), beta = fminf(length / TRACK_CERTAIN, 1);
    for (int a = 0; a < 3; a++) out[a] = length > 0 ? -mean[a] / length * beta : 0;
    PlaneSums planes;
    kernels->planes(block, at, out, plane, &planes);
    if (!(planes.planes > TRACK_LEAST)) return rough;
    float smooth = planes.distance / planes.planes, steady = planes.steady / planes.all;
    // as in blend_tile of surface/track.c; particles know already what of the past has faded
    bool astray = fabsf(rough) < TRACK_BOUND || (rough < 0) != (smooth < 0);
    float lost = (fabsf(rough - smooth) - CARRIED_ASTRAY) / CARRIED_ASTRAY;
    if (astray) steady = fminf(steady, 1 - fminf(lost, 1));
    return rough + fmaxf(steady, 0) * (smooth - rough);
}

// --------------------------------------------------------------------------------------- speeds

/// Height of a def's liquids along gravity, m; that of the domain without any.
static BrimResult liquid_height(const BrimSimDef *def, const double way[3], double *height,
                                BrimError *error) {
    const double size[3] = {(double)def->size.x, (double)def->size.y, (double)def->size.z};
    double bottom = INFINITY, top = -INFINITY, box = 0;
    for (int i = 0; i < def->liquid_count; i++) {
        Shape *shape = NULL;
        float low[3], high[3];
        float dx = def->size.x / (float)def->cells[0];
        BrimResult result = shape_new(&def->liquid[i].shape, 3, dx, &shape, error);
        if (result != BRIM_OK) return result;
        bool some = shape_bounds(shape, low, high);
        shape_free(&shape);
        if (!some) continue;
        double least = 0, most = 0;
        for (int a = 0; a < 3; a++) {
            double from = way[a] * fmax((double)low[a], 0);
            double to = way[a] * fmin((double)high[a], size[a]);
            least += fmin(from, to), most += fmax(from, to);
        }
        bottom = fmin(bottom, least), top = fmax(top, most);
    }
    for (int a = 0; a < 3; a++) box += fabs(way[a]) * size[a];
    *height = top > bottom ? top - bottom : box;
    return BRIM_OK;
}

BrimResult carried_speeds(BrimSimDef *def, BrimError *error) {
    if (def->tracking == BRIM_TRACKING_OFF || def->tracking_speed[1] > 0) return BRIM_OK;
    BrimVec3 g = def->gravity_key_count ? def->gravity_keys[0].gravity : def->gravity;
    double size = sqrt((double)g.x * g.x + (double)g.y * g.y + (double)g.z * g.z), height;
    if (!(size > 0)) return BRIM_OK;
    const double way[3] = {g.x / size, g.y / size, g.z / size};
    BrimResult result = liquid_height(def, way, &height, error);
    if (result != BRIM_OK) return result;
    def->tracking_speed[1] = (float)sqrt(size * height);
    def->tracking_speed[0] = 0.3f * def->tracking_speed[1];
    return BRIM_OK;
}
