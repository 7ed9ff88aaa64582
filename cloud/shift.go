package cloud

import "context"

// A Shifter is a Provider that knows the zones from which the traffic of the cluster is shifted away. It launches no
// instances there, and does not terminate instances there. Nodes in these zones are not disrupted voluntarily.
type Shifter interface {
	Provider
	// ShiftedZones returns these zones, as values of the node label topology.kubernetes.io/zone.
	ShiftedZones(ctx context.Context) []string
}
