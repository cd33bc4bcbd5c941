/** The player's buttons. */

import type { JSX } from "preact";

import { clock } from "../../core/time.ts";
import { SPEEDS } from "../../media/player.ts";
import type { IconName } from "../icons.tsx";
import { Icon } from "../icons.tsx";
import { flip, showClicks, showKeys, skipIdle } from "../settings.ts";
import { saveFrame, stepEvent, toggleFullScreen } from "./actions.ts";
import { dialog } from "./dialogs.tsx";
import type { Replay } from "./model.ts";

export function Controls({ replay }: { replay: Replay }): JSX.Element {
  const player = replay.player.value;
  const running = player?.running.value ?? false;
  const by = (ms: number) => (): void => player?.seek(player.t.value + ms);
  return (
    <div class="controls" role="group" aria-label="Player controls">
      <IconButton
        icon="previous"
        name="Previous event"
        keys="["
        onClick={() => stepEvent(replay, -1)}
      />
      <button class="wide" title="Back 10 s (J)" aria-label="Back 10 seconds" onClick={by(-10_000)}>
        −10
      </button>
      <IconButton
        icon={running ? "pause" : "play"}
        name={running ? "Pause" : "Play"}
        keys="Space"
        primary
        onClick={() => player?.toggle()}
      />
      <button
        class="wide"
        title="Forward 10 s (L)"
        aria-label="Forward 10 seconds"
        onClick={by(10_000)}
      >
        +10
      </button>
      <IconButton icon="next" name="Next event" keys="]" onClick={() => stepEvent(replay, 1)} />
      <Time replay={replay} />
      <label class="check skip" title="Jump over idle stretches while playing (X)">
        <input
          type="checkbox"
          checked={skipIdle.value === "on"}
          onChange={(event) => (skipIdle.value = event.currentTarget.checked ? "on" : "off")}
        />
        Skip idle
      </label>
      <select
        aria-label="Speed"
        title="Speed (< >)"
        value={String(player?.rate.value ?? 1)}
        onChange={(event) => player?.setRate(Number(event.currentTarget.value))}
      >
        {SPEEDS.map((speed) => (
          <option key={speed} value={String(speed)}>
            {speed}×
          </option>
        ))}
      </select>
      <span class="spacer" />
      <div class="overlays">
        <Overlays replay={replay} />
      </div>
      <details
        class="menu overlays-menu"
        onKeyDown={(event) => event.key === "Escape" && (event.currentTarget.open = false)}
      >
        <summary class="button">Overlays</summary>
        <fieldset>
          <legend class="unseen">Drawn over the picture</legend>
          <Overlays replay={replay} />
        </fieldset>
      </details>
      <IconButton
        icon="help"
        name="Keyboard"
        keys="?"
        wide
        onClick={() => (dialog.value = "help")}
      />
      <IconButton icon="camera" name="Save frame" keys="S" wide onClick={() => saveFrame(replay)} />
      <IconButton icon="full" name="Full screen" keys="F" wide onClick={toggleFullScreen} />
    </div>
  );
}

/** What is drawn over the picture: one button each, side by side or in a menu. */
function Overlays({ replay }: { replay: Replay }): JSX.Element {
  return (
    <>
      <Toggle
        name="Keys"
        title="Keys on the stage (Q)"
        on={showKeys.value === "on"}
        onClick={() => flip(showKeys)}
      />
      <Toggle
        name="Clicks"
        title="Pointer and clicks on the stage (W)"
        on={showClicks.value === "on"}
        onClick={() => flip(showClicks)}
      />
      {replay.masks.value.length > 0 && (
        <Toggle
          name="Masks"
          title="Outline what was masked (R)"
          on={replay.outlines.value}
          onClick={() => (replay.outlines.value = !replay.outlines.value)}
        />
      )}
    </>
  );
}

function Toggle(props: {
  name: string;
  title: string;
  on: boolean;
  onClick: () => void;
}): JSX.Element {
  return (
    <button aria-pressed={props.on} title={props.title} onClick={props.onClick}>
      {props.name}
    </button>
  );
}

/** On its own, so that the running clock draws nothing else anew. */
function Time({ replay }: { replay: Replay }): JSX.Element {
  return (
    <button
      class="time mono quiet"
      title="Go to a time (G)"
      onClick={() => (dialog.value = "go-to")}
    >
      <span class="unseen">Go to a time, now </span>
      <span>{clock(replay.player.value?.t.value ?? 0)}</span>
      <span class="of"> / {clock(replay.timeline.value?.duration ?? 0)}</span>
    </button>
  );
}

function IconButton(props: {
  icon: IconName;
  name: string;
  keys: string;
  primary?: boolean;
  wide?: boolean;
  onClick: () => void;
}): JSX.Element {
  const classes = [
    "icon-only",
    props.primary === true ? "primary" : "",
    props.wide === true ? "wide" : "",
  ].join(" ");
  return (
    <button
      class={classes}
      aria-label={props.name}
      title={`${props.name} (${props.keys})`}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
