/** What lies under the pointer on the timeline? A thumbnail, the time, and the events near it. */

import type { JSX } from "preact";

import type { Sheet } from "../../api/types.ts";
import { oneLine } from "../../core/text.ts";
import { upperBound } from "../../core/timeline.ts";
import { Badge } from "../outcome.tsx";
import { reasonWords } from "../sessions/words.ts";
import type { Replay } from "./model.ts";
import { windowOf } from "./timeline.tsx";

/** Width a thumbnail is shown at, in css px. */
const THUMB_PX = 200;
/** At most this many events are named, from within this share of the view. */
const NEAR = 4;
const NEAR_SHARE = 0.008;

export function Hover({ replay, t }: { replay: Replay; t: number }): JSX.Element {
  const [from, to] = windowOf(replay);
  const share = (t - from) / (to - from);
  const gap = replay.timeline.value?.gapAt(t);
  const reach = (to - from) * NEAR_SHARE;
  const rows = replay.panel.log.value;
  const start = upperBound(rows, (row) => row.t < t - reach);
  const near = rows.slice(start, start + NEAR).filter((row) => row.t <= t + reach);
  return (
    <div
      class="hover"
      aria-hidden="true"
      style={{ left: `clamp(${THUMB_PX / 2}px, ${share * 100}%, calc(100% - ${THUMB_PX / 2}px))` }}
    >
      {gap === undefined ? (
        <Thumb sheets={replay.sheets.value} t={t} />
      ) : (
        <span class="nothing">{reasonWords(gap.reason)}</span>
      )}
      {near.map((row) => (
        <span class="near" key={row.id}>
          <Badge outcome={row.outcome} /> <span class="text">{oneLine(row.text)}</span>
        </span>
      ))}
      <span class="mono">
        {replay.timeText(t)} {replay.timeUnit()}
      </span>
    </div>
  );
}

/** The last thumbnail at or before `t`. */
function Thumb({ sheets, t }: { sheets: readonly Sheet[]; t: number }): JSX.Element | null {
  const sheet = sheets.findLast((s) => (s.times[0] ?? Infinity) <= t) ?? sheets[0];
  if (sheet === undefined) return null;
  const i = Math.max(0, upperBound(sheet.times, (at) => at <= t) - 1);
  const [w, h] = sheet.tile;
  const scale = THUMB_PX / w;
  const lines = Math.ceil(sheet.times.length / sheet.columns);
  return (
    <span
      class="thumb"
      data-t={sheet.times[i]}
      style={{
        width: `${THUMB_PX}px`,
        height: `${h * scale}px`,
        backgroundImage: `url("${encodeURI(sheet.url)}")`,
        backgroundSize: `${w * sheet.columns * scale}px ${h * lines * scale}px`,
        backgroundPosition: `${-(i % sheet.columns) * w * scale}px ${-Math.floor(i / sheet.columns) * h * scale}px`,
      }}
    />
  );
}
