/** What does the side panel hold? The rows, the tab and filter over them, and the one selected. */

import { computed, signal } from "@preact/signals";

import * as api from "../../api/client.ts";
import type { EventsAnswer } from "../../api/types.ts";
import { foldInput } from "../../core/fold.ts";
import { compact } from "../../core/input.ts";
import type { Outcome, Row } from "../../core/rows.ts";
import {
  countRows,
  currentRow,
  filterRows,
  INPUT_KINDS,
  LATE_MS,
  LOG_KINDS,
  readRows,
  waits,
} from "../../core/rows.ts";

/** What is loaded first, and what after it. */
const LOADS = [[...LOG_KINDS, "span", "note"], INPUT_KINDS] as const;
/** The most rows one answer may hold; the server also bounds it by its size. */
const CHUNK = 20_000;
/** The kinds that the Input tab can be narrowed to. */
export const ACT_KINDS = ["text_run", "key", "pointer", "wheel", "clipboard", "mark"] as const;
export type ActKind = (typeof ACT_KINDS)[number];
const NONE: ReadonlySet<string> = new Set();
const outcomeOf = (row: Row): Outcome => row.outcome;
const kindOf = (row: Row): ActKind => row.kind as ActKind;

export type Tab = "log" | "input" | "spans" | "text" | "notes";
export const TABS: readonly Tab[] = ["log", "input", "spans", "text", "notes"];

/** The rows of one session. `t` gives the playhead's ms. */
export class Panel {
  readonly rows = signal<readonly Row[]>([]);
  readonly state = signal<"loading" | "ready" | "error">("loading");
  readonly tab = signal<Tab>("log");
  readonly query = signal("");
  /** What the Log and the Input tab are narrowed to; empty is everything. */
  readonly outcomes = signal<ReadonlySet<Outcome>>(new Set());
  readonly kinds = signal<ReadonlySet<ActKind>>(new Set());
  readonly selected = signal<Row | undefined>(undefined);
  readonly details = signal(true);
  /** Whether the list keeps the current row in view. */
  readonly following = signal(true);

  readonly log = computed(() => this.#ofKinds(LOG_KINDS));
  /** Input as it was recorded, and folded into what a person would call it. */
  readonly input = computed(() => this.#ofKinds(INPUT_KINDS));
  readonly acts = computed(() => foldInput(this.#ofKinds([...INPUT_KINDS, "mark"])));
  readonly spans = computed(() => this.#ofKinds(["span"]));
  readonly notes = computed(() => this.#ofKinds(["note"]));
  readonly waits = computed(() => waits(this.log.value));
  readonly counts = computed(() => countRows(this.log.value, outcomeOf));
  readonly kindCounts = computed(() => countRows(this.acts.value, kindOf));
  /** All rows of the tab, and those that pass the filter. */
  readonly ofTab = computed(() => this.of(this.tab.value));
  readonly shown = computed(() => {
    const rows = this.ofTab.value;
    const query = this.query.value;
    if (this.tab.value === "log") return filterRows(rows, query, this.outcomes.value, outcomeOf);
    return filterRows(rows, query, this.tab.value === "input" ? this.kinds.value : NONE, kindOf);
  });
  /** Where in `shown` the playhead is; -1 before the first row. */
  readonly current = computed(() => currentRow(this.shown.value, this.#t()));

  /** Whether the event that the page's link names may still come. */
  readonly linking = computed(() => this.#linked.value !== null && this.state.value === "loading");

  readonly #t: () => number;
  /** The event that the page's link names, until it is here. */
  readonly #linked = signal<string | null>(null);

  constructor(t: () => number) {
    this.#t = t;
  }

  /** The rows that `tab` holds. */
  of(tab: Tab): readonly Row[] {
    if (tab === "text") return [];
    return tab === "input" ? this.acts.value : this[tab].value;
  }

  /** Takes over what the address says: tab, filter and event. */
  read(query: URLSearchParams): void {
    this.tab.value = TABS.find((tab) => tab === query.get("tab")) ?? "log";
    this.query.value = query.get("q") ?? "";
    const kinds = query.get("kinds")?.split(",") ?? [];
    this.kinds.value = new Set(ACT_KINDS.filter((kind) => kinds.includes(kind)));
    this.selected.value = undefined;
    this.#linked.value = query.get("e");
    this.#selectLinked();
  }

  /** The person chose a row. */
  select(row: Row): void {
    this.#linked.value = null;
    this.selected.value = row;
  }

  /** Loads the rows of session `id`, or those that are new since the session was `known` ms long. */
  async load(id: string, known: number, signal: AbortSignal): Promise<void> {
    try {
      for (const kinds of LOADS) {
        await this.#load(api.events(id, { kinds, from: known - LATE_MS, limit: CHUNK }, signal));
        this.#selectLinked(); // before the address is written again
      }
      this.state.value = "ready";
    } catch {
      if (!signal.aborted) this.state.value = "error";
    }
  }

  async #load(chunks: AsyncGenerator<EventsAnswer>): Promise<void> {
    for await (const answer of chunks) {
      // Anew for each answer: of a live session the next load may have begun meanwhile.
      const known = new Set(this.rows.value.map((row) => row.id));
      const fresh = readRows(answer).filter((row) => !known.has(row.id));
      if (fresh.length === 0) continue;
      this.rows.value = [...this.rows.value, ...fresh.map(compact)].sort((a, b) => a.t - b.t);
    }
  }

  #selectLinked(): void {
    const row = this.rows.value.find(({ id }) => id === this.#linked.value);
    if (row !== undefined) this.select(row);
  }

  #ofKinds(kinds: readonly string[]): readonly Row[] {
    return this.rows.value.filter((row) => kinds.includes(row.kind));
  }
}
