package launch

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

const (
	// maxTypes is the largest number of types in one fleet call.
	maxTypes = 60
	// maxOverrides is EC2's limit of type and subnet pairs in one fleet.
	maxOverrides = 300
	// maxConfigs is EC2's limit of launch templates in one fleet.
	maxConfigs = 50
)

// A Choice has the types and offerings that a fleet call for a claim may use.
type Choice struct {
	CapacityType string
	Tenancy      string
	// Partition is the partition of the placement group: the lowest that the claim allows and that has an offering of the
	// capacity type. It is empty if the claim has no requirement on the partition, so that EC2 chooses, or if no offering has one.
	Partition string
	// Types are the types that may be launched, cheapest first.
	Types []*model.InstanceType
	// Offers has, for each of Types, its offerings with CapacityType, cheapest first.
	Offers [][]model.Offering
	// Dropped has what the filters removed, in the order of the filters.
	Dropped drops
}

// A candidate is a type with the offerings that the claim may use.
type candidate struct {
	t      *model.InstanceType
	offers []model.Offering
}

func (c candidate) cheapest() float64 { return slices.MinFunc(c.offers, model.Offering.Compare).Price }

// byPrice orders candidates by their cheapest offerings, and by name if these cost the same.
func byPrice(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.cheapest(), b.cheapest()), cmp.Compare(a.t.Name, b.t.Name))
}

// has reports whether the candidate has an offering of the capacity type.
func (c candidate) has(capacityType string) bool {
	return slices.ContainsFunc(c.offers, func(o model.Offering) bool { return o.CapacityType == capacityType })
}

// ChooseOptions are the settings of Choose.
type ChooseOptions struct {
	// Aliases map deprecated label keys to stable ones.
	Aliases map[string]string
	// RelaxMinValues is true if minValues need not be met. They also need not be met for a claim that was planned so.
	RelaxMinValues bool
}

// Choose returns the types and offerings for the fleet call of a claim. It takes the offerings that meet the claim, prefers
// reserved ones, removes types and offerings that are used only without alternative, and keeps the cheapest types. It returns a
// cloud.InsufficientCapacityError if no type is left, or if the types that are left do not meet the minValues of the claim.
func Choose(claim *apiv1.NodeClaim, types []*model.InstanceType, o ChooseOptions) (Choice, error) {
	reqs := require.FromSpec(claim.Spec.Requirements).Normalize(o.Aliases)
	left := fitting(types, reqs, model.RequestsOf(claim.Spec.Resources.Requests))
	if len(left) == 0 {
		return Choice{}, shortage("none of %d instance types has an available offering that meets the NodeClaim", len(types))
	}
	var dropped drops
	left = dropped.filter("reserved-offering-filter", left, func(in []candidate) []candidate { return preferReserved(in, reqs) })
	if !hasMinValues(reqs) {
		left = dropped.filter("exotic-instance-filter", left, func(in []candidate) []candidate { return removeUnlessAll(in, isAccelerated) })
		left = dropped.filter("exotic-instance-filter", left, func(in []candidate) []candidate { return removeUnlessAll(in, isMetal) })
		left = dropped.filter("spot-offering-filter", left, func(in []candidate) []candidate { return removeExpensiveSpot(in, reqs) })
	}
	slices.SortStableFunc(left, byPrice)
	left = firstTypes(left, reqs)
	if key := unmetMinValues(left, reqs); key != "" && !o.RelaxMinValues && !minValuesRelaxed(claim) {
		return Choice{}, shortage("available offerings have fewer values of %s than its minValues", key)
	}
	choice := newChoice(left, reqs)
	choice.Dropped = dropped
	return choice, nil
}

// shortage returns a cloud.InsufficientCapacityError.
func shortage(format string, args ...any) error {
	return &cloud.InsufficientCapacityError{Err: fmt.Errorf(format, args...)}
}

// fitting returns the types that meet the claim's requirements, are large enough for its requests, and have an
// available offering for it.
func fitting(types []*model.InstanceType, reqs require.Set, requests model.Resources) []candidate {
	var out []candidate
	for _, t := range types {
		if _, ok := reqs.Intersects(t.Requirements); !ok {
			continue
		}
		if _, _, short := requests.Short(t.Allocatable); short {
			continue
		}
		c := candidate{t: t}
		for _, o := range t.Offerings {
			if _, ok := reqs.Intersects(o.Requirements); ok && o.Launchable() {
				c.offers = append(c.offers, o)
			}
		}
		if len(c.offers) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// hasMinValues reports whether a requirement has minValues.
func hasMinValues(reqs require.Set) bool {
	for r := range reqs.All() {
		if r.MinValues() > 0 {
			return true
		}
	}
	return false
}

// firstTypes returns the first maxTypes candidates in the given order. If these do not meet minValues, it returns as few later ones
// in place of the last of them as are needed for one further value each.
func firstTypes(left []candidate, reqs require.Set) []candidate {
	if len(left) <= maxTypes || unmetMinValues(left[:maxTypes], reqs) == "" {
		return left[:min(len(left), maxTypes)]
	}
	needed := map[int]bool{}
	for r := range reqs.All() {
		addNeeded(needed, left, r)
	}
	others := maxTypes - len(needed) // how many candidates that are not needed are kept
	var kept []candidate
	for i, c := range left {
		switch {
		case needed[i]:
			kept = append(kept, c)
		case others > 0:
			kept = append(kept, c)
			others--
		}
	}
	return kept[:min(len(kept), maxTypes)]
}

// addNeeded adds to needed the indices of the first candidates that together have minValues values of the requirement.
func addNeeded(needed map[int]bool, left []candidate, r require.Requirement) {
	values := map[string]bool{}
	for i, c := range left {
		for v := range valuesOf(c, r) {
			if !values[v] && len(values) < r.MinValues() {
				values[v], needed[i] = true, true
			}
		}
	}
}

// minValuesRelaxed reports whether the claim was planned with fewer values than its minValues, as the policy BestEffort allows.
func minValuesRelaxed(claim *apiv1.NodeClaim) bool {
	return claim.Annotations[apiv1.NodeClaimMinValuesRelaxedAnnotationKey] == "true"
}

// removeUnlessAll removes the candidates for which remove returns true, unless none would be left.
func removeUnlessAll(in []candidate, remove func(candidate) bool) []candidate {
	if !slices.ContainsFunc(in, func(c candidate) bool { return !remove(c) }) {
		return in
	}
	return slices.DeleteFunc(in, remove)
}

// isMetal reports whether the type is bare metal. For a claim without minValues, such a type is used only if the claim
// allows no other.
func isMetal(c candidate) bool {
	_, size, _ := strings.Cut(c.t.Name, ".")
	return strings.Contains(size, "metal")
}

// isAccelerated reports whether the type has GPUs or other accelerators. For a claim without minValues, such a type is
// used only if the claim allows no other.
func isAccelerated(c candidate) bool {
	for _, name := range []corev1.ResourceName{
		awsv1.ResourceNVIDIAGPU, awsv1.ResourceAMDGPU, awsv1.ResourceHabanaGaudi,
		awsv1.ResourceAWSNeuron, awsv1.ResourceAWSNeuronCore,
	} {
		if c.t.Capacity[name] > 0 {
			return true
		}
	}
	return false
}

// removeExpensiveSpot removes spot offerings that cost more than the cheapest on-demand offering, if the claim allows both.
func removeExpensiveSpot(in []candidate, reqs require.Set) []candidate {
	if !allows(reqs, apiv1.CapacityTypeSpot) || !allows(reqs, apiv1.CapacityTypeOnDemand) {
		return in
	}
	limit, found := 0.0, false
	for _, c := range in {
		for _, o := range c.offers {
			if o.CapacityType == apiv1.CapacityTypeOnDemand && (!found || o.Price < limit) {
				limit, found = o.Price, true
			}
		}
	}
	if !found || !slices.ContainsFunc(in, func(c candidate) bool { return c.has(apiv1.CapacityTypeSpot) }) {
		return in
	}
	var out []candidate
	for _, c := range in {
		c.offers = slices.DeleteFunc(slices.Clone(c.offers), func(o model.Offering) bool {
			return o.CapacityType == apiv1.CapacityTypeSpot && o.Price > limit
		})
		if len(c.offers) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// allows reports whether the requirements allow the capacity type.
func allows(reqs require.Set, capacityType string) bool {
	r, constrained := reqs.Get(apiv1.CapacityTypeLabelKey)
	return !constrained || r.Has(capacityType)
}

// unmetMinValues returns the first label key with fewer values than its minValues among the candidates, empty if there is none.
func unmetMinValues(left []candidate, reqs require.Set) string {
	for r := range reqs.All() {
		if r.MinValues() == 0 {
			continue
		}
		values := map[string]bool{}
		for _, c := range left {
			for v := range valuesOf(c, r) {
				values[v] = true
			}
		}
		if len(values) < r.MinValues() {
			return r.Key()
		}
	}
	return ""
}

// valuesOf returns the values of the candidate's type that meet the requirement, none if the type leaves the value open.
func valuesOf(c candidate, r require.Requirement) iter.Seq[string] {
	have, ok := c.t.Requirements.Get(r.Key())
	if !ok {
		return func(func(string) bool) {}
	}
	return have.Intersect(r).Listed()
}

// newChoice chooses the capacity type, the tenancy and the partition, and removes all other offerings. It omits a type
// with which the choice would exceed maxOverrides.
func newChoice(left []candidate, reqs require.Set) Choice {
	choice := Choice{CapacityType: apiv1.CapacityTypeOnDemand, Tenancy: awsv1.TenancyDefault}
	for _, preferred := range []string{apiv1.CapacityTypeReserved, apiv1.CapacityTypeSpot} {
		if allows(reqs, preferred) && slices.ContainsFunc(left, func(c candidate) bool { return c.has(preferred) }) {
			choice.CapacityType = preferred
			break
		}
	}
	if r, ok := reqs.Get(awsv1.LabelInstanceTenancy); ok && !r.Has(awsv1.TenancyDefault) && r.Has(awsv1.TenancyDedicated) {
		choice.Tenancy = awsv1.TenancyDedicated
	}
	choice.Partition = firstPartition(left, reqs, choice.CapacityType)
	pairs := 0
	for _, c := range left {
		offers := slices.DeleteFunc(slices.Clone(c.offers), func(o model.Offering) bool {
			return o.CapacityType != choice.CapacityType || choice.Partition != "" && partitionOf(o) != choice.Partition
		})
		offers = onePerZone(offers)
		if len(offers) == 0 || pairs+len(offers) > maxOverrides {
			continue
		}
		pairs += len(offers)
		slices.SortFunc(offers, model.Offering.Compare)
		choice.Types, choice.Offers = append(choice.Types, c.t), append(choice.Offers, offers)
	}
	return choice
}

// firstPartition returns the lowest partition that the claim allows and that has an offering of the
// capacity type. If the claim has no requirement on the partition, it returns "", and EC2 chooses.
// It also returns "" if there is no such partition.
func firstPartition(left []candidate, reqs require.Set, capacityType string) string {
	if !reqs.Has(awsv1.LabelPlacementGroupPartition) {
		return ""
	}
	var found []int
	for _, c := range left {
		for _, o := range c.offers {
			if n, err := strconv.Atoi(partitionOf(o)); err == nil && o.CapacityType == capacityType {
				found = append(found, n)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return strconv.Itoa(slices.Min(found))
}

// onePerZone removes offerings that differ only in their partition, because the fleet call names each zone once.
func onePerZone(in []model.Offering) []model.Offering {
	type place struct{ zone, capacityType, reservation string }
	seen := map[place]bool{}
	return slices.DeleteFunc(in, func(o model.Offering) bool {
		p := place{o.Zone, o.CapacityType, o.ReservationID}
		again := seen[p]
		seen[p] = true
		return again
	})
}
