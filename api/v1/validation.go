package v1

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate checks what the schema of a pool cannot: labels, taints and requirements under the rules of the provider. It
// returns all mistakes in one error, in the order of the fields, each with the path of its field.
func (p *NodePool) Validate(rules LabelRules) error {
	template := field.NewPath("spec", "template")
	spec := template.Child("spec")
	errs := validateLabels(p.Spec.Template.Labels, rules, template.Child("metadata", "labels"))
	errs = append(errs, validateTaints(p.Spec.Template.Spec, spec)...)
	for i, requirement := range p.Spec.Template.Spec.Requirements {
		at := spec.Child("requirements").Index(i)
		if requirement.Key == NodePoolLabelKey {
			errs = append(errs, fmt.Errorf("%s: label %s is the pool's own name and cannot be required", at, NodePoolLabelKey))
			continue
		}
		if err := ValidateRequirement(requirement, rules); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", at, err))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// validateLabels checks the labels of a template, in key order.
func validateLabels(labels map[string]string, rules LabelRules, at *field.Path) []error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		fail := func(err error) { errs = append(errs, fmt.Errorf("%s: %w", at.Key(key), err)) }
		if key == NodePoolLabelKey {
			fail(errors.New("the label is set by Karpenter to the name of the pool"))
			continue
		}
		for _, wrong := range validation.IsQualifiedName(key) {
			fail(fmt.Errorf("bad label key: %s", wrong))
		}
		for _, wrong := range validation.IsValidLabelValue(labels[key]) {
			fail(fmt.Errorf("bad label value %q: %s", labels[key], wrong))
		}
		if err := rules.CheckKey(key); err != nil {
			fail(err)
		}
	}
	return errs
}

// taintIdentity identifies a taint. The API server does not accept a node with two taints of the same identity.
type taintIdentity struct {
	key    string
	effect corev1.TaintEffect
}

// validateTaints checks both lists of taints together, because a node has the
// taints of both.
func validateTaints(spec NodeClaimTemplateSpec, at *field.Path) []error {
	var errs []error
	seen := map[taintIdentity]*field.Path{}
	check := func(taints []corev1.Taint, list *field.Path) {
		for i, taint := range taints {
			here := list.Index(i)
			for _, err := range validateTaint(taint) {
				errs = append(errs, fmt.Errorf("%s: %w", here, err))
			}
			id := taintIdentity{key: taint.Key, effect: taint.Effect}
			if first, ok := seen[id]; ok {
				errs = append(errs, fmt.Errorf("%s: taint %s:%s is there already, at %s", here, taint.Key, taint.Effect, first))
				continue
			}
			seen[id] = here
		}
	}
	check(spec.Taints, at.Child("taints"))
	check(spec.StartupTaints, at.Child("startupTaints"))
	return errs
}

func validateTaint(taint corev1.Taint) []error {
	var errs []error
	if taint.Key == "" {
		errs = append(errs, errors.New("taint has no key"))
	} else {
		for _, wrong := range validation.IsQualifiedName(taint.Key) {
			errs = append(errs, fmt.Errorf("bad taint key %q: %s", taint.Key, wrong))
		}
	}
	if taint.Value != "" {
		for _, wrong := range validation.IsQualifiedName(taint.Value) {
			errs = append(errs, fmt.Errorf("bad taint value %q: %s", taint.Value, wrong))
		}
	}
	switch taint.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute, "":
	default:
		errs = append(errs, fmt.Errorf("bad taint effect %q: use NoSchedule, PreferNoSchedule or NoExecute", taint.Effect))
	}
	return errs
}

// ValidateRequirement checks one requirement of a pool, a claim or a pod (its node selector and
// required node affinity) and returns all mistakes in one error.
//
// A value of an In requirement that is not among the known values of its key is no mistake if other
// values of the requirement are known: at least one, and at least minValues. UnknownValues returns
// the values that are not known.
func ValidateRequirement(r NodeSelectorRequirementWithMinValues, rules LabelRules) error {
	r.Key = rules.Canonical(r.Key)
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains(operators, r.Operator) {
		fail("bad operator %q of key %s: use one of %s", r.Operator, r.Key, operatorNames())
	}
	if err := rules.CheckKey(r.Key); err != nil {
		errs = append(errs, err)
	}
	if err := validateKnownValues(r, rules); err != nil {
		errs = append(errs, err)
	}
	for _, wrong := range validation.IsQualifiedName(r.Key) {
		fail("bad key %q: %s", r.Key, wrong)
	}
	for _, value := range r.Values {
		for _, wrong := range validation.IsValidLabelValue(value) {
			fail("bad value %q of key %s: %s", value, r.Key, wrong)
		}
	}
	if err := validateValueCount(r); err != nil {
		errs = append(errs, err)
	}
	return utilerrors.NewAggregate(errs)
}

// validateValueCount checks the number of values of In, Gt, Lt, Gte and Lte, and that the value of
// Gt, Lt, Gte and Lte is a whole number of 0 or more. Other operators are not checked.
func validateValueCount(r NodeSelectorRequirementWithMinValues) error {
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		if len(r.Values) == 0 {
			return fmt.Errorf("operator In of key %s needs at least one value", r.Key)
		}
		if r.MinValues != nil && len(r.Values) < *r.MinValues {
			return fmt.Errorf("key %s has minValues %d and only %d values", r.Key, *r.MinValues, len(r.Values))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, NodeSelectorOpGte, NodeSelectorOpLte:
		if len(r.Values) != 1 {
			return fmt.Errorf("operator %s of key %s needs exactly one value, not %d", r.Operator, r.Key, len(r.Values))
		}
		if n, err := strconv.Atoi(r.Values[0]); err != nil || n < 0 {
			return fmt.Errorf("operator %s of key %s needs a whole number of 0 or more, not %q", r.Operator, r.Key, r.Values[0])
		}
	}
	return nil
}

// validateKnownValues checks that enough values of an In requirement are known values of the key:
// at least one, and at least minValues. Keys without known values are not checked. r.Key is canonical, not an alias.
func validateKnownValues(r NodeSelectorRequirementWithMinValues, rules LabelRules) error {
	known, closed := rules.KnownValues[r.Key]
	if !closed || r.Operator != corev1.NodeSelectorOpIn || len(r.Values) == 0 {
		return nil
	}
	count := len(r.Values) - len(UnknownValues(r, rules))
	if count == 0 {
		return fmt.Errorf("key %s has none of its values %q: use %s", r.Key, r.Values, strings.Join(known, ", "))
	}
	if r.MinValues != nil && count < *r.MinValues {
		return fmt.Errorf("key %s has minValues %d and only %d of its values %q exist: use %s",
			r.Key, *r.MinValues, count, r.Values, strings.Join(known, ", "))
	}
	return nil
}

// UnknownValues returns the values of an In requirement that its key can never have, in their order. For other operators and
// for keys without known values, it returns none. The requirement is valid nevertheless if enough other values are known
// (see ValidateRequirement).
func UnknownValues(r NodeSelectorRequirementWithMinValues, rules LabelRules) []string {
	known, closed := rules.KnownValues[rules.Canonical(r.Key)]
	if !closed || r.Operator != corev1.NodeSelectorOpIn {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Values), func(value string) bool {
		return slices.Contains(known, value)
	})
}

// operators are all operators that a requirement can have.
var operators = []corev1.NodeSelectorOperator{
	corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
	corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
	corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, NodeSelectorOpGte, NodeSelectorOpLte,
}

func operatorNames() string {
	names := make([]string, len(operators))
	for i, op := range operators {
		names[i] = string(op)
	}
	return strings.Join(names, ", ")
}
