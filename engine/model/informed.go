package model

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Informed returns s with daemons that ask for what their pods ask for. A template does not say what admission adds: the
// defaults of a LimitRange, above all. The newest pod of a daemon does; as long as there is none the template counts.
func (s *Snapshot) Informed() *Snapshot {
	daemons := s.Daemons()
	if len(daemons) == 0 {
		return s
	}
	newest := map[string]*Pod{}
	for _, n := range s.Nodes() {
		for _, p := range n.Pods {
			if !p.Daemon() {
				continue
			}
			key := p.Object.Namespace + "/" + daemonOf(p)
			if old := newest[key]; old == nil || newer(p, old) {
				newest[key] = p
			}
		}
	}
	var change Delta
	for _, d := range daemons {
		if p := newest[d.Key]; p != nil {
			if o := asking(d.Object, p.Object); o != nil {
				change.Daemons = append(change.Daemons, o)
			}
		}
	}
	if change.Empty() {
		return s
	}
	return s.Apply(change)
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

// asking returns d with the resources of the pod's containers, nil if they are d's own.
func asking(d *appsv1.DaemonSet, pod *corev1.Pod) *appsv1.DaemonSet {
	o := *d
	o.Spec.Template.Spec = *d.Spec.Template.Spec.DeepCopy()
	spec := &o.Spec.Template.Spec
	take(spec.Containers, pod.Spec.Containers)
	take(spec.InitContainers, pod.Spec.InitContainers)
	if equality.Semantic.DeepEqual(spec, &d.Spec.Template.Spec) {
		return nil
	}
	return &o
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
