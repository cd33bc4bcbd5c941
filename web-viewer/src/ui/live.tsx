/** What is said aloud? One polite live region for the page, and the small notice people see. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";

/** A notice stays this long. */
const NOTICE_MS = 4_000;

const spoken = signal("");
const notice = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

/** Tells a screen reader. */
export function say(text: string): void {
  spoken.value = text;
}

/** Tells everyone, for a few seconds. */
export function tell(text: string): void {
  spoken.value = text;
  notice.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (notice.value = ""), NOTICE_MS);
}

export function LiveRegion(): JSX.Element {
  return (
    <>
      <div class="unseen" role="status" aria-live="polite">
        {spoken}
      </div>
      {notice.value !== "" && <div class="notice">{notice}</div>}
    </>
  );
}
