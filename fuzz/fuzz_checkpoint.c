// Any bytes as a checkpoint: open it and read each section, or refuse it. Tried twice, as it is and
// with the checksums put right, so that the fuzzer gets past them to tables, chunks and zstd.
#include "base/hash.h"
#include "io/checkpoint.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 24 }; ///< a section may claim any size; larger ones are not read

static void open_and_read(uint8_t *data, size_t size) {
    FILE *in = fmemopen(data, size, "rb");
    if (!in) return;
    Checkpoint *checkpoint;
    BrimError error;
    if (checkpoint_open_stream(in, size, "fuzz", &checkpoint, &error) != BRIM_OK) return;
    const CheckpointEntry *entry;
    for (int i = 0; (entry = checkpoint_section(checkpoint, i)); i++) {
        size_t bytes;
        if (!checkpoint_find(checkpoint, entry->name, &bytes) || bytes > MOST_BYTES) continue;
        void *section = malloc(bytes ? bytes : 1);
        if (section) checkpoint_read(checkpoint, entry->name, section, bytes, &error);
        free(section);
    }
    checkpoint_close(&checkpoint);
}

/// The checksum of a section as far as its chunks can be followed.
static void mend_section(const uint8_t *data, size_t size, CheckpointEntry *entry) {
    uint64_t at = entry->offset, left = entry->raw_bytes, checksum = 0;
    while (left) {
        ChunkHeader chunk;
        if (at > size || size - at < sizeof chunk) return;
        memcpy(&chunk, data + at, sizeof chunk);
        at += sizeof chunk;
        if (!chunk.raw_bytes || chunk.raw_bytes > left || chunk.stored_bytes > size - at) return;
        checksum = hash_bytes(checksum, &chunk, sizeof chunk);
        checksum = hash_bytes(checksum, data + at, chunk.stored_bytes);
        at += chunk.stored_bytes, left -= chunk.raw_bytes;
    }
    entry->checksum = checksum;
}

static void mend(uint8_t *data, size_t size) {
    CheckpointHeader header;
    CheckpointTrailer trailer;
    if (size < sizeof header + sizeof trailer) return;
    memcpy(&header, data, sizeof header);
    header.checksum = hash_bytes(0, &header, offsetof(CheckpointHeader, checksum));
    memcpy(data, &header, sizeof header);
    memcpy(&trailer, data + size - sizeof trailer, sizeof trailer);
    size_t room = (size - sizeof header - sizeof trailer) / sizeof(CheckpointEntry);
    size_t count = trailer.section_count < room ? (size_t)trailer.section_count : room;
    uint8_t *table = data + size - sizeof trailer - count * sizeof(CheckpointEntry);
    for (size_t i = 0; i < count; i++) {
        CheckpointEntry entry;
        memcpy(&entry, table + i * sizeof entry, sizeof entry);
        mend_section(data, size, &entry);
        memcpy(table + i * sizeof entry, &entry, sizeof entry);
    }
    trailer.section_count = count;
    trailer.table_offset = (uint64_t)(table - data);
    trailer.checksum = hash_bytes(0, &header, sizeof header);
    trailer.checksum = hash_bytes(trailer.checksum, table, count * sizeof(CheckpointEntry));
    trailer.checksum =
        hash_bytes(trailer.checksum, &trailer, offsetof(CheckpointTrailer, checksum));
    memcpy(data + size - sizeof trailer, &trailer, sizeof trailer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = size ? malloc(size) : NULL;
    if (!copy) return 0;
    memcpy(copy, data, size);
    open_and_read(copy, size);
    mend(copy, size);
    open_and_read(copy, size);
    free(copy);
    return 0;
}
