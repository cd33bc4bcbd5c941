/** What can a person do on the replay page? Each action once, for buttons, keys and rows alike. */

import type { Action } from "../../core/keys.ts";
import type { Row } from "../../core/rows.ts";
import { stepRow } from "../../core/rows.ts";
import * as api from "../../api/client.ts";
import { SPEEDS } from "../../media/player.ts";
import { tell } from "../live.tsx";
import { navigate, rewrite } from "../router.ts";
import { flip, inputLanes, showClicks, showKeys, skipIdle, timeStyle } from "../settings.ts";
import type { Replay } from "./model.ts";
import { quotable } from "./model.ts";
import { TABS } from "./panel.ts";
import { dialog } from "./dialogs.tsx";

/** Alt+click plays from this long before a row. */
const LEAD_IN_MS = 3_000;

/** Selects a row and goes to its moment; Back returns to where one was. */
export function activate(
  replay: Replay,
  row: Row,
  how: "seek" | "select" | "play-before" = "seek",
): void {
  rewrite(replay.url(), "replace");
  replay.panel.select(row);
  if (how === "select") return;
  replay.player.value?.seek(how === "seek" ? row.t : row.t - LEAD_IN_MS);
  rewrite(replay.url(), "push");
  if (how === "play-before") replay.player.value?.play();
}

/** Goes to the next or previous row of the Log or the Input tab, else of the log; with `decisions`, to one that was blocked or asked. */
export function stepEvent(replay: Replay, direction: 1 | -1, decisions = false): void {
  const from = replay.player.value?.t.value ?? 0;
  const keep = decisions
    ? (row: Row) => row.outcome === "blocked" || row.outcome === "asked"
    : () => true;
  const { tab, shown, log } = replay.panel;
  const stepped = tab.value === "log" || (tab.value === "input" && !decisions);
  const row = stepRow(stepped ? shown.value : log.value, from, direction, keep);
  if (row === undefined) tell(direction === 1 ? "No later event" : "No earlier event");
  else activate(replay, row);
}

export function setSpeed(replay: Replay, steps: 1 | -1): void {
  const player = replay.player.value;
  if (player === undefined) return;
  const at = SPEEDS.findIndex((speed) => speed === player.rate.value);
  player.setRate(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at + steps))] ?? 1);
  tell(`${player.rate.value}×`);
}

export function toggleSkipIdle(): void {
  flip(skipIdle);
  tell(
    skipIdle.value === "on"
      ? "Idle stretches are skipped while playing"
      : "Idle stretches are played",
  );
}

export function copyLink(replay: Replay): void {
  copy(location.origin + replay.url(), "Link copied");
}

export function saveFrame(replay: Replay): void {
  const t = replay.player.value?.frameT.value ?? replay.player.value?.t.value ?? 0;
  const link = document.createElement("a");
  link.href = api.frameUrl(replay.id, t, { format: "png" });
  link.download = `${replay.id} ${quotable(replay, t).replaceAll(":", "-")}.png`;
  link.click();
}

export function toggleFullScreen(): void {
  if (document.fullscreenElement !== null) void document.exitFullscreen();
  else void document.querySelector(".replay")?.requestFullscreen();
}

/** Narrows or widens what the timeline shows, about `about` (the playhead by default). */
export function zoomBy(
  replay: Replay,
  factor: number,
  about = replay.player.value?.t.value ?? 0,
): void {
  const duration = replay.timeline.value?.duration ?? 0;
  const [from, to] = replay.zoom.value ?? [0, duration];
  const span = Math.max(MIN_SPAN_MS, (to - from) * factor);
  if (span >= duration) {
    replay.zoom.value = undefined;
    return;
  }
  const start = Math.max(
    0,
    Math.min(duration - span, about - ((about - from) / (to - from)) * span),
  );
  replay.zoom.value = [Math.round(start), Math.round(start + span)];
}

/** One second across the screen is the closest look. */
const MIN_SPAN_MS = 1_000;

/** Does what a key asked for; false leaves the key to the browser. */
export function perform(replay: Replay, action: Action, key: string): boolean {
  const player = replay.player.value;
  if (player === undefined) return false;
  const by = (ms: number): void => player.seek(player.t.value + ms);
  const end = replay.timeline.value?.duration ?? 0;
  const does: Record<Action, () => void> = {
    toggle: () => player.toggle(),
    "back-10": () => by(-10_000),
    "forward-10": () => by(10_000),
    "back-5": () => by(-5_000),
    "forward-5": () => by(5_000),
    "back-1": () => by(-1_000),
    "forward-1": () => by(1_000),
    "frame-back": () => player.step(-1),
    "frame-forward": () => player.step(1),
    slower: () => setSpeed(replay, -1),
    faster: () => setSpeed(replay, 1),
    "event-back": () => stepEvent(replay, -1),
    "event-forward": () => stepEvent(replay, 1),
    "decision-back": () => stepEvent(replay, -1, true),
    "decision-forward": () => stepEvent(replay, 1, true),
    start: () => player.seek(0),
    end: () => player.seek(end),
    tenth: () => player.seek((Number(key) * end) / 10),
    "skip-idle": toggleSkipIdle,
    "zoom-out": () => zoomBy(replay, 2),
    "zoom-in": () => zoomBy(replay, 0.5),
    "zoom-all": () => (replay.zoom.value = undefined),
    lanes: () => flip(inputLanes),
    "full-screen": toggleFullScreen,
    "show-keys": () => flip(showKeys),
    "show-clicks": () => flip(showClicks),
    masks: () => (replay.outlines.value = !replay.outlines.value),
    follow: () => (replay.panel.following.value = true),
    "go-to": () => (dialog.value = "go-to"),
    "time-style": () => {
      timeStyle.value =
        timeStyle.value === "utc" ? "elapsed" : timeStyle.value === "elapsed" ? "local" : "utc";
      tell(
        `Times: ${{ utc: "UTC", elapsed: "since the session’s start", local: "this browser’s local time" }[timeStyle.value]}`,
      );
    },
    "copy-link": () => copyLink(replay),
    "copy-id": () => {
      if (replay.panel.selected.value !== undefined)
        copy(replay.panel.selected.value.id, "Event id copied");
    },
    "save-frame": () => saveFrame(replay),
    details: () => (replay.panel.details.value = !replay.panel.details.value),
    search: () => navigate("/sessions#search"),
    tab: () => (replay.panel.tab.value = TABS[Number(key) - 1] ?? "log"),
    help: () => (dialog.value = "help"),
    close: () => (dialog.value = undefined),
  };
  does[action]();
  return true;
}

function copy(text: string, done: string): void {
  navigator.clipboard?.writeText(text).then(
    () => tell(done),
    () => tell("The browser did not let the page copy"),
  );
}
