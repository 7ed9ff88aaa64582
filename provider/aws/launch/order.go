package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/amis"
	"github.com/karpenter-go/karpenter/provider/aws/bootstrap"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
	"github.com/karpenter-go/karpenter/provider/aws/network"
)

// An order is the launch of one claim with the parameters of its fleet call.
type order struct {
	Request
	choice Choice
	// prioritized is true if EC2 chooses by the order of the offerings and not by its own prices.
	prioritized bool
	pick        *network.Pick
	// input is the input of the fleet call, without the fields that the method call sets: the number of instances, the token
	// and the tags.
	input *ec2.CreateFleetInput
	// params is a hash of input and Tags.
	params string
	// repeat is the record of a call that is repeated, or nil.
	repeat *Record
}

// templatesGoneError means that EC2 does not find launch templates that exist according to the Shelf.
type templatesGoneError struct {
	names []string
	err   error
}

func (e *templatesGoneError) Error() string {
	return fmt.Sprintf("launch templates are gone: %v", e.err)
}

func (e *templatesGoneError) Unwrap() error { return e.err }

// A group has the types of an order that share a launch template.
type group struct {
	template Template
	imageID  string
	members  []int // indexes into the choice's types
	userData int   // bytes before encoding
	// reservation is the capacity reservation in which the types are launched, zero for none.
	reservation instances.Reservation
}

// prepare chooses types and offerings, ensures that the launch templates exist, and creates the input of the fleet
// call.
func (l *Launcher) prepare(ctx context.Context, r Request) (*order, error) {
	choice, err := Choose(r.Claim, r.Types, l.Aliases, l.RelaxMinValues)
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
	groups, err := l.group(ctx, r, choice, cluster)
	if err != nil {
		return nil, err
	}
	templates := make([]Template, len(groups))
	for n, g := range groups {
		templates[n] = g.template
	}
	if err := l.Shelf.Ensure(ctx, templates); err != nil {
		return nil, launchError(err)
	}
	_, overlaid := r.Claim.Annotations[apiv1.PriceOverlayAppliedAnnotationKey]
	o := &order{Request: r, choice: choice, prioritized: overlaid || choice.reordered(l.Paid, l.Listed)}
	o.Claim = r.Claim.DeepCopy() // the order may be used after the caller has returned, and the ledger changes the claim
	o.pick = l.Subnets.Pick(r.Class, addresses(choice), l.Shortages.SubnetFull)
	if err := o.write(groups); err != nil {
		o.pick.Settle()
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

// group divides the types of the choice by the values in their launch templates: image, maxPods, kubeReserved and
// systemReserved, EFA interfaces, reservation. Types without an image are omitted. There are at most maxConfigs
// groups.
func (l *Launcher) group(ctx context.Context, r Request, c Choice, cluster bootstrap.Cluster) ([]group, error) {
	shape := catalog.ShapeOf(r.Class, l.Region, catalog.Options{})
	byKey := map[string]*group{}
	var order []string
	for n, t := range c.Types {
		image, ok := amis.For(r.Class, amis.Labels{Set: t.Requirements})
		if !ok {
			continue
		}
		efas := r.efas(t)
		settings := shape.Kubelet
		if len(settings.Expressions) > 0 {
			var err error
			if settings, err = l.Kubelets.Kubelet(r.Class, t.Name); err != nil {
				log.FromContext(ctx).V(1).Info("keeping default kubelet settings", "type", t.Name, "error", err.Error())
			}
		}
		for _, reservation := range reservationsOf(c.Offers[n]) {
			key := fmt.Sprint(image.ID, " ", t.Capacity[corev1.ResourcePods], " ", efas, " ", reservation.ID, " ",
				settings.KubeReserved, settings.SystemReserved)
			if g := byKey[key]; g != nil {
				g.members = append(g.members, n)
				continue
			}
			g, err := l.newGroup(r, c, part{
				cluster: cluster, shape: shape, kubelet: settings, image: image, t: t, efas: int(efas), reservation: reservation,
			})
			if err != nil {
				return nil, err
			}
			l.reportUserData(ctx, r.Class.Name, g.userData)
			g.members = []int{n}
			byKey[key] = g
			order = append(order, key)
		}
	}
	if len(order) == 0 {
		return nil, shortage("no AMI is compatible with any of %d instance types", len(c.Types))
	}
	out := make([]group, len(order))
	for n, key := range order {
		out[n] = *byKey[key]
	}
	return out[:min(len(out), maxConfigs)], nil // cheapest first, as the types are
}

// efas returns the number of EFA interfaces with which an instance of type t is launched. It is the number that the
// class defines. If the class defines none, it is the number of the type, provided that the claim requests EFA.
func (r Request) efas(t *model.InstanceType) int64 {
	wanted := r.Claim.Spec.Resources.Requests[awsv1.ResourceEFA]
	if wanted.IsZero() && len(r.Class.Spec.NetworkInterfaces) == 0 {
		return 0
	}
	return t.Capacity[awsv1.ResourceEFA]
}

// reservationsOf returns the different reservations of the offerings. Offerings without a reservation have the zero
// Reservation.
func reservationsOf(offers []model.Offering) []instances.Reservation {
	var out []instances.Reservation
	for _, o := range offers {
		if r := reservationOf(o); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// part has the values from which the launch template of a group is created.
type part struct {
	cluster     bootstrap.Cluster
	shape       catalog.Shape
	kubelet     kubelet.Config
	image       awsv1.AMI
	t           *model.InstanceType
	efas        int
	reservation instances.Reservation
}

// newGroup returns a group with its user data and launch template.
func (l *Launcher) newGroup(r Request, c Choice, p part) (*group, error) {
	text, err := bootstrap.UserData(bootstrap.Input{
		Family: p.shape.Family.Name, Cluster: p.cluster, Kubelet: p.kubelet,
		MaxPods: p.t.Capacity[corev1.ResourcePods], RAID0: p.shape.RAID0,
		Labels: bootstrap.ClaimLabels(r.Claim, c.CapacityType, p.shape.Family.Name),
		Taints: bootstrap.ClaimTaints(r.Claim), Custom: value(r.Class.Spec.UserData),
		ImageVersion: imageVersion(r.Class, p.image),
	})
	if errors.Is(err, bootstrap.ErrNoCIDR) { // EKS may answer the next call, so the claim is kept
		return nil, &cloud.LaunchError{
			Reason: awsv1.ReasonClusterCIDRResolutionFailed, Message: "Service CIDR of the cluster could not be read from EKS: " + fault.Brief(err), Err: err,
		}
	}
	if err != nil {
		return nil, &cloud.NodeClassNotReadyError{Err: err}
	}
	l.userData.WithLabelValues(r.Class.Name).Set(float64(len(text)))
	template, err := blueprint{
		class: r.Class, imageID: p.image.ID, userData: text, tags: r.Tags, capacityType: c.CapacityType,
		tenancy: c.Tenancy, efas: p.efas, ipv6: p.cluster.IPv6(), region: l.Region,
		reservations: l.Reservations, reservation: p.reservation, group: r.Group, partition: c.Partition,
	}.template()
	if err != nil {
		return nil, err
	}
	return &group{template: template, imageID: p.image.ID, userData: len(text), reservation: p.reservation}, nil
}

// imageVersion returns the version of the image: the version of the class's alias, or a part of the image's name such
// as v1.46.0. It returns "" if there is neither.
func imageVersion(class *awsv1.EC2NodeClass, image awsv1.AMI) string {
	if _, v, ok := catalog.Alias(class); ok {
		return v
	}
	for _, word := range strings.Split(image.Name, "-") {
		if strings.HasPrefix(word, "v") && strings.Contains(word, ".") {
			return word
		}
	}
	return ""
}

// write sets the input of the fleet call and its hash.
func (o *order) write(groups []group) error {
	input := o.fleet(groups[0].reservation)
	if !bestEffort(o.Claim) {
		input.Context = o.Class.Spec.Context
	}
	for _, g := range groups {
		if overrides := o.overrides(g); len(overrides) > 0 {
			input.LaunchTemplateConfigs = append(input.LaunchTemplateConfigs, ec2types.FleetLaunchTemplateConfigRequest{
				LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{
					LaunchTemplateName: aws.String(g.template.Name), Version: aws.String("$Latest"),
				},
				Overrides: overrides,
			})
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

// fleet returns the input of the fleet call without overrides: the capacity type, and the allocation strategy by which
// EC2 chooses.
func (o *order) fleet(r instances.Reservation) *ec2.CreateFleetInput {
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

func (o *order) overrides(g group) []ec2types.FleetLaunchTemplateOverridesRequest {
	var out []ec2types.FleetLaunchTemplateOverridesRequest
	for _, n := range g.members {
		for _, offer := range o.choice.Offers[n] {
			subnet := o.pick.In(offer.Zone)
			if subnet == "" || offer.ReservationID != g.reservation.ID {
				continue
			}
			out = append(out, ec2types.FleetLaunchTemplateOverridesRequest{
				InstanceType: ec2types.InstanceType(o.choice.Types[n].Name), SubnetId: aws.String(subnet),
				ImageId: aws.String(g.imageID), AvailabilityZone: aws.String(offer.Zone),
				Priority: aws.Float64(offer.Price),
			})
		}
	}
	return out
}

// call returns the input of the fleet call for count instances with the token.
func (o *order) call(token string, count int) *ec2.CreateFleetInput {
	in := *o.input
	target := *o.input.TargetCapacitySpecification
	target.TotalTargetCapacity = aws.Int32(int32(count))
	in.TargetCapacitySpecification = &target
	in.ClientToken = aws.String(token)
	tags := instances.Tags(o.Tags)
	marked := append(slices.Clone(tags), ec2types.Tag{Key: aws.String(instances.TagLaunch), Value: aws.String(token)})
	in.TagSpecifications = []ec2types.TagSpecification{
		{ResourceType: ec2types.ResourceTypeInstance, Tags: marked},
		{ResourceType: ec2types.ResourceTypeVolume, Tags: tags},
		{ResourceType: ec2types.ResourceTypeFleet, Tags: tags},
	}
	return &in
}

// names returns the names of the launch templates of the order.
func (o *order) names() []string {
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

// draws returns the reservation in which an instance of the type in the zone was launched, zero if there is none.
func (o *order) draws(instanceType, zone string) instances.Reservation {
	for n, t := range o.choice.Types {
		if t.Name != instanceType {
			continue
		}
		for _, offer := range o.choice.Offers[n] {
			if offer.Zone == zone {
				return reservationOf(offer)
			}
		}
	}
	return instances.Reservation{}
}

// efasOf returns how many EFA interfaces an instance of the order has.
func (o *order) efasOf(instanceType string) int64 {
	for _, t := range o.choice.Types {
		if t.Name == instanceType {
			return o.efas(t)
		}
	}
	return 0
}
