package aws

import (
	"context"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// shifted returns the source of zonal shifts for the catalogue, nil unless --enable-zonal-shift is set.
func (p *Provider) shifted() catalog.Shifts {
	if p.shifts == nil {
		return nil // a nil of the interface's type, not of ours
	}
	return p.shifts
}

// ShiftedZones implements cloud.Shifter. ARC has the ids of zones; the subnets of node classes have their names.
func (p *Provider) ShiftedZones(ctx context.Context) []string {
	if p.shifts == nil || !p.shifts.Any() {
		return nil
	}
	var classes awsv1.EC2NodeClassList
	if err := p.config.Client.List(ctx, &classes); err != nil {
		log.FromContext(ctx).Error(err, "failed to list EC2NodeClasses, names of shifted zones are not known")
		return nil
	}
	zones := map[string]bool{}
	for _, class := range classes.Items {
		for _, n := range class.Status.Subnets {
			if p.shifts.Away(n.ZoneID) {
				zones[n.Zone] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(zones))
}

// away returns the check whether an instance is in a zone that is shifted away from, nil unless --enable-zonal-shift is set.
// EC2 may leave out the id of the zone; then its name counts.
func (p *Provider) away() func(context.Context, instances.Instance) bool {
	if p.shifts == nil {
		return nil
	}
	return func(ctx context.Context, i instances.Instance) bool {
		return p.shifts.Away(i.ZoneID) || i.ZoneID == "" && slices.Contains(p.ShiftedZones(ctx), i.Zone)
	}
}
