package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// resyncEvery is the interval at which Run compares the Nodes with the machines.
	resyncEvery = 20 * time.Second
	// silence is how long a Node without heartbeats is ready: the grace period of the controller manager.
	silence = 50 * time.Second
)

// Resync compares the Nodes with the machines. They differ if the API server was restored to an earlier state.
//
// A Node may be older than the work that Step did on it: then Step repeats that work. The Node of a machine that does not exist
// any more has no kubelet. After silence it is not ready, and the cloud controller deletes it. A machine whose Node is missing
// does not register again before a reboot, because a kubelet registers only when it starts.
func (r *Runner) Resync(ctx context.Context) error {
	known := map[string]Machine{}
	for _, m := range r.cfg.Cloud.Machines() {
		if m.Power != Gone {
			known[systemUUID(m.ID)] = m
		}
	}
	s := step{Runner: r, now: r.cfg.Clock.Now()}
	since := map[string]time.Time{}
	nodes := r.cfg.Client.CoreV1().Nodes()
	list, err := nodes.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for i := range list.Items {
		node := &list.Items[i]
		uuid := node.Status.NodeInfo.SystemUUID
		if !strings.HasPrefix(uuid, "ec2") {
			continue // created elsewhere
		}
		m, exists := known[uuid]
		switch {
		case exists:
			r.machines[m.ID].compare(node, devices(m))
		case r.silent[uuid].IsZero():
			since[uuid] = s.now
		case s.now.Before(r.silent[uuid].Add(silence)):
			since[uuid] = r.silent[uuid]
		default:
			if err := errors.Join(s.stop(ctx, node.Name), s.removeNode(ctx, uuid, node.Name)); err != nil {
				return err
			}
		}
	}
	r.silent = since
	return nil
}

// compare makes the next Step repeat work on the Node that is not in it. p may be nil.
func (p *progress) compare(node *corev1.Node, devices map[corev1.ResourceName]int) {
	if p == nil {
		return
	}
	p.adopted = p.adopted && node.Spec.ProviderID != ""
	for name := range devices {
		_, has := node.Status.Capacity[name]
		p.equipped = p.equipped && has
	}
	p.stopped = p.stopped && node.Annotations[kwokNode] == ""
}
