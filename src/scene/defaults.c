// Defs with the defaults of the table of fields.
#include "scene/check.h"
#include "scene/fields.h"

BrimSimDef brim_default_sim_def(void) {
    BrimSimDef def = {0};
    table_defaults(&table_sim, &def);
    def.cookie = def.foam.cookie = BRIM_DEF_COOKIE;
    return def;
}

BrimFoamDef brim_default_foam_def(void) {
    return brim_default_sim_def().foam;
}

BrimSourceDef brim_default_source_def(void) {
    BrimSourceDef def = {.shape = brim_default_shape_def()};
    table_defaults(&table_source, &def);
    return def;
}

BrimDrainDef brim_default_drain_def(void) {
    BrimDrainDef def = {.shape = brim_default_shape_def()};
    table_defaults(&table_drain, &def);
    return def;
}

BrimBodyDef brim_default_body_def(void) {
    BrimBodyDef def = {.shape = brim_default_shape_def()};
    table_defaults(&table_body, &def);
    return def;
}

BrimGrabDef brim_default_grab_def(void) {
    BrimGrabDef def = {0};
    table_defaults(&table_grab, &def);
    return def;
}

BrimForceDef brim_default_force_def(void) {
    BrimForceDef def = {.shape = brim_default_shape_def()};
    table_defaults(&table_force, &def);
    return def;
}

BrimGaugeDef brim_default_gauge_def(void) {
    BrimGaugeDef def = {0};
    table_defaults(&table_gauge, &def);
    return def;
}
