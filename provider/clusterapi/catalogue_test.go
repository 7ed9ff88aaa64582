package clusterapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/require"
)

// typesOf returns the instance types of the pool by name.
func (w *world) typesOf(t *testing.T, edit ...func(*apiv1.NodePool)) map[string]*cloud.InstanceType {
	t.Helper()
	p := pool()
	for _, f := range edit {
		f(p)
	}
	list, err := w.provider().InstanceTypes(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*cloud.InstanceType{}
	for _, it := range list {
		out[it.Name] = it
	}
	return out
}

// annotate sets annotations of a MachineDeployment.
func (w *world) annotate(t *testing.T, name string, more map[string]string) {
	t.Helper()
	w.change(t, gvk("MachineDeployment"), name, func(u *unstructured.Unstructured) {
		u.SetAnnotations(joined(u.GetAnnotations(), more))
	})
}

// Annotations of the MachineDeployment take precedence over the status of the infrastructure template.
func TestCapacity(t *testing.T) {
	w := newWorld(t)
	w.annotate(t, "small", map[string]string{
		capacityPrefix + "cpu": "6", capacityPrefix + "maxPods": "42", capacityPrefix + "ephemeral-disk": "100Gi",
		capacityPrefix + "gpu-count": "2", capacityPrefix + "gpu-type": "amd.com/gpu",
		capacityPrefix + "labels": "kubernetes.io/arch=arm64,team=blue,topology.kubernetes.io/region=north,karpenter.sh/capacity-type=spot",
	})
	types := w.typesOf(t)
	got := types["small"]
	for name, want := range map[corev1.ResourceName]int64{
		corev1.ResourceCPU: 6000, corev1.ResourceMemory: 16 << 30, corev1.ResourcePods: 42, corev1.ResourceEphemeralStorage: 100 << 30, "amd.com/gpu": 2,
	} {
		if got.Capacity[name] != want {
			t.Errorf("%s is %d, want %d", name, got.Capacity[name], want)
		}
	}
	for key, want := range map[string]string{
		corev1.LabelArchStable: "arm64", "team": "blue", corev1.LabelTopologyRegion: "north", apiv1.CapacityTypeLabelKey: "spot",
		clusterapiv1alpha1.InstanceGPUCountLabelKey: "2", "node.cluster.x-k8s.io/size": "small",
	} {
		if r, _ := got.Requirements.Get(key); !r.Equal(require.New(key, require.In, want)) {
			t.Errorf("label %s is %v, want %s", key, r, want)
		}
	}
	if got.Requirements.Has("other") {
		t.Error("a label that Cluster API does not copy to the node counts as one of the node")
	}
	if pods := types["large"].Capacity[corev1.ResourcePods]; pods != 110 {
		t.Errorf("a template without a number of pods has %d, want the default of the kubelet", pods)
	}
}

// The allocatable resources of existing nodes replace the estimate from the template.
func TestAllocatableOfNodes(t *testing.T) {
	w := newWorld(t)
	for n, cpu := range []string{"3900m", "3700m"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n), Labels: map[string]string{
			classLabel: "default", apiv1.NodeInitializedLabelKey: "true", corev1.LabelInstanceTypeStable: "small",
		}}}
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("99Gi")}
		if err := w.kube.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	types := w.typesOf(t)
	if got := types["small"].Allocatable; got[corev1.ResourceCPU] != 3700 || got[corev1.ResourceMemory] != 16<<30-evictionMemory {
		t.Errorf("allocatable is %v, want 3700m cpu and the memory of the template", got)
	}
	if got := types["medium"].Allocatable[corev1.ResourceCPU]; got != 8000 {
		t.Errorf("another template has %dm cpu, want 8000m", got)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2", Labels: map[string]string{
		classLabel: "default", apiv1.NodeInitializedLabelKey: "true", corev1.LabelInstanceTypeStable: "small",
	}}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	if err := w.kube.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if got := w.typesOf(t)["small"].Allocatable; got[corev1.ResourceCPU] != 3700 || got[corev1.ResourceMemory] != 1<<30 {
		t.Errorf("allocatable is %v, want the least of all nodes, also of cpu that the last one does not report", got)
	}
}

// Nodes of a template with taints are for pools that have the same taints.
func TestTaints(t *testing.T) {
	w := newWorld(t)
	w.annotate(t, "small", map[string]string{capacityPrefix + "taints": "dedicated=gpu:NoSchedule,karpenter.sh/unregistered:NoExecute"})
	if _, offered := w.typesOf(t)["small"]; offered {
		t.Error("a pool without the taint gets the template")
	}
	taint := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}
	for _, edit := range []func(*apiv1.NodePool){
		func(p *apiv1.NodePool) { p.Spec.Template.Spec.Taints = []corev1.Taint{taint} },
		func(p *apiv1.NodePool) { p.Spec.Template.Spec.StartupTaints = []corev1.Taint{taint} },
	} {
		if _, offered := w.typesOf(t, edit)["small"]; !offered {
			t.Error("a pool with the taint does not get the template")
		}
	}
	c := w.claim(t, "a", in(corev1.LabelInstanceTypeStable, "small"))
	if _, err := w.provider().Create(t.Context(), c); err == nil {
		t.Error("a claim without the taint got the template")
	}
}

// zones returns the zones of offerings of a type, in order.
func zones(it *cloud.InstanceType) string {
	var out []string
	for _, o := range it.Offerings {
		out = append(out, o.Zone)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Zones are failure domains: those of the Cluster, of the class, or of the template.
func TestZones(t *testing.T) {
	w := newWorld(t)
	w.change(t, gvk("MachineDeployment"), "small", func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "b", "spec", "template", "spec", "failureDomain")
	})
	types := w.typesOf(t)
	if zones(types["small"]) != "b" || zones(types["large"]) != "a b" {
		t.Errorf("zones are %q and %q, want b and a b", zones(types["small"]), zones(types["large"]))
	}
	w.edit(t, func(c *clusterapiv1alpha1.ClusterAPINodeClass) {
		c.Spec.FailureDomains = []clusterapiv1alpha1.FailureDomain{{Name: "a", Zone: "north-1"}, {Name: "none"}}
	})
	types = w.typesOf(t)
	if it, offered := types["small"]; offered || zones(types["large"]) != "north-1" {
		t.Errorf("small is %v, zones of large are %q, want no small and north-1", it, zones(types["large"]))
	}
	i, err := w.provider().Create(t.Context(), w.claim(t, "a", in(corev1.LabelTopologyZone, "north-1")))
	if err != nil || i.Labels[corev1.LabelTopologyZone] != "north-1" {
		t.Fatalf("instance is %+v, %v; want one in north-1", i, err)
	}
	u := empty(gvk("Machine"))
	w.change(t, gvk("Machine"), "prod-a", func(m *unstructured.Unstructured) { u = m.DeepCopy() })
	if d, _, _ := unstructured.NestedString(u.Object, "spec", "failureDomain"); d != "a" {
		t.Errorf("the Machine is in failure domain %q, want a", d)
	}
	w.edit(t, func(c *clusterapiv1alpha1.ClusterAPINodeClass) { c.Spec.FailureDomains = nil })
	w.change(t, gvk("Cluster"), clusterName, func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "status") })
	if got := zones(w.typesOf(t)["large"]); got != clusterName {
		t.Errorf("a Cluster without failure domains has the zones %q, want its name", got)
	}
}

// Of several failure domains of a zone, the cheapest without a shortage is used.
func TestDomainsOfOneZone(t *testing.T) {
	offering := func(zone string, price float64, available bool) cloud.Offering {
		return cloud.Offering{Zone: zone, Price: price, Available: available}
	}
	k := &kind{
		domains: []domain{{"a", "north"}, {"b", "north"}, {"c", "north"}, {"d", "south"}},
		instanceType: &cloud.InstanceType{Offerings: []cloud.Offering{
			offering("north", 1, false), offering("north", 3, true), offering("north", 2, true), offering("south", 1, true),
		}},
	}
	if d := k.domainIn("north"); d.name != "c" {
		t.Errorf("the failure domain is %q, want c: a has a shortage, b is dearer", d.name)
	}
	k.instanceType.Offerings[0].Unpriced, k.instanceType.Offerings[0].Price = true, 0
	if d := k.domainIn("north"); d.name != "c" {
		t.Errorf("the failure domain is %q, want c: a has no price", d.name)
	}
	for i := range k.instanceType.Offerings {
		k.instanceType.Offerings[i].Available = false
	}
	if d := k.domainIn("north"); d.name != "a" {
		t.Errorf("the failure domain is %q, want a: no other one is left, and a NodeOverlay sets its price", d.name)
	}
}

// edit changes the class and lets its controller run.
func (w *world) edit(t *testing.T, change func(*clusterapiv1alpha1.ClusterAPINodeClass)) *clusterapiv1alpha1.ClusterAPINodeClass {
	t.Helper()
	c := w.resolve(t)
	change(c)
	if err := w.kube.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return w.resolve(t)
}

// Prices come from the annotation, the ConfigMap, the file and the resources, in this order. A template without a price is not
// launched, and the status of the class names it.
func TestPrices(t *testing.T) {
	w := newWorld(t)
	w.annotate(t, "large", map[string]string{clusterapiv1alpha1.PriceAnnotationKey: "0.9, b=1.1", clusterapiv1alpha1.PriceTimeAnnotationKey: "2026-11-01"})
	for _, name := range []string{"medium", "small"} {
		w.annotate(t, name, map[string]string{clusterapiv1alpha1.PriceAnnotationKey: ""})
	}
	c := w.resolve(t)
	want := "Not launched, because their price is not known: medium in a, medium in b, small in a, small in b"
	if got := condition.Get(c, clusterapiv1alpha1.ConditionTypePricesKnown); got == nil || got.Message != want || !condition.Ready(c) {
		t.Errorf("condition is %v and ready %t, want %q and true", got, condition.Ready(c), want)
	}
	types := w.typesOf(t)
	for _, o := range types["small"].Offerings {
		if o.Available || !o.Unpriced {
			t.Errorf("offering %+v has no price and is available", o)
		}
	}
	if got := c.Status.Templates[0].Zones; got[0].PricePerHour != "0.9" || got[1].PricePerHour != "1.1" || got[0].PriceTime == nil {
		t.Errorf("zones of large are %+v, want 0.9 and 1.1 with a time", got)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "prices"}, Data: map[string]string{
		pricesKey: "priceTime: 2026-11-20T10:00:00Z\nprices:\n- {template: medium, pricePerHour: 0.4}\n- {template: large, pricePerHour: 7}\n",
	}}
	if err := w.kube.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	c = w.edit(t, func(c *clusterapiv1alpha1.ClusterAPINodeClass) {
		c.Spec.Prices = &clusterapiv1alpha1.Prices{
			ConfigMap:   &clusterapiv1alpha1.ConfigMapReference{Namespace: "kube-system", Name: "prices"},
			PerResource: &clusterapiv1alpha1.ResourcePrices{CPU: resource.MustParse("0.03"), MemoryGiB: resource.MustParse("0.005")},
		}
	})
	var got []string
	for _, tmpl := range c.Status.Templates {
		got = append(got, tmpl.Name+" "+tmpl.Zones[0].PricePerHour+" "+tmpl.Zones[0].PriceSource)
	}
	if want := "[large 0.9 Annotation medium 0.4 ConfigMap small 0.2 PerResource]"; fmt.Sprint(got) != want {
		t.Errorf("prices are %v, want %s", got, want)
	}
	if !condition.IsTrue(c, clusterapiv1alpha1.ConditionTypePricesKnown) {
		t.Error("prices are not known although each template has one")
	}
}

// A table that cannot be parsed is an error with the field.
func TestPriceTable(t *testing.T) {
	for text, want := range map[string]string{
		"prices: [{template: a, pricePerHour: -1}]": "prices[0].pricePerHour",
		"prices: [{pricePerHour: 1}]":               "prices[0].template",
		"prices: [{template: a, price: 1}]":         "price",
		"priceTime: yesterday":                      "yesterday",
	} {
		if _, err := parsePrices([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want one about %s", text, err, want)
		}
	}
}

// A class with its own templates needs no MachineDeployment.
func TestListedTemplates(t *testing.T) {
	w := newWorld(t)
	c := w.edit(t, func(c *clusterapiv1alpha1.ClusterAPINodeClass) {
		c.Spec.MachineDeploymentSelector = nil
		secret := "join"
		c.Spec.Templates = []clusterapiv1alpha1.MachineTemplate{
			{
				Name: "own", Version: "v1.36.3", Bootstrap: clusterapiv1alpha1.Bootstrap{DataSecretName: &secret},
				InfrastructureRef: clusterapiv1alpha1.TemplateReference{APIGroup: infraGroup, Kind: "TestMachineTemplate", Name: "medium"},
				Annotations:       map[string]string{clusterapiv1alpha1.PriceAnnotationKey: "0.3", capacityPrefix + "memory": "8Gi"},
			},
			{
				Name: "wrong", Bootstrap: clusterapiv1alpha1.Bootstrap{DataSecretName: &secret},
				InfrastructureRef: clusterapiv1alpha1.TemplateReference{APIGroup: infraGroup, Kind: "TestMachineTemplate", Name: "none"},
			},
		}
	})
	got := condition.Get(c, clusterapiv1alpha1.ConditionTypeTemplatesReady)
	if !condition.Ready(c) || !strings.Contains(got.Message, "wrong: there is no TestMachineTemplate none in namespace capi") {
		t.Errorf("conditions are %v, want ready and the wrong template named", c.Status.Conditions)
	}
	i, err := w.provider().Create(t.Context(), w.claim(t, "a"))
	if err != nil || i.Labels[corev1.LabelInstanceTypeStable] != "own" {
		t.Fatalf("instance is %+v, %v", i, err)
	}
	if n := len(w.names(t, bootKind("TestConfig"))); n != 0 {
		t.Errorf("%d bootstrap configs exist, although there is a Secret", n)
	}
	w.deleteAll(t, "a")
}

// The Machine has what Cluster API and Karpenter need, and no label by which a MachineSet would adopt it.
func TestMachine(t *testing.T) {
	w := newWorld(t)
	if _, err := w.provider().Create(t.Context(), w.claim(t, "a")); err != nil {
		t.Fatal(err)
	}
	var m *unstructured.Unstructured
	w.change(t, gvk("Machine"), "prod-a", func(u *unstructured.Unstructured) { m = u.DeepCopy() })
	for key, want := range map[string]string{
		clusterNameLabel: clusterName, clusterapiv1alpha1.OwnerLabelKey: owner, "other": "label", "node.cluster.x-k8s.io/size": "small",
		apiv1.NodePoolLabelKey: "default", coreGroup + "/deployment-name": "", "pool": "",
	} {
		if got := m.GetLabels()[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	if _, ok := m.GetAnnotations()[drainedByKarpenter]; !ok || m.GetAnnotations()[endHook] == "" {
		t.Errorf("annotations are %v, want the hook and no drain by Cluster API", m.GetAnnotations())
	}
	if v, _, _ := unstructured.NestedInt64(m.Object, "spec", "minReadySeconds"); v != 5 {
		t.Error("a field of the MachineDeployment is not copied")
	}
	infra := w.names(t, infraKind("TestMachine"))
	ref, _, _ := unstructured.NestedStringMap(m.Object, "spec", "infrastructureRef")
	if len(infra) != 1 || ref["name"] != infra[0] || ref["kind"] != "TestMachine" || ref["apiGroup"] != infraGroup {
		t.Errorf("the Machine refers to %v, there is %q", ref, infra)
	}
}

func TestNames(t *testing.T) {
	if got := nameOf("prod", "default-x7k2p"); got != "prod-default-x7k2p" {
		t.Errorf("name is %q", got)
	}
	a, b := nameOf("prod", strings.Repeat("a", 70)+"1"), nameOf("prod", strings.Repeat("a", 70)+"2")
	if len(a) > maxName || a == b {
		t.Errorf("long names are %q and %q, want two of at most %d characters", a, b, maxName)
	}
}
