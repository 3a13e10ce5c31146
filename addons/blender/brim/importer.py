"""Runs as objects whose meshes follow the frame."""
import csv
import os
import subprocess

import bpy
import numpy as np
from bpy.app.handlers import persistent
from mathutils import Matrix

from . import files

RUNS = {}  # folder => Run


def run_of(folder):
    folder = os.path.abspath(bpy.path.abspath(folder))
    if folder not in RUNS:
        RUNS[folder] = files.Run(folder)
    return RUNS[folder]


# ---------------------------------------------------------------------------------------- meshes

def put_attribute(mesh, name, values):
    """values [n] floats or integers, or [n, 3] floats"""
    vector = values.ndim == 2
    kind = "FLOAT_VECTOR" if vector else "FLOAT" if values.dtype.kind == "f" else "INT"
    attribute = mesh.attributes.get(name) or mesh.attributes.new(name, kind, "POINT")
    if vector:
        attribute.data.foreach_set("vector", np.ascontiguousarray(values, np.float32).ravel())
    elif kind == "FLOAT":
        attribute.data.foreach_set("value", np.ascontiguousarray(values, np.float32))
    else:
        attribute.data.foreach_set("value", values.astype(np.uint32).view(np.int32))


def fill(mesh, columns, triangles, speed, radius):
    """Makes a mesh what a file holds. speed: velocities are multiplied by it"""
    points = files.vectors(columns, "xyz")
    kept = list(mesh.materials)
    mesh.clear_geometry()
    mesh.vertices.add(len(points))
    mesh.vertices.foreach_set("co", points.ravel())
    if triangles is not None and len(triangles):
        count = len(triangles)
        mesh.loops.add(3 * count)
        mesh.polygons.add(count)
        mesh.loops.foreach_set("vertex_index", triangles.ravel())
        mesh.polygons.foreach_set("loop_start", np.arange(0, 3 * count, 3, dtype=np.int32))
        mesh.polygons.foreach_set("loop_total", np.full(count, 3, np.int32))
        mesh.polygons.foreach_set("use_smooth", np.ones(count, bool))
        mesh.update(calc_edges=True)
    else:
        mesh.update()
    if not mesh.materials:
        for material in kept:
            mesh.materials.append(material)
    if "vx" in columns:
        # what Cycles and geometry nodes take for motion blur, units a second
        put_attribute(mesh, "velocity", speed * files.vectors(columns, ("vx", "vy", "vz")))
    for name in columns:
        if name not in ("x", "y", "z", "nx", "ny", "nz", "vx", "vy", "vz", "size"):
            put_attribute(mesh, name, columns[name])
    if "size" in columns:
        put_attribute(mesh, "radius", columns["size"])
    elif radius:
        put_attribute(mesh, "radius", np.full(len(points), radius, np.float32))


def frame_of(scene, thing, run):
    """The run's frame that the scene's is."""
    fps = scene.render.fps / scene.render.fps_base
    seconds = (scene.frame_current - thing["brim_first"]) / fps * thing.get("brim_speed", 1.0)
    return max(0, round(seconds * run.rate))


def load(scene, thing, force=False):
    """Brings an object to the scene's frame."""
    run = run_of(thing["brim_run"])
    kind = thing["brim_kind"]
    frame = frame_of(scene, thing, run)
    if kind == "solid":
        path = thing["brim_path"] % frame
        path = path if os.path.exists(path) else None
    else:
        path = run.nearest(kind, frame)
    if not path or (path == thing.get("brim_shown") and not force):
        return
    columns, triangles = files.read_ply(path)
    radius = 0.5 * run.spacing if kind == "particles" else 0
    fill(thing.data, columns, triangles, thing.get("brim_speed", 1.0), radius)
    thing["brim_shown"] = path


@persistent
def follow(scene, _depsgraph=None):
    """At each change of frame."""
    for thing in scene.objects:
        if "brim_kind" in thing and thing.type == "MESH":
            try:
                load(scene, thing)
            except (OSError, ValueError) as problem:
                print("Brim:", problem)


# ------------------------------------------------------------------------------------- materials

def material(name, colour, **values):
    made = bpy.data.materials.get(name)
    if made:
        return made
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    made.diffuse_color = colour
    shader = made.node_tree.nodes.get("Principled BSDF")
    shader.inputs["Base Color"].default_value = colour
    for key, value in values.items():
        socket = shader.inputs.get(key.replace("_", " "))
        if socket:
            socket.default_value = value
    return made


def water():
    # in Blender 4 the socket is Transmission Weight
    return material("Brim water", (0.9, 0.97, 1.0, 1.0), Transmission=1.0, Transmission_Weight=1.0,
                    Roughness=0.0, IOR=1.333)


def points_group(name, shade):
    """Geometry nodes: vertices as points with their radius and material."""
    group = bpy.data.node_groups.get(name)
    if group:
        return group
    group = bpy.data.node_groups.new(name, "GeometryNodeTree")
    if hasattr(group, "interface"):
        group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
        group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    else:
        group.inputs.new("NodeSocketGeometry", "Geometry")
        group.outputs.new("NodeSocketGeometry", "Geometry")
    new = group.nodes.new
    begin, end = new("NodeGroupInput"), new("NodeGroupOutput")
    points, size = new("GeometryNodeMeshToPoints"), new("GeometryNodeInputNamedAttribute")
    paint = new("GeometryNodeSetMaterial")
    size.data_type = "FLOAT"
    size.inputs["Name"].default_value = "radius"
    paint.inputs["Material"].default_value = shade
    for i, node in enumerate((begin, size, points, paint, end)):
        node.location = (200 * i, 0 if node is not size else -150)
    join = group.links.new
    value = next(s for s in size.outputs if s.enabled)
    join(begin.outputs[0], points.inputs[0])
    join(value, points.inputs["Radius"])
    join(points.outputs[0], paint.inputs["Geometry"])
    join(paint.outputs[0], end.inputs[0])
    return group


# --------------------------------------------------------------------------------------- objects

def add(collection, parent, name, data):
    thing = bpy.data.objects.new(name, data)
    collection.objects.link(thing)
    thing.parent = parent
    return thing


def add_follower(collection, parent, run, kind, name, first, speed):
    thing = add(collection, parent, name, bpy.data.meshes.new(name))
    thing["brim_run"] = run.folder
    thing["brim_kind"] = kind
    thing["brim_first"] = first
    thing["brim_speed"] = speed
    return thing


def add_domain(collection, parent, run):
    corners = [(x, y, z) for z in (0, run.size[2]) for y in (0, run.size[1]) for x in (0, run.size[0])]
    edges = [(a, a | bit) for a in range(8) for bit in (1, 2, 4) if not a & bit]
    mesh = bpy.data.meshes.new("domain")
    mesh.from_pydata(corners, edges, [])
    thing = add(collection, parent, "domain", mesh)
    thing.display_type = "WIRE"
    thing.hide_render = True
    return thing


def make_solids(run, program):
    """The folder with the solids' surfaces; asks Brim for them. None: there are none to be had."""
    folder = os.path.join(run.folder, "solids")
    if not run.scene.get("solids"):
        return None
    try:
        subprocess.run([program, "convert", run.folder, "--to", "solids", "--resume", "--quiet"], check=True,
                       capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        if not os.path.isdir(folder):
            detail = getattr(problem, "stderr", "") or str(problem)
            raise RuntimeError("solids are left out: %s" % detail.strip())
    return folder


def place_solid(thing, rows, first, ratio):
    """Keyframes from rows of how it stands. rows: [(frame, row)]; ratio: scene frames a run frame"""
    thing.rotation_mode = "QUATERNION"
    number = lambda row, keys: [float(row[k]) for k in keys]
    moves = any(r[k] != rows[0][1][k] for _, r in rows for k in r if k not in ("solid",))
    last = None
    for frame, row in rows:
        x = number(row, ("x", "y", "z"))
        r = number(row, ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"))
        turn = Matrix((r[0:3], r[3:6], r[6:9])).to_quaternion()
        if last:
            turn.make_compatible(last)
        last = turn
        thing.location, thing.rotation_quaternion = x, turn
        thing.hide_render = thing.hide_viewport = row["present"] == "0"
        if not moves:
            return
        at = first + frame * ratio
        for path in ("location", "rotation_quaternion", "hide_render", "hide_viewport"):
            thing.keyframe_insert(path, frame=at)
    for curve in thing.animation_data.action.fcurves:
        for key in curve.keyframe_points:
            key.interpolation = "CONSTANT" if curve.data_path.startswith("hide") else "LINEAR"


def add_solids(collection, parent, run, folder, first, speed, ratio):
    rows = {}
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".csv")):
        with open(os.path.join(folder, name), newline="") as f:
            for row in csv.DictReader(f):
                rows.setdefault(int(row["solid"]), []).append((int(name[:-4]), row))
    made = []
    for solid, placed in rows.items():
        thing = add_follower(collection, parent, run, "solid", "solid %d" % solid, first, speed)
        thing["brim_path"] = os.path.join(folder, "solid_%02d_%%06d.ply" % solid)
        if placed[0][1]["deforms"] == "0":
            columns, triangles = files.read_ply(os.path.join(folder, "solid_%02d.ply" % solid))
            fill(thing.data, columns, triangles, 1.0, 0)
            thing.data.polygons.foreach_set("use_smooth", np.zeros(len(thing.data.polygons), bool))
            del thing["brim_kind"]
        place_solid(thing, placed, first, ratio)
        thing.data.materials.append(material("Brim solid", (0.46, 0.30, 0.20, 1.0), Roughness=0.7))
        made.append(thing)
    return made


def import_run(context, folder, program="brim", first=None, speed=1.0, particles=True, solids=True,
               origin=(0.0, 0.0, 0.0)):
    """=> the empty that all objects of the run hang on, and what was left out as text. origin: of the
    run's low corner, its y up, in Blender"""
    scene = context.scene
    folder = os.path.abspath(bpy.path.abspath(folder))
    RUNS.pop(folder, None)
    run = run_of(folder)
    first = scene.frame_start if first is None else first
    name = os.path.basename(folder.rstrip("/")) or "run"
    collection = bpy.data.collections.new("Brim " + name)
    scene.collection.children.link(collection)
    parent = bpy.data.objects.new("Brim " + name, None)
    collection.objects.link(parent)
    parent.rotation_euler = (1.5707963267948966, 0.0, 0.0)  # Brim's y points up
    parent.location = origin
    parent.empty_display_size = 0.1 * max(run.size)
    parent["brim_run"] = run.folder
    add_domain(collection, parent, run)
    left_out = ""
    if run.frames("surface"):
        thing = add_follower(collection, parent, run, "surface", "surface", first, speed)
        thing.data.materials.append(water())
    if particles and run.frames("particles"):
        thing = add_follower(collection, parent, run, "particles", "particles", first, speed)
        nodes = thing.modifiers.new("points", "NODES")
        nodes.node_group = points_group("Brim particles", material("Brim particles", (0.1, 0.35, 0.8, 1)))
        thing.hide_render = bool(run.frames("surface"))
    if run.frames("foam"):
        thing = add_follower(collection, parent, run, "foam", "whitewater", first, speed)
        nodes = thing.modifiers.new("points", "NODES")
        nodes.node_group = points_group("Brim whitewater", material("Brim whitewater", (1, 1, 1, 1)))
    if run.frames("bodies"):
        thing = add_follower(collection, parent, run, "bodies", "bodies", first, speed)
        thing.data.materials.append(material("Brim body", (0.8, 0.35, 0.1, 1.0), Roughness=0.6))
    if solids:
        ratio = scene.render.fps / scene.render.fps_base / (run.rate * speed)
        try:
            made = make_solids(run, program)
            if made:
                add_solids(collection, parent, run, made, first, speed, ratio)
        except RuntimeError as problem:
            left_out = str(problem)
    scene.render.use_lock_interface = True  # meshes change while frames are drawn
    follow(scene)
    return parent, left_out
