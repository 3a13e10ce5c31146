// Scene text => scene, or an error with a message; never a crash. A first line "#set key=value"
// becomes a --set.
#include "brim/brim.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char set[256];
    const char *sets[1] = {set};
    int set_count = 0;
    const uint8_t *end = memchr(data, '\n', size);
    if (size > 5 && memcmp(data, "#set ", 5) == 0 && end && (size_t)(end - data) < sizeof set) {
        memcpy(set, data + 5, (size_t)(end - data) - 5);
        set[end - data - 5] = 0;
        set_count = 1;
    }
    BrimScene *scene = NULL, *again = NULL;
    BrimError error;
    BrimResult result =
        brim_scene_parse((const char *)data, size, "fuzz.yaml", sets, set_count, &scene, &error);
    if (result != BRIM_OK) {
        if (scene || !*error.message) abort();
        return 0;
    }
    const char *json = brim_scene_json(scene);
    result = brim_scene_parse(json, strlen(json), "fuzz.json", NULL, 0, &again, &error);
    if (result != BRIM_OK || strcmp(brim_scene_json(again), json) != 0) abort();
    brim_scene_destroy(&again);
    brim_scene_destroy(&scene);
    return 0;
}
