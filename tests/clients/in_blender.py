"""Blender imports .vdb files: grids, places, a surface from the level set, a picture."""
import bpy
import truth
from truth import *

for kept in list(bpy.data.objects):
    bpy.data.objects.remove(kept)
folder = os.path.join(run, "vdb")
# As the menu does it: the first file and all of the sequence.
bpy.ops.object.volume_import(filepath=os.path.join(folder, "000012.vdb"), directory=folder,
                             files=[{"name": "000012.vdb"}])
thing = bpy.context.object
volume = thing.data
expect("type", thing.type, "VOLUME")
expect("loads", str(volume.grids.load()), "True")
names = sorted(g.name for g in volume.grids)
expect("grids", names, ["surface", "velocity"])
kinds = {g.name: g.data_type for g in volume.grids}
expect("types", [kinds[n] for n in names], ["FLOAT", "VECTOR_FLOAT"])
_, _, cell, _ = vti(os.path.join(run, "fields/000012.vti"), "velocity")
scale = {g.name: g.matrix_object[0][0] for g in volume.grids}
expect("edges of voxels, m", [scale[n] for n in names], [cell / 2, cell], 1e-6)
expect("grid for motion blur", volume.velocity_grid, "velocity")

# The level set as a mesh again: the same volume of water as in the surface it came from.
mesh = bpy.data.meshes.new("water")
water = bpy.data.objects.new("water", mesh)
bpy.context.collection.objects.link(water)
modifier = water.modifiers.new("from volume", "VOLUME_TO_MESH")
modifier.object = thing
modifier.grid_name = "surface"
modifier.threshold = 0
modifier.resolution_mode = "GRID"
made = water.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
made.calc_loop_triangles()
places = [v.co for v in made.vertices]
surface, triangles = ply(os.path.join(run, "surface/000012.ply"))
columns = {"x": [p.x for p in places], "y": [p.y for p in places], "z": [p.z for p in places]}
print("        %d vertices, the surface has %d" % (len(places), len(surface["x"])))
whole = enclosed(surface, triangles)
expect("volume of water, m3", abs(enclosed(columns, [t.vertices for t in made.loop_triangles])), whole,
       0.01 * whole)
# Blender 3.4 puts the centre of a voxel where OpenVDB has its corner: all is half a voxel off, along
# each axis the same way.
shift = min(columns["y"]) - min(surface["y"])
expect("shift of half a voxel or none, m", min(abs(shift), abs(shift - cell / 4)), 0, 1e-5)
for axis in "xz":
    expect("bounds along " + axis, (min(columns[axis]) - shift, max(columns[axis]) - shift),
           (min(surface[axis]), max(surface[axis])), 1e-4)
# A lone drop, an ellipsoid of 42 vertices, may be smaller than a voxel.
held = large(surface, triangles, 43)
expect("top", max(columns["y"]) - shift, max(y for y, h in zip(surface["y"], held) if h), cell / 2)

# A picture of it. Brim's y points up, Blender's z: turned upright by the parent.
thing.hide_render = True
upright = bpy.data.objects.new("upright", None)
bpy.context.collection.objects.link(upright)
upright.rotation_euler = (1.5707963, 0, 0)
water.parent = thing.parent = upright
sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
sun.data.energy = 4
sun.rotation_euler = (0.7, 0.3, 0.4)
camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
camera.location, camera.rotation_euler = (3.2, -4.4, 2.4), (1.2, 0, 0.46)
for extra in sun, camera:
    bpy.context.collection.objects.link(extra)
scene = bpy.context.scene
scene.camera = camera
scene.render.engine = "CYCLES"
scene.cycles.samples, scene.cycles.use_denoising = 8, False
scene.render.resolution_x, scene.render.resolution_y = 480, 270
scene.render.filepath = os.path.join(pictures, "blender.png")
bpy.ops.render.render(write_still=True)
picture = bpy.data.images.load(scene.render.filepath)
light = list(picture.pixels)[::4]
low, high = min(light), max(light)
expect("light and shade in the picture", str(high - low > 0.2), "True")
truth.end()
