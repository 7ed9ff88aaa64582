package kwok

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
)

// reservedFile has one type: two instances of it are reserved in zone a, others cost ten times as much.
const reservedFile = `[{"name":"m5.large","architecture":"amd64","operatingSystems":["linux"],"resources":{"cpu":"2","memory":"8Gi"},"offerings":[
	{"Price":0.01,"ReservationCapacity":2,"Requirements":[
		{"key":"karpenter.sh/capacity-type","operator":"In","values":["reserved"]},
		{"key":"topology.kubernetes.io/zone","operator":"In","values":["a"]}]},
	{"Price":0.1,"Requirements":[
		{"key":"karpenter.sh/capacity-type","operator":"In","values":["on-demand"]},
		{"key":"topology.kubernetes.io/zone","operator":"In","values":["a"]}]}]}]`

func (w *world) reserving(t *testing.T) *Provider {
	t.Helper()
	types, err := parse([]byte(reservedFile))
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Client: w.kube, Reader: w.kube, Nodes: act.Writer{Client: w.kube}, Clock: w.clock, Types: types})
}

// remaining returns how many instances are left in the reservation according to the provider.
func remaining(t *testing.T, p *Provider) int {
	t.Helper()
	types, err := p.InstanceTypes(t.Context(), pool())
	if err != nil {
		t.Fatal(err)
	}
	o := types[0].Offerings[0]
	if !o.Available || o.Launchable() != (o.ReservationCapacity > 0) {
		t.Errorf("%d are left, available is %v, launchable is %v", o.ReservationCapacity, o.Available, o.Launchable())
	}
	return o.ReservationCapacity
}

// Of concurrent launches, as many get reserved capacity as the reservation has. The others get other capacity, or none
// if they require reserved capacity.
func TestReservationsAreCounted(t *testing.T) {
	w := newWorld(t)
	p := w.reserving(t)
	if n := remaining(t, p); n != 2 {
		t.Fatalf("%d are left at first, want 2", n)
	}
	var launches sync.WaitGroup
	got := make([]string, 5)
	for i := range got {
		c := claim(fmt.Sprintf("c-%d", i), "1")
		w.store(t, c)
		launches.Go(func() {
			made, err := p.Create(t.Context(), c)
			if err != nil {
				got[i] = err.Error()
				return
			}
			got[i] = made.Labels[apiv1.CapacityTypeLabelKey]
		})
	}
	launches.Wait()
	count := map[string]int{}
	for _, x := range got {
		count[x]++
	}
	if count["reserved"] != 2 || count["on-demand"] != 3 {
		t.Fatalf("five launches got %v", count)
	}
	w.clock.Step(2 * bridged)
	if n := remaining(t, w.reserving(t)); n != 0 {
		t.Errorf("%d are left after a restart, want none", n)
	}
	insists := claim("insists", "1", in(apiv1.CapacityTypeLabelKey, "reserved"))
	w.store(t, insists)
	var none *cloud.InsufficientCapacityError
	if _, err := p.Create(t.Context(), insists); !errors.As(err, &none) {
		t.Errorf("error is %v, want a want of capacity", err)
	}
	for _, n := range w.nodes(t) {
		if n.Labels[apiv1.CapacityTypeLabelKey] == "reserved" {
			if err := w.kube.Delete(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if n := remaining(t, p); n != 1 {
		t.Errorf("%d are left when a node is gone, want 1", n)
	}
	if _, err := p.Create(t.Context(), insists); err != nil {
		t.Error(err)
	}
}

// A launch whose node is created later counts in the reservation: first by the record of the launch, then by the labels
// of the claim.
func TestReservationOfNodeToCome(t *testing.T) {
	w := newWorld(t)
	var k kwokv1alpha1.KWOKNodeClass
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &k); err != nil {
		t.Fatal(err)
	}
	k.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: time.Hour}
	if err := w.kube.Update(t.Context(), &k); err != nil {
		t.Fatal(err)
	}
	p := w.reserving(t)
	c := claim("later", "1")
	w.store(t, c)
	i, err := p.Create(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if n := remaining(t, p); n != 1 {
		t.Errorf("%d are left before the claim says what it got, want 1", n)
	}
	again, err := p.Create(t.Context(), c)
	if err != nil || again.Labels[apiv1.CapacityTypeLabelKey] != "reserved" || remaining(t, p) != 1 {
		t.Errorf("a launch made again is %v, %v; %d are left, want 1", again, err, remaining(t, p))
	}
	given := claim("given-up", "1")
	w.store(t, given)
	if _, err := p.Create(t.Context(), given); err != nil || remaining(t, p) != 0 {
		t.Errorf("%v, %d are left, want none", err, remaining(t, p))
	}
	if err := w.kube.Delete(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	w.launched(t, "later", i)
	if n := remaining(t, p); n != 1 {
		t.Errorf("%d are left when a claim was given up, want 1", n)
	}
	w.clock.Step(2 * bridged)
	if n := remaining(t, p); n != 1 || len(w.nodes(t)) != 0 {
		t.Errorf("%d are left, %d nodes; want 1 and none", n, len(w.nodes(t)))
	}
	if i.Labels[corev1.LabelTopologyZone] != "a" {
		t.Errorf("labels are %v", i.Labels)
	}
}
