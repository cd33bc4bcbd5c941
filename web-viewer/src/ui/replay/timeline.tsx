/** Where in the session is what? Lanes on a canvas, a slider over them, and what lies under the pointer. */

import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { DEVICES } from "../../core/lanes.ts";
import { spoken, utcSeconds } from "../../core/time.ts";
import { reasonWords } from "../sessions/words.ts";
import { flip, inputLanes } from "../settings.ts";
import { zoomBy } from "./actions.ts";
import { ACTIVITY_PX, heightOf, LANE_PX } from "./draw.ts";
import type { Lane } from "./draw.ts";
import { Hover } from "./hover.tsx";
import { Lanes } from "./lanes.tsx";
import type { Replay } from "./model.ts";

const LABELS: Readonly<Record<Lane, string>> = {
  log: "Log",
  input: "Input",
  key: "Keys",
  pointer: "Pointer",
  clip: "Clipboard",
  spans: "Spans",
  masks: "Masks",
};
/** The spoken position follows a running clock this often. */
const SPEAK_MS = 5_000;
/** On a phone there is room for the log only. */
const narrow = signal(false);
const query = matchMedia("(max-width: 759px)");
const fit = (): void => void (narrow.value = query.matches);
query.addEventListener("change", fit);
fit();

export function TimelineBar({ replay }: { replay: Replay }): JSX.Element {
  const hover = useSignal<number | undefined>(undefined);
  const lanes = lanesOf(replay);
  return (
    <section class="timeline" id="timeline" aria-label="Timeline" tabIndex={-1}>
      <div
        class="lane-names"
        style={{ gridTemplateRows: `${ACTIVITY_PX}px repeat(${lanes.length}, ${LANE_PX}px)` }}
      >
        <span aria-hidden="true" title="Bars with a foot: input. Without: the machine alone.">
          Activity
        </span>
        {lanes.map((lane) =>
          lane === "input" || lane === DEVICES[0] ? (
            <InputName key="input" lane={lane} />
          ) : (
            <span key={lane} aria-hidden="true">
              {LABELS[lane]}
            </span>
          ),
        )}
      </div>
      <div class="lanes" style={{ height: `${heightOf(lanes)}px` }}>
        <Lanes replay={replay} lanes={lanes} />
        <Slider replay={replay} hover={hover} />
        <Head replay={replay} />
        {hover.value !== undefined && <Hover replay={replay} t={hover.value} />}
      </div>
    </section>
  );
}

function lanesOf(replay: Replay): readonly Lane[] {
  if (narrow.value) return ["log"];
  const input = inputLanes.value === "on" ? DEVICES : (["input"] as const);
  return ["log", ...input, "spans", ...(replay.masks.value.length > 0 ? ["masks" as const] : [])];
}

/** The name of the input lane, or of the first of them: opens and folds them. */
function InputName({ lane }: { lane: Lane }): JSX.Element {
  return (
    <button
      class="lane-name"
      title="A lane for each input device (T)"
      aria-label={`${LABELS[lane]}: a lane for each input device`}
      aria-expanded={inputLanes.value === "on"}
      onClick={() => flip(inputLanes)}
    >
      {LABELS[lane]}
    </button>
  );
}

/** What the timeline shows: the zoom, else the whole session. */
export function windowOf(replay: Replay): readonly [from: number, to: number] {
  return replay.zoom.value ?? [0, Math.max(1, replay.timeline.value?.duration ?? 1)];
}

function Head({ replay }: { replay: Replay }): JSX.Element | null {
  const [from, to] = windowOf(replay);
  const at = ((replay.player.value?.t.value ?? 0) - from) / (to - from);
  if (at < 0 || at > 1) return null;
  return (
    <div class="playhead" style={{ transform: `translateX(${at * 100}cqw)` }}>
      <i />
    </div>
  );
}

function Slider({
  replay,
  hover,
}: {
  replay: Replay;
  hover: { value: number | undefined };
}): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const dragging = useRef(false);
  const [from, to] = windowOf(replay);
  const player = replay.player.value;
  const duration = replay.timeline.value?.duration ?? 0;
  const running = player?.running.value ?? false;
  // While the clock runs, what is spoken changes with each few seconds only.
  const t = running
    ? Math.floor((player?.t.value ?? 0) / SPEAK_MS) * SPEAK_MS
    : (player?.t.value ?? 0);

  const timeAt = (event: PointerEvent | WheelEvent): number => {
    const box = (element.current as HTMLElement).getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    return Math.round(from + share * (to - from));
  };
  const onPointerMove = (event: PointerEvent): void => {
    hover.value = timeAt(event);
    if (dragging.current) player?.seek(hover.value);
  };
  const onWheel = (event: WheelEvent): void => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoomBy(replay, event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
    } else if (replay.zoom.value !== undefined) {
      event.preventDefault();
      const by = Math.max(
        -from,
        Math.min(duration - to, ((event.deltaX || event.deltaY) / 1_000) * (to - from)),
      );
      replay.zoom.value = [Math.round(from + by), Math.round(to + by)];
    }
  };
  useEffect(() => {
    // Not through an attribute: a wheel that zooms must be able to keep the page still.
    const target = element.current;
    target?.addEventListener("wheel", onWheel, { passive: false });
    return () => target?.removeEventListener("wheel", onWheel);
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { PageUp: 60_000, PageDown: -60_000, ArrowUp: 5_000, ArrowDown: -5_000 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    player?.seek(player.t.value + by);
  };
  return (
    <div
      ref={element}
      class="slider"
      role="slider"
      tabIndex={0}
      aria-label="Seek"
      aria-valuemin={0}
      aria-valuemax={duration / 1000}
      aria-valuenow={t / 1000}
      aria-valuetext={valueText(replay, t, duration)}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        dragging.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        onPointerMove(event);
      }}
      onPointerMove={onPointerMove}
      onPointerUp={() => (dragging.current = false)}
      onPointerCancel={() => (dragging.current = false)}
      onPointerLeave={() => (hover.value = undefined)}
      onKeyDown={onKeyDown}
    />
  );
}

function valueText(replay: Replay, t: number, duration: number): string {
  const utc = replay.clock.value?.utcAt(t);
  const gap = replay.timeline.value?.gapAt(t);
  return [
    `${spoken(t)} of ${spoken(duration)}`,
    utc === undefined ? "" : `${utcSeconds(utc)} UTC`,
    gap === undefined ? "" : `inside a gap: ${reasonWords(gap.reason)}`,
  ]
    .filter(Boolean)
    .join(", ");
}
