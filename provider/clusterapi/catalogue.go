package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A domain is a failure domain in which Machines of a template may be created.
type domain struct {
	// name is empty if the Cluster has no failure domains.
	name string
	// zone is the value of topology.kubernetes.io/zone of nodes.
	zone string
}

// domains returns the failure domains of a template, with their zones. They are those that the
// class lists, in its order, as far as the Cluster has them. If the Cluster reports no failure
// domains, they are all that the class lists. If the class lists none, they are those of the
// Cluster's status. If the template has a failure domain, it is the only one; if the class lists
// some, but the template's is not among the above, there is none. The zone has the name of the
// failure domain, unless the class, or a label of a template with only one failure domain, names a
// zone. A Cluster without failure domains counts as one zone if neither the class nor the template
// has any. It has the name of the Cluster, unless a label of the template names a zone.
func domains(class *clusterapiv1alpha1.ClusterAPINodeClass, cluster *clusterObject, t *template) []domain {
	var names []string
	for _, d := range cluster.Status.FailureDomains {
		names = append(names, d.Name)
	}
	zones := map[string]string{}
	if listed := class.Spec.FailureDomains; len(listed) > 0 {
		var chosen []string
		for _, d := range listed {
			if d.Zone != "" {
				zones[d.Name] = d.Zone
			}
			if len(names) == 0 || slices.Contains(names, d.Name) {
				chosen = append(chosen, d.Name)
			}
		}
		names = chosen
		if only := t.spec.FailureDomain; only != "" && !slices.Contains(names, only) {
			return nil
		}
	}
	if t.spec.FailureDomain != "" {
		names = []string{t.spec.FailureDomain}
	}
	told := t.labels[corev1.LabelTopologyZone]
	var out []domain
	for _, name := range names {
		d := domain{name: name, zone: name}
		if zone := zones[name]; zone != "" {
			d.zone = zone
		} else if told != "" && len(names) == 1 {
			d.zone = told
		}
		out = append(out, d)
	}
	if len(out) == 0 && len(class.Spec.FailureDomains) == 0 {
		out = []domain{{zone: class.Spec.ClusterName}}
		if told != "" {
			out[0].zone = told
		}
	}
	return out
}

// capacityType returns the capacity type of nodes of the template.
func (t *template) capacityType() string {
	if v := t.labels[apiv1.CapacityTypeLabelKey]; v != "" {
		return v
	}
	if _, ok := t.labels[interruptibleLabel]; ok {
		return apiv1.CapacityTypeSpot
	}
	return apiv1.CapacityTypeOnDemand
}

// A kind is a template with its instance type.
type kind struct {
	*template
	instanceType *cloud.InstanceType
	domains      []domain // of the offerings, in their order
	prices       []price  // of the offerings, in their order
}

// kinds returns the templates of the class with their instance types, in name order. Templates without a failure domain are
// omitted.
func (p *Provider) kinds(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass) ([]kind, error) {
	cluster, err := p.source.cluster(ctx, class)
	if err != nil {
		return nil, err
	}
	templates, _, err := p.source.templates(ctx, class)
	if err != nil {
		return nil, err
	}
	// If a source of prices cannot be read, its earlier prices apply. The status of the class has the error.
	book, _ := p.prices.of(ctx, class)
	seen, err := p.seen(ctx, class)
	if err != nil {
		return nil, err
	}
	out := make([]kind, 0, len(templates))
	for _, t := range templates {
		k := kind{template: t, domains: domains(class, cluster, t)}
		if len(k.domains) == 0 {
			continue
		}
		k.instanceType = t.instanceType(seen[t.name])
		var zones []string
		for _, d := range k.domains {
			price, known := book.of(t, d)
			k.prices = append(k.prices, price)
			zones = append(zones, d.zone)
			short := p.shortages.short(keyOf(class, t.name, d.name))
			k.instanceType.Offerings = append(k.instanceType.Offerings, cloud.Offering{
				Zone: d.zone, CapacityType: t.capacityType(), Price: price.dollars, Available: known && !short, Unpriced: !known && !short,
				Requirements: require.FromLabels(map[string]string{
					corev1.LabelTopologyZone: d.zone, apiv1.CapacityTypeLabelKey: t.capacityType(),
				}),
			})
		}
		k.instanceType.Requirements = k.instanceType.Requirements.With(require.New(corev1.LabelTopologyZone, require.In, zones...))
		out = append(out, k)
	}
	return out, nil
}

// domainIn returns the cheapest failure domain of the zone that has no shortage, the first of equally cheap ones. Several failure
// domains may have the same zone. One without a price is returned only if no other is available: then a NodeOverlay has set the
// price. The kind must have an available or unpriced offering in the zone.
func (k *kind) domainIn(zone string) domain {
	var out domain
	var least *cloud.Offering
	for i, d := range k.domains {
		o := &k.instanceType.Offerings[i]
		if d.zone != zone || !o.Available && !o.Unpriced {
			continue
		}
		if least == nil || o.Available && !least.Available || o.Available == least.Available && o.Price < least.Price {
			out, least = d, o
		}
	}
	return out
}

// keyOf returns the key of shortages of a template in a failure domain.
func keyOf(class *clusterapiv1alpha1.ClusterAPINodeClass, name, failureDomain string) offeringKey {
	return offeringKey{class.Spec.Namespace, class.Spec.ClusterName, name, failureDomain}
}

// instanceType returns the instance type of a template without its offerings and zones. seen is the smallest
// allocatable amount of each resource on the existing nodes of the type, nil if there are no such nodes.
func (t *template) instanceType(seen model.Resources) *cloud.InstanceType {
	out := &cloud.InstanceType{Name: t.name, Capacity: model.CapacityOf(t.capacity)}
	out.Allocatable = model.NewAllocatable(out.Capacity, model.Resources{corev1.ResourceMemory: evictionMemory})
	for name, have := range out.Allocatable {
		if least, known := seen[name]; known && least < have {
			out.Allocatable[name] = least
		}
	}
	out.Requirements = t.requirements()
	return out
}

// evictionMemory is the memory that a kubelet keeps free by default.
const evictionMemory = 100 << 20

// requirements returns the labels of nodes of the template, without zones. The set has a requirement for each other
// well-known label, except for that of the NodePool.
func (t *template) requirements() require.Set {
	labels := map[string]string{}
	for k, v := range t.labels {
		if k != corev1.LabelTopologyZone && k != interruptibleLabel {
			labels[k] = v
		}
	}
	cpu, memory := t.capacity[corev1.ResourceCPU], t.capacity[corev1.ResourceMemory]
	labels[corev1.LabelInstanceTypeStable] = t.name
	labels[apiv1.CapacityTypeLabelKey] = t.capacityType()
	labels[clusterapiv1alpha1.InstanceCPULabelKey] = strconv.FormatInt(cpu.Value(), 10)
	labels[clusterapiv1alpha1.InstanceMemoryLabelKey] = strconv.FormatInt(memory.Value()>>20, 10)
	if n := gpus(t.capacity); n > 0 {
		labels[clusterapiv1alpha1.InstanceGPUCountLabelKey] = strconv.FormatInt(n, 10)
	}
	out := require.FromLabels(labels)
	for key := range Facts().Labels.WellKnown {
		switch {
		case out.Has(key) || key == corev1.LabelTopologyZone || key == apiv1.NodePoolLabelKey:
		case key == corev1.LabelWindowsBuild && t.labels[corev1.LabelOSStable] == string(corev1.Windows):
			out = out.With(require.New(key, require.Exists))
		default:
			out = out.With(require.New(key, require.DoesNotExist))
		}
	}
	return out
}

// seen returns the smallest allocatable amount of each resource on the class's initialized nodes, by instance type. Templates do
// not state the reservations of the kubelet. The amounts of existing nodes include these reservations.
func (p *Provider) seen(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass) (map[string]model.Resources, error) {
	var nodes corev1.NodeList
	err := p.config.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy, client.MatchingLabels{
		classLabel: class.Name, apiv1.NodeInitializedLabelKey: "true",
	})
	if err != nil {
		return nil, fmt.Errorf("list nodes of class %s: %w", class.Name, err)
	}
	out := map[string]model.Resources{}
	for i := range nodes.Items {
		name := nodes.Items[i].Labels[corev1.LabelInstanceTypeStable]
		have := model.CapacityOf(nodes.Items[i].Status.Allocatable)
		if least, known := out[name]; known {
			for resource, amount := range least {
				if v, ok := have[resource]; !ok || amount < v {
					have[resource] = amount
				}
			}
		}
		out[name] = have
	}
	return out, nil
}

// tolerated returns the kinds whose taints are all among the given taints, which are those of a NodePool or a
// NodeClaim. Other kinds are left out, because the pods may not tolerate their further taints.
func tolerated(kinds []kind, taints ...[]corev1.Taint) []kind {
	known := sets.New[corev1.Taint]()
	for _, t := range slices.Concat(taints...) {
		known.Insert(corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	return slices.DeleteFunc(kinds, func(k kind) bool { return !known.HasAll(k.taints...) })
}
