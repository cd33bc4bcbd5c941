/** How is a kind of input called? By a word, with the colour of its lane beside it. */

import type { JSX } from "preact";

import type { ActKind } from "./panel.ts";

export const KIND_WORDS: Readonly<Record<ActKind, string>> = {
  text_run: "Typed",
  key: "Key",
  pointer: "Pointer",
  wheel: "Wheel",
  clipboard: "Clipboard",
  mark: "Mark",
};

export function KindBadge({ kind }: { kind: ActKind }): JSX.Element {
  return <span class={`kind act ${kind}`}>{KIND_WORDS[kind]}</span>;
}
