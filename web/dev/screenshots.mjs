// Pictures of each view for the manual, of a live cluster: node dev/screenshots.mjs KARPENTER_LOCAL DIRECTORY [URL].
// Without a URL it starts a cluster, makes a workload, and removes the cluster at the end.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "@playwright/test";
import { chromiumPath } from "./demo.mjs";
import { LiveCluster } from "./live.mjs";
import { shrink } from "./png.mjs";

const [program, out, given] = process.argv.slice(2);
const largest = 150_000;
const heights = { capacity: 1060, phone: 780 };
const directory = given ? null : mkdtempSync(join(tmpdir(), "dashboard-"));
const cluster = given ? null : new LiveCluster(program, directory);
let browser = null;
mkdirSync(out, { recursive: true });
try {
  const url = given || (await cluster.start());
  await cluster?.furnish((text) => console.log(text));
  browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox"] });
  const api = async (path) => (await fetch(new URL("api/v1/" + path, url))).json();
  const history = await api("history");
  const { episodes } = await api("decisions?limit=200");
  const { pools } = await api("pools");
  const nodes = history.fleet.nodes;
  // A node whose panel has most to say, a consolidation, and the NodePool with a schedule.
  const node = nodes.find((n) => n.keptBy === "pdb") ?? nodes.find((n) => n.keptBy && n.state === "initialized" && n.pods.length > 4) ?? nodes[0];
  const pool = pools.find((p) => p.budgets.some((b) => b.schedule)) ?? pools[0];
  const episode = episodes.find((e) => e.kind === "disruption" && e.removedNodes > 0 && e.state === "done") ?? episodes[0];
  const earlier = history.moments.find((m) => episode && m > episode.time) ?? history.moments.at(-2) ?? "";
  const id = encodeURIComponent;
  // The refused offerings are first, because they are tried again after minutes, and nodes that come are last.
  const pictures = [
    ["capacity", "dark", 1280, "#/capacity"],
    ["pending", "light", 1280, "#/pending"],
    ["decisions", "dark", 1280, `#/decisions?episode=${id(episode?.id ?? "")}&at=${id(earlier)}`],
    ["pools", "light", 1280, "#/pools?pool=" + id(pool?.name ?? "")],
    ["trends", "light", 1280, "#/trends"],
    ["cost", "light", 1280, "#/cost"],
    ["whatif", "dark", 1280, "#/whatif"],
    ["fleet-light", "light", 1280, "#/fleet?node=" + id(node?.id ?? "")],
    ["fleet", "dark", 1280, "#/fleet"],
    ["phone", "dark", 390, "#/fleet"],
  ];
  for (const [name, colorScheme, width, hash] of pictures) {
    if (name === "fleet") await cluster?.grow();
    if (name === "trends") await cluster?.until("kept trends", "trends", (t) => t.time.length > 6, 600);
    const page = await browser.newPage({ viewport: { width, height: heights[name] ?? 760 }, colorScheme, reducedMotion: "reduce" });
    await page.goto(url + hash);
    await page.locator("main .busy").waitFor({ state: "detached" });
    await page.waitForTimeout(1200);
    if (name === "whatif") {
      await page.getByRole("button", { name: "A workload" }).click();
      const manifests = page.getByRole("textbox", { name: /Manifests/ });
      await manifests.fill((await manifests.inputValue()).replace("replicas: 10", "replicas: 40"));
      await page.getByRole("button", { name: "Compute" }).click();
      await page.getByText("Afterwards").waitFor();
      await manifests.evaluate((e) => (e.scrollTop = 0));
      await page.locator("main .scroll").evaluate((e) => (e.scrollTop = 0));
      await page.mouse.move(0, 0);
      await page.waitForTimeout(300);
    }
    const png = shrink(await page.screenshot());
    if (png.length > largest) throw new Error(`${name} has ${png.length} bytes`);
    writeFileSync(`${out}/dashboard-${name}.png`, png);
    console.log(`${out}/dashboard-${name}.png ${Math.round(png.length / 1024)} KiB`);
    await page.close();
  }
} finally {
  await browser?.close();
  if (cluster) {
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
