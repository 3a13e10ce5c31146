// Pictures of an experiment: taken one by one, joined into one PNG.
#include "reproduce.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *part_path(Result *r, int index) {
    return sheet_text(&r->sheet, "%s/%s-part-%02d.png", r->folder, r->experiment->name, index);
}

/// The particles of a simulation as a frame, without a copy.
static BrimFrame frame_of(const BrimSim *sim) {
    BrimParticles p = brim_sim_particles(sim);
    return (BrimFrame){.count = p.count,
                       .spray = p.spray,
                       .x = (float *)p.x,
                       .y = (float *)p.y,
                       .z = (float *)p.z,
                       .vx = p.vx,
                       .vy = p.vy,
                       .vz = p.vz,
                       .id = (uint32_t *)p.id};
}

void picture_take(Result *r, const BrimSim *sim, const char *colour, double high) {
    if (r->code != EXIT_DONE || r->no_pictures) return;
    BrimFrame frame = frame_of(sim);
    BrimPictureDef picture = brim_default_picture_def();
    picture.width = 580, picture.height = 480;
    picture.style = BRIM_STYLE_PARTICLES;
    picture.colour = colour;
    picture.low = 0, picture.high = high;
    picture.threads = r->threads;
    const char *bodies = result_path(r, "-bodies.ply");
    if (brim_sim_body_count(sim) > 0 && brim_write_bodies(sim, bodies, NULL) == BRIM_OK)
        picture.bodies = bodies;
    picture_write(r, r->def, &frame, brim_sim_time(sim), NULL, &picture);
    unlink(bodies);
}

void picture_water(Result *r, const BrimSim *sim, const BrimMesh *mesh, const BrimCamera *camera) {
    if (r->code != EXIT_DONE || r->no_pictures) return;
    BrimFrame frame = frame_of(sim);
    BrimPictureDef picture = brim_default_picture_def();
    BrimFoamFrame spray = {0};
    const double cell = r->def->size.x / r->def->cells[0];
    const double radius = cell * cbrt(0.75 / (3.14159265358979 * r->def->particles_per_cell));
    picture.width = 640, picture.height = 480, picture.samples = 4;
    picture.style = BRIM_STYLE_WATER;
    if (camera) picture.camera = *camera;
    picture.threads = r->threads;
    spray.particle = malloc((frame.spray + 1) * sizeof *spray.particle);
    for (size_t i = frame.count - frame.spray; i < frame.count && spray.particle; i++)
        spray.particle[spray.count++] =
            (BrimFoamParticle){.position = {frame.x[i], frame.y[i], frame.z[i]},
                               .velocity = {frame.vx[i], frame.vy[i], frame.vz[i]},
                               .size = (float)radius,
                               .id = frame.id[i],
                               .type = BRIM_FOAM_SPRAY};
    picture.foam = &spray;
    picture_write(r, r->def, &frame, brim_sim_time(sim), mesh, &picture);
    free(spray.particle);
}

void picture_write(Result *r, const BrimSimDef *def, const BrimFrame *frame, double time,
                   const BrimMesh *mesh, const BrimPictureDef *picture) {
    if (r->code != EXIT_DONE || r->no_pictures) return;
    BrimError error;
    BrimResult result =
        brim_write_picture(def, frame, mesh, time, picture, part_path(r, r->picture_count), &error);
    if (result == BRIM_ERROR_MISSING)
        r->no_pictures = true;
    else if (result != BRIM_OK)
        r->code = report_result(&error, false);
    else
        r->picture_count++;
}

void pictures_join(Result *r, int columns, const char *caption) {
    if (r->picture_count == 0) return;
    const char **paths = sheet_memory(&r->sheet, (size_t)r->picture_count * sizeof *paths);
    BrimError error;
    for (int i = 0; paths && i < r->picture_count; i++) paths[i] = part_path(r, i);
    if (paths && r->code == EXIT_DONE &&
        brim_join_pictures(paths, r->picture_count, columns, result_path(r, ".png"), &error) !=
            BRIM_OK)
        r->code = report_result(&error, false);
    pictures_discard(r);
    r->pictures = sheet_text(&r->sheet, "pictures: %s, %s", result_path(r, ".png"), caption);
}

void pictures_discard(Result *r) {
    for (int i = 0; i < r->picture_count; i++) unlink(part_path(r, i));
    r->picture_count = 0;
}
