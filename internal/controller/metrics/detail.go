package metrics

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Detail decides whether each node, NodeClaim and pod has its own series. In a large cluster there would be hundreds of
// thousands of them. Then series have the same labels without the names, and their values are sums. A nil Detail always keeps
// single series.
type Detail struct {
	// MaxNodes is the largest number of nodes with their own series; 0 means no limit.
	MaxNodes int

	coarse atomic.Bool
	// enqueue makes the controller Pods reconcile all pods; nil before it starts.
	enqueue atomic.Pointer[func(context.Context) error]
}

// decide sets and returns whether there are too many nodes. It becomes false again at four fifths of MaxNodes.
func (d *Detail) decide(nodes int) (coarse bool) {
	if d == nil || d.MaxNodes == 0 {
		return false
	}
	coarse = nodes > d.MaxNodes || d.coarse.Load() && nodes > d.MaxNodes*4/5
	d.coarse.Store(coarse)
	return coarse
}

// Coarse reports whether single objects have no series of their own.
func (d *Detail) Coarse() bool { return d != nil && d.coarse.Load() }

// sumPeriod is the interval at which sums are written.
const sumPeriod = 30 * time.Second

// sum writes the metrics of nodes and the states of pods as sums, at most once per sumPeriod. A sum is over all objects
// whose labels are equal except for the names. Ages are not summed.
func (c *Nodes) sum(nodes []*model.Node) {
	now := c.Clock.Now()
	if now.Sub(c.summed) < sumPeriod {
		return
	}
	c.summed, c.last = now, nil
	used, allocatable := model.Resources{}, model.Resources{}
	sums := make([]map[string]float64, len(c.Metrics.Nodes.PerResource()))
	for i := range sums {
		sums[i] = map[string]float64{}
	}
	for _, n := range nodes {
		accumulateLaunched(used, allocatable, n)
		if n.Object == nil {
			continue
		}
		labels := c.labels(n)
		labels[0] = "" // the name
		key := strings.Join(labels, labelSeparator)
		for i, r := range amounts(n) {
			for name, v := range r {
				sums[i][telemetry.ResourceType(name)+labelSeparator+key] += base(name, v)
			}
		}
	}
	for i, vec := range c.Metrics.Nodes.PerResource() {
		vec.Reset()
		for key, v := range sums[i] {
			vec.WithLabelValues(strings.Split(key, labelSeparator)...).Set(v)
		}
	}
	c.Metrics.Nodes.CurrentLifetimeSeconds.Reset()
	c.tellUtilization(used, allocatable)
	c.sumPods()
}

// sumPods writes the numbers of pods by state, without names, namespaces, owners and nodes.
func (c *Nodes) sumPods() {
	sums := map[string]float64{}
	s := c.Cluster.Snapshot()
	for _, p := range s.Pods.Each() {
		var l map[string]string
		if p.Bound() {
			if n, ok := s.NodeObjects.Get(p.Object.Spec.NodeName); ok {
				l = n.Labels
			}
		}
		labels := stateLabels(p.Object, l)
		for i, name := range telemetry.PodStateLabels() {
			switch name {
			case "name", "namespace", "owner", "node":
				labels[i] = ""
			}
		}
		sums[strings.Join(labels, labelSeparator)]++
	}
	c.Metrics.Pods.State.Reset()
	for key, v := range sums {
		c.Metrics.Pods.State.WithLabelValues(strings.Split(key, labelSeparator)...).Set(v)
	}
}

// clearSums deletes the sums when single objects have series again. The controller Pods then reconciles all pods, which writes their
// series.
func (c *Nodes) clearSums(ctx context.Context) error {
	if c.summed.IsZero() {
		return nil
	}
	for _, vec := range append(c.Metrics.Nodes.PerResource(), c.Metrics.Pods.State) {
		vec.Reset()
	}
	if enqueue := c.Detail.enqueue.Load(); enqueue != nil {
		if err := (*enqueue)(ctx); err != nil {
			return err
		}
	}
	c.summed = time.Time{}
	return nil
}

// stateLabels returns the label values of PodMetrics.State for a pod on a node with the labels l.
func stateLabels(pod *corev1.Pod, l map[string]string) []string {
	_, managed := l[apiv1.NodePoolLabelKey]
	return []string{
		pod.Name, pod.Namespace, ownerOf(pod), pod.Spec.NodeName, yes(pod.Spec.NodeName != ""),
		l[apiv1.NodePoolLabelKey], l[corev1.LabelTopologyZone], l[corev1.LabelArchStable], l[apiv1.CapacityTypeLabelKey],
		l[corev1.LabelInstanceTypeStable], string(pod.Status.Phase), yes(!readySince(pod).IsZero()), yes(managed),
	}
}

func yes(v bool) string {
	if v {
		return "true"
	}
	return "false"
}
