// Linear systems hold the tiles that have unknowns, one after the other: in a splash every third
// tile has none.
#include "step/system.h"
#include "step/guard.h"

bool system_begin(BrimSim *s, const int32_t *at) {
    PoissonRoom room;
    Grid *part = &s->projection.system;
    if (!grid_part(part, &s->grid, at, s->team) ||
        !poisson_room(s->projection.poisson, part, &room))
        return false;
    if (!GUARD_SHARES) return true; // each has pages of its own
    for (int a = 0; a < s->dim; a++) s->coefficient[a] = room.a[a];
    s->diagonal = room.diag, s->rhs = room.rhs;
    return true;
}

bool system_prepare(BrimSim *s) {
    bool ok =
        poisson_prepare(s->projection.poisson, &s->projection.system, NULL, s->coefficient[0],
                        s->coefficient[1], s->dim == 3 ? s->coefficient[2] : NULL, s->diagonal);
    if (!GUARD_SHARES) return ok;
    for (int a = 0; a < s->dim; a++) s->coefficient[a] = NULL; // the solver's vectors are there
    s->diagonal = NULL;
    return ok;
}

/// used: NULL for all tiles.
static bool arrange(BrimSim *s, const uint8_t *used) {
    int count = 0, place = 0;
    bool same = true;
    for (int t = 0; t < s->grid.tile_count; t++) count += !used || used[t];
    if (!fields_reserve(s, WHERE_WET, (size_t)count)) return false;
    for (int t = 0; t < s->grid.tile_count; t++) {
        bool here = !used || used[t];
        if (here) s->wet_from[place++] = s->wet_at[t] - 1;
        same &= s->wet_at[t] == (here ? place : 0);
        s->wet_at[t] = here ? place : 0;
    }
    if (!same) fields_follow(s, WHERE_WET, s->wet_from, count);
    return true;
}

bool wet_arrange(BrimSim *s) {
    return arrange(s, s->wet);
}

bool wet_arrange_all(BrimSim *s) {
    return arrange(s, NULL);
}
