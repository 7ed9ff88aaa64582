import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetNode } from "../../src/api";
import { backoff, EventParser } from "../../src/events";
import { FleetState, lacksPrice } from "../../src/fleetstate";
import { matchNode, matchOwners, matchText, parseQuery } from "../../src/search";
import { week } from "../../src/week";
import { toRequest } from "../../src/whatif";

function node(id: string, pods: [number, 0 | 1 | 2, number][], more: Partial<FleetNode> = {}): FleetNode {
  return {
    id, name: "ip-" + id, pool: "default", zone: "a", type: "m7a.large", capacityType: "spot", arch: "amd64", state: "initialized",
    allocatable: { cpu: 2, memory: 8, gpu: 0 }, requested: { cpu: 1, memory: 4, gpu: 0 }, dollarsPerHour: 0.1, keptBy: "pdb", created: "2026-01-01T00:00:00Z", pods, ...more,
  };
}

test("owners of each message are numbered anew", () => {
  const fleet = new FleetState();
  fleet.replace({ owners: ["shop/Deployment/web", "shop/Deployment/api"], nodes: [node("a", [[0.5, 0, 1]])] });
  fleet.apply(["data/StatefulSet/db", "shop/Deployment/api"], [node("b", [[0.5, 2, 0], [0.1, 0, 1]])], [], 0);
  const owner = (id: string, pod: number) => fleet.owners[fleet.nodes.get(id)!.pods[pod][2]];
  assert.equal(owner("a", 0), "shop/Deployment/api");
  assert.equal(owner("b", 0), "data/StatefulSet/db");
  assert.equal(owner("b", 1), "shop/Deployment/api");
});

test("a delta replaces, adds and removes by id, and says whether the layout changes", () => {
  const fleet = new FleetState();
  fleet.replace({ owners: [], nodes: [node("a", []), node("b", [])] });
  const shape = fleet.shape;
  assert.deepEqual(fleet.apply([], [node("a", [], { requested: { cpu: 2, memory: 4, gpu: 0 } })], [], 0), { came: 0, went: 0 });
  assert.equal(fleet.shape, shape);
  assert.equal(fleet.nodes.get("a")!.requested.cpu, 2);
  assert.deepEqual(fleet.apply([], [node("c", [])], ["b", "unknown"], 0), { came: 1, went: 1 });
  assert.notEqual(fleet.shape, shape);
  assert.deepEqual([...fleet.nodes.keys()], ["a", "c"]);
});

test("events are found however the stream is cut", () => {
  const text = ': hello\n\ndata: {"a":1}\n\ndata: one\r\ndata: two\r\n\r\nid: 7\ndata:three\n\n';
  for (let cut = 1; cut < text.length; cut++) {
    const found: string[] = [];
    const parser = new EventParser((data) => found.push(data));
    for (let i = 0; i < text.length; i += cut) parser.feed(text.slice(i, i + cut));
    assert.deepEqual(found, ['{"a":1}', "one\ntwo", "three"]);
  }
});

test("attempts are spaced further and further, up to a bound", () => {
  const delays = Array.from({ length: 12 }, (_, i) => backoff(i, 0));
  assert.deepEqual(delays.slice(0, 4), [500, 1000, 2000, 4000]);
  assert.equal(Math.max(...delays), 15_000);
  assert.equal(backoff(0, 1), 625);
});

test("terms must all match; a key looks at one property", () => {
  const owners = ["shop/Deployment/web", "data/StatefulSet/db"];
  const n = node("a", [[0.5, 0, 0]]);
  const match = (text: string) => { const q = parseQuery(text); return matchNode(q, n, matchOwners(q, owners)); };
  assert.ok(match(""));
  assert.ok(match("M7A spot"));
  assert.ok(match("shop"));
  assert.ok(match("owner:web kept:pdb pool:def"));
  assert.ok(!match("owner:db"));
  assert.ok(!match("zone:spot"));
  assert.ok(!match("m7a data"));
  assert.ok(match("pool:"));
  assert.ok(matchText(parseQuery("limit gpu"), "NodePool gpu", "limit is used up"));
});

test("a window over midnight is in both days", () => {
  const start = new Date(2026, 10, 25, 12).getTime();
  const at = (day: number, hour: number) => new Date(2026, 10, day, hour).toISOString();
  const days = week([{ windows: [[at(25, 22), at(26, 2)]] }, { windows: [[at(20, 0), at(25, 6)]] }, { windows: [] }], start);
  assert.equal(days.length, 7);
  assert.deepEqual(days[0].bars, [{ budget: 0, from: 22, to: 24 }, { budget: 1, from: 0, to: 6 }]);
  assert.deepEqual(days[1].bars, [{ budget: 0, from: 0, to: 2 }]);
  assert.deepEqual(days[2].bars, []);
});

test("the form of What-if becomes a request or names its mistake", () => {
  assert.deepEqual(toRequest({ manifests: "kind: X", without: "a, b c", prices: "m7a.large=0.05, c7a.large/a/spot=$0" }), {
    request: { manifests: "kind: X", withoutNodes: ["a", "b", "c"], prices: { "m7a.large": 0.05, "c7a.large/a/spot": 0 } },
  });
  for (const prices of ["m7a.large", "m7a.large=", "m7a.large=x", "=3", "m7a.large=-1"]) assert.ok("problem" in toRequest({ manifests: "", without: "", prices }), prices);
  assert.ok("problem" in toRequest({ manifests: " ", without: "", prices: "" }));
});

test("a node without a known price counts from its launch on", () => {
  assert.ok(lacksPrice(node("a", [], { dollarsPerHour: null })));
  assert.ok(!lacksPrice(node("a", [])));
  assert.ok(!lacksPrice(node("a", [], { dollarsPerHour: null, type: "", state: "launching" })));
  assert.ok(!lacksPrice(node("a", [], { dollarsPerHour: null, state: "unmanaged" })));
});
