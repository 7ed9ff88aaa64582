package life

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// consolidateAfter is the setting of the NodePool.
const consolidateAfter = 30 * time.Second

// kwokTypes are KWOK's instance types.
func kwokTypes(t testing.TB) []*model.InstanceType {
	t.Helper()
	known, err := workload.Catalogue("kwok")
	if err != nil {
		t.Fatal(err)
	}
	types, err := catalogue.InstanceTypes(known)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// grown returns a World with a NodePool of KWOK's types, and n pods that have run for a minute.
func grown(t testing.TB, profile workload.Profile, n int, seed uint64) *World {
	t.Helper()
	types := kwokTypes(t)
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

// floor returns a lower bound on the price of nodes for the pods.
func (w *World) floor() float64 {
	s := w.look()
	return pack.Solve(s.Without(s.Nodes()...), w.Options.Pack).Floor
}

// A course is the result of a scale-in.
type course struct {
	near, rest      time.Duration // until within 5% of the lower bound, and until the last change; near is negative if never
	over            float64       // ratio of the price at the end and the lower bound
	moved, commands int
}

func (c course) String() string {
	return fmt.Sprintf("within 5%% of the floor after %v, last change after %v at %.3f of it; %d pods moved by %d commands",
		c.near, c.rest, c.over, c.moved, c.commands)
}

// scaleIn removes three quarters of the pods within the first `over` seconds, and simulates looksOn seconds in total.
func (w *World) scaleIn(over, looksOn int) (c course) {
	begun, last := w.now, 0.0
	w.Moved, w.Commands = 0, 0
	floor := 0.0
	c.near = -1
	for i := range looksOn {
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

// After a scale-in, the price is near the lower bound within half a minute of consolidateAfter, or within 15 seconds if the
// scale-in takes longer than that. This holds for all nodes to which the scheduler binds the pods that move. A pod moves at
// most 1.25 times on average.
func TestScaleIn(t *testing.T) {
	for _, tt := range []struct {
		pods, over int
		seed       uint64
	}{{1000, 6, 5}, {1000, 6, 7}, {1000, 6, 8}, {1000, 6, 9}, {4000, 12, 7}, {4000, 35, 7}, {4000, 14, 4}, {4000, 14, 5}, {4000, 14, 8}} {
		t.Run(fmt.Sprintf("%d/%d/%d", tt.pods, tt.over, tt.seed), func(t *testing.T) {
			w := grown(t, workload.Micro, tt.pods, tt.seed)
			w.Turns = true
			w.Told = func(line string) { t.Log(line) }
			c := w.scaleIn(tt.over, 180)
			t.Logf("%d pods to %d: %v", tt.pods, len(w.pods), c)
			if len(w.Refused) > 0 {
				t.Errorf("%d objections, the first: %s", len(w.Refused), w.Refused[0])
			}
			most := consolidateAfter + max(30*time.Second, time.Duration(tt.over+15)*time.Second)
			if c.near < 0 || c.near > most {
				t.Errorf("within 5%% of the floor after %v of virtual time, want %v at most", c.near, most)
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

// If pods do not move in stages (World.Turns), the scheduler scatters them, and consolidation has to move them again: a pod
// moves at least 1.5 times on average.
func TestWithoutTurns(t *testing.T) {
	w := grown(t, workload.Micro, 1000, 9)
	c := w.scaleIn(6, 180)
	t.Logf("1000 pods to %d: %v", len(w.pods), c)
	if c.moved < len(w.pods)*3/2 {
		t.Errorf("only %d of %d pods moved: this scheduler scatters nothing, so it shows nothing", c.moved, len(w.pods))
	}
}

// BenchmarkScaleIn measures scale-ins. The cases differ in the number of pods, the time until a node registers (boot), the
// disruption budget, and whether pods move in stages (turns). Times are virtual, in seconds. near is the time at which the
// price is within 5% of the lower bound, negative if it never is.
func BenchmarkScaleIn(b *testing.B) {
	for _, bm := range []struct {
		name    string
		profile workload.Profile
		pods    int
		boot    time.Duration
		budget  string
		looksOn int
	}{
		{"micro", workload.Micro, 1000, 2 * time.Second, "100%", 300},
		{"micro-4000", workload.Micro, 4000, 2 * time.Second, "100%", 300},
		{"large", workload.Large, 300, 45 * time.Second, "100%", 1200},
		{"large-10%", workload.Large, 300, 45 * time.Second, "10%", 1200},
	} {
		for _, turns := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/turns=%v", bm.name, turns), func(b *testing.B) {
				w := grown(b, bm.profile, min(bm.pods, workload.Most()), 7)
				w.Boot, w.Turns = bm.boot, turns
				pool := w.s.Pools()[0].Object.DeepCopy()
				pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: bm.budget}}
				w.s = w.s.Apply(model.Delta{Pools: []*apiv1.NodePool{pool}})
				c := w.scaleIn(6, bm.looksOn)
				for b.Loop() { // every run is equal, so one is enough
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(c.near.Seconds(), "near-s")
				b.ReportMetric(c.rest.Seconds(), "rest-s")
				b.ReportMetric(c.over, "price/floor")
				b.ReportMetric(float64(len(w.pods)), "pods")
				b.ReportMetric(float64(c.moved), "moved")
				b.ReportMetric(float64(c.commands), "commands")
			})
		}
	}
}

// scaleUp creates n pods, perSecond of them each second. Nodes have up to eight cores and join one after another. The scheduler
// forgets some nominations. It returns the number of nodes that were launched when the last pod was created.
func scaleUp(t testing.TB, n, perSecond int, seed uint64, lost float64) (w *World, planned int) {
	t.Helper()
	const cores = 8000
	types := slices.DeleteFunc(kwokTypes(t), func(t *model.InstanceType) bool { return t.Capacity[corev1.ResourceCPU] > cores })
	pool := workload.Pool("default")
	pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("Never")
	w = New(pool, types)
	w.Lost, w.Stagger = lost, 20*time.Second
	all := workload.Pods(workload.Micro, n, seed)
	for range 600 {
		for range min(len(all), perSecond) {
			w.Add(all[0])
			all = all[1:]
		}
		w.Tick()
		if len(all) == 0 && planned == 0 {
			planned = w.Launched
		}
		if len(all) == 0 && w.Waiting() == 0 {
			return w, planned
		}
	}
	t.Fatalf("%d pods wait for ever", w.Waiting())
	return nil, 0
}

// In each second, some of a thousand pods have no nomination. All pods still run, on few more nodes than planned. A pod without
// a place gets the place of another pod, for which there is capacity elsewhere.
func TestScaleUp(t *testing.T) {
	for _, tt := range []struct {
		lost, over float64
		more       int // maximum number of additional nodes per hundred planned nodes
	}{{0.02, 1.03, 4}, {0.1, 1.05, 12}} {
		launched, planned := 0, 0
		for seed := range uint64(4) {
			w, n := scaleUp(t, 1000, 500, 7+seed, tt.lost)
			over := w.Price() / w.floor()
			t.Logf("%.0f of 100 lost, seed %d: %d planned, %d needed, %.3f of the floor", 100*tt.lost, 7+seed, n, w.Launched, over)
			if len(w.Refused) > 0 {
				t.Errorf("%d objections, the first: %s", len(w.Refused), w.Refused[0])
			}
			if over > tt.over {
				t.Errorf("%.3f of the floor, want %.3f at most", over, tt.over)
			}
			launched, planned = launched+w.Launched, planned+n
		}
		if 100*launched > (100+tt.more)*planned {
			t.Errorf("%d nodes were needed for %d planned ones, want %d of a hundred more at most", launched, planned, tt.more)
		}
	}
}

// BenchmarkScaleUp measures scale-ups by the share of pods that have no nomination in any second. A share of one in a million
// means almost none, and 1 means a scheduler without nominations. Nodes have eight cores at most.
func BenchmarkScaleUp(b *testing.B) {
	for _, lost := range []float64{1e-6, 0.02, 0.1, 0.3, 1} {
		b.Run(fmt.Sprintf("lost=%.2f", lost), func(b *testing.B) {
			var launched, planned, over float64
			const seeds = 4
			for range b.N {
				launched, planned, over = 0, 0, 0
				for seed := range uint64(seeds) {
					w, n := scaleUp(b, min(1000, workload.Most()), 1000, 7+seed, lost)
					launched, planned, over = launched+float64(w.Launched), planned+float64(n), over+w.Price()/w.floor()
				}
			}
			b.ReportMetric(planned/seeds, "planned")
			b.ReportMetric(launched/seeds, "needed")
			b.ReportMetric(over/seeds, "price/floor")
		})
	}
}
