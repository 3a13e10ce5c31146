"""What files of Brim hold, read without any of the programs under test."""
import array, os, re, struct, sys

work = os.environ["WORK"]
pictures = os.environ["PICTURES"]
run = os.path.join(work, "run")
failures = 0


def expect(what, got, wanted, tolerance=0):
    """Numbers, or lists of them, agree; says so."""
    global failures
    flat = lambda x: list(x) if isinstance(x, (tuple, list)) else [x]
    a, b = flat(got), flat(wanted)
    near = lambda x, y: x == y if isinstance(x, str) else abs(x - y) <= tolerance
    good = len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    failures += not good
    show = lambda x: ", ".join(v if isinstance(v, str) else "%.6g" % v for v in flat(x))
    print("  %-6s %s: %s%s" % ("ok" if good else "FAILED", what, show(got),
                              "" if good else ", but the file says " + show(wanted)))


def end():
    sys.exit(failures > 0)


def ply(path):
    """{property: column}, triangles"""
    data = open(path, "rb").read()
    head, body = data.split(b"end_header\n", 1)
    count = lambda name: int((re.search(rb"element %s (\d+)" % name, head) or [0, 0])[1])
    names = re.findall(rb"property (float|uint) (\w+)", head)
    n = count(b"vertex")
    form = "<" + "".join("f" if kind == b"float" else "I" for kind, _ in names)
    rows = list(struct.iter_unpack(form, body[:n * struct.calcsize(form)]))
    columns = {name.decode(): [r[i] for r in rows] for i, (_, name) in enumerate(names)}
    faces = body[n * struct.calcsize(form):]
    triangles = [f[1:] for f in struct.iter_unpack("<B3I", faces)] if count(b"face") else []
    return columns, triangles


def enclosed(columns, triangles):
    """Volume inside a closed surface."""
    x, y, z = columns["x"], columns["y"], columns["z"]
    return sum(x[a] * (y[b] * z[c] - z[b] * y[c]) + y[a] * (z[b] * x[c] - x[b] * z[c]) +
               z[a] * (x[b] * y[c] - y[b] * x[c]) for a, b, c in triangles) / 6


def large(columns, triangles, least):
    """Which vertices are of a piece that has at least so many."""
    piece = list(range(len(columns["x"])))

    def first(v):
        while piece[v] != v:
            piece[v] = piece[piece[v]]
            v = piece[v]
        return v

    for corners in triangles:
        for v in corners[1:]:
            piece[first(v)] = first(corners[0])
    of = [first(v) for v in range(len(piece))]
    size = [0] * len(piece)
    for p in of:
        size[p] += 1
    return [size[p] >= least for p in of]


def vti(path, name):
    """One field of a file, its extent and the edge of a cell."""
    head, raw = open(path, "rb").read().split(b'<AppendedData encoding="raw">\n_', 1)
    n, at = re.search(rb'Name="%s" NumberOfComponents="(\d)" format="appended" offset="(\d+)"' %
                      name.encode(), head).groups()
    at, n = int(at), int(n)
    values = array.array("f", raw[at + 8:at + 8 + struct.unpack_from("<Q", raw, at)[0]])
    extent = [int(v) for v in re.search(rb'<Piece Extent="([^"]*)"', head)[1].split()]
    cell = float(re.search(rb'Spacing="(\S+)', head)[1])
    return values, extent, cell, n
