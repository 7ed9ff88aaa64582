package prices

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/glob"
)

// Rules are the content of the price book: the list prices, discounts, fees and commitments of the account.
type Rules struct {
	// ListPrices replace the on-demand list prices of instance types, in dollars per hour. They may be of types whose list
	// price is not known.
	ListPrices map[string]float64 `json:"listPrices,omitempty"`
	// Discounts are the discounts in order. The first that matches and is not used up applies.
	Discounts []Discount `json:"discounts,omitempty"`
	// Fees are added to the price of each node that they match. Examples are licences, agents and support.
	Fees []Fee `json:"fees,omitempty"`
	// Commitments are paid for whether they are used or not, in the order in which they apply.
	Commitments []Commitment `json:"commitments,omitempty"`
}

// A Match selects the offerings of a rule. All fields that are set must match. An empty Match selects all offerings.
type Match struct {
	// Types are patterns of instance types, such as "m7i.*". * matches any characters, and ? any one character.
	Types []string `json:"types,omitempty"`
	// Families are instance families, such as m7i.
	Families []string `json:"families,omitempty"`
	// CapacityTypes are on-demand and spot; by default on-demand alone for discounts, both for fees.
	CapacityTypes []string `json:"capacityTypes,omitempty"`
}

// A Discount is a price below the list price: negotiated, by a Savings Plan, or by reserved instances.
type Discount struct {
	Name  string `json:"name,omitempty"`
	Match Match  `json:"match,omitempty"`
	// Percent is subtracted from the list price, 0 to 100. 100 is for instances that are paid for already.
	Percent float64 `json:"percent"`
	// Instances is the number of nodes of each matching type to which the discount applies, as for reserved instances.
	// 0 means any number. Nodes are counted once a minute, so launches within a minute may exceed the number.
	Instances int `json:"instances,omitempty"`
	// VCPUs is the number of vCPUs of all matching types together to which the discount applies, as for a Savings Plan.
	// 0 means any number.
	VCPUs int64 `json:"vcpus,omitempty"`
}

// A Fee is added to the price of a node, in dollars per hour.
type Fee struct {
	Name  string  `json:"name,omitempty"`
	Match Match   `json:"match,omitempty"`
	USD   float64 `json:"usd"`
}

// maxFee is the largest fee, the largest list price and the largest commitment of a Savings Plan, in dollars per hour. A
// larger amount is a mistake, and prices would no longer be comparable.
const maxFee = 1_000_000

// ParseRules parses a price book. The error names every invalid field.
func ParseRules(text string) (Rules, error) {
	var r Rules
	if err := yaml.UnmarshalStrict([]byte(text), &r); err != nil {
		return Rules{}, fmt.Errorf("read price book: %w", err)
	}
	errs := append(r.prepareCommitments(), r.checkListPrices()...)
	check := func(path string, m Match) {
		for _, c := range m.CapacityTypes {
			if c != apiv1.CapacityTypeOnDemand && c != apiv1.CapacityTypeSpot {
				errs = append(errs, fmt.Errorf("%s.match.capacityTypes: %q is neither on-demand nor spot", path, c))
			}
		}
	}
	for n, d := range r.Discounts {
		path := fmt.Sprintf("discounts[%d]", n)
		check(path, d.Match)
		if !(d.Percent >= 0 && d.Percent <= 100) { // also true for NaN
			errs = append(errs, fmt.Errorf("%s.percent: %v is not from 0 to 100", path, d.Percent))
		}
		if d.Instances < 0 || d.VCPUs < 0 {
			errs = append(errs, fmt.Errorf("%s: instances and vcpus are 0 or more", path))
		}
	}
	for n, f := range r.Fees {
		path := fmt.Sprintf("fees[%d]", n)
		check(path, f.Match)
		if !(f.USD >= 0 && f.USD <= maxFee) { // also true for NaN
			errs = append(errs, fmt.Errorf("%s.usd: %v is not from 0 to %d", path, f.USD, maxFee))
		}
	}
	if len(errs) > 0 {
		return Rules{}, errors.Join(errs...)
	}
	return r, nil
}

// checkListPrices returns an error for each invalid list price, in the order of types.
func (r *Rules) checkListPrices() (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(r.ListPrices)) {
		if _, size, _ := strings.Cut(name, "."); size == "" || strings.ContainsAny(name, "*?") {
			errs = append(errs, fmt.Errorf("listPrices: %q is not an instance type such as m8i.large", name))
		}
		if p := r.ListPrices[name]; !(p > 0 && p <= maxFee) { // also true for NaN
			errs = append(errs, fmt.Errorf("listPrices[%s]: %v is not above 0 and at most %d", name, p, maxFee))
		}
	}
	return errs
}

// fits reports whether the rule applies to the offering. byDefault are the capacity types of a Match without
// CapacityTypes.
func (m Match) fits(instanceType, capacityType string, byDefault ...string) bool {
	if len(m.CapacityTypes) > 0 {
		byDefault = m.CapacityTypes
	}
	return slices.Contains(byDefault, capacityType) && m.names(instanceType)
}

// names reports whether the types and families of the rule include the instance type.
func (m Match) names(instanceType string) bool {
	return (len(m.Types) == 0 || slices.ContainsFunc(m.Types, func(p string) bool { return glob.Match(p, instanceType) })) &&
		(len(m.Families) == 0 || slices.Contains(m.Families, familyOf(instanceType)))
}

// Usage counts the nodes that exist now.
type Usage struct {
	// Nodes is the number of nodes, and VCPUs the number of their vCPUs, by instance type and capacity type.
	Nodes map[Sold]int
	VCPUs map[Sold]int64
}

// Sold is an instance type with a capacity type.
type Sold struct{ Type, CapacityType string }

// Price returns the price of one more node of the offering by the rules, in dollars per hour, with fees. list is the
// list price or spot price of the offering.
func (r Rules) Price(instanceType, capacityType string, list float64, u Usage) float64 {
	price := list
	for _, d := range r.Discounts {
		if d.Match.fits(instanceType, capacityType, apiv1.CapacityTypeOnDemand) && d.open(instanceType, capacityType, u) {
			price = list * (100 - d.Percent) / 100
			break
		}
	}
	return price + r.fees(instanceType, capacityType)
}

// fees returns the sum of the fees that match, in dollars per hour.
func (r *Rules) fees(instanceType, capacityType string) (sum float64) {
	for _, f := range r.Fees {
		if f.Match.fits(instanceType, capacityType, apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot) {
			sum += f.USD
		}
	}
	return sum
}

// open reports whether the discount applies to one more node of the type with the capacity type.
func (d Discount) open(instanceType, capacityType string, u Usage) bool {
	if d.Instances > 0 && u.Nodes[Sold{instanceType, capacityType}] >= d.Instances {
		return false
	}
	if d.VCPUs == 0 {
		return true
	}
	sum := int64(0)
	for sold, n := range u.VCPUs {
		if d.Match.fits(sold.Type, sold.CapacityType, apiv1.CapacityTypeOnDemand) {
			sum += n
		}
	}
	return sum < d.VCPUs
}
