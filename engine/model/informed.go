package model

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Informed returns s with daemons that ask for what their pods will ask for. A template does not say what admission adds:
// the defaults of LimitRanges, above all. The newest pod of a daemon does; as long as there is none, ranges do.
func (s *Snapshot) Informed(ranges []*corev1.LimitRange) *Snapshot {
	daemons := s.Daemons()
	if len(daemons) == 0 {
		return s
	}
	newest := s.newestOfDaemons()
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

// newestOfDaemons returns the newest pod of each daemon, by the daemon's key, whether it has found its node or not.
func (s *Snapshot) newestOfDaemons() map[string]*Pod {
	newest := map[string]*Pod{}
	if s.raw.pods.shards == nil {
		return newest
	}
	for _, shard := range s.raw.pods.shards {
		for _, p := range shard { // in no order, which newer makes up for
			if !p.Daemon() {
				continue
			}
			key := p.Object.Namespace + "/" + daemonOf(p)
			if old := newest[key]; old == nil || newer(p, old) {
				newest[key] = p
			}
		}
	}
	return newest
}

// admit sets the requests that the ranges of a namespace add to containers which do not say, as admission does.
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

// request adds those of amounts that r does not request.
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

// daemonOf names the DaemonSet that owns p.
func daemonOf(p *Pod) string {
	for _, o := range p.Object.OwnerReferences {
		if o.Kind == "DaemonSet" {
			return o.Name
		}
	}
	return ""
}

// newer reports whether p was made after o; of equals the one with the later name counts.
func newer(p, o *Pod) bool {
	a, b := p.Object.CreationTimestamp, o.Object.CreationTimestamp
	if a.Equal(&b) {
		return strings.Compare(p.Key, o.Key) > 0
	}
	return b.Before(&a)
}

// take gives containers the resources of those of the same name.
func take(containers, from []corev1.Container) {
	for i := range containers {
		for j := range from {
			if from[j].Name == containers[i].Name {
				containers[i].Resources = from[j].Resources
			}
		}
	}
}
