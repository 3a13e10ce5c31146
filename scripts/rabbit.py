#!/usr/bin/env python3
"""Writes scenes/rabbit.obj: the outline of a sitting rabbit, drawn for Brim, extruded along z.

The outline is concave on purpose: between the ears, at the throat, under the tail and between the
paws water that is pushed out of the solid has to find its way. In a 2D scene the solid is the cut
at z = 0. Usage: scripts/rabbit.py > scenes/rabbit.obj
"""

# counter-clockwise, unit box: belly and paws, chest, head, ears, back, tail
POINTS = [
    (0.16, 0.000), (0.30, 0.000), (0.40, 0.020), (0.48, 0.022), (0.56, 0.004), (0.64, 0.000),
    (0.72, 0.000), (0.80, 0.010), (0.84, 0.040), (0.82, 0.075), (0.75, 0.090), (0.69, 0.100),
    (0.665, 0.14), (0.675, 0.20), (0.70, 0.26), (0.735, 0.31), (0.76, 0.36), (0.80, 0.375),
    (0.87, 0.390), (0.92, 0.420), (0.945, 0.455), (0.93, 0.495), (0.885, 0.535), (0.845, 0.575),
    (0.81, 0.600), (0.80, 0.640), (0.815, 0.70), (0.83, 0.780), (0.825, 0.86), (0.80, 0.915),
    (0.77, 0.900), (0.745, 0.83), (0.735, 0.75), (0.735, 0.68), (0.725, 0.635), (0.70, 0.690),
    (0.655, 0.76), (0.60, 0.820), (0.545, 0.85), (0.525, 0.83), (0.545, 0.77), (0.59, 0.700),
    (0.635, 0.63), (0.655, 0.585), (0.64, 0.540), (0.61, 0.500), (0.56, 0.475), (0.48, 0.465),
    (0.38, 0.445), (0.28, 0.400), (0.19, 0.330), (0.135, 0.25), (0.115, 0.19), (0.085, 0.195),
    (0.05, 0.185), (0.03, 0.155), (0.035, 0.115), (0.06, 0.090), (0.09, 0.085), (0.105, 0.05),
    (0.12, 0.015),
]


def between(a, b, c, d):
    """The middle of the piece from b to c of a Catmull-Rom curve."""
    return tuple((9 * (q + r) - p - s) / 16 for p, q, r, s in zip(a, b, c, d))


def smooth(points):
    n = len(points)
    out = []
    for i, p in enumerate(points):
        out.append(p)
        out.append(between(points[i - 1], p, points[(i + 1) % n], points[(i + 2) % n]))
    return out


def main():
    outline = smooth(POINTS)
    n = len(outline)
    print("# outline of a sitting rabbit, extruded; made by scripts/rabbit.py")
    for z in (-0.5, 0.5):
        for x, y in outline:
            print(f"v {x:.5f} {y:.5f} {z}")
    print("f", *range(n, 0, -1))
    print("f", *range(n + 1, 2 * n + 1))
    for i in range(n):
        k = (i + 1) % n
        print("f", i + 1, k + 1, n + k + 1, n + i + 1)


main()
