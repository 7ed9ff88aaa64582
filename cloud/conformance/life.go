package conformance

import (
	"cmp"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/engine/require"
)

func testFacts(t *T, h *World) {
	p := h.Provider()
	f := p.Facts()
	if p.Name() == "" {
		t.Error("the provider has no name")
	}
	if !f.Manages(h.Pool.Spec.Template.Spec.NodeClassRef) {
		t.Errorf("the pool's node class is of none of the kinds %v", f.NodeClasses)
	}
	for key := range apiv1.CoreLabels().WellKnown {
		if !f.Labels.WellKnown.Has(key) {
			t.Errorf("the label facts lack the core label %s", key)
		}
	}
	for _, policies := range [][]cloud.RepairPolicy{f.RepairPolicies, f.LegacyRepairPolicies} {
		if len(policies) == 0 {
			continue
		}
		if _, err := repair.Compile(policies); err != nil {
			t.Error(err)
		}
	}
}

func testTypes(t *T, h *World) {
	p := h.Provider()
	types := typesOf(t, p, h.Pool)
	if !slices.IsSortedFunc(types, func(a, b *cloud.InstanceType) int { return cmp.Compare(a.Name, b.Name) }) {
		t.Error("types are not in name order")
	}
	known := p.Facts().Labels.WellKnown
	bought := []string{apiv1.NodePoolLabelKey} // instance types lack this label, because it comes from the NodePool
	for _, it := range types {
		for key := range known {
			if !it.Requirements.Has(key) && !slices.Contains(bought, key) {
				t.Errorf("%s does not define the well-known label %s", it.Name, key)
			}
		}
		if r, _ := it.Requirements.Get(corev1.LabelInstanceTypeStable); !r.Has(it.Name) {
			t.Errorf("%s calls itself %v", it.Name, r)
		}
		if _, _, short := it.Allocatable.Short(it.Capacity); short {
			t.Errorf("%s: allocatable %v exceeds capacity %v", it.Name, it.Allocatable, it.Capacity)
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
			if it.Capacity[name] <= 0 {
				t.Errorf("%s has no %s", it.Name, name)
			}
		}
		if len(it.Offerings) == 0 {
			t.Errorf("%s has no offerings", it.Name)
		}
		for _, o := range it.Offerings {
			checkOffering(t, it, o)
		}
	}
}

func checkOffering(t *T, it *cloud.InstanceType, o cloud.Offering) {
	for key, want := range map[string]string{corev1.LabelTopologyZone: o.Zone, apiv1.CapacityTypeLabelKey: o.CapacityType} {
		r, ok := o.Requirements.Get(key)
		if want == "" || !ok || !r.Equal(require.New(key, require.In, want)) {
			t.Errorf("%s: offering says %q and requires %v", it.Name, want, r)
		}
	}
	if _, ok := it.Requirements.Intersects(o.Requirements); !ok {
		t.Errorf("%s: offering %v contradicts the type's labels", it.Name, o.Requirements)
	}
	if o.Available && o.Price < 0 {
		t.Errorf("%s: price in %s is %v", it.Name, o.Zone, o.Price)
	}
}

func testLife(t *T, h *World) {
	p := h.Provider()
	claims := h.claims(t, 3)
	ids := createAll(t, p, claims)
	for n, c := range claims {
		h.Launched(c.Name, &cloud.Instance{ProviderID: ids[n]})
		claims[n] = h.Load(c.Name)
		i, err := p.Get(t.bounded(), ids[n])
		if err != nil || i.ProviderID != ids[n] || i.Ending {
			t.Errorf("get %s: %+v, %v", ids[n], i, err)
		}
	}
	if got := listed(t, p); !slices.Equal(got, distinct(ids)) {
		t.Errorf("list gives %v, want %v in this order", got, distinct(ids))
	}
	if err := p.Delete(t.bounded(), claims[0]); err != nil {
		t.Fatalf("delete: %v", err)
	}
	h.gone(t, p, claims[0])
	if _, err := p.Get(t.bounded(), ids[0]); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("get after delete: error is %v, want ErrNotFound", err)
	}
	if got := listed(t, p); !slices.Equal(got, distinct(ids[1:])) {
		t.Errorf("list gives %v after delete, want %v", got, distinct(ids[1:]))
	}
	h.wantAlive(t, 2)
}

func testReboot(t *T, h *World) {
	p := h.Provider()
	c := h.claim(t, "a")
	i := create(t, p, c)
	h.Launched(c.Name, i)
	c = h.Load(c.Name)
	err := p.Reboot(t.bounded(), c, "operation-1")
	if !h.CanReboot {
		if !errors.Is(err, cloud.ErrRebootNotSupported) {
			t.Errorf("reboot: error is %v, want ErrRebootNotSupported", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("reboot: %v", err)
	}
	if h.Reboots != nil {
		if got := h.Reboots(i.ProviderID); got != 1 {
			t.Errorf("the instance was rebooted %d times, want once", got)
		}
	}
	h.gone(t, p, c)
	if err := p.Reboot(t.bounded(), c, "operation-2"); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("reboot of an instance that is gone: error is %v, want ErrNotFound", err)
	}
}

func testDeleteUnnoted(t *T, h *World) {
	c := h.claim(t, "a")
	create(t, h.Provider(), c)
	p := h.Provider()
	c = h.Load(c.Name) // the annotations may record the launch, but the status is empty
	if err := p.Delete(t.bounded(), c); err != nil {
		t.Fatalf("delete: %v", err)
	}
	h.gone(t, p, c)
	h.wantAlive(t, 0)
}

// gone repeats Delete until it returns ErrNotFound.
func (h *World) gone(t *T, p cloud.Provider, c *apiv1.NodeClaim) {
	ctx := t.bounded()
	for {
		err := p.Delete(ctx, c)
		if errors.Is(err, cloud.ErrNotFound) {
			return
		}
		if err != nil {
			t.Fatalf("delete again: %v", err)
		}
	}
}

func testNotFound(t *T, h *World) {
	p := h.Provider()
	c := h.claim(t, "a")
	if err := p.Delete(t.bounded(), c); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("delete of a claim that was never launched: error is %v, want ErrNotFound", err)
	}
	i := create(t, p, c)
	h.Launched(c.Name, i)
	c = h.Load(c.Name)
	h.gone(t, p, c)
	if _, err := p.Get(t.bounded(), i.ProviderID); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("get: error is %v, want ErrNotFound", err)
	}
	if got := listed(t, p); len(got) != 0 {
		t.Errorf("list gives %v, want nothing", got)
	}
}

func testFresh(t *T, h *World) {
	p := h.Provider()
	c := h.claim(t, "a")
	h.Launched(c.Name, create(t, p, c))
	reason, err := p.Drift(t.bounded(), h.Load(c.Name))
	if reason != "" || err != nil {
		t.Errorf("drift is %q, %v", reason, err)
	}
}

func listed(t *T, p cloud.Provider) []string {
	list, err := p.List(t.bounded())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var ids []string
	for _, i := range list {
		if !i.Ending {
			ids = append(ids, i.ProviderID)
		}
	}
	return ids
}

func typesOf(t *T, p cloud.Provider, pool *apiv1.NodePool) []*cloud.InstanceType {
	types, err := p.InstanceTypes(t.bounded(), pool)
	if err != nil {
		t.Fatalf("instance types: %v", err)
	}
	if len(types) == 0 {
		t.Fatal("there are no instance types")
	}
	return types
}

// pick returns the cheapest offering that a claim of the pool may use. Its type has at least 1 CPU and at least as many
// offerings as the argument says.
func pick(t *T, p cloud.Provider, pool *apiv1.NodePool, offerings int) Offering {
	reqs := require.FromSpec(pool.Spec.Template.Spec.Requirements)
	best, price := Offering{}, 0.0
	for _, it := range typesOf(t, p, pool) {
		if _, ok := reqs.Intersects(it.Requirements); !ok || it.Allocatable[corev1.ResourceCPU] < 1000 {
			continue
		}
		o, ok := it.Cheapest(reqs)
		if ok && len(it.Offerings) >= offerings && (best.Type == "" || o.Price < price) {
			best, price = Offering{Type: it.Name, Zone: o.Zone, CapacityType: o.CapacityType}, o.Price
		}
	}
	if best.Type == "" {
		t.Fatalf("no instance type with 1 CPU that the pool can use has %d offerings that can be launched", offerings)
	}
	return best
}

func wanted(o Offering) []apiv1.NodeSelectorRequirementWithMinValues {
	return []apiv1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelInstanceTypeStable, o.Type), in(corev1.LabelTopologyZone, o.Zone),
		in(apiv1.CapacityTypeLabelKey, o.CapacityType),
	}
}

// offered reports whether the pool has the offering and it is available.
func offered(t *T, p cloud.Provider, pool *apiv1.NodePool, want Offering) bool {
	for _, it := range typesOf(t, p, pool) {
		for _, o := range it.Offerings {
			if it.Name == want.Type && o.Zone == want.Zone && o.CapacityType == want.CapacityType {
				return o.Available
			}
		}
	}
	return false
}
