package steer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// crowd is the least number of pods on one node from which it is worth while to nominate fewer of them. Whenever the scheduler
// tries a pod on a node, it copies all pods that are nominated to the node, so that a crowd costs the square of its size.
const crowd = 100

// youth is for how long after a node has come daemons may still be on their way to it.
const youth = time.Minute

// A sole place is the node that more pods were planned onto than onto any other. They go there by themselves, as long as the
// rooms of all other nodes are kept by nominations; what those have left over they may have. The zero value is no node.
type sole struct {
	// node is where they go; nil if no pod can be left to itself.
	node *model.Node
	// elsewhere is what other nodes have left for daemons that are still to come, with all that is left over: until those are
	// there, their room is free to anybody.
	elsewhere []model.Resources
	// modest is the least priority of all pods that were planned onto other nodes. The scheduler keeps a room from pods of no
	// higher priority only.
	modest int32
	// known are answers of needs that hold for all pods of the same requests.
	known map[string]bool
}

// soleOf finds the sole place among the nodes that pods wait for.
func soleOf(s *model.Snapshot) sole {
	planned := map[*model.Node][]*model.Pod{}
	for _, p := range s.Pending() {
		if p.Virtual() {
			continue
		}
		if n, ok := s.NodeByName(s.PromiseOf(p)); ok && (open(n) || joins(n)) {
			planned[n] = append(planned[n], p)
		}
	}
	o := sole{modest: math.MaxInt32, known: map[string]bool{}}
	most := crowd - 1
	for n, pods := range planned {
		// Pods count until they run, so that the place stays the same while it fills.
		if size := len(n.Pods) + unnominated(pods); size > most || size == most && o.node != nil && n.Name < o.node.Name {
			o.node, most = n, size
		}
	}
	if o.node == nil {
		return o
	}
	for n, pods := range planned {
		if n == o.node {
			continue
		}
		for _, p := range pods {
			o.modest = min(o.modest, p.Priority())
		}
	}
	for _, n := range s.Nodes() {
		if n == o.node || !open(n) && !joins(n) || !awaitsDaemons(s, n) {
			continue
		}
		free := n.Free()
		for _, p := range planned[n] {
			free = free.Minus(p.Requests)
		}
		o.elsewhere = append(o.elsewhere, free)
	}
	return o
}

// needs reports whether p, planned onto n, needs a nomination to get there.
func (o *sole) needs(p *model.Pod, n *model.Node) bool {
	if o.node == nil || n.Name != o.node.Name || p.Priority() > o.modest {
		return true
	}
	kind := kindOf(p.Requests)
	fits, ok := o.known[kind]
	if !ok {
		for _, free := range o.elsewhere {
			if fits = within(p.Requests, free); fits {
				break
			}
		}
		o.known[kind] = fits
	}
	return fits
}

// awaitsDaemons reports whether daemons may still be on their way to n.
func awaitsDaemons(s *model.Snapshot, n *model.Node) bool {
	if n.Object != nil && s.Now.Sub(n.Object.CreationTimestamp.Time) > youth {
		return false
	}
	return slices.ContainsFunc(s.Daemons(), func(d *model.Daemon) bool {
		return !slices.ContainsFunc(n.Pods, func(p *model.Pod) bool { return metav1.IsControlledBy(p.Object, d.Object) })
	})
}

// within is !Short without its order: there are many nodes.
func within(requests, free model.Resources) bool {
	for name, v := range requests {
		if v > 0 && v > free[name] {
			return false
		}
	}
	return true
}

// unnominated counts the pods that carry no nomination.
func unnominated(pods []*model.Pod) int {
	count := 0
	for _, p := range pods {
		if p.Object.Status.NominatedNodeName == "" {
			count++
		}
	}
	return count
}

// kindOf returns the same text for the same requests.
func kindOf(r model.Resources) string {
	var b strings.Builder
	for _, name := range r.Names() {
		fmt.Fprintf(&b, "%s=%d,", name, r[name])
	}
	return b.String()
}
