// Search over nodes and texts. Terms are separated by spaces and all must match. key:value looks at one property of a node.
import type { FleetNode } from "./api";

export interface Query {
  terms: { key: string; value: string }[];
}

const keys = ["pool", "zone", "type", "capacity", "state", "kept", "owner", "arch", "node"];

export function parseQuery(text: string): Query {
  const terms = [];
  for (const word of text.toLowerCase().split(/\s+/)) {
    if (!word) continue;
    const colon = word.indexOf(":");
    const key = colon > 0 ? word.slice(0, colon) : "";
    if (keys.includes(key)) {
      if (colon + 1 < word.length) terms.push({ key, value: word.slice(colon + 1) });
    } else terms.push({ key: "", value: word });
  }
  return { terms };
}

function property(node: FleetNode, key: string): string {
  switch (key) {
    case "pool": return node.pool;
    case "zone": return node.zone;
    case "type": return node.type;
    case "capacity": return node.capacityType;
    case "state": return node.state;
    case "kept": return node.keptBy;
    case "arch": return node.arch;
    default: return node.name + " " + node.id;
  }
}

const texts = new WeakMap<FleetNode, string>();

function text(node: FleetNode): string {
  let t = texts.get(node);
  if (t === undefined) {
    t = [node.name, node.id, node.pool, node.zone, node.type, node.capacityType, node.state, node.keptBy, node.arch].join(" ").toLowerCase();
    texts.set(node, t);
  }
  return t;
}

/** For each term, which owners of pods it matches. It is computed once for a search, because many pods have the same owner. */
export function matchOwners(query: Query, owners: string[]): Uint8Array[] {
  return query.terms.map(({ key, value }) => {
    const hit = new Uint8Array(owners.length);
    if (key === "" || key === "owner") owners.forEach((owner, i) => (hit[i] = owner.toLowerCase().includes(value) ? 1 : 0));
    return hit;
  });
}

export function matchNode(query: Query, node: FleetNode, owners: Uint8Array[]): boolean {
  return query.terms.every(({ key, value }, i) => {
    if (key !== "owner") {
      if (key ? property(node, key).toLowerCase().includes(value) : text(node).includes(value)) return true;
      if (key) return false;
    }
    const hit = owners[i];
    for (const pod of node.pods) if (hit[pod[2]]) return true;
    return false;
  });
}

export function matchText(query: Query, ...values: string[]): boolean {
  const all = values.join(" ").toLowerCase();
  return query.terms.every(({ value }) => all.includes(value));
}
