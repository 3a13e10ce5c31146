#include "solid/rotation.h"
#include <math.h>
#include <string.h>

static const double radian = 0.017453292519943295;

void rotation_multiply(const double a[9], const double b[9], double out[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

void rotation_multiply_transposed(const double a[9], const double b[9], double out[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] =
                a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
}

void rotation_apply(const double r[9], const double v[3], double out[3]) {
    double x = v[0], y = v[1], z = v[2];
    for (int i = 0; i < 3; i++) out[i] = r[3 * i] * x + r[3 * i + 1] * y + r[3 * i + 2] * z;
}

/// Sine and cosine without rounding at multiples of 90 degrees.
static void sine_cosine(double degrees, double *s, double *c) {
    double turn = fmod(degrees, 360.0);
    double quarter = round(turn / 90.0);
    double rest = (turn - 90.0 * quarter) * radian;
    double rs = sin(rest), rc = cos(rest);
    switch (((int)quarter + 4) % 4) {
    case 0:
        *s = rs, *c = rc;
        break;
    case 1:
        *s = rc, *c = -rs;
        break;
    case 2:
        *s = -rs, *c = -rc;
        break;
    default:
        *s = -rc, *c = rs;
        break;
    }
}

void rotation_from_degrees(const double degrees[3], double out[9]) {
    double sx, cx, sy, cy, sz, cz;
    sine_cosine(degrees[0], &sx, &cx);
    sine_cosine(degrees[1], &sy, &cy);
    sine_cosine(degrees[2], &sz, &cz);
    double r[9] = {cz * cy,
                   cz * sy * sx - sz * cx,
                   cz * sy * cx + sz * sx,
                   sz * cy,
                   sz * sy * sx + cz * cx,
                   sz * sy * cx - cz * sx,
                   -sy,
                   cy * sx,
                   cy * cx};
    memcpy(out, r, sizeof r);
}

void rotation_to_degrees(const double r[9], double degrees[3]) {
    double sy = -r[6];
    degrees[1] = asin(sy > 1 ? 1 : sy < -1 ? -1 : sy) / radian;
    if (fabs(sy) > 1 - 1e-12) {
        degrees[0] = atan2(sy > 0 ? r[1] : -r[1], r[4]) / radian;
        degrees[2] = 0;
        return;
    }
    degrees[0] = atan2(r[7], r[8]) / radian;
    degrees[2] = atan2(r[3], r[0]) / radian;
}

void rotation_about(const double axis[3], double degrees, double out[9]) {
    double s, c, x = axis[0], y = axis[1], z = axis[2];
    sine_cosine(degrees, &s, &c);
    double t = 1 - c;
    double r[9] = {t * x * x + c,     t * x * y - s * z, t * x * z + s * y,
                   t * x * y + s * z, t * y * y + c,     t * y * z - s * x,
                   t * x * z - s * y, t * y * z + s * x, t * z * z + c};
    memcpy(out, r, sizeof r);
}

/// Near half a turn the skew part vanishes; the axis a is then any column of the symmetric part
/// less c I, which is (1 - c) a a^T; c is the cosine of the angle.
static void half_turn_vector(const double r[9], double angle, double c, double out[3]) {
    int best = r[0] >= r[4] ? (r[0] >= r[8] ? 0 : 2) : (r[4] >= r[8] ? 1 : 2);
    double axis[3], length = 0;
    for (int i = 0; i < 3; i++) {
        axis[i] = 0.5 * (r[3 * i + best] + r[3 * best + i]) + (i == best ? -c : 0);
        length += axis[i] * axis[i];
    }
    double skew[3] = {r[7] - r[5], r[2] - r[6], r[3] - r[1]};
    double along = skew[0] * axis[0] + skew[1] * axis[1] + skew[2] * axis[2];
    double scale = (along < 0 ? -angle : angle) / sqrt(length);
    for (int i = 0; i < 3; i++) out[i] = axis[i] * scale;
}

void rotation_vector(const double r[9], double out[3]) {
    double skew[3] = {0.5 * (r[7] - r[5]), 0.5 * (r[2] - r[6]), 0.5 * (r[3] - r[1])};
    double s = sqrt(skew[0] * skew[0] + skew[1] * skew[1] + skew[2] * skew[2]);
    double c = 0.5 * (r[0] + r[4] + r[8] - 1);
    double angle = atan2(s, c);
    if (c < -0.99) {
        half_turn_vector(r, angle, c, out);
        return;
    }
    double scale = s > 1e-12 ? angle / s : 1;
    for (int i = 0; i < 3; i++) out[i] = skew[i] * scale;
}

void rotation_rates_to_spin(const double degrees[3], const double rates[3], double out[3]) {
    double sy, cy, sz, cz;
    sine_cosine(degrees[1], &sy, &cy);
    sine_cosine(degrees[2], &sz, &cz);
    // the x axis turned by y and z, the y axis turned by z, the z axis
    double x = rates[0] * radian, y = rates[1] * radian, z = rates[2] * radian;
    out[0] = cz * cy * x - sz * y;
    out[1] = sz * cy * x + cz * y;
    out[2] = -sy * x + z;
}
