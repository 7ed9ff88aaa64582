// Tests the page against the controller of a real cluster. Requests to CONTROL_URL change the cluster. The tests run one after
// the other.
import { axe, cell, colours, expect, fleet, loaded, open, openNode, test, views } from "./base";

test.describe.configure({ mode: "serial" });

const control = process.env.CONTROL_URL!;

async function steer(path: string): Promise<void> {
  const answer = await fetch(control + path, { method: "POST" });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
}

/** The timeout of each wait in milliseconds. The tests do not check speed in any other way. */
const patience = 60_000;

test("a scale-up appears by itself", async ({ page }) => {
  test.setTimeout(3 * patience);
  await open(page);
  await expect(page.getByText("live", { exact: true })).toBeAttached({ timeout: patience });
  await expect(cell(page, "Nodes")).toHaveText("0", { timeout: patience });
  await page.evaluate(() => {
    const seen = { first: 0, bound: 0 };
    Object.assign(window, { seen });
    const look = () => {
      const text = (label: string) => [...document.querySelectorAll(".strip .cell")].find((c) => c.querySelector("dt")?.textContent === label)?.querySelector(".big")?.textContent;
      if (!seen.first && text("Nodes") !== "0") seen.first = Date.now();
      if (!seen.bound && text("Pods") !== "0") seen.bound = Date.now();
    };
    new MutationObserver(look).observe(document.querySelector(".strip")!, { subtree: true, childList: true, characterData: true });
  });
  const asked = Date.now();
  await steer("/workload?name=web&replicas=12&cpu=900m");
  await expect(cell(page, "Nodes")).not.toHaveText("0", { timeout: patience });
  await expect(page.locator(".strip .cell").filter({ has: page.locator("dt", { hasText: /^Pods$/ }) })).toContainText("none pending", { timeout: patience });
  const { first, bound } = await page.evaluate(() => (window as unknown as { seen: { first: number; bound: number } }).seen);
  const { episodes } = await (await page.request.get("api/v1/decisions")).json();
  const decided = Date.parse(episodes.at(-1).time);
  console.log(`scale-up: decided ${decided - asked} ms after it was asked for, in the page ${first - decided} ms after the decision; pods bound ${bound - asked} ms after`);
  expect(first - decided).toBeLessThan(patience);
  expect(await colours(page)).toBeGreaterThan(5);
});

test("a node says why it is of its type, and why it stays", async ({ page }) => {
  await open(page);
  await loaded(page);
  await openNode(page);
  const drawer = page.getByRole("complementary");
  await expect(drawer.getByText("Why this type")).toBeVisible();
  await expect(drawer.getByRole("link", { name: "Show the decision" })).toBeVisible();
  await expect(drawer.getByText("Launched", { exact: true })).toBeVisible();
  await expect(drawer.locator(".pods code", { hasText: "default/web-" }).first()).toBeVisible();
  await page.reload();
  await expect(drawer.getByText("Why this type")).toBeVisible();
});

test("a pod that fits nowhere has a reason and a fix", async ({ page }) => {
  await open(page, "#/pending");
  await steer("/workload?name=huge&replicas=1&cpu=500");
  const group = page.locator(".pending-group.outcome-refused", { hasText: "huge" });
  await expect(group).toBeVisible({ timeout: patience });
  await expect(group.locator(".reason")).not.toBeEmpty();
  await group.locator(".pending-name").click();
  await expect(group.getByRole("link", { name: "default" })).toBeVisible();
});

test("the timeline has the decision, and the slider the fleet before it", async ({ page }) => {
  test.setTimeout(2 * patience);
  await open(page, "#/decisions");
  const list = page.getByRole("listbox", { name: /Decisions/ });
  await expect(list.getByRole("option").filter({ hasText: /launch \d/ }).first()).toBeVisible();
  await list.getByRole("option").filter({ hasText: /launch \d/ }).first().click();
  const drawer = page.getByRole("complementary", { name: "Decision" });
  await expect(drawer.getByRole("heading", { name: /^Effects/ })).toBeVisible();
  await expect(drawer.getByText("initialized").first()).toBeVisible();
  await page.keyboard.press("Escape");
  const slider = page.getByRole("slider", { name: "Moment" });
  await expect(slider).toBeVisible({ timeout: patience });
  await slider.focus();
  await page.keyboard.press("Home");
  await expect(page).toHaveURL(/at=/);
  await expect(slider).toHaveAttribute("aria-valuetext", /ago/);
  await page.getByRole("button", { name: "Now", exact: true }).click();
  await expect(page).not.toHaveURL(/at=/);
});

test("what-if is computed by the controller on this cluster", async ({ page }) => {
  await open(page, "#/whatif");
  await loaded(page);
  await page.getByRole("button", { name: "A workload" }).click();
  await page.getByRole("button", { name: "Compute" }).click();
  await expect(page.getByRole("rowheader", { name: "Nodes", exact: true })).toBeVisible({ timeout: patience });
  await expect(page.getByRole("heading", { name: "Nodes to launch" })).toBeVisible();
  await page.getByLabel("Start from a NodePool").selectOption("default");
  await expect(page.getByRole("textbox", { name: /Manifests/ })).toHaveValue(/kind: NodePool/);
});

test("keys alone", async ({ page }) => {
  await open(page);
  await loaded(page);
  await page.keyboard.press("ArrowRight");
  await expect(fleet(page)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("complementary")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("owner:web");
  await expect(page).toHaveURL(/q=owner:web/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.keyboard.press("6");
  await expect(page.locator(".tabs [aria-current]")).toContainText("Cost");
});

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });
    test("no view has a violation of accessibility", async ({ page }) => {
      test.setTimeout(2 * patience);
      for (const view of views) {
        await open(page, "#/" + view);
        await loaded(page);
        await axe(page);
      }
    });
  });
}

test("the page says that the controller is away, keeps the data, and finds it again", async ({ page, watch }) => {
  test.setTimeout(3 * patience);
  watch.expected.push(/Failed to load resource/, /ERR_/);
  await open(page);
  await loaded(page);
  const nodes = await cell(page, "Nodes").innerText();
  await steer("/restart");
  await expect(page.getByRole("alert")).toContainText("Disconnected", { timeout: patience });
  await expect(cell(page, "Nodes")).toHaveText(nodes);
  await expect(page.locator(".status")).toContainText("old");
  await steer("/start");
  await expect(page.getByText("live", { exact: true })).toBeAttached({ timeout: patience });
  await expect(cell(page, "Nodes")).toHaveText(nodes, { timeout: patience });
});
