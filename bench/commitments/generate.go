package commitments

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// microsPerUSD is the number of units of a Savings Plan in a dollar per hour.
	microsPerUSD = 1e6
	// familyRate and planRate are the prices of a commitment for one family and of one for all families, as shares of the
	// list price.
	familyRate, planRate = 0.60, 0.72
	// paidShare is the mean of these prices over the four commitments.
	paidShare = (3*familyRate + planRate) / 4
)

// Generate adds commitments to the on-demand offerings of the types: reserved instances of two families, whose unit is a core,
// a Savings Plan for a family, and one for all families. Each is worth a quarter of usd, in dollars per hour at list prices.
// The families are drawn by the seed. All commitments together cost paidShare of usd.
func Generate(types []*model.InstanceType, usd float64, seed uint64) []*model.InstanceType {
	r := rand.New(rand.NewPCG(seed, 22))
	families := familiesOf(types)
	r.Shuffle(len(families), func(i, j int) { families[i], families[j] = families[j], families[i] })
	out := make([]*model.InstanceType, len(types))
	for i, t := range types {
		own := *t
		own.Offerings = slices.Clone(t.Offerings)
		out[i] = &own
	}
	order := 0
	add := func(name string, units float64, use func(t *model.InstanceType, price float64) float64) {
		c := &commitment.Commitment{ID: name, Order: order, Units: int64(units)}
		order++
		for _, t := range out {
			for k := range t.Offerings {
				o := &t.Offerings[k]
				if n := int64(use(t, o.Price)); n > 0 && o.CapacityType == apiv1.CapacityTypeOnDemand {
					o.Covers = append(o.Covers, commitment.Cover{Commitment: c, Use: n})
				}
			}
		}
	}
	in := func(t *model.InstanceType, family string) bool { return familyOf(t) == family }
	for _, family := range families[:min(2, len(families))] {
		add("ri-"+family, usd/4/pricePerCore(types, family), func(t *model.InstanceType, _ float64) float64 {
			if !in(t, family) {
				return 0
			}
			return coresOf(t)
		})
	}
	last := families[len(families)-1]
	add("plan-"+last, usd/4*familyRate*microsPerUSD, func(t *model.InstanceType, price float64) float64 {
		if !in(t, last) {
			return 0
		}
		return math.Round(price * familyRate * microsPerUSD)
	})
	add("plan", usd/4*planRate*microsPerUSD, func(_ *model.InstanceType, price float64) float64 {
		return math.Round(price * planRate * microsPerUSD)
	})
	return out
}

func familyOf(t *model.InstanceType) string {
	family, _, _ := strings.Cut(t.Name, ".")
	return family
}

func familiesOf(types []*model.InstanceType) []string {
	var out []string
	for _, t := range types {
		if f := familyOf(t); !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}

// coresOf returns the cores of a type, those of the kubelet included.
func coresOf(t *model.InstanceType) float64 {
	return math.Ceil(float64(t.Allocatable[corev1.ResourceCPU]) / 1000)
}

// pricePerCore returns the lowest on-demand price per core in the family.
func pricePerCore(types []*model.InstanceType, family string) float64 {
	least := math.Inf(1)
	for _, t := range types {
		for _, o := range t.Offerings {
			if familyOf(t) == family && o.CapacityType == apiv1.CapacityTypeOnDemand {
				least = min(least, o.Price/coresOf(t))
			}
		}
	}
	return least
}

// Names returns a text with the commitments of the types, in their order.
func Names(types []*model.InstanceType) string {
	var names []string
	for _, t := range types {
		for _, o := range t.Offerings {
			for _, c := range o.Covers {
				if text := fmt.Sprintf("%d %s", c.Commitment.Order, c.Commitment.ID); !slices.Contains(names, text) {
					names = append(names, text)
				}
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
