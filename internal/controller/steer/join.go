package steer

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/steer"
)

const (
	// patience is the most that a node is kept closed for its nominations.
	patience = 30 * time.Second
	// few nominations are written in a moment, so that nodes may be opened after them without another look.
	few = 20
)

// A company is the nodes that join at the same time. The zero value is nobody.
type company struct {
	mu      sync.Mutex
	members []*member
	// led says that somebody nominates for the members.
	led bool
}

// A member is a node that joins.
type member struct {
	steer.Joiner
	// open is closed when nothing keeps the node from being opened.
	open chan struct{}
}

// Join nominates the pods that were planned onto a claim to its node, before that is opened to pods. It returns within half a
// minute whatever happens: a node does not wait longer for what is only a hint.
//
// Nodes that join at the same time are opened at the same time. The scheduler looks at all pods that wait whenever a node is
// opened, erases the nominations of those whose node is not, and lets each that does not fit rest for longer and longer.
func (c *Controller) Join(ctx context.Context, claim *apiv1.NodeClaim, node *corev1.Node) {
	if !c.On || c.forbidden.Load() || !c.Cluster.Synced() {
		return
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c.joining.Store(claim.Name, node.Name)
	m := &member{Joiner: steer.Joiner{Claim: claim, Node: node}, open: make(chan struct{})}
	if c.company.enter(m) {
		go c.usher(context.WithoutCancel(ctx)) // ends with the last member
	}
	select {
	case <-m.open:
	case <-wait.Done():
		c.company.leave(m)
	}
}

// usher nominates for all who join until there is nobody left: the largest pods of any of the nodes first, and again what
// the scheduler has erased meanwhile, since whoever has no nomination when nodes are opened may take the room of others.
func (c *Controller) usher(ctx context.Context) {
	for {
		members := c.company.all()
		if len(members) == 0 {
			return
		}
		joiners := make([]steer.Joiner, len(members))
		for i, m := range members {
			joiners[i] = m.Joiner
		}
		changes := steer.Join(c.Cluster.Snapshot(), joiners...)
		wrote := c.write(ctx, changes[:min(len(changes), portion)])
		if len(changes) <= few || wrote == 0 {
			for _, m := range members {
				close(m.open)
			}
			c.company.leave(members...)
		}
	}
}

// enter adds m, and reports whether nobody nominates for the members yet: m has to see to it.
func (c *company) enter(m *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = append(c.members, m)
	first := !c.led
	c.led = true
	return first
}

// all returns the members; with none nobody leads any longer.
func (c *company) all() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.led = len(c.members) > 0
	return slices.Clone(c.members)
}

// leave takes members away.
func (c *company) leave(gone ...*member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = slices.DeleteFunc(c.members, func(m *member) bool { return slices.Contains(gone, m) })
}
