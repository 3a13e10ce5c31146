// three.js expects what every browser has.
const world = globalThis as { self?: unknown; navigator?: unknown };
world.self ??= globalThis;
world.navigator ??= { userAgent: "" };
