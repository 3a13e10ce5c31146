import { expect, test } from "vitest";
import { Pace } from "../src/pace";

test("slow pictures become coarser, quick ones finer again, within bounds", () => {
  const pace = new Pace();
  for (let i = 0; i < 5; i++) expect(pace.took(40)).toBe(false);
  expect(pace.took(90)).toBe(false);
  expect(pace.took(40)).toBe(false); // one hiccup is none
  pace.took(90);
  expect(pace.took(90)).toBe(true);
  expect(pace.quality).toBeCloseTo(0.7);
  for (let i = 0; i < 100; i++) pace.took(500);
  expect(pace.quality).toBeCloseTo(0.3);
  for (let i = 0; i < 2000; i++) pace.took(10);
  expect(pace.quality).toBe(1);
});
