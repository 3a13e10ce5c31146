// brim_write_picture: checks, then the stages of drawing in order.
#include "base/error.h"
#include "base/memory.h"
#include "look/look.h"
#include "look/water_picture.h"
#include <stdlib.h>
#include <string.h>

enum { LEAST_SIDE = 16, MOST_SIDE = 16384, MOST_SAMPLES = 4096 };

BrimPictureDef brim_default_picture_def(void) {
    return (BrimPictureDef){.width = 1280, .height = 720, .samples = 8, .colour = "speed"};
}

static bool finite_camera(const BrimCamera *c) {
    BrimVec3 sum = vec_add(c->eye, c->target);
    return isfinite(sum.x + sum.y + sum.z) && c->angle >= 0 && c->angle < 170;
}

static BrimResult check_picture(const BrimPictureDef *p, BrimError *error) {
    if (p->width < LEAST_SIDE || p->width > MOST_SIDE || p->height < LEAST_SIDE ||
        p->height > MOST_SIDE)
        return fail(error, BRIM_ERROR_INPUT, "a picture of %d x %d: sides must be from %d to %d",
                    p->width, p->height, LEAST_SIDE, MOST_SIDE);
    if (p->samples < 1 || p->samples > MOST_SAMPLES)
        return fail(error, BRIM_ERROR_INPUT, "a picture's samples must be from 1 to %d, not %d",
                    MOST_SAMPLES, p->samples);
    if (!isfinite(p->low) || !isfinite(p->high) || p->low > p->high)
        return fail(error, BRIM_ERROR_INPUT,
                    "a picture's colour scale from %g to %g: the lower end must come first", p->low,
                    p->high);
    if (!(p->shutter >= 0 && p->shutter <= 1))
        return fail(error, BRIM_ERROR_INPUT, "a picture's shutter must be from 0 to 1, not %g",
                    p->shutter);
    if (!finite_camera(&p->camera))
        return fail(error, BRIM_ERROR_INPUT,
                    "a picture's camera needs finite points and an angle from 0 to 170 degrees");
    if (!p->colour) return fail(error, BRIM_ERROR_INPUT, "a picture needs a colour, as in speed");
    return BRIM_OK;
}

static BrimResult check_scene(const BrimSimDef *def, const BrimFrame *frame, BrimError *error) {
    if (def->dim < 2 || def->dim > 3 || def->cells[0] < 1 || def->particles_per_cell < 1 ||
        !(def->size.x > 0) || !(def->size.y > 0) || !(def->dim == 2 || def->size.z > 0) ||
        !(def->size.x + def->size.y + def->size.z < 1e30f))
        return fail(error, BRIM_ERROR_INPUT, "a picture needs a def with a domain of finite size");
    if (frame->count > UINT32_MAX - 1)
        return fail(error, BRIM_ERROR_INPUT, "a picture of %zu particles: at most 2^32 - 2",
                    frame->count);
    return BRIM_OK;
}

/// The picture's own camera, else the look's; eye = target when neither has one.
static BrimCamera placed_camera(const Picture *p) {
    const BrimCamera *own = &p->want->camera;
    if (vec_length(vec_sub(own->target, own->eye)) > 0) return *own;
    return look_camera(&p->def->look, p->time);
}

View picture_camera(const Picture *p, int fine, bool text) {
    BrimCamera c = placed_camera(p);
    int width = p->image.width * fine, height = p->image.height * fine;
    if (vec_length(vec_sub(c.target, c.eye)) > 0) return view_from(&c, width, height);
    bool ground = false;
    for (int i = 0; i < p->solids.count; i++) ground = ground || p->solids.ground[i];
    return text ? view_camera(p->def->size, width, height)
                : view_water(p->def->size, ground, width, height);
}

/// The camera of a traced picture: found from the water, when the look says so and there is any.
static View traced_camera(const Picture *p, const BrimMesh *mesh) {
    BrimCamera c = placed_camera(p);
    bool own = vec_length(vec_sub(c.target, c.eye)) > 0;
    if (own || p->def->look.frame != BRIM_FRAME_WATER || !mesh->vertex_count)
        return picture_camera(p, 1, false);
    BrimVec3 low = vec(INFINITY, INFINITY, INFINITY), high = vec(-INFINITY, -INFINITY, -INFINITY);
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        const float *x = mesh->position[i];
        low = vec(fminf(low.x, x[0]), fminf(low.y, x[1]), fminf(low.z, x[2]));
        high = vec(fmaxf(high.x, x[0]), fmaxf(high.y, x[1]), fmaxf(high.z, x[2]));
    }
    return view_box(low, high, p->image.width, p->image.height);
}

/// Distance along the camera's axis of what is sharp.
static float focus_of(const Picture *p, const View *camera) {
    const BrimLookDef *look = &p->def->look;
    BrimCamera c = placed_camera(p);
    if (look->focus > 0) return look->focus;
    BrimVec3 at = vec_mul(p->def->size, 0.5f);
    if (vec_length(vec_sub(c.target, c.eye)) > 0) at = c.target;
    return fmaxf(vec_dot(vec_sub(at, camera->eye), camera->forward), 1e-3f);
}

static BrimResult trace_water(Picture *p, const BrimMesh *mesh, BrimError *error) {
    Mesh water = {.vertex_count = mesh->vertex_count,
                  .triangle_count = mesh->triangle_count,
                  .position = (const float *)mesh->position,
                  .normal = (const float *)mesh->normal,
                  .velocity = (const float *)mesh->velocity,
                  .triangle = (const uint32_t *)mesh->triangle};
    View camera = traced_camera(p, mesh);
    WaterPicture w = {.def = p->def,
                      .solids = &p->solids,
                      .water = &water,
                      .foam = p->want->foam,
                      .camera = camera,
                      .focus = focus_of(p, &camera),
                      .samples = p->want->samples,
                      .blur = (float)(p->want->shutter / p->def->frame_rate),
                      .team = p->team,
                      .want = p->want};
    return water_picture_draw(&w, &p->image, error);
}

static BrimResult draw_particles(Picture *p, BrimError *error) {
    BrimResult result = values_new(p->def, p->frame, p->want, &p->value, error);
    if (result != BRIM_OK) return result;
    scale_init(&p->scale, p->want, p->value, p->frame->count);
    result = p->def->dim == 2 ? flat_draw(p, error) : scene_draw(p, error);
    if (result == BRIM_OK) paint_text(p);
    return result;
}

/// The middle slice of a warped grid in 3D, over all that is drawn.
static void draw_slice(Picture *p, bool text) {
    const View v = picture_camera(p, 1, text);
    const int nx = p->def->cells[0] + 1, ny = p->def->cells[1] + 1;
    const float *nodes =
        p->want->nodes + 3 * (size_t)(p->def->cells[2] / 2) * (size_t)nx * (size_t)ny;
    for (int i = 0; i < nx * ny; i++)
        for (int k = 0; k < 2; k++) {
            if (k == 0 ? i % nx == nx - 1 : i / nx == ny - 1) continue;
            float x[2], y[2];
            bool seen = true;
            for (int e = 0; e < 2; e++) {
                const float *at = nodes + 3 * (size_t)(i + (e == 0 ? 0 : k == 0 ? 1 : nx));
                BrimVec3 d = vec_sub(vec(at[0], at[1], at[2]), v.eye);
                float depth = vec_dot(d, v.forward);
                seen = seen && depth > 1e-3f;
                x[e] = v.centre_x + v.scale * vec_dot(d, v.right) / depth;
                y[e] = v.centre_y - v.scale * vec_dot(d, v.up) / depth;
            }
            if (seen)
                image_line(&p->image, x[0], y[0], x[1], y[1], 1, vec(0.9f, 0.35f, 0.1f), 0.5f);
        }
}

static BrimResult draw(Picture *p, const BrimMesh *mesh, const char *path, BrimError *error) {
    bool traced =
        p->def->dim == 3 && p->want->style == BRIM_STYLE_WATER && mesh && brim_traces_rays();
    BrimResult result = solids_new(&p->solids, p->def, p->time, p->want->bodies, error);
    if (result == BRIM_OK) result = traced ? trace_water(p, mesh, error) : draw_particles(p, error);
    if (result == BRIM_OK && p->def->dim == 3 && p->want->grid && p->want->nodes)
        draw_slice(p, !traced);
    return result == BRIM_OK ? picture_write(&p->image, p->want->note, path, error) : result;
}

BrimResult brim_write_picture(const BrimSimDef *def, const BrimFrame *frame, const BrimMesh *mesh,
                              double time, const BrimPictureDef *picture, const char *path,
                              BrimError *error) {
    NEED(def, error);
    NEED(frame, error);
    NEED(picture, error);
    NEED(path, error);
    PictureFormat format = picture_format(path, error);
    if (format == PICTURE_UNKNOWN) return BRIM_ERROR_INPUT;
    BrimResult result = check_picture(picture, error);
    if (result == BRIM_OK) result = check_scene(def, frame, error);
    if (result != BRIM_OK) return result;
    Picture p = {.def = def, .frame = frame, .want = picture, .time = time};
    p.cell = def->size.x / (float)def->cells[0];
    float per_cell = (float)def->particles_per_cell;
    p.spacing = p.cell / (def->dim == 2 ? sqrtf(per_cell) : cbrtf(per_cell));
    p.image = (Image){.width = picture->width, .height = picture->height};
    p.image.scene = format == PICTURE_EXR;
    p.image.pixel = memory_new((size_t)picture->width * (size_t)picture->height * sizeof(BrimVec3));
    p.team = team_new(team_size(picture->threads));
    if (!p.image.pixel || !p.team) {
        free(p.image.pixel);
        team_free(&p.team);
        return fail(error, BRIM_ERROR_MEMORY, "%s: out of memory for a picture of %d x %d", path,
                    picture->width, picture->height);
    }
    result = draw(&p, mesh, path, error);
    team_free(&p.team);
    solids_free(&p.solids);
    free(p.value);
    free(p.image.pixel);
    return result;
}

BrimResult brim_picture_range(const BrimSimDef *def, const BrimFrame *frame,
                              const BrimPictureDef *picture, double *low, double *high,
                              BrimError *error) {
    float *value = NULL;
    NEED(def, error);
    NEED(frame, error);
    NEED(picture, error);
    NEED(low, error);
    NEED(high, error);
    BrimResult result = check_picture(picture, error);
    if (result == BRIM_OK) result = check_scene(def, frame, error);
    if (result == BRIM_OK) result = values_new(def, frame, picture, &value, error);
    if (result != BRIM_OK) return result;
    Scale scale;
    scale_init(&scale, picture, value, frame->count);
    *low = (double)scale.low, *high = (double)scale.high;
    free(value);
    return BRIM_OK;
}
