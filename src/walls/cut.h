// How much of an edge or a square lies where a value is positive.
#pragma once

/// The part of an edge between values a and b that is outside (positive).
static inline float open_edge(float a, float b) {
    if (a > 0) return b > 0 ? 1 : a / (a - b);
    return b > 0 ? b / (b - a) : 0;
}

/// The part of a unit square with corner values a b / c d that is outside: the polygon cut off by
/// the linear crossings on its edges.
static inline float open_square(float a, float b, float c, float d) {
    if (a > 0 && b > 0 && c > 0 && d > 0) return 1;
    if (a <= 0 && b <= 0 && c <= 0 && d <= 0) return 0;
    const float value[4] = {a, b, d, c};
    const float corner[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    float px[8], py[8], area = 0;
    int n = 0;
    for (int i = 0; i < 4; i++) {
        int j = (i + 1) & 3;
        if (value[i] > 0) px[n] = corner[i][0], py[n++] = corner[i][1];
        if ((value[i] > 0) != (value[j] > 0)) {
            float t = value[i] / (value[i] - value[j]);
            px[n] = corner[i][0] + t * (corner[j][0] - corner[i][0]);
            py[n++] = corner[i][1] + t * (corner[j][1] - corner[i][1]);
        }
    }
    for (int i = 0; i < n; i++) {
        int j = i + 1 < n ? i + 1 : 0;
        area += px[i] * py[j] - px[j] * py[i];
    }
    return 0.5f * area;
}
