package inputs

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Daemons adds the requests of the DaemonSet pods of new nodes to a Snapshot. A nil Daemons uses no LimitRanges. If they
// cannot be listed, the error is logged and none are used.
type Daemons struct {
	// Reader lists LimitRanges, from a cache.
	Reader client.Reader
}

// WithRequests returns s with the requests that DaemonSet pods get from the defaults of the LimitRanges in their namespaces. See
// model.Snapshot.Informed.
func (d *Daemons) WithRequests(ctx context.Context, s *model.Snapshot) *model.Snapshot {
	var ranges []*corev1.LimitRange
	if d != nil {
		var list corev1.LimitRangeList
		if err := d.Reader.List(ctx, &list); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "failed to list LimitRanges")
		}
		for i := range list.Items {
			ranges = append(ranges, &list.Items[i])
		}
	}
	return s.Informed(ranges)
}
