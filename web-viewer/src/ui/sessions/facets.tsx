/** What can the list be narrowed to? The server's facets, as links: each is an address of its own. */

import type { JSX } from "preact";

import { oneLine } from "../../core/text.ts";
import { withQuery } from "./page.tsx";

/** The facets that the server also filters by, in the order they are shown. */
const NAMES: Readonly<Record<string, string>> = {
  outcome: "Outcome",
  actor: "Actor",
  protocol: "Protocol",
  os: "System",
};
/** Values shown of one facet. */
const SHOWN = 8;

export function Facets(props: {
  query: URLSearchParams;
  facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
}): JSX.Element {
  const groups = Object.keys(NAMES)
    .map((name) => [name, props.facets[name] ?? {}] as const)
    .filter(([, values]) => Object.keys(values).length > 0);
  return (
    <aside class="facets" aria-label="Filters">
      {groups.map(([name, values]) => (
        <section key={name}>
          <h2>{NAMES[name]}</h2>
          <ul>
            {Object.entries(values)
              .sort(([, a], [, b]) => b - a)
              .slice(0, SHOWN)
              .map(([value, count]) => {
                const on = props.query.get(`f.${name}`) === value;
                return (
                  <li key={value}>
                    <a
                      href={withQuery(props.query, `f.${name}`, on ? "" : value)}
                      aria-current={on ? "true" : undefined}
                    >
                      <span class="text">{oneLine(value)}</span>
                      <span class="count">{count}</span>
                    </a>
                  </li>
                );
              })}
          </ul>
        </section>
      ))}
    </aside>
  );
}
