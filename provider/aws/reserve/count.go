package reserve

import (
	"math"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// count is the number of instances left in a reservation.
type count struct {
	free int
	// uses counts the launches in the reservation, and the launches that it refused. syncs counts calls of sync.
	uses, syncs uint64
}

// uses returns the uses of each reservation. It is called before the reservations are listed, for sync.
func (r *Reservations) uses() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]uint64, len(r.left))
	for id, c := range r.left {
		out[id] = c.uses
	}
	return out
}

// sync sets the counts to those of EC2. The parameter before has the uses of the reservations before the call of EC2. If a
// reservation has been used since, EC2 may not have counted that, so the smaller number holds until the next call.
func (r *Reservations) sync(found []ec2types.CapacityReservation, before map[string]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range found {
		id, free := aws.ToString(f.CapacityReservationId), int(aws.ToInt32(f.AvailableInstanceCount))
		if c := r.left[id]; c != nil && c.uses != before[id] {
			free = min(free, c.free)
		}
		r.set(id, free)
		r.left[id].syncs++
	}
}

// set sets a count. The caller holds mu.
func (r *Reservations) set(id string, free int) {
	free = max(free, 0)
	c := r.left[id]
	if c == nil {
		c = &count{free: -1}
		r.left[id] = c
	}
	if c.free != free {
		c.free = free
		r.revision++
	}
}

// Left returns how many more instances can be launched in the reservation, 0 if that is not known.
func (r *Reservations) Left(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.left[id]; c != nil {
		return c.free
	}
	return 0
}

// Launched records that an instance was launched in the reservation. A
// reservation without a count is ignored, also by Ending, Ended and Full.
func (r *Reservations) Launched(id string) { r.use(id, func(free int) int { return free - 1 }) }

// Full records that EC2 refused a launch because the reservation has no capacity left.
func (r *Reservations) Full(id string) { r.use(id, func(int) int { return 0 }) }

func (r *Reservations) use(id string, to func(free int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.left[id]; c != nil {
		c.uses++
		r.set(id, to(c.free))
	}
}

// counted is the value of Reservations.ending for an instance that is in the count again.
const counted = math.MaxUint64

// Ending records that the termination of an instance of the reservation is requested. Repeated calls for one instance within
// endingLife have no effect.
func (r *Reservations) Ending(id, instance string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.ending.Get(id + " " + instance); !known && r.left[id] != nil {
		r.ending.Set(id+" "+instance, r.left[id].syncs)
	}
}

// Ended records that an instance is terminated for which Ending was called. It counts the instance as left, unless EC2 has listed
// the reservation since the call of Ending: then EC2 has counted the instance, or will within a minute. Repeated calls for one
// instance count once.
func (r *Reservations) Ended(id, instance string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.left[id]
	if c == nil {
		return
	}
	if syncs, known := r.ending.Get(id + " " + instance); known && syncs == c.syncs {
		r.ending.Set(id+" "+instance, counted)
		r.set(id, c.free+1)
	}
}

// Revision returns a number that changes whenever a count changes.
func (r *Reservations) Revision() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision
}
