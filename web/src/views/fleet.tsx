import { useEffect, useRef, useState } from "preact/hooks";
import type { FleetNode } from "../api";
import { count, cpu, dollars, memory, perHour, percent, plural, shortName } from "../format";
import { FleetCanvas } from "../fleetview";
import { groupings, move, sizeFor, sizes, type Grouping, type Move, type Size } from "../layout";
import { pastFailure, retryPast, shownFleet } from "../replay";
import { params, set } from "../router";
import { matchNode, matchOwners, parseQuery } from "../search";
import { announcement, connection, strip } from "../store";
import { fullness } from "../tiles";
import { Blank, CapacityMark, Choice, Failed, Loading, Value, VirtualList } from "../ui/parts";
import { useWide } from "../ui/use";
import { theme } from "../ui/theme";

const groupTexts: Record<Grouping, string> = { pool: "NodePool", zone: "zone", type: "instance type", capacity: "capacity type", state: "state" };
const sizeTexts: Record<Size, string> = { large: "large", medium: "medium", small: "small", tiny: "overview" };

export function grouping(): Grouping {
  const by = params.value.group as Grouping;
  return groupings.includes(by) ? by : "pool";
}

function chosenSize(): Size | "" {
  const size = params.value.size as Size;
  return sizes.includes(size) ? size : "";
}

/** One sentence about a node, as a screen reader says it. */
export function describe(node: FleetNode): string {
  const full = fullness(node);
  return [
    shortName(node.name || node.id), node.type, node.capacityType, node.zone, node.state,
    plural(node.pods.length, "pod"), full === null ? "requests unknown" : percent(full) + " requested",
    node.dollarsPerHour === null ? "price unknown" : perHour(node.dollarsPerHour), node.keptBy ? "kept by " + node.keptBy : "",
  ].filter(Boolean).join(", ");
}

function Tip({ node, x, y, box }: { node: FleetNode; x: number; y: number; box: DOMRect }) {
  const full = fullness(node);
  const { allocatable: a, requested: r } = node;
  const left = Math.min(x + 16, box.width - 268);
  const below = y < box.height - 190;
  return (
    <div class="tip" aria-hidden="true" style={{ left: Math.max(8, left) + "px", ...(below ? { top: y + 18 + "px" } : { bottom: box.height - y + 12 + "px" }) }}>
      <strong>{shortName(node.name || node.id)}</strong>
      <div class="tip-line">{node.type} <CapacityMark type={node.capacityType} /> {node.capacityType} {node.zone}</div>
      <dl>
        <dt>cpu</dt><dd>{cpu(r.cpu)} of <Value text={a.cpu ? cpu(a.cpu) : "—"} /></dd>
        <dt>memory</dt><dd>{memory(r.memory)} of <Value text={a.memory ? memory(a.memory) : "—"} /></dd>
        {a.gpu > 0 && <><dt>gpu</dt><dd>{count(r.gpu)} of {count(a.gpu)}</dd></>}
        <dt>requested</dt><dd><Value text={percent(full)} /></dd>
        <dt>pods</dt><dd>{count(node.pods.length)}</dd>
        <dt>price</dt><dd><Value text={perHour(node.dollarsPerHour)} /></dd>
        {node.state !== "initialized" && <><dt>state</dt><dd>{node.state}</dd></>}
        {node.keptBy && <><dt>stays</dt><dd>{node.keptBy}</dd></>}
      </dl>
    </div>
  );
}

const moves: Record<string, Move> = {
  ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", Home: "home", End: "end", PageUp: "pageup", PageDown: "pagedown",
};

/** Tiles of a fleet on a canvas. For screen readers, a hidden option element has the text of the tile that has the focus. */
export function Tiles({ compact = false }: { compact?: boolean }) {
  const scroller = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<FleetCanvas | null>(null);
  const [focused, setFocused] = useState("");
  const [keyboard, setKeyboard] = useState(false);
  const [shown, setShown] = useState(-1);
  const [tip, setTip] = useState<{ node: FleetNode; x: number; y: number } | null>(null);
  const { fleet, version } = shownFleet();
  const p = params.value;
  const by = grouping();
  const size = chosenSize();
  const q = p.q ?? "";
  const selected = p.node ?? "";

  useEffect(() => {
    const view = new FleetCanvas(scroller.current!, space.current!, canvas.current!);
    view.onLayout = (layout) => setShown(layout.nodes.length);
    drawing.current = view;
    return () => view.stop();
  }, []);
  useEffect(() => {
    drawing.current!.show({
      fleet, by, query: parseQuery(q), selected, focused: keyboard ? focused : "",
      size: (nodes, width) => size || (compact && nodes > 20 ? "small" : sizeFor(nodes, width)),
    });
  }, [fleet, version, by, size, q, selected, focused, keyboard, compact]);
  useEffect(() => drawing.current!.retheme(), [theme.value]);
  useEffect(() => {
    if (!selected) return;
    // Waits for the next frame, because only then the layout is there.
    const frame = requestAnimationFrame(() => {
      const index = drawing.current!.indexOf(selected);
      if (index >= 0) drawing.current!.reveal(index);
    });
    return () => cancelAnimationFrame(frame);
  }, [selected, fleet]);

  const onKey = (e: KeyboardEvent) => {
    const view = drawing.current!;
    const layout = view.layout;
    if (!layout || e.ctrlKey || e.metaKey || e.altKey) return;
    if ((e.key === "Enter" || e.key === " ") && focused) {
      set({ node: focused });
    } else if (e.key in moves) {
      const from = view.indexOf(focused);
      const index = from < 0 ? Math.max(0, view.indexOf(selected)) : move(layout, from, moves[e.key]);
      if (layout.nodes[index]) {
        setFocused(layout.nodes[index].id);
        setKeyboard(true);
        view.reveal(index);
        if (selected) set({ node: layout.nodes[index].id }, true);
      }
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const onPointer = (e: PointerEvent) => {
    const box = scroller.current!.getBoundingClientRect();
    const [x, y] = [e.clientX - box.left, e.clientY - box.top];
    const node = drawing.current!.at(x, y);
    drawing.current!.hover(node);
    scroller.current!.style.cursor = node ? "pointer" : "";
    setTip(node && e.pointerType === "mouse" ? { node, x, y } : null);
  };
  const leave = () => {
    drawing.current!.hover(null);
    setTip(null);
  };
  const onClick = (e: MouseEvent) => {
    const box = scroller.current!.getBoundingClientRect();
    const node = drawing.current!.at(e.clientX - box.left, e.clientY - box.top);
    setKeyboard(false);
    setFocused(node?.id ?? "");
    set({ node: node?.id === selected ? undefined : node?.id });
  };

  const layout = drawing.current?.layout;
  const index = focused && drawing.current ? drawing.current.indexOf(focused) : -1;
  const node = index >= 0 ? layout!.nodes[index] : layout?.nodes[0];
  return (
    <div class="tiles">
      <div ref={scroller} class="fleet-scroll" tabIndex={0} role="listbox" aria-label={`Nodes by ${groupTexts[by]}`}
        aria-activedescendant={node ? "fleet-option" : undefined} onKeyDown={onKey} onPointerMove={onPointer} onPointerLeave={leave}
        onClick={onClick} onScroll={() => tip && setTip(null)} onFocus={(e) => { if (e.currentTarget.matches(":focus-visible")) { setKeyboard(true); if (!focused && node) setFocused(node.id); } }}
        onBlur={() => setKeyboard(false)}>
        <div ref={space} class="fleet-space" role="presentation">
          <canvas ref={canvas} class="fleet-canvas" aria-hidden="true" />
        </div>
        {node && (
          <div id="fleet-option" class="hidden" role="option" aria-selected={node.id === selected} aria-posinset={Math.max(0, index) + 1} aria-setsize={shown}>
            {describe(node)}
          </div>
        )}
      </div>
      {tip && fleet.nodes.has(tip.node.id) && <Tip {...tip} node={fleet.nodes.get(tip.node.id)!} box={scroller.current!.getBoundingClientRect()} />}
      {shown === 0 && q && (
        <div class="over"><Blank title="No node matches" text={<>Nothing has <code>{q}</code> in its name, type, zone, NodePool, state or pods.</>}
          action={<button type="button" class="button" onClick={() => set({ q: undefined })}>Clear the search</button>} /></div>
      )}
    </div>
  );
}

type Column = { key: string; text: string; wide?: boolean; number?: boolean; value: (n: FleetNode) => string | number; show?: (n: FleetNode) => preact.ComponentChildren };

const columns: Column[] = [
  { key: "node", text: "Node", value: (n) => n.name || n.id, show: (n) => <code>{shortName(n.name || n.id)}</code> },
  { key: "type", text: "Type", value: (n) => n.type },
  { key: "pool", text: "NodePool", wide: true, value: (n) => n.pool },
  { key: "zone", text: "Zone", wide: true, value: (n) => n.zone },
  { key: "capacity", text: "Capacity", wide: true, value: (n) => n.capacityType, show: (n) => <><CapacityMark type={n.capacityType} /> {n.capacityType}</> },
  { key: "state", text: "State", wide: true, value: (n) => n.state },
  { key: "cpu", text: "CPU", number: true, value: (n) => (n.allocatable.cpu ? n.requested.cpu / n.allocatable.cpu : -1), show: (n) => <Value text={percent(n.allocatable.cpu ? n.requested.cpu / n.allocatable.cpu : null)} /> },
  { key: "memory", text: "Memory", number: true, wide: true, value: (n) => (n.allocatable.memory ? n.requested.memory / n.allocatable.memory : -1), show: (n) => <Value text={percent(n.allocatable.memory ? n.requested.memory / n.allocatable.memory : null)} /> },
  { key: "pods", text: "Pods", number: true, wide: true, value: (n) => n.pods.length },
  { key: "price", text: "$/h", number: true, value: (n) => n.dollarsPerHour ?? -1, show: (n) => <Value text={dollars(n.dollarsPerHour)} /> },
  { key: "kept", text: "Stays because", wide: true, value: (n) => n.keptBy },
];

function Table() {
  const { fleet } = shownFleet();
  const wide = useWide(900);
  const p = params.value;
  const [key, reverse] = (p.sort ?? "node").startsWith("-") ? [(p.sort ?? "").slice(1), true] : [p.sort ?? "node", false];
  const column = columns.find((c) => c.key === key) ?? columns[0];
  const shown = wide ? columns : columns.filter((c) => !c.wide);
  const query = parseQuery(p.q ?? "");
  let nodes = [...fleet.nodes.values()];
  if (query.terms.length) {
    const owners = matchOwners(query, fleet.owners);
    nodes = nodes.filter((n) => matchNode(query, n, owners));
  }
  nodes.sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    return (x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : 1) * (reverse ? -1 : 1);
  });
  const header = (
    <div class="row head" role="row" aria-rowindex={1}>
      {shown.map((c) => (
        <div key={c.key} role="columnheader" class={"cell" + (c.number ? " number" : "")} aria-sort={c === column ? (reverse ? "descending" : "ascending") : undefined}>
          <button type="button" onClick={() => set({ sort: c === column && !reverse ? "-" + c.key : c.key }, true)}>{c.text}{c === column ? (reverse ? " ↓" : " ↑") : ""}</button>
        </div>
      ))}
    </div>
  );
  return (
    <VirtualList class={"nodes" + (wide ? "" : " narrow")} role="grid" label="Nodes" rowHeight={36} items={nodes} keyOf={(n) => n.id} active={p.node ?? ""}
      onOpen={(id) => set({ node: id })} header={header}
      row={(n) => shown.map((c) => <div key={c.key} role="gridcell" class={"cell" + (c.number ? " number" : "")}>{c.show ? c.show(n) : c.value(n)}</div>)} />
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li><span class="swatch pod" />pod</li>
      <li><span class="swatch daemon" />DaemonSet</li>
      <li><span class="swatch blocker" />blocks disruption</li>
      <li><span class="swatch free" />free</li>
      <li><CapacityMark type="spot" />spot</li>
      <li><CapacityMark type="on-demand" />on-demand</li>
      <li><CapacityMark type="reserved" />reserved</li>
      <li><span class="ringed launching" />launching</li>
      <li><span class="ringed registered" />registered</li>
      <li><span class="ringed drifted" />drifted</li>
      <li><span class="ringed disrupting" />disrupting</li>
      <li><span class="ringed draining" />draining</li>
    </ul>
  );
}

export function FleetView() {
  const { fleet, past } = shownFleet();
  const as = params.value.as === "table" ? "table" : "tiles";
  if (pastFailure.value && params.value.at) {
    return <Failed failure={pastFailure.value} retry={retryPast} />;
  }
  if (params.value.at && !past) return <Loading what="the fleet" />;
  if (!past && !strip.value) {
    const c = connection.value;
    return c.state === "lost" ? <Failed failure={c.failure} /> : <Loading what="the fleet" />;
  }
  if (!fleet.nodes.size) {
    return <Blank title="No nodes" text="Karpenter launches nodes when pods are pending. Create a NodePool and a workload; nodes appear here by themselves." />;
  }
  return (
    <div class="fleet">
      <div class="toolbar">
        <Choice label="Group by" value={grouping()} options={groupings.map((g) => ({ value: g, text: groupTexts[g] }))} onChange={(g) => set({ group: g === "pool" ? undefined : g })} />
        {as === "tiles" && (
          <Choice label="Tiles" value={chosenSize()} onChange={(s) => set({ size: s || undefined })}
            options={[{ value: "" as Size | "", text: "automatic" }, ...sizes.map((s) => ({ value: s as Size | "", text: sizeTexts[s] }))]} />
        )}
        <div class="switch" role="group" aria-label="Show as">
          {(["tiles", "table"] as const).map((a) => (
            <button key={a} type="button" aria-pressed={a === as} onClick={() => { set({ as: a === "tiles" ? undefined : a }); announcement.value = "shown as " + a; }}>{a === "tiles" ? "Tiles" : "Table"}</button>
          ))}
        </div>
        {as === "tiles" && <Legend />}
      </div>
      {as === "tiles" ? <Tiles /> : <Table />}
    </div>
  );
}
