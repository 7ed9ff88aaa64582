package disruption

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
)

// inReservation has the labels of nodes that run in the capacity reservation of newReservedColony.
var inReservation = map[string]string{
	apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeReserved, "example.com/reservation": "r-1",
}

// newReservedColony returns a colony of drifted nodes with one pod each, which use the whole capacity reservation. The pool may
// launch nodes from that reservation only. change may change the pool.
func newReservedColony(t *testing.T, nodes int, boots time.Duration, change func(*apiv1.NodePool)) *colony {
	o := newEmptyColony(t, boots)
	o.joins = inReservation
	pool := &apiv1.NodePool{}
	o.must(o.client.Get(t.Context(), client.ObjectKey{Name: "default"}, pool))
	pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "1"}}
	change(pool)
	o.must(o.client.Update(t.Context(), pool))
	for i := range nodes {
		o.node(i, "default", machine("large", 2, 0))
		claim, node := o.claim(fmt.Sprintf("claim-%d", i)), &corev1.Node{}
		o.must(o.client.Get(t.Context(), client.ObjectKey{Name: fmt.Sprintf("node-%d", i)}, node))
		maps.Copy(claim.Labels, inReservation)
		maps.Copy(node.Labels, inReservation)
		o.must(o.client.Update(t.Context(), claim))
		o.must(o.client.Update(t.Context(), node))
		condition.SetTrueWithReason(claim, apiv1.ConditionTypeDrifted, "NodePoolDrifted", "", o.clock.Now())
		o.must(o.client.Status().Update(t.Context(), claim))
		o.pod(fmt.Sprintf("web-%d", i), node.Name)
	}
	o.start()
	return o
}

// reserved returns the type large with one offering: a reservation of that many instances, less the existing claims.
func (o *colony) reserved(instances int) *cloud.InstanceType {
	t := machine("large", 2, 0.1)
	labels := map[string]string{corev1.LabelTopologyZone: "a"}
	maps.Copy(labels, inReservation)
	t.Requirements = require.FromLabels(labels).And(require.FromLabels(map[string]string{corev1.LabelInstanceTypeStable: "large"}))
	t.Offerings = []model.Offering{{
		Zone: "a", CapacityType: apiv1.CapacityTypeReserved, Price: 0.1, Available: true, ReservationID: "r-1",
		ReservationCapacity: instances - len(o.claims()), Requirements: require.FromLabels(labels),
	}}
	return t
}

// rolled makes passes until no claim is drifted. It returns the smallest number of usable nodes at any time. If claims remain
// drifted, it fails the test.
func (o *colony) rolled(instances int) (fewest int) {
	nodes := len(o.claims())
	fewest = nodes
	for range 200 {
		o.c.Cloud = &fakecloud.Cloud{Types: []*cloud.InstanceType{o.reserved(instances)}}
		o.pass()
		o.c.Cloud = &fakecloud.Cloud{Types: []*cloud.InstanceType{o.reserved(instances)}}
		for _, p := range o.on("") {
			p.Status = podOf(p.Name, "").Status
			o.must(o.client.Status().Update(o.t.Context(), &p))
		}
		o.show()
		_, err := o.c.Actor.Launch(o.t.Context(), pack.Solve(o.c.readSnapshot(o.t.Context()), pack.Options{Labels: apiv1.CoreLabels()}))
		o.must(err)
		if n := len(o.claims()); n > instances {
			o.t.Fatalf("%d claims for %d instances", n, instances)
		}
		drifted, there := 0, 0
		for _, c := range o.claims() {
			if condition.IsTrue(&c, apiv1.ConditionTypeDrifted) {
				drifted++
			}
			if c.DeletionTimestamp == nil && o.nodeOf(&c) != nil {
				there++
			}
		}
		fewest = min(fewest, there)
		if drifted == 0 && there == nodes && len(o.on("")) == 0 {
			return fewest
		}
	}
	o.t.Fatal("some node is still drifted")
	return 0
}

// All nodes of a full reservation have drifted. Without the feature gate, none is disrupted.
func TestFullReservationStaysWithoutTheGate(t *testing.T) {
	o := newReservedColony(t, 3, 0, func(*apiv1.NodePool) {})
	for range 10 {
		o.c.Cloud = &fakecloud.Cloud{Types: []*cloud.InstanceType{o.reserved(3)}}
		o.pass()
	}
	for _, c := range o.claims() {
		if condition.IsTrue(&c, apiv1.ConditionTypeDisruptionReason) || c.DeletionTimestamp != nil {
			t.Errorf("%s is disrupted", c.Name)
		}
	}
}

// All nodes of a full reservation have drifted. They are replaced one after another without a spare node, within the budget,
// however long a new node takes to start.
func TestFullReservationRolls(t *testing.T) {
	for _, boots := range paces {
		o := newReservedColony(t, 3, boots, func(*apiv1.NodePool) {})
		o.c.Options.TerminateFirst = []apiv1.DisruptionReason{apiv1.DisruptionReasonDrifted}
		if fewest := o.rolled(3); fewest != 2 {
			t.Errorf("nodes boot in %v: %d nodes were there at some time, want 2", boots, fewest)
		}
		if n := testutil.ToFloat64(o.c.Metrics.Disruption.TerminateFirstDecisionsTotal.WithLabelValues(
			"default", "drifted", model.TerminateFirstReservation)); n != 3 {
			t.Errorf("nodes boot in %v: %v decisions, want 3", boots, n)
		}
	}
}

// The nodes of a static pool at its limit of nodes are replaced one after another, too.
func TestStaticPoolAtItsLimitRolls(t *testing.T) {
	for _, boots := range paces {
		o := newReservedColony(t, 3, boots, func(pool *apiv1.NodePool) {
			pool.Spec.Replicas = ptr.To(int64(3))
			pool.Spec.Limits = apiv1.Limits{model.Nodes: *resource.NewQuantity(3, resource.DecimalSI)}
		})
		o.c.Options.Static, o.c.Options.TerminateFirst = true, []apiv1.DisruptionReason{apiv1.DisruptionReasonDrifted}
		if fewest := o.rolled(4); fewest != 2 {
			t.Errorf("nodes boot in %v: %d nodes were there at some time, want 2", boots, fewest)
		}
	}
}

// The mark of a node that is terminated first survives a restart. The next controller does not roll it back although the pods of
// the node fit nowhere.
func TestTerminateFirstSurvivesRestart(t *testing.T) {
	o := newReservedColony(t, 1, 0, func(*apiv1.NodePool) {})
	options := []apiv1.DisruptionReason{apiv1.DisruptionReasonDrifted}
	for range 3 {
		o.c.Options.TerminateFirst = options
		o.c.Cloud = &fakecloud.Cloud{Types: []*cloud.InstanceType{o.reserved(1)}}
		o.pass()
		for _, c := range o.claims() {
			if c.Annotations[apiv1.TerminateFirstAnnotationKey] != model.TerminateFirstReservation {
				t.Errorf("annotations are %v", c.Annotations)
			}
		}
		o.start()
	}
	for _, c := range o.claims() {
		if c.Name == "claim-0" {
			t.Error("the drifted claim is still there")
		}
	}
}
