"""The add-on in Blender: imports a run, blurs its motion, bakes a scene from objects with roles."""
import csv
import math
import time

import bpy
from truth import *

program = os.path.abspath(os.environ["BRIM"])
bpy.ops.preferences.addon_install(filepath=os.path.abspath(os.environ["ADDON"]), overwrite=True)
bpy.ops.preferences.addon_enable(module="brim")
bpy.context.preferences.addons["brim"].preferences.program = program
import brim

scene = bpy.context.scene
scene.render.fps = 24


def clear():
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)


def close(what, got, wanted, tolerance):
    """Rows of numbers, the farthest apart."""
    same = len(got) == len(wanted)
    far = max((abs(a - b) for g, w in zip(got, wanted) for a, b in zip(g, w)), default=0)
    expect("%s: rows" % what, len(got), len(wanted))
    expect("%s: farthest apart" % what, far if same else 1e9, 0, tolerance)


def attribute(mesh, name):
    data = mesh.attributes[name].data
    return [tuple(d.vector) if hasattr(d, "vector") else (d.value,) for d in data]


# ------------------------------------------------------------------------ a run, frame by frame
clear()
drop = os.path.join(work, "drop")
bpy.ops.brim.import_run(directory=drop, first=1)
names = sorted(o.name for o in bpy.data.objects)
expect("objects", names, ["Brim drop", "domain", "particles", "solid 0", "solid 1", "surface", "whitewater"])
for frame in (1, 3, 5):
    scene.frame_set(frame)
    number = frame - 1
    graph = bpy.context.evaluated_depsgraph_get()
    columns, triangles = ply(os.path.join(drop, "surface/%06d.ply" % number))
    mesh = bpy.data.objects["surface"].evaluated_get(graph).data
    # in the world: Brim's y is Blender's z
    matrix = bpy.data.objects["surface"].matrix_world
    close("frame %d: vertices" % number, [tuple(matrix @ v.co) for v in mesh.vertices],
          [(x, -z, y) for x, y, z in zip(columns["x"], columns["y"], columns["z"])], 1e-6)
    close("frame %d: velocities" % number, attribute(mesh, "velocity"),
          list(zip(columns["vx"], columns["vy"], columns["vz"])), 1e-6)
    expect("frame %d: triangles" % number, [tuple(p.vertices) for p in mesh.polygons] == triangles, True)
    points, _ = ply(os.path.join(drop, "particles/%06d.ply" % number))
    mesh = bpy.data.objects["particles"].data
    close("frame %d: particles" % number, attribute(mesh, "velocity"),
          list(zip(points["vx"], points["vy"], points["vz"])), 1e-6)
    close("frame %d: ids" % number, attribute(mesh, "id"), [(i,) for i in points["id"]], 0)
    close("frame %d: ages" % number, attribute(mesh, "age"), [(a,) for a in points["age"]], 1e-6)
    clouds = [i.object.type for i in graph.object_instances]
    expect("frame %d: drawn as points" % number, clouds.count("POINTCLOUD") >= 1, True)
    # the bar turns by 90 degrees a second about y, the wall deforms
    turn = bpy.data.objects["solid 0"].matrix_world.to_quaternion()
    spun = math.degrees(turn.rotation_difference(upright).angle) if frame > 1 else 0
    upright = turn if frame == 1 else upright
    expect("frame %d: the bar has turned, degrees" % number, spun, 90 * number / 24, 1e-3)
    wall = [v.co.x for v in bpy.data.objects["solid 1"].data.vertices]
    with open(os.path.join(work, "wall/%d.obj" % number)) as f:
        widest = max(float(line.split()[1]) for line in f if line.startswith("v "))
    expect("frame %d: the wall reaches, m" % number, max(wall), widest, 0.01)

# ------------------------------------------------------------- motion blur in Cycles, by a number
for name in names:
    if name not in ("surface", "Brim drop"):
        bpy.data.objects.remove(bpy.data.objects[name])
white = bpy.data.materials.new("white")
white.use_nodes = True
white.node_tree.nodes.clear()
glow, out = white.node_tree.nodes.new("ShaderNodeEmission"), white.node_tree.nodes.new("ShaderNodeOutputMaterial")
white.node_tree.links.new(glow.outputs[0], out.inputs[0])
surface = bpy.data.objects["surface"]
surface.data.materials.clear()
surface.data.materials.append(white)
camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
scene.collection.objects.link(camera)
camera.data.type, camera.data.ortho_scale = "ORTHO", 1.0
camera.location, camera.rotation_euler = (0.5, -5, 0.5), (math.pi / 2, 0, 0)
scene.camera = camera
scene.world = None
scene.render.engine = "CYCLES"
scene.cycles.device, scene.cycles.samples, scene.cycles.use_denoising = "CPU", 16, False
scene.render.threads_mode, scene.render.threads = "FIXED", 1
size = 100
scene.render.resolution_x = scene.render.resolution_y = size
scene.render.film_transparent = True
scene.render.motion_blur_shutter = 1.0
scene.frame_set(4)
spread = {}
for blur in (False, True):
    scene.render.use_motion_blur = blur
    scene.render.filepath = os.path.join(pictures, "blur_%s.png" % ("on" if blur else "off"))
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(scene.render.filepath)
    pixel = list(image.pixels)
    rows = [sum(pixel[4 * (y * size + x) + 3] for x in range(size)) for y in range(size)]
    middle = sum(y * r for y, r in enumerate(rows)) / sum(rows)
    spread[blur] = sum((y - middle) ** 2 * r for y, r in enumerate(rows)) / sum(rows) / size ** 2
columns, _ = ply(os.path.join(drop, "surface/000003.ply"))
fall = -sum(columns["vy"]) / len(columns["vy"]) / 24  # m a frame
# a picture that is smeared evenly over a length spreads by the square of it over 12
smeared = math.sqrt(12 * max(0, spread[True] - spread[False]))
expect("blur is as long as the way in a frame, m", smeared, fall, 0.05 * fall)

# --------------------------------------------------------------------------- a bake from objects
clear()
for kept in list(bpy.data.collections):
    bpy.data.collections.remove(kept)
scene.frame_start, scene.frame_end = 10, 15


def cube(name, role, low, high, velocity=(0, 0, 0)):
    middle = [0.5 * (a + b) for a, b in zip(low, high)]
    bpy.ops.mesh.primitive_cube_add(size=1, location=middle)
    thing = bpy.context.object
    thing.name, thing.scale = name, [b - a for a, b in zip(low, high)]
    thing.brim.role, thing.brim.velocity = role, velocity
    return thing


expect("without a domain", str(bpy.ops.brim.write_scene.poll()), "True")
try:
    bpy.ops.brim.write_scene()
    told = "nothing"
except RuntimeError as problem:
    told = str(problem)
expect("a scene without a domain is refused", "give one object this role" in told, True)
cube("tank", "DOMAIN", (-1, 2, 0.5), (1, 3, 1.5))
cube("pool", "LIQUID", (-1, 2, 0.5), (0, 3, 0.9))
cube("tap", "INFLOW", (0.4, 2.4, 1.1), (0.6, 2.6, 1.3), (0, 0, -2))
cube("plug", "OUTFLOW", (0.8, 2, 0.5), (1, 3, 0.6))
paddle = cube("paddle", "OBSTACLE", (0.1, 2.2, 0.55), (0.2, 2.8, 1.0))
paddle.keyframe_insert("location", frame=10)
paddle.location.x += 0.3
paddle.keyframe_insert("location", frame=15)
brim_scene = scene.brim
brim_scene.folder, brim_scene.cells, brim_scene.threads = os.path.join(work, "bake"), 24, 1
expect("bakes", str(bpy.ops.brim.bake(wait=True)), "{'FINISHED'}")
baked = os.path.join(work, "bake/run")
expect("frames", len(os.listdir(os.path.join(baked, "surface"))), 6)
expect("state", brim.current.state, "done")
with open(os.path.join(baked, "stats.csv")) as f:
    last = list(csv.DictReader(f))[-1]
expect("the tap ran", int(last["emitted"]) > 0, True)
for frame in (10, 12, 15):
    scene.frame_set(frame)
    columns, _ = ply(os.path.join(baked, "surface/%06d.ply" % (frame - 10)))
    thing = bpy.data.objects["surface"]
    close("baked frame %d" % (frame - 10), [tuple(thing.matrix_world @ v.co) for v in thing.data.vertices],
          [(x - 1, 3 - z, y + 0.5) for x, y, z in zip(columns["x"], columns["y"], columns["z"])], 1e-5)
water = [thing.matrix_world @ v.co for v in thing.data.vertices]
expect("water is in the tank", all(-1.001 < p.x < 1.001 and 1.999 < p.y < 3.001 and 0.499 < p.z < 1.501
                                    for p in water), True)

# a longer one, in the background: frames show, cancel ends it
scene.frame_end, brim_scene.cells = 400, 40
expect("starts", str(bpy.ops.brim.bake()), "{'FINISHED'}")
job, begun = brim.current, time.time()
expect("only one at a time", bpy.ops.brim.bake.poll(), False)
while job.frame < 2 and job.state == "running" and time.time() - begun < 120:
    time.sleep(0.1)
    job.poll()
expect("under way", job.state, "running")
expect("of frames", job.frames, 390)
bpy.ops.brim.cancel()
while job.state == "running" and time.time() - begun < 120:
    time.sleep(0.1)
    job.poll()
expect("cancelled", job.state, "cancelled")
expect("its frames stay", len(os.listdir(os.path.join(baked, "surface"))) >= 2, True)
bpy.ops.preferences.addon_disable(module="brim")
end()
