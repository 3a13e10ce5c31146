#include "mesh/bent.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/team.h"
#include "warp/deform.h"
#include <math.h>
#include <stdlib.h>

/// Particles that a thread takes at once.
enum { PIECE = 4096 };
/// How near a particle's place is found, cells: single precision holds no more.
static const double NEAR = 1e-5;

void bend_mesh(const WarpMap *map, Space space, BrimMesh *mesh) {
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        double xi[3], x[3], J[3][3], inverse[3][3], n[3] = {0}, length = 0;
        for (int a = 0; a < 3; a++) xi[a] = (double)space_to_grid(space, mesh->position[i][a]);
        map_point(map, xi, x, J);
        matrix_invert(J, inverse);
        for (int a = 0; a < 3; a++) {
            for (int k = 0; k < 3; k++) n[a] += inverse[a][k] * (double)mesh->normal[i][k];
            length += n[a] * n[a];
        }
        for (int a = 0; a < 3; a++) {
            mesh->position[i][a] = (float)(x[a] * (double)space.dx);
            if (length > 0) mesh->normal[i][a] = (float)(n[a] / sqrt(length));
        }
    }
}

typedef struct Finding {
    const Bent *bent;
    const BrimParticles *particles;
    Space space;
} Finding;

static void find_piece(void *context, int index, int thread) {
    const Finding *f = context;
    const WarpMap *m = &f->bent->map;
    const float *const from[3] = {f->particles->x, f->particles->y, f->particles->z};
    const size_t first = (size_t)index * PIECE, all = f->particles->count;
    for (size_t i = first; i < all && i < first + PIECE; i++) {
        double x[3], xi[3];
        for (int a = 0; a < 3; a++)
            x[a] = xi[a] =
                fmin(fmax(space_to_grid_double(f->space, (double)from[a][i]), 0), m->cells[a]);
        map_to_reference(m, x, xi, NEAR, 50);
        for (int a = 0; a < 3; a++) f->bent->x[a][i] = space_from_grid(f->space, (float)xi[a]);
    }
}

/// => map
static BrimResult read_map(const BrimSimDef *def, const BrimParticles *particles, Space space,
                           Bent *bent, BrimError *error) {
    WarpMap *m = &bent->map;
    double least = 0, most = 0;
    BrimResult result = warp_lattice_of(m, 3, def->cells, 0, error);
    if (result != BRIM_OK) return result;
    const size_t n = map_node_count(m);
    if (particles->bend_count == n) {
        m->d[0] = memory_new(3 * n * sizeof(float));
        if (!m->d[0]) return fail(error, BRIM_ERROR_MEMORY, "out of memory for a warped grid");
        for (size_t a = 1; a < 3; a++) m->d[a] = m->d[0] + a * n;
        for (size_t i = 0; i < n; i++)
            for (int a = 0; a < 3; a++) m->d[a][i] = space_to_grid(space, particles->bend[i][a]);
        map_determinants(m, &least, &most);
        for (size_t i = 0; i < 3 * n; i++)
            if (!isfinite(m->d[0][i])) least = 0;
    }
    if (least > 0) return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT,
                "the frame's warped grid (element bend, %zu nodes) is not one of its scene, whose "
                "lattice has %zu nodes",
                particles->bend_count, n);
}

BrimResult bent_find(const BrimSimDef *def, const BrimParticles *particles, int threads, Bent *bent,
                     BrimError *error) {
    *bent = (Bent){.x = {NULL}};
    const float dx = def->size.x / (float)def->cells[0];
    const Space space = {dx, 1 / dx};
    BrimResult result = read_map(def, particles, space, bent, error);
    Team *team = result == BRIM_OK ? team_new(team_size(threads)) : NULL;
    bent->x[0] = team ? memory_new((3 * particles->count + 1) * sizeof(float)) : NULL;
    if (result == BRIM_OK && !bent->x[0])
        result = fail(error, BRIM_ERROR_MEMORY, "out of memory for a frame of a warped grid");
    for (size_t a = 1; a < 3 && bent->x[0]; a++) bent->x[a] = bent->x[0] + a * particles->count;
    Finding f = {bent, particles, space};
    const int pieces = (int)((particles->count + PIECE - 1) / PIECE);
    if (result == BRIM_OK) team_for(team, pieces, 8, find_piece, &f);
    team_free(&team);
    if (result != BRIM_OK) bent_free(bent);
    return result;
}

void bent_free(Bent *bent) {
    free(bent->map.d[0]), free(bent->x[0]);
    *bent = (Bent){.x = {NULL}};
}
