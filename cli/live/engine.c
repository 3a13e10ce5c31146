#include "live/engine.h"
#include "cli.h"
#include "live/describe.h"
#include "live/surfacer.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double FRAME_GAP = 1.0 / 40; ///< least time between two frames of a kind, s
static const double STATS_GAP = 0.1;      ///< and between two rows of statistics, s
static const double LATE = 0.25;          ///< behind its clock by more, it sets the clock anew, s

struct Engine {
    Hub *hub;
    const char *path, *folder;
    BrimScene *scene;
    BrimRun *run;
    BrimSim *sim; ///< of the run
    BrimSolids *solids;
    BrimSolidState *solid_states;
    BrimBodySurface *bodies;
    Surfacer *surfacer; ///< NULL until somebody looks at the surface
    pthread_t thread;
    bool started;

    bool playing;
    int steps_due;
    double speed;
    double clock, clock_time; ///< wall clock at which simulated time was this, s
    uint32_t wanted;          ///< frames that viewers wait for, bits of slots
    double published[SLOTS], told;
    int64_t shown[SLOTS];   ///< state that the newest frame of a slot shows
    int64_t state;          ///< counts changes of what is to be seen
    double rate, last_wall; ///< steps a second, lately
    FILE *events;
    int64_t event_count, packed; ///< frames of particles that were packed
    double packing;              ///< processor time that took, s
    int hold;                    ///< by which a hand holds a body; -1 = none
    char failure[1024];
    int code;
};

// ------------------------------------------------------------------------------------- opening

static int open_run(Engine *e, bool overwrite) {
    BrimError error;
    BrimRunOptions options = {.overwrite = overwrite};
    if (brim_run_open(e->scene, e->folder, &options, &e->run, &error) != BRIM_OK)
        return report_result(&error, false);
    e->sim = brim_run_sim(e->run);
    return EXIT_DONE;
}

/// What was done goes to FOLDER/events.txt, from which `brim run --events` does it again.
static int open_events(Engine *e) {
    char path[4096];
    snprintf(path, sizeof path, "%s/events.txt", e->folder);
    if (e->events) fclose(e->events);
    e->events = fopen(path, "w");
    e->event_count = 0;
    if (e->events) {
        fprintf(e->events, "# What was done to %s in brim live: step, then what.\n", e->path);
        fflush(e->events);
        return EXIT_DONE;
    }
    report_error("%s: %s", path, strerror(errno));
    return EXIT_IO;
}

static int look_up_solids(Engine *e) {
    BrimError error;
    const BrimSimDef *def = brim_scene_def(e->scene);
    e->solid_states = calloc((size_t)def->solid_count + 1, sizeof *e->solid_states);
    e->bodies = calloc((size_t)brim_sim_body_count(e->sim) + 1, sizeof *e->bodies);
    if (!e->solid_states || !e->bodies) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    if (brim_solids_create(def, &e->solids, &error) != BRIM_OK) return report_result(&error, false);
    return EXIT_DONE;
}

/// Loads the scene. Without recording nothing is written while it runs, and it has no end.
static int load_scene(Engine *e, const EngineDef *def) {
    static const char *const quiet[] = {
        "output.particles=false", "output.foam=false",         "output.fields=false",
        "output.paraview=false",  "output.checkpoint_every=0", "time.duration=100000",
        "output.surface=none", // this and the following have no meaning in 2D
        "output.vdb=false"};
    enum { QUIET = sizeof quiet / sizeof *quiet, FLAT = 2 };
    BrimError error;
    if (brim_scene_load(def->path, def->sets, def->set_count, &e->scene, &error) != BRIM_OK)
        return report_result(&error, false);
    if (def->record) return EXIT_DONE;
    const char **sets = calloc((size_t)def->set_count + QUIET, sizeof *sets);
    if (!sets) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    int more = brim_scene_def(e->scene)->dim == 3 ? QUIET : QUIET - FLAT;
    for (int i = 0; i < def->set_count; i++) sets[i] = def->sets[i];
    for (int i = 0; i < more; i++) sets[def->set_count + i] = quiet[i];
    brim_scene_destroy(&e->scene);
    BrimResult r = brim_scene_load(def->path, sets, def->set_count + more, &e->scene, &error);
    free((void *)sets);
    return r == BRIM_OK ? EXIT_DONE : report_result(&error, false);
}

int engine_open(const EngineDef *def, Engine **engine) {
    Engine *e = *engine = calloc(1, sizeof *e);
    if (!e) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    e->hub = def->hub, e->path = def->path, e->folder = def->folder;
    e->playing = !def->paused, e->speed = def->speed, e->hold = -1;
    int code = load_scene(e, def);
    if (code == EXIT_DONE) code = report_dry(def->path, e->scene, false);
    if (code == EXIT_DONE) code = open_run(e, def->overwrite);
    if (code == EXIT_DONE) code = open_events(e);
    return code == EXIT_DONE ? look_up_solids(e) : code;
}

// ------------------------------------------------------------------------------------- telling

static bool is_over(const Engine *e) {
    return e->failure[0] || brim_run_done(e->run);
}

static void tell_status(Engine *e) {
    Status status = {.playing = e->playing && !is_over(e),
                     .ended = is_over(e),
                     .speed = e->speed,
                     .frame = brim_sim_frame(e->sim),
                     .frames = brim_run_frame_count(e->run),
                     .failure = e->failure,
                     .sim = e->sim};
    hub_publish(e->hub, SLOT_STATUS, describe_status(&status));
}

static void tell_hello(Engine *e) {
    BrimParticles particles = brim_sim_particles(e->sim);
    const char *slash = strrchr(e->path, '/');
    Hello hello = {.name = slash ? slash + 1 : e->path,
                   .live = true,
                   .surface = surfacer_can(brim_scene_def(e->scene)),
                   .def = brim_scene_def(e->scene),
                   .particles = &particles,
                   .sim = e->sim,
                   .bodies = brim_sim_body_count(e->sim)};
    hub_publish(e->hub, SLOT_HELLO, describe_hello(&hello));
}

static void tell_geometry(Engine *e) {
    int count = brim_scene_def(e->scene)->solid_count, bodies = brim_sim_body_count(e->sim);
    BrimMesh *meshes = calloc((size_t)count + 1, sizeof *meshes);
    for (int i = 0; meshes && i < count; i++) brim_solids_mesh(e->solids, i, &meshes[i], NULL);
    for (int i = 0; i < bodies; i++) brim_sim_body_surface(e->sim, i, &e->bodies[i], NULL);
    if (meshes)
        hub_publish(e->hub, SLOT_GEOMETRY, frame_geometry(meshes, count, e->bodies, bodies));
    for (int i = 0; meshes && i < count; i++) brim_mesh_free(&meshes[i]);
    free(meshes);
}

static void notice(Engine *e, const char *text) {
    hub_publish(e->hub, SLOT_NOTICE, describe_notice(text));
}

static FrameHead frame_head(Engine *e) {
    const BrimSimDef *def = brim_scene_def(e->scene);
    int bodies = brim_sim_body_count(e->sim);
    for (int i = 0; i < def->solid_count; i++)
        brim_sim_solid_state(e->sim, i, &e->solid_states[i], NULL);
    for (int i = 0; i < bodies; i++) brim_sim_body_surface(e->sim, i, &e->bodies[i], NULL);
    return (FrameHead){.dim = def->dim,
                       .cell = def->size.x / (float)def->cells[0],
                       .size = def->size,
                       .step = brim_sim_step_count(e->sim),
                       .time = brim_sim_time(e->sim),
                       .frame = brim_sim_frame(e->sim),
                       .frames = brim_run_frame_count(e->run),
                       .steps_a_second = (float)e->rate,
                       .solid_count = def->solid_count,
                       .body_count = bodies,
                       .solids = e->solid_states,
                       .bodies = e->bodies};
}

static bool is_new(Engine *e, int slot) {
    return e->wanted >> slot & 1 && (e->shown[slot] != e->state || !hub_has(e->hub, slot));
}

/// Seconds until a frame that is waited for is due.
static double until_frame(Engine *e) {
    double wait = is_new(e, SLOT_SURFACE) ? FRAME_GAP : 1, now = wall_clock();
    for (int slot = SLOT_VALUE; e->wanted && slot < SLOTS; slot++)
        if (is_new(e, slot)) wait = fmin(wait, e->published[slot] + FRAME_GAP - now);
    return fmax(wait, 0);
}

/// Begins a surface when one is waited for and the last one is done.
static void publish_surface(Engine *e) {
    const BrimSimDef *def = brim_scene_def(e->scene);
    if (!is_new(e, SLOT_SURFACE) || !surfacer_can(def)) return;
    if (!e->surfacer) e->surfacer = surfacer_new(def, e->hub);
    if (!e->surfacer || !surfacer_idle(e->surfacer)) return;
    FrameHead head = frame_head(e);
    if (!surfacer_give(e->surfacer, &head, e->sim)) return;
    e->shown[SLOT_SURFACE] = e->state;
    e->wanted &= ~(1u << SLOT_SURFACE);
}

/// Processor time of this thread, s.
static double own_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// Frames that viewers wait for, none too often and none twice.
static void publish(Engine *e) {
    double now = wall_clock();
    if (e->wanted && now - e->told > STATS_GAP) {
        e->told = now;
        hub_publish(e->hub, SLOT_STATS, describe_stats(e->sim));
    }
    BrimParticles particles = brim_sim_particles(e->sim);
    BrimInterior *below = NULL;
    publish_surface(e);
    int values = VALUES_OWN + particles.extra_count;
    for (int slot = SLOT_VALUE; e->wanted && slot < SLOT_VALUE + values; slot++) {
        if (!is_new(e, slot) || now - e->published[slot] < FRAME_GAP) continue;
        FrameHead head = frame_head(e);
        double start = own_time();
        if (!below) brim_sim_interior(e->sim, &below, &particles.interior_count, NULL);
        particles.interior = below;
        hub_publish(e->hub, slot, frame_particles(&head, &particles, slot - SLOT_VALUE));
        e->packing += own_time() - start, e->packed++;
        e->published[slot] = now, e->shown[slot] = e->state;
        e->wanted &= ~(1u << slot);
    }
    free(below);
}

// -------------------------------------------------------------------------------------- obeying

static void set_clock(Engine *e) {
    e->clock = wall_clock();
    e->clock_time = brim_sim_time(e->sim);
}

static void restart(Engine *e) {
    brim_run_close(&e->run);
    e->failure[0] = 0;
    if (open_run(e, true) != EXIT_DONE || open_events(e) != EXIT_DONE) {
        e->code = EXIT_IO; // the message is on the terminal; there is nothing left to show
        brim_run_close(&e->run);
        return;
    }
    e->steps_due = 0;
    e->hold = -1;
    e->state++;
    set_clock(e);
    notice(e, "Started again.");
}

/// Where a solid goes no faster than across the domain in half a second, however fast the hand.
static void slow_down(const Engine *e, BrimEvent *event) {
    const BrimSimDef *def = brim_scene_def(e->scene);
    BrimSolidState now;
    if (event->kind != BRIM_EVENT_MOVE || event->index < 0 || event->index >= def->solid_count ||
        brim_sim_solid_state(e->sim, event->index, &now, NULL) != BRIM_OK)
        return;
    BrimVec3 rest = def->solids[event->index].shape.position, to = event->position;
    double way = hypot(
        hypot((double)(rest.x + to.x - now.position.x), (double)(rest.y + to.y - now.position.y)),
        def->dim == 3 ? (double)(rest.z + to.z - now.position.z) : 0);
    double fastest = 2 * fmax(def->size.x, def->size.y);
    event->duration = fmax(event->duration, way / fastest);
}

/// Viewers have one hand: its hold gets its name here. False: there is nothing to be done.
static bool name_hold(const Engine *e, BrimEvent *event) {
    if (event->kind == BRIM_EVENT_GRAB) event->index = -1;
    if (event->kind != BRIM_EVENT_DRAG && event->kind != BRIM_EVENT_RELEASE) return true;
    event->index = e->hold;
    return e->hold >= 0;
}

/// Does what an event says, and writes it down when it could be done.
static void do_event(Engine *e, BrimEvent *event) {
    BrimError error;
    char text[512];
    event->step = brim_sim_step_count(e->sim);
    if (event->kind == BRIM_EVENT_GRAB && e->hold >= 0) { // a hand that never let go
        BrimEvent release = {.kind = BRIM_EVENT_RELEASE};
        do_event(e, &release);
    }
    if (is_over(e) || !name_hold(e, event)) return;
    slow_down(e, event);
    if (brim_sim_apply(e->sim, event, &error) != BRIM_OK) {
        notice(e, error.message);
        return;
    }
    e->event_count++;
    e->state++;
    if (event->kind == BRIM_EVENT_GRAB) e->hold = event->index;
    if (event->kind == BRIM_EVENT_RELEASE) e->hold = -1;
    if (!brim_event_print(event, text, sizeof text)) return;
    fprintf(e->events, "%lld %s\n", (long long)event->step, text);
    fflush(e->events);
    if (event->kind == BRIM_EVENT_SET) tell_status(e);
}

static void obey(Engine *e, Message *m) {
    switch (m->kind) {
    case MESSAGE_PLAY:
        e->playing = true;
        break;
    case MESSAGE_PAUSE:
        e->playing = false;
        break;
    case MESSAGE_STEP:
        e->playing = false;
        if (e->steps_due < 100) e->steps_due++;
        break;
    case MESSAGE_SPEED:
        e->speed = m->number;
        break;
    case MESSAGE_RESTART:
        restart(e);
        break;
    case MESSAGE_EVENT:
        do_event(e, &m->event);
        return;
    default:
        return;
    }
    if (!e->run) return;
    set_clock(e);
    tell_status(e);
}

/// Of places that a hand pulls the same thing to between two steps only the last one counts.
static bool is_outdated(const Message *messages, int i, int count) {
    const BrimEvent *a = &messages[i].event;
    if (messages[i].kind != MESSAGE_EVENT) return false;
    if (a->kind != BRIM_EVENT_MOVE && a->kind != BRIM_EVENT_DRAG && a->kind != BRIM_EVENT_SET)
        return false;
    for (int k = i + 1; k < count; k++) {
        const BrimEvent *b = &messages[k].event;
        if (messages[k].kind != MESSAGE_EVENT) return false;
        if (a->kind == b->kind && a->index == b->index && strcmp(a->key, b->key) == 0) return true;
    }
    return false;
}

// ----------------------------------------------------------------------------------- the thread

static void take_step(Engine *e) {
    BrimError error;
    if (brim_run_step(e->run, &error) != BRIM_OK) {
        e->code = report_result(&error, false);
        snprintf(e->failure, sizeof e->failure, "%s", error.message);
        notice(e, error.message);
        tell_status(e);
        return;
    }
    double now = wall_clock(), took = now - e->last_wall;
    e->last_wall = now;
    if (took > 0) e->rate += 0.1 * (1 / took - e->rate);
    e->state++;
    if (brim_run_done(e->run)) tell_status(e);
}

/// Seconds until the next step is due; 0 = now. A simulation that cannot keep the pace is not
/// hurried afterwards.
static double until_step(Engine *e) {
    if (is_over(e)) return 1;
    if (e->steps_due > 0) return 0;
    if (!e->playing) return 1;
    if (e->speed <= 0) return 0;
    double late = (wall_clock() - e->clock) * e->speed - (brim_sim_time(e->sim) - e->clock_time);
    if (late > LATE * e->speed) set_clock(e);
    return late >= 0 ? 0 : -late / e->speed;
}

/// Ends with a checkpoint, from which `brim run --resume` goes on.
static void finish(Engine *e) {
    BrimError error;
    signals_at_rest();
    if (!e->failure[0] && e->run && brim_run_checkpoint(e->run, &error) != BRIM_OK)
        e->code = report_result(&error, false);
    fflush(e->events);
    fsync(fileno(e->events));
    hub_end(e->hub);
}

static void *simulate(void *context) {
    Engine *e = context;
    Message messages[256];
    tell_hello(e);
    tell_status(e);
    tell_geometry(e);
    set_clock(e);
    while (!e->hub->stop && !signal_code()) {
        // woken by what viewers ask; looks for signals now and then
        double wait = fmin(fmin(until_step(e), until_frame(e)), 0.2);
        int count = hub_receive(e->hub, wait, messages, &e->wanted);
        for (int i = 0; i < count; i++)
            if (!is_outdated(messages, i, count)) obey(e, &messages[i]);
        if (!e->run) break;
        if (until_step(e) <= 0) {
            take_step(e);
            if (e->steps_due > 0) e->steps_due--;
        }
        publish(e);
    }
    finish(e);
    return NULL;
}

bool engine_start(Engine *e) {
    sigset_t all, before; // signals are for the thread that serves
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    e->started = pthread_create(&e->thread, NULL, simulate, e) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e->started;
}

int engine_join(Engine *e) {
    if (e->started) pthread_join(e->thread, NULL);
    e->started = false;
    return e->code;
}

void engine_summary(const Engine *e) {
    if (!e->run) return;
    say(stderr, "Ended at %.4g s (step %lld); checkpoint %s.\n", brim_sim_time(e->sim),
        (long long)brim_sim_step_count(e->sim), brim_run_last_checkpoint(e->run));
    if (e->packed)
        say(stderr, "Viewers: %lld frames, packed in %.2f ms of processor time each.\n",
            (long long)e->packed, 1e3 * e->packing / (double)e->packed);
    if (e->event_count)
        say(stderr, "What was done (%lld times): brim run %s --events %s/events.txt -o DIR\n",
            (long long)e->event_count, e->path, e->folder);
}

void engine_close(Engine **engine) {
    Engine *e = *engine;
    if (!e) return;
    surfacer_free(&e->surfacer);
    if (e->events) fclose(e->events);
    brim_run_close(&e->run);
    brim_solids_destroy(&e->solids);
    brim_scene_destroy(&e->scene);
    free(e->solid_states);
    free(e->bodies);
    free(e);
    *engine = NULL;
}
