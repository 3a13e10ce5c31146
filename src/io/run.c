// A run: a simulation and the folder it writes into.
#include "base/error.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/gauge_files.h"
#include "io/run_json.h"
#include "io/stats.h"
#include "scene/def_hash.h"
#include "vdb/frame.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// What a finished step still has to write. A failed write stays due, so that calling
/// brim_run_step again once there is room on the disk leaves no gap.
enum { DUE_ROW = 1, DUE_GAUGES = 2, DUE_FRAME = 4, DUE_CHECKPOINT = 8 };

struct BrimRun {
    char *folder;
    BrimRunOptions options;
    BrimOutputDef output;
    uint64_t scene_hash;
    FolderState found; ///< what the folder was before
    int lock;          ///< descriptor of the folder, -1 while not taken
    bool began;        ///< in a folder that was new or empty, and is ours

    BrimSim *sim;
    int frames; ///< at which the run ends
    RowsFile *stats;
    GaugeFiles *gauges; ///< NULL: none
    BrimFoam *foam;     ///< NULL: not wanted
    int due;
    int64_t saved;         ///< step of the newest checkpoint, -1 when there is none
    char *last_checkpoint; ///< its path
    int64_t *candidates;   ///< resume: steps of the checkpoints that were there, newest first
    int candidate_count;
    int passed_over;  ///< so many candidates could not be used; those not even read are -1 in the
                      ///< list
    BrimError unread; ///< of the newest of these
    BrimError broken; ///< of the newest that is damaged
    char message[4096];
};

static void note(BrimRun *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(BrimRun *r, const char *format, ...) {
    size_t n = strlen(r->message);
    if (n && n + 1 < sizeof r->message) r->message[n++] = '\n';
    va_list args;
    va_start(args, format);
    vsnprintf(r->message + n, sizeof r->message - n, format, args);
    va_end(args);
}

static BrimResult no_memory(const BrimRun *r, BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for the run in '%s'", r->folder);
}

// --------------------------------------------------------------------- opening, reading only

static BrimResult check_scene_is_same(const BrimRun *r, BrimError *error) {
    char *path = path_new("%s/run.json", r->folder);
    if (!path) return no_memory(r, error);
    uint64_t hash;
    BrimResult result = run_json_hash(path, &hash, error);
    if (result == BRIM_OK && hash != r->scene_hash)
        result = fail(error, BRIM_ERROR_INPUT,
                      "the scene differs from the one that '%s' was made with (see %s): resume "
                      "with the same scene, --set and --seed (duration, output and threads may "
                      "change), start over with --overwrite, or choose another folder",
                      r->folder, path);
    free(path);
    return result;
}

/// Takes a folder, unless another run came first and left something.
static BrimResult lock_folder(BrimRun *r, FolderState expected, BrimError *error) {
    FolderState now;
    BrimResult result = folder_lock(r->folder, &r->lock, error);
    if (result == BRIM_OK) result = folder_state(r->folder, &now, error);
    if (result != BRIM_OK) return result;
    if (now != expected)
        return fail(error, BRIM_ERROR_INPUT,
                    "another run has just written into '%s': choose another folder, or start again",
                    r->folder);
    r->began = now == FOLDER_EMPTY;
    return BRIM_OK;
}

static BrimResult check_folder(BrimRun *r, BrimError *error) {
    if (r->options.resume && r->options.overwrite)
        return fail(error, BRIM_ERROR_INPUT,
                    "choose one of resume (continue the run in '%s') and overwrite (discard it)",
                    r->folder);
    BrimResult result = folder_state(r->folder, &r->found, error);
    if (result != BRIM_OK) return result;
    if (r->found == FOLDER_RUN && !r->options.resume && !r->options.overwrite)
        return fail(error, BRIM_ERROR_INPUT,
                    "the folder '%s' holds a run: continue it (--resume), replace it "
                    "(--overwrite), or choose another folder",
                    r->folder);
    if (r->found == FOLDER_OTHER)
        return fail(error, BRIM_ERROR_INPUT,
                    "the folder '%s' holds files but no run%s: choose another folder", r->folder,
                    r->options.resume      ? " to resume"
                    : r->options.overwrite ? " to replace"
                                           : "");
    if (r->found != FOLDER_MISSING) result = lock_folder(r, r->found, error);
    if (r->found == FOLDER_RUN && r->options.resume && result == BRIM_OK)
        result = check_scene_is_same(r, error);
    return result;
}

static void remember_checkpoint(BrimRun *r, char *path, int64_t step) {
    free(r->last_checkpoint);
    r->last_checkpoint = path;
    r->saved = step;
}

/// Loads one checkpoint. One that is damaged or cannot be read is passed over: BRIM_OK and no
/// simulation.
static BrimResult try_checkpoint(BrimRun *r, const BrimSimDef *def, int64_t *candidate,
                                 BrimError *error) {
    int64_t step = *candidate;
    char *path = checkpoint_path(r->folder, step);
    if (!path) return no_memory(r, error);
    BrimError reason;
    BrimResult result = brim_sim_load(def, path, &r->sim, &reason);
    if (result == BRIM_OK) {
        remember_checkpoint(r, path, step);
        return BRIM_OK;
    }
    free(path);
    if (result == BRIM_ERROR_DAMAGED || result == BRIM_ERROR_IO) {
        note(r, "Skipped a checkpoint: %s", reason.message);
        r->passed_over++;
        BrimError *newest = result == BRIM_ERROR_IO ? &r->unread : &r->broken;
        if (!newest->message[0]) *newest = reason;
        if (result == BRIM_ERROR_IO) *candidate = -1;
        return BRIM_OK;
    }
    return fail(error, result, "%s", reason.message);
}

/// Without a checkpoint to go on from a run begins anew only where there is nothing to lose: what
/// it has computed is thrown away when somebody says so.
static BrimResult check_may_begin(const BrimRun *r, BrimError *error) {
    if (r->unread.message[0])
        return fail(error, BRIM_ERROR_IO,
                    "%.700s\nNo other checkpoint can be resumed from: make it readable, or start "
                    "over with --overwrite",
                    r->unread.message);
    if (r->broken.message[0])
        return fail(error, BRIM_ERROR_DAMAGED,
                    "%.700s\nNo other checkpoint can be resumed from, and the folder was left as "
                    "it is: start over with --overwrite, or choose another folder",
                    r->broken.message);
    bool any = false;
    BrimResult result = folder_has_frames(r->folder, &any, error);
    if (result == BRIM_OK && any)
        return fail(error, BRIM_ERROR_INPUT,
                    "'%s' holds frames of a run but no checkpoint to resume from (there is one "
                    "every output.checkpoint_every frames): start over with --overwrite, or choose "
                    "another folder",
                    r->folder);
    return result;
}

static BrimResult make_sim(BrimRun *r, const BrimSimDef *def, BrimError *error) {
    if (r->options.resume) {
        BrimResult result =
            folder_checkpoints(r->folder, &r->candidates, &r->candidate_count, error);
        for (int i = 0; i < r->candidate_count && !r->sim && result == BRIM_OK; i++)
            result = try_checkpoint(r, def, &r->candidates[i], error);
        if (result != BRIM_OK || r->sim) return result;
        result = check_may_begin(r, error);
        if (result != BRIM_OK) return result;
        note(r, "No checkpoint in %s: starting from the beginning.", r->folder);
    }
    return brim_sim_create(def, &r->sim, error);
}

/// Whether a resumed run is at its end already: then its folder stays as it is.
static bool is_complete(BrimRun *r) {
    if (r->saved < 0) return false;
    int frame = brim_sim_frame(r->sim);
    if (frame < r->frames)
        note(r, "Resuming from %s: frame %d, step %lld, time %.6g s.", r->last_checkpoint, frame,
             (long long)brim_sim_step_count(r->sim), brim_sim_time(r->sim));
    else
        note(r,
             "The run in %s has already reached frame %d, and frame %d is the last one wanted: "
             "nothing to do.",
             r->folder, frame, r->frames);
    return frame >= r->frames;
}

// ------------------------------------------------------------------------ opening, writing

/// Damaged checkpoints get another name: they are kept for a look and no longer count.
static void put_damaged_aside(const BrimRun *r) {
    for (int i = 0; i < r->passed_over; i++) {
        if (r->candidates[i] < 0) continue;
        char *path = checkpoint_path(r->folder, r->candidates[i]);
        char *aside = path ? path_new("%s.damaged", path) : NULL;
        if (aside) rename(path, aside);
        free(path), free(aside);
    }
}

static BrimResult take_folder(BrimRun *r, const BrimScene *scene, BrimError *error) {
    BrimResult result = BRIM_OK;
    if (r->found == FOLDER_MISSING) {
        result = folder_make(r->folder, error);
        if (result == BRIM_OK) result = lock_folder(r, FOLDER_EMPTY, error);
    }
    if (result == BRIM_OK && r->options.overwrite) result = folder_empty(r->folder, error);
    if (result != BRIM_OK) return result;
    folder_sweep(r->folder);
    put_damaged_aside(r);
    char *path = path_new("%s/run.json", r->folder);
    if (!path) return no_memory(r, error);
    result = run_json_write(path, scene, r->sim, r->scene_hash, error);
    free(path);
    if (result != BRIM_OK) return result;
    return folder_prepare(r->folder, &r->output, brim_sim_body_count(r->sim) > 0,
                          brim_sim_gauge_count(r->sim) > 0, error);
}

/// The surface as a mesh, a level set, or both.
static BrimResult write_surface(const BrimRun *r, int frame, BrimError *error) {
    const BrimOutputDef *o = &r->output;
    BrimMeshFormat format = o->surface == BRIM_SURFACE_OUTPUT_OBJ ? BRIM_MESH_OBJ : BRIM_MESH_PLY;
    BrimMeshDef def = {.radius = o->surface_radius,
                       .resolution = o->surface_resolution,
                       .smooth = o->surface_smooth,
                       .anisotropic = o->surface_anisotropic,
                       .positions = o->surface_positions,
                       .threads = brim_sim_threads(r->sim),
                       .isa = brim_sim_def(r->sim)->isa};
    char *path = surface_path(r->folder, frame, format), *vdb = vdb_path(r->folder, frame);
    BrimMesh mesh = {0};
    BrimResult result = path && vdb ? BRIM_OK : no_memory(r, error);
    if (result == BRIM_OK) result = brim_sim_mesh(r->sim, &def, &mesh, error);
    if (result == BRIM_OK && o->surface != BRIM_SURFACE_OUTPUT_NONE)
        result = brim_write_mesh(&mesh, brim_sim_time(r->sim), frame, format, path, error);
    if (result == BRIM_OK && o->vdb)
        result = vdb_write_sim(r->sim, &mesh, vdb_voxel(brim_sim_def(r->sim), def.resolution), vdb,
                               error);
    brim_mesh_free(&mesh);
    free(path), free(vdb);
    return result;
}

/// Made from the files of the frame, just as brim convert does it.
static BrimResult write_paraview(const BrimRun *r, int frame, BrimError *error) {
    char *path = paraview_path(r->folder);
    if (!path) return no_memory(r, error);
    BrimResult result =
        brim_write_paraview(r->folder, path, frame, brim_sim_def(r->sim)->frame_rate, error);
    free(path);
    return result;
}

// Foam is made from the frames of particles as they are in the folder, just as brim foam does it
// afterwards: the same bytes, and after a resume the files hold all that it needs.

/// Reads the particles of a frame that was written.
static BrimResult read_particles(const BrimRun *r, int frame, BrimFrame *particles,
                                 BrimError *error) {
    *particles = (BrimFrame){0};
    char *path = particles_path(r->folder, frame);
    if (!path) return no_memory(r, error);
    BrimResult result = brim_frame_read(path, particles, error);
    free(path);
    return result;
}

static BrimResult write_foam(const BrimRun *r, int frame, BrimError *error) {
    double time = frame / brim_sim_def(r->sim)->frame_rate;
    BrimFrame read;
    BrimResult result = read_particles(r, frame, &read, error);
    BrimParticles particles = brim_frame_particles(&read);
    // what failed is tried again: the foam may be there already
    if (result == BRIM_OK && brim_foam_frame(r->foam).frame < frame)
        result = brim_foam_advance(r->foam, &particles, frame, time, error);
    brim_frame_free(&read);
    char *path = result == BRIM_OK ? foam_path(r->folder, frame) : NULL;
    if (result != BRIM_OK || !path) return result != BRIM_OK ? result : no_memory(r, error);
    BrimFoamFrame foam = brim_foam_frame(r->foam);
    result = brim_foam_write(&foam, path, error);
    free(path);
    return result;
}

/// Makes foam ready; after a resume from the last frame that was written.
static BrimResult begin_foam(BrimRun *r, const BrimSimDef *def, BrimError *error) {
    BrimFoamDef foam = def->foam;
    foam.threads = brim_sim_threads(r->sim), foam.isa = def->isa;
    BrimResult result = brim_foam_create(def, &foam, &r->foam, error);
    if (result != BRIM_OK || r->saved < 0) return result;
    int frame = brim_sim_frame(r->sim) / r->output.every * r->output.every;
    BrimFrame read;
    result = read_particles(r, frame, &read, error);
    BrimParticles particles = brim_frame_particles(&read);
    char *path = foam_path(r->folder, frame);
    if (result == BRIM_OK && !path) result = no_memory(r, error);
    if (result == BRIM_OK)
        result =
            brim_foam_restore(r->foam, &particles, frame, frame / def->frame_rate, path, error);
    brim_frame_free(&read);
    free(path);
    return result;
}

static BrimResult write_bodies(const BrimRun *r, int frame, BrimError *error) {
    char *ply = bodies_path(r->folder, frame, "ply"), *csv = bodies_path(r->folder, frame, "csv");
    BrimResult result = ply && csv ? BRIM_OK : no_memory(r, error);
    if (result == BRIM_OK) result = brim_write_bodies(r->sim, ply, error);
    if (result == BRIM_OK) result = brim_write_body_states(r->sim, csv, error);
    free(ply), free(csv);
    return result;
}

static BrimResult write_frame(const BrimRun *r, BrimError *error) {
    int frame = brim_sim_frame(r->sim);
    char *particles = particles_path(r->folder, frame), *fields;
    fields = fields_path(r->folder, frame, brim_sim_def(r->sim)->warp > 0);
    BrimResult result = particles && fields ? BRIM_OK : no_memory(r, error);
    if (result == BRIM_OK && r->output.particles)
        result = brim_write_particles(r->sim, particles, error);
    if (result == BRIM_OK && r->output.fields) result = brim_write_fields(r->sim, fields, error);
    if (result == BRIM_OK && (r->output.surface != BRIM_SURFACE_OUTPUT_NONE || r->output.vdb))
        result = write_surface(r, frame, error);
    if (result == BRIM_OK && r->foam) result = write_foam(r, frame, error);
    if (result == BRIM_OK && brim_sim_body_count(r->sim) > 0)
        result = write_bodies(r, frame, error);
    if (result == BRIM_OK && r->output.paraview) result = write_paraview(r, frame, error);
    free(particles), free(fields);
    return result;
}

static BrimResult begin_output(BrimRun *r, const BrimSimDef *def, BrimError *error) {
    char *path = path_new("%s/stats.csv", r->folder);
    if (!path) return no_memory(r, error);
    BrimResult result = stats_open(path, brim_sim_step_count(r->sim), &r->stats, error);
    free(path);
    if (result == BRIM_OK) result = gauge_files_open(r->folder, r->sim, def, &r->gauges, error);
    // After a resume the frames up to the checkpoint are there: they were written before it.
    return result == BRIM_OK && r->saved < 0 ? write_frame(r, error) : result;
}

static BrimResult write_checkpoint(BrimRun *r, BrimError *error) {
    int64_t step = brim_sim_step_count(r->sim);
    if (step == r->saved) return BRIM_OK;
    char *path = checkpoint_path(r->folder, step);
    if (!path) return no_memory(r, error);
    // The rows first: after a power cut a checkpoint never knows more than stats.csv.
    BrimResult result = rows_sync(r->stats, error);
    if (result == BRIM_OK) result = gauge_files_sync(r->gauges, error);
    if (result == BRIM_OK) result = brim_sim_save(r->sim, path, error);
    if (result != BRIM_OK) {
        free(path);
        return result;
    }
    remember_checkpoint(r, path, step);
    folder_prune(r->folder);
    return BRIM_OK;
}

static BrimResult open_run(BrimRun *r, const BrimScene *scene, BrimError *error) {
    const BrimSimDef *def = brim_scene_def(scene);
    r->scene_hash = def_hash(def);
    r->output = def->output;
    if (r->output.every < 1) r->output.every = 1;
    BrimResult result = r->output.vdb ? vdb_check(def, error) : BRIM_OK;
    if (result == BRIM_OK) result = check_folder(r, error);
    if (result == BRIM_OK) result = make_sim(r, def, error);
    if (result != BRIM_OK) return result;
    int all = brim_sim_frame_count(r->sim), limit = r->options.frames;
    r->frames = limit > 0 && limit < all ? limit : all;
    if (is_complete(r)) return BRIM_OK;
    if (r->output.foam) result = begin_foam(r, def, error);
    if (result != BRIM_OK) return result;
    result = take_folder(r, scene, error);
    if (result == BRIM_OK) result = begin_output(r, def, error);
    // From the start there is something to resume from, however early the run is cut short.
    if (result == BRIM_OK && r->saved < 0 && r->output.checkpoint_every > 0)
        result = write_checkpoint(r, error);
    if (result == BRIM_OK || !r->began) return result;
    // A new run that could not begin leaves the place as it was.
    folder_clear(r->folder, NULL);
    if (r->found == FOLDER_MISSING) rmdir(r->folder);
    return result;
}

BrimResult brim_run_open(const BrimScene *scene, const char *folder, const BrimRunOptions *options,
                         BrimRun **run, BrimError *error) {
    NEED(run, error);
    *run = NULL;
    NEED(scene, error);
    NEED(folder, error);
    if (!*folder) return fail(error, BRIM_ERROR_INPUT, "the name of the run's folder is empty");
    BrimRun *r = calloc(1, sizeof *r);
    char *copy = path_new("%s", folder);
    if (!r || !copy) {
        free(r), free(copy);
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for the run in '%s'", folder);
    }
    r->folder = copy;
    if (options) r->options = *options;
    r->lock = -1, r->saved = -1;
    BrimResult result = open_run(r, scene, error);
    if (result == BRIM_OK)
        *run = r;
    else
        brim_run_close(&r);
    return result == BRIM_OK || !error ? result : brim_scene_locate(scene, error);
}

// --------------------------------------------------------------------------------- stepping

static BrimResult write_due(BrimRun *r, BrimError *error) {
    BrimResult result = BRIM_OK;
    if (r->due & DUE_ROW) result = stats_append(r->stats, brim_sim_stats(r->sim), error);
    if (result != BRIM_OK) return result;
    r->due &= ~DUE_ROW;
    if (r->due & DUE_GAUGES) result = gauge_files_append(r->gauges, r->sim, error);
    if (result != BRIM_OK) return result;
    r->due &= ~DUE_GAUGES;
    if (r->due & DUE_FRAME) result = write_frame(r, error);
    if (result != BRIM_OK) return result;
    r->due &= ~DUE_FRAME;
    if (r->due & DUE_CHECKPOINT) result = write_checkpoint(r, error);
    if (result == BRIM_OK) r->due = 0;
    return result;
}

/// Ends the message of a lost simulation with where to go on from, whatever its length.
static void name_last_checkpoint(const BrimRun *r, BrimError *error) {
    if (!error) return;
    char end[sizeof error->message / 2];
    if (r->last_checkpoint)
        snprintf(end, sizeof end, "\nThe last good checkpoint is %s", r->last_checkpoint);
    else
        snprintf(end, sizeof end, "\nNo checkpoint had been written yet.");
    size_t most = sizeof error->message - 1 - strlen(end), n = strlen(error->message);
    strcpy(error->message + (n < most ? n : most), end);
}

static int due_after(const BrimRun *r, int frame_before) {
    int frame = brim_sim_frame(r->sim), every = r->output.checkpoint_every;
    int due = DUE_ROW | DUE_GAUGES;
    if (frame == frame_before) return due;
    if (frame % r->output.every == 0) due |= DUE_FRAME;
    if (frame >= r->frames || (every > 0 && frame % every == 0)) due |= DUE_CHECKPOINT;
    return due;
}

BrimResult brim_run_step(BrimRun *r, BrimError *error) {
    NEED(r, error);
    if (!r->due && !brim_run_done(r)) {
        int frame = brim_sim_frame(r->sim);
        BrimResult result = brim_sim_step(r->sim, error);
        if (result < 0) name_last_checkpoint(r, error);
        if (result != BRIM_OK) return result;
        r->due = due_after(r, frame);
    }
    return write_due(r, error);
}

BrimResult brim_run_checkpoint(BrimRun *r, BrimError *error) {
    NEED(r, error);
    BrimResult result = write_due(r, error);
    return result == BRIM_OK ? write_checkpoint(r, error) : result;
}

bool brim_run_done(const BrimRun *r) {
    return !r || (brim_sim_frame(r->sim) >= r->frames && !r->due);
}

int brim_run_frame_count(const BrimRun *r) {
    return r ? r->frames : 0;
}

BrimSim *brim_run_sim(BrimRun *r) {
    return r ? r->sim : NULL;
}

const char *brim_run_message(const BrimRun *r) {
    return r ? r->message : "";
}

int brim_run_passed_over(const BrimRun *r) {
    return r ? r->passed_over : 0;
}

const char *brim_run_last_checkpoint(const BrimRun *r) {
    return r && r->last_checkpoint ? r->last_checkpoint : "";
}

void brim_run_close(BrimRun **run) {
    if (!run || !*run) return;
    BrimRun *r = *run;
    rows_close(&r->stats);
    gauge_files_close(&r->gauges);
    brim_sim_destroy(&r->sim);
    brim_foam_destroy(&r->foam);
    if (r->lock >= 0) close(r->lock);
    free(r->folder), free(r->last_checkpoint), free(r->candidates), free(r);
    *run = NULL;
}
