package clusterapi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// judge distinguishes missing capacity from other problems in the texts of infrastructure providers.
func TestJudge(t *testing.T) {
	for text, want := range map[string]bool{
		"InsufficientResources: no host": true,
		"InstanceProvisionFailed: InsufficientInstanceCapacity: We currently do not have":  true,
		"InsufficientFreeAddressesInSubnet: no address":                                    false,
		"Failed: ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS":                                true,
		"Failed: operation error: QUOTA_EXCEEDED: Quota exceeded for CPUS":                 true,
		"VMProvisionFailed: Code=\"ZonalAllocationFailed\" Message=\"Allocation failed\"":  true,
		"VMProvisionFailed: Code=\"SkuNotAvailable\"":                                      true,
		"InstanceCreateFailed: No valid host was found. There are not enough hosts":        true,
		"InstanceCreateFailed: server type is unavailable (resource_unavailable)":          true,
		"AssociateFailed: No available host found for the Metal3Machine":                   true,
		"VMCreateFailed: insufficient memory resources on node pve-3":                      true,
		"InstanceProvisionFailed: Quota exceeded for cores: Requested 8, but already used": true,
		"WaitingForBootstrapData: bootstrap data is not available yet":                     false,
		"InvalidConfiguration: image ubuntu-99 does not exist":                             false,
		"VMProvisioning: the virtual machine is being created":                             false,
		"ObjectDeleted: the object does not exist":                                         false,
	} {
		reason, message, _ := strings.Cut(text, ": ")
		m := &machine{}
		m.Status.Conditions = []metav1.Condition{{Type: "InfrastructureReady", Status: metav1.ConditionFalse, Reason: reason, Message: message}}
		if got := judge(m, nil); got.short != want {
			t.Errorf("%q counts as a shortage: %t, want %t", text, got.short, want)
		}
		old := &machine{}
		old.Status.Deprecated.V1Beta1 = failure{Reason: reason, Message: message}
		if got := judge(old, nil); got.short != want || !got.final {
			t.Errorf("%q as a failure of the older contract counts as a shortage: %t, want %t", text, got.short, want)
		}
	}
	m := &machine{}
	m.Status.Conditions = []metav1.Condition{{Type: "InfrastructureReady", Status: metav1.ConditionFalse, Reason: "Failed", Message: "rack is full"}}
	if !judge(m, []string{"(", "RACK is full"}).short {
		t.Error("an expression of the class is not compared")
	}
}

// A shortage ends after three minutes; another one that follows lasts twice as long, up to half an hour. A successful
// launch removes the shortage.
func TestShortages(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	s := &shortages{clock: clock}
	k, other := offeringKey{template: "large", domain: "a"}, offeringKey{template: "large", domain: "b"}
	for _, want := range []time.Duration{3, 6, 12, 24, 30, 30} {
		s.mark(k)
		s.mark(k) // at the same time, it counts once
		clock.Step(want*time.Minute - time.Second)
		if !s.short(k) || s.short(other) {
			t.Fatalf("after %v: short %t, other zone %t", want*time.Minute, s.short(k), s.short(other))
		}
		clock.Step(time.Second)
		if s.short(k) {
			t.Fatalf("the shortage lasts longer than %v", want*time.Minute)
		}
	}
	clock.Step(shortageMemory)
	s.mark(k)
	clock.Step(shortageFirst)
	if s.short(k) {
		t.Error("a shortage that came long after the last one lasts longer than the first")
	}
	s.mark(k)
	s.clear(k)
	if s.short(k) {
		t.Error("the offering counts as short after a launch")
	}
}

// A launch whose Machine never gets a provider ID ends at its deadline. The error has the reason. The next launch uses
// another offering.
func TestHungCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hung = true
		p := w.provider()
		ctx, cancel := context.WithCancelCause(t.Context())
		overdue := errors.New("the launch took too long")
		created := make(chan error)
		go func() {
			_, err := p.Create(ctx, w.claim(t, "a"))
			created <- err
		}()
		synctest.Wait() // the launch polls
		cancel(overdue)
		err := <-created
		var failed *cloud.LaunchError
		if !errors.As(err, &failed) || failed.Reason != reasonProvisioning {
			t.Fatalf("error is %v, want the reason %s", err, reasonProvisioning)
		}
		w.mu.Lock()
		w.hung = false
		w.mu.Unlock()
		i, err := p.Create(t.Context(), w.claim(t, "b"))
		if err != nil {
			t.Fatal(err)
		}
		if i.Labels[corev1.LabelTopologyZone] == "a" && i.Labels[corev1.LabelInstanceTypeStable] == "small" {
			t.Error("the next launch takes the offering that hung")
		}
		w.deleteAll(t, "a")
		w.deleteAll(t, "b")
		w.wantObjects(t, 0)
	})
}

// delays passes the messages of the events LaunchDelayed to a channel, which must have room for one.
type delays chan string

func (d delays) Publish(events ...telemetry.Event) {
	for _, e := range events {
		if e.Reason == telemetry.EventLaunchDelayed {
			select {
			case d <- e.Object.(client.Object).GetName() + ": " + e.Message:
			default: // one is enough
			}
		}
	}
}

// A mistake in a template is published on the claim while the launch waits. After it is corrected, the same Machine is used.
func TestDelayIsPublished(t *testing.T) {
	w := newWorld(t)
	w.hung, w.mistake = true, true
	told := make(delays, 1)
	p := w.provider()
	p.config.Events = told
	type result struct {
		instance *cloud.Instance
		err      error
	}
	created := make(chan result, 1)
	go func() {
		i, err := p.Create(t.Context(), w.claim(t, "a"))
		created <- result{i, err}
	}()
	if got, want := <-told, "a: Machine capi/prod-a has no provider ID yet: InvalidImage: The image does not exist; fix: "; !strings.HasPrefix(got, want) {
		t.Errorf("event is %q, want %q", got, want)
	}
	w.change(t, gvk("Machine"), "prod-a", func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "test:///prod-a", "spec", "providerID")
	})
	if r := <-created; r.err != nil || r.instance.ProviderID != "test:///prod-a" {
		t.Errorf("the launch gives %+v, %v", r.instance, r.err)
	}
	w.wantObjects(t, 1)
}

// A Machine without conditions, which no controller reconciles, is published too, with a text that is complete.
func TestDelayWithoutCause(t *testing.T) {
	w := newWorld(t)
	w.hung = true
	told := make(delays, 1)
	p := w.provider()
	p.config.Events = told
	created := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, err := p.Create(ctx, w.claim(t, "a"))
		created <- err
	}()
	const why = "Machine capi/prod-a has no provider ID yet: its conditions state no cause; check that the controllers of Cluster API run"
	if got, want := <-told, "a: "+why+"; fix: "; !strings.HasPrefix(got, want) {
		t.Errorf("event is %q, want %q", got, want)
	}
	stop()
	var failed *cloud.LaunchError
	if err := <-created; !errors.As(err, &failed) || failed.Message != why {
		t.Errorf("error is %v, want the message %q", err, why)
	}
}

// The end of a process during a launch records no shortage of the offering.
func TestStopIsNoShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hung = true
		p := w.provider()
		ctx, stop := context.WithCancel(t.Context())
		created := make(chan error)
		go func() {
			_, err := p.Create(ctx, w.claim(t, "a"))
			created <- err
		}()
		synctest.Wait() // the launch polls
		stop()
		<-created
		if p.shortages.short(offeringKey{namespace, clusterName, "small", "a"}) {
			t.Error("the offering is not used any more")
		}
	})
}

// A final failure of the infrastructure is reported in the condition of the claim. The Machine is kept for inspection.
func TestBrokenInfrastructure(t *testing.T) {
	w := newWorld(t)
	w.broken["small"] = "InvalidConfiguration"
	_, err := w.provider().Create(t.Context(), w.claim(t, "a"))
	var failed *cloud.LaunchError
	if !errors.As(err, &failed) || failed.Reason != reasonInfrastructure || !strings.Contains(failed.Message, "the image does not exist") {
		t.Fatalf("error is %v, want the reason %s and the message of the infrastructure", err, reasonInfrastructure)
	}
	w.wantObjects(t, 1)
	w.deleteAll(t, "a")
	w.wantObjects(t, 0)
}
