/** When is the timeline's canvas drawn? On new data, zoom, size or theme; never for the running clock. */

import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { clockSeconds, span, utcMinutes, utcSeconds } from "../../core/time.ts";
import { reasonWords } from "../sessions/words.ts";
import { timeStyle } from "../settings.ts";
import type { Lane, Scene } from "./draw.ts";
import { draw, heightOf } from "./draw.ts";
import { lengthOf } from "./list.tsx";
import type { Replay } from "./model.ts";
import { windowOf } from "./timeline.tsx";

export function Lanes({ replay, lanes }: { replay: Replay; lanes: readonly Lane[] }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scene = sceneOf(replay, lanes);
  const summary = useComputed(() => summaryOf(replay));

  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const paint = (): void => {
      const width = element.clientWidth;
      const height = heightOf(scene.lanes);
      const ratio = devicePixelRatio;
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
      const g = element.getContext("2d");
      if (g === null || width === 0) return;
      g.scale(ratio, ratio);
      const style = getComputedStyle(document.documentElement);
      draw(g, scene, width, (token) => style.getPropertyValue(`--${token}`).trim());
    };
    const sizes = new ResizeObserver(paint);
    sizes.observe(element);
    const themes = new MutationObserver(paint);
    themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      sizes.disconnect();
      themes.disconnect();
    };
  });
  return <canvas ref={canvas} role="img" aria-label={summary.value} />;
}

function sceneOf(replay: Replay, lanes: readonly Lane[]): Scene {
  const [from, to] = windowOf(replay);
  const timeline = replay.timeline.value;
  const origin = timeStyle.value === "elapsed" ? 0 : (replay.clock.value?.utcAt(0) ?? 0);
  const zone = timeStyle.value === "local" ? new Date(origin).getTimezoneOffset() * 60_000 : 0;
  return {
    from,
    to,
    lanes,
    density: replay.density.value,
    log: replay.panel.log.value,
    input: replay.panel.input.value,
    secrets: replay.secrets.value,
    spans: replay.panel.spans.value.map((row) => ({
      t: row.t,
      end: row.t + (lengthOf(row) ?? 0),
      failed: row.data["status"] === "error",
    })),
    waits: replay.panel.waits.value.map(({ asked, decided }) => ({ from: asked.t, to: decided.t })),
    masks: replay.masks.value,
    gaps: (timeline?.gaps ?? []).map((gap) => ({ ...gap, words: reasonWords(gap.reason) })),
    idle: replay.idle.value,
    resizes: replay.resizes.value,
    origin,
    label: (t, spanMs) => {
      if (timeStyle.value === "elapsed") return clockSeconds(t);
      // A slewed clock is some ms beside the round second that the tick stands for.
      const utc = Math.round(((replay.clock.value?.utcAt(t) ?? t) - zone) / 1000) * 1000;
      return spanMs < 600_000 ? utcSeconds(utc) : utcMinutes(utc);
    },
  };
}

function summaryOf(replay: Replay): string {
  const counts = replay.panel.counts.value;
  const gaps = replay.timeline.value?.gaps.length ?? 0;
  const length = span(replay.timeline.value?.duration ?? 0);
  return (
    `Activity and event lanes over ${length}: ${replay.panel.log.value.length} log rows, ${replay.panel.acts.value.length} acts of input, ` +
    `${counts.blocked ?? 0} blocked, ${counts.asked ?? 0} asked, ${gaps} gaps. The slider and the list hold the same.`
  );
}
