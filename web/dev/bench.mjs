// How fast the dashboard is at scale: node dev/bench.mjs DASHDEMO NODES PODS. Prints the
// table of docs/bench.md; nothing is asserted.
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { chromium } from "@playwright/test";
import { chromiumPath, startDemo } from "./demo.mjs";

const [program, nodes = "5000", pods = "100000"] = process.argv.slice(2);
const seconds = Number(process.env.SECONDS_EACH ?? 10);
// CPU is measured for a minute: garbage collection and the decisions of the generator come every ten seconds or less often.
const cpuSeconds = 6 * seconds;
const viewers = 10;
const demo = await startDemo(program, ["-nodes", nodes, "-pods", pods, "-rate", "100"]);
const rows = [];
const quantile = (list, q) => (list.length ? list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))] : NaN);
const ms = (v) => v.toFixed(1) + " ms";

/** CPU time that a process has used, in seconds. */
function cpu(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const wait = (s) => new Promise((done) => setTimeout(done, s * 1000));

try {
  await wait(seconds);
  const share = async () => {
    const [before, sent] = [cpu(demo.pid), bytes];
    await wait(cpuSeconds);
    return [((cpu(demo.pid) - before) / cpuSeconds) * 100, (bytes - sent) / viewers / cpuSeconds / 1024];
  };
  let bytes = 0;
  const [alone] = await share();
  rows.push(["CPU of the process without pages, most of it for the generator", "", `${alone.toFixed(1)}% of a core`]);
  const open = Array.from({ length: viewers }, () => get(demo.url + "api/v1/stream", { headers: { "Accept-Encoding": "gzip" } }, (r) => r.on("data", (d) => (bytes += d.length))));
  await wait(seconds);
  const [pages, rate] = await share();
  rows.push([`CPU of the process with ${viewers} pages`, "", `${pages.toFixed(1)}% of a core`]);
  rows.push([`CPU that the pages add`, "under 5%", `${(pages - alone).toFixed(1)}% of a core`]);
  rows.push(["bytes to each page", "", `${rate.toFixed(1)} KiB/s`]);
  for (const request of open) request.destroy();

  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.addInitScript(() => {
    const work = [];
    const gaps = [];
    const long = [];
    const original = requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (f) => original((t) => { const from = performance.now(); f(t); work.push(performance.now() - from); });
    let last = 0;
    const follow = (t) => { if (last) gaps.push(t - last); last = t; original(follow); };
    original(follow);
    new PerformanceObserver((l) => l.getEntries().forEach((e) => long.push(e.duration))).observe({ entryTypes: ["longtask"] });
    Object.assign(window, { bench: { work, gaps, long, original, reset() { work.length = gaps.length = long.length = 0; } } });
  });
  const firsts = [];
  for (let i = 0; i < 5; i++) {
    await page.goto("about:blank");
    await page.goto(demo.url + "#/fleet", { waitUntil: "commit" });
    firsts.push(await page.evaluate(() => new Promise((done) => {
      const look = () => (document.querySelector("#fleet-option") && document.querySelector(".strip .big") ? window.bench.original(() => done(performance.now())) : setTimeout(look, 5));
      look();
    })));
  }
  rows.push(["first view: from the start of the navigation until tiles are drawn, median of 5", "under 1,000 ms", ms(quantile(firsts, 0.5))]);
  const measure = async (name, action) => {
    await page.evaluate(() => window.bench.reset());
    const client = await page.context().newCDPSession(page);
    await client.send("Performance.enable");
    const script = async () => (await client.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value;
    const from = await script();
    const began = Date.now();
    await action();
    const busy = (await script()) - from;
    const { work, gaps, long } = await page.evaluate(() => window.bench);
    rows.push([`${name}: work of the page in a frame, 50th, 95th, 99th percentile`, "95th under 16.7 ms", [0.5, 0.95, 0.99].map((q) => ms(quantile(work, q))).join(", ")]);
    // The display has 60 frames a second, so a frame that is not late comes 16.7 ms after the one before, give or take the timer.
    const late = gaps.filter((gap) => gap > 25).length;
    rows.push([`${name}: frames, and those that came late`, "", `${gaps.length}, ${((100 * late) / Math.max(1, gaps.length)).toFixed(1)}%`]);
    rows.push([`${name}: tasks over 50 ms; main thread busy`, "", `${long.length}; ${((busy / (Date.now() - began)) * 1e5).toFixed(0)}%`]);
  };
  await measure("updates", () => wait(seconds));
  const scroll = () => page.evaluate((s) => new Promise((done) => {
    const box = document.querySelector(".fleet-scroll");
    const until = performance.now() + s * 1000;
    let by = 24;
    const step = () => {
      if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) by = -24;
      else if (box.scrollTop <= 0) by = 24;
      box.scrollTop += by;
      if (performance.now() < until) window.bench.original(step);
      else done();
    };
    step();
  }), seconds);
  await measure("scrolling with updates", scroll);
  await page.goto(demo.url + "#/fleet?size=tiny");
  await wait(1);
  await measure("scrolling the overview with updates", scroll);
  await browser.close();
} finally {
  demo.stop();
}
console.log(`\n| ${Number(nodes).toLocaleString("en-US")} nodes, ${Number(pods).toLocaleString("en-US")} pods, 100 changes of pods a second | Target | Measured |\n|---|---|---|`);
for (const [name, target, value] of rows) console.log(`| ${name} | ${target} | ${value} |`);
