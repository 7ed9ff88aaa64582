package limits

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// planned returns a snapshot with one pool that has the limit, and n planned nodes of the pool. The options of a node have 2 to 4
// cores.
func planned(n int, limit corev1.ResourceList) (*model.Snapshot, []model.PlannedNode) {
	o := &apiv1.NodePool{}
	o.Name, o.Spec.Limits = "p", apiv1.Limits(limit)
	s := model.Compile(model.Delta{Pools: []*apiv1.NodePool{o}})
	pool, _ := s.Pool("p")
	nodes := make([]model.PlannedNode, n)
	for i := range nodes {
		nodes[i] = model.PlannedNode{Pool: pool, Options: []*model.InstanceType{
			{Name: "small", Capacity: model.Resources{corev1.ResourceCPU: 2000}},
			{Name: "large", Capacity: model.Resources{corev1.ResourceCPU: 4000}},
		}}
	}
	return s, nodes
}

func count(may []bool) (n int) {
	for _, ok := range may {
		if ok {
			n++
		}
	}
	return n
}

// Two plans on equal snapshots do not exceed a limit together.
func TestTwoPlans(t *testing.T) {
	for _, tt := range []struct {
		limit         corev1.ResourceList
		first, second int
	}{
		{corev1.ResourceList{model.Nodes: resource.MustParse("5")}, 3, 2},
		{corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16")}, 3, 1}, // the charge of a node is its largest option
		{corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")}, 3, 4},
		{nil, 3, 4},
	} {
		t.Run(fmt.Sprint(tt.limit), func(t *testing.T) {
			l := &Ledger{}
			l.Begin("a")
			l.Begin("b")
			s, nodes := planned(3, tt.limit)
			may, done := l.Take("a", verify.Rules{}, s, nodes)
			if got := count(may); got != tt.first {
				t.Errorf("the first plan may launch %d, want %d", got, tt.first)
			}
			s, nodes = planned(4, tt.limit)
			for range 2 { // while the first launch is under way, and when it completed after the snapshot of b
				may, undo := l.Take("b", verify.Rules{}, s, nodes)
				if got := count(may); got != tt.second {
					t.Errorf("the second plan may launch %d, want %d", got, tt.second)
				}
				l.drop(undo)
				done()
			}
		})
	}
}

// drop calls done and removes the charges of that launch.
func (l *Ledger) drop(done func()) {
	done()
	last := l.now
	kept := l.charges[:0]
	for _, c := range l.charges {
		if c.done != last {
			kept = append(kept, c)
		}
	}
	l.charges = kept
}

// Claims that are in the planner's snapshot are not counted again. Charges that all planners have seen are removed.
func TestSeen(t *testing.T) {
	l := &Ledger{}
	l.Begin("a")
	l.Begin("b")
	limit := corev1.ResourceList{model.Nodes: resource.MustParse("2")}
	s, nodes := planned(2, limit)
	_, done := l.Take("a", verify.Rules{}, s, nodes)
	l.Begin("b")
	if may, _ := l.Take("b", verify.Rules{}, s, nodes); count(may) != 0 {
		t.Errorf("%d nodes may be launched while the others are being created, want none", count(may))
	}
	done()
	l.Begin("b")
	if may, undo := l.Take("b", verify.Rules{}, s, nodes[:1]); count(may) != 1 {
		t.Error("claims that the snapshot was taken after count twice")
	} else {
		undo()
	}
	l.Begin("a")
	l.Begin("b")
	if n := len(l.charges); n != 0 {
		t.Errorf("%d charges are kept, want none", n)
	}
	var none *Ledger
	none.Begin("a")
	if may, _ := none.Take("a", verify.Rules{}, s, nodes); count(may) != 2 {
		t.Error("no ledger allows every launch")
	}
}
