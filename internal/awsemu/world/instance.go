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
	Reboots                                 int     // number of reboots

	Launched  time.Time
	RunningAt time.Time
	// RebootedAt is the time of the last reboot, zero if there was none.
	RebootedAt time.Time
	// EndsAt is when the instance begins to shut down, GoneAt when it is terminated. Both are zero until its end is requested
	// or planned. They may be in the future.
	EndsAt, GoneAt time.Time
	ReasonCode     string // why it was terminated: Client.UserInitiatedShutdown, ...
	Console        []string
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
}

// State returns the state of the instance at the given time.
func (i *Instance) State(now time.Time) State {
	switch {
	case !i.GoneAt.IsZero() && !now.Before(i.GoneAt):
		return Terminated
	case !i.EndsAt.IsZero() && !now.Before(i.EndsAt):
		return ShuttingDown
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
// terminated instance.
func (w *World) announce(i *Instance, now time.Time) {
	if i.announced == Pending && i.State(now) != Pending && (i.EndsAt.IsZero() || i.RunningAt.Before(i.EndsAt)) {
		w.announceState(i, Running, i.RunningAt)
	}
	if i.announced != ShuttingDown && i.announced != Terminated && !i.EndsAt.IsZero() && !now.Before(i.EndsAt) {
		w.announceState(i, ShuttingDown, i.EndsAt)
	}
	if i.announced == ShuttingDown && !now.Before(i.GoneAt) {
		w.announceState(i, Terminated, i.GoneAt)
		w.used[i.pool()]--
		if t, ok := w.Type(i.Type); ok {
			w.usedVCPU[i.Capacity] -= t.VCPU
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
// do not return yet.
func (w *World) Instances(visibleOnly bool) []Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	out := make([]Instance, 0, len(w.order))
	for _, i := range w.order {
		if !visibleOnly || !w.hidden(i.Launched) && !w.unlisted(i.Zone) {
			out = append(out, *i)
		}
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

// A StateChange is the change of one instance's state by a termination.
type StateChange struct {
	ID                string
	Previous, Current State
}

// Terminate terminates instances. If one id is unknown, the call fails and all instances keep running.
func (w *World) Terminate(ids []string) ([]StateChange, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	if err := w.checkInstances(ids); err != nil {
		return nil, err
	}
	now := w.cfg.Clock.Now()
	out := make([]StateChange, 0, len(ids))
	for _, id := range ids {
		i := w.instances[id]
		previous := i.State(now)
		w.end(i, now, "Client.UserInitiatedShutdown")
		out = append(out, StateChange{ID: id, Previous: previous, Current: i.State(now)})
	}
	w.settle()
	return out, nil
}

// Reboot reboots instances. If one id is unknown, or one instance is neither running nor pending, the call fails and none is
// rebooted.
func (w *World) Reboot(ids []string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	if err := w.checkInstances(ids); err != nil {
		return err
	}
	now := w.cfg.Clock.Now()
	for _, id := range ids {
		if state := w.instances[id].State(now); state != Running && state != Pending {
			return wire.Errorf("IncorrectState", "The instance '%s' is not in a state from which it can be rebooted", id)
		}
	}
	for _, id := range ids {
		w.instances[id].Reboots++
		w.instances[id].RebootedAt = now
	}
	w.notify()
	return nil
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
