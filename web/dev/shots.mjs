// Takes pictures of each view, to check them by eye, by default at two widths in both themes: node dev/shots.mjs URL DIRECTORY
// [views] [widths] [themes]
import { mkdirSync } from "node:fs";
import { chromium } from "@playwright/test";

const [url, out, only = "", widths = "1280,390", themes = "dark,light"] = process.argv.slice(2);
const states = {
  fleet: "#/fleet", node: "#/fleet?node=FIRST", table: "#/fleet?as=table", zone: "#/fleet?group=zone&size=small", search: "#/fleet?q=shop", pending: "#/pending",
  decisions: "#/decisions", episode: "#/decisions?episode=EPISODE", replay: "#/decisions?at=MOMENT", pools: "#/pools", pool: "#/pools?pool=default", capacity: "#/capacity", cost: "#/cost",
  whatif: "#/whatif", result: "#/whatif?run", trends: "#/trends", help: "#/fleet?help",
};
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const api = (path) => fetch(new URL("api/v1/" + path, url)).then((r) => r.json());
const history = await api("history");
const { episodes } = await api("decisions");
const node = history.fleet.nodes.find((n) => n.keptBy && n.pods.length > 3)?.id ?? "";
for (const scheme of themes.split(",")) for (const width of widths.split(",").map(Number)) {
  const page = await browser.newPage({ viewport: { width, height: width < 600 ? 844 : 800 }, colorScheme: scheme, deviceScaleFactor: 1 });
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && console.log(scheme, width, m.text()));
  page.on("pageerror", (e) => console.log(scheme, width, e.message));
  for (const [name, hash] of Object.entries(states)) {
    if (only && !only.split(",").includes(name)) continue;
    await page.goto("about:blank");
    await page.goto(url + hash.replace("FIRST", node).replace("EPISODE", episodes[2]?.id).replace("MOMENT", history.moments.at(-30)));
    await page.waitForTimeout(900);
    if (name === "help") await page.keyboard.press("?");
    if (name === "result") {
      await page.getByRole("textbox", { name: /manifest/i }).fill("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: default\n");
      await page.getByRole("button", { name: "Compute" }).click();
    }
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${out}/${name}-${width}-${scheme}.png` });
  }
  await page.close();
}
await browser.close();
