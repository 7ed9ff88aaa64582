package verify

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

func TestCorrectPlan(t *testing.T) {
	if found := Plan(newStory().told(t)); len(found) > 0 {
		t.Errorf("violations: %q", found)
	}
	if found := Plan(&model.Snapshot{}, &model.Plan{}); len(found) > 0 {
		t.Errorf("violations of nothing: %q", found)
	}
}

// A spoiled is a test case: a story in which the cluster or the plan is changed so that, usually, one rule is violated.
type spoiled struct {
	name    string
	cluster func(*story)      // changes the cluster before it is compiled
	plan    func(*model.Plan) // changes the plan
	want    string            // part of the text of the first violation; empty if there must be none
	only    bool              // there must be no other violation
}

func (tt spoiled) run(t *testing.T) {
	st := newStory()
	if tt.cluster != nil {
		tt.cluster(st)
	}
	s, p := st.told(t)
	if tt.plan != nil {
		tt.plan(p)
	}
	found := Plan(s, p)
	for _, v := range found {
		attributed(t, p, v)
	}
	switch {
	case tt.want == "" && len(found) > 0:
		t.Errorf("violations: %q", found)
	case tt.want == "":
	case len(found) == 0:
		t.Errorf("nothing found, want %q", tt.want)
	case !strings.Contains(found[0].String(), tt.want):
		t.Errorf("found %q, want %q", found, tt.want)
	case tt.only && len(found) > 1:
		t.Errorf("found more: %q", found)
	}
}

// attributed checks that the violation names the pod, node or pool that it concerns. A violation about prices or an empty
// refusal need not name any.
func attributed(t *testing.T, p *model.Plan, v Violation) {
	i, planned := v.PlannedNode()
	switch {
	case planned != strings.HasPrefix(v.Node, "planned node "):
		t.Errorf("%s: is node %d planned: %v", v, i, planned)
	case planned && (i >= len(p.Nodes) || !strings.HasPrefix(v.Node, fmt.Sprintf("planned node %d", i))):
		t.Errorf("%s: is said to concern planned node %d", v, i)
	case v.Pod == "" && v.Node == "" && v.Pool == "" && v.Rule != RulePrice && v.Rule != RuleRefusal:
		t.Errorf("%s: concerns no pod, node or pool", v)
	}
}

func TestAccount(t *testing.T) {
	for _, tt := range []spoiled{
		{
			name: "a pod is forgotten", only: true,
			plan: func(p *model.Plan) { p.Nodes[0].Pods = p.Nodes[0].Pods[:1] },
			want: "account: pod default/web-2: is pending, but neither placed nor refused",
		},
		{
			name: "a refusal is forgotten", only: true,
			plan: func(p *model.Plan) { p.Refusals = nil },
			want: "account: pod default/huge: is pending",
		},
		{
			name: "a pod is placed twice",
			plan: func(p *model.Plan) {
				p.Placements[0].Pods = append(p.Placements[0].Pods[:1:1], p.Placements[1].Pods...)
			},
			want: "account: pod default/web-4: is placed or refused more than once",
		},
		{
			name: "a pod is placed and refused", only: true,
			plan: func(p *model.Plan) { p.Refusals[0].Pods = append(p.Refusals[0].Pods, p.Nodes[0].Pods[0]) },
			want: "account: pod default/web-1: is placed or refused more than once",
		},
		{
			name: "a pod is made up", only: true,
			plan: func(p *model.Plan) {
				p.Refusals[0].Pods = append(p.Refusals[0].Pods, model.NewPod(newPod("ghost", "1")))
			},
			want: "account: pod default/ghost: is not in the snapshot",
		},
		{
			name: "a pod is of another time", only: true,
			plan: func(p *model.Plan) { p.Refusals[0].Pods[0] = model.NewPod(newPod("huge", "1")) },
			want: "account: pod default/huge: is another version",
		},
		{
			name: "a planned node without pods", only: true,
			plan: func(p *model.Plan) {
				p.Refusals[0].Pods = append(p.Refusals[0].Pods, p.Nodes[0].Pods...)
				p.Nodes[0].Pods = nil
			},
			want: "account: planned node 0 (default): is for no pod",
		},
		{
			name: "a refusal without a reason", only: true,
			plan: func(p *model.Plan) { p.Refusals[0].Reasons = nil },
			want: "refusal: pod default/huge: is refused without a reason",
		},
		{
			name: "a refusal that says yes", only: true,
			plan: func(p *model.Plan) { p.Refusals[0].Reasons[0].Verdict = model.Verdict{} },
			want: "refusal: pod default/huge: is refused, but pool default says that it fits",
		},
		{
			name: "a refusal without pods",
			plan: func(p *model.Plan) { p.Refusals = append(p.Refusals, model.Refusal{}) },
			want: "refusal: refuses no pod", only: true,
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// A plan may place a bound pod only if the node of the pod is being removed.
func TestAccountOfRunningPods(t *testing.T) {
	for _, going := range []bool{false, true} {
		st := newStory()
		if going {
			now := metav1.NewTime(time.Unix(0, 0))
			st.old.DeletionTimestamp = &now
		}
		s, p := st.told(t)
		there, _ := s.Pods.Get("default/there")
		p.Refusals[0].Pods = append(p.Refusals[0].Pods, there, p.Placements[0].Pods[0])
		p.Placements = p.Placements[1:]
		want := "account: pod default/there: runs on old, which stays"
		switch found := Plan(s, p); {
		case going && len(found) > 0:
			t.Errorf("violations: %q", found)
		case !going && (len(found) != 1 || found[0].String() != want):
			t.Errorf("found %q, want %q", found, want)
		}
	}
}

func TestPlannedNodeFits(t *testing.T) {
	for _, tt := range []spoiled{
		{
			name:    "full to the brim", // 3900m allocatable, less 200m for the DaemonSet pod
			cluster: func(st *story) { st.web[0].Spec.Containers[0].Resources.Requests = list("cpu", "2200m") },
		},
		{
			name: "a millicore too many", only: true,
			cluster: func(st *story) { st.web[0].Spec.Containers[0].Resources.Requests = list("cpu", "2201m") },
			want:    "resources: planned node 0 (default), type m.small: pods request 3701 of cpu, 3700 is free",
		},
		{
			name: "init containers count", only: true,
			cluster: func(st *story) {
				st.web[0].Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("cpu", "3")}}}
			},
			want: "resources: planned node 0 (default), type m.small: pods request 4500 of cpu",
		},
		{
			name: "too many pods", only: true,
			cluster: func(st *story) { st.small.Allocatable["pods"] = 2 },
			want:    "resources: planned node 0 (default), type m.small: pods request 2 of pods, 1 is free",
		},
		{
			name: "a device that only the larger type has", only: true,
			cluster: func(st *story) {
				st.large.Allocatable["example.com/gpu"] = 1
				st.web[0].Spec.Containers[0].Resources.Requests["example.com/gpu"] = list("g", "1")["g"]
			},
			want: "type m.small: pods request 1 of example.com/gpu, 0 is free",
		},
		{
			name: "a daemon's limits are its requests", only: true,
			cluster: func(st *story) {
				st.agent.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: list("cpu", "1")}
			},
			want: "type m.small: pods request 3000 of cpu, 2900 is free",
		},
		{
			name: "a daemon that does not tolerate the node stays away",
			cluster: func(st *story) {
				st.agent.Spec.Template.Spec = newPod("", "3").Spec
				st.agent.Spec.Template.Spec.Tolerations = nil
			},
		},
		{
			name: "a daemon for other nodes stays away",
			cluster: func(st *story) {
				st.agent.Spec.Template.Spec = newPod("", "3").Spec
				st.agent.Spec.Template.Spec.NodeSelector = map[string]string{"team": "data"}
			},
		},
		{
			name: "a daemon for one family counts there", only: true,
			cluster: func(st *story) {
				st.agent.Spec.Template.Spec = newPod("", "5").Spec
				st.agent.Spec.Template.Spec.NodeSelector = map[string]string{family: "c"}
			},
			want: "resources: planned node 0 (default), type c.large: pods request 3000 of cpu, 2900 is free",
		},
		{
			name: "what is written on the claim is too little", only: true,
			plan: func(p *model.Plan) { p.Nodes[0].Requests = p.Nodes[0].Pods[0].Requests },
			want: "resources: planned node 0 (default): requests 1500 of cpu, but its pods request 3000",
		},
		{
			name: "one host port for two pods", only: true,
			cluster: func(st *story) { wantPort(st.web[0], 80, "10.0.0.1"); wantPort(st.web[1], 80, "") },
			want:    "ports: planned node 0 (default), pod default/web-2: host port 80 is taken",
		},
		{
			name:    "one host port at two addresses",
			cluster: func(st *story) { wantPort(st.web[0], 80, "10.0.0.1"); wantPort(st.web[1], 80, "10.0.0.2") },
		},
		{
			name: "the host port of a daemon", only: true,
			cluster: func(st *story) {
				st.agent.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 9100, Protocol: "TCP"}}
				wantPort(st.web[1], 9100, "0.0.0.0")
			},
			want: "ports: planned node 0 (default), type m.small: a pod and a DaemonSet have host port 9100",
		},
		{
			name: "a taint that is not tolerated", only: true,
			cluster: func(st *story) { st.web[1].Spec.Tolerations = nil },
			want:    "taints: planned node 0 (default), pod default/web-2: does not tolerate dedicated=web:NoSchedule",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

func wantPort(p *corev1.Pod, port int32, ip string) {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, HostIP: ip}}
}

func TestPlannedNodeLabels(t *testing.T) {
	selects := func(key, value string) func(*story) {
		return func(st *story) { st.web[1].Spec.NodeSelector = map[string]string{key: value} }
	}
	narrow := func(rs ...require.Requirement) func(*model.Plan) {
		return func(p *model.Plan) { p.Nodes[0].Requirements = p.Nodes[0].Requirements.With(rs...) }
	}
	for _, tt := range []spoiled{
		{name: "a label of the template", cluster: selects("team", "web")},
		{name: "a label of the type", cluster: selects(corev1.LabelOSStable, "linux")},
		{
			name: "old names of labels stand beside the new",
			cluster: func(st *story) {
				st.web[1].Spec.NodeSelector = map[string]string{
					corev1.LabelFailureDomainBetaZone: "a", "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
				}
				st.pool.Spec.Template.Spec.Requirements[0].Key = "beta.kubernetes.io/arch"
			},
			plan: func(p *model.Plan) {
				n := &p.Nodes[0]
				n.Requirements = n.Requirements.Normalize(apiv1.CoreLabels().Aliases)
			},
		},
		{
			name: "an old name of a label that differs", only: true, cluster: selects("beta.kubernetes.io/arch", "arm64"),
			want: "labels: planned node 0 (default), type m.small, pod default/web-2",
		},
		{name: "the pool's own label", cluster: selects(apiv1.NodePoolLabelKey, "default")},
		{name: "a label that the claim decides", cluster: selects("shift", "day")},
		{
			name: "a label decided otherwise", only: true, cluster: selects("shift", "night"),
			want: "labels: planned node 0 (default), type m.small, pod default/web-2: its node selector or affinity does not match",
		},
		{
			name: "a label left open", only: true, cluster: selects("shift", "day"),
			plan: func(p *model.Plan) {
				n := &p.Nodes[0]
				n.Requirements = n.Requirements.Without("shift").With(require.New("shift", require.In, "day", "night"))
			},
			want: "labels: planned node 0 (default), type m.small, pod default/web-2",
		},
		{
			name: "a label that only one of the types has", only: true, cluster: selects(family, "m"),
			want: "labels: planned node 0 (default), type c.large, pod default/web-2",
		},
		{
			name: "a zone that may still become another", only: true,
			cluster: func(st *story) {
				st.small.Offerings, st.large.Offerings = st.small.Offerings[:3], st.large.Offerings[:3]
				st.small.Offerings[2].Price, st.large.Offerings[2].Price = 0.10, 0.20
			},
			plan: func(p *model.Plan) {
				n := &p.Nodes[0]
				n.Requirements = n.Requirements.Without(corev1.LabelTopologyZone).
					With(require.New(corev1.LabelTopologyZone, require.In, "a", "b"))
			},
			want: "labels: planned node 0 (default), type m.small, pod default/web-1",
		},
		{
			name: "a custom label that no pool defines", cluster: selects("colour", "red"),
			want: "labels: planned node 0 (default), type m.small, pod default/web-2",
		},
		{
			name: "a label that a pod made up", cluster: selects("colour", "red"),
			plan: narrow(require.New("colour", require.In, "red")),
			want: "type: planned node 0 (default), type m.small: colour is [missing], which the node's requirements rule out",
		},
		{
			name: "affinity terms are alternatives",
			cluster: func(st *story) {
				st.web[1].Spec.Affinity = affinity(
					corev1.NodeSelectorRequirement{Key: "colour", Operator: require.Exists},
					corev1.NodeSelectorRequirement{Key: "team", Operator: require.NotIn, Values: []string{"data"}},
				)
			},
		},
		{
			name: "affinity that excludes a type", only: true,
			cluster: func(st *story) {
				st.web[1].Spec.Affinity = affinity(
					corev1.NodeSelectorRequirement{Key: corev1.LabelInstanceTypeStable, Operator: require.NotIn, Values: []string{"c.large"}},
				)
			},
			want: "labels: planned node 0 (default), type c.large, pod default/web-2",
		},
		{
			name: "affinity that cannot be read",
			cluster: func(st *story) {
				st.web[1].Spec.Affinity = affinity(corev1.NodeSelectorRequirement{Key: "team", Operator: "Near"})
			},
			want: "labels: planned node 0 (default), type m.small, pod default/web-2", only: true,
		},
		{
			name: "absence of what the type lacks",
			cluster: func(st *story) {
				st.web[1].Spec.Affinity = affinity(
					corev1.NodeSelectorRequirement{Key: "example.com/gpu", Operator: require.DoesNotExist},
				)
			},
			plan: narrow(require.New("example.com/gpu", require.DoesNotExist)),
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// affinity requires any one of terms.
func affinity(terms ...corev1.NodeSelectorRequirement) *corev1.Affinity {
	required := &corev1.NodeSelector{}
	for _, r := range terms {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms,
			corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{r}})
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
}

func TestPriceAndLimits(t *testing.T) {
	for _, tt := range []spoiled{
		{
			name: "a wrong sum", plan: func(p *model.Plan) { p.Price = 0.11 }, only: true,
			want: "price: the plan says 0.11, its nodes cost 0.1",
		},
		{
			name: "a sum that is not a number", plan: func(p *model.Plan) { p.Price = math.NaN() },
			want: "price: the plan says NaN",
		},
		{
			name: "a floor above the price", plan: func(p *model.Plan) { p.Floor = 0.101 }, only: true,
			want: "price: the floor of 0.101 is not between",
		},
		{
			name: "a floor below zero", plan: func(p *model.Plan) { p.Floor = -0.01 }, only: true,
			want: "price: the floor of -0.01 is not between",
		},
		{
			name:    "a price below zero",
			cluster: func(st *story) { st.small.Offerings[1].Price = -1 },
			plan:    func(p *model.Plan) { p.Price, p.Floor = -1, 0 },
			want:    "price: planned node 0 (default): costs -1",
		},
		{
			name: "the limit is just reached",
			cluster: func(st *story) {
				st.pool.Spec.Limits = apiv1.Limits(list("cpu", "16", "nodes", "3", "example.com/gpu", "0"))
			},
		},
		{
			name: "the largest option exceeds the limit", only: true, // node old and claim wish have 4 cpu each
			cluster: func(st *story) { st.pool.Spec.Limits = apiv1.Limits(list("cpu", "15")) },
			want:    "limits: pool default: may have 15000 of cpu, has 8000 and would get up to 8000 more",
		},
		{
			name: "one node too many", only: true,
			cluster: func(st *story) { st.pool.Spec.Limits = apiv1.Limits(list("nodes", "2")) },
			want:    "limits: pool default: may have 2 of nodes, has 2 and would get up to 1 more",
		},
		{
			name: "a reservation drawn on twice", only: true,
			cluster: func(st *story) { reserve(st, 0) },
			want:    "reservation: planned node 0 (default): is number 1 that draws on r-1, which holds 0",
		},
		{name: "a reservation that holds one", cluster: func(st *story) { reserve(st, 1) }},
	} {
		t.Run(tt.name, tt.run)
	}
}

func reserve(st *story, capacity int) {
	st.small.Offerings[1].ReservationID, st.small.Offerings[1].ReservationCapacity = "r-1", capacity
}

func TestViolationString(t *testing.T) {
	v := Violation{Rule: RuleLabels, Node: "n", Pod: "p", Type: "t", Detail: "is wrong"}
	if got, want := v.String(), "labels: n, type t, pod p: is wrong"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Violation{Rule: RulePrice, Detail: "is wrong"}).String(), "price: is wrong"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
