package clusterapi

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/machines"
)

// many is the number of machines in a run with KARPENTER_LONG=1.
const many = 500

// nearFloor is the maximum ratio of price and lower bound at the end.
const nearFloor = 1.05

// Many machines are launched for pods of which two fill a machine. After a scale-in to a quarter, consolidation lowers the
// price to near its lower bound. Times are logged. Only prices and counts are checked.
func TestScale(t *testing.T) {
	if *count == 0 && os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: set KARPENTER_LONG=1, or -machines")
	}
	if *count == 0 {
		*count = many
	}
	s := newScene(t, "scale", func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, apiv1.NodeSelectorRequirementWithMinValues{
			Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"scale-small"},
		})
		p.Spec.Disruption.ConsolidateAfter.Duration = new(5 * time.Second)
	})
	n := *count
	begun := time.Now()
	s.Deploy(int32(2*n), "2")
	s.AwaitRunning(2 * n)
	allRun := time.Since(begun)
	s.AwaitSettled(n)
	t.Logf("%d machines: all %d pods run after %.1fs, price %.3f of the floor, controller %s", n, 2*n, allRun.Seconds(), overFloor(n, 2*n), memory(t))
	left := n / 2
	begun = time.Now()
	s.Scale(int32(left))
	s.AwaitRunning(left)
	var over float64
	nodes := 0
	s.Poll(func(ctx context.Context) string {
		nodes = len(s.Claims(ctx, s.Name))
		over = overFloor(nodes, left)
		return machines.Missing(over <= nearFloor, "%d claims for %d pods: %.3f of the floor", nodes, left, over)
	})
	t.Logf("scale-in to %d pods: %d machines, %.3f of the floor after %.1fs, controller %s", left, nodes, over, time.Since(begun).Seconds(), memory(t))
	s.AwaitRunning(left)
	s.Scale(0)
	begun = time.Now()
	s.AwaitGone()
	t.Logf("no machines after %.1fs", time.Since(begun).Seconds())
}

// overFloor returns the ratio of the price of small nodes and a lower bound: the price of the CPUs that the pods request. All
// templates have the same price per CPU, so no nodes are cheaper than that.
func overFloor(nodes, pods int) float64 {
	return float64(nodes) * float64(sizes["small"]) / (2 * float64(pods))
}

// memory returns the current and the peak resident memory of the controller.
func memory(t *testing.T) string {
	t.Helper()
	status, err := place.Cluster.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(status.Parts, func(p cluster.PartStatus) bool { return p.Name == cluster.ControllerName })
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", status.Parts[at].PID))
	if err != nil {
		return "memory not known"
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			out[key] = strings.TrimSpace(value)
		}
	}
	return fmt.Sprintf("RSS %s, peak %s", out["VmRSS"], out["VmHWM"])
}
