// Blocks of particles -> grid, in waves. A block is several times as large as a tile's fields, and
// needed only until the tiles around it have summed it: tiles are numbered layer by layer, so three
// layers of blocks are enough, and the next ones take the places of those that are done.
#include "step/scatter.h"
#include "grid/mask.h"

static int layer_of(const Grid *g, int slot) {
    return g->dim == 3 ? g->coord[slot].z : g->coord[slot].y;
}

/// The first tile of the next layer.
static int layer_end(const Grid *g, int slot) {
    int end = slot + 1;
    while (end < g->tile_count && layer_of(g, end) == layer_of(g, slot)) end++;
    return end;
}

/// Numbers the blocks. => scatter_at; returns for how many there shall be room: the most of three
/// layers in a row, which a layer needs, or as many as keep all threads busy in a wave
static size_t number_blocks(BrimSim *s) {
    const Grid *g = &s->grid;
    size_t blocks = 0, begin[3] = {0}, most = 0; // where the last three layers begin
    for (int t = 0; t < g->tile_count; t++) {
        if (t > 0 && layer_of(g, t) != layer_of(g, t - 1))
            begin[0] = begin[1], begin[1] = begin[2], begin[2] = blocks;
        bool here = tile_first(&s->particles, t) != tile_end(&s->particles, t);
        s->scatter_at[t] = here ? (int32_t)blocks++ : -1;
        if (blocks - begin[0] > most) most = blocks - begin[0];
    }
    size_t busy = scatter_wave(team_threads(s->team));
    return busy <= most ? most : busy < blocks ? busy : blocks;
}

static size_t blocks_between(const BrimSim *s, int first, int end) {
    size_t blocks = 0;
    for (int t = first; t < end; t++) blocks += s->scatter_at[t] >= 0;
    return blocks;
}

bool scatter_run(BrimSim *s, const Scatter *scatter) {
    const Grid *g = &s->grid;
    if (!work_fit(&s->work, number_blocks(s) * scatter->floats)) return false;
    const size_t room = s->work.capacity / scatter->floats;
    for (int t = 0; t < g->tile_count; t++)
        if (s->scatter_at[t] >= 0) s->scatter_at[t] = (int32_t)((size_t)s->scatter_at[t] % room);
    size_t held = 0;                    // blocks that are not done
    int before = 0, taken = 0, end = 0; // a layer below `taken` is still read
    while (taken < g->tile_count) {
        const int first = end;
        int last = end; // of the layers filled, where the uppermost begins
        while (end < g->tile_count) {
            int next = layer_end(g, end);
            size_t more = blocks_between(s, end, next);
            if (held + more > room) break;
            held += more, last = end, end = next;
        }
        tiles_between(s, first, end, scatter->fill, scatter->context);
        if (end == g->tile_count) last = end;
        tiles_between(s, taken, last, scatter->take, scatter->context);
        int below = before; // the layer before `last`
        for (int t = before; t < last; t = layer_end(g, t)) below = t;
        held -= blocks_between(s, before, below);
        before = below, taken = last;
    }
    return true;
}

ScatterRows scatter_reach(const BrimSim *s, int slot) {
    ScatterRows out = {{0}, 0};
    for (int z = 0; z < s->grid.tile_depth; z++) {
        uint64_t slice = mask_word(&s->grid, s->particles.occupied, slot, z);
        unsigned rows = mask_rows(slice), columns = mask_columns(slice);
        rows |= rows << 1 | rows << 2;
        out.columns |= (uint16_t)(columns | columns << 1 | columns << 2);
        for (int k = z; k <= (s->dim == 3 ? z + 2 : z); k++) out.rows[k] |= (uint16_t)rows;
    }
    return out;
}
