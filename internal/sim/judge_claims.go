package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// claimRules are about claims and nodes that must change, or go, within some time.
type claimRules struct{ *judge }

// registers is how long a claim may exist before its node registers.
const registers = 15 * time.Minute

// written checks that no claim needs an EC2NodeClass that is removed.
func (r claimRules) written(before, after client.Object) {
	class, ok := before.(*awsv1.EC2NodeClass)
	if !ok || after != nil {
		return
	}
	for _, c := range kubeapi.List[*apiv1.NodeClaim](r.world.platform.server) {
		ref := c.Spec.NodeClassRef
		if ref.Kind == "EC2NodeClass" && ref.Name == class.Name && r.hasSeen(r.writer(), c.CreationTimestamp.Time, "nodeclaims") {
			r.violate(ruleClasses, "EC2NodeClass %s is gone, and claim %s still needs it", class.Name, c.Name)
		}
	}
}

// look checks all claims and nodes. Each state may last for the time recovery without an event or a fault.
func (r claimRules) look() {
	all, expired := kubeapi.List[*apiv1.NodeClaim](r.world.platform.server), 0
	for _, c := range all {
		if r.expired(c) {
			expired++
		}
	}
	instances := r.world.account.instances()
	for _, c := range all {
		i, exists := instances[idOf(c)]
		most := periodicBound // the claim is found by a periodic check, and then its node may have to be drained
		if c.DeletionTimestamp != nil {
			most = recovery
		}
		if strings.HasPrefix(c.Status.ProviderID, "aws:") && !(exists && alive(i)) && r.lasts(ruleOutlives, c.Name) > most {
			r.violate(ruleOutlives, "claim %s has existed for %s after its instance %s ended, deletion %v", c.Name, most, idOf(c), c.DeletionTimestamp)
		}
		if c.DeletionTimestamp != nil {
			continue
		}
		if !condition.IsTrue(c, apiv1.ConditionTypeRegistered) && time.Since(c.CreationTimestamp.Time) > registers && r.lasts(ruleRegisters, c.Name) > recovery {
			r.violate(ruleRegisters, "claim %s is %s old, is not registered and is not being deleted", c.Name, time.Since(c.CreationTimestamp.Time).Round(time.Second))
		}
		// The controller deletes at most ten expired claims within ten minutes, or a fifth of all claims if that is more.
		if r.expired(c) && expired <= 10 && r.lasts(ruleExpires, c.Name) > recovery {
			r.violate(ruleExpires, "claim %s expired %s after its creation, is %s old and is not being deleted", c.Name, c.Spec.ExpireAfter.Duration,
				time.Since(c.CreationTimestamp.Time).Round(time.Second))
		}
		r.lookAtMetadata(c)
		if r.lacksLabel(c) && !condition.IsTrue(c, apiv1.ConditionTypeDrifted) && r.lasts(ruleDrift, c.Name) > recovery {
			r.violate(ruleDrift, "claim %s has had other labels than its NodePool for %s, and is not drifted", c.Name, recovery)
		}
	}
	for _, n := range kubeapi.List[*corev1.Node](r.world.platform.server) {
		r.lookAtTaints(n)
	}
}

// expired reports whether a claim has reached its expireAfter and is not being deleted.
func (r claimRules) expired(c *apiv1.NodeClaim) bool {
	d := c.Spec.ExpireAfter.Duration
	return d != nil && c.DeletionTimestamp == nil && time.Since(c.CreationTimestamp.Time) > *d
}

// lacksLabel reports whether a claim that has launched lacks a label of its NodePool's template, or has it with another value.
func (r claimRules) lacksLabel(c *apiv1.NodeClaim) bool {
	pool, ok := kubeapi.Find[*apiv1.NodePool](r.world.platform.server, "", c.Labels[apiv1.NodePoolLabelKey])
	if !ok || pool.DeletionTimestamp != nil || !condition.IsTrue(c, apiv1.ConditionTypeLaunched) {
		return false
	}
	for key, value := range pool.Spec.Template.Labels {
		if c.Labels[key] != value {
			return true
		}
	}
	return false
}

// lookAtMetadata checks that the node of a registered claim has the labels and annotations that both the claim and the template of its
// NodePool have.
func (r claimRules) lookAtMetadata(c *apiv1.NodeClaim) {
	pool, ok1 := kubeapi.Find[*apiv1.NodePool](r.world.platform.server, "", c.Labels[apiv1.NodePoolLabelKey])
	n, ok2 := kubeapi.Find[*corev1.Node](r.world.platform.server, "", c.Status.NodeName)
	if !ok1 || !ok2 || !condition.IsTrue(c, apiv1.ConditionTypeRegistered) {
		return
	}
	for _, part := range []struct {
		what                  string
		template, claim, node map[string]string
	}{
		{"label", pool.Spec.Template.Labels, c.Labels, n.Labels}, {"annotation", pool.Spec.Template.Annotations, c.Annotations, n.Annotations},
	} {
		for _, key := range slices.Sorted(maps.Keys(part.template)) {
			if want := part.template[key]; part.claim[key] == want && part.node[key] != want {
				r.violate(ruleMetadata, "node %s has no %s %s=%s, and its claim %s has it", n.Name, part.what, key, want, c.Name)
			}
		}
	}
}

// lookAtTaints checks that a node loses the taint of nodes that are not registered, and the taint of nodes that are disrupted unless it is
// being deleted.
func (r claimRules) lookAtTaints(n *corev1.Node) {
	if n.Labels[apiv1.NodeRegisteredLabelKey] == "true" && hasTaint(n, apiv1.UnregisteredTaintKey) && r.lasts(ruleTaints, n.Name+" "+apiv1.UnregisteredTaintKey) > recovery {
		r.violate(ruleTaints, "node %s is registered and has had the taint %s for %s", n.Name, apiv1.UnregisteredTaintKey, recovery)
	}
	if hasTaint(n, apiv1.DisruptedTaintKey) && !r.drains.leaving(n.Name) && r.lasts(ruleTaints, n.Name+" "+apiv1.DisruptedTaintKey) > settled {
		r.violate(ruleTaints, "node %s has had the taint %s for %s, and is not being deleted", n.Name, apiv1.DisruptedTaintKey, settled)
	}
}
