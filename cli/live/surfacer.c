#include "live/surfacer.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 6 }; ///< positions and velocities

struct Surfacer {
    Hub *hub;
    BrimMesher *mesher;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool busy, stop;
    // what was given, copied
    FrameHead head;
    float *values; ///< [ARRAYS][count]
    size_t count, capacity;
    BrimInterior *interior;
    size_t interior_count;
    float (*bend)[3]; ///< of a warped grid
    size_t bend_count;
    BrimSolidState *solids;
    BrimBodySurface *bodies; ///< positions are the surfacer's own
};

bool surfacer_can(const BrimSimDef *def) {
    // below a band a frame tells of regular cells, not of those of a mesh
    return def->dim == 3 && !(def->warp > 0 && def->band_width) && !def->nodal;
}

static void make_surface(Surfacer *s) {
    float *v = s->values;
    size_t n = s->count;
    BrimParticles particles = {.count = n,
                               .x = v,
                               .y = v + n,
                               .z = v + 2 * n,
                               .vx = v + 3 * n,
                               .vy = v + 4 * n,
                               .vz = v + 5 * n,
                               .interior = s->interior,
                               .interior_count = s->interior_count,
                               .bend = (const float(*)[3])s->bend,
                               .bend_count = s->bend_count};
    BrimMesh mesh;
    if (brim_mesher_mesh(s->mesher, &particles, s->head.time, &mesh, NULL) != BRIM_OK) return;
    hub_publish(s->hub, SLOT_SURFACE, frame_surface(&s->head, &mesh));
    brim_mesh_free(&mesh);
}

static void *work(void *context) {
    Surfacer *s = context;
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        if (!s->busy) {
            pthread_cond_wait(&s->wake, &s->lock);
            continue;
        }
        pthread_mutex_unlock(&s->lock);
        make_surface(s);
        pthread_mutex_lock(&s->lock);
        s->busy = false;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

Surfacer *surfacer_new(const BrimSimDef *def, Hub *hub) {
    BrimSimDef water = *def; // solids may be moved by hand: the surface goes by the particles alone
    BrimMeshDef mesh = brim_default_mesh_def();
    Surfacer *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    water.solids = NULL, water.solid_count = 0;
    water.bodies = NULL, water.body_count = 0;
    water.output.interior = true; // of a band; it is given
    mesh.resolution = 1, mesh.threads = 1;
    s->hub = hub;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    if (brim_mesher_create(&water, &mesh, &s->mesher, NULL) == BRIM_OK &&
        pthread_create(&s->thread, NULL, work, s) == 0)
        return s;
    brim_mesher_destroy(&s->mesher);
    free(s);
    return NULL;
}

bool surfacer_idle(Surfacer *s) {
    pthread_mutex_lock(&s->lock);
    bool idle = !s->busy;
    pthread_mutex_unlock(&s->lock);
    return idle;
}

static void forget_bodies(Surfacer *s) {
    for (int i = 0; s->bodies && i < s->head.body_count; i++) free((void *)s->bodies[i].position);
    free(s->bodies);
    free(s->solids);
    s->bodies = NULL, s->solids = NULL;
}

/// Head, solids and bodies.
static bool copy_head(Surfacer *s, const FrameHead *head) {
    forget_bodies(s);
    s->head = *head;
    s->solids = calloc((size_t)head->solid_count + 1, sizeof *s->solids);
    s->bodies = calloc((size_t)head->body_count + 1, sizeof *s->bodies);
    if (!s->solids || !s->bodies) return false;
    if (head->solid_count)
        memcpy(s->solids, head->solids, (size_t)head->solid_count * sizeof *s->solids);
    for (int i = 0; i < head->body_count; i++) {
        size_t bytes = head->bodies[i].vertex_count * sizeof *head->bodies[i].position;
        void *copy = malloc(bytes + 1);
        if (!copy) return false;
        memcpy(copy, head->bodies[i].position, bytes);
        s->bodies[i] =
            (BrimBodySurface){.vertex_count = head->bodies[i].vertex_count, .position = copy};
    }
    s->head.solids = s->solids, s->head.bodies = s->bodies;
    return true;
}

bool surfacer_give(Surfacer *s, const FrameHead *head, const BrimSim *sim) {
    const BrimParticles all = brim_sim_particles(sim), *p = &all;
    const float *arrays[ARRAYS] = {p->x, p->y, p->z, p->vx, p->vy, p->vz};
    if (!copy_head(s, head)) return false;
    free(s->interior), free(s->bend);
    s->bend = NULL;
    if (brim_sim_interior(sim, &s->interior, &s->interior_count, NULL) != BRIM_OK ||
        brim_sim_bend(sim, &s->bend, &s->bend_count, NULL) != BRIM_OK)
        return false;
    if (ARRAYS * p->count > s->capacity) {
        free(s->values);
        s->capacity = ARRAYS * (p->count + p->count / 8) + 1;
        s->values = malloc(s->capacity * sizeof *s->values);
        if (!s->values) s->capacity = 0;
        if (!s->values) return false;
    }
    s->count = p->count;
    for (size_t k = 0; k < ARRAYS && p->count; k++)
        memcpy(s->values + k * p->count, arrays[k], p->count * sizeof *s->values);
    pthread_mutex_lock(&s->lock);
    s->busy = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    return true;
}

void surfacer_free(Surfacer **surfacer) {
    Surfacer *s = *surfacer;
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    forget_bodies(s);
    brim_mesher_destroy(&s->mesher);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s->values), free(s->interior), free(s->bend);
    free(s);
    *surfacer = NULL;
}
