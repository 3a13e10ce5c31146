// Hands: each pulls a point of a body's surface to a target, wherever the host or a scene drags it.
//
// A hand is a spring from the point to the target, taken at the end of the step as contact is, so
// that it is stable however stiff: the force is kappa (target - x(d + dn v)), and kick dn kappa
// row row^T enters A. A hand with a limit pulls with no more than that.
#pragma once
#include "bodies/body.h"

typedef struct Hand {
    int body;              ///< -1: let go
    bool hosted;           ///< dragged by the host, else by keys
    uint32_t triangle;     ///< of the surface, where the point lies
    double weight[3];      ///< of its corners
    double from[3], to[3]; ///< hosted: from where to where, m
    double since, until;   ///< hosted: travels between these times, s; keys: holds between them
    double most;           ///< force that it pulls with, N; 0 = without limit
    BrimKeyframe *keys;    ///< added to `from`
    int key_count;
    // of the step
    bool pulls;
    double gap[3];   ///< from the point at the end of the step to the target, m
    double force[3]; ///< N
    double slope;    ///< force lost by the point's velocity, N s/m
} Hand;

typedef struct Hands {
    Hand *hand;
    int count, kept; ///< of which the def gave those
    size_t room;
} Hands;

/// Those that a def's bodies[index].grabs give.
BrimResult hands_of_def(BrimSim *s, const BrimBodyDef *def, int index, BrimError *error);
void hands_free(Hands *hands);
/// A new hand, or one that was let go, which is the host's to use again; -1 when out of memory.
int hands_new(Hands *hands);

/// The functions where a hand holds: row [r].
void hand_row(const Body *body, const Hand *hand, double *row);
/// Where it holds, m, and how fast that moves, m/s.
void hand_point(const Body *body, const Hand *hand, double point[3], double velocity[3]);
/// Where it pulls to at a time. False when it does not.
bool hand_target(const BrimSim *s, const Hand *hand, double time, double target[3]);

/// Adds force and stiffness of all hands to the bodies' hand, extra, touching.
void hands_pull(BrimSim *s, double kick);
/// The same forces at the velocities that came out, as far as they are linear.
void hands_follow(BrimSim *s);

/// What a checkpoint must hold of the host's hands: so many numbers. Restoring is false when they
/// make no sense, or *memory is.
size_t hands_numbers(const Hands *hands);
void hands_save(const Hands *hands, double *numbers);
bool hands_restore(BrimSim *s, const double *numbers, size_t count, bool *memory);
