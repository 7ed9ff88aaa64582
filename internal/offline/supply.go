package offline

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/overlay"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
)

// A Supply has the instance types of pools, by pool name, and warnings for users.
type Supply struct {
	Types    map[string][]*model.InstanceType
	Warnings []string
}

// Supply returns the instance types of each pool, for its node class and with overlays applied.
func (c *Catalogue) Supply(
	pools []*apiv1.NodePool, classes []*awsv1.EC2NodeClass, overlays []*overlayv1alpha1.NodeOverlay,
) (Supply, error) {
	out := Supply{Types: map[string][]*model.InstanceType{}}
	var supplies []overlay.Supply
	for _, p := range pools {
		if c.lacks(p) {
			out.Warnings = append(out.Warnings, "NodePool "+p.Name+" gets no nodes here: the types of a ClusterAPINodeClass are in "+
				"its cluster, not in this program; give them with --catalog")
		}
		types, err := c.Types(p, classOf(p, classes))
		if err != nil {
			return out, fmt.Errorf("NodePool %s: %w", p.Name, err)
		}
		out.Types[p.Name] = types
		supplies = append(supplies, overlay.Supply{Pool: model.NewPool(p, c.Labels().Aliases), Types: types})
	}
	if len(overlays) == 0 {
		return out, nil
	}
	r := overlay.Apply(overlays, supplies, c.rules())
	out.Types = r.Types
	for _, name := range slices.Sorted(maps.Keys(r.Findings)) {
		if f := r.Findings[name]; f != nil {
			out.Warnings = append(out.Warnings, fmt.Sprintf("NodeOverlay %s is not in force: %s", name, f.Message))
		}
	}
	return out, nil
}

// classOf returns the pool's EC2NodeClass, nil if it is not among classes.
func classOf(p *apiv1.NodePool, classes []*awsv1.EC2NodeClass) *awsv1.EC2NodeClass {
	ref := p.Spec.Template.Spec.NodeClassRef
	if ref == nil || ref.Group != awsv1.Group {
		return nil
	}
	i := slices.IndexFunc(classes, func(c *awsv1.EC2NodeClass) bool { return c.Name == ref.Name })
	if i < 0 {
		return nil
	}
	return classes[i]
}

// RegionOf returns the first region of the catalogue in the binary that it finds. It looks at the labels of nodes, then at
// the zones of the subnets of classes. It returns "" if there is none.
func RegionOf(nodes []*corev1.Node, classes []*awsv1.EC2NodeClass) string {
	known := catalog.Regions()
	var names []string
	for _, n := range nodes {
		names = append(names, n.Labels[corev1.LabelTopologyRegion], regionOfZone(n.Labels[corev1.LabelTopologyZone]))
	}
	for _, c := range classes {
		for _, s := range c.Status.Subnets {
			names = append(names, regionOfZone(s.Zone))
		}
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

// regionOfZone returns the name of an availability zone without its last letter, "" for "".
func regionOfZone(zone string) string { return zone[:max(len(zone)-1, 0)] }
