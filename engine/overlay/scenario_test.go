package overlay_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/overlay"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/units"
)

// TestScenarios applies the overlays of a section overlays.yaml to the types of the cluster, and prints what has changed.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, ar *txtar.Archive) string {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		var overlays []*overlayv1alpha1.NodeOverlay
		if err := yaml.UnmarshalStrict(scenario.Section(t, ar, "overlays.yaml").Data, &overlays); err != nil {
			t.Fatal(err)
		}
		var supplies []overlay.Supply
		for _, p := range s.Pools() {
			supplies = append(supplies, overlay.Supply{Pool: p, Types: s.Types(p.Name)})
		}
		r := overlay.Apply(overlays, supplies, apiv1.CoreLabels())
		var b strings.Builder
		for _, sup := range supplies {
			for i, after := range r.Types[sup.Pool.Name] {
				describe(&b, sup.Pool.Name, sup.Types[i], after)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(r.Findings)) {
			if f := r.Findings[name]; f != nil {
				fmt.Fprintf(&b, "%s: %s: %s\n", name, f.Reason, f.Message)
			} else {
				fmt.Fprintf(&b, "%s: in force\n", name)
			}
		}
		return b.String()
	})
}

// describe returns the differences between a type and the same type with overlays.
func describe(b *strings.Builder, pool string, before, after *model.InstanceType) {
	if before == after {
		return
	}
	for i, o := range after.Offerings {
		if was := before.Offerings[i].Price; was != o.Price {
			fmt.Fprintf(b, "%s %s %s %s: $%.4f -> $%.4f\n", pool, after.Name, o.Zone, o.CapacityType, was, o.Price)
		}
	}
	for _, name := range after.Capacity.Names() {
		if before.Capacity[name] != after.Capacity[name] || before.Allocatable[name] != after.Allocatable[name] {
			fmt.Fprintf(b, "%s %s %s: %s -> %s, allocatable %s -> %s\n", pool, after.Name, name,
				units.Amount(name, before.Capacity[name], units.Nearest), units.Amount(name, after.Capacity[name], units.Nearest),
				units.Amount(name, before.Allocatable[name], units.Nearest), units.Amount(name, after.Allocatable[name], units.Nearest))
		}
	}
}
