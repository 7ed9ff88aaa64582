import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

// DASHBOARD_URL is the address of the dashboard of a controller. If it is not set, the tests run against generated data.
const url = process.env.DASHBOARD_URL;
const chromium = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const port = 5199;

export default defineConfig({
  testDir: "test/browser",
  testMatch: process.env.CONTROL_URL ? /live\.spec\.ts/ : /(page|figures)\.spec\.ts/,
  workers: 1,
  retries: 0,
  reporter: "list",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  use: {
    baseURL: url ?? `http://127.0.0.1:${port}/`,
    viewport: { width: 1280, height: 800 },
    launchOptions: { executablePath: chromium, args: ["--no-sandbox"] },
  },
  webServer: url ? undefined : { command: `node dev/server.mjs -port ${port} -nodes 60`, url: `http://127.0.0.1:${port}/`, reuseExistingServer: false },
});
