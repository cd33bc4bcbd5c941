/** How does the address bar stay the share link? It follows each stand and selection, never the playing clock. */

import { effect } from "@preact/signals";

import { rewrite } from "../router.ts";
import type { Replay } from "./model.ts";

/** Browsers slow a page down that rewrites its address more often. */
const EVERY_MS = 250;

/** Keeps the address true while `replay` stands; gives the way to stop. */
export function keepAddress(replay: Replay): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  const write = (): void => {
    timer = undefined;
    last = performance.now();
    rewrite(replay.url(), "replace");
  };
  const stop = effect(() => {
    const state = replay.player.value?.state.value;
    const url = state === "paused-ready" || state === "gap" ? replay.url() : undefined;
    clearTimeout(timer); // an address that was left must not be written over where Back has led
    // Its place or its event may not be known yet.
    if (url === undefined || replay.arriving.value || replay.panel.linking.value) return;
    timer = setTimeout(write, Math.max(0, EVERY_MS - (performance.now() - last)));
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}
