// What screen readers are told about the cluster. In a large cluster something changes twice a second, which nobody can listen to. So
// the first change is told at once, and those of the next seconds as one summary.
import { plural } from "./format";

/** The least time between two announcements in milliseconds. */
export const pause = 12_000;

export class News {
  private added = 0;
  private removed = 0;
  private decisions = 0;
  private decision = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly say: (text: string) => void) {}

  nodes(added: number, removed: number): void {
    if (!added && !removed) return;
    this.added += added;
    this.removed += removed;
    this.tell();
  }

  decided(decision: string): void {
    this.decisions++;
    this.decision = decision;
    this.tell();
  }

  private tell(): void {
    if (this.timer !== undefined) return;
    this.say(this.text());
    this.added = this.removed = this.decisions = 0;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.added || this.removed || this.decisions) this.tell();
    }, pause);
  }

  private text(): string {
    return [
      this.added && plural(this.added, "node") + " added", this.removed && (this.added ? `${this.removed} removed` : plural(this.removed, "node") + " removed"),
      this.decisions > 1 ? `${plural(this.decisions, "change")} of decisions, the last: ${this.decision}` : this.decisions && this.decision,
    ].filter(Boolean).join(", ");
  }
}
