package launch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/timeout"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// RunAPI is the part of EC2 that checks a launch by a dry run.
type RunAPI interface {
	RunInstances(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
}

var _ RunAPI = (*ec2.Client)(nil)

const (
	// userDataLimit is EC2's limit of user data, in bytes before encoding.
	userDataLimit = 16384
	// approvedLife is how long a class that passed Check and was not changed is not checked again.
	// A class that failed is checked each time, so that a fix takes effect immediately.
	approvedLife = 30 * time.Minute
	// approvedSpread is the maximum deviation from approvedLife. The deviation differs between processes, so that the
	// controllers of many clusters do not check at the same time.
	approvedSpread = 5 * time.Minute
	// busyAgain is the pause before another check if AWS throttled a call or failed.
	busyAgain = 10 * time.Second
	// unseenAgain is the pause before another check if EC2 does not find a resource that was just created.
	unseenAgain = 2 * time.Second
	// rehearsalPatience bounds the time of one rehearsal. A call that does not return must not delay the status of the
	// class.
	rehearsalPatience = 15 * time.Second
)

// A Finding is the reason why nothing can be launched from a class. The zero Finding means that launches are possible.
type Finding struct {
	Reason, Message string
	// Again is not zero if the check gave no result. It is the pause before the next check. Then Message names what the
	// check waits for.
	Again time.Duration
}

// A Rehearsal has the settings of the dry runs that check whether launches would be allowed.
type Rehearsal struct {
	// DryRun enables the dry runs. A launch template is created, and CreateFleet and RunInstances are called as dry
	// runs.
	DryRun bool
	// Tenancy is the tenancy of the instance in the dry run.
	Tenancy string
}

// Check returns whether the controller can launch from the class. It generates the user data and checks their length,
// and makes the dry runs. It launches nothing. The dry runs use one of r.Types, or one per architecture.
func (l *Launcher) Check(ctx context.Context, r Request, how Rehearsal) (Finding, error) {
	key := approval(r.Class)
	if _, approved := l.approved.Get(key); approved {
		return Finding{}, nil
	}
	cluster, err := l.Clusters.Cluster(ctx)
	if err != nil {
		return Finding{}, err
	}
	choice := sample(r.Types, how.Tenancy)
	if len(choice.Types) == 0 {
		return Finding{Again: busyAgain, Message: "No instance type is available with the subnets and AMIs of this EC2NodeClass"}, nil
	}
	r.Claim = &apiv1.NodeClaim{}
	groups, err := l.group(ctx, r, choice, cluster)
	var bad *cloud.NodeClassNotReadyError
	if errors.As(err, &bad) {
		return Finding{Reason: awsv1.ReasonInvalidUserData, Message: "spec.userData: " + bad.Err.Error()}, nil
	}
	if err != nil {
		return Finding{}, err
	}
	for _, g := range groups {
		if n := g.userData; n > userDataLimit {
			return Finding{Reason: awsv1.ReasonUserDataSizeLimitExceeded, Message: fmt.Sprintf(
				"spec.userData with Karpenter's additions has %s bytes, the EC2 limit is %s", grouped(n), grouped(userDataLimit))}, nil
		}
	}
	if how.DryRun && !l.deaf.Load() {
		limited, cancel := timeout.Context(ctx, l.Clock, rehearsalPatience)
		defer cancel()
		f, err := l.rehearse(limited, r, choice, groups)
		switch {
		case errors.Is(err, errUnrehearsed):
			log.FromContext(ctx).Info("EC2 dry runs are not available, EC2NodeClass is accepted without permission check", "error", fault.Brief(err))
			return Finding{}, nil
		case err != nil || f != (Finding{}):
			return f, err
		}
	}
	l.approved.Set(key, true)
	return Finding{}, nil
}

// errUnrehearsed means that the endpoint is not EC2 and does not support dry runs.
var errUnrehearsed = errors.New("no rehearsal")

// approval returns a hash of the UID, the spec, and the status without conditions. The order of
// subnets does not matter.
func approval(class *awsv1.EC2NodeClass) string {
	status := class.Status.DeepCopy()
	status.Conditions = nil
	slices.SortFunc(status.Subnets, func(a, b awsv1.Subnet) int { return cmp.Compare(a.ID, b.ID) })
	raw, err := json.Marshal([]any{class.UID, class.Spec, status})
	if err != nil {
		panic(fmt.Sprintf("encode node class %s: %v", class.Name, err)) // cannot happen: the class was decoded from JSON
	}
	sum := sha256.Sum256(raw)
	return string(sum[:])
}

// sample returns the types for the dry runs: m5.large and m6g.large, as far as they are in types.
// If neither is, it returns the cheapest type that is neither bare metal nor has accelerators, or
// else the cheapest type. Types that have only reserved offerings are not used. The capacity type
// is on-demand. If all types have only reserved offerings, sample returns the cheapest of these
// offerings, with the capacity type reserved.
func sample(types []*model.InstanceType, tenancy string) Choice {
	all := withOffers(types, func(o model.Offering) bool { return o.ReservationID == "" })
	if len(all) == 0 {
		c := Choice{CapacityType: apiv1.CapacityTypeReserved, Tenancy: tenancy}
		for _, p := range oneBlock(withOffers(types, func(o model.Offering) bool { return o.ReservationID != "" })) {
			c.Types, c.Offers = append(c.Types, p.t), append(c.Offers, p.offers)
		}
		return c
	}
	picked := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool {
		return c.t.Name != "m5.large" && c.t.Name != "m6g.large"
	})
	if len(picked) == 0 {
		all = unlessAll(unlessAll(all, accelerated), metal)
		picked = []candidate{slices.MinFunc(all, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.cheapest(), b.cheapest()), cmp.Compare(a.t.Name, b.t.Name))
		})}
	}
	c := Choice{CapacityType: apiv1.CapacityTypeOnDemand, Tenancy: tenancy}
	for _, p := range picked {
		c.Types, c.Offers = append(c.Types, p.t), append(c.Offers, p.offers)
	}
	return c
}

// withOffers returns the types that have offerings for which use returns true, with only these offerings.
func withOffers(types []*model.InstanceType, use func(model.Offering) bool) []candidate {
	var out []candidate
	for _, t := range types {
		offers := slices.DeleteFunc(slices.Clone(t.Offerings), func(o model.Offering) bool { return !use(o) })
		if len(offers) > 0 {
			out = append(out, candidate{t, offers})
		}
	}
	return out
}

// rehearse checks by dry runs of EC2 whether each step of a launch would be allowed.
func (l *Launcher) rehearse(ctx context.Context, r Request, c Choice, groups []group) (Finding, error) {
	var templates []Template
	for _, g := range groups {
		templates = append(templates, g.template)
	}
	if err := l.Shelf.Ensure(ctx, templates); err != nil {
		return l.verdict(r, err, awsv1.ReasonCreateLaunchTemplateAuthCheckFailed, "create launch templates")
	}
	once := func(o *ec2.Options) { o.RetryMaxAttempts = 1 }
	fleet, err := l.Fleet.CreateFleet(ctx, rehearsedFleet(r, c, groups), once)
	if err == nil {
		return Finding{}, l.undo(ctx, launchedBy(fleet))
	}
	l.doubtUnseen(err, groups...)
	if f, err := l.verdict(r, err, awsv1.ReasonCreateFleetAuthCheckFailed, "create fleets"); err != nil || f != (Finding{}) {
		return f, err
	}
	return l.rehearseRun(ctx, r, c, groups[0])
}

// rehearseRun makes a dry run of RunInstances in one subnet after the other, until one succeeds. If a call gives no
// result, such as a throttled one, the Finding requests another check by Again. If all calls fail, the result is that
// of the first call.
func (l *Launcher) rehearseRun(ctx context.Context, r Request, c Choice, g group) (Finding, error) {
	const reason, what = awsv1.ReasonRunInstancesAuthCheckFailed, "run instances"
	once := func(o *ec2.Options) { o.RetryMaxAttempts = 1 }
	var first error
	for _, subnet := range rehearsedSubnets(r.Class.Status.Subnets, c.Offers[g.members[0]]) {
		run, err := l.Run.RunInstances(ctx, rehearsedRun(r, c, g, subnet), once)
		if err == nil {
			return Finding{}, l.undo(ctx, startedBy(run))
		}
		if fault.Code(err) == fault.DryRun {
			return Finding{}, nil
		}
		l.doubtUnseen(err, g)
		if f, _ := l.verdict(r, err, reason, what); f.Again > 0 {
			return f, nil
		}
		first = cmp.Or(first, err)
	}
	return l.verdict(r, first, reason, what)
}

// doubtUnseen makes the next check look for the launch templates of the groups in EC2 again if err says that EC2 does not
// find them. Either they were just created, or they were deleted and have to be created again.
func (l *Launcher) doubtUnseen(err error, groups ...group) {
	if fault.Code(err) != fault.NoLaunchTemplate {
		return
	}
	var names []string
	for _, g := range groups {
		names = append(names, g.template.Name)
	}
	l.Shelf.Doubt(names)
}

// rehearsedSubnets returns the ids of the subnets in whose zones the type is offered, or the ids of all subnets if
// there are none.
func rehearsedSubnets(all []awsv1.Subnet, offers []model.Offering) []string {
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

// undo terminates instances that a dry run launched. EC2 itself never launches any, but another service at the endpoint
// may ignore DryRun. No further dry runs are made then.
func (l *Launcher) undo(ctx context.Context, ids []string) error {
	l.deaf.Store(true)
	log.FromContext(ctx).Info("EC2 endpoint ignores DryRun, permission checks are disabled", "ended", ids)
	var errs []error
	for _, id := range ids {
		if err := l.Finder.Terminate(ctx, instances.Instance{ID: id}); err != nil && !errors.Is(err, cloud.ErrNotFound) {
			errs = append(errs, fmt.Errorf("end what a rehearsal launched: %w", err))
		}
	}
	return errors.Join(errs...)
}

func launchedBy(out *ec2.CreateFleetOutput) []string {
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	return ids
}

func startedBy(out *ec2.RunInstancesOutput) []string {
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, aws.ToString(i.InstanceId))
	}
	return ids
}

// grouped formats a number with commas between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// verdict returns the Finding for err, the result of one call that checks whether launches are allowed. The zero
// Finding means that the call is allowed: err is nil or the code of a successful dry run. what names the checked
// action in messages. reason is the reason of the Finding if the controller lacks the permission. verdict returns an
// error if err does not show whether launches are possible.
func (l *Launcher) verdict(r Request, err error, reason, what string) (Finding, error) {
	switch {
	case err == nil || fault.Code(err) == fault.DryRun:
		return Finding{}, nil
	case fault.Foreign(err) || fault.Unknown(err):
		return Finding{}, fmt.Errorf("%w: %w", errUnrehearsed, err)
	case fault.Throttled(err) || fault.Server(err) || errors.Is(err, context.DeadlineExceeded):
		return Finding{Again: busyAgain, Message: "Waiting for EC2 to answer whether the controller may " + what + ": " + fault.Brief(err)}, nil
	case fault.Code(err) == fault.NoLaunchTemplate:
		return Finding{Again: unseenAgain, Message: "Waiting for EC2 to find the launch template, which is created again if it was deleted"}, nil
	case fault.Denied(err):
		return Finding{Reason: reason, Message: "Controller role is not authorized to " + what + ": " + fault.Brief(err) +
			"; fix: karpenter doctor aws lists missing permissions"}, nil
	case fault.UserDataTooLong(err):
		return Finding{Reason: awsv1.ReasonUserDataSizeLimitExceeded, Message: "spec.userData: " + fault.Brief(err)}, nil
	case fault.ProfileMissing(err) && r.Class.Spec.InstanceProfile != nil:
		return Finding{Reason: awsv1.ReasonInstanceProfileNotFound, Message: fmt.Sprintf(
			"Instance profile %s of spec.instanceProfile does not exist", *r.Class.Spec.InstanceProfile)}, nil
	case fault.ProfileMissing(err): // the profile was just created
		return Finding{Again: unseenAgain, Message: "Waiting for EC2 to find the instance profile that was just created"}, nil
	}
	return Finding{}, fmt.Errorf("check whether the controller may %s: %w", what, err)
}

// tagged returns the tag specifications of a dry run, one for each of these resource types.
func tagged(r Request, kinds ...ec2types.ResourceType) []ec2types.TagSpecification {
	var out []ec2types.TagSpecification
	for _, k := range kinds {
		out = append(out, ec2types.TagSpecification{ResourceType: k, Tags: instances.Tags(r.Tags)})
	}
	return out
}

// rehearsedFleet returns the input of a dry run of CreateFleet. It has the capacity type and the allocation strategy of
// a launch of the choice, and all subnets of the class in which the choice can be launched.
func rehearsedFleet(r Request, c Choice, groups []group) *ec2.CreateFleetInput {
	in := (&order{Request: r, choice: c}).fleet(groups[0].reservation)
	in.DryRun = aws.Bool(true)
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(1)
	in.TagSpecifications = tagged(r, ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume, ec2types.ResourceTypeFleet)
	for _, g := range groups {
		config := ec2types.FleetLaunchTemplateConfigRequest{
			LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: aws.String(g.template.Name), Version: aws.String("$Latest"),
			},
		}
		for _, m := range g.members {
			for _, n := range r.Class.Status.Subnets {
				if g.reservation.ID != "" && n.Zone != c.Offers[m][0].Zone {
					continue // EC2 refuses a reservation of another zone
				}
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
