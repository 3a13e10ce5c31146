import { describe, expect, it } from "vitest";
import { colourAt, show } from "../src/colour";
import { range, Series } from "../src/plot";
import { sliderFor, STEPS, toPlace, toValue } from "../src/range";
import { angles } from "../src/touch";

describe("sliders by the scene table", () => {
  it("takes both ends of a range", () => {
    expect(sliderFor("0 to 1", 0.97)).toEqual({ low: 0, high: 1, logarithmic: false });
  });
  it("spans powers of ten where there is no upper end", () => {
    const s = sliderFor("> 0", 0.02);
    expect(s.logarithmic).toBe(true);
    expect(s.low).toBeCloseTo(0.0002);
    expect(s.high).toBeCloseTo(2);
    expect(sliderFor("0.01 to 100", 2)).toMatchObject({ low: 0.02, high: 100, logarithmic: true });
  });
  it("goes both ways without a range", () => {
    expect(sliderFor("", -9.81)).toEqual({ low: -20, high: 20, logarithmic: false });
  });
  it("comes back to the value", () => {
    for (const [text, value] of [
      ["0 to 1", 0.5],
      ["> 0", 3],
      ["", -9.8],
    ] as [string, number][]) {
      const s = sliderFor(text, value);
      expect(toValue(s, toPlace(s, value)) / value).toBeCloseTo(1, 1);
    }
    expect(toPlace(sliderFor("0 to 1", 0), 7)).toBe(STEPS);
  });
});

describe("plots", () => {
  it("have an axis that holds the values", () => {
    expect(range([])).toEqual([0, 1]);
    expect(range([2, 2])[0]).toBeLessThan(2);
    expect(range([0, 1, NaN])[0]).toBe(0);
  });
  it("do not grow without end, and begin again", () => {
    const s = new Series();
    for (let i = 0; i < 10000; i++) s.add(i, i);
    expect(s.time.length).toBeLessThanOrEqual(3001);
    expect(s.time[s.time.length - 1]).toBe(9999);
    s.add(1, 5);
    expect(s.time).toEqual([1]);
  });
});

it("colours get lighter along the scale", () => {
  const light = (c: number[]) => 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  for (let i = 1; i <= 20; i++)
    expect(light(colourAt(i / 20))).toBeGreaterThan(light(colourAt((i - 1) / 20)));
});

it("numbers are short", () => {
  expect([0, 1234.5, 0.12345, 1e-5, NaN].map(show)).toEqual(["0", "1,235", "0.123", "1.0e-5", "–"]);
});

it("rotations become angles about x, y, z", () => {
  const z90 = [0, -1, 0, 1, 0, 0, 0, 0, 1];
  expect(angles(z90).map(Math.round)).toEqual([0, 0, 90]);
});
