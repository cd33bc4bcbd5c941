/** How is a session called? By what was asked, else by who worked where. All of it is recorded text. */

import type { Session, SessionInFull } from "../../api/types.ts";
import { oneLine } from "../../core/text.ts";

const KINDS = { agent: "Agent", person: "Person", service: "Service" } as const;

type Named = Pick<Session | SessionInFull, "title" | "actor" | "actor_kind" | "source">;

/** `Agent “invoice-bot” on fin-07`. */
export function titleOf(session: Named): string {
  if (session.title !== null && session.title !== "") return oneLine(session.title);
  const kind = session.actor_kind === null ? "" : `${KINDS[session.actor_kind]} `;
  const who = session.actor === null ? "Session" : `${kind}“${session.actor}”`;
  return oneLine(`${who} on ${hostOf(session.source)}`);
}

/** The machine in a source's address: `fin-07.example` of `vnc://fin-07.example:5901`. */
export function hostOf(source: string): string {
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?(\[[^\]]+\]|[^:/?#]+)/i.exec(source)?.[1];
  return oneLine(host ?? source);
}

/** Reasons of gaps, in words. */
const REASONS: Readonly<Record<string, string>> = {
  disconnected: "connection lost",
  stalled: "source stalled",
  "source-black": "source sent black",
  "permission-lost": "permission withdrawn",
  "secure-desktop": "secure desktop",
  "paused-by-policy": "paused by policy",
  "budget-exceeded": "limit exceeded",
  "disk-full": "disk full",
  "recorder-restarted": "recorder restarted",
  "host-suspended": "host asleep",
  suspended: "sandbox asleep",
  snapshotting: "snapshot taken",
  "taken-over": "taken over",
  "crash-lost": "recorder lost",
  "deleted-by-retention": "deleted",
  redacted: "redacted",
  "no-picture": "no picture",
  "not-yet": "not uploaded yet",
};

export function reasonWords(reason: string): string {
  return REASONS[reason] ?? oneLine(reason);
}
