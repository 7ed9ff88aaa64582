// Takes the pictures for the manual: node dev/screenshots.mjs DASHDEMO DIRECTORY [URL]. Without a URL it starts the real server
// with generated data.
import { mkdirSync, writeFileSync } from "node:fs";
import { chromium } from "@playwright/test";
import { chromiumPath, startDemo } from "./demo.mjs";
import { shrink } from "./png.mjs";

const [program, out, given] = process.argv.slice(2);
const largest = 150_000;
const demo = given ? null : await startDemo(program, ["-nodes", "60", "-pods", "900"]);
const url = given || demo.url;
const browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox"] });
mkdirSync(out, { recursive: true });
try {
  const api = async (path) => (await fetch(new URL("api/v1/" + path, url))).json();
  // Waits until the server has data for the slider and the trends.
  for (let i = 0; i < 90 && demo && ((await api("history")).moments?.length ?? 0) < 5; i++) await new Promise((done) => setTimeout(done, 1000));
  const history = await api("history");
  const { episodes } = await api("decisions?limit=50");
  const { pools } = await api("pools");
  const node = history.fleet.nodes.find((n) => n.keptBy && n.state === "initialized" && n.pods.length > 4) ?? history.fleet.nodes[0];
  const pool = pools.find((p) => p.budgets.some((b) => b.schedule)) ?? pools[0];
  const episode = episodes.find((e) => e.removedNodes) ?? episodes[0];
  const pictures = [
    ["fleet", "dark", 1280, "#/fleet"],
    ["fleet-light", "light", 1280, "#/fleet?node=" + encodeURIComponent(node?.id ?? "")],
    ["pending", "light", 1280, "#/pending"],
    ["decisions", "dark", 1280, `#/decisions?episode=${encodeURIComponent(episode?.id ?? "")}&at=${encodeURIComponent(history.moments.at(-2) ?? "")}`],
    ["pools", "light", 1280, "#/pools?pool=" + encodeURIComponent(pool?.name ?? "")],
    ["capacity", "dark", 1280, "#/capacity"],
    ["cost", "light", 1280, "#/cost"],
    ["whatif", "dark", 1280, "#/whatif"],
    ["trends", "light", 1280, "#/trends"],
    ["phone", "dark", 390, "#/fleet"],
  ];
  for (const [name, colorScheme, width, hash] of pictures) {
    const page = await browser.newPage({ viewport: { width, height: width < 600 ? 780 : 760 }, colorScheme, reducedMotion: "reduce" });
    await page.goto(url + hash);
    await page.locator("main .busy").waitFor({ state: "detached" });
    await page.waitForTimeout(1200);
    if (name === "whatif") {
      await page.getByRole("button", { name: "A workload" }).click();
      const manifests = page.getByRole("textbox", { name: /Manifests/ });
      await manifests.fill((await manifests.inputValue()).replace("replicas: 10", "replicas: 400"));
      await page.getByRole("button", { name: "Compute" }).click();
      await page.getByText("Afterwards").waitFor();
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
  await browser.close();
  demo?.stop();
}
