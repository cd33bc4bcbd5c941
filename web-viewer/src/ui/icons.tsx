/** The icons, drawn here so that no font or file is needed. Each is 16×16 and hidden from screen readers. */

import type { JSX } from "preact";

const SHAPES = {
  play: <path fill="currentColor" d="M4 2l10 6-10 6z" />,
  pause: <path fill="currentColor" d="M4 2.5h3v11H4zM9 2.5h3v11H9z" />,
  previous: <path fill="currentColor" d="M3 3h2v10H3zM13 3v10L6 8z" />,
  next: <path fill="currentColor" d="M11 3h2v10h-2zM3 3v10l7-5z" />,
  back: <path d="M9.5 3L4.5 8l5 5" />,
  camera: (
    <>
      <path d="M2 5h3l1-2h4l1 2h3v8H2z" />
      <circle cx="8" cy="9" r="2.4" />
    </>
  ),
  full: <path d="M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" />,
  theme: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path fill="currentColor" stroke="none" d="M8 2.5a5.5 5.5 0 010 11z" />
    </>
  ),
  help: <path d="M5.8 6a2.3 2.3 0 114 1.6C9 8.3 8 8.6 8 10M8 12.4v.2" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <path d="M10.2 10.2L14 14" />
    </>
  ),
  link: (
    <path d="M6.5 9.5l3-3M7 4.5l1.3-1.3a3 3 0 014.3 4.3L11.3 8.800M9 11.500l-1.3 1.300a3 3 0 01-4.3-4.300L4.7 7.2" />
  ),
  hold: <path d="M8 2v12M4.5 14h7M3 4.500h10M3 4.500L1.5 9h3zM13 4.500L11.5 9h3z" />,
  lock: (
    <>
      <rect x="3.5" y="7" width="9" height="6.5" rx="1" />
      <path d="M5.5 7V5a2.5 2.5 0 015 0v2" />
    </>
  ),
  close: <path d="M4 4l8 8M12 4l-8 8" />,
  film: (
    <>
      <path d="M2 3.500h12v9H2z" />
      <path fill="currentColor" stroke="none" d="M6.5 6l4 2-4 2z" />
    </>
  ),
  agent: (
    <>
      <rect x="3" y="5.5" width="10" height="7" rx="1.5" />
      <path d="M8 5.500V3M6 8.700v.6M10 8.700v.6" />
    </>
  ),
  person: (
    <>
      <circle cx="8" cy="5.5" r="2.5" />
      <path d="M3.5 13.500c.5-3 2.3-4 4.5-4s4 1 4.5 4" />
    </>
  ),
  service: (
    <>
      <circle cx="8" cy="8" r="2" />
      <path d="M8 2.500v2M8 11.500v2M2.5 8h2M11.5 8h2M4.1 4.100l1.4 1.400M10.5 10.500l1.4 1.400M11.9 4.100l-1.4 1.400M5.5 10.500l-1.4 1.4" />
    </>
  ),
} satisfies Record<string, JSX.Element>;

export type IconName = keyof typeof SHAPES;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg
      class="icon"
      width="16"
      height="16"
      viewBox="0 0 16 16"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
    >
      {SHAPES[name]}
    </svg>
  );
}
