// Keys of forces.
#include "scene/fields.h"
#include "scene/row.h"
#include <stddef.h>

#define FORCE_KINDS "uniform, point, vortex, wind, curve, target"
#define FORCE(MEMBER) offsetof(BrimForceDef, MEMBER)
#define OF_FORCE(KIND) .of = 1 + BRIM_FORCE_##KIND
#define FORCE_STRENGTH(KEY, KIND, HELP)                                                            \
    {                                                                                              \
        {"forces[]." KEY ".strength",         "number", "required", REACH, "m/s^2",                \
         HELP "; a number, or a formula of t"},                                                    \
            AT(FLOAT, FORCE(strength)), .flags = FIELD_REQUIRED, OF_FORCE(KIND),                   \
                                        .formula = FORCE(strength_formula), .variables = FORMULA_T \
    }
#define FORCE_PLACE(KEY, KIND, HELP)                                                    \
    {                                                                                   \
        {"forces[]." KEY ".at",                                                         \
         "vector",                                                                      \
         "required",                                                                    \
         REACH,                                                                         \
         "m",                                                                           \
         HELP "; numbers, or formulas of t"},                                           \
            AT(VECTOR, FORCE(at)), .flags = FIELD_REQUIRED, OF_FORCE(KIND),             \
                                   .formula = FORCE(at_formula), .variables = FORMULA_T \
    }
#define FORCE_NUMBER(KEY, MEMBER, KIND, DEFAULT, RANGE, UNIT, HELP)                        \
    {                                                                                      \
        {"forces[]." KEY, "number", DEFAULT, RANGE, UNIT, HELP}, AT(FLOAT, FORCE(MEMBER)), \
            OF_FORCE(KIND)                                                                 \
    }
#define FADES "fades to nothing at this distance; 0 = acts everywhere"
static const Field force_fields[] = {
    {{"forces[].<shape>", "shape", "", SHAPE_NAMES, "",
      "where it acts; without one everywhere. Of a target: what liquid is pulled to, required"},
     .store = STORE_KIND},
    {{"forces[].start", "number", "0", ">= 0", "s", "when it begins"}, AT(DOUBLE, FORCE(start))},
    {{"forces[].stop", "number", ".inf", "> 0", "s", "when it ends, after start; .inf = never"},
     AT(DOUBLE, FORCE(stop))},
    {{"forces[].uniform.acceleration", "vector", "required", REACH, "m/s^2",
      "the same everywhere; or formulas of x, y, z and t"},
     AT(VECTOR, FORCE(acceleration)),
     .flags = FIELD_REQUIRED,
     OF_FORCE(UNIFORM),
     .formula = FORCE(acceleration_formula),
     .variables = FORMULA_PLACE | FORMULA_T},
    FORCE_PLACE("point", POINT, "pulls liquid to a point"),
    FORCE_STRENGTH("point", POINT, "of the pull; below 0 it pushes"),
    FORCE_NUMBER("point.radius", radius, POINT, "0", ">= 0", "m", FADES),
    FORCE_PLACE("vortex", VORTEX, "turns liquid about an axis: a point of it"),
    {{"forces[].vortex.axis", "vector", "[0, 1, 0]", "", "",
      "of the vortex, by the right-hand rule; 3D only: in 2D it is z"},
     AT(VECTOR, FORCE(axis)),
     OF_FORCE(VORTEX),
     .flags = FIELD_3D},
    FORCE_STRENGTH("vortex", VORTEX, "around the axis"),
    FORCE_NUMBER("vortex.pull", pull, VORTEX, "0", REACH, "m/s^2", "towards the axis"),
    FORCE_NUMBER("vortex.radius", radius, VORTEX, "0", ">= 0", "m", FADES),
    {{"forces[].wind.velocity", "vector", "required", REACH, "m/s",
      "of the air over the liquid's surface; numbers, or formulas of t"},
     AT(VECTOR, FORCE(velocity)),
     .flags = FIELD_REQUIRED,
     OF_FORCE(WIND),
     .formula = FORCE(velocity_formula),
     .variables = FORMULA_T},
    FORCE_NUMBER("wind.drag", drag, WIND, "0.5", ">= 0", "1/s",
                 "rate at which the uppermost liquid approaches that velocity"),
    FORCE_NUMBER("wind.turbulence", turbulence, WIND, "0", ">= 0", "m/s",
                 "gusts: root mean square of a component"),
    FORCE_NUMBER("wind.scale", scale, WIND, "0.5", "> 0", "m", "size of gusts"),
    {{"forces[].curve.points", "list", "required", "", "",
      "two or more {at: [x, y, z]}: liquid is pushed along the line through them"},
     AT(LIST, FORCE(points)),
     .count_offset = FORCE(point_count),
     .list = &table_force_point,
     .flags = FIELD_REQUIRED,
     OF_FORCE(CURVE)},
    FORCE_STRENGTH("curve", CURVE, "along the line"),
    FORCE_NUMBER("curve.pull", pull, CURVE, "0", REACH, "m/s^2", "towards the line"),
    FORCE_NUMBER("curve.radius", radius, CURVE, "0", ">= 0", "m", FADES),
    FORCE_STRENGTH("target", TARGET, "towards the shape, outside of it"),
    FORCE_NUMBER("target.damping", damping, TARGET, "5", ">= 0", "1/s",
                 "rate at which liquid inside comes to rest"),
    FORCE_NUMBER("target.hold", hold, TARGET, "1", "0 to 1", "",
                 "fraction of gravity that is cancelled inside"),
};
const Table table_force = {.prefix = "forces[].",
                           .fields = force_fields,
                           .count = COUNT(force_fields),
                           .size = sizeof(BrimForceDef),
                           .shape_offset = FORCE(shape),
                           .within = FORCE(within),
                           .kinds = FORCE_KINDS,
                           .kind_offset = FORCE(kind)};

static const Field force_point_fields[] = {
    {{"forces[].curve.points[].at", "vector", "required", REACH, "m", "of the line"},
     AT(VECTOR, offsetof(BrimForcePoint, at)),
     .flags = FIELD_REQUIRED},
};
const Table table_force_point = {.prefix = "forces[].curve.points[].",
                                 .fields = force_point_fields,
                                 .count = COUNT(force_point_fields),
                                 .size = sizeof(BrimForcePoint),
                                 .shape_offset = NO_SHAPE};
