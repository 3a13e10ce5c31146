// A coarse lattice of quadratic elements laid over a body, and points to integrate over the body.
//
// Elements are boxes with 3 x 3 (x 3) nodes. A body need not fill the elements that it touches:
// integrals are taken over the part that it does fill, and the surface is carried along. Quadratic
// elements bend without locking, two across the thinnest part are enough.
#pragma once
#include "brim/brim.h"

enum { ELEMENT_MOST = 27, AXIS_PLANES_MOST = 66 };

/// What a body fills: a signed distance, negative inside, with its bounds.
typedef struct Region {
    void (*distance)(const void *context, int n, const float *x, const float *y, const float *z,
                     float *distance);
    const void *context;
    double low[3], high[3]; ///< m; of z in 2D nothing is read
} Region;

typedef struct Lattice {
    int dim;
    double axes[9];                    ///< rows: unit vectors of the lattice's axes
    int n[3];                          ///< elements along each axis; 2D: n[2] = 1
    double plane[3][AXIS_PLANES_MOST]; ///< where elements meet, along each axis, m
    int32_t *element_at;               ///< [z][y][x] => element, -1: no body there
    int element_count;
    int16_t (*cell)[3]; ///< [elements] x, y, z
    int per_element;    ///< nodes of an element: 9 or 27, x fastest
    int32_t *node;      ///< [elements][per_element]
    int node_count;
    double (*place)[3]; ///< [nodes] at rest, m
} Lattice;

/// A point of an element that stands for a volume of the body.
typedef struct Point {
    int32_t element;
    double at[3];  ///< -1..1 along each axis of the element
    double volume; ///< m3; 2D: m2
} Point;

typedef struct Points {
    Point *point;
    size_t count, room;
} Points;

typedef struct LatticeParams {
    int elements; ///< wanted, at most
    double size;  ///< of an element, m; 0: by `elements`
    /// Planes that shall lie between elements, such as the faces of pins, along each axis.
    const double *cut[3];
    int cut_count[3];
} LatticeParams;

/// Lays a lattice over a region. exact: points for the stiffness and mass at rest; few: a coarser
/// rule for each step. filled [elements]: the part of each element that the body fills.
BrimResult lattice_new(const Region *region, int dim, const LatticeParams *params, Lattice *lattice,
                       Points *exact, Points *few, double **filled, BrimError *error);
void lattice_free(Lattice *lattice);

/// The full element's own rule of three points along each axis.
int lattice_gauss(const Lattice *lattice, int element, Point *points);

/// Values [per_element] and gradients [per_element][dim], 1/m, of an element's functions.
void lattice_functions(const Lattice *lattice, const Point *p, double *value,
                       double (*gradient)[3]);

/// The element that holds a place at rest, or the nearest one, of which the point then lies
/// outside.
Point lattice_find(const Lattice *lattice, const double place[3]);

/// Where a point is at rest, m.
void lattice_place(const Lattice *lattice, const Point *p, double place[3]);
