// Frames of foam as binary PLY. The header's comments hold what a later frame needs besides:
//
//   comment foam spray 12 foam 340 bubbles 55 born 80 gone 3
//   comment foam next 4711 settings 0123456789abcdef
#include "base/error.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/ply.h"
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/// id, x, y, z, vx, vy, vz, age, life, size as words; then the type, a byte.
enum { WORDS = 10, RECORD = 4 * WORDS + 1, CHUNK = 4096 };

static const char *const names[WORDS] = {"id", "x",  "y",   "z",    "vx",
                                         "vy", "vz", "age", "life", "size"};

static void encode(const BrimFoamParticle *p, unsigned char *out) {
    uint32_t word[WORDS] = {p->id};
    memcpy(word + 1, p->position, sizeof p->position);
    memcpy(word + 4, p->velocity, sizeof p->velocity);
    memcpy(word + 7, &p->age, 4), memcpy(word + 8, &p->life, 4), memcpy(word + 9, &p->size, 4);
    for (int i = 0; i < WORDS; i++) word[i] = htole32(word[i]);
    memcpy(out, word, sizeof word);
    out[4 * WORDS] = p->type;
}

static BrimFoamParticle decode(const unsigned char *in) {
    BrimFoamParticle p = {.type = in[4 * WORDS]};
    uint32_t word[WORDS];
    memcpy(word, in, sizeof word);
    for (int i = 0; i < WORDS; i++) word[i] = le32toh(word[i]);
    p.id = word[0];
    memcpy(p.position, word + 1, sizeof p.position);
    memcpy(p.velocity, word + 4, sizeof p.velocity);
    memcpy(&p.age, word + 7, 4), memcpy(&p.life, word + 8, 4), memcpy(&p.size, word + 9, 4);
    return p;
}

static void write_header(FileWriter *w, const BrimFoamFrame *f) {
    const BrimFoamCounts *c = &f->counts;
    file_print(w,
               "ply\nformat binary_little_endian 1.0\ncomment brim %s\ncomment time %.17g\n"
               "comment frame %d\n",
               BRIM_VERSION_STRING, f->time, f->frame);
    file_print(w, "comment foam spray %lld foam %lld bubbles %lld born %lld gone %lld\n",
               (long long)c->spray, (long long)c->foam, (long long)c->bubbles, (long long)c->born,
               (long long)c->gone);
    file_print(w, "comment foam next %u settings %016llx\n", f->next_id,
               (unsigned long long)f->settings);
    file_print(w, "element vertex %zu\nproperty uint id\n", f->count);
    for (int i = 1; i < WORDS; i++) file_print(w, "property float %s\n", names[i]);
    file_print(w, "property uchar type\nend_header\n");
}

BrimResult brim_foam_write(const BrimFoamFrame *frame, const char *path, BrimError *error) {
    NEED(frame, error);
    NEED(path, error);
    unsigned char *chunk = memory_new((size_t)CHUNK * RECORD);
    if (!chunk) return fail(error, BRIM_ERROR_MEMORY, "out of memory while writing '%s'", path);
    FileWriter *w;
    BrimResult result = file_create(path, &w, error);
    if (result == BRIM_OK) {
        write_header(w, frame);
        for (size_t at = 0; at < frame->count; at += CHUNK) {
            size_t n = frame->count - at < CHUNK ? frame->count - at : CHUNK;
            for (size_t i = 0; i < n; i++) encode(&frame->particle[at + i], chunk + i * RECORD);
            file_write(w, chunk, n * RECORD);
        }
        result = file_commit(&w, error);
    }
    free(chunk);
    return result;
}

// --------------------------------------------------------------------------------------- reading

static BrimResult damaged(const char *path, const char *what, BrimError *error) {
    return fail(error, BRIM_ERROR_DAMAGED,
                "'%s' is damaged: %s; make it again with brim foam DIR --overwrite", path, what);
}

/// Header and size; the stream is at the first record then.
static BrimResult open_frame(FILE *in, uint64_t bytes, const char *path, BrimFoamFrame *frame,
                             BrimError *error) {
    PlyNotes notes;
    uint64_t count;
    BrimResult result = ply_read_notes(in, bytes, path, &notes, &count, error);
    if (result != BRIM_OK) return result;
    off_t start = ftello(in);
    if (!notes.foam) return fail(error, BRIM_ERROR_INPUT, "'%s' is not foam that Brim wrote", path);
    if (start < 0 || count > (bytes - (uint64_t)start) / RECORD ||
        count * RECORD != bytes - (uint64_t)start)
        return damaged(path, "it is shorter or longer than its header says", error);
    *frame =
        (BrimFoamFrame){.count = (size_t)count,
                        .counts = {notes.spray, notes.foams, notes.bubbles, notes.born, notes.gone},
                        .frame = notes.frame,
                        .time = notes.time,
                        .next_id = notes.next_id,
                        .settings = notes.settings};
    return BRIM_OK;
}

/// Values that a move can go on from: finite, of a known type, ids rising.
static bool sound(const BrimFoamParticle *p, const BrimFoamParticle *before) {
    float sum = p->age * 0 + p->life * 0 + p->size * 0;
    for (int a = 0; a < 3; a++) sum += p->position[a] * 0 + p->velocity[a] * 0;
    return sum == 0 && p->type <= BRIM_FOAM_BUBBLE && p->life > 0 && p->size > 0 &&
           (!before || before->id < p->id);
}

static BrimResult read_records(FILE *in, const char *path, BrimFoamFrame *f, BrimError *error) {
    unsigned char *chunk = memory_new((size_t)CHUNK * RECORD);
    f->particle = memory_new((f->count + 1) * sizeof *f->particle);
    BrimResult result = chunk && f->particle ? BRIM_OK
                                             : fail(error, BRIM_ERROR_MEMORY,
                                                    "out of memory for the foam of '%s'", path);
    for (size_t at = 0; at < f->count && result == BRIM_OK; at += CHUNK) {
        size_t n = f->count - at < CHUNK ? f->count - at : CHUNK;
        if (fread(chunk, RECORD, n, in) != n) {
            result = ferror(in) ? file_fail(error, "read", path, errno)
                                : damaged(path, "it ends early", error);
            break;
        }
        for (size_t i = 0; i < n && result == BRIM_OK; i++) {
            f->particle[at + i] = decode(chunk + i * RECORD);
            if (!sound(&f->particle[at + i], at + i ? &f->particle[at + i - 1] : NULL))
                result = damaged(path, "a particle has impossible values", error);
        }
    }
    free(chunk);
    return result;
}

static BrimResult read_file(const char *path, BrimFoamFrame *frame, bool particles,
                            BrimError *error) {
    NEED(frame, error);
    *frame = (BrimFoamFrame){0};
    NEED(path, error);
    uint64_t bytes;
    FILE *in;
    BrimResult result = file_open(path, &in, &bytes, error);
    if (result != BRIM_OK) return result;
    result = open_frame(in, bytes, path, frame, error);
    if (result == BRIM_OK && particles) result = read_records(in, path, frame, error);
    fclose(in);
    if (result != BRIM_OK) brim_foam_free(frame);
    return result;
}

BrimResult brim_foam_read(const char *path, BrimFoamFrame *frame, BrimError *error) {
    return read_file(path, frame, true, error);
}

BrimResult brim_foam_read_counts(const char *path, BrimFoamFrame *frame, BrimError *error) {
    return read_file(path, frame, false, error);
}

void brim_foam_free(BrimFoamFrame *frame) {
    if (!frame) return;
    free(frame->particle);
    *frame = (BrimFoamFrame){0};
}
