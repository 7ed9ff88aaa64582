package interruption

import (
	"context"
	"time"

	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
)

// again is the pause between two receives. It is not zero, because zero means that there is no next receive.
const again = time.Millisecond

// A Consumer receives the messages of the queue as notices.
type Consumer struct {
	// Rebalance is true if nodes with a rebalance recommendation are replaced. Otherwise the recommendation is only
	// reported by an event.
	Rebalance bool

	queue queue
	clock clock.Clock
	meter *Meter
}

var _ cloud.NoticeSource = (*Consumer)(nil)

// NewConsumer returns a consumer of the queue of that name.
func NewConsumer(api QueueAPI, name string, c clock.Clock, m *Meter) *Consumer {
	return &Consumer{queue: queue{api: api, name: name, clock: c}, clock: c, meter: m}
}

// Name implements cloud.NoticeSource.
func (*Consumer) Name() string { return "interruption" }

// Receive waits for messages and returns their notices. When the notices are acknowledged, a message is deleted unless
// the action for one of its instances has failed.
func (c *Consumer) Receive(ctx context.Context) (cloud.NoticeBatch, error) {
	received, err := c.queue.receive(ctx)
	if err != nil {
		return cloud.NoticeBatch{}, brief(err)
	}
	batch := cloud.NoticeBatch{Next: again}
	if len(received) == 0 {
		return batch, nil
	}
	parsed := make([]Message, len(received))
	for n, raw := range received {
		m, err := Parse(body(raw))
		if err != nil {
			log.FromContext(ctx).Error(err, "skipping unreadable interruption message")
		}
		c.meter.received(m, c.clock.Now())
		parsed[n] = m
		batch.Notices = append(batch.Notices, c.notices(m)...)
	}
	batch.Acknowledge = func(ctx context.Context, failed []cloud.Notice) error {
		return c.acknowledge(ctx, received, parsed, failed)
	}
	return batch, nil
}

// acknowledge deletes the messages that concern none of the failed instances.
func (c *Consumer) acknowledge(
	ctx context.Context, received []sqstypes.Message, parsed []Message, failed []cloud.Notice,
) error {
	instances := map[string]bool{}
	for _, n := range failed {
		instances[n.Instance] = true
	}
	var done []sqstypes.Message
	for n, raw := range received {
		if !parsed[n].touches(instances) {
			done = append(done, raw)
		}
	}
	removed, err := c.queue.remove(ctx, done)
	c.meter.deleted.Add(float64(removed))
	if err != nil {
		return brief(err)
	}
	return nil
}

func body(m sqstypes.Message) string {
	if m.Body == nil {
		return ""
	}
	return *m.Body
}

// notices returns one notice for each instance of the message.
func (c *Consumer) notices(m Message) []cloud.Notice {
	text, act := messages[m.Kind], false
	if m.Kind == model.NoticeRebalance {
		act = c.Rebalance
		if !act {
			text += "; no action is taken"
		}
	}
	var out []cloud.Notice
	for _, id := range m.Instances {
		out = append(out, cloud.Notice{Kind: m.Kind, Instance: id, Time: m.Time, Act: act, Message: text})
	}
	return out
}

// touches reports whether the message concerns one of the instances.
func (m Message) touches(instances map[string]bool) bool {
	for _, id := range m.Instances {
		if instances[id] {
			return true
		}
	}
	return false
}
