/** How is a time or a length of time written for people? All UTC, whatever the browser's zone. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const two = (n: number): string => String(n).padStart(2, "0");
const three = (n: number): string => String(n).padStart(3, "0");

/** `15:51.250`, or `1:02:03.250` from an hour on. */
export function clock(ms: number): string {
  return `${clockSeconds(ms)}.${three(Math.floor(ms) % 1000)}`;
}

/** `15:51`, or `1:02:03` from an hour on. */
export function clockSeconds(ms: number): string {
  const s = Math.floor(ms / 1000);
  const minutes = Math.floor(s / 60);
  return minutes < 60
    ? `${two(minutes)}:${two(s % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(s % 60)}`;
}

/** `t=` of a link: seconds with as many decimals as are needed, `951.25`. */
export function seconds(ms: number): string {
  return String(Math.floor(ms) / 1000);
}

/** `09:14:03.250` of a unix time in ms. */
export function utcTime(unixMs: number): string {
  const d = new Date(unixMs);
  return `${utcSeconds(unixMs)}.${three(d.getUTCMilliseconds())}`;
}

/** `09:14:03`. */
export function utcSeconds(unixMs: number): string {
  return `${utcMinutes(unixMs)}:${two(new Date(unixMs).getUTCSeconds())}`;
}

/** `09:14`. */
export function utcMinutes(unixMs: number): string {
  const d = new Date(unixMs);
  return `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
}

/** `30 Nov 2026`. */
export function utcDate(unixMs: number): string {
  const d = new Date(unixMs);
  return `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]} ${d.getUTCFullYear()}`;
}

/** `30 Nov 2026 08:58:12–09:41:55 UTC`; both dates only when they differ. */
export function utcRange(from: number, to: number | null): string {
  const head = `${utcDate(from)} ${utcSeconds(from)}`;
  if (to === null) return `${head} UTC`;
  const date = utcDate(to) === utcDate(from) ? "" : `${utcDate(to)} `;
  return `${head}–${date}${utcSeconds(to)} UTC`;
}

/** `4 min 12 s`, `35 s`, `2 h 05 min`: a length of time, in two units at most. */
export function span(ms: number): string {
  const s = Math.round(ms / 1000);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 === 0 ? `${s / 60} min` : `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
}

/** `15 minutes 51 seconds`, for a screen reader. */
export function spoken(ms: number): string {
  const s = Math.floor(ms / 1000);
  const parts: string[] = [];
  const say = (n: number, unit: string): void => {
    if (n > 0) parts.push(`${n} ${unit}${n === 1 ? "" : "s"}`);
  };
  say(Math.floor(s / 3600), "hour");
  say(Math.floor(s / 60) % 60, "minute");
  say(s % 60, "second");
  return parts.length === 0 ? "0 seconds" : parts.join(" ");
}

/** `1.4 MB`, decimal units as disks and networks count. */
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = n / 1000;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
