// From runs and a choice of columns to the panels of a plot.
#pragma once
#include "runs.h"

typedef struct Sheet {
    BrimPlotDef plot;
    BrimPanelDef *panels;
    void **owned; ///< what the panels point to
    int owned_count;
    bool failed; ///< out of memory
} Sheet;

/// Memory that lives as long as the sheet; NULL when there is no more.
void *sheet_memory(Sheet *sheet, size_t bytes);
const char *sheet_text(Sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Room for one more panel, zeroed; NULL when out of memory.
BrimPanelDef *sheet_panel(Sheet *sheet);
void sheet_free(Sheet *sheet);

typedef struct SheetChoice {
    const char *columns; ///< "volume,kinetic_energy+potential_energy,stages"; NULL = a usual choice
    const char *x;       ///< "time" or "step"; NULL = time
    bool log;            ///< logarithmic y axes
} SheetChoice;

/// Adds a panel for each part of the choice, all runs in each. Reports what is wrong; returns the
/// exit code.
int sheet_add_runs(Sheet *sheet, const Run *runs, int count, const SheetChoice *choice);
