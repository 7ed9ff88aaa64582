// Requests to the controller: JSON, and the stream of changes, which is opened again after a failure.
import type { ApiError, Message } from "./api";
import { backoff, EventParser } from "./events";

const base = new URL("api/v1/", document.baseURI);
const tokenKey = "karpenter-token";

let token = "";
try {
  token = sessionStorage.getItem(tokenKey) ?? "";
} catch {
  // If the browser forbids storage, the token lasts until the page is closed.
}

export function setToken(value: string): void {
  token = value.trim();
  try {
    if (token) sessionStorage.setItem(tokenKey, token);
    else sessionStorage.removeItem(tokenKey);
  } catch {
    // The token lasts until the page is closed.
  }
}

/** A request failed: the controller answered with an HTTP status, or it cannot be reached (status 0). */
export class Failure extends Error {
  constructor(readonly status: number, message: string, readonly fix: string) {
    super(message);
  }
}

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token) headers.set("Authorization", "Bearer " + token);
  let response: Response;
  try {
    response = await fetch(new URL(path, base), { ...init, headers, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Failure(0, "The controller cannot be reached.", "Check that it runs and that the port is forwarded.");
  }
  if (response.ok) return response;
  let body: Partial<ApiError> = {};
  try {
    body = await response.json();
  } catch {
    // The response is not JSON if it is the page of a proxy.
  }
  throw new Failure(response.status, body.error || `The controller answered ${response.status}.`, body.fix || "");
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await request(path, { signal })).json();
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await request(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json" },
    signal,
  });
  return response.json();
}

/** Milliseconds without data after which the stream counts as broken. The controller sends a comment more often. */
const silence = 40_000;

export interface StreamEvents {
  message(message: Message): void;
  open(): void;
  /** Called when the stream ends. retryAt is the time of the next attempt, or 0 if only retry makes one. */
  lost(failure: Failure, retryAt: number): void;
}

/** Follows the stream until it is stopped, and connects again after each failure. */
export class Stream {
  private abort: AbortController | null = null;
  private timer = 0;
  private attempt = 0;
  private stopped = false;

  constructor(private readonly events: StreamEvents) {}

  start(): void {
    this.stopped = false;
    void this.connect();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.abort?.abort();
  }

  /** Connects at once, for example after the user has entered a token. */
  retry(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.attempt = 0;
    void this.connect();
  }

  private async connect(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    let watchdog = 0;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = window.setTimeout(() => abort.abort(), silence);
    };
    try {
      alive();
      const response = await request("stream", { signal: abort.signal, headers: { Accept: "text/event-stream" } });
      const reader = response.body!.getReader();
      const decoder = new TextDecoder();
      const parser = new EventParser((data) => {
        const message = JSON.parse(data) as Message;
        if (message.type === "snapshot") this.attempt = 0;
        this.events.message(message);
      });
      this.events.open();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        alive();
        parser.feed(decoder.decode(value, { stream: true }));
      }
      throw new Failure(0, "The controller closed the stream.", "");
    } catch (error) {
      if (this.stopped || this.abort !== abort) return;
      const failure = error instanceof Failure ? error : new Failure(0, "The stream broke.", "");
      const final = failure.status === 401 || failure.status === 403;
      const delay = backoff(this.attempt++, Math.random());
      this.events.lost(failure, final ? 0 : Date.now() + delay);
      if (!final) this.timer = window.setTimeout(() => void this.connect(), delay);
    } finally {
      clearTimeout(watchdog);
    }
  }
}
