// brim render: pictures and films of a run, with the scene that its folder remembers.
#include "render.h"
#include "film.h"
#include "frames.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Arguments {
    const char *output, *size, *camera, *style, *colour, *range, *look;
    TextList sets;
    int64_t frame, first, last, samples, threads;
    double shutter;
    bool grid, level_set, no_foam, quiet, overwrite;
} Arguments;

/// A job: some frames of a run to be drawn the same way.
typedef struct Job {
    Frames frames;
    BrimSimDef def;
    Look look;
    BrimPictureDef picture;
    bool surface;       ///< wanted: the run's own where there is one
    BrimMesher *mesher; ///< NULL when all frames have one
    const Arguments *a;
    char values[64]; ///< property that particles are coloured by, "" for those Brim knows itself
    CountProgress progress;
} Job;

// --------------------------------------------------------------------------------- one picture

/// A def for a frame of unknown origin: a box around the particles, cells from their density.
static BrimSimDef guess_def(const BrimFrame *frame) {
    BrimSimDef def = brim_default_sim_def();
    float high[3] = {0, 0, 0};
    bool flat = true;
    for (size_t i = 0; i < frame->count; i++) {
        high[0] = fmaxf(high[0], frame->x[i]);
        high[1] = fmaxf(high[1], frame->y[i]);
        high[2] = fmaxf(high[2], frame->z[i]);
        flat = flat && frame->z[i] == 0;
    }
    for (int k = 0; k < 3; k++)
        if (!(high[k] > 0 && high[k] < 1e20f)) high[k] = 1;
    def.dim = flat ? 2 : 3;
    double volume = (double)high[0] * high[1] * (flat ? 1 : high[2]);
    // a box that liquid fills to a quarter, eight (2D: four) particles a cell
    double spacing = pow(volume / 4 / (double)(frame->count + 1), flat ? 1 / 2.0 : 1 / 3.0);
    for (int k = 0; k < 3; k++) def.cells[k] = (int)fmin(ceil(high[k] / (2 * spacing)), 1e6);
    if (flat) def.cells[2] = 1;
    float cell = high[0] / (float)def.cells[0];
    def.size = (BrimVec3){high[0], high[1], flat ? cell : high[2]};
    def.particles_per_cell = flat ? 4 : 8;
    return def;
}

static double frame_time(const Job *job, int index) {
    int number = job->frames.number[index];
    return number > 0 ? number / job->def.frame_rate : 0;
}

/// A frame with what its picture needs.
typedef struct Loaded {
    BrimFrame frame;
    BrimMesh mesh;
    BrimFoamFrame foam;
    float *values, *nodes;
} Loaded;

static void loaded_free(Loaded *l) {
    brim_frame_free(&l->frame);
    brim_mesh_free(&l->mesh);
    brim_foam_free(&l->foam);
    free(l->values), free(l->nodes);
    *l = (Loaded){0};
}

static BrimResult load_values(const Job *job, const char *path, Loaded *l, BrimError *error) {
    size_t count;
    if (!*job->values) return BRIM_OK;
    return brim_frame_values(path, job->values, &l->values, &count, error);
}

/// Where the run would have put the surface of a frame; false when there is none.
static bool surface_path(const Job *job, int index, char path[PATH_MAX]) {
    int n = snprintf(path, PATH_MAX, "%s/surface/%06d.ply", job->frames.folder,
                     job->frames.number[index]);
    return job->surface && !*job->frames.file && n < PATH_MAX && access(path, F_OK) == 0;
}

/// The surface: from the run's folder when it is there, else made.
static BrimResult load_mesh(Job *job, int index, Loaded *l, BrimError *error) {
    char path[PATH_MAX];
    if (!job->surface) return BRIM_OK;
    if (surface_path(job, index, path)) return brim_mesh_read(path, &l->mesh, error);
    BrimParticles particles = brim_frame_particles(&l->frame);
    return brim_mesher_mesh(job->mesher, &particles, frame_time(job, index), &l->mesh, error);
}

/// The corners of a warped grid's cells, from the fields of the frame.
static BrimResult load_nodes(const Job *job, int index, Loaded *l, BrimError *error) {
    const int *n = job->def.cells;
    char path[PATH_MAX];
    size_t count, wanted = (size_t)(n[0] + 1) * (size_t)(n[1] + 1);
    if (!job->picture.grid || !(job->def.warp > 0)) return BRIM_OK;
    if (job->def.dim == 3) wanted *= (size_t)(n[2] + 1);
    error->result = BRIM_ERROR_INPUT;
    if (snprintf(path, PATH_MAX, "%s/fields/%06d.vts", job->frames.folder,
                 job->frames.number[index]) >= PATH_MAX ||
        access(path, F_OK) != 0) {
        snprintf(
            error->message, sizeof error->message,
            "--grid draws a warped grid from the run's fields, and there are none of frame %d: "
            "run with --set output.fields=true",
            job->frames.number[index]);
        return error->result;
    }
    BrimResult result = brim_read_nodes(path, &l->nodes, &count, error);
    if (result != BRIM_OK || count == wanted) return result;
    error->result = BRIM_ERROR_INPUT;
    snprintf(error->message, sizeof error->message,
             "%.400s: holds a part of the domain only: --grid needs all of it", path);
    return error->result;
}

/// Where the foam of a frame is; false when there is none, or none is wanted.
static bool foam_path(const Job *job, int index, char path[PATH_MAX]) {
    int n =
        snprintf(path, PATH_MAX, "%s/foam/%06d.ply", job->frames.folder, job->frames.number[index]);
    return *job->frames.folder && !job->a->no_foam && n < PATH_MAX && access(path, F_OK) == 0;
}

/// Where the bodies of a frame are; false when there are none.
static bool bodies_path(const Job *job, int index, char path[PATH_MAX]) {
    int n = snprintf(path, PATH_MAX, "%s/bodies/%06d.ply", job->frames.folder,
                     job->frames.number[index]);
    return *job->frames.folder && n < PATH_MAX && access(path, F_OK) == 0;
}

/// Adds the frame's own spray, which is no part of the surface, as drops as large as a particle.
static bool add_drops(const Job *job, Loaded *l) {
    const BrimFrame *f = &l->frame;
    const BrimSimDef *def = &job->def;
    double cell = def->size.x / def->cells[0];
    double radius = cell * cbrt(0.75 / (3.14159265358979 * def->particles_per_cell));
    BrimFoamFrame *foam = &l->foam;
    BrimFoamParticle *more =
        realloc(foam->particle, (foam->count + f->spray) * sizeof *foam->particle);
    if (!more) return false;
    foam->particle = more;
    for (size_t i = f->count - f->spray; i < f->count; i++)
        more[foam->count++] = (BrimFoamParticle){.position = {f->x[i], f->y[i], f->z[i]},
                                                 .velocity = {f->vx[i], f->vy[i], f->vz[i]},
                                                 .size = (float)radius,
                                                 .id = f->id[i],
                                                 .type = BRIM_FOAM_SPRAY};
    return true;
}

static BrimResult load_foam(const Job *job, int index, Loaded *l, BrimError *error) {
    char path[PATH_MAX];
    BrimResult result =
        foam_path(job, index, path) ? brim_foam_read(path, &l->foam, error) : BRIM_OK;
    if (result != BRIM_OK || !job->surface || !l->frame.spray || add_drops(job, l)) return result;
    error->result = BRIM_ERROR_MEMORY;
    snprintf(error->message, sizeof error->message, "out of memory for the frame's spray");
    return error->result;
}

static void on_progress(void *context, double share) {
    count_progress_part(context, share);
}

/// What decides how a frame will look: when a picture's note says the same it is kept.
static void write_note(const Job *job, int index, char note[768]) {
    const BrimPictureDef *p = &job->picture;
    const Arguments *a = job->a;
    char path[PATH_MAX];
    struct stat s = {0}, foam = {0};
    bool found = surface_path(job, index, path) || frames_path(&job->frames, index, path);
    if (!found || stat(path, &s) != 0) s.st_size = 0;
    if (!foam_path(job, index, path) || stat(path, &foam) != 0) foam.st_size = 0;
    snprintf(note, 768,
             "brim %s frame %d of %lld bytes at %lld.%09ld; %dx%d style %d samples %d shutter %g "
             "camera %s colour %s range %g:%g grid %d level-set %d look %016llx foam %lld bytes at "
             "%lld.%09ld",
             brim_version(), job->frames.number[index], (long long)s.st_size,
             (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec, p->width, p->height, (int)p->style,
             p->samples, p->shutter, a->camera ? a->camera : "auto", a->colour ? a->colour : "",
             p->low, p->high, p->grid, p->level_set, (unsigned long long)look_hash(&job->def),
             (long long)foam.st_size, (long long)foam.st_mtim.tv_sec, foam.st_mtim.tv_nsec);
}

static int draw(Job *job, int index, const char *path) {
    BrimError error;
    Loaded l = {0};
    char from[PATH_MAX], note[768];
    if (!frames_path(&job->frames, index, from)) return EXIT_INPUT;
    BrimResult result = brim_frame_read_all(from, &l.frame, &error);
    if (result == BRIM_OK) result = load_values(job, from, &l, &error);
    if (result == BRIM_OK) result = load_mesh(job, index, &l, &error);
    if (result == BRIM_OK) result = load_foam(job, index, &l, &error);
    if (result == BRIM_OK) result = load_nodes(job, index, &l, &error);
    if (result == BRIM_OK) {
        BrimPictureDef picture = job->picture;
        write_note(job, index, note);
        char bodies[PATH_MAX];
        picture.note = note, picture.values = l.values, picture.foam = &l.foam;
        picture.nodes = l.nodes;
        picture.bodies = bodies_path(job, index, bodies) ? bodies : NULL;
        picture.progress = on_progress, picture.progress_context = &job->progress;
        result = brim_write_picture(&job->def, &l.frame, job->surface ? &l.mesh : NULL,
                                    frame_time(job, index), &picture, path, &error);
    }
    loaded_free(&l);
    return result == BRIM_OK ? EXIT_DONE : report_result(&error, false);
}

// ------------------------------------------------------------------------------- many pictures

/// One colour scale for all frames: the widest of those that a few of them would get.
static int find_range(Job *job) {
    BrimPictureDef *p = &job->picture;
    if (p->style == BRIM_STYLE_WATER || p->low < p->high) return EXIT_DONE;
    double least = INFINITY, most = -INFINITY;
    int count = job->frames.count, looked = count < 8 ? count : 8;
    for (int k = 0; k < looked; k++) {
        int index = looked > 1 ? k * (count - 1) / (looked - 1) : 0;
        BrimError error;
        Loaded l = {0};
        double low, high;
        char path[PATH_MAX];
        if (!frames_path(&job->frames, index, path)) return EXIT_INPUT;
        BrimResult result = brim_frame_read(path, &l.frame, &error);
        if (result == BRIM_OK) result = load_values(job, path, &l, &error);
        BrimPictureDef picture = *p;
        picture.values = l.values;
        if (result == BRIM_OK)
            result = brim_picture_range(&job->def, &l.frame, &picture, &low, &high, &error);
        loaded_free(&l);
        if (result != BRIM_OK) return report_result(&error, false);
        least = fmin(least, low), most = fmax(most, high);
    }
    p->low = least, p->high = most;
    return EXIT_DONE;
}

static bool is_drawn(const Job *job, int index, const char *path) {
    char wanted[768], found[768];
    if (job->a->overwrite || access(path, F_OK) != 0) return false;
    write_note(job, index, wanted);
    return brim_picture_note(path, found, sizeof found, NULL) == BRIM_OK &&
           strcmp(wanted, found) == 0;
}

/// Draws all frames that are not there yet to `pattern`, by number or, for films, by place.
static int draw_all(Job *job, const char *pattern, bool by_place, int *kept) {
    int code = find_range(job);
    for (int i = 0; i < job->frames.count && code == EXIT_DONE; i++) {
        char path[PATH_MAX];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        if (!make_path(path, pattern, by_place ? i : job->frames.number[i])) return EXIT_INPUT;
#pragma GCC diagnostic pop
        if (is_drawn(job, i, path))
            ++*kept;
        else
            code = draw(job, i, path);
        if (code == EXIT_DONE) count_progress_step(&job->progress, i + 1, *kept);
    }
    if (code == EXIT_DONE) count_progress_end(&job->progress);
    return code;
}

static void warn_of_gaps(const Frames *f) {
    int step = frames_step(f);
    for (int i = 1; i < f->count; i++) {
        if (f->number[i] - f->number[i - 1] == step) continue;
        report_warning("frame %d is missing in %s; the film continues with frame %d",
                       f->number[i - 1] + step, f->folder, f->number[i]);
        return;
    }
}

static int make_folder(const char *path) {
    if (mkdir(path, 0755) == 0 || errno == EEXIST) return EXIT_DONE;
    report_error("cannot make the folder %s: %s", path, strerror(errno));
    return EXIT_IO;
}

/// A film's own folder, which is emptied in the end: not a link to one of somebody else.
static int make_own_folder(const char *path) {
    struct stat status;
    int code = make_folder(path);
    if (code != EXIT_DONE || (lstat(path, &status) == 0 && S_ISDIR(status.st_mode))) return code;
    report_error("%s is in the way of the film's frames: remove it", path);
    return EXIT_IO;
}

static int draw_numbered(Job *job) {
    char folder[PATH_MAX];
    const char *pattern = job->a->output, *slash = strrchr(pattern, '/');
    int kept = 0;
    if (slash && slash > pattern) {
        if (!make_path(folder, "%.*s", (int)(slash - pattern), pattern)) return EXIT_INPUT;
        if (make_folder(folder) != EXIT_DONE) return EXIT_IO;
    }
    int code = draw_all(job, pattern, false, &kept);
    if (code == EXIT_DONE)
        say(stdout, "%s: %d frames, %d of them kept\n", pattern, job->frames.count, kept);
    return code;
}

/// Removes the pictures of a film, and those that a longer attempt before left behind it.
static void remove_pictures(const char *folder, int count) {
    for (int i = 0;; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%06d.png", folder, i) >= PATH_MAX) break;
        if (unlink(path) != 0 && i >= count) break;
    }
    rmdir(folder);
}

static int draw_film(Job *job) {
    char folder[PATH_MAX], pattern[PATH_MAX];
    const char *film = job->a->output;
    int kept = 0;
    bool encode = film_can_encode();
    if (!make_path(folder, "%s.frames", film) || !make_path(pattern, "%s/%%06d.png", folder))
        return EXIT_INPUT;
    if (strchr(folder, '%')) {
        report_error("a film's path must not contain '%%': %s", film);
        return EXIT_INPUT;
    }
    if (!encode)
        report_warning("ffmpeg is not installed: the film's frames will be left in %s", folder);
    warn_of_gaps(&job->frames);
    if (make_own_folder(folder) != EXIT_DONE) return EXIT_IO;
    int code = draw_all(job, pattern, true, &kept);
    if (code != EXIT_DONE) return code;
    double rate = job->def.frame_rate / frames_step(&job->frames);
    if (!encode) {
        say(stdout, "%s\n", folder);
        return EXIT_DONE;
    }
    code = film_encode(folder, job->frames.count, rate, film);
    if (code != EXIT_DONE) return code;
    remove_pictures(folder, job->frames.count);
    say(stdout, "%s: %d frames at %g a second\n", film, job->frames.count, rate);
    return EXIT_DONE;
}

// --------------------------------------------------------------------------------- the command

static bool picture_path(const Job *job, char path[PATH_MAX]) {
    const Frames *f = &job->frames;
    if (job->a->output) return make_path(path, "%s", job->a->output);
    if (!*f->file) return make_path(path, "%s/picture-%06d.png", f->folder, f->number[0]);
    size_t n = strlen(f->file);
    if (n > 4 && strcmp(f->file + n - 4, ".ply") == 0) n -= 4;
    return make_path(path, "%.*s.png", (int)n, f->file);
}

/// Leaves the frames that are asked for in the list.
static int choose_frames(Job *job, const char *from, bool many) {
    Frames *f = &job->frames;
    const Arguments *a = job->a;
    if (*f->file && (a->frame >= 0 || many)) {
        report_error("--frame and films need a folder with frames; %s is a single frame", from);
        return EXIT_INPUT;
    }
    if (many && a->frame >= 0) {
        report_error("--frame draws one frame; --first and --last choose those of a film");
        return EXIT_INPUT;
    }
    int64_t last = f->number[f->count - 1], one = a->frame >= 0 ? a->frame : last;
    int64_t low = many ? a->first : one, high = many ? a->last : one;
    int kept = 0, count = f->count;
    for (int i = 0; i < count; i++)
        if (f->number[i] >= low && f->number[i] <= high) f->number[kept++] = f->number[i];
    f->count = kept;
    if (kept > 0) return EXIT_DONE;
    if (many)
        report_error("%s has no frames from %lld to %lld; the last is %lld", from, (long long)low,
                     (long long)high, (long long)last);
    else
        report_error("%s has no frame %lld; the last is %lld", from, (long long)one,
                     (long long)last);
    return EXIT_INPUT;
}

static int find_def(Job *job) {
    if (job->frames.scene) {
        job->def = *brim_scene_def(job->frames.scene);
        return EXIT_DONE;
    }
    BrimFrame frame;
    BrimError error;
    if (brim_frame_read(job->frames.file, &frame, &error) != BRIM_OK)
        return report_result(&error, false);
    job->def = guess_def(&frame);
    bool empty = frame.count == 0;
    brim_frame_free(&frame);
    if (!empty) return EXIT_DONE;
    report_error("%s holds no particles, and it is in no run folder that says what to draw",
                 job->frames.file);
    return EXIT_INPUT;
}

/// Makes surfaces ready for frames whose run wrote none. Those of a narrow band tell too little for
/// one: they are drawn as particles, unless water was asked for.
static int prepare_surface(Job *job) {
    char path[PATH_MAX];
    bool all = true;
    job->surface = true;
    for (int i = 0; i < job->frames.count; i++) all = all && surface_path(job, i, path);
    if (all) return EXIT_DONE;
    BrimError error;
    BrimMeshDef mesh = brim_default_mesh_def();
    mesh.threads = job->picture.threads;
    if (brim_mesher_create(&job->def, &mesh, &job->mesher, &error) == BRIM_OK) return EXIT_DONE;
    if (job->def.band_width == 0 || job->a->style) return report_result(&error, false);
    report_warning("drawn as particles: frames of a narrow band hold none below it; for water run "
                   "with --set output.interior=true");
    job->surface = false;
    job->picture.style = BRIM_STYLE_PARTICLES;
    return EXIT_DONE;
}

static int prepare(Job *job, bool many) {
    const Arguments *a = job->a;
    BrimPictureDef *p = &job->picture;
    *p = brim_default_picture_def();
    int code = find_def(job);
    if (code == EXIT_DONE && a->look) code = take_look(a->look, &job->look, &job->def);
    if (code != EXIT_DONE) return code;
    p->samples = (int)a->samples, p->threads = (int)a->threads, p->shutter = a->shutter;
    p->grid = a->grid, p->level_set = a->level_set;
    if (job->def.warp > 0 && a->level_set) {
        report_error("--level-set does not work on a warped grid: leave it out");
        return EXIT_INPUT;
    }
    if (job->def.warp > 0 && a->grid && !job->frames.scene) {
        report_error("--grid draws a warped grid from the fields of a run: give the run's folder");
        return EXIT_INPUT;
    }
    if (!parse_size(a->size, p) || !parse_camera(a->camera, job->def.size, &p->camera) ||
        !parse_range(a->range, p) || !parse_style(a->style, job->frames.scene && !a->colour, p))
        return EXIT_INPUT;
    if (job->def.dim == 2) p->style = BRIM_STYLE_PARTICLES;
    if (a->colour) p->colour = a->colour;
    bool own = strcmp(p->colour, "speed") == 0 || strcmp(p->colour, "density") == 0 ||
               strcmp(p->colour, "id") == 0;
    if (!own && snprintf(job->values, sizeof job->values, "%s", p->colour) >= 64) {
        report_error("--colour '%s': too long for a property's name", p->colour);
        return EXIT_INPUT;
    }
    job->progress = count_progress_start(many ? job->frames.count : 1, !a->quiet);
    if (p->style != BRIM_STYLE_WATER) return EXIT_DONE;
    if (!brim_traces_rays()) {
        report_warning("built without Embree: water is drawn without refraction; "
                       "'scripts/setup.sh' installs it");
        return EXIT_DONE;
    }
    return prepare_surface(job);
}

/// A format is chosen by the ending of what is written: no other name is taken for one of them.
static bool check_output(const char *path) {
    if (!path || ends_with(path, ".png") || ends_with(path, ".exr") || ends_with(path, ".mp4"))
        return true;
    report_error("-o %s: brim writes pictures as .png or .exr (linear light) and films as .mp4",
                 path);
    return false;
}

/// Whether the options make sense, before any file is read.
static bool check_values(const Arguments *a) {
    if (!check_output(a->output)) return false;
    BrimPictureDef trial = brim_default_picture_def();
    BrimVec3 any = {1, 1, 1};
    return parse_size(a->size, &trial) && parse_camera(a->camera, any, &trial.camera) &&
           parse_range(a->range, &trial) && parse_style(a->style, true, &trial);
}

static int render(const char *from, const Arguments *a) {
    bool film = ends_with(a->output, ".mp4"), numbered = is_pattern(a->output);
    Job job = {.a = a};
    if (!film && !numbered && a->output && strchr(a->output, '%')) {
        report_error("-o %s: numbered pictures need one number, as in frames/%%04d.png", a->output);
        return EXIT_INPUT;
    }
    if (!check_values(a)) return EXIT_INPUT;
    int code = frames_find_set(&job.frames, from, &a->sets);
    if (code == EXIT_DONE) code = choose_frames(&job, from, film || numbered);
    if (code == EXIT_DONE) code = prepare(&job, film || numbered);
    if (code == EXIT_DONE) {
        char path[PATH_MAX];
        if (film) {
            code = draw_film(&job);
        } else if (numbered) {
            code = draw_numbered(&job);
        } else {
            code = picture_path(&job, path) ? draw(&job, 0, path) : EXIT_INPUT;
            if (code == EXIT_DONE) count_progress_end(&job.progress), say(stdout, "%s\n", path);
        }
    }
    brim_mesher_destroy(&job.mesher);
    look_free(&job.look);
    frames_free(&job.frames);
    return code;
}

int command_render(int argc, char **argv) {
    Arguments a = {.frame = -1, .last = 999999999, .samples = brim_default_picture_def().samples};
    const Option options[] = {
        {"output", 'o', OPTION_TEXT, &a.output, "FILE",
         "picture.png, .exr, film.mp4 or frames/%04d.png; default DIR/picture-NNNNNN.png", 0, 0},
        {"frame", 0, OPTION_INTEGER, &a.frame, "N", "frame of a picture; default the last", 0,
         999999999},
        {"first", 0, OPTION_INTEGER, &a.first, "N", "first frame of a film", 0, 999999999},
        {"last", 0, OPTION_INTEGER, &a.last, "N", "last frame of a film", 0, 999999999},
        {"style", 0, OPTION_TEXT, &a.style, "STYLE",
         "water (ray-traced) or particles; default water in 3D", 0, 0},
        {"size", 0, OPTION_TEXT, &a.size, "WxH", "size in pixels; default 1280x720", 0, 0},
        {"samples", 0, OPTION_INTEGER, &a.samples, "N",
         "rays per pixel, from half to three times as many where needed; default 8", 1, 4096},
        {"camera", 0, OPTION_TEXT, &a.camera, "VIEW",
         "auto, front, back, left, right, top, corner, or X,Y,Z:X,Y,Z[:DEGREES]", 0, 0},
        {"look", 0, OPTION_TEXT, &a.look, "SCENE.yaml",
         "takes look and materials from this file instead of the run's", 0, 0},
        {"set", 0, OPTION_LIST, &a.sets, "KEY=VALUE",
         "override a key of the run's scene, such as look.box=false; repeatable", 0, 0},
        {"motion-blur", 0, OPTION_NUMBER, &a.shutter, "SHARE",
         "fraction of a frame for which the shutter is open; default 0", 0, 1},
        {"colour", 0, OPTION_TEXT, &a.colour, "WHAT",
         "speed, density, id or a property of the particles", 0, 0},
        {"range", 0, OPTION_TEXT, &a.range, "LOW:HIGH", "ends of the colour scale", 0, 0},
        {"grid", 0, OPTION_FLAG, &a.grid, NULL,
         "draw the cells; in 3D those of a warped grid, as a slice", 0, 0},
        {"level-set", 0, OPTION_FLAG, &a.level_set, NULL, "2D: draw the line of the surface", 0, 0},
        {"no-foam", 0, OPTION_FLAG, &a.no_foam, NULL, "leave out the foam of DIR/foam", 0, 0},
        {"threads", 0, OPTION_INTEGER, &a.threads, "N", "threads; default one for each core", 0,
         1024},
        {"overwrite", 0, OPTION_FLAG, &a.overwrite, NULL, "redraw frames that already exist", 0, 0},
        {"quiet", 0, OPTION_FLAG, &a.quiet, NULL, "no progress", 0, 0},
        {0},
    };
    const Usage usage = {
        .command = "render",
        .arguments = "DIR|FILE.ply [options]",
        .help =
            "Draws a run: one frame as a picture, all as a film (-o film.mp4) or as numbered\n"
            "pictures (-o frames/%04d.png). Numbered pictures and films take up where they\n"
            "stopped: frames that are drawn already, in the same way, are kept. Pictures are\n"
            "PNG or, named .exr, OpenEXR: linear light as half floats, for compositing.\n\n"
            "Style water traces rays through the surface of the liquid. Style particles draws\n"
            "them coloured, with a legend; --colour chooses it. 2D scenes are drawn as particles.\n"
            "Spray, foam and bubbles of DIR/foam (brim foam) are drawn too, and atomised spray\n"
            "(spray.speed) as drops.\n"
            "A FILE.ply outside a run folder is drawn in a box around its particles.\n\n"
            "Prints the path of what it wrote.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a run folder or a frame",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code == ARGS_OK) code = render(argv[1], &a);
    free((void *)a.sets.items);
    return code;
}
