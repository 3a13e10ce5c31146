#include "live/player.h"
#include "frames.h"
#include "live/describe.h"
#include "live/order.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double LOOK_GAP = 1; ///< between two looks for new frames, s

struct Player {
    Hub *hub;
    Frames frames;
    BrimSolids *solids;
    BrimSolidState *solid_states;
    pthread_t thread;
    bool started;

    bool playing;
    double speed;
    int at;                   ///< the frame to show, an index in the list
    double clock, clock_time; ///< wall clock at which recorded time was this, s
    uint32_t wanted;
    int shown[SLOTS];  ///< frame that the newest message of a slot shows, -1 none
    int read;          ///< frame in memory, -1 none
    Ordered particles; ///< of that frame
    BrimMesh bodies;   ///< of that frame; none where the run has no bodies
    bool has_bodies, has_surface;
    int body_vertices; ///< that viewers know of
    double looked;     ///< when new frames were looked for
    off_t stats_size;  ///< of stats.csv, when it was read last
};

// ------------------------------------------------------------------------------------- opening

static double time_of(const Player *p, int index) {
    return p->frames.number[index] / brim_scene_def(p->frames.scene)->frame_rate;
}

/// Whether a run has a file for a frame: "surface", "bodies".
static bool has_part(const Player *p, const char *part, int index) {
    char path[PATH_MAX];
    struct stat status;
    return make_path(path, "%s/%s/%06d.ply", p->frames.folder, part, p->frames.number[index]) &&
           stat(path, &status) == 0;
}

int player_open(const char *folder, Hub *hub, Player **player) {
    BrimError error;
    Player *p = *player = calloc(1, sizeof *p);
    if (!p) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    p->hub = hub, p->speed = 1, p->playing = true, p->read = -1;
    for (int i = 0; i < SLOTS; i++) p->shown[i] = -1;
    int code = frames_find(&p->frames, folder);
    if (code != EXIT_DONE) return code;
    if (!p->frames.scene) {
        report_error("%s is not the folder of a run: it has no run.json", folder);
        return EXIT_INPUT;
    }
    const BrimSimDef *def = brim_scene_def(p->frames.scene);
    if (brim_solids_create(def, &p->solids, &error) != BRIM_OK) return report_result(&error, false);
    p->solid_states = calloc((size_t)def->solid_count + 1, sizeof *p->solid_states);
    p->has_surface = has_part(p, "surface", p->frames.count - 1);
    p->has_bodies = has_part(p, "bodies", 0);
    return p->solid_states ? EXIT_DONE : EXIT_MEMORY;
}

// ------------------------------------------------------------------------------------- telling

static void notice(Player *p, const char *text) {
    hub_publish(p->hub, SLOT_NOTICE, describe_notice(text));
}

static void tell_status(Player *p) {
    Status status = {.playing = p->playing,
                     .speed = p->speed,
                     .frame = p->at,
                     .frames = p->frames.count,
                     .ended = p->at == p->frames.count - 1};
    hub_publish(p->hub, SLOT_STATUS, describe_status(&status));
}

static void tell_hello(Player *p) {
    const char *slash = strrchr(p->frames.folder, '/');
    Hello hello = {.name = slash && slash[1] ? slash + 1 : p->frames.folder,
                   .surface = p->has_surface,
                   .def = brim_scene_def(p->frames.scene),
                   .particles = &p->particles.view,
                   .bodies = p->has_bodies};
    hub_publish(p->hub, SLOT_HELLO, describe_hello(&hello));
}

/// Solids, and all bodies as one.
static void tell_geometry(Player *p) {
    int count = brim_scene_def(p->frames.scene)->solid_count;
    BrimMesh *meshes = calloc((size_t)count + 1, sizeof *meshes);
    BrimBodySurface bodies = {
        p->bodies.vertex_count, p->bodies.triangle_count, (const float(*)[3])p->bodies.position,
        (const float(*)[3])p->bodies.velocity, (const uint32_t(*)[3])p->bodies.triangle};
    for (int i = 0; meshes && i < count; i++) brim_solids_mesh(p->solids, i, &meshes[i], NULL);
    if (meshes)
        hub_publish(p->hub, SLOT_GEOMETRY, frame_geometry(meshes, count, &bodies, p->has_bodies));
    for (int i = 0; meshes && i < count; i++) brim_mesh_free(&meshes[i]);
    free(meshes);
}

/// Gauges of the run; those whose files are not there are left out.
static int read_gauges(const Player *p, GaugeTable **gauges) {
    const BrimSimDef *def = brim_scene_def(p->frames.scene);
    int count = 0;
    *gauges = calloc((size_t)def->gauge_count + 1, sizeof **gauges);
    for (int i = 0; *gauges && i < def->gauge_count; i++) {
        char path[PATH_MAX];
        const char *name = def->gauges[i].name;
        if (name && make_path(path, "%s/gauges/%s.csv", p->frames.folder, name) &&
            brim_table_read(path, &(*gauges)[count].table, NULL) == BRIM_OK)
            (*gauges)[count++].name = name;
    }
    return count;
}

/// Statistics of the run, when there are more than before.
static void tell_history(Player *p) {
    char path[PATH_MAX];
    struct stat status;
    BrimTable table;
    if (!make_path(path, "%s/stats.csv", p->frames.folder) || stat(path, &status) != 0) return;
    if (status.st_size == p->stats_size) return;
    if (brim_table_read(path, &table, NULL) != BRIM_OK) return;
    p->stats_size = status.st_size;
    GaugeTable *gauges;
    int count = read_gauges(p, &gauges);
    hub_publish(p->hub, SLOT_HISTORY, describe_history(&table, gauges, count));
    for (int i = 0; i < count; i++) brim_table_free(&gauges[i].table);
    free(gauges);
    brim_table_free(&table);
}

// -------------------------------------------------------------------------------------- frames

/// Reads the frame that is to be seen, unless it is there already. False when it cannot be read.
static bool read_frame(Player *p) {
    char path[PATH_MAX];
    BrimError error;
    BrimFrame frame;
    int number = p->frames.number[p->at];
    if (p->read == number) return true;
    if (!frames_path(&p->frames, p->at, path)) return false;
    if (brim_frame_read_all(path, &frame, &error) != BRIM_OK) {
        notice(p, error.message);
        return false;
    }
    bool ordered = order_particles(brim_scene_def(p->frames.scene), &frame, &p->particles);
    brim_frame_free(&frame);
    brim_mesh_free(&p->bodies);
    if (p->has_bodies && make_path(path, "%s/bodies/%06d.ply", p->frames.folder, number) &&
        brim_mesh_read(path, &p->bodies, &error) != BRIM_OK)
        notice(p, error.message);
    p->read = ordered ? number : -1;
    if (!ordered) notice(p, "out of memory for a frame");
    return ordered;
}

static Parcel *make_frame(Player *p, int slot) {
    const BrimSimDef *def = brim_scene_def(p->frames.scene);
    BrimBodySurface bodies = {p->bodies.vertex_count, 0, (const float(*)[3])p->bodies.position,
                              NULL, NULL};
    for (int i = 0; i < def->solid_count; i++)
        brim_solids_state(p->solids, i, time_of(p, p->at), &p->solid_states[i], NULL);
    FrameHead head = {.dim = def->dim,
                      .cell = def->size.x / (float)def->cells[0],
                      .size = def->size,
                      .step = p->frames.number[p->at],
                      .time = time_of(p, p->at),
                      .frame = p->at,
                      .frames = p->frames.count,
                      .solid_count = def->solid_count,
                      .body_count = p->has_bodies,
                      .solids = p->solid_states,
                      .bodies = &bodies};
    if (slot >= SLOT_VALUE) return frame_particles(&head, &p->particles.view, slot - SLOT_VALUE);
    char path[PATH_MAX];
    BrimMesh mesh;
    BrimError error;
    if (!make_path(path, "%s/surface/%06d.ply", p->frames.folder, p->frames.number[p->at]))
        return NULL;
    if (brim_mesh_read(path, &mesh, &error) != BRIM_OK) {
        notice(p, error.message);
        return NULL;
    }
    Parcel *parcel = frame_surface(&head, &mesh);
    brim_mesh_free(&mesh);
    return parcel;
}

static void publish(Player *p) {
    for (int slot = SLOT_SURFACE; p->wanted && slot < SLOTS; slot++) {
        bool known = slot == SLOT_SURFACE
                         ? p->has_surface
                         : slot - SLOT_VALUE < VALUES_OWN + p->particles.view.extra_count;
        if (!known || !(p->wanted >> slot & 1)) continue;
        if (p->shown[slot] == p->at && hub_has(p->hub, slot)) continue;
        if (!read_frame(p)) return;
        hub_publish(p->hub, slot, make_frame(p, slot));
        p->shown[slot] = p->at;
        p->wanted &= ~(1u << slot);
    }
}

// ------------------------------------------------------------------------------------- playing

static void set_clock(Player *p) {
    p->clock = wall_clock();
    p->clock_time = time_of(p, p->at);
}

/// New frames of a run that is still being written.
static void look_for_frames(Player *p) {
    int before = p->frames.count;
    p->looked = wall_clock();
    frames_again(&p->frames);
    if (!p->has_surface && has_part(p, "surface", p->at)) {
        p->has_surface = true;
        tell_hello(p);
    }
    tell_history(p);
    if (p->frames.count == before) return;
    set_clock(p);
    tell_status(p);
}

/// The frame that the clock shows; recordings are passed over rather than slowed down.
static void play(Player *p) {
    if (!p->playing || p->at >= p->frames.count - 1) return;
    if (p->speed <= 0) { // each frame, as fast as viewers take them
        bool taken = false;
        for (int slot = SLOT_SURFACE; slot < SLOTS; slot++)
            taken = taken || (p->wanted >> slot & 1 && p->shown[slot] == p->at);
        if (taken) p->at++;
        return;
    }
    double time = p->clock_time + (wall_clock() - p->clock) * p->speed;
    while (p->at < p->frames.count - 1 && time_of(p, p->at + 1) <= time) p->at++;
    if (p->at == p->frames.count - 1) tell_status(p);
}

static void obey(Player *p, const Message *m) {
    int last = p->frames.count - 1;
    switch (m->kind) {
    case MESSAGE_PLAY:
        p->playing = true;
        if (p->at == last) p->at = 0;
        break;
    case MESSAGE_PAUSE:
        p->playing = false;
        break;
    case MESSAGE_STEP:
        p->playing = false;
        if (p->at < last) p->at++;
        break;
    case MESSAGE_SEEK:
        p->playing = false;
        p->at = m->number < last ? (int)m->number : last;
        break;
    case MESSAGE_RESTART:
        p->at = 0;
        break;
    case MESSAGE_SPEED:
        p->speed = m->number;
        break;
    default:
        return;
    }
    set_clock(p);
    tell_status(p);
}

/// Seconds until there is something to do without being asked.
static double until_next(const Player *p) {
    if (!p->playing || p->at >= p->frames.count - 1 || p->speed <= 0) return 0.2;
    double due = p->clock + (time_of(p, p->at + 1) - p->clock_time) / p->speed;
    return fmin(fmax(due - wall_clock(), 0.001), 0.2);
}

static void *play_back(void *context) {
    Player *p = context;
    Message messages[256];
    read_frame(p);
    tell_hello(p);
    tell_status(p);
    tell_geometry(p);
    look_for_frames(p);
    set_clock(p);
    while (!p->hub->stop && !signal_code()) {
        int count = hub_receive(p->hub, until_next(p), messages, &p->wanted);
        for (int i = 0; i < count; i++) { // of several places to go to only the last one counts
            bool last = i + 1 == count || messages[i + 1].kind != MESSAGE_SEEK;
            if (messages[i].kind != MESSAGE_SEEK || last) obey(p, &messages[i]);
        }
        if (p->hub->viewers > 0)
            play(p);
        else
            set_clock(p);
        publish(p);
        if (wall_clock() - p->looked > LOOK_GAP) look_for_frames(p);
    }
    hub_end(p->hub);
    return NULL;
}

bool player_start(Player *p) {
    sigset_t all, before; // signals are for the thread that serves
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    p->started = pthread_create(&p->thread, NULL, play_back, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p->started;
}

void player_join(Player *p) {
    if (p->started) pthread_join(p->thread, NULL);
    p->started = false;
}

void player_close(Player **player) {
    Player *p = *player;
    if (!p) return;
    order_free(&p->particles);
    brim_mesh_free(&p->bodies);
    brim_solids_destroy(&p->solids);
    free(p->solid_states);
    frames_free(&p->frames);
    free(p);
    *player = NULL;
}
