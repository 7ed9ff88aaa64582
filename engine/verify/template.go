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

// A template is what nodes have in common before their instance type is known: the labels and requirements of their claim, and
// the requirements of their pool. Planned nodes that differ only in pods and options share one.
type template struct {
	// keys are the relevant label keys, sorted. The lists below are by key.
	keys []string
	// offers are what instance types state of these keys. Templates with the same keys share them.
	offers map[*model.InstanceType]*typeLabels
	// labels are those that the claim carries whatever is launched; the zero value where there is none.
	labels []nodematch.Value
	// claim and pool are the requirements of either. The claim's may only be the narrower ones.
	claim, pool [][]requirement
	// open are the possible values of a label that neither type nor offering sets.
	open [][]nodematch.Value

	taints []corev1.Taint
	// launching means that the claim exists. Its machine is being bought, so its offering need not be available any more.
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
	all := make(map[string]bool)
	for _, key := range c.index.Keys() {
		all[key] = true
	}
	for key := range labels {
		all[key] = true
	}
	for key := range ofClaim {
		all[key] = true
	}
	for key := range ofPool {
		all[key] = true
	}
	keys := slices.Sorted(maps.Keys(all))
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
		// A claim to come sets only labels that its pool has a requirement for. Any other is missing, whatever a pod selects.
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

// labelsOf returns the labels that the pool gives to each of its nodes.
func labelsOf(pool *apiv1.NodePool) map[string]string {
	labels := make(map[string]string, len(pool.Spec.Template.Labels)+1)
	maps.Copy(labels, pool.Spec.Template.Labels)
	labels[apiv1.NodePoolLabelKey] = pool.Name
	return labels
}
