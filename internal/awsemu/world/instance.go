package world

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// A State is a state of an instance, with EC2's code and name.
type State struct {
	Code int
	Name string
}

// The states of an instance.
var (
	Pending      = State{0, "pending"}
	Running      = State{16, "running"}
	ShuttingDown = State{32, "shutting-down"}
	Terminated   = State{48, "terminated"}
	Stopping     = State{64, "stopping"}
	Stopped      = State{80, "stopped"}
)

// An Instance is a virtual machine. Its maps and slices are never changed in place, so a copy of it is a snapshot.
type Instance struct {
	ID, ReservationID, FleetID, ClientToken string
	Type, Arch, Capacity                    string
	Zone, ZoneID, Subnet                    string
	Image                                   Image
	Address                                 netip.Addr
	IPv6                                    netip.Addr // of the first interface; invalid if there is none
	SpotRequest                             string
	Groups                                  []string // security group ids
	Template                                TemplateRef
	Data                                    TemplateData
	Tags                                    map[string]string
	PricePerHour                            float64 // USD, at launch
	Sequence                                int64   // order of launch, from 1
	Reboots                                 int     // number of reboots and of starts after it was stopped

	Launched  time.Time
	RunningAt time.Time
	// RebootedAt is the time of the last reboot, zero if there was none.
	RebootedAt time.Time
	// EndsAt is when the instance begins to shut down, GoneAt when it is terminated. Both are zero until its end is requested
	// or planned. They may be in the future.
	EndsAt, GoneAt time.Time
	// StopsAt is when the instance began to stop, StoppedAt when it is stopped. Both are zero unless it is stopping or stopped.
	StopsAt, StoppedAt time.Time
	ReasonCode         string // why it was stopped or terminated: Client.UserInitiatedShutdown, ...
	Console            []string
	// InReservation is the capacity reservation that the instance uses, empty if there is none.
	InReservation string
	// ReservationKind and Interruptible are properties of the reservation that the launch named.
	ReservationKind string
	Interruptible   bool
	Health          Health
	// RebalanceAt is the time of the rebalance recommendation, NoticeAt that of the interruption notice. Both are zero if there
	// was none.
	RebalanceAt, NoticeAt time.Time

	announced State // the last state about which an event was sent
	idle      bool  // it is stopped, so it uses no capacity
}

// State returns the state of the instance at the given time.
func (i *Instance) State(now time.Time) State {
	switch {
	case !i.GoneAt.IsZero() && !now.Before(i.GoneAt):
		return Terminated
	case !i.EndsAt.IsZero() && !now.Before(i.EndsAt):
		return ShuttingDown
	case !i.StoppedAt.IsZero() && !now.Before(i.StoppedAt):
		return Stopped
	case !i.StopsAt.IsZero() && !now.Before(i.StopsAt):
		return Stopping
	case now.Before(i.RunningAt):
		return Pending
	}
	return Running
}

// PrivateDNS returns the instance's name in the DNS of the VPC.
func (i *Instance) PrivateDNS(region string) string {
	name := "ip-" + strings.ReplaceAll(i.Address.String(), ".", "-")
	if region == "us-east-1" {
		return name + ".ec2.internal"
	}
	return name + "." + region + ".compute.internal"
}

// pool returns the pool from which the instance was launched.
func (i *Instance) pool() Pool { return Pool{i.Type, i.Zone, i.Capacity} }

// settle executes the work that became due since the last call. It sends events about new states, releases the resources of
// terminated instances, and removes instances that have been terminated for TerminatedFor.
func (w *World) settle() {
	now := w.cfg.Clock.Now()
	if w.nextDue.IsZero() || now.Before(w.nextDue) {
		return
	}
	w.nextDue = time.Time{}
	forget := false
	for _, i := range w.order {
		w.announce(i, now)
		if i.announced == Terminated && !now.Before(i.GoneAt.Add(w.cfg.TerminatedFor)) {
			w.read(i, now)
			delete(w.instances, i.ID)
			forget = true
			continue
		}
		w.due(i.next(w.cfg.TerminatedFor))
	}
	if forget {
		w.order = slices.DeleteFunc(w.order, func(i *Instance) bool { return w.instances[i.ID] == nil })
	}
	w.notify()
}

// next returns the time of the instance's next change without a request; zero if there is none.
func (i *Instance) next(terminatedFor time.Duration) time.Time {
	switch {
	case i.announced == Terminated:
		return i.GoneAt.Add(terminatedFor)
	case i.announced == ShuttingDown:
		return i.GoneAt
	case i.announced == Stopping && (i.EndsAt.IsZero() || i.StoppedAt.Before(i.EndsAt)):
		return i.StoppedAt
	case i.announced == Pending && (i.EndsAt.IsZero() || i.RunningAt.Before(i.EndsAt)):
		return i.RunningAt
	}
	return i.EndsAt
}

// due records that settle has work at the given time.
func (w *World) due(at time.Time) {
	if !at.IsZero() && (w.nextDue.IsZero() || at.Before(w.nextDue)) {
		w.nextDue = at
	}
}

// announce sends an event for every state that the instance has entered since the last call. It releases the resources of a
// terminated instance, and the capacity of a stopped one.
func (w *World) announce(i *Instance, now time.Time) {
	if i.announced == Pending && i.State(now) != Pending && (i.EndsAt.IsZero() || i.RunningAt.Before(i.EndsAt)) {
		w.announceState(i, Running, i.RunningAt)
	}
	if i.announced == Running && !i.StopsAt.IsZero() && !now.Before(i.StopsAt) {
		w.announceState(i, Stopping, i.StopsAt)
	}
	if i.announced == Stopping && !now.Before(i.StoppedAt) && (i.EndsAt.IsZero() || i.StoppedAt.Before(i.EndsAt)) {
		w.announceState(i, Stopped, i.StoppedAt)
		w.occupy(i, -1)
	}
	if i.announced != ShuttingDown && i.announced != Terminated && !i.EndsAt.IsZero() && !now.Before(i.EndsAt) {
		w.announceState(i, ShuttingDown, i.EndsAt)
	}
	if i.announced == ShuttingDown && !now.Before(i.GoneAt) {
		w.announceState(i, Terminated, i.GoneAt)
		if !i.idle {
			w.occupy(i, -1)
		}
		if s := w.subnetByID(i.Subnet); s != nil {
			s.release(i.Address)
		}
	}
}

// Settle executes the events that are due and returns the time of the next one; zero if there is none.
func (w *World) Settle() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	return w.nextDue
}

// Now returns the current time of the account.
func (w *World) Now() time.Time { return w.cfg.Clock.Now() }

// Instances returns all instances that still exist, in order of launch. With visibleOnly, it omits those that the describe calls
// do not return yet, and the tags that they do not return yet.
func (w *World) Instances(visibleOnly bool) []Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	out := make([]Instance, 0, len(w.order))
	for _, i := range w.order {
		if visibleOnly && (w.hidden(i.Launched) || w.unlisted(i.Zone)) {
			continue
		}
		copied := *i
		if visibleOnly && w.cfg.Clock.Now().Before(i.Launched.Add(w.tagsHiddenFor)) {
			copied.Tags = nil
		}
		out = append(out, copied)
	}
	return out
}

// Instance returns the instance with the id.
func (w *World) Instance(id string) (Instance, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	i, ok := w.instances[id]
	if !ok {
		return Instance{}, false
	}
	return *i, true
}

// Log adds a line to an instance's console output, if it still exists.
func (w *World) Log(id, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i, ok := w.instances[id]; ok {
		i.Console = append(slices.Clip(i.Console), line)
	}
}

// A StateChange is the change of one instance's state by a call.
type StateChange struct {
	ID                string
	Previous, Current State
}

// Terminate terminates instances. If one id is unknown, the call fails and all instances keep running.
func (w *World) Terminate(ids []string) ([]StateChange, *wire.Error) {
	return w.change(ids, nil, func(i *Instance, now time.Time) { w.end(i, now, "Client.UserInitiatedShutdown") })
}

// Reboot reboots instances. If one id is unknown, or one instance is neither running nor pending, the call fails and none is
// rebooted.
func (w *World) Reboot(ids []string) *wire.Error {
	_, err := w.change(ids, func(i *Instance, now time.Time) *wire.Error {
		if state := i.State(now); state != Running && state != Pending {
			return wire.Errorf("IncorrectState", "The instance '%s' is not in a state from which it can be rebooted", i.ID)
		}
		return nil
	}, func(i *Instance, now time.Time) {
		i.Reboots++
		i.RebootedAt = now
		w.notify()
	})
	return err
}

// change makes one change to each of the instances, and returns the changes of their states. Check is called for all of them first,
// unless it is nil. If it fails for one, or an id is unknown, the call fails and none is changed.
func (w *World) change(
	ids []string, check func(*Instance, time.Time) *wire.Error, do func(*Instance, time.Time),
) ([]StateChange, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	if err := w.checkInstances(ids); err != nil {
		return nil, err
	}
	now := w.cfg.Clock.Now()
	for _, id := range ids {
		if check == nil {
			break
		}
		if err := check(w.instances[id], now); err != nil {
			return nil, err
		}
	}
	out := make([]StateChange, 0, len(ids))
	for _, id := range ids {
		i := w.instances[id]
		previous := i.State(now)
		do(i, now)
		out = append(out, StateChange{ID: id, Previous: previous, Current: i.State(now)})
	}
	w.settle()
	return out, nil
}

// SetGroups replaces the security groups of an instance.
func (w *World) SetGroups(id string, groups []string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.live(id)
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return wire.Errorf("MissingParameter", "The request must contain the parameter GroupId")
	}
	checked, failure := w.launchGroups(TemplateData{SecurityGroups: groups})
	if failure != nil {
		return wire.Errorf(failure.Code, "%s", failure.Message)
	}
	i.Groups = checked
	return nil
}

// end makes an instance shut down at the given time, unless it shuts down earlier.
func (w *World) end(i *Instance, at time.Time, reason string) {
	if !i.EndsAt.IsZero() && !at.Before(i.EndsAt) {
		return
	}
	i.EndsAt, i.GoneAt, i.ReasonCode = at, at.Add(w.cfg.ShuttingFor), reason
	w.due(at)
}

// checkInstances returns an error if one of the ids is malformed or unknown.
func (w *World) checkInstances(ids []string) *wire.Error {
	var missing []string
	for _, id := range ids {
		if !strings.HasPrefix(id, "i-") {
			return wire.Errorf("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
		if i, ok := w.instances[id]; !ok || w.hidden(i.Launched) || w.unlisted(i.Zone) {
			missing = append(missing, id)
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return wire.Errorf("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", missing[0])
	}
	return wire.Errorf("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(missing, ", "))
}

// CheckInstances returns an error if one of the ids is malformed or unknown.
func (w *World) CheckInstances(ids []string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	return w.checkInstances(ids)
}
