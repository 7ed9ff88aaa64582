package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// outOf removes the capacity of an offering until the test ends.
func (s *scene) outOf(pool control.Pool) {
	s.t.Helper()
	if err := s.Steer().ICE(s.t.Context(), pool); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := s.context()
		defer cancel()
		if err := s.Steer().ClearCapacity(ctx, pool); err != nil {
			s.t.Error(err)
		}
	})
}

// watchClaims counts the claims of the scene that exist at any time until count is called. count ends the watch and returns
// their number.
func (s *scene) watchClaims() (count func() int) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	watcher, err := s.Watch(ctx, &apiv1.NodeClaimList{}, s.mine())
	if err != nil {
		s.t.Fatal(err)
	}
	seen := map[types.UID]bool{}
	var group sync.WaitGroup
	group.Go(func() {
		for event := range watcher.ResultChan() {
			if claim, ok := event.Object.(*apiv1.NodeClaim); ok {
				seen[claim.UID] = true
			}
		}
	})
	stop := sync.OnceFunc(func() { cancel(); watcher.Stop(); group.Wait() })
	s.t.Cleanup(stop)
	return func() int { stop(); return len(seen) }
}

// runsOn fails the test unless all running instances of the scene are of the pool and of the type.
func (s *scene) runsOn(pool, instanceType string) {
	s.t.Helper()
	running := 0
	for _, i := range s.instances() {
		if !alive(i) {
			continue
		}
		running++
		if i.Type != instanceType || i.Tags[apiv1.NodePoolLabelKey] != pool {
			s.t.Errorf("instance of pool %s is an %s, want %s of %s", i.Tags[apiv1.NodePoolLabelKey], i.Type, instanceType, pool)
		}
	}
	if running == 0 {
		s.t.Error("no instance is running")
	}
}

// EC2 has no capacity of the cheapest type in any zone, which Karpenter cannot detect in advance. It launches the next type. No
// claim remains without an instance until its launch times out.
func TestNextTypeWhenCheapestIsOut(t *testing.T) {
	t.Parallel()
	s := newScene(t, "next-type")
	choices := []priced{cheapest(t, "c6a", 2, 2), cheapest(t, "c6i", 2, 2)}
	if choices[0].price >= choices[1].price {
		t.Fatalf("%v are in the wrong order", choices)
	}
	s.outOf(control.Pool{Type: choices[0].name, Capacity: "on-demand"})
	s.class()
	s.pool("next-type", needs{typesOf(choices[0].name, choices[1].name)})
	claims := s.watchClaims()
	s.deploy("web", 4, "1500m")
	s.awaitRunning("web", 4)
	s.runsOn("next-type", choices[1].name)
	now := len(s.claims())
	givenUp := s.events(about{kind: "NodeClaim", prefix: "next-type", reason: "InsufficientCapacityError"})
	if all := claims(); all-now > 1 || all-now != givenUp {
		t.Errorf("there were %d claims for %d nodes, and %d were given up for capacity; want at most one, and none else",
			all, now, givenUp)
	}
}

// EC2 has no capacity for any option of a claim: the claim is deleted with an
// event, and its pods get a node of the next pool.
func TestNextPoolWhenOfferingsAreOut(t *testing.T) {
	t.Parallel()
	s := newScene(t, "next-pool")
	s.class()
	s.outOf(control.Pool{Type: "r6i.large", Zone: "us-east-1c"})
	s.pool("next-pool-first", needs{typesOf("r6i.large"), zones("us-east-1c")}, func(p *apiv1.NodePool) {
		p.Spec.Weight = ptr.To(int32(50))
	})
	s.pool("next-pool-second", needs{typesOf("r6a.large")}, func(p *apiv1.NodePool) {
		p.Spec.Weight = ptr.To(int32(5))
	})
	s.deploy("web", 1, "1")
	s.awaitEvent(about{kind: "NodeClaim", prefix: "next-pool-first", reason: "InsufficientCapacityError"},
		"r6i.large")
	s.awaitRunning("web", 1)
	s.runsOn("next-pool-second", "r6a.large")
	s.poll(func() string {
		for _, c := range s.claims() {
			if c.Labels[apiv1.NodePoolLabelKey] == "next-pool-first" {
				return "claim " + c.Name + " is still there"
			}
		}
		return ""
	})
}

// A launch call that hangs does not delay other launches. It is completed when EC2 responds again.
func TestHangingLaunchStopsNoOther(t *testing.T) {
	t.Parallel()
	s := newScene(t, "hang")
	s.class()
	emulator := s.Steer()
	err := emulator.Hang(t.Context(), control.Hang{Op: "CreateFleet", Type: "c7a.xlarge", For: forever})
	if err != nil {
		t.Fatal(err)
	}
	release := sync.OnceValue(func() error {
		ctx, cancel := s.context()
		defer cancel()
		return emulator.ClearFaults(ctx, "CreateFleet")
	})
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	s.pool("hang-stuck", needs{typesOf("c7a.xlarge"), part("stuck")})
	s.pool("hang-free", needs{typesOf("c7a.large"), part("free")})
	s.deploy("stuck", 1, "1", toPart("stuck"))
	s.poll(func() string {
		calls, err := emulator.Calls(t.Context(), 0)
		if err != nil {
			return err.Error()
		}
		for _, c := range calls {
			if c.Action == "CreateFleet" && c.Status == 0 && names(c, "c7a.xlarge") {
				return ""
			}
		}
		return "no launch hangs"
	})
	for round := range 2 {
		name := fmt.Sprintf("free-%d", round)
		s.deploy(name, 1, "1500m", toPart("free"))
		s.awaitRunning(name, 1)
	}
	for _, c := range s.claims() {
		if c.Labels[apiv1.NodePoolLabelKey] == "hang-stuck" && c.Status.ProviderID != "" {
			t.Errorf("claim %s has an instance while its launch hangs", c.Name)
		}
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	s.awaitRunning("stuck", 1)
	stuck := 0
	for _, i := range s.instances() {
		if i.Type == "c7a.xlarge" && alive(i) {
			stuck++
		}
	}
	if stuck != 1 {
		t.Errorf("%d instances came of the launch that hung, want 1", stuck)
	}
}

// names reports whether a fleet call may launch a type.
func names(c control.Call, instanceType string) bool {
	for key, value := range c.Params {
		if strings.HasSuffix(key, ".InstanceType") && value == instanceType {
			return true
		}
	}
	return false
}
