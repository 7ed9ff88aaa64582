package top

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// market are the instance types of the troubled clusters. m.gone is not available on demand in zone a. The quota of m.quota
// on demand is used up.
const market = `[
 {"name": "m.quota", "arch": "amd64", "allocatable": {"cpu": "4", "memory": "16Gi"}, "offerings": [{"zone": "a", "capacityType": "on-demand", "price": 0.3}, {"zone": "a", "capacityType": "spot", "price": 0.2}]},
 {"name": "m.small", "arch": "amd64", "allocatable": {"cpu": "2", "memory": "8Gi"}, "offerings": [{"zone": "a", "capacityType": "on-demand", "price": 0.05}]},
 {"name": "m.large", "arch": "amd64", "allocatable": {"cpu": "4", "memory": "16Gi"}, "offerings": [{"zone": "a", "capacityType": "on-demand", "price": 0.1}, {"zone": "b", "capacityType": "on-demand", "price": 0.1}]},
 {"name": "g.large", "arch": "arm64", "allocatable": {"cpu": "4", "memory": "16Gi"}, "offerings": [{"zone": "a", "capacityType": "on-demand", "price": 0.2}]},
 {"name": "m.gone", "arch": "amd64", "allocatable": {"cpu": "64", "memory": "256Gi"}, "offerings": [{"zone": "a", "capacityType": "spot", "price": 1}, {"zone": "b", "capacityType": "on-demand", "price": 3}]}]`

// pool is a NodePool. template are more fields of its template, in YAML.
func pool(name, template string) string {
	return `---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: ` + name + `}
spec:
  disruption: {consolidateAfter: 0s, budgets: [{nodes: "100%"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      ` + template + "\n"
}

const requirements = "requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]"

// node is a node of m.large with the pod shop/db, which fits on m.small. more are fields of the pod's metadata.
func node(more string) string {
	return `---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {karpenter.sh/nodepool: default, node.kubernetes.io/instance-type: m.large, topology.kubernetes.io/zone: a, karpenter.sh/capacity-type: on-demand}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: db, labels: {app: db}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: db, uid: db, controller: true}]` + more + `}
spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1}}}]}
`
}

// waiting is the pending pod shop/web with more fields of its spec.
func waiting(more string) string {
	return `---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: web}
spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]` + more + `}
`
}

// Each kind of trouble has one correct sentence and one correct fix. They are the same in explain, in the event and in top. The
// rule is the label of the metrics.
func TestTroubles(t *testing.T) {
	plainPool := pool("default", requirements)
	for _, tt := range []struct {
		name, cluster string
		// node is true if the trouble concerns node n1. Otherwise it is that pod shop/web is refused.
		node           bool
		why, fix, rule string
	}{
		{"taint", pool("gpu", requirements+"\n      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]") + waiting(""), false,
			"does not tolerate taint nvidia.com/gpu:NoSchedule", "add the toleration {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule} to the pod", "taint"},
		{"architecture", strings.Replace(plainPool, "[on-demand]}", "[on-demand]}, {key: kubernetes.io/arch, operator: In, values: [amd64]}", 1) + waiting(", nodeSelector: {kubernetes.io/arch: arm64}"), false,
			"requires kubernetes.io/arch in [arm64], but the NodePool allows [amd64]", "add arm64 to requirement kubernetes.io/arch of NodePool default", "labels"},
		{"zone of a volume", plainPool + waiting(", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]") + `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: shop, name: data}
spec: {volumeName: pv, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: ebs.csi.aws.com, volumeHandle: v}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z]}]}]}}
`, false,
			"a volume of the pod is in another zone", "allow the zone of the volume in NodePool default and in its node class, or move the volume", "labels"},
		{"limit of the NodePool", strings.Replace(plainPool, "spec:\n", "spec:\n  limits: {cpu: \"1\"}\n", 1) + waiting(""), false,
			"would exceed spec.limits.cpu of the NodePool", "raise spec.limits.cpu of NodePool default to at least 2", "limit"},
		{"no capacity", strings.Replace(plainPool, "[on-demand]}", "[on-demand]}, {key: topology.kubernetes.io/zone, operator: In, values: [a]}", 1) +
			waiting(", nodeSelector: {node.kubernetes.io/instance-type: m.gone}"), false,
			"no available offering for m.gone", "allow spot for karpenter.sh/capacity-type in NodePool default", "capacity"},
		{"quota", plainPool + waiting(", nodeSelector: {node.kubernetes.io/instance-type: m.quota}"), false,
			"the account's quota of on-demand vCPUs for Standard instances is used up",
			"raise the quota, or allow spot for karpenter.sh/capacity-type in NodePool default", "capacity"},
		{"affinity to nothing", plainPool + waiting(", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
			"[{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: nobody}}}]}}"), false,
			"no domain satisfies pod affinity over topology.kubernetes.io/zone", "create pods that match the labelSelector of the affinity first", "topology"},
		{"node class not ready", plainPool + waiting("") + `---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec: {amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{tags: {a: b}}], securityGroupSelectorTerms: [{tags: {a: b}}], role: r}
status: {conditions: [{type: Ready, status: "False", reason: SubnetsNotFound, message: no subnet matches, lastTransitionTime: "2026-01-05T11:00:00Z"}]}
`, false,
			"is not ready", "kubectl describe nodepool default, see the conditions", "nodepool"},
		{"nothing is large enough", plainPool + strings.Replace(waiting(""), "cpu: 1", "cpu: 90", 1), false,
			"no instance type of the NodePool is large enough", "request at most 64 cpu", "resources"},
		{"PodDisruptionBudget", plainPool + node("") + `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {namespace: shop, name: db}
spec: {minAvailable: 1, selector: {matchLabels: {app: db}}}
status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}
`, true, "PodDisruptionBudget shop/db allows no further disruption (pod shop/db)", "run more replicas than the PodDisruptionBudget needs", "pdb"},
		{"window of a budget", strings.Replace(plainPool, `budgets: [{nodes: "100%"}]`,
			`budgets: [{nodes: "0", schedule: "0 9 * * *", duration: 8h}]`, 1) + node(""), true,
			`disruption budget of NodePool "default" is used up (nodes: "0")`,
			`allow nodes in spec.disruption.budgets of NodePool "default", or wait until 2026-01-05 17:00 UTC, when they allow some`, "budget"},
		{"do-not-disrupt", plainPool + node(", annotations: {karpenter.sh/do-not-disrupt: \"true\"}"), true,
			"pod shop/db has annotation karpenter.sh/do-not-disrupt", "remove the annotation", "do_not_disrupt"},
		{"a price that does not pay back", strings.Replace(plainPool, "metadata: {name: default}",
			"metadata: {name: default, annotations: {ext.karpenter.sh/eviction-cost: \"100\"}}", 1) + node(""), true,
			"within the payback period", "raise annotation ext.karpenter.sh/payback-period of NodePool \"default\"", "payback"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := decide(t, tt.cluster)
			e := explain.New(run.Snapshot, run.Options.Labels)
			d := run.Disrupt(disrupt.Options{Simulate: true}, time.Now)
			shown := Of(run, d, nil)
			var why, fix, event, topWhy, topFix, rule string
			if tt.node {
				a, ok := run.Node(d, "n1")
				if !ok || len(d.Blocked) != 1 {
					t.Fatalf("node n1 is not kept: %+v", a)
				}
				v := d.Blocked[0].Verdict
				why, fix, event, rule = a.Reason, a.Fix, explain.Sentence(v), v.Rule.Word()
				topWhy, topFix = shown.Nodes[0].Reason, shown.Nodes[0].Fix
				if shown.Nodes[0].Rule != rule {
					t.Errorf("top shows rule %q, the metric %q", shown.Nodes[0].Rule, rule)
				}
			} else {
				a, ok := run.Pod(e, "shop/web")
				if !ok || len(a.Reasons) != 1 || len(shown.Pending) != 1 {
					t.Fatalf("pod shop/web is not refused: %+v", a)
				}
				r := run.Plan.Refusals[0]
				why, fix, event, rule = a.Reasons[0].Why, a.Reasons[0].Fix, e.Brief(r), a.Reasons[0].Rule().Word()
				topWhy, topFix = shown.Pending[0].Reason, shown.Pending[0].Fix
			}
			if !strings.Contains(why, tt.why) || !strings.Contains(fix, tt.fix) || rule != tt.rule {
				t.Errorf("explain: %s\nfix: %s\nrule: %s", why, fix, rule)
			}
			if !strings.Contains(event, why) || !strings.Contains(event, "fix: "+fix) {
				t.Errorf("the event is %q, explain says %q and %q", event, why, fix)
			}
			if !strings.HasSuffix(topWhy, why) || topFix != fix {
				t.Errorf("top shows %q and %q, explain %q and %q", topWhy, topFix, why, fix)
			}
		})
	}
}

// If many NodePools refuse a pod, the text names the nearest one with its obstacles, and the number of the others.
func TestNearestPool(t *testing.T) {
	run := decide(t, pool("far", "requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]\n      taints: [{key: a, effect: NoSchedule}, {key: b, effect: NoSchedule}]")+
		pool("near", requirements+"\n      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]")+
		pool("other", requirements+"\n      taints: [{key: a, effect: NoSchedule}, {key: b, effect: NoSchedule}]")+waiting(""))
	got := explain.New(run.Snapshot, run.Options.Labels).Brief(run.Plan.Refusals[0])
	want := `NodePool "near": does not tolerate taint nvidia.com/gpu:NoSchedule ` +
		`(fix: add the toleration {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule} to the pod); and 2 more NodePools`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// decide plans for a cluster of manifests at noon.
func decide(t *testing.T, cluster string) *offline.Run {
	t.Helper()
	set, err := manifest.Read(t.Context(), []string{manifest.Stdin}, manifest.Options{Stdin: strings.NewReader(cluster)})
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := offline.ReadCatalogue("types.json", []byte(market))
	if err != nil {
		t.Fatal(err)
	}
	c, err := offline.Assemble(set, catalogue, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, types := range c.Delta.Types {
		for _, it := range types {
			for k := range it.Offerings {
				if o := &it.Offerings[k]; it.Name == "m.quota" && o.CapacityType == "on-demand" {
					o.Available, o.Quota = false, "on-demand vCPUs for Standard instances"
				}
			}
		}
	}
	return c.Decide(pack.Options{}, 1, time.Now)
}
