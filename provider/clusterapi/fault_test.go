package clusterapi

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-go/karpenter/cloud"
)

// faults are the errors of one write of an API server that the process survives.
var faults = map[string]struct {
	err    error
	stored bool
}{
	"lost answer":    {apierrors.NewServerTimeout(schema.GroupResource{Resource: "machines"}, "write", 1), true},
	"conflict":       {apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "prod-a", errors.New("it has changed")), false},
	"internal error": {apierrors.NewInternalError(errors.New("etcd has no leader")), false},
	"too many calls": {apierrors.NewTooManyRequestsError("try again"), false},
}

// failAt lets one write of do fail, and returns the error of do.
func (w *world) failAt(at int, fault error, stored bool, do func() error) error {
	w.mu.Lock()
	w.writes, w.crashAt, w.after, w.fault = 0, at, stored, fault
	w.mu.Unlock()
	err := do()
	w.mu.Lock()
	w.crashAt, w.fault = 0, nil
	w.mu.Unlock()
	return err
}

// Any write of a launch may fail, stored or not. A repeated launch in the same process completes it: there is one Machine with its
// clones, and no offering counts as exhausted.
func TestFaultAtEachWriteOfALaunch(t *testing.T) {
	for name, fault := range faults {
		for at := 1; at <= writesOfLaunch; at++ {
			t.Run(fmt.Sprintf("%s at write %d", name, at), func(t *testing.T) {
				w := newWorld(t)
				c, p := w.claim(t, "a"), w.provider()
				err := w.failAt(at, fault.err, fault.stored, func() error { _, err := p.Create(t.Context(), c); return err })
				var capacity *cloud.InsufficientCapacityError
				if errors.As(err, &capacity) {
					t.Errorf("error is %v, which gives the claim up", err)
				}
				i, err := p.Create(t.Context(), w.load(t, "a"))
				if err != nil {
					t.Fatal(err)
				}
				if got := i.Labels["node.kubernetes.io/instance-type"]; got != "small" {
					t.Errorf("instance type is %s, want small, the cheapest", got)
				}
				w.wantObjects(t, 1)
				w.deleteAll(t, "a")
				w.wantObjects(t, 0)
			})
		}
	}
}

// Any write of a termination may fail, stored or not. Repeated terminations in the same process complete it.
func TestFaultAtEachWriteOfATermination(t *testing.T) {
	for name, fault := range faults {
		for at := 1; at <= 2; at++ { // the hook, the Machine
			t.Run(fmt.Sprintf("%s at write %d", name, at), func(t *testing.T) {
				w := newWorld(t)
				p, c := w.launch(t, "a")
				err := w.failAt(at, fault.err, fault.stored, func() error { return p.Delete(t.Context(), c) })
				if errors.Is(err, cloud.ErrNotFound) {
					t.Fatalf("error is %v, although the Machine exists", err)
				}
				for range 5 {
					if err = p.Delete(t.Context(), c); err != nil {
						break
					}
				}
				if !errors.Is(err, cloud.ErrNotFound) {
					t.Errorf("error of the last delete is %v, want not found", err)
				}
				w.wantObjects(t, 0)
			})
		}
	}
}

// A template without capacity in one failure domain stays in use in the other one, and other templates in both. A claim that
// allows the exhausted offering alone is given up.
func TestShortageOfOneTemplateInOneDomain(t *testing.T) {
	w := newWorld(t)
	w.exhausted[[2]string{"small", "a"}] = true
	p := w.provider()
	_, err := p.Create(t.Context(), w.claim(t, "a", in("node.kubernetes.io/instance-type", "small"), in("topology.kubernetes.io/zone", "a")))
	var capacity *cloud.InsufficientCapacityError
	if !errors.As(err, &capacity) {
		t.Fatalf("error is %v, want an InsufficientCapacityError", err)
	}
	w.wantObjects(t, 0)
	types, err := p.InstanceTypes(t.Context(), pool())
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range types {
		for _, o := range it.Offerings {
			if short := it.Name == "small" && o.Zone == "a"; o.Available == short {
				t.Errorf("%s in %s is available: %t", it.Name, o.Zone, o.Available)
			}
		}
	}
	i, err := p.Create(t.Context(), w.claim(t, "b", in("node.kubernetes.io/instance-type", "small")))
	if err != nil || i.Labels["topology.kubernetes.io/zone"] != "b" {
		t.Errorf("the next launch gives %+v, %v; want a Machine of the same template in b", i, err)
	}
}
