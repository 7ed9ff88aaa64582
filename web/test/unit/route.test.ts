import assert from "node:assert/strict";
import { test } from "node:test";
import { changeParams, changeView, formatRoute, parseRoute, views } from "../../src/route";

test("every state survives the address", () => {
  for (const view of views) {
    const route = { view, params: { at: "2026-11-25T14:05:10Z", q: "zone:eu-west-1a shop/web & co", node: "default-x7k2p" } };
    assert.deepEqual(parseRoute(formatRoute(route)), route);
  }
});

test("an address of nonsense is the fleet", () => {
  assert.deepEqual(parseRoute(""), { view: "fleet", params: {} });
  assert.deepEqual(parseRoute("#/nowhere?x=&node=a"), { view: "fleet", params: { node: "a" } });
  assert.deepEqual(parseRoute("#"), { view: "fleet", params: {} });
});

test("the order of keys is fixed and readable", () => {
  assert.equal(formatRoute({ view: "fleet", params: { node: "a", at: "2026-11-25T14:05:10Z", zebra: "1" } }), "#/fleet?at=2026-11-25T14:05:10Z&node=a&zebra=1");
});

test("a change of the view keeps the moment and the search only", () => {
  const route = parseRoute("#/fleet?at=2026-11-25T14:05:10Z&q=shop&node=a&group=zone");
  assert.deepEqual(changeView(route, "cost"), { view: "cost", params: { at: "2026-11-25T14:05:10Z", q: "shop" } });
});

test("an empty value removes the key", () => {
  assert.deepEqual(changeParams(parseRoute("#/fleet?node=a&q=b"), { node: undefined }).params, { q: "b" });
});

test("terms that only nodes can match stay in the fleet", () => {
  const route = { view: "fleet" as const, params: { q: "kept:policy pool:default STATE:drifted" } };
  assert.deepEqual(changeView(route, "pending").params, { q: "pool:default" });
  assert.deepEqual(changeView(route, "fleet").params, route.params);
  assert.deepEqual(changeView({ view: "fleet", params: { q: "kept:policy" } }, "cost").params, {});
});
