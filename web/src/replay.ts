// The fleet at an earlier moment, if the address names one.
import { effect, signal } from "@preact/signals";
import type { History } from "./api";
import { Failure, get } from "./client";
import { params } from "./router";
import { FleetState } from "./fleetstate";
import { connection, fleetVersion, live, strip } from "./store";

/** Moments that the controller keeps, oldest first; null until they were asked for. */
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
    if (error instanceof Failure) pastFailure.value = error;
  }
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
  if (known) past.value = known;
  else void load(at);
});

/** Asks which moments are kept. */
export async function loadMoments(): Promise<void> {
  try {
    moments.value = (await get<History>("history")).moments;
  } catch (error) {
    if (!(error instanceof Failure)) return;
    if (error.status === 404) moments.value = []; // nothing is kept yet
    else pastFailure.value = error;
  }
}

export function shownFleet(): { fleet: FleetState; version: number; past: boolean } {
  const version = fleetVersion.value;
  const then = past.value;
  return then && params.value.at ? { fleet: then.fleet, version: -1, past: true } : { fleet: live, version, past: false };
}

export function shownStrip() {
  const then = past.value;
  return then && params.value.at ? then.history.strip : strip.value;
}

/** True before the first snapshot. */
export function waiting(): boolean {
  return strip.value === null && connection.value.state !== "live";
}
