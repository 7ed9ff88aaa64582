package kubeapi

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestGracefulDeletion(t *testing.T) {
	for _, tt := range []struct {
		name, node string
		phase      corev1.PodPhase
		option     *int64
		finalizer  bool
		want       int64 // seconds until the deletion timestamp, -1 if the pod is removed at once
	}{
		{name: "without a node", want: -1},
		{name: "default", node: "n", phase: corev1.PodRunning, want: 30},
		{name: "option", node: "n", phase: corev1.PodRunning, option: ptr(int64(5)), want: 5},
		{name: "negative option", node: "n", phase: corev1.PodRunning, option: ptr(int64(-5)), want: 1},
		{name: "forced", node: "n", phase: corev1.PodRunning, option: ptr(int64(0)), want: -1},
		{name: "ended", node: "n", phase: corev1.PodSucceeded, want: -1},
		{name: "ended with a finalizer", node: "n", phase: corev1.PodFailed, finalizer: true, want: 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			p := pod("a", tt.node, nil)
			p.Status.Phase = tt.phase
			if tt.finalizer {
				p.Finalizers = []string{"x/y"}
			}
			f.create(p)
			var options []client.DeleteOption
			if tt.option != nil {
				options = append(options, client.GracePeriodSeconds(*tt.option))
			}
			f.must(f.client.Delete(t.Context(), p, options...))
			exists := f.reload(p)
			if exists != (tt.want >= 0) {
				t.Fatalf("exists is %v", exists)
			}
			if exists && (*p.DeletionGracePeriodSeconds != tt.want || !p.DeletionTimestamp.Time.Equal(f.now.Add(time.Duration(tt.want)*time.Second))) {
				t.Errorf("the grace period is %d and ends at %s", *p.DeletionGracePeriodSeconds, p.DeletionTimestamp)
			}
		})
	}
}

// A grace period may be shortened. It counts from the first deletion.
func TestGracePeriodIsShortened(t *testing.T) {
	f := newFixture(t)
	p := pod("a", "n", nil)
	f.create(p)
	begin := f.now
	f.must(f.client.Delete(t.Context(), p))
	f.now = f.now.Add(4 * time.Second)
	for grace, want := range map[int64]int64{60: 30, 30: 30} {
		f.must(f.client.Delete(t.Context(), p, client.GracePeriodSeconds(grace)))
		if f.reload(p); *p.DeletionGracePeriodSeconds != want {
			t.Errorf("after a deletion with %d s, the grace period is %d s", grace, *p.DeletionGracePeriodSeconds)
		}
	}
	f.must(f.client.Delete(t.Context(), p, client.GracePeriodSeconds(10)))
	if f.reload(p); *p.DeletionGracePeriodSeconds != 10 || !p.DeletionTimestamp.Time.Equal(begin.Add(10*time.Second)) {
		t.Errorf("the grace period is %d s and ends at %s", *p.DeletionGracePeriodSeconds, p.DeletionTimestamp)
	}
	f.must(f.client.Delete(t.Context(), p, client.GracePeriodSeconds(0)))
	if f.reload(p) {
		t.Error("the pod exists after a forced deletion")
	}
}

func TestBinding(t *testing.T) {
	f := newFixture(t)
	p := pod("a", "", nil)
	f.create(p)
	bind := func(node string) error {
		return f.client.SubResource("binding").Create(t.Context(), p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})
	}
	f.must(bind("n1"))
	if err := bind("n2"); !apierrors.IsConflict(err) {
		t.Errorf("a second binding: %v", err)
	}
	f.reload(p)
	if p.Spec.NodeName != "n1" || len(p.Status.Conditions) != 1 || p.Status.Conditions[0].Type != corev1.PodScheduled {
		t.Errorf("the pod is on %q with %v", p.Spec.NodeName, p.Status.Conditions)
	}
}

// budget returns a PodDisruptionBudget for pods of an app, with a status.
func budget(name, app string, allowed, healthy, desired int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status: policyv1.PodDisruptionBudgetStatus{
			DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: desired, ObservedGeneration: 1,
		},
	}
}

func TestEviction(t *testing.T) {
	always := policyv1.AlwaysAllow
	for _, tt := range []struct {
		name    string
		pod     func(*corev1.Pod)
		budgets []*policyv1.PodDisruptionBudget
		change  func(*policyv1.PodDisruptionBudget)
		dryRun  bool
		is      func(error) bool // nil if the eviction is allowed
		charged bool
	}{
		{name: "without a budget"},
		{name: "of another app", budgets: []*policyv1.PodDisruptionBudget{budget("b", "other", 0, 1, 1)}},
		{name: "allowed", budgets: []*policyv1.PodDisruptionBudget{budget("b", "x", 1, 2, 1)}, charged: true},
		{name: "refused", budgets: []*policyv1.PodDisruptionBudget{budget("b", "x", 0, 1, 1)}, is: apierrors.IsTooManyRequests},
		{name: "status is stale", budgets: []*policyv1.PodDisruptionBudget{budget("b", "x", 1, 2, 1)},
			change: func(b *policyv1.PodDisruptionBudget) { b.Status.ObservedGeneration = 0 }, is: apierrors.IsTooManyRequests},
		{name: "two budgets", budgets: []*policyv1.PodDisruptionBudget{budget("b", "x", 1, 2, 1), budget("c", "x", 1, 2, 1)}, is: apierrors.IsInternalError},
		{name: "pending pod", pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending },
			budgets: []*policyv1.PodDisruptionBudget{budget("b", "x", 0, 1, 1)}},
		{name: "unhealthy pod of a healthy app", pod: notReady, budgets: []*policyv1.PodDisruptionBudget{budget("b", "x", 0, 1, 1)}},
		{name: "unhealthy pod of an unhealthy app", pod: notReady, budgets: []*policyv1.PodDisruptionBudget{budget("b", "x", 0, 1, 2)}, is: apierrors.IsTooManyRequests},
		{name: "unhealthy pods are always allowed", pod: notReady, budgets: []*policyv1.PodDisruptionBudget{budget("b", "x", 0, 1, 2)},
			change: func(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = &always }},
		{name: "dry run", budgets: []*policyv1.PodDisruptionBudget{budget("b", "x", 1, 2, 1)}, dryRun: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			p := pod("a", "n", map[string]string{"app": "x"})
			if tt.pod != nil {
				tt.pod(p)
			}
			f.create(p)
			for _, b := range tt.budgets {
				if tt.change != nil {
					tt.change(b)
				}
				f.create(b)
			}
			eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}}}
			if tt.dryRun {
				eviction.DeleteOptions.DryRun = []string{metav1.DryRunAll}
			}
			err := f.client.SubResource("eviction").Create(t.Context(), p, eviction)
			if tt.is == nil && err != nil || tt.is != nil && !tt.is(err) {
				t.Fatalf("eviction: %v", err)
			}
			if f.reload(p); (p.DeletionTimestamp != nil) != (err == nil && !tt.dryRun) {
				t.Errorf("the deletion timestamp is %v", p.DeletionTimestamp)
			}
			for _, b := range tt.budgets {
				allowed := b.Status.DisruptionsAllowed
				f.reload(b)
				if _, listed := b.Status.DisruptedPods[p.Name]; listed != tt.charged || (b.Status.DisruptionsAllowed == allowed-1) != tt.charged {
					t.Errorf("the budget has %+v", b.Status)
				}
			}
			if apierrors.IsTooManyRequests(err) && !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
				t.Error("the refusal does not name the budget as its cause")
			}
			if apierrors.IsInternalError(err) && !strings.Contains(err.Error(), "more than one PodDisruptionBudget") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func notReady(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func TestEvictionOfAnotherPod(t *testing.T) {
	f := newFixture(t)
	p := pod("a", "n", nil)
	f.create(p)
	other := types.UID("other")
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}}
	if err := f.client.SubResource("eviction").Create(t.Context(), p, eviction); !apierrors.IsConflict(err) {
		t.Errorf("eviction: %v", err)
	}
	if err := f.client.SubResource("eviction").Create(t.Context(), pod("b", "n", nil), &policyv1.Eviction{}); !apierrors.IsNotFound(err) {
		t.Errorf("eviction of a pod that does not exist: %v", err)
	}
}
