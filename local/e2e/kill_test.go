package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// forever is longer than any test.
const forever = control.Duration(time.Hour)

// A moment is when the controller is killed: the count that of returns has reached from. The current controller must have
// increased it.
type moment struct {
	name string
	of   func(progress) int
	from int
	// then, if not nil, changes the behaviour of AWS before the controller is restarted.
	then func(*testing.T, control.Client)
}

// reached reports whether the moment has come. The current controller must have increased the count by at least one since it
// started, unless the count was already at its maximum, all. On a busy machine, the previous controller may have reached the
// maximum before it was killed.
func (m moment) reached(base, now progress, all int) bool {
	return m.of(now) >= max(m.from, min(m.of(base)+1, all))
}

// killAt kills the controller at each moment and starts it again.
func (v *victim) killAt(t *testing.T, moments []moment) {
	t.Helper()
	for n, m := range moments {
		v.poll(t, m.name, func() bool { return m.reached(v.base, v.look(t), v.pods) })
		v.kill(t)
		t.Logf("kill %d: %s: %+v", n+1, m.name, v.look(t))
		if m.then != nil {
			m.then(t, v.Steer())
		}
		v.restart(t)
	}
}

// The controller is killed repeatedly while it launches 50 nodes. In the end there are 50 nodes, one for each claim, and no
// other instance.
//
// The emulated AWS separates the moments. At first, fleet calls hang before they launch. Then they hang after they have
// launched, without a response. Instances do not boot until all are launched.
func TestKillNineDuringScaleUp(t *testing.T) {
	const pods = 50
	v := newVictim(t)
	try(t, v.Steer().SetBoot(t.Context(), control.Boot{Delay: forever}))
	try(t, v.Steer().Hang(t.Context(), control.Hang{Op: "CreateFleet", For: forever}))
	v.load(t, pods)
	v.base = v.look(t)
	v.killAt(t, []moment{
		{"the first claim is there", func(p progress) int { return p.claims }, 1, nil},
		{"half of the claims are there", func(p progress) int { return p.claims }, pods / 2, nil},
		{"a call is recorded on some of its claims", func(p progress) int { return p.recorded }, pods / 5, nil},
		{"calls for all claims have reached EC2", func(p progress) int { return p.asked }, pods, func(t *testing.T, c control.Client) {
			try(t, c.ClearFaults(t.Context(), "CreateFleet"))
			try(t, c.Hang(t.Context(), control.Hang{Op: "CreateFleet", For: forever, After: true}))
		}},
		{"EC2 has launched all and not said so", func(p progress) int { return p.alive }, pods,
			func(t *testing.T, c control.Client) { try(t, c.ClearFaults(t.Context(), "CreateFleet")) }},
		{"the first claim knows its instance", func(p progress) int { return p.launched }, 1, nil},
		{"half of the claims do", func(p progress) int { return p.launched }, pods / 2,
			func(t *testing.T, c control.Client) { try(t, c.ClearBoot(t.Context())) }},
		{"the first node is registered", func(p progress) int { return p.registered }, 1, nil},
		{"half of the nodes are registered", func(p progress) int { return p.registered }, pods / 2, nil},
		{"most of the nodes are initialized", func(p progress) int { return p.initialized }, pods * 4 / 5, nil},
	})
	v.settles(t, pods)
	v.launchedOnce(t, pods)
}

// EC2 may not list new instances for a while. A controller that cannot see the instances of the previous controller must not
// launch others in their place.
func TestKillNineWhileEC2Lags(t *testing.T) {
	const pods = 20
	v := newVictim(t)
	try(t, v.Steer().SetBoot(t.Context(), control.Boot{Delay: forever}))
	try(t, v.Steer().SetLag(t.Context(), control.Lag{For: control.Duration(8 * time.Second)}))
	try(t, v.Steer().Hang(t.Context(), control.Hang{Op: "CreateFleet", For: forever, After: true}))
	v.load(t, pods)
	v.base = v.look(t)
	v.killAt(t, []moment{
		{"EC2 has launched all and not said so", func(p progress) int { return p.alive }, pods,
			func(t *testing.T, c control.Client) { try(t, c.ClearFaults(t.Context(), "CreateFleet")) }},
		{"some of the claims know their instance", func(p progress) int { return p.launched }, pods / 4,
			func(t *testing.T, c control.Client) { try(t, c.ClearBoot(t.Context())) }},
	})
	v.settles(t, pods)
	v.launchedOnce(t, pods)
}

// A controller that is killed while it removes nodes leaves no objects or instances behind.
func TestKillNineDuringScaleDown(t *testing.T) {
	const pods = 20
	v := newVictim(t)
	v.load(t, pods)
	v.arrives(t, pods)
	v.base = v.look(t)
	v.changePool(t, func(pool *apiv1.NodePool) {
		pool.Spec.Disruption.ConsolidateAfter.Duration = new(time.Duration)
	})
	v.scale(t, 0)
	v.killAt(t, []moment{
		{"the first claim is to go", func(p progress) int { return p.ending }, 1, nil},
		{"the first instance is ended", func(p progress) int { return p.made - p.alive }, 1, nil},
		{"half of the instances are ended", func(p progress) int { return p.made - p.alive }, pods / 2, nil},
		{"half of the claims are gone", func(p progress) int { return pods - p.claims }, pods / 2, nil},
	})
	v.settles(t, 0)
}

// arrives waits until there are exactly as many nodes as pods, each with its claim, instance and pod, and nothing else.
func (v *victim) arrives(t *testing.T, pods int) {
	t.Helper()
	v.poll(t, fmt.Sprintf("%d of all are there", pods), func() bool { return v.world(t).lacks(pods) == "" })
}

// settles is like arrives, and checks that nothing has changed after the next garbage collection of the controller.
func (v *victim) settles(t *testing.T, pods int) {
	t.Helper()
	v.arrives(t, pods)
	seen := v.garbageCollections(t)
	v.poll(t, "garbage is collected twice more", func() bool { return v.garbageCollections(t) >= seen+2 })
	if lacks := v.world(t).lacks(pods); lacks != "" {
		t.Errorf("all was well, then %s", lacks)
	}
	t.Logf("settled: %+v", v.look(t))
}

// launchedOnce checks that exactly one instance was launched for each node, including terminated instances.
func (v *victim) launchedOnce(t *testing.T, pods int) {
	t.Helper()
	if made := v.look(t).made; made != pods {
		t.Errorf("%d instances were launched for %d nodes", made, pods)
	}
}

// garbageCollections returns how often the controller has listed all instances of its cluster, not only those of one launch.
func (v *victim) garbageCollections(t *testing.T) (n int) {
	t.Helper()
	for _, c := range v.calls(t) {
		if c.Action != "DescribeInstances" || c.Status != 200 {
			continue
		}
		filters := strings.Join(slices.Collect(maps.Values(c.Params)), " ")
		if strings.Contains(filters, apiv1.NodePoolLabelKey) && !strings.Contains(filters, launchRecord) {
			n++
		}
	}
	return n
}

// lacks returns what is wrong with a world in which each of the pods should have a node, "" if nothing is.
func (w world) lacks(pods int) string {
	claims, nodes, instances := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range w.claims {
		claims[w.claims[i].Status.ProviderID] = true
	}
	for i := range w.nodes {
		if node := &w.nodes[i]; ready(node) && node.Labels[apiv1.NodeInitializedLabelKey] == "true" {
			nodes[node.Spec.ProviderID] = true
		}
	}
	for _, i := range w.instances {
		if alive(i) {
			instances["aws:///"+i.Zone+"/"+i.ID] = true
		}
	}
	busy := map[string]bool{}
	for i := range w.pods {
		if w.pods[i].Status.Phase == corev1.PodRunning {
			busy[w.pods[i].Spec.NodeName] = true
		}
	}
	switch {
	case len(w.claims) != pods || len(w.nodes) != pods || len(w.pods) != pods:
		return fmt.Sprintf("there are %d claims, %d nodes and %d pods, want %d of each",
			len(w.claims), len(w.nodes), len(w.pods), pods)
	case len(instances) != pods:
		return fmt.Sprintf("there are %d instances, want %d", len(instances), pods)
	case !maps.Equal(claims, instances):
		return "an instance has no claim, or a claim no instance"
	case !maps.Equal(nodes, instances):
		return "an instance has no ready node, or a node no instance"
	case len(busy) != pods:
		return fmt.Sprintf("pods run on %d nodes, want %d", len(busy), pods)
	}
	return ""
}

// try ends the test on an error.
func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
