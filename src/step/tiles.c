#include "step/tiles.h"

/// A few tiles keep one thread busy; more would only wait for one another.
enum { TILES_A_THREAD = 12 };

typedef struct TileLoop {
    BrimSim *s;
    TileTask *task;
    void *context;
    int first;
} TileLoop;

static void visit_tile(void *context, int index, int thread) {
    const TileLoop *loop = context;
    loop->task(loop->s, loop->first + index, thread, loop->context);
}

void tiles_for(BrimSim *s, TileTask *task, void *context) {
    tiles_between(s, 0, s->grid.tile_count, task, context);
}

void tiles_between(BrimSim *s, int first, int end, TileTask *task, void *context) {
    TileLoop loop = {s, task, context, first};
    team_for(s->team, end - first, TILES_A_THREAD, visit_tile, &loop);
}
