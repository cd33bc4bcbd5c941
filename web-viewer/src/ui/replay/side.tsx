/** The side panel: tabs, the filter, the list and the selected row's detail. */

import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";

import { OUTCOMES } from "../../core/rows.ts";
import { Badge, OUTCOME_WORDS } from "../outcome.tsx";
import { Detail } from "./detail.tsx";
import { KIND_WORDS, KindBadge } from "./kind.tsx";
import { RowList } from "./list.tsx";
import type { Replay } from "./model.ts";
import type { Tab } from "./panel.ts";
import { ACT_KINDS, TABS } from "./panel.ts";

const NAMES: Readonly<Record<Tab, string>> = {
  log: "Log",
  input: "Input",
  spans: "Spans",
  text: "Text",
  notes: "Notes",
};
const EMPTY: Readonly<Record<Tab, string>> = {
  log: "No log rows in this session",
  input: "No input was recorded in this session",
  spans: "No spans are linked to this session",
  text: "No screen text was read in this session",
  notes: "No notes on this session",
};

export function Side({ replay }: { replay: Replay }): JSX.Element {
  const filter = useRef<HTMLInputElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    // Find-in-page cannot see rows that are not drawn: the first Ctrl+F goes to the filter.
    if (
      event.key !== "f" ||
      !(event.ctrlKey || event.metaKey) ||
      document.activeElement === filter.current
    )
      return;
    event.preventDefault();
    filter.current?.focus();
    filter.current?.select();
  };
  return (
    <aside class="side" id="log" aria-label="Session data" tabIndex={-1} onKeyDown={onKeyDown}>
      <Tabs replay={replay} />
      <div class="filter">
        <input
          ref={filter}
          type="search"
          aria-label={`Filter ${NAMES[replay.panel.tab.value]}`}
          placeholder={`Filter ${NAMES[replay.panel.tab.value].toLowerCase()}`}
          value={replay.panel.query.value}
          onInput={(event) => (replay.panel.query.value = event.currentTarget.value)}
        />
        {replay.panel.tab.value === "log" && (
          <Menu
            name="Outcome"
            choices={OUTCOMES}
            chosen={replay.panel.outcomes}
            counts={replay.panel.counts.value}
            words={(outcome) => OUTCOME_WORDS[outcome][1]}
            badge={(outcome) => <Badge outcome={outcome} />}
          />
        )}
        {replay.panel.tab.value === "input" && (
          <Menu
            name="Kind"
            choices={ACT_KINDS}
            chosen={replay.panel.kinds}
            counts={replay.panel.kindCounts.value}
            words={(kind) => KIND_WORDS[kind]}
            badge={(kind) => <KindBadge kind={kind} />}
          />
        )}
      </div>
      <div class="panel" role="tabpanel" id="panel" aria-label={NAMES[replay.panel.tab.value]}>
        {replay.panel.shown.value.length > 0 ? (
          <RowList replay={replay} />
        ) : (
          <Empty replay={replay} />
        )}
      </div>
      {replay.panel.details.value && replay.panel.selected.value !== undefined && (
        <Detail replay={replay} row={replay.panel.selected.value} />
      )}
    </aside>
  );
}

function Tabs({ replay }: { replay: Replay }): JSX.Element {
  const move = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const next = TABS[
      (TABS.indexOf(replay.panel.tab.value) + by + TABS.length) % TABS.length
    ] as Tab;
    replay.panel.tab.value = next;
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-tab=${next}]`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Session data" onKeyDown={move}>
      {TABS.map((tab) => (
        <button
          key={tab}
          role="tab"
          data-tab={tab}
          aria-selected={replay.panel.tab.value === tab}
          aria-controls="panel"
          tabIndex={replay.panel.tab.value === tab ? 0 : -1}
          onClick={() => (replay.panel.tab.value = tab)}
        >
          {NAMES[tab]}
          {replay.panel.of(tab).length > 0 && (
            <span class="count"> {grouped(replay.panel.of(tab).length)}</span>
          )}
        </button>
      ))}
    </div>
  );
}

/** `48 210`: thin spaces read alike in every language. */
function grouped(n: number): string {
  return n.toLocaleString("en").replaceAll(",", "\u202f");
}

/** Which of `choices` the list is narrowed to; none is all of them. */
function Menu<T extends string>(props: {
  name: string;
  choices: readonly T[];
  chosen: Signal<ReadonlySet<T>>;
  counts: Readonly<Partial<Record<T, number>>>;
  words: (choice: T) => string;
  badge: (choice: T) => JSX.Element;
}): JSX.Element {
  const { name, choices, chosen, counts, words, badge } = props;
  const toggle = (choice: T): void => {
    const next = new Set(chosen.value);
    if (!next.delete(choice)) next.add(choice);
    chosen.value = next;
  };
  return (
    <details
      class="menu"
      onKeyDown={(event) => event.key === "Escape" && (event.currentTarget.open = false)}
    >
      <summary class="button">
        {name}
        {chosen.value.size > 0 && <span class="count"> {chosen.value.size}</span>}
      </summary>
      <fieldset>
        <legend class="unseen">Show only</legend>
        {choices.map((choice) => (
          <label class="check" key={choice}>
            <input
              type="checkbox"
              checked={chosen.value.has(choice)}
              aria-label={words(choice)}
              onChange={() => toggle(choice)}
            />
            {badge(choice)}
            <span class="count">{grouped(counts[choice] ?? 0)}</span>
          </label>
        ))}
      </fieldset>
    </details>
  );
}

function Empty({ replay }: { replay: Replay }): JSX.Element {
  const filtered = replay.panel.ofTab.value.length > 0;
  const clear = (): void => {
    replay.panel.query.value = "";
    replay.panel.outcomes.value = new Set();
    replay.panel.kinds.value = new Set();
  };
  if (filtered) {
    return (
      <div class="empty">
        <p>No row matches the filter</p>
        <button onClick={clear}>Clear filter</button>
      </div>
    );
  }
  const words = {
    loading: "Loading…",
    error: "The rows could not be loaded",
    ready: EMPTY[replay.panel.tab.value],
  };
  return (
    <div class="empty">
      <p>{words[replay.panel.state.value]}</p>
    </div>
  );
}
