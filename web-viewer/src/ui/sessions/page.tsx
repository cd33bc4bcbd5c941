/** Which sessions are there? A search, facets on the left, one row a session. All state is in the address. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { SessionList } from "../../api/types.ts";
import * as api from "../../api/client.ts";
import { visible } from "../../core/text.ts";
import { ErrorPage } from "../errors.tsx";
import { useLoaded } from "../load.ts";
import { navigate, route } from "../router.ts";
import { Facets } from "./facets.tsx";
import { SessionRow } from "./row.tsx";

const LIMIT = 50;
const SKELETONS = 8;
/** Typing is searched for once it pauses. */
const SETTLE_MS = 250;

export function SessionsPage(): JSX.Element {
  const { query } = route.value;
  document.title = "Sessions · Playhead";
  const [pages, setPages] = useState(1);
  const asked = askedOf(query);
  const loaded = useLoaded(`${asked} ${pages}`, (signal) => load(asked, pages, signal));
  useEffect(() => setPages(1), [asked.toString()]);

  if (loaded.state === "error") return <ErrorPage error={loaded.error} what="list" />;
  const list = loaded.value;
  return (
    <div class="sessions">
      <Facets query={query} facets={list?.facets ?? {}} />
      <main class="results" id="main" tabIndex={-1} aria-busy={loaded.state === "loading"}>
        <header>
          <h1>Sessions</h1>
          <Search query={query} />
          <SortBy query={query} />
        </header>
        <Chips query={query} />
        {list === undefined ? <Skeletons /> : <Rows list={list} filtered={asked.size > 1} />}
        {list?.next !== undefined && list.next !== null && (
          <button class="more" onClick={() => setPages(pages + 1)}>
            Show more
          </button>
        )}
      </main>
    </div>
  );
}

/** The address's query as the API's: `f.actor` of the page is `actor` there. */
function askedOf(query: URLSearchParams): URLSearchParams {
  const asked = new URLSearchParams({ limit: String(LIMIT) });
  for (const [name, value] of query) {
    if (value !== "" && name !== "view") asked.set(name.replace(/^f\./, ""), value);
  }
  return asked;
}

async function load(
  asked: URLSearchParams,
  pages: number,
  signal: AbortSignal,
): Promise<SessionList> {
  let list = await api.sessions(asked, signal);
  for (let page = 1; page < pages && list.next !== null; page += 1) {
    const more = await api.sessions(new URLSearchParams([...asked, ["cursor", list.next]]), signal);
    list = { ...list, sessions: [...list.sessions, ...more.sessions], next: more.next };
  }
  return list;
}

function Search({ query }: { query: URLSearchParams }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  /** What is typed and not yet searched for: an answer to the last search must leave it alone. */
  const [typed, setTyped] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (location.hash === "#search") input.current?.focus();
  }, [route.value]);
  const search = (): void => {
    clearTimeout(timer.current);
    setTyped(undefined);
    navigate(withQuery(route.peek().query, "q", input.current?.value ?? ""), "replace");
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        search();
      }}
    >
      <input
        ref={input}
        type="search"
        aria-label="Search sessions"
        placeholder="Search sessions"
        value={typed ?? query.get("q") ?? ""}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          clearTimeout(timer.current);
          timer.current = setTimeout(search, SETTLE_MS);
        }}
      />
    </form>
  );
}

const SORTS = [
  ["", "Newest first"],
  ["oldest", "Oldest first"],
  ["longest", "Longest first"],
  ["largest", "Largest first"],
] as const;

function SortBy({ query }: { query: URLSearchParams }): JSX.Element {
  return (
    <select
      aria-label="Sort"
      value={query.get("sort") ?? ""}
      onChange={(event) => navigate(withQuery(query, "sort", event.currentTarget.value), "replace")}
    >
      {SORTS.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
}

function Chips({ query }: { query: URLSearchParams }): JSX.Element | null {
  const active = [...query].filter(
    ([name, value]) => value !== "" && name !== "q" && name !== "sort",
  );
  if (active.length === 0) return null;
  return (
    <p class="chips">
      {active.map(([name, value]) => (
        <a class="chip-link" key={name} href={withQuery(query, name, "")}>
          {visible(`${name.replace(/^f\./, "")}: ${value}`)} <span aria-hidden="true">✕</span>
          <span class="unseen">, remove</span>
        </a>
      ))}
    </p>
  );
}

function Rows({ list, filtered }: { list: SessionList; filtered: boolean }): JSX.Element {
  if (list.sessions.length === 0) {
    return filtered ? (
      <div class="empty">
        <p>No session matches</p>
        <a class="button" href="/sessions">
          Drop all filters
        </a>
      </div>
    ) : (
      <div class="empty">
        <p>Nothing has been recorded yet. Record your own desktop:</p>
        <pre>playhead-agent record vnc://localhost:5900</pre>
      </div>
    );
  }
  return (
    <>
      <p class="meta" role="status">
        {list.sessions.length}
        {list.next === null ? "" : "+"} session{list.sessions.length === 1 ? "" : "s"}
      </p>
      <ul class="rows">
        {list.sessions.map((session) => (
          <SessionRow key={session.id} session={session} />
        ))}
      </ul>
    </>
  );
}

function Skeletons(): JSX.Element {
  return (
    <ul class="rows" aria-label="Loading">
      {Array.from({ length: SKELETONS }, (_, i) => (
        <li class="session skeleton" key={i} />
      ))}
    </ul>
  );
}

/** `/sessions` with one part of its query changed; empty takes it out. */
export function withQuery(query: URLSearchParams, name: string, value: string): string {
  const next = new URLSearchParams(query);
  if (value === "") next.delete(name);
  else next.set(name, value);
  return next.size === 0 ? "/sessions" : `/sessions?${next}`;
}
