package pack

import (
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
)

// DaemonRequests returns what the pods of the DaemonSets request on a node with exactly these taints and labels. The labels
// have their current names; deprecated names in node selectors and node affinity are replaced by these.
func DaemonRequests(
	daemons []*model.Daemon, taints []corev1.Taint, labels map[string]string, rules apiv1.LabelRules,
) model.Resources {
	tolerating := catalog.DaemonsTolerating(daemons, taints, rules.Aliases)
	return catalog.OverheadOf(tolerating, require.FromLabels(labels), nil).Requests
}
