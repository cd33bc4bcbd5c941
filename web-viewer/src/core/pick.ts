/** Which fragments should be in the buffer for a playhead at `t`, and in which order to fetch them? */

import type { Fragment, Timeline } from "./timeline.ts";
import { upperBound } from "./timeline.ts";

/** How far ahead media is kept while paused: enough to step and to start playing at once. */
export const AHEAD_PAUSED_MS = 15_000;
/** How far ahead while playing at 1×; grows with the speed. */
export const AHEAD_PLAYING_MS = 30_000;
/** At most this much is asked for ahead, whatever the speed. */
export const AHEAD_BYTES = 24_000_000;
/** Media further from the playhead than this leaves the buffer. */
export const KEEP_MS = 120_000;
/** A playhead this close to its fragment's start may step back: the fragment before it is wanted too. */
const STEP_BACK_MS = 1_000;

/** Where the playhead is and how it moves. */
export interface Playhead {
  readonly t: number;
  readonly playing: boolean;
  readonly rate: number;
  /** Where a jump is about to land, such as the end of an idle stretch. */
  readonly next?: number | undefined;
}

/** Positions in `timeline.fragments`, the most urgent first. The first one holds `t`, if any does. */
export function wanted(timeline: Timeline, head: Playhead): number[] {
  const { fragments } = timeline;
  const order: number[] = [];
  const here = timeline.fragmentAt(head.t);
  if (here >= 0) order.push(here);

  const ahead = head.playing ? AHEAD_PLAYING_MS * Math.max(1, head.rate) : AHEAD_PAUSED_MS;
  let bytes = 0;
  for (let i = upperBound(fragments, (f) => f.t <= head.t); i < fragments.length; i += 1) {
    const f = fragments[i];
    if (f === undefined || f.t > head.t + ahead || bytes > AHEAD_BYTES) break;
    bytes += f.bytes;
    order.push(i);
  }
  if (head.next !== undefined) {
    const landing = timeline.fragmentAt(head.next);
    if (landing >= 0 && !order.includes(landing)) order.splice(1, 0, landing);
  }
  const current = fragments[here];
  if (current !== undefined && head.t - current.t < STEP_BACK_MS && here > 0) order.push(here - 1);
  return order;
}

/** Whether a fragment lies outside the `keep` ms on either side of `t`. */
export function isFar(f: Fragment, t: number, keep = KEEP_MS): boolean {
  return f.t + f.dur < t - keep || t + keep < f.t;
}
