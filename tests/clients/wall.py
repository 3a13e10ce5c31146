"""Frames of a wall that bends to and fro, for the test of the add-on: FOLDER/0.obj and on."""
import math, sys

for frame in range(8):
    with open("%s/%d.obj" % (sys.argv[1], frame), "w") as f:
        rows = 9
        for i in range(rows):
            y = 0.4 * i / (rows - 1)
            x = 0.8 + 0.5 * y * y * math.sin(0.8 * frame)
            for dx, z in ((0, 0.3), (0.1, 0.3), (0.1, 0.7), (0, 0.7)):
                f.write("v %.6f %.6f %.6f\n" % (x + dx, y, z))
        f.write("f 1 2 3 4\nf %d %d %d %d\n" % tuple(4 * rows - k for k in range(4)))
        for i in range(rows - 1):
            for k in range(4):
                a, b = 4 * i + k + 1, 4 * i + (k + 1) % 4 + 1
                f.write("f %d %d %d %d\n" % (a, a + 4, b + 4, b))
