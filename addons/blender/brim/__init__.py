"""Brim for Blender: runs as objects that follow the frame, and scenes from objects with roles."""
bl_info = {
    "name": "Brim",
    "author": "Brim",
    "version": (0, 1, 0),
    "blender": (3, 3, 0),
    "location": "View3D > Sidebar > Brim; File > Import > Brim run",
    "description": "Liquids by Brim: import runs with motion blur, bake from the scene",
    "category": "Physics",
}

import os
import shutil

import bpy
from bpy.props import (BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty, IntProperty, PointerProperty,
                       StringProperty)

from . import bake, exporter, importer

ROLES = [
    ("NONE", "None", "No part of the simulation"),
    ("DOMAIN", "Domain", "Its box along the axes is the tank"),
    ("LIQUID", "Liquid", "Water that is there at the start"),
    ("OBSTACLE", "Obstacle", "Solid; moves and deforms as it is animated"),
    ("INFLOW", "Inflow", "Where water enters, with a velocity"),
    ("OUTFLOW", "Outflow", "Where water is taken out"),
]

current = None  # the bake that is under way, or the last one


def program(context):
    """The path of the command brim."""
    addon = context.preferences.addons.get(__name__)
    path = addon.preferences.program if addon else ""
    return bpy.path.abspath(path) if path else shutil.which("brim") or "brim"


class BrimPreferences(bpy.types.AddonPreferences):
    bl_idname = __name__
    program: StringProperty(name="Command", subtype="FILE_PATH",
                            description="The program brim; empty: where the system finds it")

    def draw(self, _context):
        self.layout.prop(self, "program")


class BrimObject(bpy.types.PropertyGroup):
    role: EnumProperty(name="Role", items=ROLES, description="What the object is in the simulation")
    velocity: FloatVectorProperty(name="Velocity", subtype="VELOCITY", unit="VELOCITY",
                                  description="Of the liquid at the start, or as it leaves the inflow")


class BrimScene(bpy.types.PropertyGroup):
    folder: StringProperty(name="Folder", subtype="DIR_PATH", default="//brim",
                           description="For the scene file, its meshes and the run")
    cells: IntProperty(name="Cells", default=64, min=8, max=4096,
                       description="Along the longest edge of the domain")
    surface_resolution: IntProperty(name="Surface", default=2, min=1, max=3,
                                    description="Resolution of the surface, times that of the cells")
    whitewater: BoolProperty(name="Whitewater", description="Spray, foam and bubbles")
    open_sides: BoolProperty(name="Open sides", description="What reaches a side of the domain leaves it")
    viscosity: FloatProperty(name="Viscosity", min=0.0, soft_max=100.0, precision=3,
                             description="Pa s: water 0.001, oil 0.1, honey 10; 0: none")
    surface_tension: FloatProperty(name="Tension", min=0.0, soft_max=1.0, precision=3,
                                   description="N/m: water 0.073; 0: none")
    threads: IntProperty(name="Threads", min=0, max=1024, description="0: one for each core")


class BRIM_OT_import(bpy.types.Operator):
    """A run of Brim as objects whose meshes follow the frame"""
    bl_idname = "brim.import_run"
    bl_label = "Brim run"
    bl_options = {"REGISTER", "UNDO"}

    directory: StringProperty(subtype="DIR_PATH")
    first: IntProperty(name="First frame", default=1, description="Frame of the scene that is the run's frame 0")
    speed: FloatProperty(name="Speed", default=1.0, min=1e-3, max=1e3, description="Of playing; 0.5 is slow motion")
    particles: BoolProperty(name="Particles", default=True)
    solids: BoolProperty(name="Solids", default=True, description="Needs the command brim")

    def invoke(self, context, _event):
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        folder = bpy.path.abspath(self.directory)
        if not os.path.exists(os.path.join(folder, "run.json")):
            self.report({"ERROR"}, "%s holds no run of Brim: run.json is missing" % folder)
            return {"CANCELLED"}
        try:
            _, left_out = importer.import_run(context, folder, program(context), self.first, self.speed,
                                              self.particles, self.solids)
        except (OSError, ValueError, KeyError) as problem:
            self.report({"ERROR"}, "%s: %s" % (folder, problem))
            return {"CANCELLED"}
        if left_out:
            self.report({"WARNING"}, left_out)
        return {"FINISHED"}


class BRIM_OT_write(bpy.types.Operator):
    """Writes scene.yaml and the meshes of all objects that have a role"""
    bl_idname = "brim.write_scene"
    bl_label = "Write scene"

    def execute(self, context):
        try:
            path, _ = exporter.write_scene(context, bpy.path.abspath(context.scene.brim.folder))
        except (exporter.Problem, OSError) as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        self.report({"INFO"}, path)
        return {"FINISHED"}


def show_frames(context, box):
    """The run's objects, made when its first frame is there. Whether they are."""
    if getattr(current, "shown", None):
        for thing in context.scene.objects:
            if thing.get("brim_run") == current.shown and "brim_kind" in thing:
                importer.load(context.scene, thing)
        return True
    if not os.path.exists(os.path.join(current.folder, "run.json")) or current.frame < 0:
        return False
    for old in [c for c in bpy.data.collections if c.get("brim_bake") == current.folder]:
        for thing in list(old.objects):
            bpy.data.objects.remove(thing)
        bpy.data.collections.remove(old)
    parent, _ = importer.import_run(context, current.folder, program(context), context.scene.frame_start,
                                    solids=False, origin=[float(x) for x in box.origin])
    parent.users_collection[0]["brim_bake"] = current.folder
    current.shown = parent["brim_run"]
    return True


class BRIM_OT_bake(bpy.types.Operator):
    """Writes the scene and runs it in the background; frames show as they arrive"""
    bl_idname = "brim.bake"
    bl_label = "Bake"

    wait: BoolProperty(name="Wait", description="Until all frames are there; for scripts", options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, _context):
        return current is None or current.state != "running"

    def execute(self, context):
        global current
        folder = bpy.path.abspath(context.scene.brim.folder)
        try:
            path, box = exporter.write_scene(context, folder)
            current = bake.Bake(program(context), path, os.path.join(folder, "run"), context.scene.brim.threads)
        except (exporter.Problem, OSError) as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        current.shown = None

        def watch():
            job = current
            new = job.poll()
            if new or job.state == "done":
                show_frames(bpy.context, box)
            for window in bpy.context.window_manager.windows:
                for area in window.screen.areas:
                    area.tag_redraw()
            return 0.25 if job.state == "running" else None

        if not self.wait:
            bpy.app.timers.register(watch)
            return {"FINISHED"}
        current.wait()
        watch()
        if current.state != "done":
            self.report({"ERROR"}, current.message or current.state)
            return {"CANCELLED"}
        return {"FINISHED"}


class BRIM_OT_cancel(bpy.types.Operator):
    """Ends the run after its step; the frames so far stay"""
    bl_idname = "brim.cancel"
    bl_label = "Cancel"

    @classmethod
    def poll(cls, _context):
        return current is not None and current.state == "running"

    def execute(self, _context):
        current.cancel()
        return {"FINISHED"}


class BRIM_PT_panel(bpy.types.Panel):
    bl_label = "Brim"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Brim"

    def draw(self, context):
        layout, settings, thing = self.layout, context.scene.brim, context.object
        layout.use_property_split = True
        if thing and thing.type == "MESH":
            box = layout.box()
            box.label(text=thing.name, icon="OBJECT_DATA")
            box.prop(thing.brim, "role")
            if thing.brim.role in ("LIQUID", "INFLOW"):
                box.prop(thing.brim, "velocity")
        for key in ("cells", "surface_resolution", "whitewater", "open_sides", "viscosity", "surface_tension",
                    "threads", "folder"):
            layout.prop(settings, key)
        layout.operator("brim.write_scene")
        if current and current.state == "running":
            row = layout.row()
            row.label(text="Frame %d of %d" % (max(0, current.frame), current.frames), icon="SORTTIME")
            row.operator("brim.cancel")
        else:
            layout.operator("brim.bake", icon="MOD_FLUIDSIM")
            if current:
                layout.label(text=current.message.splitlines()[0] if current.message else
                             "%s: frame %d of %d" % (current.state, max(0, current.frame), current.frames))
        layout.operator("brim.import_run", text="Import run", icon="IMPORT")


def menu(self, _context):
    self.layout.operator(BRIM_OT_import.bl_idname, text="Brim run (folder)")


CLASSES = (BrimPreferences, BrimObject, BrimScene, BRIM_OT_import, BRIM_OT_write, BRIM_OT_bake, BRIM_OT_cancel,
           BRIM_PT_panel)


def register():
    for made in CLASSES:
        bpy.utils.register_class(made)
    bpy.types.Object.brim = PointerProperty(type=BrimObject)
    bpy.types.Scene.brim = PointerProperty(type=BrimScene)
    bpy.types.TOPBAR_MT_file_import.append(menu)
    bpy.app.handlers.frame_change_pre.append(importer.follow)
    bpy.app.handlers.load_post.append(importer.follow)


def unregister():
    bpy.app.handlers.load_post.remove(importer.follow)
    bpy.app.handlers.frame_change_pre.remove(importer.follow)
    bpy.types.TOPBAR_MT_file_import.remove(menu)
    del bpy.types.Scene.brim
    del bpy.types.Object.brim
    for made in reversed(CLASSES):
        bpy.utils.unregister_class(made)
