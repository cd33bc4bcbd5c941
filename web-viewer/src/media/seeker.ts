/**
 * How does exactly the wanted frame come on the stage? (viewer.md, "Exact frames in a real browser")
 *
 * One media seek at a time, the newest target wins. The video is shown only when the frame that
 * the browser says it presented is the one the index names; until then the stage keeps the last
 * verified frame, and after a moment the server's still of the wanted one.
 */

import type { Frame, Timeline } from "../core/timeline.ts";
import type { MediaBuffer } from "./buffer.ts";
import type { Feeder } from "./feeder.ts";
import type { Layers } from "./layers.ts";

/** A seek that takes longer than this shows the server's still meanwhile. */
const STILL_AFTER_MS = 120;
/** How long after `seeked` the browser may take to say which frame it presents. */
const PRESENT_MS = 250;
/** A frame that is still wrong after this many seeks has its fragment fetched anew, once. */
const SEEKS = 4;
/** Browsers never finish a seek to the last moments of media before a hole: this far from a frame's end is safe. */
const EDGE_MS = 20;
/** After this long the verified still is as good an end as the video. */
const GIVE_UP_MS = 3_000;

/** A frame that is on the stage, and on which layer. */
export interface Settled {
  readonly frame: Frame;
  readonly layer: "video" | "still";
}

interface Pending {
  readonly t: number;
  readonly frame: Frame;
  readonly began: number;
  readonly abort: AbortController;
  seeks: number;
  /** When the last seek was issued; undefined while the fragment is awaited. */
  issued: number | undefined;
  renewed: boolean;
}

/** Brings one frame on the stage. `onSettled` is called once for each seek that was not overtaken. */
export class Seeker {
  timeline: Timeline;
  readonly #video: HTMLVideoElement;
  readonly #layers: Layers;
  readonly #buffer: MediaBuffer;
  readonly #feeder: Feeder;
  readonly #stillUrl: (t: number) => string;
  readonly #onSettled: (settled: Settled) => void;
  #pending: Pending | undefined;
  #presented: { readonly t: number; readonly at: number } | undefined;
  #present: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: {
    timeline: Timeline;
    layers: Layers;
    buffer: MediaBuffer;
    feeder: Feeder;
    stillUrl: (t: number) => string;
    onSettled: (settled: Settled) => void;
  }) {
    this.timeline = parts.timeline;
    this.#layers = parts.layers;
    this.#video = parts.layers.video;
    this.#buffer = parts.buffer;
    this.#feeder = parts.feeder;
    this.#stillUrl = parts.stillUrl;
    this.#onSettled = parts.onSettled;
    this.#video.addEventListener("seeked", () => this.#onSeeked());
  }

  get busy(): boolean {
    return this.#pending !== undefined;
  }

  /** Wants the frame at `t`, which must lie where there is a picture. Overtakes any earlier wish. */
  seek(t: number, frame: Frame): void {
    this.cancel();
    const first = this.#layers.shown === "none";
    this.#layers.freeze(this.#initOf(this.#presented?.t));
    const pending: Pending = {
      t,
      frame,
      began: performance.now(),
      abort: new AbortController(),
      seeks: 0,
      issued: undefined,
      renewed: false,
    };
    this.#pending = pending;
    void this.#bridge(pending, first ? 0 : STILL_AFTER_MS);
    this.advance();
  }

  /** Gives the pending wish up. */
  cancel(): void {
    this.#pending?.abort.abort();
    this.#pending = undefined;
    clearTimeout(this.#present);
  }

  /** Goes on with the pending seek if something it waited for has come. */
  advance(): void {
    const pending = this.#pending;
    if (pending === undefined || pending.issued !== undefined || this.#video.seeking) return;
    const f = this.timeline.fragments[pending.frame.fragment];
    if (f !== undefined && this.#buffer.has(f)) this.#issue(pending);
  }

  /** The browser presented the frame that starts at `t`. */
  presented(t: number): void {
    this.#presented = { t, at: performance.now() };
    if (!this.#video.seeking) this.#compare();
  }

  #issue(pending: Pending): void {
    pending.issued = performance.now();
    pending.seeks += 1;
    // Half a ms inside: starts are whole ms, so no rounding falls before the frame. Each further
    // try moves by a µs, since a seek to the same place may be taken for done.
    const inside =
      Math.max(pending.frame.t, Math.min(Math.floor(pending.t), pending.frame.end - EDGE_MS)) + 0.5;
    this.#video.currentTime = inside / 1000 + pending.seeks * 1e-6;
  }

  #onSeeked(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    if (pending.issued === undefined) {
      this.advance(); // this was the overtaken seek; now the newest may go
      return;
    }
    if (this.#freshly(pending)) {
      this.#compare();
      return;
    }
    clearTimeout(this.#present);
    this.#present = setTimeout(() => {
      if (this.#pending === pending) this.#compare();
    }, PRESENT_MS);
  }

  #compare(): void {
    const pending = this.#pending;
    if (pending?.issued === undefined) return;
    clearTimeout(this.#present);
    if (this.#presented?.t === pending.frame.t) {
      this.#settle(pending, "video");
    } else if (pending.seeks < SEEKS) {
      this.#issue(pending);
    } else {
      pending.issued = undefined;
      const f = this.timeline.fragments[pending.frame.fragment];
      if (pending.renewed || f === undefined) return; // the still stays
      pending.renewed = true;
      pending.seeks = 0;
      void this.#feeder.renew(f);
    }
  }

  /** Whether a frame was presented since the last seek was issued. */
  #freshly(pending: Pending): boolean {
    return this.#presented !== undefined && this.#presented.at >= (pending.issued ?? Infinity);
  }

  async #bridge(pending: Pending, afterMs: number): Promise<void> {
    const { signal } = pending.abort;
    await wait(afterMs, signal);
    if (signal.aborted || !(await this.#layers.loadStill(this.#stillUrl(pending.frame.t), signal)))
      return;
    this.#layers.show("still");
    await wait(GIVE_UP_MS - (performance.now() - pending.began), signal);
    if (!signal.aborted) this.#settle(pending, "still");
  }

  #settle(pending: Pending, layer: "video" | "still"): void {
    this.cancel();
    this.#layers.show(layer);
    this.#onSettled({ frame: pending.frame, layer });
  }

  #initOf(t: number | undefined): ReturnType<Timeline["initOf"]> {
    const f = t === undefined ? undefined : this.timeline.fragments[this.timeline.fragmentAt(t)];
    return f && this.timeline.initOf(f);
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.max(0, ms));
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
