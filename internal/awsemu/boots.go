package awsemu

import (
	"slices"
	"sync"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// boots has the rules about how machines start. The newest rule that matches a type applies.
type boots struct {
	mu    sync.Mutex // guards rules
	rules []control.Boot
}

// SetBoot changes how machines of matching types start.
func (e *Emulator) SetBoot(b control.Boot) {
	e.boots.mu.Lock()
	e.boots.rules = append(e.boots.rules, b)
	e.boots.mu.Unlock()
	e.world.Wake()
}

// ClearBoot makes machines start normally again, including those that still wait.
func (e *Emulator) ClearBoot() {
	e.boots.clear()
	e.world.Wake()
}

// clear removes all rules about how machines start.
func (b *boots) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules = nil
}

// of returns the rule for a type, zero if there is none.
func (b *boots) of(name string) control.Boot {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rule := range slices.Backward(b.rules) {
		if rule.Type == "" || wire.Match(rule.Type, name) {
			return rule
		}
	}
	return control.Boot{}
}

// Settle executes the events of the account that are due, and returns the time of the next one, the zero time if there is none.
// It is for callers that step machines themselves. Run calls it, too.
func (e *Emulator) Settle() time.Time { return hardware{e}.Settle() }

// Changed returns a channel that is signalled when instances are launched or terminated.
func (e *Emulator) Changed() <-chan struct{} { return hardware{e}.Changed() }

// hardware implements machine.Cloud with the account's instances.
type hardware struct{ e *Emulator }

// bootsAt returns when an instance began to boot for the last time.
func bootsAt(i world.Instance) time.Time {
	if i.RebootedAt.After(i.RunningAt) {
		return i.RebootedAt
	}
	return i.RunningAt
}

// Machines returns all instances that still exist, in any state.
func (h hardware) Machines() []machine.Machine {
	now := h.e.world.Now()
	instances := h.e.world.Instances(false)
	out := make([]machine.Machine, 0, len(instances))
	for _, i := range instances {
		t, ok := h.e.world.AnyType(i.Type)
		if !ok {
			continue
		}
		boot := h.e.boots.of(i.Type)
		m := machine.Machine{
			ID: i.ID, Node: i.PrivateDNS(h.e.world.Region()), Address: i.Address.String(), IPv6: ipv6Text(i),
			Type: t, Zone: i.Zone, ZoneID: i.ZoneID, Region: h.e.world.Region(), Arch: i.Arch,
			Family: string(i.Image.Family), Variant: i.Image.Variant, Kubernetes: i.Image.Kubernetes,
			UserData: i.Data.UserData, RootGiB: rootGiB(i), EFAs: fabricAdapters(i),
			RunningAt: bootsAt(i), Reboots: i.Reboots, BootDelay: time.Duration(boot.Delay), NeverJoins: boot.Never, LastWords: boot.Console,
		}
		if !m.NeverJoins && h.e.turnedAway(i) {
			m.NeverJoins, m.LastWords = true, "kubelet: Unable to register node with API server: Unauthorized"
		}
		switch i.State(now) {
		case world.Pending:
			m.Power = machine.Starting
		case world.Running:
			m.Power = machine.On
		case world.ShuttingDown, world.Stopping, world.Stopped:
			m.Power = machine.Stopping
		default:
			m.Power = machine.Gone
		}
		out = append(out, m)
	}
	return out
}

// turnedAway reports whether the cluster rejects the role of an instance. It is false unless the cluster uses only access
// entries, because the ConfigMap aws-auth is in the cluster and not known here.
func (e *Emulator) turnedAway(i world.Instance) bool {
	c := e.cfg.Cluster
	if c.AccessMode != accessByEntry || i.Data.Profile == "" {
		return false
	}
	p, err := e.world.Profile(lastSegment(i.Data.Profile))
	return err == nil && len(p.Roles) > 0 && !slices.Contains(c.AccessRoles, p.Roles[0])
}

// ipv6Text returns the IPv6 address of an instance, "" if it has none.
func ipv6Text(i world.Instance) string {
	if !i.IPv6.IsValid() {
		return ""
	}
	return i.IPv6.String()
}

// fabricAdapters returns the number of an instance's interfaces that are EFAs.
func fabricAdapters(i world.Instance) (n int) {
	for _, nic := range i.Data.NICs {
		if nic.Type == "efa" || nic.Type == "efa-only" {
			n++
		}
	}
	return n
}

// rootGiB returns the size of the volume with the kubelet's files: the data volume on Bottlerocket, otherwise the root volume.
func rootGiB(i world.Instance) int {
	device, size := i.Image.RootDevice, i.Image.RootGiB
	if i.Image.Family == world.Bottlerocket {
		device, size = "/dev/xvdb", 20
	}
	for _, d := range i.Data.BlockDevices {
		if d.Device == device && d.SizeGiB > 0 {
			size = d.SizeGiB
		}
	}
	return size
}

// Log adds a line to a machine's console output.
func (h hardware) Log(id, line string) { h.e.world.Log(id, line) }

// Changed returns a channel that is signalled when instances are launched or terminated.
func (h hardware) Changed() <-chan struct{} { return h.e.world.Changed() }

// Settle executes the events of the account that are due, and returns the time of the next one.
func (h hardware) Settle() time.Time { return h.e.world.Settle() }
