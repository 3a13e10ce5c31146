// The 2D picture: a disk for each particle on white.
#include "look/flat.h"
#include "base/error.h"
#include "base/memory.h"
#include <stdlib.h>

enum { FINE = 3, FINE_PIXELS = 10000000 };

/// The domain as large as fits between `top` pixels and the legend.
static View flat_view(BrimVec3 size, int width, int height, float top) {
    View v = {.parallel = true, .width = width, .height = height};
    v.right = vec(1, 0, 0), v.up = vec(0, 1, 0), v.forward = vec(0, 0, -1);
    float w = (float)width, h = (float)height, bottom = 0.14f * h;
    float aside = 0.05f * w;
    v.scale = fminf((w - 2 * aside) / size.x, (h - top - bottom) / size.y);
    v.centre_x = 0.5f * w, v.centre_y = 0.5f * (top + h - bottom);
    v.eye = vec(0.5f * size.x, 0.5f * size.y, size.x + size.y);
    return v;
}

/// A tank that would reach behind the title stands below it.
static View clear_view(const Picture *p, int fine) {
    int width = p->image.width * fine, height = p->image.height * fine;
    float right, bottom;
    paint_title_box(p, &right, &bottom);
    right *= (float)fine, bottom *= (float)fine;
    View v = flat_view(p->def->size, width, height, 0.06f * (float)height);
    BrimVec3 corner = view_project(&v, vec(0, p->def->size.y, 0));
    bool hidden = corner.x < right && corner.y < bottom;
    return hidden ? flat_view(p->def->size, width, height, bottom) : v;
}

/// Colours of one row of samples; solids over water over grey, on which white and dark both show.
static void shade_row(const Flat *f, int y, BrimVec3 *row, float *scratch) {
    const Picture *p = f->picture;
    int width = f->view.width;
    float *px = scratch, *py = px + width, *pz = py + width, *distance = pz + width;
    BrimVec3 paper = vec(1, 1, 1), air = colour_hex(0xc9ced3);
    BrimVec3 grey = colour_hex(0x8f8b86), rim = colour_hex(0x5a5753);
    for (int x = 0; x < width; x++) {
        BrimVec3 at = view_point(&f->view, (float)x + 0.5f, (float)y + 0.5f, 0);
        px[x] = at.x, py[x] = at.y, pz[x] = 0;
    }
    solids_distance(&p->solids, false, width, px, py, pz, distance, NULL);
    float edge = 1.2f * (float)f->fine / f->view.scale;
    for (int x = 0; x < width; x++) {
        size_t i = (size_t)y * (size_t)width + (size_t)x;
        bool wet = f->disks.depth[i] < INFINITY;
        bool inside =
            px[x] >= 0 && px[x] <= p->def->size.x && py[x] >= 0 && py[x] <= p->def->size.y;
        row[x] = wet ? scale_colour(&p->scale, f->disks.value[i]) : inside ? air : paper;
        if (inside && distance[x] < 0) row[x] = distance[x] > -edge ? rim : grey;
    }
}

static void add_row(const Flat *f, const BrimVec3 *row, BrimVec3 *out, int width) {
    for (int x = 0; x < width * f->fine; x++) out[x / f->fine] = vec_add(out[x / f->fine], row[x]);
}

/// Shades rows of pixels; each thread has a row of samples, colours and then four floats each.
typedef struct Shading {
    const Flat *f;
    Image *image;
    char *rows;
    size_t row_bytes;
} Shading;

static void shade_pixels(void *context, int y, int thread) {
    const Shading *s = context;
    const Flat *f = s->f;
    int width = s->image->width, fine = f->fine;
    BrimVec3 *row = (BrimVec3 *)(void *)(s->rows + (size_t)thread * s->row_bytes);
    BrimVec3 *out = s->image->pixel + (size_t)y * (size_t)width;
    for (int x = 0; x < width; x++) out[x] = vec(0, 0, 0);
    for (int k = 0; k < fine; k++) {
        shade_row(f, y * fine + k, row, (float *)(row + (size_t)f->view.width));
        add_row(f, row, out, width);
    }
    for (int x = 0; x < width; x++) out[x] = vec_mul(out[x], 1 / (float)(fine * fine));
}

/// (disks, solids) => image. False when out of memory.
static bool shade_flat(const Flat *f, Image *image) {
    Team *team = f->picture->team;
    Shading s = {.f = f, .image = image};
    s.row_bytes = (size_t)f->view.width * (sizeof(BrimVec3) + 4 * sizeof(float));
    s.rows = memory_new((size_t)team_threads(team) * s.row_bytes);
    if (!s.rows) return false;
    team_for(team, image->height, 1, shade_pixels, &s);
    free(s.rows);
    return true;
}

static void draw_frame(const Flat *f, Image *image) {
    BrimVec3 size = f->picture->def->size, ink = colour_hex(0x3c4854);
    BrimVec3 low = view_project(&f->view, vec(0, 0, 0));
    BrimVec3 high = view_project(&f->view, vec(size.x, size.y, 0));
    float s = 1 / (float)f->fine, pen = fmaxf(1.2f, 1.6f * (float)image->height / 720);
    float l = low.x * s - pen / 2, r = high.x * s + pen / 2;
    float b = low.y * s + pen / 2, t = high.y * s - pen / 2;
    image_line(image, l, b, r, b, pen, ink, 1);
    image_line(image, l, t, r, t, pen, ink, 1);
    image_line(image, l, b, l, t, pen, ink, 1);
    image_line(image, r, b, r, t, pen, ink, 1);
}

BrimResult flat_draw(Picture *p, BrimError *error) {
    int64_t pixels = (int64_t)p->image.width * p->image.height;
    Flat f = {.picture = p, .fine = pixels <= FINE_PIXELS ? FINE : 1};
    f.view = clear_view(p, f.fine);
    Spheres disks = {.radius = 0.72f * p->spacing, .least = 1, .value = p->value};
    BrimResult result = water_splat(&f.disks, &f.view, p->frame, &disks, p->team, error);
    if (result != BRIM_OK) return result;
    if (!shade_flat(&f, &p->image))
        result = fail(error, BRIM_ERROR_MEMORY,
                      "out of memory for a picture of %d x %d; ask for a smaller one",
                      p->image.width, p->image.height);
    if (result == BRIM_OK && p->want->grid) flat_grid(&f, &p->image);
    if (result == BRIM_OK && p->want->level_set) result = flat_level_set(&f, &p->image, error);
    if (result == BRIM_OK) foam_paint(p, &f.view, f.fine, NULL, &p->image);
    if (result == BRIM_OK) draw_frame(&f, &p->image);
    water_free(&f.disks);
    return result;
}
