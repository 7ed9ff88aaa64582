package withhold

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Use is a node that is ready, and runs pods or is being deleted and has volumes.
type Use struct {
	Node *corev1.Node
	// Pods is the number of its pods that have not completed, without DaemonSet pods and static pods.
	Pods int
	// Volumes is the number of volumes that are attached to it, if it is being deleted. A drain ends when they are detached.
	Volumes int
}

// String returns why the instance of the node is kept, and the fix.
func (u Use) String() string {
	if u.Pods == 0 {
		return fmt.Sprintf("the node is Ready and volumes are attached to it (%d); fix: wait until they are detached, or see the "+
			"VolumeAttachments of the node", u.Volumes)
	}
	return fmt.Sprintf("the node is Ready and has pods (%d); fix: restore the NodeClaim, or delete the Node, which drains it", u.Pods)
}

// InUse returns the nodes that are in use, by their provider ID. It considers only nodes with one of the provider
// IDs. c needs the index spec.nodeName of VolumeAttachments. Pods are listed with pods by spec.nodeName. Directly before a termination pods
// should be the API server, because a node may have pods that a cache lacks.
func InUse(ctx context.Context, c, pods client.Reader, providerIDs []string) (map[string]Use, error) {
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
		running, err := workload(ctx, pods, node.Name)
		if err != nil {
			return nil, err
		}
		volumes := 0
		if running == 0 && node.DeletionTimestamp != nil {
			if volumes, err = attached(ctx, c, node.Name); err != nil {
				return nil, err
			}
		}
		if running+volumes > 0 {
			used[node.Spec.ProviderID] = Use{Node: node, Pods: running, Volumes: volumes}
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

// attached returns the number of volumes that are attached to the node.
func attached(ctx context.Context, c client.Reader, node string) (count int, err error) {
	var all storagev1.VolumeAttachmentList
	if err := c.List(ctx, &all, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return 0, fmt.Errorf("list volume attachments of node %s: %w", node, err)
	}
	for i := range all.Items {
		if all.Items[i].Status.Attached {
			count++
		}
	}
	return count, nil
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
