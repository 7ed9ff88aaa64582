package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

var (
	zoneName = regexp.MustCompile(`^([a-z]{2}(?:-[a-z]+)+-[0-9]+)[a-z]$`)
	zoneID   = regexp.MustCompile(`^[a-z]{3,4}[0-9]+-az[0-9]+$`)
)

// valuesOf returns the label values of the types and their offerings, by key.
func valuesOf(all []*model.InstanceType) map[string]map[string]bool {
	have := map[string]map[string]bool{}
	note := func(set require.Set) {
		for r := range set.All() {
			for v := range r.Listed() {
				if have[r.Key()] == nil {
					have[r.Key()] = map[string]bool{}
				}
				have[r.Key()][v] = true
			}
		}
	}
	for _, t := range all {
		note(t.Requirements)
		for _, o := range t.Offerings {
			note(o.Requirements)
		}
	}
	return have
}

// values applies the rule of the method value to the values of requirements with the operator In or NotIn and a well-known
// key.
func (l *linter) values(p *pool, all []*model.InstanceType) {
	have := valuesOf(all)
	for i, r := range p.pool.Spec.Template.Spec.Requirements {
		key := l.rules.Canonical(r.Key)
		if r.Operator != corev1.NodeSelectorOpIn && r.Operator != corev1.NodeSelectorOpNotIn || !l.rules.WellKnown.Has(key) {
			continue
		}
		for j, v := range r.Values {
			l.value(p.object, l.region(p), fmt.Sprintf("%s[%d].values[%d]", requirements, i, j), key, v, have[key])
		}
	}
}

// special are the label keys whose values do not depend on the instance type alone.
var special = []string{
	awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible,
	awsv1.LabelPlacementGroupID, awsv1.LabelPlacementGroupPartition, corev1.LabelWindowsBuild, awsv1.LabelNodeClass,
	awsv1.LabelInstanceTenancy,
}

// closed has the label keys with a fixed set of values.
var closed = map[string]map[string]bool{
	apiv1.CapacityTypeLabelKey: {apiv1.CapacityTypeSpot: true, apiv1.CapacityTypeOnDemand: true, apiv1.CapacityTypeReserved: true},
	corev1.LabelOSStable:       {"linux": true, "windows": true},
}

// value reports a label value that no instance type of the region has. Values that newer types may have, and zone IDs in
// place of zone names, have rules of their own. have are the values of the key that the types have; without them, or for a
// key in special, value reports nothing.
func (l *linter) value(o *object, region, field, key, v string, have map[string]bool) {
	if all, ok := closed[key]; ok {
		have = all
	}
	switch {
	case key == corev1.LabelTopologyZone && zoneID.MatchString(v):
		l.at(o, "zone-id", field, "use the key "+awsv1.LabelTopologyZoneID+", or the name of the zone as the value",
			"%s is a zone ID, but values of %s are zone names such as us-east-1a", v, key)
	case len(have) == 0 || have[v] || slices.Contains(special, key):
	case l.newer(region, key, v, have):
		l.at(o, "not-in-catalog", field, "check the spelling; what depends on this value is not checked",
			"the built-in catalog of %s has no %s=%s in %s", l.options.AsOf, key, v, region)
	default:
		known := make([]string, 0, len(have))
		for k := range have {
			known = append(known, k)
		}
		fix := "correct or remove the value"
		if near := nearest(strings.ReplaceAll(strings.ToLower(v), "_", "-"), known, 1); near != "" {
			fix = "change the value to " + near
		}
		if other := otherNames[v]; other != "" {
			fix = "change the value to " + other
		}
		l.at(o, "unknown-value", field, fix, "no instance type in %s has %s=%s", region, key, v)
	}
}

// otherNames maps common other names of values to their names in Kubernetes.
var otherNames = map[string]string{"x86_64": "amd64", "x86": "amd64", "aarch64": "arm64", "arm": "arm64", "ondemand": "on-demand"}

// familyName splits the name of an instance family into category and generation.
var familyName = regexp.MustCompile(`^([a-z]+)([0-9]+)[a-z0-9-]*$`)

// newer reports whether zones or types that are newer than the data may have the value v. It is true for zones of the
// region, for zone IDs of any region, for types and families that Options.Names contains, and for generations that are at
// most 3 above the highest in the data. have are the values in the data.
func (l *linter) newer(region, key, v string, have map[string]bool) bool {
	switch key {
	case corev1.LabelTopologyZone:
		m := zoneName.FindStringSubmatch(v)
		return m != nil && m[1] == region
	case awsv1.LabelTopologyZoneID:
		return zoneID.MatchString(v)
	case awsv1.LabelInstanceGeneration:
		n, err := strconv.Atoi(v)
		last := latest("", have)
		return err == nil && n > last && n <= last+3
	case corev1.LabelInstanceTypeStable:
		family, size, ok := strings.Cut(v, ".")
		return slices.Contains(l.options.Names, v) || ok && size != "" && newGeneration(family, have)
	case awsv1.LabelInstanceFamily:
		return slices.ContainsFunc(l.options.Names, func(name string) bool { return strings.HasPrefix(name, v+".") }) || newGeneration(v, have)
	}
	return false
}

// newGeneration reports whether the generation of the family is 1 to 3 above the highest that have contains for its
// category.
func newGeneration(family string, have map[string]bool) bool {
	m := familyName.FindStringSubmatch(family)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[2])
	last := latest(m[1], have)
	return err == nil && last > 0 && n > last && n <= last+3
}

// latest returns the highest generation of a category, 0 if there is none. have has names of types or families or, for
// the category "", generations.
func latest(category string, have map[string]bool) int {
	most := 0
	for name := range have {
		generation, ok := strings.CutPrefix(name, category)
		if !ok {
			continue
		}
		end := strings.IndexFunc(generation, func(r rune) bool { return r < '0' || r > '9' })
		if end >= 0 {
			generation = generation[:end]
		}
		if n, err := strconv.Atoi(generation); err == nil {
			most = max(most, n)
		}
	}
	return most
}

// newerKeys returns the keys of the NodePool's requirements with the operator In for which newer is true for a value.
func (l *linter) newerKeys(p *pool, have map[string]map[string]bool) []string {
	var keys []string
	for r := range p.set.All() {
		if r.Operator() != require.In || !l.rules.WellKnown.Has(r.Key()) {
			continue
		}
		for v := range r.Each() {
			if !have[r.Key()][v] && l.newer(l.region(p), r.Key(), v, have[r.Key()]) {
				keys = append(keys, r.Key())
				break
			}
		}
	}
	return keys
}
