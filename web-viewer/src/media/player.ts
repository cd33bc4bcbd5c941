/** What does the stage do? The player of one session: its states, its clock and its jumps. */

import { batch, signal } from "@preact/signals";

import type { Idle } from "../core/idle.ts";
import { idleAt, skipFrom } from "../core/idle.ts";
import type { Frame, Gap, Init, Timeline } from "../core/timeline.ts";
import { MediaBuffer } from "./buffer.ts";
import { MediaClock } from "./clock.ts";
import type { Addresses } from "./feeder.ts";
import { Feeder } from "./feeder.ts";
import type { Layers } from "./layers.ts";
import { Seeker } from "./seeker.ts";

/**
 * - `loading`: nothing is known yet
 * - `seeking`: the exact frame is being brought; the stage shows the last verified one or a still
 * - `paused-ready`: stands, on exactly the frame of `t`
 * - `playing`
 * - `waiting`: would play, but the media is not here yet
 * - `gap`: `t` has no picture; a card says why
 * - `error`: media cannot be had; `retry` goes on from here
 */
export type State =
  "loading" | "seeking" | "paused-ready" | "playing" | "waiting" | "gap" | "error";

/** The speeds offered, each within what browsers accept. */
export const SPEEDS = [0.25, 0.5, 1, 1.5, 2, 4, 8, 16] as const;
/** Playing into a gap rests this long on its card, then goes on after it. */
const GAP_REST_MS = 1_500;
/** How far the presented frame may be from the clock while playing, at 1×. */
const DRIFT_MS = 300;
/** Media is aimed at the playhead this often while playing. */
const AIM_MS = 500;

/** The element's duration lies this far behind the session's, so that its last frame is no end of media. */
const TAIL_MS = 1_000;

/** Where the server's parts of a session are. */
export interface Source extends Addresses {
  still(t: number): string;
}

/** Plays one session on `layers`. All times are session ms. */
export class Player {
  readonly state = signal<State>("loading");
  /** The playhead. */
  readonly t = signal(0);
  /** The start of the frame on the stage; null where there is none. */
  readonly frameT = signal<number | null>(null);
  /** What decodes the frame on the stage: its true size lies in it. */
  readonly picture = signal<Init | undefined>(undefined);
  /** Whether time shall run: stays true over seeks and gaps. */
  readonly running = signal(false);
  readonly rate = signal(1);
  readonly gap = signal<Gap | undefined>(undefined);
  readonly skipIdle = signal(false);
  /** The stretch just jumped over. */
  readonly skipped = signal<Idle | undefined>(undefined);
  readonly error = signal<Error | undefined>(undefined);

  readonly #layers: Layers;
  readonly #source: Source;
  readonly #clock: MediaClock;
  #timeline: Timeline;
  #idle: readonly Idle[] = [];
  #spared: Idle | undefined;
  #buffer: MediaBuffer | undefined;
  #feeder: Feeder | undefined;
  #seeker: Seeker | undefined;
  readonly #closed = new AbortController();
  #rest: ReturnType<typeof setTimeout> | undefined;
  #tick = 0;
  #aimed = 0;

  constructor(layers: Layers, timeline: Timeline, source: Source) {
    this.#layers = layers;
    this.#timeline = timeline;
    this.#source = source;
    this.#clock = new MediaClock(layers.video);
  }

  get timeline(): Timeline {
    return this.#timeline;
  }

  /** Opens the media buffer and stands at `t`, or where a seek has led meanwhile. */
  async open(t: number): Promise<void> {
    this.t.value = t;
    const buffer = await MediaBuffer.attach(this.#layers.video, this.#closed.signal);
    this.#buffer = buffer;
    const feeder = new Feeder(
      buffer,
      this.#timeline,
      this.#source,
      () => this.#onAppend(),
      (error) => this.#fail(error),
    );
    this.#feeder = feeder;
    this.#seeker = new Seeker({
      timeline: this.#timeline,
      layers: this.#layers,
      buffer,
      feeder,
      stillUrl: (at) => this.#source.still(at),
      onSettled: ({ frame }) => this.#onSettled(frame),
    });
    await buffer.setDuration(this.#timeline.duration + TAIL_MS);
    this.#watchFrames();
    this.seek(this.t.value);
  }

  /** A live session has grown. */
  update(timeline: Timeline): void {
    this.#timeline = timeline;
    void this.#buffer?.setDuration(timeline.duration + TAIL_MS);
    if (this.#feeder !== undefined) this.#feeder.timeline = timeline;
    if (this.#seeker !== undefined) this.#seeker.timeline = timeline;
    if (this.state.value === "gap" && timeline.fragmentAt(this.t.value) >= 0)
      this.seek(this.t.value);
  }

  /** Where play may jump when `skipIdle` is on. */
  set idle(idle: readonly Idle[]) {
    this.#idle = idle;
  }

  /** Stands at `t`, or plays on from there. `t` is held inside the session. */
  seek(t: number): void {
    const target = Math.max(0, Math.min(Math.floor(t), this.#timeline.duration));
    this.#spared = idleAt(this.#idle, target); // whoever goes into idle wants to see it
    if (this.error.value !== undefined) {
      this.error.value = undefined;
      this.#feeder?.retry();
    }
    this.#go(target);
  }

  play(): void {
    if (this.running.value) return;
    this.running.value = true;
    if (this.state.value === "error") return this.retry();
    if (this.#timeline.frameAfter(this.t.value) === undefined && !this.#timeline.live)
      return this.#go(0);
    if (this.state.value === "gap") return this.#afterGap(0);
    this.#aim();
    if (this.state.value === "paused-ready") this.#start();
  }

  pause(): void {
    if (!this.running.value) return;
    this.running.value = false;
    this.#stop();
    // To stand on the exact frame always takes a seek: the compositor may already show the frame
    // after the last one it told of.
    if (this.state.value === "playing" || this.state.value === "waiting") this.#go(this.t.value);
  }

  toggle(): void {
    if (this.running.value) this.pause();
    else this.play();
  }

  setRate(rate: number): void {
    this.rate.value = rate;
    this.#layers.video.playbackRate = rate;
  }

  /** One frame on or back, always paused. */
  step(direction: 1 | -1): void {
    this.pause();
    const from = this.frameT.value ?? this.t.value;
    const frame =
      direction === 1 ? this.#timeline.frameAfter(from) : this.#timeline.frameBefore(from);
    if (frame !== undefined) this.seek(frame.t);
  }

  /** Shows what was jumped over after all. */
  unskip(): void {
    const idle = this.skipped.value;
    if (idle === undefined) return;
    this.skipped.value = undefined;
    this.seek(idle.from);
    this.play();
  }

  /** Goes on from the same place after a failure. */
  retry(): void {
    this.seek(this.t.value);
  }

  close(): void {
    this.#closed.abort();
    this.#stop();
    this.#seeker?.cancel();
    this.#feeder?.close();
    this.#layers.video.removeAttribute("src");
    this.#layers.video.load();
  }

  #go(target: number): void {
    this.#stop();
    const frame = this.#timeline.frameAt(target);
    batch(() => {
      this.t.value = target;
      this.gap.value = undefined;
      this.state.value = this.error.value === undefined ? "seeking" : "error";
    });
    if (frame === undefined) return this.#enterGap(target);
    this.#seeker?.seek(target, frame);
    this.#aim(true);
  }

  #enterGap(t: number): void {
    this.#stop();
    this.#seeker?.cancel();
    this.#layers.show("none");
    batch(() => {
      this.t.value = t;
      this.frameT.value = null;
      this.gap.value = this.#timeline.gapAt(t);
      this.state.value = "gap";
    });
    this.#aim(true);
    if (this.running.value) this.#afterGap(GAP_REST_MS);
  }

  #afterGap(restMs: number): void {
    const to = this.gap.value?.to ?? 0;
    this.#rest = setTimeout(() => {
      if (this.#timeline.frameAt(to) !== undefined && to < this.#timeline.duration) this.#go(to);
      else if (!this.#timeline.live) this.running.value = false; // else `update` goes on
    }, restMs);
  }

  #onSettled(frame: Frame): void {
    batch(() => {
      this.#onFrame(frame.t);
      this.state.value = "paused-ready";
      this.error.value = undefined;
    });
    if (this.running.value) this.#start();
  }

  #onFrame(t: number): void {
    this.frameT.value = t;
    const f = this.#timeline.fragments[this.#timeline.fragmentAt(t)];
    if (f !== undefined) this.picture.value = this.#timeline.initOf(f);
  }

  #onAppend(): void {
    this.#seeker?.advance();
  }

  #fail(error: Error): void {
    this.#stop();
    batch(() => {
      this.error.value = error;
      this.state.value = "error";
    });
  }

  #aim(now = false): void {
    if (!now && performance.now() - this.#aimed < AIM_MS) return;
    this.#aimed = performance.now();
    const t = this.t.value;
    const next =
      this.skipIdle.value && this.running.value ? this.#idle.find((i) => i.to > t)?.to : undefined;
    this.#feeder?.aim({ t, playing: this.running.value, rate: this.rate.value, next });
  }

  #start(): void {
    const { video } = this.#layers;
    video.playbackRate = this.rate.value;
    this.state.value = "playing";
    this.#clock.reset();
    void video.play().catch(() => undefined); // a pause that overtakes it rejects it
    cancelAnimationFrame(this.#tick);
    this.#tick = requestAnimationFrame((now) => this.#onTick(now));
  }

  #stop(): void {
    clearTimeout(this.#rest);
    cancelAnimationFrame(this.#tick);
    this.#layers.video.pause();
  }

  /** Follows the media clock; gaps, idle stretches and the end are met here. */
  #onTick(now: number): void {
    const { t, late } = this.#clock.read(now, this.#timeline, this.frameT.value);
    const frame = this.#timeline.frameAt(t);
    if (t >= this.#timeline.duration && !this.#timeline.live) return this.#finish();
    if (frame === undefined) return this.#enterGap(t);
    this.t.value = t;
    const atLiveEdge = t >= this.#timeline.duration;
    this.state.value = late || atLiveEdge ? "waiting" : "playing";
    const idle = this.skipIdle.value ? skipFrom(this.#idle, t, this.#spared) : undefined;
    if (idle !== undefined) {
      this.skipped.value = idle;
      return this.#go(idle.to);
    }
    this.#aim();
    this.#tick = requestAnimationFrame((next) => this.#onTick(next));
  }

  #finish(): void {
    this.running.value = false;
    this.#go(this.#timeline.duration);
  }

  /** Hears from the browser which frame it presents, and never lets a wrong one stand. */
  #watchFrames(): void {
    const { video } = this.#layers;
    const onFrame = (_now: number, { mediaTime }: VideoFrameCallbackMetadata): void => {
      if (this.#closed.signal.aborted) return;
      video.requestVideoFrameCallback(onFrame);
      const t = Math.round(mediaTime * 1000);
      if (this.#seeker?.busy === true) this.#seeker.presented(t);
      else this.#check(t);
    };
    video.requestVideoFrameCallback(onFrame);
  }

  #check(presented: number): void {
    if (this.state.value === "gap" || this.state.value === "error") return;
    if (!this.running.value) {
      if (presented !== this.#timeline.frameAt(this.t.value)?.t) this.#go(this.t.value);
      return;
    }
    const clock = this.#layers.video.currentTime * 1000;
    const drift = DRIFT_MS * Math.max(1, this.rate.value);
    const end = this.#timeline.frameAt(presented)?.end ?? presented;
    if (presented > clock + drift || end < clock - drift) this.#go(Math.floor(clock));
    else this.#onFrame(presented);
  }
}
