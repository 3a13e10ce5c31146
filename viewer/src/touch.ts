// Hands in the water: pointers become messages. Places are sent at most once a picture.
import * as THREE from "three";
import { Hello, Placement, say } from "./protocol";
import type { Tool } from "./panel";
import type { Stage } from "./stage";

interface Grip {
  pointer: number;
  kind: "solid" | "body" | "pour" | "stir";
  index: number;
  start: THREE.Vector3; // where it was taken
  at: THREE.Vector3; // where the pointer is, on the plane through `start`
  sent: THREE.Vector3;
  offset: number[]; // solid: its placement when it was taken, m
  turn: number[]; // and degrees
  time: number;
}

/** Rotation matrix (row major) => degrees about x, then y, then z. */
export function angles(r: ArrayLike<number>): number[] {
  const m = new THREE.Matrix4().set(
    ...([r[0], r[1], r[2], 0, r[3], r[4], r[5], 0] as const),
    ...([r[6], r[7], r[8], 0, 0, 0, 0, 1] as const),
  );
  const e = new THREE.Euler().setFromRotationMatrix(m, "ZYX");
  return [e.x, e.y, e.z].map((x) => +((x * 180) / Math.PI).toFixed(4));
}

export class Touch {
  tool: Tool = "hand";
  solids: Placement[] = []; // of the frame on the screen
  private grip?: Grip;
  private size = [1, 1, 1];
  private pivots: number[][] = [];
  private cell = 0.01;
  private flat = false;
  private live = false;
  private steers = true;

  constructor(
    private readonly stage: Stage,
    private readonly send: (line: string) => void,
  ) {
    const canvas = stage.canvas;
    // before the camera's own listener, which must not see what is a grip
    canvas.addEventListener("pointerdown", (e) => this.down(e), { capture: true });
    canvas.addEventListener("pointermove", (e) => this.move(e));
    for (const end of ["pointerup", "pointercancel"] as const)
      canvas.addEventListener(end, (e) => this.up(e));
  }

  begin(hello: Hello) {
    this.size = hello.size;
    this.pivots = hello.pivots;
    this.cell = hello.size[0] / hello.cells[0];
    this.flat = hello.dim === 2;
    this.live = hello.live;
  }

  /** Who watches only turns the view: what another one steers would not follow. */
  setSteers(steers: boolean) {
    this.steers = steers;
    if (!steers) this.letGo();
  }

  private letGo() {
    this.grip = undefined;
    this.stage.controls.enabled = true;
  }

  private clamp(p: THREE.Vector3, margin: number) {
    const keep = (x: number, high: number) =>
      Math.min(Math.max(x, margin), Math.max(high - margin, margin));
    p.set(
      keep(p.x, this.size[0]),
      keep(p.y, this.size[1]),
      this.flat ? 0 : keep(p.z, this.size[2]),
    );
    return p;
  }

  private take(e: PointerEvent): Grip | undefined {
    const ray = this.stage.ray(e.clientX, e.clientY);
    const common = {
      pointer: e.pointerId,
      time: performance.now(),
      offset: [0, 0, 0],
      turn: [0, 0, 0],
    };
    const grip = (kind: Grip["kind"], index: number, start: THREE.Vector3): Grip => ({
      ...common,
      kind,
      index,
      start,
      at: start.clone(),
      sent: start.clone(),
    });
    if (this.tool === "hand") {
      const hit = this.stage.hit(ray);
      if (!hit) return undefined;
      const made = grip(hit.kind, hit.index, hit.point);
      const placed = this.solids[hit.index];
      if (hit.kind === "solid" && placed) {
        const pivot = this.pivots[hit.index] ?? [0, 0, 0];
        made.offset = [0, 1, 2].map((a) => placed.position[a] - pivot[a]);
        made.turn = angles(placed.rotation);
      }
      return made;
    }
    const middle = new THREE.Vector3(...this.size).multiplyScalar(0.5);
    if (this.flat) middle.z = 0;
    const wet = this.stage.hitWater(ray);
    const start = this.tool === "stir" ? wet : undefined;
    const point = start ?? this.stage.onPlane(ray, middle);
    return point && grip(this.tool, 0, this.clamp(point, this.cell));
  }

  private down(e: PointerEvent) {
    if (!this.live || !this.steers || this.grip || e.button !== 0) return;
    this.grip = this.take(e);
    if (!this.grip) return;
    this.stage.controls.enabled = false;
    this.stage.canvas.setPointerCapture(e.pointerId);
    if (this.grip.kind !== "body") return;
    const { origin, direction } = this.stage.ray(e.clientX, e.clientY);
    this.send(say.grab(origin.toArray(), direction.toArray()));
  }

  private move(e: PointerEvent) {
    const g = this.grip;
    if (!g || e.pointerId !== g.pointer) return;
    const ray = this.stage.ray(e.clientX, e.clientY);
    const point = this.stage.onPlane(ray, g.start);
    if (point) g.at.copy(point);
    if (this.flat) g.at.z = g.start.z;
  }

  private up(e: PointerEvent) {
    const g = this.grip;
    if (!g || e.pointerId !== g.pointer) return;
    this.tick();
    if (g.kind === "body") this.send(say.release());
    this.letGo();
  }

  /** Once a picture: tells the server where the hand is. */
  tick() {
    const g = this.grip;
    if (!g) return;
    const now = performance.now();
    const passed = Math.max((now - g.time) / 1000, 1e-3);
    const moved = g.at.distanceTo(g.sent) > 1e-6;
    if (g.kind === "pour") {
      if (passed < 0.05) return;
      const radius = 3 * this.cell;
      this.send(say.pour(this.clamp(g.at.clone(), radius).toArray(), [0, -1, 0], radius));
    } else if (!moved) {
      if (g.kind === "stir") g.time = now;
      return;
    } else if (g.kind === "solid") {
      const delta = g.at.clone().sub(g.start).toArray();
      const to = delta.map((d, a) => g.offset[a] + d);
      this.send(say.move(g.index, to, g.turn, 0.03));
    } else if (g.kind === "body") {
      this.send(say.drag(g.at.toArray(), 0.03));
    } else {
      const velocity = g.at.clone().sub(g.sent).divideScalar(passed);
      const limit = 2 * Math.max(...this.size);
      velocity.clampLength(0, limit);
      this.send(say.stir(this.clamp(g.at.clone(), 0).toArray(), velocity.toArray(), 5 * this.cell));
    }
    g.sent.copy(g.at);
    g.time = now;
  }
}
