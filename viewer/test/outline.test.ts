import { expect, test } from "vitest";
import { fillOutlines } from "../src/stage";

/** Area of triangles in the plane. */
function area(positions: Float32Array, triangles: Uint32Array) {
  let sum = 0;
  for (let i = 0; i < triangles.length; i += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => 3 * triangles[i + k]);
    const [x, y] = [positions[a], positions[a + 1]];
    sum +=
      0.5 *
      Math.abs(
        (positions[b] - x) * (positions[c + 1] - y) - (positions[c] - x) * (positions[b + 1] - y),
      );
  }
  return sum;
}

test("outlines of bodies in 2D are filled", () => {
  // an L of area 3 and a square of area 1, as segments
  const points = [0, 0, 2, 0, 2, 1, 1, 1, 1, 2, 0, 2, 5, 5, 6, 5, 6, 6, 5, 6];
  const positions = new Float32Array(30);
  for (let i = 0; i < 10; i++) positions.set([points[2 * i], points[2 * i + 1], 0], 3 * i);
  const segment = (i: number, n: number, from: number) => [from + i, from + ((i + 1) % n)];
  const triangles: number[] = [];
  for (let i = 0; i < 6; i++) {
    const [a, b] = segment(i, 6, 0);
    triangles.push(a, b, b);
  }
  for (let i = 0; i < 4; i++) {
    const [a, b] = segment(i, 4, 6);
    triangles.push(a, b, b);
  }
  const filled = fillOutlines({ positions, triangles: Uint32Array.from(triangles) });
  expect(filled.length).toBe(3 * (4 + 2));
  expect(area(positions, filled)).toBeCloseTo(4);
});
