package result

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/bench/floor"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// A Score is the result of judging a plan: the numbers of pods and nodes, and the price.
type Score struct {
	Placed, Unplaced int
	Nodes            int
	// Price is the sum over the nodes of the price of the cheapest allowed offering with enough capacity for the
	// planned pods.
	Price float64
	// Mix counts the nodes by the type of that offering.
	Mix map[string]int
}

// A Judge scores plans for one cluster.
type Judge struct {
	rooms map[string]model.Resources
	types map[string]*catalogue.Type
	needs map[string]model.Resources
	over  model.Resources
}

// NewJudge returns the judge of plans for the pending pods of c.
func NewJudge(c *workload.Cluster) (*Judge, error) {
	j := &Judge{
		rooms: map[string]model.Resources{}, types: map[string]*catalogue.Type{}, needs: map[string]model.Resources{},
		over: floor.Overhead(c),
	}
	for i := range c.Catalogue {
		t := &c.Catalogue[i]
		room, err := t.Resources()
		if err != nil {
			return nil, err
		}
		j.rooms[t.Name], j.types[t.Name] = room, t
	}
	for _, p := range c.Pods {
		if p.Spec.NodeName == "" {
			j.needs[workload.Key(p)] = model.NewPod(p).Requests
		}
	}
	return j, nil
}

// Score returns the score of the run. It returns an error with all faults if a pod does not occur exactly once, or if
// the pods of a node fit on none of its options.
func (j *Judge) Score(r *Run) (Score, error) {
	s := Score{Nodes: len(r.Nodes), Unplaced: len(r.Unplaced), Mix: map[string]int{}}
	var faults []error
	seen := map[string]bool{}
	account := func(pods []string) {
		for _, name := range pods {
			if _, ok := j.needs[name]; !ok {
				faults = append(faults, fmt.Errorf("pod %s was not pending", name))
			}
			if seen[name] {
				faults = append(faults, fmt.Errorf("pod %s is planned twice", name))
			}
			seen[name] = true
		}
	}
	account(r.Unplaced)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		account(n.Pods)
		s.Placed += len(n.Pods)
		price, name := j.cheapest(n)
		if math.IsInf(price, 1) {
			faults = append(faults, fmt.Errorf("node %d of %d: none of its %d options holds its %d pods and the daemons",
				i+1, len(r.Nodes), len(n.Options), len(n.Pods)))
		}
		s.Price += price
		s.Mix[name]++
	}
	if missing := len(j.needs) - len(seen); missing > 0 {
		faults = append(faults, fmt.Errorf("%d of %d pods are neither placed nor refused", missing, len(j.needs)))
	}
	return s, errors.Join(faults...)
}

// cheapest returns the lowest price of an offering that the node allows and that has enough capacity, and the name of
// its type.
func (j *Judge) cheapest(n *Node) (price float64, name string) {
	need := j.over
	for _, pod := range n.Pods {
		need = need.Plus(j.needs[pod])
	}
	price = math.Inf(1)
	for _, option := range n.Options {
		t, ok := j.types[option]
		if !ok {
			continue
		}
		if _, _, short := need.Short(j.rooms[option]); short {
			continue
		}
		for _, o := range t.Offerings {
			if o.Price < price && slices.Contains(n.Zones, o.Zone) && slices.Contains(n.CapacityTypes, o.CapacityType) {
				price, name = o.Price, option
			}
		}
	}
	return price, name
}

// Values returns the distinct results of the parameter of for all offerings of the types, sorted.
func Values(types []catalogue.Type, of func(catalogue.Offering) string) []string {
	var out []string
	for i := range types {
		for _, o := range types[i].Offerings {
			if v := of(o); !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	slices.Sort(out)
	return out
}
