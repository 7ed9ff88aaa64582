// Tests the page with generated data: each view, state, key and address.
import { axe, cell, colours, expect, fleet, loaded, open, openNode, test, views } from "./base";

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });
    for (const view of views) {
      test(`${view} has no violation of accessibility`, async ({ page }) => {
        await open(page, "#/" + view);
        await loaded(page);
        await axe(page);
        if (view === "fleet") {
          await openNode(page);
          await expect(page.getByText("Why this type")).toBeVisible();
          await axe(page);
        }
      });
    }
    test("the table, an episode, a group of pods, a NodePool and the help have none either", async ({ page }) => {
      await open(page, "#/fleet?as=table");
      await loaded(page);
      await axe(page);
      await open(page, "#/decisions");
      await page.getByRole("listbox", { name: /Decisions/ }).getByRole("option").first().click();
      await expect(page.getByRole("complementary", { name: "Decision" })).toBeVisible();
      await axe(page);
      await open(page, "#/pending");
      await page.locator(".pending-name").first().click();
      await axe(page);
      await open(page, "#/pools");
      await page.locator(".pool-head button").first().click();
      await expect(page.getByRole("heading", { name: "Types and prices" })).toBeVisible();
      await axe(page);
      await page.keyboard.press("?");
      await expect(page.getByRole("dialog")).toBeVisible();
      await axe(page);
    });
  });
}

for (const width of [390, 800, 1280, 2200]) {
  test(`no view is wider than a page of ${width}`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    for (const view of views) {
      await open(page, "#/" + view);
      await loaded(page);
      const { inner, over } = await page.evaluate(() => ({
        inner: document.documentElement.scrollWidth - innerWidth,
        over: [...document.querySelectorAll("main .scroll, main .drawer, .strip, header.top")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.className),
      }));
      expect(inner, view).toBeLessThanOrEqual(0);
      expect(over, view).toEqual([]);
    }
  });
}

test("the fleet is drawn, and its summary agrees with the strip", async ({ page }) => {
  await open(page);
  await loaded(page);
  expect(await colours(page)).toBeGreaterThan(5);
  const nodes = Number((await cell(page, "Nodes").innerText()).replace(/\D/g, ""));
  await fleet(page).focus();
  await expect(page.locator("#fleet-option")).toHaveAttribute("aria-setsize", String(nodes));
});

test("keys alone: views, tiles, drawer, search, help, groups, theme", async ({ page }) => {
  await open(page);
  await loaded(page);
  await page.keyboard.press("ArrowRight");
  await expect(fleet(page)).toBeFocused();
  const first = await page.locator("#fleet-option").innerText();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator("#fleet-option")).not.toHaveText(first);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/node=/);
  const drawer = page.getByRole("complementary");
  await expect(drawer).toBeVisible();
  const url = page.url();
  await page.keyboard.press("ArrowRight");
  await expect(page).not.toHaveURL(url);
  await page.keyboard.press("Escape");
  await expect(drawer).toHaveCount(0);
  for (const [i, name] of ["Fleet", "Pending", "Decisions", "Pools", "Capacity", "Cost", "What-if", "Trends"].entries()) {
    await page.keyboard.press(String(i + 1));
    await expect(page.locator(".tabs [aria-current]")).toContainText(name);
  }
  await page.keyboard.press("1");
  await page.keyboard.press("/");
  await page.keyboard.type("zone:eu-west-1a");
  await expect(page).toHaveURL(/q=zone:eu-west-1a/);
  await page.keyboard.press("ArrowDown");
  await expect(fleet(page)).toBeFocused();
  await expect(page.locator("#fleet-option")).toContainText("eu-west-1a");
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/q=/);
  await page.keyboard.press("g");
  await expect(page).toHaveURL(/group=zone/);
  await page.keyboard.press("v");
  await expect(page.getByRole("grid", { name: "Nodes" })).toBeVisible();
  await page.getByRole("grid", { name: "Nodes" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(drawer).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await background();
  await page.keyboard.press("t");
  expect(await background()).not.toBe(before);
});

test("the chosen theme outlives the page", async ({ page }) => {
  await open(page);
  await loaded(page);
  await page.getByRole("button", { name: "Dark theme" }).click();
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("tab reaches everything that can be pressed, and shows where it is", async ({ page }) => {
  await open(page);
  await loaded(page);
  const names: string[] = [];
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    names.push(await page.evaluate(() => document.activeElement!.getAttribute("aria-label") || (document.activeElement as HTMLElement).innerText?.split("\n")[0] || document.activeElement!.tagName));
  }
  for (const name of ["Skip to the content", "Fleet", "What-if", "INPUT", "Dark theme", "Help", "Tiles", "Table"]) expect(names).toContain(name);
});

test("every state has an address, and back returns to the one before", async ({ page }) => {
  await open(page, "#/fleet?q=pool:default&group=zone");
  await loaded(page);
  await expect(page.getByRole("searchbox")).toHaveValue("pool:default");
  await expect(page.getByLabel("Group by")).toHaveValue("zone");
  await openNode(page);
  const title = await page.getByRole("complementary").getByRole("heading").first().innerText();
  await page.reload();
  await expect(page.getByRole("complementary").getByRole("heading").first()).toHaveText(title);
  await page.goBack();
  await expect(page.getByRole("complementary")).toHaveCount(0);
  await page.goForward();
  await expect(page.getByRole("complementary")).toBeVisible();
  await open(page, "#/pools?pool=default");
  await expect(page.getByRole("heading", { name: "Types and prices" })).toBeVisible();
  await open(page, "#/cost?by=owner&since=168h");
  await expect(page.getByLabel("Period")).toHaveValue("168h");
  await open(page, "#/whatif?prices=m7a.large=0.05");
  await expect(page.getByText("Afterwards")).toBeVisible();
});

test("the use of commitments is in the view Cost", async ({ page }) => {
  await page.route("**/api/v1/cost*", async (route) => {
    const response = await route.fetch();
    const commitments = [
      { name: "ri-m7i", utilization: 0.75, eligibleNodes: 4, coveredNodes: 2.5, coverage: 0.625, savedPerHour: 1.25 },
      { name: "ri-old", utilization: 0, eligibleNodes: 0, coveredNodes: 0, coverage: 0, savedPerHour: 0, ended: true },
    ];
    await route.fulfill({ response, json: { ...(await response.json()), commitments } });
  });
  await open(page, "#/cost");
  const table = page.getByRole("region", { name: "Commitments" });
  await expect(table.getByRole("row", { name: /ri-m7i/ })).toHaveText(/ri-m7i75%2.5 of 4 nodes\$?1.25/);
  await expect(table.getByRole("row", { name: /ri-old/ })).toContainText("ended");
  await axe(page);
});

test("the drawer says why the node stays, why this type, and what it costs", async ({ page }) => {
  await open(page);
  await loaded(page);
  await openNode(page);
  const drawer = page.getByRole("complementary");
  for (const title of ["Why this type", "Cost", "Conditions", "Labels and taints"]) await expect(drawer.getByText(title, { exact: true })).toBeVisible();
  await expect(drawer.getByText(/Why it stays|What will be done/)).toBeVisible();
  await drawer.getByRole("button", { name: "Close" }).click();
  await expect(drawer).toHaveCount(0);
});

test("a click on a tile opens its node, and a second closes it", async ({ page }) => {
  await open(page, "#/fleet?size=large");
  await loaded(page);
  const box = (await fleet(page).boundingBox())!;
  await page.mouse.move(box.x + 60, box.y + 90);
  await expect(page.locator(".tip")).toBeVisible();
  await page.mouse.click(box.x + 60, box.y + 90);
  await expect(page.getByRole("complementary")).toBeVisible();
  await page.mouse.click(box.x + 60, box.y + 90);
  await expect(page.getByRole("complementary")).toHaveCount(0);
});

test("pending pods have a reason, a fix, and the rule of each NodePool", async ({ page }) => {
  await open(page, "#/pending");
  await loaded(page);
  const group = page.locator(".pending-group.outcome-refused").first();
  await expect(group.locator(".reason")).not.toBeEmpty();
  await expect(group.locator(".fix").first()).toBeVisible();
  await group.locator(".pending-name").click();
  await expect(group.getByRole("columnheader", { name: "Smallest fix" })).toBeVisible();
  await expect(page).toHaveURL(/pod=/);
});

test("the slider shows the fleet of an earlier moment, everywhere", async ({ page }) => {
  await open(page, "#/decisions");
  await loaded(page);
  const slider = page.getByRole("slider", { name: "Moment" });
  await expect(slider).toHaveAttribute("aria-valuetext", "now");
  const before = await cell(page, "Nodes").innerText();
  await slider.focus();
  await page.keyboard.press("Home");
  await expect(page).toHaveURL(/at=/);
  await expect(slider).toHaveAttribute("aria-valuetext", /ago/);
  await expect(cell(page, "Nodes")).not.toHaveText(before);
  const then = await cell(page, "Nodes").innerText();
  await page.keyboard.press("1");
  await expect(page.getByText("Fleet at")).toBeVisible();
  await expect(cell(page, "Nodes")).toHaveText(then);
  await page.reload();
  await expect(cell(page, "Nodes")).toHaveText(then);
  await page.getByRole("button", { name: "Back to now" }).click();
  await expect(page).not.toHaveURL(/at=/);
  await expect(cell(page, "Nodes")).not.toHaveText(then);
});

test("a decision shows its cause, dollars, refused alternatives and effects", async ({ page }) => {
  await open(page, "#/decisions");
  await page.getByRole("listbox", { name: /Decisions/ }).getByRole("option").first().click();
  const drawer = page.getByRole("complementary", { name: "Decision" });
  for (const title of [/^Cause/, /^Price of all nodes/, /^Refused alternatives/, /^Effects/]) await expect(drawer.getByRole("heading", { name: title })).toBeVisible();
  await expect(page).toHaveURL(/episode=/);
});

test("what-if compares before and after, and names mistakes", async ({ page, watch }) => {
  watch.expected.push(/status of 4\d\d/);
  await open(page, "#/whatif");
  await loaded(page);
  await page.getByRole("button", { name: "Compute" }).click();
  await expect(page.getByRole("alert")).toContainText("Change something first");
  await page.getByLabel("Start from a NodePool").selectOption("default");
  await expect(page.getByRole("textbox", { name: /Manifests/ })).toHaveValue(/kind: NodePool/);
  await page.getByRole("textbox", { name: /Manifests/ }).press("Control+Enter");
  for (const row of ["Nodes", "Price", "Lower bound", "Pending pods", "Evictions"]) await expect(page.getByRole("rowheader", { name: row, exact: true })).toBeVisible();
  await expect(page).toHaveURL(/yaml=/);
  await page.getByRole("textbox", { name: "Prices" }).fill("nonsense");
  await page.getByRole("button", { name: "Compute" }).click();
  await expect(page.getByRole("alert")).toContainText("nonsense");
  await page.getByRole("textbox", { name: "Prices" }).fill("");
  await page.getByRole("textbox", { name: /Manifests/ }).fill("broken: yes: no");
  await page.getByRole("button", { name: "Compute" }).click();
  await expect(page.getByRole("alert")).not.toBeEmpty();
});

test("a controller that is away is said so, with the age of the data, and found again", async ({ page, watch }) => {
  watch.expected.push(/Failed to load resource/);
  await open(page);
  await loaded(page);
  const nodes = await cell(page, "Nodes").innerText();
  expect(nodes).not.toBe("");
  await page.route("**/api/v1/stream", (route) => route.abort());
  await page.reload();
  await expect(page.getByRole("alert")).toContainText("cannot be reached");
  await page.unroute("**/api/v1/stream");
  await loaded(page);
  await expect(cell(page, "Nodes")).not.toBeEmpty();
});

test("a controller that wants to know who asks gets a token", async ({ page, watch }) => {
  watch.expected.push(/status of 401/);
  await page.route("**/api/v1/**", async (route) => {
    if (route.request().headers()["authorization"] === "Bearer right") await route.continue();
    else await route.fulfill({ status: 401, json: { error: "A token is required.", fix: "Create one." } });
  });
  await open(page);
  await expect(page.getByRole("heading", { name: "Sign in with a token" })).toBeVisible();
  await axe(page);
  await page.getByLabel("Bearer token").fill("wrong");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByText("A token is required.")).toBeVisible();
  await page.getByLabel("Bearer token").fill("right");
  await page.getByRole("button", { name: "Continue" }).click();
  await loaded(page);
});

test("a cluster without anything says what to do", async ({ page }) => {
  const amounts = { cpu: 0, memory: 0, gpu: 0 };
  const strip = {
    nodes: 0, nodesComing: 0, podsPending: 0, podsBound: 0, requested: amounts, allocatable: amounts, coming: amounts, dollarsPerHour: null, listPerHour: null,
    floorPerHour: null, unpriced: 0, spotShare: null, lastDecision: null, leader: true, leaderName: "",
  };
  const stream = `data: ${JSON.stringify({ type: "snapshot", version: 1, strip, fleet: { nodes: [], owners: [] } })}\n\ndata: ${JSON.stringify({ type: "pending", version: 1, groups: [] })}\n\n`;
  await page.route("**/api/v1/stream", (route) => route.fulfill({ contentType: "text/event-stream", body: stream }));
  await page.route("**/api/v1/pools", (route) => route.fulfill({ json: { pools: [] } }));
  await page.route("**/api/v1/trends", (route) => route.fulfill({ json: { time: [], dollarsPerHour: [], floorPerHour: [], nodes: [], pending: [], cpu: [], memory: [] } }));
  await page.route("**/api/v1/decisions*", (route) => route.fulfill({ json: { episodes: [] } }));
  await page.route("**/api/v1/history*", (route) => route.fulfill({ json: { at: "2026-01-01T00:00:00Z", moments: [], strip, fleet: { nodes: [], owners: [] } } }));
  for (const [view, text] of [["fleet", "No nodes"], ["pending", "No pods are pending"], ["decisions", "No decision yet"], ["pools", "No NodePools"], ["trends", "No trend yet"]]) {
    await open(page, "#/" + view);
    await expect(page.getByRole("heading", { name: text })).toBeVisible();
    await axe(page);
  }
  // A value that is not known is shown as a dash, never as 0.
  await expect(cell(page, "Cost")).toHaveText("—");
  await expect(cell(page, "CPU")).toHaveText("—");
  await expect(cell(page, "Spot share")).toHaveText("—");
});

test("a standby replica says who decides, and shows what only the leader knows as unknown", async ({ page, watch }) => {
  watch.expected.push(/status of 503/);
  await page.setExtraHTTPHeaders({ "X-Standby": "karpenter-abc" });
  await page.route("**/api/v1/decisions*", (route) => route.fulfill({ json: { episodes: [] } }));
  await page.route("**/api/v1/cost*", (route) => route.fulfill({ status: 503, json: { error: "costs are not known yet, or another replica is the leader", fix: "open the dashboard of the leader" } }));
  await page.route("**/api/v1/capacity", async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), interruptions: [] } }));
  for (const [view, text] of [["fleet", "karpenter-abc"], ["decisions", "Decisions are not known here"], ["cost", "another replica is the leader"], ["capacity", "Not known here"]]) {
    await open(page, "#/" + view);
    await expect(page.getByText(text).first()).toBeVisible();
    await axe(page);
  }
  await expect(cell(page, "vs lower bound")).toHaveText("—");
  await expect(cell(page, "Last decision")).toHaveText("—");
});

test("devices that pods claim are shown with what they lack, and unknown ones as unknown", async ({ page }) => {
  await open(page, "#/capacity");
  const rows = page.getByRole("region", { name: "Devices" }).getByRole("row");
  await expect(rows.nth(1)).toContainText("gpu.example.com");
  await expect(rows.nth(1)).toContainText("not supported");
  await expect(rows.nth(2)).toContainText("—");
  await rows.nth(1).getByRole("link").click();
  const group = page.getByRole("listitem").filter({ hasText: "ml/notebook-0" });
  await expect(group).toContainText("1 × gpu.example.com");
  await expect(group.getByRole("button", { name: /NodePool/ })).toHaveCount(0);
});

test("one view that fails says so, and the others work", async ({ page, watch }) => {
  watch.expected.push(/status of 503/);
  await page.route("**/api/v1/cost*", (route) => route.fulfill({ status: 503, json: { error: "The ledger has not begun.", fix: "Wait a minute." } }));
  await open(page, "#/cost");
  await expect(page.getByRole("alert")).toContainText("The ledger has not begun.");
  await expect(page.getByRole("alert")).toContainText("Wait a minute.");
  await page.unroute("**/api/v1/cost*");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("workloads")).toBeVisible();
});

test("names of the cluster are text and never markup", async ({ page }) => {
  await page.route("**/api/v1/pending", (route) => route.fulfill({ json: { groups: [] } }));
  await page.route("**/api/v1/pools", (route) => route.fulfill({ json: { pools: [{ name: "<img src=x onerror=document.title='hacked'>", weight: 0, ready: false, problem: "<b>bold</b>", fix: "", nodes: 0, dollarsPerHour: null, limits: [], budgets: [], requirements: [], types: [], typesTotal: 0, drifted: 0, unhealthy: 0 }] } }));
  await open(page, "#/pools");
  await expect(page.getByText("<b>bold</b>")).toBeVisible();
  expect(await page.title()).not.toContain("hacked");
});

test("motion stops for those who want none", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await open(page, "#/fleet");
  await loaded(page);
  await openNode(page);
  expect(await page.getByRole("complementary").evaluate((e) => parseFloat(getComputedStyle(e).animationDuration))).toBeLessThan(0.01);
});
