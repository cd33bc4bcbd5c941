/** What does each pixel column of the timeline show? Binning and ticks, without drawing. */

import type { Outcome, Row } from "./rows.ts";
import { OUTCOMES } from "./rows.ts";

/** Several rows of one column: the strongest outcome stands for all. */
export interface Glyph {
  readonly x: number;
  readonly outcome: Outcome;
  readonly count: number;
}

/** One glyph for each `cell` pixels that have a row, from left to right. */
export function glyphs(rows: readonly Row[], x: (t: number) => number, width: number, cell: number): Glyph[] {
  const found: { x: number; outcome: Outcome; count: number }[] = [];
  let bin = -1;
  for (const row of rows) {
    const at = x(row.t);
    if (at < 0 || at > width) continue;
    const open = found.at(-1);
    if (open === undefined || Math.floor(at / cell) !== bin) {
      bin = Math.floor(at / cell);
      found.push({ x: at, outcome: row.outcome, count: 1 });
    } else {
      open.count += 1;
      if (OUTCOMES.indexOf(row.outcome) < OUTCOMES.indexOf(open.outcome)) {
        open.outcome = row.outcome;
        open.x = at;
      }
    }
  }
  return found;
}

/** Counts per bucket, as `density` gives them. */
export interface Density {
  readonly from: number;
  readonly to: number;
  readonly n: number;
  readonly lanes: Readonly<Record<string, readonly number[] | undefined>>;
}

/**
 * Bar heights 0–1, one for each of `columns` over the span `from..to`: the square root of input
 * rate plus half the changed share, so that a single key still shows beside a scrolling page.
 */
export function heat(density: Density, columns: number, from: number, to: number): Float32Array {
  const bars = new Float32Array(columns);
  const { activity = [], input = [] } = density.lanes;
  const step = (density.to - density.from) / density.n;
  for (let i = 0; i < density.n; i += 1) {
    const t = density.from + i * step;
    const first = Math.floor(((t - from) / (to - from)) * columns);
    const last = Math.max(first, Math.ceil(((t + step - from) / (to - from)) * columns) - 1);
    const inputRate = Math.min(1, ((input[i] ?? 0) / Math.max(step, 1)) * 200);
    const value = Math.sqrt(Math.min(1, inputRate + (0.5 * (activity[i] ?? 0)) / 1000));
    for (let c = Math.max(0, first); c <= last && c < columns; c += 1) {
      bars[c] = Math.max(bars[c] as number, value);
    }
  }
  return bars;
}

/** Distances between ruler ticks, in ms: those a person can count in. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((s) => s * 1000);

/** Where the ruler's labels go: round values of `origin + t`, at least `apart` pixels from each other. */
export function ticks(from: number, to: number, origin: number, width: number, apart: number): number[] {
  const perPixel = (to - from) / Math.max(1, width);
  const step = STEPS.find((s) => s >= apart * perPixel) ?? (STEPS.at(-1) as number);
  const found: number[] = [];
  const first = Math.ceil((from + origin) / step) * step - origin;
  for (let t = first; t <= to; t += step) found.push(t);
  return found;
}
