// What bodies touch at the end of the step that their velocities make.
#pragma once
#include "elastic/elastic.h"
#include "step/state.h"

/// Walls push from this far off on, softly at first, in cells: a body that comes and goes within a
/// step then finds a middle.
#define CONTACT_SKIN 0.1

/// A vertex of a body's surface.
typedef struct Vertex {
    int body;
    size_t vertex;
    const float *at; ///< at the start of the step, m
    double v[3];     ///< m/s
    double dn;       ///< contact_time, s
} Vertex;

/// What it touches.
typedef struct Touch {
    double depth;     ///< m, at the end, from the skin on
    double start;     ///< m, distance at the start
    double normal[3]; ///< out of the wall
    double speed[3];  ///< of the wall, m/s
    int body;         ///< that the wall belongs to; -1: none
    float place[3];   ///< where on it, as it stands at the start of the step
} Touch;

typedef struct TouchVisit {
    bool (*visit)(BrimSim *s, const Vertex *vertex, const Touch *touch, void *context);
    void *context;
} TouchVisit;

/// Shows all touches of all bodies at their velocities v; walls: not those of bodies with bodies.
/// False when a visit was.
bool contact_visit(BrimSim *s, bool walls, const TouchVisit *to);

/// For how long velocities are followed to what they touch, s: the step, or the kick where that is
/// longer. A force found at the end of a step much shorter than the kick that it acts for would
/// push what touches out within that step, however fast.
double contact_time(const Elastic *body);

/// Takes out of v, as a pass left it, what would carry bodies into walls and solids: see limits.c.
/// False when out of memory.
bool contact_limit(BrimSim *s, double kick);
