package offline

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

// addNodes adds the Nodes and NodeClaims of the input, and the nodes that static NodePools lack. A node with the
// label of a NodePool counts as registered, initialized and consolidatable, and gets a NodeClaim if it has none.
func (a *assembly) addNodes() {
	byType := map[string]*model.InstanceType{}
	for _, types := range a.Delta.Types {
		for _, t := range types {
			byType[t.Name] = t
		}
	}
	claims := manifest.Of[*apiv1.NodeClaim](a.set)
	owned := map[string]*apiv1.NodeClaim{}
	for _, c := range claims {
		id, name := c.Status.ProviderID, c.Status.NodeName
		if id == "" && name == "" {
			name = c.Name // a claim without a node name belongs to the node with its name, if there is one
		}
		owned["id "+id], owned["name "+name] = c, c
	}
	delete(owned, "id ")
	delete(owned, "name ")
	unknown := map[string]int{}
	for _, o := range slices.Concat(manifest.Of[*corev1.Node](a.set), a.static()) {
		a.nodes[o.Name] = o
		a.furnish(o, byType)
		a.Delta.Nodes = append(a.Delta.Nodes, o)
		pool := o.Labels[apiv1.NodePoolLabelKey]
		if pool == "" {
			continue
		}
		if len(a.Delta.Types[pool]) > 0 && byType[o.Labels[corev1.LabelInstanceTypeStable]] == nil {
			unknown[o.Labels[corev1.LabelInstanceTypeStable]]++
		}
		c := owned["name "+o.Name]
		if c == nil && o.Spec.ProviderID != "" {
			c = owned["id "+o.Spec.ProviderID]
		}
		if c == nil {
			c = a.claimFor(o)
			claims = append(claims, c)
		}
		a.join(o, c)
	}
	a.Delta.Claims = claims
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		a.warn("%s of type %q, which the catalogue does not have: no price is known", units.Counted(unknown[name], "node"), name)
	}
}

// furnish adds labels and resources that each node has and that a manifest may lack.
func (a *assembly) furnish(o *corev1.Node, byType map[string]*model.InstanceType) {
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	fillLabel(o, corev1.LabelHostname, o.Name)
	fillLabel(o, corev1.LabelOSStable, string(corev1.Linux))
	if t := byType[o.Labels[corev1.LabelInstanceTypeStable]]; t != nil {
		for key, v := range t.Requirements.Labels() {
			fillLabel(o, key, v)
		}
		if len(o.Status.Allocatable) == 0 && len(o.Status.Capacity) == 0 {
			o.Status.Capacity, o.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
		}
	}
	switch {
	case len(o.Status.Allocatable) == 0 && len(o.Status.Capacity) == 0:
		a.warn("Node %s has neither status.allocatable nor a type of the catalogue: it takes no pods", o.Name)
	case len(o.Status.Allocatable) == 0:
		o.Status.Allocatable = o.Status.Capacity
	case len(o.Status.Capacity) == 0:
		o.Status.Capacity = o.Status.Allocatable
	}
	for _, list := range []corev1.ResourceList{o.Status.Capacity, o.Status.Allocatable} {
		if _, ok := list[corev1.ResourcePods]; !ok && len(list) > 0 {
			list[corev1.ResourcePods] = model.Quantity(corev1.ResourcePods, 110)
		}
	}
	if !slices.ContainsFunc(o.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }) {
		o.Status.Conditions = append(o.Status.Conditions,
			corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue})
	}
}

func fillLabel(o *corev1.Node, key, value string) {
	if _, ok := o.Labels[key]; !ok {
		o.Labels[key] = value
	}
}

// claimFor returns a claim for a node of the input without one. The claim has a hash of its NodePool only if the
// node's annotations have it; without a hash, it has not drifted from the template. It never expires.
func (a *assembly) claimFor(o *corev1.Node) *apiv1.NodeClaim {
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: o.Name, UID: types.UID("claim of " + o.Name), Labels: maps.Clone(o.Labels), Annotations: maps.Clone(o.Annotations),
		CreationTimestamp: o.CreationTimestamp,
	}}
	delete(c.Labels, corev1.LabelHostname)
	c.Spec.Requirements = require.FromLabels(c.Labels).Spec()
	pool := o.Labels[apiv1.NodePoolLabelKey]
	for _, p := range a.Delta.Pools {
		if p.Name == pool {
			c.Spec.NodeClassRef = p.Spec.Template.Spec.NodeClassRef
			c.Spec.StartupTaints = p.Spec.Template.Spec.StartupTaints
			c.Spec.TerminationGracePeriod = p.Spec.Template.Spec.TerminationGracePeriod
		}
	}
	return c
}

// join gives node and claim the same provider ID, and removes startup taints and the taint karpenter.sh/unregistered from
// the node. It marks both as registered and initialized, and the claim as consolidatable.
func (a *assembly) join(o *corev1.Node, c *apiv1.NodeClaim) {
	if o.Spec.ProviderID == "" {
		o.Spec.ProviderID = c.Status.ProviderID
	}
	if o.Spec.ProviderID == "" {
		o.Spec.ProviderID = "offline:///" + o.Name
	}
	o.Labels[apiv1.NodeRegisteredLabelKey], o.Labels[apiv1.NodeInitializedLabelKey] = "true", "true"
	o.Spec.Taints = slices.DeleteFunc(o.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == apiv1.UnregisteredNoExecuteTaint().Key ||
			slices.ContainsFunc(c.Spec.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(&t) })
	})
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	c.Labels[apiv1.NodePoolLabelKey] = o.Labels[apiv1.NodePoolLabelKey]
	c.Status.NodeName, c.Status.ProviderID = o.Name, o.Spec.ProviderID
	c.Status.Capacity, c.Status.Allocatable = o.Status.Capacity, o.Status.Allocatable
	for _, name := range []string{
		apiv1.ConditionTypeLaunched, apiv1.ConditionTypeRegistered, apiv1.ConditionTypeInitialized,
		apiv1.ConditionTypeConsolidatable,
	} {
		c.Status.Conditions = slices.DeleteFunc(c.Status.Conditions, func(x metav1.Condition) bool { return x.Type == name })
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: name, Status: metav1.ConditionTrue, Reason: name, LastTransitionTime: metav1.NewTime(a.Now),
		})
	}
}
