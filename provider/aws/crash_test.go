package aws_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/nodeclass"
)

// A killer ends the process at the after-th occurrence of a moment, such as before or after a call.
type killer struct {
	mu     sync.Mutex // guards all below
	moment string
	after  int
	kill   func()
	dead   bool
}

// at is called at every moment. After the end of the process, it returns an error, so that the process does nothing
// more.
func (k *killer) at(moment string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.dead && moment == k.moment {
		if k.after--; k.after == 0 {
			k.dead = true
			k.kill()
		}
	}
	if k.dead {
		return errors.New("the process is dead")
	}
	return nil
}

// RoundTrip names the moments of each call: "before CreateFleet", "after CreateFleet". A process that dies after a call
// never sees its answer.
func (k *killer) RoundTrip(r *http.Request) (*http.Response, error) {
	action := actionOf(r)
	if err := k.at("before " + action); err != nil {
		return nil, err
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if dead := k.at("after " + action); dead != nil {
		if err == nil {
			response.Body.Close()
		}
		return nil, dead
	}
	return response, err
}

// killedLedger calls at before each claim and after the last one, so that the process can end between two claims.
type killedLedger struct {
	ledger
	*killer
}

func (l killedLedger) Record(
	ctx context.Context, claims []*apiv1.NodeClaim, annotations map[string]string,
) (gone []*apiv1.NodeClaim, err error) {
	for _, c := range claims {
		if err := l.at("before record"); err != nil {
			return nil, err
		}
		if _, err := l.ledger.Record(ctx, []*apiv1.NodeClaim{c}, annotations); err != nil {
			return nil, err
		}
	}
	return nil, l.at("after record")
}

// lateClock is an hour ahead of the real clock, so that garbage collection considers all instances.
type lateClock struct{ patientClock }

func (lateClock) Now() time.Time                    { return time.Now().Add(time.Hour) }
func (c lateClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// If the controller is killed at any moment of a scale-up, the next controller gets exactly one instance for each
// claim. There are no other instances.
func TestKilledAtAnyMoment(t *testing.T) {
	const claims = 8
	for _, moment := range []struct {
		name  string
		after int
	}{
		{"before DescribeLaunchTemplates", 1}, {"before CreateLaunchTemplate", 1}, {"after CreateLaunchTemplate", 1},
		{"before record", 1}, {"before record", 4}, {"after record", 1},
		{"before CreateFleet", 1}, {"after CreateFleet", 1}, {"noted", 1}, {"noted", 5},
	} {
		t.Run(fmt.Sprint(strings.ReplaceAll(moment.name, " ", "-"), moment.after), func(t *testing.T) {
			w := newWorld(t)
			k := &killer{}
			first := w.startWith(t, func(c *aws.Config) {
				c.AWS.HTTPClient = &http.Client{Transport: k}
				c.Ledger = killedLedger{ledger{w.kube}, k}
			})
			k.mu.Lock()
			k.moment, k.after, k.kill = moment.name, moment.after, w.stop
			k.mu.Unlock()
			for n := range claims {
				w.store(t, w.claim(fmt.Sprintf("claim-%d", n)))
			}
			w.scaleUp(t, first, k, claims)

			second := w.startWith(t, func(c *aws.Config) { c.Clock = lateClock{} })
			w.scaleUp(t, second, &killer{}, claims)
			w.reconcile(t, "instance.garbagecollection", "")
			seen := map[string]bool{}
			for n := range claims {
				seen[w.load(t, fmt.Sprintf("claim-%d", n)).Status.ProviderID] = true
			}
			if alive := w.alive(t); len(alive) != claims || len(seen) != claims || seen[""] {
				t.Errorf("%d instances for %d claims, which have %v", len(alive), claims, seen)
			}
		})
	}
}

// scaleUp launches all claims without the condition Launched concurrently, as the controllers do.
func (w *world) scaleUp(t *testing.T, p cloud.Provider, k *killer, claims int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex // serialises writes, because the fake API server has races between patches of object and status
	for n := range claims {
		claim := w.load(t, fmt.Sprintf("claim-%d", n))
		if claim.Status.ProviderID != "" {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(w.ctx, 20*time.Second)
			defer cancel()
			i, err := p.Create(ctx, claim)
			if err != nil && k.moment == "" {
				t.Errorf("create %s: %v", claim.Name, err)
			}
			if err == nil && k.at("noted") == nil {
				mu.Lock()
				defer mu.Unlock()
				w.launched(t, claim.Name, i)
			}
		})
	}
	wg.Wait()
	if k.moment != "" && !k.dead {
		t.Fatalf("the moment %q never came", k.moment)
	}
}

// The controller is killed after its fleet call, and the node class changes before the next one adopts the instance. The claim has the
// hash of the class from which the instance was launched, so that the instance counts as drifted.
func TestAdoptedInstanceHasHashOfItsLaunch(t *testing.T) {
	w := newWorld(t)
	k := &killer{}
	first := w.startWith(t, func(c *aws.Config) { c.AWS.HTTPClient = &http.Client{Transport: k} })
	k.mu.Lock()
	k.moment, k.after, k.kill = "after CreateFleet", 1, w.stop
	k.mu.Unlock()
	w.store(t, w.claim("claim-0"))
	w.scaleUp(t, first, k, 1)

	launched := nodeclass.Hash(w.class(t))
	class := w.class(t)
	class.Spec.DetailedMonitoring = new(true)
	class.Generation++ // the API server does that
	if err := w.kube.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	w.scaleUp(t, w.start(t), &killer{}, 1)
	claim := w.load(t, "claim-0")
	if got := claim.Annotations[awsv1.AnnotationEC2NodeClassHash]; got != launched {
		t.Errorf("the claim has hash %q, want %q of its launch", got, launched)
	}
	if alive := w.alive(t); len(alive) != 1 || claim.Status.ProviderID == "" {
		t.Errorf("%d instances for one claim, which has %q", len(alive), claim.Status.ProviderID)
	}
}
