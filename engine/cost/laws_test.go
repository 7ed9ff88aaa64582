package cost_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
	"github.com/karpenter-go/karpenter/engine/scenario/rawcluster"
	"github.com/karpenter-go/karpenter/engine/scenario/rawpods"
)

// check returns the first fault of the allocation, empty if there is none. Each part must be positive. Parts must be ordered
// by key, without duplicates. Workloads have no cause, and all others have one. The parts must add up to the prices of the
// billed nodes.
func check(in cost.Input) string {
	a := cost.Allocate(in)
	want, sum := cost.Micros(0), cost.Micros(0)
	for _, n := range in.Snapshot.Nodes() {
		if !cost.Billed(n) {
			continue
		}
		want += cost.MicrosOf(in.Snapshot.PriceOf(n))
	}
	for i, p := range a.Parts {
		if p.Rate <= 0 {
			return fmt.Sprintf("part %+v", p)
		}
		if i > 0 && a.Parts[i-1].Key.Compare(p.Key) >= 0 {
			return fmt.Sprintf("parts %+v and %+v are not in order", a.Parts[i-1], p)
		}
		if (p.Key.Kind == cost.Workload) != (p.Key.Cause == "") {
			return fmt.Sprintf("%s has the cause %q", p.Key.Kind, p.Key.Cause)
		}
		sum += p.Rate
	}
	if sum != want || a.Total != want {
		return fmt.Sprintf("parts add up to %d, the total is %d, the prices %d", sum, a.Total, want)
	}
	return ""
}

// draw returns an Input with random figures for the nodes and pods of the snapshot, and with random prices of some offerings.
// Some are negative or far too large.
func draw(s *model.Snapshot, r *rand.Rand) cost.Input {
	s = s.Apply(model.Delta{Types: model.WithOfferings(s, func(_ *model.InstanceType, o *model.Offering) bool {
		if r.IntN(2) == 0 {
			return false
		}
		o.Price = []float64{0, -5, 1e-6, 0.096, 1e6, math.MaxInt64}[r.IntN(6)]
		return true
	})})
	in := cost.Input{
		Snapshot: s, Causes: map[string]cost.Cause{}, Usage: map[string]model.Resources{}, Headroom: map[string]model.Resources{},
		Label: "app",
	}
	amount := func() model.Resources {
		values := []int64{0, -1, 1, 250, 1 << 30, 1 << 34, model.MaxAmount, math.MaxInt64, math.MinInt64}
		return model.Resources{
			corev1.ResourceCPU: values[r.IntN(len(values))], corev1.ResourceMemory: values[r.IntN(len(values))],
			"example.com/gpu": values[r.IntN(len(values))],
		}
	}
	for _, n := range s.Nodes() {
		in.Causes[n.Name] = []cost.Cause{cost.PDB, cost.Budget, cost.Headroom}[r.IntN(3)]
		in.Headroom[n.Name] = amount()
		for _, p := range n.Pods {
			in.Usage[p.Key] = amount()
		}
	}
	return in
}

func TestPartsAddUp(t *testing.T) {
	random.Check(t, 600, func(c *scenario.Cluster) *random.Breach {
		s, err := c.Snapshot()
		if err != nil {
			return &random.Breach{Rule: "no snapshot", Detail: err.Error()}
		}
		r := rand.New(rand.NewPCG(uint64(len(c.Nodes)), uint64(len(c.Pods))))
		for _, in := range []cost.Input{{Snapshot: s}, draw(s, r)} {
			if wrong := check(in); wrong != "" {
				return &random.Breach{Rule: "sum", Detail: wrong}
			}
		}
		return nil
	})
}

// FuzzAllocate checks allocations for pods that the API server accepts, with random figures.
func FuzzAllocate(f *testing.F) {
	f.Add([]byte{}, uint64(1))
	f.Add([]byte("pods with more requests than any node"), uint64(7))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		s := model.Compile(rawcluster.Busy(t, rawpods.From(data))).At(scenario.Epoch())
		if wrong := check(draw(s, rand.New(rand.NewPCG(seed, 0)))); wrong != "" {
			t.Error(wrong)
		}
	})
}

// Each result of Split differs by less than one from its exact share, for weights of any size.
func TestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		weights := make([]int64, 1+r.IntN(12))
		whole := 0.0
		for i := range weights {
			weights[i] = r.Int64N(1<<r.IntN(40) + 1)
			whole += float64(weights[i])
		}
		total := cost.Micros(r.Int64N(1 << (1 + r.IntN(39))))
		sum := cost.Micros(0)
		for i, part := range cost.Split(total, weights) {
			if exact := float64(total) * float64(weights[i]) / whole; whole > 0 && math.Abs(float64(part)-exact) > 1.001 {
				t.Fatalf("Split(%d, %v)[%d] = %d, want %f", total, weights, i, part, exact)
			}
			sum += part
		}
		if sum != total {
			t.Fatalf("Split(%d, %v) adds up to %d", total, weights, sum)
		}
	}
	for _, weights := range [][]int64{{0}, {-1, -1}, {math.MaxInt64, math.MaxInt64, math.MaxInt64}, {math.MinInt64, 1}} {
		sum := cost.Micros(0)
		for _, part := range cost.Split(math.MaxInt64, weights) {
			if part < 0 {
				t.Errorf("%v: part %d", weights, part)
			}
			sum += part
		}
		if sum != math.MaxInt64 {
			t.Errorf("%v adds up to %d", weights, sum)
		}
	}
}

func TestMicrosOf(t *testing.T) {
	for dollars, want := range map[float64]cost.Micros{
		0.096: 96_000, 0.0000004: 0, 0.0000006: 1, -1: 0, 1e9: cost.MaxMicros, math.Inf(1): cost.MaxMicros, math.Inf(-1): 0,
	} {
		if got := cost.MicrosOf(dollars); got != want {
			t.Errorf("MicrosOf(%v) = %d, want %d", dollars, got, want)
		}
	}
	if got := cost.MicrosOf(math.NaN()); got != 0 {
		t.Errorf("MicrosOf(NaN) = %d", got)
	}
}

// If the price of a type and the requests of pods are absurdly large, the price of a node is limited to MaxMicros, and the
// parts still add up to it.
func TestHostileAmounts(t *testing.T) {
	huge := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9E"), corev1.ResourceMemory: resource.MustParse("9E")}
	r := model.CapacityOf(huge)
	if r[corev1.ResourceCPU] != model.MaxAmount {
		t.Fatalf("cpu is %d", r[corev1.ResourceCPU])
	}
	c := &scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Types: []scenario.Type{{Name: "m", CPU: "9E", Memory: "9E", Price: 1e300}},
		Nodes: []scenario.Node{{Name: "n", Pool: "default", Type: "m", Pods: []scenario.Pod{{Name: "p", Count: 3, CPU: "9E", Memory: "9E"}}}},
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if wrong := check(cost.Input{Snapshot: s}); wrong != "" {
		t.Error(wrong)
	}
	if a := cost.Allocate(cost.Input{Snapshot: s}); a.Total != cost.MaxMicros {
		t.Errorf("total is %d", a.Total)
	}
}

func TestParseFields(t *testing.T) {
	if got, err := cost.ParseFields("namespace, owner"); err != nil || len(got) != 2 || got[1] != cost.ByOwner {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "node", "zone,zone"} {
		if got, err := cost.ParseFields(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestOwnerOf(t *testing.T) {
	for _, tt := range []struct{ kind, name, hash, want string }{
		{"ReplicaSet", "web-5d9f7c", "5d9f7c", "Deployment/web"},
		{"ReplicaSet", "web-5d9f7c", "", "ReplicaSet/web-5d9f7c"},
		{"ReplicaSet", "-5d9f7c", "5d9f7c", "ReplicaSet/-5d9f7c"},
		{"Job", "nightly-29401230", "", "CronJob/nightly"},
		{"Job", "import-2024", "", "Job/import-2024"},
		{"StatefulSet", "db", "", "StatefulSet/db"},
		{"", "", "", "Pod/p"},
	} {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"pod-template-hash": tt.hash}}}
		if tt.kind != "" {
			o.OwnerReferences = []metav1.OwnerReference{{Kind: tt.kind, Name: tt.name, Controller: new(true)}}
		}
		if got := cost.OwnerOf(model.NewPod(o)); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.kind, tt.name, got, tt.want)
		}
	}
}
