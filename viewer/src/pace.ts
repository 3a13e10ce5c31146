// Coarser pictures where a machine cannot keep up with fine ones: hands and controls must answer.

const SLOW = 70; // ms that a picture may take
const QUICK = 20;
const LEAST = 0.3;

/** From how long pictures take to the share of the screen's pixels to draw. */
export class Pace {
  quality = 1;
  private slow = 0;
  private quick = 0;

  /** A picture took so many ms. True: the quality has changed. */
  took(ms: number): boolean {
    this.slow = ms > SLOW ? this.slow + 1 : 0;
    this.quick = ms < QUICK ? this.quick + 1 : 0;
    const before = this.quality;
    if (this.slow >= 2) this.quality = Math.max(LEAST, this.quality * (ms > 3 * SLOW ? 0.5 : 0.7));
    if (this.quick >= 120) this.quality = Math.min(1, this.quality / 0.8);
    if (this.quality !== before) this.slow = this.quick = 0;
    return this.quality !== before;
  }
}

const SPAN = 4; // s over which the pace is taken

/** From when frames came, and of what time they were: how many a second, and how fast time runs. */
export class Flow {
  private frames: { wall: number; time: number }[] = [];

  /** A frame of `time` came, both in seconds. One of before begins anew. */
  came(wall: number, time: number) {
    const last = this.frames[this.frames.length - 1];
    if (last && time < last.time) this.frames = [];
    this.frames = [...this.frames.filter((f) => wall - f.wall <= SPAN), { wall, time }];
  }

  /** Frames a second. */
  get pictures(): number {
    const last = this.frames[this.frames.length - 1];
    return last ? this.frames.filter((f) => last.wall - f.wall < 1).length : 0;
  }

  /** Simulated seconds a second; not a number until that is known. */
  get speed(): number {
    const [first] = this.frames;
    const last = this.frames[this.frames.length - 1];
    const passed = last ? last.wall - first.wall : 0;
    return passed > 0.2 ? (last.time - first.time) / passed : NaN;
  }
}
