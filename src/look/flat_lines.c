// Lines of the 2D picture: the grid of cells, and the surface as the engine's level set sees it.
#include "base/error.h"
#include "base/memory.h"
#include "look/flat.h"
#include "surface/level_set.h"
#include <stdlib.h>

/// Nodes of the level set along a cell's side.
enum { FINE = 2 };

/// Weights and weighted positions of the averaged-positions level set, at nodes.
typedef struct Nodes {
    int nx, ny;
    float radius; ///< of the kernel, cells
    float *sum;   ///< [ny][nx][3] weight, x, y
    float *phi;   ///< [ny][nx] cells
} Nodes;

static BrimVec3 to_image(const Flat *f, float x, float y) {
    return vec_mul(view_project(&f->view, vec(x, y, 0)), 1 / (float)f->fine);
}

static void add_particle(Nodes *n, float x, float y) {
    int left = (int)fmaxf(0, ceilf((x - n->radius) * FINE));
    int right = (int)fminf((float)(n->nx - 1), floorf((x + n->radius) * FINE));
    int low = (int)fmaxf(0, ceilf((y - n->radius) * FINE));
    int high = (int)fminf((float)(n->ny - 1), floorf((y + n->radius) * FINE));
    for (int j = low; j <= high; j++) {
        for (int i = left; i <= right; i++) {
            float dx = (float)i / FINE - x, dy = (float)j / FINE - y;
            float k = 1 - (dx * dx + dy * dy) / (n->radius * n->radius);
            if (k <= 0) continue;
            float *sum = n->sum + 3 * ((size_t)j * (size_t)n->nx + (size_t)i), w = k * k * k;
            sum[0] += w, sum[1] += w * x, sum[2] += w * y;
        }
    }
}

/// The particle and its images in the walls that it is near.
static void add_images(Nodes *n, float x, float y) {
    float wide = (float)(n->nx - 1) / FINE, tall = (float)(n->ny - 1) / FINE;
    float xs[3] = {x, -x, 2 * wide - x}, ys[3] = {y, -y, 2 * tall - y};
    for (int k = 0; k < 9; k++) {
        float px = xs[k % 3], py = ys[k / 3];
        if (px > -n->radius && px < wide + n->radius && py > -n->radius && py < tall + n->radius)
            add_particle(n, px, py);
    }
}

static bool fill_nodes(Nodes *n, const Picture *p) {
    const BrimFrame *frame = p->frame;
    LevelSetProfile profile = level_set_profile(2);
    n->nx = FINE * p->def->cells[0] + 1, n->ny = FINE * p->def->cells[1] + 1;
    n->radius = profile.radius;
    size_t count = (size_t)n->nx * (size_t)n->ny;
    n->sum = memory_zero(3 * count * sizeof(float));
    n->phi = memory_new(count * sizeof(float));
    if (!n->sum || !n->phi) return false;
    for (size_t i = 0; i < frame->count; i++) {
        float x = frame->x[i] / p->cell, y = frame->y[i] / p->cell;
        if (fabsf(x) < 1e6f && fabsf(y) < 1e6f) add_images(n, x, y);
    }
    for (size_t i = 0; i < count; i++) {
        const float *s = n->sum + 3 * i;
        float x = (float)(i % (size_t)n->nx) / FINE, y = (float)(i / (size_t)n->nx) / FINE;
        n->phi[i] = LEVEL_SET_CUT;
        if (s[0] > 1e-6f) n->phi[i] = hypotf(x - s[1] / s[0], y - s[2] / s[0]) - profile.offset;
    }
    return true;
}

/// Where the level between two corners of a square is zero.
static void crossing(const float value[4], int a, int b, float *x, float *y) {
    static const float cx[4] = {0, 1, 1, 0}, cy[4] = {0, 0, 1, 1};
    float t = value[a] / (value[a] - value[b]);
    *x = cx[a] + t * (cx[b] - cx[a]), *y = cy[a] + t * (cy[b] - cy[a]);
}

/// Line through a square of nodes, counter-clockwise values; two of them where corners alternate.
static void draw_square(const Flat *f, Image *image, const float value[4], int i, int j, float pen,
                        BrimVec3 ink) {
    float x[4], y[4], step = f->picture->cell / FINE;
    int n = 0;
    for (int k = 0; k < 4; k++) {
        int next = (k + 1) % 4;
        if ((value[k] < 0) == (value[next] < 0)) continue;
        crossing(value, k, next, &x[n], &y[n]);
        n++;
    }
    for (int k = 0; k + 1 < n; k += 2) {
        BrimVec3 a = to_image(f, ((float)i + x[k]) * step, ((float)j + y[k]) * step);
        BrimVec3 b = to_image(f, ((float)i + x[k + 1]) * step, ((float)j + y[k + 1]) * step);
        image_line(image, a.x, a.y, b.x, b.y, pen, ink, 1);
    }
}

BrimResult flat_level_set(const Flat *f, Image *image, BrimError *error) {
    Nodes n = {0};
    bool filled = fill_nodes(&n, f->picture);
    float pen = fmaxf(1.5f, 2.2f * (float)image->height / 720);
    BrimVec3 ink = colour_hex(0x101418);
    for (int j = 0; filled && j + 1 < n.ny; j++) {
        for (int i = 0; i + 1 < n.nx; i++) {
            const float *v = n.phi + (size_t)j * (size_t)n.nx + (size_t)i;
            const float square[4] = {v[0], v[1], v[n.nx + 1], v[n.nx]};
            draw_square(f, image, square, i, j, pen, ink);
        }
    }
    free(n.sum);
    free(n.phi);
    if (filled) return BRIM_OK;
    return fail(error, BRIM_ERROR_MEMORY, "out of memory for the picture's level set");
}

/// A warped grid: from node to node.
static void bent_grid(const Flat *f, Image *image, const float *nodes) {
    const int nx = f->picture->def->cells[0] + 1, ny = f->picture->def->cells[1] + 1;
    BrimVec3 ink = colour_hex(0x3c4854);
    for (int i = 0; i < nx * ny; i++) {
        const float *here = nodes + 3 * (size_t)i;
        BrimVec3 a = to_image(f, here[0], here[1]);
        for (int k = 0; k < 2; k++) {
            if (k == 0 ? i % nx == nx - 1 : i / nx == ny - 1) continue;
            const float *next = here + 3 * (size_t)(k == 0 ? 1 : nx);
            BrimVec3 b = to_image(f, next[0], next[1]);
            image_line(image, a.x, a.y, b.x, b.y, 1, ink, 0.3f);
        }
    }
}

void flat_grid(const Flat *f, Image *image) {
    const BrimSimDef *def = f->picture->def;
    if (f->picture->want->nodes) {
        bent_grid(f, image, f->picture->want->nodes);
        return;
    }
    BrimVec3 ink = colour_hex(0x3c4854);
    for (int i = 1; i < def->cells[0]; i++) {
        BrimVec3 a = to_image(f, (float)i * f->picture->cell, 0);
        BrimVec3 b = to_image(f, (float)i * f->picture->cell, def->size.y);
        image_line(image, a.x, a.y, b.x, b.y, 1, ink, 0.3f);
    }
    for (int j = 1; j < def->cells[1]; j++) {
        BrimVec3 a = to_image(f, 0, (float)j * f->picture->cell);
        BrimVec3 b = to_image(f, def->size.x, (float)j * f->picture->cell);
        image_line(image, a.x, a.y, b.x, b.y, 1, ink, 0.3f);
    }
}
