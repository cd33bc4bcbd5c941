// Are the brotli budgets of viewer.md 5 kept? One bundle serves the list and the replay page.
import { readdirSync, readFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";

const BUDGET_BYTES = { js: 45_000, css: 10_000 };

let failed = false;
for (const [extension, budget] of Object.entries(BUDGET_BYTES)) {
  const files = readdirSync("dist/assets").filter((f) => f.endsWith(`.${extension}`));
  const size = files.reduce(
    (sum, f) => sum + brotliCompressSync(readFileSync(`dist/assets/${f}`)).length,
    0,
  );
  const ok = files.length > 0 && size <= budget;
  console.log(`${extension}: ${size} of ${budget} bytes (brotli)${ok ? "" : ", too much"}`);
  failed ||= !ok;
}
process.exit(failed ? 1 : 0);
