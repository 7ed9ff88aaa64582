package story

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// A teller prints a line for each change in the cluster, without repetitions.
type teller struct {
	say     func(string)
	want    int // pods
	pending int // last printed number
	running int // last printed number
	plans   []Plan
	told    map[string]bool // printed stages, as claim/stage
	// starting is the number of claims without an initialized node at the last observation.
	starting int
}

func newTeller(want int, say func(string)) *teller {
	return &teller{say: say, want: want, told: map[string]bool{}}
}

// sawPods prints how many pods are pending and running. With many pods it prints a line only for each tenth of them.
func (t *teller) sawPods(pods []corev1.Pod) {
	pending, running := 0, 0
	for i := range pods {
		switch {
		case pods[i].DeletionTimestamp != nil:
		case pods[i].Status.Phase == corev1.PodRunning:
			running++
		case pods[i].Spec.NodeName == "":
			pending++
		}
	}
	if t.pending == 0 && running < t.want && pending+running == t.want {
		t.pending = pending
		t.say(units.Counted(pending, "pod") + " pending")
	}
	step := max(1, t.want/10)
	if running >= t.running+step || running != t.running && running == t.want {
		t.running = running
		t.say(fmt.Sprintf("%d of %d Running", running, t.want))
	}
}

// sawPlan prints a decision, and stores it for the summary.
func (t *teller) sawPlan(p Plan) {
	t.plans = append(t.plans, p)
	t.say(p.String())
}

// sawFleet prints a call for instances.
func (t *teller) sawFleet(call control.Call) { t.say(fleetLine(call)) }

// sawClaims prints which claims have become nodes.
func (t *teller) sawClaims(claims []apiv1.NodeClaim) {
	t.starting = 0
	for i := range claims {
		claim := &claims[i]
		if claim.DeletionTimestamp == nil &&
			!meta.IsStatusConditionTrue(claim.Status.Conditions, apiv1.ConditionTypeInitialized) {
			t.starting++
		}
		labels := claim.Labels
		where := fmt.Sprintf("%s, %s, %s", labels[corev1.LabelInstanceTypeStable],
			labels[apiv1.CapacityTypeLabelKey], labels[corev1.LabelTopologyZone])
		t.reached(claim, apiv1.ConditionTypeLaunched,
			fmt.Sprintf("claim %s launched: %s", claim.Name, where))
		t.reached(claim, apiv1.ConditionTypeRegistered,
			fmt.Sprintf("node %s registered", claim.Status.NodeName))
		t.reached(claim, apiv1.ConditionTypeInitialized,
			fmt.Sprintf("node %s initialized", claim.Status.NodeName))
	}
}

// reached prints line once, when the claim's condition is True.
func (t *teller) reached(claim *apiv1.NodeClaim, stage, line string) {
	key := claim.Name + "/" + stage
	if t.told[key] || !meta.IsStatusConditionTrue(claim.Status.Conditions, stage) {
		return
	}
	t.told[key] = true
	t.say(line)
}

// done reports whether every pod runs and every claim was printed as initialized. Both are checked, because the event
// of a running pod may arrive before that of its claim.
func (t *teller) done() bool { return t.running == t.want && t.starting == 0 }
