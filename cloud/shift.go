package cloud

import "context"

// A Shifter is a Provider that knows of zones from which the cluster's traffic is shifted away. It launches nothing there,
// and instances there do not end. Nodes there are not disrupted voluntarily.
type Shifter interface {
	Provider
	// ShiftedZones returns the zones as nodes have them in the label topology.kubernetes.io/zone.
	ShiftedZones(ctx context.Context) []string
}
