// The state of the page in its address: #/view?key=value. Every state can be linked to.

export const views = ["fleet", "pending", "decisions", "pools", "capacity", "cost", "whatif", "trends"] as const;
export type View = (typeof views)[number];

export interface Route {
  view: View;
  /** Parameters by key. A parameter that has its default value is missing. */
  params: Record<string, string>;
}

const order = ["at", "q", "node", "episode", "pod", "pool", "group", "size", "as", "by", "since"];

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const mark = text.indexOf("?");
  const name = mark < 0 ? text : text.slice(0, mark);
  const view = (views as readonly string[]).includes(name) ? (name as View) : "fleet";
  const params: Record<string, string> = {};
  if (mark >= 0) {
    for (const [key, value] of new URLSearchParams(text.slice(mark + 1))) if (value) params[key] = value;
  }
  return { view, params };
}

export function formatRoute(route: Route): string {
  const keys = Object.keys(route.params)
    .filter((key) => route.params[key])
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const query = keys.map((key) => `${key}=${encode(route.params[key])}`).join("&");
  return `#/${route.view}${query ? "?" + query : ""}`;
}

function rank(key: string): number {
  const i = order.indexOf(key);
  return i < 0 ? order.length : i;
}

/** Encodes a value for the address, but leaves slashes, colons and commas readable. */
function encode(value: string): string {
  return encodeURIComponent(value).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",");
}

/**
 * Returns the route of another view. The moment and the search stay, but selections belong to one view and are dropped. So are terms
 * of the search that only nodes can match.
 */
export function changeView(route: Route, view: View): Route {
  const { at, q } = route.params;
  const params: Record<string, string> = {};
  if (at) params.at = at;
  const terms = view === "fleet" ? q : q?.split(/\s+/).filter((term) => !/^(kept|state):/i.test(term)).join(" ");
  if (terms) params.q = terms;
  return { view, params };
}

export function changeParams(route: Route, change: Record<string, string | undefined>): Route {
  const params = { ...route.params };
  for (const [key, value] of Object.entries(change)) {
    if (value) params[key] = value;
    else delete params[key];
  }
  return { view: route.view, params };
}
