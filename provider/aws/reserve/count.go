package reserve

import (
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// count is the number of instances left in a reservation.
type count struct{ free int }

// sync sets the counts to those of EC2. These include all launches before the call.
func (r *Reservations) sync(found []ec2types.CapacityReservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range found {
		r.set(aws.ToString(f.CapacityReservationId), int(aws.ToInt32(f.AvailableInstanceCount)))
	}
}

// set sets a count. The caller holds mu.
func (r *Reservations) set(id string, free int) {
	free = max(free, 0)
	old := r.left[id]
	if old == nil || old.free != free {
		r.left[id] = &count{free: free}
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
// reservation without a count is ignored, also by Ended and Full.
func (r *Reservations) Launched(id string) { r.change(id, func(free int) int { return free - 1 }) }

// Ended records that an instance of the reservation is terminated. Repeated calls for one instance
// within returnedLife count once. An empty instance is ignored.
func (r *Reservations) Ended(id, instance string) {
	if instance == "" || !r.returnOnce(id+" "+instance) {
		return
	}
	r.change(id, func(free int) int { return free + 1 })
}

// returnOnce records a call of Ended with this reservation and instance, and reports whether it is the first one within
// returnedLife.
func (r *Reservations) returnOnce(place string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, before := r.returned.Get(place); before {
		return false
	}
	r.returned.Set(place, true)
	return true
}

// Full records that EC2 refused a launch because the reservation has no capacity left.
func (r *Reservations) Full(id string) { r.change(id, func(int) int { return 0 }) }

func (r *Reservations) change(id string, to func(int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.left[id]; c != nil {
		r.set(id, to(c.free))
	}
}

// Revision returns a number that changes whenever a count changes.
func (r *Reservations) Revision() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision
}
