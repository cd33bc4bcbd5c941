/** Where was something masked? Outlines that explain; the mask itself is in the recorded pixels. */

import type { JSX } from "preact";

import { oneLine } from "../../core/text.ts";
import { Icon } from "../icons.tsx";
import type { Replay } from "./model.ts";

/** The regions masked at the playhead, over a picture of `w`×`h` recorded pixels. */
export function Masks({ replay, w, h }: { replay: Replay; w: number; h: number }): JSX.Element {
  const t = replay.player.value?.frameT.value ?? -1;
  const masks = replay.masks.value.filter((mask) => mask.from <= t && t < mask.to);
  return (
    <>
      {masks.map((mask) => {
        const [x, y, width, height] = mask.rect;
        return (
          <div
            key={`${mask.rule} ${mask.rect}`}
            class="mask"
            title={`Masked by rule ${oneLine(mask.rule)}. These pixels were never stored.`}
            style={{
              left: `${(100 * x) / w}%`,
              top: `${(100 * y) / h}%`,
              width: `${(100 * width) / w}%`,
              height: `${(100 * height) / h}%`,
            }}
          >
            <span>
              <Icon name="lock" /> Masked: {oneLine(mask.rule)}
            </span>
          </div>
        );
      })}
    </>
  );
}
