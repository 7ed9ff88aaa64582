package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
)

func testCreate(t *T, h *World) {
	p := h.Provider()
	o := pick(t, p, h.Pool, 1)
	i := create(t, p, h.claim(t, "a", wanted(o)...))
	for key, want := range map[string]string{
		corev1.LabelInstanceTypeStable: o.Type, corev1.LabelTopologyZone: o.Zone, apiv1.CapacityTypeLabelKey: o.CapacityType,
		apiv1.NodePoolLabelKey: h.Pool.Name,
	} {
		if i.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, i.Labels[key], want)
		}
	}
	if i.ProviderID == "" || i.Ending || i.Created.IsZero() {
		t.Errorf("instance %+v is not one that was just launched", i)
	}
	for name, q := range i.Allocatable {
		if have := i.Capacity[name]; q.Cmp(have) > 0 {
			t.Errorf("allocatable %s is %s of a capacity of %s", name, &q, &have)
		}
	}
}

func testRequests(t *T, h *World) {
	p := h.Provider()
	c := h.claim(t, "a")
	c.Name, c.UID, c.ResourceVersion = "b", "", ""
	c.Spec.Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("7"), corev1.ResourceMemory: resource.MustParse("20Gi"),
	}
	h.Store(c)
	i := create(t, p, c)
	if name, by, short := model.RequestsOf(c.Spec.Resources.Requests).Short(model.CapacityOf(i.Allocatable)); short {
		t.Errorf("instance of type %s has %d too little %s", i.Labels[corev1.LabelInstanceTypeStable], by, name)
	}
}

// Create returns the name of the node for a claim to whose node pods are nominated, if the cloud knows it in advance. Get and
// later calls of Create return the same name. Nodes of different claims have different names.
func testNodeName(t *T, h *World) {
	p := h.Provider()
	names := map[string]string{}
	for _, c := range h.claims(t, 2) {
		c.Name, c.UID, c.ResourceVersion = "nominated-"+c.Name, "", ""
		c.Annotations = map[string]string{apiv1.PodsNominatedToAnnotationKey: ""}
		h.Store(c)
		i := create(t, p, c)
		if told := i.NodeName != ""; h.NamesNodes != nil && told != *h.NamesNodes {
			t.Errorf("create of %s returns the node's name %q, although the cloud knows it in advance: %t", c.Name, i.NodeName, *h.NamesNodes)
		}
		again := create(t, p, c)
		if i.NodeName == "" {
			continue // a node that has joined meanwhile has a name
		}
		if again.NodeName != i.NodeName {
			t.Errorf("second create returns the name %q, the first %q", again.NodeName, i.NodeName)
		}
		if of := names[i.NodeName]; of != "" {
			t.Errorf("%s and %s have the same name %q", of, c.Name, i.NodeName)
		}
		names[i.NodeName] = c.Name
		if got, err := p.Get(t.bounded(), i.ProviderID); err != nil || got.NodeName != i.NodeName {
			t.Errorf("get of %s returns %+v, %v; want the name %q", c.Name, got, err, i.NodeName)
		}
	}
}

func testTwice(t *T, h *World) {
	p := h.Provider()
	c := h.claim(t, "a")
	first := create(t, p, c)
	if again := create(t, p, c); again.ProviderID != first.ProviderID {
		t.Errorf("second create gave %s, the first %s", again.ProviderID, first.ProviderID)
	}
	same := h.claim(t, "b")
	ids := createAll(t, p, []*apiv1.NodeClaim{same.DeepCopy(), same.DeepCopy(), same.DeepCopy()})
	if len(distinct(ids)) != 1 {
		t.Errorf("three creates at once for one claim gave %v", ids)
	}
	h.wantAlive(t, 2)
}

func testMany(t *T, h *World) {
	p := h.Provider()
	const n = 12
	ids := createAll(t, p, h.claims(t, n))
	if len(distinct(ids)) != n {
		t.Errorf("%d claims got %v", n, ids)
	}
	h.wantAlive(t, n)
}

func testRestart(t *T, h *World) {
	claims := h.claims(t, 5)
	before := createAll(t, h.Provider(), claims)
	for n := range 2 { // as a controller that stored the result of the launch
		h.Launched(claims[n].Name, &cloud.Instance{ProviderID: before[n]})
	}
	p := h.Provider()
	for n, c := range claims {
		claims[n] = h.Load(c.Name)
	}
	after := createAll(t, p, claims[2:])
	all := append(slices.Clone(before[:2]), after...)
	if got, want := distinct(all), distinct(before); !slices.Equal(got, want) {
		t.Errorf("after a restart the claims have %v, before %v", got, want)
	}
	h.wantAlive(t, len(claims))
}

func testLostAnswer(t *T, h *World) {
	if h.LoseAnswer == nil {
		t.Skip("this cloud loses no answers")
	}
	c := h.claim(t, "a")
	h.loseAll(t, []*apiv1.NodeClaim{c})
	i := create(t, h.Provider(), h.Load(c.Name))
	if i.ProviderID == "" {
		t.Error("instance has no provider id")
	}
	h.wantAlive(t, 1)
}

func testCrash(t *T, h *World) {
	if h.LoseAnswer == nil {
		t.Skip("this cloud loses no answers")
	}
	claims := h.claims(t, 6)
	h.loseAll(t, claims)
	for n, c := range claims {
		claims[n] = h.Load(c.Name)
	}
	slices.Reverse(claims) // the order of the claims must not matter
	p := h.Provider()
	first := create(t, p, claims[0])
	h.Launched(claims[0].Name, first)
	ids := append(createAll(t, p, claims[1:]), first.ProviderID)
	if len(distinct(ids)) != len(claims) {
		t.Errorf("%d claims got %v", len(claims), ids)
	}
	h.wantAlive(t, len(claims))
}

// loseAll creates claims whose responses are lost, and returns when the cloud has launched their instances. The provider
// must not be used afterwards.
func (h *World) loseAll(t *T, claims []*apiv1.NodeClaim) {
	p := h.Provider()
	h.LoseAnswer()
	ctx, crash := context.WithCancel(t.ctx)
	defer crash()
	var wg sync.WaitGroup
	for _, c := range claims {
		wg.Go(func() {
			if i, err := p.Create(ctx, c); err == nil {
				t.Errorf("create of %s returned %s although the answer was lost", c.Name, i.ProviderID)
			}
		})
	}
	h.waitAlive(t, len(claims))
	crash()
	wg.Wait()
}

func testImpossible(t *T, h *World) {
	p := h.Provider()
	_, err := p.Create(t.bounded(), h.claim(t, "a", in(corev1.LabelInstanceTypeStable, "no-such.type")))
	var capacity *cloud.InsufficientCapacityError
	if !errors.As(err, &capacity) {
		t.Errorf("error is %v, want an InsufficientCapacityError", err)
	}
	h.wantAlive(t, 0)
}

func testExhausted(t *T, h *World) {
	if h.Exhaust == nil {
		t.Skip("the check cannot take the capacity of this cloud away")
	}
	p := h.Provider()
	o := pick(t, p, h.Pool, 2) // the second one is used when the first is exhausted
	h.Exhaust(o)
	_, err := p.Create(t.bounded(), h.claim(t, "a", wanted(o)...))
	var capacity *cloud.InsufficientCapacityError
	if !errors.As(err, &capacity) {
		t.Fatalf("error is %v, want an InsufficientCapacityError", err)
	}
	if offered(t, p, h.Pool, o) {
		t.Errorf("%v is still on offer", o)
	}
	create(t, p, h.claim(t, "b", in(corev1.LabelInstanceTypeStable, o.Type))) // uses another zone or capacity type
	h.wantAlive(t, 1)
}

func testMissingClass(t *T, h *World) {
	p := h.Provider()
	c := h.claim(t, "a")
	ref := *c.Spec.NodeClassRef
	ref.Name = "no-such-class"
	c.Spec.NodeClassRef = &ref
	_, err := p.Create(t.bounded(), c)
	var class *cloud.NodeClassNotReadyError
	var capacity *cloud.InsufficientCapacityError
	if !errors.As(err, &class) && !errors.As(err, &capacity) {
		t.Errorf("create: error is %v, want a NodeClassNotReadyError or an InsufficientCapacityError", err)
	}
	pool := h.Pool.DeepCopy()
	pool.Spec.Template.Spec.NodeClassRef = &ref
	if _, err = p.InstanceTypes(t.bounded(), pool); !errors.As(err, &class) {
		t.Errorf("instance types: error is %v, want a NodeClassNotReadyError", err)
	}
}

func testCancelled(t *T, h *World) {
	p := h.Provider()
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	c := h.claim(t, "a")
	if _, err := p.Create(ctx, c); err == nil {
		t.Error("create with a cancelled context succeeded")
	}
	// The check only requires that these calls return. Their results do not matter.
	_, _ = p.InstanceTypes(ctx, h.Pool)
	_, _ = p.List(ctx)
	_, _ = p.Get(ctx, "none")
	_ = p.Delete(ctx, c)
	create(t, p, c) // the cancelled calls must not affect this one
	h.wantAlive(t, 1)
}

// claims creates n NodeClaims in the API server.
func (h *World) claims(t *T, n int) []*apiv1.NodeClaim {
	out := make([]*apiv1.NodeClaim, n)
	for i := range out {
		out[i] = h.claim(t, fmt.Sprintf("claim-%02d", i))
	}
	return out
}

func create(t *T, p cloud.Provider, c *apiv1.NodeClaim) *cloud.Instance {
	i, err := p.Create(t.bounded(), c)
	if err != nil {
		t.Fatalf("create %s: %v", c.Name, err)
	}
	return i
}

// createAll calls Create for all claims concurrently and returns their provider IDs in the order of claims.
func createAll(t *T, p cloud.Provider, claims []*apiv1.NodeClaim) []string {
	ids, errs := make([]string, len(claims)), make([]error, len(claims))
	var wg sync.WaitGroup
	ctx := t.bounded()
	for n, c := range claims {
		wg.Go(func() {
			i, err := p.Create(ctx, c)
			if errs[n] = err; err == nil {
				ids[n] = i.ProviderID
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("create: %v", err)
	}
	return ids
}

func distinct(ids []string) []string {
	out := slices.Clone(ids)
	slices.Sort(out)
	return slices.Compact(out)
}

func (h *World) wantAlive(t *T, want int) {
	if got := h.Alive(); got != want {
		t.Errorf("%d instances are alive, want %d", got, want)
	}
}

// waitAlive waits until the number of instances that are alive is want.
func (h *World) waitAlive(t *T, want int) {
	ctx := t.bounded()
	for h.Alive() != want {
		if ctx.Err() != nil {
			t.Fatalf("%d instances are alive, waited for %d", h.Alive(), want)
		}
	}
}
