// Package rawcluster creates clusters for fuzz tests. Their pods are derived from arbitrary bytes by package rawpods.
package rawcluster

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/rawpods"
)

// base is the cluster to which pods are added. The pool default admits every ordinary pod and has no limits.
const base = `
pools:
- {name: default}
- {name: limited, limits: {cpu: 6, nodes: 2}, weight: 10, taints: [{key: team, value: blue, effect: NoSchedule}], labels: {team: blue}}
types:
- {name: m.small, cpu: 2, memory: 8Gi, price: 0.10, spot: 0.04, zones: [a, b, c], pods: 8, also: {ephemeral-storage: 20Gi}}
- {name: m.large, cpu: 8, memory: 32Gi, price: 0.35, zones: [a, b], attach: {disks.example.com: 2}, also: {ephemeral-storage: 20Gi}}
- {name: g.large, cpu: 8, memory: 32Gi, price: 1, zones: [a], also: {nvidia.com/gpu: 4, example.com/dongle: 2, hugepages-2Mi: 1Gi}}
- {name: a.large, cpu: 4, memory: 16Gi, price: 0.2, arch: arm64, zones: [b], reserved: 1}
nodes:
- {name: node-0, pool: default, type: m.large, zone: a, attach: {disks.example.com: 2}}
- {name: node-1, pool: default, type: m.small, zone: b}
- {name: node-2, pool: limited, type: m.large, zone: b, taints: [{key: team, value: blue, effect: NoSchedule}]}
namespaces: [{name: tenant-a, labels: {tenant: "yes"}}, {name: tenant-b, labels: {tenant: "no"}}, {name: ordinary}]
storage: [{name: wait}]
disks:
- {name: disk-a, namespace: tenant-a, class: wait, zones: [a]}
- {name: disk-any, namespace: tenant-a, class: wait}
- {name: disk-a, namespace: tenant-b, class: wait, zones: [b]}
`

// From returns the objects of a cluster with pods derived from b, some of which run, and three pending pods in the
// namespace rawpods.Ordinary.
func From(t testing.TB, b *rawpods.Bytes) model.Delta {
	c := parse(t)
	for i := range 3 {
		c.Pods = append(c.Pods, scenario.Pod{Name: fmt.Sprintf("web-%d", i), Space: rawpods.Ordinary, CPU: "1", Memory: "128Mi"})
	}
	return withPods(t, c, b, "", "", "", "node-0", "node-1", "node-2")
}

// Busy returns the objects of a cluster in which most of the pods derived from b run, on nodes that may be
// consolidated.
func Busy(t testing.TB, b *rawpods.Bytes) model.Delta {
	c := parse(t)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Conditions = []string{apiv1.ConditionTypeConsolidatable}
		if rawpods.Pick(b, false, false, true) {
			n.Conditions = append(n.Conditions, apiv1.ConditionTypeDrifted)
		}
		n.Deleting = rawpods.Pick(b, false, false, false, false, false, true)
	}
	for i := range c.Pools {
		c.Pools[i].Disruption = apiv1.Disruption{ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: Budgets(b)}
	}
	return withPods(t, c, b, "node-0", "node-1", "node-2", "node-0", "")
}

// Budgets returns disruption budgets derived from b. The API server accepts each of them.
func Budgets(b *rawpods.Bytes) []apiv1.Budget {
	var out []apiv1.Budget
	for range rawpods.Pick(b, 1, 0, 2, 3) {
		budget := apiv1.Budget{Nodes: rawpods.Pick(b, "100%", "0", "1", "99%", "0%", "9223372036854775807", "99999999999999999999")}
		if schedule := rawpods.Pick(b, "", "", "* * * * *", "@daily", "0 0 30 2 *", "0 0 29 2 *", "61 * * * *", "@hourly"); schedule != "" {
			budget.Schedule = &schedule
			budget.Duration = &apiv1.Duration{Duration: rawpods.Pick(b, time.Minute, time.Hour, 0, 87600*time.Hour, time.Duration(math.MaxInt64))}
		}
		if reason := rawpods.Pick(b, "", "Empty", "Drifted", "Underutilized"); reason != "" {
			budget.Reasons = []apiv1.DisruptionReason{apiv1.DisruptionReason(reason)}
		}
		out = append(out, budget)
	}
	return out
}

// parse returns base as a Cluster.
func parse(t testing.TB) *scenario.Cluster {
	t.Helper()
	c := &scenario.Cluster{}
	if err := yaml.UnmarshalStrict([]byte(base), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// withPods returns the objects of the cluster with pods derived from b, each bound to one of the nodes. A pod for which
// the empty name is chosen is not bound.
func withPods(t testing.TB, c *scenario.Cluster, b *rawpods.Bytes, nodes ...string) model.Delta {
	t.Helper()
	d, err := c.Delta()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < rawpods.MostPods && b.Left(); i++ {
		p := b.Pod(i)
		if node := rawpods.Pick(b, nodes...); node != "" {
			bind(p, node)
		}
		d.Pods = append(d.Pods, p)
	}
	return d
}

// bind binds the pod to the node. Each container requests only 100m of cpu, so that the kubelet of the node could have
// admitted the pod.
func bind(p *corev1.Pod, node string) {
	p.Spec.NodeName, p.Status = node, corev1.PodStatus{Phase: corev1.PodRunning}
	for _, containers := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range containers {
			containers[i].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}
		}
	}
	p.Spec.Overhead = nil
}

// Reversed returns the delta with its pods in the opposite order.
func Reversed(d model.Delta) model.Delta {
	d.Pods = slices.Clone(d.Pods)
	slices.Reverse(d.Pods)
	return d
}
