/** Which session is this? Its name, for whom, when, under which policy and hold. */

import type { JSX } from "preact";

import type { SessionInFull } from "../../api/types.ts";
import { oneLine } from "../../core/text.ts";
import { utcRange } from "../../core/time.ts";
import { Icon } from "../icons.tsx";
import { titleOf } from "../sessions/words.ts";
import { copyLink } from "./actions.ts";
import type { Replay } from "./model.ts";

export function Head({ replay }: { replay: Replay }): JSX.Element {
  const session = replay.session.value;
  const title = session === undefined ? "Session" : titleOf(session);
  document.title = `${title} · Playhead`;
  return (
    <header class="head">
      <a class="button icon-only" href="/sessions" aria-label="Back to sessions">
        <Icon name="back" />
      </a>
      <h1>{title}</h1>
      {session === undefined ? <span class="about" /> : <About session={session} />}
      <button class="share" onClick={() => copyLink(replay)}>
        <Icon name="link" /> Share
      </button>
    </header>
  );
}

/** A policy is named by its digest until it has a name: the first digits tell it apart. */
function policyName(policy: string): string {
  return /^[0-9a-f]{64}$/.test(policy) ? policy.slice(0, 8) : policy;
}

function About({ session }: { session: SessionInFull }): JSX.Element {
  const end = session.end === null ? null : Date.parse(session.end);
  const parts = [
    session.protocol.toUpperCase(),
    session.on_behalf_of === null ? "" : `for ${session.on_behalf_of}`,
    utcRange(Date.parse(session.start), end),
    session.policy === null ? "" : `Policy ${policyName(session.policy)}`,
  ].filter(Boolean);
  return (
    <span class="about">
      {oneLine(parts.join(" · "))}
      {session.state === "live" && (
        <>
          {" "}
          · <b class="live">● Live</b>
        </>
      )}
      {(session.state === "lost" || session.state === "interrupted") && (
        <>
          {" "}
          · <b class="warn">Recorder stopped without closing</b>
        </>
      )}
      {session.holds.length > 0 && (
        <>
          {" · "}
          <b class="hold">
            <Icon name="hold" /> Legal hold
          </b>
        </>
      )}
    </span>
  );
}
