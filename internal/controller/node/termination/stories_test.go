package termination

import (
	"cmp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// stories are terminations of a node with the expected events, by time since the deletion. The cloud takes 10 s to terminate an
// instance, and pods take 5 s to stop. The default span of a story is an hour.
var stories = []struct {
	name    string
	objects []client.Object
	setUp   func(*world)
	span    time.Duration
	want    string
}{
	{
		name:    "an empty node waits for nothing but the cloud",
		objects: []client.Object{leavingNode(), leavingClaim()},
		setUp:   func(w *world) { w.endsAfter = 0 },
		want: `
			0s instance ending
			0s node gone`,
	},
	{
		name: "pods leave in tiers, each as soon as the one before is gone",
		objects: []client.Object{leavingNode(), leavingClaim(),
			pod("web"), pod("logs", daemon), pod("dns", critical), pod("cni", critical, daemon), pod("agent", tolerant)},
		want: `
			0s evicted web
			0s event web Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			5s gone web
			5s evicted logs
			5s event logs Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			10s gone logs
			10s evicted dns
			10s event dns Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			15s gone dns
			15s evicted cni
			15s event cni Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			20s gone cni
			20s instance ending
			30.125s node gone`,
	},
	{
		name: "the claim is deleted with its node and begins the grace period of its own",
		objects: []client.Object{leavingNode(), pod("job", protected("true")), leavingClaim(func(c *apiv1.NodeClaim) {
			c.DeletionTimestamp = nil
			c.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: time.Minute}
		})},
		want: `
			0s claim deleted
			0s event node-1 TerminationGracePeriodExpiring: All pods will be deleted by 2026-01-01T10:01:00Z (termination deadline of the NodeClaim): PodDisruptionBudgets and do-not-disrupt do not delay it
			0s event node-1 FailedDraining: Failed to drain node, 1 of 1 remaining pods cannot be evicted: default/job (annotation karpenter.sh/do-not-disrupt). Fix: relax them, or set terminationGracePeriod in the NodePool to bound drains of future nodes
			55s deleted job with 5s
			55s event job Disrupted: Deleted pod with 5s to shut down: node node-1 reaches its termination deadline (Forceful Termination); PodDisruptionBudgets do not apply
			1m0s gone job
			1m0s instance ending
			1m10.125s node gone`,
	},
	{
		name:    "a budget holds a pod until it opens, and is asked less and less often",
		objects: []client.Object{leavingNode(), leavingClaim(), pod("free"), pod("web")},
		setUp:   func(w *world) { w.budgetOpens["web"] = epoch.Add(60 * time.Second) },
		want: `
			0s evicted free
			0s event free Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			0s event node-1 FailedDraining: Failed to drain node, 1 of 2 remaining pods cannot be evicted: default/web (its PodDisruptionBudget allows no disruption). Fix: relax them, or set terminationGracePeriod in the NodePool to bound drains of future nodes
			5s gone free
			5s event node-1 FailedDraining: Failed to drain node, 1 of 1 remaining pods cannot be evicted: default/web (its PodDisruptionBudget allows no disruption). Fix: relax them, or set terminationGracePeriod in the NodePool to bound drains of future nodes
			1m2.7s evicted web
			1m2.7s event web Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			1m7s gone web
			1m7s instance ending
			1m17.125s node gone`,
	},
	{
		name:    "two budgets for one pod hold it as well, and nothing else",
		objects: []client.Object{leavingNode(), leavingClaim(), pod("web"), pod("zoo")},
		setUp:   func(w *world) { w.twoBudgets["web"] = true },
		want: `
			0s evicted zoo
			0s event zoo Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			0s event node-1 FailedDraining: Failed to drain node, 1 of 2 remaining pods cannot be evicted: default/web (selected by more than one PodDisruptionBudget, which the eviction API refuses). Fix: relax them, or set terminationGracePeriod in the NodePool to bound drains of future nodes
			5s gone zoo
			5s event node-1 FailedDraining: Failed to drain node, 1 of 1 remaining pods cannot be evicted: default/web (selected by more than one PodDisruptionBudget, which the eviction API refuses). Fix: relax them, or set terminationGracePeriod in the NodePool to bound drains of future nodes`,
	},
	{
		name: "the deadline is stronger than budgets and do-not-disrupt, and leaves each pod its grace period",
		objects: []client.Object{leavingNode(), leavingClaim(deadline(time.Minute)),
			pod("job", protected("true")), pod("web"), pod("logs", daemon)},
		setUp: func(w *world) { w.budgetOpens["web"] = epoch.Add(time.Hour) },
		want: `
			0s event node-1 TerminationGracePeriodExpiring: All pods will be deleted by 2026-01-01T10:01:00Z (termination deadline of the NodeClaim): PodDisruptionBudgets and do-not-disrupt do not delay it
			0s event node-1 FailedDraining: Failed to drain node, 2 of 3 remaining pods cannot be evicted: default/job (annotation karpenter.sh/do-not-disrupt), default/web (its PodDisruptionBudget allows no disruption). Fix: relax them, or set terminationGracePeriod in the NodePool to bound drains of future nodes
			55s deleted job with 5s
			55s event job Disrupted: Deleted pod with 5s to shut down: node node-1 reaches its termination deadline (Forceful Termination); PodDisruptionBudgets do not apply
			55s deleted logs with 5s
			55s event logs Disrupted: Deleted pod with 5s to shut down: node node-1 reaches its termination deadline (Forceful Termination); PodDisruptionBudgets do not apply
			55s deleted web with 5s
			55s event web Disrupted: Deleted pod with 5s to shut down: node node-1 reaches its termination deadline (Forceful Termination); PodDisruptionBudgets do not apply
			1m0s gone job
			1m0s gone logs
			1m0s gone web
			1m0s instance ending
			1m10.125s node gone`,
	},
	{
		name: "a pod that stops too slowly for the deadline gets less time",
		objects: []client.Object{leavingNode(), leavingClaim(deadline(time.Minute)), pod("slow", func(p *corev1.Pod) {
			p.DeletionTimestamp = &metav1.Time{Time: epoch.Add(10 * time.Minute)}
			p.Finalizers = []string{"test/kubelet"}
		})},
		want: `
			0s event node-1 TerminationGracePeriodExpiring: All pods will be deleted by 2026-01-01T10:01:00Z (termination deadline of the NodeClaim): PodDisruptionBudgets and do-not-disrupt do not delay it
			0s deleted slow with 60s
			0s event slow Disrupted: Deleted pod with 1m to shut down: node node-1 reaches its termination deadline (Forceful Termination); PodDisruptionBudgets do not apply
			1m0s gone slow
			1m0s instance ending
			1m10.125s node gone`,
	},
	{
		name: "do-not-disrupt for a while protects for a while, and a typo not at all",
		objects: []client.Object{leavingNode(), leavingClaim(),
			pod("job", protected("3m")), pod("typo", protected("yes"))},
		want: `
			0s evicted typo
			0s event typo Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			0s event job DoNotDisruptUntil: Not evicted before 2026-01-01T10:02:00Z: annotation karpenter.sh/do-not-disrupt
			0s event typo InvalidDoNotDisruptAnnotation: Annotation karpenter.sh/do-not-disrupt="yes" is ignored: use "true" or a positive duration such as 30m
			0s event node-1 FailedDraining: Failed to drain node, 1 of 2 remaining pods cannot be evicted: default/job (annotation karpenter.sh/do-not-disrupt). Fix: relax them, or set terminationGracePeriod in the NodePool to bound drains of future nodes
			5s gone typo
			5s event node-1 FailedDraining: Failed to drain node, 1 of 1 remaining pods cannot be evicted: default/job (annotation karpenter.sh/do-not-disrupt). Fix: relax them, or set terminationGracePeriod in the NodePool to bound drains of future nodes
			2m0s evicted job
			2m0s event job Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			2m0s event job DoNotDisruptGracePeriodElapsed: Annotation karpenter.sh/do-not-disrupt expired at 2026-01-01T10:02:00Z; the pod may be evicted
			2m5s gone job
			2m5s instance ending
			2m15.125s node gone`,
	},
	{
		name:    "a pod that its kubelet never stops is waited for a minute",
		objects: []client.Object{leavingNode(), leavingClaim(), pod("web")},
		setUp:   func(w *world) { w.hung["web"] = true },
		want: `
			0s evicted web
			0s event web Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			1m5s instance ending
			1m15.125s node gone`,
	},
	{
		name: "volumes are waited for, but not those of a pod that stays",
		objects: []client.Object{leavingNode(), leavingClaim(), pod("agent", tolerant, mounts("cache")),
			volumeClaim("cache", "pv-cache"), attachment("a-cache", "pv-cache"), attachment("a-data", "pv-data")},
		setUp: func(w *world) { w.detach["a-data"] = epoch.Add(30 * time.Second) },
		want: `
			0s event node-1 AwaitingVolumeDetachment: Waiting for detachment of PersistentVolumes pv-data
			30s detached a-data
			30s instance ending
			40.125s node gone`,
	},
	{
		name:    "volumes are given up at the deadline",
		objects: []client.Object{leavingNode(), leavingClaim(deadline(time.Minute)), attachment("a-data", "pv-data")},
		want: `
			0s event node-1 TerminationGracePeriodExpiring: All pods will be deleted by 2026-01-01T10:01:00Z (termination deadline of the NodeClaim): PodDisruptionBudgets and do-not-disrupt do not delay it
			0s event node-1 AwaitingVolumeDetachment: Waiting for detachment of PersistentVolumes pv-data
			1m0s instance ending
			1m10.125s node gone`,
	},
	{
		name:    "a node that does not answer and whose instance is gone goes at once, pods or not",
		objects: []client.Object{leavingNode(unready), leavingClaim(), pod("web")},
		setUp:   func(w *world) { w.lost = true },
		want:    `0s node gone`,
	},
	{
		name:    "a node that does not answer but whose instance is there is drained",
		objects: []client.Object{leavingNode(unready), leavingClaim(), pod("web")},
		want: `
			0s evicted web
			0s event web Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			5s gone web
			5s instance ending
			15.125s node gone`,
	},
	{
		name:    "a node that does not answer is drained also while the cloud does not answer",
		objects: []client.Object{leavingNode(unready), leavingClaim(), pod("web")},
		setUp:   func(w *world) { w.silent = true },
		want: `
			0s evicted web
			0s event web Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			5s gone web
			5s instance ending
			15.125s node gone`,
	},
	{
		name:    "a node without a claim is drained, and its instance ended all the same",
		objects: []client.Object{leavingNode(), pod("web")},
		want: `
			0s evicted web
			0s event web Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			5s gone web
			5s instance ending
			16.25s node gone`,
	},
	{
		name: "two claims of one instance count as none",
		objects: []client.Object{leavingNode(), leavingClaim(), leavingClaim(func(c *apiv1.NodeClaim) {
			c.Name, c.UID, c.DeletionTimestamp, c.Finalizers = "claim-2", "claim-2", nil, nil
		})},
		setUp: func(w *world) { w.endsAfter = 0 },
		want: `
			0s instance ending
			0s node gone`,
	},
	{
		name:    "a node that never had an instance only has to be drained",
		objects: []client.Object{leavingNode(func(n *corev1.Node) { n.Spec.ProviderID = "" }), pod("web")},
		want: `
			0s evicted web
			0s event web Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)
			5s gone web
			5s node gone`,
	},
	{
		name: "the reason of the disruption is told to the pods",
		objects: []client.Object{leavingNode(), pod("web"), leavingClaim(func(c *apiv1.NodeClaim) {
			condition.SetTrueWithReason(c, apiv1.ConditionTypeDisruptionReason, "Underutilized", "", epoch)
		})},
		span: time.Second,
		want: `
			0s evicted web
			0s event web Evicted: Evicted pod: Underutilized (node node-1 is being drained)`,
	},
	{
		name: "the reason of a disruption that was cancelled is not told",
		objects: []client.Object{leavingNode(), pod("web"), leavingClaim(func(c *apiv1.NodeClaim) {
			condition.SetFalse(c, apiv1.ConditionTypeDisruptionReason, "Underutilized", "", epoch)
		})},
		span: time.Second,
		want: `
			0s evicted web
			0s event web Evicted: Evicted pod: Forceful Termination (node node-1 is being drained)`,
	},
}

func TestStories(t *testing.T) {
	for _, tt := range stories {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.objects...)
			if tt.setUp != nil {
				tt.setUp(w)
			}
			w.run(cmp.Or(tt.span, time.Hour))
			want := strings.Split(strings.TrimSpace(strings.ReplaceAll(tt.want, "\t", "")), "\n")
			if diff := gocmp.Diff(want, w.story); diff != "" {
				t.Errorf("story (-want +got):\n%s", diff)
			}
		})
	}
}
