#include "live/describe.h"
#include "cli.h"
#include <stdlib.h>
#include <string.h>

/// A text in the making.
typedef struct Text {
    FILE *out;
    char *bytes;
    size_t size;
} Text;

static bool text_begin(Text *t, const char *type) {
    *t = (Text){0};
    t->out = open_memstream(&t->bytes, &t->size);
    if (t->out) fprintf(t->out, "{\"type\":\"%s\"", type);
    return t->out != NULL;
}

static Parcel *text_end(Text *t) {
    fputc('}', t->out);
    bool whole = fclose(t->out) == 0;
    Parcel *parcel = whole ? parcel_text(t->bytes) : NULL;
    free(t->bytes);
    return parcel;
}

static void member_text(Text *t, const char *name, const char *value) {
    fprintf(t->out, ",\"%s\":", name);
    json_text(t->out, value);
}

static void member_number(Text *t, const char *name, double value) {
    fprintf(t->out, ",\"%s\":", name);
    json_number(t->out, value);
}

static void member_flag(Text *t, const char *name, bool value) {
    fprintf(t->out, ",\"%s\":%s", name, value ? "true" : "false");
}

static void put_gauges(Text *t, const BrimSim *sim) {
    fputs(",\"gauges\":[", t->out);
    for (int g = 0; g < brim_sim_gauge_count(sim); g++) {
        fprintf(t->out, "%s{\"name\":", g ? "," : "");
        json_text(t->out, brim_sim_gauge_name(sim, g));
        fputs(",\"columns\":[", t->out);
        const char *column;
        for (int i = 0; (column = brim_sim_gauge_column(sim, g, i)); i++) {
            if (i) fputc(',', t->out);
            json_text(t->out, column);
        }
        fputs("]}", t->out);
    }
    fputc(']', t->out);
}

/// Where the scene puts its solids.
static void put_pivots(Text *t, const BrimSimDef *d) {
    fputs(",\"pivots\":[", t->out);
    for (int i = 0; i < d->solid_count; i++) {
        BrimVec3 p = d->solids[i].shape.position;
        fprintf(t->out, "%s[%.9g,%.9g,%.9g]", i ? "," : "", (double)p.x, (double)p.y,
                d->dim == 3 ? (double)p.z : 0);
    }
    fputc(']', t->out);
}

Parcel *describe_hello(const Hello *h) {
    const BrimSimDef *d = h->def;
    Text t;
    if (!text_begin(&t, "hello")) return NULL;
    member_text(&t, "version", brim_version());
    member_text(&t, "name", h->name);
    member_flag(&t, "live", h->live);
    member_flag(&t, "surface", h->surface);
    fprintf(t.out, ",\"dim\":%d,\"cells\":[%d,%d,%d]", d->dim, d->cells[0], d->cells[1],
            d->cells[2]);
    fprintf(t.out, ",\"size\":[%.9g,%.9g,%.9g]", (double)d->size.x, (double)d->size.y,
            d->dim == 3 ? (double)d->size.z : 0);
    member_number(&t, "perCell", d->particles_per_cell);
    member_number(&t, "frameRate", d->frame_rate);
    put_pivots(&t, d);
    fprintf(t.out, ",\"bodies\":%d,\"values\":[", h->bodies);
    ValueName names[VALUES_MOST];
    int count = value_names(h->particles, names);
    for (int i = 0; i < count; i++) {
        fprintf(t.out, "%s{\"name\":", i ? "," : "");
        json_text(t.out, names[i].name);
        fputs(",\"unit\":", t.out);
        json_text(t.out, names[i].unit);
        fputc('}', t.out);
    }
    fputs("],\"columns\":[", t.out);
    const char *column;
    for (int i = 0; (column = brim_stats_column(i)); i++)
        fprintf(t.out, "%s\"%s\"", i ? "," : "", column);
    fputc(']', t.out);
    put_gauges(&t, h->sim);
    return text_end(&t);
}

static void put_setting(Text *t, const BrimSetting *s) {
    fputs("{\"key\":", t->out);
    json_text(t->out, s->key);
    member_text(t, "unit", s->unit);
    member_text(t, "range", s->range);
    member_text(t, "help", s->help);
    fputs(",\"values\":[", t->out);
    for (int i = 0; i < s->count; i++) {
        if (i) fputc(',', t->out);
        json_number(t->out, s->values[i]);
    }
    fputs("]}", t->out);
}

Parcel *describe_status(const Status *s) {
    Text t;
    BrimSetting setting;
    if (!text_begin(&t, "status")) return NULL;
    member_flag(&t, "playing", s->playing);
    member_flag(&t, "ended", s->ended);
    member_number(&t, "speed", s->speed);
    member_number(&t, "frame", s->frame);
    member_number(&t, "frames", s->frames);
    member_text(&t, "failure", s->failure ? s->failure : "");
    fputs(",\"settings\":[", t.out);
    for (int i = 0; s->sim && brim_sim_setting(s->sim, i, &setting); i++) {
        if (i) fputc(',', t.out);
        put_setting(&t, &setting);
    }
    fputc(']', t.out);
    return text_end(&t);
}

Parcel *describe_stats(const BrimSim *sim) {
    Text t;
    if (!text_begin(&t, "stats")) return NULL;
    fputs(",\"values\":[", t.out);
    for (int i = 0; brim_stats_column(i); i++) {
        if (i) fputc(',', t.out);
        json_number(t.out, brim_stats_value(brim_sim_stats(sim), i));
    }
    fputs("],\"gauges\":[", t.out);
    for (int g = 0; g < brim_sim_gauge_count(sim); g++) {
        double values[BRIM_GAUGE_COLUMNS] = {0};
        bool known =
            brim_sim_step_count(sim) > 0 && brim_sim_gauge_read(sim, g, values, NULL) == BRIM_OK;
        fputs(g ? ",[" : "[", t.out);
        for (int i = 0; known && brim_sim_gauge_column(sim, g, i); i++) {
            if (i) fputc(',', t.out);
            json_number(t.out, values[i]);
        }
        fputc(']', t.out);
    }
    fputc(']', t.out);
    return text_end(&t);
}

/// "columns":{"time":[0,1],...}
static void put_table(Text *t, const BrimTable *table) {
    enum { ROWS_MOST = 1500 };
    size_t every = table->row_count / ROWS_MOST + 1;
    fputs("\"columns\":{", t->out);
    for (int c = 0; c < table->column_count; c++) {
        if (c) fputc(',', t->out);
        json_text(t->out, table->names[c]);
        fputs(":[", t->out);
        for (size_t i = 0; i < table->row_count; i += every) {
            if (i) fputc(',', t->out);
            json_number(t->out, table->values[c][i]);
        }
        fputc(']', t->out);
    }
    fputc('}', t->out);
}

Parcel *describe_history(const BrimTable *stats, const GaugeTable *gauges, int gauge_count) {
    Text t;
    if (!text_begin(&t, "history")) return NULL;
    fputc(',', t.out);
    put_table(&t, stats);
    fputs(",\"gauges\":[", t.out);
    for (int g = 0; g < gauge_count; g++) {
        fputs(g ? ",{\"name\":" : "{\"name\":", t.out);
        json_text(t.out, gauges[g].name);
        fputc(',', t.out);
        put_table(&t, &gauges[g].table);
        fputc('}', t.out);
    }
    fputc(']', t.out);
    return text_end(&t);
}

Parcel *describe_notice(const char *text) {
    Text t;
    if (!text_begin(&t, "notice")) return NULL;
    member_text(&t, "text", text);
    return text_end(&t);
}
