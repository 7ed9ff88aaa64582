package v1alpha1

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Validate checks what the schema of an overlay cannot check. It also repeats checks of the schema, for overlays that were
// stored under an older schema. It returns all mistakes in one error, in the order of the fields, each with the path of its
// field.
func (o *NodeOverlay) Validate(rules apiv1.LabelRules) error {
	spec := field.NewPath("spec")
	var errs []error
	for i, r := range o.Spec.Requirements {
		at := spec.Child("requirements").Index(i)
		if err := apiv1.ValidateRequirement(r.WithMinValues(), rules); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", at, err))
		}
		if r.Operator == corev1.NodeSelectorOpNotIn && len(r.Values) == 0 {
			errs = append(errs, fmt.Errorf("%s: operator NotIn of key %s needs at least one value", at, r.Key))
		}
	}
	if o.Spec.Price != nil && o.Spec.PriceAdjustment != nil {
		errs = append(errs, fmt.Errorf("%s: set only one of price and priceAdjustment", spec))
	}
	if o.Spec.Price != nil {
		if price, err := strconv.ParseFloat(*o.Spec.Price, 64); err != nil || !(price >= 0 && price <= maxPrice) { // also true for NaN
			errs = append(errs, fmt.Errorf("%s: %q is no price: use a number from 0 to %d", spec.Child("price"), *o.Spec.Price, maxPrice))
		}
	}
	if o.Spec.PriceAdjustment != nil {
		text := *o.Spec.PriceAdjustment
		if by, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64); err != nil || !(math.Abs(by) <= maxPrice) {
			errs = append(errs, fmt.Errorf("%s: %q is no amount such as +0.05 and no part such as -10%%, of at most %d",
				spec.Child("priceAdjustment"), text, maxPrice))
		}
	}
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods,
	} {
		if _, ok := o.Spec.Capacity[name]; ok {
			errs = append(errs, fmt.Errorf("%s: %w", spec.Child("capacity").Key(string(name)), errNotExtended))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Spec.Capacity)) {
		if amount := o.Spec.Capacity[name]; amount.Sign() < 0 {
			errs = append(errs, fmt.Errorf("%s: no amount of 0 or more: use a quantity such as 1", spec.Child("capacity").Key(string(name))))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// maxPrice is the largest price in dollars per hour, and the largest adjustment of one, in dollars or percent. It is far above
// the price of any instance, and sums of such prices stay exact enough to be compared.
const maxPrice = 1_000_000_000

// errNotExtended is the error for a resource that every instance type has.
var errNotExtended = errors.New("only extended resources may be added")

// WithMinValues converts the requirement to the type that pools use, without
// minValues.
func (r NodeSelectorRequirement) WithMinValues() apiv1.NodeSelectorRequirementWithMinValues {
	return apiv1.NodeSelectorRequirementWithMinValues{Key: r.Key, Operator: r.Operator, Values: r.Values}
}
