package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A shape is what nodes have in common before their type is known: the labels and
// requirements of their claim, and the pool they must conform to. Planned nodes that
// differ only in pods and options share one.
type shape struct {
	// keys are the labels that somebody cares about, sorted; what follows is by key.
	keys []string
	// facts are what types say of these keys. Shapes with the same keys share them.
	facts map[*model.InstanceType]*facts
	// given are the labels that the claim carries whatever is launched.
	given []candidate // the zero candidate if there is none
	// claim and pool are the requirements of either. The claim's may only be the
	// narrower ones.
	claim, pool [][]requirement
	// undecided is what a label may become that neither type nor offering sets.
	undecided [][]candidate

	taints []corev1.Taint
	// launching means that the machine is already being bought: it need not be on
	// offer any more, and a type that does not conform is one that was not asked for.
	launching bool
	options   map[*model.InstanceType]*option
	scratch   scratch
}

// shapeOf returns the shape of planned node n.
func (c *checker) shapeOf(n *model.PlannedNode) *shape {
	spec := n.Requirements.Spec()
	key := n.Pool.Name + "\n" + textOf(spec)
	if sh, ok := c.shapes[key]; ok {
		return sh
	}
	template := n.Pool.Object.Spec.Template
	sh := c.newShape(labelsOf(n.Pool.Object), spec, template.Spec.Requirements, false)
	sh.taints = template.Spec.Taints
	c.shapes[key] = sh
	return sh
}

// shapeOfClaim returns the shape of a claim that is not launched yet.
func (c *checker) shapeOfClaim(claim *apiv1.NodeClaim) *shape {
	key := "claim " + claim.Name
	if sh, ok := c.shapes[key]; ok {
		return sh
	}
	sh := c.newShape(claim.Labels, claim.Spec.Requirements, nil, true)
	sh.taints = claim.Spec.Taints
	c.shapes[key] = sh
	return sh
}

func (c *checker) newShape(labels map[string]string, claim, pool []requirement, launching bool) *shape {
	ofClaim, ofPool := byKey(claim, c.places.aliases), byKey(pool, c.places.aliases)
	all := maps.Clone(c.places.looked)
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
	sh := &shape{
		keys:      keys,
		facts:     c.factsBy(keys),
		launching: launching,
		options:   make(map[*model.InstanceType]*option),
	}
	for _, key := range sh.keys {
		label := candidate{}
		if v, ok := labels[key]; ok {
			label = candidate{value: v, given: true}
		}
		// Only a label that the pool speaks of is set by a claim to come. Any other
		// is missing, whatever a pod wished for.
		undecided := []candidate{{missing: true}}
		if launching && len(ofClaim[key]) > 0 || len(ofPool[key]) > 0 {
			undecided = keep(ofClaim[key], open(ofClaim[key]))
		}
		sh.given = append(sh.given, label)
		sh.claim = append(sh.claim, ofClaim[key])
		sh.pool = append(sh.pool, ofPool[key])
		sh.undecided = append(sh.undecided, undecided)
	}
	return sh
}

// textOf writes spec out in full.
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
