/** What was just jumped over, and the way back to it. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { Idle } from "../../core/idle.ts";
import { span } from "../../core/time.ts";
import type { Player } from "../../media/player.ts";
import { say } from "../live.tsx";

/** The card stays this long after the jump has landed. */
const SHOWN_MS = 3_000;

export function SkipCard({ player, idle }: { player: Player; idle: Idle }): JSX.Element {
  const words = `Skipped ${span(idle.to - idle.from)} of no activity`;
  const landed = player.state.value !== "seeking";
  useEffect(() => say(words), [idle]);
  useEffect(() => {
    if (!landed) return;
    const timer = setTimeout(() => (player.skipped.value = undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [idle, landed]);
  return (
    <div class="toast">
      <span>{words}</span>
      <button class="link" onClick={() => player.unskip()}>
        Play it
      </button>
    </div>
  );
}
