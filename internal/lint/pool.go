package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A pool is a NodePool that a server accepts, with the types that suit it.
type pool struct {
	*object
	pool   *apiv1.NodePool
	set    require.Set           // what its nodes may be: requirements and labels
	types  []*model.InstanceType // those that meet all requirements
	judged bool                  // whether types are known at all
}

const requirements = "spec.template.spec.requirements"

// pool applies the rules about one pool.
func (l *linter) pool(o *object, np *apiv1.NodePool) error {
	p := &pool{object: o, pool: np}
	if err := np.Validate(l.rules); err != nil {
		for _, message := range strings.Split(err.Error(), "\n") {
			l.at(o, "invalid-manifest", "spec.template", "change it as the message says; see kubectl explain nodepool.spec.template",
				"the controller rejects the NodePool: %s", message)
		}
	}
	l.keys(o, np)
	p.set = require.FromSpec(np.Spec.Template.Spec.Requirements).And(require.FromLabels(np.Spec.Template.Labels)).
		Normalize(l.rules.Aliases)
	if err := l.types(p); err != nil {
		return err
	}
	l.budgets(p)
	l.limits(o, np)
	l.nodeClass(o, np.Spec.Template.Spec.NodeClassRef)
	l.pools = append(l.pools, p)
	return nil
}

// keys looks at the labels of requirements.
func (l *linter) keys(o *object, np *apiv1.NodePool) {
	for i, r := range np.Spec.Template.Spec.Requirements {
		l.key(o, fmt.Sprintf("%s[%d].key", requirements, i), r.Key)
	}
}

func (l *linter) limits(o *object, np *apiv1.NodePool) {
	if len(np.Spec.Limits) == 0 && np.Spec.Replicas == nil {
		l.at(o, "no-limits", "spec", "set spec.limits, for example {cpu: 1000}, to bound the cost of a mistake in a workload",
			"spec.limits is not set: the number of nodes is unbounded")
	}
}

// key finds labels that look like a well-known one.
func (l *linter) key(o *object, field, key string) {
	key = l.rules.Canonical(key)
	if l.rules.WellKnown.Has(key) {
		return
	}
	if near := nearest(key, l.rules.WellKnown.UnsortedList(), 3); near != "" {
		l.at(o, "label-typo", field, "use "+near+", or rename the label if it is your own",
			"label %s is not a well-known label, but similar to %s", key, near)
	}
}

// nearest returns the word that is at most so many letters away, the first by name of the nearest ones; "" if none is.
func nearest(word string, known []string, most int) string {
	best, at := "", min(most, len(word)/4)+1
	slices.Sort(known)
	for _, k := range known {
		if d := distance(word, k); d < at {
			best, at = k, d
		}
	}
	if best == "" { // the right name under another domain, or under none
		_, name, _ := strings.Cut(word, "/")
		for _, k := range known {
			_, n, _ := strings.Cut(k, "/")
			if n == name && name != "" && strings.Contains(word, "karpenter") || n == word && strings.Contains(word, "-") {
				return k
			}
		}
	}
	return best
}

// distance is how many letters have to be changed, added or removed (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

var (
	zoneName = regexp.MustCompile(`^([a-z]{2}(?:-[a-z]+)+-[0-9]+)[a-z]$`)
	zoneID   = regexp.MustCompile(`^[a-z]{3,4}[0-9]+-az[0-9]+$`)
)

// region is the region that a pool's zones lie in.
func (l *linter) region(p *pool) string {
	if zones, ok := p.set.Get(corev1.LabelTopologyZone); ok && zones.Operator() == require.In {
		for zone := range zones.Each() {
			if m := zoneName.FindStringSubmatch(zone); m != nil {
				return m[1]
			}
		}
	}
	return l.options.Region
}

// types applies the rules that need to know the instance types.
func (l *linter) types(p *pool) error {
	if l.options.Types == nil || p.pool.Spec.Template.Spec.NodeClassRef.Group != awsv1.Group {
		return nil
	}
	class := l.nodes[p.pool.Spec.Template.Spec.NodeClassRef.Name]
	all, err := l.typesOf(l.region(p), class)
	if err != nil {
		return fmt.Errorf("types for %s: %w", p.label(), err)
	}
	if len(all) == 0 {
		return nil // a region that the table does not have
	}
	p.judged = true
	var known []require.Requirement
	for r := range p.set.All() {
		if class == nil && (r.Key() == corev1.LabelOSStable || r.Key() == corev1.LabelWindowsBuild) {
			continue // the class decides
		}
		if l.rules.WellKnown.Has(r.Key()) && r.Key() != awsv1.LabelNodeClass {
			known = append(known, r)
		}
	}
	set := require.NewSet(known...)
	for _, t := range all {
		if _, ok := t.Requirements.Intersects(set); ok && offered(t, set) {
			p.types = append(p.types, t)
		}
	}
	l.values(p, all)
	if len(p.types) == 0 {
		l.at(p.object, "no-instance-types", requirements, culprit(set, all), "no instance type in %s meets all requirements (%d checked,"+
			" built-in catalog)", l.region(p), len(all))
		return nil
	}
	l.minValues(p)
	l.spot(p)
	return nil
}

// typesOf asks for the types of a region and class, once.
func (l *linter) typesOf(region string, class *awsv1.EC2NodeClass) ([]*model.InstanceType, error) {
	key := region
	if class != nil {
		key += "/" + class.Name
	}
	if all, ok := l.regions[key]; ok {
		return all, nil
	}
	all, err := l.options.Types(region, class)
	l.regions[key] = all
	return all, err
}

// offered reports whether a type can be bought within set.
func offered(t *model.InstanceType, set require.Set) bool {
	return slices.ContainsFunc(t.Offerings, func(o model.Offering) bool {
		_, ok := o.Requirements.Intersects(set)
		return ok
	})
}

// culprit returns the requirement to look at: one without which types would be left, the one that leaves most first.
func culprit(set require.Set, all []*model.InstanceType) string {
	best, most := "", 0
	for _, key := range set.Keys() {
		rest, n := set.Without(key), 0
		for _, t := range all {
			if _, ok := t.Requirements.Intersects(rest); ok && offered(t, rest) {
				n++
			}
		}
		if n > most {
			r, _ := set.Get(key)
			best, most = fmt.Sprintf("relax %s: without it %d instance types remain", r, n), n
		}
	}
	if best == "" {
		return "several requirements conflict: relax more than one"
	}
	return best
}

// valuesOf returns the values that types and their offerings have, by key.
func valuesOf(all []*model.InstanceType) map[string]map[string]bool {
	have := map[string]map[string]bool{}
	note := func(set require.Set) {
		for r := range set.All() {
			for v := range r.Each() {
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

// values finds values that no type has.
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

// special are keys whose values a table of types cannot know.
var special = []string{
	awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible,
	awsv1.LabelPlacementGroupID, awsv1.LabelPlacementGroupPartition, corev1.LabelWindowsBuild, awsv1.LabelNodeClass,
	awsv1.LabelInstanceTenancy,
}

// closed are the values of keys that can have no others.
var closed = map[string]map[string]bool{
	apiv1.CapacityTypeLabelKey: {apiv1.CapacityTypeSpot: true, apiv1.CapacityTypeOnDemand: true, apiv1.CapacityTypeReserved: true},
	corev1.LabelOSStable:       {"linux": true, "windows": true},
}

// value finds a value that no type of a region has.
func (l *linter) value(o *object, region, field, key, v string, have map[string]bool) {
	if all, ok := closed[key]; ok {
		have = all
	}
	switch {
	case key == corev1.LabelTopologyZone && zoneID.MatchString(v):
		l.at(o, "zone-id", field, "use the key "+awsv1.LabelTopologyZoneID+", or the name of the zone as the value",
			"%s is a zone ID, but values of %s are zone names such as us-east-1a", v, key)
	case len(have) == 0 || have[v] || slices.Contains(special, key):
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
		if key == corev1.LabelInstanceTypeStable || key == awsv1.LabelInstanceFamily {
			fix += "; ignore this if the instance type is newer than the built-in catalog"
		}
		l.at(o, "unknown-value", field, fix, "no instance type in %s has %s=%s", region, key, v)
	}
}

// otherNames are names of values elsewhere, and what they are called in Kubernetes.
var otherNames = map[string]string{"x86_64": "amd64", "x86": "amd64", "aarch64": "arm64", "arm": "arm64", "ondemand": "on-demand"}

// minValues finds more flexibility asked for than there is.
func (l *linter) minValues(p *pool) {
	for i, r := range p.pool.Spec.Template.Spec.Requirements {
		if r.MinValues == nil {
			continue
		}
		seen := map[string]bool{}
		want, _ := p.set.Get(l.rules.Canonical(r.Key))
		for _, t := range p.types {
			if has, ok := t.Requirements.Get(l.rules.Canonical(r.Key)); ok {
				for v := range has.Each() {
					if want.Has(v) {
						seen[v] = true
					}
				}
			}
		}
		if len(seen) < *r.MinValues {
			l.at(p.object, "min-values-unreachable", fmt.Sprintf("%s[%d].minValues", requirements, i),
				fmt.Sprintf("lower minValues to %d, or allow more values", len(seen)),
				"minValues: %d of %s cannot be met: the instance types that meet all requirements have %d", *r.MinValues, r.Key, len(seen))
		}
	}
}

const (
	fewSpot         = 5  // below it a shortage or an interruption is likely to hit all types at once
	spotConsolidate = 15 // what replacing one spot node by another needs
)

// spot finds spot pools without a choice.
func (l *linter) spot(p *pool) {
	capacity, ok := p.set.Get(apiv1.CapacityTypeLabelKey)
	if ok && !capacity.Has(apiv1.CapacityTypeSpot) || p.pool.Spec.Replicas != nil {
		return
	}
	fix := "allow more families, sizes, generations or architectures, or add on-demand to " + apiv1.CapacityTypeLabelKey
	switch n := len(p.types); {
	case n < fewSpot:
		l.at(p.object, "few-spot-types", requirements, fix, "only %d instance types meet the requirements of this"+
			" spot NodePool: a shortage or interruption can affect all of them", n)
	case n < spotConsolidate:
		l.at(p.object, "few-spot-types-to-consolidate", requirements, fix, "%d instance types meet the requirements;"+
			" spot-to-spot consolidation of a single node needs %d", n, spotConsolidate)
	}
}
