// Triangles of the zero level of a distance, with sharp edges kept: dual contouring (Ju, Losasso,
// Schaefer and Warren 2002).
#pragma once
#include "look/look.h"

typedef struct ContourField {
    /// (x, y, z) [n] => distance [n], negative inside, nowhere larger than the true distance.
    void (*distance)(const void *context, int n, const float *x, const float *y, const float *z,
                     float *distance);
    const void *context;
    BrimVec3 low;  ///< of the first node, m
    float spacing; ///< of nodes, m
    int nodes[3];
    Team *team; ///< NULL: the caller alone
} ContourField;

typedef struct Contour {
    size_t vertex_count, triangle_count;
    float *position;    ///< [vertices][3]
    uint32_t *triangle; ///< [triangles][3], counter-clockwise from outside
} Contour;

/// A closed mesh when the distance is positive on all outermost nodes. BRIM_ERROR_MEMORY only.
BrimResult contour_new(const ContourField *field, Contour *contour, BrimError *error);
void contour_free(Contour *contour);
