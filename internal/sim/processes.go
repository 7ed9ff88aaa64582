package sim

import (
	"context"
	"maps"
	"slices"
	"time"
)

// processes are the replicas of the operator.
type processes struct {
	world *World
	// replicas are the running replicas, by name. starting has the names of the replicas that are killed and will be started
	// again.
	replicas map[string]*replica
	starting map[string]bool
	closing  bool
	// started is when a replica was last started.
	started time.Time
	// jumped is when a clock last jumped, or when a process whose clock just jumped gets answers again.
	jumped time.Time
	// writer is the replica whose call the API server carries out now.
	writer string
}

func newProcesses(w *World) *processes {
	return &processes{world: w, replicas: map[string]*replica{}, starting: map[string]bool{}}
}

// start starts a replica.
func (p *processes) start(name string) {
	ctx, stop := context.WithCancel(context.Background())
	r := &replica{link: &link{world: p.world, name: name, dead: make(chan struct{}), crashAfter: -1}, stop: stop, clock: &shifted{}}
	p.replicas[name], p.started = r, time.Now()
	go func() {
		r.err = p.operate(ctx, r)
		r.done.Store(true)
		p.world.driver.Arrive(name+" exit", func() { p.exited(r) })
	}()
}

// exited starts a replica again if its process ended by itself, as the kubelet does. For a replica that was killed, restart
// has already scheduled the next start.
func (p *processes) exited(r *replica) {
	if p.closing || p.replicas[r.link.name] != r {
		return
	}
	p.world.trace.add("%s exits: %v", r.link.name, r.err)
	p.restart(r)
}

// restart kills a replica if it still runs, and starts it again after a while.
func (p *processes) restart(r *replica) {
	name := r.link.name
	p.kill(r)
	p.starting[name] = true
	p.world.driver.After(p.world.driver.Dice(name+" restart").Between(2*time.Second, 12*time.Second), func() {
		delete(p.starting, name)
		if !p.closing {
			p.start(name)
		}
	})
}

// running returns the replicas that run, in the order of their names.
func (p *processes) running() (all []*replica) {
	for _, name := range slices.Sorted(maps.Keys(p.replicas)) {
		all = append(all, p.replicas[name])
	}
	return all
}

// leader returns the replica that holds the lease, else the first that runs, nil if none does.
func (p *processes) leader() *replica {
	all := p.running()
	for _, r := range all {
		if r.link.leads {
			return r
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return nil
}

// kill ends a replica as kill -9 does: from now on its calls fail and have no effect. Its goroutines are stopped one step later,
// when all reconciles that waited for an answer have ended. If a work queue of controller-runtime is shut down while a key becomes
// ready, one of its goroutines can block forever, see mayRemain.
func (p *processes) kill(r *replica) {
	r.link.cut = true
	close(r.link.dead)
	for _, s := range r.link.open {
		s.end()
	}
	p.world.driver.After(0, r.stop)
	delete(p.replicas, r.link.name)
}

// crashNow kills the process of a link.
func (p *processes) crashNow(l *link) {
	if r := p.replicas[l.name]; r != nil && r.link == l && !l.cut {
		p.world.trace.add("%s is killed", l.name)
		p.restart(r)
	}
}

// grace is how long a replica may take to end after it was stopped.
const grace = 5 * time.Minute

// strikeLeader begins a fault of the replica that leads.
func (p *processes) strikeLeader(e Event) error {
	if r := p.leader(); r != nil {
		p.world.faults.start(&strike{Event: e, rate: 1, of: r.link.name})
		if p.world.judge.wrongClock() {
			p.jumped = later(p.jumped, time.Now().Add(e.For))
		}
	}
	return nil
}

// cutWatches ends the open watches of all replicas. If the event has an argument, it ends only the watches of that kind of
// object. The informers watch again from the last resource version that they saw, without a list.
func (p *processes) cutWatches(e Event) error {
	for _, r := range p.running() {
		for _, s := range slices.Clone(r.link.open) {
			if len(e.Args) == 0 || s.watch.Plural() == e.Args[0] {
				s.end()
			}
		}
	}
	return nil
}

// gap ends watches and refuses new ones for a while. Then it drops the history of changes. So informers list all objects again,
// and never see the changes in between.
func (p *processes) gap(e Event) error {
	kind := ""
	if len(e.Args) > 0 {
		kind = e.Args[0]
	}
	p.world.driver.After(e.For, func() { p.world.platform.server.Compact(kind) })
	p.world.faults.start(&strike{Event: e, rate: 1, match: kind})
	return p.cutWatches(e)
}

// crash kills the replica that leads and starts it again after a while, as the kubelet does.
func (p *processes) crash(Event) error {
	if r := p.leader(); r != nil {
		p.restart(r)
	}
	return nil
}

// crashAll kills all replicas, and starts each again after a while.
func (p *processes) crashAll(Event) error {
	for _, r := range p.running() {
		p.restart(r)
	}
	return nil
}

// crashAfter kills the leading replica right after one of its next writes or calls, before it learns the result. The second
// argument, if there is one, limits the count to an operation of the cloud, or to writes to a path.
func (p *processes) crashAfter(e Event) error {
	n, err := e.number(0)
	if err != nil {
		return err
	}
	if r := p.leader(); r != nil {
		r.link.crashAfter, r.link.crashOn = n, ""
		if len(e.Args) > 1 {
			r.link.crashOn = e.Args[1]
		}
	}
	return nil
}

// clockJump moves the clock of the replica that leads ahead.
func (p *processes) clockJump(e Event) error {
	d, err := e.duration(0)
	if err != nil {
		return err
	}
	if r := p.leader(); r != nil {
		r.clock.jump(d)
		p.jumped = time.Now().Add(p.world.faults.held(r.link.name))
	}
	return nil
}
