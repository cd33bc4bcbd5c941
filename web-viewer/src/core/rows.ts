/** What happened when? The session's events, sorted by time, and the way through them. */

import { upperBound } from "./timeline.ts";

/** What became of an asked-for action. */
export type Outcome = "recorded" | "allowed" | "asked" | "blocked";

/** The strongest first: where several meet in one place, it is the one shown. */
export const OUTCOMES: readonly Outcome[] = ["blocked", "asked", "allowed", "recorded"];

/** One event. `t` is session ms, `utc` unix ms. */
export interface Row {
  readonly id: string;
  readonly t: number;
  readonly utc: number;
  readonly kind: string;
  readonly outcome: Outcome;
  readonly text: string;
  readonly source: string;
  readonly actor: string;
  readonly decidedBy: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly origin: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The events answer: named columns, then one array a row. */
export interface Columns {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Kinds of the Log tab and lane: what systems told, and what the recorder noted. */
export const LOG_KINDS = [
  "log",
  "artifact",
  "snapshot",
  "restore",
  "policy",
  "sandbox",
  "mark",
  "action",
  "title",
  "size",
  "health",
] as const;
/** Kinds of the Input tab and lane. */
export const INPUT_KINDS = ["key", "text_run", "pointer", "wheel", "clipboard"] as const;

/** An event that lasts is recorded when it ends, at most this long after its time. */
export const LATE_MS = 12_000;

/** The rows of an answer; a cell of an unexpected type reads as empty. */
export function readRows({ columns, rows }: Columns): Row[] {
  const at = new Map(columns.map((name, i) => [name, i]));
  return rows.map((row) => {
    const cell = (name: string): unknown => row[at.get(name) ?? -1];
    const text = (name: string): string => {
      const value = cell(name);
      return typeof value === "string" ? value : "";
    };
    const data = isRecord(cell("data")) ? (cell("data") as Record<string, unknown>) : {};
    return {
      id: text("id"),
      t: Number(cell("t") ?? 0),
      utc: Date.parse(text("utc")),
      kind: text("kind"),
      outcome: outcomeOf(cell("outcome")),
      text: (text("kind") === "health" ? "" : text("text")) || describe(text("kind"), data),
      source: text("source"),
      actor: text("actor"),
      decidedBy: text("decided_by"),
      traceId: text("trace_id"),
      spanId: text("span_id"),
      origin: text("origin"),
      data,
    };
  });
}

/** Words for an event that brings none of its own. */
function describe(kind: string, data: Readonly<Record<string, unknown>>): string {
  const value = (name: string): string => {
    const found = data[name];
    return typeof found === "string" || typeof found === "number" ? String(found) : "";
  };
  if (kind === "size" && Array.isArray(data["size"]))
    return `Screen is now ${data["size"].join("×")}`;
  if (kind === "health") return `Recording: ${value("text") || value("state")}`;
  return value("name") || value("title") || kind;
}

function outcomeOf(cell: unknown): Outcome {
  return OUTCOMES.find((outcome) => outcome === cell) ?? "recorded";
}

function isRecord(cell: unknown): cell is Record<string, unknown> {
  return typeof cell === "object" && cell !== null && !Array.isArray(cell);
}

/** The position of the last row at or before `t`; -1 before the first. */
export function currentRow(rows: readonly Row[], t: number): number {
  return upperBound(rows, (row) => row.t <= t) - 1;
}

/** The first row after `t`, or the last one before it; only those that pass `keep`. */
export function stepRow(
  rows: readonly Row[],
  t: number,
  direction: 1 | -1,
  keep: (row: Row) => boolean = () => true,
): Row | undefined {
  const start =
    direction === 1
      ? upperBound(rows, (row) => row.t <= t)
      : upperBound(rows, (row) => row.t < t) - 1;
  for (let i = start; 0 <= i && i < rows.length; i += direction) {
    const row = rows[i] as Row;
    if (keep(row)) return row;
  }
  return undefined;
}

/** Rows whose text, names or ids hold every word of `query` and whose `label` is among `chosen`, if any is. */
export function filterRows(
  rows: readonly Row[],
  query: string,
  chosen: ReadonlySet<string>,
  label: (row: Row) => string,
): readonly Row[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && chosen.size === 0) return rows;
  return rows.filter((row) => {
    if (chosen.size > 0 && !chosen.has(label(row))) return false;
    if (words.length === 0) return true;
    const text =
      `${row.text} ${row.kind} ${row.actor} ${row.decidedBy} ${row.source} ${row.id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** How many rows there are of each label. */
export function countRows<T extends string>(
  rows: readonly Row[],
  label: (row: Row) => T,
): Readonly<Partial<Record<T, number>>> {
  const counts: Partial<Record<T, number>> = {};
  for (const row of rows) counts[label(row)] = (counts[label(row)] ?? 0) + 1;
  return counts;
}

/** From an asking to what was decided on it. */
export interface Wait {
  readonly asked: Row;
  readonly decided: Row;
}

/** Each asked row with the first decision that carries the same request. */
export function waits(rows: readonly Row[]): Wait[] {
  const open = new Map<string, Row>();
  const found: Wait[] = [];
  for (const row of rows) {
    const request = row.data["request"];
    if (typeof request !== "string") continue;
    const asked = open.get(request);
    if (row.outcome === "asked") open.set(request, row);
    else if (asked !== undefined && row.outcome !== "recorded") {
      found.push({ asked, decided: row });
      open.delete(request);
    }
  }
  return found;
}
