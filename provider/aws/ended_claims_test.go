package aws_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// hastyClock is a clock whose timers fire at once. So a deletion does not wait for a pending fleet call.
type hastyClock struct{ clock.RealClock }

func (c hastyClock) NewTimer(d time.Duration) clock.Timer {
	if d == 10*time.Second {
		d = time.Millisecond
	}
	return c.RealClock.NewTimer(d)
}

// A deleted claim is omitted from the fleet call. The other claims get the instances of the call.
func TestGoneClaimIsLeftOut(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 4)
	p := w.start(t)
	var claims []*apiv1.NodeClaim
	for _, name := range names {
		claims = append(claims, w.load(t, name))
	}
	w.order(t, w.kube.Delete(t.Context(), w.load(t, names[2])))
	errs := make([]error, len(claims))
	var wg sync.WaitGroup
	for n, claim := range claims {
		wg.Go(func() { _, errs[n] = p.Create(t.Context(), claim) })
	}
	wg.Wait()
	for n, err := range errs {
		if (err != nil) != (n == 2) {
			t.Errorf("create %s: %v", names[n], err)
		}
	}
	w.wantAlive(t, 3)
	if n := len(w.calls(t, "CreateFleet")); n != 1 {
		t.Errorf("%d fleet calls, want 1", n)
	}
}

// hookedLedger calls a function before it records.
type hookedLedger struct {
	ledger
	before func()
}

func (l hookedLedger) Record(
	ctx context.Context, claims []*apiv1.NodeClaim, annotations map[string]string,
) ([]*apiv1.NodeClaim, error) {
	l.before()
	return l.ledger.Record(ctx, claims, annotations)
}

// A launch is cancelled if its claim is deleted before the fleet call is made.
func TestDeletionCallsOffLaunch(t *testing.T) {
	w := newWorld(t)
	w.clock = hastyClock{}
	w.store(t, w.claim("one"))
	var p *aws.Provider
	p = w.startWith(t, func(c *aws.Config) {
		c.Ledger = hookedLedger{ledger{w.kube}, func() {
			if err := p.Delete(t.Context(), w.load(t, "one")); err == nil || errors.Is(err, cloud.ErrNotFound) {
				t.Errorf("delete while the launch is on its way: %v", err)
			}
		}}
	})
	if i, err := p.Create(t.Context(), w.load(t, "one")); err == nil {
		t.Errorf("create gave %s for a claim that is being deleted", i.ProviderID)
	}
	if n := len(w.calls(t, "CreateFleet")); n != 0 {
		t.Errorf("%d fleet calls, want none", n)
	}
	if err := p.Delete(t.Context(), w.load(t, "one")); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("delete after the launch was called off: %v", err)
	}
}

// A claim is not released while its fleet call is pending, although EC2 does not list the instance yet. The instance is
// terminated when EC2 lists it.
func TestDeletionWaitsForFleetCall(t *testing.T) {
	w := newWorld(t)
	w.clock = hastyClock{}
	standalone := w.claim("one")
	delete(standalone.Labels, apiv1.NodePoolLabelKey)
	w.store(t, standalone)
	p := w.start(t)
	w.order(t, w.control.Hang(t.Context(), control.Hang{Op: "CreateFleet", For: forever, After: true}))
	var wg sync.WaitGroup
	claim := w.load(t, "one")
	wg.Go(func() {
		if _, err := p.Create(t.Context(), claim); err != nil {
			t.Errorf("create: %v", err)
		}
	})
	limit, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for len(w.alive(t)) == 0 && limit.Err() == nil {
	}
	w.order(t, w.control.SetLag(t.Context(), control.Lag{For: forever}))
	if err := p.Delete(t.Context(), w.load(t, "one")); err == nil || errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("delete while the launch is on its way: %v", err)
	}
	w.order(t, w.control.ClearFaults(t.Context(), "CreateFleet"))
	wg.Wait()
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	if err := p.Delete(t.Context(), w.load(t, "one")); err != nil {
		t.Errorf("delete after the launch: %v", err)
	}
	w.wantAlive(t, 0)
}

// The instance of a claim without a NodePool is terminated by garbage collection after the claim is deleted.
func TestStandaloneInstanceIsCollected(t *testing.T) {
	w := newWorld(t)
	standalone := w.claim("one")
	delete(standalone.Labels, apiv1.NodePoolLabelKey)
	w.store(t, standalone)
	p := w.start(t)
	if _, err := p.Create(t.Context(), w.load(t, "one")); err != nil {
		t.Fatal(err)
	}
	w.order(t, w.kube.Delete(t.Context(), w.load(t, "one")))
	w.reconcile(t, "instance.garbagecollection", "")
	w.wantAlive(t, 1) // the instance is too young
	w.startLate(t)
	w.reconcile(t, "instance.garbagecollection", "")
	w.wantAlive(t, 0)
}

// A call was made, EC2 does not list its instances, and one of its claims is deleted. Nothing is launched while the
// outcome is unknown.
func TestUnseenLaunchOfFewerClaimsIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 3)
	w.crash(t, names, control.Hang{After: true}, len(names))
	w.order(t, w.kube.Delete(t.Context(), w.load(t, names[2])))
	p := w.startBlind(t)
	_, errs := w.createAll(t, p, names[:2])
	if !waits(errs[names[0]]) || !waits(errs[names[1]]) {
		t.Errorf("create gave %v, want both to wait", errs)
	}
	if err := p.Delete(t.Context(), w.load(t, names[0])); err == nil || errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("delete while the outcome is unknown: %v", err)
	}
	w.wantAlive(t, 3)
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	if got, errs := w.createAll(t, p, names[:2]); distinct(got) != 2 {
		t.Errorf("2 claims got %d instances, errors %v", distinct(got), errs)
	}
	w.wantAlive(t, 3)
}

// failingReader fails the list of claims with the given numbers, counted from 1.
type failingReader struct {
	client.Reader
	mu    sync.Mutex // guards count
	count int
	fails []int
}

func (r *failingReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*apiv1.NodeClaimList); ok {
		r.mu.Lock()
		r.count++
		fails := slices.Contains(r.fails, r.count)
		r.mu.Unlock()
		if fails {
			return errors.New("no answer")
		}
	}
	return r.Reader.List(ctx, list, options...)
}

// A repeated call returned fewer instances than requested, and they could not be assigned. They are not launched again.
func TestUnassignedInstancesAreFoundAgain(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 3)
	w.order(t, w.control.SetCapacity(t.Context(), control.Capacity{})) // no capacity except for the following
	for _, zone := range []string{"us-east-1a", "us-east-1b"} {
		limit := 2
		if zone == "us-east-1b" {
			limit = 0
		}
		w.order(t, w.control.SetCapacity(t.Context(), control.Capacity{
			Pool: control.Pool{Type: "m5.large", Zone: zone, Capacity: "spot"}, Limit: limit,
		}))
	}
	w.crash(t, names, control.Hang{After: true}, 2)
	w.order(t, w.control.ClearCapacity(t.Context(), control.Pool{}))
	r := &failingReader{Reader: w.kube, fails: []int{2}} // the first decides that the call is repeated
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	p := w.startWith(t, func(c *aws.Config) { c.Reader = r })
	w.order(t, w.control.SetLag(t.Context(), control.Lag{For: forever}))
	r.mu.Lock()
	r.count = 0
	r.mu.Unlock()
	if _, errs := w.createAll(t, p, names); len(errs) != 3 {
		t.Fatalf("create while claims cannot be listed: %v", errs)
	}
	w.createAll(t, p, names)
	w.wantAlive(t, 2)
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	if got, errs := w.createAll(t, p, names); distinct(got) != 2 {
		t.Errorf("%d instances, errors %v; want the 2 that are there", distinct(got), errs)
	}
	w.wantAlive(t, 2)
}

// hookedReader calls a function after the next list of claims, once it is armed.
type hookedReader struct {
	client.Reader
	armed atomic.Bool
	after func()
}

func (r *hookedReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := r.Reader.List(ctx, list, options...)
	if _, ok := list.(*apiv1.NodeClaimList); ok && r.armed.CompareAndSwap(true, false) {
		r.after()
	}
	return err
}

// Two claims of one fleet call are deleted. Their instances are known only by the token of the call. The instances for the second
// claim are listed late: meanwhile, the first claim has terminated its instance and is gone. The second claim is not released while
// its instance runs.
func TestClaimsOfOneCallEndWhileInstancesAreListed(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 2)
	w.crash(t, names, control.Hang{After: true}, len(names))
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(w.load(t, a).UID, w.load(t, b).UID) })
	first, second := w.load(t, names[0]), w.load(t, names[1])
	var p *aws.Provider
	endFirst := func() {
		if err := p.Delete(t.Context(), first); err != nil {
			t.Errorf("delete the first claim: %v", err)
		}
		if err := p.Delete(t.Context(), first); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("delete the first claim again: %v", err)
		}
		w.order(t, w.kube.Delete(t.Context(), first))
	}
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	reader := &hookedReader{Reader: w.kube, after: endFirst}
	p = w.startWith(t, func(c *aws.Config) { c.Reader, c.Clock = reader, lateClock{} })
	reader.armed.Store(true)
	if err := p.Delete(t.Context(), second); err == nil || errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("delete the second claim while the first one ends: %v", err)
	}
	w.wantAlive(t, 1)
	if err := p.Delete(t.Context(), second); err != nil {
		t.Errorf("delete the second claim: %v", err)
	}
	w.wantAlive(t, 0)
}

// EC2 does not return an instance that was just launched. Its claim is deleted, and stays until the instance is known and terminated.
// Two minutes later the instance would not exist.
func TestDeleteOfAnInstanceThatIsNotKnownYet(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	i := create(t, p, w.claimFor(t, "a", "m5.large"))
	w.launched(t, "a", i)
	claim := w.load(t, "a")
	condition.SetTrue(claim, apiv1.ConditionTypeLaunched, time.Now())
	w.order(t, w.control.SetLag(t.Context(), control.Lag{For: forever}))
	if err := p.Delete(t.Context(), claim); err == nil || errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("delete of an instance that EC2 does not return yet: %v", err)
	}
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	if err := p.Delete(t.Context(), claim); err != nil {
		t.Errorf("delete of an instance that EC2 returns: %v", err)
	}
	w.wantAlive(t, 0)
	p = w.startLate(t)
	w.order(t, w.control.SetLag(t.Context(), control.Lag{For: forever}))
	if err := p.Delete(t.Context(), claim); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("delete of an instance that EC2 does not return any more: %v", err)
	}
}

// The same for a claim that was deleted before its status had the launch.
func TestDeleteOfAnInstanceThatIsNotInTheStatus(t *testing.T) {
	w := newWorld(t)
	w.store(t, w.claim("a"))
	claim := w.load(t, "a")
	p := w.start(t)
	create(t, p, claim)
	w.order(t, w.control.SetLag(t.Context(), control.Lag{For: forever}))
	if err := p.Delete(t.Context(), w.load(t, "a")); err == nil || errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("delete of an instance that EC2 does not return yet: %v", err)
	}
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	if err := p.Delete(t.Context(), w.load(t, "a")); err != nil {
		t.Errorf("delete of an instance that EC2 returns: %v", err)
	}
	w.wantAlive(t, 0)
}
