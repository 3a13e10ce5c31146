// Pictures of a frame, drawn in software. Every pixel is a function of the frame alone, so the
// bytes are the same for any number of threads.
//
//   view        where the camera (and the light) stands      depth = metres along its forward axis
//   water       particles => depth and speed buffers, smoothed into a surface
//   solids      the solids in place
//   trace       rays marched through their distance => depth and normal buffers
//   scene       joins them with floor, shadow and occlusion  => image, linear light
//   values      what particles are coloured by, and the scale
//   flat        the 2D picture                               => image
//   tracer      the ray-traced picture of a mesh             => image
//   paint       box, legend, title over the image
//   file        image => file, by its name: png or exr
#pragma once
#include "base/team.h"
#include "brim/brim.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>

// ------------------------------------------------------------------------------------ vectors

static inline BrimVec3 vec(float x, float y, float z) {
    return (BrimVec3){x, y, z};
}
static inline BrimVec3 vec_add(BrimVec3 a, BrimVec3 b) {
    return vec(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline BrimVec3 vec_sub(BrimVec3 a, BrimVec3 b) {
    return vec(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline BrimVec3 vec_mul(BrimVec3 a, float s) {
    return vec(a.x * s, a.y * s, a.z * s);
}
/// Componentwise: light through a colour.
static inline BrimVec3 vec_tint(BrimVec3 a, BrimVec3 b) {
    return vec(a.x * b.x, a.y * b.y, a.z * b.z);
}
static inline float vec_dot(BrimVec3 a, BrimVec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline BrimVec3 vec_cross(BrimVec3 a, BrimVec3 b) {
    return vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline float vec_length(BrimVec3 a) {
    return sqrtf(vec_dot(a, a));
}
static inline BrimVec3 vec_unit(BrimVec3 a) {
    float length = vec_length(a);
    return length > 0 ? vec_mul(a, 1 / length) : vec(0, 1, 0);
}
static inline BrimVec3 vec_mix(BrimVec3 a, BrimVec3 b, float t) {
    return vec_add(vec_mul(a, 1 - t), vec_mul(b, t));
}
static inline float clampf(float x, float low, float high) {
    return x < low ? low : x > high ? high : x;
}
/// 0 below `low`, 1 above `high`, smooth in between.
static inline float smooth_step(float low, float high, float x) {
    float t = clampf((x - low) / (high - low), 0, 1);
    return t * t * (3 - 2 * t);
}

// -------------------------------------------------------------------------------------- view

/// A camera with square pixels; pixel (i, j) spans [i, i + 1) x [j, j + 1), j downwards.
typedef struct View {
    BrimVec3 eye, right, up, forward;
    bool parallel; ///< the light's view
    float scale;   ///< pixels per metre at depth 1; parallel: at any depth
    float centre_x, centre_y;
    int width, height;
} View;

/// Three-quarter view that holds the box [0, size], with room for text at top and bottom.
View view_camera(BrimVec3 size, int width, int height);
/// The same for ray-traced pictures, which have no text but a horizon.
/// Over `ground` it looks down, since rivers lie below their banks.
View view_water(BrimVec3 size, bool ground, int width, int height);
View view_from(const BrimCamera *camera, int width, int height);
/// The same for the box [low, high] inside a domain.
View view_box(BrimVec3 low, BrimVec3 high, int width, int height);
/// Where a look's camera stands at a time; eye = target when it has none.
BrimCamera look_camera(const BrimLookDef *look, double time);
/// Parallel view along -to_light that holds the box.
View view_light(BrimVec3 size, BrimVec3 to_light, int resolution);

static inline BrimVec3 view_project(const View *v, BrimVec3 p) {
    BrimVec3 d = vec_sub(p, v->eye);
    float depth = vec_dot(d, v->forward);
    float s = v->parallel ? v->scale : v->scale / depth;
    return vec(v->centre_x + s * vec_dot(d, v->right), v->centre_y - s * vec_dot(d, v->up), depth);
}

/// Ray of a pixel position: point at depth t = *origin + t * result.
static inline BrimVec3 view_ray(const View *v, float px, float py, BrimVec3 *origin) {
    BrimVec3 across = vec_add(vec_mul(v->right, (px - v->centre_x) / v->scale),
                              vec_mul(v->up, (v->centre_y - py) / v->scale));
    *origin = v->parallel ? vec_add(v->eye, across) : v->eye;
    return v->parallel ? v->forward : vec_add(v->forward, across);
}

static inline BrimVec3 view_point(const View *v, float px, float py, float depth) {
    BrimVec3 origin, ray = view_ray(v, px, py, &origin);
    return vec_add(origin, vec_mul(ray, depth));
}

/// Depths at which a ray enters and leaves the box [0, size]; begin > end when it never does.
typedef struct BoxSpan {
    float begin, end;
    int face; ///< axis of the side where it enters: 0 x, 1 y, 2 z
} BoxSpan;
BoxSpan box_span(BrimVec3 size, BrimVec3 origin, BrimVec3 direction);

// ------------------------------------------------------------------------------------- image

/// Linear light, [height][width], 1 = white.
typedef struct Image {
    int width, height;
    bool scene; ///< as bright as the scene is, for compositing; not fitted to what a screen shows
    BrimVec3 *pixel;
} Image;

static inline void image_blend(Image *image, int x, int y, BrimVec3 colour, float alpha) {
    if (x < 0 || y < 0 || x >= image->width || y >= image->height) return;
    BrimVec3 *p = &image->pixel[(size_t)y * (size_t)image->width + (size_t)x];
    *p = vec_mix(*p, colour, alpha);
}

/// Anti-aliased line with round ends, in pixels.
void image_line(Image *image, float x0, float y0, float x1, float y1, float width, BrimVec3 colour,
                float alpha);
void image_rectangle(Image *image, float x0, float y0, float x1, float y1, BrimVec3 colour,
                     float alpha);
/// Text of letters (shown as lower-case), digits and . , : / - + = ( ) _ % in a stroke font; `size`
/// is the height of a digit. (x, y) is the left end of the base line. Returns where the text ends.
float image_text(Image *image, float x, float y, float size, const char *text, BrimVec3 colour);
float text_width(float size, const char *text);

/// Colour of sRGB hex digits 0xrrggbb in linear light.
BrimVec3 colour_hex(unsigned rgb);
/// sRGB byte of linear light.
uint8_t colour_byte(float linear);

BrimVec3 colour_to_oklab(BrimVec3 linear);

// ------------------------------------------------------------------------------------- scales

enum { MAP_COLOURS = 512 };

/// Even to the eye: equal steps in Oklab. Safe for colour-blind eyes: lightness rises or falls all
/// the way.
typedef enum ColourMap {
    COLOUR_BLUE_WHITE, ///< speed
    COLOUR_WHITE_RED,  ///< density error
    COLOUR_MANY,       ///< violet, blue, green, yellow: anything else
} ColourMap;

void colour_map_fill(ColourMap map, BrimVec3 colour[MAP_COLOURS]);

/// From a particle's value to its colour.
typedef struct Scale {
    float low, high;
    const char *name, *unit;
    bool percent; ///< shown as such
    BrimVec3 colour[MAP_COLOURS];
} Scale;

/// With low = high in the picture's def the scale is a round one around nearly all of the values.
void scale_init(Scale *scale, const BrimPictureDef *picture, const float *value, size_t count);

static inline BrimVec3 scale_colour(const Scale *scale, float value) {
    float t = clampf((value - scale->low) / (scale->high - scale->low), 0, 1) * (MAP_COLOURS - 1);
    return scale->colour[(int)(t + 0.5f)];
}

/// What the picture colours particles by: new array [frame count], 0 for what is not a number.
BrimResult values_new(const BrimSimDef *def, const BrimFrame *frame, const BrimPictureDef *picture,
                      float **values, BrimError *error);

// ------------------------------------------------------------------------------------- water

/// Nearest sphere at each pixel. Pixels without one: depth INFINITY, value 0.
typedef struct Water {
    int width, height;
    float *depth; ///< [height][width], m
    float *value; ///< [height][width] of the sphere; NULL when not wanted
} Water;

typedef struct Spheres {
    float radius;          ///< m
    float least;           ///< pixels
    const BrimVec3 *walls; ///< size of a box whose walls water touches, NULL: none
    const float *value;    ///< [particles] wanted too; NULL: not
} Spheres;

/// Draws particles as spheres. Those within a diameter of a wall are drawn on it as well, so that
/// no gaps show along the box's edges. BRIM_ERROR_MEMORY only.
BrimResult water_splat(Water *water, const View *view, const BrimFrame *frame,
                       const Spheres *spheres, Team *team, BrimError *error);
/// Cuts what stands out of the box [0, size]: walls of water are flat, as the domain's are.
void water_clip(Water *water, const View *view, BrimVec3 size, Team *team);
/// Smooths depth and value over about `reach` metres, across depth steps of at most `range`, so
/// that many spheres become a surface and single ones remain drops.
BrimResult water_smooth(Water *water, const View *view, float reach, float range, Team *team,
                        BrimError *error);
void water_free(Water *water);

// ------------------------------------------------------------------------------------- solids

typedef struct Solid Solid;

/// The solids that exist at the picture's time, in place, then the bodies.
typedef struct Solids {
    Solid **solid;
    bool *clear;  ///< [count] thin walls are drawn clear, so that a cup does not hide its water
    bool *ground; ///< [count] height fields
    bool *mesh;   ///< [count] triangles
    BrimMaterial *look; ///< [count]
    int count;
    BrimVec3 size; ///< of the domain: solids are shown inside it
    float cell;    ///< m
} Solids;

/// The def's solids and, from a file of brim_write_bodies, its bodies; NULL: no bodies.
BrimResult solids_new(Solids *solids, const BrimSimDef *def, double time, const char *bodies,
                      BrimError *error);
void solids_free(Solids *solids);
/// Distance to the nearest solid, or with `solid_only` to the nearest that is not clear, m.
/// (x, y, z) [n] => distance [n], and, when not NULL, clear [n]: whether that solid is.
void solids_distance(const Solids *solids, bool solid_only, int n, const float *x, const float *y,
                     const float *z, float *distance, bool *clear);

/// Distance to the nearest solid of one kind: clear, or not.
void solids_distance_kind(const Solids *solids, bool clear, int n, const float *x, const float *y,
                          const float *z, float *distance);
/// Outward normal of the nearest solid, `otherwise` where its distance has no slope.
BrimVec3 solids_normal(const Solids *solids, BrimVec3 point, BrimVec3 otherwise);
/// Of the nearest solid's material.
float solids_roughness(const Solids *solids, BrimVec3 point);
/// Colour of the nearest solid's material, linear: ground is rock where steep, grass where
/// flat, gravel under water.
BrimVec3 solids_paint(const Solids *solids, BrimVec3 point, BrimVec3 normal, bool wet);

/// What a ray meets: the first solid and, when that is clear, the next behind it.
typedef struct SolidHit {
    float near, behind;                      ///< depth; INFINITY where nothing is met
    int8_t near_normal[3], behind_normal[3]; ///< times 127
    bool clear, behind_clear;
} SolidHit;

/// Rays of all pixels => hit [height][width], but for what lies beyond limit [height][width].
void solids_trace(const Solids *solids, const View *view, const float *limit, SolidHit *hit,
                  Team *team);
/// First solid that is not clear: depth = min(depth, hit) [height][width].
void solids_shadow(const Solids *solids, const View *view, float *depth, Team *team);

// ------------------------------------------------------------------------------------ pictures

typedef struct Picture {
    const BrimSimDef *def;
    const BrimFrame *frame;
    const BrimPictureDef *want;
    double time;
    float cell, spacing; ///< of cells and of particles, m
    Team *team;          ///< NULL: the caller alone
    Image image;
    float *value; ///< [particles]
    Scale scale;
    Solids solids;
} Picture;

/// Spheres; joined into a surface when the picture wants water.
BrimResult scene_draw(Picture *picture, BrimError *error);
BrimResult flat_draw(Picture *picture, BrimError *error);
/// The picture's foam over what is drawn. view: in samples, `fine` along a pixel's side; depth
/// [samples] of what hides it, NULL: nothing does.
void foam_paint(const Picture *picture, const View *view, int fine, const float *depth,
                Image *image);
/// Title and legend.
void paint_text(Picture *picture);
/// Lower right corner of what the title takes up, pixels; zeros when the picture is too small.
void paint_title_box(const Picture *picture, float *right, float *bottom);

/// The picture's own camera, or one found for its style, with `fine` samples along a pixel's side;
/// with room for text or not.
View picture_camera(const Picture *picture, int fine, bool text);

// --------------------------------------------------------------------------------------- file

/// What a picture's name asks for.
typedef enum PictureFormat { PICTURE_UNKNOWN, PICTURE_PNG, PICTURE_EXR } PictureFormat;

/// By the name's ending, upper or lower case. Unknown: *error says what is known.
PictureFormat picture_format(const char *path, BrimError *error);
/// The file appears when it is complete. BRIM_ERROR_MISSING for PNG when the build lacks libpng.
/// `note` may be NULL.
BrimResult picture_write(const Image *image, const char *note, const char *path, BrimError *error);

BrimResult png_write(const Image *image, const char *note, const char *path, BrimError *error);
BrimResult exr_write(const Image *image, const char *note, const char *path, BrimError *error);
/// Whether a file begins as an EXR picture does.
bool exr_is(const uint8_t head[4]);
/// The note of a picture, "" without one. False when it is not whole, or not as Brim writes them.
bool png_note(FILE *file, char *text, size_t text_size);
bool exr_note(FILE *file, char *text, size_t text_size);
