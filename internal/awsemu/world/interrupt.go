package world

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// spotNotice is the time from the interruption notice of a spot instance to its termination.
const spotNotice = 2 * time.Minute

// Interrupt reclaims a spot instance, or one in an interruptible reservation. It sends the notice now, and terminates the
// instance after spotNotice.
func (w *World) Interrupt(id string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.live(id)
	if err != nil {
		return err
	}
	if i.Capacity != Spot && !i.Interruptible {
		return wire.Errorf("UnsupportedOperation", "The instance %s is neither a spot instance nor in an interruptible reservation", id)
	}
	w.interrupt(i)
	return nil
}

// InterruptRandom reclaims n random spot instances that are running and whose end is not planned, or all if there are
// fewer. It returns their ids, sorted.
func (w *World) InterruptRandom(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	now := w.cfg.Clock.Now()
	var candidates []*Instance
	for _, i := range w.order {
		if i.Capacity == Spot && i.EndsAt.IsZero() && i.State(now) == Running {
			candidates = append(candidates, i)
		}
	}
	w.rng.Shuffle(len(candidates), func(a, b int) { candidates[a], candidates[b] = candidates[b], candidates[a] })
	ids := make([]string, 0, n)
	for _, i := range candidates[:min(n, len(candidates))] {
		w.interrupt(i)
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	return ids
}

func (w *World) interrupt(i *Instance) {
	now := w.cfg.Clock.Now()
	kind, reason := spotWarning, "Server.SpotInstanceTermination"
	if i.Interruptible {
		kind, reason = reservationWarning, "Server.CapacityReservationInterruption"
	}
	i.NoticeAt = now
	w.deliver(i, kind, now, map[string]any{"instance-id": i.ID, "instance-action": "terminate"})
	w.end(i, now.Add(spotNotice), reason)
	w.notify()
}

// Rebalance sends a rebalance recommendation for an instance. The instance keeps running.
func (w *World) Rebalance(id string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.live(id)
	if err != nil {
		return err
	}
	i.RebalanceAt = w.cfg.Clock.Now()
	w.deliver(i, rebalance, w.cfg.Clock.Now(), map[string]any{"instance-id": id})
	return nil
}

// ScheduleMaintenance sends one health event about the retirement of instances. They keep running.
func (w *World) ScheduleMaintenance(ids ...string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*Instance
	var affected []map[string]string
	for _, id := range ids {
		i, err := w.live(id)
		if err != nil {
			return err
		}
		all, affected = append(all, i), append(affected, map[string]string{"entityValue": id})
	}
	now := w.cfg.Clock.Now().UTC()
	w.deliverAbout(all, scheduledEvent, now, map[string]any{
		"eventArn":          fmt.Sprintf("arn:%s:health:%s::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/%s", w.Partition(), w.cfg.Region, w.uuid()),
		"service":           "EC2",
		"eventTypeCode":     "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
		"eventTypeCategory": "scheduledChange",
		"startTime":         now.Add(14 * 24 * time.Hour).Format(time.RFC1123),
		"eventDescription": []map[string]string{{
			"language": "en_US", "latestDescription": "The host of this instance is to be retired.",
		}},
		"affectedEntities": affected,
	})
	return nil
}

// live returns an instance that is neither being terminated nor terminated.
func (w *World) live(id string) (*Instance, *wire.Error) {
	w.settle()
	i, ok := w.instances[id]
	if !ok {
		return nil, wire.Errorf("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
	}
	if s := i.State(w.cfg.Clock.Now()); s == ShuttingDown || s == Terminated {
		return nil, wire.Errorf("IncorrectInstanceState", "The instance '%s' is %s", id, s.Name)
	}
	return i, nil
}
