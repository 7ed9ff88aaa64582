package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A template is the part of a planned node that does not depend on its instance type: labels and requirements of the
// claim, and requirements of the pool. Planned nodes that differ only in pods and options share one template.
type template struct {
	// keys are the label keys of the index, the labels and the requirements, sorted. labels has one element per key.
	keys   []string
	labels []templateLabel
	taints []corev1.Taint
	// launching is true if the claim exists already and its instance is being launched. Then its offering need not be
	// available any more.
	launching bool
	options   map[*model.InstanceType]*option
	// lists are the option lists of planned nodes, by the address of the list of types.
	lists map[**model.InstanceType]*optionList
}

// A templateLabel is what a template determines about one label.
type templateLabel struct {
	key string
	// fixed is true if the claim sets the label, whichever type is launched.
	fixed bool
	// values are the possible values of the label if neither the type nor the offering sets it. It is the one value of a fixed
	// label.
	values []nodematch.Value
	// claim and pool are the requirements of the claim and of the pool. Those of the claim may be narrower.
	claim, pool []nodematch.Requirement
}

// templateOf returns the template of planned node n.
func (c *catalog) templateOf(n *model.PlannedNode) *template {
	spec := n.Requirements.Spec()
	key := n.Pool.Name + "\n" + textOf(spec)
	t, ok := c.templates[key]
	if !ok {
		of := n.Pool.Object.Spec.Template
		labels := map[string]string{}
		maps.Copy(labels, of.Labels)
		labels[apiv1.NodePoolLabelKey] = n.Pool.Name
		t = c.newTemplate(labels, spec, of.Spec.Requirements, false)
		t.taints = of.Spec.Taints
		c.templates[key] = t
	}
	return t
}

// templateOfClaim returns the template of a claim that is not launched yet.
func (c *catalog) templateOfClaim(claim *apiv1.NodeClaim) *template {
	key := "claim " + claim.Name
	t, ok := c.templates[key]
	if !ok {
		t = c.newTemplate(claim.Labels, claim.Spec.Requirements, nil, true)
		t.taints = claim.Spec.Taints
		c.templates[key] = t
	}
	return t
}

func (c *catalog) newTemplate(labels map[string]string, claim, pool []nodematch.Requirement, launching bool) *template {
	ofClaim, ofPool := nodematch.GroupByKey(claim, c.index.Aliases), nodematch.GroupByKey(pool, c.index.Aliases)
	keys := slices.Collect(maps.Keys(c.index.Relevant))
	keys = slices.AppendSeq(keys, maps.Keys(labels))
	keys = slices.AppendSeq(slices.AppendSeq(keys, maps.Keys(ofClaim)), maps.Keys(ofPool))
	slices.Sort(keys)
	t := &template{
		keys: slices.Compact(keys), launching: launching,
		options: make(map[*model.InstanceType]*option), lists: make(map[**model.InstanceType]*optionList),
	}
	for _, key := range t.keys {
		l := templateLabel{key: key, claim: ofClaim[key], pool: ofPool[key]}
		text, fixed := labels[key]
		switch {
		case fixed:
			l.fixed, l.values = true, []nodematch.Value{{Text: text}}
		case launching && len(l.claim) > 0 || len(l.pool) > 0:
			l.values = nodematch.Keep(l.claim, nodematch.Open(l.claim))
		default:
			// A planned node gets only labels for which its pool has a requirement. All others are missing, even if a pod
			// selects by them.
			l.values = []nodematch.Value{{Missing: true}}
		}
		t.labels = append(t.labels, l)
	}
	return t
}

// textOf returns the requirements as text.
func textOf(spec []nodematch.Requirement) string {
	var b strings.Builder
	for _, r := range spec {
		fmt.Fprintf(&b, "%s %s %q\n", r.Key, r.Operator, r.Values)
	}
	return b.String()
}

// An outcome is the possible values of one label of a node, if a given offering is launched for its claim. Without values and
// violation, the claim's requirements exclude the offering, so that it is not launched.
type outcome struct {
	values []nodematch.Value
	// broken is the violation that these values cause on a node of the template, nil if there is none.
	broken *Violation
}

// outcomeOf returns the outcome of label l if the type or the offering gives it the values in stated, nil if neither does.
// byOffering is true if they are those of an offering.
func (t *template) outcomeOf(l *templateLabel, stated []nodematch.Value, byOffering bool) outcome {
	if stated == nil {
		stated = l.values
	}
	values := nodematch.Keep(l.claim, stated)
	broken := func(rule Rule, format string, args ...any) outcome {
		return outcome{broken: &Violation{Rule: rule, Detail: fmt.Sprintf(l.key+" "+format, args...)}}
	}
	switch {
	case len(values) == 0 && byOffering:
		return outcome{} // another offering may be launched
	case len(stated) == 0:
		return broken(RuleType, "can have no value, the node's requirements contradict each other")
	case len(values) == 0:
		return broken(RuleType, "is %v, which the node's requirements rule out", stated)
	case l.fixed && !slices.Contains(stated, l.values[0]):
		if t.launching {
			return outcome{}
		}
		return broken(RulePool, "is %v, but the pool labels its nodes %v", stated, l.values[0])
	case l.fixed:
		values = l.values
	}
	for _, v := range values {
		if !nodematch.Admitted(l.pool, v) {
			return broken(RulePool, "may become %v, which the pool's requirements rule out", v)
		}
	}
	return outcome{values: values}
}

// typeLabels are the labels that an instance type and its offerings determine, by label key.
type typeLabels struct {
	// byType are the values that the type lists, or the missing value if the type excludes the label. Labels for which the
	// type has no such requirement are omitted.
	byType map[string][]nodematch.Value
	// byOffering has the one value that each offering sets, nil for an offering that does not set the label. It overrides the
	// values of the type.
	byOffering map[string][][]nodematch.Value
}

// labelsOfType returns the labels of the type.
func (c *catalog) labelsOfType(it *model.InstanceType) *typeLabels {
	if f, ok := c.typeLabels[it]; ok {
		return f
	}
	f := &typeLabels{byType: make(map[string][]nodematch.Value), byOffering: make(map[string][][]nodematch.Value)}
	c.typeLabels[it] = f
	for r := range it.Requirements.All() {
		switch r.Operator() {
		case corev1.NodeSelectorOpIn:
			for v := range r.Each() {
				f.byType[r.Key()] = append(f.byType[r.Key()], nodematch.Value{Text: v})
			}
		case corev1.NodeSelectorOpDoesNotExist:
			f.byType[r.Key()] = []nodematch.Value{{Missing: true}}
		}
	}
	f.byType[corev1.LabelInstanceTypeStable] = []nodematch.Value{{Text: it.Name}}
	for i, o := range it.Offerings {
		set := func(key, value string) {
			if f.byOffering[key] == nil {
				f.byOffering[key] = make([][]nodematch.Value, len(it.Offerings))
			}
			f.byOffering[key][i] = []nodematch.Value{{Text: value}}
		}
		for r := range o.Requirements.All() {
			if v, ok := r.Any(); ok && r.Operator() == corev1.NodeSelectorOpIn && r.Len() == 1 {
				set(r.Key(), v)
			}
		}
		set(corev1.LabelTopologyZone, o.Zone)
		set(apiv1.CapacityTypeLabelKey, o.CapacityType)
	}
	return f
}
