/** What does each pixel column of the timeline show? Binning and ticks, without drawing. */

import { endOf } from "./input.ts";
import type { Outcome, Row } from "./rows.ts";
import { OUTCOMES } from "./rows.ts";

/** Several rows of one column: the strongest outcome stands for all. */
export interface Glyph {
  readonly x: number;
  readonly outcome: Outcome;
  readonly count: number;
}

/** One glyph for each `cell` pixels that have a row, from left to right. */
export function glyphs(
  rows: readonly Row[],
  x: (t: number) => number,
  width: number,
  cell: number,
): Glyph[] {
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

/** The sub-rows of the input lane, from above. */
export const DEVICES = ["key", "pointer", "clip"] as const;
export type Device = (typeof DEVICES)[number];

/** Which device an input event is of. */
export function deviceOf({ kind }: Row): Device {
  if (kind === "clipboard") return "clip";
  return kind === "pointer" || kind === "wheel" ? "pointer" : "key";
}

/** The pixel columns in which something begins, and those in which it goes on. */
interface Columns {
  readonly at: Set<number>;
  readonly on: Set<number>;
}

/** What a lane of `width` pixels shows of the input `rows`, by device. */
export function marks(
  rows: readonly Row[],
  x: (t: number) => number,
  width: number,
): Readonly<Record<Device, Columns>> {
  const columns = (): Columns => ({ at: new Set(), on: new Set() });
  const found = { key: columns(), pointer: columns(), clip: columns() };
  for (const row of rows) {
    const first = Math.floor(x(row.t));
    const last = Math.min(width, Math.floor(x(endOf(row))));
    const { at, on } = found[deviceOf(row)];
    if (0 <= first && first <= width) at.add(first);
    for (let column = Math.max(0, first); column < last; column += 1) on.add(column + 1);
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

/** This many inputs a second make a full bar. */
const BUSY_INPUT = 5;

/** How busy one column was, 0–1, and whether the input there outweighs what the screen did. */
export interface Bar {
  readonly height: number;
  readonly byInput: boolean;
}

/**
 * One bar for each of `columns` over the span `from..to`: the square root of input rate plus half
 * the changed share, so that a single key still shows beside a scrolling page.
 */
export function heat(density: Density, columns: number, from: number, to: number): Bar[] {
  const inputs = new Float32Array(columns);
  const changed = new Float32Array(columns);
  const { activity = [], input = [] } = density.lanes;
  const bucketMs = (density.to - density.from) / density.n;
  const columnMs = (to - from) / columns;
  for (let i = 0; i < density.n; i += 1) {
    const t = density.from + i * bucketMs;
    const first = Math.floor((t - from) / columnMs);
    const last = Math.max(first, Math.ceil((t + bucketMs - from) / columnMs) - 1);
    for (let c = Math.max(0, first); c <= last && c < columns; c += 1) {
      inputs[c] = (inputs[c] as number) + (input[i] ?? 0) / (last - first + 1);
      changed[c] = Math.max(changed[c] as number, (0.5 * (activity[i] ?? 0)) / 1000);
    }
  }
  // A rate over less than a second would make each key look like a storm.
  const seconds = Math.max(columnMs, 1000) / 1000;
  return Array.from(changed, (share, c) => {
    const rate = (inputs[c] as number) / seconds / BUSY_INPUT;
    return { height: Math.sqrt(Math.min(1, share + rate)), byInput: rate > 0 && rate >= share };
  });
}

/** Distances between ruler ticks, in ms: those a person can count in. */
const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400,
].map((s) => s * 1000);

/** Where the ruler's labels go: round values of `origin + t`, at least `apart` pixels from each other. */
export function ticks(
  from: number,
  to: number,
  origin: number,
  width: number,
  apart: number,
): number[] {
  const perPixel = (to - from) / Math.max(1, width);
  const step = STEPS.find((s) => s >= apart * perPixel) ?? (STEPS.at(-1) as number);
  const found: number[] = [];
  const first = Math.ceil((from + origin) / step) * step - origin;
  for (let t = first; t <= to; t += step) found.push(t);
  return found;
}
