// Plots: round ticks, well-formed SVG whatever goes in, curves that keep their peaks; tables.
#include "plot/plot.h"
#include "scratch.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/// Whether tags open and close in order and no '<' stands where text should.
static bool well_formed(const char *xml) {
    char open[64][32];
    int depth = 0;
    for (const char *c = xml; (c = strchr(c, '<')); c++) {
        const char *end = strchr(c, '>');
        if (!end || (strpbrk(c + 1, "<") && strpbrk(c + 1, "<") < end)) return false;
        bool closing = c[1] == '/', alone = end[-1] == '/';
        const char *name = c + 1 + closing;
        size_t length = strcspn(name, " >/\n");
        if (length == 0 || length > 31) return false;
        if (closing) {
            if (depth-- == 0 || strncmp(open[depth], name, length) != 0 || open[depth][length])
                return false;
        } else if (!alone) {
            if (depth == 64) return false;
            snprintf(open[depth++], 32, "%.*s", (int)length, name);
        }
    }
    return depth == 0;
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    while ((text = strstr(text, part))) count++, text += strlen(part);
    return count;
}

TEST(plot_ticks_are_round) {
    const struct {
        double range[2];
        const char *labels[4];
    } cases[] = {
        {{0, 30}, {"0", "10", "20", "30"}},
        {{0.95, 1.05}, {"0.96", "0.98", "1.00", "1.02"}},
        {{-3, 1}, {"−3", "−2", "−1", "0"}},
        {{0, 1.2e9}, {"0.0", "0.5", "1.0", NULL}},
    };
    for (int i = 0; i < 4; i++) {
        Axis a;
        axis_make(&a, cases[i].range, false, 200, 0, 40);
        for (int k = 0; k < 4 && cases[i].labels[k]; k++) {
            char label[LABEL_BYTES];
            axis_label(&a, k, label);
            CHECK(k < a.ticks && strcmp(label, cases[i].labels[k]) == 0);
        }
    }
    Axis a;
    char label[LABEL_BYTES];
    axis_make(&a, (double[]){0, 1.2e9}, false, 200, 0, 40);
    axis_exponent_label(&a, label);
    CHECK(strcmp(label, "×10⁹") == 0);
    axis_make(&a, (double[]){-6, -2}, true, 0, 300, 58);
    axis_label(&a, 0, label);
    CHECK(a.ticks == 5 && strcmp(label, "10⁻⁶") == 0);
    CHECK_NEAR(axis_pixel(&a, 1e-4), 150, 1e-9);
    CHECK(isnan(axis_pixel(&a, 0)));
}

TEST(plot_long_curves_keep_their_peaks) {
    enum { COUNT = 200000 };
    double *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    CHECK(x && y);
    for (int i = 0; i < COUNT; i++) x[i] = i, y[i] = 0.5 + 0.1 * (i % 2);
    y[123456] = 1, y[7] = 0;
    BrimSeries s = {.x = x, .y = y, .count = COUNT};
    BrimPanelDef panel = {.series = &s, .series_count = 1, .y_range = {-1, 2}};
    BrimPlotDef plot = {.panels = &panel, .panel_count = 1};
    char *svg;
    BrimError error;
    CHECK_OK(brim_plot_svg(&plot, &svg, &error), error);
    CHECK(strlen(svg) < 100000);
    // the frame runs from 2 down to -1: find the curve's highest and lowest pixel
    const char *d = strstr(svg, " d=\"M");
    CHECK(d);
    double top = 1e9, bottom = -1e9, px, py;
    for (d += 4; *d == 'M' || *d == 'L'; d += strcspn(d + 1, "ML\"") + 1) {
        CHECK(sscanf(d + 1, "%lf %lf", &px, &py) == 2);
        top = fmin(top, py), bottom = fmax(bottom, py);
    }
    Axis a;
    axis_make(&a, (double[]){-1, 2}, false, 206, 16, 32);
    CHECK_NEAR(bottom - top, axis_pixel(&a, 0) - axis_pixel(&a, 1), 10);
    brim_text_free(&svg);
    free(x), free(y);
}

TEST(plot_values_that_are_not_finite_leave_gaps) {
    double x[] = {0, 1, 2, 3, 4, 5}, y[] = {1, 2, NAN, 3, INFINITY, 1e300};
    BrimSeries s = {.x = x, .y = y, .count = 6};
    BrimPanelDef panel = {.series = &s, .series_count = 1};
    BrimPlotDef plot = {.panels = &panel, .panel_count = 1};
    char *svg;
    BrimError error;
    CHECK_OK(brim_plot_svg(&plot, &svg, &error), error);
    const char *d = strstr(svg, " d=\"");
    CHECK(d);
    int moves = 0;
    for (d += 4; *d != '"'; d++) moves += *d == 'M';
    CHECK(moves == 3);
    CHECK(!strstr(svg, "nan") && !strstr(svg, "inf"));
    brim_text_free(&svg);
}

TEST(plot_is_well_formed_whatever_goes_in) {
    const char *rude = "a<b & \"c\" \x01\xff\xc3\xa9 </text>";
    double x[] = {1, 2, 3}, y[] = {0, -5, 1e6}, none[] = {NAN, NAN, NAN};
    BrimSeries series[] = {{.name = rude, .x = x, .y = y, .count = 3, .points = true},
                           {.name = "two", .x = x, .y = none, .count = 3},
                           {.name = "", .x = x, .y = y, .count = 0}};
    BrimLevel levels[] = {{0.5, 0.5, rude}, {-1, 1, NULL}};
    const char *cells[] = {"head", rude, NULL, "1.5"};
    const char *categories[] = {rude, NULL, "c"};
    BrimPanelDef panels[10] = {0};
    int count = 0;
    for (int kind = BRIM_PANEL_LINES; kind <= BRIM_PANEL_TABLE; kind++)
        for (int log = 0; log < 2; log++)
            panels[count++] = (BrimPanelDef){.kind = kind,
                                             .title = rude,
                                             .x_label = rude,
                                             .y_label = rude,
                                             .series = series,
                                             .series_count = 3,
                                             .levels = levels,
                                             .level_count = 2,
                                             .categories = categories,
                                             .cells = cells,
                                             .rows = 2,
                                             .columns = 2,
                                             .y_log = log && kind != BRIM_PANEL_AREAS,
                                             .x_log = log};
    for (int one = 0; one < 2; one++) {
        BrimPlotDef plot = {rude, rude, panels, count, 3, 900, 200, one};
        char *svg;
        BrimError error;
        CHECK_OK(brim_plot_svg(&plot, &svg, &error), error);
        CHECK(well_formed(svg));
        CHECK(!strstr(svg, "nan") && !strstr(svg, "inf"));
        CHECK(strstr(svg, "a&lt;b &amp; &quot;c&quot; \xef\xbf\xbd\xef\xbf\xbd\xc3\xa9 "));
        CHECK(count_of(svg, "prefers-color-scheme: dark") == 1);
        brim_text_free(&svg);
        CHECK(!svg);
    }
}

TEST(plot_one_legend_names_each_series_once) {
    double x[] = {0, 1}, y[] = {0, 1};
    BrimSeries s[] = {{.name = "first", .x = x, .y = y, .count = 2},
                      {.name = "second", .x = x, .y = y, .count = 2}};
    BrimPanelDef p = {.series = s, .series_count = 2}, panels[] = {p, p, p};
    BrimError error;
    char *svg;
    for (int one = 0; one < 2; one++) {
        BrimPlotDef plot = {.panels = panels, .panel_count = 3, .one_legend = one};
        CHECK_OK(brim_plot_svg(&plot, &svg, &error), error);
        CHECK(count_of(svg, ">second<") == (one ? 1 : 3));
        brim_text_free(&svg);
    }
}

TEST(plot_refuses_what_it_cannot_draw) {
    double x[] = {0, 1};
    BrimSeries s = {.x = x, .count = 2};
    BrimPanelDef good = {.kind = BRIM_PANEL_LINES}, bad[] = {good, good, good, good};
    bad[0].series = &s, bad[0].series_count = 1;
    bad[1].y_range[0] = 2, bad[1].y_range[1] = 1;
    bad[2].x_range[1] = 1, bad[2].x_log = true;
    bad[3].kind = BRIM_PANEL_TABLE;
    BrimError error;
    char *svg;
    for (int i = 0; i < 4; i++) {
        BrimPanelDef panels[] = {good, bad[i]};
        BrimPlotDef plot = {.panels = panels, .panel_count = 2};
        CHECK(brim_plot_svg(&plot, &svg, &error) == BRIM_ERROR_INPUT && !svg);
        CHECK(strstr(error.message, "panel 2"));
    }
    BrimPlotDef none = {0};
    CHECK(brim_plot_svg(&none, &svg, &error) == BRIM_ERROR_INPUT);
    none.panels = &good, none.panel_count = 1, none.width = NAN;
    CHECK(brim_plot_svg(&none, &svg, &error) == BRIM_ERROR_INPUT);
    none.width = 0;
    CHECK_OK(brim_plot_svg(&none, &svg, &error), error); // an empty frame is a plot
    brim_text_free(&svg);
}

static BrimResult read_text(const char *text, BrimTable *table, BrimError *error) {
    BrimResult result = brim_write_text(at("table.csv"), text, error);
    return result == BRIM_OK ? brim_table_read(at("table.csv"), table, error) : result;
}

TEST(table_reads_numbers) {
    BrimTable t;
    BrimError error;
    CHECK_OK(read_text("step,time,what\n1,0.5,nan\r\n2,1e-3,word\n3,7", &t, &error), error);
    CHECK(t.column_count == 3 && t.row_count == 2);
    CHECK(brim_table_column(&t, "time")[0] == 0.5 && brim_table_column(&t, "time")[1] == 1e-3);
    CHECK(isnan(brim_table_column(&t, "what")[0]) && isnan(brim_table_column(&t, "what")[1]));
    CHECK(!brim_table_column(&t, "tim"));
    brim_table_free(&t);
    CHECK_OK(read_text("a\n", &t, &error), error);
    CHECK(t.row_count == 0);
    brim_table_free(&t);
    CHECK(read_text("a,b\n1,2\n1,2,3\n", &t, &error) == BRIM_ERROR_INPUT);
    CHECK(strstr(error.message, "line 3"));
    CHECK(read_text("a,b\n1\n", &t, &error) == BRIM_ERROR_INPUT);
    CHECK(read_text("", &t, &error) == BRIM_ERROR_INPUT);
    CHECK(read_text("a,b", &t, &error) == BRIM_ERROR_INPUT);
    CHECK(brim_table_read("/nowhere/stats.csv", &t, &error) == BRIM_ERROR_IO);
}
