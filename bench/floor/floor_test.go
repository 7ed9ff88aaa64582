package floor

import (
	"math"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
)

func room(cores, gib, pods int64) model.Resources {
	return model.Resources{corev1.ResourceCPU: 1000 * cores, corev1.ResourceMemory: gib << 30, corev1.ResourcePods: pods}
}

func TestCover(t *testing.T) {
	for _, tt := range []struct {
		name   string
		need   model.Resources
		rooms  []model.Resources
		prices []float64
		want   float64
	}{
		{"nothing", model.Resources{}, nil, nil, 0},
		{"half a node", room(2, 1, 1), []model.Resources{room(4, 8, 10)}, []float64{1}, 0.5},
		{"memory binds", room(1, 16, 1), []model.Resources{room(4, 8, 10)}, []float64{1}, 2},
		{"pods bind", room(1, 1, 30), []model.Resources{room(4, 8, 10)}, []float64{1}, 3},
		{"the cheaper of two", room(4, 8, 1), []model.Resources{room(4, 8, 10), room(4, 8, 10)}, []float64{3, 2}, 2},
		{"a mix of lean and fat", room(6, 12, 2), []model.Resources{room(4, 4, 10), room(2, 8, 10)}, []float64{1, 1}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cover(tt.need, tt.rooms, tt.prices)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("cover = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCoverSaysWhatCannotBe(t *testing.T) {
	need := room(1, 1, 1).Plus(model.Resources{"nvidia.com/gpu": 1})
	if got, err := cover(need, []model.Resources{room(4, 8, 10)}, []float64{1}); err == nil {
		t.Errorf("a GPU from nowhere costs %v", got)
	}
}

// The lower bound is at most the price with any single type, and at least the price of each resource alone at the best price
// per unit.
func TestCoverBetweenSimpleBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for range 200 {
		need := room(1+rng.Int64N(500), 1+rng.Int64N(2000), 1+rng.Int64N(1000))
		var rooms []model.Resources
		var prices []float64
		for range 1 + rng.IntN(30) {
			rooms = append(rooms, room(1+rng.Int64N(64), 1+rng.Int64N(256), 5+rng.Int64N(100)))
			prices = append(prices, 0.05+rng.Float64())
		}
		got, err := cover(need, rooms, prices)
		if err != nil {
			t.Fatal(err)
		}
		single, alone := math.Inf(1), 0.0
		for j := range rooms {
			times := 0.0
			for name, v := range need {
				times = max(times, float64(v)/float64(rooms[j][name]))
			}
			single = min(single, times*prices[j])
		}
		for name, v := range need {
			best := math.Inf(1)
			for j := range rooms {
				best = min(best, prices[j]*float64(v)/float64(rooms[j][name]))
			}
			alone = max(alone, best)
		}
		if got > single*(1+1e-9) || got < alone*(1-1e-9) {
			t.Fatalf("cover = %v, want it from %v to %v", got, alone, single)
		}
	}
}

// DaemonSets raise the lower bound. Spot capacity lowers it.
func TestPrice(t *testing.T) {
	c, err := workload.New(workload.Micro, 500, 1, "cmr6")
	if err != nil {
		t.Fatal(err)
	}
	price := func(capacityTypes ...string) float64 {
		got, err := Price(c, capacityTypes...)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	onDemand, any := price(apiv1.CapacityTypeOnDemand), price(apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot)
	if any >= onDemand {
		t.Errorf("with spot %v, without %v", any, onDemand)
	}
	c.Daemons = nil
	if without := price(apiv1.CapacityTypeOnDemand); without >= onDemand {
		t.Errorf("without daemons %v, with them %v", without, onDemand)
	}
}

// Pods that must not share a host need a node each. Only pods whose anti-affinity selects equal pods count.
func TestHosts(t *testing.T) {
	c, err := workload.New(workload.Diverse, 500, 1, "synthetic400")
	if err != nil {
		t.Fatal(err)
	}
	if got := Hosts(c); got != 100 {
		t.Errorf("%d hosts, want one for each of the 100 pods that are kept apart", got)
	}
	with, err := Price(c, apiv1.CapacityTypeOnDemand)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Pods {
		p.Labels = map[string]string{"app": "other"}
	}
	if got := Hosts(c); got != 0 {
		t.Errorf("%d hosts for pods that are against others", got)
	}
	if without, err := Price(c, apiv1.CapacityTypeOnDemand); err != nil || without >= with {
		t.Errorf("kept apart they cost %v, else %v (%v)", with, without, err)
	}
}
