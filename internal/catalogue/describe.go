package catalogue

import (
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Describe converts an instance type to a Type of a catalogue, with its available offerings.
func Describe(t *model.InstanceType) Type {
	out := Type{Name: t.Name, Labels: map[string]string{}, Allocatable: textsOf(t.Allocatable), Capacity: textsOf(t.Capacity), Attach: t.Attach}
	for key, v := range t.Requirements.Labels() {
		switch key {
		case corev1.LabelArchStable:
			out.Arch = v
		case corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, apiv1.CapacityTypeLabelKey:
		default:
			out.Labels[key] = v
		}
	}
	if out.Labels[corev1.LabelOSStable] == string(corev1.Linux) {
		delete(out.Labels, corev1.LabelOSStable)
	}
	for _, o := range t.Offerings {
		if !o.Launchable() {
			continue
		}
		way := Offering{Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price}
		for key, v := range o.Requirements.Labels() {
			delete(out.Labels, key) // the offering has this label
			if key != corev1.LabelTopologyZone && key != apiv1.CapacityTypeLabelKey {
				if way.Labels == nil {
					way.Labels = map[string]string{}
				}
				way.Labels[key] = v
			}
		}
		out.Offerings = append(out.Offerings, way)
	}
	return out
}

// textsOf returns amounts as quantities.
func textsOf(r model.Resources) map[string]string {
	out := make(map[string]string, len(r))
	for name, q := range r.List() {
		out[string(name)] = q.String()
	}
	return out
}
