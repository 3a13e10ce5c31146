// Embeds the page's files. BRIM_VIEWER names the folder with index.html.gz, viewer.js.gz and
// viewer.css.gz; a build without it has no page.
#include "live/assets.h"
#include <string.h>

#ifdef BRIM_VIEWER
#define EMBED(NAME, FILE)                                                               \
    __asm__(".section .rodata\n.global brim_asset_" #NAME "\nbrim_asset_" #NAME         \
            ":\n.incbin \"" BRIM_VIEWER "/" FILE "\"\n.global brim_asset_" #NAME "_end" \
            "\nbrim_asset_" #NAME "_end:\n.byte 0\n.previous\n");                       \
    extern const unsigned char brim_asset_##NAME[], brim_asset_##NAME##_end[]
EMBED(page, "index.html.gz");
EMBED(code, "viewer.js.gz");
EMBED(style, "viewer.css.gz");

const Asset *asset_find(const char *path) {
    static const Asset assets[] = {
        {"/", "text/html; charset=utf-8", brim_asset_page, brim_asset_page_end},
        {"/viewer.js", "text/javascript; charset=utf-8", brim_asset_code, brim_asset_code_end},
        {"/viewer.css", "text/css; charset=utf-8", brim_asset_style, brim_asset_style_end},
    };
    for (size_t i = 0; i < sizeof assets / sizeof *assets; i++)
        if (strcmp(assets[i].path, path) == 0) return &assets[i];
    return NULL;
}
#else
const Asset *asset_find(const char *path) {
    (void)path;
    return NULL;
}
#endif
