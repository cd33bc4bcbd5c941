// Do imports run one way? ui → media → core, ui → api → core; nothing else.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";

const SRC = join(dirname(fileURLToPath(import.meta.url)), "../src");
const MAY_IMPORT = {
  core: ["core"],
  media: ["media", "core"],
  api: ["api", "core"],
  ui: ["ui", "media", "api", "core"],
};
const IMPORT = /^(?:import|export)\b(?:[^;"]*\bfrom)?\s*"([^"]+)"/gm;

const wrong = [];
for (const file of readdirSync(SRC, { recursive: true }).filter((f) => /\.tsx?$/.test(f))) {
  const layer = file.split("/")[0];
  const allowed = MAY_IMPORT[layer] ?? Object.keys(MAY_IMPORT); // entry points may use all
  const text = readFileSync(join(SRC, file), "utf8");
  if (/^export default/m.test(text)) wrong.push(`${file}: default export`);
  for (const [, to] of text.matchAll(IMPORT)) {
    const target = to.startsWith(".")
      ? relative(SRC, normalize(join(SRC, dirname(file), to))).split("/")[0]
      : null;
    if (target === null && (layer === "core" || layer === "api"))
      wrong.push(`${file}: ${layer}/ imports package ${to}`);
    if (target !== null && !allowed.includes(target) && target in MAY_IMPORT)
      wrong.push(`${file}: ${layer}/ imports ${to}`);
  }
}
if (wrong.length > 0) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
console.log("layers: ok");
