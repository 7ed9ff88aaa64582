package upstream

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A state has the objects that the program knows. Objects of a snapshot do not change, so another pointer is another
// version.
type state struct {
	begun  bool
	pods   map[string]*corev1.Pod
	nodes  map[string]*corev1.Node
	claims map[string]*apiv1.NodeClaim
	// allowed is the number of disruptions that each PodDisruptionBudget allows, by key.
	allowed map[string]int32
}

func newState() state {
	return state{
		pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{}, claims: map[string]*apiv1.NodeClaim{},
		allowed: map[string]int32{},
	}
}

// changes returns a request with the changes since the last call.
func (t *state) changes(s *model.Snapshot) *request {
	r := &request{}
	pods, nodes, claims := map[string]*corev1.Pod{}, map[string]*corev1.Node{}, map[string]*apiv1.NodeClaim{}
	for key, p := range s.Pods.Each() {
		pods[key] = p.Object
	}
	for _, c := range s.Claims.Values() {
		claims[c.Name] = c
		if n, ok := s.NodeObjects.Get(c.Name); ok {
			nodes[c.Name] = n
		}
	}
	r.Pods, r.GonePods = differences(t.pods, pods)
	r.Nodes, r.GoneNodes = differences(t.nodes, nodes)
	r.Claims, r.GoneClaims = differences(t.claims, claims)
	t.pods, t.nodes, t.claims = pods, nodes, claims
	r.Budgets = t.budgets(s)
	if !t.begun {
		t.begun, r.Begin = true, begin(s)
	}
	return r
}

// differences returns the objects of now that are not in before, and the keys of before that are not in now, both in the
// order of the keys.
func differences[T any](before, now map[string]*T) (changed []*T, gone []string) {
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if before[key] != now[key] {
			changed = append(changed, now[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if now[key] == nil {
			gone = append(gone, key)
		}
	}
	return changed, gone
}

// begin returns the objects that do not change in a replay.
func begin(s *model.Snapshot) *beginning {
	b := &beginning{Types: map[string][]instanceType{}, Namespaces: s.Namespaces.Values()}
	for _, p := range s.Pools() {
		b.Pools = append(b.Pools, p.Object)
		for _, t := range s.Types(p.Name) {
			b.Types[p.Name] = append(b.Types[p.Name], newInstanceType(t))
		}
	}
	for _, d := range s.Daemons() {
		b.Daemons = append(b.Daemons, d.Object)
	}
	return b
}

// budgets returns the PodDisruptionBudgets whose number of allowed disruptions has changed. The replay has no controller
// that computes it. Pods without a node are not healthy.
func (t *state) budgets(s *model.Snapshot) (changed []*policyv1.PodDisruptionBudget) {
	for _, o := range s.PDBs.Values() {
		selector, err := metav1.LabelSelectorAsSelector(o.Spec.Selector)
		if err != nil {
			continue
		}
		status := statusOf(o, s, selector)
		key := o.Namespace + "/" + o.Name
		if known, ok := t.allowed[key]; ok && known == status.DisruptionsAllowed {
			continue
		}
		t.allowed[key] = status.DisruptionsAllowed
		o = o.DeepCopy()
		o.Status = status
		changed = append(changed, o)
	}
	return changed
}

func statusOf(o *policyv1.PodDisruptionBudget, s *model.Snapshot, selector labels.Selector) policyv1.PodDisruptionBudgetStatus {
	status := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: o.Generation}
	for _, p := range s.Pods.Each() {
		if p.Object.Namespace != o.Namespace || !selector.Matches(labels.Set(p.Object.Labels)) {
			continue
		}
		status.ExpectedPods++
		if p.Object.Spec.NodeName != "" {
			status.CurrentHealthy++
		}
	}
	of := func(v *intstr.IntOrString) int32 {
		n, _ := intstr.GetScaledValueFromIntOrPercent(v, int(status.ExpectedPods), true) // the API server checks it
		return int32(n)
	}
	switch {
	case o.Spec.MinAvailable != nil:
		status.DesiredHealthy = of(o.Spec.MinAvailable)
	case o.Spec.MaxUnavailable != nil:
		status.DesiredHealthy = max(0, status.ExpectedPods-of(o.Spec.MaxUnavailable))
	}
	status.DisruptionsAllowed = max(0, status.CurrentHealthy-status.DesiredHealthy)
	return status
}
