// Small line plots on a canvas: a column of the statistics over time.
import { show } from "./colour";

/** A column over time, the oldest points thinned out so that it never grows beyond some thousand. */
export class Series {
  time: number[] = [];
  value: number[] = [];

  add(time: number, value: number | null) {
    if (this.time.length && time < this.time[this.time.length - 1]) this.clear();
    this.time.push(time);
    this.value.push(value ?? NaN);
    if (this.time.length <= 3000) return;
    const keep = (_: number, i: number) => i % 2 === 0 || i > 2000;
    this.value = this.value.filter(keep);
    this.time = this.time.filter(keep);
  }

  clear() {
    this.time = [];
    this.value = [];
  }
}

/** Ends of an axis that holds all values, and is never without length. */
export function range(values: number[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (!(low <= high)) return [0, 1];
  if (low === high) {
    const room = Math.abs(low) * 0.05 || 1;
    return [low - room, high + room];
  }
  const room = 0.06 * (high - low);
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

/** Draws a series; `mark` is a time to point at. */
export function draw(canvas: HTMLCanvasElement, series: Series, mark?: number) {
  const ratio = Math.min(window.devicePixelRatio, 2);
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const c = canvas.getContext("2d");
  if (!c || !width || !height) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  c.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const left = 46;
  const bottom = height - 14;
  const [low, high] = range(series.value);
  const start = series.time[0] ?? 0;
  const end = Math.max(series.time[series.time.length - 1] ?? 1, start + 1e-6);
  const x = (t: number) => left + ((t - start) / (end - start)) * (width - left - 4);
  const y = (v: number) => 4 + ((high - v) / (high - low)) * (bottom - 8);
  c.font = "10px system-ui, sans-serif";
  c.fillStyle = style.color;
  c.strokeStyle = style.getPropertyValue("--line");
  c.strokeRect(left + 0.5, 4.5, width - left - 5, bottom - 8);
  c.textAlign = "right";
  c.fillText(show(high), left - 4, 12);
  c.fillText(show(low), left - 4, bottom - 2);
  c.fillText(`${show(end)} s`, width - 4, height - 2);
  c.textAlign = "left";
  c.fillText(show(start), left, height - 2);
  c.strokeStyle = style.getPropertyValue("--accent");
  c.lineWidth = 1.5;
  c.beginPath();
  let pen = false;
  series.time.forEach((t, i) => {
    const v = series.value[i];
    if (Number.isFinite(v)) {
      if (pen) c.lineTo(x(t), y(v));
      else c.moveTo(x(t), y(v));
    }
    pen = Number.isFinite(v);
  });
  c.stroke();
  if (mark === undefined) return;
  c.strokeStyle = style.color;
  c.lineWidth = 1;
  c.beginPath();
  c.moveTo(x(mark), 4);
  c.lineTo(x(mark), bottom - 4);
  c.stroke();
}
