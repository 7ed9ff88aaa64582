// Draws tiles of nodes. A tile is drawn once into an offscreen bitmap and copied from there until the node changes.
import type { FleetNode, NodeState } from "./api";
import { dollars, percent, shortName } from "./format";
import { squarify, type Metrics, type Size } from "./layout";

export interface Palette {
  page: string;
  tile: string;
  line: string;
  text: string;
  muted: string;
  free: string;
  pod: string;
  podLine: string;
  daemon: string;
  daemonLine: string;
  blocker: string;
  match: string;
  focus: string;
  states: Record<NodeState, string>;
  sans: string;
  mono: string;
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue("--" + name).trim();
  return {
    page: of("page"), tile: of("panel"), line: of("line"), text: of("text"), muted: of("muted"), free: of("free"),
    pod: of("pod"), podLine: of("pod-line"), daemon: of("daemon"), daemonLine: of("daemon-line"), blocker: of("blocker"),
    match: of("match"), focus: of("focus"),
    states: {
      launching: of("state-launching"), registered: of("state-registered"), initialized: of("line"), drifted: of("state-drifted"),
      disrupting: of("state-disrupting"), draining: of("state-draining"), unmanaged: of("state-unmanaged"),
    },
    sans: of("sans"), mono: of("mono"),
  };
}

/** The requested share of the resource of which the largest share is requested; null if no allocatable amount is known. */
export function fullness(node: FleetNode): number | null {
  const { allocatable: a, requested: r } = node;
  if (a.cpu <= 0 && a.memory <= 0) return null;
  return Math.max(a.cpu > 0 ? r.cpu / a.cpu : 0, a.memory > 0 ? r.memory / a.memory : 0, a.gpu > 0 ? r.gpu / a.gpu : 0);
}

export interface Look {
  size: Size;
  tile: Metrics;
  palette: Palette;
  ratio: number;
  /** For each owner of pods, 1 if the search matches it. null if it matches no owner. */
  matched: Uint8Array | null;
}

type Context = CanvasRenderingContext2D;

const rects = new Float32Array(4 * 512);

/**
 * Draws pods as blocks: workloads from the largest on, then DaemonSets. The area of a block is the pod's dominant share of the
 * node.
 */
function drawBlocks(c: Context, node: FleetNode, look: Look, x: number, y: number, width: number, height: number, gap: number): void {
  const { palette } = look;
  c.fillStyle = palette.free;
  c.fillRect(x, y, width, height);
  const pods = node.pods.slice(0, 512).sort((a, b) => (a[1] === 1 ? 1 : 0) - (b[1] === 1 ? 1 : 0) || b[0] - a[0]);
  if (!pods.length) return;
  let total = 0;
  const values = pods.map(([share]) => {
    const v = Math.max(share, 0.002);
    total += v;
    return v;
  });
  squarify(values, x, y, width * Math.min(1, total), height, rects);
  pods.forEach(([, kind, owner], i) => {
    const bx = rects[i * 4];
    const by = rects[i * 4 + 1];
    const bw = Math.max(0.75, rects[i * 4 + 2] - gap);
    const bh = Math.max(0.75, rects[i * 4 + 3] - gap);
    const matched = look.matched !== null && look.matched[owner] === 1;
    c.fillStyle = matched ? palette.match : kind === 1 ? palette.daemon : palette.pod;
    c.fillRect(bx, by, bw, bh);
    if (kind === 1 && bw > 2 && bh > 2) {
      c.save();
      c.beginPath();
      c.rect(bx, by, bw, bh);
      c.clip();
      c.strokeStyle = palette.daemonLine;
      c.lineWidth = 1;
      c.beginPath();
      for (let d = -bh; d < bw; d += 4) {
        c.moveTo(bx + d, by + bh);
        c.lineTo(bx + d + bh, by);
      }
      c.stroke();
      c.restore();
    } else if (kind === 2) {
      c.strokeStyle = palette.blocker;
      c.lineWidth = Math.min(2, bw / 2, bh / 2);
      const w = c.lineWidth;
      c.strokeRect(bx + w / 2, by + w / 2, bw - w, bh - w);
    }
  });
}

/**
 * Draws a hollow diamond for spot, a filled circle for on-demand, and a filled square for reserved. Other capacity types have no
 * mark.
 */
export function drawCapacityMark(c: Context, type: string, x: number, y: number, r: number, color: string): void {
  c.fillStyle = c.strokeStyle = color;
  c.lineWidth = 1.5;
  c.beginPath();
  if (type === "spot") {
    c.moveTo(x, y - r);
    c.lineTo(x + r, y);
    c.lineTo(x, y + r);
    c.lineTo(x - r, y);
    c.closePath();
    c.stroke();
  } else if (type === "on-demand") {
    c.arc(x, y, r * 0.8, 0, 2 * Math.PI);
    c.fill();
  } else if (type === "reserved") {
    c.fillRect(x - r * 0.75, y - r * 0.75, r * 1.5, r * 1.5);
  }
}

const widths = new Map<string, string>();

function fit(c: Context, text: string, width: number): string {
  if (width <= 0) return "";
  const key = c.font + "|" + width.toFixed() + "|" + text;
  const known = widths.get(key);
  if (known !== undefined) return known;
  let cut = text;
  if (c.measureText(text).width > width) {
    let low = 0;
    let high = text.length;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (c.measureText(text.slice(0, mid) + "…").width <= width) low = mid;
      else high = mid - 1;
    }
    cut = low ? text.slice(0, low) + "…" : "";
  }
  if (widths.size > 20_000) widths.clear();
  widths.set(key, cut);
  return cut;
}

function right(c: Context, text: string, x: number, y: number): number {
  const w = c.measureText(text).width;
  c.fillText(text, x - w, y);
  return w;
}

/** Shortens a name to a width. It cuts the beginning, because the names of nodes differ at the end. */
function fitEnd(c: Context, text: string, width: number): string {
  if (c.measureText(text).width <= width) return text;
  let cut = text;
  while (cut.length > 1 && c.measureText("…" + cut).width > width) cut = cut.slice(1);
  return "…" + cut;
}

const words: Record<NodeState, string> = {
  launching: "launching", registered: "registered", initialized: "", drifted: "drifted", disrupting: "disrupting",
  draining: "draining", unmanaged: "unmanaged",
};

function drawFrame(c: Context, node: FleetNode, palette: Palette, width: number, height: number, radius: number): void {
  const plain = node.state === "initialized";
  const line = plain ? 1 : node.state === "unmanaged" ? 1 : 2;
  c.beginPath();
  c.roundRect(line / 2, line / 2, width - line, height - line, radius);
  c.fillStyle = palette.tile;
  c.fill();
  c.strokeStyle = palette.states[node.state];
  c.lineWidth = line;
  c.setLineDash(node.state === "launching" ? [4, 3] : node.state === "draining" ? [2, 2] : node.state === "unmanaged" ? [1, 2] : []);
  c.stroke();
  c.setLineDash([]);
}

/** Draws a triangle in the corner of a small tile if the node is in a state after which it will be removed. */
function drawCorner(c: Context, node: FleetNode, palette: Palette, width: number, r: number): void {
  if (node.state !== "drifted" && node.state !== "disrupting" && node.state !== "draining") return;
  c.fillStyle = palette.states[node.state];
  c.beginPath();
  c.moveTo(width - r, 0);
  c.lineTo(width, 0);
  c.lineTo(width, r);
  c.closePath();
  c.fill();
}

export function drawTile(c: Context, node: FleetNode, look: Look): void {
  const { size, tile, palette } = look;
  const { width, height } = tile;
  const leaving = node.state === "draining" || node.state === "disrupting";
  c.textBaseline = "alphabetic";
  if (size === "tiny") {
    drawFrame(c, node, palette, width, height, 3);
    const full = fullness(node);
    const inner = height - 6;
    c.fillStyle = palette.free;
    c.fillRect(3, 3, width - 6, inner);
    if (full !== null) {
      const h = Math.max(full > 0 ? 1 : 0, Math.min(1, full) * inner);
      const lit = look.matched !== null && node.pods.some((pod) => look.matched![pod[2]] === 1);
      c.fillStyle = lit ? palette.match : palette.pod;
      c.fillRect(3, 3 + inner - h, width - 6, h);
    }
    drawCorner(c, node, palette, width, 7);
    return;
  }
  if (size === "small") {
    drawFrame(c, node, palette, width, height, 5);
    if (leaving) c.globalAlpha = 0.55;
    drawBlocks(c, node, look, 4, 4, width - 8, height - 12, 0.75);
    c.globalAlpha = 1;
    drawCapacityMark(c, node.capacityType, 6.5, height - 5, 2.5, palette.muted);
    const full = fullness(node);
    if (full !== null) {
      c.fillStyle = palette.line;
      c.fillRect(12, height - 6, width - 16, 2);
      c.fillStyle = palette.muted;
      c.fillRect(12, height - 6, (width - 16) * Math.min(1, full), 2);
    }
    drawCorner(c, node, palette, width, 11);
    return;
  }
  const large = size === "large";
  const pad = large ? 11 : 8;
  drawFrame(c, node, palette, width, height, large ? 9 : 7);
  const full = fullness(node);
  const word = words[node.state];
  if (large) {
    drawCapacityMark(c, node.capacityType, width - pad - 4, 17, 4.5, palette.muted);
    c.font = `600 12px ${palette.mono}`;
    c.fillStyle = palette.text;
    c.fillText(fitEnd(c, shortName(node.name || node.id), width - 2 * pad - 16), pad, 21);
    c.font = `12px ${palette.sans}`;
    c.fillStyle = palette.muted;
    const zone = right(c, fit(c, node.zone, width / 2), width - pad, 38);
    c.fillText(fit(c, node.type, width - 2 * pad - zone - 8), pad, 38);
    if (leaving) c.globalAlpha = 0.5;
    drawBlocks(c, node, look, pad, 47, width - 2 * pad, 28, 1);
    c.globalAlpha = 1;
    c.font = `12px ${palette.sans}`;
    c.fillStyle = palette.text;
    const price = dollars(node.dollarsPerHour) + (node.dollarsPerHour === null ? "" : "/h");
    c.fillText(price, pad, height - 11);
    const room = width - 2 * pad - c.measureText(price).width - 10;
    if (word) {
      c.font = `600 11px ${palette.sans}`;
      c.fillStyle = palette.states[node.state];
      right(c, fit(c, word, room), width - pad, height - 11);
    } else {
      c.fillStyle = palette.muted;
      right(c, fit(c, full === null ? "—" : percent(full), room), width - pad, height - 11);
    }
    return;
  }
  drawCapacityMark(c, node.capacityType, width - pad - 3, 14, 3.5, palette.muted);
  c.font = `11px ${palette.sans}`;
  c.fillStyle = palette.text;
  c.fillText(fit(c, node.type, width - 2 * pad - 12), pad, 18);
  if (leaving) c.globalAlpha = 0.5;
  drawBlocks(c, node, look, pad, 25, width - 2 * pad, 20, 0.75);
  c.globalAlpha = 1;
  c.fillStyle = palette.muted;
  const price = dollars(node.dollarsPerHour);
  c.fillText(price, pad, height - 8);
  if (word) {
    c.fillStyle = palette.states[node.state];
    right(c, fit(c, word, width - 2 * pad - c.measureText(price).width - 6), width - pad, height - 8);
  } else right(c, full === null ? "—" : percent(full), width - pad, height - 8);
}

interface Slot {
  page: HTMLCanvasElement;
  x: number;
  y: number;
  node: FleetNode | null;
}

/**
 * Bitmaps of tiles. The bitmap that was not used for the longest time is dropped first. All tiles of a frame are drawn into their
 * bitmaps before the first bitmap is copied, because a browser copies a whole canvas if it is changed after it was copied from.
 */
export class Atlas {
  private look: Look | null = null;
  private readonly slots = new Map<string, Slot>();
  private free: Slot[] = [];
  private pages: HTMLCanvasElement[] = [];
  private w = 0;
  private h = 0;
  private need = 0;

  /** Starts a frame that needs this number of bitmaps. If the look has changed, all bitmaps are dropped. */
  begin(look: Look, need: number): void {
    const old = this.look;
    this.need = need;
    if (
      old && old.size === look.size && old.tile.width === look.tile.width && old.palette === look.palette &&
      old.ratio === look.ratio && old.matched === look.matched
    ) return;
    this.look = look;
    this.w = Math.ceil(look.tile.width * look.ratio);
    this.h = Math.ceil(look.tile.height * look.ratio);
    this.slots.clear();
    this.free = [];
    this.pages.length = 0;
  }

  private addPage(): void {
    const page = document.createElement("canvas");
    const columns = Math.max(1, Math.floor(640 / this.w));
    const rows = Math.max(1, Math.floor(512 / this.h));
    page.width = columns * this.w;
    page.height = rows * this.h;
    this.pages.push(page);
    for (let i = columns * rows - 1; i >= 0; i--) {
      this.free.push({ page, x: (i % columns) * this.w, y: Math.floor(i / columns) * this.h, node: null });
    }
  }

  private take(): Slot {
    if (!this.free.length) {
      // The oldest bitmap is used for another node, unless this frame may need it.
      if (this.slots.size > Math.max(64, this.need * 2)) {
        const [id, slot] = this.slots.entries().next().value!;
        this.slots.delete(id);
        return slot;
      }
      this.addPage();
    }
    return this.free.pop()!;
  }

  /** Draws the bitmap of a node, unless it has one and has not changed since. */
  prepare(node: FleetNode): void {
    const look = this.look!;
    let slot = this.slots.get(node.id);
    if (slot) this.slots.delete(node.id);
    else slot = this.take();
    this.slots.set(node.id, slot);
    if (slot.node !== node) {
      const p = slot.page.getContext("2d")!;
      p.setTransform(1, 0, 0, 1, 0, 0);
      p.clearRect(slot.x, slot.y, this.w, this.h);
      p.setTransform(look.ratio, 0, 0, look.ratio, slot.x, slot.y);
      drawTile(p, node, look);
      slot.node = node;
    }
  }

  /** Copies the bitmap of a prepared node. */
  draw(c: Context, node: FleetNode, x: number, y: number): void {
    const slot = this.slots.get(node.id);
    if (!slot) return;
    const { ratio } = this.look!;
    c.drawImage(slot.page, slot.x, slot.y, this.w, this.h, x, y, this.w / ratio, this.h / ratio);
  }
}
