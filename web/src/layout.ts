// Computes the places of the tiles of the fleet from the nodes and the width of the view. The functions have no state.
import type { FleetNode } from "./api";

export const groupings = ["pool", "zone", "type", "capacity", "state"] as const;
export type Grouping = (typeof groupings)[number];

export const sizes = ["large", "medium", "small", "tiny"] as const;
export type Size = (typeof sizes)[number];

export interface Metrics {
  width: number;
  height: number;
  gap: number;
}

/** The sizes of tiles in CSS pixels. */
export const tileMetrics: Record<Size, Metrics> = {
  large: { width: 196, height: 104, gap: 10 },
  medium: { width: 126, height: 66, gap: 7 },
  small: { width: 46, height: 46, gap: 5 },
  tiny: { width: 18, height: 18, gap: 3 },
};

export const headerHeight = 38;
export const groupGap = 18;
export const padding = 16;

/**
 * Chooses the size of the tiles. Larger tiles have more text, but with many nodes the tiles are smaller, so that most are
 * visible.
 */
export function sizeFor(nodes: number, width: number): Size {
  const roomy = width >= 700 ? 1 : 0.4;
  if (nodes <= 60 * roomy) return "large";
  if (nodes <= 300 * roomy) return "medium";
  return "small";
}

export function groupKey(node: FleetNode, by: Grouping): string {
  switch (by) {
    case "pool": return node.pool;
    case "zone": return node.zone;
    case "type": return node.type;
    case "capacity": return node.capacityType;
    case "state": return node.state;
  }
}

export interface Group {
  key: string;
  /** The nodes of the group are those of Layout.nodes from index start to index end - 1. */
  start: number;
  end: number;
  /** The y coordinate of the top of the header. */
  y: number;
  height: number;
}

export interface Layout {
  nodes: FleetNode[];
  groups: Group[];
  columns: number;
  /** The x coordinate of the first column. */
  left: number;
  tile: Metrics;
  width: number;
  height: number;
}

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Sorts the nodes of a group by age, the oldest first, so that tiles keep their places when nodes are added. */
function before(a: FleetNode, b: FleetNode): number {
  return a.created < b.created ? -1 : a.created > b.created ? 1 : a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

export function arrange(nodes: Iterable<FleetNode>, by: Grouping, size: Size, width: number): Layout {
  const byKey = new Map<string, FleetNode[]>();
  for (const node of nodes) {
    const key = groupKey(node, by);
    const list = byKey.get(key);
    if (list) list.push(node);
    else byKey.set(key, [node]);
  }
  const keys = [...byKey.keys()].sort((a, b) => (a === "" ? 1 : b === "" ? -1 : a < b ? -1 : a > b ? 1 : 0));

  const tile = { ...tileMetrics[size] };
  const room = Math.max(tile.width, width - 2 * padding);
  const columns = Math.max(1, Math.floor((room + tile.gap) / (tile.width + tile.gap)));
  // Large and medium tiles are stretched so that they fill the row.
  if (size === "large" || size === "medium") tile.width = Math.floor((room - (columns - 1) * tile.gap) / columns);
  // A single column is as wide as a phone at most.
  if (columns > 1 && tile.width > tileMetrics[size].width * 1.4 || tile.width > tileMetrics[size].width * 2) tile.width = Math.floor(tileMetrics[size].width * 1.4);

  const all: FleetNode[] = [];
  const groups: Group[] = [];
  let y = 0;
  for (const key of keys) {
    const list = byKey.get(key)!.sort(before);
    const rows = Math.ceil(list.length / columns);
    const height = headerHeight + rows * (tile.height + tile.gap) - tile.gap;
    groups.push({ key, start: all.length, end: all.length + list.length, y, height });
    for (const node of list) all.push(node);
    y += height + groupGap;
  }
  return { nodes: all, groups, columns, left: padding, tile, width, height: groups.length ? y - groupGap + padding : 0 };
}

/** The rectangle of a tile. */
export function tileRect(layout: Layout, group: Group, index: number): Rect {
  const i = index - group.start;
  const { tile, columns, left } = layout;
  return {
    x: left + (i % columns) * (tile.width + tile.gap),
    y: group.y + headerHeight + Math.floor(i / columns) * (tile.height + tile.gap),
    width: tile.width,
    height: tile.height,
  };
}

export function groupOf(layout: Layout, index: number): Group | undefined {
  let low = 0;
  let high = layout.groups.length - 1;
  while (low <= high) {
    const mid = (low + high) >> 1;
    const group = layout.groups[mid];
    if (index < group.start) high = mid - 1;
    else if (index >= group.end) low = mid + 1;
    else return group;
  }
  return undefined;
}

/** The groups that are visible between the y coordinates top and bottom, and for each the indices of its visible tiles. */
export function visible(layout: Layout, top: number, bottom: number): { group: Group; start: number; end: number }[] {
  const found = [];
  const row = layout.tile.height + layout.tile.gap;
  let low = 0;
  let high = layout.groups.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (layout.groups[mid].y + layout.groups[mid].height < top) low = mid + 1;
    else high = mid;
  }
  for (let g = low; g < layout.groups.length && layout.groups[g].y <= bottom; g++) {
    const group = layout.groups[g];
    const first = Math.max(0, Math.floor((top - group.y - headerHeight) / row));
    const last = Math.floor((bottom - group.y - headerHeight) / row);
    found.push({
      group,
      start: Math.min(group.end, group.start + first * layout.columns),
      end: Math.max(group.start, Math.min(group.end, group.start + (last + 1) * layout.columns)),
    });
  }
  return found;
}

/** The index of the tile at a point, or -1 if there is none. */
export function hit(layout: Layout, x: number, y: number): number {
  for (const { group } of visible(layout, y, y)) {
    const { tile, columns, left } = layout;
    const column = Math.floor((x - left) / (tile.width + tile.gap));
    const row = Math.floor((y - group.y - headerHeight) / (tile.height + tile.gap));
    if (column < 0 || column >= columns || row < 0) continue;
    const index = group.start + row * columns + column;
    if (index >= group.end) continue;
    const rect = tileRect(layout, group, index);
    if (x < rect.x + rect.width && y < rect.y + rect.height) return index;
  }
  return -1;
}

export type Move = "left" | "right" | "up" | "down" | "home" | "end" | "pageup" | "pagedown";

/** The index of the tile to which a key moves the focus. Up and down stay in the column, also into another group. */
export function move(layout: Layout, index: number, to: Move, page = 5): number {
  const last = layout.nodes.length - 1;
  if (last < 0) return -1;
  if (index < 0 || index > last) return 0;
  switch (to) {
    case "left": return Math.max(0, index - 1);
    case "right": return Math.min(last, index + 1);
    case "home": return 0;
    case "end": return last;
    case "pageup": case "pagedown": {
      let at = index;
      for (let i = 0; i < page; i++) at = move(layout, at, to === "pageup" ? "up" : "down");
      return at;
    }
  }
  const group = groupOf(layout, index)!;
  const column = (index - group.start) % layout.columns;
  const g = layout.groups.indexOf(group);
  if (to === "down") {
    if (index + layout.columns < group.end) return index + layout.columns;
    const lastRow = Math.floor((group.end - 1 - group.start) / layout.columns);
    if (Math.floor((index - group.start) / layout.columns) < lastRow) return group.end - 1;
    const next = layout.groups[g + 1];
    return next ? Math.min(next.end - 1, next.start + column) : index;
  }
  if (index - layout.columns >= group.start) return index - layout.columns;
  const previous = layout.groups[g - 1];
  if (!previous) return index;
  const lastRow = Math.floor((previous.end - 1 - previous.start) / layout.columns);
  return Math.min(previous.end - 1, previous.start + lastRow * layout.columns + column);
}

/**
 * Divides a rectangle into one rectangle for each value, in the order of the values (squarified treemap). The areas are in
 * proportion to the values. For each value, x, y, width and height are written into out.
 */
export function squarify(values: number[], x: number, y: number, width: number, height: number, out: Float32Array): void {
  let total = 0;
  for (const value of values) total += value;
  if (total <= 0 || width <= 0 || height <= 0) return;
  const scale = (width * height) / total;
  let i = 0;
  while (i < values.length) {
    const side = Math.min(width, height);
    let sum = 0;
    let min = Infinity;
    let max = 0;
    let worst = Infinity;
    let j = i;
    for (; j < values.length; j++) {
      const area = values[j] * scale;
      const s = sum + area;
      const lo = Math.min(min, area);
      const hi = Math.max(max, area);
      const ratio = Math.max((side * side * hi) / (s * s), (s * s) / (side * side * lo));
      if (ratio > worst) break;
      sum = s;
      min = lo;
      max = hi;
      worst = ratio;
    }
    const thick = sum / side;
    let at = 0;
    for (; i < j; i++) {
      const length = (values[i] * scale) / thick;
      if (width >= height) out.set([x, y + at, thick, length], i * 4);
      else out.set([x + at, y, length, thick], i * 4);
      at += length;
    }
    if (width >= height) {
      x += thick;
      width -= thick;
    } else {
      y += thick;
      height -= thick;
    }
  }
}

/**
 * Returns which of the parts of a line fit into its room, by index. Parts are left out in the order of drop until the others fit, each
 * with a gap before it.
 */
export function fitting(widths: number[], gap: number, room: number, drop: number[]): number[] {
  const kept = new Set(widths.keys());
  const width = () => [...kept].reduce((sum, i) => sum + widths[i] + gap, 0);
  for (const i of drop) {
    if (width() <= room) break;
    kept.delete(i);
  }
  return [...kept];
}

/** Returns the text, or as much of its beginning as fits with an ellipsis. */
export function shorten(text: string, room: number, width: (text: string) => number): string {
  if (width(text) <= room) return text;
  let n = text.length - 1;
  while (n > 1 && width(text.slice(0, n) + "…") > room) n--;
  return text.slice(0, n) + "…";
}
