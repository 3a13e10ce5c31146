#!/bin/bash
# Opens what a run writes in ParaView and Blender and compares what they hold with the files: number
# of points, bounds, arrays. Neither is needed for anything else: what is not installed is skipped.
#
#   scripts/check-viewers.sh [BUILD]     BUILD/brim must be built; on Debian: paraview, blender
set -eu
brim=${1:-build}/brim
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$work WORK=$work

"$brim" run scenes/dam.yaml -o "$work/run" --quiet --frames 3 --set domain.cells=32 \
    --set output.fields=true
"$brim" mesh "$work/run" --quiet --frame 3

# What the files hold, read without either program.
cat >"$work/truth.py" <<'EOF'
import array, os, re, struct
run = os.environ["WORK"] + "/run/"
particles, surface, fields = (run + f for f in (
    "particles/000003.ply", "surface/000003.ply", "fields/000003.vti"))
SIZE, CELLS, TIME = (2, 1, 1), (32, 16, 16), 3 / 24
failed = 0

def expect(what, got, wanted, tolerance=0):
    global failed
    far = lambda a, b: abs(a - b) > tolerance if tolerance else a != b
    flat = lambda x: list(x) if isinstance(x, (tuple, list)) else [x]
    a, b = flat(got), flat(wanted)
    good = len(a) == len(b) and not any(far(x, y) for x, y in zip(a, b))
    failed += not good
    print("  %-6s %s: %s%s" % ("ok" if good else "FAILED", what, got,
                              "" if good else ", but the file says %s" % (wanted,)))

def ply(path):
    """vertices, faces, bounds (x low, x high, y low, ...)"""
    data = open(path, "rb").read()
    head, body = data.split(b"end_header\n", 1)
    count = lambda name: int((re.search(rb"element %s (\d+)" % name, head) or [0, 0])[1])
    names = re.findall(rb"property (?:float|uint) (\w+)", head)
    n, stride = count(b"vertex"), 4 * len(names)
    bounds = []
    for axis in (b"x", b"y", b"z"):
        at = 4 * names.index(axis)
        column = [struct.unpack_from("<f", body, i * stride + at)[0] for i in range(n)]
        bounds += [min(column), max(column)]
    return n, count(b"face"), bounds

def vti(path):
    """{name: (components, least and largest of the first)}"""
    head, raw = open(path, "rb").read().split(b"<AppendedData encoding=\"raw\">\n_", 1)
    found = {}
    for name, n, at in re.findall(
            rb'Name="(\w+)" NumberOfComponents="(\d)" format="appended" offset="(\d+)"', head):
        at, n = int(at), int(n)
        values = array.array("f", raw[at + 8:at + 8 + struct.unpack_from("<Q", raw, at)[0]])[::n]
        found[name.decode()] = (n, min(values), max(values))
    return found
EOF

cat >"$work/in_paraview.py" <<'EOF'
import sys
from paraview.simple import *
from truth import *
import truth

def opened(path):
    reader = OpenDataFile(path)
    reader.UpdatePipeline()
    return reader, reader.GetDataInformation()

for path in particles, surface:
    n, faces, bounds = ply(path)
    reader, info = opened(path)
    print(path[len(run):])
    expect("points", info.GetNumberOfPoints(), n)
    expect("faces", info.GetNumberOfCells(), faces)
    expect("bounds", info.GetBounds(), bounds, 1e-6)
expect("normals", reader.PointData["Normals"].GetNumberOfComponents(), 3)

image, info = opened(fields)
print(fields[len(run):])
expect("cells", info.GetNumberOfCells(), CELLS[0] * CELLS[1] * CELLS[2])
expect("bounds", info.GetBounds(), (0, SIZE[0], 0, SIZE[1], 0, SIZE[2]), 1e-6)
expect("time", image.TimestepValues[:] if hasattr(image, "TimestepValues") else [], [TIME])
expect("arrays", sorted(image.CellData.keys()), ["density", "level_set", "pressure", "velocity"])
for name, wanted in vti(fields).items():
    a = image.CellData[name]
    expect(name, (a.GetNumberOfComponents(), *a.GetRange(0)), wanted, 1e-6 * max(map(abs, wanted)))

print("fields at the particles (Resample With Dataset)")
joined = ResampleWithDataset(SourceDataArrays=image, DestinationMesh=OpenDataFile(particles))
joined.UpdatePipeline()
expect("points", joined.GetDataInformation().GetNumberOfPoints(), ply(particles)[0])
expect("inside", joined.PointData["vtkValidPointMask"].GetRange(0), (1, 1))
expect("velocity", joined.PointData["velocity"].GetNumberOfComponents(), 3)
sys.exit(truth.failed > 0)
EOF

cat >"$work/in_blender.py" <<'EOF'
import bpy, sys
from truth import *
import truth

# The importer in C++ came with Blender 3.6 and turns by its axis options; the one before it does not.
modern = bpy.app.version >= (3, 6, 0)
for path in particles, surface:
    n, faces, bounds = ply(path)
    if modern: bpy.ops.wm.ply_import(filepath=path, forward_axis="Y", up_axis="Z")
    else: bpy.ops.import_mesh.ply(filepath=path)
    thing = bpy.context.object
    places = [thing.matrix_world @ v.co for v in thing.data.vertices]
    print(path[len(run):])
    expect("vertices", len(places), n)
    expect("polygons", len(thing.data.polygons), faces)
    expect("bounds", [f(p[a] for p in places) for a in range(3) for f in (min, max)], bounds, 1e-6)
sys.exit(truth.failed > 0)
EOF

status=0
# try PROGRAM COMMAND...: its own chatter is shown only when it fails
try() {
    local program=$1
    shift
    if ! command -v "$1" >/dev/null; then
        echo "$program: skipped, $1 is not installed"
        return
    fi
    echo "$program"
    if "$@" >"$work/log" 2>&1; then
        grep -E '^( |[a-z]+/|fields at)' "$work/log"
    else
        cat "$work/log"
        echo "$program: FAILED"
        status=1
    fi
}
try ParaView pvpython "$work/in_paraview.py"
try Blender blender -b --factory-startup --python-use-system-env --python-exit-code 1 \
    --python "$work/in_blender.py"
exit $status
