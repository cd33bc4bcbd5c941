/** Which page is asked for? The address bar as a signal; the History API underneath. */

import { signal } from "@preact/signals";

export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** The page asked for: changes on `navigate` and on Back and Forward, not on `rewrite`. */
export const route = signal<Route>(read());

/** The page that the browser came to; one that replaces itself is still the same. */
export let landing = route.peek();

/** Goes to a page of this site. */
export function navigate(url: string, how: "push" | "replace" = "push"): void {
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  const next = read();
  if (how === "replace" && route.peek() === landing) landing = next;
  route.value = next;
}

/** Changes what the address bar says of the page that is already open. */
export function rewrite(url: string, how: "push" | "replace"): void {
  if (url === location.pathname + location.search) return;
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}

/** Follows plain clicks on links within the site, and Back and Forward. */
export function listen(): void {
  addEventListener("popstate", () => (route.value = read()));
  document.addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest("a[href^='/']") : null;
    if (link === null || link.hasAttribute("download") || link.hasAttribute("target")) return;
    event.preventDefault();
    navigate(link.getAttribute("href") ?? "/");
  });
}

function read(): Route {
  const path = location.pathname
    .split("/")
    .filter(Boolean)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
  return { path, query: new URLSearchParams(location.search) };
}
