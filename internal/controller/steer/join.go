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

// A company is the nodes that join at the same time. The first of them leads: it nominates for all. The zero value is nobody.
type company struct {
	mu      sync.Mutex
	members []*member
}

// A member is a node that joins.
type member struct {
	steer.Joiner
	// leads is closed when it is the first, and open when nothing keeps the node from being opened.
	leads, open chan struct{}
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
	m := &member{Joiner: steer.Joiner{Claim: claim, Node: node}, leads: make(chan struct{}), open: make(chan struct{})}
	c.company.enter(m)
	defer c.company.leave(m)
	select {
	case <-m.leads:
		c.usher(wait, m)
	case <-m.open:
	case <-wait.Done():
	}
}

// usher nominates for all who join until the leader may be opened: the largest pods of any of the nodes first, and again what
// the scheduler has erased meanwhile, since whoever has no nomination when nodes are opened may take the room of others.
func (c *Controller) usher(ctx context.Context, leader *member) {
	for ctx.Err() == nil {
		members := c.company.all()
		joiners := make([]steer.Joiner, len(members))
		for i, m := range members {
			joiners[i] = m.Joiner
		}
		changes := steer.Join(c.Cluster.Snapshot(), joiners...)
		wrote := c.write(ctx, changes[:min(len(changes), portion)])
		if len(changes) > few && wrote > 0 || ctx.Err() != nil {
			continue
		}
		for _, m := range members {
			if m != leader {
				close(m.open)
			}
		}
		c.company.leave(members...)
		return
	}
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
