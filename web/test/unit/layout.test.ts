import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetNode } from "../../src/api";
import { arrange, fitting, groupOf, hit, move, shorten, sizeFor, sizes, squarify, tileRect, visible } from "../../src/layout";

function node(i: number, pool: string): FleetNode {
  return {
    id: "n" + String(i).padStart(5, "0"), name: "node-" + i, pool, zone: "z" + (i % 3), type: "m7a.large", capacityType: "spot", arch: "amd64", state: "initialized",
    allocatable: { cpu: 2, memory: 8, gpu: 0 }, requested: { cpu: 1, memory: 4, gpu: 0 }, dollarsPerHour: 0.1, keptBy: "", created: "2026-01-01T00:00:00Z", pods: [],
  };
}

const nodes = Array.from({ length: 500 }, (_, i) => node(i, i % 5 === 0 ? "" : "pool-" + (i % 4)));

test("every tile is found at its middle, and nothing between tiles", () => {
  for (const size of sizes) for (const width of [390, 1280, 2560]) {
    const layout = arrange(nodes, "pool", size, width);
    assert.equal(layout.nodes.length, nodes.length);
    for (const group of layout.groups) for (let i = group.start; i < group.end; i++) {
      const r = tileRect(layout, group, i);
      assert.equal(hit(layout, r.x + r.width / 2, r.y + r.height / 2), i);
      assert.notEqual(hit(layout, r.x + r.width + layout.tile.gap / 2, r.y + 1), i);
      assert.ok(r.x >= 0 && r.x + r.width <= width, `tile ${i} of ${size} leaves the page of ${width}`);
      assert.equal(groupOf(layout, i), group);
    }
  }
});

test("the visible ranges are those of all tiles that meet the window", () => {
  const layout = arrange(nodes, "zone", "small", 800);
  for (let top = 0; top < layout.height; top += 97) {
    const bottom = top + 300;
    const found = new Set<number>();
    for (const { start, end } of visible(layout, top, bottom)) for (let i = start; i < end; i++) found.add(i);
    for (const group of layout.groups) for (let i = group.start; i < group.end; i++) {
      const r = tileRect(layout, group, i);
      if (r.y < bottom && r.y + r.height > top) assert.ok(found.has(i), `tile ${i} is missing at ${top}`);
    }
    assert.ok(found.size < 250, "far more tiles than are visible");
  }
});

test("nodes without a NodePool are last, and others in order of names", () => {
  const keys = arrange(nodes, "pool", "small", 800).groups.map((g) => g.key);
  assert.deepEqual(keys, ["pool-0", "pool-1", "pool-2", "pool-3", ""]);
});

test("a new node takes the last place of its group", () => {
  const before = arrange(nodes, "pool", "small", 800);
  const late = { ...node(9999, "pool-1"), created: "2026-02-01T00:00:00Z" };
  const after = arrange([late, ...nodes], "pool", "small", 800);
  const [g0, g1] = [before.groups[1], after.groups[1]];
  assert.deepEqual(after.nodes.slice(g1.start, g1.end - 1), before.nodes.slice(g0.start, g0.end));
  assert.equal(after.nodes[g1.end - 1], late);
});

test("arrows reach every tile, and up undoes down within a group", () => {
  const layout = arrange(nodes, "pool", "small", 800);
  let at = 0;
  const seen = new Set([0]);
  for (let i = 0; i < nodes.length; i++) seen.add((at = move(layout, at, "right")));
  assert.equal(seen.size, nodes.length);
  assert.equal(move(layout, at, "right"), nodes.length - 1);
  assert.equal(move(layout, 0, "left"), 0);
  assert.equal(move(layout, move(layout, 3, "down"), "up"), 3);
  assert.equal(move(layout, 3, "end"), nodes.length - 1);
  assert.equal(move(layout, -1, "down"), 0);
  const rows = new Set<number>();
  for (let i = 0; i !== move(layout, i, "down"); i = move(layout, i, "down")) rows.add(i);
  assert.ok(layout.groups.every((g) => [...rows].some((i) => i >= g.start && i < g.end)), "down skips a group");
  assert.equal(move(arrange([], "pool", "small", 800), 0, "down"), -1);
});

test("many nodes get small tiles", () => {
  assert.equal(sizeFor(10, 1280), "large");
  assert.equal(sizeFor(200, 1280), "medium");
  assert.equal(sizeFor(5000, 1280), "small");
});

test("blocks fill their rectangle in proportion and do not overlap", () => {
  const values = [5, 3, 3, 2, 1, 1, 0.5, 0.1];
  const out = new Float32Array(values.length * 4);
  squarify(values, 10, 20, 120, 40, out);
  const total = values.reduce((a, b) => a + b);
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    const [x, y, w, h] = out.subarray(i * 4, i * 4 + 4);
    assert.ok(Math.abs(w * h - (values[i] / total) * 4800) < 0.5, `area of block ${i}`);
    assert.ok(x >= 9.99 && y >= 19.99 && x + w <= 130.01 && y + h <= 60.01, `block ${i} leaves its rectangle`);
    sum += w * h;
    for (let j = 0; j < i; j++) {
      const [a, b, c, d] = out.subarray(j * 4, j * 4 + 4);
      assert.ok(x >= a + c - 0.01 || a >= x + w - 0.01 || y >= b + d - 0.01 || b >= y + h - 0.01, `blocks ${i} and ${j} overlap`);
    }
  }
  assert.ok(Math.abs(sum - 4800) < 1);
});

test("the header of a group leaves out other parts before the price", () => {
  const widths = [50, 60, 90, 70];
  assert.deepEqual(fitting(widths, 10, 310, [1, 2, 0]), [0, 1, 2, 3]);
  assert.deepEqual(fitting(widths, 10, 309, [1, 2, 0]), [0, 2, 3]);
  assert.deepEqual(fitting(widths, 10, 200, [1, 2, 0]), [0, 3]);
  assert.deepEqual(fitting(widths, 10, 20, [1, 2, 0]), [3]);
  assert.equal(shorten("default", 7, (t) => t.length), "default");
  assert.equal(shorten("default", 5, (t) => t.length), "defa…");
  assert.equal(shorten("default", 0, (t) => t.length), "d…");
});
