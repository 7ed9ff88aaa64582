package world

import (
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// Stop stops instances. Those that are stopping or stopped already stay so. If one id is unknown, or one instance cannot be
// stopped, the call fails and all instances keep running. The spot requests of fleets and of RunInstances are for one launch, and
// EC2 stops no instance of such a request.
func (w *World) Stop(ids []string) ([]StateChange, *wire.Error) {
	return w.change(ids, func(i *Instance, now time.Time) *wire.Error {
		if s := i.State(now); s != Running && s != Stopping && s != Stopped {
			return wire.Errorf("IncorrectInstanceState", "This instance '%s' is not in a state from which it can be stopped.", i.ID)
		}
		if i.Capacity == Spot {
			return wire.Errorf("UnsupportedOperation",
				"You can't stop the Spot Instance '%s' because it is associated with a one-time Spot Instance request.", i.ID)
		}
		return nil
	}, func(i *Instance, now time.Time) {
		if i.State(now) == Running {
			i.StopsAt, i.StoppedAt, i.ReasonCode = now, now.Add(w.cfg.StoppingFor), "Client.UserInitiatedShutdown"
			w.due(now)
		}
	})
}

// Start starts stopped instances. Those that are pending or running stay so. If one id is unknown, or one instance cannot be
// started, or there is no capacity for one, the call fails and it starts none.
func (w *World) Start(ids []string) ([]StateChange, *wire.Error) {
	need := map[Pool]int{}
	return w.change(ids, func(i *Instance, now time.Time) *wire.Error {
		switch i.State(now) {
		case Pending, Running:
			return nil
		case Stopped:
		default:
			return wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be started.", i.ID)
		}
		need[i.pool()]++
		if room, code := w.room(i.pool()); room < need[i.pool()] {
			return wire.Errorf(code, "%s", capacityMessage(i.pool(), code))
		}
		return nil
	}, func(i *Instance, now time.Time) {
		if i.State(now) == Stopped {
			w.start(i, now)
		}
	})
}

// start makes a stopped instance pending. The time in which it was stopped is not billed.
func (w *World) start(i *Instance, now time.Time) {
	w.read(i, now).charge(now, 0)
	i.StopsAt, i.StoppedAt, i.ReasonCode = time.Time{}, time.Time{}, ""
	i.RunningAt = now.Add(w.cfg.PendingFor)
	i.Reboots++
	w.occupy(i, 1)
	w.announceState(i, Pending, now)
	w.due(i.RunningAt)
	w.notify()
}

// occupy adds n instances like this one to the use of capacity and of the vCPU quota.
func (w *World) occupy(i *Instance, n int) {
	i.idle = n < 0
	w.used[i.pool()] += n
	if t, ok := w.Type(i.Type); ok {
		w.usedVCPU[i.Capacity] += n * t.VCPU
	}
}
