package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// RunAPI is the part of EC2 that checks a launch by a dry run.
type RunAPI interface {
	RunInstances(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
}

var _ RunAPI = (*ec2.Client)(nil)

// dryRunTimeout bounds the time of the dry runs of one check. A call that does not return must not delay the status of the class.
const dryRunTimeout = 15 * time.Second

// errNoDryRuns means that the endpoint is not EC2 and does not support dry runs.
var errNoDryRuns = errors.New("no dry runs")

// dryRunLaunch checks by dry runs of EC2 whether each step of a launch would be allowed.
func (l *Launcher) dryRunLaunch(ctx context.Context, r Request, c Choice, groups []templateGroup) (Finding, error) {
	if err := l.Templates.Ensure(ctx, templatesOf(groups)); err != nil {
		return createTemplates.finding(r.Class, err)
	}
	fleet, err := l.Fleet.CreateFleet(ctx, dryRunFleetInput(r, c, groups), withoutRetries)
	if err == nil {
		return Finding{}, l.terminateLaunched(ctx, idsOfFleet(fleet))
	}
	l.invalidateMissing(err, groups...)
	if f, err := createFleets.finding(r.Class, err); err != nil || f != (Finding{}) {
		return f, err
	}
	return l.dryRunInstances(ctx, r, c, groups[0])
}

// withoutRetries makes a call of EC2 fail at its first error.
func withoutRetries(o *ec2.Options) { o.RetryMaxAttempts = 1 }

// dryRunInstances makes a dry run of RunInstances in one subnet after the other, until one succeeds. If a call gives no
// result, such as a throttled one, the Finding requests another check by Again. If all calls fail, the result is that
// of the first call.
func (l *Launcher) dryRunInstances(ctx context.Context, r Request, c Choice, g templateGroup) (Finding, error) {
	var first error
	for _, subnet := range dryRunSubnets(r.Class.Status.Subnets, c.Offers[g.members[0]]) {
		run, err := l.Run.RunInstances(ctx, dryRunInstancesInput(r, c, g, subnet), withoutRetries)
		if err == nil {
			return Finding{}, l.terminateLaunched(ctx, idsOfRun(run))
		}
		if fault.Code(err) == fault.DryRun {
			return Finding{}, nil
		}
		l.invalidateMissing(err, g)
		if f, _ := runInstances.finding(r.Class, err); f.Again > 0 {
			return f, nil
		}
		first = cmp.Or(first, err)
	}
	return runInstances.finding(r.Class, first)
}

// invalidateMissing makes the next check look for the launch templates of the groups in EC2 again if err says that EC2 does not
// find them. Either they were just created, or they were deleted and have to be created again.
func (l *Launcher) invalidateMissing(err error, groups ...templateGroup) {
	if fault.Code(err) != fault.NoLaunchTemplate {
		return
	}
	for _, g := range groups {
		l.Templates.Invalidate(g.template.Name)
	}
}

// dryRunSubnets returns the ids of the subnets in whose zones the type is offered, or the ids of all subnets if
// there are none.
func dryRunSubnets(all []awsv1.Subnet, offers []model.Offering) []string {
	var ids, others []string
	for _, s := range all {
		if slices.ContainsFunc(offers, func(o model.Offering) bool { return o.Zone == s.Zone }) {
			ids = append(ids, s.ID)
		} else {
			others = append(others, s.ID)
		}
	}
	if len(ids) == 0 {
		return others
	}
	return ids
}

// terminateLaunched terminates instances that a dry run launched. EC2 itself never launches any, but another service at the
// endpoint may ignore DryRun. No further dry runs are made then.
func (l *Launcher) terminateLaunched(ctx context.Context, ids []string) error {
	l.dryRunsIgnored.Store(true)
	log.FromContext(ctx).Info("EC2 endpoint ignores DryRun, permission checks are disabled", "ended", ids)
	var errs []error
	for _, id := range ids {
		if err := l.Instances.Terminate(ctx, instances.Instance{ID: id}); err != nil && !errors.Is(err, cloud.ErrNotFound) {
			errs = append(errs, fmt.Errorf("terminate what a dry run launched: %w", err))
		}
	}
	return errors.Join(errs...)
}

func idsOfFleet(out *ec2.CreateFleetOutput) []string {
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	return ids
}

func idsOfRun(out *ec2.RunInstancesOutput) []string {
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, aws.ToString(i.InstanceId))
	}
	return ids
}

// A checkedAction is a step of a launch that a dry run checks.
type checkedAction struct {
	name   string // in messages
	denied string // reason of the Finding if the controller lacks the permission
}

var (
	createTemplates = checkedAction{"create launch templates", awsv1.ReasonCreateLaunchTemplateAuthCheckFailed}
	createFleets    = checkedAction{"create fleets", awsv1.ReasonCreateFleetAuthCheckFailed}
	runInstances    = checkedAction{"run instances", awsv1.ReasonRunInstancesAuthCheckFailed}
)

// finding returns the Finding for err, the result of one call that checks whether the action is allowed. The zero Finding means
// that it is: err is nil or the code of a successful dry run. finding returns an error if err does not show whether launches
// are possible.
func (a checkedAction) finding(class *awsv1.EC2NodeClass, err error) (Finding, error) {
	switch {
	case err == nil || fault.Code(err) == fault.DryRun:
		return Finding{}, nil
	case fault.Foreign(err) || fault.Unknown(err):
		return Finding{}, fmt.Errorf("%w: %w", errNoDryRuns, err)
	case fault.Throttled(err) || fault.Server(err) || errors.Is(err, context.DeadlineExceeded):
		return Finding{Again: retryUnavailable, Message: "Waiting for EC2 to answer whether the controller may " + a.name + ": " + fault.Brief(err)}, nil
	case fault.Code(err) == fault.NoLaunchTemplate:
		return Finding{Again: retryUnlisted, Message: "Waiting for EC2 to find the launch template, which is created again if it was deleted"}, nil
	case fault.Denied(err):
		return Finding{Reason: a.denied, Message: "Controller role is not authorized to " + a.name + ": " + fault.Brief(err) +
			"; fix: karpenter doctor aws lists missing permissions"}, nil
	case fault.UserDataTooLong(err):
		return Finding{Reason: awsv1.ReasonUserDataSizeLimitExceeded, Message: "spec.userData: " + fault.Brief(err)}, nil
	case fault.ProfileMissing(err) && class.Spec.InstanceProfile != nil:
		return Finding{Reason: awsv1.ReasonInstanceProfileNotFound, Message: fmt.Sprintf(
			"Instance profile %s of spec.instanceProfile does not exist", *class.Spec.InstanceProfile)}, nil
	case fault.ProfileMissing(err): // the profile was just created
		return Finding{Again: retryUnlisted, Message: "Waiting for EC2 to find the instance profile that was just created"}, nil
	}
	return Finding{}, fmt.Errorf("check whether the controller may %s: %w", a.name, err)
}

// dryRunTags returns the tag specifications of a dry run, one for each of these resource types.
func dryRunTags(r Request, kinds ...ec2types.ResourceType) []ec2types.TagSpecification {
	var out []ec2types.TagSpecification
	for _, k := range kinds {
		out = append(out, ec2types.TagSpecification{ResourceType: k, Tags: instances.Tags(r.Tags)})
	}
	return out
}

// dryRunFleetInput returns the input of a dry run of CreateFleet. It has the capacity type and the allocation strategy of
// a launch of the choice, and all subnets of the class in which the choice can be launched.
func dryRunFleetInput(r Request, c Choice, groups []templateGroup) *ec2.CreateFleetInput {
	in := (&order{Request: r, choice: c}).fleetInput(groups[0].reservation)
	in.DryRun = aws.Bool(true)
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(1)
	in.TagSpecifications = dryRunTags(r, ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume, ec2types.ResourceTypeFleet)
	for _, g := range groups {
		var overrides []ec2types.FleetLaunchTemplateOverridesRequest
		for _, m := range g.members {
			for _, n := range r.Class.Status.Subnets {
				if g.reservation.ID != "" && n.Zone != c.Offers[m][0].Zone {
					continue // EC2 refuses a reservation of another zone
				}
				overrides = append(overrides, ec2types.FleetLaunchTemplateOverridesRequest{
					InstanceType: ec2types.InstanceType(c.Types[m].Name), SubnetId: aws.String(n.ID), ImageId: aws.String(g.image.ID),
				})
			}
		}
		in.LaunchTemplateConfigs = append(in.LaunchTemplateConfigs, g.config(overrides))
	}
	return in
}

// dryRunInstancesInput returns the input of a dry run of RunInstances in the subnet, with the first type of the group.
func dryRunInstancesInput(r Request, c Choice, g templateGroup, subnet string) *ec2.RunInstancesInput {
	in := &ec2.RunInstancesInput{
		DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		LaunchTemplate: &ec2types.LaunchTemplateSpecification{
			LaunchTemplateName: aws.String(g.template.Name), Version: aws.String("$Latest"),
		},
		InstanceType: ec2types.InstanceType(c.Types[g.members[0]].Name),
		TagSpecifications: dryRunTags(r, ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume,
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
