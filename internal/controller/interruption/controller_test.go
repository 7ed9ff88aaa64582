package interruption

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/interruption"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// provider is a cloud that records which capacity was marked as unavailable.
type provider struct {
	mu          sync.Mutex // guards unavailable: actions are executed concurrently
	unavailable []string
}

func (p *provider) Facts() cloud.Facts {
	return cloud.Facts{NodeClasses: []schema.GroupVersionKind{{Group: "test", Kind: "Class"}}}
}

func (p *provider) MarkUnavailable(claim *apiv1.NodeClaim, capacityType string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unavailable = append(p.unavailable, claim.Name+" "+capacityType)
}

// source delivers one batch or an error, and records the notices whose actions failed.
type source struct {
	notices []cloud.Notice
	err     error
	asked   int // number of calls of Acknowledge
	failed  []string
}

func (*source) Name() string { return "test" }

func (s *source) Receive(context.Context) (cloud.NoticeBatch, error) {
	return cloud.NoticeBatch{Notices: s.notices, Next: time.Minute, Acknowledge: func(_ context.Context, failed []cloud.Notice) error {
		s.asked++
		for _, n := range failed {
			s.failed = append(s.failed, n.Instance)
		}
		return nil
	}}, s.err
}

type silent struct{}

func (silent) Publish(...telemetry.Event) {}

// newController returns a controller with the claims a and b on the instances i-a and i-b, and a claim of another provider on
// i-c. The claim named refused cannot be deleted.
func newController(t *testing.T, s *source, refused string) (*Controller, *provider) {
	t.Helper()
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, name := range []string{"a", "b", "c"} {
		id := "cloud:///zone/i-" + name
		claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{apiv1.TerminationFinalizer}}}
		claim.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "test", Kind: map[string]string{"c": "Other"}[name]}
		if claim.Spec.NodeClassRef.Kind == "" {
			claim.Spec.NodeClassRef.Kind = "Class"
		}
		claim.Status.ProviderID = id
		objects = append(objects, claim, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name}, Spec: corev1.NodeSpec{ProviderID: id}})
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if o.GetName() == refused {
				return errors.New("the API server is away")
			}
			return c.Delete(ctx, o, options...)
		},
	}).Build()
	metrics, p := telemetry.NewMetrics(prometheus.NewRegistry(), nil), &provider{}
	return &Controller{
		Source: s, Cloud: p, Client: kube, Clock: clocktesting.NewFakePassiveClock(now), Events: silent{}, Metrics: metrics,
		Replacements: NewReplacements(kube, metrics.Interruption.ToLaunchSeconds),
	}, p
}

// ended returns the names of the claims that are being deleted.
func ended(t *testing.T, c *Controller) (names []string) {
	t.Helper()
	var list apiv1.NodeClaimList
	if err := c.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for _, claim := range list.Items {
		if !claim.DeletionTimestamp.IsZero() {
			names = append(names, claim.Name)
		}
	}
	return names
}

// If a claim cannot be deleted, the source gets its notice back. Other claims are deleted, except those of other providers.
func TestFailureIsToldToTheSource(t *testing.T) {
	s := &source{}
	for _, id := range []string{"i-a", "i-b", "i-c", "i-d"} {
		s.notices = append(s.notices, cloud.Notice{Kind: model.NoticeSpotInterrupted, Instance: id, Time: now})
	}
	c, p := newController(t, s, "b")
	if next, err := c.Handle(t.Context()); err != nil || next != time.Minute {
		t.Fatalf("next batch in %v, %v", next, err)
	}
	if got := ended(t, c); !slices.Equal(got, []string{"a"}) || s.asked != 1 || !slices.Equal(s.failed, []string{"i-b"}) {
		t.Errorf("ended %v, failed %v of %d batches", got, s.failed, s.asked)
	}
	slices.Sort(p.unavailable)
	if diff := cmp.Diff([]string{"a spot", "b spot"}, p.unavailable); diff != "" {
		t.Errorf("unavailable (-want +got):\n%s", diff)
	}
}

// A claim that cannot be deleted gets no deadline. Otherwise a later disruption of it would end without a drain.
func TestNoDeadlineWithoutDeletion(t *testing.T) {
	s := &source{notices: []cloud.Notice{
		{Kind: model.NoticeInstanceFailed, Instance: "i-a", Time: now}, {Kind: model.NoticeInstanceFailed, Instance: "i-b", Time: now},
	}}
	c, _ := newController(t, s, "a")
	if _, err := c.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "", "b": "2030-01-01T00:00:00Z"} {
		var claim apiv1.NodeClaim
		if err := c.Client.Get(t.Context(), client.ObjectKey{Name: name}, &claim); err != nil {
			t.Fatal(err)
		}
		if at := claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]; at != want || (want == "") != claim.DeletionTimestamp.IsZero() {
			t.Errorf("claim %s: deadline %q, deleted %v, want the deadline %q and that only claims with one are deleted", name, at, claim.DeletionTimestamp, want)
		}
	}
}

// The source gets the notice about an instance that no claim has back while a claim has no instance. As soon as the claim has the
// instance, it is deleted.
func TestNoticeBeforeTheResultOfTheLaunch(t *testing.T) {
	s := &source{notices: []cloud.Notice{{Kind: model.NoticeSpotInterrupted, Instance: "i-d", Time: now}}}
	c, _ := newController(t, s, "")
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "d", Finalizers: []string{apiv1.TerminationFinalizer}}}
	claim.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "test", Kind: "Class"}
	if err := c.Client.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	handle := func() {
		t.Helper()
		s.failed = nil
		if _, err := c.Handle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	handle()
	if got := ended(t, c); len(got) != 0 || !slices.Equal(s.failed, []string{"i-d"}) {
		t.Errorf("ended %v, handled again %v; want the notice again", got, s.failed)
	}
	claim.Status.ProviderID = "cloud:///zone/i-d"
	if err := c.Client.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	handle()
	if got := ended(t, c); !slices.Equal(got, []string{"d"}) || len(s.failed) != 0 {
		t.Errorf("ended %v, handled again %v; want the claim deleted", got, s.failed)
	}
}

// After an error, the source is read again with increasing delay. Each new error is logged once, and so is the first success
// after errors.
func TestSourceFails(t *testing.T) {
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	s := &source{err: errors.New("no queue")}
	c, _ := newController(t, s, "")
	run := func() time.Duration {
		t.Helper()
		result, err := c.Reconcile(ctx, ctrl.Request{})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	if a, b := run(), run(); a != time.Second || b != 2*time.Second || len(lines) != 1 || s.asked != 0 {
		t.Errorf("pauses of %v and %v, %d lines, acknowledged %d times", a, b, len(lines), s.asked)
	}
	for range 10 {
		run()
	}
	if got := run(); got != 10*time.Second {
		t.Errorf("the longest pause is %v", got)
	}
	s.err = nil
	if a, b := run(), run(); a != time.Minute || b != time.Minute || len(lines) != 2 {
		t.Errorf("pauses of %v and %v afterwards, lines %q", a, b, lines)
	}
}

// Every reason of an event of the engine is declared in telemetry.
func TestReasonsAreDeclared(t *testing.T) {
	known := map[string]bool{}
	for _, r := range telemetry.Reasons() {
		known[r.Name] = true
	}
	for _, reason := range []string{
		interruption.ReasonSpotInterrupted, interruption.ReasonRebalance, interruption.ReasonReservationReclaimed,
		interruption.ReasonInstanceStopping, interruption.ReasonInstanceTerminating, interruption.ReasonInstanceUnhealthy,
		interruption.ReasonTerminating,
	} {
		if !known[reason] {
			t.Errorf("%s is not declared in internal/telemetry", reason)
		}
	}
}

// An error that stays is reported when it occurs first and then once an hour, so that it is found in the recent log.
func TestErrorThatStays(t *testing.T) {
	var f failing
	var passed time.Duration
	var reported []time.Duration
	for passed < 2*time.Hour+time.Minute {
		pause, news := f.again(errors.New("denied"))
		if news {
			reported = append(reported, passed.Round(time.Minute))
		}
		passed += pause
	}
	if want := []time.Duration{0, time.Hour, 2 * time.Hour}; !slices.Equal(reported, want) {
		t.Errorf("reported after %v, want %v", reported, want)
	}
	if _, news := f.again(errors.New("timeout")); !news {
		t.Error("another error is not reported")
	}
}
