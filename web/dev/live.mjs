// A live cluster for the pictures of the manual: starts karpenter-local, and makes a workload of which every view has something to
// show. Everything on the page then was observed and decided by the controller. The directory of the cluster is removed at the end.
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const pause = (s) => new Promise((done) => setTimeout(done, s * 1000));

const requirement = (key, ...values) => ({ key, operator: "In", values });
const above = (key, value) => ({ key, operator: "Gt", values: [value] });
const aws = "karpenter.k8s.aws/";

function pool(name, weight, requirements, { taints, disruption, limits, labels } = {}) {
  return {
    apiVersion: "karpenter.sh/v1", kind: "NodePool", metadata: { name },
    spec: {
      weight,
      template: {
        metadata: { labels: { team: "platform", ...labels } },
        spec: {
          nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
          requirements: [requirement("kubernetes.io/os", "linux"), ...requirements], taints, expireAfter: "720h",
        },
      },
      limits, disruption,
    },
  };
}

const nodeClass = {
  apiVersion: "karpenter.k8s.aws/v1", kind: "EC2NodeClass", metadata: { name: "default" },
  spec: {
    role: "KarpenterNodeRole-local", amiSelectorTerms: [{ alias: "al2023@latest" }],
    subnetSelectorTerms: [{ tags: { "karpenter.sh/discovery": "local" } }], securityGroupSelectorTerms: [{ tags: { "karpenter.sh/discovery": "local" } }],
    capacityReservationSelectorTerms: [{ tags: { purpose: "search" } }],
  },
};

const families = (...names) => requirement(aws + "instance-family", ...names);
const sizes = (low, high) => [above(aws + "instance-cpu", String(low - 1)), { key: aws + "instance-cpu", operator: "Lt", values: [String(high + 1)] }];
const capacity = (...types) => requirement("karpenter.sh/capacity-type", ...types);

const pools = [
  pool("default", 50, [families("c6i", "c7i", "m6i", "m7i", "m6a", "r6i"), ...sizes(4, 16), capacity("on-demand", "spot")], {
    limits: { cpu: "400", memory: "1600Gi" },
    disruption: {
      consolidationPolicy: "WhenEmptyOrUnderutilized", consolidateAfter: "20s",
      budgets: [{ nodes: "20%" }, { nodes: "0", schedule: "0 9 * * mon-fri", duration: "8h", reasons: ["Drifted"] }, { nodes: "5", schedule: "0 22 * * *", duration: "6h" }],
    },
  }),
  pool("batch", 20, [families("c6a", "c7a", "m6a"), ...sizes(4, 32), capacity("spot")], {
    taints: [{ key: "example.com/batch", effect: "NoSchedule" }], limits: { cpu: "128" },
    disruption: { consolidationPolicy: "WhenEmpty", consolidateAfter: "2m", budgets: [{ nodes: "50%" }] },
  }),
  pool("search", 90, [families("r6i", "r7i"), ...sizes(4, 8), capacity("reserved", "on-demand")], {
    taints: [{ key: "example.com/search", effect: "NoSchedule" }],
    disruption: { consolidationPolicy: "WhenEmptyOrUnderutilized", consolidateAfter: "5m", budgets: [{ nodes: "1" }] },
  }),
  pool("gpu", 10, [families("g4dn", "g5"), capacity("on-demand")], {
    taints: [{ key: "nvidia.com/gpu", effect: "NoSchedule" }], limits: { "nvidia.com/gpu": "4" },
    disruption: { consolidationPolicy: "WhenEmpty", consolidateAfter: "10m" },
  }),
];

const tolerate = (key) => [{ key, operator: "Exists" }];

/** A workload: its namespace and name, number of pods, cpu and memory of each, and more of the pods. */
function workload(namespace, name, replicas, cpu, memory, { kind = "Deployment", spec = {}, annotations, requests = {}, limits, claims } = {}) {
  const labels = { app: name };
  const resources = { requests: { cpu, memory, ...requests }, limits, claims };
  return {
    apiVersion: "apps/v1", kind, metadata: { namespace, name },
    spec: {
      replicas, selector: { matchLabels: labels }, ...(kind === "StatefulSet" ? { serviceName: name, podManagementPolicy: "Parallel" } : {}),
      template: { metadata: { labels, annotations }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: "registry.example.com/app:1", resources }], ...spec } },
    },
  };
}

const spread = { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule", labelSelector: { matchLabels: { app: "web" } } }] };
const batch = { tolerations: tolerate("example.com/batch"), nodeSelector: { "karpenter.sh/nodepool": "batch" } };
const search = { tolerations: tolerate("example.com/search"), nodeSelector: { "karpenter.sh/nodepool": "search" } };

const workloads = [
  workload("shop", "web", 36, "500m", "768Mi", { spec: spread }),
  workload("shop", "cart", 18, "750m", "1536Mi"),
  workload("shop", "checkout", 12, "1200m", "2Gi", { spec: { nodeSelector: { "karpenter.sh/capacity-type": "on-demand" } } }),
  workload("payments", "ledger", 6, "1500m", "6Gi", { kind: "StatefulSet", spec: { nodeSelector: { "karpenter.sh/capacity-type": "on-demand" } } }),
  workload("payments", "fraud", 9, "900m", "3Gi"),
  workload("search", "index", 6, "3", "24Gi", { kind: "StatefulSet", spec: search }),
  workload("analytics", "query", 8, "1800m", "10Gi"),
  workload("analytics", "report", 3, "2", "8Gi", { annotations: { "karpenter.sh/do-not-disrupt": "true" } }),
  workload("ci", "runner", 10, "3500m", "6Gi", { spec: batch }),
  workload("ml", "inference", 2, "3", "12Gi", { spec: { tolerations: tolerate("nvidia.com/gpu") }, requests: { "nvidia.com/gpu": "1" }, limits: { "nvidia.com/gpu": "1" } }),
];

/** What finds no node: each for another reason. */
const refused = [
  workload("ml", "training", 3, "16", "64Gi", { spec: { tolerations: tolerate("nvidia.com/gpu") }, requests: { "nvidia.com/gpu": "4" }, limits: { "nvidia.com/gpu": "4" } }),
  workload("analytics", "cube", 2, "24", "96Gi"),
  workload("payments", "audit", 1, "500m", "1Gi", { spec: { nodeSelector: { "topology.kubernetes.io/zone": "us-east-1x" } } }),
  workload("ml", "notebook", 4, "2", "8Gi", { spec: { resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "one-gpu" }] }, claims: [{ name: "gpu" }] }),
  workload("ml", "finetune", 1, "4", "16Gi", { spec: { resourceClaims: [{ name: "gpus", resourceClaimTemplateName: "gpu-pair" }] }, claims: [{ name: "gpus" }] }),
];

const deviceClass = (name, driver) => ({ apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name }, spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] } });
const claims = (name, ...requests) => ({
  apiVersion: "resource.k8s.io/v1", kind: "ResourceClaimTemplate", metadata: { namespace: "ml", name },
  spec: { spec: { devices: { requests: requests.map(([name, deviceClassName, count]) => ({ name, exactly: { deviceClassName, allocationMode: "ExactCount", count } })) } } },
});

const budget = (namespace, app, rule) => ({ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { namespace, name: app }, spec: { selector: { matchLabels: { app } }, ...rule } });

const daemon = (name, cpu, memory) => ({
  apiVersion: "apps/v1", kind: "DaemonSet", metadata: { namespace: "kube-system", name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { tolerations: [{ operator: "Exists" }], containers: [{ name: "main", image: "registry.example.com/agent:1", resources: { requests: { cpu, memory } } }] } },
  },
});

const around = [
  ...["shop", "payments", "search", "analytics", "ci", "ml"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  nodeClass, ...pools, daemon("node-agent", "100m", "128Mi"), daemon("network", "50m", "96Mi"),
  budget("payments", "ledger", { maxUnavailable: 0 }), budget("shop", "web", { minAvailable: "80%" }),
  deviceClass("gpu.example.com", "gpu.example.com"), deviceClass("rdma.example.com", "rdma.example.com"),
  claims("one-gpu", ["gpu", "gpu.example.com", 1]), claims("gpu-pair", ["gpus", "gpu.example.com", 2], ["link", "rdma.example.com", 1]),
];

export class LiveCluster {
  constructor(program, directory) {
    this.program = program;
    this.directory = directory;
  }

  async local(...args) {
    return (await run(this.program, ["--dir", this.directory, ...args], { maxBuffer: 64 << 20 })).stdout;
  }

  async apply(...objects) {
    const child = spawn(this.program, ["--dir", this.directory, "kubectl", "apply", "-f", "-"], { stdio: ["pipe", "ignore", "inherit"] });
    child.stdin.end(JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    const code = await new Promise((done) => child.on("close", done));
    if (code) throw new Error(`kubectl apply ended with ${code}`);
  }

  scale(namespace, name, replicas) {
    return this.local("kubectl", "scale", "--namespace", namespace, "deployment/" + name, `--replicas=${replicas}`);
  }

  /** Starts the cluster and returns the address of its dashboard. */
  async start() {
    const text = await this.local("up");
    this.url = text.match(/^dashboard (\S+)$/m)[1];
    return this.url;
  }

  /** Waits until the condition holds for what path of the API answers. */
  async until(what, path, holds, seconds = 240) {
    for (let i = 0; i < seconds; i++) {
      const answer = await fetch(this.url + "api/v1/" + path).then((r) => (r.ok ? r.json() : null), () => null);
      if (answer && holds(answer)) return answer;
      await pause(1);
    }
    throw new Error(`the cluster has not ${what} after ${seconds} s`);
  }

  /** Makes a history: a scale-up, refused offerings, spot interruptions, consolidation, drift, refused pods. It takes some minutes. */
  async furnish(say = () => {}) {
    const bound = (n) => (fleet) => fleet.nodes.reduce((sum, x) => sum + x.pods.filter((p) => p[1] !== 1).length, 0) >= n;
    say("no capacity for some spot offerings, and a reservation");
    for (const offer of ["c6i.*/*/spot", "c7i.*/us-east-1a/spot", "c7i.*/us-east-1b/spot", "m7i.*/us-east-1f/spot", "m6a.*/us-east-1b/spot", "m6a.*/us-east-1d/spot", "c6a.*/us-east-1a/spot", "r6i.4xlarge/us-east-1c/spot"]) await this.local("aws", "ice", offer);
    await this.local("aws", "reserve", "r6i.2xlarge/us-east-1a", "--count", "3", "--tag", "purpose=search", "--targeted");
    say("workloads of six namespaces");
    await this.apply(...around);
    await this.apply(...workloads);
    await this.until("placed its pods", "fleet", bound(105));
    say("pods that no NodePool takes");
    await this.apply(...refused);
    await pause(15);
    say("two spot interruptions");
    await this.local("aws", "interrupt", "--random", "2");
    await pause(45);
    say("fewer pods: consolidation");
    await this.scale("shop", "web", 18);
    await this.scale("shop", "cart", 7);
    await this.scale("analytics", "query", 4);
    await this.until("consolidated", "decisions", ({ episodes }) => episodes.some((e) => e.kind === "disruption" && e.state === "done" && e.removedNodes > 0), 360);
    await this.until("found its costs", "cost", (c) => c.blocked?.length > 0);
    say("more pods, while most spot capacity is gone");
    for (const offer of ["c*.*/us-east-1a/spot", "m*.*/us-east-1b/spot", "c7i.*/*/spot", "m6a.*/*/spot", "m7i.*/us-east-1f/spot"]) await this.local("aws", "ice", offer);
    await this.scale("shop", "web", 40);
    await this.scale("shop", "cart", 16);
    await this.until("placed the new pods", "fleet", bound(100));
    await this.until("been refused offerings", "capacity", (c) => c.refused.some((r) => r.capacityType === "spot"), 60);
  }

  /** Starts nodes that are still coming when the next picture is taken. */
  async grow() {
    await this.local("aws", "boot", "--delay", "60s");
    await this.scale("shop", "web", 52);
    await this.until("launched nodes", "fleet", (f) => f.nodes.some((n) => n.state === "launching"), 60);
  }

  stop() {
    return this.local("down");
  }
}
