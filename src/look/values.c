// What particles are coloured by, and the scale from those numbers to colours.
#include "base/error.h"
#include "base/memory.h"
#include "look/look.h"
#include <stdlib.h>
#include <string.h>

enum { TILE = 8, RANKED_MOST = 100000 };

// ------------------------------------------------------------------------------------- density

/// Particles spread over cell centres, in tiles that exist where particles are.
typedef struct Density {
    int cells[3], tiles[3], dim;
    int32_t *slot; ///< [tiles] -1: none
    float *sum;    ///< [slots][tile cells]
    size_t slots, room;
    float inverse_cell; ///< 1/m
} Density;

typedef struct Corners {
    int cell[8][3];
    float weight[8];
} Corners;

/// Trilinear weights of the eight cells around a point; what falls beyond a wall stays at it.
static Corners corners_at(const Density *d, BrimVec3 p) {
    Corners c;
    const float at[3] = {p.x, p.y, p.z};
    int low[3];
    float part[3];
    for (int a = 0; a < 3; a++) {
        float x = a < d->dim ? at[a] * d->inverse_cell - 0.5f : 0;
        x = clampf(x, -1, (float)d->cells[a]);
        low[a] = (int)floorf(x), part[a] = x - (float)low[a];
    }
    for (int k = 0; k < 8; k++) {
        c.weight[k] = 1;
        for (int a = 0; a < 3; a++) {
            int up = k >> a & 1, cell = low[a] + up;
            c.cell[k][a] = cell < 0 ? 0 : cell >= d->cells[a] ? d->cells[a] - 1 : cell;
            c.weight[k] *= up ? part[a] : 1 - part[a];
        }
    }
    return c;
}

/// The sum of a cell; NULL when its tile does not exist and `make` is false or memory ran out.
static float *cell_sum(Density *d, const int c[3], bool make) {
    enum { CELLS = TILE * TILE * TILE };
    size_t at = ((size_t)(c[2] / TILE) * (size_t)d->tiles[1] + (size_t)(c[1] / TILE)) *
                    (size_t)d->tiles[0] +
                (size_t)(c[0] / TILE);
    if (d->slot[at] < 0) {
        if (!make ||
            !memory_grow((void **)&d->sum, &d->room, CELLS * sizeof(float), d->slots + 1, d->slots))
            return NULL;
        memset(d->sum + CELLS * d->slots, 0, CELLS * sizeof(float));
        d->slot[at] = (int32_t)d->slots++;
    }
    int cell = (c[2] % TILE * TILE + c[1] % TILE) * TILE + c[0] % TILE;
    return d->sum + CELLS * (size_t)d->slot[at] + cell;
}

static bool finite_point(const BrimFrame *f, size_t i) {
    return isfinite(f->x[i]) && isfinite(f->y[i]) && isfinite(f->z[i]);
}

static bool density_sum(Density *d, const BrimFrame *f) {
    for (size_t i = 0; i < f->count; i++) {
        if (!finite_point(f, i)) continue;
        Corners c = corners_at(d, vec(f->x[i], f->y[i], f->z[i]));
        for (int k = 0; k < 8; k++) {
            if (c.weight[k] == 0) continue;
            float *sum = cell_sum(d, c.cell[k], true);
            if (!sum) return false;
            *sum += c.weight[k];
        }
    }
    return true;
}

/// How much fuller than seeded it is around each particle, 0 where it is not. False: no memory.
static bool density_errors(const BrimSimDef *def, const BrimFrame *f, float *value) {
    Density d = {.dim = def->dim, .inverse_cell = (float)def->cells[0] / def->size.x};
    size_t tiles = 1;
    for (int a = 0; a < 3; a++) {
        d.cells[a] = a < def->dim ? def->cells[a] : 1;
        d.tiles[a] = (d.cells[a] + TILE - 1) / TILE, tiles *= (size_t)d.tiles[a];
    }
    d.slot = memory_new(tiles * sizeof *d.slot);
    if (d.slot) memset(d.slot, 0xff, tiles * sizeof *d.slot);
    bool done = d.slot && density_sum(&d, f);
    for (size_t i = 0; done && i < f->count; i++) {
        value[i] = 0;
        if (!finite_point(f, i)) continue;
        Corners c = corners_at(&d, vec(f->x[i], f->y[i], f->z[i]));
        float sum = 0;
        for (int k = 0; k < 8; k++) {
            const float *at = c.weight[k] > 0 ? cell_sum(&d, c.cell[k], false) : NULL;
            if (at) sum += c.weight[k] * *at;
        }
        value[i] = fmaxf(0, sum / (float)def->particles_per_cell - 1);
    }
    free(d.slot);
    free(d.sum);
    return done;
}

// -------------------------------------------------------------------------------------- values

static float frame_speed(const BrimFrame *f, size_t i) {
    float v = sqrtf(f->vx[i] * f->vx[i] + f->vy[i] * f->vy[i] + f->vz[i] * f->vz[i]);
    return v < INFINITY ? v : 0;
}

BrimResult values_new(const BrimSimDef *def, const BrimFrame *f, const BrimPictureDef *picture,
                      float **values, BrimError *error) {
    const char *colour = picture->colour;
    bool speed = strcmp(colour, "speed") == 0, density = strcmp(colour, "density") == 0;
    bool id = strcmp(colour, "id") == 0;
    if (!speed && !density && !id && !picture->values)
        return fail(error, BRIM_ERROR_INPUT,
                    "a picture can be coloured by speed, density or id; '%s' needs values", colour);
    float *v = *values = memory_new((f->count + 1) * sizeof(float));
    bool done = v;
    for (size_t i = 0; v && i < f->count; i++) {
        if (speed) v[i] = frame_speed(f, i);
        if (id) v[i] = f->id ? (float)f->id[i] : (float)i;
        if (picture->values) v[i] = isfinite(picture->values[i]) ? picture->values[i] : 0;
    }
    if (v && density) done = density_errors(def, f, v);
    if (done) return BRIM_OK;
    free(v);
    *values = NULL;
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for the values of %zu particles",
                f->count);
}

// --------------------------------------------------------------------------------------- scale

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/// The values that all but one in a hundred at either end lie between.
static void common_range(const float *value, size_t count, float *low, float *high) {
    size_t step = count / RANKED_MOST + 1, n = 0;
    float *ranked = malloc((count / step + 1) * sizeof *ranked);
    *low = *high = 0;
    // without memory the scale is a little less handy
    for (size_t i = 0; i < count && ranked; i += step) ranked[n++] = value[i];
    if (n) {
        qsort(ranked, n, sizeof *ranked, by_size);
        *low = ranked[n / 100], *high = ranked[n - 1 - n / 100];
    }
    free(ranked);
}

/// A short number not below x.
static float round_up(float x) {
    float power = powf(10, floorf(log10f(x)));
    static const float steps[] = {1, 1.5f, 2, 3, 4, 5, 6, 8, 10};
    for (int i = 0; i < 9; i++)
        if (steps[i] * power >= 0.999f * x) return steps[i] * power;
    return 10 * power;
}

void scale_init(Scale *s, const BrimPictureDef *picture, const float *value, size_t count) {
    bool speed = strcmp(picture->colour, "speed") == 0;
    bool density = strcmp(picture->colour, "density") == 0;
    s->name = density ? "density error" : picture->colour;
    s->unit = speed ? "m/s" : picture->unit ? picture->unit : "";
    s->percent = density;
    colour_map_fill(speed     ? COLOUR_BLUE_WHITE
                    : density ? COLOUR_WHITE_RED
                              : COLOUR_MANY,
                    s->colour);
    s->low = (float)picture->low, s->high = (float)picture->high;
    if (s->low < s->high) return;
    common_range(value, count, &s->low, &s->high);
    // water at rest still has a scale: slower than 1 mm/s, fuller by less than 1 %, is drawn as
    // rest
    float least = speed ? 1e-3f : density ? 0.01f : 0;
    if (s->low >= 0) {
        s->low = 0, s->high = fmaxf(s->high, least);
        s->high = s->high > 0 ? round_up(s->high) : 1;
    } else {
        s->high = round_up(fmaxf(-s->low, s->high)), s->low = -s->high;
    }
}
