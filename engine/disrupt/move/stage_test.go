package move_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A relay is a cluster in which pods of some nodes move to other nodes. targets[key] is the node to which the pod with
// that key is assigned.
type relay struct {
	d       model.Delta
	targets map[string]string
}

// node adds a node and its claim, both with this name.
func (r *relay) node(name string, change func(*corev1.Node, *apiv1.NodeClaim)) {
	labels := map[string]string{apiv1.NodePoolLabelKey: "p", apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true"}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{}}}
	n.Spec.ProviderID, c.Status.ProviderID = "x:///"+name, "x:///"+name
	change(n, c)
	r.d.Nodes, r.d.Claims = append(r.d.Nodes, n), append(r.d.Claims, c)
}

// closed adds a replacement of the claims in replaces that is still reserved by a taint. turn is its rank in the order of
// opening.
func (r *relay) closed(name, turn, replaces string) {
	r.node(name, func(n *corev1.Node, c *apiv1.NodeClaim) {
		n.Spec.Taints = []corev1.Taint{apiv1.StagedMoveNoScheduleTaint()}
		c.Annotations[apiv1.MoveStageAnnotationKey], c.Annotations[apiv1.ReplacesAnnotationKey] = turn, replaces
	})
}

func (r *relay) going(name string) {
	r.node(name, func(_ *corev1.Node, c *apiv1.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
}

// reserved adds an existing node that is reserved by a taint for pods of the claims in from.
func (r *relay) reserved(name, from string) {
	r.node(name, func(n *corev1.Node, c *apiv1.NodeClaim) {
		n.Spec.Taints = []corev1.Taint{apiv1.StagedMoveNoScheduleTaint()}
		c.Annotations[apiv1.ReceivesPodsFromAnnotationKey] = from
	})
}

// marked adds a node that is marked for disruption but not being deleted yet.
func (r *relay) marked(name string) {
	r.node(name, func(n *corev1.Node, _ *apiv1.NodeClaim) {
		n.Spec.Taints = []corev1.Taint{apiv1.DisruptedNoScheduleTaint()}
	})
}

func (r *relay) staying(name string) { r.node(name, func(*corev1.Node, *apiv1.NodeClaim) {}) }

// pod adds a pod that is bound to the node on, or is pending if on is empty. The pod is assigned to the node to, if that
// is not empty. If ending is set, the pod is terminating.
func (r *relay) pod(name, on, to string, ending bool) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(name)}}
	p.Spec.NodeName = on
	if on == "" {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
	if ending {
		p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	r.d.Pods = append(r.d.Pods, p)
	r.targets["d/"+name] = to
}

// owner sets the controller of the last pod, if there is a name.
func (r *relay) owner(kind, name string) {
	if name != "" {
		r.d.Pods[len(r.d.Pods)-1].OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(name), Controller: ptr.To(true)},
		}
	}
}

// fresh adds a pending pod that no scheduler has tried yet.
func (r *relay) fresh(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(name)}}
	r.d.Pods = append(r.d.Pods, p)
	return p
}

func TestHandover(t *testing.T) {
	for _, tt := range []struct {
		name  string
		world func(*relay)
		want  string
	}{
		{"nothing is closed", func(r *relay) { r.going("a"); r.staying("x") }, ""},
		{"no node is deleted yet", func(r *relay) { r.marked("a"); r.closed("x", "1", "a"); r.closed("y", "2", "a") }, ""},
		{"into room that is there first", func(r *relay) {
			r.going("a")
			r.staying("room")
			r.closed("y", "2", "a")
			r.closed("x", "1", "a")
			r.pod("p", "a", "room", false)
			r.pod("q", "a", "x", false)
			r.pod("r", "a", "y", false)
		}, "x next, 1 moving"},
		{"and that is closed as well", func(r *relay) {
			r.going("a")
			r.closed("x", "1", "a")
			r.reserved("room", "a")
			r.pod("p", "a", "room", false)
			r.pod("q", "a", "x", false)
		}, "room next, 0 moving"},
		{"whose place is not known moves", func(r *relay) { r.going("a"); r.closed("x", "1", "a"); r.pod("p", "a", "", false) },
			"x next, 1 moving"},
		{"who ends has moved", func(r *relay) {
			r.going("a")
			r.staying("room")
			r.closed("x", "1", "a")
			r.pod("p", "a", "room", true)
			r.pod("q", "a", "x", false)
		}, "x next, 0 moving"},
		{"the scheduler has not seen who comes after them", func(r *relay) {
			r.going("a")
			r.staying("room")
			r.closed("x", "1", "a")
			r.pod("p", "a", "room", true)
			r.fresh("q")
			r.pod("refused", "", "", false)
			r.fresh("gated").Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}}
			r.fresh("strange").Spec.SchedulerName = "batch"
			r.fresh("over").Status.Phase = corev1.PodSucceeded
		}, "x next, 1 moving"},
		{"of two nodes one goes already", func(r *relay) {
			r.going("a")
			r.marked("b")
			r.closed("x", "1", "a,b")
			r.pod("p", "b", "", false)
		}, "x next, 0 moving"},
		{"all are gone", func(r *relay) { r.closed("y", "2", "a,b"); r.closed("x", "1", "a,b") }, "due x y"},
		{"it was taken back", func(r *relay) { r.staying("a"); r.reserved("x", "a") }, "due x"},
		{"it was made an ordinary node", func(r *relay) { r.staying("a"); r.closed("x", "", "") }, "due x"},
		{"a pod waits for the second", func(r *relay) {
			r.going("a")
			r.closed("x", "1", "a")
			r.closed("y", "2", "a")
			r.pod("p", "", "y", false)
		}, "x next, 0 moving, due y"},
		{"ten comes after nine", func(r *relay) { r.going("a"); r.closed("x", "10", "a"); r.closed("y", "9", "a") }, "y next, 0 moving"},
		{"one destination at a time, from all nodes", func(r *relay) {
			r.going("a")
			r.going("b")
			r.staying("z")
			r.closed("y", "1", "b")
			r.closed("x", "1", "a")
			r.pod("p", "b", "z", false)
		}, "x next, 1 moving"},
		{"pods of one ReplicaSet go to several nodes at the same time", func(r *relay) {
			r.going("a")
			r.marked("b")
			for i, name := range []string{"v", "w", "x", "y", "z"} {
				r.closed(name, fmt.Sprint(i+1), "a,b")
			}
			for _, p := range []struct{ name, on, to, set string }{
				{"1", "a", "v", "web"}, {"2", "a", "v", "web"}, // the same as the first
				{"3", "a", "w", "api"},                         // another ReplicaSet
				{"4", "a", "x", "web"},                         // the same as the first
				{"5", "a", "y", "web"}, {"6", "b", "y", "api"}, // several
				{"7", "a", "z", "web"}, {"8", "a", "z", ""}, // one without
			} {
				r.pod(p.name, p.on, p.to, false)
				r.owner("ReplicaSet", p.set)
			}
		}, "v+x next, 0 moving"},
		{"pods of a StatefulSet differ, for example by their volumes", func(r *relay) {
			r.going("a")
			r.closed("x", "1", "a")
			r.closed("y", "2", "a")
			r.pod("p", "a", "x", false)
			r.owner("StatefulSet", "db")
			r.pod("q", "a", "y", false)
			r.owner("StatefulSet", "db")
		}, "x next, 0 moving"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &relay{targets: map[string]string{}}
			tt.world(r)
			h := move.StageOf(model.Compile(r.d).WithTargets(r.targets))
			var got []string
			if len(h.Next) > 0 {
				var names []string
				for _, n := range h.Next {
					names = append(names, n.Name)
				}
				got = append(got, strings.Join(names, "+")+" next", fmt.Sprint(len(h.Moving), " moving"))
			}
			due := ""
			for _, n := range h.Due {
				due += " " + n.Name
			}
			if due != "" {
				got = append(got, "due"+due)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDestinations(t *testing.T) {
	r := &relay{targets: map[string]string{}}
	r.marked("a")
	r.marked("b")
	for _, name := range []string{"x", "y", "other"} {
		r.staying(name)
	}
	r.closed("new", "1", "a,b")
	r.pod("p", "a", "y", false)
	r.pod("q", "b", "x", false)
	r.pod("r", "a", "x", false)
	r.pod("s", "b", "new", false)
	r.pod("t", "b", "nowhere", false)
	s := model.Compile(r.d).WithTargets(r.targets)
	of := func(names ...string) string {
		var nodes []*model.Node
		for _, name := range names {
			n, ok := s.NodeByName(name)
			if !ok {
				t.Fatalf("no node %s", name)
			}
			nodes = append(nodes, n)
		}
		var out []string
		for _, d := range move.Destinations(s, nodes) {
			out = append(out, d.Node.Name+" from "+strings.Join(d.From, "+"))
		}
		return strings.Join(out, ", ")
	}
	if diff := cmp.Diff("x from a+b, y from a", of("a", "b")); diff != "" {
		t.Error(diff)
	}
	r.targets["d/p"] = "x"
	// The nominated node name of a pod that is already bound is ignored.
	r.pod("old", "a", "", false)
	delete(r.targets, "d/old")
	r.d.Pods[len(r.d.Pods)-1].Status.NominatedNodeName = "other"
	s = model.Compile(r.d).WithTargets(r.targets)
	if got := of("a"); got != "" {
		t.Errorf("all pods go to one node, and there are still destinations %s", got)
	}
}

// The reserved taint is not among the taints of a node in a snapshot, so plans may use a node that is not open yet.
func TestReservedRoomCounts(t *testing.T) {
	r := &relay{targets: map[string]string{}}
	r.closed("x", "1", "a")
	s := model.Compile(r.d)
	if n, ok := s.NodeByName("x"); !ok || !n.Reserved() || len(n.Taints) > 0 {
		t.Errorf("node is %+v, want it reserved and without a taint to tolerate", n)
	}
	r.d.Claims = nil
	if n, ok := model.Compile(r.d).NodeByName("x"); ok && (n.Reserved() || len(n.Taints) == 0) {
		t.Error("a node without a claim is reserved")
	}
}
