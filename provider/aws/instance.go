package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// hydrate converts an instance to a cloud.Instance. class and types may be nil. Then the result has only the facts that
// EC2 returns for the instance itself.
func hydrate(i instances.Instance, class *awsv1.EC2NodeClass, types []*model.InstanceType) *cloud.Instance {
	out := &cloud.Instance{
		ProviderID: i.ProviderID(), NodeName: i.PrivateDNSName, ImageID: i.ImageID, Created: i.Launched, Ending: i.Ending(), Labels: map[string]string{},
	}
	at, known := slices.BinarySearchFunc(types, i.Type, func(t *model.InstanceType, name string) int {
		return strings.Compare(t.Name, name)
	})
	if known {
		t := types[at]
		maps.Copy(out.Labels, t.Requirements.Labels())
		for _, k := range []string{
			awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType,
			awsv1.LabelCapacityReservationInterruptible, awsv1.LabelTopologyZoneID,
		} {
			delete(out.Labels, k)
		}
		out.Capacity, out.Allocatable = amounts(t.Capacity, i), amounts(t.Allocatable, i)
	}
	out.Labels[corev1.LabelInstanceTypeStable] = i.Type
	out.Labels[corev1.LabelTopologyZone] = i.Zone
	out.Labels[apiv1.CapacityTypeLabelKey] = i.CapacityType
	out.Labels[awsv1.LabelInstanceTenancy] = i.Tenancy
	if r := i.Reservation; r.ID != "" {
		out.Labels[awsv1.LabelCapacityReservationID] = r.ID
		out.Labels[awsv1.LabelCapacityReservationType] = string(r.Type)
		out.Labels[awsv1.LabelCapacityReservationInterruptible] = strconv.FormatBool(r.Interruptible)
	}
	placed(out.Labels, i)
	if id := zoneID(i, class); id != "" {
		out.Labels[awsv1.LabelTopologyZoneID] = id
	}
	if pool := i.Tags[awsv1.TagNodePool]; pool != "" {
		out.Labels[apiv1.NodePoolLabelKey] = pool
	}
	return out
}

// placed sets the labels of the placement group. The label of the partition is left empty if EC2 chooses the partition.
// Then Registered returns it when the node registers.
func placed(labels map[string]string, i instances.Instance) {
	delete(labels, awsv1.LabelPlacementGroupPartition)
	if i.Group == "" {
		return
	}
	labels[awsv1.LabelPlacementGroupID] = i.Group
	switch {
	case i.Partition != 0:
		labels[awsv1.LabelPlacementGroupPartition] = strconv.Itoa(i.Partition)
	case i.Partitioned:
		labels[awsv1.LabelPlacementGroupPartition] = ""
	}
}

// zoneID returns the zone ID of the instance: that of a subnet of the class in its zone, or else the one that EC2
// returned. EC2 does not always return the zone ID of an instance.
func zoneID(i instances.Instance, class *awsv1.EC2NodeClass) string {
	if class != nil {
		for _, n := range class.Status.Subnets {
			if n.Zone == i.Zone && n.ZoneID != "" {
				return n.ZoneID
			}
		}
	}
	return i.ZoneID
}

// amounts converts r without amounts of zero, and without EFA interfaces if the instance was launched without them.
func amounts(r model.Resources, i instances.Instance) corev1.ResourceList {
	list := r.List()
	maps.DeleteFunc(list, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return r[name] == 0 || name == awsv1.ResourceEFA && i.EFAs == 0
	})
	return list
}

// Get implements cloud.Provider.
func (p *Provider) Get(ctx context.Context, providerID string) (*cloud.Instance, error) {
	zone, id, ok := instances.ParseProviderID(providerID)
	if !ok {
		return nil, fmt.Errorf("get instance: %q is no provider id of AWS", providerID)
	}
	i, err := p.instances.GetIn(ctx, zone, id)
	if err != nil {
		return nil, err
	}
	return p.describe(ctx, i, map[string]described{}), nil
}

// List implements cloud.Provider. If a node class cannot be read, its instances only lack some labels. The garbage
// collection of the whole cluster must not fail because of one class.
func (p *Provider) List(ctx context.Context) ([]*cloud.Instance, error) {
	list, err := p.instances.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*cloud.Instance, len(list))
	classes := map[string]described{}
	for n, i := range list {
		out[n] = p.describe(ctx, i, classes)
	}
	slices.SortFunc(out, func(a, b *cloud.Instance) int { return strings.Compare(a.ProviderID, b.ProviderID) })
	return out, nil
}

// described is a class with its types. Each is nil if it cannot be read.
type described struct {
	class *awsv1.EC2NodeClass
	types []*model.InstanceType
}

// describe converts i with its class and the types of that class. classes caches both by class name.
func (p *Provider) describe(ctx context.Context, i instances.Instance, classes map[string]described) *cloud.Instance {
	name := i.Tags[awsv1.TagNodeClass]
	d, read := classes[name]
	if !read && name != "" {
		var class awsv1.EC2NodeClass
		if err := p.config.Client.Get(ctx, client.ObjectKey{Name: name}, &class); err == nil {
			d.class = &class
			if types, err := p.catalog.Types(&class); err == nil {
				d.types = types
			}
		}
		classes[name] = d
	}
	return hydrate(i, d.class, d.types)
}

// visibleAfter is the time after its launch from which EC2 knows each instance. Its API is eventually consistent.
const visibleAfter = 2 * time.Minute

// Delete implements cloud.Provider.
func (p *Provider) Delete(ctx context.Context, claim *apiv1.NodeClaim) error {
	i, err := p.of(ctx, claim)
	if err == nil && !i.Ending() {
		p.reserved.Ending(i.Reservation.ID, i.ID)
		err = p.instances.Terminate(ctx, i)
	}
	switch {
	case errors.Is(err, instances.ErrUnknown) && p.justLaunched(claim, i):
		return fmt.Errorf("terminate the instance of claim %s, which was just launched: %s", claim.Name, err.Error()) // no ErrNotFound
	case errors.Is(err, cloud.ErrNotFound):
		p.launcher.Forget(claim.UID)
		if id := claim.Labels[awsv1.LabelCapacityReservationID]; id != "" {
			_, instance, _ := instances.ParseProviderID(claim.Status.ProviderID)
			p.reserved.Ended(id, instance)
		}
	}
	return err
}

// justLaunched reports whether EC2 may not know the instance of the claim yet. The status of the claim may lack the launch of i, which
// this process has made.
func (p *Provider) justLaunched(claim *apiv1.NodeClaim, i instances.Instance) bool {
	if !i.Launched.IsZero() && p.config.Clock.Since(i.Launched) < visibleAfter {
		return true
	}
	c := condition.Get(claim, apiv1.ConditionTypeLaunched)
	return c != nil && c.Status == metav1.ConditionTrue && p.config.Clock.Since(c.LastTransitionTime.Time) < visibleAfter
}

// Reboot implements cloud.Provider. The operation ID is not used, because EC2
// takes no idempotency token for a reboot.
func (p *Provider) Reboot(ctx context.Context, claim *apiv1.NodeClaim, _ string) error {
	i, err := p.of(ctx, claim)
	switch {
	case err != nil:
		return err
	case i.Ending():
		return fmt.Errorf("reboot instance %s: it is being terminated: %w", i.ID, cloud.ErrNotFound)
	}
	err = p.instances.Reboot(ctx, i.ID)
	if fault.Code(err) == fault.Unauthorized {
		return &cloud.RebootError{Err: err}
	}
	return err
}

// of returns the claim's instance as EC2 describes it now. If the status of the claim has no provider ID, the instance
// is looked up by the recorded launch. If EC2 does not describe that instance, of returns it as it was launched, and the error.
func (p *Provider) of(ctx context.Context, claim *apiv1.NodeClaim) (instances.Instance, error) {
	if claim.Status.ProviderID != "" {
		zone, id, ok := instances.ParseProviderID(claim.Status.ProviderID)
		if !ok {
			return instances.Instance{}, fmt.Errorf("find instance of claim %s: %q is no provider id of AWS",
				claim.Name, claim.Status.ProviderID)
		}
		return p.own(ctx, claim, zone, id)
	}
	i, ok, err := p.launcher.CancelAndFind(ctx, claim)
	if err != nil {
		return instances.Instance{}, err
	}
	if !ok {
		return instances.Instance{}, fmt.Errorf("find instance of claim %s: %w", claim.Name, cloud.ErrNotFound)
	}
	described, err := p.own(ctx, claim, i.Zone, i.ID)
	if errors.Is(err, instances.ErrUnknown) {
		return i, err
	}
	return described, err
}

// own returns the instance of a zone with the ID. It returns an error if the instance does not have the tags of this cluster:
// the status of the claim may have been forged, so that the controller would terminate or reboot an instance of another
// cluster.
func (p *Provider) own(ctx context.Context, claim *apiv1.NodeClaim, zone, id string) (instances.Instance, error) {
	i, err := p.instances.GetIn(ctx, zone, id)
	if err != nil {
		return i, err
	}
	if !p.instances.Owns(i) {
		if len(i.Tags) == 0 && p.justLaunched(claim, i) {
			return instances.Instance{}, fmt.Errorf("find instance of claim %s: EC2 has not returned the tags of instance %s yet, which was just launched",
				claim.Name, id)
		}
		return instances.Instance{}, fmt.Errorf("find instance of claim %s: instance %s lacks tag %s or that of cluster %s, so it is left alone: "+
			"restore the tags, or remove the claim's finalizer", claim.Name, id, awsv1.TagNodePool, p.config.Settings.ClusterName)
	}
	return i, nil
}
