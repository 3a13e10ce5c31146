// Settings: the rows of the table of scene keys that are marked as live, as far as a simulation
// reads them at each step and has what they need.
#include "live/settings.h"
#include "base/error.h"
#include "emit/emit.h"
#include "scene/fields.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A setting of a simulation: its row, and where its value lies.
typedef struct Found {
    const Table *table;
    const Field *field;
    int source; ///< -1: of the simulation itself
} Found;

/// Whether a number switches something off that cannot be switched on again, so is not to change
/// to 0 or from it.
static bool is_switch(const BrimSim *s, const Field *f) {
    const size_t offset = f->offset;
    return offset == offsetof(BrimSimDef, viscosity) ||
           offset == offsetof(BrimSimDef, surface_tension) || offset == offsetof(BrimSimDef, step);
}

/// Whether the simulation reads the key.
static bool is_used(const BrimSim *s, const Field *f) {
    double value[3];
    if (!(f->flags & FIELD_LIVE)) return false;
    if (f->offset == offsetof(BrimSimDef, cfl)) return !(s->def.step > 0);
    if (f->offset == offsetof(BrimSimDef, flip_ratio)) return s->def.transfer == BRIM_TRANSFER_FLIP;
    if (!is_switch(s, f)) return true;
    field_get(f, &s->def, s->dim, value);
    return value[0] > 0;
}

/// The setting of that number; false past the last.
static bool find_index(const BrimSim *s, int index, Found *found) {
    for (int i = 0; i < table_sim.count; i++)
        if (is_used(s, &table_sim.fields[i]) && index-- == 0) {
            *found = (Found){&table_sim, &table_sim.fields[i], -1};
            return true;
        }
    for (int k = 0; k < s->source_count; k++)
        for (int i = 0; i < table_source.count; i++)
            if (table_source.fields[i].flags & FIELD_LIVE && index-- == 0) {
                *found = (Found){&table_source, &table_source.fields[i], k};
                return true;
            }
    return false;
}

static void *base_of(const BrimSim *s, const Found *f) {
    return f->source < 0 ? (void *)&s->def : (void *)&s->sources[f->source].def;
}

static void key_of(const Found *f, char key[48]) {
    if (f->source < 0)
        snprintf(key, 48, "%s", f->field->info.key);
    else
        snprintf(key, 48, "sources[%d].%s", f->source, field_key(f->table, f->field));
}

static int values_of(const BrimSim *s, const Found *f, double values[3]) {
    BrimVec3 g = gravity_at(s, s->time);
    if (f->field->store != STORE_GRAVITY) return field_get(f->field, base_of(s, f), s->dim, values);
    values[0] = g.x, values[1] = g.y, values[2] = g.z;
    return s->dim;
}

bool brim_sim_setting(const BrimSim *sim, int index, BrimSetting *setting) {
    Found found;
    if (!sim || !setting || index < 0 || !find_index(sim, index, &found)) return false;
    const BrimFieldInfo *info = &found.field->info;
    *setting = (BrimSetting){.range = info->range, .unit = info->unit, .help = info->help};
    key_of(&found, setting->key);
    setting->count = values_of(sim, &found, setting->values);
    return true;
}

static bool find_key(const BrimSim *s, const char *key, Found *found) {
    for (int i = 0; find_index(s, i, found); i++) {
        char name[48];
        key_of(found, name);
        if (strcmp(name, key) == 0) return true;
    }
    return false;
}

static BrimResult not_allowed(const BrimSim *s, const Found *f, const char *key, double value,
                              BrimError *error) {
    char allowed[256];
    field_allowed(f->field, s->dim, allowed, sizeof allowed);
    return fail(error, BRIM_ERROR_INPUT, "%s: %g is not allowed: %s%s", key, value, allowed,
                f->source < 0 && is_switch(s, f->field) ? ", and not 0 while it runs" : "");
}

/// Room for one more change, so that a setting that was made is never forgotten.
static SettingChange *change_of(BrimSim *s, const char *key, BrimError *error) {
    for (int i = 0; i < s->setting_count; i++)
        if (strcmp(s->settings[i].key, key) == 0) return &s->settings[i];
    SettingChange *larger =
        s->setting_count < SETTINGS_MOST
            ? realloc(s->settings, ((size_t)s->setting_count + 1) * sizeof *larger)
            : NULL;
    if (!larger) {
        fail(error, BRIM_ERROR_MEMORY, "%s: no room for more settings", key);
        return NULL;
    }
    s->settings = larger;
    memset(&larger[s->setting_count], 0, sizeof *larger); // padding too: it goes into checkpoints
    return &larger[s->setting_count];
}

/// Writes the value to where the steps read it.
static BrimResult store(BrimSim *s, const Found *f, const double values[3], BrimError *error) {
    BrimSourceDef before = f->source < 0 ? (BrimSourceDef){0} : s->sources[f->source].def;
    field_set(f->field, base_of(s, f), values);
    if (f->source < 0) return BRIM_OK;
    Source *source = &s->sources[f->source];
    for (int a = 0; a < 3; a++) formula_free(&source->velocity_at[a]);
    BrimResult r = emit_prepare(s, source, f->source, error);
    if (r == BRIM_OK) return BRIM_OK;
    source->def = before;
    emit_prepare(s, source, f->source, NULL);
    return r;
}

BrimResult brim_sim_set(BrimSim *sim, const char *key, const double *values, int count,
                        BrimError *error) {
    Found found;
    double now[3] = {0};
    NEED(sim, error);
    NEED(key, error);
    NEED(values, error);
    if (strlen(key) >= sizeof sim->settings->key || !find_key(sim, key, &found))
        return fail(error, BRIM_ERROR_INPUT, "%.60s: not a key that can change while it runs", key);
    int wanted = values_of(sim, &found, now);
    if (count < wanted || count > 3)
        return fail(error, BRIM_ERROR_INPUT, "%s: has %d values, not %d", key, wanted, count);
    bool positive = found.source < 0 && is_switch(sim, found.field);
    for (int i = 0; i < wanted; i++) {
        if (!field_allows(found.field, values[i]) || (positive && !(values[i] > 0)))
            return not_allowed(sim, &found, key, values[i], error);
        now[i] = values[i];
    }
    if (found.field->store == STORE_GRAVITY) // has a place of its own in the state
        return brim_sim_set_gravity(sim, (BrimVec3){(float)now[0], (float)now[1], (float)now[2]},
                                    error);
    SettingChange *change = change_of(sim, key, error);
    if (!change) return BRIM_ERROR_MEMORY;
    BrimResult r = store(sim, &found, now, error);
    if (r != BRIM_OK) return r;
    if (change == sim->settings + sim->setting_count) sim->setting_count++;
    snprintf(change->key, sizeof change->key, "%s", key);
    change->count = wanted;
    memcpy(change->values, now, sizeof now);
    return BRIM_OK;
}
