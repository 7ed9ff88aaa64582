package machine

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resyncEvery is the interval at which Run compares the Nodes with the machines.
const resyncEvery = 20 * time.Second

// Resync compares the Nodes with the machines. They differ if the API server was restored to an earlier state.
//
// A Node may be older than the work that Step did on it: then Step repeats that work. The Node of a machine that does not exist
// any more has no kubelet, so its heartbeats end. When it is not ready any more, Resync deletes it, as the cloud controller
// would. A machine whose Node is missing does not register again before a reboot, because a kubelet registers only when it starts.
func (r *Runner) Resync(ctx context.Context) error {
	known := map[string]Machine{}
	for _, m := range r.cfg.Cloud.Machines() {
		if m.Power != Gone {
			known[systemUUID(m.ID)] = m
		}
	}
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
		case node.Annotations[kwokNode] != "":
			delete(node.Annotations, kwokNode)
			_, err := nodes.Update(ctx, node, metav1.UpdateOptions{})
			if err := ignoreGone(wrap("update node", node.Name, err)); err != nil {
				return err
			}
		case !ready(node) && node.DeletionTimestamp.IsZero():
			uid := node.UID
			err := nodes.Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
			if err := ignoreGone(wrap("delete node", node.Name, err)); err != nil {
				return err
			}
		}
	}
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

// ready reports whether the Node is ready.
func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
