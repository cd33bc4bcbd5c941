/** Which UTC was it at `t`, and when was it that UTC? (recording.md, Time) */

/** "At `t` the wall clock showed `utc`": one recorded pair, as the API gives it. */
export interface Anchor {
  readonly t: number;
  readonly utc: string;
  readonly error_ms: number | null;
  /** The wall clock jumped here, so that UTC may repeat or skip. */
  readonly step: boolean;
}

interface Pair {
  readonly t: number;
  readonly utc: number;
  readonly error: number | null;
  readonly step: boolean;
}

/**
 * The two clocks of a session. Between two anchors without a step UTC is interpolated linearly,
 * to the ms, rounded down; before a step and outside the anchors both run at the same rate.
 */
export class ClockMap {
  // INVARIANT: not empty, strictly increasing in `t`.
  readonly #pairs: readonly Pair[];

  /** A map over `anchors`; without any, media time 0 is taken to be `startUtc` (unix ms). */
  constructor(anchors: readonly Anchor[], startUtc: number) {
    const pairs: Pair[] = [];
    for (const { t, utc, error_ms, step } of anchors) {
      const wall = Date.parse(utc);
      const last = pairs.at(-1);
      if (Number.isFinite(wall) && (last === undefined || last.t < t)) {
        pairs.push({ t, utc: wall, error: error_ms, step });
      }
    }
    if (pairs.length === 0) pairs.push({ t: 0, utc: startUtc, error: null, step: false });
    this.#pairs = pairs;
  }

  /** What the wall clock showed at `t`, in unix ms. */
  utcAt(t: number): number {
    const i = this.#before(t);
    const base = this.#pairs[i] as Pair;
    const [wall, media] = this.#rate(i, t);
    return base.utc + Math.floor(((t - base.t) * wall) / media);
  }

  /** The error of `utcAt(t)` in ms as the clock itself stated it; null when it stated none. */
  errorAt(t: number): number | null {
    return this.#pairs[this.#before(t)]?.error ?? null;
  }

  /** Every `t` at which the wall clock showed `utc`, earliest first; a skipped UTC gives the step. */
  momentsAt(utc: number): number[] {
    const moments = new Set<number>();
    this.#pairs.forEach((base, i) => {
      const next = this.#pairs[i + 1];
      const [wall, media] = this.#rate(i, base.t);
      const t = base.t + Math.ceil(((utc - base.utc + 1) * media) / wall) - 1;
      const starts = i === 0 ? 0 : base.t;
      if (starts <= t && t < (next?.t ?? Infinity)) moments.add(t);
      else if (next?.step === true && next.t <= t && utc < next.utc) moments.add(next.t);
    });
    return [...moments];
  }

  #before(t: number): number {
    let low = 0;
    let high = this.#pairs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#pairs[middle] as Pair).t <= t) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** Wall ms per media ms after pair `i`, as a fraction. */
  #rate(i: number, t: number): readonly [number, number] {
    const base = this.#pairs[i] as Pair;
    const next = this.#pairs[i + 1];
    if (next === undefined || next.step || t < base.t) return [1, 1];
    const wall = next.utc - base.utc;
    return wall < 1 ? [1, 1] : [wall, next.t - base.t];
  }
}
