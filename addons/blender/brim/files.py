"""What a run of Brim holds on disk. Knows nothing of Blender."""
import json
import os
import re

import numpy as np

TYPES = {"float": "<f4", "uint": "<u4", "int": "<i4", "uchar": "u1"}


def read_ply(path):
    """A binary PLY of Brim => ({property: column}, triangles [m, 3] or None)"""
    with open(path, "rb") as f:
        data = f.read()
    end = data.find(b"end_header\n")
    if not data.startswith(b"ply\n") or end < 0:
        raise ValueError("%s is not a PLY file" % path)
    counts, columns, element = {}, [], None
    for line in data[:end].decode("ascii", "replace").splitlines():
        word = line.split()
        if word[:1] == ["element"]:
            element = word[1]
            counts[element] = int(word[2])
        elif word[:1] == ["property"] and element == "vertex":
            columns.append((word[2], TYPES[word[1]]))
    row = np.dtype(columns)
    at = end + len(b"end_header\n")
    vertices = np.frombuffer(data, row, counts.get("vertex", 0), at)
    triangles = None
    if "face" in counts:
        face = np.dtype([("corners", "u1"), ("index", "<u4", 3)])
        faces = np.frombuffer(data, face, counts["face"], at + vertices.nbytes)
        triangles = faces["index"].astype(np.int32)
    return {name: np.array(vertices[name]) for name, _ in columns}, triangles


def vectors(columns, names):
    """Three columns => [n, 3] floats"""
    out = np.empty((len(columns[names[0]]), 3), np.float32)
    for i, name in enumerate(names):
        out[:, i] = columns[name]
    return out


def write_ply(path, points, triangles):
    """A closed surface for Brim to read."""
    head = ("ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty float x\n"
            "property float y\nproperty float z\nelement face %d\n"
            "property list uchar uint vertex_indices\nend_header\n" % (len(points), len(triangles)))
    faces = np.empty(len(triangles), np.dtype([("corners", "u1"), ("index", "<u4", 3)]))
    faces["corners"] = 3
    faces["index"] = triangles
    with open(path, "wb") as f:
        f.write(head.encode())
        f.write(np.ascontiguousarray(points, "<f4").tobytes())
        f.write(faces.tobytes())


class Run:
    """A folder that `brim run` has written or is writing."""

    KINDS = ("surface", "particles", "foam", "bodies")

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        with open(os.path.join(self.folder, "run.json"), encoding="utf-8") as f:
            self.scene = json.load(f)["scene"]
        self.rate = float(self.scene["time"]["frame_rate"])
        self.size = [float(x) for x in self.scene["domain"]["size"]]
        self.flat = self.scene["dim"] == 2
        if self.flat:
            self.size = self.size[:2] + [0.0]
        self.cell = self.size[0] / self.scene["domain"]["cells"][0]
        per_cell = self.scene["particles"]["per_cell"]
        self.spacing = self.cell / per_cell ** (0.5 if self.flat else 1 / 3)

    def frames(self, kind):
        """Numbers of the frames that are there, in order."""
        try:
            names = os.listdir(os.path.join(self.folder, kind))
        except FileNotFoundError:
            return []
        return sorted(int(n[:-4]) for n in names if re.fullmatch(r"\d{6,}\.ply", n))

    def path(self, kind, frame):
        return os.path.join(self.folder, kind, "%06d.ply" % frame)

    def nearest(self, kind, frame):
        """The path of the last frame that is not after `frame`, else of the first; None: none is there."""
        exact = self.path(kind, frame)
        if os.path.exists(exact):
            return exact
        there = self.frames(kind)
        before = [f for f in there if f <= frame]
        return self.path(kind, before[-1] if before else there[0]) if there else None
