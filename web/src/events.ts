// Parses server-sent events, and computes the delay before the page connects again. Nothing here does input or output.

/**
 * Delay before the next attempt: half a second, doubled each time up to 15 s, plus up to a quarter so that not all viewers
 * connect at once.
 */
export function backoff(attempt: number, random: number): number {
  return Math.min(15_000, 500 * 2 ** Math.min(attempt, 8)) * (1 + random / 4);
}

/** Splits a stream of server-sent events into the data of its events. */
export class EventParser {
  private rest = "";
  private data: string[] = [];

  constructor(private readonly emit: (data: string) => void) {}

  feed(chunk: string): void {
    const lines = (this.rest + chunk).split("\n");
    this.rest = lines.pop()!;
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (this.data.length) this.emit(this.data.join("\n"));
        this.data = [];
      } else if (line.startsWith("data:")) this.data.push(line.slice(line[5] === " " ? 6 : 5));
    }
  }
}
