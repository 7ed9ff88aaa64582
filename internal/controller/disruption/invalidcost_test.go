package disruption

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// An invalid disruption cost is logged once for each value of a pod.
func TestInvalidDisruptionCost(t *testing.T) {
	w := newWorld(t, "0", 1)
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	set := func(cost string) {
		pod := podOf("web", "node-0")
		pod.Annotations = map[string]string{apiv1.DisruptionCostAnnotationKey: cost}
		w.Cluster.Set(pod)
	}
	for _, tt := range []struct {
		cost string
		want int // lines so far
	}{
		{"7", 0}, {"high", 1}, {"high", 1}, {"", 2}, {"high", 3}, {strings.Repeat("9", 1000), 4}, {"-7", 4}, {"high", 5},
	} {
		set(tt.cost)
		w.tellInvalidCosts(ctx, w.Cluster.Snapshot())
		if len(lines) != tt.want {
			t.Fatalf("after %q: %d lines, want %d: %q", tt.cost, len(lines), tt.want, lines)
		}
	}
	if len(lines[3]) > 300 || !strings.Contains(lines[0], `"web"`) {
		t.Errorf("lines are %q", lines)
	}
	w.Cluster.Remove(podOf("web", "node-0"))
	w.tellInvalidCosts(ctx, w.Cluster.Snapshot())
	if len(w.invalidCosts) != 0 {
		t.Errorf("values of deleted pods are kept: %v", w.invalidCosts)
	}
}
