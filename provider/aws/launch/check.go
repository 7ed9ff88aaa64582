package launch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// RunAPI is the part of EC2 that checks a launch without making it.
type RunAPI interface {
	RunInstances(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
}

var _ RunAPI = (*ec2.Client)(nil)

const (
	// userDataLimit is EC2's, in bytes before encoding.
	userDataLimit = 16384
	// approvedLife is how long a class that passed is not checked again. One that failed is checked every time, so that a
	// fix is noticed at once.
	approvedLife = 30 * time.Minute
	// busyAgain is when to ask again if AWS had no time.
	busyAgain = 10 * time.Second
	// unseenAgain is when to ask again if EC2 does not see yet what was just made.
	unseenAgain = 2 * time.Second
)

// A Finding is why nothing could be launched from a class. The zero Finding means that something could.
type Finding struct {
	Reason, Message string
	// Again, if not zero, means that AWS could not say, and when to ask again.
	Again time.Duration
}

// Check finds out whether the controller may launch from the class: the user data can be written and is short enough, and,
// with dryRun, a launch template can be made, and a fleet and an instance could be. It launches nothing.
func (l *Launcher) Check(ctx context.Context, r Request, dryRun bool) (Finding, error) {
	key := approval(r.Class)
	if _, approved := l.approved.Get(key); approved {
		return Finding{}, nil
	}
	cluster, err := l.Clusters.Cluster(ctx)
	if err != nil {
		return Finding{}, err
	}
	choice := sample(r.Types)
	if len(choice.Types) == 0 {
		return Finding{Again: busyAgain}, nil
	}
	r.Claim = &apiv1.NodeClaim{}
	groups, err := l.group(r, choice, cluster)
	var bad *cloud.NodeClassNotReadyError
	if errors.As(err, &bad) {
		return Finding{Reason: "InvalidUserData", Message: "spec.userData: " + bad.Err.Error()}, nil
	}
	if err != nil {
		return Finding{}, err
	}
	for _, g := range groups {
		if n := g.userData; n > userDataLimit {
			return Finding{Reason: awsv1.ReasonUserDataSizeLimitExceeded, Message: fmt.Sprintf(
				"spec.userData: with what is added the user data has %d bytes, EC2 takes %d", n, userDataLimit)}, nil
		}
	}
	if dryRun {
		if f, err := l.rehearse(ctx, r, choice, groups); err != nil || f != (Finding{}) {
			return f, err
		}
	}
	l.approved.Set(key, true)
	return Finding{}, nil
}

// approval identifies everything that a check depends on, whatever the order of subnets.
func approval(class *awsv1.EC2NodeClass) string {
	status := class.Status.DeepCopy()
	status.Conditions = nil
	slices.SortFunc(status.Subnets, func(a, b awsv1.Subnet) int { return cmp.Compare(a.ID, b.ID) })
	raw, err := json.Marshal([]any{class.UID, class.Spec, status})
	if err != nil {
		panic(fmt.Sprintf("encode node class %s: %v", class.Name, err)) // it came from JSON
	}
	sum := sha256.Sum256(raw)
	return string(sum[:])
}

// sample picks one plain type for each architecture, or else the first types there are.
func sample(types []*model.InstanceType) Choice {
	c := Choice{CapacityType: apiv1.CapacityTypeOnDemand, Tenancy: awsv1.TenancyDefault}
	for _, t := range types {
		if t.Name == "m5.large" || t.Name == "m6g.large" {
			c.Types, c.Offers = append(c.Types, t), append(c.Offers, t.Offerings)
		}
	}
	if len(c.Types) == 0 && len(types) > 0 {
		c.Types, c.Offers = types[:1], [][]model.Offering{types[0].Offerings}
	}
	return c
}

// rehearse asks EC2 whether each step of a launch would be allowed.
func (l *Launcher) rehearse(ctx context.Context, r Request, c Choice, groups []group) (Finding, error) {
	var templates []Template
	for _, g := range groups {
		templates = append(templates, g.template)
	}
	if err := l.Shelf.Ensure(ctx, templates); err != nil {
		return l.verdict(r, err, awsv1.ReasonCreateLaunchTemplateAuthCheckFailed, "create launch templates")
	}
	once := func(o *ec2.Options) { o.RetryMaxAttempts = 1 }
	_, err := l.Fleet.CreateFleet(ctx, rehearsedFleet(r, c, groups), once)
	if f, err := l.verdict(r, err, awsv1.ReasonCreateFleetAuthCheckFailed, "create fleets"); err != nil || f != (Finding{}) {
		return f, err
	}
	var first error
	for _, n := range r.Class.Status.Subnets {
		_, err := l.Run.RunInstances(ctx, rehearsedRun(r, c, groups[0], n.ID), once)
		if err == nil || fault.Code(err) == fault.DryRun {
			return Finding{}, nil
		}
		first = cmp.Or(first, err)
	}
	return l.verdict(r, first, awsv1.ReasonRunInstancesAuthCheckFailed, "run instances")
}

// verdict says what the answer to one step means.
func (l *Launcher) verdict(r Request, err error, reason, what string) (Finding, error) {
	switch {
	case err == nil || fault.Code(err) == fault.DryRun:
		return Finding{}, nil
	case fault.Throttled(err) || fault.Server(err):
		return Finding{Again: busyAgain}, nil
	case fault.Code(err) == fault.NoLaunchTemplate:
		return Finding{Again: unseenAgain}, nil
	case fault.Code(err) == fault.Unauthorized:
		return Finding{Reason: reason, Message: "the controller's role may not " + what + ": " + err.Error()}, nil
	case fault.UserDataTooLong(err):
		return Finding{Reason: awsv1.ReasonUserDataSizeLimitExceeded, Message: "spec.userData: " + err.Error()}, nil
	case fault.ProfileMissing(err) && r.Class.Spec.InstanceProfile != nil:
		return Finding{Reason: awsv1.ReasonInstanceProfileNotFound, Message: fmt.Sprintf(
			"spec.instanceProfile: there is no instance profile %s", *r.Class.Spec.InstanceProfile)}, nil
	case fault.ProfileMissing(err): // it was just made
		return Finding{Again: unseenAgain}, nil
	}
	return Finding{}, fmt.Errorf("check whether we may %s: %w", what, err)
}

// tagged returns the tags of a rehearsal for these kinds of things.
func tagged(r Request, kinds ...ec2types.ResourceType) []ec2types.TagSpecification {
	var out []ec2types.TagSpecification
	for _, k := range kinds {
		out = append(out, ec2types.TagSpecification{ResourceType: k, Tags: instances.Tags(r.Tags)})
	}
	return out
}

func rehearsedFleet(r Request, c Choice, groups []group) *ec2.CreateFleetInput {
	in := &ec2.CreateFleetInput{
		DryRun: aws.Bool(true), Type: ec2types.FleetTypeInstant,
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: ec2types.DefaultTargetCapacityTypeOnDemand,
		},
		OnDemandOptions:   &ec2types.OnDemandOptionsRequest{AllocationStrategy: ec2types.FleetOnDemandAllocationStrategyLowestPrice},
		TagSpecifications: tagged(r, ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume, ec2types.ResourceTypeFleet),
	}
	for _, g := range groups {
		config := ec2types.FleetLaunchTemplateConfigRequest{
			LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: aws.String(g.template.Name), Version: aws.String("$Latest"),
			},
		}
		for _, m := range g.members {
			for _, n := range r.Class.Status.Subnets {
				config.Overrides = append(config.Overrides, ec2types.FleetLaunchTemplateOverridesRequest{
					InstanceType: ec2types.InstanceType(c.Types[m].Name), SubnetId: aws.String(n.ID), ImageId: aws.String(g.imageID),
				})
			}
		}
		in.LaunchTemplateConfigs = append(in.LaunchTemplateConfigs, config)
	}
	return in
}

func rehearsedRun(r Request, c Choice, g group, subnet string) *ec2.RunInstancesInput {
	in := &ec2.RunInstancesInput{
		DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		LaunchTemplate: &ec2types.LaunchTemplateSpecification{
			LaunchTemplateName: aws.String(g.template.Name), Version: aws.String("$Latest"),
		},
		InstanceType: ec2types.InstanceType(c.Types[g.members[0]].Name),
		TagSpecifications: tagged(r, ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume,
			ec2types.ResourceTypeNetworkInterface),
	}
	for _, n := range g.template.Data.NetworkInterfaces {
		in.NetworkInterfaces = append(in.NetworkInterfaces, ec2types.InstanceNetworkInterfaceSpecification{
			DeviceIndex: n.DeviceIndex, NetworkCardIndex: n.NetworkCardIndex, InterfaceType: n.InterfaceType,
			Groups: n.Groups, SubnetId: aws.String(subnet),
		})
	}
	return in
}
