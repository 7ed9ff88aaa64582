package reserve

import (
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// count is how many instances a reservation still holds.
type count struct{ free int }

// sync takes over what EC2 says is free. That includes whatever was launched before EC2 was asked.
func (r *Reservations) sync(found []ec2types.CapacityReservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range found {
		r.set(aws.ToString(f.CapacityReservationId), int(aws.ToInt32(f.AvailableInstanceCount)))
	}
}

// set notes a count. The caller holds mu.
func (r *Reservations) set(id string, free int) {
	free = max(free, 0)
	old := r.left[id]
	if old == nil || old.free != free {
		r.left[id] = &count{free: free}
		r.revision++
	}
}

// Left returns how many more instances can be launched into the reservation, 0 if that is not known.
func (r *Reservations) Left(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.left[id]; c != nil {
		return c.free
	}
	return 0
}

// Launched notes that an instance was launched into the reservation.
func (r *Reservations) Launched(id string) { r.change(id, func(free int) int { return free - 1 }) }

// Ended notes that an instance of the reservation is gone. An instance counts once, however often it is reported.
func (r *Reservations) Ended(id, instance string) {
	if instance == "" || !r.returnOnce(id+" "+instance) {
		return
	}
	r.change(id, func(free int) int { return free + 1 })
}

// returnOnce reports whether the place of the instance was not returned before.
func (r *Reservations) returnOnce(place string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, before := r.returned.Get(place); before {
		return false
	}
	r.returned.Set(place, true)
	return true
}

// Full notes that EC2 refused a launch because the reservation has no capacity left.
func (r *Reservations) Full(id string) { r.change(id, func(int) int { return 0 }) }

func (r *Reservations) change(id string, to func(int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.left[id]; c != nil {
		r.set(id, to(c.free))
	}
}

// Revision changes whenever a count does.
func (r *Reservations) Revision() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision
}
