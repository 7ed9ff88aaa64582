package life

import (
	"fmt"
	"testing"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// consolidateAfter is the pool's.
const consolidateAfter = 30 * time.Second

// grown is one pool of KWOK's types, with n pods that have run for a minute.
func grown(t *testing.T, profile workload.Profile, n int, seed uint64) *World {
	t.Helper()
	catalogue, err := workload.Catalogue("kwok")
	if err != nil {
		t.Fatal(err)
	}
	types, err := workload.InstanceTypes(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	pool := workload.Pool("default")
	pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration(consolidateAfter.String())
	w := New(pool, types)
	for _, p := range workload.Pods(profile, n, seed) {
		w.Add(p)
	}
	for range 600 {
		if w.Tick(); w.Waiting() == 0 && w.Nodes() > 0 {
			w.now = w.now.Add(time.Minute)
			return w
		}
	}
	t.Fatalf("%d pods wait for ever", w.Waiting())
	return nil
}

// floor is a price that no set of nodes for the pods goes below.
func (w *World) floor() float64 {
	s := w.look()
	return pack.Solve(s.Without(s.Nodes()...), w.Options.Pack).Floor
}

// A course is what came of a scale-in.
type course struct {
	near, rest      time.Duration // until within 5% of the floor, and until the last change; near is negative if never
	over            float64       // of the floor in the end
	moved, commands int
}

func (c course) String() string {
	return fmt.Sprintf("within 5%% of the floor after %v, last change after %v at %.3f of it; %d pods moved by %d commands",
		c.near, c.rest, c.over, c.moved, c.commands)
}

// scaleIn takes three quarters of the pods away, over some seconds, and looks on for three minutes.
func (w *World) scaleIn(over int) (c course) {
	begun, last := w.now, 0.0
	w.Moved, w.Commands = 0, 0
	floor := 0.0
	c.near = -1
	for i := range 180 {
		if i < over {
			w.Shrink(func(app, replicas int) int {
				if app%over != i {
					return replicas
				}
				return max(1, replicas/4)
			})
		}
		w.Tick()
		if i < over {
			floor = w.floor()
			continue
		}
		price := w.Price()
		if price != last {
			last, c.rest = price, w.now.Sub(begun)
		}
		if c.near < 0 && w.Waiting() == 0 && price <= 1.05*floor {
			c.near = w.now.Sub(begun)
		}
	}
	c.over, c.moved, c.commands = last/floor, w.Moved, w.Commands
	return c
}

// A scale-in leaves a fleet near the floor within half a minute of consolidateAfter, whatever the scheduler does with the pods
// that move, and then at rest: a pod moves once.
func TestScaleIn(t *testing.T) {
	for _, seed := range []uint64{7, 8, 9} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := grown(t, workload.Micro, 1000, seed)
			w.Turns = true
			w.Told = func(line string) { t.Log(line) }
			c := w.scaleIn(6)
			t.Logf("1000 pods to %d: %v", len(w.pods), c)
			if c.near < 0 || c.near > consolidateAfter+30*time.Second {
				t.Errorf("within 5%% of the floor after %v of virtual time, want 30s after consolidateAfter at most", c.near)
			}
			if c.over > 1.05 {
				t.Errorf("at rest at %.3f of the floor", c.over)
			}
			if most := len(w.pods) * 5 / 4; c.moved > most {
				t.Errorf("%d of %d pods moved, want %d at most", c.moved, len(w.pods), most)
			}
		})
	}
}

// Without turns the scheduler scatters what moves, and what that leaves is moved again.
func TestWithoutTurns(t *testing.T) {
	w := grown(t, workload.Micro, 1000, 9)
	c := w.scaleIn(6)
	t.Logf("1000 pods to %d: %v", len(w.pods), c)
	if c.moved < len(w.pods)*3/2 {
		t.Errorf("only %d of %d pods moved: this scheduler scatters nothing, so it shows nothing", c.moved, len(w.pods))
	}
}
