// Texts of amounts. The text of a value that is not known is an em dash, never 0.

export const unknown = "—";

const grouped = new Intl.NumberFormat("en-US");
const fixed = new Map<number, Intl.NumberFormat>();

function digits(value: number, n: number): string {
  let f = fixed.get(n);
  if (!f) {
    f = new Intl.NumberFormat("en-US", { minimumFractionDigits: n, maximumFractionDigits: n });
    fixed.set(n, f);
  }
  return f.format(value);
}

function missing(value: number | null | undefined): value is null | undefined {
  return value === null || value === undefined || !Number.isFinite(value);
}

/** A count with separators for thousands. */
export function count(value: number | null | undefined): string {
  return missing(value) ? unknown : grouped.format(Math.round(value));
}

/** A number with its noun: "1 node", "2 nodes". */
export function plural(n: number, one: string, many = one + "s"): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A price in dollars. Below one dollar it has four digits after the point, so that prices of small instance types differ. */
export function dollars(value: number | null | undefined): string {
  if (missing(value)) return unknown;
  const size = Math.abs(value);
  if (size > 0 && size < 0.00005) return (value < 0 ? "−" : "") + "<$0.0001";
  const text = digits(size, size === 0 ? 0 : size < 1 ? 4 : size < 1000 ? 2 : 0);
  return (value < 0 ? "−$" : "$") + text;
}

export function perHour(value: number | null | undefined): string {
  return missing(value) ? unknown : dollars(value) + "/h";
}

/** A price per hour that is compared with another one: with cents, so that a small change of a large price is seen. */
export function perHourExact(value: number | null | undefined): string {
  return missing(value) || Math.abs(value) < 1000 ? perHour(value) : (value < 0 ? "−$" : "$") + digits(Math.abs(value), 2) + "/h";
}

/** The price of several nodes, and how many of them have no known price and are not in it. */
export function sumPerHour(value: number | null | undefined, unpriced: number): string {
  return missing(value) || !unpriced ? perHour(value) : `${perHour(value)} and ${count(unpriced)} unpriced`;
}

/** The price of a month of 730 hours, from the price of an hour. */
export function perMonth(value: number | null | undefined): string {
  if (missing(value)) return unknown;
  const month = Math.abs(value * 730);
  return (value < 0 ? "−$" : "$") + digits(month, month < 10 && month > 0 ? 2 : 0) + "/month";
}

/** A difference with its sign. */
export function change(value: number | null | undefined, text: (v: number) => string): string {
  if (missing(value)) return unknown;
  if (value === 0) return "±0";
  return (value > 0 ? "+" : "−") + text(Math.abs(value));
}

/** A share of 0 to 1 in percent. Shares that are not 0 are never shown as 0%, and those below 1 never as 100%. */
export function percent(share: number | null | undefined, places = 0): string {
  if (missing(share)) return unknown;
  // A sum of fractions may differ from 1 by a rounding error.
  const value = Math.abs(share - 1) < 1e-9 ? 100 : share * 100;
  const step = 10 ** -places;
  if (value > 0 && value < step / 2) return "<" + digits(step, places) + "%";
  if (value < 100 && value > 100 - step / 2) return ">" + digits(100 - step, places) + "%";
  return digits(value, places) + "%";
}

/** How much more a price is than a lower bound, from a share of it: +2.1%, +85%, and from ten times the bound on 123×. */
export function above(share: number | null | undefined): string {
  if (missing(share)) return unknown;
  return share >= 9 ? count(share + 1) + "×" : "+" + percent(Math.max(0, share), share < 0.1 ? 1 : 0);
}

/** a of b as a share; null if b is 0 or one of them is not known. */
export function share(a: number | null | undefined, b: number | null | undefined): number | null {
  return missing(a) || missing(b) || b <= 0 ? null : a / b;
}

/** Cores as people write them: 0.25, 7.5, 1,106. */
export function cpu(cores: number | null | undefined): string {
  if (missing(cores)) return unknown;
  return new Intl.NumberFormat("en-US", { maximumFractionDigits: cores < 10 ? 2 : cores < 100 ? 1 : 0 }).format(cores);
}

const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Memory in binary units: 512Mi, 7.5Gi. */
export function memory(bytes: number | null | undefined): string {
  if (missing(bytes)) return unknown;
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return new Intl.NumberFormat("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value) + units[unit];
}

/** "2 × gpu.example.com, all of fpga.example.com", the devices that ResourceClaims request. */
export function devices(list: { class: string; count: number | null }[]): string {
  return list.map((d) => (d.class ? (d.count === null ? d.class : `${count(d.count)} × ${d.class}`) : "devices of an unknown class")).join(", ");
}

/** "2 cpu, 4Gi memory", without what is 0. */
export function amounts(of: { cpu: number; memory: number; gpu: number }): string {
  const parts = [];
  if (of.cpu) parts.push(cpu(of.cpu) + " cpu");
  if (of.memory) parts.push(memory(of.memory) + " memory");
  if (of.gpu) parts.push(count(of.gpu) + " gpu");
  return parts.join(", ") || "nothing requested";
}

/** A duration in its two largest units. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return min < 10 && s % 60 ? `${min} min ${s % 60} s` : `${min} min`;
  const h = Math.floor(min / 60);
  if (h < 48) return min % 60 ? `${h} h ${min % 60} min` : `${h} h`;
  const d = Math.floor(h / 24);
  return d < 7 && h % 24 ? `${d} d ${h % 24} h` : `${d} d`;
}

/** A time of the API in milliseconds; null if it is not known. The zero time of Go (year 1) also means that it is not known. */
export function instant(time: string | null | undefined): number | null {
  if (!time || time.startsWith("0001-")) return null;
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? null : ms;
}

export function age(time: string | null | undefined, now: number): string {
  const ms = instant(time);
  return ms === null ? unknown : duration(now - ms);
}

/** A duration as Go writes it, but without units that are 0: 10h for 10h0m0s. */
export function goDuration(text: string): string {
  return text.replace(/(?<=[hm])0[ms](?=$|\d)/g, "");
}

/** An age in its largest unit only. */
export function rough(time: string | null | undefined, now: number): string {
  return age(time, now).split(" ").slice(0, 2).join(" ");
}

/** A time of today as 14:05:10, any other as 24 Nov 14:05, in the time zone of the browser. */
export function clock(time: string | number | null | undefined, now: number, seconds = true): string {
  const ms = typeof time === "number" ? time : instant(time);
  if (ms === null) return unknown;
  const date = new Date(ms);
  const hm = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: seconds ? "2-digit" : undefined });
  if (date.toDateString() === new Date(now).toDateString()) return hm;
  return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" }) + " " + hm.slice(0, 5);
}

/** The time zone of the browser at a time, as its distance to UTC: UTC, UTC+9, UTC−3:30. */
export function zone(ms: number, minutes = -new Date(ms).getTimezoneOffset()): string {
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${size % 60 ? ":" + String(size % 60).padStart(2, "0") : ""}`;
}

/** The whole time in UTC, as RFC 3339 in seconds; empty if it is not known. */
export function iso(time: string | number | null | undefined): string {
  const ms = typeof time === "number" ? time : instant(time);
  return ms === null ? "" : new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A node's name without its domain: ip-10-0-0-1 for ip-10-0-0-1.ec2.internal. */
export function shortName(name: string): string {
  const dot = name.indexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/** The family of an instance type: m7a for m7a.large, c for c-4x-amd64-linux. */
export function family(type: string): string {
  const dot = type.indexOf(".");
  if (dot > 0) return type.slice(0, dot);
  return type.split("-").slice(0, 1).join("-");
}
