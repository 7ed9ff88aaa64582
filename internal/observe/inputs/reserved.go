package inputs

import (
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// lessReserved returns s with lower counts of the capacity reservations for which NodeClaims wait to be launched: by one for each
// NodeClaim that must be launched in the reservation. Clouds count an instance only when it is launched.
func lessReserved(s *model.Snapshot) *model.Snapshot {
	var waiting []require.Set
	for n := range s.NodesInOrder() {
		if n.Launched() || n.Claim.DeletionTimestamp != nil {
			continue
		}
		wishes := model.Wishes(s, n)
		if r, ok := wishes.Get(apiv1.CapacityTypeLabelKey); ok && r.Equal(reservedOnly) {
			waiting = append(waiting, wishes)
		}
	}
	if len(waiting) == 0 {
		return s
	}
	taken := map[string]int{} // by reservation
	return s.Apply(model.Delta{Types: model.WithOfferings(s, func(_ *model.InstanceType, o *model.Offering) bool {
		if o.ReservationID == "" {
			return false
		}
		n, known := taken[o.ReservationID]
		if !known {
			for _, wishes := range waiting {
				if _, ok := wishes.Intersects(o.Requirements); ok {
					n++
				}
			}
			taken[o.ReservationID] = n
		}
		o.ReservationCapacity = max(0, o.ReservationCapacity-n)
		return n > 0
	})})
}

var reservedOnly = require.New(apiv1.CapacityTypeLabelKey, require.In, apiv1.CapacityTypeReserved)
