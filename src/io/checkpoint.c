#include "io/checkpoint.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "io/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef BRIM_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

// The structs are the file format: no padding anywhere.
_Static_assert(sizeof(CheckpointHeader) == 24, "format");
_Static_assert(sizeof(CheckpointEntry) == 64, "format");
_Static_assert(sizeof(CheckpointTrailer) == 24, "format");
_Static_assert(sizeof(CheckpointMeta) == 88, "format");

/// What header and table have in common between writer and reader.
typedef struct Table {
    CheckpointHeader header;
    int count;
    CheckpointEntry entry[CHECKPOINT_SECTIONS];
} Table;

static uint64_t header_checksum(const CheckpointHeader *header) {
    return hash_bytes(0, header, offsetof(CheckpointHeader, checksum));
}

static uint64_t table_checksum(const Table *table, const CheckpointTrailer *trailer) {
    uint64_t h = hash_bytes(0, &table->header, sizeof table->header);
    h = hash_bytes(h, table->entry, sizeof table->entry[0] * (size_t)table->count);
    return hash_bytes(h, trailer, offsetof(CheckpointTrailer, checksum));
}

static const CheckpointEntry *find(const Table *table, const char *name) {
    for (int i = 0; i < table->count; i++)
        if (strncmp(table->entry[i].name, name, CHECKPOINT_NAME) == 0) return &table->entry[i];
    return NULL;
}

// ------------------------------------------------------------------------------ compression

typedef enum Unpacked { UNPACKED_OK, UNPACKED_DAMAGED, UNPACKED_NO_MEMORY } Unpacked;

#ifdef BRIM_HAVE_ZSTD
typedef ZSTD_DCtx Unpacker;

// Most sections are 32-bit numbers whose high bytes repeat from one to the next, so the first bytes
// of all words go first, then the second ones, and so on: for particles in cell order a fifth
// smaller than zstd of the plain bytes, and faster both ways.

static void split_words(const unsigned char *raw, size_t bytes, unsigned char *planes) {
    size_t n = bytes / 4;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 4; k++) planes[k * n + i] = raw[4 * i + k];
    memcpy(planes + 4 * n, raw + 4 * n, bytes % 4);
}

static void join_words(const unsigned char *planes, size_t bytes, unsigned char *raw) {
    size_t n = bytes / 4;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 4; k++) raw[4 * i + k] = planes[k * n + i];
    memcpy(raw + 4 * n, planes + 4 * n, bytes % 4);
}

/// `planes` [CHECKPOINT_CHUNK] is scratch. Packed size, or 0 when it does not get smaller.
static size_t pack(const void *raw, size_t bytes, void *planes, void *stored) {
    split_words(raw, bytes, planes);
    size_t n = ZSTD_compress(stored, CHECKPOINT_CHUNK, planes, bytes, 1);
    return ZSTD_isError(n) || n >= bytes ? 0 : n;
}

/// What decompression works with, made once a checkpoint; NULL when out of memory.
static Unpacker *unpacker_new(void) {
    return ZSTD_createDCtx();
}

static void unpacker_free(Unpacker *u) {
    ZSTD_freeDCtx(u);
}

static Unpacked unpack(Unpacker *u, const void *stored, size_t stored_bytes, void *planes,
                       void *raw, size_t bytes) {
    size_t n = ZSTD_decompressDCtx(u, planes, bytes, stored, stored_bytes);
    if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation) return UNPACKED_NO_MEMORY;
    if (n != bytes) return UNPACKED_DAMAGED;
    join_words(planes, bytes, raw);
    return UNPACKED_OK;
}
#else
typedef char Unpacker;

static size_t pack(const void *raw, size_t bytes, void *planes, void *stored) {
    (void)raw, (void)bytes, (void)planes, (void)stored;
    return 0;
}

static Unpacker *unpacker_new(void) {
    return malloc(1);
}

static void unpacker_free(Unpacker *u) {
    free(u);
}

static Unpacked unpack(Unpacker *u, const void *stored, size_t stored_bytes, void *planes,
                       void *raw, size_t bytes) {
    (void)u, (void)stored, (void)stored_bytes, (void)planes, (void)raw, (void)bytes;
    return UNPACKED_DAMAGED;
}
#endif

// ---------------------------------------------------------------------------------- writing

struct CheckpointWriter {
    FileWriter *file;
    void *chunk, *planes; ///< [CHECKPOINT_CHUNK] packed bytes, scratch
    Table table;
};

static void writer_free(CheckpointWriter *w) {
    file_abort(&w->file);
    free(w->chunk), free(w->planes), free(w);
}

BrimResult checkpoint_create(const char *path, CheckpointWriter **writer, BrimError *error) {
    *writer = NULL;
    CheckpointWriter *w = calloc(1, sizeof *w);
    if (!w) return fail(error, BRIM_ERROR_MEMORY, "out of memory while writing '%s'", path);
    w->chunk = memory_new(CHECKPOINT_CHUNK);
    w->planes = memory_new(CHECKPOINT_CHUNK);
    BrimResult result = w->chunk && w->planes ? file_create(path, &w->file, error)
                                              : fail(error, BRIM_ERROR_MEMORY,
                                                     "out of memory while writing '%s'", path);
    if (result != BRIM_OK) {
        writer_free(w);
        return result;
    }
    CheckpointHeader *header = &w->table.header;
    memcpy(header->magic, CHECKPOINT_MAGIC, sizeof header->magic);
    header->byte_order = CHECKPOINT_BYTE_ORDER;
    header->version = CHECKPOINT_VERSION;
    header->checksum = header_checksum(header);
    file_write(w->file, header, sizeof *header);
    *writer = w;
    return BRIM_OK;
}

static void put_chunk(CheckpointWriter *w, CheckpointEntry *entry, const void *raw, size_t bytes) {
    size_t packed = pack(raw, bytes, w->planes, w->chunk);
    const void *stored = packed ? w->chunk : raw;
    ChunkHeader chunk = {(uint32_t)bytes, (uint32_t)(packed ? packed : bytes)};
    entry->raw_checksum = hash_bytes(entry->raw_checksum, raw, bytes);
    entry->checksum = hash_bytes(entry->checksum, &chunk, sizeof chunk);
    entry->checksum = hash_bytes(entry->checksum, stored, chunk.stored_bytes);
    file_write(w->file, &chunk, sizeof chunk);
    file_write(w->file, stored, chunk.stored_bytes);
}

BrimResult checkpoint_put(CheckpointWriter *w, const char *name, const void *data, size_t bytes,
                          BrimError *error) {
    size_t length = strlen(name);
    if (length == 0 || length >= CHECKPOINT_NAME || find(&w->table, name) ||
        w->table.count == CHECKPOINT_SECTIONS)
        return fail(error, BRIM_ERROR_INPUT,
                    "checkpoint section '%s': a name has 1 to %d characters and comes once, and "
                    "there are at most %d sections",
                    name, CHECKPOINT_NAME - 1, CHECKPOINT_SECTIONS);
    CheckpointEntry *entry = &w->table.entry[w->table.count++];
    memcpy(entry->name, name, length);
    entry->offset = file_written(w->file);
    entry->raw_bytes = bytes;
    for (size_t at = 0; at < bytes; at += CHECKPOINT_CHUNK) {
        size_t n = bytes - at < CHECKPOINT_CHUNK ? bytes - at : CHECKPOINT_CHUNK;
        put_chunk(w, entry, (const char *)data + at, n);
    }
    entry->stored_bytes = file_written(w->file) - entry->offset;
    return file_status(w->file, error);
}

BrimResult checkpoint_commit(CheckpointWriter **writer, BrimError *error) {
    CheckpointWriter *w = *writer;
    *writer = NULL;
    CheckpointTrailer trailer = {.table_offset = file_written(w->file),
                                 .section_count = (uint64_t)w->table.count};
    trailer.checksum = table_checksum(&w->table, &trailer);
    file_write(w->file, w->table.entry, sizeof w->table.entry[0] * (size_t)w->table.count);
    file_write(w->file, &trailer, sizeof trailer);
    BrimResult result = file_commit(&w->file, error);
    writer_free(w);
    return result;
}

void checkpoint_abort(CheckpointWriter **writer) {
    if (!writer || !*writer) return;
    writer_free(*writer);
    *writer = NULL;
}

// ---------------------------------------------------------------------------------- reading

struct Checkpoint {
    FILE *in;
    char *path;
    void *chunk, *planes; ///< [CHECKPOINT_CHUNK] stored bytes, scratch
    Unpacker *unpacker;
    Table table;
};

static BrimResult no_memory(const char *path, BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory while reading '%s'", path);
}

static BrimResult damaged(const Checkpoint *c, const char *what, BrimError *error) {
    return fail(error, BRIM_ERROR_DAMAGED, "'%s' is damaged: %s", c->path, what);
}

static BrimResult get(Checkpoint *c, void *data, size_t bytes, BrimError *error) {
    if (fread(data, 1, bytes, c->in) == bytes) return BRIM_OK;
    if (ferror(c->in)) return file_fail(error, "read", c->path, errno);
    return damaged(c, "it ends early", error);
}

static BrimResult seek(Checkpoint *c, uint64_t offset, BrimError *error) {
    if (fseeko(c->in, (off_t)offset, SEEK_SET) == 0) return BRIM_OK;
    return file_fail(error, "read", c->path, errno);
}

static BrimResult read_header(Checkpoint *c, uint64_t bytes, BrimError *error) {
    CheckpointHeader *header = &c->table.header;
    size_t have = bytes < sizeof *header ? (size_t)bytes : sizeof *header;
    BrimResult result = get(c, header, have, error);
    if (result != BRIM_OK) return result;
    size_t magic = have < sizeof header->magic ? have : sizeof header->magic;
    if (bytes && memcmp(header->magic, CHECKPOINT_MAGIC, magic) != 0)
        return damaged(c, "it does not begin like a checkpoint of Brim", error);
    if (bytes < sizeof *header + sizeof(CheckpointTrailer))
        return damaged(c, "it ends early", error);
    if (header->byte_order == __builtin_bswap32(CHECKPOINT_BYTE_ORDER))
        return fail(error, BRIM_ERROR_INPUT,
                    "'%s' was written on a machine with the other byte order: resume it there",
                    c->path);
    if (header->checksum != header_checksum(header))
        return damaged(c, "the checksum of its header is wrong", error);
    if (header->version != CHECKPOINT_VERSION)
        return fail(error, BRIM_ERROR_INPUT,
                    "'%s' has checkpoint format %u, this build (Brim %s) reads format %d: resume "
                    "it with the Brim that wrote it",
                    c->path, header->version, BRIM_VERSION_STRING, CHECKPOINT_VERSION);
    return BRIM_OK;
}

/// Sections follow each other from the header to the table, and their names can be trusted.
static bool table_is_sound(const Table *table, uint64_t table_offset) {
    uint64_t offset = sizeof(CheckpointHeader);
    for (int i = 0; i < table->count; i++) {
        const CheckpointEntry *e = &table->entry[i];
        if (e->offset != offset || e->stored_bytes > table_offset - offset) return false;
        if (e->name[0] == 0 || e->name[CHECKPOINT_NAME - 1] != 0) return false;
        if (find(table, e->name) != e) return false;
        offset += e->stored_bytes;
    }
    return offset == table_offset;
}

static BrimResult read_table(Checkpoint *c, uint64_t bytes, BrimError *error) {
    CheckpointTrailer trailer;
    BrimResult result = seek(c, bytes - sizeof trailer, error);
    if (result == BRIM_OK) result = get(c, &trailer, sizeof trailer, error);
    if (result != BRIM_OK) return result;
    uint64_t table_bytes = trailer.section_count * sizeof(CheckpointEntry);
    if (trailer.section_count > CHECKPOINT_SECTIONS ||
        table_bytes > bytes - sizeof(CheckpointHeader) - sizeof trailer ||
        trailer.table_offset != bytes - sizeof trailer - table_bytes)
        return damaged(c, "it ends early or its end was overwritten", error);
    c->table.count = (int)trailer.section_count;
    result = seek(c, trailer.table_offset, error);
    if (result == BRIM_OK) result = get(c, c->table.entry, table_bytes, error);
    if (result != BRIM_OK) return result;
    if (table_checksum(&c->table, &trailer) != trailer.checksum)
        return damaged(c, "the checksum of its table is wrong", error);
    if (!table_is_sound(&c->table, trailer.table_offset))
        return damaged(c, "its table does not fit the file", error);
    return BRIM_OK;
}

/// Reads one chunk's header and stored bytes, within what is left of its section.
static BrimResult get_chunk(Checkpoint *c, uint64_t raw_left, uint64_t stored_left,
                            ChunkHeader *chunk, BrimError *error) {
    if (stored_left < sizeof *chunk) return damaged(c, "a section ends early", error);
    BrimResult result = get(c, chunk, sizeof *chunk, error);
    if (result != BRIM_OK) return result;
    if (chunk->raw_bytes == 0 || chunk->raw_bytes > CHECKPOINT_CHUNK ||
        chunk->raw_bytes > raw_left || chunk->stored_bytes > chunk->raw_bytes ||
        chunk->stored_bytes > stored_left - sizeof *chunk)
        return damaged(c, "the size of a chunk is wrong", error);
    return get(c, c->chunk, chunk->stored_bytes, error);
}

static BrimResult verify_section(Checkpoint *c, const CheckpointEntry *entry, BrimError *error) {
    BrimResult result = seek(c, entry->offset, error);
    uint64_t raw = entry->raw_bytes, stored = entry->stored_bytes, checksum = 0;
    bool packed = false;
    while (raw && result == BRIM_OK) {
        ChunkHeader chunk;
        result = get_chunk(c, raw, stored, &chunk, error);
        if (result != BRIM_OK) break;
        checksum = hash_bytes(checksum, &chunk, sizeof chunk);
        checksum = hash_bytes(checksum, c->chunk, chunk.stored_bytes);
        raw -= chunk.raw_bytes, stored -= sizeof chunk + chunk.stored_bytes;
        packed |= chunk.stored_bytes < chunk.raw_bytes;
    }
    if (result != BRIM_OK) return result;
    if (stored || checksum != entry->checksum)
        return fail(error, BRIM_ERROR_DAMAGED,
                    "'%s' is damaged: the checksum of section '%s' is wrong", c->path, entry->name);
#ifndef BRIM_HAVE_ZSTD
    if (packed)
        return fail(error, BRIM_ERROR_MISSING,
                    "'%s' is compressed and this build lacks zstd: install libzstd-dev and build "
                    "Brim again",
                    c->path);
#endif
    (void)packed;
    return BRIM_OK;
}

BrimResult checkpoint_open_stream(FILE *in, uint64_t bytes, const char *path,
                                  Checkpoint **checkpoint, BrimError *error) {
    *checkpoint = NULL;
    Checkpoint *c = calloc(1, sizeof *c);
    if (!c) {
        fclose(in);
        return no_memory(path, error);
    }
    c->in = in;
    c->path = path_new("%s", path);
    c->chunk = memory_new(CHECKPOINT_CHUNK);
    c->planes = memory_new(CHECKPOINT_CHUNK);
    c->unpacker = unpacker_new();
    bool ready = c->path && c->chunk && c->planes && c->unpacker;
    BrimResult result = ready ? read_header(c, bytes, error) : no_memory(path, error);
    if (result == BRIM_OK) result = read_table(c, bytes, error);
    for (int i = 0; i < c->table.count && result == BRIM_OK; i++)
        result = verify_section(c, &c->table.entry[i], error);
    if (result == BRIM_OK)
        *checkpoint = c;
    else
        checkpoint_close(&c);
    return result;
}

BrimResult checkpoint_open(const char *path, Checkpoint **checkpoint, BrimError *error) {
    *checkpoint = NULL;
    uint64_t bytes;
    FILE *in;
    BrimResult result = file_open(path, &in, &bytes, error);
    return result == BRIM_OK ? checkpoint_open_stream(in, bytes, path, checkpoint, error) : result;
}

bool checkpoint_find(const Checkpoint *c, const char *name, size_t *bytes) {
    const CheckpointEntry *entry = find(&c->table, name);
    if (entry) *bytes = (size_t)entry->raw_bytes;
    return entry != NULL;
}

BrimResult checkpoint_read(Checkpoint *c, const char *name, void *data, size_t bytes,
                           BrimError *error) {
    const CheckpointEntry *entry = find(&c->table, name);
    // The file is whole, or it would not have opened: so another Brim wrote it.
    if (!entry || entry->raw_bytes != bytes)
        return fail(error, BRIM_ERROR_INPUT,
                    "'%s' was written by another version of Brim: section '%s' %s", c->path, name,
                    entry ? "has another size" : "is missing");
    BrimResult result = seek(c, entry->offset, error);
    uint64_t stored = entry->stored_bytes, checksum = 0;
    for (size_t at = 0; at < bytes && result == BRIM_OK;) {
        ChunkHeader chunk;
        result = get_chunk(c, bytes - at, stored, &chunk, error);
        if (result != BRIM_OK) break;
        char *raw = (char *)data + at;
        Unpacked unpacked = UNPACKED_OK;
        if (chunk.stored_bytes == chunk.raw_bytes)
            memcpy(raw, c->chunk, chunk.raw_bytes);
        else
            unpacked =
                unpack(c->unpacker, c->chunk, chunk.stored_bytes, c->planes, raw, chunk.raw_bytes);
        if (unpacked == UNPACKED_NO_MEMORY) return no_memory(c->path, error);
        if (unpacked != UNPACKED_OK) return damaged(c, "a section cannot be decompressed", error);
        checksum = hash_bytes(checksum, raw, chunk.raw_bytes);
        at += chunk.raw_bytes, stored -= sizeof chunk + chunk.stored_bytes;
    }
    if (result == BRIM_OK && checksum != entry->raw_checksum)
        result = damaged(c, "a section differs from what was saved", error);
    return result;
}

const CheckpointEntry *checkpoint_section(const Checkpoint *c, int index) {
    return index >= 0 && index < c->table.count ? &c->table.entry[index] : NULL;
}

void checkpoint_close(Checkpoint **checkpoint) {
    if (!checkpoint || !*checkpoint) return;
    Checkpoint *c = *checkpoint;
    if (c->in) fclose(c->in);
    unpacker_free(c->unpacker);
    free(c->path), free(c->chunk), free(c->planes), free(c);
    *checkpoint = NULL;
}
