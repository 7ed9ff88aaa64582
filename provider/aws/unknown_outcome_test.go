package aws_test

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// movableClock is ahead of the clock of the machine by a duration that tests change.
type movableClock struct {
	patientClock
	by *atomic.Int64
}

func newMovableClock() movableClock { return movableClock{by: &atomic.Int64{}} }

func (c movableClock) add(d time.Duration)             { c.by.Add(int64(d)) }
func (c movableClock) Now() time.Time                  { return c.RealClock.Now().Add(time.Duration(c.by.Load())) }
func (c movableClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// fleetGate is an HTTP transport. It calls before when the first CreateFleet is made, and loses the response. If before
// returns false, EC2 does not get the call.
type fleetGate struct {
	once   sync.Once
	before func() bool
}

func (g *fleetGate) RoundTrip(r *http.Request) (*http.Response, error) {
	lost := false
	if actionOf(r) == "CreateFleet" {
		g.once.Do(func() {
			lost = true
			if !g.before() {
				return
			}
			if response, err := http.DefaultTransport.RoundTrip(r); err == nil {
				response.Body.Close()
			}
		})
	}
	if lost {
		return nil, io.ErrUnexpectedEOF
	}
	return http.DefaultTransport.RoundTrip(r)
}

// through makes a provider call AWS through the gate, without retries.
func (g *fleetGate) through(c *aws.Config) {
	c.AWS.HTTPClient = &http.Client{Transport: g}
	c.AWS.Retryer = func() awssdk.Retryer { return awssdk.NopRetryer{} }
}

// A fleet call takes two minutes, and its response is lost. The parameters have changed when it ends. EC2 has just launched the
// instance and does not list it yet, so no other call is made.
func TestLateLaunchIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 1)
	now := newMovableClock()
	w.clock = now
	gate := &fleetGate{before: func() bool { now.add(2 * time.Minute); return true }}
	p := w.startWith(t, gate.through)
	if got, _ := w.createAll(t, p, names); len(got) != 0 {
		t.Fatalf("got %v without a response", got)
	}
	w.order(t, w.control.SetLag(t.Context(), control.Lag{For: forever}))
	w.retag(t)
	if got, errs := w.createAll(t, p, names); !waits(errs[names[0]]) {
		t.Errorf("create gave %v, %v; want it to wait", got, errs)
	}
	w.wantAlive(t, 1)
	now.add(30 * time.Second)
	w.order(t, w.control.SetLag(t.Context(), control.Lag{}))
	if got, errs := w.createAll(t, p, names); len(got) != 1 {
		t.Errorf("create gave %v once EC2 lists the instance", errs)
	}
	w.wantAlive(t, 1)
}

// A fleet call is lost. The next process repeats it later and is killed when EC2 has carried it out. The parameters have changed
// before another process starts, and EC2 does not list the instance yet. So that process waits, and so does the deletion of the
// claim.
func TestRepeatedLaunchIsWaitedFor(t *testing.T) {
	for _, later := range []time.Duration{2 * time.Minute, 20 * time.Minute} {
		t.Run(later.String(), func(t *testing.T) {
			w := newWorld(t)
			names := w.storeClaims(t, 1)
			now := newMovableClock()
			w.clock = now
			w.crash(t, names, control.Hang{}, 0)
			now.add(later)
			w.crash(t, names, control.Hang{After: true}, 1)
			w.retag(t)
			p := w.startBlind(t)
			if got, errs := w.createAll(t, p, names); !waits(errs[names[0]]) {
				t.Errorf("create gave %v, %v; want it to wait", got, errs)
			}
			if err := p.Delete(t.Context(), w.load(t, names[0])); !waits(err) {
				t.Errorf("delete gave %v, want it to wait", err)
			}
			w.wantAlive(t, 1)
		})
	}
}

// A leader is paused before it repeats a fleet call. The next leader has given up that call and has launched the instance with
// other parameters. When the paused leader resumes, it launches none.
func TestPausedLeaderRepeatsNothing(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 1)
	w.crash(t, names, control.Hang{}, 0)
	reader := &hookedReader{Reader: w.kube}
	reader.after = func() {
		w.retag(t)
		next := w.startWith(t, func(c *aws.Config) { c.Clock = lateClock{} })
		if _, errs := w.createAll(t, next, names); len(errs) > 0 {
			t.Errorf("the next leader: %v", errs)
		}
	}
	old := w.startWith(t, func(c *aws.Config) { c.Reader = reader })
	w.stop = func() {} // the old leader does not end
	reader.armed.Store(true)
	got, errs := w.createAll(t, old, names)
	var elsewhere *act.RecordedElsewhereError
	if !errors.As(errs[names[0]], &elsewhere) {
		t.Errorf("a paused leader got %v, %v", got, errs)
	}
	w.wantAlive(t, 1)
}

// A leader is paused after a fleet call that EC2 did not get. The next leader has made another attempt. When the paused leader
// resumes, it reads that attempt from the claim, although its own attempt is in its memory.
func TestPausedLeaderTakesLaterAttempt(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 1)
	now := newMovableClock()
	w.clock = now
	old := w.startWith(t, (&fleetGate{before: func() bool { return false }}).through)
	w.stop = func() {} // the old leader does not end
	if got, _ := w.createAll(t, old, names); len(got) != 0 {
		t.Fatalf("got %v without a response", got)
	}
	w.retag(t)
	given, errs := w.createAll(t, w.startLate(t), names)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) { s.Tags = map[string]string{"team": "third"} })
	now.add(time.Minute)
	if got, errs := w.createAll(t, old, names); got[names[0]] == nil || got[names[0]].ProviderID != given[names[0]].ProviderID {
		t.Errorf("the resumed leader got %v, %v; want %s", got, errs, given[names[0]].ProviderID)
	}
	w.wantAlive(t, 1)
}

// A repeated call is for two claims, of which one is deleted meanwhile. The other one gets its instance.
func TestRepeatOmitsDeletedClaim(t *testing.T) {
	w := newWorld(t)
	names := w.storeClaims(t, 2)
	w.crash(t, names, control.Hang{}, 0)
	var once sync.Once
	p := w.startWith(t, func(c *aws.Config) {
		c.Ledger = hookedLedger{ledger{w.kube}, func() {
			once.Do(func() {
				if err := w.kube.Delete(t.Context(), w.load(t, names[0])); err != nil {
					t.Error(err)
				}
			})
		}}
	})
	if got, errs := w.createAll(t, p, names); got[names[1]] == nil || errs[names[0]] == nil {
		t.Errorf("got %v, %v; want an instance for %s only", got, errs, names[1])
	}
}
