// Spray, foam and bubbles over a picture of particles: white disks, bubbles faint.
#include "look/look.h"

typedef struct Disk {
    float x, y, radius; ///< pixels
    BrimVec3 colour;
    float alpha;
} Disk;

/// Anti-aliased; one smaller than a pixel covers as much of it as it is large.
static void draw_disk(Image *image, const Disk *d) {
    float reach = d->radius + 0.5f, small = fminf(1, 4 * d->radius * d->radius);
    int left = (int)fmaxf(floorf(d->x - reach), 0), top = (int)fmaxf(floorf(d->y - reach), 0);
    int right = (int)fminf(ceilf(d->x + reach), (float)image->width);
    int bottom = (int)fminf(ceilf(d->y + reach), (float)image->height);
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) {
            float away = hypotf((float)x + 0.5f - d->x, (float)y + 0.5f - d->y);
            float cover = clampf(fmaxf(d->radius, 0.5f) + 0.5f - away, 0, 1);
            if (cover > 0) image_blend(image, x, y, d->colour, d->alpha * small * cover);
        }
}

void foam_paint(const Picture *p, const View *view, int fine, const float *depth, Image *image) {
    const BrimFoamFrame *f = p->want->foam;
    for (size_t i = 0; f && i < f->count; i++) {
        const BrimFoamParticle *q = &f->particle[i];
        bool bubble = q->type == BRIM_FOAM_BUBBLE;
        BrimVec3 at = view_project(view, vec(q->position[0], q->position[1], q->position[2]));
        if (!(at.z > 0) ||
            !(at.x >= 0 && at.x < (float)view->width && at.y >= 0 && at.y < (float)view->height))
            continue;
        // bubbles show through some water, foam through the balls that it lies between
        float behind = (bubble ? 3.0f : 1.0f) * p->spacing;
        size_t sample = (size_t)at.y * (size_t)view->width + (size_t)at.x;
        if (depth && depth[sample] + behind < at.z) continue;
        float scale = (view->parallel ? view->scale : view->scale / at.z) / (float)fine;
        Disk d = {.x = at.x / (float)fine, .y = at.y / (float)fine, .radius = q->size * scale};
        // a rim where there is room for one: white on white
        d.colour = colour_hex(0x6f8296), d.alpha = 0.5f;
        if (d.radius > 1.5f && !bubble) draw_disk(image, &d);
        if (d.radius > 1.5f && !bubble) d.radius -= 0.5f;
        d.colour = vec(1, 1, 1), d.alpha = bubble ? 0.3f : 1;
        draw_disk(image, &d);
    }
}
