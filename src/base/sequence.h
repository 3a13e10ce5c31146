// Numbered files: the frames of a mesh that deforms.
#pragma once
#include "brim/brim.h"

typedef struct SequenceFile {
    long number;
    char *path;
} SequenceFile;

/// By number, without gaps.
typedef struct Sequence {
    SequenceFile *file;
    int count;
    size_t room;
} Sequence;

/// The files, two or more, that end in .obj, .ply or .stl, of a pattern with # for the digits of
/// the number, or of a folder that holds one sequence.
BrimResult sequence_find(const char *path, Sequence *files, BrimError *error);
void sequence_free(Sequence *files);
