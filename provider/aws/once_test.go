package aws_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// storeClaims stores n claims and returns their names.
func (w *world) storeClaims(t *testing.T, n int) []string {
	t.Helper()
	w.clock = patientClock{} // claims that are created at once join one call, however busy the machine is
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("claim-%d", i)
		w.store(t, w.claim(names[i]))
	}
	return names
}

// crash launches the claims with a provider whose process ends when CreateFleet hangs and the given number of instances
// is alive.
func (w *world) crash(t *testing.T, names []string, hang control.Hang, alive int) {
	t.Helper()
	p := w.start(t)
	hang.Op, hang.For = "CreateFleet", forever
	w.order(t, w.control.Hang(t.Context(), hang))
	ctx, die := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, name := range names {
		claim := w.load(t, name)
		wg.Go(func() {
			if i, err := p.Create(ctx, claim); err == nil {
				t.Errorf("create %s: got %s from a call that hangs", name, i.ProviderID)
			}
		})
	}
	limit, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for len(w.calls(t, "CreateFleet")) == 0 || len(w.alive(t)) < alive {
		if limit.Err() != nil {
			t.Fatalf("%d instances after %d calls, waited for %d", len(w.alive(t)), len(w.calls(t, "CreateFleet")), alive)
		}
	}
	die()
	wg.Wait()
	w.stop()
	// A hanging call that is released before EC2 notices the end of its caller would be carried out after all.
	for slices.ContainsFunc(w.calls(t, "CreateFleet"), func(c control.Call) bool { return c.Status == 0 }) {
		if limit.Err() != nil {
			t.Fatal("EC2 does not see that the caller has died")
		}
	}
}

// createAll calls Create for all claims at once and returns the results by name.
func (w *world) createAll(t *testing.T, p cloud.Provider, names []string) (map[string]*cloud.Instance, map[string]error) {
	t.Helper()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex // guards got and errs
		got  = map[string]*cloud.Instance{}
		errs = map[string]error{}
	)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, name := range names {
		claim := w.load(t, name)
		wg.Go(func() {
			i, err := p.Create(ctx, claim)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs[name] = err
			} else {
				got[name] = i
			}
		})
	}
	wg.Wait()
	return got, errs
}

// order ends the test if err is not nil.
func (w *world) order(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// retag changes the launch request: the class's tags are set on its instances.
func (w *world) retag(t *testing.T) {
	t.Helper()
	var class awsv1.EC2NodeClass
	w.order(t, w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &class))
	class.Spec.Tags = map[string]string{"team": "another"}
	w.order(t, w.kube.Update(t.Context(), &class))
}

// waits reports whether err means that the outcome of an earlier launch is unknown.
func waits(err error) bool {
	var failed *cloud.LaunchError
	return errors.As(err, &failed) && failed.Reason == "LaunchOutcomeUnknown"
}

// distinct returns the number of different instances.
func distinct(got map[string]*cloud.Instance) int {
	ids := map[string]bool{}
	for _, i := range got {
		ids[i.ProviderID] = true
	}
	return len(ids)
}

// wantAlive checks the number of instances that are not shutting down.
func (w *world) wantAlive(t *testing.T, want int) {
	t.Helper()
	if got := len(w.alive(t)); got != want {
		t.Errorf("%d instances are alive, want %d", got, want)
	}
}

// If EC2 does not list the instances of a call, the call is repeated unchanged, even for claims that have the labels of
// their instance already. EC2 returns the same instances.
func TestUnseenLaunchIsRepeated(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 6)
	w.crash(t, names, control.Hang{After: true}, len(names))
	first, errs := w.createAll(t, w.startBlind(t), names)
	if len(errs) != 0 {
		t.Fatalf("create after one crash: %v", errs)
	}
	for _, name := range names[:3] { // another crash, after the labels and before the status of the claims was written
		claim := w.load(t, name)
		before := claim.DeepCopy()
		maps.Copy(claim.Labels, first[name].Labels)
		w.order(t, w.kube.Patch(t.Context(), claim, client.MergeFrom(before)))
	}
	second, errs := w.createAll(t, w.startBlind(t), names)
	if len(errs) != 0 {
		t.Fatalf("create after two crashes: %v", errs)
	}
	for _, name := range names {
		if first[name].ProviderID != second[name].ProviderID {
			t.Errorf("%s got %s, later %s", name, first[name].ProviderID, second[name].ProviderID)
		}
	}
	w.wantAlive(t, len(names))
}

// The call was made, EC2 does not list its instances, and the parameters have changed since. No other instances are
// launched. When EC2 lists the instances, they are adopted.
func TestUnseenLaunchIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 4)
	w.crash(t, names, control.Hang{After: true}, len(names))
	w.retag(t)
	p := w.startBlind(t)
	got, errs := w.createAll(t, p, names)
	for _, name := range names {
		if !waits(errs[name]) {
			t.Errorf("create %s gave %v, %v; want it to wait", name, got[name], errs[name])
		}
	}
	w.wantAlive(t, len(names))
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	if got, errs = w.createAll(t, p, names); distinct(got) != len(names) {
		t.Errorf("%d claims got %d instances, errors %v", len(names), distinct(got), errs)
	}
	w.wantAlive(t, len(names))
}

// The call was never made, and the parameters have changed since. After the time in which EC2 would have listed its
// instances, another attempt is made.
func TestLaunchThatNeverWasIsReplaced(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 4)
	w.crash(t, names, control.Hang{}, 0)
	w.wantAlive(t, 0)
	w.retag(t)
	_, errs := w.createAll(t, w.start(t), names[:1])
	if !waits(errs[names[0]]) {
		t.Errorf("create gave %v, want it to wait", errs[names[0]])
	}
	got, errs := w.createAll(t, w.startLate(t), names)
	if distinct(got) != len(names) {
		t.Errorf("%d claims got %d instances, errors %v", len(names), distinct(got), errs)
	}
	w.wantAlive(t, len(names))
	for _, i := range w.alive(t) {
		if i.Tags["team"] != "another" {
			t.Errorf("instance %s is of team %q, want what the class asks for now", i.ID, i.Tags["team"])
		}
	}
}

// A fleet launched fewer instances than requested, and its response was lost. Its instances are assigned to claims. The
// other claims wait. They are launched again when EC2 would have listed any further instances of the fleet.
func TestShortFleetIsSharedOut(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 5)
	w.order(t, w.control.SetCapacity(t.Context(), control.Capacity{})) // no capacity except for the following
	w.order(t, w.control.SetCapacity(t.Context(), control.Capacity{
		Pool: control.Pool{Type: "m5.large", Zone: "us-east-1a", Capacity: "spot"}, Limit: 3,
	}))
	w.crash(t, names, control.Hang{After: true}, 3)
	got, errs := w.createAll(t, w.start(t), names)
	if distinct(got) != 3 || len(errs) != 2 {
		t.Fatalf("%d instances and errors %v, want 3 and 2", distinct(got), errs)
	}
	for name, err := range errs {
		if !waits(err) {
			t.Errorf("create %s: %v, want it to wait", name, err)
		}
	}
	for name, i := range got {
		w.launched(t, name, i)
	}
	w.order(t, w.control.ClearCapacity(t.Context(), control.Pool{}))
	rest := slices.Sorted(maps.Keys(errs))
	if got, errs = w.createAll(t, w.startLate(t), rest); distinct(got) != len(rest) {
		t.Errorf("%d claims got %d instances, errors %v", len(rest), distinct(got), errs)
	}
	w.wantAlive(t, len(names))
}

// startBlind starts a provider for which EC2 does not list the launched instances.
func (w *world) startBlind(t *testing.T) *aws.Provider {
	t.Helper()
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	p := w.start(t) // its first reconcile of the node class needs the responses of EC2
	w.order(t, w.control.SetLag(t.Context(), control.Lag{For: forever}))
	return p
}

// startLate starts a provider whose clock is an hour ahead.
func (w *world) startLate(t *testing.T) *aws.Provider {
	t.Helper()
	return w.startWith(t, func(c *aws.Config) { c.Clock = lateClock{} })
}

// patientClock makes the windows of batches ten times as long.
type patientClock struct{ clock.RealClock }

func (c patientClock) NewTimer(d time.Duration) clock.Timer { return c.RealClock.NewTimer(10 * d) }
