// Rotations as row-major 3 x 3 matrices of doubles. Angles are degrees about x, then y, then z.
#pragma once

/// out = a b; out must be neither.
void rotation_multiply(const double a[9], const double b[9], double out[9]);
/// out = a b^T; out must be neither.
void rotation_multiply_transposed(const double a[9], const double b[9], double out[9]);
void rotation_apply(const double r[9], const double v[3], double out[3]);

/// Rz Ry Rx. Exact for multiples of 90 degrees.
void rotation_from_degrees(const double degrees[3], double out[9]);
/// The angles of rotation_from_degrees; the z angle is 0 where x and z turn about one axis.
void rotation_to_degrees(const double r[9], double degrees[3]);
/// About a unit axis. Exact for multiples of 90 degrees about a coordinate axis.
void rotation_about(const double axis[3], double degrees, double out[9]);
/// Axis times angle, radians, of length at most pi.
void rotation_vector(const double r[9], double out[3]);
/// Angular velocity, rad/s, of a body at angles `degrees` that change by `rates` degrees/s.
void rotation_rates_to_spin(const double degrees[3], const double rates[3], double out[3]);
