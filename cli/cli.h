// What the files of the brim command share.
#pragma once
#include <brim/brim.h>
#include <stdarg.h>
#include <stdio.h>

// ------------------------------------------------------------------------------- exit codes

enum {
    EXIT_DONE = 0,
    EXIT_OTHER = 1,    ///< a failure that is none of the following
    EXIT_INPUT = 2,    ///< bad usage, scene or input file; no output folder touched
    EXIT_IO = 3,       ///< a file, folder or disk
    EXIT_MEMORY = 4,   ///< out of memory, or larger than the limit allows
    EXIT_DIVERGED = 5, ///< the simulation broke down
    EXIT_DAMAGED = 6,  ///< a checkpoint or frame is damaged
    EXIT_SIGNAL = 128, ///< and the signal's number: 130 SIGINT, 143 SIGTERM, 129 SIGHUP
};

/// The one place where results of the library become exit codes.
int exit_code(BrimResult result);

// --------------------------------------------------------------------------------- commands

typedef struct Command {
    const char *name;
    const char *summary; ///< one line for `brim --help`
    /// argv[0] is the command's own name. Returns the exit code.
    int (*run)(int argc, char **argv);
} Command;

int command_tets(int argc, char **argv);
int command_run(int argc, char **argv);
int command_check(int argc, char **argv);
int command_info(int argc, char **argv);
int command_fields(int argc, char **argv);
int command_render(int argc, char **argv);
int command_mesh(int argc, char **argv);
int command_foam(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_plot(int argc, char **argv);
int command_report(int argc, char **argv);
int command_reproduce(int argc, char **argv);
int command_live(int argc, char **argv);
int command_view(int argc, char **argv);

// -------------------------------------------------------------------------------- arguments

typedef enum OptionKind {
    OPTION_FLAG,    ///< bool, true when given
    OPTION_TEXT,    ///< const char *
    OPTION_INTEGER, ///< int64_t within [low, high]
    OPTION_NUMBER,  ///< double within [low, high]
    OPTION_LIST,    ///< TextList, one item each time the option is given
} OptionKind;

typedef struct TextList {
    const char **items; ///< owned; the texts belong to argv
    int count;
} TextList;

typedef struct Option {
    const char *name; ///< without the dashes
    char letter;      ///< short form, 0 when it has none
    OptionKind kind;
    void *value;
    const char *argument; ///< how help names the value: "DIR"
    const char *help;
    double low, high; ///< of INTEGER and NUMBER
} Option;

typedef struct Usage {
    const char *command;
    const char *arguments;  ///< "SCENE.yaml -o DIR [options]"
    const char *help;       ///< paragraphs below the synopsis
    const Option *options;  ///< ends with an empty name
    int least, most;        ///< positional arguments
    const char *positional; ///< what they are, for messages: "a scene file"
} Usage;

enum { ARGS_OK = -1 };

/// Reads argv[1..] by the table. Positional arguments come to rest in argv[1..*count]. Prints the
/// help when asked for it, or what is wrong and how to get help. Returns ARGS_OK, or the exit code
/// to leave with.
int args_parse(const Usage *usage, int argc, char **argv, int *count);

/// The entry of `names` [count] that looks most like `text`, NULL when none is near.
const char *nearest_name(const char *text, const char *const *names, int count);

// ---------------------------------------------------------------------------------- signals

/// From here on the first SIGINT, SIGTERM, SIGHUP or SIGPIPE asks to stop at the next good place,
/// the second ends the process at once. Where no good place comes within so many seconds the
/// process ends too, with the last words.
void catch_signals(int seconds);
/// Exit code for the signal that came; 0 = none.
int signal_code(void);
/// A good place is reached: what is left to do takes as long as it takes.
void signals_at_rest(void);
/// What to say on stderr, and as a JSON line on stdout, when there was no good place in time; NULL:
/// nothing particular. The texts must stay as they are until others are given.
void signals_last_words(const char *words, const char *event);

// -------------------------------------------------------------------------------- reporting

/// "brim: error: ..." on stderr, after clearing a progress line that may stand there.
void report_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// Reports an error of the library, as a JSON line too when `json`. Returns its exit code.
int report_result(const BrimError *error, bool json);
/// EXIT_DONE, or tells that a scene can never hold water: it has neither liquid nor sources, nor
/// bodies that move without.
int report_dry(const char *path, const BrimScene *scene, bool json);
/// Whether to colour what goes to a stream: a terminal, and NO_COLOR is not set.
bool use_colour(FILE *stream);
/// Columns of the terminal behind a stream, or `otherwise` when it is none.
int stream_width(FILE *stream, int otherwise);

/// printf for text with names in it: on a terminal and on stderr control characters and bytes that
/// are no UTF-8 show as \x1b; other streams get the text as it is.
void say(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void vsay(FILE *out, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/// Text as a terminal may have it, cut to fit.
void text_show(const char *text, char *out, size_t size);

/// JSON string with its quotes, U+FFFD for bytes that are no UTF-8; JSON number, null when it is
/// not finite.
void json_text(FILE *out, const char *text);
void json_number(FILE *out, double value);

/// Numbers for people. Each returns `text`.
enum { SHORT_TEXT = 32 };
char *show_count(char text[SHORT_TEXT], int64_t count);     ///< 275,200
char *show_bytes(char text[SHORT_TEXT], double bytes);      ///< 1.4 GiB
char *show_duration(char text[SHORT_TEXT], double seconds); ///< 12 s, 3:20, 2:05:00

// --------------------------------------------------------------------------------- progress

typedef struct Progress {
    bool on;       ///< false: silent
    bool terminal; ///< one line rewritten in place, else a plain line now and then
    bool utf8;
    int frames;                  ///< of the whole run
    double end;                  ///< simulated time at the end, s
    double shown;                ///< wall clock of the last line, s
    double last_wall, last_time; ///< wall clock and simulated time of the last step, s
    double sum_wall, sum_time, sum_ms, sum_steps; ///< of the last seconds
} Progress;

Progress progress_start(const BrimSim *sim, int frames, bool on);
/// After each step; draws only as often as a person can read.
void progress_step(Progress *progress, const BrimSim *sim);
void progress_end(Progress *progress, const BrimSim *sim);

/// Progress of a job of countable parts, such as the frames of a film.
typedef struct CountProgress {
    bool on, terminal, utf8;
    int total, done;
    int skipped;         ///< of those done, parts that took no time
    double began, shown; ///< wall clock, s
} CountProgress;

CountProgress count_progress_start(int total, bool on);
/// `done` parts are complete, `skipped` of them without work.
void count_progress_step(CountProgress *progress, int done, int skipped);
/// A share of the part after those.
void count_progress_part(CountProgress *progress, double share);
void count_progress_end(CountProgress *progress);

/// Wall clock that only goes forward, s.
double wall_clock(void);
