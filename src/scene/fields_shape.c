// Keys of shapes: one table a kind, and what all have.
#include "scene/fields.h"
#include "scene/row.h"
#include <stddef.h>

#define SHAPE(MEMBER) offsetof(ShapeRead, def.MEMBER)

static const Field placement_fields[] = {
    {{"<shape>.rotation", "vector", "[0, 0, 0]", "", "deg",
      "any shape: about x, then y, then z through its center (2D: one number)"},
     AT(TURN, SHAPE(rotation))},
    {{"<shape>.scale", "number", "1", "1e-6 to 1e6", "", "any shape: scaled about its center"},
     AT(FLOAT, SHAPE(scale))},
};
const Table table_placement = {
    "<shape>.", placement_fields, COUNT(placement_fields), sizeof(ShapeRead), NO_SHAPE, NULL, 0, 0};

#define PLACE(KEY, HELP) \
    { {KEY, "vector", "[0, 0, 0]", "", "m", HELP}, AT(VECTOR, SHAPE(position)) }
#define LENGTH(KEY, MEMBER, HELP)                                                \
    {                                                                            \
        {KEY, "number", "required", "> 0", "m", HELP}, AT(FLOAT, SHAPE(MEMBER)), \
            .flags = FIELD_REQUIRED                                              \
    }
#define CHILDREN(KEY, HELP)                                                   \
    {                                                                         \
        {KEY, "list", "required", "", "", HELP}, AT(SHAPES, SHAPE(children)), \
            .flags = FIELD_REQUIRED                                           \
    }

static const Field box_fields[] = {
    {{"box.low", "vector", "", "", "m", "low corner; with high, instead of center and size"},
     AT(VECTOR, offsetof(ShapeRead, low)),
     .flags = FIELD_SHORTHAND},
    {{"box.high", "vector", "", "", "m", "high corner"},
     AT(VECTOR, offsetof(ShapeRead, high)),
     .flags = FIELD_SHORTHAND},
    PLACE("box.center", "of the box; with size"),
    {{"box.size", "vector", "required", "> 0", "m", "full edge lengths; or give low and high"},
     AT(VECTOR, SHAPE(size))},
};
static const Field sphere_fields[] = {
    PLACE("sphere.center", "of the sphere; in 2D a disk"),
    LENGTH("sphere.radius", radius, "of the sphere"),
};
static const Field cylinder_fields[] = {
    PLACE("cylinder.center", "middle of the axis, which is y unless rotated"),
    LENGTH("cylinder.radius", radius, "of the cylinder"),
    LENGTH("cylinder.height", height, "along the axis, end to end"),
};
static const Field capsule_fields[] = {
    PLACE("capsule.center", "middle of the axis, which is y unless rotated"),
    LENGTH("capsule.radius", radius, "of the sides and of both ends"),
    LENGTH("capsule.height", height, "of the straight part"),
};
static const Field plane_fields[] = {
    PLACE("plane.point", "any point of the plane"),
    {{"plane.normal", "vector", "[0, 1, 0]", "", "",
      "the shape is the side that it points away from"},
     AT(VECTOR, SHAPE(normal))},
};
static const Field torus_fields[] = {
    PLACE("torus.center", "middle of the axis, which is y unless rotated"),
    LENGTH("torus.radius", radius, "of the ring"),
    LENGTH("torus.tube", tube, "radius of the tube"),
};
static const Field height_field_fields[] = {
    PLACE("height_field.position", "of the corner with the lowest x and z, at height 0"),
    {{"height_field.length", "number", "required", "> 0", "m", "along x"},
     AT(FLOAT, SHAPE(size.x)),
     .flags = FIELD_REQUIRED},
    {{"height_field.width", "number", "required", "> 0", "m", "along z; 3D only"},
     AT(FLOAT, SHAPE(size.z)),
     .flags = FIELD_REQUIRED | FIELD_3D},
    {{"height_field.file", "text", "", "", "", "grey PGM picture, 8 or 16 bit; rows along z"},
     AT(FILE, SHAPE(file))},
    {{"height_field.height", "number", "0", ">= 0", "m", "of white in the picture"},
     AT(FLOAT, SHAPE(height))},
    {{"height_field.heights", "list", "", "", "m",
      "rows along z of heights along x; in 2D one list"},
     AT(HEIGHTS, SHAPE(heights))},
    {{"height_field.formula", "formula", "", "", "m",
      "height over x and z, both measured from the field's corner"},
     AT(FORMULA, SHAPE(formula)),
     .variables = FORMULA_X | FORMULA_Z},
    {{"height_field.canyon", "map", "", "", "", "a procedural river canyon"},
     AT(CANYON, SHAPE(canyon)),
     .list = &table_canyon},
};
static const Field mesh_fields[] = {
    {{"mesh.file", "text", "required", "", "",
      "closed triangle mesh: OBJ, PLY or STL; or tetrahedra: .msh, .mesh, .vtk, .node and .ele"},
     AT(FILE, SHAPE(file))},
    PLACE("mesh.position", "of the mesh's own origin"),
    {{"mesh.frames", "text", "", "", "",
      "instead of file, for solids: frames of a mesh that deforms, OBJ, PLY or STL of one "
      "topology; a pattern such as walk_####.obj, or a folder"},
     AT(FILES, SHAPE(frames))},
    {{"mesh.frame_rate", "number", "24", "> 0", "1/s", "of these frames"},
     AT(DOUBLE, SHAPE(frame_rate)),
     .flags = FIELD_QUIET},
    {{"mesh.frame_start", "number", "0", "-1e9 to 1e9", "s", "time of the first of them"},
     AT(DOUBLE, SHAPE(frame_start)),
     .flags = FIELD_QUIET},
    {{"mesh.repeat", "flag", "false", "true, false", "",
      "the first frame follows the last; else the mesh rests before the first and after the last"},
     AT(FLAG, SHAPE(frame_repeat)),
     .flags = FIELD_QUIET},
};
static const Field union_fields[] = {
    PLACE("union.position", "moves the whole; a moving solid turns about it"),
    CHILDREN("union.of", "shapes, a list; `union: [...]` is short for `union: {of: [...]}`"),
};
static const Field difference_fields[] = {
    PLACE("difference.position", "moves the whole; a moving solid turns about it"),
    CHILDREN("difference.of",
             "the first shape without the others; `difference: [...]` is short for this"),
};
static const Field smooth_union_fields[] = {
    PLACE("smooth_union.position", "moves the whole; a moving solid turns about it"),
    LENGTH("smooth_union.blend", blend, "radius of the rounding"),
    CHILDREN("smooth_union.of", "shapes, a list"),
};
#define SHAPE_TABLE(PREFIX, FIELDS) \
    { PREFIX, FIELDS, COUNT(FIELDS), sizeof(ShapeRead), NO_SHAPE, NULL, 0, 0 }
const Table table_shape[SHAPE_KINDS] = {
    [BRIM_SHAPE_BOX] = SHAPE_TABLE("box.", box_fields),
    [BRIM_SHAPE_SPHERE] = SHAPE_TABLE("sphere.", sphere_fields),
    [BRIM_SHAPE_CYLINDER] = SHAPE_TABLE("cylinder.", cylinder_fields),
    [BRIM_SHAPE_CAPSULE] = SHAPE_TABLE("capsule.", capsule_fields),
    [BRIM_SHAPE_PLANE] = SHAPE_TABLE("plane.", plane_fields),
    [BRIM_SHAPE_TORUS] = SHAPE_TABLE("torus.", torus_fields),
    [BRIM_SHAPE_HEIGHT_FIELD] = SHAPE_TABLE("height_field.", height_field_fields),
    [BRIM_SHAPE_MESH] = SHAPE_TABLE("mesh.", mesh_fields),
    [BRIM_SHAPE_UNION] = SHAPE_TABLE("union.", union_fields),
    [BRIM_SHAPE_DIFFERENCE] = SHAPE_TABLE("difference.", difference_fields),
    [BRIM_SHAPE_SMOOTH_UNION] = SHAPE_TABLE("smooth_union.", smooth_union_fields),
};

#define CANYON(MEMBER) offsetof(BrimCanyonDef, MEMBER)
static const Field canyon_fields[] = {
    {{"height_field.canyon.seed", "integer", "1", "0 to 4294967295", "", "of the rock's relief"},
     AT(UINT, CANYON(seed))},
    {{"height_field.canyon.bed", "number", "required", ">= 0", "m", "height of the bed at x = 0"},
     AT(FLOAT, CANYON(bed)),
     .flags = FIELD_REQUIRED},
    {{"height_field.canyon.slope", "number", "0.01", "0 to 1", "",
      "fall of the bed per metre along x, not counting the waterfalls"},
     AT(FLOAT, CANYON(slope))},
    {{"height_field.canyon.width", "number", "required", "> 0", "m", "of the bed"},
     AT(FLOAT, CANYON(width)),
     .flags = FIELD_REQUIRED},
    {{"height_field.canyon.depth", "number", "required", "> 0", "m", "of the canyon, bed to rim"},
     AT(FLOAT, CANYON(depth)),
     .flags = FIELD_REQUIRED},
    {{"height_field.canyon.meander", "number", "0", ">= 0", "m",
      "how far the bed winds to either side"},
     AT(FLOAT, CANYON(meander))},
    {{"height_field.canyon.wavelength", "number", "100", "> 0", "m", "of the meander along x"},
     AT(FLOAT, CANYON(wavelength))},
    {{"height_field.canyon.roughness", "number", "0", ">= 0", "m",
      "amplitude of the rock's relief"},
     AT(FLOAT, CANYON(roughness))},
    {{"height_field.canyon.falls", "list", "[]", "", "",
      "waterfalls, at most four, a list of {x, drop}"},
     AT(FALLS, CANYON(fall_count)),
     .list = &table_fall},
};
const Table table_canyon = {"height_field.canyon.",
                            canyon_fields,
                            COUNT(canyon_fields),
                            sizeof(BrimCanyonDef),
                            NO_SHAPE,
                            NULL,
                            0,
                            0};

static const Field fall_fields[] = {
    {{"height_field.canyon.falls[].x", "number", "required", ">= 0", "m", "position; increasing"},
     AT(FLOAT, offsetof(Fall, x)),
     .flags = FIELD_REQUIRED},
    {{"height_field.canyon.falls[].drop", "number", "required", "> 0", "m", "how far it drops"},
     AT(FLOAT, offsetof(Fall, drop)),
     .flags = FIELD_REQUIRED},
};
const Table table_fall = {"height_field.canyon.falls[].",
                          fall_fields,
                          COUNT(fall_fields),
                          sizeof(Fall),
                          NO_SHAPE,
                          NULL,
                          0,
                          0};
