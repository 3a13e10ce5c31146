// Sources that begin at a side of the domain: the side is a wall through which their stream comes,
// for the pressure, and for velocities beside it.
#include "base/memory.h"
#include "emit/stream.h"
#include "projection/inlet.h"
#include "warp/nodal_cell.h"
#include "warp/space.h"
#include "warp/stage.h"
#include <math.h>
#include <string.h>

/// A face on a side of the domain, by the cell before it.
typedef struct SideFace {
    int cell[3], axis, far;
} SideFace;

/// Part of a face that a source is before: its shape, half a cell from the side.
static float part_before(const BrimSim *s, const Source *source, const SideFace *f) {
    enum { ALONG = 4 };
    float x[ALONG * ALONG], y[ALONG * ALONG], z[ALONG * ALONG], d[ALONG * ALONG];
    const int u = (f->axis + 1) % s->dim, v = s->dim == 3 ? (f->axis + 2) % 3 : f->axis;
    const int count = s->dim == 3 ? ALONG * ALONG : ALONG;
    int inside = 0;
    for (int k = 0; k < count; k++) {
        float at[3] = {(float)f->cell[0], (float)f->cell[1], (float)f->cell[2]};
        at[f->axis] += 0.5f;
        at[u] += ((float)(k % ALONG) + 0.5f) / ALONG;
        if (s->dim == 3) at[v] += ((float)(k / ALONG) + 0.5f) / ALONG;
        warp_to_place(s, at);
        x[k] = at[0] * s->dx, y[k] = at[1] * s->dx, z[k] = s->dim == 3 ? at[2] * s->dx : 0;
    }
    port_distance(source->shape, source->mover, count, x, y, z, d);
    for (int k = 0; k < count; k++) inside += d[k] < 0;
    return (float)inside / (float)count;
}

/// Whether a source's bounds come near a tile. Those that move may be anywhere.
static bool may_meet(const BrimSim *s, const Source *source, int slot) {
    float low[3], high[3];
    if (source->mover) return true;
    warp_tile_box(s, slot, 1, low, high);
    for (int a = 0; a < s->dim; a++)
        if (source->low[a] > high[a] || source->high[a] < low[a]) return false;
    return true;
}

/// What a source lets in through the sides of a tile's cells. out: [axis][cell] part, then flux.
static void add_source(const BrimSim *s, const Source *source, int slot, float *out) {
    const Grid *g = &s->grid;
    const int n = g->tile_cells;
    const TileCoord t = g->coord[slot];
    const int tile[3] = {t.x * TILE, t.y * TILE, s->dim == 3 ? t.z * TILE : 0};
    const SourceFlow flow = source_flow(s, source);
    for (int side = 0; side < 2 * s->dim; side++) {
        const int a = side >> 1, far = side & 1, layer = (far ? g->cells[a] - 1 : 0) - tile[a];
        const float inward = far ? -flow.relative[a] : flow.relative[a];
        if (s->sides.open[side] || layer < 0 || layer >= TILE || !(inward > 0)) continue;
        for (int i = 0; i < n; i++) {
            const SideFace face = {
                {tile[0] + (i & 7), tile[1] + (i >> 3 & 7), tile[2] + (i >> 6)}, a, far};
            bool inside = (i >> 3 * a & 7) == layer;
            for (int k = 0; k < 3; k++)
                inside = inside && (k >= s->dim || face.cell[k] < g->cells[k]);
            if (!inside) continue;
            const float part = part_before(s, source, &face);
            out[a * n + i] = fminf(1, out[a * n + i] + part);
            out[(3 + a) * n + i] += part * inward;
        }
    }
}

static bool may_let_in(const BrimSim *s, const Source *source, int slot) {
    return source_runs(s, source) && may_meet(s, source, slot);
}

/// => inlet_at: whether a source may let something in through sides of the tile's cells
static void mark_inlets(BrimSim *s, int slot, int thread, void *context) {
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x, t.y, t.z};
    bool side = false, here = false;
    for (int a = 0; a < s->dim; a++)
        side = side || tile[a] == 0 || (tile[a] + 1) * TILE >= s->grid.cells[a];
    for (int i = 0; side && i < s->source_count && !here; i++)
        here = may_let_in(s, &s->sources[i], slot);
    s->warp->inlet_at[slot] = here;
}

/// => inlet
static void fill_inlets(BrimSim *s, int slot, int thread, void *context) {
    const WarpState *w = s->warp;
    const size_t size = 6 * (size_t)s->grid.tile_cells;
    if (!w->inlet_at[slot]) return;
    float *out = w->inlet + size * ((size_t)w->inlet_at[slot] - 1);
    memset(out, 0, size * sizeof *out);
    for (int i = 0; i < s->source_count; i++)
        if (may_let_in(s, &s->sources[i], slot)) add_source(s, &s->sources[i], slot, out);
}

bool warp_find_inlets(BrimSim *s) {
    WarpState *w = s->warp;
    const size_t n = (size_t)s->grid.tile_cells, tiles = (size_t)s->grid.tile_count;
    bool any = false;
    w->inlet_count = 0;
    for (int i = 0; i < s->source_count; i++) any = any || source_runs(s, &s->sources[i]);
    if (!any) return true;
    if (!memory_fit((void **)&w->inlet_at, &w->inlet_at_capacity, sizeof *w->inlet_at, tiles))
        return false;
    tiles_for(s, mark_inlets, NULL);
    for (size_t slot = 0; slot < tiles; slot++)
        if (w->inlet_at[slot]) w->inlet_at[slot] = ++w->inlet_count;
    if (!memory_fit((void **)&w->inlet, &w->inlet_capacity, sizeof *w->inlet,
                    6 * n * (size_t)w->inlet_count))
        return false;
    tiles_for(s, fill_inlets, NULL);
    return true;
}

float warp_inlet_part(const BrimSim *s, int axis, int64_t cell) {
    const WarpState *w = s->warp;
    const int64_t n = s->grid.tile_cells;
    if (!w->inlet_count || !w->inlet_at[cell / n]) return 0;
    return w->inlet[((w->inlet_at[cell / n] - 1) * 6 + axis) * n + cell % n];
}

void warp_add_inlets(const BrimSim *s, int slot, float *b) {
    const WarpState *w = s->warp;
    const Grid *g = &s->grid;
    const int64_t n = g->tile_cells;
    double sum[512] = {0};
    bool any = false;
    int local[3];
    for (int k = 0; k < 27 && w->inlet_count && !any; k++)
        any = g->neighbour[slot][k] >= 0 && w->inlet_at[g->neighbour[slot][k]];
    if (!any) return;
    EACH_CELL_AROUND(g, local) {
        const int64_t at = grid_near(g, slot, local[0], local[1], local[2]);
        if (at < 0 || !w->inlet_at[at / n]) continue;
        const float *flux = w->inlet + ((w->inlet_at[at / n] - 1) * 6 + 3) * n + at % n;
        const TileCoord t = g->coord[slot];
        const int cell[3] = {t.x * TILE + local[0], t.y * TILE + local[1], t.z * TILE + local[2]};
        for (int a = 0; a < s->dim; a++) {
            if (flux[a * n] == 0) continue;
            double d[8][3];
            for (int k = 0; k < 8; k++) {
                const int c = k & ((1 << s->dim) - 1);
                const double xi[3] = {cell[0] + (c & 1), cell[1] + (c >> 1 & 1),
                                      cell[2] + (c >> 2)};
                map_displacement(&w->mesh.map, xi, d[k]);
            }
            nodal_side_flux(g->dim, (const double(*)[3])d, local, a, cell[a] != 0,
                            -(double)flux[a * n], sum);
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (w->op.smooth[slot * n + i] > 0) b[slot * n + i] += (float)sum[i];
}
