// Builds dist/: index.html, and in assets/ what it names, under hashed names.
import { build } from "esbuild";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

rmSync("dist", { recursive: true, force: true });
mkdirSync("dist/assets", { recursive: true });
const { metafile } = await build({
  entryPoints: {
    main: "src/main.tsx",
    theme: "src/theme.ts",
    style: "src/styles/main.css",
    icon: "src/icon.svg",
  },
  outdir: "dist/assets",
  entryNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome112", "firefox115", "safari17"],
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".svg": "copy" },
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

let html = readFileSync("src/index.html", "utf8");
for (const out of Object.keys(metafile.outputs)) {
  const [, name, extension] = /^(\w+)-\w+\.(\w+)$/.exec(basename(out)) ?? [];
  html = html.replace(`/assets/${name}.${extension}"`, `/assets/${basename(out)}"`);
}
writeFileSync("dist/index.html", html.replace(/^\s+/gm, ""));
