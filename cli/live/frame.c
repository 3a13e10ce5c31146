// Frames as bytes.
#include "live/frame.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_CELLS = 8, MARGIN = 4, REACH = TILE_CELLS + 2 * MARGIN, TILES_MOST = 65535 };

Parcel *parcel_new(size_t size, bool text) {
    Parcel *p = malloc(sizeof *p + size);
    if (!p) return NULL;
    atomic_init(&p->holders, 1);
    p->serial = 0, p->text = text, p->size = size;
    return p;
}

Parcel *parcel_text(const char *text) {
    Parcel *p = parcel_new(strlen(text), true);
    if (p) memcpy(p->bytes, text, p->size);
    return p;
}

Parcel *parcel_hold(Parcel *p) {
    if (p) atomic_fetch_add_explicit(&p->holders, 1, memory_order_relaxed);
    return p;
}

void parcel_drop(Parcel **parcel) {
    Parcel *p = *parcel;
    *parcel = NULL;
    if (p && atomic_fetch_sub_explicit(&p->holders, 1, memory_order_acq_rel) == 1) free(p);
}

// ------------------------------------------------------------------------------------ writing

static unsigned char *put(unsigned char *at, const void *value, size_t size) {
    if (size) memcpy(at, value, size);
    return at + size;
}

static unsigned char *put_word(unsigned char *at, uint32_t value) {
    return put(at, &value, sizeof value);
}

static unsigned char *put_float(unsigned char *at, float value) {
    return put(at, &value, sizeof value);
}

static size_t moved_bytes(const FrameHead *h) {
    size_t bytes = (size_t)h->solid_count * FRAME_SOLID;
    for (int i = 0; i < h->body_count; i++) bytes += 4 + h->bodies[i].vertex_count * 12;
    return bytes;
}

/// Head, solids and bodies; returns what comes after.
static unsigned char *put_head(unsigned char *at, const FrameHead *h, int kind, int value,
                               const float range[2], size_t count, size_t runs) {
    const unsigned char bytes[4] = {(unsigned char)kind, (unsigned char)h->dim,
                                    (unsigned char)value, 0};
    at = put_word(at, FRAME_MAGIC);
    at = put(at, bytes, sizeof bytes);
    at = put_word(at, 0); // the serial, known when it is handed on
    at = put_word(at, (uint32_t)h->step);
    at = put(at, &h->time, sizeof h->time);
    at = put(at, range, 8);
    at = put_word(put_word(at, (uint32_t)count), (uint32_t)runs);
    at = put_word(put_word(at, (uint32_t)h->solid_count), (uint32_t)h->body_count);
    at = put_float(at, h->cell);
    at = put_word(put_word(at, (uint32_t)h->frame), (uint32_t)h->frames);
    at = put_float(at, h->steps_a_second);
    for (int i = 0; i < h->solid_count; i++) {
        at = put_word(at, h->solids[i].present);
        at = put(at, h->solids[i].rotation, sizeof h->solids[i].rotation);
        at = put(at, &h->solids[i].position, sizeof h->solids[i].position);
    }
    for (int i = 0; i < h->body_count; i++) {
        at = put_word(at, (uint32_t)h->bodies[i].vertex_count);
        at = put(at, h->bodies[i].position, h->bodies[i].vertex_count * 12);
    }
    return at;
}

// ---------------------------------------------------------------------------------- particles

int value_names(const BrimParticles *p, ValueName *names) {
    static const ValueName own[VALUES_OWN] = {
        {"speed", "m/s"}, {"velocity x", "m/s"}, {"velocity y", "m/s"}, {"velocity z", "m/s"}};
    memcpy(names, own, sizeof own);
    int n = VALUES_OWN;
    for (int i = 0; i < p->extra_count; i++, n++) {
        names[n] = (ValueName){0};
        strncpy(names[n].name, p->extra[i].name, sizeof names[n].name - 1);
        if (p->extra[i].unit) strncpy(names[n].unit, p->extra[i].unit, sizeof names[n].unit - 1);
    }
    return n;
}

/// (particles) => the value of each of `count` from i on.
static void take_values(const BrimParticles *p, int value, size_t i, size_t count, float *out) {
    const float *const velocity[4] = {NULL, p->vx, p->vy, p->vz};
    if (value == 0) {
        const float *x = p->vx + i, *y = p->vy + i, *z = p->vz + i;
        for (size_t k = 0; k < count; k++) out[k] = sqrtf(x[k] * x[k] + y[k] * y[k] + z[k] * z[k]);
    } else if (value < VALUES_OWN) {
        memcpy(out, velocity[value] + i, count * sizeof *out);
    } else {
        const BrimAttribute *a = &p->extra[value - VALUES_OWN];
        const uint32_t *whole = a->values;
        const float *parts = a->values;
        for (size_t k = 0; k < count; k++) out[k] = a->whole ? (float)whole[i + k] : parts[i + k];
    }
}

/// Values and particles that are worked on at once, as the compiler's vectors.
enum { LANES = 4 };
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t LanesInt __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline Lanes select_lanes(LanesInt mask, Lanes a, Lanes b) {
    return (Lanes)(((LanesInt)a & mask) | ((LanesInt)b & ~mask));
}

static inline bool all_lanes(LanesInt mask) {
    int32_t all = -1;
    for (int k = 0; k < LANES; k++) all &= mask[k];
    return all != 0;
}

/// range <= values; those that are no numbers do not count.
static void widen_range(const float *v, size_t count, float range[2]) {
    float low = range[0], high = range[1];
    Lanes lows = (Lanes){0} + low, highs = (Lanes){0} + high;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const Lanes x = *(const Lanes *)(v + i);
        lows = select_lanes(x < lows, x, lows);
        highs = select_lanes(x > highs, x, highs);
    }
    for (int k = 0; k < LANES; k++) {
        low = lows[k] < low ? lows[k] : low;
        high = highs[k] > high ? highs[k] : high;
    }
    for (; i < count; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    range[0] = low, range[1] = high;
}

enum { PIECE = 2048 };

static void widen_by_values(const BrimParticles *p, int value, float range[2]) {
    float v[PIECE];
    for (size_t i = 0; i < p->count; i += PIECE) {
        size_t count = p->count - i < PIECE ? p->count - i : PIECE;
        take_values(p, value, i, count, v);
        widen_range(v, count, range);
    }
}

/// (values) => 8 bits each between the ends of a range.
static void put_shares(unsigned char *out, const BrimParticles *p, int value,
                       const float range[2]) {
    float v[PIECE], low = range[0];
    float scale = range[1] > low ? 255 / (range[1] - low) : 0;
    for (size_t i = 0; i < p->count; i += PIECE, out += PIECE) {
        size_t count = p->count - i < PIECE ? p->count - i : PIECE;
        take_values(p, value, i, count, v);
        for (size_t k = 0; k < count; k++) {
            float part = (v[k] - low) * scale + 0.5f;
            part = part > 0 ? part : 0; // what is not a number too
            out[k] = (unsigned char)(int)(part < 255 ? part : 255);
        }
    }
}

/// (values) => 8 bits each between the least and largest of all, which go to `range`. Speeds begin
/// at 0. Cells below a band have velocities, and the least of all else.
static void put_values(unsigned char *out, const BrimParticles *p, const BrimParticles *below,
                       int value, float range[2]) {
    range[0] = INFINITY, range[1] = -INFINITY;
    widen_by_values(p, value, range);
    if (value < VALUES_OWN) widen_by_values(below, value, range);
    if (value == 0) range[0] = 0;
    if (!(range[0] <= range[1])) range[0] = range[1] = 0;
    put_shares(out, p, value, range);
    if (value < VALUES_OWN)
        put_shares(out + p->count, below, value, range);
    else
        memset(out + p->count, 0, below->count);
}

/// (interior) => the cells below a narrow band in arrays as particles have them, in `memory`.
/// False when out of memory.
static bool take_below(const BrimParticles *p, BrimParticles *below, float **memory) {
    enum { ARRAYS = 6 };
    size_t n = p->interior ? p->interior_count : 0;
    float *m = *memory = malloc((ARRAYS * n + 1) * sizeof *m);
    *below = (BrimParticles){0};
    if (!m) return false;
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < 3; a++) {
            m[a * n + i] = p->interior[i].position[a];
            m[(3 + a) * n + i] = p->interior[i].velocity[a];
        }
    below->count = n;
    below->x = m, below->y = m + n, below->z = m + 2 * n;
    below->vx = m + 3 * n, below->vy = m + 4 * n, below->vz = m + 5 * n;
    return true;
}

typedef struct Run {
    int tile[3];
    bool below; ///< of cells below a narrow band
    uint32_t count;
} Run;

/// The tile of a particle; particles out of all bounds count as in the nearest one.
static void tile_of(const float cells[3], int tile[3]) {
    for (int a = 0; a < 3; a++) {
        float t = floorf(cells[a] / TILE_CELLS);
        tile[a] = t > 0 ? t < TILES_MOST ? (int)t : TILES_MOST : 0;
    }
}

static uint16_t quantum(float cells) {
    float q = cells * (65535.0f / REACH) + 0.5f;
    return (uint16_t)(q > 0 ? q < 65535 ? q : 65535 : 0);
}

/// Runs in the making.
typedef struct Runs {
    Run *run;
    int64_t count, capacity;
} Runs;

/// A new run for a particle, at the tile that it is in. NULL when out of memory.
static Run *begin_run(Runs *r, const float cells[3]) {
    if (r->count == r->capacity) {
        int64_t capacity = r->capacity ? 2 * r->capacity : 1024;
        Run *larger = realloc(r->run, (size_t)capacity * sizeof *larger);
        if (!larger) return NULL;
        r->run = larger, r->capacity = capacity;
    }
    Run *run = &r->run[r->count++];
    run->count = 0;
    tile_of(cells, run->tile);
    return run;
}

static void corner_of(const Run *run, float corner[3]) {
    for (int a = 0; a < 3; a++) corner[a] = (float)(run->tile[a] * TILE_CELLS - MARGIN);
}

/// How many particles from i on are within reach of a corner, in cells.
static size_t count_near(const BrimParticles *p, size_t i, float inverse, const float corner[3]) {
    const size_t first = i;
    const float *const x[3] = {p->x, p->y, p->z};
    bool near = true;
    while (near && i + LANES <= p->count) {
        LanesInt within = ~(LanesInt){0};
        for (int a = 0; a < 3; a++) {
            const Lanes from = *(const Lanes *)(x[a] + i) * inverse - corner[a];
            within &= (from >= 0) & (from <= REACH);
        }
        near = all_lanes(within);
        if (near) i += LANES;
    }
    for (near = true; i < p->count; i++) {
        for (int a = 0; a < 3; a++) {
            const float from = x[a][i] * inverse - corner[a];
            near &= from >= 0 && from <= REACH;
        }
        if (!near) break;
    }
    return i - first;
}

/// (x) => the runs that particles are in. A new run begins where the tile of the one before no
/// longer reaches. False when out of memory.
static bool find_runs(const BrimParticles *p, float cell, bool below, Runs *runs) {
    const float inverse = 1 / cell;
    for (size_t i = 0; i < p->count;) {
        float corner[3];
        Run *run =
            begin_run(runs, (float[3]){p->x[i] * inverse, p->y[i] * inverse, p->z[i] * inverse});
        if (!run) return false;
        corner_of(run, corner);
        size_t count = 1 + count_near(p, i + 1, inverse, corner);
        run->count = (uint32_t)count, run->below = below, i += count;
    }
    return true;
}

static void put_one(unsigned char *out, const float *const x[3], size_t i, float inverse,
                    const float corner[3]) {
    uint16_t q[3];
    for (int a = 0; a < 3; a++) q[a] = quantum(x[a][i] * inverse - corner[a]);
    memcpy(out + 6 * i, q, sizeof q);
}

/// (x, runs) => positions of 16 bits, by the runs that begin with number `first`.
static void put_positions(unsigned char *out, const BrimParticles *p, float cell, const Runs *runs,
                          int64_t first) {
    const float inverse = 1 / cell, *const x[3] = {p->x, p->y, p->z};
    size_t i = 0;
    for (int64_t n = first; i < p->count; n++) {
        const Run *run = &runs->run[n];
        const size_t end = i + run->count;
        float corner[3];
        corner_of(run, corner);
        put_one(out, x, i++, inverse, corner); // out of all bounds perhaps
        for (; i + LANES <= end; i += LANES) {
            LanesInt whole[3];
            for (int a = 0; a < 3; a++) {
                const Lanes from = *(const Lanes *)(x[a] + i) * inverse - corner[a];
                whole[a] = __builtin_convertvector(from * (65535.0f / REACH) + 0.5f, LanesInt);
            }
            const LanesInt xy = whole[0] | whole[1] << 16;
            for (int k = 0; k < LANES; k++) {
                const uint64_t q = (uint32_t)xy[k] | (uint64_t)(uint32_t)whole[2][k] << 32;
                memcpy(out + 6 * (i + (size_t)k), &q, 6);
            }
        }
        for (; i < end; i++) put_one(out, x, i, inverse, corner);
    }
}

Parcel *frame_particles(const FrameHead *h, const BrimParticles *p, int value) {
    Runs runs = {0};
    BrimParticles below;
    float range[2] = {0, 0}, *memory;
    bool known = take_below(p, &below, &memory) && find_runs(p, h->cell, false, &runs);
    const int64_t above = runs.count;
    known = known && find_runs(&below, h->cell, true, &runs);
    const size_t count = p->count + below.count;
    size_t bytes = FRAME_HEAD + moved_bytes(h) + (size_t)runs.count * FRAME_RUN;
    Parcel *parcel = known ? parcel_new(bytes + 7 * count, false) : NULL;
    if (parcel) {
        put_values(parcel->bytes + bytes + 6 * count, p, &below, value, range);
        unsigned char *at =
            put_head(parcel->bytes, h, FRAME_PARTICLES, value, range, count, (size_t)runs.count);
        for (int64_t i = 0; i < runs.count; i++) {
            const Run *run = &runs.run[i];
            const uint16_t tile[4] = {(uint16_t)run->tile[0], (uint16_t)run->tile[1],
                                      (uint16_t)run->tile[2], run->below};
            at = put_word(put(at, tile, sizeof tile), run->count);
        }
        put_positions(at, p, h->cell, &runs, 0);
        put_positions(at + 6 * p->count, &below, h->cell, &runs, above);
    }
    free(memory);
    free(runs.run);
    return parcel;
}

// ----------------------------------------------------------------------------------- surfaces

static uint16_t spread(float x, float cell, float size) {
    float q = (x + cell) / (size + 2 * cell) * 65535 + 0.5f;
    return (uint16_t)(q > 0 ? q < 65535 ? q : 65535 : 0);
}

static int8_t signed_byte(float x) {
    return (int8_t)lrintf(127 * fminf(fmaxf(x, -1), 1));
}

/// A unit vector as a point of a square: the octahedron's upper half, its lower one folded out.
static void octahedral(const float n[3], int8_t out[2]) {
    float sum = fabsf(n[0]) + fabsf(n[1]) + fabsf(n[2]);
    float x = sum > 0 ? n[0] / sum : 0, y = sum > 0 ? n[1] / sum : 0;
    if (n[2] < 0) {
        float folded = (1 - fabsf(y)) * (x < 0 ? -1.0f : 1.0f);
        y = (1 - fabsf(x)) * (y < 0 ? -1.0f : 1.0f);
        x = folded;
    }
    out[0] = signed_byte(x), out[1] = signed_byte(y);
}

Parcel *frame_surface(const FrameHead *h, const BrimMesh *m) {
    size_t bytes = FRAME_HEAD + moved_bytes(h) + 8 * m->vertex_count + 12 * m->triangle_count;
    Parcel *parcel = parcel_new(bytes, false);
    if (!parcel) return NULL;
    unsigned char *at = put_head(parcel->bytes, h, FRAME_SURFACE, 0, (float[2]){0, 0},
                                 m->vertex_count, m->triangle_count);
    for (size_t i = 0; i < m->vertex_count; i++) {
        const float *x = m->position[i];
        const uint16_t q[3] = {spread(x[0], h->cell, h->size.x), spread(x[1], h->cell, h->size.y),
                               spread(x[2], h->cell, h->size.z)};
        int8_t normal[2];
        octahedral(m->normal[i], normal);
        at = put(put(at, q, sizeof q), normal, sizeof normal);
    }
    put(at, m->triangle, 12 * m->triangle_count);
    return parcel;
}

// ----------------------------------------------------------------------------------- geometry

static unsigned char *put_mesh(unsigned char *at, size_t vertices, const void *position,
                               size_t triangles, const void *triangle) {
    at = put_word(put_word(at, (uint32_t)vertices), (uint32_t)triangles);
    at = put(at, position, 12 * vertices);
    return put(at, triangle, 12 * triangles);
}

Parcel *frame_geometry(const BrimMesh *solids, int solid_count, const BrimBodySurface *bodies,
                       int body_count) {
    size_t bytes = 20;
    for (int i = 0; i < solid_count; i++)
        bytes += 8 + 12 * (solids[i].vertex_count + solids[i].triangle_count);
    for (int i = 0; i < body_count; i++)
        bytes += 8 + 12 * (bodies[i].vertex_count + bodies[i].triangle_count);
    Parcel *parcel = parcel_new(bytes, false);
    if (!parcel) return NULL;
    const unsigned char kind[4] = {FRAME_GEOMETRY, 0, 0, 0};
    unsigned char *at = put(put_word(parcel->bytes, FRAME_MAGIC), kind, sizeof kind);
    at = put_word(at, 0); // the serial
    at = put_word(put_word(at, (uint32_t)solid_count), (uint32_t)body_count);
    for (int i = 0; i < solid_count; i++)
        at = put_mesh(at, solids[i].vertex_count, solids[i].position, solids[i].triangle_count,
                      solids[i].triangle);
    for (int i = 0; i < body_count; i++)
        at = put_mesh(at, bodies[i].vertex_count, bodies[i].position, bodies[i].triangle_count,
                      bodies[i].triangle);
    return parcel;
}
