/** The replay page: one session, its stage, timeline and log in step (viewer.md 4). */

import { untracked, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import { ErrorPage } from "../errors.tsx";
import { landing, route } from "../router.ts";
import { landmarks, MAIN, REPLAY } from "../skip.tsx";
import { keepAddress } from "./address.ts";
import { Controls } from "./controls.tsx";
import { Dialogs } from "./dialogs.tsx";
import { Head } from "./head.tsx";
import { listenForKeys } from "./keyboard.ts";
import { Replay } from "./model.ts";
import { Side } from "./side.tsx";
import { Stage } from "./stage.tsx";
import { TimelineBar } from "./timeline.tsx";

export function ReplayPage({ id }: { id: string }): JSX.Element {
  const replay = useMemo(() => new Replay(id), [id]);
  const arrival = useMemo(() => route.peek(), [id]);

  useEffect(() => {
    // Whoever comes from the list goes on by keys from the button they will want.
    if (arrival !== landing) document.querySelector<HTMLElement>(".controls .primary")?.focus();
  }, [replay]);

  useEffect(() => {
    const ends = [keepAddress(replay), listenForKeys(replay)];
    return () => {
      for (const end of ends) end();
      replay.close();
    };
  }, [replay]);

  useSignalEffect(() => {
    landmarks.value = replay.error.value === undefined ? REPLAY : MAIN;
  });
  useEffect(() => () => void (landmarks.value = MAIN), []);

  useSignalEffect(() => {
    const now = route.value;
    if (now === arrival || now.path[0] !== "s" || now.path[1] !== id) return;
    untracked(() => void replay.revisit(now.query)); // once for each address, whatever it reads
  });

  if (replay.error.value !== undefined)
    return <ErrorPage error={replay.error.value} what="session" />;
  return (
    <div class="replay">
      <Head replay={replay} />
      <main class="player" id="player" aria-label="Player" tabIndex={-1}>
        <Stage replay={replay} arrival={arrival} />
        <Controls replay={replay} />
      </main>
      <Side replay={replay} />
      <TimelineBar replay={replay} />
      <Dialogs replay={replay} />
    </div>
  );
}
