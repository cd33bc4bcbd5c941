/** What does the replay page know? One session: loaded in parts, selected in, and in step with its player. */

import { computed, effect, signal } from "@preact/signals";

import type { ApiError } from "../../api/client.ts";
import * as api from "../../api/client.ts";
import type { Density, MaskSpan, SessionInFull, Sheet, TimelineAnswer } from "../../api/types.ts";
import { ClockMap } from "../../core/clock.ts";
import { changes, idleSpans } from "../../core/idle.ts";
import { parseMoment } from "../../core/moment.ts";
import type { Outcome, Row } from "../../core/rows.ts";
import {
  countOutcomes,
  currentRow,
  filterRows,
  INPUT_KINDS,
  LOG_KINDS,
  readRows,
  waits,
} from "../../core/rows.ts";
import type { Idle } from "../../core/idle.ts";
import { clock, seconds, utcDate, utcTime } from "../../core/time.ts";
import type { Fragment } from "../../core/timeline.ts";
import { Timeline } from "../../core/timeline.ts";
import type { Layers } from "../../media/layers.ts";
import { Player } from "../../media/player.ts";
import { say, tell } from "../live.tsx";
import { skipIdle, timeStyle } from "../settings.ts";

/** A live session is asked for news this often. */
const POLL_MS = 3_000;
const DENSITY_BUCKETS = 2_048;
const KINDS = [...LOG_KINDS, ...INPUT_KINDS, "span", "note"];

export type Tab = "log" | "input" | "spans" | "text" | "notes";
export const TABS: readonly Tab[] = ["log", "input", "spans", "text", "notes"];

/** Loads session `id` and holds everything that its page shows. `close` ends all of it. */
export class Replay {
  readonly id: string;
  readonly session = signal<SessionInFull | undefined>(undefined);
  readonly timeline = signal<Timeline | undefined>(undefined);
  readonly masks = signal<readonly MaskSpan[]>([]);
  readonly density = signal<Density | undefined>(undefined);
  readonly clock = signal<ClockMap | undefined>(undefined);
  readonly rows = signal<readonly Row[]>([]);
  readonly rowsState = signal<"loading" | "ready" | "error">("loading");
  readonly sheets = signal<readonly Sheet[]>([]);
  readonly player = signal<Player | undefined>(undefined);
  readonly error = signal<ApiError | undefined>(undefined);

  readonly tab = signal<Tab>("log");
  readonly query = signal("");
  readonly outcomes = signal<ReadonlySet<Outcome>>(new Set());
  readonly selected = signal<Row | undefined>(undefined);
  readonly details = signal(true);
  readonly following = signal(true);
  /** Whether masked regions are outlined. The mask itself is in the pixels. */
  readonly outlines = signal(true);
  /** The part of the session that the timeline shows; undefined is all of it. */
  readonly zoom = signal<readonly [from: number, to: number] | undefined>(undefined);

  readonly logRows = computed(() => this.#ofKinds(LOG_KINDS));
  readonly inputRows = computed(() => this.#ofKinds(INPUT_KINDS));
  readonly spanRows = computed(() => this.#ofKinds(["span"]));
  readonly noteRows = computed(() => this.#ofKinds(["note"]));
  readonly waits = computed(() => waits(this.logRows.value));
  readonly counts = computed(() => countOutcomes(this.logRows.value));
  readonly tabRows = computed<readonly Row[]>(() => {
    switch (this.tab.value) {
      case "log":
        return this.logRows.value;
      case "input":
        return this.inputRows.value;
      case "spans":
        return this.spanRows.value;
      case "notes":
        return this.noteRows.value;
      case "text":
        return [];
    }
  });
  readonly shown = computed(() =>
    filterRows(
      this.tabRows.value,
      this.query.value,
      this.tab.value === "log" ? this.outcomes.value : new Set(),
    ),
  );
  readonly current = computed(() => currentRow(this.shown.value, this.player.value?.t.value ?? 0));
  readonly idle = computed<readonly Idle[]>(() => {
    if (this.timeline.value === undefined || this.density.value === undefined) return [];
    const events = [...this.logRows.value, ...this.inputRows.value];
    const busy = [...events.map(({ t }) => ({ from: t, to: t })), ...changes(this.density.value)];
    return idleSpans(
      this.timeline.value,
      busy.sort((a, b) => a.from - b.from),
    );
  });

  readonly #closed = new AbortController();
  readonly #effects: (() => void)[] = [];
  /** The event of the link, until it is selected. */
  #linked: string | null = null;
  #poll: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.id = id;
  }

  get signal(): AbortSignal {
    return this.#closed.signal;
  }

  /** Loads all parts and opens the player at the moment that `query` names. */
  async open(layers: Layers, query: URLSearchParams): Promise<void> {
    this.readPanel(query);
    this.#linked = query.get("e");
    try {
      const [session, timeline] = await Promise.all([
        api.session(this.id, this.signal),
        api.timeline(this.id, this.signal),
      ]);
      this.session.value = session;
      this.clock.value = new ClockMap(timeline.anchors, Date.parse(session.start));
      this.#take(timeline);
      await this.#startPlayer(layers, await this.#moment(query));
      void this.#loadRest(); // after the picture: it is what the person came for
      if (timeline.live) this.#watch();
    } catch (error) {
      if (!this.signal.aborted) this.error.value = asApiError(error);
    }
  }

  /** Back, Forward or a link within the session: goes to what the address bar says now. */
  async revisit(query: URLSearchParams): Promise<void> {
    this.readPanel(query);
    this.player.value?.pause();
    this.player.value?.seek(await this.#moment(query));
    this.selected.value = undefined;
    this.#linked = query.get("e");
    this.#selectLinked();
  }

  /** The person chose a row. */
  select(row: Row): void {
    this.#linked = null;
    this.selected.value = row;
  }

  readPanel(query: URLSearchParams): void {
    this.tab.value = TABS.find((tab) => tab === query.get("tab")) ?? "log";
    this.query.value = query.get("q") ?? "";
    const zoom = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(query.get("z") ?? "");
    this.zoom.value = zoom === null ? undefined : [Number(zoom[1]) * 1000, Number(zoom[2]) * 1000];
  }

  /** The address of this page as it stands: the moment, the event of that frame, the panel. */
  url(): string {
    const player = this.player.value;
    const query = new URLSearchParams();
    if (player !== undefined) query.set("t", seconds(player.t.value));
    const row = this.selected.value;
    if (row !== undefined && player !== undefined && this.#sameFrame(row.t, player.t.value))
      query.set("e", row.id);
    if (this.tab.value !== "log") query.set("tab", this.tab.value);
    if (this.query.value !== "") query.set("q", this.query.value);
    const zoom = this.zoom.value;
    if (zoom !== undefined) query.set("z", zoom.map((t) => seconds(t)).join("-"));
    return `/s/${encodeURIComponent(this.id)}?${query.toString().replaceAll("%3A", ":")}`;
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

  #ofKinds(kinds: readonly string[]): readonly Row[] {
    return this.rows.value.filter((row) => kinds.includes(row.kind));
  }

  #take(answer: TimelineAnswer): void {
    this.timeline.value = new Timeline(answer);
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
        if (gap !== undefined) say(`No picture: ${gap.reason}`);
      }),
    );
    await player.open(t);
  }

  /** Where to stand at first: `e` wins over `t`, and says so when they disagree. */
  async #moment(query: URLSearchParams): Promise<number> {
    const t = this.#asked(query.get("t"));
    const event = query.get("e");
    if (event === null) return t ?? 0;
    const found =
      this.rows.value.find((row) => row.id === event)?.t ??
      (await api.resolve({ event }, this.signal).catch(() => [])).find((c) => c.session === this.id)
        ?.t;
    if (found === undefined) {
      tell(`Event ${event} is not in this session`);
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

  /** Selects the event that the link names, once it is loaded. */
  #selectLinked(): void {
    if (this.#linked === null) return;
    const row = this.rows.value.find(({ id }) => id === this.#linked);
    if (row === undefined) return;
    this.selected.value = row;
    this.#linked = null;
  }

  async #loadRest(): Promise<void> {
    const quiet = <T>(answer: Promise<T>): Promise<T | undefined> => answer.catch(() => undefined);
    void this.#loadRows();
    const [density, thumbs] = await Promise.all([
      quiet(api.density(this.id, DENSITY_BUCKETS, this.signal)),
      quiet(api.thumbs(this.id, this.signal)),
    ]);
    this.density.value = density;
    this.sheets.value = thumbs?.sheets ?? [];
  }

  async #loadRows(from = 0): Promise<void> {
    try {
      const known = new Set(from > 0 ? this.rows.value.map((row) => row.id) : []);
      for await (const answer of api.events(this.id, KINDS, from, this.signal)) {
        const fresh = readRows(answer).filter((row) => !known.has(row.id));
        if (fresh.length > 0)
          this.rows.value = [...this.rows.value, ...fresh].sort((a, b) => a.t - b.t);
      }
      this.#selectLinked(); // before the address is written again
      this.rowsState.value = "ready";
    } catch {
      if (!this.signal.aborted) this.rowsState.value = "error";
    }
  }

  /** Asks a live session for news until it ends. */
  #watch(): void {
    this.#poll = setTimeout(async () => {
      const answer = await api.timeline(this.id, this.signal).catch(() => undefined);
      if (this.signal.aborted) return;
      if (answer !== undefined) {
        this.#take(answer);
        this.player.value?.update(this.timeline.value as Timeline);
        await this.#loadRows(this.rows.value.at(-1)?.t ?? 0);
        this.density.value = await api
          .density(this.id, DENSITY_BUCKETS, this.signal)
          .catch(() => this.density.value);
      }
      if (answer?.live !== false && !this.signal.aborted) return this.#watch();
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
