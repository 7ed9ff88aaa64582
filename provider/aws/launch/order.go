package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/network"
)

// An order is the launch of one claim with the parameters of its fleet call. Orders with equal parameters share one call.
type order struct {
	Request
	choice Choice
	// prioritized is true if EC2 chooses by the order of the offerings and not by its own prices.
	prioritized bool
	subnets     *network.Pick // one per zone, with reserved addresses
	// input is the input of the fleet call, without the fields that inputFor sets: the number of instances, the token and the tags.
	input *ec2.CreateFleetInput
	// params is a hash of input and Tags.
	params string
	// repeat is the record of a call that is repeated, or nil.
	repeat *Record
}

// A templatesGoneError means that EC2 does not find launch templates that exist according to the TemplateStore.
type templatesGoneError struct {
	names []string
	err   error
}

func (e *templatesGoneError) Error() string {
	return fmt.Sprintf("launch templates are gone: %v", e.err)
}

func (e *templatesGoneError) Unwrap() error { return e.err }

// prepare chooses types and offerings, creates missing launch templates, reserves IP addresses in one subnet per zone, and
// returns the order with the input of the fleet call. The caller must call subnets.Settle once the outcome of the launch is
// known.
func (l *Launcher) prepare(ctx context.Context, r Request) (*order, error) {
	choice, err := Choose(r.Claim, r.Types, ChooseOptions{Aliases: l.Aliases, RelaxMinValues: l.RelaxMinValues})
	if err != nil {
		return nil, err
	}
	if len(r.Class.Status.SecurityGroups) == 0 {
		return nil, &cloud.NodeClassNotReadyError{Err: errors.New("no security groups")}
	}
	cluster, err := l.Clusters.Cluster(ctx)
	if err != nil {
		return nil, fmt.Errorf("describe cluster: %w", err)
	}
	groups, err := l.templateGroups(ctx, r, choice, cluster)
	if err != nil {
		return nil, err
	}
	if err := l.Templates.Ensure(ctx, templatesOf(groups)); err != nil {
		return nil, launchError(err)
	}
	_, overlaid := r.Claim.Annotations[apiv1.PriceOverlayAppliedAnnotationKey]
	o := &order{Request: r, choice: choice, prioritized: overlaid || choice.reordered(l.Paid, l.Listed)}
	o.Claim = r.Claim.DeepCopy() // the order may be used after the caller has returned, and the ledger changes the claim
	o.subnets = l.Subnets.Pick(r.Class, addresses(choice), l.Shortages.SubnetFull)
	if err := o.setInput(groups); err != nil {
		o.subnets.Settle()
		return nil, err
	}
	return o, nil
}

// addresses returns, by zone, the lowest number of IP addresses that an instance of the choice may use: one for each
// pod that the type can run.
func addresses(c Choice) map[string]int64 {
	need := map[string]int64{}
	for n, t := range c.Types {
		for _, o := range c.Offers[n] {
			pods := t.Capacity[corev1.ResourcePods]
			if old, ok := need[o.Zone]; !ok || pods < old {
				need[o.Zone] = pods
			}
		}
	}
	return need
}

// setInput sets the input of the fleet call and its hash.
func (o *order) setInput(groups []templateGroup) error {
	input := o.fleetInput(groups[0].reservation)
	if !minValuesRelaxed(o.Claim) {
		input.Context = o.Class.Spec.Context
	}
	for _, g := range groups {
		if overrides := o.overrides(g); len(overrides) > 0 {
			input.LaunchTemplateConfigs = append(input.LaunchTemplateConfigs, g.config(overrides))
		}
	}
	if len(input.LaunchTemplateConfigs) == 0 {
		return shortage("no subnet in a zone with available offerings")
	}
	raw, err := json.Marshal([]any{input, o.Tags})
	if err != nil {
		return fmt.Errorf("identify fleet parameters: %w", err)
	}
	sum := sha256.Sum256(raw)
	o.input, o.params = input, hex.EncodeToString(sum[:8])
	return nil
}

// fleetInput returns the input of the fleet call without overrides: the capacity type, and the allocation strategy by which
// EC2 chooses.
func (o *order) fleetInput(r instances.Reservation) *ec2.CreateFleetInput {
	target := &ec2types.TargetCapacitySpecificationRequest{DefaultTargetCapacityType: ec2types.DefaultTargetCapacityTypeOnDemand}
	input := &ec2.CreateFleetInput{Type: ec2types.FleetTypeInstant, TargetCapacitySpecification: target}
	switch {
	case o.choice.CapacityType == apiv1.CapacityTypeSpot:
		target.DefaultTargetCapacityType = ec2types.DefaultTargetCapacityTypeSpot
		input.SpotOptions = &ec2types.SpotOptionsRequest{
			AllocationStrategy: ec2types.SpotAllocationStrategyPriceCapacityOptimized,
		}
		if o.prioritized {
			input.SpotOptions.AllocationStrategy = ec2types.SpotAllocationStrategyCapacityOptimizedPrioritized
		}
	case r.Type == awsv1.CapacityReservationTypeCapacityBlock:
		target.DefaultTargetCapacityType = ec2types.DefaultTargetCapacityTypeCapacityBlock
	case r.Interruptible:
		target.DefaultTargetCapacityType = ec2types.DefaultTargetCapacityTypeReservedCapacity
		input.ReservedCapacityOptions = &ec2types.ReservedCapacityOptionsRequest{
			ReservationTypes: []ec2types.FleetReservationType{ec2types.FleetReservationTypeInterruptibleCapacityReservation},
		}
	default:
		input.OnDemandOptions = &ec2types.OnDemandOptionsRequest{
			AllocationStrategy: ec2types.FleetOnDemandAllocationStrategyLowestPrice,
		}
		if o.prioritized {
			input.OnDemandOptions.AllocationStrategy = ec2types.FleetOnDemandAllocationStrategyPrioritized
		}
	}
	return input
}

// overrides returns the types of the group in the subnets of the order, with the priority by which EC2 chooses if o.prioritized.
func (o *order) overrides(g templateGroup) []ec2types.FleetLaunchTemplateOverridesRequest {
	var out []ec2types.FleetLaunchTemplateOverridesRequest
	for _, n := range g.members {
		for _, offer := range o.choice.Offers[n] {
			subnet := o.subnets.In(offer.Zone)
			if subnet == "" || offer.ReservationID != g.reservation.ID {
				continue
			}
			out = append(out, ec2types.FleetLaunchTemplateOverridesRequest{
				InstanceType: ec2types.InstanceType(o.choice.Types[n].Name), SubnetId: aws.String(subnet),
				ImageId: aws.String(g.image.ID), AvailabilityZone: aws.String(offer.Zone),
				Priority: aws.Float64(offer.Price),
			})
		}
	}
	return out
}

// inputFor returns the input of the recorded fleet call.
func (o *order) inputFor(r Record) *ec2.CreateFleetInput {
	in := *o.input
	target := *o.input.TargetCapacitySpecification
	target.TotalTargetCapacity = aws.Int32(int32(r.Count))
	in.TargetCapacitySpecification = &target
	in.ClientToken = aws.String(r.Token)
	tags := instances.Tags(o.Tags)
	marked := append(slices.Clone(tags), ec2types.Tag{Key: aws.String(instances.TagLaunch), Value: aws.String(r.Token)})
	in.TagSpecifications = []ec2types.TagSpecification{
		{ResourceType: ec2types.ResourceTypeInstance, Tags: marked},
		{ResourceType: ec2types.ResourceTypeVolume, Tags: tags},
		{ResourceType: ec2types.ResourceTypeFleet, Tags: tags},
	}
	return &in
}

// templateNames returns the names of the launch templates of the order.
func (o *order) templateNames() []string {
	var out []string
	for _, c := range o.input.LaunchTemplateConfigs {
		out = append(out, aws.ToString(c.LaunchTemplateSpecification.LaunchTemplateName))
	}
	return out
}

// launchError returns a LaunchError with the Explanation of a failed call, for the claim's condition.
func launchError(err error) error {
	why := fault.Explain(err)
	return &cloud.LaunchError{Reason: why.Reason, Message: why.Message, Err: err}
}

// place returns the placement group of the launch and the partition that it requires. Both are empty without a group.
func (o *order) place() catalog.Place {
	if o.PlacementGroup == nil {
		return catalog.Place{}
	}
	return catalog.Place{Group: o.PlacementGroup.ID, Partition: o.choice.Partition}
}

// typeIndex returns the index of a type in the choice, -1 if it is not part of it.
func (o *order) typeIndex(name string) int {
	return slices.IndexFunc(o.choice.Types, func(t *model.InstanceType) bool { return t.Name == name })
}

// reservationFor returns the reservation in which an instance of the type in the zone is launched, zero if there is none.
func (o *order) reservationFor(instanceType, zone string) instances.Reservation {
	if n := o.typeIndex(instanceType); n >= 0 {
		for _, offer := range o.choice.Offers[n] {
			if offer.Zone == zone {
				return reservationOf(offer)
			}
		}
	}
	return instances.Reservation{}
}

// efasOf returns how many EFA interfaces an instance of the type has, 0 if the type is not part of the choice.
func (o *order) efasOf(instanceType string) int64 {
	if n := o.typeIndex(instanceType); n >= 0 {
		return o.efas(o.choice.Types[n])
	}
	return 0
}

// vcpusOf returns the number of vCPUs of the type, 0 if the type is not part of the choice.
func (o *order) vcpusOf(instanceType string) int64 {
	if n := o.typeIndex(instanceType); n >= 0 {
		return o.choice.Types[n].Capacity[corev1.ResourceCPU] / 1000
	}
	return 0
}
