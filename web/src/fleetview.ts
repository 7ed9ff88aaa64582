// The canvas of the fleet: draws the visible tiles, at most once per frame, and finds tiles under the pointer.
import type { FleetNode } from "./api";
import { count, percent, share, sumPerHour } from "./format";
import {
  arrange, fitting, groupOf, headerHeight, hit, padding, shorten, tileRect, visible, type Group, type Grouping, type Layout, type Size,
} from "./layout";
import { matchNode, matchOwners, type Query } from "./search";
import { lacksPrice, type FleetState } from "./fleetstate";
import { Atlas, readPalette, type Look, type Palette } from "./tiles";

export interface View {
  fleet: FleetState;
  by: Grouping;
  /** Chooses the size of the tiles from the number of nodes and the width of the canvas. */
  size: (nodes: number, width: number) => Size;
  query: Query;
  selected: string;
  /** The node whose tile has the keyboard focus; empty if the focus is elsewhere. */
  focused: string;
}

interface Sums {
  nodes: number;
  pods: number;
  fullness: number | null;
  dollars: number | null;
  unpriced: number;
}

const appear = 320;

export class FleetCanvas {
  layout: Layout | null = null;
  /** Called after each new layout. */
  onLayout: (layout: Layout) => void = () => {};
  private view: View | null = null;
  private readonly context: CanvasRenderingContext2D;
  private readonly atlas = new Atlas();
  private palette: Palette;
  private frame = 0;
  private shape = -1;
  private version = -1;
  private laidFor = "";
  private matched: Uint8Array | null = null;
  private sums = new Map<string, Sums>();
  private hovered = -1;
  private width = 0;
  private height = 0;
  private ratio = 1;
  private readonly resize: ResizeObserver;
  private readonly calm = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(
    private readonly scroller: HTMLElement,
    private readonly space: HTMLElement,
    private readonly canvas: HTMLCanvasElement,
  ) {
    this.context = canvas.getContext("2d")!;
    this.palette = readPalette(scroller);
    scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.resize = new ResizeObserver(() => this.fit());
    this.resize.observe(scroller);
    this.fit();
  }

  stop(): void {
    this.resize.disconnect();
    cancelAnimationFrame(this.frame);
  }

  show(view: View): void {
    this.view = view;
    this.schedule();
  }

  retheme(): void {
    this.palette = readPalette(this.scroller);
    this.schedule();
  }

  private fit(): void {
    this.width = this.scroller.clientWidth;
    this.height = this.scroller.clientHeight;
    this.ratio = Math.min(3, window.devicePixelRatio || 1);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.canvas.style.width = this.width + "px";
    this.canvas.style.height = this.height + "px";
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.draw(performance.now()); // at once, because resizing has cleared the canvas
  }

  schedule(): void {
    this.frame ||= requestAnimationFrame((time) => {
      this.frame = 0;
      this.draw(time);
    });
  }

  /** Makes a new layout if nodes were added, were removed or changed their group, or if the view has changed. */
  private prepare(view: View): Layout {
    const { fleet, query } = view;
    const searching = query.terms.length > 0;
    const size = view.size(fleet.nodes.size, this.width);
    const key = [view.by, size, this.width, JSON.stringify(query.terms)].join("|");
    const changed = fleet.version !== this.version;
    if (!this.layout || key !== this.laidFor || fleet.shape !== this.shape || (searching && changed)) {
      let nodes: Iterable<FleetNode> = fleet.nodes.values();
      this.matched = null;
      if (searching) {
        const owners = matchOwners(query, fleet.owners);
        nodes = [...fleet.nodes.values()].filter((node) => matchNode(query, node, owners));
        const any = new Uint8Array(fleet.owners.length);
        let some = false;
        for (const hits of owners) hits.forEach((h, i) => h && (any[i] = 1) && (some = true));
        if (some) this.matched = any;
      }
      this.layout = arrange(nodes, view.by, size, this.width);
      this.hovered = -1;
      this.laidFor = key;
      this.shape = fleet.shape;
      const height = Math.max(this.layout.height, 1) + "px";
      if (this.space.style.height !== height) this.space.style.height = height;
      this.sums.clear();
      this.onLayout(this.layout);
    } else if (changed) {
      const { nodes } = this.layout;
      for (let i = 0; i < nodes.length; i++) nodes[i] = fleet.nodes.get(nodes[i].id) ?? nodes[i];
      this.sums.clear();
    }
    this.version = fleet.version;
    return this.layout;
  }

  private sum(layout: Layout, group: Group): Sums {
    let sums = this.sums.get(group.key);
    if (sums) return sums;
    let pods = 0;
    let dollars = 0;
    let priced = 0;
    let unpriced = 0;
    let cpu = 0;
    let memory = 0;
    let allCpu = 0;
    let allMemory = 0;
    for (let i = group.start; i < group.end; i++) {
      const node = layout.nodes[i];
      pods += node.pods.length;
      if (node.dollarsPerHour !== null) {
        dollars += node.dollarsPerHour;
        priced++;
      } else if (lacksPrice(node)) unpriced++;
      cpu += node.requested.cpu;
      memory += node.requested.memory;
      allCpu += node.allocatable.cpu;
      allMemory += node.allocatable.memory;
    }
    const c = share(cpu, allCpu);
    const m = share(memory, allMemory);
    sums = { nodes: group.end - group.start, pods, fullness: c === null || m === null ? c ?? m : Math.max(c, m), dollars: priced ? dollars : null, unpriced };
    this.sums.set(group.key, sums);
    return sums;
  }

  private drawHeader(layout: Layout, group: Group, y: number): void {
    const c = this.context;
    const p = this.palette;
    const sums = this.sum(layout, group);
    c.textBaseline = "alphabetic";
    c.font = `600 14px ${p.sans}`;
    c.fillStyle = p.text;
    const all = this.width - padding - layout.left;
    // A long name leaves room for the price.
    const name = shorten(group.key || "without a NodePool", Math.max(all / 2, all - 220), (text) => c.measureText(text).width);
    c.fillText(name, layout.left, y + 24);
    let x = layout.left + c.measureText(name).width + 12;
    c.font = `12.5px ${p.sans}`;
    c.fillStyle = p.muted;
    // In the order in which they are left out if there is no room: pods, the requested share, nodes, the price.
    const parts = [
      `${count(sums.nodes)} ${sums.nodes === 1 ? "node" : "nodes"}`, `${count(sums.pods)} ${sums.pods === 1 ? "pod" : "pods"}`,
      sums.fullness === null ? "" : percent(sums.fullness) + " requested", sumPerHour(sums.dollars, sums.unpriced),
    ];
    const widths = parts.map((part) => c.measureText(part).width);
    for (const i of fitting(widths, 14, this.width - padding - x + 14, [1, 2, 0])) {
      if (!parts[i]) continue;
      c.fillText(parts[i], x, y + 24);
      x += widths[i] + 14;
    }
  }

  private draw(time: number): void {
    const view = this.view;
    if (!view || !this.width) return;
    const layout = this.prepare(view);
    const top = this.scroller.scrollTop;
    const c = this.context;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    const look: Look = { size: view.size(view.fleet.nodes.size, this.width), tile: layout.tile, palette: this.palette, ratio: this.ratio, matched: this.matched };
    let moving = false;
    const wall = Date.now();
    const seen = visible(layout, top, top + this.height);
    this.atlas.begin(look, seen.reduce((n, { start, end }) => n + end - start, 0));
    for (const { start, end } of seen) for (let i = start; i < end; i++) this.atlas.prepare(layout.nodes[i]);
    for (const { group, start, end } of seen) {
      for (let i = start; i < end; i++) {
        const node = layout.nodes[i];
        const r = tileRect(layout, group, i);
        const since = view.fleet.added.get(node.id);
        if (since !== undefined && !this.calm.matches && wall - since < appear) {
          const t = (wall - since) / appear;
          c.globalAlpha = t;
          this.atlas.draw(c, node, r.x, r.y - top + (1 - t) * 6);
          c.globalAlpha = 1;
          moving = true;
        } else this.atlas.draw(c, node, r.x, Math.round((r.y - top) * this.ratio) / this.ratio);
        if (node.id === view.selected || node.id === view.focused || i === this.hovered) {
          this.ring(r.x, r.y - top, r.width, r.height, node.id === view.selected || node.id === view.focused);
        }
      }
    }
    for (const { group } of seen) {
      const y = group.y - top;
      if (y >= 0) this.drawHeader(layout, group, y);
      else {
        // The header of the topmost group stays until the next one pushes it away.
        const stuck = Math.min(0, y + group.height - headerHeight);
        if (stuck <= -headerHeight) continue;
        c.fillStyle = this.palette.page;
        c.fillRect(0, stuck, this.width, headerHeight);
        this.drawHeader(layout, group, stuck);
      }
    }
    if (moving) this.schedule();
    void time;
  }

  private ring(x: number, y: number, width: number, height: number, strong: boolean): void {
    const c = this.context;
    c.strokeStyle = strong ? this.palette.focus : this.palette.muted;
    c.lineWidth = strong ? 2 : 1;
    c.beginPath();
    c.roundRect(x - 1.5, y - 1.5, width + 3, height + 3, Math.min(10, width / 6));
    c.stroke();
  }

  /** The tile at a point of the scroller's box. */
  at(x: number, y: number): FleetNode | null {
    if (!this.layout) return null;
    const index = hit(this.layout, x, y + this.scroller.scrollTop);
    return index < 0 ? null : this.layout.nodes[index];
  }

  hover(node: FleetNode | null): void {
    const index = node && this.layout ? this.layout.nodes.indexOf(node) : -1;
    if (index !== this.hovered) {
      this.hovered = index;
      this.schedule();
    }
  }

  indexOf(id: string): number {
    return this.layout ? this.layout.nodes.findIndex((node) => node.id === id) : -1;
  }

  /** Scrolls as little as is needed to show a tile and its group's header. */
  reveal(index: number): void {
    const layout = this.layout;
    const group = layout && groupOf(layout, index);
    if (!layout || !group) return;
    const r = tileRect(layout, group, index);
    const top = index - group.start < layout.columns ? group.y : r.y - headerHeight - 4;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (r.y + r.height + 8 > this.scroller.scrollTop + this.height) this.scroller.scrollTop = r.y + r.height + 8 - this.height;
  }
}
