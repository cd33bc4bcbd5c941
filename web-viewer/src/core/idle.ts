/** Where does nothing happen, and when may the playhead jump over it? */

import type { Timeline } from "./timeline.ts";

/** Nothing for at least this long is idle (viewer.md 4.5). */
export const IDLE_MS = 10_000;
/** Samples at least this far apart are heartbeats: the picture was proved, not changed. */
const HEARTBEAT_MS = 900;
/** Play goes on this long into an idle stretch before it jumps. */
const SETTLE_MS = 300;
/** Less than this left is played out: a jump would only confuse. */
const WORTH_MS = 1_500;

/** A half-open stretch with a standing picture, no input and no log row. */
export interface Idle {
  readonly from: number;
  readonly to: number;
}

/**
 * The stretches in which the picture stands and none of `events` (ascending ms) falls.
 * They end exactly at the first frame that changes something.
 */
export function idleSpans(timeline: Timeline, events: readonly number[]): Idle[] {
  const spans: Idle[] = [];
  let event = 0;
  const close = (from: number, to: number): void => {
    let start = from;
    while (event < events.length && (events[event] as number) < from) event += 1;
    while (event < events.length && (events[event] as number) < to) {
      add(spans, start, events[event] as number);
      start = events[event] as number;
      event += 1;
    }
    add(spans, start, to);
  };

  let from: number | undefined;
  let last: number | undefined;
  for (const f of timeline.fragments) {
    if (from !== undefined && last !== f.t) {
      close(from, last ?? from); // a gap: it has its own card
      from = undefined;
    }
    f.samples.forEach((start, n) => {
      const end = f.samples[n + 1] ?? f.t + f.dur;
      if (end - start >= HEARTBEAT_MS) from ??= start;
      else if (from !== undefined) {
        close(from, start);
        from = undefined;
      }
      last = end;
    });
  }
  if (from !== undefined) close(from, last ?? from);
  return spans;
}

function add(spans: Idle[], from: number, to: number): void {
  if (to - from >= IDLE_MS) spans.push({ from, to });
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
