// brim mesh: the frames of a run as closed triangle surfaces.
#include "frame_files.h"
#include <string.h>

typedef struct Arguments {
    const char *folder, *format;
    int64_t frame, first, last, resolution, smooth, threads;
    double radius;
    bool anisotropic, positions, resume, overwrite, quiet, json, steadiness;
} Arguments;

/// What the summary tells.
typedef struct Totals {
    int made, kept, empty;
    int64_t particles, triangles;
    double seconds;                             ///< reading, meshing, writing
    int pairs;                                  ///< frames that were compared with the one before
    double median, most_of_it, largest, beyond; ///< sums over them, and the largest, m
} Totals;

typedef struct Job {
    const Arguments *arguments;
    Frames frames;
    FrameFiles files;
    BrimMeshFormat format;
    BrimMesher *mesher;
    BrimMesh before; ///< of the last frame, for --steadiness
    int before_frame;
    Totals totals;
} Job;

// ------------------------------------------------------------------------------ what to make

static int prepare(Job *job, const char *from) {
    const Arguments *a = job->arguments;
    int code = frames_need_folder(from, "mesh");
    if (code == EXIT_DONE) code = frames_find(&job->frames, from);
    if (code == EXIT_DONE) code = frames_choose(&job->frames, a->frame, a->first, a->last);
    job->files.prefix = "", job->files.what = "surfaces";
    job->files.suffix = job->format == BRIM_MESH_OBJ ? ".obj" : ".ply";
    if (code == EXIT_DONE)
        code = frame_files_choose(&job->files, &job->frames, a->folder, "surface", a->resume,
                                  a->overwrite);
    if (code != EXIT_DONE) return code;
    BrimMeshDef def = brim_default_mesh_def();
    def.radius = a->radius, def.resolution = (int)a->resolution, def.smooth = (int)a->smooth;
    def.anisotropic = a->anisotropic, def.positions = a->positions, def.threads = (int)a->threads;
    BrimError error;
    if (brim_mesher_create(brim_scene_def(job->frames.scene), &def, &job->mesher, &error) !=
        BRIM_OK)
        return report_result(&error, a->json);
    return frames_folder(job->files.folder);
}

// -------------------------------------------------------------------------------- one frame

static void tell_frame(Job *job, int frame, const char *path, const BrimMesh *mesh,
                       size_t particles, double seconds) {
    if (particles == 0) {
        job->totals.empty++;
        if (!job->arguments->quiet && !job->arguments->json)
            report_warning("frame %d has no particles: its surface is empty", frame);
    }
    if (!job->arguments->json) return;
    printf("{\"event\":\"frame\",\"frame\":%d,\"path\":", frame);
    json_text(stdout, path);
    printf(",\"particles\":%zu,\"vertices\":%zu,\"triangles\":%zu,\"volume\":", particles,
           mesh->vertex_count, mesh->triangle_count);
    json_number(stdout, brim_mesh_volume(mesh));
    fputs(",\"seconds\":", stdout);
    json_number(stdout, seconds);
    puts("}");
    fflush(stdout);
}

/// Compares a surface with the one before it and keeps it for the next.
static BrimResult compare_frames(Job *job, int number, BrimMesh *mesh, BrimError *error) {
    const BrimSimDef *def = brim_scene_def(job->frames.scene);
    Totals *t = &job->totals;
    BrimResult result = BRIM_OK;
    if (job->before.vertex_count && mesh->vertex_count) {
        BrimMeshJump jump;
        double dt = (number - job->before_frame) / def->frame_rate;
        double cell = (double)def->size.x / def->cells[0];
        result = brim_mesh_jump(&job->before, mesh, dt, def->size, 4 * cell, &jump, error);
        t->pairs++, t->median += jump.median / cell, t->most_of_it += jump.most_of_it / cell;
        t->beyond += jump.beyond;
        if (jump.largest / cell > t->largest) t->largest = jump.largest / cell;
    }
    brim_mesh_free(&job->before);
    job->before = *mesh, job->before_frame = number;
    *mesh = (BrimMesh){0};
    return result;
}

static int mesh_frame(Job *job, int index, const char *path) {
    char from[PATH_MAX];
    if (!frames_path(&job->frames, index, from)) return EXIT_INPUT;
    double began = wall_clock(), frame_rate = brim_scene_def(job->frames.scene)->frame_rate;
    int number = job->frames.number[index];
    BrimError error;
    BrimFrame frame = {0};
    BrimMesh mesh = {0};
    BrimResult result = brim_frame_read_all(from, &frame, &error);
    BrimParticles particles = brim_frame_particles(&frame);
    if (result == BRIM_OK)
        result = brim_mesher_mesh(job->mesher, &particles, number / frame_rate, &mesh, &error);
    if (result == BRIM_OK)
        result = brim_write_mesh(&mesh, number / frame_rate, number, job->format, path, &error);
    int code = EXIT_DONE;
    if (result == BRIM_OK) {
        double seconds = wall_clock() - began;
        job->totals.made++;
        job->totals.particles += (int64_t)frame.count;
        job->totals.triangles += (int64_t)mesh.triangle_count;
        job->totals.seconds += seconds;
        tell_frame(job, number, path, &mesh, frame.count, seconds);
        if (job->arguments->steadiness && compare_frames(job, number, &mesh, &error) != BRIM_OK)
            code = report_result(&error, job->arguments->json);
    } else {
        code = report_result(&error, job->arguments->json);
    }
    brim_mesh_free(&mesh);
    brim_frame_free(&frame);
    return code;
}

// ------------------------------------------------------------------------------- all frames

static void tell_totals(const Job *job) {
    const Totals *t = &job->totals;
    if (job->arguments->json) {
        fputs("{\"event\":\"done\",\"folder\":", stdout);
        json_text(stdout, job->files.folder);
        printf(",\"made\":%d,\"kept\":%d,\"empty\":%d,\"triangles\":%lld,\"seconds\":", t->made,
               t->kept, t->empty, (long long)t->triangles);
        json_number(stdout, t->seconds);
        if (t->pairs)
            printf(
                ",\"steadiness\":{\"median\":%.5f,\"most\":%.5f,\"largest\":%.5f,\"beyond\":%.6f}",
                t->median / t->pairs, t->most_of_it / t->pairs, t->largest, t->beyond / t->pairs);
        puts("}");
    } else if (!job->arguments->quiet) {
        char text[SHORT_TEXT], time[SHORT_TEXT];
        printf("Done: %d surface%s, %s triangles, in %s", t->made, t->made == 1 ? "" : "s",
               show_count(text, t->triangles), show_duration(time, t->seconds));
        if (t->particles)
            printf(" (%.2f s for a million particles)", t->seconds / (double)t->particles * 1e6);
        printf(".\n");
        if (t->kept) printf("  kept        %d that were there\n", t->kept);
        if (t->pairs)
            printf("  steadiness  jump between frames beyond the flow: median %.3f cells, 99th "
                   "percentile %.2f; %.2f %% of the points appear or vanish\n",
                   t->median / t->pairs, t->most_of_it / t->pairs, 100 * t->beyond / t->pairs);
        say(stdout, "  files       %s/\n", job->files.folder);
    }
}

static int leave(const Job *job, const char *from) {
    int code = signal_code();
    if (!job->arguments->quiet)
        say(stderr, "Interrupted; %d surfaces are complete. To continue: brim mesh %s --resume\n",
            job->totals.made + job->totals.kept, from);
    return code;
}

static int mesh_frames(Job *job, const char *from) {
    const Arguments *a = job->arguments;
    CountProgress progress = count_progress_start(job->frames.count, !a->quiet && !a->json);
    int code = EXIT_DONE;
    for (int i = 0; i < job->frames.count && code == EXIT_DONE; i++) {
        char path[PATH_MAX];
        if (signal_code()) {
            count_progress_end(&progress);
            return leave(job, from);
        }
        if (!frame_file(&job->files, job->frames.number[i], path)) return EXIT_INPUT;
        if (a->resume && file_exists(path))
            job->totals.kept++;
        else
            code = mesh_frame(job, i, path);
        count_progress_step(&progress, i + 1, job->totals.kept);
    }
    count_progress_end(&progress);
    if (code == EXIT_DONE) tell_totals(job);
    return code;
}

static int mesh_run(const char *from, const Arguments *a) {
    Job job = {.arguments = a};
    if (a->format && strcmp(a->format, "obj") == 0) {
        job.format = BRIM_MESH_OBJ;
    } else if (a->format && strcmp(a->format, "ply") != 0) {
        report_error("--format is ply or obj, not '%s'", a->format);
        return EXIT_INPUT;
    }
    catch_signals(10);
    int code = prepare(&job, from);
    if (code == EXIT_DONE) code = mesh_frames(&job, from);
    brim_mesh_free(&job.before);
    brim_mesher_destroy(&job.mesher);
    frames_free(&job.frames);
    return code;
}

int command_mesh(int argc, char **argv) {
    BrimMeshDef def = brim_default_mesh_def();
    Arguments a = {.frame = -1, .last = -1, .resolution = def.resolution, .smooth = def.smooth};
    const Option options[] = {
        {"output", 'o', OPTION_TEXT, &a.folder, "DIR", "folder for surfaces; default DIR/surface",
         0, 0},
        {"format", 0, OPTION_TEXT, &a.format, "ply|obj", "of the files; default ply", 0, 0},
        {"frame", 0, OPTION_INTEGER, &a.frame, "N", "only this frame", 0, 999999},
        {"first", 0, OPTION_INTEGER, &a.first, "N", "from this frame on", 0, 999999},
        {"last", 0, OPTION_INTEGER, &a.last, "N", "up to this frame", 0, 999999},
        {"resolution", 0, OPTION_INTEGER, &a.resolution, "N",
         "1, 2 or 3 times that of the simulation; default 2", 1, 3},
        {"radius", 0, OPTION_NUMBER, &a.radius, "CELLS",
         "reach of a particle, 0.5 to 4; default three particle spacings", 0.5, 4},
        {"smooth", 0, OPTION_INTEGER, &a.smooth, "N", "passes of smoothing, 0 to 100; default 3", 0,
         100},
        {"anisotropic", 0, OPTION_FLAG, &a.anisotropic, NULL,
         "kernels stretched along the surface (Yu and Turk)", 0, 0},
        {"positions", 0, OPTION_FLAG, &a.positions, NULL,
         "use positions alone, even where particles carry the surface", 0, 0},
        {"threads", 0, OPTION_INTEGER, &a.threads, "N", "use N threads; 0 = one for each core", 0,
         1024},
        {"steadiness", 0, OPTION_FLAG, &a.steadiness, NULL,
         "report how far surfaces jump between frames beyond the flow", 0, 0},
        {"resume", 0, OPTION_FLAG, &a.resume, NULL, "keep existing surfaces, make the others", 0,
         0},
        {"overwrite", 0, OPTION_FLAG, &a.overwrite, NULL, "make all surfaces again", 0, 0},
        {"quiet", 0, OPTION_FLAG, &a.quiet, NULL, "print errors only", 0, 0},
        {"json", 0, OPTION_FLAG, &a.json, NULL,
         "print one JSON object per line: frames, summary, errors", 0, 0},
        {0},
    };
    const Usage usage = {
        .command = "mesh",
        .arguments = "DIR [options]",
        .help =
            "Turns the frames of a run into closed triangle surfaces, DIR/surface/NNNNNN.ply,\n"
            "with normals and velocities at vertices (obj: normals). 3D only. Where water\n"
            "touches the domain's sides or solids the surface lies on them. Frames of runs with\n"
            "surface.tracking give the surface that their particles carry. The files are the\n"
            "same bytes for any --threads. Runs with a narrow band write surfaces themselves:\n"
            "output.surface.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a run folder",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code != ARGS_OK) return code;
    return mesh_run(argv[1], &a);
}
