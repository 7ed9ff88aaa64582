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

// requirement is one entry of the requirements of a claim or pool.
type requirement = nodematch.Requirement

// A template is the part of a planned node that does not depend on its instance type: labels and requirements of the
// claim, and requirements of the pool. Planned nodes that differ only in pods and options share one template.
type template struct {
	// keys are the label keys of the index, the labels and the requirements, sorted. The lists below have one element
	// per key.
	keys []string
	// offers are the values of these keys on instance types. Templates with the same keys share the map.
	offers map[*model.InstanceType]*typeLabels
	// labels are the labels of the claim, which do not depend on the type. The zero value means that the claim does not
	// set the label.
	labels []nodematch.Value
	// claim and pool are the requirements of the claim and of the pool. Those of the claim may be narrower.
	claim, pool [][]requirement
	// open are the possible values of a label that neither the type nor the offering sets.
	open [][]nodematch.Value

	taints []corev1.Taint
	// launching is true if the claim exists already and its instance is being launched. Then its offering need not be
	// available any more.
	launching bool
	options   map[*model.InstanceType]*option
	buffers   struct {
		byType, byOffering []outcome
		values             [][]nodematch.Value
	}
}

// templateOf returns the template of planned node n.
func (c *catalog) templateOf(n *model.PlannedNode) *template {
	spec := n.Requirements.Spec()
	key := n.Pool.Name + "\n" + textOf(spec)
	if t, ok := c.templates[key]; ok {
		return t
	}
	of := n.Pool.Object.Spec.Template
	t := c.newTemplate(labelsOf(n.Pool.Object), spec, of.Spec.Requirements, false)
	t.taints = of.Spec.Taints
	c.templates[key] = t
	return t
}

// templateOfClaim returns the template of a claim that is not launched yet.
func (c *catalog) templateOfClaim(claim *apiv1.NodeClaim) *template {
	key := "claim " + claim.Name
	if t, ok := c.templates[key]; ok {
		return t
	}
	t := c.newTemplate(claim.Labels, claim.Spec.Requirements, nil, true)
	t.taints = claim.Spec.Taints
	c.templates[key] = t
	return t
}

func (c *catalog) newTemplate(labels map[string]string, claim, pool []requirement, launching bool) *template {
	ofClaim, ofPool := nodematch.GroupByKey(claim, c.index.Aliases), nodematch.GroupByKey(pool, c.index.Aliases)
	keys := slices.Collect(c.index.Keys())
	keys = slices.AppendSeq(keys, maps.Keys(labels))
	keys = slices.AppendSeq(slices.AppendSeq(keys, maps.Keys(ofClaim)), maps.Keys(ofPool))
	slices.Sort(keys)
	keys = slices.Compact(keys)
	t := &template{
		keys:      keys,
		offers:    c.typeLabelsOf(keys),
		launching: launching,
		options:   make(map[*model.InstanceType]*option),
	}
	for _, key := range keys {
		label := nodematch.Value{}
		if v, ok := labels[key]; ok {
			label = nodematch.Value{Text: v, OnClaim: true}
		}
		// A planned node gets only labels for which its pool has a requirement. All others are missing, even if a pod
		// selects by them.
		open := []nodematch.Value{{Missing: true}}
		if launching && len(ofClaim[key]) > 0 || len(ofPool[key]) > 0 {
			open = nodematch.Keep(ofClaim[key], nodematch.Open(ofClaim[key]))
		}
		t.labels = append(t.labels, label)
		t.claim = append(t.claim, ofClaim[key])
		t.pool = append(t.pool, ofPool[key])
		t.open = append(t.open, open)
	}
	return t
}

// textOf returns the requirements as text.
func textOf(spec []requirement) string {
	var b strings.Builder
	for _, r := range spec {
		fmt.Fprintf(&b, "%s %s %q\n", r.Key, r.Operator, r.Values)
	}
	return b.String()
}

// labelsOf returns the labels that the pool sets on each of its nodes.
func labelsOf(pool *apiv1.NodePool) map[string]string {
	labels := make(map[string]string, len(pool.Spec.Template.Labels)+1)
	maps.Copy(labels, pool.Spec.Template.Labels)
	labels[apiv1.NodePoolLabelKey] = pool.Name
	return labels
}
