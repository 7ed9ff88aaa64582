package termination

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/drain"
)

// decide reads the pods of the node with pods, and its volumes with Client, and returns the decision of package drain.
func (c *Controller) decide(ctx context.Context, d *departure, pods client.Reader) (*drain.Decision, error) {
	state := drain.State{Now: d.now, Deadline: d.deadline}
	state.Refused, state.Accepted = c.attempts.of(d.node.UID)
	// The pods are shared with the cache and must not be changed. They are not copied, because each event may cause a read of
	// hundreds of pods.
	podList := &corev1.PodList{}
	err := pods.List(ctx, podList, client.MatchingFields{podsByNode: d.node.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list pods of node %s: %w", d.node.Name, err)
	}
	for i := range podList.Items {
		state.Pods = append(state.Pods, &podList.Items[i])
	}
	if c.Turns != nil {
		state.Awaiting = c.Turns.Awaiting(state.Pods)
	}
	attachments := &storagev1.VolumeAttachmentList{}
	if err := c.Client.List(ctx, attachments, client.MatchingFields{attachmentsByNode: d.node.Name}); err != nil {
		return nil, fmt.Errorf("list volume attachments of node %s: %w", d.node.Name, err)
	}
	for i := range attachments.Items {
		state.Attachments = append(state.Attachments, &attachments.Items[i])
	}
	if len(state.Attachments) > 0 {
		if state.Volumes, err = c.pinnedVolumes(ctx, state); err != nil {
			return nil, err
		}
	}
	decision := drain.Decide(state)
	return &decision, nil
}

// pinnedVolumes maps the PersistentVolumeClaims of pods that are not evicted to their volumes.
func (c *Controller) pinnedVolumes(ctx context.Context, state drain.State) (map[types.NamespacedName]string, error) {
	volumes := map[types.NamespacedName]string{}
	for _, pod := range state.Pods {
		if !drain.PinsVolumes(pod, state.Now) {
			continue
		}
		for _, name := range drain.ClaimsOf(pod) {
			pvc := &corev1.PersistentVolumeClaim{}
			err := c.Client.Get(ctx, name, pvc)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("get volume claim %s of pod %s: %w", name, pod.Name, err)
			}
			volumes[name] = pvc.Spec.VolumeName
		}
	}
	return volumes, nil
}
