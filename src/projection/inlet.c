// Inlets: what sources do to the flow.
//
// Inside a source that runs the stream has the source's velocity, whatever presses on it: faces
// that lie inside are held, as if a wall moved there; of a source whose stream runs into walls
// only those where it begins, and none where another source is in its way, since the stream has to
// find its own.
//
// The stream begins where its lines come into the source's shape, or out of a wall inside the
// shape. In air the surface there is free, and follows. With liquid or a wall behind it what comes
// in is an inflow into the cells there: with A the open part of a face inside the shape,
//   inflow = sum over faces of A v . n,    outflow - inflow = 0,
// so a wall lets the stream in, and liquid behind the source does not feel it.
#include "projection/inlet.h"
#include "base/memory.h"
#include "emit/stream.h"
#include "particles/seed.h"
#include "step/stages.h"
#include "walls/cut.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Shapes count as smaller by this many cells, so that a side on a grid plane holds no face.
static const float SHRUNK = 1e-3f;
/// Faces of which more than this part is inside are inside.
static const float WHOLE = 0.99f;
/// A source is blocked when more than this part of its stream runs into walls inside its shape or
/// where that ends.
static const double BLOCKED = 0.02;
/// Then only its first cells are held: faces so near to where it begins, cells.
static const float FIRST = 1.25f;
/// Lesser inflows than this part of the stream are rounding.
static const float LEAST = 1e-3f;

/// Samples along an axis, with a cell around the tile: at nodes, and half way between them for a
/// source that may lie between two of them.
enum { CELLS = TILE + 2, FINEST = 2, SAMPLES_MOST = FINEST * CELLS + 1 };

bool source_runs(const BrimSim *s, const Source *source) {
    if (s->time + s->dt <= source->def.start || s->time >= source->def.stop) return false;
    return source->points > 0 && (!source_varies(source) || source->pace > 0);
}

SourceFlow source_flow(const BrimSim *s, const Source *source) {
    SourceFlow f = {{0}, {0}};
    // the lattice's pace makes up for points that the shape's sides cut
    const float share = source->fine > 0 ? (float)(source->points / source->fine) : 1;
    SolidState state = {.velocity = {0}};
    if (source->mover) state = solid_state(source->mover);
    for (int a = 0; a < s->dim; a++) {
        f.shape[a] = state.velocity[a];
        f.relative[a] = (source->drift[a] - f.shape[a]) * share;
    }
    return f;
}

/// What all tests on a tile need of a source.
typedef struct Inlet {
    BrimSim *s;
    const Source *source;
    InletTile *out;
    int slot, first[3]; ///< cells of the domain before the tile's own
    SourceFlow flow;
    float speed;     ///< of the stream as the shape sees it, m/s
    int fine, count; ///< samples a cell, and all, along an axis
    float inside[SAMPLES_MOST * SAMPLES_MOST *
                 SAMPLES_MOST]; ///< at samples, cells; positive in the shape
    const uint8_t *liquid;      ///< [rows]
    double blocked;             ///< what runs into walls, m/s times faces
    bool solids;                ///< some are near the tile
    bool writes;                ///< velocity of held faces
} Inlet;

/// Whether nodes at a coordinate along an axis lie farther than a cell from a source's bounds.
static bool is_far(const Inlet *in, int axis, float x) {
    return x < in->source->low[axis] - in->s->dx || x > in->source->high[axis] + in->s->dx;
}

/// Distances at a tile's samples => inside; those far from the shape only by their sign. False:
/// none lies in it.
static bool sample_tile(Inlet *in) {
    const BrimSim *s = in->s;
    const int count = in->count;
    const float step = s->dx / (float)in->fine;
    bool any = false;
    for (int z = 0; z < (s->dim == 3 ? count : 1); z++)
        for (int y = 0; y < count; y++) {
            float px[SAMPLES_MOST], py[SAMPLES_MOST], pz[SAMPLES_MOST], d[SAMPLES_MOST];
            float *inside = in->inside + (z * count + y) * count;
            for (int x = 0; x < count; x++) {
                px[x] = (float)((in->first[0] - 1) * in->fine + x) * step;
                py[x] = (float)((in->first[1] - 1) * in->fine + y) * step;
                pz[x] = s->dim == 3 ? (float)((in->first[2] - 1) * in->fine + z) * step : 0;
                inside[x] = -1;
            }
            if (is_far(in, 1, py[0]) || (s->dim == 3 && is_far(in, 2, pz[0]))) continue;
            port_distance(in->source->shape, in->source->mover, count, px, py, pz, d);
            for (int x = 0; x < count; x++) {
                inside[x] = -d[x] * s->inv_dx - SHRUNK;
                any |= inside[x] > 0;
            }
        }
    return any;
}

/// The sample at the low corner of a cell. p: on the tile or beside it
static const float *sample_at(const Inlet *in, const int p[3]) {
    const int stride[3] = {in->fine, in->fine * in->count, in->fine * in->count * in->count};
    const float *at = in->inside;
    for (int k = 0; k < in->s->dim; k++) at += (p[k] - in->first[k] + 1) * stride[k];
    return at;
}

/// The part of a cell's face in direction n that lies in the shape. p: on the tile or beside it
static float covered(const Inlet *in, const int p[3], int n) {
    const int stride[3] = {1, in->count, in->count * in->count}, a = n >> 1, fine = in->fine;
    const float *at = sample_at(in, p);
    if (n & 1) at += fine * stride[a];
    float sum = 0;
    if (in->s->dim == 2) {
        const int b = stride[1 - a];
        for (int i = 0; i < fine; i++, at += b) sum += open_edge(at[0], at[b]);
        return sum / (float)fine;
    }
    const int b = stride[(a + 1) % 3], c = stride[(a + 2) % 3];
    for (int i = 0; i < fine; i++)
        for (int j = 0; j < fine; j++) {
            const float *q = at + i * b + j * c;
            sum += open_square(q[0], q[b], q[c], q[b + c]);
        }
    return sum / (float)(fine * fine);
}

/// Whether the stream runs along the shape's sides at a cell: it neither begins nor ends there.
static bool is_along(const Inlet *in, const int p[3]) {
    float sum = 0;
    for (int n = 0; n < 2 * in->s->dim; n++)
        sum += (n & 1 ? 1.0f : -1.0f) * covered(in, p, n) * in->flow.relative[n >> 1];
    return fabsf(sum) <= (1 - WHOLE) * in->speed;
}

/// Index of the face of a cell in direction n, -1 where no tile has it.
static int64_t face_of(const BrimSim *s, int slot, int cell, int n) {
    return n & 1 ? grid_step(&s->grid, slot, cell, n >> 1, 1)
                 : (int64_t)slot * s->grid.tile_cells + cell;
}

/// Whether a cell of the domain lies at a side in direction n.
static bool at_side(const BrimSim *s, const int p[3], int n) {
    return p[n >> 1] == (n & 1 ? s->grid.cells[n >> 1] - 1 : 0);
}

/// Whether a solid cuts a cell.
static bool is_cut(const Inlet *in, const int p[3]) {
    const BrimSim *s = in->s;
    if (!in->solids) return false;
    int64_t me = grid_cell(&s->grid, p[0], p[1], p[2]);
    if (me < 0) return true;
    int slot = (int)(me / s->grid.tile_cells), cell = (int)(me % s->grid.tile_cells);
    for (int n = 0; n < 2 * s->dim; n++) {
        int64_t face = face_of(s, slot, cell, n);
        if (face >= 0 && open_part(s, n >> 1, face) < 1) return true;
    }
    return false;
}

/// Velocity of the source's shape on a cell's face in direction n, m/s.
static float shape_velocity(const Inlet *in, const int p[3], int n) {
    const int a = n >> 1, b = (a + 1) % 3, c = (a + 2) % 3;
    const float *spin = in->source->spin, *centre = in->source->centre;
    float x[3];
    for (int k = 0; k < 3; k++) x[k] = ((float)p[k] + (k == a ? (float)(n & 1) : 0.5f)) * in->s->dx;
    if (in->s->dim == 2) x[2] = 0;
    return in->flow.shape[a] + spin[b] * (x[c] - centre[c]) - spin[c] * (x[b] - centre[b]);
}

/// What is at a point: outside of the shape, a wall, or room for the stream.
typedef enum Spot { SPOT_OUTSIDE, SPOT_WALL, SPOT_OPEN_SIDE, SPOT_ROOM } Spot;

static Spot spot_at(const BrimSim *s, const Source *source, const float x[3]) {
    float d;
    for (int a = 0; a < s->dim; a++) {
        if (x[a] < 0) return s->sides.open[2 * a] ? SPOT_OPEN_SIDE : SPOT_WALL;
        if (x[a] > (float)s->grid.cells[a] * s->dx)
            return s->sides.open[2 * a + 1] ? SPOT_OPEN_SIDE : SPOT_WALL;
    }
    for (int k = 0; k < s->walls.solid_count; k++) {
        if (!solid_exists(s->walls.solids[k], s->walls.time)) continue;
        solid_distance(s->walls.solids[k], 1, &x[0], &x[1], &x[2], &d);
        if (d < 0) return SPOT_WALL;
    }
    port_distance(source->shape, source->mover, 1, &x[0], &x[1], &x[2], &d);
    return d < 0 ? SPOT_ROOM : SPOT_OUTSIDE;
}

/// A point so many cells up a source's stream from another.
static void upstream(const BrimSim *s, const Source *source, const float x[3], float cells,
                     float up[3]) {
    const SourceFlow flow = source_flow(s, source);
    const float *v = flow.relative, speed = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int a = 0; a < 3; a++) up[a] = x[a] - (speed > 0 ? cells * s->dx * v[a] / speed : 0);
}

bool source_begins(const BrimSim *s, const Source *source, const float x[3]) {
    float up[3];
    upstream(s, source, x, FIRST, up);
    return spot_at(s, source, up) != SPOT_ROOM;
}

/// Whether a source but this one runs at a point.
static bool another_runs(const BrimSim *s, const Source *source, const float x[3]) {
    for (int k = 0; k < s->source_count; k++) {
        const Source *other = &s->sources[k];
        float d;
        bool near = other != source && source_runs(s, other);
        for (int a = 0; a < s->dim; a++)
            near = near && x[a] >= other->low[a] && x[a] <= other->high[a];
        if (!near) continue;
        port_distance(other->shape, other->mover, 1, &x[0], &x[1], &x[2], &d);
        if (d < 0) return true;
    }
    return false;
}

bool source_crossed(const BrimSim *s, const Source *source, const float x[3]) {
    float ahead[3];
    if (s->source_count < 2) return false;
    upstream(s, source, x, -1, ahead);
    return another_runs(s, source, x) || another_runs(s, source, ahead);
}

static bool is_liquid(const Inlet *in, const float x[3]) {
    const BrimSim *s = in->s;
    int p[3] = {0};
    for (int a = 0; a < s->dim; a++) p[a] = space_cell(s->space, x[a]);
    int64_t i = grid_cell(&s->grid, p[0], p[1], p[2]);
    return i >= 0 && in->liquid[i >> 3] >> (i & 7) & 1;
}

/// What lies behind a stream where it begins.
typedef enum Backing { BEHIND_AIR, BEHIND_WALL, BEHIND_LIQUID } Backing;

/// What lies behind the stream that begins at a cell: up the stream, after its last room, comes a
/// wall that reaches to the end of the shape, or within a cell a wall or liquid.
static Backing backing(const Inlet *in, const int p[3]) {
    enum { A_CELL = 4, FARTHEST = 256 }; // steps
    const BrimSim *s = in->s;
    Spot before = SPOT_OUTSIDE;
    int left = -1; // steps until one cell beyond the shape
    for (int k = -A_CELL; k < FARTHEST; k++) {
        float x[3] = {0};
        for (int a = 0; a < s->dim; a++)
            x[a] =
                ((float)p[a] + 0.5f - (float)k / A_CELL * in->flow.relative[a] / in->speed) * s->dx;
        Spot spot = spot_at(s, in->source, x);
        if (spot == SPOT_OPEN_SIDE) return BEHIND_AIR;
        if (left >= 0) { // behind the shape
            if (spot == SPOT_WALL) return BEHIND_WALL;
            if (left-- == 0) return is_liquid(in, x) ? BEHIND_LIQUID : BEHIND_AIR;
            continue;
        }
        if (spot == SPOT_ROOM && before == SPOT_WALL && k > A_CELL)
            return BEHIND_AIR; // around a solid
        if (spot == SPOT_OUTSIDE && before == SPOT_WALL) return BEHIND_WALL;
        if (spot == SPOT_OUTSIDE && before == SPOT_ROOM) left = A_CELL - 1;
        if (spot != SPOT_OUTSIDE) before = spot;
        if (spot == SPOT_WALL && k >= 0)
            for (int a = 0; a < s->dim; a++) // beyond a side there is nothing
                if (x[a] < 0 || x[a] > (float)s->grid.cells[a] * s->dx) return BEHIND_WALL;
    }
    return before == SPOT_WALL ? BEHIND_WALL : BEHIND_AIR;
}

/// Whether another source is in the stream's way at a cell.
static bool is_crossed(const Inlet *in, const int p[3]) {
    float x[3] = {0};
    for (int a = 0; a < in->s->dim; a++) x[a] = ((float)p[a] + 0.5f) * in->s->dx;
    return source_crossed(in->s, in->source, x);
}

/// Where the stream begins in a cell before liquid or a wall: its inflow.
static void begin_cell(Inlet *in, const int p[3], int cell) {
    const BrimSim *s = in->s;
    float inflow = 0, least = 1;
    for (int n = 0; n < 2 * s->dim; n++) {
        float part = covered(in, p, n), out = in->flow.relative[n >> 1];
        least = fminf(least, part);
        if (part == 0 || at_side(s, p, n)) continue;
        int64_t face = face_of(s, in->slot, cell, n);
        if (face >= 0 && s->walls.solid_count) part *= open_part(s, n >> 1, face);
        inflow += n & 1 ? part * out : -part * out;
    }
    const uint64_t bit = (uint64_t)1 << (cell & 63);
    if (least > WHOLE && !in->source->blocked && !is_crossed(in, p))
        in->out->full.slice[cell >> 6] |= bit;
    if (!in->liquid || inflow <= LEAST * in->speed) return; // displacements know no inflow
    Backing behind = backing(in, p);
    if (behind != BEHIND_AIR) in->out->inflow[cell] += inflow;
    if (behind == BEHIND_LIQUID && !is_cut(in, p)) in->out->behind.slice[cell >> 6] |= bit;
}

/// Whether a sample of a cell lies in the shape. p: on the tile or beside it
static bool is_met(const Inlet *in, const int p[3]) {
    const float *at = sample_at(in, p);
    const int fine = in->fine, count = in->count;
    bool met = false;
    for (int z = 0; z <= (in->s->dim == 3 ? fine : 0); z++)
        for (int y = 0; y <= fine; y++)
            for (int x = 0; x <= fine; x++) met |= at[(z * count + y) * count + x] > 0;
    return met;
}

/// Whether the stream begins in a cell of the domain before liquid.
static bool begins_at(const Inlet *in, const int p[3]) {
    const BrimSim *s = in->s;
    if (!s->projection.inlets.begins || !is_met(in, p)) return false;
    const int64_t cell = grid_cell(&s->grid, p[0], p[1], p[2]), cells = s->grid.tile_cells;
    const InletTile *inlet = cell < 0 ? NULL : inlet_at(s, (int)(cell / cells));
    return inlet && mask_has(&inlet->behind, (int)(cell % cells));
}

/// Holds a cell's face in direction n, if it lies inside. Where the stream begins before liquid
/// that is at rest: through faces there goes what the source covers of them, and none of what is
/// behind is drawn along, as particles of the stream do not read the velocity of held faces.
static void hold_face(const Inlet *in, const int p[3], int cell, int n) {
    const BrimSim *s = in->s;
    const int a = n >> 1;
    int next[3] = {p[0], p[1], p[2]};
    next[a] += n & 1 ? 1 : -1;
    TileMask *held = &in->out->held[n];
    if (at_side(s, p, n) || mask_has(held, cell)) return; // or another source holds it
    float part = covered(in, p, n);
    bool begins = begins_at(in, p) || begins_at(in, next);
    // of a cell that a side cuts the rest goes along, or it would flow into the source
    bool inside = begins || part > WHOLE;
    if (!inside) inside = part > LEAST && is_along(in, p) && is_along(in, next);
    if (!inside || is_cut(in, p) || is_cut(in, next)) return;
    if (is_crossed(in, p) || is_crossed(in, next)) return;
    float x[3] = {0};
    for (int k = 0; k < s->dim; k++)
        x[k] = ((float)p[k] + (k == a ? (float)(n & 1) : 0.5f)) * s->dx;
    if (in->source->blocked && !source_begins(s, in->source, x)) return;
    held->slice[cell >> 6] |= (uint64_t)1 << (cell & 63);
    float shape = shape_velocity(in, p, n), stream = in->flow.relative[a];
    float flow = shape + (begins ? part * stream : stream);
    in->out->inflow[cell] -= n & 1 ? flow : -flow;
    if (in->writes && !(n & 1))
        s->velocity[a][(size_t)in->slot * (size_t)s->grid.tile_cells + (size_t)cell] =
            begins ? shape : flow;
}

static void hold_cell(Inlet *in, const int p[3], int cell) {
    for (int n = 0; n < 2 * in->s->dim; n++) hold_face(in, p, cell, n);
}

/// What is done to all tiles at sources.
typedef struct Finding {
    const uint8_t *liquid; ///< [rows]
    bool writes;
    void (*visit)(Inlet *in, const int p[3], int cell);
} Finding;

static void start(Inlet *in, const Source *source) {
    in->source = source, in->flow = source_flow(in->s, source);
    const float *v = in->flow.relative;
    in->speed = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    in->fine = 1;
    for (int a = 0; a < in->s->dim; a++) // no wider than a cell: nodes may see nothing of it
        if (source->high[a] - source->low[a] < (1 + 2 * SHRUNK) * in->s->dx) in->fine = FINEST;
    in->count = in->fine * CELLS + 1;
}

/// Visits the cells of a tile that a source may meet; all: also those beside them.
static void visit_tile(Inlet *in, bool all, void (*visit)(Inlet *in, const int p[3], int cell)) {
    const Grid *g = &in->s->grid;
    if (!sample_tile(in)) return;
    TileMask domain = mask_inside(g, in->slot);
    for (int cell = 0; cell < g->tile_cells; cell++) {
        const int p[3] = {in->first[0] + (cell & 7), in->first[1] + (cell >> 3 & 7),
                          in->first[2] + (cell >> 6)};
        if (mask_has(&domain, cell) && (all || is_met(in, p))) visit(in, p, cell);
    }
}

/// context: Finding
static void find_tile(BrimSim *s, int slot, int thread, void *context) {
    const Finding *f = context;
    Inlets *inlets = &s->projection.inlets;
    if (!inlets->at[slot]) return;
    const TileCoord c = s->grid.coord[slot];
    Inlet in = {.s = s,
                .out = &inlets->tile[inlets->at[slot] - 1],
                .slot = slot,
                .first = {c.x * TILE, c.y * TILE, c.z * TILE},
                .liquid = f->liquid,
                .solids = solid_near(s, slot),
                .writes = f->writes};
    for (int k = 0; k < s->source_count; k++) {
        const Source *source = &s->sources[k];
        if (!source_runs(s, source) || !source_meets(s, source, slot, 1)) continue;
        start(&in, source);
        visit_tile(&in, f->visit == hold_cell && inlets->begins, f->visit);
    }
}

/// What runs into walls in a cell, if what is open of its faces lies in the shape.
static void block_cell(Inlet *in, const int p[3], int cell) {
    const BrimSim *s = in->s;
    float flow = 0;
    for (int n = 0; n < 2 * s->dim; n++) {
        int64_t face = face_of(s, in->slot, cell, n);
        float open = face < 0 ? 1 : open_part(s, n >> 1, face);
        if (at_side(s, p, n)) open = s->sides.open[n] ? 1 : 0;
        if (covered(in, p, n) < WHOLE * open) return;
        flow += (n & 1 ? open : -open) * in->flow.relative[n >> 1];
    }
    if (flow < 0) in->blocked -= (double)flow;
}

/// Whether a source has a side of the domain beside it.
static bool touches_sides(const BrimSim *s, const Source *source) {
    for (int a = 0; a < s->dim; a++)
        if (source->low[a] < s->dx || source->high[a] > (float)(s->grid.cells[a] - 1) * s->dx)
            return true;
    return false;
}

void inlets_block(BrimSim *s) {
    for (int k = 0; k < s->source_count; k++) {
        Source *source = &s->sources[k];
        source->blocked = false;
        bool sides = touches_sides(s, source);
        if (!source_runs(s, source) || !(sides || s->walls.solid_count)) continue;
        Inlet in = {.s = s};
        start(&in, source);
        for (int t = 0; t < s->grid.tile_count; t++) {
            const TileCoord c = s->grid.coord[t];
            if (!source_meets(s, source, t, 0) || !(sides || solid_near(s, t))) continue;
            in.slot = t;
            in.first[0] = c.x * TILE, in.first[1] = c.y * TILE, in.first[2] = c.z * TILE;
            visit_tile(&in, false, block_cell);
        }
        double all = source->fine / pow(seed_per_axis(s->dim, s->def.particles_per_cell),
                                        s->dim - 1); // faces
        source->blocked = in.blocked > BLOCKED * all * (double)in.speed;
    }
}

bool inlets_find(BrimSim *s, const uint8_t *liquid, bool writes) {
    Inlets *i = &s->projection.inlets;
    int count = 0, running = 0;
    i->count = 0, i->begins = false;
    for (int k = 0; k < s->source_count; k++) running += source_runs(s, &s->sources[k]);
    if (!running) return true;
    const size_t tiles = (size_t)s->grid.tile_count;
    if (!memory_fit((void **)&i->at, &i->tiles_room, sizeof *i->at, tiles)) return false;
    for (int t = 0; t < s->grid.tile_count; t++) {
        i->at[t] = 0;
        for (int k = 0; k < s->source_count && !i->at[t]; k++)
            if (source_runs(s, &s->sources[k]) && source_meets(s, &s->sources[k], t, 1))
                i->at[t] = ++count;
    }
    memory_drop((void **)&i->tile, &i->room, (size_t)count);
    if (!memory_fit((void **)&i->tile, &i->room, sizeof *i->tile, (size_t)count)) return false;
    i->count = count;
    inlets_block(s);
    for (int k = 0; k < count; k++) memset(&i->tile[k], 0, sizeof *i->tile);
    Finding finding = {liquid, writes, begin_cell};
    tiles_for(s, find_tile, &finding);
    for (int k = 0; k < count; k++)
        for (int z = 0; z < s->grid.tile_depth; z++) i->begins |= i->tile[k].behind.slice[z] != 0;
    finding.visit = hold_cell;
    tiles_for(s, find_tile, &finding);
    return true;
}

size_t inlets_bytes(const BrimSim *s) {
    const Inlets *i = &s->projection.inlets;
    return i->room * sizeof *i->tile + i->tiles_room * sizeof *i->at;
}

void inlets_free(BrimSim *s) {
    free(s->projection.inlets.at);
    free(s->projection.inlets.tile);
    s->projection.inlets = (Inlets){0};
}
