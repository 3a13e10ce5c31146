#include "preview.h"
#include <math.h>

static const double GAP = 3;       ///< least time between two pictures, s
static const double SHARE = 0.045; ///< most of the time that they take: below 5 %
/// Steps before the first: a picture takes as long as about three (dam.yaml, one thread).
static const int FIRST = 70;

void preview_start(Preview *p, bool on, const char *folder, const BrimSimDef *def) {
    *p = (Preview){.on = on, .def = def, .started = wall_clock()};
    p->due = p->started + GAP;
    if (snprintf(p->path, sizeof p->path, "%s/preview.png", folder) >= (int)sizeof p->path)
        p->on = false;
}

/// The particles as they are, for a picture.
static BrimFrame frame_of(const BrimSim *sim) {
    BrimParticles q = brim_sim_particles(sim);
    return (BrimFrame){.count = q.count,
                       .x = (float *)q.x,
                       .y = (float *)q.y,
                       .z = (float *)q.z,
                       .vx = q.vx,
                       .vy = q.vy,
                       .vz = q.vz,
                       .id = (uint32_t *)q.id,
                       .spray = q.spray};
}

void preview_step(Preview *p, const BrimSim *sim) {
    double start = wall_clock();
    if (!p->on || ++p->steps < FIRST || start < p->due) return;
    BrimError error;
    BrimFrame frame = frame_of(sim);
    BrimPictureDef picture = brim_default_picture_def();
    picture.width = 640, picture.height = 360, picture.style = BRIM_STYLE_PARTICLES;
    picture.threads = p->def->threads;
    BrimResult r =
        brim_write_picture(p->def, &frame, NULL, brim_sim_time(sim), &picture, p->path, &error);
    double took = wall_clock() - start;
    p->spent += took, p->count++;
    // the next one, if it takes as long, still leaves all of them within their share
    p->due = fmax(start + took + GAP, p->started + (p->spent + took) / SHARE - took);
    if (r == BRIM_OK) return;
    report_warning("no more previews: %s", error.message);
    p->on = false;
}
