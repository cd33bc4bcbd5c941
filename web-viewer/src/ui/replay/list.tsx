/** The rows of a tab: thousands, of which only those in view are drawn. In step with the picture. */

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Row } from "../../core/rows.ts";
import { oneLine } from "../../core/text.ts";
import { span } from "../../core/time.ts";
import { Badge } from "../outcome.tsx";
import { activate } from "./actions.ts";
import { KindBadge } from "./kind.tsx";
import type { Replay } from "./model.ts";
import type { ActKind } from "./panel.ts";

export const ROW_PX = 40;
/** Rows drawn beyond the edges, so that a fast wheel shows no blank. */
const OVERSCAN = 6;
/** Browsers limit an element's height; longer lists are scaled onto this. */
const MAX_PX = 8_000_000;

export function RowList({ replay }: { replay: Replay }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const rows = replay.panel.shown.value;
  const current = replay.panel.current.value;
  const following = replay.panel.following.value;
  const selected = replay.panel.selected.value;
  // By id: what the Input tab shows is folded anew with each load.
  const chosen = (): number => rows.findIndex(({ id }) => id === selected?.id);
  const full = rows.length * ROW_PX;
  const scale = full > MAX_PX ? (full - height) / (MAX_PX - height) : 1;
  const offset = top * scale;

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  /** Brings row `i` into the middle third, if it is outside of it. */
  const reveal = (i: number): void => {
    const element = box.current;
    if (element === null || i < 0) return;
    const at = i * ROW_PX - element.scrollTop * scale;
    const third = element.clientHeight / 3;
    if (at < third || at > 2 * third - ROW_PX)
      element.scrollTop = (i * ROW_PX - element.clientHeight / 2 + ROW_PX / 2) / scale;
  };

  // Once the rows are laid out: before that the list may be too short to scroll so far.
  useLayoutEffect(() => {
    if (following) reveal(current);
  }, [current, following, rows]);
  useLayoutEffect(() => {
    const at = chosen();
    if (at < 0 || box.current === null) return;
    const y = at * ROW_PX - box.current.scrollTop * scale;
    if (y < 0 || y > box.current.clientHeight - ROW_PX) reveal(at);
  }, [selected]);

  const move = (event: KeyboardEvent): void => {
    const at = selected === undefined ? current : chosen();
    const page = Math.floor(height / ROW_PX) - 1;
    const to = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      PageUp: at - page,
      PageDown: at + page,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    const row = rows[Math.max(0, Math.min(rows.length - 1, to ?? at))];
    if (row === undefined || (to === undefined && event.key !== "Enter")) return;
    event.preventDefault();
    if (event.key === "Enter") return activate(replay, row);
    replay.panel.following.value = false;
    replay.panel.select(row);
  };

  const first = Math.max(0, Math.floor(offset / ROW_PX) - OVERSCAN);
  const last = Math.min(rows.length, Math.ceil((offset + height) / ROW_PX) + OVERSCAN);
  const stopFollowing = (): void => void (replay.panel.following.value = false);
  return (
    <>
      <div
        class="list"
        ref={box}
        role="listbox"
        tabIndex={0}
        aria-label="Rows"
        aria-activedescendant={selected && `row-${selected.id}`}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onWheel={stopFollowing}
        onTouchMove={stopFollowing}
        onKeyDown={move}
      >
        <div class="sizer" role="presentation" style={{ height: `${Math.min(full, MAX_PX)}px` }}>
          {rows.slice(first, last).map((row, n) => (
            <RowItem
              key={row.id}
              replay={replay}
              row={row}
              i={first + n}
              count={rows.length}
              top={(first + n) * ROW_PX - offset + top}
            />
          ))}
        </div>
      </div>
      {!following && (
        <button
          class="follow"
          title="The list follows the picture (Y)"
          onClick={() => (replay.panel.following.value = true)}
        >
          Follow
        </button>
      )}
    </>
  );
}

function RowItem(props: {
  replay: Replay;
  row: Row;
  i: number;
  count: number;
  top: number;
}): JSX.Element {
  const { replay, row, i } = props;
  const selected = replay.panel.selected.value?.id === row.id;
  const current = replay.panel.current.value === i;
  return (
    <div
      class={current ? "row current" : "row"}
      role="option"
      id={`row-${row.id}`}
      data-event={row.id}
      aria-selected={selected}
      aria-setsize={props.count}
      aria-posinset={i + 1}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={(event) =>
        activate(replay, row, event.shiftKey ? "select" : event.altKey ? "play-before" : "seek")
      }
    >
      <span class="mono">{replay.timeText(row.t)}</span>
      <span>
        {row.kind === "span" ? (
          <Length row={row} />
        ) : replay.panel.tab.value === "input" ? (
          <KindBadge kind={row.kind as ActKind} />
        ) : (
          <Badge outcome={row.outcome} />
        )}
      </span>
      <span class="text">{oneLine(row.text)}</span>
    </div>
  );
}

/** How long a span took, if the server says. */
function Length({ row }: { row: Row }): JSX.Element {
  const ms = lengthOf(row);
  return <span class="kind mono">{ms === undefined ? "span" : span(ms)}</span>;
}

export function lengthOf(row: Row): number | undefined {
  const value = row.data["duration_ms"] ?? row.data["dur"];
  return typeof value === "number" && value >= 0 ? value : undefined;
}
