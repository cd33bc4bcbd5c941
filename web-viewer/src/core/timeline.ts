/** Which frame is shown at `t`? The exact-seek index of one session (recording.md, Time). */

/** One closed GOP on the session's clock; a repetition has `at` and `to`, else they are null. */
export interface Fragment {
  readonly seq: number;
  readonly fragment: number;
  readonly t: number;
  readonly dur: number;
  readonly at: number | null;
  readonly to: number | null;
  readonly bytes: number;
  /** Start of each sample in session ms, strictly increasing, the first one equal to `t`. */
  readonly samples: readonly number[];
}

/** What decodes the media of one segment. `crop` is the true picture in the coded one. */
export interface Init {
  readonly seq: number;
  readonly codec: string;
  readonly width: number;
  readonly height: number;
  readonly crop: readonly [x: number, y: number, w: number, h: number] | null;
}

/** A half-open span without picture, and why. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** A frame: shown while `t <= now && now < end`. */
export interface Frame {
  readonly t: number;
  readonly end: number;
  /** Where its fragment is in `Timeline.fragments`. */
  readonly fragment: number;
}

/** What the API's timeline answer says about pictures. */
export interface Pictures {
  readonly duration_ms: number;
  readonly live: boolean;
  readonly inits: readonly Init[];
  readonly fragments: readonly Fragment[];
  readonly gaps: readonly Gap[];
}

/** The pictures of one session, in the order of time. */
export class Timeline {
  readonly duration: number;
  readonly live: boolean;
  readonly fragments: readonly Fragment[];
  readonly gaps: readonly Gap[];
  readonly #inits: ReadonlyMap<number, Init>;

  constructor(pictures: Pictures) {
    this.duration = pictures.duration_ms;
    this.live = pictures.live;
    this.fragments = pictures.fragments
      .filter((f) => f.samples.length > 0 && f.dur > 0)
      .sort((a, b) => a.t - b.t);
    this.gaps = [...pictures.gaps].sort((a, b) => a.from - b.from);
    this.#inits = new Map(pictures.inits.map((init) => [init.seq, init]));
  }

  /** The segment's decoder setup; undefined when the answer lacks it. */
  initOf(fragment: Fragment): Init | undefined {
    return this.#inits.get(fragment.seq);
  }

  /** The position of the fragment whose span holds `t`; -1 where there is no picture. */
  fragmentAt(t: number): number {
    const now = this.#inside(t);
    const i = upperBound(this.fragments, (f) => f.t <= now) - 1;
    const f = this.fragments[i];
    return f !== undefined && now < f.t + f.dur ? i : -1;
  }

  /** The sample with the greatest start ≤ `t`; undefined where there is no picture. */
  frameAt(t: number): Frame | undefined {
    const i = this.fragmentAt(t);
    if (i < 0) return undefined;
    const { samples } = this.fragments[i] as Fragment;
    const now = this.#inside(t);
    return this.#frame(i, upperBound(samples, (start) => start <= now) - 1);
  }

  /** The last frame that starts before `t`. */
  frameBefore(t: number): Frame | undefined {
    const i = upperBound(this.fragments, (f) => f.t < t) - 1;
    const f = this.fragments[i];
    return f && this.#frame(i, upperBound(f.samples, (start) => start < t) - 1);
  }

  /** The first frame that starts after `t`. */
  frameAfter(t: number): Frame | undefined {
    const i = Math.max(0, upperBound(this.fragments, (f) => f.t <= t) - 1);
    for (const next of [i, i + 1]) {
      const f = this.fragments[next];
      const n = f === undefined ? 0 : upperBound(f.samples, (start) => start <= t);
      if (f !== undefined && n < f.samples.length) return this.#frame(next, n);
    }
    return undefined;
  }

  /**
   * The span without picture around `t`; undefined where a frame stands.
   * Where the recording names no reason it is `no-picture`, or `not-yet` at a live edge.
   */
  gapAt(t: number): Gap | undefined {
    if (this.fragmentAt(t) >= 0) return undefined;
    const now = this.#inside(t);
    const i = upperBound(this.fragments, (f) => f.t <= now) - 1;
    const before = this.fragments[i];
    const after = this.fragments[i + 1];
    const from = before === undefined ? 0 : before.t + before.dur;
    const to = after?.t ?? this.duration;
    const named = this.gaps.find((gap) => gap.from <= now && now < gap.to);
    if (named !== undefined) {
      return { from: Math.max(from, named.from), to: Math.min(to, named.to), reason: named.reason };
    }
    return { from, to, reason: this.live && after === undefined ? "not-yet" : "no-picture" };
  }

  /** The true picture size at `t`, or of the nearest frame before it, else of the first one. */
  sizeAt(t: number): readonly [w: number, h: number] | undefined {
    const i = Math.max(0, upperBound(this.fragments, (f) => f.t <= t) - 1);
    const f = this.fragments[i];
    const init = f && this.initOf(f);
    if (init === undefined) return undefined;
    return init.crop === null ? [init.width, init.height] : [init.crop[2], init.crop[3]];
  }

  /** Where the picture changes its size: `t` and the sizes before and after. */
  resizes(): { readonly t: number; readonly text: string }[] {
    const found: { t: number; text: string }[] = [];
    let last: string | undefined;
    for (const f of this.fragments) {
      const size = this.sizeAt(f.t)?.join("×");
      if (size !== undefined && last !== undefined && size !== last) {
        found.push({ t: f.t, text: `${last} → ${size}` });
      }
      last = size ?? last;
    }
    return found;
  }

  /** `t` within the half-open session: its end shows its last frame. */
  #inside(t: number): number {
    return t >= this.duration ? this.duration - 1 : t;
  }

  #frame(fragment: number, sample: number): Frame | undefined {
    const f = this.fragments[fragment] as Fragment;
    const t = f.samples[sample];
    return t === undefined ? undefined : { t, end: f.samples[sample + 1] ?? f.t + f.dur, fragment };
  }
}

/** The same for equal placed fragments, across answers of the server. */
export function keyOf(f: Fragment): string {
  return `${f.seq}/${f.fragment}@${f.t}+${f.dur}`;
}

/** How many leading items satisfy `holds`, which must hold for a prefix of `items`. */
export function upperBound<T>(items: readonly T[], holds: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(items[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}
