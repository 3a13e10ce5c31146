#include "base/error.h"
#include "base/memory.h"
#include "base/team.h"
#include "io/file.h"
#include "io/ply.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

// Particles lie in storage order and go out by id. Ids are cut into ranges; for each one a pass
// over all ids lists its particles and marks their ids in a bitmap. The number of marks before an
// id is the place of its record, so each record is put there directly, in storage order, which is
// kind to the caches. The memory is that of a few ranges, whether ids are dense or, after long
// draining, sparse. Several threads fill ranges; they are written in order.
enum {
    RANGE_PARTICLES = 1 << 20, ///< most in a range
    RANGE_IDS = 1 << 26,       ///< most ids that a range spans: a bitmap of 8 MiB
    MAX_THREADS = 4,
    BINS = 1 << 16, ///< ranges are made of bins of equal width, a power of two
    BLOCK = 32,     ///< ids that are tested at once
};

/// Words of a record: id, x, y, z, vx, vy, vz, and those asked for; little-endian.
enum { PLAIN_WORDS = 7 };

static size_t record_words(const BrimParticles *p) {
    return PLAIN_WORDS + (size_t)p->extra_count;
}

typedef struct Range {
    uint32_t first, width; ///< first <= id < first + width
    uint32_t count;        ///< particles
} Range;

/// Room for one range at a time.
typedef struct Batch {
    uint32_t *records; ///< by id
    uint32_t *index;   ///< the particles, in storage order
    uint64_t *marks;   ///< a bit for each id
    uint32_t *before;  ///< marks before each word of them
} Batch;

static void batch_free(Batch *b) {
    free(b->records), free(b->index), free(b->marks), free(b->before);
}

static bool batch_init(Batch *b, Range largest, size_t words_a_record) {
    size_t words = (size_t)largest.width / 64 + 1;
    b->records = memory_new(largest.count * words_a_record * sizeof *b->records);
    b->index = memory_new(largest.count * sizeof *b->index);
    b->marks = memory_new(words * sizeof *b->marks);
    b->before = memory_new(words * sizeof *b->before);
    return b->records && b->index && b->marks && b->before;
}

/// One of an array of four-byte values as a little-endian word.
static uint32_t word_at(const void *values, size_t i) {
    uint32_t word = 0;
    if (values) memcpy(&word, (const char *)values + i * sizeof word, sizeof word);
    return htole32(word);
}

static void write_record(const BrimParticles *p, size_t i, uint32_t *out) {
    const void *plain[PLAIN_WORDS] = {p->id, p->x, p->y, p->z, p->vx, p->vy, p->vz};
    for (int k = 0; k < PLAIN_WORDS; k++) out[k] = word_at(plain[k], i);
    for (int k = 0; k < p->extra_count; k++) out[PLAIN_WORDS + k] = word_at(p->extra[k].values, i);
}

/// Lists the particles of a range from the block of n ids that starts at `at`.
static uint32_t list_block(Batch *b, const uint32_t *id, size_t at, size_t n, const Range *range,
                           uint32_t count) {
    bool any = false;
    for (size_t i = 0; i < n; i++) any |= id[at + i] - range->first < range->width;
    for (size_t i = 0; any && i < n; i++) {
        uint32_t offset = id[at + i] - range->first;
        if (offset >= range->width) continue;
        b->index[count++] = (uint32_t)(at + i);
        b->marks[offset / 64] |= 1ull << offset % 64;
    }
    return count;
}

/// Fills b->records with a range, by id. False when two particles have the same id.
static bool fill(Batch *b, const BrimParticles *p, const Range *range) {
    size_t words = (size_t)range->width / 64 + 1;
    memset(b->marks, 0, words * sizeof *b->marks);
    uint32_t count = 0;
    for (size_t at = 0; at + BLOCK <= p->count; at += BLOCK)
        count = list_block(b, p->id, at, BLOCK, range, count);
    count = list_block(b, p->id, p->count - p->count % BLOCK, p->count % BLOCK, range, count);
    uint32_t marks = 0;
    for (size_t i = 0; i < words; i++) {
        b->before[i] = marks;
        marks += (uint32_t)__builtin_popcountll(b->marks[i]);
    }
    if (marks != count) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t offset = p->id[b->index[i]] - range->first;
        uint64_t lower = b->marks[offset / 64] & ((1ull << offset % 64) - 1);
        size_t place = b->before[offset / 64] + (uint32_t)__builtin_popcountll(lower);
        write_record(p, b->index[i], b->records + place * record_words(p));
    }
    return true;
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

/// Cuts the bins into ranges [BINS]; returns how many. *largest bounds each of them.
static int cut_ranges(const uint32_t *histogram, int shift, Range *ranges, Range *largest) {
    int n = 0;
    *largest = (Range){0};
    Range range = {0};
    for (uint32_t bin = 0; bin < BINS; bin++) {
        if (!histogram[bin] && !range.count) continue;
        bool full = range.count + histogram[bin] > RANGE_PARTICLES || range.width == RANGE_IDS;
        if (range.count && full) ranges[n++] = range, range.count = 0;
        if (!range.count) range = (Range){.first = bin << shift};
        range.count += histogram[bin], range.width += 1u << shift;
        if (range.count > largest->count) largest->count = range.count;
        if (range.width > largest->width) largest->width = range.width;
    }
    if (range.count) ranges[n++] = range;
    return n;
}

/// Ranges to be filled at the same time.
typedef struct Filling {
    Batch *batches;
    const BrimParticles *p;
    const Range *ranges;
    TeamCount doubles; ///< ranges in which two particles have the same id
} Filling;

static void fill_range(void *context, int index, int thread) {
    Filling *f = context;
    team_add(&f->doubles, !fill(&f->batches[index], f->p, &f->ranges[index]));
}

/// As many ranges at a time as there are batches.
static bool write_ranges(FileWriter *w, const BrimParticles *p, const Range *ranges, int count,
                         Batch *batches, int batch_count) {
    Filling f = {.batches = batches, .p = p};
    Team *team = batch_count > 1 ? team_new(batch_count) : NULL;
    for (int first = 0; first < count && !f.doubles; first += batch_count) {
        int n = count - first < batch_count ? count - first : batch_count;
        f.ranges = ranges + first;
        team_for(team, n, 1, fill_range, &f);
        for (int i = 0; i < n; i++)
            file_write(w, batches[i].records,
                       f.ranges[i].count * record_words(p) * sizeof *batches[i].records);
    }
    team_free(&team);
    return !f.doubles;
}

static BrimResult write_records(FileWriter *w, const BrimParticles *p, int threads,
                                BrimError *error) {
    uint32_t *histogram = memory_zero(BINS * sizeof *histogram);
    Range *ranges = memory_new(BINS * sizeof *ranges), largest;
    Batch batches[MAX_THREADS] = {0};
    bool ready = histogram && ranges, unique = true;
    if (ready) {
        int shift = count_bins(p, histogram);
        int count = cut_ranges(histogram, shift, ranges, &largest);
        threads = threads < MAX_THREADS ? threads : MAX_THREADS;
        threads = threads < count ? threads : count;
        for (int i = 0; i < threads; i++)
            ready = ready && batch_init(&batches[i], largest, record_words(p));
        if (ready && count) unique = write_ranges(w, p, ranges, count, batches, threads);
    }
    for (int i = 0; i < MAX_THREADS; i++) batch_free(&batches[i]);
    free(histogram), free(ranges);
    if (!ready) return fail(error, BRIM_ERROR_MEMORY, "out of memory while writing particles");
    if (!unique) return fail(error, BRIM_ERROR_INPUT, "two particles have the same id");
    return BRIM_OK;
}

/// What comes after the particles, as words.
static void write_words(FileWriter *w, const void *from, size_t count) {
    enum { AT_ONCE = 6144 };
    uint32_t words[AT_ONCE];
    for (size_t at = 0; at < count; at += AT_ONCE) {
        size_t n = count - at < AT_ONCE ? count - at : AT_ONCE;
        for (size_t i = 0; i < n; i++) words[i] = word_at(from, at + i);
        file_write(w, words, n * sizeof *words);
    }
}

BrimResult ply_write(const char *path, const BrimParticles *particles, double time, int frame,
                     int threads, BrimError *error) {
    FileWriter *w;
    BrimResult result = file_create(path, &w, error);
    if (result != BRIM_OK) return result;
    file_print(w,
               "ply\nformat binary_little_endian 1.0\ncomment brim %s\ncomment time %.17g\n"
               "comment frame %d\nelement vertex %zu\nproperty uint id\n",
               BRIM_VERSION_STRING, time, frame, particles->count);
    static const char *const names[] = {"x", "y", "z", "vx", "vy", "vz"};
    for (int i = 0; i < 6; i++) file_print(w, "property float %s\n", names[i]);
    for (int i = 0; i < particles->extra_count; i++)
        file_print(w, "property %s %s\n", particles->extra[i].whole ? "uint" : "float",
                   particles->extra[i].name);
    if (particles->interior) {
        file_print(w, "element interior %zu\n", particles->interior_count);
        for (int i = 0; i < 6; i++) file_print(w, "property float %s\n", names[i]);
    }
    if (particles->bend) {
        file_print(w, "element bend %zu\n", particles->bend_count);
        for (int i = 0; i < 3; i++) file_print(w, "property float %s\n", names[i]);
    }
    file_print(w, "end_header\n");
    result = write_records(w, particles, threads > 1 ? threads : 1, error);
    if (result == BRIM_OK) { // position and velocity, as of particles; displacements
        write_words(w, particles->interior, 6 * particles->interior_count);
        write_words(w, particles->bend, 3 * particles->bend_count);
    }
    if (result != BRIM_OK) {
        file_abort(&w);
        return result;
    }
    return file_commit(&w, error);
}

BrimResult brim_write_particles(const BrimSim *sim, const char *path, BrimError *error) {
    NEED(sim, error);
    NEED(path, error);
    BrimParticles particles = brim_sim_particles(sim);
    const BrimSimDef *def = brim_sim_def(sim);
    BrimInterior *interior = NULL;
    float(*bend)[3] = NULL;
    BrimResult result = BRIM_OK;
    if (def->band_width && (def->output.interior || def->output.foam))
        result = brim_sim_interior(sim, &interior, &particles.interior_count, error);
    particles.interior = interior;
    if (result == BRIM_OK && def->warp > 0 && def->dim == 3)
        result = brim_sim_bend(sim, &bend, &particles.bend_count, error);
    particles.bend = (const float(*)[3])bend;
    if (result == BRIM_OK)
        result = ply_write(path, &particles, brim_sim_time(sim), brim_sim_frame(sim),
                           brim_sim_threads(sim), error);
    free(interior), free(bend);
    return result;
}
