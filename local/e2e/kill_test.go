package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// forever is longer than any test.
const forever = control.Duration(time.Hour)

// The controller is killed with signal 9 while it launches nodes: when its calls have reached EC2, when EC2 has launched the
// instances and not said so, and while they boot. In the end each pod has one node, and no other instance was launched. Stories
// of internal/sim have kills at other moments.
func TestKillNineDuringScaleUp(t *testing.T) {
	const pods = 10
	// The controllers that this test starts do not wait for the lease of a killed one.
	t.Setenv("DISABLE_LEADER_ELECTION", "true")
	s := newScene(t, "kill")
	s.class()
	s.pool("kill", needs{typesOf("m7i.large")})
	var pools apiv1.NodePoolList
	s.await(&pools, func() string { // the node class is checked by calls that would hang
		if len(pools.Items) == 1 && condition.Ready(&pools.Items[0]) {
			return ""
		}
		return "the NodePool is not ready"
	}, client.MatchingFields{"metadata.name": "kill"})
	ctx, emulator := context.WithoutCancel(t.Context()), s.Steer()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // before the scene is removed, which needs the controller and EC2
		must(emulator.ClearFaults(ctx, "CreateFleet"))
		must(emulator.ClearBoot(ctx))
		must(s.Cluster.Up(ctx))
	})
	must(emulator.SetBoot(ctx, control.Boot{Delay: forever}))
	must(emulator.Hang(ctx, control.Hang{Op: "CreateFleet", For: forever}))
	s.deploy("web", pods, "1500m")
	for _, moment := range []struct {
		name string
		of   func() int
		then func()
	}{
		{"calls for all claims have reached EC2", s.asked, func() {
			must(emulator.ClearFaults(ctx, "CreateFleet"))
			must(emulator.Hang(ctx, control.Hang{Op: "CreateFleet", For: forever, After: true}))
		}},
		{"EC2 has launched all and not said so", s.alive, func() { must(emulator.ClearFaults(ctx, "CreateFleet")) }},
		{"all claims know their instances", s.launched, func() { must(emulator.ClearBoot(ctx)) }},
	} {
		s.poll(func() string {
			if n := moment.of(); n < pods {
				return fmt.Sprintf("wait until %s: %d of %d", moment.name, n, pods)
			}
			return ""
		})
		must(s.Cluster.Kill(ctx, cluster.ControllerName))
		s.poll(func() string { // EC2 has completed the calls of the killed process
			if n := s.asked(); n > 0 {
				return fmt.Sprintf("calls for %d instances are not completed", n)
			}
			return ""
		})
		moment.then()
		must(s.Cluster.Up(ctx))
	}
	s.awaitRunning("web", pods)
	s.settled(pods)
	if made := len(s.instances()); made != pods || s.alive() != pods {
		t.Errorf("%d instances were launched for %d pods, and %d run", made, pods, s.alive())
	}
}

// asked returns the number of instances in CreateFleet calls that EC2 has not answered yet. Repetitions of a call are not counted.
func (s *scene) asked() (asked int) {
	s.t.Helper()
	calls, err := s.Steer().Calls(s.t.Context(), 0)
	if err != nil {
		s.t.Fatal(err)
	}
	tokens := map[string]bool{}
	for _, c := range calls {
		token := c.Params["ClientToken"]
		if c.Action != "CreateFleet" || c.Status != 0 || c.Params["DryRun"] == "true" || tokens[token] {
			continue
		}
		tokens[token] = true
		n, err := strconv.Atoi(c.Params["TargetCapacitySpecification.TotalTargetCapacity"])
		if err != nil {
			s.t.Fatalf("read CreateFleet of %v: %v", c.Params, err)
		}
		asked += n
	}
	return asked
}

// alive returns the number of instances of the scene that are not being terminated.
func (s *scene) alive() (n int) {
	s.t.Helper()
	for _, i := range s.instances() {
		if alive(i) {
			n++
		}
	}
	return n
}

// launched returns the number of claims of the scene that know their instance.
func (s *scene) launched() (n int) {
	s.t.Helper()
	for _, c := range s.claims() {
		if c.Status.ProviderID != "" {
			n++
		}
	}
	return n
}

func alive(i control.Instance) bool { return i.State == "pending" || i.State == "running" }
