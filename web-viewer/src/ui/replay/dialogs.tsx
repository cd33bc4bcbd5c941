/** The two dialogs of the replay page: the list of keys, and "go to a time". */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { KeySetting } from "../../core/keys.ts";
import { BINDINGS } from "../../core/keys.ts";
import { parseMoment } from "../../core/moment.ts";
import { Icon } from "../icons.tsx";
import { tell } from "../live.tsx";
import { keySetting } from "../settings.ts";
import type { Replay } from "./model.ts";

export const dialog = signal<"help" | "go-to" | undefined>(undefined);

export function Dialogs({ replay }: { replay: Replay }): JSX.Element | null {
  if (dialog.value === "help")
    return (
      <Dialog title="Keyboard">
        <Help />
      </Dialog>
    );
  if (dialog.value === "go-to")
    return (
      <Dialog title="Go to a time">
        <GoTo replay={replay} />
      </Dialog>
    );
  return null;
}

function Dialog({ title, children }: { title: string; children: JSX.Element }): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} aria-label={title} onClose={() => (dialog.value = undefined)}>
      <header>
        <h2>{title}</h2>
        <button class="icon-only quiet" aria-label="Close" onClick={() => element.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

const SETTINGS: readonly (readonly [KeySetting, string])[] = [
  ["on", "Always"],
  ["alt", "Only with Alt"],
  ["off", "Never"],
];

function Help(): JSX.Element {
  return (
    <>
      <fieldset class="choice">
        <legend>Single letters act</legend>
        {SETTINGS.map(([value, words]) => (
          <label key={value}>
            <input
              type="radio"
              name="keys"
              checked={keySetting.value === value}
              onChange={() => (keySetting.value = value)}
            />{" "}
            {words}
          </label>
        ))}
      </fieldset>
      <dl class="keys" tabIndex={0} aria-label="Keys and what they do">
        {BINDINGS.map((binding) => (
          <div key={binding.label}>
            <dt>
              {binding.label.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{binding.text}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function GoTo({ replay }: { replay: Replay }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    const text = input.current?.value ?? "";
    const moment = parseMoment(text);
    const t = moment?.clock === "utc" ? replay.clock.value?.momentsAt(moment.utc)[0] : moment?.t;
    dialog.value = undefined;
    if (t === undefined) tell(`“${text}” is no time of this session`);
    else replay.player.value?.seek(t);
  };
  return (
    <form onSubmit={submit}>
      <label class="field">
        <span>Seconds, clock or UTC</span>
        <input
          ref={input}
          class="mono"
          placeholder="951.25 · 15:51.250 · 2026-11-30T09:14:03.250Z"
          autocomplete="off"
          autofocus
        />
      </label>
      <footer>
        <button class="primary" type="submit">
          Go
        </button>
      </footer>
    </form>
  );
}
