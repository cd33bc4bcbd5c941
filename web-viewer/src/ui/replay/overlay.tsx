/** What did keyboard and pointer do? Drawn over the picture at the playhead, from recorded events alone. */

import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";

import type { Chip, Scene } from "../../core/overlay.ts";
import { placeOn, pointerAt, ripples, strip } from "../../core/overlay.ts";
import { visible } from "../../core/text.ts";
import type { Player } from "../../media/player.ts";
import { Icon } from "../icons.tsx";
import { showClicks, showKeys } from "../settings.ts";
import type { Replay } from "./model.ts";

/** A ripple grows from this to this many times its ring. */
const GROWS = [0.5, 1.6] as const;

/** Over a picture of `size` recorded pixels. The Input tab tells the same, so this is hidden from screen readers. */
export function Overlay(props: {
  replay: Replay;
  size: readonly [w: number, h: number];
}): JSX.Element | null {
  const { replay, size } = props;
  const player = replay.player.value;
  useSignalEffect(() => {
    const now = replay.player.value;
    if (now !== undefined && stands(now)) replay.nearby.want(now.t.value); // the picture comes first
  });
  if (player === undefined || !stands(player)) return null;
  const t = player.t.value;
  const scene = replay.nearby.at(t);
  const since = replay.resizes.value.findLast((resize) => resize.t <= t)?.t ?? 0;
  const secret = replay.secrets.value.some(({ from, to }) => from <= t && t < to);
  return (
    <div class="overlay" aria-hidden="true" data-t={t}>
      {showClicks.value === "on" && scene !== undefined && (
        <Clicks scene={scene} t={t} since={since} size={size} />
      )}
      {showKeys.value === "on" && <Strip chips={scene && strip(scene, t)} secret={secret} />}
    </div>
  );
}

/** Whether there is a frame that stands at `t`: while another is sought, none does. */
const stands = ({ state: { value } }: Player): boolean =>
  value === "paused-ready" || value === "playing" || value === "waiting";

function Clicks(props: {
  scene: Scene;
  t: number;
  since: number;
  size: readonly [w: number, h: number];
}): JSX.Element {
  const { scene, t, since, size } = props;
  const pointer = pointerAt(scene, t, since);
  const place = pointer && placeOn(size, pointer.at);
  return (
    <>
      {ripples(scene, t, since).map((ripple) => {
        const at = placeOn(size, ripple.at);
        if (at === undefined) return null;
        const scale = GROWS[0] + (GROWS[1] - GROWS[0]) * ripple.age;
        return (
          <i
            key={`${ripple.t} ${ripple.button}`}
            class="ripple"
            data-button={ripple.button}
            style={{
              left: `${at[0]}%`,
              top: `${at[1]}%`,
              "--scale": scale,
              "--fade": 1 - ripple.age,
            }}
          />
        );
      })}
      {place !== undefined && (
        <i
          class={pointer?.held === "" ? "pointer" : "pointer held"}
          style={{ left: `${place[0]}%`, top: `${place[1]}%` }}
        />
      )}
    </>
  );
}

function Strip({ chips = [], secret }: { chips: readonly Chip[] | undefined; secret: boolean }) {
  return (
    <div class="strip">
      {chips.map((chip, i) => (
        <span key={i} class="chord">
          {chip.keys.map((key, n) => (
            <kbd key={n}>{visible(key)}</kbd>
          ))}
          {chip.count > 1 && <span> ×{chip.count}</span>}
        </span>
      ))}
      {secret && (
        <span class="chord secret">
          <Icon name="lock" /> Secret entry: keys are not kept
        </span>
      )}
    </div>
  );
}
