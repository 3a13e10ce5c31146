// Points and triangles as VTK PolyData (.vtp): XML with the numbers appended as raw binary.
#pragma once
#include "brim/brim.h"

typedef enum VtpType { VTP_FLOAT32, VTP_UINT32, VTP_UINT8 } VtpType;

/// An array with a value for each point, wherever its numbers lie: component c of point i is at
/// (char *)part[c] + i * stride.
typedef struct VtpArray {
    const char *name;
    VtpType type;
    int components; ///< 1 or 3
    const void *part[3];
    size_t stride; ///< bytes
} VtpArray;

enum { VTP_ARRAYS = 16 };

/// What a file holds. Without triangles each point is a cell of its own, so that ParaView draws it.
typedef struct VtpData {
    size_t points;
    VtpArray position; ///< three components; its name does not matter
    VtpArray array[VTP_ARRAYS];
    int array_count;
    bool surface; ///< cells are the triangles, even when there are none
    size_t triangles;
    const uint32_t (*triangle)[3];
} VtpData;

/// The file appears when it is complete. BRIM_ERROR_INPUT beyond 2^31 - 1 points or corners.
BrimResult vtp_write(const VtpData *data, double time, int frame, const char *path,
                     BrimError *error);
