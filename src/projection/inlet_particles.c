// Particles that read from faces that sources hold.
#include "projection/inlet.h"
#include "step/stages.h"
#include "step/to_particles.h"

/// Lower faces along an axis that sources hold, 1, and others, 0, in a block of halo 1. False:
/// there are none.
static bool load_held(const BrimSim *s, int slot, int axis, float *block) {
    const int deep = s->dim == 3, cells = s->grid.tile_cells;
    bool any = false;
    for (int z = -deep; z <= (deep ? TILE : 0); z++)
        for (int y = -1; y <= TILE; y++)
            for (int x = -1; x <= TILE; x++) {
                int64_t at = grid_near(&s->grid, slot, x, y, z);
                const InletTile *inlet = at < 0 ? NULL : inlet_at(s, (int)(at / cells));
                bool held = inlet && mask_has(&inlet->held[2 * axis], (int)(at % cells));
                *block++ = held, any |= held;
            }
    return any;
}

void inlet_take(const BrimSim *s, int slot, const Span *span, ThreadScratch *scratch) {
    float *flip[3] = {scratch->block[3], scratch->block[4], scratch->block[5]};
    float *held = scratch->block[6];
    const float *blocks[3] = {0};
    bool near = false;
    for (int n = 0; n < 27; n++) {
        int32_t t = s->grid.neighbour[slot][n];
        near |= t >= 0 && inlet_at(s, t);
    }
    if (!near) return;
    read_blocks(s, slot, s->velocity, scratch, blocks);
    for (uint32_t done = 0, n; done < (uint32_t)span->count; done += n) {
        n = (uint32_t)span->count - done < BLOCK_MAX ? (uint32_t)span->count - done : BLOCK_MAX;
        Span part = span_part(span, done, n);
        take_grid(s, &part, blocks, flip);
        for (int a = 0; a < s->dim; a++) {
            bool any = load_held(s, slot, a, held);
            for (uint32_t i = 0; i < n; i++) {
                float share = any ? span_value(s, &part, held, (Place)a, i) : 0;
                float *v = &part.attr[ATTR_VX + a][i];
                *v = share > 0 ? *v + (1 - share) * (flip[a][i] - *v) : flip[a][i];
            }
        }
    }
}
