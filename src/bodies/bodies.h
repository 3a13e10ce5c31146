// Bodies and the liquid: the strong coupling. A body is a moving wall whose own dynamics are inside
// the pressure solve.
//
// With c_f the part of face f that a body closes and N_c its functions at the wall in cell c, row c
// of B for axis a is N_c times the sum of (c of the upper face - c of the lower one) and of what
// the surface's triangles there turn and stretch on until the middle of the step. B v is what the
// wall pushes out of the cells, B^T q the force. With A of the body's Newton step (elastic.h) a
// pass solves
//   (L + Z) q = -D(u*, v_free),   Z = rho dx^d B A^-1 B^T,   v = v_free + rho dx^d A^-1 B^T q
// which is one Newton step of body and liquid together; v_free is that step without the pressure.
#pragma once
#include "bodies/body.h"
#include "bodies/hands.h"
#include "bodies/store.h"
#include "step/state.h"

/// A vertex of one body on the surface of another.
typedef struct Meeting {
    int body[2];   ///< whose vertex; on which it is
    size_t row[2]; ///< where the functions of each at that place begin
    double m[9];   ///< what contact adds there to A, symmetric
} Meeting;

/// Newton's step of bodies that touch one another: see joint.c.
typedef struct Joint {
    Meeting *meeting;
    size_t count, meeting_room;
    double *row;
    size_t row_count, row_room;
    double *matrix; ///< [n][n] A of all such bodies, or its factor
    double *u;      ///< [n] scratch
    size_t matrix_room, u_room;
    int n;
} Joint;

struct Bodies {
    int count;
    Body *body;
    int first_solid; ///< of the sim's solids, which these are from there on
    Hands hands;
    Joint joint;

    int32_t *at; ///< [cells near solids] 1 + place in the list below, 0: no body there
    size_t at_room;
    int64_t *cell; ///< [cells] that a body touches, as rows of the system, rising
    float *flow; ///< [cells] what bodies push into the cell beyond what the walls' speeds say, m/s
    float *sway; ///< [cells] what the walls' speeds say, m/s
    float *out, *kept;
    size_t cell_count, cell_room[5];
    double mass;  ///< of a cell of liquid, kg
    double ms;    ///< time that the pressure solve spent in the bodies' term
    bool counted; ///< whether outflow counts `flow`

    float *before; ///< [3][before_count] places of the liquid before it moved; immersed bodies
    size_t before_count, before_room;
};

/// store: of what is pre-computed; NULL: none.
BrimResult bodies_new(BrimSim *s, const BrimSimDef *def, const BodyStore *store, BrimError *error);
/// Whether a body stands where it can, all bodies being there.
BrimResult bodies_check(const BrimSim *s, int index, BrimError *error);
void bodies_free(BrimSim *s);
size_t bodies_bytes(const BrimSim *s);

/// What a checkpoint must hold: so many numbers. Restoring brings the bodies to their places; false
/// when out of memory.
size_t bodies_numbers(const BrimSim *s);
void bodies_save(const BrimSim *s, double *numbers);
bool bodies_restore(BrimSim *s, const double *numbers);

/// Moves the bodies to the end of the step. False when out of memory.
bool bodies_move(BrimSim *s, double dt);

/// Solves the pressure with the bodies in it; as poisson_solve, with the system prepared.
/// (velocity, open) => (pressure, v of the bodies). False: *memory tells whether it ran out of it,
/// else a value was not finite.
bool bodies_solve(BrimSim *s, double kick, const PoissonParams *params, PoissonReport *report,
                  bool *memory);

/// Lists the cells whose walls bodies close, tile by tile. False when out of memory.
bool walls_gather(BrimSim *s);
/// Finds the bodies that are enclosed by liquid that nothing can leave: there B must tell the
/// body's change of volume exactly. What it errs by where cut cells turn and bend would add up,
/// step by step, to a volume that only the liquid's pressure holds, and the pressure would turn the
/// body.
void walls_enclose(BrimSim *s);
/// B of the step of dn seconds that v makes.
void walls_follow(BrimSim *s, double dn);
/// out [dim][r] = B^T x of one body; x by row of the system.
void walls_pull(const Bodies *b, const Body *body, const float *x, double *out);
/// out [cells of the list] += scale B v, v [dim][r].
void walls_push(const Body *body, double scale, const double *v, float *out);

/// What bodies push out of a cell beyond what wall_speed says, m/s.
static inline float bodies_outflow(const BrimSim *s, int64_t cell) {
    const Bodies *b = s->bodies;
    int64_t at = b->counted ? solid_cell(s, cell) : -1;
    return at >= 0 && b->at[at] ? b->flow[b->at[at] - 1] : 0;
}

/// Forces and stiffness of contact with walls, solids and other bodies at the end of the step that
/// v makes (contact, extra and touching of all bodies, and where they meet), and of hands and pins.
/// False when out of memory.
bool bodies_held(BrimSim *s, double kick);
/// extra += weight m (x) row row^T, m [3][3], row [r]
void body_stiffen(Body *body, const double *row, const double m[9], double weight);

void joint_free(Joint *joint);
size_t joint_bytes(const Joint *joint);
/// Two bodies meet: their functions there, and what contact adds to A, kg. False: out of memory.
bool joint_meet(Bodies *b, int one, const float *one_row, int two, const float *two_row,
                const double m[9]);
/// Factors A of the bodies that meet, as elastic_prepare left it; their right-hand sides, `step`,
/// get what belongs to them. False when A is not positive definite, or out of memory.
bool joint_step(Bodies *b);
/// step => A^-1 step, of all bodies.
void joint_comply(const Bodies *b);
/// change [dofs] of a body += what A has beside its diagonal, times v - work of the others.
void joint_follow(const Bodies *b, int index, double *change);
