package offline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

const typesFile = `[{"name": "m.large", "allocatable": {"cpu": "4", "memory": "16Gi"}, "capacity": {"cpu": "5"},
  "labels": {"example.com/family": "m"}, "offerings": [{"zone": "a", "capacityType": "on-demand", "price": 0.1}]}]`

// assemble returns the Case of the objects in a YAML text.
func assemble(t *testing.T, text string) (*Case, error) {
	t.Helper()
	set, err := manifest.Read(t.Context(), []string{manifest.Stdin}, manifest.Options{Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := ReadCatalogue("types.json", []byte(typesFile))
	if err != nil {
		t.Fatal(err)
	}
	return Assemble(set, catalogue, noon)
}

// names returns the names of the pending pods, and of the pods that are bound to nodes.
func names(t *testing.T, text string) (pending, bound []string, c *Case) {
	t.Helper()
	c, err := assemble(t, text)
	if err != nil {
		t.Fatal(err)
	}
	s := model.Compile(c.Delta)
	for _, p := range s.Pending() {
		pending = append(pending, strings.TrimPrefix(p.Key, "default/"))
	}
	for _, n := range s.Nodes() {
		for _, p := range n.Pods {
			bound = append(bound, strings.TrimPrefix(p.Key, "default/"))
		}
	}
	return pending, bound, c
}

func TestExpansion(t *testing.T) {
	workload := func(kind, spec string) string {
		version := "apps/v1"
		if kind == "Job" {
			version = "batch/v1"
		}
		return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n"+
			"  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}\n  %s\n", version, kind, spec)
	}
	pod := func(name, labels, owner, more string) string {
		ref := ""
		if kind, of, ok := strings.Cut(owner, "/"); ok {
			ref = fmt.Sprintf(", ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, uid: u, controller: true}]", kind, of)
		}
		return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {%s}%s}\nspec: {containers: [{name: c}]}\n%s\n",
			name, labels, ref, more)
	}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"a Deployment", workload("Deployment", "replicas: 2"), []string{"web-0", "web-1"}},
		{"replicas left out are one", workload("Deployment", ""), []string{"web-0"}},
		{"none", workload("Deployment", "replicas: 0"), nil},
		{"with pods of its ReplicaSet, only the rest", workload("Deployment", "replicas: 3") +
			pod("web-5d4f-x", "app: web, pod-template-hash: 5d4f", "ReplicaSet/web-5d4f", "") +
			pod("web-5d4f-y", "app: web", "ReplicaSet/web-5d4f", ""), []string{"web-0", "web-5d4f-x", "web-5d4f-y"}},
		{"pods of another Deployment whose name begins alike are not its own", workload("Deployment", "replicas: 1") +
			pod("web-api-5d4f-x", "app: api", "ReplicaSet/web-api-5d4f", ""), []string{"web-0", "web-api-5d4f-x"}},
		{"pods without an owner that its selector finds are its own", workload("Deployment", "replicas: 2") +
			pod("a", "app: web", "", "") + pod("b", "app: other", "", ""), []string{"a", "b", "web-0"}},
		{"ended pods do not count", workload("Deployment", "replicas: 1") +
			pod("web-5d4f-x", "app: web", "ReplicaSet/web-5d4f", "status: {phase: Failed}"), []string{"web-0"}},
		{"its ReplicaSet is not expanded beside it", workload("Deployment", "replicas: 2") +
			strings.Replace(workload("ReplicaSet", "replicas: 2"), "{name: web}",
				"{name: web-5d4f, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]}", 1),
			[]string{"web-0", "web-1"}},
		{"a ReplicaSet by itself", workload("ReplicaSet", "replicas: 2"), []string{"web-0", "web-1"}},
		{"a ReplicaSet with pods", workload("ReplicaSet", "replicas: 2") + pod("web-abc", "app: web", "ReplicaSet/web", ""),
			[]string{"web-0", "web-abc"}},
		{"a StatefulSet fills the numbers that are missing", workload("StatefulSet", "replicas: 3\n  serviceName: web") +
			pod("web-1", "app: web", "StatefulSet/web", ""), []string{"web-0", "web-1", "web-2"}},
		{"a StatefulSet that begins elsewhere", workload("StatefulSet", "replicas: 2\n  ordinals: {start: 5}"), []string{"web-5", "web-6"}},
		{"a Job runs so many at once", workload("Job", "parallelism: 2\n  completions: 9"), []string{"web-0", "web-1"}},
		{"and no more than are left to complete", workload("Job", "parallelism: 5\n  completions: 9\nstatus: {succeeded: 8}"), []string{"web-0"}},
		{"a Job that waits", workload("Job", "suspend: true"), nil},
		{"a name that is taken", workload("Deployment", "replicas: 1") + pod("web-0", "app: other", "", ""), []string{"web-0", "web-1"}},
		{"a DaemonSet is no reason to have a node", workload("DaemonSet", "minReadySeconds: 0"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, _ := names(t, tt.text)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpandedPodsAreAlike(t *testing.T) {
	_, _, c := names(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: data}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}, annotations: {x: z}}
    spec:
      priorityClassName: high
      containers:
      - {name: c, resources: {limits: {cpu: "2"}}, ports: [{containerPort: 80}]}
  volumeClaimTemplates:
  - {metadata: {name: disk}, spec: {accessModes: [ReadWriteOnce]}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: x}
`)
	p := c.Delta.Pods[1]
	if p.Namespace != "data" || p.Labels["app"] != "db" || p.Labels["apps.kubernetes.io/pod-index"] != "1" || p.Annotations["x"] != "z" {
		t.Errorf("metadata: %+v", p.ObjectMeta)
	}
	if *p.Spec.Priority != 7 {
		t.Errorf("priority is %d", *p.Spec.Priority)
	}
	if q := p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]; q.String() != "2" {
		t.Errorf("requests cpu %s", q.String())
	}
	if name := p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName; name != "disk-db-1" {
		t.Errorf("claim is %q", name)
	}
	claims := c.Delta.VolumeClaims
	if len(claims) != 2 || claims[1].Name != "disk-db-1" || claims[1].Namespace != "data" || *claims[1].Spec.StorageClassName != "gp3" {
		t.Errorf("claims: %v", claims)
	}
}

func TestAdmission(t *testing.T) {
	_, _, c := names(t, `
{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: small}, spec: {limits: [{type: Container, defaultRequest: {cpu: 100m}, default: {memory: 1Gi}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: small}, spec: {containers: [{name: c, resources: {requests: {memory: 2Gi}, limits: {memory: 3Gi}}}]}}
---
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: vm}, handler: vm, overhead: {podFixed: {cpu: 250m}}, scheduling: {nodeSelector: {vm: "yes"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {runtimeClassName: vm, hostNetwork: true, priorityClassName: lost, containers: [{name: c, ports: [{containerPort: 80}]}]}}
`)
	a, b := c.Delta.Pods[0], c.Delta.Pods[1]
	got := model.NewPod(a).Requests
	if got["cpu"] != 100 || got["memory"] != 2<<30 {
		t.Errorf("a asks for %v", got)
	}
	if model.NewPod(b).Requests["cpu"] != 250 || b.Spec.NodeSelector["vm"] != "yes" {
		t.Errorf("b: %v %v", model.NewPod(b).Requests, b.Spec.NodeSelector)
	}
	if port := b.Spec.Containers[0].Ports[0]; port.HostPort != 80 || port.Protocol != corev1.ProtocolTCP {
		t.Errorf("port %+v", port)
	}
	if !slices.Contains(c.Warnings, "PriorityClass lost is not in the input: its pods have priority 0") {
		t.Errorf("warnings: %q", c.Warnings)
	}
}

const fleet = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {karpenter.sh/nodepool: default, node.kubernetes.io/instance-type: m.large, topology.kubernetes.io/zone: a}}
spec: {taints: [{key: karpenter.sh/unregistered, effect: NoExecute}, {key: mine, effect: NoSchedule}]}
---
{apiVersion: v1, kind: Node, metadata: {name: other}, status: {capacity: {cpu: 2, memory: 4Gi}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: runs}, spec: {nodeName: n1, containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: lost}, spec: {nodeName: nowhere, containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: done}, spec: {nodeName: n1, containers: [{name: c}]}, status: {phase: Succeeded}}
`

// A node with the label of a pool counts as initialized and consolidatable, with or without a claim.
func TestNodes(t *testing.T) {
	claim := `
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: c1, labels: {karpenter.sh/nodepool: default}}
spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []}
status: {nodeName: n1}
`
	namesake := strings.Replace(strings.Replace(claim, "name: c1", "name: n1", 1), "status: {nodeName: n1}\n", "", 1)
	for name, text := range map[string]string{
		"without a claim": fleet, "with a claim": fleet + claim, "with a claim of its name": fleet + namesake,
	} {
		t.Run(name, func(t *testing.T) {
			pending, bound, c := names(t, text)
			if len(pending) != 0 || !slices.Equal(bound, []string{"runs"}) {
				t.Errorf("pending %v, bound %v", pending, bound)
			}
			s := model.Compile(c.Delta)
			n, _ := s.NodeByName("n1")
			if !n.Registered || !n.Initialized || !n.Managed() || n.Pool != "default" || len(s.Claims.Values()) != 1 {
				t.Errorf("node: %+v, claims: %v", n, s.Claims.Values())
			}
			for _, condition := range n.Claim.Status.Conditions {
				if condition.Status != "True" {
					t.Errorf("condition %s is %s", condition.Type, condition.Status)
				}
			}
			if len(n.Claim.Status.Conditions) != 4 || len(n.Taints) != 1 || n.Taints[0].Key != "mine" {
				t.Errorf("conditions %v, taints %v", n.Claim.Status.Conditions, n.Taints)
			}
			if n.Allocatable["cpu"] != 4000 || n.Capacity["cpu"] != 5000 || n.Labels["example.com/family"] != "m" {
				t.Errorf("what the type has is missing: %v, %v", n.Allocatable, n.Labels)
			}
			if o, _ := s.NodeByName("other"); o.Managed() || o.Allocatable["cpu"] != 2000 || !o.Initialized {
				t.Errorf("a node that is not ours: %+v", o)
			}
			if !slices.Contains(c.Warnings, "left out 1 pod of nodes that are not in the input") {
				t.Errorf("warnings: %q", c.Warnings)
			}
		})
	}
}

func TestDefaultPool(t *testing.T) {
	_, _, c := names(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}")
	if len(c.Delta.Pools) != 1 || c.Delta.Pools[0].Name != "default" || !model.NewPool(c.Delta.Pools[0], nil).Usable().OK() {
		t.Fatalf("pools: %v", c.Delta.Pools)
	}
	run := c.Decide(pack.Options{}, 3, time.Now)
	if run.Pending() != 1 || run.Placed() != 1 || run.Plan.Nodes[0].Offering.CapacityType != apiv1.CapacityTypeOnDemand {
		t.Errorf("plan:\n%s", run.Plan)
	}
}

// A NodePool counts as ready whatever its status, unless the input has its node class and that is not ready.
func TestReadiness(t *testing.T) {
	pool := `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p}
spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}, requirements: []}}}
status: {conditions: [{type: Ready, status: "False", reason: R, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}]}
`
	class := `
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: c}
spec:
  role: r
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
`
	status := `
status:
  conditions:
  - {type: SubnetsReady, status: "False", reason: R, message: no subnets, lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Ready, status: "False", reason: R, message: SubnetsReady=False, lastTransitionTime: "2026-01-01T00:00:00Z"}
`
	for _, tt := range []struct {
		name, text string
		want       bool
	}{{"no class", pool, true}, {"a class without status", pool + class, true}, {"a class that is not ready", pool + class + status, false}} {
		_, _, c := names(t, tt.text)
		if got := model.NewPool(c.Delta.Pools[0], nil).Usable().OK(); got != tt.want {
			t.Errorf("%s: usable is %v", tt.name, got)
		}
		if !tt.want && !slices.Contains(c.Warnings, "NodePool p is not ready, because EC2NodeClass c is not: no subnets") {
			t.Errorf("%s: warnings: %q", tt.name, c.Warnings)
		}
	}
}

// static returns a static NodePool.
func static(replicas int64, limits string) string {
	return fmt.Sprintf("{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: p}, spec: {replicas: %d, %s template: {spec: "+
		"{nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}, requirements: []}}}}", replicas, limits)
}

// A warning names the replicas of a static NodePool that its limit prevents.
func TestReplicasAboveLimit(t *testing.T) {
	_, _, c := names(t, static(3, "limits: {nodes: 2},"))
	want := "NodePool p: spec.replicas is 3, but spec.limits.nodes is 2: no more nodes than that are launched"
	if len(c.Static) != 2 || !slices.Contains(c.Warnings, want) {
		t.Errorf("%d nodes, warnings %q, want 2 and %q", len(c.Static), c.Warnings, want)
	}
}

func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"{apiVersion: v1, kind: Pod, metadata: {name: a}}", "Pod a: spec.containers: is empty"},
		{"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, resources: {requests: {cpu: -1}}}]}}",
			"Pod a: spec.containers[0].resources.requests[cpu]: -1 is negative"},
		{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: [{name: c}, {name: d, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}}}}",
			"Deployment a: spec.template.spec.containers[1].resources.requests[cpu]: 2 is more than the limit of 1"},
		{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2000000000, template: {spec: {containers: [{name: c}]}}}}",
			"Deployment a: spec: needs 2000000000 pods, at most 1000000 are simulated"},
		{static(9223372036854775807, ""), "NodePool p: spec.replicas: is 9223372036854775807, at most 1000000 nodes are simulated"},
	} {
		_, err := assemble(t, tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want %s", err, tt.want)
		}
	}
}

// Equal pods share their containers. Defaults of one pod's namespace or network do not change the other pods.
func TestSharedContainersAreNotSpoilt(t *testing.T) {
	_, _, c := names(t, `[
{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "small"}, "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "100m"}}]}},
{"metadata": {"name": "a", "namespace": "small"}, "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}},
{"metadata": {"name": "b"}, "spec": {"hostNetwork": true, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}},
{"metadata": {"name": "d"}, "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}}]`)
	for i, want := range []struct {
		cpu  int64
		port int32
	}{{100, 0}, {0, 80}, {0, 0}} {
		p := c.Delta.Pods[i]
		if got := model.NewPod(p).Requests["cpu"]; got != want.cpu || p.Spec.Containers[0].Ports[0].HostPort != want.port {
			t.Errorf("pod %s: %d millicores, host port %d", p.Name, got, p.Spec.Containers[0].Ports[0].HostPort)
		}
	}
}
