/** Where does an id lead? `/e/{event}`, `/t/{trace}[/{span}]` and `/r/{run}` replace themselves with the moment. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { Candidate, Session } from "../api/types.ts";
import { ApiError } from "../api/client.ts";
import * as api from "../api/client.ts";
import { clock, seconds, utcDate, utcTime } from "../core/time.ts";
import { ErrorPage } from "./errors.tsx";
import { useLoaded } from "./load.ts";
import { navigate } from "./router.ts";
import { titleOf } from "./sessions/words.ts";

/** A place to go to, and how it is offered when there are several. */
interface Place {
  readonly url: string;
  readonly title: string;
  readonly about: string;
}

export function EventPage({ id }: { id: string }): JSX.Element {
  return (
    <Resolver
      what="event"
      name={id}
      ask={async (signal) => {
        const found = await api.resolve({ event: id }, signal);
        return found.map((c) => placeOf(c, { e: id }));
      }}
    />
  );
}

export function TracePage({
  trace,
  span,
}: {
  trace: string;
  span: string | undefined;
}): JSX.Element {
  const traceId = hex(trace, 32);
  const spanId = span === undefined ? null : hex(span, 16);
  return (
    <Resolver
      what={span === undefined ? "trace" : "span"}
      name={span === undefined ? trace : `${trace}/${span}`}
      ask={async (signal) => {
        if (traceId === undefined || spanId === undefined)
          throw new ApiError(404, "bad_trace_id", "That is no trace id.");
        const query =
          spanId === null ? { trace_id: traceId } : { trace_id: traceId, span_id: spanId };
        const found = await api.resolve(query, signal);
        return oneEach(found).map((c) => placeOf(c, { tab: "spans" }));
      }}
    />
  );
}

export function RunPage({ id }: { id: string }): JSX.Element {
  return (
    <Resolver
      what="run"
      name={id}
      ask={async (signal) => {
        const run = await api.run(id, signal);
        return run.sessions.map((session: Session) => ({
          url: `/s/${encodeURIComponent(session.id)}?t=0`,
          title: titleOf(session),
          about: `${utcDate(Date.parse(session.start))} ${utcTime(Date.parse(session.start))} UTC · ${clock(session.duration_ms)}`,
        }));
      }}
    />
  );
}

function Resolver(props: {
  what: string;
  name: string;
  ask: (signal: AbortSignal) => Promise<readonly Place[]>;
}): JSX.Element {
  const loaded = useLoaded(`${props.what} ${props.name}`, props.ask);
  const places = loaded.state === "ready" ? loaded.value : undefined;
  const only = places?.length === 1 ? places[0] : undefined;
  useEffect(() => {
    if (only !== undefined) navigate(only.url, "replace");
  }, [only]);

  if (loaded.state === "error") return <ErrorPage error={loaded.error} what={props.what} />;
  if (places?.length === 0)
    return <ErrorPage error={new ApiError(404, "not_found", "")} what={props.what} />;
  if (places === undefined || only !== undefined) {
    return (
      <main class="plain" id="main" tabIndex={-1} aria-busy="true">
        <p>Looking for the moment…</p>
      </main>
    );
  }
  return <Chooser what={props.what} places={places} />;
}

function Chooser({ what, places }: { what: string; places: readonly Place[] }): JSX.Element {
  document.title = "Choose a moment · Playhead";
  return (
    <main class="plain" id="main" tabIndex={-1}>
      <h1>
        This {what} leads to {places.length} moments
      </h1>
      <ul class="places">
        {places.map((place) => (
          <li key={place.url}>
            <a href={place.url}>{place.title}</a>
            <span class="about">{place.about}</span>
          </li>
        ))}
      </ul>
    </main>
  );
}

function placeOf(c: Candidate, extra: Readonly<Record<string, string>>): Place {
  const query = new URLSearchParams({ t: seconds(c.t), ...extra });
  const utc = Date.parse(c.utc);
  return {
    url: `/s/${encodeURIComponent(c.session)}?${query}`,
    title: `${utcDate(utc)} ${utcTime(utc)} UTC`,
    about: `Session ${c.session} at ${clock(c.t)}${c.gap === null ? "" : ", inside a gap"}`,
  };
}

/** The first moment of each session, in the server's order. */
function oneEach(found: readonly Candidate[]): Candidate[] {
  return found.filter((c, i) => found.findIndex((other) => other.session === c.session) === i);
}

/** An id as it is stored: lower case, without dashes; undefined for what is none. */
function hex(text: string, digits: number): string | undefined {
  const id = text.replaceAll("-", "").toLowerCase();
  return id.length === digits && /^[0-9a-f]+$/.test(id) && !/^0+$/.test(id) ? id : undefined;
}
