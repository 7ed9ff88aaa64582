package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"

	"github.com/karpenter-go/karpenter/engine/commitment"
)

// coverType is a type with one on-demand offering per price: zone z0, z1, ...
func coverType(name string, prices ...float64) *InstanceType {
	t := &InstanceType{Name: name}
	for i, price := range prices {
		t.Offerings = append(t.Offerings, Offering{
			Zone: fmt.Sprint("z", i), CapacityType: apiv1.CapacityTypeOnDemand, Price: price, Available: true,
		})
	}
	return t
}

func coverNode(name, instanceType, zone string, age time.Duration) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age)),
		Labels: map[string]string{
			corev1.LabelInstanceTypeStable: instanceType, corev1.LabelTopologyZone: zone,
			apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeOnDemand, apiv1.NodePoolLabelKey: "default",
		},
	}, Spec: corev1.NodeSpec{ProviderID: "test:///" + name}}
}

func coverOn(t *InstanceType, zone int, c *commitment.Commitment, use int64) {
	o := &t.Offerings[zone]
	o.Covers = append(o.Covers, commitment.Cover{Commitment: c, Use: use})
}

func TestCoverage(t *testing.T) {
	small, large := coverType("m.small", 0.10, 0.10), coverType("m.large", 0.20)
	zonal := &commitment.Commitment{ID: "zonal", Order: 0, Units: 1}
	plan := &commitment.Commitment{ID: "plan", Order: 1, Units: 300}
	coverOn(small, 0, zonal, 1)
	coverOn(small, 0, plan, 80)
	coverOn(small, 1, plan, 80)
	coverOn(large, 0, plan, 140) // a unit saves more here
	s := Compile(Delta{
		Types: map[string][]*InstanceType{"default": {large, small}},
		Nodes: []*corev1.Node{
			coverNode("a", "m.small", "z0", 3*time.Hour), coverNode("b", "m.small", "z0", 2*time.Hour),
			coverNode("c", "m.small", "z1", time.Hour), coverNode("d", "m.large", "z0", 0), coverNode("e", "m.large", "z0", time.Hour),
		},
	})
	c := s.Coverage()
	// a has the zonal commitment, e and d 280 of the plan, and b the other 20: a quarter of it.
	for name, want := range map[string]float64{"a": 0, "b": 0.075, "c": 0.10, "d": 0, "e": 0} {
		n, _ := s.NodeByName(name)
		if got := s.PriceOf(n); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s costs %v, want %v", name, got, want)
		}
	}
	if got := c.Released("a"); math.Abs(got-0.10) > 1e-9 { // then b has the zonal commitment, and c the quarter
		t.Errorf("without a the bill falls by %v, want 0.10", got)
	}
	if got := c.Released("d"); math.Abs(got-0.175) > 1e-9 { // then b and c are covered wholly
		t.Errorf("without d the bill falls by %v, want 0.175", got)
	}
	if got := c.Released("a", "b", "c", "d", "e"); math.Abs(got-0.175) > 1e-9 {
		t.Errorf("without all the bill falls by %v, want 0.175", got)
	}
	if l := c.Left("plan"); l != 0 {
		t.Errorf("%d units of the plan are left", l)
	}
	u := c.Usage()
	if len(u) != 2 || u[0].Used != 1 || u[0].Eligible != 2 || u[0].Covered != 1 || u[1].Eligible != 5 || math.Abs(u[1].Covered-2.25) > 1e-9 {
		t.Errorf("usage is %+v", u)
	}
	if s.At(time.Unix(1, 0)).Coverage() != c {
		t.Error("the coverage is computed again for another time")
	}
	if got := s.Without(mustNode(t, s, "a")).Coverage(); got == c || got.Left("zonal") != 0 {
		t.Error("another node does not get the zonal commitment")
	}
}

func mustNode(t *testing.T, s *Snapshot, name string) *Node {
	t.Helper()
	n, ok := s.NodeByName(name)
	if !ok {
		t.Fatalf("no node %s", name)
	}
	return n
}

// A node that is being deleted is covered by what others leave. It leaves its units to new nodes.
func TestCoverageOfEndingNodes(t *testing.T) {
	small := coverType("m.small", 0.10)
	coverOn(small, 0, &commitment.Commitment{ID: "ri", Units: 3}, 2)
	ends := coverNode("ends", "m.small", "z0", 2*time.Hour)
	ends.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)}
	s := Compile(Delta{
		Types: map[string][]*InstanceType{"default": {small}}, Nodes: []*corev1.Node{ends, coverNode("stays", "m.small", "z0", 0)},
	})
	if got := s.PriceOf(mustNode(t, s, "stays")); got != 0 {
		t.Errorf("the node that stays costs %v", got)
	}
	if got := s.PriceOf(mustNode(t, s, "ends")); math.Abs(got-0.05) > 1e-9 {
		t.Errorf("the node that ends costs %v, want 0.05 because half of it is covered", got)
	}
	if c := s.Coverage(); c.Left("ri") != 1 || c.Usage()[0].Used != 3 || c.Has("ends") {
		t.Errorf("%d units are left, usage %+v", c.Left("ri"), c.Usage())
	}
}

// Any commitments: the parts add up, units are never exceeded, more units never raise the bill, and the bill falls by what
// Released says.
func TestCoverageLaws(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		var types []*InstanceType
		for i := range 1 + r.IntN(4) {
			types = append(types, coverType(fmt.Sprint("t", i), float64(1+r.IntN(100))/100, float64(1+r.IntN(100))/100))
		}
		var commitments []*commitment.Commitment
		for i := range 1 + r.IntN(3) {
			c := &commitment.Commitment{ID: fmt.Sprint("c", i), Order: i, Units: int64(r.IntN(200))}
			if r.IntN(10) == 0 {
				c.Units = commitment.MaxUnits
			}
			commitments = append(commitments, c)
			for _, x := range types {
				for z := range x.Offerings {
					if r.IntN(2) == 0 {
						coverOn(x, z, c, 1+r.Int64N(40))
					}
				}
			}
		}
		var d Delta
		d.Types = map[string][]*InstanceType{"default": types}
		list := 0.0
		for i := range r.IntN(30) {
			x, z := types[r.IntN(len(types))], r.IntN(2)
			list += x.Offerings[z].Price
			d.Nodes = append(d.Nodes, coverNode(fmt.Sprint("n", i), x.Name, fmt.Sprint("z", z), time.Duration(r.IntN(5))*time.Hour))
		}
		s := Compile(d)
		bill := func(s *Snapshot) (sum float64) {
			for _, n := range s.Nodes() {
				sum += s.PriceOf(n)
			}
			return sum
		}
		before := bill(s)
		if before > list+1e-9 || before < 0 {
			t.Fatalf("seed %d: the bill is %v, without commitments %v", seed, before, list)
		}
		used := 0.0
		for _, u := range s.Coverage().Usage() {
			if u.Used < 0 || u.Used > u.Units || u.Covered > u.Eligible+1e-9 {
				t.Fatalf("seed %d: %+v", seed, u)
			}
			used += u.Saved
		}
		if math.Abs(before+used-list) > 1e-9*(1+list) {
			t.Fatalf("seed %d: the bill %v and what is covered %v are not the list price %v", seed, before, used, list)
		}
		if nodes := s.Nodes(); len(nodes) > 0 {
			some := nodes[:1+r.IntN(len(nodes))]
			var names []string
			free := 0.0
			for _, n := range some {
				if s.Coverage().Has(n.Name) {
					names = append(names, n.Name)
				} else {
					free += s.PriceOf(n)
				}
			}
			if got, want := free+s.Coverage().Released(names...), before-bill(s.Without(some...)); math.Abs(got-want) > 1e-9*(1+list) {
				t.Fatalf("seed %d: Released says %v, the bill falls by %v", seed, got, want)
			}
		}
		for _, c := range commitments {
			c.Units = min(c.Units*2, commitment.MaxUnits)
		}
		if after := bill(Compile(d)); after > before+1e-6*(1+list) {
			t.Fatalf("seed %d: with twice the units the bill rises from %v to %v", seed, before, after)
		}
	}
}

// Without commitments nothing is computed.
func TestNoCoverage(t *testing.T) {
	s := Compile(Delta{Types: map[string][]*InstanceType{"default": {coverType("m", 0.1)}}, Nodes: []*corev1.Node{coverNode("a", "m", "z0", 0)}})
	if s.Coverage() != nil || s.Coverage().Usage() != nil || s.Coverage().Has("a") || s.PriceOf(mustNode(t, s, "a")) != 0.1 {
		t.Error("there is a coverage without commitments")
	}
}
