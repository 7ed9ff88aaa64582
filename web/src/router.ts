// The current route as a signal. A selection adds an entry to the history of the browser. Typing in the search changes the last
// entry.
import { computed, signal } from "@preact/signals";
import { changeParams, changeView, formatRoute, parseRoute, type View } from "./route";

export const route = signal(parseRoute(location.hash));
export const view = computed(() => route.value.view);
export const params = computed(() => route.value.params);

function follow(): void {
  if (formatRoute(route.value) !== location.hash) route.value = parseRoute(location.hash);
}
window.addEventListener("hashchange", follow);
window.addEventListener("popstate", follow);

function go(next: ReturnType<typeof parseRoute>, replace: boolean): void {
  const hash = formatRoute(next);
  if (hash !== location.hash) {
    if (replace) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
  }
  route.value = next;
}

export function setView(to: View): void {
  go(changeView(route.value, to), false);
}

export function set(change: Record<string, string | undefined>, replace = false): void {
  go(changeParams(route.value, change), replace);
}

export function link(change: Record<string, string | undefined>, to?: View): string {
  return formatRoute(changeParams(to ? changeView(route.value, to) : route.value, change));
}
