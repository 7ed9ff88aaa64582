package model_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// Applying changes one by one must give the same as compiling what is there in the end, whatever the order: a pod may
// arrive before its node, a node before its claim, an identity may move.
func TestApplyEqualsCompile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &model.Snapshot{}
		pods, nodes, claims := map[string]*corev1.Pod{}, map[string]*corev1.Node{}, map[string]*apiv1.NodeClaim{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			before, was := s, dump(s)
			var d model.Delta
			key := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key")
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0:
				pods[key] = drawPod(t, key)
				d.Pods = append(d.Pods, pods[key])
			case 1:
				nodes[key] = drawNode(t, key)
				d.Nodes = append(d.Nodes, nodes[key])
			case 2:
				claims[key] = drawClaim(t, key)
				d.Claims = append(d.Claims, claims[key])
			case 3:
				delete(pods, key)
				d.Gone = append(d.Gone, model.Ref{Kind: model.KindPod, Key: "default/" + key})
			case 4:
				delete(nodes, key)
				d.Gone = append(d.Gone, model.Ref{Kind: model.KindNode, Key: key})
			case 5:
				delete(claims, key)
				d.Gone = append(d.Gone, model.Ref{Kind: model.KindClaim, Key: key})
			}
			s = s.Apply(d)
			if diff := cmp.Diff(was, dump(before)); diff != "" {
				t.Fatalf("Apply changed the snapshot it was called on:\n%s", diff)
			}
		}
		var all model.Delta
		for _, o := range pods {
			all.Pods = append(all.Pods, o)
		}
		for _, o := range nodes {
			all.Nodes = append(all.Nodes, o)
		}
		for _, o := range claims {
			all.Claims = append(all.Claims, o)
		}
		if diff := cmp.Diff(dump(model.Compile(all)), dump(s)); diff != "" {
			t.Fatalf("Apply differs from Compile (-compiled +applied):\n%s", diff)
		}
	})
}

// dump renders all that can be asked of a snapshot.
func dump(s *model.Snapshot) []string {
	var out []string
	for _, n := range s.Nodes() {
		out = append(out, fmt.Sprintf("node %s pool=%s registered=%v deleting=%v capacity=%v used=%v daemons=%v taints=%v",
			n.Name, n.Pool, n.Registered, n.Deleting, n.Capacity, n.Used, n.DaemonUsed, n.Taints))
		for _, p := range n.Pods {
			out = append(out, "  pod "+p.Key)
		}
	}
	for _, p := range s.Pods() {
		out = append(out, fmt.Sprintf("pod %s bound=%v", p.Key, p.Bound()))
	}
	for _, p := range s.Pending() {
		out = append(out, "pending "+p.Key)
	}
	for _, p := range s.Displaced() {
		out = append(out, "displaced "+p.Key)
	}
	return append(out, fmt.Sprint("usage ", s.Usage("pool")))
}

func drawPod(t *rapid.T, name string) *corev1.Pod {
	p := scenario.Pod{Name: name, CPU: rapid.SampledFrom([]string{"100m", "1", ""}).Draw(t, "cpu"), Memory: "1Gi"}
	p.Owner = rapid.SampledFrom([]string{"", "ReplicaSet", "DaemonSet", "StatefulSet"}).Draw(t, "owner")
	p.Done = rapid.Bool().Draw(t, "done")
	p.Spec.NodeName = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "on")
	d, err := (&scenario.Cluster{Pods: []scenario.Pod{p}}).Delta()
	if err != nil {
		t.Fatal(err)
	}
	d.Pods[0].Spec.NodeName = p.Spec.NodeName
	return d.Pods[0]
}

func drawNode(t *rapid.T, name string) *corev1.Node {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	o.Spec.ProviderID = rapid.SampledFrom([]string{"", "i-1", "i-2"}).Draw(t, "id")
	if rapid.Bool().Draw(t, "ours") {
		o.Labels[apiv1.NodePoolLabelKey] = "pool"
	}
	if rapid.Bool().Draw(t, "registered") {
		o.Labels[apiv1.NodeRegisteredLabelKey] = "true"
	}
	o.Spec.Taints = []corev1.Taint{apiv1.UnregisteredNoExecuteTaint(), {Key: "mine", Effect: corev1.TaintEffectNoSchedule}}
	o.Status.Allocatable = model.Resources{"cpu": 4000, "memory": 8 << 30}.List()
	o.Status.Capacity = o.Status.Allocatable
	return o
}

func drawClaim(t *rapid.T, name string) *apiv1.NodeClaim {
	o := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "pool"},
	}}
	o.Status.ProviderID = rapid.SampledFrom([]string{"", "i-1", "i-2"}).Draw(t, "id")
	if rapid.Bool().Draw(t, "deleting") {
		o.DeletionTimestamp = &metav1.Time{}
	}
	o.Status.Capacity = model.Resources{"cpu": 8000, "nvidia.com/gpu": 1}.List()
	return o
}
