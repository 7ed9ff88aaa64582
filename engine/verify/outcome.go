package verify

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// typeLabels are the values that an instance type and its offerings have for a list of label keys. Templates with the
// same keys share them.
type typeLabels struct {
	// byType are the values of the type, by index of the key; nil if the type does not define the label.
	byType [][]nodematch.Value
	// byOffering are the labels that each offering sets.
	byOffering [][]offeringLabel
}

// An offeringLabel is a label that an offering sets. It overrides the value of the type.
type offeringLabel struct {
	key   int               // index of the label in template.keys
	value []nodematch.Value // exactly one
}

// typeLabelsOf returns the cache of typeLabels for these keys.
func (c *catalog) typeLabelsOf(keys []string) map[*model.InstanceType]*typeLabels {
	text := strings.Join(keys, "\n")
	if c.typeLabels[text] == nil {
		c.typeLabels[text] = make(map[*model.InstanceType]*typeLabels)
	}
	return c.typeLabels[text]
}

// labelsOfType returns the values that instance type it has for the template's keys.
func (t *template) labelsOfType(it *model.InstanceType) *typeLabels {
	if f, ok := t.offers[it]; ok {
		return f
	}
	f := &typeLabels{byType: make([][]nodematch.Value, len(t.keys)), byOffering: make([][]offeringLabel, len(it.Offerings))}
	for at, key := range t.keys {
		f.byType[at] = statedByType(it, key)
		for i, o := range it.Offerings {
			if v, ok := setByOffering(o, key); ok {
				f.byOffering[i] = append(f.byOffering[i], offeringLabel{at, []nodematch.Value{v}})
			}
		}
	}
	t.offers[it] = f
	return f
}

// An outcome is the possible values of one label of a node, if a given offering is launched for its claim.
type outcome struct {
	values []nodematch.Value
	// excluded is true if the claim's requirements exclude the offering, so that it is not launched.
	excluded bool
	// broken is the violation that these values cause on a node of the template, nil if there is none.
	broken *Violation
}

// outcomesByType returns the outcome of each label for an offering that does not set it. The next call overwrites the
// result.
func (t *template) outcomesByType(f *typeLabels) []outcome {
	out := slices.Grow(t.buffers.byType[:0], len(t.keys))[:len(t.keys)]
	t.buffers.byType = out
	for at, stated := range f.byType {
		if stated == nil {
			stated = t.open[at]
			if t.labels[at].OnClaim {
				stated = []nodematch.Value{t.labels[at]}
			}
		}
		out[at] = t.outcomeOf(at, stated, false)
	}
	return out
}

// outcomes returns the possible values of each label if the i-th offering is launched. They are nil if the claim's
// requirements exclude the offering, or if a label causes a violation, which is then returned. The next call
// overwrites the values.
func (t *template) outcomes(f *typeLabels, byType []outcome, i int) ([][]nodematch.Value, *Violation) {
	byOffering := slices.Grow(t.buffers.byOffering[:0], len(f.byOffering[i]))[:len(f.byOffering[i])]
	t.buffers.byOffering = byOffering
	for j, label := range f.byOffering[i] {
		if byOffering[j] = t.outcomeOf(label.key, label.value, true); byOffering[j].excluded {
			return nil, nil
		}
	}
	values := slices.Grow(t.buffers.values[:0], len(t.keys))[:len(t.keys)]
	t.buffers.values = values
	for at := range t.keys {
		o := &byType[at]
		if j := slices.IndexFunc(f.byOffering[i], func(label offeringLabel) bool { return label.key == at }); j >= 0 {
			o = &byOffering[j]
		}
		if o.excluded || o.broken != nil {
			return nil, o.broken
		}
		values[at] = o.values
	}
	return values, nil
}

// outcomeOf returns the outcome of a label. The parameter stated has the values that the type, the offering or the claim
// gives the label; byOffering is true if they are those of an offering.
func (t *template) outcomeOf(at int, stated []nodematch.Value, byOffering bool) outcome {
	values := nodematch.Keep(t.claim[at], stated)
	broken := func(rule Rule, format string, args ...any) outcome {
		return outcome{broken: &Violation{Rule: rule, Detail: fmt.Sprintf(t.keys[at]+" "+format, args...)}}
	}
	switch label := t.labels[at]; {
	case len(values) == 0 && byOffering:
		return outcome{excluded: true} // another offering may be launched
	case len(stated) == 0:
		return broken(RuleType, "can have no value, the node's requirements contradict each other")
	case len(values) == 0:
		return broken(RuleType, "is %v, which the node's requirements rule out", stated)
	case label.OnClaim && !slices.ContainsFunc(stated, label.Same):
		if t.launching {
			return outcome{excluded: true}
		}
		return broken(RulePool, "is %v, but the pool labels its nodes %v", stated, label)
	case label.OnClaim:
		values = []nodematch.Value{label}
	}
	for _, v := range values {
		if !nodematch.Admitted(t.pool[at], v) {
			return broken(RulePool, "may become %v, which the pool's requirements rule out", v)
		}
	}
	return outcome{values: values}
}

// statedByType returns the values that the type lists for a label, or the missing value if the type excludes the label.
// It returns nil if the type has no requirement for the label, or one that neither lists values nor excludes the label.
func statedByType(t *model.InstanceType, key string) []nodematch.Value {
	if key == corev1.LabelInstanceTypeStable {
		return []nodematch.Value{{Text: t.Name}}
	}
	r, ok := t.Requirements.Get(key)
	if !ok {
		return nil
	}
	switch r.Operator() {
	case corev1.NodeSelectorOpIn:
		var out []nodematch.Value
		for v := range r.Each() {
			out = append(out, nodematch.Value{Text: v})
		}
		return out
	case corev1.NodeSelectorOpDoesNotExist:
		return []nodematch.Value{{Missing: true}}
	}
	return nil
}

// setByOffering returns the value that the offering gives to a label, and whether it sets the label.
func setByOffering(o model.Offering, key string) (nodematch.Value, bool) {
	switch key {
	case corev1.LabelTopologyZone:
		return nodematch.Value{Text: o.Zone}, true
	case apiv1.CapacityTypeLabelKey:
		return nodematch.Value{Text: o.CapacityType}, true
	}
	r, ok := o.Requirements.Get(key)
	if !ok || r.Operator() != corev1.NodeSelectorOpIn || r.Len() != 1 {
		return nodematch.Value{}, false
	}
	v, _ := r.Any()
	return nodematch.Value{Text: v}, true
}
