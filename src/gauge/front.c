// Position of a front: how far along an axis the level set says that there is water, in a box.
#include "gauge/gauge.h"
#include "warp/space.h"
#include <math.h>
#include <stdlib.h>

/// Where the surface lies beyond a liquid cell in a direction, in cells from its middle; < 0 where
/// the liquid goes on.
static double way_to_surface(const BrimSim *s, int slot, int cell, int axis, int direction) {
    double inside = s->phi[(int64_t)slot * s->grid.tile_cells + cell];
    int64_t next = grid_step(&s->grid, slot, cell, axis, direction);
    double outside = next < 0 ? LEVEL_SET_CUT : s->phi[next];
    return outside < 0 ? -1 : inside / (inside - outside);
}

/// On a warped grid: by the liquid nodes, and where edges from them meet the surface.
static void share_of_nodes(const BrimSim *s, int slot, const BrimGaugeDef *gauge,
                           TileShare *share) {
    const float from[3] = {gauge->from.x, gauge->from.y, gauge->from.z};
    const float to[3] = {gauge->to.x, gauge->to.y, gauge->to.z};
    const int axis = gauge->towards >> 1, direction = gauge->towards & 1 ? 1 : -1;
    const TileCoord c = s->grid.coord[slot];
    for (int i = 0; i < s->grid.tile_cells; i++) {
        const float here = s->phi[(int64_t)slot * s->grid.tile_cells + i];
        if (here >= 0) continue;
        for (int n = 0; n < 2 * s->dim; n++) {
            const int64_t next = grid_step(&s->grid, slot, i, n >> 1, n & 1 ? 1 : -1);
            const float there = next < 0 ? LEVEL_SET_CUT : s->phi[next];
            float at[3] = {(float)(c.x * TILE + (i & 7)), (float)(c.y * TILE + (i >> 3 & 7)),
                           s->dim == 3 ? (float)(c.z * TILE + (i >> 6)) : 0};
            const float way = there < 0 ? 0 : here / (here - there);
            at[n >> 1] += n & 1 ? way : -way;
            bool inside = at[n >> 1] >= 0 && at[n >> 1] <= (float)s->grid.cells[n >> 1];
            warp_to_place(s, at);
            for (int a = 0; a < s->dim; a++) {
                at[a] *= s->dx;
                if (a != axis) inside &= at[a] >= from[a] && at[a] <= to[a];
            }
            if (!inside || (double)(direction * at[axis]) <
                               direction * (double)(direction > 0 ? from : to)[axis])
                continue;
            const double place = fmin(fmax((double)at[axis], (double)from[axis]), (double)to[axis]);
            if (share->value[1] == 0 || direction * place > direction * share->value[0])
                share->value[0] = place;
            share->value[1] = 1;
        }
    }
}

/// value[0]: the farthest place along the direction, m; value[1]: whether there is water.
static void share_of_tile(const BrimSim *s, int slot, const BrimGaugeDef *gauge, TileShare *share) {
    const float from[3] = {gauge->from.x, gauge->from.y, gauge->from.z};
    const float to[3] = {gauge->to.x, gauge->to.y, gauge->to.z};
    const int axis = gauge->towards >> 1, direction = gauge->towards & 1 ? 1 : -1;
    TileCoord c = s->grid.coord[slot];
    const int corner[3] = {c.x * TILE, c.y * TILE, c.z * TILE};
    bool any = false;
    if (s->warp) {
        share_of_nodes(s, slot, gauge, share);
        return;
    }
    for (int cell = 0; cell < s->grid.tile_cells; cell++) {
        const int local[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
        double middle[3];
        bool inside = s->phi[(int64_t)slot * s->grid.tile_cells + cell] < 0;
        for (int a = 0; a < s->dim && inside; a++) {
            int index = corner[a] + local[a];
            middle[a] = (index + 0.5) * s->dx;
            // cells that the box touches; along the axis the place itself is cut
            inside &= index < s->grid.cells[a] && middle[a] > (double)from[a] - 0.5 * s->dx &&
                      middle[a] < (double)to[a] + 0.5 * s->dx;
        }
        if (!inside) continue;
        double way = way_to_surface(s, slot, cell, axis, direction);
        int index = corner[axis] + local[axis];
        bool last = index == (direction > 0 ? s->grid.cells[axis] - 1 : 0);
        if (last) way = fmin(way < 0 ? 0.5 : way, 0.5); // the side of the domain
        if (way < 0) way = 0.5;                         // goes on, perhaps beyond the box
        double place = middle[axis] + direction * way * s->dx;
        place = fmin(fmax(place, from[axis]), to[axis]);
        if (!any || direction * place > direction * share->value[0]) share->value[0] = place;
        any = true;
    }
    share->value[1] = any;
}

bool gauge_front(const BrimSim *s, const BrimGaugeDef *gauge, double *value) {
    TileShare *shares = gauge_shares(s, gauge, share_of_tile);
    int direction = gauge->towards & 1 ? 1 : -1;
    if (!shares) return false;
    value[0] = NAN;
    for (int t = 0; t < s->grid.tile_count; t++) {
        if (shares[t].value[1] == 0) continue;
        double place = shares[t].value[0];
        if (!(direction * place <= direction * value[0])) value[0] = place;
    }
    free(shares);
    return true;
}
