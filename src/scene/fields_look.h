// Rows of the table of keys that say how pictures look; part of the table in fields.c.
#pragma once

#define LOOK(KEY, TYPE, DEFAULT, RANGE, UNIT, HELP, STORE, MEMBER)                    \
    {                                                                                 \
        {"look." KEY, TYPE, DEFAULT, RANGE, UNIT, HELP}, AT(STORE, SIM(look.MEMBER)), \
            .flags = FIELD_ASIDE | FIELD_3D                                           \
    }

// clang-format off
#define LOOK_FIELDS \
    LOOK("liquid.colour", "vector", "[0.25, 0.68, 0.87]", "0.0001 to 0.9999", "", \
         "fraction of red, green and blue light that is left after passing through `clarity` metres", \
         VECTOR, liquid_colour), \
    LOOK("liquid.clarity", "number", "1", "1e-6 to 1e6", "m", \
         "distance in the liquid after which white light has taken on its colour: tap water 3, a muddy river 0.1, milk 0.001", \
         FLOAT, liquid_clarity), \
    LOOK("sun.direction", "vector", "[-0.5, 0.68, 0.54]", "-1 to 1", "", "towards the sun", VECTOR, sun), \
    LOOK("sun.strength", "number", "1", "0 to 100", "", "1 = a clear day, 0 = overcast: no sun", \
         FLOAT, sun_strength), \
    LOOK("sky.strength", "number", "1", "0 to 100", "", "of the sky's light, or of its picture's", \
         FLOAT, sky_strength), \
    LOOK("sky.picture", "file", "", "", "", \
         "Radiance .hdr picture of the surroundings, twice as wide as high, instead of the built-in sky", \
         FILE, sky_picture), \
    LOOK("sky.turn", "number", "0", "-360 to 360", "deg", "of the picture about the vertical", FLOAT, sky_turn), \
    LOOK("exposure", "number", "1", "1e-3 to 1e3", "", "of the picture", FLOAT, exposure), \
    LOOK("ground", "flag", "true", "true, false", "", "a floor below the domain", FLAG, ground), \
    LOOK("box", "flag", "true", "true, false", "", "rods along the edges of the domain's walls", FLAG, box), \
    LOOK("caustics", "flag", "false", "true, false", "", \
         "light that the liquid focuses on the floor, by photon tracing", FLAG, caustics), \
    LOOK("camera.frame", "choice", "domain", "domain, water", "", \
         "what a camera without eye and target frames; water: if the frame has any", CHOICE, frame), \
    LOOK("camera.eye", "vector", "[0, 0, 0]", REACH, "m", \
         "position of the camera; if equal to target, it is found by frame", VECTOR, eye), \
    LOOK("camera.target", "vector", "[0, 0, 0]", REACH, "m", "where it looks", VECTOR, target), \
    LOOK("camera.angle", "number", "36", "1 to 160", "deg", "of view, from bottom to top", FLOAT, angle), \
    LOOK("camera.aperture", "number", "0", ">= 0", "m", \
         "diameter of the lens: the larger, the shallower the focus; 0 = everything is sharp", FLOAT, aperture), \
    LOOK("camera.focus", "number", "0", ">= 0", "m", "distance that is in focus; 0 = the target's", FLOAT, focus), \
    {{"look.camera.keyframes", "list", "[]", "", "", \
      "the camera's path: smooth between keyframes, at rest before and after"}, \
     LIST(look.keyframes, look.keyframe_count, table_camera_key), \
     .flags = FIELD_ASIDE | FIELD_3D}
/// Of what has a material: PLACE is the list's prefix, TYPE the struct of its items.
#define MATERIAL_FIELDS(PLACE, TYPE, PLAIN, AUTO) \
    {{PLACE "look.colour", "vector", "[0, 0, 0]", "0 to 1", "", \
      "fraction of red, green and blue light that it reflects; zeros: " PLAIN}, \
     AT(VECTOR, offsetof(TYPE, look.colour)), \
     .flags = FIELD_ASIDE | FIELD_3D | FIELD_QUIET}, \
    {{PLACE "look.roughness", "number", "1", "0 to 1", "", "1 = matte, 0 = polished"}, \
     AT(FLOAT, offsetof(TYPE, look.roughness)), \
     .flags = FIELD_ASIDE | FIELD_3D | FIELD_QUIET}, \
    {{PLACE "look.glass", "choice", "auto", "auto, no, yes", "", "drawn as glass; auto: " AUTO}, \
     AT(CHOICE, offsetof(TYPE, look.glass)), \
     .flags = FIELD_ASIDE | FIELD_3D | FIELD_QUIET}
// clang-format on
