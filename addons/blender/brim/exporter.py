"""A scene of Brim from objects with roles: their meshes, and the keys that say what they are."""
import json
import os
import re

import bpy
import numpy as np

from . import files


class Problem(Exception):
    """What the user has to change."""


def with_role(scene, role):
    return [o for o in scene.objects if o.type == "MESH" and o.brim.role == role]


def world_triangles(thing, depsgraph):
    """Vertices [n, 3] in the world and triangles [m, 3] of an object with its modifiers."""
    there = thing.evaluated_get(depsgraph)
    mesh = there.to_mesh()
    try:
        mesh.calc_loop_triangles()
        points = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", points)
        triangles = np.empty(3 * len(mesh.loop_triangles), np.int32)
        mesh.loop_triangles.foreach_get("vertices", triangles)
    finally:
        there.to_mesh_clear()
    matrix = np.array(there.matrix_world, np.float64)
    points = points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
    triangles = triangles.reshape(-1, 3)
    if np.linalg.det(matrix[:3, :3]) < 0:  # mirrored: inside out
        triangles = triangles[:, ::-1]
    return points, triangles


class Box:
    """The domain: a box along the axes, and the way from Blender's axes (z up) to Brim's (y up)."""

    def __init__(self, thing, depsgraph):
        points, _ = world_triangles(thing, depsgraph)
        if not len(points):
            raise Problem("the domain %s has no vertices" % thing.name)
        self.low, self.high = points.min(0), points.max(0)
        if min(self.high - self.low) <= 0:
            raise Problem("the domain %s is flat: it must be a box" % thing.name)
        # where Brim's origin, its low corner, lies in Blender
        self.origin = (self.low[0], self.high[1], self.low[2])

    def size(self):
        x, y, z = self.high - self.low
        return [float(x), float(z), float(y)]

    def place(self, points):
        out = np.empty_like(points)
        out[:, 0] = points[:, 0] - self.low[0]
        out[:, 1] = points[:, 2] - self.low[2]
        out[:, 2] = self.high[1] - points[:, 1]
        return out


def turned(vector):
    """A direction in Blender's axes => in Brim's."""
    return [float(vector[0]), float(vector[2]), float(-vector[1])]


def safe_name(name):
    return re.sub(r"[^A-Za-z0-9_-]", "_", name) or "object"


def moves(thing):
    """Whether an object may be elsewhere, or another shape, in another frame."""
    while thing:
        if thing.animation_data and (thing.animation_data.action or thing.animation_data.drivers or
                                     thing.animation_data.nla_tracks):
            return True
        keys = getattr(thing.data, "shape_keys", None)
        if thing.constraints or (keys and keys.animation_data):
            return True
        if any(m.type not in ("SUBSURF", "BEVEL", "TRIANGULATE", "SOLIDIFY", "MIRROR") for m in thing.modifiers):
            return True
        thing = thing.parent
    return False


def write_mesh(context, thing, box, path, first=None):
    """first: points and triangles of the first frame, whose triangles all others keep, as Blender cuts faces
    into triangles by their shape"""
    points, triangles = world_triangles(thing, context.evaluated_depsgraph_get())
    if not len(triangles):
        raise Problem("%s has no faces" % thing.name)
    if first and (len(points), len(triangles)) != (len(first[0]), len(first[1])):
        raise Problem("%s has %d vertices in frame %d and %d in the first: what moves must keep its faces" %
                      (thing.name, len(points), context.scene.frame_current, len(first[0])))
    files.write_ply(path, box.place(points), first[1] if first else triangles)
    return points, triangles


def shape(context, thing, box, folder, animated):
    """The keys of an object's shape; writes its files."""
    scene, name = context.scene, safe_name(thing.name)
    os.makedirs(os.path.join(folder, "meshes"), exist_ok=True)
    if not animated:
        write_mesh(context, thing, box, os.path.join(folder, "meshes", name + ".ply"))
        return {"mesh": {"file": "meshes/%s.ply" % name}}
    frames = os.path.join(folder, "meshes", name)
    os.makedirs(frames, exist_ok=True)
    for old in os.listdir(frames):
        if old.endswith(".ply"):
            os.remove(os.path.join(frames, old))
    now, first = scene.frame_current, None
    try:
        for frame in range(scene.frame_start, scene.frame_end + 1):
            scene.frame_set(frame)
            path = os.path.join(frames, "%06d.ply" % (frame - scene.frame_start))
            wrote = write_mesh(context, thing, box, path, first)
            first = first or wrote
    finally:
        scene.frame_set(now)
    return {"mesh": {"frames": "meshes/%s/######.ply" % name, "frame_rate": rate(scene)}}


def rate(scene):
    return scene.render.fps / scene.render.fps_base


def write_scene(context, folder):
    """Writes folder/scene.yaml and its meshes => path, Box"""
    scene, settings = context.scene, context.scene.brim
    domains = with_role(scene, "DOMAIN")
    if len(domains) != 1:
        raise Problem("%d objects are the domain: give one object this role" % len(domains))
    if not (with_role(scene, "LIQUID") or with_role(scene, "INFLOW")):
        raise Problem("nothing is liquid or inflow: give an object one of these roles")
    if scene.frame_end <= scene.frame_start:
        raise Problem("the scene has one frame: set its start and end")
    os.makedirs(folder, exist_ok=True)
    box = Box(domains[0], context.evaluated_depsgraph_get())
    size = box.size()
    longest = max(size)
    cells = max(4, round(settings.cells * size[0] / longest))
    gravity = scene.gravity if scene.use_gravity else (0.0, 0.0, 0.0)
    out = {
        "brim": 1,
        "domain": {"size": size, "cells": cells},
        "gravity": turned(gravity),
        "time": {"duration": (scene.frame_end - scene.frame_start) / rate(scene), "frame_rate": rate(scene)},
        "viscosity": settings.viscosity,
        "surface_tension": settings.surface_tension,
        "output": {"surface": "ply", "surface_resolution": settings.surface_resolution,
                   "particles": True, "foam": settings.whitewater},
        "liquid": [], "solids": [], "sources": [], "drains": [],
    }
    if settings.open_sides:
        out["domain"]["sides"] = "open"
    for thing in with_role(scene, "LIQUID"):
        item = shape(context, thing, box, folder, False)
        item["velocity"] = turned(thing.brim.velocity)
        out["liquid"].append(item)
    for thing in with_role(scene, "OBSTACLE"):
        out["solids"].append(shape(context, thing, box, folder, moves(thing)))
    for thing in with_role(scene, "INFLOW"):
        item = shape(context, thing, box, folder, False)
        item["velocity"] = turned(thing.brim.velocity)
        if not any(item["velocity"]):
            raise Problem("inflow %s has no velocity: give it one" % thing.name)
        out["sources"].append(item)
    for thing in with_role(scene, "OUTFLOW"):
        out["drains"].append(shape(context, thing, box, folder, False))
    path = os.path.join(folder, "scene.yaml")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(out, f, indent=2)
        f.write("\n")
    return path, box
