package cloud

import (
	"context"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Notice and NoticeKind are the engine's own: a provider reads its cloud's messages into them, and the engine decides what
// becomes of the claims.
type (
	Notice     = model.Notice
	NoticeKind = model.NoticeKind
)

// A Notifier is a Provider whose cloud gives notice of instances that go away or have gone bad.
type Notifier interface {
	Provider
	// NoticeSources returns where notices come from. The result never changes.
	NoticeSources() []NoticeSource
	// MarkUnavailable is called when a notice shows that there is no capacity of the given type any more where the claim's
	// instance runs: spot capacity of its instance type and zone, or its reservation. InstanceTypes shows it as not available
	// for a while. It must return at once.
	MarkUnavailable(claim *apiv1.NodeClaim, capacityType string)
}

// A NoticeSource delivers notices: a queue, or a status that is polled.
type NoticeSource interface {
	// Name is the name in logs and metrics of the controller that carries the notices out.
	Name() string
	// Receive waits for notices, or looks for them once, and returns what there is. It is not called again before the batch
	// has been dealt with. After an error it is called again, later each time.
	Receive(ctx context.Context) (NoticeBatch, error)
}

// A NoticeBatch is the notices that arrived together.
type NoticeBatch struct {
	Notices []Notice
	// Acknowledge, if not nil, is called once all that the notices call for was tried. Failed are the notices for which that did
	// not succeed; of several about one instance the most urgent one. The source delivers them again. Acknowledge is not
	// called if nothing could be tried at all.
	Acknowledge func(ctx context.Context, failed []Notice) error
	// Next is the wait until the next Receive, longer than zero.
	Next time.Duration
}
