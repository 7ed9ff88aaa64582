package backtest

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/backtest/synthetic"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// twoTypes are two instance types. The larger one has the lower price per core.
const twoTypes = `[
 {"name":"small","arch":"amd64","allocatable":{"cpu":"2","memory":"8Gi","pods":"20"},
  "offerings":[{"zone":"a","capacityType":"on-demand","price":0.10},{"zone":"b","capacityType":"on-demand","price":0.10}]},
 {"name":"large","arch":"amd64","allocatable":{"cpu":"8","memory":"32Gi","pods":"80","nvidia.com/gpu":"2"},
  "offerings":[{"zone":"a","capacityType":"on-demand","price":0.36},{"zone":"b","capacityType":"on-demand","price":0.36}]}]`

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: [], expireAfter: Never}}
  disruption: {consolidateAfter: 5m, budgets: [{nodes: 100%}]}
`

// small returns the policy of the manifests with twoTypes.
func small(t testing.TB, manifests string) Policy {
	t.Helper()
	return policyWith(t, manifests, twoTypes)
}

// policyWith returns the policy of the manifests with the instance types, which are a catalogue as JSON.
func policyWith(t testing.TB, manifests, instanceTypes string) Policy {
	t.Helper()
	set, err := manifest.Read(t.Context(), []string{manifest.Stdin}, manifest.Options{Stdin: strings.NewReader(manifests)})
	if err != nil {
		t.Fatal(err)
	}
	known, err := offline.ReadCatalogue("types.json", []byte(instanceTypes))
	if err != nil {
		t.Fatal(err)
	}
	c, err := offline.Assemble(set, known, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := NewPolicy("small", c, pack.Options{}, disrupt.Options{})
	return p
}

// replayed cuts the trace to two hours and replays it.
func replayed(t testing.TB, p Policy, csv string, s Settings) Result {
	t.Helper()
	trace, err := Read("trace.csv", strings.NewReader(csv), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Cut(time.Unix(0, 0), 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	r, err := Replay(trace, p, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// begun returns the replay of the trace at the beginning of the period.
func begun(t testing.TB, trace *Trace, p Policy, s Settings) *replay {
	t.Helper()
	r, err := begin(trace, p, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const header = "name,cpu,memory,creation,deletion\n"

// The bill of a small trace equals the bill that is computed by hand. One pod runs from the beginning to the end on a node
// of its own. A second pod of the same size is created after 600 s and needs another node, which boots for a minute. This
// pod ends at 4200 s. consolidateAfter of its node has elapsed at 4500 s, and disruption is decided every 600 s.
func TestReplayBill(t *testing.T) {
	got := replayed(t, small(t, pool), header+"a,1500m,1Gi,0,\nb,1500m,1Gi,600,4200\n", DefaultSettings())
	want := Result{
		Policy: "small", Dollars: 0.2 + cents(0.10*4200/3600), Floor: got.Floor, Evictions: 0, Disrupted: 1,
		Pending: Pending{P50: 60, P95: 60, Max: 60}, Pods: 2, Launched: 2, Peak: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The lower bound is computed every five minutes. It is a linear relaxation, so it may use fractions of the larger
	// type. The second pod counts from 600 s to 3900 s.
	if floor := 0.36 / 8 * 1.5 * (24 + 12) / 12; math.Abs(got.Floor-floor) > 1e-3 {
		t.Errorf("the lower bound is %v, want %v", got.Floor, floor)
	}
}

// agent returns the manifest of a DaemonSet that requests 900m of CPU, whose pods have one more field in their spec.
func agent(field string) string {
	return `---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      ` + field + `
      containers: [{name: agent, image: agent, resources: {requests: {cpu: 900m}}}]
`
}

// A DaemonSet runs on the cheaper type only. Its requests take up room of the node, although they are no requests of the
// NodeClaim, so each pod needs a node of its own.
func TestReplayDaemonsOfOneType(t *testing.T) {
	const kinds = `[
 {"name":"arm","arch":"arm64","allocatable":{"cpu":"2","memory":"8Gi","pods":"20"},
  "offerings":[{"zone":"a","capacityType":"on-demand","price":0.10}]},
 {"name":"amd","arch":"amd64","allocatable":{"cpu":"2","memory":"8Gi","pods":"20"},
  "offerings":[{"zone":"a","capacityType":"on-demand","price":0.36}]}]`
	daemon := agent("nodeSelector: {kubernetes.io/arch: arm64}")
	got := replayed(t, policyWith(t, pool+daemon, kinds), header+"a,1,1Gi,0,\nb,1,1Gi,600,\n", DefaultSettings())
	if got.Launched != 2 || got.Dollars < got.Floor || got.Unbound != 0 {
		t.Errorf("%+v, want 2 nodes and a price of at least the lower bound", got)
	}
}

// DaemonSets whose pods have ResourceClaims take up room of nodes only if the policy counts them.
func TestReplayDynamicResources(t *testing.T) {
	daemon := agent("resourceClaims: [{name: device, resourceClaimTemplateName: device}]")
	for counts, want := range map[bool]float64{false: 0.2, true: 0.4} { // two hours of one or two small nodes
		p, _ := NewPolicy("", &offline.Case{DynamicResources: counts, Delta: small(t, pool+daemon).Objects}, pack.Options{}, disrupt.Options{})
		got := replayed(t, p, header+"a,1,1Gi,0,\nb,1,1Gi,0,\n", DefaultSettings())
		if got.Dollars != want {
			t.Errorf("ResourceClaims count: %t: %+v, want $%g", counts, got, want)
		}
	}
}

// Evicted pods are bound again: the three pods on half-empty nodes move to fewer nodes, and no pod is lost.
func TestReplayConsolidates(t *testing.T) {
	var csv strings.Builder
	csv.WriteString(header)
	for i := range 16 { // as many as fill two large nodes; most of them end after ten minutes
		end := ""
		if i%5 != 0 {
			end = "600"
		}
		fmt.Fprintf(&csv, "p%d,1,1Gi,0,%s\n", i, end)
	}
	got := replayed(t, small(t, pool), csv.String(), DefaultSettings())
	if got.Evictions == 0 || got.Disrupted == 0 {
		t.Errorf("nothing was consolidated: %+v", got)
	}
	if got.Unbound != 0 {
		t.Errorf("%d pods have no node", got.Unbound)
	}
	still := replayed(t, small(t, pool).WithConsolidation("never", "WhenEmpty", nil), csv.String(), DefaultSettings())
	if still.Evictions != 0 || still.Dollars <= got.Dollars {
		t.Errorf("WhenEmpty: %+v, want no evictions and a higher price than %v", still, got.Dollars)
	}
}

// Pods whose PodDisruptionBudget allows no disruption are not evicted.
func TestReplayHonoursBudgets(t *testing.T) {
	pdb := "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: all, namespace: default}\nspec: {maxUnavailable: 0, selector: {}}\n"
	csv := header + "a,1,1Gi,0,\nb,7,1Gi,0,600\n"
	if got := replayed(t, small(t, pool), csv, DefaultSettings()); got.Evictions != 1 {
		t.Errorf("without a budget %d evictions, want 1", got.Evictions)
	}
	if got := replayed(t, small(t, pool+pdb), csv, DefaultSettings()); got.Evictions != 0 {
		t.Errorf("with a budget %d evictions, want 0", got.Evictions)
	}
}

// A pod that fits on no node is counted as unbound. It does not delay other pods.
func TestReplayRefusals(t *testing.T) {
	got := replayed(t, small(t, pool), header+"a,1,1Gi,10,\nhuge,100,1Gi,10,\n", DefaultSettings())
	if got.Unbound != 1 || got.Pending.P50 != 60 || got.Pending.Max != 7190 {
		t.Errorf("%+v, want one pod without a node for 7190 s and the other one bound after 60 s", got)
	}
}

// Without slices, a pod with a share of an accelerator uses a whole one. With slices, several pods share an accelerator.
func TestReplaySlices(t *testing.T) {
	csv := "name,cpu,memory,num_gpu,gpu_milli,creation,deletion\n"
	for i := range 8 {
		csv += fmt.Sprintf("p%d,100m,1Gi,1,250,0,\n", i)
	}
	s := DefaultSettings()
	if got := replayed(t, small(t, pool), csv, s); got.Launched != 4 {
		t.Errorf("%d nodes with two accelerators for 8 pods, want 4", got.Launched)
	}
	s.Slices = 4
	if got := replayed(t, small(t, pool), csv, s); got.Launched != 1 {
		t.Errorf("%d nodes with eight slices for 8 pods, want 1", got.Launched)
	}
}

// The same input gives the same result. At each step, every pod is either on one node or waiting, and no node has more pods
// than fit.
func TestReplayLaws(t *testing.T) {
	p := policyOf(t, "current", fmt.Sprintf(nodePool, 17))
	trace := traceOf(t, synthetic.Day(20, 3))
	once, err := Replay(trace, p, DefaultSettings(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Compare(trace, []Policy{p, p}, DefaultSettings(), func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Result{once, once}, again.Policies); diff != "" {
		t.Error(diff)
	}
	if once.Dollars < once.Floor || once.Unbound > 0 || once.Evictions == 0 {
		t.Errorf("%+v", once)
	}
	r := begun(t, trace, p, DefaultSettings())
	for r.now < r.end {
		r.step()
		bound := 0
		for _, n := range r.nodes {
			for name, free := range n.free {
				if free < 0 {
					t.Fatalf("at %d: node %s has %d of %s left", r.now, n.name, free, name)
				}
			}
			bound += len(n.pods)
		}
		if bound+len(r.waiting) != len(r.live) {
			t.Fatalf("at %d: %d bound and %d waiting pods, and %d exist", r.now, bound, len(r.waiting), len(r.live))
		}
		s := r.look()
		if len(s.Nodes()) != len(r.nodes) || len(s.Pods.Values()) != len(r.live) {
			t.Fatalf("at %d: the snapshot has %d nodes and %d pods, want %d and %d", r.now, len(s.Nodes()), len(s.Pods.Values()), len(r.nodes), len(r.live))
		}
		now := r.now
		if r.now = r.next(); r.now <= now {
			t.Fatalf("time stands still at %d", now)
		}
	}
}

// Constraints of pods in an audit log are respected, also after an eviction: pods with anti-affinity to each other run on
// different nodes, in the zone that they select.
func TestReplayConstraints(t *testing.T) {
	const spec = `"spec":{"nodeSelector":{"topology.kubernetes.io/zone":"b"},"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":` +
		`[{"labelSelector":{"matchLabels":{"app":"db"}},"topologyKey":"kubernetes.io/hostname"}]}},`
	var log strings.Builder
	for i := range 4 {
		pod := strings.Replace(auditPod(fmt.Sprint("db-", i), `,"labels":{"app":"db"}`), `"spec":{`, spec, 1)
		log.WriteString(audit(10+200*i, "create", "", fmt.Sprint("db-", i), pod))
	}
	for i := range 6 {
		log.WriteString(audit(20, "create", "", fmt.Sprint("big-", i), auditPod(fmt.Sprint("big-", i), `,"labels":{"app":"big"}`)))
		log.WriteString(audit(900, "delete", "", fmt.Sprint("big-", i), auditPod(fmt.Sprint("big-", i), "")))
	}
	trace, err := Read("audit.jsonl", strings.NewReader(log.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Cut(time.Unix(0, 0), 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	r := begun(t, trace, small(t, pool), DefaultSettings())
	for r.now < r.end {
		r.step()
		for _, n := range r.nodes {
			dbs := 0
			for _, p := range n.pods {
				if p.object.Labels["app"] == "db" {
					dbs++
				}
			}
			if zone := n.object.Labels["topology.kubernetes.io/zone"]; dbs > 1 || dbs > 0 && zone != "b" {
				t.Fatalf("at %d: node %s in zone %s has %d pods with anti-affinity to each other", r.now, n.name, zone, dbs)
			}
		}
		r.now = r.next()
	}
	if got := r.result(); got.Unbound != 0 || got.Pods != 10 || got.Launched < 4 {
		t.Errorf("%+v", got)
	}
}
