package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// lively returns a change of a pool: consolidateAfter is zero, and the pool has the given budgets.
func lively(budgets ...apiv1.Budget) func(*apiv1.NodePool) {
	return func(p *apiv1.NodePool) {
		p.Spec.Disruption = apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: budgets,
		}
	}
}

// change updates a pool.
func (s *scene) change(name string, change func(*apiv1.NodePool)) {
	s.t.Helper()
	pool := &apiv1.NodePool{}
	if err := s.Get(s.t.Context(), client.ObjectKey{Name: name}, pool); err != nil {
		s.t.Fatal(err)
	}
	before := pool.DeepCopy()
	change(pool)
	if err := s.Patch(s.t.Context(), pool, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// resize sets the replicas of a Deployment.
func (s *scene) resize(name string, replicas int) {
	s.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := s.Patch(s.t.Context(), d, patch); err != nil {
		s.t.Fatal(err)
	}
}

// spare creates a PodDisruptionBudget that allows one pod of a Deployment to be missing.
func (s *scene) spare(deployment string) {
	s.t.Helper()
	s.put(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: deployment, Namespace: s.name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": deployment}},
		},
	})
}

// running returns the number of pods of a Deployment that run and are not terminating.
func (s *scene) running(deployment string) int {
	s.t.Helper()
	var pods corev1.PodList
	s.list(&pods, client.InNamespace(s.name), client.MatchingLabels{"app": deployment})
	n := 0
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n
}

// instancesOf returns the instance types of a pool's claims, sorted.
func (s *scene) instancesOf(pool string) []string {
	s.t.Helper()
	var types []string
	for _, c := range s.claims() {
		if c.Labels[apiv1.NodePoolLabelKey] == pool {
			types = append(types, c.Labels[corev1.LabelInstanceTypeStable])
		}
	}
	slices.Sort(types)
	return types
}

// After a scale-in, the remaining pods move to fewer, cheaper nodes. Their PodDisruptionBudget is respected all the time.
func TestScaleInGetsCheaper(t *testing.T) {
	t.Parallel()
	const few = 3
	s := newScene(t, "scalein")
	s.class()
	s.pool("scalein", needs{typesOf("m6i.xlarge", "m6i.2xlarge")})
	s.deploy("web", 9, "900m")
	s.awaitRunning("web", 9)
	before := s.instancesOf("scalein")
	s.resize("web", few)
	s.awaitRunning("web", few)
	s.spare("web")
	s.change("scalein", lively(apiv1.Budget{Nodes: "100%"}))
	s.change("scalein", func(p *apiv1.NodePool) { // the pool now allows more types, so no node drifts
		p.Spec.Template.Spec.Requirements[0] = typesOf("m6i.large", "m6i.xlarge", "m6i.2xlarge")
	})
	// Three pods of 900m need two m6i.large or one m6i.xlarge, which cost the same.
	s.poll(func() string {
		if n := s.running("web"); n < few-1 {
			t.Fatalf("%d pods run, the disruption budget wants %d", n, few-1)
		}
		now := s.instancesOf("scalein")
		if slices.Equal(now, []string{"m6i.xlarge"}) || slices.Equal(now, []string{"m6i.large", "m6i.large"}) {
			return ""
		}
		return fmt.Sprintf("the claims are %v, were %v", now, before)
	})
	s.awaitRunning("web", few)
}

// A change of the template replaces every node, one at a time because of the budget. The PodDisruptionBudget of the pods is
// respected.
func TestDriftRollsWithinBudget(t *testing.T) {
	t.Parallel()
	s := newScene(t, "drift")
	s.class()
	s.rolls("NodePoolDrifted", func() {
		s.change("drift", func(p *apiv1.NodePool) {
			p.Spec.Template.Annotations = map[string]string{"example.com/generation": "2"}
		})
	})
}

// A new image also replaces every node, and the new nodes have that image.
func TestDriftOfImageRollsWithinBudget(t *testing.T) {
	t.Parallel()
	s := newScene(t, "image")
	class := nodeClass(s.name)
	class.Spec.AMISelectorTerms[0].Alias = "al2023@v20260820"
	s.put(class)
	images := map[string]bool{}
	s.rolls("AMIDrift", func() {
		for _, c := range s.claims() {
			images[c.Status.ImageID] = true
		}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"amiSelectorTerms":[{"alias":"al2023@v20261029"}]}}`))
		if err := s.Patch(t.Context(), class, patch); err != nil {
			t.Fatal(err)
		}
	})
	for _, c := range s.claims() {
		if c.Status.ImageID == "" || images[c.Status.ImageID] {
			t.Errorf("claim %s has image %q, the old ones had %v", c.Name, c.Status.ImageID, images)
		}
	}
}

// rolls creates three nodes, calls change, after which they drift for the reason, and waits until all of them have been
// replaced, one at a time.
func (s *scene) rolls(reason string, change func()) {
	s.t.Helper()
	s.pool(s.name, needs{typesOf("m6i.large")}, func(p *apiv1.NodePool) {
		p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "1"}}
	})
	s.deploy("web", 3, "1500m")
	s.awaitRunning("web", 3)
	s.spare("web")
	old := map[string]bool{}
	for _, c := range s.settled(3) {
		old[c.Name] = true
	}
	change()
	said := ""
	s.poll(func() string {
		if n := s.running("web"); n < 2 {
			s.t.Fatalf("%d pods run, the disruption budget wants 2", n)
		}
		going, left := 0, 0
		for _, c := range s.claims() {
			if !old[c.Name] {
				continue
			}
			left++
			if d := condition.Get(&c, apiv1.ConditionTypeDrifted); d != nil && d.Status == metav1.ConditionTrue {
				said = d.Reason
			}
			if condition.IsTrue(&c, apiv1.ConditionTypeInstanceTerminating) {
				continue // drained, and no longer a node of the pool
			}
			if condition.IsTrue(&c, apiv1.ConditionTypeDisruptionReason) || !c.DeletionTimestamp.IsZero() {
				going++
			}
		}
		if going > 1 {
			s.t.Fatalf("%d nodes go at a time, the budget allows 1", going)
		}
		if left > 0 {
			return fmt.Sprintf("%d old claims are left", left)
		}
		return ""
	})
	if said != reason {
		s.t.Errorf("the claims have drifted for %q, want %q", said, reason)
	}
	s.awaitRunning("web", 3)
}

// A node that expires is replaced before it is drained, and it is gone soon after its expiry.
func TestExpiryReplacesFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t, "expiry")
	s.class()
	s.pool("expiry", needs{typesOf("m6i.large")})
	s.deploy("web", 1, "1")
	s.awaitRunning("web", 1)
	s.change("expiry", func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.ExpireAfter = apiv1.MustParseNillableDuration("80s")
	})
	s.deploy("api", 1, "1500m")
	s.awaitRunning("api", 1)
	var expires apiv1.NodeClaim
	for _, c := range s.settled(2) {
		if c.Spec.ExpireAfter.Duration != nil && *c.Spec.ExpireAfter.Duration == 80*time.Second {
			expires = c
		}
	}
	if expires.Name == "" {
		t.Fatal("no claim expires")
	}
	var successor string
	s.poll(func() string {
		gone := true
		for _, c := range s.claims() {
			if c.Name == expires.Name {
				gone = !c.DeletionTimestamp.IsZero()
			}
			if slices.Contains(strings.Split(c.Annotations[apiv1.ReplacesAnnotationKey], ","), expires.Name) {
				successor = c.Name
			}
		}
		switch {
		case gone && successor == "":
			t.Fatal("the expired claim went before anything came in its place")
		case !gone:
			return "claim " + expires.Name + " is still there"
		}
		return ""
	})
	s.awaitRunning("api", 1)
	s.change("expiry", func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.ExpireAfter = apiv1.NillableDuration{}
	})
}

// A budget of 0 with an active schedule keeps even an empty node, with an event on the pool. Without the budget, the node is
// deleted.
func TestScheduledBudgetOfNothingBlocks(t *testing.T) {
	t.Parallel()
	s := newScene(t, "frozen")
	s.class()
	schedule, always := "0 0 * * *", &apiv1.Duration{Duration: 24 * time.Hour}
	s.pool("frozen", needs{typesOf("m6i.large")},
		lively(apiv1.Budget{Nodes: "100%"}, apiv1.Budget{Nodes: "0", Schedule: &schedule, Duration: always}))
	s.deploy("web", 1, "1")
	s.awaitRunning("web", 1)
	s.settled(1)
	s.resize("web", 0)
	s.awaitEvent(about{kind: "NodePool", prefix: "frozen", reason: "DisruptionBlocked"}, "0")
	for _, c := range s.settled(1) {
		if condition.IsTrue(&c, apiv1.ConditionTypeDisruptionReason) {
			t.Error("the node is marked to go against its budget")
		}
	}
	s.change("frozen", lively(apiv1.Budget{Nodes: "100%"}))
	s.awaitNothing()
}

// A drifted node is kept while one of its pods has do-not-disrupt, with an event on the node.
func TestDoNotDisruptHolds(t *testing.T) {
	t.Parallel()
	s := newScene(t, "held")
	s.class()
	s.pool("held", needs{typesOf("m6i.large")}, func(p *apiv1.NodePool) {
		p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
	})
	s.deploy("web", 1, "1")
	pod := s.awaitRunning("web", 1)[0]
	patch := client.RawPatch("application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, apiv1.DoNotDisruptAnnotationKey))
	if err := s.Patch(t.Context(), &pod, patch); err != nil {
		t.Fatal(err)
	}
	claim := s.settled(1)[0]
	s.change("held", func(p *apiv1.NodePool) {
		p.Spec.Template.Annotations = map[string]string{"example.com/generation": "2"}
	})
	s.awaitEvent(about{kind: "Node", prefix: claim.Status.NodeName, reason: "DisruptionBlocked"}, pod.Name)
	if now := s.awaitRunning("web", 1)[0]; now.UID != pod.UID {
		t.Errorf("pod %s was moved", pod.Name)
	}
	patch = client.RawPatch("application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, apiv1.DoNotDisruptAnnotationKey))
	if err := s.Patch(t.Context(), &pod, patch); err != nil {
		t.Fatal(err)
	}
	s.replaced(&claim, "web", 1)
}
