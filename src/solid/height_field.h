// Ground below a height given on a regular grid over x and z, each cell split into two triangles.
#pragma once
#include "brim/brim.h"

typedef struct HeightField {
    int nx, nz;      ///< nodes; nz = 1 when the height does not depend on z
    float dx, dz;    ///< spacing, m
    float *height;   ///< [nz][nx], m
    float low, high; ///< smallest and largest height
    int blocks_x, blocks_z;
    float *block_low, *block_high; ///< [blocks_z][blocks_x] over squares of cells
    float reach;                   ///< distances are exact up to this, m
    int reach_x, reach_z;          ///< the same in cells
} HeightField;

/// From the def's heights, file or canyon; all lengths are in the shape's own units, `resolution`
/// too. In 2D the height is that of the first row (z = 0), or along the bed of a canyon.
BrimResult height_field_new(const BrimShapeDef *def, int dim, double resolution, HeightField *field,
                            BrimError *error);
void height_field_free(HeightField *field);
size_t height_field_bytes(const HeightField *field);

/// Signed distance; exact up to three times the resolution, beyond it a bound that is not above
/// the distance and not below `reach`. (x, y, z) [n] => out [n]
void height_field_distance(const HeightField *field, int n, const float *x, const float *y,
                           const float *z, float *out);

/// Height of a canyon, m; (x, z) from the corner of the field, `middle` the z about which it winds.
float canyon_height(const BrimCanyonDef *def, double middle, double x, double z);
/// z of the middle of the bed at x.
double canyon_middle(const BrimCanyonDef *def, double middle, double x);
BrimResult canyon_check(const BrimCanyonDef *def, BrimError *error);

/// A grey picture. Values are [rows][columns] from 0 to 1.
typedef struct Picture {
    int columns, rows;
    float *value;
} Picture;

/// PGM, ascii (P2) or binary (P5), 8 or 16 bit. Release value with free().
BrimResult picture_parse_pgm(const uint8_t *data, size_t size, const char *name, Picture *picture,
                             BrimError *error);
