package withhold

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Use is a node that is ready and runs pods.
type Use struct {
	Node *corev1.Node
	// Pods is the number of its pods that have not completed, without DaemonSet pods and static pods. It is at least 1.
	Pods int
}

// InUse returns the nodes that are in use, by their provider ID. It considers only nodes with one of the provider
// IDs. c needs the index spec.nodeName of pods.
func InUse(ctx context.Context, c client.Reader, providerIDs []string) (map[string]Use, error) {
	if len(providerIDs) == 0 {
		return nil, nil
	}
	asked := map[string]bool{}
	for _, id := range providerIDs {
		asked[id] = id != ""
	}
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	used := map[string]Use{}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if !asked[node.Spec.ProviderID] || !ready(node) {
			continue
		}
		pods, err := workload(ctx, c, node.Name)
		if err != nil {
			return nil, err
		}
		if pods > 0 {
			used[node.Spec.ProviderID] = Use{Node: node, Pods: pods}
		}
	}
	return used, nil
}

// ready reports whether the condition Ready of the node is True.
func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// workload returns how many pods of the node have not completed, without DaemonSet pods and static pods.
func workload(ctx context.Context, c client.Reader, node string) (int, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return 0, fmt.Errorf("list pods of node %s: %w", node, err)
	}
	count := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		owner := metav1.GetControllerOf(p)
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && (owner == nil || owner.Kind != "DaemonSet" && owner.Kind != "Node") {
			count++
		}
	}
	return count, nil
}
