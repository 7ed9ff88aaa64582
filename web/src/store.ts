// What the page knows about the cluster: its nodes, the summary, pending pods, decisions, and the state of the connection.
import { batch, signal } from "@preact/signals";
import type { Episode, Message, PendingGroup, Strip } from "./api";
import { Failure, Stream } from "./client";
import { FleetState } from "./fleetstate";
import { News } from "./news";

export type Connection =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "lost"; failure: Failure; retryAt: number }
  | { state: "token" | "denied"; failure: Failure };

export const live = new FleetState();
/** Grows with each change of live. A view reads it before live, so that it is drawn again after each change. */
export const fleetVersion = signal(0);
export const strip = signal<Strip | null>(null);
export const pending = signal<PendingGroup[] | null>(null);
export const episodes = signal<Episode[] | null>(null);
export const connection = signal<Connection>({ state: "connecting" });
/** When the last message of the stream arrived; 0 if there was none yet. */
export const lastMessage = signal(0);
/** The text that screen readers speak when it changes. */
export const announcement = signal("");
/** The current time, from which ages are computed. It changes once a second while the page is visible. */
export const now = signal(Date.now());

const news = new News((text) => (announcement.value = text));

/** The largest number of episodes that the page stores. */
const maxEpisodes = 1000;

export function addEpisode(episode: Episode): void {
  const list = episodes.value ?? [];
  const at = list.findIndex((e) => e.id === episode.id);
  if (at >= 0) {
    episodes.value = list.with(at, episode);
    return;
  }
  const place = list.findIndex((e) => e.time < episode.time);
  const next = list.slice();
  next.splice(place < 0 ? next.length : place, 0, episode);
  episodes.value = next.slice(0, maxEpisodes);
}

/** When the stream sent the last version of each episode. */
const streamed = new Map<string, number>();

/**
 * Adds episodes that a request returned, which was sent at asked. An episode that the stream has sent later is newer and is not
 * replaced. All others are, since the stream sends no changes that were made while it was disconnected.
 */
export function mergeEpisodes(list: Episode[], asked: number): void {
  const known = new Map((episodes.value ?? []).map((e) => [e.id, e]));
  for (const e of list) if ((streamed.get(e.id) ?? 0) <= asked) known.set(e.id, e);
  episodes.value = [...known.values()].sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0)).slice(0, maxEpisodes);
}

function receive(message: Message): void {
  const time = Date.now();
  switch (message.type) {
    case "snapshot":
      strip.value = message.strip;
      live.replace(message.fleet);
      fleetVersion.value++;
      break;
    case "strip":
      strip.value = message.strip;
      break;
    case "fleet": {
      const { came, went } = live.apply(message.owners, message.nodes, message.gone, time);
      fleetVersion.value++;
      news.nodes(came, went);
      break;
    }
    case "pending":
      pending.value = message.groups;
      break;
    case "episode":
      streamed.set(message.episode.id, time);
      addEpisode(message.episode);
      news.decided(message.episode.decision);
      break;
  }
  lastMessage.value = time;
}

export const stream = new Stream({
  open() {},
  message(message) {
    batch(() => {
      receive(message);
      if (connection.value.state !== "live") connection.value = { state: "live" };
    });
  },
  lost(failure, retryAt) {
    const before = connection.value.state;
    if (failure.status === 401) connection.value = { state: "token", failure };
    else if (failure.status === 403) connection.value = { state: "denied", failure };
    else connection.value = { state: "lost", failure, retryAt };
    if (before === "live") announcement.value = "disconnected";
  },
});

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
}
