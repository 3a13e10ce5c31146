// A reduced elastic body: few numbers move it, many elements give it its stiffness. Knows no fluid.
//
// Positions are x(X) = X + sum over i of U_i(X) d_i, with scalar functions U_i that all coordinates
// share: 1, x, y, z and the components of the lowest vibrations, orthonormal in the body's mass. So
// the mass matrix of the numbers d is the identity, any turned copy of a pose can be told, and a
// free body has its exact inertia. A held body has only functions that vanish on its pins.
//
// Time goes as in the liquid: positions stand at t, velocities are the mean of the step to come.
// A step is an implicit midpoint rule between kicks of all other forces:
//   w = v + j,   v* - w = dn/2 [S f(S z) - tau dn K_d v*] + k f_ext,   z = d + dn/2 v*,
//   j = v* - w - k f_ext
// where S undoes that the middle of a chord lies inside its arc (free bodies), and K_d brakes only
// vibrations that the step does not resolve. Of those, j loses half of what it changed since the
// step before, or it would change sign for ever. A rigid body has the functions 1, x, y, z alone,
// and A^-1 is the projection on rigid motions: what it becomes for a body of endless stiffness. It
// has no j: w is the rigid motion about z with the linear and angular momentum of v.
#pragma once
#include "base/team.h"
#include "elastic/lattice.h"
#include "elastic/material.h"

enum {
    ELASTIC_MODES_MOST = 200,
    ELASTIC_HANDLES_MOST = 200,
    ELASTIC_COLUMNS_MOST = 800,
    ELASTIC_DOFS_MOST = 3 * ELASTIC_COLUMNS_MOST,
    ELASTIC_PINS_MOST = 200
};

/// What the functions are made of, and how a step is solved.
typedef enum ElasticSubspace { ELASTIC_MODES, ELASTIC_HANDLES } ElasticSubspace;
typedef enum ElasticSolver { ELASTIC_NEWTON, ELASTIC_PROJECTIVE } ElasticSolver;

typedef struct ElasticParams {
    int dim;
    double density;        ///< kg/m3
    double young, poisson; ///< Pa, 0 to 0.49
    bool rigid;            ///< moves and turns but keeps its shape: no modes, stiffness is not read
    ElasticSubspace subspace;
    int modes;          ///< vibrations
    int handles, order; ///< handles, and the order of their motions: 1 affine, 2 quadratic
    double radius;      ///< of handles: see handles_new
    ElasticSolver
        solver;     ///< projective: implicit Euler's rule, see projective.h; not for rigid ones
    int iterations; ///< of a projective step
    int samples;    ///< points that a projective step looks at; 0: all
    int elements;   ///< at most
    double element_size; ///< m; 0: by `elements`
    const Region *pins;  ///< what they hold cannot move
    int pin_count;
    bool carried; ///< pins move, and carry what they hold along: whoever steps the body sees to it
    double tau;   ///< 0.1: of the brake on what the step does not resolve
    double damping; ///< 1/s, in proportion to mass
    Team *team;     ///< for sums over samples; NULL: the caller alone
} ElasticParams;

ElasticParams elastic_default_params(void);

typedef struct Elastic {
    ElasticParams params; ///< its pins are not to be read any more
    int dim, r, dofs;     ///< functions; numbers: r dim
    bool pinned;
    Material material;
    double mass, volume;   ///< kg, m3; 2D: of a metre of depth
    double rest_centre[3]; ///< of mass, m
    double omega[8];       ///< rad/s of the first vibrations, 0 beyond the last
    Lattice lattice;
    double *basis; ///< [nodes][r] kg^-1/2
    double *rest;  ///< [r][dim] of the rest pose, free bodies only: X = sum U_i rest_i
    double *whole; ///< [r] integral of density U_i: gravity's share, kg^1/2

    // carried, and handles: what lies in each pin, as means over points in it
    double *pin_gram;   ///< [pins][r][r] U_i U_j
    double *pin_moment; ///< [pins][r][4] U_i, U_i X
    double *hold;       ///< [r][r] handles: stiffness of pins that stay, N/m; else NULL

    int sample_count;
    double *sample_volume;         ///< [samples]
    double *sample_gradient;       ///< [samples][dim][r]
    double *gradient_of;           ///< [r][samples][dim] the same by function
    double *stress;                ///< [dim + 1][samples][dim] scratch of elastic_energy
    double *share;                 ///< [samples] energy; scratch too
    double *even;                  ///< [r][r] stiffness that no pose changes, of each component
    double *parts;                 ///< scratch of elastic_stiffness
    struct Projective *projective; ///< NULL: Newton's method

    double *d, *v, *j; ///< [r][dim] displacement, velocity, elastic half impulse; rigid: j [3], the
                       ///< angular momentum in the middle of the step, kg m2/s

    // stiffness of Newton's method, kept from step to step until the body has bent
    double *k, *brake;         ///< [dofs][dofs] S K S, K_d
    double *slow;              ///< [dofs][dofs] A_0^-1: what of a motion the step resolves
    double *lag;               ///< [dofs][dofs] brakes what the last step did not resolve
    double *at;                ///< [r][dim] the pose that they belong to, the middle of a step
    double at_scale[9], at_dn; ///< S and dn of that step; dn 0: there is none yet

    // of the step that is being taken
    double dn, kick, scale[9]; ///< S
    double beyond;             ///< part of the last step's half that this one is too short for, s
    double soft;               ///< part of the stiffness that counts in this step
    double *w, *z, *force;     ///< [r][dim]
    double *a;                 ///< [dofs][dofs] A or its factor
    bool plain;                ///< a is of the kept stiffness as it stands, nothing added
    bool factored;             ///< a (rigid: brake) is the factor, not the matrix
    double turn[9];            ///< from the pose of the kept stiffness to the one looked at
    double *work;              ///< [dofs][dofs]
    int rigid_motions;         ///< rigid bodies: rows of a
    double momentum[3];        ///< rigid bodies: j of the step before
    double residual;           ///< of the last iteration, before it, kg^1/2 m/s
} Elastic;

/// Computes a body at rest. Takes as long as its vibrations take: from milliseconds to seconds.
BrimResult elastic_new(const Region *region, const ElasticParams *params, Elastic **body,
                       BrimError *error);
void elastic_free(Elastic **body);
/// What elastic_new computed as bytes, to be freed; NULL when out of memory.
uint8_t *elastic_pack(const Elastic *body, size_t *size);
/// The body that the same params gave, at rest; NULL when the bytes are of another one or damaged.
Elastic *elastic_unpack(const ElasticParams *params, const uint8_t *data, size_t size);
/// For those two: the state of a body at rest. False when out of memory.
bool elastic_start(Elastic *body);
size_t elastic_bytes(const Elastic *body);

/// The functions at a place at rest: row [r].
void elastic_row(const Elastic *body, const double place[3], double *row);

/// Elastic energy at numbers d, J, and force -dE/dd [dofs] (may be NULL).
double elastic_energy(const Elastic *body, const double *d, double *force);
/// F = 1 + sum over i of d_i (x) grad U_i at `count` samples: f [dim][count][dim].
void elastic_deformation(const Elastic *body, const double *d, int sample, int count, double *f);
/// Second derivative, made not negative: k [dofs][dofs], symmetric.
void elastic_stiffness(const Elastic *body, const double *d, double *k);
/// d under a load [dofs] that stands still. False when it was not found.
bool elastic_settle(Elastic *body, const double *load);

/// For elastic_start: what elastic_energy needs. False when out of memory.
bool forces_start(Elastic *body);
/// For elastic_new: numbers that `parts` must have room for; fills `even`.
size_t stiffness_room(const Elastic *body);
void stiffness_prepare(Elastic *body);

/// f [dofs] += the weight under an acceleration.
void elastic_add_gravity(const Elastic *body, const double g[3], double *f);
/// f [dofs] += a force at a row.
void elastic_add_force(const Elastic *body, const double *row, const double force[3], double *f);

/// Positions move: d += dt v.
void elastic_move(Elastic *body, double dt);
/// The kept stiffness again from its pose, S and dn. False when the brake could not be found.
bool elastic_recall(Elastic *body);
/// Begins the kick of `kick` seconds before a step of dn seconds.
void elastic_begin(Elastic *body, double dn, double kick);
/// The first half of an iteration of Newton's method under other forces f [dofs], N: A of this
/// place and the right-hand side `step` [dofs]. extra [dofs][dofs] is added to A (contact), may be
/// NULL. A is left as it is unless it is the factor of the last iteration: `factored` tells. False
/// when the brake could not be found.
bool elastic_prepare(Elastic *body, const double *f, const double *extra, double *step);
/// The second half, with `step` solved for: v => v*.
void elastic_take(Elastic *body, const double *step);
/// Factors A. False when it is not positive definite.
bool elastic_factor(Elastic *body);
/// One iteration by these three.
bool elastic_iterate(Elastic *body, const double *f, const double *extra);
/// x [dofs] => A^-1 x of the last iteration.
void elastic_comply(const Elastic *body, double *x);
/// The square of that part of x [dofs] which the body can follow at all: a rigid one does not
/// swell.
double elastic_follows(const Elastic *body, const double *x);
/// Ends the kick: what is not f was elastic. `alone`: v may still change a little, so that the
/// elastic impulse of a free body has no torque at all, because nobody else relies on it.
void elastic_end(Elastic *body, const double *f, bool alone);

/// Turn of a body's rest pose that fits its pose best: rotation [9], row major.
void elastic_rotation(const Elastic *body, double rotation[9]);
/// Centre of mass, m; velocity of it, m/s.
void elastic_centre(const Elastic *body, double centre[3], double velocity[3]);
/// Angular momentum about the centre and angular velocity; free bodies.
void elastic_spin(const Elastic *body, double momentum[3], double spin[3]);
double elastic_kinetic(const Elastic *body);
/// Elastic energy in the middle of the step of dn seconds that v makes: what belongs to the kinetic
/// one, for vibrations that the step does not resolve are nothing but its two ends, J.
double elastic_middle_energy(const Elastic *body, double dn);
