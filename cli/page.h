// The parts of `brim report`'s page.
#pragma once
#include "runs.h"

/// How many particles the cells of a frame hold.
typedef struct Crowding {
    bool known;
    double full;       ///< particles that a full cell holds
    size_t cells;      ///< that hold any
    size_t compressed; ///< hold more than 1.5 times as many as a full one
    size_t most;       ///< in the fullest cell
    int bins;          ///< up to four times full; the last one holds all beyond
    int unit;          ///< particles that a bin is wide
    double edge[129];  ///< left edges in units of `full`
    double share[129]; ///< percent of the cells
} Crowding;

typedef struct Page {
    FILE *out;
    const Run *run;
    const BrimSimDef *def;
    Crowding crowding;
} Page;

/// Text in HTML.
void page_text(FILE *out, const char *text);
/// What a reader should look at, as list items; returns how many.
int page_warnings(Page *page);
/// Pictures of up to `most` frames as data URIs; fills the crowding of the last one. Returns the
/// exit code.
int page_frames(Page *page, int most, int width, int height);
