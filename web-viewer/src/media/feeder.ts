/** How do the wanted fragments get from the server into the buffer? Few at a time, the most urgent first. */

import type { Playhead } from "../core/pick.ts";
import { KEEP_MS, wanted } from "../core/pick.ts";
import type { Fragment, Timeline } from "../core/timeline.ts";
import { keyOf } from "../core/timeline.ts";
import type { MediaBuffer } from "./buffer.ts";
import { MediaError } from "./buffer.ts";

/** Fragments fetched at the same time: one that is needed now and one that will be. */
const PARALLEL = 2;
/** Inits kept: a segment's is a kilobyte. */
const INITS = 256;
/** An answer is tried again this often, after 0.5 and 1 s, before the failure is told. */
const RETRIES = 2;
const RETRY_MS = 500;

/** Where media comes from; ids and addresses are the server's business. */
export interface Addresses {
  init(seq: number): string;
  fragment(f: Fragment): string;
}

/** Keeps the buffer filled around the playhead. `onAppend` is told each fragment that has come in. */
export class Feeder {
  readonly #addresses: Addresses;
  readonly #buffer: MediaBuffer;
  readonly #onAppend: (f: Fragment) => void;
  readonly #onError: (error: Error) => void;
  readonly #fetching = new Map<string, AbortController>();
  readonly #inits = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();
  readonly #closed = new AbortController();
  #timeline: Timeline;
  #head: Playhead = { t: 0, playing: false, rate: 1 };
  #failed = false;

  constructor(
    buffer: MediaBuffer,
    timeline: Timeline,
    addresses: Addresses,
    onAppend: (f: Fragment) => void,
    onError: (error: Error) => void,
  ) {
    this.#buffer = buffer;
    this.#timeline = timeline;
    this.#addresses = addresses;
    this.#onAppend = onAppend;
    this.#onError = onError;
  }

  set timeline(timeline: Timeline) {
    this.#timeline = timeline;
    this.#pump();
  }

  /** The playhead moved: fetches that are no longer wanted end, the missing ones begin. */
  aim(head: Playhead): void {
    this.#head = head;
    this.#pump();
  }

  /** Goes on after a failure. */
  retry(): void {
    this.#failed = false;
    this.#pump();
  }

  /** Fetches a fragment again whose pictures were found wrong. */
  async renew(f: Fragment): Promise<void> {
    await this.#buffer.drop(f);
    this.#pump();
  }

  close(): void {
    this.#closed.abort();
    for (const fetching of this.#fetching.values()) fetching.abort();
  }

  #pump(): void {
    if (this.#failed || this.#closed.signal.aborted) return;
    const order = wanted(this.#timeline, this.#head).map(
      (i) => this.#timeline.fragments[i] as Fragment,
    );
    const keys = new Set(order.map(keyOf));
    for (const [key, fetching] of this.#fetching) if (!keys.has(key)) fetching.abort();

    const missing = order.filter((f) => !this.#buffer.has(f));
    const first = missing[0];
    // What the person waits for goes ahead of what was begun for later.
    if (
      first !== undefined &&
      !this.#fetching.has(keyOf(first)) &&
      this.#fetching.size >= PARALLEL
    ) {
      [...this.#fetching.values()].at(-1)?.abort();
    }
    for (const f of missing) {
      if (this.#fetching.size >= PARALLEL) break;
      if (!this.#fetching.has(keyOf(f))) void this.#bring(f);
    }
  }

  async #bring(f: Fragment): Promise<void> {
    const fetching = new AbortController();
    this.#fetching.set(keyOf(f), fetching);
    try {
      const init = this.#timeline.initOf(f);
      if (init === undefined) throw new MediaError(`segment ${f.seq} has no decoder setup`);
      const [initBytes, media] = await Promise.all([
        this.#initOf(f.seq),
        retrying(() => get(this.#addresses.fragment(f), fetching.signal), fetching.signal),
      ]);
      if (fetching.signal.aborted) return;
      await this.#buffer.tidy(this.#head.t);
      await this.#buffer.append(f, init, initBytes, media).catch(async (error: unknown) => {
        if ((error as DOMException).name !== "QuotaExceededError") throw error;
        await this.#buffer.tidy(this.#head.t, KEEP_MS / 8);
        await this.#buffer.append(f, init, initBytes, media);
      });
      this.#onAppend(f);
    } catch (error) {
      if (!fetching.signal.aborted) {
        this.#failed = true;
        this.#onError(error instanceof Error ? error : new MediaError(String(error)));
      }
    } finally {
      this.#fetching.delete(keyOf(f));
      this.#pump();
    }
  }

  #initOf(seq: number): Promise<Uint8Array<ArrayBuffer>> {
    let init = this.#inits.get(seq);
    if (init === undefined) {
      const { signal } = this.#closed;
      init = retrying(() => get(this.#addresses.init(seq), signal), signal).then(
        (bytes) => new Uint8Array(bytes),
      );
      init.catch(() => this.#inits.delete(seq));
      this.#inits.set(seq, init);
      const oldest = this.#inits.keys().next().value;
      if (this.#inits.size > INITS && oldest !== undefined) this.#inits.delete(oldest);
    }
    return init;
  }
}

async function get(url: string, signal: AbortSignal): Promise<ArrayBuffer> {
  const response = await fetch(url, { signal }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw new MediaError("The server does not answer.");
  });
  if (!response.ok)
    throw new MediaError(`The server answered ${response.status} for a part of the recording.`);
  return response.arrayBuffer();
}

/** Tries again after growing waits; the last failure is thrown. */
async function retrying<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || attempt >= RETRIES) throw error;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, RETRY_MS * 2 ** attempt);
        signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
      });
    }
  }
}
