/** The side panel: tabs, the filter, the list and the selected row's detail. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";

import type { Outcome } from "../../core/rows.ts";
import { OUTCOMES } from "../../core/rows.ts";
import { Badge, OUTCOME_WORDS } from "../outcome.tsx";
import { Detail } from "./detail.tsx";
import { RowList } from "./list.tsx";
import type { Replay } from "./model.ts";
import type { Tab } from "./panel.ts";
import { TABS } from "./panel.ts";

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
        {replay.panel.tab.value === "log" && <OutcomeMenu replay={replay} />}
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

function OutcomeMenu({ replay }: { replay: Replay }): JSX.Element {
  const chosen = replay.panel.outcomes.value;
  const toggle = (outcome: Outcome): void => {
    const next = new Set(chosen);
    if (!next.delete(outcome)) next.add(outcome);
    replay.panel.outcomes.value = next;
  };
  return (
    <details
      class="menu"
      onKeyDown={(event) => event.key === "Escape" && (event.currentTarget.open = false)}
    >
      <summary class="button">
        Outcome{chosen.size > 0 && <span class="count"> {chosen.size}</span>}
      </summary>
      <fieldset>
        <legend class="unseen">Show outcomes</legend>
        {OUTCOMES.map((outcome) => (
          <label class="check" key={outcome}>
            <input
              type="checkbox"
              checked={chosen.has(outcome)}
              aria-label={OUTCOME_WORDS[outcome][1]}
              onChange={() => toggle(outcome)}
            />
            <Badge outcome={outcome} />
            <span class="count">{replay.panel.counts.value[outcome]}</span>
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
