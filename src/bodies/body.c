#include "bodies/body.h"
#include "base/error.h"
#include "base/memory.h"
#include "bodies/contact.h"
#include "bodies/immersed.h"
#include "bodies/pins.h"
#include "bodies/sums.h"
#include "look/contour.h"
#include "solid/triangle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Half cells around the surface within which distances are known; cells within which a point's
/// nearest node is one of these.
enum { REACH = 7, KNOWN = 3 };

void body_free(Body *b) {
    twins_free(b);
    elastic_free(&b->elastic);
    shape_free(&b->shape);
    pins_free(b);
    trimesh_free(&b->surface);
    distance_grid_free(&b->grid);
    distance_work_free(&b->distance);
    free(b->rest), free(b->row), free(b->places), free(b->velocity), free(b->normal),
        free(b->vertex_area);
    free(b->rest_normal), free(b->fold), free(b->sight), free(b->way), free(b->drift),
        free(b->folded), free(b->touches);
    clusters_free(&b->clusters);
    free(b->cell), free(b->cell_row), free(b->wall_triangle), free(b->wall_area),
        free(b->cell_work);
    free(b->force), free(b->pressure), free(b->head), free(b->contact), free(b->limit),
        free(b->hand), free(b->lack), free(b->wets), free(b->shear), free(b->grip), free(b->step),
        free(b->pulled), free(b->residual), free(b->change), free(b->extra), free(b->work);
    *b = (Body){0};
}

/// Up to whole SUM_PLACES.
static size_t padded(size_t count) {
    return (count + SUM_PLACES - 1) / SUM_PLACES * SUM_PLACES;
}

size_t body_bytes(const Body *b) {
    const Trimesh *m = &b->surface;
    size_t r = b->elastic ? (size_t)b->elastic->r : 0, n = m->vertex_count;
    size_t dofs = r * (size_t)b->dim, vectors = 13, matrices = b->grip ? 2 : 1;
    size_t bytes = b->elastic ? elastic_bytes(b->elastic) + twins_bytes(b) : 0;
    bytes += shape_bytes(b->shape) + clusters_bytes(&b->clusters);
    bytes += m->vertex_capacity * sizeof *m->vertices + m->triangle_capacity * sizeof *m->triangles;
    bytes += n * (sizeof *b->rest + sizeof *b->velocity + sizeof *b->normal +
                  sizeof *b->vertex_area + sizeof *b->touches);
    bytes += m->triangle_count * sizeof *b->wets;
    bytes += r * (n * sizeof *b->row + padded(n) * sizeof *b->places);
    if (b->folds)
        bytes += n * (sizeof *b->rest_normal + sizeof *b->fold + sizeof *b->sight + sizeof *b->way +
                      sizeof *b->drift + sizeof *b->folded);
    bytes += b->distance.grid_room * sizeof *b->grid.value + distance_work_bytes(&b->distance);
    bytes += b->cell_room * sizeof *b->cell + b->row_room * sizeof *b->cell_row +
             b->wall_room * sizeof *b->wall_triangle + b->area_room * sizeof *b->wall_area +
             b->work_room * sizeof *b->cell_work;
    return bytes + (vectors * dofs + matrices * dofs * dofs) * sizeof(double);
}

// ------------------------------------------------------------------------------------- surface

static void shape_field(const void *context, int n, const float *x, const float *y, const float *z,
                        float *distance) {
    shape_distance(context, n, x, y, z, distance);
}

/// Half a step off the bounds, so that faces along the axes lie inside cells and not on nodes.
static void field_nodes(const Body *b, double spacing, double low[3], int nodes[3]) {
    float from[3], to[3];
    shape_bounds(b->shape, from, to);
    for (int a = 0; a < 3; a++) {
        if (a >= b->dim) from[a] = to[a] = 0;
        double cells = ceil((to[a] - from[a]) / spacing) + 4;
        low[a] = 0.5 * ((double)from[a] + to[a] - cells * spacing);
        // a face that would lie on nodes of both sides: a third of a cell is on none
        low[a] += 0.3 * spacing;
        nodes[a] = (int)cells + 1;
    }
}

static BrimResult contour_surface(Body *b, double spacing, BrimError *error) {
    double low[3];
    int nodes[3];
    field_nodes(b, spacing, low, nodes);
    if (b->dim == 2) return outline_new(b->shape, low, nodes, spacing, &b->surface, error);
    ContourField field = {.distance = shape_field,
                          .context = b->shape,
                          .low = {(float)low[0], (float)low[1], (float)low[2]},
                          .spacing = (float)spacing,
                          .nodes = {nodes[0], nodes[1], nodes[2]},
                          .team = NULL};
    Contour c;
    BrimResult result = contour_new(&field, &c, error);
    if (result != BRIM_OK) return result;
    Trimesh *m = &b->surface;
    *m = (Trimesh){.vertices = (float(*)[3])c.position,
                   .vertex_count = c.vertex_count,
                   .vertex_capacity = c.vertex_count,
                   .triangles = (uint32_t(*)[3])c.triangle,
                   .triangle_count = c.triangle_count,
                   .triangle_capacity = c.triangle_count,
                   .oriented = true};
    return BRIM_OK;
}

/// Area of a triangle, or length of a segment.
static double triangle_area(const Trimesh *m, const uint32_t t[3]) {
    double e[3], f[3], n[3];
    for (int a = 0; a < 3; a++) {
        e[a] = (double)m->vertices[t[1]][a] - m->vertices[t[0]][a];
        f[a] = (double)m->vertices[t[2]][a] - m->vertices[t[0]][a];
    }
    if (t[1] == t[2]) return sqrt(dot3(e, e));
    cross3(e, f, n);
    return 0.5 * sqrt(dot3(n, n));
}

static void vertex_areas(Body *b) {
    const Trimesh *m = &b->surface;
    for (size_t t = 0; t < m->triangle_count; t++) {
        int corners = b->dim == 3 ? 3 : 2;
        double area = triangle_area(m, m->triangles[t]) / corners;
        for (int k = 0; k < corners; k++) b->vertex_area[m->triangles[t][k]] += (float)area;
        b->surface_area += corners * area;
    }
}

static void find_normals(Body *b);

/// Corners of the triangles lie on the shape, so that they enclose less than it: a limb of three
/// cells lacks a tenth. Moves them out until the body displaces as much as it weighs for.
static void fill_volume(Body *b) {
    const Trimesh *m = &b->surface;
    for (int pass = 0; pass < 3; pass++) {
        double volume = b->dim == 3 ? trimesh_volume(m) : 0, area = 0;
        for (size_t t = 0; t < m->triangle_count; t++) {
            const float *p = m->vertices[m->triangles[t][0]], *q = m->vertices[m->triangles[t][1]];
            if (b->dim == 2) volume += 0.5 * ((double)p[0] * q[1] - (double)q[0] * p[1]);
            area += triangle_area(m, m->triangles[t]);
        }
        double way = fmin(fmax((b->elastic->volume - volume) / area, 0), 0.1 * b->dx);
        find_normals(b);
        for (size_t i = 0; i < m->vertex_count; i++)
            for (int a = 0; a < b->dim; a++)
                b->surface.vertices[i][a] += (float)(way * b->normal[i][a]);
    }
}

BrimResult body_surface(Body *b, double spacing, BrimError *error) {
    BrimResult result = contour_surface(b, spacing, error);
    if (result != BRIM_OK) return result;
    size_t n = b->surface.vertex_count, r = (size_t)b->elastic->r, dofs = (size_t)b->elastic->dofs;
    if (b->surface.triangle_count == 0)
        return fail(error, BRIM_ERROR_INPUT,
                    "a body is too small or too thin for the cells of %.3g m: make it thicker "
                    "than %.3g m, or the cells smaller",
                    (double)b->dx, spacing);
    b->rest = memory_new(n * sizeof *b->rest);
    b->row = memory_new(n * r * sizeof *b->row);
    b->places = memory_zero(padded(n) * r * sizeof *b->places);
    b->normal = memory_zero(n * sizeof *b->normal);
    b->velocity = memory_zero(n * sizeof *b->velocity);
    b->vertex_area = memory_zero(n * sizeof *b->vertex_area);
    b->touches = memory_zero(n * sizeof *b->touches);
    b->wets = memory_zero(b->surface.triangle_count * sizeof *b->wets);
    b->force = memory_zero(dofs * sizeof(double)), b->pressure = memory_zero(dofs * sizeof(double));
    b->contact = memory_zero(dofs * sizeof(double)), b->work = memory_zero(dofs * sizeof(double));
    b->lack = memory_zero(dofs * sizeof(double)), b->limit = memory_zero(dofs * sizeof(double)),
    b->shear = memory_zero(dofs * sizeof(double));
    b->hand = memory_zero(dofs * sizeof(double)), b->head = memory_zero(dofs * sizeof(double));
    b->step = memory_zero(dofs * sizeof(double)), b->pulled = memory_zero(dofs * sizeof(double));
    b->residual = memory_zero(dofs * sizeof(double)),
    b->change = memory_zero(dofs * sizeof(double));
    b->extra = memory_zero(dofs * dofs * sizeof(double));
    double *row = memory_new(r * sizeof *row);
    bool ok = b->rest && b->row && b->places && b->velocity && b->normal && b->vertex_area &&
              b->touches && b->wets && b->force && b->pressure && b->head && b->contact &&
              b->limit && b->shear && b->lack && b->hand && b->step && b->pulled && b->residual &&
              b->change && b->work && b->extra && row;
    if (ok) fill_volume(b);
    for (size_t i = 0; ok && i < n; i++) {
        for (int a = 0; a < 3; a++) b->rest[i][a] = b->surface.vertices[i][a];
        elastic_row(b->elastic, b->rest[i], row);
        for (size_t k = 0; k < r; k++)
            b->row[i * r + k] =
                b->places[(i - i % SUM_PLACES) * r + k * SUM_PLACES + i % SUM_PLACES] =
                    (float)row[k];
    }
    free(row);
    if (ok) vertex_areas(b), find_normals(b), ok = folds_new(b);
    return ok ? BRIM_OK : fail(error, BRIM_ERROR_MEMORY, "no memory for a body's surface");
}

void body_spare(Body *b, const Shape *pin) {
    for (size_t i = 0; i < b->surface.vertex_count; i++) {
        float x[3] = {(float)b->rest[i][0], (float)b->rest[i][1], (float)b->rest[i][2]}, d;
        shape_distance(pin, 1, &x[0], &x[1], &x[2], &d);
        if (d < (float)CONTACT_SKIN * b->dx) b->vertex_area[i] = 0;
    }
}

// --------------------------------------------------------------------------------------- place

void body_by_component(const Body *b, const double *from, double *to) {
    int r = b->elastic->r, dim = b->dim;
    for (int i = 0; i < r; i++)
        for (int a = 0; a < dim; a++) to[a * r + i] = from[i * dim + a];
}

int body_pieces(const Body *b) {
    return team_parts(b->surface.vertex_count, BODY_PIECE);
}

void body_mix(const Body *b, int index, const double *numbers, BodyPiece *p) {
    size_t r = (size_t)b->elastic->r, left;
    p->from = (size_t)index * BODY_PIECE, left = b->surface.vertex_count - p->from;
    p->count = left < BODY_PIECE ? left : BODY_PIECE, p->stride = padded(p->count);
    sum_kernels()->mix((int)p->stride, b->dim, (int)r, b->places + p->from * r, numbers, p->x);
}

/// A piece of the vertices moves, or gets its velocities.
typedef struct Mix {
    Body *body;
    const double *by; ///< [dim][r] displacements or velocities
    bool places;
    TeamLargest square; ///< of velocities
} Mix;

static void mix_piece(void *context, int index, int thread) {
    Mix *m = context;
    Body *b = m->body;
    BodyPiece p;
    float most = 0;
    (void)thread;
    body_mix(b, index, m->by, &p);
    for (size_t i = 0; i < p.count; i++)
        for (int a = 0; a < b->dim; a++) {
            double d = p.x[(size_t)a * p.stride + i];
            if (m->places)
                b->surface.vertices[p.from + i][a] = (float)(b->rest[p.from + i][a] + d);
            else
                b->velocity[p.from + i][a] = (float)d;
        }
    for (size_t i = p.from; i < p.from + p.count && !m->places; i++) {
        const float *v = b->velocity[i], square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        if (square > most) most = square;
    }
    team_raise(&m->square, most);
}

/// Numbers [r][dim] => places or velocities of the vertices. Returns the largest square of these.
static float mix_vertices(Body *b, const double *numbers, bool places) {
    double by[ELASTIC_DOFS_MOST];
    Mix m = {b, by, places, 0};
    body_by_component(b, numbers, by);
    team_for(b->elastic->params.team, body_pieces(b), 2, mix_piece, &m);
    return team_largest(&m.square);
}

void body_speeds(Body *b) {
    b->fastest = sqrtf(mix_vertices(b, b->elastic->v, false));
}

static void place_vertices(Body *b) {
    mix_vertices(b, b->elastic->d, true);
    for (int a = 0; a < 3; a++) b->low[a] = INFINITY, b->high[a] = -INFINITY;
    for (size_t i = 0; i < b->surface.vertex_count; i++)
        for (int a = 0; a < 3; a++) {
            float x = b->surface.vertices[i][a];
            if (x < b->low[a]) b->low[a] = x;
            if (x > b->high[a]) b->high[a] = x;
        }
    if (b->dim == 2) b->low[2] = -INFINITY, b->high[2] = INFINITY;
}

/// By the triangles around each vertex, large ones first; 2D: by segments, inside on their left.
static void find_normals(Body *b) {
    const Trimesh *m = &b->surface;
    memset(b->normal, 0, m->vertex_count * sizeof *b->normal);
    for (size_t t = 0; t < m->triangle_count; t++) {
        const uint32_t *v = m->triangles[t];
        double e[3], f[3], n[3];
        for (int a = 0; a < 3; a++) {
            e[a] = (double)m->vertices[v[1]][a] - m->vertices[v[0]][a];
            f[a] = (double)m->vertices[v[2]][a] - m->vertices[v[0]][a];
        }
        cross3(e, f, n);
        if (b->dim == 2) n[0] = e[1], n[1] = -e[0], n[2] = 0;
        for (int k = 0; k < b->dim; k++)
            for (int a = 0; a < 3; a++) b->normal[v[k]][a] += (float)n[a];
    }
    for (size_t i = 0; i < m->vertex_count; i++) {
        float *n = b->normal[i], length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int a = 0; a < 3; a++) n[a] = length > 0 ? n[a] / length : 0;
    }
}

/// A place of a body, as if it were rigid, as it is now => at rest.
static void to_rest(const Body *b, const float p[3], float out[3]) {
    double d[3];
    for (int a = 0; a < 3; a++) d[a] = p[a] - b->centre[a];
    for (int a = 0; a < 3; a++)
        out[a] = (float)(b->rotation[a] * d[0] + b->rotation[3 + a] * d[1] +
                         b->rotation[6 + a] * d[2] + b->elastic->rest_centre[a]);
}

/// On nodes at half cells of the liquid's grid around the surface.
static bool find_distance(Body *b) {
    for (int a = 0; a < 3; a++) b->grid.low[a] = b->low[a], b->grid.high[a] = b->high[a];
    distance_grid_fit(&b->grid, b->dim, 0.5f * b->dx, REACH);
    return distance_grid_near(&b->grid, &b->surface, REACH, true, b->elastic->params.team,
                              &b->distance);
}

bool body_place(Body *b) {
    place_vertices(b);
    find_normals(b);
    double velocity[3];
    elastic_rotation(b->elastic, b->rotation);
    elastic_centre(b->elastic, b->centre, velocity);
    return b->elastic->params.rigid || find_distance(b);
}

// -------------------------------------------------------------------------------------- queries

SolidBody body_solid(const Body *b) {
    return (SolidBody){.distance = body_distance,
                       .velocity = body_velocity,
                       .fastest = body_fastest,
                       .bounds = body_bounds,
                       .thickness = shape_thickness(b->shape),
                       .known = b->elastic->params.rigid ? INFINITY : KNOWN * b->dx,
                       .context = b};
}

float body_fastest(const void *body) {
    return ((const Body *)body)->fastest;
}

bool body_bounds(const void *body, float low[3], float high[3]) {
    const Body *b = body;
    memcpy(low, b->low, sizeof b->low);
    memcpy(high, b->high, sizeof b->high);
    return true;
}

void body_distance(const void *body, int n, const float *x, const float *y, const float *z,
                   float *distance) {
    const Body *b = body;
    if (!b->elastic->params.rigid) {
        distance_grid_sample(&b->grid, n, x, y, z, distance);
        return;
    }
    enum { PIECE = 64 };
    for (int from = 0; from < n; from += PIECE) {
        float rx[PIECE], ry[PIECE], rz[PIECE];
        int m = n - from < PIECE ? n - from : PIECE;
        for (int i = 0; i < m; i++) {
            float out[3];
            to_rest(b, (const float[3]){x[from + i], y[from + i], z[from + i]}, out);
            rx[i] = out[0], ry[i] = out[1], rz[i] = out[2];
        }
        shape_distance(b->shape, m, rx, ry, rz, distance + from);
    }
}

/// The foot of a point on a triangle (a segment when its last corners are one): weights of its
/// corners.
static void foot_weights(const Trimesh *m, uint32_t triangle, const float p[3], double w[3]) {
    const uint32_t *t = m->triangles[triangle];
    triangle_weights(m->vertices[t[0]], m->vertices[t[1]], m->vertices[t[2]], p, w);
}

static size_t nearest_node(const Body *b, const float p[3]) {
    const DistanceGrid *g = &b->grid;
    size_t at = 0, stride = 1;
    for (int a = 0; a < b->dim; a++) {
        double i = (p[a] - (double)g->origin[a]) / g->spacing + 0.5; // > 0: cut off is rounded
        size_t k = !(i > 0) ? 0 : i > g->n[a] - 1 ? (size_t)g->n[a] - 1 : (size_t)i;
        at += k * stride, stride *= (size_t)g->n[a];
    }
    return at;
}

static BrimVec3 rigid_velocity(const Body *b, const float p[3]) {
    float rest[3], v[3] = {0};
    to_rest(b, p, rest);
    double place[3] = {rest[0], rest[1], rest[2]}, row[4];
    elastic_row(b->elastic, place, row);
    for (int i = 0; i < b->elastic->r; i++)
        for (int a = 0; a < b->dim; a++) v[a] += (float)(row[i] * b->elastic->v[i * b->dim + a]);
    return (BrimVec3){v[0], v[1], v[2]};
}

BrimVec3 body_velocity(const void *body, const float p[3]) {
    const Body *b = body;
    if (b->elastic->params.rigid) return rigid_velocity(b, p);
    size_t node = nearest_node(b, p);
    // farther off no triangle is known
    if (fabsf(b->grid.value[node]) >= REACH * b->grid.spacing) return (BrimVec3){0, 0, 0};
    uint32_t t = b->distance.nearest[node];
    double w[3];
    float v[3] = {0};
    foot_weights(&b->surface, t, p, w);
    for (int k = 0; k < 3; k++)
        for (int a = 0; a < 3; a++)
            v[a] += (float)w[k] * b->velocity[b->surface.triangles[t][k]][a];
    return (BrimVec3){v[0], v[1], v[2]};
}

/// Foot by the distance and its slope.
static void rigid_wall(const Body *b, const float p[3], float foot[3], float *row) {
    float h = 0.05f * b->dx, x[7], y[7], z[7], d[7], rest[3];
    for (int i = 0; i < 7; i++) x[i] = p[0], y[i] = p[1], z[i] = p[2];
    x[1] += h, x[2] -= h, y[3] += h, y[4] -= h, z[5] += h, z[6] -= h;
    body_distance(b, 7, x, y, z, d);
    float g[3] = {d[1] - d[2], d[3] - d[4], b->dim == 3 ? d[5] - d[6] : 0};
    float length = sqrtf(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int a = 0; a < 3; a++) foot[a] = p[a] - (length > 0 ? d[0] * g[a] / length : 0);
    to_rest(b, foot, rest);
    double place[3] = {rest[0], rest[1], rest[2]}, exact[4];
    elastic_row(b->elastic, place, exact);
    for (int i = 0; i < b->elastic->r; i++) row[i] = (float)exact[i];
}

void body_wall(const Body *b, const float p[3], float foot[3], float *row) {
    if (b->elastic->params.rigid) {
        rigid_wall(b, p, foot, row);
        return;
    }
    uint32_t t = b->distance.nearest[nearest_node(b, p)];
    double w[3];
    size_t r = (size_t)b->elastic->r;
    foot_weights(&b->surface, t, p, w);
    memset(foot, 0, 3 * sizeof *foot);
    memset(row, 0, r * sizeof *row);
    for (int k = 0; k < 3; k++) {
        uint32_t v = b->surface.triangles[t][k];
        for (int a = 0; a < 3; a++) foot[a] += (float)w[k] * b->surface.vertices[v][a];
        for (size_t i = 0; i < r; i++) row[i] += (float)w[k] * b->row[v * r + i];
    }
}
