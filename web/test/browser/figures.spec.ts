// Tests that the page shows figures, times and texts as they are. The answers of the controller are changed for each case.
import type { Page } from "@playwright/test";
import { axe, cell, expect, loaded, open, test } from "./base";

/** Changes the JSON of an answer of the API before the page gets it. */
async function change(page: Page, path: string, edit: (json: any) => void): Promise<void> {
  await page.route(`**/api/v1/${path}*`, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    edit(json);
    await route.fulfill({ response, json });
  });
}

/** The stream whose messages a test sends itself. */
declare global {
  interface Window {
    send(message: object): void;
  }
}

/** Replaces the stream by one that stays open, and to which the function that is returned sends messages. */
async function openStream(page: Page): Promise<(...messages: object[]) => Promise<void>> {
  await page.addInitScript(() => {
    const real = window.fetch;
    window.fetch = async (url, init) => {
      if (!String(url).endsWith("/api/v1/stream")) return real(url, init);
      const now = await (await real("api/v1/history")).json();
      const body = new ReadableStream({
        start(c) {
          window.send = (message) => c.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(message)}\n\n`));
          window.send({ type: "snapshot", version: 1, strip: now.strip, fleet: now.fleet });
        },
      });
      return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    };
  });
  return (...messages) => page.evaluate((list) => list.forEach((m) => window.send(m)), messages);
}

/** Replaces the stream by one with a snapshot of the moment that is stored last, whose summary has other figures, and messages. */
async function withStrip(page: Page, strip: object, ...messages: object[]): Promise<void> {
  const now = await (await page.request.get("api/v1/history")).json();
  await page.route("**/api/v1/stream", async (route) => {
    const sent = [{ type: "snapshot", version: 1, strip: { ...now.strip, ...strip }, fleet: now.fleet }, ...messages];
    await route.fulfill({ contentType: "text/event-stream", body: sent.map((m) => `data: ${JSON.stringify(m)}\n\n`).join("") });
  });
}

test("the change that frees the most has the dollars of its own nodes, not those of the whole rule", async ({ page }) => {
  const fix = 'set spec.disruption.consolidateAfter of NodePool "b" to a duration';
  await change(page, "cost", (json) => {
    json.blocked = [{ rule: "policy", nodes: 5, dollarsPerHour: 4.5, reason: 'NodePool "a" disables consolidation', fix: "another", causes: 3 }];
    json.best = { rule: "policy", nodes: 2, dollarsPerHour: 2.5, reason: 'NodePool "b" disables consolidation', fix, causes: 1 };
  });
  await open(page, "#/cost");
  const best = page.getByRole("region", { name: "The one change that frees the most" });
  await expect(best.getByRole("heading")).toHaveText(fix);
  await expect(best).toContainText("up to $2.50/h");
  await expect(best).toContainText("2 nodes stay for it");
  await expect(best.getByRole("link")).toHaveText("Show all 5 nodes of the rule");
  await expect(page.getByRole("region", { name: "Blocked savings" }).getByRole("row").nth(1)).toContainText("and 2 other causes");
});

test("what disruptions saved is in the view Cost, by day and reason", async ({ page }) => {
  await change(page, "cost", (json) => {
    json.savings = [
      { day: "2026-11-28", reason: "empty", decision: "delete", actions: 2, plannedPerHour: 0.612, realizedPerHour: 0.612, evictions: 0 },
      { day: "2026-11-29", reason: "drifted", decision: "replace", actions: 1, plannedPerHour: -0.01, realizedPerHour: -0.02, evictions: 3, cancelled: 1 },
    ];
  });
  await open(page, "#/cost");
  const rows = page.getByRole("region", { name: "Savings of disruptions" }).getByRole("row");
  await expect(rows.nth(1)).toHaveText("2026-11-28emptydelete2$0.6120$0.612000");
  await expect(rows.nth(2)).toHaveText("2026-11-29driftedreplace1−$0.0100−$0.020031");
  await expect(rows.last()).toHaveText("total3$0.6020$0.592031");
  await axe(page);
});

test("the strip says whether the price is below or above list", async ({ page }) => {
  const strip = { dollarsPerHour: 56, listPerHour: 100 };
  await withStrip(page, strip);
  await open(page);
  await expect(cell(page, "Below list")).toHaveText("44%");
  strip.dollarsPerHour = 112;
  await open(page, "#/pools");
  await expect(cell(page, "Above list")).toHaveText("12%");
});

test("the rows of the view Cost add up to the price of all nodes", async ({ page }) => {
  const money = (dollarsPerHour: number) => ({ dollarsPerHour, dollars: dollarsPerHour * 10 });
  let split = true;
  await change(page, "cost", (json) => {
    const more = split ? { idle: money(3), overhead: money(1) } : {};
    Object.assign(json, money(10), { rows: [{ key: "few", ...money(1), ...more }, { key: "most", ...money(1.5), ...more, ...(split ? { idle: money(3.5) } : {}) }], overhead: money(2) });
    json.idle = [{ cause: "pdb", ...money(4.5) }, { cause: "limit", ...money(2) }];
  });
  await open(page, "#/cost?by=pool");
  const rows = (by: string) => page.getByRole("region", { name: "Cost by " + by }).getByRole("row");
  await expect(rows("NodePool").nth(0)).toHaveText("NodePoolworkloadsidleoverhead$/hShare$ in 24 hours");
  await expect(rows("NodePool").nth(1)).toHaveText("most$1.50$3.50$1.00$6.0060%$60.00");
  await expect(rows("NodePool").last()).toHaveText("total$2.50$6.50$2.00$10.00100%$100.00");
  await axe(page);
  await open(page, "#/cost?by=pool&q=few");
  await expect(rows("NodePool").last()).toHaveText("total of these rows$1.00$3.00$1.00$5.0050%$50.00");
  split = false;
  await open(page, "#/cost");
  await expect(rows("namespace").nth(3)).toHaveText("idle capacity$6.5065%$65.00");
  await expect(rows("namespace").nth(4)).toHaveText("overhead$2.0020%$20.00");
  await expect(rows("namespace").last()).toHaveText("total$10.00100%$100.00");
});

/** An episode with a state. */
function episode(id: string, state: string, time = "2026-11-30T12:00:00Z") {
  return {
    id, time, kind: "disruption", reason: "Underutilized", cause: "the pods of 1 node fit on others", decision: "delete " + id, action: "delete", pools: ["default"], pods: 3,
    launchedNodes: 0, removedNodes: 1, refusedTotal: 0, dollarsPerHourBefore: 100_000, dollarsPerHourAfter: 99_999.8, evictionsPlanned: 3, evictions: 0, progress: {}, effectsTotal: 0, state,
  };
}

test("a decision that ended while the page was disconnected has its new state", async ({ page }) => {
  let state = "open";
  await withStrip(page, {}, { type: "episode", version: 1, episode: episode("d1", "open") });
  await page.route("**/api/v1/decisions*", (route) => route.fulfill({ json: { episodes: [episode("d1", state)] } }));
  await open(page, "#/decisions");
  const row = page.getByRole("option", { name: /delete d1/ });
  await expect(row).toContainText("open");
  await withStrip(page, {});
  state = "cancelled";
  await expect(row).toContainText("cancelled");
});

test("nodes without a known price do not hide the price of a month", async ({ page }) => {
  await withStrip(page, { dollarsPerHour: 10, unpriced: 2 });
  await open(page);
  const cost = page.locator(".strip .cell.money");
  await expect(cost).toContainText("$7,300/month");
  await expect(cost).toContainText("and 2 unpriced");
});

test.describe("in Tokyo", () => {
  test.use({ timezoneId: "Asia/Tokyo" });
  test("times name their zone, and schedules are in UTC", async ({ page }) => {
    await change(page, "pools", (json) => {
      const day = (d: number, hour: number) => new Date(Date.UTC(2026, 0, d, hour)).toISOString();
      json.pools[0].budgets = [{ nodes: "2", reasons: [], schedule: "0 22 * * *", duration: "6h", allowed: null, windows: [[day(1, 22), day(2, 4)]] }];
    });
    await open(page, "#/pools");
    await expect(page.locator(".budget-list").first()).toContainText("0 22 * * * UTC for 6h");
    await expect(page.locator(".week").first()).toContainText("UTC+9");
    await page.keyboard.press("?");
    await expect(page.getByRole("dialog")).toContainText("UTC+9");
    await page.route("**/api/v1/decisions*", (route) => route.fulfill({ json: { episodes: [episode("d1", "done", "2026-01-01T22:00:05Z")] } }));
    await open(page, "#/decisions");
    const time = page.getByRole("option", { name: /delete d1/ }).locator("time");
    await expect(time).toHaveText("2 Jan 07:00");
    await expect(time).toHaveAttribute("title", "2026-01-01T22:00:05Z");
    await open(page, "#/trends");
    await expect(page.locator(".u-legend").first()).toContainText("UTC+9");
  });
});

test("the price of a NodePool says how many nodes are not in it", async ({ page }) => {
  await change(page, "pools", (json) => Object.assign(json.pools[0], { dollarsPerHour: 1.5, unpriced: 9 }));
  await open(page, "#/pools");
  await expect(page.locator(".pool-numbers").first()).toContainText("$1.50/h and 9 unpriced");
});

test("views without a past say that they show the state of now", async ({ page }) => {
  const { moments } = await (await page.request.get("api/v1/history")).json();
  for (const view of ["pending", "pools", "capacity", "cost", "whatif", "trends"]) {
    await open(page, `#/${view}?at=${moments[0]}`);
    await expect(page.locator(".banner")).toContainText("This view shows the state of now.");
  }
  await open(page, `#/fleet?at=${moments[0]}`);
  await expect(page.locator(".banner")).toContainText("Fleet at");
  await expect(page.locator(".banner")).not.toContainText("state of now");
});

test("the total of the view Cost says of what time it is", async ({ page }) => {
  await change(page, "cost", (json) => (json.until = "2026-01-05T12:00:10Z"));
  await open(page, "#/cost");
  await expect(page.getByRole("region", { name: "Total" })).toContainText("as of 5 Jan");
});

test("a search that matches nothing in another view can be cleared there", async ({ page }) => {
  await open(page, "#/fleet?q=kept:pdb");
  await loaded(page);
  await page.keyboard.press("2");
  await expect(page.locator(".pending-group").first()).toBeVisible();
  for (const view of ["pending", "pools", "decisions", "cost"]) {
    await open(page, `#/${view}?q=zzz`);
    await page.getByRole("button", { name: "Clear the search" }).first().click();
    await expect(page).not.toHaveURL(/q=/);
    await expect(page.getByRole("searchbox")).toHaveValue("");
  }
});

test("a moment that cannot be shown does not show the state of now, and is tried again", async ({ page, watch }) => {
  watch.expected.push(/status of 400/);
  await page.route("**/api/v1/history?at=*", (route) => route.fulfill({ status: 400, json: { error: "at: not a time", fix: "use RFC 3339" } }));
  await open(page, "#/fleet?at=yesterday");
  await expect(page.getByRole("alert")).toContainText("at: not a time");
  await expect(page.locator(".banner")).toContainText("The fleet of yesterday cannot be shown.");
  await expect(cell(page, "Nodes")).toHaveCount(0);
  const { moments } = await (await page.request.get("api/v1/history")).json();
  await page.unroute("**/api/v1/history?at=*");
  await page.route("**/api/v1/history?at=*", async (route) => route.fulfill({ response: await page.request.get("api/v1/history?at=" + moments[0]) }));
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page).toHaveURL(/at=yesterday/);
  await expect(cell(page, "Nodes")).not.toBeEmpty();
});

test("the list of decisions stays in its place when decisions are added, unless it is at its beginning", async ({ page }) => {
  const send = await openStream(page);
  const old = Array.from({ length: 100 }, (_, i) => episode("d" + i, "done", new Date(Date.UTC(2026, 0, 2, 0, -i)).toISOString()));
  await page.route("**/api/v1/decisions*", (route) => route.fulfill({ json: { episodes: old } }));
  await open(page, "#/decisions");
  const list = page.getByRole("listbox", { name: /Decisions/ });
  await expect(list.getByText("delete d0", { exact: true })).toBeVisible();
  await send({ type: "episode", version: 2, episode: episode("n0", "done", "2026-01-03T00:00:00Z") });
  await expect(list.getByText("delete n0", { exact: true })).toBeVisible();
  expect(await list.evaluate((e) => e.scrollTop)).toBe(0);
  await list.evaluate((e) => (e.scrollTop = 1000));
  const row = list.getByText("delete d20", { exact: true });
  const before = await row.boundingBox();
  await send({ type: "episode", version: 3, episode: episode("n1", "done", "2026-01-04T00:00:00Z") }, { type: "episode", version: 4, episode: episode("n2", "done", "2026-01-04T00:00:01Z") });
  await expect(list.getByRole("option").first()).toHaveAttribute("aria-setsize", "103");
  expect((await row.boundingBox())!.y).toBe(before!.y);
});

test("a small change of a large price is seen in its decision", async ({ page }) => {
  await page.route("**/api/v1/decisions*", (route) => route.fulfill({ json: { episodes: [episode("d1", "done")] } }));
  await open(page, "#/decisions?episode=d1");
  await expect(page.getByRole("complementary", { name: "Decision" })).toContainText("$100,000.00/h → $99,999.80/h");
});

test("texts of any length and direction stay in their place", async ({ page }) => {
  await change(page, "cost", (json) => (json.best = { rule: "pdb", nodes: 2, dollarsPerHour: 2.5, reason: "left \u202E right", fix: "x".repeat(300), causes: 1 }));
  await withStrip(page, { dollarsPerHour: 12_345_678, floorPerHour: 1 });
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    await open(page, "#/cost");
    const best = page.getByRole("region", { name: "The one change that frees the most" });
    await expect(best.getByRole("heading")).toBeVisible();
    expect(await best.evaluate((e) => e.scrollWidth - e.clientWidth)).toBeLessThanOrEqual(0);
    const [reason, after] = await best.locator("p").evaluate((p) => {
      const range = document.createRange();
      range.selectNodeContents(p.childNodes[1]);
      range.setEnd(p.childNodes[1], 1); // the full stop after the reason
      return [p.querySelector("bdi")!.getBoundingClientRect().right, range.getBoundingClientRect().left];
    });
    expect(after).toBeGreaterThanOrEqual(reason - 1);
    const cells = await page.locator(".strip .big").evaluateAll((all) => all.filter((e) => e.getClientRects().length).map((e) => e.getBoundingClientRect()).map(({ left, right, top }) => ({ left, right, top })));
    for (const [i, c] of cells.entries()) if (cells[i + 1]?.top === c.top) expect(cells[i + 1].left).toBeGreaterThanOrEqual(c.right);
  }
});
