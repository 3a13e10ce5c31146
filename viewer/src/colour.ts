// The colour scale of particles: lightness runs one way, so that it also reads in grey.

/** Stops in Oklab: lightness, a, b. Deep blue, teal, green, pale yellow. */
const STOPS = [
  [0.32, 0.0, -0.14],
  [0.5, -0.06, -0.09],
  [0.67, -0.12, 0.02],
  [0.82, -0.09, 0.13],
  [0.96, 0.0, 0.12],
];

function toByte(linear: number) {
  const x = Math.min(Math.max(linear, 0), 1);
  return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
}

/** Oklab => sRGB bytes. */
function fromOklab(l: number, a: number, b: number): [number, number, number] {
  const x = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const y = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const z = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    toByte(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z),
    toByte(-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z),
    toByte(-0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z),
  ];
}

/** The colour at a share of the scale, 0 to 1. */
export function colourAt(share: number): [number, number, number] {
  const at = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1);
  const i = Math.min(Math.floor(at), STOPS.length - 2);
  const mix = (k: number) => STOPS[i][k] + (at - i) * (STOPS[i + 1][k] - STOPS[i][k]);
  return fromOklab(mix(0), mix(1), mix(2));
}

/** [256] RGBA bytes, for a texture. */
export function colourTable(): Uint8Array<ArrayBuffer> {
  const table = new Uint8Array(4 * 256);
  for (let i = 0; i < 256; i++) table.set([...colourAt(i / 255), 255], 4 * i);
  return table;
}

/** A number for people: three digits that count. */
export function show(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(1);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(+value.toPrecision(3));
}
