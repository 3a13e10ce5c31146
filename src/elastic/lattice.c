#include "elastic/lattice.h"
#include "base/error.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECES = 4,      ///< parts of a cut element along each axis, each filled as far as a plane says
    PIECES_FINE = 8, ///< where those are too coarse for thin parts
    CRUMBS_MOST = PIECES * PIECES * PIECES * 27 * 8
};

void lattice_free(Lattice *l) {
    free(l->element_at);
    free(l->cell);
    free(l->node);
    free(l->place);
    *l = (Lattice){0};
}

// ------------------------------------------------------------------------------------- planes

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Fills the planes of an axis: even steps of at most `size` between low, the cuts and high.
/// At least two elements lie between low and high. False when there are too many.
static bool make_planes(Lattice *l, int axis, double low, double high, double size,
                        const double *cut, int cut_count) {
    double stop[AXIS_PLANES_MOST];
    int stops = 0;
    double close = 1e-6 * (high - low);
    stop[stops++] = low;
    for (int i = 0; i < cut_count && stops < 16; i++)
        if (cut[i] > low + close && cut[i] < high - close) stop[stops++] = cut[i];
    stop[stops++] = high;
    qsort(stop, (size_t)stops, sizeof *stop, by_value);
    l->n[axis] = 0;
    l->plane[axis][0] = low;
    for (int i = 0; i + 1 < stops; i++) {
        double length = stop[i + 1] - stop[i];
        if (length <= close) continue;
        int parts = (int)ceil(length / size * (1 - 1e-9));
        if (stops == 2 && parts < 2) parts = 2;
        if (l->n[axis] + parts >= AXIS_PLANES_MOST) return false;
        for (int k = 1; k <= parts; k++)
            l->plane[axis][++l->n[axis]] = k == parts ? stop[i + 1] : stop[i] + length * k / parts;
    }
    return true;
}

/// Centre and half sizes of the element at x, y, z.
static void element_box(const Lattice *l, const int16_t cell[3], double centre[3], double half[3]) {
    for (int a = 0; a < 3; a++) {
        centre[a] = half[a] = 0;
        if (a >= l->dim) continue;
        double low = l->plane[a][cell[a]], high = l->plane[a][cell[a] + 1];
        centre[a] = 0.5 * (low + high), half[a] = 0.5 * (high - low);
    }
}

static void to_world(const Lattice *l, const double p[3], double out[3]) {
    for (int a = 0; a < 3; a++)
        out[a] = l->axes[a] * p[0] + l->axes[3 + a] * p[1] + l->axes[6 + a] * p[2];
}

static void to_lattice(const Lattice *l, const double p[3], double out[3]) {
    for (int a = 0; a < 3; a++)
        out[a] = l->axes[3 * a] * p[0] + l->axes[3 * a + 1] * p[1] + l->axes[3 * a + 2] * p[2];
}

// --------------------------------------------------------------------------------------- parts

/// Distance at places given along the lattice's axes.
static double distance_at(const Lattice *l, const Region *r, const double p[3]) {
    double w[3];
    to_world(l, p, w);
    float x = (float)w[0], y = (float)w[1], z = (float)w[2], d;
    r->distance(r->context, 1, &x, &y, &z, &d);
    return d;
}

/// Whether the corners of a small box lie inside or on the surface.
static bool wholly_inside(const Lattice *l, const Region *r, const double p[3],
                          const double half[3]) {
    for (int c = 0; c < 1 << l->dim; c++) {
        double at[3];
        for (int a = 0; a < 3; a++) at[a] = p[a] + (c >> a & 1 ? half[a] : -half[a]);
        if (distance_at(l, r, at) > 1e-4 * half[0]) return false;
    }
    return true;
}

/// The part of a small box that lies inside, as far as a plane at its centre's distance cuts it.
static double filled_part(const Lattice *l, const Region *r, const double p[3],
                          const double half[3]) {
    double phi = distance_at(l, r, p), reach = 0, width = 0, length = 0;
    for (int a = 0; a < l->dim; a++) reach += half[a] * half[a];
    if (phi * phi >= reach) return phi < 0 ? 1 : 0;
    for (int a = 0; a < l->dim; a++) {
        double up[3] = {p[0], p[1], p[2]}, down[3] = {p[0], p[1], p[2]};
        up[a] += 0.5 * half[a], down[a] -= 0.5 * half[a];
        double slope = fabs(distance_at(l, r, up) - distance_at(l, r, down)) / half[a];
        width += 2 * half[a] * slope, length += slope * slope;
    }
    if (!(length > 0) || wholly_inside(l, r, p, half)) return phi < 0 ? 1 : 0;
    double part = 0.5 - phi * sqrt(length) / width;
    return part < 1e-6 ? 0 : part > 1 - 1e-4 ? 1 : part;
}

/// A place in an element, -1..1 along each axis, and how much of the body is there, in parts of the
/// element.
typedef struct Crumb {
    double at[3], volume;
} Crumb;

/// A small box of which the body fills some: two crumbs along each axis, which have its spread.
static void add_crumbs(int dim, const double at[3], double half, double volume, Crumb *list,
                       int *count) {
    for (int n = 0; volume > 0 && n < 1 << dim; n++) {
        Crumb *c = &list[(*count)++];
        *c = (Crumb){.volume = volume / (1 << dim)};
        for (int a = 0; a < dim; a++)
            c->at[a] = at[a] + (n >> a & 1 ? half : -half) * 0.57735026918962576;
    }
}

/// What the body fills of a piece that its surface cuts, by 27 smaller ones: a plane through a
/// piece of a limb of its own size would take a tenth too much for inside.
static double cut_finely(const Lattice *l, const Region *r, const double p[3], const double half[3],
                         const double at[3], double size, double volume, Crumb *list, int *count) {
    double sum = 0, small[3] = {half[0] / 3, half[1] / 3, half[2] / 3};
    for (int n = 0; n < 27; n++) {
        const int by[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        double q[3], place[3];
        for (int a = 0; a < 3; a++) {
            q[a] = p[a] + 2 * by[a] * small[a];
            place[a] = at[a] + 2 * by[a] * size / 3;
        }
        double part = filled_part(l, r, q, small);
        add_crumbs(3, place, size / 3, part * volume / 27, list, count);
        sum += part;
    }
    return sum / 27;
}

/// The body in an element. Returns the filled part.
static double fill_pieces(const Lattice *l, const Region *r, const int16_t cell[3], int pieces,
                          Crumb *list, int *count) {
    double centre[3], half[3], small[3], sum = 0;
    element_box(l, cell, centre, half);
    for (int a = 0; a < 3; a++) small[a] = half[a] / pieces;
    int layers = l->dim == 3 ? pieces : 1, all = layers * pieces * pieces;
    *count = 0;
    for (int n = 0; n < all; n++) {
        const int by[3] = {n % pieces, n / pieces % pieces, n / (pieces * pieces)};
        double p[3], at[3] = {0};
        for (int a = 0; a < 3; a++) p[a] = centre[a] - half[a] + (2 * by[a] + 1) * small[a];
        for (int a = 0; a < l->dim; a++) at[a] = (2 * by[a] + 1.0) / pieces - 1;
        double part = filled_part(l, r, p, small);
        if (l->dim == 3 && part > 0 && part < 1)
            part = cut_finely(l, r, p, small, at, 1.0 / pieces, 1.0 / all, list, count);
        else
            add_crumbs(l->dim, at, 1.0 / pieces, part / all, list, count);
        sum += part;
    }
    return sum / all;
}

static bool add_point(Points *list, Point p) {
    if (!memory_grow((void **)&list->point, &list->room, sizeof p, list->count + 1, list->count))
        return false;
    list->point[list->count++] = p;
    return true;
}

static double element_volume(const Lattice *l, const int16_t cell[3]) {
    double centre[3], half[3], volume = 1;
    element_box(l, cell, centre, half);
    for (int a = 0; a < l->dim; a++) volume *= 2 * half[a];
    return volume;
}

/// A rule of `order` (2 or 3) points along each axis.
static int gauss(const Lattice *l, int element, int order, Point *points) {
    static const double at2[2] = {-0.57735026918962576, 0.57735026918962576}, weight2[2] = {1, 1};
    static const double at3[3] = {-0.77459666924148338, 0, 0.77459666924148338};
    static const double weight3[3] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
    const double *at = order == 2 ? at2 : at3, *weight = order == 2 ? weight2 : weight3;
    double volume = element_volume(l, l->cell[element]) / (l->dim == 3 ? 8 : 4);
    int n = 0;
    for (int k = 0; k < (l->dim == 3 ? order : 1); k++)
        for (int j = 0; j < order; j++)
            for (int i = 0; i < order; i++) {
                Point p = {element, {at[i], at[j], l->dim == 3 ? at[k] : 0}, volume};
                p.volume *= weight[i] * weight[j] * (l->dim == 3 ? weight[k] : 1);
                points[n++] = p;
            }
    return n;
}

int lattice_gauss(const Lattice *l, int element, Point *points) {
    return gauss(l, element, 3, points);
}

static bool add_gauss(const Lattice *l, int element, int order, Points *list) {
    Point p[ELEMENT_MOST];
    int n = gauss(l, element, order, p);
    for (int i = 0; i < n; i++)
        if (!add_point(list, p[i])) return false;
    return true;
}

/// Volume, centre and spread (variance along each axis) of some crumbs.
typedef struct Moments {
    double volume, centre[3], spread[3];
} Moments;

/// Of those on one side of a place along each axis: bit a of `side`, set: above; side -1: of all.
static Moments moments_of(int dim, const Crumb *list, int count, const double place[3], int side) {
    Moments m = {0};
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            const Crumb *c = &list[i];
            bool here = true;
            for (int a = 0; a < dim && side >= 0; a++)
                here &= (c->at[a] >= place[a]) == (side >> a & 1);
            if (!here) continue;
            if (pass == 0) m.volume += c->volume;
            for (int a = 0; a < dim; a++) {
                double off = c->at[a] - m.centre[a], part = c->volume / m.volume;
                if (pass == 0)
                    m.centre[a] += off * part; // the mean so far
                else
                    m.spread[a] += off * off * part;
            }
        }
    return m;
}

/// Two points along each axis with the volume, centre and spread of what they stand for.
static bool add_moments(const Lattice *l, int element, const Moments *m, double volume,
                        Points *list) {
    int corners = 1 << l->dim;
    for (int n = 0; n < corners; n++) {
        Point p = {.element = element, .volume = m->volume * volume / corners};
        for (int a = 0; a < l->dim; a++)
            p.at[a] = m->centre[a] + (n >> a & 1 ? 1 : -1) * sqrt(m->spread[a]);
        if (!add_point(list, p)) return false;
    }
    return true;
}
/// One point for the body on each side of its centre along each axis, moved apart until they have
/// its spread.
static bool add_sides(const Lattice *l, int element, const Crumb *crumb, int count, double volume,
                      Points *list) {
    static const double none[3] = {0};
    Moments all = moments_of(l->dim, crumb, count, none, -1), side[8];
    double spread[3] = {0};
    for (int g = 0; g < 1 << l->dim; g++) {
        side[g] = moments_of(l->dim, crumb, count, all.centre, g);
        for (int a = 0; a < l->dim; a++) {
            double off = side[g].centre[a] - all.centre[a];
            spread[a] += side[g].volume / all.volume * off * off;
        }
    }
    for (int g = 0; g < 1 << l->dim; g++) {
        Point p = {.element = element, .volume = side[g].volume * volume};
        for (int a = 0; a < l->dim; a++) {
            double apart = spread[a] > 0 ? sqrt(all.spread[a] / spread[a]) : 1;
            p.at[a] = all.centre[a] + (side[g].centre[a] - all.centre[a]) * apart;
        }
        if (p.volume > 0 && !add_point(list, p)) return false;
    }
    return true;
}

/// Points of a cut element. However little of it the body fills, there are two along each axis:
/// were there one, a quadratic function could have its top there and bend at no cost.
static bool add_cut(const Lattice *l, int element, const Crumb *crumb, int count, Points *exact,
                    Points *few) {
    static const double middle[3] = {0};
    double volume = element_volume(l, l->cell[element]);
    for (int g = 0; g < 1 << l->dim; g++) {
        Moments half = moments_of(l->dim, crumb, count, middle, g);
        if (half.volume > 0 && !add_moments(l, element, &half, volume, exact)) return false;
    }
    return add_sides(l, element, crumb, count, volume, few);
}

// ------------------------------------------------------------------------------------ elements

/// Numbers the elements that hold some of the body, and makes their points.
static bool find_elements(Lattice *l, const Region *r, Points *exact, Points *few,
                          double **filled) {
    size_t cells = (size_t)l->n[0] * (size_t)l->n[1] * (size_t)l->n[2], at = 0;
    static const double least = 1e-4;
    int count, pieces = l->dim == 2 ? PIECES_FINE : PIECES;
    l->element_at = memory_new(cells * sizeof *l->element_at);
    l->cell = memory_new(cells * sizeof *l->cell);
    *filled = memory_new(cells * sizeof **filled);
    Crumb *crumb = memory_new(CRUMBS_MOST * sizeof *crumb);
    bool ok = l->element_at && l->cell && *filled && crumb;
    for (int k = 0; ok && k < l->n[2]; k++)
        for (int j = 0; ok && j < l->n[1]; j++)
            for (int i = 0; ok && i < l->n[0]; i++, at++) {
                int16_t cell[3] = {(int16_t)i, (int16_t)j, (int16_t)k};
                double mean = fill_pieces(l, r, cell, pieces, crumb, &count);
                l->element_at[at] = -1;
                if (mean < least) continue;
                int e = l->element_count++;
                l->element_at[at] = e, (*filled)[e] = mean;
                memcpy(l->cell[e], cell, sizeof cell);
                ok = mean == 1 ? add_gauss(l, e, 3, exact) && add_gauss(l, e, 2, few)
                               : add_cut(l, e, crumb, count, exact, few);
            }
    free(crumb);
    return ok;
}

static bool number_nodes(Lattice *l) {
    size_t edge[3] = {1, 1, 1}, all = 1;
    for (int a = 0; a < l->dim; a++) edge[a] = 2 * (size_t)l->n[a] + 1;
    for (int a = 0; a < 3; a++) all *= edge[a];
    int32_t *number = memory_new(all * sizeof *number);
    l->per_element = l->dim == 3 ? 27 : 9;
    l->node = memory_new((size_t)l->element_count * (size_t)l->per_element * sizeof *l->node);
    l->place = memory_new(all * sizeof *l->place);
    bool ok = number && l->node && l->place;
    for (size_t i = 0; ok && i < all; i++) number[i] = -1;
    for (int e = 0; ok && e < l->element_count; e++)
        for (int n = 0; n < l->per_element; n++) {
            int at[3] = {n % 3, n / 3 % 3, n / 9};
            size_t i = 0;
            double p[3] = {0}, centre[3], half[3];
            element_box(l, l->cell[e], centre, half);
            for (int a = l->dim - 1; a >= 0; a--) {
                i = i * edge[a] + 2 * (size_t)l->cell[e][a] + (size_t)at[a];
                p[a] = centre[a] + (at[a] - 1) * half[a];
            }
            if (number[i] < 0) {
                number[i] = l->node_count++;
                to_world(l, p, l->place[number[i]]);
            }
            l->node[e * l->per_element + n] = number[i];
        }
    free(number);
    return ok;
}

/// Planes for elements of one size; false when there would be too many.
static bool lay(Lattice *l, const Region *r, const LatticeParams *params, double size) {
    double count = 1;
    l->n[2] = 1;
    for (int a = 0; a < l->dim; a++) {
        if (!make_planes(l, a, r->low[a], r->high[a], size, params->cut[a], params->cut_count[a]))
            return false;
        count *= l->n[a];
    }
    return params->size > 0 || count <= params->elements;
}

/// The least size of which no more than the wanted elements fit into the bounds.
static bool choose_size(Lattice *l, const Region *r, const LatticeParams *params) {
    double high = 0, low = 0;
    if (params->size > 0) return lay(l, r, params, params->size);
    for (int a = 0; a < l->dim; a++) high = fmax(high, r->high[a] - r->low[a]);
    if (!lay(l, r, params, high)) return false;
    for (int i = 0; i < 40; i++) {
        double middle = 0.5 * (low + high);
        if (lay(l, r, params, middle))
            high = middle;
        else
            low = middle;
    }
    return lay(l, r, params, high);
}

BrimResult lattice_new(const Region *r, int dim, const LatticeParams *params, Lattice *l,
                       Points *exact, Points *few, double **filled, BrimError *error) {
    *l = (Lattice){.dim = dim, .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    for (int a = 0; a < dim; a++)
        if (!(r->high[a] > r->low[a]) || !isfinite(r->high[a] - r->low[a]))
            return fail(error, BRIM_ERROR_INPUT,
                        "an elastic body must be bounded and have an extent along each axis; this "
                        "one reaches from %g to %g m along %c",
                        r->low[a], r->high[a], "xyz"[a]);
    if (!choose_size(l, r, params))
        return fail(error, BRIM_ERROR_INPUT,
                    "an elastic body's lattice would need more than %d elements along an axis or "
                    "%d in all: use larger elements",
                    AXIS_PLANES_MOST - 1, params->elements);
    if (!find_elements(l, r, exact, few, filled) || !number_nodes(l))
        return fail(error, BRIM_ERROR_MEMORY, "no memory for an elastic body's lattice");
    if (l->element_count == 0)
        return fail(error, BRIM_ERROR_INPUT,
                    "an elastic body is empty, or too thin to be found with elements of %.3g m: "
                    "make it thicker",
                    l->plane[0][1] - l->plane[0][0]);
    return BRIM_OK;
}

// ----------------------------------------------------------------------------------- functions

/// The three quadratic functions of an axis and their slopes.
static void along(double x, double value[3], double slope[3]) {
    value[0] = 0.5 * x * (x - 1), value[1] = 1 - x * x, value[2] = 0.5 * x * (x + 1);
    slope[0] = x - 0.5, slope[1] = -2 * x, slope[2] = x + 0.5;
}

void lattice_functions(const Lattice *l, const Point *p, double *value, double (*gradient)[3]) {
    double v[3][3] = {{0}}, s[3][3] = {{0}}, centre[3], half[3];
    element_box(l, l->cell[p->element], centre, half);
    for (int a = 0; a < l->dim; a++) along(p->at[a], v[a], s[a]);
    if (l->dim == 2) v[2][0] = 1;
    for (int n = 0; n < l->per_element; n++) {
        int i = n % 3, j = n / 3 % 3, k = n / 9;
        value[n] = v[0][i] * v[1][j] * v[2][k];
        if (!gradient) continue;
        double g[3] = {s[0][i] * v[1][j] * v[2][k] / half[0], v[0][i] * s[1][j] * v[2][k] / half[1],
                       l->dim == 3 ? v[0][i] * v[1][j] * s[2][k] / half[2] : 0};
        to_world(l, g, gradient[n]);
    }
}

/// How far a place is outside an element's box, squared.
static double outside(const Lattice *l, int element, const double p[3]) {
    double centre[3], half[3], sum = 0;
    element_box(l, l->cell[element], centre, half);
    for (int a = 0; a < l->dim; a++) {
        double d = fabs(p[a] - centre[a]) - half[a];
        sum += d > 0 ? d * d : 0;
    }
    return sum;
}

Point lattice_find(const Lattice *l, const double place[3]) {
    double p[3], centre[3], half[3];
    to_lattice(l, place, p);
    int at[3] = {0};
    for (int a = 0; a < l->dim; a++)
        while (at[a] + 1 < l->n[a] && p[a] > l->plane[a][at[a] + 1]) at[a]++;
    int best = l->element_at[(at[2] * l->n[1] + at[1]) * l->n[0] + at[0]];
    if (best < 0) {
        double nearest = INFINITY;
        for (int e = 0; e < l->element_count; e++) {
            double d = outside(l, e, p);
            if (d < nearest) nearest = d, best = e;
        }
    }
    Point found = {.element = best};
    element_box(l, l->cell[best], centre, half);
    for (int a = 0; a < l->dim; a++) found.at[a] = (p[a] - centre[a]) / half[a];
    return found;
}

void lattice_place(const Lattice *l, const Point *p, double place[3]) {
    double centre[3], half[3], at[3];
    element_box(l, l->cell[p->element], centre, half);
    for (int a = 0; a < 3; a++) at[a] = centre[a] + p->at[a] * half[a];
    to_world(l, at, place);
}
