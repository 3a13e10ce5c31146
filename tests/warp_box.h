// A box of water that stands still, with a mesh bent towards a body: for tests of the warped grid's
// mesh and pressure.
#pragma once
#include "base/hash.h"
#include "test.h"
#include "warp/still.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline double unit(uint64_t id, uint64_t step) {
    return (double)hash_unit(hash_3(21, id, step), 0);
}

/// A ball, or with radius 0 the half-space below a plane.
typedef struct Body {
    double at[3], normal[3], radius;
} Body;

static inline double distance(const void *context, const double x[3]) {
    const Body *b = context;
    double square = 0, height = 0;
    for (int a = 0; a < 3; a++) {
        square += (x[a] - b->at[a]) * (x[a] - b->at[a]);
        height += (x[a] - b->at[a]) * b->normal[a];
    }
    return b->radius > 0 ? sqrt(square) - b->radius : height;
}

static inline void box_init(StillBox *s, int dim, int nx, int ny, int nz, double strength,
                            int coarse, const Body *towards) {
    BrimError error;
    if (still_init(s, dim, (int[3]){nx, ny, nz}, strength, coarse, 1, &error) != BRIM_OK ||
        (strength > 0 && still_bend(s, distance, towards, &error) != BRIM_OK)) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
}

#define EACH_CELL(s)                                 \
    for (int z = 0; z < (s)->grid.cells[2]; z++)     \
        for (int y = 0; y < (s)->grid.cells[1]; y++) \
            for (int x = 0; x < (s)->grid.cells[0]; x++)

static inline bool was_updated(const StillBox *s, int64_t cell) {
    return s->updated[cell >> TILE_SHIFT] >> (cell & 7) & 1;
}

/// Numbers of an experiment; its arrays are released.
static inline BrimWarpTest case_of(BrimWarpTestDef def) {
    BrimWarpTest t, numbers;
    BrimError error;
    def.threads = 1;
    if (brim_warp_test(&def, &t, &error) != BRIM_OK) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    numbers = t;
    brim_warp_test_free(&t);
    return numbers;
}
