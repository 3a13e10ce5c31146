// What viewers are told in words: JSON texts.
#pragma once
#include "live/frame.h"

/// How things go.
typedef struct Status {
    bool playing, ended;
    double speed;        ///< simulated seconds a second that are aimed at; 0 = as fast as it goes
    int frame, frames;   ///< of a recording
    const char *failure; ///< NULL: none
    const BrimSim *sim;  ///< whose settings are told; NULL: a recording
} Status;

typedef struct Hello {
    const char *name; ///< of the scene or folder
    bool live;        ///< not a recording
    bool surface;     ///< there are surfaces to look at
    const BrimSimDef *def;
    const BrimParticles *particles; ///< for the names of their values
    const BrimSim *sim;             ///< for gauges; NULL: a recording
    int bodies;
} Hello;

/// Each of these is NULL when out of memory.
Parcel *describe_hello(const Hello *hello);
Parcel *describe_status(const Status *status);
/// The statistics and gauges of the last step.
Parcel *describe_stats(const BrimSim *sim);
/// The file of a gauge.
typedef struct GaugeTable {
    const char *name;
    BrimTable table;
} GaugeTable;

/// Columns of a recording's stats.csv and of its gauges, every n-th row so that there are at most
/// some thousand.
Parcel *describe_history(const BrimTable *stats, const GaugeTable *gauges, int gauge_count);
Parcel *describe_notice(const char *text);
