// Reads the options of brim render. Each function says what is wrong and returns false.
#pragma once
#include "cli.h"

/// "1280x720"; NULL leaves the size as it is.
bool parse_size(const char *text, BrimPictureDef *picture);
/// "auto", a named view of a domain of some size, or "X,Y,Z:X,Y,Z[:DEGREES]".
bool parse_camera(const char *text, BrimVec3 size, BrimCamera *camera);
/// "LOW:HIGH"
bool parse_range(const char *text, BrimPictureDef *picture);
/// "water" or "particles"; NULL: by `water`.
bool parse_style(const char *text, bool water, BrimPictureDef *picture);

/// Whether a path is a printf format with one whole number, as in frames/%04d.png.
bool is_pattern(const char *path);
bool ends_with(const char *path, const char *end);

/// The look of another scene file, and what it holds.
typedef struct Look {
    BrimScene *scene;
    BrimSolidDef *solids;
    BrimBodyDef *bodies;
} Look;

/// Puts the look of a scene file, and the materials of its solids and bodies, into a def. Returns
/// an exit code.
int take_look(const char *path, Look *look, BrimSimDef *def);
void look_free(Look *look);
/// Of all that decides how a def looks.
uint64_t look_hash(const BrimSimDef *def);
