// brim_mesher_*: checks, then the stages of meshing in order.
#include "mesh/mesher.h"
#include "base/error.h"
#include "base/memory.h"
#include "mesh/bent.h"
#include "mesh/carried.h"
#include "mesh/drops.h"
#include "mesh/stretch.h"
#include "surface/planes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

BrimMeshDef brim_default_mesh_def(void) {
    return (BrimMeshDef){.resolution = 2, .smooth = 3};
}

static BrimResult no_memory(BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY,
                "out of memory for the surface; a lower resolution needs less");
}

// --------------------------------------------------------------------------------------- input

BrimResult mesh_check(const BrimSimDef *def, const BrimMeshDef *mesh, BrimError *error) {
    if (def->dim != 3)
        return fail(error, BRIM_ERROR_INPUT,
                    "a surface mesh needs a 3D scene; this one is %dD, draw it with brim render",
                    def->dim);
    for (int a = 0; a < 3; a++)
        if (def->cells[a] < 1)
            return fail(error, BRIM_ERROR_INPUT, "a surface mesh needs a domain with cells");
    if (!(def->size.x > 0) || !(def->size.y > 0) || !(def->size.z > 0) ||
        !(def->size.x + def->size.y + def->size.z < 1e30f) || def->particles_per_cell < 1)
        return fail(error, BRIM_ERROR_INPUT,
                    "a surface mesh needs a domain of finite size and particles in its cells");
    if (mesh->resolution < 1 || mesh->resolution > RESOLUTION_MAX)
        return fail(error, BRIM_ERROR_INPUT, "a surface's resolution must be 1, 2 or 3, not %d",
                    mesh->resolution);
    if (mesh->radius != 0 && !(mesh->radius >= 0.5 && mesh->radius <= 4))
        return fail(error, BRIM_ERROR_INPUT,
                    "a surface's radius must be from 0.5 to 4 cells, or 0 for three spacings of "
                    "particles, not %g",
                    mesh->radius);
    if (mesh->smooth < 0 || mesh->smooth > 100)
        return fail(error, BRIM_ERROR_INPUT, "a surface's smooth must be from 0 to 100, not %d",
                    mesh->smooth);
    return BRIM_OK;
}

static MeshScale make_scale(const BrimSimDef *def, const BrimMeshDef *mesh) {
    MeshScale s = {.resolution = mesh->resolution, .edge = TILE * mesh->resolution};
    s.dx = def->size.x / (float)def->cells[0];
    s.inv_dx = (float)def->cells[0] / def->size.x;
    s.size[0] = def->size.x, s.size[1] = def->size.y, s.size[2] = def->size.z;
    for (int a = 0; a < 3; a++) {
        s.cells[a] = def->cells[a];
        s.nodes[a] = def->cells[a] * mesh->resolution + 3;
    }
    double per_cell = def->particles_per_cell, spacing = cbrt(1 / per_cell);
    double radius = mesh->radius > 0 ? mesh->radius : fmin(fmax(3 * spacing, 0.5), 4);
    s.radius = (float)radius;
    s.spacing = (float)spacing;
    s.shift = sqrtf(3.0f) / (float)mesh->resolution;          // the diagonal of a cube of nodes
    double sight = mesh->anisotropic ? 1.3 * radius : radius; // the support of stretched kernels
    if (def->tracking != BRIM_TRACKING_OFF) sight = fmax(sight, (double)TRACK_REACH);
    s.halo = (int)ceil(sight + s.shift + spacing);
    s.reach = (float)fmin(2 * spacing, radius);
    s.sheet = (float)fmin(5 * spacing, s.halo - spacing);
    // The lattice cuts a ball of a few nodes to a polyhedron. Balls of this radius keep, on average
    // over where they lie, the volume of the smaller one.
    double ball = cbrt(3 / (4 * 3.14159265358979 * per_cell)), cut = 0.66 / mesh->resolution;
    s.alone = (float)fmin(sqrt(ball * ball + cut * cut), s.reach);
    // integral of (1 - r^2 / R^2)^3 over the kernel's ball
    s.full = (float)(per_cell * 64 * 3.14159265358979 / 315 * radius * radius * radius);
    s.dense_count = (float)fmax(1, per_cell / 4);
    s.profile = level_set_profile(3);
    return s;
}

// -------------------------------------------------------------------------------------- stages

/// A mesh in the making.
typedef struct Work {
    const MeshScale *scale;
    const NodeInput *input;
    Team *team;
    Bins bins;
    TileBox box;
    TileMesh *tiles;
    int tile_count;
    uint8_t *sides; ///< [vertex_count]
    float *room;    ///< [vertex_count]
    bool counted;   ///< all water is in particles of one volume
    StretchScale stretch;
    StretchedKernel *stretched; ///< NULL: averaged positions
    Drops drops;
} Work;

static void work_free(Work *w) {
    bins_free(&w->bins);
    for (int i = 0; i < w->tile_count; i++) tile_mesh_free(&w->tiles[i]);
    free(w->tiles), free(w->box.slot_of), free(w->sides), free(w->room);
    free(w->stretched);
    team_free(&w->team);
    drops_free(&w->drops);
}

/// Tiles of nodes that touch a tile of cells with water in reach, in the order of the box.
static bool list_tiles(Work *w) {
    const Grid *g = &w->bins.grid;
    size_t count = 1;
    for (int a = 0; a < 3; a++) {
        w->box.tiles[a] = (w->scale->nodes[a] + w->scale->edge - 1) / w->scale->edge;
        count *= (size_t)w->box.tiles[a];
    }
    int32_t *slot = w->box.slot_of = memory_new(count * sizeof *slot);
    if (!slot) return false;
    memset(slot, 0xff, count * sizeof *slot);
    for (int t = 0; t < g->tile_count; t++)
        for (int n = 0; n < 8; n++) {
            TileCoord c = g->coord[t];
            int x = c.x + (n & 1), y = c.y + (n >> 1 & 1), z = c.z + (n >> 2);
            if (x < w->box.tiles[0] && y < w->box.tiles[1] && z < w->box.tiles[2])
                slot[(z * w->box.tiles[1] + y) * w->box.tiles[0] + x] = 0;
        }
    for (size_t i = 0; i < count; i++)
        if (slot[i] == 0) slot[i] = w->tile_count++;
    w->tiles = memory_zero((size_t)w->tile_count * sizeof *w->tiles);
    if (!w->tiles) {
        w->tile_count = 0;
        return false;
    }
    size_t i = 0;
    for (int z = 0; z < w->box.tiles[2]; z++)
        for (int y = 0; y < w->box.tiles[1]; y++)
            for (int x = 0; x < w->box.tiles[0]; x++, i++)
                if (slot[i] >= 0) memcpy(w->tiles[slot[i]].tile, (int[]){x, y, z}, 3 * sizeof(int));
    return true;
}

/// A march over the tiles, with what each thread needs for it.
typedef struct March {
    Work *w;
    Nodes *nodes;  ///< [threads]
    Block *blocks; ///< [threads]
    atomic_bool failed;
} March;

static void march_one(void *context, int index, int thread) {
    March *m = context;
    TileMesh *tile = &m->w->tiles[index];
    Nodes *nodes = &m->nodes[thread];
    Block *block = &m->blocks[thread];
    if (m->failed) return;
    memcpy(nodes->tile, tile->tile, sizeof nodes->tile);
    NodesResult found = nodes_fill(nodes, block, m->w->input);
    if (found == NODES_NO_MEMORY ||
        (found == NODES_SOME && !march_tile(tile, nodes, block, m->w->input)))
        m->failed = true;
}

/// Nodes, vertices and cubes of all tiles.
static bool march(Work *w) {
    size_t threads = (size_t)team_threads(w->team);
    March m = {.w = w,
               .nodes = memory_new(threads * sizeof *m.nodes),
               .blocks = memory_zero(threads * sizeof *m.blocks)};
    m.failed = !m.nodes || !m.blocks;
    if (!m.failed) team_for(w->team, w->tile_count, 1, march_one, &m);
    for (size_t i = 0; i < threads && m.blocks; i++) block_free(&m.blocks[i]);
    free(m.blocks), free(m.nodes);
    return !m.failed;
}

/// Numbers vertices and triangles over all tiles, and makes room for them.
static BrimResult number(Work *w, const MarchTable *table, BrimMesh *mesh, BrimError *error) {
    size_t vertices = 0, triangles = 0;
    for (int i = 0; i < w->tile_count; i++) {
        TileMesh *t = &w->tiles[i];
        t->first_vertex = (uint32_t)vertices, t->first_triangle = (uint32_t)triangles;
        for (uint32_t c = 0; c < t->cube_count; c++)
            t->triangle_count += table->count[t->cube[c] % 256];
        vertices += t->vertex_count, triangles += t->triangle_count;
    }
    if (vertices > UINT32_MAX || triangles > UINT32_MAX)
        return fail(
            error, BRIM_ERROR_MEMORY,
            "the surface has %zu vertices and %zu triangles, more than 2^32: choose a lower "
            "resolution",
            vertices, triangles);
    mesh->vertex_count = vertices, mesh->triangle_count = triangles;
    mesh->position = memory_new(vertices * sizeof *mesh->position);
    mesh->normal = memory_new(vertices * sizeof *mesh->normal);
    mesh->velocity = memory_new(vertices * sizeof *mesh->velocity);
    mesh->triangle = memory_new(triangles * sizeof *mesh->triangle);
    w->sides = memory_new(vertices);
    w->room = memory_new(vertices * sizeof *w->room);
    if (!mesh->position || !mesh->normal || !mesh->velocity || !mesh->triangle || !w->sides ||
        !w->room)
        return no_memory(error);
    return BRIM_OK;
}

typedef struct Joining {
    Work *w;
    const MarchTable *table;
    BrimMesh *mesh;
} Joining;

static void join_tile(void *context, int index, int thread) {
    const Joining *j = context;
    const Work *w = j->w;
    const TileMesh *t = &w->tiles[index];
    BrimMesh *mesh = j->mesh;
    for (uint32_t k = 0; k < t->vertex_count; k++) {
        memcpy(mesh->position[t->first_vertex + k], t->vertex[k], 3 * sizeof(float));
        memcpy(mesh->velocity[t->first_vertex + k], t->vertex[k] + 3, 3 * sizeof(float));
        w->sides[t->first_vertex + k] = t->sides[k];
        w->room[t->first_vertex + k] = t->room[k];
    }
    march_triangles(w->tiles, index, &w->box, w->scale, j->table,
                    mesh->triangle + t->first_triangle);
}

static BrimResult run_stages(Work *w, const BrimMeshDef *def, BrimMesh *mesh, BrimError *error) {
    MarchTable table;
    march_table_init(&table);
    if (!list_tiles(w) || !march(w)) return no_memory(error);
    BrimResult result = number(w, &table, mesh, error);
    if (result != BRIM_OK) return result;
    team_for(w->team, w->tile_count, 8, join_tile, &(Joining){w, &table, mesh});
    const MeshScale *s = w->scale;
    SmoothBounds bounds = {.room = w->room,
                           .spacing = s->dx / (float)s->resolution,
                           .cell = s->dx,
                           .size = {s->size[0], s->size[1], s->size[2]}};
    MeshGroups groups = {0};
    if (w->counted && !groups_find(&groups, &w->input->block, mesh)) return no_memory(error);
    if (def->smooth || w->counted)
        result = mesh_smooth(mesh, w->sides, &bounds, def->smooth, w->counted ? &groups : NULL,
                             w->team, error);
    groups_free(&groups);
    if (result == BRIM_OK) result = mesh_normals(mesh, w->sides, w->team, error);
    if (result == BRIM_OK && !drops_draw(&w->drops, s, w->input->block.particles, mesh))
        result = no_memory(error);
    return result;
}

BrimResult mesh_make(const BrimSimDef *def, const BrimMeshDef *mesh_def, Solid *const *solids,
                     int solid_count, const BrimParticles *particles, FilledCells filled,
                     BrimMesh *mesh, BrimError *error) {
    *mesh = (BrimMesh){0};
    BrimResult result = mesh_check(def, mesh_def, error);
    if (result != BRIM_OK || particles->count == 0) return result;
    if (particles->count > UINT32_MAX - 1)
        return fail(error, BRIM_ERROR_INPUT, "a surface of %zu particles: at most 2^32 - 2",
                    particles->count);
    MeshScale scale = make_scale(def, mesh_def);
    // on a warped grid each particle has a volume of its own
    Work w = {.scale = &scale, .counted = !filled.mask && !(def->warp > 0) && !def->nodal};
    w.team = team_new(team_size(mesh_def->threads));
    if (!w.team) return no_memory(error);
    SolidList list = {solids, solid_count};
    NodeInput input = {.scale = &scale,
                       .block = {.scale = &scale, .bins = &w.bins, .particles = particles},
                       .solids = &list,
                       .kernels = level_kernels_for(isa_choose(mesh_def->isa))};
    w.input = &input;
    CarriedSurface carried;
    if (!mesh_def->anisotropic && !mesh_def->positions && carried_find(&carried, def, particles))
        input.block.carried = &carried;
    result = bins_make(&w.bins, &scale, particles, &list, filled, w.team, error);
    if (result == BRIM_OK && !drops_find(&w.drops, &w.bins, &scale, &list, particles))
        result = no_memory(error);
    if (result == BRIM_OK && w.drops.count) bins_take_out(&w.bins, w.drops.marked);
    if (result == BRIM_OK && mesh_def->anisotropic) {
        w.stretch = stretch_scale(&scale, def->particles_per_cell);
        w.stretched =
            stretch_particles(&scale, &w.stretch, &w.bins, particles, input.kernels, w.team);
        input.stretch = &w.stretch, input.block.stretched = w.stretched;
        if (!w.stretched) result = no_memory(error);
    }
    if (result == BRIM_OK) result = run_stages(&w, mesh_def, mesh, error);
    work_free(&w);
    if (result != BRIM_OK) brim_mesh_free(mesh);
    return result;
}

// -------------------------------------------------------------------------------------- public

struct BrimMesher {
    BrimSimDef def; ///< its numbers; lists are not kept
    BrimMeshDef mesh;
    Solid **solids, **present; ///< [solid_count]; those that exist at the frame's time
    int solid_count;
};

static BrimResult make_solids(BrimMesher *m, const BrimSimDef *def, BrimError *error) {
    m->solids = calloc((size_t)def->solid_count + 1, sizeof(Solid *));
    m->present = calloc((size_t)def->solid_count + 1, sizeof(Solid *));
    if (!m->solids || !m->present) return no_memory(error);
    float dx = def->size.x / (float)def->cells[0];
    for (int i = 0; i < def->solid_count; i++) {
        BrimResult result = solid_new(&def->solids[i], 3, dx, &m->solids[i], error);
        if (result != BRIM_OK) return result;
        m->solid_count++;
    }
    return BRIM_OK;
}

BrimResult brim_mesher_create(const BrimSimDef *def, const BrimMeshDef *mesh_def,
                              BrimMesher **mesher, BrimError *error) {
    NEED(mesher, error);
    *mesher = NULL;
    NEED(def, error);
    NEED(mesh_def, error);
    BrimResult result = mesh_check(def, mesh_def, error);
    if (result != BRIM_OK) return result;
    if (def->band_width && !def->output.interior && !def->output.foam)
        return fail(error, BRIM_ERROR_INPUT,
                    "frames of this run with a narrow band (band.width) do not hold the water "
                    "below it: run with output.interior: true, or let the run itself make "
                    "surfaces (output.surface: ply)");
    BrimMesher *m = calloc(1, sizeof *m);
    if (!m) return no_memory(error);
    m->def = *def, m->mesh = *mesh_def;
    result = carried_speeds(&m->def, error);
    if (result == BRIM_OK) result = make_solids(m, def, error);
    if (result == BRIM_OK)
        *mesher = m;
    else
        brim_mesher_destroy(&m);
    return result;
}

void brim_mesher_destroy(BrimMesher **mesher) {
    if (!mesher || !*mesher) return;
    BrimMesher *m = *mesher;
    for (int i = 0; i < m->solid_count; i++) solid_free(&m->solids[i]);
    free((void *)m->solids), free((void *)m->present), free(m);
    *mesher = NULL;
}

/// The cell of a point; false outside the domain, and for what is no number.
static bool cell_at(const Grid *g, float inv, const float x[3], int at[3]) {
    for (int a = 0; a < 3; a++) {
        float c = x[a] * inv;
        if (!(c >= 0 && c < (float)g->cells[a])) return false;
        at[a] = (int)c;
    }
    return true;
}

/// The cells below a band of a frame, on a grid of their tiles. => grid, mask [tiles * 64], new
static BrimResult fill_cells(const BrimMesher *m, const BrimParticles *p, Grid *grid,
                             uint8_t **mask, BrimError *error) {
    if (!p->interior)
        return fail(error, BRIM_ERROR_INPUT,
                    "a frame of a run with a narrow band does not hold the water below it: run "
                    "with output.interior: true");
    const float inv = (float)m->def.cells[0] / m->def.size.x;
    BrimResult result = grid_init(grid, 3, m->def.cells, error);
    if (result != BRIM_OK) return result;
    size_t box = grid_box(grid);
    uint8_t *want = memory_zero(box);
    int32_t *from = memory_new(box * sizeof *from);
    for (size_t i = 0; want && from && i < p->interior_count; i++) {
        int at[3];
        if (cell_at(grid, inv, p->interior[i].position, at))
            want[grid_box_index(grid, at[0] >> TILE_SHIFT, at[1] >> TILE_SHIFT,
                                at[2] >> TILE_SHIFT)] = 1;
    }
    bool ready = want && from && grid_rebuild(grid, want, from, NULL) &&
                 (*mask = memory_zero((size_t)grid->tile_count * 64 + 1));
    for (size_t i = 0; ready && i < p->interior_count; i++) {
        int at[3];
        if (!cell_at(grid, inv, p->interior[i].position, at)) continue;
        int64_t cell = grid_cell(grid, at[0], at[1], at[2]);
        (*mask)[cell >> 3] |= (uint8_t)(1 << (cell & 7));
    }
    free(want), free(from);
    return ready ? BRIM_OK : no_memory(error);
}

BrimResult brim_mesher_mesh(BrimMesher *m, const BrimParticles *particles, double time,
                            BrimMesh *mesh, BrimError *error) {
    NEED(mesh, error);
    *mesh = (BrimMesh){0};
    NEED(m, error);
    NEED(particles, error);
    int present = 0;
    for (int i = 0; i < m->solid_count; i++) {
        if (!solid_exists(m->solids[i], time)) continue;
        if (!solid_place(m->solids[i], time, 0))
            return fail(error, BRIM_ERROR_MEMORY, "out of memory for a mesh that deforms");
        m->present[present++] = m->solids[i];
    }
    BrimParticles liquid = *particles;
    liquid.count -= liquid.spray < liquid.count ? liquid.spray : liquid.count;
    Grid grid = {0};
    uint8_t *mask = NULL;
    BrimResult result = m->def.band_width ? fill_cells(m, particles, &grid, &mask, error) : BRIM_OK;
    Bent bent = {.x = {NULL}};
    // below a band a frame tells of regular cells
    const bool bends = m->def.warp > 0 && particles->bend && !m->def.band_width;
    if (result == BRIM_OK && bends)
        result = bent_find(&m->def, &liquid, m->mesh.threads, &bent, error);
    if (result == BRIM_OK && bends) {
        liquid.x = bent.x[0], liquid.y = bent.x[1], liquid.z = bent.x[2];
        present = 0; // solids are given in space
    }
    if (result == BRIM_OK)
        result = mesh_make(&m->def, &m->mesh, m->present, present, &liquid,
                           (FilledCells){&grid, mask}, mesh, error);
    if (result == BRIM_OK && bends) {
        const float dx = m->def.size.x / (float)m->def.cells[0];
        bend_mesh(&bent.map, (Space){dx, 1 / dx}, mesh);
    }
    bent_free(&bent);
    grid_free(&grid);
    free(mask);
    return result;
}

void brim_mesh_free(BrimMesh *mesh) {
    if (!mesh) return;
    free(mesh->position), free(mesh->normal), free(mesh->velocity), free(mesh->triangle);
    free(mesh->body);
    *mesh = (BrimMesh){0};
}

double brim_mesh_volume(const BrimMesh *mesh) {
    double sum = 0;
    for (size_t i = 0; mesh && i < mesh->triangle_count; i++) {
        const float *a = mesh->position[mesh->triangle[i][0]];
        const float *b = mesh->position[mesh->triangle[i][1]];
        const float *c = mesh->position[mesh->triangle[i][2]];
        sum += a[0] * ((double)b[1] * c[2] - (double)b[2] * c[1]) +
               a[1] * ((double)b[2] * c[0] - (double)b[0] * c[2]) +
               a[2] * ((double)b[0] * c[1] - (double)b[1] * c[0]);
    }
    return sum / 6;
}
