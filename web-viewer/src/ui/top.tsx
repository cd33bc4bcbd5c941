/** The bar above each page: where one is, search, and the theme. */

import type { JSX } from "preact";

import { Icon } from "./icons.tsx";

export function TopBar({ page }: { page: string }): JSX.Element {
  return (
    <nav class="top" aria-label="Main">
      <a class="name" href="/sessions">
        <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
          <path fill="none" stroke="currentColor" stroke-width="1.6" d="M1.5 9h15" opacity=".45" />
          <path fill="currentColor" d="M8 3h2v12H8zM5.5 1.500h7L9 5.500z" />
        </svg>
        Playhead
      </a>
      <a href="/sessions" aria-current={page === "sessions" || page === "s" ? "page" : undefined}>
        Sessions
      </a>
      <span class="spacer" />
      <a class="button search" href="/sessions#search" aria-label="Search sessions">
        <Icon name="search" /> <span class="words">Search sessions</span> <kbd>/</kbd>
      </a>
      <button
        class="icon-only"
        aria-label="Switch theme"
        title="Switch theme"
        onClick={switchTheme}
      >
        <Icon name="theme" />
      </button>
    </nav>
  );
}

function switchTheme(): void {
  const { dataset } = document.documentElement;
  dataset["theme"] = dataset["theme"] === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("playhead.theme", dataset["theme"]);
  } catch {
    // A browser that forbids storage forgets the choice with the page.
  }
}
