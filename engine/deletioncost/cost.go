package deletioncost

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Cost is the deletion cost to write to a pod.
type Cost struct {
	Pod  *model.Pod
	Node *model.Node
	// Value is an int32 in decimal. It is empty if the annotation is to be removed.
	Value string
}

// Decide returns the changes of the deletion costs of pods of ReplicaSets: first the costs to write, lowest first, then
// those to remove. Pods with a cost that Karpenter has not written are omitted.
func Decide(s *model.Snapshot) []Cost {
	var costs []Cost
	bySet := map[string][]*ranked{}
	for _, n := range s.Nodes() {
		rank, ok := rankOf(s, n)
		for _, p := range n.Pods {
			if !replicated(p) {
				continue
			}
			key := p.Object.Namespace + "/" + string(p.Owner().UID)
			bySet[key] = append(bySet[key], &ranked{pod: p, node: n, rank: rank, ranked: ok})
		}
	}
	for _, pods := range bySet {
		keepSpread(pods)
		for _, r := range pods {
			value := ""
			if r.ranked {
				value = strconv.FormatInt(r.rank, 10)
			}
			if !Foreign(r.pod) && value != Value(r.pod) {
				costs = append(costs, Cost{Pod: r.pod, Node: r.node, Value: value})
			}
		}
	}
	sortCosts(costs)
	return costs
}

// Withdraw returns the removal of all costs that Karpenter has written.
func Withdraw(s *model.Snapshot) []Cost {
	var costs []Cost
	for _, n := range s.Nodes() {
		for _, p := range n.Pods {
			if Written(p) {
				costs = append(costs, Cost{Pod: p, Node: n})
			}
		}
	}
	sortCosts(costs)
	return costs
}

// sortCosts sorts by value, lowest first, then by pod. All values are negative, so costs without a value are last.
func sortCosts(costs []Cost) {
	number := func(c Cost) int64 {
		v, _ := strconv.ParseInt(c.Value, 10, 32) // 0 if there is none
		return v
	}
	slices.SortFunc(costs, func(a, b Cost) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a.Pod.Key, b.Pod.Key))
	})
}

// Value returns the deletion cost of the pod, empty if it has none.
func Value(p *model.Pod) string { return p.Object.Annotations[corev1.PodDeletionCost] }

// Written reports whether Karpenter has written the deletion cost of the pod.
func Written(p *model.Pod) bool {
	return Value(p) != "" && Value(p) == p.Object.Annotations[apiv1.WrittenDeletionCostAnnotationKey]
}

// Foreign reports whether the pod has a deletion cost that Karpenter has not written.
func Foreign(p *model.Pod) bool {
	_, has := p.Object.Annotations[corev1.PodDeletionCost]
	return has && !Written(p)
}

// replicated reports whether the controller of the pod is a ReplicaSet, and the pod is neither finished nor terminating.
func replicated(p *model.Pod) bool {
	owner := p.Owner()
	return owner != nil && owner.Kind == "ReplicaSet" && !p.Terminal() && !p.Terminating()
}

// ranked is a pod of a ReplicaSet with the rank of its node.
type ranked struct {
	pod  *model.Pod
	node *model.Node
	// rank is the deletion cost of the pod if ranked is true. Otherwise the pod gets no deletion cost.
	rank   int64
	ranked bool
}
