// brim convert: the frames of a run as files of other programs.
#include "frame_files.h"
#include <stdlib.h>
#include <string.h>

typedef struct Arguments {
    const char *folder, *to;
    int64_t frame, first, last, resolution, smooth, threads;
    double radius;
    bool anisotropic, resume, overwrite, quiet, json;
} Arguments;

typedef struct Job Job;

/// A format that frames are converted to.
typedef struct Target {
    const char *name;            ///< as in --to
    const char *folder;          ///< in the run's folder
    const char *prefix, *suffix; ///< of a frame's file
    int (*prepare)(Job *job);
    BrimResult (*write)(Job *job, int index, const char *path, BrimError *error);
} Target;

struct Job {
    const Arguments *arguments;
    const Target *target;
    Frames frames;
    FrameFiles files;
    BrimMesher *mesher; ///< made when a frame has no surface yet
    BrimSolids *solids;
    int made, kept;
    double seconds; ///< reading, converting, writing
};

// ------------------------------------------------------------------------------------- OpenVDB

static int prepare_vdb(Job *job) {
    BrimError error = {.result = BRIM_ERROR_MISSING};
    snprintf(error.message, sizeof error.message,
             "this build of Brim cannot write OpenVDB files: install libopenvdb-dev and "
             "libboost-dev (scripts/setup.sh --vdb), then make");
    if (!brim_writes_vdb()) return report_result(&error, job->arguments->json);
    if (brim_scene_def(job->frames.scene)->dim == 3) return EXIT_DONE;
    report_error("OpenVDB files need a 3D run; %s is 2D", job->frames.folder);
    return EXIT_INPUT;
}

/// The surface that the run or brim mesh wrote, else one made from the particles.
static BrimResult find_surface(Job *job, int number, const BrimParticles *particles, double time,
                               BrimMesh *mesh, BrimError *error) {
    const Arguments *a = job->arguments;
    const BrimSimDef *def = brim_scene_def(job->frames.scene);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/surface/%06d.ply", job->frames.folder, number);
    if (file_exists(path)) return brim_mesh_read(path, mesh, error);
    BrimMeshDef mesh_def = brim_default_mesh_def();
    mesh_def.radius = a->radius, mesh_def.resolution = (int)a->resolution;
    mesh_def.smooth = (int)a->smooth, mesh_def.anisotropic = a->anisotropic;
    mesh_def.threads = (int)a->threads;
    BrimResult result = BRIM_OK;
    if (!job->mesher) result = brim_mesher_create(def, &mesh_def, &job->mesher, error);
    if (result == BRIM_OK) result = brim_mesher_mesh(job->mesher, particles, time, mesh, error);
    return result;
}

static BrimResult write_vdb(Job *job, int index, const char *path, BrimError *error) {
    const BrimSimDef *def = brim_scene_def(job->frames.scene);
    int number = job->frames.number[index];
    char from[PATH_MAX], fields[PATH_MAX];
    if (!frames_path(&job->frames, index, from)) {
        *error = (BrimError){BRIM_ERROR_INPUT, "choose a shorter path"};
        return BRIM_ERROR_INPUT;
    }
    snprintf(fields, sizeof fields, "%.4000s/fields/%06d.vti", job->frames.folder, number);
    BrimFrame frame = {0};
    BrimMesh mesh = {0};
    BrimResult result = brim_frame_read(from, &frame, error);
    BrimParticles particles = brim_frame_particles(&frame);
    double time = number / def->frame_rate;
    if (result == BRIM_OK) result = find_surface(job, number, &particles, time, &mesh, error);
    BrimVdbFrame vdb = {.surface = &mesh,
                        .voxel = (double)def->size.x / def->cells[0] /
                                 (double)job->arguments->resolution,
                        .fields = file_exists(fields) ? fields : NULL,
                        .particles = &particles,
                        .time = time,
                        .frame = number};
    if (result == BRIM_OK) result = brim_write_vdb_frame(def, &vdb, path, error);
    brim_mesh_free(&mesh);
    brim_frame_free(&frame);
    return result;
}

// ------------------------------------------------------------------------------------ ParaView

static int prepare_vtp(Job *job) {
    (void)job;
    return EXIT_DONE;
}

static BrimResult write_vtp(Job *job, int index, const char *path, BrimError *error) {
    (void)path;
    return brim_write_paraview(job->frames.folder, job->files.folder, job->frames.number[index],
                               brim_scene_def(job->frames.scene)->frame_rate, error);
}

// -------------------------------------------------------------------------------------- solids

static int prepare_solids(Job *job) {
    BrimError error = {0};
    const BrimSimDef *def = brim_scene_def(job->frames.scene);
    if (brim_solids_create(def, &job->solids, &error) != BRIM_OK)
        return report_result(&error, job->arguments->json);
    return EXIT_DONE;
}

/// The surface of a solid around its pivot, once; of one that deforms in each frame.
static BrimResult write_solid(Job *job, int solid, bool deforms, int number, double time,
                              BrimError *error) {
    char path[PATH_MAX], frame[16] = "";
    if (deforms) snprintf(frame, sizeof frame, "_%06d", number);
    if (!make_path(path, "%s/solid_%02d%s.ply", job->files.folder, solid, frame)) {
        *error = (BrimError){BRIM_ERROR_INPUT, "choose a shorter path"};
        return BRIM_ERROR_INPUT;
    }
    if (!deforms && job->made + job->kept > 0 && file_exists(path)) return BRIM_OK;
    BrimMesh mesh = {0};
    BrimResult r = brim_solids_mesh(job->solids, solid, &mesh, error);
    if (r == BRIM_OK) r = brim_write_mesh(&mesh, time, number, BRIM_MESH_PLY, path, error);
    brim_mesh_free(&mesh);
    return r;
}

/// How each solid stands in a frame, and the surfaces.
static BrimResult write_solids(Job *job, int index, const char *path, BrimError *error) {
    const BrimSimDef *def = brim_scene_def(job->frames.scene);
    int number = job->frames.number[index];
    double time = number / def->frame_rate;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    BrimResult r = out ? BRIM_OK : BRIM_ERROR_MEMORY;
    if (out) fprintf(out, "solid,present,deforms,x,y,z,xx,xy,xz,yx,yy,yz,zx,zy,zz\n");
    for (int i = 0; i < def->solid_count && r == BRIM_OK; i++) {
        BrimSolidState s;
        r = brim_solids_state(job->solids, i, time, &s, error);
        if (r != BRIM_OK) break;
        fprintf(out, "%d,%d,%d,%.9g,%.9g,%.9g", i, s.present, s.deforms, (double)s.position.x,
                (double)s.position.y, (double)s.position.z);
        for (int k = 0; k < 9; k++) fprintf(out, ",%.9g", (double)s.rotation[k]);
        fputc('\n', out);
        r = write_solid(job, i, s.deforms, number, time, error);
    }
    if (out && fclose(out) != 0 && r == BRIM_OK) r = BRIM_ERROR_MEMORY;
    if (r == BRIM_OK) r = brim_write_text(path, text, error);
    free(text);
    return r;
}

static const Target targets[] = {{"vdb", "vdb", "", ".vdb", prepare_vdb, write_vdb},
                                 {"vtp", "paraview", "particles_", ".vtp", prepare_vtp, write_vtp},
                                 {"solids", "solids", "", ".csv", prepare_solids, write_solids}};
enum { TARGETS = sizeof targets / sizeof *targets };

// --------------------------------------------------------------------------------- what to make

static int prepare(Job *job, const char *from) {
    const Arguments *a = job->arguments;
    int code = frames_need_folder(from, "convert");
    if (code == EXIT_DONE) code = frames_find(&job->frames, from);
    if (code == EXIT_DONE) code = frames_choose(&job->frames, a->frame, a->first, a->last);
    if (code == EXIT_DONE) code = job->target->prepare(job);
    job->files.prefix = job->target->prefix, job->files.suffix = job->target->suffix;
    job->files.what = "files";
    if (code == EXIT_DONE)
        code = frame_files_choose(&job->files, &job->frames, a->folder, job->target->folder,
                                  a->resume, a->overwrite);
    return code == EXIT_DONE ? frames_folder(job->files.folder) : code;
}

// ----------------------------------------------------------------------------------- all frames

static int convert_frame(Job *job, int index, const char *path) {
    double began = wall_clock();
    BrimError error = {0};
    if (job->target->write(job, index, path, &error) != BRIM_OK)
        return report_result(&error, job->arguments->json);
    double seconds = wall_clock() - began;
    job->made++, job->seconds += seconds;
    if (job->arguments->json) {
        printf("{\"event\":\"frame\",\"frame\":%d,\"path\":", job->frames.number[index]);
        json_text(stdout, path);
        fputs(",\"seconds\":", stdout);
        json_number(stdout, seconds);
        puts("}");
        fflush(stdout);
    }
    return EXIT_DONE;
}

static void tell_totals(const Job *job) {
    if (job->arguments->json) {
        fputs("{\"event\":\"done\",\"folder\":", stdout);
        json_text(stdout, job->files.folder);
        printf(",\"made\":%d,\"kept\":%d,\"seconds\":", job->made, job->kept);
        json_number(stdout, job->seconds);
        puts("}");
    } else if (!job->arguments->quiet) {
        char time[SHORT_TEXT];
        printf("Done: %d frame%s in %s.\n", job->made, job->made == 1 ? "" : "s",
               show_duration(time, job->seconds));
        if (job->kept) printf("  kept        %d that were there\n", job->kept);
        say(stdout, "  files       %s/%s\n", job->files.folder,
            job->target->write == write_vtp ? "run.pvd, for ParaView" : "");
    }
}

static int convert_frames(Job *job, const char *from) {
    const Arguments *a = job->arguments;
    CountProgress progress = count_progress_start(job->frames.count, !a->quiet && !a->json);
    int code = EXIT_DONE;
    for (int i = 0; i < job->frames.count && code == EXIT_DONE; i++) {
        char path[PATH_MAX];
        if (signal_code()) {
            count_progress_end(&progress);
            if (!a->quiet)
                say(stderr,
                    "Interrupted; %d files are complete. To continue: brim convert %s --to %s "
                    "--resume\n",
                    job->made + job->kept, from, a->to);
            return signal_code();
        }
        if (!frame_file(&job->files, job->frames.number[i], path)) return EXIT_INPUT;
        if (a->resume && file_exists(path))
            job->kept++;
        else
            code = convert_frame(job, i, path);
        count_progress_step(&progress, i + 1, job->kept);
    }
    count_progress_end(&progress);
    if (code == EXIT_DONE) tell_totals(job);
    return code;
}

static int convert_run(const char *from, const Arguments *a) {
    Job job = {.arguments = a};
    for (int i = 0; i < TARGETS && a->to; i++)
        if (strcmp(a->to, targets[i].name) == 0) job.target = &targets[i];
    if (!job.target) {
        if (a->to)
            report_error("--to is vdb, vtp or solids, not '%s'", a->to);
        else
            report_error("say what to convert to: --to vdb, --to vtp or --to solids");
        return EXIT_INPUT;
    }
    catch_signals(10);
    int code = prepare(&job, from);
    if (code == EXIT_DONE) code = convert_frames(&job, from);
    brim_mesher_destroy(&job.mesher);
    brim_solids_destroy(&job.solids);
    frames_free(&job.frames);
    return code;
}

int command_convert(int argc, char **argv) {
    BrimMeshDef def = brim_default_mesh_def();
    Arguments a = {.frame = -1, .last = -1, .resolution = def.resolution, .smooth = def.smooth};
    const Option options[] = {
        {"to", 0, OPTION_TEXT, &a.to, "vdb|vtp|solids",
         "OpenVDB; VTK files for ParaView; surfaces and positions of the solids", 0, 0},
        {"output", 'o', OPTION_TEXT, &a.folder, "DIR",
         "folder for the files; default DIR/vdb, DIR/paraview or DIR/solids", 0, 0},
        {"frame", 0, OPTION_INTEGER, &a.frame, "N", "only this frame", 0, 999999},
        {"first", 0, OPTION_INTEGER, &a.first, "N", "from this frame on", 0, 999999},
        {"last", 0, OPTION_INTEGER, &a.last, "N", "up to this frame", 0, 999999},
        {"resolution", 0, OPTION_INTEGER, &a.resolution, "N",
         "vdb: of the level set, 1, 2 or 3 times that of the simulation; default 2", 1, 3},
        {"radius", 0, OPTION_NUMBER, &a.radius, "CELLS", "vdb: as in brim mesh", 0.5, 4},
        {"smooth", 0, OPTION_INTEGER, &a.smooth, "N", "vdb: as in brim mesh; default 3", 0, 100},
        {"anisotropic", 0, OPTION_FLAG, &a.anisotropic, NULL, "vdb: as in brim mesh", 0, 0},
        {"threads", 0, OPTION_INTEGER, &a.threads, "N", "use N threads; 0 = one for each core", 0,
         1024},
        {"resume", 0, OPTION_FLAG, &a.resume, NULL, "keep existing files, make the others", 0, 0},
        {"overwrite", 0, OPTION_FLAG, &a.overwrite, NULL, "make all files again", 0, 0},
        {"quiet", 0, OPTION_FLAG, &a.quiet, NULL, "print errors only", 0, 0},
        {"json", 0, OPTION_FLAG, &a.json, NULL,
         "print one JSON object per line: frames, summary, errors", 0, 0},
        {0},
    };
    const Usage usage = {
        .command = "convert",
        .arguments = "DIR --to vdb|vtp|solids [options]",
        .help =
            "Converts the frames of a run to files for other programs.\n\n"
            "--to vdb: DIR/vdb/NNNNNN.vdb, OpenVDB, 3D only. Grid surface is a narrow-band\n"
            "level set (m), grid velocity (m/s) lies at cell centres. The surface is that of\n"
            "DIR/surface/NNNNNN.ply where there is one, else it is made from the particles;\n"
            "the velocity is that of DIR/fields/NNNNNN.vti, else the particles'.\n\n"
            "--to vtp: DIR/paraview/run.pvd, which ParaView plays, and the .vtp files that it\n"
            "names: particles with velocity, id and attributes; surfaces and foam where the\n"
            "run has them; fields as they are.\n\n"
            "--to solids: DIR/solids/solid_NN.ply, the surface of each solid around its pivot,\n"
            "and NNNNNN.csv with the place of each in a frame: point = R local + position.\n"
            "Of a mesh that deforms there is a surface for each frame, solid_NN_NNNNNN.ply.\n\n"
            "The files are the same bytes for any --threads. Runs write them themselves with\n"
            "output.vdb and output.paraview.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a run folder",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code != ARGS_OK) return code;
    return convert_run(argv[1], &a);
}
