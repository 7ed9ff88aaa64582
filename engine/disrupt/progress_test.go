package disrupt_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// progressZones are the zones of the clusters of inProgress.
var progressZones = []string{"a", "b", "c"}

// inProgress returns a random cluster in which much is in progress: nodes start, are being replaced or deleted, and pods are
// pending. All pods with constraints have one about pods with the label app=web, nearly always over zones.
func inProgress(seed uint64) *scenario.Cluster {
	r := rand.New(rand.NewPCG(seed, 0))
	constrain := constraint(r)
	pod := func(name string) scenario.Pod {
		p := scenario.Pod{
			Name: name, CPU: []string{"400m", "900m", "1500m"}[r.IntN(3)], Labels: map[string]string{"app": []string{"web", "db"}[r.IntN(2)]},
		}
		if p.Labels["app"] == "web" || r.IntN(4) == 0 {
			constrain(&p)
		}
		return p
	}
	c := &scenario.Cluster{
		Types: []scenario.Type{
			{Name: "m", CPU: "2", Memory: "8Gi", Price: 0.1, Zones: progressZones},
			{Name: "l", CPU: "4", Memory: "16Gi", Price: 0.19, Zones: progressZones[:1+r.IntN(3)]},
		},
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration([]string{"Never", "0s"}[r.IntN(2)]), Budgets: []apiv1.Budget{{Nodes: "100%"}},
		}}},
	}
	for i := range 2 + r.IntN(6) {
		n := nodeInProgress(r, fmt.Sprintf("n%d", i))
		for k := range r.IntN(3) {
			if p := pod(fmt.Sprintf("p%d-%d", i, k)); !n.Starting {
				if r.IntN(6) == 0 {
					p.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: "true"}
				}
				n.Pods = append(n.Pods, p)
			}
		}
		c.Nodes = append(c.Nodes, n)
	}
	for i := range max(0, r.IntN(4)-1) {
		claim := scenario.Claim{Name: fmt.Sprintf("c%d", i), Pool: "default", Types: []string{"m"}}
		if r.IntN(2) == 0 {
			claim.Zones = []string{progressZones[r.IntN(3)]}
		}
		c.Claims = append(c.Claims, claim)
	}
	for i := range max(0, r.IntN(5)-2) {
		c.Pods = append(c.Pods, pod(fmt.Sprintf("q%d", i)))
	}
	return c
}

// nodeInProgress returns a random node that may be at any stage of its life.
func nodeInProgress(r *rand.Rand, name string) scenario.Node {
	const lifetime = 720 * time.Hour
	n := scenario.Node{Name: name, Pool: "default", Type: "m", Zone: progressZones[r.IntN(3)]}
	n.Life.Expires.Duration = lifetime
	switch r.IntN(9) {
	case 0, 1:
		n.Life.Age.Duration = lifetime - 5*time.Minute
	case 2:
		n.Conditions = append(n.Conditions, apiv1.ConditionTypeDrifted)
	case 3:
		n.Life.Age.Duration = lifetime - 5*time.Minute
		n.Conditions = append(n.Conditions, apiv1.ConditionTypeDisruptionReason+"/Expired")
		n.Taints = []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	case 4:
		n.Deleting = true
	case 5:
		n.Starting = true
	case 6:
		n.Joining = true
	}
	n.Life.Age.Duration = cmp.Or(n.Life.Age.Duration, time.Hour)
	if r.IntN(3) == 0 {
		n.Conditions = append(n.Conditions, apiv1.ConditionTypeConsolidatable)
	}
	return n
}

// constraint returns a function that gives a pod one constraint about pods with the label app=web. All pods of a cluster have
// constraints of the same kind.
func constraint(r *rand.Rand) func(*scenario.Pod) {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	near := []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelTopologyZone, LabelSelector: web}}
	spread := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: web,
	}
	if honor := corev1.NodeInclusionPolicyHonor; r.IntN(4) == 0 {
		spread.NodeTaintsPolicy = &honor
	}
	kind := r.IntN(4)
	return func(p *scenario.Pod) {
		switch kind {
		case 0, 1:
			own := spread
			if kind == 1 && r.IntN(2) == 0 {
				own.TopologyKey = corev1.LabelHostname
			}
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{own}
		case 2:
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: near}}
		case 3:
			if r.IntN(2) == 0 {
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: near}}
			}
		}
	}
}

// Decide and verify count the same pods in each topology domain while nodes start and others are being removed. Only the first
// command of each decision is checked. Several commands may still break constraints between their pods: a replacement can
// be launched in several zones, and a later command can remove a node with a pod to which the pods of an earlier one have
// affinity.
func TestFirstCommandHoldsWhileMuchIsInProgress(t *testing.T) {
	commands := 0
	for seed := range uint64(8 * clusters) {
		s, err := inProgress(seed).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		d := disrupt.Decide(s, options(), disrupt.Cursor{})
		if len(d.Commands) == 0 {
			continue
		}
		commands++
		for _, v := range verify.Commands(s, d.Expected, d.Commands[:1], apiv1.CoreLabels()) {
			t.Errorf("seed %d: %s\n%s", seed, v, d)
		}
	}
	if commands < clusters {
		t.Errorf("only %d clusters had commands", commands)
	}
}
