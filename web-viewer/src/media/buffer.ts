/** What is in the browser's media buffer, and how does it get in and out? One SourceBuffer, one operation at a time. */

import { isFar } from "../core/pick.ts";
import type { Fragment, Init } from "../core/timeline.ts";
import { keyOf } from "../core/timeline.ts";

/** Half of the clock's step: starts are whole ms, so rounding in the browser never crosses one. */
const HALF_MS = 0.0005;

/** The bytes of a media part could not be had or were refused by the decoder. */
export class MediaError extends Error {}

/**
 * Fragments in a `SourceBuffer`. `tfdt` is session time, so the buffer's clock is the session's.
 * INVARIANT: `#held` names only fragments whose whole span was appended and not removed since.
 */
export class MediaBuffer {
  readonly #source: MediaSource;
  #buffer: SourceBuffer | undefined;
  readonly #held = new Map<string, Fragment>();
  /** Appends and removals run one after another: each waits for the tail of this chain. */
  #tail: Promise<unknown> = Promise.resolve();
  #codec = "";
  #init: Uint8Array<ArrayBuffer> | undefined;

  private constructor(source: MediaSource) {
    this.#source = source;
  }

  /** Opens a buffer behind `video`. */
  static async attach(video: HTMLVideoElement, signal: AbortSignal): Promise<MediaBuffer> {
    const { ManagedMediaSource, MediaSource } = globalThis as Partial<
      Record<"ManagedMediaSource" | "MediaSource", typeof globalThis.MediaSource>
    >;
    const Source = ManagedMediaSource ?? MediaSource;
    if (Source === undefined) throw new MediaError("This browser cannot play recorded media.");
    const source = new Source();
    const url = URL.createObjectURL(source);
    video.disableRemotePlayback = true; // ManagedMediaSource asks for it
    video.src = url;
    await new Promise<void>((resolve, reject) => {
      source.addEventListener("sourceopen", () => resolve(), { once: true });
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    URL.revokeObjectURL(url);
    return new MediaBuffer(source);
  }

  has(f: Fragment): boolean {
    return this.#held.has(keyOf(f));
  }

  setDuration(ms: number): Promise<void> {
    return this.#queue(async () => {
      if (this.#source.readyState === "open") this.#source.duration = ms / 1000;
    });
  }

  /** Appends a fragment behind its segment's own init, held to its own span by the append window. */
  append(
    f: Fragment,
    init: Init,
    initBytes: Uint8Array<ArrayBuffer>,
    media: ArrayBuffer,
  ): Promise<void> {
    return this.#queue(async () => {
      const type = `video/mp4; codecs="${init.codec}"`;
      if (!(this.#source.constructor as typeof MediaSource).isTypeSupported(type)) {
        throw new MediaError(`This browser cannot decode ${init.codec}.`);
      }
      if (this.#buffer === undefined) this.#buffer = this.#source.addSourceBuffer(type);
      else if (this.#codec !== init.codec) this.#buffer.changeType(type);
      if (
        this.#codec !== init.codec ||
        this.#init === undefined ||
        !sameBytes(this.#init, initBytes)
      ) {
        this.#open(0, Infinity);
        await this.#run((buffer) => buffer.appendBuffer(initBytes));
        this.#codec = init.codec;
        this.#init = initBytes;
      }
      this.#open(f.t / 1000 - HALF_MS, (f.t + f.dur) / 1000 + HALF_MS);
      await this.#run((buffer) => buffer.appendBuffer(media));
      this.#held.set(keyOf(f), f);
    });
  }

  /** Takes a fragment out, so that it can be appended anew. */
  drop(f: Fragment): Promise<void> {
    return this.#queue(async () => {
      if (!this.#held.delete(keyOf(f)) || this.#buffer === undefined) return;
      await this.#run((buffer) => buffer.remove(f.t / 1000, (f.t + f.dur) / 1000));
    });
  }

  /** Takes out what lies more than `keep` ms from `t`, and forgets what the browser took out by itself. */
  async tidy(t: number, keep?: number): Promise<void> {
    for (const f of [...this.#held.values()]) {
      if (isFar(f, t, keep)) await this.drop(f);
      else if (!this.#covers(f)) this.#held.delete(keyOf(f));
    }
  }

  #covers(f: Fragment): boolean {
    const ranges = this.#buffer?.buffered;
    for (let i = 0; i < (ranges?.length ?? 0); i += 1) {
      const [start, end] = [(ranges as TimeRanges).start(i), (ranges as TimeRanges).end(i)];
      if (start <= f.t / 1000 + HALF_MS && (f.t + f.dur) / 1000 - HALF_MS <= end) return true;
    }
    return false;
  }

  /** Moves the append window; its start may never pass its end, so it is opened first. */
  #open(start: number, end: number): void {
    const buffer = this.#buffer as SourceBuffer;
    buffer.appendWindowStart = 0;
    buffer.appendWindowEnd = end;
    buffer.appendWindowStart = Math.max(0, start);
  }

  #run(operation: (buffer: SourceBuffer) => void): Promise<void> {
    const buffer = this.#buffer as SourceBuffer;
    return new Promise((resolve, reject) => {
      const done = (failed: boolean) => (): void => {
        buffer.removeEventListener("updateend", good);
        buffer.removeEventListener("error", bad);
        if (failed) reject(new MediaError("the browser refused a part of the recording"));
        else resolve();
      };
      const [good, bad] = [done(false), done(true)];
      buffer.addEventListener("updateend", good);
      buffer.addEventListener("error", bad);
      operation(buffer);
    });
  }

  #queue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || (a.length === b.length && a.every((byte, i) => byte === b[i]));
}
