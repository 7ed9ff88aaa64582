package v1

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// LabelRules define which labels Karpenter and a provider support, and which
// labels users must not set. They are created once, from CoreLabels and the
// rules of the provider, and not changed afterwards.
//
// +kubebuilder:object:generate=false
type LabelRules struct {
	// WellKnown are the keys for which instance types or offerings have values.
	// Users may always use them, and a pod may require one that no pool has.
	WellKnown sets.Set[string]
	// RestrictedDomains are domains. In them and in their subdomains, only
	// well-known keys may be used.
	RestrictedDomains []string
	// KnownValues are all the values that a key can have. Keys without an entry
	// can have any value.
	KnownValues map[string][]string
	// Aliases maps old keys to the keys that replace them.
	Aliases map[string]string
}

// CoreLabels returns the label rules of Karpenter itself, without any provider.
func CoreLabels() LabelRules {
	return LabelRules{
		WellKnown: sets.New(
			NodePoolLabelKey,
			CapacityTypeLabelKey,
			corev1.LabelTopologyZone,
			corev1.LabelTopologyRegion,
			corev1.LabelInstanceTypeStable,
			corev1.LabelArchStable,
			corev1.LabelOSStable,
			corev1.LabelWindowsBuild,
		),
		RestrictedDomains: []string{Group},
		KnownValues: map[string][]string{
			CapacityTypeLabelKey: {CapacityTypeOnDemand, CapacityTypeReserved, CapacityTypeSpot},
		},
		Aliases: map[string]string{
			corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
			corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
			corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
			"beta.kubernetes.io/arch":           corev1.LabelArchStable,
			"beta.kubernetes.io/os":             corev1.LabelOSStable,
		},
	}
}

// With returns the union of these rules and others. If several have values or
// an alias for a key, those of the last one apply. The result shares no memory
// with the arguments.
func (r LabelRules) With(others ...LabelRules) LabelRules {
	union := LabelRules{
		WellKnown:   sets.New[string](),
		KnownValues: map[string][]string{},
		Aliases:     map[string]string{},
	}
	for _, rules := range append([]LabelRules{r}, others...) {
		union.WellKnown = union.WellKnown.Union(rules.WellKnown)
		union.RestrictedDomains = append(union.RestrictedDomains, rules.RestrictedDomains...)
		for key, values := range rules.KnownValues {
			union.KnownValues[key] = slices.Clone(values)
		}
		maps.Copy(union.Aliases, rules.Aliases)
	}
	slices.Sort(union.RestrictedDomains)
	union.RestrictedDomains = slices.Compact(union.RestrictedDomains)
	return union
}

// Canonical returns the key that replaces an alias. Other keys are returned
// unchanged.
func (r LabelRules) Canonical(key string) string {
	if name, ok := r.Aliases[key]; ok {
		return name
	}
	return key
}

// CheckKey returns an error with the reason why users may not set or require a
// label. It returns nil if they may.
func (r LabelRules) CheckKey(key string) error {
	if r.WellKnown.Has(key) {
		return nil
	}
	if key == corev1.LabelHostname {
		return fmt.Errorf("label %s is restricted: it is different on every node", key)
	}
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return nil
	}
	for _, restricted := range r.RestrictedDomains {
		if domain == restricted || strings.HasSuffix(domain, "."+restricted) {
			return fmt.Errorf("label %s is restricted: in the domain %s only well-known labels may be used",
				key, restricted)
		}
	}
	return nil
}
