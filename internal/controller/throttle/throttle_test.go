package throttle

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// epoch is the time at which tests begin.
var epoch = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func TestLimitsWith(t *testing.T) {
	settings := Limits{PauseDisruption: true, MaxLaunches: 10, MaxDisruptions: 5}
	for _, tt := range []struct {
		name string
		data map[string]string
		want Limits
		errs int
	}{
		{"nothing", nil, settings, 0},
		{"a pause is lifted", map[string]string{KeyPauseDisruption: "false"}, Limits{MaxLaunches: 10, MaxDisruptions: 5}, 0},
		{"bounds", map[string]string{KeyMaxLaunches: "0", KeyMaxReplacements: " 3\n", KeyMaxDisruptions: "1"},
			Limits{PauseDisruption: true, MaxReplacements: 3, MaxDisruptions: 1}, 0},
		{"a pause that cannot be read is one", map[string]string{KeyPauseLaunches: "yes please"},
			Limits{PauseLaunches: true, PauseDisruption: true, MaxLaunches: 10, MaxDisruptions: 5}, 1},
		{"bounds that cannot be read change nothing", map[string]string{KeyMaxLaunches: "many", KeyMaxDisruptions: "-1", "pause": "true"},
			settings, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := settings.With(tt.data)
			var all interface{ Unwrap() []error }
			n := 0
			if errors.As(err, &all) {
				n = len(all.Unwrap())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || n != tt.errs {
				t.Errorf("errors %v, want %d; limits (-want +got):\n%s", err, tt.errs, diff)
			}
		})
	}
}

// In no minute are more actions allowed than the bound, whatever the times of the calls.
func TestTallyKeepsItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(1, 5).Draw(t, "bound")
		var tally Tally
		var done []time.Time
		now := epoch
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "seconds")) * time.Second)
			left, bounded := tally.Left(bound, now)
			n := min(left, rapid.IntRange(0, 5).Draw(t, "wanted"))
			tally.Add(n, now)
			for range n {
				done = append(done, now)
			}
			within := 0
			for _, at := range done {
				if now.Sub(at) < time.Minute {
					within++
				}
			}
			if within > bound || !bounded {
				t.Fatalf("%d within a minute, the bound is %d", within, bound)
			}
		}
	})
}

// Actions that belong together and exceed the bound are allowed after a minute without actions.
func TestTallyAllowsWhatIsTooMuchAlone(t *testing.T) {
	var tally Tally
	if tally.Add(1, epoch); tally.Allows(3, 2, epoch) {
		t.Error("three more are allowed beside one, two are the bound")
	}
	if !tally.Allows(3, 2, epoch.Add(time.Minute)) {
		t.Error("three that belong together are never allowed")
	}
	if !tally.Allows(100, 0, epoch) {
		t.Error("a bound of 0 bounds")
	}
}

// A shelf is a client that returns the ConfigMap, or err if err is not nil.
type shelf struct {
	client.Client
	err error
}

func newThrottle(t *testing.T) (*Throttle, *shelf) {
	s := &shelf{}
	s.Client = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if s.err != nil {
				return s.err
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	return &Throttle{
		Settings: Limits{MaxLaunches: 7}, Reader: s, Namespace: "karpenter",
		Metrics: telemetry.NewMetrics(prometheus.NewRegistry(), nil),
	}, s
}

func (s *shelf) put(t *testing.T, data map[string]string) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: MapName}, Data: data}
	if err := client.IgnoreNotFound(s.Delete(t.Context(), m.DeepCopy())); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func (b *Throttle) read(t *testing.T) {
	t.Helper()
	if r, err := b.Reconcile(t.Context(), ctrl.Request{}); err != nil || r.RequeueAfter != every {
		t.Fatalf("%v, %v", r, err)
	}
}

// The ConfigMap has effect from its first read until it is deleted, without a restart. Each change calls Wake.
func TestConfigMapCountsAtOnce(t *testing.T) {
	b, s := newThrottle(t)
	woken := 0
	b.Wake = func() { woken++ }
	if _, bounded := b.Left(Launch, epoch); !bounded || !b.Limits().PauseDisruption || b.Known() {
		t.Error("something is done before it is known whether it may be")
	}
	b.read(t)
	if n, _ := b.Left(Launch, epoch); n != 7 || woken != 1 || !b.Known() {
		t.Errorf("%d launches are left, want the 7 of the settings; woken %d times", n, woken)
	}
	s.put(t, map[string]string{KeyPauseLaunches: "true"})
	b.read(t)
	b.read(t)
	if n, bounded := b.Left(Launch, epoch); n != 0 || !bounded || b.Allows(Replace, 1, epoch) || !b.Allows(Disrupt, 1, epoch) {
		t.Error("launches are paused, and not held back, or something else is")
	}
	if got := testutil.ToFloat64(b.Metrics.Throttle.Paused.WithLabelValues("launches")); got != 1 || woken != 2 {
		t.Errorf("paused is %v, woken %d times", got, woken)
	}
	if err := s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: MapName}}); err != nil {
		t.Fatal(err)
	}
	b.read(t)
	if n, _ := b.Left(Launch, epoch); n != 7 {
		t.Errorf("%d launches are left once the ConfigMap is gone, want 7", n)
	}
}

// While reads of the ConfigMap fail, the last limits stay in effect, also if the permission to read it was removed. If Karpenter
// may not read it from the start, it has no effect.
func TestConfigMapThatCannotBeRead(t *testing.T) {
	b, s := newThrottle(t)
	s.put(t, map[string]string{KeyPauseDisruption: "true"})
	b.read(t)
	s.err = errors.New("the server is busy")
	if _, err := b.Reconcile(t.Context(), ctrl.Request{}); err == nil || !b.Limits().PauseDisruption {
		t.Errorf("error %v, limits %+v", err, b.Limits())
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, MapName, errors.New("no"))
	s.err = forbidden
	b.read(t)
	b.read(t)
	if !b.Limits().PauseDisruption {
		t.Errorf("limits are %+v, want the pause of the last read", b.Limits())
	}
	s.err = nil
	s.put(t, nil)
	b.read(t)
	s.err = forbidden
	b.read(t)
	if got := b.Limits(); got != b.Settings {
		t.Errorf("limits are %+v, want those of the last read, which lifted the pause", got)
	}
	fresh, s := newThrottle(t)
	s.err = forbidden
	fresh.read(t)
	fresh.read(t)
	if got := fresh.Limits(); got != fresh.Settings {
		t.Errorf("limits are %+v, want those of the settings", got)
	}
	s.err = nil
	s.put(t, map[string]string{KeyPauseDisruption: "true"})
	fresh.read(t)
	if !fresh.Limits().PauseDisruption {
		t.Error("the ConfigMap has no effect after the permission was given")
	}
}

// A nil Throttle has no limits.
func TestNoThrottle(t *testing.T) {
	var b *Throttle
	b.Done(Launch, 100, epoch)
	if _, bounded := b.Left(Launch, epoch); bounded || !b.Allows(Replace, 100, epoch) || b.Limits() != (Limits{}) {
		t.Error("no throttle holds something back")
	}
}
