/** How is an outcome shown? By a shape and a word, never by colour alone. */

import type { JSX } from "preact";

import type { Outcome } from "../core/rows.ts";

export const OUTCOME_WORDS: Readonly<Record<Outcome, readonly [shape: string, word: string]>> = {
  recorded: ["●", "Recorded"],
  allowed: ["✓", "Allowed"],
  asked: ["?", "Asked"],
  blocked: ["✕", "Blocked"],
};

/** The badge of a row; with `count`, of several rows. */
export function Badge({ outcome, count }: { outcome: Outcome; count?: number }): JSX.Element {
  const [shape, word] = OUTCOME_WORDS[outcome];
  return (
    <span class={`badge ${outcome}`}>
      <span aria-hidden="true">{shape}</span>
      {count === undefined ? word : ` ${count}`}
      {count !== undefined && <span class="unseen"> {word}</span>}
    </span>
  );
}
