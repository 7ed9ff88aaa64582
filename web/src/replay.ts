// Fetches the fleet at an earlier moment if the address of the page has one.
import { effect, signal } from "@preact/signals";
import type { History } from "./api";
import { Failure, get } from "./client";
import { params } from "./router";
import { FleetState } from "./fleetstate";
import { connection, fleetVersion, live, strip } from "./store";

/** The moments of which the controller stores the fleet, oldest first; null until they were fetched. */
export const moments = signal<string[] | null>(null);
export const past = signal<{ at: string; history: History; fleet: FleetState } | null>(null);
export const pastFailure = signal<Failure | null>(null);

const kept = new Map<string, { at: string; history: History; fleet: FleetState }>();
const maxKept = 24;

let abort: AbortController | null = null;

async function load(at: string): Promise<void> {
  abort?.abort();
  abort = new AbortController();
  try {
    const history = await get<History>("history?at=" + encodeURIComponent(at), abort.signal);
    const fleet = new FleetState();
    fleet.replace(history.fleet);
    moments.value = history.moments;
    const entry = { at, history, fleet };
    kept.set(at, entry);
    if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
    if (params.peek().at === at) past.value = entry;
    pastFailure.value = null;
  } catch (error) {
    if (!(error instanceof Failure)) return;
    pastFailure.value = error;
    past.value = null;
  }
}

/** Fetches the chosen moment again after a failure. */
export function retryPast(): void {
  const { at } = params.peek();
  if (at) void load(at);
}

effect(() => {
  const at = params.value.at ?? "";
  if (!at) {
    abort?.abort();
    past.value = null;
    pastFailure.value = null;
    return;
  }
  const known = kept.get(at);
  if (known) {
    abort?.abort();
    past.value = known;
    pastFailure.value = null;
  } else void load(at);
});

/** Fetches the moments. */
export async function loadMoments(): Promise<void> {
  try {
    moments.value = (await get<History>("history")).moments;
  } catch (error) {
    if (!(error instanceof Failure)) return;
    if (error.status === 404) moments.value = []; // the controller has stored no moment yet
    else pastFailure.value = error;
  }
}

export function shownFleet(): { fleet: FleetState; version: number; past: boolean } {
  const version = fleetVersion.value;
  const then = past.value;
  return then && params.value.at ? { fleet: then.fleet, version: -1, past: true } : { fleet: live, version, past: false };
}

/** The summary of now, or of the chosen moment; null if it is not known, also while the moment is fetched. */
export function shownStrip() {
  return params.value.at ? past.value?.history.strip ?? null : strip.value;
}

/** True until the first snapshot has arrived. */
export function waiting(): boolean {
  return strip.value === null && connection.value.state !== "live";
}
