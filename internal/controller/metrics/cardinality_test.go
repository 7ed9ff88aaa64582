package metrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// fixed is a cluster that does not change.
type fixed struct{ s *model.Snapshot }

func (f fixed) Snapshot() *model.Snapshot { return f.s }
func (f fixed) Synced() bool              { return true }

// largeCluster returns n nodes of 40 instance types in 3 zones with 2 capacity types, with 2 pods each.
func largeCluster(n int) *model.Snapshot {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	d := model.Delta{Pools: []*apiv1.NodePool{pool}}
	size := model.Resources{"cpu": 4000, "memory": 1 << 34, "pods": 58, "ephemeral-storage": 1 << 34}.List()
	for i := range n {
		labels := map[string]string{
			apiv1.NodePoolLabelKey: "default", corev1.LabelTopologyZone: fmt.Sprint("zone-", i%3), corev1.LabelInstanceTypeStable: fmt.Sprint("type-", i%40),
			apiv1.CapacityTypeLabelKey: []string{"spot", "on-demand"}[i/120%2], apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
		}
		name := fmt.Sprint("node-", i)
		c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels}}
		c.Status.ProviderID, c.Status.Capacity, c.Status.Allocatable = "x:///"+name, size, size
		o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		o.Spec.ProviderID, o.Status.Capacity, o.Status.Allocatable = c.Status.ProviderID, size, size
		d.Claims, d.Nodes = append(d.Claims, c), append(d.Nodes, o)
		for k := range 2 {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("space-", i%300), Name: fmt.Sprint(name, "-", k)}}
			p.Spec.NodeName, p.Status.Phase = name, corev1.PodRunning
			p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: model.Resources{"cpu": 500, "memory": 1 << 30}.List()}}}
			d.Pods = append(d.Pods, p)
		}
	}
	return model.Compile(d).At(start)
}

// samples returns the number of samples of a scrape, in total and by metric.
func samples(t *testing.T, reg prometheus.Gatherer) (n int, families map[string]int) {
	t.Helper()
	found, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families = map[string]int{}
	for _, f := range found {
		for _, m := range f.Metric {
			k := 1
			switch f.GetType() {
			case dto.MetricType_HISTOGRAM:
				k = len(m.Histogram.Bucket) + 3
			case dto.MetricType_SUMMARY:
				k = len(m.Summary.Quantile) + 2
			}
			families[f.GetName()] += k
			n += k
		}
	}
	return n, families
}

// With 10,000 nodes a scrape has fewer than 20,000 samples. 8,000 of them are reserved for the metrics of controller-runtime, of
// the cloud provider and of the AWS SDK, which are 7,500 in a local cluster. The sums are equal to the sums over the nodes.
func TestCardinality(t *testing.T) {
	const nodes = 10_000
	w := newWorld(t)
	w.reg = prometheus.NewRegistry()
	w.metrics = telemetry.NewMetrics(w.reg, []string{
		apiv1.NodePoolLabelKey, corev1.LabelTopologyZone, corev1.LabelInstanceTypeStable, apiv1.CapacityTypeLabelKey, corev1.LabelArchStable,
	})
	s := largeCluster(nodes)
	detail := &Detail{MaxNodes: 500}
	c := &Nodes{Cluster: fixed{s}, Clock: w.clock, Metrics: w.metrics, Detail: detail}
	if _, err := c.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	conditions, err := NewConditions(apiv1.GroupVersion.WithKind("NodeClaim"), ConditionOptions{
		Client: w, Clock: w.clock, Events: w, Metrics: telemetry.NewConditionMetrics(w.reg, "nodeclaim"), Detail: detail,
	})
	w.must(err)
	for i := range nodes {
		is := sight{conditions: map[string]metav1.Condition{}, labels: labels{pool: "default"}}
		for _, name := range []string{"Launched", "Registered", "Initialized", "Consolidatable", "Drifted", "Ready"} {
			status := metav1.ConditionTrue
			if i%7 == 0 {
				status = metav1.ConditionFalse
			}
			is.conditions[name] = metav1.Condition{Type: name, Status: status, Reason: name}
		}
		key := types.NamespacedName{Name: fmt.Sprint("node-", i)}
		conditions.series.replace(key.String(), conditions.gauges(key, is))
	}
	l := ledger.New(w.metrics.Cost, "")
	l.Begin()
	l.Observe(s, ledger.Decision{})
	l.Observe(s.At(start.Add(time.Minute)), ledger.Decision{})
	n, families := samples(t, w.reg)
	if n >= 12_000 {
		t.Errorf("%d samples: %v", n, families)
	}
	t.Logf("%d samples with %d nodes", n, nodes)
	total := 0.0
	found, err := w.reg.Gather()
	w.must(err)
	for _, f := range found {
		for _, m := range f.Metric {
			for _, x := range m.Label {
				if f.GetName() == "karpenter_nodes_allocatable" && x.GetName() == "resource_type" && x.GetValue() == "cpu" {
					total += m.Gauge.GetValue()
				}
			}
		}
	}
	if total != nodes*4 {
		t.Errorf("the nodes have %v cores, want %d", total, nodes*4)
	}
}

// When a large cluster becomes small, each node and each pod has its own series again, also a pod that does not change.
func TestDetailComesBack(t *testing.T) {
	w := newWorld(t)
	detail := &Detail{MaxNodes: 10}
	for _, p := range largeCluster(8).Pods.Each() {
		w.must(w.Create(t.Context(), p.Object.DeepCopy()))
	}
	pods := &Pods{Client: w, Clock: w.clock, Metrics: w.metrics.Pods, Timeline: NewTimeline(w.metrics.Pods), Detail: detail}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	w.must(pods.onSingle(t.Context(), queue))
	c := &Nodes{Clock: w.clock, Metrics: w.metrics, Detail: detail}
	for _, tt := range []struct {
		nodes  int
		coarse bool
	}{{10, false}, {11, true}, {9, true}, {8, false}} {
		c.Cluster = fixed{largeCluster(tt.nodes)}
		w.clock.Step(time.Minute)
		if _, err := c.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
		found, err := w.reg.Gather()
		w.must(err)
		named := 0
		for _, f := range found {
			if f.GetName() != "karpenter_nodes_current_lifetime_seconds" {
				continue
			}
			named = len(f.Metric)
		}
		want := tt.nodes
		if tt.coarse {
			want = 0
		}
		if named != want || detail.Coarse() != tt.coarse {
			t.Errorf("%d nodes: %d have an age of their own, want %d; coarse is %v", tt.nodes, named, want, detail.Coarse())
		}
	}
	for queue.Len() > 0 {
		request, _ := queue.Get()
		w.run(pods, request.Namespace, request.Name)
		queue.Done(request)
	}
	if _, families := samples(t, w.reg); families["karpenter_pods_state"] != 16 {
		t.Errorf("%d pods have a state, want 16", families["karpenter_pods_state"])
	}
}
