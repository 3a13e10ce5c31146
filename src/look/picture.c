// brim_write_picture: checks, then the stages of drawing in order.
#include "base/error.h"
#include "base/memory.h"
#include "look/look.h"
#include <omp.h>
#include <stdlib.h>

enum { LEAST_SIDE = 64, MOST_SIDE = 16384 };

BrimPictureDef brim_default_picture_def(void) {
    return (BrimPictureDef){.width = 1280, .height = 720, .max_speed = 0};
}

static BrimResult check(const BrimSimDef *def, const BrimFrame *frame,
                        const BrimPictureDef *picture, BrimError *error) {
    if (picture->width < LEAST_SIDE || picture->width > MOST_SIDE || picture->height < LEAST_SIDE ||
        picture->height > MOST_SIDE)
        return fail(error, BRIM_ERROR_INPUT, "a picture of %d x %d: sides must be from %d to %d",
                    picture->width, picture->height, LEAST_SIDE, MOST_SIDE);
    if (!(picture->max_speed >= 0) || !(picture->max_speed < 1e30))
        return fail(error, BRIM_ERROR_INPUT, "a picture's max_speed must be 0 or more, not %g",
                    picture->max_speed);
    if (def->dim < 2 || def->dim > 3 || def->cells[0] < 1 || def->particles_per_cell < 1 ||
        !(def->size.x > 0) || !(def->size.y > 0) || !(def->dim == 2 || def->size.z > 0) ||
        !(def->size.x + def->size.y + def->size.z < 1e30f))
        return fail(error, BRIM_ERROR_INPUT, "a picture needs a def with a domain of finite size");
    if (frame->count > UINT32_MAX - 1)
        return fail(error, BRIM_ERROR_INPUT, "a picture of %zu particles: at most 2^32 - 2",
                    frame->count);
    return BRIM_OK;
}

static BrimResult draw(Picture *p, const char *path, BrimError *error) {
    BrimResult result = solids_new(&p->solids, p->def, p->time, error);
    if (result == BRIM_OK) result = p->def->dim == 2 ? flat_draw(p, error) : scene_draw(p, error);
    if (result != BRIM_OK) return result;
    paint_text(p);
    return png_write(&p->image, path, error);
}

BrimResult brim_write_picture(const BrimSimDef *def, const BrimFrame *frame, double time,
                              const BrimPictureDef *picture, const char *path, BrimError *error) {
    BrimResult result = check(def, frame, picture, error);
    if (result != BRIM_OK) return result;
    Picture p = {.def = def, .frame = frame, .time = time};
    p.threads = def->threads > 0 ? def->threads : omp_get_max_threads();
    p.cell = def->size.x / (float)def->cells[0];
    float per_cell = (float)def->particles_per_cell;
    p.spacing = p.cell / (def->dim == 2 ? sqrtf(per_cell) : cbrtf(per_cell));
    p.image = (Image){.width = picture->width, .height = picture->height};
    p.image.pixel = memory_new((size_t)picture->width * (size_t)picture->height * sizeof(BrimVec3));
    if (!p.image.pixel)
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for a picture of %d x %d", path,
                    picture->width, picture->height);
    // on the white paper of a 2D picture white particles would be lost
    float top = def->dim == 2 ? 0.87f : 0.985f;
    speed_scale_init(&p.scale, frame, picture->max_speed, top, p.threads);
    result = draw(&p, path, error);
    solids_free(&p.solids);
    free(p.image.pixel);
    return result;
}
