// The JSON that the controller serves to the dashboard. docs/api.md describes each field.
//
// Units: prices are US dollars per hour. CPU is in cores, memory in bytes. Times are RFC 3339 in UTC. A value that is not known is
// null and never 0. Lists are never null.

/** Amounts of resources. gpu is the sum of the known GPU resources. */
export interface Amounts {
  cpu: number;
  memory: number;
  gpu: number;
}

/** Strip is the summary that is always visible. */
export interface Strip {
  nodes: number;
  /** Nodes that are launching or have not joined. */
  nodesComing: number;
  podsPending: number;
  podsBound: number;
  /**
   * requested and allocatable are sums over the nodes that have joined. coming is what the nodes that have not joined will add.
   */
  requested: Amounts;
  allocatable: Amounts;
  coming: Amounts;
  dollarsPerHour: number | null;
  /** On-demand price of the same nodes, without discounts for commitments. */
  listPerHour: number | null;
  /** Lower bound of the price: no set of nodes on which all pods fit is cheaper. */
  floorPerHour: number | null;
  unpriced: number;
  /** Share of spot nodes in the price of all nodes, 0 to 1; null if there are no nodes. */
  spotShare: number | null;
  lastDecision: string | null;
  /** False if this replica does not decide. leaderName is then the pod that does, empty if it is not known. */
  leader: boolean;
  leaderName: string;
}

export type NodeState = "launching" | "registered" | "initialized" | "drifted" | "disrupting" | "draining" | "unmanaged";

/** A node or NodeClaim, which is a tile in the view Fleet. */
export interface FleetNode {
  /** Name of the NodeClaim, or of the node if it has no NodeClaim. It is unique and never changes. */
  id: string;
  name: string;
  pool: string;
  zone: string;
  type: string;
  capacityType: string;
  arch: string;
  state: NodeState;
  allocatable: Amounts;
  requested: Amounts;
  dollarsPerHour: number | null;
  /** The rule because of which the node is not removed; empty if there is none or it is not known. */
  keptBy: string;
  created: string;
  /** Pods as blocks: [dominant share of the node 0..1, kind, index into Fleet.owners]. kind: 0 workload, 1 DaemonSet, 2 blocks disruption. */
  pods: [number, 0 | 1 | 2, number][];
}

export interface Fleet {
  nodes: FleetNode[];
  /** Names of the owners of pods, "namespace/kind/name". */
  owners: string[];
}

export interface NodeDetail {
  node: FleetNode;
  /** Names of the owners to which the indices in node.pods refer. */
  owners: string[];
  claim: string;
  conditions: { of: "NodeClaim" | "Node"; type: string; status: string; reason: string; message: string; since: string }[];
  /**
   * Why this instance type was chosen, and which others were considered, by the decision that launched the node; empty if that is
   * no longer stored.
   */
  chosen: { episode: string; decision: string; options: number; considered: { type: string; zone: string; capacityType: string; dollarsPerHour: number | null; reason: string }[] };
  /** Why the node stays, or what will be done with it, and the smallest change that lets it go. */
  stays: { rule: string; reason: string; fix: string; wastePerHour: number | null };
  pods: { name: string; namespace: string; owner: string; daemon: boolean; blocks: string; requested: Amounts; dollarsPerHour: number | null }[];
  cost: { cause: string; dollarsPerHour: number }[];
  labels: Record<string, string>;
  taints: string[];
}

/** Devices of one DeviceClass; class is empty and count null if they are not known. */
export interface DeviceRequest {
  class: string;
  count: number | null;
}

/** Demand for devices by dynamic resource allocation. */
export interface Devices {
  /** Why ResourceClaims could not be read, empty if they were. */
  problem: string;
  classes: { class: string; met: number; unmet: number; uncounted: number; podsBound: number; podsPending: number; reason: string }[];
}

/** A group of equal pending pods. */
export interface PendingGroup {
  pod: string;
  owner: string;
  count: number;
  requested: Amounts;
  /** Devices that the ResourceClaims of one pod request. */
  devices: DeviceRequest[];
  /** unknown: no plan has these pods yet, or this replica is not the leader. */
  outcome: "existing" | "new" | "refused" | "unknown";
  reason: string;
  fix: string;
  /** For each NodePool, the first rule that refuses the pods. */
  pools: { pool: string; rule: string; reason: string; fix: string }[];
  /** Names of the NodeClaims and nodes on which the pods will run, if there are any. */
  underWay: string[];
  since: string;
}

/** A decision with what happened because of it (an episode). It is the same JSON as that of `karpenter timeline -o json`. */
export interface Episode {
  id: string;
  time: string;
  kind: string;
  reason: string;
  cause: string;
  decision: string;
  action: string;
  pools: string[];
  pods: number;
  placed?: number;
  launches?: { claim: string; pool: string; instanceType: string; zone: string; capacityType: string; dollarsPerHour: number; options: number; pods: number }[];
  launchedNodes: number;
  removals?: { node: string; claim: string; pool: string; instanceType: string; zone: string; capacityType: string; dollarsPerHour: number; pods: number }[];
  removedNodes: number;
  refused?: { subject: string; count: number; reason: string; fix?: string; dollarsPerHour?: number }[];
  refusedTotal: number;
  dollarsPerHourBefore: number;
  dollarsPerHourAfter: number;
  evictionsPlanned: number;
  evictions: number;
  progress: Record<string, number>;
  effects?: { time: string; kind: string; object: string; message: string }[];
  effectsTotal: number;
  state: "open" | "done" | "failed" | "cancelled";
  ended?: string;
}

export interface Pool {
  name: string;
  weight: number;
  ready: boolean;
  problem: string;
  fix: string;
  nodes: number;
  dollarsPerHour: number | null;
  /** Nodes with an instance whose price is not known. They are not in the price. */
  unpriced: number;
  limits: { resource: string; used: number; limit: number; text: string }[];
  budgets: { nodes: string; reasons: string[]; schedule: string; duration: string; allowed: number | null; windows: [string, string][] }[];
  requirements: string[];
  /** Types the NodePool may launch, cheapest first, at most 100. */
  types: { name: string; cpu: number; memory: number; gpu: number; dollarsPerHour: number | null; capacityTypes: string[]; zones: string[]; nodes: number }[];
  typesTotal: number;
  drifted: number;
  unhealthy: number;
}

export interface Capacity {
  interruptions: { time: string; node: string; type: string; zone: string; kind: string }[];
  /**
   * What the cloud refused to launch, by zone and instance family. until is when it may be tried again, or null if that is not
   * known.
   */
  refused: { zone: string; family: string; capacityType: string; types: string[]; until: string | null; reason: string }[];
  reservations: { id: string; type: string; zone: string; total: number; used: number }[];
  spot: { zone: string; nodes: number; dollarsPerHour: number | null; unpriced: number }[];
  devices: Devices;
}

/** A price per hour, and the dollars of a period. */
export interface Money {
  dollarsPerHour: number;
  dollars: number;
}

/** The same JSON as `karpenter cost -o json`. */
export interface Cost {
  since: string;
  until: string;
  dollarsPerHour: number;
  dollars: number;
  floorPerHour: number;
  nodes: number;
  unpricedNodes?: number;
  by: string;
  /** The workloads with one key. Rows of NodePools have the idle capacity and the overhead of their nodes too. */
  rows: (Money & { key: string; idle?: Money; overhead?: Money })[];
  idle: (Money & { cause: string; opens?: Record<string, string> })[];
  overhead: Money;
  /** Commitments of the price book, in the order in which they apply. */
  commitments?: { name: string; utilization: number; eligibleNodes: number; coveredNodes: number; coverage: number; savedPerHour: number; ended?: boolean }[];
  /** What disruptions that ended in the period saved, by day in UTC, reason and decision. */
  savings?: { day: string; reason: string; decision: string; actions: number; plannedPerHour: number; realizedPerHour: number; evictions: number; cancelled?: number }[];
  /** For each rule because of which nodes are not removed. The largest waste is first. */
  blocked?: Blocked[];
  /** The nodes that one change lets go, that with the largest waste; null if no change is known. */
  best?: Blocked | null;
}

/** How many nodes are kept, what they waste at most, and the fix for the node that wastes most. causes counts different fixes. */
export interface Blocked {
  rule: string;
  nodes: number;
  dollarsPerHour: number;
  reason: string;
  fix: string;
  causes: number;
}

/** Values over time, in equal steps of time; null where nothing is known. */
export interface Trends {
  /** Unix seconds. */
  time: number[];
  dollarsPerHour: (number | null)[];
  floorPerHour: (number | null)[];
  nodes: (number | null)[];
  pending: (number | null)[];
  cpu: (number | null)[];
  memory: (number | null)[];
}

/** POST /api/v1/whatif. Manifests are YAML of NodePools and workloads that are added or replaced. */
export interface WhatIfRequest {
  manifests: string;
  withoutNodes: string[];
  /** Dollars per hour by instance type, or by "type/zone/capacityType". */
  prices: Record<string, number>;
}

export interface WhatIfSide {
  nodes: number;
  dollarsPerHour: number;
  /** null if there are too many nodes to compute it. */
  floorPerHour: number | null;
  pending: number;
  evictions: number;
}

export interface WhatIf {
  before: WhatIfSide;
  after: WhatIfSide;
  launches: { pool: string; type: string; capacityType: string; zone: string; count: number; dollarsPerHour: number | null }[];
  removals: { node: string; type: string; dollarsPerHour: number | null; reason: string }[];
  drifted: string[];
  refused: { pod: string; count: number; reason: string; fix: string }[];
  warnings: string[];
}

/**
 * GET /api/v1/stream returns server-sent events. Each is one JSON object. The first has type "snapshot"; "fleet" replaces or
 * removes single nodes.
 */
export type Message =
  | { type: "snapshot"; version: number; strip: Strip; fleet: Fleet }
  | { type: "strip"; version: number; strip: Strip }
  | { type: "fleet"; version: number; owners: string[]; nodes: FleetNode[]; gone: string[] }
  | { type: "pending"; version: number; groups: PendingGroup[] }
  | { type: "episode"; version: number; episode: Episode };

/** GET /api/v1/history?at=TIME returns the fleet at that time. moments has all times of which the controller stores the fleet. */
export interface History {
  at: string;
  moments: string[];
  strip: Strip;
  fleet: Fleet;
}

/** GET /api/v1/info returns facts about the controller. A text is empty if it is not known. */
export interface Info {
  cluster: string;
  version: string;
  dryRun: boolean;
  region: string;
}

/** The body of each response with an error. */
export interface ApiError {
  error: string;
  fix: string;
}
