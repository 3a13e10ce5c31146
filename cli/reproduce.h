// brim reproduce: experiments of papers, run again.
//
// An experiment is a row of a table and a function. The function runs trials (one simulation each)
// and adds to the result: rows with the paper's value, ours and a range; panels of the plot;
// pictures. The rest (arguments, progress, table, files, exit code) is common to all.
#pragma once
#include "sheet.h"

typedef struct Result Result;

typedef struct Experiment {
    const char *name;                   ///< "idp-fig3"
    const char *what;                   ///< one line
    const char *paper;                  ///< authors, year, figure or table
    const char *full_time, *quick_time; ///< measured on two cores: "12 min"
    const char *quick;                  ///< what --quick shortens
    void (*run)(Result *);
} Experiment;

/// One simulation of an experiment.
typedef struct Trial {
    const char *label;
    int colour, dash; ///< in plots; as in BrimSeries
    BrimTable steps;  ///< a row a step: "frame" and all columns of stats.csv
    size_t capacity;  ///< of rows
    double wall, cpu; ///< s that the steps took, on the clock and on all cores together
    BrimError error;  ///< of a simulation that broke down on the way; BRIM_OK when it did not
} Trial;

/// What to simulate: a scene of scenes/ with keys changed.
typedef struct Setup {
    const char *label;
    int colour, dash;
    const char *scene; ///< "double-dam-2d.yaml"
    const char *sets[24];
    int set_count;
    /// Changes a copy of the scene's def before it is simulated; may be NULL.
    void (*change)(Result *r, BrimSimDef *def, void *context);
    /// Called after creation and after each step; may be NULL.
    void (*watch)(const BrimSim *sim, void *context);
    void *context;
} Setup;

typedef struct Row {
    const char *what, *paper;
    double ours, low, high; ///< low, high: NaN without a bound
} Row;

struct Result {
    const Experiment *experiment;
    const char *folder, *scenes; ///< scenes: where to look first, NULL = the usual places
    bool quick;
    int threads; ///< 0 = one for each core
    Sheet sheet; ///< the plot; also owns all memory of the result
    Trial **trials;
    int trial_count;
    Row *rows;
    int row_count;
    const BrimSimDef *def; ///< of the trial under way
    int picture_count;     ///< taken and not yet joined
    bool no_pictures;      ///< this build cannot draw them
    const char *pictures;  ///< a line about the pictures, NULL when there are none
    int code;              ///< exit code of what went wrong; after that all calls do nothing
};

// ------------------------------------------------------------------------------------- trials

/// "key=value", printf style.
void setup_set(Result *r, Setup *setup, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// Simulates. A simulation that breaks down is a trial too, with its error. NULL when the result
/// has failed: a scene that is not there, memory, a watch that could not go on.
Trial *trial_run(Result *r, const Setup *setup);
/// Path of a scene of scenes/; NULL when the result has failed.
const char *trial_scene(Result *r, const char *name);
/// Processor time of the program, s.
double cpu_clock(void);
/// NULL when the trial has no such column.
const double *trial_column(const Trial *t, const char *name);
double trial_last(const Trial *t, const char *name);
/// Mean over the steps of the last `seconds`: the end of a run without the waves of the moment.
double trial_end_mean(const Trial *t, const char *name, double seconds);
double trial_sum(const Trial *t, const char *name);
/// Largest value from time `from` on.
double trial_most(const Trial *t, const char *name, double from);

// ------------------------------------------------------------------------------------- result

/// A row of the table. NaN for a bound that is not there.
void result_row(Result *r, double ours, double low, double high, const char *paper,
                const char *format, ...) __attribute__((format(printf, 6, 7)));
/// A condition: ours is 1 or 0 and must be 1.
void result_check(Result *r, bool holds, const char *paper, const char *what);
/// A panel with one column of the trials from `first` on.
BrimPanelDef *result_lines(Result *r, int first, const char *column, double scale,
                           const char *title, const char *y_label);
/// Marks a value or a range in the panel that was added last.
void result_level(Result *r, double low, double high, const char *label);
/// Reports and ends the experiment.
void result_fail(Result *r, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// FOLDER/NAME and a suffix.
const char *result_path(Result *r, const char *suffix);

/// Draws the particles of the trial under way, coloured by "speed" (m/s) or "density" (error) from
/// 0 up to `high`.
void picture_take(Result *r, const BrimSim *sim, const char *colour, double high);
/// Draws the water of the trial under way by its surface, and its spray. camera: NULL for the
/// usual.
void picture_water(Result *r, const BrimSim *sim, const BrimMesh *mesh, const BrimCamera *camera);
/// The same for any frame and picture; mesh: NULL without one.
void picture_write(Result *r, const BrimSimDef *def, const BrimFrame *frame, double time,
                   const BrimMesh *mesh, const BrimPictureDef *picture);
/// Joins the pictures taken so far, in rows of `columns`, into NAME.png.
void pictures_join(Result *r, int columns, const char *caption);
/// Removes those that were not joined.
void pictures_discard(Result *r);

// -------------------------------------------------------------------------------- experiments

extern const Experiment idp_experiments[]; ///< each list ends with an empty name
extern const Experiment nbflip_experiments[];
extern const Experiment warp_experiments[], warp_scene_experiments[];
extern const Experiment rim_experiments[];
extern const Experiment rim_immersed_experiments[];
extern const Experiment rst_experiments[];
