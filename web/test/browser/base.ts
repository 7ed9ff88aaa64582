import AxeBuilder from "@axe-core/playwright";
import { expect, test as plain, type Page } from "@playwright/test";

export const views = ["fleet", "pending", "decisions", "pools", "capacity", "cost", "whatif", "trends"];

/** Messages in the console that a test expects, for example because the controller cannot be reached. */
export interface Watch {
  expected: RegExp[];
}

/** Each test fails on an error in the console, on an exception, and on a request to another host. */
export const test = plain.extend<{ watch: Watch }>({
  watch: [
    async ({ page, baseURL }, use) => {
      const problems: string[] = [];
      const watch: Watch = { expected: [] };
      const host = new URL(baseURL!).host;
      page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") problems.push(`console: ${m.text()}`); });
      page.on("pageerror", (e) => problems.push(`exception: ${e.message}`));
      page.on("request", (r) => {
        const u = new URL(r.url());
        if (u.protocol.startsWith("http") && u.host !== host) problems.push(`request to ${u.host}`);
      });
      await use(watch);
      expect(problems.filter((p) => !watch.expected.some((e) => e.test(p)))).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

export async function open(page: Page, hash = "#/fleet"): Promise<void> {
  await page.goto("about:blank");
  await page.goto("./" + hash);
}

export async function loaded(page: Page): Promise<void> {
  await expect(page.getByText("live", { exact: true })).toBeAttached();
  await expect(page.locator("main .busy, main [role=status]")).toHaveCount(0);
}

/**
 * Checks the page with axe (accessibility). It first waits until all animations have ended, because a text that fades has too
 * little contrast.
 */
export async function axe(page: Page): Promise<void> {
  await page.waitForFunction(() => document.getAnimations().every((a) => a.playState !== "running" || a.effect?.getComputedTiming().iterations === Infinity));
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.target} ${n.any.map((a) => a.message).join(" ")}`).join(" | ")}`)).toEqual([]);
}

/** The number in the cell with this label in the strip, which is the summary above the views. */
export function cell(page: Page, label: string) {
  return page.locator(".strip .cell").filter({ has: page.locator("dt", { hasText: new RegExp(`^${label}$`) }) }).locator("dd.big");
}

export function fleet(page: Page) {
  return page.getByRole("listbox", { name: /^Nodes by/ });
}

/** The number of different colours in the canvas of the fleet. If it is 1, nothing has been drawn. */
export async function colours(page: Page): Promise<number> {
  return page.locator("canvas.fleet-canvas").evaluate((canvas: HTMLCanvasElement) => {
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set<number>();
    for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size;
  });
}

/** Opens the details of the first node with the keyboard. */
export async function openNode(page: Page): Promise<void> {
  await fleet(page).focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("complementary")).toBeVisible();
}
