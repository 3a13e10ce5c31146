// Force and torque of the pressure on a warped grid, where it is known at nodes.
//
// With n pointing out of the water the integral of p n over a solid's wall is minus that of grad p
// over the solid, plus that of p n over the domain's sides as far as the solid covers them. Summed
// over Gauss points with the part of the cell that is solid, it is what the pressure does to the
// water by the same points, with the sign reversed; and where no liquid is near, the sums of whole
// cells cancel, whatever the nodes inside the solid say.
#include "gauge/force.h"
#include "warp/space.h"
#include "warp/stage.h"
#include <math.h>

/// A cell with the pressure at its corners.
typedef struct Wetted {
    int at[3]; ///< in the grid
    double d[8][3], q[8];
    Element element;
} Wetted;

/// False: outside the domain, or no pressure is at its corners.
static bool load_wetted(const BrimSim *s, int slot, int cell, Wetted *c) {
    const TileCoord t = s->grid.coord[slot];
    const int local[3] = {cell & 7, cell >> 3 & 7, cell >> 6};
    const int tile[3] = {t.x * TILE, t.y * TILE, s->dim == 3 ? t.z * TILE : 0};
    bool any = false;
    for (int a = 0; a < 3; a++) {
        c->at[a] = tile[a] + local[a];
        if (a < s->dim && c->at[a] >= s->grid.cells[a]) return false;
    }
    for (int k = 0; k < 1 << s->dim; k++) {
        const int64_t node = grid_near(&s->grid, slot, local[0] + (k & 1), local[1] + (k >> 1 & 1),
                                       local[2] + (k >> 2));
        c->q[k] = node < 0 ? 0 : (double)s->pressure[node];
        any = any || c->q[k] != 0;
    }
    if (!any) return false;
    for (int k = 0; k < 8; k++) {
        const int i = k & ((1 << s->dim) - 1); // in 2D the same four twice
        const double xi[3] = {c->at[0] + (i & 1), c->at[1] + (i >> 1 & 1), c->at[2] + (i >> 2)};
        map_displacement(&s->warp->mesh.map, xi, c->d[k]);
    }
    element_shape(&c->element, s->dim, WARP_RULE_GAUSS, c->d);
    return true;
}

/// Values of the shape functions at a point of the cell => pressure there, as q, and place, m.
static double pressure_within(const BrimSim *s, const Wetted *c, const double N[8], double x[3]) {
    double q = 0;
    for (int a = 0; a < 3; a++) x[a] = 0;
    for (int k = 0; k < 1 << s->dim; k++) {
        q += N[k] * c->q[k];
        for (int a = 0; a < s->dim; a++)
            x[a] += N[k] * (c->at[a] + (k >> a & 1) + c->d[k][a]) * (double)s->dx;
    }
    return q;
}

static void arm_from(const double x[3], const double centre[3], int dim, double arm[3]) {
    for (int a = 0; a < 3; a++) arm[a] = a < dim ? x[a] - centre[a] : 0;
}

/// Adds `part` of p n over a cell's face on a side of the domain, if it has one there; Pa and m.
static void add_face(const BrimSim *s, const Wetted *c, int axis, int far, double part,
                     const double centre[3], TileShare *share) {
    static const double gauss[2] = {0.21132486540518711775, 0.78867513459481288225};
    const int dim = s->dim, u = (axis + 1) % dim, v = dim == 3 ? (axis + 2) % 3 : axis;
    const double unit = pressure_unit(s) * pow((double)s->dx, dim - 1);
    if (c->at[axis] != (far ? s->grid.cells[axis] - 1 : 0) || part == 0) return;
    for (int k = 0; k < 1 << (dim - 1); k++) {
        double t[3] = {0}, J[3][3], N[8], x[3], arm[3], force[3] = {0};
        t[axis] = far, t[u] = gauss[k & 1];
        if (dim == 3) t[v] = gauss[k >> 1];
        element_jacobian(dim, c->d, t, J);
        const double area = dim == 3 ? J[u][u] * J[v][v] - J[u][v] * J[v][u] : J[u][u];
        for (int i = 0; i < 1 << dim; i++) {
            N[i] = 1;
            for (int a = 0; a < dim; a++) N[i] *= i >> a & 1 ? t[a] : 1 - t[a];
        }
        force[axis] =
            (far ? 1 : -1) * pressure_within(s, c, N, x) * unit * part * area / (1 << (dim - 1));
        arm_from(x, centre, dim, arm);
        add_force(share, arm, force);
    }
}

/// Minus the integral of grad p over the part of a cell that is solid. open: [point], `stride`
/// apart
static void add_inside(const BrimSim *s, const Wetted *c, const float *open, size_t stride,
                       const double centre[3], TileShare *share) {
    const double unit = pressure_unit(s) * pow((double)s->dx, s->dim - 1);
    for (int g = 0; g < 1 << s->dim; g++) {
        const double part = (1 - (double)open[(size_t)g * stride]) * c->element.weight[g];
        double N[8], x[3], arm[3], force[3] = {0};
        if (part == 0) continue;
        element_values(s->dim, WARP_RULE_GAUSS, g, N);
        pressure_within(s, c, N, x);
        for (int a = 0; a < s->dim; a++)
            for (int k = 0; k < 1 << s->dim; k++)
                force[a] -= unit * part * c->element.gradient[g][a][k] * c->q[k];
        arm_from(x, centre, s->dim, arm);
        add_force(share, arm, force);
    }
}

/// Whether a solid is the one nearest to the middle of a cell.
static bool is_nearest(const BrimSim *s, const Wetted *c, int solid) {
    const double xi[3] = {c->at[0] + 0.5, c->at[1] + 0.5, s->dim == 3 ? c->at[2] + 0.5 : 0};
    double x[3];
    int which = 0;
    if (s->walls.solid_count == 1) return true;
    map_to_space(&s->warp->mesh.map, xi, x);
    for (int a = 0; a < 3; a++) x[a] = a < s->dim ? x[a] * (double)s->dx : 0;
    probe_solid(s, x, &which);
    return which == solid;
}

void share_of_solid_warped(const BrimSim *s, int slot, const BrimGaugeDef *gauge,
                           TileShare *share) {
    const WarpState *w = s->warp;
    const size_t n = (size_t)s->grid.tile_cells, points = (size_t)1 << s->dim;
    double centre[3];
    if (!w->solids.open || !s->solid_at[slot] || !s->wet_at[slot]) return;
    const size_t base = (size_t)(s->solid_at[slot] - 1) * n;
    gauge_centre(s, gauge, centre);
    for (int cell = 0; cell < s->grid.tile_cells; cell++) {
        const float *open = w->open + base * points + (size_t)cell;
        float least = 1;
        Wetted c;
        for (size_t g = 0; g < points; g++) least = fminf(least, open[g * n]);
        if (least == 1 || !load_wetted(s, slot, cell, &c) || !is_nearest(s, &c, gauge->solid))
            continue;
        add_inside(s, &c, open, n, centre, share);
        for (int k = 0; k < 2 * s->dim; k++)
            add_face(s, &c, k >> 1, k & 1, (double)w->covered[k >> 1][base + (size_t)cell], centre,
                     share);
    }
}

void share_of_side_warped(const BrimSim *s, int slot, const BrimGaugeDef *gauge, TileShare *share) {
    const WarpState *w = s->warp;
    const int axis = (gauge->side - 1) >> 1, far = (gauge->side - 1) & 1;
    double middle[3] = {0.5 * (double)s->def.size.x, 0.5 * (double)s->def.size.y,
                        0.5 * (double)s->def.size.z};
    const TileCoord t = s->grid.coord[slot];
    const int tile[3] = {t.x, t.y, t.z}, last = far ? s->grid.cells[axis] - 1 : 0;
    if (tile[axis] != last >> TILE_SHIFT || !s->wet_at[slot]) return;
    middle[axis] = far ? 2 * middle[axis] : 0; // torques are about the middle of the side
    for (int cell = 0; cell < s->grid.tile_cells; cell++) {
        const int local = cell >> 3 * axis & 7;
        double open = 1;
        Wetted c;
        if (tile[axis] * TILE + local != last || !load_wetted(s, slot, cell, &c)) continue;
        if (w->solids.open && s->solid_at[slot])
            open -=
                (double)
                    w->covered[axis][(size_t)(s->solid_at[slot] - 1) * (size_t)s->grid.tile_cells +
                                     (size_t)cell];
        add_face(s, &c, axis, far, open, middle, share);
    }
}
