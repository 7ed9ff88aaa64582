import assert from "node:assert/strict";
import { test } from "node:test";
import { News, pause } from "../../src/news";

test("changes are told at once after a pause, and otherwise as one summary", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const said: string[] = [];
  const news = new News((text) => said.push(text));
  news.nodes(0, 0);
  assert.deepEqual(said, []);
  news.nodes(1, 0);
  assert.deepEqual(said.splice(0), ["1 node added"]);
  for (let i = 0; i < 23; i++) news.nodes(2, 1);
  news.decided("delete a");
  news.decided("launch 2 nodes");
  assert.deepEqual(said, []);
  mock.timers.tick(pause);
  assert.deepEqual(said.splice(0), ["46 nodes added, 23 removed, 2 changes of decisions, the last: launch 2 nodes"]);
  mock.timers.tick(pause);
  news.decided("delete b");
  news.nodes(0, 1);
  mock.timers.tick(pause);
  assert.deepEqual(said, ["delete b", "1 node removed"]);
});
