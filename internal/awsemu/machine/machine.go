package machine

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/karpenter-go/karpenter/internal/awsemu/catalog"
)

// Power is the stage of a machine between launch and termination.
type Power int

// The stages of a machine. One in the stage Stopping has no kubelet any more: it is stopping, stopped or shutting down.
const (
	Starting Power = iota
	On
	Stopping
	Gone
)

// A Machine is the hardware of one instance with its disk.
type Machine struct {
	ID, Node, Address    string
	IPv6                 string // empty if it has no IPv6 address
	Type                 *catalog.Type
	Zone, ZoneID, Region string
	Arch                 string // x86_64 or arm64
	Family, Variant      string // of the image
	Kubernetes           string // minor version of Kubernetes in the image; empty if unknown
	UserData             string // base64
	RootGiB              int    // size of the volume that holds the kubelet's files
	EFAs                 int    // number of EFAs among the network interfaces of the launch

	Power      Power
	RunningAt  time.Time     // when it began to boot for the last time
	Reboots    int           // number of reboots
	BootDelay  time.Duration // replaces Config.BootDelay if positive
	NeverJoins bool
	// LastWords is the console output of a machine that does not join.
	LastWords string
}

// Cloud is the account that the machines belong to.
type Cloud interface {
	// Machines returns all machines that still exist in the account.
	Machines() []Machine
	// Log adds a line to a machine's console output.
	Log(id, line string)
	// Changed returns a channel that is signalled when instances are launched or terminated.
	Changed() <-chan struct{}
	// Settle executes the events of the account that are due, and returns the time of the next one, the zero time if there is
	// none.
	Settle() time.Time
}

// Cluster has the values that user data must have for a machine to join the cluster.
type Cluster struct {
	Name, Endpoint string
	CA             string // base64 of the PEM bundle
	ServiceCIDR    string
	Version        string // minor version, such as 1.36
}

// Config configures a Runner. A zero delay stands for the default, and a negative one for no delay.
type Config struct {
	Clock   clock.Clock
	Client  kubernetes.Interface
	Cloud   Cloud
	Cluster Cluster
	Log     *slog.Logger

	BootDelay   time.Duration // running -> kubelet registers, default 3s
	AdoptDelay  time.Duration // registered -> adopted by the cloud controller, default 1s
	DeviceDelay time.Duration // registered -> devices in the Node, default 2s
}

// withDefaults returns c with its zero fields set.
func (c Config) withDefaults() Config {
	for field, value := range map[*time.Duration]time.Duration{
		&c.BootDelay: 3 * time.Second, &c.AdoptDelay: time.Second, &c.DeviceDelay: 2 * time.Second,
	} {
		if *field == 0 {
			*field = value
		}
		*field = max(0, *field)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}

// A Runner boots machines. It is not safe for concurrent use.
type Runner struct {
	cfg      Config
	machines map[string]*progress
	silent   map[string]time.Time // system UUIDs of Nodes without a machine, with the time at which Resync saw them first
}

// progress is the state of a machine in its boot.
type progress struct {
	node     string
	reboots  int  // reboots of the machine that the other fields take into account
	done     bool // the boot succeeded or failed for good; it is not repeated
	joined   bool
	joinedAt time.Time
	adopted  bool
	equipped bool
	stopped  bool
}

// New returns a Runner.
func New(cfg Config) *Runner {
	return &Runner{cfg: cfg.withDefaults(), machines: map[string]*progress{}}
}

// retryAfter is the delay before the retry of a failed call to the API server.
const retryAfter = 500 * time.Millisecond

// Run boots machines until ctx is done.
func (r *Runner) Run(ctx context.Context) error {
	if err := r.Sweep(ctx); err != nil {
		return err
	}
	resync := r.cfg.Clock.Now().Add(resyncEvery)
	for {
		if now := r.cfg.Clock.Now(); !now.Before(resync) {
			resync = now.Add(resyncEvery)
			if err := r.Resync(ctx); err != nil {
				r.cfg.Log.Warn("compare nodes with machines", "error", err)
			}
		}
		next := r.Step(ctx)
		if next.IsZero() || resync.Before(next) {
			next = resync
		}
		if due := r.cfg.Cloud.Settle(); !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
		if !r.wait(ctx, next) {
			return nil
		}
	}
}

// wait waits until the time next or until a change of the machines. It returns false if ctx is done.
func (r *Runner) wait(ctx context.Context, next time.Time) bool {
	var alarm <-chan time.Time
	if !next.IsZero() {
		timer := r.cfg.Clock.NewTimer(next.Sub(r.cfg.Clock.Now()))
		defer timer.Stop()
		alarm = timer.C()
	}
	select {
	case <-ctx.Done():
		return false
	case <-alarm:
	case <-r.cfg.Cloud.Changed():
	}
	return true
}

// Step executes all work that is due and returns the time of the next work. The zero time means that there is none until machines
// are launched or terminated.
func (r *Runner) Step(ctx context.Context) time.Time {
	s := step{Runner: r, now: r.cfg.Clock.Now()}
	seen := map[string]bool{}
	for _, m := range r.cfg.Cloud.Machines() {
		if m.Power == Gone {
			continue
		}
		seen[m.ID] = true
		p := r.machines[m.ID]
		if p == nil {
			p = &progress{node: m.Node, reboots: m.Reboots}
			r.machines[m.ID] = p
		}
		s.move(ctx, m, p)
	}
	for id, p := range r.machines {
		if !seen[id] {
			s.bury(ctx, id, p)
		}
	}
	return s.next
}

// A step is one pass over the machines.
type step struct {
	*Runner
	now, next time.Time
}

// at records that there is work at the time t.
func (s *step) at(t time.Time) {
	if s.next.IsZero() || t.Before(s.next) {
		s.next = t
	}
}

// reached reports whether the time t has come. If it has not, it records that there is work at t.
func (s *step) reached(t time.Time) bool {
	if s.now.Before(t) {
		s.at(t)
		return false
	}
	return true
}

// try calls do and reports whether it returned no error. After an error, a warning is logged with what and the instance
// ID, and the step is repeated after retryAfter.
func (s *step) try(what, id string, do func() error) bool {
	if err := do(); err != nil {
		s.cfg.Log.Warn(what, "instance", id, "error", err)
		s.at(s.now.Add(retryAfter))
		return false
	}
	return true
}

// move executes the due work of a machine, by its stage.
func (s *step) move(ctx context.Context, m Machine, p *progress) {
	switch m.Power {
	case Starting:
		s.at(m.RunningAt)
	case On:
		if p.reboots != m.Reboots { // the kubelet starts and registers again
			*p = progress{node: m.Node, reboots: m.Reboots}
		}
		s.boot(ctx, m, p)
		s.serve(ctx, m, p)
	case Stopping:
		p.done = true
		if p.joined && !p.stopped {
			p.stopped = s.try("stop kubelet", m.ID, func() error { return s.stop(ctx, p.node) })
		}
	case Gone:
	}
}

// boot starts the operating system and its kubelet when the boot delay has elapsed.
func (s *step) boot(ctx context.Context, m Machine, p *progress) {
	delay := s.cfg.BootDelay
	if m.BootDelay > 0 {
		delay = m.BootDelay
	}
	if p.done || !s.reached(m.RunningAt.Add(delay)) {
		return
	}
	if m.NeverJoins {
		p.done = true
		line := m.LastWords
		if line == "" {
			line = "systemd: kubelet.service: start operation timed out (the emulator was told so)"
		}
		s.cfg.Cloud.Log(m.ID, line)
		return
	}
	node, err := s.join(m)
	if err != nil {
		p.done = true
		s.cfg.Cloud.Log(m.ID, err.Error())
		s.cfg.Log.Info("machine does not join", "instance", m.ID, "reason", err)
		return
	}
	if s.try("register node", m.ID, func() error { return s.register(ctx, node) }) {
		p.done, p.joined, p.joinedAt = true, true, s.now
		s.cfg.Cloud.Log(m.ID, "kubelet: Successfully registered node "+node.Name)
	}
}

// serve emulates the other components for a Node that exists: device plugins and cloud controller.
func (s *step) serve(ctx context.Context, m Machine, p *progress) {
	if !p.joined {
		return
	}
	if !p.equipped && s.reached(p.joinedAt.Add(s.cfg.DeviceDelay)) {
		p.equipped = s.try("register devices", m.ID, func() error { return s.equip(ctx, m) })
	}
	if !p.adopted && s.reached(p.joinedAt.Add(s.cfg.AdoptDelay)) {
		p.adopted = s.try("initialize node", m.ID, func() error { return s.adopt(ctx, m) })
	}
}

// bury deletes the Node of a terminated machine, as the cloud controller would.
func (s *step) bury(ctx context.Context, id string, p *progress) {
	if !p.joined || s.try("delete node", id, func() error { return s.remove(ctx, id, p.node) }) {
		delete(s.machines, id)
	}
}
