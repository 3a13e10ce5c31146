// Checkpoint container: named sections of bytes in one file, checksummed, compressed when zstd is
// there, whole or refused.
//
//   CheckpointHeader      magic, byte order, format version
//   section 0             chunks of at most CHECKPOINT_CHUNK bytes, each one
//     ChunkHeader           raw and stored size. Equal: the bytes as they are. Stored is less: zstd
//                           of the first bytes of all 32-bit words, then the second ones, ...
//     stored bytes
//   section 1 ...
//   CheckpointEntry[n]    the table: name, place, sizes and checksums of each section
//   CheckpointTrailer     where the table starts, and its checksum
//
// The parts follow each other without gaps, so each byte of the file is under some checksum.
// Numbers are in the byte order of the machine that wrote them; the header tells.
#pragma once
#include "brim/brim.h"
#include <stdint.h>
#include <stdio.h>

enum {
    CHECKPOINT_VERSION = 5,
    CHECKPOINT_NAME = 16,       ///< bytes of a section name, the closing zero included
    CHECKPOINT_SECTIONS = 64,   ///< most sections in a file
    CHECKPOINT_CHUNK = 1 << 20, ///< bytes
};
#define CHECKPOINT_MAGIC "BRIMCKPT"
#define CHECKPOINT_BYTE_ORDER 0x01020304u

typedef struct CheckpointHeader {
    char magic[8];
    uint32_t byte_order, version;
    uint64_t checksum; ///< of the above
} CheckpointHeader;

typedef struct ChunkHeader {
    uint32_t raw_bytes, stored_bytes;
} ChunkHeader;

typedef struct CheckpointEntry {
    char name[CHECKPOINT_NAME];
    uint64_t offset;       ///< of the first chunk, from the start of the file
    uint64_t raw_bytes;    ///< of the section
    uint64_t stored_bytes; ///< in the file, chunk headers included
    uint64_t raw_checksum; ///< of the raw bytes, chunk by chunk
    uint64_t checksum;     ///< of the stored bytes: each chunk's header, then its bytes
    uint64_t reserved;     ///< 0
} CheckpointEntry;

typedef struct CheckpointTrailer {
    uint64_t table_offset, section_count;
    uint64_t checksum; ///< of header, table and the two numbers above
} CheckpointTrailer;

/// Section "sim": what a checkpoint holds, for brim_describe_file and for the simulation.
#define CHECKPOINT_META "sim"
typedef struct CheckpointMeta {
    int64_t step, particles, seeded, emitted, drained, left;
    double time; ///< s
    int32_t frame, dim, cells[3];
    uint32_t reserved;
    uint64_t scene_hash; ///< def_hash of the def
} CheckpointMeta;

// ---------------------------------------------------------------------------------- writing

typedef struct CheckpointWriter CheckpointWriter;

/// Starts a file beside `path`; it appears there at checkpoint_commit.
BrimResult checkpoint_create(const char *path, CheckpointWriter **writer, BrimError *error);
/// Adds a section. Names are unique, 1 to 15 characters.
BrimResult checkpoint_put(CheckpointWriter *writer, const char *name, const void *data,
                          size_t bytes, BrimError *error);
/// Syncs and renames. Frees the writer whether it succeeds or not.
BrimResult checkpoint_commit(CheckpointWriter **writer, BrimError *error);
/// Gives up and removes the unfinished file. Accepts a writer that is NULL.
void checkpoint_abort(CheckpointWriter **writer);

// ---------------------------------------------------------------------------------- reading

typedef struct Checkpoint Checkpoint;

/// Opens a checkpoint and verifies all of it: magic, version, sizes, every checksum.
/// BRIM_ERROR_DAMAGED when anything is wrong, BRIM_ERROR_INPUT for another version or byte order,
/// BRIM_ERROR_MISSING when it is compressed and this build lacks zstd.
BrimResult checkpoint_open(const char *path, Checkpoint **checkpoint, BrimError *error);
/// The same from a stream of `bytes` bytes that the checkpoint takes over; `path` is for messages.
BrimResult checkpoint_open_stream(FILE *in, uint64_t bytes, const char *path,
                                  Checkpoint **checkpoint, BrimError *error);
/// The size of a section; false when there is none of that name.
bool checkpoint_find(const Checkpoint *checkpoint, const char *name, size_t *bytes);
/// Copies a section, straight from the file to `data`. BRIM_ERROR_INPUT when there is none of
/// that name and size.
BrimResult checkpoint_read(Checkpoint *checkpoint, const char *name, void *data, size_t bytes,
                           BrimError *error);
/// Sections in the order they were put; NULL past the last.
const CheckpointEntry *checkpoint_section(const Checkpoint *checkpoint, int index);
void checkpoint_close(Checkpoint **checkpoint);
