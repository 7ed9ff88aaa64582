package migration

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// The rules of docs/migration.md: the nodes of the group have a label that their pods select. The nodes of this project have a
// taint that only their pods tolerate.
var (
	oursTaint  = corev1.Taint{Key: "example.com/karpenter", Value: "true", Effect: corev1.TaintEffectNoSchedule}
	toOurs     = corev1.Toleration{Key: oursTaint.Key, Operator: corev1.TolerationOpExists}
	groupNodes = map[string]string{groupLabel: "workers"}
)

// beside creates a node class and a NodePool, and starts both autoscalers.
func (p *place) beside(t *testing.T, group nodeGroup, change func(*apiv1.NodePool)) (*autoscaler, *apiv1.NodePool) {
	t.Helper()
	class := upstreamClass()
	class.Annotations, class.Finalizers = nil, nil
	p.put(t, class)
	pool := upstreamPool(strings.ToLower(t.Name())) // EC2 still lists the instances of other tests
	pool.Annotations = nil
	change(pool)
	p.put(t, pool)
	p.start(t)
	t.Cleanup(func() { p.endLaunched(t) })
	return p.runAutoscaler(t, group), pool
}

func taintOurs(pool *apiv1.NodePool) {
	pool.Spec.Template.Spec.Taints = []corev1.Taint{oursTaint}
}

// Pods that only one autoscaler may serve get exactly the nodes that they need, from that autoscaler. It does not change the
// nodes of the other one, even if they are empty.
func TestBesideClusterAutoscaler(t *testing.T) {
	p := here
	ca, pool := p.beside(t, nodeGroup{name: "workers", min: 1, max: 5}, taintOurs)
	first := p.joined(t, ca.ids()[0])
	mark := p.now(t)
	var theirs, ours []string
	for i := range 3 {
		theirs = append(theirs, fmt.Sprintf("theirs-%d", i))
		p.put(t, pod(theirs[i], groupNodes, "1500m"))
		ours = append(ours, fmt.Sprintf("ours-%d", i))
		p.put(t, pod(ours[i], map[string]string{"karpenter.sh/nodepool": pool.Name}, "1500m", toOurs))
	}
	for _, name := range slices.Concat(theirs, ours) {
		p.Poll(t, func(context.Context) string { return p.notRunning(t, name) })
	}
	p.passes(t, 1)
	if got := len(ca.ids()); got != 3 {
		t.Errorf("the other autoscaler launched %d nodes, want 3 for 3 pods", got)
	}
	if got := len(p.instancesOf(t, pool.Name)); got != 3 {
		t.Errorf("ours launched %d nodes, want 3 for 3 pods", got)
	}
	p.untouched(t, first)
	for _, c := range p.calls(t, mark) {
		if c.Action == "TerminateInstances" {
			t.Errorf("instances were terminated: %v", c.Params)
		}
	}

	// Each autoscaler removes its own nodes after their pods are deleted. The node group keeps min nodes.
	for _, name := range slices.Concat(theirs, ours) {
		p.remove(t, pod(name, nil, "1"))
	}
	p.Poll(t, func(context.Context) string { return left("instances of ours", len(p.instancesOf(t, pool.Name)), 0) })
	p.Poll(t, func(context.Context) string {
		alive, err := ca.alive(context.WithoutCancel(t.Context()))
		if err != nil {
			return err.Error()
		}
		return left("instances of the group", len(alive), 1)
	})
}

// For pods that both autoscalers may serve, each may launch a node, because neither reads the plans of the other. The
// autoscaler that launched a surplus node removes it.
func TestPodsThatBothMayServe(t *testing.T) {
	long(t)
	p := here
	ca, pool := p.beside(t, nodeGroup{name: "workers", max: 5}, func(*apiv1.NodePool) {})
	p.put(t, pod("either", nil, "1500m"))
	p.Poll(t, func(context.Context) string { return p.notRunning(t, "either") })
	p.passes(t, 1)
	p.Poll(t, func(context.Context) string {
		alive, err := ca.alive(context.WithoutCancel(t.Context()))
		if err != nil {
			return err.Error()
		}
		return left("instances of both", len(alive)+len(p.instancesOf(t, pool.Name)), 1)
	})
	t.Logf("for one pod, the other autoscaler launched %d nodes and ours %d; one is left",
		len(ca.ids()), p.launchedFor(t, pool.Name))
}

// Free capacity on a node of the group is used by this project as well: no node is launched for a pod that fits there.
func TestRoomOfTheOthersCounts(t *testing.T) {
	long(t)
	p := here
	ca, pool := p.beside(t, nodeGroup{name: "workers", min: 1, max: 1}, func(*apiv1.NodePool) {})
	p.joined(t, ca.ids()[0])
	p.put(t, pod("fits", nil, "1500m"))
	p.Poll(t, func(context.Context) string { return p.notRunning(t, "fits") })
	p.passes(t, 1)
	if got := p.launchedFor(t, pool.Name); got != 0 {
		t.Errorf("ours launched %d nodes for a pod that has room", got)
	}
}

// In mode DryRun, this project's controller reports what it would launch, and the other autoscaler launches.
func TestInTheShadow(t *testing.T) {
	p := here
	ca, pool := p.beside(t, nodeGroup{name: "workers", max: 5}, func(pool *apiv1.NodePool) {
		pool.Annotations = map[string]string{apiv1.EnforcementModeAnnotationKey: apiv1.ModeDryRun}
	})
	// Both autoscalers may serve the first pod. Only this project's may serve the second one, which is reported and stays
	// pending.
	p.put(t, pod("either", nil, "1500m"), pod("ours", map[string]string{"karpenter.sh/nodepool": pool.Name}, "1500m"))
	p.Poll(t, func(context.Context) string { return p.notRunning(t, "either") })
	p.Poll(t, func(context.Context) string {
		var events corev1.EventList
		if err := p.List(t.Context(), &events); err != nil {
			return err.Error()
		}
		if slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "LaunchWithheld" && e.InvolvedObject.Name == pool.Name
		}) {
			return ""
		}
		return "nothing was proposed"
	})
	p.passes(t, 1)
	if got := p.launchedFor(t, pool.Name); got != 0 {
		t.Errorf("in the shadow, %d nodes were launched", got)
	}
	if got := len(ca.ids()); got != 1 {
		t.Errorf("the other autoscaler launched %d nodes, want 1", got)
	}
	var waits corev1.Pod
	if err := p.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "ours"}, &waits); err != nil {
		t.Fatal(err)
	}
	if waits.Spec.NodeName != "" {
		t.Errorf("pod ours runs on %s", waits.Spec.NodeName)
	}
}

// long skips a test unless KARPENTER_LONG is set.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("set KARPENTER_LONG=1 for this one too")
	}
}

func left(what string, n, want int) string {
	if n == want {
		return ""
	}
	return fmt.Sprintf("%d %s, want %d", n, what, want)
}

// instancesOf returns the running instances of a pool.
func (p *place) instancesOf(t *testing.T, pool string) []control.Instance {
	t.Helper()
	all, err := p.Steer().Instances(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(i control.Instance) bool {
		return i.Tags["karpenter.sh/nodepool"] != pool || (i.State != "pending" && i.State != "running")
	})
}

// launchedFor returns the number of all instances of a pool that EC2 lists, including terminated ones.
func (p *place) launchedFor(t *testing.T, pool string) (n int) {
	t.Helper()
	all, err := p.Steer().Instances(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Tags["karpenter.sh/nodepool"] == pool && i.Tags["eks:eks-cluster-name"] == cluster.Name {
			n++
		}
	}
	return n
}

// untouched checks that a node of the group has no label, annotation, taint or finalizer of Karpenter.
func (p *place) untouched(t *testing.T, node *corev1.Node) {
	t.Helper()
	var now corev1.Node
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(node), &now); err != nil {
		t.Fatal(err)
	}
	var marks []string
	for key := range now.Labels {
		marks = append(marks, key)
	}
	for key := range now.Annotations {
		marks = append(marks, key)
	}
	for _, taint := range now.Spec.Taints {
		marks = append(marks, taint.Key)
	}
	for _, mark := range append(marks, now.Finalizers...) {
		if strings.Contains(mark, "karpenter") {
			t.Errorf("node %s of the group has %s", now.Name, mark)
		}
	}
	if now.DeletionTimestamp != nil || now.Spec.Unschedulable {
		t.Errorf("node %s of the group is cordoned or deleted", now.Name)
	}
}
