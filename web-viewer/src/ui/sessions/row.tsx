/** One session in the list: a picture of it, who, where, when, how long, and what was decided. */

import type { JSX } from "preact";

import type { Session } from "../../api/types.ts";
import * as api from "../../api/client.ts";
import type { Outcome } from "../../core/rows.ts";
import { OUTCOMES } from "../../core/rows.ts";
import { oneLine } from "../../core/text.ts";
import { clockSeconds, utcDate, utcSeconds } from "../../core/time.ts";
import { Icon } from "../icons.tsx";
import { Badge } from "../outcome.tsx";
import { hostOf, titleOf } from "./words.ts";

/** Twice the shown width, for dense screens. */
const THUMB_WIDTH_PX = 192;

export function SessionRow({ session }: { session: Session }): JSX.Element {
  const start = Date.parse(session.start);
  const where = [
    session.request ?? hostOf(session.source),
    session.protocol.toUpperCase(),
    session.on_behalf_of && `for ${session.on_behalf_of}`,
  ];
  return (
    <li class="session">
      {session.duration_ms > 0 ? <Thumb session={session} /> : <span class="thumb" />}
      <div class="who">
        <a href={`/s/${encodeURIComponent(session.id)}`}>
          <Icon name={session.actor_kind ?? "film"} /> <span class="text">{titleOf(session)}</span>
        </a>
        <span class="about">{oneLine(where.filter(Boolean).join(" · "))}</span>
      </div>
      <div class="when">
        <span class="mono">{utcSeconds(start)} UTC</span>
        <span class="about">{utcDate(start)}</span>
      </div>
      <div class="length">
        <span class="mono">{clockSeconds(session.duration_ms)}</span>
        <State session={session} />
      </div>
      <div class="outcomes">
        {OUTCOMES.map((outcome) => (
          <Count key={outcome} session={session} outcome={outcome} />
        ))}
      </div>
    </li>
  );
}

function Thumb({ session }: { session: Session }): JSX.Element {
  return (
    <img
      class="thumb"
      src={api.frameUrl(session.id, session.duration_ms / 2, { width: THUMB_WIDTH_PX })}
      alt=""
      width="96"
      height="60"
      loading="lazy"
      onError={(event) => (event.currentTarget.style.visibility = "hidden")}
    />
  );
}

function Count({ session, outcome }: { session: Session; outcome: Outcome }): JSX.Element | null {
  const count = session.outcomes[outcome] ?? 0;
  return count > 0 ? <Badge outcome={outcome} count={count} /> : null;
}

function State({ session }: { session: Session }): JSX.Element {
  if (session.state === "live") return <b class="live">● Live</b>;
  if (session.state === "lost" || session.state === "interrupted")
    return <span class="warn">not closed</span>;
  if (session.holds.length > 0) return <span class="hold">legal hold</span>;
  const gaps = session.gaps;
  return <span class="about">{gaps > 0 ? `${gaps} gap${gaps === 1 ? "" : "s"}` : ""}</span>;
}
