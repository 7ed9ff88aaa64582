package interruption

import (
	"context"
	"time"

	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

// again is the pause between two receives: none, but zero would mean never.
const again = time.Millisecond

// A Consumer deals with the messages of the queue.
type Consumer struct {
	queue   queue
	release *Releaser
	meter   *Meter
}

// NewConsumer returns a consumer of the queue of that name.
func NewConsumer(api QueueAPI, name string, r *Releaser) *Consumer {
	return &Consumer{queue: queue{api: api, name: name}, release: r, meter: r.Meter}
}

// Task receives without a pause.
func (c *Consumer) Task() periodic.Task {
	return periodic.Task{Label: "interruption", Run: func(ctx context.Context) (time.Duration, error) {
		return again, c.Consume(ctx)
	}}
}

// Consume waits for messages and deals with those that come, each instance once. Messages that could not be dealt with are
// left in the queue.
func (c *Consumer) Consume(ctx context.Context) error {
	received, err := c.queue.receive(ctx)
	if err != nil {
		return err
	}
	if len(received) == 0 {
		return nil
	}
	var notices []notice
	parsed := make([]Message, len(received))
	for n, raw := range received {
		m, err := Parse(body(raw))
		if err != nil {
			log.FromContext(ctx).Error(err, "passing over a message that cannot be read")
		}
		c.meter.received(m, c.release.Clock.Now())
		parsed[n] = m
		for _, id := range m.Instances {
			notices = append(notices, notice{instance: id, kind: m.Kind, time: m.Time})
		}
	}
	failed, err := c.release.release(ctx, notices)
	if err != nil {
		return err
	}
	var done []sqstypes.Message
	for n, raw := range received {
		if !parsed[n].touches(failed) {
			done = append(done, raw)
		}
	}
	removed, err := c.queue.remove(ctx, done)
	c.meter.deleted.Add(float64(removed))
	return err
}

func body(m sqstypes.Message) string {
	if m.Body == nil {
		return ""
	}
	return *m.Body
}

// touches reports whether the message is about one of the instances.
func (m Message) touches(instances map[string]bool) bool {
	for _, id := range m.Instances {
		if instances[id] {
			return true
		}
	}
	return false
}
