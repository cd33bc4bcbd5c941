/** What does the server answer? The shapes of api.md that the viewer reads. */

import type { Anchor } from "../core/clock.ts";
import type { Density } from "../core/lanes.ts";
import type { Columns } from "../core/rows.ts";
import type { Gap, Pictures } from "../core/timeline.ts";

export type { Density };

export type SessionState = "live" | "ended" | "lost" | "interrupted" | "deleted";

/** `S` of api.md: a session in a list. Times are UTC with ms. */
export interface Session {
  readonly id: string;
  readonly run: string | null;
  readonly title: string | null;
  readonly request: string | null;
  readonly actor: string | null;
  readonly actor_kind: "agent" | "person" | "service" | null;
  readonly on_behalf_of: string | null;
  readonly os: string | null;
  readonly protocol: string;
  readonly source: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly start: string;
  readonly end: string | null;
  readonly state: SessionState;
  readonly end_reason: string | null;
  readonly duration_ms: number;
  readonly bytes: number;
  readonly size: readonly [w: number, h: number];
  readonly gaps: number;
  readonly masks: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly policy: string | null;
  readonly holds: readonly string[];
  readonly delete_at: string | null;
}

/** A session on its own: the lists behind its counts. */
export interface SessionInFull extends Omit<Session, "gaps" | "masks"> {
  readonly gaps: readonly Gap[];
  readonly masks: readonly { readonly rule: string; readonly count: number }[];
}

export interface SessionList {
  readonly sessions: readonly Session[];
  readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly next: string | null;
}

export interface TimelineAnswer extends Pictures {
  readonly anchors: readonly Anchor[];
  /** When which rule masked something; a server that does not say leaves it out. */
  readonly masks?: readonly MaskSpan[];
}

/** A region whose pixels were never stored, in the true picture's pixels. */
export interface MaskSpan {
  readonly rect: readonly [x: number, y: number, w: number, h: number];
  readonly from: number;
  readonly to: number;
  readonly rule: string;
}

export interface EventsAnswer extends Columns {
  readonly next: string | null;
}

/** Sprites: tile `i` of a sheet is at column `i % columns`, line `floor(i / columns)`. */
export interface Thumbs {
  readonly sheets: readonly Sheet[];
}

export interface Sheet {
  readonly seq: number;
  readonly url: string;
  readonly tile: readonly [w: number, h: number];
  readonly columns: number;
  readonly times: readonly number[];
}

/** A place in a session that an id or a time leads to. */
export interface Candidate {
  readonly session: string;
  readonly t: number;
  readonly utc: string;
  readonly error_ms: number | null;
  readonly frame_t: number | null;
  readonly gap: Gap | null;
  readonly url: string;
}

export interface Run {
  readonly run: string;
  readonly sessions: readonly Session[];
}

/** What is left of a deleted session; what the server does not say is absent. */
export type Tombstone = Readonly<Record<string, unknown>>;
