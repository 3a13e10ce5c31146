// brim tets: fills a mesh or a scene's body with tetrahedra.
#include "cli.h"
#include <string.h>
#include <strings.h>

typedef struct Arguments {
    const char *output;
    int64_t count, body;
    double edge;
    bool quiet;
} Arguments;

static bool ends_with(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

static int fill(const BrimShapeDef *shape, const Arguments *a) {
    BrimError error;
    BrimTets tets;
    if (brim_tets_fill(shape, (int)a->count, a->edge, &tets, &error) != BRIM_OK)
        return report_result(&error, false);
    BrimResult r = brim_write_tets(&tets, a->output, &error);
    if (r == BRIM_OK && !a->quiet)
        printf("%s: %zu tetrahedra, %zu vertices, %.4g m3, angles %.1f to %.1f degrees\n",
               a->output, tets.tet_count, tets.vertex_count, tets.volume, (double)tets.least_angle,
               (double)tets.greatest_angle);
    brim_tets_free(&tets);
    return r == BRIM_OK ? EXIT_DONE : report_result(&error, false);
}

/// Of a body of a scene.
static int fill_body(const char *path, const Arguments *a) {
    BrimError error;
    BrimScene *scene = NULL;
    if (brim_scene_load(path, NULL, 0, &scene, &error) != BRIM_OK)
        return report_result(&error, false);
    const BrimSimDef *def = brim_scene_def(scene);
    int code = EXIT_INPUT;
    if (a->body >= def->body_count)
        report_error("%s: there is no body %lld: the scene has %d bodies, counted from 0", path,
                     (long long)a->body, def->body_count);
    else if (def->dim == 2)
        report_error("%s: tetrahedra need a scene in 3D", path);
    else
        code = fill(&def->bodies[a->body].shape, a);
    brim_scene_destroy(&scene);
    return code;
}

int command_tets(int argc, char **argv) {
    Arguments a = {0};
    const Option options[] = {
        {"output", 'o', OPTION_TEXT, &a.output, "FILE", "file that ends in .msh, .mesh or .vtk", 0,
         0},
        {"count", 0, OPTION_INTEGER, &a.count, "N", "about this many, to 5 %", 1, 1e8},
        {"edge", 0, OPTION_NUMBER, &a.edge, "M", "with edges of about M metres", 1e-9, 1e9},
        {"body", 0, OPTION_INTEGER, &a.body, "N", "number of the scene's body; default 0", 0, 1e6},
        {"quiet", 0, OPTION_FLAG, &a.quiet, NULL, "print errors only", 0, 0},
        {0},
    };
    const Usage usage = {
        .command = "tets",
        .arguments = "MESH|SCENE.yaml -o FILE --count N [options]",
        .help = "Fills a closed surface (.obj, .ply, .stl) or a body of a scene with tetrahedra\n"
                "whose angles are between 10 and 165 degrees, by isosurface stuffing. Gmsh,\n"
                "ParaView and most solvers read the file; so does Brim, as a mesh.",
        .options = options,
        .least = 1,
        .most = 1,
        .positional = "a mesh or a scene file",
    };
    int count = 0;
    int code = args_parse(&usage, argc, argv, &count);
    if (code != ARGS_OK) return code;
    if (!a.output || (a.count > 0) == (a.edge > 0)) {
        report_error("brim tets needs a file for the result, -o FILE, and one of --count N and "
                     "--edge M");
        return EXIT_INPUT;
    }
    if (ends_with(argv[1], ".yaml") || ends_with(argv[1], ".yml") || ends_with(argv[1], ".json"))
        return fill_body(argv[1], &a);
    BrimShapeDef shape = brim_default_shape_def();
    shape.kind = BRIM_SHAPE_MESH, shape.file = argv[1];
    return fill(&shape, &a);
}
