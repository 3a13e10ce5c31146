// Keys of a camera's way.
#include "scene/fields.h"
#include "scene/row.h"

static const Field camera_key_fields[] = {
    {{"look.camera.keyframes[].time", "number", "required", ">= 0", "s",
      "times increase from keyframe to keyframe"},
     AT(DOUBLE, offsetof(BrimCameraKey, time)),
     .flags = FIELD_REQUIRED},
    {{"look.camera.keyframes[].eye", "vector", "required", REACH, "m", "where the camera stands"},
     AT(VECTOR, offsetof(BrimCameraKey, eye)),
     .flags = FIELD_REQUIRED},
    {{"look.camera.keyframes[].target", "vector", "required", REACH, "m", "where it looks"},
     AT(VECTOR, offsetof(BrimCameraKey, target)),
     .flags = FIELD_REQUIRED},
    {{"look.camera.keyframes[].angle", "number", "36", "1 to 160", "deg",
      "of view, from bottom to top"},
     AT(FLOAT, offsetof(BrimCameraKey, angle))},
};
const Table table_camera_key = {.prefix = "look.camera.keyframes[].",
                                .fields = camera_key_fields,
                                .count = COUNT(camera_key_fields),
                                .size = sizeof(BrimCameraKey),
                                .shape_offset = NO_SHAPE};
