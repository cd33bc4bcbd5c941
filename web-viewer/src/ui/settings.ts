/** What does this person like? Kept in this browser; nothing here changes what is recorded or shown to others. */

import type { Signal } from "@preact/signals";
import { effect, signal } from "@preact/signals";

import type { KeySetting } from "../core/keys.ts";

export type TimeStyle = "utc" | "elapsed" | "local";

export const keySetting = kept<KeySetting>("keys", "on", ["on", "alt", "off"]);
export const timeStyle = kept<TimeStyle>("time", "utc", ["utc", "elapsed", "local"]);
export const skipIdle = kept<"on" | "off">("skip-idle", "off", ["on", "off"]);
/** Whether keys and clicks are drawn on the stage. */
export const showKeys = kept<"on" | "off">("show-keys", "on", ["on", "off"]);
export const showClicks = kept<"on" | "off">("show-clicks", "on", ["on", "off"]);
/** Whether keys, pointer and clipboard have a lane each. */
export const inputLanes = kept<"on" | "off">("input-lanes", "off", ["on", "off"]);

/** Turns a choice of two over. */
export function flip(choice: Signal<"on" | "off">): void {
  choice.value = choice.value === "on" ? "off" : "on";
}

/** A choice among `values` that outlives the page; storage that is full or forbidden only forgets it. */
function kept<T extends string>(name: string, initial: T, values: readonly T[]): Signal<T> {
  const key = `playhead.${name}`;
  let stored: string | null = null;
  try {
    stored = localStorage.getItem(key);
  } catch {
    // A browser that forbids storage: the default serves.
  }
  const choice = signal(values.find((value) => value === stored) ?? initial);
  effect(() => {
    const { value } = choice;
    try {
      if (value !== initial || stored !== null) localStorage.setItem(key, value);
    } catch {
      // See above.
    }
  });
  return choice;
}
