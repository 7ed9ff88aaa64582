package disruption

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A marked node waits for the watch and for its replacement. An incomplete or outdated disruption is rolled back.
func TestProgress(t *testing.T) {
	type objects struct {
		claim                 *apiv1.NodeClaim
		node, replacementNode *corev1.Node
	}
	for _, tt := range []struct {
		name          string
		age           time.Duration // of the mark
		change        func(*objects)
		wait          time.Duration
		rule          model.Rule
		uninitialized int
	}{
		{name: "just marked", age: 500 * time.Millisecond, wait: deletionDelay - 500*time.Millisecond},
		{name: "due", age: deletionDelay},
		{name: "without the taint", age: deletionDelay, change: func(o *objects) { o.node.Spec.Taints = nil }, rule: model.RulePolicy},
		{name: "of another controller", age: deletionDelay, rule: model.RulePolicy, change: func(o *objects) {
			delete(o.claim.Annotations, apiv1.DisruptionBegunAnnotationKey)
		}},
		{name: "no longer drifted", age: deletionDelay, rule: model.RulePolicy, change: func(o *objects) {
			condition.Clear(o.claim, apiv1.ConditionTypeDrifted)
		}},
		{name: "replacement is not initialized", age: replacementTimeout, wait: minInterval, uninitialized: 1, change: func(o *objects) {
			delete(o.replacementNode.Labels, apiv1.NodeInitializedLabelKey)
		}},
		{name: "replacement was not initialized in time", age: replacementTimeout + time.Second, rule: model.RuleNoPlace, change: func(o *objects) {
			delete(o.replacementNode.Labels, apiv1.NodeInitializedLabelKey)
		}},
		{name: "replacement is gone", age: deletionDelay, rule: model.RuleNoPlace, change: func(o *objects) {
			o.claim.Annotations[apiv1.ReplacedByAnnotationKey] = "gone"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "100%", 0)
			first, second := pair(0), pair(1)
			o := &objects{claim: first[0].(*apiv1.NodeClaim), node: first[1].(*corev1.Node), replacementNode: second[1].(*corev1.Node)}
			o.replacementNode.Labels = map[string]string{apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true"}
			now := w.clock.Now()
			o.claim.Annotations = map[string]string{
				apiv1.DisruptionBegunAnnotationKey: now.Format(time.RFC3339), apiv1.ReplacedByAnnotationKey: second[0].GetName(),
			}
			condition.SetTrue(o.claim, apiv1.ConditionTypeDrifted, now)
			condition.SetTrueWithReason(o.claim, apiv1.ConditionTypeDisruptionReason, string(apiv1.DisruptionReasonDrifted), "", now)
			o.node.Spec.Taints = []corev1.Taint{apiv1.DisruptedNoScheduleTaint()}
			if tt.change != nil {
				tt.change(o)
			}
			w.clock.Step(tt.age)
			for _, object := range append(first, second...) {
				w.Cluster.Set(object)
			}
			s := w.Cluster.Snapshot()
			n, _ := s.NodeByName("node-0")
			p := progressOf(s, n)
			if p.verdict.Rule != tt.rule || p.verdict.OK() && p.wait != tt.wait || len(p.uninitialized) != tt.uninitialized {
				t.Errorf("verdict %v, wait %s, %d uninitialized; want rule %v, %s, %d",
					p.verdict, p.wait, len(p.uninitialized), tt.rule, tt.wait, tt.uninitialized)
			}
		})
	}
}
