// Sets the theme before the first paint: the person's choice, else the system's.
const dark = matchMedia("(prefers-color-scheme: dark)");

function apply(): void {
  let choice: string | null = null;
  try {
    choice = localStorage.getItem("playhead.theme");
  } catch {
    // A browser that forbids storage follows the system.
  }
  document.documentElement.dataset["theme"] = choice ?? (dark.matches ? "dark" : "light");
}

apply();
dark.addEventListener("change", apply);
addEventListener("storage", apply);
