// The page, compressed with gzip, as the build put it together.
#pragma once
#include <stddef.h>

typedef struct Asset {
    const char *path, *type;
    const unsigned char *bytes, *end;
} Asset;

/// NULL when the page has no such file, or when this build has no page.
const Asset *asset_find(const char *path);
