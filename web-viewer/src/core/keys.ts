/** Which key does what? The keyboard map of viewer.md 4.10, as far as it exists. */

/** What a key asks for. */
export type Action =
  | "toggle"
  | "back-10"
  | "forward-10"
  | "back-5"
  | "forward-5"
  | "back-1"
  | "forward-1"
  | "frame-back"
  | "frame-forward"
  | "slower"
  | "faster"
  | "event-back"
  | "event-forward"
  | "decision-back"
  | "decision-forward"
  | "start"
  | "end"
  | "tenth"
  | "skip-idle"
  | "zoom-out"
  | "zoom-in"
  | "zoom-all"
  | "lanes"
  | "full-screen"
  | "masks"
  | "show-keys"
  | "show-clicks"
  | "follow"
  | "go-to"
  | "time-style"
  | "copy-link"
  | "copy-id"
  | "save-frame"
  | "details"
  | "search"
  | "tab"
  | "help"
  | "close";

/** One line of the map: `keys` as `KeyboardEvent.key` names them. */
export interface Binding {
  readonly action: Action;
  readonly keys: readonly string[];
  readonly shift?: boolean;
  readonly alt?: boolean;
  readonly ctrl?: boolean;
  /** How the help shows the keys, and what it says they do. */
  readonly label: string;
  readonly text: string;
}

/** Whether single letters act: always, only with Alt, or never (WCAG 2.1.4). */
export type KeySetting = "on" | "alt" | "off";

export const BINDINGS: readonly Binding[] = [
  { action: "toggle", keys: [" ", "k"], label: "Space K", text: "Play or pause" },
  { action: "back-10", keys: ["j"], label: "J", text: "Back 10 s" },
  { action: "forward-10", keys: ["l"], label: "L", text: "Forward 10 s" },
  { action: "back-1", keys: ["ArrowLeft"], shift: true, label: "Shift ←", text: "Back 1 s" },
  { action: "forward-1", keys: ["ArrowRight"], shift: true, label: "Shift →", text: "Forward 1 s" },
  { action: "back-5", keys: ["ArrowLeft"], label: "←", text: "Back 5 s" },
  { action: "forward-5", keys: ["ArrowRight"], label: "→", text: "Forward 5 s" },
  { action: "frame-back", keys: [","], label: ",", text: "One frame back" },
  { action: "frame-forward", keys: ["."], label: ".", text: "One frame forward" },
  { action: "slower", keys: ["<"], label: "<", text: "Slower" },
  { action: "faster", keys: [">"], label: ">", text: "Faster" },
  { action: "event-back", keys: ["["], label: "[", text: "Previous event" },
  { action: "event-forward", keys: ["]"], label: "]", text: "Next event" },
  { action: "decision-back", keys: ["{"], label: "{", text: "Previous Blocked or Asked" },
  { action: "decision-forward", keys: ["}"], label: "}", text: "Next Blocked or Asked" },
  { action: "start", keys: ["Home"], label: "Home", text: "Start" },
  { action: "end", keys: ["End"], label: "End", text: "End" },
  {
    action: "tab",
    keys: [..."12345"],
    alt: true,
    label: "Alt 1–5",
    text: "Log, Input, Spans, Text, Notes",
  },
  { action: "tenth", keys: [..."0123456789"], label: "0–9", text: "Tenths of the session" },
  { action: "skip-idle", keys: ["x"], label: "X", text: "Skip idle on or off" },
  { action: "zoom-out", keys: ["-"], label: "-", text: "Timeline: wider span" },
  { action: "zoom-in", keys: ["="], label: "=", text: "Timeline: narrower span" },
  { action: "zoom-all", keys: ["\\"], label: "\\", text: "Timeline: whole session" },
  { action: "lanes", keys: ["t"], label: "T", text: "Timeline: a lane for each input device" },
  { action: "full-screen", keys: ["f"], label: "F", text: "Full screen" },
  { action: "masks", keys: ["r"], label: "R", text: "Mask outlines on or off" },
  { action: "show-keys", keys: ["q"], label: "Q", text: "Keys on the stage on or off" },
  { action: "show-clicks", keys: ["w"], label: "W", text: "Pointer and clicks on or off" },
  { action: "follow", keys: ["y"], label: "Y", text: "List follows the picture" },
  { action: "go-to", keys: ["g"], label: "G", text: "Go to a time" },
  { action: "time-style", keys: ["u"], label: "U", text: "UTC, elapsed or local time" },
  { action: "copy-id", keys: ["c"], shift: true, label: "Shift C", text: "Copy the event's id" },
  { action: "copy-link", keys: ["c"], label: "C", text: "Copy a link to this moment" },
  { action: "save-frame", keys: ["s"], label: "S", text: "Save this frame" },
  { action: "details", keys: ["d"], label: "D", text: "Details on or off" },
  { action: "search", keys: ["/"], label: "/", text: "Search sessions" },
  { action: "help", keys: ["?"], label: "?", text: "This list" },
  { action: "close", keys: ["Escape"], label: "Esc", text: "Close" },
];

/** The parts of a `KeyboardEvent` that matter. */
export interface Press {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

/** What `press` asks for under `setting`; undefined leaves the key to the browser. */
export function actionOf(press: Press, setting: KeySetting): Action | undefined {
  if (press.ctrlKey || press.metaKey) return undefined;
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  const found = BINDINGS.find((binding) => {
    if (!binding.keys.includes(key)) return false;
    if ((binding.alt ?? false) && !press.altKey) return false;
    if (isNamed(key) || isLetter(key)) return (binding.shift ?? false) === press.shiftKey;
    return true; // a sign: Shift is how some keyboards type it
  });
  if (found === undefined || isNamed(key)) return found?.action;
  if (found.alt === true) return setting === "off" ? undefined : found.action;
  if (setting === "off") return undefined;
  return press.altKey === (setting === "alt") ? found.action : undefined;
}

const isNamed = (key: string): boolean => key.length > 1;
const isLetter = (key: string): boolean => /^[a-z ]$/.test(key);
