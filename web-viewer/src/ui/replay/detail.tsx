/** Everything that is known of the selected row. All of it is recorded text. */

import type { ComponentChildren, JSX } from "preact";

import type { Row } from "../../core/rows.ts";
import { visible } from "../../core/text.ts";
import { span, utcDate, utcTime } from "../../core/time.ts";
import { Icon } from "../icons.tsx";
import { OUTCOME_WORDS } from "../outcome.tsx";
import { activate } from "./actions.ts";
import type { Replay } from "./model.ts";

/** What it is worth that an event was recorded, by who says so (capture.md). */
const ORIGINS: Readonly<Record<string, string>> = {
  wire: "the wire: evidence",
  guest: "the machine itself: a claim",
  driver: "the driver: an intent",
};
/** So much of a text is shown: a clipboard may hold a megabyte. */
const KEPT_CHARS = 20_000;

export function Detail({ replay, row }: { replay: Replay; row: Row }): JSX.Element {
  const utc = replay.clock.value?.utcAt(row.t) ?? row.utc;
  const error = replay.clock.value?.errorAt(row.t);
  const wait = replay.panel.waits.value.find(
    ({ asked, decided }) => asked === row || decided === row,
  );
  const title =
    row.kind === "log" ? `${OUTCOME_WORDS[row.outcome][1]}: ${row.text}` : row.text || row.kind;
  return (
    <section class="detail" aria-label="Selected row" tabIndex={0}>
      <header>
        <h2>{visible(title)}</h2>
        <button
          class="icon-only quiet"
          title="Go to this moment (Enter)"
          aria-label="Go to this moment"
          onClick={() => activate(replay, row)}
        >
          <Icon name="film" />
        </button>
      </header>
      <dl>
        <Field name="Time">
          {utcDate(utc)} {utcTime(utc)} UTC{typeof error === "number" ? ` ± ${error} ms` : ""}
        </Field>
        <Field name="Asked by">{row.actor}</Field>
        <Field name="Decided by">{row.decidedBy}</Field>
        <Field name="Waited">{wait === undefined ? "" : span(wait.decided.t - wait.asked.t)}</Field>
        <Field name="Source">{row.source}</Field>
        <Field name="Said by">{ORIGINS[row.origin] ?? ""}</Field>
        <Field name="Hash">{hashOf(row) !== "" && <code>{hashOf(row)}</code>}</Field>
        <Field name="Event">
          <code>{visible(row.id)}</code>
        </Field>
        <Field name="Trace">
          {row.traceId !== "" && (
            <a class="mono" href={traceUrl(row)}>
              {row.traceId.slice(0, 16)}…
            </a>
          )}
        </Field>
      </dl>
      {row.kind === "clipboard" && typeof row.data["text"] === "string" && (
        <details>
          <summary>Kept text</summary>
          <pre>{visible(row.data["text"].slice(0, KEPT_CHARS))}</pre>
        </details>
      )}
      {Object.keys(row.data).length > 0 && (
        <details>
          <summary>Everything recorded</summary>
          <pre>{visible(JSON.stringify(row.data, null, 2)).slice(0, KEPT_CHARS)}</pre>
        </details>
      )}
    </section>
  );
}

/** Under which digest a clipboard's content can be found again, and how it was made. */
function hashOf({ data: { sha256, hmac } }: Row): string {
  if (typeof sha256 === "string") return `SHA-256 ${sha256}`;
  return typeof hmac === "string" ? `${hmac}, under this session’s key` : "";
}

function traceUrl({ traceId, spanId }: Row): string {
  return `/t/${[traceId, spanId].filter(Boolean).map(encodeURIComponent).join("/")}`;
}

function Field({
  name,
  children,
}: {
  name: string;
  children: ComponentChildren;
}): JSX.Element | null {
  if (children === "" || children === false || children === null) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{typeof children === "string" ? visible(children) : children}</dd>
    </>
  );
}
