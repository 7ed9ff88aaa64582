package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// An instanceType is an instance type in the format of karpenter simulate --catalog.
type instanceType struct {
	Name        string            `json:"name"`
	Arch        string            `json:"arch"`
	Labels      map[string]string `json:"labels"`
	Allocatable map[string]string `json:"allocatable"`
	Offerings   []struct {
		Zone         string  `json:"zone"`
		CapacityType string  `json:"capacityType"`
		Price        float64 `json:"price"`
	} `json:"offerings"`
}

// An input is the input of one run of the solver.
type input struct {
	types   []*cloudprovider.InstanceType
	pods    []*corev1.Pod
	daemons []*corev1.Pod
	// zones and capacityTypes are the zones and capacity types of all offerings.
	zones, capacityTypes []string
}

func read(dir string) (*input, error) {
	var catalogue []instanceType
	if err := readJSON(filepath.Join(dir, "catalog.json"), &catalogue); err != nil {
		return nil, err
	}
	in := &input{}
	if err := readJSON(filepath.Join(dir, "pods.json"), &in.pods); err != nil {
		return nil, err
	}
	var daemons struct{ Items []appsv1.DaemonSet }
	if err := readJSON(filepath.Join(dir, "daemons.json"), &daemons); err != nil {
		return nil, err
	}
	for i := range daemons.Items {
		d := &daemons.Items[i]
		in.daemons = append(in.daemons, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace, Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec,
		})
	}
	for i, p := range in.pods {
		p.UID = types.UID(fmt.Sprintf("uid-%d", i))
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
	for i := range catalogue {
		t, err := in.add(&catalogue[i])
		if err != nil {
			return nil, fmt.Errorf("type %s: %w", catalogue[i].Name, err)
		}
		in.types = append(in.types, t)
	}
	return in, nil
}

func readJSON(name string, into any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode %s: %w", name, err)
	}
	return nil
}

// add converts t to upstream's type, adds it, and returns it.
func (in *input) add(t *instanceType) (*cloudprovider.InstanceType, error) {
	room := corev1.ResourceList{}
	for name, text := range t.Allocatable {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("allocatable %s is %q: %w", name, text, err)
		}
		room[corev1.ResourceName(name)] = q
	}
	var zones, capacityTypes []string
	out := &cloudprovider.InstanceType{Name: t.Name, Capacity: room, Overhead: &cloudprovider.InstanceTypeOverhead{}}
	for _, o := range t.Offerings {
		zones, capacityTypes = include(zones, o.Zone), include(capacityTypes, o.CapacityType)
		in.zones, in.capacityTypes = include(in.zones, o.Zone), include(in.capacityTypes, o.CapacityType)
		out.Offerings = append(out.Offerings, &cloudprovider.Offering{
			Available: true, Price: o.Price,
			Requirements: scheduling.NewLabelRequirements(map[string]string{
				corev1.LabelTopologyZone: o.Zone, karpenterv1.CapacityTypeLabelKey: o.CapacityType,
			}),
		})
	}
	isIn := func(key string, values ...string) *scheduling.Requirement {
		return scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, values...)
	}
	out.Requirements = scheduling.NewRequirements(
		isIn(corev1.LabelInstanceTypeStable, t.Name), isIn(corev1.LabelArchStable, t.Arch),
		isIn(corev1.LabelOSStable, string(corev1.Linux)),
		isIn(corev1.LabelTopologyZone, zones...), isIn(karpenterv1.CapacityTypeLabelKey, capacityTypes...),
	)
	for key, value := range t.Labels {
		karpenterv1.WellKnownLabels.Insert(key)
		out.Requirements.Add(isIn(key, value))
	}
	return out, nil
}

func include(values []string, v string) []string {
	if slices.Contains(values, v) {
		return values
	}
	return append(values, v)
}
