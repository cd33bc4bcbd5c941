/** What is seen? The verified picture, or a card that says why there is none. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { span } from "../../core/time.ts";
import type { Init } from "../../core/timeline.ts";
import { Layers } from "../../media/layers.ts";
import type { Route } from "../router.ts";
import { reasonWords } from "../sessions/words.ts";
import type { Replay } from "./model.ts";
import { Masks } from "./masks.tsx";
import { Overlay } from "./overlay.tsx";
import { showClicks, showKeys } from "../settings.ts";
import { SkipCard } from "./skipcard.tsx";

export function Stage({ replay, arrival }: { replay: Replay; arrival: Route }): JSX.Element {
  const video = useRef<HTMLVideoElement>(null);
  const hold = useRef<HTMLCanvasElement>(null);
  const still = useRef<HTMLImageElement>(null);
  useEffect(() => {
    if (video.current === null || hold.current === null || still.current === null) return;
    const layers = new Layers(video.current, hold.current, still.current);
    void replay.open(layers, arrival.query, arrival.path[2] === "live");
  }, [replay]);

  const player = replay.player.value;
  const state = player?.state.value ?? "loading";
  const { w, h, video: place } = placed(player?.picture.value, replay.session.value?.size);
  const outlined = replay.outlines.value && (state === "paused-ready" || state === "playing");
  const drawn = showKeys.value === "on" || showClicks.value === "on";
  const busy = state === "loading" || state === "seeking" || state === "waiting";
  return (
    <div
      class="stage"
      id="stage"
      data-state={player?.state ?? "loading"}
      data-t={player?.t}
      data-frame-t={player?.frameT.value ?? ""}
      onDblClick={() => void document.querySelector(".replay")?.requestFullscreen()}
    >
      <div class="picture" style={{ "--ratio": `${w / h}` }} onClick={() => player?.toggle()}>
        <video
          ref={video}
          muted
          playsInline
          tabIndex={-1}
          aria-label="Recorded screen"
          style={place}
        />
        <canvas ref={hold} aria-hidden="true" />
        <img ref={still} alt="" />
        {outlined && <Masks replay={replay} w={w} h={h} />}
        {drawn && <Overlay replay={replay} size={[w, h]} />}
        {player !== undefined && state !== "loading" && <Chip replay={replay} />}
        {busy && <div class="busy" />}
      </div>
      {state === "gap" && <GapCard replay={replay} />}
      {state === "error" && <ErrorCard replay={replay} />}
      {player?.skipped.value !== undefined && (
        <SkipCard player={player} idle={player.skipped.value} />
      )}
    </div>
  );
}

/** The recorded picture's true size, and how the coded one lies over it. */
function placed(init: Init | undefined, size: readonly [w: number, h: number] = [16, 10]) {
  if (init === undefined) return { w: size[0], h: size[1], video: {} };
  const [x, y, w, h] = init.crop ?? [0, 0, init.width, init.height];
  const percent = (part: number, whole: number): string => `${(100 * part) / whole}%`;
  const width = percent(init.width, w);
  const height = percent(init.height, h);
  return { w, h, video: { width, height, left: percent(-x, w), top: percent(-y, h) } };
}

function Chip({ replay }: { replay: Replay }): JSX.Element {
  const t = replay.player.value?.t.value ?? 0;
  return (
    <div class="chip mono">
      {replay.timeText(t)} {replay.timeUnit()}
    </div>
  );
}

function GapCard({ replay }: { replay: Replay }): JSX.Element {
  const player = replay.player.value;
  const gap = player?.gap.value;
  if (player === undefined || gap === undefined) return <div class="card" />;
  if (gap.reason === "not-yet") {
    return (
      <div class="card" data-gap={gap.reason}>
        <strong>Waiting for video</strong>
        <span>
          This session is live. Its picture comes a segment at a time, at most a minute late.
        </span>
      </div>
    );
  }
  const duration = replay.timeline.value?.duration ?? 0;
  return (
    <div class="card" data-gap={gap.reason}>
      <strong>No picture: {reasonWords(gap.reason)}</strong>
      <span class="mono">
        {replay.timeText(gap.from)}–{replay.timeText(gap.to)} {replay.timeUnit()}
      </span>
      <span>{span(gap.to - gap.from)} without video. Log and spans may go on inside it.</span>
      {gap.to < duration && (
        <button class="primary" onClick={() => player.seek(gap.to)}>
          Continue after gap
        </button>
      )}
    </div>
  );
}

function ErrorCard({ replay }: { replay: Replay }): JSX.Element {
  const player = replay.player.value;
  return (
    <div class="card" role="alert">
      <strong>The recording cannot be loaded here</strong>
      <span>{player?.error.value?.message}</span>
      <button class="primary" onClick={() => player?.retry()}>
        Retry
      </button>
    </div>
  );
}
