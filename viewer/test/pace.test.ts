import { expect, test } from "vitest";
import { Flow, Pace } from "../src/pace";

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

test("pictures a second, and how fast time runs", () => {
  const flow = new Flow();
  expect(flow.pictures).toBe(0);
  expect(flow.speed).toBeNaN();
  for (let i = 0; i <= 60; i++) flow.came(100 + i / 20, i / 40); // 20 a second at half of real time
  expect(flow.pictures).toBe(20);
  expect(flow.speed).toBeCloseTo(0.5);
  for (let i = 0; i <= 20; i++) flow.came(110 + i / 20, 2 + i / 10); // a rest, then twice as fast
  expect(flow.speed).toBeCloseTo(2);
  flow.came(111.5, 0); // from the start
  expect(flow.speed).toBeNaN();
  expect(flow.pictures).toBe(1);
});
