// A server with generated data, for work on the page without a cluster. It is not shipped.
//   node dev/server.mjs [-nodes 40] [-pods 20] [-port 5173] [-empty]
// With -api http://127.0.0.1:8099/ it forwards the requests for data to the controller at that address.
import { createServer, request as forward } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Cluster } from "./cluster.mjs";

const args = Object.fromEntries([...process.argv.slice(2).join(" ").matchAll(/-(\w+)(?: (?!-)(\S+))?/g)].map((m) => [m[1], m[2] ?? "true"]));
const root = args.assets ?? fileURLToPath(new URL("../../internal/dashboard/assets", import.meta.url));
const cluster = new Cluster(args.empty ? 0 : Number(args.nodes ?? 42), Number(args.pods ?? 14));
const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const clients = new Set();

createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  const path = url.pathname;
  if (args.api && path.startsWith("/api/")) {
    const there = forward(new URL(request.url, args.api), { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    there.on("error", () => response.destroy());
    response.on("close", () => there.destroy());
    request.pipe(there);
    return;
  }
  if (path === "/api/v1/stream") {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    // A request with this header gets what a replica that does not decide sends.
    const standby = request.headers["x-standby"] ? { floorPerHour: null, lastDecision: null, leader: false, leaderName: request.headers["x-standby"] } : {};
    const send = (message) => response.write(`data: ${JSON.stringify(message.strip ? { ...message, strip: { ...message.strip, ...standby } } : message)}\n\n`);
    send(cluster.snapshot());
    send({ type: "pending", version: 1, groups: cluster.pending() });
    clients.add(send);
    request.on("close", () => clients.delete(send));
    return;
  }
  if (path.startsWith("/api/v1/")) {
    let body = "";
    for await (const chunk of request) body += chunk;
    const [status, answer] = cluster.answer(path.slice(8), url.searchParams, body);
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(answer));
    return;
  }
  try {
    const file = await readFile(join(root, path === "/" ? "index.html" : path));
    response.writeHead(200, { "Content-Type": types[extname(path) || ".html"], "Content-Security-Policy": csp, "Cache-Control": "no-cache" });
    response.end(file);
  } catch {
    response.writeHead(404).end();
  }
}).listen(Number(args.port ?? 5173), "127.0.0.1", () => console.log(`http://127.0.0.1:${args.port ?? 5173}/`));

setInterval(() => {
  if (!clients.size) return;
  for (const message of cluster.tick()) for (const send of clients) send(message);
}, Number(args.every ?? 1000));
