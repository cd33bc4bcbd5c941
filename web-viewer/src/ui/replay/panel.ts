/** What does the side panel hold? The rows, the tab and filter over them, and the one selected. */

import { computed, signal } from "@preact/signals";

import * as api from "../../api/client.ts";
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

const KINDS = [...LOG_KINDS, ...INPUT_KINDS, "span", "note"];

export type Tab = "log" | "input" | "spans" | "text" | "notes";
export const TABS: readonly Tab[] = ["log", "input", "spans", "text", "notes"];

/** The rows of one session. `t` gives the playhead's ms. */
export class Panel {
  readonly rows = signal<readonly Row[]>([]);
  readonly state = signal<"loading" | "ready" | "error">("loading");
  readonly tab = signal<Tab>("log");
  readonly query = signal("");
  readonly outcomes = signal<ReadonlySet<Outcome>>(new Set());
  readonly selected = signal<Row | undefined>(undefined);
  readonly details = signal(true);
  /** Whether the list keeps the current row in view. */
  readonly following = signal(true);

  readonly log = computed(() => this.#ofKinds(LOG_KINDS));
  readonly input = computed(() => this.#ofKinds(INPUT_KINDS));
  readonly spans = computed(() => this.#ofKinds(["span"]));
  readonly notes = computed(() => this.#ofKinds(["note"]));
  readonly waits = computed(() => waits(this.log.value));
  readonly counts = computed(() => countOutcomes(this.log.value));
  /** All rows of the tab, and those that pass the filter. */
  readonly ofTab = computed(() => this.of(this.tab.value));
  readonly shown = computed(() => {
    const outcomes = this.tab.value === "log" ? this.outcomes.value : new Set<Outcome>();
    return filterRows(this.ofTab.value, this.query.value, outcomes);
  });
  /** Where in `shown` the playhead is; -1 before the first row. */
  readonly current = computed(() => currentRow(this.shown.value, this.#t()));

  readonly #t: () => number;
  /** The event that the page's link names, until it is loaded. */
  #linked: string | null = null;

  constructor(t: () => number) {
    this.#t = t;
  }

  /** The rows that `tab` holds. */
  of(tab: Tab): readonly Row[] {
    return tab === "text" ? [] : this[tab].value;
  }

  /** Takes over what the address says: tab, filter and event. */
  read(query: URLSearchParams): void {
    this.tab.value = TABS.find((tab) => tab === query.get("tab")) ?? "log";
    this.query.value = query.get("q") ?? "";
    this.selected.value = undefined;
    this.#linked = query.get("e");
    this.#selectLinked();
  }

  /** The person chose a row. */
  select(row: Row): void {
    this.#linked = null;
    this.selected.value = row;
  }

  /** Loads the rows of session `id` from `from` ms on, and adds those that are not here yet. */
  async load(id: string, from: number, signal: AbortSignal): Promise<void> {
    try {
      const known = new Set(from > 0 ? this.rows.value.map((row) => row.id) : []);
      for await (const answer of api.events(id, KINDS, from, signal)) {
        const fresh = readRows(answer).filter((row) => !known.has(row.id));
        if (fresh.length === 0) continue;
        this.rows.value = [...this.rows.value, ...fresh].sort((a, b) => a.t - b.t);
      }
      this.#selectLinked(); // before the address is written again
      this.state.value = "ready";
    } catch {
      if (!signal.aborted) this.state.value = "error";
    }
  }

  #selectLinked(): void {
    const row = this.rows.value.find(({ id }) => id === this.#linked);
    if (row !== undefined) this.select(row);
  }

  #ofKinds(kinds: readonly string[]): readonly Row[] {
    return this.rows.value.filter((row) => kinds.includes(row.kind));
  }
}
