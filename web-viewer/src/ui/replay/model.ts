/** What does the replay page know? One session: loaded in parts, selected in, and in step with its player. */

import { computed, effect, signal } from "@preact/signals";

import type { ApiError } from "../../api/client.ts";
import * as api from "../../api/client.ts";
import type { Density, MaskSpan, SessionInFull, Sheet, TimelineAnswer } from "../../api/types.ts";
import { ClockMap } from "../../core/clock.ts";
import { changes, idleSpans } from "../../core/idle.ts";
import { parseMoment } from "../../core/moment.ts";
import type { Idle } from "../../core/idle.ts";
import type { Secret } from "../../core/input.ts";
import { secrets } from "../../core/input.ts";
import { oneLine } from "../../core/text.ts";
import { clock, seconds, utcDate, utcTime } from "../../core/time.ts";
import type { Fragment } from "../../core/timeline.ts";
import { Timeline } from "../../core/timeline.ts";
import type { Layers } from "../../media/layers.ts";
import { Player } from "../../media/player.ts";
import { say, tell } from "../live.tsx";
import { OUTCOME_WORDS } from "../outcome.tsx";
import { reasonWords } from "../sessions/words.ts";
import { skipIdle, timeStyle } from "../settings.ts";
import { Nearby } from "./nearby.ts";
import { Panel } from "./panel.ts";

/** A live session is asked for news this often. */
const POLL_MS = 3_000;
const DENSITY_BUCKETS = 2_048;
/** The id of an event that was recorded beside the picture: its object, and its place there. */
const RECORDED = /^\d+\.\d+$/;

/** Loads session `id` and holds everything that its page shows. `close` ends all of it. */
export class Replay {
  readonly id: string;
  readonly session = signal<SessionInFull | undefined>(undefined);
  readonly timeline = signal<Timeline | undefined>(undefined);
  readonly masks = signal<readonly MaskSpan[]>([]);
  readonly density = signal<Density | undefined>(undefined);
  readonly clock = signal<ClockMap | undefined>(undefined);
  readonly sheets = signal<readonly Sheet[]>([]);
  readonly player = signal<Player | undefined>(undefined);
  readonly error = signal<ApiError | undefined>(undefined);

  readonly panel = new Panel(() => this.player.value?.t.value ?? 0);
  /** Whether masked regions are outlined. The mask itself is in the pixels. */
  readonly outlines = signal(true);
  /** The part of the session that the timeline shows; undefined is all of it. */
  readonly zoom = signal<readonly [from: number, to: number] | undefined>(undefined);

  readonly idle = computed<readonly Idle[]>(() => {
    if (this.timeline.value === undefined || this.density.value === undefined) return [];
    const events = [...this.panel.log.value, ...this.panel.input.value];
    const busy = [...events.map(({ t }) => ({ from: t, to: t })), ...changes(this.density.value)];
    return idleSpans(
      this.timeline.value,
      busy.sort((a, b) => a.from - b.from),
    );
  });

  /** Where the picture takes another size. */
  readonly resizes = computed(() => this.timeline.value?.resizes() ?? []);
  /** When input was withheld. */
  readonly secrets = computed<readonly Secret[]>(() =>
    secrets(this.panel.log.value, this.timeline.value?.duration ?? 0),
  );

  /** Whether the place that the address names is still looked for. */
  readonly arriving = signal(true);

  readonly #closed = new AbortController();
  /** What the address asked for last. */
  #query = new URLSearchParams();
  /** The input to draw on the stage. */
  readonly nearby: Nearby;
  readonly #effects: (() => void)[] = [];
  #poll: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.id = id;
    this.nearby = new Nearby(id, () => this.timeline.peek()?.duration ?? 0, this.signal);
  }

  get signal(): AbortSignal {
    return this.#closed.signal;
  }

  /** Loads all parts and opens the player at the moment that `query` names, or plays on from the `edge`. */
  async open(layers: Layers, query: URLSearchParams, edge: boolean): Promise<void> {
    this.#read(query);
    try {
      const [session, timeline] = await Promise.all([
        api.session(this.id, this.signal),
        api.timeline(this.id, this.signal),
      ]);
      this.session.value = session;
      this.#take(timeline, session.start);
      const t = edge ? timeline.duration_ms : await this.#arrive();
      if (this.signal.aborted) return;
      this.arriving.value = false;
      await this.#startPlayer(layers, t);
      if (edge && timeline.live) this.player.value?.play();
      void this.#loadRest(); // after the picture: it is what the person came for
      if (timeline.live) this.#watch(session.start);
    } catch (error) {
      if (!this.signal.aborted) this.error.value = asApiError(error);
    }
  }

  /** Back, Forward or a link within the session: goes to what the address bar says now. */
  async revisit(query: URLSearchParams): Promise<void> {
    this.arriving.value = true;
    this.#read(query);
    const player = this.player.value;
    if (player === undefined) return; // `open` follows the newest
    player.pause();
    const stood = player.t.value;
    const t = await this.#moment(query);
    if (query !== this.#query) return; // a newer address was followed meanwhile
    const moved = player.running.value || player.t.value !== stood;
    if (!moved) player.seek(t); // whoever sought by hand meanwhile wants to be there
    this.arriving.value = false;
  }

  /** The address of this page as it stands: the moment, the event of that frame, the panel. */
  url(): string {
    const player = this.player.value;
    const query = new URLSearchParams();
    if (player !== undefined) query.set("t", seconds(player.t.value));
    const { tab, query: words, kinds, selected } = this.panel;
    const row = selected.value;
    if (row !== undefined && player !== undefined && this.#sameFrame(row.t, player.t.value))
      query.set("e", row.id);
    if (tab.value !== "log") query.set("tab", tab.value);
    if (words.value !== "") query.set("q", words.value);
    if (tab.value === "input" && kinds.value.size > 0) query.set("kinds", [...kinds.value].join());
    const zoom = this.zoom.value;
    if (zoom !== undefined) query.set("z", zoom.map((t) => seconds(t)).join("-"));
    return `/s/${encodeURIComponent(this.id)}?${query.toString().replaceAll("%3A", ":").replaceAll("%2C", ",")}`;
  }

  /** `t` in the style that the person chose. */
  timeText(t: number): string {
    if (timeStyle.value === "elapsed") return clock(t);
    const utc = this.clock.value?.utcAt(t) ?? t;
    if (timeStyle.value === "utc") return utcTime(utc);
    return utcTime(utc - new Date(utc).getTimezoneOffset() * 60_000);
  }

  /** What `timeText` counts in, where that must be said. */
  timeUnit(): string {
    return { utc: "UTC", elapsed: "", local: "local" }[timeStyle.value];
  }

  close(): void {
    this.#closed.abort();
    clearTimeout(this.#poll);
    for (const stop of this.#effects) stop();
    this.player.value?.close();
  }

  /** Where to stand, by what the address says at the end of looking for it. */
  async #arrive(): Promise<number> {
    const query = this.#query;
    const t = await this.#moment(query);
    return query === this.#query ? t : this.#arrive();
  }

  #read(query: URLSearchParams): void {
    this.#query = query;
    this.panel.read(query);
    const zoom = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(query.get("z") ?? "");
    this.zoom.value = zoom === null ? undefined : [Number(zoom[1]) * 1000, Number(zoom[2]) * 1000];
  }

  #take(answer: TimelineAnswer, start: string): void {
    this.timeline.value = new Timeline(answer);
    this.clock.value = new ClockMap(answer.anchors, Date.parse(start));
    this.masks.value = answer.masks ?? [];
  }

  async #startPlayer(layers: Layers, t: number): Promise<void> {
    const player = new Player(layers, this.timeline.value as Timeline, {
      init: (seq) => api.initUrl(this.id, seq),
      fragment: (f: Fragment) => api.fragmentUrl(this.id, f),
      still: (at) => api.frameUrl(this.id, at),
    });
    this.player.value = player;
    this.#effects.push(
      effect(() => void (player.idle = this.idle.value)),
      effect(() => void (player.skipIdle.value = skipIdle.value === "on")),
      effect(() => {
        const gap = player.gap.value;
        if (gap !== undefined) say(`No picture: ${reasonWords(gap.reason)}`);
      }),
      effect(() => {
        const row = this.panel.shown.value[this.panel.current.value];
        if (!player.running.value || (row?.outcome !== "blocked" && row?.outcome !== "asked"))
          return;
        say(`${OUTCOME_WORDS[row.outcome][1]}: ${oneLine(row.text)}`);
      }),
    );
    await player.open(t);
  }

  /** Where to stand at first: `e` wins over `t`, and says so when they disagree. */
  async #moment(query: URLSearchParams): Promise<number> {
    const t = this.#asked(query.get("t"));
    const event = query.get("e");
    // What the recorder saw has no address of its own: the time leads there.
    if (event === null || (t !== undefined && RECORDED.test(event))) return t ?? 0;
    const found =
      this.panel.rows.value.find((row) => row.id === event)?.t ??
      (await api.resolve({ event }, this.signal).catch(() => [])).find((c) => c.session === this.id)
        ?.t;
    if (found === undefined) {
      if (!this.signal.aborted) tell(`Event ${event} is not in this session`);
      return t ?? 0;
    }
    if (t !== undefined && !this.#sameFrame(t, found))
      tell("The link's time and event disagree: this is the event");
    return t !== undefined && this.#sameFrame(t, found) ? t : found;
  }

  #asked(text: string | null): number | undefined {
    if (text === null) return undefined;
    const moment = parseMoment(text);
    const t = moment?.clock === "utc" ? this.clock.value?.momentsAt(moment.utc)[0] : moment?.t;
    const duration = this.timeline.value?.duration ?? 0;
    if (t === undefined)
      tell(moment === undefined ? `“${text}” is no time` : "That time is outside the session");
    else if (t > duration) tell("That time is after the session’s end");
    return t === undefined ? undefined : Math.min(t, duration);
  }

  #sameFrame(a: number, b: number): boolean {
    const frame = this.timeline.value?.frameAt(a);
    return a === b || (frame !== undefined && frame.t === this.timeline.value?.frameAt(b)?.t);
  }

  async #loadRest(): Promise<void> {
    const quiet = <T>(answer: Promise<T>): Promise<T | undefined> => answer.catch(() => undefined);
    void this.panel.load(this.id, 0, this.signal);
    const [density, thumbs] = await Promise.all([
      quiet(api.density(this.id, DENSITY_BUCKETS, this.signal)),
      quiet(api.thumbs(this.id, this.signal)),
    ]);
    this.density.value = density;
    this.sheets.value = thumbs?.sheets ?? [];
  }

  /** Asks a live session for news until it ends. */
  #watch(start: string): void {
    this.#poll = setTimeout(async () => {
      const answer = await api.timeline(this.id, this.signal).catch(() => undefined);
      if (this.signal.aborted) return;
      if (answer !== undefined) {
        const known = this.timeline.value?.duration ?? 0;
        this.#take(answer, start);
        this.player.value?.update(this.timeline.value as Timeline);
        await this.panel.load(this.id, known, this.signal);
        this.density.value = await api
          .density(this.id, DENSITY_BUCKETS, this.signal)
          .catch(() => this.density.value);
      }
      if (answer?.live !== false && !this.signal.aborted) return this.#watch(start);
      this.session.value = await api.session(this.id, this.signal).catch(() => this.session.value);
    }, POLL_MS);
  }
}

/** What a failed load was, whatever was thrown. */
function asApiError(error: unknown): ApiError {
  return error instanceof api.ApiError
    ? error
    : new api.ApiError(-1, "viewer", error instanceof Error ? error.message : String(error));
}

/** `30 Nov 2026 09:14:03.250 UTC`: a moment that can be quoted. */
export function quotable(replay: Replay, t: number): string {
  const utc = replay.clock.value?.utcAt(t) ?? 0;
  return `${utcDate(utc)} ${utcTime(utc)} UTC`;
}
