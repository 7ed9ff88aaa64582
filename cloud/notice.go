package cloud

import (
	"context"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Notice and NoticeKind are types of the engine. A provider converts the messages of its cloud to them, and the
// engine decides what is done with the claims.
type (
	Notice     = model.Notice
	NoticeKind = model.NoticeKind
)

// A Notifier is a Provider whose cloud sends notices about instances that will be terminated or are
// unhealthy.
type Notifier interface {
	Provider
	// NoticeSources returns where notices come from. The result never changes.
	NoticeSources() []NoticeSource
	// MarkUnavailable is called when a notice shows that there is no capacity of the given type any more where the claim's
	// instance runs: spot capacity of its instance type and zone, or its reservation. InstanceTypes shows it as not available
	// for a while. It must not wait for the cloud.
	MarkUnavailable(claim *apiv1.NodeClaim, capacityType string)
}

// A NoticeSource delivers notices: a queue, or a status that is polled.
type NoticeSource interface {
	// Name is the name of the controller that handles the notices, in logs and metrics.
	Name() string
	// Receive waits for notices, or checks for them once, and returns those that there are. It is not called again before
	// the batch has been handled. After an error it is called again after a delay, which grows with each error.
	Receive(ctx context.Context) (NoticeBatch, error)
}

// A NoticeBatch is the notices that arrived together.
type NoticeBatch struct {
	Notices []Notice
	// Acknowledge, if not nil, is called after the actions for all notices of the batch were tried. failed has the notices
	// whose action did not succeed; of several such notices about one instance, only the most urgent one. It also has notices
	// about instances that no claim has yet, while a launch is pending whose result they may be. The source delivers these
	// again. If no action could be tried, Acknowledge is not called.
	Acknowledge func(ctx context.Context, failed []Notice) error
	// Next is the wait until the next Receive, longer than zero.
	Next time.Duration
}
