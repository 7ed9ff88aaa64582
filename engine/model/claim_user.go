package model

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ClaimName returns the name of the PersistentVolumeClaim of a volume of the pod, empty if the volume has none. Kubernetes names the
// claim of an ephemeral volume after the pod and the volume.
func ClaimName(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}

// SoleUser returns the pod that may use the PersistentVolumeClaim with the key namespace/name and access mode ReadWriteOncePod, nil if no
// pod uses it or if the claim has another access mode. It is a bound pod that has not finished. If there is none, it is the pending pod with
// the highest priority, of these the oldest, of these the first by key. Pods of capacity buffers come last. The users of all claims are
// computed at the first call.
func SoleUser(s *Snapshot, claim string) *Pod {
	if s.derived.soleUsers == nil {
		return nil
	}
	return s.derived.soleUsers()[claim]
}

// newSoleUsers returns SoleUser of each claim.
func newSoleUsers(s *Snapshot) map[string]*Pod {
	users := map[string]*Pod{}
	note := func(p *Pod) {
		for i := range p.Object.Spec.Volumes {
			name := ClaimName(p.Object, &p.Object.Spec.Volumes[i])
			if name == "" {
				continue
			}
			key := p.Object.Namespace + "/" + name
			claim, ok := s.VolumeClaims.Get(key)
			if !ok || !slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
				continue
			}
			if u := users[key]; u == nil || usesFirst(p, u) {
				users[key] = p
			}
		}
	}
	for _, p := range s.Pods.Each() {
		if p.Bound() && !p.Terminal() {
			note(p)
		}
	}
	for _, p := range s.Pending() {
		note(p)
	}
	return users
}

// usesFirst reports whether pod a may use a claim before pod b, see SoleUser.
func usesFirst(a, b *Pod) bool {
	rank := func(p *Pod) int {
		switch {
		case p.Bound():
			return 0
		case p.Virtual():
			return 2
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(b.Priority(), a.Priority()),
		a.Object.CreationTimestamp.Compare(b.Object.CreationTimestamp.Time),
		cmp.Compare(a.Key, b.Key),
	) < 0
}
