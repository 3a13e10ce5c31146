// Sliders for keys of the scene: from the range that the scene table states to ends and a scale.

export interface Slider {
  low: number;
  high: number;
  logarithmic: boolean;
}

/** Ends of a slider for a value, by the table's text: "0 to 1", "> 0", ">= 0", "" or others. */
export function sliderFor(range: string, value: number): Slider {
  const numbers = range.match(/-?[\d.]+(?:e[+-]?\d+)?/gi)?.map(Number) ?? [];
  const size = Math.abs(value);
  const between = / to /.test(range) && numbers.length >= 2;
  if (between && (numbers[0] <= 0 || numbers[1] / numbers[0] <= 1000))
    return { low: numbers[0], high: numbers[1], logarithmic: false };
  if (range.startsWith(">") || between) {
    const middle = size || 1;
    const low = Math.max(middle / 100, between ? numbers[0] : 0);
    const high = between ? Math.min(middle * 100, numbers[1]) : middle * 100;
    return { low, high, logarithmic: true };
  }
  const reach = 2 * Math.max(size, 10);
  return { low: -reach, high: reach, logarithmic: false };
}

export const STEPS = 1000;

/** Value => place on the slider, 0 to STEPS. */
export function toPlace(s: Slider, value: number): number {
  const share = s.logarithmic
    ? Math.log(Math.max(value, s.low) / s.low) / Math.log(s.high / s.low)
    : (value - s.low) / (s.high - s.low);
  return Math.round(STEPS * Math.min(Math.max(share, 0), 1));
}

/** Place => value, with as many digits as the slider can tell apart. */
export function toValue(s: Slider, place: number): number {
  const share = place / STEPS;
  const value = s.logarithmic
    ? s.low * (s.high / s.low) ** share
    : s.low + share * (s.high - s.low);
  return +value.toPrecision(4);
}
