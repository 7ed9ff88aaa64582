package cloud

import "context"

// An Overlay returns types as the user's NodeOverlays correct them for the named pool: other prices, more resources. The
// types handed in are not changed. A provider applies it before it picks what to launch; what InstanceTypes returns is
// without overlays, its callers lay them on.
type Overlay func(ctx context.Context, pool string, types []*InstanceType) ([]*InstanceType, error)
