#include "particles/attributes.h"
#include <stdio.h>
#include <string.h>

#define FRAME true
#define INNER false
#define ROW(NAME, FILES, NUMBERS, TYPE, WHEN, FRAMES, START, UNIT, MEANING)     \
    {ATTR_##NAME, NUMBERS,           FILES, ATTRIBUTE_##TYPE, ATTRIBUTE_##WHEN, \
     FRAMES,      ATTRIBUTE_##START, UNIT,  MEANING},
const AttributeRow attribute_rows[ROW_COUNT] = {PARTICLE_ATTRIBUTES(ROW)};

int attribute_row(int place) {
    int row = 0;
    while (row + 1 < ROW_COUNT && attribute_rows[row + 1].first <= place) row++;
    return row;
}

void attribute_name(int place, char name[ATTRIBUTE_NAME]) {
    const AttributeRow *row = &attribute_rows[attribute_row(place)];
    const char *word = row->files;
    if (row->numbers > 1 && !strchr(word, ' ')) {
        snprintf(name, ATTRIBUTE_NAME, "%s%d", word, place - row->first);
        return;
    }
    for (int i = row->first; i < place && strchr(word, ' '); i++) word = strchr(word, ' ') + 1;
    snprintf(name, ATTRIBUTE_NAME, "%.*s", (int)strcspn(word, " "), word);
}

uint32_t attributes_wanted(uint32_t when, uint32_t asked) {
    uint32_t wanted = 0;
    int choice = 0;
    for (int i = 0; i < ROW_COUNT; i++) {
        AttributeWhen of = attribute_rows[i].when;
        bool on = of == ATTRIBUTE_ALWAYS || (when >> of & 1);
        if (of == ATTRIBUTE_ASKED) on = asked >> choice++ & 1;
        wanted |= (uint32_t)on << i;
    }
    return wanted;
}
