// The solids of the picture, and its bodies: made, placed, and asked for their distance.
#include "base/error.h"
#include "look/look.h"
#include "solid/solid.h"
#include "solid/trimesh.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 128 };

static BrimResult out_of_memory(BrimError *error) {
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's solids");
}

static BrimResult make_room(Solids *s, size_t count, BrimError *error) {
    s->solid = calloc(count, sizeof(Solid *));
    s->clear = calloc(count, sizeof(bool));
    s->ground = calloc(count, sizeof(bool));
    s->mesh = calloc(count, sizeof(bool));
    s->look = calloc(count, sizeof *s->look);
    bool all = s->solid && s->clear && s->ground && s->mesh && s->look;
    return all ? BRIM_OK : out_of_memory(error);
}

static BrimResult add_solids(Solids *s, const BrimSimDef *def, double time, BrimError *error) {
    for (int i = 0; i < def->solid_count; i++) {
        Solid *solid = NULL;
        BrimResult result = solid_new(&def->solids[i], def->dim, s->cell, &solid, error);
        if (result != BRIM_OK) return result;
        if (!solid_exists(solid, time)) {
            solid_free(&solid);
            continue;
        }
        if (!solid_place(solid, time, 0)) {
            solid_free(&solid);
            return out_of_memory(error);
        }
        s->clear[s->count] = solid_thickness(solid) < 0.03f * vec_length(def->size);
        s->look[s->count] = def->solids[i].look;
        BrimGlass glass = def->solids[i].look.glass;
        if (glass != BRIM_GLASS_AUTO) s->clear[s->count] = glass == BRIM_GLASS_YES;
        s->mesh[s->count] = def->solids[i].shape.kind == BRIM_SHAPE_MESH;
        s->ground[s->count] = def->solids[i].shape.kind == BRIM_SHAPE_HEIGHT_FIELD;
        s->solid[s->count++] = solid;
    }
    return BRIM_OK;
}

/// The body that a triangle belongs to. Frames of earlier versions do not say: then it is the
/// first.
static int body_of(const BrimMesh *m, size_t triangle) {
    return m->body ? m->body[m->triangle[triangle][0]] : 0;
}

/// The triangles of one body, by themselves.
static BrimResult cut_out(const BrimMesh *m, int body, const char *path, Trimesh *mesh,
                          BrimError *error) {
    size_t room = (m->vertex_count > m->triangle_count ? m->vertex_count : m->triangle_count) + 1;
    uint32_t *at = malloc(room * sizeof *at);
    mesh->vertices = malloc(room * sizeof *mesh->vertices);
    mesh->triangles = malloc(room * sizeof *mesh->triangles);
    if (!at || !mesh->vertices || !mesh->triangles) {
        free(at);
        return out_of_memory(error);
    }
    mesh->vertex_capacity = mesh->triangle_capacity = room;
    for (size_t i = 0; i < m->vertex_count; i++) {
        at[i] = (uint32_t)mesh->vertex_count;
        if (m->body && m->body[i] != body) continue;
        memcpy(mesh->vertices[mesh->vertex_count++], m->position[i], sizeof *m->position);
    }
    for (size_t t = 0; t < m->triangle_count; t++) {
        if (body_of(m, t) != body) continue;
        for (int k = 0; k < 3; k++)
            mesh->triangles[mesh->triangle_count][k] = at[m->triangle[t][k]];
        mesh->triangle_count++;
    }
    free(at);
    mesh->joined = trimesh_balanced(mesh); // two vertices of a bent body may be at one place
    return trimesh_close(mesh, path, error);
}

/// How many bodies a file of brim_write_bodies holds, one after the other; -1: it is none.
static int count_bodies(const BrimMesh *m) {
    if (!m->body || m->vertex_count == 0) return m->vertex_count > 0;
    for (size_t i = 0; i < m->vertex_count; i++) {
        int before = i == 0 ? 0 : m->body[i - 1];
        if (m->body[i] != before && (i == 0 || m->body[i] != before + 1)) return -1;
    }
    for (size_t t = 0; t < m->triangle_count; t++)
        for (int k = 1; k < 3; k++)
            if (m->body[m->triangle[t][k]] != body_of(m, t)) return -1;
    return m->body[m->vertex_count - 1] + 1;
}

static BrimResult add_body(Solids *s, const BrimSimDef *def, const BrimMesh *m, int body,
                           const char *path, BrimError *error) {
    BrimMaterial look = brim_default_body_def().look;
    if (body < def->body_count && def->bodies) look = def->bodies[body].look;
    Trimesh mesh = {0};
    Solid *solid = NULL;
    BrimResult result = cut_out(m, body, path, &mesh, error);
    if (result == BRIM_OK)
        result = solid_new_surface(&mesh, path, def->dim, s->cell, &solid, error);
    trimesh_free(&mesh);
    if (result != BRIM_OK) return result;
    s->look[s->count] = look;
    s->clear[s->count] = look.glass == BRIM_GLASS_YES;
    s->mesh[s->count] = true;
    s->solid[s->count++] = solid;
    return BRIM_OK;
}

BrimResult solids_new(Solids *s, const BrimSimDef *def, double time, const char *bodies,
                      BrimError *error) {
    *s = (Solids){.size = def->size, .cell = def->size.x / (float)def->cells[0]};
    BrimMesh m = {0};
    BrimResult result = bodies ? brim_mesh_read(bodies, &m, error) : BRIM_OK;
    if (result != BRIM_OK) return result;
    int count = count_bodies(&m);
    if (count < 0)
        result =
            fail(error, BRIM_ERROR_INPUT, "'%s' is no surface of bodies that Brim wrote", bodies);
    if (result == BRIM_OK && def->solid_count + count > 0)
        result = make_room(s, (size_t)def->solid_count + (size_t)count, error);
    if (result == BRIM_OK) result = add_solids(s, def, time, error);
    for (int i = 0; result == BRIM_OK && i < count; i++)
        result = add_body(s, def, &m, i, bodies, error);
    brim_mesh_free(&m);
    return result;
}

void solids_free(Solids *s) {
    for (int i = 0; i < s->count; i++) solid_free(&s->solid[i]);
    free((void *)s->solid);
    free(s->clear);
    free(s->ground);
    free(s->mesh);
    free(s->look);
    *s = (Solids){0};
}

void solids_distance(const Solids *s, bool solid_only, int n, const float *x, const float *y,
                     const float *z, float *distance, bool *clear) {
    for (int i = 0; i < n; i++) distance[i] = INFINITY;
    for (int k = 0; k < s->count; k++) {
        if (solid_only && s->clear[k]) continue;
        for (int i = 0; i < n; i += CHUNK) {
            float d[CHUNK];
            int m = n - i < CHUNK ? n - i : CHUNK;
            solid_distance(s->solid[k], m, x + i, y + i, z + i, d);
            for (int j = 0; j < m; j++) {
                if (!(d[j] < distance[i + j])) continue;
                distance[i + j] = d[j];
                if (clear) clear[i + j] = s->clear[k];
            }
        }
    }
}

void solids_distance_kind(const Solids *s, bool clear, int n, const float *x, const float *y,
                          const float *z, float *distance) {
    for (int i = 0; i < n; i++) distance[i] = INFINITY;
    for (int k = 0; k < s->count; k++) {
        if (s->clear[k] != clear) continue;
        for (int i = 0; i < n; i += CHUNK) {
            float d[CHUNK];
            int m = n - i < CHUNK ? n - i : CHUNK;
            solid_distance(s->solid[k], m, x + i, y + i, z + i, d);
            for (int j = 0; j < m; j++) distance[i + j] = fminf(distance[i + j], d[j]);
        }
    }
}

/// The solid, not a clear one, that is nearest to a point.
static int nearest_solid(const Solids *s, BrimVec3 p) {
    int nearest = 0;
    float least = INFINITY;
    for (int k = 0; k < s->count; k++) {
        float d;
        if (s->clear[k]) continue;
        solid_distance(s->solid[k], 1, &p.x, &p.y, &p.z, &d);
        if (d < least) least = d, nearest = k;
    }
    return nearest;
}

BrimVec3 solids_normal(const Solids *s, BrimVec3 p, BrimVec3 otherwise) {
    // across the facets of meshes, whose true shape is smooth
    float h = (s->count && s->mesh[nearest_solid(s, p)] ? 0.4f : 0.02f) * s->cell, d[6];
    const float x[6] = {p.x - h, p.x + h, p.x, p.x, p.x, p.x};
    const float y[6] = {p.y, p.y, p.y - h, p.y + h, p.y, p.y};
    const float z[6] = {p.z, p.z, p.z, p.z, p.z - h, p.z + h};
    solids_distance(s, true, 6, x, y, z, d, NULL);
    BrimVec3 slope = vec(d[1] - d[0], d[3] - d[2], d[5] - d[4]);
    // where the box cuts a solid its distance slopes some other way
    bool sound = vec_length(slope) > 0.5f * h && vec_dot(vec_unit(slope), otherwise) > 0.3f;
    return sound ? vec_unit(slope) : otherwise;
}

float solids_roughness(const Solids *s, BrimVec3 p) {
    return s->count ? s->look[nearest_solid(s, p)].roughness : 1;
}

BrimVec3 solids_paint(const Solids *s, BrimVec3 p, BrimVec3 normal, bool wet) {
    int nearest = nearest_solid(s, p);
    BrimVec3 own = s->look[nearest].colour, clay = vec(0.46f, 0.30f, 0.20f);
    BrimVec3 rock = vec(0.17f, 0.145f, 0.12f), grass = vec(0.155f, 0.16f, 0.085f);
    if (own.x + own.y + own.z > 0) return own;
    if (wet && s->ground[nearest]) return vec(0.15f, 0.145f, 0.13f); // gravel
    return s->ground[nearest] ? vec_mix(rock, grass, smooth_step(0.6f, 0.95f, normal.y)) : clay;
}
