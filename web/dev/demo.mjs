// Starts the real server of the dashboard with generated data, and stops it.
import { spawn } from "node:child_process";
import { createServer } from "node:net";

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

export async function startDemo(program, args) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const child = spawn(program, [...args, "-address", `127.0.0.1:${port}`], { stdio: ["ignore", "ignore", "inherit"] });
  for (let i = 0; ; i++) {
    try {
      if ((await fetch(url + "api/v1/info")).ok) break;
    } catch {
      // The server does not listen yet.
    }
    if (i > 600 || child.exitCode !== null) throw new Error(`${program} does not serve`);
    await new Promise((done) => setTimeout(done, 100));
  }
  return { url, pid: child.pid, stop: () => child.kill() };
}

export function chromiumPath() {
  return process.env.CHROMIUM ?? "/usr/bin/chromium";
}
