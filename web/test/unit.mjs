// Bundles the unit tests and runs them with the test runner of Node.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = root + ".unit";
const tests = readdirSync(root + "test/unit").filter((name) => name.endsWith(".test.ts"));
rmSync(out, { recursive: true, force: true });
await build({
  root, configFile: false, logLevel: "warn", publicDir: false,
  build: { ssr: true, outDir: out, target: "node20", rolldownOptions: { input: Object.fromEntries(tests.map((name) => [name.slice(0, -3), `${root}test/unit/${name}`])), output: { entryFileNames: "[name].mjs" } } },
});
const run = spawnSync(process.execPath, ["--test", ...readdirSync(out).filter((name) => name.endsWith(".test.mjs")).map((name) => `${out}/${name}`)], { stdio: "inherit" });
process.exit(run.status ?? 1);
