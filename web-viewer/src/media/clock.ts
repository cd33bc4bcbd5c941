/** What time is it while playing? The element's clock, carried over the places where browsers stop it. */

import type { Timeline } from "../core/timeline.ts";

/** Media that is late by this much is told. */
const LATE_MS = 300;
/** Chromium was seen to stop 5 to 35 ms before a hole. */
const EARLY_MS = 120;

export class MediaClock {
  readonly #video: HTMLVideoElement;
  /** When and where the element's clock came to stand. */
  #stood: { readonly t: number; readonly at: number } | undefined;

  constructor(video: HTMLVideoElement) {
    this.#video = video;
  }

  /** Play begins anew. */
  reset(): void {
    this.#stood = undefined;
  }

  /**
   * The session ms at `now`, and whether play waits for media. `presented` is the frame on the
   * stage. Before a hole browsers stop some ms early, sometimes before the last frame: from there
   * time goes on by `now`, to the hole.
   */
  read(
    now: number,
    timeline: Timeline,
    presented: number | null,
  ): { readonly t: number; readonly late: boolean } {
    const t = Math.floor(this.#video.currentTime * 1000);
    if (this.#video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA && t !== this.#stood?.t) {
      this.#stood = undefined;
      return { t, late: false };
    }
    this.#stood ??= { t, at: now };
    const stoodMs = now - this.#stood.at;
    const hole = holeAfter(timeline, t, presented ?? t);
    if (hole === undefined) return { t, late: stoodMs > LATE_MS };
    return { t: Math.min(hole, Math.floor(t + stoodMs * this.#video.playbackRate)), late: false };
  }
}

/** Where media ends, if the clock stands in its last frame or close before the end. */
function holeAfter(timeline: Timeline, t: number, presented: number): number | undefined {
  const frame = timeline.frameAt(Math.max(t, presented));
  const reach = Math.max(t + EARLY_MS, frame?.end ?? t);
  if (reach >= timeline.duration) return timeline.duration;
  return timeline.frameAt(reach) === undefined ? timeline.gapAt(reach)?.from : undefined;
}
