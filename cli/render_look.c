// The look of brim render: that of the run, with keys changed, or that of another scene file.
#include "render.h"
#include <stdlib.h>
#include <string.h>

static uint64_t add(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return hash;
}

static uint64_t add_material(uint64_t h, const BrimMaterial *m) {
    const int glass = (int)m->glass;
    h = add(add(h, &m->colour, sizeof m->colour), &m->roughness, sizeof m->roughness);
    return add(h, &glass, sizeof glass);
}

uint64_t look_hash(const BrimSimDef *def) {
    const BrimLookDef *look = &def->look;
    const char *picture = look->sky_picture ? look->sky_picture : "";
    const float numbers[] = {
        look->liquid_colour.x, look->liquid_colour.y, look->liquid_colour.z, look->liquid_clarity,
        look->sun.x,           look->sun.y,           look->sun.z,           look->sun_strength,
        look->sky_strength,    look->exposure,        look->sky_turn,        look->eye.x,
        look->eye.y,           look->eye.z,           look->target.x,        look->target.y,
        look->target.z,        look->angle,           look->aperture,        look->focus};
    const int choices[] = {look->ground, look->box, look->caustics, (int)look->frame};
    uint64_t h = add(14695981039346656037u, numbers, sizeof numbers);
    h = add(add(h, choices, sizeof choices), picture, strlen(picture));
    for (int i = 0; i < look->keyframe_count; i++) {
        const BrimCameraKey *k = &look->keyframes[i];
        h = add(add(h, &k->time, sizeof k->time), &k->eye, sizeof k->eye);
        h = add(add(h, &k->target, sizeof k->target), &k->angle, sizeof k->angle);
    }
    for (int i = 0; i < def->solid_count; i++) h = add_material(h, &def->solids[i].look);
    for (int i = 0; i < def->body_count; i++) h = add_material(h, &def->bodies[i].look);
    return h;
}

int take_look(const char *path, Look *look, BrimSimDef *def) {
    BrimError error;
    if (brim_scene_load(path, NULL, 0, &look->scene, &error) != BRIM_OK)
        return report_result(&error, false);
    const BrimSimDef *other = brim_scene_def(look->scene);
    if (other->dim != 3 || other->solid_count != def->solid_count ||
        other->body_count != def->body_count) {
        report_error("--look %s: it has %d solids and %d bodies, the run %d and %d: give the run's "
                     "scene, with another look",
                     path, other->solid_count, other->body_count, def->solid_count,
                     def->body_count);
        return EXIT_INPUT;
    }
    def->look = other->look;
    look->solids = calloc((size_t)def->solid_count + 1, sizeof *look->solids);
    look->bodies = calloc((size_t)def->body_count + 1, sizeof *look->bodies);
    if (!look->solids || !look->bodies) {
        report_error("out of memory");
        return EXIT_MEMORY;
    }
    for (int i = 0; i < def->solid_count; i++) {
        look->solids[i] = def->solids[i];
        look->solids[i].look = other->solids[i].look;
    }
    for (int i = 0; i < def->body_count; i++) {
        look->bodies[i] = def->bodies[i];
        look->bodies[i].look = other->bodies[i].look;
    }
    def->solids = look->solids, def->bodies = look->bodies;
    return EXIT_DONE;
}

void look_free(Look *look) {
    brim_scene_destroy(&look->scene);
    free(look->solids);
    free(look->bodies);
    *look = (Look){0};
}
