#include "base/error.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/ply.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

// Particles lie in storage order and go out by id. Ids are cut into ranges that hold about
// RANGE_PARTICLES each; for each range one pass over all ids collects its particles in storage
// order, which is kind to the caches, and a radix sort of (id, place) puts them in order. So the
// memory is that of a range, whether ids are dense or, after long draining, sparse.
enum { RANGE_PARTICLES = 1 << 20, BIN_BITS = 16, BINS = 1 << BIN_BITS, DIGIT_BITS = 11 };

typedef struct Record {
    uint32_t word[7]; ///< id, x, y, z, vx, vy, vz; little-endian
} Record;

typedef struct Key {
    uint32_t id, place;
} Key;

/// One range of ids at a time.
typedef struct Batch {
    size_t capacity;
    Record *taken, *sorted; ///< in storage order, by id
    Key *keys, *spare;
} Batch;

static void batch_free(Batch *b) {
    free(b->taken), free(b->sorted), free(b->keys), free(b->spare);
}

static bool batch_init(Batch *b, size_t capacity) {
    b->capacity = capacity;
    b->taken = memory_new(capacity * sizeof *b->taken);
    b->sorted = memory_new(capacity * sizeof *b->sorted);
    b->keys = memory_new(capacity * sizeof *b->keys);
    b->spare = memory_new(capacity * sizeof *b->spare);
    return b->taken && b->sorted && b->keys && b->spare;
}

static uint32_t float_word(const float *values, size_t i) {
    uint32_t word = 0;
    if (values) memcpy(&word, &values[i], sizeof word);
    return htole32(word);
}

static Record record_at(const BrimParticles *p, size_t i) {
    return (Record){{htole32(p->id[i]), float_word(p->x, i), float_word(p->y, i),
                     float_word(p->z, i), float_word(p->vx, i), float_word(p->vy, i),
                     float_word(p->vz, i)}};
}

/// Takes the particles with first <= id < first + width. Returns how many.
static size_t take_range(Batch *b, const BrimParticles *p, uint32_t first, uint64_t width) {
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t offset = p->id[i] - first;
        if (offset >= width) continue;
        b->keys[n] = (Key){offset, (uint32_t)n};
        b->taken[n++] = record_at(p, i);
    }
    return n;
}

/// Stable radix sort of n keys with ids below `width`; the result is in b->keys.
static void sort_keys(Batch *b, size_t n, uint64_t width) {
    for (int shift = 0; shift < 32 && (width - 1) >> shift; shift += DIGIT_BITS) {
        size_t start[1 << DIGIT_BITS] = {0};
        uint32_t mask = (1u << DIGIT_BITS) - 1;
        for (size_t i = 0; i < n; i++) start[b->keys[i].id >> shift & mask]++;
        size_t sum = 0;
        for (uint32_t d = 0; d <= mask; d++) {
            size_t count = start[d];
            start[d] = sum, sum += count;
        }
        for (size_t i = 0; i < n; i++)
            b->spare[start[b->keys[i].id >> shift & mask]++] = b->keys[i];
        Key *swap = b->keys;
        b->keys = b->spare, b->spare = swap;
    }
}

static void write_range(FileWriter *w, Batch *b, const BrimParticles *p, uint32_t first,
                        uint64_t width) {
    size_t n = take_range(b, p, first, width);
    sort_keys(b, n, width);
    for (size_t i = 0; i < n; i++) b->sorted[i] = b->taken[b->keys[i].place];
    file_write(w, b->sorted, n * sizeof *b->sorted);
}

/// The bin after `bin` at which the range that starts there ends; *count particles are in it.
static int range_end(const uint32_t *histogram, int bin, size_t *count) {
    *count = histogram[bin++];
    while (bin < BINS && *count + histogram[bin] <= RANGE_PARTICLES) *count += histogram[bin++];
    return bin;
}

/// histogram [BINS] of ids >> shift; returns the shift that spreads them over the bins.
static int count_bins(const BrimParticles *p, uint32_t *histogram) {
    uint32_t largest = 0;
    for (size_t i = 0; i < p->count; i++) largest = p->id[i] > largest ? p->id[i] : largest;
    int shift = 0;
    while (largest >> shift >= BINS) shift++;
    for (size_t i = 0; i < p->count; i++) histogram[p->id[i] >> shift]++;
    return shift;
}

static bool write_records(FileWriter *w, const BrimParticles *p) {
    uint32_t *histogram = memory_zero(BINS * sizeof *histogram);
    if (!histogram) return false;
    int shift = count_bins(p, histogram);
    size_t most = 0, count;
    for (int bin = 0; bin < BINS;) {
        bin = range_end(histogram, bin, &count);
        most = count > most ? count : most;
    }
    Batch batch = {0};
    bool ready = batch_init(&batch, most);
    for (int bin = 0; bin < BINS && ready && file_status(w, NULL) == BRIM_OK;) {
        int first = bin;
        bin = range_end(histogram, bin, &count);
        if (count)
            write_range(w, &batch, p, (uint32_t)first << shift, (uint64_t)(bin - first) << shift);
    }
    batch_free(&batch);
    free(histogram);
    return ready;
}

BrimResult ply_write(const char *path, const BrimParticles *particles, double time, int frame,
                     BrimError *error) {
    FileWriter *w;
    BrimResult result = file_create(path, &w, error);
    if (result != BRIM_OK) return result;
    file_print(w,
               "ply\nformat binary_little_endian 1.0\ncomment brim %s\ncomment time %.17g\n"
               "comment frame %d\nelement vertex %zu\nproperty uint id\n",
               BRIM_VERSION_STRING, time, frame, particles->count);
    static const char *const names[] = {"x", "y", "z", "vx", "vy", "vz"};
    for (int i = 0; i < 6; i++) file_print(w, "property float %s\n", names[i]);
    file_print(w, "end_header\n");
    if (!write_records(w, particles)) {
        file_abort(&w);
        return fail(error, BRIM_ERROR_MEMORY, "out of memory while writing '%s'", path);
    }
    return file_commit(&w, error);
}

BrimResult brim_write_particles(const BrimSim *sim, const char *path, BrimError *error) {
    BrimParticles particles = brim_sim_particles(sim);
    return ply_write(path, &particles, brim_sim_time(sim), brim_sim_frame(sim), error);
}
