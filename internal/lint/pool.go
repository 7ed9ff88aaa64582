package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A pool is a NodePool that the API server accepts, with the instance types that meet its requirements.
type pool struct {
	*object
	pool   *apiv1.NodePool
	set    require.Set           // requirements and labels of the template
	types  []*model.InstanceType // the types that meet all requirements
	judged bool                  // whether types has all types that meet the requirements
}

const requirements = "spec.template.spec.requirements"

// pool applies the rules for NodePools.
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

// keys applies the rule of the method key to each requirement.
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
	l.quantities(o, "limits", "the limit counts as 0, which allows no nodes")
	if most, ok := np.Spec.Limits[model.Nodes]; ok && np.Spec.Replicas != nil && most.CmpInt64(*np.Spec.Replicas) < 0 {
		l.at(o, "replicas-above-limit", "spec.replicas", "raise spec.limits.nodes, or lower spec.replicas",
			"spec.replicas is %d, but spec.limits.nodes is %s: no more nodes than that are launched", *np.Spec.Replicas, most.String())
	}
}

// quantities finds quantities in a map of the spec that the API server accepts and that cannot be read. effect is the
// consequence of such a quantity.
func (l *linter) quantities(o *object, at, effect string) {
	all, _, _ := unstructured.NestedMap(o.content.Object, "spec", at) // nil if absent; other findings report wrong types
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, ok := all[name].(string)
		if !ok {
			continue
		}
		if _, err := resource.ParseQuantity(text); err != nil {
			l.at(o, "invalid-manifest", "spec."+at+"."+name, "write a number with a unit, for example 100 or 64Gi",
				"the API server accepts the value, and the controller cannot read it: %s", effect)
		}
	}
}

// key reports a label key that is probably a misspelt well-known one.
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

// nearest returns the known word with the least distance to word, or of several the first by name. The distance must be at
// most most, and at most a quarter of the length of word. If there is none, nearest returns the first known label with the
// same name under another domain, if word contains "karpenter" or is that name without a domain; or else "". It sorts
// known.
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

// distance returns the number of letters to change, add or remove to get from a to b (Levenshtein distance).
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

// region returns the region of the zones that the NodePool requires, or Options.Region.
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

// types applies the rules that depend on the instance types.
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
		return nil // a region without data
	}
	var known []require.Requirement
	for r := range p.set.All() {
		if class == nil && (r.Key() == corev1.LabelOSStable || r.Key() == corev1.LabelWindowsBuild) {
			continue // the node class, which is not in the files, determines it
		}
		if l.rules.WellKnown.Has(r.Key()) && r.Key() != awsv1.LabelNodeClass {
			known = append(known, r)
		}
	}
	set := require.NewSet(known...)
	p.types = slices.DeleteFunc(slices.Clone(all), func(t *model.InstanceType) bool { return !meets(t, set) })
	l.values(p, all)
	newer := l.newerKeys(p, valuesOf(all))
	if len(newer) > 0 && possible(all, set.Without(newer...)) {
		return nil // types that are missing in the data may meet the requirements
	}
	p.judged = true
	if len(p.types) == 0 {
		l.at(p.object, "no-instance-types", requirements, culprit(set, all), "no instance type in %s meets all requirements (%d checked,"+
			" built-in catalog)", l.region(p), len(all))
		return nil
	}
	l.minValues(p)
	l.spot(p)
	return nil
}

// typesOf returns Options.Types for a region and node class, and caches the result.
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

// possible reports whether a type meets the set.
func possible(all []*model.InstanceType, set require.Set) bool {
	return slices.ContainsFunc(all, func(t *model.InstanceType) bool { return meets(t, set) })
}

// meets reports whether the type has an offering that set allows.
func meets(t *model.InstanceType, set require.Set) bool {
	_, ok := t.Requirements.Intersects(set)
	return ok && slices.ContainsFunc(t.Offerings, func(o model.Offering) bool {
		_, ok := o.Requirements.Intersects(set)
		return ok
	})
}

// culprit returns a text that names the requirement whose removal would leave the most instance types.
func culprit(set require.Set, all []*model.InstanceType) string {
	best, most := "", 0
	for _, key := range set.Keys() {
		rest, n := set.Without(key), 0
		for _, t := range all {
			if meets(t, rest) {
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

// minValues reports requirements whose minValues is greater than the number of values that the instance types have.
func (l *linter) minValues(p *pool) {
	for i, r := range p.pool.Spec.Template.Spec.Requirements {
		if r.MinValues == nil {
			continue
		}
		seen := map[string]bool{}
		want, _ := p.set.Get(l.rules.Canonical(r.Key))
		for _, t := range p.types {
			if has, ok := t.Requirements.Get(l.rules.Canonical(r.Key)); ok {
				for v := range has.Listed() {
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
	fewSpot         = 5  // with fewer types, a shortage or an interruption is likely to affect all of them at once
	spotConsolidate = 15 // the number of types required for the replacement of one spot node by another
)

// spot reports NodePools that allow spot, are not static, and have few instance types. A shortage of spot capacity is reported only
// if on-demand is not allowed. Otherwise on-demand nodes are launched during the shortage.
func (l *linter) spot(p *pool) {
	capacity, ok := p.set.Get(apiv1.CapacityTypeLabelKey)
	if ok && !capacity.Has(apiv1.CapacityTypeSpot) || p.pool.Spec.Replicas != nil {
		return
	}
	onDemand := !ok || capacity.Has(apiv1.CapacityTypeOnDemand)
	const fix = "allow more families, sizes, generations or architectures"
	switch n := len(p.types); {
	case n < fewSpot && !onDemand:
		l.at(p.object, "few-spot-types", requirements, fix+", or add on-demand to "+apiv1.CapacityTypeLabelKey,
			"only %d instance types meet the requirements of this NodePool, which does not allow on-demand: a shortage or interruption"+
				" can affect all of them", n)
	case n < spotConsolidate:
		l.at(p.object, "few-spot-types-to-consolidate", requirements, fix, "%d instance types meet the requirements;"+
			" spot-to-spot consolidation of a single node needs %d", n, spotConsolidate)
	}
}
