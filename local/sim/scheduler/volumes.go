package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// bindTimeout is how long the PersistentVolumeClaims of a pod may take to be bound.
const bindTimeout = 10 * time.Minute

// A wait is a pod whose node is chosen and whose PersistentVolumeClaims are not bound. In this file, claims are
// PersistentVolumeClaims.
type wait struct {
	entry *entry
	// assumed is the pod with its chosen node. The index counts it on that node.
	assumed  *corev1.Pod
	deadline time.Time
	claims   []reservation
}

// A reservation is a PersistentVolumeClaim that is being bound, and the volume that is reserved for it. The volume is "" if
// the CSI driver creates one.
type reservation struct{ claim, volume string }

// unbound returns the PersistentVolumeClaims of a pod that are not bound. If the pod passes the filters, all of them can be
// bound after its node is chosen.
func (s *Scheduler) unbound(pod *corev1.Pod) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		name := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = ephemeral.VolumeClaimName(pod, v)
		}
		claim, ok := kubeapi.Find[*corev1.PersistentVolumeClaim](s.server, pod.Namespace, name)
		if ok && !bound(claim) && !slices.Contains(claims, claim) {
			claims = append(claims, claim)
		}
	}
	return claims
}

// bound reports whether the volume controller has bound a PersistentVolumeClaim.
func bound(c *corev1.PersistentVolumeClaim) bool {
	return c.Spec.VolumeName != "" && metav1.HasAnnotation(c.ObjectMeta, volumehelpers.AnnBindCompleted)
}

// await chooses existing volumes for the PersistentVolumeClaims of an assumed pod, or requests new ones. The pod is
// nominated to its node until all PersistentVolumeClaims are bound.
func (s *Scheduler) await(
	ctx context.Context, e *entry, assumed *corev1.Pod, claims []*corev1.PersistentVolumeClaim, now time.Time,
) error {
	w := &wait{entry: e, assumed: assumed, deadline: now.Add(bindTimeout)}
	s.queue.denominate(e)
	e.waiting, e.ready = w, false
	s.waits = append(s.waits, w)
	if err := s.chooseVolumes(ctx, w, claims); err != nil {
		return err
	}
	status := e.pod.Status.DeepCopy()
	status.NominatedNodeName = assumed.Spec.NodeName
	return s.writeStatus(ctx, e.pod, status)
}

// chooseVolumes reserves for each PersistentVolumeClaim the smallest existing volume that fits. PersistentVolumeClaims with
// small requests come first. Those without such a volume are annotated with the node, so that their CSI driver creates a
// volume.
func (s *Scheduler) chooseVolumes(ctx context.Context, w *wait, claims []*corev1.PersistentVolumeClaim) error {
	node, ok := kubeapi.Find[*corev1.Node](s.server, "", w.assumed.Spec.NodeName)
	if !ok {
		return fmt.Errorf("node %s: not found", w.assumed.Spec.NodeName)
	}
	slices.SortStableFunc(claims, func(a, b *corev1.PersistentVolumeClaim) int { return size(a).Cmp(*size(b)) })
	chosen := map[string]*corev1.PersistentVolume{}
	for _, claim := range claims {
		var volume *corev1.PersistentVolume
		if !metav1.HasAnnotation(claim.ObjectMeta, volumehelpers.AnnSelectedNode) {
			var err error
			if volume, err = volumehelpers.FindMatchingVolume(claim, s.volumesFor(claim), node, chosen, true, true); err != nil {
				return fmt.Errorf("find volume for claim %s: %w", claim.Name, err)
			}
		}
		if volume == nil {
			w.claims = append(w.claims, reservation{claim: claim.Name})
			if err := s.selectNode(ctx, claim, node.Name); err != nil {
				return err
			}
			continue
		}
		chosen[volume.Name] = volume
		w.claims = append(w.claims, reservation{claim: claim.Name, volume: volume.Name})
		if err := s.prebind(ctx, volume, claim); err != nil {
			return err
		}
	}
	return nil
}

// size returns how much storage a PersistentVolumeClaim requests.
func size(c *corev1.PersistentVolumeClaim) *resource.Quantity {
	return c.Spec.Resources.Requests.Storage()
}

// volumesFor returns the volumes of the storage class of a PersistentVolumeClaim.
func (s *Scheduler) volumesFor(claim *corev1.PersistentVolumeClaim) []*corev1.PersistentVolume {
	class := volumehelpers.GetPersistentVolumeClaimClass(claim)
	return slices.DeleteFunc(kubeapi.List[*corev1.PersistentVolume](s.server), func(v *corev1.PersistentVolume) bool {
		return volumehelpers.GetPersistentVolumeClass(v) != class
	})
}

// selectNode annotates a PersistentVolumeClaim with the node of its pod.
func (s *Scheduler) selectNode(ctx context.Context, claim *corev1.PersistentVolumeClaim, node string) error {
	claim = claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volumehelpers.AnnSelectedNode, node)
	if _, err := s.profile.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("annotate claim %s: %w", claim.Name, err)
	}
	return nil
}

// prebind reserves a volume for a PersistentVolumeClaim. The volume controller then binds both.
func (s *Scheduler) prebind(ctx context.Context, volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) error {
	reserved, changed, err := volumehelpers.GetBindVolumeToClaim(volume, claim)
	if err != nil {
		return fmt.Errorf("reserve volume %s: %w", volume.Name, err)
	}
	if !changed {
		return nil
	}
	if _, err := s.profile.client.CoreV1().PersistentVolumes().Update(ctx, reserved, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("reserve volume %s: %w", volume.Name, err)
	}
	return nil
}

// finishWaits binds the pods whose PersistentVolumeClaims are bound. It ends the attempt for a pod whose
// PersistentVolumeClaims cannot be bound any more, or have not been bound by its deadline.
func (s *Scheduler) finishWaits(ctx context.Context, now time.Time) error {
	for _, w := range slices.Clone(s.waits) {
		done, cause := s.progress(w)
		if cause == nil && !done && !now.Before(w.deadline) {
			cause = errors.New("timed out")
		}
		var err error
		switch {
		case cause != nil:
			s.release(w.entry)
			err = s.refuse(ctx, w.entry, fmt.Errorf("binding volumes: %w", cause), now)
		case done:
			err = s.bind(ctx, w.assumed)
		}
		if err != nil {
			return fmt.Errorf("schedule %s: %w", klog.KObj(w.assumed), err)
		}
	}
	return nil
}

// progress reports whether all PersistentVolumeClaims of a waiting pod are bound. The error is the reason why they cannot be
// bound for its node.
func (s *Scheduler) progress(w *wait) (done bool, err error) {
	node, ok := kubeapi.Find[*corev1.Node](s.server, "", w.assumed.Spec.NodeName)
	if !ok {
		return false, fmt.Errorf("node %q not found", w.assumed.Spec.NodeName)
	}
	done = true
	for _, r := range w.claims {
		claim, ok := kubeapi.Find[*corev1.PersistentVolumeClaim](s.server, w.assumed.Namespace, r.claim)
		if !ok {
			return false, fmt.Errorf("claim %q not found", r.claim)
		}
		if err := s.possible(claim, r.volume, node); err != nil {
			return false, err
		}
		done = done && bound(claim)
	}
	return done, nil
}

// possible returns why a PersistentVolumeClaim cannot be bound for a node, nil if it still can. reserved is the volume that
// is reserved for it, empty if the CSI driver creates one.
func (s *Scheduler) possible(claim *corev1.PersistentVolumeClaim, reserved string, node *corev1.Node) error {
	name := reserved
	if reserved == "" {
		if claim.Annotations[volumehelpers.AnnSelectedNode] != node.Name {
			return fmt.Errorf("provisioning failed for PVC %q", claim.Name)
		}
		name = claim.Spec.VolumeName
	}
	volume, ok := kubeapi.Find[*corev1.PersistentVolume](s.server, "", name)
	switch {
	case !ok && reserved == "":
		return nil // the volume is not made yet
	case !ok:
		return fmt.Errorf("volume %q not found", name)
	case reserved != "" && (volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID == ""):
		return fmt.Errorf("ClaimRef got reset for pv %q", name)
	}
	return reachable(volume, node)
}

// reachable returns an error if pods on a node cannot use a volume.
func reachable(volume *corev1.PersistentVolume, node *corev1.Node) error {
	if err := volumehelpers.CheckNodeAffinity(volume, node.Labels); err != nil {
		return fmt.Errorf("pv %q node affinity doesn't match node %q: %w", volume.Name, node.Name, err)
	}
	return nil
}

// release ends the wait of an entry without a binding. The capacity of its node is available to other pods again.
func (s *Scheduler) release(e *entry) {
	w := e.waiting
	s.forgetWait(w)
	s.fail(s.profile.cache.ForgetPod(klog.Logger{}, w.assumed))
	s.happened(framework.EventAssignedPodDelete, w.assumed, nil)
}

// forgetWait removes a wait.
func (s *Scheduler) forgetWait(w *wait) {
	w.entry.waiting = nil
	s.waits = slices.DeleteFunc(s.waits, func(o *wait) bool { return o == w })
}
