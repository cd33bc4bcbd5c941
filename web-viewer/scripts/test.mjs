// Bundles each test with esbuild (Node 20 reads no TypeScript) and runs node's test runner.
// Arguments narrow the run to paths that contain one of them: `node scripts/test.mjs core`.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";

const OUT = `node_modules/.cache/test-${process.pid}`; // two runs do not meet
const only = process.argv.slice(2);
const entryPoints = readdirSync("test", { recursive: true })
  .filter((f) => f.endsWith(".test.ts"))
  .map((f) => `test/${f}`)
  .filter((f) => only.length === 0 || only.some((part) => f.includes(part)))
  .sort();

process.on("exit", () => rmSync(OUT, { recursive: true, force: true }));
const { outputFiles } = await build({
  entryPoints,
  outdir: OUT,
  outbase: "test",
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  sourcemap: "inline",
  metafile: true,
  logLevel: "warning",
}).then((r) => ({ outputFiles: Object.keys(r.metafile.outputs) }));

// One file after another: browser tests measure times and the machines are small.
const run = spawnSync(
  process.execPath,
  [
    "--enable-source-maps",
    "--test",
    "--test-concurrency=1",
    "--test-reporter=spec",
    ...outputFiles,
  ],
  { stdio: "inherit" },
);
process.exit(run.status ?? 1);
