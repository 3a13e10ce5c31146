// The folder of a run, and which of the files in it are Brim's:
//
//   DIR/run.json                        scene after defaults, version, threads, seed, machine
//   DIR/stats.csv                       a row for each step
//   DIR/gauges/NAME.csv                 a file for each gauge
//   DIR/particles/000000.ply            a file for each frame, numbered by frame
//   DIR/fields/000000.vti
//   DIR/surface/000000.ply or .obj
//   DIR/foam/000000.ply
//   DIR/bodies/000000.ply and .csv
//   DIR/vdb/000000.vdb
//   DIR/paraview/run.pvd, particles_000000.vtp, surface_000000.vtp, foam_000000.vtp
//   DIR/checkpoints/step-00000000.brim  named by step, since an interrupt comes between frames;
//                                       the newest two are kept, so a damaged one has a predecessor
//   ....brim-tmp                        beside any of these: being written, or left by a crash
//   ....damaged                         a checkpoint that failed its checksums, put aside by resume
//
// Files with other names are never touched.
#pragma once
#include "brim/brim.h"
#include <stdint.h>

typedef enum FolderState {
    FOLDER_MISSING,
    FOLDER_EMPTY, ///< or with leftovers of writing alone
    FOLDER_RUN,   ///< holds a run.json
    FOLDER_OTHER, ///< holds something else
} FolderState;

/// Reads only.
BrimResult folder_state(const char *folder, FolderState *state, BrimError *error);
/// Takes the folder for this process until *lock is closed; BRIM_ERROR_INPUT when another has it.
BrimResult folder_lock(const char *folder, int *lock, BrimError *error);
/// Creates the folders for what a run writes, with bodies and gauges if there are some.
BrimResult folder_prepare(const char *folder, const BrimOutputDef *output, bool bodies, bool gauges,
                          BrimError *error);
/// Removes the files of a run but run.json, checkpoints first, and the folders that this left
/// empty.
BrimResult folder_empty(const char *folder, BrimError *error);
/// The same, and run.json last.
BrimResult folder_clear(const char *folder, BrimError *error);
/// Removes leftovers of writing.
void folder_sweep(const char *folder);

/// Whether the run came further than frame 0. Reads only.
BrimResult folder_has_frames(const char *folder, bool *any, BrimError *error);

/// Steps of the checkpoints in the folder, newest first, in new memory. No folder: none.
BrimResult folder_checkpoints(const char *folder, int64_t **steps, int *count, BrimError *error);
/// Removes all checkpoints but the newest two.
void folder_prune(const char *folder);

/// Paths in new memory; NULL when out of memory.
char *checkpoint_path(const char *folder, int64_t step);
char *particles_path(const char *folder, int frame);
/// warped: a structured grid instead of an image.
char *fields_path(const char *folder, int frame, bool warped);
char *foam_path(const char *folder, int frame);
char *bodies_path(const char *folder, int frame, const char *ending);
char *vdb_path(const char *folder, int frame);
/// The sub-folder for ParaView.
char *paraview_path(const char *folder);
char *gauge_path(const char *folder, const char *name);
char *surface_path(const char *folder, int frame, BrimMeshFormat format);
