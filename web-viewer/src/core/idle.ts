/** Where does nothing happen, and when may the playhead jump over it? */

import type { Density } from "./lanes.ts";
import type { Timeline } from "./timeline.ts";
import { upperBound } from "./timeline.ts";

/** Nothing for at least this long is idle (viewer.md 4.5). */
export const IDLE_MS = 10_000;
/** Samples at least this far apart are heartbeats: the picture was proved, not changed. */
const HEARTBEAT_MS = 900;
/** Play goes on this long into an idle stretch before it jumps. */
const SETTLE_MS = 300;
/** Less than this left is played out: a jump would only confuse. */
const WORTH_MS = 1_500;

/** A half-open stretch of session ms. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A stretch with a standing picture, no input and no log row. */
export type Idle = Stretch;

/**
 * The stretches in which the picture stands, without those of `busy` (by their start; an event
 * has no length). They end at the latest at the first frame that changes something.
 */
export function idleSpans(timeline: Timeline, busy: readonly Stretch[]): Idle[] {
  const cuts = joined(busy);
  return stills(timeline)
    .flatMap((still) => without(still, cuts))
    .filter(({ from, to }) => to - from >= IDLE_MS);
}

/** The stretches of heartbeats alone. A gap ends one: it has a card of its own. */
function stills(timeline: Timeline): Stretch[] {
  const found: { from: number; to: number }[] = [];
  for (const f of timeline.fragments) {
    f.samples.forEach((from, n) => {
      const to = f.samples[n + 1] ?? f.t + f.dur;
      if (to - from < HEARTBEAT_MS) return;
      const open = found.at(-1);
      if (open?.to === from) open.to = to;
      else found.push({ from, to });
    });
  }
  return found;
}

/** The same stretches, in order and without overlaps. */
function joined(stretches: readonly Stretch[]): Stretch[] {
  const found: { from: number; to: number }[] = [];
  for (const { from, to } of stretches) {
    const open = found.at(-1);
    if (open !== undefined && from <= open.to) open.to = Math.max(open.to, to);
    else found.push({ from, to });
  }
  return found;
}

function without(whole: Stretch, cuts: readonly Stretch[]): Stretch[] {
  const parts: Stretch[] = [];
  let { from } = whole;
  for (let i = upperBound(cuts, (cut) => cut.to < whole.from); i < cuts.length; i += 1) {
    const cut = cuts[i] as Stretch;
    if (cut.from >= whole.to) break;
    parts.push({ from, to: cut.from });
    from = cut.to;
  }
  parts.push({ from, to: whole.to });
  return parts;
}

/** The parts of `density` in which some of the screen changed. */
export function changes(density: Density): Stretch[] {
  const bucketMs = (density.to - density.from) / density.n;
  const changed = (density.lanes["activity"] ?? []).flatMap((share, i) => {
    const from = density.from + i * bucketMs;
    return share > 0 ? [{ from: Math.floor(from), to: Math.ceil(from + bucketMs) }] : [];
  });
  return joined(changed);
}

/** The stretch around `t`. */
export function idleAt(spans: readonly Idle[], t: number): Idle | undefined {
  return spans.find((idle) => idle.from <= t && t < idle.to);
}

/**
 * The idle stretch to jump over now, while playing at `t`; undefined to play on.
 * `spared` is the stretch the person went into on purpose: it is never skipped.
 */
export function skipFrom(spans: readonly Idle[], t: number, spared?: Idle): Idle | undefined {
  const idle = idleAt(spans, t);
  if (idle === undefined || idle.from === spared?.from) return undefined;
  return t - idle.from >= SETTLE_MS && idle.to - t >= WORTH_MS ? idle : undefined;
}
