#include "step/tiles.h"

/// A few tiles keep one thread busy; more would only wait for one another.
enum { TILES_A_THREAD = 12 };

typedef struct TileLoop {
    BrimSim *s;
    TileTask *task;
    void *context;
} TileLoop;

static void visit_tile(void *context, int slot, int thread) {
    const TileLoop *loop = context;
    loop->task(loop->s, slot, thread, loop->context);
}

void tiles_for(BrimSim *s, TileTask *task, void *context) {
    TileLoop loop = {s, task, context};
    team_for(s->team, s->grid.tile_count, TILES_A_THREAD, visit_tile, &loop);
}
