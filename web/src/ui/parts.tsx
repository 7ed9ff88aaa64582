// Small parts that all views share.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Failure } from "../client";
import { set } from "../router";
import { announcement, now } from "../store";
import { age, clock, iso, unknown } from "../format";

export function Value({ text, title }: { text: string; title?: string }) {
  return text === unknown ? <span class="unknown" title={title ?? "unknown"} aria-label="unknown">{unknown}</span> : <span title={title}>{text}</span>;
}

/** A time in the time zone of the browser. Its title is the whole time in UTC. */
export function Clock({ time, seconds = true }: { time: string | number | null | undefined; seconds?: boolean }) {
  return <time title={iso(time) || undefined}>{clock(time, now.value, seconds)}</time>;
}

/** How long ago a time was. Its title is the time. */
export function Age({ time, until = now.value }: { time: string | null | undefined; until?: number }) {
  return <time title={iso(time) || undefined}>{age(time, until)}</time>;
}

/**
 * A bar that shows a share, and at its end the share of nodes that are still launching. A full bar is good, so no colour warns of
 * it.
 */
export function Meter({ used, coming = 0, label }: { used: number | null; coming?: number; label: string }) {
  const width = Math.max(0, Math.min(1, used ?? 0));
  return (
    <div class={"meter" + (used === null ? " meter-unknown" : "")} role="img" aria-label={label}>
      <i style={{ width: `${width * 100}%` }} />
      {coming > 0 && <b style={{ left: `${(1 - coming) * 100}%`, width: `${coming * 100}%` }} />}
    </div>
  );
}

export function Badge({ kind, children }: { kind: string; children: ComponentChildren }) {
  return <span class={"badge badge-" + kind}>{children}</span>;
}

export function CapacityMark({ type }: { type: string }) {
  return <span class={"mark mark-" + type} aria-hidden="true" />;
}

export function Section({ title, note, children, id }: { title: string; note?: ComponentChildren; children: ComponentChildren; id?: string }) {
  return (
    <section class="section" id={id}>
      <header><h2>{title}</h2>{note !== undefined && <span class="note">{note}</span>}</header>
      {children}
    </section>
  );
}

/** What a view shows if it has no data: a picture of empty tiles, a sentence and the next step. */
export function Blank({ title, text, action, busy }: { title: string; text?: ComponentChildren; action?: ComponentChildren; busy?: boolean }) {
  return (
    <div class={"blank" + (busy ? " busy" : "")} role={busy ? "status" : undefined}>
      <svg viewBox="0 0 96 56" width="96" height="56" aria-hidden="true">
        {[0, 1, 2].map((i) => <rect key={i} x={4 + i * 31} y="8" width="26" height="40" rx="5" style={{ animationDelay: `${i * 0.16}s` }} />)}
      </svg>
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {action}
    </div>
  );
}

/** What a view shows if nothing in it matches the search, which may be that of another view. */
export function NoMatch({ title }: { title: string }) {
  return <Blank title={title} action={<button type="button" class="button" onClick={() => set({ q: undefined })}>Clear the search</button>} />;
}

export function Failed({ failure, retry }: { failure: Failure; retry?: () => void }) {
  return (
    <div class="blank failed" role="alert">
      <svg viewBox="0 0 96 56" width="96" height="56" aria-hidden="true">
        <rect x="4" y="8" width="26" height="40" rx="5" /><rect x="66" y="8" width="26" height="40" rx="5" />
        <path d="M38 20l20 16M58 20L38 36" />
      </svg>
      <h2>{failure.message}</h2>
      {failure.fix && <p>{failure.fix}</p>}
      {retry && <button type="button" class="button" onClick={retry}>Try again</button>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return <Blank busy title={`Loading ${what}`} />;
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const t = setTimeout(() => setDone(false), 1600);
    return () => clearTimeout(t);
  }, [done]);
  return (
    <button type="button" class="button small" onClick={() => void copy(text).then((ok) => { setDone(ok); announcement.value = ok ? "copied" : "copying is not allowed here"; })}>
      {done ? "Copied" : label}
    </button>
  );
}

/**
 * Copies a text. The clipboard API works only with HTTPS or on localhost. Otherwise a text area and the copy command are used.
 */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const ok = document.execCommand("copy");
    area.remove();
    return ok;
  }
}

export function Choice<T extends string>({ label, value, options, onChange }: {
  label: string;
  value: T;
  options: readonly { value: T; text: string }[];
  onChange: (value: T) => void;
}) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(e) => onChange(e.currentTarget.value as T)}>
        {options.map((o) => <option key={o.value} value={o.value}>{o.text}</option>)}
      </select>
    </label>
  );
}

/**
 * A list whose rows have equal heights. Only the visible rows are in the document. One row is active; arrow keys choose another.
 */
export function VirtualList<T>({ items, rowHeight, label, role, row, active, onActive, onOpen, header, class: cls = "", keyOf, steady = false }: {
  items: T[];
  rowHeight: number;
  label: string;
  role: "listbox" | "grid";
  row: (item: T, index: number) => ComponentChildren;
  keyOf: (item: T) => string;
  active: string;
  onActive?: (key: string) => void;
  onOpen: (key: string) => void;
  header?: ComponentChildren;
  class?: string;
  /** Whether visible rows stay in their place when rows before them are added or removed, unless the list is at its beginning. */
  steady?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<[number, number]>([0, 40]);
  const [cursor, setCursor] = useState("");
  const at = cursor || active;
  const top = useRef<{ key: string; index: number } | null>(null);
  const note = () => {
    const index = Math.floor(box.current!.scrollTop / rowHeight);
    top.current = box.current!.scrollTop > 0 && items[index] !== undefined ? { key: keyOf(items[index]), index } : null;
  };
  useLayoutEffect(() => {
    if (!steady) return;
    const before = top.current;
    const index = before ? items.findIndex((item) => keyOf(item) === before.key) : -1;
    if (before && index >= 0 && index !== before.index) box.current!.scrollTop += (index - before.index) * rowHeight;
    note();
  }, [items]);
  const measure = () => {
    const el = box.current;
    if (!el) return;
    note();
    const first = Math.max(0, Math.floor(el.scrollTop / rowHeight) - 6);
    const last = Math.ceil((el.scrollTop + el.clientHeight) / rowHeight) + 6;
    setRange((old) => (old[0] === first && old[1] === last ? old : [first, last]));
  };
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [rowHeight]);
  useEffect(() => setCursor(""), [active]);
  const reveal = (index: number) => {
    const el = box.current!;
    const head = header ? rowHeight : 0;
    if (index * rowHeight < el.scrollTop) el.scrollTop = index * rowHeight;
    else if ((index + 1) * rowHeight + head > el.scrollTop + el.clientHeight) el.scrollTop = (index + 1) * rowHeight + head - el.clientHeight;
  };
  useEffect(() => {
    const index = active ? items.findIndex((item) => keyOf(item) === active) : -1;
    if (index >= 0) reveal(index);
  }, [active, items.length > 0]);
  const key = (e: KeyboardEvent) => {
    const index = items.findIndex((item) => keyOf(item) === at);
    const page = Math.max(1, Math.floor(box.current!.clientHeight / rowHeight) - 1);
    const steps: Record<string, number> = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: items.length - 1, PageDown: index + page, PageUp: index - page };
    if (e.key === "Enter" || e.key === " ") {
      if (index >= 0) onOpen(at);
    } else if (e.key in steps && items.length) {
      const next = Math.max(0, Math.min(items.length - 1, steps[e.key]));
      setCursor(keyOf(items[next]));
      onActive?.(keyOf(items[next]));
      reveal(next);
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const [first, last] = [Math.min(range[0], items.length), Math.min(range[1], items.length)];
  const current = items.slice(first, last).some((item) => keyOf(item) === at) ? "row-" + at : undefined;
  const rows = items.slice(first, last).map((item, i) => {
    const k = keyOf(item);
    return (
      <div key={k} id={"row-" + k} class={"row" + (k === active ? " selected" : "") + (k === at ? " active" : "")} style={{ height: rowHeight + "px" }}
        role={role === "grid" ? "row" : "option"} aria-selected={k === active}
        aria-posinset={role === "listbox" ? first + i + 1 : undefined} aria-setsize={role === "listbox" ? items.length : undefined}
        aria-rowindex={role === "grid" ? first + i + 2 : undefined} onClick={() => onOpen(k)}>
        {row(item, first + i)}
      </div>
    );
  });
  return (
    <div ref={box} class={"virtual " + cls} role={role} aria-label={label} tabIndex={0} aria-activedescendant={current}
      aria-rowcount={role === "grid" ? items.length + 1 : undefined} onScroll={measure} onKeyDown={key}>
      {header}
      <div role={role === "grid" ? "rowgroup" : "presentation"} style={{ paddingTop: first * rowHeight + "px", paddingBottom: (items.length - last) * rowHeight + "px" }}>
        {rows}
      </div>
    </div>
  );
}
