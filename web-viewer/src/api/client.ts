/** How is the server asked? One function a call of api.md; each takes an `AbortSignal`. */

import type {
  Candidate,
  Density,
  EventsAnswer,
  Run,
  SessionInFull,
  SessionList,
  Thumbs,
  TimelineAnswer,
  Tombstone,
} from "./types.ts";

/** A refusal; `status` 0: no answer at all; -1: the page itself could not go on. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly tombstone?: Tombstone,
  ) {
    super(message);
  }
}

export const sessions = (query: URLSearchParams, signal: AbortSignal): Promise<SessionList> =>
  ask(`sessions?${query}`, signal);

export const session = (id: string, signal: AbortSignal): Promise<SessionInFull> =>
  ask(`sessions/${encodeURIComponent(id)}`, signal);

export const timeline = (id: string, signal: AbortSignal): Promise<TimelineAnswer> =>
  ask(`sessions/${encodeURIComponent(id)}/timeline`, signal);

export const density = (id: string, n: number, signal: AbortSignal): Promise<Density> =>
  ask(`sessions/${encodeURIComponent(id)}/density?n=${n}`, signal);

export const thumbs = (id: string, signal: AbortSignal): Promise<Thumbs> =>
  ask(`sessions/${encodeURIComponent(id)}/thumbs.json`, signal);

export const run = (id: string, signal: AbortSignal): Promise<Run> =>
  ask(`runs/${encodeURIComponent(id)}`, signal);

/** Where an event or a trace is. None: the server answers 404. */
export async function resolve(
  query: Record<string, string>,
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const answer = await ask<{ candidates: readonly Candidate[] }>(
    `resolve?${new URLSearchParams(query)}`,
    signal,
  );
  return answer.candidates;
}

/** Which events: of `kinds`, from `from` ms on and before `to`, `limit` in a chunk. */
export interface EventsWanted {
  readonly kinds: readonly string[];
  readonly from: number;
  readonly to?: number;
  readonly limit: number;
}

/** The events that are wanted, one chunk after another, until the server has no more. */
export async function* events(
  id: string,
  wanted: EventsWanted,
  signal: AbortSignal,
): AsyncGenerator<EventsAnswer> {
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({
      kinds: wanted.kinds.join(","),
      limit: String(wanted.limit),
    });
    if (wanted.from > 0) query.set("from", String(wanted.from));
    if (wanted.to !== undefined) query.set("to", String(wanted.to));
    if (cursor !== null) query.set("cursor", cursor);
    const answer: EventsAnswer = await ask(
      `sessions/${encodeURIComponent(id)}/events?${query}`,
      signal,
    );
    yield answer;
    cursor = answer.next;
  } while (cursor !== null);
}

/** The address of the still of the frame at `t`; `width` in px makes it smaller. */
export function frameUrl(
  id: string,
  t: number,
  options: { width?: number; format?: "jpeg" | "png" } = {},
): string {
  const query = new URLSearchParams({ t: String(Math.floor(t)), format: options.format ?? "jpeg" });
  if (options.width !== undefined) query.set("width", String(options.width));
  return `${BASE}sessions/${encodeURIComponent(id)}/frame?${query}`;
}

/** The address of a segment's `ftyp moov`. */
export function initUrl(id: string, seq: number): string {
  return `${BASE}sessions/${encodeURIComponent(id)}/media/${seq}/init.mp4`;
}

/** The address of a fragment where it is placed. */
export function fragmentUrl(
  id: string,
  f: {
    readonly seq: number;
    readonly fragment: number;
    readonly at: number | null;
    readonly to: number | null;
  },
): string {
  const place = f.at === null ? "" : `?at=${f.at}&to=${f.to}`;
  return `${BASE}sessions/${encodeURIComponent(id)}/media/${f.seq}/${f.fragment}.m4s${place}`;
}

const BASE = "/api/v1/";

async function ask<T>(path: string, signal: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(BASE + path, { signal, headers: { Accept: "application/json" } });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError(0, "no_answer", "The server does not answer.");
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok && body !== undefined) return body as T;
  throw refusal(response.status, body);
}

function refusal(status: number, body: unknown): ApiError {
  const { error, tombstone } = (body ?? {}) as {
    error?: Record<string, unknown>;
    tombstone?: Tombstone;
  };
  const text = (name: string): string | undefined => {
    const value = error?.[name];
    return typeof value === "string" ? value : undefined;
  };
  const stone = tombstone ?? (error?.["tombstone"] as Tombstone | undefined);
  return new ApiError(
    status,
    text("code") ?? `http_${status}`,
    text("message") ?? `The server answered ${status}.`,
    stone,
  );
}
