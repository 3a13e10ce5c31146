// Particle frames as binary PLY.
#pragma once
#include "brim/brim.h"
#include <stdio.h>

/// What a frame says about itself in comments; written by Brim, absent in files of others.
typedef struct PlyNotes {
    char version[32]; ///< "" when the file is not Brim's
    double time;      ///< s; NAN when not said
    int frame;        ///< -1 when not said
    bool surface;     ///< it has faces: a mesh, not particles
    uint64_t faces;
    bool foam; ///< it is foam, and the following tell of it
    int64_t spray, foams, bubbles, born, gone;
    uint32_t next_id;
    uint64_t settings;
} PlyNotes;

/// Binary little-endian, records sorted by id; the same bytes for any number of threads. Takes up
/// to 44 MB a thread and no more than four threads, whatever the count.
BrimResult ply_write(const char *path, const BrimParticles *particles, double time, int frame,
                     int threads, BrimError *error);
/// The notes and the number of vertices, from the header alone.
BrimResult ply_read_notes(FILE *in, uint64_t bytes, const char *path, PlyNotes *notes,
                          uint64_t *count, BrimError *error);
/// Reads the vertices of a stream of `bytes` bytes; `path` is for messages. With
/// `notes`, which may be NULL, what follows the vertices is checked too.
/// Binary of either byte order, properties in any order, x, y, z float or double. Velocity reads
/// as 0 where there is none, id as 0, 1, 2... A failure leaves *frame empty.
BrimResult ply_read(FILE *in, uint64_t bytes, const char *path, BrimFrame *frame, PlyNotes *notes,
                    BrimError *error);
