package clusterapi

import (
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// writesOfLaunch are the writes of one launch: the record, the bootstrap config, the infrastructure machine, the Machine.
const writesOfLaunch = 4

// A process ends at any write of a launch, before or after the write is stored. The next process completes the launch: there is
// one Machine with its clones. That holds although prices and shortages have changed in between.
func TestCrashAtEachWriteOfALaunch(t *testing.T) {
	for at := 1; at <= writesOfLaunch; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d stored %t", at, after), func(t *testing.T) {
				w := newWorld(t)
				c := w.claim(t, "a")
				w.endAt(t, at, after, func(p *Provider) error { _, err := p.Create(t.Context(), c); return err })

				p := w.provider()
				if at > 1 || after { // the choice is recorded, and stays although another one would be cheaper now
					w.mu.Lock()
					w.broken["medium"], w.broken["large"] = "Broken", "Broken"
					w.mu.Unlock()
				}
				i, err := p.Create(t.Context(), w.load(t, "a"))
				if err != nil {
					t.Fatal(err)
				}
				w.wantObjects(t, 1)
				again, err := w.provider().Create(t.Context(), w.load(t, "a"))
				if err != nil || again.ProviderID != i.ProviderID {
					t.Errorf("a third create gives %+v, %v; want %s", again, err, i.ProviderID)
				}
				w.wantObjects(t, 1)
				w.deleteAll(t, "a")
				w.wantObjects(t, 0)
			})
		}
	}
}

// A claim whose process ended during the launch can be deleted without being launched again.
func TestDeleteAfterCrash(t *testing.T) {
	for at := 1; at <= writesOfLaunch; at++ {
		for _, after := range []bool{false, true} {
			w := newWorld(t)
			c := w.claim(t, "a")
			w.endAt(t, at, after, func(p *Provider) error { _, err := p.Create(t.Context(), c); return err })
			w.provider()
			w.deleteAll(t, "a")
			w.wantObjects(t, 0)
		}
	}
}

// If a process ends at any write of a termination, the next process completes the termination.
func TestCrashAtEachWriteOfATermination(t *testing.T) {
	for at := 1; at <= 2; at++ { // the hook, the Machine
		for _, after := range []bool{false, true} {
			w := newWorld(t)
			c := w.claim(t, "a")
			i, err := w.provider().Create(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			w.launched(t, "a", i)
			c = w.load(t, "a")
			w.endAt(t, at, after, func(p *Provider) error { return p.Delete(t.Context(), c) })
			w.provider()
			w.deleteAll(t, "a")
			w.wantObjects(t, 0)
		}
	}
}

// The template of a recorded launch is removed before the Machine is created. Then another template is chosen, and the clones of
// the removed template are deleted.
func TestRecordedTemplateRemoved(t *testing.T) {
	w := newWorld(t)
	c := w.claim(t, "a")
	w.endAt(t, 3, true, func(p *Provider) error { _, err := p.Create(t.Context(), c); return err })
	p := w.provider()
	d := empty(gvk("MachineDeployment"))
	d.SetNamespace(namespace)
	d.SetName("small")
	if err := w.management.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	i, err := p.Create(t.Context(), w.load(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if got := i.Labels["node.kubernetes.io/instance-type"]; got != "medium" {
		t.Errorf("instance type is %q, want medium, the cheapest left", got)
	}
	w.wantObjects(t, 1)
}

// endAt lets the process of do end at a write.
func (w *world) endAt(t *testing.T, at int, after bool, do func(p *Provider) error) {
	t.Helper()
	p := w.provider()
	w.mu.Lock()
	w.writes, w.crashAt, w.after = 0, at, after
	w.mu.Unlock()
	if err := do(p); !errors.Is(err, errCrash) {
		t.Fatalf("error is %v, want the end of the process at write %d", err, at)
	}
}

// wantObjects checks how many Machines, infrastructure machines and bootstrap configs exist.
func (w *world) wantObjects(t *testing.T, want int) {
	t.Helper()
	for _, list := range [][]string{
		w.names(t, gvk("Machine")), w.names(t, infraKind("TestMachine")), w.names(t, bootKind("TestConfig")),
	} {
		if len(list) != want {
			t.Errorf("there are %q, want %d", list, want)
		}
	}
}

// deleteAll repeats Delete for the stored claim until it returns cloud.ErrNotFound.
func (w *world) deleteAll(t *testing.T, name string) {
	t.Helper()
	p := w.provider()
	for range 5 {
		err := p.Delete(t.Context(), w.load(t, name))
		if errors.Is(err, cloud.ErrNotFound) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("claim %s still has objects after 5 deletes", name)
}

// A Machine or clone of another claim with the same name is not taken over, and not deleted.
func TestNameTaken(t *testing.T) {
	for _, kind := range []string{"Machine", "TestMachine", "TestConfig"} {
		w := newWorld(t)
		c := w.claim(t, "a")
		gk := map[string]func() client.Object{
			"Machine": func() client.Object {
				return object(gvk("Machine"), "prod-a", map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{"kind": "TestMachine", "name": "prod-b"}}})
			},
			"TestMachine": func() client.Object { return object(infraKind("TestMachine"), "prod-a", nil) },
			"TestConfig":  func() client.Object { return object(bootKind("TestConfig"), "prod-a", nil) },
		}
		if kind == "Machine" {
			if err := w.management.Create(t.Context(), object(infraKind("TestMachine"), "prod-b", nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.management.Create(t.Context(), gk[kind]()); err != nil {
			t.Fatal(err)
		}
		p := w.provider()
		_, err := p.Create(t.Context(), c)
		var failed *cloud.LaunchError
		if !errors.As(err, &failed) || failed.Reason != reasonNameTaken {
			t.Errorf("%s: error is %v, want the reason %s", kind, err, reasonNameTaken)
		}
		w.deleteAll(t, "a")
		u := gk[kind]()
		if err := w.management.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			t.Errorf("%s of another claim: %v", kind, err)
		}
	}
}

// A claim that is deleted between the choice and the record is not launched.
func TestDeletedClaimIsNotLaunched(t *testing.T) {
	w := newWorld(t)
	c := w.claim(t, "a")
	if err := w.kube.Delete(t.Context(), &apiv1.NodeClaim{ObjectMeta: *c.ObjectMeta.DeepCopy()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.provider().Create(t.Context(), c); err == nil {
		t.Error("a claim that does not exist was launched")
	}
	w.wantObjects(t, 0)
}
