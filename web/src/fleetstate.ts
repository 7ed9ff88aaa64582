// The nodes of a fleet, and the functions that apply changes to them.
import type { Fleet, FleetNode } from "./api";

/** Whether a node costs something that is not known. A node has an instance type from its launch on, and costs nothing before. */
export function lacksPrice(node: FleetNode): boolean {
  return node.dollarsPerHour === null && node.state !== "unmanaged" && node.type !== "";
}

/**
 * Nodes, with one list of the owners of their pods. version grows with each change. shape grows if nodes are added, removed or
 * change group.
 */
export class FleetState {
  readonly nodes = new Map<string, FleetNode>();
  readonly owners: string[] = [];
  version = 0;
  shape = 0;
  /** When nodes were added in the last seconds, by the id of the node. The animation of new tiles uses it. */
  readonly added = new Map<string, number>();
  private readonly numbers = new Map<string, number>();

  /**
   * Pods refer to owners by index. This function changes the indices into the message's list to indices into the list of this
   * fleet.
   */
  private intern(owners: string[], nodes: FleetNode[]): void {
    const to = new Int32Array(owners.length);
    owners.forEach((owner, i) => {
      let n = this.numbers.get(owner);
      if (n === undefined) {
        n = this.owners.length;
        this.owners.push(owner);
        this.numbers.set(owner, n);
      }
      to[i] = n;
    });
    for (const node of nodes) for (const pod of node.pods) pod[2] = to[pod[2]] ?? -1;
  }

  replace(fleet: Fleet): void {
    this.nodes.clear();
    this.owners.length = 0;
    this.numbers.clear();
    this.intern(fleet.owners, fleet.nodes);
    for (const node of fleet.nodes) this.nodes.set(node.id, node);
    this.version++;
    this.shape++;
  }

  /** Adds, replaces and removes nodes, and returns how many were added and removed. */
  apply(owners: string[], nodes: FleetNode[], gone: string[], now: number): { came: number; went: number } {
    this.intern(owners, nodes);
    let came = 0;
    let went = 0;
    let moved = false;
    for (const node of nodes) {
      const old = this.nodes.get(node.id);
      if (!old) {
        came++;
        this.added.set(node.id, now);
      } else if (
        old.pool !== node.pool || old.zone !== node.zone || old.type !== node.type ||
        old.capacityType !== node.capacityType || old.state !== node.state || old.created !== node.created
      ) moved = true;
      this.nodes.set(node.id, node);
    }
    for (const id of gone) if (this.nodes.delete(id)) went++;
    this.version++;
    if (came || went || moved) this.shape++;
    for (const [id, at] of this.added) if (now - at > 5000) this.added.delete(id);
    return { came, went };
  }
}
