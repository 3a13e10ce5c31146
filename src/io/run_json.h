// run.json: what a folder's run was made from and on.
#pragma once
#include "brim/brim.h"

/// `scene_hash` is def_hash of the scene's def.
BrimResult run_json_write(const char *path, const BrimScene *scene, const BrimSim *sim,
                          uint64_t scene_hash, BrimError *error);
/// The hash in a run.json. BRIM_ERROR_INPUT when the file is not one of Brim's.
BrimResult run_json_hash(const char *path, uint64_t *scene_hash, BrimError *error);
