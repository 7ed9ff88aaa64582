// A generated cluster that changes. The random numbers are the same in each run.
let seed = 7;
const random = () => {
  seed = (seed * 1664525 + 1013904223) >>> 0;
  return seed / 2 ** 32;
};
const pick = (list) => list[Math.floor(random() * list.length)];
const Gi = 2 ** 30;
const sizes = [["large", 2, 1], ["xlarge", 4, 2], ["2xlarge", 8, 4], ["4xlarge", 16, 8]];
const families = [["m7a", 4, 0.0579], ["c7a", 2, 0.0513], ["r7g", 8, 0.0535], ["m6i", 4, 0.048], ["c6g", 2, 0.034]];
const zones = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];
const pools = ["default", "spot-batch", "arm", "gpu"];
const namespaces = ["shop", "search", "payments", "batch", "data", "ml"];
const names = ["web", "api", "worker", "cart", "index", "ingest", "cache", "feed", "score", "mail"];
const iso = (ms) => new Date(ms).toISOString().replace(/\.\d+Z/, "Z");
const start = Date.now();

export class Cluster {
  constructor(count, podsPerNode) {
    this.version = 1;
    this.number = 0;
    this.podsPerNode = podsPerNode;
    this.owners = [];
    for (const ns of namespaces) for (const n of names) this.owners.push(`${ns}/Deployment/${n}`);
    this.daemons = [this.owners.push("kube-system/DaemonSet/aws-node") - 1, this.owners.push("kube-system/DaemonSet/kube-proxy") - 1];
    this.nodes = new Map();
    for (let i = 0; i < count; i++) this.add(pick(["initialized", "initialized", "initialized", "initialized", "initialized", "initialized", "initialized", "drifted", "disrupting", "registered", "launching", "draining"]), start - random() * 9e8);
    this.episodes = [];
    for (let i = 0; i < (count ? 60 : 0); i++) this.episodes.unshift(this.episode(start - (60 - i) * 97000 - random() * 50000, i));
    this.moments = count ? Array.from({ length: 120 }, (_, i) => iso(start - (120 - i) * 60000)) : [];
  }

  add(state, created) {
    const [f, gb, base] = pick(families);
    const [size, cores, factor] = pick(sizes);
    const gpu = random() < 0.05;
    const pool = gpu ? "gpu" : f.endsWith("g") ? "arm" : random() < 0.3 ? "spot-batch" : "default";
    const spot = pool === "spot-batch" || (pool === "arm" && random() < 0.6);
    const id = `${pool}-${(36 ** 4 + this.number++ * 7919 + 4217).toString(36).slice(-5)}`;
    const node = {
      id, name: `ip-10-0-${Math.floor(random() * 256)}-${Math.floor(random() * 256)}.eu-west-1.compute.internal`, pool, zone: pick(zones),
      type: gpu ? "g5." + size : `${f}.${size}`, capacityType: spot ? "spot" : random() < 0.08 ? "reserved" : "on-demand", arch: f.endsWith("g") ? "arm64" : "amd64",
      state, allocatable: { cpu: cores - 0.1, memory: cores * gb * Gi * 0.93, gpu: gpu ? 1 : 0 }, requested: { cpu: 0, memory: 0, gpu: 0 },
      dollarsPerHour: random() < 0.02 ? null : base * 2 * factor * (spot ? 0.38 : 1), keptBy: pick(["", "", "price", "price", "pdb", "budget", "do-not-disrupt", "fragmentation"]),
      created: iso(created), pods: [],
    };
    if (state === "launching") {
      node.name = "";
      node.keptBy = "";
      node.created = iso(start - 20000 * random());
    } else this.fill(node, state === "registered" ? 0 : 0.5 + random() * 0.48);
    this.nodes.set(id, node);
    return node;
  }

  fill(node, target) {
    node.pods = this.daemons.map((d) => [0.02, 1, d]);
    let used = 0.04;
    while (used < target) {
      const share = Math.min(target - used, (0.2 + random() * 1.8) / this.podsPerNode);
      node.pods.push([Math.round(share * 1000) / 1000, random() < 0.04 ? 2 : 0, Math.floor(random() ** 2 * 60)]);
      used += Math.max(share, 0.004);
    }
    node.requested = { cpu: node.allocatable.cpu * used, memory: node.allocatable.memory * used * (0.5 + random() * 0.45), gpu: node.allocatable.gpu };
  }

  strip() {
    const s = { nodes: 0, nodesComing: 0, podsPending: this.nodes.size ? 25 : 0, podsBound: 0, requested: { cpu: 0, memory: 0, gpu: 0 }, allocatable: { cpu: 0, memory: 0, gpu: 0 }, coming: { cpu: 0, memory: 0, gpu: 0 }, dollarsPerHour: 0, listPerHour: 0, floorPerHour: 0, unpriced: 0, spotShare: null, lastDecision: this.episodes?.[0]?.time ?? null, leader: true, leaderName: "" };
    let spot = 0;
    for (const n of this.nodes.values()) {
      s.nodes++;
      const coming = n.state === "launching";
      if (coming) s.nodesComing++;
      for (const r of ["cpu", "memory", "gpu"]) {
        s[coming ? "coming" : "allocatable"][r] += n.allocatable[r];
        s.requested[r] += n.requested[r];
      }
      s.podsBound += n.pods.length;
      if (n.dollarsPerHour === null) s.unpriced++;
      else {
        s.dollarsPerHour += n.dollarsPerHour;
        s.listPerHour += n.dollarsPerHour / (n.capacityType === "spot" ? 0.38 : 1);
        if (n.capacityType === "spot") spot += n.dollarsPerHour;
      }
    }
    s.floorPerHour = s.dollarsPerHour * 0.93;
    if (s.nodes) s.spotShare = spot / s.dollarsPerHour;
    return s;
  }

  snapshot() {
    return { type: "snapshot", version: this.version, strip: this.strip(), fleet: { nodes: [...this.nodes.values()], owners: this.owners } };
  }

  tick() {
    const all = [...this.nodes.values()];
    if (!all.length) return [];
    const changed = new Set();
    const gone = [];
    for (let i = 0; i < Math.max(1, all.length / 100); i++) {
      const old = pick(all);
      const node = { ...old, pods: old.pods.slice(), requested: { ...old.requested } };
      if (node.state === "launching" && random() < 0.3) {
        node.state = "registered";
        node.name = `ip-10-0-7-${this.number++ % 250}.eu-west-1.compute.internal`;
      } else if (node.state === "registered") {
        node.state = "initialized";
        this.fill(node, 0.8);
      } else if (node.state === "initialized") this.fill(node, 0.5 + random() * 0.48);
      else if (node.state === "draining" && random() < 0.2) {
        this.nodes.delete(node.id);
        gone.push(node.id);
        changed.add(this.add("launching", Date.now()));
        continue;
      }
      this.nodes.set(node.id, node);
      changed.add(node);
    }
    const messages = [{ type: "fleet", version: ++this.version, owners: this.owners, nodes: [...changed].filter((n) => this.nodes.has(n.id)), gone }, { type: "strip", version: this.version, strip: this.strip() }];
    if (random() < 0.1) {
      const e = this.episode(Date.now(), this.number++);
      e.state = "open";
      delete e.ended;
      this.episodes.unshift(e);
      messages.push({ type: "episode", version: this.version, episode: e });
    }
    return messages;
  }

  episode(time, i) {
    const kind = pick(["provisioning", "provisioning", "disruption", "disruption", "interruption", "expiration"]);
    const node = pick([...this.nodes.values()]);
    const n = 1 + Math.floor(random() * 4);
    const price = 0.1158;
    const launch = { claim: node.id, pool: node.pool, instanceType: node.type, zone: node.zone, capacityType: node.capacityType, dollarsPerHour: price, options: 38, pods: 9 };
    const removal = { node: node.name || node.id, claim: node.id, pool: node.pool, instanceType: node.type, zone: node.zone, capacityType: node.capacityType, dollarsPerHour: price * 2, pods: 6 };
    const up = kind === "provisioning";
    const e = {
      id: "mk0w2x8g-" + i, time: iso(time), kind, reason: up ? "Pending" : kind === "disruption" ? pick(["Underutilized", "Drifted", "Empty"]) : kind === "interruption" ? "SpotInterruption" : "Expired",
      cause: up ? `${n * 9} pods are pending in namespace ${pick(namespaces)}` : kind === "disruption" ? `pods of ${n} nodes fit on other nodes` : kind === "interruption" ? "the cloud announced an interruption" : "the node is older than expireAfter",
      decision: up ? `launch ${n} nodes (${n} x ${node.type})` : `delete ${n} nodes and replace them by 1 x ${node.type}`,
      action: up ? "launch" : "replace", pools: [node.pool], pods: n * 9, placed: up ? 4 : 0, launches: up ? Array(n).fill(launch) : [launch], launchedNodes: up ? n : 1,
      removals: up ? undefined : Array(n).fill(removal), removedNodes: up ? 0 : n,
      refused: up ? [{ subject: "pod ml/train-0", count: 3, reason: 'NodePool "gpu": limit nvidia.com/gpu of 8 is used up', fix: "raise spec.limits of NodePool gpu to nvidia.com/gpu: 11" }] : [{ subject: "node " + node.name, count: 1, reason: 'disruption budget of NodePool "default" is used up (nodes: "10%")', fix: "wait until 17:00 UTC, or allow more nodes", dollarsPerHour: 0.0579 }],
      refusedTotal: 1, dollarsPerHourBefore: 12.4, dollarsPerHourAfter: 12.4 + (up ? 1 : -1) * n * price * (up ? 1 : 1.1), evictionsPlanned: up ? 0 : n * 6, evictions: up ? 0 : n * 5,
      progress: { launched: n, registered: n, initialized: n }, state: random() < 0.06 ? "failed" : "done", ended: iso(time + 48000),
      effects: ["launched", "registered", "initialized"].map((k, j) => ({ time: iso(time + 2000 + j * 18000), kind: k, object: "nodeclaim " + node.id, message: "" })), effectsTotal: 3,
    };
    return e;
  }

  pending() {
    if (!this.nodes.size) return [];
    const pools = (rules) => rules.map(([pool, rule, reason, fix]) => ({ pool, rule, reason, fix }));
    const coming = [...this.nodes.values()].filter((n) => n.state === "launching").map((n) => n.id);
    const groups = [
      { pod: "ml/train-0", owner: "ml/Job/train", count: 3, requested: { cpu: 8, memory: 64 * Gi, gpu: 1 }, outcome: "refused", reason: 'NodePool "gpu": limit nvidia.com/gpu of 8 is used up', fix: "raise spec.limits of NodePool gpu to nvidia.com/gpu: 11", pools: pools([["gpu", "limit", "limit nvidia.com/gpu of 8 is used up", "raise spec.limits to nvidia.com/gpu: 11"], ["default", "requirement", "no allowed instance type has nvidia.com/gpu", "add g or gr to requirement karpenter.k8s.aws/instance-category"], ["arm", "requirement", "no allowed instance type has nvidia.com/gpu", ""], ["spot-batch", "taint", "does not tolerate taint workload=batch:NoSchedule", "tolerate it"]]), underWay: [], since: iso(start - 900000) },
      { pod: "data/db-2", owner: "data/StatefulSet/db", count: 1, requested: { cpu: 2, memory: 16 * Gi, gpu: 0 }, outcome: "refused", reason: "volume data-db-2 is in zone eu-west-1d, where no NodePool launches nodes", fix: "add eu-west-1d to requirement topology.kubernetes.io/zone of NodePool default", pools: pools([["default", "volume", "volume data-db-2 is in zone eu-west-1d", "add eu-west-1d to requirement topology.kubernetes.io/zone"]]), underWay: [], since: iso(start - 4000000) },
      { pod: "shop/web-7d4b9-x2x7q", owner: "shop/Deployment/web", count: 14, requested: { cpu: 0.5, memory: Gi, gpu: 0 }, outcome: "new", reason: "fits on a new node of NodePool default, with 13 other pods", fix: "", pools: [], underWay: coming.slice(0, 2), since: iso(start - 22000) },
      { pod: "search/index-5", owner: "search/Deployment/index", count: 5, requested: { cpu: 1, memory: 2 * Gi, gpu: 0 }, outcome: "existing", reason: "there is room on node ip-10-0-3-7", fix: "", pools: [], underWay: [], since: iso(start - 3000) },
      { pod: "ml/notebook-0", owner: "ml/StatefulSet/notebook", count: 2, requested: { cpu: 2, memory: 8 * Gi, gpu: 0 }, devices: [{ class: "gpu.example.com", count: 1 }], outcome: "refused", reason: "uses spec.resourceClaims (dynamic resource allocation), which is not supported", fix: "", pools: pools([["", "invalid", "uses spec.resourceClaims (dynamic resource allocation), which is not supported", ""]]), underWay: [], since: iso(start - 60000) },
    ];
    return groups.map((g) => ({ devices: [], ...g }));
  }

  answer(path, query, body) {
    const empty = !this.nodes.size;
    if (path === "info") return [200, { cluster: "prod-eu-west-1", version: "dev", dryRun: false, region: "eu-west-1" }];
    if (path === "pending") return [200, { groups: this.pending() }];
    if (path === "decisions") return [200, { episodes: this.episodes }];
    if (path.startsWith("nodes/")) return this.node(decodeURIComponent(path.slice(6)));
    if (path === "pools") return [200, { pools: empty ? [] : pools.map((p) => this.pool(p)) }];
    if (path === "capacity") return [200, empty ? { interruptions: [], refused: [], reservations: [], spot: [], devices: { problem: "", classes: [] } } : this.capacity()];
    if (path === "cost") return [200, this.cost(query.get("by") ?? "pool")];
    if (path === "trends") return [200, this.trends()];
    if (path === "history") {
      const at = query.get("at") ?? this.moments.at(-1) ?? iso(start);
      const back = Math.max(0, (start - Date.parse(at)) / 60000);
      const nodes = [...this.nodes.values()].filter((_, i) => i >= back / 5).map((n, i) => (i % 7 === Math.floor(back) % 7 ? { ...n, pods: n.pods.slice(0, n.pods.length / 2) } : n));
      const strip = this.strip();
      strip.nodes = nodes.length;
      strip.dollarsPerHour *= nodes.length / Math.max(1, this.nodes.size);
      return [200, { at, moments: this.moments, strip, fleet: { nodes, owners: this.owners } }];
    }
    if (path === "manifests") return [200, { yaml: `apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: ${query.get("name")}\nspec:\n  template:\n    spec:\n      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n      requirements:\n        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}\n        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}\n  disruption:\n    consolidationPolicy: WhenEmptyOrUnderutilized\n    consolidateAfter: 1m\n  limits:\n    cpu: 1000\n` }];
    if (path === "whatif") return this.whatif(JSON.parse(body));
    return [404, { error: "There is no " + path + ".", fix: "" }];
  }

  node(id) {
    const node = this.nodes.get(id);
    if (!node) return [404, { error: "There is no node " + id + ".", fix: "" }];
    const p = node.dollarsPerHour ?? 0.1;
    return [200, {
      node, claim: id,
      conditions: [["Launched", "True", 0], ["Registered", node.state === "launching" ? "Unknown" : "True", 30000], ["Initialized", ["launching", "registered"].includes(node.state) ? "Unknown" : "True", 45000], ["Ready", node.state === "launching" ? "Unknown" : "True", 46000], ...(node.state === "drifted" ? [["Drifted", "True", 4e6]] : [])].map(([type, status, d]) => ({ type, status, reason: type, message: type === "Drifted" ? "requirements of NodePool default changed" : "", since: iso(Date.parse(node.created) + d) })),
      chosen: { episode: this.episodes[0]?.id ?? "", decision: `launch 1 node (1 x ${node.type}) for 9 pods`, options: 38, considered: [{ type: node.type, zone: node.zone, capacityType: node.capacityType, dollarsPerHour: node.dollarsPerHour, reason: "" }, { type: "m6a.xlarge", zone: "eu-west-1b", capacityType: "spot", dollarsPerHour: p * 1.04, reason: "costs more" }, { type: "c6a.2xlarge", zone: "eu-west-1a", capacityType: "spot", dollarsPerHour: p * 0.9, reason: "no capacity until 14:32" }, { type: "m7i.xlarge", zone: node.zone, capacityType: "on-demand", dollarsPerHour: p * 1.2, reason: "costs more" }] },
      stays: node.keptBy ? { rule: node.keptBy, reason: "PodDisruptionBudget shop/db allows no further disruption (pod shop/db-0)", fix: "run more replicas than the PodDisruptionBudget needs", wastePerHour: p * 0.3 } : { rule: "", reason: "", fix: "", wastePerHour: 0 },
      pods: node.pods.map(([share, kind, owner], i) => ({ name: this.owners[owner].split("/")[2] + "-7d4b9-" + (1000 + i * 37).toString(36), namespace: this.owners[owner].split("/")[0], owner: this.owners[owner], daemon: kind === 1, blocks: kind === 2 ? "PodDisruptionBudget shop/db allows no further disruption" : "", requested: { cpu: share * node.allocatable.cpu, memory: share * node.allocatable.memory * 0.8, gpu: 0 }, dollarsPerHour: node.dollarsPerHour === null ? null : share * p })),
      cost: node.dollarsPerHour === null ? [] : [{ cause: "workload", dollarsPerHour: p * 0.72 }, { cause: "pdb", dollarsPerHour: p * 0.19 }, { cause: "overhead", dollarsPerHour: p * 0.09 }],
      labels: { "kubernetes.io/arch": node.arch, "karpenter.sh/nodepool": node.pool, "node.kubernetes.io/instance-type": node.type, "topology.kubernetes.io/zone": node.zone }, taints: node.pool === "gpu" ? ["nvidia.com/gpu=true:NoSchedule"] : [],
    }];
  }

  pool(name) {
    const mine = [...this.nodes.values()].filter((n) => n.pool === name);
    const day = new Date(start);
    day.setUTCHours(0, 0, 0, 0);
    const windows = [];
    for (let d = -1; d < 8; d++) {
      const t = day.getTime() + d * 864e5;
      const weekday = new Date(t).getUTCDay();
      if (weekday > 0 && weekday < 6) windows.push([iso(t + 8 * 36e5), iso(t + 18 * 36e5)]);
    }
    return {
      name, weight: name === "spot-batch" ? 50 : 0, ready: name !== "gpu", problem: name === "gpu" ? "limit nvidia.com/gpu of 8 is used up" : "", fix: name === "gpu" ? "raise spec.limits to nvidia.com/gpu: 11" : "", nodes: mine.length, dollarsPerHour: mine.reduce((s, n) => s + (n.dollarsPerHour ?? 0), 0), unpriced: mine.filter((n) => n.dollarsPerHour === null).length,
      limits: name === "default" ? [{ resource: "cpu", used: 312, limit: 1000, text: "312 of 1,000 cpu" }, { resource: "memory", used: 900 * Gi, limit: 4000 * Gi, text: "900Gi of 4,000Gi memory" }] : name === "gpu" ? [{ resource: "nvidia.com/gpu", used: 8, limit: 8, text: "8 of 8 nvidia.com/gpu" }] : [],
      budgets: name === "default" ? [{ nodes: "10%", reasons: [], schedule: "", duration: "", allowed: 4, windows: [] }, { nodes: "0", reasons: ["Underutilized", "Drifted"], schedule: "0 8 * * mon-fri", duration: "10h", allowed: 0, windows }, { nodes: "2", reasons: [], schedule: "0 22 * * *", duration: "2h", allowed: 2, windows: Array.from({ length: 8 }, (_, d) => [iso(day.getTime() + (d - 0) * 864e5 + 22 * 36e5), iso(day.getTime() + d * 864e5 + 24 * 36e5)]) }] : [{ nodes: "10%", reasons: [], schedule: "", duration: "", allowed: 1, windows: [] }],
      requirements: ["karpenter.sh/capacity-type In spot, on-demand", "kubernetes.io/arch In amd64", "karpenter.k8s.aws/instance-category In c, m, r", "karpenter.k8s.aws/instance-generation Gt 5"],
      types: families.flatMap(([f, gb, base]) => sizes.map(([s, cores, k]) => ({ name: f + "." + s, cpu: cores, memory: cores * gb * Gi, gpu: 0, dollarsPerHour: f === "r7g" && s === "4xlarge" ? null : base * 2 * k, capacityTypes: ["spot", "on-demand"], zones, nodes: mine.filter((n) => n.type === f + "." + s).length }))).sort((a, b) => (a.dollarsPerHour ?? 99) - (b.dollarsPerHour ?? 99)), typesTotal: 214,
      drifted: name === "default" ? 5 : 0, unhealthy: name === "arm" ? 1 : 0,
    };
  }

  capacity() {
    const refused = [];
    for (const f of ["m7a", "c7a", "r7g", "g5", "c6g"]) for (const zone of zones) if ((f.charCodeAt(1) + zone.charCodeAt(9) * 3) % 5 < 2) refused.push({ zone, family: f, capacityType: f === "g5" ? "on-demand" : "spot", types: sizes.slice(0, 1 + (f.charCodeAt(0) + zone.charCodeAt(9)) % 4).map(([s]) => f + "." + s), until: iso(start + 180000 + 60000 * (f.charCodeAt(1) % 7)), reason: "InsufficientInstanceCapacity" });
    return {
      interruptions: [..."abcde"].map((c, i) => ({ time: iso(start - i * 53e5 - 4e5), node: `ip-10-0-3-${i + 7}`, type: ["m7a.xlarge", "c7a.2xlarge"][i % 2], zone: zones[i % 3], kind: ["SpotInterruption", "SpotInterruption", "RebalanceRecommendation", "ScheduledChange", "SpotInterruption"][i] })),
      refused, reservations: [{ id: "cr-0a1b2c3d4e5f60718", type: "m7a.4xlarge", zone: "eu-west-1a", total: 6, used: 4 }, { id: "cr-0f9e8d7c6b5a40312", type: "g5.2xlarge", zone: "eu-west-1b", total: 2, used: 2 }],
      spot: zones.map((zone) => { const mine = [...this.nodes.values()].filter((n) => n.zone === zone && n.capacityType === "spot"); return { zone, nodes: mine.length, dollarsPerHour: mine.reduce((s, n) => s + (n.dollarsPerHour ?? 0), 0), unpriced: mine.filter((n) => n.dollarsPerHour === null).length }; }),
      devices: { problem: "", classes: [{ class: "gpu.example.com", met: 6, unmet: 2, uncounted: 0, podsBound: 3, podsPending: 2, reason: "uses spec.resourceClaims (dynamic resource allocation), which is not supported" }, { class: "", met: 0, unmet: 0, uncounted: 1, podsBound: 0, podsPending: 1, reason: "" }] },
    };
  }

  cost(by) {
    const total = this.strip().dollarsPerHour;
    const keys = by === "pool" ? pools : by === "namespace" ? namespaces : this.owners.slice(0, 24);
    let left = total * 0.7;
    const rows = keys.map((key, i) => { const v = i === keys.length - 1 ? left : left * 0.34; left -= v; return { key, dollarsPerHour: v, dollars: v * 24, ...(by === "pool" ? { idle: { dollarsPerHour: (v * 0.23) / 0.7, dollars: v * 7 }, overhead: { dollarsPerHour: v * 0.1, dollars: v * 2 } } : {}) }; });
    const idle = [["fragmentation", 0.08], ["pdb", 0.06], ["budget", 0.045], ["do-not-disrupt", 0.02], ["node-size", 0.015], ["starting", 0.01]].map(([cause, f]) => ({ cause, dollarsPerHour: total * f, dollars: total * f * 24, ...(cause === "budget" ? { opens: { default: iso(start + 3 * 36e5) } } : {}) }));
    const blocked = this.nodes.size ? [
      { rule: "pdb", nodes: 3, dollarsPerHour: total * 0.06, reason: "PodDisruptionBudget shop/db allows no further disruption (pod shop/db-0)", fix: "run more replicas than the PodDisruptionBudget needs", causes: 1 },
      { rule: "budget", nodes: 4, dollarsPerHour: total * 0.045, reason: 'disruption budget of NodePool "default" is used up', fix: "allow more than 10% of nodes", causes: 2 },
      { rule: "do-not-disrupt", nodes: 1, dollarsPerHour: total * 0.02, reason: "pod batch/worker-0 has karpenter.sh/do-not-disrupt", fix: "remove the annotation, or give it a duration", causes: 1 },
    ] : [];
    return { since: iso(start - 864e5), until: iso(start), dollarsPerHour: total, dollars: total * 23.4, floorPerHour: total * 0.93, nodes: this.nodes.size, unpricedNodes: 1, by, rows, idle, overhead: { dollarsPerHour: total * 0.07, dollars: total * 1.7 }, blocked, best: blocked[0] ?? null, savings: this.nodes.size ? this.savings() : undefined };
  }

  savings() {
    const day = (back) => iso(start - back * 864e5).slice(0, 10);
    return [
      { day: day(1), reason: "empty", decision: "delete", actions: 2, plannedPerHour: 0.612, realizedPerHour: 0.612, evictions: 0 },
      { day: day(1), reason: "underutilized", decision: "replace", actions: 3, plannedPerHour: 0.459, realizedPerHour: 0.441, evictions: 21, cancelled: 1 },
      { day: day(0), reason: "drifted", decision: "replace", actions: 1, plannedPerHour: -0.02, realizedPerHour: -0.02, evictions: 5 },
    ];
  }

  trends() {
    const n = this.nodes.size ? 240 : 0;
    const t = { time: [], dollarsPerHour: [], floorPerHour: [], nodes: [], pending: [], cpu: [], memory: [] };
    for (let i = 0; i < n; i++) {
      const wave = 1 + 0.25 * Math.sin(i / 28) + 0.06 * Math.sin(i / 3.1);
      t.time.push(Math.round(start / 1000) - (n - i) * 60);
      const gap = i > 60 && i < 72;
      t.dollarsPerHour.push(gap ? null : 10 * wave);
      t.floorPerHour.push(gap ? null : 9.2 * wave - 0.3);
      t.nodes.push(gap ? null : Math.round(40 * wave));
      t.pending.push(gap ? null : Math.max(0, Math.round(30 * Math.sin(i / 9))));
      t.cpu.push(gap ? null : 0.78 + 0.1 * Math.sin(i / 14));
      t.memory.push(gap ? null : 0.61 + 0.08 * Math.cos(i / 17));
    }
    return t;
  }

  whatif(request) {
    if (request.manifests.includes("broken")) return [400, { error: "document 1 is not valid YAML: line 3: mapping values are not allowed here", fix: "check the indentation of line 3" }];
    const s = this.strip();
    const before = { nodes: s.nodes, dollarsPerHour: s.dollarsPerHour, floorPerHour: s.floorPerHour, pending: 4, evictions: 0 };
    return [200, {
      before, after: { nodes: s.nodes - 5, dollarsPerHour: s.dollarsPerHour * 0.82, floorPerHour: s.floorPerHour * 0.85, pending: 1, evictions: 61 },
      launches: [{ pool: "default", type: "m7a.2xlarge", capacityType: "spot", zone: "eu-west-1a", count: 3, dollarsPerHour: 0.1759 }, { pool: "default", type: "c7a.xlarge", capacityType: "spot", zone: "eu-west-1b", count: 2, dollarsPerHour: 0.078 }],
      removals: [...this.nodes.values()].slice(0, 8).map((n) => ({ node: n.name || n.id, type: n.type, dollarsPerHour: n.dollarsPerHour, reason: "Underutilized" })), drifted: [...this.nodes.keys()].slice(0, 12), refused: [{ pod: "ml/train-0", count: 3, reason: 'NodePool "gpu": limit nvidia.com/gpu of 8 is used up', fix: "raise spec.limits of NodePool gpu" }], warnings: ["prices of r7g.4xlarge are unknown; its offerings are left out"],
    }];
  }
}
