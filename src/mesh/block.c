// The particles around a tile, gathered into one small array with their mirror images.
#include "base/memory.h"
#include "mesh/carried.h"
#include "mesh/stretch.h"
#include <stdlib.h>
#include <string.h>

enum { PADDING = 15 };

/// Bit x of row [z][y] of the block.
typedef uint32_t Rows[BLOCK_EDGE][BLOCK_EDGE];

void block_free(Block *b) {
    for (int a = 0; a < 3; a++) {
        free(b->x[a]), free(b->v[a]);
        b->x[a] = b->v[a] = NULL;
    }
    for (int a = 0; a < 7; a++) {
        free(b->g[a]);
        b->g[a] = NULL;
    }
    for (int a = 0; a < 5; a++) {
        free(b->carried[a]);
        b->carried[a] = NULL;
    }
    b->capacity = 0;
}

static bool reserve(Block *b, size_t count, bool stretched, bool carried) {
    if (count + PADDING <= b->capacity) return true;
    block_free(b);
    size_t room = count + count / 4 + PADDING;
    for (int a = 0; a < 3; a++) {
        b->x[a] = memory_zero(room * sizeof(float)), b->v[a] = memory_zero(room * sizeof(float));
        if (!b->x[a] || !b->v[a]) return false;
    }
    for (int a = 0; a < 7 && stretched; a++) {
        b->g[a] = memory_zero(room * sizeof(float));
        if (!b->g[a]) return false;
    }
    for (int a = 0; a < 5 && carried; a++) {
        b->carried[a] = memory_zero(room * sizeof(float));
        if (!b->carried[a]) return false;
    }
    b->capacity = room;
    return true;
}

static uint32_t spread_bits(uint32_t bits, int by) {
    uint32_t out = bits;
    for (int i = 1; i <= by; i++) out |= bits << i | bits >> i;
    return out;
}

/// Whether the surface may pass a cell: it is active, or deep but beside a side or, in a tile near
/// a solid, anywhere.
static bool may_have_surface(const MeshScale *scale, const Bins *bins, const int at[3],
                             bool near_solid) {
    int64_t cell = grid_cell(&bins->grid, at[0], at[1], at[2]);
    if (cell < 0) return false;
    if (bins->active[cell >> 3] >> (cell & 7) & 1) return true;
    if (!(bins->deep[cell >> 3] >> (cell & 7) & 1)) return false;
    for (int a = 0; a < 3; a++)
        if (at[a] == 0 || at[a] == scale->cells[a] - 1) return true;
    return near_solid;
}

/// Cells within the halo of those that the tile's nodes touch and the surface may pass. Returns
/// whether there are any.
static bool find_needed(const Block *b, const MeshScale *scale, const Bins *bins, bool near_solid,
                        Rows needed) {
    int h = scale->halo;
    bool any = false;
    Rows rows = {0};
    for (int z = h; z < h + TOUCH; z++)
        for (int y = h; y < h + TOUCH; y++)
            for (int x = h; x < h + TOUCH; x++) {
                const int at[3] = {b->origin[0] + x, b->origin[1] + y, b->origin[2] + z};
                if (!may_have_surface(scale, bins, at, near_solid)) continue;
                rows[z][y] |= 1u << x;
                any = true;
            }
    memset(needed, 0, sizeof(Rows));
    for (int z = h; z < h + TOUCH; z++) {
        uint32_t across[BLOCK_EDGE] = {0};
        for (int y = h; y < h + TOUCH; y++)
            for (int k = y - h; k <= y + h; k++) across[k] |= spread_bits(rows[z][y], h);
        for (int y = 0; y < b->edge; y++)
            for (int k = z - h; k <= z + h; k++) needed[k][y] |= across[y];
    }
    return any;
}

/// The cell of the domain that a coordinate shows, behind a side its mirror image. False when the
/// domain is too small to have one.
static bool mirror(int cells, int *at, float *flip, float *shift) {
    *flip = 1, *shift = 0;
    if (*at < 0) {
        *at = -1 - *at;
        *flip = -1;
    } else if (*at >= cells) {
        *at = 2 * cells - 1 - *at;
        *flip = -1, *shift = 2.0f * (float)cells;
    }
    return *at >= 0 && *at < cells;
}

typedef struct Image {
    uint32_t first, end; ///< in bins->order
    float flip[3], shift[3];
} Image;

static Image image_of(const Block *b, const MeshScale *scale, const Bins *bins, int x, int y,
                      int z) {
    int at[3] = {b->origin[0] + x, b->origin[1] + y, b->origin[2] + z};
    Image image = {0};
    for (int a = 0; a < 3; a++)
        if (!mirror(scale->cells[a], &at[a], &image.flip[a], &image.shift[a])) return image;
    int64_t cell = grid_cell(&bins->grid, at[0], at[1], at[2]);
    if (cell >= 0) image.first = bins->start[cell], image.end = bins->start[cell + 1];
    return image;
}

static void copy(Block *b, const BlockInput *in, const Image *image) {
    const MeshScale *scale = in->scale;
    const BrimParticles *p = in->particles;
    const float *const x[3] = {p->x, p->y, p->z};
    const float *const v[3] = {p->vx, p->vy, p->vz};
    for (uint32_t k = image->first; k < image->end; k++, b->count++) {
        uint32_t i = in->bins->order[k];
        if (in->carried) {
            float knows[5];
            carried_at(in->carried, p, i, knows);
            for (int a = 0; a < 3; a++) knows[1 + a] *= image->flip[a];
            for (int a = 0; a < 5; a++) b->carried[a][b->count] = knows[a];
        }
        for (int a = 0; a < 3; a++) {
            float at = space_to_grid(scale->space, x[a][i]);
            at = at < 0 ? 0 : at > (float)scale->cells[a] ? (float)scale->cells[a] : at;
            if (in->stretched) at = in->stretched[k].position[a];
            b->x[a][b->count] = at * image->flip[a] + image->shift[a];
            b->v[a][b->count] = v[a] ? v[a][i] * image->flip[a] : 0;
        }
        if (!in->stretched) continue;
        for (int a = 0; a < 3; a++) {
            b->g[a][b->count] = in->stretched[k].g[a];
            b->g[3 + a][b->count] =
                in->stretched[k].g[3 + a] * image->flip[a] * image->flip[(a + 1) % 3];
        }
        b->g[6][b->count] = in->stretched[k].weight;
    }
}

bool block_fill(Block *b, const BlockInput *in, const int tile[3], bool near_solid) {
    b->edge = TOUCH + 2 * in->scale->halo;
    for (int a = 0; a < 3; a++) b->origin[a] = TILE * tile[a] - 2 - in->scale->halo;
    Rows needed;
    b->count = 0;
    if (in->all)
        memset(needed, 0xff, sizeof needed);
    else if (!find_needed(b, in->scale, in->bins, near_solid, needed))
        return true;
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass && !reserve(b, count, in->stretched, in->carried)) return false;
        uint32_t *start = b->start;
        b->count = 0;
        for (int z = 0; z < b->edge; z++)
            for (int y = 0; y < b->edge; y++)
                for (int x = 0; x < b->edge; x++) {
                    *start++ = b->count;
                    if (!(needed[z][y] >> x & 1)) continue;
                    Image image = image_of(b, in->scale, in->bins, x, y, z);
                    count += image.end - image.first;
                    if (pass) copy(b, in, &image);
                }
        *start = b->count;
    }
    return true;
}
