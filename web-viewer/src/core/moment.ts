/** Which moment does a `t=` mean? Seconds, clock, units or absolute UTC (viewer.md 3.1). */

/** A moment on one of the two clocks, in ms. */
export type Moment =
  { readonly clock: "media"; readonly t: number } | { readonly clock: "utc"; readonly utc: number };

const SECONDS = /^(\d{1,9})(?:\.(\d+))?$/;
const CLOCK = /^(?:(\d{1,6}):)?(\d{1,6}):([0-5]?\d)(?:\.(\d+))?$/;
const UNITS = /^(?=\d)(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,9})(?:\.(\d+))?s)?$/;
const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

/** `951.25`, `15:51.250`, `15m51.25s` or `2026-11-30T09:14:03.250Z`; undefined for anything else. */
export function parseMoment(text: string): Moment | undefined {
  const trimmed = text.trim();
  if (UTC.test(trimmed)) {
    const utc = Date.parse(trimmed);
    return Number.isNaN(utc) ? undefined : { clock: "utc", utc };
  }
  const t = seconds(trimmed) ?? clock(trimmed) ?? units(trimmed);
  return t === undefined ? undefined : { clock: "media", t };
}

function seconds(text: string): number | undefined {
  const m = SECONDS.exec(text);
  return m === null ? undefined : whole(m[1]) * 1000 + fraction(m[2]);
}

function clock(text: string): number | undefined {
  const m = CLOCK.exec(text);
  if (m === null) return undefined;
  const minutes = whole(m[1]) * 60 + whole(m[2]);
  return (minutes * 60 + whole(m[3])) * 1000 + fraction(m[4]);
}

function units(text: string): number | undefined {
  const m = UNITS.exec(text);
  if (m === null) return undefined;
  const minutes = whole(m[1]) * 60 + whole(m[2]);
  return (minutes * 60 + whole(m[3])) * 1000 + fraction(m[4]);
}

const whole = (digits: string | undefined): number => Number(digits ?? 0);

/** The ms of a decimal fraction's digits. Taken from the text: `0.57 * 1000` is not 570. */
function fraction(digits: string | undefined): number {
  return Number((digits ?? "").padEnd(3, "0").slice(0, 3));
}
