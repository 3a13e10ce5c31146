import { describe, expect, it } from "vitest";
import { decode, ParticleFrame, say, SurfaceFrame, unfold } from "../src/protocol";

/** A frame as cli/live/frame.c writes it. */
function message(kind: number, build: (put: Put) => void): ArrayBuffer {
  const bytes: number[] = [];
  const view = new DataView(new ArrayBuffer(8));
  const push = (n: number) => {
    for (let i = 0; i < n; i++) bytes.push(view.getUint8(i));
  };
  const put: Put = {
    u8: (x) => bytes.push(x & 255),
    u16: (x) => (view.setUint16(0, x, true), push(2)),
    u32: (x) => (view.setUint32(0, x, true), push(4)),
    f32: (x) => (view.setFloat32(0, x, true), push(4)),
    f64: (x) => (view.setFloat64(0, x, true), push(8)),
  };
  put.u32(0x31465242);
  for (const x of [kind, 3, 1, 0]) put.u8(x);
  build(put);
  return new Uint8Array(bytes).buffer;
}
type Put = Record<"u8" | "u16" | "u32" | "f32" | "f64", (x: number) => void>;

function head(put: Put, count: number, runs: number, solids = 0, bodies = 0) {
  put.u32(77); // serial
  put.u32(12); // step
  put.f64(0.5);
  put.f32(0);
  put.f32(3);
  for (const x of [count, runs, solids, bodies]) put.u32(x);
  put.f32(0.1); // cell
  put.u32(4);
  put.u32(9);
  put.f32(60);
}

describe("frames", () => {
  it("gives particles their places", () => {
    const buffer = message(1, (put) => {
      head(put, 3, 2, 1);
      put.u32(1); // a solid
      for (const x of [0, -1, 0, 1, 0, 0, 0, 0, 1]) put.f32(x);
      for (const x of [1, 2, 3]) put.f32(x);
      for (const x of [0, 0, 0, 0]) put.u16(x); // tile 0, two particles
      put.u32(2);
      for (const x of [2, 1, 0, 0]) put.u16(x);
      put.u32(1);
      for (const x of [0, 65535, 32768, 16384, 16384, 16384, 0, 0, 0]) put.u16(x);
      for (const x of [0, 128, 255]) put.u8(x);
    });
    const frame = decode(buffer, [1, 1, 1]) as ParticleFrame;
    expect(frame).toMatchObject({ kind: "particles", serial: 77, step: 12, time: 0.5, value: 1 });
    expect(frame.solids[0].position).toEqual(new Float32Array([1, 2, 3]));
    const p = Array.from(frame.positions);
    expect(p[0]).toBeCloseTo(-0.4, 5); // half a tile before tile 0
    expect(p[1]).toBeCloseTo(1.2, 5);
    expect(p[3]).toBeCloseTo(0, 4);
    expect(p[6]).toBeCloseTo(1.2, 5); // tile 2: 16 cells less 4
    expect(p[7]).toBeCloseTo(0.4, 5);
    expect(Array.from(frame.values)).toEqual([0, 128, 255]);
    expect(frame.below).toBe(0);
  });

  it("knows cells below a narrow band by their runs", () => {
    const buffer = message(1, (put) => {
      head(put, 5, 3);
      const runs = [
        [0, 2],
        [1, 1],
        [1, 2],
      ];
      for (const [below, count] of runs) {
        for (const x of [0, 0, 0, below]) put.u16(x);
        put.u32(count);
      }
      for (let i = 0; i < 15; i++) put.u16(32768);
      for (let i = 0; i < 5; i++) put.u8(i);
    });
    const frame = decode(buffer, [1, 1, 1]) as ParticleFrame;
    expect(frame.below).toBe(3);
    expect(frame.values.length).toBe(5);
  });

  it("gives surfaces their places and normals", () => {
    const buffer = message(2, (put) => {
      head(put, 1, 1);
      for (const x of [0, 65535, 32768]) put.u16(x);
      for (const x of [0, 127]) put.u8(x);
      for (const x of [0, 0, 0]) put.u32(x);
    });
    const frame = decode(buffer, [1, 2, 3]) as SurfaceFrame;
    expect(frame.positions[0]).toBeCloseTo(-0.1, 5);
    expect(frame.positions[1]).toBeCloseTo(2.1, 5);
    expect(Array.from(frame.normals)).toEqual([0, 1, 0]);
    expect(frame.triangles.length).toBe(3);
  });

  it("unfolds the lower half of the octahedron", () => {
    const n = new Float32Array(3);
    unfold(127, 127, n, 0);
    expect(Array.from(n)).toEqual([0, 0, -1]);
  });

  it("refuses what is none", () => {
    expect(() => decode(new ArrayBuffer(4), [1, 1, 1])).toThrow();
    expect(() => decode(new ArrayBuffer(100), [1, 1, 1])).toThrow("not a message");
    const short = message(1, (put) => head(put, 1000, 1));
    expect(() => decode(short, [1, 1, 1])).toThrow("too short");
  });
});

it("messages hold plain numbers", () => {
  expect(say.set("gravity", [0, -9.81, 1 / 3])).toBe("set gravity 0 -9.81 0.3333333");
  expect(say.move(1, [1e-9, 0, 2], [0, 90, 0], 0.03)).toBe("move 1 1e-9 0 2 0 90 0 0.03");
  expect(say.seek(-3)).toBe("seek 0");
});
