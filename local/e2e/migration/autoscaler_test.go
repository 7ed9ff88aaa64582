package migration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// A nodeGroup is an emulated managed node group with one instance type.
type nodeGroup struct {
	name     string
	min, max int
	labels   map[string]string
	taints   []corev1.Taint
}

// groupLabel is the label of the nodes of a managed node group, with the name of the group.
const groupLabel = "eks.amazonaws.com/nodegroup"

// An autoscaler scales one node group by the documented rules of Cluster Autoscaler:
//
//   - Every few seconds it reads the unschedulable pods.
//   - A pod counts if it fits on an empty node of the group: labels, taints, resources.
//   - Pods are first assigned to existing nodes and to launched nodes that have not joined.
//   - The group never has more than max nodes.
//   - Nodes of the group without pods are terminated, down to min. Nodes of no group are not changed.
//
// It is simplified: it has no expanders, no utilization threshold, and no delay of ten minutes.
type autoscaler struct {
	p     *place
	t     *testing.T
	group nodeGroup

	mu       sync.Mutex // guards launched
	launched []string   // instance IDs, in the order of the launches
}

// runAutoscaler runs an autoscaler until the test ends.
func (p *place) runAutoscaler(t *testing.T, group nodeGroup) *autoscaler {
	t.Helper()
	a := &autoscaler{p: p, t: t, group: group}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan struct{})
	for range group.min {
		a.grow()
	}
	go func() {
		defer close(over)
		// The poll ends only with its context.
		_ = wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(context.Context) (bool, error) {
			if err := a.pass(ctx); err != nil && ctx.Err() == nil {
				a.t.Errorf("the other autoscaler: %v", err)
				return true, nil
			}
			return false, nil
		})
	}()
	t.Cleanup(func() { stop(); <-over })
	return a
}

// ids returns the IDs of all instances that the autoscaler has launched.
func (a *autoscaler) ids() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.launched)
}

// pass runs the autoscaler's loop once.
func (a *autoscaler) pass(ctx context.Context) error {
	var pods corev1.PodList
	var nodes corev1.NodeList
	if err := a.p.List(ctx, &pods); err != nil {
		return err
	}
	if err := a.p.List(ctx, &nodes); err != nil {
		return err
	}
	alive, err := a.alive(ctx)
	if err != nil {
		return err
	}
	bins := a.room(len(alive), pods.Items, nodes.Items)
	want := a.needed(pods.Items, bins)
	for n := len(alive); want > 0 && n < a.group.max; n++ {
		a.grow()
		want--
	}
	if want == 0 && !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Spec.NodeName == "" }) {
		return a.shrink(ctx, len(alive), pods.Items, nodes.Items)
	}
	return nil
}

// alive returns the running instances of the group.
func (a *autoscaler) alive(ctx context.Context) ([]control.Instance, error) {
	all, err := a.p.Steer().Instances(ctx)
	if err != nil {
		return nil, err
	}
	mine := a.ids()
	return slices.DeleteFunc(all, func(i control.Instance) bool {
		return !slices.Contains(mine, i.ID) || (i.State != "pending" && i.State != "running")
	}), nil
}

// A bin is a node on which pods may be placed: an existing one, one that has not joined, or one that would be launched.
type bin struct {
	node *corev1.Node
	free int64 // millicores
}

// room returns all ready nodes, of both autoscalers, with the CPU that their pods leave free, and the nodes of the group that
// have not joined. size is the number of the group's instances.
func (a *autoscaler) room(size int, pods []corev1.Pod, nodes []corev1.Node) (out []*bin) {
	for i := range nodes {
		n := &nodes[i]
		if !ready(n) || n.DeletionTimestamp != nil {
			continue
		}
		b := &bin{node: n, free: n.Status.Allocatable.Cpu().MilliValue()}
		if n.Labels[groupLabel] == a.group.name { // startup taints of the group's nodes are ignored
			b.node = a.template().node
		}
		for k := range pods {
			if pods[k].Spec.NodeName == n.Name {
				b.free -= request(&pods[k])
			}
		}
		out = append(out, b)
		if n.Labels[groupLabel] == a.group.name {
			size--
		}
	}
	for range max(size, 0) {
		out = append(out, a.template())
	}
	return out
}

// template returns an empty node of the group.
func (a *autoscaler) template() *bin {
	node := &corev1.Node{Spec: corev1.NodeSpec{Taints: a.group.taints}}
	node.Labels = map[string]string{
		groupLabel: a.group.name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", corev1.LabelInstanceTypeStable: upstreamType,
	}
	maps.Copy(node.Labels, a.group.labels)
	return &bin{node: node, free: templateCPU}
}

// needed returns how many further nodes the unschedulable pods need, by first fit into bins and then new nodes.
func (a *autoscaler) needed(pods []corev1.Pod, bins []*bin) (n int) {
	for i := range pods {
		pod := &pods[i]
		if !unschedulable(pod) || !fits(pod, a.template()) {
			continue
		}
		at := slices.IndexFunc(bins, func(b *bin) bool { return fits(pod, b) })
		if at < 0 {
			bins = append(bins, a.template())
			at = len(bins) - 1
			n++
		}
		bins[at].free -= request(pod)
	}
	return n
}

// templateCPU is the allocatable CPU of a node of upstreamType, in millicores.
const templateCPU = 1930

// fits reports whether the pod is feasible on the node of a bin.
func fits(pod *corev1.Pod, b *bin) bool {
	matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(b.node)
	if err != nil || !matches || request(pod) > b.free {
		return false
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), b.node.Spec.Taints, pod.Spec.Tolerations,
		func(taint *corev1.Taint) bool { return taint.Effect != corev1.TaintEffectPreferNoSchedule }, false)
	return !untolerated
}

func unschedulable(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// request returns the CPU request of a pod, in millicores.
func request(pod *corev1.Pod) int64 {
	var sum resource.Quantity
	for _, c := range pod.Spec.Containers {
		sum.Add(c.Resources.Requests[corev1.ResourceCPU])
	}
	return sum.MilliValue()
}

// grow launches one node of the group, as an Auto Scaling group does.
func (a *autoscaler) grow() {
	order := launch{labels: map[string]string{groupLabel: a.group.name}, tags: map[string]string{
		"eks:cluster-name": "local", "eks:nodegroup-name": a.group.name,
		"k8s.io/cluster-autoscaler/enabled": "true",
	}}
	maps.Copy(order.labels, a.group.labels)
	var taints []string
	for _, taint := range a.group.taints {
		taints = append(taints, fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect))
	}
	order.taints = strings.Join(taints, ",")
	made := a.p.launch(a.t, order)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.launched = append(a.launched, made.id)
}

// shrink terminates empty nodes of the group, down to min.
func (a *autoscaler) shrink(ctx context.Context, size int, pods []corev1.Pod, nodes []corev1.Node) error {
	for i := range nodes {
		n := &nodes[i]
		used := slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName == n.Name })
		if size <= a.group.min || used || n.Labels[groupLabel] != a.group.name || !ready(n) || n.DeletionTimestamp != nil || n.Spec.ProviderID == "" {
			continue
		}
		id := n.Spec.ProviderID[strings.LastIndex(n.Spec.ProviderID, "/")+1:]
		if _, err := ec2.NewFromConfig(a.p.AWS()).TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
			return err
		}
		size--
	}
	return nil
}
