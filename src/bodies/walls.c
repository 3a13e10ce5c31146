// B: what bodies' walls push out of the cells beside them. See bodies.h.
#include "base/memory.h"
#include "bodies/bodies.h"
#include "bodies/sums.h"
#include "elastic/dense.h"
#include "solid/triangle.h"
#include "step/stages.h"
#include "step/system.h"
#include "walls/solid_masks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_A_TASK = 64 };

// --------------------------------------------------------------------------------------- cells

static bool grow_cells(Bodies *b) {
    size_t n = b->cell_count + 1;
    return memory_grow((void **)&b->cell, &b->cell_room[0], sizeof *b->cell, n, n - 1) &&
           memory_grow((void **)&b->flow, &b->cell_room[1], sizeof *b->flow, n, n - 1) &&
           memory_grow((void **)&b->sway, &b->cell_room[2], sizeof *b->sway, n, n - 1) &&
           memory_grow((void **)&b->out, &b->cell_room[3], sizeof *b->out, n, n - 1) &&
           memory_grow((void **)&b->kept, &b->cell_room[4], sizeof *b->kept, n, n - 1);
}

/// What of a cell's faces each body closes.
typedef struct Closed {
    float area[3]; ///< upper less lower
    float sway;    ///< what the walls' speeds push out of the cell there
    bool any;
} Closed;

/// Centres of a cell's faces, and of the cell itself as the last of 7.
static void face_centres(const BrimSim *s, int slot, int cell, float x[7], float y[7], float z[7]) {
    TileCoord c = s->grid.coord[slot];
    float at[3] = {space_middle(s->space, c.x * TILE + (cell & 7)),
                   space_middle(s->space, c.y * TILE + (cell >> 3 & 7)),
                   s->dim == 3 ? space_middle(s->space, c.z * TILE + (cell >> 6)) : 0};
    for (int n = 0; n < 7; n++) {
        float p[3] = {at[0], at[1], at[2]};
        if (n < 6 && n < 2 * s->dim) p[n >> 1] += (n & 1 ? 0.5f : -0.5f) * s->dx;
        x[n] = p[0], y[n] = p[1], z[n] = p[2];
    }
}

/// The solid that closes each face is the one nearest to its centre, as for wall_speed.
static void closed_faces(const BrimSim *s, const Around *around, int slot, int cell, Closed *of,
                         float centre[3]) {
    const Bodies *b = s->bodies;
    int64_t me = (int64_t)slot * s->grid.tile_cells + cell;
    float x[7], y[7], z[7], phi[7];
    int16_t owner[7];
    face_centres(s, slot, cell, x, y, z);
    centre[0] = x[6], centre[1] = y[6], centre[2] = z[6];
    for (int n = 0; n < 7; n++) phi[n] = INFINITY, owner[n] = -1;
    solids_sample(s, slot, 7, x, y, z, phi, owner);
    memset(of, 0, (size_t)b->count * sizeof *of);
    for (int n = 0; n < 2 * s->dim; n++) {
        int a = n >> 1, body = owner[n] - b->first_solid;
        if (mask_has(&around->side[n], cell) || body < 0 || body >= b->count) continue;
        int64_t face = n & 1 ? grid_step(&s->grid, slot, cell, a, 1) : me;
        float closed = face < 0 ? 0 : 1 - open_part(s, a, face);
        if (closed <= 0) continue;
        float sign = n & 1 ? 1.0f : -1.0f;
        of[body].area[a] += sign * closed;
        if (s->wall_speed[0] && s->tile_solid[slot] == SOLID_MOVING)
            of[body].sway += sign * closed * s->wall_speed[a][solid_cell(s, face)];
        of[body].any = true;
    }
}

/// Cells of liquid that solids cut, tile by tile, and what each body closes of them.
typedef struct Cut {
    const BrimSim *s;
    int64_t *cell; ///< [count]
    size_t count, room;
    Closed *of;         ///< [count][bodies]
    float (*centre)[3]; ///< [count]
} Cut;

static bool list_tile(const BrimSim *s, int slot, Cut *c) {
    TileMask liquid = mask_load(&s->grid, s->liquid, slot), cut = cut_cells(s, slot);
    for (int z = 0; z < s->grid.tile_depth; z++)
        for (uint64_t bits = liquid.slice[z] & cut.slice[z]; bits; bits &= bits - 1) {
            int64_t me = (int64_t)slot * s->grid.tile_cells + z * 64 + __builtin_ctzll(bits);
            if (!system_has(s, wet_cell(s, me))) continue;
            if (!memory_grow((void **)&c->cell, &c->room, sizeof *c->cell, c->count + 1, c->count))
                return false;
            c->cell[c->count++] = me;
        }
    return true;
}

static void look_at_cells(void *context, int piece, int thread) {
    const Cut *c = context;
    size_t from = (size_t)piece * CELLS_A_TASK, end = from + CELLS_A_TASK;
    int last = -1;
    Around around;
    (void)thread;
    for (size_t n = from; n < end && n < c->count; n++) {
        int slot = (int)(c->cell[n] / c->s->grid.tile_cells);
        if (slot != last) around = around_tile(&c->s->grid, c->s->liquid, slot);
        last = slot;
        closed_faces(c->s, &around, slot, (int)(c->cell[n] % c->s->grid.tile_cells),
                     c->of + n * (size_t)c->s->bodies->count, c->centre[n]);
    }
}

static bool add_to_body(Body *body, int32_t at, const Closed *closed, const float centre[3]) {
    size_t n = body->cell_count;
    if (!memory_grow((void **)&body->cell, &body->cell_room, sizeof *body->cell, n + 1, n))
        return false;
    BodyCell *c = &body->cell[body->cell_count++];
    c->at = at;
    for (int a = 0; a < 3; a++) c->area[a] = closed->area[a], c->head[a] = centre[a];
    return true;
}

/// Lists of all bodies' cells; what stands in `head` is the cell's centre as yet.
static bool list_cells(BrimSim *s, const Cut *c) {
    Bodies *b = s->bodies;
    for (size_t n = 0; n < c->count; n++) {
        const Closed *of = c->of + n * (size_t)b->count;
        int32_t at = -1;
        for (int k = 0; k < b->count; k++) {
            if (!of[k].any) continue;
            if (at < 0) {
                if (!grow_cells(b)) return false;
                at = (int32_t)b->cell_count++;
                b->cell[at] = wet_cell(s, c->cell[n]), b->flow[at] = 0, b->sway[at] = 0;
                b->at[solid_cell(s, c->cell[n])] = at + 1;
            }
            b->sway[at] += of[k].sway;
            if (!add_to_body(&b->body[k], at, &of[k], c->centre[n])) return false;
        }
    }
    return true;
}

/// The functions at the wall of a piece of a body's cells, and where it is.
static void find_walls(void *context, int piece, int thread) {
    Body *body = context;
    size_t r = (size_t)body->elastic->r, from = (size_t)piece * CELLS_A_TASK;
    (void)thread;
    for (size_t n = from; n < from + CELLS_A_TASK && n < body->cell_count; n++) {
        BodyCell *c = &body->cell[n];
        float foot[3];
        body_wall(body, c->head, foot, body->cell_row + n * r);
        for (int a = 0; a < 3; a++) c->head[a] = foot[a] - c->head[a];
    }
}

static bool gather_cells(BrimSim *s) {
    Bodies *b = s->bodies;
    Cut c = {.s = s};
    bool ok = true;
    for (int t = 0; ok && t < s->grid.tile_count; t++)
        if (s->wet[t] && s->tile_solid[t] == SOLID_MOVING) ok = list_tile(s, t, &c);
    c.of = ok ? malloc((c.count + 1) * (size_t)b->count * sizeof *c.of) : NULL;
    c.centre = ok ? malloc((c.count + 1) * sizeof *c.centre) : NULL;
    ok = c.of && c.centre;
    if (ok) team_for(s->team, team_parts(c.count, CELLS_A_TASK), 1, look_at_cells, &c);
    ok = ok && list_cells(s, &c);
    for (int k = 0; ok && k < b->count; k++) {
        Body *body = &b->body[k];
        ok = memory_fit((void **)&body->cell_row, &body->row_room, sizeof *body->cell_row,
                        body->cell_count * (size_t)body->elastic->r) &&
             memory_fit((void **)&body->cell_work, &body->work_room, sizeof *body->cell_work,
                        body->cell_count * (size_t)s->dim);
        if (ok) team_for(s->team, team_parts(body->cell_count, CELLS_A_TASK), 1, find_walls, body);
    }
    free(c.cell), free(c.of), free(c.centre);
    return ok;
}

// ----------------------------------------------------------------------------------- triangles

/// Where along its normal from its middle a triangle looks for its cell, in cells: those that it
/// cuts may hold no water.
static const double LOOK[] = {0.1, 0.35, 0.6, 0.85};
enum { LOOKS = sizeof LOOK / sizeof *LOOK };

/// Corners of a triangle when it has gone on for a time.
static void corners_at(const Body *body, size_t triangle, double time, double x[3][3]) {
    const Trimesh *m = &body->surface;
    for (int k = 0; k < 3; k++) {
        uint32_t v = m->triangles[triangle][k];
        for (int a = 0; a < 3; a++)
            x[k][a] = (double)m->vertices[v][a] + time * (double)body->velocity[v][a];
    }
}

/// Normal times area of a triangle; 2D: times length of a segment.
static void area_of(int dim, double x[3][3], double out[3]) {
    double e[3], f[3];
    for (int a = 0; a < 3; a++) e[a] = x[1][a] - x[0][a], f[a] = x[2][a] - x[0][a];
    cross3(e, f, out);
    for (int a = 0; a < 3; a++) out[a] *= 0.5;
    if (dim == 2) out[0] = e[1], out[1] = -e[0], out[2] = 0;
}

/// The listed cell at a place, -1: none.
static int32_t cell_at(const BrimSim *s, const double place[3]) {
    int at[3] = {0};
    for (int a = 0; a < s->dim; a++) {
        const double x = space_to_grid_double(s->space, place[a]);
        if (!(x >= 0 && x < s->grid.cells[a])) return -1;
        at[a] = (int)x;
    }
    int64_t cell = grid_cell(&s->grid, at[0], at[1], at[2]);
    int64_t near = cell < 0 ? -1 : solid_cell(s, cell);
    return near < 0 ? -1 : s->bodies->at[near] - 1;
}

/// The cell of a body's own list that a triangle pushes, -1: none. own [cells of all bodies]; area
/// [3]: the triangle's, too
static int32_t cell_of(const BrimSim *s, const Body *body, size_t triangle, const int32_t *own,
                       double *area) {
    double x[3][3];
    corners_at(body, triangle, 0, x);
    area_of(s->dim, x, area);
    double size = sqrt(dot3(area, area));
    for (int n = 0; n < LOOKS && size > 0; n++) {
        double place[3] = {0};
        for (int a = 0; a < s->dim; a++) {
            for (int k = 0; k < s->dim; k++) place[a] += x[k][a] / s->dim;
            place[a] += LOOK[n] * (double)s->dx * area[a] / size;
        }
        int32_t at = cell_at(s, place);
        if (at >= 0 && own[at] >= 0) return own[at];
    }
    return -1;
}

typedef struct Search {
    const BrimSim *s;
    const Body *body;
    const int32_t *own;
    int32_t *cell; ///< [triangles]
} Search;
enum { TRIANGLES = 128 };

static void find_cells(void *context, int piece, int thread) {
    const Search *f = context;
    size_t from = (size_t)piece * TRIANGLES, end = from + TRIANGLES;
    if (end > f->body->surface.triangle_count) end = f->body->surface.triangle_count;
    (void)thread;
    for (size_t t = from; t < end; t++)
        f->cell[t] = cell_of(f->s, f->body, t, f->own, f->body->wall_area[t]);
}

/// Lists the triangles of each of a body's cells, by a counting sort.
static bool sort_triangles(const BrimSim *s, Body *body, int32_t *own) {
    size_t triangles = body->surface.triangle_count, cells = body->cell_count;
    if (!memory_fit((void **)&body->wall_triangle, &body->wall_room, sizeof *body->wall_triangle,
                    triangles) ||
        !memory_fit((void **)&body->wall_area, &body->area_room, sizeof *body->wall_area,
                    triangles))
        return false;
    int32_t *cell = malloc((triangles + 1) * sizeof *cell);
    uint32_t *next = calloc(cells + 1, sizeof *next);
    for (size_t i = 0; i < s->bodies->cell_count; i++) own[i] = -1;
    for (size_t n = 0; n < cells; n++) own[body->cell[n].at] = (int32_t)n;
    Search search = {s, body, own, cell};
    if (cell) team_for(s->team, team_parts(triangles, TRIANGLES), 2, find_cells, &search);
    for (size_t t = 0; cell && next && t < triangles; t++)
        if (cell[t] >= 0) next[cell[t]]++;
    uint32_t first = 0;
    for (size_t n = 0; cell && next && n < cells; n++) {
        BodyCell *c = &body->cell[n];
        c->first = first, c->count = next[n], next[n] = first, first += c->count;
    }
    for (size_t t = 0; cell && next && t < triangles; t++)
        if (cell[t] >= 0) body->wall_triangle[next[cell[t]]++] = (uint32_t)t;
    bool ok = cell && next;
    free(cell), free(next);
    return ok;
}

bool walls_gather(BrimSim *s) {
    Bodies *b = s->bodies;
    int32_t near = 0; // tiles near solids
    for (int t = 0; t < s->grid.tile_count; t++)
        near = s->solid_at[t] > near ? s->solid_at[t] : near;
    size_t cells = (size_t)near * (size_t)s->grid.tile_cells;
    if (!memory_fit((void **)&b->at, &b->at_room, sizeof *b->at, cells)) return false;
    if (cells) memset(b->at, 0, cells * sizeof *b->at);
    b->cell_count = 0;
    for (int k = 0; k < b->count; k++) b->body[k].cell_count = 0;
    bool ok = gather_cells(s);
    int32_t *own = malloc((b->cell_count + 1) * sizeof *own);
    for (int k = 0; ok && k < b->count; k++) ok = own && sort_triangles(s, &b->body[k], own);
    free(own);
    return ok;
}

// ------------------------------------------------------------------------------------ B and B^T

typedef struct Follow {
    Body *body;
    double half; ///< of the step to come, s
    double scale;
} Follow;

/// What a triangle's area changes until the middle of the step, out of the cell.
static void area_change(const Follow *f, uint32_t triangle, float change[3]) {
    const Body *b = f->body;
    const double *now = b->wall_area[triangle];
    double x[3][3], then[3];
    corners_at(b, triangle, f->half, x), area_of(b->dim, x, then);
    for (int a = 0; a < 3; a++) change[a] = (float)((now[a] - then[a]) * f->scale);
}

/// What each of a piece of a body's cells is pushed along each axis: by what the body closes, and
/// by the triangles there. The functions are those at the wall: between them and a triangle's they
/// change by little, and so does its area.
static void follow_cells(void *context, int piece, int thread) {
    const Follow *f = context;
    size_t from = (size_t)piece * CELLS_A_TASK, end = from + CELLS_A_TASK;
    (void)thread;
    for (size_t n = from; n < end && n < f->body->cell_count; n++) {
        BodyCell *c = &f->body->cell[n];
        memcpy(c->push, c->area, sizeof c->push);
        for (uint32_t t = c->first; t < c->first + c->count; t++) {
            float change[3];
            area_change(f, f->body->wall_triangle[t], change);
            for (int a = 0; a < 3; a++) c->push[a] += change[a];
        }
    }
}

static double closed_area(const Body *b, size_t cell) {
    const float *a = b->cell[cell].area;
    return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]);
}

typedef enum Sight { AT_WALL = 0, AT_LIQUID = 1, AT_AIR = 2 } Sight;

/// What a triangle looks at.
static Sight sight_of(const BrimSim *s, const Body *b, size_t triangle) {
    double x[3][3], area[3];
    corners_at(b, triangle, 0, x), area_of(s->dim, x, area);
    const double size = sqrt(dot3(area, area));
    Sight sight = AT_WALL;
    for (int n = 0; n < LOOKS && size > 0 && sight != AT_LIQUID; n++) {
        float place[3] = {0}, distance;
        int at[3] = {0};
        bool wall = false;
        for (int a = 0; a < s->dim; a++) {
            for (int k = 0; k < s->dim; k++) place[a] += (float)(x[k][a] / s->dim);
            place[a] += (float)(LOOK[n] * (double)s->dx * area[a] / size);
            at[a] = space_cell(s->space, place[a]);
            wall |= at[a] < 0 || at[a] >= s->grid.cells[a];
        }
        for (int k = 0; k < s->bodies->first_solid && !wall; k++) {
            solid_distance(s->walls.solids[k], 1, &place[0], &place[1], &place[2], &distance);
            wall = solid_exists(s->walls.solids[k], s->walls.time) && distance < 0;
        }
        if (wall) continue;
        int64_t cell = grid_cell(&s->grid, at[0], at[1], at[2]);
        cell = cell < 0 ? -1 : wet_cell(s, cell);
        sight = cell >= 0 && system_has(s, cell) ? AT_LIQUID : AT_AIR;
    }
    return sight;
}

/// part [vertices] => the least vertex of each one's connected part of the surface.
static void find_parts(const Body *b, uint32_t *part) {
    const Trimesh *m = &b->surface;
    for (uint32_t v = 0; v < m->vertex_count; v++) part[v] = v;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t t = 0; t < m->triangle_count; t++) {
            uint32_t least = UINT32_MAX;
            for (int k = 0; k < 3; k++) {
                uint32_t own = part[part[m->triangles[t][k]]];
                least = own < least ? own : least;
            }
            for (int k = 0; k < 3; k++) {
                changed |= part[m->triangles[t][k]] != least;
                part[m->triangles[t][k]] = least;
            }
        }
    }
}

/// Which triangles count for the change of volume: those of parts of the surface that the liquid
/// wets, all of them, but for what lies on walls. False: there is air before one of them, or out
/// of memory.
static bool find_wet(const BrimSim *s, Body *b) {
    const Trimesh *m = &b->surface;
    uint32_t *part = malloc(m->vertex_count * sizeof *part);
    uint8_t *found = calloc(m->vertex_count, 1);
    bool ok = part && found;
    if (ok) find_parts(b, part);
    for (size_t t = 0; ok && t < m->triangle_count; t++)
        found[part[m->triangles[t][0]]] |= (uint8_t)sight_of(s, b, t);
    for (size_t t = 0; ok && t < m->triangle_count; t++) {
        const uint8_t of = found[part[m->triangles[t][0]]];
        ok = of != (AT_LIQUID | AT_AIR);
        b->wets[t] = of & AT_LIQUID;
    }
    free(part), free(found);
    return ok;
}

void walls_enclose(BrimSim *s) {
    for (int k = 0; k < s->bodies->count; k++) {
        Body *b = &s->bodies->body[k];
        b->enclosed = b->cell_count > 0, b->enclosed_area = 0;
        for (size_t n = 0; n < b->cell_count && b->enclosed; n++) {
            const int64_t cell = s->bodies->cell[b->cell[n].at];
            b->enclosed = poisson_component(s->projection.poisson, cell) >= 0;
            b->enclosed_area += closed_area(b, n);
        }
        b->enclosed = b->enclosed && b->enclosed_area > 0 && find_wet(s, b);
    }
}

/// => lack. The body's change of volume is that of its surface, by areas in the middle of the step:
/// exact for what its corners do in a straight line.
static void find_lack(const Follow *f) {
    Body *b = f->body;
    const size_t r = (size_t)b->elastic->r;
    const int dim = b->dim;
    memset(b->lack, 0, (size_t)b->elastic->dofs * sizeof *b->lack);
    for (size_t t = 0; t < b->surface.triangle_count; t++) {
        double x[3][3], area[3];
        if (!b->wets[t]) continue;
        corners_at(b, t, f->half, x), area_of(dim, x, area);
        for (int k = 0; k < dim; k++) {
            const float *row = b->row + (size_t)b->surface.triangles[t][k] * r;
            for (int a = 0; a < dim; a++) {
                const double part = -area[a] * f->scale / dim;
                for (size_t i = 0; i < r; i++) b->lack[(size_t)a * r + i] += part * (double)row[i];
            }
        }
    }
    for (size_t n = 0; n < b->cell_count; n++)
        for (int a = 0; a < dim; a++)
            for (size_t i = 0; i < r; i++)
                b->lack[(size_t)a * r + i] -=
                    (double)b->cell[n].push[a] * (double)b->cell_row[n * r + i];
}

void walls_follow(BrimSim *s, double dn) {
    Bodies *b = s->bodies;
    for (int k = 0; k < b->count; k++) {
        Body *body = &b->body[k];
        body_speeds(body);
        Follow f = {body, 0.5 * dn, pow((double)s->dx, 1 - s->dim)};
        team_for(s->team, team_parts(body->cell_count, CELLS_A_TASK), 1, follow_cells, &f);
        if (body->enclosed) find_lack(&f);
    }
}

/// Columns, and cells, that are an item for threads: some microseconds.
enum { COLUMNS = 16, CELLS = 64 };

typedef struct Product {
    const Body *body;
    const double *v; ///< [dofs] of a push
    double *out;     ///< [dofs] of a pull
} Product;

static void pull_columns(void *context, int piece, int thread) {
    const Product *p = context;
    const Body *body = p->body;
    int r = body->elastic->r, from = piece * COLUMNS, dim = body->dim;
    int width = r - from < COLUMNS ? r - from : COLUMNS;
    (void)thread;
    sum_kernels()->pull(dim, body->cell_count, width, r, body->cell_work, body->cell_row + from,
                        p->out + from);
}

void walls_pull(const Bodies *b, const Body *body, const float *x, double *out) {
    size_t count = body->cell_count;
    for (size_t n = 0; n < count; n++)
        for (int a = 0; a < body->dim; a++)
            body->cell_work[(size_t)a * count + n] =
                (double)x[b->cell[body->cell[n].at]] * (double)body->cell[n].push[a];
    Product p = {.body = body, .out = out};
    int few = 1 + (int)(700 / (count + 1)); // of columns, where there are few cells
    team_for(body->elastic->params.team, team_parts((size_t)body->elastic->r, COLUMNS), few,
             pull_columns, &p);
    if (!body->enclosed) return;
    double mean = 0;
    for (size_t n = 0; n < count; n++)
        mean += (double)x[b->cell[body->cell[n].at]] * closed_area(body, n) / body->enclosed_area;
    for (int i = 0; i < body->elastic->dofs; i++) out[i] += mean * body->lack[i];
}

static void push_cells(void *context, int piece, int thread) {
    const Product *p = context;
    const Body *body = p->body;
    size_t from = (size_t)piece * CELLS, left = body->cell_count - from;
    int r = body->elastic->r;
    size_t count = left < CELLS ? left : CELLS;
    double along[3 * CELLS];
    (void)thread;
    sum_kernels()->push(body->dim, count, r, body->cell_row + from * (size_t)r, p->v, along);
    for (size_t n = 0; n < count; n++) {
        double sum = 0;
        for (int a = 0; a < body->dim; a++)
            sum += (double)body->cell[from + n].push[a] * along[(size_t)a * count + n];
        body->cell_work[from + n] = sum;
    }
}

void walls_push(const Body *body, double scale, const double *v, float *out) {
    Product p = {.body = body, .v = v};
    int few = 1 + 1000 / body->elastic->dofs;
    team_for(body->elastic->params.team, team_parts(body->cell_count, CELLS), few, push_cells, &p);
    double lack = 0;
    if (body->enclosed) lack = dense_dot(body->lack, v, body->elastic->dofs) / body->enclosed_area;
    for (size_t n = 0; n < body->cell_count; n++) {
        double pushed = body->cell_work[n];
        if (body->enclosed) pushed += lack * closed_area(body, n);
        out[body->cell[n].at] += (float)(scale * pushed);
    }
}
