/** When do keys act? Anywhere on the page, except where they are typed or belong to a control. */

import { actionOf } from "../../core/keys.ts";
import { keySetting } from "../settings.ts";
import { perform } from "./actions.ts";
import { dialog } from "./dialogs.tsx";
import type { Replay } from "./model.ts";

/** Listens for the page's keys; gives the way to stop. */
export function listenForKeys(replay: Replay): () => void {
  const listen = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || dialog.value !== undefined || belongsTo(event.target, event.key))
      return;
    const action = actionOf(event, keySetting.value);
    if (action !== undefined && perform(replay, action, event.key)) event.preventDefault();
  };
  document.addEventListener("keydown", listen);
  return () => document.removeEventListener("keydown", listen);
}

/** Whether the focused control needs the key itself. */
function belongsTo(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.closest("textarea, select") !== null) return true;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox" || key === " ";
  return (key === " " || key === "Enter") && target.closest("button, a[href], summary") !== null;
}
