package ledger_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// at returns the time that is the given number of minutes after the start of a test.
func at(minutes float64) time.Time {
	return scenario.Epoch().Add(time.Duration(minutes * float64(time.Minute)))
}

// snapshot returns the snapshot of a scenario at a time.
func snapshot(t *testing.T, c scenario.Cluster, now time.Time) *model.Snapshot {
	t.Helper()
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s.At(now)
}

func twoTypes() []scenario.Type {
	return []scenario.Type{{Name: "big", CPU: "8", Memory: "32Gi", Price: 0.50}, {Name: "small", CPU: "2", Memory: "8Gi", Price: 0.25}}
}

// The replacement of a node is one action. Its saving is measured once the old node no longer exists.
func TestSavings(t *testing.T) {
	reg := prometheus.NewRegistry()
	l := ledger.New(telemetry.NewMetrics(reg, nil).Cost, "")
	l.Begin()
	pods := []scenario.Pod{{Name: "a", CPU: "1"}, {Name: "b", CPU: "500m"}}
	old := scenario.Node{Name: "old", Pool: "default", Type: "big", Conditions: []string{"Consolidatable"}, Pods: pods}
	c := scenario.Cluster{Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(), Nodes: []scenario.Node{old}}
	first := snapshot(t, c, at(0))
	n, _ := first.NodeByName("old")
	pool, _ := first.Pool("default")
	// The decision expects the new node to cost $0.08 per hour. It will cost $0.25.
	small := first.Types("default")[1]
	command := model.Command{
		Reason: apiv1.DisruptionReasonUnderutilized, Method: "single", Nodes: []*model.Node{n}, Saves: 0.32,
		Replacements: []model.PlannedNode{{Pool: pool, Options: []*model.InstanceType{small}}},
	}
	l.Observe(first, ledger.Decision{Commands: []model.Command{command}})

	old.Conditions = append(old.Conditions, "DisruptionReason/Underutilized")
	old.Taints = []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	old.Life.Annotations = map[string]string{apiv1.ReplacedByAnnotationKey: "new-claim"}
	fresh := scenario.Node{Name: "new", Pool: "default", Type: "small"}
	c.Nodes = []scenario.Node{old, fresh}
	l.Observe(snapshot(t, c, at(1)), ledger.Decision{})
	if got := l.Save().Report(ledger.Query{}); len(got.Actions) != 1 || got.Actions[0].State != ledger.Running || len(got.Savings) != 0 {
		t.Fatalf("while it runs: %+v", got.Actions)
	}
	fresh.Pods, c.Nodes = pods, nil
	c.Nodes = []scenario.Node{fresh}
	l.Observe(snapshot(t, c, at(3)), ledger.Decision{})
	got := l.Save().Report(ledger.Query{})
	if len(got.Savings) != 1 {
		t.Fatalf("savings: %+v, actions %+v", got.Savings, got.Actions)
	}
	s := got.Savings[0]
	if s.Decision != "replace" || s.Reason != "underutilized" || s.Evictions != 2 || s.Actions != 1 ||
		math.Abs(s.Planned-0.32) > 1e-9 || math.Abs(s.Realized-0.25) > 1e-9 {
		t.Errorf("%+v", s)
	}
	want := `
# HELP karpenter_savings_realized_dollars_per_hour Savings in USD/h that were measured after the replacement, of all disruptions since the start.
# TYPE karpenter_savings_realized_dollars_per_hour gauge
karpenter_savings_realized_dollars_per_hour{decision="replace",reason="underutilized"} 0.25
# HELP karpenter_savings_actions_total Disruptions that ended, by whether they were done or cancelled.
# TYPE karpenter_savings_actions_total counter
karpenter_savings_actions_total{decision="replace",reason="underutilized",result="done"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "karpenter_savings_realized_dollars_per_hour", "karpenter_savings_actions_total"); err != nil {
		t.Error(err)
	}
}

// A disruption that begins and ends between two computations of the rates is an action, too.
func TestSavingsWithinSeconds(t *testing.T) {
	l := ledger.New(nil, "")
	l.Begin()
	node := scenario.Node{Name: "old", Pool: "default", Type: "big", Conditions: []string{"Consolidatable"}}
	c := scenario.Cluster{Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(), Nodes: []scenario.Node{node, {Name: "other", Pool: "default", Type: "small"}}}
	s := snapshot(t, c, at(0))
	n, _ := s.NodeByName("old")
	l.Observe(s, ledger.Decision{Commands: []model.Command{{Reason: apiv1.DisruptionReasonEmpty, Method: "empty", Nodes: []*model.Node{n}, Saves: 0.5}}})
	c.Nodes[0].Conditions = append(c.Nodes[0].Conditions, "DisruptionReason/Empty")
	c.Nodes[0].Taints = []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	l.Observe(snapshot(t, c, at(0).Add(time.Second)), ledger.Decision{})
	c.Nodes = c.Nodes[1:]
	l.Observe(snapshot(t, c, at(0).Add(3*time.Second)), ledger.Decision{})
	got := l.Save().Report(ledger.Query{}).Savings
	if len(got) != 1 || got[0].Actions != 1 || math.Abs(got[0].Realized-0.5) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

// A removed node counts once, although it exists until its instance is gone.
func TestRemovedNodeCountsOnce(t *testing.T) {
	l := ledger.New(nil, "")
	l.Begin()
	node := scenario.Node{Name: "old", Pool: "default", Type: "big", Conditions: []string{"Consolidatable"}}
	c := scenario.Cluster{Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(), Nodes: []scenario.Node{node}}
	s := snapshot(t, c, at(0))
	n, _ := s.NodeByName("old")
	l.Observe(s, ledger.Decision{Commands: []model.Command{{Reason: apiv1.DisruptionReasonEmpty, Method: "empty", Nodes: []*model.Node{n}, Saves: 0.5}}})
	c.Nodes[0].Conditions = append(c.Nodes[0].Conditions, "DisruptionReason/Empty")
	c.Nodes[0].Taints = []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	l.Observe(snapshot(t, c, at(1)), ledger.Decision{})
	c.Nodes[0].Conditions = append(c.Nodes[0].Conditions, apiv1.ConditionTypeInstanceTerminating)
	for i := range 3 {
		l.Observe(snapshot(t, c, at(2+float64(i))), ledger.Decision{})
		if i == 1 { // a restart changes nothing
			saved := l.Save()
			l = ledger.New(nil, "")
			l.Begin()
			l.Restore(saved)
		}
	}
	got := l.Save().Report(ledger.Query{}).Savings
	if len(got) != 1 || got[0].Actions != 1 || math.Abs(got[0].Realized-0.5) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

// Each of many disruptions counts once. Those that are not listed any more count in the sums by day.
func TestManySavings(t *testing.T) {
	const nodes = 450
	reg := prometheus.NewRegistry()
	l := ledger.New(telemetry.NewMetrics(reg, nil).Cost, "")
	l.Begin()
	c := scenario.Cluster{Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes()}
	for i := range nodes {
		c.Nodes = append(c.Nodes, scenario.Node{Name: fmt.Sprintf("n%d", i), Pool: "default", Type: "big", Conditions: []string{"Consolidatable"}})
	}
	s := snapshot(t, c, at(0))
	d := ledger.Decision{}
	for _, n := range s.Nodes() {
		d.Commands = append(d.Commands, model.Command{Reason: apiv1.DisruptionReasonEmpty, Method: "empty", Nodes: []*model.Node{n}, Saves: 0.5})
	}
	l.Observe(s, d)
	for i := range c.Nodes {
		c.Nodes[i].Conditions = append(c.Nodes[i].Conditions, "DisruptionReason/Empty")
		c.Nodes[i].Taints = []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	}
	l.Observe(snapshot(t, c, at(1)), ledger.Decision{})
	l.Observe(snapshot(t, c, at(2)), ledger.Decision{})
	c.Nodes = nil
	l.Observe(snapshot(t, c, at(3)), ledger.Decision{})
	check := func(when string, since time.Time, want int) {
		t.Helper()
		got := l.Save().Report(ledger.Query{Since: since})
		actions, realized := 0, 0.0
		for _, x := range got.Savings {
			actions, realized = actions+x.Actions, realized+x.Realized
		}
		if len(got.Savings) > 1 || actions != want || math.Abs(realized-0.5*float64(want)) > 1e-6 {
			t.Errorf("%s: %+v, want %d actions", when, got.Savings, want)
		}
	}
	check("at once", time.Time{}, nodes)
	want := `
# HELP karpenter_savings_actions_total Disruptions that ended, by whether they were done or cancelled.
# TYPE karpenter_savings_actions_total counter
karpenter_savings_actions_total{decision="delete",reason="empty",result="done"} 450
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "karpenter_savings_actions_total"); err != nil {
		t.Error(err)
	}
	saved := l.Save()
	if n := len(saved.Actions); n != 200 {
		t.Errorf("%d actions are stored, want 200", n)
	}
	l = ledger.New(nil, "")
	l.Begin()
	l.Restore(saved)
	check("after a restart", time.Time{}, nodes)
	l.Observe(snapshot(t, c, at(31*24*60)), ledger.Decision{})
	check("a month later", time.Time{}, nodes)
	l.Observe(snapshot(t, c, at(33*24*60)), ledger.Decision{})
	check("after the month, the listed ones", time.Time{}, 200)
}

// Of a disruption of two nodes, one is rolled back. Only the other one counts.
func TestPartlyCancelledSavings(t *testing.T) {
	l := ledger.New(nil, "")
	l.Begin()
	marked := []string{"Consolidatable", "DisruptionReason/Underutilized"}
	taints := []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	c := scenario.Cluster{Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(), Nodes: []scenario.Node{
		{Name: "goes", Pool: "default", Type: "big", Conditions: []string{"Consolidatable"}},
		{Name: "stays", Pool: "default", Type: "small", Conditions: []string{"Consolidatable"}},
	}}
	s := snapshot(t, c, at(0))
	l.Observe(s, ledger.Decision{Commands: []model.Command{
		{Reason: apiv1.DisruptionReasonUnderutilized, Method: "multi", Nodes: s.Nodes(), Saves: 0.75},
	}})
	for i := range c.Nodes {
		c.Nodes[i].Conditions, c.Nodes[i].Taints = marked, taints
	}
	l.Observe(snapshot(t, c, at(1)), ledger.Decision{})
	c.Nodes = []scenario.Node{{Name: "stays", Pool: "default", Type: "small", Conditions: []string{"Consolidatable"}}}
	l.Observe(snapshot(t, c, at(2)), ledger.Decision{})
	got := l.Save().Report(ledger.Query{})
	if len(got.Savings) != 1 || math.Abs(got.Savings[0].Realized-0.5) > 1e-9 || math.Abs(got.Savings[0].Planned-0.75) > 1e-9 {
		t.Errorf("%+v", got.Savings)
	}
	if len(got.Actions) != 1 || !slices.Equal(got.Actions[0].Nodes, []string{"goes"}) {
		t.Errorf("%+v", got.Actions)
	}
}

// A disruption that is rolled back saves nothing.
func TestCancelledSavings(t *testing.T) {
	l := ledger.New(nil, "")
	l.Begin()
	node := scenario.Node{Name: "old", Pool: "default", Type: "big", Conditions: []string{"Consolidatable", "DisruptionReason/Drifted"}}
	node.Taints = []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	c := scenario.Cluster{Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(), Nodes: []scenario.Node{node}}
	l.Observe(snapshot(t, c, at(0)), ledger.Decision{})
	c.Nodes[0].Taints, c.Nodes[0].Conditions = nil, []string{"Consolidatable"}
	l.Observe(snapshot(t, c, at(1)), ledger.Decision{})
	got := l.Save().Report(ledger.Query{}).Savings
	if len(got) != 1 || got[0].Cancelled != 1 || got[0].Realized != 0 || got[0].Actions != 0 || got[0].Reason != "drifted" {
		t.Errorf("%+v", got)
	}
}

// A snapshot less than five seconds after the last one has no effect on the costs, and its time is charged with the next one. A snapshot with
// commands is always observed.
func TestSnapshotsInQuickSuccession(t *testing.T) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(),
		Nodes: []scenario.Node{{Name: "n", Pool: "default", Type: "big", Conditions: []string{"Consolidatable"}}},
	}
	l := ledger.New(nil, "")
	l.Begin()
	s := snapshot(t, c, at(0))
	n, _ := s.NodeByName("n")
	command := model.Command{Reason: apiv1.DisruptionReasonEmpty, Method: "empty", Nodes: []*model.Node{n}}
	for _, tt := range []struct {
		seconds  float64
		decision ledger.Decision
		charged  float64
	}{
		{0, ledger.Decision{}, 0},
		{4, ledger.Decision{}, 0},
		{5, ledger.Decision{}, 5},
		{6, ledger.Decision{Commands: []model.Command{command}}, 6},
		{9, ledger.Decision{}, 6},
		{12, ledger.Decision{}, 12},
	} {
		l.Observe(s.At(at(tt.seconds/60)), tt.decision)
		until, _ := l.Charged()
		if want := at(tt.charged / 60); !until.Equal(want) {
			t.Errorf("after %v s, costs are charged until %v, want %v", tt.seconds, until, want)
		}
	}
}

// The number of keys is bounded. Further amounts are added to the key "other", and the sum of all amounts is right.
func TestKeysAreBounded(t *testing.T) {
	reg := prometheus.NewRegistry()
	l := ledger.New(telemetry.NewMetrics(reg, nil).Cost, "")
	l.Begin()
	node := scenario.Node{Name: "n", Pool: "default", Type: "huge", Conditions: []string{"Consolidatable"}}
	for i := range 3000 {
		node.Pods = append(node.Pods, scenario.Pod{Name: fmt.Sprint("p", i), Space: fmt.Sprint("space", i%700), CPU: "100m", Memory: "100Mi"})
	}
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}}, Nodes: []scenario.Node{node},
		Types: []scenario.Type{{Name: "huge", CPU: "400", Memory: "4Ti", Price: 36}},
	}
	s := snapshot(t, c, at(0))
	for minute := range 13 {
		l.Observe(s.At(at(float64(minute))), ledger.Decision{})
	}
	saved := l.Save()
	if n := len(saved.Rates); n > 2100 {
		t.Errorf("%d rates are stored", n)
	}
	text, err := saved.Encode()
	if err != nil || len(text) > 200_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	r := saved.Report(ledger.Query{By: []cost.Field{cost.ByNamespace, cost.ByOwner}})
	if want := 36 * 12.0 / 60; math.Abs(r.Dollars-want) > 1e-6 || math.Abs(r.DollarsPerHour-36) > 1e-6 {
		t.Errorf("$%v/h, $%v, want 36 and %v", r.DollarsPerHour, r.Dollars, want)
	}
	if n := testutil.CollectAndCount(reg, "karpenter_cost_namespace_dollars_per_hour", "karpenter_cost_namespace_dollars_total"); n != 2*51 {
		t.Errorf("%d series of namespaces, want 50 and other, twice", n)
	}
}

// Buckets of five minutes are merged into hours and days without a change of the sum. For a time within a bucket, a
// proportional part of the bucket counts.
func TestPeriods(t *testing.T) {
	l := ledger.New(nil, "")
	l.Begin()
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(), Nodes: []scenario.Node{{Name: "n", Pool: "default", Type: "small"}},
	}
	s := snapshot(t, c, at(0))
	days := 10
	for minute := 0; minute <= days*24*60; minute += 2 {
		l.Observe(s.At(at(float64(minute))), ledger.Decision{})
	}
	saved := l.Save()
	for _, tt := range []struct {
		since time.Time
		hours float64
	}{{time.Time{}, float64(days) * 24}, {saved.Until.Add(-time.Hour), 1}, {saved.Until.Add(-48 * time.Hour), 48}, {saved.Until.Add(-5 * 24 * time.Hour), 120}} {
		if got := saved.Report(ledger.Query{Since: tt.since}).Dollars; math.Abs(got/(0.25*tt.hours)-1) > 1e-6 {
			t.Errorf("since %v: $%v, want %v", tt.since, got, 0.25*tt.hours)
		}
	}
	if n := len(saved.Tiers[0]) + len(saved.Tiers[1]) + len(saved.Tiers[2]); n > 36+72+31 {
		t.Errorf("%d buckets", n)
	}
	again, err := saved.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ledger.Decode(again); err != nil || math.Abs(back.Report(ledger.Query{}).Dollars-60) > 1e-6 {
		t.Errorf("after storing: %v, %v", back.Report(ledger.Query{}).Dollars, err)
	}
}

// The time of a short restart is charged. That of a long pause is not.
func TestRestart(t *testing.T) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(), Nodes: []scenario.Node{{Name: "n", Pool: "default", Type: "small"}},
	}
	for _, tt := range []struct{ pause, hours float64 }{{30, 1.5}, {90, 1}} {
		l := ledger.New(nil, "")
		l.Begin()
		s := snapshot(t, c, at(0))
		l.Observe(s, ledger.Decision{})
		l.Observe(s.At(at(60)), ledger.Decision{})
		l = restarted(t, l)
		l.Observe(s.At(at(60+tt.pause)), ledger.Decision{})
		if got := l.Save().Report(ledger.Query{}).Dollars; math.Abs(got-0.25*tt.hours) > 1e-9 {
			t.Errorf("after %v minutes: $%v, want %v", tt.pause, got, 0.25*tt.hours)
		}
	}
}

// Two kinds of predictions are compared with the result: the node of a pod, and the allocatable resources of a node.
func TestPredictions(t *testing.T) {
	l := ledger.New(nil, "")
	l.Begin()
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(),
		Nodes:   []scenario.Node{{Name: "n", Pool: "default", Type: "small", NodeState: scenario.NodeState{Joining: true}}, {Name: "m", Type: "small"}}, // m has no NodePool
		Pods:    []scenario.Pod{{Name: "a", CPU: "1"}, {Name: "b", CPU: "1"}},
		Promise: map[string]string{"default/a": "n", "default/b": "n"},
	}
	l.Observe(snapshot(t, c, at(0)), ledger.Decision{})
	c.Nodes[0].Joining, c.Pods = false, nil
	c.Nodes[0].Pods, c.Nodes[1].Pods = []scenario.Pod{{Name: "a", CPU: "1"}}, []scenario.Pod{{Name: "b", CPU: "1"}}
	s := snapshot(t, c, at(0).Add(2*time.Second)) // sooner than the rates are computed again
	claim, _ := s.Claims.Get("n-claim")
	other := claim.DeepCopy() // its claim predicts a tenth more memory than the node has
	memory := other.Status.Allocatable[corev1.ResourceMemory]
	memory.Set(memory.Value() * 11 / 10)
	other.Status.Allocatable = corev1.ResourceList{"cpu": other.Status.Allocatable["cpu"], "memory": memory}
	other.Status.Conditions = append(other.Status.Conditions, metav1.Condition{Type: "Extra", Status: metav1.ConditionTrue})
	l.Observe(s.Apply(model.Delta{Claims: []*apiv1.NodeClaim{other}}), ledger.Decision{})
	p := l.Save().Report(ledger.Query{}).Predictions
	if p == nil || p.Hits != 1 || p.Misses != 1 || p.Errors[ledger.QuantityMemory] == nil || math.Abs(p.Errors[ledger.QuantityMemory].Bias+1.0/11) > 1e-6 ||
		p.Errors[ledger.QuantityCPU].Mean != 0 {
		t.Errorf("%+v, memory %+v, cpu %+v", p, p.Errors[ledger.QuantityMemory], p.Errors[ledger.QuantityCPU])
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"", "no gzip"} {
		if _, err := ledger.Decode([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// The use of commitments is added up over time, is stored with the ledger, and stays in the report when a commitment ends.
func TestCommitmentsOverTime(t *testing.T) {
	l := ledger.New(nil, "")
	l.Begin()
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}}, Types: twoTypes(), Nodes: []scenario.Node{{Name: "n", Pool: "default", Type: "small"}},
	}
	plain := snapshot(t, c, at(0))
	with := func(units int64) *model.Snapshot {
		var types []*model.InstanceType
		reserved := &commitment.Commitment{ID: "ri", Units: units}
		for _, o := range plain.Types("default") {
			own := *o
			own.Offerings = slices.Clone(o.Offerings)
			for i := range own.Offerings {
				own.Offerings[i].Covers, own.Offerings[i].CoveredPrice = []commitment.Cover{{Commitment: reserved, Use: 2}}, 0.05
			}
			types = append(types, &own)
		}
		return plain.Apply(model.Delta{Types: map[string][]*model.InstanceType{"default": types}})
	}
	l.Observe(with(4).At(at(0)), ledger.Decision{}) // the node uses half of it, and is covered wholly
	l.Observe(with(1).At(at(60)), ledger.Decision{})
	l = restarted(t, l) // now the node uses all of it, and is covered by half
	l.Observe(with(1).At(at(90)), ledger.Decision{})
	l.Observe(with(1).At(at(120)), ledger.Decision{})
	want := ledger.CommitmentPeriod{Utilization: 0.75, EligibleNodeHours: 2, CoveredNodeHours: 1.5, Coverage: 0.75, Saved: 0.3}
	list := l.Save().Report(ledger.Query{}).Commitments
	if len(list) != 1 || list[0].Ended || list[0].Utilization != 1 || list[0].Coverage != 0.5 {
		t.Fatalf("%+v", list)
	}
	if diff := cmp.Diff(want, *list[0].Since, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
	last := l.Save().Report(ledger.Query{Since: at(90)}).Commitments[0].Since
	if math.Abs(last.Utilization-1) > 1e-6 || math.Abs(last.EligibleNodeHours-0.5) > 1e-6 {
		t.Errorf("in the last half hour: %+v", last)
	}
	l.Observe(plain.At(at(121)), ledger.Decision{})
	if list = l.Save().Report(ledger.Query{}).Commitments; len(list) != 1 || !list[0].Ended || list[0].Utilization != 0 || list[0].Since == nil {
		t.Errorf("after the end: %+v", list)
	}
}

// The dollars of a namespace and of a team are complete in a cluster with too many workloads to keep the dollars of each one.
func TestNamespacesOfManyWorkloads(t *testing.T) {
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), nil).Cost
	l := ledger.New(metrics, "team")
	l.Begin()
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Types: []scenario.Type{{Name: "huge", CPU: "400", Memory: "4Ti", Price: 36, Zones: []string{"a", "b", "c"}}},
	}
	for _, zone := range c.Types[0].Zones {
		node := scenario.Node{Name: zone, Pool: "default", Type: "huge", Zone: zone, Conditions: []string{"Consolidatable"}}
		for i := range 6 * 400 {
			node.Pods = append(node.Pods, scenario.Pod{
				Name: fmt.Sprint("p", i, zone), Space: fmt.Sprint("space", i%6), CPU: fmt.Sprintf("%dm", 50+i%40), Memory: "100Mi",
				Labels: map[string]string{"team": fmt.Sprint("team", i%3)},
			})
		}
		c.Nodes = append(c.Nodes, node)
	}
	s := snapshot(t, c, at(0))
	for i := range 45 { // some of the periods are merged into hours
		l.Observe(s.At(at(5*float64(i))), ledger.Decision{})
	}
	saved := l.Save()
	for _, b := range saved.Tiers[1] {
		if n := len(b.Amounts); n > 550 {
			t.Errorf("%d amounts are stored for an hour", n)
		}
	}
	teams := map[string]float64{}
	r := saved.Report(ledger.Query{})
	if len(r.Rows) != 6 {
		t.Errorf("rows: %+v", r.Rows)
	}
	for _, row := range r.Rows {
		want := testutil.ToFloat64(metrics.NamespaceDollarsTotal.WithLabelValues(row.Key))
		if math.Abs(row.Dollars-want) > 1e-6 || want == 0 {
			t.Errorf("%s: $%v, the metric has %v", row.Key, row.Dollars, want)
		}
		number := row.Key[len(row.Key)-1] - '0'
		teams[fmt.Sprint("team", number%3)] += row.Dollars
	}
	for _, row := range saved.Report(ledger.Query{By: []cost.Field{cost.ByLabel}}).Rows {
		if math.Abs(row.Dollars-teams[row.Key]) > 1e-6 {
			t.Errorf("%s: $%v, want %v", row.Key, row.Dollars, teams[row.Key])
		}
	}
}

// The 51st namespace gets series of its own if one of the first 50 has had no pods for an hour. That one loses its series.
func TestSeriesOfNamespacesThatEnded(t *testing.T) {
	reg := prometheus.NewRegistry()
	l := ledger.New(telemetry.NewMetrics(reg, nil).Cost, "")
	l.Begin()
	node := scenario.Node{Name: "n", Pool: "default", Type: "huge", Conditions: []string{"Consolidatable"}}
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Types: []scenario.Type{{Name: "huge", CPU: "400", Memory: "4Ti", Price: 36}},
	}
	observe := func(minute float64, spaces ...string) {
		node.Pods = nil
		for _, space := range spaces {
			node.Pods = append(node.Pods, scenario.Pod{Name: "p", Space: space, CPU: "1", Memory: "1Gi"})
		}
		c.Nodes = []scenario.Node{node}
		l.Observe(snapshot(t, c, at(minute)), ledger.Decision{})
	}
	series := func() (names []string) {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() != "karpenter_cost_namespace_dollars_total" {
				continue
			}
			for _, m := range f.GetMetric() {
				names = append(names, m.GetLabel()[0].GetValue())
			}
		}
		return names
	}
	var first []string
	for i := range 50 {
		first = append(first, fmt.Sprintf("space%02d", i))
	}
	observe(0, first...)
	observe(1, first...)
	observe(2, append([]string{"soon"}, first[1:]...)...) // space00 has ended
	observe(3, append([]string{"soon"}, first[1:]...)...)
	if got := series(); len(got) != 51 || slices.Contains(got, "soon") || !slices.Contains(got, ledger.Other) {
		t.Errorf("after two minutes: %v", got)
	}
	observe(63, append([]string{"late"}, first[1:]...)...)
	observe(64, append([]string{"late"}, first[1:]...)...)
	if got := series(); len(got) != 51 || !slices.Contains(got, "late") || slices.Contains(got, "space00") || !slices.Contains(got, "space01") {
		t.Errorf("after an hour: %v", got)
	}
}
