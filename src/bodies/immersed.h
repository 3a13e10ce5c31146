// Bodies and the liquid: the immersed coupling (Brandt et al. 2019). A body is full of particles,
// its twins, that take part in the transfers with their mass; one pressure of variable density
// makes the velocities of liquid and bodies free of divergence, and what the twins get goes back to
// the body's few numbers.
//
// Twins are no state: they follow from the body. They come among the particles before the sort and
// go after the density is measured, so that between steps there is liquid alone. Their velocities
// come from the elastic step, v*, less gravity's kick, which all faces get. After the projection
//   v_p = s (v*_p + du) + (1 - s) u,   (U^T B^T m B U) dv = U^T B^T m (v_p - v*_p),   v = v* + dv
// with B from the nodes of the body's lattice to its twins, s the body's share of FLIP.
#pragma once
#include "bodies/body.h"
#include "step/state.h"

typedef struct Twins {
    size_t count;
    float mass;        ///< of one, over that of a particle of liquid
    double weight;     ///< of one, kg
    float flip;        ///< share of FLIP in what they take from the grid
    bool keep_out;     ///< liquid and other bodies are kept out
    int32_t *element;  ///< [count] of the lattice
    float *value;      ///< [count][per_element] its functions there
    float (*rest)[3];  ///< [count] m
    float (*place)[3]; ///< [count] now, m
    float (*speed)[3]; ///< [count] v*_p, then v_p, m/s
    float (*sent)[3];  ///< [count] v*_p less gravity's kick
    uint8_t *within;   ///< [count] among the particles of this step
    double *node;      ///< [dim][nodes] scratch
    double *gram;      ///< [r][r] factor of U^T B^T m B U
    double *star;      ///< [dofs] v*
    Solid *solid;      ///< for whoever asks where liquid may be
} Twins;

/// Fills a body with particles at the liquid's spacing. flip, keep_out: see BrimBodyDef.
BrimResult twins_new(const BrimSim *s, Body *body, float flip, bool keep_out, BrimError *error);
void twins_free(Body *body);
size_t twins_bytes(const Body *body);

/// Whether bodies are immersed.
bool bodies_immersed(const BrimSim *s);
/// The fastest vertex, m/s.
double immersed_speed(const BrimSim *s);

/// Cells whose centres lie in a body, which no displacement enters. => rigid
void immersed_rigid(BrimSim *s);
/// Where the liquid is now, for what moves it out of bodies again. False when out of memory.
bool immersed_remember(BrimSim *s);
/// Twins stand where they were before displacements, and liquid leaves bodies that it was moved
/// into since it was remembered. (material, id) => (x, key)
void immersed_restore(BrimSim *s);
