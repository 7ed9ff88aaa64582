import assert from "node:assert/strict";
import { test } from "node:test";
import * as f from "../../src/format";

test("what is not known is a dash and never 0", () => {
  for (const text of [f.count, f.dollars, f.perHour, f.perMonth, f.percent, f.cpu, f.memory]) {
    assert.equal(text(null), "—");
    assert.equal(text(undefined), "—");
    assert.equal(text(NaN), "—");
    assert.notEqual(text(0), "—");
  }
  assert.equal(f.age("0001-01-01T00:00:00Z", 0), "—");
  assert.equal(f.clock(null, 0), "—");
  assert.equal(f.share(1, 0), null);
  assert.equal(f.share(null, 3), null);
});

test("dollars have four digits below one", () => {
  assert.equal(f.dollars(0.0864), "$0.0864");
  assert.equal(f.dollars(12.345), "$12.35");
  assert.equal(f.dollars(12345.6), "$12,346");
  assert.equal(f.dollars(-1.5), "−$1.50");
  assert.equal(f.perMonth(1), "$730/month");
  assert.equal(f.change(-0.1274, f.perHour), "−$0.1274/h");
  assert.equal(f.change(0, f.dollars), "±0");
});

test("a share that is neither 0 nor 1 is not shown as such", () => {
  assert.equal(f.percent(0), "0%");
  assert.equal(f.percent(1), "100%");
  assert.equal(f.percent(0.1 + 0.2 + 0.7 - Number.EPSILON), "100%");
  assert.equal(f.percent(0.0001), "<1%");
  assert.equal(f.percent(0.9999), ">99%");
  assert.equal(f.percent(0.0214, 1), "2.1%");
});

test("amounts are those of Kubernetes", () => {
  assert.equal(f.memory(8 * 2 ** 30), "8Gi");
  assert.equal(f.memory(1.5 * 2 ** 40), "1.5Ti");
  assert.equal(f.cpu(1106.31), "1,106");
  assert.equal(f.cpu(0.25), "0.25");
  assert.equal(f.amounts({ cpu: 2, memory: 2 ** 33, gpu: 1 }), "2 cpu, 8Gi memory, 1 gpu");
  assert.equal(f.amounts({ cpu: 0, memory: 0, gpu: 0 }), "nothing requested");
});

test("durations have two units", () => {
  assert.equal(f.duration(3_000), "3 s");
  assert.equal(f.duration(125_000), "2 min 5 s");
  assert.equal(f.duration(3_600_000 * 5), "5 h");
  assert.equal(f.duration(3_600_000 * 50), "2 d 2 h");
  assert.equal(f.duration(-5), "0 s");
  assert.equal(f.rough("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:02:05Z")), "2 min");
});

test("durations of Go lose what is 0", () => {
  assert.equal(f.goDuration("6h0m0s"), "6h");
  assert.equal(f.goDuration("1h30m0s"), "1h30m");
  assert.equal(f.goDuration("10m10s"), "10m10s");
  assert.equal(f.goDuration("0s"), "0s");
});

test("names and families", () => {
  assert.equal(f.shortName("ip-10-0-0-4.ec2.internal"), "ip-10-0-0-4");
  assert.equal(f.shortName("default-x7k2p"), "default-x7k2p");
  assert.equal(f.plural(1, "node"), "1 node");
  assert.equal(f.plural(1200, "node"), "1,200 nodes");
});

test("zones are distances to UTC, and whole times are in UTC", () => {
  assert.equal(f.zone(0, 0), "UTC");
  assert.equal(f.zone(0, 540), "UTC+9");
  assert.equal(f.zone(0, -210), "UTC−3:30");
  assert.equal(f.iso("2026-01-01T22:00:05.123456Z"), "2026-01-01T22:00:05Z");
  assert.equal(f.iso(0), "1970-01-01T00:00:00Z");
  assert.equal(f.iso("0001-01-01T00:00:00Z"), "");
});

test("a sum says how many prices are not in it", () => {
  assert.equal(f.sumPerHour(12.5, 0), "$12.50/h");
  assert.equal(f.sumPerHour(12.5, 9), "$12.50/h and 9 unpriced");
  assert.equal(f.sumPerHour(null, 9), "—");
});

test("prices that are compared have cents, however large they are", () => {
  assert.equal(f.perHourExact(100_000), "$100,000.00/h");
  assert.equal(f.perHourExact(99_999.8), "$99,999.80/h");
  assert.equal(f.perHourExact(-1234.5), "−$1,234.50/h");
  assert.equal(f.perHourExact(0.0864), "$0.0864/h");
  assert.equal(f.perHourExact(null), "—");
});

test("a price far above the lower bound is a multiple of it", () => {
  assert.equal(f.above(0.0214), "+2.1%");
  assert.equal(f.above(0.85), "+85%");
  assert.equal(f.above(-0.01), "+0.0%");
  assert.equal(f.above(8.99), "+899%");
  assert.equal(f.above(122), "123×");
  assert.equal(f.above(null), "—");
});
