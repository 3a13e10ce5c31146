// Any bytes as a formula, as the definitions of names, and as a CSV table: compiled and run, or
// refused with a message.
#include "formula/program.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    BrimError error = {0};
    Formula *f = NULL;
    if (formula_new(text, NULL, FORMULA_PLACE | FORMULA_T, &f, &error) == BRIM_OK) {
        double x[70], out[70];
        for (int i = 0; i < 70; i++) x[i] = i - 35;
        const double *const variable[4] = {x, x, x, x};
        formula_values(f, 70, variable, out);
    } else if (f || !*error.message) {
        abort();
    }
    formula_free(&f);
    BrimNames names = {.let = text};
    error.message[0] = 0;
    if (names_check(&names, &error) != BRIM_OK && !*error.message) abort();
    CsvTable table;
    error.message[0] = 0;
    if (csv_parse((const char *)data, size, "fuzz", &table, &error) == BRIM_OK)
        csv_free(&table);
    else if (table.values || table.names || !*error.message)
        abort();
    free(text);
    return 0;
}
