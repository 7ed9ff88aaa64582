package dismiss

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Claim deletes exactly this claim, not another of the same name. A claim that is gone or being deleted already is
// left alone and not counted again.
func Claim(
	ctx context.Context, c client.Client, m *telemetry.NodeClaimMetrics,
	claim *apiv1.NodeClaim, reason lifecycle.DeleteReason,
) error {
	if !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := c.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("delete claim %s: %w", claim.Name, err)
	}
	m.DisruptedTotal.WithLabelValues(
		string(reason),
		claim.Labels[apiv1.NodePoolLabelKey],
		claim.Labels[apiv1.CapacityTypeLabelKey],
		"", // no consolidation, no policy
		telemetry.TerminationMode(claim.Spec.TerminationGracePeriod),
	).Inc()
	ctrl.LoggerFrom(ctx).Info("deleting nodeclaim", "reason", reason)
	return nil
}
