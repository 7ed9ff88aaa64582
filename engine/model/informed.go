package model

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Informed returns s with the requests that DaemonSet pods will have after admission. A template lacks the defaults of
// LimitRanges. So the resources of its containers are replaced by those of the DaemonSet's newest pod, or computed from
// ranges if it has no pod.
func (s *Snapshot) Informed(ranges []*corev1.LimitRange) *Snapshot {
	daemons := s.Daemons()
	if len(daemons) == 0 {
		return s
	}
	newest := newestOfDaemons(s)
	var change Delta
	for _, d := range daemons {
		spec := *d.Object.Spec.Template.Spec.DeepCopy()
		if p := newest[d.Key]; p != nil {
			take(spec.Containers, p.Object.Spec.Containers)
			take(spec.InitContainers, p.Object.Spec.InitContainers)
		} else {
			admit(&spec, d.Object.Namespace, ranges)
		}
		if !equality.Semantic.DeepEqual(spec, d.Object.Spec.Template.Spec) {
			o := *d.Object
			o.Spec.Template.Spec = spec
			change.Daemons = append(change.Daemons, &o)
		}
	}
	if change.Empty() {
		return s
	}
	return s.Apply(change)
}

// newestOfDaemons returns the newest pod of each DaemonSet by the DaemonSet's key. The pod need not be bound.
func newestOfDaemons(s *Snapshot) map[string]*Pod {
	newest := map[string]*Pod{}
	for _, p := range s.Pods.Each() { // the order is random, but newer does not depend on it
		owner := ownerOf(p.Object, "DaemonSet", "apps")
		if owner == nil {
			continue
		}
		key := p.Object.Namespace + "/" + owner.Name
		if old := newest[key]; old == nil || newer(p, old) {
			newest[key] = p
		}
	}
	return newest
}

// admit sets each missing request of a container to the first that exists: its limit, DefaultRequest or Default of a
// LimitRange of the namespace. Admission does the same. Without a LimitRange in the namespace, admit changes nothing.
func admit(spec *corev1.PodSpec, namespace string, ranges []*corev1.LimitRange) {
	for _, r := range ranges {
		if r.Namespace != namespace {
			continue
		}
		RequestLimits(spec)
		for _, item := range r.Spec.Limits {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
				for i := range containers {
					request(&containers[i].Resources, item.DefaultRequest)
					request(&containers[i].Resources, item.Default)
				}
			}
		}
	}
}

// request sets each request that r lacks to the amount in the list amounts.
func request(r *corev1.ResourceRequirements, amounts corev1.ResourceList) {
	for name, q := range amounts {
		if _, ok := r.Requests[name]; ok {
			continue
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = q
	}
}

// newer reports whether p was created after o. If they were created at the same time, the key decides.
func newer(p, o *Pod) bool {
	return cmp.Or(p.Object.CreationTimestamp.Compare(o.Object.CreationTimestamp.Time), strings.Compare(p.Key, o.Key)) > 0
}

// take sets the resources of each container to those of the container with the same name in the list from, if there is one.
func take(containers, from []corev1.Container) {
	for i := range containers {
		for j := range from {
			if from[j].Name == containers[i].Name {
				containers[i].Resources = from[j].Resources
			}
		}
	}
}
