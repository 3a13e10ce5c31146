#pragma once
#include "brim/brim.h"
#include <stdint.h>
#include <stdio.h>

/// Reads a surface of `bytes` bytes that Brim wrote; messages name it by `path`. The mesh is empty
/// after an error.
BrimResult mesh_read(FILE *in, uint64_t bytes, const char *path, BrimMesh *mesh, BrimError *error);
