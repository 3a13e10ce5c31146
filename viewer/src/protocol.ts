// What the server sends, decoded. cli/live/frame.h has the layout of binary messages.

export interface ValueName {
  name: string;
  unit: string;
}

export interface Hello {
  type: "hello";
  version: string;
  name: string;
  live: boolean;
  surface: boolean;
  dim: 2 | 3;
  cells: number[];
  size: number[];
  perCell: number;
  frameRate: number;
  pivots: number[][]; // of the solids, as they stand in the scene, m
  bodies: number;
  values: ValueName[];
  columns: string[];
  gauges: { name: string; columns: string[] }[];
}

export interface Setting {
  key: string;
  unit: string;
  range: string;
  help: string;
  values: number[];
}

export interface Status {
  type: "status";
  playing: boolean;
  ended: boolean;
  speed: number;
  frame: number;
  frames: number;
  failure: string;
  settings: Setting[];
}

export interface Stats {
  type: "stats";
  values: (number | null)[];
  gauges: (number | null)[][];
}

export type Columns = Record<string, (number | null)[]>;

export interface History {
  type: "history";
  columns: Columns;
  gauges: { name: string; columns: Columns }[];
}

export interface You {
  type: "you";
  id: number;
  steers: boolean;
  viewers: number;
}

export interface Notice {
  type: "notice";
  text: string;
}

export type TextMessage = Hello | Status | Stats | History | You | Notice;

/** How a solid stands: local points are turned, then moved. */
export interface Placement {
  present: boolean;
  rotation: Float32Array; // row major, 9
  position: Float32Array; // m, 3
}

interface Moved {
  serial: number;
  step: number;
  time: number;
  frame: number;
  frames: number;
  stepsASecond: number;
  solids: Placement[];
  bodies: Float32Array[]; // vertices of each, m
}

export interface ParticleFrame extends Moved {
  kind: "particles";
  value: number; // which one: an index into Hello.values
  low: number;
  high: number;
  positions: Float32Array; // m
  values: Uint8Array; // of 255, from low to high
  below: number; // the last so many are middles of full cells, below a narrow band
}

export interface SurfaceFrame extends Moved {
  kind: "surface";
  positions: Float32Array; // m
  normals: Float32Array;
  triangles: Uint32Array;
}

export interface Mesh {
  positions: Float32Array;
  triangles: Uint32Array;
}

export interface Geometry {
  kind: "geometry";
  solids: Mesh[];
  bodies: Mesh[];
}

export type BinaryMessage = ParticleFrame | SurfaceFrame | Geometry;

const MAGIC = 0x31465242;
const HEAD = 64;
const TILE = 8; // cells
const MARGIN = 4;
const REACH = TILE + 2 * MARGIN;

/** Reads numbers one after the other; typed arrays are copied, as they may lie anywhere. */
class Reader {
  readonly view: DataView;
  at = 0;
  constructor(readonly buffer: ArrayBuffer) {
    this.view = new DataView(buffer);
  }
  u8() {
    return this.view.getUint8(this.at++);
  }
  u16() {
    this.at += 2;
    return this.view.getUint16(this.at - 2, true);
  }
  u32() {
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }
  f32() {
    this.at += 4;
    return this.view.getFloat32(this.at - 4, true);
  }
  f64() {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }
  bytes(count: number) {
    if (this.at + count > this.buffer.byteLength) throw new RangeError("a message is too short");
    this.at += count;
    return this.buffer.slice(this.at - count, this.at);
  }
  floats(count: number) {
    return new Float32Array(this.bytes(4 * count));
  }
}

function readMesh(r: Reader): Mesh {
  const vertices = r.u32();
  const triangles = r.u32();
  return {
    positions: r.floats(3 * vertices),
    triangles: new Uint32Array(r.bytes(12 * triangles)),
  };
}

function readGeometry(r: Reader): Geometry {
  r.u32(); // serial
  const solids = r.u32();
  const bodies = r.u32();
  const meshes = (count: number) => Array.from({ length: count }, () => readMesh(r));
  return { kind: "geometry", solids: meshes(solids), bodies: meshes(bodies) };
}

function readSolid(r: Reader): Placement {
  return { present: r.u32() !== 0, rotation: r.floats(9), position: r.floats(3) };
}

/** Positions of 16 bits within tiles => metres, and how many of the last are cells below a band. */
function readPositions(r: Reader, count: number, runs: number, cell: number) {
  const tiles = new Reader(r.bytes(12 * runs));
  const q = new Uint16Array(r.bytes(6 * count));
  const out = new Float32Array(3 * count);
  const scale = (REACH * cell) / 65535;
  let i = 0;
  let below = 0;
  for (let run = 0; run < runs; run++) {
    const x = (tiles.u16() * TILE - MARGIN) * cell;
    const y = (tiles.u16() * TILE - MARGIN) * cell;
    const z = (tiles.u16() * TILE - MARGIN) * cell;
    const isBelow = tiles.u16() === 1;
    const end = Math.min(i + 3 * tiles.u32(), 3 * count);
    if (isBelow) below += (end - i) / 3;
    for (; i < end; i += 3) {
      out[i] = x + scale * q[i];
      out[i + 1] = y + scale * q[i + 1];
      out[i + 2] = z + scale * q[i + 2];
    }
  }
  return { positions: out, below };
}

/** A point of the square => the unit vector that was folded onto it. */
export function unfold(a: number, b: number, out: Float32Array, at: number) {
  let x = a / 127;
  let y = b / 127;
  const z = 1 - Math.abs(x) - Math.abs(y);
  if (z < 0) {
    const folded = (1 - Math.abs(y)) * (x < 0 ? -1 : 1);
    y = (1 - Math.abs(x)) * (y < 0 ? -1 : 1);
    x = folded;
  }
  const length = Math.hypot(x, y, z) || 1;
  out[at] = x / length;
  out[at + 1] = y / length;
  out[at + 2] = z / length;
}

function readSurface(r: Reader, count: number, triangles: number, cell: number, size: number[]) {
  const bytes = r.bytes(8 * count);
  const q = new Uint16Array(bytes);
  const n = new Int8Array(bytes);
  const positions = new Float32Array(3 * count);
  const normals = new Float32Array(3 * count);
  for (let i = 0; i < count; i++) {
    for (let a = 0; a < 3; a++)
      positions[3 * i + a] = (q[4 * i + a] / 65535) * (size[a] + 2 * cell) - cell;
    unfold(n[8 * i + 6], n[8 * i + 7], normals, 3 * i);
  }
  return { positions, normals, triangles: new Uint32Array(r.bytes(12 * triangles)) };
}

/** Decodes a binary message; throws when it is none. `size` is the domain's. */
export function decode(buffer: ArrayBuffer, size: number[]): BinaryMessage {
  const r = new Reader(buffer);
  if (buffer.byteLength < 20 || r.u32() !== MAGIC) throw new RangeError("not a message of Brim");
  const kind = r.u8();
  r.u8(); // dimensions: in the hello
  const value = r.u8();
  r.u8();
  if (kind === 3) return readGeometry(r);
  if (buffer.byteLength < HEAD) throw new RangeError("a frame is too short");
  const serial = r.u32();
  const step = r.u32();
  const time = r.f64();
  const low = r.f32();
  const high = r.f32();
  const count = r.u32();
  const runs = r.u32();
  const solidCount = r.u32();
  const bodyCount = r.u32();
  const cell = r.f32();
  const frame = r.u32();
  const frames = r.u32();
  const stepsASecond = r.f32();
  const solids = Array.from({ length: solidCount }, () => readSolid(r));
  const bodies = Array.from({ length: bodyCount }, () => r.floats(3 * r.u32()));
  const moved = { serial, step, time, frame, frames, stepsASecond, solids, bodies };
  if (kind === 2) return { kind: "surface", ...moved, ...readSurface(r, count, runs, cell, size) };
  if (kind !== 1) throw new RangeError("a message of an unknown kind");
  const { positions, below } = readPositions(r, count, runs, cell);
  return {
    kind: "particles",
    ...moved,
    value,
    low,
    high,
    positions,
    below,
    values: new Uint8Array(r.bytes(count)),
  };
}

const numbers = (values: number[]) => values.map((v) => +v.toPrecision(7)).join(" ");

/** What may be sent: one line of text each. */
export const say = {
  play: () => "play",
  pause: () => "pause",
  step: () => "step",
  restart: () => "restart",
  steer: () => "steer",
  speed: (x: number) => `speed ${x}`,
  seek: (frame: number) => `seek ${Math.max(0, Math.round(frame))}`,
  show: (value: number) => `show ${value}`,
  got: (serial: number) => `got ${serial}`,
  set: (key: string, values: number[]) => `set ${key} ${numbers(values)}`,
  move: (solid: number, position: number[], rotation: number[], duration: number) =>
    `move ${solid} ${numbers(position)} ${numbers(rotation)} ${numbers([duration])}`,
  grab: (origin: number[], direction: number[]) =>
    `grab -1 ${numbers(origin)} ${numbers(direction)}`,
  drag: (to: number[], duration: number) => `drag 0 ${numbers(to)} ${numbers([duration])}`,
  release: () => "release 0",
  pour: (at: number[], velocity: number[], radius: number) =>
    `pour ${numbers(at)} ${numbers(velocity)} ${numbers([radius])}`,
  stir: (at: number[], velocity: number[], radius: number) =>
    `stir ${numbers(at)} ${numbers(velocity)} ${numbers([radius])}`,
};
