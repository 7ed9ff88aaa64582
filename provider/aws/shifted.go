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
		return nil // a nil interface: a nil *shift.Shifts in it would not equal nil
	}
	return p.shifts
}

// ShiftedZones implements cloud.Shifter. Zonal shifts contain the IDs of zones. The names of these zones are read from
// the subnets of node classes.
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

// away returns the check whether traffic is shifted away from the zone of an instance. It is nil unless
// --enable-zonal-shift is set. If EC2 did not return the zone ID of the instance, the zone name is compared.
func (p *Provider) away() func(context.Context, instances.Instance) bool {
	if p.shifts == nil {
		return nil
	}
	return func(ctx context.Context, i instances.Instance) bool {
		return p.shifts.Away(i.ZoneID) || i.ZoneID == "" && slices.Contains(p.ShiftedZones(ctx), i.Zone)
	}
}
