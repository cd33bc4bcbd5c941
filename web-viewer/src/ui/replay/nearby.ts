/** Which input is drawn on the stage? That of the minute around the playhead, fetched a window at a time. */

import { signal } from "@preact/signals";

import * as api from "../../api/client.ts";
import type { Scene } from "../../core/overlay.ts";
import { LEAD_MS, sceneOf } from "../../core/overlay.ts";
import type { Row } from "../../core/rows.ts";
import { LATE_MS, readRows } from "../../core/rows.ts";

const WINDOW_MS = 60_000;
/** Windows kept: some minutes around, so that going back and forth asks for nothing. */
const KEPT = 6;
const CHUNK = 5_000;
/** Of a window with more events only the first are drawn: no person makes 500 a second. */
const MOST = 30_000;
/** A window that could not be had is asked for again after this. */
const RETRY_MS = 5_000;

interface Window {
  readonly scene: Scene | undefined;
  /** How long the session was when it was asked for, in ms. */
  readonly until: number;
  /** Until then, by `performance.now()`, it is not asked for again. */
  readonly retry: number;
}

/** The windows of session `id`, which is `duration()` long by now. Does nothing until it is asked. */
export class Nearby {
  readonly #id: string;
  readonly #duration: () => number;
  /** By number. */
  readonly #windows = signal<ReadonlyMap<number, Window>>(new Map());
  readonly #asked = new Map<number, AbortController>();

  constructor(id: string, duration: () => number, closed: AbortSignal) {
    this.#id = id;
    this.#duration = duration;
    closed.addEventListener("abort", () => this.#giveUp([]));
  }

  /** What happened around `t`, as far as it is here. */
  at(t: number): Scene | undefined {
    return this.#windows.value.get(Math.floor(t / WINDOW_MS))?.scene;
  }

  /** Brings the window of `t` and the one after it, and gives up on others. */
  want(t: number): void {
    const wanted = [0, 1].map((n) => Math.floor(t / WINDOW_MS) + n);
    this.#giveUp(wanted);
    for (const k of wanted) if (this.#lacks(k)) void this.#fetch(k);
  }

  #giveUp(except: readonly number[]): void {
    for (const [k, abort] of this.#asked) {
      if (except.includes(k)) continue;
      abort.abort();
      this.#asked.delete(k);
    }
  }

  #lacks(k: number): boolean {
    const known = this.#windows.peek().get(k);
    const duration = this.#duration();
    if (this.#asked.has(k) || duration <= k * WINDOW_MS) return false;
    // What was recorded late may still come: until then a live session's window is not complete.
    const end = Math.min(duration, (k + 1) * WINDOW_MS + LATE_MS);
    return known === undefined || (known.until < end && known.retry <= performance.now());
  }

  async #fetch(k: number): Promise<void> {
    const abort = new AbortController();
    this.#asked.set(k, abort);
    const until = this.#duration();
    try {
      const rows = await this.#rows(k, abort.signal);
      this.#keep(k, { scene: sceneOf(rows), until, retry: 0 });
    } catch {
      const scene = this.#windows.peek().get(k)?.scene;
      const retry = performance.now() + RETRY_MS;
      if (!abort.signal.aborted) this.#keep(k, { scene, until: -1, retry });
    } finally {
      if (this.#asked.get(k) === abort) this.#asked.delete(k);
    }
  }

  async #rows(k: number, signal: AbortSignal): Promise<readonly Row[]> {
    const kinds = ["key", "pointer", "wheel"];
    const from = k * WINDOW_MS - LEAD_MS;
    const wanted = { kinds, from, to: (k + 1) * WINDOW_MS, limit: CHUNK };
    const rows: Row[] = [];
    for await (const answer of api.events(this.#id, wanted, signal)) {
      rows.push(...readRows(answer));
      if (rows.length >= MOST) break;
    }
    return rows;
  }

  #keep(k: number, window: Window): void {
    const windows = new Map(this.#windows.peek());
    windows.set(k, window);
    const far = [...windows.keys()].sort((a, b) => Math.abs(b - k) - Math.abs(a - k));
    for (const other of far.slice(0, Math.max(0, windows.size - KEPT))) windows.delete(other);
    this.#windows.value = windows;
  }
}
