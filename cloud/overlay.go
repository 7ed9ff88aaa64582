package cloud

import "context"

// An Overlay returns the types with the changes of NodeOverlays for the named pool: other prices and additional
// resources. It does not change the given types. InstanceTypes returns types without overlays, and its callers apply
// them. A provider applies them before it chooses what to launch.
type Overlay func(ctx context.Context, pool string, types []*InstanceType) ([]*InstanceType, error)
