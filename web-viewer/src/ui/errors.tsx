/** What went wrong, and what can be done? Pages for what is unknown, deleted, not allowed or out of reach. */

import type { JSX } from "preact";

import type { ApiError } from "../api/client.ts";
import type { Tombstone } from "../api/types.ts";
import { visible } from "../core/text.ts";

interface Words {
  readonly title: string;
  readonly text: string;
  readonly retry?: boolean;
}

export function ErrorPage({ error, what }: { error: ApiError; what: string }): JSX.Element {
  const { title, text, retry } = wordsFor(error, what);
  document.title = `${title} · Playhead`;
  return (
    <main class="plain" id="main" tabIndex={-1} data-error={error.code}>
      <h1>{title}</h1>
      <p>{text}</p>
      {error.tombstone !== undefined && <Stone stone={error.tombstone} />}
      <p class="buttons">
        {retry === true && (
          <button class="primary" onClick={() => location.reload()}>
            Retry
          </button>
        )}
        <a class="button" href="/sessions">
          All sessions
        </a>
      </p>
    </main>
  );
}

function wordsFor(error: ApiError, what: string): Words {
  switch (error.status) {
    case 0:
      return {
        title: "No answer",
        text: `${error.message} Nothing is lost: the recording is kept on the server.`,
        retry: true,
      };
    case 403:
      return { title: "Not allowed", text: `You have no right to see this ${what}.` };
    case 404:
      return {
        title: "Not found",
        text: `There is no such ${what} here. It may be on its way: rows can arrive before their video.`,
        retry: true,
      };
    case 410:
      return {
        title: "Deleted",
        text: `This ${what} was deleted. What remains is the record of its deletion.`,
      };
    default:
      return { title: "Something went wrong", text: visible(error.message), retry: true };
  }
}

/** What the server says of a deleted session, field by field. */
function Stone({ stone }: { stone: Tombstone }): JSX.Element {
  return (
    <dl class="stone">
      {Object.entries(stone).map(([name, value]) => (
        <div key={name}>
          <dt>{visible(name.replaceAll("_", " "))}</dt>
          <dd class="mono">{visible(typeof value === "string" ? value : JSON.stringify(value))}</dd>
        </div>
      ))}
    </dl>
  );
}
