// Keys of bodies.
#include "scene/fields.h"
#include "scene/row.h"

#define BODY(MEMBER) offsetof(BrimBodyDef, MEMBER)
static const Field body_fields[] = {
    {{"bodies[].<shape>", "shape", "required", SHAPE_NAMES, "",
      "one of these keys, and below it the keys of that shape: at rest, where it is at the start"},
     .store = STORE_KIND},
    {{"bodies[].density", "number", "1000", "1 to 1e5", "kg/m^3", "below that of water it floats"},
     AT(FLOAT, BODY(density))},
    {{"bodies[].rigid", "flag", "false", "true, false", "",
      "keeps its shape; young, poisson and modes are then not read"},
     AT(FLAG, BODY(rigid))},
    {{"bodies[].young", "number", "1e5", "> 0", "Pa",
      "Young's modulus: 1e5 is soft rubber, 1e7 hard rubber, 1e10 wood"},
     AT(FLOAT, BODY(young))},
    {{"bodies[].poisson", "number", "0.4", "0 to 0.49", "", "Poisson's ratio; 2D is plane strain"},
     AT(FLOAT, BODY(poisson))},
    {{"bodies[].modes", "integer", "0", "0 to 200", "",
      "vibrations that it bends by; 0 = 12 with pins, 24 without"},
     AT(INT, BODY(modes))},
    {{"bodies[].elements", "integer", "0", "0 or 8 to 4000", "",
      "of its lattice, at most; 0 = 150 (2D: 400). Two must fit across its thinnest part"},
     AT(INT, BODY(elements))},
    {{"bodies[].damping", "number", "0", ">= 0", "1/s", "of all of its motion"},
     AT(FLOAT, BODY(damping))},
    {{"bodies[].friction", "number", "0.3", ">= 0", "",
      "Coulomb's coefficient against walls, solids and other bodies"},
     AT(FLOAT, BODY(friction))},
    {{"bodies[].velocity", "vector", "[0, 0, 0]", "", "m/s", "at the start"},
     AT(VECTOR, BODY(velocity))},
    {{"bodies[].spin", "vector", "[0, 0, 0]", "", "rad/s",
      "at the start, about its centre of mass (2D: one number)"},
     AT(TURN, BODY(spin))},
    {{"bodies[].pins", "list", "[]", "", "", "shapes: what of the body lies in them is held"},
     AT(LIST, BODY(pins)),
     .count_offset = BODY(pin_count),
     .list = &table_pin},
    {{"bodies[].grabs", "list", "[]", "", "", "hands that drag points of its surface along paths"},
     AT(LIST, BODY(grabs)),
     .count_offset = BODY(grab_count),
     .list = &table_grab},
};
const Table table_body = {"bodies[].",
                          body_fields,
                          COUNT(body_fields),
                          sizeof(BrimBodyDef),
                          offsetof(BrimBodyDef, shape),
                          NULL,
                          0};

static const Field pin_fields[] = {
    {{"bodies[].pins[].<shape>", "shape", "required", SHAPE_NAMES, "",
      "one of these keys, and below it the keys of that shape"},
     .store = STORE_KIND},
    {{"bodies[].pins[].keyframes", "list", "[]", "", "",
      "carry what it holds along: smooth between keyframes; none = it stays where it is"},
     AT(LIST, offsetof(BrimPinDef, keyframes)),
     .count_offset = offsetof(BrimPinDef, keyframe_count),
     .list = &table_pin_key},
};
const Table table_pin = {"bodies[].pins[].",
                         pin_fields,
                         COUNT(pin_fields),
                         sizeof(BrimPinDef),
                         offsetof(BrimPinDef, shape),
                         NULL,
                         0};

static const Field pin_key_fields[] = {
    {{"bodies[].pins[].keyframes[].time", "number", "required", ">= 0", "s",
      "times increase from keyframe to keyframe"},
     AT(DOUBLE, offsetof(BrimKeyframe, time)),
     .flags = FIELD_REQUIRED},
    {{"bodies[].pins[].keyframes[].position", "vector", "[0, 0, 0]", REACH, "m",
      "added to where the pin is at the start"},
     AT(VECTOR, offsetof(BrimKeyframe, position))},
    {{"bodies[].pins[].keyframes[].rotation", "vector", "[0, 0, 0]", REACH, "deg",
      "about x, then y, then z through the shape's center (2D: one number)"},
     AT(TURN, offsetof(BrimKeyframe, rotation))},
};
const Table table_pin_key = {"bodies[].pins[].keyframes[].",
                             pin_key_fields,
                             COUNT(pin_key_fields),
                             sizeof(BrimKeyframe),
                             NO_SHAPE,
                             NULL,
                             0};

#define GRAB(MEMBER) offsetof(BrimGrabDef, MEMBER)
static const Field grab_fields[] = {
    {{"bodies[].grabs[].at", "vector", "required", REACH, "m",
      "the vertex of the surface nearest to it, at the start, is held"},
     AT(VECTOR, GRAB(at)),
     .flags = FIELD_REQUIRED},
    {{"bodies[].grabs[].keyframes", "list", "[]", "", "",
      "path of the hand: smooth between keyframes; none = it stays where it is"},
     AT(LIST, GRAB(keyframes)),
     .count_offset = GRAB(keyframe_count),
     .list = &table_grab_key},
    {{"bodies[].grabs[].start", "number", "0", ">= 0", "s", "holds from this time on"},
     AT(DOUBLE, GRAB(start))},
    {{"bodies[].grabs[].stop", "number", "1e9", "> 0", "s", "lets go at this time"},
     AT(DOUBLE, GRAB(stop))},
    {{"bodies[].grabs[].force", "number", "0", ">= 0", "N",
      "that it pulls with at most; 0 = without limit (2D: N/m)"},
     AT(FLOAT, GRAB(force))},
};
const Table table_grab = {
    "bodies[].grabs[].", grab_fields, COUNT(grab_fields), sizeof(BrimGrabDef), NO_SHAPE, NULL, 0};

static const Field grab_key_fields[] = {
    {{"bodies[].grabs[].keyframes[].time", "number", "required", ">= 0", "s",
      "times increase from keyframe to keyframe"},
     AT(DOUBLE, offsetof(BrimKeyframe, time)),
     .flags = FIELD_REQUIRED},
    {{"bodies[].grabs[].keyframes[].position", "vector", "[0, 0, 0]", REACH, "m",
      "added to where the vertex is at the start"},
     AT(VECTOR, offsetof(BrimKeyframe, position))},
};
const Table table_grab_key = {"bodies[].grabs[].keyframes[].",
                              grab_key_fields,
                              COUNT(grab_key_fields),
                              sizeof(BrimKeyframe),
                              NO_SHAPE,
                              NULL,
                              0};
