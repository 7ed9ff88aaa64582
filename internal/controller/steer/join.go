package steer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/steer"
)

const (
	// patience is the most that a node is kept closed for its nominations.
	patience = 30 * time.Second
	// few nominations are written in a moment, so that nodes may be opened after them without another look.
	few = 20
	// politeness is the most that those who have joined wait for others whose node is there. Where nodes come promptly after they
	// were asked for, without booting, the rest of the plan is waited for, for a moment.
	politeness = 10 * time.Second
	prompt     = 10 * time.Second
	moment     = 3 * time.Second
	// glance is how often to look whether somebody has joined.
	glance = 50 * time.Millisecond
)

// A company is the nodes that join at the same time. The first of them leads: it nominates for all. The zero value is nobody.
type company struct {
	mu      sync.Mutex
	members []*member
}

// A member is a node that joins.
type member struct {
	steer.Joiner
	// leads is closed when it is the first, and open when nothing keeps the node from being opened; door is set by then.
	leads, open chan struct{}
	door        *door
}

// A door is what nodes go through that are opened together.
type door struct {
	left   atomic.Int64  // how many have not come through
	closed chan struct{} // closed after the last
}

// through is called when the node has been opened, or could not be. It returns when all others are, too, or after a moment:
// whatever else is to be done about a node that is open would only keep others closed.
func (m *member) through(c clock.Clock) {
	select {
	case <-m.open:
	default:
		return // it was not let in, but lost patience
	}
	if m.door.left.Add(-1) == 0 {
		close(m.door.closed)
	}
	select {
	case <-m.door.closed:
	case <-c.After(moment):
	}
}

// Join nominates the pods that were planned onto a claim to its node, before that is opened to pods. It returns within half a
// minute whatever happens: a node does not wait longer for what is only a hint. What it returns is to be called when the node has
// been opened, with the node as it was stored, nil if it could not be.
//
// Nodes that join at the same time are opened at the same time. The scheduler looks at all pods that wait whenever a node is
// opened, erases the nominations of those whose node is not, and lets each that does not fit rest for longer and longer. The
// first waits for others whose node is there, ten seconds at most, and three for the rest of its plan if it came within ten.
func (c *Controller) Join(ctx context.Context, claim *apiv1.NodeClaim, node *corev1.Node) (opened func(*corev1.Node)) {
	if !c.On || c.forbidden.Load() || !c.Cluster.Synced() {
		return func(*corev1.Node) {}
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m := &member{Joiner: steer.Joiner{Claim: claim, Node: node}, leads: make(chan struct{}), open: make(chan struct{})}
	c.company.enter(m)
	c.joining.Store(claim.Name, node.Name)
	defer c.company.leave(m)
	select {
	case <-m.leads:
		c.usher(wait, m)
	case <-m.open:
	case <-wait.Done():
	}
	return func(stored *corev1.Node) {
		if stored != nil {
			c.Cluster.Assume(stored) // what the scheduler erases from now on is to be nominated again at once
		}
		m.through(c.Clock)
	}
}

// usher nominates for all who join until the leader may be opened: the largest pods of any of the nodes first, and again what
// the scheduler has erased meanwhile, since whoever has no nomination when nodes are opened may take the room of others.
func (c *Controller) usher(ctx context.Context, leader *member) {
	begin := c.Clock.Now()
	for ctx.Err() == nil {
		members := c.company.all()
		joiners := make([]steer.Joiner, len(members))
		for i, m := range members {
			joiners[i] = m.Joiner
		}
		launches := c.Cluster.Launches() // before what it leads to is looked at
		s := c.Cluster.Snapshot()
		changes := steer.Join(s, joiners...)
		wrote := c.write(ctx, changes[:min(len(changes), portion)])
		if len(changes) > few && wrote > 0 || ctx.Err() != nil {
			continue
		}
		if launches || c.expects(s, begin, leader) {
			select {
			case <-c.Clock.After(glance):
			case <-ctx.Done():
			}
			continue
		}
		if len(c.company.all()) > len(members) {
			continue // somebody has joined since
		}
		d := &door{closed: make(chan struct{})}
		d.left.Store(int64(len(members)))
		for _, m := range members {
			m.door = d
			close(m.open)
		}
		c.company.leave(members...)
		return
	}
}

// expects reports whether the leader, who has joined at the given time, has to wait for others.
func (c *Controller) expects(s *model.Snapshot, joined time.Time, leader *member) bool {
	asked := leader.Claim.CreationTimestamp.Time
	near, far := steer.Expects(s, asked, c.stillJoining(s))
	waited := c.Clock.Since(joined)
	return near && waited < politeness || far && joined.Sub(asked) < prompt && waited < moment
}

// enter adds m.
func (c *company) enter(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = append(c.members, m)
	if len(c.members) == 1 {
		close(m.leads)
	}
}

// all returns the members.
func (c *company) all() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.members)
}

// has reports whether the claim is one of theirs.
func (c *company) has(claim string) bool {
	return slices.ContainsFunc(c.all(), func(m *member) bool { return m.Claim.Name == claim })
}

// leave takes members away, if they are there. If the first is one of them, the first of those who are left leads.
func (c *company) leave(gone ...*member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.members) == 0 {
		return
	}
	first := c.members[0]
	c.members = slices.DeleteFunc(c.members, func(m *member) bool { return slices.Contains(gone, m) })
	if len(c.members) > 0 && c.members[0] != first {
		close(c.members[0].leads)
	}
}
