// Package floor computes lower bounds of the price of new nodes for given pods. Price is the linear relaxation, with
// fractions of nodes and pods. Configuration allows fractions of nodes only. The algorithms are not those of the engine, so
// that its lower bound can be compared with them.
package floor

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// A resource is a resource that the relaxation considers, with a unit in which all amounts are of similar size.
type resource struct {
	name corev1.ResourceName
	unit float64
}

var resources = []resource{
	{corev1.ResourceCPU, 1000}, {corev1.ResourceMemory, 1 << 30}, {corev1.ResourcePods, 1}, {"nvidia.com/gpu", 1}, {model.Nodes, 1},
}

// Price returns the lower bound in dollars per hour for the pods of c that have no node. All capacity is new and has
// one of the given capacity types. The requests of daemons are subtracted from every node. A type without remaining
// capacity is left out.
//
// Besides resource requests it considers one constraint: pods with anti-affinity to each other by host need a node
// each. Other constraints can only raise the price.
func Price(c *workload.Cluster, capacityTypes ...string) (float64, error) {
	need := model.Resources{}
	for _, p := range c.Pods {
		if p.Spec.NodeName == "" {
			need = need.Plus(model.NewPod(p).Requests)
		}
	}
	need[model.Nodes] = Hosts(c)
	over := Overhead(c)
	var rooms []model.Resources
	var prices []float64
	for i := range c.Catalogue {
		t := &c.Catalogue[i]
		room, err := t.Resources()
		if err != nil {
			return 0, err
		}
		price := cheapest(t, capacityTypes)
		room = room.Minus(over)
		room[model.Nodes] = 1
		if !math.IsInf(price, 1) && min(room[corev1.ResourceCPU], room[corev1.ResourceMemory], room[corev1.ResourcePods]) > 0 {
			rooms, prices = append(rooms, room), append(prices, price)
		}
	}
	return cover(need, rooms, prices)
}

// Hosts returns the size of the largest group of pods of which no two may share a host.
func Hosts(c *workload.Cluster) int64 {
	groups := map[string]int64{}
	most := int64(0)
	for _, p := range c.Pods {
		if p.Spec.NodeName != "" || p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
			continue
		}
		for _, t := range p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
			if err != nil || t.TopologyKey != corev1.LabelHostname || t.NamespaceSelector != nil || !s.Matches(labels.Set(p.Labels)) ||
				len(t.Namespaces)+len(t.MatchLabelKeys)+len(t.MismatchLabelKeys) > 0 {
				continue // the term may not select all pods that are equal to p
			}
			name := p.Namespace + "/" + s.String()
			groups[name]++
			most = max(most, groups[name])
		}
	}
	return most
}

// Overhead returns the requests of DaemonSets on every node.
func Overhead(c *workload.Cluster) model.Resources {
	sum := model.Resources{}
	for _, d := range c.Daemons {
		sum = sum.Plus(model.NewDaemon(d).Pod.Requests)
	}
	return sum
}

func cheapest(t *catalogue.Type, capacityTypes []string) float64 {
	price := math.Inf(1)
	for _, o := range t.Offerings {
		if slices.Contains(capacityTypes, o.CapacityType) {
			price = min(price, o.Price)
		}
	}
	return price
}

// cover returns the least cost of fractional numbers of nodes, with capacities rooms, whose total capacity is at least
// need.
func cover(need model.Resources, rooms []model.Resources, prices []float64) (float64, error) {
	var rows []resource
	for _, r := range resources {
		if need[r.name] > 0 {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	// Each row: capacity minus unused capacity equals need.
	columns := len(rooms) + len(rows)
	a, b, cost := mat.NewDense(len(rows), columns, nil), make([]float64, len(rows)), make([]float64, columns)
	copy(cost, prices)
	for i, r := range rows {
		b[i] = float64(need[r.name]) / r.unit
		for j, room := range rooms {
			a.Set(i, j, float64(max(room[r.name], 0))/r.unit)
		}
		a.Set(i, len(rooms)+i, -1)
	}
	least, _, err := lp.Simplex(cost, a, b, 1e-10, nil)
	if err != nil {
		return 0, fmt.Errorf("no floor for %d types: %w", len(rooms), err)
	}
	return least, nil
}
