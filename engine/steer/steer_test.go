package steer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/steer"
)

// pod waits for a node, is nominated by writer, and asks for a core.
func pod(name, nominated, writer string) *corev1.Pod {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(name)}}
	o.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	o.Status.NominatedNodeName = nominated
	o.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	if writer != "" {
		o.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: writer, Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
		}}
	}
	return o
}

// of has the pod ask for so much cpu.
func of(o *corev1.Pod, cpu string) *corev1.Pod {
	o.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	return o
}

// node has two cores; unjoined says that the claim's name is known and pods are kept away from it.
func node(name string, unjoined bool) (*corev1.Node, *apiv1.NodeClaim) {
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourcePods: resource.MustParse("10")}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "p"}}}
	n.Spec.ProviderID, n.Status.Allocatable, n.Status.Capacity = "x:///"+name, size, size
	if !unjoined {
		n.Labels[apiv1.NodeRegisteredLabelKey] = "true"
	}
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-" + name, Labels: map[string]string{apiv1.NodePoolLabelKey: "p"}}}
	c.Status.ProviderID, c.Status.Allocatable, c.Status.Capacity = n.Spec.ProviderID, size, size
	return n, c
}

func text(changes []steer.Nomination) string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.Pod.Object.Name+"="+c.Node)
	}
	return strings.Join(lines, " ")
}

func TestNext(t *testing.T) {
	type promises = map[string]string
	for _, tt := range []struct {
		name     string
		pods     []*corev1.Pod
		promises promises
		change   func(*corev1.Node, *apiv1.NodeClaim)
		unjoined bool
		off      bool
		want     string
	}{
		{name: "promised to a claim that has its node", pods: []*corev1.Pod{pod("a", "", "")},
			promises: promises{"d/a": "claim-n"}, want: "a=n"},
		{name: "promised to the node", pods: []*corev1.Pod{pod("a", "", "")}, promises: promises{"d/a": "n"}, want: "a=n"},
		{name: "nothing promised", pods: []*corev1.Pod{pod("a", "", "")}},
		{name: "written already", pods: []*corev1.Pod{pod("a", "n", steer.Writer)}, promises: promises{"d/a": "n"}},
		{name: "after a restart ours stands", pods: []*corev1.Pod{pod("a", "n", steer.Writer)}},
		{name: "moved", pods: []*corev1.Pod{pod("a", "old", steer.Writer)}, promises: promises{"d/a": "n"}, want: "a=n"},
		{name: "the scheduler's own stands", pods: []*corev1.Pod{pod("a", "m", "kube-scheduler")}, promises: promises{"d/a": "n"}},
		{name: "not open yet", pods: []*corev1.Pod{pod("a", "", "")}, promises: promises{"d/a": "claim-n"}, unjoined: true},
		{name: "joining, and told already", pods: []*corev1.Pod{pod("a", "n", steer.Writer), pod("b", "", "")},
			promises: promises{"d/a": "claim-n", "d/b": "claim-n"}, unjoined: true},
		{name: "only as many as fit", pods: []*corev1.Pod{pod("a", "", ""), pod("b", "n", steer.Writer), pod("c", "n", steer.Writer)},
			promises: promises{"d/a": "n", "d/b": "n", "d/c": "n"}, want: "c= a=n"},
		{name: "large ones first", pods: []*corev1.Pod{of(pod("a", "", ""), "200m"), of(pod("b", "", ""), "900m"), of(pod("c", "", ""), "500m")},
			promises: promises{"d/a": "n", "d/b": "n", "d/c": "n"}, want: "b=n c=n a=n"},
		{name: "the node is gone", pods: []*corev1.Pod{pod("a", "gone", steer.Writer)}, want: "a="},
		{name: "the node goes", pods: []*corev1.Pod{pod("a", "n", steer.Writer)}, want: "a=",
			change: func(_ *corev1.Node, c *apiv1.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }},
		{name: "not its turn yet", pods: []*corev1.Pod{pod("a", "n", steer.Writer), pod("b", "", "")},
			promises: promises{"d/a": "n", "d/b": "n"}, want: "a=",
			change: func(n *corev1.Node, _ *apiv1.NodeClaim) {
				n.Spec.Taints = []corev1.Taint{apiv1.ReservedNoScheduleTaint()}
			}},
		{name: "the node is to go", pods: []*corev1.Pod{pod("a", "n", steer.Writer)}, want: "a=",
			change: func(n *corev1.Node, _ *apiv1.NodeClaim) {
				n.Spec.Taints = []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
			}},
		{name: "the promise is broken", pods: []*corev1.Pod{pod("a", "n", steer.Writer)}, promises: promises{"d/a": ""}, want: "a="},
		{name: "a broken promise does not touch the scheduler's own", pods: []*corev1.Pod{pod("a", "n", "kube-scheduler")},
			promises: promises{"d/a": ""}},
		{name: "switched off", off: true, pods: []*corev1.Pod{pod("a", "n", steer.Writer), pod("b", "n", "kube-scheduler"), pod("c", "", "")},
			promises: promises{"d/a": "n", "d/c": "n"}, want: "a="},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, c := node("n", tt.unjoined)
			if tt.change != nil {
				tt.change(n, c)
			}
			s := model.Compile(model.Delta{Pods: tt.pods, Nodes: []*corev1.Node{n}, Claims: []*apiv1.NodeClaim{c}}).WithPromises(tt.promises)
			if diff := cmp.Diff(tt.want, text(steer.Next(s, !tt.off, map[string]string{"claim-n": "n"}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What was planned onto a claim is shown to its node, and no more than fits.
func TestJoin(t *testing.T) {
	n, c := node("n", true)
	pods := []*corev1.Pod{
		pod("a", "", ""), pod("b", "elsewhere", "kube-scheduler"), pod("c", "", ""), pod("d", "", ""), pod("e", "", ""),
	}
	promises := map[string]string{"d/a": "claim-n", "d/c": "claim-m", "d/d": "claim-n", "d/e": "claim-n"}
	d := model.Delta{Pods: pods, Nodes: []*corev1.Node{n}, Claims: []*apiv1.NodeClaim{c}}
	if diff := cmp.Diff("a=n d=n", text(steer.Join(model.Compile(d).WithPromises(promises), steer.Joiner{Claim: c, Node: n}))); diff != "" {
		t.Error(diff)
	}
	// A node may join so soon that its claim was only just made, and not launched yet, when last seen.
	fresh := c.DeepCopy()
	fresh.Status = apiv1.NodeClaimStatus{}
	d.Claims, d.Nodes = []*apiv1.NodeClaim{fresh}, nil
	if diff := cmp.Diff("a=n d=n", text(steer.Join(model.Compile(d).WithPromises(promises), steer.Joiner{Claim: c, Node: n}))); diff != "" {
		t.Errorf("before the node is seen: %s", diff)
	}
	going := c.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if got := text(steer.Join(model.Compile(d).WithPromises(promises), steer.Joiner{Claim: going, Node: n})); got != "" {
		t.Errorf("a node that goes is nominated: %s", got)
	}
}

// Of all nodes that join together the largest pods come first, by the share that they take of theirs.
func TestJoinTogether(t *testing.T) {
	n, c := node("n", true)
	m, d := node("m", true)
	for _, list := range []corev1.ResourceList{m.Status.Allocatable, d.Status.Allocatable} {
		list[corev1.ResourceCPU] = resource.MustParse("20")
	}
	pods := []*corev1.Pod{of(pod("a", "", ""), "200m"), of(pod("b", "", ""), "8"), of(pod("c", "", ""), "1"), of(pod("d", "", ""), "1")}
	promises := map[string]string{"d/a": "claim-n", "d/b": "claim-m", "d/c": "claim-n", "d/d": "m"}
	s := model.Compile(model.Delta{Pods: pods, Nodes: []*corev1.Node{n, m}, Claims: []*apiv1.NodeClaim{c, d}}).WithPromises(promises)
	got := text(steer.Join(s, steer.Joiner{Claim: c, Node: n}, steer.Joiner{Claim: d, Node: m}))
	if diff := cmp.Diff("c=n b=m a=n d=m", got); diff != "" {
		t.Error(diff)
	}
}

// Those are expected whom pods were planned onto and who have not joined: if they have a node, or were asked for no later.
func TestExpects(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	_, c := node("n", true)
	pods := []*corev1.Pod{pod("a", "", ""), pod("b", "", "")}
	for _, tt := range []struct {
		name      string
		planned   string
		age       time.Duration
		absent    bool          // it has no node yet
		stays     time.Duration // how long the node has been there
		change    func(*corev1.Node, *apiv1.NodeClaim)
		near, far bool
	}{
		{name: "of the same plan", planned: "claim-m", absent: true, far: true},
		{name: "within a second", planned: "claim-m", age: -time.Second, absent: true, far: true},
		{name: "of a later plan", planned: "claim-m", age: -2 * time.Second, absent: true},
		{name: "there", planned: "m", near: true},
		{name: "there, of a later plan", planned: "claim-m", age: -2 * time.Second, near: true},
		{name: "there for long", planned: "m", stays: 10 * time.Second},
		{name: "nobody was planned onto it", planned: "claim-n"},
		{name: "no such node", planned: "gone"},
		{name: "open", planned: "m", change: func(m *corev1.Node, _ *apiv1.NodeClaim) { m.Labels[apiv1.NodeRegisteredLabelKey] = "true" }},
		{name: "going", planned: "claim-m", change: func(_ *corev1.Node, d *apiv1.NodeClaim) { d.DeletionTimestamp = &metav1.Time{Time: now} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, d := node("m", true)
			d.CreationTimestamp.Time, m.CreationTimestamp.Time = now.Add(-tt.age), now.Add(-tt.stays)
			if tt.change != nil {
				tt.change(m, d)
			}
			delta := model.Delta{Pods: pods, Nodes: []*corev1.Node{m}, Claims: []*apiv1.NodeClaim{c, d}}
			if tt.absent {
				delta.Nodes = nil
			}
			s := model.Compile(delta).WithPromises(map[string]string{"d/a": "claim-n", "d/b": tt.planned}).At(now)
			if near, far := steer.Expects(s, now, map[string]string{"claim-n": "n"}); near != tt.near || far != tt.far {
				t.Errorf("near %v, far %v; want %v, %v", near, far, tt.near, tt.far)
			}
			if near, far := steer.Expects(s, now, map[string]string{"claim-n": "n", "claim-m": "m"}); near || far {
				t.Errorf("near %v, far %v when all have joined", near, far)
			}
		})
	}
}
