/** Where can a keyboard jump to? The links before everything else, for the page that is open. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";

type Landmark = readonly [id: string, name: string];

export const MAIN: readonly Landmark[] = [["main", "content"]];
export const REPLAY: readonly Landmark[] = [
  ["player", "player"],
  ["log", "log"],
  ["timeline", "timeline"],
];

/** The landmarks of the open page. */
export const landmarks = signal(MAIN);

export function SkipLinks(): JSX.Element {
  const jump = (event: Event, id: string): void => {
    event.preventDefault(); // the address is the moment's, not the landmark's
    document.getElementById(id)?.focus();
  };
  return (
    <div class="skip-links">
      {landmarks.value.map(([id, name]) => (
        <a key={id} href={`#${id}`} onClick={(event) => jump(event, id)}>
          Skip to {name}
        </a>
      ))}
    </div>
  );
}
