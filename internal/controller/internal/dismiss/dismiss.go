package dismiss

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Claim deletes the NodeClaim, counts it and reports whether it did. It returns false for a NodeClaim that no longer exists
// or is being deleted. If another NodeClaim has the name, the error is a conflict. reason is the value of the label reason
// in metrics.
func Claim(
	ctx context.Context, c client.Writer, m *telemetry.NodeClaimMetrics, claim *apiv1.NodeClaim, reason string,
) (deleted bool, err error) {
	if !claim.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if deleted, err := act.DeleteClaim(ctx, c, claim); err != nil || !deleted {
		return false, err
	}
	m.DisruptedTotal.WithLabelValues(
		reason,
		claim.Labels[apiv1.NodePoolLabelKey],
		claim.Labels[apiv1.CapacityTypeLabelKey],
		"", // not a consolidation, so there is no policy
		telemetry.TerminationMode(claim.Spec.TerminationGracePeriod),
	).Inc()
	ctrl.LoggerFrom(ctx).Info("deleting nodeclaim", "reason", reason)
	return true, nil
}
