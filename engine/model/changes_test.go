package model_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// NodeChanges is the difference of the lists of nodes, whatever was added, changed and removed between the two snapshots.
func TestNodeChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := &model.Snapshot{}
	pods := map[string]bool{}
	for round := range 200 {
		old := s
		for range 1 + random.IntN(3) {
			var d model.Delta
			for range random.IntN(20) {
				name := fmt.Sprintf("n%03d", random.IntN(300))
				switch random.IntN(4) {
				case 0:
					d.Nodes = append(d.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
				case 1:
					d.Gone = append(d.Gone, model.Ref{Kind: model.KindNode, Key: name})
				case 2:
					pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("p", random.IntN(300))}}
					pod.Spec.NodeName = name
					if !pods[pod.Name] {
						pods[pod.Name] = true
						d.Pods = append(d.Pods, pod)
					}
				case 3:
					pod := fmt.Sprint("p", random.IntN(300))
					delete(pods, pod)
					d.Gone = append(d.Gone, model.Ref{Kind: model.KindPod, Key: "a/" + pod})
				}
			}
			s = s.Apply(d)
		}
		now, before := s.NodeChanges(old)
		if got, want := sorted(now), sorted(without(s.Nodes(), old.Nodes())); !slices.Equal(got, want) {
			t.Fatalf("round %d: changed %v, want %v", round, names(got), names(want))
		}
		if got, want := sorted(before), sorted(without(old.Nodes(), s.Nodes())); !slices.Equal(got, want) {
			t.Fatalf("round %d: before %v, want %v", round, names(got), names(want))
		}
	}
	if now, before := s.NodeChanges(s); len(now)+len(before) > 0 {
		t.Errorf("a snapshot differs from itself: %v, %v", names(now), names(before))
	}
}

// without returns the nodes of a that are not in b.
func without(a, b []*model.Node) []*model.Node {
	return slices.DeleteFunc(a, func(n *model.Node) bool { return slices.Contains(b, n) })
}

func sorted(nodes []*model.Node) []*model.Node {
	slices.SortFunc(nodes, func(a, b *model.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

func names(nodes []*model.Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}
